"""Whether the ranks that a run states agree with its run scores, which decide the order of its lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scorer.errors import Problem
from scorer.formats.reading.arrow import floats, numbers, run_starts
from scorer.measures.arrays import Floats, Ints
from scorer.wording import counted

DECIDE = "; the scores decide the order, and the rank column is ignored"


def contradiction(query: pa.StringArray, stated: pa.Array, score: Floats, line: Ints) -> Problem | None:
    """Return the note about ranks, numbers or any texts, that contradict the run scores; None if they agree.

    The adjacent rows of a query are a list. Neighbours in the order of the ranks are compared.
    """
    rank = floats(stated) if pa.types.is_floating(stated.type) else numbers(stated)
    new = np.zeros(rank.size, dtype=bool)
    new[run_starts(query)] = True
    same, further, up = ~new[1:], np.diff(rank), np.diff(score)
    odd = np.flatnonzero(rank != np.floor(rank))
    are_others = bool(odd.size) or (np.abs(further[same]) != 1).any()
    if same.any() and (up[same] == 1).all() and are_others and further[same].any():
        return Problem(
            0, f"the run scores of each list are 1, 2, 3, ... and its ranks are not: the two look swapped{DECIDE}"
        )
    first_odd = int(line[odd[0]]) if odd.size else 0
    if (further[same] < 0).any():  # the rows of a list are in another order than their ranks
        order = np.lexsort((rank, np.cumsum(new)))
        rank, score, line = rank[order], score[order], line[order]
        further, up = np.diff(rank), np.diff(score)
    below = same & (further > 0)
    rising = np.flatnonzero(below & (up > 0)) + 1
    rows = f"of the first {counted(rank.size, 'row')}{DECIDE}"
    if rising.size and not (below & (up < 0)).any():
        return Problem(0, f"the run scores rise with the rank, as distances do; negate distances{DECIDE}")
    if rising.size:
        where = f"rank {rank[rising[0]]:g} has a higher run score, {score[rising[0]]:g}, than the rank before it"
        return Problem(int(line[rising[0]]), f"{where}; so in {rising.size:,} {rows}")
    return Problem(first_odd, f"the rank is no whole number, in {odd.size:,} {rows}") if odd.size else None
