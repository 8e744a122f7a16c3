"""Arguments that several commands share, errors in them with hints, and the output of commands."""

from __future__ import annotations

import math
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from scorer.errors import ChallengeError, FileError, Findings, MeasureError
from scorer.files import is_regular, shown
from scorer.options import FORMATS_ALLOWED, ROW_NAME, RowName
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.settings.tracks import Challenge, Track
    from scorer.store.snapshot import Snapshot
    from scorer.store.store import Store


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


def challenge_hint(path: str) -> str:
    """Return what to do with a challenge where a file was expected; empty for anything else."""
    if not is_challenge(path):
        return ""
    folder = challenge_folder(path)
    what = "the settings of a challenge" if Path(path) != folder else "a folder; a file was expected. It is a challenge"
    return f"{printable(shown(path))}: {what}: `scorer run {printable(str(folder))}` scores its submissions"


def solution_message(error: FileError, solution: str, submissions: Sequence[str]) -> str:
    """Return the message for a solution that cannot be read: a hint where it looks like something else."""
    from scorer.lists.detection import roles

    if hint := challenge_hint(solution):
        return hint
    if roles(solution) != {"submission"}:
        return str(error)
    other = next((path for path in submissions if path != solution and "solution" in roles(path)), None)
    if other is None:
        first = printable(shown(solution))
        return f"{error}\n{first}: looks like a submission; the solution, with a grade for each item, comes first"
    return _swapped(solution, other)


def submission_message(error: FileError, submission: str, solution: str) -> str:
    """Return the message for a submission that cannot be read: a hint where it looks like something else."""
    from scorer.lists.detection import roles

    if hint := challenge_hint(submission):
        return hint
    if roles(submission) != {"solution"}:
        return str(error)
    path = printable(shown(submission))
    if is_regular(solution) and Path(submission).resolve() == Path(solution).resolve():
        return f"{path}: the solution is given twice; after it, list the submissions only"
    if "submission" in roles(solution):
        return _swapped(solution, submission)
    return f"{path}: looks like a solution, not like a submission; the solution is given once, before the submissions"


def stray_measures(requested: Sequence[str], files: Iterable[str]) -> str:
    """Return what to write for measures among the files, as in ``-m nDCG@10 AP``; empty without any."""
    from scorer.measures import parse

    names: list[str] = []
    for file in files:
        with suppress(MeasureError, OSError):  # no measure, or too long to be the name of a file
            names += [file] if not Path(file).exists() and parse(file) else []
    return f"no file is called {quoted(names[0])}; write {','.join([*requested, *names])}" if names else ""


def swapped_note(graded: Solution, solution: str, submission: str) -> list[str]:
    """Return a message if grades look like run scores, and the run scores, of the first block, like grades."""
    from scorer.lists.detection import opened
    from scorer.lists.reading.blocks import UnreadableError

    grade = graded.ideal.grade
    if 2 * int((grade % 1 != 0).sum()) <= grade.size or not is_regular(submission):
        return []
    with suppress(UnreadableError), opened(submission, None, "from") as (detected, head, _):
        score = detected.ranked(head)(head, Findings()).run_score
        return [_swapped(solution, submission)] if score is not None and not (score % 1).any() else []
    return []


def _swapped(solution: str, submission: str) -> str:
    first, second = (printable(shown(path)) for path in (solution, submission))
    looks = f"{first}: looks like a submission, and {second} like a solution"
    return looks + ", so they look swapped; the solution comes first"


FORMAT_HELP = f"needed only where it cannot be detected: {FORMATS_ALLOWED}"


SETTINGS = "challenge.toml"

ENTRY_HELP = "an entry: its id, its file as messages show it, or the beginning of its SHA-256"


class WrongCallError(Exception):
    """The arguments of a command are wrong; the text is a message for the person who typed them."""


class Parser(ArgumentParser):
    """A parser that reports wrong arguments without the usage."""

    described: Callable[[], tuple[str, str]] | None = None
    """Returns the texts above and below the arguments, which only the help needs."""
    place_of_challenge = ""
    """The argument that may be the challenge, as for `add_challenge`."""
    read_challenge: Callable[[str | Path], str | Path] = Path
    """Makes a challenge of an argument: a path, or the address of a site."""
    wrong_call = 2
    """The exit code for wrong arguments."""

    def format_help(self) -> str:
        """Return the help."""
        if self.described is not None:
            self.description, self.epilog = self.described()
        return super().format_help()

    def values(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of arguments by name. Options may be between files, also after the first positional."""
        given, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            hint = unknown_options(unknown, self._option_string_actions, self.prog)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        values = vars(given)
        if self.place_of_challenge:
            self._take_challenge(values, self.place_of_challenge)
        return values

    def _take_challenge(self, values: dict[str, Any], place: str) -> None:
        """Set the challenge by the option and by the argument in its place."""
        given = values[place]
        if place == "folder":
            folders = [values.pop(place)]
        elif isinstance(given, list):
            folders = list(filter(is_challenge, given))
            values[place] = [value for value in given if value not in folders]
        else:
            words = {word for action in self._actions if action.dest == place for word in action.choices or ()}
            folders = [given] if given is not None and given not in words and is_challenge(given) else []
            values[place] = self.get_default(place) if folders else given
        folders = [self.read_challenge(folder) for folder in (values["challenge"], *folders) if folder is not None]
        if len({challenge_folder(folder).resolve() for folder in folders}) > 1:
            names = " and ".join(quoted(shown(str(folder))) for folder in folders)
            self.error(f"found two challenges, {names}; name one, as a folder or with --challenge")
        values["challenge"] = folders[0] if folders else Path()

    def error(self, message: str) -> NoReturn:
        """Print the message, of which indented lines are listed choices, and exit."""
        lines = "\n  ".join(map(printable, message.split("\n  ")))
        self.exit(self.wrong_call, f"{self.prog}: {lines}\ntry: {self.prog} --help\n")


class OrChallenge(tuple[str, ...]):
    """Words of which one is expected, or a challenge in their place."""

    def __contains__(self, word: object) -> bool:
        """Whether the argument is one of the words or a challenge."""
        return super().__contains__(word) or is_challenge(str(word))


def is_challenge(path: str | Path) -> bool:
    """Whether a path is a folder with challenge.toml, or that file."""
    return is_regular(challenge_folder(path) / SETTINGS)


def challenge_folder(path: str | Path) -> Path:
    """The folder of a challenge that is given by its folder or its file."""
    return Path(path).parent if Path(path).name == SETTINGS else Path(path)


def folder_or_site(challenge: str | Path) -> str | Path:
    """A challenge as an argument names it: the address of its site, which stays a text, or a path."""
    return str(challenge) if str(challenge).startswith(("https://", "http://")) else Path(challenge)


def add_challenge(parser: Parser, place: str = "folder", *, sites: bool = False) -> None:
    """Add the challenge as an option, and as the last argument or in the place of another one.

    Each value of the argument called `place` that is a challenge is taken out of it. The values of the parser have the
    challenge as `challenge`, which is the current folder by default. If `place` is empty, only the option names it, and
    it is None by default. With `sites`, the challenge may also be the address of its site, which is a str.
    """
    parser.read_challenge = folder_or_site if sites else Path
    about = "a folder with challenge.toml, or that file; default: the current folder"
    about = f"the address of its site, as https://example.org/lists/, or {about}" if sites else about
    parser.add_argument(
        "-C", "--challenge", type=parser.read_challenge, metavar="FOLDER", help=f"the challenge: {about}"
    )
    if place == "folder":
        parser.add_argument("folder", nargs="?", help="the challenge, like --challenge")
    parser.place_of_challenge = place


def add_as_of(parser: ArgumentParser) -> None:
    """Add the option for an earlier state of the record."""
    parser.add_argument(
        "--as-of",
        type=_moment_of_record,
        metavar="MOMENT",
        help="the state after an event of the record, given by its index, or at a time with its offset from UTC, as in "
        "2011-04-18T10:00:00Z; default: now",
    )


def moment(text: str) -> datetime:
    """A time with its offset from UTC, for an option."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ArgumentTypeError(f"found {quoted(text)}, expected a time with its offset, as in 2011-04-18T10:00:00Z")


def _moment_of_record(text: str) -> datetime | int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    try:
        return moment(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"found {quoted(text)}, expected the index of an event, as in 120, or a time with its offset, as in "
            "2011-04-18T10:00:00Z"
        ) from None


def selected(view: Snapshot, as_of: datetime | int | None) -> Snapshot:
    """The snapshot as of a moment; None: as it is."""
    return view if as_of is None else view.as_of(as_of)


def add_reason(parser: ArgumentParser) -> None:
    """Add the option for the reason of a decision."""
    parser.add_argument(
        "--reason", required=True, type=stated, metavar="TEXT", help="why; it is recorded, and visitors read it"
    )


def stated(text: str) -> str:
    """Return the text of an option that must not be blank."""
    if not text.strip():
        raise ArgumentTypeError("found a blank text, expected a reason")
    return text


def add_track(parser: ArgumentParser) -> None:
    """Add the option for one track."""
    parser.add_argument("-t", "--track", metavar="NAME", help="only this track; default: all tracks")


def add_form(parser: ArgumentParser, forms: Sequence[str], what: str = "of the output") -> None:
    """Add the option for the form of a command's output; the first form is the default."""
    parser.add_argument(
        "--format",
        dest="form",
        choices=tuple(forms),
        default=forms[0],
        metavar="FORM",
        help=f"the format {what}: %(choices)s; default: %(default)s",
    )


def number(least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """Return a function that reads a finite number from `least` to `most`, for an option."""
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


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number from `least` to `most`, for an option."""
    expected = f"a whole number of {least:,} or more" if most is None else f"a whole number from {least:,} to {most:,}"

    def read(text: str) -> int:
        digits = text.replace("_", "")
        value = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1
        if value < least or (most is not None and value > most):
            raise ArgumentTypeError(f"found {quoted(text)}, expected {expected}")
        return value

    return read


def add_row_names(parser: ArgumentParser) -> None:
    """Add the option for what submissions are called."""
    parser.add_argument(
        f"--{ROW_NAME.name}",
        dest="row_name",
        choices=tuple(ROW_NAME.values),
        help=f"{ROW_NAME.about}. {ROW_NAME.meanings}. If one has no name or two have the same, all are called by their "
        f"paths. Default: {ROW_NAME.default}",
    )


def format_name(name: str, option: str) -> str:
    """Return the name of a format, with its options. Raises WrongCallError if there is no such format."""
    from scorer.lists.detection import format_named
    from scorer.lists.reading.blocks import UnreadableError

    try:
        format_named(name)
    except UnreadableError as error:
        raise WrongCallError(f"{option}: {error}") from error
    return name


def add_tag(parser: ArgumentParser, of_format: str) -> None:
    """Add the option for one run of a TREC file with several; it sets the format that the option `of_format` sets."""
    parser.add_argument(
        "--tag",
        dest=of_format,
        type=lambda tag: f"trec:tag={tag}",
        metavar="TAG",
        help="of a file with several runs in TREC's format, read the rows with this run tag; *: all rows as one run",
    )


def open_challenge(folder: Path, track: str | None = None) -> tuple[Challenge, Sequence[Track]]:
    """Read a challenge, whose solutions may be missing; return it with the requested track, or all of its tracks."""
    from scorer.settings.loading import read_challenge

    challenge = read_challenge(folder, solutions=False)
    return challenge, challenge.tracks if track is None else [requested_track(challenge, track)]


@contextmanager
def open_store(
    folder: Path, track: str | None = None, *, create: bool = False
) -> Iterator[tuple[Challenge, Sequence[Track], Store]]:
    """Open the database, which must exist without `create`; yields the challenge, the requested track or all tracks,
    and the store.
    """
    from scorer.store.store import Store

    challenge, tracks = open_challenge(folder, track)
    with Store.open(challenge.database_address, create=create) as store:
        yield challenge, tracks, store


def only_track(tracks: Sequence[Track]) -> Track:
    """The track of a command that is about one. Raises WrongCallError if none was requested and there are several."""
    if len(tracks) > 1:
        names = ", ".join(each.name for each in tracks)
        raise WrongCallError(f"the challenge has several tracks; name that of the file with --track: {names}")
    return tracks[0]


def requested_track(challenge: Challenge, name: str) -> Track:
    """Return the track called `name`. Raises WrongCallError if no track has this name."""
    try:
        return challenge.track(name)
    except ChallengeError as error:
        raise WrongCallError(f"--track: {error}") from error
