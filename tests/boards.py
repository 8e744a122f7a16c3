"""Boards as a challenge might end with: ties, rank flips, baselines, rejected files, hostile names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from scorer.board.board import Board, Row, Team
from scorer.challenge.settings import Challenge, Track
from scorer.entries.entry import Entry, Scores
from scorer.errors import Problem
from scorer.matching.match import Counts

START = datetime(2011, 4, 18, 8, 15, tzinfo=UTC)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()|' /C calc'!A0",
    "../../x",
    "abc\u202egnp.exe",
    "W" * 300,
    "🦊 fox & friends",
)
"""Names of teams that want to be markup, formulas, paths, or wider than the page."""


def digest(text: str) -> str:
    """Stands for the SHA-256 of a file."""
    return sha256(text.encode()).hexdigest()


def challenge(root: Path = Path("nowhere"), **changes: object) -> Challenge:
    """Two tracks in the shape of the example challenge, without its files."""
    cold_start = {
        "name": "cold-start",
        "title": "Cold start",
        "description": "Recommend thirty lectures\nfor one just published.\n\nNothing is known <b>of</b> its visitors.",
        "solution": "solutions/cold-start.txt",
        "list_length": 30,
        "cutoffs": [5, 10, 15, 20, 25, 30],
        "primary": "MARp",
        "measures": ["nDCG@10", "AP", "P@10", "RR"],
        "baselines": ["most popular", "random"],
        **changes,
    }
    pooled = {
        "name": "pooled-sequences",
        "title": "Pooled sequences",
        "solution": "solutions/pooled-sequences.txt",
        "list_length": 10,
        "cutoffs": [5, 10],
        "primary": "MARp",
        "measures": ["nDCG(gain=exp)@10"],
        "stage": "preliminary",
    }
    tracks = tuple(Track.model_validate({**track, "root": root}) for track in (cold_start, pooled))
    declared = {
        "root": root,
        "name": "Lectures & lists",
        "description": "Which lectures would a visitor see next?\n\nTwo tracks, one answer a query: a ranked list.",
        "tracks": tracks,
    }
    return Challenge.model_validate(declared)


def team(name: str) -> Team:
    """A team with a slug that no other has."""
    return Team(name, f"team-{digest(name)[:8]}" if name in HOSTILE else name.lower().replace(" ", "-"))


def entry(
    team_name: str,
    number: int,
    final: Scores,
    preliminary: Scores,
    *,
    status: str = "scored",
    counts: bool = False,
    findings: tuple[Problem, ...] = (),
    more: int = 0,
) -> Entry:
    """A file that a team sent in, `number` weeks or so after the start."""
    hours = 100 * number + len(team_name) * 7 + number % 3
    return Entry(
        file=f"cold-start/{team_name}/{number}.txt",
        digest=digest(f"{team_name} {number}"),
        received=START + timedelta(hours=hours, minutes=13 * number, seconds=number),
        status=status,
        counts_for_board=counts,
        final=final,
        preliminary=preliminary,
        counts=Counts(500, 498, 3, 14_930, 2, 0) if status == "scored" else None,
        findings=findings,
        findings_count=len(findings) + more,
    )


FAULTS = (
    Problem(0, "no list for 12 of 500 queries; each query needs one"),
    Problem(17, 'item "a7" is listed twice for query "q3" (first at rank 2); list each item once'),
    Problem(1234, 'expected "query:item,item,...", found "<script>alert(2)</script>"'),
)


def scored_row(rank: int | None, name: str, final: float, preliminary: float, columns: int, entries: int = 1) -> Row:
    """A team whose latest entry counts."""
    sent = []
    for number in range(entries, 0, -1):
        share = 1 - 0.06 * (entries - number) + 0.02 * (number % 2)
        mean = tuple(round(final * share * scale, 4) for scale in islice(cycle((1, 1.4, 0.8, 1.1, 1.9)), columns))
        early = tuple(
            round(preliminary * share * scale, 4) for scale in islice(cycle((1, 1.4, 0.8, 1.1, 1.9)), columns)
        )
        if number == entries:
            mean, early = (final, *mean[1:]), (preliminary, *early[1:])
        notes = (Problem(3, "a repeated item"),) if number == 1 else ()
        sent.append(entry(name, number, mean, early, counts=number == entries, findings=notes))
    return Row(rank, team(name), rank is None, sent[0], tuple(sent))


def rejected_row(name: str, columns: int) -> Row:
    """A team whose only file could not be scored."""
    blank = (None,) * columns
    return Row(
        None, team(name), False, None, (entry(name, 1, blank, blank, status="rejected", findings=FAULTS, more=9),)
    )


def board(track: Track) -> Board:
    """Twelve ranked teams with a tie and rank flips, two baselines, two teams with nothing scored."""
    columns = tuple(str(measure) for measure in track.all_measures)
    width = len(columns)
    rows = [
        scored_row(1, "tea-kettle", 0.3127, 0.3290, width, entries=6),
        scored_row(2, "north-window", 0.3004, 0.2751, width, entries=4),
        scored_row(3, HOSTILE[0], 0.2871, 0.2990, width, entries=2),
        scored_row(3, "paper-boats", 0.2871, 0.2803, width, entries=3),
        scored_row(5, HOSTILE[5], 0.2410, 0.2511, width),
        scored_row(6, "Slow Lanterns", 0.2120, 0.2633, width, entries=9),
        scored_row(7, HOSTILE[2], 0.1812, 0.1700, width),
        scored_row(8, HOSTILE[3], 0.1431, 0.1390, width),
        scored_row(None, "most popular", 0.1215, 0.1244, width),
        scored_row(9, HOSTILE[4], 0.1103, 0.1350, width),
        scored_row(10, HOSTILE[6], 0.0987, 0.0931, width),
        scored_row(11, "kingfisher", 0.0611, 0.0702, width),
        scored_row(12, "late-train", 0.0240, 0.0310, width),
        scored_row(None, "random", 0.0021, 0.0018, width),
        rejected_row(HOSTILE[1], width),
        rejected_row("quiet-harbour", width),
    ]
    if track.stage == "preliminary":
        rows = [without_final(row) for row in rows]
    return Board(track, columns, tuple(rows), 500, 484, 97, digest(track.name))


def without_final(row: Row) -> Row:
    """The row of a board that still keeps the final scores back: the same numbers, as preliminary ones."""
    entries = tuple(replace(each, preliminary=each.final, final=(None,) * len(each.final)) for each in row.entries)
    return replace(row, entry=entries[0] if row.entry else None, entries=entries)
