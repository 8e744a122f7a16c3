"""The step from schema 2 to schema 3. It is frozen: it uses its own tables, never the current ones."""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    select,
    text,
)

from scorer import __version__
from scorer.store.checksums import sealed
from scorer.store.database import insert_all

_AT_A_TIME = 500
"""Rows that are copied at a time."""

_old = MetaData()
"""The tables of schema 2, under the names that they have during this step."""

_schema_2 = Table(
    "scorer_schema_2",
    _old,
    Column("version", Integer),
    Column("scorer", String),
    Column("identity", String),
    Column("revision", BigInteger),
)
_event_2 = Table(
    "event_2",
    _old,
    Column("index", BigInteger),
    Column("track", String),
    Column("kind", String),
    Column("at", DateTime),
    Column("body", String),
)
_solution_2 = Table(
    "solution_2",
    _old,
    Column("digest", String),
    Column("queries", LargeBinary),
    Column("flagged", LargeBinary),
    Column("ideal", LargeBinary),
)
_result_2 = Table(
    "result_2",
    _old,
    Column("digest", String),
    Column("submission_digest", String),
    Column("solution_digest", String),
    Column("matching_digest", String),
    Column("status", String),
    Column("counts", JSON(none_as_null=True)),
    Column("findings", JSON),
    Column("hits", LargeBinary),
)
_mean_2 = Table(
    "mean_2",
    _old,
    Column("result_digest", String),
    Column("measure", String),
    Column("mask", String),
    Column("generation", Integer),
    Column("value", Double),
    Column("undefined", Integer),
)
_last_run_2 = Table("last_run_2", _old, Column("track", String), Column("at", DateTime))

_new = MetaData()
"""The tables of schema 3."""

_schema_3 = Table(
    "scorer_schema",
    _new,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(32), nullable=False),
    Column("identity", String(32), nullable=False),
    Column("salt", String(64), nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
_event_3 = Table(
    "event",
    _new,
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("track", String, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", String(32)),
    Column("body", String, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)
_solution_3 = Table(
    "solution",
    _new,
    Column("digest", String(64), primary_key=True),
    Column("queries", LargeBinary, nullable=False),
    Column("flagged", LargeBinary, nullable=False),
    Column("ideal", LargeBinary, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)
_result_3 = Table(
    "result",
    _new,
    Column("digest", String(64), primary_key=True),
    Column("submission_digest", String(64), nullable=False),
    Column("solution_digest", String(64), ForeignKey("solution.digest"), nullable=False),
    Column("matching_digest", String(64), nullable=False),
    Column("status", String(8), nullable=False),
    Column("counts", String),
    Column("findings", String, nullable=False),
    Column("limits", String, nullable=False),
    Column("hits_checksum", BigInteger),
    Column("checksum", BigInteger, nullable=False),
    Column("hits", LargeBinary),
    Index("result_key", "submission_digest", "solution_digest", "matching_digest", unique=True),
)
_mean_3 = Table(
    "mean",
    _new,
    Column("result_digest", String(64), ForeignKey("result.digest"), primary_key=True),
    Column("measure", String, primary_key=True),
    Column("mask", String(32), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    Column("checksum", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
Table(
    "failure",
    _new,
    Column("digest", String(64), primary_key=True),
    Column("submission_digest", String(64), nullable=False),
    Column("solution_digest", String(64), nullable=False),
    Column("matching_digest", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("reason", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Index("failure_key", "submission_digest", "solution_digest", "matching_digest", unique=True),
)
Table(
    "scanned_file",
    _new,
    Column("track", String, primary_key=True),
    Column("file", String, primary_key=True),
    Column("size", String(24), nullable=False),
    Column("mtime_ns", String(24), nullable=False),
    Column("ctime_ns", String(24), nullable=False),
    Column("inode", String(24), nullable=False),
    Column("device", String(24), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("checksum", BigInteger, nullable=False),
)
_last_run_3 = Table(
    "last_run",
    _new,
    Column("track", String, primary_key=True),
    Column("at", String(32), nullable=False),
    Column("checksum", BigInteger, nullable=False),
)

_Changed = Callable[[Row[Any]], dict[str, Any]]


def to_3(connection: Connection) -> None:
    """Give each row a checksum and the database a salt; store times and JSON as text."""
    for table in _old.tables.values():
        connection.execute(text(f"ALTER TABLE {table.name.removesuffix('_2')} RENAME TO {table.name}"))
    _new.create_all(connection)
    salt = secrets.token_hex(32)
    _copy(connection, _schema_2, _schema_3, lambda _: {"version": 3, "scorer": __version__, "salt": salt})
    _copy(connection, _event_2, _event_3, lambda row: {"at": _iso(row.at)})
    _copy(connection, _solution_2, _solution_3, lambda _: {})
    _copy(connection, _result_2, _result_3, _result)
    _copy(connection, _mean_2, _mean_3, lambda row: {"value": None if row.value is None else row.value + 0.0})
    _copy(connection, _last_run_2, _last_run_3, lambda row: {"at": _iso(row.at)})
    for table in (_mean_2, _result_2, _solution_2, _event_2, _last_run_2, _schema_2):
        table.drop(connection)


def _copy(connection: Connection, old: Table, new: Table, changed: _Changed) -> None:
    """Copy all rows of a table, with changed values and a checksum."""
    rows = connection.execute(select(old).execution_options(yield_per=_AT_A_TIME))
    for part in rows.partitions():
        insert_all(connection, new, [sealed(new, {**row._mapping, **changed(row)}) for row in part])


def _result(row: Row[Any]) -> dict[str, Any]:
    return {
        "counts": None if row.counts is None else json.dumps(row.counts),
        "findings": json.dumps(row.findings),
        "limits": "{}",
        "hits_checksum": None if row.hits is None else zlib.crc32(row.hits),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat(timespec="microseconds")
