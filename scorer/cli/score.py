"""``scorer score``: score new submissions."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import WrongCallError, add_folder, add_track, number, open_challenge
from scorer.cli.console import print_message, with_progress
from scorer.errors import ChallengeError, ExecutorError, FileError
from scorer.options import TIME_LIMIT

if TYPE_CHECKING:
    from scorer.challenge.settings import Track
    from scorer.executors.base import Executor
    from scorer.store.store import Store


def add_scoring(parser: ArgumentParser) -> None:
    """Add the arguments of ``run`` and ``score``."""
    add_folder(parser)
    add_track(parser)
    parser.add_argument(
        "--executor",
        metavar="NAME",
        help="where to score: serial, processes, processes:N or dask:ADDRESS; default: chosen by the amount of work",
    )
    parser.add_argument(
        "--time-limit",
        type=number(least=0.1),
        default=TIME_LIMIT,
        metavar="SECONDS",
        help="how long scoring one submission may take; default: %(default)g",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if any submission is rejected, also by an earlier run"
    )


def score(folder: Path, track: str | None, executor: str | None, time_limit: float, strict: bool) -> int:
    """Score new submissions and store the results; do not render the site.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track.
    All other submissions are scored in that case too. With --strict, exit code 1 also means that a submission that an
    earlier run rejected is still there.
    """
    from scorer.store.store import Store

    challenge, tracks = open_challenge(folder, track)
    scoring = requested_executor(executor)
    with Store.open(challenge.database_address) as store:
        return 0 if score_tracks(store, tracks, scoring, time_limit, strict=strict) else 1


def requested_executor(name: str | None) -> Executor | None:
    """Return the executor called `name`. Raises WrongCallError if the name is unknown."""
    from scorer.executors.names import executor_named

    try:
        return None if name is None else executor_named(name)
    except ExecutorError as error:
        raise WrongCallError(f"--executor: {error}") from error


def score_tracks(
    store: Store, tracks: Sequence[Track], executor: Executor | None, time_limit: float, *, strict: bool
) -> bool:
    """Score each track, and report errors in it; return whether there were none.

    With `strict`, a submission that an earlier run rejected is an error as well.
    """
    succeeded = True
    for track in tracks:
        try:
            succeeded &= _score_track(store, track, executor, time_limit, strict=strict)
        except (ChallengeError, FileError) as error:
            print_message(str(error))
            print_message(f"{track.name}: not scored; its board is unchanged")
            succeeded = False
    return succeeded


def _score_track(store: Store, track: Track, executor: Executor | None, time_limit: float, *, strict: bool) -> bool:
    from scorer.organising.run import carry_out, hint, plan, rejected
    from scorer.organising.submission_files import UploadInProgress
    from scorer.scoring.outcomes import Failed, Rejected

    work = plan(store, track)
    for skipped in work.skipped:
        print_message(str(skipped))
    scored, failed, rejected_now = 0, 0, set()
    results = carry_out(store, work, executor, time_limit)
    for submission, result in with_progress(results, len(work.pending), track.name):
        match result:
            case Failed(reason):
                failed += 1
                print_message(f"{submission.file}: not scored: {reason}; the next run tries it again")
            case Rejected(problems):
                rejected_now.add(submission.file)
                print_message("\n".join(problems.lines(submission.file)))
            case _:
                scored += 1
                if expected := hint(work, result.counts):
                    print_message("\n".join(result.notes.lines(submission.file)))
                    print_message(f"{submission.file}: {expected}")
    rejected_ever = rejected(store, work)
    for file in rejected_ever:
        if file not in rejected_now:
            print_message(f"{file}: rejected by an earlier run; the page of its team has the errors")
    counts = [f"{scored:,} scored", f"{work.known:,} known", f"{len(rejected_ever):,} rejected"]
    print_message(f"{track.name}: {', '.join([*counts, *([f'{failed:,} failed'] if failed else [])])}")
    unreadable = any(not isinstance(skipped, UploadInProgress) for skipped in work.skipped)
    return not (failed or unreadable or (rejected_ever if strict else rejected_now))
