"""The step from schema 3 to schema 4. It is frozen: it uses its own tables, never the current ones."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Integer, MetaData, String, Table, delete, select

from scorer import __version__
from scorer.store.checksums import sealed
from scorer.store.database import insert_all

_tables = MetaData()

_schema = Table(
    "scorer_schema",
    _tables,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(32), nullable=False),
    Column("identity", String(32), nullable=False),
    Column("salt", String(64), nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
_cached = Table(
    "cached",
    _tables,
    Column("digest", String(64), primary_key=True),
    Column("value", String, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)


def to_4(connection: Connection) -> None:
    """Add the table of cached values."""
    _cached.create(connection)
    set_version(connection, 4)


def set_version(connection: Connection, version: int) -> None:
    """Set the version in the row of the schema, and the package that wrote it."""
    (row,) = connection.execute(select(_schema)).mappings()
    changed = sealed(_schema, {**row, "version": version, "scorer": __version__})
    connection.execute(delete(_schema))
    insert_all(connection, _schema, [changed])
