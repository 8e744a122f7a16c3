"""From a path to bytes: opening, decompression, archives of one file, digests, and limits on sizes."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, cast

import pyarrow as pa

from scorer.errors import system_failure
from scorer.files import is_standard_input, located, regular_size
from scorer.limits import MB, OWN_FILES, Limits
from scorer.wording import QUOTED, counted, printable, quoted

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
ZIP_ENTRY = b"PK\x01\x02"
"""The first bytes of the entry of each file in the directory of a zip archive."""
TAR, TAR_AT, TAR_BLOCK = b"ustar", 257, 512

LEFT_OVER = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|/$", re.IGNORECASE)
"""Folders, and files of macOS and Windows that are no content."""

MOST = 1_000
"""The files that an archive may have."""
SHOWN = 5


class ArchiveError(Exception):
    """The archive has not exactly one file, or cannot be read."""


def only_file(content: bytes) -> IO[bytes]:
    """Return the content of the only file in an archive. Raises ArchiveError."""
    try:
        return _in_zip(content) if content.startswith(ZIP) else _in_tar(content)
    except Exception as error:
        if isinstance(error, ArchiveError) or system_failure(error):
            raise
        raise ArchiveError(f"the archive cannot be read ({printable(str(error))[:QUOTED]}); pack it again") from error


def _only(names: list[str]) -> int:
    """Return the position of the only name that is no left-over. Raises ArchiveError."""
    files = [at for at, name in enumerate(names) if not LEFT_OVER.search(name)]
    if len(files) == 1 and len(names) <= MOST:
        return files[0]
    listed = ", ".join(quoted(names[at]) for at in files[:SHOWN]) + ", ..." * (len(files) > SHOWN)
    count = counted(len(files), "file") if len(names) <= MOST else f"more than {MOST:,} files"
    raise ArchiveError(f"found an archive of {count}{': ' * bool(files)}{listed}; expected one")


def _in_zip(content: bytes) -> IO[bytes]:
    import zipfile  # noqa: PLC0415 (few files need it)

    if content.count(ZIP_ENTRY) > MOST:  # before an object is made of each
        raise ArchiveError(f"found an archive of more than {MOST:,} files; expected one")
    archive = zipfile.ZipFile(io.BytesIO(content))
    return archive.open(archive.infolist()[_only(archive.namelist())])


def _in_tar(content: bytes) -> IO[bytes]:
    files = list(islice(_tar_files(content), MOST + 1))
    _, start, end = files[_only([name for name, _, _ in files])]
    return io.BytesIO(content[start:end])


def _tar_files(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the start and the end of each file. `tarfile` may recurse or loop on hostile headers."""
    at = 0
    while any(head := content[at : at + TAR_BLOCK]):  # a block of zeros is the end
        name = b"/".join(filter(None, (head[345:500].rstrip(b"\0"), head[:100].rstrip(b"\0")))).decode(errors="replace")
        is_binary = head[124] & 0x80
        size = int.from_bytes(head[125:136], "big") if is_binary else int(head[124:136].strip(b" \0") or b"0", 8)
        at += TAR_BLOCK
        if size < 0 or at + size > len(content):
            raise ArchiveError("the archive is cut short; send the whole file")
        if head[156:157] in (b"\0", b"0"):
            yield name, at, at + size
        at += -(-size // TAR_BLOCK) * TAR_BLOCK


BLOCK = 1 << 23
"""Bytes read at a time."""
GZIP, XZ, ZSTD, BZ2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", re.compile(rb"BZh[1-9]1AY&SY")
"""The first bytes of compressed files."""

LAYERS = 3
"""How many compressions and archives may be within each other, as in .tar.gz."""

SMALL = 1 << 26
"""The bytes that any file may grow to, however small it is."""


class UnreadableError(Exception):
    """The file cannot be read further; earlier findings stay."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


class LimitError(UnreadableError):
    """The file exceeds a limit on its content."""

    def __init__(self, limits: Limits, name: str, found: str, line: int = 0) -> None:
        """`name` is that of the limit; `found` says what was found, with the unit."""
        value: int = getattr(limits, name)
        super().__init__(f"{found}; the limit is {value:,} (limits.{name})", line)
        self.limits = {name: value}


class InaccessibleError(UnreadableError):
    """The bytes of the file could not be read, which says nothing about them."""


@contextmanager
def open_bytes(
    path: str | os.PathLike[str], digest: Digest | None = None, limits: Limits = OWN_FILES
) -> Iterator[BinaryIO]:
    """Open a file, and decompress or unpack it if its first bytes say so; "-" is standard input.

    `digest` is updated with all bytes of the file, including those that are not read. Raises LimitError where the file,
    or its content after decompression, is too large; InaccessibleError where it cannot be opened or read; and
    UnreadableError where the compressed file is damaged.
    """
    size = regular_size(path) or 0
    if size > limits.file_mb * MB:
        raise LimitError(limits, "file_mb", f"the file has {size / MB:,.0f} MB")
    try:
        read = _Counted(_opened(path), digest, limits)
        raw: io.BufferedReader[Any] = io.BufferedReader(read, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise InaccessibleError(_reason(error)) from error
    with raw:
        try:
            stream = raw
            for _ in range(LAYERS):
                inner = _expanding(stream, limits)
                if inner is None:
                    break
                stream = io.BufferedReader(_Expanded(inner, read, limits), buffer_size=1 << 20)
        except LimitError as error:
            error.line = 1
            raise
        except (*DAMAGED, ArchiveError) as error:
            raise UnreadableError(_reason(error), int(isinstance(error, DAMAGED))) from error
        except OSError as error:
            raise InaccessibleError(_reason(error)) from error
        try:
            yield stream
        finally:
            if digest is not None:
                with suppress(OSError, LimitError):
                    while raw.read(BLOCK):
                        pass


def _opened(path: str | os.PathLike[str]) -> io.RawIOBase:
    if is_standard_input(path):
        return io.FileIO(0, closefd=False)
    place = located(path)
    return io.FileIO(place) if isinstance(place, Path) else cast(io.RawIOBase, place.open())


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether the file has more than one block, compressed or not."""
    return (regular_size(path) or 0) > BLOCK // 4


DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


def read_chunk(stream: BinaryIO, line: int = 1) -> bytes:
    """Return the next block of a file, which begins at `line`. Raises UnreadableError as `open_bytes`."""
    try:
        return stream.read(BLOCK)
    except LimitError as error:
        error.line = line
        raise
    except DAMAGED as error:
        raise UnreadableError(_reason(error), line) from error
    except OSError as error:
        raise InaccessibleError(_reason(error), line) from error


def is_last(chunk: bytes) -> bool:
    """Whether a chunk of `read_chunk` is the last one: any other has the size of a block."""
    return len(chunk) < BLOCK


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
    """A file that counts and digests its bytes as they are read. Raises LimitError for a stream that is too long."""

    def __init__(self, raw: io.RawIOBase, digest: Digest | None, limits: Limits) -> None:
        self._raw = raw
        self._digest = digest
        self._limits = limits
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer) or 0
        self.count += count
        if self.count > self._limits.file_mb * MB:
            raise LimitError(self._limits, "file_mb", f"the file has more than {self.count // MB:,} MB")
        if self._digest is not None:
            self._digest.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Readable(Protocol):
    """A decompressed stream."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int: ...


def _expanding(raw: io.BufferedReader[Any], limits: Limits) -> _Readable | None:
    """Return the content if the first bytes say that the file is compressed or an archive; else None."""
    start = raw.peek(TAR_BLOCK)
    if start.startswith(ZIP) or start[TAR_AT:].startswith(TAR):
        parts = [b""]
        while part := raw.read(BLOCK):
            parts.append(part)
            if (size := sum(map(len, parts))) > limits.document_mb * MB:
                raise LimitError(limits, "document_mb", f"the archive has more than {size // MB:,} MB")
        return cast(_Readable, only_file(b"".join(parts)))
    if BZ2.match(start):
        import bz2  # noqa: PLC0415 (few files need it)

        return bz2.BZ2File(raw)
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

    def __init__(self, inner: _Readable, packed: _Counted, limits: Limits) -> None:
        self._inner = inner
        self._packed = packed
        self._limits = limits
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._expanded(buffer)
        self._given += count
        if self._given > self._limits.expanded_mb * MB:
            raise LimitError(self._limits, "expanded_mb", f"the content has more than {self._given // MB:,} MB")
        if self._given > max(SMALL, self._limits.expansion * self._packed.count):
            times = self._given // max(self._packed.count, 1)
            raise LimitError(self._limits, "expansion", f"the content has {times:,} times the size of the file")
        return count

    def _expanded(self, buffer: bytearray | memoryview) -> int:
        try:
            return self._inner.readinto(buffer)
        except (EOFError, gzip.BadGzipFile, UnreadableError):
            raise
        except Exception as error:
            # lzma raises its own exception.
            if failure := system_failure(error):
                raise failure from error
            if "runcated" in str(error):
                raise EOFError(str(error)) from error
            raise zlib.error(str(error)) from error
