"""The largest statistics of the pairs of submissions under each draw of signs, which grow and shrink with the
ranking.

Each number belongs to one pair of submissions, or is the largest of such numbers. So the order in which submissions
come and go does not matter: what is changed has the same bits as what is computed from nothing. Sums of scores are
exact before they are rounded once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scorer.measures.matched import Floats, Ints, ratio
from scorer.scoring.statistics import blocks, in_threads
from scorer.scoring.statistics.units import sums_of_units

EQUAL_WITHIN = 1e-12
"""Two numbers that differ by at most this share of what they are computed from count as equal."""

_BITS = 52
"""Sums of multiples of a unit are exact in double precision up to 2^52 units."""


def magnitude(values: Floats) -> float:
    """Return the power of two next to the largest absolute value, so that squares of quotients by it do not overflow.

    Division by it is exact. 1 if all values are 0 or NaN.
    """
    # Without an array of absolute values: scores of many submissions take much memory.
    largest = max(float(np.fmax.reduce(values, None, initial=0.0)), -float(np.fmin.reduce(values, None, initial=0.0)))
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest else 1.0


_FEW, _SMALL, _LARGE = 12, 1 << 16, 1 << 21
"""Weights that are multiplied at a time: with few rows, they remain in the cache of a processor, and BLAS, for which
the product is too small then, starts no threads.
"""


QueryWeights = npt.NDArray[np.floating[Any]] | npt.NDArray[np.integer[Any]]
"""Whole numbers, [set, query]."""


class ExactSums:
    """Scores of submissions, prepared for weighted sums.

    The scores are split into two parts. All values of a submission in a part are multiples of a unit, which is a power
    of two and so large that no sum exceeds 2^52 units; so each sum of a part is exact. Of a score less than 2^-78 of
    the submission's largest score is lost.
    """

    masks: Floats
    """[mask, query]: 1 where a score is defined, else 0; each distinct row of the submissions once."""
    mask_of: Ints
    """[submission]: the index of its mask."""

    def __init__(self, scores: Floats, most: int) -> None:
        """Prepare `scores`, [submission, query] with NaN where undefined, for weights.

        The absolute weights of a sum are at most `most` in total.
        """
        defined = ~np.isnan(scores)
        if not len(scores) or (defined == defined[0]).all():
            distinct, mask_of = defined[:1], np.zeros(len(scores), dtype=np.int64)
        else:
            distinct, mask_of = np.unique(defined, axis=0, return_inverse=True)
        self.masks, self.mask_of = distinct.astype(np.float64), mask_of.reshape(-1)
        parts = _parts(np.where(defined, scores, 0.0), max(most, 1))
        self._rows, self._ends = np.vstack([*parts, self.masks]), np.cumsum([len(part) for part in parts])

    def sums(self, weights: QueryWeights) -> Floats:
        """Return the sums, [set, submission], for sets of weights, [set, query], which are whole numbers."""
        return self._sums(weights)[0]

    def means(self, weights: QueryWeights) -> Floats:
        """Return the means, [set, submission]; NaN where the weights of all defined scores are 0."""
        sums, of_masks = self._sums(weights)
        sizes = of_masks[:, self.mask_of]
        return ratio(sums, sizes, sizes > 0)

    def _sums(self, weights: QueryWeights) -> tuple[Floats, Floats]:
        """The sums, and the sums of the weights over the queries of each mask, [set, mask]."""
        products = np.empty((len(weights), len(self._rows)))
        at_once = (_SMALL if len(self._rows) <= _FEW else _LARGE) // max(1, weights.shape[1])
        for block in blocks(len(weights), max(1, at_once)):
            np.matmul(weights[block].astype(np.float64, copy=False), self._rows.T, out=products[block])
        first, *others, sizes = np.split(products, self._ends, axis=1)
        for other in others:
            first += other
        return first, sizes

    def masked_sums(self, weights: QueryWeights) -> Floats:
        """Return the sums over the queries of each mask, [mask, submission, set]."""
        found = np.empty((len(self.masks), len(self.mask_of), len(weights)))
        for sums, mask in zip(found, self.masks, strict=True):
            sums[:] = self.sums(weights * mask if len(found) > 1 else weights).T
        return found


def _parts(scores: Floats, most: int) -> list[Floats]:
    """Return one or two arrays, [submission, query], whose sum is `scores`."""
    parts: list[Floats] = []
    rest = scores
    while not parts or (len(parts) < 2 and rest.any()):
        largest = np.abs(rest).max(axis=1, initial=0.0, keepdims=True)
        exponent = np.frexp(largest)[1] + np.frexp(float(most))[1] - _BITS
        part = np.ldexp(np.rint(np.ldexp(rest, -exponent)), exponent)
        parts.append(part)
        rest = rest - part
    return parts


_AT_ONCE = 512
"""Draws in a block: their sums for all submissions remain in the cache of a processor."""


class Change(NamedTuple):
    """How a ranking differs from an earlier one."""

    stay: Ints
    """[submission]: the position that each had then; -1 for a new one."""
    gone: Ints
    """The positions of those that are no longer there."""

    @classmethod
    def of(cls, keys: Sequence[object], before: Sequence[object]) -> Change:
        """How submissions with these keys differ from those before. Equal ones may have the same key."""
        free: dict[object, list[int]] = defaultdict(list)
        for place, key in reversed(list(enumerate(before))):
            free[key].append(place)
        stay = [free[key].pop() if free[key] else -1 for key in keys]
        gone = sorted(place for places in free.values() for place in places)
        return cls(np.array(stay, dtype=np.int64), np.array(gone, dtype=np.int64))

    @property
    def old(self) -> Ints:
        """The submissions that were there."""
        return np.flatnonzero(self.stay >= 0)

    @property
    def new(self) -> Ints:
        """The submissions that were not there."""
        return np.flatnonzero(self.stay < 0)

    @property
    def others(self) -> Sequence[tuple[int, slice]]:
        """The new submissions, each with those that it is compared with: all, or those before it if all are new."""
        return [(i, slice(None if len(self.old) else i)) for i in self.new.tolist()]

    def sizes(self, before: Floats, scores: Floats) -> Floats:
        """`sizes` of the scores, given those before."""
        size, norms, stayed = np.zeros((len(scores), len(scores))), _norms(scores), self.stay[self.old]
        size[np.ix_(self.old, self.old)] = before[np.ix_(stayed, stayed)]
        for i, others in self.others:
            size[i, others] = size[others, i] = _sizes(scores[i] - scores[others], norms[i] + norms[others])
        return size


@dataclass(frozen=True, eq=False)
class AllPairs:
    """The pairs of submissions with scores for the same queries."""

    size: Floats
    """[i, j]: sqrt(sum d^2), where d are the scores of i minus those of j; 0 where they differ by rounding only."""
    of_each: Floats
    """[submission, flip]: the largest absolute statistic of the pairs with it; 0 without a pair."""

    @classmethod
    def of(cls, scores: Floats, sums: Floats) -> AllPairs:
        """The pairs of all submissions, from `scores`, [submission, query], and their sums with signs,
        [submission, flip].
        """
        nothing = np.zeros((0, sums.shape[1]))
        return cls(np.zeros((0, 0)), nothing).changed(Change.of(range(len(sums)), ()), nothing, scores, sums)

    def changed(self, change: Change, sums_of_gone: Floats, scores: Floats, sums: Floats) -> AllPairs:
        """Those of other submissions, given their scores and sums, and the sums of those that are gone."""
        size, old, largest = change.sizes(self.size, scores), change.old, np.zeros(sums.shape)
        stayed, inverse = change.stay[old], inverse_of(size)
        inverse_of_gone = inverse_of(self.size[np.ix_(change.gone, stayed)])

        def fill(block: slice) -> None:
            own, found = np.ascontiguousarray(sums[:, block]), np.zeros((len(sums), sums[:, block].shape[1]))
            found[old], buffer = self.of_each[stayed, block], np.empty(own.shape)
            if len(change.gone):
                gone = sums_of_gone[:, block]
                found[old] = _without(found[old], gone, inverse_of_gone, own[old], inverse[np.ix_(old, old)])
            for i, others in change.others:
                statistics = _statistics(own[i], own[others], inverse[i, others], buffer[others])
                np.maximum(found[others], statistics, out=found[others])
                found[i] = statistics.max(axis=0, initial=0.0)
            largest[:, block] = found

        in_threads(fill, blocks(sums.shape[1], _AT_ONCE))
        return AllPairs(size, largest)


def _without(largest: Floats, gone: Floats, inverse_of_gone: Floats, sums: Floats, inverse: Floats) -> Floats:
    """[submission, flip]: the largest statistics of those that stay, given those with others whose sums are `gone`."""
    decided = np.zeros(largest.shape, dtype=bool)
    for own, weights in zip(gone, inverse_of_gone, strict=True):
        decided |= _statistics(own, sums, weights) == largest
    for i, draws in enumerate(map(np.flatnonzero, decided & (largest > 0))):
        if len(draws):
            largest[i, draws] = _statistics(sums[i, draws], sums[:, draws], inverse[i]).max(axis=0)
    return largest


def sizes(scores: Floats, units: Ints | None = None) -> Floats:
    """Return sqrt(sum d^2) of all pairs, [i, j], over the queries with scores of both; 0 where they differ by rounding
    only. `scores` are [submission, query], NaN where undefined; d are the sums of the differences of each of the units.
    """
    found, norms = np.zeros((len(scores), len(scores))), _norms(np.nan_to_num(scores))
    for i in range(len(scores) - 1):
        later = slice(i + 1, None)
        differences = sums_of_units(np.nan_to_num(scores[i] - scores[later]), units)
        found[i, later] = found[later, i] = _sizes(differences, norms[i] + norms[later])
    return found


def inverse_of(size: Floats) -> Floats:
    """1 / size, and 0 where the size is 0."""
    return np.divide(1.0, size, out=np.zeros(size.shape), where=size > 0)


def _statistics(own: Floats, others: Floats, inverse: Floats, out: Floats | None = None) -> Floats:
    """[other, flip]: the absolute statistics of one submission with others, given their sums."""
    values: Floats = np.subtract(own, others, out=out)
    np.abs(values, out=values)
    np.multiply(values, inverse[:, None], out=values)
    return values


def _norms(scores: Floats) -> Floats:
    norms: Floats = np.sqrt(np.einsum("iq,iq->i", scores, scores))
    return norms


def _sizes(differences: Floats, norms: Floats) -> Floats:
    """sqrt(sum d^2) of differences, [pair, query]; 0 where they are rounding only, given the norms of both added."""
    sizes: Floats = np.sqrt(np.einsum("jq,jq->j", differences, differences))
    sizes[sizes <= EQUAL_WITHIN * norms] = 0
    return sizes
