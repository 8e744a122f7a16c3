"""The checks of a challenge's database and of its files, and the state of its tracks and entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from scorer.board.site.folder import SITE_MANIFEST
from scorer.errors import ScorerError
from scorer.files import digest
from scorer.live.entries import entries
from scorer.live.entry import SERVICE, STATE_WORDS, UNRANKED, State, stays
from scorer.live.now import Now, with_naming
from scorer.live.phases import recorded_key
from scorer.live.rules import changes_in_words
from scorer.organising.files import safe_digest, submission_files
from scorer.organising.restore import published_problem
from scorer.organising.rules import RuleSet
from scorer.record.events import bodies
from scorer.rules.phases import closing
from scorer.settings.tracks import Challenge, Track, split_of
from scorer.store.events import RecordedBasis
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import derived_problems, file_problems, record_problems, repair
from scorer.wording import counted, printable_name, utc_moment


@dataclass(frozen=True, slots=True)
class Check:
    """One check and the problems that it found."""

    name: str
    problems: tuple[str, ...]
    """What was found and what to do, a sentence each."""


def examine(challenge: Challenge, store: Store) -> Iterator[Check]:
    """Check the database of a challenge: each check as soon as it is done."""
    yield _check(f"schema: version {SCHEMA_VERSION}", ())
    yield _check("integrity: the file of the database is whole", file_problems(store.database))
    yield _check("record: the events are complete and as they were recorded", record_problems(store))
    yield _check("site: the record has the events that are published", _site_problems(challenge, store))
    yield _check("results: what was derived is as it was stored", derived_problems(store))
    yield _check("solutions: the bytes of every basis are stored", _solution_problems(challenge, store))
    yield _check("submissions: the kept bytes are as they were scored", _kept_problems(challenge, store))
    for track in challenge.tracks:
        if track.split is not None:
            yield _check(f"{track.name}: the key of the split is the recorded one", _key_problems(store, track))
        yield _check(
            f"{track.name}: the recorded files are present and unchanged", _file_problems(challenge, store, track)
        )


def repair_store(store: Store) -> list[str]:
    """Delete what is damaged and can be derived again, after a backup; return what was done, a line each."""
    backup, deleted = repair(store)
    lines = [] if backup is None else [f"wrote the backup {backup}"]
    lines += [f"deleted {counted(count, 'row')} of the table {name}" for name, count in sorted(deleted.items())]
    return lines if deleted else [*lines, "found no damaged row that can be derived again"]


def _check(name: str, problems: Iterable[str]) -> Check:
    """The check with its problems; an error that it raises is one."""
    try:
        return Check(name, tuple(problems))
    except ScorerError as error:
        return Check(name, (str(error),))


def _site_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    if problem := published_problem(challenge, store):
        yield problem


def _solution_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    archive = store.archive(challenge.root)
    wanted = {basis.solution: event for event, basis in bodies(store.read(lambda view: view.events()), RecordedBasis)}
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
    listing = submission_files(store.read(lambda view: with_naming(view, track)))
    kept = store.kept_submissions(challenge.root)
    states, plan = store.read(lambda view: (Now.of(view, track).submissions.values(), Now.of(view, track).phases))
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
    """A few lines on the state of a challenge."""
    lines = [f"challenge: {challenge.name}", f"database: {store.where}", f"site: {_last_render(challenge)}"]
    return lines + store.read(
        lambda view: [line for each in challenge.tracks for line in _track_lines(view, each, store)]
    )


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


def _track_lines(view: Snapshot, track: Track, store: Store) -> Iterator[str]:
    now = Now.of(view, track)
    present = [entry for entry in entries(now).all if entry.presence == "present"]
    states = Counter(entry.state for entry in present)
    folder = submission_files(with_naming(view, track))
    recorded = {file.file for state in now.submissions.values() if state.present and (file := folder.recorded(state))}
    new = len(folder.files) - len(recorded)
    teams = len({entry.team for entry in present})
    listed_states = [*ALWAYS_SHOWN, *(state for state in UNRANKED if states[state])]
    parts = ", ".join(number_in_state(states, state) for state in listed_states)
    yield (
        f"{track.name}: {counted(len(present), 'entry', 'entries')} of {counted(teams, 'team')}: {parts}; "
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
        yield f"{track.name}: erratum {erratum.number} is open; `scorer erratum apply` or `cancel` ends it"
    with suppress(ScorerError):  # a run says why files cannot be read
        rules = RuleSet.of(track, store)
        changed = rules.recorded if erratum is None else erratum.basis
        yield from (f"{track.name}: {each}" for each in changes_in_words(rules.in_force(view).recorded, changed))
