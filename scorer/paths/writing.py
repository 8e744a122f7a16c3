"""Writing to files that other processes use: a lock that one of them holds, and content that is replaced at once."""

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

PART = ".part"
"""The suffix of a file that is being written."""


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


def part_of(path: Path) -> Path:
    """Return the file that the new content is written to first."""
    return path.with_name(path.name + PART)


def replace_content(path: Path, content: bytes) -> bool:
    """Replace the content of a file; return whether it changed. Its folder is made if necessary. Raises OSError.

    A device or a pipe, such as /dev/stdout, is written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return True
    if _bytes(path) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
