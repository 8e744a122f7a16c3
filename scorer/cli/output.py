"""The output of commands: results, messages, the line of progress, and hints for arguments that look wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from scorer.errors import Findings, ScorerError, SolutionError, SubmissionsError, os_errors_as
from scorer.files import is_regular, shown
from scorer.options import ROW_NAME, RowName
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution


_Item = TypeVar("_Item")

_INTERVAL = 0.1
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


def write_file(path: Path, content: bytes, remedy: str = "") -> None:
    """Write the file that a command makes, in a folder that need not exist. Raises ScorerError if it cannot."""
    from scorer.files.writing import replace_content

    with os_errors_as(ScorerError, f"{printable(str(path))}: cannot be written", remedy):
        replace_content(path, content)


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


def with_progress(items: Iterable[_Item], count: int, description: str) -> Iterator[_Item]:
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
            if (now := monotonic()) - shown >= _INTERVAL:
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
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
        except OSError:
            width = 0
        text = printable(text)[: (width or 80) - 1]  # a longer text would take two lines
        print(f"\r{text:{self._length}}", end="", file=sys.stderr, flush=True)
        self._length = len(text)

    def clear(self) -> None:
        if self._length:
            print(f"\r{'':{self._length}}\r", end="", file=sys.stderr, flush=True)
            self._length = 0


_progress_line = _ProgressLine()


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Return the known words that are close to a typed one, as the end of a message; empty if none is."""
    from difflib import get_close_matches

    words = sorted(known)
    close = [word for word in words if len(typed.strip("-")) > 1 and word.startswith(typed)]
    close = close or get_close_matches(typed, words, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""


OF_TREC_EVAL = ("-c", "-n", "-J", "-M", "-N")
"""Options of trec_eval that `scorer evaluate` does not have."""


def unknown_options(unknown: Sequence[str], known: Iterable[str], command: str) -> str:
    """Return the end of the message for arguments that a command does not have; empty without a hint."""
    if command == "scorer evaluate" and any(option.startswith(OF_TREC_EVAL) for option in unknown):
        return "; `scorer trec_eval` takes the options of trec_eval"
    return did_you_mean(next((word.partition("=")[0] for word in unknown if word.startswith("--")), ""), known)


def unknown_command(typed: str, commands: Iterable[str]) -> str:
    """Return the message for a first argument that is not a command."""
    hint = did_you_mean(typed.casefold(), commands)
    if not hint and is_regular(typed):
        hint = f"; to score files, write: scorer evaluate {printable(typed)} SUBMISSION..."
    return f"no command is called {quoted(typed)}{hint}"


CHALLENGE_FILE = "challenge.toml"


def is_challenge(path: str | Path) -> bool:
    """Whether a path is a folder with challenge.toml, or that file."""
    return is_regular(challenge_folder(path) / CHALLENGE_FILE)


def challenge_folder(path: str | Path) -> Path:
    """The folder of a challenge that is given by its folder or its file."""
    return Path(path).parent if Path(path).name == CHALLENGE_FILE else Path(path)


def paths_by_name(paths: Sequence[str], row_name: RowName | None, form: str | None) -> dict[str, str]:
    """Return the paths of submissions, in this format, by what rows call them."""
    from scorer.lists.detection import run_tag

    tags = [run_tag(path, form) for path in paths]
    return dict(zip(row_names(paths, tags, row_name), paths, strict=True))


@contextmanager
def errors_of_files(submissions: Mapping[str, str]) -> Iterator[None]:
    """Raise ScorerError for an invalid solution, or for invalid submissions, whose paths are given by name."""
    try:
        yield
    except SolutionError as error:
        raise ScorerError(challenge_hint(error.path) or str(error)) from error
    except SubmissionsError as error:
        texts = [challenge_hint(submissions[name]) or str(reason) for name, reason in error.errors.items()]
        raise ScorerError("\n".join(texts)) from error


def print_notes(notes: Mapping[str, Sequence[str]], submissions: Mapping[str, str]) -> None:
    """Print the notes on submissions, whose paths are given by name."""
    for name, lines in notes.items():
        for line in lines:
            print_message(f"{shown(submissions[name])}{line.removeprefix(printable(name))}")


def challenge_hint(path: str) -> str:
    """Return what to do with a challenge where a file was expected; empty for anything else."""
    if not is_challenge(path):
        return ""
    folder = challenge_folder(path)
    what = "the settings of a challenge" if Path(path) != folder else "a folder; a file was expected. It is a challenge"
    return f"{printable(shown(path))}: {what}: `scorer run {printable(str(folder))}` scores its submissions"


def swapped_note(graded: Solution, solution: str, submission: str) -> list[str]:
    """Return a message if grades look like run scores, and the run scores, of the first block, like grades."""
    from scorer.lists.detection import opened
    from scorer.lists.reading.blocks import UnreadableError

    grade = graded.ideal.grade
    if 2 * int((grade % 1 != 0).sum()) <= grade.size or not is_regular(submission):
        return []
    with suppress(UnreadableError), opened(submission, None, "from") as (detected, head, _):
        score = detected.ranked(head)(head, Findings()).run_score
        if score is not None and not (score % 1).any():
            first, second = (printable(shown(path)) for path in (solution, submission))
            looks = f"{first}: looks like a submission, and {second} like a solution"
            return [f"{looks}, so they look swapped; the solution comes first"]
    return []
