"""Judged items and matched submissions: the sums that all measures use."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.measures.matched import JudgedItems, Matched, Tied, cumulative, ratio
from tests.strategies import matched

GRADES = {"q1": {"a": 2.0, "b": 1.0, "c": 0.0}, "q2": {}, "q3": {"a": 1.0, "b": -1.0}}
LISTS = {"q1": ["b", "x", "a", "b", "c"], "q3": ["b", "a"]}


def test_found_items_are_judged_items_at_their_first_rank() -> None:
    """An unjudged item, and a repeated item, leaves a gap in the ranks."""
    found = matched(GRADES, LISTS).found

    assert found.query.tolist() == [0, 0, 0, 2, 2]
    assert found.rank.tolist() == [1, 3, 5, 1, 2]
    assert found.grade.tolist() == [1.0, 2.0, 0.0, -1.0, 1.0]
    assert found.tie_rank.tolist() == [2, 1, 0, 0, 1]


def test_where_selects_in_all_arrays() -> None:
    """A selected entry has its query, rank, grade and tie rank."""
    found = matched(GRADES, LISTS).found
    chosen = found.where(found.grade == 2)

    assert (chosen.query.item(), chosen.rank.item(), chosen.grade.item(), chosen.tie_rank.item()) == (0, 3, 2.0, 1)


@pytest.mark.parametrize(("k", "ranks"), [(1, [1, 1]), (3, [1, 3, 1, 2]), (None, [1, 3, 5, 1, 2])])
def test_top_selects_by_rank(k: int | None, ranks: list[int]) -> None:
    """The first k ranks have fewer than k judged items if some items are unjudged."""
    assert matched(GRADES, LISTS).found.top(k).rank.tolist() == ranks


def test_relevant_means_a_positive_grade_or_one_at_the_threshold() -> None:
    """Grades of 0 and below are not relevant unless a threshold says so."""
    found = matched(GRADES, LISTS).found

    assert found.relevant().grade.tolist() == [1.0, 2.0, 1.0]
    assert found.relevant(2).grade.tolist() == [2.0]
    assert found.relevant(0).grade.tolist() == [1.0, 2.0, 0.0, 1.0]


def test_positions_begin_with_1_in_each_query() -> None:
    """The first entry of a query has position 1, at any rank."""
    assert matched(GRADES, LISTS).found.position_in_query().tolist() == [1, 2, 3, 1, 2]


def test_a_submission_without_judged_items_has_empty_arrays() -> None:
    """Its totals are 0."""
    nothing = matched(GRADES, {})

    assert len(nothing.found) == 0
    assert nothing.found.position_in_query().tolist() == []
    assert nothing.total(nothing.found).tolist() == [0.0, 0.0, 0.0]
    assert nothing.retrieved.tolist() == [0, 0, 0]


def test_totals_have_an_entry_for_every_query() -> None:
    """The total of a query without entries is 0, also for the last query."""
    seen = matched(GRADES | {"q4": {"a": 1.0}}, LISTS)

    assert seen.total(seen.found).tolist() == [3.0, 0.0, 2.0, 0.0]
    assert seen.total(seen.found, seen.found.grade).tolist() == [3.0, 0.0, 0.0, 0.0]
    assert seen.total(seen.found).dtype == np.float64


def test_relevant_items_are_counted_in_the_solution_and_in_the_list() -> None:
    """R counts in the solution, hits@k in the list."""
    seen = matched(GRADES, LISTS)

    assert seen.relevant_items().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found().tolist() == [2.0, 0.0, 1.0]
    assert seen.relevant_found(k=1).tolist() == [1.0, 0.0, 0.0]
    assert seen.relevant_found(2, k=3).tolist() == [1.0, 0.0, 0.0]


def test_the_ideal_list_has_all_items_by_descending_grade() -> None:
    """Its ranks have no gaps."""
    ideal: JudgedItems = matched(GRADES, LISTS).ideal

    assert ideal.rank.tolist() == [1, 2, 3, 1, 2]
    assert ideal.grade.tolist() == [2.0, 1.0, 0.0, 1.0, -1.0]


def test_a_ratio_is_nan_where_it_is_not_defined() -> None:
    """Nothing is divided there, so numpy does not warn."""
    quotients = ratio(np.array([1.0, 2.0]), np.array([0.0, 4.0]), np.array([False, True]))

    np.testing.assert_array_equal(quotients, [np.nan, 0.5])


def with_a_tie() -> Matched:
    """A list with an item of grade 1, then a tie of three items: grade 2, grade 0, and an unjudged item."""
    seen = matched({"q": {"a": 1.0, "b": 2.0, "c": 0.0}}, {"q": ["a", "b", "c", "x"]})
    tied = Tied(np.array([0, 1, 1]), np.array([1, 3, 3]))
    hits = JudgedItems(seen.found.query, tied.before + 1, seen.found.grade, seen.found.tie_rank, tied)
    return Matched(hits, seen.ideal, seen.retrieved)


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 1 + 1 / 3), (3, 1 + 2 / 3), (4, 2), (9, 2), (None, 2)])
def test_a_tied_item_counts_by_its_probability(k: int | None, count: float) -> None:
    """The relevant item has each of the three ranks with probability 1/3."""
    seen = with_a_tie()

    assert seen.relevant_found(k=k).tolist() == pytest.approx([count])
    assert seen.count(seen.found.relevant(), np.array([float(k or 99)])).tolist() == pytest.approx([count])


def test_the_ranks_of_a_tie_share_its_values() -> None:
    """Each rank up to the cut-off has the mean value."""
    ranked = with_a_tie().values_by_rank(with_a_tie().found, lambda hits: hits.grade, 3)

    assert ranked.rank.tolist() == [1, 2, 3]
    assert ranked.value.tolist() == pytest.approx([1, 2 / 3, 2 / 3])


def test_a_condensed_list_has_only_judged_items() -> None:
    """Ranks have no gaps, also in ties; an item with a negative grade is unjudged."""
    seen = matched({"q": {"a": 1.0, "b": -1.0, "c": 0.0}, "r": {}}, {"q": ["x", "a", "b", "c"], "r": ["x"]})
    condensed, tied = seen.condensed(), with_a_tie().condensed().found.tied

    assert condensed.found.rank.tolist() == [1, 2]
    assert condensed.found.grade.tolist() == [1.0, 0.0]
    assert condensed.retrieved.tolist() == [2, 0]
    assert tied is not None
    assert (tied.before.tolist(), tied.size.tolist()) == ([0, 1, 1], [1, 2, 2])


def test_counts_so_far_begin_again_in_each_query() -> None:
    """Only the entries of the mask count."""
    found = matched(GRADES, LISTS).found

    assert found.count_so_far(found.grade > 0).tolist() == [1, 2, 2, 0, 1]
    assert found.count_so_far(np.ones(5, dtype=bool)).tolist() == found.position_in_query().tolist()


def test_cumulative_results_begin_again_in_each_group() -> None:
    """Sums and products."""
    position, values = np.array([1, 2, 3, 1, 2]), np.array([2.0, 3.0, 4.0, 5.0, 6.0])

    assert cumulative(position, values).tolist() == [2, 5, 9, 5, 11]
    assert cumulative(position, values, np.multiply).tolist() == [2, 6, 24, 5, 30]
    assert cumulative(position[:0], values[:0]).tolist() == []
