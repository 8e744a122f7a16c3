"""The commands; the only place that prints or exits. One file for those that belong together."""

from __future__ import annotations

import gc
import io
import os
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence

from scorer.cli import check, convert, doctor, evaluate, init, leaderboard, measures, render, run, score, status
from scorer.cli.arguments import Command, Parser, WrongCallError, add_folder
from scorer.cli.console import complain, say
from scorer.errors import ScorerError

COMMANDS = {
    "run": Command(run.run, score.add_scoring),
    "score": Command(score.score, score.add_scoring),
    "render": Command(render.render, add_folder),
    "check": Command(check.check, check.add_file),
    "evaluate": Command(evaluate.evaluate, evaluate.add_evaluation),
    "convert": Command(convert.convert, convert.add_conversion),
    "leaderboard": Command(leaderboard.leaderboard, leaderboard.add_board),
    "status": Command(status.status, add_folder),
    "doctor": Command(doctor.doctor, add_folder),
    "measures": Command(measures.measures, measures.add_measure),
    "init": Command(init.init, init.add_new_folder),
}


def main() -> None:
    """Run the command line; a fault of the user's is told in words, without a traceback."""
    # What is imported stays, and looking through it for garbage time and again makes starting a tenth slower.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name may hold what the terminal's encoding cannot say.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _called(sys.argv[1:])
    except ScorerError as error:
        complain(str(error))
        code = 1
    except KeyboardInterrupt:
        complain("stopped")
        code = 130
    except BrokenPipeError:
        # The reader has seen enough; Python's own flush at exit must not fail on it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    gc.freeze()  # neither need it be looked through when Python ends
    sys.exit(code)


def _called(words: Sequence[str]) -> int:
    """Do what these words ask for; the exit code."""
    if not words or words[0] not in COMMANDS:
        return _not_called(words)
    name, *rest = words
    command = COMMANDS[name]
    parser = Parser(
        prog=f"scorer {name}",
        description=command.description,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    # Options may stand among the files: the parser of one command can do that, a parser of all commands cannot.
    asked = parser.parse_intermixed_args(rest)
    try:
        return command.run(**vars(asked))
    except WrongCallError as error:
        parser.error(str(error))


def _not_called(words: Sequence[str]) -> int:
    """The help, the version, or what is wrong."""
    parser = Parser(
        prog="scorer",
        description="Score ranked lists against graded solutions, keep the results, show the board.",
        epilog=_overview(),
        usage="scorer COMMAND ...",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below", choices=[*COMMANDS])
    asked = parser.parse_args(words)
    if asked.version:
        from importlib.metadata import version

        say(f"scorer {version('challenge-scorer')}")
        return 0
    parser.print_help(sys.stderr)
    return 2


def _overview() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "commands:",
            *(f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()),
            "",
            "`scorer COMMAND --help` tells more of each.",
            "Exit codes: 0 all is fine, 1 a file or a setting is at fault, 2 the command was called wrongly.",
        ]
    )
