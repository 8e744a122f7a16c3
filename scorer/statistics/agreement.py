"""How far rankings agree, and how far ranks moved at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints, ratio
from scorer.options import LEVEL, SEED
from scorer.statistics.exact_sums import ExactSums
from scorer.statistics.rankings import ranked, small_ranks
from scorer.statistics.threads import in_threads

_AT_ONCE = 512
"""Rankings in a block, which remains in the cache of a processor."""


def tau_b(ranks: Ints, other: Ints) -> float:
    """Return Kendall's tau-b of two rankings, [submission]; NaN if one of them has only ties.

    Source: Kendall, The Treatment of Ties in Ranking Problems, 1945.
    """
    return float(resampled_taus(ranks[None], other)[0])


def resampled_taus(resampled: Ints, ranks: Ints) -> Floats:
    """Return Kendall's tau-b between each ranking, [resample, submission], and one that all are compared with.

    [resample]; NaN where the ranking, or the one that it is compared with, has only ties.
    """
    order = np.argsort(ranks, kind="stable")
    ascending, count = ranks[order], len(ranks)
    higher = np.searchsorted(ascending, ascending, side="right")  # [submission]: the first one with a higher rank
    small = small_ranks(count)

    def of_block(start: int) -> Floats:
        """[2, resample]: concordant minus discordant pairs, and the pairs without a tie in the resample."""
        block = np.ascontiguousarray(resampled[start : start + _AT_ONCE, order].T, dtype=small)
        balance, untied = np.zeros((2, block.shape[1]))
        for i in range(count - 1):
            above, below = block[i + 1 :] > block[i], block[i + 1 :] < block[i]
            signs = above.view(np.int8) - below.view(np.int8)
            balance += signs[higher[i] - i - 1 :].sum(axis=0, dtype=small)
            untied += np.logical_or(above, below, out=above).view(np.int8).sum(axis=0, dtype=small)
        return np.stack([balance, untied])

    blocks = in_threads(of_block, range(0, len(resampled), _AT_ONCE))
    balance, untied = np.hstack([np.zeros((2, 0)), *blocks])
    pairs = np.sqrt(float((count - higher).sum()) * untied)
    return ratio(balance, pairs, pairs > 0)


def footrule(ranks: Ints, other: Ints) -> float:
    """Return Spearman's footrule of two rankings, [submission]: the sum of the absolute differences of the ranks.

    Source: Spearman, Footrule for Measuring Correlation, 1906.
    """
    return float(np.abs(ranks - other).sum())


def consensus(ranks_by_task: Ints) -> Floats:
    """Return the mean over tasks of each submission's rank, [task, submission]; equal ranks count as their mean.

    Low is better. They minimise the sum of the squared differences from the ranks of all tasks. Source: Hornik and
    Meyer, Deriving Consensus Rankings from Benchmarking Experiments, 2007.
    """
    # scipy.stats.rankdata does the same, but loading it takes longer than the statistics of a board.
    below = (ranks_by_task[:, None, :] < ranks_by_task[:, :, None]).sum(axis=-1)
    equal = (ranks_by_task[:, None, :] == ranks_by_task[:, :, None]).sum(axis=-1)
    ranks = below + (equal + 1) / 2
    return np.array([math.fsum(row) / max(row.size, 1) for row in ranks.T], dtype=np.float64)


# Preliminary and final

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


def split_means(scores: Floats, preliminary: Bools, final_is_rest: bool, sets: int = SETS, seed: int = SEED) -> Floats:
    """Return the means over the preliminary queries and over the final ones, and over those of random sets.

    [submission, 2 * (1 + sets)]: the preliminary mean, those of the random sets of preliminary queries, and the final
    means in the same order. Those of a submission do not depend on the others. The arguments are those of `shake_up`.
    """
    count, queries = scores.shape
    exact, random = ExactSums(scores, most=queries), np.random.default_rng(seed)
    means = np.empty((2, 1 + sets, count))
    at_once = max(1, _CHUNK // max(1, queries))
    for start in range(0, 1 + sets, at_once):
        block = slice(start, min(start + at_once, 1 + sets))
        chosen = np.broadcast_to(preliminary, (block.stop - start, queries)).astype(np.float64)
        first = int(start == 0)  # the preliminary queries themselves
        chosen[first:] = random.permuted(chosen[first:], axis=1)
        means[0, block] = exact.means(chosen)
        means[1, block] = exact.means(1 - chosen) if final_is_rest else exact.means(np.ones((1, queries)))
    return means.reshape(2 * (1 + sets), count).T


def shake_up(
    scores: Floats,
    preliminary: Bools,
    final_is_rest: bool,
    sets: int = SETS,
    seed: int = SEED,
    level: float = LEVEL,
    means: Floats | None = None,
) -> ShakeUp:
    """Compare the rankings over the preliminary and over the final queries, of the same entries.

    If the preliminary queries are a random part of all queries, the moves are like those of other random parts of the
    same size. Moves far outside of what these show have another reason, such as entries chosen by preliminary scores.
    `scores` is [submission, query], NaN where undefined, and `preliminary` [query]; the final ranking is over the other
    queries, or over all. `level` is the share of the random sets outside of the middle part. `means` may be what
    `split_means` returns.
    """
    if means is None:
        means = split_means(scores, preliminary, final_is_rest, sets, seed)
    first, last = (ranked(np.ascontiguousarray(half)) for half in np.split(means.T, 2))
    before, after = first[0], last[0]
    if not len(means):
        return ShakeUp(before, after, math.nan, math.nan, (math.nan, math.nan), math.nan)
    sizes = np.abs(last[1:] - first[1:]).mean(axis=1)
    low, high = np.quantile(sizes, (level / 2, 1 - level / 2)).tolist()
    return ShakeUp(
        before,
        after,
        float(np.abs(after - before).mean()),
        float(sizes.mean()),
        (low, high),
        tau_b(before, after),
    )
