"""Temporary folders that are removed at the end, or by a later process if this one is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scorer.paths.writing import try_lock

PREFIX = "scorer-"
"""Begins the names of the folders."""

LOCK = ".lock"
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
    for lock in parent.glob(f"{PREFIX}*{LOCK}"):
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
        descriptor, name = tempfile.mkstemp(prefix=PREFIX, suffix=LOCK, dir=parent)
        try:
            with os.fdopen(descriptor, "r+b") as file:
                # Another process may take the new file for an abandoned one, and remove it.
                if try_lock(file) and os.fstat(file.fileno()).st_nlink > 0:
                    yield Path(name)
                    return
        finally:
            with suppress(OSError):
                Path(name).unlink()
