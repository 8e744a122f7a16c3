"""Arrivals: what was handed in is scored at once, at the cost of the entries of its teams."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError, FileError
from scorer.executors import GoOn
from scorer.live.entries import entries
from scorer.live.following import Followed
from scorer.live.presence import SERVICE, SubmissionState
from scorer.organising.deliveries import final_path
from scorer.organising.rules import RuleSet, rules_in_force
from scorer.organising.submission_files import SubmissionFile, WithFile
from scorer.organising.waves import Sources, score
from scorer.store.records import Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

if TYPE_CHECKING:
    from scorer.executors.base import Executor, FileOutcome
    from scorer.matching.solution import Solution


@dataclass(slots=True)
class Arrivals:
    """Scores what teams hand in, without a look into the folder: the next run does all else."""

    store: Store
    followed: Followed
    executor: Executor | None
    _solutions: dict[tuple[str, str, str | None], Solution] = field(default_factory=dict)
    """By track, digest, and digest of the candidate items."""

    def scored(
        self, challenge: Challenge, track: Track, teams: Collection[str], go_on: GoOn
    ) -> Iterator[tuple[Submission, FileOutcome]]:
        """Score the entries of some teams that were handed in and have no outcome; as `carry_out`.

        Only by rules by which the track was scored before: otherwise nothing is scored.
        """
        rules = _rules(self.store, challenge, track)

        def unscored(view: Snapshot) -> list[SubmissionState]:
            self.followed.follow(view)
            found: dict[int, SubmissionState] = {}
            for team in teams:
                own = self.followed.own(view, track.name, team)
                listed = entries(own, rules.track, rules.basis, measures=()).unscored
                found |= {state.index: state for state in listed if state.source == SERVICE}
            return [found[index] for index in sorted(found)]

        if not _is_stored(self.store, rules):
            return
        first = self.store.read(unscored)
        if not first:
            return
        files = tuple(_with_file(track, state.submission) for state in first)
        sources = Sources(
            files, self.store.kept_submissions(challenge.root), challenge.keep_submissions, challenge.limits
        )
        solution = self._solution(rules)
        yield from score(
            self.store, rules, solution, sources, first, lambda: self.store.read(unscored), self.executor, go_on
        )

    def _solution(self, rules: RuleSet) -> Solution:
        key = rules.track.name, rules.solution_digest, rules.items_digest
        if key not in self._solutions:
            self._solutions = {other: kept for other, kept in self._solutions.items() if other[0] != key[0]}
            self._solutions[key] = rules.read_solution()
        return self._solutions[key]


def is_ready(store: Store, challenge: Challenge, track: Track) -> bool:
    """Whether arrivals of a track can be scored: a run has stored its solution."""
    try:
        return _is_stored(store, _rules(store, challenge, track))
    except (ChallengeError, FileError):  # the run reports it
        return False


def _rules(store: Store, challenge: Challenge, track: Track) -> RuleSet:
    by_files, archive = RuleSet.of_files(track), store.archive(challenge.root)
    return store.read(lambda view: rules_in_force(view, by_files, archive))


def _is_stored(store: Store, rules: RuleSet) -> bool:
    return store.read(lambda view: rules.basis.solution in view.solution_digests())


def _with_file(track: Track, submission: Submission) -> WithFile:
    path = final_path(track, submission.file)
    return SubmissionFile(path, submission.file, submission.team, submission.received, None), submission
