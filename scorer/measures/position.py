"""Measures of the ranks of the relevant items, where each item is relevant or not."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, cumulative, ratio
from scorer.measures.kinds import Measure, Unlike, kind
from scorer.measures.matched import JudgedItems, Matched, RankValues, Threshold, TieGroups
from scorer.measures.parameters import About, Level, Relevant

Denominator = Annotated[
    Literal["R", "min", "k", "hits"],
    About(
        "the divisor of the sum: R, the number of relevant items in the solution; min(R, k); k; or hits, the number of "
        "relevant items in the first k ranks. Without a cut-off, k is the length of the list"
    ),
]
Reach = Annotated[
    Literal["exact", "nearest", "up"],
    About(
        "the number of relevant items that reaches a level of recall: level · R, level · R rounded to the nearest "
        "integer (as in trec_eval 10), or rounded up unless it exceeds an integer by less than 0.1 (as in trec_eval 9)"
    ),
]

_BUCKLEY = "Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005"
_MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4"


@kind(
    name="AP",
    title="Average precision",
    formula="AP@k = (sum of P@r over the ranks r ≤ k of relevant items) / R",
    latex=r"$$\mathrm{AP@}k = \frac{1}{R} \sum_{r=1}^{k} \mathrm{rel}(r) \cdot \mathrm{P@}r$$",
    source=_BUCKLEY,
    aliases={"MAP": {}, "Average_Precision": {}},
    closed_form_except={"denominator": "hits"},
    mean_name="MAP",
)
def average_precision(
    matched: Matched, k: int | None, *, denominator: Denominator = "R", rel: Relevant = "positive"
) -> Floats:
    """The mean, over the query's relevant items, of the precision at the rank of each.

    A relevant item that is not in the list adds 0. The sum is divided by R, the number of relevant items in the
    solution, also with a cut-off, as in trec_eval, ranx and ir_measures. Other tools use another denominator under the
    same name. Undefined where the query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    depth = matched.retrieved if k is None else k
    divisor: Floats | int = wanted
    if denominator == "min":
        divisor = np.minimum(wanted, depth)
    elif denominator == "k":
        divisor = np.asarray(depth, dtype=np.float64)
    elif denominator == "hits":
        divisor = matched.relevant_found(rel, k)
    return ratio(precision_sum(matched, matched.found.relevant(rel), k), np.maximum(divisor, 1), wanted > 0)


def precision_sum(matched: Matched, hits: JudgedItems, k: int | None = None) -> Floats:
    """[query]: the sum of the precision at the ranks of `hits`, all relevant items, up to rank `k`, in rank order.

    In a tie group of n items, c of them relevant, each rank has a relevant item with probability c / n. If the j-th
    rank has one, (j - 1)(c - 1) / (n - 1) relevant items are expected before it in the group. Source: McSherry and
    Najork 2008.
    """
    hits = hits.top(k)
    if hits.tied is None:
        return matched.total(hits, hits.position_in_query() / hits.rank)
    groups = TieGroups.of(hits, hits.tied)
    group, rank = matched.group_ranks(groups, k)
    size, relevant = groups.tied.size[group], groups.hits[group]
    inside = (rank - groups.tied.before[group] - 1) * (relevant - 1) / np.maximum(size - 1, 1)
    precision = (groups.earlier[group] + inside + 1) / rank
    ranked = RankValues(groups.query[group], rank, relevant / size * precision)
    return matched.total(ranked, ranked.value)


@kind(
    name="GMAP",
    title="Geometric mean average precision",
    formula="GMAP = exp of the mean over the queries of ln max(AP, 0.00001)",
    latex=r"$$\mathrm{GMAP} = \exp \left( \frac{1}{|Q|} \sum_{q \in Q} a_q \right)$$ where "
    r"$a_q = \ln \max(\mathrm{AP}(q), \varepsilon)$, $\mathrm{AP}(q)$ is the $\mathrm{AP@}k$ of query $q$, and "
    r"$\varepsilon = 0.00001$.",
    source="Robertson, On GMAP and Other Transformations, CIKM 2006",
    aliases={"gm_map": {}},
    aggregation="geometric",
)
def geometric_average_precision(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The geometric mean of average precision over the queries; for one query, its average precision.

    A query with a low score costs more than in the arithmetic mean. An average precision below 0.00001 counts as
    0.00001, since a single zero would make the geometric mean zero. Undefined where the query has no relevant item.
    """
    return average_precision.function(matched, k, rel=rel)


@kind(
    name="RR",
    title="Reciprocal rank",
    formula="RR@k = 1 / (smallest rank ≤ k of a relevant item)",
    latex=r"$$\mathrm{RR@}k = \frac{1}{\min \{ r \le k : \mathrm{rel}(r) = 1 \}}$$",
    source="Voorhees, The TREC-8 Question Answering Track Report, 1999",
    aliases={"MRR": {}, "recip_rank": {}, "Reciprocal_Rank": {}},
    mean_name="MRR",
)
def reciprocal_rank(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """One divided by the rank of the first relevant item.

    0 if there is no relevant item up to rank k. Undefined where the query has no relevant item.
    """
    first = _first_relevant(matched, k, rel)
    return ratio(matched.total(first, first.value / first.rank), 1, matched.relevant_items(rel) > 0)


@kind(
    name="Success",
    title="Success at a cut-off",
    formula="Success@k = 1 if one of the first k items is relevant, else 0",
    latex=r"$$\mathrm{Success@}k = \max_{r \le k} \mathrm{rel}(r)$$",
    source=_BUCKLEY,
    aliases={"hit_rate": {}},
)
def success(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """1 if one of the first k items is relevant, 0 otherwise.

    Also called hit rate. Undefined where the query has no relevant item.
    """
    first = _first_relevant(matched, k, rel)
    return ratio(matched.total(first, first.value), 1, matched.relevant_items(rel) > 0)


@kind(
    name="SetSuccess",
    title="Success of the whole list",
    formula="SetSuccess = 1 if an item of the list is relevant, else 0",
    latex=r"$$\mathrm{SetSuccess} = \max_r \mathrm{rel}(r)$$",
    source=_BUCKLEY,
    whole_list_names={"hit_rate": {}},
)
def set_success(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """1 if an item of the list is relevant, 0 otherwise.

    Also called hit rate. Undefined where the query has no relevant item.
    """
    first = _first_relevant(matched, None, rel)
    return ratio(matched.total(first, first.value), 1, matched.relevant_items(rel) > 0)


def _first_relevant(matched: Matched, k: int | None, rel: Threshold) -> RankValues:
    """Return the ranks that the query's first relevant item may have, each with its probability.

    In a tie group of n items, c of them relevant, the j-th rank has a relevant item with probability c / (n - j + 1) if
    no rank of the group before it has one.
    """
    hits = matched.found.relevant(rel).top(k)
    if hits.tied is None:
        first = hits.position_in_query() == 1
        query = hits.query[first]
        return RankValues(query, hits.rank[first], np.ones(query.size))
    groups = TieGroups.of(hits, hits.tied)
    groups = groups.where(groups.earlier == 0)
    group, rank = matched.group_ranks(groups, k)
    position = rank - groups.tied.before[group]
    chance = np.minimum(groups.hits[group] / (groups.tied.size[group] - position + 1), 1)
    none_before = np.where(position == 1, 1, np.roll(cumulative(position, 1 - chance, np.multiply), 1))
    return RankValues(groups.query[group], rank, none_before * chance)


_SAME_REACH = (0.0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0)
"""Levels at which reach=up and reach=exact agree for every R; at 0.3 and 0.7, floating-point products are too low."""


def _reached_up(measure: Measure) -> Measure | None:
    return None if measure.cutoff in _SAME_REACH else measure.changed(reach="up")


@kind(
    name="IPrec",
    title="Interpolated precision at a level of recall",
    formula="IPrec@recall = max of P@r over the ranks r with R@r ≥ recall",
    latex=r"$$\mathrm{IPrec@}\rho = \max \{ \mathrm{P@}r : \mathrm{R@}r \ge \rho \}$$ where $\rho$ is the level "
    r"of recall.",
    source=_MANNING,
    aliases={"iprec_at_recall": {"reach": "nearest"}},
    unlike=(Unlike("ir_measures", "reach", _reached_up),),
    closed_form=False,
)
def interpolated_precision(
    matched: Matched, recall: Level, *, reach: Reach = "exact", rel: Relevant = "positive"
) -> Floats:
    """The highest precision at any rank with at least this level of recall.

    0 if the list never reaches this recall. The curve is usually drawn at the levels 0.0, 0.1, ..., 1.0. trec_eval
    rounds the number of items that a level requires; its name iprec_at_recall is read with the rounding of its version
    10. Undefined where the query has no relevant item.
    """
    return ratio(_highest_precision(matched, recall, reach, rel), 1, matched.relevant_items(rel) > 0)


@kind(
    name="11pt_avg",
    title="Interpolated precision averaged over eleven levels of recall",
    formula="11pt_avg = (IPrec@0.0 + IPrec@0.1 + ... + IPrec@1.0) / 11",
    latex=r"$$\text{11pt_avg} = \frac{1}{11} \sum_{i=0}^{10} \mathrm{IPrec@} \frac{i}{10}$$ where "
    r"$\mathrm{IPrec@}\rho = \max \{ \mathrm{P@}r : \mathrm{R@}r \ge \rho \}$.",
    source=_MANNING,
    aliases={"11pt": {}},
    closed_form=False,
)
def eleven_point_average(matched: Matched, *, reach: Reach = "nearest", rel: Relevant = "positive") -> Floats:
    """The mean of the interpolated precision at the levels of recall 0.0, 0.1, ..., 1.0.

    An approximation of the area under the curve of precision and recall, as AP is. By default, the number of items is
    rounded as in trec_eval 10. Undefined where the query has no relevant item.
    """
    levels = [_highest_precision(matched, tenth / 10, reach, rel) for tenth in range(11)]
    return ratio(np.sum(levels, axis=0), 11, matched.relevant_items(rel) > 0)


def _highest_precision(matched: Matched, recall: float, reach: Reach, rel: Threshold) -> Floats:
    wanted = matched.relevant_items(rel)
    hits = matched.found.relevant(rel)
    position = hits.position_in_query()
    # Precision falls from one relevant item to the next, so only the ranks of relevant items matter.
    if reach == "exact":
        reached = position / wanted[hits.query] >= recall
    else:
        reached = position >= np.floor(recall * wanted + (0.5 if reach == "nearest" else 0.9))[hits.query]
    highest = np.zeros(matched.queries)
    np.maximum.at(highest, hits.query[reached], (position / hits.rank)[reached])
    return highest


@kind(
    name="Accuracy",
    title="Pairwise accuracy",
    formula="Accuracy@k = share of the pairs of a relevant and another item in the first k ranks whose relevant item "
    "is ranked higher",
    latex=r"$$\mathrm{Accuracy@}k = \frac{a}{b}$$ where $b$ is the number of pairs of a relevant item and "
    r"another one in the first $k$ ranks, and $a$ of them have the relevant item at the higher rank.",
    source="ir_measures",
    closed_form=False,
)
def accuracy(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The probability that a relevant item of the list is ranked before an item that is not relevant.

    Relevant items that are missing from the list do not matter. 0 if the list has no relevant item, 1 if it has no
    other item. Undefined where the query has no relevant item.
    """
    hits = matched.found.relevant(rel).top(k)
    found = matched.total(hits)
    others = (matched.retrieved if k is None else np.minimum(matched.retrieved, k)) - found
    wrong = matched.total(hits, (hits.rank - hits.position_in_query()).astype(np.float64))
    pairs = found * others
    share = np.where(pairs > 0, 1 - wrong / np.maximum(pairs, 1), found > 0)
    return ratio(share, 1, matched.relevant_items(rel) > 0)
