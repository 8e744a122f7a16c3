"""What the commands have in common when they speak: errors, notes, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from scorer.wording import printable

Thing = TypeVar("Thing")


def say(text: str = "") -> None:
    """A line of a command's result, to standard output."""
    print(text, flush=True)


def complain(text: str) -> None:
    """Lines about what is wrong or worth knowing, to standard error; what they quote cannot steer the terminal."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def followed(things: Iterable[Thing], count: int, what: str) -> Iterator[Thing]:
    """The things as they come, with a progress bar where a person is watching."""
    if count < 2 or not sys.stderr.isatty():
        yield from things
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(things, total=count, description=what, console=Console(stderr=True), transient=True)
