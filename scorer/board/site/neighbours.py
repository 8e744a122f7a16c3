"""The field of a team: the nearest teams, and the scores of its queries next to those of the other teams."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from scorer.board.board import Board, Interval, Row, RowPair
from scorer.board.charts.panel import Axis, svg_percent
from scorer.board.site.captions import ranked_positions
from scorer.board.site.figures import axis_for
from scorer.board.statistics import SHARE_DECIMALS
from scorer.scoring.analysis.scores import medians_of_others

NEAREST = 3
"""How many rows above and below a team the table has, in addition to the leader."""

P_DECIMALS = 3
"""Of values of p; smaller ones are shown as ``< 0.001``. With preliminary scores, they have fewer."""


@dataclass(frozen=True, slots=True)
class Field:
    """A board, and what is derived from all of its rows. Positions are those in `Board.rows`."""

    board: Board
    ranked: tuple[int, ...]
    """The positions of the teams with a rank, the best first."""
    pairs: Mapping[int, Mapping[int, RowPair]]
    """The pairs of each position by the position of the other row."""
    histograms: int
    """How many ranked teams have a histogram of their primary scores."""
    sums: tuple[int, ...]
    """The sum of these histograms."""
    medians: Mapping[int, Sequence[float]]
    """By the position of a row, on each query of `Board.query_scores` the median of the other ranked teams."""

    def score(self, position: int) -> float | None:
        """The primary score of a row that the board is ranked by."""
        return self.board.shown_scores(self.board.rows[position].entry)[0]

    def around(self, position: int) -> tuple[list[int], list[int], list[int]]:
        """The other ranked teams that share the rank of a team, those above it, and those below it."""
        own, ranks = self.board.rows[position].rank or 0, {at: self.board.rows[at].rank or 0 for at in self.ranked}
        equal = [other for other in self.ranked if ranks[other] == own and other != position]
        return equal, [at for at in self.ranked if ranks[at] < own], [at for at in self.ranked if ranks[at] > own]

    def tested(self, position: int) -> dict[int, RowPair]:
        """The pairs of a row with other teams, all pairs tested at once, by the position of the other team."""
        pairs = self.pairs.get(position, {})
        return {other: pair for other, pair in pairs.items() if pair.is_separable is not None}

    def nearest(self, position: int) -> list[int]:
        """The two nearest teams above a row and the two below it among those that it was tested with."""
        tested = sorted(self.tested(position))
        at = bisect(tested, position)
        return tested[max(at - 2, 0) : at + 2]


def field_of(board: Board) -> Field:
    """Return the field of a board."""
    pairs: dict[int, dict[int, RowPair]] = {}
    for pair in board.pairs:
        pairs.setdefault(pair.row, {})[pair.other] = pair
        pairs.setdefault(pair.other, {})[pair.row] = pair
    ranked = tuple(ranked_positions(board))
    histograms = [counts for position in ranked if (counts := board.rows[position].histogram)]
    sums = tuple(sum(counts) for counts in zip(*histograms, strict=True))
    return Field(board, ranked, pairs, len(histograms), sums, _query_medians(board))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of the table."""

    position: int
    """In `Board.rows`."""
    row: Row
    pair: RowPair | None
    """None in the row of the team itself, as the fields below."""
    difference: float | None
    """Of the other team's score, minus that of the team."""
    interval: Interval | None
    shares: tuple[tuple[int, str, str], ...]
    """On how many queries the other team is better, equal and worse, with position and width of each as a part of a
    bar; empty where the scores of queries are hidden."""


def neighbours(field: Field, position: int, *, all_rows: bool = False) -> tuple[list[Neighbour], Axis] | None:
    """Return the rows of the table of the team at `position`, itself among them, and the axis of the differences.

    They are the nearest ones, or all that are compared with it. None where no pair with it was compared.
    """
    pairs = field.pairs.get(position, {})
    if not pairs:
        return None
    shown = sorted([*(pairs if all_rows else _nearest(field.board, pairs, position)), position])
    rows = [_neighbour(field, other, position) for other in shown]
    ends = (end for row in rows for end in (row.difference, *(row.interval or ())) if end is not None)
    return rows, axis_for(ends)


def _nearest(board: Board, pairs: Mapping[int, RowPair], position: int) -> set[int]:
    """The positions that the table has: the nearest ones, the best ranked team, and the best baseline if no other one.

    With a team, it has all teams that share its rank.
    """
    compared, rows = sorted(pairs), board.rows
    above = [other for other in compared if other < position]
    near = {*above[-NEAREST:], *[other for other in compared if other > position][:NEAREST]}
    near.update([other for other in above if rows[other].rank is not None][:1])
    if not any(rows[other].baseline for other in (*near, position)):
        near.update([other for other in compared if rows[other].baseline][:1])
    ranks = {rows[other].rank for other in (*near, position)} - {None}
    return near | {other for other in compared if rows[other].rank in ranks}


def _neighbour(field: Field, position: int, own: int) -> Neighbour:
    """The row of the team at `position` in the table of the team at `own`."""
    row, pair = field.board.rows[position], field.pairs[own].get(position)
    if pair is None:
        return Neighbour(position, row, None, None, None, ())
    difference, interval = pair.difference, pair.interval
    if pair.row == own:
        difference, interval = -difference + 0.0, (-interval[1], -interval[0]) if interval else None
    return Neighbour(position, row, pair, difference, interval, _shares(pair, own))


def p_decimals(board: Board) -> int:
    """Return how many decimals the p-values of a board have."""
    return P_DECIMALS if board.track.shows_final else SHARE_DECIMALS


def p_text(pair: RowPair, board: Board) -> str:
    """Return the p-value of a pair: ``0.012``, ``< 0.001``."""
    decimals = p_decimals(board)
    least = 10.0**-decimals
    return f"< {least:g}" if pair.p_value < least else f"{pair.p_value:.{decimals}f}"


def _shares(pair: RowPair, own: int) -> tuple[tuple[int, str, str], ...]:
    if pair.wins is None or pair.ties is None or pair.losses is None:
        return ()
    better, worse = (pair.losses, pair.wins) if pair.row == own else (pair.wins, pair.losses)
    counts = (better, pair.ties, worse)
    total = max(sum(counts), 1)
    starts = (0, counts[0], counts[0] + counts[1])
    return tuple(
        (count, svg_percent(100 * start / total), svg_percent(100 * count / total))
        for start, count in zip(starts, counts, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Distribution:
    """The histogram of a team, and what `pictures.html` draws it with."""

    counts: tuple[int, ...]
    """The number of queries in each step."""
    means: tuple[float, ...]
    """Of the other teams; empty without any."""
    others: int
    """How many other teams there are."""
    axis: Axis
    """Of the counts."""


def distribution(field: Field, position: int) -> Distribution | None:
    """Return the histogram of a row; None where it has none."""
    row = field.board.rows[position]
    own = row.histogram
    if not own:
        return None
    is_ranked = row.rank is not None
    others = field.histograms - is_ranked
    sums = [total - count * is_ranked for total, count in zip(field.sums, own, strict=True)] if others else []
    means = tuple(total / others for total in sums)
    return Distribution(own, means, others, axis_for([*own, *means]))


def query_rows(field: Field, position: int) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the id of each public query that counts, the score of a row and the median of the other ranked teams."""
    board, scores = field.board, field.board.query_scores
    if scores and position in scores.of_rows:
        for query, own, middle in zip(scores.queries, scores.of_rows[position], field.medians[position], strict=True):
            yield board.query_ids[query], own, None if math.isnan(middle) else middle


def _query_medians(board: Board) -> Mapping[int, Sequence[float]]:
    """By the position of a row, on each query the median of the other ranked teams; NaN where one is undefined."""
    if board.query_scores is None:
        return {}
    of_rows = board.query_scores.of_rows
    ranked = [place for place, position in enumerate(of_rows) if board.rows[position].rank is not None]
    scores = np.array([*of_rows.values()], dtype=np.float64)
    return dict(zip(of_rows, medians_of_others(scores, np.array(ranked, dtype=np.int64)).tolist(), strict=True))


def decile_rows(field: Field, position: int) -> Iterator[tuple[int, float, float | None]]:
    """Yield the percent of each decile of the scores of a row, the decile, and the median of the other ranked teams."""
    rows = field.board.rows
    others = [deciles for other in field.ranked if other != position and (deciles := rows[other].deciles)]
    for number, own in enumerate(rows[position].deciles):
        yield 10 * (number + 1), own, median(each[number] for each in others) if others else None


def query_axis(row: Row, board: Board) -> Axis:
    """Return the axis of the queries on which a team is furthest above and below the other teams."""
    values = [value for query in (*row.best_queries, *row.worst_queries) for value in (query.score, query.median)]
    return axis_for([*values, 1.0] if board.track.primary_measure.bounded else values)
