"""What the commands have in common when they speak: errors, notes, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer

Folder = Annotated[Path, typer.Argument(help="The challenge: a folder with challenge.toml, or that file.")]
TrackName = Annotated[str | None, typer.Option("--track", "-t", help="One track alone; without it all of them.")]

Thing = TypeVar("Thing")


def say(text: str = "") -> None:
    """A line of a command's result, to standard output."""
    typer.echo(text)


def complain(text: str) -> None:
    """A line about what is wrong or worth knowing, to standard error."""
    typer.echo(text, err=True)


def followed(things: Iterable[Thing], count: int, what: str) -> Iterator[Thing]:
    """The things as they come, with a progress bar where a person is watching."""
    if count < 2 or not sys.stderr.isatty():
        yield from things
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(things, total=count, description=what, console=Console(stderr=True), transient=True)


FORMAT_HELP = (
    "if it cannot be told: vlnet, trec, delimited, jsonl, json, parquet or letor; with options, as in letor:feature=21"
)


def format_name(name: str) -> str:
    """A format's name, with its options, as it was given; one that is none is a wrong call."""
    from scorer.formats import Unreadable, named

    try:
        named(name)
    except Unreadable as error:
        raise typer.BadParameter(str(error)) from error
    return name
