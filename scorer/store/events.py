"""The record: events in the order of their index, and the state of submissions that follows from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from scorer.store.records import Basis, RecordedBasis, Submission
from scorer.store.schema import storable

Kind = Literal["arrival", "withdrawal", "return", "basis"]

FOLDER = "folder"
"""The source of submissions that were imported from the folder. Only these can be withdrawn by an import."""


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    index: int
    track: str
    kind: Kind
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SubmissionState:
    """A submission, and whether it is among the submissions now."""

    submission: Submission
    present: bool
    source: str


Key = tuple[str, str]
"""A submission of a track: the file and the digest."""


def key_of(submission: Submission) -> Key:
    """The key of a submission."""
    return storable(submission.file), submission.digest


def encoded(body: Mapping[str, Any]) -> str:
    """A body as JSON with sorted keys: equal bodies give equal text."""
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def row(index: int, track: str, kind: Kind, at: datetime | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """An event as a row of its table."""
    return {"index": index, "track": track, "kind": kind, "at": at, "body": encoded(body)}


def arrival(submission: Submission, source: str = FOLDER) -> dict[str, Any]:
    """The body of the arrival of a submission."""
    return {
        "team": storable(submission.team),
        "file": storable(submission.file),
        "digest": submission.digest,
        "received": submission.received.astimezone(UTC).isoformat(timespec="microseconds"),
        "source": source,
    }


def submission_states(events: Iterable[Event]) -> dict[Key, SubmissionState]:
    """The submissions of one track, given its events in order."""
    states: dict[Key, SubmissionState] = {}
    for event in events:
        if event.kind == "basis":
            continue
        key = event.body["file"], event.body["digest"]
        if event.kind == "arrival":
            received = datetime.fromisoformat(event.body["received"])
            submission = Submission(event.track, event.body["team"], *key, received)
            states[key] = SubmissionState(submission, True, event.body["source"])
        else:
            states[key] = replace(states[key], present=event.kind == "return")
    return states


def last_basis(events: Sequence[Event]) -> RecordedBasis | None:
    """The basis of a track's board, given its events in order; None before the first one."""
    event = last_basis_event(events)
    if event is None:
        return None
    body = event.body
    basis = Basis(body["solution"], body["matching"], body["version_1"])
    return RecordedBasis(basis, body["settings"], body["generations"], event.at)


def last_basis_event(events: Sequence[Event]) -> Event | None:
    """The last event that records a basis, given the events of a track in order; None without one."""
    return next((event for event in reversed(events) if event.kind == "basis"), None)


def basis_body(basis: Basis, settings: Mapping[str, object] | None, generations: Mapping[str, int]) -> dict[str, Any]:
    """The body of a basis."""
    return {
        "solution": basis.solution,
        "matching": basis.matching,
        "version_1": basis.version_1,
        "settings": settings,
        "generations": dict(generations),
    }


def changes(
    states: Mapping[Key, SubmissionState], found: Iterable[Submission], present_now: Mapping[str, str | None]
) -> list[tuple[Kind, dict[str, Any]]]:
    """The events that bring the record to the state of the folder.

    Parameters
    ----------
    states
        The submissions as recorded.
    found
        The submissions that a scan of the folder found.
    present_now
        For files on which the record and the scan differ, the digest that a second look found, or None if the file is
        gone. A file that is missing here is left as it is.

    Returns
    -------
    The kind and body of each event: arrivals by time of receipt, team and file, then withdrawals and returns.
    """
    new = {key_of(each): each for each in found}
    arrivals = sorted(
        (each for key, each in new.items() if key not in states),
        key=lambda each: each.sort_key,
    )
    events: list[tuple[Kind, dict[str, Any]]] = [("arrival", arrival(each)) for each in arrivals]
    present = {key: state.present for key, state in states.items() if state.source == FOLDER}
    present |= dict.fromkeys(map(key_of, arrivals), True)
    for (file, digest), was_present in sorted(present.items()):
        if file in present_now and was_present != (present_now[file] == digest):
            events.append(("withdrawal" if was_present else "return", {"file": file, "digest": digest}))
    return events


def is_complete(states: Mapping[Key, SubmissionState], found: Iterable[Submission]) -> bool:
    """Whether the record already says what a scan of the folder found."""
    present = {key for key, state in states.items() if state.present and state.source == FOLDER}
    return present == set(map(key_of, found))


def disputed(states: Mapping[Key, SubmissionState], found: Iterable[Submission]) -> set[str]:
    """The files on which the record and a scan of the folder differ, and that need a second look."""
    scanned = set(map(key_of, found))
    return {
        file
        for (file, digest), state in states.items()
        if state.source == FOLDER and state.present != ((file, digest) in scanned)
    }
