"""Discounted cumulated gain, the variants of trec_eval, and the blended ratio of NTCIREVAL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Literal, get_args

import numpy as np

from scorer.measures.kinds import kind
from scorer.measures.matched import (
    NOTHING,
    About,
    Bools,
    Floats,
    GainMap,
    Ints,
    JudgedItems,
    Matched,
    Relevant,
    Threshold,
    cumulative,
    once,
    ratio,
)

Gain = Annotated[
    Literal["linear", "exp", "binary"] | GainMap,
    About(also={"gains": {}, "dcg": {"log2": "linear", "exp-log2": "exp"}}),
]
Discount = Literal["log2", "jk"]
Ideal = Literal["judged", "retrieved", "full"]

Gains = Callable[[JudgedItems], Floats]
"""Computes the gain of each entry, [entry]."""

LOG_2 = float(np.log(2))

SUM_ROUNDING = 1e-9
"""By how much, as a share, the rounding of a sum may exceed the sum."""

_CHUNK = 1 << 20
"""The number of ranks whose weights are summed at a time."""


@kind(name="nDCG", aliases={"ndcg_burges": {"gain": "exp"}}, closed_form_when_cut={"ideal": "retrieved"})
def ndcg(
    matched: Matched,
    k: int | None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
    rel: Threshold = "positive",
) -> Floats:
    """The discounted cumulated gain of the list, divided by that of the ideal list."""
    gains = above_threshold(share_of_best(matched, gain), rel)
    found = discounted_sum(matched, matched.found, gains, k, discount)
    if ideal == "full":
        best = highest_gains(matched, gains) * _discount_sums(matched, k, discount)
    elif ideal == "retrieved":
        best = discounted_sum(matched, by_gain(matched.found, gains), gains, k, discount)
    else:
        return found / _ideal_dcg(matched, k, gain, discount, rel)
    return ratio(found, np.where(best > 0, best, 1), _has_gain(matched, rel))


def _has_gain(matched: Matched, rel: Threshold) -> Bools:
    return (matched.relevant_items(rel) > 0) & (best_grades(matched) > 0)


@once
def _ideal_dcg(matched: Matched, k: int | None, gain: Gain, discount: Discount, rel: Threshold) -> Floats:
    gains = above_threshold(share_of_best(matched, gain), rel)
    best_list = by_gain(matched.ideal, gains) if isinstance(gain, tuple) else matched.ideal.relevant()
    best = discounted_sum(matched, best_list, gains, k, discount)
    return np.where(_has_gain(matched, rel), np.where(best > 0, best, 1), np.nan)


@once
def highest_dcg(matched: Matched, k: int | None, gain: Gain, discount: Discount, rel: Threshold) -> Floats:
    """[query]: the DCG of the items of the solution in descending order of gain; infinite where it may overflow."""
    gains = above_threshold(absolute_gains(gain), rel)
    with np.errstate(over="ignore"):
        best_list = by_gain(matched.ideal, gains) if isinstance(gain, tuple) else matched.ideal
        return discounted_sum(matched, best_list, gains, k, discount) * (1 + SUM_ROUNDING)


@kind(name="DCG", aliases={"dcg_burges": {"gain": "exp"}}, bounded=False, highest=highest_dcg)
def dcg(
    matched: Matched,
    k: int | None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    rel: Threshold = "positive",
) -> Floats:
    """The sum of the gains of the items in the list, each discounted by its rank."""
    with np.errstate(over="ignore"):
        sums = discounted_sum(matched, matched.found, above_threshold(absolute_gains(gain), rel), k, discount)
    defined = np.isfinite(highest_dcg(matched, k, gain, discount, rel))
    return ratio(sums, 1, _has_gain(matched, rel) & defined)


def absolute_gains(gain: Gain) -> Gains:
    """Return the gains of the definition, which may exceed the floating-point numbers."""

    def gains(hits: JudgedItems) -> Floats:
        grade = np.maximum(hits.grade, 0)
        if gain == "exp":
            return np.exp2(grade) - 1
        return grade if gain == "linear" else _mapped_gains(gain, hits.grade)

    return gains


def normalised(matched: Matched, gains: Gains, k: int | None) -> Floats:
    """[query]: the discounted gain of the first `k` of the list, divided by that of the first `k` of the ideal list."""
    ideal = discounted_sum(matched, matched.ideal, gains, k)
    found = discounted_sum(matched, matched.found, gains, k)
    return ratio(found, np.where(ideal > 0, ideal, 1), best_grades(matched) > 0)


def discounted_sum(
    matched: Matched, hits: JudgedItems, gains: Gains, k: int | None, discount: Discount = "log2"
) -> Floats:
    """[query]: the discounted gains of `hits` up to rank `k`, summed in rank order."""
    ranked = matched.values_by_rank(hits, gains, k)
    return matched.total(ranked, ranked.value * discounts(ranked.rank, discount))


def discounts(rank: Ints, discount: Discount = "log2") -> Floats:
    """The factor of the gain at each `rank`, an array of the same shape."""
    try:
        return _FIRST_DISCOUNTS[discount][rank]
    except IndexError:
        return _discounts(rank, discount)


def _discounts(rank: Ints, discount: Discount) -> Floats:
    return 1 / np.log2(np.maximum(rank + 1 if discount == "log2" else rank, 2))


_FIRST_DISCOUNTS: Mapping[Discount, Floats] = {
    discount: _discounts(np.arange(1 << 10), discount) for discount in get_args(Discount)
}
"""Those of the first ranks, from 0: reading them takes a fourth of the time of computing them."""


def _discount_sums(matched: Matched, k: int | None, discount: Discount) -> Floats:
    """[query]: the sum of the discounts of the ranks up to `k`, or up to the length of the list."""
    if k is None:
        longest = int(matched.retrieved.max(initial=0))
        return np.cumsum(np.append(0, discounts(np.arange(1, longest + 1), discount)))[matched.retrieved]
    return np.full(matched.queries, sum(float(discounts(ranks, discount).sum()) for ranks in chunks(k)))


def chunks(k: int) -> Iterator[Ints]:
    """Yield the ranks up to `k` in arrays that fit into memory."""
    return (np.arange(first, min(first + _CHUNK, k + 1)) for first in range(1, k + 1, _CHUNK))


@once
def best_grades(matched: Matched) -> Floats:
    """[query]: the highest grade in the solution; 0 if no grade is positive."""
    best = matched.ideal.relevant()
    best = best.where(best.rank == 1)
    return matched.total(best, best.grade)


@once
def _best_or_one(matched: Matched) -> Floats:
    """As `best_grades`, but 1 for a query whose gains are all 0."""
    best = best_grades(matched)
    return np.where(best == 0, 1, best)


def above_threshold(gains: Gains, rel: Threshold) -> Gains:
    """Return gains that are 0 for items below the threshold."""
    return gains if rel == "positive" else lambda hits: np.where(hits.grade >= rel, gains(hits), 0)


def share_of_best(matched: Matched, gain: Gain) -> Gains:
    """Return gains divided by that of the query's best item, so that no grade can exceed the floating-point numbers.

    The divisor cancels in nDCG. For gain=exp, with best grade b, (2^g - 1) / (2^b - 1) is computed as 2^(g - b) (1 -
    2^-g) / (1 - 2^-b).
    """
    best = _best_or_one(matched)

    def linear(hits: JudgedItems) -> Floats:
        return np.maximum(hits.grade, NOTHING) / best[hits.query]

    def exponential(hits: JudgedItems) -> Floats:
        grade, highest = np.maximum(hits.grade, 0), best[hits.query]
        return np.exp2(grade - highest) * (np.expm1(-LOG_2 * grade) / np.expm1(-LOG_2 * highest))

    if gain == "exp":
        return exponential
    return linear if gain == "linear" else _shares_of_mapped(matched, gain)


def _shares_of_mapped(matched: Matched, gain: Literal["binary"] | GainMap) -> Gains:
    def gains(hits: JudgedItems) -> Floats:
        return _mapped_gains(gain, hits.grade)

    highest = highest_gains(matched, gains)
    highest[highest == 0] = 1
    return lambda hits: gains(hits) / highest[hits.query]


def _mapped_gains(gain: Literal["binary"] | GainMap, grade: Floats) -> Floats:
    """The gain that a map has for each grade, or else the grade, at least 0; or 1 for each positive grade."""
    if gain == "binary":
        return (grade > 0).astype(np.float64)
    grades, gains = np.array(gain).T
    at = np.minimum(np.searchsorted(grades, grade), grades.size - 1)
    return np.where(grades[at] == grade, gains[at], np.maximum(grade, 0))


def by_gain(hits: JudgedItems, gains: Gains) -> JudgedItems:
    """The same items, those of each query by descending gain."""
    order = np.lexsort((-gains(hits), hits.query))
    return JudgedItems(hits.query, hits.position_in_query(), hits.grade[order], hits.tie_rank[order])


def highest_gains(matched: Matched, gains: Gains) -> Floats:
    """[query]: the highest gain in the solution."""
    highest = np.zeros(matched.queries)
    np.maximum.at(highest, matched.ideal.query, gains(matched.ideal))
    return highest


GradeGain = Literal["linear"] | GainMap

_experimental = partial(kind, closed_form=False)


@_experimental(name="nDCGrel")
def ndcg_over_relevant(matched: Matched, *, gain: GradeGain = "linear") -> Floats:
    """The mean of nDCG at the ranks of all items with a positive gain."""
    sums = _Sums(matched, gain)
    hits = sums.found
    wanted = matched.total(sums.ideal)
    at_hits = matched.total(hits, sums.dcg.sums / sums.idcg.at(hits.query, hits.rank))
    total = at_hits + (wanted - matched.total(hits)) * sums.whole(matched)
    return ratio(total, np.maximum(wanted, 1), best_grades(matched) > 0)


@_experimental(name="Rndcg")
def ndcg_over_levels(matched: Matched, *, gain: GradeGain = "linear", rel: Relevant = "positive") -> Floats:
    """The mean of nDCG at the ranks where a perfect list would go on to a lower gain, and at the end of the list."""
    sums = _Sums(matched, gain)
    ideal = sums.ideal
    last = np.append(np.diff(sums.gain) != 0, True)[: len(ideal)] | (np.diff(ideal.query, append=-1) != 0)
    levels = ideal.where(last)
    shares = sums.dcg.at(levels.query, levels.rank) / sums.idcg.at(levels.query, levels.rank)
    longer = matched.retrieved > matched.total(ideal) + 1
    total = matched.total(levels, shares) + np.where(longer, sums.whole(matched), 0)
    defined = (matched.relevant_items(rel) > 0) & (best_grades(matched) > 0)
    return ratio(total, np.maximum(matched.total(levels) + longer, 1), defined)


@_experimental(name="G")
def normalised_gain(matched: Matched, *, gain: GradeGain = "linear") -> Floats:
    """The sum of the gains of the list, each discounted by the gain lost up to its rank, divided by all gains."""
    gains = absolute_gains(gain)
    highest = highest_gains(matched, gains)
    highest = np.where(highest == 0, 1, highest)
    unit = np.maximum(highest, 1)  # sums of gains in this unit cannot exceed the floating-point numbers
    ideal = by_gain(matched.ideal, gains)
    best = gains(ideal)
    costs = RankSums(ideal, np.maximum(best / unit[ideal.query], 1 / unit[ideal.query]))
    hits = matched.found.where(gains(matched.found) > 0)
    query, items = hits.query, matched.total(ideal)
    after_end = np.maximum(hits.rank - items[query], 0)
    reached = cumulative(hits.position_in_query(), gains(hits) / unit[query])
    lost = np.maximum(costs.at(query, hits.rank) + after_end / unit[query] - reached, 0)
    discount = np.log2(unit)[query] + np.log2(2 / unit[query] + lost)
    summed = matched.total(hits, gains(hits) / highest[query] / discount)
    possible = matched.total(ideal, best / highest[ideal.query])
    return ratio(summed, np.where(possible > 0, possible, 1), best_grades(matched) > 0)


@_experimental(name="binG")
def binary_gain(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The mean, over the query's relevant items, of a discount by the number of other items ranked before each."""
    hits, wanted = matched.found.relevant(rel), matched.relevant_items(rel)
    others = hits.rank - hits.position_in_query()
    return ratio(matched.total(hits, 1 / np.log2(2 + others)), wanted, wanted > 0)


Blend = Annotated[float, About(least=0, most=1e6)]


@_experimental(name="Q", aliases={"Q-measure": {}})
def q_measure(matched: Matched, k: int | None, *, beta: Blend = 1.0, gain: Gain = "linear") -> Floats:
    """The mean, over the query's relevant items, of the blend of precision and cumulated gain at the rank of each."""
    wanted = matched.relevant_items()
    found, blended = _blended_ratios(matched, beta, gain)
    inside = np.ones(len(found), dtype=bool) if k is None else found.rank <= k
    sums = matched.total(found.where(inside), blended[inside])
    return ratio(sums, wanted if k is None else np.minimum(wanted, k), wanted > 0)


@_experimental(name="P-plus", aliases={"P+": {}})
def p_plus(matched: Matched, *, beta: Blend = 1.0, gain: Gain = "linear") -> Floats:
    """The mean of the blend of precision and cumulated gain at the relevant items up to the best one of the list."""
    found, blended = _blended_ratios(matched, beta, gain)
    best = np.zeros(matched.queries)
    np.maximum.at(best, found.query, found.grade)
    preferred = found.where(found.grade == best[found.query])
    preferred = preferred.where(preferred.position_in_query() == 1)
    last = matched.total(preferred, preferred.rank.astype(np.float64))
    inside = found.rank <= last[found.query]
    items = matched.total(found.where(inside))
    sums = matched.total(found.where(inside), blended[inside])
    return sums / np.maximum(items, 1) * matched.defined()


def _blended_ratios(matched: Matched, beta: float, gain: Gain) -> tuple[JudgedItems, Floats]:
    """The relevant items of the lists, and the blended ratio at the rank r of each: (C + beta G) / (r + beta G*).

    C is the number of relevant items so far, G their gain, and G* that of the ideal list. Both sides are divided by the
    highest gain, so that they cannot exceed the floating-point numbers.
    """
    shares = share_of_best(matched, gain)
    with np.errstate(over="ignore"):
        highest = highest_gains(matched, absolute_gains(gain))
    found, ideal = matched.found.relevant(), by_gain(matched.ideal.relevant(), shares)
    rank = 1 / np.minimum(np.maximum(highest, 1), 1e300)[found.query]
    weight = beta * np.minimum(highest, 1)[found.query]
    position = found.position_in_query()
    gained = cumulative(position, shares(found))
    possible = RankSums(ideal, shares(ideal)).at(found.query, found.rank)
    return found, (position * rank + weight * gained) / (found.rank * rank + weight * possible)


class RankSums:
    """Cumulative sums over the ranks of lists."""

    sums: Floats
    """[entry]: the sum up to the rank of the entry."""

    def __init__(self, items: JudgedItems, values: Floats) -> None:
        """Sum `values`, [entry], of these items."""
        self._query, self._rank = items.query, items.rank
        self.sums = cumulative(items.position_in_query(), values)

    def at(self, query: Ints, rank: Ints) -> Floats:
        """Return the sum of each `query` up to each `rank`, two arrays of the same shape; 0 before the first entry."""
        if not self.sums.size:
            return np.zeros(query.shape)
        width = 1 + max(self._rank.max(), rank.max(initial=0))
        place = np.searchsorted(self._query * width + self._rank, query * width + rank, side="right") - 1
        return np.where((place >= 0) & (self._query[place] == query), self.sums[place], 0)


class _Sums:
    """DCG and IDCG at every rank, of the items with a positive gain, which is a share of the query's highest."""

    def __init__(self, matched: Matched, gain: GradeGain) -> None:
        gains = share_of_best(matched, gain)
        self.found = matched.found.where(gains(matched.found) > 0)
        ideal = by_gain(matched.ideal, gains)
        self.ideal = ideal.where(gains(ideal) > 0)
        self.gain = gains(self.ideal)
        self.dcg = RankSums(self.found, gains(self.found) * discounts(self.found.rank))
        self.idcg = RankSums(self.ideal, self.gain * discounts(self.ideal.rank))

    def whole(self, matched: Matched) -> Floats:
        """[query]: DCG / IDCG of the whole list; 0 where no item has a gain."""
        query, last = np.arange(matched.queries), np.full(matched.queries, np.iinfo(np.int32).max)
        possible = self.idcg.at(query, last)
        return self.dcg.at(query, last) / np.where(possible > 0, possible, 1)
