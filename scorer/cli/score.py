"""The commands that score submissions: ``score`` for organisers, and ``check`` for participants."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import (
    FORMAT_HELP,
    Parser,
    WrongCallError,
    add_challenge,
    add_tag,
    add_track,
    format_name,
    number,
    only_track,
    open_challenge,
    print_message,
    print_result,
    with_progress,
)
from scorer.errors import ChallengeError, ExecutorError, FileError, ScorerError, SolutionError
from scorer.files import digest, is_regular, shown
from scorer.files.writing import replace_content
from scorer.limits import ATTEMPTS, Limits
from scorer.scoring.executors import GoOn, always, executor_named
from scorer.wording import counted, printable, printable_name

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.live.entry import Entry
    from scorer.organising.run import Work
    from scorer.scoring.executors.base import Executor, FileOutcome
    from scorer.scoring.outcomes import Failed
    from scorer.settings.tracks import Challenge, Track
    from scorer.store.events import Failure, Submission
    from scorer.store.store import Store


def add_file(parser: Parser) -> None:
    """Add the arguments of ``check``."""
    parser.add_argument("file", help="the submission: a path or a URL")
    parser.add_argument(
        "-t", "--track", metavar="NAME", help="the track that the file is for; needed if there are several"
    )
    add_challenge(parser, sites=True)
    parser.add_argument("--team", metavar="TEAM", help="also print what is left of the quota of this team's folder")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the format of the file, {FORMAT_HELP}")
    add_tag(parser, "submission_format")


def check(
    file: str, track: str | None, challenge: Path | str, submission_format: str | None, team: str | None = None
) -> int:
    """Check a submission before you submit it: format, queries, items, lengths, duplicates.

    The check needs no solution, and shows nothing that only the solution knows. It reports unknown queries and items if
    the challenge has public lists of them. The address of the published site is enough: it has the public settings and
    lists.

    With --team, the command also says what is left of the team's quota and when it begins again, if the folder of the
    challenge has the database.
    """
    if isinstance(challenge, str):
        from scorer.settings.published import downloaded

        if team is not None:
            raise WrongCallError("--team needs the folder of the challenge; a site does not publish quotas")
        with downloaded(challenge, track) as folder:
            return check(file, track, folder, submission_format)
    settings, tracks = open_challenge(challenge, track)
    requested = only_track(tracks)
    code = _check(file, settings, requested, submission_format)
    if team is not None:
        print_result(_left(settings, requested, team))
    return code


def _left(settings: Challenge, requested: Track, team: str) -> str:
    """What is left of the quota of a team, by the database of the challenge."""
    from scorer.live.entries import quota_line
    from scorer.store.store import Store

    try:
        with Store.open(settings.database_address, create=False) as store:
            return store.read(lambda view: quota_line(view, requested, team))
    except ScorerError as error:
        return f"{printable_name(team)}: nothing is known about its quota ({error})"


def _check(file: str, settings: Challenge, requested: Track, submission_format: str | None) -> int:
    from scorer.lists.solution import excluded, read_ids
    from scorer.scoring.executors.base import checked
    from scorer.scoring.outcomes import Failed, Rejected, Rules
    from scorer.settings.tracks import public_lists

    rules = Rules.of(requested)
    if submission_format is not None:
        rules = replace(rules, submission_format=format_name(submission_format, "--submission-format"))
    queries = _queries(requested)
    candidates = None if requested.items_path is None else read_ids(requested.items_path)
    exclude = excluded(public_lists(requested).get("exclude", requested.exclude))
    outcome = checked(queries, file, rules, settings.limits, candidates=candidates, excluded=exclude)
    path = printable(shown(file))
    if isinstance(outcome, Failed):
        print_message(f"{path}: {outcome.reason}")
        print_message(f"{path}: not checked")
        return 1
    if isinstance(outcome, Rejected):
        print_message("\n".join(outcome.problems.lines(shown(file))))
        print_message(f"{path}: invalid for track {requested.name}: {counted(outcome.problems.count, 'error')}")
        return 1
    print_message(*outcome.notes.lines(shown(file)))
    if queries is None:
        print_message(f"{requested.name}: the queries of the track are not available, so they were not compared")
    counts = outcome.counts
    lists, items = counted(counts.answered, "list"), counted(counts.items, "item")
    print_result(f"{path}: valid for track {requested.name}: {lists}, {items}")
    if is_regular(file):
        print_result(f"sha256 {digest(file)}")
    return 0


def _queries(track: Track) -> Solution | None:
    """The queries of the track, from its public list or else from its solution.

    None if neither file is available.
    """
    from scorer.lists.solution import Solution

    if track.queries_path is not None:
        return Solution.read_queries(track.queries_path)
    try:
        solution = Solution.read(track.solution_path, track.solution_format)
    except SolutionError:
        return None
    return Solution.of_queries(solution.queries.to_pylist())


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
    try:
        if options.executor == "serial" and not options.quiet:
            print_message("serial: for debugging; the limits on time and memory have no effect")
        return None if options.executor is None else executor_named(options.executor)
    except ExecutorError as error:
        raise WrongCallError(f"--executor: {error}") from error


def score_tracks(scoring: Scoring, go_on: GoOn = always, *, leaves_fresh: bool = False) -> bool:
    """Score each track, and report errors in it; return whether there were none. For the others, see `carry_out`."""
    succeeded = True
    _import_teams(scoring)
    for track in scoring.tracks:
        try:
            succeeded &= _score_track(scoring, track, go_on, leaves_fresh=leaves_fresh)
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


def _score_track(scoring: Scoring, track: Track, go_on: GoOn, *, leaves_fresh: bool) -> bool:
    from scorer.live.entry import UNRANKED
    from scorer.organising.doctor import number_in_state
    from scorer.organising.files import SkippedFile
    from scorer.organising.run import carry_out, hint, plan, present_entries
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
    messages(*map(str, (*work.notes, *work.skipped, *work.warnings)))
    scored, failed = 0, 0
    rejected_now: set[str] = set()
    results = carry_out(store, work, scoring.executor, go_on, leaves_fresh=leaves_fresh)
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
    from scorer.board.reports.leaderboard import misdated_lines

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
