"""Record: what is appended to the database of a challenge, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, func, select

from scorer.scoring.rules import MATCHING_GENERATION, MEASURE_GENERATION
from scorer.store.canonical import encoded, iso
from scorer.store.database import Database, insert_all
from scorer.store.events import Event
from scorer.store.kinds import Kind
from scorer.store.records import FolderScan
from scorer.store.schema import event_table
from scorer.store.snapshot import Snapshot
from scorer.store.writing import drop_outcomes, replace_scan

GENERATIONS = {"matching": MATCHING_GENERATION, "measures": MEASURE_GENERATION}

Added = Sequence[tuple[Kind, Mapping[str, Any]]]
"""Events of a track to append: the kind and the body of each."""

_Answer = TypeVar("_Answer")


class _NothingToWriteError(Exception):
    """Ends a transaction that has nothing to write."""


class Record:
    """The recorded rows of a database.

    Every method raises StoreError if the database cannot be reached, is in use for too long, read-only, full or
    damaged.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self.database = database
        self._clock = clock
        self._events: list[Event] = []

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
        return Snapshot(connection, self.database, _events=self._events, now=self._clock())

    def record(self, track: str, decide: Callable[[Snapshot], Added]) -> None:
        """Append events to the record of a track, or with `EVERY_TRACK` to that of the whole challenge.

        `decide` returns the kind and the body of each event, given the state of the database while no other process can
        write. What it raises ends the transaction; nothing is recorded then.
        """
        self.record_all(lambda view: [(track, kind, body) for kind, body in decide(view)])

    def record_all(self, decide: Callable[[Snapshot], Sequence[tuple[str, Kind, Mapping[str, Any]]]]) -> None:
        """Append events to the records of several tracks in one transaction.

        `decide` is as for `record`, but each event begins with the name of its track, or with `EVERY_TRACK`.
        """
        self._write(lambda connection: self._append(connection, decide(self._snapshot(connection))))

    def record_scan(
        self, track: str, decide: Callable[[Snapshot], tuple[Added, FolderScan | None]], *, revises: bool
    ) -> bool:
        """Append events to the record of a track, with the last scan of its folder; returns whether there were any.

        `decide` is as for `record`, and returns also the scan to store; None: the last one stays.
        """
        changed = False

        def work(connection: Connection) -> bool:
            nonlocal changed
            added, scan = decide(self._snapshot(connection))
            if scan is not None:
                replace_scan(connection, track, scan)
            changed = self._append(connection, [(track, *event) for event in added])
            return changed or scan is not None

        self._write(work, revises=revises)
        return changed

    def record_forgetting(self, track: str, decide: Callable[[Snapshot], Added], digest: str) -> None:
        """Append events as `record` does, and drop what became of a submission, by every basis.

        Boards that were frozen before still show it.
        """

        def work(connection: Connection) -> bool:
            view = self._snapshot(connection)
            added = decide(view)
            phases = (phase for event in view.all_events if event.kind == "phases" for phase in event.body["phases"])
            may_be_frozen = any(phase["freeze"] for phase in phases)
            drop_outcomes(connection, digest, len(view.all_events) + 1 if may_be_frozen else None)
            return self._append(connection, [(track, *event) for event in added])

        self._write(work)

    def _write(self, work: Callable[[Connection], bool], *, revises: bool = True) -> None:
        """Do the work in a transaction. It returns whether it wrote anything; if not, the revision stays as it is."""

        def once() -> None:
            with suppress(_NothingToWriteError), self.database.writing(revises=revises) as connection:
                if not work(connection):
                    raise _NothingToWriteError

        self.database.retried(once)

    def _append(self, connection: Connection, added: Sequence[tuple[str, Kind, Mapping[str, Any]]]) -> bool:
        last = connection.execute(select(func.max(event_table.c.index))).scalar() or 0
        at = iso(self._clock())
        rows = [
            {"index": index, "track": track, "kind": kind, "at": at, "body": encoded(body)}
            for index, (track, kind, body) in enumerate(added, last + 1)
        ]
        insert_all(connection, event_table, rows)
        return bool(rows)
