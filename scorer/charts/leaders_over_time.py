"""The best score so far of each team over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from scorer.charts.labels import LINE, SMALL, Label, fitted, text_width
from scorer.charts.leads import History, Lead, Steps, best_so_far, leaders_sentence, leads
from scorer.charts.panel import ACCENT, DOTTED, HAIR, JOIN, PAPER, REFERENCE, SOFT, Anchor, Panel, Point, end_labels
from scorer.charts.rows import below, first_of
from scorer.charts.svg import Cache, Svg, svg
from scorer.charts.ticks import Tick, number, score_ticks, short_day, time_ticks
from scorer.wording import printable

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


@dataclass(frozen=True, slots=True)
class Line:
    """The line of a team or of a baseline."""

    name: str
    is_baseline: bool
    steps: Steps
    """Its best score so far, where it changes."""
    entries: Steps
    """The entries that have rings."""


Span = tuple[datetime, datetime]


def leaders_over_time(
    teams: Sequence[History],
    measure: str,
    *,
    until: datetime | None = None,
    decimals: int = 3,
    width: float = WIDE,
    cache: Cache | None = None,
) -> Svg:
    """Draw the best score so far of each team as steps, and the best of all as a thick line with its leaders' names.

    A ring is an entry; dotted lines are baselines. Names are at the right, moved apart. The teams are in the order of
    the board, with baselines anywhere. The time axis ends at `until`, or without it at the last entry.
    """
    scored = [team for team in teams if team.entries]
    ranked = [team for team in scored if not team.is_baseline]
    shown = [*ranked[:MOST], *[team for team in scored if team.is_baseline][:BASELINES]]
    times = [when for team in scored for when, _ in team.entries]
    has_rings = sum(len(team.entries) for team in shown) <= RINGS
    lines = tuple(
        Line(
            team.name,
            team.is_baseline,
            _thinned(best_so_far(team.entries), STEPS // len(shown)),
            team.entries if has_rings else (),
        )
        for team in shown
    )
    drawing = partial(
        _panel,
        lines,
        _thinned(best_so_far([entry for team in ranked for entry in team.entries]), STEPS),
        tuple((scored[lead.team].name, lead) for lead in leads(scored)),
        (min(times), max([*times, until] if until else times)) if times else None,
        len(ranked),
        decimals,
        width,
    )
    best = max((score for team in ranked for _, score in team.entries), default=None)
    description = leaders_sentence(scored)
    description += "" if best is None else f" The best {printable(measure)} is {number(best, decimals)}."
    description += f" {first_of(MOST, len(ranked))}" if len(ranked) > MOST else ""
    return svg(drawing, f"Best {measure} so far of each team over time", description, cache)


def _thinned(steps: Steps, most: int) -> Steps:
    """At most `most` of the steps, two at least, with the first and the last."""
    most = max(2, most)
    if len(steps) <= most:
        return steps
    return tuple(steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most))


def _panel(
    lines: Sequence[Line],
    best: Steps,
    led: Sequence[tuple[str, Lead]],
    span: Span | None,
    count: int,
    decimals: int,
    width: float,
) -> Panel:
    teams = [line for line in lines if not line.is_baseline]
    baselines = [line for line in lines if line.is_baseline]
    named = [*teams[:NAMED], *baselines]
    scores = [score for line in lines for _, score in line.steps]
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
        below(panel, [first_of(len(teams), count)])
    levels = [line.steps[-1][1] for line in baselines]
    panel.rules([(panel.x[0], y, panel.x[1], y) for y in levels], REFERENCE, 1, DOTTED)
    for some, stroke in ((teams[NAMED:], HAIR), (teams[:NAMED], REFERENCE)):
        panel.lines([_points(line.steps, last) for line in some], stroke, interpolate="step-after")
    rings = [(when.timestamp(), score) for line in teams for when, score in line.entries]
    panel.dots(rings, 2.5, PAPER, SOFT, strokeWidth=1)
    panel.lines([_points(best, last)] if best else [], ACCENT, 2.5, interpolate="step-after")
    _name_leads(panel, led, decimals, is_wide=is_wide)
    ends = []
    for line in named:
        score = line.steps[-1][1]
        text = number(score, decimals) if is_wide else ""
        ends.append((score, fitted(line.name, right - JOIN - 8 - note, note=text)))
    end_labels(panel, ends, quiet=range(len(named) - len(baselines), len(named)))
    return panel


def _points(steps: Steps, last: float) -> list[Point]:
    """The corners of a line, which goes on to the right end."""
    return [*((when.timestamp(), score) for when, score in steps), (last, steps[-1][1])]


def _mark_times(panel: Panel, ticks: Sequence[Tick]) -> None:
    """Add ticks below the panel."""
    top, low, at = panel.y_at(panel.height), panel.y_at(panel.height + 5), panel.y_at(panel.height + 15)
    panel.rules([(x, top, x, low) for x, _ in ticks], REFERENCE)
    panel.texts([(x, at, text) for x, text in ticks], SOFT, "middle", SMALL)


def _name_leads(panel: Panel, led: Sequence[tuple[str, Lead]], decimals: int, *, is_wide: bool) -> None:
    """Mark each change of the lead with a dot, and name as many leaders as there is room for, the last one first."""
    panel.dots([(lead.since.timestamp(), lead.score) for _, lead in led], 4.5, ACCENT, PAPER, strokeWidth=1.5)
    longest = sorted(led[:-1], key=lambda each: (each[1].since - (each[1].until or each[1].since), each[1].since))
    taken: list[tuple[float, float, float]] = []
    found: dict[Anchor, list[tuple[float, float, Label]]] = {"start": [], "end": []}
    for name, lead in [*led[-1:], *longest[:LEADS]]:
        x, y = panel.pixels(lead.since.timestamp(), lead.score)
        note = number(lead.score, decimals) + (f", {short_day(lead.since)}" if is_wide else "")
        label = fitted(name, 160 if is_wide else 90, note=note, halo=True)
        wide = 4 + BOLD * text_width(f"{label.shown} {note}")
        anchor: Anchor = "start" if x + wide <= panel.width else "end"
        left, right = (x + 4, x + wide) if anchor == "start" else (x - wide, x - 4)
        y -= 12
        is_free = all(right < other[0] or other[1] < left or abs(y - other[2]) >= LINE for other in taken)
        if left >= -panel.left and is_free:
            taken.append((left, right, y))
            found[anchor].append((panel.x_at(left if anchor == "start" else right), panel.y_at(y), label))
    for side, labels in found.items():
        panel.texts(labels, anchor=side, fontWeight=700)
