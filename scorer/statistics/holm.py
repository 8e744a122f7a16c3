"""Holm's method: adjusted p-values, with which the probability of any false positive is at most the level.

Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
"""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats


def holm(p_values: Floats) -> Floats:
    """Adjust p-values of several tests.

    The smallest p-value is multiplied by the number of tests, the next by one less, and so on; none may be below the
    one before it.

    Parameters
    ----------
    p_values
        [test]; NaN for a test that is undefined, which does not count as a test.

    Returns
    -------
    [test]: the adjusted p-values, at most 1; NaN where the p-value is NaN.
    """
    count = p_values.size - int(np.isnan(p_values).sum())
    ascending = np.argsort(p_values, kind="stable")[:count]
    multiplied = np.maximum.accumulate(p_values[ascending] * np.arange(count, 0, -1))
    adjusted = np.full(p_values.size, np.nan)
    adjusted[ascending] = np.minimum(multiplied, 1.0)
    return adjusted


def holm_matrix(p_values: Floats, ordered: bool) -> Floats:
    """Adjust the p-values of pairs.

    Parameters
    ----------
    p_values
        [i, j]; the diagonal counts as NaN.
    ordered
        Whether (i, j) and (j, i) are two tests, as of a one-sided test. Otherwise the matrix is symmetric, and the
        pairs above the diagonal are the tests.

    Returns
    -------
    [i, j]; NaN where the p-value is NaN.
    """
    above = np.triu(np.ones(p_values.shape, dtype=bool), 1)
    tests = above | above.T if ordered else above
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[tests] = holm(p_values[tests])
    return adjusted if ordered else np.where(above.T, adjusted.T, adjusted)
