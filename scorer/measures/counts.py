"""Counts; their sum over the queries is reported, not their mean."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats
from scorer.measures.incomplete import judged_not
from scorer.measures.kinds import kind
from scorer.measures.matched import Matched
from scorer.measures.parameters import Relevant

_count = partial(kind, source="trec_eval", aggregation="sum")


@_count(
    name="NumQ",
    title="Number of queries",
    formula="NumQ = number of queries in the solution",
    latex=r"$$\mathrm{NumQ} = |Q|$$",
)
def number_of_queries(matched: Matched) -> Floats:
    """The number of queries, each of which counts 1.

    A query without relevant items counts too. Defined for every query.
    """
    return np.ones(matched.queries)


@_count(
    name="NumRet",
    title="Number of retrieved items",
    formula="NumRet = length of the list",
    latex=r"$$\mathrm{NumRet} = |\mathrm{list}|$$",
    bounded=False,
    redirected={"rel": {"*": "NumRelRet"}},
)
def number_retrieved(matched: Matched) -> Floats:
    """The number of items in the list, repeated items included.

    Lists for queries that the solution does not have are not counted. ir_measures' NumRet(rel=1) is read as
    NumRelRet(rel=1). Defined for every query.
    """
    return matched.retrieved.astype(np.float64)


@_count(
    name="NumRel",
    title="Number of relevant items",
    formula="NumRel = R, the number of relevant items in the solution",
    latex=r"$$\mathrm{NumRel} = R$$",
    bounded=False,
)
def number_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items that the solution has for the query.

    The same for every submission. Defined for every query.
    """
    return matched.relevant_items(rel)


@_count(
    name="NumRelRet",
    title="Number of relevant items retrieved",
    formula="NumRelRet = hits, the number of relevant items in the list",
    latex=r"$$\mathrm{NumRelRet} = \mathrm{hits}$$",
    bounded=False,
)
def number_relevant_retrieved(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items in the list.

    A repeated item counts once. Defined for every query.
    """
    return matched.relevant_found(rel)


@_count(
    name="NumNonrelJudgedRet",
    title="Number of retrieved items judged not relevant",
    formula="NumNonrelJudgedRet = number of items in the list that are judged not relevant",
    latex=r"$$\mathrm{NumNonrelJudgedRet} = n$$ where $n$ items of the list are judged not relevant.",
    bounded=False,
)
def number_judged_not_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of items in the list that are judged and not relevant.

    An item with a negative grade is not judged, as in TREC's files. A repeated item counts once. Defined for every
    query.
    """
    return matched.count(matched.found.where(judged_not(matched.found, rel)))
