"""What the scores of a task show, the same for boards, analyses and comparisons: intervals, sign flips, and tests
of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scorer.files import code_digest
from scorer.measures.matched import Bools, Floats, Ints, rows_at
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.scoring.analysis.kept import ExtremeQuery, Kept, Task, number_of
from scorer.scoring.statistics import blocks, in_threads, resampling
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.paired_tests import holm_matrix, outcomes, t_test, wilcoxon_greater
from scorer.scoring.statistics.rankings import means as means_of
from scorer.scoring.statistics.units import sums_of_units, unless_few, values_of_units

MOST_FLIPS = 100_000
"""The largest number of random sign flips of the randomisation test."""

_SUMS = "sums"

_AT_ONCE = 64
"""Pairs whose intervals are in memory at a time in each thread."""

EXTREMES = 5
"""How many of the best queries of a row there are, and how many of the worst."""


class Differences(NamedTuple):
    """The differences of pairs of rows, each over the queries with scores of both."""

    mean: Floats
    """[pair]; NaN without a query."""
    interval: Floats
    """[pair, 2]: by `difference_intervals`."""
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
    kept: Kept | None = None
    """What is kept of rows and pairs from one ranking to the next; None: nothing is."""
    bounded: bool = False
    """Whether all scores are in [0, 1]."""
    units: Ints | None = None
    """[query]: which queries belong together, by `units.units_within`: draws, signs and intervals are of these."""
    judges: TwoJudges | None = None
    """The scores by each of two judges, whose `values` are `scores`; None with one. Intervals are by both then."""

    @property
    def shown(self) -> Floats:
        """[row, query]: the scores of single queries to show; of two judges, those by the first."""
        return self.scores if self.judges is None else self.judges.machine

    @cached_property
    def is_complete(self) -> bool:
        """Whether all rows have a score on all queries."""
        return not np.isnan(self.scores).any()

    @cached_property
    def resampled(self) -> Floats:
        """[row, resample]: the means over the resamples."""

        def means(rows: Ints) -> Floats:
            counts = self._counts()
            return resampling.resampled_means(self.scores[rows], self.resamples, self.seed, self.units, counts).T

        if self._kept is not None:
            self._kept.arrays.used.add(self._key_of_counts)  # for the next row
        return self._values("means", self.resamples, means)

    @property
    def _key_of_counts(self) -> str:
        return f"{code_digest()[:32]}-{self.scores.shape[1]}-{self.resamples}-{self.seed}"

    def _counts(self) -> npt.NDArray[np.uint8] | None:
        """How often each resample has each query, which is kept, too: to draw it takes longer than a few rows."""
        if self._kept is None or self.units is not None or self.resamples % 8:
            return None
        stored = self._kept.arrays.load(self._key_of_counts)
        if stored is not None:
            return np.asarray(stored).view(np.uint8).reshape(self.resamples, -1)
        counts = resampling.drawn_counts(self.scores.shape[1], self.resamples, self.seed)
        if counts is not None:
            self._kept.arrays.save(self._key_of_counts, counts.reshape(-1).view(np.float64))
        return counts

    @cached_property
    def percentile(self) -> Floats:
        """[row, 2]: the percentile intervals of the means; NaN with two judges."""
        if self.judges is not None:
            return np.full((len(self.scores), 2), np.nan)

        def intervals(rows: Ints) -> Floats:
            return unless_few(resampling.percentile_intervals(rows_at(self.resampled, rows).T), self.units)

        return self._values(f"percentile of {self.resamples}", 2, intervals)

    @property
    def deciles(self) -> Floats:
        """[row, 9]: the deciles of the scores to show."""
        shares = np.arange(1, 10) / 10
        return self._values("deciles", 9, lambda rows: np.nanquantile(self.shown[rows], shares, axis=1).T)

    @cached_property
    def intervals(self) -> Floats:
        """[row, 2]: the intervals of the means that are shown."""
        if self.judges is not None:
            judges = self.judges
            return self._values("intervals", 2, lambda rows: judges.rows(rows).intervals(self.units))
        if not self.bounded:
            return self.percentile
        return self._values("intervals", 2, lambda rows: resampling.mean_intervals(self.scores[rows], units=self.units))

    @cached_property
    def bca(self) -> Floats:
        """[row, 2]: the bias-corrected and accelerated intervals of the means; NaN with two judges."""
        if self.judges is not None:
            return self.percentile

        def intervals(rows: Ints) -> Floats:
            values = values_of_units(self.scores[rows], self.units)
            return unless_few(resampling.bca_intervals(rows_at(self.resampled, rows).T, values), self.units)

        return self._values(f"bca of {self.resamples}", 2, intervals)

    @cached_property
    def sums(self) -> resampling.Sums:
        """Of the scores, which are all defined."""
        flips = max(self.flips, resampling.FLIPS)
        if self._kept is not None and flips > resampling.FLIPS:
            flips = MOST_FLIPS  # as for any other size of the ranking that needs more flips

        def in_one(rows: Ints) -> Floats:
            """[row, value]: the flipped sums, the observed sum and the absolute sum."""
            sums = resampling.Sums.of(sums_of_units(self.scores[rows], self.units), flips, self.seed)
            return np.column_stack([sums.flipped, sums.observed, sums.absolute])

        values = self._values(_SUMS, flips + 2, in_one)
        return resampling.Sums(values[:, -2], values[:, -1], values[:, :-2])

    @cached_property
    def _kept(self) -> Kept | None:
        """What is kept of rows that are all complete; None: nothing is, or what a row has depends on the others."""
        own = () if self.units is None else (number_of(self.units),)
        return self.kept.within(self.seed, *own) if self.kept is not None and self.is_complete else None

    def _values(self, what: str, width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """[row, value]: kept or computed."""
        return compute(np.arange(len(self.scores))) if self._kept is None else self._kept.values(what, width, compute)

    def of_pairs(
        self, what: str, width: int, first: Ints, second: Ints, compute: Callable[[Ints, Ints], Floats]
    ) -> Floats:
        """Return values of pairs of rows, [pair, value]: kept or computed."""
        return (
            compute(first, second) if self._kept is None else self._kept.of_pairs(what, width, first, second, compute)
        )

    def p_values(self, first: Ints, second: Ints) -> Floats:
        """Return the p-values of the randomisation test of pairs of rows, [pair]."""
        if not self.is_complete:
            differences = sums_of_units(self.scores[first] - self.scores[second], self.units)
            return resampling.pair_p_values(differences, self.flips, self.seed)

        def computed(rows: Ints, others: Ints) -> Floats:
            return resampling.p_values_of_sums(self.sums.with_flips(self.flips), rows, others)[:, None]

        return self.of_pairs(f"p-values of {self.flips}", 1, first, second, computed)[:, 0]

    @cached_property
    def tests(self) -> resampling.SignFlips:
        """Of all pairs of ranked rows."""
        scores = rows_at(self.scores, self.ranked)
        if not self.is_complete:
            return resampling.sign_flips(scores, seed=self.seed, units=self.units)
        scores = sums_of_units(scores, self.units)
        sums = self.sums.with_flips(resampling.FLIPS).of_rows(self.ranked)
        if self._kept is None or resampling.unit_of(scores) != 1:
            return resampling.sign_flips(scores, seed=self.seed, sums=sums)
        width = self.sums.flipped.shape[1] + 2
        pairs = self._kept.of(self.ranked.tolist()).all_pairs(_SUMS, width, scores, sums.flipped)
        return resampling.sign_flips(scores, seed=self.seed, sums=sums, pairs=pairs)

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
        return int((~np.isnan(rows_at(self.scores, self.ranked)).any(axis=0)).sum())

    @cached_property
    def clusters(self) -> int | None:
        """How many units these queries belong to; None where each is a separate unit."""
        lacks = np.isnan(rows_at(self.scores, self.ranked)).any(axis=0)
        return None if self.units is None else len(np.unique(self.units[~lacks]))

    def differences(self, first: Ints, second: Ints) -> Differences:
        """Return the differences of pairs of rows, first minus second."""
        values = self.of_pairs("differences", 6, first, second, self._differences)
        return Differences(values[:, 0], values[:, 1:3], values[:, 3:].astype(np.int64))

    def _differences(self, first: Ints, second: Ints) -> Floats:
        """[pair, 6]: the parts of `Differences`."""

        def of_block(block: slice) -> Floats:
            shown = differences = self.scores[first[block]] - self.scores[second[block]]
            if self.judges is None:
                intervals = resampling.difference_intervals(differences, bounded=self.bounded, units=self.units)
            else:
                judges = self.judges.differences(first[block], second[block])
                intervals, shown = judges.intervals(self.units), judges.machine
            return np.column_stack([means_of(differences), intervals, outcomes(shown)])

        return np.concatenate(in_threads(of_block, blocks(max(len(first), 1), _AT_ONCE)))

    def extreme_queries(self, numbers: Ints) -> list[tuple[tuple[ExtremeQuery, ...], tuple[ExtremeQuery, ...]]]:
        """Return, for each row, the queries on which it is the furthest above the other ranked rows, and below them.

        Only queries for which all rows have scores are compared. Of equally far queries, the first ones are listed.
        `numbers` are what queries are called, [query].
        """
        complete = ~np.isnan(self.shown).any(axis=0)
        scores = self.shown if complete.all() else self.shown[:, complete]
        queries = numbers[complete].tolist()
        medians = medians_of_others(scores, self.ranked)

        def listed(row: int, distance: Floats, least: float) -> tuple[ExtremeQuery, ...]:
            far = np.flatnonzero((distance > 0) & (distance >= least))
            places = far[np.argsort(-distance[far], kind="stable")[:EXTREMES]].tolist()
            return tuple(ExtremeQuery(queries[at], float(scores[row, at]), float(medians[row, at])) for at in places)

        def extremes(distances: Floats) -> list[tuple[ExtremeQuery, ...]]:
            last = min(EXTREMES, distances.shape[1])
            least = np.partition(distances, -last, axis=1)[:, -last].tolist() if last else [0.0] * len(distances)
            return [listed(row, *each) for row, each in enumerate(zip(distances, least, strict=True))]

        return list(zip(extremes(scores - medians), extremes(medians - scores), strict=True))


def medians_of_others(scores: Floats, ranked: Ints) -> Floats:
    """Return the median of the ranked rows without the row itself, [row, query]; NaN where no other row is ranked."""
    of_ranked = rows_at(scores, ranked)
    medians = np.full(scores.shape, np.nan)
    others = len(ranked) - 1
    if not len(ranked):
        return medians
    if len(ranked) < len(scores):
        medians[:] = np.median(of_ranked, axis=0)
    if others < 1:
        medians[ranked] = np.nan
        return medians

    middle, medians[ranked] = {(others - 1) // 2, others // 2}, 0
    ascending = np.sort(np.ascontiguousarray(of_ranked.T)).T
    for at in middle:  # without a row that is not above a value, the next one takes its place
        medians[ranked] += np.where(of_ranked <= ascending[at], ascending[at + 1], ascending[at]) / len(middle)
    return medians


MOST_ALGORITHMS = 60
"""All pairs are tested up to this number of algorithms."""

ONE_SIDED = "wilcoxon"
"""The test whose p-value is that of the row being better than the column; the others are two-sided."""


@dataclass(frozen=True, eq=False)
class PairTest:
    """The p-values of a test for all tested pairs."""

    p: Floats
    """[i, j]; NaN where undefined, and for a pair that is not tested."""
    holm: Floats
    """[i, j]: the p-values adjusted by Holm's method over all pairs, NaN as above."""


def tested_pairs(count: int, *, all_pairs: bool) -> Bools:
    """Return which pairs are tested, [i, j], of algorithms that are sorted with the best first.

    All of them up to `MOST_ALGORITHMS`, or with `all_pairs`; otherwise neighbours, and pairs with the best one.
    """
    if all_pairs or count <= MOST_ALGORITHMS:
        return ~np.eye(count, dtype=bool)
    tested = np.eye(count, k=1, dtype=bool)
    tested[0, 1:] = True
    return tested | tested.T


def sign_flips_of(count: int) -> int:
    """Return the number of sign flips for so many algorithms.

    With it, the smallest adjusted p-value of all pairs is at most half the level. Where that would need more than
    `MOST_FLIPS`, no adjusted p-value can be significant, and the fewest flips are enough.
    """
    needed = max(math.ceil(2 * math.comb(count, 2) / LEVEL), resampling.FLIPS)
    return needed if needed <= MOST_FLIPS else resampling.FLIPS


def sign_flips_for(task: Task) -> int:
    """Return the number of sign flips for a task: that of its whole ranking, so that each pair has one p-value.

    Only if these are too few for any adjusted p-value of the algorithms of the task to be significant, it is theirs.
    """
    count = len(task.algorithms)
    flips = sign_flips_of(task.ranked or count)
    return flips if can_be_significant(count, flips) else sign_flips_of(count)


def can_be_significant(count: int, flips: int) -> bool:
    """Whether so many sign flips can make an adjusted p-value of so many algorithms significant."""
    return math.comb(count, 2) / (flips + 1) <= LEVEL


def pair_tests(scores: TaskScores, tested: Bools) -> dict[str, PairTest]:
    """Return the tests of the pairs that are tested, [i, j], by name: wilcoxon, t, randomisation; with two judges,
    only the last one.

    Holm's method counts all pairs, also those that are not tested: they count as if their p-value were 1. The adjusted
    p-values of the others are then never too small.
    """
    tests = {}
    for name, p in _p_values(scores, tested).items():
        filled = np.where(tested, p, 1.0)
        np.fill_diagonal(filled, np.nan)
        adjusted = holm_matrix(filled, ordered=name == ONE_SIDED)
        tests[name] = PairTest(p, np.where(tested, adjusted, np.nan))
    return tests


def _p_values(task: TaskScores, tested: Bools) -> dict[str, Floats]:
    """The p-values of each test, [i, j]; NaN where not tested."""
    scores = task.scores
    first, second = np.nonzero(np.triu(tested))
    p_values = {name: np.full(tested.shape, np.nan) for name in (ONE_SIDED, "t", "randomisation")}
    if task.judges is not None:  # the others are about single queries, which have no corrected score
        del p_values[ONE_SIDED], p_values["t"]
    elif tested.sum() == tested.size - len(tested):
        p_values |= {ONE_SIDED: wilcoxon_greater(scores, task.units), "t": t_test(scores, task.units)}
    else:

        def computed(rows: Ints, others: Ints) -> Floats:
            pairs = [scores[[i, j]] for i, j in zip(rows.tolist(), others.tolist(), strict=True)]
            own = task.units
            return np.array([[*wilcoxon_greater(pair, own)[[0, 1], [1, 0]], t_test(pair, own)[0, 1]] for pair in pairs])

        better, worse, either = task.of_pairs("tests", 3, first, second, computed).T
        p_values[ONE_SIDED][first, second], p_values[ONE_SIDED][second, first] = better, worse
        p_values["t"][first, second] = p_values["t"][second, first] = either
    randomised = task.p_values(first, second)
    p_values["randomisation"][first, second] = p_values["randomisation"][second, first] = randomised
    return p_values
