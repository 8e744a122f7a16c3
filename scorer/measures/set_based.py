"""Measures that count hits, wherever in the first k places or in the list they stand."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.measures.kinds import Kind
from scorer.measures.matched import Matched, Threshold
from scorer.measures.parameters import About, Relevant

Beta = Annotated[float, About("how many times as much recall weighs as precision", least=0.001, most=1000)]
Weight = Annotated[
    Literal["squared", "plain"],
    About("whether β enters the formula squared, or as it is, as in trec_eval's set_F and ir_measures' SetF"),
]
Capped = Annotated[
    Literal["R", "min"],
    About(
        "by what the hits are divided: R, or min(R, k), the most that k places can hold. Without a cut-off, k is the "
        "length of the list"
    ),
]

_SOURCE = "van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7"


@partial(
    Kind,
    name="P",
    title="Precision at a cut-off",
    cutoff="required",
    formula="P@k = hits@k / k",
    source=_SOURCE,
    aliases={"Precision": {}},
)
def precision(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the first k places that hold a relevant item.

    Divided by k also where the list is shorter, or the query has fewer relevant items. Undefined where it has none.
    """
    return ratio(matched.relevant_found(rel, k), k, matched.relevant_items(rel) > 0)


@partial(
    Kind,
    name="R",
    title="Recall",
    cutoff="optional",
    formula="R@k = hits@k / R, where R = number of relevant items in the solution",
    source=_SOURCE,
    aliases={"Recall": {}, "R_cap": {"denominator": "min"}, "relative_P": {"denominator": "min"}},
)
def recall(matched: Matched, k: int | None, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that stand in the first k places, or anywhere in the list.

    Where k is below R even the best list stays below 1, unless the denominator is capped: then it is trec_eval's
    relative_P, which others call recall, capped or calibrated recall, or even R-precision at k. Undefined where the
    query has no relevant item.
    """
    return _recalled(matched, k, denominator, rel)


@partial(
    Kind,
    name="F",
    title="F measure at a cut-off",
    cutoff="required",
    formula="F@k = (1 + β²) · P@k · R@k / (β² · P@k + R@k)",
    source=_SOURCE,
    aliases={"F1": {"beta": 1.0}, "F2": {"beta": 2.0}},
)
def f_measure(
    matched: Matched, k: int, *, beta: Beta = 1.0, weight: Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of precision and recall in the first k places.

    0 where precision and recall are 0. β enters squared, unless told otherwise. Undefined where the query has no
    relevant item.
    """
    return _harmonic(matched, matched.relevant_found(rel, k), k, _weighed(beta, weight), rel)


@partial(
    Kind,
    name="SetP",
    title="Precision of the whole list",
    cutoff="none",
    formula="SetP = hits / length of the list",
    source=_SOURCE,
    aliases={"Set_Precision": {}},
)
def set_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The share of the list that is relevant.

    0 for an empty list. A repeated item counts once but lengthens the list. Undefined where the query has no
    relevant item.
    """
    return ratio(matched.relevant_found(rel), np.maximum(matched.retrieved, 1), matched.relevant_items(rel) > 0)


@partial(
    Kind,
    name="SetR",
    title="Recall of the whole list",
    cutoff="none",
    formula="SetR = hits / R, where R = number of relevant items in the solution",
    source=_SOURCE,
    aliases={
        "Set_Recall": {},
        "set_relative_P": {"denominator": "min"},
        "SetRelP": {"denominator": "min"},
    },
)
def set_recall(matched: Matched, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that stand in the list.

    The same as R without a cut-off. Undefined where the query has no relevant item.
    """
    return _recalled(matched, None, denominator, rel)


@partial(
    Kind,
    name="SetF",
    title="F measure of the whole list",
    cutoff="none",
    formula="SetF = (1 + β²) · SetP · SetR / (β² · SetP + SetR)",
    source=_SOURCE,
)
def set_f_measure(
    matched: Matched, *, beta: Beta = 1.0, weight: Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of the precision and the recall of the whole list.

    0 where precision and recall are 0. β enters squared, unless told otherwise; trec_eval and ir_measures take it as
    it is, so their SetF(beta=2) is SetF(beta=2,weight=plain). Undefined where the query has no relevant item.
    """
    return _harmonic(matched, matched.relevant_found(rel), matched.retrieved, _weighed(beta, weight), rel)


@partial(
    Kind,
    name="SetAP",
    title="Average precision of the list as a set",
    cutoff="none",
    formula="SetAP = SetP · SetR = hits² / (length of the list · R)",
    source="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    aliases={"set_map": {}},
    expected_when_cut=False,
)
def set_average_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The precision of the whole list times its recall.

    What AP is where every relevant item found has the precision of the whole list. 0 for an empty list. Undefined
    where the query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    return ratio(matched.relevant_found(rel) ** 2, np.maximum(matched.retrieved, 1) * wanted, wanted > 0)


def _recalled(matched: Matched, k: int | None, denominator: Capped, rel: Threshold) -> Floats:
    wanted = matched.relevant_items(rel)
    most = wanted
    if denominator == "min":
        most = np.maximum(np.minimum(wanted, matched.retrieved if k is None else k), 1)
    return ratio(matched.relevant_found(rel, k), most, wanted > 0)


def _weighed(beta: float, weight: Weight) -> float:
    return beta**2 if weight == "squared" else beta


def _harmonic(matched: Matched, found: Floats, places: Ints | int, weight: float, rel: Threshold) -> Floats:
    """F of `found` hits in so many `places`; with P = found / places and R = found / wanted, nothing can be 0 / 0."""
    wanted = matched.relevant_items(rel)
    return ratio((1 + weight) * found, weight * wanted + places, wanted > 0)
