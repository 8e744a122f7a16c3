"""The main job: import what arrived, score what has no result yet, and render the site."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from scorer.challenge.settings import Challenge, Track, check_stage
from scorer.errors import ChallengeError, Findings, SolutionError
from scorer.executors.base import Executor, FileOutcome, FileToScore
from scorer.executors.processes import Processes
from scorer.limits import ATTEMPTS, Limits
from scorer.matching.match import Counts
from scorer.matching.solution import Solution, read_ids
from scorer.organising.intake import safe_digest, scan
from scorer.organising.submission_files import SkippedFile, SubmissionFile, UploadInProgress, submission_files
from scorer.paths import digest, is_regular
from scorer.paths.temporary import remove_abandoned_folders
from scorer.scoring.large_scores import check_gains
from scorer.scoring.rules import Rules
from scorer.store.records import Basis, Failure, RecordedBasis, StoredSubmission, Submission
from scorer.store.store import SecondLook, Store
from scorer.wording import counted, quoted

STORE_EVERY = 0.5
"""Seconds between two transactions that store results."""


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

    track: Track
    rules: Rules
    limits: Limits
    basis: Basis
    solution: Solution | None
    """None if nothing needs it, because every submission has a result."""
    pending: tuple[tuple[SubmissionFile, Submission], ...]
    """Submissions to score: those without a result by the basis, except the ones that were given up."""
    known: int
    """The number of submissions with a result."""
    given_up: tuple[tuple[Submission, Failure], ...]
    """Submissions that have failed `ATTEMPTS` times."""
    attempts: Mapping[str, int]
    """By digest of the submission: how often it has failed before."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder of submissions, and what to do."""


def settings(track: Track) -> Mapping[str, object]:
    """All settings of a track, as they are recorded."""
    return track.model_dump(mode="json", exclude={"root", "name"})


def plan(
    store: Store,
    challenge: Challenge,
    track: Track,
    *,
    limits: Limits | None = None,
    confirm_withdrawals: bool = False,
    verify_files: bool = False,
) -> Work:
    """Record which submissions of a track arrived or were withdrawn, and find those without a result.

    Temporary files of runs that were killed are removed first.

    Parameters
    ----------
    store, challenge, track
        The database, the challenge, and the track of it.
    limits
        The limits on submissions; None: those of the challenge.
    confirm_withdrawals
        Whether many missing files, or an empty folder, are withdrawals. Otherwise nothing is withdrawn then.
    verify_files
        Whether to read all files, also those whose status has not changed since they were read.

    Raises
    ------
    SolutionError
        The solution cannot be used.
    ChallengeError
        The folder of submissions cannot be read, or a setting contradicts the solution.
    StoreError
        The database cannot be used.
    """
    with suppress(OSError):
        remove_abandoned_folders(Path(tempfile.gettempdir()))
    limits = limits or challenge.limits
    rules = track_rules(track)
    basis = Basis.of(_digest_of_solution(track), rules)
    # All results are read, so that a damaged database is reported before anything is written to it.
    entries, known, scanned_before, recorded, is_stored = store.read(
        lambda view: (
            view.entries(track.name, basis),
            view.known_digests(basis),
            view.scanned_files(track.name),
            view.recorded_basis(track.name),
            basis.solution in view.solution_digests(),
        )
    )
    present = {entry.submission.file: entry.submission.digest for entry in entries if entry.present}
    archive = store.archive(track.root)
    scanned = scan(
        track,
        limits,
        present,
        {} if verify_files else scanned_before,
        {basis.solution, *archive.digests()},
        confirmed=confirm_withdrawals,
    )
    failures = {entry.submission.digest: entry.failure for entry in entries if entry.failure is not None}
    if store.void_rejections(basis, limits):
        known = store.read(lambda view: view.known_digests(basis))
    unknown = [each for each in scanned.found if each[1].digest not in known]
    pending = tuple(each for each in unknown if not _is_given_up(failures.get(each[1].digest)))
    unchanged = recorded is not None and (recorded.basis, recorded.settings) == (basis, settings(track))
    solution = None
    if pending or not unchanged or not is_stored:
        solution = Solution.read(track.solution_path, track.solution_format, digest=basis.solution)
        _compare_queries(track, solution)
        check_gains(solution, rules.measures, str(track.solution_path))
        if track.items_path is not None:
            solution = solution.with_candidates(read_ids(track.items_path))
        archive.add(track.solution_path, basis.solution)
    flagged = store.read(lambda view: view.flags(basis.solution)) if solution is None else solution.flagged
    check_stage(track, int(flagged.sum()))
    found = [submission for _, submission in scanned.found]
    store.import_submissions(track.name, found, _second_look(track, limits), withdraw=scanned.warning is None)
    store.store_scanned_files(track.name, scanned.statuses)
    return Work(
        track=track,
        rules=rules,
        limits=limits,
        basis=basis,
        solution=solution,
        pending=pending,
        known=len(found) - len(unknown),
        given_up=tuple(
            (submission, failure)
            for _, submission in unknown
            if (failure := failures.get(submission.digest)) and _is_given_up(failure)
        ),
        attempts={digest: failure.attempts for digest, failure in failures.items()},
        skipped=scanned.skipped,
        warnings=(*scanned.left_out, *([scanned.warning] if scanned.warning else ())),
    )


def _is_given_up(failure: Failure | None) -> bool:
    return failure is not None and failure.attempts >= ATTEMPTS


def track_rules(track: Track) -> Rules:
    """The rules of a track, which include the content of its list of candidate items.

    Raises ChallengeError if that list cannot be read.
    """
    try:
        return Rules.of(track, None if track.items_path is None else digest(track.items_path))
    except OSError as error:
        raise ChallengeError(f"{track.items_path}: cannot be read: {error.strerror}; make it readable") from error


def current_basis(track: Track, recorded: RecordedBasis | None) -> Basis | None:
    """The basis of a track's board by the solution that was recorded and by the current rules; None before a run."""
    rules = track_rules(track)
    return None if recorded is None else Basis.of(recorded.basis.solution, rules)


def hint(work: Work, counts: Counts) -> str | None:
    """For the organiser only: an item of the solution, if hardly any item of a submission is in it."""
    example = work.solution.example_item() if work.solution is not None and counts.few_known else None
    return None if example is None else f"the items of the solution look like {quoted(example)}"


def carry_out(store: Store, work: Work, executor: Executor | None = None) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score the submissions that have no result, and store the results; the board is based on them afterwards.

    Parameters
    ----------
    store
        The database.
    work
        As `plan` returns it.
    executor
        Where to score; None: in as many processes of this machine as it has cores.

    Yields
    ------
    Each submission with its outcome, once it is stored. Results are stored every `STORE_EVERY` seconds, so that a run
    that is killed loses no more than that.
    """
    if work.solution is not None:
        store.store_solution(
            work.basis.solution, work.solution.queries.to_pylist(), work.solution.flagged, work.solution.ideal
        )
        files = [FileToScore(file.path, submission.digest) for file, submission in work.pending]
        chosen = executor or Processes(os.cpu_count() or 1)
        done: list[tuple[Submission, FileOutcome]] = []
        stored_at = time.monotonic()
        # Closing it ends the work if the database fails or the caller stops.
        with closing(chosen.results(work.solution, work.rules, files, work.limits)) as outcomes:
            for position, outcome in outcomes:
                done.append((work.pending[position][1], outcome))
                if time.monotonic() - stored_at > STORE_EVERY:
                    yield from _stored(store, work, done)
                    done, stored_at = [], time.monotonic()
        yield from _stored(store, work, done)
    _record_basis(store, work)
    store.note_run(work.track.name)


def present_entries(store: Store, work: Work) -> list[StoredSubmission]:
    """The track's submissions that are not withdrawn, with their results, after the work is carried out."""
    entries = store.read(lambda view: view.entries(work.track.name, work.basis))
    return [entry for entry in entries if entry.present]


def _stored(
    store: Store, work: Work, done: list[tuple[Submission, FileOutcome]]
) -> list[tuple[Submission, FileOutcome]]:
    """What is done, once it is stored."""
    store.store_results([(each.digest, outcome) for each, outcome in done], work.basis)
    return done


def _record_basis(store: Store, work: Work) -> None:
    """Base the board on the results of this work; compute the means of new measures first."""
    name = work.track.name
    store.complete_means(name, work.basis, work.rules.measures)
    store.record_basis(name, work.basis, settings(work.track))


def _second_look(track: Track, limits: Limits) -> SecondLook:
    """Looks again at files that the scan and the record differ on; see `Store.import_submissions`."""

    def look(files: set[str]) -> dict[str, str | None]:
        again = submission_files(track)
        found: dict[str, str | None] = {}
        for file in files:
            each = again.files.get(file)
            if each is None:
                if again.is_missing(file):
                    found[file] = None
                continue
            try:
                found[file] = safe_digest(each.path, limits)
            except FileNotFoundError:
                found[file] = None
            except OSError:
                continue  # what cannot be read is not withdrawn
        return found

    return look


def _compare_queries(track: Track, solution: Solution) -> None:
    """Refuse a public list that lacks queries: a file that passes the participant's check could lack them too."""
    if track.queries_path is None:
        return
    public = set(Solution.read_queries(track.queries_path).queries.to_pylist())
    lacking = [query for query in solution.queries.to_pylist() if query not in public]
    if lacking:
        raise ChallengeError(
            f"{track.queries_path}: lacks {counted(len(lacking), 'query', 'queries')} of the solution, such as "
            f"{quoted(lacking[0])}; add them, because participants check their files by this list"
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
