"""What a number of queries separates."""

from __future__ import annotations

import math

import numpy as np

from scorer.measures.arrays import Floats
from scorer.statistics.defaults import LEVEL
from scorer.statistics.sign_flips import SignFlips


def smallest_differences(tests: SignFlips, queries: int) -> Floats:
    """Return the difference of means from which each pair is significant, if its differences vary as they do.

    A mean difference m of n queries with variance v has the statistic n m / sqrt(n (v + m^2)), which exceeds the
    critical value c from m = c sqrt(v / (n - c^2)).

    Parameters
    ----------
    tests
        Of all pairs.
    queries
        The number of queries with scores.

    Returns
    -------
    [i, j]; 0 on the diagonal; infinite if so few queries separate no pair.
    """
    freedom = queries - tests.critical**2
    # The observed signs and their opposites are 2 of 2^n sign patterns, so few queries are never significant.
    if not freedom > 0 or 2.0 ** (1 - queries) > LEVEL:
        return np.where(np.eye(len(tests.size), dtype=bool), 0.0, np.inf)
    # The variance is sum d^2 / n minus the square of the mean.
    deviation = tests.size * np.sqrt(np.maximum(1 - tests.statistic**2 / queries, 0) / queries)
    return tests.critical / math.sqrt(freedom) * deviation


def typical_smallest_difference(tests: SignFlips, queries: int) -> float:
    """Return the median of `smallest_differences` over all pairs that differ; NaN without such a pair."""
    differs = np.triu(tests.size, 1) > 0
    return float(np.median(smallest_differences(tests, queries)[differs])) if differs.any() else math.nan


def queries_needed(statistic: float, critical: float, queries: int) -> float:
    """Return how many queries would separate a pair whose differences stay as they are; infinite without a difference.

    The statistic grows with the square root of the number of queries.
    """
    return queries * (critical / statistic) ** 2 if statistic else math.inf
