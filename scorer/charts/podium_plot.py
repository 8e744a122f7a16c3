"""The rank that each team has in each query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer.charts.labels import SMALL, fitted, spoken
from scorer.charts.panel import ACCENT, HAIR, INTERVAL, SOFT, WIDTH, Panel, below, first_of
from scorer.charts.svg import Chart
from scorer.charts.ticks import score_ticks
from scorer.wording import counted

MOST = 10
"""The number of teams that a chart has at most."""

COLUMN = 8.0
"""The width of a column in pixels at least. There are as many columns as the square of the number of teams."""

QUERIES = 60
"""The number of queries that are drawn at most."""

UPPER, GAP, LOWER = 190.0, 16.0, 70.0
"""The heights of the scores, of the space below them, and of the bars."""


def podium_plot(
    names: Sequence[str],
    scores: NDArray[np.float64],
    measure: str,
    *,
    smaller_is_better: bool = False,
    width: float = WIDTH,
) -> Chart:
    """Draw the `scores`, [team, query], by the rank that they have in their query, joined by a line for each query.

    There is one podium for each rank; in a podium each team has a column, in the order of the board. Bars below count
    the queries in which the team has the rank. A tie of n teams counts as 1/n for each of the n ranks, and the dots of
    a tie take its ranks in turn. Queries in which a team of the chart has no score, NaN, are left out. Source: Eugster,
    Hothorn and Leisch 2008; Wiesenfarth et al. 2021.
    """
    most = max(2, min(MOST, int((width / COLUMN) ** 0.5)))
    shown = scores[:most]
    complete = shown[:, ~np.isnan(shown).any(axis=0)]
    better = -complete if smaller_is_better else complete
    ranks, counts = _ranks(better)
    queries = complete.shape[1]
    places = sorted(set(np.linspace(0, queries - 1, min(queries, QUERIES)).round().astype(np.int64).tolist()))
    drawn = [
        [(int(ranks[team, query]), team, float(complete[team, query])) for team in np.argsort(ranks[:, query]).tolist()]
        for query in places
    ]
    title = f"{measure} and rank of each team in each query"
    description = _description(names, counts, queries)
    drawing = partial(_panel, tuple(names[:most]), len(names), counts.tolist(), drawn, queries, width)
    return Chart(drawing, title, description)


def _ranks(better: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """[team, query]: the rank of each score in its query, from 0, with ties in turn; and [team, rank]: in how many
    queries each team has each rank.
    """
    teams, queries = better.shape
    above = (better[None, :, :] > better[:, None, :]).sum(axis=1)
    equal = (better[None, :, :] == better[:, None, :]).sum(axis=1)
    counts = np.zeros((teams, teams))
    for rank in range(teams):
        counts[:, rank] = np.where((above <= rank) & (rank < above + equal), 1 / equal, 0.0).sum(axis=1)
    turn = (np.arange(teams)[:, None] + np.arange(queries)[None, :]) % max(1, teams)
    ranks = np.lexsort((turn, -better), axis=0).argsort(axis=0)
    return ranks.astype(np.int64), counts


def _description(names: Sequence[str], counts: NDArray[np.float64], queries: int) -> str:
    if not queries or not names:
        return "No query has a score of every team."
    best = np.argsort(-counts[:, 0], kind="stable")[:2].tolist()
    shares = [f"{spoken(names[team])} is first in {100 * counts[team, 0] / queries:.0f} %" for team in best]
    words = f"Of {counted(queries, 'query', 'queries')}, {', '.join(shares)}; ties are shared."
    return " ".join([words, *first_of(len(counts), len(names))])


def _panel(
    names: Sequence[str],
    count: int,
    counts: Sequence[Sequence[float]],
    drawn: Sequence[Sequence[tuple[int, int, float]]],
    queries: int,
    width: float,
) -> Panel:
    teams = max(1, len(names))
    scores = [score for line in drawn for _, _, score in line]
    ticks = score_ticks(min(scores, default=0.0), max(scores, default=1.0), 5)
    low, high = ticks[0][0], ticks[-1][0]
    keys = [fitted(f"{place + 1} {name}", width / 2 - 10) for place, name in enumerate(names)]
    notes = [f"Dots: {counted(len(drawn), 'query', 'queries')} of {queries:,}."] if queries > len(drawn) else []
    notes += first_of(len(names), count)
    left, right = 40.0, 10.0
    total = UPPER + GAP + LOWER
    panel = Panel(
        x=(-0.5, teams * (teams + 1) - 1.5),
        y=(low - (high - low) * (GAP + LOWER) / UPPER, high),
        width=width - left - right,
        height=total,
        left=left,
        right=right,
        top=26,
        bottom=24 + 16 * ((len(keys) + 1) // 2) + 18 * bool(notes),
    )
    edges = [place * (teams + 1) - 1 for place in range(1, teams)]
    panel.grid_down(ticks)
    panel.rules([(edge, panel.y[0], edge, high) for edge in edges], HAIR)
    middle = (teams - 1) / 2
    panel.texts(
        [
            (
                rank * (teams + 1) + middle,
                panel.y_at(-10),
                f"rank {rank + 1}" if teams < 6 or not rank else str(rank + 1),
            )
            for rank in range(teams)
        ],
        SOFT,
        "middle",
        SMALL,
    )
    lines = [[(float(rank * (teams + 1) + team), score) for rank, team, score in line] for line in drawn]
    panel.lines(lines, HAIR, 0.75)
    first = [point for line in lines for point in line if point[0] < teams]
    panel.dots([point for line in lines for point in line if point[0] >= teams], 1.8, INTERVAL, fillOpacity=0.8)
    panel.dots(first, 1.8, ACCENT)
    _bars(panel, counts, queries)
    at = panel.y_at(total + 9)
    panel.texts(
        [(rank * (teams + 1) + team, at, str(team + 1)) for rank in range(teams) for team in range(len(names))],
        SOFT,
        "middle",
        min(9.0, 1.6 * panel.width / (teams * (teams + 1))),
    )
    panel.texts(
        [
            (panel.x_at(-left + (width / 2) * (place % 2)), panel.y_at(total + 28 + 16 * (place // 2)), key)
            for place, key in enumerate(keys)
        ],
        SOFT,
        size=SMALL,
    )
    below(panel, [" ".join(notes)] if notes else [])
    return panel


def _bars(panel: Panel, counts: Sequence[Sequence[float]], queries: int) -> None:
    """Add the number of queries in which each team has each rank, as bars below the scores."""
    teams, base = len(counts), panel.y[0]
    tallest = max((max(row) for row in counts if row), default=0.0)
    if not tallest:
        return
    unit = (panel.y_at(UPPER + GAP) - base) / tallest
    bars = [
        (rank * (teams + 1) + team - 0.4, base, rank * (teams + 1) + team + 0.4, base + unit * queries_with_rank)
        for team, row in enumerate(counts)
        for rank, queries_with_rank in enumerate(row)
        if queries_with_rank
    ]
    panel.boxes(bars, INTERVAL)
    panel.rules([(panel.x[0], base, panel.x[1], base)], SOFT)
    edge = panel.x_at(-6)
    panel.texts(
        [(edge, base + unit * tallest, f"{100 * tallest / queries:.0f} %"), (edge, base, "0")], SOFT, "end", SMALL
    )
