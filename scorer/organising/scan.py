"""A scan of the folder of a track, which is not trusted, and the arrivals that are scored at once.

What is refused harms nobody else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scorer.files import UnsafePathError
from scorer.limits import Limits
from scorer.live.entries import Entries, Followed, entries
from scorer.live.entry import (
    FOLDER,
    SERVICE,
    Recheck,
    SubmissionState,
    import_changes,
    key_of,
    recorded,
    stays,
)
from scorer.live.now import Now
from scorer.live.phases import NewScan, content_mark, folder_of
from scorer.organising.files import (
    IN_TEAM,
    ListedPart,
    Listing,
    SkippedFile,
    SubmissionFile,
    UploadInProgress,
    WithFile,
    check_links,
    final_path,
    read_file,
    safe_digest,
    scanned_metadata,
    submission_files,
    why_skipped,
    without_time,
)
from scorer.organising.phases import announcement
from scorer.organising.rules import RuleSet
from scorer.organising.watch import Sources, score_queue
from scorer.record.events import Key
from scorer.record.log import EventKind
from scorer.rules.metadata import Value, body
from scorer.rules.phases import Phases
from scorer.rules.tables import FILE_NAMES
from scorer.scoring.executors import GoOn
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import FolderScan, ScannedFile, StoredQueries, Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, printable_name, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.scoring.executors.base import Executor, FileOutcome


FEW_MISSING = 3
MISSING_SHARE = 10
"""So many missing submissions, and more than one in so many of a track's, must be confirmed."""

_SHOWN = 20
"""How many skipped files in the folder of a team are reported one by one."""


@dataclass(frozen=True, eq=False)
class ScannedPart:
    """What a part of the folder of a track holds."""

    part: ListedPart
    submissions: tuple[WithFile, ...]
    """By name."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    statuses: Mapping[str, ScannedFile]
    """By file: the status that goes with the digest, of settled files."""

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Of the submissions, by file."""
        return {submission.file: submission.digest for _, submission in self.submissions}

    @cached_property
    def in_no_folder(self) -> tuple[Submission, ...]:
        """The submissions that are in no folder of a team."""
        return tuple(submission for file, submission in self.submissions if file.file.count("/") < IN_TEAM)

    @cached_property
    def is_settled(self) -> bool:
        """Whether it holds the same while the files, the rules and the record are the same."""
        return len(self.statuses) == len(self.submissions) == len(self.part.files)


@dataclass(frozen=True, eq=False)
class Scan:
    """What the folder of a track holds."""

    listing: Listing
    rules: tuple[object, ...]
    """What decides, besides the files and the record, what is a submission."""
    recorded: Mapping[str, str]
    """The files of submissions that were recorded as present, with their digests."""
    parts: Mapping[str, ScannedPart]
    """By name, in order of the names."""
    is_settled: bool
    """Whether another scan finds the same while the files, the rules and the record are the same."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    """What is no submission, or is refused."""
    left_out: tuple[str, ...]
    """Messages about files beyond `files_per_team`, about invalid metadata of recorded files, and about those that were
    handed in and are missing."""
    statuses: Mapping[str, ScannedFile]
    """By file: the status that goes with the digest, of settled files."""
    warning: str | None
    """What to do if so many files are missing that the folder may be the wrong one; none is withdrawn then."""
    metadata: Mapping[str, Mapping[str, Value]]
    """What is stated of submissions, by file: of new ones, and of those that have a file of metadata."""
    unread: tuple[str, ...] | None
    """The marks of what was listed and is no submission yet, see `FolderScan`; None if nothing was listed, although
    submissions are recorded: the disk may not be mounted."""

    @cached_property
    def submissions(self) -> tuple[WithFile, ...]:
        """By name."""
        return tuple(chain.from_iterable(part.submissions for part in self.parts.values()))

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Of the submissions, by file."""
        return dict(chain.from_iterable(part.digests.items() for part in self.parts.values()))

    @cached_property
    def same_bytes(self) -> tuple[str, ...]:
        """A message for the organiser about each content that several teams have."""
        counts = Counter(self.digests.values())
        if len(counts) == len(self.digests):
            return ()
        by_digest: dict[str, dict[str, str]] = defaultdict(dict)
        for _, submission in self.submissions:
            if counts[submission.digest] > 1:
                by_digest[submission.digest].setdefault(submission.team, printable_name(submission.file))
        return tuple(
            f"{', '.join([*files.values()][:_SHOWN])}: the same bytes from {counted(len(files), 'team')}"
            for files in by_digest.values()
            if len(files) > 1
        )


@dataclass(frozen=True, slots=True)
class _Given:
    """What a scan is given, and what it finds stated."""

    track: Track
    limits: Limits
    recorded: Mapping[str, str]
    known: Mapping[str, ScannedFile]
    solutions: Collection[str]
    delivered: Mapping[str, str]
    listing: Listing
    left_out: Collection[str]
    metadata: dict[str, Mapping[str, Value]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def scanned(self, part: ListedPart) -> ScannedPart:
        """What a part holds."""
        submissions: list[WithFile] = []
        skipped: list[SkippedFile | UploadInProgress] = []
        statuses: dict[str, ScannedFile] = {}
        for file in part.all:
            if file.file in self.left_out:
                continue
            if not isinstance(file, SubmissionFile):
                skipped.append(file)
                continue
            try:
                read, status = read_file(file, self.limits, self.known.get(file.file))
                check_links(read, status.digest, self.recorded.get(read.file), self.solutions)
                if self.delivered.get(read.file, status.digest) != status.digest:
                    raise UnsafePathError("has other bytes than the file that was handed in; restore it")
                is_new = self.recorded.get(read.file) != status.digest
                if read.file not in self.delivered:
                    found = scanned_metadata(self.track, read, self.listing, self.limits, is_new, self.notes)
                    self.metadata.update(found)
            except OSError as error:
                skipped.append(SkippedFile(file.file, why_skipped(error)))
                continue
            submissions.append((read, Submission(self.track.name, read.team, read.file, status.digest, read.received)))
            if status.inode:
                statuses[read.file] = status
        return ScannedPart(part, tuple(submissions), tuple(skipped), statuses)


def scan(
    track: Track,
    limits: Limits,
    recorded: Mapping[str, str],
    known: Mapping[str, ScannedFile],
    solutions: Collection[str],
    *,
    staying: Callable[[], Collection[str]] = frozenset,
    delivered: Mapping[str, str] = MappingProxyType({}),
    confirmed: bool = False,
    last: Scan | None = None,
) -> Scan:
    """Scan the folder of a track. Raises ChallengeError if it cannot be read.

    `recorded` has the files of submissions that are recorded as present, with their digests; those that `staying`
    returns remain so if they are missing, as do those that were handed in: `delivered`. `known` has the status of files
    by an earlier scan: a file with the same status is not read again. No submission may have the digest of one of the
    `solutions`. Missing files are withdrawals, however many there are, only if that is `confirmed`.
    `file_mb` and `files_per_team` are checked before a file is read. Parts that are as in the `last` scan are taken
    from it; if all are, it is that scan.
    """
    listing = submission_files(track, last.listing if last else None)
    rules = track.name, track.metadata, limits, frozenset(solutions), confirmed
    before = last if last is not None and last.rules == rules and not track.metadata else None
    if before is not None and before.is_settled and (listing is before.listing and recorded is before.recorded):
        return before
    left_out, unread, messages = _beyond_limit(listing, limits, recorded)
    given = _Given(track, limits, recorded, known, solutions, delivered, listing, left_out)

    earlier = before.parts if before is not None and not left_out else {}
    parts: dict[str, ScannedPart] = {}
    for name, part in listing.parts.items():
        same = earlier.get(name)
        is_same = same is not None and same.part is part and same.is_settled
        if same is None or not is_same or not same.digests.items() <= recorded.items():
            same = given.scanned(part)
        parts[name] = same
    skipped = [*chain.from_iterable(part.skipped for part in parts.values())]
    statuses = dict(chain.from_iterable(part.statuses.items() for part in parts.values()))
    for mark, found in _marks(_first(skipped, limits.files_per_team), limits, known):
        unread.append(mark)
        statuses |= found
    missing = recorded.keys() - listing.files.keys()
    gone = sorted(file for file in missing - delivered.keys() if listing.is_missing(file))
    gone = [file for file in gone if file not in staying()]
    lost = tuple(
        f"{printable_name(file)}: was handed in, and its file is missing; restore it from a backup"
        for file in sorted(missing & delivered.keys())
        if listing.is_missing(file)
    )
    present = sum(len(part.submissions) for part in parts.values())
    return Scan(
        listing=listing,
        rules=rules,
        recorded=recorded,
        parts=parts,
        is_settled=not (missing or track.metadata or left_out) and all(part.is_settled for part in parts.values()),
        skipped=tuple(_bounded(skipped)),
        left_out=(*messages, *given.notes, *lost),
        statuses=statuses,
        warning=None if confirmed else _warning(track, gone, len(recorded), present),
        metadata=given.metadata,
        unread=tuple(unread) if any(part.all for part in listing.parts.values()) or not recorded or confirmed else None,
    )


def _marks(
    skipped: Iterable[SkippedFile | UploadInProgress], limits: Limits, known: Mapping[str, ScannedFile]
) -> Iterator[tuple[str, Mapping[str, ScannedFile]]]:
    """The mark of each file that is no submission yet, see `FolderScan`, and its status if that may be used again."""
    for file in skipped:
        if isinstance(file, SkippedFile):
            yield file.file, {}
        elif file.upload is not None:
            with suppress(OSError):
                _, status = read_file(file.upload, limits, known.get(file.file))
                yield content_mark(file.file, status.digest), {file.file: status} if status.inode else {}


def about_names(declared: Track, track: Track, parts: Iterable[ScannedPart]) -> Iterator[str]:
    """Messages about names of files that are declared too late, and about files that are of one team by their names."""
    if declared.file_names not in (FILE_NAMES, track.file_names):
        yield f"{track.name}: file_names: has no effect, because files had arrived when it was set"
    by_team: dict[str, dict[str, str]] = defaultdict(dict)
    for submission in chain.from_iterable(part.in_no_folder for part in parts):
        name = without_time(submission.file.rpartition("/")[2])
        by_team[submission.team].setdefault(name, printable_name(submission.file))
    for team, files in by_team.items():
        if len(files) > 1 and "{run}" not in (track.file_names or ""):
            yield (
                f"{', '.join([*files.values()][:_SHOWN])}: by their names, these {len(files):,} files are of one team, "
                f"{quoted(printable_name(team))}; if they are not, move each into a folder with the name of its team"
            )


def _bounded(skipped: Iterable[SkippedFile | UploadInProgress]) -> Iterator[SkippedFile | UploadInProgress]:
    """The first `_SHOWN` of each kind in the folder of each team, and how many more there are."""
    counts: Counter[tuple[str, bool]] = Counter()
    yield from _first(skipped, _SHOWN, counts)
    for (folder, in_progress), count in counts.items():
        if count > _SHOWN:
            more = count - _SHOWN
            yield UploadInProgress(folder, more) if in_progress else SkippedFile(folder, f"and {more:,} more files")


def _first(
    skipped: Iterable[SkippedFile | UploadInProgress], limit: int, counts: Counter[tuple[str, bool]] | None = None
) -> Iterator[SkippedFile | UploadInProgress]:
    """The first of each kind in the folder of each team; `counts` receives how many there are."""
    counts = Counter() if counts is None else counts
    for file in skipped:
        folder = "/".join(folder_of(file.file).split("/")[:IN_TEAM])
        kind = folder, isinstance(file, UploadInProgress)
        counts[kind] += "/" in kind[0]
        if counts[kind] <= limit:
            yield file


def _warning(track: Track, gone: Sequence[str], recorded: int, present: int) -> str | None:
    if not gone or (present and (len(gone) < FEW_MISSING or len(gone) * MISSING_SHARE <= recorded)):
        return None
    return (
        f"{track.submissions_path}: {len(gone):,} of {counted(recorded, 'submission')} are missing, such as "
        f"{quoted(gone[0])}; none of them is withdrawn; restore them, or confirm with --confirm-withdrawals"
    )


def _beyond_limit(
    listing: Listing, limits: Limits, recorded: Collection[str]
) -> tuple[Collection[str], list[str], tuple[str, ...]]:
    """The files beyond `files_per_team`, recorded ones last; some of them; and a message for each team."""
    counts: Counter[str] = Counter()
    for part in listing.parts.values():
        counts.update(part.teams)
    beyond = {team for team, count in counts.items() if count > limits.files_per_team}
    by_team: dict[str, list[SubmissionFile]] = {team: [] for team in counts if team in beyond}
    for file in listing.files.values() if beyond else ():
        if file.team in beyond:
            by_team[file.team].append(file)
    left_out: set[str] = set()
    some, messages = [], []
    for team, files in by_team.items():
        files.sort(key=lambda file: (file.file not in recorded, file.received, file.file))
        others = [file.file for file in files[limits.files_per_team :]]
        left_out.update(others)
        some += others[: limits.files_per_team]
        messages.append(
            f"{printable_name(files[0].file.partition('/')[0])}/{printable_name(team)}: {len(files):,} files; "
            f"{len(files) - limits.files_per_team:,} of them are left out; the limit is {limits.files_per_team:,} "
            "(limits.files_per_team)"
        )
    return left_out, some, tuple(messages)


@dataclass(frozen=True, eq=False)
class Before:
    """What the database has of a track before a scan of its folder."""

    now: datetime
    count: int
    """The number of events."""
    by_files: RuleSet
    """The rules of challenge.toml."""
    rules: RuleSet
    """The rules in force."""
    phases: Phases
    entries: Entries
    """Without scores."""
    known: Set[str]
    """The digests of submissions with a result by the rules."""
    queries: StoredQueries | None
    """Of the solution, if the board is based on the rules already, and the solution is stored."""
    has_other_limits: bool
    """Whether results exceeded a limit that has another value now."""
    scanned_files: Mapping[str, ScannedFile]
    last_scan: FolderScan | None

    @cached_property
    def staying_files(self) -> Set[str]:
        """The files whose present submissions all stay as they are recorded."""
        states = (state for state in self.entries.stored if state.present)
        leaving = {state.submission.file for state in states if not self.stays(state.submission)}
        return self.entries.present_files.keys() - leaving

    def stays(self, submission: Submission) -> bool:
        """Whether a submission stays present or withdrawn, regardless of its file, because its phase has closed."""
        return stays(submission, self.phases, self.rules.track, self.now)


def before_scan(store: Store, track: Track, limits: Limits, last: Scan | None = None) -> Before:
    """What the database has of a track, once its phases are announced, without results that exceeded a limit which has
    another value now.

    All results are read, so that a damaged database is reported before anything else is written to it. The status of
    files is that of the `last` scan of this process.
    """

    def read(view: Snapshot) -> Before | None:
        by_files = RuleSet.of(view, track, store)
        if announcement(view, track):
            return None
        rules = by_files.in_force(view)
        basis = rules.basis
        recorded = view.recorded_basis(track.name)
        is_same = recorded is not None and (recorded.basis, recorded.settings) == (basis, rules.settings)
        return Before(
            now=store.now(),
            count=len(view.all_events),
            by_files=by_files,
            rules=rules,
            phases=Now.of(view, track).phases,
            entries=rules.entries(view),
            known=view.known_digests(basis),
            queries=view.queries(basis.solution) if is_same and rules.is_stored(view) else None,
            has_other_limits=bool(view.outdated_rejections(basis, limits)),
            scanned_files=last.statuses if last else view.scanned_files(track.name),
            last_scan=view.last_scan(track.name),
        )

    while (before := store.read(read)) is None or before.has_other_limits:
        if before is None:
            store.record(partial(announcement, track=track))
        else:
            store.void_rejections(before.rules.basis, limits)
    return before


def record(store: Store, before: Before, scanned: Scan, limits: Limits) -> None:
    """Record what a scan of the folder of a track found."""
    rules = before.rules
    name = rules.track.name
    is_same = scanned.digests == before.entries.present_files
    import_submissions(
        store,
        name,
        [submission for _, submission in scanned.submissions],
        rechecking(rules.track, limits),
        allowed=lambda kind, state: (
            (kind == "return" or scanned.warning is None) and not before.stays(state.submission)
        ),
        new_scan=NewScan(before.now, scanned.unread, before.last_scan),
        metadata=partial(_metadata, rules.track, before, scanned),
        naming=rules.track.naming,
        same_at=before.count if is_same else None,
    )
    store.store_scanned_files(name, before.scanned_files, scanned.statuses)


def _metadata(
    track: Track, before: Before, scanned: Scan, states: Mapping[Key, SubmissionState], arrived: Collection[Key]
) -> Added:
    """The events that record what was found stated, of new submissions and of those that may change."""
    added: list[tuple[str, EventKind, Mapping[str, object]]] = []
    for submission in (each for _, each in scanned.submissions if each.file in scanned.metadata):
        key, values = key_of(submission), scanned.metadata[submission.file]
        state = states.get(key)
        is_open = state is not None and state.present and not before.stays(submission)
        if key in arrived or (state is not None and is_open and state.metadata.values != values):
            added.append((track.name, "metadata", body(track.metadata, key, values, FOLDER)))
    return added


def import_submissions(
    store: Store,
    track: str,
    scanned: Sequence[Submission],
    recheck: Recheck | None = None,
    allowed: Callable[[EventKind, SubmissionState], bool] = lambda _kind, _state: True,
    new_scan: NewScan | None = None,
    metadata: Callable[[Mapping[Key, SubmissionState], Collection[Key]], Added] = lambda _states, _arrived: [],
    naming: Mapping[str, str] = MappingProxyType({}),
    *,
    same_at: int | None = None,
) -> None:
    """Record which submissions of a track have arrived, are withdrawn, or have returned.

    A scan may be older than what another process recorded in the meantime. So `recheck` reads each file again on which
    the scan and the record differ, while no other process can write, and only what is so now is recorded; without it,
    the scan is taken to be the latest. Submissions from another source than the folder are left as they are. `allowed`
    says whether a recorded submission may be withdrawn, or return, given the kind of the event. `new_scan` is stored in
    the same transaction. Arrivals have the keys `naming`. `same_at` is the number of events after which the record had
    what was scanned.
    """

    def changed(view: Snapshot) -> tuple[Added, FolderScan | None]:
        last = view.last_scan(track)
        stored = new_scan.stored_after(last) if new_scan else None
        states = recorded(view, track)

        def with_scan(body: Mapping[str, Any]) -> Mapping[str, Any]:
            return {**(new_scan.completed(last, body) if new_scan else body), **naming}

        changes = [] if same_at == len(view.all_events) else import_changes(states, scanned, recheck)
        added = [
            (track, kind, with_scan(body) if kind == "arrival" else body)
            for kind, body in changes
            if kind == "arrival"
            or (state := states.get((body["file"], body["digest"]))) is None
            or allowed(kind, state)
        ]
        arrived = {(event["file"], event["digest"]) for _, kind, event in added if kind == "arrival"}
        return [*added, *metadata(states, arrived)], stored

    store.record_scan(track, changed)


def rechecking(track: Track, limits: Limits) -> Recheck:
    """A function that reads files again on which a scan and the record differ; see `import_submissions`."""

    def recheck(files: set[str]) -> dict[str, str | None]:
        again = submission_files(track)
        digests: dict[str, str | None] = {}
        for file in files:
            try:
                if (present := again.files.get(file)) is not None:
                    digests[file] = safe_digest(present.path, limits)
                elif again.is_missing(file):
                    digests[file] = None
            except FileNotFoundError:
                digests[file] = None
            except OSError:
                continue  # what cannot be read is not withdrawn
        return digests

    return recheck


@dataclass(slots=True)
class Arrivals:
    """Scores what teams hand in, without a look into the folder: the next run does all else."""

    store: Store
    followed: Followed
    executor: Executor | None
    _solutions: dict[tuple[str | None, ...], Solution] = field(default_factory=dict)
    """By track, and the digests of both solutions and of the candidate items."""

    def scored(
        self, challenge: Challenge, track: Track, teams: Collection[str], go_on: GoOn
    ) -> Iterator[tuple[Submission, FileOutcome]]:
        """Score the entries of some teams that were handed in and have no outcome; as `carry_out`.

        Only by rules by which the track was scored before: otherwise nothing is scored.
        """

        def unscored(view: Snapshot, rules: RuleSet) -> list[SubmissionState]:
            self.followed.follow(view)
            by_index: dict[int, SubmissionState] = {}
            for team in teams:
                now = self.followed.now(view, rules.track, team).by(rules.track, rules.basis)
                by_index |= {state.index: state for state in entries(now).unscored if state.source == SERVICE}
            return [by_index[index] for index in sorted(by_index)]

        def read(view: Snapshot) -> tuple[RuleSet, list[SubmissionState]]:
            rules = RuleSet.of(view, track, self.store).in_force(view)
            return rules, unscored(view, rules) if rules.is_stored(view) else []

        rules, first = self.store.read(read)
        if not first:
            return
        files = tuple(
            (SubmissionFile(final_path(track, each.file), each.file, each.team, each.received, None), each)
            for each in (state.submission for state in first)
        )
        kept = self.store.kept_submissions(challenge.root)
        sources = Sources(files, kept, challenge.keep_submissions, challenge.limits)
        solution = self._solution(rules)
        others = partial(unscored, rules=rules)
        yield from score_queue(self.store, rules, others, first, sources, solution, self.executor, go_on)

    def _solution(self, rules: RuleSet) -> Solution:
        key = rules.track.name, *(rules.digests.get(name) for name in ("solution", "checked", "items"))
        if key not in self._solutions:
            self._solutions = {other: kept for other, kept in self._solutions.items() if other[0] != key[0]}
            self._solutions[key] = rules.read_solution()
        return self._solutions[key]
