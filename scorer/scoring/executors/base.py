"""What executors share: their protocol, files and outcomes; the executors of this machine; and the check of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from operator import call
from typing import Protocol

import pyarrow as pa

from scorer.files import AnyFile, chunks_of, is_standard_input
from scorer.files.writing import temporary_folder
from scorer.limits import MB, Limits
from scorer.lists.solution import Excluded, Solution
from scorer.scoring.executors import GoOn, always
from scorer.scoring.outcomes import Failed, Outcome, Rejected, Rules, Scored, Summary, unexpected
from scorer.scoring.submission import check, same_lists, score

FileOutcome = Summary | Rejected | Failed


@dataclass(frozen=True, slots=True)
class FileToScore:
    """The file of a submission."""

    path: AnyFile
    digest: str
    """SHA-256 of its content, in hexadecimal."""


FileOutcomes = Generator[tuple[int, FileOutcome], None, None]
"""For each file, its index among the files and its outcome. Closing the generator stops the work."""


class Executor(Protocol):
    """Scores files."""

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        """Yield the index of each file and its outcome, in the order in which they are done, each within the limits."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """What a worker needs to score files."""

    solution: Solution
    rules: Rules
    limits: Limits
    threads: int = 1
    """How many threads may score a large file."""


def outcome_of(scoring: Scoring, file: FileToScore) -> FileOutcome:
    """Score one file. Exceptions become a Failed."""
    try:
        outcome = score(
            scoring.solution,
            file.path,
            scoring.rules,
            threads=scoring.threads,
            digest=file.digest,
            limits=scoring.limits,
        )
    except Exception as error:
        return unexpected(error)
    return outcome.summary() if isinstance(outcome, Scored) else outcome


@dataclass(frozen=True, slots=True)
class Processes:
    """Scores files in `count` processes of this machine; fewer files have more threads each."""

    count: int

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        if not files:
            return
        from scorer.scoring.executors.isolation import (
            isolated,  # what it needs is loaded only where something is scored
        )

        threads = max(1, (os.cpu_count() or 1) // min(self.count, len(files)))
        shared, limits = replace(scoring, threads=threads), scoring.limits
        with closing(isolated(outcome_of, shared, files, limits, count=self.count, go_on=go_on)) as outcomes:
            yield from outcomes


@dataclass(frozen=True, slots=True)
class Serial:
    """Scores one file after the other in this process, large files with threads.

    It lacks the protection of a process for each file: `seconds` and `memory_mb` are not enforced, and a file that
    crashes Python ends the run.
    """

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        scoring = replace(scoring, threads=os.cpu_count() or 1)
        for index, file in enumerate(files):
            if not go_on():
                return
            yield index, outcome_of(scoring, file)


def checked_in_child(
    queries: Solution | None,
    path: str | os.PathLike[str],
    rules: Rules,
    limits: Limits,
    *,
    candidates: pa.StringArray | None = None,
    excluded: Excluded | None = None,
) -> FileOutcome:
    """As `scorer.scoring.submission.check`, in a child process within the limits. A valid file gives a Summary."""
    from scorer.scoring.executors.isolation import isolated  # which imports this module

    check_file = partial(check, queries, rules=rules, candidates=candidates, excluded=excluded, limits=limits)
    with ExitStack() as stack:
        if is_standard_input(path):
            # The child has no standard input.
            path = stack.enter_context(temporary_folder()) / "standard input"
            with path.open("wb") as copy:
                for chunk in chunks_of(sys.stdin.buffer, limits.file_mb * MB + 1):  # the first byte that is too much
                    copy.write(chunk)
        outcomes = stack.enter_context(closing(isolated(_outcome, check_file, [path], limits)))
        return next(outcome for _, outcome in outcomes)


def same_lists_in_child(
    path: str | os.PathLike[str], earlier: str | os.PathLike[str], rules: Rules, limits: Limits
) -> tuple[int, int]:
    """As `scorer.scoring.submission.same_lists`, in a child process within the limits; 0 of 0 beyond them."""
    from scorer.scoring.executors.isolation import isolated

    count_same = partial(same_lists, earlier=earlier, rules=rules, limits=limits)
    with closing(isolated(call, count_same, [path], limits)) as answers:
        return next((0, 0) if isinstance(answer, Failed) else answer for _, answer in answers)


def _outcome(check_file: Callable[[str | os.PathLike[str]], Outcome], path: str | os.PathLike[str]) -> FileOutcome:
    outcome = check_file(path)
    return replace(outcome.summary(), notes=outcome.notes) if isinstance(outcome, Scored) else outcome
