"""Who led a board, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scorer.charts.labels import spoken
from scorer.charts.ticks import day
from scorer.wording import counted


@dataclass(frozen=True, slots=True)
class History:
    """The scores of the entries of a team over time."""

    name: str
    entries: tuple[tuple[datetime, float], ...]
    """When each entry was received, and its score, in order of time."""
    is_baseline: bool = False


@dataclass(frozen=True, slots=True)
class Lead:
    """A time for which one team has the best score."""

    team: int
    """The index of the team."""
    since: datetime
    score: float
    """The score that took the lead."""
    until: datetime | None
    """When another team took the lead; None for the last lead."""


Steps = tuple[tuple[datetime, float], ...]


def best_so_far(entries: Sequence[tuple[datetime, float]]) -> Steps:
    """Return the entries that are better than all earlier ones."""
    steps: list[tuple[datetime, float]] = []
    for when, score in sorted(entries):
        if not steps or score > steps[-1][1]:
            steps.append((when, score))
    return tuple(steps)


def leads(teams: Sequence[History]) -> tuple[Lead, ...]:
    """Return who led, in order of time. Baselines do not lead.

    A team takes the lead by a score that is higher than all earlier ones. Of several at the same time, the highest
    counts, then the team that is listed first.
    """
    entries = sorted(
        (when, -score, place)
        for place, team in enumerate(teams)
        if not team.is_baseline
        for when, score in team.entries
    )
    taken: list[tuple[int, datetime, float]] = []
    best = float("-inf")
    for when, negated, place in entries:
        if -negated > best:
            best = -negated
            if not taken or taken[-1][0] != place:
                taken.append((place, when, best))
    ends = (*(since for _, since, _ in taken[1:]), None)
    return tuple(Lead(*lead, end) for lead, end in zip(taken, ends, strict=False))


def leaders_sentence(teams: Sequence[History]) -> str:
    """Return who led and who passed whom: ``north-window led for 64 days; tea-kettle passed it on 30 June.``.

    The names of the teams are in it as text, which a page escapes.
    """
    found = leads(teams)
    if not found:
        return "No team has a score yet."
    last = found[-1]
    leader = spoken(teams[last.team].name)
    if len(found) == 1:
        return f"{leader} has led since {day(last.since)}."
    before = found[-2]
    passed = spoken(teams[before.team].name)
    sentence = f"{passed} led for {lasted(last.since - before.since)}; {leader} passed it on {day(last.since)}."
    changes = len(found) - 1
    return sentence if changes <= 2 else f"{sentence} The lead changed {changes} times."


def lasted(time: timedelta) -> str:
    """Return a duration in whole days, hours or minutes, the first of them that is not 0."""
    minutes = int(time.total_seconds()) // 60
    for unit, length in (("day", 1440), ("hour", 60)):
        if minutes >= length:
            return counted(minutes // length, unit)
    return counted(minutes, "minute") if minutes else "less than a minute"
