"""The small pictures in the rows of a board: the histogram of a team's queries, and its score over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scorer.board.board import Board, counting_scores
from scorer.board.certainty import BINS
from scorer.charts.timeline import scaled

HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT = 60, 18
SPARK_WIDTH, SPARK_HEIGHT = 64, 16
MARGIN = 2
"""The distance of a sparkline from the edges of its picture."""

RIGHT = SPARK_WIDTH - MARGIN


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


def _coordinate(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def histograms(board: Board) -> tuple[Mark | None, ...]:
    """The histogram of the primary scores of each row, whose highest bar fills it; None for a row without one."""
    return tuple(_histogram(row.histogram) if any(row.histogram) else None for row in board.rows)


def _histogram(counts: Sequence[int]) -> Mark:
    width, highest = HISTOGRAM_WIDTH / BINS, max(counts)
    bars = "".join(
        f"M{_coordinate(number * width)} {HISTOGRAM_HEIGHT}v-{_coordinate(_height(count, highest))}"
        f"h{_coordinate(width - 0.5)}V{HISTOGRAM_HEIGHT}"
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


def _height(count: int, highest: int) -> float:
    """The height of a bar: the square root of the count, so that small counts show next to the many queries at 0."""
    return HISTOGRAM_HEIGHT * math.sqrt(count / highest)


def _percent(part: int, whole: int) -> str:
    """``62 %``; ``under 1 %`` where the share is not 0 but rounds to it."""
    share = 100 * part / whole
    return "under 1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def sparklines(board: Board) -> tuple[Mark | None, ...]:
    """The score of each row that counted, all on one scale; None for a row without a scored entry.

    Times go from the first to the last scored entry of the board.
    """
    records = [
        [(when, score) for when, score in counting_scores(board, row) if score is not None] for row in board.rows
    ]
    times = [entry.received.timestamp() for row in board.rows for entry in row.entries if entry.state == "scored"]
    scores = [score for steps in records for _, score in steps]
    if not scores:
        return (None,) * len(board.rows)
    decimals = board.track.shown_decimals
    ends = min(times), max(times), min(0.0, *scores), max(scores)
    return tuple(_sparkline(steps, ends, decimals) if steps else None for steps in records)


def _sparkline(
    records: Sequence[tuple[datetime, float]], ends: tuple[float, float, float, float], decimals: int
) -> Mark:
    """The scores that counted; `ends` are the first and the last time, and the lowest and the highest score."""
    start, end, low, high = ends
    steps = [
        (
            scaled(when.timestamp(), start, end, MARGIN, RIGHT, single=1.0),
            scaled(score, low, high, SPARK_HEIGHT - MARGIN, MARGIN, single=1.0),
        )
        for when, score in records
    ]
    (x, y), *others = steps
    path = f"M{_coordinate(x)} {_coordinate(y)}"
    path += "".join(f"H{_coordinate(right)}V{_coordinate(below)}" for right, below in others)
    scores = [f"{score:.{decimals}f}" for _, score in records]
    label = f"{scores[0]} at first" if len(scores) == 1 else f"{scores[0]} at first, {scores[-1]} at last"
    return Mark(f"{path}H{_coordinate(RIGHT)}", label, records[-1][0].timestamp(), (RIGHT, steps[-1][1]))
