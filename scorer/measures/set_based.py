"""Measures that count the relevant items in the first k ranks, or in the list, at any rank."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.measures.kinds import Measure, Unlike, kind
from scorer.measures.matched import Matched, Threshold
from scorer.measures.parameters import About, Relevant

Beta = Annotated[float, About("how many times as important recall is as precision", least=0.001, most=1000)]


def _worth(item: str) -> About:
    return About(f"the worth of {item}", least=-1e6, most=1e6)


Weight = Annotated[
    Literal["squared", "plain"],
    About("whether β is squared in the formula, or not, as in trec_eval's set_F and ir_measures' SetF"),
]
Capped = Annotated[
    Literal["R", "min"],
    About(
        "the divisor of the hits: R, or min(R, k), the highest possible number of hits in the first k ranks. Without a "
        "cut-off, k is the length of the list"
    ),
]

_SOURCE = "van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7"


@kind(
    name="P",
    title="Precision at a cut-off",
    formula="P@k = hits@k / k",
    latex=r"$$\mathrm{P@}k = \frac{\mathrm{hits}(k)}{k}$$",
    source=_SOURCE,
    aliases={"Precision": {}},
)
def precision(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the first k items that are relevant.

    The divisor is k, also for a shorter list and for a query with fewer relevant items. Undefined where the query has
    no relevant item.
    """
    return ratio(matched.relevant_found(rel, k), k, matched.relevant_items(rel) > 0)


@kind(
    name="R",
    title="Recall",
    formula="R@k = hits@k / R, where R = number of relevant items in the solution",
    latex=r"$$\mathrm{R@}k = \frac{\mathrm{hits}(k)}{R}$$",
    source=_SOURCE,
    aliases={"Recall": {}, "R_cap": {"denominator": "min"}, "relative_P": {"denominator": "min"}},
)
def recall(matched: Matched, k: int | None, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that are in the first k ranks, or anywhere in the list.

    If k is below R, even the best list scores below 1. With denominator=min it scores 1; this is relative_P in
    trec_eval, and recall, capped recall, calibrated recall or R-precision at k in other tools. Undefined where the
    query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    divisor = wanted
    if denominator == "min":
        divisor = np.maximum(np.minimum(wanted, matched.retrieved if k is None else k), 1)
    return ratio(matched.relevant_found(rel, k), divisor, wanted > 0)


@kind(
    name="Hits",
    title="Number of relevant items found",
    formula="Hits@k = hits@k, the number of relevant items in the first k ranks",
    latex=r"$$\mathrm{Hits@}k = \mathrm{hits}(k)$$",
    source="ranx",
    bounded=False,
)
def hits(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items in the first k ranks, or anywhere in the list.

    The mean over the queries is reported; NumRelRet has the sum. A repeated item counts once. Undefined where the query
    has no relevant item.
    """
    return ratio(matched.relevant_found(rel, k), 1, matched.relevant_items(rel) > 0)


@kind(
    name="F",
    title="F measure at a cut-off",
    formula="F@k = (1 + β²) · P@k · R@k / (β² · P@k + R@k)",
    latex=r"$$\mathrm{F@}k = \frac{(1 + \beta^2) \cdot \mathrm{P@}k \cdot \mathrm{R@}k}{\beta^2 \cdot "
    r"\mathrm{P@}k + \mathrm{R@}k}$$ where $\beta$ is the parameter beta.",
    source=_SOURCE,
    aliases={"F1": {"beta": 1.0}, "F2": {"beta": 2.0}},
)
def f_measure(
    matched: Matched, k: int, *, beta: Beta = 1.0, weight: Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of precision and recall in the first k ranks.

    0 if precision and recall are 0. β is squared by default. Undefined where the query has no relevant item.
    """
    factor = beta**2 if weight == "squared" else beta
    return _harmonic(matched, matched.relevant_found(rel, k), k, factor, rel)


@kind(
    name="SetP",
    title="Precision of the whole list",
    formula="SetP = hits / length of the list",
    latex=r"$$\mathrm{SetP} = \frac{\mathrm{hits}}{|\mathrm{list}|}$$",
    source=_SOURCE,
    aliases={"Set_Precision": {}},
    whole_list_names={"Precision": {}},
    redirected={"relative": {"true": "SetRelP", "false": "SetP"}},
)
def set_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The share of the items of the list that are relevant.

    0 for an empty list. A repeated item counts once but lengthens the list. Undefined where the query has no relevant
    item.
    """
    return ratio(matched.relevant_found(rel), np.maximum(matched.retrieved, 1), matched.relevant_items(rel) > 0)


@kind(
    name="SetR",
    title="Recall of the whole list",
    formula="SetR = hits / R, where R = number of relevant items in the solution",
    latex=r"$$\mathrm{SetR} = \frac{\mathrm{hits}}{R}$$",
    source=_SOURCE,
    aliases={
        "Set_Recall": {},
        "set_relative_P": {"denominator": "min"},
        "SetRelP": {"denominator": "min"},
    },
    redirected={"relative": {"true": "SetRelP", "false": "SetP"}},
)
def set_recall(matched: Matched, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that are in the list.

    The same as R without a cut-off. Undefined where the query has no relevant item.
    """
    return recall.function(matched, None, denominator=denominator, rel=rel)


def _plain_weight(measure: Measure) -> Measure | None:
    plain = measure.changed(weight="plain")
    return None if plain == measure.changed(weight="plain", beta=1) else plain


@kind(
    name="SetF",
    title="F measure of the whole list",
    formula="SetF = (1 + β²) · SetP · SetR / (β² · SetP + SetR)",
    latex=r"$$\mathrm{SetF} = \frac{(1 + \beta^2) \cdot \mathrm{SetP} \cdot \mathrm{SetR}}{\beta^2 \cdot "
    r"\mathrm{SetP} + \mathrm{SetR}}$$ where $\mathrm{SetP} = \frac{\mathrm{hits}}{|\mathrm{list}|}$, "
    r"$\mathrm{SetR} = \frac{\mathrm{hits}}{R}$, and $\beta$ is the parameter beta.",
    source=_SOURCE,
    whole_list_names={"F1": {"beta": 1.0}},
    unlike=(Unlike("ir_measures", "weight", _plain_weight),),
)
def set_f_measure(
    matched: Matched, *, beta: Beta = 1.0, weight: Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of the precision and the recall of the whole list.

    0 if precision and recall are 0. β is squared by default. trec_eval and ir_measures do not square it; their
    SetF(beta=2) is SetF(beta=2,weight=plain) here. Undefined where the query has no relevant item.
    """
    found, wanted = matched.relevant_found(rel), matched.relevant_items(rel)
    if weight == "squared":
        return _harmonic(matched, found, matched.retrieved, beta**2, rel)
    # The operations of trec_eval in its order, so that a score between two printed ones is rounded as there.
    precision, recalled = found / np.maximum(matched.retrieved, 1), found / np.maximum(wanted, 1)
    weighted = beta * precision + recalled
    return ratio((beta + 1) * precision * recalled / np.where(weighted > 0, weighted, 1), 1, wanted > 0)


@kind(
    name="SetAP",
    title="Average precision of the list as a set",
    formula="SetAP = SetP · SetR = hits² / (length of the list · R)",
    latex=r"$$\mathrm{SetAP} = \mathrm{SetP} \cdot \mathrm{SetR} = \frac{\mathrm{hits}^2}{|\mathrm{list}| \cdot R}$$ "
    r"where $\mathrm{SetP} = \frac{\mathrm{hits}}{|\mathrm{list}|}$ and $\mathrm{SetR} = \frac{\mathrm{hits}}{R}$.",
    source="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    aliases={"set_map": {}},
    closed_form_when_cut=False,
)
def set_average_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The precision of the whole list times its recall.

    Equal to AP with the precision of the whole list at every relevant item. 0 for an empty list. Undefined where the
    query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    return ratio(matched.relevant_found(rel) ** 2, np.maximum(matched.retrieved, 1) * wanted, wanted > 0)


@kind(
    name="Utility",
    title="Utility of the list as a set",
    formula="Utility = relevant · a + other · b + missed · c + rest · d, where a = number of relevant items in the "
    "list, b = number of other items in the list, c = R − a, d = items − a − b − c",
    latex=r"$$\mathrm{Utility} = p_1 a + p_2 b + p_3 c + p_4 d$$ where $p_1$ to $p_4$ are the parameters relevant, "
    r"other, missed and rest. Of the $N$ items of the collection (the parameter items), $a$ are relevant and in "
    r"the list, $b$ are in the list and not relevant, $c$ are relevant and not in the list, $d$ are the others.",
    source="trec_eval",
    bounded=False,
)
def utility(
    matched: Matched,
    *,
    relevant: Annotated[float, _worth("a relevant item in the list")] = 1.0,
    other: Annotated[float, _worth("another item in the list")] = -1.0,
    missed: Annotated[float, _worth("a relevant item that is not in the list")] = 0.0,
    rest: Annotated[float, _worth("another item that is not in the list")] = 0.0,
    items: Annotated[float, About("the number of items in the collection, for rest", least=0, most=1e12)] = 0.0,
    rel: Relevant = "positive",
) -> Floats:
    """The sum of the worth of all items of the collection, by whether they are relevant and whether they are listed.

    By default a relevant item in the list adds 1 and any other item of the list subtracts 1, so scores may be negative.
    The order of the list does not matter. A repeated item counts once as relevant but lengthens the list. Defined for
    every query.
    """
    hits, wanted = matched.relevant_found(rel), matched.relevant_items(rel)
    listed = matched.retrieved.astype(np.float64)
    return (
        relevant * hits + other * (listed - hits) + missed * (wanted - hits) + rest * (items + hits - listed - wanted)
    )


def _harmonic(matched: Matched, found: Floats, retrieved: Ints | int, weight: float, rel: Threshold) -> Floats:
    """[query]: F of `found` hits in `retrieved` items, where P = found / retrieved and R = found / wanted."""
    wanted = matched.relevant_items(rel)
    return ratio((1 + weight) * found, weight * wanted + retrieved, wanted > 0)
