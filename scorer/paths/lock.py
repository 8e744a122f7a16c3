"""A lock file that one process at a time holds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _acquire(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


PAUSE = 0.05
"""Seconds between two attempts."""


class LockedError(Exception):
    """Another process holds the lock."""


def try_lock(file: IO[bytes]) -> bool:
    """Lock an open file, if no other process holds the lock; return whether it is locked now.

    The system releases the lock when the file is closed or the process ends, however it ends.
    """
    try:
        _acquire(file)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def locked(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock file `path` within the context. The file is created if necessary and never deleted.

    Raises LockedError where another process holds the lock for longer than `wait` seconds, and OSError where the file
    cannot be opened or locked.
    """
    deadline = time.monotonic() + wait
    with path.open("ab") as file:
        while not try_lock(file):
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"{path}: another process has held the lock for {wait:g} seconds; wait until it ends, or end it"
                )
            time.sleep(PAUSE)
        yield
