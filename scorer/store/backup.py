"""Backups of SQLite files."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from scorer.errors import StoreError


def back_up(file: Path, target: Path, needed_by: str) -> None:
    """Copy a database file with SQLite's backup API, which sees one state of it; `target` is complete or not there.

    Raises StoreError, which names what needs the backup, if it cannot be written.
    """
    part = target.with_name(target.name + f".{uuid.uuid4().hex}.part")
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{target}: cannot write the backup that {needed_by} needs ({error})") from error
