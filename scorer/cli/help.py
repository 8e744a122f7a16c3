"""The script with which a shell completes commands.

The script is written once and has all words in it, so that completion starts no Python.
"""

from __future__ import annotations

from argparse import Action
from pathlib import Path
from typing import Any, Literal

from scorer.cli.output import print_result
from scorer.cli.parameters import Parser, add_parameters, argument
from scorer.options import FORMAT_NAMES

PLAIN = {"entry", "ENTRY", "phase", "VALUE"}
"""Arguments that are neither files nor one of a few words."""

FISH_VALUE = "(string replace -r -- '^--[^=]*=' '' (commandline -ct))"
"""What the word at the cursor has after an option with "="."""


def _shell(name: str) -> str:
    """The functions that complete a measure in a shell, or those with which the script for bash ends."""
    return Path(__file__).with_name("shells").joinpath(name).read_text("utf-8").rstrip("\n")


def completion(shell: Literal["bash", "zsh", "fish"] = argument("the shell that reads the script")) -> int:
    """Print a script with which a shell completes commands, options, words, measures and files.

    Save the script where the shell looks for completions, as in the examples; for zsh, in a folder of fpath. The script
    has all words in it and does not start scorer. Print it again after an update.
    """
    import shtab

    script = shtab.complete(_parser(shell), shell).rstrip("\n")
    if shell == "bash":
        script += f"\n\n{_shell('words.bash')}"
    if shell == "zsh":
        # All further arguments are completed as the first of several is, and not that one only.
        script = script.replace('"(*)::', '"*:').replace('"(*):', '"*:')
    print_result(script)
    return 0


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
    elif shown == "FILE" or not (action.option_strings or action.choices or shown in PLAIN):
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
    from scorer.measures import DEFAULT, KINDS, SETS

    cutoffs = {"required": "@10", "list": "@5,10", "level": "@0.5", "multiple": "@0.5"}
    names = [f"{kind.name}{cutoffs.get(kind.cutoff, '')}" for kind in KINDS]
    return list(dict.fromkeys([*names, *DEFAULT, *SETS]))
