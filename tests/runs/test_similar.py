"""Entries that are too alike: what is counted, which copies are found, and what the command lists."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.lists.solution import Solution
from scorer.runs.aligned import Run
from scorer.runs.similar import MOST_SAMPLED, WIDTH, shared, similar, sketch
from studies.copies import copies
from tests.commands import here

Lists = dict[str, list[str]]

QUERIES = [f"q{number}" for number in range(40)]
SOLUTION = Solution.read({query: {"good": 1, "bad": 0} for query in QUERIES})


def run_of(team: int, queries: list[str] = QUERIES, scale: float = 1.0) -> Run:
    """A run with the relevant item, and nine others that no other team has."""
    items = ["good", *(f"{team}-{number}" for number in range(9))]
    return Run.of({query: {item: -scale * rank for rank, item in enumerate(items)} for query in queries})


def sketches(*runs: Run) -> np.ndarray:
    """[run, value]"""
    return np.array([sketch(SOLUTION, run, 10) for run in runs])


RUNS = st.fixed_dictionaries({query: st.permutations("abcdef").map(lambda of: of[:4]) for query in ("q1", "q2")})


@given(first=RUNS, second=RUNS, depth=st.integers(1, 5))
def test_what_two_runs_share_is_counted(first: Lists, second: Lists, depth: int) -> None:
    """By a loop over the lists."""
    solution = Solution.read({"q1": {"a": 1, "b": 0}, "q2": {"c": 2}})
    relevant = {("q1", "a"), ("q2", "c")}
    one, other = (
        {(query, item) for query, of in run.items() for item in of[:depth]} - relevant for run in (first, second)
    )

    found = shared(solution, Run.of(first), Run.of(second), depth)

    expected = [len(one & other) / len(each) if each else math.nan for each in (one, other)]
    np.testing.assert_array_equal([found.of_first, found.of_second], expected)
    assert found.same_lists == sum(first[query] == second[query] for query in first)


def test_scores_and_the_order_of_queries_do_not_matter() -> None:
    """Another order of items does, and so does another length."""
    same = sketches(run_of(1), run_of(1, QUERIES[::-1], 7.5))
    np.testing.assert_array_equal(same[0], same[1])
    shuffled = Run.of({query: {"good": 0.5, **{f"1-{number}": number for number in range(9)}} for query in QUERIES})
    shorter = run_of(1, QUERIES[1:])
    others = sketches(run_of(1), shuffled, shorter)
    assert len({tuple(each[:2]) for each in others}) == 3
    np.testing.assert_array_equal(others[0, 2:], others[1, 2:])


def test_a_sample_is_the_same_part_of_all_runs() -> None:
    """What two runs share is in both samples or in neither, however many pairs they have."""
    many = [f"q{number}" for number in range(2000)]
    solution = Solution.read({query: {"good": 1} for query in many})
    one, other = (sketch(solution, run_of(1, queries), 10)[2:] for queries in (many, many[:1000]))

    assert one.size == WIDTH - 2 == MOST_SAMPLED
    small, large = set(other[other >= 0].tolist()), set(one[one >= 0].tolist())
    assert 100 < len(small) < len(large) < MOST_SAMPLED
    assert small < large


def test_a_copy_is_found_among_unrelated_teams() -> None:
    """With five teams there is a field; runs of one team are not compared."""
    teams = ["a", "b", "c", "d", "e", "e"]
    found = similar(sketches(*map(run_of, (1, 2, 3, 4, 1, 1))), teams)

    assert [(pair.first, pair.second, pair.same_lists) for pair in found[:2]] == [(0, 4, True), (0, 5, True)]
    assert max(pair.p_value for pair in found[:2]) < 1e-6
    assert {pair.p_value for pair in found[2:]} == {1.0}
    assert len(found) == 14
    without = similar(sketches(*map(run_of, (1, 2, 3, 1))), ["a", "b", "c", "d"])
    assert without[0].same_lists
    assert all(math.isnan(pair.p_value) for pair in without)
    assert similar(np.zeros((0, WIDTH)), []) == []


def test_what_many_teams_share_is_no_copy() -> None:
    """All begin with the lists of one baseline, and two have the same mistakes as well."""

    def lists(team: int) -> Run:
        items = [*(f"base-{number}" for number in range(5)), *(f"{team}-{number}" for number in range(5))]
        return Run.of({query: {item: -rank for rank, item in enumerate(items)} for query in QUERIES})

    found = similar(sketches(*map(lists, (1, 2, 3, 4, 5, 6, 7, 1))), [*"abcdefgh"])

    assert (found[0].first, found[0].second) == (0, 7)
    assert found[0].p_value < 1e-6
    assert min(pair.p_value for pair in found[1:]) > 0.05


def test_the_command_lists_bytes_then_lists(tmp_path: Path) -> None:
    """A copy with other scores is found, and one of a rejected file; nothing of it is on the site."""
    assert here("init", tmp_path / "c").code == 0
    folder = tmp_path / "c" / "submissions" / "main"
    popular = next(folder.rglob("*.txt"))
    lines = popular.read_text().splitlines(keepends=True)
    for team, text in (("copy", "".join(reversed(lines))), ("one", "broken"), ("two", "broken")):
        (folder / team).mkdir()
        (folder / team / "run.txt").write_text(text)
    here("run", tmp_path / "c")

    answer = here("similar", tmp_path / "c", "--track", "main", "--format", "json")

    assert answer.code == 0, answer.err
    pairs = json.loads(answer.out)["pairs"]
    assert next(pair["same"] for pair in pairs if pair["same"]) == "bytes"
    assert {pair["first"].split("/")[1] for pair in pairs if pair["same"] == "bytes"} == {"one"}
    assert here("similar", tmp_path / "c", "--track", "main").out.splitlines()[0].split() == [
        *("first", "second", "same", "of", "first", "of", "second", "lists", "p")
    ]
    assert not any("similar" in str(path) for path in (tmp_path / "c" / "site").rglob("*"))


@pytest.mark.endurance
def test_the_study_finds_copies_and_suspects_nobody_else() -> None:
    """Of half of the lists of another team or more, among teams that share a baseline."""
    assert [claim.verdict for claim in copies(8).claims] == ["holds", "holds"]
