"""One submission after the other, in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from scorer.executors.base import FileOutcomes, FileToScore, result_of
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules


@dataclass(frozen=True, slots=True)
class Serial:
    """One file after the other, in this process; large ones by its threads. The time limit is not watched."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """See `Executor`."""
        del time_limit
        for place, file in enumerate(files):
            yield place, result_of(solution, rules, file, os.cpu_count() or 1)
