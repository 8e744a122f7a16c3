"""Tests of the differences between submissions, against scipy, statsmodels and the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.libqsturng import psturng
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from scorer.measures.matched import Floats
from scorer.options import LEVEL
from scorer.scoring.statistics.paired_tests import (
    benjamini_hochberg,
    effect_sizes,
    holm,
    holm_matrix,
    outcomes,
    queries_for,
    randomisation,
    randomised_tukey,
    smallest_shown,
    t_test,
    wilcoxon_greater,
)
from scorer.scoring.statistics.resampling import (
    pair_p_values,
    queries_needed,
    sign_flips,
    smallest_differences,
    typical_difference,
)
from studies.populations import POPULATIONS
from tests.strategies import score_tables


def normal(submissions: int, queries: int, step: float = 0.0, seed: int = 1) -> Floats:
    """Scores, [submission, query], with a common difficulty; each submission is better by `step` than the next."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(submissions, queries)) + random.normal(size=queries)
    return scores - step * np.arange(submissions)[:, np.newaxis]


def coarse(submissions: int, queries: int, seed: int = 1) -> Floats:
    """Reciprocal ranks with many ties."""
    return 1 / np.random.default_rng(seed).integers(1, 5, size=(submissions, queries))


def exact_sign_flips(scores: Floats) -> tuple[Floats, Floats]:
    """The simultaneous and marginal p-values of all sign patterns, by the definition, pair by pair."""
    queries = scores.shape[1]
    differences = scores[:, None] - scores
    size = np.sqrt((differences**2).sum(axis=2))
    signs = np.array(list(product((1, -1), repeat=queries)))
    flipped = np.abs(np.einsum("sq,ijq->sij", signs, differences)) / np.where(size > 0, size, np.inf)
    observed = flipped[0] - 1e-9
    marginal = (flipped.max(axis=2)[:, :, None] >= observed).mean(axis=0)
    return (flipped.max(axis=(1, 2))[:, None, None] >= observed).mean(axis=0), marginal


# Sign flips of all pairs


@pytest.mark.parametrize("scores", [normal(4, 11, 0.5), coarse(5, 10), normal(2, 8, 1.0)], ids=str)
def test_sign_flips_approximate_the_test_with_all_signs(scores: Floats) -> None:
    """Simultaneous and marginal p-values, within four standard errors."""
    simultaneous, marginal = exact_sign_flips(scores)

    found = sign_flips(scores, 20_000)

    assert found.simultaneous == pytest.approx(simultaneous, abs=4 * 0.5 / math.sqrt(20_000))
    assert found.marginal == pytest.approx(marginal, abs=4 * 0.5 / math.sqrt(20_000))


def test_statistic_is_the_sum_of_differences_in_units_of_their_size() -> None:
    """It is bounded by the square root of the number of queries, and proportional to t for given t."""
    scores = normal(3, 25, 0.4)

    found = sign_flips(scores, 100)

    d = scores[0] - scores[2]
    assert found.statistic[0, 2] == pytest.approx(d.sum() / math.sqrt((d**2).sum()), rel=1e-13)
    assert found.size[0, 2] == pytest.approx(math.sqrt((d**2).sum()), rel=1e-13)
    t = stats.ttest_1samp(d, 0).statistic
    assert found.statistic[0, 2] == pytest.approx(t / math.sqrt(1 - 1 / 25 + t**2 / 25), rel=1e-12)
    assert (found.statistic == -found.statistic.T).all()
    assert found.queries.tolist() == [[25] * 3] * 3


@given(score_tables(missing=False), st.sampled_from([19, 99, 250]), st.sampled_from([0.01, 0.05, 0.29, 0.5]))
def test_a_pair_is_significant_exactly_above_the_critical_statistic(scores: Floats, flips: int, level: float) -> None:
    """P-values and the critical value state the same decisions."""
    found = sign_flips(scores, flips, level=level)

    assert (found.better() == (found.simultaneous <= level) & (found.statistic > 0)).all()
    assert (found.better() == (found.statistic > found.critical * (1 + 1e-9))).all()
    assert (found.simultaneous >= found.marginal).all()
    assert (found.better() <= found.better_marginally(level)).all()
    assert (np.diagonal(found.simultaneous) == 1).all()


@given(score_tables(missing=False), st.sampled_from([0.1, 1 / 3, 7.3, 1e-9, 1e12]), st.sampled_from([0.0, 0.1, -0.7]))
def test_rounding_decides_nothing(scores: Floats, factor: float, shift: float) -> None:
    """The same scores in other units give the same p-values, although their floats are rounded in other ways."""
    ours, other = (sign_flips(each, 99) for each in (scores, factor * (scores + shift)))

    assert other.simultaneous.tolist() == ours.simultaneous.tolist()
    assert other.marginal.tolist() == ours.marginal.tolist()
    assert other.better().tolist() == ours.better().tolist()
    np.testing.assert_array_equal(randomisation(factor * (scores + shift), 99), randomisation(scores, 99))


def test_scores_that_differ_by_rounding_only_are_equal() -> None:
    """Even if each query has the same tiny difference, which a test would find."""
    scores = np.array([[0.3] * 50, [0.1 + 0.2] * 50])

    found = sign_flips(scores, 999)

    assert scores[1, 0] > scores[0, 0]
    assert (found.simultaneous == 1).all()
    assert (found.size == 0).all()
    assert found.critical == math.inf
    assert randomisation(scores, 999)[0, 1] == 1


@given(score_tables(missing=False))
@example(np.array([[1.0] * 12, [0.5] * 12, [0.0] * 12]))
def test_decisions_on_all_pairs_are_transitive(scores: Floats) -> None:
    """If i is better than j and j better than k, then i is better than k."""
    better = sign_flips(scores, 99, level=0.2).better()

    implied = (better.astype(int) @ better.astype(int)) > 0
    assert (better | ~implied).all()
    assert not (better & better.T).any()


@given(score_tables(missing=False), st.randoms(use_true_random=False))
def test_the_order_of_submissions_does_not_change_sign_flips(scores: Floats, random: object) -> None:
    """P-values move with the submissions, to the last bit."""
    order = np.random.default_rng(random.randint(0, 2**32)).permutation(len(scores))  # type: ignore[attr-defined]

    ours, other = sign_flips(scores, 99), sign_flips(scores[order], 99)

    assert other.simultaneous.tolist() == ours.simultaneous[np.ix_(order, order)].tolist()
    assert other.marginal.tolist() == ours.marginal[np.ix_(order, order)].tolist()
    assert other.critical == ours.critical


def test_the_level_holds_for_equal_submissions() -> None:
    """In 600 boards of 6 equal submissions and 12 queries, with only 39 flips; within three standard errors."""
    boards = [coarse(6, 12, seed) for seed in range(600)]

    alarms = np.mean([sign_flips(board, 39, seed=seed).better().any() for seed, board in enumerate(boards)])

    assert 0.01 < alarms < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


def test_marginal_decisions_in_both_directions_are_about_the_pairs_of_the_row() -> None:
    """A submission with clear differences finds worse ones that are compared with noisier ones too."""
    found = sign_flips(normal(5, 60, 0.3), 999)

    assert ((found.marginal <= 0.05) == found.better_marginally() | found.worse_marginally()).all()
    assert not (found.better_marginally() & found.worse_marginally()).any()


# Randomisation test of single pairs


@pytest.mark.parametrize("scores", [normal(3, 11, 0.5), coarse(4, 10)], ids=["continuous", "coarse"])
def test_randomisation_approximates_the_exact_test_of_scipy(scores: Floats) -> None:
    """scipy's permutation test of paired samples with all 2^n signs."""
    found = randomisation(scores, 20_000)

    for i, j in [(0, 1), (0, 2), (1, 2)]:
        exact = stats.permutation_test(
            (scores[i], scores[j]),
            lambda x, y, axis: (x - y).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert found[i, j] == found[j, i] == pytest.approx(exact.pvalue, abs=4 * 0.5 / math.sqrt(20_000))


@given(score_tables(submissions=(2, 5)))
def test_p_values_of_differences_are_those_of_pairs(scores: Floats) -> None:
    """The same signs for both; an undefined score is no difference."""
    pairs = [(i, j) for i in range(len(scores)) for j in range(i + 1, len(scores))]
    differences = np.array([scores[i] - scores[j] for i, j in pairs])

    found = randomisation(scores, 99)

    assert pair_p_values(differences, 99).tolist() == [found[pair] for pair in pairs]


def test_p_values_are_never_0() -> None:
    """The observed signs count as one draw, and equal scores give 1."""
    differences = np.array([[1.0] * 50, [0.0] * 50, [np.nan] * 50])

    assert pair_p_values(differences, 9_999).tolist() == [1 / 10_000, 1.0, 1.0]


# Wilcoxon, t, Holm


@given(score_tables(submissions=(2, 4), queries=(1, 12)))
def test_wilcoxon_p_values_are_those_of_scipy(scores: Floats) -> None:
    """Without undefined scores and zeros; scipy subtracts the correction for continuity only towards 0."""
    found = wilcoxon_greater(scores)

    for i, j in product(range(len(scores)), repeat=2):
        d = scores[i] - scores[j]
        d = d[(d != 0) & ~np.isnan(d)]
        if not d.size:
            assert np.isnan(found[i, j])
            continue
        ranks = stats.rankdata(np.abs(d))
        if ranks[d > 0].sum() > d.size * (d.size + 1) / 4:
            exact = stats.wilcoxon(d, alternative="greater", correction=True, method="asymptotic").pvalue
            assert found[i, j] == pytest.approx(exact, rel=1e-12)
        assert found[i, j] + found[j, i] >= 1


def test_correction_for_continuity_is_subtracted_in_both_directions() -> None:
    """As in R, so the two p-values of a pair add up to more than 1."""
    scores = normal(2, 30, 0.2)
    d = scores[0] - scores[1]
    positive = stats.rankdata(np.abs(d))[d > 0].sum()

    found = wilcoxon_greater(scores)

    deviation = math.sqrt(30 * 31 * 61 / 24)
    for (i, j), above in (((0, 1), positive - 232.5), ((1, 0), 232.5 - positive)):
        assert found[i, j] == pytest.approx(stats.norm.sf((above - 0.5) / deviation), rel=1e-12)


@given(score_tables(submissions=(2, 4)))
def test_t_test_is_that_of_scipy(scores: Floats) -> None:
    """Undefined where all differences are equal, or fewer than two queries have scores of both."""
    found = t_test(scores)

    for i, j in product(range(len(scores)), repeat=2):
        d = scores[i] - scores[j]
        d = d[~np.isnan(d)]
        if d.size < 2 or np.ptp(d) < 1e-12:
            assert np.isnan(found[i, j])
        else:
            assert found[i, j] == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-9)


@pytest.mark.parametrize("tests", [1, 2, 15])
def test_holms_method_is_that_of_statsmodels(tests: int) -> None:
    """With equal p-values; tests that are undefined do not count."""
    p_values = np.random.default_rng(tests).random(tests).round(1) / tests
    with_undefined = np.concatenate([[math.nan], p_values, [math.nan]])

    found = holm(with_undefined)

    assert found[1:-1] == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-15)
    assert np.isnan(found[[0, -1]]).all()


@pytest.mark.parametrize("tests", [1, 2, 5, 40])
def test_the_methods_of_false_discoveries_are_those_of_statsmodels(tests: int) -> None:
    """With equal p-values, in any order."""
    p_values = np.random.default_rng(tests).random(tests).round(1) ** 2

    for dependent, method in ((False, "fdr_bh"), (True, "fdr_by")):
        found = benjamini_hochberg(p_values, dependent=dependent)
        assert found == pytest.approx(multipletests(p_values, method=method)[1], abs=1e-15)


@pytest.mark.parametrize("better", [0, 5])
def test_at_most_5_5_percent_of_the_differences_that_are_found_are_false(better: int) -> None:
    """Of ten teams, of which none or half are better, on 50 queries: of all pairs, and of those with the last team."""
    shifts = np.repeat([0.3, 0.0], [better, 10 - better])
    are_equal = shifts[:, None] == shifts
    families = (np.triu_indices(10, 1), (np.arange(9), np.full(9, 9)))
    boards, false = 1000, np.zeros(2)
    for board, scores in enumerate(POPULATIONS[0].draw(np.random.default_rng(1), shifts, 50, boards)):
        p_values = randomisation(scores, 1000, seed=board)
        for at, pairs in enumerate(families):
            found = benjamini_hochberg(p_values[pairs]) <= LEVEL
            false[at] += (found & are_equal[pairs]).sum() / max(found.sum(), 1) / boards

    assert (false > 0.01).all()
    assert (false <= 0.055).all()


def test_the_power_of_queries_is_that_of_statsmodels() -> None:
    """For three queries and many, at two levels; and the least number of queries is found."""
    for queries, level in product((3, 5, 50, 5704), (0.05, 0.05 / 45)):
        smallest = smallest_shown(0.3, queries, level)
        assert TTestPower().power(smallest / 0.3, queries, level, alternative="two-sided") == pytest.approx(
            0.8, abs=1e-4
        )
        assert queries_for(smallest * (1 + 1e-6), 0.3, level) == queries
        assert queries_for(-smallest * (1 - 1e-6), 0.3, level) == queries + 1
    assert queries_for(0.01, 0.3, LEVEL) == math.ceil(
        TTestPower().solve_power(effect_size=0.01 / 0.3, power=0.8, alpha=LEVEL)
    )
    assert queries_for(0.1, 0.0, LEVEL) == 2
    for difference, deviation in ((0.0, 0.3), (0.1, math.nan), (math.nan, math.nan), (1e-9, 0.3)):
        assert math.isnan(queries_for(difference, deviation, LEVEL))
    assert math.isnan(smallest_shown(0.3, 1, LEVEL))


def test_sign_flips_find_the_difference_that_the_power_is_for() -> None:
    """In 80 % of 1,000 samples of skewed differences, within three standard errors."""
    skewed = np.random.default_rng(2).gamma(4, 0.1, (1000, 50)) - 0.4
    found = pair_p_values(skewed + smallest_shown(0.2, 50, LEVEL), 2000) <= LEVEL

    assert found.mean() == pytest.approx(0.8, abs=3 * math.sqrt(0.16 / 1000))


def test_holms_method_of_pairs_counts_each_pair_once_or_in_both_directions() -> None:
    """The smallest of three pairs is multiplied by 3, of six ordered pairs by 6."""
    p_values = np.array([[0.5, 0.01, 0.02], [0.01, 0.5, 0.3], [0.02, 0.3, 0.5]])
    one_sided = np.array([[0.5, 0.01, 0.2], [0.99, np.nan, 0.3], [0.8, 0.7, 0.5]])

    unordered, ordered = holm_matrix(p_values, ordered=False), holm_matrix(one_sided, ordered=True)

    nan = math.nan
    assert unordered == pytest.approx(
        np.array([[nan, 0.03, 0.04], [0.03, nan, 0.3], [0.04, 0.3, nan]]), abs=1e-15, nan_ok=True
    )
    assert ordered[0].tolist() == pytest.approx([nan, 0.06, 1.0], nan_ok=True)
    assert np.isnan(np.diagonal(ordered)).all()


# Tukey's test


def test_randomised_tukey_is_near_tukeys_test_of_normal_scores() -> None:
    """The studentised range of scipy and statsmodels, with the variance within queries, which permutations see."""
    scores = normal(5, 60, 0.1, seed=3)
    freedom = 4 * 60
    error = math.sqrt(((scores - scores.mean(axis=0)) ** 2).sum() / freedom / 60)

    found = randomised_tukey(scores, 20_000)

    for i, j in zip(*np.triu_indices(5, 1), strict=True):
        q = abs(scores[i].mean() - scores[j].mean()) / error
        assert found[i, j] == pytest.approx(stats.studentized_range.sf(q, 5, freedom), abs=0.02)
        # An approximation, which ends at 0.9.
        assert min(found[i, j], 0.9) == pytest.approx(np.ravel(psturng(q, 5, freedom))[0], abs=0.04)
    assert np.nanmin(found) < 0.3


def test_randomised_tukey_permutes_the_labels_within_each_query() -> None:
    """With two submissions it is the randomisation test, also if queries differ more than submissions."""
    scores = normal(2, 12, 0.4)
    scores += 100 * np.arange(12)

    assert randomised_tukey(scores, 20_000)[0, 1] == pytest.approx(randomisation(scores, 20_000)[0, 1], abs=0.02)


def test_randomised_tukey_is_the_same_each_time() -> None:
    """Equal submissions have a p-value of 1, and no p-value is 0."""
    scores = np.array([[1.0] * 30, [0.0] * 30, [0.0] * 30])

    found = randomised_tukey(scores, 999)

    np.testing.assert_array_equal(found, randomised_tukey(scores, 999))
    assert found[0, 1] == found[0, 2] == 1 / 1000
    assert found[1, 2] == 1


# Effect sizes, and what a number of queries separates


def test_effect_sizes_are_means_in_units_of_the_deviation_of_the_differences() -> None:
    """Undefined where all differences are equal."""
    scores = np.concatenate([normal(2, 15, 0.5), np.zeros((1, 15)), np.full((1, 15), 0.1)])
    d = scores[0] - scores[1]

    found = effect_sizes(scores)

    assert found[0, 1] == -found[1, 0] == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
    assert np.isnan(found[2, 3])
    assert np.isnan(np.diagonal(found)).all()


@given(score_tables())
def test_outcomes_count_wins_ties_and_losses(scores: Floats) -> None:
    """Of the queries with scores of both."""
    found = outcomes(scores[:, None] - scores)

    for i, j in product(range(len(scores)), repeat=2):
        both = [(x, y) for x, y in zip(scores[i], scores[j], strict=True) if not np.isnan([x, y]).any()]
        expected = [sum(x > y for x, y in both), sum(x == y for x, y in both), sum(x < y for x, y in both)]
        assert found[i, j].tolist() == expected


def test_smallest_difference_is_where_a_pair_becomes_significant() -> None:
    """Shifting one of two submissions across it changes the decision."""
    scores = normal(2, 80)
    scores[1] += (scores[0] - scores[1]).mean()
    tests = sign_flips(scores, 1999)
    smallest = smallest_differences(tests, 80)

    for factor, decided in ((0.99, False), (1.01, True)):
        shifted = scores + np.array([[factor * smallest[0, 1]], [0.0]])
        assert (sign_flips(shifted, 99).statistic[0, 1] > tests.critical) == decided
    assert typical_difference(smallest, tests) == smallest[0, 1]
    assert smallest.tolist() == smallest.T.tolist()
    equal = sign_flips(np.zeros((2, 5)), 99)
    assert np.isnan(typical_difference(smallest_differences(equal, 5), equal))


def test_few_queries_separate_no_difference() -> None:
    """With five queries, each of 32 sign patterns and its opposite together are too likely; with six they are not."""
    for queries, separable in ((5, False), (6, True)):
        tests = sign_flips(np.array([[1.0] * queries, [0.0] * queries]), 9_999)
        smallest = smallest_differences(sign_flips(normal(2, queries), 999), queries)
        assert tests.better()[0, 1] == separable == math.isfinite(smallest[0, 1])
        assert smallest[0, 0] == 0


def test_queries_needed_repeat_the_differences_until_they_are_significant() -> None:
    """The statistic grows with the square root of the number of queries."""
    scores = normal(2, 30, 0.1)
    statistic = sign_flips(scores, 99).statistic[0, 1]

    repeated = sign_flips(np.tile(scores, 16), 99).statistic[0, 1]

    assert repeated == pytest.approx(4 * statistic, rel=1e-12)
    assert queries_needed(statistic, 4 * abs(statistic), 30) == pytest.approx(480)
    assert queries_needed(0.0, 2.0, 30) == math.inf


# All tests of pairs

TESTS: dict[str, Callable[[Floats], Floats]] = {
    "wilcoxon": wilcoxon_greater,
    "t": t_test,
    "randomisation": lambda scores: randomisation(scores, 99),
    "sign flips": lambda scores: sign_flips(scores, 99).simultaneous,
    "tukey": lambda scores: randomised_tukey(scores, 99),
}


@pytest.mark.parametrize("test", TESTS)
@given(scores=score_tables())
def test_p_values_are_between_0_and_1(test: str, scores: Floats) -> None:
    """Above 0, or NaN where undefined; symmetric unless one-sided."""
    found = TESTS[test](scores)

    assert found.shape == (len(scores), len(scores))
    assert (np.isnan(found) | ((found > 0) & (found <= 1))).all()
    if test != "wilcoxon":
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("test", ["wilcoxon", "t", "randomisation"])
@given(scores=score_tables(submissions=(2, 5)))
def test_a_pair_has_the_same_p_value_without_the_others(test: str, scores: Floats) -> None:
    """None of these tests is adjusted for the number of pairs."""
    assume(scores.shape[1] > 0)

    np.testing.assert_array_equal(TESTS[test](scores)[:2, :2], TESTS[test](scores[:2]))
