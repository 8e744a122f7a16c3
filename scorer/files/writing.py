"""Files that other processes use: locks, content that is replaced at once, and temporary folders.

Temporary folders are removed at the end, or by a later process if this one is killed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


_PAUSE = 0.05
"""Seconds between two attempts."""

PART = ".part"
"""The suffix of a file that is being written."""


PRIVATE = 0o600
"""The permissions of a file that only its owner can use."""


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
            time.sleep(_PAUSE)
        yield


def part_of(path: Path) -> Path:
    """Return the hidden file that the new content is written to first."""
    return path.with_name(f".{path.name}{PART}")


def create_private(path: Path, like: Path | None = None, *, is_folder: bool = False) -> None:
    """Create a file or a folder that only its owner can use, unless it is there. Raises OSError.

    Next to a database, it is for all who can use that: the file `like`, or the one with this name without its suffix.
    """
    with suppress(FileExistsError):
        path.mkdir(0o700) if is_folder else path.touch(PRIVATE, exist_ok=False)
        like = like or path.with_suffix("")
        if like.suffix and like.is_file():  # without one, it is no database: that is on a server
            take_mode(path, like)


def take_mode(path: Path, like: Path) -> None:
    """Give a new file or folder the permissions and the group of the file `like`; not on Windows."""
    if sys.platform != "win32":
        with suppress(OSError):
            status = like.stat()
            mode = status.st_mode & 0o777
            try:
                os.chown(path, -1, status.st_gid)
            except OSError:  # another group may do what all others may
                mode = mode & ~0o070 | (mode & 0o007) << 3
            path.chmod(mode | (mode & 0o444) >> 2 if path.is_dir() else mode)


def is_readable_by_others(path: Path) -> bool:
    """Whether any user of this machine can read a file or a folder; on Windows, modes do not say so."""
    with suppress(OSError):
        passable = (above.stat().st_mode & 0o001 for above in path.resolve().parents)
        return os.name == "posix" and bool(path.stat().st_mode & 0o004) and all(passable)
    return False


def replace_content(path: Path, content: bytes, *, is_private: bool = False) -> bool:
    """Replace the content of a file; return whether it changed. Its folder is made if necessary. Raises OSError.

    It keeps its permissions and its group. A new one is as `create_private` makes it, or as the umask allows. A device
    or a pipe, such as /dev/stdout, is written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return True
    if bytes_of(path) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        part.unlink(missing_ok=True)
        if path.exists():
            part.touch(PRIVATE)
            take_mode(part, path)
        elif is_private:
            create_private(part, path.with_suffix(""))
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def bytes_of(path: Path) -> bytes | None:
    """The bytes of a file; None if there is no such file. Raises OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


_PREFIX = "scorer-"
"""Begins the names of the folders."""

_LOCK = ".lock"
"""Ends the name of the file next to each folder that its process holds locked."""


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder that only this user can read, in `parent` (None: the system's folder for temporary files).

    It is removed at the end. Abandoned folders are removed first. Raises OSError where the folder cannot be made.
    """
    parent = parent or Path(tempfile.gettempdir())
    remove_abandoned_folders(parent)
    # The lock file is made before the folder, and removed after it, so that no folder is ever without it.
    with _locked_file(parent) as lock:
        folder = lock.with_suffix("")
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the folders that killed processes of this user have left in `parent`."""
    for lock in parent.glob(f"{_PREFIX}*{_LOCK}"):
        # A folder that cannot be removed is no reason to stop.
        with suppress(OSError):
            if lock.is_symlink() or (hasattr(os, "getuid") and lock.stat().st_uid != os.getuid()):
                continue
            with lock.open("r+b") as file:
                if try_lock(file):
                    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                    lock.unlink()


@contextmanager
def _locked_file(parent: Path) -> Iterator[Path]:
    """A new lock file that this process holds locked; it is removed at the end."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_LOCK, dir=parent)
        try:
            with os.fdopen(descriptor, "r+b") as file:
                # Another process may take the new file for an abandoned one, and remove it.
                if try_lock(file) and os.fstat(file.fileno()).st_nlink > 0:
                    yield Path(name)
                    return
        finally:
            with suppress(OSError):
                Path(name).unlink()
