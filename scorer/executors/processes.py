"""Processes: submissions are scored by several processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass

from scorer.executors.base import FileOutcome, FileOutcomes, FileToScore, outcome_of, too_slow
from scorer.matching.solution import Solution
from scorer.scoring.outcomes import Failed
from scorer.scoring.rules import Rules

MAX_BROKEN_POOLS = 2
"""The number of pools in a row that may break before they score a file."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Scores files in `count` processes of this machine, each with one thread."""

    count: int

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """See `Executor`."""
        left, broken = list(range(len(files))), 0
        while left and broken < MAX_BROKEN_POOLS:
            tried, left = left, []
            for at, outcome in self._in_a_pool(solution, rules, [files[index] for index in tried], time_limit):
                if outcome is None:
                    left.append(tried[at])
                else:
                    yield tried[at], outcome
            broken = broken + 1 if len(left) == len(tried) else 0
        yield from ((index, Failed("the processes that should score it died")) for index in left)

    def _in_a_pool(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> Iterator[tuple[int, FileOutcome | None]]:
        """As `Executor.results`; None for a file that no process was scoring when the pool broke."""
        import multiprocessing
        from concurrent.futures.process import BrokenProcessPool

        from pebble import ProcessExpired, ProcessPool

        # Forking a process with threads, such as Arrow's, can deadlock; the fork server has none.
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        pool = ProcessPool(
            min(self.count, len(files)), initializer=_initialise, initargs=(solution, rules), context=context
        )
        try:
            futures: dict[Future[FileOutcome], int] = {
                pool.schedule(_score, args=(file,), timeout=time_limit): index for index, file in enumerate(files)
            }
            for future in as_completed(futures):
                try:
                    outcome: FileOutcome | None = future.result()
                except TimeoutError:
                    outcome = too_slow(time_limit)
                except BrokenProcessPool:
                    # A process that dies between two files breaks the whole pool.
                    outcome = None
                except ProcessExpired as error:
                    outcome = Failed(f"the process that scored it died (exit code {error.exitcode})")
                yield futures.pop(future), outcome
        finally:
            pool.stop()
            pool.join()


_shared: tuple[Solution, Rules]
"""In a worker process: the solution and the rules of all its files."""


def _initialise(solution: Solution, rules: Rules) -> None:
    global _shared  # noqa: PLW0603 (set once, when the process starts)
    _shared = solution, rules


def _score(file: FileToScore) -> FileOutcome:
    return outcome_of(*_shared, file, 1)
