"""Uploads: the body of a request goes to the disk, within bounds on sizes, speed, threads and connections."""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import anyio
from h11 import LocalProtocolError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from scorer.files.writing import PART
from scorer.limits import MB
from scorer.organising.files import RESERVE
from scorer.service.accepting import RefusedError, Upload, too_large
from scorer.wording import printable, quoted

_Kind = Literal["read", "write", "disk", "check"]

_COUNTS: dict[_Kind, int] = {"read": 2, "write": 1, "disk": 4, "check": 1}
"""How many threads of each kind work at the same time."""

_Answer = TypeVar("_Answer")

_limiters: dict[_Kind, anyio.CapacityLimiter] = {}


def sender(request: Request) -> str:
    """The address that a request comes from; empty if it is unknown."""
    return request.client.host if request.client else ""


async def in_thread(kind: _Kind, work: Callable[..., _Answer], *arguments: object) -> _Answer:
    """The result of some work, which waits for its turn."""
    if kind not in _limiters:
        _limiters[kind] = anyio.CapacityLimiter(_COUNTS[kind])
    return await anyio.to_thread.run_sync(work, *arguments, limiter=_limiters[kind])


_SILENCE = 30.0
"""Seconds without a byte after which an upload ends."""

SLOWEST = 10_000
"""Bytes a second that an upload must have on average, after `_SILENCE`."""

SMALL_BODY = 64_000
"""The bytes that the body of another request may have."""

_BUFFER = 1 << 16
"""Bytes of an upload or a form in memory: with a thousand slow senders, they are few."""

_REPR_DIGEST = re.compile(r"(?:^|,)\s*sha-256\s*=\s*:([A-Za-z0-9+/=]*):\s*(?:,|$)")
"""In the header of RFC 9530."""

_FORMS = ("multipart/", "application/x-www-form-urlencoded")


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
            raise RefusedError("invalid", "the body is empty; send the bytes of the file, as `curl -T FILE` does")
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
            with anyio.fail_after(_SILENCE):
                chunk = await anext(stream, None)
        except TimeoutError:
            raise _too_slow() from None
        if chunk is None:
            break
        size += len(chunk)
        if time.monotonic() - began > _SILENCE + size / SLOWEST:
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


def _too_slow() -> RefusedError:
    return RefusedError("too-slow", f"the bytes come too slowly: at least {SLOWEST:,} a second are needed")


FIELDS = 7
"""The fields that a form may have, in addition to its file."""

FIELD_BYTES = 1000
"""The bytes that a field may have."""

OVERHEAD = 64_000
"""The bytes that a form may have in addition to its file."""


@asynccontextmanager
async def file_form(request: Request, most: int) -> AsyncIterator[UploadFile]:
    """The file of a form of type multipart/form-data, of at most `most` bytes, in a temporary file.

    Raises RefusedError, and Starlette's ClientDisconnect if the sender leaves.
    """
    if shutil.disk_usage(tempfile.gettempdir()).free < most + RESERVE:
        raise disk_full()
    parser = MultiPartParser(
        request.headers, _bounded(request, most), max_files=1, max_fields=FIELDS, max_part_size=FIELD_BYTES
    )
    try:
        with disk_errors():
            form = await parser.parse()
    except MultiPartException as error:
        raise RefusedError("invalid", f"the form cannot be read: {error.message}") from error
    except (LookupError, ValueError) as error:  # no boundary, or bytes that are no text
        raise RefusedError("invalid", "the form cannot be read") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise RefusedError("invalid", "the form has no file; choose a file")
        if not file.size:
            raise RefusedError("invalid", f"the file {quoted(file_name_of(file))} is empty; choose a file with lists")
        yield file
    finally:
        for part in parser._files_to_close_on_error:
            part.close()


async def _bounded(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for block in body_blocks(request, Path(tempfile.gettempdir())):
        size += len(block)
        if size > most + OVERHEAD:
            raise too_large(most)
        yield block


def file_name_of(file: UploadFile) -> str:
    """The name of the file of a form, without folders; empty if it has none."""
    return printable((file.filename or "").rpartition("/")[2].rpartition("\\")[2])[:200]


async def blocks_of(file: UploadFile) -> AsyncIterator[bytes]:
    """The bytes of the file of a form."""
    while block := await file.read(_BUFFER):
        yield block


CONNECTIONS = 1000
"""So many connections are served at the same time; a further one is answered with 503."""

OF_AN_ADDRESS = CONNECTIONS // 4
"""So many of them may one address have, unless it is that of a proxy; a further one is answered with 429."""

_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 10\r\nConnection: close\r\n\r\n"
    b"too many connections from this address\n"
)


class BoundedProtocol(H11Protocol):
    """A connection that ends if no request is complete in its headers, or being answered, for `_SILENCE` seconds."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve a new connection, or end it at once."""
        super().connection_made(transport)
        host = self._host()
        others = sum(isinstance(other, BoundedProtocol) and other._host() == host for other in self.connections)
        if host not in self.config.forwarded_allow_ips and others > OF_AN_ADDRESS:
            transport.write(_TOO_MANY)
            transport.close()
            return
        self._idle_since = self.loop.time()
        self._timer = self.loop.call_later(_SILENCE, self._end_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer has begun, and end the connection."""
        with suppress(LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()

    def on_response_complete(self) -> None:
        """Note when the last request was answered. The rest of its body may still be on the way."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def _end_if_idle(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        is_idle = cycle is None or cycle.response_complete
        left = self._idle_since + _SILENCE - self.loop.time() if is_idle else _SILENCE
        if left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(left, self._end_if_idle)

    def _host(self) -> Any:
        return self.client and self.client[0]
