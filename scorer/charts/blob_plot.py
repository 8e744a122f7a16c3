"""How often each team has each rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from scorer.charts.labels import spoken
from scorer.charts.panel import DOTTED, INK, INTERVAL, REFERENCE, ROWS, WIDTH, Panel, first_of, row_panel
from scorer.charts.svg import Chart
from scorer.charts.ticks import rank_ticks

ROW = 22
"""The height of a row in pixels."""

BLOBS = 900
"""The number of blobs that a chart has at most; the smallest ones are left out."""


def blob_plot(
    names: Sequence[str],
    shares: ArrayLike,
    quantiles: Sequence[tuple[float, float, float]],
    ranks: Sequence[int],
    *,
    width: float = WIDTH,
) -> Chart:
    """Draw how often each team has each rank, a cross at the median and a line from the 2.5 to the 97.5 % quantile.

    The best team is at the top and rank 1 on the left, as on the board. The area of a blob is the share of the
    resamples in which the team has the rank, so the blobs of every team have the same area together. A dotted line
    joins the `ranks` of the full data, [team]. `shares` is [team, rank from 1], `quantiles` is [team, 3]. Source:
    Wiesenfarth et al. 2021.
    """
    count, shares = len(names), np.asarray(shares, dtype=np.float64)
    blobs = [
        (share, place, rank)
        for place, row in enumerate(shares[:ROWS].tolist())
        for rank, share in enumerate(row, start=1)
        if share > 0
    ]
    kept = sorted(sorted(blobs, key=lambda blob: (-blob[0], *blob[1:]))[:BLOBS], key=lambda blob: blob[1:])
    drawing = partial(
        _panel,
        tuple(names[:ROWS]),
        count,
        kept,
        quantiles[:ROWS],
        list(ranks[:ROWS]),
        width,
    )
    return Chart(
        drawing, "Ranks of each team in the resamples", _description(names, [row[0] for row in shares], quantiles)
    )


def _description(
    names: Sequence[str],
    best: Sequence[float],
    quantiles: Sequence[tuple[float, float, float]],
) -> str:
    """`best` is how often each team is first, [team]."""
    if not names:
        return "No team has a rank."
    firsts = sorted(((-share, place) for place, share in enumerate(best) if share > 0))[:3]
    parts = [f"{spoken(names[place])} is first in {_percent(-share)}" for share, place in firsts]
    spans = [high - low for low, _, high in quantiles]
    widest = max(range(len(names)), key=spans.__getitem__)
    low, high = (f"{rank:.1f}".removesuffix(".0") for rank in quantiles[widest][::2])
    words = f"Of the resamples, {', '.join(parts)}."
    if low != high:
        words += f" The rank of {spoken(names[widest])} varies most, from {low} to {high} in 95 % of them."
    return " ".join([words, *first_of(ROWS, len(names))])


def _percent(share: float) -> str:
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"


def _panel(
    names: Sequence[str],
    count: int,
    blobs: Sequence[tuple[float, int, int]],
    quantiles: Sequence[tuple[float, float, float]],
    ranks: Sequence[int],
    width: float,
) -> Panel:
    last = max([2, *(rank for _, _, rank in blobs), *ranks, *(math.ceil(high) for _, _, high in quantiles)])
    panel = row_panel(names, rank_ticks(last), width, count=count, row=ROW, ends=(0.4, last + 0.6))
    # The largest blob fills its row, unless ranks are so close that it would cover its neighbours.
    largest = max((share for share, _, _ in blobs), default=1.0)
    widest = min(ROW / 2, max(3.0, 0.9 * panel.width / (last + 0.2))) / math.sqrt(largest)
    panel.lines([[(float(rank), float(place)) for place, rank in enumerate(ranks)]], REFERENCE, strokeDash=DOTTED)
    panel.rules([(low, place, high, place) for place, (low, _, high) in enumerate(quantiles) if high > low], INK)
    panel.blobs([(rank, place, widest * math.sqrt(share)) for share, place, rank in blobs], INTERVAL, fillOpacity=0.75)
    across, down = panel.x_at(3.5) - panel.x_at(0), panel.y_at(3.5) - panel.y_at(0)
    middles = [(median, float(place)) for place, (_, median, _) in enumerate(quantiles)]
    panel.rules([(x - across, y - down, x + across, y + down) for x, y in middles], INK, 1.5)
    panel.rules([(x - across, y + down, x + across, y - down) for x, y in middles], INK, 1.5)
    return panel
