"""The record: events in the order of their index, and the state of submissions that follows from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from scorer.challenge.phases import Phase
from scorer.store.canonical import encoded, iso, unescaped
from scorer.store.checksums import sealed
from scorer.store.kinds import KEYS, Kind
from scorer.store.records import Basis, RecordedBasis, Submission
from scorer.store.schema import event_table

EVERY_TRACK = ""
"""The track of an event that concerns the whole challenge."""

ABOUT_SUBMISSIONS = frozenset({"withdrawal", "return", "amendment", "forgetting"})
"""The kinds of events that name a submission which has arrived before."""

FOLDER = "folder"
"""The source of submissions that were imported from the folder. Only these can be withdrawn by an import."""

FIRST_RECEIPT = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest time of receipt that is possible."""

CLOCK_SKEW = timedelta(minutes=5)
"""How far a time of receipt may be after the time at which it is recorded: clocks differ."""


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

    index: int
    """Of its arrival in the record; it identifies the submission."""
    recorded: datetime | None
    """When the arrival was recorded, in UTC; None if schema 1 recorded it."""
    submission: Submission
    present: bool
    source: str
    misdated: bool
    """Whether its time of receipt is impossible, see `is_misdated` and `_precedes_phases`."""
    was_escaped: bool
    """Whether its names were recorded escaped, by schema 1 or 2."""
    absent_at: datetime | None = None
    """The last look into the folder that did not find it; None if it is not known, or if the time was amended."""


SecondLook = Callable[[set[str]], Mapping[str, str | None]]
"""Given files, the digest of each as it is now, or None if it is gone; files that cannot be read are left out."""

Key = tuple[str, str]
"""A submission of a track: the file and the digest."""


def key_of(submission: Submission) -> Key:
    """The key of a submission."""
    return submission.file, submission.digest


def is_misdated(received: datetime, recorded: datetime | None) -> bool:
    """Whether a time of receipt is impossible: before 1990, or after it was recorded (None: unknown)."""
    return received < FIRST_RECEIPT or (recorded is not None and received > recorded + CLOCK_SKEW)


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


def arrival(submission: Submission, source: str = FOLDER) -> dict[str, Any]:
    """The body of the arrival of a submission. Its names are as they are, which those of schema 1 and 2 are not."""
    return {
        "team": submission.team,
        "file": submission.file,
        "names": "raw",
        "digest": submission.digest,
        "received": iso(submission.received),
        "source": source,
    }


def decision(submission: Submission, reason: str, **details: str) -> dict[str, Any]:
    """The body of an amendment or of a forgetting."""
    return {"file": submission.file, "digest": submission.digest, "reason": reason, **details}


def submission_states(events: Iterable[Event]) -> dict[Key, SubmissionState]:
    """The submissions of one track in the order of their arrivals, given the events of the track in order.

    Events about submissions whose arrival is not among the given events are ignored.

    Names that schema 1 and 2 escaped are taken to be those that were escaped, which are more likely than names with
    escape sequences; see also `as_recorded`.
    """
    states: dict[Key, SubmissionState] = {}
    announcement: datetime | None = None
    for event in events:
        if event.kind == "arrival":
            state = arrived(event)
            if _precedes_phases(state.submission.received, announcement):
                state = replace(state, misdated=True)
            states[key_of(state.submission)] = state
        elif event.kind in ABOUT_SUBMISSIONS:
            file, digest = event.body["file"], event.body["digest"]
            key = (file, digest) if (file, digest) in states else (unescaped(file), digest)
            if key in states:
                states[key] = _changed(states[key], event)
        elif event.kind == "phases":
            announcement = announcement or event.at
    return states


def _precedes_phases(received: datetime, announcement: datetime | None) -> bool:
    """Whether a submission that is recorded after the first phases were announced claims to be from before that."""
    return announcement is not None and received < announcement - CLOCK_SKEW


def arrived(event: Event) -> SubmissionState:
    """The submission of an arrival, as it was then."""
    body = event.body
    received = datetime.fromisoformat(body["received"])
    was_escaped = body.get("names") != "raw"
    team, file = (unescaped(body[name]) if was_escaped else body[name] for name in ("team", "file"))
    submission = Submission(event.track, team, file, body["digest"], received)
    absent_at = datetime.fromisoformat(body["absent_at"]) if "absent_at" in body else None
    misdated = is_misdated(received, event.at)
    return SubmissionState(event.index, event.at, submission, True, body["source"], misdated, was_escaped, absent_at)


def _changed(state: SubmissionState, event: Event) -> SubmissionState:
    if event.kind == "amendment":
        received = datetime.fromisoformat(event.body["received"])
        submission = replace(state.submission, received=received)
        return replace(state, submission=submission, misdated=is_misdated(received, event.at), absent_at=None)
    if event.kind in ("withdrawal", "return"):
        return replace(state, present=event.kind == "return")
    return state


def as_recorded(states: Mapping[Key, SubmissionState], found: Iterable[Submission]) -> dict[Key, Submission]:
    """What a scan of the folder found, by the keys that the record has.

    Schema 1 and 2 recorded the same text for a name with a character that does not print and for a name with the escape
    sequence of that character. A file with such a name is the recorded one unless the scan also found the other file.
    """
    scanned = {key_of(each): each for each in found}
    taken = {}
    for key, each in scanned.items():
        other = unescaped(each.file), each.digest
        is_other = key not in states and other not in scanned and other in states and states[other].was_escaped
        taken[other if is_other else key] = each
    return taken


def last_basis(events: Sequence[Event]) -> RecordedBasis | None:
    """The basis of a track's board, given its events in order; None before the first one."""
    event = last_basis_event(events)
    return None if event is None else recorded_basis(event.body, event.at)


def first_basis(events: Iterable[Event], track: str) -> RecordedBasis | None:
    """The first basis that was recorded for a track; None without one."""
    event = next((event for event in events if event.kind == "basis" and event.track == track), None)
    return None if event is None else recorded_basis(event.body, event.at)


def recorded_basis(body: Mapping[str, Any], at: datetime | None) -> RecordedBasis:
    """The basis that `basis_body` described."""
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
    return basis_body(recorded.basis, recorded.settings, recorded.generations, recorded.items)


def basis_body(
    basis: Basis, settings: Mapping[str, object] | None, generations: Mapping[str, int], items: str | None = None
) -> dict[str, Any]:
    """The body of a basis; `items` is the digest of the list of candidate items."""
    body = {
        "solution": basis.solution,
        "matching": basis.matching,
        "version_1": basis.version_1,
        "settings": settings,
        "generations": dict(generations),
    }
    return body if items is None else {**body, "items": items}


def import_changes(
    states: Mapping[Key, SubmissionState], found: Iterable[Submission], second_look: SecondLook | None
) -> list[tuple[Kind, dict[str, Any]]]:
    """The events that bring the record to the state of the folder, as a second look finds it.

    Parameters
    ----------
    states
        The submissions as recorded.
    found
        The submissions that a scan of the folder found.
    second_look
        Looks again at the files on which both differ; None: the scan is the latest.
    """
    taken = as_recorded(states, found)
    files = disputed(states, taken)
    if second_look is None:
        present = dict.fromkeys(files) | {file: digest for file, digest in taken if file in files}
        return changes(states, taken, present)
    names = {file: file for file in files} | {key[0]: each.file for key, each in taken.items() if key[0] in files}
    looked = second_look(set(names.values())) if files else {}
    return changes(states, taken, {file: looked[name] for file, name in names.items() if name in looked})


def changes(
    states: Mapping[Key, SubmissionState], found: Mapping[Key, Submission], present_now: Mapping[str, str | None]
) -> list[tuple[Kind, dict[str, Any]]]:
    """The events that bring the record to the state of the folder.

    Parameters
    ----------
    states
        The submissions as recorded.
    found
        The submissions that a scan of the folder found, as `as_recorded` returns them.
    present_now
        For files on which the record and the scan differ, the digest that a second look found, or None if the file is
        gone. A file that is missing here is left as it is.

    Returns
    -------
    The kind and body of each event: arrivals by time of receipt, team and file, then withdrawals and returns.
    """
    arrivals = sorted(
        (each for key, each in found.items() if key not in states),
        key=lambda each: each.sort_key,
    )
    events: list[tuple[Kind, dict[str, Any]]] = [("arrival", arrival(each)) for each in arrivals]
    present = {key: state.present for key, state in states.items() if state.source == FOLDER}
    present |= dict.fromkeys(map(key_of, arrivals), True)
    for (file, digest), was_present in sorted(present.items()):
        if file in present_now and was_present != (present_now[file] == digest):
            events.append(("withdrawal" if was_present else "return", {"file": file, "digest": digest}))
    return events


def is_complete(states: Mapping[Key, SubmissionState], found: Mapping[Key, Submission]) -> bool:
    """Whether the record already says what a scan of the folder found."""
    present = {key for key, state in states.items() if state.present and state.source == FOLDER}
    return present == found.keys()


def disputed(states: Mapping[Key, SubmissionState], found: Mapping[Key, Submission]) -> set[str]:
    """The files on which the record and a scan of the folder differ, and that need a second look."""
    return {key[0] for key, state in states.items() if state.source == FOLDER and state.present != (key in found)}
