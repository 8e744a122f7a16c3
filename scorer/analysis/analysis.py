"""The analysis of one task: rankings by every rule, tests of pairs, intervals, rank ranges, tiers and stability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from scorer.analysis.pairs import ONE_SIDED, PairTest, pair_tests, sign_flips_for, tested_pairs
from scorer.analysis.resampling import Resampling, resampling_of
from scorer.analysis.rules import Agreement, RuleRanking, agreements, rankings
from scorer.analysis.scores import TaskScores
from scorer.analysis.task import Task
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.options import RESAMPLES, SEED
from scorer.statistics.rankings import means as means_of
from scorer.statistics.rankings import rank_ranges, tiers
from scorer.statistics.sign_flips import typical_smallest_difference
from scorer.statistics.tukey import randomised_tukey


@dataclass(frozen=True, slots=True)
class Settings:
    """What an analysis depends on besides the data."""

    seed: int = SEED
    """Of all random numbers."""
    resamples: int = RESAMPLES
    """Of the bootstrap."""
    all_pairs: bool = False
    """Whether to test all pairs of more algorithms than `pairs.MOST_ALGORITHMS`."""
    tukey: bool = False
    """Whether to add the randomised Tukey HSD test."""


@dataclass(frozen=True, eq=False)
class TaskAnalysis:
    """The results for a task. All arrays have the algorithms in the order of `task`: the best first, by the mean."""

    task: Task
    """Its algorithms are sorted by their means, the best first; equal ones are in the order of the data."""
    scores: TaskScores
    """Of the algorithms, and what boards show of them."""
    means: Floats
    """[algorithm]: as reported, with the sign of the values."""
    rules: Mapping[str, RuleRanking]
    """By the name of the ranking rule."""
    agreement: Mapping[tuple[str, str], Agreement | None]
    """Of each two rules, in both orders; None where a rule is undefined."""
    tested: Bools
    """[i, j]: whether the pair is tested."""
    tests: Mapping[str, PairTest]
    tukey: Floats | None
    """[i, j]: p-values of the randomised Tukey HSD test; None if it is not requested."""
    better: Bools
    """[i, j]: whether i is significantly better than j, all pairs tested at once by sign flips."""
    ranges: Ints
    """[algorithm, 2]: the ranks that an algorithm may have, all pairs with it tested at once."""
    simultaneous: Ints
    """[algorithm, 2]: the same, all pairs tested at once; from `better`, as the tiers."""
    tiers: tuple[tuple[int, ...], ...]
    smallest_difference: float
    """The difference of means that is significant: the median over all pairs; NaN if no two algorithms differ."""
    resampling: Resampling

    @property
    def names(self) -> tuple[str, ...]:
        return self.task.algorithms

    @property
    def ranking(self) -> RuleRanking:
        """By the mean."""
        return self.rules["mean"]


def analysed(task: Task, settings: Settings | None = None) -> TaskAnalysis:
    """Return the analysis of a task whose missing values are treated, see `task.without_missing`; NaN are left out."""
    settings = settings or Settings()
    task = _best_first(task)
    means, count = _means(task), len(task.algorithms)
    scores = TaskScores(
        task.scores, task.sign * means, np.arange(count), sign_flips_for(task), settings.resamples, settings.seed
    )
    flips, above = scores.tests, scores.above
    tested = tested_pairs(count, all_pairs=settings.all_pairs)
    tests = pair_tests(scores, tested)
    rules = rankings(task, means, tests[ONE_SIDED], tested)
    return TaskAnalysis(
        task=task,
        scores=scores,
        means=means,
        rules=rules,
        agreement=agreements(rules),
        tested=tested,
        tests=tests,
        tukey=randomised_tukey(task.scores, seed=settings.seed) if settings.tukey else None,
        better=scores.better,
        ranges=rank_ranges(flips.better_marginally() & above, flips.worse_marginally() & above.T),
        simultaneous=rank_ranges(scores.better),
        tiers=tuple(map(tuple, tiers(range(count), scores.better))),
        smallest_difference=typical_smallest_difference(flips, int(flips.queries.min())),
        resampling=resampling_of(task, scores, rules["mean"].ranks),
    )


def _means(task: Task) -> Floats:
    """[algorithm]: those that decide the ranking, with the sign of the values."""
    return means_of(task.values) if task.means is None else np.array(task.means)


def _best_first(task: Task) -> Task:
    """Return the task with its algorithms sorted by their means, the best first; equal ones keep their order."""
    means = _means(task).tolist()
    order = sorted(range(len(means)), key=lambda at: -task.sign * means[at])
    return replace(
        task,
        algorithms=tuple(task.algorithms[at] for at in order),
        values=task.values[order],
        means=None if task.means is None else tuple(task.means[at] for at in order),
    )
