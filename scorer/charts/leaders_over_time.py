"""The score of each team that counted, over time: who led, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter

from scorer.charts.labels import LINE, SMALL, Label, fitted, spoken, text_width
from scorer.charts.panel import (
    ACCENT,
    DOTTED,
    HAIR,
    JOIN,
    PAPER,
    REFERENCE,
    SOFT,
    Anchor,
    Panel,
    Point,
    below,
    end_labels,
    first_of,
)
from scorer.charts.svg import Chart
from scorer.charts.ticks import Tick, day, number, score_ticks, time_ticks
from scorer.wording import counted, day_and_month, printable

WIDE, MEDIUM, NARROW = 1328, 880, 358
"""The widths of the image on a wide page, on a tablet and on a phone, in pixels."""

MOST, NAMED = 60, 18
"""The number of teams that a chart has, and that it names, at most."""

BASELINES = 6
"""The number of baselines that a chart has at most."""

STEPS, RINGS = 800, 120
"""The number of steps of all lines at most, and of the entries that have rings, if there are not more."""

LEADS = 40
"""The number of earlier leaders that may be named, those that led longest."""

BREAK = 600
"""The width in pixels from which names have scores and dates."""

LEFT = 40
"""The margin for the scores of the axis in pixels."""

DAY = 86400.0
"""In seconds."""

BOLD = 1.1
"""How much wider bold text is."""


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


Span = tuple[datetime, datetime]


def leaders_over_time(
    teams: Sequence[History],
    measure: str,
    *,
    decimals: int = 3,
    width: float = WIDE,
) -> Chart:
    """Draw the score of each team that counted as steps, and the best of all as a thick line with its leaders' names.

    A line ends where no score counts any more. A ring is an entry; dotted lines are baselines. Names are at the right,
    moved apart. The teams are in the order of the board, with baselines anywhere. The time axis ends at the last entry.
    `Chart.draw` takes another `width`, too, so that the scores are searched for leaders once.
    """
    scored = [team for team in teams if any(score is not None for _, score in team.counted)]
    ranked = [team for team in scored if not team.is_baseline]
    shown = [*ranked[:MOST], *[team for team in scored if team.is_baseline][:BASELINES]]
    times = [when for team in scored for when, _ in (*team.counted, *team.entries)]
    has_rings = sum(len(team.entries) for team in shown) <= RINGS
    lines = tuple(
        replace(team, counted=_thinned(team.counted, STEPS // len(shown)), entries=team.entries if has_rings else ())
        for team in shown
    )
    best = best_of_all(ranked)
    drawing = partial(
        _panel,
        lines,
        _thinned(best, STEPS),
        tuple((scored[lead.team].name, lead) for lead in leads(scored)),
        (min(times), max(times)) if times else None,
        len(ranked),
        decimals,
        width=width,
    )
    description = leaders_sentence(scored)
    if best and best[-1][1] is not None:
        description += f" The best {printable(measure)} is {number(best[-1][1], decimals)}."
    description = " ".join([description, *first_of(MOST, len(ranked))])
    return Chart(drawing, f"{measure} of each team over time", description)


def _thinned(steps: Steps, most: int) -> Steps:
    """At most `most` of the steps, two at least, with the first and the last."""
    most = max(2, most)
    if len(steps) <= most:
        return steps
    return tuple(steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most))


def _panel(
    lines: Sequence[History],
    best: Steps,
    led: Sequence[tuple[str, Lead]],
    span: Span | None,
    count: int,
    decimals: int,
    width: float,
) -> Panel:
    teams = [line for line in lines if not line.is_baseline]
    baselines = [line for line in lines if line.is_baseline]
    named = [line for line in (*teams[:NAMED], *baselines) if line.counted[-1][1] is not None]
    scores = [score for line in lines for _, score in (*line.counted, *line.entries) if score is not None]
    down = score_ticks(min(scores, default=0.0), max(scores, default=1.0))
    is_wide = width >= BREAK
    # The widest digit keeps room for any score.
    note = text_width(" " + "8" * (decimals + 2)) if is_wide else 0.0
    right = JOIN + 10 + min(width / 4 + 10, max((text_width(line.name) + note for line in named), default=0.0))
    first, last = (span[0].timestamp(), span[1].timestamp()) if span else (0.0, 0.0)
    last = last if last > first else first + DAY
    panel = Panel(
        x=(first - (last - first) / 50, last + (last - first) / 250),
        y=(down[0][0], down[-1][0]),
        width=width - LEFT - right,
        height=max(260.0 if is_wide else 230.0, LINE * len(named)),
        left=LEFT,
        right=right,
        top=22,
        bottom=28,
    )
    panel.grid_down(down)
    _mark_times(panel, time_ticks(*span, int(panel.width // 70)) if span else [])
    if count > len(teams):
        panel.bottom += 18
        below(panel, first_of(len(teams), count))
    levels = [score for line in baselines if (score := line.counted[-1][1]) is not None]
    panel.rules([(panel.x[0], y, panel.x[1], y) for y in levels], REFERENCE, 1, DOTTED)
    for some, stroke in ((teams[NAMED:], HAIR), (teams[:NAMED], REFERENCE)):
        panel.lines([piece for line in some for piece in _pieces(line.counted, last)], stroke, interpolate="step-after")
    rings = [(when.timestamp(), score) for line in teams for when, score in line.entries]
    panel.dots(rings, 2.5, PAPER, SOFT, strokeWidth=1)
    panel.lines(_pieces(best, last), ACCENT, 2.5, interpolate="step-after")
    _name_leads(panel, led, decimals, is_wide=is_wide)
    ends = []
    for line in named:
        score = line.counted[-1][1] or 0.0
        text = number(score, decimals) if is_wide else ""
        ends.append((score, fitted(line.name, right - JOIN - 8 - note, note=text)))
    end_labels(panel, ends, quiet=range(len(named) - len(levels), len(named)))
    return panel


def _pieces(steps: Steps, last: float) -> list[list[Point]]:
    """The corners of the pieces of a line, each while there is a score; the last one goes on to the right end."""
    pieces: list[list[Point]] = []
    before: float | None = None
    for when, score in [*((when.timestamp(), score) for when, score in steps), (last, None)]:
        if score is not None:
            pieces += [[]] if before is None else []
            pieces[-1].append((when, score))
        elif before is not None:
            pieces[-1].append((when, before))
        before = score
    return pieces


def _mark_times(panel: Panel, ticks: Sequence[Tick]) -> None:
    """Add ticks below the panel."""
    top, low, at = panel.y_at(panel.height), panel.y_at(panel.height + 5), panel.y_at(panel.height + 15)
    panel.rules([(x, top, x, low) for x, _ in ticks], REFERENCE)
    panel.texts([(x, at, text) for x, text in ticks], SOFT, "middle", SMALL)


def _name_leads(panel: Panel, led: Sequence[tuple[str, Lead]], decimals: int, *, is_wide: bool) -> None:
    """Mark each change of the lead with a dot, and name as many leaders as there is room for, the last one first."""
    panel.dots([(lead.since.timestamp(), lead.score) for _, lead in led], 4.5, ACCENT, PAPER, strokeWidth=1.5)
    longest = sorted(led[:-1], key=lambda item: (-item[1].duration, item[1].since))
    taken: list[tuple[float, float, float]] = []
    labels: dict[Anchor, list[tuple[float, float, Label]]] = {"start": [], "end": []}
    for name, lead in [*led[-1:], *longest[:LEADS]]:
        x, y = panel.pixels(lead.since.timestamp(), lead.score)
        note = number(lead.score, decimals) + (f", {day_and_month(lead.since)}" if is_wide else "")
        label = fitted(name, 160 if is_wide else 90, note=note, halo=True)
        wide = 4 + BOLD * text_width(f"{label.shown} {note}")
        anchor: Anchor = "start" if x + wide <= panel.width else "end"
        left, right = (x + 4, x + wide) if anchor == "start" else (x - wide, x - 4)
        y -= 12
        is_free = all(right < other[0] or other[1] < left or abs(y - other[2]) >= LINE for other in taken)
        if left >= -panel.left and is_free:
            taken.append((left, right, y))
            labels[anchor].append((panel.x_at(left if anchor == "start" else right), panel.y_at(y), label))
    for side, texts in labels.items():
        panel.texts(texts, anchor=side, fontWeight=700)


# Who led, and since when


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
