"""Charts and small pictures on the pages of boards, with captions that state what they show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scorer.board.board import BINS, Board, Row, ShakeUp, Tier, counting_scores
from scorer.board.build import RECALLS, cutoffs
from scorer.board.charts.over_time import (
    MEDIUM,
    NARROW,
    WIDE,
    History,
    Moved,
    Spent,
    TeamLine,
    leaders_over_time,
    leaders_sentence,
    precision_recall,
    preliminary_against_final,
    r_precision_by_cutoff,
    score_by_amount,
)
from scorer.board.charts.panel import Axis, ChartCache, Svg, coordinate, covering, drawn, svg_percent
from scorer.live.entry import ColumnScores
from scorer.rules.metadata import MetadataField
from scorer.wording import counted, in_words

MOST_STEPS = 7
"""How many steps an axis has at most."""

LONG_ROWS = 100
"""With more rows, a board has fewer marks and an axis near the values, and scripts draw its later rows last."""

NEARLY = 0.01
"""Values that differ by a smaller share of the highest one are nearly equal."""


def axis_for(values: Iterable[float], *, near: bool = False) -> Axis:
    """The axis from 0 to the round number above the highest value; it begins below 0 if a value is negative.

    `near`: it begins at the round number below the lowest value, unless the values are nearly equal.
    """
    shown = sorted(values) or [0.0]
    low, high = shown[0], shown[-1]
    if not near or high - low < NEARLY * max(high, -low):
        low, high = min(low, 0.0), max(high, 0.0)
    if high <= low:
        return Axis(1.0, 0, 1)
    return covering(low, high, MOST_STEPS)


@dataclass(frozen=True, slots=True)
class Band:
    """What is not separable from the best team of a tier, in the row of one of its teams; without width if it is."""

    x: str
    width: str
    best: str
    """The position of the best team's score."""
    line: Literal["", "from", "through", "to"]
    """The part of the line from the best team's dot to the last one: where it is in this row."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Positions of the marks of a row, as attributes of SVG; None where a mark is missing."""

    mean: str
    interval: tuple[str, str] | None
    """Where it begins, and its width."""
    preliminary: str | None
    band: Band | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is among the tiers."""

    tier: int | None
    """The tier of the row, or the tier around a baseline."""
    opens: bool
    """Whether the row above has another tier, or none."""
    closes: bool


def places_of_rows(board: Board) -> tuple[Place, ...]:
    """The place of each row. A baseline between two teams of one tier is in that tier; other rows are single."""
    tiers = [row.primary_certainty.tier if row.primary_certainty else None for row in board.rows]
    around = [_around(tiers, position) if row.baseline else tiers[position] for position, row in enumerate(board.rows)]
    return tuple(
        Place(
            tier,
            opens=tier is None or position == 0 or around[position - 1] != tier,
            closes=tier is None or position == len(around) - 1 or around[position + 1] != tier,
        )
        for position, tier in enumerate(around)
    )


def _around(tiers: Sequence[int | None], position: int) -> int | None:
    """The tier of the next teams above and below a baseline, if it is the same."""
    above = next((tier for tier in reversed(tiers[:position]) if tier is not None), None)
    below = next((tier for tier in tiers[position + 1 :] if tier is not None), None)
    return above if above == below else None


def board_axis(board: Board, scores: Sequence[ColumnScores]) -> Axis:
    """The axis of the strips of a board; `scores` has the shown scores of each row."""
    values = [values[0] for values in scores if values[0] is not None]
    for row in board.rows:
        if row.entry and board.shows_both:
            values += [score for score in row.entry.preliminary[:1] if score is not None]
        if row.primary_certainty and row.primary_certainty.interval:
            values += row.primary_certainty.interval
    return axis_for(values, near=len(board.rows) > LONG_ROWS)


def strips(
    board: Board, scores: Sequence[ColumnScores], axis: Axis, where: Sequence[Place]
) -> tuple[Strip | None, ...]:
    """The strip of each row, which is at a place among the tiers; None for a row without a score."""
    certainty = board.primary_certainty
    reaches = [_reach(tier, scores) for tier in certainty.tiers] if certainty else []
    found: list[Strip | None] = []
    for position, row in enumerate(board.rows):
        mean = scores[position][0]
        ends = row.primary_certainty.interval if row.primary_certainty else None
        preliminary = row.entry.preliminary[0] if row.entry and board.shows_both else None
        strip = (
            None
            if mean is None
            else Strip(
                axis.percent(mean),
                None if ends is None else _span(*ends, axis),
                None if preliminary is None else axis.percent(preliminary),
                _band(board, reaches, axis, where, position),
            )
        )
        found.append(strip)
    return tuple(found)


def _span(low: float, high: float, axis: Axis) -> tuple[str, str]:
    """The position and the width of what reaches from `low` to `high`."""
    return axis.percent(low), svg_percent(axis.position(high) - axis.position(low))


def _band(
    board: Board, reaches: Sequence[tuple[float, float]], axis: Axis, where: Sequence[Place], position: int
) -> Band | None:
    """The band of a row of a tier, given the lowest and the best score of the band of each tier."""
    certainty, tier = board.primary_certainty, where[position].tier
    if certainty is None or tier is None:
        return None
    low, best = reaches[tier]
    own = board.rows[position].primary_certainty
    x, width = _span(best if own and own.separable_from_leader else low, best, axis)
    place = where[position]
    parts: dict[tuple[bool, bool], Literal["", "from", "through", "to"]]
    parts = {(True, True): "", (True, False): "from", (False, False): "through", (False, True): "to"}
    return Band(x, width, axis.percent(best), parts[place.opens, place.closes])


def _reach(tier: Tier, scores: Sequence[ColumnScores]) -> tuple[float, float]:
    """The lowest score of the band of a tier, which reaches to the lowest one of its teams at least, and the best."""
    members = [score for row in tier.rows if (score := scores[row][0]) is not None]
    return min(members + ([] if tier.reach is None else [members[0] - tier.reach])), members[0]


HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT = 60, 18
SPARK_WIDTH, SPARK_HEIGHT = 64, 16
_MARGIN = 2
"""The distance of a sparkline from the edges of its picture."""

_RIGHT = SPARK_WIDTH - _MARGIN


@dataclass(frozen=True, slots=True)
class Mark:
    """A picture in a row."""

    path: str
    """The outline or the line, as an attribute of SVG."""
    label: str
    """What it shows, for those who do not see it."""
    value: float
    """What the column is sorted by."""
    end: tuple[float, float] = (0.0, 0.0)
    """Where the line ends."""


def histograms(board: Board) -> tuple[Mark | None, ...]:
    """The histogram of the primary scores of each row, whose highest bar fills it; None for a row without one."""
    return tuple(_histogram(row.histogram) if any(row.histogram) else None for row in board.rows)


def _histogram(counts: Sequence[int]) -> Mark:
    width, highest = HISTOGRAM_WIDTH / BINS, max(counts)
    # The height is the square root of the count, so that small counts show next to the many queries at 0.
    bars = "".join(
        f"M{coordinate(number * width)} {HISTOGRAM_HEIGHT}v-{coordinate(HISTOGRAM_HEIGHT * math.sqrt(count / highest))}"
        f"h{coordinate(width - 0.5)}V{HISTOGRAM_HEIGHT}"
        for number, count in enumerate(counts)
        if count
    )
    total = sum(counts)
    step = 1 / BINS
    label = (
        f"{_percent(counts[0], total)} of the queries score under {step:g}, {_percent(counts[-1], total)} {1 - step:g} "
        "or more"
    )
    return Mark(bars, label, counts[0])


def _percent(part: int, whole: int) -> str:
    """``62 %``; ``under 1 %`` where the share is not 0 but rounds to it."""
    share = 100 * part / whole
    return "under 1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def sparklines(board: Board) -> tuple[Mark | None, ...]:
    """The score of each row that counted, all on one scale; None for a row without a scored entry.

    Times go from the first to the last scored entry of the board, or to a later pick or decision.
    """
    records = [
        [(when, score) for when, score in counting_scores(board, row) if score is not None] for row in board.rows
    ]
    times = [entry.received.timestamp() for row in board.rows for entry in row.entries if entry.state == "scored"]
    times += [when.timestamp() for steps in records for when, _ in steps]
    scores = [score for steps in records for _, score in steps]
    if not scores:
        return (None,) * len(board.rows)
    decimals = board.track.shown_decimals
    ends = min(times), max(times), min(0.0, *scores), max(scores)
    return tuple(_sparkline(steps, ends, decimals) if steps else None for steps in records)


def _scaled(value: float, low: float, high: float, first: float, last: float) -> float:
    """`value` mapped from `low`..`high` to `first`..`last`; `last` where `low` equals `high`."""
    share = (value - low) / (high - low) if high > low else 1.0
    return first + share * (last - first)


def _sparkline(
    records: Sequence[tuple[datetime, float]], ends: tuple[float, float, float, float], decimals: int
) -> Mark:
    """The scores that counted; `ends` are the first and the last time, and the lowest and the highest score."""
    start, end, low, high = ends
    steps = [
        (
            _scaled(when.timestamp(), start, end, _MARGIN, _RIGHT),
            _scaled(score, low, high, SPARK_HEIGHT - _MARGIN, _MARGIN),
        )
        for when, score in records
    ]
    (x, y), *others = steps
    path = f"M{coordinate(x)} {coordinate(y)}"
    path += "".join(f"H{coordinate(right)}V{coordinate(below)}" for right, below in others)
    scores = [f"{score:.{decimals}f}" for _, score in records]
    label = f"{scores[0]} at first" if len(scores) == 1 else f"{scores[0]} at first, {scores[-1]} at last"
    return Mark(f"{path}H{coordinate(_RIGHT)}", label, records[-1][0].timestamp(), (_RIGHT, steps[-1][1]))


@dataclass(frozen=True, slots=True)
class CaptionedChart:
    """A chart with its caption."""

    svg: Svg
    caption: str
    medium: Svg | None = None
    """The same chart for a page of medium width, with letters that can be read there; None: it is the same."""
    narrow: Svg | None = None
    """The same chart for a phone; None: it is the same."""


def board_figures(board: Board, cache: ChartCache | None = None) -> tuple[CaptionedChart, ...]:
    """The charts below the table of a board: who led, and since when. None without two scored entries."""
    teams = [_history(board, row) for row in board.rows]
    if sum(len(team.entries) for team in teams) < 2:
        return ()
    wide, medium, narrow = (
        drawn(cache, leaders_over_time, teams, board.columns[0], board.track.shown_decimals, width)
        for width in (WIDE, MEDIUM, NARROW)
    )
    ring = "an improvement" if board.track.has_ladder else "an entry"
    baselines = ", dotted lines are baselines" if any(row.baseline for row in board.rows) else ""
    shown = (
        f"{board.track.shown_stage.capitalize()} {board.track.primary_measure.kind.name} of the entry that counted at "
        f"each time; a ring is {ring}{baselines}."
    )
    return (CaptionedChart(wide, f"{leaders_sentence(teams)} {shown}", medium, narrow),)


def analysis_figures(board: Board, cache: ChartCache | None = None) -> tuple[CaptionedChart, ...]:
    """The charts of a board that need more than the scores on the primary measure."""
    figures = []
    if board.shake_up is not None:
        moves = drawn(cache, preliminary_against_final, _moves(board), board.columns[0])
        figures.append(CaptionedChart(moves, _moved(board.shake_up)))
    if board.curves and board.curves[0].precisions:
        lines = [_curve(board, curve.row, curve.precisions) for curve in board.curves]
        levels = in_words(len(RECALLS))
        caption = f"Interpolated precision at {levels} levels of recall, the mean over the queries."
        figures.append(CaptionedChart(drawn(cache, precision_recall, lines), caption))
    if board.curves and board.curves[0].r_precisions:
        lines = [_curve(board, curve.row, curve.r_precisions) for curve in board.curves]
        chart = drawn(cache, r_precision_by_cutoff, lines, cutoffs(board.track.list_length))
        figures.append(CaptionedChart(chart, "R-precision at each cut-off z, the mean over the queries."))
    figures += [figure for each in board.metadata_fields if (figure := _resource(board, each, cache))]
    return tuple(figures)


def _resource(board: Board, field: MetadataField, cache: ChartCache | None) -> CaptionedChart | None:
    """The scores of the ranked teams against a number that they state; None where fewer than two state it."""
    teams = []
    for row in board.rows if field.type == "number" else ():
        amount = row.entry.metadata.get(field.name) if row.entry and row.rank is not None else None
        score = board.shown_scores(row.entry)[0]
        if isinstance(amount, int | float) and score is not None:
            low, high = (row.primary_certainty.interval if row.primary_certainty else None) or (score, score)
            teams.append(Spent(row.name, float(amount), score, low, high))
    if len(teams) < 2:
        return None
    lacking = sum(row.rank is not None for row in board.rows) - len(teams)
    others = f"; {counted(lacking, 'team states', 'teams state')} nothing" if lacking else ""
    caption = (
        f"{board.track.primary_measure.kind.name} against {field.label}, with 95 % intervals. The line joins the teams "
        f"than which none scores higher for less{others}."
    )
    return CaptionedChart(drawn(cache, score_by_amount, teams, field.label, board.columns[0]), caption)


def _history(board: Board, row: Row) -> History:
    """The scored entries of a row, but for those whose time of receipt is impossible."""
    scores = (
        (entry.received, board.shown_scores(entry)[0]) for entry in reversed(row.entries) if entry.state == "scored"
    )
    entries = tuple((received, score) for received, score in scores if score is not None)
    return History(row.name, counting_scores(board, row), row.baseline, entries)


def _curve(board: Board, row: int, values: tuple[float | None, ...]) -> TeamLine:
    return TeamLine(board.rows[row].name, values, board.rows[row].baseline)


def _moves(board: Board) -> list[Moved]:
    return [
        Moved(row.name, row.entry.preliminary[0], row.entry.final[0], row.preliminary_rank, row.rank)
        for row in board.rows
        if row.entry is not None
        and row.rank is not None
        and row.preliminary_rank is not None
        and row.entry.preliminary[0] is not None
        and row.entry.final[0] is not None
    ]


def _moved(shake_up: ShakeUp) -> str:
    """How far the teams moved, and whether chance would move them as far."""
    low, high = shake_up.expected_range
    moved = f"{counted(shake_up.moved, 'team')} moved, by {shake_up.mean_move:.1f} ranks in the mean over all teams"
    chance = f"random preliminary queries would move them by {low:.1f} to {high:.1f}"
    if shake_up.mean_move > high:
        return f"{moved}: more than chance explains; {chance}."
    if shake_up.mean_move < low:
        return f"{moved}: less than chance would; {chance}."
    return f"{moved}: no more than chance explains; {chance}."
