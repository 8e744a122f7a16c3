"""Measures with a model of how far down the list somebody reads, and of how far two lists agree on the way."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio, running
from scorer.measures.gain import LOG_2, best_grades, share_of_best
from scorer.measures.kinds import Kind
from scorer.measures.matched import Groups, JudgedItems, Matched, Threshold, Tied
from scorer.measures.parameters import About

Persistence = Annotated[float, About("the probability of reading on after an item", least=0, most=0.9999)]
Worth = Annotated[
    Literal["share", "binary", "linear"],
    About(
        "what a relevant item is worth: its grade as a share of the query's highest, as in trec_eval, but 1 where rel "
        "is given, as in ir_measures; 1; or its grade, as in ranx, with which scores exceed 1"
    ),
]
Worthy = Annotated[Threshold, About("which items are worth something: those with a positive grade, or at least this")]
Highest = Annotated[
    float | Literal["solution"],
    About(
        "the grade that satisfies most: the highest of all queries, or this one (4 in gdeval)", least=0.001, most=1e6
    ),
]
Normalise = Annotated[
    Literal["yes", "no"],
    About(
        "whether the overlap is divided by that of the ideal list with itself",
        also={"normalize": {"true": "yes", "false": "no"}},
    ),
]


@partial(
    Kind,
    name="RBP",
    title="Rank-biased precision",
    cutoff="optional",
    formula="RBP@k = (1 − p) · sum over r ≤ k of (gain at rank r) · p^(r − 1)",
    source="Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008",
    bounded={"gain": "linear"},
    decimals="p",
)
def rank_biased_precision(
    matched: Matched, k: int | None, *, p: Persistence = 0.9, gain: Worth = "share", rel: Worthy = "positive"
) -> Floats:
    """The rate at which somebody gains who reads on after each item with probability p.

    A short list stays below 1. p is 0.9 as in trec_eval; ir_measures and trectools have 0.8. A threshold for all
    binary measures leaves it alone, as trec_eval's does. Undefined where the query has no relevant item.
    """
    worth = {
        "share": share_of_best(matched, "linear" if rel == "positive" else "binary"),
        "binary": lambda hits: np.ones(len(hits)),
        "linear": lambda hits: np.maximum(hits.grade, 0),
    }
    places = matched.placed(matched.found.relevant(rel), worth[gain], k)
    sums = matched.total(places, places.value * (1 - p) * p ** (places.rank - 1.0))
    return ratio(sums, 1, matched.relevant_items(rel) > 0)


@partial(
    Kind,
    name="ERR",
    title="Expected reciprocal rank",
    cutoff="optional",
    formula="ERR@k = sum over r ≤ k of (s(r) / r) · product over i before r of (1 − s(i)), where s(r) = "
    "(2^(g at rank r) − 1) / 2^(highest grade)",
    source="Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009",
    expected=False,
)
def expected_reciprocal_rank(matched: Matched, k: int | None, *, highest: Highest = "solution") -> Floats:
    """One divided by the rank at which somebody is expected to stop who is satisfied by better items sooner.

    The probability s of being satisfied follows from the grade and from the highest grade there is: of the whole
    solution, so that the same list has another score among other queries, unless it is given. A grade above it counts
    as it. Undefined where the query has no positive grade.
    """
    top = float(matched.ideal.grade.max(initial=0.0)) if highest == "solution" else highest
    hits = matched.found.relevant().top(k)
    grade = np.minimum(hits.grade, top)
    satisfied = np.exp2(grade - top) * -np.expm1(-LOG_2 * grade)
    nth = hits.nth()
    reading = np.where(nth == 1, 1, np.roll(running(nth, 1 - satisfied, np.multiply), 1))
    return ratio(matched.total(hits, reading * satisfied / hits.rank), 1, best_grades(matched) > 0)


@partial(
    Kind,
    name="RBO",
    title="Rank-biased overlap with the ideal list",
    cutoff="none",
    formula="RBO = (sum over d = 1..D of p^(d − 1) · A(d) / d) / (the same sum for the ideal list and itself), where "
    "A(d) = number of items that the first d places of the list and of the ideal list share, D = length of the longer "
    "one",
    source="Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4), 2010; Clarke, "
    "Vtyurina and Smucker, Assessing Top-k Preferences, ACM TOIS 39(3), 2021",
    aliases={"Compat": {}, "Compatibility": {}},
    expected=False,
)
def rank_biased_overlap(matched: Matched, *, p: Persistence = 0.95, normalise: Normalise = "yes") -> Floats:
    """How far the list agrees with the ideal list, the more the nearer to the top.

    The ideal list has the items with a positive grade, the highest first. Of those that tie it has first what the
    list has, in the list's order, so that no order of equal grades costs anything. Undefined where the query has no
    positive grade.
    """
    ideal, found = matched.ideal.relevant(), matched.found.relevant()
    wanted = matched.relevant_items()
    depth = np.maximum(matched.retrieved, wanted.astype(np.int64))
    ranks = np.arange(1, int(depth.max(initial=0)) + 1)
    weights = np.cumsum(np.append(0, p ** (ranks - 1.0) / ranks))

    def agreement(query: Ints, first: Ints) -> Floats:
        """The sum, for each query, of what items are worth that both lists have from place `first` on."""
        shares = np.maximum(weights[depth[query]] - weights[first - 1], 0)
        return np.asarray(np.bincount(query, shares, minlength=matched.queries), dtype=np.float64)

    shared = agreement(found.query, np.maximum(found.rank, _ideal_ranks(found)))
    if normalise == "yes":
        best = agreement(ideal.query, ideal.rank)
    else:
        places = np.cumsum(np.append(0, p ** (ranks - 1.0)))
        best = places[depth]
    return ratio(shared, np.where(best > 0, best, 1), wanted > 0)


def _ideal_ranks(found: JudgedItems) -> Ints:
    """The place of each item in the ideal list that has equal grades in the order of `found`."""
    order = np.lexsort((found.rank, -found.grade, found.query))
    best_first = found.where(order)
    groups = Groups.of(best_first, Tied(best_first.tie_rank, best_first.tie_rank))
    ranks = np.empty_like(order)
    ranks[order] = best_first.tie_rank + np.arange(order.size) - np.repeat(groups.first, groups.hits)
    return ranks
