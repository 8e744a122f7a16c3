"""How stable the ranking is: the agreement of resampled rankings with the full one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer.charts.labels import SMALL
from scorer.charts.panel import INK, INTERVAL, PAPER, SOFT, WIDTH, Panel, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import number, ticks

BINS = 50
"""The number of parts of the axis, from -1, 0 or 0.5 to 1, in each of which the rankings are counted."""

ROW = 56
"""The height of a row in pixels."""


def tau_violin(task: str, taus: NDArray[np.float64], *, width: float = WIDTH) -> Chart:
    """Draw the distribution of Kendall's tau, symmetric to its row, with the quartiles as a box.

    `taus` has tau of the ranking of each resample and that of the full data. As tau is a step function of few teams,
    the outline is a histogram rather than a smooth density.
    """
    lowest = float(taus.min()) if taus.size else 0.0
    low = next(end for end in (0.5, 0.0, -1.0) if lowest >= end)
    shape = (np.histogram(np.clip(taus, low, 1.0), BINS, (low, 1.0))[0] / max(1, taus.size)).tolist()
    quartiles = np.quantile(taus, (0.25, 0.5, 0.75)).tolist() if taus.size else None
    return Chart(
        partial(_panel, task, shape, quartiles, low, width),
        "Agreement of the rankings of resamples with the ranking of the full data, by Kendall’s tau",
        _description(quartiles),
    )


def _description(quartiles: Sequence[float] | None) -> str:
    if quartiles is None:
        return "Kendall’s tau is undefined."
    first, median, third = (number(value, 2) for value in quartiles)
    return f"Tau has a median of {median} and quartiles of {first} and {third}; it is 1 for equal rankings."


def _panel(task: str, shape: Sequence[float], quartiles: Sequence[float] | None, low: float, width: float) -> Panel:
    panel = row_panel([task], ticks(low, 1.0), width, row=ROW, right=88)
    if quartiles is None:
        return panel
    step, tallest = (1.0 - low) / BINS, max(shape)
    half = [(low + step * edge, 0.44 * share / tallest) for edge, share in _edges(shape)]
    outline = [*((x, -y) for x, y in half), *((x, y) for x, y in reversed(half))]
    panel.lines([outline], INTERVAL, fill=INTERVAL, fillOpacity=0.35)
    first, median, third = quartiles
    panel.boxes([(first, -0.07, third, 0.07)], PAPER, INK)
    panel.rules([(median, -0.16, median, 0.16)], INK, 2.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, 0.0, f"median {number(median, 2)}")], SOFT, "end", SMALL)
    return panel


def _edges(shape: Sequence[float]) -> list[tuple[int, float]]:
    """The corners of a histogram, without the empty bins at its ends."""
    filled = [place for place, share in enumerate(shape) if share]
    return [(edge, shape[place]) for place in range(filled[0], filled[-1] + 1) for edge in (place, place + 1)]
