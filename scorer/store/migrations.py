"""Migrations: a database of an earlier schema gets the current tables, in one step from each earlier schema."""

from __future__ import annotations

import secrets
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from scorer import __version__
from scorer.errors import StoreError
from scorer.files.writing import create_private
from scorer.store import schema as db
from scorer.store.database import Database, insert_all

_BACKUP = ".schema-{version}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is migrated."""

MIGRATED_BY_1_0 = (1, 4)
"""The versions from before release 1.0.0, which migrates them."""


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
    elif version < db.SCHEMA_VERSION and database.file is not None:
        target = database.file.with_name(database.file.name + _BACKUP.format(version=version))
        if not target.exists():
            back_up(database.file, target, "a migration")
    if version != db.SCHEMA_VERSION:
        database.retried(lambda: _bring_forward(database))


def back_up(file: Path, target: Path, needed_by: str) -> None:
    """Copy a file with SQLite's backup API; `target` is complete or not there. Raises StoreError, with `needed_by`."""
    part = target.with_name(target.name + f".{uuid.uuid4().hex}.part")
    try:
        create_private(part, file)
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{target}: cannot write the backup that {needed_by} needs ({error})") from error


def version_of(connection: sa.Connection, database: Database) -> int | None:
    """The schema version of the tables; None without tables. Raises StoreError as `prepare`."""
    names = sa.inspect(connection).get_table_names()
    if not names and _has_pages(connection):
        raise database.damaged()
    if not names:
        return None
    if db.schema_table.name not in names:
        raise StoreError(
            f"{database.where}: is not a scorer database, but holds the tables of something else "
            f"({', '.join(sorted(names)[:3])}); name another as `database` in challenge.toml"
        )
    with database.decoding():
        rows = connection.execute(sa.text("SELECT * FROM scorer_schema")).mappings().all()
        versions = [row["version"] for row in rows]
        if any("checksum" in row for row in rows):  # one flipped bit makes another version
            list(db.verified(db.schema_table, connection.execute(db.select_rows(db.schema_table)), database.where))
        writer = f"scorer {rows[0].get('scorer', '0.1.0')}" if rows else ""  # schema 1 has no such column
        if len(versions) == 1 and versions[0] in MIGRATED_BY_1_0:
            raise StoreError(
                f"{database.where}: {writer} wrote it (schema version {versions[0]}), but this is scorer "
                f"{__version__}, which migrates versions from {min(MIGRATIONS)}; install scorer 1.0, run `scorer "
                "status` to migrate the database, and install this version again"
            )
        if len(versions) == 1 and versions[0] > db.SCHEMA_VERSION:
            raise StoreError(
                f"{database.where}: {writer} wrote it (schema version {versions[0]}), but this is scorer "
                f"{__version__}, which reads versions up to {db.SCHEMA_VERSION}; install {writer} or later"
            )
    if len(versions) != 1 or versions[0] not in (*MIGRATIONS, db.SCHEMA_VERSION):
        found = ", ".join(map(str, versions)) or "none"
        raise StoreError(
            f"{database.where}: schema version {found} is unknown; expected {min(MIGRATIONS)} to {db.SCHEMA_VERSION}; "
            "restore a backup, or move it away and run `scorer run` to score all submissions again"
        )
    return int(versions[0])


def _has_pages(connection: sa.Connection) -> bool:
    """Whether the file of an SQLite database without tables has content: a new one has one page at most."""
    if connection.dialect.name != "sqlite":
        return False
    return int(connection.exec_driver_sql("PRAGMA page_count").scalar() or 0) > 1


def _bring_forward(database: Database) -> None:
    """Make the current tables, in one transaction; another process may have made them in the meantime."""
    with database.migrating() as connection:
        version = version_of(connection, database)
        if version is None:
            db.tables.create_all(connection)
            row = {"identity": uuid.uuid4().hex, "salt": secrets.token_hex(32), "revision": 1}
            _insert_schema(connection, row)
        elif version < db.SCHEMA_VERSION:
            MIGRATIONS[version](connection)


def _from_5(connection: sa.Connection) -> None:
    """Add the version of the log to events: those that are there have version 1."""
    connection.execute(sa.text("ALTER TABLE event ADD COLUMN log INTEGER"))
    (row,) = connection.execute(sa.select(db.schema_table)).mappings()
    connection.execute(sa.delete(db.schema_table))
    _insert_schema(connection, dict(row))


def _insert_schema(connection: sa.Connection, row: Mapping[str, Any]) -> None:
    """Insert the row of the schema, with the current version and the package that writes it."""
    insert_all(connection, db.schema_table, [{**row, "version": db.SCHEMA_VERSION, "scorer": __version__}])


MIGRATIONS: Mapping[int, Callable[[sa.Connection], None]] = {5: _from_5}
"""By the version that the step starts from. A step makes the current tables, so a new version of them changes each."""
