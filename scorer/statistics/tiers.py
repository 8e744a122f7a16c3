"""Tiers: groups of submissions that a test does not separate from their best one."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.measures.arrays import Bools


def tiers(order: Sequence[int], better: Bools) -> list[list[int]]:
    """Return the tiers, the best first, each with its leader first.

    A tier opens with the best submission that is in no tier yet, and holds all following submissions that are in no
    tier yet and not significantly worse than this leader. Its leader is fixed, so tiers do not chain. Tiers may
    interleave: a submission may be significantly worse than the leader although a lower one is not.

    Parameters
    ----------
    order
        The submissions, the best first.
    better
        [i, j]: whether i is significantly better than j.
    """
    left, found = list(order), []
    while left:
        leader = left[0]
        tier = [each for each in left if not better[leader, each]]
        found.append(tier)
        left = [each for each in left if better[leader, each]]
    return found
