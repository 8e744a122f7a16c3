"""Migrations: a database of an earlier schema gets the current tables, in one step from each earlier schema."""

from __future__ import annotations

import json
import secrets
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from scorer import __version__
from scorer.errors import MeasureError, StoreError
from scorer.measures import parse_one
from scorer.scoring.outcomes import split_masks, unpack_flags, unpack_ids
from scorer.store import schema as db
from scorer.store.database import AT_A_TIME, Database, insert_all
from scorer.store.log import encoded, iso

_old = sa.MetaData()
"""The tables of schema 1. Those whose names the current tables have, too, are renamed during this step."""


def _table(name: str, *texts: str, **others: TypeEngine[Any]) -> sa.Table:
    """A table of schema 1, given its columns with text, and the types of the others."""
    columns = {**dict.fromkeys(texts, sa.String()), **others}
    return sa.Table(name, _old, *(sa.Column(column, kind) for column, kind in columns.items()))


_track = _table("track", "name", "solution_digest", "settings_digest")
_submission = _table("submission", "track", "file", "digest", "team", received=sa.DateTime(), present=sa.Boolean())
_binary, _json = sa.LargeBinary(), sa.JSON(none_as_null=True)
_solution = _table("solution_1", "digest", queries=_binary, flagged=_binary, ideal=_binary)
_keys = ("digest", "submission_digest", "solution_digest", "settings_digest", "status")
_result = _table("result_1", *_keys, counts=_json, findings=_json, hits=_binary)
_mean = _table("mean_1", "result_digest", "split", "measure", value=sa.Double(), undefined=sa.Integer())

_Values = dict[str, Any]


def from_1(connection: sa.Connection) -> None:
    """Turn submissions and bases into events, and key results by matching rules and means by masks.

    Results keep their digests, which cover all settings of schema 1. A lookup falls back to the digest that schema 1
    has for the current settings. The new table of the schema has no row yet.
    """
    for table in (_solution, _result, _mean):
        connection.execute(sa.text(f"ALTER TABLE {table.name.removesuffix('_1')} RENAME TO {table.name}"))
    connection.execute(sa.text("DROP TABLE scorer_schema"))
    db.tables.create_all(connection)
    insert_all(connection, db.event_table, list(_events(connection)))
    _copy(connection, _solution, db.solution_table, lambda _: {})
    _copy(
        connection,
        _result,
        db.result_table,
        lambda row: {
            "matching_digest": row.settings_digest,
            "counts": None if row.counts is None else json.dumps(row.counts),
            "findings": json.dumps(row.findings),
            "limits": "{}",
            "hits_checksum": db.hits_checksum(row.hits),
        },
    )
    insert_all(connection, db.mean_table, list(_means(connection)))
    for table in (_mean, _result, _submission, _track, _solution):
        table.drop(connection)


def _events(connection: sa.Connection) -> Iterable[_Values]:
    """The rows of the record: arrivals by time of receipt, then withdrawals, then bases."""
    submissions = sorted(
        connection.execute(sa.select(_submission)).all(),
        key=lambda row: (row.received, row.track, row.team, row.file, row.digest),
    )
    bases = connection.execute(sa.select(_track).order_by(_track.c.name)).all()
    bodies: list[tuple[str, str, _Values]] = []
    for row in submissions:
        body = {
            "team": db.storable(row.team),
            "file": db.storable(row.file),
            "digest": row.digest,
            "received": iso(row.received.replace(tzinfo=UTC)),
            "source": "folder",
        }
        bodies.append((row.track, "arrival", body))
    bodies += [
        (row.track, "withdrawal", {"file": row.file, "digest": row.digest}) for row in submissions if not row.present
    ]
    for row in bases:
        body = {
            "solution": row.solution_digest,
            "matching": "",
            "version_1": row.settings_digest,
            "settings": None,
            "generations": {"matching": 1, "measures": 1},
        }
        bodies.append((row.name, "basis", body))
    for index, (track, kind, body) in enumerate(bodies, 1):
        yield {"index": index, "track": track, "kind": kind, "at": None, "body": encoded(body), "log": None}


def _copy(connection: sa.Connection, old: sa.Table, new: sa.Table, changed: Callable[[sa.Row[Any]], _Values]) -> None:
    """Copy all rows of a table, with changed values and a checksum."""
    names = [column.name for column in new.columns if column.name in old.columns]
    for part in connection.execute(sa.select(old).execution_options(yield_per=AT_A_TIME)).partitions():
        rows = [{**{name: row._mapping[name] for name in names}, **changed(row)} for row in part]
        insert_all(connection, new, rows)


def _means(connection: sa.Connection) -> Iterable[_Values]:
    """The rows of the means, without those of measures that no longer exist."""
    masks = {}
    for row in connection.execute(sa.select(_solution)):
        flagged = unpack_flags(row.flagged, len(unpack_ids(row.queries)))
        masks[row.digest] = {split: mask.digest for split, mask in split_masks(flagged).items()}
    solutions = {row.digest: row.solution_digest for row in connection.execute(sa.select(_result))}
    full_names: dict[str, str | None] = {}
    means: dict[tuple[str, str, str], _Values] = {}
    for row in connection.execute(sa.select(_mean)):
        if row.measure not in full_names:
            full_names[row.measure] = _full_name(row.measure)
        measure = full_names[row.measure]
        if measure is not None:
            mask = masks[solutions[row.result_digest]][row.split]
            # Splits with the same queries have the same mask.
            means[row.result_digest, measure, mask] = {
                "result_digest": row.result_digest,
                "measure": measure,
                "mask": mask,
                "generation": 1,
                "value": None if row.value is None else row.value + 0.0,  # SQLite stores -0.0 as 0.0
                "undefined": row.undefined,
            }
    return means.values()


def _full_name(measure: str) -> str | None:
    """The name of a measure with all parameters; None if it no longer exists."""
    try:
        return parse_one(measure).full
    except MeasureError:
        return None


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
    elif version < db.SCHEMA_VERSION and database.file is not None:
        target = database.file.with_name(database.file.name + BACKUP.format(version=version))
        if not target.exists():
            back_up(database.file, target, "a migration")
    if version != db.SCHEMA_VERSION:
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
        if any("checksum" in row or row["version"] not in WITHOUT_CHECKSUM for row in rows):
            # One flipped bit makes another version.
            list(db.verified(db.schema_table, connection.execute(db.rows_of(db.schema_table)), database.where))
        if len(versions) == 1 and versions[0] > db.SCHEMA_VERSION:
            writer = f"scorer {rows[0]['scorer']}"
            raise StoreError(
                f"{database.where}: {writer} wrote it (schema version {versions[0]}), but this is scorer "
                f"{__version__}, which reads versions up to {db.SCHEMA_VERSION}; install {writer} or later"
            )
    if len(versions) == 1 and versions[0] in UNRELEASED:
        raise StoreError(
            f"{database.where}: an unreleased version of scorer wrote it (schema version {versions[0]}), and this one "
            "cannot migrate it; restore a backup of a released version, or move it away and run `scorer run` to score "
            "all submissions again"
        )
    if len(versions) != 1 or versions[0] not in (*STEPS, db.SCHEMA_VERSION):
        found = ", ".join(map(str, versions)) or "none"
        raise StoreError(
            f"{database.where}: schema version {found} is unknown; expected 1 to {db.SCHEMA_VERSION}; restore a "
            "backup, or move it away and run `scorer run` to score all submissions again"
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
        elif version < db.SCHEMA_VERSION:
            with database.decoding():  # the rows of schema 1 have no checksums
                STEPS[version](connection)
        if version in (None, 1):
            row = {"identity": uuid.uuid4().hex, "salt": secrets.token_hex(32), "revision": 1}
            _insert_schema(connection, row, db.SCHEMA_VERSION)


def _from_4(connection: sa.Connection) -> None:
    """Add the table of scans of folders."""
    db.look_table.create(connection)
    add_scans(connection)
    _from_5(connection)


def _from_5(connection: sa.Connection) -> None:
    """Add the version of the log to events: those that are there have version 1."""
    connection.execute(sa.text("ALTER TABLE event ADD COLUMN log INTEGER"))
    set_version(connection, db.SCHEMA_VERSION)


def add_scans(connection: sa.Connection) -> None:
    """Take the end of the last run of each track to be the last scan of its folder."""
    runs = connection.execute(sa.text("SELECT track, at FROM last_run"))
    scans = [{"track": run.track, "at": run.at, "unread": "{}"} for run in runs]
    insert_all(connection, db.look_table, scans)


def set_version(connection: sa.Connection, version: int) -> None:
    """Set the version in the row of the schema, and the package that wrote it."""
    (row,) = connection.execute(sa.select(db.schema_table)).mappings()
    connection.execute(sa.delete(db.schema_table))
    _insert_schema(connection, dict(row), version)


def _insert_schema(connection: sa.Connection, row: Mapping[str, Any], version: int) -> None:
    insert_all(connection, db.schema_table, [{**row, "version": version, "scorer": __version__}])


STEPS: Mapping[int, Callable[[sa.Connection], None]] = {1: from_1, 4: _from_4, 5: _from_5}
"""By the version that the step starts from. A step makes the current tables, so a new version of them changes each."""
