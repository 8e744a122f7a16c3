"""The main job: import what arrived, score what has no result yet, and render the site."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

from scorer.challenge.settings import Track, check_stage
from scorer.errors import ChallengeError, Findings, SolutionError
from scorer.executors.base import Executor, FileOutcome, FileToScore
from scorer.executors.processes import Processes
from scorer.executors.serial import Serial
from scorer.matching.match import Counts
from scorer.matching.solution import Solution, read_ids
from scorer.options import TIME_LIMIT
from scorer.organising.submission_files import SkippedFile, SubmissionFile, UploadInProgress, submission_files
from scorer.paths import digest, is_regular
from scorer.scoring.outcomes import Failed
from scorer.scoring.rules import Rules
from scorer.store.records import Basis, RecordedBasis, StoredSubmission, Submission
from scorer.store.schema import storable
from scorer.store.store import GENERATIONS, SecondLook, Store
from scorer.wording import counted, quoted

STORE_EVERY = 0.5
"""Seconds between two transactions that store results."""

LARGE_BATCH = 24 << 20
"""Bytes of submissions for which several processes are started."""


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

    track: Track
    rules: Rules
    basis: Basis
    solution: Solution | None
    """None if nothing needs it, because every submission has a result."""
    pending: tuple[tuple[SubmissionFile, Submission], ...]
    """Submissions without a result by the basis."""
    known: int
    """The number of submissions with a result."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]

    @cached_property
    def settings(self) -> Mapping[str, object]:
        """All settings of the track, as they are recorded."""
        return self.track.model_dump(mode="json", exclude={"root", "name"})


def plan(store: Store, track: Track) -> Work:
    """Record which submissions of a track arrived or were withdrawn, and find those without a result.

    Raises
    ------
    SolutionError
        The solution cannot be used.
    ChallengeError
        The folder of submissions cannot be read, or a setting contradicts the solution.
    StoreError
        The database cannot be used.
    """
    rules = track_rules(track)
    basis = Basis.of(_digest_of_solution(track), rules)
    found, skipped = _scan(track)
    # All results are read, so that a damaged database is reported before anything is written to it.
    known, entries, recorded = store.read(
        lambda view: (view.known_digests(basis), view.entries(track.name, basis), view.recorded_basis(track.name))
    )
    _check_folder(track, found, entries)
    pending = tuple(each for each in found if each[1].digest not in known)
    solution = None
    if pending or recorded is None or recorded.basis != basis:
        solution = Solution.read(track.solution_path, track.solution_format, digest=basis.solution)
        _compare_queries(track, solution)
        if track.items_path is not None:
            solution = solution.with_candidates(read_ids(track.items_path))
        store.archive(track.root).add(track.solution_path, basis.solution)
        flagged = solution.flagged
    else:
        flagged = store.read(lambda view: view.flags(basis.solution))
    check_stage(track, int(flagged.sum()))
    store.import_submissions(track.name, [submission for _, submission in found], _second_look(track))
    return Work(track, rules, basis, solution, pending, len(found) - len(pending), tuple(skipped))


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


def carry_out(
    store: Store, work: Work, executor: Executor | None = None, time_limit: float = TIME_LIMIT
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score the submissions that have no result, and store the results; the board is based on them afterwards.

    Parameters
    ----------
    store
        The database.
    work
        As `plan` returns it.
    executor
        Where to score; None: in this process, or in several if there is much to score.
    time_limit
        Seconds that one submission may take.

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
        chosen = executor or _suitable_executor(work)
        done: list[tuple[Submission, FileOutcome]] = []
        stored_at = time.monotonic()
        # Closing it ends the work if the database fails or the caller stops.
        with closing(chosen.results(work.solution, work.rules, files, time_limit)) as outcomes:
            for position, outcome in outcomes:
                done.append((work.pending[position][1], outcome))
                if time.monotonic() - stored_at > STORE_EVERY:
                    yield from _stored(store, work, done)
                    done, stored_at = [], time.monotonic()
        yield from _stored(store, work, done)
    _record_basis(store, work)
    store.note_run(work.track.name)


def rejected(store: Store, work: Work) -> list[str]:
    """The files that are present and rejected, by this run or by an earlier one."""
    entries = store.read(lambda view: view.entries(work.track.name, work.basis))
    return [
        each.submission.file for each in entries if each.present and each.result and each.result.status == "rejected"
    ]


def _stored(
    store: Store, work: Work, done: list[tuple[Submission, FileOutcome]]
) -> list[tuple[Submission, FileOutcome]]:
    """What is done, once it is stored. What failed is not stored, so that the next run tries it again."""
    store.store_results(
        [(each.digest, outcome) for each, outcome in done if not isinstance(outcome, Failed)], work.basis
    )
    return done


def _record_basis(store: Store, work: Work) -> None:
    """Base the board on the results of this work; compute the means of new measures first."""
    name = work.track.name
    recorded = store.read(lambda view: view.recorded_basis(name))
    if recorded and (recorded.basis, recorded.settings, recorded.generations) == (
        work.basis,
        work.settings,
        GENERATIONS,
    ):
        return
    store.complete_means(name, work.basis, work.rules.measures)
    store.record_basis(name, work.basis, work.settings)


def _suitable_executor(work: Work) -> Executor:
    """Starting processes takes as long as scoring some megabytes."""
    size = sum(file.path.stat().st_size for file, _ in work.pending if file.path.exists())
    return Processes(os.cpu_count() or 1) if len(work.pending) > 1 and size > LARGE_BATCH else Serial()


def _scan(
    track: Track,
) -> tuple[list[tuple[SubmissionFile, Submission]], list[SkippedFile | UploadInProgress]]:
    """The submissions in the folder of a track, and what cannot be one."""
    found: list[tuple[SubmissionFile, Submission]] = []
    skipped: list[SkippedFile | UploadInProgress] = []
    for each in submission_files(track):
        if not isinstance(each, SubmissionFile):
            skipped.append(each)
            continue
        try:
            found.append((each, Submission(track.name, each.team, each.file, digest(each.path), each.received)))
        except OSError as error:
            skipped.append(SkippedFile(each.file, f"cannot be read: {error.strerror}"))
    return found, skipped


def _second_look(track: Track) -> SecondLook:
    """Looks again at files that the scan and the record differ on; see `Store.import_submissions`."""

    def look(files: set[str]) -> dict[str, str | None]:
        listed = {storable(each.file): each for each in submission_files(track)}
        found: dict[str, str | None] = {}
        for file in files:
            each = listed.get(file)
            if each is None:
                found[file] = None
            elif isinstance(each, SubmissionFile):
                try:
                    found[file] = digest(each.path)
                except FileNotFoundError:
                    found[file] = None
                except OSError:
                    continue  # what cannot be read is not withdrawn
        return found

    return look


def _check_folder(track: Track, found: Sequence[object], entries: Sequence[StoredSubmission]) -> None:
    """Refuse a missing folder if it has held submissions: it may be a disk that is not mounted."""
    if not found and not track.submissions_path.exists() and any(entry.present for entry in entries):
        raise ChallengeError(
            f"{track.submissions_path}: no such folder, but it has held submissions; restore it, or create an empty "
            "folder to withdraw them all"
        )


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
