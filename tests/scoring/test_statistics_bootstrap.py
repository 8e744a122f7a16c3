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

from scorer.measures.matched import Floats, Ints
from scorer.scoring.statistics import resampling
from scorer.scoring.statistics.all_pairs import ExactSums, magnitude
from scorer.scoring.statistics.resampling import bca_intervals, percentile_intervals, resampled_means
from tests.paths import ROOT
from tests.strategies import score_tables


def skewed(submissions: int, queries: int, seed: int = 1) -> Floats:
    """Continuous scores, [submission, query], that are skewed as average precision is."""
    return np.random.default_rng(seed).beta(0.8, 2.5, size=(submissions, queries))


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
