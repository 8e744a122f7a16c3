"""Uploads: the body of a request goes to the disk while its digest is computed, and is never in memory as a whole."""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import anyio
from starlette.requests import Request

from scorer.limits import MB
from scorer.organising.deliveries import RESERVE
from scorer.paths.writing import PART
from scorer.service.refusals import RefusedError, too_large
from scorer.service.threads import in_thread

SILENCE = 30.0
"""Seconds without a byte after which an upload ends."""

SLOWEST = 10_000
"""Bytes a second that an upload must have on average, after `SILENCE`."""

SMALL_BODY = 64_000
"""The bytes that the body of another request may have."""

_BUFFER = 1 << 16
"""Bytes of an upload in memory: with a thousand slow senders, they are few."""

_REPR_DIGEST = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/=]*):\s*(?:,|$)")
"""In the header of RFC 9530."""

_FORMS = ("multipart/", "application/x-www-form-urlencoded")


@dataclass(frozen=True, slots=True)
class Upload:
    """A completely received body, on the disk."""

    path: Path
    digest: str
    """SHA-256 in hexadecimal."""
    size: int


def check_headers(headers: Mapping[str, str], folder: Path, most: int) -> None:
    """Refuse an upload by its headers, before any byte is stored. Raises RefusedError."""
    kind = headers.get("content-type", "").lower()
    if kind.startswith(_FORMS):
        raise RefusedError("unsupported", "the body is a form; send the bytes of the file, as `curl -T FILE` does")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError("unsupported", "the header Content-Encoding is not supported; a file may be compressed")
    length = headers.get("content-length", "0")
    size = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0
    if size > most:
        raise too_large(most)
    if shutil.disk_usage(folder).free < size + RESERVE:
        raise disk_full()


@asynccontextmanager
async def received(
    request: Request, folder: Path, most: int, blocks: AsyncIterator[bytes] | None = None
) -> AsyncIterator[Upload]:
    """Receive the body of a request, or other blocks that are made of it, into a file of the folder.

    At the end the file is deleted if it is still there: `accept` takes it away. Raises RefusedError, and Starlette's
    ClientDisconnect if the sender leaves.
    """
    path = folder / f"{secrets.token_hex(16)}{PART}"
    try:
        with disk_errors():
            file = await in_thread("disk", path.open, "xb")
        try:
            digest, size = hashlib.sha256(), 0
            async for block in blocks or body_blocks(request, folder):
                size += len(block)
                if size > most:
                    raise too_large(most)
                digest.update(block)
                with disk_errors():
                    await in_thread("disk", file.write, block)
            with disk_errors():
                await in_thread("disk", _sync, file)
        finally:
            with suppress(OSError):  # what could not be written when the disk was full
                file.close()
        if not size:
            raise _empty()
        _check_digest(request.headers.get("repr-digest"), digest.digest())
        yield Upload(path, digest.hexdigest(), size)
    finally:
        path.unlink(missing_ok=True)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


async def small_body(request: Request) -> bytes:
    """The body of a request that is no delivery. Raises RefusedError if it is large."""
    body = b""
    async for block in body_blocks(request):
        body += block
        if len(body) > SMALL_BODY:
            raise RefusedError("too-large", f"the body has more than {SMALL_BODY:,} bytes", limit=SMALL_BODY)
    return body


async def body_blocks(request: Request, folder: Path | None = None) -> AsyncIterator[bytes]:
    """The body in blocks of `_BUFFER` bytes or a little more, which are written into `folder`.

    Raises RefusedError if it comes too slowly, or the disk has no room.
    """
    began, size, buffer, looked = time.monotonic(), 0, bytearray(), 0
    stream = request.stream()
    while True:
        try:
            with anyio.fail_after(SILENCE):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise _too_slow() from None
        if chunk is None:
            break
        size += len(chunk)
        if time.monotonic() - began > SILENCE + size / SLOWEST:
            raise _too_slow()
        if folder is not None and size >= looked:
            looked = size + MB
            if shutil.disk_usage(folder).free < RESERVE:
                raise disk_full()
        buffer += chunk
        if len(buffer) >= _BUFFER:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        yield bytes(buffer)


def _check_digest(header: str | None, digest: bytes) -> None:
    stated = _REPR_DIGEST.search(header or "")
    if stated is None:
        return
    with suppress(binascii.Error):
        if base64.b64decode(stated[1], validate=True) == digest:
            return
    raise RefusedError("invalid", "the bytes do not have the SHA-256 of the header Repr-Digest; send them again")


@contextmanager
def disk_errors() -> Iterator[None]:
    """Refuse a request if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise disk_full() from error
        raise


def disk_full() -> RefusedError:
    """The refusal of a request for which the disk has no room."""
    return RefusedError("disk-full", "the disk of the server is full; try again later", retry_after=60)


def _empty() -> RefusedError:
    return RefusedError("invalid", "the body is empty; send the bytes of the file, as `curl -T FILE` does")


def _too_slow() -> RefusedError:
    return RefusedError("too-slow", f"the bytes come too slowly: at least {SLOWEST:,} a second are needed")
