"""Run a command, and measure the whole process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes; macOS tells the peak in bytes, Linux in KiB."""


CORES = Path("/proc/stat")

QUIET = 0.1
"""The share of the cores' time that others may take while something is measured."""


class CommandError(Exception):
    """A command failed, or took too long."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took, with the processes that it started and waited for."""

    wall: float
    """Seconds from start to end."""
    processor: float
    """Seconds of all cores, for the process and for the system on its behalf."""
    memory: int
    """Bytes that were resident at the peak, in the largest of the processes.

    No less than what this process takes itself, since a new process begins as a copy of it. So nothing large is
    imported or kept here: files are made by a process of their own.
    """
    others: float | None
    """The share of all cores' time that other processes took meanwhile; None where the system does not tell."""

    @property
    def disturbed(self) -> bool:
        """Did others take so much that the times say little?"""
        return self.others is not None and self.others >= QUIET


def measured(
    command: Sequence[str],
    *,
    time_limit: float,
    environment: Mapping[str, str] | None = None,
    memory_limit: int | None = None,
) -> tuple[Cost, str]:
    """What the command took, and what it printed.

    Raises CommandError, with the end of what it said, where it fails, or is not done within `time_limit` seconds.
    With `memory_limit`, no process may take more bytes of address space.
    """
    # To files, because a full pipe would make the process wait for its reader.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        before = _busy_and_all()
        started = time.perf_counter()
        process = subprocess.Popen(
            [*_limited(memory_limit), *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=complaints,
            env={**os.environ, **(environment or {})},
        )
        code, usage, in_time = _waited(process, time_limit)
        wall = time.perf_counter() - started
        if not in_time:
            raise CommandError(f"not done within {time_limit:g} seconds")
        if code:
            raise CommandError(f"ended with {code}: {_text(complaints)[-1500:].strip()}")
        processor = usage.ru_utime + usage.ru_stime
        others = _others(before, processor)
        return Cost(wall, processor, usage.ru_maxrss * MAXRSS_UNIT, others), _text(out)


def quiet(patience: float) -> None:
    """Wait until others leave the cores alone, but no longer than `patience` seconds."""
    last = time.monotonic() + patience
    while time.monotonic() < last:
        before = _busy_and_all()
        time.sleep(0.5)
        share = _others(before, 0)
        if share is None or share < QUIET:
            return


def _others(before: tuple[float, float] | None, processor: float) -> float | None:
    """The share of the cores' time since then that was not ours, of which `processor` seconds were."""
    after = _busy_and_all()
    if before is None or after is None or after[1] == before[1]:
        return None
    return max(after[0] - before[0] - processor, 0) / (after[1] - before[1])


def _busy_and_all() -> tuple[float, float] | None:
    """Seconds of all cores since the system started: at work, and in all."""
    if not CORES.exists():
        return None
    # user, nice, system, idle, waiting for a disk, interrupts (two), stolen by the host; guests are in the first two
    ticks = [int(word) for word in CORES.read_text().split("\n", 1)[0].split()[1:9]]
    rate = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / rate, sum(ticks) / rate


def floor() -> int:
    """Bytes below which the memory of a process cannot be told; see `Cost`."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def _limited(memory_limit: int | None) -> list[str]:
    """What goes before a command so that it has no more memory than that."""
    if memory_limit is None:
        return []
    return ["sh", "-c", f'ulimit -v {memory_limit // 1024}; exec "$@"', "sh"]


def _waited(process: subprocess.Popen[bytes], time_limit: float) -> tuple[int, resource.struct_rusage, bool]:
    """The exit code, what the process took, and whether it ended by itself."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(time_limit, end)
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage, not late.is_set()


def _text(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")
