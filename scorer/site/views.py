"""What the templates see, beside the boards' own plain values."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scorer.board.board import Board, Row, Team
from scorer.board.rule_sheet import rules
from scorer.challenge.settings import Track
from scorer.charts.timeline import Point, Svg, timeline
from scorer.entries.entry import Entry, Scores
from scorer.measures import Measure

LEADING = 6
"""How many teams of a board stand on the first page, where ranks are shared."""

WINDOWS = (64, 72, 80, 88, 96, 104)
"""Widths of windows, in rem, for each of which the style sheet has a class."""


# What the templates see, beside the boards' own plain values.


@dataclass(frozen=True, slots=True)
class Column:
    """A measure as the head of a column, and its place on the page about measures."""

    measure: Measure
    name: str
    """Canonical."""
    head: str
    """`nDCG` of `nDCG(gain=exp)@10`."""
    tail: tuple[str, ...]
    """The rest, in pieces between which a line may break."""
    anchor: str
    """Unlike that of every other measure of the site."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a board, with what is worked out for the page alone."""

    row: Row
    rank: str
    """`=3` where the rank is shared; empty for an unranked row."""
    scores: Scores
    """Those that the board is ranked by; all None for a team with nothing scored."""
    preliminary_rank: int | None
    change: int | None
    """Ranks won (above 0) or lost between the preliminary and the final ranking; None where either is missing."""
    bar: float | None
    """The primary score in percent of the highest on the board, final or preliminary."""
    tick: float | None
    """The preliminary primary score on the same scale."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board, ready for its page."""

    board: Board
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    rules: tuple[str, ...]

    @property
    def track(self) -> Track:
        return self.board.track

    @property
    def primary(self) -> Column:
        return self.columns[0]

    @property
    def is_final(self) -> bool:
        return self.track.stage == "final"

    @property
    def both_sides(self) -> bool:
        """Are preliminary scores shown beside the final ones?"""
        return self.is_final and self.board.preliminary_queries > 0

    @property
    def ranked_queries(self) -> int:
        """The queries that the scores it is ranked by are the mean over."""
        if not self.is_final:
            return self.board.preliminary_queries
        return self.board.scored_queries - (self.board.preliminary_queries if self.track.final == "rest" else 0)

    @property
    def teams(self) -> int:
        return sum(not line.row.baseline for line in self.lines)

    @property
    def ranked(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.row.rank is not None)

    @property
    def leading(self) -> tuple[Line, ...]:
        """The first three ranks, or as many teams of them as a summary has room for."""
        return tuple(line for line in self.ranked if line.row.rank in (1, 2, 3))[:LEADING]

    @property
    def entries(self) -> int:
        return sum(len(line.row.sent) for line in self.lines)

    def with_status(self, status: str) -> int:
        """How many entries have it."""
        return sum(entry.status == status for line in self.lines for entry in line.row.entries)

    @property
    def fits(self) -> str:
        """The class of the narrowest window that holds the whole table, from an estimate of its width in rem."""
        digits = self.track.decimals + 2
        letters = [max(5, digits, *map(len, (column.head, *column.tail))) for column in self.columns]
        width = 40 + sum(0.56 * count + 1.2 for count in letters)
        if self.both_sides:
            width += 0.56 * digits + 8.8
        return next((f"fits-{limit}" for limit in WINDOWS if width <= limit), "fits-none")


@dataclass(frozen=True, slots=True)
class TeamOnBoard:
    """A team on one board."""

    view: BoardView
    line: Line
    numbered: tuple[tuple[int, Entry], ...]
    """Its entries, latest first, each with its number from the first (1)."""
    picture: Svg | None
    """Its primary score over time; None where there are less than two."""


def board_view(board: Board, legend: Mapping[str, Column]) -> BoardView:
    track = board.track
    scores = [_shown(track, row.entry, len(board.columns)) for row in board.rows]
    drawn = [values[0] for values in scores] + [row.entry.preliminary[0] for row in board.rows if row.entry]
    highest = max((score for score in drawn if score is not None), default=0.0)
    standing = Counter(row.rank for row in board.rows)
    before = _preliminary_ranks(board) if track.stage == "final" else {}
    lines = tuple(
        _line(row, values, highest, shared=standing[row.rank] > 1, preliminary_rank=before.get(row.team.slug))
        for row, values in zip(board.rows, scores, strict=True)
    )
    return BoardView(board, tuple(legend[name] for name in board.columns), lines, tuple(rules(board)))


def _line(row: Row, scores: Scores, highest: float, *, shared: bool, preliminary_rank: int | None) -> Line:
    return Line(
        row=row,
        rank="" if row.rank is None else f"={row.rank}" if shared else f"{row.rank}",
        scores=scores,
        preliminary_rank=preliminary_rank,
        change=None if row.rank is None or preliminary_rank is None else preliminary_rank - row.rank,
        bar=_percent(scores[0], highest),
        tick=_percent(row.entry.preliminary[0], highest) if row.entry else None,
    )


def _shown(track: Track, entry: Entry | None, columns: int) -> Scores:
    """The scores that the track's board is ranked by."""
    if entry is None:
        return (None,) * columns
    return entry.final if track.stage == "final" else entry.preliminary


def _percent(score: float | None, highest: float) -> float | None:
    if score is None or highest <= 0:
        return None
    return max(100 * score / highest, 0.0)


def _preliminary_ranks(board: Board) -> dict[str, int]:
    """Where each ranked team would stand by preliminary scores, under the track's rule for equal ones."""
    keys = {
        row.team.slug: (-score, row.entry.received.timestamp() if board.track.equal_ranks == "earlier" else 0.0)
        for row in board.rows
        if row.rank is not None and row.entry is not None and (score := row.entry.preliminary[0]) is not None
    }
    order = sorted(keys.values())
    return {slug: 1 + bisect_left(order, key) for slug, key in keys.items()}


def legend_of(boards: Iterable[Board]) -> dict[str, Column]:
    """Every measure on any board under its name, in order of appearance."""
    legend: dict[str, Column] = {}
    anchors: set[str] = set()
    for board in boards:
        measures = {str(measure): measure for measure in board.track.all_measures}
        for name in board.columns:
            if name not in legend:
                anchor = _anchor(name, anchors)
                anchors.add(anchor)
                head, *tail = re.split(r"(?=[(@])|(?<=[,])", name)
                legend[name] = Column(measures[name], name, head, tuple(tail), anchor)
    return legend


def _anchor(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return next(
        anchor
        for number in range(len(taken) + 1)
        if (anchor := f"{plain}-v{number + 1}" if number else plain) not in taken
    )


def kinds_of(legend: Mapping[str, Column]) -> list[list[Column]]:
    """The measures, those of one kind together."""
    kinds: dict[str, list[Column]] = {}
    for column in legend.values():
        kinds.setdefault(column.measure.kind.name, []).append(column)
    return list(kinds.values())


def teams_of(views: Iterable[BoardView]) -> list[tuple[Team, list[TeamOnBoard]]]:
    """Every team with its places, in order of the boards."""
    teams: dict[str, tuple[Team, list[TeamOnBoard]]] = {}
    for view in views:
        for line in view.lines:
            _, places = teams.setdefault(line.row.team.slug, (line.row.team, []))
            places.append(_team_place(view, line))
    return list(teams.values())


def _team_place(view: BoardView, line: Line) -> TeamOnBoard:
    entries = line.row.entries
    numbered = tuple((len(entries) - behind, entry) for behind, entry in enumerate(entries))
    points = [
        Point(entry.received, score, f"Entry {number}: {score:.{view.track.decimals}f}", entry.counts_for_board)
        for number, entry in numbered
        if (score := _shown(view.track, entry, len(view.columns))[0]) is not None
    ]
    side = "Final" if view.is_final else "Preliminary"
    title = f"{side} {view.primary.name} of each scored entry over time"
    picture = timeline(points, title, view.track.decimals) if len(points) > 1 else None
    return TeamOnBoard(view, line, numbered, picture)
