"""How stable the ranking is: the agreement of resampled rankings with the full one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from scorer.charts.labels import SMALL, spoken
from scorer.charts.panel import INK, INTERVAL, PAPER, SOFT, WIDTH, Panel, Point, first_of, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import number, ticks

MOST = 20
"""The number of tasks that a chart has at most."""

BINS = 50
"""The number of parts of the axis, from -1, 0 or 0.5 to 1, in each of which the rankings are counted."""

ROW = 56
"""The height of a row in pixels."""

Quartiles = tuple[float, float, float]


def tau_violin(tasks: Sequence[str], taus: Sequence[ArrayLike], *, width: float = WIDTH) -> Chart:
    """Draw the distribution of Kendall's tau for each task, symmetric to its row, with the quartiles as a box.

    `taus` has, for each task, tau of the ranking of each resample and that of the full data; NaN where undefined. As
    tau is a step function of few teams, the outline is a histogram rather than a smooth density.
    """
    defined = [values[~np.isnan(values)] for values in (np.asarray(task, dtype=np.float64) for task in taus)]
    lowest = min((float(values.min()) for values in defined if values.size), default=0.0)
    low = next(end for end in (0.5, 0.0, -1.0) if lowest >= end)
    shapes = [
        (np.histogram(np.clip(values, low, 1.0), BINS, (low, 1.0))[0] / max(1, values.size)).tolist()
        for values in defined[:MOST]
    ]
    quartiles: list[Quartiles | None] = [
        tuple(np.quantile(values, (0.25, 0.5, 0.75)).tolist()) if values.size else None for values in defined
    ]
    drawing = partial(_panel, tuple(tasks[:MOST]), len(tasks), shapes, quartiles[:MOST], low, width)
    return Chart(
        drawing,
        "Agreement of the rankings of resamples with the ranking of the full data, by Kendall’s tau",
        _description(tasks, quartiles),
    )


def _description(tasks: Sequence[str], quartiles: Sequence[Quartiles | None]) -> str:
    defined = [(quarters[1], quarters, task) for task, quarters in zip(tasks, quartiles, strict=True) if quarters]
    if not defined:
        return "Kendall’s tau is undefined."
    least, most = min(defined)[1:], max(defined)[1:]
    if len(defined) == 1:
        return f"{_quartiles(least[0])}; it is 1 for equal rankings."
    words = f"{_quartiles(most[0])} in {spoken(most[1])}. {_quartiles(least[0])} in {spoken(least[1])}."
    return " ".join([words, *first_of(MOST, len(tasks), "tasks")])


def _quartiles(quartiles: Quartiles) -> str:
    first, median, third = (number(value, 2) for value in quartiles)
    return f"Tau has a median of {median} and quartiles of {first} and {third}"


def _panel(
    tasks: Sequence[str],
    count: int,
    shapes: Sequence[Sequence[float]],
    quartiles: Sequence[Quartiles | None],
    low: float,
    width: float,
) -> Panel:
    panel = row_panel(tasks, ticks(low, 1.0), width, count=count, what="tasks", row=ROW, right=88)
    step = (1.0 - low) / BINS
    outlines = []
    for place, shape in enumerate(shapes):
        if tallest := max(shape):
            half = [(low + step * edge, 0.44 * share / tallest) for edge, share in _edges(shape)]
            above: list[Point] = [(x, place - y) for x, y in half]
            outlines.append([*above, *((x, place + y) for x, y in reversed(half))])
    panel.lines(outlines, INTERVAL, fill=INTERVAL, fillOpacity=0.35)
    boxes = [(float(place), quarters) for place, quarters in enumerate(quartiles) if quarters]
    panel.boxes([(first, y - 0.07, third, y + 0.07) for y, (first, _, third) in boxes], PAPER, INK)
    panel.rules([(median, y - 0.16, median, y + 0.16) for y, (_, median, _) in boxes], INK, 2.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, y, f"median {number(median, 2)}") for y, (_, median, _) in boxes], SOFT, "end", SMALL)
    return panel


def _edges(shape: Sequence[float]) -> list[tuple[int, float]]:
    """The corners of a histogram, without the empty bins at its ends."""
    filled = [place for place, share in enumerate(shape) if share]
    return [(edge, shape[place]) for place in range(filled[0], filled[-1] + 1) for edge in (place, place + 1)]
