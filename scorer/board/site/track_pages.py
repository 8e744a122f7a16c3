"""The pages of a track but that of its analysis: board, comparison, rules, phases, errata; and those of teams."""

from __future__ import annotations

import json
import math
from bisect import bisect, bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
from markupsafe import Markup

from scorer.board.board import (
    BINS,
    EPOCH,
    Board,
    Interval,
    PastBoard,
    Row,
    RowPair,
    SliceBoard,
    SliceRow,
    rule_sections,
)
from scorer.board.charts.over_time import lasted
from scorer.board.charts.panel import Axis, svg_percent
from scorer.board.site.captions import ranked_positions, table_caption
from scorer.board.site.figures import axis_for
from scorer.board.site.templates import Page, state_of, to_text
from scorer.board.site.views import BoardView, RowView
from scorer.board.statistics import SHARE_DECIMALS
from scorer.live.entry import ColumnScores, Entry
from scorer.live.errata import PublishedErratum
from scorer.live.now import NO_LOG, PublishedLog
from scorer.live.rules import publication_rules
from scorer.live.timeline import NO_TIMELINE, Timeline
from scorer.rules.phases import Phase
from scorer.rules.teams import Team
from scorer.scoring.analysis.scores import medians_of_others
from scorer.settings.tracks import Challenge
from scorer.wording import counted

_RULES, _LATE, _COMPARE, _SLICES = "rules.html", "late.html", "compare.html", "slices.html"

SHADES = 5
"""The shades of a column of the heat table."""

MOST_QUERIES = 1_000_000
"""More queries than this are not a number that anyone could collect."""

MOST_ROWS = 20
"""How many rows of the board of a slice the page lists."""


def track_links(board: Board) -> tuple[tuple[str, str], ...]:
    """The further pages of a track, in the order in which its board links to them: title and path in the site."""
    folder = board.track.name
    links = [("Rules", f"{folder}/{_RULES}")]
    if board.late:
        links.append(("Late board", f"{folder}/{_LATE}"))
    links += [(f"Board of the phase {past.phase.name}", _past_path(board, past.phase)) for past in board.past]
    return tuple(links)


def _past_path(board: Board, phase: Phase) -> str:
    """The path of the board of a phase that has closed."""
    return f"{board.track.name}/phases/{phase.name}.html"


def board_page(view: BoardView) -> Page:
    """The page of a board."""
    track = view.board.track
    about = f"{to_text(track.description)} {table_caption(view.board)}".strip()
    return Page(f"{track.name}/index.html", "board.html", about, {"board": view.board, "table": view})


def compare_pages(view: BoardView) -> Iterator[Page]:
    """The page that compares any two teams of a board; none where no teams are compared."""
    board, field = view.board, Field(view.board)
    leader = next((position for position in field.ranked if position in field.pairs), min(field.pairs, default=-1))
    found = neighbours(field, leader, all_rows=True)
    if found is None:
        return
    positions = sorted(field.pairs)
    values = {
        "board": board,
        "table": view,
        "teams": [view.rows[position] for position in positions],
        "of_leader": found,
        "data": json.dumps(_compared(view, positions), separators=(",", ":"), ensure_ascii=False),
    }
    about = f"Any two teams of {board.track.title}: the difference of their scores, its interval, and tests."
    yield Page(f"{board.track.name}/{_COMPARE}", "compare.html", about, values)


def _compared(view: BoardView, positions: Sequence[int]) -> dict[str, object]:
    """What the script of the page selects from; teams are places in `positions`.

    Numbers are as they are shown, in units of their last decimal. A p-value of 0 is less than one unit.
    """
    board, queries = view.board, view.board.query_scores
    place_of = {position: place for place, position in enumerate(positions)}
    decimals = (board.track.shown_decimals, view.interval_decimals, p_decimals(board))

    def units(value: float | None, kind: int) -> int | None:
        return None if value is None else round(float(f"{value:.{decimals[kind]}f}") * 10 ** decimals[kind])

    pairs = [
        [
            place_of[pair.row],
            place_of[pair.other],
            units(pair.difference, 0),
            *(units(end, 1) for end in pair.interval or (None, None)),
            0 if p_text(pair, board).startswith("<") else units(pair.p_value, 2),
            pair.is_clear,
            *(pair.wins, pair.ties, pair.losses),
            pair.queries_needed if pair.queries_needed and pair.queries_needed <= MOST_QUERIES else None,
        ]
        for pair in board.pairs
    ]
    return {
        "pairs": pairs,
        "decimals": decimals,
        "ids": [board.query_ids[query] for query in queries.queries] if queries else [],
        "scores": [[units(score, 0) for score in queries.of_rows[each]] for each in positions] if queries else [],
    }


def rules_and_past_pages(view: BoardView, challenge: Challenge) -> Iterator[Page]:
    """The rules of a track, its late board, and the boards of the phases that have closed."""
    board = view.board
    folder, title = board.track.name, board.track.title
    values = {"board": board, "table": view}
    yield Page(f"{folder}/embed.html", "embed.html", f"The first teams of {title}.", values)
    about = f"All rules of {title}: scores, times, the number of entries, which entry counts, teams, and files."
    sections = rule_sections(board, by_service=bool(challenge.branding.service))
    published = publication_rules(challenge.licence, submissions=challenge.publish_submissions)
    of_page = {"sections": sections, "publication": published if challenge.licence else ()}
    yield Page(f"{folder}/{_RULES}", "rules.html", about, {**values, **of_page})
    if board.slices:
        about = f"The teams of {title} on slices of the queries: scores, intervals and ranks on each."
        heat = tuple(map(_shaded, board.slices))
        yield Page(f"{folder}/{_SLICES}", "slices.html", about, {**values, "heat": heat, "most": MOST_ROWS})
    if board.late:
        about = f"Entries of {title} that were received before the first phase or after the end of one. "
        about += "They have no rank."
        yield Page(f"{folder}/{_LATE}", "late.html", about, {**values, "entries": late_entries(board)})
    slugs = {row.folder: row.team.slug for row in board.rows}
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
    if duration >= timedelta(minutes=1):
        return lasted(duration)
    return counted(duration // timedelta(seconds=1), "second") if duration >= timedelta(seconds=1) else "under a second"


def _shaded(part: SliceBoard) -> dict[int, tuple[SliceRow, int]]:
    """The rows of a slice by their positions on the board of the track, with their shades in the heat table.

    From the lowest score to the highest, the steps are equal. All are 0 where no two teams differ significantly.
    """
    scores = [row.score for row in part.rows if row.score is not None]
    low, width = (min(scores), max(scores) - min(scores)) if scores and part.separates is not False else (0.0, 0.0)

    def shade(score: float | None) -> int:
        return 0 if score is None or not width else min(int((score - low) / width * SHADES), SHADES - 1)

    return {row.row: (row, shade(row.score)) for row in part.rows}


# A team among the others: the nearest ones, and the scores of its queries next to theirs

NEAREST = 3
"""How many rows above and below a team the table has, in addition to the leader."""

P_DECIMALS = 3
"""Of values of p; smaller ones are shown as ``< 0.001``. With preliminary scores, they have fewer."""


@dataclass(frozen=True)
class Field:
    """A board, and what is derived from all of its rows. Positions are those in `Board.rows`."""

    board: Board

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The positions of the teams with a rank, the best first."""
        return tuple(ranked_positions(self.board))

    @cached_property
    def pairs(self) -> Mapping[int, Mapping[int, RowPair]]:
        """The pairs of each position by the position of the other row."""
        pairs: dict[int, dict[int, RowPair]] = {}
        for pair in self.board.pairs:
            pairs.setdefault(pair.row, {})[pair.other] = pair
            pairs.setdefault(pair.other, {})[pair.row] = pair
        return pairs

    @cached_property
    def histograms(self) -> tuple[int, tuple[int, ...]]:
        """How many ranked teams have a histogram of their primary scores, and the sum of these histograms."""
        histograms = [counts for position in self.ranked if (counts := self.board.rows[position].histogram)]
        return len(histograms), tuple(map(sum, zip(*histograms, strict=True)))

    @cached_property
    def medians(self) -> Mapping[int, Sequence[float]]:
        """By the position of a row, on each query of `Board.query_scores` the median of the other ranked teams; NaN
        where one is undefined.
        """
        return {} if self.board.query_scores is None else self._medians(self.board.query_scores.of_rows)

    @cached_property
    def medians_of_deciles(self) -> Mapping[int, Sequence[float]]:
        """The same of the deciles of the scores of queries."""
        return self._medians({at: row.deciles for at, row in enumerate(self.board.rows) if row.deciles})

    def _medians(self, of_rows: Mapping[int, Sequence[float | None]]) -> Mapping[int, Sequence[float]]:
        ranked = [place for place, position in enumerate(of_rows) if self.board.rows[position].rank is not None]
        scores = np.array([*of_rows.values()], dtype=np.float64)
        if not len(scores):
            return {}
        return dict(zip(of_rows, medians_of_others(scores, np.array(ranked, dtype=np.int64)).tolist(), strict=True))

    def score(self, position: int) -> float | None:
        """The primary score of a row that the board is ranked by."""
        return self.board.shown_scores(self.board.rows[position].entry)[0]

    def around(self, position: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """The other ranked teams that share the rank of a team, those above it, and those below it."""
        ranks, own = self._ranks, self.board.rows[position].rank or 0
        first, end = bisect_left(ranks, own), bisect(ranks, own)
        return [each for each in self.ranked[first:end] if each != position], self.ranked[:first], self.ranked[end:]

    @cached_property
    def _ranks(self) -> Sequence[int]:
        """The ranks of `ranked`."""
        return [self.board.rows[position].rank or 0 for position in self.ranked]

    def nearest(self, position: int) -> tuple[Sequence[int], Sequence[int]]:
        """The two nearest teams above a row and the two below it, of those that all pairs were tested with at once.

        First those that are separable from it, then the others.
        """
        pairs = self.pairs.get(position, {})
        tested = sorted(other for other, pair in pairs.items() if pair.is_separable is not None)
        at = bisect(tested, position)
        near = tested[max(at - 2, 0) : at + 2]
        return [each for each in near if pairs[each].is_separable], [
            each for each in near if not pairs[each].is_separable
        ]

    def needed(self, position: int) -> tuple[int, int] | None:
        """The first neighbour in the ranking that is not separable from a team, and how many queries would separate
        them; None where that is not known, or is more than anyone could collect.
        """
        at, pairs = self.ranked.index(position), self.pairs.get(position, {})
        for other in (*self.ranked[:at][-1:], *self.ranked[at + 1 :][:1]):
            pair = pairs.get(other)
            if pair and pair.is_separable is False and 0 < (pair.queries_needed or 0) <= MOST_QUERIES:
                return other, pair.queries_needed or 0
        return None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of the table."""

    position: int
    """In `Board.rows`."""
    row: Row
    pair: RowPair | None
    """None in the row of the team itself, as the two fields below."""
    difference: float | None
    """Of the other team's score, minus that of the team."""
    interval: Interval | None
    shares: tuple[int, ...]
    """On how many queries the other team is better, equal and worse; empty where the scores of queries are hidden."""
    marks: Markup
    """The interval and the difference on the axis, as SVG."""
    bar: Markup
    """The shares as parts of a bar, as SVG."""


def neighbours(field: Field, position: int, *, all_rows: bool = False) -> tuple[list[Neighbour], Axis] | None:
    """Return the rows of the table of the team at `position`, itself among them, and the axis of the differences.

    They are the nearest ones, or all that are compared with it. None where no pair with it was compared.
    """
    pairs = field.pairs.get(position, {})
    if not pairs:
        return None
    shown = sorted([*(pairs if all_rows else _nearest(field.board, pairs, position)), position])
    found = [(other, pair := pairs.get(other), *_turned(pair, position)) for other in shown]
    ends = (end for *_, number, interval, _ in found for end in (number, *(interval or ())) if end is not None)
    axis, rows = axis_for(ends), field.board.rows
    return [
        Neighbour(other, rows[other], pair, number, interval, shares, _marks(axis, number, interval), _bar(shares))
        for other, pair, number, interval, shares in found
    ], axis


def _nearest(board: Board, pairs: Mapping[int, RowPair], position: int) -> set[int]:
    """The positions that the table has: the nearest ones, the best ranked team, and the best baseline if no other one.

    With a team, it has all teams that share its rank.
    """
    compared, rows = sorted(pairs), board.rows
    above = [other for other in compared if other < position]
    near = {*above[-NEAREST:], *[other for other in compared if other > position][:NEAREST]}
    near.update([other for other in above if rows[other].rank is not None][:1])
    if not any(rows[other].baseline for other in (*near, position)):
        near.update([other for other in compared if rows[other].baseline][:1])
    ranks = {rows[other].rank for other in (*near, position)} - {None}
    return near | {other for other in compared if rows[other].rank in ranks}


def _turned(pair: RowPair | None, own: int) -> tuple[float | None, Interval | None, tuple[int, ...]]:
    """The difference of a pair, its interval and its shares, as `Neighbour` has them in the table of the row `own`."""
    if pair is None:
        return None, None, ()
    counts = (
        () if pair.wins is None or pair.ties is None or pair.losses is None else (pair.wins, pair.ties, pair.losses)
    )
    if pair.row != own:
        return pair.difference, pair.interval, counts
    interval = (-pair.interval[1], -pair.interval[0]) if pair.interval else None
    return -pair.difference + 0.0, interval, counts[::-1]


def _marks(axis: Axis, difference: float | None, interval: Interval | None) -> Markup:
    if difference is None:
        return Markup()
    low, high = map(axis.percent, interval or (0.0, 0.0))
    span = f'<line class="span" x1="{low}" x2="{high}" y1="50%" y2="50%"/>' if interval else ""
    return Markup(f'{span}<circle class="dot" cx="{axis.percent(difference)}" cy="50%" r="5"/>')  # noqa: S704  numbers


def _bar(shares: Sequence[int]) -> Markup:
    parts, start, total = [], 0, max(sum(shares), 1)
    for number, count in enumerate(shares, start=1):
        x, width = svg_percent(100 * start / total), svg_percent(100 * count / total)
        parts.append(f'<rect class="part{number}" x="{x}" width="{width}" height="8"/>')
        start += count
    return Markup("".join(parts))  # noqa: S704  numbers


def p_decimals(board: Board) -> int:
    """Return how many decimals the p-values of a board have."""
    return P_DECIMALS if board.track.shows_final else SHARE_DECIMALS


def p_text(pair: RowPair, board: Board) -> str:
    """Return the p-value of a pair: ``0.012``, ``< 0.001``."""
    decimals = p_decimals(board)
    least = 10.0**-decimals
    return f"< {least:g}" if pair.p_value < least else f"{pair.p_value:.{decimals}f}"


@dataclass(frozen=True, slots=True)
class Distribution:
    """The histogram of the scores of the queries of a team."""

    counts: tuple[int, ...]
    """The number of queries in each step."""
    others: int
    """How many other teams there are."""
    svg: Markup


_STEPS = tuple((svg_percent(100 * step / BINS), f"{100 * (step + 1) / BINS:g}") for step in range(BINS))
"""Where each bar begins, and where its step of the line ends."""

_BAR = svg_percent(100 / BINS - 0.5)
_BELOW = "".join(
    f'<text class="across" x="{svg_percent(100 * share)}" y="100%" dy="18">{share:g}</text>'
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
)


def distribution(field: Field, position: int) -> Distribution | None:
    """Return the histogram of a row; None where it has none.

    The mean of the other teams is a line in steps, from the bottom on the left to the bottom on the right.
    """
    row = field.board.rows[position]
    own = row.histogram
    if not own:
        return None
    is_ranked = row.rank is not None
    count, totals = field.histograms
    others = count - is_ranked
    means = [(total - number * is_ranked) / others for total, number in zip(totals, own, strict=True)] if others else []
    axis = axis_for([*own, *means])
    label = f"Queries from 0 to 1 in {BINS} steps of {1 / BINS:g}: {', '.join(map(str, own))}."
    line = ""
    if means:
        label += f" Mean of the other teams: {', '.join(f'{mean:.1f}' for mean in means)}."
        steps = [f"V{100 - axis.position(mean):.2f}H{end}" for mean, (_, end) in zip(means, _STEPS, strict=True)]
        line = '<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="100%">'
        line += f'<path class="field" d="M0 100{"".join(steps)}V100"/></svg>'
    heights = [(svg_percent(100 - axis.position(value)), text) for value, text in axis.labels]
    grid = [
        f'<line class="grid" x2="100%" y1="{y}" y2="{y}"/><text class="last" x="-8" y="{y}" dy="4">{text}</text>'
        for y, text in heights
    ]
    tops = [(start, axis.position(number)) for number, (start, _) in zip(own, _STEPS, strict=True) if number]
    bars = [
        f'<rect class="bar" x="{start}" y="{svg_percent(100 - top)}" width="{_BAR}" height="{svg_percent(top)}"/>'
        for start, top in tops
    ]
    start = f'<svg role="img" aria-label="{label}">\n'
    return Distribution(own, others, Markup("".join([start, *grid, *bars, line, _BELOW, "</svg>"])))  # noqa: S704


def query_rows(field: Field, position: int) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the id of each public query that counts, the score of a row and the median of the other ranked teams."""
    board, scores = field.board, field.board.query_scores
    if scores and position in scores.of_rows:
        for query, own, middle in zip(scores.queries, scores.of_rows[position], field.medians[position], strict=True):
            yield board.query_ids[query], own, None if math.isnan(middle) else middle


def decile_rows(field: Field, position: int) -> Iterator[tuple[int, float, float | None]]:
    """Yield the percent of each decile of the scores of a row, the decile, and the median of the other ranked teams."""
    medians = field.medians_of_deciles.get(position)
    for number, own in enumerate(field.board.rows[position].deciles):
        yield 10 * (number + 1), own, None if medians is None or math.isnan(medians[number]) else medians[number]


def query_axis(row: Row, board: Board) -> Axis:
    """Return the axis of the queries on which a team is furthest above and below the other teams."""
    values = [value for query in (*row.best_queries, *row.worst_queries) for value in (query.score, query.median)]
    return axis_for([*values, 1.0] if board.track.primary_measure.bounded else values)


# The pages of teams


def merged_pages(boards: Sequence[Board]) -> Iterator[Page]:
    """The pages of the teams whose entries are in the row of another team, one for each."""
    shown = {row.team.slug for board in boards for row in board.rows}
    for merged in {merged.team.slug: merged for board in boards for merged in board.merged}.values():
        team, into = merged.team, merged.into
        values = {"team": team, "into": into, "has_target": into.slug in shown}
        yield Page(f"teams/{team.slug}.html", "merged.html", f"{team.name} is merged into {into.name}.", values)


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
    marks: Mapping[float, tuple[Markup, int]]
    """The marks on the axis of all rows that have one, by their position in percent: a line, and of how many rows."""
    view: RowView
    position: int
    """In `Board.rows`."""
    entries: Sequence[EntryView]
    """All of them, the latest first."""
    past: Sequence[tuple[PastBoard, int]]
    """The boards of phases that have closed on which it had a rank, and the rank."""
    state: str
    """A digest of `table`, from which `field` and `marks` are derived."""


def of_others(view: BoardView) -> BoardView:
    """What the page of a team has of the board and of its other rows: nothing that changes with each entry or scan."""
    rows = []
    for each in view.rows:
        row = replace(each.row, entries=(), changes=(), choice=None, left=())
        row = replace(row, certainty=row.certainty[:1], judged_bounds=row.judged_bounds[:1])
        rows.append(replace(each, row=row, histogram=None, sparkline=None))
    board = replace(view.board, rows=tuple(each.row for each in rows), updated=None)
    board = replace(board, certainty=board.certainty[:1], gone=(), late=(), past=(), slices=())
    return replace(view, board=board, rows=tuple(rows), layout=(), figures=())


def team_pages(
    views: Sequence[BoardView], first: Container[str] = (), timeline: Timeline = NO_TIMELINE, log: PublishedLog = NO_LOG
) -> Iterator[Page]:
    """The pages of every team, with a section for each track that it takes part in, in the order of the boards.

    The first page of a team has its results and its latest entries of every track. The pages of teams with a page among
    the paths `first` come first.
    """
    teams: dict[str, tuple[Team, list[TeamInTrack]]] = {}
    decided = defaultdict(list)
    for happening in timeline.happenings:
        if happening.kind == "decided":
            decided[happening.link].append(happening)
    for whole in views:
        table = of_others(whole)
        field = Field(table.board)
        # Pages show nothing of the time but which times of phases have passed.
        passed = table.board.phases.passed(table.board.now)
        state = state_of([replace(table, board=replace(table.board, rows=(), now=EPOCH)), passed])
        counted_marks = Counter(mark for row in table.rows if (mark := _mark(table, row)) is not None)
        marks = {mark: (_line(svg_percent(mark)), rows) for mark, rows in sorted(counted_marks.items())}
        ranks = [(past, {row.folder: row.placing.rank for row in past.rows}) for past in whole.board.past]
        for position, (view, row) in enumerate(zip(table.rows, whole.board.rows, strict=True)):
            _, parts = teams.setdefault(row.team.slug, (row.team, []))
            past = [(past, rank) for past, of_past in ranks if (rank := of_past.get(row.folder))]
            entries = [
                EntryView(len(row.entries) - index, _page_of(index), entry, table.board.shown_scores(entry))
                for index, entry in enumerate(row.entries)
            ]
            own = replace(view.row, entries=row.entries, changes=row.changes, choice=row.choice, left=row.left)
            own_view = replace(view, row=own)
            parts.append(TeamInTrack(table, field, marks, own_view, position, entries, past, state))
    for team, parts in sorted(teams.values(), key=lambda of_team: f"teams/{of_team[0].slug}.html" not in first):
        count = max(_page_of(len(part.entries) - 1) for part in parts)
        # A slug has no dot, so no two pages share a name.
        names = [f"{team.slug}.html", *(f"{team.slug}.{number}.html" for number in range(2, count + 1))]
        first_page = f"teams/{team.slug}.html"
        about = f"{team.name}: {'; '.join(summary(part.field, part.position) for part in parts)}."
        merged = {each.team.slug: each for view in views for each in view.board.merged if each.into.slug == team.slug}
        of_team = {"team": team, "names": names, "merged": tuple(merged.values()), "decided": decided[first_page]}
        of_parts = [
            [part.state, part.position, part.view, [(past.phase, past.shows_final, rank) for past, rank in part.past]]
            for part in parts
        ]
        state = state_of([about, of_team, of_parts])
        for page, name in enumerate(names, start=1):
            listed = ((part, [entry for entry in part.entries if entry.page == page]) for part in parts)
            sections = [(part, entries) for part, entries in listed if entries]
            leaves = {each.entry.index: log.line(each.entry.index) for _, entries in sections for each in entries}
            values = {**of_team, "page": page, "sections": sections, "leaves": leaves}
            yield Page(f"teams/{name}", "team.html", about, values, state_of([state, page, leaves]))


def _page_of(index: int) -> int:
    """The page that lists the entry at this index, the latest having index 0."""
    return index // PER_PAGE + 1


_line = Markup('<line class="other" x1="{0}" x2="{0}" y1="25" y2="37"/>').format
"""A mark of `other_marks`."""


def _mark(board: BoardView, row: RowView) -> float | None:
    """Where the primary score of a row is on the axis, in percent. Marks that would cover each other are one."""
    score = row.scores[0]
    return None if score is None else round(2 * board.axis.position(score)) / 2


def other_marks(part: TeamInTrack) -> Markup:
    """The marks of the scores of the other rows on the axis, as SVG."""
    own = _mark(part.table, part.view)
    return Markup("".join(line for mark, (line, rows) in part.marks.items() if mark != own or rows > 1))  # noqa: S704


def over_time(part: TeamInTrack) -> tuple[list[EntryView], str]:
    """The entries that the chart of the primary score over time shows, in order of time, and which they are, in words.

    They are empty where fewer than three entries have a score.
    """
    scored = [view for view in part.entries if view.entry.state != "misdated" and view.scores[0] is not None]
    shown = scored[:DRAWN] + [view for view in scored[DRAWN:] if view.entry.is_counting]
    has_ladder = part.table.board.track.has_ladder
    scores = ("improvement", "improvements") if has_ladder else ("scored entry", "scored entries")
    drawn = f"each {scores[0]}"
    if len(scored) > len(shown):
        drawn = f"each of the latest {DRAWN} {scores[1]}{' and of the one that counts' if len(shown) > DRAWN else ''}"
    return sorted(shown, key=lambda view: view.entry.received) if len(shown) > 2 else [], drawn
