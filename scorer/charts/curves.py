"""Precision over recall levels, and R-precision over cut-offs, as lines, one for each team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from scorer.board.curves import RECALLS
from scorer.charts.labels import LINE, SMALL, column_width, fitted, spoken
from scorer.charts.panel import (
    ACCENT,
    DOTTED,
    JOIN,
    PAPER,
    REFERENCE,
    SOFT,
    WIDTH,
    Panel,
    Point,
    below,
    end_labels,
    first_of,
)
from scorer.charts.svg import Chart
from scorer.charts.ticks import Tick, number, score_ticks

MOST = 10
"""The number of teams that a chart has at most."""

BASELINES = 4
"""The number of baselines that a chart has at most."""

TICKS = 12
"""The number of cut-offs that have a number on the axis at most."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of a team."""

    name: str
    values: tuple[float | None, ...]
    """One for each point of the x axis; None where undefined."""
    is_baseline: bool = False


def precision_recall(curves: Sequence[Curve]) -> Chart:
    """Draw the mean interpolated precision at each of `RECALLS`; the names are on the left, where lines differ most."""
    ticks = [(level, f"{level:g}") for level in RECALLS[::2]]
    return Chart(
        partial(_panel, _first_curves(curves), _teams(curves), RECALLS, ticks, "recall", labels_left=True),
        "Interpolated precision at eleven levels of recall",
        _description(curves, RECALLS, "recall"),
    )


def r_precision_by_cutoff(curves: Sequence[Curve], cutoffs: Sequence[int]) -> Chart:
    """Draw the mean R-precision Rp@z at each cut-off z, ascending."""
    step = -(-len(cutoffs) // TICKS)
    ticks = [(float(cutoff), str(cutoff)) for cutoff in cutoffs[::step]]
    return Chart(
        partial(_panel, _first_curves(curves), _teams(curves), tuple(cutoffs), ticks, "cut-off z"),
        "R-precision Rp@z at each cut-off z",
        _description(curves, cutoffs, "z ="),
    )


def _teams(curves: Sequence[Curve]) -> int:
    return sum(1 for curve in curves if not curve.is_baseline)


def _panel(
    curves: Sequence[Curve],
    count: int,
    across: Sequence[float],
    ticks: Sequence[Tick],
    axis: str,
    *,
    labels_left: bool = False,
) -> Panel:
    """Return a panel with a line for each curve: the first one is emphasised, those of baselines are dotted.

    The curves are in the order of the board, and `across` has the positions of their values on the x axis. A note says
    so if there are more teams, `count`, than `MOST`. Names may be on the left, where some lines are further apart.
    """
    values = [value for curve in curves for value in curve.values if value is not None]
    down = score_ticks(min(values, default=0.0), max(values, default=1.0))
    names = column_width([curve.name for curve in curves], WIDTH / 3) + JOIN + 8
    numbers = 34.0
    notes = first_of(MOST, count)
    left, right = (names, numbers) if labels_left else (numbers, names)
    ends = (min(across), max(across))
    panel = Panel(
        x=ends if ends[0] < ends[1] else (ends[0] - 1, ends[1] + 1),
        y=(down[0][0], down[-1][0]),
        width=WIDTH - left - right,
        height=max(200.0, LINE * len(curves)),
        left=left,
        right=right,
        top=10,
        bottom=44 + 16 * len(notes),
    )
    panel.grid_down(down, right=labels_left)
    panel.grid_across(ticks, top=False)
    panel.texts([(panel.x_at(panel.width / 2), panel.y_at(panel.height + 32), axis)], SOFT, "middle", SMALL)
    below(panel, notes)
    _draw(panel, curves, across)
    at = -1 if not labels_left else 0
    named = [(curve, defined[at]) for curve in curves if (defined := points(curve, across))]
    end_labels(
        panel,
        [(y, fitted(curve.name, names - JOIN - 8)) for curve, (_, y) in named],
        left=labels_left,
        quiet={place for place, (curve, _) in enumerate(named) if curve.is_baseline},
    )
    return panel


def points(curve: Curve, across: Sequence[float]) -> list[Point]:
    """Return the defined points of a curve."""
    return [(x, y) for x, y in zip(across, curve.values, strict=True) if y is not None]


def _draw(panel: Panel, curves: Sequence[Curve], across: Sequence[float]) -> None:
    lines = [(curve.is_baseline, place, points(curve, across)) for place, curve in enumerate(curves)]
    first = next((place for is_baseline, place, _ in lines if not is_baseline), -1)
    others = [line for is_baseline, place, line in lines if not is_baseline and place != first]
    panel.lines([line for is_baseline, _, line in lines if is_baseline], REFERENCE, strokeDash=DOTTED)
    panel.lines(others, REFERENCE)
    panel.dots([point for line in others for point in line], 2, PAPER, SOFT, strokeWidth=1)
    panel.lines([line for _, place, line in lines if place == first], ACCENT, 2.5)
    panel.dots([point for _, place, line in lines if place == first for point in line], 3, ACCENT)


def _description(curves: Sequence[Curve], across: Sequence[float], axis: str) -> str:
    """Return the text alternative of curves: the ends of the first one, and which is highest at either end."""
    teams = [(curve, line) for curve in curves if not curve.is_baseline and (line := points(curve, across))]
    if not teams:
        return "No team has a value."
    curve, line = teams[0]
    (start, first), (end, last) = line[0], line[-1]
    words = f"{spoken(curve.name)} goes from {number(first, 3)} at {axis} {start:g} to "
    words += f"{number(last, 3)} at {axis} {end:g}."
    if len(teams) > 1:
        leftmost = max(teams, key=lambda team: team[1][0][1])[0]
        rightmost = max(teams, key=lambda team: team[1][-1][1])[0]
        at_end = "and at the end" if rightmost is leftmost else f"{spoken(rightmost.name)} at the end"
        words += f" {spoken(leftmost.name)} is highest at the start{' ' if rightmost is leftmost else ', '}{at_end}."
    count = _teams(curves)
    return " ".join([words, *first_of(MOST, count)])


def _first_curves(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Return the curves that a chart has: the first teams, then the first baselines."""
    teams = [curve for curve in curves if not curve.is_baseline]
    return (*teams[:MOST], *[curve for curve in curves if curve.is_baseline][:BASELINES])
