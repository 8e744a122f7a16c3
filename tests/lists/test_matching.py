"""match(): the judged items in a submission's lists, compared with a slow matcher that needs no file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from scorer.errors import Findings
from scorer.lists import Counts
from scorer.lists.match import ScatteredError, match
from scorer.lists.reading import memory
from scorer.lists.reading.arrow import fingerprints
from scorer.lists.reading.blocks import Graded, Ranked, by_query, whole_lists
from scorer.lists.solution import Solution
from scorer.measures.matched import JudgedItems, Matched
from tests import strategies

Result = tuple[Matched, Counts, Findings, Findings]


def matched_lists(
    solution: Mapping[str, Mapping[str, float]] | Solution,
    batches: Sequence[Ranked],
    parted: Callable[[Sequence[Ranked]], Iterable[Sequence[Ranked]]] = lambda batches: [batches],
    **rules: object,
) -> Result:
    """The match of the batches, by default as one part, with its counts, problems and notes."""
    problems, notes = Findings(), Findings()
    known = solution if isinstance(solution, Solution) else read(solution)
    matched, counts = match(known, parted(batches), problems=problems, notes=notes, **rules)  # type: ignore[arg-type]
    return matched, counts, problems, notes


def read(solution: Mapping[str, Mapping[str, float]], *, listed_is_relevant: bool = False) -> Solution:
    """A solution in memory, which may have no relevant item."""
    return Solution.of([memory.graded_of(solution, Findings())], Findings(), is_vlnet=listed_is_relevant)


def lists(submission: Mapping[str, Sequence[str]]) -> Ranked:
    """The lists as one batch without run scores."""
    return memory.ranked_of(submission, Findings())


def rows(submission: Mapping[str, Sequence[str]], order: Sequence[int]) -> Iterator[Ranked]:
    """The lists as batches of one row each, in the given order, with run scores that fall with the rank."""
    every = [(query, item, -float(rank)) for query, items in submission.items() for rank, item in enumerate(items, 1)]
    for row in order:
        query, item, score = every[row]
        yield Ranked(
            query=pa.array([query]),
            line=np.array([row + 1]),
            lengths=None,
            item=pa.array([item]),
            run_score=np.array([score]),
        )


def assert_same(found: JudgedItems, expected: JudgedItems) -> None:
    """Equal in all four arrays."""
    for name in ("query", "rank", "grade", "tie_rank"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@strategies.examples(150)
@given(strategies.solutions(), strategies.submissions(), st.booleans())
def test_match_equals_the_slow_matcher(
    solution: strategies.Solution, submission: strategies.Submission, listed_is_relevant: bool
) -> None:
    """Judged items, ideal lists and lengths are equal, with missing, unknown, repeated and empty lists."""
    expected = strategies.matched(solution, submission, listed_is_relevant=listed_is_relevant)
    matched, _ = match(
        read(solution, listed_is_relevant=listed_is_relevant),
        [[lists(submission)]],
        problems=Findings(),
        notes=Findings(),
    )

    assert_same(matched.found, expected.found)
    assert_same(matched.ideal, expected.ideal)
    np.testing.assert_array_equal(matched.retrieved, expected.retrieved)


@strategies.examples(100)
@given(strategies.solutions(), strategies.submissions(), st.randoms(use_true_random=False))
def test_run_scores_order_shuffled_lines(
    solution: strategies.Solution, submission: strategies.Submission, random: Random
) -> None:
    """The lines of a run may be in any order, and spread over batches."""
    order = list(range(sum(map(len, submission.values()))))
    random.shuffle(order)

    matched, *_ = matched_lists(solution, list(rows(submission, order)))

    assert_same(matched.found, strategies.matched(solution, submission).found)


@pytest.mark.holds(
    r"Items with equal run scores are ordered by item id, descending, as in trec_eval\.",
    r"Items with equal run scores are ordered as listed in the file\.",
)
@strategies.examples(100)
@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.text("aéz0", min_size=1, max_size=2), st.integers(0, 2)), max_size=30),
    st.sampled_from(["trec", "order"]),
)
def test_equal_run_scores_follow_the_rule(lines: list[tuple[str, str, int]], ties: str) -> None:
    """Under "trec" the id with the greatest bytes comes first; under "order" the first in the file."""
    batch = Ranked(
        query=pa.array([line[0] for line in lines], pa.string()),
        line=np.arange(1, len(lines) + 1),
        lengths=None,
        item=pa.array([line[1] for line in lines], pa.string()),
        run_score=np.array([line[2] for line in lines], dtype=float),
    )
    submission = {}
    for query in dict.fromkeys(line[0] for line in lines):
        ranked = [line for line in lines if line[0] == query]
        if ties == "trec":
            ranked.sort(key=lambda line: line[1].encode(), reverse=True)
        submission[query] = [line[1] for line in sorted(ranked, key=lambda line: -line[2])]
    solution = {query: dict.fromkeys(items, 1.0) for query, items in submission.items()} or {"p": {"a": 1.0}}

    matched, *_ = matched_lists(solution, [batch], ties=ties)

    assert_same(matched.found, strategies.matched(solution, submission).found)


@pytest.mark.holds(r"Only the first 2 items of a list count\.")
@strategies.examples(100)
@given(strategies.solutions(), strategies.submissions(), st.integers(1, 10))
def test_a_list_ends_at_the_list_length(
    solution: strategies.Solution, submission: strategies.Submission, length: int
) -> None:
    """The result is that of a file without the items beyond it."""
    cut = {query: items[:length] for query, items in submission.items()}
    matched, counts, *_ = matched_lists(solution, [lists(submission)], list_length=length)
    expected, *_ = matched_lists(solution, [lists(cut)])

    assert_same(matched.found, expected.found)
    np.testing.assert_array_equal(matched.retrieved, expected.retrieved)
    assert counts.overlong == sum(len(items) > length for query, items in submission.items() if query in solution)


SOLUTION = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"d": 1.0}}


def test_counts_of_queries_lists_and_items() -> None:
    """Every field of Counts."""
    _, counts, problems, _ = matched_lists(SOLUTION, [lists({"q1": ["a", "x", "a", "a"], "q2": [], "q9": ["a", "b"]})])

    assert not problems
    assert counts == Counts(queries=3, answered=2, unknown=1, items=4, repeated=2, overlong=0, in_solution=1)


@pytest.mark.holds(
    r"Queries that are not in the solution are ignored\.",
    r"An item that is listed twice counts once, at its first rank\.",
)
def test_notes_report_what_is_scored_nevertheless() -> None:
    """Missing and unknown queries, empty, short and long lists, repeated items: each with its effect."""
    submission = {"q1": ["a", "x", "a", "a"], "q2": [], "q9": ["a"]}
    *_, notes = matched_lists(SOLUTION, [lists(submission)], list_length=3)

    assert notes.lines("f") == [
        'f: 1 of 3 queries have no list ("q3"); each scores 0, unless nothing is relevant to it',
        "f: 1 list is empty; each scores 0, unless nothing is relevant to its query",
        "f: 1 list is longer than 3 items; later items are ignored",
        'f:1: item "a" is listed twice for query "q1" (first at rank 1); list each item once',
        'f:3: 1 list is shorter than 3 items, that of query "q9" with 1; unused ranks earn nothing',
        'f:3: query "q9" is unknown; its list is ignored',
    ]


def test_missing_queries_reject_the_file() -> None:
    """With missing="reject", every query needs a list, which may be empty."""
    *_, problems, _ = matched_lists(SOLUTION, [lists({"q1": ["a"]})], missing="reject")
    *_, none, _ = matched_lists(SOLUTION, [lists({"q1": ["a"], "q2": [], "q3": ["d"]})], missing="reject")

    assert problems.lines() == ['2 of 3 queries have no list ("q2", "q3"); expected a list for every query']
    assert not none


def test_a_submission_for_another_track_is_rejected() -> None:
    """A file with none of the queries is rejected rather than scored 0."""
    *_, problems, _ = matched_lists(SOLUTION, [lists({"x": ["a"], "y": ["b"]})])

    (line,) = problems.lines()
    assert line.startswith('none of its queries is known; found "x", expected ids as "q1"; check that the file is a ')


def test_a_second_line_for_a_query_is_rejected() -> None:
    """VL.NET's format has one line for each query."""
    batch = Ranked(
        query=pa.array(["q1", "q2", "q1"]),
        line=np.array([1, 2, 5]),
        lengths=np.array([1, 1, 1]),
        item=pa.array(["a", "c", "b"]),
        run_score=None,
    )
    *_, problems, _ = matched_lists(SOLUTION, [batch], query_once=True)

    assert problems.lines() == ['5: query "q1" is listed again (first in line 1); give each query one line']


def test_a_repeated_rank_is_rejected() -> None:
    """Run scores may be equal, ranks may not."""
    batch = Ranked(
        query=pa.array(["q1", "q1", "q2"]),
        line=np.array([2, 3, 4]),
        lengths=None,
        item=pa.array(["a", "b", "c"]),
        run_score=None,
        rank=np.array([3, 3, 3]),
    )
    *_, problems, _ = matched_lists(SOLUTION, [batch])

    assert problems.lines() == ['3: rank 3 is given twice for query "q1"; give each rank once']


@pytest.mark.parametrize("batches", [[], [lists({})]])
def test_a_file_without_rows_is_rejected(batches: list[Ranked]) -> None:
    """As a table with a header only."""
    *_, problems, _ = matched_lists(SOLUTION, batches)

    assert problems


def test_a_submission_is_matched_with_queries_only() -> None:
    """As a participant's check does: no item is known."""
    matched, counts = match(
        Solution.of_queries(["q1", "q2"]), [[lists({"q1": ["a", "b"]})]], problems=Findings(), notes=Findings()
    )

    assert len(matched.found) == 0
    assert (counts.queries, counts.answered, counts.items, counts.in_solution) == (2, 1, 2, None)


def test_a_query_may_be_in_several_graded_batches() -> None:
    """As in a large file of judgements, which is read in blocks."""
    parts = [
        Graded(pa.array([query]), np.array([line]), None, pa.array([item]), np.array([grade]))
        for line, (query, item, grade) in enumerate([("p", "a", 1.0), ("q", "a", 2.0), ("p", "b", 3.0)], 1)
    ]
    solution = Solution.of(parts, Findings())

    assert solution.queries.to_pylist() == ["p", "q"]
    assert solution.ideal.grade.tolist() == [3.0, 1.0, 2.0]
    assert solution.ideal.rank.tolist() == [1, 2, 1]


def in_batches(submission: Mapping[str, Sequence[str]], sizes: Sequence[int], *, scored: bool) -> list[Ranked]:
    """The lists as rows of one item each, in batches of these sizes and one with the rest."""
    every = [(query, item) for query, items in submission.items() for item in items]
    ends = [*np.cumsum(sizes).tolist(), len(every)]
    return [
        Ranked(
            query=pa.array([query for query, _ in every[start:end]], pa.string()),
            line=np.arange(start, min(end, len(every))) + 1,
            lengths=None,
            item=pa.array([item for _, item in every[start:end]], pa.string()),
            run_score=-np.arange(start, min(end, len(every)), dtype=float) if scored else None,
        )
        for start, end in zip([0, *ends], ends, strict=False)
        if start <= len(every)
    ]


@strategies.examples(100)
@given(
    strategies.solutions(),
    strategies.submissions(),
    st.lists(st.integers(0, 9), max_size=6),
    st.booleans(),
    st.sampled_from([None, 3]),
)
def test_the_partition_does_not_change_the_result(
    solution: strategies.Solution, submission: strategies.Submission, sizes: list[int], scored: bool, length: int | None
) -> None:
    """Judged items, counts and notes do not depend on the blocks or on threads."""
    batches = in_batches(submission, sizes, scored=scored)
    whole = matched_lists(solution, batches, list_length=length)

    with ThreadPoolExecutor(2) as pool:
        for threads in (None, pool):
            assert_alike(matched_lists(solution, batches, whole_lists, list_length=length, pool=threads), whole)


@strategies.examples(60)
@given(strategies.solutions(), strategies.submissions(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_scattered_rows_are_collected_on_disk(
    solution: strategies.Solution, submission: strategies.Submission, partitions: int, random: Random
) -> None:
    """Rows in any order give the same result by way of the disk as in memory."""
    order = list(range(sum(map(len, submission.values()))))
    random.shuffle(order)
    batches = list(rows(submission, order))

    assert_alike(
        matched_lists(solution, batches, partial(by_query, partitions=partitions)), matched_lists(solution, batches)
    )


def test_scattered_lines_with_whole_lists_are_collected_on_disk() -> None:
    """The lines of a query may be in any batches. A second line is still reported."""
    batches = [lists({"q2": ["c"], "q1": ["x", "a"], "q9": []}), lists({"q3": ["d"]}), lists({"q1": ["b"]})]
    for once in (True, False):
        whole = matched_lists(SOLUTION, batches, query_once=once)
        assert_alike(matched_lists(SOLUTION, batches, partial(by_query, partitions=3), query_once=once), whole)
        assert bool(whole[2]) is once


def assert_alike(
    found: tuple[Matched, Counts, Findings, Findings], other: tuple[Matched, Counts, Findings, Findings]
) -> None:
    """The same judged items, lengths, counts, problems and notes."""
    assert_same(found[0].found, other[0].found)
    np.testing.assert_array_equal(found[0].retrieved, other[0].retrieved)
    assert found[1] == other[1]
    assert found[2].lines() == other[2].lines()
    assert found[3].lines() == other[3].lines()


@pytest.mark.parametrize("query", ["q1", "q9"])
def test_a_list_in_two_parts_is_an_error(query: str) -> None:
    """Such a list needs all rows in one part, whether its query is known or not."""
    rows_of = {query: ["a", "b"], "q2": ["c"], "q3": ["d"]}
    batches = [*in_batches(rows_of, [2, 1], scored=True), *in_batches({query: ["x"]}, [], scored=True)]

    with pytest.raises(ScatteredError):
        matched_lists(SOLUTION, batches, whole_lists)
    assert not matched_lists(SOLUTION, batches)[2]


@pytest.mark.parametrize("fingerprint", [0, 2**64 - 1])
@strategies.examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(solution=strategies.solutions(), submission=strategies.submissions(), scored=st.booleans())
def test_equal_fingerprints_of_different_items_change_nothing(
    fingerprint: int,
    solution: strategies.Solution,
    submission: strategies.Submission,
    scored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ids decide if all fingerprints are equal."""
    with monkeypatch.context() as patched:
        for module in ("scorer.lists.ranked_lists", "scorer.lists.solution"):
            patched.setattr(f"{module}.fingerprints", lambda ids: np.full(len(ids), fingerprint, dtype=np.uint64))
        matched, *_ = matched_lists(solution, in_batches(submission, [], scored=scored))

    assert_same(matched.found, strategies.matched(solution, submission).found)


def many(query: str, items: Sequence[str], *, others: int) -> Ranked:
    """One list: the items, then others that no solution has."""
    return lists({query: [*items, *(f"other-{number}" for number in range(others))]})


def items_notes(solution: Mapping[str, Mapping[str, float]] | Solution, *batches: Ranked) -> list[str]:
    """The notes about items."""
    *_, notes = matched_lists(solution, batches)
    return [line for line in notes.lines() if "item" in line]


def test_a_file_without_items_of_the_solution_is_reported() -> None:
    """The message shows an id of the submission and none of the solution."""
    submission = [lists({"q1": ["x1", "x2"], "q2": ["x1"], "q3": []})]
    _, counts, problems, notes = matched_lists(SOLUTION, submission)

    assert counts.in_solution == 0
    assert not problems
    found = 'none or hardly any of its 3 items is in the solution (for example, "x1" is not)'
    assert f"{found}; check that the ids are those of this track" in notes.lines()


@pytest.mark.parametrize("judged", [0, 1])
def test_a_file_with_hardly_any_items_of_the_solution_is_reported(judged: int) -> None:
    """Fewer than one in a hundred of the items, and fewer than one in ten of those that the lists could hold.

    The number is not shown: queries may be hidden, and a team could find out which items are judged for them.
    """
    solution = {"q1": {f"d{number}": 1.0 for number in range(20)}}
    line, ids = items_notes(solution, many("q1", ["d0"][:judged], others=400 - judged))

    assert line.startswith('none or hardly any of its 400 items is in the solution (for example, "other-0" is not)')
    assert ids == 'ids of items differ: found "other-0", expected ids as "d0"'


def test_a_good_list_for_few_judged_items_is_not_reported() -> None:
    """One item in a thousand is all that can be found where one is judged."""
    assert items_notes({"q1": {"a": 1.0}}, many("q1", ["a"], others=999)) == []


def test_items_of_other_queries_are_in_the_solution() -> None:
    """A submission that ranks the wrong candidates for each query has the ids of the track."""
    _, counts, *_ = matched_lists(SOLUTION, [lists({"q1": ["c"], "q2": ["a", "b"], "q3": ["x"]})])

    assert counts.in_solution == 3
    assert items_notes(SOLUTION, lists({"q1": ["c"], "q2": ["a", "b"], "q3": ["x"]})) == []


@pytest.mark.parametrize("held", [0, 1 << 20])
@strategies.examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(solution=strategies.solutions(), submission=strategies.submissions())
def test_no_item_is_counted_exactly_if_none_is_in_the_solution(
    held: int, solution: strategies.Solution, submission: strategies.Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any query of the solution, and whether items are looked up part by part or together."""
    monkeypatch.setattr("scorer.lists.match.MAX_HELD", held)
    known = {item for grades in solution.values() for item in grades}
    ranked = [item for query, items in submission.items() if query in solution for item in items]
    _, counts, *_ = matched_lists(solution, in_batches(submission, [3, 3], scored=False), whole_lists)

    if known:
        assert counts.in_solution is not None
        assert (counts.in_solution == 0) is known.isdisjoint(ranked)
        assert counts.in_solution <= len([item for item in ranked if item in known])


def test_only_ranked_items_are_counted() -> None:
    """Not those beyond the list length, nor those of unknown queries."""
    _, counts, *_ = matched_lists(SOLUTION, [lists({"q1": ["x", "a"], "q9": ["b"]})], list_length=1)

    assert (counts.items, counts.in_solution) == (1, 0)


def test_items_that_are_not_candidates_are_reported() -> None:
    """With their number and the first of them, and only if they are ranked."""
    solution = read(SOLUTION).with_candidates(["a", "b", "c", "d", "e"])
    submission = {"q1": ["a", "e", "x"], "q2": ["c", "y"], "q9": ["z"]}
    *_, notes = matched_lists(solution, [lists(submission)], list_length=2, missing="skip")

    assert [line for line in notes.lines() if "candidate" in line] == [
        "1 of its 4 items is not a candidate item; check the ids",
        '2: item "y" of query "q2" is not a candidate item',
    ]


def test_few_of_many_items_that_are_not_candidates_are_named() -> None:
    """The first five, however the file is divided into parts."""
    solution = read(SOLUTION).with_candidates(["a"])
    batches = in_batches({query: [f"x{number}" for number in range(30)] for query in SOLUTION}, [7, 30], scored=True)
    expected = [
        'it scores 0 for certain: none of its 90 items is a candidate item; found "x0", expected ids as "a"',
        *(f'{number + 1}: item "x{number}" of query "q1" is not a candidate item' for number in range(5)),
    ]

    for parted in (whole_lists, partial(by_query, partitions=3)):
        *_, notes = matched_lists(solution, batches, parted)
        assert [line for line in notes.lines() if "candidate" in line] == expected


@strategies.examples(200)
@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_an_id_set_holds_its_ids(ids: list[str], others: list[str]) -> None:
    """Of any number, with repeated ids."""
    absent = Solution.of_queries([]).with_candidates(ids).are_strangers(pa.array(others + ids, pa.string()))

    assert absent.tolist() == [text not in ids for text in others + ids]


@strategies.examples(200)
@given(st.lists(st.text(max_size=20)), st.integers(0, 5))
def test_fingerprints_are_equal_only_for_equal_texts(texts: list[str], skipped: int) -> None:
    """For texts of any length, at any offset in memory."""
    ids = pa.array(["padding"] * skipped + texts, pa.string())[skipped:]
    found = fingerprints(ids)

    assert len(set(found.tolist())) == len(set(texts))
    assert fingerprints(pa.array(texts, pa.string())).tolist() == found.tolist()
