"""Decisions on all pairs of submissions by random sign flips of the differences, the same flips for all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints, ratio
from scorer.statistics.defaults import LEVEL, SEED
from scorer.statistics.exact_sums import ROUNDING, ExactSums, magnitude
from scorer.statistics.flips import FLIPS, PairSums, random_signs


@dataclass(frozen=True, eq=False)
class SignFlips:
    """Tests of all differences between submissions."""

    statistic: Floats
    """[i, j]: sum d / sqrt(sum d^2), where d are the scores of i minus those of j; 0 where all d are 0."""
    size: Floats
    """[i, j]: sqrt(sum d^2)."""
    marginal: Floats
    """[i, j]: p-values adjusted for all pairs with i; 1 on the diagonal."""
    simultaneous: Floats
    """[i, j]: p-values adjusted for all pairs; 1 on the diagonal."""
    critical: float
    """The absolute statistic above which a pair is significant among all pairs; infinite if none can be."""
    queries: Ints
    """[i, j]: the number of queries with scores of both."""

    def better(self, level: float = LEVEL) -> Bools:
        """[i, j]: whether i is significantly better than j, with all pairs tested at once.

        If all submissions have scores for the same queries, this is transitive: if i is better than j and j than k,
        then i is better than k.
        """
        decided: Bools = (self.simultaneous <= level) & (self.statistic > 0)
        return decided

    def better_marginally(self, level: float = LEVEL) -> Bools:
        """[i, j]: whether i is significantly better than j, with all pairs of i tested at once."""
        decided: Bools = (self.marginal <= level) & (self.statistic > 0)
        return decided

    def worse_marginally(self, level: float = LEVEL) -> Bools:
        """[i, j]: whether i is significantly worse than j, with all pairs of i tested at once."""
        decided: Bools = (self.marginal <= level) & (self.statistic < 0)
        return decided


def sign_flips(scores: Floats, flips: int = FLIPS, seed: int = SEED, level: float = LEVEL) -> SignFlips:
    """Test all differences between submissions.

    The statistic of a pair is the sum of its differences in units of sqrt(sum d^2), which no flip changes. A pair is
    compared with the largest statistic of all pairs under the same flips; so the probability of any false decision is
    at most the level, regardless of which submissions are equal. Source of the maximum: Westfall and Young,
    Resampling-Based Multiple Testing, 1993.

    Parameters
    ----------
    scores
        [submission, query]; NaN where undefined.
    flips
        The number of random draws of all signs. The observed signs count as one more draw.
    seed
        The seed of the random numbers.
    level
        The level of `SignFlips.critical`.
    """
    count, queries = scores.shape
    unit = magnitude(scores)
    scores = scores / unit
    pairs = PairSums(scores)
    size = _sizes(scores)
    inverse = np.nan_to_num(ratio(np.ones(size.shape), size, size > 0))
    statistic = pairs.observed() * inverse
    # Sums that differ by rounding only must count as equal, so that a flip reaches what it equals.
    reached = np.abs(statistic) - pairs.rounding() * inverse

    # [submission, flip]: the largest absolute statistic of all pairs with the submission.
    of_submission = np.zeros((count, flips))
    for block, signs in random_signs(flips, queries, seed):
        largest = of_submission[:, block]
        for i, later, values in pairs.rows(signs):
            np.abs(values, out=values)
            np.multiply(values, inverse[i, later, None], out=values)
            np.maximum(largest[later], values, out=largest[later])
            np.maximum(largest[i], values.max(axis=0), out=largest[i])
    of_all = np.sort(of_submission.max(axis=0, initial=0.0))
    of_submission.sort(axis=1)
    marginal = np.array([_p_values(of_submission[i], reached[i]) for i in range(count)]).reshape(size.shape)
    critical = _critical(of_all, level) if size.any() else float("inf")
    return SignFlips(statistic, size * unit, marginal, _p_values(of_all, reached), critical, pairs.queries())


def pair_p_values(differences: Floats, flips: int = FLIPS, seed: int = SEED) -> Floats:
    """Return the two-sided p-value of each pair, without any adjustment.

    Parameters
    ----------
    differences
        [pair, query]; NaN where undefined.
    flips, seed
        As for `sign_flips`.
    """
    queries = differences.shape[1]
    exact = ExactSums(differences, most=queries)
    (observed,) = np.abs(exact.sums(np.ones((1, queries))))
    bound = observed - ROUNDING * np.nansum(np.abs(differences), axis=1)
    counts = np.zeros(len(differences), dtype=np.int64)
    for _, signs in random_signs(flips, queries, seed):
        counts += (np.abs(exact.sums(signs)) >= bound).sum(axis=0)
    p_values: Floats = (counts + 1) / (flips + 1)
    return p_values


def _sizes(scores: Floats) -> Floats:
    """[i, j]: sqrt(sum d^2); 0 where the scores differ by rounding only."""
    norm = np.sqrt(np.nansum(scores**2, axis=1))
    complete = not np.isnan(scores).any()
    size = np.zeros((len(scores), len(scores)))
    for i, own in enumerate(scores):
        differences = own - scores[i + 1 :]
        differences = differences if complete else np.nan_to_num(differences)
        found: Floats = np.sqrt(np.einsum("jq,jq->j", differences, differences))
        found[found <= ROUNDING * (norm[i] + norm[i + 1 :])] = 0
        size[i, i + 1 :] = size[i + 1 :, i] = found
    return size


def _p_values(ascending: Floats, reached: Floats) -> Floats:
    """The share of the flips, and of the observed signs, that reach each observed statistic; 1 if it could be 0."""
    flips = ascending.size - np.searchsorted(ascending, reached, side="left")
    p_values: Floats = np.where(reached > 0, (flips + 1) / (ascending.size + 1), 1.0)
    return p_values


def _critical(ascending: Floats, level: float) -> float:
    """The largest of the ascending statistics that more flips reach than the level allows; infinite if none do."""
    allowed = int(level * (ascending.size + 1) + ROUNDING) - 1
    return float(ascending[ascending.size - 1 - allowed]) if 0 <= allowed < ascending.size else float("inf")
