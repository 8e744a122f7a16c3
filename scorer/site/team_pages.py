"""The pages of a team: its result in each track, and all of its entries, some on each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from scorer.charts.svg import Svg
from scorer.charts.timeline import Point, timeline
from scorer.live.entry import ColumnScores, Entry
from scorer.live.teams import MergedTeam, Team
from scorer.site.distribution import Distribution, QueryTable, distribution, query_table
from scorer.site.entry_words import entry_notes, looks_in_words, quota_left, status_words
from scorer.site.neighbours import Field, Neighbours, field_of, neighbours
from scorer.site.rank_reasons import entries_in_words, heading, hidden, reasons, summary
from scorer.site.strip import svg_percent
from scorer.site.team_decisions import HistoryLine, TeamLink, decision, history, links, merged_into
from scorer.site.views import BoardView, RowView

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

    @property
    def status(self) -> str:
        """What became of it, in words."""
        return status_words(self.entry)

    @property
    def is_invalid(self) -> bool:
        """Whether its findings are errors, rather than notes."""
        return self.entry.counts is None


@dataclass(frozen=True, slots=True)
class TeamResult:
    """The result of a team in a track, on the first page."""

    heading: str
    """What the reasons explain: ``Why ninth``."""
    reasons: tuple[Markup, ...]
    """Sentences, as HTML."""
    others: tuple[str, ...]
    """Where the scores of the other teams are on the axis of the board, as attributes of SVG."""
    leader: RowView | None
    """The best team with a rank, if it is another one."""
    neighbours: Neighbours | None
    """The nearest teams; None without statistics."""
    distribution: Distribution | None
    """A histogram of the scores of its queries; None where it has none."""
    queries: QueryTable | None
    """Its best and worst queries; None where they are hidden."""
    hidden: str
    """Why there is neither of the two; empty if there is."""


@dataclass(frozen=True, slots=True)
class TeamSection:
    """The section about one track on a page of a team."""

    board: BoardView
    view: RowView
    words: str
    """How many entries the team has, and what became of them."""
    result: TeamResult | None
    """None on other pages than the first."""
    entries: tuple[EntryView, ...]
    """Those on the page, the latest first."""
    counting: EntryView | None
    """The counting entry, which may be on another page."""
    chart: Svg | None
    """The primary score over time, on the first page; None where fewer than two entries have one."""
    drawn: str
    """Which entries the chart shows, in words."""
    looks: str
    """How many looks the team had, on the first page; empty where they are not shown."""
    left: Markup
    """What the team has left of its quota, on the first page; empty without a quota."""
    notes: tuple[str, ...]
    """What the states of the entries on the page mean."""


@dataclass(frozen=True, slots=True)
class TeamPage:
    """One of the pages of a team. The first one has the latest entries of every track, and the team's results."""

    team: Team
    number: int
    """From 1."""
    count: int
    """How many pages the team has."""
    sections: tuple[TeamSection, ...]
    """One for each track with entries on the page."""
    about: str
    """The results of the team in one sentence."""
    decision: str = ""
    """Why the team has no rank, if it is disqualified or withdrawn."""
    links: tuple[TeamLink, ...] = ()
    merged: tuple[MergedTeam, ...] = ()
    """The teams whose entries are among those of the team."""
    history: tuple[HistoryLine, ...] = ()
    """Changes of its name and decisions about it, the earliest first."""

    def name(self, number: int) -> str:
        """The name of the file of a page of the team. A slug has no dot, so no two pages share a name."""
        return f"{self.team.slug}.html" if number == 1 else f"{self.team.slug}.{number}.html"

    @property
    def path(self) -> str:
        return f"teams/{self.name(self.number)}"


def team_pages(boards: Sequence[BoardView], first: Container[str] = ()) -> Iterator[TeamPage]:
    """The pages of every team, with a section for each track that it takes part in, in the order of the boards.

    Those of teams whose page is among the paths `first` come first.
    """
    teams: dict[str, tuple[Team, list[_Participation]]] = {}
    for board in boards:
        field, marks = field_of(board.board), _marks(board)
        for position, view in enumerate(board.rows):
            _, parts = teams.setdefault(view.row.team.slug, (view.row.team, []))
            parts.append(_Participation(board, field, marks, view, position, _entries(board, view)))
    for team, parts in sorted(teams.values(), key=lambda of_team: f"teams/{of_team[0].slug}.html" not in first):
        count = max(_page_of(len(part.entries) - 1) for part in parts)
        about = "; ".join(summary(part.field, part.position) for part in parts)
        for number in range(1, count + 1):
            sections = (_section(part, number) for part in parts)
            shown = tuple(section for section in sections if section.entries)
            yield TeamPage(
                team,
                number,
                count,
                shown,
                f"{team.name}: {about}.",
                decision(team),
                links(team),
                merged_into(team, (board.board for board in boards)),
                history(team),
            )


@dataclass(frozen=True, slots=True)
class _Participation:
    """A team in a track."""

    board: BoardView
    field: Field
    marks: Mapping[float, int]
    """Of the board."""
    view: RowView
    position: int
    """In `Board.rows`."""
    entries: Sequence[EntryView]
    """All of them, the latest first."""


def _page_of(index: int) -> int:
    """The page that lists the entry at this index, the latest having index 0."""
    return index // PER_PAGE + 1


def _entries(board: BoardView, view: RowView) -> list[EntryView]:
    """All entries of a team in a track, the latest first."""
    entries = view.row.entries
    return [
        EntryView(len(entries) - index, _page_of(index), entry, board.board.shown_scores(entry))
        for index, entry in enumerate(entries)
    ]


def _section(part: _Participation, number: int) -> TeamSection:
    chart, drawn = _chart(part.board, part.entries) if number == 1 else (None, "")
    shown = tuple(entry for entry in part.entries if entry.page == number)
    return TeamSection(
        board=part.board,
        view=part.view,
        words=entries_in_words(part.view.row),
        result=_team_result(part) if number == 1 else None,
        entries=shown,
        counting=next((view for view in part.entries if view.entry.is_counting), None),
        chart=chart,
        drawn=drawn,
        looks=looks_in_words(part.board.board, part.view.row) if number == 1 else "",
        left=quota_left(part.board.board, part.view.row) if number == 1 else Markup(),
        notes=entry_notes([view.entry for view in shown]),
    )


def _team_result(part: _Participation) -> TeamResult:
    field, position, rows = part.field, part.position, part.board.rows
    leader = rows[field.ranked[0]] if field.ranked and field.ranked[0] != position else None
    return TeamResult(
        heading=heading(part.view.row),
        reasons=reasons(field, position),
        others=_other_marks(part),
        leader=leader,
        neighbours=neighbours(field, position),
        distribution=distribution(field, position),
        queries=query_table(field, position),
        hidden=hidden(field, position),
    )


def _mark(board: BoardView, row: RowView) -> float | None:
    """Where the primary score of a row is on the axis, in percent. Marks that would cover each other are one."""
    score = row.scores[0]
    return None if score is None else round(2 * board.axis.position(score)) / 2


def _marks(board: BoardView) -> Mapping[float, int]:
    """The marks of all rows that have one, and how many rows each is of."""
    return Counter(mark for row in board.rows if (mark := _mark(board, row)) is not None)


def _other_marks(part: _Participation) -> tuple[str, ...]:
    """Where the scores of the other rows are on the axis."""
    own, marks = _mark(part.board, part.view), part.marks
    return tuple(svg_percent(mark) for mark in sorted(marks) if mark != own or marks[mark] > 1)


def _chart(board: BoardView, entries: Sequence[EntryView]) -> tuple[Svg | None, str]:
    """The chart of the primary score over time, and which entries it shows, in words."""
    scored = [
        (view, score) for view in entries if view.entry.state != "misdated" and (score := view.scores[0]) is not None
    ]
    shown = scored[:DRAWN] + [(view, score) for view, score in scored[DRAWN:] if view.entry.is_counting]
    scores = ("improvement", "improvements") if board.track.has_ladder else ("scored entry", "scored entries")
    drawn = f"each {scores[0]}"
    if len(scored) > len(shown):
        drawn = f"each of the latest {DRAWN} {scores[1]}{' and of the one that counts' if len(shown) > DRAWN else ''}"
    decimals = board.track.shown_decimals
    points = [
        Point(view.entry.received, score, f"Entry {view.number}: {score:.{decimals}f}", view.entry.is_counting)
        for view, score in shown
    ]
    title = f"{board.stage.capitalize()} {board.primary.name} of {drawn} over time"
    return timeline(points, title, decimals) if len(points) > 2 else None, drawn
