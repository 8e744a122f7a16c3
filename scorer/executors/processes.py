"""Submissions in several processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass

from scorer.executors.base import Failed, FileOutcome, FileOutcomes, FileToScore, late_after, result_of
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules

POOLS = 2
"""Pools of processes in a row that may break before anything is scored in them."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Several processes of this machine, each with one thread."""

    count: int

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """See `Executor`."""
        left, fruitless = list(range(len(files))), 0
        while left and fruitless < POOLS:
            tried, left = left, []
            for place, result in self._in_a_pool(solution, rules, [files[place] for place in tried], time_limit):
                if result is None:
                    left.append(tried[place])
                else:
                    yield tried[place], result
            fruitless = fruitless + 1 if len(left) == len(tried) else 0
        yield from ((place, Failed("the processes that are to score it die")) for place in left)

    def _in_a_pool(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> Iterator[tuple[int, FileOutcome | None]]:
        """As `Executor.results`; None for a file that was in no process when the pool broke."""
        import multiprocessing
        from concurrent.futures.process import BrokenProcessPool

        from pebble import ProcessExpired, ProcessPool

        # Forking a process that has threads, as Arrow's, may lock up; a server that has none forks safely.
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        pool = ProcessPool(
            min(self.count, len(files)), initializer=_take_up, initargs=(solution, rules), context=context
        )
        try:
            futures: dict[Future[FileOutcome], int] = {
                pool.schedule(_result_here, args=(file,), timeout=time_limit): place for place, file in enumerate(files)
            }
            for future in as_completed(futures):
                try:
                    result: FileOutcome | None = future.result()
                except TimeoutError:
                    result = late_after(time_limit)
                except BrokenProcessPool:
                    # A process that dies between two files takes the whole pool with it.
                    result = None
                except ProcessExpired as error:
                    result = Failed(f"the process that scored it died (exit code {error.exitcode})")
                yield futures.pop(future), result
        finally:
            pool.stop()
            pool.join()


_here: tuple[Solution, Rules]
"""In a worker process: what submissions are scored by."""


def _take_up(solution: Solution, rules: Rules) -> None:
    global _here  # noqa: PLW0603 (set once, when the process starts)
    _here = solution, rules


def _result_here(file: FileToScore) -> FileOutcome:
    return result_of(*_here, file, 1)
