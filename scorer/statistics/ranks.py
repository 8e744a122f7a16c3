"""Ranks: of values, of resampled means, and the ranges of ranks that a test leaves possible."""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints
from scorer.statistics.defaults import LEVEL
from scorer.statistics.exact_sums import ROUNDING


def rank_ranges(better: Bools, worse: Bools | None = None) -> Ints:
    """Return the ranks that each submission may have, by the pairs that are decided.

    A range goes from 1 plus the submissions that are significantly better to N minus those that are significantly
    worse. If all pairs are tested at once, all ranges hold at once. Source: Mogstad, Romano, Shaikh and Wilhelm,
    Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across Countries,
    2024.

    Parameters
    ----------
    better
        [i, j]: whether i is significantly better than j.
    worse
        [i, j]: whether i is significantly worse than j; without it, i is worse where j is better than i.

    Returns
    -------
    [submission, 2]: the first and the last rank, from 1.
    """
    worse = better.T if worse is None else worse
    return np.stack([1 + worse.sum(axis=1), len(better) - better.sum(axis=1)], axis=1)


def ranked(values: Floats) -> Ints:
    """Return the rank of each value along the last axis, the highest first; equal values share the best rank.

    Values that differ by rounding only are equal. NaN ranks one after the last rank that a number has, as in R's
    challengeR.
    """
    order = np.argsort(-values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    before, after = ordered[..., :-1], ordered[..., 1:]
    position = np.zeros(values.shape, dtype=np.int64)
    if values.shape[-1] > 1:
        with np.errstate(invalid="ignore"):
            opens = before - after > ROUNDING * np.maximum(np.abs(before), np.abs(after))
        at = np.arange(1, values.shape[-1])
        position[..., 1:] = np.maximum.accumulate(np.where(opens, at, 0), axis=-1)
    undefined = np.isnan(ordered)
    last = np.where(undefined, -1, position).max(axis=-1, initial=-1, keepdims=True)
    position = np.where(undefined, last + 1, position)
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, position + 1, axis=-1)
    return ranks


def rank_frequencies(ranks: Ints) -> Floats:
    """Return how often each submission has each rank.

    Parameters
    ----------
    ranks
        [resample, submission], from 1.

    Returns
    -------
    [submission, rank]: shares of the resamples. The first column is the share in which a submission is best.
    """
    resamples, count = ranks.shape
    cells = np.bincount((np.arange(count) * count + ranks - 1).ravel(), minlength=count * count)
    frequencies: Floats = cells.reshape(count, count) / max(resamples, 1)
    return frequencies


def top_shares(frequencies: Floats) -> Floats:
    """Return how often each submission has each rank or a better one, [submission, rank], from `rank_frequencies`."""
    return np.minimum(np.cumsum(frequencies, axis=1), 1.0)


def rank_quantiles(ranks: Ints, level: float = LEVEL) -> Floats:
    """Return the middle ranks of each submission.

    Parameters
    ----------
    ranks
        [resample, submission], from 1.
    level
        The share of the resamples outside of the outer ranks.

    Returns
    -------
    [submission, 3]: the quantiles at half the level, at one half, and at one minus half the level; interpolated
    linearly.
    """
    return np.asarray(np.quantile(ranks, (level / 2, 0.5, 1 - level / 2), axis=0).T, dtype=np.float64)
