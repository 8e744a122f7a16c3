"""The Ladder: it releases a new score only for an entry that is clearly better than the best one so far.

A team that sends many entries learns from each score a little about the hidden queries. The Ladder shows only
improvements, so that probing teaches almost nothing.

Source: A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015.
"""

from __future__ import annotations

import math

import numpy as np

from scorer.measures.arrays import Floats


class Ladder:
    """The Ladder of one team, which sees its entries in the order of the record.

    Parameters
    ----------
    step
        The least improvement, as a loss; the released loss is a multiple of it. None: the parameter-free form, in which
        the least improvement is the standard error of the differences from the best entry.
    """

    def __init__(self, step: float | None = None) -> None:
        self._step = step
        self._best: Floats | None = None
        self.loss = math.inf
        """The loss that was released last; infinite before the first entry."""

    def look(self, scores: Floats) -> float | None:
        """The score to release for the next entry; None if it is no improvement.

        Parameters
        ----------
        scores
            float64[query]: from 0 to 1, of the preliminary queries for which the measure is defined, always the same.
            At least two.
        """
        losses = 1.0 - scores
        mean = float(losses.mean())
        if self._step is None:
            if self._best is not None and not mean < self.loss - _standard_error(losses - self._best):
                return None
            # The minimum is not in the paper: a loss that is rounded up must not exceed the one before.
            self.loss = min(self.loss, round(mean * len(losses)) / len(losses))
            self._best = losses
        else:
            if not mean < self.loss - self._step:
                return None
            self.loss = round(mean / self._step) * self._step
        return 1.0 - self.loss


def _standard_error(differences: Floats) -> float:
    """The standard error of their mean."""
    return float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
