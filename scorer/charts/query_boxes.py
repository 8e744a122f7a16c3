"""How the scores of each team are distributed over the queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer.charts.labels import SMALL, spoken
from scorer.charts.panel import ACCENT, INK, INTERVAL, PAPER, ROWS, SOFT, WIDTH, Panel, first_of, row_panel
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


def query_boxes(names: Sequence[str], scores: NDArray[np.float64], measure: str, *, width: float = WIDTH) -> Chart:
    """Draw the `scores`, [team, query], of each team as dots under a box plot with the mean as a larger dot.

    The box goes from the first to the third quartile with a line at the median; the whiskers end at the last score
    within 1.5 interquartile ranges. The height of a dot in its row has no meaning. Scores may be NaN.
    """
    room = DOTS // max(1, min(len(names), ROWS))
    summaries = [_summary(row[~np.isnan(row)], room) for row in scores[:ROWS]]
    most = max((int((~np.isnan(row)).sum()) for row in scores[:ROWS]), default=0)
    drawing = partial(_panel, tuple(names[:ROWS]), len(names), summaries, most > room, width)
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
    summarised = [(name, summary) for name, summary in zip(names, summaries, strict=False) if summary is not None]
    if not summarised:
        return "No query has a score."
    name, best = summarised[0]
    words = (
        f"Over {counted(scores.shape[1], 'query', 'queries')}, half of the scores of {spoken(name)} are from "
        f"{number(best.first, 3)} to {number(best.third, 3)}, with the median at {number(best.median, 3)}."
    )
    zeros = np.count_nonzero(scores == 0) / np.count_nonzero(~np.isnan(scores))
    words += f" Of all scores of all teams, {100 * zeros:.0f} % are 0."
    return " ".join([words, *first_of(ROWS, len(names))])


def _panel(
    names: Sequence[str], count: int, summaries: Sequence[Summary | None], is_sampled: bool, width: float
) -> Panel:
    boxes = [(float(place), box) for place, box in enumerate(summaries) if box is not None]
    values = [value for _, box in boxes for value in (box.dots[0], box.low, box.high, box.dots[-1])]
    ticks = score_ticks(min(values, default=0.0), max(values, default=1.0))
    panel = row_panel(names, ticks, width, count=count, row=ROW, right=14)
    if is_sampled:
        panel.bottom += 18
        note = "The dots of a team are quantiles of its scores."
        at = panel.height + panel.bottom - 10
        panel.texts([(panel.x_at(-panel.left), panel.y_at(at), note)], SOFT, size=SMALL)
    dots = [
        (value, place + 0.7 * ((GOLDEN * (order + 1)) % 1 - 0.5))
        for place, box in boxes
        for order, value in enumerate(box.dots)
    ]
    panel.dots(dots, 1.6, INTERVAL, fillOpacity=0.55)
    panel.rules([(box.low, y, box.first, y) for y, box in boxes if box.low < box.first], INK)
    panel.rules([(box.third, y, box.high, y) for y, box in boxes if box.high > box.third], INK)
    panel.boxes([(box.first, y - 0.26, box.third, y + 0.26) for y, box in boxes], "none", INK)
    panel.rules([(box.median, y - 0.26, box.median, y + 0.26) for y, box in boxes], INK, 2.5)
    panel.dots([(box.mean, y) for y, box in boxes], 4.5, ACCENT, PAPER, strokeWidth=1.5)
    return panel
