"""The randomised Tukey HSD test of all pairs of submissions.

Source: Carterette, Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval Experiments, 2012.
"""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats
from scorer.options import SEED
from scorer.statistics.exact_sums import ROUNDING
from scorer.statistics.paired_tests import in_threads

PERMUTATIONS = 10_000
"""The number of random permutations."""

_CHUNK = 1 << 20
"""The number of permuted scores that are in memory at a time, in each thread."""


def randomised_tukey(scores: Floats, permutations: int = PERMUTATIONS, seed: int = SEED) -> Floats:
    """Return two-sided p-values of all pairs, [i, j], adjusted for all pairs.

    Under the null hypothesis that all submissions are equal, the scores of a query could belong to the submissions in
    any order. A difference of means is compared with the range of all means after such permutations; the observed order
    counts as one more. Sums are over the same queries for all submissions: submissions without any score are left out,
    and then queries that lack a score. NaN on the diagonal, and for pairs with a submission without any score.
    """
    tested = ~np.isnan(scores).all(axis=1)
    complete = scores[tested]
    complete = complete[:, ~np.isnan(complete).any(axis=0)]
    found = np.full((len(scores), len(scores)), np.nan)
    if not complete.size:
        found[np.ix_(tested, tested)] = 1.0
    else:
        found[np.ix_(tested, tested)] = _p_values(complete, permutations, seed)
    np.fill_diagonal(found, np.nan)
    return found


def _p_values(scores: Floats, permutations: int, seed: int) -> Floats:
    """[i, j], for scores that are all defined."""
    by_query = np.ascontiguousarray(scores.T)
    at_once = max(1, _CHUNK // scores.size)
    starts = range(0, permutations, at_once)
    seeds = np.random.SeedSequence(seed).spawn(len(starts))

    def ranges(block: int) -> Floats:
        """[permutation]: the largest minus the smallest sum of a submission."""
        random = np.random.default_rng(seeds[block])
        count = min(at_once, permutations - starts[block])
        permuted = random.permuted(np.broadcast_to(by_query, (count, *by_query.shape)), axis=2)
        return np.asarray(np.ptp(permuted.sum(axis=1), axis=1), dtype=np.float64)

    ascending = np.sort(np.concatenate([np.zeros(0), *in_threads(ranges, range(len(starts)))]))
    sums = scores.sum(axis=1)
    absolute = np.abs(scores).sum(axis=1)
    reached = np.abs(sums[:, None] - sums) - ROUNDING * (absolute[:, None] + absolute)
    above = ascending.size - np.searchsorted(ascending, reached, side="left")
    return np.where(reached > 0, (above + 1) / (permutations + 1), 1.0)
