"""PostgreSQL: its connections, the limits on the time of its statements, and its errors in words.

Imported only for a database on a server: it needs the driver psycopg.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar, cast

import psycopg
from sqlalchemy import URL, Connection, create_engine, event, func, select
from sqlalchemy.exc import DBAPIError, OperationalError

from scorer.errors import StoreError
from scorer.store.schema import ERROR_WORDS, RETRY_EVERY

CONNECT_TIMEOUT = 10
"""Seconds that a server may take to answer, unless the URL sets another limit."""

STATEMENT_TIME = 1.0
"""Seconds that a statement may take in addition to the time that it may wait for a lock."""

_SILENCE = 2.0
"""Seconds of silence after which a server hangs, also in addition: it did not end the statement itself."""

_Result = TypeVar("_Result")


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server hangs."""

    silence: float | None = None
    """Seconds that the server may be silent during a statement; None: any time."""

    def wait(self, gen: Generator[Any, Any, _Result], *given: Any, **named: Any) -> _Result:
        """As in psycopg. Raises QueryCanceled, and closes the connection, if the server is silent for too long."""
        return super().wait(self._limited(gen), *given, **named)

    def _limited(self, communication: Generator[Any, Any, _Result]) -> Generator[Any, Any, _Result]:
        heard = time.monotonic()
        try:
            wanted = next(communication)
            while True:
                ready = yield wanted  # 0 at each interval in which nothing happened
                if ready:
                    heard = time.monotonic()
                elif self.silence is not None and time.monotonic() - heard > self.silence:
                    self.close()
                    raise psycopg.errors.QueryCanceled("the server does not answer")
                wanted = communication.send(ready)
        except StopIteration as end:
            return cast(_Result, end.value)


class Server:
    """A server with a database, and how to use it."""

    def __init__(self, url: URL, where: str, wait: float) -> None:
        """Prepare to connect. Raises StoreError for another driver than psycopg."""
        if url.get_driver_name() != "psycopg":
            raise StoreError(f"{where}: uses another driver than psycopg; begin the address with postgresql+psycopg://")
        self._where = where
        self._wait = wait
        # This program decides the encoding of the connection, not PGCLIENTENCODING or the address.
        query = {"connect_timeout": str(CONNECT_TIMEOUT), **url.query, "client_encoding": "UTF8"}
        self.engine = create_engine(
            url.update_query_dict(query), pool_pre_ping=True, pool_size=1, max_overflow=0, pool_timeout=wait
        )
        """With one connection at most, so that a role with CONNECTION LIMIT 1 can use the database."""
        event.listen(self.engine, "do_connect", self._connected)

    def open(self) -> None:
        """Connect, for the first transaction.

        A server that does not answer is not waited for. One that is starting, or has no connection free, is: the
        connection of a process that has just ended is still counted for a moment.
        """
        deadline = time.monotonic() + self._wait
        while True:
            try:
                self.engine.connect().close()
            except OperationalError as error:
                if not any(sign in str(error.orig) for sign in _NOT_YET) or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_EVERY)
            else:
                return

    def limit(self, connection: Connection, *, statements: bool = True) -> None:
        """Limit the time of this transaction: the wait for each lock, and unless excepted each statement."""
        driver = cast(LimitedConnection, connection.connection.dbapi_connection)
        driver.silence = self._wait + _SILENCE if statements else None
        limits = {
            "lock_timeout": max(1, round(1000 * self._wait)),
            "statement_timeout": round(1000 * (self._wait + STATEMENT_TIME)) if statements else 0,
            # This process may compute for a long time between two statements that read.
            "idle_in_transaction_session_timeout": 0,
        }
        connection.execute(select(*(func.set_config(name, str(value), True) for name, value in limits.items())))

    def words(self, error: DBAPIError) -> str | None:
        """What an error means to the user, with a place for `wait`; None if only the server can tell."""
        return ERROR_WORDS["postgresql"].get(_state(error))

    def is_lost(self, error: DBAPIError) -> bool:
        """Whether the server is gone or not up yet. It says so by SQLSTATE; an error without one means no answer."""
        state = _state(error)
        gone = isinstance(error, OperationalError) and (not state or state.startswith(("08", "57P")))
        return state not in ERROR_WORDS["postgresql"] and (gone or error.connection_invalidated)

    def _connected(self, _dialect: object, _record: object, _given: object, named: dict[str, Any]) -> LimitedConnection:
        """A new connection. Raises StoreError if the database is not encoded in UTF-8."""
        connection = LimitedConnection.connect(**named)
        connection.silence = self._wait + _SILENCE
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise StoreError(
                f"{self._where}: the database is encoded in {encoding}, but scorer needs UTF8; create another with "
                "`createdb --encoding=UTF8 --template=template0 NAME`, and name it as `database` in challenge.toml"
            )
        return connection


def _state(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


_NOT_YET = ("starting up", "shutting down", "recovery", "too many connections", "too many clients", "connection slots")
"""Parts of the messages of a server that does not accept a connection yet. It sends no SQLSTATE that libpq shows."""
