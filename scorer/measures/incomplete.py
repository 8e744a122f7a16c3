"""Measures for incomplete judgements, which treat unjudged items and items judged not relevant differently.

A negative grade marks an item that was in the pool and was not judged, as in TREC's files.
"""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Bools, Floats, ratio
from scorer.measures.kinds import kind
from scorer.measures.matched import JudgedItems, Matched, Threshold
from scorer.measures.parameters import Relevant

_EPSILON = 0.00001
"""What infAP adds to its counts, so that no denominator is 0; as in trec_eval."""


@kind(
    name="Bpref",
    title="Binary preference",
    formula="Bpref = (sum over the relevant items found of 1 − min(n, R) / min(N, R)) / R, where n = number of items "
    "judged not relevant before the item, N = number of them in the solution",
    latex=r"$$\mathrm{Bpref} = \frac{1}{R} \sum_{r} \mathrm{rel}(r) \left( 1 - \frac{\min(n_r, R)}{\min(N, R)} "
    r"\right)$$ where $n_r$ is the number of items before rank $r$ that are judged not relevant, and $N$ "
    r"is the number of such items in the solution.",
    source="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    closed_form=False,
)
def binary_preference(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """How rarely an item judged not relevant is ranked before a relevant item.

    Unjudged items and items with a negative grade do not matter. Undefined where the query has no relevant item.
    """
    wanted, unwanted = matched.relevant_items(rel), matched.total(matched.ideal.where(judged_not(matched.ideal, rel)))
    before = matched.found.count_so_far(judged_not(matched.found, rel))
    relevant = matched.found.is_relevant(rel)
    hits = matched.found.where(relevant)
    most = np.maximum(np.minimum(wanted, unwanted), 1)
    preferred = 1 - np.minimum(before[relevant], wanted[hits.query]) / most[hits.query]
    return ratio(matched.total(hits, preferred), wanted, wanted > 0)


@kind(
    name="GMBpref",
    title="Geometric mean of binary preference",
    formula="GMBpref = exp of the mean over the queries of ln max(Bpref, 0.00001)",
    latex=r"$$\mathrm{GMBpref} = \exp \left( \frac{1}{|Q|} \sum_{q \in Q} b_q \right)$$ where "
    r"$b_q = \ln \max(\mathrm{Bpref}(q), \varepsilon)$, $\mathrm{Bpref}(q)$ is the $\mathrm{Bpref}$ of query $q$, "
    r"and $\varepsilon = 0.00001$.",
    source="trec_eval",
    closed_form=False,
    aggregation="geometric",
)
def geometric_binary_preference(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The binary preference, whose scores of all queries are averaged geometrically.

    A query with a low score lowers the mean more than in the mean of Bpref. A score below 0.00001 counts as 0.00001.
    Undefined where the query has no relevant item.
    """
    return binary_preference.function(matched, rel=rel)


@kind(
    name="infAP",
    title="Inferred average precision",
    formula="infAP = (sum over the relevant items found of 1 / r + (c / r) · (relevant before + ε) / (relevant before "
    "+ not relevant before + 2ε)) / R, where r = rank, c = number of items before it that the solution lists, "
    "ε = 0.00001",
    latex=r"$$\mathrm{infAP} = \frac{1}{R} \sum_{r} \mathrm{rel}(r) \left( \frac{1}{r} + \frac{c_r}{r} \cdot "
    r"e_r \right)$$ where $c_r$ is the number of items before rank $r$ that the solution lists, $e_r = "
    r"\frac{h_r + \varepsilon}{h_r + n_r + 2 \varepsilon}$, $h_r$ of these items are relevant, $n_r$ of "
    r"them are judged not relevant, and $\varepsilon = 0.00001$.",
    source="Yilmaz and Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006",
    closed_form=False,
)
def inferred_average_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """An estimate of AP where only a sample of the pool is judged.

    A negative grade marks an item of the pool that is not judged. Items of the pool are assumed to be relevant as often
    as the judged items, and items outside the pool to be not relevant. Undefined where the query has no relevant item.
    """
    found, wanted = matched.found, matched.relevant_items(rel)
    relevant = found.is_relevant(rel)
    hits = found.where(relevant)
    good = hits.position_in_query() - 1
    bad = found.count_so_far(judged_not(found, rel))[relevant]
    unjudged = found.count_so_far((found.grade < 0) & ~relevant)[relevant]
    share = (good + _EPSILON) / (good + bad + 2 * _EPSILON)
    return ratio(matched.total(hits, (1 + (good + bad + unjudged) * share) / hits.rank), wanted, wanted > 0)


def judged_not(hits: JudgedItems, rel: Threshold) -> Bools:
    """[entry]: whether the item is judged not relevant."""
    return (hits.grade >= 0) & ~hits.is_relevant(rel)


@kind(
    name="Judged",
    title="Judgement rate",
    formula="Judged@k = number of judged items in the first k ranks / min(k, length of the list)",
    latex=r"$$\mathrm{Judged@}k = \frac{\mathrm{judged}(k)}{\min(k, |\mathrm{list}|)}$$ where "
    r"$\mathrm{judged}(k)$ is the number of judged items in the first $k$ ranks.",
    source="ir_measures; Unjudged is the opposite",
)
def judgement_rate(matched: Matched, k: int | None) -> Floats:
    """The share of the first k items that have a grade of 0 or more in the solution.

    Scores of lists with few judged items are not reliable. 0 for an empty list. Defined for every query.
    """
    depth = matched.retrieved if k is None else np.minimum(matched.retrieved, k)
    found = matched.count(matched.found.where(matched.found.grade >= 0), k)
    return found / np.maximum(depth, 1)


@kind(
    name="Unjudged",
    title="Share of unjudged items",
    formula="Unjudged@k = number of unjudged items in the first k ranks / k",
    latex=r"$$\mathrm{Unjudged@}k = \frac{\mathrm{unjudged}(k)}{k}$$ where $\mathrm{unjudged}(k)$ is the number of "
    r"unjudged items in the first $k$ ranks.",
    source="trec_eval 10",
)
def unjudged_share(matched: Matched, k: int) -> Floats:
    """The number of items in the first k ranks without a grade of 0 or more in the solution, divided by k.

    Scores of lists with many unjudged items are not reliable. Ranks after the end of a short list count as judged. A
    repeated item counts as judged once. Defined for every query.
    """
    judged = matched.count(matched.found.where(matched.found.grade >= 0), k)
    return (np.minimum(matched.retrieved, k) - judged) / k
