"""The command line, one file for each command: the only place that prints or exits."""

from __future__ import annotations

import gc
import io
import os
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence

from scorer.cli.arguments import Command, Parser, WrongCallError
from scorer.cli.console import print_message, print_result
from scorer.errors import ScorerError

COMMANDS = {
    "run": Command("run:run", "score:add_scoring"),
    "score": Command("score:score", "score:add_scoring"),
    "render": Command("render:render", "render:add_moment"),
    "check": Command("check:check", "check:add_file"),
    "evaluate": Command("evaluate:evaluate", "evaluate:add_evaluation"),
    "trec_eval": Command("trec_eval:trec_eval", "trec_eval:add_trec_eval", exit_codes=(2, 1)),
    "compare": Command("compare:compare", "compare:add_comparison"),
    "fuse": Command("fuse:fuse", "fuse:add_fusion"),
    "overlap": Command("overlap:overlap", "overlap:add_overlap"),
    "report": Command("report:report", "report:add_report"),
    "convert": Command("convert:convert", "convert:add_conversion"),
    "leaderboard": Command("leaderboard:leaderboard", "leaderboard:add_board"),
    "entries": Command("entries:entries", "entries:add_entries"),
    "phases": Command("phases:phases", "phases:add_phases"),
    "status": Command("status:status", "arguments:add_folder"),
    "retry": Command("retry:retry", "retry:add_entries"),
    "forget": Command("forget:forget", "forget:add_outcome"),
    "amend": Command("amend:amend", "amend:add_time"),
    "pick": Command("pick:pick", "pick:add_entries"),
    "teams": Command("teams:teams", "teams:add_action"),
    "erratum": Command("erratum:erratum", "erratum:add_erratum"),
    "split": Command("split:split", "split:add_keys"),
    "commit": Command("commit:commit", "arguments:add_folder"),
    "receipt": Command("receipt:receipt", "receipt:add_entries"),
    "reveal": Command("reveal:reveal", "reveal:add_revealed"),
    "verify": Command("verify:verify", "verify:add_document"),
    "export": Command("export:export", "export:add_bundle"),
    "import": Command("import_:import_", "import_:add_imported"),
    "doctor": Command("doctor:doctor", "doctor:add_repair"),
    "measures": Command("measures:measures", "measures:add_measure"),
    "completion": Command("completion:completion", "completion:add_shell"),
    "init": Command("init:init", "init:add_new_folder"),
}


def main() -> None:
    """Run the command line. An error that the user can correct is printed as a message, without a traceback."""
    # Imported modules stay; fewer searches for garbage among them start a command about 10 % faster.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file may have characters that the terminal's encoding has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        print_message("stopped")
        code = 130
    except BrokenPipeError:
        # The reader closed the pipe. Python flushes standard output at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        from scorer.formats.reading.bytes import system_failure

        failure = system_failure(error)
        if failure is None:
            raise
        print_message(f"stopped: {'not enough memory' if isinstance(failure, MemoryError) else failure}")
        code = 1
    gc.freeze()  # Python searches for garbage at exit, too
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments and return the exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        return _run_without_command(arguments)
    name, *rest = arguments
    command = COMMANDS[name]
    parser = command.parser(name)
    # Allows options between files, which argparse's subcommands do not support.
    values, unknown = parser.parse_known_intermixed_args(rest)
    if unknown:
        parser.refuse(unknown)
    try:
        return command.run(**vars(values))
    except WrongCallError as error:
        parser.error(str(error))
    except ScorerError as error:
        print_message(str(error))
        return command.exit_codes[0]


def _run_without_command(arguments: Sequence[str]) -> int:
    """Print the help, the version, or the error in the arguments."""
    parser = Parser(
        prog="scorer",
        description="Score ranked lists against graded solutions, store the results, and render a leaderboard.",
        epilog=_overview(),
        usage="scorer COMMAND ...",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    if arguments and not arguments[0].startswith("-"):
        from scorer.cli.hints import unknown_command

        parser.error(unknown_command(arguments[0], COMMANDS))
    values = parser.parse_args(arguments)
    if values.version:
        from importlib.metadata import version

        print_result(f"scorer {version('challenge-scorer')}")
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
            "`scorer COMMAND --help` explains a command and its options.",
            "Exit codes: 0 success, 1 a file or a setting is invalid, 2 the arguments are wrong; trec_eval: its own.",
        ]
    )
