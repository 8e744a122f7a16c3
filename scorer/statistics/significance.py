"""Tests between submissions: is a difference more than the choice of the queries?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


SEED = 20110418
"""Any fixed number: the same scores give the same p-values, on every machine."""

CHUNK = 1 << 22
"""Random signs held in memory at a time."""


def randomisation_test(differences: Floats, rounds: int = 10_000, seed: int = SEED) -> Floats:
    """Two-sided p-values of paired differences: how often their mean is as far from 0 when the signs are random.

    Under the null hypothesis either submission of a pair could have earned either score of a query, so every sign of
    every difference is as likely as the other (Fisher 1935; for retrieval: Smucker, Allan and Carterette 2007).

    Parameters
    ----------
    differences
        [query, pair]: one submission's score less the other's; NaN where the measure is undefined for the query.
    rounds
        Draws of all signs; the least p-value is 1 / (rounds + 1), since the order as found counts as a draw.

    Returns
    -------
    [pair]: p-values in (0, 1]; 1 for a pair without any difference.
    """
    settled = np.nan_to_num(differences, nan=0.0)
    queries, pairs = settled.shape
    random = np.random.default_rng(seed)
    # What equals the sum as found but for rounding must count as equal to it.
    bound = np.abs(settled.sum(axis=0)) - 1e-12 * np.abs(settled).sum(axis=0)
    reached = np.zeros(pairs, dtype=np.int64)
    at_once = max(1, CHUNK // max(1, queries + pairs))
    for start in range(0, rounds, at_once):
        draws = min(at_once, rounds - start)
        signs = random.integers(0, 2, size=(draws, queries), dtype=np.int8) * 2.0 - 1.0
        reached += (np.abs(signs @ settled) >= bound).sum(axis=0)
    p_values: Floats = (reached + 1) / (rounds + 1)
    return p_values


def holm(p_values: Floats) -> Floats:
    """P-values of several tests, raised so that the chance of any false finding among them stays below the level.

    Holm 1979: the smallest times the number of tests, the next times one less, ..., none below the one before.
    """
    count = p_values.size
    ascending = np.argsort(p_values, kind="stable")
    raised = np.maximum.accumulate(p_values[ascending] * np.arange(count, 0, -1))
    adjusted = np.empty(count)
    adjusted[ascending] = np.minimum(raised, 1.0)
    return adjusted
