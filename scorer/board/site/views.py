"""What the templates show of boards in addition to their values: columns, rows, and further pages of a track."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import Literal

from scorer.board.board import Board, Row, Steps, counting_scores
from scorer.board.charts.panel import Axis
from scorer.board.site.figures import (
    LONG_ROWS,
    CaptionedChart,
    Mark,
    Place,
    Strip,
    board_axis,
    histograms,
    places_of_rows,
    sparklines,
    strips,
)
from scorer.live.entry import ColumnScores
from scorer.measures import Measure
from scorer.rules.metadata import MetadataField
from scorer.wording import letters, range_of_ranks, shared_ranks

MEASURES = 3
"""How many further measures are shown at first; those that are equal for all rows are not."""

LEFT_OUT = (
    "last",
    "best",
    "queries",
    "measure",
    "entries",
    "change",
    "before",
    "interval judged",
    "interval bias",
    "interval machine",
    "interval",
)
"""The columns that a narrow window leaves out, in this order; of several measures, the last one first."""

QUARTERS = 4
"""Widths of columns are multiples of a quarter rem; the style sheet has a class for each, and for each window."""

WINDOW_STEP, SMALLEST_WINDOW, LARGEST_WINDOW = 4, 48, 160
"""Widths of windows in rem."""

_DIGIT, _BOLD_DIGIT, _LETTER = 0.465, 0.585, 0.43
"""The widths of a digit, of a bold digit of the primary score, and of a letter of a heading in rem, in a wide font."""

PADDING = 0.6
"""Of a cell, in rem."""

_NAME_LETTER, _TEAM, _WIDEST_NAME, _WIDE = 0.52, 40, 60, 90
"""The width of a letter of a name in rem; of the column of names at least and at most, in quarters of a rem; and of the
windows, in rem, from which on it is wider than at least."""

WIDEST_HEAD, ARROW = 26, 5
"""The width at which the heading of a measure breaks, and of the sign of its order, in quarters of a rem."""

SIDES = 7.0
"""The margins of the page, in rem."""

_AXIS = 18.5
"""The least width of the column of strips, in rem; without room for it, a column is left out."""


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column of boards and as an entry of the page of measures."""

    measure: Measure
    name: str
    """Canonical."""
    head: str
    """`nDCG` of `nDCG(gain=exp)@10`."""
    tail: tuple[str, ...]
    """The rest of the name, in pieces between which a line may break."""
    anchor: str
    """Unique on the page of measures."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The rest of the name for the heading of a narrow column: several cut-offs are ``@5…30``."""
        cutoffs = self.measure.cutoff
        if not isinstance(cutoffs, tuple) or len(cutoffs) < 3:
            return self.tail
        parameters = re.sub(r"@.*", "", "".join(self.tail))
        return *([parameters] if parameters else []), f"@{cutoffs[0]}…{cutoffs[-1]}"

    @property
    def label(self) -> str:
        """The name where there is little room: ``MARp@5…30``."""
        return self.head + "".join(self.lines)


def measure_columns(boards: Iterable[Board]) -> dict[str, MeasureColumn]:
    """The column of every measure on any board by its name, in order of appearance."""
    columns: dict[str, MeasureColumn] = {}
    for board in boards:
        measures = {str(measure): measure for measure in board.track.all_measures}
        for name in board.columns:
            if name not in columns:
                anchor = _anchor(name, {column.anchor for column in columns.values()})
                head, *tail = re.split(r"(?=[(@])|(?<=[,])", name)
                columns[name] = MeasureColumn(measures[name], name, head, tuple(tail), anchor)
    return columns


def _anchor(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return next(
        anchor
        for number in range(len(taken) + 1)
        if (anchor := f"{plain}-v{number + 1}" if number else plain) not in taken
    )


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of a board."""

    kind: str
    """Its class in the style sheet; measures share one."""
    label: str
    """Its name in the list of columns, in copies and in messages."""
    width: int = 0
    """In quarters of a rem; 0: it takes the rest."""
    first: Literal["ascending", "descending"] = "descending"
    """The order of the first click on its heading."""
    measure: MeasureColumn | None = None
    field: MetadataField | None = None
    toggle: int = 0
    """Its number in the list of columns; 0 for a column that is always shown."""
    shown: bool = True
    """Whether it is shown at first."""
    window: int = 0
    """The narrowest window that shows it, in rem; 0: every window."""

    @property
    def key(self) -> str:
        """Its name in the URL of a view; unique."""
        if self.field:
            return f"stated-{self.field.name}"
        return self.measure.name if self.measure and self.kind == "measure" else self.kind.split()[-1]

    @property
    def css(self) -> str:
        """The classes of its cells."""
        toggle = f" t{self.toggle}" if self.toggle else ""
        return f"{self.kind}{toggle}" + (f" from-{self.window}" if self.window else "")


def board_columns(
    board: Board, measures: Sequence[MeasureColumn], scores: Sequence[ColumnScores], *, marks: bool
) -> tuple[BoardColumn, ...]:
    """The columns of a board, in order.

    The primary measure is the first of `measures`; `scores` has the shown scores of each row. `marks` says whether the
    scores of queries are drawn for any row.
    """
    drawn, both = len(board.rows) <= LONG_ROWS, board.shows_both
    entries = [len(row.present_entries) for row in board.rows]
    has_tiers = board.primary_certainty is not None
    has_intervals = any(row.primary_certainty and row.primary_certainty.interval for row in board.rows)
    has_bounds = any(row.primary_bounds for row in board.rows)
    score_width = _score_width(board.track.shown_decimals, _BOLD_DIGIT)
    candidates: list[BoardColumn | None] = [
        BoardColumn("tier", "Tier", 8, "ascending") if has_tiers else None,
        BoardColumn("rank", "Rank", 10, "ascending"),
        BoardColumn("range", "Range", 17, "ascending") if has_tiers else None,
        BoardColumn("team", "Team", _TEAM, "ascending"),
        BoardColumn("affiliation", "Affiliation", 40, "ascending", shown=False)
        if any(row.team.affiliation for row in board.rows)
        else None,
        BoardColumn(
            "score", measures[0].label, max(score_width, _head_width(measures[0]) + ARROW), measure=measures[0]
        ),
        BoardColumn("interval", "95 % interval", 27) if has_intervals else None,
        BoardColumn("interval machine", "By the machine", 20) if board.checked_queries else None,
        BoardColumn("interval bias", "Bias of the machine", 43) if board.checked_queries else None,
        BoardColumn("interval judged", "Unjudged bounds", 27) if has_bounds else None,
        BoardColumn("strip", "Scores on an axis"),
        BoardColumn("queries", "Queries", 18, "ascending") if drawn and marks else None,
        *_further(measures, scores, board.track.shown_decimals),
        BoardColumn("preliminary", f"Preliminary {measures[0].label}", score_width, measure=measures[0], shown=False)
        if both
        else None,
        BoardColumn("before", "Preliminary rank", 11, "ascending") if both else None,
        BoardColumn("change", "Change", 13) if both else None,
        BoardColumn("entries", "Entries", 12, shown=_differ(entries)),
        BoardColumn("best", "Over time", 18, shown=any(number > 1 for number in entries)) if drawn else None,
        BoardColumn("last", "Last entry", 17, shown=_differ([row.last_received for row in board.rows])),
        *(
            BoardColumn(
                "stated figure" if field.type == "number" else "stated", field.label, 32, field=field, shown=False
            )
            for field in board.metadata_fields
        ),
    ]
    numbers = count(1)
    columns = _with_windows(
        [
            column if column.kind in ALWAYS else replace(column, toggle=next(numbers))
            for column in candidates
            if column is not None
        ]
    )
    width = _team_width(board, columns)
    return tuple(replace(column, width=width) if column.kind == "team" else column for column in columns)


ALWAYS = frozenset({"rank", "team", "score", "strip"})
"""The columns that cannot be switched off."""


def _further(measures: Sequence[MeasureColumn], scores: Sequence[ColumnScores], decimals: int) -> Iterable[BoardColumn]:
    """The columns of the measures after the primary one."""
    shown = 0
    for number, measure in enumerate(measures[1:], start=1):
        differs = shown < MEASURES and _differ([values[number] for values in scores])
        shown += differs
        width = max(_score_width(decimals, _DIGIT), _head_width(measure))
        yield BoardColumn("measure", measure.label, width, measure=measure, shown=differs)


def _differ(values: Sequence[object]) -> bool:
    """Whether a column has two different values, or has nothing to compare."""
    present = [value for value in values if value is not None]
    return len(set(present)) > 1 or (len(present) == 1 == len(values))


def _score_width(decimals: int, digit: float) -> int:
    """The width of a score from 0 to 1 in quarters of a rem; a point takes about half the room of a digit."""
    return math.ceil(((decimals + 1.6) * digit + PADDING) * QUARTERS)


def _team_width(board: Board, columns: Sequence[BoardColumn]) -> int:
    """The width of the longest name, as far as the other columns leave room in a window of `_WIDE` rem."""
    badges = ("baseline" if row.baseline else row.team.status if row.team.is_excluded else "" for row in board.rows)
    longest = max(
        (len(f"{row.name} {badge}".strip()) for row, badge in zip(board.rows, badges, strict=True)), default=0
    )
    wanted = min(math.ceil((longest * _NAME_LETTER + 2 * PADDING) * QUARTERS), _WIDEST_NAME)
    spare = int((_WIDE - SIDES - _AXIS) * QUARTERS) - sum(column.width for column in columns if column.shown)
    return max(_TEAM, min(wanted, _TEAM + spare))


def _head_width(measure: MeasureColumn) -> int:
    """The width of the longest part of a name; longer ones break."""
    longest = max(map(len, (measure.head, *measure.lines)))
    return min(math.ceil((longest * _LETTER + PADDING) * QUARTERS), WIDEST_HEAD)


def _with_windows(columns: Sequence[BoardColumn]) -> tuple[BoardColumn, ...]:
    """The columns with the narrowest window of the style sheet that has each; 0 where every table fits."""
    width = SIDES + _AXIS + sum(column.width for column in columns if column.shown) / QUARTERS
    windows = {}
    for kind in LEFT_OUT:
        for column in reversed(columns):
            if column.kind == kind and column.shown:
                window = WINDOW_STEP * math.ceil(width / WINDOW_STEP)
                windows[column.key] = 0 if window < SMALLEST_WINDOW else min(window, LARGEST_WINDOW)
                width -= column.width / QUARTERS
    return tuple(replace(column, window=windows.get(column.key, 0)) for column in columns)


LEADING_TEAMS = 5
MOST_LEADING_TEAMS = 10
"""The front page shows whole tiers until they have `LEADING_TEAMS` teams, and at most `MOST_LEADING_TEAMS`."""

DENSE_ROWS = 30
"""With more rows, the rows of a board are lower, and its axis is repeated below it."""

INTERVAL_DECIMALS = 3
"""How many decimals the ends of an interval have at most."""


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of a board."""

    row: Row
    rank: str
    """`=3` if the rank is shared; empty for a row without a rank."""
    before: str
    """The preliminary rank, as `rank`."""
    scores: ColumnScores
    """The scores that the board is ranked by; all None for a team without a scored entry."""
    place: Place
    strip: Strip | None
    histogram: Mark | None
    sparkline: Mark | None

    @property
    def tier(self) -> str:
        """The letter of its tier; empty for a row without a rank."""
        certainty = self.row.primary_certainty
        return "" if certainty is None or certainty.tier is None else letters(certainty.tier)

    @property
    def range(self) -> str:
        """The ranks that the team may have: `3 to 5`, or `6 only`."""
        certainty = self.row.primary_certainty
        if certainty is None or certainty.rank_range is None:
            return ""
        return range_of_ranks(*certainty.rank_range)

    @property
    def css(self) -> str:
        """The classes of the row."""
        words = [
            "excluded" if self.row.team.is_excluded else "",
            "baseline" if self.row.baseline else "" if self.row.entry else "unscored",
            "in-tier" if self.place.tier is not None else "",
            "opens" if self.place.opens else "",
            "closes" if self.place.closes else "",
        ]
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class BoardView:
    """The board of a track. Every team's page reads it, so what is derived from all rows is computed once."""

    board: Board
    columns: tuple[MeasureColumn, ...]
    """Its measures, the primary one first."""
    rows: tuple[RowView, ...]
    layout: tuple[BoardColumn, ...]
    """The columns of the table."""
    axis: Axis
    """Of the strips."""
    figures: tuple[CaptionedChart, ...] = ()
    has_analysis: bool = False
    """Whether there is a page with its analysis."""

    @cached_property
    def ranked(self) -> tuple[RowView, ...]:
        return tuple(view for view in self.rows if view.row.rank is not None)

    @cached_property
    def counted(self) -> Mapping[str, Steps]:
        """The scores of each row that counted over time, by its slug."""
        return {row.slug: counting_scores(self.board, row) for row in self.board.rows}

    @property
    def leading(self) -> tuple[RowView, ...]:
        """The teams of the first tiers, for the front page; without tiers, those of the first ranks."""
        shown: list[RowView] = []
        for view in self.ranked:
            same = bool(shown) and (view.tier == shown[-1].tier if view.tier else view.rank == shown[-1].rank)
            if len(shown) >= MOST_LEADING_TEAMS or (len(shown) >= LEADING_TEAMS and not same):
                break
            shown.append(view)
        return tuple(shown)

    @cached_property
    def cells(self) -> Mapping[str, str]:
        """The classes of the cells of each column of the table, by its key; empty for a column that the table lacks."""
        return defaultdict(str, {column.key: column.css for column in self.layout})

    @property
    def filters(self) -> tuple[BoardColumn, ...]:
        """The columns with a few values, by which rows are chosen."""
        return tuple(each for each in self.layout if each.field and each.field.type in ("choice", "yes-no"))

    @property
    def is_dense(self) -> bool:
        return len(self.rows) > DENSE_ROWS

    @property
    def is_long(self) -> bool:
        return len(self.rows) > LONG_ROWS

    @property
    def interval_decimals(self) -> int:
        return min(self.board.track.shown_decimals, INTERVAL_DECIMALS)

    @property
    def baseline_marks(self) -> tuple[str, ...]:
        """The positions of the baselines on the axis."""
        return tuple(view.strip.mean for view in self.rows if view.row.baseline and view.strip)

    @cached_property
    def year(self) -> int | None:
        """The year of the last entries of all teams; None if they differ."""
        years = {last.astimezone(UTC).year for view in self.rows if (last := view.row.last_received)}
        return years.pop() if len(years) == 1 else None

    @property
    def last_received(self) -> datetime | None:
        """When the last entry that the board lists was received."""
        return max((row.last_received for row in self.board.rows if row.last_received), default=None)


def board_view(
    board: Board,
    columns: Mapping[str, MeasureColumn],
    figures: tuple[CaptionedChart, ...] = (),
    *,
    has_analysis: bool = False,
) -> BoardView:
    """The view of a board, with the column of each measure by its name.

    `figures` are the charts below its table.
    """
    scores = [board.shown_scores(row.entry) for row in board.rows]
    measures = tuple(columns[name] for name in board.columns)
    axis, where = board_axis(board, scores), places_of_rows(board)
    marks = len(board.rows) <= LONG_ROWS
    blank: tuple[Mark | None, ...] = (None,) * len(board.rows)
    drawn = histograms(board) if marks else blank
    rows = tuple(
        map(
            RowView,
            board.rows,
            shared_ranks(row.rank for row in board.rows),
            shared_ranks(row.preliminary_rank for row in board.rows),
            scores,
            where,
            strips(board, scores, axis, where),
            drawn,
            sparklines(board) if marks else blank,
        )
    )
    layout = board_columns(board, measures, scores, marks=any(drawn))
    return BoardView(board, measures, rows, layout, axis, figures, has_analysis)
