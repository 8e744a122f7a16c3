"""What each query contributes: how difficult it is, and how well it separates good submissions from poor ones."""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Bools, Floats, ratio
from scorer.statistics.exact_sums import ROUNDING, magnitude


def difficulties(scores: Floats) -> Floats:
    """Return the mean of the scores, [submission, query], on each query; the lower, the more difficult."""
    defined = ~np.isnan(scores)
    return _column_means(scores, defined)


def discriminations(scores: Floats) -> Floats:
    """Return the correlation of the scores on each query with the submissions' means over the other queries.

    A query that good submissions solve and poor ones do not is near 1; one that says nothing about the others is near
    0; one that poor submissions solve is negative. This is the corrected item-total correlation of test theory:
    Pearson's, over the submissions with scores for this query and another one. NaN for fewer than three, and where they
    have equal scores on the query or equal means over the others. Source: Nunnally and Bernstein, Psychometric Theory,
    1994.
    """
    defined = ~np.isnan(scores)
    filled = np.where(defined, scores / magnitude(scores), 0.0)
    others = defined.sum(axis=1, keepdims=True) - defined
    rest = ratio(filled.sum(axis=1, keepdims=True) - filled, others, others > 0)
    both = defined & (others > 0)
    x, y = _centred(filled, both), _centred(np.where(both, rest, 0.0), both)
    norms = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    correlation = ratio((x * y).sum(axis=0), norms, (norms > 0) & (both.sum(axis=0) > 2))
    return np.clip(correlation, -1.0, 1.0)


def _centred(values: Floats, defined: Bools) -> Floats:
    """[submission, query]: minus the mean of the query; 0 where undefined, and where all are equal but for rounding."""
    mean = _column_means(values, defined)
    around = np.where(defined, values - mean, 0.0)
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.where(np.abs(around).max(axis=0, initial=0.0) <= ROUNDING * largest, 0.0, around)


def _column_means(values: Floats, defined: Bools) -> Floats:
    """[query]: the mean of the defined values; NaN without any."""
    counts = defined.sum(axis=0)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), counts, counts > 0)
