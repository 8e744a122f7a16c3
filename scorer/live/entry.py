"""Entries: submissions as the challenge received them, their state and scores, and which of them are present."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, cast

from scorer.errors import MOST_SHOWN, Problem, SolutionError
from scorer.limits import ATTEMPTS
from scorer.lists import Counts
from scorer.live.phases import FIRST_RECEIPT, is_misdated, precedes_phases
from scorer.record.events import AmendmentBody, ArrivalBody, Event, FileBody, Key
from scorer.record.log import EventKind, iso, unescaped
from scorer.rules.metadata import NO_METADATA, Correction, Metadata, MetadataBody, Value
from scorer.rules.phases import Phases
from scorer.scoring.outcomes import Mean
from scorer.settings.tracks import Track
from scorer.store.events import Failure, StoredResult, Submission
from scorer.store.snapshot import Snapshot
from scorer.wording import one_line, printable_name, texts_of, utc_moment

ColumnScores = tuple[float | None, ...]
"""One for each column of the board, rounded to the track's decimals; None where undefined or not to be shown."""

Presence = Literal["present", "superseded", "withdrawn"]
"""Superseded: its file has another content now. Withdrawn: its file is gone."""

Admission = Literal["ok", "early", "late", "over-quota", "misdated"]
"""Early: received before the first phase. Late: received after the end of a phase. Misdated: its time of receipt is
impossible, so it does not count until the organiser corrects the time."""

EntryOutcome = Literal["waiting", "scored", "rejected", "failed"]
"""Waiting: not scored yet. Failed: scoring it was tried, without a result."""

State = Literal[
    "withdrawn", "superseded", "misdated", "early", "late", "over-quota", "waiting", "scored", "rejected", "failed"
]
"""The first of presence, admission and outcome that is not the normal one, so "scored" if all is well."""

UNRANKED: tuple[State, ...] = ("early", "late", "over-quota", "misdated")
"""The states of entries that are kept and not ranked."""

Answer = Literal["improvement", "no improvement", "waits"]
"""Of the Ladder to a scored entry. Improvement: its score is released. Waits: an earlier entry of its team is to be
scored first."""


@dataclass(frozen=True, slots=True)
class StateWords:
    """What texts say about the entries in a state."""

    label: str
    """On pages: ``replaced``."""
    reason: str | None = None
    """Why such an entry does not count, or shows no score, for the organiser."""
    predicate: str = ""
    """Why such an entry has no score: ``Its only entry was rejected ...``; empty where that is said otherwise."""
    note: str = ""
    """What the label means, below a table of entries."""
    of_organiser: str = ""
    """The label for the organiser; empty: that of pages."""
    of_board: str = ""
    """Such entries in the number of entries of a board: ``2 whose time ...``; empty: the label."""
    of_team: str = ""
    """Such entries in the number of entries of a team; empty: the label."""


STATE_WORDS: Mapping[State | Answer, StateWords] = {
    cast(State | Answer, state): StateWords(**words) for state, words in texts_of(__file__, "states.toml").items()
}
"""The only table of words for states of entries; the notes below a table have this order."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a team in a track."""

    index: int
    """Of its arrival in the record; it identifies the entry in the challenge."""
    team: str
    """The folder of the team that submitted it, which may have merged into another one since."""
    file: str
    """Its path under submissions/, as `printable_name` returns it."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """UTC."""
    recorded: datetime | None
    """When its arrival was recorded, in UTC; None if it is not known."""
    phase: str | None
    """The phase that it was received in, or after; None before the first one, and without phases."""
    presence: Presence
    admission: Admission
    outcome: EntryOutcome
    is_counting: bool
    """Whether the rank of the team comes from this entry."""
    final: ColumnScores
    preliminary: ColumnScores
    counts: Counts | None
    findings: tuple[Problem, ...]
    """Why it was rejected, or what to know though it was scored; the first of them."""
    findings_count: int
    """How many there are in all."""
    was_scored: bool = False
    """Whether earlier rules scored it, and the present ones cannot: it is withdrawn or superseded."""
    answer: Answer | None = None
    """Of the Ladder, where it decides which scores are shown; then `preliminary` has only a score that it released."""
    absent_at: datetime | None = None
    """If its time of receipt is impossible because its file was not there then: the last scan that did not find it."""
    corrected: str = ""
    """Why the organisers corrected its time of receipt; empty if they did not."""
    is_recorded_late: bool = False
    """Whether a phase closed after its time of receipt and before it was recorded."""
    is_frozen: bool = False
    """Whether it was recorded since the board was frozen, so that not even its team sees its scores."""
    gone_at: datetime | None = None
    """When it was withdrawn or replaced; None while it is present, or if schema 1 recorded it."""
    picks: tuple[tuple[datetime, bool], ...] = ()
    """Whether it is among the picks of its team, from each time on; empty without picks, or if they do not count."""
    metadata: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """What its team states, by the names of fields; on boards only what is public now."""
    corrections: tuple[Correction, ...] = ()
    """Of the metadata, as far as they are public, the latest first."""

    def scores(self, *, final: bool) -> ColumnScores:
        """The final or the preliminary scores."""
        return self.final if final else self.preliminary

    @property
    def state(self) -> State:
        """What to show of it first."""
        if self.presence != "present":
            return self.presence
        return self.outcome if self.admission == "ok" else self.admission

    @property
    def is_picked(self) -> bool:
        """Whether it is among the picks of its team, from which ``entry = "picks"`` chooses the counting entry.

        The pick of an entry that is withdrawn is free.
        """
        return self.presence == "present" and bool(self.picks) and self.picks[-1][1]

    @property
    def is_in_future(self) -> bool:
        """Whether its time of receipt is after the time at which it was recorded."""
        return self.recorded is not None and self.received > self.recorded

    @property
    def is_late(self) -> bool:
        """Whether it was received outside the phases, so that only the late board has it."""
        return self.admission in ("early", "late")

    @property
    def is_look(self) -> bool:
        """Whether its team has learnt something from its preliminary score: it is scored, also if it is withdrawn."""
        is_scored = self.outcome == "scored" or self.was_scored
        return self.admission == "ok" and is_scored and self.answer != "waits"

    @property
    def never_counts(self) -> bool:
        """Whether the rank of the team never comes from it, unless the organiser changes its time or its outcome."""
        return self.is_late or self.admission == "over-quota" or self.outcome == "rejected"

    @property
    def may_count(self) -> bool:
        """Whether the rank of the team may come from it."""
        return self.state == "scored" and not self.is_frozen


def rounded(value: float | None, decimals: int) -> float | None:
    """A score as it is compared and printed: half to even, as ``f"{value:.{decimals}f}"``; None if it is no number."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, decimals) + 0.0  # + 0.0: what rounds to -0.0 is 0


def column_scores(means: Mapping[str, Mean], columns: tuple[str, ...], decimals: int) -> ColumnScores:
    """The means as a board shows them; None where a mean is missing."""
    return tuple(rounded(means[name].value, decimals) if name in means else None for name in columns)


def counting_entry(entries: Sequence[Entry], track: Track, by_preliminary: bool) -> Entry | None:
    """The one of a team's entries that its place comes from; of equally good ones the earliest. None if none counts."""
    return next(iter(counting_entries(entries, track, by_preliminary)), None)


def counting_entries(entries: Sequence[Entry], track: Track, by_preliminary: bool) -> Sequence[Entry]:
    """The one of a team's entries that its row is of, or those that have rows; of equally good ones the earliest first.

    None if none may count, and while the phase shows no scores.

    With ``entry = "picks"``, it is one of the picks; the best of all where none of these is picked. While the Ladder
    decides which scores are shown, it is always the best of those with a released score. `entries` are in the order of
    the record. `by_preliminary` says whether preliminary scores decide which one is the best: the final scores decide
    only where there are no preliminary queries.
    """
    entries, most = [] if track.hides_scores else [entry for entry in entries if entry.may_count], track.most_rows
    if track.has_ladder:
        released = [entry for entry in entries if entry.answer == "improvement"]
        return sorted(released, key=lambda entry: _order(entry.preliminary[0]), reverse=True)[:most]
    if track.entry == "last":
        return entries[::-1][:most]
    picked = [entry for entry in entries if entry.is_picked] or entries
    return sorted(picked, key=lambda entry: _order(entry.scores(final=not by_preliminary)[0]), reverse=True)[:most]


def _order(score: float | None) -> float:
    return -math.inf if score is None else score


def are_queries_public(track: Track, queries: Collection[str]) -> bool:
    """Whether the public list of a track has exactly these queries of its solution."""
    if "queries" not in track.files:
        return False
    from scorer.lists.solution import Solution  # noqa: PLC0415 (Arrow is slow to load)

    try:
        return set(Solution.read_queries(track.files["queries"]).queries.to_pylist()) == set(queries)
    except SolutionError:
        return False


def without_solution(entry: Entry, *, queries_are_public: bool) -> Entry:
    """The entry without what only the solution knows: its items, and which queries it has unless these are public.

    If they are not, a scored entry has no notes, because those on items depend on the queries of their lists, too, and
    `answered` is the number of its lists.
    """
    counts, findings = entry.counts, entry.findings
    shown = [each.for_team(queries_are_public=queries_are_public) for each in findings]
    kept = [problem for problem in shown if problem is not None]
    if counts is None:
        return replace(entry, findings=tuple(kept), findings_count=entry.findings_count - len(findings) + len(kept))
    if not queries_are_public:
        lists = Counts(queries=0, answered=counts.answered + counts.unknown, unknown=0, items=0, repeated=0, overlong=0)
        return replace(entry, counts=lists, findings=(), findings_count=0)
    return replace(
        entry,
        counts=counts._replace(in_solution=None, few_known=False),
        findings=tuple(kept[: MOST_SHOWN - 3]),  # the notes that are left out have the places of others
        findings_count=entry.findings_count - len(findings) + len(kept),
    )


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
    corrected: str = ""
    """Why its time of receipt was amended, on one line; empty if it was not."""
    result: StoredResult | None = None
    """None if it has no result by the basis."""
    gone_at: datetime | None = None
    """When it was withdrawn or replaced, as for `Entry`."""
    failure: Failure | None = None
    """Of the attempts to score it by the basis; None if it has a result or was never tried."""
    metadata: Metadata = NO_METADATA
    unscored: bool = False
    """Whether its team withdrew it before it had an outcome: it takes no place of the quota."""

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


def key_of(submission: Submission) -> Key:
    """The key of a submission."""
    return submission.file, submission.digest


def arrival(submission: Submission, source: str = FOLDER, delivery: str | None = None) -> dict[str, Any]:
    """The body of the arrival of a submission. Its names are as they are, which those of schema 1 and 2 are not.

    `delivery` is what the record has as the id by which it was handed in; None: it was found in the folder.
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


def submissions(
    events: Iterable[Event], earlier: Mapping[Key, SubmissionState] | None = None, announcement: datetime | None = None
) -> dict[Key, SubmissionState]:
    """The submissions of one track in the order of their arrivals, given the events of the track in order.

    `earlier` has those of the events before, and `announcement` is when phases were announced first among them.

    Events about submissions whose arrival is not among the given events are ignored.

    Names that schema 1 and 2 escaped are taken to be those that were escaped, which are more likely than names with
    escape sequences; see also `as_recorded`.
    """
    states = dict(earlier or {})
    for event in events:
        body = event.body
        if isinstance(body, ArrivalBody):
            state = _arrived(event, body)
            if state.source != SERVICE and precedes_phases(state.submission.received, announcement):
                state = replace(state, misdated=True)
            states[key_of(state.submission)] = state
        elif isinstance(body, FileBody):
            key = key_of_body(states, body)
            if key in states:
                states[key] = _changed(states[key], event, body)
            replacing = key[0], body.replaced_by
            if replacing in states:
                states[replacing] = replace(states[replacing], since=event.index)
        elif event.kind == "phases":
            announcement = announcement or event.at
    return states


def key_of_body(states: Mapping[Key, SubmissionState], body: FileBody) -> Key:
    """The key of the submission that an event is about; it is in no state if its arrival is not among them."""
    key = body.file, body.digest
    return key if key in states else (unescaped(body.file), body.digest)


def recorded(view: Snapshot, track: str) -> Mapping[Key, SubmissionState]:
    """The submissions of a track as of a snapshot, as `submissions` returns them; each event is folded once."""

    def folded(count: int, earlier: Mapping[Key, SubmissionState] | None) -> Mapping[Key, SubmissionState]:
        announced = (event.at for event in view.decisions(track) if event.kind == "phases" and event.index <= count)
        first = next(filter(None, announced), None)
        return submissions(view.events_after(count, track), earlier, first)

    return view.folded(("submissions", track), folded)


def _arrived(event: Event, body: ArrivalBody) -> SubmissionState:
    """The submission of an arrival, as it was then."""
    submission = Submission(event.track, body.team, body.file, body.digest, body.received)
    misdated = body.source != SERVICE and is_misdated(body.received, event.at)
    was_escaped = body.names != "raw"
    return SubmissionState(
        event.index, event.at, submission, True, body.source, misdated, was_escaped, event.index, body.absent_at
    )


def _changed(state: SubmissionState, event: Event, body: FileBody) -> SubmissionState:
    if isinstance(body, AmendmentBody):
        submission = replace(state.submission, received=body.received)
        misdated, reason = is_misdated(body.received, event.at), one_line(body.reason)
        return replace(state, submission=submission, misdated=misdated, absent_at=None, corrected=reason)
    if event.kind == "withdrawal":
        source = body.source or state.source
        return replace(state, present=False, source=source, gone_at=event.at, unscored=body.unscored)
    if isinstance(body, MetadataBody):
        stated = state.metadata.corrected(body.values, body.public, event.at)
        return replace(state, metadata=stated)
    if event.kind == "return":
        return replace(state, present=True, since=event.index, gone_at=None, unscored=False)
    return state


def present_files(states: Iterable[SubmissionState], *sources: str) -> dict[str, str]:
    """The files of the submissions that are present, with their digests; given sources, only those from these."""
    present = (state for state in states if state.present and (not sources or state.source in sources))
    return {state.submission.file: state.submission.digest for state in present}


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


def as_recorded(states: Mapping[Key, SubmissionState], scanned: Mapping[Key, Submission]) -> dict[Key, Submission]:
    """What a scan of the folder found, by the keys that the record has.

    Schema 1 and 2 recorded the same text for a name with a character that does not print and for a name with the escape
    sequence of that character. A file with such a name is the recorded one unless the scan also found the other file.
    """
    taken = {}
    for key, submission in scanned.items():
        other = key if key in states else (unescaped(submission.file), submission.digest)
        is_other = other is not key and other not in scanned and other in states and states[other].was_escaped
        taken[other if is_other else key] = submission
    return taken


def _of_folder(states: Mapping[Key, SubmissionState], scanned: Mapping[Key, Submission]) -> dict[Key, Submission]:
    """What a scan of the folder found, without what was handed in or withdrawn over the service."""
    taken = as_recorded(states, scanned)
    delivered = {key[0] for key, state in states.items() if state.present and state.source == SERVICE}
    return {
        key: submission
        for key, submission in taken.items()
        if key[0] not in delivered and (key not in states or states[key].source == FOLDER)
    }


def import_changes(
    states: Mapping[Key, SubmissionState], scanned: Iterable[Submission], recheck: Recheck | None
) -> list[tuple[EventKind, dict[str, Any]]]:
    """The events that bring the record to the state of the folder.

    `recheck` decides on the files on which the scan and the record differ; None: the scan is the latest. A file on
    which it is silent is left as it is. The events are arrivals by time of receipt, team and file, then withdrawals and
    returns.
    """
    by_key = {(submission.file, submission.digest): submission for submission in scanned}
    differing = {file for file, _ in by_key.keys() ^ {key for key, state in states.items() if state.present}}
    if not differing:
        return []
    differing |= {unescaped(file) for file in differing}
    states = {key: state for key, state in states.items() if key[0] in differing}
    taken = _of_folder(states, {key: submission for key, submission in by_key.items() if key[0] in differing})
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
    events: list[tuple[EventKind, dict[str, Any]]] = [("arrival", arrival(submission)) for submission in arrivals]
    present = {key: state.present for key, state in states.items() if state.source == FOLDER}
    present |= dict.fromkeys(map(key_of, arrivals), True)
    for (file, digest), was_present in sorted(present.items()):
        if file in now and was_present != (now[file] == digest):
            other = {"replaced_by": now[file]} if was_present and (file, now[file]) in present else {}
            events.append(("withdrawal" if was_present else "return", {"file": file, "digest": digest, **other}))
    return events


def misdated_lines(entries: Iterable[Entry]) -> list[str]:
    """For the organiser: why the time of receipt of entries is impossible, and what to do."""
    return [
        f"{entry.file}: received {utc_moment(entry.received)}, {_why_misdated(entry)}; it does not count until "
        f"`scorer amend {entry.index} --received TIME --reason TEXT` corrects the time"
        for entry in entries
        if entry.state == "misdated"
    ]


def _why_misdated(entry: Entry) -> str:
    if entry.absent_at:
        return (
            f"but a run at {utc_moment(entry.absent_at)}, outside of that phase or day, did not find it in the folder"
        )
    if entry.is_in_future:
        return "which is in the future"
    return "which is impossible" if entry.received < FIRST_RECEIPT else "before the phases were announced"
