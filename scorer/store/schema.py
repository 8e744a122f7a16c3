"""The tables of the database.

Every row has a checksum, so all columns have types that a driver returns as they are stored: times and JSON are text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    String,
    Table,
    TypeDecorator,
)
from sqlalchemy.types import TypeEngine

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


def _checksum() -> Column[int]:
    """See `checksums`."""
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
    _checksum(),
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
    _checksum(),
)
"""`index` counts from 1 without gaps; `at` is when the event was recorded, NULL for those of schema 1; `body` is JSON
in ASCII, with sorted keys."""

solution_table = Table(
    "solution",
    tables,
    Column("digest", Digest, primary_key=True),
    *_filled(LargeBinary(), "queries", "flagged", "ideal"),
    _checksum(),
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
    _checksum(),
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
    _checksum(),
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
    _checksum(),
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
    _checksum(),
)
"""`file` is the name as JSON in ASCII, so that names that are no text stay different."""

last_run_table = Table(
    "last_run",
    tables,
    Column("track", Text, primary_key=True),
    Column("at", Time, nullable=False),
    _checksum(),
)

look_table = Table(
    "folder_look",
    tables,
    Column("track", Text, primary_key=True),
    Column("at", Time, nullable=False),
    Column("unread", String, nullable=False),
    _checksum(),
)
"""The last scan of the folder of each track, see `FolderScan`. It cannot be derived again, and the next scan replaces
it; `unread` is JSON in ASCII."""

cached_table = Table(
    "cached",
    tables,
    Column("digest", Digest, primary_key=True),
    Column("value", String, nullable=False),
    _checksum(),
)
"""`digest` is that of everything the value depends on, so a value never changes; see `cache`."""

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
