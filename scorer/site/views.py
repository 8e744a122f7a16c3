"""What the templates show of boards, in addition to their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from scorer.board.board import Board, Row
from scorer.board.certainty import RowCertainty
from scorer.board.rules import counting_rule, rules
from scorer.challenge.settings import Track
from scorer.live.entry import ColumnScores
from scorer.options import RESAMPLES, SEED
from scorer.site.captions import (
    Count,
    Statement,
    are_interleaved,
    counts,
    front_summary,
    how_sure,
    shake_up,
    table_caption,
    what_is_ranked,
)
from scorer.site.columns import MARKED_ROWS, OPTIONAL, BoardColumn, MeasureColumn, board_columns
from scorer.site.entry_words import why_without_score
from scorer.site.figures import Figure
from scorer.site.marks import Mark, histograms, sparklines
from scorer.site.status import Status, status
from scorer.site.strip import Axis, Place, Strip, board_axis, places, strips
from scorer.site.track_pages import PageLink, difference, track_links
from scorer.wording import letters, range_of_ranks, shared_rank

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
    def track(self) -> Track:
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
