"""What an erratum changes on a board: the ranks and scores of every team before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.board.board import Board, Row, Team
from scorer.options import Stage
from scorer.wording import counted


@dataclass(frozen=True, slots=True)
class Scale:
    """What the scores of a board are."""

    measure: str
    """The name of the primary measure."""
    decimals: int
    stage: Stage
    """Which scores the board was ranked by."""


@dataclass(frozen=True, slots=True)
class Placing:
    """A team's place on a board; None where it has none."""

    rank: int | None
    score: float | None
    """On the primary measure, rounded to the decimals of the track."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A team before and after an erratum."""

    team: Team
    baseline: bool
    before: Placing
    after: Placing

    @property
    def moves(self) -> bool:
        """Whether the rank changes."""
        return self.before.rank != self.after.rank

    @property
    def is_rescored(self) -> bool:
        """Whether the score changes."""
        return self.before.score != self.after.score


@dataclass(frozen=True, slots=True)
class Changes:
    """Two boards of the same entries, side by side."""

    before: Scale
    after: Scale
    teams: tuple[BeforeAfter, ...]
    """In the order of the board after; teams that are not on it follow. Baselines are among them."""
    are_hidden: bool = False
    """Whether the board showed no scores, because its phase shows nothing; then no team has any."""

    @property
    def summary(self) -> str:
        """How many scores and ranks of teams change, in a sentence; baselines are not counted."""
        if self.are_hidden:
            return "The board showed no scores at that time, so none are compared."
        teams = [each for each in self.teams if not each.baseline]
        scores, ranks = sum(each.is_rescored for each in teams), sum(each.moves for each in teams)
        return (
            f"Of {counted(len(teams), 'team')}, {scores:,} {'has' if scores == 1 else 'have'} another score and "
            f"{ranks:,} another rank."
        )


def changes(before: Board, after: Board) -> Changes:
    """The boards of the same entries by two bases, side by side."""
    earlier, later = ({row.team.slug: row for row in board.rows} for board in (before, after))
    order = [*later, *(slug for slug in earlier if slug not in later)]
    return Changes(
        _scale(before),
        _scale(after),
        tuple(
            BeforeAfter(
                team=(later.get(slug) or earlier[slug]).team,
                baseline=(later.get(slug) or earlier[slug]).baseline,
                before=_placing(before, earlier.get(slug)),
                after=_placing(after, later.get(slug)),
            )
            for slug in order
        ),
        are_hidden=after.track.hides_scores,
    )


def _scale(board: Board) -> Scale:
    return Scale(board.columns[0], board.track.shown_decimals, board.track.shown_stage)


def _placing(board: Board, row: Row | None) -> Placing:
    return Placing(None, None) if row is None else Placing(row.rank, board.shown_scores(row.entry)[0])


def recorded_changes(found: Changes) -> dict[str, Any]:
    """The changes as plain values for the record, with the teams by the names of their folders."""
    return {
        "scales": [[each.measure, each.decimals, each.stage] for each in (found.before, found.after)],
        "teams": [
            [
                each.team.folder,
                each.baseline,
                [each.before.rank, each.before.score],
                [each.after.rank, each.after.score],
            ]
            for each in found.teams
        ],
        "hidden": found.are_hidden,
    }


def changes_of_record(values: Mapping[str, Any], teams: Sequence[Team]) -> Changes:
    """The changes that `recorded_changes` returned.

    Parameters
    ----------
    values
        The plain values.
    teams
        All teams that are known now, with their present names.
    """
    known = {team.folder: team for team in teams}
    before, after = (Scale(*each) for each in values["scales"])
    rows = (
        BeforeAfter(known.get(folder, Team(folder, "", folder)), baseline, Placing(*earlier), Placing(*later))
        for folder, baseline, earlier, later in values["teams"]
    )
    return Changes(before, after, tuple(rows), values["hidden"])
