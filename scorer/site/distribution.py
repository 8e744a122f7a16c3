"""The queries of a team: a histogram of their scores next to the other teams', and the best and the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scorer.board.certainty import BINS, QueryScore
from scorer.site.neighbours import Field
from scorer.site.strip import Axis, axis_for, svg_percent
from scorer.wording import in_words

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
