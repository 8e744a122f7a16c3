"""Builds a board from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scorer.board.board import Board, MergedTeam, Row, SaltedDigest, Team
from scorer.board.curves import curves
from scorer.board.published_split import published_split
from scorer.board.published_statistics import with_statistics
from scorer.board.ranking import ranked
from scorer.board.slugs import slugs
from scorer.challenge.settings import Track
from scorer.entries.entries import defined_queries, entries, is_baseline
from scorer.entries.entry import Entry, counting_entry
from scorer.entries.hidden import are_queries_public, without_solution
from scorer.entries.quota_left import quota_left
from scorer.entries.quotas import Left
from scorer.entries.teams import UNCHANGED, Merges, TeamState, shown_names, team_states
from scorer.store.cache import Cache
from scorer.store.records import Basis
from scorer.store.snapshot import Snapshot
from scorer.wording import printable_name


def board(view: Snapshot, track: Track, basis: Basis | None, cache: Cache | None = None) -> Board:
    """The board of a track, from the stored results.

    Parameters
    ----------
    view : a snapshot of the database
    track : the track with its current settings
    basis : the solution and the matching rules of the results; None: no entry has a result
    cache : the statistics and the scores of the Ladder that were computed before; None: the board has no statistics

    Returns
    -------
    Board
        Without rows where the track has no submissions. Entries without a result for the basis wait.

    Raises
    ------
    ChallengeError
        The Ladder has too few preliminary queries.
    StoreError
        The database fails.
    """
    stored = entries(view, track, basis, cache=cache)
    track, shown = stored.track, stored.all
    if basis is not None and not track.shows_final:
        is_public = are_queries_public(track, view.queries(basis.solution).ids)
        shown = tuple(without_solution(each, queries_are_public=is_public) for each in shown)
    flagged = view.flags(basis) if basis else ()

    columns = tuple(map(str, track.all_measures))
    scored_queries = defined_queries(stored.results, "all", columns[0], len(flagged))
    preliminary_queries = defined_queries(stored.results, "preliminary", columns[0], int(sum(flagged)))
    joined = stored.merges
    by_team: dict[str, list[Entry]] = {}
    for each in shown:
        by_team.setdefault(joined.final(each.team), []).append(each)
    known = teams(view, (entry.team for entry in stored.all))
    baselines = {name for name in by_team if is_baseline(name, track)}
    rows = [
        _row(
            known[name],
            own,
            track,
            baseline=name in baselines,
            by_preliminary=preliminary_queries > 0,
            left=() if name in baselines else quota_left(stored, track, joined.members(name), view.now),
        )
        for name, own in by_team.items()
        if any(entry.presence == "present" for entry in own)
    ]
    found = Board(
        track=track,
        columns=columns,
        rows=ranked(rows, track),
        queries=len(flagged),
        scored_queries=scored_queries,
        preliminary_queries=preliminary_queries,
        salted_digest=salted_digest(view, track, basis.solution) if basis else None,
        merged=_merged(stored.all, joined, known),
        updated=view.updated(track.name),
        split=published_split(view, basis) if basis else None,
        late=_late_rows(by_team, known),
        schedule=stored.schedule,
        now=view.now,
    )
    if basis is None or cache is None or track.shows != "score":
        return found
    return replace(with_statistics(found, view, basis, cache), curves=curves(found, view, basis, cache))


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


def teams(view: Snapshot, also: Iterable[str] = ()) -> Mapping[str, Team]:
    """All teams of the record, and those in `also`, by the names of their folders."""
    states = team_states(view.events())
    targets = (state.merged_into for state in states.values() if state.merged_into is not None)
    # A team may have a decision, but no file yet, as of an earlier time.
    folders = tuple(dict.fromkeys((*view.teams, *also, *states, *targets)))
    names, addresses = shown_names(folders, states), slugs(folders)
    return {each: _team(each, names[each], addresses[each], states.get(each, UNCHANGED)) for each in folders}


def _team(folder: str, name: str, slug: str, state: TeamState) -> Team:
    return Team(
        name=name,
        slug=slug,
        folder=printable_name(folder),
        affiliation=state.affiliation,
        links=state.links,
        code=state.code,
        paper=state.paper,
        status=state.status,
        reason=state.reason,
        since=state.at,
        history=state.history,
    )


def _merged(entries: Iterable[Entry], joined: Merges, known: Mapping[str, Team]) -> tuple[MergedTeam, ...]:
    """The teams with submissions that are merged into others."""
    here = {entry.team for entry in entries}
    return tuple(
        MergedTeam(team, known[joined.final(name)])
        for name, team in known.items()
        if name in here and joined.final(name) != name
    )


def salted_digest(view: Snapshot, track: Track, digest: str) -> SaltedDigest:
    """What pages show about a file: its plain digest and the salt only if the organiser reveals the solution."""
    salted = view.salted_digest(digest)
    if not track.reveal_solution:
        return SaltedDigest(salted)
    return SaltedDigest(salted, digest, view.secret("solutions").hex())


def _row(
    team: Team, entries: Sequence[Entry], track: Track, *, baseline: bool, by_preliminary: bool, left: tuple[Left, ...]
) -> Row:
    """The unranked row of a team.

    Parameters
    ----------
    team : the team
    entries : its entries, the earliest first
    track : the track
    baseline : whether the team is a baseline
    by_preliminary : whether preliminary scores decide which entry is the best
    left : what the team has left of its quota
    """
    may_count = [] if track.hides_scores else [entry for entry in entries if entry.may_count]
    counting = counting_entry(may_count, track, by_preliminary)
    marked = tuple(replace(entry, is_counting=True) if entry is counting else entry for entry in reversed(entries))
    return Row(
        rank=None,
        preliminary_rank=None,
        team=team,
        baseline=baseline,
        entry=next((entry for entry in marked if entry.is_counting), None),
        entries=marked,
        left=left,
    )
