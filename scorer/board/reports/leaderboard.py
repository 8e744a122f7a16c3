"""Boards and entries for programs and for people: ``leaderboard.json``, CSV, Markdown, citations, and verifiable
documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from scorer.board.board import CERTAINTY, Board, Row, RowCertainty, SliceRow, rules
from scorer.live.entry import STATE_WORDS, ColumnScores, Entry, rounded
from scorer.options import CORRECTION, LEVEL, RESAMPLES, SEED, UNJUDGED_ENDS
from scorer.record.log import LogLine
from scorer.rules.metadata import field_text
from scorer.rules.teams import Team
from scorer.settings.tracks import Challenge
from scorer.store.documents import Document
from scorer.wording import (
    Cell,
    CellValue,
    Column,
    Table,
    counted,
    csv_table,
    escape_latex,
    iso_time,
    letters,
    printable_name,
    table_of,
    utc_moment,
    utc_time,
)


def to_bibtex(challenge: Challenge, board: Board) -> str:
    """Return a BibTeX entry for the board, with the day of its last change."""
    day = "" if board.updated is None else utc_time(board.updated, "day")
    fields = {
        "title": _escaped(_title(challenge, board)),
        "author": f"{{{_escaped(f'The organisers of {challenge.name}')}}}",
        "note": _escaped(_state(board)),
        "url": _address(challenge, board),
    }
    if day:
        fields |= {"year": day[:4], "month": f"{int(day[5:7])}", "urldate": day}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@misc{{{board.track.name}-leaderboard,\n{lines}\n}}\n"


def to_cff(challenge: Challenge, board: Board) -> str:
    """Return a CFF document, version 1.2.0, for the board."""
    address = _address(challenge, board)
    return cff(challenge, _title(challenge, board), _state(board), board.updated, address)


def cff(challenge: Challenge, title: str, abstract: str, updated: datetime | None, address: str) -> str:
    """Return a CFF document, version 1.2.0. Texts are JSON strings, which YAML reads as they are."""
    lines = [
        "cff-version: 1.2.0",
        "message: Please cite this leaderboard as below.",
        "type: dataset",
        f"title: {_quoted(title)}",
        f"abstract: {_quoted(abstract)}",
        "authors:",
        f"  - name: {_quoted(f'The organisers of {challenge.name}')}",
    ]
    if updated is not None:
        lines.append(f"date-released: {utc_time(updated, 'day')}")
    if address:
        lines.append(f"url: {_quoted(address)}")
    return "\n".join(lines) + "\n"


def _address(challenge: Challenge, board: Board) -> str:
    """The address of the board; empty if the challenge states none. BibTeX counts braces, also in a URL."""
    url = challenge.branding.url.replace("{", "%7B").replace("}", "%7D")
    return f"{url}{board.track.name}/index.html" if url else ""


def _title(challenge: Challenge, board: Board) -> str:
    return f"Leaderboard of the track {board.track.title}, {challenge.name}"


def _state(board: Board) -> str:
    """What the board showed: which scores, of how many teams, by which solution."""
    teams = counted(sum(row.rank is not None for row in board.rows), "ranked team")
    state = f"{board.track.shown_stage.capitalize()} {board.columns[0]} of {teams}"
    if board.salted_digest is None:
        return state
    return f"{state}; salted digest of the solution {board.salted_digest.salted}"


def _escaped(text: str) -> str:
    """The text for BibTeX, which counts braces even after a backslash."""
    escaped = escape_latex(" ".join(text.split()))
    return escaped.replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def document_json(document: Document) -> str:
    """A published document. Ids of queries can have lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(document.values(), ensure_ascii=True, indent=1) + "\n"


ENTRIES_VERSION = 2
"""The version of the structure. It increases with every change that a reader could notice, except for new keys."""


Listed = Sequence[tuple[Sequence[Entry], Board]]
"""The entries of each track, and its board as visitors may see it: entries there have the scores that may be shown."""


def entry_values(tracks: Listed) -> list[dict[str, Any]]:
    """Return the entries as plain values, in the order of the record, with the scores that may be shown.

    The scores are those of the primary measure. An entry of a frozen period has none.
    """
    found = [values for entries, board in tracks for values in _of_track(entries, board)]
    return sorted(found, key=lambda values: values["id"])


def entries_json(tracks: Listed) -> str:
    """Return the entries as a JSON document."""
    document = {"version": ENTRIES_VERSION, "entries": entry_values(tracks)}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def entries_table(tracks: Listed) -> Table:
    """Return the entries as a table."""
    heads = ("id", "track", "team", "file", "received", "recorded", "phase", "state", "counts", "preliminary", "final")
    numeric = {"id", "preliminary", "final"}
    shown = {board.track.name: board.track for _, board in tracks}
    fields = {each.name: each for track in shown.values() for each in track.metadata}

    def decimals(head: str, track: str) -> int:
        return shown[track].preliminary_decimals if head == "preliminary" else shown[track].final_decimals

    return Table(
        [
            *(Column(head, numeric=head in numeric) for head in heads),
            *(Column(f"{_METADATA}{name}", numeric=each.type == "number") for name, each in fields.items()),
        ],
        [
            [
                *(Cell(values[head], decimals(head, values["track"])) for head in heads),
                *(Cell(field_text(values["metadata"].get(name)) or None) for name in fields),
            ]
            for values in entry_values(tracks)
        ],
    )


def _of_track(entries: Sequence[Entry], board: Board) -> Iterable[dict[str, Any]]:
    public = {entry.index: entry for row in (*board.rows, *board.late) for entry in row.entries}
    for entry in entries:
        shown = public.get(entry.index)
        yield {
            "id": entry.index,
            "track": board.track.name,
            "team": printable_name(entry.team),
            "file": entry.file,
            "sha256": entry.digest,
            "received": iso_time(entry.received),
            "recorded": iso_time(entry.recorded) if entry.recorded and entry.is_recorded_late else None,
            "phase": entry.phase,
            "outcome": entry.outcome,
            "admission": entry.admission,
            "presence": entry.presence,
            "state": entry.state,
            "reason": _reason(entry, shown),
            "counts": shown is not None and shown.is_counting,
            "preliminary": shown.preliminary[0] if shown else None,
            "final": shown.final[0] if shown else None,
            **({"metadata": entry.metadata} if board.track.metadata else {}),
        }


def _reason(entry: Entry, shown: Entry | None) -> str | None:
    if entry.state == "rejected":
        more = entry.findings_count - 1
        first = str(entry.findings[0].text) if entry.findings else "the file is invalid"
        return f"{first} (and {more:,} more)" if more > 0 else first
    if entry.state == "scored" and shown is not None and shown.answer is not None:
        return STATE_WORDS[shown.answer].reason
    if entry.state == "misdated" and entry.absent_at:
        scanned = f"{utc_moment(entry.absent_at)}, outside of the stated phase or day"
        return f"not in the folder at {scanned}; `scorer amend` corrects the time of receipt"
    return STATE_WORDS[entry.state].reason


_PRELIMINARY = "preliminary "

_TEXTS = ("team", "run", "baseline", "last entry", "status", "tier", "separable_from_leader")
"""The columns that are not numbers."""


def export_columns(board: Board) -> tuple[str, ...]:
    """Return the columns of every export.

    A final board has the scores of all measures, and the preliminary scores of the primary measure if the solution
    flags queries. A preliminary board has the preliminary scores of all measures and the looks of each team, but with
    the Ladder only the scores that it released. The last columns say how certain the
    score on the primary measure and the rank are.
    """
    return tuple(_exported(board, Row(None, None, Team(), baseline=False, entry=None, entries=())))


_METADATA = "metadata "


def export_rows(board: Board) -> tuple[dict[str, CellValue], ...]:
    """Return the rows of every export, by column; scores are rounded to the track's decimals, None is a blank."""
    return tuple(_exported(board, row) for row in board.rows)


def _exported(board: Board, row: Row) -> dict[str, CellValue]:
    reach, metadata = board.track.judged_bounds, row.entry.metadata if row.entry else {}
    return {
        "rank": row.rank,
        "team": row.team.name,
        **({"run": row.tag or None} if board.track.rows == "entry" else {}),
        "baseline": row.baseline,
        **_named_scores(board, row.entry),
        "entries": len(row.present_entries),
        **({"looks": row.looks} if board.shows_looks else {}),
        "last entry": None if row.last_received is None else iso_time(row.last_received),
        **({"status": row.team.status} if board.excludes_a_team else {}),
        **certainty_values(board, row),
        **(_corrected(row, board.track.shown_decimals) if board.checked_queries else {}),
        **(dict(zip(UNJUDGED_ENDS, row.primary_bounds or (None, None), strict=True)) if reach else {}),
        **{f"{_METADATA}{each.name}": metadata.get(each.name) for each in board.metadata_fields},
    }


def board_table(board: Board) -> Table:
    """Return the board as a table, with scores at the track's decimals."""
    columns, track = export_columns(board), board.track
    decimals = [
        track.preliminary_decimals if column.startswith(_PRELIMINARY) else track.shown_decimals for column in columns
    ]
    texts = [f"{_METADATA}{each.name}" for each in board.metadata_fields if each.type != "number"]
    rows = [
        {name: field_text(value) or None if name.startswith(_METADATA) else value for name, value in row.items()}
        for row in export_rows(board)
    ]
    return table_of(columns, (map(Cell, row.values(), decimals) for row in rows), (*_TEXTS, *texts))


def to_csv(board: Board) -> str:
    """Return CSV as RFC 4180 has it, with scores at the track's decimals."""
    return csv_table(board_table(board), line_end="\r\n") + "\r\n"


def _interval(certainty: RowCertainty | None, decimals: int) -> list[float | None]:
    """Return the ends of the interval of a score, rounded; None where it has none."""
    low, high = (certainty.interval if certainty else None) or (None, None)
    return [rounded(low, decimals), rounded(high, decimals)]


def certainty_values(board: Board, row: Row) -> dict[str, CellValue]:
    """Return the columns on the certainty of a row."""
    certainty = row.primary_certainty
    rank_range = (certainty.rank_range if certainty else None) or (None, None)
    tier = certainty.tier if certainty else None
    values = (
        *_interval(certainty, board.track.shown_decimals),
        *rank_range,
        None if tier is None else letters(tier),
        certainty.separable_from_leader if certainty else None,
    )
    return dict(zip(CERTAINTY, values, strict=True))


def _corrected(row: Row, decimals: int) -> dict[str, CellValue]:
    """The mean by the machine, its bias, and the ends of the interval of the bias."""
    machine, bias, ends, _ = row.correction.rounded(decimals) if row.correction else (None, None, None, 0)
    return dict(zip(CORRECTION, (machine, bias, *(ends or (None, None))), strict=True))


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


def _slices(board: Board) -> list[dict[str, Any]]:
    """The boards of the slices as plain values; None is a blank."""

    def values(each: SliceRow) -> dict[str, CellValue]:
        row = board.rows[each.row]
        ends = (*(each.interval or (None, None)), *(each.rank_range or (None, None)))
        named = {"id": row.slug, "rank": each.rank, "team": row.name, "baseline": row.baseline}
        return {**named, "score": each.score, **dict(zip(CERTAINTY, ends, strict=False))}

    parts = ((part, list(map(values, part.rows))) for part in board.slices)
    return [
        {"label": part.label, "queries": part.queries, "separates": part.separates, "rows": rows}
        for part, rows in parts
    ]


def slices_csv(board: Board) -> str:
    """Return the boards of the slices as one table: a row for each team on each slice."""
    parts, decimals = _slices(board), board.track.shown_decimals
    rows = [{"slice": part["label"], "queries": part["queries"], **row} for part in parts for row in part["rows"]]
    cells = ([Cell(value, decimals) for value in row.values()] for row in rows)
    heads = tuple(rows[0]) if rows else ("slice", "queries")
    return csv_table(table_of(heads, cells, ("slice", "id", "team", "baseline")), line_end="\r\n") + "\r\n"


def slices_json(board: Board) -> str:
    """Return the boards of the slices, by the primary measure; null is a blank."""
    track = {"name": board.track.name, "stage": board.track.shown_stage, "measure": board.columns[0]}
    return json.dumps({"version": 1, "track": track, "slices": _slices(board)}, indent=2, ensure_ascii=False) + "\n"


LEADERBOARD_VERSION = 3
"""The version of the structure. It increases with every change that a reader could notice, except for new keys.

The structure is in ``leaderboard-schema.json``, next to this module."""


def to_json(board: Board, head: LogLine | None = None) -> str:
    """Return the rows with the track, its rules, the numbers of queries and the statistics; null is a blank.

    `head` is the last line of the public log; None without an event.
    """
    track = board.track
    rows = [
        {
            "id": row.slug,
            "status": row.team.status,
            **values,
            **({"choice": asdict(row.choice)} if row.choice else {}),
            "changes": row.changes,
        }
        for row, values in zip(board.rows, export_rows(board), strict=True)
    ]
    document = {
        "version": LEADERBOARD_VERSION,
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
        "id": row.slug,
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
        row.slug: _row(of_row, decimals) | ({"judged_bounds": row.judged_bounds[column]} if row.judged_bounds else {})
        for row in board.rows
        if row.certainty and (of_row := row.certainty[column]) is not None
    }
    certainty = board.certainty[column] if board.certainty else None
    if certainty is None:
        return {"teams": teams} if column and teams else {}
    return {
        "queries": certainty.queries,
        **({} if certainty.clusters is None else {"clusters": certainty.clusters}),
        "smallest_difference": rounded(certainty.smallest_difference, decimals),
        "separable_neighbours": certainty.separable_neighbours,
        "tiers": [[board.rows[row].slug for row in tier.rows] for tier in certainty.tiers],
        "teams": teams,
    }


def _row(certainty: RowCertainty, decimals: int) -> dict[str, Any]:
    """Return the certainty of the score and the rank of a row."""
    interval = _interval(certainty, decimals)
    return {
        "interval": None if None in interval else interval,
        "range": certainty.rank_range,
        "tier": None if certainty.tier is None else certainty.tier + 1,
        "separable_from_leader": certainty.separable_from_leader,
        "first": rounded(certainty.first, 4),
        **({"correction": certainty.correction.rounded(decimals)._asdict()} if certainty.correction else {}),
    }


def schema() -> str:
    """Return the JSON Schema of `to_json`."""
    return Path(__file__).with_name("leaderboard-schema.json").read_text(encoding="utf-8")
