"""``scorer completion``: a script with which a shell completes commands, options and their values.

The script is written once and has all words in it, so that completion starts no Python.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scorer.cli.console import print_result
from scorer.options import FORMAT_NAMES

if TYPE_CHECKING:
    from scorer.cli import Command

FILES, FOLDERS, MEASURES, NOTHING = "files", "folders", "measures", "nothing"
"""What completes a value that is not one of a few words."""

OF_METAVAR = {"FILE": FILES, "FOLDER": FOLDERS, "MEASURE": MEASURES, "FORMAT": " ".join(FORMAT_NAMES)}
"""What completes the values that the help calls so."""

PLAIN = {"entry", "ENTRY", "phase", "VALUE"}
"""Arguments that are neither files nor one of a few words."""


def add_shell(parser: ArgumentParser) -> None:
    """Add the arguments of ``completion``."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that reads the script")


def completion(shell: Literal["bash", "zsh", "fish"]) -> int:
    """Print a script with which a shell completes commands, options, words, measures and files.

    Save the script where the shell looks for completions, as in the examples; for zsh, in a folder of fpath. The script
    has all words in it and does not start scorer. Print it again after an update.
    """
    from scorer.cli import COMMANDS
    from scorer.cli.completion_scripts import SCRIPTS

    print_result(SCRIPTS[shell]({name: completed(name, each) for name, each in COMMANDS.items()}, measure_names()))
    return 0


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command."""

    spellings: tuple[str, ...]
    about: str
    value: str
    """What completes its value: words with spaces between them, or one of the constants; empty without a value."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What completes the arguments of a command."""

    summary: str
    options: tuple[Option, ...]
    places: tuple[str, ...]
    """What completes each argument that is not an option, as for the value of an option."""
    goes_on: bool
    """Whether the last of the places is also that of all further arguments."""


def completed(name: str, command: Command) -> Completed:
    """Return what completes the arguments of a command."""
    actions = command.parser(name)._actions
    positional = [action for action in actions if not action.option_strings]
    return Completed(
        command.summary,
        tuple(
            Option(tuple(action.option_strings), _about(action), "" if action.nargs == 0 else _value(action))
            for action in actions
            if action.option_strings
        ),
        tuple(map(_value, positional)),
        goes_on=bool(positional) and positional[-1].nargs in ("*", "+"),
    )


def _about(action: Action) -> str:
    """The beginning of the help of an option."""
    return (action.help or "").partition(";")[0].partition(". ")[0]


def _value(action: Action) -> str:
    if action.choices is not None:
        return " ".join(map(str, action.choices))
    called = str(action.metavar or action.dest)
    return OF_METAVAR.get(called, NOTHING if action.option_strings or called in PLAIN else FILES)


def measure_names() -> list[str]:
    """Return the names that complete a measure: the kinds, with a cut-off where they need one, and the groups."""
    from scorer.measures import DEFAULT, KINDS, SETS

    cutoffs = {"required": "@10", "list": "@5,10", "level": "@0.5", "multiple": "@0.5"}
    names = [f"{kind.name}{cutoffs.get(kind.cutoff, '')}" for kind in KINDS]
    return list(dict.fromkeys([*names, *DEFAULT, *SETS]))
