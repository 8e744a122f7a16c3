"""Normalisations: run scores of different systems on one scale, list by list."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scorer.measures.arrays import Bools, Floats
from scorer.measures.parameters import Declared, declaration
from scorer.runs.aligned import AlignedRuns

SMALLEST = 1e-9
"""The smallest divisor, as in ranx: a list whose scores are all equal divides by it instead of 0."""


@dataclass(frozen=True, eq=False)
class Normalisation(Declared[AlignedRuns]):
    """A function that normalises the scores of runs and its declaration; `name` is that in ranx."""

    formula: str
    aliases: tuple[str, ...] = ()

    def __call__(self, runs: AlignedRuns) -> AlignedRuns:
        """Return the runs with normalised scores."""
        return self.function(runs)


normalises = declaration(Normalisation)


def _lowest(runs: AlignedRuns) -> Floats:
    """[entry]: the lowest score of its list."""
    return _of_rank(runs, runs.rank == runs.length[runs.list])


def _highest(runs: AlignedRuns) -> Floats:
    """[entry]: the highest score of its list."""
    return _of_rank(runs, runs.rank == 1)


def _of_rank(runs: AlignedRuns, chosen: Bools) -> Floats:
    """[entry]: the score of the one entry of its list that is chosen."""
    of_list = np.zeros(runs.length.size)
    of_list[runs.list[chosen]] = runs.score[chosen]
    return of_list[runs.list]


def _sums(runs: AlignedRuns, value: Floats) -> Floats:
    """[entry]: the sum of the values of its list."""
    sums = np.bincount(runs.list, weights=value, minlength=runs.length.size)
    return np.asarray(sums, dtype=np.float64)[runs.list]


@normalises(name="min-max", formula="(s - min) / (max - min)", aliases=("min_max", "minmax"))
def min_max(runs: AlignedRuns) -> AlignedRuns:
    """The score from 0 for the lowest score of the list to 1 for the highest."""
    low, high = _lowest(runs), _highest(runs)
    return replace(runs, score=(runs.score - low) / np.maximum(high - low, SMALLEST))


@normalises(name="min-max-inverted", formula="(max - s) / (max - min)", aliases=("min_max_inverted", "minmax-inverted"))
def min_max_inverted(runs: AlignedRuns) -> AlignedRuns:
    """The score from 1 for the lowest score of the list to 0 for the highest, and ranks by it; for distances."""
    low, high = _lowest(runs), _highest(runs)
    # Equal scores keep their order, which is that of their ids.
    order = np.lexsort((runs.rank, runs.score, runs.list))
    rank = np.empty_like(runs.rank)
    rank[order] = np.arange(order.size) - (np.cumsum(runs.length) - runs.length)[runs.list[order]] + 1
    return replace(runs, rank=rank, score=(high - runs.score) / np.maximum(high - low, SMALLEST))


@normalises(name="max", formula="s / max")
def by_maximum(runs: AlignedRuns) -> AlignedRuns:
    """The score divided by the highest score of the list, which should be positive."""
    return replace(runs, score=runs.score / np.maximum(_highest(runs), SMALLEST))


@normalises(name="sum", formula="(s - min) / (sum over the list of (s - min))")
def by_sum(runs: AlignedRuns) -> AlignedRuns:
    """The score above the lowest score of the list, divided by the sum of these differences."""
    above = runs.score - _lowest(runs)
    return replace(runs, score=above / np.maximum(_sums(runs, above), SMALLEST))


@normalises(name="zmuv", formula="(s - mean) / (standard deviation)", aliases=("z-score", "zscore", "z_score"))
def z_score(runs: AlignedRuns) -> AlignedRuns:
    """The number of standard deviations that the score is above the mean of the list: zero mean, unit variance."""
    length = runs.length[runs.list]
    # Differences to the lowest score are exactly 0 in a list whose scores are all equal.
    above = runs.score - _lowest(runs)
    centred = above - _sums(runs, above) / length
    deviation = np.sqrt(_sums(runs, centred**2) / length)
    return replace(runs, score=centred / np.maximum(deviation, SMALLEST))


@normalises(name="rank", formula="1 - (rank - 1) / n; n is the length of the list")
def by_rank(runs: AlignedRuns) -> AlignedRuns:
    """The share of the list from the item downwards."""
    return replace(runs, score=1 - (runs.rank - 1) / runs.length[runs.list])


@normalises(
    name="borda",
    formula="1 - (rank - 1) / c where the run lists the item, else 1/2 - (n - 1) / (2 c); c is the number of "
    "candidates of the query, n the length of the list",
)
def by_borda(runs: AlignedRuns) -> AlignedRuns:
    """The share of the query's candidates from the item downwards; a run then lists every candidate of a query."""
    candidates = runs.candidates
    query = runs.query[runs.candidate]
    length = runs.length.reshape(-1, runs.runs)
    scores = (0.5 - (length - 1) / (2 * np.maximum(candidates, 1))[:, None])[runs.query]
    scores[runs.candidate, runs.run] = 1 - (runs.rank - 1) / candidates[query]
    ranks = length[runs.query] + 1
    ranks[runs.candidate, runs.run] = runs.rank
    return replace(
        runs,
        candidate=np.repeat(np.arange(runs.item.size), runs.runs),
        run=np.tile(np.arange(runs.runs), runs.item.size),
        rank=ranks.reshape(-1),
        score=scores.reshape(-1),
        length=np.repeat(candidates, runs.runs),
    )


@normalises(name="none", formula="s")
def unchanged(runs: AlignedRuns) -> AlignedRuns:
    """The score as it is in the run."""
    return runs
