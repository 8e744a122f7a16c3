"""State: all events of a track, folded once for each snapshot; the rules in force by them, and the public log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from scorer.live.entry import Key, SubmissionState, recorded
from scorer.live.errata import Errata, folded_errata
from scorer.live.phases import Phases, at_stage, folded_phases, has_preliminary_queries, phase_lines
from scorer.live.quotas import Picks, picks
from scorer.live.rules import is_committed, with_rules
from scorer.live.teams import Merges, merges
from scorer.settings.rules import Phase
from scorer.settings.tracks import Track
from scorer.store.events import Basis, Event, RecordedBasis, recorded_basis
from scorer.store.log import LogLine, log_lines
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class TrackState:
    """What the events of a track say by each rule, as of a snapshot."""

    view: Snapshot
    name: str
    """Of the track."""
    announced: tuple[Phase, ...]
    """The phases of challenge.toml; they are in force until the first announcement is recorded."""

    @property
    def events(self) -> Sequence[Event]:
        """The events of the track, with those of the whole challenge."""
        return self.view.events(self.name)

    @cached_property
    def phases(self) -> Phases:
        return folded_phases(self.events, self.announced)

    @property
    def submissions(self) -> Mapping[Key, SubmissionState]:
        """In the order of the record."""
        return recorded(self.view, self.name)

    @cached_property
    def merges(self) -> Merges:
        return merges(self.events)

    @cached_property
    def picks(self) -> Picks:
        return picks(self.events)

    @cached_property
    def errata(self) -> Errata:
        return folded_errata(self.events)

    @cached_property
    def basis(self) -> RecordedBasis | None:
        """What the board is based on; None if the track has never been scored."""
        return self.view.recorded_basis(self.name)

    @property
    def bases(self) -> Iterator[Basis]:
        """All bases of the board, the earliest first."""
        return (recorded_basis(event.body, event.at).basis for event in self.events if event.kind == "basis")

    @cached_property
    def are_rules_fixed(self) -> bool:
        """Whether the rules are fixed, by a commitment or by the start of a phase: the files no longer change them."""
        has_started = self.phases.has_started(self.view.now)
        return self.basis is not None and (has_started or is_committed(self.view.events(), self.name))

    @property
    def updated(self) -> datetime | None:
        """When the last event was recorded that visitors may see, in UTC.

        None without such an event, or if schema 1 recorded it. Tokens and previews of errata are not public.
        """
        shown = [
            event
            for event in self.events
            if event.kind != "token" and (event.kind != "erratum" or event.body["state"] == "applied")
        ]
        return shown[-1].at if shown else None


def track_state(view: Snapshot, track: Track) -> TrackState:
    """The state of a track as of a snapshot."""
    key = ("state", track.name, track.phases)
    if key not in view.derived:
        view.derived[key] = TrackState(view, track.name, track.phases)
    state: TrackState = view.derived[key]
    return state


def submissions_of(view: Snapshot, tracks: Iterable[Track]) -> list[SubmissionState]:
    """The submissions of some tracks, those of each track in the order of the record."""
    return [state for track in tracks for state in track_state(view, track).submissions.values()]


def recorded_lines(view: Snapshot, track: Track) -> Iterator[str]:
    """What `scorer phases` prints of a track, by its record."""
    now = track_state(view, track)
    has_preliminary = has_preliminary_queries(view, track, now.basis)
    return phase_lines(now.phases, track, view.now, has_preliminary=has_preliminary)


def in_force(view: Snapshot, track: Track, basis: RecordedBasis | None = None) -> Track:
    """The track with the rules in force at the time of a snapshot; `basis` has them, or else the basis recorded last.

    Without phases, the track is unchanged. With phases, its stage follows from the time: final scores are shown once
    the last phase has closed, and all the time where there are no preliminary queries.
    """
    now = track_state(view, track)
    if not now.phases.all:
        return track
    last = basis or now.basis
    if last is not None and (basis is not None or now.are_rules_fixed):
        track = with_rules(track, last)
    is_final = now.phases.is_over(view.now) or not has_preliminary_queries(view, track, last)
    return at_stage(track, now.phases, "final" if is_final else "preliminary", now.phases.deciding(view.now))


def public(view: Snapshot, track: Track) -> Snapshot:
    """The snapshot as visitors may see it: during a freeze, the record as it was when the freeze began."""
    return public_to_all(view, [track])


def public_to_all(view: Snapshot, tracks: Iterable[Track]) -> Snapshot:
    """What concerns several tracks, as visitors may see it: while one is frozen, the record from before its freeze."""
    frozen = (track_state(view, track).phases.frozen_since(view.now) for track in tracks)
    since = [moment for moment in frozen if moment is not None]
    return view.before(min(since)) if since else view


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """The log as visitors may see it."""

    lines: tuple[LogLine, ...] = ()
    """By index, from 1; empty before the first event."""

    @property
    def head(self) -> LogLine | None:
        """The last line; None without an event."""
        return self.lines[-1] if self.lines else None

    def line(self, index: int) -> LogLine | None:
        """The line of an event; None if visitors may not see it yet."""
        return self.lines[index - 1] if 1 <= index <= len(self.lines) else None


NO_LOG = PublishedLog()


def published_log(view: Snapshot, tracks: Iterable[Track]) -> PublishedLog:
    """The log of a challenge. While a track is frozen, it ends with the last event before the freeze."""
    shown = public_to_all(view, tracks)
    return PublishedLog(tuple(log_lines(view.secret("log"), shown.all_events[: shown.last_index])))
