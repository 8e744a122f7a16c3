"""Interpolated precision at eleven levels of recall."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from scorer.charts.curves import Curve, curves_panel, described, first_curves
from scorer.charts.panel import WIDTH, Panel
from scorer.charts.svg import Cache, Svg, svg

RECALLS = tuple(level / 10 for level in range(11))
"""The levels of recall: 0, 0.1, ..., 1."""


def precision_recall(curves: Sequence[Curve], *, width: float = WIDTH, cache: Cache | None = None) -> Svg:
    """Draw the mean interpolated precision at each of `RECALLS`; the names are on the left, where lines differ most."""
    return svg(
        partial(_panel, first_curves(curves), sum(1 for curve in curves if not curve.is_baseline), width),
        "Interpolated precision at eleven levels of recall",
        described(curves, RECALLS, "recall"),
        cache,
    )


def _panel(curves: Sequence[Curve], count: int, width: float) -> Panel:
    ticks = [(level, f"{level:g}") for level in RECALLS[::2]]
    return curves_panel(curves, count, RECALLS, ticks, "recall", width, labels_left=True)
