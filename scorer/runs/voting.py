"""Fusion by votes: each run is a voter who ranks the candidates of a query."""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.runs.aligned import AlignedRuns, by_id_within_ties
from scorer.runs.fusion import by_ranks
from scorer.runs.methods import RunWeights, Weights

ASLAM_MONTAGUE = "J. A. Aslam and M. Montague, Models for Metasearch, SIGIR 2001."
MONTAGUE_ASLAM = "M. Montague and J. A. Aslam, Condorcet Fusion for Improved Retrieval, CIKM 2002."

POINTS = "the points of run r: c - rank_r(d) + 1 where r lists d, else (c - n_r + 1) / 2; c is the number of candidates"


def _points(runs: AlignedRuns, weights: Weights) -> Floats:
    """[candidate]: the sum of the points that it gets from all runs, each times the weight of the run."""
    candidates = runs.candidates
    total = np.zeros(runs.item.size)
    for run, weight in enumerate(weights.tolist()):
        points = ((candidates - runs.length[run :: runs.runs] + 1) / 2)[runs.query]
        listed = runs.run == run
        of_run = runs.candidate[listed]
        points[of_run] = candidates[runs.query[of_run]] - runs.rank[listed] + 1
        total += weight * points
    return total


@by_ranks(
    name="bordafuse",
    title="Borda count",
    formula=f"sum over runs r of {POINTS} of the query, n_r the length of r's list",
    source=ASLAM_MONTAGUE,
    aliases=("borda", "borda_fuse", "borda_count"),
)
def borda(runs: AlignedRuns) -> Floats:
    """The sum of the item's points: from each run, as many as there are candidates from the item downwards.

    The candidates that a run does not list share the points that are left equally. A run without the query gives every
    candidate the same points.
    """
    return _points(runs, np.ones(runs.runs))


@by_ranks(
    name="w_bordafuse",
    title="Weighted Borda count",
    formula=f"sum over runs r of w_r times {POINTS} of the query, n_r the length of r's list",
    source=ASLAM_MONTAGUE,
    aliases=("weighted_bordafuse", "weighted_borda"),
)
def weighted_borda(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """As bordafuse, with the points of each run times its weight.

    The candidates that a run does not list share the points that are left equally.
    """
    return _points(runs, weights)


def _by_majority(runs: AlignedRuns, weights: Weights) -> Floats:
    """[candidate]: how many candidates of its query are from its place downwards, sorted by majority."""
    rank = np.full((runs.item.size, runs.runs), np.inf)
    rank[runs.candidate, runs.run] = runs.rank
    candidates = runs.candidates
    start = np.cumsum(candidates) - candidates
    order = _start_order(runs, _points(runs, weights))
    width = 1
    while width < candidates.max(initial=0):
        order = _merged(order, start, candidates, width, rank, weights)
        width *= 2
    scores = np.empty(order.size)
    scores[order] = (start + candidates)[runs.query] - np.arange(order.size)
    return scores


def _start_order(runs: AlignedRuns, points: Floats) -> Ints:
    """The candidates by query, points and id, from which the sort by majority starts."""
    order = np.lexsort((-points, runs.query))
    query, value = runs.query[order], points[order]
    tied = (query[1:] == query[:-1]) & (value[1:] == value[:-1])
    return by_id_within_ties(tied, order, runs.items, runs.item) if tied.any() else order


def _merged(order: Ints, start: Ints, candidates: Ints, width: int, rank: Floats, weights: Weights) -> Ints:
    """One pass of a merge sort: sorted stretches of `width` candidates become stretches of twice the width.

    The stretches of all queries are merged at the same time, one candidate each in a step.
    """
    pairs = -(-candidates // (2 * width))
    of_query = np.repeat(np.arange(start.size), pairs)
    left = start[of_query] + (np.arange(of_query.size) - np.repeat(np.cumsum(pairs) - pairs, pairs)) * 2 * width
    end = (start + candidates)[of_query]
    middle = np.minimum(left + width, end)
    stop = np.minimum(left + 2 * width, end)
    right, place = middle.copy(), left.copy()
    left = left.copy()
    result = order.copy()
    active = np.flatnonzero(middle < stop)
    while active.size:
        first, second = order[left[active]], order[right[active]]
        ahead = ((rank[first] < rank[second]) @ weights) - ((rank[second] < rank[first]) @ weights)
        from_left = ahead >= 0
        result[place[active]] = np.where(from_left, first, second)
        place[active] += 1
        left[active[from_left]] += 1
        right[active[~from_left]] += 1
        # What is left of the right stretch is in its place; what is left of the left one is copied.
        done = (left[active] == middle[active]) | (right[active] == stop[active])
        for pair in active[done & (left[active] < middle[active])].tolist():
            result[place[pair] : stop[pair]] = order[left[pair] : middle[pair]]
        active = active[~done]
    return result


@by_ranks(
    name="condorcet",
    title="Condorcet fusion",
    formula="c - place(d) + 1; c is the number of candidates of the query, place(d) that of d in an order in which "
    "each candidate is preferred to the next one by as many runs as prefer the next one, or more",
    source=MONTAGUE_ASLAM,
)
def condorcet(runs: AlignedRuns) -> Floats:
    """The number of candidates from the item downwards, when a merge sort compares items by the majority of the runs.

    A run prefers an item that it lists to one that it does not list, and abstains where it lists neither. The sort
    starts from the Borda count, and then the item id, descending; this order decides where as many runs prefer either
    item, and where majorities form a cycle.
    """
    return _by_majority(runs, np.ones(runs.runs))


@by_ranks(
    name="w_condorcet",
    title="Weighted Condorcet fusion",
    formula="c - place(d) + 1; c is the number of candidates of the query, place(d) that of d in an order in which "
    "each candidate is preferred to the next one by runs with at least the weight of those that prefer the next one",
    source=MONTAGUE_ASLAM,
    aliases=("weighted_condorcet",),
)
def weighted_condorcet(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """As condorcet, where each run has as many votes as its weight.

    The sort starts from the weighted Borda count.
    """
    return _by_majority(runs, weights)
