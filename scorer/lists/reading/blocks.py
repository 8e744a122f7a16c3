"""From a path to blocks of whole lines, and the batches of rows that are read from them.

Files are opened, decompressed or unpacked, and digested, within limits on sizes.
"""

from __future__ import annotations

import errno
import gzip
import io
import math
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, Self, TypeVar, cast

import numpy as np
import pyarrow as pa

from scorer.errors import FileError, Findings, Problem, system_failure
from scorer.files import is_standard_input, located, regular_size
from scorer.limits import MB, OWN_FILES, Limits
from scorer.lists.reading.arrow import (
    booleans,
    fingerprints,
    keep,
    list_lengths,
    one_array,
    pc,
    run_starts,
    strings,
    take,
    text_lengths,
    texts,
)
from scorer.measures.matched import Bools, Floats, Ints
from scorer.wording import QUOTED, counted, printable, quoted

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
ZIP_ENTRY = b"PK\x01\x02"
"""The first bytes of the entry of each file in the directory of a zip archive."""
TAR, TAR_AT, TAR_BLOCK = b"ustar", 257, 512

LEFT_OVER = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|/$", re.IGNORECASE)
"""Folders, and files of macOS and Windows that are no content."""

_MOST = 1_000
"""The files that an archive may have."""
_SHOWN = 5


def only_file(content: bytes) -> IO[bytes]:
    """Return the content of the only file in an archive. Raises UnreadableError."""
    try:
        if content.startswith(ZIP):
            return _in_zip(content)
        files = list(islice(_tar_files(content), _MOST + 1))
        _, start, end = files[_only([name for name, _, _ in files])]
        return io.BytesIO(content[start:end])
    except Exception as error:
        if isinstance(error, UnreadableError) or system_failure(error):
            raise
        raise UnreadableError(
            f"the archive cannot be read ({printable(str(error))[:QUOTED]}); pack it again"
        ) from error


def _only(names: list[str]) -> int:
    """Return the position of the only name that is no left-over. Raises UnreadableError."""
    if "[Content_Types].xml" in names:
        raise UnreadableError("found an Excel workbook; save it as CSV")
    files = [at for at, name in enumerate(names) if not LEFT_OVER.search(name)]
    if len(files) == 1 and len(names) <= _MOST:
        return files[0]
    listed = [quoted(names[at]) for at in files[:_SHOWN]] + (["..."] if len(files) > _SHOWN else [])
    count = counted(len(files), "file") if len(names) <= _MOST else f"more than {_MOST:,} files"
    found = f"{count}: {', '.join(listed)}" if files else count
    raise UnreadableError(f"found an archive of {found}; expected one")


def _in_zip(content: bytes) -> IO[bytes]:
    import zipfile  # noqa: PLC0415 (few files need it)

    if content.count(ZIP_ENTRY) > _MOST:  # before an object is made of each
        raise UnreadableError(f"found an archive of more than {_MOST:,} files; expected one")
    archive = zipfile.ZipFile(io.BytesIO(content))
    return archive.open(archive.infolist()[_only(archive.namelist())])


def _tar_files(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the start and the end of each file. `tarfile` may recurse or loop on hostile headers."""
    at = 0
    while any(head := content[at : at + TAR_BLOCK]):  # a block of zeros is the end
        name = b"/".join(filter(None, (head[345:500].rstrip(b"\0"), head[:100].rstrip(b"\0")))).decode(errors="replace")
        is_binary = head[124] & 0x80
        size = int.from_bytes(head[125:136], "big") if is_binary else int(head[124:136].strip(b" \0") or b"0", 8)
        at += TAR_BLOCK
        if size < 0 or at + size > len(content):
            raise UnreadableError("the archive is cut short; send the whole file")
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
    """The file cannot be read further; earlier findings stay. Its advice is for who chooses the settings of a track."""

    def __init__(self, text: str, line: int = 0, advice: str = "") -> None:
        super().__init__(text)
        self.line, self.advice = line, advice
        self.limits: Mapping[str, int] = {}
        """The limits that the file exceeds, by name, and their values."""

    def __str__(self) -> str:
        return f"{super().__str__()}{self.advice}"

    @property
    def problem(self) -> Problem:
        """What a message says about the file."""
        return Problem.of_form(self.line, super().__str__(), self.advice)


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
def findings_about(name: str, error: type[FileError]) -> Iterator[Findings]:
    """Yield findings about what is read, of this name. Raises `error` with all of them at the end, if there are any.

    An UnreadableError ends the block, and becomes a finding.
    """
    findings = Findings()
    with reported(findings):
        yield findings
    if findings:
        raise error(name, findings)


@contextmanager
def reported(findings: Findings) -> Iterator[None]:
    """Add an UnreadableError, which ends the block, to the findings."""
    try:
        yield
    except UnreadableError as error:
        findings.put(error.problem)


@contextmanager
def open_bytes(
    path: str | os.PathLike[str], digest: Digest | None = None, limits: Limits = OWN_FILES, most: float = math.inf
) -> Iterator[BinaryIO]:
    """Open a file, and decompress or unpack it if its first bytes say so; "-" is standard input.

    `digest` is updated with all bytes of the file, including those that are not read. Of the file, and of the content
    of each layer of compression, no more than about `most` bytes are read. Raises LimitError where the file, or its
    content after decompression, is too large; InaccessibleError where it cannot be opened or read, or more than `most`
    bytes are needed; and UnreadableError where the compressed file is damaged.
    """
    size = regular_size(path) or 0
    if size > limits.file_mb * MB:
        raise LimitError(limits, "file_mb", f"the file has {size / MB:,.0f} MB")
    buffer = int(min(most / 8, 1 << 20))
    try:
        file = _opened(path)
    except (OSError, ValueError) as error:
        raise InaccessibleError(_reason(error)) from error
    with file:
        read = _Counted(file, limits, most, digest)
        raw: io.BufferedReader[Any] = io.BufferedReader(read, buffer_size=buffer)
        try:
            stream = raw
            for _ in range(LAYERS):
                inner = _expanding(stream, limits)
                if inner is None:
                    break
                stream = io.BufferedReader(_Expanded(inner, read), buffer_size=buffer)
        except LimitError as error:
            error.line = 1
            raise
        except _DAMAGED as error:
            raise UnreadableError(_reason(error), 1) from error
        except OSError as error:
            raise InaccessibleError(_reason(error)) from error
        try:
            yield stream
        finally:
            if digest is not None:
                with suppress(OSError, LimitError):
                    while raw.read(BLOCK):
                        pass


def beginning(path: str | os.PathLike[str], limits: Limits = OWN_FILES) -> bytes:
    """Return the first `SAMPLE_BYTES` of a file or of its content, or all; a team may choose which bytes these are.

    Raises UnreadableError as `open_bytes`; InaccessibleError also where they take more than `FIRST_BYTES`.
    """
    with open_bytes(path, None, limits, FIRST_BYTES) as stream:
        return read_chunk(stream, size=SAMPLE_BYTES)


def _opened(path: str | os.PathLike[str]) -> io.RawIOBase:
    if is_standard_input(path):
        return io.FileIO(0, closefd=False)
    place = located(path)
    return io.FileIO(place) if isinstance(place, Path) else cast(io.RawIOBase, place.open())


def is_large(path: str | os.PathLike[str]) -> bool:
    """Whether the file has more than one block, compressed or not."""
    return (regular_size(path) or 0) > BLOCK // 4


_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


def read_chunk(stream: BinaryIO, line: int = 1, size: int | None = None) -> bytes:
    """Return the next block of a file, which begins at `line`. Raises UnreadableError as `open_bytes`."""
    try:
        return stream.read(BLOCK if size is None else size)
    except LimitError as error:
        error.line = line
        raise
    except _DAMAGED as error:
        raise UnreadableError(_reason(error), line) from error
    except OSError as error:
        raise InaccessibleError(_reason(error), line) from error


def read_whole(stream: BinaryIO, limits: Limits, what: str, start: bytes = b"") -> bytes:
    """Return `start` and the rest of the stream. Raises LimitError where they are too long to be read as a whole."""
    parts, size = [start], len(start)
    while size <= limits.document_mb * MB:
        parts.append(read_chunk(stream))
        size += len(parts[-1])
        if not parts[-1]:
            return b"".join(parts)
    raise LimitError(limits, "document_mb", f"{what} has more than {size // MB:,} MB")


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
        case gzip.BadGzipFile() if "Not a gzipped file" in str(error):
            return "other bytes follow the compressed content; compress the file again"
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

    def __init__(self, raw: Any, limits: Limits, most: float, digest: Digest | None = None) -> None:
        self._raw, self.limits, self.most, self._digest = raw, limits, most, digest
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self.count >= self.most:
            raise InaccessibleError("what is sought is not at the beginning")
        count = self._taken(buffer)
        self.count += count
        self._check_count()
        if self._digest is not None:
            self._digest.update(memoryview(buffer)[:count])
        return count

    def _taken(self, buffer: bytearray | memoryview) -> int:
        return self._raw.readinto(buffer) or 0

    def _check_count(self) -> None:
        if self.count > self.limits.file_mb * MB:
            raise LimitError(self.limits, "file_mb", f"the file has more than {self.count // MB:,} MB")


class _Expanded(_Counted):
    """A decompressed stream that refuses a file that grows out of proportion."""

    def __init__(self, inner: Any, packed: _Counted) -> None:
        super().__init__(inner, packed.limits, packed.most)
        self._packed = packed

    def _taken(self, buffer: bytearray | memoryview) -> int:
        try:
            return super()._taken(buffer)
        except (EOFError, gzip.BadGzipFile, UnreadableError):
            raise
        except Exception as error:
            # lzma raises its own exception.
            if failure := system_failure(error):
                raise failure from error
            if "runcated" in str(error):
                raise EOFError(str(error)) from error
            raise zlib.error(str(error)) from error

    def _check_count(self) -> None:
        if self.count > self.limits.expanded_mb * MB:
            raise LimitError(self.limits, "expanded_mb", f"the content has more than {self.count // MB:,} MB")
        if self.count > max(SMALL, self.limits.expansion * self._packed.count):
            times = self.count // max(self._packed.count, 1)
            raise LimitError(self.limits, "expansion", f"the content has {times:,} times the size of the file")


def _expanding(raw: io.BufferedReader[Any], limits: Limits) -> Any:
    """Return the content if the first bytes say that the file is compressed or an archive; else None."""
    start = raw.peek(TAR_BLOCK)
    if start.startswith(ZIP) or start[TAR_AT:].startswith(TAR):
        return only_file(read_whole(raw, limits, "the archive"))
    if BZ2.match(start):
        import bz2  # noqa: PLC0415 (few files need it)

        return bz2.BZ2File(raw)
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if start.startswith(XZ):
        import lzma  # noqa: PLC0415 (few files need it)

        return lzma.LZMAFile(raw)
    if start.startswith(ZSTD):
        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return None


LINE_END = ord("\n")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

SAMPLE_LINES = 20
SAMPLE_BYTES = 1 << 16

FIRST_BYTES = 1 << 19
"""Bytes of a file, and of each layer of compression, that may be read for its beginning by a process without limits."""

VISIBLE = re.compile(rb"\S")

BARE_RETURN = re.compile(rb"\r[^\r\n]")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block:
    """Whole lines of a file, valid UTF-8 without NUL bytes; the last one may lack its line end."""

    content: bytes
    first_line: int
    """The number of its first line, from 1."""
    limits: Limits = OWN_FILES
    """The limits on the file."""

    @property
    def lines(self) -> pa.StringArray:
        """The lines with their line ends, without a copy."""
        ends = np.flatnonzero(np.frombuffer(self.content, dtype=np.uint8) == LINE_END) + 1
        if not ends.size or ends[-1] != len(self.content):
            ends = np.append(ends, len(self.content))
        return strings(np.concatenate([[0], ends]), self.content)

    def holds(self, *characters: bytes) -> bool:
        return any(character in self.content for character in characters)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lines:
    """Lines and their numbers in the file."""

    text: pa.StringArray
    number: Ints

    @classmethod
    def of(cls, block: Block, *, trim: str | None = None, comments: bool = False) -> Lines:
        """Return the lines that are not blank, without white space (or `trim`); with `comments`, without those."""
        raw = block.lines
        number = block.first_line + np.arange(len(raw), dtype=np.int64)
        bare = pc.ascii_trim_whitespace(raw)
        text = bare if trim is None else pc.ascii_trim(raw, characters=trim)
        kept = text_lengths(bare) > 0
        if comments and block.holds(b"#"):
            kept &= ~booleans(pc.starts_with(raw, "#"))
        return cls(text, number).where(kept)

    def where(self, kept: Bools) -> Lines:
        return Lines(keep(self.text, kept), self.number[kept])

    def sound(self, bad: Bools, findings: Findings, expected: str) -> Lines:
        """Return the lines that are not `bad`; the bad ones become findings."""
        wrong = np.flatnonzero(bad)
        found = take(self.text, wrong)
        findings.add_each(self.number[wrong], lambda at: f"found {quoted(found[at].as_py())}; expected {expected}")
        return self.where(~bad)

    def __len__(self) -> int:
        return len(self.text)


class Words:
    """The parts of texts, as a function of Arrow splits them."""

    def __init__(self, split: pa.ListArray) -> None:
        self.lengths = list_lengths(split)
        """[text]: the number of its parts."""
        self._words = pc.list_flatten(split)
        self._start = np.cumsum(self.lengths) - self.lengths

    def column(self, place: int, kept: Bools | slice = slice(None)) -> pa.StringArray:
        """Return the part at a place, from 0, of each text that is kept, which has it."""
        return take(self._words, self._start[kept] + place)

    def column_or_empty(self, place: int) -> pa.StringArray:
        """Return the part at a place of each text; empty where there are fewer."""
        padded = one_array([self._words, texts([""])])
        return take(padded, np.where(self.lengths > place, self._start + place, len(padded) - 1))


def sample(content: bytes, most: int = SAMPLE_LINES) -> list[str]:
    """Return the first lines that are not blank."""
    visible = VISIBLE.search(content)
    start = content.rfind(b"\n", 0, visible.start() if visible else len(content)) + 1
    lines = content[start : start + SAMPLE_BYTES].decode("utf-8", errors="ignore").split("\n")
    return [line.strip("\r\n") for line in islice(filter(str.strip, lines), most)]


def trimmed(texts: pa.StringArray, block: Block) -> pa.StringArray:
    """Return the texts without the white space around them."""
    return pc.ascii_trim_whitespace(texts) if block.holds(b" ", b"\t", b"\v", b"\f") else texts


def line_blocks(stream: BinaryIO, start: bytes | None = None, limits: Limits = OWN_FILES) -> Iterator[Block]:
    """Yield the stream in blocks of whole lines; `start` has been read from it already.

    Raises UnreadableError where the bytes are not text in UTF-8 or a line is too long.
    """
    line = 1
    rest = b""
    started = False
    while True:
        chunk = read_chunk(stream, line) if started or start is None else start
        last = len(chunk) < BLOCK  # any other has this size
        if not started:
            if chunk[:2] in UTF_16:
                raise UnreadableError("the file is in UTF-16; save it as UTF-8 and try again")
            chunk = chunk.removeprefix(BYTE_ORDER_MARK)
            started = True
        end = len(chunk) if last else chunk.rfind(b"\n") + 1
        whole = last and not rest  # a file of one block is not copied
        content = chunk if whole else b"".join([rest, memoryview(chunk)[:end]]) if end or last else b""
        rest = chunk[end:] if end or last else rest + chunk
        if content:
            yield Block(checked_utf8(content, line), line, limits)
            line += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == LINE_END))
        if len(rest) > limits.line_mb * MB:
            found = f"the line has more than {len(rest) // MB:,} MB; is this a file of ranked lists?"
            raise LimitError(limits, "line_mb", found, line)
        if last:
            return


def checked_utf8(content: bytes, first_line: int) -> bytes:
    """Return the content. Raises UnreadableError at the first byte that is not text in UTF-8."""
    nul = content.find(b"\0")
    if nul >= 0:
        line = first_line + content.count(b"\n", 0, nul)
        raise UnreadableError("a NUL byte; the file is binary, or text in UTF-16: save it as plain text in UTF-8", line)
    bare = BARE_RETURN.search(content) if b"\r" in content else None
    if bare:
        line = first_line + content.count(b"\n", 0, bare.start())
        raise UnreadableError("a carriage return within a line; expected lines to end with LF or CR LF", line)
    if content.isascii():
        return content
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        column = error.start - content.rfind(b"\n", 0, error.start)
        byte = content[error.start]
        raise UnreadableError(
            f"byte 0x{byte:02x} at column {column} is not UTF-8; save the file as UTF-8", line
        ) from error
    return content


ITERATION_HINT = "; if iterations are subtopics, name the format: trec:subtopic=iteration"
"""What to do about an item that is listed again with another iteration."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Rows:
    """Rows, each with a query and its items, in the order of the file."""

    query: pa.StringArray
    line: Ints
    """[row]: the number of its line."""
    lengths: Ints | None
    """[row]: the number of its items; None: one in each."""
    item: pa.StringArray

    @property
    def row_of_item(self) -> Ints:
        rows = np.arange(len(self.query), dtype=np.int64)
        return rows if self.lengths is None else np.repeat(rows, self.lengths)

    def where(self, kept: Bools) -> Self:
        return self if kept.all() else self._chosen(kept, kept[self.row_of_item])

    def _chosen(self, rows: slice | Bools, items: slice | Bools) -> Self:
        chosen = {}
        for each in fields(self):
            values = getattr(self, each.name)
            which = rows if each.name in ("query", "line", "lengths", "flag") else items
            if isinstance(values, pa.Array) and not isinstance(which, slice):
                chosen[each.name] = keep(values, which)
            elif isinstance(values, pa.Array | np.ndarray):
                chosen[each.name] = values[which]
        return replace(self, **chosen)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graded(_Rows):
    """Part of a solution: rows with graded items."""

    grade: Floats
    subtopic: pa.StringArray | None = None
    """[item]: the subtopic that the grade is for; None where the rows have no subtopics."""
    is_iteration: bool = False
    """Whether `subtopic`, if any, is from a column called iteration, which may also mean something else."""
    flag: Bools | None = None
    """[row]: whether the query is on the preliminary board; None where the format has no flags."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranked(_Rows):
    """Part of a submission: rows with ranked items."""

    run_score: Floats | None
    """[item]: the run score, which orders lists, highest first; None: lists are in the order of the file."""
    rank: Ints | None = None
    """[item]: the rank in the file, where the file has ranks and no run scores."""
    note: Problem | None = None
    """About ranks in the file that contradict its run scores; of a whole batch only."""

    def part(self, start: int, stop: int) -> Ranked:
        """Return the rows from `start` up to, but without, `stop`."""
        rows = items = slice(start, stop)
        if self.lengths is not None:
            ends = np.concatenate([[0], np.cumsum(self.lengths)])
            items = slice(int(ends[start]), int(ends[stop]))
        return self._chosen(rows, items)


def subtopics(batches: Sequence[Graded]) -> pa.StringArray | None:
    """Return the subtopic of each item of all batches, or "" where a row has none; None where all are equal."""
    if all(batch.subtopic is None for batch in batches):
        return None
    parts = (texts([""] * len(batch.item)) if batch.subtopic is None else batch.subtopic for batch in batches)
    names = one_array(parts)
    return None if not len(names) or booleans(pc.equal(names, names[0])).all() else names


Batch = TypeVar("Batch", Graded, Ranked)


PARTITION_BYTES = 16 << 20
"""The bytes of a file with scattered lists that are matched at a time."""

MAX_PARTITIONS = 256
"""Each partition is an open file while the lists are collected."""


class TemporarySpaceError(OSError):
    """The rows take more temporary disk space than is allowed."""

    def __init__(self) -> None:
        super().__init__(errno.EFBIG, os.strerror(errno.EFBIG))


def whole_lists(batches: Iterable[Ranked]) -> Iterator[list[Ranked]]:
    """The batches in parts that hold whole lists, if the rows of each query are adjacent."""
    coming = iter(batches)
    part: list[Ranked] = []
    batch = next(coming, None)
    while batch is not None:
        following = next(coming, None)
        rows = len(batch.query)
        start = rows if following is None or not rows else int(run_starts(batch.query)[-1])
        if part and rows and part[-1].query[-1].as_py() != batch.query[0].as_py():
            yield part
            part = []
        if start:
            yield [*part, batch.part(0, start)]
            part = []
        if start < rows:
            part.append(batch.part(start, rows))
        batch = following
    if part:
        yield part


def partitions_for(size: int) -> int:
    """The number of partitions for files of `size` bytes together, so that one partition at a time fits into memory."""
    return min(size // PARTITION_BYTES + 1, MAX_PARTITIONS)


def by_query(
    batches: Iterable[Ranked], partitions: int, temporary_mb: int = OWN_FILES.temporary_mb
) -> Iterator[list[Ranked]]:
    """The batches' rows in partitions on disk; all rows of a query are in one of them.

    Memory holds one batch, then one partition, at a time. The rows of a partition are in the order of the file. Raises
    TemporarySpaceError where the rows take more than `temporary_mb` MB, and OSError where they cannot be written.
    """
    from scorer.files.writing import temporary_folder  # noqa: PLC0415 (few files need it)

    with temporary_folder() as folder:
        files = [folder / str(number) for number in range(partitions)]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for batch in batches:
                partition = (fingerprints(batch.query) % np.uint64(partitions)).astype(np.int64)
                for number in np.unique(partition).tolist():
                    pickle.dump(batch.where(partition == number), streams[number])
                if sum(stream.tell() for stream in streams) > temporary_mb * MB:
                    raise TemporarySpaceError
        for file in files:
            part: list[Ranked] = []
            with file.open("rb") as stream:
                while stream.peek(1):
                    part.append(pickle.load(stream))  # noqa: S301 (written above, in a folder of this process only)
            file.unlink()
            if part:
                yield part
