"""The statistics of one measure on a board, from the scores of its rows on the queries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from scorer.analysis.pairs import sign_flips_of
from scorer.board.certain import ExtremeQuery, MeasureStatistics, ScoredRows
from scorer.board.certainty import BINS, Certainty, Interval, Pair, RowCertainty, ShakeUp, Tier
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.statistics.agreement import shake_up, tau_b
from scorer.statistics.bootstrap import bca_intervals, percentile_intervals, resampled_means
from scorer.statistics.paired_tests import randomisation
from scorer.statistics.rankings import rank_ranges, tiers
from scorer.statistics.sign_flips import (
    SignFlips,
    queries_needed,
    sign_flips,
    smallest_differences,
    typical_smallest_difference,
)

NEIGHBOURS = 3
"""How many rows above it, and how many below it, a row is compared with."""

EXTREMES = 5
"""How many of the best queries of a team are shown, and how many of the worst."""


@dataclass(frozen=True)
class MeasureScores:
    """The scores of the rows of a board on one measure."""

    scores: Floats
    """[row, query]: over the queries of the board's split for which some row has a score; NaN where undefined."""
    means: tuple[float | None, ...]
    """Of each row, rounded as the board shows them."""
    is_ranked: tuple[bool, ...]
    """Of each row; False for baselines."""

    @cached_property
    def teams(self) -> Ints:
        """The positions of the ranked rows."""
        return np.flatnonzero(self.is_ranked)

    @cached_property
    def complete(self) -> Bools:
        """[query]: whether every row has a score."""
        return np.logical_not(np.isnan(self.scores).any(axis=0))

    @cached_property
    def resampled(self) -> Floats:
        """[resample, row]: the means over the resamples."""
        return resampled_means(self.scores)

    @cached_property
    def tests(self) -> SignFlips:
        """The tests of all pairs of ranked rows."""
        return sign_flips(self.scores[self.teams])

    @cached_property
    def better(self) -> Bools:
        """[team, team]: whether a ranked row is significantly better than another one, all pairs tested at once.

        Rows that the board shows with equal scores are never separated.
        """
        shown = np.array([_number(self.means[row]) for row in self.teams], dtype=np.float64)
        better: Bools = self.tests.better() & (shown[:, None] > shown[None, :])
        return better

    @cached_property
    def smallest_differences(self) -> Floats:
        """[team, team]: the difference of means from which a pair is significant."""
        return smallest_differences(self.tests, self.queries)

    @cached_property
    def queries(self) -> int:
        """How many queries have a score for every ranked row."""
        return int((~np.isnan(self.scores[self.teams]).any(axis=0)).sum())

    def intervals(self) -> list[Interval | None]:
        """The interval of the mean of each row; None where it is undefined or has no width."""
        return _with_width(percentile_intervals(self.resampled))


def measure_statistics(scored: ScoredRows, scores: Floats, column: int) -> MeasureStatistics:
    """The statistics of a measure.

    Parameters
    ----------
    scored
        The rows.
    scores
        [row, query]: their scores, over all queries of the solution.
    column
        The position of the measure on the board.
    """
    track, means = scored.board.track, scored.means(column)
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    measured = MeasureScores(scores[:, queries], means, tuple(row.rank is not None for row in scored.rows))
    ranked = [row for row in measured.teams.tolist() if means[row] is not None]
    found = None
    if len(ranked) == len(measured.teams):
        found = certainty(measured, sorted(ranked, key=lambda row: -(means[row] or 0.0)))
    has_histogram = track.all_measures[column].bounded and track.shows_queries
    rows = tuple(row_certainties(measured, found, has_histogram=has_histogram))
    if column:
        return MeasureStatistics(found, rows)
    return MeasureStatistics(
        found,
        rows,
        pairs(measured, has_counts=track.shows_queries),
        tuple(extreme_queries(measured, queries)) if track.shows_queries else (),
        moves(scored, scores[measured.teams]) if found and scored.board.shows_both else None,
    )


def moves(scored: ScoredRows, scores: Floats) -> ShakeUp | None:
    """How far the ranks of the teams moved, and how far chance would move them.

    Parameters
    ----------
    scored
        The rows.
    scores
        [team, query]: of the ranked rows, over all queries of the solution.

    Returns
    -------
    ShakeUp
        None if a team has no preliminary rank.
    """
    teams = [row for row in scored.rows if row.rank is not None]
    moved = [abs(row.rank - row.preliminary_rank) for row in teams if row.rank and row.preliminary_rank]
    if len(moved) < len(teams):
        return None
    chance = shake_up(scores, scored.flagged, scored.board.track.final == "rest")
    before, after = (
        np.array(ranks) for ranks in zip(*((row.preliminary_rank, row.rank) for row in teams), strict=True)
    )
    tau = tau_b(before, after)
    return ShakeUp(
        moved=sum(map(bool, moved)),
        mean_move=sum(moved) / len(moved),
        expected_move=chance.expected_move,
        expected_range=chance.expected_range,
        tau=None if math.isnan(tau) else tau,
    )


def certainty(measured: MeasureScores, order: Sequence[int]) -> Certainty | None:
    """The certainty of a ranking.

    Parameters
    ----------
    measured
        The scores.
    order
        The ranked rows by their scores on this measure, the best first.

    Returns
    -------
    Certainty
        None without two ranked rows, or where no query has a score for all of them.
    """
    if len(measured.teams) < 2 or not measured.queries:
        return None
    smallest = typical_smallest_difference(measured.tests, measured.queries)
    places = [int(np.searchsorted(measured.teams, row)) for row in order]
    return Certainty(
        queries=measured.queries,
        tiers=tuple(_tier(measured, tier) for tier in tiers(places, measured.better)),
        separable_neighbours=sum(bool(measured.better[above, below]) for above, below in pairwise(places)),
        smallest_difference=smallest if math.isfinite(smallest) else None,
    )


def row_certainties(measured: MeasureScores, found: Certainty | None, *, has_histogram: bool) -> list[RowCertainty]:
    """The certainty of each row."""
    ranges = rank_ranges(measured.better).tolist() if found else []
    of_teams = measured.resampled[:, measured.teams]
    first = (of_teams == of_teams.max(axis=1, keepdims=True)).mean(axis=0).tolist() if found else []
    tier_of = {row: number for number, tier in enumerate(found.tiers) for row in tier.rows} if found else {}
    place_of = {int(row): place for place, row in enumerate(measured.teams)}
    rows = []
    for row, interval in enumerate(measured.intervals()):
        place = place_of.get(row) if found else None
        rows.append(
            RowCertainty(
                interval=interval,
                rank_range=None if place is None else (ranges[place][0], ranges[place][1]),
                tier=tier_of.get(row),
                first=None if place is None else first[place],
                histogram=_histogram(measured.scores[row]) if has_histogram else (),
            )
        )
    return rows


def pairs(measured: MeasureScores, *, has_counts: bool) -> tuple[Pair, ...]:
    """Each row with the first ranked one and with its neighbours, on the queries for which both are defined."""
    listed = list(_listed_pairs(measured))
    if not listed:
        return ()
    first, second = (np.array(side) for side in zip(*listed, strict=True))
    differences = measured.scores[first] - measured.scores[second]
    p_values = randomisation(measured.scores, sign_flips_of(len(measured.teams)))
    intervals = _with_width(bca_intervals(measured.resampled[:, first] - measured.resampled[:, second], differences))
    place_of = {int(row): place for place, row in enumerate(measured.teams)}
    found = []
    for number, (one, other) in enumerate(listed):
        defined = differences[number][~np.isnan(differences[number])]
        separable, needed = None, None
        if one in place_of and other in place_of and measured.queries:
            i, j = place_of[one], place_of[other]
            separable = bool(measured.better[i, j] or measured.better[j, i])
            needed = None if separable else _needed(measured.tests, i, j, measured.queries)
        found.append(
            Pair(
                row=one,
                other=other,
                difference=math.fsum(defined) / defined.size if defined.size else 0.0,
                interval=intervals[number],
                p_value=float(p_values[one, other]),
                is_separable=separable,
                wins=int((defined > 0).sum()) if has_counts else None,
                ties=int((defined == 0).sum()) if has_counts else None,
                losses=int((defined < 0).sum()) if has_counts else None,
                queries_needed=needed,
            )
        )
    return tuple(found)


def extreme_queries(
    measured: MeasureScores, queries: Ints
) -> list[tuple[tuple[ExtremeQuery, ...], tuple[ExtremeQuery, ...]]]:
    """For each row, the queries on which it is the furthest above the field, and the furthest below.

    The field is the other ranked rows, and only queries for which all rows are defined are compared. Of equally far
    queries, the first ones of the solution are listed.

    Parameters
    ----------
    measured
        The scores.
    queries
        [query]: the position in the solution of each query of the scores.
    """
    complete, numbers = measured.scores[:, measured.complete], queries[measured.complete].tolist()
    medians = _medians_of_others(complete, measured.teams)

    def listed(row: int, sign: int) -> tuple[ExtremeQuery, ...]:
        distance = sign * (complete[row] - medians[row])
        places = [place for place in np.argsort(-distance, kind="stable")[:EXTREMES].tolist() if distance[place] > 0]
        return tuple(
            ExtremeQuery(numbers[place], float(complete[row, place]), float(medians[row, place])) for place in places
        )

    return [(listed(row, 1), listed(row, -1)) for row in range(len(complete))]


def _medians_of_others(scores: Floats, teams: Ints) -> Floats:
    """[row, query]: the median of the ranked rows without the row itself; NaN where no other row is ranked."""
    of_teams = scores[teams]
    ascending = np.sort(of_teams, axis=0)
    medians = np.full(scores.shape, np.nan)
    others = len(teams) - 1
    if not len(teams):
        return medians
    medians[:] = np.median(of_teams, axis=0)
    if others < 1:
        medians[teams] = np.nan
        return medians
    # A row takes one place in the ascending scores: those from there on move down by one.
    place = np.argsort(np.argsort(of_teams, axis=0, kind="stable"), axis=0, kind="stable")
    middle = np.zeros(of_teams.shape)
    for index in {(others - 1) // 2, others // 2}:
        shifted = index + (place <= index)
        middle += np.take_along_axis(ascending, shifted, axis=0) / len({(others - 1) // 2, others // 2})
    medians[teams] = middle
    return medians


def _tier(measured: MeasureScores, places: Sequence[int]) -> Tier:
    differs = measured.tests.size[places[0]] > 0
    reach = measured.smallest_differences[places[0], differs]
    finite = reach.size > 0 and bool(np.isfinite(reach).all())
    return Tier(tuple(int(measured.teams[place]) for place in places), float(np.median(reach)) if finite else None)


def _needed(tests: SignFlips, one: int, other: int, queries: int) -> int | None:
    """How many queries would separate a pair; None where none do."""
    needed = queries_needed(float(tests.statistic[one, other]), tests.critical, queries)
    return math.ceil(needed) if math.isfinite(needed) else None


def _listed_pairs(measured: MeasureScores) -> Iterator[tuple[int, int]]:
    """The pairs with the leader, which may follow baselines, and those of neighbours."""
    leader = next(iter(measured.teams.tolist()), None)
    for one, other in combinations(range(len(measured.scores)), 2):
        if leader in (one, other) or other - one <= NEIGHBOURS:
            yield one, other


def _with_width(intervals: Floats) -> list[Interval | None]:
    """The intervals; None for one that is undefined or has no width."""
    return [
        (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None
        for low, high in intervals.tolist()
    ]


def _histogram(scores: Floats) -> tuple[int, ...]:
    """How many scores are in each step; a score that is rounded down from the edge of a step belongs to this step."""
    steps = (scores[~np.isnan(scores)] * BINS + 1e-9).astype(np.int64)
    return tuple(np.bincount(np.minimum(steps, BINS - 1), minlength=BINS).tolist())


def _number(score: float | None) -> float:
    return math.nan if score is None else score
