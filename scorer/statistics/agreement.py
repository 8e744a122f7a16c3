"""How far rankings agree."""

from __future__ import annotations

import math

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio

_AT_ONCE = 512
"""Rankings in a block, which remains in the cache of a processor."""


def tau_b(ranks: Ints, other: Ints) -> float:
    """Return Kendall's tau-b of two rankings, [submission]; NaN if one of them has only ties.

    Source: Kendall, The Treatment of Ties in Ranking Problems, 1945.
    """
    return float(resampled_taus(ranks[None], other)[0])


def resampled_taus(resampled: Ints, ranks: Ints) -> Floats:
    """Return Kendall's tau-b between each ranking and one that all are compared with.

    Parameters
    ----------
    resampled
        [resample, submission]: ranks, for example by the means over each resample of the queries.
    ranks
        [submission]: for example over all queries.

    Returns
    -------
    [resample]; NaN where the ranking, or the one that it is compared with, has only ties.
    """
    count = len(ranks)
    signs_of_ranks = np.sign(ranks[:, None] - ranks).astype(np.int32)
    untied = float(np.abs(np.triu(signs_of_ranks)).sum())
    # [resample]: concordant minus discordant pairs, and the pairs without a tie in the resample.
    concordant, untied_in_resample = np.zeros((2, len(resampled)))
    for start in range(0, len(resampled), _AT_ONCE):
        block = np.ascontiguousarray(resampled[start : start + _AT_ONCE].T, dtype=np.int32)
        for i in range(count - 1):
            signs = np.sign(block[i] - block[i + 1 :])
            concordant[start : start + _AT_ONCE] += signs_of_ranks[i, i + 1 :] @ signs
            untied_in_resample[start : start + _AT_ONCE] += np.abs(signs).sum(axis=0)
    pairs = np.sqrt(untied * untied_in_resample)
    return ratio(concordant, pairs, pairs > 0)


def footrule(ranks: Ints, other: Ints) -> float:
    """Return Spearman's footrule of two rankings, [submission]: the sum of the absolute differences of the ranks.

    Source: Spearman, Footrule for Measuring Correlation, 1906.
    """
    return float(np.abs(ranks - other).sum())


def consensus(ranks_by_task: Ints) -> Floats:
    """Return the mean over tasks of each submission's rank, where equal ranks count as their mean; low is better.

    They minimise the sum of the squared differences from the ranks of all tasks. Source: Hornik and Meyer, Deriving
    Consensus Rankings from Benchmarking Experiments, 2007.

    Parameters
    ----------
    ranks_by_task
        [task, submission]: equal ones are ties.
    """
    # scipy.stats.rankdata does the same, but loading it takes longer than the statistics of a board.
    below = (ranks_by_task[:, None, :] < ranks_by_task[:, :, None]).sum(axis=-1)
    equal = (ranks_by_task[:, None, :] == ranks_by_task[:, :, None]).sum(axis=-1)
    ranks = below + (equal + 1) / 2
    return np.array([math.fsum(row) / max(row.size, 1) for row in ranks.T], dtype=np.float64)
