"""Blocks of whole lines from bytes, and the batches of rows that are read from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, TypeVar

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, Problem
from scorer.limits import MB, OWN_FILES, Limits
from scorer.lists.reading import compute as pc
from scorer.lists.reading.arrow import booleans, joined, keep, strings, take, text_lengths, texts
from scorer.lists.reading.bytes import LimitError, UnreadableError, is_last, read_chunk
from scorer.measures.matched import Bools, Floats, Ints
from scorer.wording import quoted

LINE_END = ord("\n")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

SAMPLE_LINES = 20
SAMPLE_BYTES = 1 << 16

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
        lines = cls(text, number)
        return lines.where(kept)

    def where(self, kept: Bools) -> Lines:
        if kept.all():
            return self
        return Lines(keep(self.text, kept), self.number[kept])

    def sound(self, bad: Bools, findings: Findings, expected: str) -> Lines:
        """Return the lines that are not `bad`; the bad ones become findings."""
        if not bad.any():
            return self
        wrong = np.flatnonzero(bad)
        found = take(self.text, wrong)
        findings.add_each(self.number[wrong], lambda at: f"found {quoted(found[at].as_py())}; expected {expected}")
        return self.where(~bad)

    def __len__(self) -> int:
        return len(self.text)


def sample(content: bytes) -> list[str]:
    """Return the first lines that are not blank."""
    visible = VISIBLE.search(content)
    start = content.rfind(b"\n", 0, visible.start() if visible else len(content)) + 1
    lines = content[start : start + SAMPLE_BYTES].decode("utf-8", errors="ignore").split("\n")
    return [line.strip("\r\n") for line in islice(filter(str.strip, lines), SAMPLE_LINES)]


def trimmed(texts: pa.StringArray, block: Block) -> pa.StringArray:
    """Return the texts without the white space around them."""
    return pc.ascii_trim_whitespace(texts) if block.holds(b" ", b"\t", b"\v", b"\f") else texts


def blocks(stream: BinaryIO, start: bytes | None = None, limits: Limits = OWN_FILES) -> Iterator[Block]:
    """Yield the stream in blocks of whole lines; `start` has been read from it already.

    Raises UnreadableError where the bytes are not text in UTF-8 or a line is too long.
    """
    line = 1
    rest = b""
    started = False
    while True:
        chunk = read_chunk(stream, line) if started or start is None else start
        last = is_last(chunk)
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
            yield Block(checked(content, line), line, limits)
            line += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == LINE_END))
        if len(rest) > limits.line_mb * MB:
            found = f"the line has more than {len(rest) // MB:,} MB; is this a file of ranked lists?"
            raise LimitError(limits, "line_mb", found, line)
        if last:
            return


def checked(content: bytes, first_line: int) -> bytes:
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
class Graded:
    """Part of a solution: rows, each with a query and its graded items."""

    query: pa.StringArray
    line: Ints
    """[row]: the number of its line."""
    flag: Bools | None
    """[row]: whether the query is on the preliminary board; None where the format has no flags."""
    lengths: Ints | None
    """[row]: the number of its items; None: one in each."""
    item: pa.StringArray
    grade: Floats
    subtopic: pa.StringArray | None = None
    """[item]: the subtopic that the grade is for; one text for all items; None where the rows have no subtopics."""
    is_iteration: bool = False
    """Whether `subtopic`, if any, is from a column called iteration, which may also mean something else."""

    @property
    def row_of_item(self) -> Ints:
        return rows_of(self.lengths, len(self.query))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranked:
    """Part of a submission: rows, each with a query and its items, in the order of the file."""

    query: pa.StringArray
    line: Ints
    """[row]: the number of its line."""
    lengths: Ints | None
    """[row]: the number of its items; None: one in each."""
    item: pa.StringArray
    run_score: Floats | None
    """[item]: the run score, which orders lists, highest first; None: lists are in the order of the file."""
    rank: Ints | None = None
    """[item]: the rank in the file, where the file has ranks and no run scores."""
    note: Problem | None = None
    """About ranks in the file that contradict its run scores; of a whole batch only."""

    @property
    def row_of_item(self) -> Ints:
        return rows_of(self.lengths, len(self.query))

    def part(self, start: int, stop: int) -> Ranked:
        """Return the rows from `start` up to, but without, `stop`."""
        if self.lengths is None:
            items = slice(start, stop)
        else:
            ends = np.concatenate([[0], np.cumsum(self.lengths)])
            items = slice(int(ends[start]), int(ends[stop]))
        return Ranked(
            query=self.query[start:stop],
            line=self.line[start:stop],
            lengths=None if self.lengths is None else self.lengths[start:stop],
            item=self.item[items],
            run_score=None if self.run_score is None else self.run_score[items],
            rank=None if self.rank is None else self.rank[items],
        )

    def where(self, kept: Bools) -> Ranked:
        items = kept[self.row_of_item]
        return Ranked(
            query=keep(self.query, kept),
            line=self.line[kept],
            lengths=None if self.lengths is None else self.lengths[kept],
            item=keep(self.item, items),
            run_score=None if self.run_score is None else self.run_score[items],
            rank=None if self.rank is None else self.rank[items],
        )


def subtopics(batches: Sequence[Graded]) -> pa.StringArray | None:
    """Return the subtopic of each item of all batches, or "" where a row has none; None where all are equal."""
    nonempty = [batch for batch in batches if len(batch.item)]
    parts = [texts([""]) if batch.subtopic is None else batch.subtopic for batch in nonempty]
    names = joined(parts)
    if not len(names) or booleans(pc.equal(names, names[0])).all():
        return None
    return joined(
        part if len(part) == len(batch.item) else take(part, np.zeros(len(batch.item), dtype=np.int64))
        for part, batch in zip(parts, nonempty, strict=True)
    )


def rows_of(lengths: Ints | None, rows: int) -> Ints:
    """Return the row of each item."""
    every = np.arange(rows, dtype=np.int64)
    return every if lengths is None else np.repeat(every, lengths)


Batch = TypeVar("Batch", Graded, Ranked)

Reader = Callable[[Block, Findings], Batch]
"""Reads a block. An invalid line becomes a finding and is left out. Raises UnreadableError."""
