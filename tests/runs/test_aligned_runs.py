"""Several runs read side by side: the order of their queries, partitions, memory, and invalid files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer import runs as aligned
from scorer.errors import SubmissionError
from scorer.lists.reading import blocks as reading_bytes
from scorer.lists.reading.arrow import take
from scorer.runs import AlignedRuns, Run, for_each_part
from tests.oracles_runs import ranked
from tests.strategies import examples

Lists = dict[str, dict[str, float]]


def write_run(path: Path, lists: Lists) -> Path:
    """A run in TREC's format."""
    rows = [f"{query} Q0 {item} 0 {score} tag\n" for query, listed in lists.items() for item, score in listed.items()]
    path.write_text("".join(rows), encoding="utf-8")
    return path


def read(runs: list[Run], threads: int = 1) -> tuple[list[str], list[Lists], int]:
    """The queries in their order, the lists of each run in the order of their ranks, and the number of restarts."""

    class Parts(list[AlignedRuns]):
        restarts = 0

        def clear(self) -> None:
            super().clear()
            self.restarts += 1

    parts = Parts()
    for_each_part(runs, lambda part: part, parts, threads=threads)
    lists: list[Lists] = [{} for _ in runs]
    for part in parts:
        assert (np.diff(part.candidate) >= 0).all()
        names = take(part.items, part.item[part.candidate]).to_pylist()
        for at in np.argsort(part.rank, kind="stable").tolist():
            query = part.queries[int(part.query[part.candidate[at]])].as_py()
            listed = lists[part.run[at]].setdefault(query, {})
            listed[names[at]] = float(part.score[at])
            assert part.rank[at] == len(listed)
        counted = np.bincount(part.list, minlength=part.length.size)
        assert counted.tolist() == part.length.tolist()
    return [query for part in parts for query in part.queries.to_pylist()], lists, parts.restarts


def some_lists(queries: list[str], seed: int = 0, length: int = 3) -> Lists:
    """A list for each query."""
    generator = np.random.default_rng(seed)
    return {
        query: {
            f"{query}-{item}": float(score)
            for item, score in zip(generator.permutation(9)[:length], generator.integers(0, 4, length), strict=True)
        }
        for query in queries
    }


def in_order(lists: Lists) -> Lists:
    """The lists in the order of their ranks."""
    return {query: ranked(listed) for query, listed in lists.items()}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in blocks of about two lists, and little may wait."""
    monkeypatch.setattr(reading_bytes, "BLOCK", 150)
    monkeypatch.setattr(aligned, "PENDING_ITEMS", 40)
    monkeypatch.setattr(aligned, "ITEMS_AT_ONCE", 10)


orders = st.lists(st.permutations([f"q{number}" for number in range(20)]).map(lambda o: o[:14]), min_size=2, max_size=3)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 2])
def test_runs_in_one_order_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Also where each run lacks some queries."""
    monkeypatch.setattr(aligned, "PENDING_ITEMS", 90)
    queries = [f"q{number:02}" for number in range(40)]
    lists = [some_lists([query for query in queries if hash_of(query, run) % 4], run) for run in range(3)]
    runs = [Run.of(write_run(tmp_path / f"{run}.run", each)) for run, each in enumerate(lists)]

    order, found, restarts = read(runs, threads)

    assert restarts == 0
    assert sorted(order) == sorted({query for each in lists for query in each})
    assert found == [in_order(each) for each in lists]


def hash_of(query: str, run: int) -> int:
    """A number that differs between queries and runs."""
    return (int(query[1:]) * 7 + run * 3) % 11


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 2])
def test_runs_in_different_orders_are_partitioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Every query is had once, with all of its lists."""
    monkeypatch.setattr("scorer.lists.reading.blocks.PARTITION_BYTES", 500)
    queries = [f"q{number}" for number in range(60)]
    lists = [some_lists(queries), some_lists(queries[::-1], 1)]
    runs = [Run.of(write_run(tmp_path / f"{run}.run", each)) for run, each in enumerate(lists)]

    order, found, restarts = read(runs, threads)

    assert restarts == 1
    assert sorted(order) == sorted(queries)
    assert found == [in_order(each) for each in lists]


@pytest.mark.usefixtures("small_blocks")
def test_scattered_rows_are_collected(tmp_path: Path) -> None:
    """The rows of a query need not be adjacent."""
    path = tmp_path / "a.run"
    rows = [f"q{number % 20} Q0 d{number} 0 {number} tag\n" for number in range(100)]
    path.write_text("".join(rows), encoding="utf-8")
    other = some_lists([f"q{number}" for number in range(20)])

    order, found, restarts = read([Run.of(path), Run.of(write_run(tmp_path / "b.run", other))])

    assert restarts == 1
    assert sorted(order) == sorted(other)
    assert found[0]["q3"] == {"d83": 83, "d63": 63, "d43": 43, "d23": 23, "d3": 3}
    assert found[1] == in_order(other)


@examples(8)
@given(orders)
def test_any_orders_give_the_same_lists(tmp_path_factory: pytest.TempPathFactory, drawn: list[list[str]]) -> None:
    """From files and from memory."""
    folder = tmp_path_factory.mktemp("runs")
    lists = [some_lists(queries, run) for run, queries in enumerate(drawn)]
    files = [Run.of(write_run(folder / f"{run}.run", each)) for run, each in enumerate(lists)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_bytes, "BLOCK", 150)
        patch.setattr(aligned, "PENDING_ITEMS", 20)
        patch.setattr(aligned, "ITEMS_AT_ONCE", 10)
        _, from_files, _ = read(files)
    _, from_memory, _ = read([Run.of(each) for each in lists])

    assert from_files == from_memory == [in_order(each) for each in lists]


def test_a_pipe_cannot_be_read_in_another_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the run and what to do."""
    monkeypatch.setattr(aligned, "PENDING_ITEMS", 0)
    monkeypatch.setattr(reading_bytes, "BLOCK", 60)
    lists = some_lists([f"q{number}" for number in range(9)])
    backwards = dict(reversed(lists.items()))
    monkeypatch.setattr(Run, "can_be_read_again", property(lambda run: run.name.endswith("b.run")))

    with pytest.raises(SubmissionError, match=r"a\.run: its queries are not in the order .* save the run as a file"):
        read([Run.of(write_run(tmp_path / "a.run", lists)), Run.of(write_run(tmp_path / "b.run", backwards))])


def test_all_errors_of_a_run_are_reported_together(tmp_path: Path) -> None:
    """With their lines, also those of later blocks."""
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 1 t\nq Q0 b 1 x t\nq Q0 c 1 nan t\n", encoding="utf-8")

    with pytest.raises(SubmissionError) as raised:
        read([Run.of({"q": ["a"]}), Run.of(path)])

    assert [problem.line for problem in raised.value.findings] == [2, 3]


def test_a_query_that_must_have_one_row_is_reported(tmp_path: Path) -> None:
    """In a format with a row for each query."""
    path = tmp_path / "a.txt"
    path.write_text("1: 5,6\n2: 5\n1: 7\n", encoding="utf-8")

    with pytest.raises(SubmissionError, match="give each query one line"):
        read([Run.of(path, format_name="vlnet"), Run.of({"1": ["5"]})])
