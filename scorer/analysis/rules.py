"""The rankings of a task by every rule, and how far the rules agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scorer.analysis.pairs import PairTest
from scorer.analysis.task import Task
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.statistics.agreement import footrule, tau_b
from scorer.statistics.rankings import RULES, by_wins, ranking

BY_VALUE = ("mean", "median")
"""The rules whose values have the unit of the values of the task."""


@dataclass(frozen=True, eq=False)
class RuleRanking:
    """A ranking by one rule."""

    values: Floats
    """[algorithm]: what is ranked by, with the sign of the values of the task; NaN where the rule is undefined."""
    ranks: Ints
    """[algorithm]: from 1, equal values share a rank."""

    @property
    def is_defined(self) -> bool:
        return not np.isnan(self.values).any()


def rankings(task: Task, means: Floats, wilcoxon: PairTest, tested: Bools) -> dict[str, RuleRanking]:
    """Return the ranking by each rule. `means`, with the sign of the values, decide the rule "mean".

    The rules that count wins by the one-sided Wilcoxon tests need at least two algorithms, and tests of all pairs.
    """
    found = {"mean": RuleRanking(means, ranking(task.sign * means).ranks)}
    for rule in ("median", "mean-rank", "median-rank"):
        by_rule = RULES[rule](task.scores)
        found[rule] = RuleRanking(by_rule.values * (task.sign if rule in BY_VALUE else 1), by_rule.ranks)
    count = len(means)
    complete = tested.sum() == count * (count - 1)
    for rule, p_values in (("wins", wilcoxon.p), ("wins-holm", wilcoxon.holm)):
        by_rule = by_wins(p_values) if complete else ranking(np.full(count, np.nan))
        found[rule] = RuleRanking(by_rule.values, by_rule.ranks)
    return found


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two rankings agree."""

    tau_b: float
    """Kendall's tau-b; NaN where undefined: a ranking has only ties."""
    footrule: int
    """Spearman's footrule: the sum of the differences of the ranks."""


def agreements(rules: Mapping[str, RuleRanking]) -> dict[tuple[str, str], Agreement | None]:
    """Return the agreement of each two different rules, in both orders; None where a rule is undefined."""
    return {
        (one, other): Agreement(tau_b(mine.ranks, theirs.ranks), int(footrule(mine.ranks, theirs.ranks)))
        if mine.is_defined and theirs.is_defined
        else None
        for one, mine in rules.items()
        for other, theirs in rules.items()
        if one != other
    }
