"""The rows of derived tables and of looks: how they are made, inserted and deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, insert, select

from scorer.errors import LONGEST
from scorer.scoring.means import Mean
from scorer.scoring.outcomes import Failed, Rejected, Summary
from scorer.scoring.rules import MEASURE_GENERATION
from scorer.store.canonical import encoded, iso
from scorer.store.checksums import all_columns, hits_checksum, is_whole, rows_of, sealed, verified
from scorer.store.database import insert_all
from scorer.store.records import Basis, FolderScan, ScannedFile
from scorer.store.rows import forgotten
from scorer.store.schema import failure_table, look_table, mean_table, result_table, scanned_file_table
from scorer.wording import shortened

_Row = dict[str, Any]


def result_digest(submission_digest: str, basis: Basis) -> str:
    """The key of a result and of a failure."""
    return hashlib.sha256(f"{submission_digest}\n{basis.solution}\n{basis.matching}".encode()).hexdigest()


def add(connection: Connection, table: Table, row: _Row) -> bool:
    """Insert a row unless its key exists. Returns whether it was inserted."""
    key = select(*table.primary_key).where(*(column == row[column.name] for column in table.primary_key))
    if connection.execute(key).first() is not None:
        return False
    connection.execute(insert(table), sealed(table, row))
    return True


def store_outcome(
    connection: Connection,
    submission_digest: str,
    basis: Basis,
    outcome: Summary | Rejected | Failed,
    at: datetime,
    where: str,
) -> bool:
    """Store an outcome unless there is a result. Returns whether anything was stored."""
    key = result_digest(submission_digest, basis)
    if isinstance(outcome, Failed):
        known = select(result_table.c.digest).where(result_table.c.digest == key)
        if connection.execute(known).first() is not None:
            return False
        of_key = rows_of(failure_table).where(failure_table.c.digest == key)
        before = sum(row.attempts for row in verified(failure_table, connection.execute(of_key), where))
        row = _keys(key, submission_digest, basis) | {
            "kind": outcome.kind,
            "reason": shortened(outcome.reason, LONGEST),
            "attempts": before + outcome.is_counted,
            "at": iso(at),
        }
        connection.execute(delete(failure_table).where(failure_table.c.digest == key))
        return add(connection, failure_table, row)
    cleared = connection.execute(delete(failure_table).where(failure_table.c.digest == key)).rowcount > 0
    if not add(connection, result_table, _result_row(key, submission_digest, basis, outcome)):
        return cleared
    if isinstance(outcome, Summary):
        insert_all(connection, mean_table, mean_rows(key, outcome.means))
    return True


def mean_rows(result: str, means: Mapping[tuple[str, str], Mean]) -> list[_Row]:
    """The rows of the means of a result."""
    return [
        {
            "result_digest": result,
            "measure": measure,
            "mask": mask,
            "generation": MEASURE_GENERATION,
            # SQLite stores -0.0 as 0.0.
            "value": None if mean.value is None else mean.value + 0.0,
            "undefined": mean.undefined,
        }
        for (measure, mask), mean in means.items()
    ]


def delete_results(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Delete the results that satisfy the conditions, with their means. Returns how many results were deleted."""
    chosen = select(result_table.c.digest).where(*conditions)
    connection.execute(delete(mean_table).where(mean_table.c.result_digest.in_(chosen)))
    return connection.execute(delete(result_table).where(*conditions)).rowcount


def drop_outcomes(connection: Connection, submission_digest: str, event: int | None) -> None:
    """Drop what became of a submission, by every basis; given an event, boards from before it still find it."""
    for table in (result_table, failure_table):
        chosen = table.c.submission_digest == submission_digest, table.c.matching_digest.not_like("%:%")
        kept = [] if event is None else list(_forgotten(connection, table, event, *chosen))
        if table is result_table:
            delete_results(connection, *chosen)
        connection.execute(delete(table).where(*chosen))
        insert_all(connection, table, kept)


def _forgotten(connection: Connection, table: Table, event: int, *chosen: ColumnElement[bool]) -> Iterator[_Row]:
    """The chosen results or failures, with the keys that they have after an event dropped them; no damaged ones."""
    for row in connection.execute(select(*all_columns(table)).where(*chosen)):
        if is_whole(table, row):
            basis = Basis(row.solution_digest, forgotten(row.matching_digest, event))
            key = result_digest(row.submission_digest, basis)
            yield {**row._mapping, **_keys(key, row.submission_digest, basis)}


def delete_failures(connection: Connection, basis: Basis, submission_digests: Collection[str] | None) -> int:
    """Delete the failures of these submissions by a basis, or of all submissions. Returns how many there were."""
    every = delete(failure_table).where(
        failure_table.c.solution_digest == basis.solution, failure_table.c.matching_digest == basis.matching
    )
    if submission_digests is None:
        return connection.execute(every).rowcount
    of_one = (every.where(failure_table.c.submission_digest == digest) for digest in set(submission_digests))
    return sum(connection.execute(statement).rowcount for statement in of_one)


def replace_scanned_files(
    connection: Connection, track: str, gone: Iterable[str], changed: Mapping[str, ScannedFile]
) -> None:
    """Delete the rows of scanned files that are gone or have changed, and insert those that have changed."""
    table = scanned_file_table
    of_file = delete(table).where(table.c.track == track, table.c.file == bindparam("name"))
    if old := [{"name": json.dumps(file)} for file in (*gone, *changed)]:
        connection.execute(of_file, old)
    rows = [
        {"track": track, "file": json.dumps(file), **{name: str(value) for name, value in asdict(scanned).items()}}
        for file, scanned in changed.items()
    ]
    insert_all(connection, table, rows)


def replace_scan(connection: Connection, track: str, scan: FolderScan) -> None:
    """Store the last scan of the folder of a track."""
    unread = {mark: at and iso(at) for mark, at in scan.unread.items()}
    connection.execute(delete(look_table).where(look_table.c.track == track))
    add(connection, look_table, {"track": track, "at": iso(scan.at), "unread": encoded(unread)})


def _keys(key: str, submission_digest: str, basis: Basis) -> _Row:
    return {
        "digest": key,
        "submission_digest": submission_digest,
        "solution_digest": basis.solution,
        "matching_digest": basis.matching,
    }


def _result_row(key: str, submission_digest: str, basis: Basis, outcome: Summary | Rejected) -> _Row:
    limits: Mapping[str, int] = {}
    counts, hits = None, None
    if isinstance(outcome, Rejected):
        status, findings, limits = "rejected", outcome.problems, outcome.limits
    else:
        status, findings = "scored", outcome.notes
        counts, hits = json.dumps(asdict(outcome.counts)), outcome.hits
    first = [[problem.line, problem.text] for problem in findings]
    return _keys(key, submission_digest, basis) | {
        "status": status,
        "counts": counts,
        "findings": json.dumps({"shown": first, "count": findings.count}),
        "limits": json.dumps(dict(limits), sort_keys=True),
        "hits": hits,
        "hits_checksum": hits_checksum(hits),
    }
