"""Isolation: a function called in child processes, within limits on time, memory, open files and temporary space.

The children are forked from a server process that has imported this package and used nothing of it. A fork of a process
that has used Arrow can deadlock, because it copies locks that threads hold.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import multiprocessing.process
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scorer.files.writing import temporary_folder
from scorer.limits import MB, Limits
from scorer.lists.reading.blocks import MAX_PARTITIONS
from scorer.scoring.executors import GoOn, always
from scorer.scoring.outcomes import Failed, too_slow, unexpected

HAS_PSUTIL = find_spec("psutil") is not None
"""Whoever scores has it, by the extra `board`. Without it, `scorer check` does not measure the memory of its child."""

if TYPE_CHECKING or HAS_PSUTIL:
    import psutil

_log = logging.getLogger(__name__)

PRELOADED = [
    "scorer.scoring.executors.fork_server",
    "scorer.scoring.executors.base",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.json",
]
"""What the server imports, so that a child starts at once."""

_LOOK_EVERY = 0.05
"""Seconds between two looks at the time and the memory of the children."""

SPARE_MEMORY = 2_000 * MB
"""What a child may allocate beyond its limit without using it: reading CSV maps some 1,500 MB and uses little of it."""

OPEN_FILES = MAX_PARTITIONS + 256

START_TIME = 60.0
"""Seconds in which a child must have started and received what the jobs share."""

MAX_BROKEN_STARTS = 3
"""How many children in a row may fail to start."""

GROWTH = 4
"""A child is replaced once it holds more than one part in so many of its memory after a job."""

MAX_SOCKET_FOLDER = 70
"""The longest name of a folder for temporary files, in bytes, in which the server can have its socket."""

_WORKING, _STARTED = object(), object()

Job = TypeVar("Job")
_Answer = TypeVar("_Answer")


def isolated(
    function: Callable[[Any, Job], _Answer],
    shared: Any,
    jobs: Sequence[Job],
    limits: Limits,
    *,
    count: int = 1,
    go_on: GoOn = always,
) -> Generator[tuple[int, _Answer | Failed], None, None]:
    """Call ``function(shared, job)`` for each job, each within the limits, in up to `count` children at a time.

    The function is one of a module. Each child receives `shared` once; `seconds` and `memory_mb` limit each job, in
    addition to the memory of `shared`. Yields the index of a job and its answer, in the order in which they are done:
    Failed if the job exceeded a limit, its child died, or no child could be started. Once `go_on` is false, no
    further job is begun. Closing the generator stops all children.
    """
    with temporary_folder() as folder:
        crew = _Crew(function, shared, jobs, limits, go_on, folder, deque(range(len(jobs))))
        try:
            yield from crew.answers(min(count, len(jobs)))
        finally:
            for child in crew.children:
                child.stop()


@dataclass(slots=True, eq=False)
class _Child:
    """A child process, as its parent sees it."""

    process: BaseProcess
    system: psutil.Process | None
    """As the system sees it, also if the server that forked it is gone; None if it ended at once, or without psutil."""
    connection: Connection
    folder: Path
    begun: float
    """When it was started, or its job was sent."""
    job: int | None = None
    """The index of its job; None while it starts."""
    memory: int = 0
    """The bytes of memory that it had before its first job."""

    @property
    def resident(self) -> int:
        """The bytes of memory that it has; 0 if it is gone."""
        try:
            return int(self.system.memory_info().rss) if self.system else 0
        except psutil.Error:
            return 0

    def stop(self) -> None:
        """Kill it, and remove its temporary files."""
        if not HAS_PSUTIL:
            self.process.kill()
        elif self.system is not None:
            with suppress(psutil.Error):
                self.system.kill()
        self.process.join()
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(slots=True, eq=False)
class _Crew:
    """The children that do some jobs; the attributes without a default are as for `isolated`."""

    function: Callable[[Any, Any], Any]
    shared: Any
    jobs: Sequence[Any]
    limits: Limits
    go_on: GoOn
    folder: Path
    waiting: deque[int]
    """The indices of the jobs that are not begun."""
    children: list[_Child] = field(default_factory=list)
    broken_starts: int = 0
    refusal: str = ""
    """What the system says about the last child that could not be started."""

    def answers(self, count: int) -> Iterator[tuple[int, Any]]:
        while (busy := sum(child.job is not None for child in self.children)) or self.waiting:
            wanted = min(count, len(self.waiting) + busy)
            while self.broken_starts < MAX_BROKEN_STARTS and len(self.children) < wanted:
                self._start()
            if not self.children:
                reason = f"no process can be started to score it{self.refusal}"
                yield from ((job, Failed(reason)) for job in self.waiting)
                return
            ready = wait([child.connection for child in self.children], _LOOK_EVERY)
            for child in list(self.children):
                outcome = self._message(child) if child.connection in ready else self._look(child)
                if outcome is _WORKING:
                    continue
                job = child.job
                if self.waiting and not self.go_on():
                    self.waiting.clear()
                has_grown = child.resident - child.memory > self.limits.memory_mb * MB // GROWTH
                if isinstance(outcome, Failed) or not self.waiting or has_grown:
                    self.children.remove(child)
                    child.stop()
                else:  # before the outcome is handled, which may take a while
                    child.job, child.begun = self.waiting.popleft(), time.monotonic()
                    with suppress(OSError):  # if the child has died, the job fails once that is seen
                        child.connection.send(self.jobs[child.job])
                if outcome is not _STARTED and job is not None:
                    yield job, outcome

    def _start(self) -> None:
        """Start a child. If the system refuses, the other children go on."""
        try:
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            process, connection = _started_process(self.function, self.shared, self.limits, str(folder))
        except (OSError, EOFError) as error:
            self.broken_starts += 1
            self.refusal = f": {os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error}"
            return
        try:
            system = psutil.Process(process.pid) if HAS_PSUTIL else None
        except psutil.Error:
            system = None
        self.children.append(_Child(process, system, connection, folder, time.monotonic()))

    def _message(self, child: _Child) -> Any:
        """The answer of a child, or Failed if it has died; `_STARTED` if it has only started."""
        try:
            answer = child.connection.recv()
        except (EOFError, OSError):
            child.process.join(1)
            return self._lost(child, f"died ({_ending(child.process.exitcode)})")
        if child.job is None:
            self.broken_starts = 0
            _say_unlimited(answer)
            child.memory = child.resident
            return _STARTED
        return answer

    def _look(self, child: _Child) -> Any:
        """Failed if a child exceeds a limit; `_WORKING` if it does not."""
        seconds = time.monotonic() - child.begun
        if child.job is None:
            return self._lost(child, "does not start") if seconds > START_TIME else _WORKING
        if seconds > self.limits.seconds:
            return too_slow(self.limits)
        if child.resident - child.memory > self.limits.memory_mb * MB:
            return Failed(f"it took more than {self.limits.memory_mb:,} MB of memory", "memory")
        return _WORKING

    def _lost(self, child: _Child, how: str) -> Failed:
        self.broken_starts += child.job is None
        return Failed(f"the process that scored it {how}", "lost")


def _started_process(*work: Any) -> tuple[BaseProcess, Connection]:
    """A child that does the work, and the connection to it. Raises OSError and EOFError."""
    context: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        _make_server_folder()
        context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe()
    with theirs:
        process = context.Process(target=_serve, args=(theirs, *work), daemon=True)
        try:
            with _without_interrupt():
                process.start()
        except BaseException:
            ours.close()
            raise
    return process, ours


@cache
def _make_server_folder() -> None:
    """Make the server put its socket in a folder that a later run removes if this process is killed."""
    parent = Path(tempfile.gettempdir())
    if len(os.fsencode(parent)) > MAX_SOCKET_FOLDER:
        parent = Path("/tmp")  # noqa: S108 (the folder in it is private)
    stack = ExitStack()
    process: Any = multiprocessing.process.current_process()
    process._config["tempdir"] = str(stack.enter_context(temporary_folder(parent)))
    atexit.register(stack.close)


@contextmanager
def _without_interrupt() -> Iterator[None]:
    """Block the signal of Ctrl-C. Processes that are started in the meantime never get it: their parent ends them."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # its start would end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"


def _serve(
    connection: Connection, function: Callable[[Any, Any], Any], shared: Any, limits: Limits, folder: str
) -> None:
    """In a child: say that it has started, then answer one job after the other, until the parent closes the pipe."""
    unlimited = _confine(limits, folder)
    with suppress(EOFError, OSError):  # the parent has closed the pipe, or is gone
        connection.send(unlimited)
        while True:
            job = connection.recv()
            try:
                answer = function(shared, job)
            except Exception as error:
                answer = unexpected(error)
            connection.send(answer)


def _confine(limits: Limits, folder: str) -> tuple[str, ...]:
    """In a child: limit what it can do to the machine, and end it when its parent ends, however that happens.

    Returns what the system does not limit.
    """
    tempfile.tempdir = folder
    parent = multiprocessing.parent_process()
    if parent is not None:
        try:
            threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
        except RuntimeError:
            os._exit(1)  # the system starts no more threads; the parent sees a child that does not start
    used = getattr(psutil.Process().memory_info(), "data", 0) if HAS_PSUTIL else 0
    wanted = {
        "RLIMIT_DATA": (used + limits.memory_mb * MB + SPARE_MEMORY, "memory that is allocated at once"),
        "RLIMIT_FSIZE": (limits.temporary_mb * MB, "size of temporary files"),
        "RLIMIT_NOFILE": (OPEN_FILES, "number of open files"),
        "RLIMIT_CORE": (0, "core dumps"),
    }
    return tuple(what for name, (value, what) in wanted.items() if not _is_limited(name, value))


def _is_limited(name: str, value: int) -> bool:
    """Limit this process; False where the system has no such limit, or refuses it, as macOS does some."""
    if sys.platform == "win32":
        return False
    try:
        import resource

        which = getattr(resource, name)
        _, most = resource.getrlimit(which)
        resource.setrlimit(which, (value if most == resource.RLIM_INFINITY else min(value, most), most))
    except (ImportError, AttributeError, OSError, ValueError):
        return False
    return True


@cache
def _say_unlimited(what: tuple[str, ...]) -> None:
    """Warn once."""
    if what:
        _log.warning("this system does not limit, for a process that scores: %s", ", ".join(what))


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
