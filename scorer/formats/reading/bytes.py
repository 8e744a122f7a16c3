"""From a path to bytes: opening, decompression, digests and limits."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa

from scorer.paths import Remote, is_standard_input, located, regular_size

BLOCK = 1 << 23
"""Bytes read at a time."""
GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed files."""

EXPANSION = 300
"""How many times its own size a compressed file may grow to; ranked lists grow three to twenty times."""


class UnreadableError(Exception):
    """The file cannot be read further; earlier findings stay."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


@contextmanager
def open_bytes(path: str | os.PathLike[str], digest: Digest | None = None) -> Iterator[BinaryIO]:
    """Open a file, and decompress it if its first bytes say that it is compressed; "-" is standard input.

    `digest` is updated with all bytes of the file, including those that are not read. Raises UnreadableError.
    """
    try:
        read = _Counted(_opened(path), digest)
        raw: io.BufferedReader[Any] = io.BufferedReader(read, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error)) from error
    with raw:
        try:
            inner = _expanding(raw)
        except OSError as error:
            raise UnreadableError(_reason(error)) from error
        try:
            yield io.BufferedReader(_Expanded(inner, read), buffer_size=1 << 20) if inner else raw
        finally:
            if digest is not None:
                with suppress(OSError):
                    while raw.read(BLOCK):
                        pass


def _opened(path: str | os.PathLike[str]) -> io.RawIOBase:
    if is_standard_input(path):
        return io.FileIO(0, closefd=False)
    place = located(path)
    return cast(io.RawIOBase, place.open() if isinstance(place, Remote) else io.FileIO(path))


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether the file has more than one block, compressed or not."""
    return (regular_size(path) or 0) > BLOCK // 4


def read_chunk(stream: BinaryIO, line: int = 1, *, whole: bool = False) -> bytes:
    """Return the next bytes of a file, or all that are left; they begin at `line`. Raises UnreadableError."""
    try:
        return stream.read(-1 if whole else BLOCK)
    except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableError(_reason(error), line) from error


def _reason(error: BaseException) -> str:
    match error:
        case FileNotFoundError():
            return "no such file"
        case IsADirectoryError():
            return "a folder; a file was expected"
        case PermissionError():
            return "no permission to read it"
        case EOFError():
            return "the compressed file is cut short; send the whole file"
        case gzip.BadGzipFile() | zlib.error():
            return f"the compressed file is damaged ({error}); compress it again"
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)


class Digest(Protocol):
    """A hash object of `hashlib`."""

    def update(self, data: bytes | memoryview, /) -> None: ...


class _Counted(io.RawIOBase):
    """A file that counts and digests its bytes as they are read."""

    def __init__(self, raw: io.RawIOBase, digest: Digest | None) -> None:
        self._raw = raw
        self._digest = digest
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer) or 0
        self.count += count
        if self._digest is not None:
            self._digest.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Readable(Protocol):
    """A decompressed stream."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int: ...


def _expanding(raw: io.BufferedReader[Any]) -> _Readable | None:
    """Return a decompressed stream if the first bytes say that the file is compressed; else None."""
    start = raw.peek(len(XZ))
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if start.startswith(XZ):
        import lzma  # noqa: PLC0415 (few files need it)

        return cast(_Readable, lzma.LZMAFile(raw))
    if start.startswith(ZSTD):
        return cast(_Readable, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd"))
    return None


class _Expanded(io.RawIOBase):
    """A decompressed stream that refuses a file that grows out of proportion."""

    def __init__(self, inner: _Readable, packed: _Counted) -> None:
        self._inner = inner
        self._packed = packed
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._expanded(buffer)
        self._given += count
        if self._given > 8 * BLOCK and self._given > EXPANSION * self._packed.count:
            raise OSError(0, f"the compressed file grows to more than {EXPANSION} times its size; refused")
        return count

    def _expanded(self, buffer: bytearray | memoryview) -> int:
        try:
            return self._inner.readinto(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise
        except Exception as error:
            # lzma raises its own exception, and those of Arrow have no number.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if "runcated" in str(error):
                raise EOFError(str(error)) from error
            raise zlib.error(str(error)) from error
