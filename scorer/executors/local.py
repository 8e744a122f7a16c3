"""The executors of this machine: several processes; or, for debugging, this one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from scorer.executors.base import FileOutcomes, FileToScore, Scoring, outcome_of
from scorer.limits import Limits
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules


@dataclass(frozen=True, slots=True)
class Processes:
    """Scores files in `count` processes of this machine; fewer files have more threads each."""

    count: int

    def results(self, solution: Solution, rules: Rules, files: Sequence[FileToScore], limits: Limits) -> FileOutcomes:
        """See `Executor`."""
        if not files:
            return
        from scorer.executors.isolation import isolated  # what it needs is loaded only where something is scored

        threads = max(1, (os.cpu_count() or 1) // min(self.count, len(files)))
        scoring = Scoring(solution, rules, limits, threads)
        with closing(isolated(outcome_of, scoring, files, limits, count=self.count)) as outcomes:
            yield from outcomes


@dataclass(frozen=True, slots=True)
class Serial:
    """Scores one file after the other in this process, large files with threads.

    It lacks the protection of a process for each file: `seconds` and `memory_mb` are not enforced, and a file that
    crashes Python ends the run.
    """

    def results(self, solution: Solution, rules: Rules, files: Sequence[FileToScore], limits: Limits) -> FileOutcomes:
        """See `Executor`."""
        scoring = Scoring(solution, rules, limits, os.cpu_count() or 1)
        for index, file in enumerate(files):
            yield index, outcome_of(scoring, file)
