"""Waves: entries are scored by some rules until no entry waits for the outcome of another one."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import closing

from scorer.executors.base import Executor, FileOutcome, FileToScore, Processes
from scorer.limits import Limits
from scorer.live.entries import Entries, entries
from scorer.live.presence import key_of
from scorer.matching.solution import Solution
from scorer.organising.kept import Found, Kept
from scorer.organising.rules import RuleSet, queries_of
from scorer.scoring.outcomes import Failed
from scorer.store.records import Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

STORE_EVERY = 0.5
"""Seconds between two transactions that store results."""

Pending = tuple[Found, ...]
"""Submissions to score, with their files."""


def pending(found: Entries, files: Collection[Found], kept: Kept) -> Pending:
    """The submissions to score now, in the order of the record, with their files, or else with their kept bytes."""
    by_key = {key_of(submission): (file, submission) for file, submission in files}
    by_digest = {submission.digest: (file, submission) for file, submission in files}
    wanted = {}
    for each in found.unscored:
        # A name that schema 1 recorded escaped is found by the content.
        own = by_key.get(key_of(each.submission)) or by_digest.get(each.submission.digest)
        file = own or kept.file(each.submission)
        if file is not None:
            wanted[key_of(file[1])] = file
    return tuple(wanted.values())


def entries_by(view: Snapshot, rules: RuleSet) -> Entries:
    """The entries by some rules, without scores."""
    return entries(view, rules.track, rules.basis, measures=())


def score(
    store: Store,
    rules: RuleSet,
    solution: Solution,
    files: Collection[Found],
    kept: Kept,
    first: Pending,
    limits: Limits,
    executor: Executor | None,
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score by some rules, one wave of entries after the other, until no entry can be scored.

    Parameters
    ----------
    store
        The database.
    rules, solution
        What to score by.
    files
        All submissions in the folder.
    kept
        Where the bytes are kept that are scored.
    first
        The first wave, as `pending` returns it.
    limits
        On each submission.
    executor
        Where to score; None: in as many processes of this machine as it has cores.

    Yields
    ------
    Each submission with its outcome, once it is stored. Its bytes are kept before: those that are scored, because both
    have the digest of the submission.
    """
    queries = queries_of(solution)
    store.store_solution(rules.basis.solution, queries.ids, queries.flagged, solution.ideal)
    solution = solution.with_flags(rules.basis.flags(queries))
    chosen = executor or Processes(os.cpu_count() or 1)
    wave, tried = first, set[str]()
    while wave:
        tried.update(submission.digest for _, submission in wave)
        to_score = [FileToScore(file.path, submission.digest) for file, submission in wave]
        done: list[tuple[Submission, FileOutcome]] = []
        stored_at = time.monotonic()
        # Closing it ends the work if the database fails or the caller stops.
        with (
            kept.keeping(wave) as why_not,
            closing(chosen.results(solution, rules.rules, to_score, limits)) as outcomes,
        ):
            for position, outcome in outcomes:
                submission = wave[position][1]
                reason = why_not(submission.digest)
                done.append((submission, Failed(reason) if reason else outcome))
                if time.monotonic() - stored_at > STORE_EVERY:
                    yield from _stored(store, rules, done)
                    done, stored_at = [], time.monotonic()
        yield from _stored(store, rules, done)
        following = pending(store.read(lambda view: entries_by(view, rules)), files, kept)
        wave = tuple(each for each in following if each[1].digest not in tried)


def _stored(
    store: Store, rules: RuleSet, done: list[tuple[Submission, FileOutcome]]
) -> list[tuple[Submission, FileOutcome]]:
    """What is done, once it is stored."""
    store.store_results([(each.digest, outcome) for each, outcome in done], rules.basis)
    return done
