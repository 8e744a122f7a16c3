"""Measures of where in the list the relevant items stand, each item being relevant or not."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.hits import Floats, Hits, Judged, ratio
from scorer.measures.registry import Kind, Relevant


@partial(
    Kind,
    name="AP",
    title="Average precision",
    cutoff="optional",
    formula="AP@k = (sum of P@p over the places p ≤ k that hold a relevant item) / R",
    source="Buckley and Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005",
    aliases={"MAP": {}},
    mean_name="MAP",
)
def average_precision(judged: Judged, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The mean, over the query's relevant items, of the precision at the place where each is found.

    A relevant item that is not found adds 0: the sum is divided by R, the number of relevant items in the solution,
    also with a cut-off. Undefined where the query has no relevant item.
    """
    wanted = judged.relevant_items(rel)
    return ratio(precision_sum(judged, judged.found.relevant(rel).top(k)), wanted, wanted > 0)


def precision_sum(judged: Judged, hits: Hits) -> Floats:
    """The precision at each of the `hits`, which are all the relevant ones, summed for each query in rank order."""
    return judged.total(hits, hits.nth() / hits.rank)


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
def reciprocal_rank(judged: Judged, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """One divided by the rank of the first relevant item.

    0 where no such place holds one. Undefined where the query has no relevant item.
    """
    hits = judged.found.relevant(rel).top(k)
    first = hits.where(hits.nth() == 1)
    return ratio(judged.total(first, 1 / first.rank), 1, judged.relevant_items(rel) > 0)


@partial(
    Kind,
    name="IPrec",
    title="Interpolated precision at a level of recall",
    cutoff="level",
    formula="IPrec@recall = max of P@p over the places p with R@p ≥ recall",
    source="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4",
    aliases={"iprec_at_recall": {}},
)
def interpolated_precision(judged: Judged, recall: float, *, rel: Relevant = "positive") -> Floats:
    """The highest precision at any place of the list by which that much of the relevant items is found.

    0 where the list never reaches that recall. The curve is drawn at the levels 0.0, 0.1, ... 1.0. Undefined where
    the query has no relevant item.
    """
    wanted = judged.relevant_items(rel)
    hits = judged.found.relevant(rel)
    nth = hits.nth()
    # Between two relevant items precision only falls, so the places that hold one are enough.
    reached = nth / wanted[hits.query] >= recall
    highest = np.zeros(judged.queries)
    np.maximum.at(highest, hits.query[reached], (nth / hits.rank)[reached])
    return ratio(highest, 1, wanted > 0)
