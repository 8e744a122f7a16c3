"""What a board shows about the certainty of its scores and ranks, as frozen plain values."""

from __future__ import annotations

from dataclasses import dataclass

Interval = tuple[float, float]
"""The ends of a 95 % interval."""

BINS = 20
"""The number of bars of a histogram of scores from 0 to 1, each as wide as the others."""


@dataclass(frozen=True, slots=True)
class RowCertainty:
    """Of the score of a row on one measure."""

    interval: Interval | None
    """Of the mean, by the bootstrap; None where all scores are equal or too few are defined."""
    rank_range: tuple[int, int] | None
    """The ranks that the team may have, all teams taken together; None for a row without a rank."""
    tier: int | None
    """The position of its tier in `Certainty.tiers`; None for a row without a rank."""
    first: float | None
    """The share of the resamples in which the team has the best mean; None for a row without a rank."""
    histogram: tuple[int, ...]
    """How many queries have a score in each of `BINS` steps from 0 to 1; empty for a measure without these bounds, and
    where the scores of queries are hidden."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Teams that are not significantly worse than the best one of them."""

    rows: tuple[int, ...]
    """Positions in `Board.rows`, the leader first."""
    reach: float | None
    """The difference from the leader's score that is significant: the median over the other teams; None if the leader
    differs from no other team."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """Of the ranking by one measure. Tiers and ranges of ranks come from the same decisions, on all pairs at once."""

    queries: int
    """How many queries have a score for every team."""
    tiers: tuple[Tier, ...]
    """The best first."""
    separable_neighbours: int
    """How many teams are significantly better than the next one in the ranking."""
    smallest_difference: float | None
    """The difference of scores that is significant: the median over all pairs of teams; None without two teams that
    differ."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The difference between two rows on the primary measure."""

    row: int
    """A position in `Board.rows`."""
    other: int
    """A later position."""
    difference: float
    """The mean score of `row` minus that of `other`, over the queries for which both are defined."""
    interval: Interval | None
    """Of the difference, by the bootstrap."""
    p_value: float
    """Of the randomisation test of this pair only."""
    is_separable: bool | None
    """Whether the difference is significant, all pairs of teams tested at once; None for a pair with a baseline."""
    wins: int | None
    """On how many queries `row` has the higher score; None, as the two below, where the scores of queries are
    hidden."""
    ties: int | None
    losses: int | None
    queries_needed: int | None
    """How many queries would separate the pair if the differences stayed as they are; None for a pair that is separable
    or does not differ, and for one with a baseline."""


@dataclass(frozen=True, slots=True)
class QueryScore:
    """The score of a team on one query, and the field's."""

    query: str
    """The id; empty where the ids are hidden."""
    score: float
    median: float
    """The median of the other ranked teams."""


@dataclass(frozen=True, slots=True)
class ShakeUp:
    """How far the final ranking is from the preliminary one, and how far chance would move it."""

    moved: int
    """How many teams have another rank."""
    mean_move: float
    """The mean over the teams of the number of ranks that they moved."""
    expected_move: float
    """The same for random sets of preliminary queries of the same size: the mean over these sets."""
    expected_range: Interval
    """The middle 95 % of these sets."""
    tau: float | None
    """Kendall's tau-b between both rankings; None where one of them has only ties."""
