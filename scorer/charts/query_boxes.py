"""How the scores of each team are distributed over the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer.charts.labels import SMALL, spoken
from scorer.charts.panel import ACCENT, INK, INTERVAL, PAPER, SOFT, WIDTH, Panel
from scorer.charts.rows import MOST, first_of, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import number, score_ticks
from scorer.wording import counted

DOTS = 600
"""The number of dots that a chart has at most."""

ROW = 24
"""The height of a row in pixels."""

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Summary:
    """The distribution of the scores of a team."""

    low: float
    """The end of the whisker: the lowest score within 1.5 interquartile ranges of the box."""
    first: float
    median: float
    third: float
    high: float
    mean: float
    dots: tuple[float, ...]
    """All scores, or as many of their quantiles as the chart has room for."""


def query_boxes(
    names: Sequence[str],
    scores: NDArray[np.float64],
    measure: str,
    *,
    width: float = WIDTH,
) -> Chart:
    """Draw the `scores`, [team, query], of each team as dots under a box plot with the mean as a larger dot.

    The box goes from the first to the third quartile with a line at the median; the whiskers end at the last score
    within 1.5 interquartile ranges. The height of a dot in its row has no meaning. Scores may be NaN.
    """
    room = DOTS // max(1, min(len(names), MOST))
    summaries = [_summary(row[~np.isnan(row)], room) for row in scores[:MOST]]
    most = max((int((~np.isnan(row)).sum()) for row in scores[:MOST]), default=0)
    drawing = partial(_panel, tuple(names[:MOST]), len(names), summaries, most > room, width)
    description = _description(names, summaries, scores)
    return Chart(drawing, f"{measure} of each query, for each team", description)


def _summary(scores: NDArray[np.float64], room: int) -> Summary | None:
    if not scores.size:
        return None
    ordered = np.sort(scores)
    first, median, third = np.quantile(ordered, (0.25, 0.5, 0.75)).tolist()
    reach = 1.5 * (third - first)
    inside = ordered[(ordered >= first - reach) & (ordered <= third + reach)]
    places = np.arange(ordered.size)
    if ordered.size > room:
        places = ((np.arange(room) + 0.5) * ordered.size / room).astype(np.int64)
    dots = tuple(ordered[places].tolist())
    return Summary(float(inside[0]), first, median, third, float(inside[-1]), float(ordered.mean()), dots)


def _description(names: Sequence[str], summaries: Sequence[Summary | None], scores: NDArray[np.float64]) -> str:
    found = [(name, each) for name, each in zip(names, summaries, strict=False) if each is not None]
    if not found:
        return "No query has a score."
    name, best = found[0]
    words = (
        f"Over {counted(scores.shape[1], 'query', 'queries')}, half of the scores of {spoken(name)} are from "
        f"{number(best.first, 3)} to {number(best.third, 3)}, with the median at {number(best.median, 3)}."
    )
    defined = scores[~np.isnan(scores)]
    words += f" Of all scores of all teams, {100 * float((defined == 0).mean()):.0f} % are 0."
    return " ".join([words, *first_of(MOST, len(names))])


def _panel(
    names: Sequence[str], count: int, summaries: Sequence[Summary | None], is_sampled: bool, width: float
) -> Panel:
    found = [(float(place), each) for place, each in enumerate(summaries) if each is not None]
    values = [value for _, each in found for value in (each.dots[0], each.low, each.high, each.dots[-1])]
    ticks = score_ticks(min(values, default=0.0), max(values, default=1.0))
    panel = row_panel(names, ticks, width, count=count, row=ROW, right=14)
    if is_sampled:
        panel.bottom += 18
        note = "The dots of a team are quantiles of its scores."
        at = panel.height + panel.bottom - 10
        panel.texts([(panel.x_at(-panel.left), panel.y_at(at), note)], SOFT, size=SMALL)
    dots = [
        (value, place + 0.7 * ((GOLDEN * (order + 1)) % 1 - 0.5))
        for place, each in found
        for order, value in enumerate(each.dots)
    ]
    panel.dots(dots, 1.6, INTERVAL, fillOpacity=0.55)
    panel.rules([(each.low, y, each.first, y) for y, each in found if each.low < each.first], INK)
    panel.rules([(each.third, y, each.high, y) for y, each in found if each.high > each.third], INK)
    panel.boxes([(each.first, y - 0.26, each.third, y + 0.26) for y, each in found], "none", INK)
    panel.rules([(each.median, y - 0.26, each.median, y + 0.26) for y, each in found], INK, 2.5)
    panel.dots([(each.mean, y) for y, each in found], 4.5, ACCENT, PAPER, strokeWidth=1.5)
    return panel
