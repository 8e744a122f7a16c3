"""Further pages of a track: its rules, its late board, the boards of phases that have closed, and its errata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from scorer.board.board import Board, PastBoard, PastRow, Row
from scorer.challenge.phases import Phase
from scorer.live.entry import Entry
from scorer.live.errata import BeforeAfter, PublishedErratum
from scorer.wording import counted, shared_rank

RULES, LATE = "rules.html", "late.html"

Number = TypeVar("Number", int, float)


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
    links += [PageLink(f"Board of the phase {past.phase.name}", past_path(board, past.phase)) for past in board.past]
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
    entries = [
        LateEntry(row, entry, board.shown_scores(entry)[0], _distance(board, entry))
        for row in board.late
        for entry in row.entries
    ]
    return tuple(sorted(entries, key=lambda late: (late.score is None, -(late.score or 0.0), late.entry.index)))


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


def difference(number: Number | None, other: Number | None) -> Number | None:
    """A number minus another one; None where either is missing."""
    return None if number is None or other is None else number - other


# The errata: every team before and after


@dataclass(frozen=True, slots=True)
class ErratumRow:
    """A team before and after an erratum."""

    change: BeforeAfter
    link: str
    """The path of the team's page in the site; empty without one."""
    before: str
    """The rank; `=3` if it was shared, empty without a rank."""
    after: str
    """As `before`."""
    move: int | None
    """Rank before minus rank after: above 0 if the team moved up; None where either is missing."""
    difference: float | None
    """Score after minus score before; None where either is missing, or the measures differ."""

    @property
    def is_changed(self) -> bool:
        return self.change.moves or self.change.is_rescored


def erratum_rows(erratum: PublishedErratum, paths: Container[str]) -> tuple[ErratumRow, ...]:
    """The rows of the table of an erratum; `paths` has the pages of the site."""
    changes = erratum.changes
    same = changes.before.measure == changes.after.measure
    before = Counter(change.before.rank for change in changes.teams)
    after = Counter(change.after.rank for change in changes.teams)
    return tuple(
        ErratumRow(
            change=change,
            link=path if (path := f"teams/{change.team.slug}.html") in paths else "",
            before=shared_rank(change.before.rank, before),
            after=shared_rank(change.after.rank, after),
            move=difference(change.before.rank, change.after.rank),
            difference=difference(change.after.score, change.before.score) if same else None,
        )
        for change in changes.teams
    )
