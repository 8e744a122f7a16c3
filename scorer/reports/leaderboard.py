"""``leaderboard.json``: a board for programs, and the JSON Schema of its structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scorer.board.board import Board, Row
from scorer.board.certainty import RowCertainty
from scorer.board.rules import rules
from scorer.live.entry import Entry, rounded
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.reports.boards import export_columns, export_rows, shown_interval
from scorer.store.log import LogLine
from scorer.wording import iso_time

VERSION = 2
"""The version of the structure. It increases with every change that a reader could notice, except for new keys.

The structure is in ``leaderboard-schema.json``, next to this module."""


def to_json(board: Board, head: LogLine | None = None) -> str:
    """Return the rows with the track, its rules, the numbers of queries and the statistics; null is a blank.

    `head` is the last line of the public log; None without an event.
    """
    track = board.track
    rows = [
        {"id": row.team.slug, "status": row.team.status, **values}
        for row, values in zip(board.rows, export_rows(board), strict=True)
    ]
    document = {
        "version": VERSION,
        "log": None if head is None else {"index": head.index, "head": head.head.hex()},
        "track": {
            "name": track.name,
            "title": track.title,
            "stage": track.shown_stage,
            "primary": board.columns[0],
            "decimals": track.shown_decimals,
            "queries": board.queries,
            "scored_queries": board.scored_queries,
            "preliminary_queries": board.preliminary_queries,
        },
        "phase": _phase(board),
        "rules": rules(board),
        "columns": export_columns(board),
        "rows": rows,
        "late": [_late(board, row, entry) for row in board.late for entry in row.entries],
        "statistics": {
            "level": LEVEL,
            "resamples": RESAMPLES,
            "seed": SEED,
            "measures": {
                name: statistics
                for number, name in enumerate(board.columns)
                if (statistics := _statistics(board, number))
            },
        },
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _phase(board: Board) -> dict[str, Any] | None:
    """Return the phase that receives entries, or else the next one, or else the last one; None without phases."""
    phase = board.phases.shown_phase(board.now)
    if phase is None:
        return None
    return {
        "name": phase.name,
        "state": board.phases.state(board.now),
        "start": iso_time(phase.start),
        "end": iso_time(phase.end),
        "closes": iso_time(phase.closes),
        "frozen_since": None if board.frozen_since is None else iso_time(board.frozen_since),
    }


def _late(board: Board, row: Row, entry: Entry) -> dict[str, Any]:
    """Return an entry of the late board."""
    return {
        "id": row.team.slug,
        "team": row.team.name,
        "file": entry.file,
        "received": iso_time(entry.received),
        "admission": entry.admission,
        "phase": entry.phase,
        "score": board.shown_scores(entry)[0],
    }


def _statistics(board: Board, column: int) -> dict[str, Any]:
    """Return the certainty of the ranking by a measure, or of its means only; empty without both."""
    decimals = board.track.shown_decimals
    teams = {
        row.team.slug: _row(of_row, decimals)
        for row in board.rows
        if row.certainty and (of_row := row.certainty[column]) is not None
    }
    certainty = board.certainty[column] if board.certainty else None
    if certainty is None:
        return {"teams": teams} if column and teams else {}
    return {
        "queries": certainty.queries,
        "smallest_difference": rounded(certainty.smallest_difference, decimals),
        "separable_neighbours": certainty.separable_neighbours,
        "tiers": [[board.rows[row].team.slug for row in tier.rows] for tier in certainty.tiers],
        "teams": teams,
    }


def _row(certainty: RowCertainty, decimals: int) -> dict[str, Any]:
    """Return the certainty of the score and the rank of a row."""
    interval = shown_interval(certainty, decimals)
    return {
        "interval": None if None in interval else interval,
        "range": certainty.rank_range,
        "tier": None if certainty.tier is None else certainty.tier + 1,
        "first": rounded(certainty.first, 4),
    }


def schema() -> str:
    """Return the JSON Schema of `to_json`."""
    return Path(__file__).with_name("leaderboard-schema.json").read_text(encoding="utf-8")
