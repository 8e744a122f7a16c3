"""The largest statistics of the pairs of submissions under each draw of signs, which grow and shrink with the
ranking.

Each number belongs to one pair of submissions, or is the largest of such numbers. So the order in which submissions
come and go does not matter: what is changed has the same bits as what is computed from nothing. Sums of scores are
exact before they are rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
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


FEW = 4
"""Up to so many submissions, sums with packed weights are faster than with an array of weights."""

_BYTES = np.arange(256, dtype=np.uint8)[:, None]


@dataclass(frozen=True)
class PackedWeights:
    """Sets of weights of queries, several of which are a byte: the sums of each byte are computed once, and looked up.

    `ExactSums` takes them for an array, [set, query].
    """

    codes: npt.NDArray[np.unsignedinteger[Any]]
    """[group, set]: what the weights of some queries are."""
    values: Floats
    """[code, query of a group]: the weights for each code."""

    @classmethod
    def of_bits(cls, bits: npt.NDArray[np.uint8], zero: float = 0.0) -> PackedWeights:
        """Weights of `zero` or 1, from [set, byte] with the first query in the highest bit."""
        return cls(np.ascontiguousarray(bits.T), np.where(np.unpackbits(_BYTES, axis=1), 1.0, zero))

    @classmethod
    def of_counts(cls, parts: Iterable[npt.NDArray[np.unsignedinteger[Any]]]) -> PackedWeights | None:
        """From whole numbers, [set, query], of which two are a byte; None if any is larger than 15."""
        codes = []
        for counts in parts:
            if counts.max(initial=0) > 15:
                return None
            even = np.pad(counts.astype(np.uint8).T, ((0, counts.shape[1] % 2), (0, 0)))
            codes.append(even[::2] << 4 | even[1::2])
        return cls.of_pairs(np.ascontiguousarray(np.concatenate(codes, axis=1)))

    @classmethod
    def of_pairs(cls, codes: npt.NDArray[np.uint8]) -> PackedWeights:
        """Those that `of_counts` returned, from their codes."""
        return cls(codes, np.hstack([_BYTES >> 4, _BYTES & 15]).astype(np.float64))

    def __len__(self) -> int:
        """The number of sets."""
        return len(self.codes.T)

    def __rsub__(self, number: float) -> PackedWeights:
        return replace(self, values=number - self.values)

    def __matmul__(self, scores: Floats) -> Floats:
        """[set, submission]: the sums of scores, [query, submission], which are exact in any order."""
        width = self.values.shape[1]
        padded, sums = np.zeros((len(self.codes) * width, scores.shape[1])), np.zeros((scores.shape[1], len(self)))
        padded[: len(scores)] = scores
        for submission, own in enumerate(padded.T):
            for codes, table in zip(self.codes, own.reshape(-1, width) @ self.values.T, strict=True):
                sums[submission] += table.take(codes)
        return sums.T

    def counts(self, sets: slice) -> Floats:
        """Some sets of those of `of_counts`, [set, query], with a 0 at the end if their number of queries is odd."""
        codes = self.codes[:, sets]
        counts = np.empty((2 * len(codes), codes.shape[1]))
        counts[::2], counts[1::2] = codes >> 4, codes & 15
        return counts.T


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
        self._parts = _parts(np.where(defined, scores, 0.0), max(most, 1))

    def sums(self, weights: Floats | PackedWeights) -> Floats:
        """Return the sums, [set, submission], for sets of weights, [set, query], which are whole numbers."""
        first, *others = (weights @ part.T for part in self._parts)
        for other in others:
            first += other
        return first

    def means(self, weights: Floats | PackedWeights) -> Floats:
        """Return the means, [set, submission]; NaN where the weights of all defined scores are 0."""
        sums, sizes = self.sums(weights), (weights @ self.masks.T)[:, self.mask_of]
        return ratio(sums, sizes, sizes > 0)

    def masked_sums(self, weights: Floats) -> Floats:
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

    @property
    def old(self) -> Ints:
        """The submissions that were there."""
        return np.flatnonzero(self.stay >= 0)

    @property
    def new(self) -> Ints:
        """The submissions that were not there."""
        return np.flatnonzero(self.stay < 0)

    def sizes(self, before: Floats, scores: Floats) -> Floats:
        """`sizes` of the scores, given those before."""
        size, norms, stayed = np.zeros((len(scores), len(scores))), _norms(scores), self.stay[self.old]
        size[np.ix_(self.old, self.old)] = before[np.ix_(stayed, stayed)]
        for i in self.new.tolist():
            size[i] = size[:, i] = _sizes(scores[i] - scores, norms[i] + norms)
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
        nothing, all_new = np.zeros((0, sums.shape[1])), Change(np.full(len(sums), -1), np.arange(0))
        return cls(np.zeros((0, 0)), nothing)._followed(all_new, nothing, sizes(scores), sums)

    def changed(self, change: Change, sums_of_gone: Floats, scores: Floats, sums: Floats) -> AllPairs:
        """Those of other submissions, given their scores and sums, and the sums of those that are gone."""
        return self._followed(change, sums_of_gone, change.sizes(self.size, scores), sums)

    def _followed(self, change: Change, sums_of_gone: Floats, size: Floats, sums: Floats) -> AllPairs:
        old, stayed, largest = len(change.old), change.stay[change.old], np.zeros(sums.shape)
        order = np.append(change.old, change.new)
        inverse = inverse_of(size)[np.ix_(order, order)]
        inverse_of_gone = inverse_of(self.size[np.ix_(change.gone, stayed)])

        def fill(block: slice) -> None:
            own = sums[order, block]
            found, buffer = np.zeros(own.shape), np.empty(own.shape)
            before, gone = self.of_each[stayed, block], sums_of_gone[:, block]
            found[:old] = _without(before, gone, inverse_of_gone, own[:old], inverse[:old, :old])
            for i in range(old, len(own)):
                statistics = _statistics(own[i], own[:i], inverse[i, :i], buffer[:i])
                np.maximum(found[:i], statistics, out=found[:i])
                found[i] = statistics.max(axis=0, initial=0.0)
            largest[order, block] = found

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
    lack_any = bool(np.isnan(scores).any())
    for i in range(len(scores) - 1):
        later = slice(i + 1, None)
        differences = scores[i] - scores[later]
        differences = sums_of_units(np.nan_to_num(differences) if lack_any else differences, units)
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
