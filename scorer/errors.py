"""What can go wrong for a user, and how it is told.

    ScorerError            anything that the reader of the message can mend; its text is the message
    |-- ChallengeError     challenge.toml, or a file that it names
    |-- MeasureError       the name of a measure (also a ValueError)
    |-- ExecutorError      the executor that was asked for
    |-- StoreError         the database
    `-- FileError          a solution or a submission, with all that is wrong in it
        |-- SolutionError
        `-- SubmissionError

Any other exception that leaves the package is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
from scorer.wording import printable

SHOWN = 20
"""How many findings of one file are kept in words; the rest are counted."""


class ScorerError(Exception):
    """Catch this to catch all that a user can mend."""


class ChallengeError(ScorerError):
    """``challenge.toml`` or something that it names is at fault."""


class MeasureError(ScorerError, ValueError):
    """No measure goes by that name, or not with those parameters."""


class ExecutorError(ScorerError):
    """No executor goes by that name, or it cannot be had."""


class StoreError(ScorerError):
    """The database cannot be opened, is of another version, or is in use."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing found in a file: what was found, what was expected, what to do."""

    line: int
    """From 1; 0 where it concerns the file as a whole."""
    text: str

    def __str__(self) -> str:
        return f"{self.line}: {self.text}" if self.line else self.text


@dataclass(slots=True)
class Findings:
    """Problems as they are found: the first `SHOWN` of the file in words, all of them counted."""

    shown: list[Problem] = field(default_factory=list)
    """By line; those of the file as a whole come first."""
    count: int = 0

    def add(self, line: int, text: str) -> None:
        """Add one finding."""
        self.extend(Findings([Problem(line, text)], 1))

    def add_each(self, lines: Sequence[int] | NDArray[np.int64], text: Callable[[int], str]) -> None:
        """Add one finding for each of `lines`, which ascend; ``text(i)`` words the i-th, and is asked for few."""
        first = [Problem(int(line), text(place)) for place, line in enumerate(lines[:SHOWN])]
        self.extend(Findings(first, len(lines)))

    def extend(self, others: Findings) -> None:
        """Add what was found elsewhere."""
        self.shown = sorted([*self.shown, *others.shown], key=lambda problem: problem.line)[:SHOWN]
        self.count += others.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.shown)

    def lines(self, path: str = "") -> list[str]:
        """The findings as lines of text, each headed by `path`, made printable, and its line number."""
        path = printable(path)
        told = [_located(path, problem) for problem in self.shown]
        if self.count > len(self.shown):
            told.append(_located(path, Problem(0, f"and {self.count - len(self.shown):,} more")))
        return told


def _located(path: str, problem: Problem) -> str:
    if not path:
        return str(problem)
    return f"{path}:{problem}" if problem.line else f"{path}: {problem}"


class FileError(ScorerError):
    """A file that cannot be used, with everything that is wrong in it."""

    def __init__(self, path: str, findings: Findings) -> None:
        self.path = path
        self.findings = findings
        super().__init__(path, findings)

    def __str__(self) -> str:
        return "\n".join(self.findings.lines(self.path))


class SolutionError(FileError):
    """A solution that cannot be used."""


class SubmissionError(FileError):
    """A submission that cannot be used."""
