"""The main job: import what arrived, score what has no result yet, and render the site if its pages have changed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scorer.board.site.folder import manifest_of
from scorer.files import AnyFile, code_status, digest
from scorer.files.writing import remove_abandoned_folders, replace_content
from scorer.limits import Limits
from scorer.lists import Counts
from scorer.live.entries import Entries
from scorer.live.entry import SubmissionState, is_baseline, key_of, present_digests
from scorer.live.errata import Erratum
from scorer.live.now import Now
from scorer.organising.files import WithFile, put_in_place, submission_files
from scorer.organising.phases import check_preliminary
from scorer.organising.rules import RuleSet
from scorer.organising.scan import Before, Scan, about_names, before_scan, record, scan
from scorer.organising.watch import Sources, is_fresh, score_queue
from scorer.rules.split import exposure
from scorer.scoring.analysis.kept import Kept
from scorer.scoring.executors import GoOn, always
from scorer.settings.loading import TEAMS_FILE as TEAMS
from scorer.settings.tracks import FILE, PAGES, SOLUTION_KEYS, STATIC, Challenge, Track
from scorer.store.events import Failure, Submission, new_basis
from scorer.store.sidecar import SIMILAR, Sidecar
from scorer.store.snapshot import Means, Snapshot
from scorer.store.store import Added, Store
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.measures.matched import Floats, Ints
    from scorer.runs import Run
    from scorer.runs.similar import Alike
    from scorer.scoring.executors.base import Executor, FileOutcome


TEMPLATES = "templates"

SHOWN = ".shown"
"""Ends the name of the file that has the state which the site shows; it begins with that of the database."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A site that shows the present state."""

    index: Path
    """Its first page."""
    notes: tuple[str, ...]
    """What the organiser should know about it."""


def note_shown(challenge: Challenge, store: Store, state: str, pages: Mapping[str, object]) -> None:
    """Keep that the site shows this state, next to the database: the site itself must not tell when it changes.

    `pages` are those of `KeptPages`.
    """
    shown = {"state": state, "manifest": manifest_of(challenge.site_path), "pages": pages}
    with suppress(OSError):  # then the next run renders it again
        replace_content(store.beside(challenge.root, SHOWN), json.dumps(shown).encode("ascii"), is_private=True)


def site_state(view: Snapshot, challenge: Challenge, *, pending: bool) -> str:
    """A name for everything that the pages depend on: two renders with the same name write the same files.

    That is the record, the files of the organiser, this package, and where the challenge is in its phases and in the
    days of its quotas: pages do not show the time of the render. `pending` is as for `boards`.
    """
    last = view.all_events[-1:]  # a database that was restored may have the revision of another state
    recorded = [view.identity, view.revision, *((event.index, str(event.at), event.text) for event in last)]
    files = {str(path): _digest(path) for path in _files_of_pages(challenge)}
    moments = {track.name: _moment(view, track) for track in challenge.tracks}
    parts = [code_status(), recorded, pending, str(challenge.site_path), files, moments]
    return hashlib.sha256(json.dumps(parts, default=str).encode("ascii")).hexdigest()


def _files_of_pages(challenge: Challenge) -> Iterator[AnyFile]:
    yield challenge.root / FILE
    yield from (challenge.root / place for place in files_of_site(challenge.root))
    for track in challenge.tracks:
        files = (path for key, path in track.files.items() if key not in SOLUTION_KEYS)
        yield from filter(None, (*files, track.key_path))


def _digest(path: AnyFile) -> str | None:
    """None for a file that cannot be read, such as a key that is missing: a render says so where it needs it."""
    with suppress(OSError):
        return digest(path)
    return None


def files_of_site(root: Path) -> Iterator[str]:
    """The relative paths of files with a fixed place that a render reads, and teams.toml."""
    if (root / TEAMS).is_file():
        yield TEAMS
    for page in (root / PAGES).glob("*.md"):
        if not page.name.startswith(".") and not page.is_symlink():
            yield f"{PAGES}/{page.name}"
    for name, _, files in os.walk(root / TEMPLATES):
        for file in files:
            path = Path(name) / file
            place = path.relative_to(root).as_posix()
            # A render copies no link from this folder into the site.
            if path.is_file() and not (place.startswith(f"{STATIC}/") and path.is_symlink()):
                yield place


def _moment(view: Snapshot, track: Track) -> list[str]:
    """What pages show of the time: the last time of a phase that has passed, and the day of the quota."""
    now = Now.of(view, track)
    quota = now.rules.quota
    day = [quota.day(view.now)] if quota.counts_days else []
    return [*(time.isoformat() for time in now.phases.passed(view.now)[-1:]), *day]


def site_notes(view: Snapshot, challenge: Challenge) -> tuple[str, ...]:
    """What the organiser should know about a site that shows this state."""
    notes = ((_outdated(view, track), track.key_path and exposure(track.key_path)) for track in challenge.tracks)
    return tuple(note for of_track in notes for note in of_track if note)


def _outdated(view: Snapshot, track: Track) -> str:
    """What to do if the solution has changed since the track was scored; empty if it has not."""
    now = Now.of(view, track)
    try:
        if now.are_rules_fixed or now.recorded is None:
            return ""
        recorded = {key: sha256 for key, sha256 in now.recorded.files.items() if key != "items"}
        if {key: digest(path) for key, path in track.solution_paths.items()} == recorded:
            return ""
    except OSError:
        return ""  # a site may be rendered without the solutions
    return (
        f"{track.name}: the solution has changed since the track was scored; the board shows the scores by the earlier "
        "solution; `scorer run` scores by the new one"
    )


@dataclass(frozen=True, eq=False)
class Work:
    """What has to be done for a track."""

    rules: RuleSet
    """What the entries are scored by."""
    scanned: Scan
    """What the folder of the track holds."""
    solution: Solution | None
    """None if nothing needs it, because every submission that may be scored has a result."""
    sources: Sources
    entries: Entries
    """The entries when the work began, without scores."""
    known: int
    """The number of submissions in the folder with a result."""
    kept: frozenset[str]
    """The digests of submissions whose bytes are kept."""
    not_kept: Sequence[str]
    """Which of these cannot be kept, and why."""
    warnings: tuple[str, ...]
    """What is wrong with the folder of submissions, and what to do."""
    notes: tuple[str, ...]
    """What the organiser should know about the rules, and about files of several teams with the same bytes."""

    @cached_property
    def pending(self) -> tuple[WithFile, ...]:
        """Those to score first. Others may follow, once the quota of their team is clear."""
        return self.sources.pending(self.entries.unscored)

    @cached_property
    def failures(self) -> Mapping[str, Failure]:
        """Of the attempts to score submissions before, by digest; without those that have a result."""
        return {state.submission.digest: state.failure for state in self.entries.failed if state.failure is not None}

    @cached_property
    def given_up(self) -> tuple[tuple[Submission, Failure], ...]:
        """Submissions in the folder that have failed `ATTEMPTS` times."""
        given_up = {state.submission.digest for state in self.entries.failed if state.is_given_up}
        files = self.sources.files if given_up else ()
        return tuple((each, self.failures[each.digest]) for _, each in files if each.digest in given_up)


def plan(
    store: Store,
    challenge: Challenge,
    track: Track,
    *,
    limits: Limits | None = None,
    confirm_withdrawals: bool = False,
    verify_files: bool = False,
    last: Work | None = None,
) -> Work:
    """Record which submissions of a track arrived or were withdrawn, and find those to score.

    The stages are: the rules in force, a scan of the folder, the record, the state of the entries, and what to score.
    `carry_out` has the last two: the results, and the basis of the board.

    `limits` replace those of the challenge. Many missing files, or an empty folder, are withdrawals only with
    `confirm_withdrawals`. Files whose status has not changed since they were read are read again with `verify_files`.
    What is as it was in the `last` run of this process is taken from it.
    Raises SolutionError if the solution cannot be used.
    """
    with suppress(OSError):
        remove_abandoned_folders(Path(tempfile.gettempdir()))
    limits = limits or challenge.limits
    last_scan = last.scanned if last is not None and not verify_files else None
    before = before_scan(store, track, limits, last_scan)
    by_files, rules = before.by_files, before.rules
    kept, solutions = store.kept_submissions(challenge.root), {*rules.archive.digests(), rules.digests["solution"]}
    solutions |= {sha256 for key, sha256 in by_files.digests.items() if key in SOLUTION_KEYS}
    delivered = before.entries.delivered_files

    def look(last: Scan | None) -> Scan:
        return scan(
            rules.track,
            limits,
            before.entries.present_files,
            {} if verify_files else before.scanned_files,
            solutions,
            staying=lambda: before.staying_files,
            delivered=delivered,
            confirmed=confirm_withdrawals,
            last=last,
        )

    scanned = look(last_scan)
    lost = delivered.keys() - scanned.listing.files.keys()
    put_in_place(rules.track, {file: delivered[file] for file in lost}, kept)
    if lost:
        scanned = look(scanned)

    sources = Sources(scanned.submissions, kept, challenge.keep_submissions, limits)
    known = tuple(each for each in sources.files if each[1].digest in before.known)
    solution = _checked_solution(before, sources, has_unknown=len(known) < len(sources.files))
    record(store, before, scanned, limits)
    earlier = last if last is not None and last.sources.keeps_more else None
    # Before the record: what another run keeps is recorded first.
    stored = earlier.kept if earlier else frozenset(kept.digests() if sources.keeps_more else ())

    def read(view: Snapshot) -> tuple[Entries, frozenset[str]]:
        """The entries, and what was withdrawn or replaced before its phase closed."""
        entries = rules.entries(view)
        gone = entries.gone & stored if earlier else stored
        return entries, gone - present_digests(view) if gone and sources.keeps_more else frozenset()

    entries, gone = store.read(read)
    if gone or (stored and not earlier):  # the first run of a process also deletes what killed ones have left
        kept.remove(gone)
        stored -= gone
    new = [each for each in known if each[1].digest not in stored]
    not_kept = sources.keep(new)

    doubts = []
    if solution is not None:
        from scorer.lists.match import excluded_note  # noqa: PLC0415 (Arrow is slow to load)

        doubts = [excluded_note(solution), solution.iterations.note(rules.rules.measures)]
    return Work(
        rules=rules,
        scanned=scanned,
        solution=solution,
        sources=sources,
        entries=entries,
        known=len(known),
        kept=stored if not_kept else stored.union(submission.digest for _, submission in new),
        not_kept=not_kept,
        warnings=(*scanned.left_out, *([scanned.warning] if scanned.warning else ()), *not_kept),
        notes=(
            *_notes(rules, by_files, doubts, has_started=before.phases.has_started(before.now)),
            *scanned.same_bytes,
            *about_names(track, rules.track, scanned.parts.values()),
        ),
    )


def _checked_solution(before: Before, sources: Sources, *, has_unknown: bool) -> Solution | None:
    """The solution, if something may be scored or the board is based on other rules; None without work."""
    rules = before.rules
    has_work = bool(sources.pending(before.entries.unscored))
    if has_unknown and not has_work:
        states = before.entries.stored
        unknown = {key_of(submission) for _, submission in sources.files if submission.digest not in before.known}
        recorded = (key_of(state.submission) for state in states if state.present or before.stays(state.submission))
        has_work = bool(unknown.difference(recorded))
    if has_work or before.queries is None:
        return rules.checked_solution()
    check_preliminary(rules.track, rules.basis, before.queries)
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
    if work.solution is None or not counts.few_known or not len(work.solution.items):
        return None
    return f"the items of the solution look like {quoted(work.solution.items[0].as_py())}"


def carry_out(
    store: Store, work: Work, executor: Executor | None = None, go_on: GoOn = always, *, leaves_fresh: bool = False
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score the submissions that have no result, and store the results; the board is based on them afterwards.

    Entries whose admission depends on earlier ones of their team are scored after these. While an erratum is open,
    entries are also scored by its rules. Without an executor, as many processes score as this machine has cores. Once
    `go_on` is false, no further file is begun; the next run scores the others. With `leaves_fresh`, what was just
    handed in is left to the loop of arrivals, unless that lacks the solution.

    Yields each submission with its outcome, once it is stored. Results are stored every `STORE_EVERY` seconds, so that
    a run that is killed loses no more than that.
    """
    rules, sources = work.rules, work.sources
    if work.solution is not None:
        leaves = leaves_fresh and store.read(rules.is_stored)

        def own(states: Iterable[SubmissionState], now: datetime) -> list[SubmissionState]:
            return [state for state in states if not (leaves and is_fresh(state, now))]

        def unscored(view: Snapshot) -> list[SubmissionState]:
            return own(rules.entries(view).unscored, view.now)

        first = own(work.entries.unscored, store.now())
        yield from score_queue(store, rules, unscored, first, sources, work.solution, executor, go_on)
    name, recorded = rules.track.name, rules.recorded.body

    def basis(view: Snapshot) -> Added:
        # If an erratum was applied since the plan was made, the next run goes on by its rules.
        return [] if rules.differences(rules.in_force(view)) else new_basis(name, view.events(name), recorded)

    def read(view: Snapshot) -> tuple[list[tuple[str, Means]], Added, Erratum | None]:
        return rules.missing_means(view), basis(view), Now.of(view, rules.track).errata.open

    lacking, added, erratum = store.read(read)
    store.store_means(lacking, rules.basis, rules.rules.measures)
    if added:
        store.record(basis)
    if erratum is not None:
        new = rules.by(erratum.basis)

        def by_erratum(view: Snapshot) -> Sequence[SubmissionState]:
            return new.entries(view).unscored

        waiting, is_stored = store.read(lambda view: (by_erratum(view), new.is_stored(view)))
        if sources.pending(waiting) or not is_stored:
            # To the last outcome; they are of no board yet.
            list(score_queue(store, new, by_erratum, waiting, sources, new.read_solution(), executor))
        store.store_means(store.read(new.missing_means), new.basis, new.rules.measures)
    store.note_run(name)


def scored_runs(
    challenge: Challenge, store: Store, track: Track
) -> tuple[RuleSet, list[SubmissionState], dict[str, Run]]:
    """The rules of a track in force, its entries in their order, and the runs that it scored and whose bytes are there,
    by their digests.
    """
    from scorer.runs import Run  # noqa: PLC0415 (Arrow is slow to load)

    def read(view: Snapshot) -> tuple[RuleSet, Entries]:
        rules = RuleSet.of(view, track, store).in_force(view)
        return rules, rules.entries(view)

    rules, entries = store.read(read)
    listing = submission_files(track)
    counted = {state.index for state in entries.to_score}
    states = [
        state for state in entries.stored if state.index in counted and state.result is not None and state.is_scored
    ]
    files = tuple((file, state.submission) for state in states if (file := listing.recorded(state)) is not None)
    sources = Sources(files, store.kept_submissions(challenge.root), keeps_more=False, limits=challenge.limits)
    form = rules.track.submission_format
    runs = {each.digest: Run(file.path, file.file, form) for file, each in sources.pending(states)}
    return rules, list(entries.stored), runs


def similar_entries(challenge: Challenge, store: Store, track: Track, most: int) -> list[Alike]:
    """The entries of different teams that are too alike, by all that were scored, also those that are gone.

    Sketches of runs are kept next to the database. Raises ScorerError.
    """
    from scorer.runs.similar import SKETCH_WIDTH, Alike, shared, similar, sketch  # noqa: PLC0415 (as above)

    rules, states, runs = scored_runs(challenge, store, track)
    solution, depth = rules.read_solution(), rules.track.list_length
    merges = store.read(lambda view: Now.of(view, track).merges)
    by_digest: dict[str, dict[str, Submission]] = {}
    for submission in (state.submission for state in states):
        if not is_baseline(submission.team, rules.track):
            by_digest.setdefault(submission.digest, {}).setdefault(merges.final(submission.team), submission)
    copies = [
        Alike(first.file, second.file, "bytes", None, math.nan)
        for teams in by_digest.values()
        for first, second in combinations(teams.values(), 2)
    ]
    digests = [digest for digest in by_digest if digest in runs]
    arrays = Sidecar(store.beside(challenge.root, SIMILAR))
    kept = Kept(arrays, (rules.basis.solution, rules.basis.matching, depth), tuple(digests))

    def computed(rows: Ints) -> Floats:
        return np.array([sketch(solution, runs[digests[row]], depth) for row in rows.tolist()])

    sketches = kept.values("sketch", SKETCH_WIDTH, computed)
    arrays.tidy()
    pairs = similar(sketches, [next(iter(by_digest[digest])) for digest in digests], most)
    of_lists = []
    for pair in pairs:
        one, other = digests[pair.first], digests[pair.second]
        counted = shared(solution, runs[one], runs[other], depth)
        first, second = (next(iter(by_digest[digest].values())) for digest in (one, other))
        of_lists.append(Alike(first.file, second.file, "lists" if pair.same_lists else "", counted, pair.p_value))
    return [*copies, *of_lists]
