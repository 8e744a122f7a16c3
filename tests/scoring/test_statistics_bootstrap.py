"""Exact sums, the paired bootstrap and its intervals, against Python's fsum and scipy."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.stats._resampling import BootstrapResult

import scorer
from scorer.lists.solution import Solution
from scorer.measures.matched import Floats, Ints
from scorer.scoring.statistics import resampling
from scorer.scoring.statistics.all_pairs import ExactSums, magnitude
from scorer.scoring.statistics.rankings import split_means
from scorer.scoring.statistics.resampling import (
    Sums,
    bca_intervals,
    difference_intervals,
    gaffke_bounds,
    mean_intervals,
    percentile_intervals,
    resampled_means,
)
from studies.scheel_ohsumed import STRATEGIES, Ohsumed
from tests.oracles import mean_interval
from tests.paths import REAL_DATA, ROOT
from tests.strategies import score_tables


def skewed(submissions: int, queries: int, seed: int = 1) -> Floats:
    """Continuous scores, [submission, query], that are skewed as average precision is."""
    return np.random.default_rng(seed).beta(0.8, 2.5, size=(submissions, queries))


# Quantiles


_SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 3))


@given(
    arrays(np.float64, _SHAPES, elements=st.floats(-1e6, 1e6)) | arrays(np.int64, _SHAPES, elements=st.integers(0, 20)),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_quantiles_are_those_of_numpy(values: Floats | Ints, shares: list[float]) -> None:
    """To the last bit."""
    expected = np.quantile(values, shares, axis=0).T

    assert np.array_equal(resampling.column_quantiles(values, np.array(shares)), expected)


# Exact sums


@given(
    arrays(np.float64, (2, 9), elements=st.integers(-(2**53), 2**53).map(lambda n: n / 2**53)),
    arrays(np.int64, (3, 9), elements=st.integers(-4, 4)),
)
def test_sums_are_exact_before_they_are_rounded_once(scores: Floats, weights: Ints) -> None:
    """As fsum of the repeated scores, to the last bit."""
    sums = ExactSums(scores, most=36).sums(weights.astype(np.float64))

    for i, row in enumerate(scores.tolist()):
        for k, counts in enumerate(weights.tolist()):
            repeated = [x if c > 0 else -x for x, c in zip(row, counts, strict=True) for _ in range(abs(c))]
            assert sums[k, i] == math.fsum(repeated)


@pytest.mark.parametrize("largest", [5e-324, 1e-300, 0.75, 1.0, 3.0, 1.7e308])
def test_magnitude_is_the_power_of_two_next_to_the_largest_value(largest: float) -> None:
    """Quotients by it are below 2, and exact."""
    unit = magnitude(np.array([np.nan, -largest, 0.0]))

    assert 1 <= largest / unit < 2
    assert math.frexp(unit)[0] == 0.5
    assert magnitude(np.array([np.nan, 0.0])) == magnitude(np.zeros(0)) == 1


# Resamples


def test_resampled_means_are_means_of_queries_drawn_with_replacement() -> None:
    """Their mean and variance are those of theory, within four standard errors."""
    scores = skewed(2, 40)

    means = resampled_means(scores, 20_000)

    errors = scores.std(axis=1) / math.sqrt(40)
    assert (np.abs(means.mean(axis=0) - scores.mean(axis=1)) < 4 * errors / math.sqrt(20_000)).all()
    assert means.std(axis=0) == pytest.approx(errors, rel=0.03)


def test_all_submissions_share_the_resamples() -> None:
    """So a resampled difference is the mean of the differences; in one call or in several."""
    scores = skewed(3, 30)

    means = resampled_means(scores, 500)

    np.testing.assert_allclose(
        means[:, 0] - means[:, 2], resampled_means(scores[:1] - scores[2:], 500)[:, 0], atol=1e-15
    )
    assert resampled_means(scores[1:2], 500)[:, 0].tolist() == means[:, 1].tolist()


def test_resamples_that_are_too_many_to_be_kept_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are drawn again for each call."""
    scores = skewed(3, 300)
    kept = resampled_means(scores, 500)
    monkeypatch.setattr(resampling, "_KEPT", 0)

    assert resampled_means(scores, 500).tolist() == kept.tolist()


@pytest.mark.parametrize("queries", [1, 2, 9, 64, 65, 331])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_few_submissions_have_the_bits_that_they_have_among_many(queries: int, missing: float) -> None:
    """Their sums are products of smaller arrays."""
    random = np.random.default_rng(queries)
    scores = np.where(random.random((11, queries)) < missing, np.nan, random.random((11, queries)))
    preliminary = random.random(queries) < 0.3

    def computed(scores: Floats) -> Floats:
        split = [split_means(scores, preliminary, final_is_rest, 300) for final_is_rest in (False, True)]
        signed = [] if missing else [Sums.of(scores, 600).flipped]
        return np.hstack([resampled_means(scores, 700).T, *split, *signed])

    np.testing.assert_array_equal(computed(scores[:2]), computed(scores)[:2])


def test_a_mean_is_over_the_queries_of_the_resample_with_a_score() -> None:
    """NaN where a resample has none."""
    scores = np.array([[0.5, np.nan, np.nan, 1.0], [1.0, 1.0, 1.0, 1.0]])

    means = resampled_means(scores, 2000)

    assert set(means[~np.isnan(means[:, 0]), 0]) > {0.5, 0.75, 1.0}
    assert np.isnan(means[:, 0]).mean() == pytest.approx(1 / 16, abs=0.02)
    assert (means[:, 1] == 1).all()


def test_results_are_the_same_in_another_process_with_other_kernels() -> None:
    """One thread, and the code of the library for matrix products for an older processor."""
    code = """
import hashlib, numpy as np
from scorer.scoring.statistics.resampling import resampled_means
from scorer.scoring.statistics.resampling import sign_flips
scores = np.random.default_rng(1).beta(0.8, 2.5, size=(7, 600))
flips = sign_flips(scores, 600)
found = [resampled_means(scores, 600), flips.statistic, flips.simultaneous, flips.marginal, np.array(flips.critical)]
print(hashlib.sha256(b"".join(each.tobytes() for each in found)).hexdigest())
"""
    surroundings = [{}, {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"}]

    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **each, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for each in surroundings
    }

    assert len(printed) == 1


# Intervals


def scipys(scores: Floats, means: Floats, method: str) -> list[float]:
    """scipy's interval of a mean from our resamples."""
    ours = BootstrapResult(confidence_interval=None, bootstrap_distribution=means, standard_error=None)
    found = stats.bootstrap((scores,), np.mean, method=method, n_resamples=0, bootstrap_result=ours, batch=100)
    return list(found.confidence_interval)


@pytest.mark.parametrize("queries", [20, 320])
def test_intervals_are_those_of_scipy_from_the_same_resamples(queries: int) -> None:
    """Percentile and BCa, of means and of a difference."""
    scores = skewed(3, queries)
    values = np.concatenate([scores, scores[:1] - scores[1:2]])

    means = resampled_means(values, 2000)

    for at, ours in enumerate(percentile_intervals(means)):
        assert ours == pytest.approx(scipys(values[at], means[:, at], "percentile"), abs=1e-12)
    for at, ours in enumerate(bca_intervals(means, values)):
        assert ours == pytest.approx(scipys(values[at], means[:, at], "BCa"), abs=1e-12)


def test_bca_intervals_of_coarse_scores_are_those_of_scipy() -> None:
    """Many resampled means equal the observed one; half of them count as below."""
    scores = np.random.default_rng(2).integers(0, 2, size=(1, 64)).astype(float)

    means = resampled_means(scores, 2000)

    assert (means == scores.mean()).mean() > 0.05
    assert bca_intervals(means, scores)[0] == pytest.approx(scipys(scores[0], means[:, 0], "BCa"), abs=1e-12)


@given(score_tables(submissions=(1, 4), queries=(1, 12)))
def test_intervals_of_negated_scores_are_negated(scores: Floats) -> None:
    """The comparison of B with A is that of A with B from the other side."""
    means = resampled_means(scores, 60)

    for ours, other in (
        (percentile_intervals(means), percentile_intervals(-means)),
        (bca_intervals(means, scores), bca_intervals(-means, -scores)),
    ):
        np.testing.assert_allclose(ours, -other[:, ::-1], atol=1e-12)


@given(score_tables(), st.sampled_from([0.01, 0.05, 0.5]))
def test_intervals_are_ordered_and_within_the_resampled_means(scores: Floats, level: float) -> None:
    """A BCa interval is undefined only where all scores are equal, or the observed mean is outside of the resamples."""
    means = resampled_means(scores, 60)

    for found in (percentile_intervals(means, level), bca_intervals(means, scores, level)):
        assert found.shape == (len(scores), 2)
        for at, (low, high) in enumerate(found):
            if not math.isnan(low):
                assert np.nanmin(means[:, at]) <= low <= high <= np.nanmax(means[:, at])
    assert (np.isnan(percentile_intervals(means, level)[:, 0]) == np.isnan(scores).all(axis=1)).all()


def test_equal_scores_have_no_bca_interval() -> None:
    """Their percentile interval is a point, as all resampled means are."""
    scores = np.array([[0.3, 0.3, 0.1 + 0.2, 0.3], [np.nan] * 4])

    means = resampled_means(scores, 100)

    assert percentile_intervals(means)[0] == pytest.approx([0.3, 0.3])
    assert np.isnan(bca_intervals(means, scores)).all()
    assert np.isnan(percentile_intervals(means)[1]).all()


def some_scores(queries: int) -> Floats:
    """Scores of many kinds: continuous, in fifths, 0 or 1, nearly and entirely at the ends, all equal."""
    random = np.random.default_rng(queries)
    rows = [random.beta(0.5, 1, queries), random.integers(0, 6, queries) / 5, random.random(queries) < 0.5]
    rows += [random.random(queries) < 0.95, np.ones(queries), np.zeros(queries), np.full(queries, 0.3)]
    rows += [np.where(np.arange(queries) == 0, other, 1.0) for other in (0.0, 0.25)]
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("queries", [1, 2, 3, 10, 50, 320])
def test_mean_intervals_are_those_of_a_bisection(queries: int) -> None:
    """Also over the queries that are defined, and of scores in another order of memory."""
    scores = some_scores(queries)

    found = mean_intervals(scores)

    np.testing.assert_allclose(found, [mean_interval(row.tolist()) for row in scores], atol=1e-10)
    assert mean_intervals(np.asfortranarray(scores)).tolist() == found.tolist()
    assert mean_intervals(scores[3:4]).tolist() == found[3:4].tolist()
    partly = np.column_stack([scores, np.full(len(scores), np.nan)])
    np.testing.assert_allclose(mean_intervals(partly), found, atol=1e-15)


@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.floats(0, 1)))
def test_mean_intervals_are_in_the_bounds_and_mirrored(scores: Floats) -> None:
    """They contain the mean, and those of 1 minus the scores are the same from the other side."""
    mirrored = 1 - (scores := np.round(scores, 3))

    found = mean_intervals(scores)

    np.testing.assert_allclose(found, 1 - mean_intervals(mirrored)[:, ::-1], atol=1e-9)
    assert ((found[:, 0] <= scores.mean(axis=1) + 1e-12) & (scores.mean(axis=1) <= found[:, 1] + 1e-12)).all()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("queries", [2, 10, 50, 320])
def test_intervals_of_scores_of_0_and_1_cover_every_mean(queries: int) -> None:
    """They are those of Clopper and Pearson, which rise with the scores; the exact coverage is at least 95 %."""
    hits = np.arange(queries + 1)

    found = mean_intervals((np.arange(queries) < hits[:, None]).astype(np.float64))

    assert (np.diff(found, axis=0) > 0).all()
    exact = [stats.binomtest(each, queries).proportion_ci(method="exact") for each in hits.tolist()]
    np.testing.assert_allclose(found, exact, atol=1e-12)
    for mean in np.linspace(0.001, 0.999, 999):
        covers = (found[:, 0] <= mean) & (mean <= found[:, 1])
        assert stats.binom.pmf(hits, queries, mean)[covers].sum() >= 0.95


@pytest.mark.parametrize("queries", [2, 10, 100])
def test_bounds_of_gaffke_are_quantiles_of_random_weights(queries: int) -> None:
    """Of the mean of the scores and a 1: about 5 % are above."""
    random = np.random.default_rng(queries)
    rows = np.array([np.zeros(queries), random.beta(1, 10, queries), random.random(queries) / 2])
    weights = random.dirichlet(np.ones(queries + 1), 40_000)

    drawn = weights @ np.column_stack([rows, np.ones(3)]).T

    assert (np.abs((drawn > gaffke_bounds(rows)).mean(axis=0) - 0.05) < 0.006).all()


def test_an_end_allows_for_scores_that_a_sample_lacks() -> None:
    """Where few scores are above one half, the upper end is at least that bound; otherwise nothing changes."""
    few, more = np.full((1, 40), 0.1), np.full((1, 40), 0.1)
    few[0, :2], more[0, :3] = 0.6, 0.6

    assert mean_intervals(few)[0, 1] == gaffke_bounds(few)[0]
    assert mean_intervals(1 - few)[0, 0] == pytest.approx(1 - gaffke_bounds(few)[0], abs=1e-12)
    assert mean_intervals(more)[0, 1] < gaffke_bounds(more)[0]


@pytest.mark.skipif(not REAL_DATA.exists(), reason=f"real data not found: {REAL_DATA} (SCORER_REAL_DATA names it)")
@pytest.mark.endurance
def test_intervals_of_real_runs_are_hardly_wider_than_without_that_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of AP on TREC 2003 Robust and on OHSUMED, over all queries: by at most 10 % on average."""
    robust, ohsumed = REAL_DATA / "trec2003_robust", Ohsumed.read(REAL_DATA / "ohsumed_letor")
    qrels, grades = Solution.read(robust / "qrels" / "robust03_qrels.txt"), ohsumed.table(ohsumed.grade)
    results = [
        [scorer.evaluate(qrels, run, "AP", per_query=True) for run in sorted((robust / "runs").glob("*.gz"))],
        [
            scorer.evaluate(grades, ohsumed.table(ohsumed.by_strategy(each)), "AP", ties="order", per_query=True)
            for each in STRATEGIES
        ],
    ]
    for of_collection in results:
        scores = np.array([list(each.per_query["AP"]) for each in of_collection if each.per_query is not None])
        monkeypatch.setattr(resampling, "_RARE", 0.05)
        low, high = mean_intervals(scores).T
        monkeypatch.setattr(resampling, "_RARE", -1.0)
        before, after = mean_intervals(scores).T
        assert 1 <= ((high - low) / (after - before)).mean() < 1.1


def test_ordinary_intervals_are_as_wide_as_by_the_bootstrap() -> None:
    """Of continuous scores on 320 queries, within 1 % on average: means and differences."""
    first, second = np.random.default_rng(1).beta(0.6, 1.5, (2, 200, 320))

    def width(intervals: Floats) -> float:
        return float((intervals[:, 1] - intervals[:, 0]).mean())

    of_means = width(percentile_intervals(resampled_means(first, 4000)))
    of_differences = width(percentile_intervals(resampled_means(first - second, 4000)))
    assert width(mean_intervals(first)) == pytest.approx(of_means, rel=0.01)
    assert width(difference_intervals(first - second, bounded=True)) == pytest.approx(of_differences, rel=0.01)


@pytest.mark.parametrize("queries", [2, 10, 50, 320])
def test_difference_intervals_are_those_of_student(queries: int) -> None:
    """Wider where some differences are 0, and within the largest possible differences."""
    scores = some_scores(queries)
    rows = np.array([one - other for one in scores for other in scores])

    found, unbounded = (difference_intervals(rows, bounded=bounded) for bounded in (True, False))

    for row, ends, of_any in zip(rows, found, unbounded, strict=True):
        if np.ptp(row) < 1e-12:
            half = stats.t.ppf(0.975, queries - 1) * math.sqrt(2 / (queries * (queries - 1)))
            expected = np.array([row.mean() - half, row.mean() + half])
            assert np.isnan(of_any).all()
        else:
            changed = sum(each != 0 for each in row.tolist())
            student = np.array(stats.ttest_1samp(row, 0).confidence_interval())
            expected = row.mean() + (student - row.mean()) * math.sqrt(1 + 2 * (1 / changed - 1 / queries))
            np.testing.assert_allclose(of_any, expected, atol=1e-12)
        np.testing.assert_allclose(ends, np.clip(expected, -1, 1), atol=1e-12)
    np.testing.assert_allclose(difference_intervals(-rows), -unbounded[:, ::-1], atol=1e-15)
    np.testing.assert_allclose(difference_intervals(np.ldexp(rows, -900)), np.ldexp(unbounded, -900), rtol=1e-12)


def test_one_query_has_no_interval_of_a_difference() -> None:
    """It says nothing about others, and neither does none."""
    assert np.isnan(difference_intervals(np.array([[0.5, np.nan], [np.nan, np.nan]]), bounded=True)).all()
