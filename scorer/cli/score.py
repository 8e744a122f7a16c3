"""``scorer score``: score what is new."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import WrongCallError, add_folder, add_track, number, opened
from scorer.cli.console import complain, followed
from scorer.errors import ChallengeError, ExecutorError, FileError

if TYPE_CHECKING:
    from scorer.challenge.settings import Track
    from scorer.executors.base import Executor
    from scorer.store.store import Store


def add_scoring(parser: ArgumentParser) -> None:
    """What ``run`` and ``score`` take."""
    add_folder(parser)
    add_track(parser)
    parser.add_argument(
        "--executor",
        metavar="NAME",
        help="where to score: serial, processes[:N], dask:ADDRESS; without it, as the work asks",
    )
    parser.add_argument(
        "--time-limit",
        type=number(least=0.1),
        default=600.0,
        metavar="SECONDS",
        help="what one submission may take; default: %(default)g",
    )


def score(folder: Path, track: str | None, executor: str | None, time_limit: float) -> int:
    """Score what is new and keep it; the site stays as it is."""
    from scorer.store.store import Store

    challenge, tracks = opened(folder, track)
    executor_ = chosen_executor(executor)
    with Store.open(challenge.database_address) as store:
        return 0 if score_tracks(store, tracks, executor_, time_limit) else 1


def chosen_executor(name: str | None) -> Executor | None:
    """The executor of that name; a name that is none is a wrong call."""
    from scorer.executors.names import executor_named

    try:
        return None if name is None else executor_named(name)
    except ExecutorError as error:
        raise WrongCallError(f"--executor: {error}") from error


def score_tracks(store: Store, tracks: Sequence[Track], executor: Executor | None, time_limit: float) -> bool:
    """Score the tracks one after the other; one at fault does not stop the others. Was everything fine?"""
    fine = True
    for track in tracks:
        try:
            fine &= _score_track(store, track, executor, time_limit)
        except (ChallengeError, FileError) as error:
            complain(str(error))
            complain(f"{track.name}: not scored; its board stays as it was")
            fine = False
    return fine


def _score_track(store: Store, track: Track, executor: Executor | None, time_limit: float) -> bool:
    from scorer.executors.base import Failed
    from scorer.organising.run import carry_out, plan, rejected
    from scorer.scoring.outcomes import Rejected

    work = plan(store, track)
    for skipped in work.skipped:
        complain(f"{skipped.file}: {skipped.reason}; left out")
    scored, failed, told = 0, 0, set()
    results = carry_out(store, work, executor, time_limit)
    for submission, result in followed(results, len(work.pending), track.name):
        match result:
            case Failed(reason):
                failed += 1
                complain(f"{submission.file}: not scored: {reason}; the next run tries it again")
            case Rejected(problems):
                told.add(submission.file)
                complain("\n".join(problems.lines(submission.file)))
            case _:
                scored += 1
    faulty = rejected(store, work)
    for file in faulty:
        if file not in told:
            complain(f"{file}: rejected before; its team's page says why")
    counts = [f"{scored:,} scored", f"{work.known:,} known", f"{len(faulty):,} rejected"]
    complain(f"{track.name}: {', '.join([*counts, *([f'{failed:,} failed'] if failed else [])])}")
    return not faulty and not work.skipped and not failed
