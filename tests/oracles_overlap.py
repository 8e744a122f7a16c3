"""Every measure of the similarity of two lists as a slow loop from its definition; nothing here comes from scorer.

An oracle takes two lists of items, the best first, and the parameters; it returns NaN where the measure is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

Ranking = Sequence[str]

UNDEFINED = math.nan

END = 400
"""The depth from which on the agreement does not change, or has too little weight to matter."""


def shared_at(first: Ranking, second: Ranking, depth: int) -> int:
    """How many items the first `depth` of both lists share."""
    return len(set(first[:depth]) & set(second[:depth]))


def rank_biased_overlap(first: Ranking, second: Ranking, p: float = 0.9, estimate: str = "ext") -> float:
    """RBO: the agreement at each depth, seen or supposed, depth by depth."""
    if not first or not second:
        return UNDEFINED
    shorter, longer = sorted((len(first), len(second)))
    at_shorter, at_longer = shared_at(first, second, shorter), shared_at(first, second, longer)

    def agreement(depth: int, which: str) -> float:
        seen = shared_at(first, second, depth) if depth <= longer else at_longer
        unseen = max(depth - shorter, 0) + max(depth - longer, 0)
        if which == "min":
            return seen / depth
        if which == "max":
            return min(seen + unseen, depth) / depth
        if depth > longer:
            return end
        return (seen + at_shorter * max(depth - shorter, 0) / shorter) / depth

    end = (at_longer + at_shorter * (longer - shorter) / shorter) / longer

    def total(which: str) -> float:
        weighted = ((1 - p) * p ** (depth - 1) * agreement(depth, which) for depth in range(1, END))
        return math.fsum(weighted) + p ** (END - 1) * agreement(END, which)

    return total("max") - total("min") if estimate == "res" else total(estimate)


def average_overlap(first: Ranking, second: Ranking) -> float:
    """AO: the mean agreement of the depths."""
    depths = range(1, max(len(first), len(second)) + 1)
    return fmean(shared_at(first, second, depth) / depth for depth in depths) if first and second else UNDEFINED


def jaccard(first: Ranking, second: Ranking) -> float:
    """Jaccard: intersection and union."""
    return len(set(first) & set(second)) / len(set(first) | set(second)) if first and second else UNDEFINED


def overlap_of_sets(first: Ranking, second: Ranking) -> float:
    """Overlap: intersection and longer list."""
    return len(set(first) & set(second)) / max(len(first), len(second)) if first and second else UNDEFINED


def common(first: Ranking, second: Ranking) -> tuple[list[str], list[str]]:
    """Both lists without the items that the other one does not have."""
    return [item for item in first if item in second], [item for item in second if item in first]


def kendall(first: Ranking, second: Ranking) -> float:
    """The pairs in the same order, minus those in the other order."""
    first, second = common(first, second)
    if len(first) < 2:
        return UNDEFINED
    signs = [
        1 if second.index(one) < second.index(other) else -1
        for place, one in enumerate(first)
        for other in first[place + 1 :]
    ]
    return sum(signs) / len(signs)


def ap_correlation(first: Ranking, second: Ranking, reference: str = "both") -> float:
    """tauAP: at each rank but the first, the share of the items above that are correctly above."""
    if reference == "both":
        return (ap_correlation(first, second, "first") + ap_correlation(first, second, "second")) / 2
    ranked, right = common(first, second) if reference == "second" else common(second, first)
    if len(ranked) < 2:
        return UNDEFINED
    shares = [
        sum(right.index(other) < right.index(item) for other in ranked[:place]) / place
        for place, item in enumerate(ranked)
        if place
    ]
    return 2 * fmean(shares) - 1


ORACLES: dict[str, Callable[..., float]] = {
    "RBO": rank_biased_overlap,
    "AO": average_overlap,
    "Jaccard": jaccard,
    "Overlap": overlap_of_sets,
    "tau": kendall,
    "tauAP": ap_correlation,
}
