"""Whether the ranks that a run states agree with its run scores, which decide the order of its lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from scorer.formats.reading.arrow import floats, numbers, run_starts
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.wording import counted

DECIDE = "; the scores decide the order, and the rank column is ignored"


@dataclass(slots=True)
class StatedRanks:
    """Counts of what the rows of a run say. Rows are compared in lists of adjacent rows, by stated rank."""

    rows: int = 0
    rising: int = 0
    """Neighbours by rank of which the lower one has the higher score."""
    falling: int = 0
    """Neighbours by rank of which the lower one has the lower score."""
    neighbours: int = 0
    """Adjacent rows of a list."""
    counting: int = 0
    """Those of `neighbours` whose scores go up by one, and whose ranks do not."""
    odd: int = 0
    """Rows whose rank is no whole number."""
    example: tuple[int, float, float] | None = None
    """The line, rank and score of the first row with a higher rank and a higher score than another."""
    first_odd: int = 0
    """The line of the first of `odd`."""

    @classmethod
    def of(cls, query: pa.StringArray, stated: pa.Array, score: Floats, line: Ints) -> StatedRanks:
        """The counts of some rows; the ranks that they state are numbers or any texts."""
        rank = floats(stated) if pa.types.is_floating(stated.type) else numbers(stated)
        same = np.ones(rank.size, dtype=bool)
        same[run_starts(query)] = False
        whole, further, up = rank == np.floor(rank), np.diff(rank), np.diff(score)
        counting = int(np.count_nonzero(same[1:] & (up == 1) & (further != 1) & (further != -1)))
        odd = int(np.count_nonzero(~whole))
        found = cls(rows=rank.size, neighbours=int(np.count_nonzero(same)), counting=counting, odd=odd)
        if found.odd:
            found.first_odd = int(line[np.argmin(whole)])
        if (further[same[1:]] < 0).any():  # the rows of a list are in another order than their ranks
            order = np.lexsort((rank, np.cumsum(~same)))
            rank, score, line = rank[order], score[order], line[order]
            further, up = np.diff(rank), np.diff(score)
        below = same[1:] & (further > 0)
        rising: Bools = below & (up > 0)
        found.rising, found.falling = (int(np.count_nonzero(each)) for each in (rising, below & (up < 0)))
        if found.rising:
            at = int(np.argmax(rising)) + 1
            found.example = int(line[at]), float(rank[at]), float(score[at])
        return found

    def add(self, other: StatedRanks) -> None:
        """Add the counts of later rows."""
        self.example = self.example or other.example
        self.first_odd = self.first_odd or other.first_odd
        for name in ("rows", "rising", "falling", "neighbours", "counting", "odd"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def note(self) -> tuple[int, str] | None:
        """The line and the text of the note about ranks that contradict the scores; None if they agree."""
        if self.neighbours and self.counting == self.neighbours and (self.rising or self.falling or self.odd):
            return 0, (
                "the run scores of each list are 1, 2, 3, ... and its ranks are not, so rank and score look "
                f"swapped{DECIDE}"
            )
        if self.example is not None:
            line, rank, score = self.example
            if not self.falling:
                return 0, f"the run scores rise with the rank, as distances do; negate distances{DECIDE}"
            where = f"so in {self.rising:,} of the first {counted(self.rows, 'row')}"
            return line, f"rank {rank:g} has a higher run score, {score:g}, than the rank before it; {where}{DECIDE}"
        if self.odd:
            return (
                self.first_odd,
                f"the rank is no whole number, in {self.odd:,} of the first {counted(self.rows, 'row')}{DECIDE}",
            )
        return None
