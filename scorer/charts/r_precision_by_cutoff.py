"""R-precision at each cut-off z."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from scorer.charts.curves import Curve, curves_panel, described, first_curves
from scorer.charts.panel import WIDTH, Panel
from scorer.charts.svg import Cache, Svg, svg

TICKS = 12
"""The number of cut-offs that have a number on the axis at most."""


def r_precision_by_cutoff(
    curves: Sequence[Curve], cutoffs: Sequence[int], *, width: float = WIDTH, cache: Cache | None = None
) -> Svg:
    """Draw the mean R-precision Rp@z at each cut-off z, ascending."""
    return svg(
        partial(
            _panel, first_curves(curves), sum(1 for curve in curves if not curve.is_baseline), tuple(cutoffs), width
        ),
        "R-precision Rp@z at each cut-off z",
        described(curves, cutoffs, "z ="),
        cache,
    )


def _panel(curves: Sequence[Curve], count: int, cutoffs: Sequence[int], width: float) -> Panel:
    step = -(-len(cutoffs) // TICKS)
    ticks = [(float(cutoff), str(cutoff)) for cutoff in cutoffs[::step]]
    return curves_panel(curves, count, cutoffs, ticks, "cut-off z", width)
