"""What the templates show of boards in addition to their values: columns, rows, and further pages of a track."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import count
from typing import Literal, TypeVar

from scorer.board.board import Board, PastBoard, PastRow, Row, RowCertainty, counting_rule, rules
from scorer.board.site.captions import (
    Count,
    Statement,
    Status,
    are_interleaved,
    counts,
    front_summary,
    how_sure,
    shake_up,
    status,
    table_caption,
    what_is_ranked,
    why_without_score,
)
from scorer.board.site.figures import (
    Axis,
    Figure,
    Mark,
    Place,
    Strip,
    board_axis,
    histograms,
    places,
    sparklines,
    strips,
)
from scorer.live.entry import ColumnScores, Entry
from scorer.live.errata import BeforeAfter, PublishedErratum
from scorer.live.rules import TrackInForce
from scorer.measures import Measure
from scorer.options import RESAMPLES, SEED
from scorer.settings.rules import Phase
from scorer.wording import counted, letters, range_of_ranks, shared_rank

MARKED_ROWS = 300
"""With more rows, a board has no histograms and no sparklines, so that its page stays small."""

MEASURES = 3
"""How many further measures are shown at first; those that are equal for all rows are not."""

LEFT_OUT = ("last", "best", "queries", "measure", "entries", "change", "before", "interval")
"""The columns that a narrow window leaves out, in this order; of several measures, the last one first."""

QUARTERS = 4
"""Widths of columns are multiples of a quarter rem; the style sheet has a class for each, and for each window."""

WINDOW_STEP, SMALLEST_WINDOW, LARGEST_WINDOW = 4, 48, 160
"""Widths of windows in rem."""

DIGIT, BOLD_DIGIT, LETTER = 0.465, 0.585, 0.43
"""The widths of a digit, of a bold digit of the primary score, and of a letter of a heading in rem, in a wide font."""

PADDING = 0.6
"""Of a cell, in rem."""

WIDEST_HEAD = 26
"""The width at which the heading of a measure breaks, in quarters of a rem."""

SIDES = 7.0
"""The margins of the page, in rem."""

AXIS = 18.5
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
    toggle: int = 0
    """Its number in the list of columns; 0 for a column that is always shown."""
    shown: bool = True
    """Whether it is shown at first."""
    window: int = 0
    """The narrowest window that shows it, in rem; 0: every window."""

    @property
    def key(self) -> str:
        """Its name in the URL of a view; unique."""
        return self.measure.name if self.measure and self.kind == "measure" else self.kind

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
    drawn, both = len(board.rows) <= MARKED_ROWS, board.shows_both
    entries = [len(row.present_entries) for row in board.rows]
    has_tiers = board.primary_certainty is not None
    has_intervals = any(row.primary_certainty and row.primary_certainty.interval for row in board.rows)
    score_width = _score_width(board.track.shown_decimals, BOLD_DIGIT)
    candidates: list[BoardColumn | None] = [
        BoardColumn("tier", "Tier", 8, "ascending") if has_tiers else None,
        BoardColumn("rank", "Rank", 10, "ascending"),
        BoardColumn("range", "Range", 17, "ascending") if has_tiers else None,
        BoardColumn("team", "Team", 40, "ascending"),
        BoardColumn("affiliation", "Affiliation", 40, "ascending", shown=False)
        if any(row.team.affiliation for row in board.rows)
        else None,
        BoardColumn("score", measures[0].label, max(score_width, _head_width(measures[0])), measure=measures[0]),
        BoardColumn("interval", "95 % interval", 27) if has_intervals else None,
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
    ]
    return _with_windows(_with_toggles([column for column in candidates if column]))


OPTIONAL = ("tier", "range", "affiliation", "interval", "queries", "preliminary", "before", "change", "best")
"""The columns that a board may lack."""

ALWAYS = frozenset({"rank", "team", "score", "strip"})
"""The columns that cannot be switched off."""


def _further(measures: Sequence[MeasureColumn], scores: Sequence[ColumnScores], decimals: int) -> Iterable[BoardColumn]:
    """The columns of the measures after the primary one."""
    shown = 0
    for number, measure in enumerate(measures[1:], start=1):
        differs = shown < MEASURES and _differ([values[number] for values in scores])
        shown += differs
        width = max(_score_width(decimals, DIGIT), _head_width(measure))
        yield BoardColumn("measure", measure.label, width, measure=measure, shown=differs)


def _differ(values: Sequence[object]) -> bool:
    """Whether a column has two different values, or has nothing to compare."""
    present = [value for value in values if value is not None]
    return len(set(present)) > 1 or (len(present) == 1 == len(values))


def _score_width(decimals: int, digit: float) -> int:
    """The width of a score from 0 to 1 in quarters of a rem; a point takes about half the room of a digit."""
    return math.ceil(((decimals + 1.6) * digit + PADDING) * QUARTERS)


def _head_width(measure: MeasureColumn) -> int:
    """The width of the longest part of a name; longer ones break."""
    longest = max(map(len, (measure.head, *measure.lines)))
    return min(math.ceil((longest * LETTER + PADDING) * QUARTERS), WIDEST_HEAD)


def _with_toggles(columns: Sequence[BoardColumn]) -> list[BoardColumn]:
    numbers = count(1)
    return [column if column.kind in ALWAYS else replace(column, toggle=next(numbers)) for column in columns]


def _with_windows(columns: Sequence[BoardColumn]) -> tuple[BoardColumn, ...]:
    """The columns with the narrowest window of each that a narrow window leaves out."""
    width = SIDES + AXIS + sum(column.width for column in columns if column.shown) / QUARTERS
    windows = {}
    for kind in LEFT_OUT:
        for column in reversed(columns):
            if column.kind == kind and column.shown:
                windows[column.key] = _window(width)
                width -= column.width / QUARTERS
    return tuple(replace(column, window=windows.get(column.key, 0)) for column in columns)


def _window(width: float) -> int:
    """The narrowest window of the style sheet that has this width; 0 where every table fits."""
    window = WINDOW_STEP * math.ceil(width / WINDOW_STEP)
    return 0 if window < SMALLEST_WINDOW else min(window, LARGEST_WINDOW)


RULES, LATE = "rules.html", "late.html"

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page of the site."""

    title: str
    path: str
    """In the site, with forward slashes."""


def track_links(board: Board) -> tuple[PageLink, ...]:
    """The further pages of a track, in the order in which its board links to them."""
    folder = board.track.name
    links = [PageLink("Rules", f"{folder}/{RULES}")]
    if board.late:
        links.append(PageLink("Late board", f"{folder}/{LATE}"))
    links += [PageLink(f"Board of the phase {past.phase.name}", past_path(board, past.phase)) for past in board.past]
    return tuple(links)


def past_path(board: Board, phase: Phase) -> str:
    """The path of the board of a phase that has closed."""
    return f"{board.track.name}/phases/{phase.name}.html"


# The late board


@dataclass(frozen=True, slots=True)
class LateEntry:
    """An entry on the late board."""

    row: Row
    entry: Entry
    score: float | None
    """The primary score that the board shows."""
    distance: str
    """How long before the first phase, or after the end of its phase, it was received: ``2 hours late``."""


def late_entries(board: Board) -> tuple[LateEntry, ...]:
    """All entries of the late board, the best first; they have no rank."""
    entries = [
        LateEntry(row, entry, board.shown_scores(entry)[0], _distance(board, entry))
        for row in board.late
        for entry in row.entries
    ]
    return tuple(sorted(entries, key=lambda late: (late.score is None, -(late.score or 0.0), late.entry.index)))


def _distance(board: Board, entry: Entry) -> str:
    phases = board.phases.all
    if entry.admission == "early":
        return f"{_rounded(phases[0].start, entry.received)} early"
    phase = next(phase for phase in phases if phase.name == entry.phase)
    return f"{_rounded(entry.received, phase.end)} late"


def _rounded(later: datetime, earlier: datetime) -> str:
    """A duration in its largest unit, rounded down: ``3 days``."""
    duration = later - earlier
    for name, size in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if duration >= size:
            return counted(duration // size, name)
    return counted(duration // timedelta(seconds=1), "second") if duration >= timedelta(seconds=1) else "under a second"


# The board of a phase that has closed


@dataclass(frozen=True, slots=True)
class PastRowView:
    """A row on the board of a phase that has closed."""

    row: PastRow
    rank: str
    """`=3` if the rank is shared; empty for a row without a rank."""
    page: str
    """The slug of the page that the team has now; empty if it has none."""


def past_rows(board: Board, past: PastBoard) -> tuple[PastRowView, ...]:
    """The rows of the board of a phase that has closed, the best first; `board` is the present one."""
    pages = {row.team.folder: row.team.slug for row in board.rows}
    sharing = Counter(row.placing.rank for row in past.rows)
    return tuple(
        PastRowView(row, shared_rank(row.placing.rank, sharing), pages.get(row.folder, "")) for row in past.rows
    )


def difference(number: Number | None, other: Number | None) -> Number | None:
    """A number minus another one; None where either is missing."""
    return None if number is None or other is None else number - other


# The errata: every team before and after


@dataclass(frozen=True, slots=True)
class ErratumRow:
    """A team before and after an erratum."""

    change: BeforeAfter
    link: str
    """The path of the team's page in the site; empty without one."""
    before: str
    """The rank; `=3` if it was shared, empty without a rank."""
    after: str
    """As `before`."""
    move: int | None
    """Rank before minus rank after: above 0 if the team moved up; None where either is missing."""
    difference: float | None
    """Score after minus score before; None where either is missing, or the measures differ."""

    @property
    def is_changed(self) -> bool:
        return self.change.moves or self.change.is_rescored


def erratum_rows(erratum: PublishedErratum, paths: Container[str]) -> tuple[ErratumRow, ...]:
    """The rows of the table of an erratum; `paths` has the pages of the site."""
    changes = erratum.changes
    same = changes.before.measure == changes.after.measure
    before = Counter(change.before.rank for change in changes.teams)
    after = Counter(change.after.rank for change in changes.teams)
    return tuple(
        ErratumRow(
            change=change,
            link=path if (path := f"teams/{change.team.slug}.html") in paths else "",
            before=shared_rank(change.before.rank, before),
            after=shared_rank(change.after.rank, after),
            move=difference(change.before.rank, change.after.rank),
            difference=difference(change.after.score, change.before.score) if same else None,
        )
        for change in changes.teams
    )


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
    change: int | None
    """Preliminary rank minus rank: above 0 if the team moved up; None where either is missing."""
    place: Place
    strip: Strip | None
    histogram: Mark | None
    sparkline: Mark | None
    why: str
    """Why it has no rank, for a team that has none."""

    @property
    def certainty(self) -> RowCertainty | None:
        """Of the primary score."""
        return self.row.primary_certainty

    @property
    def tier(self) -> str:
        """The letter of its tier; empty for a row without a rank."""
        certainty = self.certainty
        return "" if certainty is None or certainty.tier is None else letters(certainty.tier)

    @property
    def range(self) -> str:
        """The ranks that the team may have: `3 to 5`, or `6 only`."""
        certainty = self.certainty
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
    figures: tuple[Figure, ...] = ()
    has_analysis: bool = False
    """Whether there is a page with its analysis."""

    @property
    def track(self) -> TrackInForce:
        return self.board.track

    @property
    def primary(self) -> MeasureColumn:
        return self.columns[0]

    @cached_property
    def rules(self) -> tuple[str, ...]:
        return rules(self.board)

    @property
    def counting_rule(self) -> str:
        if self.track.has_ladder:
            return "The entry with the best score that the Ladder has shown counts; of equal ones, the earliest."
        return counting_rule(self.board)

    @property
    def stage(self) -> str:
        """Which scores the board is ranked by: "final" or "preliminary"."""
        return self.track.shown_stage

    @property
    def shows_both(self) -> bool:
        """Whether preliminary scores are shown next to the final ones."""
        return self.board.shows_both

    @property
    def teams(self) -> int:
        return sum(not view.row.baseline for view in self.rows)

    @property
    def baselines(self) -> int:
        return len(self.rows) - self.teams

    @cached_property
    def ranked(self) -> tuple[RowView, ...]:
        return tuple(view for view in self.rows if view.row.rank is not None)

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

    @property
    def entries(self) -> int:
        return sum(len(view.row.present_entries) for view in self.rows)

    @cached_property
    def cells(self) -> Mapping[str, str]:
        """The classes of the cells of each column of the table, by its key; empty for a column that the table lacks."""
        return dict.fromkeys(OPTIONAL, "") | {column.key: column.css for column in self.layout}

    @property
    def has_tiers(self) -> bool:
        return self.board.primary_certainty is not None

    @property
    def has_interleaved_tiers(self) -> bool:
        certainty = self.board.primary_certainty
        return certainty is not None and are_interleaved(certainty)

    @property
    def has_intervals(self) -> bool:
        return bool(self.cells["interval"])

    @property
    def is_dense(self) -> bool:
        return len(self.rows) > DENSE_ROWS

    @property
    def lacks_marks(self) -> bool:
        """Whether histograms and sparklines are left out because the board is long."""
        return len(self.rows) > MARKED_ROWS

    @property
    def interval_decimals(self) -> int:
        return min(self.track.shown_decimals, INTERVAL_DECIMALS)

    @property
    def baseline_marks(self) -> tuple[str, ...]:
        """The positions of the baselines on the axis."""
        return tuple(view.strip.mean for view in self.rows if view.row.baseline and view.strip)

    @cached_property
    def year(self) -> int | None:
        """The year of the last entries of all teams; None if they differ."""
        years = {last.astimezone(UTC).year for view in self.rows if (last := view.row.last_received)}
        return years.pop() if len(years) == 1 else None

    # The sentences

    @property
    def caption(self) -> str:
        return table_caption(self.board)

    @property
    def summary(self) -> str:
        return front_summary(self.board)

    @property
    def how_sure(self) -> Statement:
        return how_sure(self.board)

    @property
    def last_received(self) -> datetime | None:
        """When the last entry that the board lists was received."""
        return max((row.last_received for row in self.board.rows if row.last_received), default=None)

    @property
    def what_is_ranked(self) -> str:
        return what_is_ranked(self.board)

    @property
    def shake_up(self) -> str:
        return shake_up(self.board)

    @property
    def resamples(self) -> int:
        """The number of resamples of the bootstrap."""
        return RESAMPLES

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return SEED

    @property
    def counts(self) -> tuple[Count, ...]:
        return counts(self.board)

    # The challenge

    @cached_property
    def status(self) -> Status | None:
        """Its place in the phases of the track; None without phases."""
        return status(self.board)

    @property
    def links(self) -> tuple[PageLink, ...]:
        """Further pages of the track."""
        return track_links(self.board)


def board_view(
    board: Board,
    columns: Mapping[str, MeasureColumn],
    figures: tuple[Figure, ...] = (),
    *,
    has_analysis: bool = False,
) -> BoardView:
    """The view of a board, with the column of each measure by its name.

    `figures` are the charts below its table.
    """
    scores = [board.shown_scores(row.entry) for row in board.rows]
    measures = tuple(columns[name] for name in board.columns)
    axis, where = board_axis(board, scores), places(board)
    rank_counts = Counter(row.rank for row in board.rows)
    before_counts = Counter(row.preliminary_rank for row in board.rows)
    marks = len(board.rows) <= MARKED_ROWS
    blank: tuple[Mark | None, ...] = (None,) * len(board.rows)
    drawn = histograms(board) if marks else blank
    parts = zip(
        board.rows,
        scores,
        where,
        strips(board, scores, axis, where),
        drawn,
        sparklines(board) if marks else blank,
        strict=True,
    )
    rows = tuple(
        RowView(
            row=row,
            rank=shared_rank(row.rank, rank_counts),
            before=shared_rank(row.preliminary_rank, before_counts),
            scores=values,
            change=difference(row.preliminary_rank, row.rank),
            place=place,
            strip=strip,
            histogram=histogram,
            sparkline=sparkline,
            why=why_without_score(row, values, hides_scores=board.track.hides_scores),
        )
        for row, values, place, strip, histogram, sparkline in parts
    )
    layout = board_columns(board, measures, scores, marks=any(drawn))
    return BoardView(board, measures, rows, layout, axis, figures, has_analysis)
