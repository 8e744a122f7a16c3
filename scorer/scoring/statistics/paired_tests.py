"""The difference between two submissions, for all pairs: tests, effect sizes, and adjusted p-values.

Scores are [submission, query]. A pair is tested over the queries with scores of both.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from scorer.measures.matched import Floats, Ints, ratio
from scorer.options import SEED
from scorer.scoring.statistics import in_threads, special
from scorer.scoring.statistics.all_pairs import EQUAL_WITHIN, magnitude
from scorer.scoring.statistics.resampling import FLIPS, PairSums, random_signs
from scorer.scoring.statistics.units import number_of_units, sums_of_units, units_within, values_of_units


def wilcoxon_greater(scores: Floats, units: Ints | None = None) -> Floats:
    """Return one-sided p-values of Wilcoxon's signed rank test, [i, j]: i better than j.

    As R's `wilcox.test(paired=TRUE, alternative="greater", exact=FALSE)`: queries without a difference are left out,
    equal differences share their mean rank, and the normal distribution approximates that of the sum of ranks, with a
    continuity correction of 0.5. Differences are equal if their floats are. NaN on the diagonal, and where no query has
    a difference. With `units`, [query], it is about the sums of their differences. Sources: Wilcoxon, Individual
    Comparisons by Ranking Methods, 1945; Pratt and Gibbons, Concepts of Nonparametric Theory, 1981.
    """
    count = len(scores)

    def row(i: int) -> Floats:
        """[2, later submission]: the p-values of i better than the later ones, and of these better than i."""
        return np.array([*map(_signed_rank, sums_of_units(scores[i] - scores[i + 1 :], units))]).reshape(-1, 2).T

    p_values = np.full((count, count), np.nan)
    for i, (better, worse) in enumerate(in_threads(row, range(count))):
        p_values[i, i + 1 :], p_values[i + 1 :, i] = better, worse
    return p_values


def _signed_rank(differences: Floats) -> tuple[float, float]:
    """The one-sided p-values of positive differences, and of negative ones."""
    differences = differences[(differences != 0) & ~np.isnan(differences)]
    n = differences.size
    if not n:
        return np.nan, np.nan
    sizes = np.abs(differences)
    order = np.argsort(sizes)
    ordered = sizes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ties = np.diff(np.append(starts, n))
    ranks = np.repeat(starts + (ties + 1) / 2, ties)
    # Sums of half integers are exact.
    positive = float(ranks[differences[order] > 0].sum())
    ties = ties.astype(np.float64)
    deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - float((ties**3 - ties).sum()) / 48)
    above = positive - n * (n + 1) / 4
    return float(special().ndtr(-(above - 0.5) / deviation)), float(special().ndtr(-(-above - 0.5) / deviation))


def t_test(scores: Floats, units: Ints | None = None) -> Floats:
    """Return two-sided p-values of the paired t-test, [i, j] (Student, The Probable Error of a Mean, 1908).

    With `units`, [query], the standard error is that of the mean of units.

    NaN on the diagonal, for fewer than two queries, and where all differences are equal.
    """
    count = len(scores)
    p_values = np.full((count, count), np.nan)
    for i in range(count - 1):
        differences = scores[i] - scores[i + 1 :]
        mean, deviation, queries = moments(values_of_units(differences, units))
        with np.errstate(invalid="ignore", divide="ignore"):
            t = mean / (deviation / np.sqrt(queries))
            found = 2 * special().stdtr(number_of_units(differences, units) - 1, -np.abs(t))
        p_values[i, i + 1 :] = p_values[i + 1 :, i] = np.where(deviation > 0, found, np.nan)
    return p_values


def moments(differences: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, standard deviation and number of the defined differences of each pair, [pair, query].

    The deviation has the denominator n - 1; it is NaN for fewer than two differences, and 0 where all are equal but
    for rounding.
    """
    unit = magnitude(differences)
    differences = differences / unit
    defined = ~np.isnan(differences)
    queries = defined.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(defined, differences, 0.0).sum(axis=1) / queries
        around = np.where(defined, differences - mean[:, None], 0.0)
        deviation = np.sqrt((around**2).sum(axis=1) / np.where(queries > 1, queries - 1, np.nan))
    # R's t.test uses the same bound to find differences that are "essentially constant".
    constant = deviation / np.sqrt(np.maximum(queries, 1)) <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return mean * unit, np.where(constant, 0.0, deviation * unit), queries


def randomisation(scores: Floats, flips: int = FLIPS, seed: int = SEED, units: Ints | None = None) -> Floats:
    """Return two-sided p-values of the paired randomisation test, [i, j], in (0, 1].

    The p-value is the share of random signs whose sum is at least as far from 0 as the observed sum. The observed signs
    count as one more draw, so the smallest p-value is 1 / (flips + 1). 1 where no query has a difference; NaN on the
    diagonal. The queries of a unit, [query], have one sign. Sources: Fisher, The Design of Experiments, 1935; for
    retrieval: Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for Information Retrieval
    Evaluation, 2007.
    """
    count, queries = scores.shape
    pairs = PairSums(scores)
    bound = np.abs(pairs.observed()) - pairs.rounding()
    # Above the diagonal, the flips that reach the observed sum.
    counts = np.zeros((count, count), dtype=np.int64)
    for _, signs in random_signs(flips, queries, seed, units):
        for i, later, values in pairs.rows(signs):
            counts[i, later] += (np.abs(values, out=values) >= bound[i, later, None]).sum(axis=1)
    p_values = (counts + counts.T + 1) / (flips + 1)
    np.fill_diagonal(p_values, np.nan)
    return p_values


def effect_sizes(scores: Floats) -> Floats:
    """Return the mean of the differences, i minus j, in units of their standard deviation, [i, j] (Cohen's d).

    NaN on the diagonal, for fewer than two queries, and where all differences are equal. Source: Cohen, Statistical
    Power Analysis for the Behavioral Sciences, 1988.
    """
    count = len(scores)
    sizes = np.full((count, count), np.nan)
    for i in range(count - 1):
        mean, deviation, _ = moments(scores[i] - scores[i + 1 :])
        found = ratio(mean, deviation, deviation > 0)
        sizes[i, i + 1 :], sizes[i + 1 :, i] = found, -found
    return sizes


def outcomes(differences: Floats) -> Ints:
    """Return on how many queries differences, [..., query], are positive, 0 and negative: [..., 3]."""
    counts = [(differences > 0).sum(axis=-1), (differences == 0).sum(axis=-1), (differences < 0).sum(axis=-1)]
    return np.stack(counts, axis=-1)


# All submissions at once


PERMUTATIONS = 10_000
"""The number of random permutations of Tukey's test."""

_CHUNK = 1 << 20
"""The number of permuted scores that are in memory at a time, in each thread."""


def randomised_tukey(
    scores: Floats, permutations: int = PERMUTATIONS, seed: int = SEED, units: Ints | None = None
) -> Floats:
    """Return two-sided p-values of the randomised Tukey HSD test, [i, j], adjusted for all pairs.

    Under the null hypothesis that all submissions are equal, the scores of a query could belong to the submissions in
    any order. A difference of means is compared with the range of all means after such permutations; the observed order
    counts as one more. Sums are over the same queries for all submissions: submissions without any score are left out,
    and then queries that lack a score. The queries of a unit, [query], have one order. NaN on the diagonal, and for
    pairs with a submission without any score. Source: Carterette, Multiple Testing in Statistical Analysis of
    Systems-Based Information Retrieval Experiments, 2012.
    """
    tested = ~np.isnan(scores).all(axis=1)
    complete = scores[tested]
    defined = np.atleast_1d(~np.isnan(complete).any(axis=0))
    complete = sums_of_units(complete[:, defined], units_within(units, defined))
    found = np.full((len(scores), len(scores)), np.nan)
    if not complete.size:
        found[np.ix_(tested, tested)] = 1.0
    else:
        found[np.ix_(tested, tested)] = _tukey_p_values(complete, permutations, seed)
    np.fill_diagonal(found, np.nan)
    return found


def _tukey_p_values(scores: Floats, permutations: int, seed: int) -> Floats:
    """[i, j], for scores that are all defined."""
    by_query = np.ascontiguousarray(scores.T)
    at_once = max(1, _CHUNK // scores.size)
    starts = range(0, permutations, at_once)
    seeds = np.random.SeedSequence(seed).spawn(len(starts))

    def ranges(block: int) -> Floats:
        """[permutation]: the largest minus the smallest sum of a submission."""
        random = np.random.default_rng(seeds[block])
        count = min(at_once, permutations - starts[block])
        permuted = random.permuted(np.broadcast_to(by_query, (count, *by_query.shape)), axis=2)
        return np.asarray(np.ptp(permuted.sum(axis=1), axis=1), dtype=np.float64)

    ascending = np.sort(np.concatenate([np.zeros(0), *in_threads(ranges, range(len(starts)))]))
    sums = scores.sum(axis=1)
    absolute = np.abs(scores).sum(axis=1)
    reached = np.abs(sums[:, None] - sums) - EQUAL_WITHIN * (absolute[:, None] + absolute)
    above = ascending.size - np.searchsorted(ascending, reached, side="left")
    return np.where(reached > 0, (above + 1) / (permutations + 1), 1.0)


# Several tests


def holm(p_values: Floats) -> Floats:
    """Adjust p-values of several tests, so that the probability of any false positive is at most the level.

    The smallest p-value is multiplied by the number of tests, the next by one less, and so on; none may be below the
    one before it, or above 1. A test whose p-value is NaN does not count as a test. Source: Holm, A Simple Sequentially
    Rejective Multiple Test Procedure, 1979.
    """
    count = p_values.size - int(np.isnan(p_values).sum())
    ascending = np.argsort(p_values, kind="stable")[:count]
    multiplied = np.maximum.accumulate(p_values[ascending] * np.arange(count, 0, -1))
    adjusted = np.full(p_values.size, np.nan)
    adjusted[ascending] = np.minimum(multiplied, 1.0)
    return adjusted


def benjamini_hochberg(p_values: Floats, *, dependent: bool = False) -> Floats:
    """Adjust p-values of several tests, so that the expected share of false positives is at most the level.

    The p-value with rank i of m is multiplied by m / i; none may be above the one after it, or above 1. That holds for
    independent tests, and for those with a positive dependence. For `dependent` ones of any kind, all are multiplied by
    1 + 1/2 + ... + 1/m, too. Sources: Benjamini and Hochberg, Controlling the False Discovery Rate, 1995; Benjamini and
    Yekutieli, The Control of the False Discovery Rate in Multiple Testing under Dependency, 2001.
    """
    places = np.arange(1, p_values.size + 1)
    descending = np.argsort(-p_values, kind="stable")
    multiplied = p_values[descending] * p_values.size / places[::-1] * ((1 / places).sum() if dependent else 1)
    adjusted = np.empty(p_values.size)
    adjusted[descending] = np.minimum(np.minimum.accumulate(multiplied), 1.0)
    return adjusted


def holm_matrix(p_values: Floats, ordered: bool) -> Floats:
    """Adjust the p-values of pairs, [i, j], without the diagonal; NaN where the p-value is NaN.

    If they are `ordered`, (i, j) and (j, i) are two tests, as of a one-sided test. Otherwise the matrix is symmetric,
    and the pairs above the diagonal are the tests.
    """
    above = np.triu(np.ones(p_values.shape, dtype=bool), 1)
    tests = above | above.T if ordered else above
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[tests] = holm(p_values[tests])
    return adjusted if ordered else np.where(above.T, adjusted.T, adjusted)


def smallest_shown(deviation: float, queries: int, level: float) -> float:
    """Return the mean difference that a two-sided paired t-test of so many queries finds with a probability of 80 %.

    `deviation` is the standard deviation of the differences. A difference in the other direction does not count as
    found. NaN for fewer than two queries. Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.
    """
    if queries < 2:
        return math.nan
    critical = special().stdtrit(queries - 1, 1 - level / 2)
    return float(special().nctdtrinc(queries - 1, 0.2, critical)) * deviation / math.sqrt(queries)


def queries_for(difference: float, deviation: float, level: float) -> float:
    """Return for how many queries `smallest_shown` is at most a difference; NaN for more than a billion."""
    counts = range(2, 10**9)
    found = bisect_left(counts, -abs(difference), key=lambda count: -smallest_shown(deviation, count, level))
    if not difference or math.isnan(deviation) or found == len(counts):
        return math.nan
    return counts[found]


def rounds_needed(submissions: int, level: float) -> int:
    """Return the rounds of the test with which the smallest adjusted p-value is at most a tenth of the level."""
    return max(FLIPS, math.ceil(10 * math.comb(submissions, 2) / level))
