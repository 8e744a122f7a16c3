"""The main job: import what arrived, and score what has no result yet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from scorer.challenge.settings import Challenge, Track
from scorer.executors.base import Executor, FileOutcome
from scorer.limits import ATTEMPTS, Limits
from scorer.live.entries import Entries
from scorer.live.entry import Entry
from scorer.live.presence import key_of, track_digests
from scorer.live.state import track_state
from scorer.matching.match import Counts
from scorer.matching.solution import Solution
from scorer.organising.arrivals import Before, before_look, look, record
from scorer.organising.intake import Scan
from scorer.organising.kept import Found, Kept
from scorer.organising.phases import announce
from scorer.organising.picks import PicksProblem, import_picks
from scorer.organising.rules import RuleSet, are_replaced, record_basis, rules_in_force
from scorer.organising.splits import check_preliminary
from scorer.organising.submission_files import SkippedFile, UploadInProgress
from scorer.organising.waves import Pending, entries_by, pending, score
from scorer.paths.writing import remove_abandoned_folders
from scorer.store.records import Failure, Submission
from scorer.store.store import Store
from scorer.wording import quoted


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

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
    known_digests: frozenset[str]
    """Of the submissions with a result."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder of submissions, and what to do."""
    notes: tuple[str, ...]
    """What the organiser should know about the rules."""
    picks: tuple[PicksProblem, ...]
    """What is wrong with the picks of teams."""

    @cached_property
    def pending(self) -> Pending:
        """Those to score first: admitted, without a result by the rules, and not given up.

        Others may follow, once the quota of their team is clear.
        """
        return pending(self.entries, self.files, self.kept)

    @property
    def known(self) -> int:
        """The number of submissions in the folder with a result."""
        return sum(submission.digest in self.known_digests for _, submission in self.files)

    @property
    def attempts(self) -> Mapping[str, int]:
        """By digest of the submission: how often it has failed before."""
        return {digest: failure.attempts for digest, failure in self._failures.items()}

    @property
    def given_up(self) -> tuple[tuple[Submission, Failure], ...]:
        """Submissions in the folder that have failed `ATTEMPTS` times."""
        failures = self._failures
        unknown = (submission for _, submission in self.files if submission.digest not in self.known_digests)
        return tuple(
            (submission, failure)
            for submission in unknown
            if (failure := failures.get(submission.digest)) and failure.attempts >= ATTEMPTS
        )

    @cached_property
    def _failures(self) -> Mapping[str, Failure]:
        return {own.submission.digest: own.failure for own in self.entries.stored if own.failure is not None}


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

    The stages are: the rules in force, a look into the folder, the record, the state of the entries, and what to score.
    `carry_out` has the last two: the results, and the basis of the board.

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
    by_files, archive = RuleSet.of_files(track), store.archive(challenge.root)
    announce(store, track)
    rules = store.read(lambda view: rules_in_force(view, by_files, archive))

    before = before_look(store, rules, limits)
    solutions = {by_files.solution_digest, rules.solution_digest, *archive.digests()}
    scanned = look(rules, before, limits, solutions, confirmed=confirm_withdrawals, verify=verify_files)

    kept = Kept(store.kept_submissions(challenge.root), challenge.keep_submissions, limits)
    solution = _checked_solution(store, rules, before, scanned, kept)
    has_changed = record(store, rules, before, scanned, limits)
    entries = store.read(lambda view: entries_by(view, rules)) if has_changed else before.entries
    kept.tidy(store)
    not_kept = kept.keep([own for own in scanned.found if own[1].digest in before.known])
    picks = import_picks(store, rules.track, scanned.picks, closed_at=entries.phases.end, last_run=before.last_run)

    doubt = "" if solution is None else solution.iterations.note(rules.rules.measures)
    notes = _notes(rules, by_files, doubt, has_started=entries.phases.has_started(before.now))
    warnings = (*scanned.left_out, *([scanned.warning] if scanned.warning else ()), *not_kept)
    return Work(
        rules=rules,
        limits=limits,
        solution=solution,
        files=scanned.found,
        kept=kept,
        entries=entries,
        known_digests=before.known,
        skipped=scanned.skipped,
        warnings=warnings,
        notes=notes,
        picks=picks,
    )


def _checked_solution(store: Store, rules: RuleSet, before: Before, scanned: Scan, kept: Kept) -> Solution | None:
    """The solution, if something may be scored or the board is based on other rules; None without work."""
    recorded = {key_of(own.submission) for own in before.entries.stored if own.present}
    unknown = (submission for _, submission in scanned.found if submission.digest not in before.known)
    has_work = bool(pending(before.entries, scanned.found, kept)) or any(key_of(own) not in recorded for own in unknown)
    if has_work or not before.is_based_on(rules):
        return rules.checked_solution(store.archive(rules.track.root))
    check_preliminary(rules.track, rules.basis, store.read(lambda view: view.queries(rules.basis.solution)))
    return None


def _notes(rules: RuleSet, by_files: RuleSet, doubt: str, *, has_started: bool) -> tuple[str, ...]:
    name = rules.track.name
    changed = by_files.differences(rules)
    if not changed:
        return (f"{name}: {doubt}",) if doubt else ()
    verb = "differs" if len(changed) == 1 else "differ"
    if not has_started:
        return (
            f"{name}: {', '.join(changed)} {verb} from the committed rules, by which runs go on; restore the "
            "files, or commit again before the start with `scorer commit`",
        )
    return (
        f"{name}: {', '.join(changed)} {verb} from the rules in force, which an erratum changes once a phase has "
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
    store.complete_means(_digests(store, work.rules), work.rules.basis, work.rules.rules.measures)
    rules = work.rules
    # If an erratum was applied since the plan was made, the next run goes on by its rules.
    replaced = partial(are_replaced, rules=rules, archive=store.archive(rules.track.root))
    record_basis(store, rules.track.name, rules.basis, rules.settings, rules.items_digest, unless=replaced)
    score_by_erratum(store, work, executor)
    store.note_run(rules.track.name)


def _digests(store: Store, rules: RuleSet) -> frozenset[str]:
    """The digests of all submissions of the track."""
    return store.read(lambda view: track_digests(view, rules.track.name))


def score_by_erratum(store: Store, work: Work, executor: Executor | None) -> None:
    """Score the entries of a track by the rules of its open erratum, too, and store the results."""
    erratum = store.read(lambda view: track_state(view, work.rules.track).open_erratum)
    if erratum is None:
        return
    rules = RuleSet.of_record(work.rules.track, erratum.basis, store.archive(work.rules.track.root))
    first = pending(store.read(lambda view: entries_by(view, rules)), work.files, work.kept)
    is_stored = store.read(lambda view: rules.basis.solution in view.solution_digests())
    if first or not is_stored:
        for _ in score(store, rules, rules.read_solution(), work.files, work.kept, first, work.limits, executor):
            pass
    store.complete_means(_digests(store, rules), rules.basis, rules.rules.measures)


def present_entries(store: Store, work: Work) -> list[Entry]:
    """The track's entries that are not withdrawn or replaced, without scores, after the work is carried out."""
    found = store.read(lambda view: entries_by(view, work.rules)) if work.pending else work.entries
    return [entry for entry in found.all if entry.presence == "present"]
