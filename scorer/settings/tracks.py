"""Challenge and Track: the settings in challenge.toml as validated models, the settings of the site, and the public
lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from scorer import options
from scorer.errors import ChallengeError
from scorer.files import Location, is_url
from scorer.limits import Limits
from scorer.lists import CLUSTER
from scorer.measures import Measure, earlier, parse
from scorer.rules.metadata import MetadataField
from scorer.rules.overall import Overall
from scorer.rules.phases import Phase, check_order
from scorer.rules.quota import NO_QUOTA, Quota
from scorer.rules.split import KeySplit, QuerySplit, read_split_key
from scorer.rules.tables import (
    AUTO,
    FILE_NAMES,
    FULL_DECIMALS,
    MARKDOWN,
    RESERVED,
    TEXT,
    Decimals,
    Filled,
    FormatText,
    MeasureName,
    OneMeasureName,
    PathText,
    SettingsTable,
    Weight,
    absolute,
    located_in,
    no_unit_mean,
    parsed,
    split_url,
    valid,
)
from scorer.rules.visibility import Viewer, Visibility, shown_from, visibility_errors
from scorer.wording import counted, quoted, suggestion

PAGES = "pages"
"""The folder of the organiser's pages, next to challenge.toml."""

STATIC = "templates/static"
"""The folder whose files are copied into the site."""

IMAGES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
"""The ends of the names of files that a logo can be."""

SCHEMES = frozenset({"http", "https", "mailto"})
"""Where a link may lead."""

LEAST_CONTRAST = 4.5
"""Of text with its background, as WCAG 2.2 requires (success criterion 1.4.3)."""

LIGHT = ("#fdfcf8", "#f4f1e8", "#e8eff6")
DARK = ("#171613", "#22201c", "#1d2930")
"""The backgrounds of text in the shipped style sheet, in both colour schemes: the paper, raised parts, marked rows."""

DARK_CONTRAST = 7.0
"""Of an accent that is made lighter for dark pages."""

COLOUR = f"a colour as in #0a4c7a, with a contrast of at least {LEAST_CONTRAST:g}:1 with"


def is_link(url: str) -> bool:
    """Whether a URL is one that pages may lead to."""
    parts = split_url(url)
    return parts is not None and parts.scheme in SCHEMES and bool(parts.netloc or parts.scheme == "mailto")


class Link(SettingsTable):
    """A link in the footer."""

    title: Filled = Field(description=TEXT)
    url: Annotated[str, valid(is_link, "is not a URL of this kind")] = Field(
        description="a URL that begins with http://, https:// or mailto:"
    )


def _address_of_site(url: str) -> str:
    parts = split_url(url)
    if not url:
        return url
    if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise ValueError("is not the address of a folder")
    return url if url.endswith("/") else f"{url}/"


def _reaches(contact: str) -> bool:
    parts = split_url(contact)
    is_url = parts is not None and parts.scheme == "https" and bool(parts.netloc)
    return not contact or is_url or re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", contact, re.ASCII) is not None


def _is_in_static(path: str) -> bool:
    return not (path.startswith("/") or "\\" in path or any(part.startswith(".") for part in PurePosixPath(path).parts))


SiteAddress = Annotated[str, AfterValidator(_address_of_site)]


class Branding(SettingsTable):
    """The table [site]: the folder of the pages, and what the organiser adds to them."""

    checks: ClassVar = {
        "accent": lambda colour, _: _contrast_wrong(colour, LIGHT),
        "accent_dark": lambda colour, known: (
            "needs accent, the colour of light pages"
            if colour and known.get("accent") == ""
            else _contrast_wrong(colour, DARK)
        ),
    }

    folder: PathText = Field("site", description="the path of a folder for the site only")
    url: SiteAddress = Field("", description="the address of the published site, as in https://example.org/challenge/")
    service: SiteAddress = Field(
        "", description="the address of the service for files, as in https://example.org/challenge/"
    )
    contact: Annotated[str, valid(_reaches, "is neither an email address nor such a URL")] = Field(
        "", description="an email address, as in lists@example.org, or a URL that begins with https://"
    )
    accent: str = Field("", description=f"{COLOUR} the backgrounds of light pages: {', '.join(LIGHT)}")
    accent_dark: str = Field("", description=f"{COLOUR} the backgrounds of dark pages: {', '.join(DARK)}")
    logo: Annotated[
        str,
        valid(_is_in_static, f"is not the path of a file in {STATIC}/"),
        valid(lambda path: not path or path.lower().endswith(IMAGES), "is not the name of an image"),
    ] = Field("", description=f"the path of an image in {STATIC}/ ({', '.join(IMAGES)})")
    footer: str = Field("", description=MARKDOWN)
    links: tuple[Link, ...] = Field(
        (),
        strict=False,
        description='links to http://, https:// or mailto:, as in [{ title = "Us", url = "mailto:us@example.org" }]',
    )

    @property
    def accents(self) -> tuple[str, str] | None:
        """The accents of light and of dark pages, lighter unless it is set; None for those of the style sheet."""
        if not self.accent:
            return None
        # As little white as gives it this contrast with each dark background.
        shades = (_mixed(self.accent, "#ffffff", percent) for percent in range(101))
        lighter = next(shade for shade in shades if least_contrast(shade, DARK)[0] >= DARK_CONTRAST)
        return self.accent, self.accent_dark or lighter


NO_BRANDING = Branding.model_construct()
"""The pages without a table [site]."""


def _contrast_wrong(colour: str, backgrounds: Sequence[str]) -> str:
    if not colour:
        return ""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        return "is not a colour"
    contrast, background = least_contrast(colour, backgrounds)
    # Rounded down, so that 4.49 is not reported as 4.5.
    wrong = f"has a contrast of only {int(contrast * 10) / 10:.1f}:1 with {background}"
    return wrong if contrast < LEAST_CONTRAST else ""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def least_contrast(colour: str, backgrounds: Iterable[str]) -> tuple[float, str]:
    """The lowest contrast of a colour with one of the backgrounds, and that background."""
    return min((contrast(colour, background), background) for background in backgrounds)


def softened(colour: str, paper: str, least: float) -> str:
    """The colour mixed with as much of the paper as leaves it at least this contrast with the paper."""
    shades = (_mixed(colour, paper, percent) for percent in range(100, 0, -1))
    return next((shade for shade in shades if contrast(shade, paper) >= least), colour)


def _mixed(colour: str, other: str, percent: int) -> str:
    parts = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(255 * (one + (another - one) * percent / 100)):02x}" for one, another in parts)


def _channels(colour: str) -> list[float]:
    """Red, green and blue, each from 0 to 1."""
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def _luminance(colour: str) -> float:
    """The relative luminance, from 0 for black to 1 for white."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in _channels(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


FILE = "challenge.toml"
"""The name of the file that makes a folder a challenge."""


def _cutoffs_wrong(cutoffs: Sequence[int], known: Mapping[str, Any]) -> object:
    if list(cutoffs) != sorted(set(cutoffs)):
        return "is not ascending"
    longest = known.get("list_length")
    return f"exceeds the list_length of {longest}" if cutoffs and longest and cutoffs[-1] > longest else ""


def _ties_wrong(ties: options.Ties, known: Mapping[str, Any]) -> None:
    """Not every measure has a formula for the mean over the orders of tied items. Raises MeasureError."""
    names = (known.get("primary"), *known.get("measures", ()))
    for name in names if ties == "expected" else ():
        for measure in parsed(name, known) if name else ():
            measure.need_closed_form(cut=True)


def _bounds_wrong(bounds: options.JudgedBounds | None, known: Mapping[str, Any]) -> object:
    has_none = known.get("ties") not in (None, "trec", "order") or known.get("unjudged") == "drop"
    wrong = 'has no bounds with unjudged = "drop", or with other ties than "trec" and "order"'
    return wrong if bounds and has_none else ""


def _checked_wrong(path: str | None, known: Mapping[str, Any]) -> str:
    """Only means can be corrected, and nothing that is bounded by the judged items."""
    if path is None or "primary" not in known:
        return ""
    if known.get("judged_bounds") or known.get("decimals", 0) is None:
        return "cannot be combined with judged_bounds, or with automatic decimals"
    every = (measure for name in (known["primary"], *known.get("measures", ())) for measure in parsed(name, known))
    sums = [str(measure) for measure in every if measure.kind.aggregation != "mean"]
    return f"corrects means, and {sums[0]} is none" if sums else ""


def _phases_wrong(phases: tuple[Phase, ...], known: Mapping[str, Any]) -> object:
    check_order(phases)
    for name in [phase.name for phase in phases if phase.shows == "ladder"][:1]:
        if known.get("rows") == "entry":
            return f'{name} shows the scores of the Ladder, which ranks teams, not rows = "entry"'
        if known.get("checked"):
            return f"{name} shows the scores of the Ladder, which cannot be corrected by checked"
        if wrong := no_unit_mean(known, f'{name} shows the scores of the Ladder (shows = "ladder")'):
            return wrong
    if not phases or known.get("stage") is None:
        return ""
    return "cannot be combined with stage; remove stage, because the phases decide which scores are shown"


def _entry_wrong(entry: object) -> object:
    if entry in ("best_final", "best-final", "final"):  # what other platforms call it
        raise ValueError(
            "chooses by the final queries: that favours teams with many entries, and the final scores would be "
            "optimistic"
        )
    return entry


_FILE_NAMES = re.compile(r"[^{}/]*(\{team\}([^{}/]+\{run\})?|\{run\}([^{}/]+\{team\})?)[^{}/]*")


class Track(SettingsTable):
    """One track of a challenge: its files, its measures, and the rules of its board, as declared or in force.

    In force at a moment, it also has what the viewer sees of its scores then.

    `solution` and the other paths are as they were written; `solution_path` and the like are absolute.
    """

    not_keys: ClassVar[frozenset[str]] = frozenset(
        (
            *("root", "name", "overall", "metadata", "visibility", "publish_submissions", "limits"),
            *("has_earlier_names", "deciding_phase", "auto_decimals", "viewer", "hidden"),
        )
    )
    always_recorded: ClassVar = frozenset(
        (
            *("description", "queries", "items", "submissions", "cutoffs", "measures", "decimals", "missing", "ties"),
            *("equal_ranks", "entry", "stage", "split", "final", "baselines", "late_board", "quota", "per_query"),
            *("reveal_solution", "solution_format", "submission_format"),
        )
    )
    never_recorded: ClassVar = frozenset(
        (
            *("root", "name", "metadata", "limits", "has_earlier_names", "phases", "statistics", "ignore"),
            *("file_names", "slices", "slices_public", "judged_bounds", "checked"),
            *("deciding_phase", "auto_decimals", "viewer", "hidden"),
        )
    )
    only_with: ClassVar = {"picks": ("entry", "picks"), "rows_per_team": ("rows", "entry")}
    checks: ClassVar = {
        "name": lambda name, _: (
            ""
            if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name) and name not in RESERVED
            else "cannot be the name of a folder of the site"
        ),
        "cutoffs": _cutoffs_wrong,
        "decimals": lambda decimals, known: (
            no_unit_mean(known, "are the digits that the standard error of the primary score leaves")
            if decimals is None
            else ""
        ),
        "ties": _ties_wrong,
        "unjudged": lambda unjudged, known: (
            'removes items that ties = "expected" leaves without a rank; choose another rule for ties'
            if (unjudged, known.get("ties")) == ("drop", "expected")
            else ""
        ),
        "judged_bounds": _bounds_wrong,
        "clusters": lambda text, known: (
            "is a file; split needs a pattern" if text and CLUSTER not in text and known.get("split") else ""
        ),
        "checked": _checked_wrong,
        "machine_weight": lambda weight, known: (
            "has no effect without checked" if weight != 1 and not known.get("checked") else ""
        ),
        "baselines": lambda names, _: "names a team twice" if len(set(names)) < len(names) else "",
        "phases": _phases_wrong,
    }

    name: str = Field(
        description="a-z, 0-9 and -, at most 60 characters, not beginning with -, and not a reserved name such as teams"
    )
    root: Path = Path()
    title: Filled = Field(description=TEXT)
    description: str = Field("", description=MARKDOWN)
    solution: PathText = Field(description="the path or URL of a file")
    queries: PathText | None = Field(None, description="the path or URL of a file with one query id a line")
    items: PathText | None = Field(None, description="the path or URL of a file with one item id a line")
    exclude: PathText | None = Field(None, description='"self", or the path or URL of a file with items by query')
    submissions: PathText | None = Field(None, description="the path or URL of a folder")
    ignore: tuple[Filled, ...] | None = Field(None, strict=False, description='names of files, as in ["*.log"]')
    file_names: Annotated[str, valid(_FILE_NAMES.fullmatch, "is not such a pattern")] | None = Field(
        FILE_NAMES, description='a text with {team}, {run} or both, as in "input.{team}" or "{team}_{run}"'
    )
    """How files are named; None: by the rule of version 1.0, with which the challenge began."""
    list_length: int = Field(ge=1, description="a whole number from 1")
    cutoffs: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), strict=False, description="ascending whole numbers from 1 to list_length"
    )
    primary: OneMeasureName = Field(description='the name of one measure, as in "MARp" or "nDCG@10"')
    measures: tuple[MeasureName, ...] = Field((), strict=False, description='names of measures, as in ["AP", "P@10"]')
    decimals: Decimals = Field(FULL_DECIMALS, ge=0, le=12, description=f'a whole number from 0 to 12, or "{AUTO}"')
    missing: options.TrackMissing = Field("zero", description=options.TRACK_MISSING.allowed)
    ties: options.Ties = Field("trec", description=options.TIES.allowed)
    unjudged: options.Unjudged = Field("nonrelevant", description=options.UNJUDGED.allowed)
    judged_bounds: options.JudgedBounds | None = Field(None, description=options.JUDGED_BOUNDS.allowed)
    equal_ranks: options.EqualRanks = Field("shared", description=options.EQUAL_RANKS.allowed)
    entry: Annotated[options.CountingEntry, BeforeValidator(_entry_wrong)] = Field(
        "best", description=options.COUNTING_ENTRY.allowed
    )
    picks: int = Field(2, ge=1, description='a whole number from 1, with entry = "picks"')
    rows: options.Rows = Field("team", description=options.ROWS.allowed)
    rows_per_team: int | None = Field(None, ge=1, description='a whole number from 1, with rows = "entry"')
    stage: options.Stage | None = Field(None, description=options.STAGE.allowed)
    split: KeySplit | None = Field(None, description="a table, as in split = {preliminary = 0.2}")
    clusters: PathText | None = Field(
        None, description=f'the path or URL of a file with lines query,cluster, or a pattern as in "{CLUSTER}_*"'
    )
    checked: PathText | None = Field(None, description="the path or URL of a second solution for some of the queries")
    machine_weight: Weight = Field(Decimal(1), description="a number from 0 to 10, as in 0.8")
    """Of the scores by `solution`, which those by `checked` correct."""
    final: options.FinalSplit = Field("all", description=options.FINAL_SPLIT.allowed)
    baselines: tuple[Filled, ...] = Field((), strict=False, description="names of teams, each once")
    phases: tuple[Phase, ...] = Field((), strict=False, description="tables, as in [[tracks.cold-start.phases]]")
    late_board: bool = Field(False, description="true or false")
    trusted_times: bool = Field(False, description="true or false")
    quota: Quota = Field(NO_QUOTA, description="a table, as in quota = {per_day = 5}")
    per_query: options.PerQuery = Field("hidden", description=options.PER_QUERY.allowed)
    statistics: options.Statistics = Field("primary", description=options.STATISTICS.allowed)
    slices: PathText | None = Field(None, description="the path or URL of a file with lines query,label")
    slices_public: options.SlicesPublic = Field("end", description=options.SLICES_PUBLIC.allowed)
    reveal_solution: bool = Field(False, description="true or false")
    solution_format: FormatText | None = Field(None, description=options.FORMATS_ALLOWED)
    submission_format: FormatText | None = Field(None, description=options.FORMATS_ALLOWED)
    overall: Annotated[Overall | None, PlainSerializer(lambda overall: overall and overall.recorded())] = None
    """The overall ranking that the track enters; None: it enters none."""
    metadata: tuple[MetadataField, ...] = ()
    """The fields that the challenge declares for all tracks."""
    visibility: Visibility | None = None
    """Who sees what; the challenge declares it for all tracks."""
    publish_submissions: bool = True
    """Whether the public archive has the submissions; the challenge declares it for all tracks."""
    limits: Limits = Limits()
    """The limits on submissions; the challenge declares them for all tracks."""
    has_earlier_names: bool = False
    """Whether names of measures mean what they meant in version 1.0, by which the track was recorded first."""
    deciding_phase: Phase | None = None
    """The phase that decides what the board shows of its scores; None: the board shows the scores of the stage."""
    auto_decimals: int = 0
    """The decimals of preliminary scores with ``decimals = "auto"``, which depend on the results."""
    viewer: Viewer = "everyone"
    hidden: frozenset[str] = frozenset()
    """What the table [visibility] hides from the viewer now, by its keys."""

    def with_fields(self, **changed: Any) -> Self:
        """The track with other values of some fields, which are not validated again."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return self.model_construct(**{**values, **changed})

    def measures_named(self, name: str) -> tuple[Measure, ...]:
        """The measures that a name means in this track, with its cut-offs. Raises MeasureError."""
        return (earlier.parse if self.has_earlier_names else parse)(name, self.cutoffs)

    @cached_property
    def primary_measure(self) -> Measure:
        """The measure that the board ranks by."""
        return self.measures_named(self.primary)[0]

    @cached_property
    def all_measures(self) -> tuple[Measure, ...]:
        """The primary measure, then the others in the order of the file, each once."""
        others = (measure for name in self.measures for measure in self.measures_named(name))
        return tuple(dict.fromkeys((self.primary_measure, *others)))

    def measure_column(self, name: str) -> int | None:
        """The place of a measure among all, the first one without a name; None where it has no means."""
        wanted = self.measures_named(name) if name else self.all_measures[:1]
        columns = enumerate(self.all_measures)
        return next((at for at, each in columns if (each,) == wanted and each.kind.aggregation == "mean"), None)

    @property
    def shows(self) -> options.PhaseShows:
        """What the viewer sees of the scores now: the own team those of its entries, everyone those of the board."""
        phase = self.deciding_phase
        if self.hidden & {"score", "board"}:
            return "nothing"
        return "score" if phase is None or (phase.shows == "own" and self.viewer == "team") else phase.shows

    @property
    def why_hidden(self) -> str:
        """What the table [visibility] hides of the board now, and until when, in a sentence; empty if nothing."""
        name = next((name for name in ("board", "score") if name in self.hidden), None)
        if name is None or self.visibility is None:
            return ""
        what = "The board is" if name == "board" else "Scores and ranks are"
        return f"{what} not shown{shown_from(self.visibility.moment(name, self.viewer))}."

    @property
    def hides_scores(self) -> bool:
        """Whether the viewer sees no scores now, by the phase or by the table [visibility]."""
        return self.shows in ("own", "nothing")

    @property
    def has_ladder(self) -> bool:
        """Whether the Ladder decides now which preliminary scores the board shows."""
        return self.shows == "ladder"

    @property
    def ladder_step(self) -> Decimal:
        """The step of the Ladder; 0 without the Ladder."""
        step = None if self.deciding_phase is None else self.deciding_phase.ladder_step
        return Decimal(0) if step is None else step

    @property
    def shows_final(self) -> bool:
        """Whether the board shows final scores and ranks by them."""
        return self.stage != "preliminary" and self.shows == "score"

    @property
    def preliminary_decimals(self) -> int:
        return self.auto_decimals if self.decimals is None else self.decimals

    @property
    def shown_decimals(self) -> int:
        """The decimals of the scores that the board shows and ranks by."""
        return self.final_decimals if self.shows_final else self.preliminary_decimals

    @property
    def most_rows(self) -> int | None:
        """How many entries of a team may count; None: all."""
        return 1 if self.rows == "team" else self.rows_per_team

    @property
    def shown_stage(self) -> options.Stage:
        """Which scores the board shows and ranks by."""
        return "final" if self.shows_final else "preliminary"

    @property
    def shown_split(self) -> options.Split:
        """Which queries the scores that the board ranks by are means over."""
        return self.final if self.shows_final else "preliminary"

    @property
    def shown_metadata(self) -> tuple[MetadataField, ...]:
        """The fields of metadata that the table [visibility] does not hide."""
        return () if "metadata" in self.hidden else self.metadata

    @property
    def shows_ids(self) -> bool:
        """Whether pages name single queries."""
        return self.per_query == "public" and "per_query" not in self.hidden

    @property
    def shows_queries(self) -> bool:
        """Whether pages show how the scores of single queries are distributed."""
        are_public = self.per_query == "public" and self.shows == "score"
        return "per_query" not in self.hidden and (self.shows_final or are_public)

    @property
    def naming(self) -> dict[str, str]:
        """What arrivals record of the names of files."""
        return {} if self.file_names is None else {"naming": self.file_names}

    @property
    def final_decimals(self) -> int:
        return FULL_DECIMALS if self.decimals is None else self.decimals

    @property
    def solution_path(self) -> Location:
        return located_in(self.root, self.solution)

    @property
    def files(self) -> dict[str, Location]:
        """The files that the values of keys name, by these keys."""
        texts = {key: getattr(self, key) for key in FILE_KEYS}
        return {key: located_in(self.root, text) for key, text in texts.items() if names_file(key, text)}

    @property
    def solution_paths(self) -> dict[str, Location]:
        """The solution, and the second one if there is one, by their keys."""
        return {key: path for key, path in self.files.items() if key in SOLUTION_KEYS}

    @property
    def key_path(self) -> Path | None:
        """The key file of the split; None without a split."""
        return None if self.split is None else absolute(self.root, self.split.key_file)

    @property
    def submissions_path(self) -> Location:
        return located_in(self.root, self.submissions or f"submissions/{self.name}")


def _site_errors(site: str, known: Mapping[str, Any]) -> Iterator[str]:
    """The public folder contains no solution and no results, and no page is read as a submission."""
    if is_url(site):
        yield "is a URL; the site is written to a folder on this machine"
    root: Path = known["root"]
    folder = absolute(root, site)
    if root.absolute().is_relative_to(folder):
        yield "contains the challenge itself"
    tracks = known.get("tracks", ())
    inside: dict[str, object] = {"the database": _address(root, known.get("database", ""))}
    for track in tracks:
        inside |= {f"the {key} of {track.name}": path for key, path in track.files.items() if key not in LISTS}
        inside |= {f"the key of the split of {track.name}": track.key_path} if track.key_path else {}
    for what, place in inside.items():
        if isinstance(place, Path) and place.is_relative_to(folder):
            yield f"contains {what}"
    for track in tracks:
        place = track.submissions_path
        if isinstance(place, Path) and (folder.is_relative_to(place) or place.is_relative_to(folder)):
            yield f"overlaps the submissions of {track.name}"


class Challenge(SettingsTable):
    """A challenge: its name, its tracks in the order of the file, its database and its site."""

    not_keys: ClassVar[frozenset[str]] = frozenset({"root", "branding"})
    checks: ClassVar = {
        "metadata": lambda fields, _: (
            "has two fields of one name" if len({field.name for field in fields}) < len(fields) else ""
        ),
        "visibility": lambda table, known: next(visibility_errors(table, known.get("tracks", ())), "") if table else "",
        "site": lambda site, known: next(_site_errors(site, known), ""),
    }

    root: Path = Path()
    name: Filled = Field(description=TEXT)
    """The name of the challenge."""
    description: str = Field("", description=MARKDOWN)
    tracks: tuple[Track, ...] = Field(description="a table for each track, as in [tracks.cold-start]")
    """The tracks, in the order of the file."""
    overall: Overall | None = Field(None, description="a table, as in [overall]")
    """The ranking over several tracks; the tracks have it, too."""
    metadata: tuple[MetadataField, ...] = Field((), strict=False, description="tables, as in [[metadata]]")
    visibility: Visibility | None = Field(None, description="a table, as in [visibility]")
    limits: Limits = Field(Limits(), description="a table, as in [limits]")
    licence: str = Field("", description='a text, as in "CC BY 4.0"')
    """Under which the public archive of `scorer export --public` is published; empty: no archive."""
    publish_submissions: bool = Field(True, description="true or false")
    """Whether the public archive has the submissions, or only the judged items in them."""
    keep_submissions: bool = Field(True, description="true or false")
    """Whether the bytes of submissions that are scored are kept next to the database."""
    database: PathText = Field("scores.db", description="the path of a file, or the URL of a database")
    site: PathText = Field("site", validate_default=True, description=Branding.model_fields["folder"].description)
    branding: Branding = NO_BRANDING
    """The table [site]; its `folder` is `site`."""

    def track(self, name: str) -> Track:
        """The track called `name`. Raises ChallengeError, with the names of the tracks, if there is no such track."""
        tracks = {track.name: track for track in self.tracks}
        if name not in tracks:
            raise ChallengeError(
                f"no track is called {quoted(name)}{suggestion(name, tracks)}; the tracks are: {', '.join(tracks)}"
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


LISTS = {"queries": "queries.txt", "items": "items.txt", "exclude": "exclude.jsonl"}
"""The lists by their keys, and their files in the folder of the track on the site."""

SOLUTION_KEYS = ("solution", "checked")

FILE_KEYS = (*SOLUTION_KEYS, *LISTS, "slices", "clusters")
"""The keys of a track whose values may name a file."""


def names_file(key: str, value: str | None) -> bool:
    """Whether the value of a key is the path or the URL of a file: not None, "self" of `exclude`, or a pattern."""
    is_pattern = key == "clusters" and value is not None and CLUSTER in value
    return value is not None and (key, value) != ("exclude", options.SELF) and not is_pattern


def public_lists(track: Track) -> dict[str, Location]:
    """The files of the lists that the track has, by their keys."""
    return {key: path for key, path in track.files.items() if key in LISTS}


def split_of(track: Track) -> QuerySplit | None:
    """The split of a track, with its key; None without one. Raises ChallengeError for a missing or wrong key."""
    settings, path = track.split, track.key_path
    if settings is None or path is None:
        return None
    split = QuerySplit(track.name, settings.preliminary, read_split_key(path), track.clusters or "")
    if settings.key_sha256 not in ("", split.key_sha256):
        raise ChallengeError(
            f"{path}: has a key with the SHA-256 {split.key_sha256}; expected that with the SHA-256 "
            f"{settings.key_sha256}, by which {track.name} is split; restore it from a copy"
        )
    return split


def check_stage(track: Track, flagged: int) -> None:
    """Raise ChallengeError unless `stage` agrees with the number of preliminary queries, by flags or by the split."""
    key = f"tracks.{track.name}.stage"
    if track.phases:
        return
    if flagged and track.stage is None:
        selects = "the solution flags" if track.split is None else "split selects"
        raise ChallengeError(
            f"{key}: is missing, and {selects} {counted(flagged, 'query', 'queries')} for preliminary scores; "
            'set stage = "preliminary" while final scores are hidden, stage = "final" to show them'
        )
    if not flagged and track.stage == "preliminary":
        raise ChallengeError(
            f'{key}: found "preliminary", but the solution flags no query, so there are no preliminary scores to show; '
            'flag queries in the solution, set split = {preliminary = 0.2}, or set stage = "final"'
        )
