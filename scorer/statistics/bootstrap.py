"""The paired bootstrap: means over queries drawn again with replacement, the same draw for all submissions.

Sources: Efron, Bootstrap Methods: Another Look at the Jackknife, 1979; Better Bootstrap Confidence Intervals, 1987.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from scorer.measures.arrays import Floats, Ints
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.statistics.exact_sums import ROUNDING, ExactSums
from scorer.statistics.threads import blocks, in_threads

_CHUNK = 1 << 21
"""The number of draws that are computed at a time."""

_COLUMNS_AT_ONCE = 64
"""Columns whose quantiles are computed at a time in each thread."""

_KEPT = 1 << 26
"""The largest number of draws that remain in memory, where their counts take 128 MB."""

Counts = npt.NDArray[np.unsignedinteger[Any]]


def resampled_means(scores: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Return the mean of each submission over each resample of the queries, given its scores, [submission, query].

    [resample, submission]; NaN where no query of the resample has a score. Two calls with the same seed and number of
    queries use the same resamples. So the resampled differences of two submissions are the means of their differences
    `scores[i] - scores[j]`, or the differences of their columns if both have scores for the same queries.
    """
    queries = scores.shape[1]
    exact = ExactSums(scores, most=queries)
    means = np.full((resamples, len(scores)), np.nan)
    done = 0
    for counts in _resamples(queries, resamples, seed):
        means[done : done + len(counts)] = exact.means(counts)
        done += len(counts)
    return means


def _resamples(queries: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of [resample, query]: how often each query is drawn; none without queries."""
    counts = _kept_counts if queries * resamples <= _KEPT else _counts
    for block in counts(queries, resamples, seed):
        yield block.astype(np.float64)


@lru_cache(maxsize=1)
def _kept_counts(queries: int, resamples: int, seed: int) -> tuple[Counts, ...]:
    """All blocks of `_counts`: the measures of a board, which have the same queries, draw once."""
    return tuple(_counts(queries, resamples, seed))


def _counts(queries: int, resamples: int, seed: int) -> Iterator[Counts]:
    random = np.random.default_rng(seed)
    at_once = max(1, _CHUNK // max(1, queries))
    for start in range(0, resamples if queries else 0, at_once):
        drawn = random.integers(0, queries, size=(min(at_once, resamples - start), queries), dtype=np.int32)
        counts = np.array([np.bincount(row, minlength=queries) for row in drawn], dtype=np.min_scalar_type(queries))
        yield counts.astype(np.min_scalar_type(counts.max()))


def column_quantiles(values: Floats | Ints, shares: Floats) -> Floats:
    """Return the quantiles of each column at these shares, [column, share], interpolated linearly.

    `values` are [row, column] without NaN. Only a part of the columns is copied at a time.
    """
    quantiles = np.empty((values.shape[1], len(shares)))

    def fill(block: slice) -> None:
        quantiles[block] = np.quantile(values[:, block], shares, axis=0).T

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
    # Scaling by a power of two changes no digit, and keeps the powers of small scores above 0.
    with np.errstate(invalid="ignore"):
        exponent = -np.frexp(np.nanmax(np.abs(scores), axis=1, initial=0.0))[1]
    means, scores = np.ldexp(means, exponent), np.ldexp(scores, exponent[:, None])
    ends = ndtri(np.array([level / 2, 1 - level / 2]))
    intervals = np.full((len(scores), 2), np.nan)
    for value, own in enumerate(scores):
        defined = own[~np.isnan(own)]
        if not defined.size or np.ptp(defined) <= ROUNDING * np.abs(defined).max():
            continue
        observed = defined.mean()
        deviations = (defined - observed) / np.abs(defined - observed).max()
        acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
        bias = ndtri(_share_below(means[:, value], observed, ROUNDING * np.abs(defined).max()))
        if np.isfinite(bias):
            shares = ndtr(bias + (bias + ends) / (1 - acceleration * (bias + ends)))
            intervals[value] = _quantiles(means[:, value], shares)
    return np.asarray(np.ldexp(intervals, -exponent[:, None]), dtype=np.float64)


def _share_below(means: Floats, observed: float, rounding: float) -> float:
    """The share of the means below the observed one, and half of the share of those equal to it."""
    means = means[~np.isnan(means)]
    below, not_above = (means < observed - rounding).sum(), (means <= observed + rounding).sum()
    return float(below + not_above) / (2 * max(means.size, 1))


def _quantiles(values: Floats, shares: Floats) -> Floats:
    """The quantiles of the defined values, interpolated linearly; NaN without any."""
    defined = values[~np.isnan(values)]
    return np.quantile(defined, shares) if defined.size else np.full(shares.shape, np.nan)
