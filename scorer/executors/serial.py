"""Serial: submissions are scored one after the other in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from scorer.executors.base import FileOutcomes, FileToScore, outcome_of
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules


@dataclass(frozen=True, slots=True)
class Serial:
    """Scores one file after the other in this process, large files with threads. It ignores the time limit."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """See `Executor`."""
        del time_limit
        for index, file in enumerate(files):
            yield index, outcome_of(solution, rules, file, os.cpu_count() or 1)
