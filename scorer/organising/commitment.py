"""Commitments: a hash of the solutions, the rules and the keys of splits, which is public before the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from scorer.challenge.settings import Challenge, Track
from scorer.challenge.splits import share_text, split_of
from scorer.errors import ChallengeError
from scorer.live.commitment import Commitment, commitments
from scorer.live.rules import rules_of_settings
from scorer.live.state import track_state
from scorer.organising.phases import announcement
from scorer.organising.rules import RuleSet, queries_of
from scorer.store.events import EVERY_TRACK, basis_body, new_basis
from scorer.store.kinds import Kind
from scorer.store.record import GENERATIONS
from scorer.store.secret import opening_of, public_key, sha256_of
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import utc_moment

Added = list[tuple[str, Kind, Mapping[str, Any]]]


def commit(challenge: Challenge, store: Store) -> Commitment:
    """Commit to the solutions, the rules and the keys of splits, as the files are now.

    The phases are announced, and the boards are based on these files from now on: a changed file changes nothing until
    it is committed. If nothing has changed since the last commitment, nothing is recorded.

    Parameters
    ----------
    challenge, store
        The challenge and its database.

    Returns
    -------
    The commitment.

    Raises
    ------
    ChallengeError
        A track has no phases, a phase has started, or a setting contradicts the solution.
    SolutionError
        A solution cannot be used.
    StoreError
        The database fails.
    """
    store.read(lambda view: _check_not_started(view, challenge))
    chosen = [_kept(store, track) for track in challenge.tracks]

    def committed(view: Snapshot) -> Added:
        _check_not_started(view, challenge)
        announced = {track.name: announcement(view, track) for track in challenge.tracks}
        added: Added = [(name, *event) for name, events in announced.items() for event in events]
        for rules in chosen:
            body = basis_body(rules.basis, rules.settings, GENERATIONS, rules.items_digest)
            added += [(rules.track.name, *event) for event in new_basis(view.events(rules.track.name), body)]
        content = {
            "challenge": challenge.name,
            "scorer": version("challenge-scorer"),
            "receipts": public_key(view.secret("receipts")).hex(),
            "tracks": {rules.track.name: _content(view, rules, announced[rules.track.name]) for rules in chosen},
        }
        opening = opening_of(view.secret("commitment"), content)
        earlier = commitments(view.events())
        if not earlier or earlier[-1].opening != opening:
            added.append((EVERY_TRACK, "commitment", {"sha256": sha256_of(opening), "opening": opening}))
        return added

    store.record_all(committed)
    return store.read(lambda view: commitments(view.events()))[-1]


def _check_not_started(view: Snapshot, challenge: Challenge) -> None:
    for track in challenge.tracks:
        if not track.phases:
            raise ChallengeError(
                f"tracks.{track.name}.phases: is missing; a challenge is committed before its start, so every track "
                f"needs phases; add a table [[tracks.{track.name}.phases]]"
            )
        plan = track_state(view, track).phases
        if plan.has_started(view.now):
            first = plan.all[0]
            raise ChallengeError(
                f"{track.name}: the phase {first.name} started at {utc_moment(first.start)}; a challenge is committed "
                "before its start; `scorer erratum preview` changes a solution or a rule afterwards"
            )


def _kept(store: Store, track: Track) -> RuleSet:
    """The rules of a track by its files, validated as a run does; the bytes and the solution are stored."""
    rules = RuleSet.of_files(track)
    solution = rules.checked_solution(store.archive(track.root))
    queries = queries_of(solution)
    store.store_solution(rules.basis.solution, queries.ids, queries.flagged, solution.ideal)
    return rules


def _content(view: Snapshot, rules: RuleSet, announced: Sequence[tuple[Kind, Mapping[str, Any]]]) -> dict[str, Any]:
    """What is committed about a track."""
    phases = [phase.recorded() for phase in track_state(view, rules.track).phases.all]
    if announced:
        phases = announced[-1][1]["phases"]
    split = split_of(rules.track)
    return {
        "solution": rules.solution_digest,
        "items": rules.items_digest,
        "rules": rules_of_settings(rules.settings),
        "phases": phases,
        "split": split and {"preliminary": share_text(split.preliminary), "key_sha256": split.key_sha256},
    }
