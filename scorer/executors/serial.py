"""Serial: submissions are scored one after the other in this process, for debugging."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from scorer.executors.base import FileOutcomes, FileToScore, Scoring, outcome_of
from scorer.limits import Limits
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules


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
