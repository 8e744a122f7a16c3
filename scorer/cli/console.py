"""Output of the commands: results, messages, progress, and what submissions are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from time import monotonic
from typing import TypeVar

from scorer.options import ROW_NAME, RowName
from scorer.paths import shown
from scorer.wording import printable

Item = TypeVar("Item")

INTERVAL = 0.1
"""The least number of seconds between two states of the progress line."""


def print_result(*texts: str) -> None:
    """Print results of a command to standard output."""
    for text in texts:
        _progress_line.clear()
        print(text, flush=True)


def print_message(*texts: str) -> None:
    """Print errors, notes or counts to standard error, with control characters escaped."""
    for text in texts:
        _progress_line.clear()
        print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def row_names(paths: Sequence[str], tags: Sequence[str | None], requested: RowName | None) -> list[str]:
    """Return what the submissions are called: by their tags or files if each has another name, else by their paths.

    Prints a note if the requested names cannot be used.
    """
    by_path = [shown(path) for path in paths]
    chosen = requested or ROW_NAME.default
    if chosen == "path":
        return by_path
    names = list(tags) if chosen == "tag" else [PurePath(path).name for path in by_path]
    present = [name for name in names if name]
    if len(present) == len(set(present)) == len(by_path):
        return present
    if requested is not None:
        what = "have the same name" if len(present) == len(names) else "have no name"
        print_message(f"--{ROW_NAME.name} {requested}: some submissions {what}; all are called by their paths")
    return by_path


def with_progress(items: Iterable[Item], count: int, description: str) -> Iterator[Item]:
    """Yield the items; if standard error is a terminal, show how many are done and how fast, on one line.

    The line is cleared before anything else is printed, and at the end.
    """
    if count < 2 or not sys.stderr.isatty():
        yield from items
        return
    start = shown = monotonic()
    _progress_line.show(progress(description, 0, count, 0.0))
    try:
        for done, item in enumerate(items):
            yield item
            if (now := monotonic()) - shown >= INTERVAL:
                _progress_line.show(progress(description, done + 1, count, now - start))
                shown = now
    finally:
        _progress_line.clear()


def progress(description: str, done: int, count: int, seconds: float) -> str:
    """Return the text of the progress line: ``main: 132/300, 12.5 a second, 13 s left``."""
    text = f"{description}: {done:,}/{count:,}"
    if not done or not seconds:
        return text
    rate = f"{done / seconds:,.1f} a second" if done >= seconds else f"{seconds / done:,.1f} s each"
    left = round((count - done) * seconds / done)
    return f"{text}, {rate}, {f'{left // 60} min {left % 60:02} s' if left >= 60 else f'{left} s'} left"


class _ProgressLine:
    """The last line of the terminal, which is written again in its place."""

    def __init__(self) -> None:
        self._length = 0

    def show(self, text: str) -> None:
        """Write a text over the line."""
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
        except OSError:
            width = 0
        text = printable(text)[: (width or 80) - 1]  # a longer text would take two lines
        print(f"\r{text:{self._length}}", end="", file=sys.stderr, flush=True)
        self._length = len(text)

    def clear(self) -> None:
        """Remove the line, if there is one."""
        if self._length:
            print(f"\r{'':{self._length}}\r", end="", file=sys.stderr, flush=True)
            self._length = 0


_progress_line = _ProgressLine()
