"""Measures that take the scale of the grades out of the score, and means of nDCG over cut-offs."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio, running
from scorer.measures.gain import LOG_2, Gains, best_grades, discounts, normalised, share_of_best
from scorer.measures.kinds import Kind
from scorer.measures.matched import JudgedItems, Matched
from scorer.measures.phi import Whisker, relevance_curves
from scorer.measures.position import precision_sum

_SCHEEL = "Scheel, Lommatzsch and Albayrak, Performance Measures for Multi-Graded Relevance, SPIM 2011"
_MONIZ = "Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, arXiv 1612.06136, 2016"


@partial(
    Kind,
    name="muAP",
    title="Multi-graded average precision",
    cutoff="optional",
    formula="muAP@k = (sum over t in L of AP(rel=t)@k · d(t)) / (sum over t in L of d(t)), where L = the distinct "
    "positive grades of the query, d(t) = t minus the next lower one of them, or t for the lowest",
    source=f"{_SCHEEL}, equation 4",
    aliases={"muMAP": {}, "μAP": {}, "μMAP": {}},
    mean_name="muMAP",
)
def multi_graded_average_precision(matched: Matched, k: int | None) -> Floats:
    """Average precision at each grade as the threshold, weighted by the step from the next lower grade.

    L is of the query, not of all queries, so that a perfect list scores 1. With one positive grade it is AP.
    Undefined where the query has no positive grade.
    """
    levels = _levels(matched)
    step, items = _steps(matched, levels)
    found = matched.found.relevant()
    number = levels.nth()
    scores = np.zeros(matched.queries)
    for each in range(1, number.max(initial=0) + 1):  # the highest grade of all queries at once, then the second, ...
        now = number == each
        query = levels.query[now]
        threshold = np.full(matched.queries, np.inf)
        threshold[query] = levels.grade[now]
        hits = found.where(found.grade >= threshold[found.query])
        scores[query] += precision_sum(matched, hits, k)[query] / items[now] * step[now]
    best = best_grades(matched)
    return ratio(scores, best, best > 0)


def _levels(matched: Matched) -> JudgedItems:
    """One entry for each distinct positive grade of each query, the highest first: the first item that has it."""
    positive = matched.ideal.relevant()
    repeated = (np.diff(positive.query, prepend=-1) == 0) & (np.diff(positive.grade, prepend=0) == 0)
    return positive.where(~repeated)


def _steps(matched: Matched, levels: JudgedItems) -> tuple[Floats, Floats]:
    """For each level, its distance from the next lower one, and how many items of the query reach it."""
    lowest = np.diff(levels.query, append=-1) != 0
    lower = np.where(lowest, 0, np.roll(levels.grade, -1))
    items = np.where(lowest, matched.relevant_items()[levels.query], np.roll(levels.rank, -1) - 1)
    return levels.grade - lower, items


@partial(
    Kind,
    name="NDCNG",
    title="Normalised discounted cumulated normalised gain",
    cutoff="optional",
    formula="nDCG@k with gain = 2^(g / M) − 1, where M = the highest grade of the query; discount = 1 / log2(r + 1)",
    source=f"{_SCHEEL}, equation 5",
)
def ndcng(matched: Matched, k: int | None) -> Floats:
    """The nDCG of grades taken as shares of the query's highest grade.

    The same for grades of any scale that starts at 0. A query whose best grade is low on the common scale is not
    told from others. Undefined where the query has no positive grade.
    """
    return normalised(matched, _normalised_gains(matched), k)


def _normalised_gains(matched: Matched) -> Gains:
    share = share_of_best(matched, "linear")
    return lambda hits: np.expm1(LOG_2 * share(hits))


@partial(
    Kind,
    name="nDCGphi",
    title="nDCG with data-driven relevance",
    cutoff="optional",
    formula="nDCG@k with gain = 2^φ(g) − 1, discount = 1 / log2(r + 1); φ = the monotone cubic curve through (0, 0), "
    "(median, 0), (whisker, 1 − α) and (max, 1), where α = (max − whisker) / (max − min), all of the positive grades "
    "of the query, and whisker = their highest within the upper hinge + 1.5 · (upper hinge − lower hinge)",
    source=_MONIZ,
    aliases={"nDCGφ": {}, "nDCG^phi": {}},
)
def ndcg_phi(matched: Matched, k: int | None, *, whisker: Whisker = "observed") -> Floats:
    """The nDCG of items whose gain is how far their grade stands out among the grades of its query.

    Grades up to the median have gain 0. Points that fall together count as the higher. Undefined where the query
    has no two distinct positive grades.
    """
    phi = relevance_curves(matched, whisker)
    scores = normalised(matched, lambda hits: np.expm1(LOG_2 * phi(hits)), k)
    return np.where(phi.defined, scores, np.nan)


@partial(
    Kind,
    name="MeanNDCG",
    title="Mean nDCG over cut-offs",
    cutoff="optional",
    formula="MeanNDCG@n = (nDCG@1 + nDCG@2 + ... + nDCG@n) / n, with gain = 2^g − 1, discount = 1 / log2(r + 1)",
    source=f"{_SCHEEL}, table 2",
)
def mean_ndcg(matched: Matched, n: int | None) -> Floats:
    """The mean of nDCG at all cut-offs from 1 to n.

    Without a cut-off, n is the length of the list, and an empty list scores 0. Undefined where the query has no
    positive grade.
    """
    return _mean_over_cutoffs(matched, share_of_best(matched, "exp"), n)


@partial(
    Kind,
    name="MeanNDCNG",
    title="Mean NDCNG over cut-offs",
    cutoff="optional",
    formula="MeanNDCNG@n = (NDCNG@1 + NDCNG@2 + ... + NDCNG@n) / n",
    source=f"{_SCHEEL}, table 2",
)
def mean_ndcng(matched: Matched, n: int | None) -> Floats:
    """The mean of NDCNG at all cut-offs from 1 to n.

    Without a cut-off, n is the length of the list, and an empty list scores 0. Undefined where the query has no
    positive grade.
    """
    return _mean_over_cutoffs(matched, _normalised_gains(matched), n)


def _mean_over_cutoffs(matched: Matched, gains: Gains, n: int | None) -> Floats:
    """The mean of DCG@k / IDCG@k over k = 1..n.

    A hit adds its discounted gain to DCG@k at every k from its rank on, so to the whole it adds that gain times the sum
    of 1 / IDCG@k from k = rank to n: no cut-off has to be gone through.
    """
    ideal = matched.ideal.relevant()
    items = matched.total(ideal).astype(np.int64)
    end = np.cumsum(items)
    idcg = running(ideal.nth(), gains(ideal) * discounts(ideal.rank))
    inverses = running(ideal.nth(), 1 / idcg)

    def inverse_sum(query: Ints, k: Ints) -> Floats:
        """The sum of 1 / IDCG from 1 to `k`; past the last relevant item IDCG stays as it is."""
        inside = np.minimum(k, items[query])
        at = (end - items)[query] + inside - 1
        return np.where(k > 0, inverses[at] + (k - inside) / idcg[at], 0)

    places = matched.retrieved if n is None else np.full(matched.queries, n)
    hits = matched.placed(matched.found.relevant(), gains, n)
    counted = inverse_sum(hits.query, places[hits.query]) - inverse_sum(hits.query, hits.rank - 1)
    sums = matched.total(hits, hits.value * discounts(hits.rank) * counted)
    return ratio(sums, np.maximum(places, 1), items > 0)
