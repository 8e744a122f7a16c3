"""Forward-only migrations, in numbered steps: each turns the tables of one schema version into those of the next."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, inspect, text

from scorer import __version__
from scorer.errors import StoreError
from scorer.store.backup import back_up
from scorer.store.checksums import rows_of, sealed, verified
from scorer.store.database import Database
from scorer.store.schema import SCHEMA_VERSION, schema_table, tables
from scorer.store.step_to_2 import to_2
from scorer.store.step_to_3 import to_3
from scorer.store.step_to_4 import to_4
from scorer.store.step_to_5 import to_5

BACKUP = ".schema-{version}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is migrated."""

WITHOUT_CHECKSUM = (1, 2)
"""The versions whose rows have no checksums."""


def prepare(database: Database, *, create: bool) -> None:
    """Create the tables of a new database, or migrate those of an earlier version.

    Raises StoreError for the tables of something else, and for a later version.
    """
    version = database.retried(lambda: _version(database))
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


def _version(database: Database) -> int | None:
    """The schema version of the database; None if it has no tables."""
    with database.reading() as connection:
        return version_of(connection, database)


def version_of(connection: Connection, database: Database) -> int | None:
    """The schema version of the tables; None without tables. Raises StoreError as `prepare`."""
    with database.decoding():
        return _version_of(connection, database)


def _version_of(connection: Connection, database: Database) -> int | None:
    names = inspect(connection).get_table_names()
    if not names:
        if _has_pages(connection):
            raise database.damaged()
        return None
    if schema_table.name not in names:
        raise StoreError(
            f"{database.where}: is not a scorer database, but holds the tables of something else "
            f"({', '.join(sorted(names)[:3])}); name another as `database` in challenge.toml"
        )
    rows = connection.execute(text("SELECT * FROM scorer_schema")).mappings().all()
    versions = [row["version"] for row in rows]
    if any("checksum" in row or row["version"] not in WITHOUT_CHECKSUM for row in rows):
        # One flipped bit makes another version.
        for _ in verified(schema_table, connection.execute(rows_of(schema_table)), database.where):
            pass
    if len(versions) == 1 and versions[0] > SCHEMA_VERSION:
        writer = f"scorer {rows[0]['scorer']}"
        raise StoreError(
            f"{database.where}: {writer} wrote it (schema version {versions[0]}), but this is scorer {__version__}, "
            f"which reads versions up to {SCHEMA_VERSION}; install {writer} or later"
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
    """All steps that are missing, in one transaction; another process may have made them in the meantime."""
    with database.migrating() as connection:
        version = version_of(connection, database)
        if version is None:
            tables.create_all(connection)
            row = {
                "version": SCHEMA_VERSION,
                "scorer": __version__,
                "identity": uuid.uuid4().hex,
                "salt": secrets.token_hex(32),
                "revision": 1,
            }
            connection.execute(insert(schema_table), sealed(schema_table, row))
            return
        while version < SCHEMA_VERSION:
            with database.decoding():  # a step reads rows that may have no checksums
                STEPS[version](connection)
            version += 1


STEPS: Mapping[int, Callable[[Connection], None]] = {1: to_2, 2: to_3, 3: to_4, 4: to_5}
"""By the version that the step starts from."""
