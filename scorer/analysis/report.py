"""The analysis of several tasks, and the consensus of their rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scorer.analysis.analysis import Settings, TaskAnalysis, analysed
from scorer.analysis.task import Na, Task, without_missing
from scorer.measures.arrays import Floats, Ints
from scorer.statistics.agreement import consensus
from scorer.statistics.rankings import ranked


@dataclass(frozen=True, eq=False)
class Consensus:
    """The ranking over all tasks by one rule."""

    algorithms: tuple[str, ...]
    """Those that are in every task, the best first; equal ones by name."""
    values: Floats
    """[algorithm]: the mean over the tasks of its rank, where equal algorithms of a task share the mean of their
    ranks."""
    ranks: Ints
    """[algorithm]: from 1; equal values share a rank."""


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report shows."""

    title: str
    tasks: tuple[TaskAnalysis, ...]
    consensus: Mapping[str, Consensus | None]
    """By the name of the rule; None where the rule is undefined in a task, or no algorithm is in every task."""
    settings: Settings
    notes: tuple[str, ...] = ()
    """Sentences about the data of all tasks."""


def analysed_tasks(
    title: str, tasks: Sequence[Task], settings: Settings, na: Na = None, notes: Sequence[str] = ()
) -> Report:
    """Analyse tasks, at least one; `na` is for `task.without_missing`, `notes` are about the data of all tasks.

    Raises ScorerError if values are missing and `na` does not say what to do.
    """
    treated = [without_missing(task, na) for task in tasks]
    found = tuple(analysed(task, settings) for task in treated)
    rules = found[0].rules
    return Report(title, found, {rule: _consensus(found, rule) for rule in rules}, settings, tuple(notes))


def _consensus(tasks: Sequence[TaskAnalysis], rule: str) -> Consensus | None:
    """Return the consensus of the algorithms that are in every task, ranked among each other."""
    common = sorted(set.intersection(*(set(task.names) for task in tasks)))
    if not common or not all(task.rules[rule].is_defined for task in tasks):
        return None
    ranks = np.array([[task.rules[rule].ranks[task.names.index(name)] for name in common] for task in tasks])
    values = consensus(ranks)
    order = np.argsort(values, kind="stable")
    return Consensus(tuple(common[at] for at in order), values[order], ranked(-values[order]))
