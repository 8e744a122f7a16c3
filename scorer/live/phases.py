"""Phases: what the record says about them, what visitors see at each time, and their rules in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from scorer.challenge.phases import UNITS, Phase, in_exact_unit
from scorer.challenge.settings import Track
from scorer.challenge.splits import share_text
from scorer.options import Stage
from scorer.store.events import Event
from scorer.wording import counted, utc_moment

Place = Literal["ok", "early", "late"]
"""Whether an entry was received in a phase, before the first one, or after one."""

State = Literal["not started", "open", "in its grace", "between phases", "over"]
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

    def place(self, received: datetime) -> tuple[str | None, Place]:
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

    @property
    def end(self) -> datetime | None:
        """When the last phase closes; None without phases."""
        return self.all[-1].closes if self.all else None

    def has_started(self, now: datetime) -> bool:
        """Whether the first phase has started."""
        return bool(self.all) and now >= self.all[0].start

    def is_over(self, now: datetime) -> bool:
        """Whether the last phase has closed."""
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

    def state(self, now: datetime) -> State:
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
        closed = [phase for phase in self.closed(now) if phase.shows != "nothing"]
        if closed:
            return closed[-1]
        following = self.upcoming(now)
        return following if following is not None and following.shows == "ladder" else None

    def has_closed(self, name: str | None, now: datetime) -> bool:
        """Whether a phase has closed; without a name, whether the first one has."""
        chosen = next((phase for phase in self.all if phase.name == name), self.all[0] if self.all else None)
        return chosen is not None and now >= chosen.closes


def folded_phases(events: Iterable[Event], announced: Sequence[Phase] = ()) -> Phases:
    """The phases of a track by its events; until the first announcement is recorded, those of challenge.toml."""
    phases = tuple(announced)
    announcements: list[Announcement] = []
    extensions: list[Extension] = []
    ends: dict[str, frozenset[datetime]] = {}
    for event in events:
        if event.kind == "phases":
            earlier = {phase.name: phase.end for phase in phases}
            phases = tuple(map(Phase.of_record, event.body["phases"]))
            for phase in phases:
                if phase.name not in ends or earlier.get(phase.name) != phase.end:
                    ends[phase.name] = frozenset({phase.end})
            announcements.append(Announcement(event.index, event.at, phases))
        elif event.kind == "extension":
            name, end = event.body["phase"], datetime.fromisoformat(event.body["end"])
            before = next((phase.end for phase in phases if phase.name == name), end)
            phases = tuple(replace_end(phase, end) if phase.name == name else phase for phase in phases)
            extensions.append(Extension(event.index, event.at, name, before, end, event.body["reason"], phases))
            ends[name] = ends.get(name, frozenset()) | {end}
    return Phases(phases, tuple(announcements), tuple(extensions), ends)


def replace_end(phase: Phase, end: datetime) -> Phase:
    """The phase with another end."""
    return phase.model_copy(update={"end": end})


def at_stage(track: Track, plan: Phases, stage: Stage, deciding: Phase | None = None) -> Track:
    """The track with the phases in force, at a stage that they decide.

    Where the phase `deciding` shows other than the scores of the stage, the track has no further measures.
    """
    values = {name: getattr(track, name) for name in Track.model_fields}
    changed = {"phases": plan.all, "stage": stage, "deciding_phase": deciding}
    if deciding is not None and deciding.shows != "score":
        changed["measures"] = ()
    return Track.model_construct(**{**values, **changed})


def phase_rules(plan: Phases, track: Track, *, has_preliminary: bool) -> tuple[str, ...]:
    """The rules on times: the phases, their grace and freezes, and early and late entries; none without phases."""
    return tuple(_phase_rules(plan, track, has_preliminary)) if plan.all else ()


def _phase_rules(plan: Phases, track: Track, has_preliminary: bool) -> Iterator[str]:
    for position, phase in enumerate(plan.all):
        yield _phase_rule(phase)
        if phase.frozen_from is not None:
            yield (
                f"From {utc_moment(phase.frozen_from)} until {utc_moment(phase.closes)} the board is frozen: it shows "
                "the record as it was before. What is recorded later, also of files that were received before, appears "
                "when the phase has closed."
            )
        if phase.shows == "ladder":
            step = "" if phase.ladder_step is None else f", with a step of {share_text(phase.ladder_step)}"
            spans = " and ".join(_ladder_spans(plan.all, position))
            yield f"From {spans}, the Ladder decides which preliminary scores the board shows{step}."
        if phase.shows == "nothing":
            yield (
                f"From the start of the phase {phase.name} until it has closed, at {utc_moment(phase.closes)}, the "
                "board lists the teams without scores and ranks."
            )
    yield (
        "The time of receipt of a file decides its phase: the time at the beginning of its name, or else that of its "
        "last change."
    )
    yield (
        "A phase closes at its end, or at the end of its grace if it has one. What is received at the exact moment of "
        "its start is in the phase; what is received at the exact moment at which it closes is not."
    )
    late_board = " They are listed on a late board after the last phase." if track.late_board else ""
    yield (
        "An entry that is received before the first phase is early; one that is received after a phase has closed and "
        f"before the next one starts is late. Early and late entries are scored and are never ranked.{late_board}"
    )
    yield (
        "A time of receipt that is more than 5 minutes in the future, or more than 5 minutes before the phases were "
        "announced, is not accepted. The entry does not count until the organiser corrects the time."
    )
    yield (
        "A file that is deleted or replaced withdraws its entry when the next run finds it so. Once the phase of an "
        "entry has closed, no run withdraws it, and a withdrawn entry does not return."
    )
    yield (
        f"Final scores are not shown before {utc_moment(plan.all[-1].closes)}."
        if has_preliminary
        else "The track has no preliminary queries, so the board shows scores over all queries from the beginning."
    )
    yield "Once a phase has started, its end changes only by an extension, which is recorded and shown with its reason."
    if track.baselines:
        yield "Baselines have no phase and no quota. The board lists them also before the first phase."


def _ladder_spans(phases: Sequence[Phase], position: int) -> Iterator[str]:
    """When the Ladder of a phase decides, see `Phases.deciding_between`: also after phases that show nothing."""
    start = f"the start of the phase {phases[position].name}"
    if all(phase.shows == "nothing" for phase in phases[:position]):
        start = f"the close of the phase {phases[position - 1].name}" if position else "the beginning"
    for following in phases[position + 1 :]:
        yield f"{start} until the phase {following.name} starts"
        if following.shows != "nothing":
            return
        start = f"from the close of the phase {following.name}"
    if phases[-1].shows != "nothing":
        yield f"{start} until final scores are shown"


def _phase_rule(phase: Phase) -> str:
    times = f"The phase {phase.name} receives entries from {utc_moment(phase.start)} until {utc_moment(phase.end)}"
    if not phase.grace:
        return f"{times}."
    grace = _duration(phase.grace)
    return f"{times}; what is received up to {grace} later, before {utc_moment(phase.closes)}, still counts."


def _duration(duration: timedelta) -> str:
    count, unit = in_exact_unit(duration)
    return counted(count, UNITS[unit].removesuffix("s"))


def phase_lines(phases: Phases, track: Track, now: datetime, *, has_preliminary: bool) -> Iterator[str]:
    """What `scorer phases` prints of a track: its phases, the extensions, and the rules."""
    if not phases.all:
        yield f"{track.name}: no phases; entries are received at any time"
        return
    announced = phases.announcements[0].at if phases.announcements else None
    when = f"announced {utc_moment(announced)}" if announced else "not announced yet; `scorer run` records them"
    yield f"{track.name}: {when}"
    for phase in phases.all:
        yield f"  {phase.name}: {utc_moment(phase.start)} to {utc_moment(phase.end)}, {_state(phases, phase, now)}"
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
