"""``scorer score``: score new submissions."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import Parser, WrongCallError, add_challenge, add_track, number, open_challenge
from scorer.cli.console import print_message, with_progress
from scorer.errors import ChallengeError, ExecutorError, FileError
from scorer.executors import GoOn, always
from scorer.limits import ATTEMPTS, Limits
from scorer.paths.writing import replace_content
from scorer.wording import printable, printable_name

if TYPE_CHECKING:
    from scorer.challenge.settings import Challenge, Track
    from scorer.executors.base import Executor, FileOutcome
    from scorer.live.entry import Entry
    from scorer.live.presence import SubmissionState
    from scorer.organising.run import Work
    from scorer.scoring.outcomes import Failed
    from scorer.store.records import Failure, Submission
    from scorer.store.store import Store


def add_scoring(parser: Parser) -> None:
    """Add the arguments of ``run`` and ``score``."""
    add_challenge(parser)
    add_track(parser)
    parser.add_argument(
        "--executor",
        metavar="NAME",
        help="where to score: processes, processes:N or dask:ADDRESS; or serial, for debugging, which limits neither "
        "time nor memory; default: processes",
    )
    parser.add_argument(
        "--time-limit",
        type=number(least=1),
        metavar="SECONDS",
        help="how long scoring one submission may take; default: limits.seconds in challenge.toml, or "
        f"{Limits().seconds}",
    )
    parser.add_argument(
        "--confirm-withdrawals",
        action="store_true",
        help="record missing files as withdrawals, even if many are missing or the folder is empty",
    )
    parser.add_argument(
        "--verify-files",
        action="store_true",
        help="read all files again, also those whose size, times and inode have not changed",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if any submission is rejected or was given up, also by an earlier run",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="print only what needs a person and was not there in the last quiet run: nothing if nothing is",
    )


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """The options of ``run`` and ``score``."""

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


def score(challenge: Path, track: str | None, **options: Any) -> int:
    """Score new submissions and store the results; do not render the site.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track,
    or that submissions are missing. All other submissions are scored in that case too. With --strict, exit code 1 also
    means that a submission that an earlier run rejected or gave up is still there.
    """
    with open_scoring(challenge, track, options) as scoring:
        return 0 if score_tracks(scoring) else 1


class Messages:
    """The messages of a run. A quiet run prints only those that the last quiet run did not have."""

    def __init__(self, store: Store, challenge: Challenge, track: str | None, *, are_quiet: bool) -> None:
        self.are_quiet = are_quiet
        """Whether only what is new is printed."""
        self._file = store.beside(challenge.root, ".reported")
        """What the last quiet run found, as a list in JSON."""
        self._is_partial = track is not None
        self._known = _texts(self._file) if are_quiet else set()
        self._current: set[str] = set()

    def __call__(self, *texts: str) -> None:
        """Print messages that need a person, unless they are known."""
        print_message(*self.new(texts))

    def new(self, texts: Iterable[str]) -> list[str]:
        """Return the messages to print, of those that need a person."""
        listed = list(texts)
        self._current.update(listed)
        return [text for text in listed if text not in self._known]

    def __enter__(self) -> Messages:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Keep the messages for the next quiet run; what was not looked at stays known."""
        if not self.are_quiet:
            return
        kept = self._current | self._known if kind is not None or self._is_partial else self._current
        if kept == self._known:
            return
        try:
            replace_content(self._file, json.dumps(sorted(kept), indent=1).encode("ascii"))
        except OSError as error:
            print_message(f"{printable(str(self._file))}: cannot be written: {error.strerror or error}")


def _texts(file: Path) -> set[str]:
    """The messages in a file; none if it is absent or damaged."""
    try:
        return set(map(str, json.loads(file.read_bytes())))
    except (OSError, ValueError, TypeError):
        return set()


@dataclass(frozen=True, slots=True)
class Scoring:
    """A run of a challenge or of one of its tracks."""

    challenge: Challenge
    tracks: Sequence[Track]
    store: Store
    executor: Executor | None
    options: ScoringOptions
    messages: Messages


@contextmanager
def open_scoring(
    folder: Path, track: str | None, options: Mapping[str, Any], *, create: bool = True
) -> Iterator[Scoring]:
    """Open the challenge and its database for a run. The messages of the run are kept at the end.

    Raises WrongCallError for an unknown track or executor.
    """
    from scorer.store.store import Store

    challenge, tracks = open_challenge(folder, track)
    chosen = ScoringOptions(**options)
    executor = _executor(chosen)
    with (
        Store.open(challenge.database_address, create=create) as store,
        Messages(store, challenge, track, are_quiet=chosen.quiet) as messages,
    ):
        yield Scoring(challenge, tracks, store, executor, chosen, messages)


def _executor(options: ScoringOptions) -> Executor | None:
    from scorer.executors import executor_named

    try:
        if options.executor == "serial" and not options.quiet:
            print_message("serial: for debugging; the limits on time and memory have no effect")
        return None if options.executor is None else executor_named(options.executor)
    except ExecutorError as error:
        raise WrongCallError(f"--executor: {error}") from error


def score_tracks(
    scoring: Scoring,
    go_on: GoOn = always,
    leaves: Callable[[SubmissionState], bool] = lambda _: False,
) -> bool:
    """Score each track, and report errors in it; return whether there were none. `go_on`, `leaves`: see `carry_out`."""
    succeeded = True
    _import_teams(scoring)
    for track in scoring.tracks:
        try:
            succeeded &= _score_track(scoring, track, go_on, leaves)
        except (ChallengeError, FileError) as error:
            scoring.messages(str(error), f"{track.name}: not scored; its board is unchanged")
            succeeded = False
    # Again, because teams may have submitted their first files.
    about_teams, are_valid = _import_teams(scoring)
    scoring.messages(*about_teams)
    return succeeded and are_valid


def _import_teams(scoring: Scoring) -> tuple[Sequence[str], bool]:
    """Record what teams.toml says; return messages about it, and whether it is valid."""
    from scorer.organising.teams import import_teams

    try:
        return import_teams(scoring.challenge, scoring.store), True
    except ChallengeError as error:
        return [f"{error}\nteams: the recorded names and decisions stay"], False


def _score_track(scoring: Scoring, track: Track, go_on: GoOn, leaves: Callable[[SubmissionState], bool]) -> bool:
    from scorer.live.entry import UNRANKED
    from scorer.organising.run import carry_out, hint, plan, present_entries
    from scorer.organising.status import number_in_state
    from scorer.organising.submission_files import SkippedFile
    from scorer.scoring.outcomes import Failed, Rejected

    store, options, messages = scoring.store, scoring.options, scoring.messages
    work = plan(
        store,
        scoring.challenge,
        track,
        limits=options.limits(scoring.challenge),
        confirm_withdrawals=options.confirm_withdrawals,
        verify_files=options.verify_files,
    )
    messages(*map(str, (*work.notes, *work.skipped, *work.warnings, *work.picks)))
    scored, failed = 0, 0
    rejected_now: set[str] = set()
    results = carry_out(store, work, scoring.executor, go_on, leaves)
    shown = results if messages.are_quiet else with_progress(results, len(work.pending), track.name)
    for submission, result in shown:
        name = printable_name(submission.file)
        print_outcome(submission, result, work.failures.get(submission.digest))
        match result:
            case Failed():
                failed += 1
            case Rejected():
                rejected_now.add(name)
            case _:
                scored += 1
                if expected := hint(work, result.counts):
                    print_message("\n".join(result.notes.lines(name)))
                    print_message(f"{name}: {expected}")
    present = present_entries(store, work)
    rejected_ever = _print_earlier(present, work, rejected_now, messages)
    counts = [f"{scored:,} scored", f"{work.known:,} known", f"{len(rejected_ever):,} rejected"]
    counts += [f"{failed + len(work.given_up):,} failed"] if failed or work.given_up else []
    states = Counter(entry.state for entry in present)
    counts += [number_in_state(states, state) for state in UNRANKED if states[state]]
    if not messages.are_quiet:
        print_message(f"{track.name}: {', '.join(counts)}")
    unreadable = any(isinstance(skipped, SkippedFile) and not skipped.is_ignored for skipped in work.skipped)
    if options.strict and (rejected_ever or work.given_up):
        return False
    return not (failed or unreadable or work.warnings or rejected_now)


def print_outcome(submission: Submission, outcome: FileOutcome, before: Failure | None = None) -> None:
    """Print why a submission is rejected, or could not be scored; `before` has its earlier attempts."""
    from scorer.scoring.outcomes import Failed, Rejected

    name = printable_name(submission.file)
    if isinstance(outcome, Failed):
        print_message(f"{name}: not scored: {_failure(outcome, before)}")
    elif isinstance(outcome, Rejected):
        print_message("\n".join(outcome.problems.lines(name)))


SHOWN = 20
"""How many messages of a kind are printed about earlier runs."""


def _print_earlier(entries: Sequence[Entry], work: Work, rejected_now: set[str], messages: Messages) -> set[str]:
    """Print what earlier runs left for the organiser to look at; return all files that are rejected."""
    from scorer.reports.entries import misdated_lines

    rejected = {entry.file for entry in entries if entry.outcome == "rejected"}
    if not messages.are_quiet:
        _print_some(
            f"{file}: rejected by an earlier run; the page of its team has the errors"
            for file in sorted(rejected - rejected_now)
        )
    _print_some(messages.new(misdated_lines(entries)))
    for submission, failure in work.given_up:
        given_up = f"{printable_name(submission.file)}: given up after {failure.attempts} attempts"
        messages(f"{given_up}: {failure.reason}; `scorer retry` has it tried again")
    return rejected


def _print_some(lines: Iterable[str]) -> None:
    """Print the first lines, and how many more there are."""
    listed = list(lines)
    print_message(*listed[:SHOWN])
    if len(listed) > SHOWN:
        print_message(f"and {len(listed) - SHOWN:,} more like this; `scorer entries` lists them")


def _failure(failed: Failed, before: Failure | None) -> str:
    """Why a submission failed, and when it is tried again."""
    attempts = before.attempts if before else 0
    if not failed.is_counted:
        return f"{failed.reason}; the next run tries it again"
    attempt = f"{failed.reason} (attempt {attempts + 1} of {ATTEMPTS})"
    if attempts + 1 < ATTEMPTS:
        return f"{attempt}; the next run tries it again"
    return f"{attempt}; it is not tried again until `scorer retry`"
