"""Arrivals: a look into the folder of a track, and what the record takes from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scorer.challenge.settings import Track
from scorer.limits import Limits
from scorer.live.entries import Entries
from scorer.live.presence import SecondLook, SubmissionState, import_changes, is_complete, stays, submissions
from scorer.live.times import NewLook
from scorer.organising.intake import Scan, safe_digest, scan
from scorer.organising.rules import RuleSet
from scorer.organising.submission_files import submission_files
from scorer.organising.waves import entries_by
from scorer.store.kinds import Kind
from scorer.store.record import Added
from scorer.store.records import FolderLook, RecordedBasis, ScannedFile, Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store


@dataclass(frozen=True, eq=False)
class Before:
    """What the database has of a track before a look into its folder."""

    now: datetime
    entries: Entries
    """Without scores."""
    known: frozenset[str]
    """The digests of submissions with a result by the rules."""
    basis: RecordedBasis | None
    """The last one that was recorded."""
    has_solution: bool
    """Whether the solution of the rules is stored."""
    scanned_files: Mapping[str, ScannedFile]
    last_run: datetime | None
    last_look: FolderLook | None

    def stays(self, submission: Submission) -> bool:
        """Whether a submission stays present or withdrawn, regardless of its file, because its phase has closed."""
        return stays(submission, self.entries.phases, self.entries.track, self.now)

    def is_based_on(self, rules: RuleSet) -> bool:
        """Whether the board is based on these rules already, and their solution is stored."""
        return (
            self.has_solution
            and self.basis is not None
            and (self.basis.basis, self.basis.settings) == (rules.basis, rules.settings)
        )


def before_look(store: Store, rules: RuleSet, limits: Limits) -> Before:
    """What the database has of a track, without results that exceeded a limit which has another value now.

    All results are read, so that a damaged database is reported before anything is written to it.
    """
    name, basis = rules.track.name, rules.basis

    def read(view: Snapshot) -> Before:
        return Before(
            now=store.now(),
            entries=entries_by(view, rules),
            known=view.known_digests(basis),
            basis=view.recorded_basis(name),
            has_solution=basis.solution in view.solution_digests(),
            scanned_files=view.scanned_files(name),
            last_run=view.last_run(name),
            last_look=view.last_look(name),
        )

    before = store.read(read)
    return store.read(read) if store.void_rejections(basis, limits) else before


def look(
    rules: RuleSet, before: Before, limits: Limits, solutions: Collection[str], *, confirmed: bool, verify: bool
) -> Scan:
    """Look into the folder of a track.

    `solutions` are digests that no submission may have. Many missing files are withdrawals only if `confirmed`. Files
    whose status has not changed are read again only to `verify` them.
    """
    present = [own.submission for own in before.entries.stored if own.present]
    return scan(
        rules.track,
        limits,
        {submission.file: submission.digest for submission in present},
        {} if verify else before.scanned_files,
        solutions,
        kept={own.submission.file for own in before.entries.stored if before.stays(own.submission)},
        confirmed=confirmed,
    )


def record(store: Store, rules: RuleSet, before: Before, scanned: Scan, limits: Limits) -> bool:
    """Record what a look into the folder of a track found; return whether anything has changed."""
    name = rules.track.name
    has_changed = import_submissions(
        store,
        name,
        [submission for _, submission in scanned.found],
        second_look(rules.track, limits),
        allowed=lambda kind, own: (kind == "return" or scanned.warning is None) and not before.stays(own.submission),
        look=NewLook(before.now, scanned.unread, before.last_look),
    )
    store.store_scanned_files(name, scanned.statuses)
    return has_changed


def import_submissions(
    store: Store,
    track: str,
    scanned: Sequence[Submission],
    second_look: SecondLook | None = None,
    allowed: Callable[[Kind, SubmissionState], bool] = lambda _kind, _state: True,
    look: NewLook | None = None,
) -> bool:
    """Record which submissions of a track have arrived, are withdrawn, or have returned; return whether any has.

    A scan may be older than what another process recorded in the meantime. So this looks again, while no other process
    can write, at each file on which the scan and the record differ, and records only what is so now. Submissions from
    another source than the folder are left as they are.

    Without a second look, the scan is taken to be the latest. `allowed` says whether a recorded submission may be
    withdrawn, or return, given the kind of the event. The look that the scan was is stored in the same transaction.
    """
    is_known = store.read(lambda view: is_complete(submissions(view.events(track)), scanned))
    if is_known and look is None:
        return False

    def changed(view: Snapshot) -> tuple[Added, FolderLook | None]:
        last = view.last_look(track)
        stored = look.stored_after(last) if look else None
        if is_known:
            return [], stored
        states = submissions(view.events(track))
        added = [
            (kind, look.completed(last, body) if look and kind == "arrival" else body)
            for kind, body in import_changes(states, scanned, second_look)
            if kind == "arrival"
            or (state := states.get((body["file"], body["digest"]))) is None
            or allowed(kind, state)
        ]
        return added, stored

    return store.record_look(track, changed, revises=not is_known)


def second_look(track: Track, limits: Limits) -> SecondLook:
    """Looks again at files that the scan and the record differ on; see `import_submissions`."""

    def look(files: set[str]) -> dict[str, str | None]:
        again = submission_files(track)
        digests: dict[str, str | None] = {}
        for file in files:
            present = again.files.get(file)
            if present is None:
                if again.is_missing(file):
                    digests[file] = None
                continue
            try:
                digests[file] = safe_digest(present.path, limits)
            except FileNotFoundError:
                digests[file] = None
            except OSError:
                continue  # what cannot be read is not withdrawn
        return digests

    return look
