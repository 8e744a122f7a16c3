"""The certainty of boards of tests, from invented scores of queries whose means are the scores of the rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from scorer.board.board import BINS, Board, Certainty, Interval, QueryScores, RowCertainty, RowPair, Tier
from scorer.measures.matched import Floats
from scorer.scoring.analysis.kept import ExtremeQuery
from scorer.scoring.statistics.rankings import rank_ranges, ranks_of, separable_from_leaders, tiers
from scorer.scoring.statistics.resampling import (
    SignFlips,
    pair_p_values,
    percentile_intervals,
    queries_needed,
    resampled_means,
    sign_flips,
    smallest_differences,
    typical_difference,
)

RESAMPLES = 400

NEAREST, ALL_PAIRS = 3, 60
"""How many rows above and below a row it is compared with, in addition to the leader, on a board with more rows than
this; on others, all are compared."""

EXTREMES = 5
"""How many of the best and of the worst queries a row has."""


def query_scores(means: list[float], queries: int, seed: int = 1) -> Floats:
    """Scores of queries in [0, 1], [team, query], with these means; queries are as hard for all teams alike."""
    random = np.random.default_rng(seed)
    hardness = random.gamma(0.8, 1.0, queries)
    scores = np.empty((len(means), queries))
    for row, mean in zip(scores, means, strict=True):
        raw = hardness * random.gamma(3.0, 1.0, queries)
        low, high = 0.0, 1e6
        for _ in range(80):
            scale = (low + high) / 2
            low, high = (scale, high) if np.minimum(raw * scale, 1).mean() < mean else (low, scale)
        row[:] = np.minimum(raw * high, 1)
    return scores


def with_certainty(board: Board, seed: int = 1) -> Board:
    """The board with the certainty of its primary measure, computed from invented scores of queries."""
    scored = [position for position, row in enumerate(board.rows) if row.entry and _shown(board, position) is not None]
    of_teams = [position for position in scored if not board.rows[position].baseline]
    if len(of_teams) < 2:
        return board
    queries = board.scored_queries if board.track.shows_final else board.preliminary_queries
    every = query_scores([_shown(board, position) or 0.0 for position in scored], queries, seed)
    scores = every[[scored.index(position) for position in of_teams]]
    tests = sign_flips(scores, flips=999)
    better = tests.better()
    groups = tiers(np.arange(len(scores)), better)
    ranges = rank_ranges(better)
    intervals = percentile_intervals(resampled_means(every, RESAMPLES))
    first = (ranks_of(resampled_means(scores, RESAMPLES)) == 1).mean(axis=0)
    reach = smallest_differences(tests, queries)
    rows = list(board.rows)
    for index, position in enumerate(scored):
        low, high = map(float, intervals[index])
        histogram = tuple(np.histogram(every[index], bins=BINS, range=(0, 1))[0].tolist())
        row_certainty = RowCertainty((low, high), None, None, None, histogram)
        if position in of_teams:
            team = of_teams.index(position)
            begin, end = map(int, ranges[team])
            tier = next(number for number, group in enumerate(groups) if team in group)
            apart = bool(separable_from_leaders(groups, better)[team])
            row_certainty = RowCertainty((low, high), (begin, end), tier, float(first[team]), histogram, apart)
        rows[position] = replace(rows[position], certainty=(row_certainty, *(None,) * (len(board.columns) - 1)))
    of_board = Certainty(
        queries=queries,
        tiers=tuple(
            Tier(tuple(of_teams[team] for team in group), float(np.median(np.delete(reach[group[0]], group[0]))))
            for group in groups
        ),
        separable_neighbours=sum(bool(better[one, other]) for one, other in pairwise(range(len(scores)))),
        smallest_difference=typical_difference(smallest_differences(tests, queries), tests),
    )
    where = {position: index for index, position in enumerate(scored)}
    compared = [
        (one, other)
        for one, other in combinations(scored, 2)
        if len(scored) <= ALL_PAIRS
        or one == of_teams[0]
        or where[other] - where[one] <= NEAREST
        or (one in of_teams) != (other in of_teams)
    ]
    differences = np.array([every[where[one]] - every[where[other]] for one, other in compared])
    ends = percentile_intervals(resampled_means(differences, RESAMPLES)).tolist()
    p_values = pair_p_values(differences, 999).tolist()
    pairs = [
        _pair(pair, difference, (low, high), p_value, tests, of_teams)
        for pair, difference, (low, high), p_value in zip(compared, differences, ends, p_values, strict=True)
    ]
    for position in scored:
        best, worst = _extremes(every, where, of_teams, position)
        deciles = tuple(np.quantile(every[where[position]], np.arange(1, 10) / 10).tolist())
        rows[position] = replace(rows[position], best_queries=best, worst_queries=worst, deciles=deciles)
    return replace(
        board,
        rows=tuple(rows),
        certainty=(of_board, *(None,) * (len(board.columns) - 1)),
        pairs=tuple(pairs),
        query_ids=tuple(f"q{number + 1}" for number in range(every.shape[1])),
        query_scores=QueryScores(
            tuple(range(every.shape[1])), {position: tuple(every[where[position]].tolist()) for position in scored}
        ),
    )


def _shown(board: Board, position: int) -> float | None:
    return board.shown_scores(board.rows[position].entry)[0]


def _pair(
    pair: tuple[int, int], difference: Floats, interval: Interval, p_value: float, tests: SignFlips, of_teams: list[int]
) -> RowPair:
    """The pair of two rows; without a decision if one is a baseline."""
    one, other = pair
    is_separable, needed = None, np.inf
    if one in of_teams and other in of_teams:
        teams = of_teams.index(one), of_teams.index(other)
        better = tests.better()
        is_separable = bool(better[teams] or better[teams[::-1]])
        needed = queries_needed(float(tests.statistic[teams]), tests.critical, difference.size)
    return RowPair(
        row=one,
        other=other,
        difference=float(difference.mean()),
        interval=interval,
        p_value=p_value,
        is_separable=is_separable,
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
        queries_needed=None if is_separable or not np.isfinite(needed) else int(np.ceil(needed)),
    )


def _extremes(
    every: Floats, where: dict[int, int], of_teams: list[int], position: int
) -> tuple[tuple[ExtremeQuery, ...], tuple[ExtremeQuery, ...]]:
    """The queries on which a row is furthest above and below the median of the other teams."""
    own = every[where[position]]
    median = np.median(every[[where[each] for each in of_teams if each != position]], axis=0)
    order = np.argsort(median - own, kind="stable")
    queries = [ExtremeQuery(int(number), float(own[number]), float(median[number])) for number in order]
    return tuple(queries[:EXTREMES]), tuple(queries[: -EXTREMES - 1 : -1])
