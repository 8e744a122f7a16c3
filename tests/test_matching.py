"""judge(): what a submission's lists have of a solution's items, against a slow judge that needs no file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import Findings
from scorer.formats.reading import memory
from scorer.formats.reading.arrow import fingerprints
from scorer.formats.reading.batches import Graded, Ranked
from scorer.matching.match import Counts, ScatteredError, match, whole_lists
from scorer.matching.partition import by_query
from scorer.matching.solution import Solution
from scorer.measures.matched import JudgedItems, Matched
from tests import strategies

Seen = tuple[Matched, Counts, Findings, Findings]


def seen(
    solution: Mapping[str, Mapping[str, float]],
    batches: Sequence[Ranked],
    parted: Callable[[Sequence[Ranked]], Iterable[Sequence[Ranked]]] = lambda batches: [batches],
    **rules: object,
) -> Seen:
    """The batches judged, all at once if not told otherwise, with their problems and notes."""
    problems, notes = Findings(), Findings()
    right = read(solution)
    matched, counts = match(right, parted(batches), problems=problems, notes=notes, **rules)  # type: ignore[arg-type]
    return matched, counts, problems, notes


def read(solution: Mapping[str, Mapping[str, float]], *, all_right: bool = False) -> Solution:
    """A solution made without a file; it need not have a relevant item."""
    return Solution.of([memory.graded(solution, Findings())], Findings(), listed_is_relevant=all_right)


def lists(submission: Mapping[str, Sequence[str]]) -> Ranked:
    """The lists as one batch without run scores."""
    return memory.ranked(submission, Findings())


def rows(submission: Mapping[str, Sequence[str]], order: Sequence[int]) -> Iterator[Ranked]:
    """The lists as batches of one row each, with run scores that fall with the rank, in another order."""
    every = [(query, item, -float(place)) for query, items in submission.items() for place, item in enumerate(items, 1)]
    for place in order:
        query, item, score = every[place]
        yield Ranked(
            query=pa.array([query]),
            line=np.array([place + 1]),
            lengths=None,
            item=pa.array([item]),
            run_score=np.array([score]),
        )


def assert_same(found: JudgedItems, expected: JudgedItems) -> None:
    """Equal in all four arrays."""
    for name in ("query", "rank", "grade", "tie_rank"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@settings(max_examples=150, deadline=None)
@given(strategies.solutions(), strategies.submissions(), st.booleans())
def test_lists_are_judged_as_the_slow_judge_does(
    solution: strategies.Solution, submission: strategies.Submission, all_right: bool
) -> None:
    """Hits, ideal lists and lengths, whatever is missing, unknown, repeated or empty."""
    expected = strategies.matched(solution, submission, listed_is_relevant=all_right)
    matched, _ = match(
        read(solution, all_right=all_right), [[lists(submission)]], problems=Findings(), notes=Findings()
    )

    assert_same(matched.found, expected.found)
    assert_same(matched.ideal, expected.ideal)
    np.testing.assert_array_equal(matched.retrieved, expected.retrieved)


@settings(max_examples=100, deadline=None)
@given(strategies.solutions(), strategies.submissions(), st.randoms(use_true_random=False))
def test_run_scores_order_lines_that_stand_in_any_order(
    solution: strategies.Solution, submission: strategies.Submission, random: Random
) -> None:
    """Lines of a run may be shuffled, over batches too: the scores decide."""
    places = list(range(sum(map(len, submission.values()))))
    random.shuffle(places)

    matched, *_ = seen(solution, list(rows(submission, places)))

    assert_same(matched.found, strategies.matched(solution, submission).found)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.text("aéz0", min_size=1, max_size=2), st.integers(0, 2)), max_size=30),
    st.sampled_from(["trec", "order"]),
)
def test_equal_run_scores_follow_the_rule(lines: list[tuple[str, str, int]], ties: str) -> None:
    """Under "trec" the last id in the order of bytes comes first; under "order" the first in the file does."""
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

    matched, *_ = seen(solution, [batch], ties=ties)

    assert_same(matched.found, strategies.matched(solution, submission).found)


@settings(max_examples=100, deadline=None)
@given(strategies.solutions(), strategies.submissions(), st.integers(1, 10))
def test_a_list_ends_at_the_list_length(
    solution: strategies.Solution, submission: strategies.Submission, length: int
) -> None:
    """What stands beyond it is not there, as if the file had been cut."""
    cut = {query: items[:length] for query, items in submission.items()}
    matched, counts, *_ = seen(solution, [lists(submission)], list_length=length)
    expected, *_ = seen(solution, [lists(cut)])

    assert_same(matched.found, expected.found)
    np.testing.assert_array_equal(matched.retrieved, expected.retrieved)
    assert counts.overlong == sum(len(items) > length for query, items in submission.items() if query in solution)


SOLUTION = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"d": 1.0}}


def test_counts_say_how_the_two_meet() -> None:
    """Asked for, answered, unknown, items and repetitions."""
    _, counts, problems, _ = seen(SOLUTION, [lists({"q1": ["a", "x", "a", "a"], "q2": [], "q9": ["a", "b"]})])

    assert not problems
    assert counts == Counts(queries=3, answered=2, unknown=1, items=4, repeated=2, overlong=0)


def test_notes_tell_what_was_forgiven() -> None:
    """Missing and unknown queries, empty, short and long lists, repeated items: each with what comes of it."""
    submission = {"q1": ["a", "x", "a", "a"], "q2": [], "q9": ["a"]}
    *_, notes = seen(SOLUTION, [lists(submission)], list_length=3)

    assert notes.lines("f") == [
        'f: 1 of 3 queries have no list ("q3"); each scores 0, unless nothing is relevant to it',
        "f: 1 list is empty; each scores 0, unless nothing is relevant to its query",
        "f: 1 list is shorter than 3 items; the places that are left open earn nothing",
        "f: 1 list is longer than 3 items; what follows is ignored",
        'f:1: item "a" stands twice for query "q1" (first at place 1); each item may stand once',
        'f:3: query "q9" is not asked for; its list is ignored',
    ]


def test_a_million_repetitions_are_one_note() -> None:
    """The message is as long for a million as for three."""
    *_, notes = seen(SOLUTION, [lists({"q1": ["b", *["a"] * 1_000_000], "q2": ["c"], "q3": ["d"]})])

    told = 'item "a" stands 1,000,000 times for query "q1" (first at place 2); each item may stand once'
    assert notes.lines() == [f"1: {told}"]


def test_missing_queries_can_be_refused() -> None:
    """With missing="reject" a list is needed for every query, an empty one at least."""
    *_, problems, _ = seen(SOLUTION, [lists({"q1": ["a"]})], missing="reject")
    *_, none, _ = seen(SOLUTION, [lists({"q1": ["a"], "q2": [], "q3": ["d"]})], missing="reject")

    assert problems.lines() == ['2 of 3 queries have no list ("q2", "q3"); expected a list for every query']
    assert not none


def test_a_submission_for_another_track_is_refused() -> None:
    """Nothing to score is a fault, not a score of 0."""
    *_, problems, _ = seen(SOLUTION, [lists({"x": ["a"], "y": ["b"]})])

    assert problems.lines() == ["none of its queries is asked for; is it a submission for another track?"]


def test_a_query_with_two_lines_is_refused_where_one_is_the_rule() -> None:
    """In VL.NET's format a second line would hide the first."""
    batch = Ranked(
        query=pa.array(["q1", "q2", "q1"]),
        line=np.array([1, 2, 5]),
        lengths=np.array([1, 1, 1]),
        item=pa.array(["a", "c", "b"]),
        run_score=None,
    )
    *_, problems, _ = seen(SOLUTION, [batch], query_once=True)

    assert problems.lines() == ['5: query "q1" stands again (first in line 1); each query may have one line']


def test_a_rank_given_twice_is_refused() -> None:
    """Ranks must say which item comes first; scores may tie."""
    batch = Ranked(
        query=pa.array(["q1", "q1", "q2"]),
        line=np.array([2, 3, 4]),
        lengths=None,
        item=pa.array(["a", "b", "c"]),
        run_score=None,
        rank=np.array([3, 3, 3]),
    )
    *_, problems, _ = seen(SOLUTION, [batch])

    assert problems.lines() == ['3: rank 3 stands again for query "q1"; each rank may stand once']


@pytest.mark.parametrize("batches", [[], [lists({})]])
def test_no_rows_at_all_are_refused(batches: list[Ranked]) -> None:
    """A header without rows, for one."""
    *_, problems, _ = seen(SOLUTION, batches)

    assert problems


def test_a_solution_of_queries_alone_judges_form() -> None:
    """That is what a participant's check does: no item is known, and none is needed."""
    matched, counts = match(
        Solution.of_queries(["q1", "q2"]), [[lists({"q1": ["a", "b"]})]], problems=Findings(), notes=Findings()
    )

    assert len(matched.found) == 0
    assert (counts.queries, counts.answered, counts.items) == (2, 1, 2)


def test_graded_batches_join_over_blocks() -> None:
    """A query's items may come in several batches, as in a large file of judgements."""
    parts = [
        Graded(pa.array([query]), np.array([line]), None, None, pa.array([item]), np.array([grade]))
        for line, (query, item, grade) in enumerate([("p", "a", 1.0), ("q", "a", 2.0), ("p", "b", 3.0)], 1)
    ]
    solution = Solution.of(parts, Findings())

    assert solution.queries.to_pylist() == ["p", "q"]
    assert solution.ideal.grade.tolist() == [3.0, 1.0, 2.0]
    assert solution.ideal.rank.tolist() == [1, 2, 1]


def in_batches(submission: Mapping[str, Sequence[str]], sizes: Sequence[int], *, scored: bool) -> list[Ranked]:
    """The lists as rows of one item each, list after list, in batches of these sizes and one with the rest."""
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


@settings(max_examples=100, deadline=None)
@given(
    strategies.solutions(),
    strategies.submissions(),
    st.lists(st.integers(0, 9), max_size=6),
    st.booleans(),
    st.sampled_from([None, 3]),
)
def test_parts_give_what_all_at_once_gives(
    solution: strategies.Solution,
    submission: strategies.Submission,
    sizes: list[int],
    scored: bool,
    length: int | None,
) -> None:
    """However the file is cut into blocks, in threads or not: hits, counts and notes are the same."""
    batches = in_batches(submission, sizes, scored=scored)
    whole = seen(solution, batches, list_length=length)

    with ThreadPoolExecutor(2) as pool:
        for threads in (None, pool):
            assert_alike(seen(solution, batches, whole_lists, list_length=length, pool=threads), whole)


@settings(max_examples=60, deadline=None)
@given(strategies.solutions(), strategies.submissions(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_lists_in_pieces_are_brought_together(
    solution: strategies.Solution, submission: strategies.Submission, piles: int, random: Random
) -> None:
    """Rows in any order, put on piles on disk, give what all rows in memory give."""
    places = list(range(sum(map(len, submission.values()))))
    random.shuffle(places)
    batches = list(rows(submission, places))

    assert_alike(seen(solution, batches, partial(by_query, piles=piles)), seen(solution, batches))


def test_lines_with_whole_lists_are_brought_together_too() -> None:
    """A format with a line for each query may have its lines in any batch; one that stands twice is still told."""
    batches = [lists({"q2": ["c"], "q1": ["x", "a"], "q9": []}), lists({"q3": ["d"]}), lists({"q1": ["b"]})]
    for once in (True, False):
        whole = seen(SOLUTION, batches, query_once=once)
        assert_alike(seen(SOLUTION, batches, partial(by_query, piles=3), query_once=once), whole)
        assert bool(whole[2]) is once


def assert_alike(
    found: tuple[Matched, Counts, Findings, Findings], other: tuple[Matched, Counts, Findings, Findings]
) -> None:
    """The same hits, lengths, counts, problems and notes."""
    assert_same(found[0].found, other[0].found)
    np.testing.assert_array_equal(found[0].retrieved, other[0].retrieved)
    assert found[1] == other[1]
    assert found[2].lines() == other[2].lines()
    assert found[3].lines() == other[3].lines()


@pytest.mark.parametrize("query", ["q1", "q9"])
def test_a_list_that_goes_on_later_is_noticed(query: str) -> None:
    """In parts it cannot be judged, whether the query is known or not; at once it can."""
    rows_of = {query: ["a", "b"], "q2": ["c"], "q3": ["d"]}
    batches = [*in_batches(rows_of, [2, 1], scored=True), *in_batches({query: ["x"]}, [], scored=True)]

    with pytest.raises(ScatteredError):
        seen(SOLUTION, batches, whole_lists)
    assert not seen(SOLUTION, batches)[2]


@pytest.mark.parametrize("print_of_all", [0, 2**64 - 1])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(solution=strategies.solutions(), submission=strategies.submissions(), scored=st.booleans())
def test_equal_fingerprints_of_different_items_change_nothing(
    print_of_all: int,
    solution: strategies.Solution,
    submission: strategies.Submission,
    scored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fingerprints only make it fast: were they all alike, the ids themselves would decide."""
    with monkeypatch.context() as patched:
        for module in ("scorer.matching.ranked_lists", "scorer.matching.solution"):
            patched.setattr(f"{module}.fingerprints", lambda ids: np.full(len(ids), print_of_all, dtype=np.uint64))
        matched, *_ = seen(solution, in_batches(submission, [], scored=scored))

    assert_same(matched.found, strategies.matched(solution, submission).found)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=20)), st.integers(0, 5))
def test_fingerprints_are_equal_for_equal_texts_alone(texts: list[str], skipped: int) -> None:
    """Wherever the texts stand in memory, and however long they are."""
    ids = pa.array(["padding"] * skipped + texts, pa.string())[skipped:]
    found = fingerprints(ids)

    assert len(set(found.tolist())) == len(set(texts))
    assert fingerprints(pa.array(texts, pa.string())).tolist() == found.tolist()
