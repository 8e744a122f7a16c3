"""Every closed set of options, defined once: the values as a type, and their meanings for help and messages, which are
in options.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from scorer.wording import texts_of


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A setting whose value is one of a few words."""

    name: str
    """The name of the keyword argument and of the key in ``challenge.toml``."""
    table: str = ""
    """The table that has its texts, if another one has its name."""
    words: tuple[str, ...] = ()
    """The allowed words; empty: all of the table."""

    @property
    def about(self) -> str:
        """What the setting decides."""
        return str(texts_of(__file__)[self.table or self.name]["about"])

    @property
    def values(self) -> dict[str, str]:
        """Each allowed word with its meaning; the first is the default."""
        meanings: dict[str, str] = texts_of(__file__)[self.table or self.name]["values"]
        return {word: meanings[word] for word in self.words or meanings}

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
        return Option(self.name, self.table, words)


Split = Literal["all", "preliminary", "rest"]
SPLIT = Option("split")
SPLITS: tuple[Split, ...] = ("all", "preliminary", "rest")

CORRECTION = ("machine", "bias", "bias low", "bias high")
"""The columns of exports on what people changed of a mean."""

UNJUDGED_ENDS = ("if unjudged worst", "if unjudged best")
"""The heads of the bounds for unjudged items, after the name of the measure."""

Missing = Literal["zero", "reject", "skip"]
MISSING = Option("missing")

TrackMissing = Literal["zero", "reject"]
TRACK_MISSING = MISSING.subset("zero", "reject")
"""The values that a track of a challenge can have."""

Ties = Literal["trec", "order", "expected", "best", "worst"]
TIES = Option("ties")

TieRule = Literal["trec", "order"]
TIE_RULE = TIES.subset("trec", "order")
"""The rules that need no grades, for formats without run scores."""

NothingRelevant = Literal["skip", "zero"]
NOTHING_RELEVANT = Option("nothing_relevant")

Unjudged = Literal["nonrelevant", "drop"]
UNJUDGED = Option("unjudged")

JudgedBounds = Literal["any", "list"]
JUDGED_BOUNDS = Option("judged_bounds")

SELF: Final = "self"
"""Excludes the item with the id of the query; any other value of `exclude` is a list of items for each query."""

Stage = Literal["preliminary", "final"]
STAGE = Option("stage")

FinalSplit = Literal["all", "rest"]
FINAL_SPLIT = Option("final", "final_split")

EqualRanks = Literal["shared", "earlier"]
EQUAL_RANKS = Option("equal_ranks")

CountingEntry = Literal["best", "last", "picks"]
COUNTING_ENTRY = Option("entry", "counting_entry")

Rows = Literal["team", "entry"]
ROWS = Option("rows")

PerQuery = Literal["hidden", "public"]
PER_QUERY = Option("per_query")

Statistics = Literal["primary", "all"]
STATISTICS = Option("statistics")

SlicesPublic = Literal["end", "now"]
SLICES_PUBLIC = Option("slices_public")

RowName = Literal["tag", "file", "path"]
ROW_NAME = Option("names", "row_name")

FormatName = Literal["vlnet", "trec", "delimited", "jsonl", "json", "parquet", "letor"]
FORMAT_NAMES: tuple[FormatName, ...] = ("vlnet", "trec", "delimited", "jsonl", "json", "parquet", "letor")
FORMATS_ALLOWED = f"{', '.join(FORMAT_NAMES)}, with options as in letor:feature=21"

PhaseShows = Literal["score", "ladder", "own", "nothing"]
PHASE_SHOWS = Option("shows", "phase_shows")


OverallRule = Literal["mean", "rank", "borda"]
OVERALL_RULE = Option("rule", "overall_rule")

OverallMissing = Literal["lowest", "unranked"]
OVERALL_MISSING = Option("missing", "overall_missing")

OverallTasks = Literal["fixed", "sample"]
OVERALL_TASKS = Option("tasks", "overall_tasks")

ReportForm = Literal["html", "markdown", "json"]
REPORT_FORMS: tuple[ReportForm, ...] = ("html", "markdown", "json")

# Statistics

PValueCorrection = Literal["holm", "bh", "by"]
P_VALUE_CORRECTION = Option("correction")

KappaWeights = Literal["quadratic", "linear"]
KAPPA_WEIGHTS = Option("weights", "kappa_weights")

# Defaults

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")
"""The measures of an evaluation that names none."""

DEFAULT_SIMILARITIES = ("RBO", "Jaccard@10", "tauAP")
"""The measures of similarity of runs, if none is named."""

RESAMPLES = 10_000
"""The number of resamples."""

SEED = 1
"""The seed of the random numbers."""

LEVEL = 0.05
"""The level of all tests; intervals are at 1 minus the level."""
