"""The commands that run a challenge: ``init``, ``run``, ``render``, ``status``, ``doctor``, ``export``, ``import``
and ``serve``.
"""

from __future__ import annotations

import os
import signal
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import (
    Parser,
    add_as_of,
    add_challenge,
    number,
    open_challenge,
    open_store,
    print_message,
    print_result,
    whole_number,
)
from scorer.cli.score import add_scoring, open_scoring, print_outcome, score_tracks
from scorer.errors import ChallengeError
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.organising.run import Rendered
    from scorer.organising.watch import Loop


def add_new_folder(parser: ArgumentParser) -> None:
    """Add the arguments of ``init``."""
    parser.add_argument("folder", type=Path, help="a new or empty folder")


def init(folder: Path) -> int:
    """Write a new challenge to start from: challenge.toml with comments, a small solution, two submissions."""
    from scorer.settings.starter import write_new

    write_new(folder)
    print_result(f"wrote a challenge into {folder}; next: scorer run {folder}")
    return 0


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
    from scorer.organising.run import update

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

    from scorer.live.entries import Followed
    from scorer.organising.scan import Arrivals
    from scorer.organising.watch import ENDS_WITH_PARENT, LOOK_EVERY, ArrivalLoop
    from scorer.settings.loading import read_challenge

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
    from scorer.organising.run import update
    from scorer.organising.watch import RunLoop
    from scorer.settings.loading import read_challenge
    from scorer.store.database import ReplacedError

    # Each message is printed once, as long as it stays true.
    with open_scoring(folder, track, {**options, "quiet": True}, create=False) as scoring:

        def run_once(go_on: Callable[[], bool]) -> None:
            settings = read_challenge(scoring.challenge.root)  # the organiser may have changed it
            names = {chosen.name for chosen in scoring.tracks}
            tracks = [chosen for chosen in settings.tracks if chosen.name in names]
            score_tracks(replace(scoring, challenge=settings, tracks=tracks), go_on, leaves_fresh=True)

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


def add_moment(parser: Parser) -> None:
    """Add the arguments of ``render``."""
    add_challenge(parser)
    add_as_of(parser)


def render(challenge: Path, as_of: datetime | int | None) -> int:
    """Render the site from the stored results, without scoring.

    With --as-of, the site shows an earlier state of the record, and a later render replaces it.
    """
    from scorer.organising.render import render as render_site

    with open_store(challenge) as (settings, _, store):
        print_rendered(render_site(settings, store, as_of=as_of))
    return 0


def print_rendered(rendered: Rendered) -> None:
    """Print the notes on a site, and the path of its first page as the last line."""
    print_message(*rendered.notes)
    print_result(str(rendered.index))


def status(challenge: Path) -> int:
    """Print the state of a challenge: entries of each track, and the last run and render."""
    from scorer.organising.doctor import status as status_lines

    with open_store(challenge) as (settings, _, store):
        print_result(*status_lines(settings, store))
    return 0


def add_repair(parser: Parser) -> None:
    """Add the arguments of ``doctor``."""
    add_challenge(parser)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="first delete damaged rows that `scorer run` can derive again, after a backup of the database file; "
        "what was recorded stays as it is",
    )


def doctor(challenge: Path, repair: bool) -> int:
    """Check the database of a challenge, and the files that it refers to.

    Prints a line for each check, and what to do about each problem. Exits with 1 if there is a problem.
    """
    from scorer.organising.doctor import examine, repair_store

    problems = 0
    with open_store(challenge) as (settings, _, store):
        for line in repair_store(store) if repair else []:
            print_result(f"{'repair':7}  {line}")
        for check in examine(settings, store):
            print_result(f"{'problem' if check.problems else 'ok':7}  {check.name}")
            problems += len(check.problems)
            print_message(*check.problems)
    return 1 if problems else 0


def add_bundle(parser: Parser) -> None:
    """Add the arguments of ``export``."""
    parser.add_argument("bundle", type=Path, help="the file to write, such as challenge.zip; it must not exist")
    add_challenge(parser)
    parser.add_argument("--solutions", action="store_true", help="add the solutions, which a run needs")
    parser.add_argument("--files", action="store_true", help="add the files of the submissions")


def export(bundle: Path, challenge: Path, solutions: bool, files: bool) -> int:
    """Write the challenge into one archive, from which `scorer import` makes it again, with the same site.

    The archive has the settings, the record, the results, and what the pages need. It also has the secrets of the
    challenge, and with them the key that signs receipts, so keep it private.
    """
    from scorer.organising.bundles import export as write_bundle
    from scorer.settings.loading import settings_file

    with open_store(challenge) as (opened, _, store):
        exported = write_bundle(opened, store, settings_file(challenge), bundle, solutions=solutions, files=files)
    print_message(*exported.notes)
    content = "has the solutions and the secrets" if solutions else "has the secrets"
    print_message(f"{bundle}: {content} of the challenge, and the key that signs receipts; keep it private")
    print_message(f"{exported.events:,} events, head {exported.head}")
    print_result(str(exported.path))
    return 0


def add_imported(parser: ArgumentParser) -> None:
    """Add the arguments of ``import``."""
    parser.add_argument("bundle", type=Path, help="the file that `scorer export` wrote")
    parser.add_argument("folder", type=Path, help="a new or empty folder for the challenge")
    parser.add_argument(
        "--database",
        type=_url,
        metavar="URL",
        help="an empty database on a server, as in postgresql+psycopg://user@host/name; default: a file in the folder",
    )


def _url(text: str) -> str:
    if "://" not in text:
        raise ArgumentTypeError(f"found {quoted(text)}, expected a URL, as in postgresql+psycopg://user@host/name")
    return text


def import_(bundle: Path, folder: Path, database: str | None) -> int:
    """Make a challenge from the archive that `scorer export` wrote: its folder, its database and its site.

    A file with a changed byte is refused, and nothing is left of it. An import that was killed can be repeated.
    """
    from scorer.organising.bundles import import_bundle

    imported = import_bundle(bundle, folder, database)
    print_message(*imported.notes)
    print_message(f"{imported.events:,} events")
    print_result(str(imported.index))
    return 0


EXTRA = "the service needs more packages; install them with `pip install 'challenge-scorer[serve]'`"


def add_service(parser: Parser) -> None:
    """Add the arguments of ``serve``."""
    add_challenge(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; default: %(default)s")
    parser.add_argument(
        "--port",
        type=whole_number(0, 65_535),
        default=8000,
        metavar="NUMBER",
        help="default: %(default)s; 0: a free one",
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="the address of a proxy in front of the service, whose X-Forwarded-For is true; may be repeated",
    )
    parser.add_argument("--no-runner", action="store_true", help="score nothing: `scorer run` does, or another machine")
    parser.add_argument(
        "--executor", metavar="NAME", help="where to score, as for `scorer run`; default: processes of this machine"
    )


def serve(challenge: Path, host: str, port: int, proxy: list[str], no_runner: bool, executor: str | None) -> int:
    """Serve the site, receive files from teams, and score them while the command runs.

    A team needs a token, which `scorer teams token` or `scorer teams invite` issues, and hands in files with
    `scorer submit` or with any HTTP client. The command scores what is handed in and renders the site, in another
    process. It ends with SIGTERM or Ctrl-C; requests in progress are completed before.

    The service speaks HTTP. In public, put a proxy with TLS in front of it, as docs/serving.md shows.
    """
    import logging

    settings, _ = open_challenge(challenge, None)
    try:
        from scorer.service.app import Address, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("scorer"):
            raise
        raise ChallengeError(EXTRA) from error
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    runner = None if no_runner else ([] if executor is None else ["--executor", executor])
    try:
        serve(settings, Address(host, port, proxy), runner=runner)
    except OSError as error:
        print_message(f"{host}:{port}: the service cannot start: {error.strerror or error}")
        return 1
    return 0
