"""Checks of a database: the file, the record, and whether the derived rows can be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sqlalchemy import select

from scorer.errors import StoreError
from scorer.scoring.compact import unpack_hits
from scorer.store.database import Database
from scorer.store.records import Basis
from scorer.store.schema import result_table
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store, result_digest

RESTORE = "restore a backup of the database"
DERIVE = "restore a backup, or delete this row and let `scorer run` make it again"


def file_problems(database: Database) -> Iterator[str]:
    """Problems of the file of an SQLite database, as SQLite itself finds them; a server checks itself."""
    if database.kind != "sqlite":
        return
    with database.reading() as connection:
        for (found,) in connection.exec_driver_sql("PRAGMA integrity_check(10)"):
            if found != "ok":
                yield f"{database.where}: {found}; {RESTORE}"
        for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield f"{database.where}: a row of {row[0]} refers to a missing row of {row[2]}; {RESTORE}"


def record_problems(view: Snapshot) -> Iterator[str]:
    """Gaps in the record, and events that refer to unknown submissions."""
    known: set[tuple[str, str, str]] = set()
    for expected, event in enumerate(view.events(), 1):
        if event.index != expected:
            yield f"event {expected} is missing: the next one is {event.index}; {RESTORE}"
            return
        if event.kind == "basis":
            continue
        key = event.track, event.body["file"], event.body["digest"]
        if event.kind == "arrival":
            known.add(key)
        elif key not in known:
            yield f"event {event.index}: the {event.kind} of {key[1]}, which never arrived; {RESTORE}"


def derived_problems(store: Store) -> Iterator[str]:
    """Solutions and results that cannot be read, or that have the wrong key."""
    ideals = {}
    rows = select(
        result_table.c.digest,
        result_table.c.submission_digest,
        result_table.c.solution_digest,
        result_table.c.matching_digest,
        result_table.c.status,
        result_table.c.hits,
    )
    with store.database.reading() as connection:
        view = Snapshot(connection, store.database)
        for digest in view.solution_digests():
            try:
                ideals[digest] = view.solution(digest).ideal
            except StoreError:
                yield f"the solution {digest[:12]} is damaged; {DERIVE}"
        for row in connection.execute(rows.order_by(result_table.c.digest)):
            where = f"the result {row.digest[:12]} of the submission {row.submission_digest[:12]}"
            if row.digest != result_digest(row.submission_digest, Basis(row.solution_digest, row.matching_digest)):
                yield f"{where} has the wrong key; {DERIVE}"
            elif row.status == "scored" and row.solution_digest in ideals:
                try:
                    view.unpacked(row.hits, partial(unpack_hits, ideal=ideals[row.solution_digest]))
                except StoreError:
                    yield f"{where} is damaged; {DERIVE}"
