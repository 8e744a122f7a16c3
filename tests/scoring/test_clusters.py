"""Queries that belong together: intervals, tests and draws are those of clusters; scores stay means over queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import scorer
from scorer.errors import SolutionError
from scorer.lists.slices import read_clusters
from scorer.measures.matched import Floats, Ints
from scorer.scoring.analysis.scores import TaskScores
from scorer.scoring.statistics.paired_tests import t_test, wilcoxon_greater
from scorer.scoring.statistics.resampling import (
    difference_intervals,
    mean_intervals,
    percentile_intervals,
    resampled_means,
    sign_flips,
)
from scorer.scoring.statistics.units import LEAST_UNITS, sums_of_units, units_of, units_within, values_of_units

SAMPLES, CORRELATION = 2_000, 0.5
LEAST = 0.94
"""The share of the samples in which an interval covers the truth; the standard error is 0.5 points."""

EQUAL: Sequence[int] = [10] * 30
UNEQUAL: Sequence[int] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 35] * 2 + [10] * 6

SIZES = {"30 clusters of 10": EQUAL, "30 clusters of 1 to 35": UNEQUAL}


def drawn(sizes: Sequence[int], rows: int, seed: int) -> tuple[Floats, Ints]:
    """Normal numbers, [row, query], that correlate within clusters, and the units of the queries."""
    random, units = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    own, shared = random.standard_normal((rows, units.size)), random.standard_normal((rows, len(sizes)))
    return np.sqrt(CORRELATION) * shared[:, units] + np.sqrt(1 - CORRELATION) * own, units


def covers(intervals: Floats, truth: float) -> float:
    """In which share of the samples an interval has the truth in it."""
    return float(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean())


SHAPES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "continuous": (lambda normal: stats.beta.ppf(stats.norm.cdf(normal), 2, 3), 0.4),
    "0 or 1": (lambda normal: (normal > stats.norm.ppf(0.6)).astype(np.float64), 0.4),
    "rare ones": (lambda normal: (normal > stats.norm.ppf(0.97)).astype(np.float64), 0.03),
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_means_cover_the_truth(sizes: str, shape: str) -> None:
    """Intervals that take the queries as independent cover it in two of three samples."""
    scores_of, truth = SHAPES[shape]
    normal, units = drawn(SIZES[sizes], SAMPLES, seed=1)
    scores = scores_of(normal)

    assert covers(mean_intervals(scores, units=units), truth) >= LEAST
    assert covers(mean_intervals(scores), truth) < 0.8


@pytest.mark.parametrize("sizes", SIZES)
def test_intervals_of_differences_and_of_draws_cover_the_truth(sizes: str) -> None:
    """The percentile interval, for scores that may exceed 1, is a little narrower, as without clusters."""
    scores_of, _ = SHAPES["continuous"]
    normal, units = drawn(SIZES[sizes], 2 * SAMPLES, seed=2)
    differences = scores_of(normal[:SAMPLES]) - scores_of(normal[SAMPLES:])

    assert covers(difference_intervals(differences, bounded=True, units=units), 0) >= LEAST
    assert covers(difference_intervals(differences, bounded=True), 0) < 0.8
    few = percentile_intervals(resampled_means(differences[:300], 500, units=units))
    assert covers(few, 0) >= 0.88


@pytest.mark.parametrize("sizes", SIZES)
def test_flips_of_clusters_hold_their_level(sizes: str) -> None:
    """Of boards with five equal teams, with all scores or without some; flips of queries find a difference in most."""
    alarms = {"clusters": 0, "incomplete": 0, "queries": 0}
    for board in range(100):
        normal, units = drawn(SIZES[sizes], 5, seed=100 + board)
        missing = np.random.default_rng(board).random(normal.shape) < 0.1
        alarms["clusters"] += sign_flips(sums_of_units(normal, units), 500).better().any().item()
        alarms["incomplete"] += sign_flips(np.where(missing, np.nan, normal), 500, units=units).better().any().item()
        alarms["queries"] += sign_flips(normal, 500).better().any().item()

    assert max(alarms["clusters"], alarms["incomplete"]) <= 0.11 * 100
    assert alarms["queries"] > 0.5 * 100


def test_equal_clusters_count_as_one_query_each() -> None:
    """With clusters of one size, all numbers are those of the means of clusters."""
    normal, units = drawn(EQUAL, 3, seed=3)
    scores = stats.norm.cdf(normal)
    of_clusters = scores.reshape(3, 30, 10).mean(axis=2)

    np.testing.assert_allclose(sums_of_units(scores, units), of_clusters)
    np.testing.assert_allclose(values_of_units(scores, units), of_clusters)
    np.testing.assert_allclose(mean_intervals(scores, units=units), mean_intervals(of_clusters))
    np.testing.assert_allclose(difference_intervals(scores, units=units), difference_intervals(of_clusters))
    np.testing.assert_allclose(resampled_means(scores, 50, units=units), resampled_means(of_clusters, 50))
    np.testing.assert_allclose(t_test(scores, units), t_test(of_clusters))
    np.testing.assert_allclose(wilcoxon_greater(scores, units), wilcoxon_greater(of_clusters))
    np.testing.assert_allclose(
        sign_flips(sums_of_units(scores, units), 500).simultaneous, sign_flips(of_clusters, 500).simultaneous
    )


def test_flips_with_and_without_missing_scores_agree() -> None:
    """A query without any score changes nothing."""
    normal, units = drawn(UNEQUAL, 4, seed=4)
    lacks = np.column_stack([normal, np.full(4, np.nan)])

    complete = sign_flips(sums_of_units(normal, units), 300)
    partly = sign_flips(lacks, 300, units=np.append(units, 0))

    np.testing.assert_allclose(partly.statistic, complete.statistic)
    np.testing.assert_allclose(partly.of_each, complete.of_each)


def test_a_mean_is_a_ratio_of_sums() -> None:
    """The mean of the values of units is that of the queries, and a draw weighs each unit by its queries."""
    normal, units = drawn(UNEQUAL, 2, seed=5)
    normal[0, ::7] = np.nan

    np.testing.assert_allclose(np.nanmean(values_of_units(normal, units), axis=1), np.nanmean(normal, axis=1))
    counts = np.bincount(np.random.default_rng(42).integers(0, 30, size=30, dtype=np.int32), minlength=30)[units]
    drawn_mean = np.nansum(normal * counts, axis=1) / (counts * ~np.isnan(normal)).sum(axis=1)
    np.testing.assert_allclose(resampled_means(normal, 1, 42, units)[0], drawn_mean)


@pytest.mark.parametrize("count", [LEAST_UNITS - 1, LEAST_UNITS])
def test_few_clusters_have_no_interval(count: int) -> None:
    """Of means, differences and draws."""
    normal, units = drawn([5] * count, 3, seed=6)
    task = TaskScores(stats.norm.cdf(normal), np.arange(3.0), np.arange(3), 1_000, 500, bounded=True, units=units)

    found = [task.intervals, task.percentile, task.bca, task.differences(np.array([0]), np.array([1])).interval]
    assert [bool(np.isnan(each).all()) for each in found] == [count < LEAST_UNITS] * 4


def test_units_join_queries_and_clusters_of_all_tracks() -> None:
    """A cluster over several tracks is one unit, and so is a query; what they share joins them."""
    songs, films = ["1_1", "1_2", "2_1", "9"], ["2_1", "3_1", "3_2"]

    found = units_of([songs, films], [["1", "1", "2", "9"], None])
    assert [each.tolist() for each in found] == [[0, 0, 1, 2], [1, 3, 4]]
    joined = units_of([songs, films], [["1", "1", "2", "9"], ["1", "3", "3"]])
    assert [each.tolist() for each in joined] == [[0, 0, 0, 2], [0, 1, 1]]


def test_single_queries_are_no_units() -> None:
    """Where each query is a separate cluster, all is as without clusters."""
    units = np.array([0, 0, 1, 2])

    assert units_within(units, np.array([1, 2, 3])) is None


QUERIES = ["31_1", "31_2", "32_1", "33"]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("{cluster}_*", ("31", "31", "32", "33")),
        ("3{cluster}_*", ("1", "1", "2", "33")),
        ({"31_1": "a", "31_2": "a", "other": "b"}, ("a", "a", "32_1", "33")),
    ],
)
def test_clusters_by_a_pattern_or_a_dict(listed: str | dict[str, str], expected: tuple[str, ...]) -> None:
    """The shortest text that fits is the cluster; a query that is not listed is a separate cluster."""
    assert read_clusters(listed, QUERIES) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query,cluster\n31_1,a\n31_1,b\n31_2,a\n", ':3: query "31_1" is listed again with another cluster'),
        ("31_1,a,b\n", "found 3 columns; expected 2: query and cluster"),
        ("31_1,a\n32_1,b\n", "no two queries have the same cluster"),
    ],
)
def test_errors_of_a_file_of_clusters(tmp_path: Path, content: str, message: str) -> None:
    """All are about the file, with the line."""
    file = tmp_path / "clusters.csv"
    file.write_text(content, encoding="utf-8")

    with pytest.raises(SolutionError, match=message):
        read_clusters(file, QUERIES)


def test_evaluate_compare_and_report_by_clusters() -> None:
    """Scores stay, intervals are wider, and texts and JSON say how many clusters there are."""
    random = np.random.default_rng(7)
    solution = {f"{cluster}_{turn}": {"d1": 1} for cluster in range(12) for turn in range(5)}
    runs = {
        name: {
            f"{cluster}_{turn}": ["x"] * place + ["d1"]
            for cluster, place in enumerate(random.integers(0, most, 12).tolist())
            for turn in range(5)
        }
        for name, most in (("a", 2), ("b", 4))
    }
    runs = {name: {query: [*dict.fromkeys(items)] for query, items in run.items()} for name, run in runs.items()}

    plain = scorer.evaluate(solution, runs["a"], "RR")
    by_clusters = scorer.evaluate(solution, runs["a"], "RR", clusters="{cluster}_*")
    assert dict(plain) == dict(by_clusters)
    (low, high), (wide_low, wide_high) = plain.intervals()["RR"], by_clusters.intervals()["RR"]
    assert wide_high - wide_low > 1.5 * (high - low)

    compared = scorer.compare(solution, runs, "RR", clusters={query: query.partition("_")[0] for query in solution})
    assert compared.to_dict()["clusters"] == 12
    first = compared.pairs[0].interval
    narrow = scorer.compare(solution, runs, "RR").pairs[0].interval
    assert first is not None
    assert narrow is not None
    assert first[1] - first[0] > 1.5 * (narrow[1] - narrow[0])
    assert "over 60 queries in 12 clusters" in scorer.report(
        solution, runs, "RR", form="markdown", clusters="{cluster}_*"
    )
    assert json.loads(scorer.report(solution, runs, "RR", form="json"))["tasks"][0].get("clusters") is None
