"""Weighted sums of scores that are exact before they are rounded once, as by `math.fsum`.

Neither the order of the additions nor the library for matrix products nor the number of threads changes them.
"""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio

ROUNDING = 1e-12
"""Two numbers that differ by at most this share of what they are computed from count as equal."""

_BITS = 52
"""Sums of multiples of a unit are exact in double precision up to 2^52 units."""


def magnitude(values: Floats) -> float:
    """Return the power of two next to the largest absolute value, so that squares of quotients by it do not overflow.

    Division by it is exact. 1 if all values are 0 or NaN.
    """
    # Without an array of absolute values: scores of many submissions take much memory.
    largest = max(float(np.fmax.reduce(values, None, initial=0.0)), -float(np.fmin.reduce(values, None, initial=0.0)))
    return float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest else 1.0


class ExactSums:
    """Scores of submissions, prepared for weighted sums.

    The scores are split into two parts. All values of a submission in a part are multiples of a unit, which is a power
    of two and so large that no sum exceeds 2^52 units; so each sum of a part is exact. Of a score less than 2^-78 of
    the submission's largest score is lost.
    """

    masks: Floats
    """[mask, query]: 1 where a score is defined, else 0; each distinct row of the submissions once."""
    mask_of: Ints
    """[submission]: the index of its mask."""

    def __init__(self, scores: Floats, most: int) -> None:
        """Prepare `scores`, [submission, query] with NaN where undefined, for weights.

        The absolute weights of a sum are at most `most` in total.
        """
        defined = ~np.isnan(scores)
        if not len(scores) or (defined == defined[0]).all():
            distinct, mask_of = defined[:1], np.zeros(len(scores), dtype=np.int64)
        else:
            distinct, mask_of = np.unique(defined, axis=0, return_inverse=True)
        self.masks, self.mask_of = distinct.astype(np.float64), mask_of.reshape(-1)
        self._parts = _parts(np.where(defined, scores, 0.0), max(most, 1))

    def sums(self, weights: Floats) -> Floats:
        """Return the sums, [set, submission], for sets of weights, [set, query], which are whole numbers."""
        first, *others = (weights @ part.T for part in self._parts)
        for other in others:
            first += other
        return first

    def means(self, weights: Floats) -> Floats:
        """Return the means, [set, submission]; NaN where the weights of all defined scores are 0."""
        sums, sizes = self.sums(weights), (weights @ self.masks.T)[:, self.mask_of]
        return ratio(sums, sizes, sizes > 0)

    def masked_sums(self, weights: Floats) -> Floats:
        """Return the sums over the queries of each mask, [mask, submission, set]."""
        found = np.empty((len(self.masks), len(self.mask_of), len(weights)))
        for sums, mask in zip(found, self.masks, strict=True):
            sums[:] = self.sums(weights * mask if len(found) > 1 else weights).T
        return found


def _parts(scores: Floats, most: int) -> list[Floats]:
    """Return one or two arrays, [submission, query], whose sum is `scores`."""
    parts: list[Floats] = []
    rest = scores
    while not parts or (len(parts) < 2 and rest.any()):
        largest = np.abs(rest).max(axis=1, initial=0.0, keepdims=True)
        exponent = np.frexp(largest)[1] + np.frexp(float(most))[1] - _BITS
        part = np.ldexp(np.rint(np.ldexp(rest, -exponent)), exponent)
        parts.append(part)
        rest = rest - part
    return parts
