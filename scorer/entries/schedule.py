"""The phases of a track as the record has them: announced, extended, and where an entry belongs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from scorer.challenge.phases import Phase
from scorer.store.events import Event

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
class Schedule:
    """The phases in force, and how they came to be."""

    phases: tuple[Phase, ...]
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
        begun = [phase for phase in self.phases if phase.start <= received]
        if not self.phases:
            return None, "ok"
        if not begun:
            return None, "early"
        return begun[-1].name, "ok" if received < begun[-1].closes else "late"

    @property
    def end(self) -> datetime | None:
        """When the last phase closes; None without phases."""
        return self.phases[-1].closes if self.phases else None

    def has_started(self, now: datetime) -> bool:
        """Whether the first phase has started."""
        return bool(self.phases) and now >= self.phases[0].start

    def is_over(self, now: datetime) -> bool:
        """Whether the last phase has closed."""
        return bool(self.phases) and now >= self.phases[-1].closes

    def current(self, now: datetime) -> Phase | None:
        """The phase that receives entries now, also during its grace; None between phases."""
        return next((phase for phase in self.phases if phase.start <= now < phase.closes), None)

    def upcoming(self, now: datetime) -> Phase | None:
        """The next phase that has not started."""
        return next((phase for phase in self.phases if now < phase.start), None)

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
        return self.current_or_next(now) or (self.phases[-1] if self.phases else None)

    def closed(self, now: datetime) -> tuple[Phase, ...]:
        """The phases that have closed, in order of time."""
        return tuple(phase for phase in self.phases if now >= phase.closes)

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
        chosen = next((phase for phase in self.phases if phase.name == name), self.phases[0] if self.phases else None)
        return chosen is not None and now >= chosen.closes


def schedule(events: Iterable[Event], announced: Sequence[Phase] = ()) -> Schedule:
    """The schedule of a track.

    Parameters
    ----------
    events
        Of the track, in order.
    announced
        The phases of challenge.toml; they are in force until the first announcement is recorded.
    """
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
    return Schedule(phases, tuple(announcements), tuple(extensions), ends)


def replace_end(phase: Phase, end: datetime) -> Phase:
    """The phase with another end."""
    return phase.model_copy(update={"end": end})
