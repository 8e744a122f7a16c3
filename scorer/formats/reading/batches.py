"""Batches of rows, one for each block: Graded for a solution, Ranked for a submission."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, Problem
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import booleans, joined, keep, take, texts
from scorer.formats.reading.blocks import Block
from scorer.measures.arrays import Bools, Floats, Ints

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
        """Return the rows for which `kept` is true."""
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
