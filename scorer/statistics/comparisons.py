"""Comparisons of submissions in pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scorer.measures.arrays import Floats
from scorer.statistics.holm import holm_matrix
from scorer.statistics.paired_tests import randomisation

LEAST_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between two submissions."""

    first: int
    """The index of a submission."""
    second: int
    """The index of another submission, greater than `first`."""
    difference: float
    """The mean score of the first submission minus that of the second."""
    p_value: float
    """The p-value of the paired randomisation test, adjusted by Holm's method over all pairs."""
    significant: bool
    """Whether the p-value is below the level."""


def compare_pairs(scores: Floats, level: float) -> tuple[Comparison, ...]:
    """Compare all pairs of submissions by the randomisation test with Holm's correction.

    Parameters
    ----------
    scores
        [submission, query]: scores of one measure; NaN where undefined.
    level
        The significance level.

    Returns
    -------
    One comparison for each pair, in the order (0, 1), (0, 2), ..., (1, 2), ...; none for fewer than two submissions.
    """
    means = [_mean(row) for row in scores]
    p_values = holm_matrix(randomisation(scores, rounds_needed(len(scores), level)), ordered=False).tolist()
    return tuple(
        Comparison(i, j, means[i] - means[j], p_values[i][j], p_values[i][j] < level)
        for i, j in combinations(range(len(scores)), 2)
    )


def rounds_needed(submissions: int, level: float) -> int:
    """Return the rounds of the test with which the smallest adjusted p-value is at most a tenth of the level."""
    return max(LEAST_ROUNDS, math.ceil(10 * math.comb(submissions, 2) / level))


def _mean(scores: Floats) -> float:
    """The mean of the defined scores, summed one by one as means over queries are; NaN without any."""
    defined = scores[~np.isnan(scores)]
    return float(np.cumsum(defined)[-1]) / defined.size if defined.size else math.nan
