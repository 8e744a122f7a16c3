"""Measures for which an item is relevant or not: R-precision, relevant items in the first ranks, and their ranks."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from scorer.measures.kinds import Measure, Unlike, kind
from scorer.measures.matched import (
    ONE,
    About,
    Floats,
    Ints,
    JudgedItems,
    Level,
    Matched,
    Multiple,
    RankValues,
    Relevant,
    Threshold,
    TieGroups,
    cumulative,
    ratio,
)

_ROUNDED_UP = 0.9
"""What trec_eval adds to a number of ranks before it drops the fraction."""


@kind(name="MARp")
def mean_average_r_precision(matched: Matched, cutoffs: tuple[int, ...], *, rel: Relevant = "positive") -> Floats:
    """The share of the z best items that are among the first z of the list; the mean over several cut-offs z."""
    found = _relevant(matched.found, rel)
    relevant = matched.total(_relevant(matched.ideal, rel))
    scores = np.zeros(matched.queries)
    # In the order of the cut-offs, as in the evaluator of VL.NET.
    for z in cutoffs:
        wanted = np.minimum(relevant, z)
        # An item is in relevant(z) exactly if fewer than min(m, z) relevant items have a higher grade.
        hits = found.where(found.tie_rank <= wanted[found.query])
        scores += ratio(matched.count(hits, z), wanted, relevant > 0)
    return scores / len(cutoffs)


@kind(name="Rp")
def r_precision_at(matched: Matched, z: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the z best items of the query that are among the first z items of the list."""
    return mean_average_r_precision.function(matched, (z,), rel=rel)


@kind(name="Rprec", aliases={"R-precision": {}})
def r_precision(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """Precision at R, the number of relevant items of the query; with a cut-off, of the hits up to rank k only."""
    wanted = matched.wanted(rel)
    depth = wanted if k is None else np.minimum(wanted, k)
    return matched.count(matched.found.relevant(rel), depth) / wanted


@kind(name="RprecMult")
def r_precision_at_multiple(matched: Matched, multiple: Multiple, *, rel: Relevant = "positive") -> Floats:
    """Precision at a multiple of R, the number of relevant items of the query."""
    depth = np.floor(multiple * matched.wanted(rel) + _ROUNDED_UP)
    return matched.count(matched.found.relevant(rel), depth) / np.maximum(depth, 1)


def _relevant(hits: JudgedItems, rel: Threshold) -> JudgedItems:
    """Return the relevant entries. A threshold does not change their tie ranks: all better items are above it too."""
    relevant = hits.where(hits.tie_rank > 0)
    return relevant if rel == "positive" else relevant.relevant(rel)


Beta = Annotated[float, About(least=0.001, most=1000)]


Worth = Annotated[float, About(least=-1e6, most=1e6)]
_Weight = Literal["squared", "plain"]
Capped = Literal["R", "min"]


@kind(name="P", aliases={"Precision": {}})
def precision(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the first k items that are relevant."""
    return matched.relevant_found(rel, k) / k * matched.defined(rel)


@kind(name="R", aliases={"Recall": {}, "R_cap": {"denominator": "min"}, "relative_P": {"denominator": "min"}})
def recall(matched: Matched, k: int | None, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that are in the first k ranks, or anywhere in the list."""
    wanted = matched.wanted(rel)
    if denominator == "min":
        wanted = np.maximum(np.minimum(wanted, matched.retrieved if k is None else k), 1)
    return matched.relevant_found(rel, k) / wanted


@kind(name="Hits", bounded=False)
def hits(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items in the first k ranks, or anywhere in the list."""
    return matched.relevant_found(rel, k) * matched.defined(rel)


@kind(name="F", aliases={"F1": {"beta": 1.0}, "F2": {"beta": 2.0}})
def f_measure(
    matched: Matched, k: int, *, beta: Beta = 1.0, weight: _Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of precision and recall in the first k ranks."""
    factor = beta**2 if weight == "squared" else beta
    return _harmonic(matched, matched.relevant_found(rel, k), k, factor, rel)


@kind(
    name="SetP",
    aliases={"Set_Precision": {}},
    whole_list_names={"Precision": {}},
    redirected={"relative": {"true": "SetRelP", "false": "SetP"}},
)
def set_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The share of the items of the list that are relevant."""
    return matched.relevant_found(rel) / np.maximum(matched.retrieved, 1) * matched.defined(rel)


@kind(
    name="SetR",
    aliases={
        "Set_Recall": {},
        "set_relative_P": {"denominator": "min"},
        "SetRelP": {"denominator": "min"},
    },
    redirected={"relative": {"true": "SetRelP", "false": "SetP"}},
)
def set_recall(matched: Matched, *, denominator: Capped = "R", rel: Relevant = "positive") -> Floats:
    """The share of the query's relevant items that are in the list."""
    return recall.function(matched, None, denominator=denominator, rel=rel)


def _plain_weight(measure: Measure) -> Measure | None:
    plain = measure.changed(weight="plain")
    return None if plain == measure.changed(weight="plain", beta=1) else plain


@kind(name="SetF", whole_list_names={"F1": {"beta": 1.0}}, unlike=(Unlike("ir_measures", "weight", _plain_weight),))
def set_f_measure(
    matched: Matched, *, beta: Beta = 1.0, weight: _Weight = "squared", rel: Relevant = "positive"
) -> Floats:
    """The weighted harmonic mean of the precision and the recall of the whole list."""
    found, wanted = matched.relevant_found(rel), matched.relevant_items(rel)
    if weight == "squared":
        return _harmonic(matched, found, matched.retrieved, beta**2, rel)
    # The operations of trec_eval in its order, so that a score between two printed ones is rounded as there.
    precision, recalled = found / np.maximum(matched.retrieved, 1), found / np.maximum(wanted, 1)
    weighted = beta * precision + recalled
    return ratio((beta + 1) * precision * recalled / np.where(weighted > 0, weighted, 1), 1, wanted > 0)


@kind(name="SetAP", aliases={"set_map": {}}, closed_form_when_cut=False)
def set_average_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The precision of the whole list times its recall."""
    wanted = matched.relevant_items(rel)
    return ratio(matched.relevant_found(rel) ** 2, np.maximum(matched.retrieved, 1) * wanted, wanted > 0)


@kind(name="Utility", bounded=False)
def utility(
    matched: Matched,
    *,
    relevant: Worth = 1.0,
    other: Worth = -1.0,
    missed: Worth = 0.0,
    rest: Worth = 0.0,
    items: Annotated[float, About(least=0, most=1e12)] = 0.0,
    rel: Relevant = "positive",
) -> Floats:
    """The sum of the worth of all items of the collection, by whether they are relevant and whether they are listed."""
    hits, wanted = matched.relevant_found(rel), matched.relevant_items(rel)
    listed = matched.retrieved.astype(np.float64)
    return (
        relevant * hits + other * (listed - hits) + missed * (wanted - hits) + rest * (items + hits - listed - wanted)
    )


def _harmonic(matched: Matched, found: Floats, retrieved: Ints | int, weight: float, rel: Threshold) -> Floats:
    """[query]: F of `found` hits in `retrieved` items, where P = found / retrieved and R = found / wanted."""
    wanted = matched.relevant_items(rel)
    return ratio((1 + weight) * found, weight * wanted + retrieved, wanted > 0)


Denominator = Literal["R", "min", "k", "hits"]
Reach = Literal["exact", "nearest", "up"]


@kind(name="AP", aliases={"MAP": {}, "Average_Precision": {}}, closed_form={"denominator": "hits"}, mean_name="MAP")
def average_precision(
    matched: Matched, k: int | None, *, denominator: Denominator = "R", rel: Relevant = "positive"
) -> Floats:
    """The mean, over the query's relevant items, of the precision at the rank of each."""
    depth = matched.retrieved if k is None else k
    precisions = precision_sum(matched, matched.found.relevant(rel), k)
    if denominator == "k":
        return precisions / np.maximum(depth, 1.0) * matched.defined(rel)
    if denominator == "hits":
        return precisions / np.maximum(matched.relevant_found(rel, k), 1) * matched.defined(rel)
    wanted = matched.wanted(rel)
    return precisions / (wanted if denominator == "R" else np.maximum(np.minimum(wanted, depth), 1))


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


@kind(name="GMAP", aliases={"gm_map": {}}, aggregation="geometric")
def geometric_average_precision(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The geometric mean of average precision over the queries; for one query, its average precision."""
    return average_precision.function(matched, k, rel=rel)


@kind(name="RR", aliases={"MRR": {}, "recip_rank": {}, "Reciprocal_Rank": {}}, mean_name="MRR")
def reciprocal_rank(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """One divided by the rank of the first relevant item."""
    first = _first_relevant(matched, k, rel)
    return matched.total(first, first.value / first.rank) * matched.defined(rel)


@kind(name="Success", aliases={"hit_rate": {}})
def success(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """1 if one of the first k items is relevant, 0 otherwise."""
    first = _first_relevant(matched, k, rel)
    return matched.total(first, first.value) * matched.defined(rel)


@kind(name="SetSuccess", whole_list_names={"hit_rate": {}})
def set_success(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """1 if an item of the list is relevant, 0 otherwise."""
    first = _first_relevant(matched, None, rel)
    return matched.total(first, first.value) * matched.defined(rel)


def _first_relevant(matched: Matched, k: int | None, rel: Threshold) -> RankValues:
    """Return the ranks that the query's first relevant item may have, each with its probability.

    In a tie group of n items, c of them relevant, the j-th rank has a relevant item with probability c / (n - j + 1) if
    no rank of the group before it has one.
    """
    hits = matched.found.relevant(rel).top(k)
    if hits.tied is None:
        return RankValues(hits.query, hits.rank, (hits.position_in_query() == ONE).astype(np.float64))
    groups = TieGroups.of(hits, hits.tied)
    groups = groups.where(groups.earlier == 0)
    group, rank = matched.group_ranks(groups, k)
    position = rank - groups.tied.before[group]
    chance = np.minimum(groups.hits[group] / (groups.tied.size[group] - position + 1), 1)
    none_before = np.where(position == 1, 1, np.roll(cumulative(position, 1 - chance, np.multiply), 1))
    return RankValues(groups.query[group], rank, none_before * chance)


_SAME_REACH = (0.0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0)
"""Levels at which reach=up and reach=exact agree for every R; at 0.3 and 0.7, floating-point products are too low."""


@kind(
    name="IPrec",
    aliases={"iprec_at_recall": {"reach": "nearest"}},
    unlike=(
        Unlike("ir_measures", "reach", lambda own: None if own.cutoff in _SAME_REACH else own.changed(reach="up")),
    ),
    closed_form=False,
)
def interpolated_precision(
    matched: Matched, recall: Level, *, reach: Reach = "exact", rel: Relevant = "positive"
) -> Floats:
    """The highest precision at any rank with at least this level of recall."""
    return _highest_precision(matched, recall, reach, rel) * matched.defined(rel)


@kind(name="11pt_avg", aliases={"11pt": {}}, closed_form=False)
def eleven_point_average(matched: Matched, *, reach: Reach = "nearest", rel: Relevant = "positive") -> Floats:
    """The mean of the interpolated precision at the levels of recall 0.0, 0.1, ..., 1.0."""
    levels = [_highest_precision(matched, tenth / 10, reach, rel) for tenth in range(11)]
    return np.asarray(np.sum(levels, axis=0) / 11 * matched.defined(rel), dtype=np.float64)


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
    unlike=(Unlike("BEIR", "rel", lambda own: None if own.cutoff is None else success.measure(own.cutoff)),),
    closed_form=False,
)
def accuracy(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The probability that a relevant item of the list is ranked before an item that is not relevant."""
    hits = matched.found.relevant(rel).top(k)
    found = matched.total(hits)
    others = (matched.retrieved if k is None else np.minimum(matched.retrieved, k)) - found
    wrong = matched.total(hits, (hits.rank - hits.position_in_query()).astype(np.float64))
    pairs = found * others
    share: Floats = np.where(pairs > 0, 1 - wrong / np.maximum(pairs, 1), found > 0)
    return share * matched.defined(rel)
