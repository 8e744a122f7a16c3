"""Challenge and Track: what challenge.toml declares, read and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from scorer.errors import ChallengeError
from scorer.measures import Measure, parse
from scorer.options import FORMAT_NAMES, FORMATS_ALLOWED
from scorer.paths import Location, Remote, is_url
from scorer.wording import quoted

FILE = "challenge.toml"
"""The name of the file that makes a folder a challenge."""

RESERVED = frozenset(
    {"teams", "con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
)
"""No name for a track: `teams` is a folder of the site, the others are devices on Windows."""


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


class SettingsTable(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Track(SettingsTable):
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

    @property
    def shows_final(self) -> bool:
        """Whether the board shows final scores."""
        return self.stage != "preliminary"

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
    def solution_path(self) -> Location:
        return located_in(self.root, self.solution)

    @property
    def queries_path(self) -> Location | None:
        return None if self.queries is None else located_in(self.root, self.queries)

    @property
    def submissions_path(self) -> Location:
        return located_in(self.root, self.submissions or f"submissions/{self.name}")


class Challenge(SettingsTable):
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

    def track(self, name: str) -> Track:
        """The track of that name, or a ChallengeError that says which there are."""
        for track in self.tracks:
            if track.name == name:
                return track
        names = [track.name for track in self.tracks]
        raise ChallengeError(f"no track is called {quoted(name)}{nearest(name, names)}; there are: {', '.join(names)}")

    @property
    def site_path(self) -> Path:
        return _absolute(self.root, self.site)

    @property
    def database_address(self) -> str | Path:
        """A SQLAlchemy URL as it was written, or the absolute path of a file."""
        return _address(self.root, self.database)


def located_in(root: Path, path: str) -> Location:
    """The file that `path` names: a URL, or a path relative to `root`."""
    return Remote(path) if is_url(path) else _absolute(root, path)


def _absolute(root: Path, path: str) -> Path:
    return Path(os.path.normpath(root.absolute() / path))


def _address(root: Path, database: str) -> str | Path:
    return database if re.match(r"[A-Za-z][\w+]*://", database) else _absolute(root, database)


def nearest(name: str, known: Sequence[str]) -> str:
    """A suggestion for messages: the known name that is most like `name`, if any is."""
    near = get_close_matches(name.lower(), known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
