"""The Ladder: it releases a new score only for an entry that is clearly better than the best one so far.

A team that sends many entries learns from each score a little about the hidden queries. The Ladder shows only
clear improvements, so that most probing teaches little; `docs/studies.md` has what remains.

Source: A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015.
"""

from __future__ import annotations

import math

from scorer.measures.arrays import Floats

TOLERANCE = 1e-12
"""An improvement that exceeds the least one by less than this equals it. Without it, the errors of floating-point
arithmetic decide: one query more that is right, of n, improves the mean by exactly its standard error, 1 / n."""

DECIMALS = 9
"""A number is rounded to these decimals before it is rounded to an integer, for the same reason: 0.5 is a tie, and goes
to the even integer, although it may be computed as 0.49999999999999994."""


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
        """Return the score to release for the next entry, or None if that score would not be higher than the last one.

        Parameters
        ----------
        scores
            float64[query]: from 0 to 1, of the preliminary queries for which the measure is defined, always the same.
            At least two.
        """
        losses = 1.0 - scores
        improvement = self.loss - _mean(losses)
        if improvement <= self._least_improvement(losses) + TOLERANCE:
            return None
        self._best = losses
        # The minimum is not in the paper: a loss that is rounded up must not exceed the one before.
        released = min(self.loss, self._rounded(losses))
        if released == self.loss:
            return None
        self.loss = released
        # A step that does not divide 1 may round the loss up to more than 1.
        return max(0.0, 1.0 - released)

    def _least_improvement(self, losses: Floats) -> float:
        """Return the improvement that these losses must exceed: the step, or the standard error of the differences."""
        if self._step is not None:
            return self._step
        if self._best is None:
            return 0.0
        return _standard_error(losses - self._best)

    def _rounded(self, losses: Floats) -> float:
        """Return the mean loss, rounded to a multiple of the step, or to a multiple of 1 / n."""
        if self._step is None:
            return _integer(math.fsum(losses)) / len(losses)
        return _integer(_mean(losses) / self._step) * self._step


def _mean(values: Floats) -> float:
    """Return the mean, the same on every machine."""
    return math.fsum(values) / len(values)


def _standard_error(differences: Floats) -> float:
    """Return the standard error of their mean."""
    squares = (differences - _mean(differences)) ** 2
    return math.sqrt(math.fsum(squares) / (len(differences) - 1) / len(differences))


def _integer(value: float) -> int:
    """Return the nearest integer; of two that are equally near, the even one."""
    return round(round(value, DECIMALS))
