"""Builds a board from the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scorer.board.board import Board, Commitment, Row, Team
from scorer.board.certain import with_statistics
from scorer.board.curves import curves
from scorer.board.ranking import ranked
from scorer.board.slugs import slugs
from scorer.challenge.settings import Track
from scorer.entries.entry import Entry, counting_entry, entry_of
from scorer.options import Split
from scorer.store.cache import Cache
from scorer.store.records import Basis, StoredResult
from scorer.store.snapshot import Snapshot
from scorer.wording import printable_name


def board(view: Snapshot, track: Track, basis: Basis | None, cache: Cache | None = None) -> Board:
    """The board of a track, from the stored results.

    Parameters
    ----------
    view : a snapshot of the database
    track : the track with its current settings
    basis : the solution and the matching rules of the results; None: no entry has a result
    cache : the statistics that were computed before; None: the board has no statistics

    Returns
    -------
    Board
        Without rows where the track has no submissions. Entries without a result for the basis are pending.

    Raises
    ------
    StoreError
        The database fails.
    """
    stored = view.entries(track.name, basis, track.all_measures)
    flagged = view.flags(basis.solution) if basis else ()

    columns = tuple(map(str, track.all_measures))
    results = [each.result for each in stored if each.result is not None and each.result.status == "scored"]
    scored_queries = _defined(results, "all", columns[0], len(flagged))
    preliminary_queries = _defined(results, "preliminary", columns[0], int(sum(flagged)))
    by_team: dict[str, list[Entry]] = {}
    for each in stored:
        by_team.setdefault(each.submission.team, []).append(entry_of(each, track, columns))
    baselines = set(track.baselines)
    addresses = slugs((*view.teams, *by_team))
    rows = [
        _row(
            Team(printable_name(name), addresses[name]),
            entries,
            track,
            baseline=not baselines.isdisjoint({name, printable_name(name)}),
            by_preliminary=preliminary_queries > 0,
        )
        for name, entries in by_team.items()
        if any(entry.status != "withdrawn" for entry in entries)
    ]
    found = Board(
        track=track,
        columns=columns,
        rows=ranked(rows, track),
        queries=len(flagged),
        scored_queries=scored_queries,
        preliminary_queries=preliminary_queries,
        commitment=_commitment(view, track, basis) if basis else None,
        updated=view.updated(track.name),
    )
    if basis is None or cache is None:
        return found
    return replace(with_statistics(found, view, basis, cache), curves=curves(found, view, basis, cache))


def _commitment(view: Snapshot, track: Track, basis: Basis) -> Commitment:
    """What the board shows about the solution: the plain digest and the salt only if the organiser reveals them."""
    salted = view.commitment(basis.solution)
    return Commitment(salted, basis.solution, view.salt) if track.reveal_solution else Commitment(salted)


def _defined(results: Iterable[StoredResult], split: Split, measure: str, queries: int) -> int:
    """How many queries of the split enter the mean of the measure; 0 where nothing is scored."""
    means = (result.means.get(split, {}).get(measure) for result in results)
    return max((queries - mean.undefined for mean in means if mean is not None), default=0)


def _row(team: Team, entries: list[Entry], track: Track, *, baseline: bool, by_preliminary: bool) -> Row:
    """The unranked row of a team.

    Parameters
    ----------
    team : the team
    entries : its entries, the earliest first
    track : the track
    baseline : whether the team is a baseline
    by_preliminary : whether preliminary scores decide which entry is the best
    """
    latest_first = entries[::-1]
    counting = counting_entry([entry for entry in latest_first if entry.status == "scored"], track, by_preliminary)
    marked = tuple(replace(entry, is_counting=True) if entry is counting else entry for entry in latest_first)
    return Row(
        rank=None,
        preliminary_rank=None,
        team=team,
        baseline=baseline,
        entry=next((entry for entry in marked if entry.is_counting), None),
        entries=marked,
    )
