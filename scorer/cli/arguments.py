"""How the commands are called: what they share in their options, and what a wrong call is."""

from __future__ import annotations

import inspect
import math
import shutil
import textwrap
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from scorer.errors import ChallengeError
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.challenge.settings import Challenge, Track

FORMAT_HELP = (
    "if it cannot be told: vlnet, trec, delimited, jsonl, json, parquet or letor; with options, as in letor:feature=21"
)


class WrongCallError(Exception):
    """The command was called wrongly: the text says how, for the person who typed it."""


class Parser(ArgumentParser):
    """Tells a wrong call in a line, without the usage of many."""

    def error(self, message: str) -> NoReturn:
        """Say it, and exit."""
        self.exit(2, f"{self.prog}: {printable(message)}\ntry: {self.prog} --help\n")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it takes, and what it does with it."""

    run: Callable[..., int]
    """Takes the arguments by their names, and gives the exit code."""
    arguments: Callable[[ArgumentParser], None]
    """Adds them to a parser."""

    @property
    def description(self) -> str:
        """What is said of it in its help: paragraphs, with an empty line between them."""
        told = (inspect.getdoc(self.run) or "").split("\n\n")
        width = min(shutil.get_terminal_size().columns, 100) - 2
        return "\n\n".join(textwrap.fill(paragraph, width) for paragraph in told)

    @property
    def summary(self) -> str:
        """The same in one line, for the list of all commands."""
        return (self.run.__doc__ or "").partition("\n")[0]


def add_folder(parser: ArgumentParser) -> None:
    """The challenge."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        help="the challenge: a folder with challenge.toml, or that file; default: this folder",
    )


def add_track(parser: ArgumentParser) -> None:
    """One of its tracks."""
    parser.add_argument("-t", "--track", metavar="NAME", help="one track alone; without it all of them")


def number(least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Reads a finite number that an option takes, within these bounds."""
    bounds = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of {least:g} or more"
    expected = f"a number {bounds}" if math.isfinite(least) else "a finite number"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most):
            raise ArgumentTypeError(f"found {quoted(text)}, expected {expected}")
        return value

    return read


def format_name(name: str, option: str) -> str:
    """A format's name, with its options, as it was given; one that is none is a wrong call."""
    from scorer.formats.detection import format_named
    from scorer.formats.reading.bytes import UnreadableError

    try:
        format_named(name)
    except UnreadableError as error:
        raise WrongCallError(f"{option}: {error}") from error
    return name


def opened(folder: Path, track: str | None) -> tuple[Challenge, Sequence[Track]]:
    """A challenge, and those of its tracks that were asked for; its solutions need not be there."""
    from scorer.challenge.loading import read_challenge

    challenge = read_challenge(folder, solutions=False)
    return challenge, challenge.tracks if track is None else [chosen(challenge, track)]


def chosen(challenge: Challenge, name: str) -> Track:
    """The track that was asked for; a name that is none is a wrong call, not a fault of a file."""
    try:
        return challenge.track(name)
    except ChallengeError as error:
        raise WrongCallError(f"--track: {error}") from error
