"""The command line: commands in files by what they are for. The only place that prints or exits."""

from __future__ import annotations

import gc
import inspect
import io
import os
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name

from scorer.cli.arguments import Parser, WrongCallError, print_message, print_result, unknown_command
from scorer.errors import ScorerError, system_failure


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its function, whose docstring is its help, and its arguments.

    Both are given by their addresses, as in ``evaluate:add_evaluation``: the file of a command is loaded on first use.
    """

    function: str
    arguments: str
    exit_codes: tuple[int, int] = (1, 2)
    """For an invalid file or setting, and for wrong arguments."""

    @property
    def run(self) -> Callable[..., int]:
        """The function that takes the arguments by name and returns the exit code."""
        function: Callable[..., int] = resolve_name(f"{__package__}.{self.function}")
        return function

    @property
    def add_arguments(self) -> Callable[[Parser], None]:
        """The function that adds the arguments to a parser."""
        function: Callable[[Parser], None] = resolve_name(f"{__package__}.{self.arguments}")
        return function

    def parser(self, name: str) -> Parser:
        """The parser of the command, which is called `name`."""
        parser = Parser(prog=f"scorer {name}", formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
        parser.wrong_call = self.exit_codes[1]
        parser.described = lambda: (self.description, _examples(name))
        self.add_arguments(parser)
        return parser

    @property
    def description(self) -> str:
        """The docstring for the command's own help, in paragraphs."""
        import shutil
        import textwrap

        paragraphs = (inspect.getdoc(self.run) or "").split("\n\n")
        width = min(shutil.get_terminal_size().columns, 100) - 2
        return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs)

    @property
    def summary(self) -> str:
        """The first line of the docstring, for the list of commands."""
        return (self.run.__doc__ or "").partition("\n")[0]


def _examples(name: str) -> str:
    from scorer.cli.help import EXAMPLES

    return "\n".join(["examples:", *(f"  {example}" for example in EXAMPLES[name])])


GROUPS: Mapping[str, Mapping[str, Command]] = {
    "evaluate": {
        "evaluate": Command("evaluate:evaluate", "evaluate:add_evaluation"),
        "trec_eval": Command("trec_eval:trec_eval", "trec_eval:add_trec_eval", exit_codes=(2, 1)),
        "compare": Command("evaluate:compare", "evaluate:add_comparison"),
        "fuse": Command("runs:fuse", "runs:add_fusion"),
        "overlap": Command("runs:overlap", "runs:add_overlap"),
        "report": Command("reports:report", "reports:add_report"),
        "convert": Command("runs:convert", "runs:add_conversion"),
        "measures": Command("evaluate:measures", "evaluate:add_measure"),
    },
    "take part": {
        "check": Command("score:check", "score:add_file"),
        "submit": Command("submit:submit", "submit:add_delivery"),
        "verify": Command("verify:verify", "verify:add_document"),
    },
    "run a challenge": {
        "init": Command("run:init", "run:add_new_folder"),
        "run": Command("run:run", "run:add_run"),
        "score": Command("score:score", "score:add_scoring"),
        "render": Command("run:render", "run:add_moment"),
        "leaderboard": Command("reports:leaderboard", "reports:add_board"),
        "status": Command("run:status", "arguments:add_challenge"),
        "entries": Command("reports:entries", "reports:add_entries"),
        "collect": Command("submit:collect", "submit:add_source"),
        "serve": Command("run:serve", "run:add_service"),
    },
    "decide": {
        "phases": Command("reports:phases", "reports:add_phases"),
        "teams": Command("organise:teams", "organise:add_action"),
        "pick": Command("organise:pick", "organise:add_picks"),
        "erratum": Command("organise:erratum", "organise:add_erratum"),
        "amend": Command("organise:amend", "organise:add_time"),
        "forget": Command("organise:forget", "organise:add_outcome"),
        "retry": Command("organise:retry", "organise:add_retries"),
    },
    "trust": {
        "split": Command("organise:split", "organise:add_keys"),
        "commit": Command("organise:commit", "arguments:add_challenge"),
        "receipt": Command("organise:receipt", "organise:add_receipts"),
        "reveal": Command("organise:reveal", "organise:add_revealed"),
    },
    "care": {
        "export": Command("run:export", "run:add_bundle"),
        "import": Command("run:import_", "run:add_imported"),
        "doctor": Command("run:doctor", "run:add_repair"),
        "completion": Command("help:completion", "help:add_shell"),
    },
}
"""The commands by what they are for, in the order of the help and of docs/commands.md."""

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def main() -> None:
    """Run the command line. An error that the user can correct is printed as a message, without a traceback."""
    # Imported modules stay, and so do the rows of a large board: with fewer searches for garbage among them, a command
    # starts about 10 % faster, and a run with 2,000 teams takes about 3 % less.
    gc.set_threshold(500_000)
    # Processes that this one starts import nothing from the current folder, where anybody may have put a file.
    os.environ["PYTHONSAFEPATH"] = "1"
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
    try:
        return command.run(**parser.values(rest))
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
    lines = []
    for title, commands in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {command.summary}" for name, command in commands.items()), ""]
    return "\n".join(
        [
            *lines,
            "`scorer COMMAND --help` explains a command and its options.",
            "Exit codes: 0 success, 1 a file or a setting is invalid, 2 the arguments are wrong; trec_eval: its own.",
        ]
    )
