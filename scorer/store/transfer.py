"""Checks and repairs a database, and moves its rows to another database in a bundle.

A bundle has the recorded rows, and the derived rows that cannot be computed without the files.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import TypeEngine

from scorer import __version__
from scorer.errors import Problem, StoreError
from scorer.lists import Counts
from scorer.measures.matched import Matched
from scorer.record.events import (
    INVALID,
    ArrivalBody,
    FileBody,
    bodies,
    is_whole_number,
    need,
    need_digest,
    need_time,
    read_json,
)
from scorer.record.log import LOG_VERSION
from scorer.scoring.outcomes import FailureKind, check_expansion, check_ids, check_values, unpack_hits
from scorer.store import schema as db
from scorer.store.database import AT_A_TIME, Database, insert_all
from scorer.store.events import Basis, BasisBody, ErratumBody, StoredSolution, body_of, unknown_keys
from scorer.store.migrations import MIGRATIONS, back_up, version_of
from scorer.store.rows import delete_results, result_digest
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store, now
from scorer.wording import joined, printable_name, quoted

_BACKUP = ".before-repair-{time:%Y%m%dT%H%M%S%fZ}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is repaired."""

_CAN = "can be derived again; " + db.REPAIR
_CANNOT = "cannot be derived again; " + db.RESTORE


def file_problems(database: Database) -> Iterator[str]:
    """Problems of the file of an SQLite database, as SQLite itself finds them; a server checks itself."""
    if database.kind != "sqlite":
        return
    with database.reading() as connection:
        for (problem,) in connection.exec_driver_sql("PRAGMA integrity_check(10)"):
            if problem != "ok":
                yield f"{database.where}: {problem}; {db.REPAIR}; if the problem remains, {db.RESTORE}"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield f"{database.where}: a row of {row[0]} refers to a missing row of {row[2]}; {db.REPAIR}"


def record_problems(store: Store) -> Iterator[str]:
    """Damaged rows of recorded tables, missing events, and events with unknown submissions or keys."""
    problems = list(_checksum_problems(store.database, db.RECORDED))
    yield from problems
    if problems:
        return
    try:
        events = store.read(lambda view: view.events())
    except StoreError as error:
        yield str(error)
        return
    recorded: set[tuple[str, str]] = set()
    for event in events:
        body = event.body
        if isinstance(body, ArrivalBody):
            recorded.add((event.track, body.digest))
        elif isinstance(body, FileBody) and (event.track, body.digest) not in recorded:
            file = printable_name(body.file)
            yield f"event {event.index}: the {event.kind} of {file}, which never arrived; {db.RESTORE}"
        if unknown := unknown_keys(event.kind, event.values):
            keys = joined([quoted(key) for key in dict.fromkeys(unknown)])
            yield f"event {event.index} ({event.kind}): has the unknown {keys}; pages leave it out, the archive cannot"


def derived_problems(store: Store) -> Iterator[str]:
    """Damaged rows of derived tables, and solutions and results that cannot be read."""
    problems = list(_checksum_problems(store.database, db.DERIVED))
    yield from problems or store.read(lambda view: list(unreadable_rows(view)))


def unreadable_rows(view: Snapshot) -> Iterator[str]:
    """Solutions and results that cannot be read although their checksums are right."""
    results = (
        sa.select(*db.all_columns(db.result_table))
        .order_by(db.result_table.c.digest)
        .execution_options(yield_per=AT_A_TIME)
    )
    bases = [body for _, body in bodies(view.events(), BasisBody)]
    bases += [body.basis for _, body in bodies(view.events(), ErratumBody)]
    second = {(basis.solution, basis.matching): basis.checked for basis in bases if basis.checked}

    def second_of(solution: str, matching: str) -> str | None:
        """The digest of the second solution of a result, also of one that was forgotten."""
        own = matching.rpartition(":")[2]
        return next((checked for (of, by), checked in second.items() if of == solution and by.startswith(own)), None)

    for digest in view.solution_digests():
        solution = None
        try:
            solution = view.solution(digest)
        except StoreError:
            yield f"the solution {digest[:12]} cannot be read; it {_CAN}"
        for row in view.connection.execute(results.where(db.result_table.c.solution_digest == digest)):
            if row.digest != result_digest(row.submission_digest, Basis(row.solution_digest, row.matching_digest)):
                yield f"the result {row.digest[:12]} has the wrong key; it {_CAN}"
            elif row.status == "scored" and solution is not None:
                try:
                    checked = second_of(digest, row.matching_digest)
                    again = view.solution(checked) if checked else None
                    matched = view.unpacked(row.hits, partial(_matched, solution=solution, again=again))
                except StoreError:
                    yield f"the result {row.digest[:12]} cannot be read; it {_CAN}"
                    continue
                if not _has_counts_of(row.counts, matched):
                    yield f"the result {row.digest[:12]} has other counts than its lists; it {_CAN}"


def _matched(hits: bytes, solution: StoredSolution, again: StoredSolution | None) -> Matched:
    """The judged items of a submission. Raises DamagedError if they cannot be those of lists for the solutions."""
    matched = unpack_hits(hits, solution.ideal, None if again is None else again.ideal)
    check_values(matched, len(solution.query_ids))
    if again is not None and matched.checked is not None:
        check_values(matched.checked, len(again.query_ids))
    return matched


def _has_counts_of(text: str, matched: Matched) -> bool:
    """Whether stored counts are possible for a match. Some counts follow from it, and others have bounds."""
    try:
        counts = Counts(**json.loads(text))
        in_solution = counts.items if counts.in_solution is None else counts.in_solution
        ranked = int(matched.retrieved.sum())
        were_dropped = ranked == len(matched.found) < counts.items  # items that are not judged have no rank then
        return bool(
            counts.queries == matched.queries
            and (counts.items == ranked or were_dropped)
            and np.count_nonzero(matched.retrieved) <= counts.answered <= counts.queries
            and 0 <= counts.overlong <= counts.answered
            and len(matched.found) <= in_solution <= counts.items
            and min(counts.unknown, counts.repeated) >= 0
        )
    except (TypeError, ValueError, RecursionError):
        return False


def _checksum_problems(database: Database, names: Collection[str]) -> Iterator[str]:
    """The damaged rows of these tables, and whether each can be derived again."""
    for table in db.tables.sorted_tables:
        if table.name in names:
            try:
                yield from database.retried(partial(_wrong_checksums, database, table))
            except StoreError as error:
                yield f"the table {table.name} cannot be read ({error})"


def _wrong_checksums(database: Database, table: sa.Table) -> list[str]:
    remedy = _CAN if table.name in db.DERIVED else _CANNOT
    with database.reading() as connection, _any_text(connection):
        damaged = _damaged(connection, table)
        return [f"{db.row_name(table, values)} has the wrong checksum; it {remedy}" for _, values in damaged]


def repair(store: Store) -> tuple[Path | None, dict[str, int]]:
    """Delete the derived rows that are damaged, so that they are derived again; recorded rows stay as they are.

    On SQLite the indexes of the derived tables are made again, too. Returns the backup that was made of an SQLite file,
    and how many rows of each table were deleted. Raises StoreError if the backup cannot be written, or the file is too
    damaged to delete rows from it.
    """
    database = store.database
    backup = None
    if database.file is not None:
        backup = database.file.with_name(database.file.name + _BACKUP.format(time=now()))
        back_up(database.file, backup, "a repair")
    deleted: Counter[str] = Counter()
    with database.writing() as connection, _any_text(connection):
        if database.kind == "sqlite":
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            for table in db.tables.sorted_tables:
                if table.name in db.DERIVED and table is not db.mean_table:
                    connection.exec_driver_sql(f"REINDEX {table.name}")
        for table in (db.mean_table, db.scanned_file_table):
            # These are made again as a whole at little cost, and a damaged key cannot be found in an order of keys.
            if any(_damaged(connection, table)):
                deleted[table.name] += connection.execute(sa.delete(table)).rowcount
        for table in (db.cached_table, db.failure_table, db.last_run_table, db.result_table, db.solution_table):
            for place, (key, *_) in list(_damaged(connection, table)):
                deleted[table.name] += _delete(connection, table, place, key)
        solutions = sa.select(db.solution_table.c.digest)
        deleted[db.result_table.name] += delete_results(connection, db.result_table.c.solution_digest.not_in(solutions))
        results = sa.select(db.result_table.c.digest)
        orphans = sa.delete(db.mean_table).where(db.mean_table.c.result_digest.not_in(results))
        deleted[db.mean_table.name] += connection.execute(orphans).rowcount
    return backup, {name: count for name, count in deleted.items() if count}


def _damaged(connection: sa.Connection, table: sa.Table) -> Iterator[tuple[int | None, Sequence[Any]]]:
    """The values of each row with the wrong checksum, and its place in SQLite; None elsewhere, and for means."""
    has_rowid = connection.dialect.name == "sqlite" and table is not db.mean_table
    rowid: sa.ColumnElement[Any] = sa.literal_column("rowid") if has_rowid else sa.null()
    statement = sa.select(rowid, *db.all_columns(table)).with_hint(table, "NOT INDEXED", "sqlite")
    for place, *values in connection.execute(statement):
        if not db.is_whole(table, values):
            yield place, values


def _delete(connection: sa.Connection, table: sa.Table, place: int | None, key: Any) -> int:
    """Delete a damaged row, and on a server what refers to it."""
    if place is not None:
        # A damaged key is not found. What referred to it is deleted afterwards.
        return connection.execute(sa.delete(table).where(sa.literal_column("rowid") == place)).rowcount
    if table is db.solution_table:
        delete_results(connection, db.result_table.c.solution_digest == key)
    if table is db.result_table:
        return delete_results(connection, db.result_table.c.digest == key)
    (column,) = table.primary_key
    return connection.execute(sa.delete(table).where(column == key)).rowcount


@contextmanager
def _any_text(connection: sa.Connection) -> Iterator[None]:
    """Let SQLite return text that is not UTF-8, which a damaged row may have."""
    driver = connection.connection.dbapi_connection
    if connection.dialect.name != "sqlite" or driver is None:
        yield
        return
    before, driver.text_factory = driver.text_factory, lambda text: text.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = before


_BUNDLED = ("scorer_schema", "event", "solution", "result", "failure", "last_run", "folder_look")
BUNDLED_TABLES: Mapping[str, sa.Table] = {name: db.tables.tables[name] for name in _BUNDLED}
"""The tables in a bundle, in the order in which their rows are inserted."""

VERSIONS = range(min(MIGRATIONS), db.SCHEMA_VERSION + 1)
"""The schema versions of bundles that are read."""

SCHEMA_TABLE, EVENT_TABLE = db.schema_table.name, db.event_table.name

_Row = dict[str, Any]
"""The values of a row by the names of its columns, as JSON has them."""

RowsOf = Callable[[str], Iterable[Mapping[str, Any]]]
"""Returns all rows of the table with a name."""


class InvalidRowsError(StoreError):
    """The rows of a bundle cannot be those of a database."""


_LEFT_OUT = frozenset({"checksum", "hits_checksum"})

_LONGEST = 200_000
"""Characters of a text but the body of an event: findings are few and short."""


def dumped(view: Snapshot, name: str) -> Iterator[_Row]:
    """All rows of a table in a bundle, by their keys. Raises StoreError if one is damaged, or an event is missing."""
    table = BUNDLED_TABLES[name]
    if table is db.event_table:
        _ = view.all_events  # an event may be missing, too
    columns = _columns(table)
    for row in view.all_rows(table):
        values = row._mapping
        yield {column.name: _plain(values[column]) for column in columns}


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
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
        db.tables.create_all(connection)
        for name, table in BUNDLED_TABLES.items():
            entering = (_entering(table, row, number, version, most) for number, row in enumerate(rows(name), 1))
            while chosen := list(islice(entering, AT_A_TIME)):
                try:
                    insert_all(connection, table, chosen)
                except IntegrityError as error:
                    reason = "two rows have the same key, or one names a solution that has no row"
                    raise InvalidRowsError(f"table {name}: {reason}; export it again") from error
        view = Snapshot(connection, database)
        if len(list(view.all_rows(db.schema_table))) != 1:
            raise InvalidRowsError("does not have one row of the schema; export it again")
        _ = view.all_events  # an event may be missing
        if problem := next(unreadable_rows(view), ""):
            raise InvalidRowsError(f"{problem.partition(';')[0]}; export it again")
        return True


def unload(database: Database) -> None:
    """Drop the tables that `load` created, or delete their file. Raises StoreError if the database fails."""
    with database.migrating() as connection:
        db.tables.drop_all(connection)
    database.close()
    if database.file is not None:
        database.file.unlink()


def _check_same(connection: sa.Connection, database: Database, rows: RowsOf) -> None:
    """Refuse a database that does not have exactly the record of the bundle."""
    row = Snapshot(connection, database).schema_row
    bundled = next(iter(rows(SCHEMA_TABLE)), {})
    if row.version != db.SCHEMA_VERSION or any(getattr(row, key) != bundled.get(key) for key in ("identity", "salt")):
        raise StoreError(
            f"{database.where}: is in use by another challenge; name an empty database, or delete its tables"
        )
    statement = db.select_rows(db.event_table).order_by(db.event_table.c.index)
    recorded = [
        tuple(event)[:-1] for event in db.verified(db.event_table, connection.execute(statement), database.where)
    ]
    names = [column.name for column in _columns(db.event_table)]
    if recorded != [tuple(row.get(name) for name in names) for row in rows(EVENT_TABLE)]:
        raise StoreError(
            f"{database.where}: has another record of this challenge, which has gone on since it was imported; name an "
            "empty database, or go on in the folder that uses it"
        )


def _entering(table: sa.Table, row: Mapping[str, Any], number: int, version: int, most: int) -> _Row:
    """The values of a row as the database has them. Raises InvalidRowsError."""
    columns = _columns(table)
    if table is db.event_table and version < 6:
        row = {**row, "log": None}
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
    if table is db.schema_table:
        values |= {"scorer": __version__, "version": db.SCHEMA_VERSION}
    if table is db.result_table:
        values["hits_checksum"] = db.hits_checksum(values["hits"])
    return values


def _check_row(table: sa.Table, row: Any) -> None:
    """Check what the type and the value of one column do not show. Raises an error of `INVALID`."""
    if table is db.event_table:
        body_of(row.kind, read_json(row.body))
    if table is db.solution_table:
        check_ids(row.queries, row.flagged)
    if table is db.result_table:
        need({row.hits is not None, row.counts is not None} == {row.status == "scored"})
    if table is db.look_table:
        for at in read_json(row.unread).values():
            need_time(row.at if at is None else at)
    if table is db.failure_table:
        need(row.kind in get_args(FailureKind))


def _check_findings(text: str) -> None:
    findings = read_json(text)
    shown = findings["shown"]
    need(
        is_whole_number(findings["count"])
        and all(is_whole_number(line) and type(said) is str for line, said, *_ in shown)
        and all(isinstance(each[2], dict) and Problem(*each).text for each in shown if len(each) > 2)
    )


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "salt": need_digest,
    "revision": lambda value: need(value >= 0),
    "at": need_time,
    "status": lambda value: need(value in ("scored", "rejected")),
    "findings": _check_findings,
    "limits": lambda value: need(all(map(is_whole_number, read_json(value).values()))),
    "attempts": lambda value: need(value >= 0),
    "log": lambda value: need(value == LOG_VERSION),
}
"""By the name of a column: raises an error of `INVALID` for a value that it cannot have."""

_COMPRESSED = {"queries": 0, "ideal": 4, "hits": 4}
"""By the name of a column: where the compressed bytes of a value begin."""


def _value(column: sa.Column[Any], value: Any, most: int) -> Any:
    """The value of a column as the database has it. Raises an error of `INVALID`."""
    if value is None:
        need(column.nullable)
        return None
    if isinstance(column.type, sa.LargeBinary):
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
    if isinstance(kind, sa.Integer):
        limit = 1 << (63 if isinstance(kind, sa.BigInteger) else 31)
        return type(value) is int and -limit <= value < limit
    return (
        isinstance(value, str)
        and value == db.storable(value)
        and len(value) <= (getattr(kind, "length", None) or len(value))
    )


def _invalid(table: sa.Table, number: int, found: str) -> InvalidRowsError:
    return InvalidRowsError(f"table {table.name}, row {number:,}: {found}; export it again")
