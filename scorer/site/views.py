"""What the templates show of boards and measures, in addition to their values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from scorer.board.board import Board, Row
from scorer.board.rule_sheet import rules
from scorer.challenge.settings import Track
from scorer.entries.entry import ColumnScores, Entry, Status
from scorer.measures import Measure

LEADING_RANKS = 3
LEADING_TEAMS = 6
"""How many ranks of a board the front page shows, and at most how many teams."""

WINDOW_WIDTHS = (64, 72, 80, 88, 96, 104)
"""Widths of windows in rem; the style sheet has a class for each."""


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


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of a board."""

    row: Row
    rank: str
    """`=3` if the rank is shared; empty for a row without a rank."""
    scores: ColumnScores
    """The scores that the board is ranked by; all None for a team without a scored entry."""
    change: int | None
    """Preliminary rank minus rank: above 0 if the team moved up; None where either is missing."""
    bar: float | None
    """The primary score in percent of the highest on the board, final or preliminary."""
    tick: float | None
    """The preliminary primary score on the same scale."""


@dataclass(frozen=True)
class BoardView:
    """The board of a track. Every team's page reads it, so what is derived from all rows is computed once."""

    board: Board
    columns: tuple[MeasureColumn, ...]
    rows: tuple[RowView, ...]
    rules: tuple[str, ...]

    @property
    def track(self) -> Track:
        return self.board.track

    @property
    def primary(self) -> MeasureColumn:
        return self.columns[0]

    @property
    def stage(self) -> str:
        """Which scores the board is ranked by: "final" or "preliminary"."""
        return "final" if self.track.shows_final else "preliminary"

    @property
    def shows_both(self) -> bool:
        """Whether preliminary scores are shown next to the final ones."""
        return self.track.shows_final and self.board.preliminary_queries > 0

    @property
    def ranked_queries(self) -> int:
        """How many queries the scores that the board is ranked by are means over."""
        if not self.track.shows_final:
            return self.board.preliminary_queries
        return self.board.scored_queries - (self.board.preliminary_queries if self.track.final == "rest" else 0)

    @property
    def teams(self) -> int:
        return sum(not view.row.baseline for view in self.rows)

    @cached_property
    def ranked(self) -> tuple[RowView, ...]:
        return tuple(view for view in self.rows if view.row.rank is not None)

    @property
    def leading(self) -> tuple[RowView, ...]:
        """The rows of the first ranks."""
        return tuple(view for view in self.rows if view.row.rank in range(1, LEADING_RANKS + 1))[:LEADING_TEAMS]

    @property
    def entries(self) -> int:
        return sum(len(view.row.sent) for view in self.rows)

    def with_status(self, *statuses: Status) -> int:
        """How many entries have one of these."""
        return sum(entry.status in statuses for view in self.rows for entry in view.row.entries)

    @property
    def window_class(self) -> str:
        """The class of the narrowest window that shows the whole table, by an estimate of its width in rem."""
        digits = self.track.decimals + 2
        letters = [max(5, digits, *map(len, (column.head, *column.tail))) for column in self.columns]
        width = 40 + sum(0.56 * count + 1.2 for count in letters)
        if self.shows_both:
            width += 0.56 * digits + 8.8
        return next((f"fits-{limit}" for limit in WINDOW_WIDTHS if width <= limit), "fits-none")


def board_view(board: Board, columns: Mapping[str, MeasureColumn]) -> BoardView:
    """The view of a board; `columns` has the column of each of its measures by name."""
    scores = [shown_scores(board, row.entry) for row in board.rows]
    drawn = [values[0] for values in scores] + [row.entry.preliminary[0] for row in board.rows if row.entry]
    highest = max((score for score in drawn if score is not None), default=0.0)
    sharing = Counter(row.rank for row in board.rows)
    rows = tuple(
        _row_view(row, values, highest, shared=sharing[row.rank] > 1)
        for row, values in zip(board.rows, scores, strict=True)
    )
    return BoardView(board, tuple(columns[name] for name in board.columns), rows, rules(board))


def _row_view(row: Row, scores: ColumnScores, highest: float, *, shared: bool) -> RowView:
    return RowView(
        row=row,
        rank="" if row.rank is None else f"={row.rank}" if shared else f"{row.rank}",
        scores=scores,
        change=None if row.rank is None or row.preliminary_rank is None else row.preliminary_rank - row.rank,
        bar=_percent(scores[0], highest),
        tick=_percent(row.entry.preliminary[0], highest) if row.entry else None,
    )


def shown_scores(board: Board, entry: Entry | None) -> ColumnScores:
    """The scores of an entry that the board is ranked by; all None without an entry."""
    if entry is None:
        return (None,) * len(board.columns)
    return entry.final if board.track.shows_final else entry.preliminary


def _percent(score: float | None, highest: float) -> float | None:
    if score is None or highest <= 0:
        return None
    return max(100 * (score / highest), 0.0)


def measure_columns(boards: Iterable[Board]) -> dict[str, MeasureColumn]:
    """The column of every measure on any board by its name, in order of appearance."""
    columns: dict[str, MeasureColumn] = {}
    anchors: set[str] = set()
    for board in boards:
        measures = {str(measure): measure for measure in board.track.all_measures}
        for name in board.columns:
            if name not in columns:
                anchor = _anchor(name, anchors)
                anchors.add(anchor)
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


def by_kind(columns: Mapping[str, MeasureColumn]) -> list[list[MeasureColumn]]:
    """The columns in groups of measures of the same kind."""
    kinds: dict[str, list[MeasureColumn]] = {}
    for column in columns.values():
        kinds.setdefault(column.measure.kind.name, []).append(column)
    return list(kinds.values())
