"""Methods that fuse runs, and the normalisations of run scores before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from scorer.errors import FusionError
from scorer.measures.matched import About, Bools, Declared, Floats, Ints, Parameter, declaration
from scorer.runs import AlignedRuns, by_id_within_ties
from scorer.wording import counted, quoted

Weights = Floats
"""[run]: its weight."""

GivenParameter = float | str | Sequence[float]
"""The value of a parameter as a caller may give it: a number, weights, or either as text."""

STEP = 0.1
"""The default step between weights that are tried."""


@dataclass(frozen=True, eq=False)
class Method(Declared[Floats]):
    """A function that fuses runs and its declaration; `name` is that in ranx.

    The function takes `AlignedRuns`, then its parameters by keyword, and returns the fused score of each candidate.
    """

    uses: Literal["scores", "ranks"]
    """What it takes of the runs."""
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The name with its parameters: ``rrf(k=60)``, ``wsum(weights=...)``."""
        settings = [
            f"{parameter.name}={'...' if parameter.default is None else f'{parameter.default:g}'}"
            for parameter in self.parameters
        ]
        return f"{self.name}({', '.join(settings)})" if settings else self.name

    def settings(self, given: Mapping[str, GivenParameter], runs: int) -> dict[str, float | Weights]:
        """Return the values of the parameters, given by name, for a number of runs.

        Raises FusionError where the method has no such parameter or does not take this value, or a value is missing.
        """
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise FusionError(
                    f"{self.name} has no parameter {quoted(name)}; it takes {', '.join(sorted(known)) or 'none'}"
                )
        values: dict[str, float | Weights] = {}
        for parameter in self.parameters:
            name = parameter.name
            if name in given:
                values[name] = value_of(parameter, given[name], runs)
            elif parameter.default is not None:
                values[name] = parameter.default
            else:
                example = "1,2" if parameter.weights else "0.5"
                raise FusionError(
                    f"{self.name} needs {name}: {parameter.about.description}, as in {name}={example}; or give a "
                    "solution and a measure to tune it"
                )
        return values

    def __call__(self, runs: AlignedRuns, settings: Mapping[str, float | Weights]) -> Floats:
        """Return the fused scores: [candidate]."""
        return self.function(runs, **settings)


method = declaration(Method)


def value_of(parameter: Parameter, given: GivenParameter, runs: int) -> float | Weights:
    """Return the value of a parameter that `given` means. Raises FusionError where it is not allowed."""
    refusal = FusionError(f"{parameter.name}: expected {parameter.allowed}; found {quoted(str(given))}")
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, float | int) else given
    try:
        values = np.array([float(part) for part in parts])
    except (TypeError, ValueError):
        raise refusal from None
    about = parameter.about
    if not np.isfinite(values).all() or ((values < about.least) | (values > about.most)).any():
        raise refusal
    if parameter.weights and values.size != runs:
        raise FusionError(f"{parameter.name}: found {counted(values.size, 'weight')} for {counted(runs, 'run')}")
    if not parameter.weights and values.size != 1:
        raise refusal
    return values if parameter.weights else float(values[0])


_Persistence = Annotated[float, About(least=0, most=1, grid=(0.01, 1.0, 0.01))]
Exponent = Annotated[float, About(least=0, grid=(0.01, 1.0, 0.01))]
Smoothing = Annotated[float, About(least=0, most=1, grid=(0.01, 1.0, 0.01))]
Offset = Annotated[float, About(least=0, grid=(10, 100, 10))]
RunWeights = Annotated[Weights, About(least=0, grid=(0.0, 1.0, STEP))]


SMALLEST = 1e-9
"""The smallest divisor, as in ranx: a list whose scores are all equal divides by it instead of 0."""


@dataclass(frozen=True, eq=False)
class Normalisation(Declared[AlignedRuns]):
    """A function that normalises the scores of runs and its declaration; `name` is that in ranx."""

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


@normalises(name="min-max", aliases=("min_max", "minmax"))
def min_max(runs: AlignedRuns) -> AlignedRuns:
    """The score from 0 for the lowest score of the list to 1 for the highest."""
    low, high = _lowest(runs), _highest(runs)
    return replace(runs, score=(runs.score - low) / np.maximum(high - low, SMALLEST))


@normalises(name="min-max-inverted", aliases=("min_max_inverted", "minmax-inverted"))
def min_max_inverted(runs: AlignedRuns) -> AlignedRuns:
    """The score from 1 for the lowest score of the list to 0 for the highest, and ranks by it; for distances."""
    low, high = _lowest(runs), _highest(runs)
    # Equal scores keep their order, which is that of their ids.
    order = np.lexsort((runs.rank, runs.score, runs.list))
    rank = np.empty_like(runs.rank)
    rank[order] = np.arange(order.size) - (np.cumsum(runs.length) - runs.length)[runs.list[order]] + 1
    return replace(runs, rank=rank, score=(high - runs.score) / np.maximum(high - low, SMALLEST))


@normalises(name="max")
def by_maximum(runs: AlignedRuns) -> AlignedRuns:
    """The score divided by the highest score of the list, which should be positive."""
    return replace(runs, score=runs.score / np.maximum(_highest(runs), SMALLEST))


@normalises(name="sum")
def by_sum(runs: AlignedRuns) -> AlignedRuns:
    """The score above the lowest score of the list, divided by the sum of these differences."""
    above = runs.score - _lowest(runs)
    return replace(runs, score=above / np.maximum(_sums(runs, above), SMALLEST))


@normalises(name="zmuv", aliases=("z-score", "zscore", "z_score"))
def z_score(runs: AlignedRuns) -> AlignedRuns:
    """The number of standard deviations that the score is above the mean of the list: zero mean, unit variance."""
    length = runs.length[runs.list]
    # Differences to the lowest score are exactly 0 in a list whose scores are all equal.
    above = runs.score - _lowest(runs)
    centred = above - _sums(runs, above) / length
    deviation = np.sqrt(_sums(runs, centred**2) / length)
    return replace(runs, score=centred / np.maximum(deviation, SMALLEST))


@normalises(name="rank")
def by_rank(runs: AlignedRuns) -> AlignedRuns:
    """The share of the list from the item downwards."""
    return replace(runs, score=1 - (runs.rank - 1) / runs.length[runs.list])


@normalises(name="borda")
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


@normalises(name="none")
def unchanged(runs: AlignedRuns) -> AlignedRuns:
    """The score as it is in the run."""
    return runs


def total(runs: AlignedRuns, value: Floats) -> Floats:
    """[candidate]: the sum of the values of its entries, added in the order of the runs."""
    return np.asarray(np.bincount(runs.candidate, weights=value, minlength=runs.item.size), dtype=np.float64)


def listed_by(runs: AlignedRuns) -> Ints:
    """[candidate]: the number of runs that list it."""
    return np.bincount(runs.candidate, minlength=runs.item.size)


@method(name="sum", uses="scores", aliases=("comb_sum", "combsum"))
def comb_sum(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores."""
    return total(runs, runs.score)


@method(name="mnz", uses="scores", aliases=("comb_mnz", "combmnz"))
def comb_mnz(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores, times the number of runs that list it."""
    return total(runs, runs.score) * listed_by(runs)


@method(name="gmnz", uses="scores", aliases=("comb_gmnz", "combgmnz"))
def comb_gmnz(runs: AlignedRuns, *, gamma: Exponent) -> Floats:
    """The sum of the item's scores, times a power of the number of runs that list it."""
    return np.asarray(total(runs, runs.score) * listed_by(runs).astype(float) ** gamma)


@method(name="anz", uses="scores", aliases=("comb_anz", "combanz"))
def comb_anz(runs: AlignedRuns) -> Floats:
    """The mean of the item's scores over the runs that list it."""
    return total(runs, runs.score) / listed_by(runs)


@method(name="max", uses="scores", aliases=("comb_max", "combmax"))
def comb_max(runs: AlignedRuns) -> Floats:
    """The highest of the item's scores."""
    return np.maximum.reduceat(runs.score, runs.first_entries())


@method(name="min", uses="scores", aliases=("comb_min", "combmin"))
def comb_min(runs: AlignedRuns) -> Floats:
    """The lowest of the item's scores."""
    return np.minimum.reduceat(runs.score, runs.first_entries())


@method(name="med", uses="scores", aliases=("comb_med", "combmed"))
def comb_med(runs: AlignedRuns) -> Floats:
    """The median of the item's scores over the runs that list it."""
    ascending = runs.score[np.lexsort((runs.score, runs.candidate))]
    listed, first = listed_by(runs), runs.first_entries()
    return np.asarray((ascending[first + (listed - 1) // 2] + ascending[first + listed // 2]) / 2)


@method(name="wsum", uses="scores", aliases=("weighted_sum", "linear"))
def weighted_sum(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The sum of the item's scores, each times the weight of its run."""
    return total(runs, weights[runs.run] * runs.score)


@method(name="wmnz", uses="scores", aliases=("weighted_mnz",))
def weighted_mnz(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The sum of the item's scores, times the sum of the weights of the runs that list it."""
    return total(runs, runs.score) * total(runs, weights[runs.run])


@method(name="mixed", uses="scores")
def mixed(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The weighted sum of the item's scores, times the square root of the number of runs that list it."""
    return np.asarray(total(runs, weights[runs.run] * runs.score) * np.sqrt(listed_by(runs)))


@method(name="rrf", uses="ranks")
def reciprocal_rank_fusion(runs: AlignedRuns, *, k: Offset = 60.0) -> Floats:
    """The sum of the reciprocals of the item's ranks, each with an offset."""
    return total(runs, 1 / (k + runs.rank))


def _inverse_squares(runs: AlignedRuns) -> Floats:
    return total(runs, 1 / np.square(runs.rank, dtype=np.float64))


@method(name="isr", uses="ranks")
def inverse_square_rank(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the number of runs that list it."""
    return _inverse_squares(runs) * listed_by(runs)


@method(name="log_isr", uses="ranks", aliases=("logisr",))
def logarithmic_isr(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the logarithm of the number of runs that list it."""
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs)))


@method(name="logn_isr", uses="ranks", aliases=("lognisr",))
def smoothed_logarithmic_isr(runs: AlignedRuns, *, sigma: Smoothing = 0.01) -> Floats:
    """As log_isr, with a number added to the number of runs, so that items of one run do not all tie."""
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs) + sigma))


@method(name="rbc", uses="ranks")
def rank_biased_centroid(runs: AlignedRuns, *, phi: _Persistence) -> Floats:
    """The sum of the weights that rank-biased precision gives to the item's ranks."""
    return total(runs, np.asarray((1 - phi) * phi ** (runs.rank - 1.0), dtype=np.float64))


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


@method(name="bordafuse", uses="ranks", aliases=("borda", "borda_fuse", "borda_count"))
def borda(runs: AlignedRuns) -> Floats:
    """The sum of the item's points: from each run, as many as there are candidates from the item downwards."""
    return _points(runs, np.ones(runs.runs))


@method(name="w_bordafuse", uses="ranks", aliases=("weighted_bordafuse", "weighted_borda"))
def weighted_borda(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """As bordafuse, with the points of each run times its weight."""
    return _points(runs, weights)


def _by_majority(runs: AlignedRuns, weights: Weights) -> Floats:
    """[candidate]: how many candidates of its query are from its place downwards, sorted by majority."""
    rank = np.full((runs.item.size, runs.runs), np.inf)
    rank[runs.candidate, runs.run] = runs.rank
    candidates = runs.candidates
    start = np.cumsum(candidates) - candidates
    points = _points(runs, weights)
    order = np.lexsort((-points, runs.query))
    query, value = runs.query[order], points[order]
    tied = (query[1:] == query[:-1]) & (value[1:] == value[:-1])
    if tied.any():
        order = by_id_within_ties(tied, order, runs.items, runs.item)
    width = 1
    while width < candidates.max(initial=0):
        order = _merged(order, start, candidates, width, rank, weights)
        width *= 2
    scores = np.empty(order.size)
    scores[order] = (start + candidates)[runs.query] - np.arange(order.size)
    return scores


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


@method(name="condorcet", uses="ranks")
def condorcet(runs: AlignedRuns) -> Floats:
    """The number of candidates from the item downwards, when a merge sort compares items by the majority of the
    runs.
    """
    return _by_majority(runs, np.ones(runs.runs))


@method(name="w_condorcet", uses="ranks", aliases=("weighted_condorcet",))
def weighted_condorcet(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """As condorcet, where each run has as many votes as its weight."""
    return _by_majority(runs, weights)
