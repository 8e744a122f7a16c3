"""Measures of where in the list the relevant items stand, each item being relevant or not."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, ratio, running
from scorer.measures.kinds import Kind
from scorer.measures.matched import Groups, JudgedItems, Matched, Places, Threshold
from scorer.measures.parameters import About, Relevant

Denominator = Annotated[
    Literal["R", "min", "k", "hits"],
    About(
        "by what the sum is divided: R, the number of relevant items in the solution; min(R, k); k; or how many of "
        "them stand in the first k places. Without a cut-off, k is the length of the list"
    ),
]
Reach = Annotated[
    Literal["exact", "nearest", "up"],
    About(
        "when a level of recall is reached: with level · R relevant items, with this number rounded to the nearest (as "
        "trec_eval 10), or rounded up unless less than 0.1 above a whole number (as trec_eval 9)"
    ),
]

_BUCKLEY = "Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005"
_MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4"


@partial(
    Kind,
    name="AP",
    title="Average precision",
    cutoff="optional",
    formula="AP@k = (sum of P@p over the places p ≤ k that hold a relevant item) / R",
    source=_BUCKLEY,
    aliases={"MAP": {}},
    expected={"denominator": "hits"},
    mean_name="MAP",
)
def average_precision(
    matched: Matched, k: int | None, *, denominator: Denominator = "R", rel: Relevant = "positive"
) -> Floats:
    """The mean, over the query's relevant items, of the precision at the place where each is found.

    A relevant item that is not found adds 0: the sum is divided by R, the number of relevant items in the solution,
    also with a cut-off, as trec_eval, ranx and ir_measures do. Other tools divide otherwise under the same name: see
    the denominator. Undefined where the query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    places = matched.retrieved if k is None else k
    parts: Floats | int = wanted
    if denominator == "min":
        parts = np.minimum(wanted, places)
    elif denominator == "k":
        parts = np.asarray(places, dtype=np.float64)
    elif denominator == "hits":
        parts = matched.relevant_found(rel, k)
    return ratio(precision_sum(matched, matched.found.relevant(rel), k), np.maximum(parts, 1), wanted > 0)


def precision_sum(matched: Matched, hits: JudgedItems, k: int | None = None) -> Floats:
    """The precision at each of the `hits`, which are all the relevant ones, in the first `k` places, summed.

    In rank order, for each query. A place in a tie group of n items, c of them relevant, with h relevant ones before
    the group, is relevant with probability c / n; if the j-th place is, (j - 1)(c - 1) / (n - 1) relevant ones are
    expected before it in the group (McSherry and Najork 2008).
    """
    hits = hits.top(k)
    if hits.tied is None:
        return matched.total(hits, hits.nth() / hits.rank)
    groups = Groups.of(hits, hits.tied)
    group, rank = matched.places(groups, k)
    size, relevant = groups.tied.size[group], groups.hits[group]
    inside = (rank - groups.tied.before[group] - 1) * (relevant - 1) / np.maximum(size - 1, 1)
    precision = (groups.earlier[group] + inside + 1) / rank
    places = Places(groups.query[group], rank, relevant / size * precision)
    return matched.total(places, places.value)


@partial(
    Kind,
    name="GMAP",
    title="Geometric mean average precision",
    cutoff="optional",
    formula="GMAP = exp of the mean over the queries of ln max(AP, 0.00001)",
    source="Robertson, On GMAP and Other Transformations, CIKM 2006",
    aliases={"gm_map": {}},
    aggregation="geometric",
)
def geometric_average_precision(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The geometric mean of average precision over the queries; for one query, its average precision.

    It rewards what is consistent: a query that fails costs more than in the mean. So that one zero is not the end of
    it, an average precision below 0.00001 counts as that. Undefined where the query has no relevant item.
    """
    return average_precision.function(matched, k, rel=rel)


@partial(
    Kind,
    name="RR",
    title="Reciprocal rank",
    cutoff="optional",
    formula="RR@k = 1 / (smallest place ≤ k that holds a relevant item)",
    source="Voorhees, The TREC-8 Question Answering Track Report, 1999",
    aliases={"MRR": {}, "recip_rank": {}},
    mean_name="MRR",
)
def reciprocal_rank(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """One divided by the rank of the first relevant item.

    0 where no such place holds one. Undefined where the query has no relevant item.
    """
    first = _first_relevant(matched, k, rel)
    return ratio(matched.total(first, first.value / first.rank), 1, matched.relevant_items(rel) > 0)


@partial(
    Kind,
    name="Success",
    title="Success at a cut-off",
    cutoff="required",
    formula="Success@k = 1 if one of the first k places holds a relevant item, else 0",
    source=_BUCKLEY,
    aliases={"hit_rate": {}},
)
def success(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """Whether there is a relevant item in the first k places: 1 or 0.

    Also called hit rate. Undefined where the query has no relevant item.
    """
    first = _first_relevant(matched, k, rel)
    return ratio(matched.total(first, first.value), 1, matched.relevant_items(rel) > 0)


def _first_relevant(matched: Matched, k: int | None, rel: Threshold) -> Places:
    """The places that may hold the query's first relevant item, each with the probability that it does.

    In a tie group of n items of which c are relevant, the j-th place holds the first of them, if none before it does,
    with probability c / (n - j + 1).
    """
    hits = matched.found.relevant(rel).top(k)
    if hits.tied is None:
        first = hits.where(hits.nth() == 1)
        return Places(first.query, first.rank, np.ones(len(first)))
    groups = Groups.of(hits, hits.tied)
    groups = groups.where(groups.earlier == 0)
    group, rank = matched.places(groups, k)
    nth = rank - groups.tied.before[group]
    chance = np.minimum(groups.hits[group] / (groups.tied.size[group] - nth + 1), 1)
    none_before = np.where(nth == 1, 1, np.roll(running(nth, 1 - chance, np.multiply), 1))
    return Places(groups.query[group], rank, none_before * chance)


@partial(
    Kind,
    name="IPrec",
    title="Interpolated precision at a level of recall",
    cutoff="level",
    formula="IPrec@recall = max of P@p over the places p with R@p ≥ recall",
    source=_MANNING,
    aliases={"iprec_at_recall": {"reach": "nearest"}},
    expected=False,
)
def interpolated_precision(
    matched: Matched, recall: float, *, reach: Reach = "exact", rel: Relevant = "positive"
) -> Floats:
    """The highest precision at any place of the list by which that much of the relevant items is found.

    0 where the list never reaches that recall. The curve is drawn at the levels 0.0, 0.1, ... 1.0. trec_eval rounds
    the number of items that a level takes; its name iprec_at_recall is read with the rounding of its version 10.
    Undefined where the query has no relevant item.
    """
    return ratio(_highest_precision(matched, recall, reach, rel), 1, matched.relevant_items(rel) > 0)


@partial(
    Kind,
    name="11pt_avg",
    title="Interpolated precision averaged over eleven levels of recall",
    cutoff="none",
    formula="11pt_avg = (IPrec@0.0 + IPrec@0.1 + ... + IPrec@1.0) / 11",
    source=_MANNING,
    aliases={"11pt": {}},
    expected=False,
)
def eleven_point_average(matched: Matched, *, reach: Reach = "nearest", rel: Relevant = "positive") -> Floats:
    """The mean of the interpolated precision at the levels of recall 0.0, 0.1, ... 1.0.

    The area under the curve of precision and recall, roughly, as AP is. Rounds as trec_eval 10 does, unless told
    otherwise. Undefined where the query has no relevant item.
    """
    levels = [_highest_precision(matched, tenth / 10, reach, rel) for tenth in range(11)]
    return ratio(np.sum(levels, axis=0), 11, matched.relevant_items(rel) > 0)


def _highest_precision(matched: Matched, recall: float, reach: Reach, rel: Threshold) -> Floats:
    wanted = matched.relevant_items(rel)
    hits = matched.found.relevant(rel)
    nth = hits.nth()
    # Between two relevant items precision only falls, so the places that hold one are enough.
    if reach == "exact":
        reached = nth / wanted[hits.query] >= recall
    else:
        reached = nth >= np.floor(recall * wanted + (0.5 if reach == "nearest" else 0.9))[hits.query]
    highest = np.zeros(matched.queries)
    np.maximum.at(highest, hits.query[reached], (nth / hits.rank)[reached])
    return highest


@partial(
    Kind,
    name="Accuracy",
    title="Pairwise accuracy",
    cutoff="optional",
    formula="Accuracy@k = share of the pairs of a relevant and another item in the first k places that stand in the "
    "right order",
    source="ir_measures",
    expected=False,
)
def accuracy(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The probability that a relevant item of the list stands before one that is not relevant.

    Relevant items that are not found cost nothing. 0 where none is found, 1 where nothing else is. Undefined where
    the query has no relevant item.
    """
    hits = matched.found.relevant(rel).top(k)
    found = matched.total(hits)
    others = (matched.retrieved if k is None else np.minimum(matched.retrieved, k)) - found
    wrong = matched.total(hits, (hits.rank - hits.nth()).astype(np.float64))
    pairs = found * others
    share = np.where(pairs > 0, 1 - wrong / np.maximum(pairs, 1), found > 0)
    return ratio(share, 1, matched.relevant_items(rel) > 0)
