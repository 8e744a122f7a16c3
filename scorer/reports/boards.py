"""Boards as text: CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

from scorer import wording
from scorer.board.board import Board
from scorer.board.rule_sheet import rules
from scorer.entries.entry import ColumnScores, Entry

# Exports

CellValue = str | int | float | bool | None

EXPORT_VERSION = 1
"""Of the shape of `to_json`."""


def export_columns(board: Board) -> tuple[str, ...]:
    """The columns of every export.

    Of a final board: all measures, and the preliminary scores of the primary one if the solution flags queries. Of a
    preliminary board: the preliminary scores of all measures.
    """
    return ("rank", "team", "baseline", *_named_scores(board, None), "entries", "last entry")


def export_rows(board: Board) -> tuple[dict[str, CellValue], ...]:
    """The rows of every export, by column; scores rounded to the track's decimals, None for a blank."""
    return tuple(
        {
            "rank": row.rank,
            "team": row.team.name,
            "baseline": row.baseline,
            **_named_scores(board, row.entry),
            "entries": len(row.sent),
            "last entry": _iso(row.last_received),
        }
        for row in board.rows
    )


def printed(cell: CellValue, decimals: int) -> str:
    """A cell as text: scores at the track's decimals, a blank empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"{cell:.{decimals}f}" if isinstance(cell, float) else str(cell)


def to_csv(board: Board) -> str:
    """RFC 4180, numbers at the track's decimals, blanks empty; text that a spreadsheet takes for a formula gets a '."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(map(wording.spreadsheet, export_columns(board)))
    for row in export_rows(board):
        writer.writerow(
            wording.spreadsheet(cell) if isinstance(cell, str) else printed(cell, board.track.decimals)
            for cell in row.values()
        )
    return out.getvalue()


def to_json(board: Board) -> str:
    """The rows with the track, its rules and the numbers of queries; null for a blank."""
    track = board.track
    document = {
        "version": EXPORT_VERSION,
        "track": {
            "name": track.name,
            "title": track.title,
            "stage": track.stage,
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
    """A table of GitHub's Markdown, numbers at the track's decimals, blanks empty; a name stays text."""
    columns = export_columns(board)
    alignment = [":---" if name in ("team", "baseline", "last entry") else "---:" for name in columns]
    rows = [
        [wording.markdown(printed(cell, board.track.decimals)) for cell in row.values()] for row in export_rows(board)
    ]
    lines = [map(wording.markdown, columns), alignment, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _named_scores(board: Board, entry: Entry | None) -> dict[str, CellValue]:
    """The scores that an export shows, by column; blanks without an entry."""
    blank: ColumnScores = (None,) * len(board.columns)
    final, preliminary = (entry.final, entry.preliminary) if entry else (blank, blank)
    names = [f"preliminary {name}" for name in board.columns]
    if board.track.stage == "preliminary":
        return dict(zip(names, preliminary, strict=True))
    named: dict[str, CellValue] = dict(zip(board.columns, final, strict=True))
    if board.preliminary_queries:
        named[names[0]] = preliminary[0]
    return named


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
