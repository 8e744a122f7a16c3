"""Every closed set of options, defined once: the values as a type, and their meanings for help and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A setting whose value is one of a few words."""

    name: str
    """The name of the keyword argument and of the key in ``challenge.toml``."""
    about: str
    """What the setting decides."""
    values: Mapping[str, str]
    """Each allowed word with its meaning; the first is the default."""

    @property
    def default(self) -> str:
        return next(iter(self.values))

    @property
    def allowed(self) -> str:
        """The allowed words, in quotes, as messages list them."""
        *words, last = (f'"{word}"' for word in self.values)
        return f"{', '.join(words)} or {last}" if words else last

    @property
    def help(self) -> str:
        """What the setting decides, what each word means, and the default, for the help of a command."""
        return f"{self.about}. {self.meanings}. Default: {self.default}"

    @property
    def meanings(self) -> str:
        """What each word means."""
        return "; ".join(f"{word}: {meaning}" for word, meaning in self.values.items())

    def check(self, value: object) -> None:
        """Raise ValueError unless `value` is one of the allowed words."""
        if value not in tuple(self.values):
            raise ValueError(f"{self.name} is one of {', '.join(self.values)}; found {value!r}")

    def subset(self, *words: str) -> Option:
        """The same setting where only these words are allowed."""
        return Option(self.name, self.about, {word: self.values[word] for word in words})


Split = Literal["all", "preliminary", "rest"]
SPLIT = Option(
    "split",
    "which queries the means are taken over",
    {
        "all": "every query of the solution",
        "preliminary": "the queries that the solution flags",
        "rest": "the queries that the solution does not flag",
    },
)
SPLITS: tuple[Split, ...] = ("all", "preliminary", "rest")

UNJUDGED_ENDS = ("if unjudged worst", "if unjudged best")
"""The heads of the bounds for unjudged items, after the name of the measure."""

Missing = Literal["zero", "reject", "skip"]
MISSING = Option(
    "missing",
    "a query for which the submission has no list",
    {
        "zero": "it scores 0",
        "reject": "the submission is rejected",
        "skip": "the means leave the query out, as in trec_eval",
    },
)

TrackMissing = Literal["zero", "reject"]
TRACK_MISSING = MISSING.subset("zero", "reject")
"""The values that a track of a challenge can have."""

Ties = Literal["trec", "order", "expected", "best", "worst"]
TIES = Option(
    "ties",
    "items with equal run scores",
    {
        "trec": "ordered by item id, descending, as in trec_eval",
        "order": "ordered as listed in the file",
        "expected": "not ordered: a score is the mean over all orders",
        "best": "the highest grade first",
        "worst": "the highest grade last",
    },
)

TieRule = Literal["trec", "order"]
TIE_RULE = TIES.subset("trec", "order")
"""The rules that need no grades, for formats without run scores."""

NothingRelevant = Literal["skip", "zero"]
NOTHING_RELEVANT = Option(
    "nothing_relevant",
    "a query without relevant items in the solution",
    {"skip": "the means leave the query out", "zero": "it scores 0, as in trec_eval"},
)

Unjudged = Literal["nonrelevant", "drop"]
UNJUDGED = Option(
    "unjudged",
    "items that the solution does not list",
    {
        "nonrelevant": "they keep their ranks and count as not relevant",
        "drop": "they are removed before ranks are assigned, as with trec_eval -J",
    },
)

JudgedBounds = Literal["any", "list"]
JUDGED_BOUNDS = Option(
    "judged_bounds",
    "which unjudged items may have any grade of the solution",
    {"any": "all items, in the list or not", "list": "those of the list; other ones are not relevant"},
)

SELF: Final = "self"
"""Excludes the item with the id of the query; any other value of `exclude` is a list of items for each query."""

Stage = Literal["preliminary", "final"]
STAGE = Option(
    "stage",
    "which scores the board shows",
    {
        "preliminary": "only preliminary scores, which decide the ranks",
        "final": "preliminary and final scores; the final scores decide the ranks",
    },
)

FinalSplit = Literal["all", "rest"]
FINAL_SPLIT = Option(
    "final",
    "which queries final scores are taken over",
    {"all": SPLIT.values["all"], "rest": SPLIT.values["rest"]},
)

EqualRanks = Literal["shared", "earlier"]
EQUAL_RANKS = Option(
    "equal_ranks",
    "teams with equal scores",
    {"shared": "they share a rank: 1, 1, 3", "earlier": "the entry received earlier ranks higher"},
)

CountingEntry = Literal["best", "last", "picks"]
COUNTING_ENTRY = Option(
    "entry",
    "which of a team's entries counts on the board",
    {
        "best": "the entry with the best preliminary score, or the best final score if no query is flagged",
        "last": "the entry received last",
        "picks": "of the entries that the team picks, the one that is best as above; without picks, as best",
    },
)

Rows = Literal["team", "entry"]
ROWS = Option(
    "rows",
    "what a row of the board is",
    {
        "team": "a team, with the entry that counts",
        "entry": "an entry: all that may count, or as many of a team as rows_per_team says",
    },
)

PerQuery = Literal["hidden", "public"]
PER_QUERY = Option(
    "per_query",
    "what the pages show of the scores of single queries",
    {
        "hidden": "once final scores are shown, how they are distributed, without the ids of the queries",
        "public": "also the ids of the queries, and all of it while final scores are hidden",
    },
)

Statistics = Literal["primary", "all"]
STATISTICS = Option(
    "statistics",
    "which measures of a board have ranges of ranks, tiers and shares of first places",
    {"primary": "the primary one; the others have the intervals of their means", "all": "all of them"},
)

SlicesPublic = Literal["end", "now"]
SLICES_PUBLIC = Option(
    "slices_public",
    "when the site has the boards of slices",
    {"end": "once final scores are shown", "now": "as soon as the board shows scores"},
)

Role = Literal["solution", "submission"]
"""What a file is to a challenge."""

RowName = Literal["tag", "file", "path"]
ROW_NAME = Option(
    "names",
    "what the submissions are called in the output",
    {
        "tag": "by the tags of the runs, the sixth column of TREC's format",
        "file": "by the names of the files without their folders",
        "path": "by the paths as given",
    },
)

FormatName = Literal["vlnet", "trec", "delimited", "jsonl", "json", "parquet", "letor"]
FORMAT_NAMES: tuple[FormatName, ...] = ("vlnet", "trec", "delimited", "jsonl", "json", "parquet", "letor")
FORMATS_ALLOWED = f"{', '.join(FORMAT_NAMES)}, with options as in letor:feature=21"

PhaseShows = Literal["score", "ladder", "own", "nothing"]
PHASE_SHOWS = Option(
    "shows",
    "what the board shows during the phase",
    {
        "score": "the scores of the stage",
        "ladder": "a preliminary score only for an entry that is clearly better than the earlier ones of its team",
        "own": "the teams, without scores and ranks; each team sees its own scores where it hands in",
        "nothing": "the teams, without scores and ranks",
    },
)


OverallRule = Literal["mean", "rank", "borda"]
OVERALL_RULE = Option(
    "rule",
    "the overall score of a team",
    {"mean": "the mean of its scores", "rank": "the mean of its ranks", "borda": "the sum of its points"},
)

OverallMissing = Literal["lowest", "unranked"]
OVERALL_MISSING = Option(
    "missing",
    "a track in which a team has no score",
    {"lowest": "it counts as the lowest value", "unranked": "the team has no overall rank"},
)

ReportForm = Literal["html", "markdown", "json"]
REPORT_FORMS: tuple[ReportForm, ...] = ("html", "markdown", "json")

# Statistics

RESAMPLES = 10_000
"""The number of resamples."""

SEED = 1
"""The seed of the random numbers."""

LEVEL = 0.05
"""The level of all tests; intervals are at 1 minus the level."""
