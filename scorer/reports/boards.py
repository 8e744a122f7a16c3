"""Boards as text: CSV, JSON and Markdown."""

from __future__ import annotations

import json

from scorer.board.board import Board
from scorer.board.rule_sheet import rules
from scorer.entries.entry import ColumnScores, Entry
from scorer.reports.table import Cell, CellValue, Column, Table, csv_table, markdown_table
from scorer.wording import iso_time

EXPORT_VERSION = 1
"""The version of the structure of `to_json`."""

_TEXTS = ("team", "baseline", "last entry")
"""The columns that are not numbers."""


def export_columns(board: Board) -> tuple[str, ...]:
    """Return the columns of every export.

    A final board has the scores of all measures, and the preliminary scores of the primary measure if the solution
    flags queries. A preliminary board has the preliminary scores of all measures.
    """
    return ("rank", "team", "baseline", *_named_scores(board, None), "entries", "last entry")


def export_rows(board: Board) -> tuple[dict[str, CellValue], ...]:
    """Return the rows of every export, by column; scores are rounded to the track's decimals, None is a blank."""
    return tuple(
        {
            "rank": row.rank,
            "team": row.team.name,
            "baseline": row.baseline,
            **_named_scores(board, row.entry),
            "entries": len(row.sent),
            "last entry": None if row.last_received is None else iso_time(row.last_received),
        }
        for row in board.rows
    )


def board_table(board: Board) -> Table:
    """Return the board as a table, with scores at the track's decimals."""
    columns = [Column(name, numeric=name not in _TEXTS) for name in export_columns(board)]
    rows = [[Cell(value, board.track.decimals) for value in row.values()] for row in export_rows(board)]
    return Table(columns, rows)


def to_csv(board: Board) -> str:
    """Return CSV as RFC 4180 has it, with scores at the track's decimals."""
    return csv_table(board_table(board), line_end="\r\n") + "\r\n"


def to_json(board: Board) -> str:
    """Return the rows with the track, its rules and the numbers of queries as JSON; null is a blank."""
    track = board.track
    document = {
        "version": EXPORT_VERSION,
        "track": {
            "name": track.name,
            "title": track.title,
            "stage": "final" if track.shows_final else "preliminary",
            "primary": board.columns[0],
            "decimals": track.decimals,
            "queries": board.queries,
            "scored_queries": board.scored_queries,
            "preliminary_queries": board.preliminary_queries,
        },
        "rules": rules(board),
        "columns": export_columns(board),
        "rows": export_rows(board),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def to_markdown(board: Board) -> str:
    """Return a table of GitHub's Markdown, with scores at the track's decimals."""
    return markdown_table(board_table(board)) + "\n"


def _named_scores(board: Board, entry: Entry | None) -> dict[str, CellValue]:
    """Return the scores that an export shows, by column; blanks without an entry."""
    blank: ColumnScores = (None,) * len(board.columns)
    final, preliminary = (entry.final, entry.preliminary) if entry else (blank, blank)
    names = [f"preliminary {name}" for name in board.columns]
    if not board.track.shows_final:
        return dict(zip(names, preliminary, strict=True))
    named: dict[str, CellValue] = dict(zip(board.columns, final, strict=True))
    if board.preliminary_queries:
        named[names[0]] = preliminary[0]
    return named
