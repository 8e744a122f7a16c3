"""The field of a team: the nearest teams, and the scores of its queries next to those of the other teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scorer.board.board import BINS, Board, Interval, Pair, QueryScore, Row
from scorer.board.site.captions import ranked_positions
from scorer.board.site.figures import Axis, axis_for, svg_percent
from scorer.board.statistics import SHARE_DECIMALS
from scorer.wording import in_words

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


STEP = 1 / BINS
"""The width of a bar of the histogram."""

SHARE_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram, as attributes of SVG."""

    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """The histogram of a team."""

    total: int
    """The number of queries."""
    bars: tuple[Bar, ...]
    line: str
    """The mean of the other teams, as the path of a line in a square of 100 by 100; empty without other teams."""
    others: int
    """How many other teams there are."""
    levels: tuple[tuple[str, str], ...]
    """Of the counts: positions from the top, and labels."""
    ticks: tuple[tuple[str, str], ...]
    """Of the scores: positions and labels."""
    lead: str
    """The number of queries in the first step, for the sentence in the picture."""
    description: str
    """All numbers, for those who do not see the picture."""


def distribution(field: Field, position: int) -> Distribution | None:
    """Return the histogram of a row; None where it has none."""
    row = field.board.rows[position]
    own = row.histogram
    if not own:
        return None
    is_ranked = row.rank is not None
    others = field.histograms - is_ranked
    sums = [total - count * is_ranked for total, count in zip(field.sums, own, strict=True)] if others else []
    means = [total / others for total in sums]
    axis = axis_for([*own, *means])
    return Distribution(
        total=sum(own),
        bars=tuple(_bar(number, count, axis) for number, count in enumerate(own) if count),
        line=_line(means, axis),
        others=others,
        levels=tuple((svg_percent(_down(value, axis)), label) for value, label in axis.labels),
        ticks=tuple((svg_percent(100 * share), f"{share:g}") for share in SHARE_TICKS),
        lead=f"{own[0]:,}",
        description=_description(own, means),
    )


def _down(value: float, axis: Axis) -> float:
    """A count as a distance from the top, in percent."""
    return 100 - axis.position(value)


def _bar(number: int, count: int, axis: Axis) -> Bar:
    y = _down(count, axis)
    gap = 0.5
    return Bar(*map(svg_percent, (100 * number * STEP, y, 100 * STEP - gap, 100 - y)))


def _line(means: Sequence[float], axis: Axis) -> str:
    """A line in steps, from the bottom on the left to the bottom on the right."""
    if not means:
        return ""
    steps = "".join(f"V{_down(mean, axis):.2f}H{100 * (number + 1) * STEP:g}" for number, mean in enumerate(means))
    return f"M0 100{steps}V100"


def _description(own: Sequence[int], means: Sequence[float]) -> str:
    text = f"Queries from 0 to 1 in {BINS} steps of {STEP:g}: {', '.join(map(str, own))}."
    others = ", ".join(f"{mean:.1f}" for mean in means)
    return f"{text} Mean of the other teams: {others}." if means else text


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query in the table of the best and the worst."""

    label: str
    """Its id; empty if it is hidden."""
    score: float
    median: float
    difference: float
    own: str
    """The position of the score on the axis, as an attribute of SVG."""
    field: str
    """That of the median of the other teams."""
    is_first_worst: bool


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The queries on which a team is furthest above and below the other teams."""

    rows: tuple[QueryRow, ...]
    axis: Axis
    caption: str
    has_ids: bool


def query_table(field: Field, position: int) -> QueryTable | None:
    """Return the table of a row; None where the scores of queries are hidden."""
    row = field.board.rows[position]
    best, worst = row.best_queries, row.worst_queries
    if not best and not worst:
        return None
    values = [value for query in (*best, *worst) for value in (query.score, query.median)]
    axis = axis_for([*values, 1.0] if field.board.track.primary_measure.bounded else values)
    parts = [(best, "best"), (worst, "worst")]
    words = " and ".join(f"{in_words(len(queries))} {word}" for queries, word in parts if queries)
    return QueryTable(
        rows=(
            *(_query(query, axis) for query in best),
            *(_query(query, axis, first=query is worst[0]) for query in worst),
        ),
        axis=axis,
        caption=f"Its {words} queries against the field.",
        has_ids=any(query.query for query in (*best, *worst)),
    )


def _query(query: QueryScore, axis: Axis, *, first: bool = False) -> QueryRow:
    return QueryRow(
        label=query.query,
        score=query.score,
        median=query.median,
        difference=query.score - query.median + 0.0,
        own=axis.percent(query.score),
        field=axis.percent(query.median),
        is_first_worst=first,
    )
