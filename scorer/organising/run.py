"""The main job: import what arrived, and score what has no result yet."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError
from scorer.executors.base import Executor, FileOutcome
from scorer.limits import ATTEMPTS, Limits
from scorer.live.entries import Entries
from scorer.live.entry import Entry
from scorer.live.errata import open_erratum
from scorer.live.presence import SecondLook, key_of, stays, track_digests
from scorer.live.times import NewLook
from scorer.matching.match import Counts
from scorer.matching.solution import Solution
from scorer.organising.intake import import_submissions, safe_digest, scan
from scorer.organising.kept import Found, Kept
from scorer.organising.phases import announce
from scorer.organising.picks import PicksProblem, import_picks
from scorer.organising.rules import RuleSet, are_replaced, record_basis, rules_in_force
from scorer.organising.splits import check_preliminary
from scorer.organising.submission_files import SkippedFile, UploadInProgress, submission_files
from scorer.organising.waves import Pending, entries_by, pending, queries_of, score
from scorer.paths.temporary import remove_abandoned_folders
from scorer.store.records import Failure, Submission
from scorer.store.store import Store
from scorer.wording import counted, quoted


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

    track: Track
    """With the settings of challenge.toml."""
    rules: RuleSet
    """What the entries are scored by."""
    limits: Limits
    solution: Solution | None
    """None if nothing needs it, because every submission that may be scored has a result."""
    files: tuple[Found, ...]
    """All submissions in the folder."""
    kept: Kept
    """Where the bytes are kept that are scored."""
    entries: Entries
    """The entries when the work began, without scores."""
    pending: Pending
    """Those to score first: admitted, without a result by the rules, and not given up. Others may follow, once the
    quota of their team is clear."""
    known: int
    """The number of submissions with a result."""
    given_up: tuple[tuple[Submission, Failure], ...]
    """Submissions that have failed `ATTEMPTS` times."""
    attempts: Mapping[str, int]
    """By digest of the submission: how often it has failed before."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder of submissions, and what to do."""
    notes: tuple[str, ...]
    """What the organiser should know about the rules."""
    picks: tuple[PicksProblem, ...]
    """What is wrong with the picks of teams."""


def plan(
    store: Store,
    challenge: Challenge,
    track: Track,
    *,
    limits: Limits | None = None,
    confirm_withdrawals: bool = False,
    verify_files: bool = False,
) -> Work:
    """Record which submissions of a track arrived or were withdrawn, and find those to score.

    Temporary files of runs that were killed are removed first. The bytes of files that have a result, and are not kept
    yet, are kept now; those of submissions that are withdrawn are deleted.

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
        The folder of submissions cannot be read, a setting contradicts the solution, or a phase that has started was
        changed.
    StoreError
        The database cannot be used.
    """
    with suppress(OSError):
        remove_abandoned_folders(Path(tempfile.gettempdir()))
    limits = limits or challenge.limits
    archive = store.archive(track.root)
    kept = Kept(store.kept_submissions(track.root), challenge.keep_submissions, limits)
    by_files = RuleSet.of_files(track)
    announce(store, track)
    rules = store.read(lambda view: rules_in_force(view, track, archive))
    basis = rules.basis
    # All results are read, so that a damaged database is reported before anything is written to it.
    found, scanned_before, recorded, is_stored, last_run, last_look = store.read(
        lambda view: (
            entries_by(view, rules),
            view.scanned_files(track.name),
            view.recorded_basis(track.name),
            basis.solution in view.solution_digests(),
            view.last_run(track.name),
            view.last_look(track.name),
        )
    )
    if store.void_rejections(basis, limits):
        found = store.read(lambda view: entries_by(view, rules))
    phases, now = found.phases, store.now()
    scanned = scan(
        track,
        limits,
        {each.submission.file: each.submission.digest for each in found.stored if each.present},
        {} if verify_files else scanned_before,
        {by_files.solution_digest, basis.solution, *archive.digests()},
        kept={each.submission.file for each in found.stored if stays(each.submission, phases, rules.track, now)},
        confirmed=confirm_withdrawals,
    )
    known = store.read(lambda view: view.known_digests(basis))
    unknown = [each for each in scanned.found if each[1].digest not in known]
    unchanged = recorded is not None and (recorded.basis, recorded.settings) == (basis, rules.settings)
    solution = None
    if not unchanged or not is_stored or _has_work(found, scanned.found, unknown, kept):
        solution = rules.read_solution()
        compare_queries(track, solution)
        rules.keep(archive)
    queries = store.read(lambda view: view.queries(basis.solution)) if solution is None else queries_of(solution)
    check_preliminary(rules.track, basis, queries)
    if import_submissions(
        store,
        track.name,
        [submission for _, submission in scanned.found],
        _second_look(track, limits),
        allowed=lambda kind, state: (
            (kind == "return" or scanned.warning is None) and not stays(state.submission, phases, rules.track, now)
        ),
        look=NewLook(now, scanned.unread, last_look),
    ):
        found = store.read(lambda view: entries_by(view, rules))
    store.store_scanned_files(track.name, scanned.statuses)
    kept.tidy(store)
    not_kept = kept.keep([each for each in scanned.found if each[1].digest in known])
    picks = import_picks(store, rules.track, scanned.picks, closed_at=phases.end, last_run=last_run)
    failures = {each.submission.digest: each.failure for each in found.stored if each.failure is not None}
    doubt = "" if solution is None else solution.iterations.note(rules.rules.measures)
    return Work(
        track=track,
        rules=rules,
        limits=limits,
        solution=solution,
        files=scanned.found,
        kept=kept,
        entries=found,
        pending=pending(found, scanned.found, kept),
        known=len(scanned.found) - len(unknown),
        given_up=tuple(
            (submission, failure)
            for _, submission in unknown
            if (failure := failures.get(submission.digest)) and failure.attempts >= ATTEMPTS
        ),
        attempts={digest: failure.attempts for digest, failure in failures.items()},
        skipped=scanned.skipped,
        warnings=(*scanned.left_out, *([scanned.warning] if scanned.warning else ()), *not_kept),
        notes=_notes(track, rules, by_files, doubt, has_started=phases.has_started(now)),
        picks=picks,
    )


def _has_work(found: Entries, files: Collection[Found], unknown: Collection[Found], kept: Kept) -> bool:
    """Whether a submission without a result is new, or may be scored."""
    recorded = {key_of(each.submission) for each in found.stored if each.present}
    return bool(pending(found, files, kept)) or any(key_of(each) not in recorded for _, each in unknown)


def _notes(track: Track, rules: RuleSet, by_files: RuleSet, doubt: str, *, has_started: bool) -> tuple[str, ...]:
    changed = by_files.differences(rules)
    if not changed:
        return (f"{track.name}: {doubt}",) if doubt else ()
    verb = "differs" if len(changed) == 1 else "differ"
    if not has_started:
        return (
            f"{track.name}: {', '.join(changed)} {verb} from the committed rules, by which runs go on; restore the "
            "files, or commit again before the start with `scorer commit`",
        )
    return (
        f"{track.name}: {', '.join(changed)} {verb} from the rules in force, which an erratum changes once a phase has "
        "started; `scorer erratum preview` shows what the change does",
    )


def hint(work: Work, counts: Counts) -> str | None:
    """For the organiser only: an item of the solution, if hardly any item of a submission is in it."""
    example = work.solution.example_item() if work.solution is not None and counts.few_known else None
    return None if example is None else f"the items of the solution look like {quoted(example)}"


def carry_out(store: Store, work: Work, executor: Executor | None = None) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score the submissions that have no result, and store the results; the board is based on them afterwards.

    Entries whose admission depends on earlier ones of their team are scored after these. While an erratum is open,
    entries are also scored by its rules.

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
        yield from score(store, work.rules, work.solution, work.files, work.kept, work.pending, work.limits, executor)
    name = work.track.name
    store.complete_means(
        store.read(lambda view: track_digests(view, name)), work.rules.basis, work.rules.rules.measures
    )
    rules, archive = work.rules, store.archive(work.track.root)
    # If an erratum was applied since the plan was made, the next run goes on by its rules.
    replaced = partial(are_replaced, rules=rules, archive=archive)
    record_basis(store, name, rules.basis, rules.settings, rules.items_digest, unless=replaced)
    score_by_erratum(store, work, executor)
    store.note_run(name)


def score_by_erratum(store: Store, work: Work, executor: Executor | None) -> None:
    """Score the entries of a track by the rules of its open erratum, too, and store the results."""
    erratum = store.read(lambda view: open_erratum(view.events(work.track.name)))
    if erratum is None:
        return
    rules = RuleSet.of_record(work.track, erratum.basis, store.archive(work.track.root))
    first = pending(store.read(lambda view: entries_by(view, rules)), work.files, work.kept)
    is_stored = store.read(lambda view: rules.basis.solution in view.solution_digests())
    if first or not is_stored:
        for _ in score(store, rules, rules.read_solution(), work.files, work.kept, first, work.limits, executor):
            pass
    digests = store.read(lambda view: track_digests(view, work.track.name))
    store.complete_means(digests, rules.basis, rules.rules.measures)


def present_entries(store: Store, work: Work) -> list[Entry]:
    """The track's entries that are not withdrawn or replaced, without scores, after the work is carried out."""
    found = store.read(lambda view: entries_by(view, work.rules)) if work.pending else work.entries
    return [entry for entry in found.all if entry.presence == "present"]


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


def compare_queries(track: Track, solution: Solution) -> None:
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
