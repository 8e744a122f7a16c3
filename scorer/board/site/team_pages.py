"""The pages of a team: its result in each track, the reasons of its rank, the decisions about it, and all of its
entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup, escape

from scorer.board.board import Board, Pair, Row
from scorer.board.charts.over_time import TimedScore, timeline
from scorer.board.charts.svg import Svg
from scorer.board.site.captions import (
    entry_notes,
    looks_in_words,
    quota_left,
    significant,
    status_words,
    without_scores,
)
from scorer.board.site.figures import svg_percent
from scorer.board.site.neighbours import (
    Distribution,
    Field,
    Neighbours,
    QueryTable,
    distribution,
    field_of,
    neighbours,
    query_table,
)
from scorer.board.site.views import BoardView, RowView
from scorer.live.entry import STATE_WORDS, ColumnScores, Entry, State
from scorer.live.teams import ChangeKind, MergedTeam, Team, TeamChange
from scorer.wording import counted, in_words, long_time, ordinal, sentence, shortened

LONGEST_LINK = 60
"""Characters of a URL that a page shows."""

_CHANGES: Mapping[ChangeKind, str] = {
    "named": "Named {after}",
    "renamed": "Renamed from {before} to {after}",
    "merged": "Merged into {after}",
    "separated": "Separated from {before} again",
    "disqualified": "Disqualified",
    "withdrawn": "Withdrawn",
    "reinstated": "Ranked again",
}


@dataclass(frozen=True, slots=True)
class TeamLink:
    """A link of a team, which is not trusted."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A change in the history of a team."""

    at: datetime | None
    """In UTC."""
    text: Markup
    """A sentence, as HTML."""


@dataclass(frozen=True, slots=True)
class MergedTeamPage:
    """The page of a team whose entries are in the row of another team."""

    team: Team
    into: Team
    has_target: bool
    """Whether the other team has a page."""

    @property
    def path(self) -> str:
        return f"teams/{self.team.slug}.html"

    @property
    def about(self) -> str:
        """The page in one sentence."""
        return f"{self.team.name} is merged into {self.into.name}."

    @property
    def history(self) -> tuple[HistoryLine, ...]:
        return history(self.team)


def merged_pages(boards: Sequence[Board]) -> tuple[MergedTeamPage, ...]:
    """The pages of merged teams, one for each."""
    shown = {row.team.slug for board in boards for row in board.rows}
    pages = {
        merged.team.slug: MergedTeamPage(merged.team, merged.into, merged.into.slug in shown)
        for board in boards
        for merged in board.merged
    }
    return tuple(pages.values())


def merged_into(team: Team, boards: Iterable[Board]) -> tuple[MergedTeam, ...]:
    """The teams whose entries are in the row of this one."""
    teams = {merged.team.slug: merged for board in boards for merged in board.merged if merged.into.slug == team.slug}
    return tuple(teams.values())


def links(team: Team) -> tuple[TeamLink, ...]:
    """The links of a team: code, paper, then the others by their addresses."""
    named = [TeamLink(url, text) for url, text in ((team.code, "Code"), (team.paper, "Paper")) if url]
    others = (TeamLink(url, shortened(url.partition("://")[2].rstrip("/"), LONGEST_LINK)) for url in team.links)
    return (*named, *others)


def decision(team: Team) -> str:
    """Why a team has no rank: ``Disqualified on 8 July 2011, 12:00 UTC: two accounts.``; empty if it may have one."""
    if not team.is_excluded:
        return ""
    when = f" on {long_time(team.since)}" if team.since else ""
    reason = f": {team.reason}" if team.reason else ""
    return f"{team.status.capitalize()}{when}{reason.rstrip('.')}."


def history(team: Team) -> tuple[HistoryLine, ...]:
    """The history of a team, the earliest change first."""
    return tuple(HistoryLine(change.at, _sentence(change)) for change in team.history)


def _sentence(change: TeamChange) -> Markup:
    names = {name: Markup("<bdi>{}</bdi>").format(getattr(change, name)) for name in ("before", "after")}
    text = Markup(_CHANGES[change.kind]).format(**names)  # noqa: S704  one of the texts above
    return text + Markup(": <bdi>{}</bdi>").format(change.reason) if change.reason else text


NAMED = 2
"""How many of the nearest teams on each side the sentences name."""

LONGEST_NAME = 40
"""How many characters of a name a sentence has."""

MOST_QUERIES = 1_000_000
"""More queries than this are not a number that anyone could collect."""


def heading(row: Row) -> str:
    """What the sentences explain: ``Why ninth``."""
    return "Why no rank" if row.rank is None else f"Why {ordinal(row.rank)}"


def reasons(field: Field, position: int) -> tuple[Markup, ...]:
    """Explain the rank of a row, or why it has none, in sentences as HTML."""
    row = field.board.rows[position]
    if field.board.track.hides_scores:
        return (escape(without_scores(field.board)),)
    if row.team.is_excluded:
        return (escape(f"{decision(row.team)} Its entries stay visible and have no rank."),)
    if row.entry is None:
        return (_without_entry(row),)
    if field.score(position) is None:
        return (Markup("Its score is undefined, so it has no rank."),)
    if row.baseline:
        return (Markup("A baseline of the organisers has no rank."), _between(field, position))
    if len(field.ranked) == 1:
        return (Markup("No other team has a rank."),)
    sentences = [*_gaps(field, position), *_separation(field, position), *_needed(field, position)]
    if not field.board.track.shows_final:
        sentences.append(Markup("Final scores are not shown yet."))
    return tuple(sentences)


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


def _name(field: Field, position: int) -> Markup:
    row = field.board.rows[position]
    name = Markup("<bdi>{}</bdi>").format(shortened(row.team.name, LONGEST_NAME))
    return Markup("the baseline {}").format(name) if row.baseline else name


def _listed(names: Sequence[Markup], last: str = "and") -> Markup:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, end = names
    return escape(f" {last} ").join([Markup(", ").join(most), end]) if most else end


def _without_entry(row: Row) -> Markup:
    states = [entry.state for entry in row.present_entries]
    if "scored" in states:
        return Markup("The Ladder has released no score for the entries that are there.")
    predicates = {STATE_WORDS[state].predicate for state in states if STATE_WORDS[state].predicate}
    if len(predicates) != 1:
        return Markup("None of its {} entries is scored.").format(in_words(len(states)))
    which = "Its only entry" if len(states) == 1 else f"Each of its {in_words(len(states))} entries"
    return escape(f"{which} {predicates.pop()}.")


def _between(field: Field, position: int) -> Markup:
    """Between which ranked teams the score of a baseline is."""
    above = [other for other in field.ranked if other < position]
    below = [other for other in field.ranked if other > position]
    if above and below:
        return Markup("Its score is between those of {} and {}.").format(
            _placed(field, above[-1]), _placed(field, below[0])
        )
    if not above and not below:
        return Markup("No team has a rank yet.")
    return Markup("Every ranked team scores {}.").format("more" if above else "less")


def _placed(field: Field, position: int) -> Markup:
    return Markup("{} in {} place").format(_name(field, position), ordinal(field.board.rows[position].rank or 0))


def _gaps(field: Field, position: int) -> list[Markup]:
    """How far the next teams above and below are, and which teams share the rank."""
    rank = field.board.rows[position].rank
    ranks = {other: field.board.rows[other].rank or 0 for other in field.ranked}
    equal = [other for other in field.ranked if ranks[other] == rank and other != position]
    above = [other for other in field.ranked if ranks[other] < (rank or 0)]
    below = [other for other in field.ranked if ranks[other] > (rank or 0)]
    sentences = []
    if equal:
        names = _listed([_name(field, other) for other in equal[: 2 * NAMED]])
        more = f" and {counted(len(equal) - 2 * NAMED, 'other')}" if len(equal) > 2 * NAMED else ""
        sentences.append(Markup("It shares the rank with {}{}: their scores are equal.").format(names, more))
    parts = []
    if above:
        parts.append(Markup("{} less than {}").format(_gap(field, above[-1], position), _placed(field, above[-1])))
    if below:
        parts.append(Markup("{} more than {}").format(_gap(field, position, below[0]), _placed(field, below[0])))
    if parts:
        sentences.append(Markup("It scores {}.").format(_listed(parts)))
    return sentences


def _gap(field: Field, better: int, worse: int) -> Markup:
    """The difference of two scores: that of their pair, or of the printed scores."""
    pair = field.pairs.get(better, {}).get(worse)
    difference = abs(pair.difference) if pair else (field.score(better) or 0.0) - (field.score(worse) or 0.0)
    decimals = field.board.track.shown_decimals
    text = f"{difference:.{decimals}f}"
    if float(text) == 0.0:
        return Markup("<b>under {}</b>").format(f"{10.0**-decimals:.{decimals}f}")
    return Markup("<b>{}</b>").format(text)


def _tested(field: Field, position: int) -> dict[int, Pair]:
    """The pairs of a row with other teams, all pairs tested at once, by the position of the other team."""
    pairs = field.pairs.get(position, {})
    return {other: pair for other, pair in pairs.items() if pair.is_separable is not None}


def _separation(field: Field, position: int) -> list[Markup]:
    """Which of the nearest teams the queries separate from a row."""
    tested = _tested(field, position)
    certainty = field.board.primary_certainty
    if certainty is None or not tested:
        return []
    above = [other for other in sorted(tested) if other < position]
    below = [other for other in sorted(tested) if other > position]
    named = [*above[-NAMED:], *below[:NAMED]]
    separable = [_name(field, other) for other in named if tested[other].is_separable]
    others = [_name(field, other) for other in named if not tested[other].is_separable]
    start = Markup("The {}").format(counted(certainty.queries, "query", "queries"))
    if not others:
        return [Markup("{} separate it from {}.").format(start, _listed(separable))]
    if not separable:
        return [Markup("{} do not separate it from {}.").format(start, _listed(others, "or"))]
    return [Markup("{} separate it from {}, but not from {}.").format(start, _listed(separable), _listed(others, "or"))]


def _needed(field: Field, position: int) -> list[Markup]:
    """How many queries would separate a row from its neighbour in the ranking that is not separable."""
    tested = _tested(field, position)
    at = field.ranked.index(position)
    for other in (*field.ranked[:at][-1:], *field.ranked[at + 1 :][:1]):
        pair = tested.get(other)
        if pair and pair.is_separable is False and pair.queries_needed and pair.queries_needed <= MOST_QUERIES:
            return [
                Markup("If the differences stayed as they are, about {} queries would separate it from {}.").format(
                    significant(pair.queries_needed), _name(field, other)
                )
            ]
    return []


def hidden(field: Field, position: int) -> str:
    """Say why a team page shows no scores of queries; empty if it shows them."""
    row, primary = field.board.rows[position], field.board.track.primary_measure
    if row.entry is None or row.best_queries or row.worst_queries or row.histogram:
        return ""
    if primary.kind.aggregation != "mean":
        return f"{primary} is no mean over the queries, so single queries are not compared."
    if field.board.track.has_ladder:
        return "The Ladder decides which scores are shown, so the scores of single queries are hidden."
    if len(field.ranked) < 2:
        return "Without a second ranked team, there is nothing to compare the queries with."
    if field.board.primary_certainty is None:
        return "Intervals and tests are not computed for this board."
    if not primary.bounded:
        return f"The scores of {primary} have no upper bound, so their distribution is not drawn."
    if not field.board.track.shows_final:
        return "The scores of single queries are hidden while the challenge is open."
    return "The organisers do not show the scores of single queries."


def entries_in_words(row: Row) -> str:
    """The number of entries of a team and what became of them: ``2 entries, 1 rejected``."""
    statuses = [entry.state for entry in row.entries]
    counted_states: tuple[State, ...]
    counted_states = ("rejected", "withdrawn", "superseded", "misdated", "early", "late", "over-quota")
    parts = [
        f"{statuses.count(state):,} {STATE_WORDS[state].of_team or STATE_WORDS[state].label}"
        for state in counted_states
        if state in statuses
    ]
    waiting = sum(status in ("waiting", "failed") for status in statuses)
    parts += [f"{waiting:,} not scored yet"] if waiting else []
    return sentence(", ".join([counted(len(statuses), "entry", "entries"), *parts]))


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
        TimedScore(view.entry.received, score, f"Entry {view.number}: {score:.{decimals}f}", view.entry.is_counting)
        for view, score in shown
    ]
    title = f"{board.stage.capitalize()} {board.primary.name} of {drawn} over time"
    return timeline(points, title, decimals) if len(points) > 2 else None, drawn
