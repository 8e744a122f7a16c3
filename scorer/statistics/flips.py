"""Random signs, and the sums of all differences between submissions with these signs.

Under the null hypothesis that two submissions are equal, each difference of their scores is as likely to have the
opposite sign. The sum of flipped differences is the difference of flipped sums, so one matrix product of signs and
scores has the flipped sums of all pairs. Source: Fisher, The Design of Experiments, 1935.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.statistics.exact_sums import ROUNDING, ExactSums

FLIPS = 10_000
"""The number of random draws of all signs."""

_AT_ONCE = 512
"""Draws in a block: their sums for all submissions remain in the cache of a processor."""


def random_signs(flips: int, queries: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of random signs, 1 or -1 with equal probability.

    Parameters
    ----------
    flips
        The number of draws.
    queries
        The number of signs of a draw.
    seed
        The seed of the bit generator, whose numbers are the same in every version of NumPy and on every machine.

    Yields
    ------
    The draws of the block, and their signs, [flip, query].
    """
    bits = np.random.PCG64(seed)
    words = -(-queries // 64)
    for start in range(0, flips, _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, flips))
        drawn = np.asarray(bits.random_raw((block.stop - start) * words), dtype="<u8").view(np.uint8)
        ones = np.unpackbits(drawn.reshape(block.stop - start, words * 8), axis=1, count=queries)
        yield block, ones.astype(np.float64) * 2 - 1


class Row(NamedTuple):
    """The pairs of a submission i with all later ones."""

    i: int
    later: slice
    values: Floats
    """[later submission, flip]"""


class PairSums:
    """The sums of the differences of all pairs of submissions, over the queries with scores of both."""

    def __init__(self, scores: Floats) -> None:
        """Prepare `scores`, [submission, query] with NaN where undefined."""
        self._exact = ExactSums(scores, most=scores.shape[1])
        self._absolute = self._exact.masks @ np.nan_to_num(np.abs(scores)).T
        self._count, self._queries = scores.shape

    def rows(self, signs: Floats) -> Iterator[Row]:
        """Yield, for each submission but the last, its flipped sums minus those of the later submissions.

        Parameters
        ----------
        signs
            [flip, query]
        """
        sums, mask_of = self._exact.masked_sums(signs), self._exact.mask_of
        buffer = np.empty(sums.shape[1:])
        for i in range(self._count - 1):
            later = slice(i + 1, self._count)
            mine = sums[0, i] if len(sums) == 1 else sums[mask_of[later], i]
            yield Row(i, later, np.subtract(mine, sums[mask_of[i], later], out=buffer[later]))

    def observed(self) -> Floats:
        """Return the sums without flips, [i, j]: of the scores of i minus those of j."""
        found = np.zeros((self._count, self._count))
        for i, later, values in self.rows(np.ones((1, self._queries))):
            found[i, later], found[later, i] = values[:, 0], 0 - values[:, 0]
        return found

    def rounding(self) -> Floats:
        """Return by how much two sums of a pair may differ by rounding only, [i, j]."""
        # [j, i]: the sum of the scores of i over the queries with scores of both.
        sums = self._absolute[self._exact.mask_of]
        rounding: Floats = ROUNDING * (sums + sums.T)
        return rounding

    def queries(self) -> Ints:
        """Return the number of queries with scores of both, [i, j]."""
        masks, mask_of = self._exact.masks, self._exact.mask_of
        return np.asarray(masks @ masks.T, dtype=np.int64)[np.ix_(mask_of, mask_of)]
