"""Tests of the difference between two submissions, for all pairs; none is adjusted for their number.

A pair is tested over the queries with scores of both.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, stdtr

from scorer.measures.arrays import Floats
from scorer.statistics.defaults import SEED
from scorer.statistics.exact_sums import magnitude
from scorer.statistics.flips import FLIPS, PairSums, random_signs
from scorer.statistics.threads import in_threads


def wilcoxon_greater(scores: Floats) -> Floats:
    """Return one-sided p-values of Wilcoxon's signed rank test: row better than column.

    As R's `wilcox.test(paired=TRUE, alternative="greater", exact=FALSE)`: queries without a difference are left out,
    equal differences share their mean rank, and the normal distribution approximates that of the sum of ranks, with a
    continuity correction of 0.5. Differences are equal if their floats are. Sources: Wilcoxon, Individual Comparisons
    by Ranking Methods, 1945; Pratt and Gibbons, Concepts of Nonparametric Theory, 1981.

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.

    Returns
    -------
    [i, j]; NaN on the diagonal, and where no query has a difference.
    """
    count = len(scores)

    def row(i: int) -> Floats:
        """[2, later submission]: the p-values of i better than the later ones, and of these better than i."""
        return np.array([_signed_rank(scores[i] - other) for other in scores[i + 1 :]]).reshape(-1, 2).T

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
    return float(ndtr(-(above - 0.5) / deviation)), float(ndtr(-(-above - 0.5) / deviation))


def t_test(scores: Floats) -> Floats:
    """Return two-sided p-values of the paired t-test (Student, The Probable Error of a Mean, 1908).

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.

    Returns
    -------
    [i, j]; NaN on the diagonal, for fewer than two queries, and where all differences are equal.
    """
    count = len(scores)
    p_values = np.full((count, count), np.nan)
    for i in range(count - 1):
        differences = scores[i] - scores[i + 1 :]
        mean, deviation, queries = moments(differences)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = mean / (deviation / np.sqrt(queries))
            found = 2 * stdtr(queries - 1, -np.abs(t))
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


def randomisation(scores: Floats, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Return two-sided p-values of the paired randomisation test.

    The p-value is the share of random signs whose sum is at least as far from 0 as the observed sum. Sources: Fisher,
    The Design of Experiments, 1935; for retrieval: Smucker, Allan and Carterette, A Comparison of Statistical
    Significance Tests for Information Retrieval Evaluation, 2007.

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.
    flips
        The number of random draws of all signs. The observed signs count as one more draw, so the smallest p-value is
        1 / (flips + 1).
    seed
        The seed of the random numbers.

    Returns
    -------
    [i, j]: in (0, 1]; 1 where no query has a difference; NaN on the diagonal.
    """
    count, queries = scores.shape
    pairs = PairSums(scores)
    bound = np.abs(pairs.observed()) - pairs.rounding()
    # Above the diagonal, the flips that reach the observed sum.
    counts = np.zeros((count, count), dtype=np.int64)
    for _, signs in random_signs(flips, queries, seed):
        for i, later, values in pairs.rows(signs):
            counts[i, later] += (np.abs(values, out=values) >= bound[i, later, None]).sum(axis=1)
    p_values = (counts + counts.T + 1) / (flips + 1)
    np.fill_diagonal(p_values, np.nan)
    return p_values
