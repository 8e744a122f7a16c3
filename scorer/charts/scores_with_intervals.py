"""The score of each team with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from scorer.charts.labels import spoken
from scorer.charts.panel import ACCENT, INK, INTERVAL, PAPER, ROWS, WIDTH, Panel, first_of, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import number, score_ticks

Intervals = Sequence[tuple[float, float]]


def scores_with_intervals(
    names: Sequence[str],
    means: Sequence[float],
    intervals: Intervals,
    measure: str,
    decimals: int = 4,
    *,
    width: float = WIDTH,
) -> Chart:
    """Draw each mean as a dot on the bar of its interval, one row a team, in the order of the board.

    The ends of an interval are NaN where it is undefined.
    """
    return Chart(
        partial(_panel, tuple(names[:ROWS]), means[:ROWS], intervals[:ROWS], len(names), decimals, width),
        f"{measure} of each team with its 95 % interval",
        _description(names, means, intervals, decimals),
    )


def _description(names: Sequence[str], means: Sequence[float], intervals: Intervals, decimals: int) -> str:
    if not names:
        return "No team has a score."
    scores = [
        f"{spoken(name)} with {number(mean, decimals)}"
        + ("" if math.isnan(low) else f" ({number(low, decimals)} to {number(high, decimals)})")
        for name, mean, (low, high) in zip(names, means, intervals, strict=True)
    ]
    words = f"First in the order of the board: {scores[0]}"
    words += f"; then {scores[1]}" if len(scores) > 2 else ""
    words += f"; last: {scores[-1]}" if len(scores) > 1 else ""
    return " ".join([f"{words}. In brackets: 95 % intervals.", *first_of(ROWS, len(names), "rows")])


def _panel(
    names: Sequence[str], means: Sequence[float], intervals: Intervals, count: int, decimals: int, width: float
) -> Panel:
    bars = [(low, float(place), high, float(place)) for place, (low, high) in enumerate(intervals) if low <= high]
    ends = [*means, *(end for low, _, high, _ in bars for end in (low, high))]
    ticks = score_ticks(min(ends, default=0.0), max(ends, default=1.0), 5)
    panel = row_panel(names, ticks, width, count=count, what="rows", right=14 + 7.7 * (decimals + 2))
    panel.rules(bars, INTERVAL, 6)
    panel.dots([(mean, float(place)) for place, mean in enumerate(means)], 5, ACCENT, PAPER, strokeWidth=1.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, float(place), number(mean, decimals)) for place, mean in enumerate(means)], INK, "end")
    return panel
