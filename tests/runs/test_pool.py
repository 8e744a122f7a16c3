"""Pools of unjudged items: which items they have, in which order, and the way from them to an erratum."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.lists.solution import Solution, excluded
from scorer.organising.run import scored_runs
from scorer.runs import Run
from scorer.runs.overlap import pool
from tests.commands import Terminal
from tests.live_challenges import ANNOUNCED, BEFORE, GOOD, OTHER, POOR, SOLUTION, Live, day, lists

Lists = dict[str, list[str]]

LISTS = st.dictionaries(st.sampled_from(["q1", "q2", "other"]), st.permutations(list("abcdef")), min_size=1)
GRADES = st.fixed_dictionaries(
    {query: st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2)) for query in ("q1", "q2")}
)


def pooled(grades: dict[str, dict[str, int]], runs: list[Lists], depth: int, seed: int = 1) -> list[tuple[str, str]]:
    """The pool of runs in memory; q1 has a relevant item that no run has."""
    known = {query: {"-": int(query == "q1"), **of_query} for query, of_query in grades.items()}
    solution = Solution.read(known).with_parts(excluded=excluded({"q1": ["f"]}))
    return pool(solution, [Run.of(run, f"run {number}") for number, run in enumerate(runs)], depth, seed)


@given(grades=GRADES, runs=st.lists(LISTS, min_size=1, max_size=3), depth=st.integers(1, 4))
def test_a_pool_has_each_unjudged_item_once(grades: dict[str, dict[str, int]], runs: list[Lists], depth: int) -> None:
    """By a loop over the lists. A negative grade is none, and an excluded item takes no rank."""
    expected = set()
    for run in runs:
        for query, known in grades.items():
            listed = [item for item in run.get(query, []) if (query, item) != ("q1", "f")]
            expected |= {(query, item) for item in listed[:depth] if known.get(item, -1) < 0}

    found = pooled(grades, runs, depth)

    assert len(found) == len(expected)
    assert set(found) == expected
    assert [query for query, _ in found] == sorted((query for query, _ in found), key=list(grades).index)


def test_the_order_says_nothing_about_runs_and_ranks() -> None:
    """It is that of the seed: other runs, other ranks and another depth keep it."""
    grades: dict[str, dict[str, int]] = {"q1": {}, "q2": {}}
    items = [f"item {number}" for number in range(20)]
    order = pooled(grades, [{"q1": items}], 20)

    assert pooled(grades, [{"q1": items[:7]}, {"q1": items[::-1]}], 20) == order
    assert pooled(grades, [{"q1": items}], 9) == [pair for pair in order if pair[1] in items[:9]]
    assert order != [("q1", item) for item in items]
    assert sorted(pooled(grades, [{"q1": items}], 20, seed=2)) == sorted(order) != order
    assert pooled(grades, [{"q1": items}], 20, seed=2) != order


def test_a_pool_of_files_with_grades_is_part_of_a_solution(tmp_path: Path, terminal: Terminal) -> None:
    """Without the grades it is refused, with the line of the first one."""
    qrels, run, new = tmp_path / "qrels.tsv", tmp_path / "run.txt", tmp_path / "pool.tsv"
    qrels.write_text("query\titem\tgrade\nq1\ta\t1\n", encoding="utf-8")
    run.write_text('q1 Q0 a 1 3 x\nq1 Q0 b"b 2 2 x\nq1 Q0 c 3 1 x\nq9 Q0 d 1 1 x\n', encoding="utf-8")

    printed = terminal.run("pool", str(run), "--solution", str(qrels), "--depth", "2", "-o", str(new))

    assert "1 unjudged item of 1 query, from 1 run" in printed.err
    assert terminal.run("pool", str(run), "--solution", str(qrels), "--depth", "2").out == new.read_text()
    refused = terminal.run("evaluate", str(new), str(run))
    assert (refused.code, 'pool.tsv:2: found "" as the grade' in refused.err) == (1, True)
    row = new.read_text(encoding="utf-8").splitlines()[1]
    qrels.write_text(f"{qrels.read_text(encoding='utf-8')}{row}2\n", encoding="utf-8")
    assert Solution.read(qrels) == Solution.read({"q1": {"a": 1, 'b"b': 2}})


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("run",),
        ("run", "--track", "main"),
        ("--solution", "qrels"),
        ("--track", "main", "--solution", "qrels"),
    ],
)
def test_a_pool_is_of_files_or_of_a_track(arguments: tuple[str, ...], terminal: Terminal) -> None:
    """Anything else is a wrong call."""
    refused = terminal.run("pool", *arguments)

    assert (refused.code, "expected either runs and --solution FILE, or --track" in refused.err) == (2, True)


def test_a_pool_of_a_track_on_the_command_line(tmp_path: Path, terminal: Terminal) -> None:
    """It has the unjudged items of all entries, and no name of a team."""
    live = Live.of(tmp_path / "live", flagged=0)
    live.put("amber/1.txt", lists(1, 1), ANNOUNCED)
    live.put("birch/1.txt", lists(2, 2), ANNOUNCED)
    live.run(ANNOUNCED)

    printed = terminal.run("pool", "--track", "main", "-C", str(live.folder), "--depth", "1")

    assert "8 unjudged items of 8 queries, from 2 runs" in printed.err
    heads, *rows = printed.out.splitlines()
    assert heads == "query\titem\tgrade"
    assert rows == [f"q{number}\tb\t" for number in (*range(1, 5), *range(6, 10))]


def test_new_judgements_of_a_track_become_an_erratum(tmp_path: Path) -> None:
    """Entries that do not count are pooled too; the changed solution moves the board, and the next pool is smaller."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    entries = (("amber/1", GOOD), ("birch/1", OTHER), ("cedar/1", POOR), ("cedar/2", OTHER))
    for hour, (file, content) in enumerate(entries):
        live.put(f"{file}.txt", content, day(10, hour))
    live.run(day(10))

    def found(at: datetime) -> list[tuple[str, str]]:
        rules, _, runs = live.do(at, lambda challenge, store: scored_runs(challenge, store, live.track))
        assert len(runs) == len({content for _, content in entries})
        return pool(rules.read_solution(), list(runs.values()), 10, seed=1)

    assert found(day(11)) == [("q1", "x"), ("q2", "x"), ("q3", "x"), ("q4", "x")]
    live.write_solution(SOLUTION.replace("q1:1:", "q1:1:x|3,").replace("q4:0:", "q4:0:x|1,"))
    assert len(found(day(11))) == 4, "by the rules in force, not by the files"
    before = {each.team.folder: each for each in live.preview(day(11)).teams}["amber"]
    assert before.is_rescored
    live.apply(day(12))
    assert found(day(13)) == [("q2", "x"), ("q3", "x")]
