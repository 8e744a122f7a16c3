"""Connections to a database: its address, its transactions, and its errors in words."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert, make_url, select, update
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from scorer.errors import StoreError, need_libraries
from scorer.files.writing import PRIVATE
from scorer.store.schema import ERROR_WORDS, RETRY_EVERY, schema_table, sealed
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.store.postgresql import Server

AT_A_TIME = 500
"""Rows, or keys of rows, that one statement reads or writes."""

REPEATS = 10
"""How often an operation is repeated if the server is lost each time: the operation may be what ends the server."""

_BEGIN = "scorer_begin"
"""The execution option with the statement that begins a transaction on SQLite; empty: no transaction."""

_TO_READ, _TO_WRITE = "BEGIN", "BEGIN IMMEDIATE"

_Answer = TypeVar("_Answer")


class LostError(StoreError):
    """The server of the database does not answer."""


class ReplacedError(StoreError):
    """The file of the database was deleted or replaced while it was open."""


class Database:
    """A database with the tables of `schema`, as transactions.

    Every method raises StoreError if the database cannot be reached, is in use for too long, read-only, full or
    damaged.
    """

    def __init__(self, place: str | Path, *, create: bool, wait: float) -> None:
        """Prepare to connect to `place`: a path (SQLite) or an SQLAlchemy URL."""
        url, self.where = _address(place)
        """`where`: the name of the database in messages, never with a password."""
        self.wait = wait
        self.file: Path | None = None
        """The file of an SQLite database; None for a server and for a database in memory."""
        if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
            self.file = Path(str(url.database))
            _check_place(self.file, create)
            with suppress(OSError):  # SQLite says why it cannot be written
                self.file.touch(PRIVATE, exist_ok=False)
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file, once it was opened."""
        self._server = _server(url, self.where, wait)
        self._engine = _engine(url, self.where, wait) if self._server is None else self._server.engine
        self.kind = self._engine.dialect.name
        if self._server is not None:
            with self._errors_in_words():
                self._server.open()

    def close(self) -> None:
        self._engine.dispose()

    def retried(self, work: Callable[[], _Answer]) -> _Answer:
        """The result of `work`, which is repeated if the server is lost, once the server answers again.

        Each time, the server is waited for, for `wait` seconds at most, however long `work` took until then.
        """
        for _ in range(REPEATS):
            try:
                return work()
            except LostError:
                self._wait_for_server()
        return work()

    def _wait_for_server(self) -> None:
        """Wait until the server answers. Raises LostError after `wait` seconds."""
        deadline = time.monotonic() + self.wait
        while True:
            time.sleep(RETRY_EVERY)
            try:
                with self.reading():
                    return
            except LostError:
                if time.monotonic() > deadline:
                    raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database, and locks nothing."""
        with self._transaction(_TO_READ) as connection:
            yield connection

    @contextmanager
    def writing(self, *, revises: bool = True) -> Iterator[Connection]:
        """A transaction for writing, one at a time; it increases the revision if it changes what a board shows."""
        # A transaction that reads and then writes is refused if another one wrote in between. One that locks at its
        # beginning waits for its turn.
        with self._transaction(_TO_WRITE) as connection:
            connection.execute(select(schema_table.c.version).with_for_update())
            yield connection
            if revises:
                self.revise(connection)

    @staticmethod
    def revise(connection: Connection) -> None:
        """Increase the revision in a transaction that finds only then that it changes what a board shows."""
        connection.execute(update(schema_table).values(revision=schema_table.c.revision + 1))

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for creating or migrating tables, one process at a time."""
        with self._transaction(_TO_WRITE) as connection:
            if self._server is not None:
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('scorer'))")
                self._server.limit(connection, statements=False)  # the steps of a migration may rewrite tables
            yield connection

    def set_wal(self) -> None:
        """Let a writer and readers of an SQLite file work side by side. The file stores the setting."""
        if self.kind != "sqlite":
            return
        deadline = time.monotonic() + self.wait
        while True:
            try:
                with self._transaction(begin="") as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            except StoreError as error:
                # This is the one statement that does not wait while another process creates the same database.
                if "locked" not in str(error.__cause__) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def damaged(self) -> StoreError:
        """The error for content that cannot be read."""
        return StoreError(f"{self.where}: {ERROR_WORDS['sqlite']['malformed']}")

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn the errors of decoding stored values into StoreError: no JSON, no time, not the values of their table.

        Nothing else belongs into it: an error of other work is a mistake of this package, not of the database.
        """
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self.damaged() from error

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        self._check_file()  # before a new connection would make another file
        with self._errors_in_words(), self._engine.execution_options(**{_BEGIN: begin}).connect() as connection:
            if self._server is not None:
                level = "REPEATABLE READ" if begin == _TO_READ else "READ COMMITTED"
                connection.execution_options(isolation_level=level)
            with connection.begin():
                if self._server is not None:
                    self._server.limit(connection)
                yield connection
            self._check_file()

    def _check_file(self) -> None:
        """Raise ReplacedError if the file of the database is another one than at first."""
        self._identity = self._identity or self._found_identity()
        if self.is_replaced:
            raise ReplacedError(
                f"{self.where}: was deleted or replaced while it was in use; put the file back, and start again"
            )

    @property
    def is_replaced(self) -> bool:
        """Whether the path no longer leads to the open file: what is written to that is lost."""
        return self._identity is not None and self._identity != self._found_identity()

    def _found_identity(self) -> tuple[int, int] | None:
        try:
            status = None if self.file is None else self.file.stat()
        except OSError:
            return None
        return status and (status.st_dev, status.st_ino)

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        """Turn the errors of the driver into StoreError."""
        try:
            yield
        except IntegrityError as error:
            if self._is_whole():
                raise  # a mistake of this package, never of the user
            raise self.damaged() from error
        except DBAPIError as error:
            text = printable(" ".join(str(error.orig).split()))
            if self._server is not None and self._server.is_lost(error):
                raise LostError(f"{self.where}: cannot be reached: {text}") from error
            raise StoreError(f"{self.where}: {self._meaning(error, text)}") from error

    def _meaning(self, error: DBAPIError, text: str) -> str:
        """What an error of the driver means to the user."""
        if self._server is not None:
            words = self._server.words(error)
        else:
            words = next((words for sign, words in ERROR_WORDS["sqlite"].items() if sign in text), None)
        return f"cannot be used: {text}" if words is None else words.format(wait=self.wait)

    def _is_whole(self) -> bool:
        """Whether SQLite finds no damage in its file; a server checks itself."""
        if self.kind != "sqlite":
            return True
        with self._transaction(_TO_READ) as connection:
            return connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() == "ok"


def insert_all(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows, each with its checksum. Without rows, the statement would insert a row of defaults."""
    if rows:
        connection.execute(insert(table), [sealed(table, row) for row in rows])


def _address(place: str | Path) -> tuple[URL, str]:
    """The URL of the database, and its name in messages."""
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


def _check_place(path: Path, create: bool) -> None:
    """Refuse a path that SQLite would explain badly, wait for, or create without need."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not create:
            raise StoreError(f"{path}: no such database; `scorer run` creates it") from None
        if not path.parent.is_dir():
            raise StoreError(f"{path}: there is no folder {path.parent}; create it, or give another path") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{printable(str(path))}: cannot be used as a path ({error})") from error
    else:
        if stat.S_ISDIR(mode):
            raise StoreError(f"{path}: is a folder; give the path of a database file")
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path}: is not a file; give the path of a database file")


def _server(url: URL, where: str, wait: float) -> Server | None:
    if url.get_backend_name() != "postgresql":
        return None
    try:
        need_libraries("psycopg")
        from scorer.store.postgresql import Server  # noqa: PLC0415 (needs a driver that may not be installed)
    except ImportError as error:
        raise _not_installed(where, error) from error
    return Server(url, where, wait)


def _engine(url: URL, where: str, wait: float) -> Engine:
    try:
        if url.get_backend_name() != "sqlite":
            return create_engine(url, pool_pre_ping=True)
        engine = create_engine(url, connect_args={"timeout": wait})
    except ImportError as error:
        raise _not_installed(where, error) from error
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _not_installed(where: str, error: ImportError) -> StoreError:
    return StoreError(f"{where}: the driver of this database cannot be loaded: {error}")


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions, not the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # A recorded row must survive a power cut. SQLite refuses to change this within a transaction.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if begin := connection.get_execution_options().get(_BEGIN, _TO_READ):
        connection.exec_driver_sql(begin)
