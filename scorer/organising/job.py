"""The main job as a command does it: a run of all tracks, with messages; once, or again and again until it is stopped.

To watch a challenge, this process scores what is handed in, and another one runs the tracks and renders the site.
"""

from __future__ import annotations

import glob
import json
import math
import os
import shlex
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.board.site.folder import FRONT_PAGE, shows
from scorer.errors import ChallengeError, ExecutorError, FileError
from scorer.files.writing import is_readable_by_others, replace_content
from scorer.limits import ATTEMPTS, Limits
from scorer.live.entries import Followed
from scorer.live.entry import UNRANKED, Entry, misdated_lines
from scorer.organising.doctor import check_published, number_in_state, published_check
from scorer.organising.files import SkippedFile
from scorer.organising.run import (
    SHOWN,
    Rendered,
    Work,
    carry_out,
    hint,
    plan,
    site_notes,
    site_state,
)
from scorer.organising.scan import Arrivals
from scorer.organising.teams import import_teams
from scorer.organising.watch import LOOK_EVERY, ArrivalLoop, Loop, RunLoop
from scorer.scoring.executors import GoOn, always
from scorer.scoring.outcomes import Failed, Rejected
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge, Track
from scorer.store.database import ReplacedError
from scorer.store.events import Failure, Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import printable, printable_name, quoted

if TYPE_CHECKING:
    from scorer.organising.render import ToRender
    from scorer.scoring.executors.base import Executor, FileOutcome


_SHOWN = 20
"""How many messages of a kind are printed about earlier runs."""

PAUSE_AFTER_END = 1.0
"""Seconds until another process runs the tracks after one that has ended: the next one may end, too."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run scores, and what it prints: the options of the commands."""

    executor: str | None
    time_limit: float | None
    confirm_withdrawals: bool
    verify_files: bool
    strict: bool
    quiet: bool

    def limits(self, challenge: Challenge) -> Limits:
        """The limits of the challenge with the requested time limit."""
        if self.time_limit is None:
            return challenge.limits
        return replace(challenge.limits, seconds=math.ceil(self.time_limit))

    def executor_named(self) -> Executor | None:
        """The executor with the requested name; None for none. Raises ExecutorError if it is unknown."""
        if self.executor is None:
            return None
        from scorer.scoring.executors.base import Processes, Serial  # noqa: PLC0415 (Arrow is slow to load)
        from scorer.scoring.executors.dask import Dask  # noqa: PLC0415

        kind, _, detail = self.executor.partition(":")
        if kind == "serial" and not detail:
            return Serial()
        if kind == "processes" and (not detail or (detail.isascii() and detail.isdigit() and int(detail) > 0)):
            return Processes(int(detail) if detail else os.cpu_count() or 1)
        if kind == "dask" and detail:
            return Dask(detail)
        expected = "serial, processes, processes:N or dask:ADDRESS"
        raise ExecutorError(f"unknown executor {quoted(self.executor)}; expected {expected}")


@dataclass(frozen=True, slots=True)
class Output:
    """Where a run writes what a person reads."""

    message: Callable[..., None]
    """Prints texts."""
    progress: Callable[[Iterable[tuple[Submission, FileOutcome]], int, str], Iterable[tuple[Submission, FileOutcome]]]
    """Shows how many of so many results of a track are there."""


def update(challenge: Challenge, store: Store) -> Rendered:
    """Render the site after a run, unless it shows the present state: then no file is written.

    Raises as `render`.
    """
    try:
        shown = json.loads(store.beside(challenge.root, SHOWN).read_bytes())
        last_state, manifest = str(shown["state"]), str(shown["manifest"])
    except (OSError, ValueError, LookupError, TypeError):
        last_state = manifest = ""

    check = published_check(challenge)

    def read(view: Snapshot) -> Rendered | ToRender:
        state = site_state(view, challenge, pending=True)
        if state == last_state and shows(challenge.site_path, manifest):
            return Rendered(challenge.site_path / FRONT_PAGE, site_notes(view, challenge))
        check(view)
        from scorer.organising.render import to_render  # noqa: PLC0415 (Jinja2 and the pages are slow to load)

        return to_render(view, challenge, store, state, pending=True)

    found = store.read(read)
    if isinstance(found, Rendered):
        return found
    from scorer.organising.render import write_site  # noqa: PLC0415 (as above)

    return write_site(challenge, store, found)


class Messages:
    """The messages of a run. A quiet run prints only those that the last quiet run did not have."""

    def __init__(self, file: Path, output: Output, *, are_quiet: bool, is_partial: bool) -> None:
        self._are_quiet = are_quiet
        self._file = file
        """What the last quiet run found, as a list in JSON."""
        self._output = output
        self._is_partial = is_partial
        self._known: set[str] = set()
        self._current: set[str] = set()

    def __call__(self, *texts: str) -> None:
        """Print messages that need a person, unless they are known."""
        self._output.message(*self.new(texts))

    def new(self, texts: Iterable[str]) -> list[str]:
        """Return the messages to print, of those that need a person."""
        messages = list(texts)
        self._current.update(messages)
        return [text for text in messages if text not in self._known]

    def again(self) -> None:
        """Begin another run: what the last one found is known until that ends."""
        self._known, self._current, self._is_partial = self._current, set(), True

    def __enter__(self) -> Messages:
        """Read the messages of the last quiet run, unless the file is absent or damaged."""
        with suppress(OSError, ValueError, TypeError):
            self._known = set(map(str, json.loads(self._file.read_bytes()))) if self._are_quiet else set()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Keep the messages for the next quiet run; what was not looked at stays known."""
        kept = self._current | self._known if kind is not None or self._is_partial else self._current
        if not self._are_quiet or not (kept or self._file.exists()):
            return
        try:
            replace_content(self._file, json.dumps(sorted(kept), indent=1).encode("ascii"), is_private=True)
        except OSError as error:
            self._output.message(f"{printable(str(self._file))}: cannot be written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class ChallengeRun:
    """A run of a challenge or of one of its tracks."""

    challenge: Challenge
    tracks: Sequence[Track]
    store: Store
    executor: Executor | None
    options: RunOptions
    messages: Messages
    output: Output
    last: dict[str, Work] = field(default_factory=dict)
    """The work of the last run, by track."""

    @classmethod
    @contextmanager
    def opened(
        cls, challenge: Challenge, track: str | None, options: RunOptions, output: Output, *, create: bool = True
    ) -> Iterator[ChallengeRun]:
        """Open the database of a challenge for a run of all tracks or one. Messages are kept at the end."""
        tracks = challenge.tracks if track is None else [challenge.track(track)]
        executor = options.executor_named()
        with Store.open(challenge.database_address, create=create) as store:
            file = store.beside(challenge.root, ".reported")
            with Messages(file, output, are_quiet=options.quiet, is_partial=track is not None) as messages:
                yield cls(challenge, tracks, store, executor, options, messages, output)

    def current(self) -> ChallengeRun:
        """The same run by the present settings, which the organiser may have changed."""
        settings = read_challenge(self.challenge.root)
        names = {track.name for track in self.tracks}
        return replace(self, challenge=settings, tracks=[track for track in settings.tracks if track.name in names])

    def score(self, go_on: GoOn = always, *, leaves_fresh: bool = False) -> bool:
        """Score each track, and report errors in it; return whether there were none. The arguments: see `carry_out`.

        Raises ChallengeError as `check_published`.
        """
        succeeded = True
        check_published(self.challenge, self.store)
        self._import_teams()
        for track in self.tracks:
            try:
                succeeded &= self._score_track(track, go_on, leaves_fresh=leaves_fresh)
            except (ChallengeError, FileError) as error:
                self.messages(str(error), f"{track.name}: not scored; its board is unchanged")
                succeeded = False
        # Again, because teams may have submitted their first files.
        about_teams, are_valid = self._import_teams()
        self.messages(*about_teams, *self._exposed())
        return succeeded and are_valid

    def _exposed(self) -> list[str]:
        """What to do about secrets and grades that any user of this machine can read: one line, or none."""
        file = self.store.database.file
        every = (path for track in self.tracks for path in track.solution_paths.values())
        solutions = [path for path in every if isinstance(path, Path)]
        names = [shlex.quote(str(path)) for path in solutions if is_readable_by_others(path)]
        if file is not None and any(map(is_readable_by_others, file.parent.glob(f"{glob.escape(file.name)}*"))):
            names.append(f"{shlex.quote(str(file))}*")
        command = f"`chmod go-rwx {printable(' '.join(names))}`"
        return [f"other users of this machine can read secrets or grades: run {command}"] if names else []

    def _import_teams(self) -> tuple[Sequence[str], bool]:
        """Record what teams.toml says; return messages about it, and whether it is valid."""
        try:
            return import_teams(self.challenge, self.store), True
        except ChallengeError as error:
            return [f"{error}\nteams: the recorded names and decisions stay"], False

    def _score_track(self, track: Track, go_on: GoOn, *, leaves_fresh: bool) -> bool:
        work = plan(
            self.store,
            self.challenge,
            track,
            limits=self.options.limits(self.challenge),
            confirm_withdrawals=self.options.confirm_withdrawals,
            verify_files=self.options.verify_files,
            last=self.last.get(track.name),
        )
        self.last[track.name] = replace(work, solution=None)
        self.messages(*map(str, (*work.notes, *work.scanned.skipped, *work.warnings)))
        scored, failed = 0, 0
        rejected_now: set[str] = set()
        results: Iterable[tuple[Submission, FileOutcome]] = carry_out(
            self.store, work, self.executor, go_on, leaves_fresh=leaves_fresh
        )
        if not self.options.quiet:
            results = self.output.progress(results, len(work.pending), track.name)
        for submission, result in results:
            name = printable_name(submission.file)
            self.report(submission, result, work.failures.get(submission.digest))
            match result:
                case Failed():
                    failed += 1
                case Rejected():
                    rejected_now.add(name)
                case _:
                    scored += 1
                    if expected := hint(work, result.counts):
                        self.output.message("\n".join(result.notes.lines(name)), f"{name}: {expected}")
        notable = (self.store.read(work.rules.entries) if work.pending else work.entries).notable
        rejected_ever = self._report_earlier(notable, work, rejected_now)
        counts = [f"{scored:,} scored", f"{work.known:,} known", f"{len(rejected_ever):,} rejected"]
        counts += [f"{failed + len(work.given_up):,} failed"] if failed or work.given_up else []
        states = Counter(entry.state for entry in notable)
        counts += [number_in_state(states, state) for state in UNRANKED if states[state]]
        if not self.options.quiet:
            self.output.message(f"{track.name}: {', '.join(counts)}")
        unreadable = any(
            isinstance(skipped, SkippedFile) and not skipped.is_ignored for skipped in work.scanned.skipped
        )
        if self.options.strict and (rejected_ever or work.given_up):
            return False
        return not (failed or unreadable or work.warnings or rejected_now)

    def report(self, submission: Submission, outcome: FileOutcome, before: Failure | None = None) -> None:
        """Print why a submission is rejected, or could not be scored; `before` has its earlier attempts."""
        name = printable_name(submission.file)
        if isinstance(outcome, Failed):
            self.output.message(f"{name}: not scored: {_failure(outcome, before)}")
        elif isinstance(outcome, Rejected):
            self.output.message("\n".join(outcome.problems.lines(name)))

    def _report_earlier(self, entries: Sequence[Entry], work: Work, rejected_now: set[str]) -> set[str]:
        """Print what earlier runs left for the organiser to look at; return all files that are rejected."""
        rejected = {entry.file for entry in entries if entry.outcome == "rejected"}
        if not self.options.quiet:
            self._print_some(
                f"{file}: rejected by an earlier run; the page of its team has the errors"
                for file in sorted(rejected - rejected_now)
            )
        self._print_some(self.messages.new(misdated_lines(entries)))
        for submission, failure in work.given_up:
            given_up = f"{printable_name(submission.file)}: given up after {failure.attempts} attempts"
            self.messages(f"{given_up}: {failure.reason}; `scorer retry` has it tried again")
        return rejected

    def _print_some(self, lines: Iterable[str]) -> None:
        """Print the first lines, and how many more there are."""
        messages = list(lines)
        self.output.message(*messages[:_SHOWN])
        if len(messages) > _SHOWN:
            self.output.message(f"and {len(messages) - _SHOWN:,} more like this; `scorer entries` lists them")

    def score_arrivals(self, arrivals: Arrivals, track: str, teams: Collection[str], go_on: GoOn) -> None:
        """Score what some teams handed in, for `ArrivalLoop`."""
        settings = read_challenge(self.challenge.root)
        if track in {each.name for each in self.tracks}:
            for submission, outcome in arrivals.scored(settings, settings.track(track), teams, go_on):
                self.report(submission, outcome)

    def score_others(self, go_on: GoOn) -> None:
        """Score all tracks, for `RunLoop`; what was handed in just now is left to the loop of arrivals."""
        self.current().score(go_on, leaves_fresh=True)
        self.messages.again()

    def update_site(self) -> None:
        """Render the site if it would change, for `RunLoop`."""
        self.messages(*update(read_challenge(self.challenge.root), self.store).notes)


def _failure(failed: Failed, before: Failure | None) -> str:
    """Why a submission failed, and when it is tried again."""
    attempts = before.attempts if before else 0
    if not failed.is_counted:
        return f"{failed.reason}; the next run tries it again"
    attempt = f"{failed.reason} (attempt {attempts + 1} of {ATTEMPTS})"
    if attempts + 1 < ATTEMPTS:
        return f"{attempt}; the next run tries it again"
    return f"{attempt}; it is not tried again until `scorer retry`"


def watch(run: ChallengeRun, track: str | None, every: float, parent: int | None) -> None:
    """Score what is handed in, while another process runs the challenge and renders the site, until it is stopped.

    `track` and `every` are options of the command. With `parent`, it also stops when that process ends.
    """
    check_published(run.challenge, run.store)
    followed = run.store.read(lambda view: Followed.of(view, run.challenge.name))
    arrivals = Arrivals(run.store, followed, run.executor)
    loop = ArrivalLoop(run.store, run.output.message, partial(run.score_arrivals, arrivals))
    _make_stoppable(loop, parent)
    keeper = threading.Thread(target=_keep_running, args=(loop, run, track, every), name="runs")
    keeper.start()
    try:
        loop()
    finally:
        loop.stopped.set()
        keeper.join()


def _keep_running(loop: Loop, run: ChallengeRun, track: str | None, every: float) -> None:
    """Have another process run the tracks until the loop is stopped."""
    import multiprocessing  # noqa: PLC0415 (only a watch needs it)

    context = multiprocessing.get_context("spawn")
    given = os.getpid(), run.challenge.root, track, every, run.options, run.output
    # In place of a database that was deleted, a new process would make another one.
    while not loop.stopped.is_set() and not run.store.database.is_replaced:
        process = context.Process(target=_run_again_and_again, args=given)
        process.start()
        while process.is_alive() and not loop.stopped.wait(LOOK_EVERY):
            with suppress(ReplacedError):  # the loop says so
                loop.note_alive()
        process.terminate()
        process.join()
        loop.stopped.wait(PAUSE_AFTER_END)


def _run_again_and_again(
    parent: int, root: Path, track: str | None, every: float, options: RunOptions, output: Output
) -> None:
    """Run the tracks and render the site until this process is stopped, or its parent ends."""
    challenge = read_challenge(root, solutions=False)
    # Each message is printed once, as long as it stays true.
    with ChallengeRun.opened(challenge, track, replace(options, quiet=True), output, create=False) as run:
        loop = RunLoop(run.store, output.message, challenge, run.score_others, run.update_site, every)
        _make_stoppable(loop, parent)
        with suppress(ReplacedError):  # the parent says so
            loop()


def _make_stoppable(loop: Loop, parent: int | None) -> None:
    """Stop the loop by signals, and with its parent."""
    for wanted in (signal.SIGTERM, signal.SIGINT):
        signal.signal(wanted, lambda *_: loop.stopped.set())
    if parent is not None:
        threading.Thread(target=_stop_with, args=(parent, loop.stopped), name="parent", daemon=True).start()


def _stop_with(parent: int, stopped: threading.Event) -> None:
    """Stop when the parent ends, however that happens: then POSIX systems give this process another parent."""
    import psutil  # noqa: PLC0415 (only a process that another one started needs it)

    while os.getppid() == parent and psutil.pid_exists(parent):
        time.sleep(0.5)
    stopped.set()
