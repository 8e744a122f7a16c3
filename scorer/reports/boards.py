"""Boards as tables: CSV, Markdown and aligned text."""

from __future__ import annotations

from scorer.board.board import Board, Row
from scorer.board.certainty import RowCertainty
from scorer.live.entry import ColumnScores, Entry, rounded
from scorer.wording import iso_time, letters
from scorer.wording.table import Cell, CellValue, Table, csv_table, markdown_table, table_of

_PRELIMINARY = "preliminary "

_TEXTS = ("team", "baseline", "last entry", "tier")
"""The columns that are not numbers."""


def export_columns(board: Board) -> tuple[str, ...]:
    """Return the columns of every export.

    A final board has the scores of all measures, and the preliminary scores of the primary measure if the solution
    flags queries. A preliminary board has the preliminary scores of all measures and the looks of each team, but with
    the Ladder only the scores that it released. The last columns say how certain the
    score on the primary measure and the rank are.
    """
    looks = ("looks",) if board.shows_looks else ()
    return ("rank", "team", "baseline", *_named_scores(board, None), "entries", *looks, "last entry", *_CERTAINTY)


def export_rows(board: Board) -> tuple[dict[str, CellValue], ...]:
    """Return the rows of every export, by column; scores are rounded to the track's decimals, None is a blank."""
    return tuple(
        {
            "rank": row.rank,
            "team": row.team.name,
            "baseline": row.baseline,
            **_named_scores(board, row.entry),
            "entries": len(row.present_entries),
            **({"looks": row.looks} if board.shows_looks else {}),
            "last entry": None if row.last_received is None else iso_time(row.last_received),
            **_certainty(board, row),
        }
        for row in board.rows
    )


def board_table(board: Board) -> Table:
    """Return the board as a table, with scores at the track's decimals."""
    columns, track = export_columns(board), board.track
    decimals = [
        track.preliminary_decimals if column.startswith(_PRELIMINARY) else track.shown_decimals for column in columns
    ]
    return table_of(columns, (map(Cell, row.values(), decimals) for row in export_rows(board)), _TEXTS)


def to_csv(board: Board) -> str:
    """Return CSV as RFC 4180 has it, with scores at the track's decimals."""
    return csv_table(board_table(board), line_end="\r\n") + "\r\n"


def to_markdown(board: Board) -> str:
    """Return a table of GitHub's Markdown, with scores at the track's decimals."""
    return markdown_table(board_table(board)) + "\n"


def shown_interval(certainty: RowCertainty | None, decimals: int) -> list[float | None]:
    """Return the ends of the interval of a score, rounded; None where it has none."""
    low, high = (certainty.interval if certainty else None) or (None, None)
    return [rounded(low, decimals), rounded(high, decimals)]


_CERTAINTY = ("low", "high", "rank from", "rank to", "tier")


def _certainty(board: Board, row: Row) -> dict[str, CellValue]:
    """Return the columns on the certainty of a row."""
    certainty = row.primary_certainty
    rank_range = (certainty.rank_range if certainty else None) or (None, None)
    tier = certainty.tier if certainty else None
    values = (
        *shown_interval(certainty, board.track.shown_decimals),
        *rank_range,
        None if tier is None else letters(tier),
    )
    return dict(zip(_CERTAINTY, values, strict=True))


def _named_scores(board: Board, entry: Entry | None) -> dict[str, CellValue]:
    """Return the scores that an export shows, by column; blanks without an entry."""
    blank: ColumnScores = (None,) * len(board.columns)
    final, preliminary = (entry.final, entry.preliminary) if entry else (blank, blank)
    names = [f"{_PRELIMINARY}{name}" for name in board.columns]
    if not board.track.shows_final:
        return dict(zip(names, preliminary, strict=True))
    named: dict[str, CellValue] = dict(zip(board.columns, final, strict=True))
    if board.preliminary_queries:
        named[names[0]] = preliminary[0]
    return named
