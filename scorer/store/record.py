"""Record: what is appended to the database of a challenge, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, func, select

from scorer.errors import StoreError
from scorer.scoring.rules import MATCHING_GENERATION, MEASURE_GENERATION
from scorer.store import events
from scorer.store.canonical import iso
from scorer.store.database import Database, insert_all
from scorer.store.decisions import PickSource, pick_body, team_changes
from scorer.store.folder_looks import NewLook
from scorer.store.kinds import Kind
from scorer.store.records import Basis, Submission
from scorer.store.schema import event_table
from scorer.store.snapshot import Snapshot
from scorer.store.writing import drop_outcomes, replace_look
from scorer.wording import printable_name

GENERATIONS = {"matching": MATCHING_GENERATION, "measures": MEASURE_GENERATION}

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
        self._events: list[events.Event] = []

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

    def record(self, track: str, decide: Callable[[Snapshot], Sequence[tuple[Kind, Mapping[str, Any]]]]) -> None:
        """Append events to the record of a track.

        Parameters
        ----------
        track
            The name of the track, or `events.EVERY_TRACK`.
        decide
            Returns the kind and the body of each event, given the state of the database while no other process can
            write. What it raises ends the transaction; nothing is recorded then.
        """
        self.record_all(lambda view: [(track, kind, body) for kind, body in decide(view)])

    def record_all(self, decide: Callable[[Snapshot], Sequence[tuple[str, Kind, Mapping[str, Any]]]]) -> None:
        """Append events to the records of several tracks in one transaction.

        Parameters
        ----------
        decide
            As for `record`, but each event begins with the name of its track, or with `events.EVERY_TRACK`.
        """
        self._write(lambda connection: self._append_all(connection, decide(self._snapshot(connection))))

    def _write(self, work: Callable[[Connection], bool], *, revises: bool = True) -> None:
        """Do the work in a transaction. It returns whether it wrote anything; if not, the revision stays as it is."""

        def once() -> None:
            with suppress(_NothingToWriteError), self.database.writing(revises=revises) as connection:
                if not work(connection):
                    raise _NothingToWriteError

        self.database.retried(once)

    def import_submissions(
        self,
        track: str,
        found: Sequence[Submission],
        second_look: events.SecondLook | None = None,
        allowed: Callable[[Kind, events.SubmissionState], bool] = lambda _kind, _state: True,
        look: NewLook | None = None,
    ) -> bool:
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
        allowed
            Whether a recorded submission may be withdrawn, or return, given the kind of the event.
        look
            The look that the scan was; it is stored in the same transaction. None: no look is known.

        Returns
        -------
        Whether anything was recorded.
        """
        changed = False

        def complete(view: Snapshot) -> bool:
            states = events.submission_states(view.events(track))
            return events.is_complete(states, events.as_recorded(states, found))

        is_complete = self.read(complete)
        if is_complete and look is None:
            return False

        def work(connection: Connection) -> bool:
            nonlocal changed
            view = self._snapshot(connection)
            last = view.last_look(track)
            stored = look.stored_after(last) if look else None
            if stored:
                replace_look(connection, track, stored)
            if is_complete:
                return stored is not None
            states = events.submission_states(view.events(track))
            changes = events.import_changes(states, found, second_look)
            changed = self._append(
                connection,
                track,
                [
                    (kind, look.completed(last, body) if look and kind == "arrival" else body)
                    for kind, body in changes
                    if kind == "arrival"
                    or (state := states.get((body["file"], body["digest"]))) is None
                    or allowed(kind, state)
                ],
            )
            return changed or stored is not None

        self._write(work, revises=not is_complete)
        return changed

    def record_basis(
        self,
        track: str,
        basis: Basis,
        settings: Mapping[str, object] | None = None,
        items: str | None = None,
        *,
        unless: Callable[[Snapshot], bool] = lambda _: False,
    ) -> None:
        """Record what a track's board is based on, unless it is the same as before; the solution must be stored.

        Parameters
        ----------
        track, basis
            The track, and what its board is based on.
        settings
            All settings of the track.
        items
            The digest of the list of candidate items; None without one.
        unless
            Given the state of the database while no other process can write, whether nothing is recorded.
        """
        body = events.basis_body(basis, settings, GENERATIONS, items)

        def changed(view: Snapshot) -> Sequence[tuple[Kind, Mapping[str, Any]]]:
            return [] if unless(view) else events.new_basis(view.events(track), body)

        self.record(track, changed)

    def amend_received(self, track: str, file: str, digest: str, received: datetime, reason: str) -> None:
        """Record the correct time of receipt of a submission.

        Parameters
        ----------
        track, file, digest
            The submission.
        received
            The time, with a zone.
        reason
            Why it is corrected.

        Raises
        ------
        StoreError
            There is no such submission, the reason is blank, or the time is impossible: before 1990 or in the future.
        ValueError
            The time has no zone.
        """
        if received.tzinfo is None:
            raise ValueError(f"a time without a zone: {received}")
        if events.is_misdated(received, self._clock()):
            raise StoreError(f"{iso(received)}: is not a time of receipt; give one from 1990 on and not later than now")
        self._decide(track, "amendment", (file, digest), reason, received=iso(received))

    def forget(self, track: str, file: str, digest: str, reason: str) -> None:
        """Drop what became of a submission, by every basis, so that the next run scores it again; record the reason.

        Results belong to the content of a file: other submissions with the same content are scored again, too. A board
        that was frozen before still shows the dropped ones.

        Raises StoreError if there is no such submission, or the reason is blank.
        """
        self._decide(track, "forgetting", (file, digest), reason)

    def record_teams(self, settings: Mapping[str, Mapping[str, Any]], reasons: Mapping[str, str]) -> None:
        """Record what the organiser sets for teams: an event for each team whose settings differ from the last ones.

        Parameters
        ----------
        settings
            By team, what is set for it. A team that is not listed has no settings any more.
        reasons
            By team, why its settings change.

        Raises
        ------
        StoreError
            There is no such team, or the decisions contradict each other; nothing is recorded.
        """
        if not self.read(lambda view: team_changes(view.events(), view.teams, settings, reasons)):
            return

        def work(connection: Connection) -> bool:
            view = self._snapshot(connection)
            bodies = team_changes(view.events(), view.teams, settings, reasons)
            return self._append(connection, events.EVERY_TRACK, [("team", body) for body in bodies])

        self._write(work)

    def record_pick(self, track: str, team: str, keys: Sequence[events.Key], source: PickSource) -> None:
        """Record which entries a team picks, unless they are the same as before.

        Parameters
        ----------
        track, team
            The track and the team.
        keys
            The submissions, which replace the team's earlier picks; none: it has no picks any more.
        source
            Where the picks come from: the file in the team's folder, or a command.

        Raises
        ------
        StoreError
            There is no such submission, or one is listed twice.
        """

        def work(connection: Connection) -> bool:
            record = self._snapshot(connection).events(track)
            body = pick_body(record, team, keys, source)
            return self._append(connection, track, [] if body is None else [("pick", body)])

        self._write(work)

    def _decide(self, track: str, kind: Kind, key: events.Key, reason: str, **details: str) -> None:
        """Record a decision of the organiser about a submission."""
        if not reason.strip():
            raise StoreError("the reason is blank; give one: it is recorded")

        def work(connection: Connection) -> bool:
            view = self._snapshot(connection)
            state = events.submission_states(view.events(track)).get(key)
            if state is None:
                raise StoreError(
                    f"{self.where}: no submission of track {track} is {printable_name(key[0])} with the digest "
                    f"{key[1][:12]}; the page of the team lists its entries"
                )
            if kind == "forgetting":
                phases = (each for event in view.all_events if event.kind == "phases" for each in event.body["phases"])
                may_be_frozen = any(each["freeze"] for each in phases)
                drop_outcomes(connection, key[1], len(view.all_events) + 1 if may_be_frozen else None)
            return self._append(connection, track, [(kind, events.decision(state.submission, reason, **details))])

        self._write(work)

    def _append(self, connection: Connection, track: str, added: Sequence[tuple[Kind, Mapping[str, Any]]]) -> bool:
        return self._append_all(connection, [(track, kind, body) for kind, body in added])

    def _append_all(self, connection: Connection, added: Sequence[tuple[str, Kind, Mapping[str, Any]]]) -> bool:
        last = connection.execute(select(func.max(event_table.c.index))).scalar() or 0
        at = self._clock()
        rows = [events.row(index, track, kind, at, body) for index, (track, kind, body) in enumerate(added, last + 1)]
        insert_all(connection, event_table, rows)
        return bool(rows)
