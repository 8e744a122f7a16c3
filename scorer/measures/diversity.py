"""Measures of diversity and novelty: how well a list covers the subtopics of its query."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.measures.gain import chunks, discounts
from scorer.measures.kinds import kind
from scorer.measures.matched import Matched, RankValues, Threshold
from scorer.measures.parameters import About, Relevant
from scorer.measures.subtopics import count_so_far, coverage, entries, ideal_novelty, novelty

Redundancy = Annotated[float, About("what part of its worth a subtopic loses with each item that covers it", 0, 1)]
Patience = Annotated[float, About("the probability that a user continues to the next rank", 0, 1)]

Weights = Callable[[Ints], Floats]
"""Computes the weight of each rank."""

_NOVELTY = (
    "where novelty(r) = sum of (1 − α)^c over the subtopics of the item at rank r, c = number of items before rank r "
    "with the subtopic"
)
_LATEX_NOVELTY = (
    r"where $\mathrm{novelty}(r)$ is the sum of $(1 - \alpha)^{c}$ over the subtopics of the item at rank $r$, $c$ is "
    r"the number of items before rank $r$ with the subtopic, and $\alpha$ is the parameter alpha"
)
_CLARKE = "Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008"
_COMPARED = (
    "Clarke, Craswell, Soboroff and Ashkan, A Comparative Analysis of Cascade Measures for Novelty and Diversity, "
    "WSDM 2011"
)
_AGRAWAL = "Agrawal, Gollapudi, Halverson and Ieong, Diversifying Search Results, WSDM 2009"
_CHAPELLE = "Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009"
_NRBP = "Clarke, Kolla and Vechtomova, An Effectiveness Measure for Ambiguous and Underspecified Queries, ICTIR 2009"

_diverse = partial(kind, closed_form=False, subtopics=True)


@_diverse(
    name="alpha-nDCG",
    title="Normalised discounted cumulated gain of novel items",
    formula=f"alpha-nDCG@k = (sum over r ≤ k of novelty(r) / log2(r + 1)) / (the same sum for the ideal list), "
    f"{_NOVELTY}",
    latex=r"$$\text{alpha-nDCG@}k = \frac{\sum_{r=1}^{k} \frac{\mathrm{novelty}(r)}{\log_2(r + 1)}}{I}$$ "
    rf"{_LATEX_NOVELTY}. $I$ is the numerator for the ideal list.",
    source=_CLARKE,
    aliases={"α-nDCG": {}},
    bounded=False,
)
def alpha_ndcg(matched: Matched, k: int | None, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The discounted novelty of the items of the list, divided by that of the ideal list.

    At each rank, the ideal list has the item with the highest novelty, and of several such items the one with the
    highest id, as in ndeval. This is not always the best choice for the ranks below, so a list may score slightly above
    1. Undefined where the query has no relevant item.
    """
    return _against_ideal(matched, k, alpha, rel, discounts)


@_diverse(
    name="alpha-DCG",
    title="Discounted cumulated gain of novel items",
    formula=f"alpha-DCG@k = (sum over r ≤ k of novelty(r) / log2(r + 1)) / (sum over r ≤ k of S · (1 − α)^(r − 1) / "
    f"log2(r + 1)), {_NOVELTY}; S = number of subtopics of the query",
    latex=r"$$\text{alpha-DCG@}k = \frac{\sum_{r=1}^{k} \frac{\mathrm{novelty}(r)}{\log_2(r + 1)}}{\sum_{r=1}^{k} "
    rf"\frac{{S \cdot (1 - \alpha)^{{r-1}}}}{{\log_2(r + 1)}}}}$$ {_LATEX_NOVELTY}. $S$ is the number of subtopics.",
    source=f"{_CLARKE}; {_COMPARED}",
    aliases={"α-DCG": {}},
)
def alpha_dcg(matched: Matched, k: int, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The discounted novelty of the items, divided by that of items that have all subtopics of the query.

    There may be no such items, so the best list may score below 1. Undefined where the query has no relevant item.
    """
    return _against_all(matched, k, alpha, rel, discounts)


@_diverse(
    name="ERR-IA",
    title="Intent-aware expected reciprocal rank",
    formula=f"ERR-IA@k = (sum over r ≤ k of novelty(r) / r) / (sum over r ≤ k of S · (1 − α)^(r − 1) / r), {_NOVELTY}; "
    "S = number of subtopics of the query",
    latex=r"$$\text{ERR-IA@}k = \frac{\sum_{r=1}^{k} \frac{\mathrm{novelty}(r)}{r}}{\sum_{r=1}^{k} "
    rf"\frac{{S \cdot (1 - \alpha)^{{r-1}}}}{{r}}}}$$ {_LATEX_NOVELTY}. $S$ is the number of subtopics.",
    source=f"{_CHAPELLE}; {_COMPARED}",
)
def err_ia(matched: Matched, k: int, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item divided by its rank, as a share of that of items that have all subtopics.

    An item satisfies a user who wants one of its subtopics with the probability alpha; grades decide only which items
    are relevant. There may be no items with all subtopics, so the best list may score below 1. Undefined where the
    query has no relevant item.
    """
    return _against_all(matched, k, alpha, rel, _reciprocal)


@_diverse(
    name="nERR-IA",
    title="Normalised intent-aware expected reciprocal rank",
    formula=f"nERR-IA@k = (sum over r ≤ k of novelty(r) / r) / (the same sum for the ideal list), {_NOVELTY}",
    latex=r"$$\text{nERR-IA@}k = \frac{\sum_{r=1}^{k} \frac{\mathrm{novelty}(r)}{r}}{I}$$ "
    rf"{_LATEX_NOVELTY}. $I$ is the numerator for the ideal list.",
    source=f"{_CHAPELLE}; {_COMPARED}",
    bounded=False,
)
def nerr_ia(matched: Matched, k: int | None, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item divided by its rank, as a share of that of the ideal list.

    At each rank, the ideal list has the item with the highest novelty, and of several such items the one with the
    highest id, as in ndeval. This is not always the best choice for the ranks below, so a list may score slightly above
    1. Undefined where the query has no relevant item.
    """
    return _against_ideal(matched, k, alpha, rel, _reciprocal)


@_diverse(
    name="NRBP",
    title="Novelty- and rank-biased precision",
    formula=f"NRBP = (1 − (1 − α) · β) / S · sum over r of novelty(r) · β^(r − 1), {_NOVELTY}; S = number of "
    "subtopics of the query",
    latex=r"$$\mathrm{NRBP} = w \sum_{r} \mathrm{novelty}(r) \cdot \beta^{r-1}$$ "
    rf"{_LATEX_NOVELTY}. The factor $w$ is $\frac{{1 - (1 - \alpha) \cdot \beta}}{{S}}$, where $\beta$ is the "
    r"parameter beta and $S$ is the number of subtopics.",
    source=_NRBP,
)
def nrbp(matched: Matched, *, alpha: Redundancy = 0.5, beta: Patience = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item, weighted by the probability that a user looks at its rank.

    The score 1 is that of an endless list whose items have all subtopics. Undefined where the query has no relevant
    item.
    """
    sums = _weighted(matched, novelty(matched, None, alpha, rel), _persistence(beta))
    covered = coverage(matched, rel).covered
    return ratio(sums * (1 - (1 - alpha) * beta), np.maximum(covered, 1), covered > 0)


@_diverse(
    name="nNRBP",
    title="Normalised novelty- and rank-biased precision",
    formula=f"nNRBP = (sum over r of novelty(r) · β^(r − 1)) / (the same sum for the ideal list), {_NOVELTY}",
    latex=r"$$\mathrm{nNRBP} = \frac{\sum_{r} \mathrm{novelty}(r) \cdot \beta^{r-1}}{I}$$ "
    rf"{_LATEX_NOVELTY}. $\beta$ is the parameter beta, and $I$ is the numerator for the ideal list.",
    source=f"{_NRBP}; {_COMPARED}",
    bounded=False,
)
def nnrbp(matched: Matched, *, alpha: Redundancy = 0.5, beta: Patience = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item, weighted by the probability of a look at its rank, against that of the ideal list.

    At each rank, the ideal list has the item with the highest novelty, and of several such items the one with the
    highest id, as in ndeval. This is not always the best choice for the ranks below, so a list may score slightly above
    1. Undefined where the query has no relevant item.
    """
    return _against_ideal(matched, None, alpha, rel, _persistence(beta))


@kind(
    name="P-IA",
    title="Intent-aware precision",
    formula="P-IA@k = mean over the subtopics of (number of items relevant to the subtopic in the first k) / k",
    latex=r"$$\text{P-IA@}k = \frac{1}{S} \sum_{s=1}^{S} \frac{h_s}{k}$$ where $S$ is the number of subtopics, and "
    r"$h_s$ is the number of items in the first $k$ that are relevant to subtopic $s$.",
    source=f"{_AGRAWAL}; {_COMPARED}",
    subtopics=True,
)
def precision_ia(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """The mean over the subtopics of the precision at k.

    Divided by k also for a shorter list. Undefined where the query has no relevant item.
    """
    hits, _, _ = entries(matched, matched.found, rel)
    covered = coverage(matched, rel).covered
    return ratio(matched.count(hits, k), np.maximum(covered, 1) * k, covered > 0)


@_diverse(
    name="AP-IA",
    title="Intent-aware average precision",
    formula="AP-IA = mean over the subtopics of AP, computed with the items relevant to the subtopic",
    latex=r"$$\text{AP-IA} = \frac{1}{S} \sum_{s=1}^{S} \mathrm{AP}_s$$ where $S$ is the number of subtopics, and "
    r"$\mathrm{AP}_s$ is the average precision with the items that are relevant to subtopic $s$.",
    source=f"{_AGRAWAL}; {_COMPARED}",
    aliases={"MAP-IA": {}},
    mean_name="MAP-IA",
)
def average_precision_ia(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The mean over the subtopics of the average precision.

    Undefined where the query has no relevant item.
    """
    hits, subtopic, _ = entries(matched, matched.found, rel)
    judged = coverage(matched, rel)
    shares = count_so_far(subtopic) / hits.rank / judged.items[subtopic]
    return ratio(matched.total(hits, shares), np.maximum(judged.covered, 1), judged.covered > 0)


@_diverse(
    name="StRecall",
    title="Subtopic recall",
    formula="StRecall@k = (number of subtopics with a relevant item in the first k) / (number of subtopics)",
    latex=r"$$\mathrm{StRecall@}k = \frac{c}{S}$$ where $c$ is the number of subtopics with a relevant item in the "
    r"first $k$, and $S$ is the number of subtopics.",
    source="Zhai, Cohen and Lafferty, Beyond Independent Relevance, SIGIR 2003",
    aliases={"strec": {}},
)
def subtopic_recall(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The share of the subtopics that the list covers.

    Undefined where the query has no relevant item.
    """
    hits, subtopic, _ = entries(matched, matched.found.top(k), rel)
    covered = coverage(matched, rel).covered
    return ratio(matched.total(hits.where(count_so_far(subtopic) == 1)), np.maximum(covered, 1), covered > 0)


def _against_ideal(matched: Matched, k: int | None, alpha: float, rel: Threshold, weights: Weights) -> Floats:
    """[query]: the weighted gains of the list up to rank `k`, divided by those of the ideal list."""
    best = _weighted(matched, ideal_novelty(matched, k, alpha, rel), weights)
    return ratio(_weighted(matched, novelty(matched, k, alpha, rel), weights), np.where(best > 0, best, 1), best > 0)


def _against_all(matched: Matched, k: int, alpha: float, rel: Threshold, weights: Weights) -> Floats:
    """[query]: the weighted gains of the list up to rank `k`, divided by those of items that have all subtopics."""
    covered = coverage(matched, rel).covered
    best = np.maximum(covered, 1) * _shrinking(k, alpha, weights)
    return ratio(_weighted(matched, novelty(matched, k, alpha, rel), weights), best, covered > 0)


def _shrinking(k: int, alpha: float, weights: Weights) -> float:
    """Return the sum of the weights of the ranks up to `k`, each times (1 - alpha)^(rank - 1)."""
    total = 0.0
    for ranks in chunks(k):
        terms = (1 - alpha) ** (ranks - 1.0) * weights(ranks)
        total += float(terms.sum())
        if not terms[-1]:
            break
    return total


def _weighted(matched: Matched, gains: RankValues, weights: Weights) -> Floats:
    """[query]: the sum of the gains, each times the weight of its rank."""
    return matched.total(gains, gains.value * weights(gains.rank))


def _reciprocal(rank: Ints) -> Floats:
    return 1 / rank


def _persistence(beta: float) -> Weights:
    return lambda rank: np.asarray(beta ** (rank - 1.0), dtype=np.float64)
