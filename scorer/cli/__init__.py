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
from pathlib import Path
from pkgutil import resolve_name

from scorer.cli.output import print_message, print_result, unknown_command
from scorer.cli.parameters import Parser, WrongCallError, add_parameters
from scorer.errors import ScorerError, need_what_is_imported, system_failure


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a function, whose docstring is its help, and whose parameters are its arguments.

    The function is given by its address, as in ``evaluate:compare``: the file of a command is loaded on first use.
    """

    address: str

    @property
    def exit_codes(self) -> tuple[int, int]:
        """For an invalid file or setting, and for wrong arguments."""
        return (2, 1) if self.address == "evaluate:trec_eval" else (1, 2)

    @property
    def function(self) -> Callable[..., int | None]:
        """The function that takes the arguments by name and returns the exit code; None: 0."""
        function: Callable[..., int | None] = resolve_name(f"{__package__}.{self.address}")
        return function

    def parser(self, name: str) -> Parser:
        """The parser of the command, which is called `name`."""
        parser = Parser(prog=f"scorer {name}", formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)
        parser.wrong_call = self.exit_codes[1]
        parser.described = lambda: (self.description, "\n  ".join(["examples:", *examples(name)]))
        add_parameters(parser, self.function)
        return parser

    @property
    def description(self) -> str:
        """The docstring for the command's own help, in paragraphs."""
        import shutil
        import textwrap

        paragraphs = (inspect.getdoc(self.function) or "").split("\n\n")
        width = min(shutil.get_terminal_size().columns, 100) - 2
        return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs)

    @property
    def summary(self) -> str:
        """The first line of the docstring, for the list of commands."""
        return (self.function.__doc__ or "").partition("\n")[0]


def examples(name: str) -> Sequence[str]:
    """The examples of a command."""
    lines = Path(__file__).with_name("examples.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line.split()[1] == name]


_ADDRESSES: Mapping[str, str] = {
    "evaluate": "evaluate:evaluate evaluate:trec_eval evaluate:compare runs:agree runs:fuse runs:overlap runs:pool "
    "reports:report runs:convert reports:measures",
    "take part": "participate:check participate:submit reports:verify",
    "run a challenge": "run:init run:rehearse run:run run:score run:render reports:leaderboard run:status "
    "reports:entries run:collect run:serve",
    "decide": "reports:phases organise:teams organise:pick organise:erratum organise:amend organise:forget "
    "organise:retry runs:similar",
    "trust": "organise:split organise:commit organise:receipt organise:heads organise:reveal",
    "care": "run:export reports:paper run:import_ run:doctor run:restore run:completion",
}
"""The addresses of commands by what they are for, in the order of the help and of docs/commands.md."""

COMMAND_GROUPS = {
    title: {address.partition(":")[2].removesuffix("_"): Command(address) for address in addresses.split()}
    for title, addresses in _ADDRESSES.items()
}
"""The commands by name, in the same order."""

COMMANDS = {name: command for commands in COMMAND_GROUPS.values() for name, command in commands.items()}


def main() -> None:
    """Run the command line. An error that the user can correct is printed as a message, without a traceback."""
    # Imported modules stay, and so do the rows of a large board: with fewer searches for garbage among them, a command
    # starts about 10 % faster, and a run with 2,000 teams takes about 3 % less.
    gc.set_threshold(500_000)
    # Processes that this one starts import nothing from the current folder, where anybody may have put a file.
    os.environ["PYTHONSAFEPATH"] = "1"
    # A plugin that some other package brings for pydantic would be searched for, and would run here.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file or another program gets UTF-8, which scorer reads. A terminal keeps its encoding, which may lack
        # characters in the name of a file.
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="backslashreplace")
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
    if not arguments or arguments[0] not in COMMANDS:
        return _run_without_command(arguments)
    name, *rest = arguments
    command = COMMANDS[name]
    parser = command.parser(name)
    try:
        with need_what_is_imported():
            return command.function(**parser.values(rest, command.function)) or 0
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
    for title, commands in COMMAND_GROUPS.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {each.summary}" for name, each in commands.items()), ""]
    return "\n".join(
        [
            *lines,
            "`scorer COMMAND --help` explains a command and its options.",
            "Exit codes: 0 success, 1 a file or a setting is invalid, 2 the arguments are wrong; trec_eval: its own.",
        ]
    )
