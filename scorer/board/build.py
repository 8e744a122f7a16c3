"""Builds a board from the store: its rows, curves over recall and cut-offs, changes, and the boards of slices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import chain, count

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import (
    LEAST_PRELIMINARY,
    Board,
    Curve,
    Interval,
    Row,
    RowPair,
    SliceBoard,
    SliceRow,
    counting_over_time,
)
from scorer.board.statistics import ScoredRows, measured, pairs, units_by_clusters, with_statistics
from scorer.errors import MeasureError, SolutionError
from scorer.files import code_digest
from scorer.lists.slices import Slice, read_slices
from scorer.live.commitment import run_name
from scorer.live.entries import defined_queries, scored_entries
from scorer.live.entry import Entry, are_queries_public, counting_entries, is_baseline, rounded, without_solution
from scorer.live.now import Now
from scorer.live.phases import published_split
from scorer.live.rules import salted_digest
from scorer.measures import Measure, parse_one
from scorer.options import LEVEL, EqualRanks
from scorer.record.log import RESOLUTION
from scorer.rules.quota import Left
from scorer.rules.teams import MergedTeam, Merges, Team, teams
from scorer.scoring.analysis.kept import Kept
from scorer.scoring.outcomes import QueryMask, aggregated, split_masks
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.rankings import rank_ranges
from scorer.scoring.statistics.units import units_within
from scorer.settings.tracks import Track
from scorer.store.events import Basis
from scorer.store.snapshot import Cache, Snapshot
from scorer.wording import counted, exact_time, joined, long_time, shortened

_TEAMS, _BASELINES = 10, 4
"""The numbers of teams and of baselines that have curves at most: the eye cannot follow more lines in one picture."""

LONGEST_TAG = 60

POINTS = 40
"""The number of cut-offs at most."""

RECALLS = tuple(level / 10 for level in range(11))


_JSON = TypeAdapter(tuple[Curve, ...])


def cutoffs(list_length: int) -> tuple[int, ...]:
    """The cut-offs of a track: all up to the length of lists, or `POINTS` of them at equal distances."""
    if list_length <= POINTS:
        return tuple(range(1, list_length + 1))
    return tuple(np.linspace(1, list_length, POINTS).round().astype(int).tolist())


def curves(board: Board, view: Snapshot, basis: Basis, cache: Cache) -> tuple[Curve, ...]:
    """The curves of the first teams and baselines of a ranked board. Raises StoreError if the database fails."""
    places = [place for place, row in enumerate(board.rows) if row.entry and row.rank is not None][:_TEAMS]
    places += [place for place, row in enumerate(board.rows) if row.entry and row.baseline][:_BASELINES]
    if not places or basis.checked:  # no curve is about means that are corrected
        return ()
    scored = ScoredRows(board, tuple(board.rows[place] for place in places), view, basis, view.flags(basis))
    digests = [row.entry.digest for row in scored.rows if row.entry]
    rules = [basis.solution, basis.matching, code_digest(), scored.mask.digest]
    track = board.track

    def computed() -> str:
        precisions = _means(scored, [parse_one(f"IPrec@{level}") for level in RECALLS])
        r_precisions = _means(scored, [parse_one(f"Rp@{cutoff}") for cutoff in cutoffs(track.list_length)])
        return _JSON.dump_json(tuple(map(Curve, places, precisions, r_precisions))).decode()

    of_rows = list(zip(places, digests, strict=True))
    parts = ["curves", rules, track.list_length, track.ties, track.shown_decimals, of_rows]
    return _JSON.validate_json(cache.value(parts, computed))


def _means(scored: ScoredRows, measures: Sequence[Measure]) -> list[tuple[float | None, ...]]:
    """The means of each row; empty where the rule for ties has no formula for a measure."""
    try:
        by_measure = scored.scores(measures)
    except MeasureError:
        return [() for _ in scored.rows]
    inside, decimals = scored.mask.inside, scored.board.track.shown_decimals
    return [
        tuple(
            rounded(aggregated(scores[row, inside], measure.kind.aggregation), decimals)
            for measure, scores in zip(measures, by_measure, strict=True)
        )
        for row in range(len(scored.rows))
    ]


def board(now: Now, cache: Cache | None = None) -> Board:
    """The board of a track by the rules in force, from the stored results of their basis.

    Entries without a result for the basis wait; without a basis, all of them do. `cache` has the statistics and the
    scores of the Ladder that were computed before; without it, the board has no statistics. Raises ChallengeError where
    the Ladder has too few preliminary queries.
    """
    view, basis, joined = now.view, now.basis, now.merges
    stored = scored_entries(now, cache)
    track, shown = stored.track, stored.all
    if basis is not None and not track.shows_final:
        is_public = are_queries_public(track, view.queries(basis.solution).ids)
        shown = tuple(without_solution(entry, queries_are_public=is_public) for entry in shown)
    flagged = view.flags(basis) if basis else ()

    columns = tuple(map(str, track.all_measures))
    scored_queries = defined_queries(stored.results, "all", columns[0], len(flagged))
    preliminary_queries = defined_queries(stored.results, "preliminary", columns[0], int(sum(flagged)))
    by_team: dict[str, list[Entry]] = {}
    for entry in shown:
        by_team.setdefault(joined.final(entry.team), []).append(entry)
    known = teams((*view.teams, *(entry.team for entry in stored.all)), view.events())
    baselines = {name for name in by_team if is_baseline(name, track)}
    rows = [
        row
        for name, own in by_team.items()
        for row in _rows(
            known[name],
            own,
            track,
            baseline=name in baselines,
            by_preliminary=preliminary_queries > 0,
            left=() if name in baselines else stored.quota.left(joined.members(name), view.now),
        )
    ]
    built = Board(
        track=track,
        columns=columns,
        rows=in_order((row for row in rows if row.present_entries), track),
        queries=len(flagged),
        scored_queries=scored_queries,
        preliminary_queries=preliminary_queries,
        salted_digest=salted_digest(view, track, basis.solution) if basis else None,
        gone=tuple(row for row in rows if not row.present_entries),
        merged=_merged(stored.all, joined, known),
        updated=None if "board" in track.hidden else now.updated,
        split=published_split(view, basis) if basis else None,
        late=_late_rows(by_team, known),
        phases=now.phases,
        now=view.now,
    )
    if basis is None or cache is None or track.shows != "score":
        return built
    return replace(with_statistics(built, view, basis, cache), curves=curves(built, view, basis, cache))


def _late_rows(by_team: Mapping[str, Sequence[Entry]], known: Mapping[str, Team]) -> tuple[Row, ...]:
    """The late board: a row for each team with an early or late entry that has a score, by its best one."""
    rows = []
    for name, own in by_team.items():
        late = [entry for entry in own if entry.is_late and entry.presence == "present" and entry.final[0] is not None]
        if late:
            best = max(late, key=lambda entry: (entry.final[0], -entry.index))
            rows.append(Row(None, None, team=known[name], baseline=False, entry=best, entries=tuple(reversed(late))))
    return tuple(
        sorted(rows, key=lambda row: (-(row.entry.final[0] or 0.0), row.entry.index) if row.entry else (0.0, 0))
    )


def _merged(entries: Iterable[Entry], joined: Merges, known: Mapping[str, Team]) -> tuple[MergedTeam, ...]:
    """The teams with submissions that are merged into others."""
    here = {entry.team for entry in entries}
    return tuple(
        MergedTeam(team, known[joined.final(name)])
        for name, team in known.items()
        if name in here and joined.final(name) != name
    )


def _rows(
    team: Team,
    entries: Sequence[Entry],
    track: Track,
    *,
    baseline: bool,
    by_preliminary: bool,
    left: tuple[Left, ...],
) -> list[Row]:
    """The unranked row of a team, given its entries, the earliest first; or of each that counts, and of all others.

    `by_preliminary`: whether preliminary scores decide which entry is the best.
    """
    counting = {entry.index for entry in counting_entries(entries, track, by_preliminary)}
    marked = tuple(
        replace(entry, is_counting=True) if entry.index in counting else entry for entry in reversed(entries)
    )
    if track.rows == "team" or not counting:
        entry = next((entry for entry in marked if entry.is_counting), None)
        return [Row(None, None, team=team, baseline=baseline, entry=entry, entries=marked, left=left)]
    tags = _tags(entries, track.file_names)
    rows = [
        Row(None, None, team, baseline, entry, (entry,), tag=tags[entry.index], left=left)
        for entry in marked
        if entry.is_counting
    ]
    others = Row(None, None, team, baseline, None, tuple(entry for entry in marked if not entry.is_counting), left=left)
    if others.present_entries:
        return [*rows, others]
    # The page of the team lists those that are gone with its latest entry that counts.
    listed = sorted((*rows[0].entries, *others.entries), key=lambda entry: entry.index, reverse=True)
    return [replace(rows[0], entries=tuple(listed)), *rows[1:]]


def _tags(entries: Sequence[Entry], file_names: str | None) -> dict[int, str]:
    """The name of each entry of a team, by its index: that of its file, with a number where an earlier one has it."""
    tags: dict[str, int] = {}
    for entry in entries:
        name = shortened(run_name(entry.file, entry.index, file_names) or "run", LONGEST_TAG)
        numbered = (f"{name} ({number})" for number in count(2))
        tags[next(tag for tag in chain([name], numbered) if tag not in tags)] = entry.index
    return {index: tag for tag, index in tags.items()}


def ranks(scores: Sequence[float | None], indexes: Sequence[int], equal_ranks: EqualRanks) -> tuple[int | None, ...]:
    """The rank of each entry, from 1, by its score, which is rounded to the track's decimals; None for a blank.

    `indexes` are the places of the entries in the record. Equal scores share a rank (1, 1, 3), or with "earlier" the
    entry that was recorded earlier ranks higher.
    """
    keys = [
        None if score is None else (-score, index if equal_ranks == "earlier" else 0)
        for score, index in zip(scores, indexes, strict=True)
    ]
    ordered = sorted(key for key in keys if key is not None)
    return tuple(None if key is None else 1 + bisect_left(ordered, key) for key in keys)


def in_order(rows: Iterable[Row], track: Track) -> tuple[Row, ...]:
    """The rows in the order of the board, with both of their ranks.

    Rows are ordered by score, then by the place of their entries in the record. Rows with a blank score follow, then
    rows with no scored entry. Baselines are ordered with the others. Teams that are disqualified or withdrawn come
    last. Neither have a rank or affect the ranks of others.
    """
    ordered = sorted(rows, key=lambda row: _position(row, track))
    by_shown = _ranks_of(ordered, track, final=track.shows_final)
    by_preliminary = _ranks_of(ordered, track, final=False)
    return tuple(
        replace(row, rank=rank, preliminary_rank=preliminary_rank)
        for row, rank, preliminary_rank in zip(ordered, by_shown, by_preliminary, strict=True)
    )


def _ranks_of(rows: Sequence[Row], track: Track, *, final: bool) -> tuple[int | None, ...]:
    scores = [None if row.baseline or row.team.is_excluded else _primary_score(row, final=final) for row in rows]
    indexes = [(row.entry or row.entries[0]).index for row in rows]
    return ranks(scores, indexes, track.equal_ranks)


def _position(row: Row, track: Track) -> tuple[bool, int, float, int, str]:
    """A sort key for the rows of a board."""
    excluded = row.team.is_excluded
    if row.entry is None:
        return excluded, 2, 0.0, 0, row.name
    score = _primary_score(row, final=track.shows_final)
    return excluded, 1 if score is None else 0, -(score or 0.0), row.entry.index, row.name


def _primary_score(row: Row, *, final: bool) -> float | None:
    return None if row.entry is None else row.entry.scores(final=final)[0]


_NAMED, LONGEST_NAME = 3, 40
"""How many teams a sentence names, and with how many characters."""


def with_changes(board: Board) -> Board:
    """The board with what changed for each ranked team, by the rules and the scores that it has now.

    That is since the end of the day before that of the newest scored entry of all teams, in UTC, and since the newest
    one of the team.
    """
    teams = rows_with_gone(board)
    ranked = [own for own, row in enumerate(teams) if row.rank]
    last = {own: max(each.received for each in teams[own].entries if each.may_count) for own in ranked}
    if not last:
        return board
    _, ranks_at = ranks_over_time(board, teams)
    day = max(last.values()).replace(hour=0, minute=0, second=0, microsecond=0) - RESOLUTION
    of_day = f"the end of {long_time(day).partition(',')[0]}", ranks_at(day)
    places = [place for place, row in enumerate(board.rows) if not row.baseline]
    pairs = {(pair.row, pair.other): pair for pair in board.pairs}
    rows = list(board.rows)
    for own, when in last.items():
        thens = (*([of_day] if any(of_day[1]) else []), (f"its last scored entry, {exact_time(when)}", ranks_at(when)))
        moved = [f"Since {label}: {_moved(teams, own, then)}." for label, then in thens]
        rows[places[own]] = replace(rows[places[own]], changes=(*moved, *_gaps(board, places[own], pairs)))
    return replace(board, rows=tuple(rows))


def ranks_over_time(
    board: Board, teams: Sequence[Row]
) -> tuple[Sequence[datetime], Callable[[datetime], tuple[int | None, ...]]]:
    """Return when a score that counts changed, in order of time, and a function: the rank of each row at a time."""
    steps = [
        [(when, board.shown_scores(entry)[0], entry.index if entry else 0) for when, entry in reversed(counting)]
        for counting in (counting_over_time(board, row, gone=True) for row in teams)
    ]

    @cache  # of the files of a folder, many may have one time
    def ranks_at(moment: datetime) -> tuple[int | None, ...]:
        found = [next((step for step in of_team if step[0] <= moment), (moment, None, 0)) for of_team in steps]
        return ranks([score for _, score, _ in found], [index for *_, index in found], board.track.equal_ranks)

    return sorted({when for of_team in steps for when, *_ in of_team}), ranks_at


def rows_with_gone(board: Board) -> list[Row]:
    """All rows but those of baselines; where entries are rows, also one for each entry that is gone, at the end."""
    rows = [row for row in (*board.rows, *board.gone) if not row.baseline]
    if board.track.rows == "team":
        return rows
    gone = (
        replace(row, rank=None, tag=each.file, entries=(each,)) for row in rows for each in row.entries if each.gone_at
    )
    return [*(replace(row, entries=(row.entry,) if row.entry else ()) for row in rows), *gone]


def _moved(teams: Sequence[Row], own: int, ranks_then: Sequence[int | None]) -> str:
    """The rank of a team then and now, who passed it, and whom it passed."""
    then, now = ranks_then[own], teams[own].rank or 0
    if then is None:
        return f"no rank then, rank {now} now"
    compared = [(row, row.rank, rank is not None and rank < then) for row, rank in zip(teams, ranks_then, strict=True)]
    by = [row for row, rank, was_ahead in compared if rank and rank < now and not was_ahead]
    passed = [row for row, rank, was_ahead in compared if rank and rank > now and was_ahead]
    text = f"rank {now} then and now" if then == now else f"rank {then} then, {now} now"
    text += f"; passed by {_names(by)}" if by or not passed else ""
    return text + (f"; passed {_names(passed)}" if passed else "")


def _names(rows: Sequence[Row]) -> str:
    names = [shortened(row.name, LONGEST_NAME) for row in rows[:_NAMED]]
    return joined([*names, *([counted(len(rows) - _NAMED, "other")] if rows[_NAMED:] else [])] or ["no team"])


def _gaps(board: Board, own: int, pairs: Mapping[tuple[int, int], RowPair]) -> Iterator[str]:
    """Whether the team is behind the next rank, or as the first ahead of it, and better or worse than each baseline."""
    ranks = [row.rank or 0 for row in board.rows]
    above = [other for other, rank in enumerate(ranks) if 0 < rank < ranks[own]]
    below = [other for other, rank in enumerate(ranks) if rank > ranks[own]]
    listed = {other: f"{'Behind' if above else 'Ahead of'} rank {ranks[other]}," for other in above[-1:] or below[:1]}
    for other, row in enumerate(board.rows):
        if row.baseline and board.shown_scores(row.entry)[0] is not None:
            listed[other] = "{} than the baseline"
    for other, lead in listed.items():
        pair = pairs.get((min(own, other), max(own, other)))
        if pair is None:
            one, two = (board.shown_scores(board.rows[place].entry)[0] or 0.0 for place in (own, other))
            answer, difference = "not compared", one - two
        else:
            difference = pair.difference if own < other else -pair.difference
            is_so = not ranks[other] or (difference > 0) == (own < other)
            answer = "too close to call" if not pair.is_clear else "yes" if is_so else "no"
        missed = _missed(board) if board.rows[other].baseline and difference >= 0 and answer == "yes" else ""
        yield worded_gap(lead, _names([board.rows[other]]), difference, answer, board.track.shown_decimals) + missed


def worded_gap(lead: str, name: str, difference: float, answer: str, decimals: int) -> str:
    """A sentence on a difference; `lead` has a place for whether it is better or worse."""
    shown = f"{rounded(difference, decimals) or 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    return f"{lead.format('Better' if difference >= 0 else 'Worse')} {name}: {answer} ({shown})."


def are_clear(now: Now, track: Track, digests: Sequence[str]) -> bool | None:
    """Whether two entries differ by more than chance explains, as `RowPair.is_clear` says of two teams.

    It is decided on the queries of the scores that the viewer sees, as the rank is; None where these are those of the
    Ladder, or no means.
    """
    measure = track.primary_measure
    if now.basis is None or track.shows != "score" or measure.kind.aggregation != "mean":
        return None
    of_entry = dict(now.view.scores(set(digests), now.basis, [measure]))
    inside = split_masks(now.view.flags(now.basis))[track.shown_split].inside
    scores = np.array([of_entry[digest][0] for digest in digests])
    queries = np.flatnonzero(inside & ~np.isnan(scores).all(axis=0))
    means, both = np.nanmean(scores[:, queries], axis=1).tolist(), None
    if now.basis.checked:
        by_digest = dict(now.view.judges(set(digests), now.basis, [measure]))
        both = TwoJudges.together([by_digest[digest] for digest in digests])
    units, bounded = units_by_clusters(now.view, track, now.basis), measure.bounded
    task = measured(scores, means, [True] * 2, queries=queries, bounded=bounded, units=units, judges=both)
    return all(pair.is_clear for pair in pairs(task, has_counts=False))


def _missed(board: Board) -> str:
    """How rare losses may be that the queries do not show: those that a sample lacks with the probability `LEVEL`."""
    queries = board.scored_queries if board.track.shows_final else board.preliminary_queries
    clusters = board.primary_certainty and board.primary_certainty.clusters
    number, one, many = (clusters, "cluster", "clusters") if clusters else (queries, "query", "queries")
    shown = counted(number, one, many)
    if board.checked_queries and board.checked_queries < number:  # the others show a loss only if the machine sees it
        number = board.checked_queries
        shown = f"The {counted(number, 'query', 'queries')} that people judged"
    share = 100 * (1 - LEVEL ** (1 / max(number, 1)))
    return f" {shown} may miss losses on up to {share:.2g} % of all {many}."


MOST_TESTED = 2000
"""How many rows all slices together have at most where pairs of teams are tested in each: what is kept of a row takes
160 kB."""

_SLICES = TypeAdapter(tuple[SliceBoard, ...])


def with_slices(board: Board, now: Now, cache: Cache) -> tuple[Board, str]:
    """The board with those of its slices that visitors may see, and what is wrong with the file, which is then no
    error: the board itself does not depend on it.
    """
    track, basis = board.track, now.basis
    if "slices" not in track.files or basis is None:
        return board, ""
    try:
        slices = read_slices(track.files["slices"], now.view.queries(basis.solution).ids)
    except SolutionError as error:
        return board, f"{track.name}: no boards of slices: {error}"
    places = [place for place, row in enumerate(board.rows) if board.shown_scores(row.entry)[0] is not None]
    are_shown = track.shows_final or (track.slices_public == "now" and track.shows == "score")
    if not are_shown or not places:
        return board, ""
    rows = tuple(board.rows[place] for place in places)
    scored = ScoredRows(board, rows, now.view, basis, now.view.flags(basis))
    parts = [part.within(scored.mask.inside) for part in slices]
    key = [*scored.key(0), track.shown_decimals, track.equal_ranks, track.shows_final]
    listed = [[part.label, QueryMask(part.inside).digest] for part in parts]

    def computed() -> str:
        kept = scored.kept(cache)
        tested = len(parts) * len(rows) <= MOST_TESTED
        made = tuple(_board(scored, part, places, kept, tested=tested) for part in parts)
        return _SLICES.dump_json(made).decode()

    stored = cache.value(["slices", key, listed], computed)
    return replace(board, slices=_SLICES.validate_json(stored)), ""


def _board(scored: ScoredRows, part: Slice, places: list[int], kept: Kept, *, tested: bool) -> SliceBoard:
    """The board of a slice, given the places of the rows."""
    track, measure = scored.board.track, scored.board.track.primary_measure
    if not track.shows_final and part.size < LEAST_PRELIMINARY:
        return SliceBoard(part.label, None, (), None)
    decimals, way = track.shown_decimals, measure.kind.aggregation
    scores, judges = scored.of_measure(measure, kept)
    both = judges and judges.within(part.inside)
    within = scores[:, part.inside] if both is None else both.values
    means = [rounded(aggregated(row, way), decimals) for row in within]
    is_ranked = [row.rank is not None for row in scored.rows]
    indexes = [row.entry.index if row.entry else 0 for row in scored.rows]
    of_ranked = [mean if ranked else None for mean, ranked in zip(means, is_ranked, strict=True)]
    intervals: list[Interval | None] = [None] * len(means)
    ranges: dict[int, tuple[int, int]] = {}
    separates = None
    queries = np.flatnonzero(~np.isnan(within).all(axis=0))
    if way == "mean" and len(queries):
        kept, own = kept.within(measure.full, QueryMask(part.inside).digest), units_within(scored.units, part.inside)
        task = measured(
            within, means, is_ranked, kept, queries=queries, bounded=measure.bounded, units=own, judges=both
        )
        for row, (low, high) in enumerate(task.intervals.tolist()):
            intervals[row] = (rounded(low, decimals) or 0.0, rounded(high, decimals) or 0.0) if low < high else None
        has_all = sum(mean is not None for mean in of_ranked) == len(task.ranked)
        if tested and has_all and len(task.ranked) > 1 and task.queries:
            separates = bool(task.better.any())
            ranges = dict(zip(task.ranked.tolist(), map(tuple, rank_ranges(task.better).tolist()), strict=True))
    own_ranks = ranks(of_ranked, indexes, track.equal_ranks)
    rows = map(SliceRow, places, own_ranks, means, intervals, map(ranges.get, range(len(means))))
    ordered = sorted(rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.row))
    return SliceBoard(part.label, part.size, tuple(ordered), separates)
