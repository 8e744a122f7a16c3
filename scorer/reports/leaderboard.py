"""``leaderboard.json``: a board for programs, and the JSON Schema of its structure."""

from __future__ import annotations

import json
from typing import Any, get_args

from scorer.board.board import Board, Row
from scorer.board.certainty import Certainty, RowCertainty
from scorer.board.rules import rules
from scorer.live.entry import Entry, rounded
from scorer.live.phases import State
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.reports.boards import export_columns, export_rows, shown_interval
from scorer.store.log import LogLine
from scorer.wording import iso_time

VERSION = 2
"""The version of the structure. It increases with every change that a reader could notice, except for new keys."""


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
                name: _statistics(board, number, certainty)
                for number, (name, certainty) in enumerate(zip(board.columns, board.certainty, strict=False))
                if certainty is not None
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


def _statistics(board: Board, column: int, certainty: Certainty) -> dict[str, Any]:
    """Return the certainty of the ranking by a measure."""
    decimals = board.track.shown_decimals
    return {
        "queries": certainty.queries,
        "smallest_difference": rounded(certainty.smallest_difference, decimals),
        "separable_neighbours": certainty.separable_neighbours,
        "tiers": [[board.rows[row].team.slug for row in tier.rows] for tier in certainty.tiers],
        "teams": {
            row.team.slug: _row(of_row, decimals)
            for row in board.rows
            if row.certainty and (of_row := row.certainty[column]) is not None
        },
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


# The schema


def schema() -> str:
    """Return the JSON Schema of `to_json`."""
    return json.dumps(_SCHEMA, ensure_ascii=False, indent=1) + "\n"


def _object(
    about: str, properties: dict[str, Any], *, optional: dict[str, Any] | None = None, more: Any = False
) -> dict[str, Any]:
    """Return the schema of an object that has all of these properties, and may have the optional ones."""
    return {
        "type": "object",
        "description": about,
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": more,
    }


def _value(kind: str | list[str], about: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": about, **more}


_NUMBER = ["number", "null"]
_COUNT = ["integer", "null"]

_TRACK = _object(
    "The track.",
    {
        "name": _value("string", "The name of its folder on the site."),
        "title": _value("string", "Its title."),
        "stage": _value("string", "Which scores decide the ranks.", enum=["preliminary", "final"]),
        "primary": _value("string", "The measure that the board is ranked by."),
        "decimals": _value("integer", "The decimals that scores are rounded to before they are compared.", minimum=0),
        "queries": _value("integer", "The number of queries of the solution.", minimum=0),
        "scored_queries": _value("integer", "How many of them enter the mean of the primary measure.", minimum=0),
        "preliminary_queries": _value("integer", "How many of these enter the preliminary scores.", minimum=0),
    },
)

_PHASE = _object(
    "The phase that receives entries, or else the next one, or else the last one; null without phases.",
    {
        "name": _value("string", "Its name."),
        "state": _value("string", "Where the track is in its phases.", enum=list(get_args(State))),
        "start": _value("string", "When it starts, in UTC, as ISO 8601 has it."),
        "end": _value("string", "When it ends, without its grace, in UTC."),
        "closes": _value("string", "When it ends, with its grace, in UTC."),
        "frozen_since": _value(["string", "null"], "When the board was frozen, in UTC; null if it is not frozen."),
    },
)

_LOG = _object(
    "The head of the log of the challenge, which depends on all of its events until this one; null without an event.",
    {
        "index": _value("integer", "The index of the last event in log.jsonl.", minimum=1),
        "head": _value("string", "Its head, in hexadecimal.", pattern="^[0-9a-f]{64}$"),
    },
)

_LATE = _object(
    "An entry that was received before the first phase or when a phase had closed. It has no rank.",
    {
        "id": _value("string", "The address of the page of its team: teams/<id>.html."),
        "team": _value("string", "The name of its team."),
        "file": _value("string", "Its file."),
        "received": _value("string", "When it was received, in UTC, as ISO 8601 has it."),
        "admission": _value("string", "Whether it was early or late.", enum=["early", "late"]),
        "phase": _value(["string", "null"], "The phase that it is late for; null for an early one."),
        "score": _value(_NUMBER, "Its score on the primary measure, rounded."),
    },
)

_ROW = _object(
    "A team or a baseline. Further properties are the scores, by the names in `columns`.",
    {
        "id": _value("string", "The address of its page: teams/<id>.html."),
        "status": _value(
            "string",
            "Whether the team was disqualified or has withdrawn, so that it has no rank.",
            enum=["ranked", "disqualified", "withdrawn"],
        ),
        "rank": _value(_COUNT, "From 1; null for a baseline, without a score, and by `status`.", minimum=1),
        "team": _value("string", "The name."),
        "baseline": _value("boolean", "Whether it is a baseline."),
        "entries": _value("integer", "The number of its entries that are not withdrawn.", minimum=0),
        "last entry": _value(["string", "null"], "When the last of them was received, in UTC, as ISO 8601 has it."),
        "low": _value(_NUMBER, "The lower end of the 95 % interval of the score on the primary measure."),
        "high": _value(_NUMBER, "The upper end."),
        "rank from": _value(_COUNT, "The first rank that the team may have.", minimum=1),
        "rank to": _value(_COUNT, "The last rank that the team may have.", minimum=1),
        "tier": _value(["string", "null"], "The letter of its tier."),
    },
    optional={
        "looks": _value(
            "integer",
            "How many of its entries were scored, also withdrawn ones; only with preliminary scores.",
            minimum=0,
        ),
    },
    more=_value(_NUMBER, "A score, rounded."),
)

_TEAM = _object(
    "The certainty of the score and the rank of a team, or of the score of a baseline.",
    {
        "interval": _value(
            ["array", "null"],
            "The 95 % interval of the score, by the bootstrap over the queries.",
            items={"type": "number"},
            minItems=2,
            maxItems=2,
        ),
        "range": _value(
            ["array", "null"],
            "The first and the last rank that the team may have, all teams taken together; null for a baseline.",
            items={"type": "integer", "minimum": 1},
            minItems=2,
            maxItems=2,
        ),
        "tier": _value(_COUNT, "The number of its tier in `tiers`, from 1; null for a baseline.", minimum=1),
        "first": _value(_NUMBER, "The share of the resamples in which it is first.", minimum=0, maximum=1),
    },
)

_MEASURE = _object(
    "The certainty of the ranking by a measure.",
    {
        "queries": _value("integer", "How many queries have a score for every ranked team.", minimum=0),
        "smallest_difference": _value(_NUMBER, "The difference of scores that is significant: the median over pairs."),
        "separable_neighbours": _value("integer", "How many teams are significantly better than the next.", minimum=0),
        "tiers": {
            "type": "array",
            "description": "The ids of the teams of each tier, the best tier first and its leader first.",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "teams": {"type": "object", "description": "By id.", "additionalProperties": _TEAM},
    },
)

_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "leaderboard.json",
    "description": "The leaderboard of a track. Scores are means over queries, rounded; null is a blank.",
    **_object(
        "The leaderboard of a track. Scores are means over queries, rounded; null is a blank.",
        {
            "version": _value("integer", "The version of this structure.", const=VERSION),
            "log": {"anyOf": [_LOG, {"type": "null"}]},
            "track": _TRACK,
            "phase": {"anyOf": [_PHASE, {"type": "null"}]},
            "rules": {"type": "array", "description": "The rules in sentences.", "items": {"type": "string"}},
            "columns": {
                "type": "array",
                "description": "The columns of a row in order.",
                "items": {"type": "string"},
            },
            "rows": {"type": "array", "description": "The best first.", "items": _ROW},
            "late": {"type": "array", "description": "Entries outside of the phases, unranked.", "items": _LATE},
            "statistics": _object(
                "How certain the scores and the ranks are.",
                {
                    "level": _value("number", "The level of the tests; intervals are at 1 minus the level."),
                    "resamples": _value("integer", "How often queries are drawn again.", minimum=1),
                    "seed": _value("integer", "The seed of the random numbers."),
                    "measures": {
                        "type": "object",
                        "description": "By name; without measures that are sums or geometric means.",
                        "additionalProperties": _MEASURE,
                    },
                },
            ),
        },
    ),
}
