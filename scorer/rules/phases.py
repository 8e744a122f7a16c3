"""Phases: when a track receives entries, and what its board shows at each time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from scorer.options import PHASE_SHOWS, PhaseShows
from scorer.record.events import Body, EndTime, Event, checked_by
from scorer.rules.split import share, share_text
from scorer.rules.tables import SettingsTable, sentences
from scorer.wording import counted, exact_time, iso_time

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

SIZES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
"""Seconds of each unit, the largest first."""

_TIME = "a date-time with its offset from UTC, as in 2027-04-18T10:00:00+02:00"

LARGEST_STEP = Decimal("0.5")
"""Of the Ladder."""

DURATION = 'a text such as "90s", "5m", "24h" or "7d"'


def _with_offset(time: datetime) -> datetime:
    if time.utcoffset() is None:
        raise ValueError("has no offset from UTC")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("is out of range") from None


def _duration(text: object) -> object:
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d{1,6})([smhd])", text.strip(), re.ASCII)
    if match is None:
        raise ValueError("is not a duration")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def in_exact_unit(duration: timedelta) -> tuple[int, str]:
    """A duration in the largest of `UNITS` that is exact: how many, and the unit."""
    seconds = _seconds(duration)
    size, unit = next((size, unit) for size, unit in SIZES if seconds % size == 0)
    return seconds // size, unit


def duration_text(duration: timedelta) -> str:
    """A duration as challenge.toml has it: ``90s``, ``5m``."""
    count, unit = in_exact_unit(duration)
    return f"{count}{unit}"


_Time = Annotated[datetime, AfterValidator(_with_offset), PlainSerializer(datetime.isoformat, when_used="json")]
"""Converted to UTC."""

Duration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(_seconds)]


def _step(value: object) -> Decimal:
    step = share(value)
    if step > LARGEST_STEP:
        raise ValueError(f"is more than {LARGEST_STEP}")
    return step


Step = Annotated[Decimal, BeforeValidator(_step), PlainSerializer(share_text, when_used="json")]
"""Exact, as it was written."""


class Phase(SettingsTable):
    """A phase of a track. Its entries are received in [start, end + grace)."""

    always_recorded: ClassVar = frozenset({"grace", "freeze", "shows"})

    name: str = Field(description="a-z, 0-9 and -, at most 60 characters, not beginning with -", max_length=60)
    start: _Time = Field(description=_TIME)
    end: _Time = Field(description=_TIME)
    grace: Duration = Field(timedelta(0), description=DURATION)
    freeze: Duration = Field(timedelta(0), description=DURATION)
    shows: PhaseShows = Field("score", description=PHASE_SHOWS.allowed)
    ladder_step: Step | None = Field(
        None, description=f'a number above 0 and up to {LARGEST_STEP}, required with shows = "ladder"'
    )

    @model_validator(mode="after")
    def _in_order(self) -> Phase:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.name):
            raise ValueError(f"name: {self.name!r} has other characters than a-z, 0-9 and -")
        if self.end <= self.start:
            raise ValueError("end: is not after start")
        if self.grace > datetime.max.replace(tzinfo=UTC) - self.end:
            raise ValueError("grace: is out of range")
        if self.freeze > self.end - self.start:
            raise ValueError("freeze: is longer than the phase")
        if self.ladder_step is not None and self.shows != "ladder":
            raise ValueError(f'ladder_step: has no effect with shows = "{self.shows}"')
        return self

    @property
    def hides_scores(self) -> bool:
        """Whether the board shows no scores during the phase."""
        return self.shows in ("own", "nothing")

    @property
    def closes(self) -> datetime:
        """When the grace ends: the first moment at which the phase receives nothing any more."""
        return self.end + self.grace

    @property
    def frozen_from(self) -> datetime | None:
        """When the board stops; None without a freeze."""
        return self.end - self.freeze if self.freeze else None

    @classmethod
    def of_record(cls, values: dict[str, Any]) -> Phase:
        """The phase that `recorded` returned, with times in UTC and durations in seconds."""
        times = {key: datetime.fromisoformat(values[key]) for key in ("start", "end")}
        lengths = {key: timedelta(seconds=values[key]) for key in ("grace", "freeze")}
        known = {key: values[key] for key in cls.model_fields if key in values}
        return cls(**{**known, **times, **lengths, "shows": values["shows"]})


def check_order(phases: tuple[Phase, ...]) -> None:
    """Raise ValueError unless the phases have different names and each one begins when the last one has closed."""
    names = [phase.name for phase in phases]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise ValueError(f"two phases are called {name}")
    for earlier, later in itertools.pairwise(phases):
        if later.start < earlier.closes:
            raise ValueError(
                f"{later.name} starts at {iso_time(later.start)}, before {earlier.name} has ended, with its grace, at "
                f"{iso_time(earlier.closes)}"
            )


class PhasesBody(Body, plain=("phases",)):
    """Of an announcement of phases."""

    phases: Annotated[tuple[Annotated[Phase, BeforeValidator(Phase.of_record)], ...], checked_by(check_order)]


class ExtensionBody(Body, plain=("phase", "end", "reason")):
    """Of an event that gives a phase another end."""

    phase: str
    end: EndTime
    reason: str


PhasePlace = Literal["ok", "early", "late"]
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
class Extension(Announcement):
    """A phase that was given a later end; `phases` are all phases with it."""

    phase: str
    before: datetime
    end: datetime
    """In UTC, as `before`."""
    reason: str


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases in force, and how they came to be."""

    all: tuple[Phase, ...]
    """In order of time; none for a track without phases."""
    decisions: tuple[Announcement, ...] = ()
    """The announcements and extensions, in the order of the record; the first one is an announcement."""
    ends: Mapping[str, frozenset[datetime]] = field(default_factory=dict)
    """By name of the phase: the end that was announced, and those that extensions gave it since."""

    def place(self, received: datetime) -> tuple[str | None, PhasePlace]:
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
    decisions: list[Announcement] = []
    ends: dict[str, frozenset[datetime]] = {}
    for event in events:
        body = event.body
        if isinstance(body, PhasesBody):
            earlier = {phase.name: phase.end for phase in phases}
            phases = body.phases
            for phase in phases:
                if phase.name not in ends or earlier.get(phase.name) != phase.end:
                    ends[phase.name] = frozenset({phase.end})
            decisions.append(Announcement(event.index, event.at, phases))
        elif isinstance(body, ExtensionBody):
            name, end = body.phase, body.end
            before = next((phase.end for phase in phases if phase.name == name), end)
            phases = tuple(replace_end(phase, end) if phase.name == name else phase for phase in phases)
            decisions.append(Extension(event.index, event.at, phases, name, before, end, body.reason))
            ends[name] = ends.get(name, frozenset()) | {end}
    return Phases(phases, tuple(decisions), ends)


def replace_end(phase: Phase, end: datetime) -> Phase:
    """The phase with another end."""
    return phase.model_copy(update={"end": end})


def phase_rules(
    plan: Phases, *, has_preliminary: bool, has_late_board: bool, has_baselines: bool, by_service: bool = False
) -> tuple[str, ...]:
    """The rules on times: the phases, their grace and freezes, and early and late entries; none without phases.

    The arguments say what the track has. `by_service` says that files are handed in over the service of the challenge,
    and not put into a folder.
    """
    if not plan.all:
        return ()
    found = [sentence for position in range(len(plan.all)) for sentence in _rules_of_phase(plan.all, position)]
    found += sentences("phases", "moments")
    if by_service:
        found += sentences("phases", "service", "service_withdrawal")
    else:
        found += sentences("phases", "folder")
        found.append("".join(sentences("phases", "early_and_late", *(["late_board"] if has_late_board else []))))
        found += sentences("phases", "misdated", "folder_withdrawal")
    last = plan.all[-1]
    shown = "final" if has_preliminary else "no_preliminary"
    found += sentences("phases", shown, "extension", name=last.name, close=closing(last))
    return (*found, *(sentences("phases", "baselines") if has_baselines else ()))


def _rules_of_phase(phases: Sequence[Phase], position: int) -> Iterator[str]:
    phase = phases[position]
    words = {"name": phase.name, "start": exact_time(phase.start), "close": closing(phase)}
    yield from sentences("phases", "receives", **words)
    if phase.frozen_from is not None:
        yield from sentences("phases", "frozen", since=exact_time(phase.frozen_from), **words)
    if phase.ladder_step is not None:
        spans = " and ".join(_ladder_spans(phases, position))
        yield from sentences("phases", "ladder", spans=spans, step=share_text(phase.ladder_step), **words)
    if phase.hides_scores:
        yield "".join(sentences("phases", "hidden", *(["own"] if phase.shows == "own" else []), **words))


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
