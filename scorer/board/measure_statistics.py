"""The statistics of one measure on a board: what the board shows of the analysis of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from scorer.analysis.pairs import sign_flips_of
from scorer.analysis.scores import TaskScores
from scorer.board.certainty import BINS, Certainty, Interval, Pair, RowCertainty, ShakeUp, Tier
from scorer.board.published_statistics import MeasureStatistics, ScoredRows
from scorer.measures.arrays import Floats
from scorer.statistics.agreement import shake_up, tau_b
from scorer.statistics.rankings import rank_ranges, tiers
from scorer.statistics.sign_flips import queries_needed, smallest_differences, typical_smallest_difference

NEIGHBOURS = 3
"""How many rows above it, and how many below it, a row is compared with."""


def measured(scores: Floats, means: Sequence[float | None], is_ranked: Sequence[bool]) -> TaskScores:
    """The analysis of the scores of rows, [row, query], given their means, rounded as the board shows them."""
    shown = np.array([math.nan if mean is None else mean for mean in means], dtype=np.float64)
    return TaskScores(scores, shown, np.flatnonzero(is_ranked), sign_flips_of(sum(is_ranked)))


def measure_statistics(scored: ScoredRows, scores: Floats, column: int) -> MeasureStatistics:
    """The statistics of the measure of a column, given the scores, [row, query], over all queries of the solution."""
    track, means = scored.board.track, scored.means(column)
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    found = measured(scores[:, queries], means, [row.rank is not None for row in scored.rows])
    ranked = [row for row in found.ranked.tolist() if means[row] is not None]
    of_ranking = None
    if len(ranked) == len(found.ranked):
        of_ranking = certainty(found, sorted(ranked, key=lambda row: -(means[row] or 0.0)))
    has_histogram = track.all_measures[column].bounded and track.shows_queries
    rows = tuple(row_certainties(found, of_ranking, has_histogram=has_histogram))
    if column:
        return MeasureStatistics(of_ranking, rows)
    # Queries by their positions in the solution.
    extremes = [
        tuple(tuple(each._replace(query=int(queries[each.query])) for each in side) for side in sides)
        for sides in (found.extreme_queries() if track.shows_queries else ())
    ]
    return MeasureStatistics(
        of_ranking,
        rows,
        pairs(found, has_counts=track.shows_queries),
        tuple((best, worst) for best, worst in extremes),
        moves(scored, scores[found.ranked]) if of_ranking and scored.board.shows_both else None,
    )


def moves(scored: ScoredRows, scores: Floats) -> ShakeUp | None:
    """How far the ranks of the teams moved, and how far chance would move them; None if one has no preliminary rank.

    `scores` are those of the ranked rows, [team, query], over all queries of the solution.
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


def certainty(found: TaskScores, order: Sequence[int]) -> Certainty | None:
    """The certainty of a ranking, given the ranked rows by their scores on this measure, the best first.

    None without two ranked rows, or where no query has a score for all of them.
    """
    if len(found.ranked) < 2 or not found.queries:
        return None
    smallest = typical_smallest_difference(found.tests, found.queries)
    places = [int(np.searchsorted(found.ranked, row)) for row in order]
    return Certainty(
        queries=found.queries,
        tiers=tuple(_tier(found, tier) for tier in tiers(places, found.better)),
        separable_neighbours=sum(bool(found.better[above, below]) for above, below in pairwise(places)),
        smallest_difference=smallest if math.isfinite(smallest) else None,
    )


def _tier(found: TaskScores, places: Sequence[int]) -> Tier:
    reach = smallest_differences(found.tests, found.queries)[places[0], found.tests.size[places[0]] > 0]
    finite = reach.size > 0 and bool(np.isfinite(reach).all())
    return Tier(tuple(int(found.ranked[place]) for place in places), float(np.median(reach)) if finite else None)


def row_certainties(found: TaskScores, of_ranking: Certainty | None, *, has_histogram: bool) -> list[RowCertainty]:
    """The certainty of each row."""
    ranges = rank_ranges(found.better).tolist() if of_ranking else []
    of_teams = found.resampled[:, found.ranked]
    first = (of_teams == of_teams.max(axis=1, keepdims=True)).mean(axis=0).tolist() if of_ranking else []
    tier_of = {row: number for number, tier in enumerate(of_ranking.tiers) for row in tier.rows} if of_ranking else {}
    place_of = {int(row): place for place, row in enumerate(found.ranked)}
    rows = []
    for row, interval in enumerate(_with_width(found.percentile)):
        place = place_of.get(row) if of_ranking else None
        rows.append(
            RowCertainty(
                interval=interval,
                rank_range=None if place is None else (ranges[place][0], ranges[place][1]),
                tier=tier_of.get(row),
                first=None if place is None else first[place],
                histogram=_histogram(found.scores[row]) if has_histogram else (),
            )
        )
    return rows


def pairs(found: TaskScores, *, has_counts: bool) -> tuple[Pair, ...]:
    """Each row with the first ranked one and with its neighbours, on the queries for which both are defined."""
    listed = list(_listed_pairs(found))
    if not listed:
        return ()
    differences = found.differences(*(np.array(side) for side in zip(*listed, strict=True)))
    place_of = {int(row): place for place, row in enumerate(found.ranked)}
    made = []
    for (one, other), mean, interval, counts in zip(
        listed,
        differences.mean.tolist(),
        _with_width(differences.interval),
        differences.outcomes.tolist(),
        strict=True,
    ):
        separable, needed = None, None
        if one in place_of and other in place_of and found.queries:
            i, j = place_of[one], place_of[other]
            separable = bool(found.better[i, j] or found.better[j, i])
            needed = None if separable else _needed(found, i, j)
        wins, ties, losses = counts if has_counts else (None, None, None)
        made.append(
            Pair(
                row=one,
                other=other,
                difference=0.0 if math.isnan(mean) else mean,
                interval=interval,
                p_value=float(found.p_values[one, other]),
                is_separable=separable,
                wins=wins,
                ties=ties,
                losses=losses,
                queries_needed=needed,
            )
        )
    return tuple(made)


def _listed_pairs(found: TaskScores) -> Iterator[tuple[int, int]]:
    """The pairs with the leader, which may follow baselines, and those of neighbours."""
    leader = next(iter(found.ranked.tolist()), None)
    for one, other in combinations(range(len(found.scores)), 2):
        if leader in (one, other) or other - one <= NEIGHBOURS:
            yield one, other


def _needed(found: TaskScores, one: int, other: int) -> int | None:
    """How many queries would separate a pair of teams; None where none do."""
    needed = queries_needed(float(found.tests.statistic[one, other]), found.tests.critical, found.queries)
    return math.ceil(needed) if math.isfinite(needed) else None


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
