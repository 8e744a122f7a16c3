"""What the page of an analysis shows: the rows of its tables, and sentences. Positions are attributes of SVG."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankMarks:
    """The ranks of a team in the resamples."""

    first: str
    """In which share of them it is first: `89 %`."""
    median: str
    middle: str
    """The middle 95 %: `1 to 2`, or `6 only`."""
    line: tuple[str, str]
    """Where the middle 95 % begin and end."""
    dots: tuple[tuple[str, float], ...]
    """Position and radius of each rank that is not rare; the area is its share of the resamples. Empty for many teams.
    """


@dataclass(frozen=True, slots=True)
class PairMarks:
    """The pairs of a team with each other one."""

    p_values: tuple[str, ...]
    """That it is better: `0.012`; `same` where all scores are equal, empty for itself. No texts for many teams."""
    wins: int
    """How many of the teams on the map it is separable from and better than."""
    better: tuple[tuple[str, str], ...]
    """Position and width of their cells; adjacent ones are one."""
    itself: str
    """The position of the cell of the team itself."""


@dataclass(frozen=True, slots=True)
class ScoreMarks:
    """The scores of a team on the queries."""

    zeros: str
    """The share of queries with the score 0."""
    best: int
    """On how many queries no team scores more."""
    middle_80: tuple[str, str]
    """Position and width."""
    middle_half: tuple[str, str]
    """Position and width."""
    median: str
    mean: str


@dataclass(frozen=True, slots=True)
class AnalysisRow:
    """A ranked team."""

    team: str
    ranks: RankMarks | None
    """None with one query, which has no resamples."""
    pairs: PairMarks | None
    """None for the teams after the first ones of a long board."""
    rules: tuple[tuple[str, bool], ...]
    """By each rule the rank, as `=3`, and whether it is another one than by the mean."""
    scores: ScoreMarks


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """The analysis of a track. Its rows are the ranked teams, the best first."""

    rows: tuple[AnalysisRow, ...]
    notes: tuple[str, ...]
    """About the scores."""
    rank_ticks: tuple[tuple[str, str], ...]
    """Position and text."""
    score_ticks: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]
    """The names of the rules, the mean first."""
    agreement: tuple[str, ...]
    """Kendall's tau-b of each rule with the mean; empty for the mean."""
    stability: str
    """Who is first in most resamples."""
    tau: str
    """How far the rankings of the resamples agree with that of the board; empty if undefined."""
    certainty: tuple[str, ...]
    """What the tests of single pairs find, and where the test of all pairs at once decides otherwise."""
    first_by_rules: str
    spread: str
    """How the scores of the first team are distributed."""
