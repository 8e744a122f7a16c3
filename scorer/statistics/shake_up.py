"""How far the final ranking is from the preliminary one, and how far chance would move it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints
from scorer.statistics.agreement import tau_b
from scorer.statistics.defaults import LEVEL, SEED
from scorer.statistics.exact_sums import ExactSums
from scorer.statistics.ranks import ranked

SETS = 1_000
"""The number of random sets of preliminary queries."""

_CHUNK = 1 << 21
"""The number of random numbers that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class ShakeUp:
    """The moves between two rankings by the mean, and what random sets of preliminary queries would do."""

    preliminary: Ints
    """[submission]: ranks over the preliminary queries."""
    final: Ints
    """[submission]: ranks over the final queries."""
    mean_move: float
    """The mean over the submissions of the number of ranks that they moved; NaN without submissions."""
    expected_move: float
    """The same for random sets of preliminary queries of the same size: the mean over these sets."""
    expected_range: tuple[float, float]
    """The middle part of these sets."""
    tau: float
    """Kendall's tau-b between both rankings; NaN where one of them has only ties."""

    @property
    def moves(self) -> Ints:
        """[submission]: final minus preliminary rank; negative for a submission that rises."""
        return self.final - self.preliminary


def shake_up(
    scores: Floats,
    preliminary: Bools,
    final_is_rest: bool,
    sets: int = SETS,
    seed: int = SEED,
    level: float = LEVEL,
) -> ShakeUp:
    """Compare the rankings over the preliminary and over the final queries.

    If the preliminary queries are a random part of all queries, the moves are like those of other random parts of the
    same size. Moves far outside of what these show have another reason, such as entries chosen by preliminary scores.

    Parameters
    ----------
    scores
        [submission, query]: of the same entries for both rankings; NaN where undefined.
    preliminary
        [query]: whether a query counts for the preliminary ranking.
    final_is_rest
        Whether the final ranking is over the other queries; if not, it is over all.
    sets
        The number of random sets of preliminary queries.
    seed
        The seed of the random numbers.
    level
        The share of the random sets outside of the middle part.
    """
    count, queries = scores.shape
    exact = ExactSums(scores, most=queries)

    def both(chosen: Floats) -> tuple[Ints, Ints]:
        """Ranks over the chosen queries, [set, submission], and over the final ones."""
        final = 1 - chosen if final_is_rest else np.ones_like(chosen)
        return ranked(exact.means(chosen)), ranked(exact.means(final))

    before, after = (ranks[0] for ranks in both(preliminary[None].astype(np.float64)))
    moves = np.zeros((sets, count), dtype=np.int64)
    random = np.random.default_rng(seed)
    at_once = max(1, _CHUNK // max(1, queries))
    for start in range(0, sets, at_once):
        part = moves[start : start + at_once]
        chosen = random.permuted(np.broadcast_to(preliminary, (len(part), queries)).astype(np.float64), axis=1)
        first, last = both(chosen)
        part[:] = last - first
    if not count:
        return ShakeUp(before, after, math.nan, math.nan, (math.nan, math.nan), math.nan)
    sizes = np.abs(moves).mean(axis=1)
    low, high = np.quantile(sizes, (level / 2, 1 - level / 2)).tolist()
    return ShakeUp(
        before,
        after,
        float(np.abs(after - before).mean()),
        float(sizes.mean()),
        (low, high),
        tau_b(before, after),
    )
