"""Checks of a database: the file, the checksums, the record, and whether derived rows can be read; and its repair."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, delete, literal_column, null, select

from scorer.errors import StoreError
from scorer.matching.counts import Counts
from scorer.measures.matched import Matched
from scorer.scoring.compact import check_values, unpack_hits
from scorer.store.checksums import REPAIR, RESTORE, all_columns, is_whole, row_name
from scorer.store.database import AT_A_TIME, Database
from scorer.store.events import ABOUT_SUBMISSIONS
from scorer.store.migrations import back_up
from scorer.store.records import Basis, StoredSolution
from scorer.store.schema import (
    DERIVED,
    RECORDED,
    cached_table,
    failure_table,
    last_run_table,
    mean_table,
    result_table,
    scanned_file_table,
    solution_table,
    tables,
)
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store, now
from scorer.store.writing import delete_results, result_digest
from scorer.wording import printable_name

BACKUP = ".before-repair-{time:%Y%m%dT%H%M%S%fZ}.backup"
"""Ends the name of the backup that is made of an SQLite file before it is repaired."""

_CAN = "can be derived again; " + REPAIR
_CANNOT = "cannot be derived again; " + RESTORE


def file_problems(database: Database) -> Iterator[str]:
    """Problems of the file of an SQLite database, as SQLite itself finds them; a server checks itself."""
    if database.kind != "sqlite":
        return
    with database.reading() as connection:
        for (found,) in connection.exec_driver_sql("PRAGMA integrity_check(10)"):
            if found != "ok":
                yield f"{database.where}: {found}; {REPAIR}; if the problem remains, {RESTORE}"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield f"{database.where}: a row of {row[0]} refers to a missing row of {row[2]}; {REPAIR}"


def record_problems(store: Store) -> Iterator[str]:
    """Damaged rows of recorded tables, missing events, and events that refer to unknown submissions."""
    problems = list(_checksum_problems(store.database, RECORDED))
    yield from problems
    if problems:
        return
    try:
        events = store.read(lambda view: view.events())
    except StoreError as error:
        yield str(error)
        return
    known: set[tuple[str, str]] = set()
    for event in events:
        if event.kind == "arrival":
            known.add((event.track, event.body["digest"]))
        elif event.kind in ABOUT_SUBMISSIONS and (event.track, event.body["digest"]) not in known:
            file = printable_name(event.body["file"])
            yield f"event {event.index}: the {event.kind} of {file}, which never arrived; {RESTORE}"


def derived_problems(store: Store) -> Iterator[str]:
    """Damaged rows of derived tables, and solutions and results that cannot be read."""
    problems = list(_checksum_problems(store.database, DERIVED))
    yield from problems
    if problems:
        return
    yield from store.read(lambda view: list(unreadable_rows(view)))


def unreadable_rows(view: Snapshot) -> Iterator[str]:
    """Solutions and results that cannot be read although their checksums are right."""
    results = select(*all_columns(result_table)).order_by(result_table.c.digest).execution_options(yield_per=AT_A_TIME)
    for digest in view.solution_digests():
        solution = None
        try:
            solution = view.solution(digest)
        except StoreError:
            yield f"the solution {digest[:12]} cannot be read; it {_CAN}"
        for row in view.connection.execute(results.where(result_table.c.solution_digest == digest)):
            if row.digest != result_digest(row.submission_digest, Basis(row.solution_digest, row.matching_digest)):
                yield f"the result {row.digest[:12]} has the wrong key; it {_CAN}"
            elif row.status == "scored" and solution is not None:
                try:
                    matched = view.unpacked(row.hits, partial(_matched, solution=solution))
                except StoreError:
                    yield f"the result {row.digest[:12]} cannot be read; it {_CAN}"
                    continue
                if not _has_counts_of(row.counts, matched):
                    yield f"the result {row.digest[:12]} has other counts than its lists; it {_CAN}"


def _matched(hits: bytes, solution: StoredSolution) -> Matched:
    """The judged items of a submission. Raises DamagedError if they cannot be those of lists for the solution."""
    matched = unpack_hits(hits, solution.ideal)
    check_values(matched, len(solution.query_ids))
    return matched


def _has_counts_of(text: str, matched: Matched) -> bool:
    """Whether stored counts are possible for a match. Some counts follow from it, and others have bounds."""
    try:
        counts = Counts(**json.loads(text))
        in_solution = counts.items if counts.in_solution is None else counts.in_solution
        return bool(
            (counts.queries, counts.items) == (matched.queries, int(matched.retrieved.sum()))
            and np.count_nonzero(matched.retrieved) <= counts.answered <= counts.queries
            and 0 <= counts.overlong <= counts.answered
            and len(matched.found) <= in_solution <= counts.items
            and min(counts.unknown, counts.repeated) >= 0
        )
    except (TypeError, ValueError, RecursionError):
        return False


def _checksum_problems(database: Database, names: Collection[str]) -> Iterator[str]:
    """The damaged rows of these tables, and whether each can be derived again."""
    for table in tables.sorted_tables:
        if table.name in names:
            try:
                yield from database.retried(partial(_wrong_checksums, database, table))
            except StoreError as error:
                yield f"the table {table.name} cannot be read ({error})"


def _wrong_checksums(database: Database, table: Table) -> list[str]:
    remedy = _CAN if table.name in DERIVED else _CANNOT
    with database.reading() as connection, _any_text(connection):
        damaged = _damaged(connection, table)
        return [f"{row_name(table, values)} has the wrong checksum; it {remedy}" for _, values in damaged]


def repair(store: Store) -> tuple[Path | None, dict[str, int]]:
    """Delete the derived rows that are damaged, so that they are derived again; recorded rows stay as they are.

    On SQLite the indexes of the derived tables are made again, too. Returns the backup that was made of an SQLite file,
    and how many rows of each table were deleted. Raises StoreError if the backup cannot be written, or the file is too
    damaged to delete rows from it.
    """
    database = store.database
    backup = None
    if database.file is not None:
        backup = database.file.with_name(database.file.name + BACKUP.format(time=now()))
        back_up(database.file, backup, "a repair")
    deleted: Counter[str] = Counter()
    with database.writing() as connection, _any_text(connection):
        if database.kind == "sqlite":
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            for table in tables.sorted_tables:
                if table.name in DERIVED and table is not mean_table:
                    connection.exec_driver_sql(f"REINDEX {table.name}")
        for table in (mean_table, scanned_file_table):
            # These are made again as a whole at little cost, and a damaged key cannot be found in an order of keys.
            if any(_damaged(connection, table)):
                deleted[table.name] += connection.execute(delete(table)).rowcount
        for table in (cached_table, failure_table, last_run_table, result_table, solution_table):
            for place, (key, *_) in list(_damaged(connection, table)):
                deleted[table.name] += _delete(connection, table, place, key)
        solutions = select(solution_table.c.digest)
        deleted[result_table.name] += delete_results(connection, result_table.c.solution_digest.not_in(solutions))
        results = select(result_table.c.digest)
        orphans = delete(mean_table).where(mean_table.c.result_digest.not_in(results))
        deleted[mean_table.name] += connection.execute(orphans).rowcount
    return backup, {name: count for name, count in deleted.items() if count}


def _damaged(connection: Connection, table: Table) -> Iterator[tuple[int | None, Sequence[Any]]]:
    """The place and the values of each row with the wrong checksum.

    The place is where SQLite has it; None elsewhere, and for means, whose rows are in the order of their keys.
    """
    has_rowid = connection.dialect.name == "sqlite" and table is not mean_table
    rowid: ColumnElement[Any] = literal_column("rowid") if has_rowid else null()
    statement = select(rowid, *all_columns(table)).with_hint(table, "NOT INDEXED", "sqlite")
    for place, *values in connection.execute(statement):
        if not is_whole(table, values):
            yield place, values


def _delete(connection: Connection, table: Table, place: int | None, key: Any) -> int:
    """Delete a damaged row, and on a server what refers to it."""
    if place is not None:
        # A damaged key is not found. What referred to it is deleted afterwards.
        return connection.execute(delete(table).where(literal_column("rowid") == place)).rowcount
    if table is solution_table:
        delete_results(connection, result_table.c.solution_digest == key)
    if table is result_table:
        return delete_results(connection, result_table.c.digest == key)
    (column,) = table.primary_key
    return connection.execute(delete(table).where(column == key)).rowcount


@contextmanager
def _any_text(connection: Connection) -> Iterator[None]:
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
