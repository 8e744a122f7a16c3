"""Measures with a model of how far down the list a user reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, cumulative, ratio
from scorer.measures.gain import LOG_2, ROUNDING, best_grades, share_of_best
from scorer.measures.kinds import Measure, Unlike, kind
from scorer.measures.matched import JudgedItems, Matched, Threshold, Tied, TieGroups
from scorer.measures.parameters import About

Persistence = Annotated[float, About("the probability that the user reads on after an item", least=0, most=0.9999)]
RbpGain = Annotated[
    Literal["share", "binary", "linear"],
    About(
        "the gain of a relevant item: its grade divided by the query's highest, as in trec_eval, or 1 if rel is given, "
        "as in ir_measures; always 1; or its grade, as in ranx, with which scores may exceed 1"
    ),
]
RbpThreshold = Annotated[
    Threshold, About("which items have a gain: those with a positive grade, or with at least this grade")
]
Highest = Annotated[
    float | Literal["solution"],
    About(
        "the highest possible grade: the highest of the solution, or this number (4 in gdeval)", least=0.001, most=1e6
    ),
]
Normalise = Annotated[
    Literal["yes", "no"],
    About(
        "whether the overlap is divided by the overlap of the ideal list with itself",
        also={"normalize": {"true": "yes", "false": "no"}},
    ),
]


def highest_rbp(matched: Matched, k: int | None, *, p: Persistence, gain: RbpGain, rel: RbpThreshold) -> Floats:
    """[query]: the RBP of the items of the solution by descending grade; infinite where it may overflow."""
    best = replace(matched, found=matched.ideal, retrieved=matched.total(matched.ideal).astype(np.int64))
    scores = rank_biased_precision.function(best, k, p=p, gain=gain, rel=rel)
    with np.errstate(over="ignore"):
        return np.where(np.isnan(scores), 0, scores) * (1 + ROUNDING)


def _binary_rbp(measure: Measure) -> Measure | None:
    # trec_eval has rbp too, with our p, but without a cut-off.
    return None if measure.threshold == "positive" and measure.cutoff is None else measure.changed(p=0.8)


def _decimals_of_rbp(measure: Measure) -> Measure | None:
    """Return what ``rbp@95`` means in ranx, where it is ``rbp.95``."""
    if measure.cutoff is None:
        return None
    return measure.kind.measure(None, {"p": f"0.{measure.cutoff}", "gain": "linear"})


@kind(
    name="RBP",
    title="Rank-biased precision",
    formula="RBP@k = (1 − p) · sum over r ≤ k of (gain at rank r) · p^(r − 1)",
    latex=r"$$\mathrm{RBP@}k = (1 - p) \sum_{r=1}^{k} \mathrm{gain}(g_r) \cdot p^{r-1}$$ where $p$ is the "
    r"parameter p, the probability that a user looks at the next item.",
    source="Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008",
    bounded_except={"gain": "linear"},
    decimals="p",
    decimals_with={"gain": "linear"},
    unlike=(Unlike("ir_measures", "p", _binary_rbp), Unlike("ranx", "p", _decimals_of_rbp)),
    highest=highest_rbp,
)
def rank_biased_precision(
    matched: Matched, k: int | None, *, p: Persistence = 0.9, gain: RbpGain = "share", rel: RbpThreshold = "positive"
) -> Floats:
    """The expected gain per item read of a user who reads on after each item with probability p.

    A short list scores below 1. By default, p is 0.9 as in trec_eval; in ir_measures and trectools it is 0.8. The
    spelling rbp.95 is read as ranx's, with p = 0.95 and gain=linear. A threshold for all binary measures does not
    change RBP, as in trec_eval. Undefined where the query has no relevant item.
    """
    gains = {
        "share": share_of_best(matched, "linear"),
        "binary": lambda hits: np.ones(len(hits)),
        "linear": lambda hits: np.maximum(hits.grade, 0),
    }
    chosen = gains["binary" if gain == "share" and rel != "positive" else gain]
    ranked = matched.values_by_rank(matched.found.relevant(rel), chosen, k)
    sums = matched.total(ranked, ranked.value * (1 - p) * p ** (ranked.rank - 1.0))
    return ratio(sums, 1, matched.relevant_items(rel) > 0)


def _gdeval_err(measure: Measure) -> Measure | None:
    return None if measure.cutoff is None else measure.changed(highest=4)


@kind(
    name="RBPresidual",
    title="Residual of rank-biased precision",
    formula="RBPresidual = p^n + (1 − p) · sum over the ranks r of unjudged items of p^(r − 1), where n = length of "
    "the list; 0 without an unjudged item",
    latex=r"$$\mathrm{RBPresidual} = p^n + (1 - p) \sum_{r \in U} p^{r-1}$$ where $p$ is the parameter p, $n$ is the "
    r"length of the list, and $U$ has the ranks of the unjudged items. The residual is 0 if $U$ is empty.",
    source="Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008; "
    "trec_eval 10",
    aliases={"rbp_resid": {}},
    closed_form_when_cut=False,
)
def rank_biased_residual(matched: Matched, *, p: Persistence = 0.9) -> Floats:
    """How much RBP could grow if every unjudged item had the highest gain, in the list and after its end.

    An item with a negative grade is not judged. As in trec_eval, a list in which every item is judged scores 0, also
    where RBP could grow after its end, and so does an empty list. A repeated item counts as judged once. Defined for
    every query.
    """
    judged = matched.found.where(matched.found.grade >= 0)
    ranked = matched.values_by_rank(judged, lambda hits: np.ones(len(hits)))
    residual = 1 - matched.total(ranked, ranked.value * (1 - p) * p ** (ranked.rank - 1.0))
    return np.where(matched.count(judged) < matched.retrieved, residual, 0)


@kind(
    name="ERR",
    title="Expected reciprocal rank",
    formula="ERR@k = sum over r ≤ k of (s(r) / r) · product over i before r of (1 − s(i)), where s(r) = "
    "(2^(g at rank r) − 1) / 2^(highest grade)",
    latex=r"$$\mathrm{ERR@}k = \sum_{r=1}^{k} \frac{s_r}{r} \prod_{i=1}^{r-1} (1 - s_i)$$ where $s_r = "
    r"\frac{2^{g_r} - 1}{2^M}$, and $M$ is the highest grade.",
    source="Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009",
    unlike=(Unlike("ir_measures", "highest", _gdeval_err),),
    closed_form=False,
)
def expected_reciprocal_rank(matched: Matched, k: int | None, *, highest: Highest = "solution") -> Floats:
    """The expected reciprocal of the rank at which a user stops who is more likely to stop at better items.

    The probability s of stopping depends on the grade and on the highest grade. By default, that is the highest grade
    of the whole solution, so a list may have another score in another solution. A grade above the highest counts as the
    highest. Undefined where the query has no positive grade.
    """
    top = float(matched.ideal.grade.max(initial=0.0)) if highest == "solution" else highest
    hits = matched.found.relevant().top(k)
    grade = np.minimum(hits.grade, top)
    satisfied = np.exp2(grade - top) * -np.expm1(-LOG_2 * grade)
    position = hits.position_in_query()
    reading = np.where(position == 1, 1, np.roll(cumulative(position, 1 - satisfied, np.multiply), 1))
    return ratio(matched.total(hits, reading * satisfied / hits.rank), 1, best_grades(matched) > 0)


@kind(
    name="RBO",
    title="Rank-biased overlap with the ideal list",
    formula="RBO = (sum over d = 1..D of p^(d − 1) · A(d) / d) / (the same sum for the ideal list and itself), where "
    "A(d) = number of items that the first d of the list and the first d of the ideal list share, D = length of the "
    "longer list",
    latex=r"$$\mathrm{RBO} = \frac{\sum_{d=1}^{D} p^{d-1} \cdot \frac{A(d)}{d}}{\sum_{d=1}^{D} p^{d-1} \cdot "
    r"\frac{I(d)}{d}}$$ where $p$ is the parameter p, $D$ is the length of the longer list, $A(d)$ is the "
    r"number of items that the first $d$ of the list and the first $d$ of the ideal list share, and "
    r"$I(d)$ is the same for the ideal list and itself.",
    source="Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4), 2010; Clarke, "
    "Vtyurina and Smucker, Assessing Top-k Preferences, ACM TOIS 39(3), 2021",
    aliases={"Compat": {}, "Compatibility": {}},
    closed_form=False,
)
def rank_biased_overlap(matched: Matched, *, p: Persistence = 0.95, normalise: Normalise = "yes") -> Floats:
    """The overlap of the list with the ideal list at every depth, with more weight at the top.

    The ideal list has the items with a positive grade, by descending grade. Items with equal grades are in the order of
    the list, followed by those missing from the list, so their order does not matter. Undefined where the query has no
    positive grade.
    """
    ideal, found = matched.ideal.relevant(), matched.found.relevant()
    wanted = matched.relevant_items()
    depth = np.maximum(matched.retrieved, wanted.astype(np.int64))
    ranks = np.arange(1, int(depth.max(initial=0)) + 1)
    weights = np.cumsum(np.append(0, p ** (ranks - 1.0) / ranks))

    def agreement(query: Ints, first: Ints) -> Floats:
        """[query]: the sum of the weights of items that are in both lists from rank `first` on."""
        shares = np.maximum(weights[depth[query]] - weights[first - 1], 0)
        return np.asarray(np.bincount(query, shares, minlength=matched.queries), dtype=np.float64)

    shared = agreement(found.query, np.maximum(found.rank, _ideal_ranks(found)))
    if normalise == "yes":
        best = agreement(ideal.query, ideal.rank)
    else:
        best = np.cumsum(np.append(0, p ** (ranks - 1.0)))[depth]
    return ratio(shared, np.where(best > 0, best, 1), wanted > 0)


def _ideal_ranks(found: JudgedItems) -> Ints:
    """[entry]: the rank in the ideal list that has items with equal grades in the order of `found`."""
    order = np.lexsort((found.rank, -found.grade, found.query))
    best_first = found.where(order)
    groups = TieGroups.of(best_first, Tied(best_first.tie_rank, best_first.tie_rank))
    ranks = np.empty_like(order)
    ranks[order] = best_first.tie_rank + np.arange(order.size) - np.repeat(groups.first, groups.hits)
    return ranks
