"""Populations of queries, from which scores of teams are drawn and whose true means are known.

A query has an ability of each team: a normal number, correlated between teams, because queries differ in difficulty.
The score is a rising function of it. A team with a higher shift is better; teams with equal shifts are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from scorer.measures.matched import Floats

CORRELATION = 0.6
"""Of the abilities of two teams on a query."""

SHARES = np.array([0.45, 0.15, 0.08, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.13])
"""Of the queries whose first relevant item has rank 1, 2, ..., 10, or a lower one, which scores 0."""

RECIPROCALS = np.append(1 / np.arange(1.0, 11), 0.0)
FALLING = -ndtri(np.cumsum(SHARES)[:-1])
"""The least ability for rank 1, 2, ..., 10."""


@dataclass(frozen=True, slots=True)
class Population:
    """The queries of a measure."""

    name: str
    base: float
    """The shift of a team that is not better than others."""
    score: Callable[[Floats], Floats]
    """Of an ability, with the shift of the team."""
    mean: Callable[[Floats], Floats]
    """The true mean score of a team, of its shift."""

    def draw(self, random: np.random.Generator, shifts: Floats, queries: int, boards: int = 1) -> Floats:
        """Return scores, [board, team, query], of teams with these shifts in addition to the base."""
        difficulty = random.standard_normal((boards, 1, queries))
        ability = random.standard_normal((boards, shifts.size, queries))
        ability *= np.sqrt(1 - CORRELATION)
        ability += np.sqrt(CORRELATION) * difficulty
        ability += self.base + shifts[:, np.newaxis]
        return self.score(ability)

    def means(self, shifts: Floats) -> Floats:
        """Return the true means, [team]."""
        return self.mean(self.base + shifts)


def _reciprocal_rank(ability: Floats) -> Floats:
    better = FALLING.size - np.searchsorted(FALLING[::-1], ability, side="right")
    return np.asarray(RECIPROCALS[better], dtype=np.float64)


def _mean_reciprocal_rank(shift: Floats) -> Floats:
    at_most = ndtr(shift[:, np.newaxis] - FALLING)
    return np.asarray(at_most @ (RECIPROCALS[:-1] - RECIPROCALS[1:]), dtype=np.float64)


POPULATIONS = (
    Population("continuous", -0.8, ndtr, lambda shift: ndtr(shift / np.sqrt(2))),
    Population("RR", 0.0, _reciprocal_rank, _mean_reciprocal_rank),
    Population("P@1 near 1", float(ndtri(0.95)), lambda ability: (ability > 0).astype(np.float64), ndtr),
)
"""Continuous: skewed scores between 0 and 1, as of AP. RR: 11 different scores. P@1: 0 or 1, with a mean of 0.95."""
