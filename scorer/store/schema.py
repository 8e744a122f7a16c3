"""The tables of the database, and the checksum of each row.

All columns have types that a driver returns as they are stored: times and JSON are text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    String,
    Table,
    TypeDecorator,
    select,
)
from sqlalchemy.types import TypeEngine

from scorer.errors import StoreError

SCHEMA_VERSION = 5


def storable(text: str) -> str:
    """Text that every database accepts: lone surrogates and NUL, which some refuse, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class Text(TypeDecorator[str]):
    """Text from files, made storable."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


Digest = String(64)
Time = String(32)
"""A time in UTC, as ISO 8601 has it, with microseconds."""

Number = String(24)
"""A whole number as text: the numbers of file systems exceed 64 bits."""

tables = MetaData()


def _checksum_column() -> Column[int]:
    """See `sealed`."""
    return Column("checksum", BigInteger, nullable=False)


def _filled(kind: TypeEngine[Any], *names: str) -> Iterator[Column[Any]]:
    """Columns of one type that have a value in every row."""
    return (Column(name, kind, nullable=False) for name in names)


schema_table = Table(
    "scorer_schema",
    tables,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(32), nullable=False),
    Column("identity", String(32), nullable=False),
    Column("salt", String(64), nullable=False),
    _checksum_column(),
    Column("revision", BigInteger, nullable=False),
)
"""`scorer` is the version of the package that created or migrated the tables; `identity` is random, so that a new
database differs from an earlier one; `salt` is random, secrets follow from it, and it is never published; `revision`
grows with every write, and is the one column without a checksum. Later versions of the schema must keep this checksum
over the same four columns."""

event_table = Table(
    "event",
    tables,
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("track", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", Time),
    Column("body", String, nullable=False),
    _checksum_column(),
)
"""`index` counts from 1 without gaps; `at` is when the event was recorded, NULL for those of schema 1; `body` is JSON
in ASCII, with sorted keys."""

solution_table = Table(
    "solution",
    tables,
    Column("digest", Digest, primary_key=True),
    *_filled(LargeBinary(), "queries", "flagged", "ideal"),
    _checksum_column(),
)

result_table = Table(
    "result",
    tables,
    Column("digest", Digest, primary_key=True),
    Column("submission_digest", Digest, nullable=False),
    Column("solution_digest", Digest, ForeignKey("solution.digest"), nullable=False),
    Column("matching_digest", Digest, nullable=False),
    Column("status", String(8), nullable=False),
    Column("counts", String),
    Column("findings", String, nullable=False),
    Column("limits", String, nullable=False),
    Column("hits_checksum", BigInteger),
    _checksum_column(),
    Column("hits", LargeBinary),
    Index("result_key", "submission_digest", "solution_digest", "matching_digest", unique=True),
)
"""`digest` is the digest of the other three. `matching_digest` is that of the matching rules, which includes their
generation; in results of schema 1 it is the digest of all settings, measures included. `counts`, `findings` and
`limits` are JSON. `hits` comes last and has its own checksum, because most readers leave it out."""

mean_table = Table(
    "mean",
    tables,
    Column("result_digest", Digest, ForeignKey("result.digest"), primary_key=True),
    Column("measure", Text, primary_key=True),
    Column("mask", String(32), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    _checksum_column(),
    sqlite_with_rowid=False,
)
"""`measure` is the full name of the measure, with all parameters; `mask` the digest of the queries of the mean."""

failure_table = Table(
    "failure",
    tables,
    Column("digest", Digest, primary_key=True),
    *_filled(Digest, "submission_digest", "solution_digest", "matching_digest"),
    Column("kind", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("at", Time, nullable=False),
    _checksum_column(),
    Index("failure_key", "submission_digest", "solution_digest", "matching_digest", unique=True),
)
"""Keys are those of results; `at` is the time of the last attempt."""

scanned_file_table = Table(
    "scanned_file",
    tables,
    Column("track", Text, primary_key=True),
    Column("file", String, primary_key=True),
    *_filled(Number, "size", "mtime_ns", "ctime_ns", "inode", "device"),
    Column("digest", Digest, nullable=False),
    _checksum_column(),
)
"""`file` is the name as JSON in ASCII, so that names that are no text stay different."""

last_run_table = Table(
    "last_run",
    tables,
    Column("track", Text, primary_key=True),
    Column("at", Time, nullable=False),
    _checksum_column(),
)

look_table = Table(
    "folder_look",
    tables,
    Column("track", Text, primary_key=True),
    Column("at", Time, nullable=False),
    Column("unread", String, nullable=False),
    _checksum_column(),
)
"""The last scan of the folder of each track, see `FolderScan`. It cannot be derived again, and the next scan replaces
it; `unread` is JSON in ASCII."""

cached_table = Table(
    "cached",
    tables,
    Column("digest", Digest, primary_key=True),
    Column("value", String, nullable=False),
    _checksum_column(),
)
"""`digest` is that of everything the value depends on, so a value never changes; see `snapshot`."""

RECORDED = {
    schema_table.name: "the row of the schema",
    event_table.name: "event",
    look_table.name: "the last look into the folder of the track",
}
"""Tables whose rows cannot be derived again, and what a row is called."""

DERIVED = {
    solution_table.name: "the solution",
    result_table.name: "the result",
    mean_table.name: "a mean of the result",
    failure_table.name: "the failure",
    scanned_file_table.name: "the scanned file of the track",
    last_run_table.name: "the last run of the track",
    cached_table.name: "the cached value",
}
"""Tables whose rows can be derived again, and what a row is called before its key."""


DOCTOR = "`scorer doctor` lists all damage"
REPAIR = "`scorer doctor --repair` deletes what is damaged and can be derived again, and `scorer run` derives it"
RESTORE = "restore a backup of the database"

UNCOVERED = {schema_table.name: {"revision"}, result_table.name: {"hits"}}
"""Columns that the checksum of their row does not cover; `hits` has its own checksum."""


class Layout(NamedTuple):
    """How the rows of a table are read."""

    columns: tuple[Column[Any], ...]
    """The covered columns, then the checksum."""
    has_bytes: bool


@cache
def layout(table: Table) -> Layout:
    """The layout of a table that has a column `checksum`."""
    left_out = {"checksum", *UNCOVERED.get(table.name, ())}
    covered = [column for column in table.columns if column.name not in left_out]
    return Layout((*covered, table.c.checksum), any(isinstance(column.type, LargeBinary) for column in covered))


def sealed(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its checksum. The values must be those that the database returns."""
    columns, has_bytes = layout(table)
    covered = (row[column.name] for column in columns[:-1])
    return {**row, "checksum": _checksum(tuple(covered), has_bytes)}


def rows_of(table: Table) -> Select[Any]:
    """Selects the covered columns of a table and the checksum; on SQLite from the table itself, not from an index."""
    return select(*layout(table).columns).with_hint(table, "NOT INDEXED", "sqlite")


def key_rows(table: Table, index: str) -> Select[Any]:
    """Selects the keys of a table; on SQLite from an index, not from the table."""
    names = ("index",) if table is event_table else ("submission_digest", "solution_digest", "matching_digest")
    return select(*(table.c[name] for name in names)).with_hint(table, f"INDEXED BY {index}", "sqlite")


def verified(table: Table, rows: Iterable[Row[Any]], where: str) -> Iterator[Row[Any]]:
    """The rows that `rows_of` selects. Raises StoreError at a row with the wrong checksum."""
    has_bytes = layout(table).has_bytes
    for row in rows:
        values = tuple(row)
        if _checksum(values[:-1], has_bytes) != values[-1]:
            raise damaged_row(table, row, where)
        yield row


def all_columns(table: Table) -> tuple[Column[Any], ...]:
    """The columns of the layout, then those that the checksum does not cover."""
    return *layout(table).columns, *(table.c[name] for name in sorted(UNCOVERED.get(table.name, ())))


def is_whole(table: Table, row: Sequence[Any]) -> bool:
    """Whether a row of `all_columns` is as it was written."""
    columns, has_bytes = layout(table)
    values = tuple(row[: len(columns)])
    if _checksum(values[:-1], has_bytes) != values[-1]:
        return False
    return table is not result_table or values[-2] == hits_checksum(row[-1])


def hits_checksum(hits: bytes | None) -> int | None:
    """The checksum of packed judged items; None for those of a rejected submission."""
    return zlib.crc32(hits) if isinstance(hits, bytes) else None


def damaged_row(table: Table, row: Row[Any], where: str) -> StoreError:
    """The error for a row with the wrong checksum."""
    return StoreError(f"{where}: is damaged: {row_name(table, row)} has the wrong checksum; {remedy(table)}")


def missing_rows(table: Table, where: str) -> StoreError:
    """The error for a table that has other rows than its index."""
    return StoreError(f"{where}: is damaged: rows of the table {table.name} are missing; {remedy(table)}")


def remedy(table: Table) -> str:
    """What to do about damage to a table."""
    return f"{DOCTOR}; {REPAIR if table.name in DERIVED else RESTORE}"


def row_name(table: Table, row: Sequence[Any]) -> str:
    """What a row is called: kind and key."""
    name = {**RECORDED, **DERIVED}[table.name]
    return name if table is schema_table else f"{name} {str(row[0])[:12]}"


def _checksum(values: tuple[Any, ...], has_bytes: bool) -> int:
    if has_bytes:
        values = tuple(zlib.crc32(value) if isinstance(value, bytes) else value for value in values)
    return zlib.crc32(ascii(values).encode("ascii"))
