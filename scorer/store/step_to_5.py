"""The step from schema 4 to schema 5. It is frozen: it uses its own tables, never the current ones."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, text

from scorer.store.checksums import sealed
from scorer.store.database import insert_all
from scorer.store.step_to_4 import set_version

_look = Table(
    "folder_look",
    MetaData(),
    Column("track", String, primary_key=True),
    Column("at", String(32), nullable=False),
    Column("unread", String, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)


def to_5(connection: Connection) -> None:
    """Add the table of looks into folders."""
    _look.create(connection)
    add_looks(connection)
    set_version(connection, 5)


def add_looks(connection: Connection) -> None:
    """Take the end of the last run of each track to be the last look into its folder."""
    runs = connection.execute(text("SELECT track, at FROM last_run"))
    looks = [{"track": run.track, "at": run.at, "unread": "{}"} for run in runs]
    insert_all(connection, _look, [sealed(_look, look) for look in looks])
