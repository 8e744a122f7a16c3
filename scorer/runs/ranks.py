"""Fusion by ranks: sums of a function of the rank. Run scores and their normalisation have no influence."""

from __future__ import annotations

from functools import partial

import numpy as np

from scorer.measures.arrays import Floats
from scorer.runs.aligned import AlignedRuns
from scorer.runs.fusion import listed_by, total
from scorer.runs.methods import Method, Offset, Persistence, Smoothing

MOURAO = (
    "A. Mourão, F. Martins and J. Magalhães, Inverse Square Rank Fusion for Multimodal Search, CBMI 2014; and "
    "Multimodal Medical Information Retrieval with Unsupervised Rank Fusion, Computerized Medical Imaging and "
    "Graphics 39 (2015)."
)


@partial(
    Method,
    name="rrf",
    title="Reciprocal rank fusion",
    uses="ranks",
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


@partial(
    Method,
    name="isr",
    title="Inverse square rank",
    uses="ranks",
    formula="n(d) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
)
def inverse_square_rank(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the number of runs that list it.

    A run that does not list the item adds nothing.
    """
    return _inverse_squares(runs) * listed_by(runs)


@partial(
    Method,
    name="log_isr",
    title="Logarithmic inverse square rank",
    uses="ranks",
    formula="ln(n(d)) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
    aliases=("logisr",),
)
def logarithmic_isr(runs: AlignedRuns) -> Floats:
    """The sum of the inverse squares of the item's ranks, times the logarithm of the number of runs that list it.

    An item that only one run lists scores 0. All these items tie.
    """
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs)))


@partial(
    Method,
    name="logn_isr",
    title="Smoothed logarithmic inverse square rank",
    uses="ranks",
    formula="ln(n(d) + sigma) * sum over the runs r that list d of 1 / rank_r(d)^2; n(d) is the number of these runs",
    source=MOURAO,
    aliases=("lognisr",),
)
def smoothed_logarithmic_isr(runs: AlignedRuns, *, sigma: Smoothing = 0.01) -> Floats:
    """As log_isr, with a number added to the number of runs, so that items of one run do not all tie.

    With sigma 0 it is log_isr.
    """
    return np.asarray(_inverse_squares(runs) * np.log(listed_by(runs) + sigma))


@partial(
    Method,
    name="rbc",
    title="Rank-biased centroid",
    uses="ranks",
    formula="sum over the runs r that list d of (1 - phi) * phi^(rank_r(d) - 1)",
    source="P. Bailey, A. Moffat, F. Scholer and P. Thomas, Retrieval Consistency in the Presence of Query Variations, "
    "SIGIR 2017.",
)
def rank_biased_centroid(runs: AlignedRuns, *, phi: Persistence) -> Floats:
    """The sum of the weights that rank-biased precision gives to the item's ranks.

    A run that does not list the item adds nothing. With phi 1 every score is 0.
    """
    return total(runs, np.asarray((1 - phi) * phi ** (runs.rank - 1.0), dtype=np.float64))
