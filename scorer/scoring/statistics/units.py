"""Units: the queries that belong together, such as the turns of a conversation, or one query in several tracks.

Units are drawn, get signs and vary as wholes; a mean stays that over the queries. The units of queries are numbers from
0, [query], or None where each query is a separate unit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scorer.measures.matched import Bools, Floats, Ints

LEAST_UNITS = 10
"""With fewer units of several queries, there is no interval: so few say too little about how much they vary."""


def units_of(ids: Sequence[Sequence[str]], clusters: Sequence[Sequence[str] | None] = ()) -> list[Ints]:
    """Return the unit of each query, [track][query], given the ids of the queries of each track, and their clusters.

    Queries of several tracks with the same id are one unit, and so are those of one cluster, also of several tracks.
    """
    above: dict[tuple[str, str], tuple[str, str]] = {}

    def top(name: tuple[str, str]) -> tuple[str, str]:
        while (higher := above.setdefault(name, name)) != name:
            above[name] = above[higher]
            name = higher
        return name

    for own, of in zip(ids, clusters or [None] * len(ids), strict=True):
        for query, cluster in zip(own, of or (), strict=of is not None):
            one, other = sorted([top(("query", query)), top(("cluster", cluster))])
            above[other] = one
    tops = [[top(("query", query)) for query in own] for own in ids]
    number = {name: at for at, name in enumerate(sorted(set().union(*tops)))}
    return [np.array([number[name] for name in own], dtype=np.int64) for own in tops]


def together(units: Sequence[Ints]) -> list[Ints]:
    """Return units of several tracks, [track][query], counted from 0 over all."""
    numbers = np.unique(np.concatenate(units))
    return [np.searchsorted(numbers, own) for own in units]


def units_within(units: Ints | None, queries: Ints | Bools) -> Ints | None:
    """Return the units of some queries, counted from 0; None where each query is a separate unit."""
    if units is None:
        return None
    numbers, found = np.unique(units[queries], return_inverse=True)
    return None if len(numbers) == len(found) else found.astype(np.int64)


def unless_few(intervals: Floats, units: Ints | None) -> Floats:
    """Return the intervals; NaN with fewer than `LEAST_UNITS` units of several queries."""
    few = units is not None and int(units.max()) + 1 < LEAST_UNITS
    return np.full_like(intervals, np.nan) if few else intervals


def sums_of_units(scores: Floats, units: Ints | None) -> Floats:
    """Return the sums of the defined scores of each unit, [row, unit], from scores, [row, query].

    They have the factor units / queries, so that their mean is that of the scores if all are defined. Without units,
    the scores themselves.
    """
    if units is None:
        return scores
    count = int(units.max()) + 1
    sums = [np.bincount(units, row, count) for row in np.nan_to_num(scores)]
    return np.asarray(np.array(sums).reshape(-1, count) * (count / len(units)), dtype=np.float64)


def values_of_units(scores: Floats, units: Ints | None) -> Floats:
    """Return a value for each unit, [row, unit], from scores, [row, query]: their mean is that of the scores.

    A mean of units of unequal size is a ratio of sums: a unit moves it by the sum of its deviations from it, as the
    jackknife has it, in which large units count more. NaN for a unit without a score. Without units, the scores.
    """
    if units is None:
        return scores
    sizes = sums_of_units((~np.isnan(scores)).astype(np.float64), units)
    all_sizes, count = sizes.sum(axis=1, keepdims=True), (sizes > 0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(scores, axis=1, keepdims=True) / (~np.isnan(scores)).sum(axis=1, keepdims=True)
        apart = (count - 1) * sums_of_units(scores - mean, units) / (all_sizes - sizes)
        values = mean + apart - apart.sum(axis=1, keepdims=True) / count
    return np.asarray(np.where(sizes > 0, values, np.nan), dtype=np.float64)


def number_of_units(scores: Floats, units: Ints | None) -> Floats:
    """Return how many units of equal size say as much about a mean, [row], from scores, [row, query] (Kish 1965).

    Without units, the number of scores.
    """
    sizes = sums_of_units((~np.isnan(scores)).astype(np.float64), units)
    with np.errstate(invalid="ignore"):
        return np.asarray(sizes.sum(axis=1) ** 2 / (sizes**2).sum(axis=1))
