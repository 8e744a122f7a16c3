"""Output of the commands: results, messages, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from scorer.wording import printable

Item = TypeVar("Item")


def print_result(text: str) -> None:
    """Print a command's result to standard output."""
    print(text, flush=True)


def print_message(text: str) -> None:
    """Print errors, notes or counts to standard error, with control characters escaped."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def with_progress(items: Iterable[Item], count: int, description: str) -> Iterator[Item]:
    """Yield the items, with a progress bar if standard error is a terminal."""
    if count < 2 or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=count, description=description, console=Console(stderr=True), transient=True)
