"""Measures that count hits, wherever in the first k places or in the list they stand."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from scorer.hits import Floats, Ints, Judged, Threshold, ratio
from scorer.measures.registry import About, Kind, Relevant

Beta = Annotated[float, About("how many times as much recall weighs as precision", least=0.001, most=1000)]

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
def precision(judged: Judged, k: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the first k places that hold a relevant item.

    Divided by k also where the list is shorter, or the query has fewer relevant items. Undefined where it has none.
    """
    return ratio(judged.relevant_found(rel, k), k, judged.relevant_items(rel) > 0)


@partial(
    Kind,
    name="R",
    title="Recall",
    cutoff="optional",
    formula="R@k = hits@k / R, where R = number of relevant items in the solution",
    source=_SOURCE,
    aliases={"Recall": {}},
)
def recall(judged: Judged, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that stand in the first k places, or anywhere in the list.

    Where k is below R even the best list stays below 1. Undefined where the query has no relevant item.
    """
    wanted = judged.relevant_items(rel)
    return ratio(judged.relevant_found(rel, k), wanted, wanted > 0)


@partial(
    Kind,
    name="F",
    title="F measure at a cut-off",
    cutoff="required",
    formula="F@k = (1 + β²) · P@k · R@k / (β² · P@k + R@k)",
    source=_SOURCE,
    aliases={"F1": {"beta": 1.0}, "F2": {"beta": 2.0}},
)
def f_measure(judged: Judged, k: int, *, beta: Beta = 1.0, rel: Relevant = "positive") -> Floats:
    """The weighted harmonic mean of precision and recall in the first k places.

    0 where precision and recall are 0. β enters squared. Undefined where the query has no relevant item.
    """
    return _harmonic(judged, judged.relevant_found(rel, k), k, beta, rel)


@partial(
    Kind,
    name="SetP",
    title="Precision of the whole list",
    cutoff="none",
    formula="SetP = hits / length of the list",
    source=_SOURCE,
    aliases={"Set_Precision": {}},
)
def set_precision(judged: Judged, *, rel: Relevant = "positive") -> Floats:
    """The share of the list that is relevant.

    0 for an empty list. A repeated item counts once but lengthens the list. Undefined where the query has no
    relevant item.
    """
    return ratio(judged.relevant_found(rel), np.maximum(judged.retrieved, 1), judged.relevant_items(rel) > 0)


@partial(
    Kind,
    name="SetR",
    title="Recall of the whole list",
    cutoff="none",
    formula="SetR = hits / R, where R = number of relevant items in the solution",
    source=_SOURCE,
    aliases={"Set_Recall": {}},
)
def set_recall(judged: Judged, *, rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that stand in the list.

    The same as R without a cut-off. Undefined where the query has no relevant item.
    """
    wanted = judged.relevant_items(rel)
    return ratio(judged.relevant_found(rel), wanted, wanted > 0)


@partial(
    Kind,
    name="SetF",
    title="F measure of the whole list",
    cutoff="none",
    formula="SetF = (1 + β²) · SetP · SetR / (β² · SetP + SetR)",
    source=_SOURCE,
)
def set_f_measure(judged: Judged, *, beta: Beta = 1.0, rel: Relevant = "positive") -> Floats:
    """The weighted harmonic mean of the precision and the recall of the whole list.

    0 where precision and recall are 0. β enters squared. Undefined where the query has no relevant item.
    """
    return _harmonic(judged, judged.relevant_found(rel), judged.retrieved, beta, rel)


def _harmonic(judged: Judged, found: Floats, places: Ints | int, beta: float, rel: Threshold) -> Floats:
    """F of `found` hits in so many `places`; with P = found / places and R = found / wanted, nothing can be 0 / 0."""
    wanted = judged.relevant_items(rel)
    return ratio((1 + beta**2) * found, beta**2 * wanted + places, wanted > 0)
