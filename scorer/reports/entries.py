"""The entries of a challenge: for programs as JSON, for people as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.board.board import Board
from scorer.live.entry import STATE_WORDS, Entry
from scorer.live.times import FIRST_RECEIPT
from scorer.wording import iso_time, printable_name, utc_moment
from scorer.wording.table import Cell, Column, Table

VERSION = 2
"""The version of the structure. It increases with every change that a reader could notice, except for new keys."""


@dataclass(frozen=True, slots=True)
class TrackEntries:
    """The entries of a track, and its public board."""

    entries: tuple[Entry, ...]
    """In the order of the record."""
    board: Board
    """As visitors may see it: its entries have the scores that may be shown."""


def entry_values(tracks: Iterable[TrackEntries]) -> list[dict[str, Any]]:
    """Return the entries as plain values, in the order of the record, with the scores that may be shown.

    The scores are those of the primary measure. An entry of a frozen period has none.
    """
    entries = [values for track in tracks for values in _of_track(track)]
    return sorted(entries, key=lambda values: values["id"])


def entries_json(tracks: Iterable[TrackEntries]) -> str:
    """Return the entries as a JSON document."""
    document = {"version": VERSION, "entries": entry_values(tracks)}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def entries_table(tracks: Sequence[TrackEntries]) -> Table:
    """Return the entries as a table."""
    heads = ("id", "track", "team", "file", "received", "recorded", "phase", "state", "counts", "preliminary", "final")
    numeric = {"id", "preliminary", "final"}
    shown = {track.board.track.name: track.board.track for track in tracks}

    def decimals(head: str, track: str) -> int:
        return shown[track].preliminary_decimals if head == "preliminary" else shown[track].final_decimals

    return Table(
        [Column(head, numeric=head in numeric) for head in heads],
        [[Cell(values[head], decimals(head, values["track"])) for head in heads] for values in entry_values(tracks)],
    )


def _of_track(track: TrackEntries) -> Iterable[dict[str, Any]]:
    board = track.board
    public = {entry.index: entry for row in (*board.rows, *board.late) for entry in row.entries}
    for entry in track.entries:
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


def misdated_lines(entries: Iterable[Entry]) -> list[str]:
    """For the organiser: why the time of receipt of entries is impossible, and what to do."""
    return [
        f"{entry.file}: received {utc_moment(entry.received)}, {_why_misdated(entry)}; it does not count until "
        f"`scorer amend {entry.index} --received TIME --reason TEXT` corrects the time"
        for entry in entries
        if entry.state == "misdated"
    ]


def _why_misdated(entry: Entry) -> str:
    if entry.absent_at:
        return (
            f"but a run at {utc_moment(entry.absent_at)}, outside of that phase or day, did not find it in the folder"
        )
    if entry.is_in_future:
        return "which is in the future"
    return "which is impossible" if entry.received < FIRST_RECEIPT else "before the phases were announced"
