"""The tables of the database."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
)

SCHEMA_VERSION = 2


def storable(text: str) -> str:
    """Text that every database accepts: lone surrogates and NUL, which some refuse, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class Text(TypeDecorator[str]):
    """Text from files, made storable."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class Time(TypeDecorator[datetime]):
    """A time in UTC. It is stored without a zone, because SQLite has none."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


Digest = String(64)
tables = MetaData()

schema_table = Table(
    "scorer_schema",
    tables,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(32), nullable=False),
    Column("identity", String(32), nullable=False),
    Column("revision", BigInteger, nullable=False),
)
"""`scorer` is the version of the package that created or migrated the tables; `identity` is random, so that a new
database differs from an earlier one; `revision` grows with every write."""

event_table = Table(
    "event",
    tables,
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("track", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", Time),
    Column("body", Text, nullable=False),
)
"""`index` counts from 1 without gaps; `at` is when the event was recorded, NULL for those of schema 1; `body` is JSON
with sorted keys."""

solution_table = Table(
    "solution",
    tables,
    Column("digest", Digest, primary_key=True),
    Column("queries", LargeBinary, nullable=False),
    Column("flagged", LargeBinary, nullable=False),
    Column("ideal", LargeBinary, nullable=False),
)

result_table = Table(
    "result",
    tables,
    Column("digest", Digest, primary_key=True),
    Column("submission_digest", Digest, nullable=False),
    Column("solution_digest", Digest, ForeignKey("solution.digest"), nullable=False),
    Column("matching_digest", Digest, nullable=False),
    Column("status", String(8), nullable=False),
    Column("counts", JSON(none_as_null=True)),
    Column("findings", JSON, nullable=False),
    Column("hits", LargeBinary),
    UniqueConstraint("submission_digest", "solution_digest", "matching_digest"),
)
"""`digest` is the digest of the other three. `matching_digest` is that of the matching rules, which includes their
generation; in results of schema 1 it is the digest of all settings, measures included."""

mean_table = Table(
    "mean",
    tables,
    Column("result_digest", Digest, ForeignKey("result.digest"), primary_key=True),
    Column("measure", Text, primary_key=True),
    Column("mask", String(32), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""`measure` is the full name of the measure, with all parameters; `mask` the digest of the queries of the mean."""

last_run_table = Table(
    "last_run",
    tables,
    Column("track", Text, primary_key=True),
    Column("at", Time, nullable=False),
)
