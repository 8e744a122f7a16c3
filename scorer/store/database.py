"""Addresses, connections, and the errors of databases in words."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from scorer.errors import StoreError
from scorer.wording import printable


class LostError(StoreError):
    """The database's server does not answer, or not any more."""


# Addresses and engines

BEGIN = "scorer_begin"
"""The execution option with the words that SQLite begins a transaction with; empty: none is begun."""

TO_WRITE = "BEGIN IMMEDIATE"

_CONNECT_TIMEOUT = 10
"""Seconds that a PostgreSQL server may take to answer, unless the URL says otherwise."""


def address_of(place: str | Path) -> tuple[URL, str]:
    """The URL, and how messages call it (never with a password)."""
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(place)), str(place)
    try:
        url = make_url(place)
        url.get_dialect()
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"{place.partition('://')[0]}://...: not the address of a database; "
            "give a file, or an SQLAlchemy URL such as postgresql+psycopg://user@host/name"
        ) from error
    shown = url.difference_update_query([key for key in url.query if "pass" in key.lower()])
    return url, shown.render_as_string(hide_password=True)


def check_file(path: Path, create: bool) -> None:
    """Refuse what SQLite would explain badly, wait for, or make although it should not."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not create:
            raise StoreError(f"{path}: no such database; `scorer run` makes it") from None
        if not path.parent.is_dir():
            raise StoreError(f"{path}: there is no folder {path.parent}; make it, or give another path") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{printable(str(path))}: cannot be used as a path ({error})") from error
    else:
        if stat.S_ISDIR(mode):
            raise StoreError(f"{path}: is a folder; give the path of a database file")
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path}: is not a file; give the path of a database file")


def engine_of(url: URL, where: str, wait: float) -> Engine:
    """An engine for the database at `url`. Raises StoreError where its driver is missing."""
    try:
        if url.get_backend_name() != "sqlite":
            if url.get_backend_name() == "postgresql":
                url = url.update_query_dict({"connect_timeout": str(_CONNECT_TIMEOUT), **url.query})
            return create_engine(url, pool_pre_ping=True)
        engine = create_engine(url, connect_args={"timeout": wait})
    except ImportError as error:
        raise StoreError(f"{where}: the driver of this database is not installed ({error})") from error
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` says BEGIN, not the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # With WAL this is safe against a killed process; a power cut can only cost the last results, not the database.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if begin := connection.get_execution_options().get(BEGIN, "BEGIN"):
        connection.exec_driver_sql(begin)


_IN_USE = "is in use: another process did not finish writing within {wait:g} seconds; try again when it has"
WORDS = {
    "locked": _IN_USE,
    "lock timeout": _IN_USE,
    "not a database": "is not a database; move it away, or name another file as `database` in challenge.toml",
    "malformed": "is damaged; move it away and run `scorer run` to score everything anew",
    "readonly": "cannot be written to: the file or its folder is read-only; make both writable",
    "unable to open": "cannot be opened; its folder must be there, readable and writable",
    "is full": "cannot be written to: the disk is full",
    "No space left": "cannot be written to: the disk of its server is full",
    "disk I/O": "cannot be read or written: the disk is full or failing",
}
"""What SQLite or PostgreSQL says, and how it is told."""


def _is_lost(error: DBAPIError) -> bool:
    """Has the server gone, or is it not up yet? PostgreSQL says so by SQLSTATE; where nobody answers there is none."""
    state = getattr(error.orig, "sqlstate", "")
    gone = state is None or state.startswith(("08", "57P"))
    return error.connection_invalidated or (isinstance(error, OperationalError) and gone)


@contextmanager
def in_words(where: str, wait: float) -> Iterator[None]:
    """Turn the errors of the database into StoreError, in words."""
    try:
        yield
    except IntegrityError:
        raise  # never the user's doing
    except DBAPIError as error:
        found = printable(" ".join(str(error.orig).split()))
        if _is_lost(error):
            raise LostError(f"{where}: cannot be reached: {found}") from error
        told = (words.format(wait=wait) for sign, words in WORDS.items() if sign in found)
        raise StoreError(f"{where}: {next(told, f'cannot be used: {found}')}") from error


@contextmanager
def sound(where: str) -> Iterator[None]:
    """Around reading: what the driver makes of bytes that are no text, no JSON, no date is told as damage."""
    try:
        yield
    except (ValueError, LookupError) as error:
        raise StoreError(f"{where}: {WORDS['malformed']}") from error
