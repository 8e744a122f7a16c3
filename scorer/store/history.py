"""History: the record of a database, as of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Self

from scorer.errors import StoreError
from scorer.store.canonical import RESOLUTION, unescaped
from scorer.store.events import EVERY_TRACK, Event, first_basis, last_basis
from scorer.store.records import RecordedBasis
from scorer.store.rows import Rows
from scorer.wording import iso_time


@dataclass(frozen=True)
class History(Rows):
    """The events of a database, all or until a moment. Every method raises StoreError if the database is damaged."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The time at which it is read, or the time that `as_of` selected; in UTC."""
    until: tuple[datetime | int, ...] = ()
    """What `as_of` and `before` selected; empty: every event."""
    _events_of: dict[str | None, Sequence[Event]] = field(default_factory=dict, init=False)
    """The events that were selected before, by track."""
    derived: dict[object, Any] = field(default_factory=dict, init=False)
    """What other rooms derived from this snapshot, so that they derive it once."""

    def as_of(self, moment: datetime | int) -> Self:
        """The same state with the events until a moment. Results are not selected: they follow from the events.

        Parameters
        ----------
        moment
            The index of the last event; or a time with a zone: the arrivals of submissions that were received until
            then, and the other events that were recorded until then.

        Raises
        ------
        StoreError
            There is no event with this index, or the time is in the future.
        """
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
        limits = (each if isinstance(each, int) else self._recorded_until(each) for each in self.until)
        return min(limits, default=len(self.all_events))

    def _recorded_until(self, moment: datetime) -> int:
        """The number of events before the first one that was recorded after a moment."""
        later = (event.index for event in self.all_events if event.at is not None and event.at > moment)
        return next(later, len(self.all_events) + 1) - 1

    def _is_selected(self, event: Event) -> bool:
        return all(_is_until(event, moment) for moment in self.until)

    def events(self, track: str | None = None) -> Sequence[Event]:
        """The events of a track, with those of the whole challenge, or the events of all tracks; by index."""
        if track not in self._events_of:
            self._events_of[track] = tuple(
                event
                for event in self.all_events
                if (track is None or event.track in (track, EVERY_TRACK)) and self._is_selected(event)
            )
        return self._events_of[track]

    @cached_property
    def teams(self) -> tuple[str, ...]:
        """The names of all teams of all tracks, in the order in which their first submissions were recorded."""
        arrivals = (event.body for event in self.events() if event.kind == "arrival")
        return tuple(
            dict.fromkeys(body["team"] if body.get("names") == "raw" else unescaped(body["team"]) for body in arrivals)
        )

    def recorded_basis(self, track: str) -> RecordedBasis | None:
        """The basis of a track's board; None if it has never been scored.

        Before the first basis was recorded, it is that one: results do not depend on when they were computed.
        """
        return last_basis(self.events(track)) or first_basis(self.all_events, track)


def _is_until(event: Event, moment: datetime | int) -> bool:
    if isinstance(moment, int):
        return event.index <= moment
    at = datetime.fromisoformat(event.body["received"]) if event.kind == "arrival" else event.at
    return at is None or at <= moment
