"""The pages of a team: its result in each track, the reasons of its rank, the decisions about it, and all of its
entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from scorer.board.board import Board, Pair, PastBoard, Row
from scorer.board.changes import LONGEST_NAME
from scorer.board.charts.over_time import TimedScore, timeline
from scorer.board.charts.svg import Svg
from scorer.board.site.captions import significant, without_scores
from scorer.board.site.figures import svg_percent
from scorer.board.site.neighbours import Field
from scorer.board.site.templates import Page
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


def merged_pages(boards: Sequence[Board]) -> Iterator[Page]:
    """The pages of the teams whose entries are in the row of another team, one for each."""
    shown = {row.team.slug for board in boards for row in board.rows}
    for merged in {merged.team.slug: merged for board in boards for merged in board.merged}.values():
        team, into = merged.team, merged.into
        values = {"team": team, "into": into, "has_target": into.slug in shown}
        yield Page(f"teams/{team.slug}.html", "merged.html", f"{team.name} is merged into {into.name}.", values)


def merged_into(team: Team, boards: Iterable[Board]) -> tuple[MergedTeam, ...]:
    """The teams whose entries are in the row of this one."""
    teams = {merged.team.slug: merged for board in boards for merged in board.merged if merged.into.slug == team.slug}
    return tuple(teams.values())


def team_links(team: Team) -> list[tuple[str, str]]:
    """The links of a team, which are not trusted: URL and text of each; code and paper come first."""
    named = [(url, text) for url, text in ((team.code, "Code"), (team.paper, "Paper")) if url]
    return [*named, *((url, shortened(url.partition("://")[2].rstrip("/"), LONGEST_LINK)) for url in team.links)]


def decision(team: Team) -> str:
    """Why a team has no rank: ``Disqualified on 8 July 2011, 12:00 UTC: two accounts.``; empty if it may have one."""
    if not team.is_excluded:
        return ""
    when = f" on {long_time(team.since)}" if team.since else ""
    reason = f": {team.reason}" if team.reason else ""
    return f"{team.status.capitalize()}{when}{reason.rstrip('.')}."


def in_history(change: TeamChange) -> Markup:
    """A change of a team as a sentence of HTML."""
    names = {name: Markup("<bdi>{}</bdi>").format(getattr(change, name)) for name in ("before", "after")}
    text = Markup(_CHANGES[change.kind]).format(**names)  # noqa: S704  one of the texts above
    return text + Markup(": <bdi>{}</bdi>").format(change.reason) if change.reason else text


NAMED = 2
"""How many of the nearest teams on each side the sentences name."""

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
    name = Markup("<bdi>{}</bdi>").format(shortened(row.name, LONGEST_NAME))
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
        marks = _marks(table)
        ranks = [(past, {row.folder: row.placing.rank for row in past.rows}) for past in table.board.past]
        for position, view in enumerate(table.rows):
            _, parts = teams.setdefault(view.row.team.slug, (view.row.team, []))
            past = [(past, rank) for past, of_past in ranks if (rank := of_past.get(view.row.folder))]
            parts.append(TeamInTrack(table, table.field, marks, view, position, _entries(table, view), past))
    for team, parts in sorted(teams.values(), key=lambda of_team: f"teams/{of_team[0].slug}.html" not in first):
        count = max(_page_of(len(part.entries) - 1) for part in parts)
        # A slug has no dot, so no two pages share a name.
        names = [f"{team.slug}.html", *(f"{team.slug}.{number}.html" for number in range(2, count + 1))]
        about = f"{team.name}: {'; '.join(summary(part.field, part.position) for part in parts)}."
        merged = merged_into(team, (view.board for view in views))
        for page, name in enumerate(names, start=1):
            listed = ((part, [entry for entry in part.entries if entry.page == page]) for part in parts)
            sections = [(part, entries) for part, entries in listed if entries]
            values = {"team": team, "page": page, "names": names, "merged": merged, "sections": sections}
            yield Page(f"teams/{name}", "team.html", about, values)


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


def _mark(board: BoardView, row: RowView) -> float | None:
    """Where the primary score of a row is on the axis, in percent. Marks that would cover each other are one."""
    score = row.scores[0]
    return None if score is None else round(2 * board.axis.position(score)) / 2


def _marks(board: BoardView) -> Mapping[float, int]:
    """The marks of all rows that have one, and how many rows each is of."""
    return Counter(mark for row in board.rows if (mark := _mark(board, row)) is not None)


def other_marks(part: TeamInTrack) -> list[str]:
    """Where the scores of the other rows are on the axis, as attributes of SVG."""
    own, marks = _mark(part.table, part.view), part.marks
    return [svg_percent(mark) for mark in sorted(marks) if mark != own or marks[mark] > 1]


def over_time(part: TeamInTrack) -> tuple[Svg | None, str]:
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
    title = f"{track.shown_stage.capitalize()} {part.table.columns[0].name} of {drawn} over time"
    return timeline(points, title, decimals) if len(points) > 2 else None, drawn
