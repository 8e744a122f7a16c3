"""How large the difference between two submissions is, for all pairs, over the queries with scores of both."""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.statistics.paired_tests import moments


def effect_sizes(scores: Floats) -> Floats:
    """Return the mean of the differences in units of their standard deviation (Cohen's d for pairs).

    Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.

    Returns
    -------
    [i, j]: of the scores of i minus those of j; NaN on the diagonal, for fewer than two queries, and where all
    differences are equal.
    """
    count = len(scores)
    sizes = np.full((count, count), np.nan)
    for i in range(count - 1):
        mean, deviation, _ = moments(scores[i] - scores[i + 1 :])
        found = ratio(mean, deviation, deviation > 0)
        sizes[i, i + 1 :], sizes[i + 1 :, i] = found, -found
    return sizes


def outcomes(scores: Floats) -> Ints:
    """Return on how many queries a submission wins, ties and loses against another.

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.

    Returns
    -------
    [i, j, 3]: the queries on which i has a higher, the same, or a lower score than j.
    """
    count = len(scores)
    found = np.zeros((count, count, 3), dtype=np.int64)
    for i, own in enumerate(scores):
        later = scores[i:]
        won, lost, tied = (compare(own, later).sum(axis=1) for compare in (np.greater, np.less, np.equal))
        found[i, i:] = np.stack([won, tied, lost], axis=1)
        found[i:, i] = np.stack([lost, tied, won], axis=1)
    return found
