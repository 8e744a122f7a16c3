"""Arguments that several commands share, and errors in them."""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from scorer.errors import ChallengeError
from scorer.options import FORMATS_ALLOWED, ROW_NAME
from scorer.paths import is_regular, shown
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.challenge.settings import Challenge, Track
    from scorer.store.snapshot import Snapshot
    from scorer.store.store import Store

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
            from scorer.cli.hints import unknown_options

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
    from scorer.formats.detection import format_named
    from scorer.formats.reading.bytes import UnreadableError

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
    from scorer.challenge.loading import read_challenge

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
