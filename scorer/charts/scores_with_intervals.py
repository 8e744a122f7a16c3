"""The score of each team with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from scorer.charts.labels import spoken
from scorer.charts.panel import ACCENT, INK, INTERVAL, PAPER, REFERENCE, ROWS, SOFT, WIDTH, Panel, first_of, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import number, score_ticks


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score and what is known about it."""

    name: str
    mean: float | None
    low: float | None = None
    high: float | None = None
    """The ends of the interval; None without one."""
    is_baseline: bool = False


def scores_with_intervals(rows: Sequence[ScoreRow], measure: str, decimals: int = 4, *, width: float = WIDTH) -> Chart:
    """Draw each mean as a dot on the bar of its interval, one row a team, in the order of the board.

    Baselines have an open dot and a thin line.
    """
    shown = tuple(rows[:ROWS])
    return Chart(
        partial(_panel, shown, len(rows), decimals, width),
        f"{measure} of each team with its 95 % interval",
        _description(rows, decimals),
    )


def _description(rows: Sequence[ScoreRow], decimals: int) -> str:
    scored = [
        f"{spoken(row.name)} with {_with_interval(row, row.mean, decimals)}"
        for row in rows
        if not row.is_baseline and row.mean is not None
    ]
    if not scored:
        return "No team has a score."
    words = f"First in the order of the board: {scored[0]}"
    words += f"; then {scored[1]}" if len(scored) > 2 else ""
    words += f"; last: {scored[-1]}" if len(scored) > 1 else ""
    return " ".join([f"{words}. In brackets: 95 % intervals.", *first_of(ROWS, len(rows), "rows")])


def _with_interval(row: ScoreRow, mean: float, decimals: int) -> str:
    if row.low is None or row.high is None:
        return number(mean, decimals)
    return f"{number(mean, decimals)} ({number(row.low, decimals)} to {number(row.high, decimals)})"


def _panel(rows: Sequence[ScoreRow], count: int, decimals: int, width: float) -> Panel:
    ends = [value for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    ticks = score_ticks(min(ends, default=0.0), max(ends, default=1.0), 5)
    quiet = {place for place, row in enumerate(rows) if row.is_baseline}
    panel = row_panel(
        [row.name for row in rows], ticks, width, count=count, what="rows", right=14 + 7.7 * (decimals + 2), quiet=quiet
    )
    means = [(row.mean, float(place), place in quiet) for place, row in enumerate(rows) if row.mean is not None]
    intervals = [
        (row.low, float(place), row.high, float(place), place in quiet)
        for place, row in enumerate(rows)
        if row.low is not None and row.high is not None
    ]
    panel.rules([(x, panel.y[0], x, panel.y[1]) for x, _, is_quiet in means if is_quiet], REFERENCE, 1, (1, 3))
    panel.rules([ends[:4] for ends in intervals if not ends[4]], INTERVAL, 6)
    panel.rules([ends[:4] for ends in intervals if ends[4]], SOFT, 2)
    panel.dots([mean[:2] for mean in means if not mean[2]], 5, ACCENT, PAPER, strokeWidth=1.5)
    panel.dots([mean[:2] for mean in means if mean[2]], 4, PAPER, SOFT, strokeWidth=1.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, y, number(x, decimals)) for x, y, is_quiet in means if not is_quiet], INK, "end")
    panel.texts([(at, y, number(x, decimals)) for x, y, is_quiet in means if is_quiet], SOFT, "end")
    return panel
