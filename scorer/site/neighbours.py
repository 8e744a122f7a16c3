"""The field of a team: a board with what all its team pages need, and the table of the nearest teams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scorer.board.board import Board, Row
from scorer.board.certainty import Interval, Pair
from scorer.board.published_statistics import SHARE_DECIMALS
from scorer.site.captions import ranked_positions
from scorer.site.strip import Axis, axis_for, svg_percent

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
    pairs: Mapping[int, Mapping[int, Pair]]
    """The pairs of each position by the position of the other row."""
    histograms: int
    """How many ranked teams have a histogram of their primary scores."""
    sums: tuple[int, ...]
    """The sum of these histograms."""

    def score(self, position: int) -> float | None:
        """The primary score of a row that the board is ranked by."""
        return self.board.shown_scores(self.board.rows[position].entry)[0]


def field_of(board: Board) -> Field:
    """Return the field of a board."""
    pairs: dict[int, dict[int, Pair]] = {}
    for pair in board.pairs:
        pairs.setdefault(pair.row, {})[pair.other] = pair
        pairs.setdefault(pair.other, {})[pair.row] = pair
    ranked = tuple(ranked_positions(board))
    histograms = [counts for position in ranked if (counts := board.rows[position].histogram)]
    sums = tuple(sum(counts) for counts in zip(*histograms, strict=True))
    return Field(board, ranked, pairs, len(histograms), sums)


@dataclass(frozen=True, slots=True)
class Shares:
    """On how many queries another team is better, equal and worse, and the same as a bar."""

    counts: tuple[int, int, int]
    bars: tuple[tuple[str, str], ...]
    """Position and width of each part, as attributes of SVG."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of the table."""

    position: int
    """In `Board.rows`."""
    row: Row
    pair: Pair | None
    """None in the row of the team itself."""
    difference: float | None
    """Of the other team's score, minus that of the team."""
    interval: Interval | None
    mean: str
    """The difference on the axis, as an attribute of SVG; empty for the team itself."""
    span: tuple[str, str] | None
    """The interval on the axis: its beginning and its end."""
    shares: Shares | None
    """None where the scores of queries are hidden."""
    p_decimals: int

    @property
    def p_value(self) -> str:
        if self.pair is None:
            return ""
        least, p_value = 10.0**-self.p_decimals, self.pair.p_value
        return f"< {least:g}" if p_value < least else f"{p_value:.{self.p_decimals}f}"

    @property
    def separable(self) -> str:
        """Whether the two are separable; a dash where the pair is not tested with the others."""
        if self.pair is None:
            return ""
        return {None: "–", True: "yes", False: "no"}[self.pair.is_separable]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The table of a team."""

    rows: tuple[Neighbour, ...]
    """In the order of the board, with the team itself."""
    axis: Axis
    zero: str
    """The position of 0 on the axis."""
    has_shares: bool
    has_baselines: bool


def neighbours(field: Field, position: int) -> Neighbours | None:
    """Return the table of the row at `position`; None where no pair with it was compared."""
    pairs = field.pairs.get(position, {})
    if not pairs:
        return None
    shown = _nearest(field.board, pairs, position)
    differences = [_turned(pairs[other], position) for other in shown]
    axis = axis_for(value for difference, interval in differences for value in (difference, *(interval or ())))
    rows = tuple(_row(field, other, position, axis) for other in sorted([*shown, position]))
    return Neighbours(
        rows=rows,
        axis=axis,
        zero=axis.percent(0),
        has_shares=any(row.shares for row in rows),
        has_baselines=any(row.row.baseline for row in rows if row.pair),
    )


def _nearest(board: Board, pairs: Mapping[int, Pair], position: int) -> list[int]:
    """The positions that the table has: the nearest ones, and that of the best ranked team."""
    above = [other for other in sorted(pairs) if other < position]
    below = [other for other in sorted(pairs) if other > position]
    leader = [other for other in above if board.rows[other].rank is not None][:1]
    return [*dict.fromkeys([*leader, *above[-NEAREST:]]), *below[:NEAREST]]


def _turned(pair: Pair, position: int) -> tuple[float, Interval | None]:
    """The difference of a pair and its interval, as the other team minus the one at `position`."""
    if pair.row != position:
        return pair.difference, pair.interval
    return -pair.difference + 0.0, (-pair.interval[1], -pair.interval[0]) if pair.interval else None


def _row(field: Field, position: int, own: int, axis: Axis) -> Neighbour:
    """The row of the team at `position` in the table of the team at `own`."""
    pair = field.pairs[own].get(position)
    value, interval = _turned(pair, own) if pair else (None, None)
    return Neighbour(
        position=position,
        row=field.board.rows[position],
        pair=pair,
        difference=value,
        interval=interval,
        mean="" if value is None else axis.percent(value),
        span=(axis.percent(interval[0]), axis.percent(interval[1])) if interval else None,
        shares=_shares(pair, own) if pair else None,
        p_decimals=P_DECIMALS if field.board.track.shows_final else SHARE_DECIMALS,
    )


def _shares(pair: Pair, own: int) -> Shares | None:
    if pair.wins is None or pair.ties is None or pair.losses is None:
        return None
    better, worse = (pair.losses, pair.wins) if pair.row == own else (pair.wins, pair.losses)
    counts = (better, pair.ties, worse)
    total = max(sum(counts), 1)
    starts = (0, counts[0], counts[0] + counts[1])
    parts = zip(starts, counts, strict=True)
    bars = ((svg_percent(100 * start / total), svg_percent(100 * count / total)) for start, count in parts)
    return Shares(counts, tuple(bars))
