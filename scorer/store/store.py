"""Store: the database of a challenge. Its record is only appended to; all else can be derived again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, bindparam, delete, select

from scorer.limits import Limits
from scorer.measures import Measure
from scorer.measures.matched import Bools, JudgedItems
from scorer.record.events import EVERY_TRACK, Event, bodies
from scorer.record.log import LOG_VERSION, LOST, EventKind, LogLine, encoded, iso, kinds_digest, public_kind
from scorer.rules.phases import PhasesBody
from scorer.scoring.outcomes import (
    MATCHING_GENERATION,
    MEASURE_GENERATION,
    Failed,
    Rejected,
    Summary,
    pack_flags,
    pack_ideal,
    pack_ids,
)
from scorer.store import rows as store_rows
from scorer.store.database import AT_A_TIME, Database, insert_all
from scorer.store.events import Basis, FolderScan, ScannedFile, unknown_keys
from scorer.store.migrations import prepare
from scorer.store.schema import (
    cached_table,
    event_table,
    failure_table,
    last_run_table,
    look_table,
    mean_table,
    result_table,
    scanned_file_table,
    solution_table,
)
from scorer.store.sidecar import KEPT_SOLUTIONS, KEPT_STATISTICS, KEPT_SUBMISSIONS, Archive, Sidecar
from scorer.store.snapshot import Cache, Means, Snapshot

GENERATIONS = {"matching": MATCHING_GENERATION, "measures": MEASURE_GENERATION}

Added = Sequence[tuple[str, EventKind, Mapping[str, Any]]]
"""Events to append: the track of each, or `EVERY_TRACK` for the whole challenge, its kind and its body."""

_Answer = TypeVar("_Answer")


class _NothingToWriteError(Exception):
    """Ends a transaction that has nothing to write."""


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class Store:
    """The database of a challenge: a record that is appended to, and what can be derived again.

    As a context manager, it closes the database at the end. Every method raises StoreError if the database cannot be
    reached, is in use for too long, read-only, full or damaged.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self.database = database
        self._clock = clock
        self._events: list[Event] = []
        self._results: dict[tuple[str, ...], store_rows.KnownResults] = {}
        self._kept: dict[object, tuple[object, Any]] = {}

    @classmethod
    def open(
        cls, place: str | Path, *, create: bool = True, wait: float = 30.0, clock: Callable[[], datetime] = now
    ) -> Store:
        """Open a database, a path or an SQLAlchemy URL, and migrate it if an earlier version made it.

        Without `create`, a new or empty database is refused. A write waits `wait` seconds for another process, and an
        operation for a server that went away. `clock` returns the time, with a zone, at which events are recorded.
        Raises StoreError if the database cannot be used, belongs to something else, or needs a later version of this
        package.
        """
        database = Database(place, create=create, wait=wait)
        try:
            prepare(database, create=create)
        except BaseException:
            database.close()
            raise
        return cls(database, clock)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def beside(self, root: Path, suffix: str) -> Path:
        """The file next to the database whose name is that of the database and `suffix`; in `root` if it is on a
        server.
        """
        database = self.database.file or root / "scores"
        return database.with_name(database.name + suffix)

    def archive(self, root: Path) -> Archive:
        """Where the bytes of solutions are stored: next to the database file, or in `root` if it is on a server."""
        return Archive(self.beside(root, KEPT_SOLUTIONS))

    def kept_submissions(self, root: Path) -> Archive:
        """Where the bytes of submissions are kept that were scored: next to the solutions."""
        return Archive(self.beside(root, KEPT_SUBMISSIONS), is_compressed=True)

    def sidecar(self, root: Path) -> Sidecar:
        """Where arrays are kept that are costly to derive: next to the solutions."""
        return Sidecar(self.beside(root, KEPT_STATISTICS))

    # The record

    @property
    def where(self) -> str:
        """The name of the database in messages."""
        return self.database.where

    def now(self) -> datetime:
        """The time, by the clock of the record."""
        return self._clock()

    def read(self, work: Callable[[Snapshot], _Answer]) -> _Answer:
        """The result of `work`, which reads one snapshot; it is repeated if the connection to the server is lost."""

        def once() -> _Answer:
            with self.database.reading() as connection:
                return work(self._snapshot(connection))

        return self.database.retried(once)

    def _snapshot(self, connection: Connection) -> Snapshot:
        return Snapshot(
            connection,
            self.database,
            _events=self._events,
            _results=self._results,
            _kept=self._kept,
            now=self._clock(),
        )

    def record(self, decide: Callable[[Snapshot], Added]) -> bool:
        """Append events to the record.

        `decide` returns the events, given the state of the database while no other process can write. What it raises
        ends the transaction; nothing is recorded then. Returns whether there was an event.
        """
        return self._write(lambda connection: self._append(connection, decide(self._snapshot(connection))))

    def record_with(self, decide: Callable[[Snapshot], tuple[Added, _Answer]]) -> _Answer:
        """Append events as `record`; returns what `decide` returns in addition to them."""
        answers: list[_Answer] = []

        def work(connection: Connection) -> bool:
            added, answer = decide(self._snapshot(connection))
            answers.append(answer)
            return self._append(connection, added)

        self._write(work)
        return answers[-1]

    def record_restored(self, decide: Callable[[Snapshot], Sequence[LogLine] | None]) -> int:
        """Append rows for the lost events of these lines, and the event that begins the next epoch.

        Returns the index of this event; 0 if `decide` returns None: then nothing is recorded.
        """

        def work(connection: Connection) -> int:
            view = self._snapshot(connection)
            lost = decide(view)
            if lost is None:
                return 0
            rows = [
                {"index": line.index, "track": EVERY_TRACK, "kind": LOST, "at": None}
                | {"body": encoded({"kind": line.kind, "leaf": line.leaf.hex()})}
                | {"log": None if line.version == 1 else line.version}
                for line in lost
            ]
            start = view.count_events()
            insert_all(connection, event_table, rows)
            self._append(connection, [(EVERY_TRACK, "restored", {"from": start, "to": start + len(rows)})])
            return self._snapshot(connection).count_events()

        return self._write(work) or 0

    def record_scan(self, track: str, decide: Callable[[Snapshot], tuple[Added, FolderScan | None]]) -> None:
        """Append events as `record`, with the scan of the folder of a track unless it is None.

        A scan changes nothing that a board shows: without an event, the revision stays as it is.
        """

        def work(connection: Connection) -> bool:
            added, scan = decide(self._snapshot(connection))
            if scan is not None:
                unread = {mark: at and iso(at) for mark, at in scan.unread.items()}
                connection.execute(delete(look_table).where(look_table.c.track == track))
                row = {"track": track, "at": iso(scan.at), "unread": encoded(unread)}
                store_rows.add(connection, look_table, row)
            changed = self._append(connection, added)
            if changed:
                self.database.revise(connection)
            return changed or scan is not None

        self._write(work, revises=False)

    def record_forgetting(self, decide: Callable[[Snapshot], Added], digest: str) -> None:
        """Append events as `record`, and drop the outcomes of a submission; boards frozen before keep them."""

        def work(connection: Connection) -> bool:
            view = self._snapshot(connection)
            added = decide(view)
            may_be_frozen = any(
                phase.freeze for _, announced in bodies(view.all_events, PhasesBody) for phase in announced.phases
            )
            store_rows.drop_outcomes(connection, digest, view.next_index if may_be_frozen else None)
            return self._append(connection, added)

        self._write(work)

    def _write(self, work: Callable[[Connection], _Answer], *, revises: bool = True) -> _Answer:
        """The result of `work`, which writes in one transaction. If it is false or 0, the revision stays as it is."""

        def once() -> _Answer:
            with suppress(_NothingToWriteError), self.database.writing(revises=revises) as connection:
                answer = work(connection)
                if not answer:
                    raise _NothingToWriteError
            return answer

        return self.database.retried(once)

    def _append(self, connection: Connection, added: Added) -> bool:
        """Append events; if the last one has version 1 of the log, an event before them changes the version."""
        for _, kind, body in added:
            if unknown := unknown_keys(kind, body):
                raise TypeError(f"an event of the kind {kind} has no {', '.join(unknown)}; declare the key in `BODIES`")
        columns = event_table.c
        statement = select(columns.index, columns.log).order_by(columns.index.desc()).limit(1)
        last, version = connection.execute(statement).first() or (0, LOG_VERSION)
        if added and version is None:
            kinds = (public_kind(event.kind, event.text) for event in self._snapshot(connection).all_events)
            added = [(EVERY_TRACK, "log", {"version": LOG_VERSION, "kinds": kinds_digest(kinds)}), *added]
        at = iso(self._clock())
        rows = [
            {"index": index, "track": track, "kind": kind, "at": at, "body": encoded(body), "log": LOG_VERSION}
            for index, (track, kind, body) in enumerate(added, last + 1)
        ]
        insert_all(connection, event_table, rows)
        return bool(rows)

    # What can be derived again

    def store_solution(self, digest: str, query_ids: Sequence[str], flagged: Bools, ideal: JudgedItems) -> None:
        """Store the queries of a solution, with a flag for each, and its grades, unless the digest is known."""
        row = {
            "digest": digest,
            "queries": pack_ids(query_ids),
            "flagged": pack_flags(flagged),
            "ideal": pack_ideal(ideal, len(query_ids)),
        }
        self._write(lambda connection: store_rows.add(connection, solution_table, row))

    def store_results(self, outcomes: Iterable[tuple[str, Summary | Rejected | Failed]], basis: Basis) -> None:
        """Store the outcomes of submissions, by their digests, in one transaction.

        A submission that has a result by `basis` keeps it. A failure adds to the attempts if it counts, and a result
        ends them. The solution of `basis` must be stored.
        """
        pairs = list(outcomes)

        def work(connection: Connection) -> bool:
            at = self._clock()
            stored = [
                store_rows.store_outcome(connection, digest, basis, outcome, at, self.where)
                for digest, outcome in pairs
            ]
            return any(stored)

        if pairs:
            self._write(work)

    def retry(self, basis: Basis, submission_digests: Collection[str] | None = None) -> int:
        """Delete the failures by `basis` of these submissions, or of all; returns how many there were."""
        columns = failure_table.c
        every = delete(failure_table).where(
            columns.solution_digest == basis.solution, columns.matching_digest == basis.matching
        )
        one = [every.where(columns.submission_digest == digest) for digest in set(submission_digests or ())]
        statements = [every] if submission_digests is None else one
        return self._write(lambda connection: sum(connection.execute(each).rowcount for each in statements))

    def void_rejections(self, basis: Basis, limits: Limits) -> int:
        """Delete the results of submissions that exceeded a limit which has changed; returns how many there were."""

        def work(connection: Connection) -> int:
            digests = Snapshot(connection, self.database).outdated_rejections(basis, limits)
            return sum(store_rows.delete_results(connection, result_table.c.digest == digest) for digest in digests)

        return self._write(work)

    def store_means(
        self,
        computed: Sequence[tuple[str, Means]],
        basis: Basis,
        measures: Sequence[Measure],
        *,
        revises: bool = True,
    ) -> None:
        """Store means of these measures, as `Snapshot.missing_means` returns them.

        A board shows the same with and without stored means; `revises` says whether the revision grows.
        """

        def work(connection: Connection) -> bool:
            names = {measure for _, means in computed for measure, _ in means}
            lacking = [measure for measure in measures if measure.full in names]
            view = Snapshot(connection, self.database)
            stored = view.stored_means(basis, lacking)
            # Another process may have deleted results in the meantime.
            present = {row.digest for row in view.result_rows(basis).values()}
            rows = [
                row
                for result, means in computed
                if result in present
                for row in store_rows.mean_rows(result, means)
                if (row["measure"], row["mask"]) not in stored.get(result, {})
            ]
            insert_all(connection, mean_table, rows)
            return bool(rows)

        if computed:
            self._write(work, revises=revises)

    def store_scanned_files(
        self, track: str, stored: Mapping[str, ScannedFile], files: Mapping[str, ScannedFile]
    ) -> None:
        """Store what a scan of a track's folder found, by the names of the files, in place of what is `stored`.

        Only differences are written.
        """
        if files is stored:
            return
        changed = {
            name: scanned
            for name, scanned in files.items()
            if (before := stored.get(name)) is not scanned and before != scanned
        }
        old = [{"name": json.dumps(name)} for name in (*(stored.keys() - files.keys()), *changed)]
        rows = [
            {"track": track, "file": json.dumps(name), **{key: str(value) for key, value in asdict(scanned).items()}}
            for name, scanned in changed.items()
        ]
        columns = scanned_file_table.c

        def work(connection: Connection) -> bool:
            of_file = delete(scanned_file_table).where(columns.track == track, columns.file == bindparam("name"))
            connection.execute(of_file, old)
            insert_all(connection, scanned_file_table, rows)
            return True

        if old:
            self._write(work, revises=False)

    def keep(self, cache: Cache) -> None:
        """Store what was computed for a render, and delete what it did not use; the revision stays, as boards do."""

        def work(connection: Connection) -> bool:
            present = set(connection.execute(select(cached_table.c.digest)).scalars())
            rows = [{"digest": key, "value": value} for key, value in cache.added.items() if key not in present]
            insert_all(connection, cached_table, rows)
            unused = sorted(present - cache.used)
            for start in range(0, len(unused), AT_A_TIME):
                part = unused[start : start + AT_A_TIME]
                connection.execute(delete(cached_table).where(cached_table.c.digest.in_(part)))
            return True

        if cache.added:
            self._write(work, revises=False)

    def note_run(self, track: str) -> None:
        """Store that the track has just been scored."""
        row = {"track": track, "at": iso(self._clock())}

        def work(connection: Connection) -> bool:
            connection.execute(delete(last_run_table).where(last_run_table.c.track == track))
            return store_rows.add(connection, last_run_table, row)

        self._write(work, revises=False)  # no page shows it
