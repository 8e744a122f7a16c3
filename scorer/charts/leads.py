"""Who led a board, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from scorer.charts.labels import spoken
from scorer.charts.ticks import day
from scorer.wording import counted

Steps = tuple[tuple[datetime, float | None], ...]
"""The score from each time on, in order of time; None: no score."""


@dataclass(frozen=True, slots=True)
class History:
    """The scores of a team over time."""

    name: str
    counted: Steps
    """The score that counted."""
    is_baseline: bool = False
    entries: tuple[tuple[datetime, float], ...] = ()
    """When each entry was received, and its score."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A time for which one team has the best score."""

    team: int
    """The index of the team."""
    since: datetime
    score: float
    """Its score then."""
    until: datetime | None
    """When it lost the lead; None for the team that leads now."""

    @property
    def duration(self) -> timedelta:
        """How long it led; 0 for the team that leads now."""
        return (self.until or self.since) - self.since


def leads(teams: Sequence[History]) -> tuple[Lead, ...]:
    """Return who led, in order of time. Baselines do not lead.

    A team keeps the lead until another one has a higher score. Of several, the highest counts, then the team that is
    listed first.
    """
    led: list[Lead] = []
    for when, scores in _scores_over_time(teams):
        best = max(scores.values(), default=None)
        if led and led[-1].until is None and (best is None or scores.get(led[-1].team) != best):
            led[-1] = replace(led[-1], until=when)
        if best is not None and (not led or led[-1].until is not None):
            led.append(Lead(min(place for place in scores if scores[place] == best), when, best, None))
    return tuple(led)


def best_of_all(teams: Sequence[History]) -> Steps:
    """Return the best score of all teams, where it changes."""
    steps = [(when, max(scores.values(), default=None)) for when, scores in _scores_over_time(teams)]
    return tuple(step for number, step in enumerate(steps) if not number or step[1] != steps[number - 1][1])


def _scores_over_time(teams: Sequence[History]) -> Iterator[tuple[datetime, Mapping[int, float]]]:
    """The scores that count by the index of the team, at each time at which one changes; without baselines."""
    changes = (
        (when, place, score) for place, team in enumerate(teams) if not team.is_baseline for when, score in team.counted
    )
    scores: dict[int, float] = {}
    for when, group in groupby(sorted(changes, key=itemgetter(0, 1)), key=itemgetter(0)):
        for _, place, score in group:
            scores.pop(place, None)
            if score is not None:
                scores[place] = score
        yield when, scores


def leaders_sentence(teams: Sequence[History]) -> str:
    """Return who led and who passed whom: ``north-window led for 64 days; tea-kettle passed it on 30 June.``.

    The names of the teams are in it as text, which a page escapes.
    """
    led = leads(teams)
    if not led:
        return "No team has a score yet."
    last = led[-1]
    leader = spoken(teams[last.team].name)
    if last.until is not None:
        return f"{leader} led for {lasted(last.until - last.since)}."
    if len(led) == 1:
        return f"{leader} has led since {day(last.since)}."
    before = led[-2]
    passed = spoken(teams[before.team].name)
    has_passed = any(when == last.since for when, _ in teams[last.team].counted)
    change = "passed it on" if has_passed else "has led since"
    sentence = f"{passed} led for {lasted((before.until or last.since) - before.since)}; "
    sentence += f"{leader} {change} {day(last.since)}."
    changes = len(led) - 1
    return sentence if changes <= 2 else f"{sentence} The lead changed {changes} times."


def lasted(time: timedelta) -> str:
    """Return a duration in whole days, hours or minutes, the first of them that is not 0."""
    minutes = int(time.total_seconds()) // 60
    for unit, length in (("day", 1440), ("hour", 60)):
        if minutes >= length:
            return counted(minutes // length, unit)
    return counted(minutes, "minute") if minutes else "less than a minute"
