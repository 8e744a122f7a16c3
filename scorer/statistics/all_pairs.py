"""The largest statistics of the pairs of submissions under each draw of signs, which grow and shrink with the ranking.

Each number belongs to one pair of submissions, or is the largest of such numbers. So the order in which submissions
come and go does not matter: what is changed has the same bits as what is computed from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.statistics.exact_sums import ROUNDING
from scorer.statistics.threads import blocks, in_threads

_AT_ONCE = 512
"""Draws in a block: their sums for all submissions remain in the cache of a processor."""

_FEW = 4
"""Pairs are changed if at most one in so many submissions is new or gone; otherwise it is faster to
begin again from nothing."""


@dataclass(frozen=True, eq=False)
class AllPairs:
    """The pairs of submissions with scores for the same queries."""

    size: Floats
    """[i, j]: sqrt(sum d^2), where d are the scores of i minus those of j; 0 where they differ by rounding only."""
    largest: Floats
    """[submission, flip]: the largest absolute statistic of the pairs with it; 0 without a pair."""

    @classmethod
    def of(cls, scores: Floats, sums: Floats) -> AllPairs:
        """The pairs of all submissions, from `scores`, [submission, query], and their sums with signs,
        [submission, flip].
        """
        size = sizes(scores)
        inverse, largest = inverse_of(size), np.zeros(sums.shape)

        def fill(block: slice) -> None:
            own = np.ascontiguousarray(sums[:, block])
            found, buffer = np.zeros(own.shape), np.empty(own.shape)
            for i in range(len(own) - 1):
                later = slice(i + 1, None)
                statistics = _statistics(own[i], own[later], inverse[i, later], buffer[later])
                np.maximum(found[later], statistics, out=found[later])
                np.maximum(found[i], statistics.max(axis=0), out=found[i])
            largest[:, block] = found

        in_threads(fill, blocks(sums.shape[1], _AT_ONCE))
        return cls(size, largest)

    def changed(self, stay: Ints, gone: Ints, sums_of_gone: Floats, scores: Floats, sums: Floats) -> AllPairs:
        """The pairs of other submissions, given their scores and sums.

        `stay`, [submission], is the position that each has among those of `self`; -1 for a new one. `gone` are the
        positions of those that are no longer there, and `sums_of_gone` their sums.
        """
        old, new = np.flatnonzero(stay >= 0), np.flatnonzero(stay < 0)
        if (len(new) + len(gone)) * _FEW > len(stay):
            return AllPairs.of(scores, sums)
        size, norms = np.zeros((len(stay), len(stay))), _norms(scores)
        size[np.ix_(old, old)] = self.size[np.ix_(stay[old], stay[old])]
        for i in new.tolist():
            size[i] = size[:, i] = _sizes(scores[i] - scores, norms[i] + norms)
        largest, inverse, stayed = np.zeros(sums.shape), inverse_of(size), stay[old]
        inverse_of_gone, inverse_of_old = inverse_of(self.size[np.ix_(gone, stayed)]), inverse[np.ix_(old, old)]

        def fill(block: slice) -> None:
            own = np.ascontiguousarray(sums[:, block])
            found = np.zeros(own.shape)
            found[old] = _without(
                self.largest[stayed, block],
                sums_of_gone[:, block],
                inverse_of_gone,
                own[old],
                inverse_of_old,
            )
            present = old.tolist()
            for i in new.tolist():
                statistics = _statistics(own[i], own[present], inverse[i, present])
                found[present] = np.maximum(found[present], statistics)
                found[i] = statistics.max(axis=0, initial=0.0)
                present.append(i)
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


def sizes(scores: Floats) -> Floats:
    """Return sqrt(sum d^2) of all pairs, [i, j], over the queries with scores of both; 0 where they differ by rounding
    only. `scores` are [submission, query], NaN where undefined.
    """
    found, norms = np.zeros((len(scores), len(scores))), _norms(np.nan_to_num(scores))
    lack_any = bool(np.isnan(scores).any())
    for i in range(len(scores) - 1):
        later = slice(i + 1, None)
        differences = scores[i] - scores[later]
        differences = np.nan_to_num(differences) if lack_any else differences
        found[i, later] = found[later, i] = _sizes(differences, norms[i] + norms[later])
    return found


def inverse_of(size: Floats) -> Floats:
    """1 / size, and 0 where the size is 0."""
    inverse: Floats = np.nan_to_num(ratio(np.ones(size.shape), size, size > 0))
    return inverse


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
    sizes[sizes <= ROUNDING * norms] = 0
    return sizes
