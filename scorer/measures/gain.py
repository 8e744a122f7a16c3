"""Discounted cumulated gain: what each item is worth, discounted by its rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.hits import Floats, Hits, Ints, Judged, ratio
from scorer.measures.registry import About, Kind

Gain = Annotated[Literal["linear", "exp"], About("what an item of grade g is worth: g, or 2^g - 1")]
Discount = Annotated[
    Literal["log2", "jk"],
    About("by what gain is divided at rank r: log2(r + 1), or log2(r) from rank 2 on (Järvelin and Kekäläinen, b = 2)"),
]
Ideal = Annotated[
    Literal["judged", "retrieved"],
    About("the best list possible: of all that the solution lists, or only of what the list itself holds"),
]

Gains = Callable[[Hits], Floats]
"""The gain of each entry."""

LOG_2 = float(np.log(2))

_JARVELIN = "Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002"
_BURGES = "Burges et al., Learning to Rank Using Gradient Descent, ICML 2005 (gain=exp)"


@partial(
    Kind,
    name="nDCG",
    title="Normalised discounted cumulated gain",
    cutoff="optional",
    formula="nDCG@k = DCG@k / IDCG@k, where IDCG@k = DCG@k of the items in descending order of grade",
    source=f"{_JARVELIN}; {_BURGES}",
    aliases={"ndcg_burges": {"gain": "exp"}},
)
def ndcg(
    judged: Judged, k: int | None, *, gain: Gain = "linear", discount: Discount = "log2", ideal: Ideal = "judged"
) -> Floats:
    """The discounted gain of the list as a share of that of the best list possible.

    Without a cut-off, the whole list against the whole ideal list. An item that the solution does not list, and one
    with a negative grade, has gain 0. With ideal=retrieved a list can score 1 while it misses every better item,
    and scores 0 where it holds nothing relevant. Undefined where the query has no positive grade.
    """
    best_list = judged.ideal if ideal == "judged" else _by_grade(judged.found)
    return normalised(judged, best_list, share_of_best(judged, gain), k, discount)


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
def dcg(judged: Judged, k: int | None, *, gain: Gain = "linear", discount: Discount = "log2") -> Floats:
    """The gain of the items in the list, discounted by their rank.

    Not comparable between queries, nor between scales of grades. A negative grade has gain 0. Undefined where the
    query has no positive grade, and where the sum exceeds the floating-point numbers (gain=exp from grade 1024 on),
    which no sum of nDCG does.
    """

    def gains(hits: Hits) -> Floats:
        grade = np.maximum(hits.grade, 0)
        return grade if gain == "linear" else np.exp2(grade) - 1

    with np.errstate(over="ignore"):
        sums = cumulated(judged, judged.found.top(k), gains, discount)
    return ratio(sums, 1, (best_grades(judged) > 0) & np.isfinite(sums))


def normalised(judged: Judged, best_list: Hits, gains: Gains, k: int | None, discount: Discount = "log2") -> Floats:
    """The discounted gain of the found items as a share of that of `best_list`, both of the first `k` places."""
    ideal = cumulated(judged, best_list.top(k), gains, discount)
    found = cumulated(judged, judged.found.top(k), gains, discount)
    return ratio(found, np.where(ideal > 0, ideal, 1), best_grades(judged) > 0)


def cumulated(judged: Judged, hits: Hits, gains: Gains, discount: Discount = "log2") -> Floats:
    """The discounted gain of `hits`, summed for each query in rank order."""
    return judged.total(hits, gains(hits) * discounts(hits.rank, discount))


def discounts(rank: Ints, discount: Discount = "log2") -> Floats:
    """By what the gain at each `rank` is multiplied."""
    return 1 / np.log2(rank + 1 if discount == "log2" else np.maximum(rank, 2))


def best_grades(judged: Judged) -> Floats:
    """The highest grade of each query, 0 where none is positive."""

    def computed() -> Floats:
        best = judged.ideal.where(judged.ideal.rank == 1).relevant()
        return judged.total(best, best.grade)

    return judged.ideal.once(("best grades", judged.queries), computed)


def share_of_best(judged: Judged, gain: Gain) -> Gains:
    """Gain as a share of that of the query's best item, which no size of grades can drive beyond floating point.

    A factor of the query cancels in nDCG. For gain=exp, with best grade b, (2^g - 1) / (2^b - 1) is computed as
    2^(g - b) (1 - 2^-g) / (1 - 2^-b).
    """
    best = best_grades(judged)
    best = np.where(best == 0, 1, best)  # any divisor does: all gains of these queries are 0

    def linear(hits: Hits) -> Floats:
        return np.maximum(hits.grade, 0) / best[hits.query]

    def exponential(hits: Hits) -> Floats:
        grade, highest = np.maximum(hits.grade, 0), best[hits.query]
        return np.exp2(grade - highest) * (np.expm1(-LOG_2 * grade) / np.expm1(-LOG_2 * highest))

    return linear if gain == "linear" else exponential


def _by_grade(hits: Hits) -> Hits:
    """The same items in their best order."""
    order = np.lexsort((-hits.grade, hits.query))
    return Hits(hits.query, hits.nth(), hits.grade[order], hits.tie_rank[order])
