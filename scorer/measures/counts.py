"""Counts, which are summed over the queries."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats
from scorer.measures.kinds import Kind
from scorer.measures.matched import Matched
from scorer.measures.parameters import Relevant

_SOURCE = "trec_eval"


@partial(
    Kind,
    name="NumQ",
    title="Number of queries",
    cutoff="none",
    formula="NumQ = number of queries in the solution",
    source=_SOURCE,
    aggregation="sum",
)
def number_of_queries(matched: Matched) -> Floats:
    """How many queries are scored; 1 for each.

    Also those with nothing relevant to them. Defined for every query.
    """
    return np.ones(matched.queries)


@partial(
    Kind,
    name="NumRet",
    title="Number of retrieved items",
    cutoff="none",
    formula="NumRet = length of the list",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
)
def number_retrieved(matched: Matched) -> Floats:
    """How many items the list has, repeated ones too.

    Lists for queries that the solution lacks do not count. Defined for every query.
    """
    return matched.retrieved.astype(np.float64)


@partial(
    Kind,
    name="NumRel",
    title="Number of relevant items",
    cutoff="none",
    formula="NumRel = R, the number of relevant items in the solution",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
)
def number_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """How many relevant items the solution has, found or not.

    The same for every submission. Defined for every query.
    """
    return matched.relevant_items(rel)


@partial(
    Kind,
    name="NumRelRet",
    title="Number of relevant items retrieved",
    cutoff="none",
    formula="NumRelRet = hits, the number of relevant items in the list",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
)
def number_relevant_retrieved(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """How many relevant items the list has.

    A repeated item counts once. Defined for every query.
    """
    return matched.relevant_found(rel)
