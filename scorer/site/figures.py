"""The charts of a board, with captions that state what they show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from scorer.board.board import Board, Row, counting_scores
from scorer.board.certainty import ShakeUp
from scorer.board.curves import RECALLS, cutoffs
from scorer.charts.curves import Curve, precision_recall, r_precision_by_cutoff
from scorer.charts.leaders_over_time import MEDIUM, NARROW, WIDE, History, leaders_over_time, leaders_sentence
from scorer.charts.preliminary_against_final import Moved, preliminary_against_final
from scorer.charts.svg import Cache, Svg
from scorer.wording import counted, in_words


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its caption."""

    svg: Svg
    caption: str
    medium: Svg | None = None
    """The same chart for a page of medium width, with letters that can be read there; None: it is the same."""
    narrow: Svg | None = None
    """The same chart for a phone; None: it is the same."""


def board_figures(board: Board, cache: Cache | None = None) -> tuple[Figure, ...]:
    """The charts below the table of a board: who led, and since when. None without two scored entries."""
    teams = [_history(board, row) for row in board.rows]
    if sum(len(team.entries) for team in teams) < 2:
        return ()
    chart = leaders_over_time(teams, board.columns[0], decimals=board.track.shown_decimals)
    wide, medium, narrow = (
        replace(chart, draw=partial(chart.draw, width=width)).svg(cache) for width in (WIDE, MEDIUM, NARROW)
    )
    ring = "an improvement" if board.track.has_ladder else "an entry"
    baselines = ", dotted lines are baselines" if any(row.baseline for row in board.rows) else ""
    shown = (
        f"{board.track.shown_stage.capitalize()} {board.track.primary_measure.kind.name} of the entry that counted at "
        f"each time; a ring is {ring}{baselines}."
    )
    return (Figure(wide, f"{leaders_sentence(teams)} {shown}", medium, narrow),)


def analysis_figures(board: Board, cache: Cache | None = None) -> tuple[Figure, ...]:
    """The charts of a board that need more than the scores on the primary measure."""
    figures = []
    if board.shake_up is not None:
        chart = preliminary_against_final(_moves(board), board.columns[0])
        figures.append(Figure(chart.svg(cache), _moved(board.shake_up)))
    if board.curves and board.curves[0].precisions:
        chart = precision_recall([_curve(board, curve.row, curve.precisions) for curve in board.curves])
        levels = in_words(len(RECALLS))
        caption = f"Interpolated precision at {levels} levels of recall, the mean over the queries."
        figures.append(Figure(chart.svg(cache), caption))
    if board.curves and board.curves[0].r_precisions:
        curves = [_curve(board, curve.row, curve.r_precisions) for curve in board.curves]
        chart = r_precision_by_cutoff(curves, cutoffs(board.track.list_length))
        figures.append(Figure(chart.svg(cache), "R-precision at each cut-off z, the mean over the queries."))
    return tuple(figures)


def _history(board: Board, row: Row) -> History:
    """The scored entries of a row, but for those whose time of receipt is impossible."""
    scores = (
        (entry.received, board.shown_scores(entry)[0]) for entry in reversed(row.entries) if entry.state == "scored"
    )
    entries = tuple((received, score) for received, score in scores if score is not None)
    return History(row.team.name, counting_scores(board, row), row.baseline, entries)


def _curve(board: Board, row: int, values: tuple[float | None, ...]) -> Curve:
    return Curve(board.rows[row].team.name, values, board.rows[row].baseline)


def _moves(board: Board) -> list[Moved]:
    return [
        Moved(row.team.name, row.entry.preliminary[0], row.entry.final[0], row.preliminary_rank, row.rank)
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
