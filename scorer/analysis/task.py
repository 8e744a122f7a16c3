"""Task: the values of algorithms on cases, which an analysis is about; and what to do with missing values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from scorer.analysis.kept import Kept
from scorer.errors import ScorerError
from scorer.measures.arrays import Floats
from scorer.wording import counted, quoted

Na = float | Literal["drop"] | None
"""What a missing value is replaced by; "drop": it is left out; None: it is an error."""


@dataclass(frozen=True, slots=True)
class Words:
    """What texts call a task, its algorithms and its cases."""

    task: str = "task"
    tasks: str = "tasks"

    algorithm: str = "algorithm"
    algorithms: str = "algorithms"
    case: str = "case"
    cases: str = "cases"


@dataclass(frozen=True, eq=False)
class Task:
    """A value of each algorithm on each case. In a challenge: a track, its teams and its queries."""

    name: str
    algorithms: tuple[str, ...]
    cases: tuple[str, ...]
    values: Floats
    """[algorithm, case]; NaN where missing."""
    larger_is_better: bool = True
    means: tuple[float, ...] | None = None
    """The mean of each algorithm, rounded to `decimals`, as it is stored; None: means are computed from the values."""
    ranked: int | None = None
    """How many algorithms the ranking has that these are part of; None: only these."""
    decimals: int | None = None
    """The decimals of the means that decide ranks; None: all digits decide."""
    measure: str = ""
    """The measure of the values; empty if it is not known."""
    words: Words = Words()
    notes: tuple[str, ...] = ()
    """Sentences about the data, such as what is missing."""
    kept: Kept | None = None
    """What is kept of the algorithms; None: nothing is."""

    @property
    def scores(self) -> Floats:
        """The values, with the sign with which larger is better."""
        return self.values if self.larger_is_better else -self.values

    @property
    def sign(self) -> float:
        """1 if larger values are better, otherwise -1."""
        return 1.0 if self.larger_is_better else -1.0


class ExtremeQuery(NamedTuple):
    """A query on which a row is far above or far below the others."""

    query: int
    score: float
    median: float
    """The median of the other ranked rows."""


def without_missing(task: Task, na: Na) -> Task:
    """Return the task with its missing values treated, and with a note about them.

    With "drop", they stay NaN, which the statistics leave out; a case without any value is removed. Raises ScorerError
    if values are missing and `na` is None, or if an algorithm has no value.
    """
    missing = np.isnan(task.values)
    count = int(missing.sum())
    if not count:
        return task
    at, case = (int(index) for index in np.argwhere(missing)[0])
    words = task.words
    which = "that" if count == 1 else "first that"
    found = (
        f"{counted(count, 'value')} of {missing.size:,} {'is' if count == 1 else 'are'} missing, {which} of "
        f"{words.algorithm} {quoted(task.algorithms[at])} on {words.case} {quoted(task.cases[case])}"
    )
    if na is None:
        raise ScorerError(
            f"{words.task} {quoted(task.name)}: {found}; expected a value of each {words.algorithm} on each "
            f"{words.case}. --na NUMBER replaces missing values by a number, --na drop leaves them out"
        )
    if na != "drop":
        note = f"Of the values, {found}. {'It counts' if count == 1 else 'They count'} as {float(na):g}."
        return replace(task, values=np.where(missing, float(na), task.values), notes=(*task.notes, note))
    without = [name for name, row in zip(task.algorithms, missing, strict=True) if row.all()]
    if without:
        raise ScorerError(
            f"{words.task} {quoted(task.name)}: {words.algorithm} {quoted(without[0])} has no value; "
            "remove it, or use --na NUMBER"
        )
    kept = np.atleast_1d(~missing.all(axis=0))
    note = (
        f"Of the values, {found}. {'It is' if count == 1 else 'They are'} left out: a mean is over the {words.cases} "
        f"with a value, and two {words.algorithms} are compared on the {words.cases} that both have."
    )
    cases = tuple(name for name, is_kept in zip(task.cases, kept, strict=True) if is_kept)
    return replace(task, values=task.values[:, kept], cases=cases, notes=(*task.notes, note))
