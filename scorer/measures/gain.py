"""Discounted cumulated gain: what each item is worth, discounted by its rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.measures.kinds import Kind
from scorer.measures.matched import JudgedItems, Matched, Threshold
from scorer.measures.parameters import About, GainMap

Gain = Annotated[
    Literal["linear", "exp", "binary"] | GainMap,
    About(
        "what an item of grade g is worth: g; 2^g - 1; 1 if g is positive; or what a map has for g (g where it has "
        "nothing)",
        also={"gains": {}, "dcg": {"log2": "linear", "exp-log2": "exp"}},
    ),
]
Discount = Annotated[
    Literal["log2", "jk"],
    About("by what gain is divided at rank r: log2(r + 1), or log2(r) from rank 2 on (Järvelin and Kekäläinen, b = 2)"),
]
Ideal = Annotated[
    Literal["judged", "retrieved", "full"],
    About(
        "the best list possible: of all that the solution lists, only of what the list itself holds, or one with an "
        "item of the query's highest gain at every place"
    ),
]
Counted = Annotated[
    Threshold, About("which items have a gain: those with a positive grade, or with a positive one of at least this")
]

Gains = Callable[[JudgedItems], Floats]
"""The gain of each entry."""

LOG_2 = float(np.log(2))

_CHUNK = 1 << 20
"""How many discounts are summed at a time."""

_JARVELIN = "Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002"
_BURGES = "Burges et al., Learning to Rank Using Gradient Descent, ICML 2005 (gain=exp)"


@partial(
    Kind,
    name="nDCG",
    title="Normalised discounted cumulated gain",
    cutoff="optional",
    formula="nDCG@k = DCG@k / IDCG@k, where IDCG@k = DCG@k of the items in descending order of gain",
    source=f"{_JARVELIN}; {_BURGES}",
    aliases={"ndcg_burges": {"gain": "exp"}},
    expected_when_cut={"ideal": "retrieved"},
)
def ndcg(
    matched: Matched,
    k: int | None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
    rel: Counted = "positive",
) -> Floats:
    """The discounted gain of the list as a share of that of the best list possible.

    Without a cut-off, the whole list against the whole ideal list, as trec_eval's ndcg. An item that the solution does
    not list, and one with a negative grade, has gain 0. With ideal=retrieved a list can score 1 while it misses every
    better item, and scores 0 where it holds nothing relevant; with ideal=full few relevant items keep every list below
    1 (without a cut-off, its places are those of the list). trec_eval, ranx and scikit-learn have gain=linear, gdeval
    and others gain=exp, under the same name. Undefined where the query has no positive grade, or none that meets rel.
    """
    gains = counted(share_of_best(matched, gain), rel)
    defined = matched.relevant_items(rel) > 0 if rel != "positive" else best_grades(matched) > 0
    found = cumulated(matched, matched.found, gains, k, discount)
    if ideal == "full":
        best = _highest(matched, gains) * _discount_sums(matched, k, discount)
    else:
        best_list = matched.ideal if ideal == "judged" else _by_gain(matched.found, gains)
        if isinstance(gain, tuple):
            best_list = _by_gain(best_list, gains)
        best = cumulated(matched, best_list, gains, k, discount)
    return ratio(found, np.where(best > 0, best, 1), defined)


@partial(
    Kind,
    name="DCG",
    title="Discounted cumulated gain",
    cutoff="optional",
    formula="DCG@k = sum over r ≤ k of gain(g at rank r) · discount(r); gain = g or 2^g − 1; "
    "discount = 1 / log2(r + 1), or 1 / log2(max(r, 2))",
    source=f"{_JARVELIN}; {_BURGES}",
    aliases={"dcg_burges": {"gain": "exp"}},
    bounded=False,
)
def dcg(
    matched: Matched,
    k: int | None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    rel: Counted = "positive",
) -> Floats:
    """The gain of the items in the list, discounted by their rank.

    Not comparable between queries, nor between scales of grades. A negative grade has gain 0. Undefined where the
    query has no positive grade, or none that meets rel, and where the sum exceeds the floating-point numbers (gain=exp
    from grade 1024 on), which no sum of nDCG does.
    """

    def gains(hits: JudgedItems) -> Floats:
        grade = np.maximum(hits.grade, 0)
        if gain == "exp":
            return np.exp2(grade) - 1
        return grade if gain == "linear" else _mapped_gains(gain, grade)

    with np.errstate(over="ignore"):
        sums = cumulated(matched, matched.found, counted(gains, rel), k, discount)
    return ratio(sums, 1, (matched.relevant_items(rel) > 0) & (best_grades(matched) > 0) & np.isfinite(sums))


def normalised(matched: Matched, gains: Gains, k: int | None) -> Floats:
    """The discounted gain of the found items as a share of that of the ideal list, both of the first `k` places."""
    ideal = cumulated(matched, matched.ideal, gains, k)
    found = cumulated(matched, matched.found, gains, k)
    return ratio(found, np.where(ideal > 0, ideal, 1), best_grades(matched) > 0)


def cumulated(matched: Matched, hits: JudgedItems, gains: Gains, k: int | None, discount: Discount = "log2") -> Floats:
    """The discounted gain of `hits` in the first `k` places, summed for each query in rank order."""
    places = matched.placed(hits, gains, k)
    return matched.total(places, places.value * discounts(places.rank, discount))


def discounts(rank: Ints, discount: Discount = "log2") -> Floats:
    """By what the gain at each `rank` is multiplied."""
    return 1 / np.log2(rank + 1 if discount == "log2" else np.maximum(rank, 2))


def _discount_sums(matched: Matched, k: int | None, discount: Discount) -> Floats:
    """The sum of the discounts of the first `k` places, or of as many as the query's list has."""
    if k is None:
        longest = int(matched.retrieved.max(initial=0))
        return np.cumsum(np.append(0, discounts(np.arange(1, longest + 1), discount)))[matched.retrieved]
    parts = (np.arange(first, min(first + _CHUNK, k + 1)) for first in range(1, k + 1, _CHUNK))
    return np.full(matched.queries, sum(float(discounts(ranks, discount).sum()) for ranks in parts))


def best_grades(matched: Matched) -> Floats:
    """The highest grade of each query, 0 where none is positive."""

    def computed() -> Floats:
        best = matched.ideal.where(matched.ideal.rank == 1).relevant()
        return matched.total(best, best.grade)

    return matched.ideal.once(("best grades", matched.queries), computed)


def counted(gains: Gains, rel: Threshold) -> Gains:
    """The gains of the items that meet the threshold, and 0 for the others."""
    return gains if rel == "positive" else lambda hits: np.where(hits.grade >= rel, gains(hits), 0)


def share_of_best(matched: Matched, gain: Gain) -> Gains:
    """Gain as a share of that of the query's best item, which no size of grades can drive beyond floating point.

    A factor of the query cancels in nDCG. For gain=exp, with best grade b, (2^g - 1) / (2^b - 1) is computed as
    2^(g - b) (1 - 2^-g) / (1 - 2^-b).
    """
    best = best_grades(matched)
    best = np.where(best == 0, 1, best)  # any divisor does: all gains of these queries are 0

    def linear(hits: JudgedItems) -> Floats:
        return np.maximum(hits.grade, 0) / best[hits.query]

    def exponential(hits: JudgedItems) -> Floats:
        grade, highest = np.maximum(hits.grade, 0), best[hits.query]
        return np.exp2(grade - highest) * (np.expm1(-LOG_2 * grade) / np.expm1(-LOG_2 * highest))

    if gain == "exp":
        return exponential
    return linear if gain == "linear" else _shares_of_mapped(matched, gain)


def _shares_of_mapped(matched: Matched, gain: Literal["binary"] | GainMap) -> Gains:
    def told(hits: JudgedItems) -> Floats:
        return _mapped_gains(gain, np.maximum(hits.grade, 0))

    highest = _highest(matched, told)
    highest[highest == 0] = 1
    return lambda hits: told(hits) / highest[hits.query]


def _mapped_gains(gain: Literal["binary"] | GainMap, grade: Floats) -> Floats:
    """The gains of grades by a map, or 1 for each positive one."""
    if gain == "binary":
        return (grade > 0).astype(np.float64)
    grades, worth = np.array(gain).T
    at = np.minimum(np.searchsorted(grades, grade), grades.size - 1)
    return np.where(grades[at] == grade, worth[at], grade)


def _by_gain(hits: JudgedItems, gains: Gains) -> JudgedItems:
    """The same items in their best order."""
    order = np.lexsort((-gains(hits), hits.query))
    return JudgedItems(hits.query, hits.nth(), hits.grade[order], hits.tie_rank[order])


def _highest(matched: Matched, gains: Gains) -> Floats:
    """The highest gain of each query."""
    highest = np.zeros(matched.queries)
    np.maximum.at(highest, matched.ideal.query, gains(matched.ideal))
    return highest
