"""Builds a board from the store: its rows, and their ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace

from scorer.board.board import Board, Row, Team
from scorer.board.slugs import slug
from scorer.challenge.settings import Track
from scorer.entries.entry import Entry, counting_entry, entry_of
from scorer.options import Split
from scorer.store.records import Basis, StoredResult
from scorer.store.snapshot import Snapshot
from scorer.wording import printable


def board(view: Snapshot, track: Track, basis: Basis | None) -> Board:
    """The board of a track by the results that `basis` has; without a basis, all entries wait.

    Raises `StoreError` if the database fails.
    """
    kept = view.entries(track.name, basis, track.all_measures)
    columns = tuple(map(str, track.all_measures))
    flagged = view.flags(basis.solution) if basis else ()
    results = [each.result for each in kept if each.result is not None and each.result.status == "scored"]
    scored_queries = _defined(results, "all", columns[0], len(flagged))
    preliminary_queries = _defined(results, "preliminary", columns[0], int(sum(flagged)))
    by_team: dict[str, list[Entry]] = {}
    for each in kept:
        by_team.setdefault(printable(each.submission.team), []).append(entry_of(each, track, columns))
    baselines = set(map(printable, track.baselines))
    rows = [
        _row(name, entries, track, baseline=name in baselines, by_preliminary=preliminary_queries > 0)
        for name, entries in by_team.items()
        if any(entry.status != "withdrawn" for entry in entries)
    ]
    return Board(
        track=track,
        columns=columns,
        rows=_ranked(rows, track),
        queries=len(flagged),
        scored_queries=scored_queries,
        preliminary_queries=preliminary_queries,
        solution_digest=basis.solution if basis else "",
    )


def _defined(results: Iterable[StoredResult], split: Split, measure: str, queries: int) -> int:
    """How many of the split's queries enter the mean of the measure; 0 as long as nothing is scored."""
    means = (result.means.get(split, {}).get(measure) for result in results)
    return max((queries - mean.undefined for mean in means if mean is not None), default=0)


def _row(name: str, entries: list[Entry], track: Track, *, baseline: bool, by_preliminary: bool) -> Row:
    """The row of a team with these entries (the earliest first), not yet ranked.

    `by_preliminary`: which entry is best is told by the preliminary scores.
    """
    latest_first = entries[::-1]
    counting = counting_entry([entry for entry in latest_first if entry.status == "scored"], track, by_preliminary)
    marked = tuple(replace(entry, counts_for_board=True) if entry is counting else entry for entry in latest_first)
    return Row(
        rank=None,
        team=Team(name, slug(name)),
        baseline=baseline,
        entry=next((entry for entry in marked if entry.counts_for_board), None),
        entries=marked,
    )


# Ranks


def _standing(row: Row, track: Track) -> float | None:
    """The score that the row stands on the board by."""
    if row.entry is None:
        return None
    return (row.entry.final if track.stage == "final" else row.entry.preliminary)[0]


def _ranked(rows: Iterable[Row], track: Track) -> tuple[Row, ...]:
    """The rows in the order of the page, with the ranks of those that have one."""
    ordered = sorted(rows, key=lambda row: _place(row, track))
    keys = [_rank_key(row, track) for row in ordered]
    contest = [key for key in keys if key is not None]
    return tuple(
        row if key is None else replace(row, rank=1 + bisect_left(contest, key))
        for row, key in zip(ordered, keys, strict=True)
    )


def _place(row: Row, track: Track) -> tuple[int, float, float, str]:
    """Sorts rows: by score, then receipt, then name; after them those with a blank score, then those with none."""
    score = _standing(row, track)
    if row.entry is None:
        return 2, 0.0, 0.0, row.team.name
    return 1 if score is None else 0, -(score or 0.0), row.entry.received.timestamp(), row.team.name


def _rank_key(row: Row, track: Track) -> tuple[float, float] | None:
    """Rows of equal keys share a rank; None for a row that has none."""
    score = _standing(row, track)
    if row.baseline or row.entry is None or score is None:
        return None
    return -score, row.entry.received.timestamp() if track.equal_ranks == "earlier" else 0.0
