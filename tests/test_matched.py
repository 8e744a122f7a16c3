"""Hits and Judged: the sums that all measures are made of."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.measures.arrays import cumulative, ratio
from scorer.measures.matched import JudgedItems, Matched, Tied
from tests.strategies import matched

GRADES = {"q1": {"a": 2.0, "b": 1.0, "c": 0.0}, "q2": {}, "q3": {"a": 1.0, "b": -1.0}}
LISTS = {"q1": ["b", "x", "a", "b", "c"], "q3": ["b", "a"]}


def test_hits_keep_only_judged_items_at_their_first_place() -> None:
    """What the solution does not list, and what stands again, leaves a gap in the ranks."""
    found = matched(GRADES, LISTS).found

    assert found.query.tolist() == [0, 0, 0, 2, 2]
    assert found.rank.tolist() == [1, 3, 5, 1, 2]
    assert found.grade.tolist() == [1.0, 2.0, 0.0, -1.0, 1.0]
    assert found.tie_rank.tolist() == [2, 1, 0, 0, 1]


def test_where_keeps_all_four_columns_together() -> None:
    """A chosen entry keeps its query, rank, grade and tie rank."""
    found = matched(GRADES, LISTS).found
    chosen = found.where(found.grade == 2)

    assert (chosen.query.item(), chosen.rank.item(), chosen.grade.item(), chosen.tie_rank.item()) == (0, 3, 2.0, 1)


@pytest.mark.parametrize(("k", "ranks"), [(1, [1, 1]), (3, [1, 3, 1, 2]), (None, [1, 3, 5, 1, 2])])
def test_top_counts_places_and_not_hits(k: int | None, ranks: list[int]) -> None:
    """The first k places hold fewer than k hits where items are unjudged."""
    assert matched(GRADES, LISTS).found.top(k).rank.tolist() == ranks


def test_relevant_means_a_positive_grade_or_one_at_the_threshold() -> None:
    """Grades of 0 and below are not relevant unless a threshold says so."""
    found = matched(GRADES, LISTS).found

    assert found.relevant().grade.tolist() == [1.0, 2.0, 1.0]
    assert found.relevant(2).grade.tolist() == [2.0]
    assert found.relevant(0).grade.tolist() == [1.0, 2.0, 0.0, 1.0]


def test_nth_counts_anew_in_each_query() -> None:
    """The first hit of a query is number 1, whatever its rank."""
    assert matched(GRADES, LISTS).found.position_in_query().tolist() == [1, 2, 3, 1, 2]


def test_nothing_found_is_no_special_case() -> None:
    """Empty hits have empty columns and totals of 0."""
    nothing = matched(GRADES, {})

    assert len(nothing.found) == 0
    assert nothing.found.position_in_query().tolist() == []
    assert nothing.total(nothing.found).tolist() == [0.0, 0.0, 0.0]
    assert nothing.retrieved.tolist() == [0, 0, 0]


def test_totals_have_an_entry_for_every_query() -> None:
    """A query without hits, the last one too, sums to 0."""
    seen = matched(GRADES | {"q4": {"a": 1.0}}, LISTS)

    assert seen.total(seen.found).tolist() == [3.0, 0.0, 2.0, 0.0]
    assert seen.total(seen.found, seen.found.grade).tolist() == [3.0, 0.0, 0.0, 0.0]
    assert seen.total(seen.found).dtype == np.float64


def test_relevant_items_are_counted_in_the_solution_and_in_the_list() -> None:
    """R is of the solution; hits@k are of the list."""
    seen = matched(GRADES, LISTS)

    assert seen.relevant_items().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found(k=1).tolist() == [1.0, 0.0, 0.0]
    assert seen.relevant_found(2, k=3).tolist() == [1.0, 0.0, 0.0]


def test_ideal_has_every_item_the_best_first_without_gaps() -> None:
    """The ideal list is hits too, so that one kernel runs on both."""
    ideal: JudgedItems = matched(GRADES, LISTS).ideal

    assert ideal.rank.tolist() == [1, 2, 3, 1, 2]
    assert ideal.grade.tolist() == [2.0, 1.0, 0.0, 1.0, -1.0]


def test_a_ratio_is_nan_exactly_where_it_is_not_defined() -> None:
    """Nothing is divided there, so nothing warns."""
    quotients = ratio(np.array([1.0, 2.0]), np.array([0.0, 4.0]), np.array([False, True]))

    np.testing.assert_array_equal(quotients, [np.nan, 0.5])


def in_no_order() -> Matched:
    """A list with an item of grade 1, then three places that tie, with grades 2 and 0 and an unjudged item in them."""
    seen = matched({"q": {"a": 1.0, "b": 2.0, "c": 0.0}}, {"q": ["a", "b", "c", "x"]})
    tied = Tied(np.array([0, 1, 1]), np.array([1, 3, 3]))
    hits = JudgedItems(seen.found.query, tied.before + 1, seen.found.grade, seen.found.tie_rank, tied)
    return Matched(hits, seen.ideal, seen.retrieved)


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 1 + 1 / 3), (3, 1 + 2 / 3), (4, 2), (9, 2), (None, 2)])
def test_what_ties_is_at_its_places_by_chance(k: int | None, count: float) -> None:
    """Each of the three places holds the relevant one with probability 1/3."""
    seen = in_no_order()

    assert seen.relevant_found(k=k).tolist() == pytest.approx([count])
    assert seen.count(seen.found.relevant(), np.array([float(k or 99)])).tolist() == pytest.approx([count])


def test_the_places_of_a_tie_share_its_values() -> None:
    """Place by place; past the cut-off there is nothing."""
    places = in_no_order().values_by_rank(in_no_order().found, lambda hits: hits.grade, 3)

    assert places.rank.tolist() == [1, 2, 3]
    assert places.value.tolist() == pytest.approx([1, 2 / 3, 2 / 3])


def test_a_condensed_list_has_judged_items_alone() -> None:
    """Ranks close up, in ties too; an item judged below 0 is one that is not judged."""
    seen = matched({"q": {"a": 1.0, "b": -1.0, "c": 0.0}, "r": {}}, {"q": ["x", "a", "b", "c"], "r": ["x"]})
    condensed, tied = seen.condensed(), in_no_order().condensed().found.tied

    assert condensed.found.rank.tolist() == [1, 2]
    assert condensed.found.grade.tolist() == [1.0, 0.0]
    assert condensed.retrieved.tolist() == [2, 0]
    assert tied is not None
    assert (tied.before.tolist(), tied.size.tolist()) == ([0, 1, 1], [1, 2, 2])


def test_so_far_counts_anew_in_each_query() -> None:
    """Which entries are counted is the caller's choice."""
    found = matched(GRADES, LISTS).found

    assert found.count_so_far(found.grade > 0).tolist() == [1, 2, 2, 0, 1]
    assert found.count_so_far(np.ones(5, dtype=bool)).tolist() == found.position_in_query().tolist()


def test_running_results_begin_anew() -> None:
    """Sums and products, within each query."""
    nth, values = np.array([1, 2, 3, 1, 2]), np.array([2.0, 3.0, 4.0, 5.0, 6.0])

    assert cumulative(nth, values).tolist() == [2, 5, 9, 5, 11]
    assert cumulative(nth, values, np.multiply).tolist() == [2, 6, 24, 5, 30]
    assert cumulative(nth[:0], values[:0]).tolist() == []
