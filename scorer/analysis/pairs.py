"""Tests of pairs of algorithms: which pairs are tested, their p-values, and these adjusted for all pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorer.analysis.scores import MOST_FLIPS, TaskScores
from scorer.analysis.task import Task
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.options import LEVEL
from scorer.statistics.paired_tests import holm_matrix, t_test, wilcoxon_greater
from scorer.statistics.sign_flips import FLIPS

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
    needed = max(math.ceil(2 * math.comb(count, 2) / LEVEL), FLIPS)
    return needed if needed <= MOST_FLIPS else FLIPS


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
    """Return the tests of the pairs that are tested, [i, j], by name: wilcoxon, t, randomisation.

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
    if tested.sum() == tested.size - len(tested):
        p_values |= {ONE_SIDED: wilcoxon_greater(scores), "t": t_test(scores)}
    else:

        def computed(rows: Ints, others: Ints) -> Floats:
            pairs = [scores[[i, j]] for i, j in zip(rows.tolist(), others.tolist(), strict=True)]
            return np.array([[*wilcoxon_greater(pair)[[0, 1], [1, 0]], t_test(pair)[0, 1]] for pair in pairs])

        better, worse, either = task.of_pairs("tests", 3, first, second, computed).T
        p_values[ONE_SIDED][first, second], p_values[ONE_SIDED][second, first] = better, worse
        p_values["t"][first, second] = p_values["t"][second, first] = either
    randomised = task.p_values(first, second)
    p_values["randomisation"][first, second] = p_values["randomisation"][second, first] = randomised
    return p_values
