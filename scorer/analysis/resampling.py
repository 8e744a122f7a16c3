"""What the bootstrap over cases shows: intervals of means, ranks in resamples, and how stable the ranking is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorer.analysis.task import Task
from scorer.measures.arrays import Floats, Ints
from scorer.statistics.agreement import resampled_taus
from scorer.statistics.bootstrap import bca_intervals, percentile_intervals, resampled_means
from scorer.statistics.rankings import rank_frequencies, rank_quantiles, ranked


@dataclass(frozen=True, eq=False)
class Resampling:
    """Results of the paired bootstrap. With one case all arrays are NaN: a resample would be the case itself."""

    percentile: Floats
    """[algorithm, 2]: 95 % interval of the mean; the lower end first."""
    bca: Floats
    """[algorithm, 2]; NaN where all values of an algorithm are equal."""
    quantiles: Floats
    """[algorithm, 3]: the ranks in the resamples at 2.5, 50 and 97.5 %."""
    frequencies: Floats
    """[algorithm, rank]: the share of the resamples in which it has this rank; ranks from 1."""
    taus: Floats
    """[resample]: Kendall's tau-b between the ranking of a resample and that of all cases, without those that are
    undefined because all ranks are equal."""

    @property
    def first(self) -> Floats:
        """[algorithm]: the share of the resamples in which it has rank 1."""
        return self.frequencies[:, 0]

    @property
    def tau_mean(self) -> float:
        """NaN without a tau."""
        return math.fsum(self.taus) / self.taus.size if self.taus.size else math.nan

    @property
    def tau_quartiles(self) -> tuple[float, float, float]:
        """NaN without a tau."""
        if not self.taus.size:
            return math.nan, math.nan, math.nan
        low, median, high = np.quantile(self.taus, (0.25, 0.5, 0.75)).tolist()
        return low, median, high


def resampled(task: Task, ranks: Ints, resamples: int, seed: int) -> Resampling:
    """Return what the bootstrap shows about a task.

    Parameters
    ----------
    task
        The task; NaN are left out.
    ranks
        [algorithm]: by the mean over all cases.
    resamples, seed
        As for `bootstrap.resampled_means`.
    """
    count, cases = task.values.shape
    if cases < 2:
        nan = np.full
        return Resampling(
            nan((count, 2), np.nan),
            nan((count, 2), np.nan),
            nan((count, 3), np.nan),
            nan((count, count), np.nan),
            np.zeros(0),
        )
    means = resampled_means(task.scores, resamples, seed)
    drawn = ranked(means if task.decimals is None else np.round(means, task.decimals))
    percentile, bca = percentile_intervals(means), bca_of(means, task.scores)
    return Resampling(
        percentile=_as_reported(percentile, task),
        bca=_as_reported(bca, task),
        quantiles=rank_quantiles(drawn),
        frequencies=rank_frequencies(drawn),
        taus=_defined(resampled_taus(drawn, ranks)),
    )


def _defined(taus: Floats) -> Floats:
    return taus[~np.isnan(taus)]


def bca_of(means: Floats, scores: Floats) -> Floats:
    """Return the BCa intervals as `bca_intervals`, also of scores so small that their powers would be 0.

    Scaling by a power of two changes no digit.
    """
    with np.errstate(invalid="ignore"):
        largest = np.nanmax(np.abs(scores), axis=1, initial=0.0)
    exponent = -np.frexp(largest)[1]
    scaled = bca_intervals(np.ldexp(means, exponent), np.ldexp(scores, exponent[:, None]))
    return np.asarray(np.ldexp(scaled, -exponent[:, None]), dtype=np.float64)


def _as_reported(intervals: Floats, task: Task) -> Floats:
    """Return intervals of scores as intervals of values: if smaller is better, with the other sign and end."""
    return intervals if task.larger_is_better else -intervals[:, ::-1]
