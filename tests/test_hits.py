"""Hits and Judged: the sums that all measures are made of."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.hits import Hits, ratio
from tests.strategies import judged

GRADES = {"q1": {"a": 2.0, "b": 1.0, "c": 0.0}, "q2": {}, "q3": {"a": 1.0, "b": -1.0}}
LISTS = {"q1": ["b", "x", "a", "b", "c"], "q3": ["b", "a"]}


def test_hits_keep_only_judged_items_at_their_first_place() -> None:
    """What the solution does not list, and what stands again, leaves a gap in the ranks."""
    found = judged(GRADES, LISTS).found

    assert found.query.tolist() == [0, 0, 0, 2, 2]
    assert found.rank.tolist() == [1, 3, 5, 1, 2]
    assert found.grade.tolist() == [1.0, 2.0, 0.0, -1.0, 1.0]
    assert found.tie_rank.tolist() == [2, 1, 0, 0, 1]


def test_where_keeps_all_four_columns_together() -> None:
    """A chosen entry keeps its query, rank, grade and tie rank."""
    found = judged(GRADES, LISTS).found
    chosen = found.where(found.grade == 2)

    assert (chosen.query.item(), chosen.rank.item(), chosen.grade.item(), chosen.tie_rank.item()) == (0, 3, 2.0, 1)


@pytest.mark.parametrize(("k", "ranks"), [(1, [1, 1]), (3, [1, 3, 1, 2]), (None, [1, 3, 5, 1, 2])])
def test_top_counts_places_and_not_hits(k: int | None, ranks: list[int]) -> None:
    """The first k places hold fewer than k hits where items are unjudged."""
    assert judged(GRADES, LISTS).found.top(k).rank.tolist() == ranks


def test_relevant_means_a_positive_grade_or_one_at_the_threshold() -> None:
    """Grades of 0 and below are not relevant unless a threshold says so."""
    found = judged(GRADES, LISTS).found

    assert found.relevant().grade.tolist() == [1.0, 2.0, 1.0]
    assert found.relevant(2).grade.tolist() == [2.0]
    assert found.relevant(0).grade.tolist() == [1.0, 2.0, 0.0, 1.0]


def test_nth_counts_anew_in_each_query() -> None:
    """The first hit of a query is number 1, whatever its rank."""
    assert judged(GRADES, LISTS).found.nth().tolist() == [1, 2, 3, 1, 2]


def test_nothing_found_is_no_special_case() -> None:
    """Empty hits have empty columns and totals of 0."""
    nothing = judged(GRADES, {})

    assert len(nothing.found) == 0
    assert nothing.found.nth().tolist() == []
    assert nothing.total(nothing.found).tolist() == [0.0, 0.0, 0.0]
    assert nothing.retrieved.tolist() == [0, 0, 0]


def test_totals_have_an_entry_for_every_query() -> None:
    """A query without hits, the last one too, sums to 0."""
    seen = judged(GRADES | {"q4": {"a": 1.0}}, LISTS)

    assert seen.total(seen.found).tolist() == [3.0, 0.0, 2.0, 0.0]
    assert seen.total(seen.found, seen.found.grade).tolist() == [3.0, 0.0, 0.0, 0.0]
    assert seen.total(seen.found).dtype == np.float64


def test_relevant_items_are_counted_in_the_solution_and_in_the_list() -> None:
    """R is of the solution; hits@k are of the list."""
    seen = judged(GRADES, LISTS)

    assert seen.relevant_items().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found(k=1).tolist() == [1.0, 0.0, 0.0]
    assert seen.relevant_found(2, k=3).tolist() == [1.0, 0.0, 0.0]


def test_ideal_has_every_item_the_best_first_without_gaps() -> None:
    """The ideal list is hits too, so that one kernel runs on both."""
    ideal: Hits = judged(GRADES, LISTS).ideal

    assert ideal.rank.tolist() == [1, 2, 3, 1, 2]
    assert ideal.grade.tolist() == [2.0, 1.0, 0.0, 1.0, -1.0]


def test_a_ratio_is_nan_exactly_where_it_is_not_defined() -> None:
    """Nothing is divided there, so nothing warns."""
    quotients = ratio(np.array([1.0, 2.0]), np.array([0.0, 4.0]), np.array([False, True]))

    np.testing.assert_array_equal(quotients, [np.nan, 0.5])
