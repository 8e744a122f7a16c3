"""Dask: submissions are scored by the workers of a Dask cluster."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

import scorer
from scorer.errors import ExecutorError, need_libraries
from scorer.files import Compressed, code_digest
from scorer.scoring.executors import GoOn, always
from scorer.scoring.executors.base import (
    FileOutcome,
    FileOutcomes,
    FileToScore,
    Processes,
    Scoring,
    outcome_of,
)
from scorer.scoring.outcomes import Failed, too_slow

SCHEDULER_TIMEOUT = 10.0
"""The seconds in which the scheduler must answer."""

WORKER_TIMEOUT = 30.0
"""The seconds that a cluster may be without workers, as while they restart."""

RESULT_TIMEOUT = 10.0
"""The seconds that a result may take from a worker to this process."""

_AHEAD = 4
"""The number of files assigned to a worker for each of its threads, those in work included."""

DIED = Failed("the worker that scored it died", "lost")
"""The outcome of the only file of a worker that died."""


@dataclass(frozen=True, slots=True)
class Dask:
    """Scores files on the workers of a Dask cluster.

    The workers must have the same scorer, numpy and pyarrow as this machine, and see the files under the same paths.
    Kept bytes of submissions are scored on this machine, because the workers may not see the folder of the database.
    The memory that a file may take is that of its worker: a nanny restarts a worker that exceeds its own limit.
    """

    address: str

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        """See `Executor`. Raises ExecutorError if the cluster does not answer or a worker has another scorer."""
        for is_kept, results in ((True, Processes(os.cpu_count() or 1).results), (False, self._by_workers)):
            chosen = [index for index, file in enumerate(files) if isinstance(file.path, Compressed) == is_kept]
            with closing(results(scoring, [files[index] for index in chosen], go_on)) as outcomes:
                for position, outcome in outcomes:
                    yield chosen[position], outcome

    def _by_workers(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn) -> FileOutcomes:
        if not files:
            return
        need_libraries("distributed")
        from distributed import Client

        try:
            client = Client(self.address, timeout=SCHEDULER_TIMEOUT)
        except (OSError, ValueError) as error:
            raise ExecutorError(f"no Dask scheduler answers at {self.address} ({error})") from error
        with client:
            yield from _Batch(client, scoring, files, go_on).results()


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker of a cluster and the files assigned to it."""

    threads: int
    shared: Any
    """The solution and the rules, in its memory."""
    assigned: dict[Any, int] = field(default_factory=dict)
    """The index of each task's file. The worker works on the first of them, one for each of its threads."""
    begun: dict[Any, float] = field(default_factory=dict)
    """When each task was first seen in work."""
    on_trial: bool = False
    """Whether it has a file that may have killed another worker, and so no other file."""


@dataclass(slots=True, eq=False)
class _Batch:
    """Files that are scored by a cluster.

    Each task is assigned to one worker, which shows what a worker that dies was scoring. Its files are tried again
    after all others, each as the only file of a worker. If that worker dies too, the file is the cause.
    """

    client: Any
    shared: Scoring
    files: Sequence[FileToScore]
    go_on: GoOn
    workers: dict[str, _Worker] = field(default_factory=dict)
    """By address."""
    waiting: deque[int] = field(default_factory=deque)
    suspects: deque[int] = field(default_factory=deque)
    """Files of workers that died."""
    stuck: set[str] = field(default_factory=set)
    """Workers with threads that hang and without a nanny to restart them."""
    checked_at: float = -math.inf
    """When the list of workers was last updated."""
    seen_at: float = 0.0
    """When there last was a worker."""

    def results(self) -> Iterator[tuple[int, FileOutcome]]:
        """As `Executor.results`."""
        self.waiting.extend(range(len(self.files)))
        self.seen_at = time.monotonic()
        while self.waiting or self.suspects or self._tasks():
            try:
                done = self._done()
                yield from self._update_workers()
                if self.waiting and not self.go_on():
                    self.waiting.clear()
                self._assign()
                for task, index in done:
                    yield from self._outcome(task, index)
                yield from self._stop_slow()
            except OSError as error:
                yield from self._abandoned(f"the cluster stopped answering ({error})")
            if not self.workers and time.monotonic() - self.seen_at > WORKER_TIMEOUT:
                yield from self._abandoned(f"the cluster had no workers for {WORKER_TIMEOUT:g} seconds")

    def _tasks(self) -> list[Any]:
        return [future for worker in self.workers.values() for future in worker.assigned]

    def _update_workers(self) -> Iterator[tuple[int, FileOutcome]]:
        """Update the list of workers, once a second."""
        if time.monotonic() - self.checked_at < 1:
            return
        present = self.client.nthreads()
        for address, worker in list(self.workers.items()):
            # A worker that was restarted under its old address has lost its tasks.
            if address not in present or any(map(_is_lost, worker.assigned)):
                yield from self._died(address)
        for address in present.keys() - self.workers.keys() - self.stuck:
            self._add(address, present[address])
        self.checked_at = time.monotonic()
        self.seen_at = self.checked_at if self.workers else self.seen_at

    def _add(self, address: str, threads: int) -> None:
        """Give a new worker the solution and the rules."""
        found = self.client.run(identity, workers=[address], on_error="return").get(address)
        if found is None or isinstance(found, OSError):
            return  # the worker is gone already
        if isinstance(found, Exception):
            raise ExecutorError(
                f"the worker at {address} has no scorer, or another version of it ({found}); install the same there, "
                "and restart the worker"
            )
        if message := differences(address, found):
            raise ExecutorError(message)
        # If the worker goes now, the next update removes it.
        with suppress(TimeoutError, KeyError):
            self.workers[address] = _Worker(threads, self.client.scatter(self.shared, workers=[address], hash=False))

    def _assign(self) -> None:
        """Keep every thread busy, also while this process stores results."""
        for ahead in range(1, 1 + _AHEAD):
            for address, worker in self.workers.items():
                while self.waiting and not worker.on_trial and len(worker.assigned) < ahead * worker.threads:
                    self._submit(self.waiting.popleft(), address, worker)
        for address, worker in self.workers.items():
            if self.suspects and not self.waiting and not worker.assigned:
                self._submit(self.suspects.popleft(), address, worker)
                worker.on_trial = True

    def _submit(self, index: int, address: str, worker: _Worker) -> None:
        task = self.client.submit(outcome_of, worker.shared, self.files[index], workers=[address], pure=False)
        worker.assigned[task] = index

    def _done(self) -> list[tuple[Any, int]]:
        """Wait up to a second for tasks to be done, and remove those that are from their workers."""
        from distributed import wait

        pending = [task for task in self._tasks() if task.status == "pending"]
        if pending:
            with suppress(TimeoutError, CancelledError):
                wait(pending, timeout=1, return_when="FIRST_COMPLETED")
        done = []
        for worker in self.workers.values():
            if any(map(_is_lost, worker.assigned)):
                self.checked_at = -math.inf  # no other file is assigned to it
                continue
            ready = [task for task in worker.assigned if task.status in {"finished", "error"}]
            done += [(task, worker.assigned.pop(task)) for task in ready]
            worker.on_trial &= bool(worker.assigned)
        if not pending and not done:
            time.sleep(0.1)
        return done

    def _outcome(self, task: Any, index: int) -> Iterator[tuple[int, FileOutcome]]:
        try:
            yield index, task.result(timeout=RESULT_TIMEOUT)
        except (TimeoutError, CancelledError):
            # The worker died before the result arrived.
            self.waiting.append(index)
        except Exception as error:
            # Any exception of a worker is raised here; it must not stop the other files.
            yield index, Failed(f"the worker failed ({type(error).__name__}: {error})", "machine")

    def _died(self, address: str) -> Iterator[tuple[int, FileOutcome]]:
        worker = self.workers.pop(address)
        if worker.on_trial:
            yield from ((index, DIED) for index in worker.assigned.values())
        else:
            assigned = list(worker.assigned.values())
            self.suspects.extend(assigned[: worker.threads])
            # These had hardly begun and are unlikely causes, so they are tried first.
            self.suspects.extendleft(assigned[worker.threads :])
        self.client.cancel(list(worker.assigned), force=True)

    def _stop_slow(self) -> Iterator[tuple[int, FileOutcome]]:
        """Give up files that exceed the time limit."""
        now = time.monotonic()
        for address, worker in list(self.workers.items()):
            worker.begun = {task: worker.begun.get(task, now) for task in islice(worker.assigned, worker.threads)}
            late = [task for task, begun in worker.begun.items() if now - begun > self.shared.limits.seconds]
            if late:
                yield from ((worker.assigned.pop(task), too_slow(self.shared.limits)) for task in late)
                self.waiting.extend(worker.assigned.values())
                self._restart(address, [*late, *worker.assigned])

    def _restart(self, address: str, tasks: list[Any]) -> None:
        """Restart a worker, the only way to free a thread that hangs. Only a worker with a nanny can be restarted."""
        del self.workers[address]
        self.client.cancel(tasks, force=True)
        try:
            self.client.restart_workers([address], timeout=WORKER_TIMEOUT, raise_for_error=False)
        except ValueError:
            self.stuck.add(address)
        self.checked_at = -math.inf

    def _abandoned(self, reason: str) -> Iterator[tuple[int, FileOutcome]]:
        """Give up all files that are left."""
        assigned = [index for worker in self.workers.values() for index in worker.assigned.values()]
        yield from ((index, Failed(reason, "machine")) for index in (*assigned, *self.waiting, *self.suspects))
        self.workers.clear()
        self.waiting.clear()
        self.suspects.clear()


def _is_lost(task: Any) -> bool:
    """Whether the worker of a task has died, as far as the client knows."""
    from distributed import KilledWorker

    if task.status == "error":
        return isinstance(task.exception(timeout=RESULT_TIMEOUT), KilledWorker)
    return task.status in {"cancelled", "lost"}


@cache
def identity() -> Mapping[str, str]:
    """What must be equal on two machines for them to give the same scores, by name.

    These are the versions of scorer, with a digest of its source, of numpy and of pyarrow: those of the first call in a
    process, since an installation that changes later does not change the modules that are in use.
    """
    return {
        "scorer": f"{scorer.__version__} (source {code_digest()[:12]})",
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def differences(worker: str, theirs: Mapping[str, str]) -> str:
    """What differs between a worker and this machine, and what to do; empty if nothing does."""
    found = [
        f"{name} {theirs.get(name, '(unknown)')}, this machine {mine}"
        for name, mine in identity().items()
        if theirs.get(name) != mine
    ]
    if not found:
        return ""
    return f"the worker at {worker} has {'; '.join(found)}; install the same there, and restart the worker"
