"""The result of compare(): the differences between submissions, and the queries that decide them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from scorer.analysis.analysis import Settings, TaskAnalysis
from scorer.analysis.documents import VERSION, Document, defined, task_document
from scorer.wording import counted, html_table
from scorer.wording.table import Tabular

if TYPE_CHECKING:
    import pandas as pd

DECISIVE = 5
"""How many queries a comparison names in each direction."""


HEADS = (
    *("first", "second", "difference", "low", "high", "p_value", "adjusted", "is_significant"),
    *("effect_size", "wins", "ties", "losses"),
)
"""`low` and `high` are the ends of the interval of the difference; the others are named as in `Pair`."""

Value = str | float | bool


@dataclass(frozen=True, slots=True)
class DecisiveCase:
    """A query on which two submissions differ much."""

    case: str
    """The id of the query."""
    difference: float
    """The score of the first submission minus that of the second."""
    first: float
    """The score of the first submission."""
    second: float
    """That of the second."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions, `first` with the higher mean, or an equal one."""

    first: str
    """The name of the submission with the higher mean."""
    second: str
    """The name of the other."""
    difference: float
    """The mean of the differences, over the queries for which both are defined; NaN without any."""
    interval: tuple[float, float] | None
    """The 95 % interval of the difference (BCa bootstrap); None where all differences are equal."""
    p_value: float
    """Of the two-sided paired randomisation test."""
    adjusted: float
    """The p-value adjusted by Holm's method for all pairs; equal to `p_value` if there is one pair."""
    is_significant: bool
    """Whether the adjusted p-value is at most 0.05, and the means are not equal."""
    effect_size: float | None
    """Cohen's d of paired differences: their mean divided by their standard deviation; None where that is 0."""
    wins: int
    """On how many queries the first has the higher score."""
    ties: int
    """On how many the scores are equal."""
    losses: int
    """On how many the second has the higher score."""
    decisive: tuple[DecisiveCase, ...]
    """The queries with the largest differences, up to `DECISIVE` in each direction, the largest first."""


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The result of `compare`."""

    measure: str
    """The name of the mean that is compared."""
    pairs: tuple[Pair, ...]
    """All pairs, in the order of the ranking."""
    analysis: TaskAnalysis
    """The analysis of all submissions: rankings by every rule, tests, rank ranges, tiers and stability."""
    settings: Settings
    """The seed, the number of resamples, and which pairs are compared."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each submission, notes about it, such as unknown queries."""

    @property
    def names(self) -> tuple[str, ...]:
        """The submissions, the best first."""
        return self.analysis.names

    @property
    def means(self) -> dict[str, float]:
        """The mean score of each submission, the best first."""
        return dict(zip(self.names, self.analysis.means.tolist(), strict=True))

    def pair(self, first: str, second: str) -> Pair:
        """Return the comparison of two submissions, in any order. Raises KeyError if they were not compared."""
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second} and first != second:
                return pair
        raise KeyError((first, second))

    def to_dict(self) -> dict[str, object]:
        """Return all results as plain values, as `scorer compare --format json` prints them; None where undefined."""
        differences: Document = {}
        decisive: Document = {}
        for pair in self.pairs:
            differences.setdefault(pair.first, {})[pair.second] = _difference(pair)
            decisive.setdefault(pair.first, {})[pair.second] = [asdict(case) for case in pair.decisive]
        return {
            "version": VERSION,
            **task_document(self.analysis),
            "differences": differences,
            "decisive": decisive,
            "seed": self.settings.seed,
            "resamples": self.settings.resamples,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of pandas with a row for each pair; NaN where undefined.

        The columns low and high are the ends of `interval`; the others have the names of the attributes of `Pair`.
        """
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        return pd.DataFrame([_row(pair) for pair in self.pairs], columns=list(HEADS))

    def _repr_html_(self) -> str:
        """The tables that a notebook shows."""
        words, cases = self.analysis.task.words, len(self.analysis.task.cases)
        over = f"{self.measure} over {counted(cases, words.case, words.cases)}"
        means = [[name, _shown(value)] for name, value in self.means.items()]
        return "\n".join([html_table([words.algorithm, "mean"], means, over), super()._repr_html_()])

    def _printed(self) -> tuple[tuple[str, ...], list[list[str]], str]:
        pairs = [[_shown(value) for value in _row(pair)] for pair in self.pairs]
        legend = (
            f"first minus second, with the 95 % interval (BCa, {self.settings.resamples:,} resamples); "
            "two-sided paired randomisation test, adjusted by Holm's method"
        )
        return HEADS, pairs, legend

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.means.items())
        return f"Comparison({self.measure}: {means}; queries={len(self.analysis.task.cases)})"


def _difference(pair: Pair) -> Document:
    return {
        "difference": defined(pair.difference),
        "bca": None if pair.interval is None else list(pair.interval),
        "p": defined(pair.p_value),
        "holm": defined(pair.adjusted),
        "significant": pair.is_significant,
        "effect_size": pair.effect_size,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
    }


def _row(pair: Pair) -> list[Value]:
    """A value for each of `HEADS`; NaN where undefined."""
    low, high = pair.interval or (math.nan, math.nan)
    effect_size = math.nan if pair.effect_size is None else pair.effect_size
    return [
        *(pair.first, pair.second, pair.difference, low, high, pair.p_value, pair.adjusted, pair.is_significant),
        *(effect_size, pair.wins, pair.ties, pair.losses),
    ]


def _shown(value: Value) -> str:
    """A value with four decimals; "-" where it is undefined."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)
