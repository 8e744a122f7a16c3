"""The commands that run a challenge: ``init``, ``run``, ``score``, ``collect``, ``render``, ``status``, ``doctor``,
``export``, ``import`` and ``serve``; and ``completion``, the script with which a shell completes all commands.
"""

from __future__ import annotations

import os
from argparse import Action, ArgumentTypeError
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scorer.cli.output import print_message, print_result, with_progress
from scorer.cli.parameters import (
    AS_OF,
    ONE_TRACK,
    Parser,
    WrongCallError,
    add_parameters,
    argument,
    group,
    number,
    of_challenge,
    only_track,
    open_challenge,
    open_store,
    option,
    whole_number,
    wrong_call,
)
from scorer.errors import RENDERING, SERVING, ExecutorError, ScorerError, need_libraries, os_errors_as
from scorer.limits import Limits
from scorer.options import FORMAT_NAMES
from scorer.wording import quoted, utc_moment

if TYPE_CHECKING:
    from scorer.organising.job import ChallengeRun
    from scorer.organising.run import Rendered


def init(folder: Path = argument("a new or empty folder")) -> None:
    """Write a new challenge to start from: challenge.toml with comments, a small solution, two submissions."""
    from scorer.settings.loading import write_challenge

    write_challenge(folder)
    print_result(f"wrote a challenge into {folder}; next: scorer run {folder}")


def rehearse(
    challenge: Path = of_challenge(),
    site: Path | None = option("keep the site of each date in a new folder, which only you can read", "FOLDER"),
) -> None:
    """Let invented teams hand in to a copy of a challenge while its dates pass, and say what you would regret.

    For each date, the output has what happens, the entries, what visitors see, and with --site the first page of the
    site of that time, which is not for publication. Regrets do not change the exit code. The challenge is only read.
    """
    need_libraries(*RENDERING)
    from scorer.organising.rehearsal import rehearsal
    from scorer.settings.loading import read_challenge

    with rehearsal(read_challenge(challenge), site) as rehearsed:
        for at, lines in rehearsed.dates():
            print_result(utc_moment(at), *(f"  {line}" for line in lines))
        print_result(*[f"regret: {text}" for text in rehearsed.regrets()] or ["nothing to regret was found"])


@dataclass(frozen=True)
class ScoringOptions:
    """The options of ``run`` and ``score``."""

    executor: str | None = option(
        "where to score: processes, processes:N or dask:ADDRESS; or serial, for debugging, which limits neither time "
        "nor memory; default: processes",
        "NAME",
    )
    time_limit: float | None = option(
        f"how long scoring one submission may take; default: limits.seconds in challenge.toml, or {Limits().seconds}",
        "SECONDS",
        type=number(least=1),
    )
    confirm_withdrawals: bool = option(
        "record missing files as withdrawals, even if many are missing or the folder is empty"
    )
    verify_files: bool = option("read all files again, also those whose size, times and inode have not changed")
    strict: bool = option("exit with 1 if any submission is rejected or was given up, also by an earlier run")
    quiet: bool = option(
        "print only what needs a person and was not there in the last quiet run: nothing if nothing is"
    )


def run(
    challenge: Path = of_challenge(),
    track: str | None = ONE_TRACK,
    options: ScoringOptions = group(),
    watch: bool = option(
        "go on until stopped: score what is handed in at once, and what arrives in the folder within --every"
    ),
    every: float = option(
        "with --watch: how often to look into the folder of submissions; default: %(default)g",
        "SECONDS",
        type=number(least=0.1, most=86_400),
        default=10.0,
    ),
) -> int:
    """Score new submissions, store the results, and render the site: the main job.

    The last line of the output is the path of the site, which is rendered only if it would change. With --quiet, only
    what is new and needs a person is printed.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track or
    render a page, or that submissions are missing. All else is scored and rendered in that case too. With
    --strict, exit code 1 also means that a submission that an earlier run rejected or gave up is still there.

    With --watch, the command runs until it is stopped by a signal, and then exits with 0. Teams take turns, and the
    site is rendered while files are scored.
    """
    need_libraries(*RENDERING)
    from scorer.organising.job import update
    from scorer.organising.job import watch as watch_challenge
    from scorer.organising.watch import ENDS_WITH_PARENT

    parent = os.environ.get(ENDS_WITH_PARENT) if watch else None
    with _opened(challenge, track, options, create=parent is None) as opened:
        if watch:
            watch_challenge(opened, track, every, None if parent is None else int(parent))
            return 0
        succeeded = opened.score()
        rendered = update(opened.challenge, opened.store)
        if options.quiet:
            opened.messages(*rendered.notes)
        else:
            print_rendered(rendered)
    return 0 if succeeded else 1


@contextmanager
def _opened(folder: Path, track: str | None, options: ScoringOptions, *, create: bool = True) -> Iterator[ChallengeRun]:
    """Open a challenge for a run. Raises WrongCallError for an unknown track or executor."""
    from scorer.organising.job import ChallengeRun, Output, RunOptions

    challenge, _ = open_challenge(folder, track)
    chosen = RunOptions(**vars(options))
    with wrong_call("--executor", ExecutorError):
        chosen.executor_named()
    if chosen.executor == "serial" and not chosen.quiet:
        print_message("serial: for debugging; the limits on time and memory have no effect")
    with ChallengeRun.opened(challenge, track, chosen, Output(print_message, with_progress), create=create) as opened:
        yield opened


def score(challenge: Path = of_challenge(), track: str | None = ONE_TRACK, options: ScoringOptions = group()) -> int:
    """Score new submissions and store the results; do not render the site.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track,
    or that submissions are missing. All other submissions are scored in that case too. With --strict, exit code 1 also
    means that a submission that an earlier run rejected or gave up is still there.
    """
    with _opened(challenge, track, options) as opened:
        return 0 if opened.score() else 1


_SHOWN = 20
"""How many messages of a kind are printed."""


def collect(
    source: str = argument("the path or the URL of a folder with a folder for each team", "SOURCE"),
    track: str | None = option("the track that the files are for; needed if there are several", "-t, --track NAME"),
    challenge: Path = of_challenge(),
) -> int:
    """Receive the new files of teams from a folder or a store, without a server.

    SOURCE has a folder for each team, with files and no further folders. Each new file becomes an entry, as if it was
    handed in to `scorer serve`: its signed receipt is written next to it, as FILE.receipt.txt. If a file is refused,
    FILE.errors.txt says why; it is read again once it has changed. The next `scorer run` scores the entries.

    The time of receipt is that of the store where its clients cannot set it, as on S3, and otherwise the time at which
    this command found the file. Repeat the command every few minutes, and once more just before a phase closes.

    Exit code 1 means that this call refused or skipped a file, or that a file could not be read or answered. What is
    received is printed to standard output, all else to standard error.
    """
    from scorer.service.accepting import collect as collect_files

    counts: Counter[str] = Counter()
    with open_store(challenge, track, create=True) as (settings, tracks, store):
        requested = only_track(tracks)
        for each in collect_files(store, settings, requested, source):
            counts[each.outcome] += 1
            if each.outcome == "received":
                print_result(f"{each.file}: {each.text}")
            elif each.outcome in ("refused", "failed", "skipped") and counts[each.outcome] <= _SHOWN:
                print_message(f"{each.file}: {each.text}")
    listed = [f"{counts[outcome]:,} {outcome}" for outcome in ("received", "known", "refused")]
    listed += [f"{counts[each]:,} {each}" for each in ("failed", "skipped", "in progress") if counts[each]]
    print_result(f"{requested.name}: {', '.join(listed)}")
    return 1 if counts["refused"] or counts["failed"] or counts["skipped"] else 0


def render(
    challenge: Path = of_challenge(),
    as_of: datetime | int | None = AS_OF,
    organiser: Path | None = option(
        "write a private site with the final scores and all that is hidden from visitors", "FOLDER"
    ),
) -> None:
    """Render the site from the stored results, without scoring.

    With --as-of, the site shows an earlier state of the record, and a later render replaces it.

    With --organiser, the public site stays as it is. The private one shows the final scores, the true names and all
    entries at any time. Only the own user can read its folder, and each page says that it is private.
    """
    need_libraries(*RENDERING)
    from scorer.organising.render import render as render_site
    from scorer.organising.render import render_for_organiser

    if organiser is not None and as_of is not None:
        raise WrongCallError("--organiser shows the state of now; leave out --as-of")
    with open_store(challenge) as (settings, _, store):
        if organiser is None:
            print_rendered(render_site(settings, store, as_of=as_of))
        else:
            print_rendered(render_for_organiser(settings, store, organiser))


def print_rendered(rendered: Rendered) -> None:
    """Print the notes on a site, and the path of its first page as the last line."""
    print_message(*rendered.notes)
    print_result(str(rendered.index))


def status(challenge: Path = of_challenge()) -> None:
    """Print the state of a challenge: entries of each track, the last run and render, and the commands that make sense.

    Such commands are on the last lines, each with its reason: for an open erratum, entries without a score, a phase
    that closes within a day, or a bundle that is older than a week.
    """
    from scorer.organising.doctor import status as status_lines

    with open_store(challenge, checked=False) as (settings, _, store):
        print_result(*status_lines(settings, store))


def doctor(
    challenge: Path = of_challenge(),
    repair: bool = option(
        "first delete damaged rows that `scorer run` can derive again, after a backup of the database file; what was "
        "recorded stays as it is"
    ),
) -> int:
    """Check the database of a challenge, and the files that it refers to.

    Prints a line for each check, and what to do about each problem. Exits with 1 if there is a problem.
    """
    from scorer.organising.doctor import examine, repair_store

    problems = 0
    with open_store(challenge, checked=False) as (settings, _, store):
        for line in repair_store(store) if repair else []:
            print_result(f"{'repair':7}  {line}")
        for name, found in examine(settings, store):
            print_result(f"{'problem' if found else 'ok':7}  {name}")
            problems += len(found)
            print_message(*found)
    return 1 if problems else 0


def restore(
    challenge: Path = of_challenge(),
    log: Path | None = option("a copy of the published log.jsonl; default: that of the folder of the site", "FILE"),
    unpublished: bool = option(
        "begin a new epoch also if no published event is lost, in case receipts of others were signed"
    ),
) -> None:
    """Let the record go on after a backup of the database was copied back.

    The log of the site shows that the record has lost events. Until this command has recorded which ones, nothing is
    recorded, rendered or signed: two events would have the same index. The log keeps the lines of the lost events, and
    an event begins the next epoch, which later heads and receipts name. The output says which receipts are void.
    """
    from scorer.organising.doctor import restore as go_on

    with open_store(challenge, checked=False) as (settings, _, store):
        print_result(*go_on(settings, store, log, unpublished=unpublished))


def export(
    bundle: Path = argument("the file to write, such as challenge.zip; it must not exist"),
    challenge: Path = of_challenge(),
    solutions: bool = option("add the solutions, also the earlier ones; a run needs them"),
    files: bool = option("add the files of the submissions, and the kept bytes of those that are gone"),
    public: bool = option("write the public archive of a challenge that is over, for `scorer verify challenge`"),
) -> None:
    """Write the challenge into one archive, from which `scorer import` makes it again, with the same site.

    The archive has the settings, the record, the results, and what the pages need. It also has the secrets of the
    challenge, and with them the key that signs receipts, so keep it private.

    With --public, it has no secret, and anybody derives the boards from it: it has the solutions, the submissions, and
    every event that decides a board. The key `licence` of challenge.toml allows that.
    """
    from scorer.organising.bundles import export as write_bundle
    from scorer.organising.bundles import left_out
    from scorer.organising.doctor import note_export
    from scorer.settings.loading import settings_file

    if public and (solutions or files):
        raise WrongCallError("--public: the public archive has solutions and submissions; leave out the other options")
    with open_store(challenge) as (opened, _, store):
        if public:
            from scorer.organising.public import export_public

            exported = export_public(opened, store, settings_file(challenge), bundle)
        else:
            exported = write_bundle(opened, store, settings_file(challenge), bundle, solutions=solutions, files=files)
            note_export(opened, store)
            content = "has the solutions and the secrets" if solutions else "has the secrets"
            private = f"{bundle}: {content} of the challenge, and the key that signs receipts; keep it private"
            print_message(*left_out(opened, solutions=solutions, files=files), private)
    print_message(f"{exported.events:,} events, head {exported.head}")
    print_result(str(bundle))


def _url(text: str) -> str:
    if "://" not in text:
        raise ArgumentTypeError(f"found {quoted(text)}, expected a URL, as in postgresql+psycopg://user@host/name")
    return text


def import_(
    bundle: Path = argument("the file that `scorer export` wrote"),
    folder: Path = argument("a new or empty folder for the challenge"),
    database: str | None = option(
        "an empty database on a server, as in postgresql+psycopg://user@host/name; default: a file in the folder",
        "URL",
        type=_url,
    ),
) -> None:
    """Make a challenge from the archive that `scorer export` wrote: its folder, its database and its site.

    A file with a changed byte is refused, and nothing is left of it. An import that was killed can be repeated.
    """
    need_libraries(*RENDERING)
    from scorer.organising.bundles import import_bundle

    index, events, notes = import_bundle(bundle, folder, database)
    print_message(*notes)
    print_message(f"{events:,} events")
    print_result(str(index))


def serve(
    challenge: Path = of_challenge(),
    host: str = option("the address to listen at; default: %(default)s", "ADDRESS", default="127.0.0.1"),
    port: int = option(
        "default: %(default)s; 0: a free one, in the log", "NUMBER", type=whole_number(0, 65_535), default=8000
    ),
    proxy: list[str] = option(
        "the address of a proxy in front of the service, whose X-Forwarded-For is true; may be repeated", "ADDRESS"
    ),
    no_runner: bool = option("score nothing: `scorer run --watch` or scheduled runs do"),
    executor: str | None = option("where to score, as for `scorer run`; default: processes of this machine", "NAME"),
) -> None:
    """Serve the site, receive files from teams, and score them while the command runs.

    A team needs a token, which `scorer teams token` or `scorer teams invite` issues, and hands in files with
    `scorer submit` or with any HTTP client. The command scores what is handed in and renders the site, in another
    process. It ends with SIGTERM or Ctrl-C; requests in progress are completed before.

    The service speaks HTTP. In public, put a proxy with TLS in front of it, as docs/serving.md shows.
    """
    import logging

    need_libraries(*SERVING, *RENDERING)
    from scorer.service.app import serve

    settings, _ = open_challenge(challenge, None)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    runner = None if no_runner else ([] if executor is None else ["--executor", executor])
    with os_errors_as(ScorerError, f"{host}:{port}: the service cannot start"):
        serve(settings, host, port, proxy, runner=runner)


_PLAIN = {"entry", "ENTRY", "phase", "VALUE"}
"""Arguments that are neither files nor one of a few words."""

FISH_VALUE = "(string replace -r -- '^--[^=]*=' '' (commandline -ct))"
"""What the word at the cursor has after an option with "="."""


def _shell(name: str) -> str:
    """The functions that complete a measure in a shell, or those with which the script for bash ends."""
    return Path(__file__).with_name("shells").joinpath(name).read_text("utf-8").rstrip("\n")


def completion(shell: Literal["bash", "zsh", "fish"] = argument("the shell that reads the script")) -> None:
    """Print a script with which a shell completes commands, options, words, measures and files.

    Save the script where the shell looks for completions, as in the examples; for zsh, in a folder of fpath. The script
    has all words in it and does not start scorer. Print it again after an update.
    """
    need_libraries("shtab")
    import shtab

    script = shtab.complete(_parser(shell), shell).rstrip("\n")
    if shell == "bash":
        script += f"\n\n{_shell('words.bash')}"
    if shell == "zsh":
        # All further arguments are completed as the first of several is, and not that one only.
        script = script.replace('"(*)::', '"*:').replace('"(*):', '"*:')
    print_result(script)


def _parser(shell: str) -> Parser:
    """Return a parser with all commands, whose arguments have what completes them in a shell."""
    from scorer.cli import COMMANDS

    parser = Parser(prog="scorer")
    parser.add_argument("--version", action="version", help="print the version")
    commands = parser.add_subparsers()
    commands.nargs = None  # so that bash completes nothing after a word that is no command
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.summary)
        add_parameters(subparser, command.function)
        for action in subparser._actions:
            _complete(action, shell)
    return parser


def _complete(action: Action, shell: str) -> None:
    """Add to an argument what completes it, as shtab expects it."""
    import shtab

    # Only the beginning of the help: shells show it on one line.
    action.help = (action.help or "").partition(";")[0].partition(". ")[0]
    shown = str(action.metavar or action.dest)
    completer: Any = None
    if shown == "FORMAT":
        action.choices = FORMAT_NAMES
    elif shown == "MEASURE":
        completer = _of_measures(shell)
    elif shown == "FOLDER":
        completer = {**shtab.DIRECTORY, "fish": f"(__fish_complete_directories {FISH_VALUE})"}
    elif shown == "FILE" or not (action.option_strings or action.choices or shown in _PLAIN):
        completer = {**shtab.FILE, "fish": f"(__fish_complete_path {FISH_VALUE})"}
    if completer is not None:
        action.complete = completer  # type: ignore[attr-defined]
    if shell == "zsh" and action.nargs != 0:
        # The value of such an option may follow "=".
        action.option_strings = [f"{text}=" if text.startswith("--") else text for text in action.option_strings]


def _of_measures(shell: str) -> dict[str, Any]:
    names = measure_names() if shell == "bash" else [f"'{name}'" for name in measure_names()]
    function = _shell(f"measures.{shell}").replace("<measures>", ("," if shell == "fish" else " ").join(names))
    return {shell: "(_scorer_measures)" if shell == "fish" else "_scorer_measures", "preamble": {shell: function}}


def measure_names() -> list[str]:
    """Return the names that complete a measure: the kinds, with a cut-off where they need one, and the groups."""
    from scorer.measures import DEFAULT_MEASURES, KINDS, TREC_SETS

    cutoffs = {"required": "@10", "list": "@5,10", "level": "@0.5", "multiple": "@0.5"}
    names = [f"{kind.name}{cutoffs.get(kind.cutoff, '')}" for kind in KINDS]
    return list(dict.fromkeys([*names, *DEFAULT_MEASURES, *TREC_SETS]))
