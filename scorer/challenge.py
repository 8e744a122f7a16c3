"""Challenge and Track: what challenge.toml declares, read and checked."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

from scorer.errors import ChallengeError, MeasureError
from scorer.measures import Measure, parse
from scorer.options import FORMAT_NAMES, FORMATS_ALLOWED
from scorer.paths import Place, Remote, is_url
from scorer.wording import quoted

FILE = "challenge.toml"
"""The name of the file that makes a folder a challenge."""

RESERVED = frozenset(
    {"teams", "con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
)
"""No name for a track: `teams` is a folder of the site, the others are devices on Windows."""

PLACED = frozenset({"name", "root"})
"""Fields of a track that come from where its table stands, not from a key in it."""


def _stated(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def _path_text(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("is no path")
    return text


def _parsed(name: str, known: ValidationInfo) -> tuple[Measure, ...]:
    """The measures that a name stands for; faulty cut-offs, told by themselves, do not make a name faulty too."""
    return parse(name, known.data.get("cutoffs", (1,)))


def _measure_name(name: str, known: ValidationInfo) -> str:
    _parsed(name, known)
    return name


def _one_measure_name(name: str, known: ValidationInfo) -> str:
    found = _parsed(name, known)
    if len(found) > 1:
        raise ValueError(f"stands for {' and '.join(map(str, found))}")
    return name


def _format_name(name: str) -> str:
    if name.partition(":")[0] not in FORMAT_NAMES:
        raise ValueError("is no format")
    return name


FormatText = Annotated[str, AfterValidator(_format_name)]
"""A format's name, with its options if it has any, as in ``letor:feature=21``."""

Stated = Annotated[str, AfterValidator(_stated)]
PathText = Annotated[str, AfterValidator(_path_text)]
MeasureName = Annotated[str, AfterValidator(_measure_name)]
OneMeasureName = Annotated[str, AfterValidator(_one_measure_name)]


class _Table(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Track(_Table):
    """One track of a challenge: what its submissions are measured with, and how its board is made.

    Paths are kept as they were written; `solution_path` and its like are absolute.
    """

    name: str = Field(
        description="a-z, 0-9 and -, at most 60, no - first, and no name that a system or the site reserves"
    )
    root: Path = Path()
    title: Stated = Field(description="a text")
    description: str = Field("", description="a text; a blank line begins a new paragraph")
    solution: PathText = Field(description="the path or URL of a file")
    queries: PathText | None = Field(None, description="the path or URL of a file with one query id a line")
    submissions: PathText | None = Field(None, description="the path or URL of a folder")
    list_length: int = Field(ge=1, description="a whole number from 1")
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), strict=False, description="ascending whole numbers from 1 to list_length"
    )
    primary: OneMeasureName = Field(description='the name of one measure, as in "MARp" or "nDCG@10"')
    measures: tuple[MeasureName, ...] = Field((), strict=False, description='names of measures, as in ["AP", "P@10"]')
    decimals: int = Field(4, ge=0, le=12, description="a whole number from 0 to 12")
    missing: Literal["zero", "reject"] = Field("zero", description='"zero" or "reject"')
    ties: Literal["trec", "order", "expected", "best", "worst"] = Field(
        "trec", description='"trec", "order", "expected", "best" or "worst"'
    )
    equal_ranks: Literal["shared", "earlier"] = Field("shared", description='"shared" or "earlier"')
    entry: Literal["best", "last"] = Field("best", description='"best" or "last"')
    stage: Literal["final", "preliminary"] = Field("final", description='"final" or "preliminary"')
    final: Literal["all", "rest"] = Field("all", description='"all" or "rest"')
    baselines: tuple[Stated, ...] = Field((), strict=False, description="names of teams, each once")
    solution_format: FormatText | None = Field(None, description=FORMATS_ALLOWED)
    submission_format: FormatText | None = Field(None, description=FORMATS_ALLOWED)

    @field_validator("name")
    @classmethod
    def _usable_in_paths(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name) or name in RESERVED:
            raise ValueError("cannot be a folder of the site")
        return name

    @field_validator("cutoffs")
    @classmethod
    def _ascending(cls, cutoffs: tuple[int, ...], known: ValidationInfo) -> tuple[int, ...]:
        if list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError("does not ascend")
        if cutoffs and cutoffs[-1] > known.data.get("list_length", cutoffs[-1]):
            raise ValueError(f"goes beyond the list_length of {known.data['list_length']}")
        return cutoffs

    @field_validator("ties")
    @classmethod
    def _known_for_all_measures(cls, ties: str, known: ValidationInfo) -> str:
        """The mean over the orders of tied items is not known for every measure."""
        names = (known.data.get("primary"), *known.data.get("measures", ()))
        for name in names if ties == "expected" else ():
            for measure in _parsed(name, known) if name else ():
                measure.need_closed_form(cut=True)
        return ties

    @field_validator("baselines")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names a team twice")
        return names

    @cached_property
    def primary_measure(self) -> Measure:
        """What the board ranks by."""
        return parse(self.primary, self.cutoffs)[0]

    @cached_property
    def all_measures(self) -> tuple[Measure, ...]:
        """The primary measure, then the others in the order they are named in, none twice."""
        further = (measure for name in self.measures for measure in parse(name, self.cutoffs))
        return tuple(dict.fromkeys((self.primary_measure, *further)))

    @property
    def solution_path(self) -> Place:
        return _located(self.root, self.solution)

    @property
    def queries_path(self) -> Place | None:
        return None if self.queries is None else _located(self.root, self.queries)

    @property
    def submissions_path(self) -> Place:
        return _located(self.root, self.submissions or f"submissions/{self.name}")


class Challenge(_Table):
    """A challenge: its name, its tracks in the order of the file, and where its database and its site are."""

    root: Path = Path()
    name: Stated = Field(description="a text")
    description: str = Field("", description="a text; a blank line begins a new paragraph")
    tracks: tuple[Track, ...] = Field(description="a table for each track, as in [tracks.cold-start]")
    database: PathText = Field("scores.db", description="the path of a file, or the URL of a database")
    site: PathText = Field("site", validate_default=True, description="the path of a folder that holds nothing else")

    @field_validator("tracks")
    @classmethod
    def _any(cls, tracks: tuple[Track, ...]) -> tuple[Track, ...]:
        if not tracks:
            raise ValueError("is empty")
        return tracks

    @field_validator("site")
    @classmethod
    def _apart(cls, site: str, known: ValidationInfo) -> str:
        """What all may see holds no solution and no results, and pages are not taken for submissions."""
        if is_url(site):
            raise ValueError("is a URL, where pages are written to a folder of this machine")
        root: Path = known.data["root"]
        folder = _absolute(root, site)
        if root.absolute().is_relative_to(folder):
            raise ValueError("holds the challenge itself")
        database = _address(root, known.data.get("database", ""))
        if isinstance(database, Path) and database.is_relative_to(folder):
            raise ValueError("holds the database")
        for track in known.data.get("tracks", ()):
            solution, submissions = track.solution_path, track.submissions_path
            if isinstance(solution, Path) and solution.is_relative_to(folder):
                raise ValueError(f"holds the solution of {track.name}")
            if isinstance(submissions, Path) and (
                folder.is_relative_to(submissions) or submissions.is_relative_to(folder)
            ):
                raise ValueError(f"overlaps the submissions of {track.name}")
        return site

    @classmethod
    def read(cls, path: str | Path, *, solutions: bool = True) -> Challenge:
        """The challenge in a folder, or in a file such as challenge.toml.

        Parameters
        ----------
        path
            The folder that holds challenge.toml, or the file itself, which may have another name.
        solutions
            Must the solution files be there? A participant who checks a file does not have them.

        Raises
        ------
        ChallengeError
            Naming every fault: the file, the key, what was found, what is allowed.
        """
        file = _file(Path(path))
        document, root = _document(file), file.parent.absolute()
        faults = [*_misplaced(document), *_absent(document, root, solutions)]
        try:
            challenge = cls.model_validate(_placed(document, root))
        except ValidationError as error:
            faults = [*(_told(fault, list(_tables(document))) for fault in error.errors()), *faults]
        if faults:
            raise ChallengeError("\n".join(f"{file}: {fault}" for fault in faults))
        return challenge

    def track(self, name: str) -> Track:
        """The track of that name, or a ChallengeError that says which there are."""
        for track in self.tracks:
            if track.name == name:
                return track
        names = [track.name for track in self.tracks]
        raise ChallengeError(f"no track is called {quoted(name)}{_nearest(name, names)}; there are: {', '.join(names)}")

    @property
    def site_path(self) -> Path:
        return _absolute(self.root, self.site)

    @property
    def database_address(self) -> str | Path:
        """A SQLAlchemy URL as it was written, or the absolute path of a file."""
        return _address(self.root, self.database)


def _located(root: Path, path: str) -> Place:
    return Remote(path) if is_url(path) else _absolute(root, path)


def _absolute(root: Path, path: str) -> Path:
    return Path(os.path.normpath(root.absolute() / path))


def _address(root: Path, database: str) -> str | Path:
    return database if re.match(r"[A-Za-z][\w+]*://", database) else _absolute(root, database)


def _file(path: Path) -> Path:
    try:
        file = path / FILE if path.is_dir() else path
        if file.is_file():
            return file
        found = "is not a file" if file.exists() else "no such file"
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(path))}: cannot be read: {error}") from error
    raise ChallengeError(f"{file}: {found}; a challenge is a folder with a {FILE}, and `scorer init` makes a new one")


def _document(file: Path) -> dict[str, Any]:
    try:
        # Some editors write a byte order mark, which TOML does not know.
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        found = f"byte 0x{error.object[error.start]:02x} in line {line}"
        raise ChallengeError(f"{file}: not UTF-8 ({found}); save it in that encoding") from error
    except OSError as error:
        raise ChallengeError(f"{file}: cannot be read: {error.strerror}") from error
    if not text.strip():
        raise ChallengeError(f"{file}: is empty; `scorer init` in a new folder writes one to start from")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChallengeError(f"{file}: not TOML: {error}") from error


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = document.get("tracks")
    return tables if isinstance(tables, dict) else {}


def _placed(document: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The document as Challenge takes it: the tracks in a row, each with its name and the folder."""
    placed = {**document, "root": root}
    if isinstance(document.get("tracks"), dict):
        placed["tracks"] = tuple(
            {**table, "name": name, "root": root} if isinstance(table, dict) else table
            for name, table in _tables(document).items()
        )
    return placed


def _misplaced(document: Mapping[str, Any]) -> Iterator[str]:
    """Keys that are no keys though a model has a field of that name."""
    if "root" in document:
        yield _unknown(("root",), Challenge)
    for name, table in _tables(document).items():
        for key in sorted(PLACED.intersection(table) if isinstance(table, dict) else ()):
            yield _unknown(("tracks", name, key), Track)


def _absent(document: Mapping[str, Any], root: Path, solutions: bool) -> Iterator[str]:
    """Files that are named and are not there."""
    for name, table in _tables(document).items():
        for key in ("solution", "queries") if solutions else ("queries",):
            path = table.get(key) if isinstance(table, dict) else None
            if isinstance(path, str) and path.strip() and "\0" not in path:
                yield from _absence(_place(("tracks", name, key)), _located(root, path))


def _absence(place: str, file: Place) -> Iterator[str]:
    try:
        if not file.is_file():
            found = "it is not a file" if file.exists() else "there is no such file"
            yield f"{place}: names {file}, but {found}; put it there or correct the path"
    except OSError as error:
        yield f"{place}: names {quoted(str(file))}, which cannot be read: {error.strerror}"


def _told(fault: ErrorDetails, names: Sequence[str]) -> str:
    """One of pydantic's findings in our words."""
    where: tuple[int | str, ...] = fault["loc"]
    model: type[_Table] = Challenge
    if where[0] == "tracks" and len(where) > 1:
        where = ("tracks", names[int(where[1])], *where[2:])
        model = Track
    if fault["type"] == "extra_forbidden":
        return _unknown(where, model)
    if len(where) == 2:
        return f"{_place(where)}: found {_shown(fault['input'])}; allowed: a table, as in [tracks.cold-start]"
    key = where[2] if model is Track else where[0]
    allowed = model.model_fields[str(key)].description
    place = _place(where[:2] if model is Track and key == "name" else where)
    if fault["type"] == "missing":
        return f"{place}: is missing; needed: {allowed}"
    reason = fault.get("ctx", {}).get("error")
    if isinstance(reason, MeasureError):
        return f"{place}: found {_shown(fault['input'])}: {reason}"
    return f"{place}: found {_shown(fault['input'])}{f', which {reason}' if reason else ''}; allowed: {allowed}"


def _unknown(where: Sequence[int | str], model: type[_Table]) -> str:
    hidden = PLACED if model is Track else {"root"}
    known = [key for key in model.model_fields if key not in hidden]
    return f"{_place(where)}: unknown key{_nearest(str(where[-1]), known)}; known: {', '.join(known)}"


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _place(where: Sequence[int | str]) -> str:
    """A key as TOML writes it, `tracks.cold-start.cutoffs[2]`; places in a list count from 0."""
    told = ""
    for part in where:
        if isinstance(part, int):
            told += f"[{part}]"
        else:
            told += f".{part}" if re.fullmatch(r"[\w-]+", part, re.ASCII) else f".{quoted(part)}"
    return told.removeprefix(".")


def _shown(value: object) -> str:
    """A value much as the file writes it, on one line, and cut."""
    if isinstance(value, str):
        return quoted(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # a number of thousands of digits, a table of thousands of levels
        return "something too large to show"
    return quoted(text)[1:-1].replace('\\"', '"')
