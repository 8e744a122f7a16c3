"""Challenge and Track: the settings in challenge.toml, as validated models."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from scorer.challenge.branding import NO_BRANDING, Branding
from scorer.challenge.phases import Phase, check_order
from scorer.challenge.quotas import NO_QUOTA, Quota
from scorer.challenge.splits import KeySplit
from scorer.challenge.tables import (
    AUTO,
    FULL_DECIMALS,
    IGNORED,
    MARKDOWN,
    TEXT,
    Decimals,
    FormatText,
    MeasureName,
    OneMeasureName,
    PathText,
    SettingsTable,
    Stated,
    absolute,
    check_unit_mean,
    located_in,
    parsed,
)
from scorer.errors import ChallengeError
from scorer.limits import Limits
from scorer.measures import Measure, parse
from scorer.options import (
    COUNTING_ENTRY,
    EQUAL_RANKS,
    FINAL_SPLIT,
    FORMATS_ALLOWED,
    PER_QUERY,
    STAGE,
    STATISTICS,
    TIES,
    TRACK_MISSING,
    CountingEntry,
    EqualRanks,
    FinalSplit,
    PerQuery,
    PhaseShows,
    Split,
    Stage,
    Statistics,
    Ties,
    TrackMissing,
)
from scorer.paths import Location, is_url
from scorer.wording import quoted, suggestion

FILE = "challenge.toml"
"""The name of the file that makes a folder a challenge."""

RESERVED = frozenset(
    {"static", "teams", "con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
"""Names that a track cannot have: `static` and `teams` are folders of the site, the others devices on Windows."""

BY_FINAL_SCORES = ("best_final", "best-final", "final")
"""Names that other platforms have for a rule which scorer refuses: the entry with the best final score counts."""


class Track(SettingsTable):
    """One track of a challenge: its files, its measures, and the rules of its board.

    `solution` and the other paths are as they were written; `solution_path` and the like are absolute.
    """

    not_keys: ClassVar[frozenset[str]] = frozenset({"root", "name", "deciding_phase", "auto_decimals"})

    name: str = Field(
        description="a-z, 0-9 and -, at most 60 characters, not beginning with -, and not a reserved name such as teams"
    )
    root: Path = Path()
    title: Stated = Field(description=TEXT)
    description: str = Field("", description=MARKDOWN)
    solution: PathText = Field(description="the path or URL of a file")
    queries: PathText | None = Field(None, description="the path or URL of a file with one query id a line")
    items: PathText | None = Field(None, description="the path or URL of a file with one item id a line")
    exclude: PathText | None = Field(None, description='"self", or the path or URL of a file with items by query')
    submissions: PathText | None = Field(None, description="the path or URL of a folder")
    ignore: tuple[Stated, ...] = Field(IGNORED, strict=False, description='names of files, as in ["README*", "*.log"]')
    list_length: int = Field(ge=1, description="a whole number from 1")
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), strict=False, description="ascending whole numbers from 1 to list_length"
    )
    primary: OneMeasureName = Field(description='the name of one measure, as in "MARp" or "nDCG@10"')
    measures: tuple[MeasureName, ...] = Field((), strict=False, description='names of measures, as in ["AP", "P@10"]')
    decimals: Decimals = Field(FULL_DECIMALS, ge=0, le=12, description=f'a whole number from 0 to 12, or "{AUTO}"')
    missing: TrackMissing = Field("zero", description=TRACK_MISSING.allowed)
    ties: Ties = Field("trec", description=TIES.allowed)
    equal_ranks: EqualRanks = Field("shared", description=EQUAL_RANKS.allowed)
    entry: CountingEntry = Field("best", description=COUNTING_ENTRY.allowed)
    picks: int = Field(2, ge=1, description='a whole number from 1, with entry = "picks"')
    stage: Stage | None = Field(None, description=STAGE.allowed)
    split: KeySplit | None = Field(None, description="a table, as in split = {preliminary = 0.2}")
    final: FinalSplit = Field("all", description=FINAL_SPLIT.allowed)
    baselines: tuple[Stated, ...] = Field((), strict=False, description="names of teams, each once")
    phases: tuple[Phase, ...] = Field((), strict=False, description="tables, as in [[tracks.cold-start.phases]]")
    late_board: bool = Field(False, description="true or false")
    trusted_times: bool = Field(False, description="true or false")
    quota: Quota = Field(NO_QUOTA, description="a table, as in quota = {per_day = 5}")
    per_query: PerQuery = Field("hidden", description=PER_QUERY.allowed)
    statistics: Statistics = Field("primary", description=STATISTICS.allowed)
    reveal_solution: bool = Field(False, description="true or false")
    solution_format: FormatText | None = Field(None, description=FORMATS_ALLOWED)
    submission_format: FormatText | None = Field(None, description=FORMATS_ALLOWED)

    deciding_phase: Phase | None = None
    """The phase that decides what the board shows of its scores now; None: the board shows the scores of the stage."""
    auto_decimals: int = 0
    """The decimals of preliminary scores with ``decimals = "auto"``; `entries` sets them."""

    @field_validator("name")
    @classmethod
    def _usable_in_paths(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name) or name in RESERVED:
            raise ValueError("cannot be the name of a folder of the site")
        return name

    @field_validator("cutoffs")
    @classmethod
    def _ascending(cls, cutoffs: tuple[int, ...], validated: ValidationInfo) -> tuple[int, ...]:
        if list(cutoffs) != sorted(set(cutoffs)):
            raise ValueError("is not ascending")
        if cutoffs and cutoffs[-1] > validated.data.get("list_length", cutoffs[-1]):
            raise ValueError(f"exceeds the list_length of {validated.data['list_length']}")
        return cutoffs

    @field_validator("decimals")
    @classmethod
    def _of_unit_mean(cls, decimals: int | None, validated: ValidationInfo) -> int | None:
        if decimals is None:
            check_unit_mean(validated, "are the digits that the standard error of the primary score leaves")
        return decimals

    @field_validator("ties")
    @classmethod
    def _possible_for_all_measures(cls, ties: Ties, validated: ValidationInfo) -> Ties:
        """Not every measure has a formula for the mean over the orders of tied items."""
        names = (validated.data.get("primary"), *validated.data.get("measures", ()))
        for name in names if ties == "expected" else ():
            for measure in parsed(name, validated) if name else ():
                measure.need_closed_form(cut=True)
        return ties

    @field_validator("entry", mode="before")
    @classmethod
    def _not_by_final_scores(cls, entry: object) -> object:
        if entry in BY_FINAL_SCORES:
            raise ValueError(
                "chooses by the final queries: that favours teams with many entries, and the final scores would be "
                "optimistic"
            )
        return entry

    @field_validator("picks")
    @classmethod
    def _only_with_picks(cls, picks: int, validated: ValidationInfo) -> int:
        # Recorded settings have the default.
        if picks != cls.model_fields["picks"].default and validated.data.get("entry", "picks") != "picks":
            raise ValueError(f'has no effect with entry = "{validated.data["entry"]}"')
        return picks

    @field_validator("baselines")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names a team twice")
        return names

    @field_validator("phases")
    @classmethod
    def _in_order(cls, phases: tuple[Phase, ...], validated: ValidationInfo) -> tuple[Phase, ...]:
        check_order(phases)
        names = [phase.name for phase in phases if phase.shows == "ladder"]
        if names:
            check_unit_mean(validated, f'{names[0]} shows the scores of the Ladder (shows = "ladder")')
        if phases and validated.data.get("stage") is not None:
            raise ValueError(
                "cannot be combined with stage; remove stage, because the phases decide which scores are shown"
            )
        return phases

    @cached_property
    def primary_measure(self) -> Measure:
        """The measure that the board ranks by."""
        return parse(self.primary, self.cutoffs)[0]

    @cached_property
    def all_measures(self) -> tuple[Measure, ...]:
        """The primary measure, then the others in the order of the file, each once."""
        others = (measure for name in self.measures for measure in parse(name, self.cutoffs))
        return tuple(dict.fromkeys((self.primary_measure, *others)))

    @property
    def shows(self) -> PhaseShows:
        """What the board shows of its scores now."""
        return "score" if self.deciding_phase is None else self.deciding_phase.shows

    @property
    def hides_scores(self) -> bool:
        """Whether the board shows no scores now, because its phase shows nothing."""
        return self.shows == "nothing"

    @property
    def has_ladder(self) -> bool:
        """Whether the Ladder decides now which preliminary scores the board shows."""
        return self.shows == "ladder"

    @property
    def ladder_step(self) -> Decimal | None:
        """The step of the Ladder; None for its parameter-free form, and without the Ladder."""
        return None if self.deciding_phase is None else self.deciding_phase.ladder_step

    @property
    def shows_final(self) -> bool:
        """Whether the board shows final scores and ranks by them."""
        return self.stage != "preliminary" and self.shows == "score"

    @property
    def preliminary_decimals(self) -> int:
        """The decimals of preliminary scores."""
        return self.auto_decimals if self.decimals is None else self.decimals

    @property
    def final_decimals(self) -> int:
        """The decimals of final scores."""
        return FULL_DECIMALS if self.decimals is None else self.decimals

    @property
    def shown_decimals(self) -> int:
        """The decimals of the scores that the board shows and ranks by."""
        return self.final_decimals if self.shows_final else self.preliminary_decimals

    @property
    def shown_stage(self) -> Stage:
        """Which scores the board shows and ranks by."""
        return "final" if self.shows_final else "preliminary"

    @property
    def shown_split(self) -> Split:
        """Which queries the scores that the board ranks by are means over."""
        return self.final if self.shows_final else "preliminary"

    @property
    def shows_queries(self) -> bool:
        """Whether pages show how the scores of single queries are distributed."""
        return self.shows_final or (self.per_query == "public" and self.shows == "score")

    @property
    def solution_path(self) -> Location:
        return located_in(self.root, self.solution)

    @property
    def queries_path(self) -> Location | None:
        return None if self.queries is None else located_in(self.root, self.queries)

    @property
    def items_path(self) -> Location | None:
        return None if self.items is None else located_in(self.root, self.items)

    @property
    def key_path(self) -> Path | None:
        """The key file of the split; None without a split."""
        return None if self.split is None else absolute(self.root, self.split.key_file)

    @property
    def submissions_path(self) -> Location:
        return located_in(self.root, self.submissions or f"submissions/{self.name}")


class Challenge(SettingsTable):
    """A challenge: its name, its tracks in the order of the file, its database and its site."""

    not_keys: ClassVar[frozenset[str]] = frozenset({"root", "branding"})

    root: Path = Path()
    name: Stated = Field(description=TEXT)
    """The name of the challenge."""
    description: str = Field("", description=MARKDOWN)
    tracks: tuple[Track, ...] = Field(description="a table for each track, as in [tracks.cold-start]")
    """The tracks, in the order of the file."""
    limits: Limits = Field(Limits(), description="a table, as in [limits]")
    keep_submissions: bool = Field(True, description="true or false")
    """Whether the bytes of submissions that are scored are kept next to the database."""
    database: PathText = Field("scores.db", description="the path of a file, or the URL of a database")
    site: PathText = Field("site", validate_default=True, description=Branding.model_fields["folder"].description)
    branding: Branding = NO_BRANDING
    """The table [site]; its `folder` is `site`."""

    @field_validator("site")
    @classmethod
    def _separate(cls, site: str, validated: ValidationInfo) -> str:
        """The public folder contains no solution and no results, and no page is read as a submission."""
        if is_url(site):
            raise ValueError("is a URL; the site is written to a folder on this machine")
        root: Path = validated.data["root"]
        folder = absolute(root, site)
        if root.absolute().is_relative_to(folder):
            raise ValueError("contains the challenge itself")
        database = _address(root, validated.data.get("database", ""))
        if isinstance(database, Path) and database.is_relative_to(folder):
            raise ValueError("contains the database")
        for track in validated.data.get("tracks", ()):
            solution, submissions = track.solution_path, track.submissions_path
            if isinstance(solution, Path) and solution.is_relative_to(folder):
                raise ValueError(f"contains the solution of {track.name}")
            if track.key_path is not None and track.key_path.is_relative_to(folder):
                raise ValueError(f"contains the key of the split of {track.name}")
            if isinstance(submissions, Path) and (
                folder.is_relative_to(submissions) or submissions.is_relative_to(folder)
            ):
                raise ValueError(f"overlaps the submissions of {track.name}")
        return site

    def track(self, name: str) -> Track:
        """The track called `name`. Raises ChallengeError, with the names of the tracks, if there is no such track."""
        tracks = {track.name: track for track in self.tracks}
        if name not in tracks:
            raise ChallengeError(
                f"no track is called {quoted(name)}{suggestion(name, list(tracks))}; "
                f"the tracks are: {', '.join(tracks)}"
            )
        return tracks[name]

    @property
    def site_path(self) -> Path:
        return absolute(self.root, self.site)

    @property
    def database_address(self) -> str | Path:
        """The URL for SQLAlchemy, as it was written, or the absolute path of the database file."""
        return _address(self.root, self.database)


def _address(root: Path, database: str) -> str | Path:
    return database if re.match(r"[A-Za-z][\w+]*://", database) else absolute(root, database)
