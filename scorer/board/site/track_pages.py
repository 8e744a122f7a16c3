"""The pages of a track but those of its teams and of its analysis: board, rules, late board, closed phases, errata."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from scorer.board.board import Board, Row, rule_sections
from scorer.board.site.templates import Page, to_text
from scorer.board.site.views import BoardView
from scorer.live.entry import Entry
from scorer.live.errata import PublishedErratum
from scorer.settings.rules import Phase
from scorer.settings.tracks import Challenge
from scorer.wording import counted

RULES, LATE = "rules.html", "late.html"


def track_links(board: Board) -> tuple[tuple[str, str], ...]:
    """The further pages of a track, in the order in which its board links to them: title and path in the site."""
    folder = board.track.name
    links = [("Rules", f"{folder}/{RULES}")]
    if board.late:
        links.append(("Late board", f"{folder}/{LATE}"))
    links += [(f"Board of the phase {past.phase.name}", _past_path(board, past.phase)) for past in board.past]
    return tuple(links)


def _past_path(board: Board, phase: Phase) -> str:
    """The path of the board of a phase that has closed."""
    return f"{board.track.name}/phases/{phase.name}.html"


def board_page(view: BoardView) -> Page:
    """The page of a board."""
    track = view.board.track
    values = {"board": view.board, "table": view}
    return Page(f"{track.name}/index.html", "board.html", to_text(track.description), values)


def rules_and_past_pages(view: BoardView, challenge: Challenge) -> Iterator[Page]:
    """The rules of a track, its late board, and the boards of the phases that have closed."""
    board = view.board
    folder, title = board.track.name, board.track.title
    values = {"board": board, "table": view}
    about = f"All rules of {title}: scores, times, the number of entries, which entry counts, teams, and files."
    sections = rule_sections(board, challenge.limits, by_service=bool(challenge.branding.service))
    yield Page(f"{folder}/{RULES}", "rules.html", about, {**values, "sections": sections})
    if board.late:
        about = f"Entries of {title} that were received before the first phase or after the end of one. "
        about += "They have no rank."
        yield Page(f"{folder}/{LATE}", "late.html", about, {**values, "entries": late_entries(board)})
    slugs = {row.team.folder: row.team.slug for row in board.rows}
    for past in board.past:
        about = f"The board of {title} as it was when the phase {past.phase.name} closed."
        yield Page(_past_path(board, past.phase), "phase.html", about, {**values, "past": past, "slugs": slugs})


def errata_pages(view: BoardView, errata: Sequence[PublishedErratum], paths: Collection[str]) -> Iterator[Page]:
    """The list of the errata of a track, and a page for each, which links to teams with a page among `paths`."""
    track = view.board.track
    values = {"board": view.board, "errata": errata, "paths": frozenset(paths)}
    if errata:
        yield Page(f"{track.name}/errata.html", "errata.html", f"The errata of {track.title}.", values)
    for erratum in errata:
        yield Page(erratum.path, "erratum.html", erratum.changes.summary, {**values, "erratum": erratum})


def late_entries(board: Board) -> list[tuple[Row, Entry, str]]:
    """All entries of the late board, the best first; they have no rank.

    The text says how long before the first phase, or after the end of its phase, it was received: ``2 hours late``.
    """

    def position(late: tuple[Row, Entry, str]) -> tuple[bool, float, int]:
        score = board.shown_scores(late[1])[0]
        return score is None, -(score or 0.0), late[1].index

    entries = [(row, entry, _distance(board, entry)) for row in board.late for entry in row.entries]
    return sorted(entries, key=position)


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
