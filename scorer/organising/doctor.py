"""The checks of a challenge's database and of its files, the state of its tracks and entries, and a backup of the
database that was copied back: the log of the site shows that, and the record goes on after the lost events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from scorer.board.site.folder import SITE_MANIFEST
from scorer.errors import ChallengeError, ScorerError, os_errors_as
from scorer.files import digest
from scorer.files.writing import replace_content
from scorer.live.commitment import commitments
from scorer.live.entries import entries
from scorer.live.entry import SERVICE, STATE_WORDS, UNRANKED, State, SubmissionState, stays
from scorer.live.now import Now
from scorer.live.phases import is_revealed, recorded_key
from scorer.live.rules import changes_in_words, is_committed
from scorer.organising.files import safe_digest, submission_files
from scorer.organising.rules import RuleSet
from scorer.record.events import bodies, log_lines
from scorer.record.log import LOG, LogLine
from scorer.rules.phases import Phases, closing
from scorer.settings.tracks import Challenge, Track, split_of
from scorer.store.events import BasisBody
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import derived_problems, file_problems, record_problems, repair
from scorer.verification.log import break_of, disorder, events_between, gap, read_log
from scorer.wording import counted, iso_time, printable_name, utc_moment


def examine(challenge: Challenge, store: Store) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Check the database of a challenge. Yields the name of each check as soon as it is done, and the problems that it
    found: what was found and what to do, a sentence each. An error that a check raises is one.
    """
    checks: list[tuple[str, Iterable[str]]] = [
        (f"schema: version {SCHEMA_VERSION}", ()),
        ("integrity: the file of the database is whole", file_problems(store.database)),
        ("record: the events are complete and as they were recorded", record_problems(store)),
        ("site: the record has the events that are published", _published_problems(challenge, store)),
        ("results: what was derived is as it was stored", derived_problems(store)),
        ("solutions: the bytes of every basis are stored", _solution_problems(challenge, store)),
        ("submissions: the kept bytes are as they were scored", _kept_problems(challenge, store)),
    ]
    for track in challenge.tracks:
        if track.split is not None:
            checks.append((f"{track.name}: the key of the split is the recorded one", _key_problems(store, track)))
        problems = _file_problems(challenge, store, track)
        checks.append((f"{track.name}: the recorded files are present and unchanged", problems))
    for name, found in checks:
        try:
            yield name, tuple(found)
        except ScorerError as error:
            yield name, (str(error),)


def repair_store(store: Store) -> list[str]:
    """Delete what is damaged and can be derived again, after a backup; return what was done, a line each."""
    backup, deleted = repair(store)
    lines = [] if backup is None else [f"wrote the backup {backup}"]
    lines += [f"deleted {counted(count, 'row')} of the table {name}" for name, count in sorted(deleted.items())]
    return lines if deleted else [*lines, "found no damaged row that can be derived again"]


def _solution_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    archive = store.archive(challenge.root)
    bases = bodies(store.read(lambda view: view.events()), BasisBody)
    wanted = {digest: event for event, basis in bases for digest in (basis.solution, basis.checked) if digest}
    for solution, event in sorted(wanted.items()):
        path = archive.path(solution)
        try:
            actual = digest(path)
        except OSError as error:
            if event.at is None:
                continue  # schema 1 did not store the bytes
            yield (
                f"{path}: {error.strerror}; copy the solution with this SHA-256 there from a backup, or the track "
                f"{event.track} cannot be scored by it again"
            )
            continue
        if actual != solution:
            yield f"{path}: has the SHA-256 {actual[:12]}...; replace it by the solution with the SHA-256 {solution}"


def _kept_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    kept = store.kept_submissions(challenge.root)
    for name in kept.digests():
        try:
            is_damaged = digest(kept.file(name)) != name
        except OSError:
            is_damaged = True
        if is_damaged:
            yield f"{kept.path(name)}: is damaged; delete it: `scorer run` keeps the bytes again if their file is there"


def _key_problems(store: Store, track: Track) -> Iterator[str]:
    split = split_of(track)
    recorded = store.read(lambda view: recorded_key(view, track.name))
    if split is not None and recorded not in (None, split.key_sha256):
        yield f"{track.key_path}: the board is based on another key; restore the key with the SHA-256 {recorded}"


def _file_problems(challenge: Challenge, store: Store, track: Track) -> Iterator[str]:
    def read(view: Snapshot) -> tuple[Track, Iterable[SubmissionState], Phases]:
        now = Now.of(view, track)
        return now.declared, now.submissions.values(), now.phases

    declared, states, plan = store.read(read)
    listing, kept = submission_files(declared), store.kept_submissions(challenge.root)
    for state in states:
        if not state.present:
            continue
        submission, name = state.submission, printable_name(state.submission.file)
        still_counts = stays(submission, plan, track, store.now())
        if still_counts and submission.digest in kept:
            continue
        file = listing.recorded(state)
        if file is None and not listing.is_missing(submission.file):
            yield f"{name}: cannot be read as a submission any more; `scorer run` says why"
            continue
        handed_in = state.source == SERVICE
        restore = "`scorer run` restores it" if submission.digest in kept else "restore it from a backup"
        if file is None:
            remedy = "it still counts, but errata need it" if still_counts else "or `scorer run` records its withdrawal"
            found = f"handed in and missing; {restore}" if handed_in else f"recorded and missing; restore it, {remedy}"
            yield f"{name}: is {found}"
            continue
        try:
            changed = safe_digest(file.path, challenge.limits) != submission.digest
        except OSError as error:
            yield f"{name}: cannot be read ({error.strerror}); make it readable"
            continue
        if changed and handed_in:
            yield f"{name}: has other bytes than the file that was handed in, and is skipped; delete it, and {restore}"
        elif changed:
            yield f"{name}: has changed since it was recorded; `scorer run` scores the new content"


ALWAYS_SHOWN: tuple[State, ...] = ("scored", "rejected", "failed", "waiting")


def status(challenge: Challenge, store: Store) -> list[str]:
    """A few lines on the state of a challenge; then the commands that make sense now, each with its reason."""
    lines = [f"challenge: {challenge.name}", f"database: {store.where}", f"site: {_last_render(challenge)}"]
    exported = _last_export(challenge, store)

    def read(view: Snapshot) -> list[str]:
        of_tracks: list[str] = []
        advised: list[str] = []
        for track in challenge.tracks:
            now = Now.of(view, track)
            present = [entry for entry in entries(now).all if entry.presence == "present"]
            states, new = Counter(entry.state for entry in present), _new_files(now)
            of_tracks += _track_lines(now, track, store, states, len({entry.team for entry in present}), new)
            advised += _advice(now, track.name, states, new)
        advised += (*_to_publish(view, challenge), *_backup(view, exported))
        return [*of_tracks, *(f"next: {line}" for line in advised)]

    return lines + store.read(read)


SOON = timedelta(days=1)
"""Before its close, `status` names a phase."""

OLD = timedelta(days=7)
"""After it, a bundle is old."""

_EXPORTED = ".exported"
"""Ends the name of the file, next to the database, with the time of the last bundle."""


def note_export(challenge: Challenge, store: Store) -> None:
    """Keep the time at which a bundle was written."""
    with suppress(OSError):
        replace_content(store.beside(challenge.root, _EXPORTED), iso_time(store.now()).encode(), is_private=True)


def _last_export(challenge: Challenge, store: Store) -> datetime | None:
    with suppress(OSError, ValueError):
        return datetime.fromisoformat(store.beside(challenge.root, _EXPORTED).read_text("ascii"))
    return None


def _backup(view: Snapshot, exported: datetime | None) -> Iterator[str]:
    times = [event.at for event in view.all_events if event.at is not None]
    since = exported or (times[0] if times else None)
    if since is not None and view.now - since > OLD and times[-1] > since:
        when = f"of {utc_moment(since)}" if exported else "missing"
        yield f"`scorer export FILE --solutions --files`: the last bundle is {when}, and events have followed"


def _new_files(now: Now) -> int:
    """How many files of the folder are not recorded."""
    folder = submission_files(now.declared)
    recorded = {file.file for state in now.submissions.values() if state.present and (file := folder.recorded(state))}
    return len(folder.files) - len(recorded)


def _advice(now: Now, name: str, states: Mapping[State, int], new: int) -> Iterator[str]:
    """The commands that make sense now for a track."""
    view, phase = now.view, now.phases.current(now.view.now)
    if (erratum := now.errata.open) is not None:
        yield f"`scorer erratum apply --track {name} --reason TEXT`, or `cancel`: erratum {erratum.number} is open"
    last_run = view.last_run(name)
    closed = [phase.name for phase in now.phases.closed(view.now) if last_run is None or phase.closes > last_run]
    if waiting := states["waiting"] + new:
        yield f"`scorer run`: {counted(waiting, 'entry', 'entries')} of {name} without an outcome"
    elif closed:
        yield f"`scorer run`: the phase {closed[-1]} of {name} has closed since the last run"
    if states["failed"]:
        yield f"`scorer retry`: {counted(states['failed'], 'entry', 'entries')} of {name} could not be scored"
    if phase is not None and phase.closes - view.now <= SOON:
        at = utc_moment(phase.closes)
        extend = f"`scorer phases extend {phase.name} --track {name} --end TIME --reason TEXT`"
        yield f"`scorer run` after {at}, or {extend} before: the phase {phase.name} of {name} closes then"


def _to_publish(view: Snapshot, challenge: Challenge) -> Iterator[str]:
    """When the challenge can be committed to, and what can be revealed."""
    plans = {track.name: Now.of(view, track).phases for track in challenge.tracks}
    last = commitments(view.events())[-1:]
    has_new = not all(is_committed(view.events(), name) for name in plans)
    if has_new and all(plan.all and not plan.has_started(view.now) for plan in plans.values()):
        yield "`scorer commit`: the challenge can be committed to until its first phase starts"
    if last and not last[0].is_revealed and all(plan.is_over(view.now) for plan in plans.values()):
        yield "`scorer reveal`: the last phase has closed, and the commitment is not revealed"
        return  # it reveals the keys, too
    for track in challenge.tracks:
        split = split_of(Now.of(view, track).rules)
        if split is not None and plans[track.name].is_over(view.now) and not is_revealed(view, split):
            yield f"`scorer reveal --track {track.name}`: its last phase has closed, and its key is not revealed"


def _last_render(challenge: Challenge) -> str:
    try:
        changed = (challenge.site_path / SITE_MANIFEST).stat().st_mtime
    except OSError:
        return "not rendered yet; `scorer run` renders it"
    return f"rendered {utc_moment(datetime.fromtimestamp(changed, UTC))}, {challenge.site_path / 'index.html'}"


def number_in_state(states: Mapping[State, int], state: State) -> str:
    """How many entries are in a state: ``2 over the quota``."""
    words = STATE_WORDS[state]
    return f"{states[state]:,} {words.of_organiser or words.label}"


def _track_lines(now: Now, track: Track, store: Store, states: Counter[State], teams: int, new: int) -> Iterator[str]:
    view = now.view
    listed_states = [*ALWAYS_SHOWN, *(state for state in UNRANKED if states[state])]
    parts = ", ".join(number_in_state(states, state) for state in listed_states)
    yield (
        f"{track.name}: {counted(states.total(), 'entry', 'entries')} of {counted(teams, 'team')}: {parts}; "
        f"{counted(new, 'new file')} in the folder"
    )
    last_run = view.last_run(track.name)
    stage = f"stage {now.track.stage or 'not set'}"
    phase = now.phases.current(view.now)
    if phase is not None:
        stage = f"phase {phase.name} until {closing(phase, utc_moment)}"
    elif now.phases.all:
        following = now.phases.upcoming(view.now)
        stage = f"phase {following.name} from {utc_moment(following.start)}" if following else "all phases are over"
    yield f"{track.name}: last run {utc_moment(last_run) if last_run else 'never'}; {stage}"
    erratum = now.errata.open
    if erratum is not None:
        yield f"{track.name}: erratum {erratum.number} is open"
    with suppress(ScorerError):  # a run says why files cannot be read
        rules = RuleSet.of(view, track, store)
        changed = rules.recorded if erratum is None else erratum.basis
        yield from (f"{track.name}: {each}" for each in changes_in_words(rules.in_force(view).recorded, changed))


# A backup that was copied back


def check_published(challenge: Challenge, store: Store) -> None:
    """Raise ChallengeError if the site has published events that the record does not have.

    Until `restore`, nothing may be recorded, rendered or signed: the indexes of these events would be used twice.
    """
    store.read(published_check(challenge))


def published_check(challenge: Challenge) -> Callable[[Snapshot], None]:
    """What `check_published` does with a later snapshot. The log is read now: the record may go on meanwhile."""
    path = challenge.site_path / LOG
    lines = _published(path)

    def check(view: Snapshot) -> None:
        if problem := _problem(view, path, lines):
            raise ChallengeError(problem)

    return check


def _published_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    check_published(challenge, store)
    yield from ()


def restore(challenge: Challenge, store: Store, copy: Path | None, *, unpublished: bool) -> list[str]:
    """Record which published events are lost, and begin the next epoch; return what that means, a line each.

    The published log is that of the site, or a longer `copy` of it. If the record has all of its events, nothing is
    recorded, unless `unpublished` says that receipts of other events may have been signed. Raises ChallengeError.
    """
    lines = _longest(challenge.site_path / LOG, copy)
    if not lines and not unpublished:
        raise ChallengeError(f"{challenge.site_path / LOG}: is not there; name a copy of the published log with --log")
    lost: list[LogLine] = []
    start = 0

    def decide(view: Snapshot) -> Sequence[LogLine] | None:
        nonlocal start
        start = len(view.all_events)
        first = _first_lacking(view, lines)
        if first == 1 or 0 < first <= start:
            raise ChallengeError(_problem(view, copy or challenge.site_path / LOG, lines))
        lost[:] = lines[start:]
        return lost if lost or unpublished else None

    index = store.record_restored(decide)
    if not index:
        hint = "; if receipts of later events were signed, `scorer restore --unpublished` begins a new epoch"
        return [f"nothing to restore: the record has the {counted(len(lines), 'event')} of the log{hint}"]
    last = store.read(lambda view: [*log_lines(view.secret("log"), view.all_events)][index - 1])
    said = (
        f"event {index} begins epoch {last.epoch}; receipts of epoch {last.epoch - 1} for events after {start} are void"
    )
    if not lost:
        return [said, "`scorer run` goes on; let the teams hand in again what is not in the folder of submissions"]
    receipts = ", ".join(f"{line.epoch}.{line.index}" for line in lost if line.kind == "arrival")
    return [
        f"{events_between(lost[0].index, lost[-1].index)} lost; {said}",
        f"void receipts, by epoch and index: {receipts or 'none'}",
        "the next `scorer run` records the files of lost entries that are in the folder of submissions as new "
        "arrivals; let the teams hand in the others again, and decide again what was decided since the backup",
    ]


def _longest(path: Path, copy: Path | None) -> Sequence[LogLine]:
    """The lines of the log of the site or of a copy, whichever is longer. Raises ChallengeError if they differ."""
    logs = sorted((_published(each) for each in (path, copy) if each is not None), key=len)
    if copy is not None and not copy.exists():
        raise ChallengeError(f"{copy}: is not there; name a copy of the published log")
    if any(log != logs[-1][: len(log)] for log in logs):
        raise ChallengeError(f"{copy}: is not the log of the site {path}; name a copy of the same log")
    if wrong := gap(logs[-1]) or disorder(logs[-1]) or break_of(logs[-1]):
        raise ChallengeError(f"{copy or path}: {wrong}; name another copy with --log")
    return logs[-1]


def _published(path: Path) -> Sequence[LogLine]:
    """The lines of a log; none if the file is not there. Raises ScorerError if it is no log."""
    with os_errors_as(ChallengeError, f"{path}: cannot be read"):
        if not path.exists():
            return ()
        status = path.stat()
    return _read(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _read(path: Path, *_status: int) -> Sequence[LogLine]:
    """The lines of a log, read once for each status of the file."""
    return tuple(read_log(path))


def _first_lacking(view: Snapshot, lines: Sequence[LogLine]) -> int:
    """The index of the first published event that the record lacks; 0 if it has all."""
    events, key = view.all_events, view.secret("log")
    last = events[len(lines) - 1 : len(lines)]
    if not lines or [line.leaf for line in log_lines(key, last)] == [lines[-1].leaf]:
        return 0  # the leaf has the nonce, so no other record has this event
    pairs = zip_longest(log_lines(key, events), lines)
    return next((theirs.index for mine, theirs in pairs if theirs is not None and mine != theirs), 0)


def _problem(view: Snapshot, path: Path, lines: Sequence[LogLine]) -> str:
    """What is wrong if the site has published events that the record lacks, and what to do; empty if it has all."""
    first, count = _first_lacking(view, lines), len(view.all_events)
    if first == 1:
        return (
            f"{path}: is the log of another challenge or of another database: its first event is not that of the "
            "record; use the database of this site, or move the folder of the site away"
        )
    if first > count:
        return (
            f"{path}: the site has published {counted(len(lines), 'event')}, the record has {count:,}: a backup was "
            "restored; `scorer restore` lets the record go on, and until then nothing is recorded, rendered or signed"
        )
    if first:
        return (
            f"{path}: event {first} of the site is another one than in the record, which has "
            f"{counted(count, 'event')}: a backup was restored, and other events were recorded after it; restore the "
            "backup again, and run `scorer restore` before anything else"
        )
    return ""
