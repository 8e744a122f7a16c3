"""The entries of a track: what became of each submission by the rules of the challenge, at once or event by event."""

from __future__ import annotations

import heapq
import hmac
import threading
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, repeat
from operator import attrgetter
from typing import NamedTuple, Self, TypeVar

from scorer.live.commitment import Issuer
from scorer.live.entry import (
    SERVICE,
    Admission,
    ColumnScores,
    Entry,
    EntryOutcome,
    Presence,
    SubmissionState,
    column_scores,
    is_baseline,
    key_of,
    present_files,
    rounded,
    submissions,
)
from scorer.live.ladder import Candidate, Look, looks
from scorer.live.names import Pseudonyms
from scorer.live.now import Now
from scorer.live.phases import is_backdated
from scorer.measures import Measure
from scorer.options import SPLITS, Split
from scorer.record.events import EVERY_TRACK, ArrivalBody, Event, FileBody, bodies
from scorer.record.log import unescaped
from scorer.rules.metadata import corrections, has_ended, public_values
from scorer.rules.phases import Phases
from scorer.rules.picks import Pick, PickBody
from scorer.rules.quota import Claim, Cost, UsedQuota, admissions
from scorer.rules.tables import auto_decimals
from scorer.rules.teams import Team, Token, TokenBody, merges, set_teams, slugs, tokens
from scorer.scoring.outcomes import Mean
from scorer.settings.tracks import Track
from scorer.store.events import Failure, ResultRow, StoredResult
from scorer.store.snapshot import Cache, Snapshot
from scorer.wording import printable_name

_Indexed = TypeVar("_Indexed", Entry, SubmissionState)


@dataclass(frozen=True, eq=False)
class TeamEntries:
    """The entries of teams that count together, in the order of the record."""

    judged: tuple[Judged, ...]
    looks: Sequence[Look | None]
    """What the Ladder answers to each; empty without it."""
    picks: Sequence[Sequence[Pick]]
    """Those of the team of each; empty where they do not count."""
    track: Track
    measures: Sequence[Measure]

    @cached_property
    def all(self) -> tuple[Entry, ...]:
        """With the scores by the measures."""
        each = zip(self.judged, self.looks or repeat(None), self.picks or repeat(()), strict=False)
        return tuple(_entry(*one, self.track, self.measures) for one in each)

    @cached_property
    def lacking(self) -> tuple[Judged, ...]:
        """Those without a result."""
        return tuple(each for each in self.judged if each.state.result is None)

    @cached_property
    def notable(self) -> tuple[Entry, ...]:
        """Those present that do not just have a score, without scores."""
        each = (one for one in self.judged if one.place.presence == "present" and not one.is_just_scored)
        return tuple(_entry(one, None, (), self.track, ()) for one in each)

    @cached_property
    def gone(self) -> tuple[str, ...]:
        """The digests of the submissions that are not present."""
        return tuple(each.state.submission.digest for each in self.judged if not each.state.present)

    @cached_property
    def present_files(self) -> Mapping[str, str]:
        """As for `Entries`."""
        return present_files(each.state for each in self.judged)

    @cached_property
    def delivered_files(self) -> Mapping[str, str]:
        """As for `Entries`."""
        return present_files((each.state for each in self.judged), SERVICE)


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a track."""

    teams: tuple[TeamEntries, ...]
    track: Track
    """The track, with the decimals of its scores."""
    phases: Phases
    visible: tuple[Entry, ...] | None = None
    """Those of `all` that a viewer sees; None: all."""

    @cached_property
    def all(self) -> tuple[Entry, ...]:
        """In the order of the record."""
        return _in_order(team.all for team in self.teams) if self.visible is None else self.visible

    @cached_property
    def to_score(self) -> Sequence[SubmissionState]:
        """Those whose score is needed and may be computed now, or is known: present and admitted, also those that are
        early or late, but not those that wait for the outcome of an earlier entry.
        """
        return _in_order((each.state for each in team.judged if each.is_to_score) for team in self.teams)

    @cached_property
    def stored(self) -> Sequence[SubmissionState]:
        """The submissions, in the order of the record."""
        return _in_order((each.state for each in team.judged) for team in self.teams)

    @cached_property
    def quota(self) -> UsedQuota:
        """What the teams have used of the quota."""
        claims = (each.claim for team in self.teams for each in team.judged if each.claim is not None)
        return UsedQuota(self.track.quota, self.phases, tuple(claims))

    @cached_property
    def present_files(self) -> Mapping[str, str]:
        """The files of the submissions that are present, with their digests."""
        return dict(chain.from_iterable(team.present_files.items() for team in self.teams))

    @cached_property
    def delivered_files(self) -> Mapping[str, str]:
        """Those that were handed in."""
        return dict(chain.from_iterable(team.delivered_files.items() for team in self.teams))

    @cached_property
    def unscored(self) -> Sequence[SubmissionState]:
        """Those of `to_score` without a result that are not given up."""
        return _in_order(
            (each.state for each in team.lacking if each.is_to_score and each.state.is_open) for team in self.teams
        )

    @cached_property
    def notable(self) -> tuple[Entry, ...]:
        """Those present that do not just have a score, in the order of the record."""
        return _in_order(team.notable for team in self.teams)

    @cached_property
    def failed(self) -> tuple[SubmissionState, ...]:
        """Those whose last attempt failed, in the order of the record."""
        return _in_order((each.state for each in team.lacking if each.state.failure) for team in self.teams)

    @cached_property
    def gone(self) -> frozenset[str]:
        """The digests of the submissions that are not present."""
        return frozenset(chain.from_iterable(team.gone for team in self.teams))

    @property
    def results(self) -> tuple[StoredResult, ...]:
        """Of all scored entries, also of those that do not count."""
        return tuple(state.result for state in self.stored if state.result is not None and state.is_scored)


def _in_order(parts: Iterable[Iterable[_Indexed]]) -> tuple[_Indexed, ...]:
    return tuple(sorted(chain.from_iterable(parts), key=attrgetter("index")))


def entries(now: Now) -> Entries:
    """The entries of a track by the rules in force, without scores; computed once for a state. Raises StoreError."""
    return now.view.kept(
        ("entries", now.declared.name),
        (now.view.version, now.rules, now.basis, now.phases),
        lambda: _entries(now, now.rules, ()),
    )


def scored_entries(now: Now, cache: Cache | None = None) -> Entries:
    """The entries of a track with the scores that may be seen; `cache` has those that the Ladder released before.

    They are those that the viewer of `now` may see: visitors, or the own team. No entry is left while the
    board is hidden.

    Without a basis, no entry has a result. Raises ChallengeError if the Ladder has too few preliminary queries, and
    StoreError.
    """
    scored = _entries(now, now.track, now.track.all_measures, cache)
    if "board" in now.track.hidden:
        return replace(scored, teams=(), track=now.track)
    return replace(scored, visible=_in_order(_visible_entries(team, now, scored.track) for team in scored.teams))


def _visible_entries(team: TeamEntries, now: Now, track: Track) -> Iterator[Entry]:
    visible = (_visible(entry, now, track) for entry in team.all)
    if not track.metadata:
        return visible
    ended, fields = has_ended(now.phases, track.stage, now.view.now), track.shown_metadata
    stated = (each.state.metadata for each in team.judged)
    return (
        replace(
            entry,
            metadata=public_values(metadata, fields, ended=ended),
            corrections=corrections(metadata, fields, ended=ended),
        )
        for entry, metadata in zip(visible, stated, strict=True)
    )


def _visible(entry: Entry, now: Now, track: Track) -> Entry:
    """The entry with the scores that may be seen now. Boards, pages and the service show what this function leaves.

    An entry has no scores while a phase or the table [visibility] hides them from the viewer, or if it was recorded
    since a freeze: only its team sees it.
    An early or late entry has scores once the late board is shown. Final scores are shown at the final stage.
    """
    blank = (None,) * len(entry.final)
    since = None if now.hides_nothing else now.frozen_since
    is_frozen = since is not None and (entry.recorded or now.view.now) >= since
    is_admitted = entry.admission == "ok" or (entry.is_late and track.late_board and now.phases.is_over(now.view.now))
    if track.hides_scores or is_frozen or not is_admitted or not now.shows("score", entry.phase):
        return replace(entry, final=blank, preliminary=blank, is_frozen=is_frozen)
    return entry if track.shows_final else replace(entry, final=blank)


def _entries(now: Now, track: Track, measures: Sequence[Measure], kept: Cache | None = None) -> Entries:
    # A submission has as many means over each split: one that is not shown is not read.
    splits: Sequence[Split] = SPLITS if track.shows_final and track.final == "rest" else ("all", "preliminary")
    view, basis, states = now.view, now.basis, now.submissions.values()
    results: Mapping[str, StoredResult] = {}
    failures: Mapping[str, Failure] = {}
    if basis is not None and states:
        wanted = {state.submission.digest for state in states} if measures else set()
        results, failures = view.results(basis, wanted, measures, splits), view.failures(basis)
        if track.decimals is None and measures:
            found = (results[digest] for digest in wanted & results.keys())
            queries = defined_queries(found, "preliminary", str(track.primary_measure), int(view.flags(basis).sum()))
            track = track.with_fields(auto_decimals=auto_decimals(queries))

    @cache
    def earlier() -> Mapping[str, ResultRow]:
        """What became of submissions by the last of the bases that they have a result by.

        A file that is gone when an erratum is applied cannot be scored by the new rules, and stays in the count.
        """
        others = (view.result_rows(other) for other in now.bases if other != basis)
        return dict(chain.from_iterable(rows.items() for rows in others))

    def known(states: Sequence[SubmissionState]) -> _Known:
        digests = [state.submission.digest for state in states]
        results_of = [*map(results.get, digests)]
        lacking = [digest for digest, result in zip(digests, results_of, strict=True) if result is None]
        return states, results_of, [(failures.get(digest), earlier().get(digest)) for digest in lacking]

    # What the entries of a team are depends on no other team, but for those that it was ever merged with.
    together, by_team = now.merges.together, defaultdict[str, list[SubmissionState]](list)
    for state in states:
        team = state.submission.team
        by_team[together.get(team, team)].append(state)
    parts = {team: known(of_team) for team, of_team in by_team.items()}
    rules, name = (track, now.phases, now.merges, tuple(measures)), (now.declared.name, basis, bool(measures))

    def judged_again(new: Mapping[str, _Known]) -> Mapping[str, tuple[Judged, ...]]:
        return {team: tuple(_judged(part, now, track)) for team, part in new.items()}

    judged = view.advanced(("judged", *name), rules, parts, judged_again)
    every = chain.from_iterable(map(judged.__getitem__, parts))
    released = _released(now, track, every, kept) if track.has_ladder and measures else {}

    def shown(team: str, states: Sequence[SubmissionState]) -> _Shown:
        looks = released and [released.get(state.index) for state in states]
        # The picks of a merged team are those of the team that it is merged into.
        teams = (state.submission.team for state in (states if track.entry == "picks" else ()))
        return judged[team], looks or (), [now.picks.get(now.merges.final(each), ()) for each in teams]

    def made(new: Mapping[str, _Shown]) -> Mapping[str, TeamEntries]:
        return {team: TeamEntries(*part, track, tuple(measures)) for team, part in new.items()}

    of_teams = {team: shown(team, of_team) for team, of_team in by_team.items()}
    entries = view.advanced(("entries", *name), rules, of_teams, made)
    return Entries(tuple(map(entries.__getitem__, of_teams)), track, now.phases)


_Known = tuple[
    Sequence[SubmissionState], Sequence[StoredResult | None], Sequence[tuple[Failure | None, ResultRow | None]]
]
"""The submissions of teams that count together, their results, and of each without one, the failure by the present
basis, and what became of it by an earlier one."""


class Judged(NamedTuple):
    """What the rules say of a submission."""

    state: SubmissionState
    place: _Place
    claim: Claim | None
    """What it takes of the quota, if it takes part, and is within it or may be."""
    is_to_score: bool
    was_scored: bool

    @property
    def is_just_scored(self) -> bool:
        """Whether it is admitted, and has a score."""
        return self.place.admission == "ok" and not self.place.waits and self.state.is_scored


_Shown = tuple[tuple[Judged, ...], Sequence[Look | None], Sequence[Sequence[Pick]]]
"""The first values of `TeamEntries`."""


def _judged(known: _Known, now: Now, track: Track) -> Iterator[Judged]:
    """What the rules say of the submissions of teams that count together, in the order of the record."""
    submissions, results, lacking = known
    others = iter(lacking)
    states: list[tuple[SubmissionState, Cost | None]] = []
    for state, result in zip(submissions, results, strict=True):
        failure, row = next(others) if result is None else (None, None)
        states.append((replace(state, result=result, failure=failure), row.result.status if row else None))
    since: dict[str, int] = defaultdict(int)
    for state in submissions:
        if state.present:
            since[state.submission.file] = max(since[state.submission.file], state.since)
    places = [_place(state, since.get(state.submission.file, 0), now.phases, track) for state, _ in states]
    claims = {
        state.index: Claim(
            state.index, state.submission.team, state.submission.received, place.phase, _cost(state, earlier)
        )
        for (state, earlier), place in zip(states, places, strict=True)
        if place.admission == "ok" and not is_baseline(state.submission.team, track)
    }
    admits = admissions(claims.values(), track.quota, now.merges.members) if track.quota.limits_anything else {}
    for (state, earlier), place in zip(states, places, strict=True):
        within = admits.get(state.index, True)
        claim = None if within is False else claims.get(state.index)
        is_to_score, was_scored = state.present and bool(within), not state.present and earlier == "scored"
        yield Judged(state, _admitted(place, within), claim, is_to_score, was_scored)


def _released(now: Now, track: Track, placed: Iterable[Judged], cache: Cache | None) -> Mapping[int, Look]:
    """What the Ladder answers to each scored entry, by its index; nothing without a basis."""
    if now.basis is None:
        return {}
    candidates: dict[str, list[Candidate]] = defaultdict(list)
    for state, place, *_ in placed:
        if place.admission == "ok":
            candidates[now.merges.final(state.submission.team)].append((state, place.waits or state.is_open))
    return looks(now.view, track, now.basis, candidates.values(), cache)


def quota_line(view: Snapshot, track: Track, team: str) -> str:
    """What a team has left of its quota now, and when the limits of a day begin again, given the name of its folder."""
    name, now = printable_name(team), Now.of(view, track)
    if is_baseline(team, now.rules):
        return f"{name}: a baseline has no quota"
    if not now.rules.quota.limits_anything:
        return f"{name}: the track {track.name} has no quota"
    note = "" if team in view.teams else "; no team has an entry under this name"
    left = entries(now).quota.in_words(now.merges.members(team), view.now, note)
    return f"{name}: {left or f'the last phase of the track {track.name} has closed'}"


def defined_queries(results: Iterable[StoredResult], split: Split, measure: str, queries: int) -> int:
    """How many of the queries of a split enter the mean of a measure; 0 where nothing is scored."""
    undefined = (result.means.undefined_of(split, measure) for result in results)
    return max((queries - each for each in undefined if each is not None), default=0)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the rules say about an entry, apart from its result."""

    phase: str | None
    presence: Presence
    admission: Admission
    waits: bool = False
    """Whether the quota waits for the outcome of an earlier entry."""


def _place(state: SubmissionState, since: int, plan: Phases, track: Track) -> _Place:
    """The place of an entry; `since` is the event that gave its file another content, or 0."""
    presence: Presence = "present"
    if not state.present:
        presence = "superseded" if since > state.since else "withdrawn"
    if is_baseline(state.submission.team, track):
        return _Place(None, presence, "ok")
    if state.misdated or is_backdated(state.submission.received, state.absent_at, plan, track):
        return _Place(None, presence, "misdated")
    phase, admission = plan.place(state.submission.received)
    return _Place(phase, presence, admission)


def _admitted(place: _Place, within: bool | None) -> _Place:
    if within is None:
        return replace(place, waits=True)
    return place if within else replace(place, admission="over-quota")


def _cost(state: SubmissionState, earlier: Cost | None) -> Cost:
    if state.unscored:
        return "none"
    if state.result is not None:
        return state.result.status
    if earlier is not None:
        return earlier
    return "open" if state.is_open else "none"


def _outcome(state: SubmissionState) -> EntryOutcome:
    if state.result is not None:
        return state.result.status
    return "waiting" if state.failure is None else "failed"


def _entry(
    judged: Judged,
    look: Look | None,
    picks: Iterable[Pick],
    track: Track,
    measures: Sequence[Measure],
) -> Entry:
    state, place = judged.state, judged.place
    hidden = place.waits or place.admission == "over-quota"
    result = None if hidden else state.result
    findings = result.findings if result else None
    means: Mapping[Split, Mapping[str, Mean]] = result.means if result else {}
    columns = tuple(map(str, measures))
    return Entry(
        index=state.index,
        team=state.submission.team,
        file=printable_name(state.submission.file),
        digest=state.submission.digest,
        received=state.submission.received,
        recorded=state.recorded,
        phase=place.phase,
        presence=place.presence,
        admission=place.admission,
        outcome="waiting" if hidden else _outcome(state),
        is_counting=False,
        final=column_scores(means.get(track.final, {}), columns, track.final_decimals),
        preliminary=_released_scores(look, columns, track)
        if track.has_ladder
        else column_scores(means.get("preliminary", {}), columns, track.preliminary_decimals),
        counts=result.counts if result else None,
        findings=tuple(findings) if findings else (),
        findings_count=findings.count if findings else 0,
        gone_at=state.gone_at,
        picks=tuple((pick.at, key_of(state.submission) in pick.keys[: track.picks]) for pick in picks),
        metadata=state.metadata.values,
        absent_at=state.absent_at if place.admission == "misdated" and not state.misdated else None,
        corrected=state.corrected,
        is_recorded_late=any(
            state.submission.received < phase.closes <= (state.recorded or phase.start) for phase in track.phases
        ),
        answer=look.answer if look else None,
        was_scored=judged.was_scored,
    )


def _released_scores(look: Look | None, columns: Sequence[str], track: Track) -> ColumnScores:
    """The score that the Ladder released, in the first column."""
    score = rounded(look.score, track.preliminary_decimals) if look else None
    return tuple(score if number == 0 else None for number in range(len(columns)))


Arrival = tuple[Event, ArrivalBody]
"""An event that records an arrival, and its body."""

_ALL = ""
"""In the place of a team: events that concern all teams."""


@dataclass(slots=True)
class Followed:
    """The events of the record by team, so that what concerns one team does not read those of the others.

    A process keeps it from one snapshot to the next. `now` returns what the record says about a team. Threads may use
    it at the same time.
    """

    issuer: Issuer
    tokens: dict[str, Token] = field(default_factory=dict)
    """Of all teams, by their SHA-256."""
    deliveries: dict[tuple[str, str, str], Arrival] = field(default_factory=dict)
    """The arrivals of files that were handed in, by track, team and what the record has as the id of the delivery."""
    all: Sequence[Event] = ()
    """All events."""
    teams: dict[str, None] = field(default_factory=dict)
    """Of all tracks, in the order in which their first submissions were recorded."""
    pseudonyms: Pseudonyms = field(default_factory=lambda: Pseudonyms(b""))
    _delivery_key: bytes = b""
    _events: dict[tuple[str, str], list[Event]] = field(default_factory=lambda: defaultdict(list))
    """Without those on tokens, by track and team."""
    _team_of: dict[tuple[str, str], str] = field(default_factory=dict)
    """By track and file."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, view: Snapshot, challenge: str) -> Self:
        """What is known after a snapshot of the challenge with this name."""
        issuer = Issuer(challenge, view.secret("log"), view.secret("receipts"))
        keys = view.secret("names"), view.secret("deliveries")
        followed = cls(issuer, pseudonyms=Pseudonyms(keys[0]), _delivery_key=keys[1])
        followed.follow(view)
        return followed

    def follow(self, view: Snapshot) -> None:
        """Take the events that were recorded since."""
        events = view.all_events
        with self._lock:
            new = events[len(self.all) :]
            if not new:
                return
            self.issuer.follow(events)
            if any(event.kind == "token" for event in new):
                self.tokens = tokens(new, self.tokens)
            for event in new:
                self._take(event)
                self.pseudonyms.take(event)
            self.all = events

    def arrival(self, index: int) -> Arrival:
        """The arrival of the entry with an index."""
        return next(bodies([self.all[index - 1]], ArrivalBody))

    def _take(self, event: Event) -> None:
        track, body = event.track, event.body
        team: str | None = _ALL
        if isinstance(body, ArrivalBody):
            team = body.team
            self.teams.setdefault(team)
            self._team_of[track, body.file] = team
            if body.delivery is not None:
                self.deliveries[track, team, body.delivery] = event, body
        elif isinstance(body, FileBody):
            files = (body.file, unescaped(body.file))
            team = next((self._team_of[track, file] for file in files if (track, file) in self._team_of), None)
        elif isinstance(body, PickBody):
            team = body.team
        elif isinstance(body, TokenBody):
            team = None
        if team is not None:  # an event about a submission that never arrived says nothing
            self._events[track, team].append(event)

    def delivery(self, track: str, team: str, name: str) -> tuple[str, str, str]:
        """The key in `deliveries`, by the id that the sender chose, or by what the record has in its place.

        That is a keyed hash: events become public, and an id is the sender's.
        """
        digest = hmac.digest(self._delivery_key, "\0".join((track, team, name)).encode(), "sha256")
        key = track, team, name
        return key if key in self.deliveries else (track, team, str(uuid.UUID(bytes=digest[:16])))

    def delivered(self, track: str, team: str, name: str) -> Arrival | None:
        """The arrival of a delivery, named as for `delivery`, if it is in the record."""
        return self.deliveries.get(self.delivery(track, team, name))

    def settings(self, team: str) -> Team:
        """What is set for a team."""
        return set_teams(self._of(EVERY_TRACK, [_ALL])).get(team, Team())

    def slug(self, team: str, shown: Mapping[str, str]) -> str:
        """The slug of the page of a team, given the pseudonyms that visitors see; empty without a submission."""
        return slugs(shown.get(each, each) for each in self.teams).get(shown.get(team, team), "")

    def events(self, track: str, teams: Collection[str]) -> list[Event]:
        """The events of a track that concern all teams, or one of these, in order."""
        return self._of(track, [_ALL, *teams])

    def now(self, view: Snapshot, track: Track, team: str) -> Now:
        """The track now, with only the submissions of a team, and of those that count as one with it."""
        members = merges(self._of(track.name, [_ALL])).members(team)
        return Now.of(view.with_events(track.name, self.events(track.name, members)), track)

    def submissions(self, track: str, team: str) -> list[SubmissionState]:
        """The submissions in the folder of a team, in the order of the record."""
        return list(submissions(self.events(track, [team])).values())

    def _of(self, track: str, teams: Iterable[str]) -> list[Event]:
        with self._lock:
            keys = [(track, team) for team in teams] + ([(EVERY_TRACK, _ALL)] if track != EVERY_TRACK else [])
            lists = [list(self._events[key]) for key in keys if key in self._events]
        return list(heapq.merge(*lists, key=attrgetter("index")))
