"""Entries that are too alike: what is counted, which copies are found, and what the command lists."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.board.reports.comparisons import similar_text
from scorer.lists.solution import Solution
from scorer.options import LEVEL
from scorer.runs import Run
from scorer.runs.similar import MOST_SAMPLED, RARITY, SKETCH_WIDTH, Alike, shared, similar, sketch
from studies.copies import copies
from tests.commands import here
from tests.paths import REAL_DATA

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

    *shares, same_lists = shared(solution, Run.of(first), Run.of(second), depth)

    expected = [len(one & other) / len(each) if each else math.nan for each in (one, other)]
    np.testing.assert_array_equal(shares, expected)
    assert same_lists == sum(first[query] == second[query] for query in first)


def test_scores_and_the_order_of_queries_do_not_matter() -> None:
    """Another order of items does, and so does another length."""
    same = sketches(run_of(1), run_of(1, QUERIES[::-1], 7.5))
    np.testing.assert_array_equal(same[0], same[1])
    shuffled = Run.of({query: {"good": 0.5, **{f"1-{number}": number for number in range(9)}} for query in QUERIES})
    shorter = run_of(1, QUERIES[1:])
    others = sketches(run_of(1), shuffled, shorter)
    assert len({tuple(each[:2]) for each in others}) == 3
    of_items, in_order = np.split(others[:, 2:], 2, axis=1)
    np.testing.assert_array_equal(of_items[0], of_items[1])
    assert not np.isin(in_order[0][in_order[0] >= 0], in_order[1]).all()


def test_the_order_of_tied_items_is_no_mistake() -> None:
    """Their order is by id, not by the team; and where 10 ranks count, they are one depth."""
    tied = Run.of({query: {f"{number}": 1.0 for number in range(10)} for query in QUERIES})

    samples = sketch(SOLUTION, tied, 10)[2:].reshape(len(RARITY), -1)

    assert (samples >= 0).any(axis=1).tolist() == [False, False, True, False, False, False]


def test_a_sample_is_the_same_part_of_all_runs() -> None:
    """What two runs share is in both samples or in neither, however many pairs they have."""
    many = [f"q{number}" for number in range(2000)]
    solution = Solution.read({query: {"good": 1} for query in many})
    sketched = (sketch(solution, run_of(1, queries), 10) for queries in (many, many[:1000]))
    one, other = (each[2:].reshape(len(RARITY), -1)[[2, 5]] for each in sketched)

    assert one.shape == (2, MOST_SAMPLED)
    for of_one, of_other in zip(one, other, strict=True):
        small, large = set(of_other[of_other >= 0].tolist()), set(of_one[of_one >= 0].tolist())
        assert 40 < len(small) < len(large) < MOST_SAMPLED
        assert small < large


def test_a_copy_is_found_among_unrelated_teams() -> None:
    """With five teams there is a field; runs of one team are not compared."""
    teams = ["a", "b", "c", "d", "e", "e"]
    found = similar(sketches(*map(run_of, (1, 2, 3, 4, 1, 1))), teams)

    assert [(pair.first, pair.second, pair.same_lists) for pair in found[:2]] == [(0, 4, True), (0, 5, True)]
    assert 0 < max(pair.p_value for pair in found[:2]) < 0.01
    assert {pair.p_value for pair in found[2:]} == {1.0}
    assert len(found) == 14
    without = similar(sketches(*map(run_of, (1, 2, 3, 1))), ["a", "b", "c", "d"])
    assert without[0].same_lists
    assert all(math.isnan(pair.p_value) for pair in without)
    assert similar(np.zeros((0, SKETCH_WIDTH)), []) == []


@pytest.mark.parametrize("depth", [10, 100, 1000])
@pytest.mark.parametrize("copy", ["the first 10", "every second item", "the other half own"])
def test_a_copy_of_a_part_is_found(copy: str, depth: int) -> None:
    """Wherever the other items of the copy are from."""

    def items(team: int) -> list[str]:
        return [f"{team}-{number}" for number in range(depth)]

    match copy:
        case "the first 10":
            copied = [*items(1)[:10], *items(9)[10:]]
        case "every second item":
            copied = [item for pair in zip(items(1)[::2], items(9)[::2], strict=True) for item in pair]
        case _:
            copied = [*items(1)[: depth // 2], *items(9)[depth // 2 :]]
    lists = [*map(items, range(8)), copied]
    runs = [Run.of({query: dict(zip(of, range(0, -depth, -1), strict=True)) for query in QUERIES}) for of in lists]

    found = similar(np.array([sketch(SOLUTION, run, depth) for run in runs]), [*"abcdefghi"])

    assert [(pair.first, pair.second) for pair in found if pair.p_value <= LEVEL] == [(1, 8)]


def test_no_p_value_is_printed_as_zero() -> None:
    """As JSON, it has its digits."""
    pairs = [Alike("a", "b", "", (1.0, 1.0, 3), p) for p in (1e-12, 0.0004, 0.0006, 0.5, math.nan)]
    assert [line.split()[-1] for line in similar_text(pairs, "table").splitlines()[1:]] == [
        *("<0.001", "<0.001", "0.001", "0.500", "-")
    ]
    assert json.loads(similar_text(pairs, "json"))["pairs"][0]["p"] == 1e-12


def test_what_many_teams_share_is_no_copy() -> None:
    """All begin with the lists of one baseline, and two have the same mistakes as well."""

    def lists(team: int) -> Run:
        items = [*(f"base-{number}" for number in range(5)), *(f"{team}-{number}" for number in range(5))]
        return Run.of({query: {item: -rank for rank, item in enumerate(items)} for query in QUERIES})

    found = similar(sketches(*map(lists, (1, 2, 3, 4, 5, 6, 7, 1))), [*"abcdefgh"])

    assert (found[0].first, found[0].second) == (0, 7)
    assert found[0].p_value < 1e-3
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
    """Also among teams that share a baseline, and strong ones on easy queries."""
    assert [claim.verdict for claim in copies(8).claims] == 5 * ["holds"]


ROBUST = REAL_DATA / "trec2003_robust"
RELATED = {"InexpC2", "Sel50"}
"""Runs of one group: of all pairs, only these have whole lists in common."""

COPIES = (
    "the first 100, then junk",
    "the first 10, then junk",
    "every second item",
    "half of each list",
    "half of the queries",
)


def _copied(copy: str, items: list[str], query: int) -> list[str]:
    """How a copy is made of the list of a query."""
    junk = [f"junk-{query}-{at}" for at in range(1000)]
    match copy:
        case "the first 100, then junk":
            return [*items[:100], *junk[100:]]
        case "the first 10, then junk":
            return [*items[:10], *junk[10:]]
        case "every second item":
            return items[::2]
        case "half of each list":
            return items[: len(items) // 2]
    return items if query % 2 else junk


class Robust:
    """The runs of the Robust track of TREC 2003, with their lists by query, and their sketches."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.solution = Solution.read(ROBUST / "qrels" / "robust03_qrels.txt")
        self.files = {path.suffixes[0][1:]: path for path in sorted((ROBUST / "runs").glob("*.gz"))}
        self.names = [*self.files]
        self.sketches = np.array([sketch(self.solution, Run.of(path), depth) for path in self.files.values()])

    def suspected(self, names: Sequence[str], *copy: np.ndarray) -> list[set[str]]:
        """The pairs of unrelated groups among these, and a copy, that are suspicious."""
        found = similar(
            np.array([*self.sketches[[self.names.index(name) for name in names if name in self.names]], *copy]), names
        )
        pairs = [{names[pair.first], names[pair.second]} for pair in found if pair.p_value <= LEVEL]
        return [pair for pair in pairs if pair != RELATED]

    def finds(self, copy: str, source: str) -> bool:
        """Whether a copy of this run is found among all of them, and no pair of unrelated groups."""
        made = {query: _copied(copy, of, at) for at, (query, of) in enumerate(_lists_of(self.files[source]).items())}
        run = {query: dict(zip(of, range(0, -len(of), -1), strict=True)) for query, of in made.items()}
        return self.suspected([*self.names, "copy"], sketch(self.solution, Run.of(run), self.depth)) == [
            {source, "copy"}
        ]


@cache
def _lists_of(path: Path) -> Lists:
    """The items of each query, by their scores and then by their ids."""
    lists: dict[str, list[tuple[float, str]]] = {}
    with gzip.open(path, "rt", encoding="ascii") as file:
        for line in file:
            query, _, item, _, score, _ = line.split()
            lists.setdefault(query, []).append((float(score), item))
    return {query: [item for _, item in sorted(of, reverse=True)] for query, of in lists.items()}


real = pytest.mark.skipif(
    not ROBUST.is_dir(), reason=f"real data not found: {ROBUST} (SCORER_REAL_DATA names its folder)"
)


@pytest.fixture(scope="module")
def robust() -> Robust:
    """All ranks count."""
    return Robust(1000)


@pytest.mark.real_data
@real
def test_no_unrelated_real_runs_are_suspected(robust: Robust) -> None:
    """Of the half on which nothing was calibrated, and of both. The related ones are."""
    assert robust.suspected(robust.names[1::2]) == []
    assert robust.suspected(robust.names) == []
    (related,) = (pair for pair in similar(robust.sketches, robust.names) if pair.p_value <= LEVEL)
    assert {robust.names[related.first], robust.names[related.second]} == RELATED


@pytest.mark.real_data
@real
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_a_real_run_is_found(copy: str, robust: Robust) -> None:
    """Of one of those that have the most in common with others."""
    assert robust.finds(copy, "fub03IeOLKe3")


@pytest.mark.real_data
@real
@pytest.mark.endurance
def test_only_real_runs_of_one_group_have_whole_lists_in_common(robust: Robust) -> None:
    """So they are related."""
    lists = {name: _lists_of(path) for name, path in robust.files.items()}
    same = [
        {one, other}
        for one, other in combinations(robust.names, 2)
        if any(lists[one].get(query) == of for query, of in lists[other].items())
    ]
    assert same == [RELATED]


@pytest.mark.real_data
@real
@pytest.mark.endurance
@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_all_real_runs_are_found(copy: str, robust: Robust) -> None:
    """Whichever is the source, and no pair of unrelated groups."""
    assert [source for source in robust.names if not robust.finds(copy, source)] == []


@pytest.mark.real_data
@real
@pytest.mark.endurance
def test_of_few_ranks_less_is_found() -> None:
    """Of every second item of lists of ten, about a half."""
    robust = Robust(10)
    assert 6 <= sum(robust.finds("every second item", source) for source in robust.names) <= 11
    assert all(robust.finds("the first 10, then junk", source) for source in robust.names)


@pytest.mark.real_data
@real
@pytest.mark.endurance
def test_no_real_runs_of_a_small_field_are_suspected(robust: Robust) -> None:
    """No set of five or more groups of either half has a suspicious pair of unrelated groups."""
    for half in (robust.names[::2], robust.names[1::2]):
        for size in range(5, len(half) + 1):
            assert [names for names in combinations(half, size) if robust.suspected(names)] == []
