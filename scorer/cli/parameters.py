"""Parameters of commands, and those that several commands share.

A command is a function. Each of its parameters has a declaration in the place of a default: what it is called on the
command line, and its help. The declarations and the types of the parameters make the parser. A parameter whose type is
a dataclass has the options that its fields declare.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, ArgumentTypeError, _ActionsContainer
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

from scorer.cli.output import CHALLENGE_FILE, challenge_folder, is_challenge, unknown_options
from scorer.errors import ChallengeError, MeasureError
from scorer.files import shown
from scorer.options import FORMATS_ALLOWED, ROW_NAME
from scorer.options import Option as Setting
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.settings.tracks import Challenge, Track
    from scorer.store.store import Store


class WrongCallError(Exception):
    """The arguments of a command are wrong; the text is a message for the person who typed them."""


@contextmanager
def wrong_call(option: str = "", kind: type[Exception] = MeasureError) -> Iterator[None]:
    """Raise WrongCallError for an error of this kind, which is about the value of an option."""
    try:
        yield
    except kind as error:
        raise WrongCallError(f"{option}: {error}" if option else str(error)) from error


class Parser(ArgumentParser):
    """A parser of what the parameters of a function declare. It reports wrong arguments without the usage."""

    described: Callable[[], tuple[str, str]] | None = None
    """Returns the texts above and below the arguments, which only the help needs."""
    place_of_challenge = ""
    """The argument that may be the challenge, as for `OfChallenge`."""
    read_challenge: Callable[[str | Path], str | Path] = Path
    """Makes a challenge of an argument: a path, or the address of a site."""
    wrong_call = 2
    """The exit code for wrong arguments."""

    def format_help(self) -> str:
        if self.described is not None:
            self.description, self.epilog = self.described()
        return super().format_help()

    def values(self, words: Sequence[str], function: Callable[..., object]) -> dict[str, Any]:
        """Return the arguments of a function. Options may be between files, also after the first positional."""
        given, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            hint = unknown_options(unknown, self._option_string_actions, self.prog)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        values = vars(given)
        if self.place_of_challenge:
            self._take_challenge(values, self.place_of_challenge)
        return _arguments(function, values)

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


@dataclass(frozen=True, slots=True)
class Argument:
    """Declares a positional argument or an option."""

    usage: str
    """What the value is called, after the spellings of an option if it is not called as its parameter, as in
    ``-l, --rel GRADE``.
    """
    settings: Mapping[str, Any]
    """What argparse takes beyond what the type of the parameter says."""
    also: Argument | None = None
    """Another option that sets the same parameter."""
    is_option: bool = False

    def flags(self, name: str) -> list[str]:
        """The spellings of an option for a parameter with this name; none for a positional argument."""
        given = [word.rstrip(",") for word in self.usage.split() if word.startswith("-")]
        return given or [f"--{name.replace('_', '-')}"] * self.is_option

    def add_to(self, parser: _ActionsContainer, name: str, annotation: Any) -> None:
        """Add the argument for a parameter with this name and type."""
        is_optional = NoneType in get_args(annotation)
        kind = get_args(annotation)[0] if is_optional else annotation
        is_list = get_origin(kind) is list
        value = get_args(kind)[0] if is_list else kind
        is_needed = not (is_optional or is_list or value is bool or "default" in self.settings)
        read = value if value in (Path, float) else None
        inferred: dict[str, Any] = {"action": "store_true"} if value is bool else {"type": read}
        if get_origin(value) is Literal:
            inferred["choices"] = get_args(value)
        if value is not bool:
            inferred["metavar"] = next((word for word in self.usage.split() if not word.startswith("-")), None)
        flags = self.flags(name)
        if not flags:
            inferred["nargs"] = "*" if is_list else None if is_needed else "?"
            parser.add_argument(name, **{**inferred, **self.settings})
            return
        inferred |= {"action": "append", "default": None if is_optional else []} if is_list else {}
        inferred |= {"required": True} if is_needed else {}
        parser.add_argument(*flags, dest=name, **{**inferred, **self.settings})
        if self.also is not None:
            self.also.add_to(parser, name, annotation)


def argument(help_text: str, called: str = "", **settings: Any) -> Any:
    """Declare a positional argument, as the default of a parameter.

    It is optional if the type of the parameter has None, or if there is a default; a list takes any number of values.
    """
    return Argument(called, {"help": help_text, **settings})


def option(help_text: str, usage: str = "", *, also: Argument | None = None, **settings: Any) -> Any:
    """Declare an option, as the default of a parameter.

    It is required if its type is neither optional nor a list nor bool, and it has no default.
    """
    return Argument(usage, {"help": help_text, **settings}, also, is_option=True)


def group(title: str = "") -> Any:
    """Declare a parameter whose type is a dataclass: its fields are options, below the title in the help."""
    return title


@dataclass(frozen=True, slots=True)
class OfChallenge:
    """Declares the challenge as an option, and as the last argument or in the place of another one."""

    place: str
    has_sites: bool

    def add_to(self, parser: Parser) -> None:
        """Add the option and the argument, for a parameter that is called challenge."""
        parser.read_challenge = folder_or_site if self.has_sites else Path
        parser.place_of_challenge = self.place
        site = "the address of its site, as in https://example.org/lists/, or " if self.has_sites else ""
        default = "the site of the service" if self.has_sites and not self.place else "the current folder"
        about = f"the challenge: {site}a folder with {CHALLENGE_FILE}, or that file; default: {default}"
        parser.add_argument("-C", "--challenge", type=parser.read_challenge, metavar="FOLDER", help=about)
        if self.place == "folder":
            parser.add_argument("folder", nargs="?", help="the challenge, like --challenge")


def of_challenge(place: str = "folder", *, sites: bool = False) -> Any:
    """Declare the challenge, as the default of a parameter that is called challenge.

    Each value of the argument called `place` that is a challenge is taken out of it. The challenge is the current
    folder by default. If `place` is empty, only the option names it, and it is None by default. With `sites`, the
    challenge may also be the address of its site, which is a str.
    """
    return OfChallenge(place, sites)


def parameters_of(function: Callable[..., object]) -> Iterable[Parameter]:
    """The parameters of a function, or the fields of a dataclass; the default of each is its declaration."""
    return signature(function, eval_str=True).parameters.values()


def add_parameters(parser: Parser, function: Callable[..., object], into: _ActionsContainer | None = None) -> None:
    """Add the arguments and options that a function or a dataclass declares, by default without a title."""
    target = into or parser
    for parameter in parameters_of(function):
        match parameter.default:
            case Argument() as one:
                one.add_to(target, parameter.name, parameter.annotation)
            case OfChallenge() as challenge:
                challenge.add_to(parser)
            case str(title):
                add_parameters(parser, parameter.annotation, parser.add_argument_group(title) if title else target)


def _arguments(function: Callable[..., object], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function or of a dataclass, by the values of a parser."""
    return {
        each.name: each.annotation(**_arguments(each.annotation, values))
        if isinstance(each.default, str)
        else values[each.name]
        for each in parameters_of(function)
    }


def folder_or_site(challenge: str | Path) -> str | Path:
    """A challenge as an argument names it: the address of its site, which stays a text, or a path."""
    return str(challenge) if str(challenge).startswith(("https://", "http://")) else Path(challenge)


class OrChallenge(tuple[str, ...]):
    """Words of which one is expected, or a challenge in their place."""

    def __contains__(self, word: object) -> bool:
        """Whether the argument is one of the words or a challenge."""
        return super().__contains__(word) or is_challenge(str(word))


def moment(text: str, expected: str = "a time with its offset, as in 2011-04-18T10:00:00Z") -> datetime:
    """A time with its offset from UTC, for an option."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ArgumentTypeError(f"found {quoted(text)}, expected {expected}")


def _moment_of_record(text: str) -> datetime | int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    return moment(text, "the index of an event, as in 120, or a time with its offset, as in 2011-04-18T10:00:00Z")


def stated(text: str) -> str:
    """Return the text of an option that must not be blank."""
    if not text.strip():
        raise ArgumentTypeError("found a blank text, expected a reason")
    return text


def number(least: float = -math.inf, most: float = math.inf, expected: str = "") -> Callable[[str], float]:
    """Return a function that reads a finite number from `least` to `most`, for an option."""
    bounds = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of {least:g} or more"
    expected = expected or (f"a number {bounds}" if math.isfinite(least) else "a finite number")

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


def form_of(what: str, *forms: str) -> Any:
    """Declare the option for the form of a command's output; the first form is the default."""
    about = f"the format of {what}: %(choices)s; default: %(default)s"
    return option(about, "--format FORM", choices=forms, default=forms[0])


def choice(setting: Setting) -> Any:
    """Declare the option for a setting whose value is one of a few words."""
    return option(setting.help, default=setting.default)


def known_format(flag: str, text: str) -> str:
    """Return the name of a format, with its options, for the option `flag`. Raises WrongCallError for another text."""
    from scorer.lists.detection import format_named
    from scorer.lists.reading.blocks import UnreadableError

    with wrong_call(flag, UnreadableError):
        if text:
            format_named(text)
    return text


def format_of(what: str, flag: str = "--submission-format") -> Any:
    """Declare the option for the format of a file; unless it is of a solution, also the one for a run tag."""
    about = f"{what}, needed only where it cannot be detected: {FORMATS_ALLOWED}"
    tag = option(
        "of a file with several runs in TREC's format, read the rows with this run tag; *: all rows as one run",
        "--tag TAG",
        type=lambda name: known_format(flag, f"trec:tag={name}"),
    )
    also = None if flag == "--solution-format" else tag
    return option(about, f"{flag} FORMAT", also=also, type=partial(known_format, flag))


ONE_TRACK = option("only this track; default: all tracks", "-t, --track NAME")
TRACK_OF_FILE = option("the track that the file is for; needed if there are several", "-t, --track NAME")
AS_OF = option(
    "the state after an event of the record, given by its index, or at a time with its offset from UTC, as in "
    "2011-04-18T10:00:00Z; default: now",
    "MOMENT",
    type=_moment_of_record,
)
REASON_HELP = "why; it is recorded, and visitors read it"
REASON = option(REASON_HELP, "TEXT", type=stated)
ENTRY_HELP = "an entry: its id, its file as messages show it, or the beginning of its SHA-256"
ROW_NAME_OPTION = option(
    f"{ROW_NAME.about}. {ROW_NAME.meanings}. If one has no name or two have the same, all are called by their paths. "
    f"Default: {ROW_NAME.default}",
    f"--{ROW_NAME.name}",
)


def open_challenge(folder: Path, track: str | None = None) -> tuple[Challenge, Sequence[Track]]:
    """Read a challenge, whose solutions may be missing; return it with the requested track, or all of its tracks.

    Raises WrongCallError if no track has the requested name.
    """
    from scorer.settings.loading import read_challenge

    challenge = read_challenge(folder, solutions=False)
    with wrong_call("--track", ChallengeError):
        return challenge, challenge.tracks if track is None else [challenge.track(track)]


@contextmanager
def open_store(
    folder: Path, track: str | None = None, *, create: bool = False, checked: bool = True
) -> Iterator[tuple[Challenge, Sequence[Track], Store]]:
    """Open the database, which must exist without `create`; yields the challenge, the requested track or all tracks,
    and the store. If `checked`, the record must have the events that the site has published.
    """
    from scorer.organising.doctor import check_published
    from scorer.store.store import Store

    challenge, tracks = open_challenge(folder, track)
    with Store.open(challenge.database_address, create=create) as store:
        if checked:
            check_published(challenge, store)
        yield challenge, tracks, store


def only_track(tracks: Sequence[Track]) -> Track:
    """The track of a command that is about one. Raises WrongCallError if none was requested and there are several."""
    if len(tracks) > 1:
        names = ", ".join(each.name for each in tracks)
        raise WrongCallError(f"the challenge has several tracks; name that of the file with --track: {names}")
    return tracks[0]
