"""Processes that check cases; one that dies, hangs or takes too much memory is a finding, and is replaced."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import psutil

from tests.fuzz.cases import Case, case_of
from tests.fuzz.properties import BrokenError, check

Check = Callable[[Case, Path], Mapping[str, str]]

MEMORY = 1 << 30
"""In bytes; a process that has more in memory is stopped."""

UNKNOWN = "not generated"
"""The label of a case that the generator has failed at."""

PATIENCE = 6
"""How many times its limit of processor time a case may take, on a machine that does other work as well."""

LOOK = 0.05
"""Seconds between looks at the processes."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one case."""

    number: int
    label: str = UNKNOWN
    """The format and the compression."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """The property that does not hold; empty if all do."""
    details: str = ""
    content: bytes | None = None
    """The bytes of the file, where there is a problem."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How cases are checked."""

    seed: int
    check: Check = check
    seconds: float = 10.0
    """The limit of the processor time of a case."""
    memory: int = MEMORY
    """In bytes, the limit of a process."""
    processes: int = field(default_factory=lambda: os.cpu_count() or 1)


def checked_all(setup: Setup, numbers: Iterable[int], folder: Path) -> Iterator[Checked]:
    """Yield the results of the cases, as they are finished; files in work are in the folder."""
    waiting = iter(numbers)
    workers = [_Worker(setup, folder / str(number)) for number in range(setup.processes)]
    try:
        busy = [worker for worker in workers if worker.start(next(waiting, None))]
        while busy:
            wait([worker.connection for worker in busy], timeout=LOOK)
            for worker in list(busy):
                result = worker.result()
                if result is None:
                    continue
                yield result
                if not worker.start(next(waiting, None)):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that checks one case at a time."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._setup = setup
        self._folder = folder
        self._trace = folder / "trace"
        self._number = 0
        self._since: tuple[float, float] | None = None
        """The time and the processor time at which the case was begun."""
        self._open()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self._setup, self._folder)
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def start(self, number: int | None) -> bool:
        """Start a case; return False if there is no further case."""
        if number is None:
            return False
        self._number, self._since = number, None
        self.connection.send(number)
        return True

    def result(self) -> Checked | None:
        """Return the result of the case; None while it is checked."""
        try:
            while self.connection.poll():
                received = self.connection.recv()
                if isinstance(received, Checked):
                    return received
                self._since = time.monotonic(), processor_time(self._process.pid)
        except (EOFError, OSError):
            return self._lost("no crash")
        if self._since is not None and self._is_late(*self._since):
            return self._lost(f"no case takes more than {self._setup.seconds:g} seconds", signal.SIGABRT)
        if resident(self._process.pid) > self._setup.memory:
            return self._lost(f"no case takes more than {self._setup.memory >> 20} MiB of memory", signal.SIGABRT)
        return None

    def _is_late(self, begun: float, used: float) -> bool:
        limit = self._setup.seconds
        late = time.monotonic() - begun > PATIENCE * limit
        return late or processor_time(self._process.pid) - used > limit

    def _lost(self, problem: str, stop: signal.Signals | None = None) -> Checked:
        """Replace the process, and return the finding; SIGABRT makes the process write where it is."""
        if stop is not None and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, stop)
        self._process.join(10)
        self.stop()
        file = self._folder / "file"
        content = file.read_bytes() if file.exists() else None
        trace = self._trace.read_text(errors="replace") if self._trace.exists() else ""
        ended = f"the process ended with {self._process.exitcode}"
        try:
            label = case_of(self._setup.seed, self._number).label
        except Exception:
            label = UNKNOWN
        self._open()
        return Checked(self._number, label, problem=problem, details=f"{ended}\n{trace}", content=content)

    def stop(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self.connection.close()


def resident(process: int | None) -> int:
    """Return the bytes that a process has in memory; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def processor_time(process: int | None) -> float:
    """Return the seconds of processor time of a process; 0 if it is gone."""
    try:
        times = psutil.Process(process).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _work(connection: Connection, setup: Setup, folder: Path) -> None:
    """Check the cases whose numbers arrive, until the connection ends."""
    raised: list[str] = []
    sys.unraisablehook = lambda found: raised.append(f"{found.exc_value!r} in {found.object!r}")
    # Core dumps of crashes would fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with (folder / "trace").open("w") as trace:
        faulthandler.enable(trace, all_threads=True)
        while True:
            try:
                number = connection.recv()
            except (EOFError, KeyboardInterrupt):
                return
            trace.truncate(0)
            (folder / "file").unlink(missing_ok=True)
            connection.send("started")
            connection.send(_checked(setup, number, folder, raised))


def _checked(setup: Setup, number: int, folder: Path, raised: list[str]) -> Checked:
    case: Case | None = None
    problem = details = ""
    outcomes: Mapping[str, str] = {}
    try:
        case = case_of(setup.seed, number)
        outcomes = setup.check(case, folder)
    except BrokenError as error:
        problem, details = error.name, error.text
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"no exception: {type(error).__name__} in {Path(last.filename).name}, {last.name}"
        details = traceback.format_exc()
    # The greatest so far: a case that takes less than an earlier one cannot be seen, but that one has been.
    if not problem and peak() > setup.memory:
        problem, details = f"no case takes more than {setup.memory >> 20} MiB of memory", f"{peak() >> 20} MiB"
    if not problem and raised:
        problem, details = "no exception where none can be caught", "\n".join(raised)
    raised.clear()
    content = case.content if case is not None and problem else None
    return Checked(number, case.label if case else UNKNOWN, outcomes, problem, details, content)


def peak() -> int:
    """Return the greatest number of bytes that this process has had in memory."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` would include the memory of the process that started this one
        return 1024 * int(dict(line.split(":", 1) for line in status.read_text().splitlines())["VmHWM"].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
