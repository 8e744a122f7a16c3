"""Forward-only migrations, in numbered steps: each turns the tables of one schema version into those of the next."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    Integer,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    text,
)

from scorer import __version__
from scorer.errors import MeasureError, StoreError
from scorer.measures import parse_one
from scorer.scoring.means import split_masks
from scorer.store import events
from scorer.store.database import Database, insert_all
from scorer.store.records import Basis, Submission
from scorer.store.schema import (
    SCHEMA_VERSION,
    Time,
    event_table,
    last_run_table,
    mean_table,
    schema_table,
    solution_table,
    tables,
)
from scorer.store.snapshot import unpack_flags, unpack_ids

BACKUP = ".schema-{version}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is migrated."""


def prepare(database: Database, *, create: bool) -> None:
    """Create the tables of a new database, or migrate those of an earlier version.

    Raises StoreError for the tables of something else, and for a later version.
    """
    version = _version(database)
    if version is None and not create:
        raise StoreError(f"{database.where}: is empty; `scorer run` fills it")
    if version is None:
        database.set_wal()
    elif version < SCHEMA_VERSION and database.file is not None:
        _back_up(database.file, version)
    if version != SCHEMA_VERSION:
        database.retried(lambda: _bring_forward(database))


def _version(database: Database) -> int | None:
    """The schema version of the database; None if it has no tables. A server that is down is not waited for."""
    with database.reading() as connection:
        return _version_of(connection, database.where)


def _version_of(connection: Connection, where: str) -> int | None:
    names = inspect(connection).get_table_names()
    if not names:
        return None
    if schema_table.name not in names:
        raise StoreError(
            f"{where}: is not a scorer database, but holds the tables of something else "
            f"({', '.join(sorted(names)[:3])}); name another as `database` in challenge.toml"
        )
    rows = connection.execute(text("SELECT * FROM scorer_schema")).mappings().all()
    versions = [row["version"] for row in rows]
    if len(versions) == 1 and versions[0] > SCHEMA_VERSION:
        writer = f"scorer {rows[0].get('scorer', '(a later version)')}"
        raise StoreError(
            f"{where}: {writer} wrote it (schema version {versions[0]}), but this is scorer {__version__}, which reads "
            f"versions up to {SCHEMA_VERSION}; install {writer} or later"
        )
    if len(versions) != 1 or versions[0] not in (*STEPS, SCHEMA_VERSION):
        found = ", ".join(map(str, versions)) or "none"
        raise StoreError(
            f"{where}: schema version {found} is unknown; expected 1 to {SCHEMA_VERSION}; restore a backup, or move it "
            "away and run `scorer run` to score all submissions again"
        )
    return int(versions[0])


def _back_up(file: Path, version: int) -> None:
    """Copy the database file with SQLite's backup API, which sees one state of it."""
    target = file.with_name(file.name + BACKUP.format(version=version))
    if target.exists():
        return
    part = target.with_name(target.name + f".{uuid.uuid4().hex}.part")
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{target}: cannot write the backup that a migration needs ({error})") from error


def _bring_forward(database: Database) -> None:
    """All steps that are missing, in one transaction; another process may have made them in the meantime."""
    with database.migrating() as connection:
        version = _version_of(connection, database.where)
        if version is None:
            tables.create_all(connection)
            connection.execute(insert(schema_table), _new_schema_row())
            return
        while version < SCHEMA_VERSION:
            STEPS[version](connection)
            version += 1


def _new_schema_row() -> dict[str, Any]:
    return {"version": SCHEMA_VERSION, "scorer": __version__, "identity": uuid.uuid4().hex, "revision": 1}


# From schema 1 to schema 2

_v1 = MetaData()
_track_1 = Table(
    "track",
    _v1,
    Column("name", String, primary_key=True),
    Column("solution_digest", String),
    Column("settings_digest", String),
)
_submission_1 = Table(
    "submission",
    _v1,
    Column("track", String, primary_key=True),
    Column("file", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("team", String),
    Column("received", Time),
    Column("present", Boolean),
)
_mean_1 = Table(
    "mean",
    _v1,
    Column("result_digest", String, primary_key=True),
    Column("split", String, primary_key=True),
    Column("measure", String, primary_key=True),
    Column("value", Double),
    Column("undefined", Integer),
)


def _to_2(connection: Connection) -> None:
    """Turn submissions and bases into events, and key results by matching rules and means by masks.

    Results keep their digests, which cover all settings of schema 1. A lookup falls back to the digest that schema 1
    has for the current settings.
    """
    submissions = _submissions_1(connection)
    bases = connection.execute(select(_track_1).order_by(_track_1.c.name)).all()
    means = _means_1(connection)
    for table in (_mean_1, _submission_1, _track_1):
        table.drop(connection)
    connection.execute(text("DROP TABLE scorer_schema"))
    connection.execute(text("ALTER TABLE result RENAME COLUMN settings_digest TO matching_digest"))
    tables.create_all(connection, tables=[schema_table, event_table, mean_table, last_run_table])
    connection.execute(insert(schema_table), _new_schema_row())
    recorded: list[tuple[str, events.Kind, Mapping[str, Any]]] = []
    recorded += [(each.track, "arrival", events.arrival(each)) for each, _ in submissions]
    recorded += [
        (each.track, "withdrawal", {"file": each.file, "digest": each.digest})
        for each, present in submissions
        if not present
    ]
    for row in bases:
        basis = Basis(row.solution_digest, "", row.settings_digest)
        recorded.append((row.name, "basis", events.basis_body(basis, None, {"matching": 1, "measures": 1})))
    rows = [events.row(index, track, kind, None, body) for index, (track, kind, body) in enumerate(recorded, 1)]
    insert_all(connection, event_table, rows)
    insert_all(connection, mean_table, means)


def _submissions_1(connection: Connection) -> list[tuple[Submission, bool]]:
    """All submissions by time of receipt, with whether each is present."""
    rows = connection.execute(select(_submission_1)).all()
    found = [(Submission(row.track, row.team, row.file, row.digest, row.received), row.present) for row in rows]
    return sorted(found, key=lambda each: (each[0].received, each[0].track, each[0].team, each[0].file, each[0].digest))


def _means_1(connection: Connection) -> list[dict[str, Any]]:
    """The rows of the means of schema 2; means of measures that no longer exist are left out."""
    masks = {}
    for row in connection.execute(select(solution_table.c.digest, solution_table.c.queries, solution_table.c.flagged)):
        flagged = unpack_flags(row.flagged, len(unpack_ids(row.queries)))
        masks[row.digest] = {split: mask.digest for split, mask in split_masks(flagged).items()}
    rows = connection.execute(text("SELECT digest, solution_digest FROM result"))
    solutions: dict[str, str] = {row.digest: row.solution_digest for row in rows}
    full_names: dict[str, str | None] = {}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in connection.execute(select(_mean_1)):
        if row.measure not in full_names:
            try:
                full_names[row.measure] = parse_one(row.measure).full
            except MeasureError:
                full_names[row.measure] = None
        measure = full_names[row.measure]
        if measure is not None:
            mask = masks[solutions[row.result_digest]][row.split]
            # Splits with the same queries have the same mask.
            found[row.result_digest, measure, mask] = {
                "result_digest": row.result_digest,
                "measure": measure,
                "mask": mask,
                "generation": 1,
                "value": row.value,
                "undefined": row.undefined,
            }
    return list(found.values())


STEPS: Mapping[int, Callable[[Connection], None]] = {1: _to_2}
"""By the version that the step starts from."""
