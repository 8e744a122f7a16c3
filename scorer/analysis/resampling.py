"""What the bootstrap over cases shows: intervals of means, ranks in resamples, and how stable the ranking is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorer.analysis.scores import TaskScores
from scorer.analysis.task import Task
from scorer.measures.arrays import Floats, Ints
from scorer.statistics.agreement import resampled_taus
from scorer.statistics.bootstrap import bca_intervals
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


def resampling_of(task: Task, scores: TaskScores, ranks: Ints) -> Resampling:
    """Return what the bootstrap shows about a task, given the ranks by the mean over all cases, [algorithm]."""
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
    means = scores.resampled
    drawn = ranked(means if task.decimals is None else np.round(means, task.decimals))
    taus = resampled_taus(drawn, ranks)
    return Resampling(
        percentile=_as_reported(scores.percentile, task),
        bca=_as_reported(bca_intervals(means, scores.scores), task),
        quantiles=rank_quantiles(drawn),
        frequencies=rank_frequencies(drawn),
        taus=taus[~np.isnan(taus)],
    )


def _as_reported(intervals: Floats, task: Task) -> Floats:
    """Return intervals of scores as intervals of values: if smaller is better, with the other sign and end."""
    return intervals if task.larger_is_better else -intervals[:, ::-1]
