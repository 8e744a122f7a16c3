"""The main job: score what a challenge's teams sent in, keep it, and render the site from what is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from scorer.board.board import Board
from scorer.board.build import board
from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError, Findings, SolutionError, StoreError
from scorer.executors.base import Executor, Failed, FileOutcome, FileToScore
from scorer.executors.processes import Processes
from scorer.executors.serial import Serial
from scorer.matching.solution import Solution
from scorer.options import TIME_LIMIT
from scorer.organising.submission_files import SkippedFile, SubmissionFile, UploadInProgress, submission_files
from scorer.paths import digest, is_regular
from scorer.scoring.rules import Rules
from scorer.site.folder import write
from scorer.site.pages import pages
from scorer.store.records import Basis, Submission
from scorer.store.store import Store
from scorer.wording import counted, quoted

KEEP_EVERY = 0.5
"""Seconds between two transactions."""

MUCH = 24 << 20
"""Bytes from which several processes pay."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What is to be done for a track."""

    track: Track
    rules: Rules
    basis: Basis
    solution: Solution | None
    """None where nothing is pending, so that nothing needs it."""
    pending: tuple[tuple[SubmissionFile, Submission], ...]
    """Not scored yet under the basis."""
    known: int
    """How many were scored before."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]


def plan(store: Store, track: Track) -> Work:
    """Look through a track's submissions for what is not scored yet, and keep what was sent in or withdrawn.

    Raises SolutionError, ChallengeError, StoreError.
    """
    rules = Rules.of(track)
    basis = Basis(_digest_of_solution(track), rules.digest)
    present: list[tuple[SubmissionFile, Submission]] = []
    skipped: list[SkippedFile | UploadInProgress] = []
    for sent in submission_files(track):
        if not isinstance(sent, SubmissionFile):
            skipped.append(sent)
            continue
        try:
            present.append((sent, Submission(track.name, sent.team, sent.file, digest(sent.path), sent.received)))
        except OSError as error:
            skipped.append(SkippedFile(sent.file, f"cannot be read: {error.strerror}"))
    if (
        not present
        and not track.submissions_path.exists()
        and any(kept.present for kept in store.entries(track.name, None))
    ):
        raise ChallengeError(
            f"{track.submissions_path}: no such folder, though submissions were there before; put it back, or make it "
            "anew to withdraw them all"
        )
    known = store.known_digests(basis)
    pending = tuple(each for each in present if each[1].digest not in known)
    solution = None
    if pending or store.basis(track.name) != basis:
        solution = Solution.read(track.solution_path, track.solution_format, digest=basis.solution)
        _compare_queries(track, solution)
    store.keep_submissions(track.name, [submission for _, submission in present])
    return Work(track, rules, basis, solution, pending, len(present) - len(pending), tuple(skipped))


def carry_out(
    store: Store, work: Work, executor: Executor | None = None, time_limit: float = TIME_LIMIT
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score what is pending, and keep it; then the board stands on it.

    Without an executor the work decides: a little is done here, a lot in as many processes as there are cores. What
    has been kept comes out, after each short while in one transaction, so that a kill costs no more than that while.
    """
    if work.solution is not None:
        store.keep_solution(
            work.basis.solution, work.solution.queries.to_pylist(), work.solution.flagged, work.solution.ideal
        )
        files = [FileToScore(sent.path, submission.digest) for sent, submission in work.pending]
        chosen = executor or _chosen(work)
        done: list[tuple[Submission, FileOutcome]] = []
        kept_at = time.monotonic()
        # Closed, so that nothing works on where the database fails or the reader goes.
        with closing(chosen.results(work.solution, work.rules, files, time_limit)) as results:
            for place, result in results:
                done.append((work.pending[place][1], result))
                if time.monotonic() - kept_at > KEEP_EVERY:
                    yield from _kept(store, work, done)
                    done, kept_at = [], time.monotonic()
        yield from _kept(store, work, done)
        store.set_basis(work.track.name, work.basis)


def _kept(store: Store, work: Work, done: list[tuple[Submission, FileOutcome]]) -> list[tuple[Submission, FileOutcome]]:
    """What is done, once it is in the database; what failed is not kept, so that it is tried again."""
    store.record([(each, result) for each, result in done if not isinstance(result, Failed)], work.basis)
    return done


def _chosen(work: Work) -> Executor:
    """Starting processes takes about as long as scoring some megabytes."""
    size = sum(sent.path.stat().st_size for sent, _ in work.pending if sent.path.exists())
    return Processes(os.cpu_count() or 1) if len(work.pending) > 1 and size > MUCH else Serial()


def rejected(store: Store, work: Work) -> list[str]:
    """The files that are there and were rejected, now or before."""
    kept = store.entries(work.track.name, work.basis)
    return [each.submission.file for each in kept if each.present and each.result and each.result.status == "rejected"]


def render(challenge: Challenge, store: Store, *, pending: bool = False) -> Path:
    """Write the site from what is kept; give the path of its first page. `pending` is as in `boards`."""
    # One render at a time: two at once would write the same files.
    with store.alone():
        write(pages(challenge, boards(store, challenge.tracks, pending=pending)), challenge.site_path)
    return challenge.site_path / "index.html"


def boards(store: Store, tracks: Sequence[Track], *, pending: bool = False) -> list[Board]:
    """The tracks' boards.

    One that was scored by other settings than its track has now shows no score; with `pending` its entries wait, else
    a StoreError says what to do.
    """
    found = []
    for track in tracks:
        basis, settings = store.basis(track.name), Rules.of(track).digest
        if basis is not None and basis.settings != settings and not pending:
            raise StoreError(
                f"{track.name}: its settings have changed since it was scored, and there are no scores by the new ones "
                "yet; `scorer run` makes them"
            )
        found.append(board(store, track, None if basis is None else Basis(basis.solution, settings)))
    return found


def _compare_queries(track: Track, solution: Solution) -> None:
    """A participant who checks a file by the public list must not learn later that queries are missing in it."""
    if track.queries_path is None:
        return
    public = set(Solution.read_queries(track.queries_path).queries.to_pylist())
    lacking = [query for query in solution.queries.to_pylist() if query not in public]
    if lacking:
        raise ChallengeError(
            f"{track.queries_path}: {counted(len(lacking), 'query', 'queries')} of the solution not in it, such as "
            f"{quoted(lacking[0])}; participants check their files by it, so it must have them all"
        )


def _digest_of_solution(track: Track) -> str:
    findings = Findings()
    try:
        if is_regular(track.solution_path):
            return digest(track.solution_path)
        findings.add(0, "not a regular file" if track.solution_path.exists() else "no such file")
    except OSError as error:
        findings.add(0, f"cannot be read: {error.strerror}")
    raise SolutionError(str(track.solution_path), findings)
