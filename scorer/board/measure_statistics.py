"""The statistics of one measure on a board: what the board shows of the analysis of its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from scorer.analysis.kept import Kept, number_of
from scorer.analysis.pairs import sign_flips_of
from scorer.analysis.scores import TaskScores
from scorer.board.certainty import BINS, Certainty, Interval, Pair, RowCertainty, ShakeUp, Tier
from scorer.board.published_statistics import MeasureStatistics, ScoredRows
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.statistics.agreement import SETS, shake_up, split_means, tau_b
from scorer.statistics.bootstrap import percentile_intervals, resampled_means
from scorer.statistics.rankings import rank_ranges, tiers
from scorer.statistics.sign_flips import queries_needed, smallest_differences, typical_difference
from scorer.statistics.threads import blocks

_AT_ONCE = 512
"""Rows whose resampled means are in memory at a time."""

NEIGHBOURS = 3
"""How many rows above it, and how many below it, a row is compared with."""


def measured(
    scores: Floats, means: Sequence[float | None], is_ranked: Sequence[bool], kept: Kept | None = None
) -> TaskScores:
    """The analysis of the scores of rows, [row, query], given their means, rounded as the board shows them."""
    shown = np.array([math.nan if mean is None else mean for mean in means], dtype=np.float64)
    return TaskScores(scores, shown, np.flatnonzero(is_ranked), sign_flips_of(sum(is_ranked)), kept=kept)


def measure_statistics(scored: ScoredRows, scores: Floats, column: int, kept: Kept) -> MeasureStatistics:
    """The statistics of the measure of a column, given the scores, [row, query], over all queries of the solution.

    `kept` is what is kept of the rows.
    """
    track, means = scored.board.track, scored.means(column)
    measure = track.all_measures[column]
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    kept = kept.within(measure.full, number_of(queries))
    task = measured(scores[:, queries], means, [row.rank is not None for row in scored.rows], kept)
    ranked = [row for row in task.ranked.tolist() if means[row] is not None]
    of_ranking = None
    if len(ranked) == len(task.ranked) and (not column or track.statistics == "all"):
        of_ranking = certainty(task, sorted(ranked, key=lambda row: -(means[row] or 0.0)))
    of_pairs = () if column else pairs(task, has_counts=track.shows_queries)
    if column:
        task.release()
    has_histogram = track.all_measures[column].bounded and track.shows_queries
    rows = tuple(row_certainties(task, of_ranking, has_histogram=has_histogram))
    if column:
        return MeasureStatistics(of_ranking, rows)
    # Queries by their positions in the solution.
    extremes = [
        tuple(tuple(each._replace(query=int(queries[each.query])) for each in side) for side in sides)
        for sides in (task.extreme_queries() if track.shows_queries else ())
    ]
    return MeasureStatistics(
        of_ranking,
        rows,
        of_pairs,
        tuple((best, worst) for best, worst in extremes),
        moves(scored, scores[task.ranked], kept.of(task.ranked.tolist()))
        if of_ranking and scored.board.shows_both
        else None,
    )


def of_means(scores: Floats, inside: Bools) -> Floats:
    """[row, value]: of each row, given its scores over all queries, [row, query], and whether they are in the mean.

    A number for the queries on which the measure is defined, the ends of the interval of the mean, and the bars of the
    histogram.
    """
    defined = ~np.isnan(scores) & inside
    numbers = np.array([number_of(np.flatnonzero(row)) for row in defined])
    found = np.empty((len(scores), 3 + BINS))
    for number in np.unique(numbers):
        same = np.flatnonzero(numbers == number)
        for start in range(0, len(same), _AT_ONCE):
            rows = same[start : start + _AT_ONCE]
            own = scores[np.ix_(rows, np.flatnonzero(defined[rows[0]]))]
            found[rows, 1:3] = percentile_intervals(resampled_means(own))
            found[rows, 3:] = [_histogram(row) for row in own]
    found[:, 0] = numbers
    return found


def moves(scored: ScoredRows, scores: Floats, kept: Kept) -> ShakeUp | None:
    """How far the ranks of the teams moved, and how far chance would move them; None if one has no preliminary rank.

    `scores` are those of the ranked rows, [team, query], over all queries of the solution.
    """
    teams = [row for row in scored.rows if row.rank is not None]
    moved = [abs(row.rank - row.preliminary_rank) for row in teams if row.rank and row.preliminary_rank]
    if len(moved) < len(teams):
        return None
    flagged, final_is_rest = scored.flagged, scored.board.track.final == "rest"

    def computed(rows: Ints) -> Floats:
        return split_means(scores[rows], flagged, final_is_rest)

    kept = kept.within("moves", number_of(np.flatnonzero(flagged)), flagged.size, final_is_rest)
    means = kept.values("means", 2 * (1 + SETS), computed)
    chance = shake_up(scores, flagged, final_is_rest, means=means)
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


def certainty(task: TaskScores, order: Sequence[int]) -> Certainty | None:
    """The certainty of a ranking, given the ranked rows by their scores on this measure, the best first.

    None without two ranked rows, or where no query has a score for all of them.
    """
    if len(task.ranked) < 2 or not task.queries:
        return None
    smallest = smallest_differences(task.tests, task.queries)
    typical = typical_difference(smallest, task.tests)
    places = [int(np.searchsorted(task.ranked, row)) for row in order]
    return Certainty(
        queries=task.queries,
        tiers=tuple(_tier(task, tier, smallest) for tier in tiers(places, task.better)),
        separable_neighbours=sum(bool(task.better[above, below]) for above, below in pairwise(places)),
        smallest_difference=typical if math.isfinite(typical) else None,
    )


def _tier(task: TaskScores, places: Sequence[int], smallest: Floats) -> Tier:
    reach = smallest[places[0], task.tests.size[places[0]] > 0]
    finite = reach.size > 0 and bool(np.isfinite(reach).all())
    return Tier(tuple(int(task.ranked[place]) for place in places), float(np.median(reach)) if finite else None)


def row_certainties(task: TaskScores, of_ranking: Certainty | None, *, has_histogram: bool) -> list[RowCertainty]:
    """The certainty of each row."""
    rows = [
        RowCertainty(interval, None, None, None, _histogram(scores) if has_histogram else ())
        for interval, scores in zip(_with_width(task.percentile), task.scores, strict=True)
    ]
    if of_ranking is None:
        return rows
    ranges = rank_ranges(task.better).tolist()
    first = _first_shares(task).tolist()
    tier_of = {row: number for number, tier in enumerate(of_ranking.tiers) for row in tier.rows}
    for row, (best, worst), share in zip(task.ranked.tolist(), ranges, first, strict=True):
        rows[row] = replace(rows[row], rank_range=(best, worst), tier=tier_of[row], first=share)
    return rows


def _first_shares(task: TaskScores) -> Floats:
    """[team]: the share of the resamples in which a ranked row has the highest mean."""
    counts, resamples = np.zeros(len(task.ranked), dtype=np.int64), task.resampled.shape[1]
    for block in blocks(resamples, _AT_ONCE):
        means = task.resampled[task.ranked, block]
        counts += (means == means.max(axis=0)).sum(axis=1)
    return np.asarray(counts / resamples)


def pairs(task: TaskScores, *, has_counts: bool) -> tuple[Pair, ...]:
    """Each row with the first ranked one and with its neighbours, on the queries for which both are defined."""
    listed = _listed_pairs(task)
    if not len(listed):
        return ()
    p_values = task.p_values(*listed.T)
    task.release()  # p-values need the sums that the tests of all pairs read, and differences need the resamples
    differences = task.differences(*listed.T)
    place_of = {int(row): place for place, row in enumerate(task.ranked)}
    compared = []
    for (one, other), mean, interval, p_value, counts in zip(
        listed.tolist(),
        differences.mean.tolist(),
        _with_width(differences.interval),
        p_values.tolist(),
        differences.outcomes.tolist(),
        strict=True,
    ):
        separable, needed = None, None
        if one in place_of and other in place_of and task.queries:
            i, j = place_of[one], place_of[other]
            separable = bool(task.better[i, j] or task.better[j, i])
            needed = None if separable else _needed(task, i, j)
        wins, ties, losses = counts if has_counts else (None, None, None)
        compared.append(
            Pair(
                row=one,
                other=other,
                difference=0.0 if math.isnan(mean) else mean,
                interval=interval,
                p_value=p_value,
                is_separable=separable,
                wins=wins,
                ties=ties,
                losses=losses,
                queries_needed=needed,
            )
        )
    return tuple(compared)


def _listed_pairs(task: TaskScores) -> Ints:
    """[pair, 2]: each row with the first ranked one, which may follow baselines, and with its neighbours."""
    count = len(task.scores)
    listed = {(one, other) for one in range(count) for other in range(one + 1, min(one + 1 + NEIGHBOURS, count))}
    for leader in task.ranked[:1].tolist():
        listed |= {(min(leader, row), max(leader, row)) for row in range(count) if row != leader}
    return np.array(sorted(listed), dtype=np.int64).reshape(-1, 2)


def _needed(task: TaskScores, one: int, other: int) -> int | None:
    """How many queries would separate a pair of teams; None where none do."""
    needed = queries_needed(float(task.tests.statistic[one, other]), task.tests.critical, task.queries)
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
