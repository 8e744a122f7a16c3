"""Significance tests of the differences between submissions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEED = 20110418
"""The seed of the random signs."""

CHUNK = 1 << 22
"""The number of random signs that are held in memory at a time."""


def randomisation_test(differences: Floats, rounds: int = 10_000, seed: int = SEED) -> Floats:
    """Compute p-values of the two-sided paired randomisation test.

    The null hypothesis is that both scores of a query could have come from either submission of the pair, so that each
    difference is as likely to have the opposite sign. The p-value is the share of random signs whose sum is at least
    as far from 0 as the observed sum. Sources: Fisher 1935; for retrieval: Smucker, Allan and Carterette 2007.

    Parameters
    ----------
    differences
        [query, pair]: the score of the first submission minus that of the second; NaN where the measure is undefined.
    rounds
        The number of random draws of all signs. The observed signs count as one more draw, so the smallest p-value is
        1 / (rounds + 1).
    seed
        The seed of the random numbers.

    Returns
    -------
    [pair]: p-values in (0, 1]; 1 for a pair without any difference.
    """
    defined = np.nan_to_num(differences, nan=0.0)
    queries, pairs = defined.shape
    random = np.random.default_rng(seed)
    # A sum that differs from the observed sum only by rounding must count as equal to it.
    bound = np.abs(defined.sum(axis=0)) - 1e-12 * np.abs(defined).sum(axis=0)
    as_extreme = np.zeros(pairs, dtype=np.int64)
    at_once = max(1, CHUNK // max(1, queries + pairs))
    for start in range(0, rounds, at_once):
        draws = min(at_once, rounds - start)
        signs = random.integers(0, 2, size=(draws, queries), dtype=np.int8) * 2.0 - 1.0
        as_extreme += (np.abs(signs @ defined) >= bound).sum(axis=0)
    p_values: Floats = (as_extreme + 1) / (rounds + 1)
    return p_values


def holm(p_values: Floats) -> Floats:
    """Adjust p-values of several tests by Holm's method.

    With adjusted p-values, the probability of any false positive among the tests is at most the level. The smallest
    p-value is multiplied by the number of tests, the next by one less, and so on; none may be below the one before it.
    Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.

    Parameters
    ----------
    p_values
        [test]

    Returns
    -------
    [test]: the adjusted p-values, at most 1.
    """
    count = p_values.size
    ascending = np.argsort(p_values, kind="stable")
    multiplied = np.maximum.accumulate(p_values[ascending] * np.arange(count, 0, -1))
    adjusted = np.empty(count)
    adjusted[ascending] = np.minimum(multiplied, 1.0)
    return adjusted
