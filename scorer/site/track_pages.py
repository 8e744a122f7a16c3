"""Further pages of a track: its rules, its late board, and the boards of phases that have closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from scorer.board.board import Board, PastBoard, PastRow, Row
from scorer.challenge.phases import Phase
from scorer.live.entry import Entry
from scorer.wording import counted

RULES, LATE = "rules.html", "late.html"


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page of the site."""

    title: str
    path: str
    """In the site, with forward slashes."""


def track_links(board: Board) -> tuple[PageLink, ...]:
    """The further pages of a track, in the order in which its board links to them."""
    folder = board.track.name
    links = [PageLink("Rules", f"{folder}/{RULES}")]
    if board.late:
        links.append(PageLink("Late board", f"{folder}/{LATE}"))
    links += [PageLink(f"Board of the phase {each.phase.name}", past_path(board, each.phase)) for each in board.past]
    return tuple(links)


def past_path(board: Board, phase: Phase) -> str:
    """The path of the board of a phase that has closed."""
    return f"{board.track.name}/phases/{phase.name}.html"


# The late board


@dataclass(frozen=True, slots=True)
class LateEntry:
    """An entry on the late board."""

    row: Row
    entry: Entry
    score: float | None
    """The primary score that the board shows."""
    distance: str
    """How long before the first phase, or after the end of its phase, it was received: ``2 hours late``."""


def late_entries(board: Board) -> tuple[LateEntry, ...]:
    """All entries of the late board, the best first; they have no rank."""
    found = [
        LateEntry(row, entry, board.shown_scores(entry)[0], _distance(board, entry))
        for row in board.late
        for entry in row.entries
    ]
    return tuple(sorted(found, key=lambda each: (each.score is None, -(each.score or 0.0), each.entry.index)))


def _distance(board: Board, entry: Entry) -> str:
    phases = board.phases.all
    if entry.admission == "early":
        return f"{_rounded(phases[0].start, entry.received)} early"
    phase = next(phase for phase in phases if phase.name == entry.phase)
    return f"{_rounded(entry.received, phase.end)} late"


def _rounded(later: datetime, earlier: datetime) -> str:
    """A duration in its largest unit, rounded down: ``3 days``."""
    duration = later - earlier
    for name, size in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if duration >= size:
            return counted(duration // size, name)
    return counted(duration // timedelta(seconds=1), "second") if duration >= timedelta(seconds=1) else "under a second"


# The board of a phase that has closed


@dataclass(frozen=True, slots=True)
class PastRowView:
    """A row on the board of a phase that has closed."""

    row: PastRow
    rank: str
    """`=3` if the rank is shared; empty for a row without a rank."""
    page: str
    """The slug of the page that the team has now; empty if it has none."""


def past_rows(board: Board, past: PastBoard) -> tuple[PastRowView, ...]:
    """The rows of the board of a phase that has closed, the best first; `board` is the present one."""
    pages = {row.team.folder: row.team.slug for row in board.rows}
    sharing = Counter(row.rank for row in past.rows)
    return tuple(PastRowView(row, shared_rank(row.rank, sharing), pages.get(row.folder, "")) for row in past.rows)


def shared_rank(rank: int | None, sharing: Counter[int | None]) -> str:
    """A rank as pages show it: `=3` if several rows have it; empty for None."""
    return "" if rank is None else f"={rank}" if sharing[rank] > 1 else f"{rank}"
