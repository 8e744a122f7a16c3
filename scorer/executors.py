"""Where submissions are scored: in this process, in several, or on a cluster.

    serial          one after the other, here
    processes       in as many processes of this machine as it has cores
    processes:N     in N of them
    dask:ADDRESS    on the workers of a Dask cluster, by its scheduler's address, as in dask:tcp://10.0.0.1:8786

Each scores files and gives summaries; none writes anything. The solution reaches each worker once. A worker that dies,
or takes longer than the time limit, costs the one submission that it had in hand, which becomes a Failed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from scorer.errors import ScorerError, quoted
from scorer.scoring import ChangedError, Rejected, Rules, Scored, Summary, score
from scorer.solution import Solution

NO_WORKER = 30
"""Seconds that a cluster may be without any worker, as while they are restarted."""

FORMS = "serial, processes, processes:N or dask:ADDRESS"


class ExecutorError(ScorerError):
    """No executor goes by that name, or it cannot be had."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A submission that was not scored, through no fault of its own that is known; it can be tried again."""

    reason: str


Result = Summary | Rejected | Failed


@dataclass(frozen=True, slots=True)
class File:
    """What is to be scored."""

    path: Path
    digest: str
    """SHA-256 of its content, in hexadecimal."""


class Executor(Protocol):
    """Scores files."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[File], time_limit: float
    ) -> Iterator[tuple[int, Result]]:
        """For each file its place in `files` and what became of it, in the order in which they are done."""
        ...


def named(name: str) -> Executor:
    """The executor of that name. Raises ExecutorError."""
    kind, _, detail = name.partition(":")
    if kind == "serial" and not detail:
        return Serial()
    if kind == "processes" and (not detail or (detail.isascii() and detail.isdigit() and int(detail) > 0)):
        return Processes(int(detail) if detail else os.cpu_count() or 1)
    if kind == "dask" and detail:
        return Dask(detail)
    raise ExecutorError(f"no executor is called {quoted(name)}; there are {FORMS}")


@dataclass(frozen=True, slots=True)
class Serial:
    """One file after the other, in this process; large ones by its threads. The time limit is not watched."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[File], time_limit: float
    ) -> Iterator[tuple[int, Result]]:
        """See `Executor`."""
        del time_limit
        for place, file in enumerate(files):
            yield place, _result(solution, rules, file, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Processes:
    """Several processes of this machine, each with one thread."""

    count: int

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[File], time_limit: float
    ) -> Iterator[tuple[int, Result]]:
        """See `Executor`."""
        import multiprocessing

        from pebble import ProcessExpired, ProcessPool

        # Forking a process that has threads, as Arrow's, may lock up; a server that has none forks safely.
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        pool = ProcessPool(
            min(self.count, len(files)) or 1, initializer=_take_up, initargs=(solution, rules), context=context
        )
        try:
            futures: dict[Future[Result], int] = {
                pool.schedule(_result_here, args=(file,), timeout=time_limit): place for place, file in enumerate(files)
            }
            for future in as_completed(futures):
                try:
                    result: Result = future.result()
                except TimeoutError:
                    result = Failed(f"not done within {time_limit:g} seconds")
                except ProcessExpired as error:
                    result = Failed(f"the process that scored it died (exit code {error.exitcode})")
                yield futures[future], result
        finally:
            pool.stop()
            pool.join()


@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster; they must see the files under the same paths."""

    address: str

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[File], time_limit: float
    ) -> Iterator[tuple[int, Result]]:
        """See `Executor`."""
        try:
            from distributed import Client
        except ImportError as error:
            raise ExecutorError("dask is not installed; `pip install challenge-scorer[distributed]` does it") from error
        try:
            client = Client(self.address, timeout=30)
        except (OSError, ValueError) as error:
            raise ExecutorError(f"no Dask scheduler answers at {self.address} ({error})") from error
        with client:
            yield from _on_cluster(client, solution, rules, files, time_limit)


def _on_cluster(
    client: Any, solution: Solution, rules: Rules, files: Sequence[File], time_limit: float
) -> Iterator[tuple[int, Result]]:
    """As `Executor.results`. Two files a thread are under way at a time, so that none waits long at a worker."""
    from distributed import wait

    shared = client.scatter((solution, rules), broadcast=True, hash=False)
    waiting = list(enumerate(files))[::-1]
    started: dict[Any, tuple[int, float]] = {}
    last_seen = time.monotonic()
    while waiting or started:
        threads = sum(client.nthreads().values())
        last_seen = time.monotonic() if threads else last_seen
        while waiting and len(started) < 2 * threads:
            place, file = waiting.pop()
            future = client.submit(_result_there, shared, file, pure=False)
            started[future] = place, time.monotonic()
        if not threads and time.monotonic() - last_seen > NO_WORKER:
            reason = f"the cluster has had no worker for {NO_WORKER} seconds"
            yield from ((place, Failed(reason)) for place, _ in (*started.values(), *waiting))
            return
        with suppress(TimeoutError):
            wait(list(started), timeout=1, return_when="FIRST_COMPLETED")
        for future in [future for future in started if future.done()]:
            place, _ = started.pop(future)
            yield place, _taken(future)
        late = [future for future, (_, since) in started.items() if time.monotonic() - since > time_limit]
        if late:
            yield from ((started[future][0], Failed(f"not done within {time_limit:g} seconds")) for future in late)
            _give_up(client, late)
            # What else those workers had in hand starts anew, and so does its time.
            started = {
                future: (place, time.monotonic()) for future, (place, _) in started.items() if future not in late
            }


def _taken(future: Any) -> Result:
    """A finished task's result; a task that kills whatever worker it is given is told as such."""
    try:
        result: Result = future.result()
    except Exception as error:
        # Whatever a worker raises reaches us here, and must stop no other file.
        return Failed(f"no worker could score it ({type(error).__name__})")
    return result


def _give_up(client: Any, futures: Sequence[Any]) -> None:
    """Let go of tasks that hang: only a restart frees a thread that is stuck."""
    keys = {future.key for future in futures}
    stuck = [worker for worker, tasks in client.processing().items() if keys.intersection(tasks)]
    client.cancel(list(futures), force=True)
    with suppress(Exception):
        client.restart_workers(stuck, timeout=30, raise_for_error=False)


def _result_there(shared: tuple[Solution, Rules], file: File) -> Result:
    return _result(*shared, file, 1)


_here: tuple[Solution, Rules]
"""In a worker process: what submissions are scored by."""


def _take_up(solution: Solution, rules: Rules) -> None:
    global _here  # noqa: PLW0603 (set once, when the process starts)
    _here = solution, rules


def _result_here(file: File) -> Result:
    return _result(*_here, file, 1)


def _result(solution: Solution, rules: Rules, file: File, threads: int) -> Result:
    """One file's result; what Python itself can tell of a failure becomes a Failed."""
    try:
        outcome = score(solution, file.path, rules, threads=threads, digest=file.digest)
    except ChangedError:
        return Failed("it changed while it was read")
    except MemoryError:
        return Failed("it takes more memory than there is")
    except OSError as error:
        return Failed(f"it could not be read: {error.strerror or error}")
    return outcome.summary() if isinstance(outcome, Scored) else outcome
