"""The strip of a row: its score, interval and tier on an axis that all rows share, in percent of its length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scorer.board.board import Board, Row
from scorer.board.certainty import RowCertainty, Tier
from scorer.live.entry import ColumnScores

MOST_STEPS = 7
"""How many steps an axis has at most."""

STEPS = (1, 2, 5, 10)
"""Steps between the ticks of an axis, times a power of ten."""


def svg_percent(percent: float) -> str:
    """A position or a length in percent as an attribute of SVG: ``41.62%``."""
    return f"{percent:.2f}".rstrip("0").rstrip(".") + "%"


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from a round number to a round number."""

    step: float
    """The difference between two ticks."""
    first: int
    """The first tick, in steps from 0, and `last` the last one."""
    last: int

    def position(self, value: float) -> float:
        """A position in percent of the axis, to two decimals; values outside the axis are at its ends."""
        share = (value / self.step - self.first) / (self.last - self.first)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def percent(self, value: float) -> str:
        """A position as an attribute of SVG: ``41.62%``."""
        return svg_percent(self.position(value))

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The value and the label of each tick."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        values = [number * self.step for number in range(self.first, self.last + 1)]
        return tuple((value, f"{value:.{decimals}f}" if value else "0") for value in values)

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """The position and the label of each tick."""
        return tuple((self.percent(value), label) for value, label in self.labels)


def axis_for(values: Iterable[float]) -> Axis:
    """The axis from 0 to the round number above the highest value; it begins below 0 if a value is negative."""
    shown = [0.0, *values]
    low, high = min(shown), max(shown)
    if high <= low:
        return Axis(1.0, 0, 1)
    rough = (high - low) / MOST_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    # 1e-9 lets a value that equals a tick, but for rounding, be the last one.
    for factor in STEPS:
        step = factor * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= MOST_STEPS:
            return Axis(step, first, last)
    return Axis(10 * STEPS[-1] * power, -1, 1)


@dataclass(frozen=True, slots=True)
class Band:
    """What is not separable from the best team of a tier, in the row of one of its teams."""

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


def places(board: Board) -> tuple[Place, ...]:
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
    return axis_for(values)


def strips(
    board: Board, scores: Sequence[ColumnScores], axis: Axis, where: Sequence[Place]
) -> tuple[Strip | None, ...]:
    """The strip of each row, which is at a place among the tiers; None for a row without a score."""
    certainty = board.primary_certainty
    reaches = [_reach(tier, scores) for tier in certainty.tiers] if certainty else []
    return tuple(
        None
        if (mean := scores[position][0]) is None
        else Strip(
            mean=axis.percent(mean),
            interval=_interval(row.primary_certainty, axis),
            preliminary=_preliminary(board, row, axis),
            band=_band(board, reaches, axis, where, position),
        )
        for position, row in enumerate(board.rows)
    )


def _interval(certainty: RowCertainty | None, axis: Axis) -> tuple[str, str] | None:
    return _span(*certainty.interval, axis) if certainty and certainty.interval else None


def _preliminary(board: Board, row: Row, axis: Axis) -> str | None:
    score = row.entry.preliminary[0] if row.entry and board.shows_both else None
    return None if score is None else axis.percent(score)


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
    x, width = _span(low, best, axis)
    return Band(x, width, axis.percent(best), _line(certainty.tiers[tier].rows, where, position))


def _reach(tier: Tier, scores: Sequence[ColumnScores]) -> tuple[float, float]:
    """The lowest score of the band of a tier, which reaches to the lowest one of its teams at least, and the best."""
    members = [score for row in tier.rows if (score := scores[row][0]) is not None]
    return min(members + ([] if tier.reach is None else [members[0] - tier.reach])), members[0]


def _line(rows: Sequence[int], where: Sequence[Place], position: int) -> Literal["", "from", "through", "to"]:
    """The part of the line of a tier in one row of it; where another tier interrupts, only the first rows have it."""
    first = rows[0]
    last = next(at for at in range(first, len(where)) if where[at].closes)
    if first == last or not first <= position <= last:
        return ""
    return "from" if position == first else "to" if position == last else "through"
