"""Measures that do not depend on the scale of the grades, and means of nDCG over cut-offs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scorer.measures.arrays import Floats, Ints, cumulative, ratio
from scorer.measures.gain import LOG_2, Gains, best_grades, discounts, normalised, share_of_best
from scorer.measures.kinds import kind
from scorer.measures.matched import Matched
from scorer.measures.phi import Whisker, relevance_curves
from scorer.measures.position import precision_sum

_SCHEEL = "Scheel, Lommatzsch and Albayrak, Performance Measures for Multi-Graded Relevance, SPIM 2011"
_MONIZ = "Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, arXiv 1612.06136, 2016"


@kind(
    name="muAP",
    title="Multi-graded average precision",
    formula="muAP@k = (sum over t in L of AP(rel=t)@k · d(t)) / (sum over t in L of d(t)), where L = the distinct "
    "positive grades of the query, d(t) = t minus the next lower one of them, or t for the lowest",
    latex=r"$$\mathrm{muAP@}k = \frac{\sum_{t \in T} d(t) \cdot \mathrm{AP@}k(t)}{\sum_{t \in T} d(t)}$$ where $T$ "
    "has the distinct positive grades of the query, $d(t)$ is $t$ minus the next lower one of them, or $t$ for the "
    r"lowest, and $\mathrm{AP@}k(t)$ is the $\mathrm{AP@}k$ where items with at least grade $t$ are relevant.",
    source=f"{_SCHEEL}, equation 4",
    aliases={"muMAP": {}, "μAP": {}, "μMAP": {}},
    mean_name="muMAP",
)
def multi_graded_average_precision(matched: Matched, k: int | None) -> Floats:
    """The mean of average precision with each grade as the threshold, weighted by the step from the next lower grade.

    L has the grades of the query, not those of all queries, so a perfect list scores 1. For a query with only one
    positive grade it equals AP. Undefined where the query has no positive grade.
    """
    found = matched.found.relevant()
    scores = np.zeros(matched.queries)
    for level in matched.ideal.cached(("levels", matched.queries), lambda: list(_levels(matched))):
        threshold = np.full(matched.queries, np.inf)
        threshold[level.query] = level.grade
        hits = found.where(found.grade >= threshold[found.query])
        scores[level.query] += precision_sum(matched, hits, k)[level.query] / level.items * level.step
    best = best_grades(matched)
    return ratio(scores, best, best > 0)


class _Level(NamedTuple):
    """The nth highest distinct positive grade of each query that has so many."""

    query: Ints
    grade: Floats
    items: Floats
    """The number of items with at least this grade."""
    step: Floats
    """The distance from the next lower grade."""


def _levels(matched: Matched) -> Iterator[_Level]:
    """The highest grade of every query, then the second, and so on."""
    positive = matched.ideal.relevant()
    repeated = (np.diff(positive.query, prepend=-1) == 0) & (np.diff(positive.grade, prepend=0) == 0)
    first = positive.where(~repeated)
    lowest = np.diff(first.query, append=-1) != 0
    lower = np.where(lowest, 0, np.roll(first.grade, -1))
    items = np.where(lowest, matched.relevant_items()[first.query], np.roll(first.rank, -1) - 1)
    position = first.position_in_query()
    for level in range(1, position.max(initial=0) + 1):
        at = np.flatnonzero(position == level)
        yield _Level(first.query[at], first.grade[at], items[at], first.grade[at] - lower[at])


@kind(
    name="NDCNG",
    title="Normalised discounted cumulated normalised gain",
    formula="NDCNG@k = nDCG@k with gain = 2^(g / M) − 1, where M = the highest grade of the query; "
    "discount = 1 / log2(r + 1)",
    latex=r"$$\mathrm{NDCNG@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}$$ where $\mathrm{gain}(g) = 2^{g / M} - 1$, "
    r"$M$ is the highest grade of the query, and $\mathrm{discount}(r) = \frac{1}{\log_2(r + 1)}$.",
    source=f"{_SCHEEL}, equation 5",
)
def ndcng(matched: Matched, k: int | None) -> Floats:
    """The nDCG of grades divided by the query's highest grade.

    Multiplying all grades by a factor does not change the score. A query whose best grade is low on a common scale
    counts as much as any other. Undefined where the query has no positive grade.
    """
    return normalised(matched, _normalised_gains(matched), k)


def _normalised_gains(matched: Matched) -> Gains:
    share = share_of_best(matched, "linear")
    return lambda hits: np.expm1(LOG_2 * share(hits))


@kind(
    name="nDCGphi",
    title="nDCG with data-driven relevance",
    formula="nDCGphi@k = nDCG@k with gain = 2^φ(g) − 1, discount = 1 / log2(r + 1); φ = the monotone cubic curve "
    "through (0, 0), (median, 0), (whisker, 1 − α) and (max, 1), where α = (max − whisker) / (max − min), all of the "
    "positive grades of the query, and whisker = their highest within the upper hinge + 1.5 · (upper hinge − lower "
    "hinge)",
    latex=r"$$\mathrm{nDCGphi@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}$$ where $\mathrm{gain}(g) "
    r"= 2^{\varphi(g)} - 1$ and $\mathrm{discount}(r) = \frac{1}{\log_2(r + 1)}$. $\varphi$ is the "
    r"monotone cubic curve through $(0, 0)$, $(\mathrm{median}, 0)$, $(\mathrm{whisker}, 1 - \alpha)$ and "
    r"$(\mathrm{max}, 1)$, where $\alpha = \frac{\mathrm{max} - \mathrm{whisker}}{\mathrm{max} - "
    r"\mathrm{min}}$, all of the positive grades of the query. The whisker is the highest of them that "
    r"exceeds the upper hinge by at most 1.5 times the distance between the hinges.",
    source=_MONIZ,
    aliases={"nDCGφ": {}, "nDCG^phi": {}},
)
def ndcg_phi(matched: Matched, k: int | None, *, whisker: Whisker = "observed") -> Floats:
    """The nDCG with a gain that says how far a grade exceeds the usual grades of its query.

    Grades up to the median have gain 0. Where two points of the curve coincide, the higher one is used. Undefined where
    the query has no two distinct positive grades.
    """
    phi = relevance_curves(matched, whisker)
    scores = normalised(matched, lambda hits: np.expm1(LOG_2 * phi(hits)), k)
    return np.where(phi.defined, scores, np.nan)


@kind(
    name="MeanNDCG",
    title="Mean nDCG over cut-offs",
    formula="MeanNDCG@n = (nDCG@1 + nDCG@2 + ... + nDCG@n) / n, with gain = 2^g − 1, discount = 1 / log2(r + 1)",
    latex=r"$$\mathrm{MeanNDCG@}n = \frac{1}{n} \sum_{k=1}^{n} \mathrm{nDCG@}k$$ where $n$ is the cut-off, "
    r"$\mathrm{nDCG@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}$, $\mathrm{gain}(g) = 2^g - 1$, and "
    r"$\mathrm{discount}(r) = \frac{1}{\log_2(r + 1)}$.",
    source=f"{_SCHEEL}, table 2",
)
def mean_ndcg(matched: Matched, n: int | None) -> Floats:
    """The mean of nDCG at all cut-offs from 1 to n.

    Without a cut-off, n is the length of the list, and an empty list scores 0. Undefined where the query has no
    positive grade.
    """
    return _mean_over_cutoffs(matched, share_of_best(matched, "exp"), n)


@kind(
    name="MeanNDCNG",
    title="Mean NDCNG over cut-offs",
    formula="MeanNDCNG@n = (NDCNG@1 + NDCNG@2 + ... + NDCNG@n) / n",
    latex=r"$$\mathrm{MeanNDCNG@}n = \frac{1}{n} \sum_{k=1}^{n} \mathrm{NDCNG@}k$$ where $n$ is the cut-off, "
    r"$\mathrm{NDCNG@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}$, $\mathrm{gain}(g) = 2^{g / M} - 1$, $M$ is the "
    r"highest grade of the query, and $\mathrm{discount}(r) = \frac{1}{\log_2(r + 1)}$.",
    source=f"{_SCHEEL}, table 2",
)
def mean_ndcng(matched: Matched, n: int | None) -> Floats:
    """The mean of NDCNG at all cut-offs from 1 to n.

    Without a cut-off, n is the length of the list, and an empty list scores 0. Undefined where the query has no
    positive grade.
    """
    return _mean_over_cutoffs(matched, _normalised_gains(matched), n)


def _mean_over_cutoffs(matched: Matched, gains: Gains, n: int | None) -> Floats:
    """[query]: the mean of DCG@k / IDCG@k over k = 1..n.

    An item adds its discounted gain to DCG@k at every k from its rank on. Its share of the sum is that gain times the
    sum of 1 / IDCG@k from k = rank to n, so no loop over the cut-offs is needed.
    """
    ideal = matched.ideal.relevant()
    items = matched.total(ideal).astype(np.int64)
    end = np.cumsum(items)
    idcg = cumulative(ideal.position_in_query(), gains(ideal) * discounts(ideal.rank))
    inverses = cumulative(ideal.position_in_query(), 1 / idcg)

    def inverse_sum(query: Ints, k: Ints) -> Floats:
        """The sum of 1 / IDCG from 1 to `k`; IDCG is constant after the last relevant item."""
        inside = np.minimum(k, items[query])
        at = (end - items)[query] + inside - 1
        return np.where(k > 0, inverses[at] + (k - inside) / idcg[at], 0)

    depth = matched.retrieved if n is None else np.full(matched.queries, n)
    hits = matched.values_by_rank(matched.found.relevant(), gains, n)
    inverse = inverse_sum(hits.query, depth[hits.query]) - inverse_sum(hits.query, hits.rank - 1)
    sums = matched.total(hits, hits.value * discounts(hits.rank) * inverse)
    return ratio(sums, np.maximum(depth, 1), items > 0)
