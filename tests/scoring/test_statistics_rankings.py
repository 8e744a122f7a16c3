"""Ranks, rules, agreement, tiers, ranges, shake-up and queries: their definitions and invariants."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scorer.measures.matched import Bools, Floats, Ints
from scorer.scoring.statistics.rankings import (
    by_wins,
    consensus,
    footrule,
    mean_moves,
    means,
    rank_frequencies,
    rank_quantiles,
    rank_ranges,
    ranking,
    ranks_of,
    resampled_taus,
    separable_from_leaders,
    split_means,
    tau_b,
    tiers,
)
from scorer.scoring.statistics.resampling import sign_flips
from tests.ranking_rules import RANKING_RULES
from tests.strategies import score_tables

NAN = math.nan


def ladder(submissions: int, queries: int, step: float, seed: int = 1) -> Floats:
    """Scores, [submission, query]; each submission is better by `step` than the next, before noise."""
    random = np.random.default_rng(seed)
    return random.normal(size=(submissions, queries)) - step * np.arange(submissions)[:, np.newaxis]


rankings_of_five = st.lists(st.integers(1, 5), min_size=5, max_size=5).map(np.array)


# Ranks


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ([3, 1, 2], [1, 3, 2]),
        ([2, 2, 1], [1, 1, 3]),
        ([0.3, 0.1 + 0.2, 0.2], [1, 1, 3]),
        ([1e20, 0.2, 0.1], [1, 2, 3]),
        ([NAN, 1, 1], [2, 1, 1]),
        ([NAN, NAN], [1, 1]),
        ([-1, -2, 0], [2, 3, 1]),
        ([], []),
    ],
)
def test_the_highest_value_has_rank_1(values: list[float], ranks: list[int]) -> None:
    """Equal values share the best rank, also if they differ by rounding; NaN is one after the last."""
    assert ranks_of(np.array(values, dtype=np.float64)).tolist() == ranks


@given(score_tables())
def test_ranks_are_those_of_each_row(scores: Floats) -> None:
    """1 plus the number of higher values."""
    found = ranks_of(scores)

    for row, ranks in zip(scores, found, strict=True):
        for value, rank in zip(row, ranks, strict=True):
            if not math.isnan(value):
                assert rank == 1 + (row > value).sum()
            else:
                assert rank == 1 + ranks[~np.isnan(row)].max(initial=0)


def test_frequencies_count_the_ranks_of_resamples() -> None:
    """Shares of the best rank, of the best two, and quantiles."""
    ranks = np.array([[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 1, 3]])

    found = rank_frequencies(ranks)

    assert found.tolist() == [[0.75, 0.25, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]]
    assert rank_quantiles(ranks, 0.5)[0].tolist() == [1, 1, 1.25]


# Rules


@given(score_tables(missing=False), st.sampled_from(list(RANKING_RULES)))
def test_rules_rank_submissions_in_any_order_in_the_same_way(scores: Floats, rule: str) -> None:
    """A ranking of reversed submissions is reversed; ranks follow the values."""
    found, reversed_ = RANKING_RULES[rule](scores), RANKING_RULES[rule](scores[::-1])

    assert reversed_.ranks.tolist() == found.ranks[::-1].tolist()
    sign = -1 if rule in ("mean-rank", "median-rank") else 1
    assert found.ranks.tolist() == ranks_of(sign * found.values).tolist()


def test_rules_rank_by_their_values() -> None:
    """On three queries."""
    scores = np.array([[1.0, 0.1, 0.1], [0.2, 0.2, 0.3], [0.1, 0.2, 0.2]])

    assert RANKING_RULES["mean"](scores).values == pytest.approx([0.4, 0.7 / 3, 0.5 / 3])
    assert RANKING_RULES["median"](scores).values.tolist() == [0.1, 0.2, 0.2]
    assert RANKING_RULES["mean-rank"](scores).values == pytest.approx([7 / 3, 4 / 3, 2])
    assert RANKING_RULES["median-rank"](scores).values.tolist() == [3, 1, 2]
    assert [RANKING_RULES[rule](scores).ranks.tolist() for rule in RANKING_RULES][:4] == [
        [1, 2, 3],
        [3, 1, 1],
        [3, 1, 2],
        [3, 1, 2],
    ]


def test_wins_are_shares_of_the_other_submissions() -> None:
    """A clear order: the first wins against all others, the last against none."""
    scores = ladder(4, 40, 2.0)

    for rule in ("wins", "wins-holm"):
        assert RANKING_RULES[rule](scores).values == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert by_wins(np.array([[NAN, 0.05], [0.95, NAN]])).values.tolist() == [1, 0]


def test_a_single_submission_has_no_share_of_wins() -> None:
    """NaN; its rank is 1."""
    found = RANKING_RULES["wins"](np.ones((1, 5)))

    assert np.isnan(found.values).all()
    assert found.ranks.tolist() == [1]


def test_equal_sums_in_another_order_are_equal_means() -> None:
    """NumPy's mean separates them."""
    random = np.random.default_rng(4)
    values = random.random(120)
    scores = np.array([random.permutation(values) for _ in range(6)])

    assert len(set(np.cumsum(scores, axis=1)[:, -1].tolist())) > 1
    assert len(set(means(scores).tolist())) == 1
    assert RANKING_RULES["mean"](scores).ranks.tolist() == [1] * 6


def test_means_that_are_rounded_already_can_be_ranked() -> None:
    """As a board rounds them before it ranks."""
    assert ranking(np.array([0.51, 0.5, 0.51])).ranks.tolist() == [1, 3, 1]


# Agreement


@given(rankings_of_five, rankings_of_five)
def test_tau_b_is_that_of_scipy(one: Ints, other: Ints) -> None:
    """With ties; NaN for a ranking with only ties."""
    assert tau_b(one, other) == pytest.approx(stats.kendalltau(one, other).statistic, abs=1e-14, nan_ok=True)


@given(st.lists(rankings_of_five, min_size=0, max_size=4), rankings_of_five)
def test_taus_of_resamples_are_those_of_each(resampled: list[Ints], ranks: Ints) -> None:
    """More than a block of them, too."""
    each = np.array(resampled, dtype=np.int64).reshape(-1, 5)

    found = resampled_taus(each.repeat(300, axis=0), ranks)

    np.testing.assert_array_equal(found, np.repeat([tau_b(one, ranks) for one in each], 300))


def test_footrule_adds_the_differences_of_ranks() -> None:
    """Each counts without its sign."""
    assert footrule(np.array([1, 2, 3]), np.array([3, 2, 1])) == 4


def test_consensus_is_the_mean_of_ranks_where_ties_count_as_their_mean() -> None:
    """Two tied at the first rank have rank 1.5."""
    assert consensus(np.array([[1, 1, 3], [1, 2, 3]])).tolist() == [1.25, 1.75, 3]


# Ranges and tiers


def test_ranges_exclude_the_ranks_of_submissions_that_are_decided() -> None:
    """From one more than the better ones to the number without the worse ones."""
    better = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)

    assert rank_ranges(better).tolist() == [[1, 2], [1, 3], [2, 4], [3, 4]]
    assert rank_ranges(better, worse=np.zeros((4, 4), dtype=bool)).tolist() == [[1, 2], [1, 3], [1, 4], [1, 4]]


def test_a_tier_reaches_down_to_the_last_that_is_not_worse_than_its_leader() -> None:
    """The third is worse than the first, although the fourth is not; tiers do not chain. Equal ranks share a tier."""
    better = np.zeros((6, 6), dtype=bool)
    better[0, 2] = better[0, 4:] = better[1, 4:] = True

    found = tiers(np.array([1, 2, 3, 4, 5, 6]), better)
    assert found == [[0, 1, 2, 3], [4, 5]]
    assert separable_from_leaders(found, better).tolist() == [False, False, True, False, False, False]
    found = tiers(np.array([1, 2, 3, 4, 4, 6]), better)
    assert found == [[0, 1, 2, 3, 4], [5]]
    assert separable_from_leaders(found, better).tolist() == [False, False, True, False, True, False]
    assert tiers(np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=bool)) == []


@given(score_tables(missing=False, submissions=(1, 6), queries=(1, 12)), st.sampled_from([0.05, 0.3]))
def test_ranks_ranges_and_tiers_never_contradict(scores: Floats, level: float) -> None:
    """They come from the same decisions, which agree with the order of the means."""
    better = sign_flips(scores, 99, level=level).better()
    ranges, ranks = rank_ranges(better), RANKING_RULES["mean"](scores).ranks
    found = tiers(ranks, better)

    assert (ranges[:, 0] <= ranks).all()
    assert (ranks <= ranges[:, 1]).all()
    for tier in found:
        leader, *others = tier
        assert ranks[leader] == min(ranks[tier])
        worse = separable_from_leaders(found, better)
        assert not others or not worse[[other for other in others if ranks[other] == ranks[others[-1]]]].all()
        for other in others:
            assert better[leader, other] == worse[other]
    for before, after in pairwise(found):
        assert better[before[0], after].all()
        assert ranks[before[-1]] < ranks[after[0]]
    assert [each for tier in found for each in tier] == np.argsort(ranks, kind="stable").tolist()
    for i, j in np.argwhere(better):
        assert ranges[i, 0] < ranges[j, 0]
        assert ranges[i, 1] < ranges[j, 1]


def test_ranges_are_valid_and_tiers_are_one_for_equal_submissions() -> None:
    """Nine of ten boards at least, of six equal submissions; a bootstrap of ranks has no such property."""
    boards = [ladder(6, 30, 0.0, seed) for seed in range(200)]

    found = [rank_ranges(sign_flips(board, 199).better()) for board in boards]

    assert np.mean([(each == [1, 6]).all() for each in found]) > 0.9


# Preliminary and final


def halves(queries: int) -> Bools:
    """The first half of the queries."""
    return np.arange(queries) < queries // 2


def test_moves_are_the_differences_of_final_and_preliminary_ranks() -> None:
    """The first two change places in the rest, and two ranks differ where the final scores are over all queries."""
    scores = np.array([[1.0, 1, 0, 0], [0.5, 0.5, 1, 1], [0, 0, 0.1, 0.0]])

    assert mean_moves(split_means(scores, halves(4), True))[0] == pytest.approx(4 / 3)
    assert mean_moves(split_means(scores, halves(4), False))[0] == pytest.approx(2 / 3)


def test_expected_moves_are_those_of_random_preliminary_queries() -> None:
    """Equal submissions move as any permutation does; the mean of |i - j| over two ranks of n is (n^2 - 1) / 3n."""
    move, *by_chance = mean_moves(split_means(ladder(8, 400, 0.0), halves(400), True))

    assert np.mean(by_chance) == pytest.approx(63 / 24, abs=0.25)
    assert np.quantile(by_chance, 0.025) < move < np.quantile(by_chance, 0.975)


def test_clear_differences_do_not_move() -> None:
    """No random set of queries changes the order."""
    assert not mean_moves(split_means(ladder(5, 100, 5.0), halves(100), False)).any()


def test_preliminary_scores_that_were_tuned_move_more_than_chance() -> None:
    """Each submission adds noise that it chose for the preliminary queries."""
    scores = ladder(10, 400, 0.05)
    scores[:, :200] += np.random.default_rng(9).normal(size=(10, 1))

    move, *by_chance = mean_moves(split_means(scores, halves(400), True))

    assert move > np.quantile(by_chance, 0.975)
