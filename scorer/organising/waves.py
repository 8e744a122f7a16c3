"""Waves: entries are scored by some rules until no entry waits for the outcome of another one; their bytes are kept."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorer.executors import GoOn, always
from scorer.limits import MB, Limits
from scorer.live.presence import Key, SubmissionState, key_of, present_digests
from scorer.organising.rules import RuleSet
from scorer.organising.submission_files import SubmissionFile, WithFile
from scorer.scoring.outcomes import Failed
from scorer.store.archive import Archive, SourceError, content_of
from scorer.store.records import Submission
from scorer.store.store import Store
from scorer.wording import printable_name

if TYPE_CHECKING:
    from scorer.executors.base import Executor, FileOutcome
    from scorer.matching.solution import Solution

STORE_EVERY = 0.5
"""Seconds between two transactions that store results."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the bytes of submissions are: in the folder of the track, or kept by their digests."""

    files: tuple[WithFile, ...]
    """All submissions in the folder."""
    kept: Archive
    keeps_more: bool
    """Whether the bytes of what is scored are kept, so that it can be scored again without its file."""
    limits: Limits

    @property
    def digests(self) -> frozenset[str]:
        """Of all submissions that can be scored."""
        return frozenset((*(submission.digest for _, submission in self.files), *self.kept.digests()))

    def pending(self, unscored: Iterable[SubmissionState]) -> tuple[WithFile, ...]:
        """The submissions without an outcome that can be scored, with their files, or else with their kept bytes.

        Teams take turns: first one submission of each team, in the order of the record, then the second ones. So many
        files of one team do not delay those of the others. What has failed before, as by its time, comes last.
        """
        by_key = {key_of(submission): (file, submission) for file, submission in self.files}
        by_digest = {submission.digest: (file, submission) for file, submission in self.files}
        wanted: dict[Key, tuple[bool, WithFile]] = {}
        for state in unscored:
            recorded = state.submission
            # A name that schema 1 recorded escaped is found by the content.
            source = by_key.get(key_of(recorded)) or by_digest.get(recorded.digest)
            if source is None and recorded.digest in self.kept:
                path = self.kept.file(recorded.digest)
                source = SubmissionFile(path, recorded.file, recorded.team, recorded.received, None), recorded
            if source is not None:
                wanted[key_of(source[1])] = state.failure is not None, source
        turns: Counter[str] = Counter()
        in_turn: list[tuple[bool, int, WithFile]] = []
        for has_failed, source in wanted.values():
            turns[source[1].team] += 1
            in_turn.append((has_failed, turns[source[1].team], source))
        return tuple(source for *_, source in sorted(in_turn, key=lambda turn: turn[:2]))

    @contextmanager
    def keeping(self, files: Collection[WithFile]) -> Iterator[Callable[[str], str]]:
        """Keep the bytes of files, in threads. Raises StoreError.

        Yields a function that waits for the bytes with a digest, and returns why they cannot be kept; empty if they
        are.
        """
        new = {
            submission.digest: file
            for file, submission in files
            if self.keeps_more and submission.digest not in self.kept
        }
        if not new:
            yield lambda _: ""
            return
        pool, most = ThreadPoolExecutor(os.cpu_count() or 1), self.limits.file_mb * MB
        with self.kept.adding() as add:
            copies = {digest: pool.submit(add, content_of(file.path, most), digest) for digest, file in new.items()}

            def why_not(digest: str) -> str:
                try:
                    if digest in copies:
                        copies[digest].result()
                except SourceError as error:
                    return str(error)
                return ""

            try:
                yield why_not
            finally:
                pool.shutdown(cancel_futures=True)

    def keep(self, files: Collection[WithFile]) -> list[str]:
        """Keep the bytes of files; return which cannot be kept, and why. Raises StoreError."""
        with self.keeping(files) as why_not:
            return [
                f"{printable_name(submission.file)}: its bytes are not kept yet: {reason}"
                for _, submission in files
                if (reason := why_not(submission.digest))
            ]

    def tidy(self, store: Store) -> None:
        """Delete the bytes of submissions that were withdrawn or replaced before their phase closed. Raises StoreError.

        The bytes are listed first: what another run keeps meanwhile is recorded before it is kept.
        """
        if self.keeps_more and (stored := self.kept.digests()):
            self.kept.remove(set(stored) - store.read(present_digests))


def score(
    store: Store,
    rules: RuleSet,
    solution: Solution,
    sources: Sources,
    first: Iterable[SubmissionState],
    unscored: Callable[[], Iterable[SubmissionState]],
    executor: Executor | None,
    go_on: GoOn = always,
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score by some rules, one wave of entries after the other, until no entry can be scored or `go_on` is false.

    `first` are those without an outcome, and `unscored` returns those of a later wave. Yields each submission with its
    outcome, once it is stored. Its bytes are kept before: those that are scored, because both have the digest of the
    submission.
    """
    from scorer.executors.base import FileToScore, Processes  # noqa: PLC0415 (Arrow is slow to load)

    queries = rules.store_solution(store, solution)
    solution = solution.with_flags(rules.basis.flags(queries))
    chosen = executor or Processes(os.cpu_count() or 1)
    wave, tried = sources.pending(first), set[str]()
    while wave:
        tried.update(submission.digest for _, submission in wave)
        to_score = [FileToScore(file.path, submission.digest) for file, submission in wave]
        done: list[tuple[Submission, FileOutcome]] = []
        stored_at = time.monotonic()
        # Closing it ends the work if the database fails or the caller stops.
        with (
            sources.keeping(wave) as why_not,
            closing(chosen.results(solution, rules.rules, to_score, sources.limits, go_on)) as outcomes,
        ):
            for position, outcome in outcomes:
                submission = wave[position][1]
                reason = why_not(submission.digest)
                done.append((submission, Failed(reason) if reason else outcome))
                if time.monotonic() - stored_at > STORE_EVERY:
                    yield from _stored(store, rules, done)
                    done, stored_at = [], time.monotonic()
        yield from _stored(store, rules, done)
        if not go_on() or not rules.track.quota.limits_anything:  # without a quota, no entry waits for another one
            return
        wave = tuple(source for source in sources.pending(unscored()) if source[1].digest not in tried)


def _stored(
    store: Store, rules: RuleSet, done: list[tuple[Submission, FileOutcome]]
) -> list[tuple[Submission, FileOutcome]]:
    """What is done, once it is stored."""
    store.store_results([(submission.digest, outcome) for submission, outcome in done], rules.basis)
    return done
