"""From a path to blocks of whole lines: compression, encoding and line ends, and nothing of what the lines mean."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings
from scorer.formats.arrow import booleans, keep, strings, take, text_lengths
from scorer.measures.arrays import Bools, Ints
from scorer.paths import Remote, is_standard_input, located, regular_size
from scorer.wording import quoted

BLOCK = 1 << 23
"""Bytes read at a time."""

LONGEST_LINE = 1 << 24
"""Bytes; what is longer is no ranked list."""

LINE_END = ord("\n")
GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
"""How compressed files begin."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

EXPANSION = 300
"""How many times its own size a compressed file may grow to; ranked lists grow three to twenty times."""

BARE_RETURN = re.compile(rb"\r[^\r\n]")


class Unreadable(Exception):  # noqa: N818 (it tells of a file, and becomes a finding)
    """The file cannot be read on; what was found until then stays found."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Whole lines of a file, valid UTF-8 without NUL bytes; the last one may lack its line end."""

    content: bytes
    first_line: int
    """The number of its first line, from 1."""

    @property
    def lines(self) -> pa.StringArray:
        """Its lines, line ends included, without a copy."""
        ends = np.flatnonzero(np.frombuffer(self.content, dtype=np.uint8) == LINE_END) + 1
        if not ends.size or ends[-1] != len(self.content):
            ends = np.append(ends, len(self.content))
        return strings(np.concatenate([[0], ends]), self.content)

    def holds(self, *characters: bytes) -> bool:
        """Is any of these in it?"""
        return any(character in self.content for character in characters)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines with the numbers that they have in their file."""

    text: pa.StringArray
    number: Ints

    @classmethod
    def of(cls, block: Block, *, trim: str | None = None, comments: bool = False) -> Lines:
        """The lines of a block that are not blank, trimmed of white space (or of the characters `trim` alone).

        With `comments`, a line that starts with ``#`` in its first column is left out.
        """
        raw = block.lines
        number = block.first_line + np.arange(len(raw), dtype=np.int64)
        bare = pc.ascii_trim_whitespace(raw)
        text = bare if trim is None else pc.ascii_trim(raw, characters=trim)
        kept = text_lengths(bare) > 0
        if comments and block.holds(b"#"):
            kept &= ~booleans(pc.starts_with(raw, "#"))
        lines = cls(text, number)
        return lines.where(kept)

    def where(self, kept: Bools) -> Lines:
        """Those lines for which `kept` is true."""
        if kept.all():
            return self
        return Lines(keep(self.text, kept), self.number[kept])

    def sound(self, bad: Bools, findings: Findings, expected: str) -> Lines:
        """The lines that are not `bad`; the bad ones become findings, with what was expected instead."""
        if not bad.any():
            return self
        wrong = np.flatnonzero(bad)
        found = take(self.text, wrong)
        findings.add_each(
            self.number[wrong], lambda place: f"found {quoted(found[place].as_py())}; expected {expected}"
        )
        return self.where(~bad)

    def __len__(self) -> int:
        return len(self.text)


def trimmed(texts: pa.StringArray, block: Block) -> pa.StringArray:
    """The texts without white space around them; free where the block holds none."""
    return pc.ascii_trim_whitespace(texts) if block.holds(b" ", b"\t") else texts


@contextmanager
def open_bytes(path: str | os.PathLike[str], digest: Digest | None = None) -> Iterator[BinaryIO]:
    """The file's content, decompressed where its first bytes say that it is compressed; "-" is standard input.

    All bytes of the file go into `digest`, if there is one, also those that nobody reads. Raises Unreadable with the
    reason in words.
    """
    try:
        read = _Counted(_opened(path), digest)
        raw: io.BufferedReader[Any] = io.BufferedReader(read, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise Unreadable(_reason(error)) from error
    with raw:
        try:
            inner = _expanding(raw)
        except OSError as error:
            raise Unreadable(_reason(error)) from error
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
    """Has it more than one block, compressed or not?"""
    return (regular_size(path) or 0) > BLOCK // 4


def read_chunk(stream: BinaryIO, line: int = 1, *, whole: bool = False) -> bytes:
    """The next bytes of a file, or all that are left; `line` is where they begin. Raises Unreadable."""
    try:
        return stream.read(-1 if whole else BLOCK)
    except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(_reason(error), line) from error


def blocks(stream: BinaryIO, start: bytes | None = None) -> Iterator[Block]:
    """The stream in blocks of whole lines, after `start`, which has been read from it.

    Raises Unreadable where the bytes are no UTF-8 text.
    """
    line = 1
    rest = b""
    started = False
    while True:
        chunk = read_chunk(stream, line) if started or start is None else start
        if not started:
            if chunk[:2] in UTF_16:
                raise Unreadable("the file is in UTF-16; save it as UTF-8 and try again")
            chunk = chunk.removeprefix(BYTE_ORDER_MARK)
            started = True
        end = chunk.rfind(b"\n") + 1 if chunk else 0
        content = b"".join([rest, memoryview(chunk)[:end]]) if end else b""
        rest = chunk[end:] if end else rest + chunk
        if not chunk:
            content, rest = rest, b""
        if content:
            yield Block(checked(content, line), line)
            line += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == LINE_END))
        if len(rest) > LONGEST_LINE:
            raise Unreadable(f"the line is longer than {LONGEST_LINE >> 20} MiB; is this a file of ranked lists?", line)
        if not chunk:
            return


def checked(content: bytes, first_line: int) -> bytes:
    """The content; Unreadable at the first byte that is not text in UTF-8."""
    nul = content.find(b"\0")
    if nul >= 0:
        line = first_line + content.count(b"\n", 0, nul)
        raise Unreadable("a NUL byte; the file is binary, or text in UTF-16: save it as plain text in UTF-8", line)
    bare = BARE_RETURN.search(content) if b"\r" in content else None
    if bare:
        line = first_line + content.count(b"\n", 0, bare.start())
        raise Unreadable("a carriage return within a line; expected lines to end with LF or CR LF", line)
    if content.isascii():
        return content
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        column = error.start - content.rfind(b"\n", 0, error.start)
        byte = content[error.start]
        raise Unreadable(f"byte 0x{byte:02x} at column {column} is not UTF-8; save the file as UTF-8", line) from error
    return content


def _reason(error: BaseException) -> str:
    match error:
        case FileNotFoundError():
            return "no such file"
        case IsADirectoryError():
            return "a folder; a file was expected"
        case PermissionError():
            return "no permission to read it"
        case EOFError():
            return "the compressed file is cut short; send it again whole"
        case gzip.BadGzipFile() | zlib.error():
            return f"the compressed file is damaged ({error}); compress it anew"
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)


class Digest(Protocol):
    """What `hashlib` makes."""

    def update(self, data: bytes | memoryview, /) -> None: ...


class _Counted(io.RawIOBase):
    """A file whose bytes are counted and digested as they are read, so that the digest is of what was read."""

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
    """What decompresses."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int: ...


def _expanding(raw: io.BufferedReader[Any]) -> _Readable | None:
    """The file's content decompressed, if its first bytes say that it is compressed."""
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
    """Decompression that stops at a file made to burst the reader."""

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
            # lzma has an exception of its own, and Arrow's have no number.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if "runcated" in str(error):
                raise EOFError(str(error)) from error
            raise zlib.error(str(error)) from error
