"""The rule for undefined scores, and the smallest inputs, for every function of scorer.scoring.statistics."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scorer.scoring.statistics
from scorer.measures.matched import Floats, Ints
from scorer.options import OverallRule
from scorer.scoring.statistics import all_pairs, paired_tests, rankings, resampling
from tests.ranking_rules import RANKING_RULES
from tests.strategies import score_tables

NAN = np.nan

OF_SUBMISSIONS: dict[str, Callable[[Floats], Floats]] = {
    "resampled_means": lambda scores: resampling.resampled_means(scores, 40).T,
    "column_quantiles": lambda scores: resampling.column_quantiles(
        np.nan_to_num(resampling.resampled_means(scores, 40)), np.array([0.25, 0.5])
    ),
    "percentile_intervals": lambda scores: resampling.percentile_intervals(resampling.resampled_means(scores, 40)),
    "bca_intervals": lambda scores: resampling.bca_intervals(resampling.resampled_means(scores, 40), scores),
    "mean_intervals": lambda scores: resampling.mean_intervals(np.clip(scores, 0, 1)),
    "gaffke_bounds": lambda scores: resampling.gaffke_bounds(np.clip(scores, 0, 1)),
    "difference_intervals": resampling.difference_intervals,
    "intervals_of_sum": lambda scores: resampling.intervals_of_sum(
        np.clip(rankings.means(scores), 0, 1)[None], resampling.mean_intervals(np.clip(scores, 0, 1))[None], np.ones(1)
    ),
    "means": rankings.means,
    "mean": lambda scores: RANKING_RULES["mean"](scores).values,
    "median": lambda scores: RANKING_RULES["median"](scores).values,
}
"""Numbers about one submission, [submission, ...]."""

OF_PAIRS: dict[str, Callable[[Floats], Floats | Ints]] = {
    "wilcoxon_greater": paired_tests.wilcoxon_greater,
    "t_test": paired_tests.t_test,
    "randomisation": lambda scores: paired_tests.randomisation(scores, 40),
    "effect_sizes": paired_tests.effect_sizes,
    "outcomes": lambda scores: paired_tests.outcomes(scores[:, None] - scores),
    "sign_flips, statistic": lambda scores: resampling.sign_flips(scores, 40).statistic,
    "sign_flips, size": lambda scores: resampling.sign_flips(scores, 40).size,
    "sign_flips, queries": lambda scores: resampling.sign_flips(scores, 40).queries,
}
"""Numbers about two submissions, [i, j, ...]."""


def decisions(scores: Floats) -> resampling.SignFlips:
    """The sign flips, and all that follows from them."""
    tests = resampling.sign_flips(scores, 40)
    size = scores.shape[1]
    rankings.rank_ranges(tests.better_marginally(), tests.worse_marginally())
    rankings.tiers(np.arange(len(scores)), tests.better())
    resampling.smallest_differences(tests, size)
    resampling.typical_difference(resampling.smallest_differences(tests, size), tests)
    resampling.queries_needed(float(tests.statistic.max(initial=0.0)), tests.critical, size)
    return tests


OF_ALL: dict[str, Callable[[Floats], Any]] = {
    "sign_flips": decisions,
    "pair_p_values": lambda scores: resampling.pair_p_values(scores, 40),
    "holm": lambda scores: paired_tests.holm(scores.ravel()),
    "benjamini_hochberg": lambda scores: paired_tests.benjamini_hochberg(scores.ravel()),
    "holm_matrix": lambda scores: paired_tests.holm_matrix(paired_tests.t_test(scores), ordered=False),
    "randomised_tukey": lambda scores: paired_tests.randomised_tukey(scores, 40),
    "mean rank": RANKING_RULES["mean-rank"],
    "median rank": RANKING_RULES["median-rank"],
    "by_wins": lambda scores: rankings.by_wins(paired_tests.wilcoxon_greater(scores)),
    "ranking": lambda scores: rankings.ranking(rankings.means(scores)),
    "ranks_of": rankings.ranks_of,
    "values_of_track": lambda scores: [rankings.values_of_track(scores.T, rule) for rule in get_args(OverallRule)],
    "rank_frequencies": lambda scores: rankings.rank_frequencies(rankings.ranks_of(scores.T)),
    "rank_quantiles": lambda scores: rankings.rank_quantiles(rankings.ranks_of(resampling.resampled_means(scores, 9))),
    "resampled_taus": lambda scores: rankings.resampled_taus(
        rankings.ranks_of(resampling.resampled_means(scores, 9)), RANKING_RULES["mean"](scores).ranks
    ),
    "tau_b": lambda scores: rankings.tau_b(RANKING_RULES["mean"](scores).ranks, RANKING_RULES["median"](scores).ranks),
    "footrule": lambda scores: rankings.footrule(
        RANKING_RULES["mean"](scores).ranks, RANKING_RULES["median"](scores).ranks
    ),
    "consensus": lambda scores: rankings.consensus(rankings.ranks_of(scores.T)),
    "mean_moves": lambda scores: rankings.mean_moves(
        rankings.split_means(scores, np.arange(scores.shape[1]) % 3 == 0, True, sets=9)
    ),
    "magnitude": all_pairs.magnitude,
    "gain_of_choosing": resampling.gain_of_choosing,
}
"""Numbers that need all submissions, or anything else than scores."""

EXAMPLES = {
    "no submission": np.zeros((0, 4)),
    "no query": np.zeros((3, 0)),
    "nothing": np.zeros((0, 0)),
    "one submission": np.array([[0.1, 0.5, 0.5]]),
    "one query": np.array([[0.1], [0.5], [0.5]]),
    "one of each": np.array([[0.5]]),
    "all equal": np.full((3, 5), 0.1),
    "all undefined": np.full((3, 5), NAN),
    "one undefined": np.array([[0.1, 0.2, 0.3, 0.9], [NAN] * 4, [0.3, 0.1, 0.1, 0.2]]),
    "no query in common": np.array([[0.1, 0.4, NAN, NAN], [NAN, NAN, 0.2, 0.9]]),
    "very large": np.array([[1e300, 1e299, 3e300], [1e300, 1.0, 0.0]]),
    "very small": np.array([[1e-310, 1e-320, 0.0], [0.0, 5e-324, 1e-300]]),
}

EVERY = OF_SUBMISSIONS | OF_PAIRS | OF_ALL


def public_functions() -> set[str]:
    """The names of all public functions of scorer.scoring.statistics whose first parameter is an array."""
    folder = Path(scorer.scoring.statistics.__file__).parent
    modules = [ast.parse(file.read_text(encoding="utf-8")) for file in folder.glob("*.py")]
    return {
        node.name
        for module in modules
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.args.args
        and ast.unparse(node.args.args[0].annotation or node).startswith(("Floats", "Ints"))
    }


def test_every_public_function_of_arrays_is_tested_here() -> None:
    """Those that others call by another name are listed with it."""
    within = {"moments"}  # of t_test and effect_sizes
    within |= {
        "unit_of",
        "inverse_of",
        "sizes",
        "typical_difference",
        "split_means",
        "tiers",
        "by_median",
        "by_query_ranks",
    }  # of sign_flips and mean_moves, and of two rules
    within |= {"sums_of_units", "values_of_units", "number_of_units", "units_within", "unless_few", "shown_intervals"}

    assert public_functions() - within <= {name.partition(",")[0] for name in EVERY}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_smallest_inputs_have_results(example: str, name: str) -> None:
    """No error and no warning."""
    EVERY[name](EXAMPLES[example])


@pytest.mark.parametrize("name", OF_SUBMISSIONS)
@given(scores=score_tables(submissions=(2, 5)))
def test_a_number_about_a_submission_does_not_depend_on_the_others(name: str, scores: Floats) -> None:
    """Neither on their scores, nor on where these are undefined."""
    found = OF_SUBMISSIONS[name](scores)

    np.testing.assert_array_equal(OF_SUBMISSIONS[name](scores[:1])[0], found[0])


@pytest.mark.parametrize("name", ["means", "median"])
@given(scores=score_tables(submissions=(1, 3)))
def test_a_number_about_a_submission_is_over_its_queries(name: str, scores: Floats) -> None:
    """The same without the queries that have no score; NaN if no query has one."""
    found = OF_SUBMISSIONS[name](scores)

    for row, value in zip(scores, found, strict=True):
        defined = row[~np.isnan(row)]
        np.testing.assert_array_equal(OF_SUBMISSIONS[name](defined[np.newaxis])[0], value)
        assert np.isnan(value).all() == (not defined.size)


@pytest.mark.parametrize("name", OF_PAIRS)
@given(scores=score_tables(submissions=(2, 5)))
def test_a_number_about_a_pair_is_over_the_queries_with_scores_of_both(name: str, scores: Floats) -> None:
    """The same if both are undefined wherever one of them is, and without the other submissions."""
    found = OF_PAIRS[name](scores)

    both = ~np.isnan(scores[:2]).any(axis=0)
    pair = np.where(both, scores[:2], NAN)
    np.testing.assert_allclose(OF_PAIRS[name](pair)[0, 1], found[0, 1], rtol=1e-12)
    np.testing.assert_allclose(OF_PAIRS[name](pair)[1, 0], found[1, 0], rtol=1e-12)


@given(scores=score_tables(submissions=(1, 4)))
def test_a_submission_without_scores_decides_nothing_and_changes_nothing(scores: Floats) -> None:
    """Its p-values are 1, its rank is last, and those of the others are the same as without it."""
    added = np.concatenate([scores, np.full((1, scores.shape[1]), NAN)])

    ours, other = resampling.sign_flips(added, 40), resampling.sign_flips(scores, 40)

    assert (ours.simultaneous[-1] == 1).all()
    assert (ours.marginal[-1] == 1).all()
    assert ours.simultaneous[:-1, :-1].tolist() == other.simultaneous.tolist()
    assert ours.critical == other.critical
    assert RANKING_RULES["mean"](added).ranks[:-1].tolist() == RANKING_RULES["mean"](scores).ranks.tolist()
    assert RANKING_RULES["mean"](added).ranks[-1] == RANKING_RULES["mean"](added).ranks.max()
    assert np.isnan(paired_tests.randomised_tukey(added, 40)[-1]).all()


@given(scores=score_tables(submissions=(2, 4)), data=st.data())
def test_queries_without_any_score_change_no_decision(scores: Floats, data: st.DataObject) -> None:
    """As a query for which the measure is undefined for everybody; exact tests of pairs give the same numbers."""
    assume(scores.shape[1] > 0)
    at = data.draw(st.integers(0, scores.shape[1]))
    added = np.insert(scores, at, NAN, axis=1)

    for name in ("wilcoxon_greater", "t_test", "effect_sizes", "outcomes"):
        # An effect that is 0 may be computed as one rounding error.
        np.testing.assert_allclose(OF_PAIRS[name](added), OF_PAIRS[name](scores), rtol=1e-12, atol=1e-12)
    for rule, by_rule in RANKING_RULES.items():
        assert by_rule(added).ranks.tolist() == by_rule(scores).ranks.tolist(), rule


def test_tukeys_test_leaves_out_queries_that_lack_a_score() -> None:
    """The exception to the rule: it compares all submissions at once."""
    scores = np.random.default_rng(1).random((3, 9))
    missing = np.insert(scores, 4, [0.5, NAN, 0.1], axis=1)

    np.testing.assert_array_equal(paired_tests.randomised_tukey(missing, 99), paired_tests.randomised_tukey(scores, 99))
