"""``scorer run``: score new submissions, and render the site."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from scorer.cli.arguments import Parser, number
from scorer.cli.console import print_message
from scorer.cli.render import print_rendered
from scorer.cli.score import Scoring, add_scoring, open_scoring, score_tracks


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

    with open_scoring(challenge, track, options) as scoring:
        if watch:
            return _watch(scoring, every)
        succeeded = score_tracks(scoring)
        rendered = update(scoring.challenge, scoring.store)
        if scoring.options.quiet:
            scoring.messages(*rendered.notes)
        else:
            print_rendered(rendered)
    return 0 if succeeded else 1


def _watch(scoring: Scoring, every: float) -> int:
    from scorer.challenge.loading import read_challenge
    from scorer.organising.update import update
    from scorer.organising.watch import Watch
    from scorer.store.store import Store

    # Each message is printed once, as long as it stays true.
    options = replace(scoring.options, quiet=True)
    scoring.messages.are_quiet = True

    def run_once(go_on: Any) -> None:
        settings = read_challenge(scoring.challenge.root)  # the organiser may have changed it
        tracks = [track for track in settings.tracks if track.name in {chosen.name for chosen in scoring.tracks}]
        score_tracks(replace(scoring, challenge=settings, tracks=tracks, options=options), go_on)

    def render_once(store: Store) -> None:
        for note in update(read_challenge(scoring.challenge.root), store).notes:
            print_message(*scoring.messages.new([note]))

    with Store.open(scoring.challenge.database_address) as store:
        watching = Watch(
            scoring.challenge, store, run_once, partial(render_once, store), print_message, scan_every=every
        )
        for wanted in (signal.SIGTERM, signal.SIGINT):
            with suppress(ValueError):  # not in the main thread
                signal.signal(wanted, lambda *_: watching.stopped.set())
        watching()
    return 0
