"""The tables."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    Boolean,
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

SCHEMA_VERSION = 1


# Tables


def storable(text: str) -> str:
    """Text that every database takes: lone surrogates and NUL, which some refuse, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class _Text(TypeDecorator[str]):
    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class _Time(TypeDecorator[datetime]):
    """UTC, stored without a zone: SQLite knows none."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


_Digest = String(64)
tables = MetaData()

schema_table = Table("scorer_schema", tables, Column("version", Integer, primary_key=True, autoincrement=False))

solution_table = Table(
    "solution",
    tables,
    Column("digest", _Digest, primary_key=True),
    Column("queries", LargeBinary, nullable=False),
    Column("flagged", LargeBinary, nullable=False),
    Column("ideal", LargeBinary, nullable=False),
)

track_table = Table(
    "track",
    tables,
    Column("name", _Text, primary_key=True),
    Column("solution_digest", _Digest, ForeignKey("solution.digest"), nullable=False),
    Column("settings_digest", _Digest, nullable=False),
)

submission_table = Table(
    "submission",
    tables,
    Column("track", _Text, primary_key=True),
    Column("file", _Text, primary_key=True),
    Column("digest", _Digest, primary_key=True),
    Column("team", _Text, nullable=False),
    Column("received", _Time, nullable=False),
    Column("present", Boolean, nullable=False),
)

result_table = Table(
    "result",
    tables,
    Column("digest", _Digest, primary_key=True),
    Column("submission_digest", _Digest, nullable=False),
    Column("solution_digest", _Digest, ForeignKey("solution.digest"), nullable=False),
    Column("settings_digest", _Digest, nullable=False),
    Column("status", String(8), nullable=False),
    Column("counts", JSON(none_as_null=True)),
    Column("findings", JSON, nullable=False),
    Column("hits", LargeBinary),
    UniqueConstraint("submission_digest", "solution_digest", "settings_digest"),
)
"""`digest` stands for the other three digests, so that the tables below need not repeat them."""

mean_table = Table(
    "mean",
    tables,
    Column("result_digest", _Digest, ForeignKey("result.digest"), primary_key=True),
    Column("split", String(16), primary_key=True),
    Column("measure", _Text, primary_key=True),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    sqlite_with_rowid=False,
)
