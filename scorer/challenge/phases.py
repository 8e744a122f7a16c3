"""The phases of a track: when entries are received, when the board is frozen, and what it shows."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from scorer.challenge.splits import share, share_text
from scorer.challenge.tables import SettingsTable
from scorer.options import PHASE_SHOWS, PhaseShows
from scorer.wording import iso_time

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
SIZES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
"""Seconds of each unit, the largest first."""

TIME = "a date-time with its offset from UTC, as in 2027-04-18T10:00:00+02:00"
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


Time = Annotated[datetime, AfterValidator(_with_offset)]
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

    name: str = Field(description="a-z, 0-9 and -, at most 60 characters, not beginning with -", max_length=60)
    start: Time = Field(description=TIME)
    end: Time = Field(description=TIME)
    grace: Duration = Field(timedelta(0), description=DURATION)
    freeze: Duration = Field(timedelta(0), description=DURATION)
    shows: PhaseShows = Field("score", description=PHASE_SHOWS.allowed)
    ladder_step: Step | None = Field(
        None, description=f'a number above 0 and up to {LARGEST_STEP}, with shows = "ladder"'
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
    def closes(self) -> datetime:
        """When the grace ends: the first moment at which the phase receives nothing any more."""
        return self.end + self.grace

    @property
    def frozen_from(self) -> datetime | None:
        """When the board stops; None without a freeze."""
        return self.end - self.freeze if self.freeze else None

    def recorded(self) -> dict[str, Any]:
        """The phase as plain values for the record: times in UTC, durations in seconds, no floats."""
        step = {} if self.ladder_step is None else {"ladder_step": share_text(self.ladder_step)}
        return {
            "name": self.name,
            "start": self.start.isoformat(),
            "end": self.end.isoformat(),
            "grace": _seconds(self.grace),
            "freeze": _seconds(self.freeze),
            "shows": self.shows,
            **step,
        }

    @classmethod
    def of_record(cls, values: dict[str, Any]) -> Phase:
        """The phase that `recorded` returned."""
        return cls(
            name=values["name"],
            start=datetime.fromisoformat(values["start"]),
            end=datetime.fromisoformat(values["end"]),
            grace=timedelta(seconds=values["grace"]),
            freeze=timedelta(seconds=values["freeze"]),
            shows=values["shows"],
            ladder_step=values.get("ladder_step"),
        )


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
