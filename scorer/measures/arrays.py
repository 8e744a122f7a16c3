"""Arrays over queries and items: their types, and the operations on ragged groups that measures share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def ratio(parts: Floats, wholes: Floats | float, defined: Bools) -> Floats:
    """`parts` / `wholes`, and NaN where not `defined`."""
    quotients = np.full(parts.shape, np.nan)
    np.divide(parts, wholes, out=quotients, where=defined)
    return quotients


def ranges(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """The numbers of all ranges one after the other, and for each the range that it comes from."""
    length = stop - start
    owner = np.repeat(np.arange(start.size), length)
    within = np.arange(owner.size) - np.repeat(np.cumsum(length) - length, length)
    return start[owner] + within, owner


def running(nth: Ints, values: Floats, operation: np.ufunc = np.add) -> Floats:
    """The running sum, or product, of `values`, begun anew where `nth`, which counts up from 1, is 1.

    Every round takes in the result of the `step` entries before, so no query's rounding reaches the next one, as it
    would in a difference of running sums over all queries.
    """
    results = values.copy()
    step = 1
    while step < nth.max(initial=0):
        later = np.flatnonzero(nth > step)
        results[later] = operation(results[later], results[later - step])
        step *= 2
    return results
