"""The paired bootstrap, which draws queries again with replacement, intervals, and tests of pairs by random signs.

Sources: Efron, Bootstrap Methods: Another Look at the Jackknife, 1979; Better Bootstrap Confidence Intervals, 1987;
Korn and Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive Counts, 1998; Bonett and
Price, Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired Data, 2012; Gaffke,
Three Test Statistics for a Nonparametric One-Sided Hypothesis on the Mean of a Nonnegative Variable, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scorer.measures.matched import Bools, Floats, Ints, rows_at
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.scoring.statistics import blocks, in_threads, special
from scorer.scoring.statistics.all_pairs import (
    EQUAL_WITHIN,
    AllPairs,
    ExactSums,
    QueryWeights,
    inverse_of,
    magnitude,
    sizes,
)
from scorer.scoring.statistics.units import number_of_units, sums_of_units, unless_few, values_of_units

_CHUNK = 1 << 21
"""The number of draws that are computed at a time."""

_COLUMNS_AT_ONCE = 64
"""Columns whose quantiles are computed at a time in each thread."""

_KEPT = 1 << 26
"""The largest number of draws that remain in memory, where their counts take 64 MB."""

_Bytes = npt.NDArray[np.uint8]
_Signs = npt.NDArray[np.int8]


def resampled_means(
    scores: Floats,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    units: Ints | None = None,
    counts: _Bytes | None = None,
) -> Floats:
    """Return the mean of each submission over each resample of the queries, given its scores, [submission, query].

    With `units`, [query], these are drawn, each with all of its queries. `counts` are those of `drawn_counts`, if they
    are known.

    [resample, submission]; NaN where no query of the resample has a score. Two calls with the same seed and number of
    queries use the same resamples. So the resampled differences of two submissions are the means of their differences
    `scores[i] - scores[j]`, or the differences of their columns if both have scores for the same queries.
    """
    sizes_of_units = np.ones(scores.shape[1], dtype=np.int64) if units is None else np.bincount(units)
    exact = ExactSums(scores, most=len(sizes_of_units) * int(sizes_of_units.max(initial=1)))
    means, of_all = np.full((resamples, len(scores)), np.nan), (len(sizes_of_units), resamples, seed)
    counts = drawn_counts(*of_all) if counts is None else counts
    for block, drawn in _counts(*of_all, counts):
        means[block] = exact.means(drawn if units is None else drawn[:, units])
    return means


CHOICE_RESAMPLES = 1_000
"""Their mean has a standard error of about 2 % of the gain."""


def gain_of_choosing(scores: Floats, units: Ints | None = None) -> float:
    """Return by how much the best mean of entries that are truly equal exceeds their true mean, on average.

    `scores` are [entry, query], `units` those of the queries. Entries are resampled together, so that what they share
    is no chance to choose from. The deviations of the resampled means from the observed ones estimate those of the
    observed means from the true ones; the gain is the mean of the largest deviation. Entries without a mean are left
    out; 0 without two entries.
    """
    scores = scores[~np.isnan(scores).all(axis=1)]
    if len(scores) < 2:
        return 0.0
    deviations = resampled_means(scores, CHOICE_RESAMPLES, units=units) - np.nanmean(scores, axis=1)
    largest = np.max(deviations, axis=1, initial=-np.inf, where=~np.isnan(deviations))
    return float(largest[np.isfinite(largest)].mean())


@lru_cache(maxsize=1)
def drawn_counts(queries: int, resamples: int, seed: int) -> _Bytes | None:
    """Return how often each query is drawn, [resample, query], which remains in memory: the measures of a board, which
    have the same queries, draw once. None without queries, or if there are too many draws.
    """
    if not 0 < queries * resamples <= _KEPT:
        return None
    found = np.empty((resamples, queries), dtype=np.uint8)
    for block, counts in _counts(queries, resamples, seed):
        found[block] = counts
    return found


def _counts(queries: int, resamples: int, seed: int, known: _Bytes | None = None) -> Iterator[tuple[slice, _Bytes]]:
    """Blocks of resamples and their counts, [resample, query], which are drawn unless they are known.

    No query is drawn more than 255 times: the probability is below 1e-500, with any number of queries.
    """
    random = np.random.default_rng(seed)
    for block in blocks(resamples if queries else 0, max(1, _CHUNK // max(1, queries))):
        if known is None:
            size = min(block.stop, resamples) - block.start, queries
            drawn = random.integers(0, queries, size=size, dtype=np.int32)
            yield block, np.array([np.bincount(row, minlength=queries) for row in drawn]).astype(np.uint8)
        else:
            yield block, known[block]


def column_quantiles(values: Floats | Ints, shares: Floats) -> Floats:
    """Return the quantiles of each column at these shares, [column, share], interpolated linearly.

    `values` are [row, column] without NaN. Only a part of the columns is copied at a time.
    """
    quantiles, at = np.empty((values.shape[1], len(shares))), shares * (len(values) - 1)
    low = at.astype(np.int64)
    high, rest = np.minimum(low + 1, len(values) - 1), at - low

    def fill(block: slice) -> None:
        ascending = np.sort(np.ascontiguousarray(values[:, block].T), axis=1)  # faster than the selection of `quantile`
        one, other = ascending[:, low], ascending[:, high]
        quantiles[block] = np.where(rest < 0.5, one + (other - one) * rest, other - (other - one) * (1 - rest))

    in_threads(fill, blocks(values.shape[1], _COLUMNS_AT_ONCE))
    return quantiles


def percentile_intervals(means: Floats, level: float = LEVEL) -> Floats:
    """Return the percentile interval of each mean, [value, 2], from `means`, [resample, value].

    The quantiles at half the level and at one minus half the level, interpolated linearly, over the resamples without
    NaN; NaN where all means of a value are NaN.
    """
    shares = np.array([level / 2, 1 - level / 2])
    if means.size and not np.isnan(means).any():
        return column_quantiles(means, shares)
    return np.array([_quantiles(column, shares) for column in means.T]).reshape(-1, 2)


def bca_intervals(means: Floats, scores: Floats, level: float = LEVEL) -> Floats:
    """Return the bias-corrected and accelerated interval of each mean, [value, 2].

    `means`, [resample, value], are those of `resampled_means`, or differences of its columns; `scores`, [value, query],
    are what they are over. The bias is the share of the resampled means that are below the observed one; of those that
    are equal to it, half count. So the interval of negated scores is the negated interval, also of scores with few
    different values. NaN where all scores of a value are equal, or none is defined.
    """
    exponent = _exponents(scores)
    means, scores = np.ldexp(means, exponent), np.ldexp(scores, exponent[:, None])
    ends = special().ndtri(np.array([level / 2, 1 - level / 2]))
    intervals = np.full((len(scores), 2), np.nan)
    for value, own in enumerate(scores):
        defined = own[~np.isnan(own)]
        if not defined.size or np.ptp(defined) <= EQUAL_WITHIN * np.abs(defined).max():
            continue
        observed = defined.mean()
        deviations = (defined - observed) / np.abs(defined - observed).max()
        acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
        bias = special().ndtri(_share_below(means[:, value], observed, EQUAL_WITHIN * np.abs(defined).max()))
        if np.isfinite(bias):
            shares = special().ndtr(bias + (bias + ends) / (1 - acceleration * (bias + ends)))
            intervals[value] = _quantiles(means[:, value], shares)
    return np.asarray(np.ldexp(intervals, -exponent[:, None]), dtype=np.float64)


def _exponents(scores: Floats) -> Ints:
    """[value]: scaling by these powers of two changes no digit, and keeps the powers of small scores above 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(-np.frexp(np.nanmax(np.abs(scores), axis=1, initial=0.0))[1])


_RARE = 0.05
"""Up to this share of scores in the upper half of [0, 1], or in the lower one, an interval allows for unseen ones."""

_HALVINGS = 50
"""Of the range in which a bound is."""


def mean_intervals(scores: Floats, level: float = LEVEL, units: Ints | None = None) -> Floats:
    """Return the interval of each mean of scores in [0, 1], [value, 2], from scores, [value, query].

    That of Clopper and Pearson for so many scores of 0 or 1 that their mean has the same variance, by Student's t, and
    not for fewer than there are: no scores in [0, 1] vary more (Korn and Graubard 1998). Their half a score by which
    each end is moved outwards counts as far as scores are 0 or 1. Where few scores are in the upper half of [0, 1], or
    in the lower one, its end there is at least that of `gaffke_bounds`, which allows for others. No width with one
    query, and where all are equal, but for 0 and 1.

    With `units`, [query], the variance is that of the mean of units; NaN with few units.
    """
    scores = np.ascontiguousarray(scores)  # so that sums of a row have one order
    queries, each = (~np.isnan(scores)).sum(axis=1), values_of_units(scores, units)
    count, least = (~np.isnan(each)).sum(axis=1), number_of_units(scores, units)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.array([math.fsum(row[~np.isnan(row)]) for row in scores]) / queries
        squares = np.nansum((each - mean[:, None]) ** 2, axis=1)
        squares[squares <= count * EQUAL_WITHIN**2] = 0
        steps = ((scores == 0) | (scores == 1)).sum(axis=1) / queries
        larger = special().stdtrit(least - 1, level / 2) / special().ndtri(level / 2)
        trials = np.fmax(mean * (1 - mean) * count * (count - 1) / (squares * larger**2), least)
        hits, misses, more, less = trials * mean, trials * (1 - mean), (1 + steps) / 2, (1 - steps) / 2
        shares = np.array([[level / 2], [1 - level / 2]])
        ends = special().betaincinv([hits + less, hits + more], [misses + more, misses + less], shares).T
        few_above, few_below = ((each >= 0.5).sum(axis=1) <= _RARE * queries for each in (scores, 1 - scores))
        ends[few_above, 1] = np.maximum(ends[few_above, 1], _rare_bounds(scores[few_above], level, units))
        ends[few_below, 0] = np.minimum(ends[few_below, 0], 1 - _rare_bounds(1 - scores[few_below], level, units))
    is_point = (queries < 2) | ~np.isfinite(trials)  # no variance, of which SciPy before 1.17 makes ends of any width
    return unless_few(np.where(~np.isfinite(ends) | is_point[:, None], mean[:, None], ends), units)


def shown_intervals(scores: Floats, units: Ints | None, bounded: bool) -> Floats:
    """Return the interval of each mean that is shown, [value, 2], from scores that are all defined, [value, query]."""
    if bounded:
        return mean_intervals(scores, units=units)
    return unless_few(percentile_intervals(resampled_means(scores, units=units)), units)


def _rare_bounds(scores: Floats, level: float, units: Ints | None) -> Floats:
    """Gaffke's bounds; with units, of their sums in the size of that of the largest unit, which are in [0, 1], too."""
    sizes = sums_of_units((~np.isnan(scores)).astype(np.float64), units)
    largest, count = sizes.max(axis=1, keepdims=True, initial=0), (sizes > 0).sum(axis=1)
    shares = np.where(sizes > 0, sums_of_units(scores, units) / largest, np.nan)
    factor = largest[:, 0] * count / sizes.sum(axis=1)
    return np.asarray(np.minimum(gaffke_bounds(shares, level) * factor, 1))


def gaffke_bounds(scores: Floats, level: float = LEVEL) -> Floats:
    """Return Gaffke's one-sided upper bound of each mean of scores in [0, 1], [value], from scores, [value, query].

    The quantile of the mean of the scores and a 1 under random weights, uniform among those whose sum is 1 (Gaffke
    2005; Learned-Miller and Thomas 2019). The tail is that of the saddlepoint approximation (Barndorff-Nielsen 1991),
    in which each number x has a weight proportional to 1 / (1 + gap - x): a larger gap gives a lower mean.
    """
    below = np.column_stack([1 - scores, np.zeros(len(scores))])  # of a 1
    defined = ~np.isnan(below)
    below, count = np.where(defined, below, 0), defined.sum(axis=1)[:, None]
    low, high = np.full((2, len(below)), [[-30.0], [30.0]])  # the logarithm of the gap
    bound, aim = np.full(len(below), np.nan), -float(special().ndtri(level))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inverse = defined / (np.exp(middle)[:, None] + below)
        total = inverse.sum(axis=1)
        weights = inverse / total[:, None]
        apart = (weights * below).sum(axis=1)
        root = np.sqrt(np.maximum(-2 * np.log(np.where(defined, count * weights, 1)).sum(axis=1), 0))
        slope = total * np.sqrt(((weights * (apart[:, None] - below)) ** 2).sum(axis=1))
        near = root < 0.1  # where the quotient of both is 1, up to rounding
        distance = root + np.log(np.where(near, 1, slope) / np.where(near, 1, root)) / np.where(near, 1, root)
        too_far = distance > aim
        low, high, bound = np.where(too_far, middle, low), np.where(too_far, high, middle), 1 - apart
    return np.where(count[:, 0] > 1, bound, np.nan)


def difference_intervals(
    differences: Floats, level: float = LEVEL, *, bounded: bool = False, units: Ints | None = None
) -> Floats:
    """Return the interval of the mean of each row of differences, [value, 2], from [value, query].

    That of Student's t, with the variance of two more differences of the same size if only some differ from 0: of two
    teams that differ on k of n queries, it is 1 + 2 (1 / k - 1 / n) times as large (after Bonett and Price 2012, who
    add one difference of each sign). `bounded`: the scores are in [0, 1], so that the ends are in [-1, 1], and where
    all differences are equal, two more have the size 1. NaN where they are equal otherwise, with one query, and with
    few `units`, [query], which take the place of the queries.
    """
    exponent = _exponents(differences)
    scaled = np.ascontiguousarray(np.ldexp(differences, exponent[:, None]))
    changed = (sums_of_units(np.abs(scaled), units) > 0).sum(axis=1)
    number, scaled = number_of_units(scaled, units), values_of_units(scaled, units)
    queries = (~np.isnan(scaled)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(scaled, axis=1) / queries
        squares = np.nansum((scaled - mean[:, None]) ** 2, axis=1)
        squares *= np.where(squares > queries * EQUAL_WITHIN**2, 1 + 2 * (1 / changed - 1 / queries), np.nan)
        error = np.ldexp(np.sqrt(squares), -exponent)
        error[np.isnan(error)] = math.sqrt(2) if bounded else np.nan
        half = -special().stdtrit(number - 1, level / 2) * error / np.sqrt(queries * (queries - 1))
    ends = np.ldexp(mean, -exponent)[:, None] + np.column_stack([-half, half])
    return unless_few(np.asarray(np.clip(ends, -1, 1) if bounded else ends, dtype=np.float64), units)


def intervals_of_sum(means: Floats, intervals: Floats, weights: Floats, correlation: Floats | None = None) -> Floats:
    """Return the intervals of weighted sums of means, [value, 2], from [part, value] and [part, value, 2].

    The square of the distance of an end from a sum is the sum of the products of the weighted distances of each two
    parts and their `correlation`, [value, part, part]; without one, parts are independent (Zou and Donner 2008). Parts
    that are NaN count as 0.
    """
    away = np.nan_to_num(weights[:, None, None] * np.abs(intervals - means[:, :, None]))
    squares = (away**2).sum(axis=0)
    if correlation is not None:
        squares = np.maximum(np.einsum("ave,vab,bve->ve", away, correlation, away), 0)
    return np.asarray(np.nansum(weights[:, None] * means, axis=0)[:, None] + [-1, 1] * np.sqrt(squares))


def _share_below(means: Floats, observed: float, rounding: float) -> float:
    """The share of the means below the observed one, and half of the share of those equal to it."""
    means = means[~np.isnan(means)]
    below, not_above = (means < observed - rounding).sum(), (means <= observed + rounding).sum()
    return float(below + not_above) / (2 * max(means.size, 1))


def _quantiles(values: Floats, shares: Floats) -> Floats:
    """The quantiles of the defined values, interpolated linearly; NaN without any."""
    defined = values[~np.isnan(values)]
    return np.quantile(defined, shares) if defined.size else np.full(shares.shape, np.nan)


FLIPS = 10_000
"""The number of random draws of all signs."""

_EXTREME = 2.0**200
"""Scores that are all less than this and not all less than its inverse are not scaled: no score decides the unit."""

_AT_ONCE = 512
"""Draws in a block: their sums for all submissions remain in the cache of a processor."""


def random_signs(flips: int, queries: int, seed: int, units: Ints | None = None) -> Iterator[tuple[slice, _Signs]]:
    """Yield blocks of draws: which of all `flips`, and their signs, [flip, query], 1 or -1 with equal probability.

    The queries of a unit, [query], have one sign.

    The numbers of the bit generator are the same in every version of NumPy and on every machine. Fewer flips are the
    first ones of more.
    """
    random = np.random.PCG64(seed)
    queries = queries if units is None else int(units.max()) + 1
    for start in range(0, flips, _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, flips))
        draws, words = block.stop - start, -(-queries // 64)
        bits = np.asarray(random.random_raw(draws * words), dtype="<u8").view(np.uint8).reshape(draws, words * 8)
        ones = np.unpackbits(bits, axis=1, count=queries)  # the first query in the highest bit
        yield block, (ones if units is None else ones[:, units]).view(np.int8) * 2 - 1


class PairSums:
    """The sums of the differences of all pairs of submissions, over the queries with scores of both."""

    def __init__(self, scores: Floats) -> None:
        """Prepare `scores`, [submission, query] with NaN where undefined."""
        self._exact = ExactSums(scores, most=scores.shape[1])
        self._absolute = ExactSums(np.abs(scores), most=scores.shape[1]).masked_sums(np.ones((1, scores.shape[1])))
        self._count, self._queries = scores.shape

    def rows(self, signs: QueryWeights) -> Iterator[tuple[int, slice, Floats]]:
        """Yield, for each submission but the last, its sums with `signs`, [flip, query], minus those of later ones.

        With its index, the later ones and the differences, [later submission, flip].
        """
        sums, mask_of = self._exact.masked_sums(signs), self._exact.mask_of
        buffer = np.empty(sums.shape[1:])
        for i in range(self._count - 1):
            later = slice(i + 1, self._count)
            mine = sums[0, i] if len(sums) == 1 else sums[mask_of[later], i]
            yield i, later, np.subtract(mine, sums[mask_of[i], later], out=buffer[later])

    def observed(self) -> Floats:
        """Return the sums without flips, [i, j]: of the scores of i minus those of j."""
        found = np.zeros((self._count, self._count))
        for i, later, values in self.rows(np.ones((1, self._queries))):
            found[i, later], found[later, i] = values[:, 0], 0 - values[:, 0]
        return found

    def rounding(self) -> Floats:
        """Return by how much two sums of a pair may differ by rounding only, [i, j]."""
        # [j, i]: the sum of the scores of i over the queries with scores of both.
        sums = self._absolute[self._exact.mask_of, :, 0]
        return np.asarray(EQUAL_WITHIN * (sums + sums.T))

    def queries(self) -> Ints:
        """Return the number of queries with scores of both, [i, j]."""
        masks, mask_of = self._exact.masks, self._exact.mask_of
        return np.asarray(masks @ masks.T, dtype=np.int64)[np.ix_(mask_of, mask_of)]


@dataclass(frozen=True, eq=False)
class SignFlips:
    """Tests of all differences between submissions."""

    statistic: Floats
    """[i, j]: sum d / sqrt(sum d^2), where d are the scores of i minus those of j; 0 where all d are 0."""
    reached: Floats
    """[i, j]: the absolute statistic without what may be rounding: a flip that has it counts as equal."""
    size: Floats
    """[i, j]: sqrt(sum d^2)."""
    of_each: Floats
    """[submission, flip]: the largest absolute statistic of all pairs with the submission."""
    of_all: Floats
    """[flip]: the largest absolute statistic of all pairs, ascending."""
    critical: float
    """The absolute statistic above which a pair is significant among all pairs; infinite if none can be."""
    queries: Ints
    """[i, j]: the number of queries with scores of both."""

    @cached_property
    def simultaneous(self) -> Floats:
        """[i, j]: p-values adjusted for all pairs; 1 on the diagonal."""
        return _p_values(self.of_all, self.reached)

    @cached_property
    def marginal(self) -> Floats:
        """[i, j]: p-values adjusted for all pairs with i; 1 on the diagonal."""
        rows = [_p_values(np.sort(largest), row) for largest, row in zip(self.of_each, self.reached, strict=True)]
        return np.array(rows).reshape(self.size.shape)

    def better(self) -> Bools:
        """[i, j]: whether i is significantly better than j, with all pairs tested at once.

        If all submissions have scores for the same queries, this is transitive: if i is better than j and j than k,
        then i is better than k.
        """
        return np.asarray((self.reached > self.critical) & (self.statistic > 0))

    def better_marginally(self, level: float = LEVEL) -> Bools:
        return np.asarray((self.marginal <= level) & (self.statistic > 0))

    def worse_marginally(self, level: float = LEVEL) -> Bools:
        return np.asarray((self.marginal <= level) & (self.statistic < 0))


class Sums(NamedTuple):
    """The sums of scores that are all defined. Those of a submission do not depend on the others."""

    observed: Floats
    """[submission]"""
    absolute: Floats
    """[submission]: of the absolute scores."""
    flipped: Floats
    """[submission, flip]: of the scores with random signs."""

    @classmethod
    def of(cls, scores: Floats, flips: int = FLIPS, seed: int = SEED) -> Sums:
        """The sums of scores, [submission, query] without NaN."""
        queries = scores.shape[1]
        exact, flipped, ones = ExactSums(scores, most=queries), np.empty((len(scores), flips)), np.ones((1, queries))
        for block, signs in random_signs(flips, queries, seed):
            flipped[:, block] = exact.sums(signs).T
        return cls(exact.sums(ones)[0], ExactSums(np.abs(scores), most=queries).sums(ones)[0], flipped)

    def __truediv__(self, unit: float) -> Sums:
        """The sums of the scores divided by a power of two."""
        return self if unit == 1 else Sums(*(sums / unit for sums in self))

    def with_flips(self, flips: int) -> Sums:
        """The same with the first flips only."""
        return self._replace(flipped=self.flipped[:, :flips])

    def of_rows(self, rows: Ints) -> Sums:
        return Sums(*(rows_at(sums, rows) for sums in self))

    def differences(self) -> Floats:
        """[i, j]: the sums of the scores of i minus those of j."""
        return self.observed[:, None] - self.observed

    def rounding(self) -> Floats:
        """[i, j]: by how much two sums of a pair may differ by rounding only."""
        return EQUAL_WITHIN * (self.absolute[:, None] + self.absolute)


def sign_flips(
    scores: Floats,
    flips: int = FLIPS,
    seed: int = SEED,
    level: float = LEVEL,
    *,
    sums: Sums | None = None,
    pairs: AllPairs | None = None,
    units: Ints | None = None,
) -> SignFlips:
    """Test all differences between submissions, [submission, query].

    The statistic of a pair is the sum of its differences in units of sqrt(sum d^2), which no flip changes. A pair is
    compared with the largest statistic of all pairs under the same flips; so the probability of any false decision is
    at most the level, regardless of which submissions are equal. The observed signs count as one more draw. `level` is
    that of `SignFlips.critical` and of what is significant. Source of the maximum: Westfall and Young, Resampling-Based
    Multiple Testing, 1993.

    If all scores are defined, `sums` may be theirs, and if `unit_of` the scores is 1, `pairs` those of the scores and
    the sums. If some are not, `units` may be those of the queries; otherwise the scores may be `sums_of_units`.
    """
    unit = unit_of(scores)
    scores = scores if unit == 1 else scores / unit
    if np.isnan(scores).any():
        factor = 1.0 if units is None else (int(units.max()) + 1) / len(units)  # that of `sums_of_units`
        of_pairs, size = PairSums(scores * factor), sizes(scores, units)
        inverse, queries = inverse_of(size), of_pairs.queries()
        differences, rounding = of_pairs.observed(), of_pairs.rounding()
        pairs = AllPairs(size, _largest(of_pairs, inverse, scores.shape, flips, seed, units))
    else:
        of_scores = Sums.of(scores, flips, seed) if sums is None else sums / unit
        pairs = pairs or AllPairs.of(scores, of_scores.flipped)
        size, queries = pairs.size, np.broadcast_to(scores.shape[1], pairs.size.shape)
        inverse, differences, rounding = inverse_of(size), of_scores.differences(), of_scores.rounding()
    # In place: each of these has a value of every pair.
    statistic = np.multiply(differences, inverse, out=differences)
    # Sums that differ by rounding only must count as equal, so that a flip reaches what it equals.
    reached = np.abs(statistic)
    reached -= np.multiply(rounding, inverse, out=rounding)
    del inverse, differences, rounding
    of_all = np.sort(pairs.of_each.max(axis=0, initial=0.0))
    critical = _critical(of_all, level) if size.any() else float("inf")
    return SignFlips(
        statistic,
        reached,
        size if unit == 1 else size * unit,
        pairs.of_each,
        of_all,
        critical,
        queries,
    )


def unit_of(scores: Floats) -> float:
    """Return what scores are divided by, so that their squares are numbers: 1, or a power of two for extreme ones."""
    largest = magnitude(scores)
    return 1.0 if 1 / _EXTREME <= largest <= _EXTREME else largest


def _largest(
    pairs: PairSums, inverse: Floats, shape: tuple[int, ...], flips: int, seed: int, units: Ints | None
) -> Floats:
    """[submission, flip]: the largest absolute statistic of all pairs with the submission, if scores are missing."""
    found = np.zeros((shape[0], flips))
    for block, signs in random_signs(flips, shape[1], seed, units):
        largest = found[:, block]
        for i, later, values in pairs.rows(signs):
            np.abs(values, out=values)
            np.multiply(values, inverse[i, later, None], out=values)
            np.maximum(largest[later], values, out=largest[later])
            np.maximum(largest[i], values.max(axis=0), out=largest[i])
    return found


def pair_p_values(differences: Floats, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Return the p-value of each pair, given its differences, [pair, query]: as of `paired_tests.randomisation`."""
    queries = differences.shape[1]
    exact = ExactSums(differences, most=queries)
    (observed,) = np.abs(exact.sums(np.ones((1, queries))))
    bound = observed - EQUAL_WITHIN * np.nansum(np.abs(differences), axis=1)
    counts = np.zeros(len(differences), dtype=np.int64)
    for _, signs in random_signs(flips, queries, seed):
        counts += (np.abs(exact.sums(signs)) >= bound).sum(axis=0)
    return np.asarray((counts + 1) / (flips + 1))


def p_values_of_sums(sums: Sums, first: Ints, second: Ints) -> Floats:
    """Return the p-value of each pair of submissions, as `pair_p_values` of the differences of their scores."""
    observed, flipped = np.abs(sums.observed[first] - sums.observed[second]), sums.flipped
    bound = observed - EQUAL_WITHIN * (sums.absolute[first] + sums.absolute[second])
    counts = np.empty(len(bound))
    for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        counts[pair] = np.count_nonzero(np.abs(flipped[i] - flipped[j]) >= bound[pair])
    p_values: Floats = (counts + 1) / (flipped.shape[1] + 1)
    return p_values


def _p_values(ascending: Floats, reached: Floats) -> Floats:
    """The share of the flips, and of the observed signs, that reach each observed statistic; 1 if it could be 0."""
    flips = ascending.size - np.searchsorted(ascending, reached, side="left")
    return np.asarray(np.where(reached > 0, (flips + 1) / (ascending.size + 1), 1.0))


def _critical(ascending: Floats, level: float) -> float:
    """The largest of the ascending statistics that more flips reach than the level allows; infinite if none do."""
    allowed = int(level * (ascending.size + 1) + EQUAL_WITHIN) - 1
    return float(ascending[ascending.size - 1 - allowed]) if 0 <= allowed < ascending.size else float("inf")


# What a number of queries separates


def smallest_differences(tests: SignFlips, queries: int) -> Floats:
    """Return the difference of means from which each pair is significant, [i, j], if its differences vary as they do.

    A mean difference m of n queries with variance v has the statistic n m / sqrt(n (v + m^2)), which exceeds the
    critical value c from m = c sqrt(v / (n - c^2)). Infinite if so few queries separate no pair; 0 on the diagonal.
    """
    freedom = queries - tests.critical**2
    # The observed signs and their opposites are 2 of 2^n sign patterns, so few queries are never significant.
    if not freedom > 0 or 2.0 ** (1 - queries) > LEVEL:
        return np.where(np.eye(len(tests.size), dtype=bool), 0.0, np.inf)
    # The variance is sum d^2 / n minus the square of the mean.
    deviation = tests.size * np.sqrt(np.maximum(1 - tests.statistic**2 / queries, 0) / queries)
    return tests.critical / math.sqrt(freedom) * deviation


def typical_difference(smallest: Floats, tests: SignFlips) -> float:
    """Return the median over all pairs that differ, given `smallest_differences`; NaN without such a pair."""
    differs = np.triu(tests.size, 1) > 0
    return float(np.median(smallest[differs])) if differs.any() else math.nan


def queries_needed(statistic: float, critical: float, queries: int) -> float:
    """Return how many queries would separate a pair whose differences stay as they are; infinite without a difference.

    The statistic grows with the square root of the number of queries.
    """
    return queries * (critical / statistic) ** 2 if statistic else math.inf
