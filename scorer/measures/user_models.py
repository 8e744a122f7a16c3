"""Measures with a model of how a user reads a list; those of cwl_eval have a probability of going on at each item
(C/W/L).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from scorer.measures.gain import LOG_2, SUM_ROUNDING, Gains, best_grades, discounts, share_of_best
from scorer.measures.kinds import Measure, Unlike, kind
from scorer.measures.matched import (
    About,
    Bools,
    Floats,
    Ints,
    JudgedItems,
    Matched,
    Threshold,
    Tied,
    TieGroups,
    cumulative,
    ratio,
)

_Persistence = Annotated[float, About(least=0, most=0.9999)]
RbpGain = Literal["share", "binary", "linear"]
Highest = Annotated[float | Literal["solution"], About(least=0.001, most=1e6)]
Normalise = Annotated[Literal["yes", "no"], About(also={"normalize": {"true": "yes", "false": "no"}})]


def highest_rbp(matched: Matched, k: int | None, p: _Persistence, gain: RbpGain, rel: Threshold) -> Floats:
    """[query]: the RBP of the items of the solution by descending grade; infinite where it may overflow."""
    best = replace(matched, found=matched.ideal, retrieved=matched.total(matched.ideal).astype(np.int64))
    scores = rank_biased_precision.function(best, k, p=p, gain=gain, rel=rel)
    with np.errstate(over="ignore"):
        return np.where(np.isnan(scores), 0, scores) * (1 + SUM_ROUNDING)


def _binary_rbp(measure: Measure) -> Measure | None:
    # trec_eval has rbp too, with our p, but without a cut-off.
    return None if measure.threshold == "positive" and measure.cutoff is None else measure.changed(p=0.8)


def _decimals_of_rbp(measure: Measure) -> Measure | None:
    """Return what ``rbp@95`` means in ranx, where it is ``rbp.95``."""
    if measure.cutoff is None:
        return None
    return measure.kind.measure(None, {"p": f"0.{measure.cutoff}", "gain": "linear"})


@kind(
    name="RBP",
    bounded={"gain": "linear"},
    decimals="p",
    decimals_with={"gain": "linear"},
    unlike=(Unlike("ir_measures", "p", _binary_rbp), Unlike("ranx", "p", _decimals_of_rbp)),
    highest=highest_rbp,
)
def rank_biased_precision(
    matched: Matched, k: int | None, *, p: _Persistence = 0.9, gain: RbpGain = "share", rel: Threshold = "positive"
) -> Floats:
    """The expected gain per item read of a user who reads on after each item with probability p."""
    gains = {
        "share": share_of_best(matched, "linear"),
        "binary": lambda hits: np.ones(len(hits)),
        "linear": lambda hits: np.maximum(hits.grade, 0),
    }
    chosen = gains["binary" if gain == "share" and rel != "positive" else gain]
    ranked = matched.values_by_rank(matched.found.relevant(rel), chosen, k)
    sums = matched.total(ranked, ranked.value * (1 - p) * p ** (ranked.rank - 1.0))
    return sums * matched.defined(rel)


@kind(name="RBPresidual", aliases={"rbp_resid": {}}, closed_form_when_cut=False)
def rank_biased_residual(matched: Matched, *, p: _Persistence = 0.9) -> Floats:
    """How much RBP could grow if every unjudged item had the highest gain, in the list and after its end."""
    judged = matched.found.where(matched.found.grade >= 0)
    ranked = matched.values_by_rank(judged, lambda hits: np.ones(len(hits)))
    residual = 1 - matched.total(ranked, ranked.value * (1 - p) * p ** (ranked.rank - 1.0))
    return np.where(matched.count(judged) < matched.retrieved, residual, 0)


@kind(
    name="ERR",
    unlike=(Unlike("ir_measures", "highest", lambda own: None if own.cutoff is None else own.changed(highest=4)),),
    closed_form=False,
)
def expected_reciprocal_rank(matched: Matched, k: int | None, *, highest: Highest = "solution") -> Floats:
    """The expected reciprocal of the rank at which a user stops who is more likely to stop at better items."""
    return ratio(_stops(matched, matched.found.top(k), highest, "exp"), 1, best_grades(matched) > 0)


StopGain = Literal["exp", "linear"]


@kind(name="nERR", closed_form=False)
def normalised_err(matched: Matched, k: int | None, *, gain: StopGain = "exp", highest: Highest = "solution") -> Floats:
    """The expected reciprocal rank of the list, divided by that of the ideal list."""
    found, best = (_stops(matched, hits.top(k), highest, gain) for hits in (matched.found, matched.ideal))
    return ratio(found, np.where(best > 0, best, 1), best_grades(matched) > 0)


def _stops(matched: Matched, hits: JudgedItems, highest: float | Literal["solution"], gain: StopGain) -> Floats:
    """[query]: the expected reciprocal of the rank at which a user stops."""
    top, hits = _top_grade(matched, highest), hits.relevant()
    grade = np.minimum(hits.grade, top)
    satisfied = grade / (top + 1) if gain == "linear" else np.exp2(grade - top) * -np.expm1(-LOG_2 * grade)
    position = hits.position_in_query()
    reading = np.where(position == 1, 1, np.roll(cumulative(position, 1 - satisfied, np.multiply), 1))
    return matched.total(hits, reading * satisfied / hits.rank)


def _top_grade(matched: Matched, given: float | Literal["solution"]) -> float:
    return float(matched.ideal.grade.max(initial=0.0)) if given == "solution" else given


Extrapolated = Annotated[float, About(least=0.001, most=0.9999)]


@kind(
    name="RBO",
    aliases={"RBO_ext": {}},
    redirected={"depth": {"list": "Compat"}, "normalise": {"*": "Compat"}, "normalize": {"*": "Compat"}},
    closed_form=False,
)
def overlap_with_ideal(matched: Matched, *, p: Extrapolated = 0.95) -> Floats:
    """The overlap of the list with the ideal list, extrapolated to lists without an end."""
    found, wanted = matched.found.relevant(), matched.relevant_items()
    ranks = found.rank, _ideal_ranks(found)
    scores = extrapolated_overlap(found.query, ranks, (matched.retrieved, wanted.astype(np.int64)), p)
    return ratio(scores, 1, wanted > 0)


def extrapolated_overlap(query: Ints, ranks: tuple[Ints, Ints], lengths: tuple[Ints, Ints], p: float) -> Floats:
    """[query]: the RBO-ext of two lists, equation 32 of Webber, Moffat and Zobel; 0 where they share no item.

    `query` and the two `ranks` are those of the items that both lists have, [item]; `lengths` are [query].
    """
    shorter, longer = np.maximum(np.minimum(*lengths), 1), np.maximum(np.maximum(*lengths), 1)
    depths, depth = np.arange(1, int(longer.max(initial=0)) + 1), np.maximum(*ranks)
    weights, power = np.cumsum(np.append(0, p**depths / depths)), np.power(p, np.arange(depths.size + 1))

    def total(values: Floats | Bools | None = None) -> Floats:
        return np.asarray(np.bincount(query, values, minlength=longer.size), dtype=np.float64)

    seen, early = total(weights[longer[query]] - weights[depth - 1]), total(depth <= shorter[query])
    below = (power[shorter] - power[longer]) * p / (1 - p) - shorter * (weights[longer] - weights[shorter])
    agreement = (total() - early) / longer + early / shorter
    scores = (1 - p) / p * (seen + early / shorter * below) + agreement * power[longer]
    return np.asarray(np.clip(scores, 0, 1), dtype=np.float64)


Depth = Annotated[float | Literal["list"], About(least=1, most=1e6)]


@kind(
    name="Compat",
    aliases={"Compatibility": {}},
    unlike=(Unlike("ir_measures", "depth", lambda own: own.changed(depth="list"), is_refused=False),),
    closed_form=False,
)
def compatibility(
    matched: Matched, *, p: _Persistence = 0.95, normalise: Normalise = "yes", depth: Depth = 1000.0
) -> Floats:
    """The overlap of the list with the ideal list at every depth, with more weight at the top."""
    ideal, found = matched.ideal.relevant(), matched.found.relevant()
    wanted = matched.relevant_items()
    if depth == "list":
        last = np.maximum(matched.retrieved, wanted.astype(np.int64))
    else:
        last = np.full(matched.queries, int(depth))
    ranks = np.arange(1, int(last.max(initial=0)) + 1)
    weights = np.cumsum(np.append(0, p ** (ranks - 1.0) / ranks))

    def agreement(query: Ints, first: Ints) -> Floats:
        """[query]: the sum of the weights of items that are in both lists from rank `first` on."""
        shares = np.maximum(weights[last[query]] - weights[np.minimum(first, last[query] + 1) - 1], 0)
        return np.asarray(np.bincount(query, shares, minlength=matched.queries), dtype=np.float64)

    shared = agreement(found.query, np.maximum(found.rank, _ideal_ranks(found)))
    if normalise == "yes":
        best = agreement(ideal.query, ideal.rank)
    else:
        best = np.cumsum(np.append(0, p ** (ranks - 1.0)))[last]
    return ratio(shared, np.where(best > 0, best, 1), wanted > 0)


def _ideal_ranks(found: JudgedItems) -> Ints:
    """[entry]: the rank in the ideal list that has items with equal grades in the order of `found`."""
    order = np.lexsort((found.rank, -found.grade, found.query))
    best_first = found.where(order)
    groups = TieGroups.of(best_first, Tied(best_first.tie_rank, best_first.tie_rank))
    ranks = np.empty_like(order)
    ranks[order] = best_first.tie_rank + np.arange(order.size) - np.repeat(groups.first, groups.hits)
    return ranks


MinRel = Annotated[float, About(least=0, most=1e6)]
MaxRel = Annotated[float | Literal["solution"], About(least=0.001, most=1e6)]
Goal = Annotated[float, About(least=0.5, most=1e6, also={"t": {}})]
SdcgDiscount = Annotated[Literal["log2", "jk"], About(also={"dcg": {}})]
_Patience = Annotated[float, About(least=0, most=1)]

Continuation = Callable[[Ints, Floats], Floats]
"""Computes the probability of going on after each item, from the ranks [rank] and the gains [query, rank]."""

_DEPTH = 1000
"""The number of ranks that a user may read, as in cwl_eval."""

_CELLS = 1 << 20
"""How many ranks, of all queries together, are computed at a time."""


def depth(k: int | None) -> int:
    """Return the last rank that a user may read."""
    return _DEPTH if k is None else min(k, _DEPTH)


def _scaled(matched: Matched, min_rel: float, max_rel: float | Literal["solution"]) -> Gains:
    """Return the gains of grades on the scale from `min_rel`, which has gain 0, to `max_rel`, which has gain 1."""
    top = _top_grade(matched, max_rel)

    def gains(hits: JudgedItems) -> Floats:
        if top <= min_rel:  # the limit for a scale of no length
            return (hits.grade > min_rel).astype(np.float64)
        return (np.clip(hits.grade, min_rel, top) - min_rel) / (top - min_rel)

    return gains


def expected_gain(
    matched: Matched, k: int | None, continuation: Continuation, min_rel: float, max_rel: float | Literal["solution"]
) -> Floats:
    """[query]: the mean gain of the ranks, each with the probability that the user reads it as its weight.

    Source: Moffat, Bailey, Scholer and Thomas 2017, the weights W of the C/W/L framework.
    """
    ranks = np.arange(1, depth(k) + 1)
    hits = matched.found.top(ranks.size)
    values = _scaled(matched, min_rel, max_rel)(hits)
    scores = np.empty(matched.queries)
    step = max(1, _CELLS // ranks.size)
    for first in range(0, matched.queries, step):
        last = min(first + step, matched.queries)
        begin, end = np.searchsorted(hits.query, (first, last))
        gain = np.zeros((last - first, ranks.size))
        gain[hits.query[begin:end] - first, hits.rank[begin:end] - 1] = values[begin:end]
        reading = np.ones_like(gain)
        np.cumprod(continuation(ranks, gain)[:, :-1], axis=1, out=reading[:, 1:])
        scores[first:last] = (reading * gain).sum(axis=1) / reading.sum(axis=1)
    return scores * matched.defined()


def weighted_gain(matched: Matched, weights: Floats, min_rel: float, max_rel: float | Literal["solution"]) -> Floats:
    """[query]: the mean gain of the ranks, with the same `weights`, [rank], for every list."""
    gains = _scaled(matched, min_rel, max_rel)
    ranked = matched.values_by_rank(matched.found, gains, weights.size)
    sums = matched.total(ranked, ranked.value * weights[ranked.rank - 1])
    return sums / float(weights.sum()) * matched.defined()


def goal_reading(distance: Floats) -> Floats:
    """Return the probability of going on, which is the higher the farther the user is from the goal."""
    return ((distance - 1) / distance) ** 2


@kind(name="INST", closed_form=False)
def inst(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the papers and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The expected gain per item of a user who needs a total gain of T, and reads less after each gain."""

    def continuation(rank: Ints, gain: Floats) -> Floats:
        return goal_reading(np.asarray(rank + 2 * T - np.cumsum(gain, axis=1), dtype=np.float64))

    return expected_gain(matched, k, continuation, min_rel, max_rel)


@kind(name="INSQ")
def insq(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the papers and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The expected gain per item of a user who needs a total gain of T, regardless of the gains so far."""
    ranks = np.arange(1, depth(k) + 1)
    return weighted_gain(matched, 1 / (ranks + 2 * T - 1) ** 2, min_rel, max_rel)


@kind(name="SDCG")
def scaled_dcg(
    matched: Matched,
    k: int,
    *,
    discount: SdcgDiscount = "log2",
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The discounted gain of the list, divided by that of a list with the highest gain at each of k ranks."""
    return weighted_gain(matched, discounts(np.arange(1, depth(k) + 1), discount), min_rel, max_rel)


@kind(name="NERR8", closed_form=False)
def nearly_err_8(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """The expected gain per item of a user who reads k items at most, and stops at each with its gain as
    probability.
    """
    return expected_gain(matched, k, lambda _, gain: 1 - gain, min_rel, max_rel)


@kind(name="NERR9", closed_form=False)
def nearly_err_9(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """As NERR8, but at rank r the user goes on with r / (r + 1) of that probability only."""
    return expected_gain(matched, k, lambda rank, gain: rank / (rank + 1) * (1 - gain), min_rel, max_rel)


@kind(name="NERR10", closed_form=False)
def nearly_err_10(
    matched: Matched, k: int | None, *, p: _Patience = 0.9, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution"
) -> Floats:
    """As NERR8, but the user goes on with p of that probability only, as in RBP."""
    return expected_gain(matched, k, lambda _, gain: p * (1 - gain), min_rel, max_rel)


@kind(name="NERR11", closed_form=False)
def nearly_err_11(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the paper and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """As NERR8, but at rank r the user goes on with a part of that probability only that depends on a goal, as in
    INSQ.
    """

    def continuation(rank: Ints, gain: Floats) -> Floats:
        return goal_reading(np.asarray(rank + 2 * T)) * (1 - gain)

    return expected_gain(matched, k, continuation, min_rel, max_rel)


@kind(name="BPM", closed_form=False)
def bejeweled_player(
    matched: Matched,
    k: int,
    *,
    T: Annotated[float, About(least=0.001, most=1e6, also={"t": {}})] = 1.0,  # noqa: N803 (the name in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The mean gain of the items up to the one at which the total gain reaches T, or up to rank k."""
    return expected_gain(matched, k, lambda _, gain: (np.cumsum(gain, axis=1) < T).astype(np.float64), min_rel, max_rel)
