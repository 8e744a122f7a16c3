"""Store: what is written to the database of a challenge."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Table, func, insert, select, update

from scorer.errors import Findings
from scorer.measures import Measure
from scorer.measures.arrays import Bools
from scorer.measures.matched import JudgedItems
from scorer.scoring.compact import pack_ideal
from scorer.scoring.outcomes import Rejected, Summary
from scorer.scoring.rules import MATCHING_GENERATION, MEASURE_GENERATION
from scorer.store import events
from scorer.store.archive import SolutionArchive
from scorer.store.database import Database, insert_all
from scorer.store.migrations import prepare
from scorer.store.records import Basis, Submission
from scorer.store.schema import event_table, last_run_table, mean_table, result_table, solution_table
from scorer.store.snapshot import Means, Snapshot, pack_flags, pack_ids

GENERATIONS = {"matching": MATCHING_GENERATION, "measures": MEASURE_GENERATION}

SecondLook = Callable[[set[str]], Mapping[str, str | None]]
"""Given files, the digest of each as it is now, or None if it is gone; files that cannot be read are left out."""

_Answer = TypeVar("_Answer")
_Row = dict[str, Any]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class Store:
    """The database of a challenge. As a context manager, it closes the database at the end.

    Every method raises StoreError if the database cannot be reached, is in use for too long, read-only, full or
    damaged.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self.database = database
        self._clock = clock

    @classmethod
    def open(
        cls, place: str | Path, *, create: bool = True, wait: float = 30.0, clock: Callable[[], datetime] = now
    ) -> Store:
        """Open a database, and migrate it if an earlier version made it.

        Parameters
        ----------
        place
            A path (SQLite) or an SQLAlchemy URL.
        create
            Whether to create the tables of a new or empty database; if not, it is refused.
        wait
            Seconds that a write waits for another process, and that an operation waits for a server that went away.
        clock
            Returns the time, with a zone, at which events are recorded.

        Raises
        ------
        StoreError
            The database cannot be used, belongs to something else, or needs a later version of this package.
        """
        database = Database(place, create=create, wait=wait)
        try:
            prepare(database, create=create)
        except BaseException:
            database.close()
            raise
        return cls(database, clock)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The name of the database in messages."""
        return self.database.where

    def archive(self, root: Path) -> SolutionArchive:
        """Where the bytes of solutions are stored: next to the database file, or in `root` if it is on a server."""
        return SolutionArchive.beside(self.database.file or root / "scores")

    def read(self, work: Callable[[Snapshot], _Answer]) -> _Answer:
        """The result of `work`, which reads one snapshot; it is repeated if the connection to the server is lost."""

        def once() -> _Answer:
            with self.database.reading() as connection:
                return work(Snapshot(connection, self.database))

        return self.database.retried(once)

    def _write(self, work: Callable[[Connection], None]) -> None:
        def once() -> None:
            with self.database.writing() as connection:
                work(connection)

        self.database.retried(once)

    # Recorded rows

    def import_submissions(
        self, track: str, found: Sequence[Submission], second_look: SecondLook | None = None
    ) -> None:
        """Record which submissions of a track have arrived, are withdrawn, or have returned.

        A scan may be older than what another process recorded in the meantime. So this looks again, while no other
        process can write, at each file on which the scan and the record differ, and records only what is so now.
        Submissions from another source than the folder are left as they are.

        Parameters
        ----------
        track
            The name of the track.
        found
            All submissions that a scan of the folder found.
        second_look
            Looks again at files; without it, the scan is taken to be the latest.
        """
        if self.read(lambda view: events.is_complete(events.submission_states(view.events(track)), found)):
            return

        def work(connection: Connection) -> None:
            record = Snapshot(connection, self.database).events(track)
            states = events.submission_states(record)
            files = events.disputed(states, found)
            if second_look is None:
                present_now: Mapping[str, str | None] = dict.fromkeys(files) | {
                    key[0]: key[1] for key in map(events.key_of, found) if key[0] in files
                }
            else:
                present_now = second_look(files) if files else {}
            self._append(connection, track, events.changes(states, found, present_now))

        self._write(work)

    def record_basis(self, track: str, basis: Basis, settings: Mapping[str, object] | None = None) -> None:
        """Record what a track's board is based on, unless it is the same as before; the solution must be stored."""
        body = events.basis_body(basis, settings, GENERATIONS)

        def work(connection: Connection) -> None:
            record = Snapshot(connection, self.database).events(track)
            last = events.last_basis_event(record)
            if last is None or events.encoded(last.body) != events.encoded(body):
                self._append(connection, track, [("basis", body)])

        self._write(work)

    def _append(self, connection: Connection, track: str, added: Sequence[tuple[events.Kind, _Row]]) -> None:
        last = connection.execute(select(func.max(event_table.c.index))).scalar() or 0
        at = self._clock()
        rows = [events.row(index, track, kind, at, body) for index, (kind, body) in enumerate(added, last + 1)]
        insert_all(connection, event_table, rows)

    # Derived rows

    def store_solution(self, digest: str, query_ids: Sequence[str], flagged: Bools, ideal: JudgedItems) -> None:
        """Store the queries of a solution, with a flag for each, and its grades, unless the digest is known."""
        row = {
            "digest": digest,
            "queries": pack_ids(query_ids),
            "flagged": pack_flags(flagged),
            "ideal": pack_ideal(ideal, len(query_ids)),
        }

        def work(connection: Connection) -> None:
            _add(connection, solution_table, row)

        self._write(work)

    def store_results(self, outcomes: Iterable[tuple[str, Summary | Rejected]], basis: Basis) -> None:
        """Store the outcomes of submissions, by their digests, in one transaction.

        A submission that has a result by `basis` keeps it. The solution of `basis` must be stored.
        """
        listed = list(outcomes)
        if not listed:
            return

        def work(connection: Connection) -> None:
            for submission_digest, outcome in listed:
                row = _result_row(submission_digest, basis, outcome)
                if _add(connection, result_table, row) and isinstance(outcome, Summary):
                    insert_all(connection, mean_table, _mean_rows(row["digest"], outcome.means))

        self._write(work)

    def complete_means(self, track: str, basis: Basis, measures: Sequence[Measure]) -> int:
        """Compute and store the means that results of a track lack, from their judged items.

        Returns
        -------
        The number of results that lacked a mean.
        """

        def missing(view: Snapshot) -> list[tuple[str, Means]]:
            digests = [state.submission.digest for state in view.submissions(track)]
            return list(view.missing_means(basis, digests, measures)) if digests else []

        computed = self.read(missing)

        def work(connection: Connection) -> None:
            names = {measure for _, means in computed for measure, _ in means}
            lacking = [measure for measure in measures if measure.full in names]
            stored = Snapshot(connection, self.database).stored_means(basis, lacking)
            rows = [row for result, means in computed for row in _mean_rows(result, means)]
            insert_all(
                connection,
                mean_table,
                [row for row in rows if (row["measure"], row["mask"]) not in stored.get(row["result_digest"], {})],
            )

        if computed:
            self._write(work)
        return len(computed)

    def note_run(self, track: str) -> None:
        """Store that the track has just been scored."""
        row = {"track": track, "at": self._clock()}

        def work(connection: Connection) -> None:
            if not _add(connection, last_run_table, row):
                connection.execute(update(last_run_table).where(last_run_table.c.track == track).values(row))

        self._write(work)


def result_digest(submission_digest: str, basis: Basis) -> str:
    """The key of a result."""
    return hashlib.sha256(f"{submission_digest}\n{basis.solution}\n{basis.matching}".encode()).hexdigest()


def _add(connection: Connection, table: Table, row: _Row) -> bool:
    """Insert a row unless its key exists. Returns whether it was inserted."""
    key = select(*table.primary_key).where(*(column == row[column.name] for column in table.primary_key))
    if connection.execute(key).first() is not None:
        return False
    connection.execute(insert(table), row)
    return True


def _result_row(submission_digest: str, basis: Basis, outcome: Summary | Rejected) -> _Row:
    if isinstance(outcome, Rejected):
        status, counts, findings, hits = "rejected", None, outcome.problems, None
    else:
        status, counts, findings, hits = "scored", asdict(outcome.counts), outcome.notes, outcome.hits
    return {
        "digest": result_digest(submission_digest, basis),
        "submission_digest": submission_digest,
        "solution_digest": basis.solution,
        "matching_digest": basis.matching,
        "status": status,
        "counts": counts,
        "findings": _findings(findings),
        "hits": hits,
    }


def _findings(findings: Findings) -> _Row:
    return {"shown": [[found.line, found.text] for found in findings.shown], "count": findings.count}


def _mean_rows(digest: str, means: Means | Mapping[tuple[str, str], Any]) -> list[_Row]:
    return [
        {
            "result_digest": digest,
            "measure": measure,
            "mask": mask,
            "generation": MEASURE_GENERATION,
            "value": mean.value,
            "undefined": mean.undefined,
        }
        for (measure, mask), mean in means.items()
    ]
