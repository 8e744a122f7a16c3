"""The pages of a team: its result in each track, and all of its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scorer.board.board import Board, PastBoard
from scorer.board.charts.over_time import OverTime, TimedScore, scores_over_time
from scorer.board.charts.panel import svg_percent
from scorer.board.site.neighbours import Field
from scorer.board.site.templates import Page
from scorer.board.site.views import BoardView, RowView
from scorer.live.entry import ColumnScores, Entry
from scorer.rules.teams import Team


def merged_pages(boards: Sequence[Board]) -> Iterator[Page]:
    """The pages of the teams whose entries are in the row of another team, one for each."""
    shown = {row.team.slug for board in boards for row in board.rows}
    for merged in {merged.team.slug: merged for board in boards for merged in board.merged}.values():
        team, into = merged.team, merged.into
        values = {"team": team, "into": into, "has_target": into.slug in shown}
        yield Page(f"teams/{team.slug}.html", "merged.html", f"{team.name} is merged into {into.name}.", values)


MOST_QUERIES = 1_000_000
"""More queries than this are not a number that anyone could collect."""


def summary(field: Field, position: int) -> str:
    """Describe the result of a row in plain text: ``rank 9 of 10 in Cold start, final MARp@5,10 0.0876``."""
    row, track = field.board.rows[position], field.board.track
    score = field.score(position)
    if score is None:
        return f"no score in {track.title}"
    place = "a baseline" if row.baseline else f"rank {row.rank} of {len(field.ranked)}"
    if row.team.is_excluded:
        place = row.team.status
    return f"{place} in {track.title}, {track.shown_stage} {field.board.columns[0]} {score:.{track.shown_decimals}f}"


PER_PAGE = 50
"""How many entries of a track a page has."""

DRAWN = 100
"""How many entries a chart has, the latest ones; the entry that counts is drawn too."""


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry in the table of a team."""

    number: int
    """From 1, the first entry of the team."""
    page: int
    """The number of the page that lists it."""
    entry: Entry
    scores: ColumnScores
    """The scores that the board is ranked by."""


@dataclass(frozen=True, slots=True)
class TeamInTrack:
    """A team in a track: a section of its pages."""

    table: BoardView
    field: Field
    marks: Mapping[float, int]
    """The marks on the axis of all rows that have one, in percent, and how many rows each is of."""
    view: RowView
    position: int
    """In `Board.rows`."""
    entries: Sequence[EntryView]
    """All of them, the latest first."""
    past: Sequence[tuple[PastBoard, int]]
    """The boards of phases that have closed on which it had a rank, and the rank."""


def team_pages(views: Sequence[BoardView], first: Container[str] = ()) -> Iterator[Page]:
    """The pages of every team, with a section for each track that it takes part in, in the order of the boards.

    The first page of a team has its results and its latest entries of every track. The pages of teams with a page among
    the paths `first` come first.
    """
    teams: dict[str, tuple[Team, list[TeamInTrack]]] = {}
    for table in views:
        marks = Counter(mark for row in table.rows if (mark := _mark(table, row)) is not None)
        ranks = [(past, {row.folder: row.placing.rank for row in past.rows}) for past in table.board.past]
        for position, view in enumerate(table.rows):
            _, parts = teams.setdefault(view.row.team.slug, (view.row.team, []))
            past = [(past, rank) for past, of_past in ranks if (rank := of_past.get(view.row.folder))]
            own = view.row.entries
            entries = [
                EntryView(len(own) - index, _page_of(index), entry, table.board.shown_scores(entry))
                for index, entry in enumerate(own)
            ]
            parts.append(TeamInTrack(table, table.field, marks, view, position, entries, past))
    for team, parts in sorted(teams.values(), key=lambda of_team: f"teams/{of_team[0].slug}.html" not in first):
        count = max(_page_of(len(part.entries) - 1) for part in parts)
        # A slug has no dot, so no two pages share a name.
        names = [f"{team.slug}.html", *(f"{team.slug}.{number}.html" for number in range(2, count + 1))]
        about = f"{team.name}: {'; '.join(summary(part.field, part.position) for part in parts)}."
        merged = {each.team.slug: each for view in views for each in view.board.merged if each.into.slug == team.slug}
        of_team = {"team": team, "names": names, "merged": tuple(merged.values())}
        for page, name in enumerate(names, start=1):
            listed = ((part, [entry for entry in part.entries if entry.page == page]) for part in parts)
            sections = [(part, entries) for part, entries in listed if entries]
            values = {**of_team, "page": page, "sections": sections}
            yield Page(f"teams/{name}", "team.html", about, values)


def _page_of(index: int) -> int:
    """The page that lists the entry at this index, the latest having index 0."""
    return index // PER_PAGE + 1


def _mark(board: BoardView, row: RowView) -> float | None:
    """Where the primary score of a row is on the axis, in percent. Marks that would cover each other are one."""
    score = row.scores[0]
    return None if score is None else round(2 * board.axis.position(score)) / 2


def other_marks(part: TeamInTrack) -> list[str]:
    """Where the scores of the other rows are on the axis, as attributes of SVG."""
    own, marks = _mark(part.table, part.view), part.marks
    return [svg_percent(mark) for mark in sorted(marks) if mark != own or marks[mark] > 1]


def over_time(part: TeamInTrack) -> tuple[OverTime | None, str]:
    """The chart of the primary score over time, and which entries it shows, in words.

    None where fewer than two entries have a score.
    """
    track = part.table.board.track
    scored = [
        (view, score)
        for view in part.entries
        if view.entry.state != "misdated" and (score := view.scores[0]) is not None
    ]
    shown = scored[:DRAWN] + [(view, score) for view, score in scored[DRAWN:] if view.entry.is_counting]
    scores = ("improvement", "improvements") if track.has_ladder else ("scored entry", "scored entries")
    drawn = f"each {scores[0]}"
    if len(scored) > len(shown):
        drawn = f"each of the latest {DRAWN} {scores[1]}{' and of the one that counts' if len(shown) > DRAWN else ''}"
    decimals = track.shown_decimals
    points = [
        TimedScore(view.entry.received, score, f"Entry {view.number}: {score:.{decimals}f}", view.entry.is_counting)
        for view, score in shown
    ]
    return scores_over_time(points, decimals) if len(points) > 2 else None, drawn
