"""Fusion methods and normalisations as slow loops from their definitions; nothing here comes from scorer.

A method takes the lists of all runs for one query, each a dict from item to score in the order of its ranks, and
returns the fused score of each item. A normalisation takes the same lists and returns them with other scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median, pstdev
from typing import Any

List = Mapping[str, float]
Lists = Sequence[List]
Fused = dict[str, float]

SMALLEST = 1e-9


def ranked(listed: Mapping[str, float]) -> dict[str, float]:
    """The list in the order of its ranks: by falling score, equal scores by item id, descending."""
    by_id = sorted(listed, key=str.encode, reverse=True)
    return {item: listed[item] for item in sorted(by_id, key=lambda item: -listed[item])}


def candidates(lists: Lists) -> list[str]:
    """The items that a run lists."""
    return list(dict.fromkeys(item for listed in lists for item in listed))


def scores_of(lists: Lists, item: str) -> list[float]:
    """The item's scores in the runs that list it."""
    return [listed[item] for listed in lists if item in listed]


def ranks_of(lists: Lists, item: str) -> list[int]:
    """The item's ranks in the runs that list it."""
    return [list(listed).index(item) + 1 for listed in lists if item in listed]


def combined(combine: Callable[..., float]) -> Callable[..., Fused]:
    """A function of the scores of each item, and of the parameters."""
    return lambda lists, **more: {item: combine(scores_of(lists, item), **more) for item in candidates(lists)}


def weighted_sum(lists: Lists, weights: Sequence[float]) -> Fused:
    """The weighted sum."""
    return {
        item: sum(weight * listed.get(item, 0.0) for weight, listed in zip(weights, lists, strict=True))
        for item in candidates(lists)
    }


def weighted_mnz(lists: Lists, weights: Sequence[float]) -> Fused:
    """Weighted MNZ."""
    heard = {
        item: sum(weight for weight, listed in zip(weights, lists, strict=True) if item in listed)
        for item in candidates(lists)
    }
    return {item: sum(scores_of(lists, item)) * heard[item] for item in candidates(lists)}


def mixed(lists: Lists, weights: Sequence[float]) -> Fused:
    """Mixed."""
    return {
        item: total * math.sqrt(len(scores_of(lists, item))) for item, total in weighted_sum(lists, weights).items()
    }


def reciprocal_rank(lists: Lists, k: float) -> Fused:
    """Reciprocal rank fusion."""
    return {item: sum(1 / (k + rank) for rank in ranks_of(lists, item)) for item in candidates(lists)}


def inverse_squares(lists: Lists, item: str) -> float:
    """The sum of the inverse squares of the item's ranks."""
    return sum(1 / rank**2 for rank in ranks_of(lists, item))


def isr(lists: Lists) -> Fused:
    """Inverse square rank."""
    return {item: len(ranks_of(lists, item)) * inverse_squares(lists, item) for item in candidates(lists)}


def logn_isr(lists: Lists, sigma: float = 0.0) -> Fused:
    """Logarithmic inverse square rank."""
    return {
        item: math.log(len(ranks_of(lists, item)) + sigma) * inverse_squares(lists, item) for item in candidates(lists)
    }


def rank_biased_centroid(lists: Lists, phi: float) -> Fused:
    """Rank-biased centroid."""
    return {item: sum((1 - phi) * phi ** (rank - 1) for rank in ranks_of(lists, item)) for item in candidates(lists)}


def borda(lists: Lists, weights: Sequence[float] | None = None) -> Fused:
    """The Borda count: each run deals c, c - 1, ..., 1 points; unlisted items share what is left equally."""
    pool = candidates(lists)
    fused = dict.fromkeys(pool, 0.0)
    for weight, listed in zip(weights or [1.0] * len(lists), lists, strict=True):
        points = {item: float(len(pool) - place) for place, item in enumerate(listed)}
        unlisted = [item for item in pool if item not in listed]
        left = sum(range(1, len(pool) - len(listed) + 1))
        points |= {item: left / len(unlisted) for item in unlisted}
        for item in pool:
            fused[item] += weight * points[item]
    return fused


def condorcet(lists: Lists, weights: Sequence[float] | None = None) -> Fused:
    """Condorcet fusion: a recursive merge sort by majority, from the order of the Borda count."""
    places = [{item: place for place, item in enumerate(listed)} for listed in lists]
    votes = list(weights or [1.0] * len(lists))

    def lead(first: str, second: str) -> float:
        balance = 0.0
        for vote, place in zip(votes, places, strict=True):
            ahead = place.get(first, math.inf) < place.get(second, math.inf)
            behind = place.get(second, math.inf) < place.get(first, math.inf)
            balance += vote * (ahead - behind)
        return balance

    def merged(left: list[str], right: list[str]) -> list[str]:
        order = []
        while left and right:
            order.append(left.pop(0) if lead(left[0], right[0]) >= 0 else right.pop(0))
        return order + left + right

    stretches = [[item] for item in ranked(borda(lists, weights))]
    while len(stretches) > 1:
        pairs = [stretches[at : at + 2] for at in range(0, len(stretches), 2)]
        stretches = [merged(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    order = stretches[0] if stretches else []
    return {item: float(len(order) - place) for place, item in enumerate(order)}


METHODS: dict[str, Callable[..., Fused]] = {
    "sum": combined(sum),
    "mnz": combined(lambda scores: sum(scores) * len(scores)),
    "gmnz": combined(lambda scores, gamma: sum(scores) * len(scores) ** gamma),
    "anz": combined(mean),
    "max": combined(max),
    "min": combined(min),
    "med": combined(median),
    "wsum": weighted_sum,
    "wmnz": weighted_mnz,
    "mixed": mixed,
    "rrf": reciprocal_rank,
    "isr": isr,
    "log_isr": logn_isr,
    "logn_isr": logn_isr,
    "rbc": rank_biased_centroid,
    "bordafuse": borda,
    "w_bordafuse": borda,
    "condorcet": condorcet,
    "w_condorcet": condorcet,
}


def each_list(function: Callable[[List], Mapping[str, float]]) -> Callable[[Lists], list[dict[str, float]]]:
    """A normalisation of single lists as one of all lists; an empty list stays empty."""
    return lambda lists: [dict(function(listed)) if listed else {} for listed in lists]


def by_range(listed: List) -> Fused:
    """Min-max."""
    low, high = min(listed.values()), max(listed.values())
    return {item: (score - low) / max(high - low, SMALLEST) for item, score in listed.items()}


def inverted(listed: List) -> Fused:
    """Min-max, inverted; the lowest score comes first."""
    high, low = max(listed.values()), min(listed.values())
    return ranked({item: (high - score) / max(high - low, SMALLEST) for item, score in listed.items()})


def by_maximum(listed: List) -> Fused:
    """Scores divided by the highest."""
    return {item: score / max(*listed.values(), SMALLEST) for item, score in listed.items()}


def by_sum(listed: List) -> Fused:
    """Scores above the lowest, divided by their sum."""
    low = min(listed.values())
    whole = sum(score - low for score in listed.values())
    return {item: (score - low) / max(whole, SMALLEST) for item, score in listed.items()}


def z_score(listed: List) -> Fused:
    """Zero mean and unit variance."""
    centre, spread = mean(listed.values()), pstdev(listed.values())
    return {item: (score - centre) / max(spread, SMALLEST) for item, score in listed.items()}


def by_rank(listed: List) -> Fused:
    """The share of the list from the item downwards."""
    return {item: 1 - place / len(listed) for place, item in enumerate(listed)}


def by_borda(lists: Lists) -> list[Fused]:
    """The share of the candidates from the item downwards; unlisted candidates get the mean of what is left."""
    pool = candidates(lists)
    return [
        {
            item: 1 - list(listed).index(item) / len(pool)
            if item in listed
            else 0.5 - (len(listed) - 1) / (2 * len(pool))
            for item in [*listed, *(item for item in pool if item not in listed)]
        }
        for listed in lists
    ]


NORMALISATIONS: dict[str, Callable[[Lists], Any]] = {
    "min-max": each_list(by_range),
    "min-max-inverted": each_list(inverted),
    "max": each_list(by_maximum),
    "sum": each_list(by_sum),
    "zmuv": each_list(z_score),
    "rank": each_list(by_rank),
    "borda": by_borda,
    "none": each_list(dict),
}
