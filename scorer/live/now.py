"""Now: a track at the moment of a snapshot, with the rules in force, computed once; and the public log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from scorer.live.entry import SubmissionState, recorded
from scorer.live.errata import Errata, folded_errata
from scorer.live.phases import has_preliminary_queries, phase_lines
from scorer.live.rules import is_committed, list_digest, with_rules
from scorer.record.events import ArrivalBody, Event, Key, bodies, log_lines, opening_text
from scorer.record.log import ABOUT_RECORD, LOST, UNPUBLISHED, LogLine
from scorer.rules.phases import Phases, folded_phases
from scorer.rules.picks import Picks, picks
from scorer.rules.teams import Merges, merges
from scorer.rules.visibility import Moment, Viewer, Visibility
from scorer.scoring.outcomes import RENAMED_GENERATION, Rules
from scorer.settings.tracks import Track, split_of
from scorer.store.events import AppliedErratumBody, Basis, BasisBody, RevealBody
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class Now:
    """A track at the moment of a snapshot: what its events say by each rule, the rules in force, and its basis.

    `Now.of` returns one for each snapshot and track, and each part of it is computed once.
    """

    view: Snapshot
    declared: Track
    """The track with the settings of challenge.toml, but with the names of files with which its record began. Its
    phases are in force until the first announcement is recorded.
    """
    chosen: tuple[Track, Basis | None] | None = None
    """Rules and their basis in the place of those in force; see `by`."""
    hides_nothing: bool = False
    """Whether a phase that shows nothing hides no scores, as for the organiser and after its close."""
    shows_end: bool = False
    """Whether final scores are shown as after the close of the last phase."""
    viewer: Viewer = "everyone"
    """Whose part of the table [visibility] applies."""
    is_public: bool = False
    """Whether the snapshot is the record from before a freeze, so that nothing in it is frozen."""

    @classmethod
    def of(cls, view: Snapshot, track: Track) -> Now:
        """The track, which has the settings of challenge.toml, at the moment of a snapshot."""
        key = ("now", track.name, id(track))  # the value keeps the track, so that no other one gets this id
        if key not in view.derived:
            first = next((basis for _, basis in bodies(view.decisions(track.name), BasisBody)), None)
            arrived = next((arrival for _, arrival in bodies(view.events(track.name), ArrivalBody)), None)
            names = track.file_names if arrived is None else arrived.naming
            is_earlier = first is not None and first.generations.get("measures") in range(RENAMED_GENERATION)
            declared = track
            if is_earlier or names != track.file_names:
                declared = track.with_fields(has_earlier_names=is_earlier, file_names=names)
            made = cls(view, declared)
            if view.hides_nothing:
                made = replace(made, hides_nothing=True, shows_end=True, viewer="organiser", is_public=True)
            view.derived[key] = track, made
        now: Now = view.derived[key][1]
        return now

    def by(self, rules: Track, basis: Basis | None) -> Now:
        """The same moment by other rules and their basis, such as those of an erratum."""
        return replace(self, chosen=(rules, basis))

    def at_close(self) -> Now:
        """The same moment with the scores that a phase hides which shows nothing; with final ones if it is the last."""
        return replace(self, hides_nothing=True, shows_end=False)

    def seen_by(self, viewer: Viewer) -> Now:
        """The same moment for another viewer: for the own team, what it sees of its entries."""
        return replace(self, viewer=viewer)

    def shows(self, name: str, phase: str | None = None) -> bool:
        """Whether the table [visibility] lets the viewer see something now; of an entry, if `phase` is its phase."""
        if name == "names":
            return not self.view.hides_names
        table = self.rules.visibility
        return table is None or self.has_reached(table.moment(name, self.viewer), phase)

    def has_reached(self, moment: Moment, phase: str | None = None) -> bool:
        """Whether a moment has come, for an entry of a phase or, without one, for what concerns all entries.

        Then no phase may be open. A track without phases closes when its final scores are shown. Without a commitment
        that is opened, the reveal never comes.
        """
        plan, at = self.phases, self.view.now
        if moment in ("now", "never"):
            return moment == "now"
        if moment == "close" and plan.all:
            is_open = plan.current(at) is not None and not self.hides_nothing
            if phase:
                return plan.has_closed(phase, at)
            return not is_open and (self.hides_nothing or plan.has_closed(None, at))
        is_final = plan.is_over(at) if plan.all else self.rules.stage != "preliminary"
        return is_final and (
            moment != "reveal" or any(reveal.commitment for _, reveal in bodies(self.decisions, RevealBody))
        )

    @property
    def events(self) -> Sequence[Event]:
        """The events of the track, with those of the whole challenge."""
        return self.view.events(self.declared.name)

    @property
    def decisions(self) -> Sequence[Event]:
        """Those of the events that are not about single files."""
        return self.view.decisions(self.declared.name)

    @cached_property
    def phases(self) -> Phases:
        return folded_phases(self.decisions, self.declared.phases)

    @property
    def submissions(self) -> Mapping[Key, SubmissionState]:
        """In the order of the record."""
        return recorded(self.view, self.declared.name)

    @cached_property
    def merges(self) -> Merges:
        return merges(self.decisions)

    @cached_property
    def picks(self) -> Picks:
        return picks(self.decisions)

    @cached_property
    def errata(self) -> Errata:
        return folded_errata(self.decisions)

    @cached_property
    def recorded(self) -> BasisBody | None:
        """What the board is based on, as recorded last; None if the track has never been scored."""
        return self.view.recorded_basis(self.declared.name)

    @property
    def _recorded_basis(self) -> Basis | None:
        return None if self.recorded is None else self.recorded.basis

    @property
    def bases(self) -> Iterator[Basis]:
        """All bases of the board, the earliest first."""
        return (recorded.basis for _, recorded in bodies(self.decisions, BasisBody))

    @cached_property
    def are_rules_fixed(self) -> bool:
        """Whether the rules are fixed, by a commitment or by the start of a phase: the files no longer change them."""
        has_started = self.phases.has_started(self.view.now)
        return self.recorded is not None and (has_started or is_committed(self.decisions, self.declared.name))

    @cached_property
    def rules(self) -> Track:
        """The track with the rules in force: with phases, those recorded last once they are fixed.

        Raises ChallengeError if the settings of challenge.toml contradict them.
        """
        if self.chosen is not None:
            return self.chosen[0]
        if self.recorded is None or not self.phases.all or not self.are_rules_fixed:
            return self.declared
        return with_rules(self.declared, self.recorded)

    @cached_property
    def track(self) -> Track:
        """The track with the rules in force, at its stage.

        With phases, the stage follows from the time: final scores are shown once the last phase has closed, and all the
        time where there are no preliminary queries.
        """
        phases, moment = self.phases, self.view.now
        keys = Visibility.keys() if self.rules.visibility else ["names"]
        # Of a team, each entry decides: those of the first phase are the first to be shown.
        first = phases.all[0].name if self.viewer == "team" and phases.all else None
        hidden = frozenset(name for name in keys if not self.shows(name, first))
        if not phases.all:
            stage = {"stage": "final"} if self.shows_end and self.rules.stage else {}
            return self.rules.with_fields(**stage, viewer=self.viewer, hidden=hidden)
        last = self.chosen[1] if self.chosen is not None else self._recorded_basis
        is_final = self.shows_end or phases.is_over(moment) or not has_preliminary_queries(self.view, self.rules, last)
        deciding = None if self.shows_end else phases.deciding(moment)
        changed = {"phases": phases.all, "stage": "final" if is_final else "preliminary"}
        if deciding is not None and deciding.shows != "score":
            changed["measures"] = ()
        if self.hides_nothing and deciding is not None and deciding.hides_scores:
            deciding = phases.deciding_between(moment)
        return self.rules.with_fields(**changed, deciding_phase=deciding, viewer=self.viewer, hidden=hidden)

    @cached_property
    def basis(self) -> Basis | None:
        """What results by the rules in force are based on; None before a run."""
        if self.chosen is not None:
            return self.chosen[1]
        if self.recorded is None:
            return None
        lists = self.recorded.items, self.recorded.excluded
        if not self.are_rules_fixed:
            lists = list_digest(self.declared, "items"), list_digest(self.declared, "exclude")
        rules = Rules.of(self.rules, *lists, self.recorded.checked)
        return Basis.of(self.recorded.basis.solution, rules, split_of(self.rules))

    @property
    def frozen_since(self) -> datetime | None:
        """When the board was frozen; None if it is not."""
        return None if self.is_public else self.phases.frozen_since(self.view.now)

    @cached_property
    def public(self) -> Now:
        """What visitors may see: during a freeze, the record as it was when the freeze began."""
        since = self.frozen_since
        return self if since is None else Now(self.view.before(since), self.declared, is_public=True)

    @property
    def updated(self) -> datetime | None:
        """When the last event was recorded that visitors may see, in UTC.

        None without such an event, or if schema 1 recorded it.
        """
        return next((event.at for event in reversed(self.events) if decides(event)), None)

    def lines(self) -> Iterator[str]:
        """What `scorer phases` prints of the track."""
        has_preliminary = has_preliminary_queries(self.view, self.declared, self._recorded_basis)
        return phase_lines(self.phases, self.declared, self.view.now, has_preliminary=has_preliminary)


def decides(event: Event) -> bool:
    """Whether the text of an event becomes public.

    Tokens, and errata that were only previewed or cancelled, decide no board; in version 1 of the log, these have the
    kind of an erratum that was applied. Nobody has the text of a lost event.
    """
    if event.kind == "erratum":
        return isinstance(event.body, AppliedErratumBody)
    return event.kind not in (*UNPUBLISHED[2], LOST)


def submissions_of(view: Snapshot, tracks: Iterable[Track]) -> list[SubmissionState]:
    """The submissions of some tracks, those of each track in the order of the record."""
    return [state for track in tracks for state in recorded(view, track.name).values()]


def public_to_all(view: Snapshot, tracks: Iterable[Track]) -> Snapshot:
    """What concerns several tracks, as visitors may see it: while one is frozen, the record from before its freeze."""
    frozen = (Now.of(view, track).frozen_since for track in tracks)
    since = [moment for moment in frozen if moment is not None]
    return view.before(min(since)) if since else view


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """The log as visitors may see it."""

    lines: tuple[LogLine, ...] = ()
    """By index, from 1; empty before the first event."""
    texts: tuple[str, ...] = ()
    """Of the events about the record, as `opening_text` has them."""

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
    shown, key = public_to_all(view, tracks), view.secret("log")

    def chained(count: int, before: Sequence[LogLine] | None) -> Sequence[LogLine]:
        known = before or ()
        return (*known, *log_lines(key, view.all_events[count:], known[-1] if known else None))

    last = shown.last_index
    texts = (opening_text(key, event) for event in view.all_events[:last] if event.kind in ABOUT_RECORD)
    return PublishedLog(tuple(view.folded("log", chained)[:last]), tuple(texts))
