"""Counts; their sum over the queries is reported, not their mean."""

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
    latex=r"$$\mathrm{NumQ} = |Q|$$",
    source=_SOURCE,
    aggregation="sum",
    trec_names=("num_q",),
    trec_per_query=False,
)
def number_of_queries(matched: Matched) -> Floats:
    """The number of queries, each of which counts 1.

    A query without relevant items counts too. Defined for every query.
    """
    return np.ones(matched.queries)


@partial(
    Kind,
    name="NumRet",
    title="Number of retrieved items",
    cutoff="none",
    formula="NumRet = length of the list",
    latex=r"$$\mathrm{NumRet} = |\mathrm{list}|$$",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
    redirected={"rel": {"*": "NumRelRet"}},
    trec_names=("num_ret",),
)
def number_retrieved(matched: Matched) -> Floats:
    """The number of items in the list, repeated items included.

    Lists for queries that the solution does not have are not counted. ir_measures' NumRet(rel=1) is read as
    NumRelRet(rel=1). Defined for every query.
    """
    return matched.retrieved.astype(np.float64)


@partial(
    Kind,
    name="NumRel",
    title="Number of relevant items",
    cutoff="none",
    formula="NumRel = R, the number of relevant items in the solution",
    latex=r"$$\mathrm{NumRel} = R$$",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
    trec_names=("num_rel",),
)
def number_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items that the solution has for the query.

    The same for every submission. Defined for every query.
    """
    return matched.relevant_items(rel)


@partial(
    Kind,
    name="NumRelRet",
    title="Number of relevant items retrieved",
    cutoff="none",
    formula="NumRelRet = hits, the number of relevant items in the list",
    latex=r"$$\mathrm{NumRelRet} = \mathrm{hits}$$",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
    trec_names=("num_rel_ret",),
)
def number_relevant_retrieved(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items in the list.

    A repeated item counts once. Defined for every query.
    """
    return matched.relevant_found(rel)


@partial(
    Kind,
    name="NumNonrelJudgedRet",
    title="Number of retrieved items judged not relevant",
    cutoff="none",
    formula="NumNonrelJudgedRet = number of items in the list that are judged not relevant",
    latex=r"$$\mathrm{NumNonrelJudgedRet} = n$$ where $n$ items of the list are judged not relevant.",
    source=_SOURCE,
    bounded=False,
    aggregation="sum",
    trec_names=("num_nonrel_judged_ret",),
)
def number_judged_not_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of items in the list that are judged and not relevant.

    An item with a negative grade is not judged, as in TREC's files. A repeated item counts once. Defined for every
    query.
    """
    found = matched.found
    return matched.count(found.where((found.grade >= 0) & ~found.is_relevant(rel)))
