"""The main job: import what arrived, and score what has no result yet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.challenge.settings import Challenge, Track
from scorer.executors import GoOn, always
from scorer.limits import Limits
from scorer.live.entries import Entries
from scorer.live.entry import Entry
from scorer.live.presence import SubmissionState, key_of, track_digests
from scorer.live.state import track_state
from scorer.matching.counts import Counts
from scorer.organising.deliveries import put_in_place
from scorer.organising.phases import announce
from scorer.organising.picks import import_picks
from scorer.organising.rules import RuleSet, record_basis, rules_in_force
from scorer.organising.scan import Before, before_scan, record, same_bytes, scan
from scorer.organising.splits import check_preliminary
from scorer.organising.submission_files import SkippedFile, UploadInProgress, WithFile
from scorer.organising.waves import Sources, score
from scorer.paths.writing import remove_abandoned_folders
from scorer.store.records import Failure, Submission
from scorer.store.store import Store
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.executors.base import Executor, FileOutcome
    from scorer.matching.solution import Solution


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

    rules: RuleSet
    """What the entries are scored by."""
    solution: Solution | None
    """None if nothing needs it, because every submission that may be scored has a result."""
    sources: Sources
    entries: Entries
    """The entries when the work began, without scores."""
    known: int
    """The number of submissions in the folder with a result."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    warnings: tuple[str, ...]
    """What is wrong with the folder of submissions, and what to do."""
    notes: tuple[str, ...]
    """What the organiser should know about the rules, and about files of several teams with the same bytes."""
    picks: tuple[str, ...]
    """What is wrong with the picks of teams."""

    @cached_property
    def pending(self) -> tuple[WithFile, ...]:
        """Those to score first. Others may follow, once the quota of their team is clear."""
        return self.sources.pending(self.entries.unscored)

    @cached_property
    def failures(self) -> Mapping[str, Failure]:
        """Of the attempts to score submissions before, by digest; without those that have a result."""
        return {state.submission.digest: state.failure for state in self.entries.stored if state.failure is not None}

    @property
    def given_up(self) -> tuple[tuple[Submission, Failure], ...]:
        """Submissions in the folder that have failed `ATTEMPTS` times."""
        given_up = {state.submission.digest for state in self.entries.stored if state.is_given_up}
        submissions = (submission for _, submission in self.sources.files if submission.digest in given_up)
        return tuple((submission, self.failures[submission.digest]) for submission in submissions)


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

    The stages are: the rules in force, a scan of the folder, the record, the state of the entries, and what to score.
    `carry_out` has the last two: the results, and the basis of the board.

    `limits` replace those of the challenge. Many missing files, or an empty folder, are withdrawals only with
    `confirm_withdrawals`. Files whose status has not changed since they were read are read again with `verify_files`.
    Raises SolutionError if the solution cannot be used.
    """
    with suppress(OSError):
        remove_abandoned_folders(Path(tempfile.gettempdir()))
    limits = limits or challenge.limits
    by_files, archive = RuleSet.of_files(track), store.archive(challenge.root)
    announce(store, track)
    rules = store.read(lambda view: rules_in_force(view, by_files, archive))

    before = before_scan(store, rules, limits)
    put_in_place(rules.track, before.delivered)
    scanned = scan(
        rules.track,
        limits,
        {submission.file: submission.digest for submission in before.present},
        {} if verify_files else before.scanned_files,
        {by_files.solution_digest, rules.solution_digest, *archive.digests()},
        staying=before.staying_files,
        delivered=before.delivered,
        confirmed=confirm_withdrawals,
    )

    sources = Sources(scanned.submissions, store.kept_submissions(challenge.root), challenge.keep_submissions, limits)
    solution = _checked_solution(store, rules, before, sources)
    has_changed = record(store, rules, before, scanned, limits)
    entries = store.read(rules.entries) if has_changed else before.entries
    sources.tidy(store)
    known = [source for source in sources.files if source[1].digest in before.known]
    not_kept = sources.keep(known)
    picks = import_picks(store, rules.track, scanned.picks, closed_at=entries.phases.end, last_run=before.last_run)

    doubts = []
    if solution is not None:
        from scorer.matching.notes import excluded_note  # noqa: PLC0415 (Arrow is slow to load)

        doubts = [excluded_note(solution), solution.iterations.note(rules.rules.measures)]
    return Work(
        rules=rules,
        solution=solution,
        sources=sources,
        entries=entries,
        known=len(known),
        skipped=scanned.skipped,
        warnings=(*scanned.left_out, *([scanned.warning] if scanned.warning else ()), *not_kept),
        notes=(
            *_notes(rules, by_files, doubts, has_started=entries.phases.has_started(before.now)),
            *same_bytes(scanned.submissions),
        ),
        picks=picks,
    )


def _checked_solution(store: Store, rules: RuleSet, before: Before, sources: Sources) -> Solution | None:
    """The solution, if something may be scored or the board is based on other rules; None without work.

    A file that is there again after its phase has closed is no work: its entry stays withdrawn.
    """
    states = before.entries.stored
    recorded = {key_of(state.submission) for state in states if state.present or before.stays(state.submission)}
    unknown = (submission for _, submission in sources.files if submission.digest not in before.known)
    has_work = bool(sources.pending(before.entries.unscored)) or any(
        key_of(submission) not in recorded for submission in unknown
    )
    if has_work or not before.is_current:
        return rules.checked_solution(store.archive(rules.track.root))
    check_preliminary(rules.track, rules.basis, store.read(lambda view: view.queries(rules.basis.solution)))
    return None


def _notes(rules: RuleSet, by_files: RuleSet, doubts: Sequence[str], *, has_started: bool) -> tuple[str, ...]:
    name = rules.track.name
    changed = by_files.differences(rules)
    if not changed:
        return tuple(f"{name}: {doubt}" for doubt in doubts if doubt)
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


def carry_out(
    store: Store,
    work: Work,
    executor: Executor | None = None,
    go_on: GoOn = always,
    leaves: Callable[[SubmissionState], bool] = lambda _: False,
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score the submissions that have no result, and store the results; the board is based on them afterwards.

    Entries whose admission depends on earlier ones of their team are scored after these. While an erratum is open,
    entries are also scored by its rules. Without an executor, as many processes score as this machine has cores. Once
    `go_on` is false, no further file is begun; the next run scores the others, and those that this one `leaves`.

    Yields each submission with its outcome, once it is stored. Results are stored every `STORE_EVERY` seconds, so that
    a run that is killed loses no more than that.
    """
    rules = work.rules
    if work.solution is not None:
        first = [state for state in work.entries.unscored if not leaves(state)]
        unscored = unscored_by(store, rules, leaves)
        yield from score(store, rules, work.solution, work.sources, first, unscored, executor, go_on)
    _complete_means(store, rules)
    # If an erratum was applied since the plan was made, the next run goes on by its rules.
    archive = store.archive(rules.track.root)
    record_basis(
        store,
        rules.track.name,
        rules.recorded,
        unless=lambda view: bool(rules.differences(rules_in_force(view, rules, archive))),
    )
    score_by_erratum(store, work, executor)
    store.note_run(rules.track.name)


def unscored_by(
    store: Store, rules: RuleSet, leaves: Callable[[SubmissionState], bool] = lambda _: False
) -> Callable[[], Sequence[SubmissionState]]:
    """A function that returns the submissions to score now by some rules, without those that a run `leaves`."""
    return lambda: [state for state in store.read(rules.entries).unscored if not leaves(state)]


def _complete_means(store: Store, rules: RuleSet) -> None:
    digests = store.read(partial(track_digests, track=rules.track.name))
    store.complete_means(digests, rules.basis, rules.rules.measures)


def score_by_erratum(store: Store, work: Work, executor: Executor | None) -> None:
    """Score the entries of a track by the rules of its open erratum, too, and store the results."""
    erratum = store.read(lambda view: track_state(view, work.rules.track).errata.open)
    if erratum is None:
        return
    rules = RuleSet.of_record(work.rules.track, erratum.basis, store.archive(work.rules.track.root))
    unscored = unscored_by(store, rules)
    is_stored = store.read(lambda view: rules.basis.solution in view.solution_digests())
    first = unscored()
    if work.sources.pending(first) or not is_stored:
        for _ in score(store, rules, rules.read_solution(), work.sources, first, unscored, executor):
            pass
    _complete_means(store, rules)


def present_entries(store: Store, work: Work) -> list[Entry]:
    """The track's entries that are not withdrawn or replaced, without scores, after the work is carried out."""
    entries = store.read(work.rules.entries) if work.pending else work.entries
    return [entry for entry in entries.all if entry.presence == "present"]
