"""The rows of the tables: read and verified, and derived rows made, inserted and deleted."""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, func, insert, select, true

from scorer.errors import LONGEST, StoreError
from scorer.measures import Measure
from scorer.record.events import EVERY_TRACK, ArrivalBody, Event, FileBody, bodies
from scorer.record.log import RESOLUTION, iso
from scorer.scoring.outcomes import MEASURE_GENERATION, DamagedError, Failed, Mean, Rejected, Summary
from scorer.store import schema as db
from scorer.store.database import AT_A_TIME, Database, insert_all
from scorer.store.events import Basis, BasisBody, ResultRow, event_of
from scorer.wording import iso_time, shortened

_Unpacked = TypeVar("_Unpacked")
_Derived = TypeVar("_Derived")
_Key = TypeVar("_Key")
_Part = TypeVar("_Part")

KnownResults = tuple[Mapping[str, tuple[int, int]], Mapping[str, ResultRow]]
"""The number and the sum of the checksums of rows by the first digits of their digests, and the rows by digest."""


@dataclass(frozen=True)
class TableRows:
    """One state of the tables, with all events or those until a moment. Every method raises StoreError for damage."""

    hides_names: ClassVar[bool] = False
    """Whether the events have pseudonyms in the place of the names of teams and files."""

    connection: Connection
    _database: Database
    _events: list[Event] = field(default_factory=list)
    """The events that were read, also by earlier snapshots of the process: they never change, so later ones follow."""
    _results: dict[tuple[str, ...], KnownResults] = field(default_factory=dict)
    """The results that were read, also by earlier snapshots of the process, by their solution and `_matching`."""
    forgettings: tuple[int, ...] = ()
    """The events, in order, that dropped outcomes which these rows still have."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The time at which it is read, or the time that `as_of` selected; in UTC."""
    hides_nothing: bool = False
    """Whether it is read for the organiser, who sees what is hidden from visitors."""
    until: tuple[datetime | int, ...] = ()
    """What `as_of` and `before` selected; empty: every event."""
    only: frozenset[str] | None = None
    """The digests of the submissions whose outcomes are read; None: of all."""
    derived: dict[object, Any] = field(default_factory=dict, init=False)
    """What other rooms derived from this snapshot, so that they derive it once."""
    _kept: dict[object, tuple[object, Any]] = field(default_factory=dict)
    """What other rooms derived from the whole record, also from earlier snapshots of the process: by its name, with
    what it depends on."""

    @property
    def _is_whole(self) -> bool:
        """Whether it has all events, as they are, and all outcomes."""
        return not self.until and self.only is None and not self.hides_names

    def kept(self, name: object, parts: object, derive: Callable[[], _Derived]) -> _Derived:
        """The value with a name that was derived last, if it depended on equal parts; else what `derive` returns.

        That is from this snapshot, or where it has the whole record, also from earlier ones.
        """
        kept = self._kept if self._is_whole else self.derived
        before, value = kept.get(name, (None, None))
        if before != parts:
            value = derive()
            kept[name] = parts, value
        derived: _Derived = value
        return derived

    def advanced(
        self,
        name: object,
        common: object,
        parts: Mapping[_Key, _Part],
        derive: Callable[[Mapping[_Key, _Part]], Mapping[_Key, _Derived]],
    ) -> Mapping[_Key, _Derived]:
        """The values with a name, each with a key, that depend on what is `common` and each on its part; in any order.

        `derive` receives the parts of the values that are not as they were derived last, as for `kept`.
        """
        kept = self._kept if self._is_whole else self.derived
        before, (old, values) = kept.get(name, (None, ({}, {})))
        if before != common:
            old, values = {}, {}
        if parts is not old:
            new = {key: part for key, part in parts.items() if key not in old or old[key] != part}
            gone = old.keys() - parts.keys()
            if new or gone:
                values = {key: value for key, value in values.items() if key not in gone} if gone else values
                values = {**values, **derive(new)}
            kept[name] = common, (parts, values)
        advanced: Mapping[_Key, _Derived] = values
        return advanced

    def folded(self, name: object, fold: Callable[[int, _Derived | None], _Derived]) -> _Derived:
        """The value with a name that follows from the events.

        `fold` receives the number of events that an earlier value follows from, and this value: 0 and None without one.
        """
        if name not in self.derived and not self._is_whole:
            self.derived[name] = fold(0, None)
        if name not in self.derived:
            events, (last, before) = self.all_events, self._kept.get(name, (None, None))
            count = last.index if isinstance(last, Event) else 0
            if not 0 < count <= len(events) or events[count - 1] is not last:  # it is the database of another record
                count, before = 0, None
            self.derived[name] = before if 0 < count == len(events) else fold(count, before)
            if events:
                self._kept[name] = events[-1], self.derived[name]
        derived: _Derived = self.derived[name]
        return derived

    @cached_property
    def revision(self) -> int:
        """A number that every write increases."""
        with self._database.decoding():
            return int(self.connection.execute(select(db.schema_table.c.revision)).scalar_one())

    @cached_property
    def version(self) -> object:
        """What differs from that of another state of the record, also of one before a backup was restored."""
        return self.revision, self.all_events[-1:]

    def verified(self, table: Table, statement: Select[Any]) -> Iterator[Row[Any]]:
        """The rows that a statement selects as `select_rows` does, each with the checksum that it should have."""
        return db.verified(table, self.connection.execute(statement), self._database.where)

    def rows(self, table: Table, *conditions: ColumnElement[bool]) -> Iterator[Row[Any]]:
        """The rows of a table that satisfy the conditions, each with the checksum that it should have."""
        return self.verified(table, db.select_rows(table).where(*conditions))

    def _known_results(self, basis: Basis) -> Iterable[ResultRow]:
        """The results by a basis.

        Rows are read again only where the number or the checksums of those differ that begin with the same two digits:
        after one more result, of 5,000 rows some 20 are read.
        """
        table = db.result_table
        conditions = self._by(table, basis)
        if self.only is not None:
            with self._database.decoding():
                return [ResultRow.of(row) for row in self.rows(table, *conditions)]
        key, first = (basis.solution, *self._matching(basis)), func.substr(table.c.digest, 1, 2)
        groups = select(first, func.count(), func.sum(table.c.checksum)).where(*conditions).group_by(first)
        groups = groups.with_hint(table, "NOT INDEXED", "sqlite")
        sums = {digits: (count, int(total)) for digits, count, total in self.connection.execute(groups)}
        before, kept = self._results.get(key, ({}, {}))
        changed = {digits for digits in sums.keys() | before.keys() if sums.get(digits) != before.get(digits)}
        if changed:
            statement = db.select_rows(table).where(*conditions)
            if before:
                statement = statement.where(first.in_(sorted(changed)))
            same = {digest: row for digest, row in kept.items() if digest[:2] not in changed}
            with self._database.decoding():
                for row in self.verified(table, statement):
                    known = kept.get(row.digest)
                    is_known = known is not None and known.checksum == row.checksum
                    same[row.digest] = known if known is not None and is_known else ResultRow.of(row)
            kept = same
            self._results[key] = sums, kept
        return kept.values()

    def all_rows(self, table: Table) -> Iterator[Row[Any]]:
        """All rows of a table with all of its columns, in the order of their keys."""
        statement = select(*db.all_columns(table)).with_hint(table, "NOT INDEXED", "sqlite")
        statement = statement.order_by(*table.primary_key).execution_options(yield_per=AT_A_TIME)
        for row in self.connection.execute(statement):
            if not db.is_whole(table, row):
                raise db.damaged_row(table, row, self._database.where)
            yield row

    @cached_property
    def schema_row(self) -> Any:
        """The row of the schema."""
        with self._database.decoding():
            (row,) = self.rows(db.schema_table)
        return row

    @cached_property
    def all_events(self) -> list[Event]:
        """All events, without a gap."""
        keys = select(db.event_table.c.index).with_hint(db.event_table, "INDEXED BY sqlite_autoindex_event_1", "sqlite")
        count = self.connection.execute(select(func.count()).select_from(keys.subquery())).scalar_one()
        earlier = list(self._events)  # other threads may add to them
        while True:
            # The last event that is known is read again: a restored backup may have another one in its place.
            follows = db.event_table.c.index >= len(earlier) if earlier else true()
            new = [index for (index,) in self.connection.execute(keys.where(follows))]
            statement = db.select_rows(db.event_table).where(follows).order_by(db.event_table.c.index)
            rows = [tuple(row)[:-1] for row in self.verified(db.event_table, statement)]
            if earlier and count == len(earlier) and rows == [_fields(earlier[-1])]:
                return earlier
            with self._database.decoding():
                later = [event_of(*row) for row in rows]
            if not earlier or (later[:1] == earlier[-1:] and count == len(earlier) - 1 + len(new)):
                break
            earlier = []  # events are missing, or it is the database of another record
        first = max(len(earlier), 1)
        last = first - 1 + max(len(later), len(new))
        for indexes in ([event.index for event in later], new):
            lacking = set(range(first, last + 1)).difference(indexes)
            if lacking:
                raise StoreError(f"{self._database.where}: is damaged: event {min(lacking)} is missing; {db.RESTORE}")
        events = [*earlier, *later[len(earlier[-1:]) :]]
        self._events[:] = events
        return events

    @property
    def next_index(self) -> int:
        """The index of the event that is recorded next, after one of the kind `log` if the last one has version 1."""
        events = self.all_events
        return len(events) + (2 if events and events[-1].log is None else 1)

    def as_of(self, moment: datetime | int | None) -> Self:
        """The same state with the events until a moment; None: all. Results are not selected: they follow from them.

        A moment is the index of the last event; or a time with a zone, for the submissions that were received until
        then, and the other events that were recorded until then. Raises StoreError if there is no such event, or the
        time is in the future.
        """
        if moment is None:
            return self
        if isinstance(moment, datetime):
            if moment > self.now:
                raise StoreError(f"{iso_time(moment)}: is in the future; give a time until now")
            return replace(self, now=moment.astimezone(UTC), until=(*self.until, moment))
        last = len(self.all_events)
        if not 0 <= moment <= last:
            raise StoreError(f"{self._database.where}: has no event {moment}; the record has the events 1 to {last}")
        at = self.all_events[moment - 1].at if moment else None
        return replace(self, now=min(at or self.now, self.now), until=(*self.until, moment))

    def before(self, moment: datetime) -> Self:
        """The record as it was just before a moment, which has a zone and is not in the future.

        It has only events that were recorded before the moment and before any event that was recorded later. So nothing
        that is recorded from the moment on changes it, even if it claims an earlier time of receipt. What was forgotten
        since then still has its outcome.
        """
        last = moment.astimezone(UTC) - RESOLUTION
        index = self._recorded_until(last)
        since = tuple(event.index for event in self.all_events[index:] if event.kind == "forgetting")
        return replace(self, now=last, until=(*self.until, index), forgettings=since)

    @property
    def last_index(self) -> int:
        """The index of the last event that was recorded by the selected moments; without any, of the last one."""
        limits = (moment if isinstance(moment, int) else self._recorded_until(moment) for moment in self.until)
        return min(limits, default=len(self.all_events))

    def _recorded_until(self, moment: datetime) -> int:
        """The number of events before the first one that was recorded after a moment."""
        later = (event.index for event in self.all_events if event.at is not None and event.at > moment)
        return next(later, len(self.all_events) + 1) - 1

    def events(self, track: str | None = None) -> Sequence[Event]:
        """The events of a track, with those of the whole challenge, or the events of all tracks; by index."""

        def selected(count: int, before: Sequence[Event] | None) -> Sequence[Event]:
            new = (
                event
                for event in self.all_events[count:]
                if track in (None, event.track) or event.track == EVERY_TRACK
                if all(_is_until(event, moment) for moment in self.until)
            )
            return (*(before or ()), *new)

        return self.folded(("events", track), selected)

    def events_after(self, count: int, track: str | None = None) -> Sequence[Event]:
        """Those of `events` that are after so many events of the record."""
        events = self.events(track)
        return events[bisect_right(events, count, key=attrgetter("index")) :]

    def decisions(self, track: str) -> Sequence[Event]:
        """Those of `events` that are not about single files."""

        def selected(count: int, before: Sequence[Event] | None) -> Sequence[Event]:
            new = (event for event in self.events_after(count, track) if not isinstance(event.body, FileBody))
            return (*(before or ()), *new)

        return self.folded(("decisions", track), selected)

    def with_events(self, track: str, events: Sequence[Event]) -> Self:
        """The same state with only these events, of a track and of the whole challenge, and only the outcomes of the
        submissions that arrive in them: what it costs to read does not depend on the other submissions.
        """
        digests = frozenset(arrival.digest for _, arrival in bodies(events, ArrivalBody))
        view = replace(self, only=digests)
        view.derived["events", track] = view.derived["events", None] = tuple(events)
        return view

    @cached_property
    def teams(self) -> tuple[str, ...]:
        """The names of all teams of all tracks, in the order in which their first submissions were recorded."""

        def named(count: int, before: tuple[str, ...] | None) -> tuple[str, ...]:
            arrivals = bodies(self.events_after(count), ArrivalBody)
            return tuple(dict.fromkeys((*(before or ()), *(arrival.team for _, arrival in arrivals))))

        return self.folded("teams", named)

    def recorded_basis(self, track: str) -> BasisBody | None:
        """The basis of a track's board; None if it has never been scored.

        Before the first basis was recorded, it is that one: results do not depend on when they were computed.
        """
        last = (basis for _, basis in bodies(reversed(self.decisions(track)), BasisBody))
        first = (basis for event, basis in bodies(self.all_events, BasisBody) if event.track == track)
        return next(last, None) or next(first, None)

    def solution_row(self, digest: str) -> Any:
        """The row of a solution. Raises StoreError if it is not stored."""
        selected = select(*db.layout(db.solution_table).columns).where(db.solution_table.c.digest == digest)
        rows = list(self.verified(db.solution_table, selected))
        if not rows:
            raise StoreError(
                f"{self._database.where}: holds no solution with the digest {digest[:12]}; `scorer run` stores it"
            )
        if rows[0].digest != digest:
            raise db.missing_rows(db.solution_table, self._database.where)
        return rows[0]

    def result_rows(self, basis: Basis) -> Mapping[str, ResultRow]:
        """The results by a basis, without judged items, by submission; one of schema 1 only where there is no other."""
        digests = self._matching(basis)

        def read() -> Mapping[str, ResultRow]:
            rows = list(self._known_results(basis))
            if self.forgettings or len({row.matching_digest for row in rows}) > 1:
                failures = self.failure_rows(basis) if self.forgettings else ()
                failed = {row.submission_digest: digests.index(row.matching_digest) for row in failures}
                # A result does not replace a failure that was forgotten before it.
                rows = [
                    row for row in rows if digests.index(row.matching_digest) >= failed.get(row.submission_digest, 0)
                ]
                rows.sort(key=lambda row: digests.index(row.matching_digest))
            return {row.submission_digest: row for row in rows}

        return self.kept(("results", basis.solution, *digests), self.version, read)

    def failure_rows(self, basis: Basis) -> list[Row[Any]]:
        """The rows of failures by a basis; of several about one submission, the last one counts."""
        digests, table = self._matching(basis), db.failure_table
        rows = self.rows(table, *self._by(table, basis))
        return sorted(rows, key=lambda row: (digests.index(row.matching_digest), row.digest))

    def _by(self, table: Table, basis: Basis) -> tuple[ColumnElement[bool], ...]:
        rules = table.c.solution_digest == basis.solution, table.c.matching_digest.in_(self._matching(basis))
        return rules if self.only is None else (*rules, table.c.submission_digest.in_(sorted(self.only)))

    def _matching(self, basis: Basis) -> list[str]:
        """The digests of matching rules that results by a basis have: of schema 1, current, and forgotten ones, the
        first of which was there before all others.
        """
        own = [*([basis.version_1] if basis.version_1 else []), basis.matching]
        return [*own, *(forgotten(digest, index) for index in reversed(self.forgettings) for digest in own)]

    def mean_rows(
        self, basis: Basis, measures: Sequence[Measure], masks: Collection[str], results: Collection[str] | None = None
    ) -> Iterator[Row[Any]]:
        """The rows of the means of these measures over the queries of these masks, of all results by a basis, or at
        least of those with these digests.
        """
        statement = select(*db.layout(db.mean_table).columns).join(db.result_table)
        statement = statement.where(*self._by(db.result_table, basis), *_of_means(measures, masks))
        if results is not None and len(results) <= AT_A_TIME:
            statement = statement.where(db.result_table.c.digest.in_(results))
        return self.verified(db.mean_table, statement)

    def complete_results(self, basis: Basis, measures: Sequence[Measure], masks: Collection[str]) -> set[str]:
        """The digests of the results by a basis that have all these means."""
        result, wanted = db.mean_table.c.result_digest, len({measure.full for measure in measures}) * len(masks)
        statement = select(result).join(db.result_table).group_by(result).having(func.count() == wanted)
        statement = statement.where(*self._by(db.result_table, basis), *_of_means(measures, masks))
        return set(self.connection.execute(statement).scalars())

    def hits(self, scored: Iterable[ResultRow]) -> Iterator[tuple[str, str, bytes]]:
        """The digest of each scored result, that of its submission, and its packed items."""
        digests = sorted(row.digest for row in scored)
        for start in range(0, len(digests), AT_A_TIME):
            part = digests[start : start + AT_A_TIME]
            statement = select(*db.all_columns(db.result_table)).where(db.result_table.c.digest.in_(part))
            rows = list(self.connection.execute(statement.order_by(db.result_table.c.digest)))
            if [row.digest for row in rows] != part:
                raise db.missing_rows(db.result_table, self._database.where)
            for row in rows:
                if not db.is_whole(db.result_table, row):
                    raise db.damaged_row(db.result_table, row, self._database.where)
                yield row.digest, row.submission_digest, row.hits

    def unpacked(self, packed: bytes, unpack: Callable[[bytes], _Unpacked]) -> _Unpacked:
        """Packed bytes as `unpack` returns them. Raises StoreError if they are damaged."""
        try:
            return unpack(packed)
        except (DamagedError, ValueError, LookupError, TypeError, zlib.error) as error:
            raise StoreError(
                f"{self._database.where}: is damaged: packed values cannot be read; {db.REPAIR}"
            ) from error


def _of_means(measures: Sequence[Measure], masks: Collection[str]) -> tuple[ColumnElement[bool], ...]:
    """The conditions on the means of these measures over the queries of these masks."""
    names = sorted({measure.full for measure in measures})
    columns = db.mean_table.c
    return columns.generation == MEASURE_GENERATION, columns.measure.in_(names), columns.mask.in_(sorted(masks))


def forgotten(matching: str, event: int) -> str:
    """The digest of the matching rules of an outcome that an event dropped; no other digest has a colon."""
    return f"{event}:{matching}"[:64]


def _fields(event: Event) -> tuple[object, ...]:
    """The values of the row of an event."""
    return event.index, event.track, event.kind, event.at and iso(event.at), event.text, event.log


def _is_until(event: Event, moment: datetime | int) -> bool:
    if isinstance(moment, int):
        return event.index <= moment
    at = event.body.received if isinstance(event.body, ArrivalBody) else event.at
    return at is None or at <= moment


_Row = dict[str, Any]


def result_digest(submission_digest: str, basis: Basis) -> str:
    """The key of a result and of a failure."""
    return hashlib.sha256(f"{submission_digest}\n{basis.solution}\n{basis.matching}".encode()).hexdigest()


def add(connection: Connection, table: Table, row: _Row) -> bool:
    """Insert a row unless its key exists. Returns whether it was inserted."""
    key = select(*table.primary_key).where(*(column == row[column.name] for column in table.primary_key))
    if connection.execute(key).first() is not None:
        return False
    connection.execute(insert(table), db.sealed(table, row))
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
        existing = select(db.result_table.c.digest).where(db.result_table.c.digest == key)
        if connection.execute(existing).first() is not None:
            return False
        of_key = db.select_rows(db.failure_table).where(db.failure_table.c.digest == key)
        before = sum(row.attempts for row in db.verified(db.failure_table, connection.execute(of_key), where))
        row = _keys(key, submission_digest, basis) | {
            "kind": outcome.kind,
            "reason": shortened(outcome.reason, LONGEST),
            "attempts": before + outcome.is_counted,
            "at": iso(at),
        }
        connection.execute(delete(db.failure_table).where(db.failure_table.c.digest == key))
        return add(connection, db.failure_table, row)
    cleared = connection.execute(delete(db.failure_table).where(db.failure_table.c.digest == key)).rowcount > 0
    if not add(connection, db.result_table, _result_row(key, submission_digest, basis, outcome)):
        return cleared
    if isinstance(outcome, Summary):
        insert_all(connection, db.mean_table, mean_rows(key, outcome.means))
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
    digests = select(db.result_table.c.digest).where(*conditions)
    connection.execute(delete(db.mean_table).where(db.mean_table.c.result_digest.in_(digests)))
    return connection.execute(delete(db.result_table).where(*conditions)).rowcount


def drop_outcomes(connection: Connection, submission_digest: str, event: int | None) -> None:
    """Drop what became of a submission, by every basis; given an event, boards from before it still find it."""
    for table in (db.result_table, db.failure_table):
        conditions = table.c.submission_digest == submission_digest, table.c.matching_digest.not_like("%:%")
        kept = [] if event is None else list(_forgotten(connection, table, event, *conditions))
        if table is db.result_table:
            delete_results(connection, *conditions)
        connection.execute(delete(table).where(*conditions))
        insert_all(connection, table, kept)


def _forgotten(connection: Connection, table: Table, event: int, *conditions: ColumnElement[bool]) -> Iterator[_Row]:
    """The chosen results or failures, with the keys that they have after an event dropped them; no damaged ones."""
    for row in connection.execute(select(*db.all_columns(table)).where(*conditions)):
        if db.is_whole(table, row):
            basis = Basis(row.solution_digest, forgotten(row.matching_digest, event))
            key = result_digest(row.submission_digest, basis)
            yield {**row._mapping, **_keys(key, row.submission_digest, basis)}


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
        counts, hits = json.dumps(outcome.counts._asdict()), outcome.hits
    first = [[problem.line, problem.code, problem.facts] for problem in findings]
    return _keys(key, submission_digest, basis) | {
        "status": status,
        "counts": counts,
        "findings": json.dumps({"shown": first, "count": findings.count}),
        "limits": json.dumps(dict(limits), sort_keys=True),
        "hits": hits,
        "hits_checksum": db.hits_checksum(hits),
    }
