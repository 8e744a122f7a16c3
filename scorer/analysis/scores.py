"""What the scores of a task show, the same for boards, analyses and comparisons: intervals, pairs, and sign flips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scorer.analysis.task import ExtremeQuery
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.options import RESAMPLES, SEED
from scorer.statistics.bootstrap import bca_intervals, percentile_intervals, resampled_means
from scorer.statistics.paired_tests import outcomes, randomisation
from scorer.statistics.rankings import means as means_of
from scorer.statistics.sign_flips import SignFlips, sign_flips

EXTREMES = 5
"""How many of the best queries of a row there are, and how many of the worst."""


class Differences(NamedTuple):
    """The differences of pairs of rows, each over the queries with scores of both."""

    mean: Floats
    """[pair]; NaN without a query."""
    interval: Floats
    """[pair, 2]: BCa; NaN where all differences are equal."""
    outcomes: Ints
    """[pair, 3]: on how many queries the first row has the higher, the same and the lower score."""


@dataclass(frozen=True, eq=False)
class TaskScores:
    """The scores of a task, and what follows from them. Each number is computed when it is read first.

    Draws depend on the number of queries and the seed only, and the flips of a pair also on the size of the ranking: so
    a row or a pair has the same numbers, whichever other rows there are.
    """

    scores: Floats
    """[row, query]: larger is better; NaN where undefined."""
    means: Floats
    """[row]: those that decide the ranking, larger is better; NaN where undefined."""
    ranked: Ints
    """[team]: the rows that have a rank. The others are baselines, which are compared, but not ranked."""
    flips: int
    """Of the randomisation test of pairs."""
    resamples: int = RESAMPLES
    seed: int = SEED

    @cached_property
    def resampled(self) -> Floats:
        """[resample, row]: the means over the resamples."""
        return resampled_means(self.scores, self.resamples, self.seed)

    @cached_property
    def percentile(self) -> Floats:
        """[row, 2]: the percentile intervals of the means."""
        return percentile_intervals(self.resampled)

    @cached_property
    def p_values(self) -> Floats:
        """[row, row]: of the randomisation test of each pair."""
        return randomisation(self.scores, self.flips, self.seed)

    @cached_property
    def tests(self) -> SignFlips:
        """Of all pairs of ranked rows."""
        return sign_flips(self.scores[self.ranked], seed=self.seed)

    @cached_property
    def above(self) -> Bools:
        """[team, team]: whether the mean is higher. No test decides that equal means differ, or against the ranking."""
        means = self.means[self.ranked]
        return np.asarray(means[:, None] > means[None, :])

    @cached_property
    def better(self) -> Bools:
        """[team, team]: whether a ranked row is significantly better than another one, all pairs tested at once."""
        return np.asarray(self.tests.better() & self.above)

    @cached_property
    def queries(self) -> int:
        """How many queries have a score for every ranked row."""
        return int((~np.isnan(self.scores[self.ranked]).any(axis=0)).sum())

    def differences(self, first: Ints, second: Ints) -> Differences:
        """Return the differences of pairs of rows, first minus second."""
        differences = self.scores[first] - self.scores[second]
        return Differences(means_of(differences), self._intervals(differences, first, second), outcomes(differences))

    def _intervals(self, differences: Floats, first: Ints, second: Ints) -> Floats:
        """[pair, 2]; NaN with one query, which is its only resample."""
        if self.scores.shape[1] < 2:
            return np.full((len(first), 2), np.nan)
        if np.isnan(self.scores).any():
            means = resampled_means(differences, self.resamples, self.seed)
        else:
            means = self.resampled[:, first] - self.resampled[:, second]
        return bca_intervals(means, differences)

    def extreme_queries(self) -> list[tuple[tuple[ExtremeQuery, ...], tuple[ExtremeQuery, ...]]]:
        """Return, for each row, the queries on which it is the furthest above the other ranked rows, and below them.

        Only queries for which all rows have scores are compared. Of equally far queries, the first ones are listed.
        """
        complete = np.flatnonzero(~np.isnan(self.scores).any(axis=0))
        scores, queries = self.scores[:, complete], complete.tolist()
        medians = _medians_of_others(scores, self.ranked)

        def listed(row: int, sign: int) -> tuple[ExtremeQuery, ...]:
            distance = sign * (scores[row] - medians[row])
            places = [at for at in np.argsort(-distance, kind="stable")[:EXTREMES].tolist() if distance[at] > 0]
            return tuple(ExtremeQuery(queries[at], float(scores[row, at]), float(medians[row, at])) for at in places)

        return [(listed(row, 1), listed(row, -1)) for row in range(len(scores))]


def _medians_of_others(scores: Floats, ranked: Ints) -> Floats:
    """[row, query]: the median of the ranked rows without the row itself; NaN where no other row is ranked."""
    of_ranked = scores[ranked]
    medians = np.full(scores.shape, np.nan)
    others = len(ranked) - 1
    if not len(ranked):
        return medians
    medians[:] = np.median(of_ranked, axis=0)
    if others < 1:
        medians[ranked] = np.nan
        return medians
    # A row takes one place in the ascending scores: those from there on move down by one.
    ascending = np.sort(of_ranked, axis=0)
    place = np.argsort(np.argsort(of_ranked, axis=0, kind="stable"), axis=0, kind="stable")
    middle = np.zeros(of_ranked.shape)
    for index in {(others - 1) // 2, others // 2}:
        shifted = index + (place <= index)
        middle += np.take_along_axis(ascending, shifted, axis=0) / len({(others - 1) // 2, others // 2})
    medians[ranked] = middle
    return medians
