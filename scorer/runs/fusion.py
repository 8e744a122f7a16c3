"""Fusion by run scores: the Comb family and weighted sums. Each function takes runs with normalised scores."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.runs.aligned import AlignedRuns
from scorer.runs.methods import Exponent, Method, RunWeights

FOX_SHAW = "E. A. Fox and J. A. Shaw, Combination of Multiple Searches, TREC-2 (1993)."


def total(runs: AlignedRuns, value: Floats) -> Floats:
    """[candidate]: the sum of the values of its entries, added in the order of the runs."""
    return np.asarray(np.bincount(runs.candidate, weights=value, minlength=runs.item.size), dtype=np.float64)


def listed_by(runs: AlignedRuns) -> Ints:
    """[candidate]: the number of runs that list it."""
    return np.bincount(runs.candidate, minlength=runs.item.size)


@partial(
    Method,
    name="sum",
    title="CombSUM",
    uses="scores",
    formula="sum over runs r of s_r(d)",
    source=FOX_SHAW,
    aliases=("comb_sum", "combsum"),
)
def comb_sum(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores.

    A run that does not list the item adds nothing.
    """
    return total(runs, runs.score)


@partial(
    Method,
    name="mnz",
    title="CombMNZ",
    uses="scores",
    formula="n(d) * sum over runs r of s_r(d); n(d) is the number of runs that list d",
    source=FOX_SHAW,
    aliases=("comb_mnz", "combmnz"),
)
def comb_mnz(runs: AlignedRuns) -> Floats:
    """The sum of the item's scores, times the number of runs that list it.

    A run that lists the item counts also where its score is 0.
    """
    return total(runs, runs.score) * listed_by(runs)


@partial(
    Method,
    name="gmnz",
    title="CombGMNZ",
    uses="scores",
    formula="n(d)^gamma * sum over runs r of s_r(d); n(d) is the number of runs that list d",
    source="J. H. Lee, Analyses of Multiple Evidence Combination, SIGIR 1997.",
    aliases=("comb_gmnz", "combgmnz"),
)
def comb_gmnz(runs: AlignedRuns, *, gamma: Exponent) -> Floats:
    """The sum of the item's scores, times a power of the number of runs that list it.

    With gamma 0 it is CombSUM, with gamma 1 CombMNZ.
    """
    return np.asarray(total(runs, runs.score) * listed_by(runs).astype(float) ** gamma)


@partial(
    Method,
    name="anz",
    title="CombANZ",
    uses="scores",
    formula="(sum over runs r of s_r(d)) / n(d); n(d) is the number of runs that list d",
    source=FOX_SHAW,
    aliases=("comb_anz", "combanz"),
)
def comb_anz(runs: AlignedRuns) -> Floats:
    """The mean of the item's scores over the runs that list it.

    A run that does not list the item has no influence.
    """
    return total(runs, runs.score) / listed_by(runs)


@partial(
    Method,
    name="max",
    title="CombMAX",
    uses="scores",
    formula="max over the runs r that list d of s_r(d)",
    source=FOX_SHAW,
    aliases=("comb_max", "combmax"),
)
def comb_max(runs: AlignedRuns) -> Floats:
    """The highest of the item's scores.

    A run that does not list the item has no influence.
    """
    return np.maximum.reduceat(runs.score, runs.first_entries())


@partial(
    Method,
    name="min",
    title="CombMIN",
    uses="scores",
    formula="min over the runs r that list d of s_r(d)",
    source=FOX_SHAW,
    aliases=("comb_min", "combmin"),
)
def comb_min(runs: AlignedRuns) -> Floats:
    """The lowest of the item's scores.

    A run that does not list the item has no influence.
    """
    return np.minimum.reduceat(runs.score, runs.first_entries())


@partial(
    Method,
    name="med",
    title="CombMED",
    uses="scores",
    formula="median over the runs r that list d of s_r(d)",
    source=FOX_SHAW,
    aliases=("comb_med", "combmed"),
)
def comb_med(runs: AlignedRuns) -> Floats:
    """The median of the item's scores over the runs that list it.

    The median of an even number of scores is the mean of the two in the middle.
    """
    ascending = runs.score[np.lexsort((runs.score, runs.candidate))]
    listed, first = listed_by(runs), runs.first_entries()
    return np.asarray((ascending[first + (listed - 1) // 2] + ascending[first + listed // 2]) / 2)


@partial(
    Method,
    name="wsum",
    title="Weighted sum",
    uses="scores",
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


@partial(
    Method,
    name="wmnz",
    title="Weighted MNZ",
    uses="scores",
    formula="(sum of w_r over the runs r that list d) * sum over runs r of s_r(d)",
    source="S. Wu and F. Crestani, Data Fusion with Estimated Weights, CIKM 2002.",
    aliases=("weighted_mnz",),
)
def weighted_mnz(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The sum of the item's scores, times the sum of the weights of the runs that list it.

    With equal weights it orders items as CombMNZ does.
    """
    return total(runs, runs.score) * total(runs, weights[runs.run])


@partial(
    Method,
    name="mixed",
    title="Mixed",
    uses="scores",
    formula="sqrt(n(d)) * sum over runs r of w_r * s_r(d); n(d) is the number of runs that list d",
    source="S. Wu and F. Crestani, Data Fusion with Estimated Weights, CIKM 2002.",
)
def mixed(runs: AlignedRuns, *, weights: RunWeights) -> Floats:
    """The weighted sum of the item's scores, times the square root of the number of runs that list it.

    A run that lists the item counts also where its weight is 0.
    """
    return np.asarray(total(runs, weights[runs.run] * runs.score) * np.sqrt(listed_by(runs)))
