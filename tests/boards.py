"""Boards for tests: ties, changed ranks, baselines, rejected files, hostile names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from scorer.board.board import Board, Row
from scorer.board.build import in_order, with_changes
from scorer.errors import Problem
from scorer.lists import Counts
from scorer.live.entry import ColumnScores, Entry, State
from scorer.live.errata import BeforeAfter, ChangedFile, Changes, Placing, PublishedErratum, Scale
from scorer.live.now import PublishedLog
from scorer.live.rules import ChangedRule, SaltedDigest
from scorer.live.timeline import Happening, Timeline
from scorer.record.events import log_lines
from scorer.rules.teams import Team
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import event_with
from tests.board_certainty import with_certainty

START = datetime(2011, 4, 18, 8, 15, tzinfo=UTC)
UPDATED = datetime(2011, 7, 19, 1, 30, tzinfo=UTC)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()|' /C calc'!A0",
    "../../x",
    "abc\u202egnp.exe",
    "W" * 300,
    "🦊 fox & friends",
)
"""Names of teams that imitate markup, formulas or paths, or are wider than the page."""


def digest(text: str) -> str:
    """A digest for a file that does not exist."""
    return sha256(text.encode()).hexdigest()


def challenge(root: Path = Path("nowhere"), **changes: object) -> Challenge:
    """A challenge with two tracks like those of the example, without files; `changes` are keys of the first track."""
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
    """A team with a unique slug."""
    return Team(name, f"team-{digest(name)[:8]}" if name in HOSTILE else name.lower().replace(" ", "-"))


def entry(
    team_name: str,
    number: int,
    final: ColumnScores,
    preliminary: ColumnScores,
    *,
    state: State = "scored",
    counting: bool = False,
    findings: tuple[Problem, ...] = (),
    more: int = 0,
) -> Entry:
    """An entry of a team, received about 100 hours times `number` after the start."""
    hours = 100 * number + len(team_name) * 7 + number % 3
    received = START + timedelta(hours=hours, minutes=13 * number, seconds=number)
    made = Entry(
        index=int((received - START).total_seconds()),
        team=team_name,
        file=f"cold-start/{team_name}/{number}.txt",
        digest=digest(f"{team_name} {number}"),
        received=received,
        recorded=received,
        phase=None,
        presence="present",
        admission="ok",
        outcome="scored",
        is_counting=counting,
        final=final,
        preliminary=preliminary,
        counts=Counts(500, 498, 3, 14_930, 2, 0) if state == "scored" else None,
        findings=findings,
        findings_count=len(findings) + more,
    )
    return in_state(made, state)


def in_state(entry: Entry, state: State) -> Entry:
    """The entry in another state."""
    match state:
        case "withdrawn" | "superseded":
            return replace(entry, presence=state)
        case "misdated" | "early" | "late" | "over-quota":
            return replace(entry, admission=state)
        case _:
            return replace(entry, presence="present", admission="ok", outcome=state)


ERRORS = (
    Problem.of_form(0, "no list for 12 of 500 queries; each query needs one"),
    Problem.of_form(17, 'item "a7" is listed twice for query "q3" (first at rank 2); list each item once'),
    Problem.of_form(1234, 'expected "query:item,item,...", found "<script>alert(2)</script>"'),
)


def scored_row(name: str, final: float, preliminary: float, columns: int, entries: int = 1) -> Row:
    """A row, not ranked yet, of a team with this many scored entries; the latest one counts."""
    sent = []
    for number in range(entries, 0, -1):
        share = 1 - 0.06 * (entries - number) + 0.02 * (number % 2)
        mean = tuple(round(final * share * scale, 4) for scale in islice(cycle((1, 1.4, 0.8, 1.1, 1.9)), columns))
        early = tuple(
            round(preliminary * share * scale, 4) for scale in islice(cycle((1, 1.4, 0.8, 1.1, 1.9)), columns)
        )
        if number == entries:
            mean, early = (final, *mean[1:]), (preliminary, *early[1:])
        notes = (Problem.of_form(3, "a repeated item"),) if number == 1 else ()
        sent.append(entry(name, number, mean, early, counting=number == entries, findings=notes))
    return Row(None, None, team(name), False, sent[0], tuple(sent))


def baseline_row(name: str, final: float, preliminary: float, columns: int) -> Row:
    """The row of a baseline with one entry."""
    return replace(scored_row(name, final, preliminary, columns), baseline=True)


def rejected_row(name: str, columns: int) -> Row:
    """The row of a team whose only entry was rejected."""
    blank = (None,) * columns
    rejected = entry(name, 1, blank, blank, state="rejected", findings=ERRORS, more=9)
    return Row(None, None, team(name), False, None, (rejected,))


def board(track: Track) -> Board:
    """The same board for each folder of a track, computed once."""
    return replace(_board(track.model_copy(update={"root": Path()})), track=track)


@cache
def _board(track: Track) -> Board:
    """Twelve ranked teams, two of them with equal scores, two baselines, and two teams without a scored entry."""
    columns = tuple(str(measure) for measure in track.all_measures)
    width = len(columns)
    rows = [
        scored_row("tea-kettle", 0.3127, 0.3290, width, entries=6),
        scored_row("north-window", 0.3004, 0.2751, width, entries=4),
        scored_row("paper-boats", 0.2871, 0.2803, width, entries=3),
        scored_row(HOSTILE[0], 0.2871, 0.2990, width, entries=2),
        scored_row(HOSTILE[5], 0.2410, 0.2511, width),
        scored_row("Slow Lanterns", 0.2120, 0.2633, width, entries=9),
        scored_row(HOSTILE[2], 0.1812, 0.1700, width),
        scored_row(HOSTILE[3], 0.1431, 0.1390, width),
        baseline_row("most popular", 0.1215, 0.1244, width),
        scored_row(HOSTILE[4], 0.1103, 0.1350, width),
        scored_row(HOSTILE[6], 0.0987, 0.0931, width),
        scored_row("kingfisher", 0.0611, 0.0702, width),
        scored_row("late-train", 0.0240, 0.0310, width),
        baseline_row("random", 0.0021, 0.0018, width),
        rejected_row(HOSTILE[1], width),
        rejected_row("quiet-harbour", width),
    ]
    if not track.shows_final:
        rows = [without_final(row) for row in rows]
    return with_changes(with_certainty(board_of(track, *rows)))


def board_of(track: Track, *rows: Row) -> Board:
    """A board with these rows, in order and ranked, without statistics."""
    columns = tuple(str(measure) for measure in track.all_measures)
    salted, shown = SaltedDigest(digest(track.name)), track
    return Board(shown, columns, in_order(rows, shown), 500, 484, 97, salted, updated=UPDATED)


def without_final(row: Row) -> Row:
    """The row with its final scores as preliminary scores, and no final scores."""
    entries = tuple(replace(each, preliminary=each.final, final=(None,) * len(each.final)) for each in row.entries)
    return replace(row, entry=entries[0] if row.entry else None, entries=entries)


def erratum(track: str = "cold-start", number: int = 1, reason: str = "Two grades were swapped.") -> PublishedErratum:
    """An erratum that moves one team down, below two that share a rank."""
    rows = (
        ("tea-kettle", False, (2, 0.3004), (1, 0.3127)),
        (HOSTILE[0], False, (2, 0.3004), (1, 0.3127)),
        ("north-window", False, (1, 0.3127), (3, 0.3004)),
        ("most popular", True, (None, 0.1215), (None, 0.1215)),
        ("quiet-harbour", False, (None, None), (None, None)),
    )
    scale = Scale("MARp", 4, "preliminary")
    teams = tuple(
        BeforeAfter(team(name), baseline, Placing(*before), Placing(*after)) for name, baseline, before, after in rows
    )
    return PublishedErratum(
        track=track,
        number=number,
        at=UPDATED + timedelta(days=number),
        index=10 + number,
        reason=reason,
        rules=(ChangedRule("list_length", "30", "20"),),
        files=(ChangedFile("solution", SaltedDigest(digest("before")), SaltedDigest(digest("after"))),),
        changes=Changes(scale, scale, teams),
    )


def published_log(events: int = 20, version: int | None = 2) -> PublishedLog:
    """The log of so many events, by a key that every test has; `version` None is version 1."""
    recorded = (event_with(index, "", "phases", None, {"phases": []}, version) for index in range(1, events + 1))
    return PublishedLog(tuple(log_lines(b"key", recorded)))


def timeline(*errata: PublishedErratum, detail: str = "Why.") -> Timeline:
    """A timeline with phases, a decision about a team, and errata of the first track."""
    happenings = [
        Happening(each.at, each.track, "erratum", f"Erratum {each.number} applied", each.reason, each.path, each.index)
        for each in reversed(errata)
    ]
    happenings += [
        Happening(UPDATED, "", "renamed", "Team tea renamed to tea-kettle", detail, "teams/tea-kettle.html", 7),
        Happening(UPDATED, "", "disqualified", "Team gone disqualified", detail, "teams/gone.html", 6),
        Happening(START, "cold-start", "started", "Phase one started"),
        Happening(START - timedelta(days=40), "pooled-sequences", "announced", "Phases announced", detail, index=1),
    ]
    upcoming = (Happening(UPDATED + timedelta(days=30), "cold-start", "closed", "Phase one closes"),)
    return Timeline(tuple(happenings), upcoming, {"cold-start": errata} if errata else {})
