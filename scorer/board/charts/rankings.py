"""Charts of a ranking: ranks in queries and resamples, scores with intervals, ranking rules, and significant
differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorer.board.charts.panel import (
    ACCENT,
    BAND,
    DOTTED,
    HAIR,
    INK,
    INTERVAL,
    JOIN,
    LINE,
    PANEL_ROWS,
    PAPER,
    REFERENCE,
    REPORT_WIDTH,
    SMALL_TEXT,
    SOFT,
    Chart,
    Panel,
    Point,
    below,
    column_width,
    end_labels,
    first_of,
    fitted,
    number_text,
    rank_ticks,
    row_panel,
    score_ticks,
    wrapped,
)

BLOB_ROW = 22
"""The height of a row in pixels."""

BLOBS = 900
"""The number of blobs that a chart has at most; the smallest ones are left out."""


def blob_plot(
    names: Sequence[str],
    shares: ArrayLike,
    quantiles: Sequence[tuple[float, float, float]],
    ranks: Sequence[int],
    finding: str,
) -> Chart:
    """Draw how often each team has each rank, a cross at the median and a line from the 2.5 to the 97.5 % quantile.

    The best team is at the top and rank 1 on the left, as on the board. The area of a blob is the share of the
    resamples in which the team has the rank, so the blobs of every team have the same area together. A dotted line
    joins the `ranks` of the full data, [team]. `shares` is [team, rank from 1], `quantiles` is [team, 3]. Source:
    Wiesenfarth et al. 2021.
    """
    shares = np.asarray(shares, dtype=np.float64)
    blobs = [
        (share, place, rank)
        for place, row in enumerate(shares[:PANEL_ROWS].tolist())
        for rank, share in enumerate(row, start=1)
        if share > 0
    ]
    blobs = sorted(sorted(blobs, key=lambda blob: (-blob[0], *blob[1:]))[:BLOBS], key=lambda blob: blob[1:])
    quantiles, ranks = quantiles[:PANEL_ROWS], ranks[:PANEL_ROWS]
    last = max([2, *(rank for _, _, rank in blobs), *ranks, *(math.ceil(high) for _, _, high in quantiles)])
    panel = row_panel(names, rank_ticks(last), row=BLOB_ROW, ends=(0.4, last + 0.6))
    # The largest blob fills its row, unless ranks are so close that it would cover its neighbours.
    largest = max((share for share, _, _ in blobs), default=1.0)
    widest = min(BLOB_ROW / 2, max(3.0, 0.9 * panel.width / (last + 0.2))) / math.sqrt(largest)
    panel.lines([[(float(rank), float(place)) for place, rank in enumerate(ranks)]], REFERENCE, dash=DOTTED)
    panel.rules([(low, place, high, place) for place, (low, _, high) in enumerate(quantiles) if high > low], INK)
    for share, place, rank in blobs:
        panel.dots([(rank, place)], widest * math.sqrt(share), INTERVAL, fill_opacity=0.75)
    across, down = panel.x_at(3.5) - panel.x_at(0), panel.y_at(3.5) - panel.y_at(0)
    middles = [(median, float(place)) for place, (_, median, _) in enumerate(quantiles)]
    panel.rules([(x - across, y - down, x + across, y + down) for x, y in middles], INK, 1.5)
    panel.rules([(x - across, y + down, x + across, y - down) for x, y in middles], INK, 1.5)
    return Chart(panel, "Ranks of each team in the resamples", finding)


_DOTS = 600
"""The number of dots that a chart has at most."""

BOX_ROW = 24
"""The height of a row in pixels."""

GOLDEN = (5**0.5 - 1) / 2


def query_boxes(names: Sequence[str], scores: NDArray[np.float64], measure: str, finding: str) -> Chart:
    """Draw the `scores`, [team, query], of each team as dots under a box plot with the mean as a larger dot.

    The box goes from the first to the third quartile with a line at the median; the whiskers end at the last score
    within 1.5 interquartile ranges. The height of a dot in its row has no meaning. Scores may be NaN.
    """
    room = _DOTS // max(1, min(len(names), PANEL_ROWS))
    rows = {float(place): np.sort(row[~np.isnan(row)]) for place, row in enumerate(scores[:PANEL_ROWS])}
    rows = {place: row for place, row in rows.items() if row.size}
    values = [value for row in rows.values() for value in (row[0], row[-1])]
    ticks = score_ticks(min(values, default=0.0), max(values, default=1.0))
    panel = row_panel(names, ticks, row=BOX_ROW, right=14)
    if any(row.size > room for row in rows.values()):
        panel.bottom += 18
        note = "The dots of a team are quantiles of its scores."
        at = panel.height + panel.bottom - 10
        panel.texts([(panel.x_at(-panel.left), panel.y_at(at), note)], SOFT, size=SMALL_TEXT)
    dots: list[Point] = []
    boxes = []
    for place, row in rows.items():
        shown = row[((np.arange(room) + 0.5) * row.size / room).astype(np.int64)] if row.size > room else row
        dots += [(x, place + 0.7 * ((GOLDEN * (order + 1)) % 1 - 0.5)) for order, x in enumerate(shown.tolist())]
        first, median, third = np.quantile(row, (0.25, 0.5, 0.75)).tolist()
        reach = 1.5 * (third - first)
        inside = row[(row >= first - reach) & (row <= third + reach)].tolist()
        boxes.append((place, inside[0], first, median, third, inside[-1], float(row.mean())))
    panel.dots(dots, 1.6, INTERVAL, fill_opacity=0.55)
    panel.rules([(low, y, first, y) for y, low, first, *_ in boxes if low < first], INK)
    panel.rules([(third, y, high, y) for y, *_, third, high, _ in boxes if high > third], INK)
    panel.boxes([(first, y - 0.26, third, y + 0.26) for y, _, first, _, third, *_ in boxes], "none", INK)
    panel.rules([(median, y - 0.26, median, y + 0.26) for y, _, _, median, *_ in boxes], INK, 2.5)
    panel.dots([(mean, y) for y, *_, mean in boxes], 4.5, ACCENT, PAPER, stroke_width=1.5)
    return Chart(panel, f"{measure} of each query, for each team", finding)


RANK_ROW = 20
"""The height of a rank in pixels."""


def ranking_rules(names: Sequence[str], ranks: Mapping[str, Sequence[int]], finding: str) -> Chart:
    """Draw the ranks of the teams, by the name of each rule, as one line for each team; rank 1 is at the top.

    Lines of teams whose rank changes are darker.
    """
    notes, names = first_of(PANEL_ROWS, len(names)), names[:PANEL_ROWS]
    lines = [[row[place] for row in ranks.values()] for place in range(len(names))]
    last = max((rank for line in lines for rank in line), default=1)
    left, right = column_width(names, REPORT_WIDTH / 3) + JOIN + 32, 30.0
    columns = max(1, len(ranks) - 1)
    heads = [wrapped(rule, (REPORT_WIDTH - left - right) / (columns + 0.5) - 10) for rule in ranks]
    panel = Panel(
        x=(-0.25, columns + 0.25),
        y=(last + 0.5, 0.5),
        width=REPORT_WIDTH - left - right,
        height=max(RANK_ROW * min(last, 2 * PANEL_ROWS), LINE * len(names), 2 * RANK_ROW),
        left=left,
        right=right,
        top=14 + 13 * max(map(len, heads), default=1),
        bottom=8 + 18 * len(notes),
    )
    panel.rules([(place, last + 0.5, place, 0.5) for place in range(len(ranks))], HAIR)
    panel.texts(
        [
            (place, panel.y_at(-10 - 13 * (len(head) - 1 - line)), text)
            for place, head in enumerate(heads)
            for line, text in enumerate(head)
        ],
        SOFT,
        "middle",
        SMALL_TEXT,
    )
    at = panel.x_at(-4)
    panel.texts([(at, rank, text) for rank, text in rank_ticks(last, 2 * PANEL_ROWS)], SOFT, "end", SMALL_TEXT)
    points = [[(float(x), float(rank)) for x, rank in enumerate(line)] for line in lines]
    moved = [place for place, line in enumerate(lines) if len(set(line)) > 1]
    for places, stroke in (([place for place in range(len(lines)) if place not in moved], REFERENCE), (moved, INK)):
        panel.lines([points[place] for place in places], stroke, 1.5 if stroke == INK else 1)
    panel.dots([point for line in points for point in line], 3.5, INK, PAPER, stroke_width=1.5)
    named = [(line[0][1], fitted(name, left - JOIN - 30)) for line, name in zip(points, names, strict=True) if line]
    end_labels(panel, named, left=True, apart=20.0)
    below(panel, notes)
    return Chart(panel, "Rank of each team under each ranking rule", finding)


def scores_with_intervals(
    names: Sequence[str],
    means: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    measure: str,
    finding: str,
    decimals: int = 4,
) -> Chart:
    """Draw each mean as a dot on the bar of its interval, one row a team, in the order of the board.

    The ends of an interval are NaN where it is undefined.
    """
    means = means[:PANEL_ROWS]
    bars = [
        (low, float(place), high, float(place))
        for place, (low, high) in enumerate(intervals[:PANEL_ROWS])
        if low <= high
    ]
    ends = [*means, *(end for low, _, high, _ in bars for end in (low, high))]
    ticks = score_ticks(min(ends, default=0.0), max(ends, default=1.0), 5)
    panel = row_panel(names, ticks, right=14 + 7.7 * (decimals + 2))
    panel.rules(bars, INTERVAL, 6)
    panel.dots([(mean, float(place)) for place, mean in enumerate(means)], 5, ACCENT, PAPER, stroke_width=1.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, float(place), number_text(mean, decimals)) for place, mean in enumerate(means)], INK, "end")
    return Chart(panel, f"{measure} of each team with its 95 % interval", finding)


_NUMBERS = 9.0
"""The width of a cell from which each column has its number."""


def significance_map(names: Sequence[str], better: ArrayLike, finding: str, *, what: str = "team") -> Chart:
    """Draw a square of cells, filled where the team of the row is significantly better than the team of the column.

    All pairs are tested at once, at a level of 5 % together. Cells without a decision are empty, those of the diagonal
    have a line. Columns are numbered as the rows. `what` is the kind of the names: team or algorithm.
    """
    rows = np.asarray(better, dtype=bool)[:PANEL_ROWS].tolist()
    filled = [(place, start, end) for place, row in enumerate(rows) for start, end in filled_runs(row[:PANEL_ROWS])]
    names, count = names[:PANEL_ROWS], len(names)
    shown = max(1, len(names))
    numbers = 24.0
    left = column_width(names, REPORT_WIDTH / 3) + numbers + 8
    cell = min(22.0, (REPORT_WIDTH - left - 2) / shown)
    height = max(cell, 12.0 if shown <= 30 else 9.0)
    note = " ".join([f"Filled: the {what} of the row is better.", *first_of(shown, count, f"{what}s")])
    panel = Panel(
        x=(-0.5, shown - 0.5),
        y=(shown - 0.5, -0.5),
        width=cell * shown,
        height=height * shown,
        left=left,
        right=REPORT_WIDTH - left - cell * shown,
        top=20,
        bottom=24,
    )
    panel.boxes([(-0.5, -0.5, shown - 0.5, shown - 0.5)], PAPER, HAIR)
    panel.boxes([(start - 0.5, row - 0.5, end + 0.5, row + 0.5) for row, start, end in filled], INTERVAL)
    edges = [place - 0.5 for place in range(1, shown)]
    panel.rules([(-0.5, edge, shown - 0.5, edge) for edge in edges], HAIR, 0.5)
    panel.rules([(edge, -0.5, edge, shown - 0.5) for edge in edges], HAIR, 0.5)
    panel.boxes([(place - 0.5, place - 0.5, place + 0.5, place + 0.5) for place in range(len(names))], BAND)
    panel.rules([(-0.5, -0.5, shown - 0.5, shown - 0.5)], SOFT)
    size = min(12.0, height - 0.5)
    step = 1 if cell >= _NUMBERS else 5
    at, top = panel.x_at(-6), panel.y_at(-9)
    panel.texts([(at, place, str(place + 1)) for place in range(len(names))], SOFT, "end", min(SMALL_TEXT, size))
    panel.texts(
        [(place, top, str(place + 1)) for place in range(len(names)) if place == 0 or (place + 1) % step == 0],
        SOFT,
        "middle",
        min(SMALL_TEXT, max(8.0, cell - 2)),
    )
    at = panel.x_at(-numbers)
    panel.texts(
        [(at, place, fitted(name, left - numbers - 6, size)) for place, name in enumerate(names)], INK, "end", size
    )
    below(panel, [note])
    title = f"Which {what} is significantly better than which other, at a level of 5 % for all pairs"
    return Chart(panel, title, finding)


def filled_runs(row: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first and the last column of each run of filled cells."""
    runs = []
    for is_filled, places in groupby(range(len(row)), key=row.__getitem__):
        columns = list(places)
        if is_filled:
            runs.append((columns[0], columns[-1]))
    return runs
