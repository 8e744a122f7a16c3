"""Fusion by sums over the runs: of run scores, as the Comb family, and of functions of the rank.

Functions of run scores take runs with normalised scores; for the others, run scores have no influence.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.runs.aligned import AlignedRuns
from scorer.runs.methods import Exponent, Offset, Persistence, RunWeights, Smoothing, method

FOX_SHAW = "E. A. Fox and J. A. Shaw, Combination of Multiple Searches, TREC-2 (1993)."

MOURAO = (
    "A. Mourão, F. Martins and J. Magalhães, Inverse Square Rank Fusion for Multimodal Search, CBMI 2014; and "
    "Multimodal Medical Information Retrieval with Unsupervised Rank Fusion, Computerized Medical Imaging and "
    "Graphics 39 (2015)."
)

by_scores = partial(method, uses="scores", source=FOX_SHAW)
by_ranks = partial(method, uses="ranks")


def total(runs: AlignedRuns, value: Floats) -> Floats:
    """[candidate]: the sum of the values of its entries, added in the order of the runs."""
    return np.asarray(np.bincount(runs.candidate, weights=value, minlength=runs.item.size), dtype=np.float64)


def listed_by(runs: AlignedRuns) -> Ints:
    """[candidate]: the number of runs that list it."""
    return np.bincount(runs.candidate, minlength=runs.item.size)


@by_scores(name="sum", title="CombSUM", formula="sum over runs r of s_r(d)", aliases=("comb_sum", "combsum"))
def comb_sum(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores.

    A run that does not list the item adds nothing.
    """
    return total(runs, runs.score)


@by_scores(
    name="mnz",
    title="CombMNZ",
    formula="n(d) * sum over runs r of s_r(d); n(d) is the number of runs that list d",
    aliases=("comb_mnz", "combmnz"),
)
def comb_mnz(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores, times the number of runs that list it.

    A run that lists the item counts also where its score is 0.
    """
    return total(runs, runs.score) * listed_by(runs)


@by_scores(
    name="gmnz",
    title="CombGMNZ",
    formula="n(d)^gamma * sum over runs r of s_r(d); n(d) is the number of runs that list d",
    source="J. H. Lee, Analyses of Multiple Evidence Combination, SIGIR 1997.",
    aliases=("comb_gmnz", "combgmnz"),
)
def comb_gmnz(runs: AlignedRuns, *, gamma: Exponent) -> Floats:
    """The sum of the item's scores, times a power of the number of runs that list it.

    With gamma 0 it is CombSUM, with gamma 1 CombMNZ.
    """
    return np.asarray(total(runs, runs.score) * listed_by(runs).astype(float) ** gamma)


@by_scores(
    name="anz",
    title="CombANZ",
    formula="(sum over runs r of s_r(d)) / n(d); n(d) is the number of runs that list d",
    aliases=("comb_anz", "combanz"),
)
def comb_anz(runs: AlignedRuns) -> Floats:
    """The mean of the item's scores over the runs that list it.

    A run that does not list the item has no influence.
    """
    return total(runs, runs.score) / listed_by(runs)


@by_scores(
    name="max", title="CombMAX", formula="max over the runs r that list d of s_r(d)", aliases=("comb_max", "combmax")
)
def comb_max(runs: AlignedRuns) -> Floats:
    """The highest of the item's scores.

    A run that does not list the item has no influence.
    """
    return np.maximum.reduceat(runs.score, runs.first_entries())


@by_scores(
    name="min", title="CombMIN", formula="min over the runs r that list d of s_r(d)", aliases=("comb_min", "combmin")
)
def comb_min(runs: AlignedRuns) -> Floats:
    """The lowest of the item's scores.

    A run that does not list the item has no influence.
    """
    return np.minimum.reduceat(runs.score, runs.first_entries())


@by_scores(
    name="med", title="CombMED", formula="median over the runs r that list d of s_r(d)", aliases=("comb_med", "combmed")
)
def comb_med(runs: AlignedRuns) -> Floats:
    """The median of the item's scores over the runs that list it.

    The median of an even number of scores is the mean of the two in the middle.
    """
    ascending = runs.score[np.lexsort((runs.score, runs.candidate))]
    listed, first = listed_by(runs), runs.first_entries()
    return np.asarray((ascending[first + (listed - 1) // 2] + ascending[first + listed // 2]) / 2)


@by_scores(
    name="wsum",
    title="Weighted sum",
    formula="sum over runs r of w_r * s_r(d)",
    source="E. A. Fox and J. A. Shaw, Combination of Multiple Searches, TREC-2 (1993), with weights, as the linear "
    "combination of C. C. Vogt and G. W. Cottrell, Fusion via a Linear Combination of Scores, Information Retrieval 1 "
    "(1999).",
    aliases=("weighted_sum", "linear"),
)
def weighted_sum(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The sum of the item's scores, each times the weight of its run.

    A run that does not list the item adds nothing.
    """
    return total(runs, weights[runs.run] * runs.score)


@by_scores(
    name="wmnz",
    title="Weighted MNZ",
    formula="(sum of w_r over the runs r that list d) * sum over runs r of s_r(d)",
    source="S. Wu and F. Crestani, Data Fusion with Estimated Weights, CIKM 2002.",
    aliases=("weighted_mnz",),
)
def weighted_mnz(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The sum of the item's scores, times the sum of the weights of the runs that list it.

    With equal weights it orders items as CombMNZ does.
    """
    return total(runs, runs.score) * total(runs, weights[runs.run])


@by_scores(
    name="mixed",
    title="Mixed",
    formula="sqrt(n(d)) * sum over runs r of w_r * s_r(d); n(d) is the number of runs that list d",
    source="S. Wu and F. Crestani, Data Fusion with Estimated Weights, CIKM 2002.",
)
def mixed(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The weighted sum of the item's scores, times the square root of the number of runs that list it.

    A run that lists the item counts also where its weight is 0.
    """
    return np.asarray(total(runs, weights[runs.run] * runs.score) * np.sqrt(listed_by(runs)))


@by_ranks(
    name="rrf",
    title="Reciprocal rank fusion",
    formula="sum over the runs r that list d of 1 / (k + rank_r(d))",
    source="G. V. Cormack, C. L. A. Clarke and S. Büttcher, Reciprocal Rank Fusion Outperforms Condorcet and "
    "Individual Rank Learning Methods, SIGIR 2009.",
)
def reciprocal_rank(runs: AlignedRuns, *, k: Offset = 60.0) -> Floats:
    """The sum of the reciprocals of the item's ranks, each with an offset.

    A run that does not list the item adds nothing. A larger offset makes low ranks count more.
    """
    return total(runs, 1 / (k + runs.rank))


def _inverse_squares(runs: AlignedRuns) -> Floats:
    return total(runs, 1 / np.square(runs.rank, dtype=np.float64))


@by_ranks(
    name="isr",
    title="Inverse square rank",
    formula="n(d) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
)
def inverse_square_rank(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the number of runs that list it.

    A run that does not list the item adds nothing.
    """
    return _inverse_squares(runs) * listed_by(runs)


@by_ranks(
    name="log_isr",
    title="Logarithmic inverse square rank",
    formula="ln(n(d)) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
    aliases=("logisr",),
)
def logarithmic_isr(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the logarithm of the number of runs that list it.

    An item that only one run lists scores 0. All these items tie.
    """
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs)))


@by_ranks(
    name="logn_isr",
    title="Smoothed logarithmic inverse square rank",
    formula="ln(n(d) + sigma) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
    aliases=("lognisr",),
)
def smoothed_logarithmic_isr(runs: AlignedRuns, *, sigma: Smoothing = 0.01) -> Floats:
    """As log_isr, with a number added to the number of runs, so that items of one run do not all tie.

    With sigma 0 it is log_isr.
    """
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs) + sigma))


@by_ranks(
    name="rbc",
    title="Rank-biased centroid",
    formula="sum over the runs r that list d of (1 - phi) * phi^(rank_r(d) - 1)",
    source="P. Bailey, A. Moffat, F. Scholer and P. Thomas, Retrieval Consistency in the Presence of Query Variations, "
    "SIGIR 2017.",
)
def rank_biased_centroid(runs: AlignedRuns, *, phi: Persistence) -> Floats:
    """The sum of the weights that rank-biased precision gives to the item's ranks.

    A run that does not list the item adds nothing. With phi 1 every score is 0.
    """
    return total(runs, np.asarray((1 - phi) * phi ** (runs.rank - 1.0), dtype=np.float64))
