"""The tables of the database, and the checksum of each row.

All columns have types that a driver returns as they are stored: times and JSON are text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from scorer.errors import StoreError
from scorer.wording import texts_of

SCHEMA_VERSION = 6


def storable(text: str) -> str:
    """Text that every database accepts: lone surrogates and NUL, which some refuse, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class Text(sa.TypeDecorator[str]):
    """Text from files, made storable."""

    impl = sa.String
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: sa.Dialect) -> str | None:
        return None if value is None else storable(value)


_Digest = sa.String(64)
_Time = sa.String(32)
"""A time in UTC, as ISO 8601 has it, with microseconds."""

Number = sa.String(24)
"""A whole number as text: the numbers of file systems exceed 64 bits."""

tables = sa.MetaData()


UNCOVERED = {"scorer_schema": {"revision"}, "result": {"hits"}}
"""By table: columns that the checksum of its rows does not cover; `hits` has its own checksum."""

ADDED = {"event": {"log"}}
"""By table: the column that a later schema added after the checksum, which covers it where it has a value."""


def _keys(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    """Columns of one type that belong to the key."""
    return (sa.Column(name, kind, primary_key=True, autoincrement=False) for name in names)


def _filled(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> Iterator[sa.Column[Any]]:
    """Columns of one type that have a value in every row."""
    return (sa.Column(name, kind, nullable=False) for name in names)


def _table(name: str, *columns: sa.Column[Any], index: Sequence[str] = (), **options: Any) -> sa.Table:
    """A table whose rows have a checksum, see `sealed`, before the columns that it does not cover and the added one."""
    later = UNCOVERED.get(name, set()) | ADDED.get(name, set())
    covered = [column for column in columns if column.name not in later]
    parts = [*covered, sa.Column("checksum", sa.BigInteger, nullable=False), *columns[len(covered) :]]
    indexes = [sa.Index(f"{name}_key", *index, unique=True)] if index else []
    return sa.Table(name, tables, *parts, *indexes, **options)


schema_table = _table(
    "scorer_schema",
    *_keys(sa.Integer, "version"),
    *_filled(sa.String(32), "scorer", "identity"),
    *_filled(sa.String(64), "salt"),
    *_filled(sa.BigInteger, "revision"),
)
"""`scorer` is the version of the package that created or migrated the tables; `identity` is random, so that a new
database differs from an earlier one; `salt` is random, secrets follow from it, and it is never published; `revision`
grows with every write, and is the one column without a checksum. Later versions of the schema must keep this checksum
over the same four columns."""

event_table = _table(
    "event",
    *_keys(sa.BigInteger, "index"),
    *_filled(Text, "track"),
    *_filled(sa.String(16), "kind"),
    sa.Column("at", _Time),
    *_filled(sa.String, "body"),
    sa.Column("log", sa.Integer),
)
"""`index` counts from 1 without gaps; `at` is when the event was recorded, NULL for those of schema 1 and lost ones;
`body` is JSON in ASCII, with sorted keys; `log` is the version of its line in the log, NULL for version 1."""

solution_table = _table("solution", *_keys(_Digest, "digest"), *_filled(sa.LargeBinary, "queries", "flagged", "ideal"))

OUTCOME = "submission_digest", "solution_digest", "matching_digest"
"""What an outcome is of. The digest of these is its key."""

result_table = _table(
    "result",
    *_keys(_Digest, "digest"),
    *_filled(_Digest, "submission_digest"),
    sa.Column("solution_digest", _Digest, sa.ForeignKey("solution.digest"), nullable=False),
    *_filled(_Digest, "matching_digest"),
    *_filled(sa.String(8), "status"),
    sa.Column("counts", sa.String),
    *_filled(sa.String, "findings", "limits"),
    sa.Column("hits_checksum", sa.BigInteger),
    sa.Column("hits", sa.LargeBinary),
    index=OUTCOME,
)
"""`digest` is the digest of the other three. `matching_digest` is that of the matching rules, which includes their
generation; in results of schema 1 it is the digest of all settings, measures included. `counts`, `findings` and
`limits` are JSON. `hits` comes last and has its own checksum, because most readers leave it out."""

mean_table = _table(
    "mean",
    sa.Column("result_digest", _Digest, sa.ForeignKey("result.digest"), primary_key=True),
    *_keys(Text, "measure"),
    *_keys(sa.String(32), "mask"),
    *_keys(sa.Integer, "generation"),
    sa.Column("value", sa.Double),
    *_filled(sa.Integer, "undefined"),
    sqlite_with_rowid=False,
)
"""`measure` is the full name of the measure, with all parameters; `mask` the digest of the queries of the mean."""

failure_table = _table(
    "failure",
    *_keys(_Digest, "digest"),
    *_filled(_Digest, *OUTCOME),
    *_filled(sa.String(16), "kind"),
    *_filled(Text, "reason"),
    *_filled(sa.Integer, "attempts"),
    *_filled(_Time, "at"),
    index=OUTCOME,
)
"""Keys are those of results; `at` is the time of the last attempt."""

scanned_file_table = _table(
    "scanned_file",
    *_keys(Text, "track"),
    *_keys(sa.String, "file"),
    *_filled(Number, "size", "mtime_ns", "ctime_ns", "inode", "device"),
    *_filled(_Digest, "digest"),
)
"""`file` is the name as JSON in ASCII, so that names that are no text stay different."""

last_run_table = _table("last_run", *_keys(Text, "track"), *_filled(_Time, "at"))

look_table = _table("folder_look", *_keys(Text, "track"), *_filled(_Time, "at"), *_filled(sa.String, "unread"))
"""The last scan of the folder of each track, see `FolderScan`. It cannot be derived again, and the next scan replaces
it; `unread` is JSON in ASCII."""

cached_table = _table("cached", *_keys(_Digest, "digest"), *_filled(sa.String, "value"))
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


ERROR_WORDS: Mapping[str, Mapping[str, str]] = {
    kind: {sign: each["words"] for each in texts for sign in each["signs"]}
    for kind, texts in texts_of(__file__, "errors.toml").items()
}
"""What errors mean to the user, by the kind of the database and the sign of the error."""

RETRY_EVERY = 0.2
"""Seconds between two attempts to reach a server."""


class _Layout(NamedTuple):
    """How the rows of a table are read."""

    columns: tuple[sa.Column[Any], ...]
    """The covered columns, then the checksum."""
    has_bytes: bool
    has_added: bool


@cache
def layout(table: sa.Table) -> _Layout:
    """The layout of a table that has a column `checksum`."""
    left_out = {"checksum", *UNCOVERED.get(table.name, ())}
    covered = [column for column in table.columns if column.name not in left_out]
    has_bytes = any(isinstance(column.type, sa.LargeBinary) for column in covered)
    return _Layout((*covered, table.c.checksum), has_bytes, table.name in ADDED)


def sealed(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its checksum. The values must be those that the database returns."""
    of_table = layout(table)
    covered = (row[column.name] for column in of_table.columns[:-1])
    return {**row, "checksum": _checksum(tuple(covered), of_table)}


def select_rows(table: sa.Table) -> sa.Select[Any]:
    """Selects the covered columns of a table and the checksum; on SQLite from the table itself, not from an index."""
    return sa.select(*layout(table).columns).with_hint(table, "NOT INDEXED", "sqlite")


def verified(table: sa.Table, rows: Iterable[sa.Row[Any]], where: str) -> Iterator[sa.Row[Any]]:
    """The rows that `select_rows` selects. Raises StoreError at a row with the wrong checksum."""
    of_table = layout(table)
    for row in rows:
        values = tuple(row)
        if _checksum(values[:-1], of_table) != values[-1]:
            raise damaged_row(table, row, where)
        yield row


def all_columns(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    """The columns of the layout, then those that the checksum does not cover."""
    return *layout(table).columns, *(table.c[name] for name in sorted(UNCOVERED.get(table.name, ())))


def is_whole(table: sa.Table, row: Sequence[Any]) -> bool:
    """Whether a row of `all_columns` is as it was written."""
    of_table = layout(table)
    values = tuple(row[: len(of_table.columns)])
    if _checksum(values[:-1], of_table) != values[-1]:
        return False
    return table is not result_table or values[-2] == hits_checksum(row[-1])


def hits_checksum(hits: bytes | None) -> int | None:
    """The checksum of packed judged items; None for those of a rejected submission."""
    return zlib.crc32(hits) if isinstance(hits, bytes) else None


def damaged_row(table: sa.Table, row: sa.Row[Any], where: str) -> StoreError:
    """The error for a row with the wrong checksum."""
    return StoreError(f"{where}: is damaged: {row_name(table, row)} has the wrong checksum; {remedy(table)}")


def missing_rows(table: sa.Table, where: str) -> StoreError:
    """The error for rows of a table that must be there, and are not."""
    return StoreError(f"{where}: is damaged: rows of the table {table.name} are missing; {remedy(table)}")


def remedy(table: sa.Table) -> str:
    """What to do about damage to a table."""
    return f"{DOCTOR}; {REPAIR if table.name in DERIVED else RESTORE}"


def row_name(table: sa.Table, row: Sequence[Any]) -> str:
    """What a row is called: kind and key."""
    name = {**RECORDED, **DERIVED}[table.name]
    return name if table is schema_table else f"{name} {str(row[0])[:12]}"


def _checksum(values: tuple[Any, ...], of_table: _Layout) -> int:
    if of_table.has_added and values[-1] is None:
        values = values[:-1]
    if of_table.has_bytes:
        values = tuple(zlib.crc32(value) if isinstance(value, bytes) else value for value in values)
    return zlib.crc32(ascii(values).encode("ascii"))
