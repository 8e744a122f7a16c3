"""The bootstrap equals that of R's challengeR and boot from the same draws.

tests/board/test_report.py compares the rankings, the tests of pairs and the agreement of rules with R.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from scorer.measures.matched import Floats, Ints
from scorer.scoring.statistics.all_pairs import ExactSums
from scorer.scoring.statistics.rankings import (
    rank_frequencies,
    rank_quantiles,
    ranks_of,
    resampled_taus,
)
from scorer.scoring.statistics.resampling import bca_intervals, percentile_intervals, resampled_means
from tests import challenger
from tests.challenger import ALGORITHMS, drawn, listed, reference, table
from tests.ranking_rules import RANKING_RULES

pytestmark = [challenger.needs_challenger, pytest.mark.real_data]


def counts(draws: Ints, cases: int) -> Floats:
    """[resample, case]: how often each case is drawn; `draws` are positions from 0."""
    return np.array([np.bincount(row, minlength=cases) for row in draws], dtype=np.float64)


def with_missing(value: float) -> tuple[list[str], Floats]:
    """The task that has a missing value in the reference, with this value in its place."""
    changed = reference()["D1_NA"]["changed"]
    algorithms, scores = table(changed["task"])
    scores = scores.copy()
    scores[algorithms.index(changed["algorithm"]), int(changed["case"]) - 1] = value
    return algorithms, scores


def test_missing_values_rank_last_as_in_challenger() -> None:
    """One rank after the last one that a value has."""
    examples = [each for each in reference()["D1_NA"]["rankNA2_examples"] if each["ties"] == "min"]

    assert len(examples) == 3
    for each in examples:
        assert ranks_of(np.array(each["x"], dtype=np.float64)).tolist() == each["rank"]
    expected = reference()["D1_NA"]["no_na_treat"]["rankThenMean"]["c_random"]
    algorithms, scores = with_missing(np.nan)
    assert ranks_of(scores.T).mean(axis=0) == pytest.approx(listed(expected["value"], algorithms))


# Bootstrap, with R's own draws


@cache
def replayed(task: str) -> tuple[Floats, Ints]:
    """Means over challengeR's resamples, [resample, algorithm], and their ranks."""
    scores = table(task)[1]
    draws = drawn(f"challengeR_d1_{task}_seed1") - 1
    means = ExactSums(scores, most=scores.shape[1]).means(counts(draws, scores.shape[1]))
    return means, ranks_of(means)


def test_ranks_of_the_means_of_resamples_are_those_of_challenger() -> None:
    """All 1000 resamples."""
    expected = drawn("challengeR_d1_c_random_meanThenRank_seed1_ranks", header=True)

    assert (replayed("c_random")[1] == expected).all()


def test_equal_means_of_resamples_share_a_rank() -> None:
    """In two of 1000 resamples R's rounding separates two means that are equal; ours share the better rank."""
    expected = drawn("challengeR_d1_c_worstcase_meanThenRank_seed1_ranks", header=True)
    scores = table("c_worstcase")[1]
    draws = drawn("challengeR_d1_c_worstcase_seed1") - 1
    # All values are multiples of 0.05, so their sums as whole numbers are exact.
    sums = counts(draws, scores.shape[1]) @ np.rint(20 * scores.T)

    _, found = replayed("c_worstcase")

    assert (found == 1 + (sums[:, None, :] > sums[:, :, None]).sum(axis=2)).all()
    assert np.flatnonzero((found != expected).any(axis=1)).tolist() == [581, 945]


def resampled_by(rule: str, cases: Ints, values: Floats) -> Ints:
    """Ranks by a rule in a resample, as challengeR computes them."""
    if rule.startswith("wins"):
        # Its tests see each case that is drawn once.
        return RANKING_RULES[rule](values[:, np.unique(cases)]).ranks
    return RANKING_RULES[rule](values[:, cases]).ranks


@pytest.mark.parametrize(("rule", "resamples"), [("median", 1000), ("wins", 60), ("wins-holm", 60)])
def test_ranks_of_resamples_by_other_rules_are_those_of_challenger(rule: str, resamples: int) -> None:
    """The number of resamples that the reference has been replayed with."""
    draws = drawn("challengeR_d1_c_random_seed1")[:resamples] - 1
    expected = drawn(f"challengeR_d1_c_random_{challenger.RULES[rule]}_seed1_ranks", header=True)[:resamples]
    values = table("c_random")[1]

    assert [resampled_by(rule, row, values).tolist() for row in draws] == expected.tolist()


@pytest.mark.parametrize("rule", ["mean-rank", "median-rank"])
def test_rank_counts_by_mean_and_median_ranks_are_those_of_an_ordinary_bootstrap(rule: str) -> None:
    """R's numbers from the same draws, with a case that is drawn m times as m cases."""
    draws = drawn("challengeR_d1_c_random_seed1") - 1
    values = table("c_random")[1]
    expected = reference()["bootstrap_ranks"]["D1"][challenger.RULES[rule]]["c_random"]["plain_multiplicity"]

    found = rank_frequencies(np.array([resampled_by(rule, row, values) for row in draws]))

    for at, algorithm in enumerate(ALGORITHMS):
        given = expected["algorithms"][algorithm]["rank_counts"]
        assert found[at] == pytest.approx([given.get(str(rank), 0) / 1000 for rank in range(1, 6)], abs=1e-12)


@pytest.mark.parametrize("task", ["c_random", "c_worstcase"])
def test_summaries_of_resampled_ranks_are_those_of_challenger(task: str) -> None:
    """Quantiles, the frequency of rank 1, and Kendall's tau with the ranking over all cases."""
    expected = reference()["bootstrap_ranks"]["D1"]["meanThenRank"][task]["challengeR"]
    _, ranks = replayed(task)

    summaries: list[dict[str, Any]] = listed(expected["algorithms"], ALGORITHMS)
    quantiles = [[each["q025"], each["median"], each["q975"]] for each in summaries]
    assert rank_quantiles(ranks).tolist() == quantiles
    assert rank_frequencies(ranks)[:, 0] == pytest.approx([each["freq_rank1"] for each in summaries], abs=0.0021)
    taus = resampled_taus(ranks, RANKING_RULES["mean"](table(task)[1]).ranks)
    summary = expected["kendall_tau_b_with_whole"]
    assert np.isnan(taus).sum() == summary["n_undefined"]
    if summary["n_undefined"] < len(taus):
        assert taus.mean() == pytest.approx(summary["mean"], abs=1e-12)
        assert np.quantile(taus, 0.25) == pytest.approx(summary["q25"], abs=1e-12)


def test_our_resamples_give_the_rank_frequencies_of_challenger() -> None:
    """Within four standard errors of both."""
    expected = reference()["bootstrap_ranks"]["D1"]["meanThenRank"]["c_random"]["challengeR_10000"]["algorithms"]

    found = rank_frequencies(ranks_of(resampled_means(table("c_random")[1])))

    for at, algorithm in enumerate(ALGORITHMS):
        error = 4 * 2**0.5 * (0.25 / 10_000) ** 0.5
        given = [expected[algorithm]["rank_counts"].get(str(rank), 0) / 10_000 for rank in range(1, 6)]
        assert found[at] == pytest.approx(given, abs=error)


@cache
def intervals(task: str) -> dict[str, Floats]:
    """Intervals of the means, by method, from R's draws where the reference has them, else from ours."""
    scores = table(task)[1]
    cases = scores.shape[1]
    if cases == 50:
        means = ExactSums(scores, most=cases).means(counts(drawn("boot_seed1_n50_R10000_zero_based"), cases))
    else:
        means = resampled_means(scores)
    return {"percentile": percentile_intervals(means), "bca_exact_L": bca_intervals(means, scores)}


@pytest.mark.parametrize("method", ["percentile", "bca_exact_L"])
@pytest.mark.parametrize("task", ["c_ideal", "c_random"])
def test_intervals_from_the_draws_of_boot_are_its_own(task: str, method: str) -> None:
    """Within a third of a Monte Carlo error: boot interpolates quantiles on the normal scale, we do linearly."""
    for at, algorithm in enumerate(ALGORITHMS):
        given = reference()["bootstrap_mean_ci"]["D1"][task]["mean"][algorithm]
        error = np.array(given["mc_sd_over_10_seeds"][method])
        assert (np.abs(intervals(task)[method][at] - given[method]) <= error / 3).all()


@pytest.mark.parametrize("method", ["percentile", "bca_exact_L"])
def test_intervals_of_the_worst_case_are_those_of_boot(method: str) -> None:
    """Within two steps of the means: the scores are multiples of 0.05, so those of 120 cases are 1/2400 apart."""
    for at, algorithm in enumerate(ALGORITHMS):
        given = reference()["bootstrap_mean_ci"]["D1"]["c_worstcase"]["mean"][algorithm]
        assert intervals("c_worstcase")[method][at] == pytest.approx(given[method], abs=2 / 2400 + 1e-9)


def test_intervals_of_differences_are_those_of_boot() -> None:
    """From the same draws, of the differences on each case."""
    scores = table("c_random")[1]
    for pair, given in reference()["bootstrap_mean_ci"]["D1"]["c_random"]["difference"].items():
        one, other = (ALGORITHMS.index(name) for name in pair.split(" - "))
        differences = (scores[one] - scores[other])[np.newaxis]
        means = ExactSums(differences, most=50).means(counts(drawn("boot_seed1_n50_R10000_zero_based"), 50))
        error = given["mc_sd_over_10_seeds"]
        for method, found in (
            ("percentile", percentile_intervals(means)),
            ("bca_exact_L", bca_intervals(means, differences)),
        ):
            assert (np.abs(found[0] - given[method]) <= np.array(error[method]) / 3).all()
