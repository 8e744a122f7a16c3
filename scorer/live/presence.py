"""Presence: which submissions arrived, which are withdrawn, and what a scan of the folder changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from scorer.challenge.settings import Track
from scorer.limits import ATTEMPTS
from scorer.live.phases import Phases
from scorer.live.times import is_misdated, precedes_phases
from scorer.store.canonical import iso, unescaped
from scorer.store.events import ABOUT_SUBMISSIONS, Event, name_of
from scorer.store.log import Kind
from scorer.store.records import Failure, StoredResult, Submission
from scorer.store.snapshot import Snapshot
from scorer.wording import printable_name

FOLDER = "folder"
"""The source of submissions that were imported from the folder. Only these can be withdrawn by an import."""

SERVICE = "service"
"""The source of submissions that were handed in, at a time by the clock of the service, and of entries that their team
withdrew there: a scan of the folder does not change them."""


@dataclass(frozen=True, slots=True)
class SubmissionState:
    """A submission as the record has it, and what became of it by a basis."""

    index: int
    """Of its arrival in the record; it identifies the submission."""
    recorded: datetime | None
    """When the arrival was recorded, in UTC; None if schema 1 recorded it."""
    submission: Submission
    present: bool
    """Whether it is among the submissions; False once it is withdrawn."""
    source: str
    misdated: bool
    """Whether its time of receipt is impossible: it does not count until the organiser corrects the time."""
    was_escaped: bool
    """Whether its names were recorded escaped, by schema 1 or 2."""
    since: int
    """The index of the event from which on its file has its content."""
    absent_at: datetime | None = None
    """The last scan of the folder that did not find it; None if it is not known, or if the time was amended."""
    result: StoredResult | None = None
    """None if it has no result by the basis."""
    failure: Failure | None = None
    """Of the attempts to score it by the basis; None if it has a result or was never tried."""

    @property
    def is_given_up(self) -> bool:
        """Whether it has failed so often that it is not tried again."""
        return self.failure is not None and self.failure.attempts >= ATTEMPTS

    @property
    def is_open(self) -> bool:
        """Whether its outcome is to come. A submission that is withdrawn without a result has none."""
        return self.present and self.result is None and not self.is_given_up

    @property
    def is_scored(self) -> bool:
        """Whether it has a score, and was not rejected."""
        return self.result is not None and self.result.status == "scored"


Recheck = Callable[[set[str]], Mapping[str, str | None]]
"""Given files, the digest of each as it is now, or None if it is gone; files that cannot be read are left out."""

Key = tuple[str, str]
"""A submission of a track: the file and the digest."""


def key_of(submission: Submission) -> Key:
    """The key of a submission."""
    return submission.file, submission.digest


def arrival(submission: Submission, source: str = FOLDER, delivery: str | None = None) -> dict[str, Any]:
    """The body of the arrival of a submission. Its names are as they are, which those of schema 1 and 2 are not.

    `delivery` is the id by which it was handed in; None: it was found in the folder.
    """
    body = {
        "team": submission.team,
        "file": submission.file,
        "names": "raw",
        "digest": submission.digest,
        "received": iso(submission.received),
        "source": source,
    }
    return body if delivery is None else {**body, "delivery": delivery}


def submissions(events: Iterable[Event]) -> dict[Key, SubmissionState]:
    """The submissions of one track in the order of their arrivals, given the events of the track in order.

    Events about submissions whose arrival is not among the given events are ignored.

    Names that schema 1 and 2 escaped are taken to be those that were escaped, which are more likely than names with
    escape sequences; see also `as_recorded`.
    """
    states: dict[Key, SubmissionState] = {}
    announcement: datetime | None = None
    for event in events:
        if event.kind == "arrival":
            state = _arrived(event)
            if state.source != SERVICE and precedes_phases(state.submission.received, announcement):
                state = replace(state, misdated=True)
            states[key_of(state.submission)] = state
        elif event.kind in ABOUT_SUBMISSIONS:
            key = key_of_event(states, event)
            if key in states:
                states[key] = _changed(states[key], event)
            replacing = key[0], event.body.get("replaced_by", "")
            if replacing in states:
                states[replacing] = replace(states[replacing], since=event.index)
        elif event.kind == "phases":
            announcement = announcement or event.at
    return states


def key_of_event(states: Mapping[Key, SubmissionState], event: Event) -> Key:
    """The key of the submission that an event is about; it is in no state if its arrival is not among them."""
    file, digest = event.body["file"], event.body["digest"]
    return (file, digest) if (file, digest) in states else (unescaped(file), digest)


def recorded(view: Snapshot, track: str) -> Mapping[Key, SubmissionState]:
    """The submissions of a track as of a snapshot, as `submissions` returns them; folded once."""
    key = ("submissions", track)
    if key not in view.derived:
        view.derived[key] = submissions(view.events(track))
    states: Mapping[Key, SubmissionState] = view.derived[key]
    return states


def _arrived(event: Event) -> SubmissionState:
    """The submission of an arrival, as it was then."""
    body = event.body
    received = datetime.fromisoformat(body["received"])
    was_escaped = body.get("names") != "raw"
    team, file = (name_of(body, key) for key in ("team", "file"))
    submission = Submission(event.track, team, file, body["digest"], received)
    absent_at = datetime.fromisoformat(body["absent_at"]) if "absent_at" in body else None
    misdated = body["source"] != SERVICE and is_misdated(received, event.at)
    return SubmissionState(
        event.index, event.at, submission, True, body["source"], misdated, was_escaped, event.index, absent_at
    )


def _changed(state: SubmissionState, event: Event) -> SubmissionState:
    if event.kind == "amendment":
        received = datetime.fromisoformat(event.body["received"])
        submission = replace(state.submission, received=received)
        return replace(state, submission=submission, misdated=is_misdated(received, event.at), absent_at=None)
    if event.kind == "withdrawal":
        return replace(state, present=False, source=event.body.get("source", state.source))
    if event.kind == "return":
        return replace(state, present=True, since=event.index)
    return state


def delivered_files(states: Iterable[SubmissionState]) -> dict[str, str]:
    """The files that were handed in and are present, with their digests."""
    handed_in = (state.submission for state in states if state.present and state.source == SERVICE)
    return {submission.file: submission.digest for submission in handed_in}


def track_digests(view: Snapshot, track: str) -> frozenset[str]:
    """The digests of all submissions of a track."""
    return frozenset(state.submission.digest for state in recorded(view, track).values())


def present_digests(view: Snapshot) -> frozenset[str]:
    """The digests of the submissions of all tracks that are not withdrawn."""
    tracks = {event.track for event in view.events() if event.kind == "arrival"}
    states = (state for track in tracks for state in recorded(view, track).values())
    return frozenset(state.submission.digest for state in states if state.present)


def is_baseline(team: str, track: Track) -> bool:
    """Whether a team, by the name of its folder, is a baseline: it has no phase and no quota."""
    return bool(track.baselines) and not {team, printable_name(team)}.isdisjoint(track.baselines)


def stays(submission: Submission, phases: Phases, track: Track, now: datetime) -> bool:
    """Whether a submission stays present or withdrawn, regardless of its file, because its phase has closed."""
    if not phases.all or is_baseline(submission.team, track):
        return False
    return phases.has_closed(phases.place(submission.received)[0], now)


# What a scan changes


def as_recorded(states: Mapping[Key, SubmissionState], scanned: Iterable[Submission]) -> dict[Key, Submission]:
    """What a scan of the folder found, by the keys that the record has.

    Schema 1 and 2 recorded the same text for a name with a character that does not print and for a name with the escape
    sequence of that character. A file with such a name is the recorded one unless the scan also found the other file.
    """
    by_key = {key_of(submission): submission for submission in scanned}
    taken = {}
    for key, submission in by_key.items():
        other = unescaped(submission.file), submission.digest
        is_other = key not in states and other not in by_key and other in states and states[other].was_escaped
        taken[other if is_other else key] = submission
    return taken


def _of_folder(states: Mapping[Key, SubmissionState], scanned: Iterable[Submission]) -> dict[Key, Submission]:
    """What a scan of the folder found, without what was handed in or withdrawn over the service."""
    taken = as_recorded(states, scanned)
    delivered = {key[0] for key, state in states.items() if state.present and state.source == SERVICE}
    return {
        key: submission
        for key, submission in taken.items()
        if key[0] not in delivered and (key not in states or states[key].source == FOLDER)
    }


def is_complete(states: Mapping[Key, SubmissionState], scanned: Iterable[Submission]) -> bool:
    """Whether the record already says what a scan of the folder found."""
    present = {key for key, state in states.items() if state.present and state.source == FOLDER}
    return present == _of_folder(states, scanned).keys()


def import_changes(
    states: Mapping[Key, SubmissionState], scanned: Iterable[Submission], recheck: Recheck | None
) -> list[tuple[Kind, dict[str, Any]]]:
    """The events that bring the record to the state of the folder.

    `recheck` decides on the files on which the scan and the record differ; None: the scan is the latest. A file on
    which it is silent is left as it is. The events are arrivals by time of receipt, team and file, then withdrawals and
    returns.
    """
    taken = _of_folder(states, scanned)
    files = {key[0] for key, state in states.items() if state.source == FOLDER and state.present != (key in taken)}
    if recheck is None:
        now: Mapping[str, str | None] = dict.fromkeys(files) | {file: digest for file, digest in taken if file in files}
    else:
        names = {file: file for file in files} | {
            key[0]: submission.file for key, submission in taken.items() if key[0] in files
        }
        seen = recheck(set(names.values())) if files else {}
        now = {file: seen[name] for file, name in names.items() if name in seen}
    arrivals = sorted(
        (submission for key, submission in taken.items() if key not in states),
        key=lambda submission: submission.sort_key,
    )
    events: list[tuple[Kind, dict[str, Any]]] = [("arrival", arrival(submission)) for submission in arrivals]
    present = {key: state.present for key, state in states.items() if state.source == FOLDER}
    present |= dict.fromkeys(map(key_of, arrivals), True)
    for (file, digest), was_present in sorted(present.items()):
        if file in now and was_present != (now[file] == digest):
            other = {"replaced_by": now[file]} if was_present and (file, now[file]) in present else {}
            events.append(("withdrawal" if was_present else "return", {"file": file, "digest": digest, **other}))
    return events
