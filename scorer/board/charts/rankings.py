"""Charts of a ranking: ranks in queries and resamples, scores with intervals, ranking rules, and significant
differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
    below,
    column_width,
    end_labels,
    first_of,
    fitted,
    number_text,
    rank_ticks,
    row_panel,
    score_ticks,
    spoken,
    ticks,
    wrapped,
)
from scorer.measures.matched import Bools
from scorer.wording import counted

BLOB_ROW = 22
"""The height of a row in pixels."""

BLOBS = 900
"""The number of blobs that a chart has at most; the smallest ones are left out."""


def blob_plot(
    names: Sequence[str],
    shares: ArrayLike,
    quantiles: Sequence[tuple[float, float, float]],
    ranks: Sequence[int],
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
    kept = sorted(sorted(blobs, key=lambda blob: (-blob[0], *blob[1:]))[:BLOBS], key=lambda blob: blob[1:])
    drawing = partial(_blob_panel, names, kept, quantiles[:PANEL_ROWS], list(ranks[:PANEL_ROWS]))
    return Chart(
        drawing, "Ranks of each team in the resamples", _blob_description(names, [row[0] for row in shares], quantiles)
    )


def _blob_description(
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
    return " ".join([words, *first_of(PANEL_ROWS, len(names))])


def _percent(share: float) -> str:
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"


def _blob_panel(
    names: Sequence[str],
    blobs: Sequence[tuple[float, int, int]],
    quantiles: Sequence[tuple[float, float, float]],
    ranks: Sequence[int],
) -> Panel:
    last = max([2, *(rank for _, _, rank in blobs), *ranks, *(math.ceil(high) for _, _, high in quantiles)])
    panel = row_panel(names, rank_ticks(last), row=BLOB_ROW, ends=(0.4, last + 0.6))
    # The largest blob fills its row, unless ranks are so close that it would cover its neighbours.
    largest = max((share for share, _, _ in blobs), default=1.0)
    widest = min(BLOB_ROW / 2, max(3.0, 0.9 * panel.width / (last + 0.2))) / math.sqrt(largest)
    panel.lines([[(float(rank), float(place)) for place, rank in enumerate(ranks)]], REFERENCE, dash=DOTTED)
    panel.rules([(low, place, high, place) for place, (low, _, high) in enumerate(quantiles) if high > low], INK)
    panel.blobs([(rank, place, widest * math.sqrt(share)) for share, place, rank in blobs], INTERVAL, fill_opacity=0.75)
    across, down = panel.x_at(3.5) - panel.x_at(0), panel.y_at(3.5) - panel.y_at(0)
    middles = [(median, float(place)) for place, (_, median, _) in enumerate(quantiles)]
    panel.rules([(x - across, y - down, x + across, y + down) for x, y in middles], INK, 1.5)
    panel.rules([(x - across, y + down, x + across, y - down) for x, y in middles], INK, 1.5)
    return panel


_MOST = 8
"""The number of teams that a chart has at most. There are as many columns as the square of their number."""

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
) -> Chart:
    """Draw the `scores`, [team, query], by the rank that they have in their query, joined by a line for each query.

    There is one podium for each rank; in a podium each team has a column, in the order of the board. Bars below count
    the queries in which the team has the rank. A tie of n teams counts as 1/n for each of the n ranks, and the dots of
    a tie take its ranks in turn. Queries in which a team of the chart has no score, NaN, are left out. Source: Eugster,
    Hothorn and Leisch 2008; Wiesenfarth et al. 2021.
    """
    shown = scores[:_MOST]
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
    description = _podium_description(names, counts, queries)
    drawing = partial(_podium_panel, names, counts.tolist(), drawn, queries)
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


def _podium_description(names: Sequence[str], counts: NDArray[np.float64], queries: int) -> str:
    if not queries or not names:
        return "No query has a score of every team."
    best = np.argsort(-counts[:, 0], kind="stable")[:2].tolist()
    shares = [f"{spoken(names[team])} is first in {100 * counts[team, 0] / queries:.0f} %" for team in best]
    words = f"Of {counted(queries, 'query', 'queries')}, {', '.join(shares)}; ties are shared."
    return " ".join([words, *first_of(len(counts), len(names))])


def _podium_panel(
    names: Sequence[str],
    counts: Sequence[Sequence[float]],
    drawn: Sequence[Sequence[tuple[int, int, float]]],
    queries: int,
) -> Panel:
    names, count = names[:_MOST], len(names)
    teams = max(1, len(names))
    scores = [score for line in drawn for _, _, score in line]
    ticks = score_ticks(min(scores, default=0.0), max(scores, default=1.0), 5)
    low, high = ticks[0][0], ticks[-1][0]
    keys = [fitted(f"{place + 1} {name}", REPORT_WIDTH / 2 - 10) for place, name in enumerate(names)]
    notes = [f"Dots: {counted(len(drawn), 'query', 'queries')} of {queries:,}."] if queries > len(drawn) else []
    notes += first_of(len(names), count)
    left, right = 40.0, 10.0
    total = UPPER + GAP + LOWER
    panel = Panel(
        x=(-0.5, teams * (teams + 1) - 1.5),
        y=(low - (high - low) * (GAP + LOWER) / UPPER, high),
        width=REPORT_WIDTH - left - right,
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
        SMALL_TEXT,
    )
    lines = [[(float(rank * (teams + 1) + team), score) for rank, team, score in line] for line in drawn]
    panel.lines(lines, HAIR, 0.75)
    first = [point for line in lines for point in line if point[0] < teams]
    panel.dots([point for line in lines for point in line if point[0] >= teams], 1.8, INTERVAL, fill_opacity=0.8)
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
            (panel.x_at(-left + (REPORT_WIDTH / 2) * (place % 2)), panel.y_at(total + 28 + 16 * (place // 2)), key)
            for place, key in enumerate(keys)
        ],
        SOFT,
        size=SMALL_TEXT,
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
        [(edge, base + unit * tallest, f"{100 * tallest / queries:.0f} %"), (edge, base, "0")], SOFT, "end", SMALL_TEXT
    )


_DOTS = 600
"""The number of dots that a chart has at most."""

BOX_ROW = 24
"""The height of a row in pixels."""

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class _Summary:
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


def query_boxes(names: Sequence[str], scores: NDArray[np.float64], measure: str) -> Chart:
    """Draw the `scores`, [team, query], of each team as dots under a box plot with the mean as a larger dot.

    The box goes from the first to the third quartile with a line at the median; the whiskers end at the last score
    within 1.5 interquartile ranges. The height of a dot in its row has no meaning. Scores may be NaN.
    """
    room = _DOTS // max(1, min(len(names), PANEL_ROWS))
    summaries = [_summary(row[~np.isnan(row)], room) for row in scores[:PANEL_ROWS]]
    most = max((int((~np.isnan(row)).sum()) for row in scores[:PANEL_ROWS]), default=0)
    drawing = partial(_box_panel, names, summaries, most > room)
    description = _box_description(names, summaries, scores)
    return Chart(drawing, f"{measure} of each query, for each team", description)


def _summary(scores: NDArray[np.float64], room: int) -> _Summary | None:
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
    return _Summary(float(inside[0]), first, median, third, float(inside[-1]), float(ordered.mean()), dots)


def _box_description(names: Sequence[str], summaries: Sequence[_Summary | None], scores: NDArray[np.float64]) -> str:
    summarised = [(name, summary) for name, summary in zip(names, summaries, strict=False) if summary is not None]
    if not summarised:
        return "No query has a score."
    name, best = summarised[0]
    words = (
        f"Over {counted(scores.shape[1], 'query', 'queries')}, half of the scores of {spoken(name)} are from "
        f"{number_text(best.first, 3)} to {number_text(best.third, 3)}, "
        f"with the median at {number_text(best.median, 3)}."
    )
    zeros = np.count_nonzero(scores == 0) / np.count_nonzero(~np.isnan(scores))
    words += f" Of all scores of all teams, {100 * zeros:.0f} % are 0."
    return " ".join([words, *first_of(PANEL_ROWS, len(names))])


def _box_panel(names: Sequence[str], summaries: Sequence[_Summary | None], is_sampled: bool) -> Panel:
    boxes = [(float(place), box) for place, box in enumerate(summaries) if box is not None]
    values = [value for _, box in boxes for value in (box.dots[0], box.low, box.high, box.dots[-1])]
    ticks = score_ticks(min(values, default=0.0), max(values, default=1.0))
    panel = row_panel(names, ticks, row=BOX_ROW, right=14)
    if is_sampled:
        panel.bottom += 18
        note = "The dots of a team are quantiles of its scores."
        at = panel.height + panel.bottom - 10
        panel.texts([(panel.x_at(-panel.left), panel.y_at(at), note)], SOFT, size=SMALL_TEXT)
    dots = [
        (value, place + 0.7 * ((GOLDEN * (order + 1)) % 1 - 0.5))
        for place, box in boxes
        for order, value in enumerate(box.dots)
    ]
    panel.dots(dots, 1.6, INTERVAL, fill_opacity=0.55)
    panel.rules([(box.low, y, box.first, y) for y, box in boxes if box.low < box.first], INK)
    panel.rules([(box.third, y, box.high, y) for y, box in boxes if box.high > box.third], INK)
    panel.boxes([(box.first, y - 0.26, box.third, y + 0.26) for y, box in boxes], "none", INK)
    panel.rules([(box.median, y - 0.26, box.median, y + 0.26) for y, box in boxes], INK, 2.5)
    panel.dots([(box.mean, y) for y, box in boxes], 4.5, ACCENT, PAPER, stroke_width=1.5)
    return panel


RANK_ROW = 20
"""The height of a rank in pixels."""


def ranking_rules(names: Sequence[str], ranks: Mapping[str, Sequence[int]]) -> Chart:
    """Draw the ranks of the teams, by the name of each rule, as one line for each team; rank 1 is at the top.

    Lines of teams whose rank changes are darker.
    """
    lines = [[row[place] for row in ranks.values()] for place in range(len(names))]
    drawing = partial(_rules_panel, names, tuple(ranks), lines[:PANEL_ROWS])
    return Chart(drawing, "Rank of each team under each ranking rule", _rules_description(names, tuple(ranks), lines))


def _changes(line: Sequence[int]) -> int:
    return max(line) - min(line) if line else 0


def _rules_description(names: Sequence[str], rules: Sequence[str], lines: Sequence[Sequence[int]]) -> str:
    if not names or not rules:
        return "No team has a rank."
    kept = sum(1 for line in lines if not _changes(line))
    words = f"{kept} of {counted(len(names), 'team')} {'has' if kept == 1 else 'have'} the same rank under all of the "
    words += f"{counted(len(rules), 'rule')}."
    winners = sorted({place for place, line in enumerate(lines) if 1 in line})
    first = ", ".join(spoken(names[place]) for place in winners[:5])
    words += f" First under {'all rules' if len(winners) == 1 else 'at least one rule'}: {first}."
    widest = max(range(len(names)), key=lambda place: _changes(lines[place]))
    if _changes(lines[widest]):
        ends = f"from {min(lines[widest])} to {max(lines[widest])}"
        words += f" The rank of {spoken(names[widest])} changes most, {ends}."
    return " ".join([words, *first_of(PANEL_ROWS, len(names))])


def _rules_panel(names: Sequence[str], rules: Sequence[str], lines: Sequence[Sequence[int]]) -> Panel:
    names, count = names[:PANEL_ROWS], len(names)
    last = max((rank for line in lines for rank in line), default=1)
    left, right = column_width(names, REPORT_WIDTH / 3) + JOIN + 32, 30.0
    columns = max(1, len(rules) - 1)
    heads = [wrapped(rule, (REPORT_WIDTH - left - right) / (columns + 0.5) - 10) for rule in rules]
    notes = first_of(len(names), count)
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
    panel.rules([(place, last + 0.5, place, 0.5) for place in range(len(rules))], HAIR)
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
    moved = [place for place, line in enumerate(lines) if _changes(line)]
    for places, stroke in (([place for place in range(len(lines)) if place not in moved], REFERENCE), (moved, INK)):
        panel.lines([points[place] for place in places], stroke, 1.5 if stroke == INK else 1)
    panel.dots([point for line in points for point in line], 3.5, INK, PAPER, stroke_width=1.5)
    named = [(line[0][1], fitted(name, left - JOIN - 30)) for line, name in zip(points, names, strict=True) if line]
    end_labels(panel, named, left=True, apart=20.0)
    below(panel, notes)
    return panel


Intervals = Sequence[tuple[float, float]]


def scores_with_intervals(
    names: Sequence[str],
    means: Sequence[float],
    intervals: Intervals,
    measure: str,
    decimals: int = 4,
) -> Chart:
    """Draw each mean as a dot on the bar of its interval, one row a team, in the order of the board.

    The ends of an interval are NaN where it is undefined.
    """
    return Chart(
        partial(_intervals_panel, names, means[:PANEL_ROWS], intervals[:PANEL_ROWS], decimals),
        f"{measure} of each team with its 95 % interval",
        _intervals_description(names, means, intervals, decimals),
    )


def _intervals_description(names: Sequence[str], means: Sequence[float], intervals: Intervals, decimals: int) -> str:
    if not names:
        return "No team has a score."
    scores = [
        f"{spoken(name)} with {number_text(mean, decimals)}"
        + ("" if math.isnan(low) else f" ({number_text(low, decimals)} to {number_text(high, decimals)})")
        for name, mean, (low, high) in zip(names, means, intervals, strict=True)
    ]
    words = f"First in the order of the board: {scores[0]}"
    words += f"; then {scores[1]}" if len(scores) > 2 else ""
    words += f"; last: {scores[-1]}" if len(scores) > 1 else ""
    return " ".join([f"{words}. In brackets: 95 % intervals.", *first_of(PANEL_ROWS, len(names), "rows")])


def _intervals_panel(names: Sequence[str], means: Sequence[float], intervals: Intervals, decimals: int) -> Panel:
    bars = [(low, float(place), high, float(place)) for place, (low, high) in enumerate(intervals) if low <= high]
    ends = [*means, *(end for low, _, high, _ in bars for end in (low, high))]
    ticks = score_ticks(min(ends, default=0.0), max(ends, default=1.0), 5)
    panel = row_panel(names, ticks, what="rows", right=14 + 7.7 * (decimals + 2))
    panel.rules(bars, INTERVAL, 6)
    panel.dots([(mean, float(place)) for place, mean in enumerate(means)], 5, ACCENT, PAPER, stroke_width=1.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, float(place), number_text(mean, decimals)) for place, mean in enumerate(means)], INK, "end")
    return panel


_NUMBERS = 9.0
"""The width of a cell from which each column has its number."""


def significance_map(names: Sequence[str], better: ArrayLike, *, what: str = "team") -> Chart:
    """Draw a square of cells, filled where the team of the row is significantly better than the team of the column.

    All pairs are tested at once, at a level of 5 % together. Cells without a decision are empty, those of the diagonal
    have a line. Columns are numbered as the rows. `what` is the kind of the names: team or algorithm.
    """
    rows = np.asarray(better, dtype=bool)
    shown = rows[:PANEL_ROWS].tolist()
    filled = [(place, start, end) for place, row in enumerate(shown) for start, end in _runs(row[:PANEL_ROWS])]
    title = f"Which {what} is significantly better than which other, at a level of 5 % for all pairs"
    drawing = partial(_significance_panel, names, filled, what)
    return Chart(drawing, title, _significance_description(names, rows, what))


def _runs(row: Sequence[bool]) -> list[tuple[int, int]]:
    """The first and the last column of each run of filled cells."""
    runs = []
    for is_filled, places in groupby(range(len(row)), key=row.__getitem__):
        columns = list(places)
        if is_filled:
            runs.append((columns[0], columns[-1]))
    return runs


def _significance_description(names: Sequence[str], better: Bools, what: str) -> str:
    count = len(names)
    if count < 2:
        return f"There are no two {what}s to compare."
    decided = int(better.sum())
    pairs = count * (count - 1) // 2
    words = f"{decided:,} of {counted(pairs, 'pair')} {'is' if decided == 1 else 'are'} significantly different."
    wins = int(better[0].sum())
    words += f" {spoken(names[0])} is better than {wins} of {counted(count - 1, 'other')}."
    return " ".join([words, *first_of(PANEL_ROWS, count, f"{what}s")])


def _significance_panel(names: Sequence[str], filled: Sequence[tuple[int, int, int]], what: str) -> Panel:
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
    return panel


_BINS = 50
"""The number of parts of the axis, from -1, 0 or 0.5 to 1, in each of which the rankings are counted."""

VIOLIN_ROW = 56
"""The height of a row in pixels."""


def tau_violin(task: str, taus: NDArray[np.float64]) -> Chart:
    """Draw the distribution of Kendall's tau, symmetric to its row, with the quartiles as a box.

    `taus` has tau of the ranking of each resample and that of the full data. As tau is a step function of few teams,
    the outline is a histogram rather than a smooth density.
    """
    lowest = float(taus.min()) if taus.size else 0.0
    low = next(end for end in (0.5, 0.0, -1.0) if lowest >= end)
    shape = (np.histogram(np.clip(taus, low, 1.0), _BINS, (low, 1.0))[0] / max(1, taus.size)).tolist()
    quartiles = np.quantile(taus, (0.25, 0.5, 0.75)).tolist() if taus.size else None
    return Chart(
        partial(_violin_panel, task, shape, quartiles, low),
        "Agreement of the rankings of resamples with the ranking of the full data, by Kendall’s tau",
        _violin_description(quartiles),
    )


def _violin_description(quartiles: Sequence[float] | None) -> str:
    if quartiles is None:
        return "Kendall’s tau is undefined."
    first, median, third = (number_text(value, 2) for value in quartiles)
    return f"Tau has a median of {median} and quartiles of {first} and {third}; it is 1 for equal rankings."


def _violin_panel(task: str, shape: Sequence[float], quartiles: Sequence[float] | None, low: float) -> Panel:
    panel = row_panel([task], ticks(low, 1.0), row=VIOLIN_ROW, right=88)
    if quartiles is None:
        return panel
    step, tallest = (1.0 - low) / _BINS, max(shape)
    half = [(low + step * edge, 0.44 * share / tallest) for edge, share in _edges(shape)]
    outline = [*((x, -y) for x, y in half), *((x, y) for x, y in reversed(half))]
    panel.lines([outline], INTERVAL, fill=INTERVAL, fill_opacity=0.35)
    first, median, third = quartiles
    panel.boxes([(first, -0.07, third, 0.07)], PAPER, INK)
    panel.rules([(median, -0.16, median, 0.16)], INK, 2.5)
    at = panel.x_at(panel.width + panel.right)
    panel.texts([(at, 0.0, f"median {number_text(median, 2)}")], SOFT, "end", SMALL_TEXT)
    return panel


def _edges(shape: Sequence[float]) -> list[tuple[int, float]]:
    """The corners of a histogram, without the empty bins at its ends."""
    filled = [place for place, share in enumerate(shape) if share]
    return [(edge, shape[place]) for place in range(filled[0], filled[-1] + 1) for edge in (place, place + 1)]
