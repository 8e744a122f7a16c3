"""Builds a board, and its curves over recall and cut-offs, from the store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import Board, Curve, Row
from scorer.board.statistics import ScoredRows, with_statistics
from scorer.errors import MeasureError
from scorer.files import code_digest
from scorer.live.commitment import run_name
from scorer.live.entries import defined_queries, scored_entries
from scorer.live.entry import Entry, are_queries_public, counting_entries, is_baseline, rounded, without_solution
from scorer.live.now import Now, with_naming
from scorer.live.phases import published_split
from scorer.live.quotas import Left
from scorer.live.rules import TrackInForce, salted_digest
from scorer.live.teams import MergedTeam, Merges, Team, teams
from scorer.measures import Measure, parse_one
from scorer.options import EqualRanks
from scorer.scoring.outcomes import aggregated
from scorer.store.events import Basis
from scorer.store.snapshot import Cache, Snapshot
from scorer.wording import shortened

TEAMS, BASELINES = 10, 4
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
    places = [place for place, row in enumerate(board.rows) if row.entry and row.rank is not None][:TEAMS]
    places += [place for place, row in enumerate(board.rows) if row.entry and row.baseline][:BASELINES]
    if not places:
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
    track, shown = with_naming(view, stored.track), stored.all
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
    known = teams(view, (entry.team for entry in stored.all))
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
        rows=ranked((row for row in rows if row.present_entries), track),
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
    track: TrackInForce,
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


def ranked(rows: Iterable[Row], track: TrackInForce) -> tuple[Row, ...]:
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


def _ranks_of(rows: Sequence[Row], track: TrackInForce, *, final: bool) -> tuple[int | None, ...]:
    scores = [None if row.baseline or row.team.is_excluded else _primary_score(row, final=final) for row in rows]
    indexes = [(row.entry or row.entries[0]).index for row in rows]
    return ranks(scores, indexes, track.equal_ranks)


def _position(row: Row, track: TrackInForce) -> tuple[bool, int, float, int, str]:
    """A sort key for the rows of a board."""
    excluded = row.team.is_excluded
    if row.entry is None:
        return excluded, 2, 0.0, 0, row.name
    score = _primary_score(row, final=track.shows_final)
    return excluded, 1 if score is None else 0, -(score or 0.0), row.entry.index, row.name


def _primary_score(row: Row, *, final: bool) -> float | None:
    return None if row.entry is None else row.entry.scores(final=final)[0]
