"""The rules to rank submissions by, as in R's challengeR (Wiesenfarth et al. 2021).

Source: Wiesenfarth, Reinke, Landman, Eisenmann, Saiz, Cardoso, Maier-Hein and Kopp-Schneider, Methods and Open-Source
Toolkit for Analyzing and Visualizing Challenge Results, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.statistics.defaults import LEVEL
from scorer.statistics.holm import holm_matrix
from scorer.statistics.paired_tests import wilcoxon_greater
from scorer.statistics.ranks import ranked


@dataclass(frozen=True, eq=False)
class Ranking:
    """The submissions by a rule."""

    values: Floats
    """[submission]: what they are ranked by; NaN where undefined."""
    ranks: Ints
    """[submission]: from 1; equal values share the best rank; NaN ranks after all numbers."""
    higher_is_better: bool
    """Whether the highest value has rank 1."""


def ranking(values: Floats, higher_is_better: bool = True) -> Ranking:
    """Return the ranking by values, [submission], for example means that are rounded already."""
    return Ranking(values, ranked(values if higher_is_better else -values), higher_is_better)


def by_mean(scores: Floats) -> Ranking:
    """Rank by the mean score, highest first; `scores` is [submission, query], here and below."""
    return ranking(means(scores))


def by_median(scores: Floats) -> Ranking:
    """Rank by the median score, highest first."""
    return ranking(_medians(scores))


def by_mean_rank(scores: Floats) -> Ranking:
    """Rank by the mean of the ranks on each query, lowest first; equal scores share the best rank."""
    return ranking(means(_query_ranks(scores)), higher_is_better=False)


def by_median_rank(scores: Floats) -> Ranking:
    """Rank by the median of the ranks on each query, lowest first; equal scores share the best rank."""
    return ranking(_medians(_query_ranks(scores)), higher_is_better=False)


def by_wins(p_values: Floats, level: float = LEVEL) -> Ranking:
    """Rank by the share of the other submissions that are significantly worse, highest first.

    Parameters
    ----------
    p_values
        [i, j]: of a one-sided test that i is better than j. NaN is no win. Losses do not count.
    level
        The level of the test.

    Returns
    -------
    A ranking; the values are NaN for a single submission.
    """
    count = len(p_values)
    if count < 2:
        return ranking(np.full(count, np.nan))
    others = ~np.eye(count, dtype=bool)
    return ranking(((p_values <= level) & others).sum(axis=1) / (count - 1))


RULES: Mapping[str, Callable[[Floats], Ranking]] = {
    "mean": by_mean,
    "median": by_median,
    "mean-rank": by_mean_rank,
    "median-rank": by_median_rank,
    "wins": lambda scores: by_wins(wilcoxon_greater(scores)),
    "wins-holm": lambda scores: by_wins(holm_matrix(wilcoxon_greater(scores), ordered=True)),
}
"""The name of a rule -> the ranking of scores, [submission, query], by it.

The wins are those of Wilcoxon's one-sided test, without and with Holm's correction over all ordered pairs.
"""


def means(scores: Floats) -> Floats:
    """Return the mean of the defined scores of each submission, from exact sums; NaN without any."""
    return np.array([math.fsum(row) / row.size if row.size else math.nan for row in _defined(scores)], dtype=float)


def _medians(scores: Floats) -> Floats:
    return np.array([np.median(row) if row.size else math.nan for row in _defined(scores)], dtype=float)


def _defined(scores: Floats) -> list[Floats]:
    return [row[~np.isnan(row)] for row in scores]


def _query_ranks(scores: Floats) -> Floats:
    """[submission, query]: the ranks of the defined scores on each query; NaN where undefined."""
    return np.where(np.isnan(scores), np.nan, ranked(np.ascontiguousarray(scores.T)).T)
