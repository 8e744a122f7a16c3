"""Differences between submissions, tested in pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scorer.reports.report import ScoreReport
from scorer.statistics.significance import holm, randomisation_test

LEAST_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two submissions under one measure."""

    measure: str
    places: tuple[int, int]
    """Of the submissions."""
    difference: float
    """Of the means: the first's less the second's."""
    p_value: float
    """Of the paired randomisation test, adjusted by Holm's method over all pairs under the measure."""


def letter(place: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    place, last = divmod(place, 26)
    return (letter(place - 1) if place else "") + chr(ord("a") + last)


# Differences


def comparisons(results: ScoreReport) -> list[Comparison]:
    """All pairs of submissions under all measures that are means, tested over the queries that those are taken over."""
    pairs = list(combinations(range(len(results.submissions)), 2))
    if not pairs:
        return []
    found = []
    tables = [list(result.by_query().values()) for _, result in results.submissions]
    for measure in (name for name, meant in results.measures.items() if meant.kind.aggregation == "mean"):
        scores = np.array([[query[measure] for query in table] for table in tables], dtype=np.float64)
        means = [result[measure] for _, result in results.submissions]
        differences = np.array([scores[first] - scores[second] for first, second in pairs])
        p_values = holm(randomisation_test(differences.T, rounds_of(results)))
        found += [
            Comparison(measure, (first, second), means[first] - means[second], p_value)
            for (first, second), p_value in zip(pairs, p_values.tolist(), strict=True)
        ]
    return found


def compared(results: ScoreReport) -> list[Comparison]:
    """The comparisons that are significant at the level asked for."""
    level = results.significance or 0.0
    return [each for each in comparisons(results) if each.p_value < level]


def rounds_of(results: ScoreReport) -> int:
    """So many that the least p-value, after the correction, is a tenth of the level."""
    pairs = math.comb(len(results.submissions), 2)
    return max(LEAST_ROUNDS, math.ceil(10 * pairs / (results.significance or 1.0)))
