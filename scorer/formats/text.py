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
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings, quoted
from scorer.formats.arrow import booleans, keep, strings, take, text_lengths
from scorer.hits import Bools, Ints

BLOCK = 1 << 23
"""Bytes read at a time."""

LONGEST_LINE = 1 << 24
"""Bytes; what is longer is no ranked list."""

LINE_END = ord("\n")
GZIP = b"\x1f\x8b"
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
    """The file's content, decompressed where its first bytes say that it is compressed.

    All bytes of the file go into `digest`, if there is one, also those that nobody reads. Raises Unreadable with the
    reason in words.
    """
    try:
        file: io.RawIOBase = cast(io.RawIOBase, io.FileIO(path))
        read = file if digest is None else _Digested(file, digest)
        raw: io.BufferedReader[Any] = io.BufferedReader(read, buffer_size=1 << 20)
    except (OSError, ValueError) as error:
        raise Unreadable(_reason(error)) from error
    with raw:
        try:
            compressed = raw.peek(2)[:2] == GZIP
        except OSError as error:
            raise Unreadable(_reason(error)) from error
        try:
            yield io.BufferedReader(_Gunzip(raw), buffer_size=1 << 20) if compressed else raw
        finally:
            if digest is not None:
                with suppress(OSError):
                    while raw.read(BLOCK):
                        pass


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Is it an ordinary file, which can be read twice?"""
    return Path(path).is_file()


def is_large(path: str | os.PathLike[str]) -> bool:
    """Has it more than one block, compressed or not?"""
    return Path(path).is_file() and Path(path).stat().st_size > BLOCK // 4


def blocks(stream: BinaryIO) -> Iterator[Block]:
    """The stream in blocks of whole lines. Raises Unreadable where the bytes are no UTF-8 text."""
    line = 1
    rest = b""
    started = False
    while True:
        try:
            chunk = stream.read(BLOCK)
        except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Unreadable(_reason(error), line) from error
        if not started:
            if chunk[:2] in UTF_16:
                raise Unreadable("the file is in UTF-16; save it as UTF-8 and try again")
            chunk = chunk.removeprefix(BYTE_ORDER_MARK)
            started = True
        end = chunk.rfind(b"\n") + 1 if chunk else 0
        content = rest + chunk[:end] if end else b""
        rest = chunk[end:] if end else rest + chunk
        if not chunk:
            content, rest = rest, b""
        if content:
            _check(content, line)
            yield Block(content, line)
            line += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == LINE_END))
        if len(rest) > LONGEST_LINE:
            raise Unreadable(f"the line is longer than {LONGEST_LINE >> 20} MiB; is this a file of ranked lists?", line)
        if not chunk:
            return


def _check(content: bytes, first_line: int) -> None:
    """Raise Unreadable at the first byte that is not text in UTF-8."""
    nul = content.find(b"\0")
    if nul >= 0:
        line = first_line + content.count(b"\n", 0, nul)
        raise Unreadable("a NUL byte; the file is binary, or text in UTF-16: save it as plain text in UTF-8", line)
    bare = BARE_RETURN.search(content) if b"\r" in content else None
    if bare:
        line = first_line + content.count(b"\n", 0, bare.start())
        raise Unreadable("a carriage return within a line; expected lines to end with LF or CR LF", line)
    if content.isascii():
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        column = error.start - content.rfind(b"\n", 0, error.start)
        byte = content[error.start]
        raise Unreadable(f"byte 0x{byte:02x} at column {column} is not UTF-8; save the file as UTF-8", line) from error


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


class _Digested(io.RawIOBase):
    """A file whose bytes are digested as they are read, so that the digest is of what was read."""

    def __init__(self, raw: io.RawIOBase, digest: Digest) -> None:
        self._raw = raw
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer) or 0
        self._digest.update(memoryview(buffer)[:count])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Gunzip(io.RawIOBase):
    """Decompression that stops at a file made to burst the reader."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._inner = gzip.GzipFile(fileobj=raw, mode="rb")
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._inner.readinto(buffer)
        self._given += count
        if self._given > 8 * BLOCK and self._given > EXPANSION * self._raw.tell():
            raise OSError(0, f"the compressed file grows to more than {EXPANSION} times its size; refused")
        return count
