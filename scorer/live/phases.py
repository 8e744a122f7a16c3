"""Phases: what visitors see at each time; the possible times of receipt; and the hash of the key of a split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import compress
from typing import Any, Literal

from scorer.live.rules import sentences
from scorer.settings.rules import UNITS, Phase, QuerySplit, in_exact_unit, share_text
from scorer.settings.tracks import Track
from scorer.store.documents import VERSION, SplitDocument, SplitQueries
from scorer.store.events import Basis, Event, ExtensionBody, FolderScan, PhasesBody, RevealBody, bodies
from scorer.store.log import iso
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, exact_time, utc_moment

_Place = Literal["ok", "early", "late"]
"""Whether an entry was received in a phase, before the first one, or after one."""

PhaseState = Literal["not started", "open", "in its grace", "between phases", "over"]
"""Where a track is in its phases. In its grace: the phase has ended, and still receives what is a little late."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The phases as they were announced."""

    index: int
    """Of the event."""
    at: datetime | None
    """When it was recorded, in UTC."""
    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True)
class Extension:
    """A phase that was given a later end."""

    index: int
    at: datetime | None
    phase: str
    before: datetime
    end: datetime
    """In UTC, as `before`."""
    reason: str
    phases: tuple[Phase, ...]
    """All phases with the new end."""


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases in force, and how they came to be."""

    all: tuple[Phase, ...]
    """In order of time; none for a track without phases."""
    announcements: tuple[Announcement, ...] = ()
    extensions: tuple[Extension, ...] = ()
    ends: Mapping[str, frozenset[datetime]] = field(default_factory=dict)
    """By name of the phase: the end that was announced, and those that extensions gave it since."""

    def place(self, received: datetime) -> tuple[str | None, _Place]:
        """The phase of an entry by its time of receipt, and whether it was received in it.

        Phases are half-open: one receives in [start, end + grace). An entry after a phase and before the next one is
        late for the former; an entry before the first phase has no phase.
        """
        begun = [phase for phase in self.all if phase.start <= received]
        if not self.all:
            return None, "ok"
        if not begun:
            return None, "early"
        return begun[-1].name, "ok" if received < begun[-1].closes else "late"

    def has_started(self, now: datetime) -> bool:
        return bool(self.all) and now >= self.all[0].start

    def is_over(self, now: datetime) -> bool:
        return bool(self.all) and now >= self.all[-1].closes

    def current(self, now: datetime) -> Phase | None:
        """The phase that receives entries now, also during its grace; None between phases."""
        return next((phase for phase in self.all if phase.start <= now < phase.closes), None)

    def upcoming(self, now: datetime) -> Phase | None:
        """The next phase that has not started."""
        return next((phase for phase in self.all if now < phase.start), None)

    def current_or_next(self, now: datetime) -> Phase | None:
        """The phase that receives entries now, or else the next one; None once the last one has closed."""
        return self.current(now) or self.upcoming(now)

    def state(self, now: datetime) -> PhaseState:
        """The state of a track that has phases."""
        phase = self.current(now)
        if phase is not None:
            return "open" if now < phase.end else "in its grace"
        if self.upcoming(now) is None:
            return "over"
        return "between phases" if self.has_started(now) else "not started"

    def shown_phase(self, now: datetime) -> Phase | None:
        """The phase that receives entries now, or else the next one, or else the last one; None without phases."""
        return self.current_or_next(now) or (self.all[-1] if self.all else None)

    def closed(self, now: datetime) -> tuple[Phase, ...]:
        """The phases that have closed, in order of time."""
        return tuple(phase for phase in self.all if now >= phase.closes)

    def passed(self, now: datetime) -> list[datetime]:
        """The times of phases that have passed, sorted: their starts, freezes, ends and closes."""
        times = (time for phase in self.all for time in (phase.start, phase.frozen_from, phase.end, phase.closes))
        return sorted(time for time in times if time is not None and time <= now)

    def frozen_since(self, now: datetime) -> datetime | None:
        """When the board was frozen; None if it is not. It is thawed when the grace of its phase ends."""
        phase = self.current(now)
        frozen_from = phase.frozen_from if phase else None
        return frozen_from if frozen_from is not None and now >= frozen_from else None

    def deciding(self, now: datetime) -> Phase | None:
        """The phase that decides what the board shows; None: it shows the scores of the stage.

        That is the phase that receives entries now. Once the last phase has closed, none decides.
        """
        return None if self.is_over(now) else self.current(now) or self.deciding_between(now)

    def deciding_between(self, now: datetime) -> Phase | None:
        """The phase that decides while none receives entries; None: the board shows the scores of the stage.

        It is the last one that has closed, without those that show nothing: these only delay scores. Before that, it is
        the next one if it uses the Ladder: exact scores must not be shown before it starts.
        """
        closed = [phase for phase in self.closed(now) if not phase.hides_scores]
        if closed:
            return closed[-1]
        following = self.upcoming(now)
        return following if following is not None and following.shows == "ladder" else None

    def has_closed(self, name: str | None, now: datetime) -> bool:
        """Whether a phase has closed; without a name, whether the first one has."""
        phase_named = next((phase for phase in self.all if phase.name == name), self.all[0] if self.all else None)
        return phase_named is not None and now >= phase_named.closes


DATES = ("phases", "extension")
"""The kinds of events about phases."""


def folded_phases(events: Iterable[Event], announced: Sequence[Phase] = ()) -> Phases:
    """The phases of a track by its events; until the first announcement is recorded, those of challenge.toml."""
    phases = tuple(announced)
    announcements: list[Announcement] = []
    extensions: list[Extension] = []
    ends: dict[str, frozenset[datetime]] = {}
    for event in events:
        body = event.body
        if isinstance(body, PhasesBody):
            earlier = {phase.name: phase.end for phase in phases}
            phases = body.phases
            for phase in phases:
                if phase.name not in ends or earlier.get(phase.name) != phase.end:
                    ends[phase.name] = frozenset({phase.end})
            announcements.append(Announcement(event.index, event.at, phases))
        elif isinstance(body, ExtensionBody):
            name, end = body.phase, body.end
            before = next((phase.end for phase in phases if phase.name == name), end)
            phases = tuple(replace_end(phase, end) if phase.name == name else phase for phase in phases)
            extensions.append(Extension(event.index, event.at, name, before, end, body.reason, phases))
            ends[name] = ends.get(name, frozenset()) | {end}
    return Phases(phases, tuple(announcements), tuple(extensions), ends)


def replace_end(phase: Phase, end: datetime) -> Phase:
    """The phase with another end."""
    return phase.model_copy(update={"end": end})


def phase_rules(plan: Phases, track: Track, *, has_preliminary: bool, by_service: bool = False) -> tuple[str, ...]:
    """The rules on times: the phases, their grace and freezes, and early and late entries; none without phases.

    `by_service` says that files are handed in over the service of the challenge, and not put into a folder.
    """
    return tuple(_phase_rules(plan, track, has_preliminary, by_service)) if plan.all else ()


def _phase_rules(plan: Phases, track: Track, has_preliminary: bool, by_service: bool) -> Iterator[str]:
    for position, phase in enumerate(plan.all):
        words = {"name": phase.name, "start": exact_time(phase.start), "close": closing(phase)}
        yield from sentences("phases", "receives", **words)
        if phase.frozen_from is not None:
            yield from sentences("phases", "frozen", since=exact_time(phase.frozen_from), **words)
        if phase.ladder_step is not None:
            spans = " and ".join(_ladder_spans(plan.all, position))
            yield from sentences("phases", "ladder", spans=spans, step=share_text(phase.ladder_step), **words)
        if phase.hides_scores:
            yield "".join(sentences("phases", "hidden", *(["own"] if phase.shows == "own" else []), **words))
    yield from sentences("phases", "moments")
    if by_service:
        yield from sentences("phases", "service", "service_withdrawal")
    else:
        yield from sentences("phases", "folder")
        yield "".join(sentences("phases", "early_and_late", *(["late_board"] if track.late_board else [])))
        yield from sentences("phases", "misdated", "folder_withdrawal")
    last = plan.all[-1]
    shown = "final" if has_preliminary else "no_preliminary"
    yield from sentences("phases", shown, "extension", name=last.name, close=closing(last))
    yield from sentences("phases", "baselines") if track.baselines else ()


def _ladder_spans(phases: Sequence[Phase], position: int) -> Iterator[str]:
    """When the Ladder of a phase decides, see `Phases.deciding_between`: also after phases that show nothing."""
    start = f"the start of the phase {phases[position].name}"
    if all(phase.hides_scores for phase in phases[:position]):
        start = f"the close of the phase {phases[position - 1].name}" if position else "the beginning"
    for following in phases[position + 1 :]:
        yield f"{start} until the phase {following.name} starts"
        if not following.hides_scores:
            return
        start = f"from the close of the phase {following.name}"
    if not phases[-1].hides_scores:
        yield f"{start} until final scores are shown"


def closing(phase: Phase, show: Callable[[datetime], str] = exact_time) -> str:
    """When a phase closes, the one date of it: ``8 July 2027, 12:00 UTC, with 5 minutes of grace``."""
    return f"{show(phase.end)}{with_grace(phase)}"


def with_grace(phase: Phase) -> str:
    """What follows the end of a phase: ``, with 5 minutes of grace``; empty without a grace."""
    if not phase.grace:
        return ""
    count, unit = in_exact_unit(phase.grace)
    return f", with {counted(count, UNITS[unit].removesuffix('s'))} of grace"


def phase_lines(phases: Phases, track: Track, now: datetime, *, has_preliminary: bool) -> Iterator[str]:
    """What `scorer phases` prints of a track: its phases, the extensions, and the rules."""
    if not phases.all:
        yield f"{track.name}: no phases; entries are received at any time"
        return
    announced = phases.announcements[0].at if phases.announcements else None
    when = f"announced {utc_moment(announced)}" if announced else "not announced yet; `scorer run` records them"
    yield f"{track.name}: {when}"
    for phase in phases.all:
        yield f"  {phase.name}: {utc_moment(phase.start)} to {closing(phase, utc_moment)}: {_state(phases, phase, now)}"
    for extension in phases.extensions:
        recorded = f"{utc_moment(extension.at)}: " if extension.at else ""
        times = f"from {utc_moment(extension.before)} to {utc_moment(extension.end)}"
        yield f"  {recorded}{extension.phase} extended {times}: {extension.reason}"
    for rule in phase_rules(phases, track, has_preliminary=has_preliminary):
        yield f"  - {rule}"


def _state(plan: Phases, phase: Phase, moment: datetime) -> str:
    if moment < phase.start:
        return "not started"
    if moment >= phase.closes:
        return "closed"
    if moment >= phase.end:
        return "ended, in its grace"
    return "open, the board is frozen" if plan.frozen_since(moment) else "open"


FIRST_RECEIPT = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest time of receipt that is possible."""

CLOCK_SKEW = timedelta(minutes=5)
"""How far a time of receipt may be after the time at which it is recorded: clocks differ."""


def is_misdated(received: datetime, recorded: datetime | None) -> bool:
    """Whether a time of receipt is impossible: before 1990, or after it was recorded (None: unknown)."""
    return received < FIRST_RECEIPT or (recorded is not None and received > recorded + CLOCK_SKEW)


def precedes_phases(received: datetime, announcement: datetime | None) -> bool:
    """Whether a submission that is recorded after the first phases were announced claims to be from before that."""
    return announcement is not None and received < announcement - CLOCK_SKEW


def is_backdated(received: datetime, absent_at: datetime | None, phases: Phases, track: Track) -> bool:
    """Whether the stated time gives an entry another phase or day than the last scan that did not find its file.

    As the phase itself, this follows from the phases in force: if a phase is extended beyond that scan, the entry is in
    it by both times.
    """
    if track.trusted_times or absent_at is None or received >= absent_at:
        return False
    return _scope(received, phases, track) != _scope(absent_at, phases, track)


def _scope(moment: datetime, phases: Phases, track: Track) -> tuple[str | None, _Place, str]:
    """What the rules make of a time of receipt: the phase, the place, and the day of the quota where it counts."""
    phase, place = phases.place(moment)
    return phase, place, track.quota.day(moment) if track.quota.counts_days and place == "ok" else ""


@dataclass(frozen=True, slots=True)
class NewScan:
    """A scan of the folder of a track that is about to be stored. Another run may have stored one meanwhile."""

    at: datetime
    unread: Collection[str] | None
    """The marks of what cannot be recorded now; None: it may be the wrong folder, so that the last scan stays."""
    earlier: FolderScan | None
    """The last scan when this one began."""

    def stored_after(self, last: FolderScan | None) -> FolderScan | None:
        """What to store of it; None: the last scan stays."""
        if self.unread is None or not self._follows(last):
            return None
        return FolderScan(self.at, {mark: self._lacked(last, mark) for mark in self.unread})

    def completed(self, last: FolderScan | None, arrival: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of an arrival, with the last scan that did not find the file."""
        file, digest = arrival["file"], arrival["digest"]
        since = self._lacked(last, file, folder_of(file), content_mark(file, digest))
        return arrival if since is None else {**arrival, "absent_at": iso(since)}

    def _follows(self, last: FolderScan | None) -> bool:
        return last is None or last == self.earlier or last.at <= self.at

    def _lacked(self, last: FolderScan | None, *marks: str) -> datetime | None:
        """The last scan before this one that did not list a file with these marks; None without one."""
        before = last if self._follows(last) else self.earlier
        if before is None:
            return None
        since = next((before.unread[mark] for mark in marks if mark in before.unread), before.at)
        return since and min(since, self.at)  # the clock may have been set back


def folder_of(file: str) -> str:
    """The path of the folder of a file."""
    return file.rpartition("/")[0]


def content_mark(file: str, digest: str) -> str:
    """The mark of a content under any name in the folder of a file. No path has two slashes."""
    return f"{folder_of(file)}//{digest}"


def published_split(view: Snapshot, basis: Basis) -> SplitDocument | None:
    """What is public about the split of a basis; None if the solution decides which queries are preliminary."""
    split = basis.split
    if split is None:
        return None
    document = SplitDocument(
        version=VERSION, track=split.track, preliminary=share_text(split.preliminary), key_sha256=split.key_sha256
    )
    if not is_revealed(view, split):
        return document
    ids, flags = view.queries(basis.solution).ids, view.flags(basis)
    preliminary, rest = (sorted(compress(ids, inside)) for inside in (flags, ~flags))
    queries = SplitQueries(preliminary=preliminary, rest=rest)
    return document.model_copy(update={"key": split.key.hex(), "queries": queries})


def is_revealed(view: Snapshot, split: QuerySplit) -> bool:
    """Whether the key of a split, not only an earlier key of its track, was revealed."""
    reveals = bodies(view.events(split.track), RevealBody)
    return any(reveal.split_key == split.key.hex() for _, reveal in reveals)


def has_preliminary_queries(view: Snapshot, track: Track, basis: Basis | None) -> bool:
    """Whether a track has preliminary queries; True as long as it has no basis."""
    return basis is None or track.split is not None or bool(view.flags(basis).any())


def recorded_key(view: Snapshot, track: str) -> str | None:
    """The SHA-256 of the key that the board of a track is based on; None without a board or without a split."""
    recorded = view.recorded_basis(track)
    return None if recorded is None else recorded.key_sha256


def split_rules(split: SplitDocument | None) -> tuple[str, ...]:
    """The rules on the split; none without one."""
    if split is None:
        return ()
    return sentences("split", "revealed" if split.key else "secret", share=split.preliminary)
