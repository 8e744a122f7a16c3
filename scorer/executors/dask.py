"""Submissions on the workers of a Dask cluster."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scorer import __version__
from scorer.errors import ExecutorError
from scorer.executors.base import Failed, FileOutcome, FileOutcomes, FileToScore, late_after, result_of
from scorer.matching.solution import Solution
from scorer.scoring.rules import Rules

NO_SCHEDULER = 10.0
"""Seconds that a cluster's scheduler may take to answer."""

NO_WORKER = 30.0
"""Seconds that a cluster may be without any worker, as while they are restarted."""

NO_RESULT = 10.0
"""Seconds that a result may take from a worker to here."""

AHEAD = 4
"""Files that a cluster's worker has in hand for each of its threads, those in work included."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What glibc calls them."""


@dataclass(frozen=True, slots=True)
class Dask:
    """The workers of a Dask cluster; they must see the files under the same paths, and have the same scorer."""

    address: str

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """See `Executor`. Raises ExecutorError where there is no such cluster, or a worker without scorer in it."""
        if not files:
            return
        try:
            from distributed import Client
        except ImportError as error:
            raise ExecutorError("dask is not installed; `pip install challenge-scorer[distributed]` does it") from error
        try:
            client = Client(self.address, timeout=NO_SCHEDULER)
        except (OSError, ValueError) as error:
            raise ExecutorError(f"no Dask scheduler answers at {self.address} ({error})") from error
        with client:
            yield from _Batch(client, (solution, rules), files, time_limit).results()


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker of a cluster, and what it has in hand."""

    threads: int
    shared: Any
    """The solution and the rules, in its memory."""
    in_hand: dict[Any, int] = field(default_factory=dict)
    """The place of each task's file; as many of the first as there are threads are being worked on."""
    begun: dict[Any, float] = field(default_factory=dict)
    """When a task was first seen to be worked on."""
    on_trial: bool = False
    """Has it a file that may have killed another, and so no other beside it?"""


@dataclass(slots=True, eq=False)
class _Batch:
    """Files on their way through a cluster.

    Each task is for one worker, so that it is known who had what in hand. What a worker had in hand when it died is
    tried once more after all others, alone with a worker; if that one dies too, the file is why.
    """

    client: Any
    shared: tuple[Solution, Rules]
    files: Sequence[FileToScore]
    time_limit: float
    workers: dict[str, _Worker] = field(default_factory=dict)
    """By address."""
    waiting: deque[int] = field(default_factory=deque)
    suspects: deque[int] = field(default_factory=deque)
    stuck: set[str] = field(default_factory=set)
    """Workers that nobody restarts, with threads that hang."""
    looked_at: float = -math.inf
    """When the workers were last asked for."""
    seen_at: float = 0.0
    """When there was a worker."""

    def results(self) -> Iterator[tuple[int, FileOutcome]]:
        """As `Executor.results`."""
        self.waiting.extend(range(len(self.files)))
        self.seen_at = time.monotonic()
        while self.waiting or self.suspects or self._tasks():
            try:
                yield from self._look_around()
                done = self._done()
                self._hand_out()
                for future, place in done:
                    yield from self._taken(future, place)
                yield from self._late()
            except OSError as error:
                yield from self._abandoned(f"the cluster does not answer any more ({error})")
            if not self.workers and time.monotonic() - self.seen_at > NO_WORKER:
                yield from self._abandoned(f"the cluster has had no worker for {NO_WORKER:g} seconds")

    def _tasks(self) -> list[Any]:
        return [future for worker in self.workers.values() for future in worker.in_hand]

    def _look_around(self) -> Iterator[tuple[int, FileOutcome]]:
        """See, each second, which workers have come and gone."""
        if time.monotonic() - self.looked_at < 1:
            return
        present = self.client.nthreads()
        for address, worker in list(self.workers.items()):
            # One that was restarted under its old address has lost what it had.
            if address not in present or any(task.status in {"cancelled", "lost"} for task in worker.in_hand):
                yield from self._died(address)
        for address in present.keys() - self.workers.keys() - self.stuck:
            self._welcome(address, present[address])
        self.looked_at = time.monotonic()
        self.seen_at = self.looked_at if self.workers else self.seen_at

    def _welcome(self, address: str, threads: int) -> None:
        """Give a new worker what all its tasks need."""
        found = self.client.run(_settle_in, workers=[address], on_error="return").get(address)
        if found is None or isinstance(found, OSError):
            return  # it is gone by now
        if found != __version__:
            raise ExecutorError(f"the worker at {address} has not scorer {__version__} ({found}); install it there")
        # It may still go, which shows at the next look.
        with suppress(TimeoutError, KeyError):
            self.workers[address] = _Worker(threads, self.client.scatter(self.shared, workers=[address], hash=False))

    def _hand_out(self) -> None:
        """Keep every thread busy, also while results are taken and kept here."""
        for ahead in range(1, 1 + AHEAD):
            for address, worker in self.workers.items():
                while self.waiting and not worker.on_trial and len(worker.in_hand) < ahead * worker.threads:
                    self._submit(self.waiting.popleft(), address, worker)
        for address, worker in self.workers.items():
            if self.suspects and not self.waiting and not worker.in_hand:
                self._submit(self.suspects.popleft(), address, worker)
                worker.on_trial = True

    def _submit(self, place: int, address: str, worker: _Worker) -> None:
        task = self.client.submit(_result_there, worker.shared, self.files[place], workers=[address], pure=False)
        worker.in_hand[task] = place

    def _done(self) -> list[tuple[Any, int]]:
        """Wait for tasks to be done, but no longer than a second; their workers have them no longer in hand."""
        from distributed import wait

        pending = [task for task in self._tasks() if task.status == "pending"]
        if pending:
            with suppress(TimeoutError, CancelledError):
                wait(pending, timeout=1, return_when="FIRST_COMPLETED")
        done = []
        for worker in self.workers.values():
            ready = [task for task in worker.in_hand if task.status in {"finished", "error"}]
            done += [(task, worker.in_hand.pop(task)) for task in ready]
            worker.on_trial &= bool(worker.in_hand)
        if not pending and not done:
            time.sleep(0.1)
        return done

    def _taken(self, task: Any, place: int) -> Iterator[tuple[int, FileOutcome]]:
        """The result of a task that is done."""
        from distributed import KilledWorker

        try:
            yield place, task.result(timeout=NO_RESULT)
        except KilledWorker:
            self.suspects.append(place)
        except (TimeoutError, CancelledError):
            # Its worker died before the result was fetched.
            self.waiting.append(place)
        except Exception as error:
            # Whatever a worker raises reaches us here, and must stop no other file.
            yield place, Failed(f"the worker failed ({type(error).__name__}: {error})")

    def _died(self, address: str) -> Iterator[tuple[int, FileOutcome]]:
        worker = self.workers.pop(address)
        if worker.on_trial:
            yield from ((place, Failed("the worker that scored it died")) for place in worker.in_hand.values())
        else:
            in_hand = list(worker.in_hand.values())
            self.suspects.extend(in_hand[: worker.threads])
            # Hardly begun, so hardly the reason: tried before those that may cost another worker.
            self.suspects.extendleft(in_hand[worker.threads :])
        self.client.cancel(list(worker.in_hand), force=True)

    def _late(self) -> Iterator[tuple[int, FileOutcome]]:
        """Give up what takes too long."""
        now = time.monotonic()
        for address, worker in list(self.workers.items()):
            worker.begun = {task: worker.begun.get(task, now) for task in islice(worker.in_hand, worker.threads)}
            late = [task for task, begun in worker.begun.items() if now - begun > self.time_limit]
            if late:
                yield from ((worker.in_hand.pop(task), late_after(self.time_limit)) for task in late)
                self.waiting.extend(worker.in_hand.values())
                self._restart(address, [*late, *worker.in_hand])

    def _restart(self, address: str, tasks: list[Any]) -> None:
        """Only a restart frees a thread that is stuck; only a worker with a nanny can be restarted."""
        del self.workers[address]
        self.client.cancel(tasks, force=True)
        try:
            self.client.restart_workers([address], timeout=NO_WORKER, raise_for_error=False)
        except ValueError:
            self.stuck.add(address)
        self.looked_at = -math.inf

    def _abandoned(self, reason: str) -> Iterator[tuple[int, FileOutcome]]:
        """Nothing more will be done."""
        in_hand = [place for worker in self.workers.values() for place in worker.in_hand.values()]
        yield from ((place, Failed(reason)) for place in (*in_hand, *self.waiting, *self.suspects))
        self.workers.clear()
        self.waiting.clear()
        self.suspects.clear()


def _settle_in() -> str:
    """Make a cluster's worker ready, and give its version of scorer."""
    import ctypes

    # Dask has glibc hand memory back at once, and taking it anew would cost half as much again as the scoring.
    with suppress(OSError, AttributeError):
        allocator = ctypes.CDLL(None)
        allocator.mallopt(M_TRIM_THRESHOLD, 1 << 26)
        allocator.mallopt(M_MMAP_THRESHOLD, 1 << 25)
    return __version__


def _result_there(shared: tuple[Solution, Rules], file: FileToScore) -> FileOutcome:
    return result_of(*shared, file, 1)
