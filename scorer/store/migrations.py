"""Migrations: a database of an earlier schema gets the current tables, in one step from each earlier schema."""

from __future__ import annotations

import secrets
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, inspect, select, text

from scorer import __version__
from scorer.errors import StoreError
from scorer.store.checksums import rows_of, verified
from scorer.store.database import Database, insert_all
from scorer.store.schema import SCHEMA_VERSION, look_table, schema_table, tables
from scorer.store.schema_1 import from_1

BACKUP = ".schema-{version}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is migrated."""

UNRELEASED = (2, 3)
"""The versions that no released scorer wrote, and that cannot be migrated."""

WITHOUT_CHECKSUM = (1, 2)
"""The versions whose rows have no checksums."""


def prepare(database: Database, *, create: bool) -> None:
    """Create the tables of a new database, or migrate earlier ones. Raises StoreError for any other tables."""

    def read() -> int | None:
        with database.reading() as connection:
            return version_of(connection, database)

    version = database.retried(read)
    if version is None and not create:
        raise StoreError(f"{database.where}: is empty; `scorer run` fills it")
    if version is None:
        database.set_wal()
    elif version < SCHEMA_VERSION and database.file is not None:
        target = database.file.with_name(database.file.name + BACKUP.format(version=version))
        if not target.exists():
            back_up(database.file, target, "a migration")
    if version != SCHEMA_VERSION:
        database.retried(lambda: _bring_forward(database))


def back_up(file: Path, target: Path, needed_by: str) -> None:
    """Copy a file with SQLite's backup API; `target` is complete or not there. Raises StoreError, with `needed_by`."""
    part = target.with_name(target.name + f".{uuid.uuid4().hex}.part")
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{target}: cannot write the backup that {needed_by} needs ({error})") from error


def version_of(connection: Connection, database: Database) -> int | None:
    """The schema version of the tables; None without tables. Raises StoreError as `prepare`."""
    names = inspect(connection).get_table_names()
    if not names and _has_pages(connection):
        raise database.damaged()
    if not names:
        return None
    if schema_table.name not in names:
        raise StoreError(
            f"{database.where}: is not a scorer database, but holds the tables of something else "
            f"({', '.join(sorted(names)[:3])}); name another as `database` in challenge.toml"
        )
    with database.decoding():
        rows = connection.execute(text("SELECT * FROM scorer_schema")).mappings().all()
        versions = [row["version"] for row in rows]
        if any("checksum" in row or row["version"] not in WITHOUT_CHECKSUM for row in rows):
            # One flipped bit makes another version.
            list(verified(schema_table, connection.execute(rows_of(schema_table)), database.where))
        if len(versions) == 1 and versions[0] > SCHEMA_VERSION:
            writer = f"scorer {rows[0]['scorer']}"
            raise StoreError(
                f"{database.where}: {writer} wrote it (schema version {versions[0]}), but this is scorer "
                f"{__version__}, which reads versions up to {SCHEMA_VERSION}; install {writer} or later"
            )
    if len(versions) == 1 and versions[0] in UNRELEASED:
        raise StoreError(
            f"{database.where}: an unreleased version of scorer wrote it (schema version {versions[0]}), and this one "
            "cannot migrate it; restore a backup of a released version, or move it away and run `scorer run` to score "
            "all submissions again"
        )
    if len(versions) != 1 or versions[0] not in (*STEPS, SCHEMA_VERSION):
        found = ", ".join(map(str, versions)) or "none"
        raise StoreError(
            f"{database.where}: schema version {found} is unknown; expected 1 to {SCHEMA_VERSION}; restore a backup, "
            "or move it away and run `scorer run` to score all submissions again"
        )
    return int(versions[0])


def _has_pages(connection: Connection) -> bool:
    """Whether the file of an SQLite database without tables has content: a new one has one page at most."""
    if connection.dialect.name != "sqlite":
        return False
    return int(connection.exec_driver_sql("PRAGMA page_count").scalar() or 0) > 1


def _bring_forward(database: Database) -> None:
    """Make the current tables, in one transaction; another process may have made them in the meantime."""
    with database.migrating() as connection:
        version = version_of(connection, database)
        if version is None:
            tables.create_all(connection)
        elif version < SCHEMA_VERSION:
            with database.decoding():  # the rows of schema 1 have no checksums
                STEPS[version](connection)
        if version in (None, 1):
            row = {"identity": uuid.uuid4().hex, "salt": secrets.token_hex(32), "revision": 1}
            _insert_schema(connection, row, SCHEMA_VERSION)


def _from_4(connection: Connection) -> None:
    """Add the table of scans of folders."""
    look_table.create(connection)
    add_scans(connection)
    set_version(connection, SCHEMA_VERSION)


def add_scans(connection: Connection) -> None:
    """Take the end of the last run of each track to be the last scan of its folder."""
    runs = connection.execute(text("SELECT track, at FROM last_run"))
    scans = [{"track": run.track, "at": run.at, "unread": "{}"} for run in runs]
    insert_all(connection, look_table, scans)


def set_version(connection: Connection, version: int) -> None:
    """Set the version in the row of the schema, and the package that wrote it."""
    (row,) = connection.execute(select(schema_table)).mappings()
    connection.execute(delete(schema_table))
    _insert_schema(connection, dict(row), version)


def _insert_schema(connection: Connection, row: Mapping[str, Any], version: int) -> None:
    insert_all(connection, schema_table, [{**row, "version": version, "scorer": __version__}])


STEPS: Mapping[int, Callable[[Connection], None]] = {1: from_1, 4: _from_4}
"""By the version that the step starts from. A step makes the current tables, so a new version of them changes each."""
