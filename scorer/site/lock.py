"""A lock file that one process at a time holds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from scorer.errors import ScorerError

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


@contextmanager
def locked(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock file `path` within the context.

    The file is created if necessary and never deleted. The system releases the lock when the process ends, however it
    ends.

    Raises
    ------
    ScorerError
        Another process holds the lock for longer than `wait` seconds.
    OSError
        The file cannot be opened or locked.
    """
    deadline = time.monotonic() + wait
    with path.open("ab") as file:
        while True:
            try:
                _acquire(file)
                break
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= deadline:
                    raise ScorerError(
                        f"{path}: another process has held the lock for {wait:g} seconds; wait until it ends, or end it"
                    ) from None
            time.sleep(PAUSE)
        yield
