"""Rows that leave a database in a bundle, and that enter another database.

These are the recorded rows, and the derived ones that cannot be computed without the files. Rows are plain values:
bytes are Base64, and checksums are left out, because those of a bundle are its digests. A later schema brings the rows
of an earlier bundle forward before it inserts them, as its step does with those of a database.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any, get_args

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, Table
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import TypeEngine

from scorer import __version__
from scorer.errors import StoreError
from scorer.scoring.compact import check_expansion, check_ids
from scorer.scoring.outcomes import FailureKind
from scorer.store.checksums import hits_checksum, rows_of, verified
from scorer.store.database import AT_A_TIME, Database, insert_all
from scorer.store.events import INVALID, check_event, is_whole, need, need_digest, need_time, read_json
from scorer.store.integrity import unreadable_rows
from scorer.store.migrations import add_scans, version_of
from scorer.store.schema import (
    SCHEMA_VERSION,
    event_table,
    failure_table,
    last_run_table,
    look_table,
    result_table,
    schema_table,
    solution_table,
    storable,
    tables,
)
from scorer.store.snapshot import Snapshot
from scorer.wording import quoted

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (schema_table, event_table, solution_table, result_table, failure_table, last_run_table, look_table)
}
"""The tables in a bundle, in the order in which their rows are inserted."""

VERSIONS = range(4, SCHEMA_VERSION + 1)
"""The schema versions of bundles that are read."""

SCHEMA, EVENTS = schema_table.name, event_table.name

Row = dict[str, Any]
"""The values of a row by the names of its columns, as JSON has them."""

RowsOf = Callable[[str], Iterable[Mapping[str, Any]]]
"""Returns all rows of the table with a name."""


class InvalidRowsError(StoreError):
    """The rows of a bundle cannot be those of a database."""


_LEFT_OUT = frozenset({"checksum", "hits_checksum"})

_LONGEST = 200_000
"""Characters of a text but the body of an event: findings are few and short."""


def dumped(view: Snapshot, name: str) -> Iterator[Row]:
    """All rows of a table in `TABLES`, in the order of their keys. Raises StoreError if one is damaged or missing."""
    table = TABLES[name]
    if table is event_table:
        _ = view.all_events  # an event may be missing, too
    for index in table.indexes:
        view.complete(table, str(index.name))
    columns = _columns(table)
    for row in view.all_rows(table):
        values = row._mapping
        yield {column.name: _plain(values[column]) for column in columns}


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if column.name not in _LEFT_OUT]


def load(database: Database, rows: RowsOf, version: int, most: int) -> bool:
    """Create the tables of a database and insert all rows, in one transaction. Returns whether they were inserted.

    A database that has the same record already is left as it is, so that an import that was killed can be repeated.
    `version` is that of the schema of the rows, which are not trusted; `most` the bytes that a compressed value may
    grow to. Raises InvalidRowsError for an invalid row, and StoreError if the database fails, is used by another
    challenge, or has gone on since it was imported.
    """
    database.set_wal()
    return database.retried(partial(_load, database, rows, version, most))


def _load(database: Database, rows: RowsOf, version: int, most: int) -> bool:
    with database.migrating() as connection:
        if version_of(connection, database) is not None:
            _check_same(connection, database, rows)
            return False
        tables.create_all(connection)
        for name, table in TABLES.items():
            if table is look_table and version < 5:
                add_scans(connection)
                continue
            entering = (_entering(table, row, number, most) for number, row in enumerate(rows(name), 1))
            while chosen := list(islice(entering, AT_A_TIME)):
                try:
                    insert_all(connection, table, chosen)
                except IntegrityError as error:
                    found = "two rows have the same key, or one names a solution that has no row"
                    raise InvalidRowsError(f"table {name}: {found}; export it again") from error
        view = Snapshot(connection, database)
        if len(list(view.all_rows(schema_table))) != 1:
            raise InvalidRowsError("does not have one row of the schema; export it again")
        _ = view.all_events  # an event may be missing
        for problem in unreadable_rows(view):
            raise InvalidRowsError(f"{problem.partition(';')[0]}; export it again")
        return True


def unload(database: Database) -> None:
    """Drop the tables that `load` created, or delete their file. Raises StoreError if the database fails."""
    with database.migrating() as connection:
        tables.drop_all(connection)
    database.close()
    if database.file is not None:
        database.file.unlink()


def _check_same(connection: Connection, database: Database, rows: RowsOf) -> None:
    """Refuse a database that does not have exactly the record of the bundle."""
    row = Snapshot(connection, database).schema_row
    bundled = next(iter(rows(SCHEMA)), {})
    if row.version != SCHEMA_VERSION or any(getattr(row, key) != bundled.get(key) for key in ("identity", "salt")):
        raise StoreError(
            f"{database.where}: is in use by another challenge; name an empty database, or delete its tables"
        )
    statement = rows_of(event_table).order_by(event_table.c.index)
    recorded = [tuple(event)[:-1] for event in verified(event_table, connection.execute(statement), database.where)]
    names = [column.name for column in _columns(event_table)]
    if recorded != [tuple(row.get(name) for name in names) for row in rows(EVENTS)]:
        raise StoreError(
            f"{database.where}: has another record of this challenge, which has gone on since it was imported; name an "
            "empty database, or go on in the folder that uses it"
        )


def _entering(table: Table, row: Mapping[str, Any], number: int, most: int) -> Row:
    """The values of a row as the database has them. Raises InvalidRowsError."""
    columns = _columns(table)
    if row.keys() != {column.name for column in columns}:
        raise _invalid(table, number, "it does not have the columns of the table")
    values = {}
    for column in columns:
        try:
            values[column.name] = _value(column, row[column.name], most)
        except INVALID as error:
            raise _invalid(table, number, f"{column.name} is {quoted(str(row[column.name]))}") from error
    try:
        _check_row(table, SimpleNamespace(**values))
    except INVALID as error:
        raise _invalid(table, number, "its values cannot belong together") from error
    if table is schema_table:
        values |= {"scorer": __version__, "version": SCHEMA_VERSION}
    if table is result_table:
        values["hits_checksum"] = hits_checksum(values["hits"])
    return values


def _check_row(table: Table, row: Any) -> None:
    """Check what the type and the value of one column do not show. Raises an error of `INVALID`."""
    if table is event_table:
        check_event(row.kind, read_json(row.body))
    if table is solution_table:
        check_ids(row.queries, row.flagged)
    if table is result_table:
        need({row.hits is not None, row.counts is not None} == {row.status == "scored"})
    if table is look_table:
        for at in read_json(row.unread).values():
            need_time(row.at if at is None else at)
    if table is failure_table:
        need(row.kind in get_args(FailureKind))


def _check_findings(text: str) -> None:
    findings = read_json(text)
    shown = findings["shown"]
    need(is_whole(findings["count"]) and all(is_whole(line) and type(problem) is str for line, problem in shown))


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "salt": need_digest,
    "revision": lambda value: need(value >= 0),
    "at": need_time,
    "status": lambda value: need(value in ("scored", "rejected")),
    "findings": _check_findings,
    "limits": lambda value: need(all(map(is_whole, read_json(value).values()))),
    "attempts": lambda value: need(value >= 0),
}
"""By the name of a column: raises an error of `INVALID` for a value that it cannot have."""

_COMPRESSED = {"queries": 0, "ideal": 4, "hits": 4}
"""By the name of a column: where the compressed bytes of a value begin."""


def _value(column: Column[Any], value: Any, most: int) -> Any:
    """The value of a column as the database has it. Raises an error of `INVALID`."""
    if value is None:
        need(column.nullable)
        return None
    if isinstance(column.type, LargeBinary):
        value = base64.b64decode(value, validate=True)
        if column.name in _COMPRESSED:
            check_expansion(value[_COMPRESSED[column.name] :], most)
        return value
    need(_is_possible(column.type, value))
    if column.name in _CHECKS:
        need(isinstance(value, int) or len(value) <= _LONGEST)
        _CHECKS[column.name](value)
    return value


def _is_possible(kind: TypeEngine[Any], value: Any) -> bool:
    """Whether a column of this type can have a value, which is a number or text."""
    if isinstance(kind, Integer):
        limit = 1 << (63 if isinstance(kind, BigInteger) else 31)
        return type(value) is int and -limit <= value < limit
    return (
        isinstance(value, str)
        and value == storable(value)
        and len(value) <= (getattr(kind, "length", None) or len(value))
    )


def _invalid(table: Table, number: int, found: str) -> InvalidRowsError:
    return InvalidRowsError(f"table {table.name}, row {number:,}: {found}; export it again")
