"""``scorer run``: score new submissions, and render the site."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import Parser, number
from scorer.cli.console import print_message
from scorer.cli.render import print_rendered
from scorer.cli.score import add_scoring, open_scoring, print_outcome, score_tracks

if TYPE_CHECKING:
    from scorer.live.presence import SubmissionState
    from scorer.organising.watch import Loop


def add_run(parser: Parser) -> None:
    """Add the arguments of ``run``."""
    add_scoring(parser)
    parser.add_argument(
        "--watch",
        action="store_true",
        help="go on until stopped: score what is handed in at once, and what arrives in the folder within --every",
    )
    parser.add_argument(
        "--every",
        type=number(least=0.1, most=86_400),
        default=10.0,
        metavar="SECONDS",
        help="with --watch: how often to look into the folder of submissions; default: %(default)g",
    )


def run(challenge: Path, track: str | None, watch: bool, every: float, **options: Any) -> int:
    """Score new submissions, store the results, and render the site: the main job.

    The last line of the output is the path of the site, which is rendered only if it would change. With --quiet, only
    what is new and needs a person is printed.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track,
    or that submissions are missing. All other submissions are scored, and the site is rendered, in that case too. With
    --strict, exit code 1 also means that a submission that an earlier run rejected or gave up is still there.

    With --watch, the command runs until it is stopped by a signal, and then exits with 0. Teams take turns, and the
    site is rendered while files are scored.
    """
    from scorer.organising.update import update

    if watch:
        return _watch(challenge, track, every, options)
    with open_scoring(challenge, track, options) as scoring:
        succeeded = score_tracks(scoring)
        rendered = update(scoring.challenge, scoring.store)
        if scoring.options.quiet:
            scoring.messages(*rendered.notes)
        else:
            print_rendered(rendered)
    return 0 if succeeded else 1


def _watch(folder: Path, track: str | None, every: float, options: Mapping[str, Any]) -> int:
    """Score what is handed in, while another process runs the challenge and renders the site."""
    import multiprocessing
    import threading

    from scorer.challenge.loading import read_challenge
    from scorer.live.following import Followed
    from scorer.organising.arrivals import Arrivals
    from scorer.organising.watch import ENDS_WITH_PARENT, LOOK_EVERY, ArrivalLoop

    parent = os.environ.get(ENDS_WITH_PARENT)
    with open_scoring(folder, track, options, create=parent is None) as scoring:
        followed = scoring.store.read(lambda view: Followed.of(view, scoring.challenge.name))
        arrivals = Arrivals(scoring.store, followed, scoring.executor)

        def score(name: str, teams: frozenset[str], go_on: Callable[[], bool]) -> None:
            settings = read_challenge(scoring.challenge.root)
            if name in {chosen.name for chosen in scoring.tracks}:
                for submission, outcome in arrivals.scored(settings, settings.track(name), teams, go_on):
                    print_outcome(submission, outcome)

        loop = ArrivalLoop(scoring.store, print_message, score)
        _stop_by_signals(loop)
        if parent is not None:
            _end_with(int(parent), loop)
        context = multiprocessing.get_context("spawn")

        def keep_running() -> None:
            # In place of a database that was deleted, a new process would make another one.
            while not loop.stopped.is_set() and not scoring.store.database.is_replaced:
                process = context.Process(
                    target=_run_and_render, args=(os.getpid(), folder, track, every, dict(options))
                )
                process.start()
                while process.is_alive() and not loop.stopped.wait(LOOK_EVERY):
                    pass
                process.terminate()
                process.join()
                loop.stopped.wait(1.0)  # it ended by an error, and the next one may do so, too

        keeper = threading.Thread(target=keep_running, name="runs")
        keeper.start()
        try:
            loop()
        finally:
            loop.stopped.set()
            keeper.join()
    return 0


def _run_and_render(parent: int, folder: Path, track: str | None, every: float, options: Mapping[str, Any]) -> None:
    """In another process: run the challenge and render the site until the process is stopped, or its parent ends."""
    from scorer.challenge.loading import read_challenge
    from scorer.organising.arrivals import is_ready
    from scorer.organising.update import update
    from scorer.organising.watch import RunLoop, is_fresh
    from scorer.store.database import ReplacedError

    # Each message is printed once, as long as it stays true.
    with open_scoring(folder, track, {**options, "quiet": True}, create=False) as scoring:

        def run_once(go_on: Callable[[], bool]) -> None:
            settings = read_challenge(scoring.challenge.root)  # the organiser may have changed it
            names = {chosen.name for chosen in scoring.tracks}
            tracks = [chosen for chosen in settings.tracks if chosen.name in names]
            now = scoring.store.now()
            ready = {chosen.name for chosen in tracks if is_ready(scoring.store, settings, chosen)}

            def leaves(state: SubmissionState) -> bool:
                return state.submission.track in ready and is_fresh(state, now)

            score_tracks(replace(scoring, challenge=settings, tracks=tracks), go_on, leaves)

        def render_once() -> None:
            notes = update(read_challenge(scoring.challenge.root), scoring.store).notes
            print_message(*scoring.messages.new(notes))

        loop = RunLoop(scoring.store, print_message, scoring.challenge, run_once, render_once, every)
        _stop_by_signals(loop)
        _end_with(parent, loop)
        with suppress(ReplacedError):  # the parent says so
            loop()


def _end_with(parent: int, loop: Loop) -> None:
    """End the loop with its parent, however that ends: then the system gives the process another parent."""
    import threading

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        loop.stopped.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _stop_by_signals(loop: Loop) -> None:
    for wanted in (signal.SIGTERM, signal.SIGINT):
        signal.signal(wanted, lambda *_: loop.stopped.set())
