"""Events: the rows of the record, and the bases among them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scorer.challenge.phases import Phase
from scorer.store.canonical import encoded, iso
from scorer.store.checksums import sealed
from scorer.store.kinds import KEYS, Kind
from scorer.store.records import Basis, RecordedBasis
from scorer.store.schema import event_table

EVERY_TRACK = ""
"""The track of an event that concerns the whole challenge."""


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    index: int
    track: str
    kind: Kind
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    body: Mapping[str, Any]


def row(index: int, track: str, kind: Kind, at: datetime, body: Mapping[str, Any]) -> dict[str, Any]:
    """An event as a row of its table."""
    return sealed(event_table, {"index": index, "track": track, "kind": kind, "at": iso(at), "body": encoded(body)})


def event_of(index: int, track: str, kind: Kind, at: str | None, body: str) -> Event:
    """The event of a row. Raises ValueError, LookupError, TypeError or AttributeError if it is none."""
    values = json.loads(body)
    _check_body(kind, values)
    return Event(index, track, kind, None if at is None else time_of(at), values)


def time_of(text: str) -> datetime:
    """The time of a text. Raises ValueError if it is none, or has no zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"a time without a zone: {text}")
    return time


def _check_body(kind: str, body: Mapping[str, Any]) -> None:
    for key in (*KEYS.get(kind, ()), *({"absent_at"} & body.keys())):
        _READERS.get(key, str.strip)(body[key])


_READERS: Mapping[str, Callable[[Any], object]] = {
    "received": time_of,
    "absent_at": time_of,
    "end": time_of,
    "number": int,
    "settings": lambda settings: dict(settings or {}),
    "generations": dict,
    "picks": lambda picks: [(each["file"], each["digest"]) for each in picks],
    "phases": lambda phases: list(map(Phase.of_record, phases)),
    "basis": lambda basis: _check_body("basis", basis),
}
"""What fails if a value of a body cannot be read; all others are text."""


def last_basis(events: Sequence[Event]) -> RecordedBasis | None:
    """The basis of a track's board, given its events in order; None before the first one."""
    event = last_basis_event(events)
    return None if event is None else recorded_basis(event.body, event.at)


def first_basis(events: Iterable[Event], track: str) -> RecordedBasis | None:
    """The first basis that was recorded for a track; None without one."""
    event = next((event for event in events if event.kind == "basis" and event.track == track), None)
    return None if event is None else recorded_basis(event.body, event.at)


def recorded_basis(body: Mapping[str, Any], at: datetime | None) -> RecordedBasis:
    """The basis that `recorded_body` described."""
    basis = Basis(body["solution"], body["matching"], body["version_1"])
    return RecordedBasis(basis, body["settings"], body["generations"], at, body.get("items"))


def last_basis_event(events: Sequence[Event]) -> Event | None:
    """The last event that records a basis, given the events of a track in order; None without one."""
    return next((event for event in reversed(events) if event.kind == "basis"), None)


def new_basis(events: Sequence[Event], body: Mapping[str, Any]) -> list[tuple[Kind, Mapping[str, Any]]]:
    """The event that records a basis, given the events of its track; none if the last basis is the same."""
    last = last_basis_event(events)
    return [] if last is not None and encoded(last.body) == encoded(body) else [("basis", body)]


def recorded_body(recorded: RecordedBasis) -> dict[str, Any]:
    """The body of a recorded basis."""
    body = {
        "solution": recorded.basis.solution,
        "matching": recorded.basis.matching,
        "version_1": recorded.basis.version_1,
        "settings": recorded.settings,
        "generations": dict(recorded.generations),
    }
    return body if recorded.items is None else {**body, "items": recorded.items}
