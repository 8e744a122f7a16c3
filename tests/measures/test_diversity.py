"""Subtopics: how they are read, written, stored and scored; the measures of diversity compared with ndeval."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorer
from docs.peers import IR_MEASURES_NDEVAL, NDEVAL, filled
from scorer.errors import Findings, MeasureError, SolutionError
from scorer.lists.reading import memory
from scorer.lists.solution import Solution
from scorer.measures import KINDS, Kind, parse_one
from scorer.scoring.outcomes import DamagedError, pack_ideal, unpack_ideal
from tests import strategies
from tests.commands import Terminal
from tests.measures.test_measures import ALL_VARIANTS, differing, scores_of
from tests.readers import agree

Rows = Sequence[tuple[str, str, str, int]]
"""Query, subtopic, item and grade."""

DIVERSITY = [kind for kind in KINDS if kind.subtopics]
ROWS: Rows = [
    *(("q1", "1", "a", 1), ("q1", "2", "a", 2), ("q1", "1", "b", 1), ("q1", "3", "c", 1), ("q1", "2", "d", 0)),
    *(("q2", "1", "a", 1), ("q2", "2", "b", 1)),
]
LISTS = {"q1": ["b", "a", "x", "c"], "q2": ["x", "b", "a"]}
EVERY = ["alpha-nDCG@3", "alpha-DCG@3", "ERR-IA@3", "nERR-IA", "NRBP", "nNRBP", "P-IA@2", "AP-IA", "StRecall@2"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A row as an object, with the attributes of ir_measures' Qrel."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str


def judgements(rows: Rows) -> list[Judgement]:
    """The rows as objects."""
    return [Judgement(query, item, grade, subtopic) for query, subtopic, item, grade in rows]


def qrels(rows: Rows) -> str:
    """The rows as TREC's qrels."""
    return "".join(f"{query} {subtopic} {item} {grade}\n" for query, subtopic, item, grade in rows)


def read(rows: Rows) -> Solution:
    """The rows as a solution."""
    return Solution.of([memory.graded_of(judgements(rows), Findings())], Findings())


def frame(rows: Rows) -> pd.DataFrame:
    """The rows as a table."""
    return pd.DataFrame(list(rows), columns=["query", "subtopic", "item", "grade"])


# --- ndeval -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pyndeval() -> Any:
    """The C code of ndeval 4.5 as a Python module."""
    return pytest.importorskip("pyndeval")


@pytest.fixture(scope="module")
def ir_measures() -> Any:
    """An interface to several tools."""
    pytest.importorskip("pyndeval")
    return pytest.importorskip("ir_measures")


def drawn(seed: int) -> tuple[Rows, dict[str, dict[str, float]]]:
    """Judgements of some queries by subtopic, subtopics ascending, and a run without ties."""
    rng = random.Random(seed)
    items = [f"d{number}" for number in range(rng.randint(3, 30))]
    rows = [
        (query, str(subtopic), item, rng.choice([-2, 0, 0, 1, 1, 2, 3]))
        for subtopic in range(1, rng.randint(3, 12))
        for query in ("1", "2", "3")
        for item in items
        if rng.random() < 0.3
    ]
    run = {}
    for query in ("1", "2", "3"):
        listed = rng.sample([*items, *(f"x{number}" for number in range(9))], rng.randint(1, len(items)))
        run[query] = {item: float(-rank) for rank, item in enumerate(listed)}
    return [*rows, ("3", "1", "sure", 3), ("3", "2", "sure", 3)], run


def with_parameters(name: str, given: Mapping[str, object]) -> str:
    """Our name of a measure, with those of the parameters that its kind has."""
    base, at, k = name.partition("@")
    known = {each.name for each in parse_one(name).kind.parameters}
    return f"{base}({','.join(f'{key}={value}' for key, value in given.items() if key in known)}){at}{k}"


@settings(strategies.examples(40), derandomize=True, database=None)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.5, 0.3, 0.0, 1.0]) | st.floats(0, 1).map(lambda value: round(value, 3)),
    beta=st.sampled_from([0.5, 0.8, 0.99]),
    rel=st.sampled_from([1, 2]),
)
def test_scores_equal_those_of_ndeval(pyndeval: Any, seed: int, alpha: float, beta: float, rel: int) -> None:
    """Every measure, for each query, with any parameters. ndeval has no score where nothing is relevant."""
    rows, run = drawn(seed)
    names = filled(NDEVAL, (2, 5, 10, 20))
    theirs = pyndeval.RelevanceEvaluator(
        [pyndeval.SubtopicQrel(*row) for row in rows], list(names), relevance_level=rel, alpha=alpha, beta=beta
    ).evaluate([pyndeval.ScoredDoc(query, item, score) for query in run for item, score in run[query].items()])
    given_ = {"alpha": alpha, "beta": beta, "rel": rel}
    ours = scorer.evaluate(
        judgements(rows), run, {name: with_parameters(own, given_) for name, own in names.items()}, per_query=True
    ).by_query()

    compared = 0
    for query in ours.keys() & theirs.keys():
        for name in names:
            if not math.isnan(ours[query][name]):
                assert ours[query][name] == pytest.approx(theirs[query][name], rel=0, abs=1e-9), (query, name)
                compared += 1
    assert compared


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_ir_measures(ir_measures: Any, seed: int) -> None:
    """Every name of its documentation, one at a time, as the mean over the queries."""
    rows, run = drawn(seed)
    every = [ir_measures.Qrel(query, item, grade, subtopic) for query, subtopic, item, grade in rows]
    for theirs, ours in filled(IR_MEASURES_NDEVAL, (2, 10, 20)).items():
        measure = ir_measures.parse_measure(theirs)
        expected = {each.query_id: each.value for each in ir_measures.iter_calc([measure], every, run)}
        got = scorer.evaluate(every, run, ours, per_query=True).by_query()
        for query, scores in got.items():
            assert scores[ours] == pytest.approx(expected[query], rel=0, abs=1e-9, nan_ok=True), theirs


def test_ndeval_does_not_normalise_at_cutoff_1(pyndeval: Any) -> None:
    """Its alpha-DCG@1 and ERR-IA@1 are the number of subtopics of the first item, here 2 of 3."""
    rows = [pyndeval.SubtopicQrel(query, subtopic, item, min(grade, 1)) for query, subtopic, item, grade in ROWS]
    theirs = pyndeval.ndeval(rows, [("q1", "a", 1.0)], ["alpha-DCG@1", "ERR-IA@1", "alpha-nDCG@1"])["q1"]
    ours = scorer.evaluate(judgements(ROWS[:5]), {"q1": ["a"]}, list(theirs))

    assert theirs == {"alpha-DCG@1": 2.0, "ERR-IA@1": 2.0, "alpha-nDCG@1": 1.0}
    assert dict(ours) == {"alpha-DCG@1": 2 / 3, "ERR-IA@1": 2 / 3, "alpha-nDCG@1": 1.0}


def test_pyndeval_orders_ties_by_ascending_id(pyndeval: Any) -> None:
    """Here ids descend, as in trec_eval and with -traditional in ndeval."""
    rows = [("q", "1", "a", 1), ("q", "2", "b", 0)]
    theirs = pyndeval.ndeval(rows, [("q", "a", 1.0), ("q", "b", 1.0)], ["MAP-IA"])["q"]["MAP-IA"]

    assert theirs == 1.0
    assert scorer.evaluate(judgements(rows), {"q": {"a": 1.0, "b": 1.0}}, "MAP-IA")["MAP-IA"] == 0.5


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covers", "ideal"),
    [({"a": "12", "b": "24", "c": "13"}, [2, 2, 1]), ({"a": "13", "b": "24", "c": "12"}, [2, 1.5, 1.5])],
)
def test_the_highest_id_is_first_among_equal_items_of_the_ideal_list(
    covers: Mapping[str, str], ideal: list[float]
) -> None:
    """All items have two subtopics, and c is first. The novelty of the others depends on the subtopics of c."""
    rows = [("q", subtopic, item, 1) for item, both in covers.items() for subtopic in both]
    best = sum(novelty / rank for rank, novelty in enumerate(ideal, 1))

    assert scorer.evaluate(judgements(rows), {"q": ["a"]}, "nERR-IA")["nERR-IA"] == pytest.approx(2 / best, rel=1e-15)


def test_a_greedy_ideal_list_can_be_surpassed() -> None:
    """z is first in the ideal list, before x and y, which have all subtopics together."""
    covers = {"x": "ABEG", "y": "CDFH", "z": "ABCD"}
    rows = [("q", subtopic, item, 1) for item, every in covers.items() for subtopic in every]

    score = scorer.evaluate(judgements(rows), {"q": ["x", "y"]}, "nERR-IA(alpha=1)@2")["nERR-IA(alpha=1)@2"]

    assert score == (4 + 4 / 2) / (4 + 2 / 2)


def test_a_subtopic_without_a_relevant_item_does_not_count() -> None:
    """Its items are judged, but a list cannot cover it."""
    rows = [("q", "1", "a", 1), ("q", "2", "b", 0)]

    assert set(scorer.evaluate(judgements(rows), {"q": ["a"]}, ["StRecall@1", "P-IA@1", "AP-IA"]).values()) == {1.0}


def test_the_grade_of_a_subtopic_is_compared_with_the_threshold() -> None:
    """a is relevant to subtopic 2 only, b to none."""
    found = scorer.evaluate(judgements(ROWS[:5]), {"q1": ["b", "a"]}, ["StRecall(rel=2)@1", "StRecall(rel=2)@2"])

    assert dict(found) == {"StRecall(rel=2)@1": 0.0, "StRecall(rel=2)@2": 1.0}
    assert scorer.evaluate(judgements(ROWS[:5]), {"q1": ["b", "a"]}, "strec@2", rel=2)["strec@2"] == 1.0


def test_unjudged_items_can_be_dropped() -> None:
    """As ir_measures' judged_only: x is not in the solution, and d is judged for one subtopic."""
    rows, dropped = judgements(ROWS[:5]), {"q1": ["d", "c", "a"]}

    for name in EVERY:
        found = scorer.evaluate(rows, {"q1": ["d", "x", "c", "y", "a"]}, name, unjudged="drop")[name]
        assert found == scorer.evaluate(rows, dropped, name)[name], name


def test_intent_aware_precision_is_the_mean_over_ties() -> None:
    """P-IA is linear in the items, so the mean over all orders has a closed form; the others are refused."""
    run = {"q1": {"a": 1.0, "x": 1.0, "b": 0.5}}

    assert scorer.evaluate(judgements(ROWS[:5]), run, "P-IA@1", ties="expected")["P-IA@1"] == pytest.approx(1 / 3)
    for kind in DIVERSITY:
        if kind.name != "P-IA":
            with pytest.raises(MeasureError, match="no formula is known"):
                scorer.evaluate(
                    judgements(ROWS), run, kind.measure(3 if kind.cutoff == "required" else None), ties="expected"
                )


# --- Rules of all measures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_declares_whether_it_uses_subtopics(kind: Kind) -> None:
    """Exactly those kinds have another score when the subtopics of a solution are taken away."""
    cutoffs: dict[str, Any] = {"required": 3, "list": (3,), "level": 0.5, "multiple": 0.5}
    measure = kind.measure(cutoffs.get(kind.cutoff))
    divided = {"q": {"a": {"1": 1.0, "2": 2.0}, "b": {"1": 1.0}, "c": {"3": 1.0}, "d": {"1": 1.0, "3": 0.0}}}
    lists = {"q": ["b", "x", "a", "d"]}
    with_, without = (
        measure(strategies.matched(solution, lists)) for solution in (divided, strategies.undivided(divided))
    )

    assert (with_.tolist() != without.tolist()) == kind.subtopics


@strategies.examples(20)
@given(
    strategies.divided_solutions(),
    strategies.submissions(),
    st.permutations(strategies.QUERIES),
    st.permutations(strategies.SUBTOPICS),
)
def test_order_of_queries_and_names_of_subtopics_do_not_matter(
    solution: strategies.Divided, submission: strategies.Submission, queries: list[str], names: list[str]
) -> None:
    """Ids of items may matter, because they decide between equal items of the ideal list."""
    measures = [measure for measure in ALL_VARIANTS if measure.kind.subtopics]
    renamed = dict(zip(strategies.SUBTOPICS, names, strict=True))
    again = {
        query: {
            item: {renamed[name]: grade for name, grade in grades.items()} for item, grades in solution[query].items()
        }
        for query in queries
        if query in solution
    }
    indexes = [list(solution).index(query) for query in again]

    expected = scores_of(measures, strategies.matched(solution, submission))[:, indexes]
    assert not differing(measures, scores_of(measures, strategies.matched(again, submission)), expected)


# --- Reading ----------------------------------------------------------------------------------------------------------


SOURCES: Mapping[str, Callable[[Rows], object]] = {
    "objects": judgements,
    "dicts": lambda rows: frame(rows).to_dict("records"),
    "a frame": frame,
    "a frame with an iteration": lambda rows: frame(rows).rename(columns={"subtopic": "iteration"}),
    "a frame with numbers": lambda rows: frame(rows).astype({"subtopic": int}),
}
FILES: Mapping[str, Callable[[Rows], bytes]] = {
    "x.qrels": lambda rows: qrels(rows).encode(),
    "tabs.qrels": lambda rows: qrels(rows).replace(" ", "\t").encode(),
    "comments.qrels": lambda rows: f"# by subtopic\n{qrels(rows).replace(' ', '  ')}".encode(),
    "x.csv": lambda rows: frame(rows).to_csv(index=False).encode(),
    "x.jsonl": lambda rows: frame(rows).to_json(orient="records", lines=True).encode(),
    "mixed.jsonl": lambda rows: ("\n" + frame(rows).to_json(orient="records", lines=True)).encode(),
    "x.json": lambda rows: frame(rows).to_json(orient="records").encode(),
    "x.parquet": lambda rows: frame(rows).to_parquet(),
}


def check_reading(source: Any) -> None:
    """Compare the scores of a solution with those of the same rows as objects."""
    expected = scorer.evaluate(judgements(ROWS), LISTS, [*EVERY, "AP", "nDCG"], per_query=True)
    assert scorer.evaluate(source, LISTS, [*EVERY, "AP", "nDCG"], per_query=True).by_query() == expected.by_query()


@pytest.mark.parametrize("name", SOURCES)
def test_subtopics_are_read_from_memory(name: str) -> None:
    """A column or an attribute, called subtopic or iteration."""
    check_reading(SOURCES[name](ROWS))


@pytest.mark.parametrize("name", FILES)
def test_subtopics_are_read_from_files(name: str, tmp_path: Path) -> None:
    """By the fast readers and by those that read lines; the rows of an item need not be adjacent."""
    for rows in (ROWS, ROWS[::-1]):
        (tmp_path / name).write_bytes(FILES[name](rows))
        check_reading(tmp_path / name)


def test_items_of_a_query_may_be_grouped_by_subtopic(tmp_path: Path) -> None:
    """In JSON, an object for each subtopic."""
    grouped: dict[tuple[str, str], dict[str, int]] = {}
    for query, subtopic, item, grade in ROWS:
        grouped.setdefault((query, subtopic), {})[item] = grade
    rows = [{"query": query, "subtopic": int(name), "items": items} for (query, name), items in grouped.items()]
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    check_reading(tmp_path / "x.jsonl")


def test_the_grade_of_an_item_is_the_highest_of_its_subtopics() -> None:
    """For all other measures. The solution counts each item once."""
    solution = read(ROWS)

    assert solution.ideal.grade.tolist() == [2, 1, 1, 0, 1, 1]
    assert [solution.items[at].as_py() for at in solution.ids.item_of_entry] == ["a", "b", "c", "d", "a", "b"]
    assert scorer.evaluate(frame(ROWS), LISTS, "NumRel")["NumRel"] == 5


@pytest.mark.parametrize("iteration", ["0", "Q0", "7"])
def test_an_iteration_that_does_not_vary_is_no_subtopic(iteration: str, tmp_path: Path) -> None:
    """The solution is the same as without, to the last byte that is stored, and scores are of one subtopic."""
    rows = [("q1", iteration, "a", 1), ("q1", iteration, "b", 2), ("q2", iteration, "a", 1)]
    (tmp_path / "x.qrels").write_text(qrels(rows))
    plain = Solution.of([memory.graded_of({"q1": {"a": 1, "b": 2}, "q2": {"a": 1}}, Findings())], Findings())

    for solution in (Solution.read(tmp_path / "x.qrels"), read(rows)):
        assert solution.ideal.subtopics is None
        assert pack_ideal(solution.ideal, 2) == pack_ideal(plain.ideal, 2)
    assert scorer.evaluate(read(rows), {"q1": ["b"], "q2": ["a"]}, "StRecall@1")["StRecall@1"] == 1.0


def test_an_iteration_may_vary_in_the_last_block_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A block whose lines have one iteration is joined with others."""
    monkeypatch.setattr("scorer.lists.reading.blocks.BLOCK", 20)
    rows = [*(("q1", "1", f"i{number}", 1) for number in range(9)), ("q1", "2", "i1", 1), ("q1", "10", "i2", 1)]
    (tmp_path / "x.qrels").write_text(qrels(rows))
    solution = Solution.read(tmp_path / "x.qrels")

    assert solution.ideal.subtopics is not None
    assert solution.ideal.subtopics.subtopic.tolist() == [0, 0, 1, 0, 2, *[0] * 6]


@pytest.mark.parametrize("name", FILES)
def test_an_item_that_is_listed_again_for_a_subtopic_is_an_error(name: str, tmp_path: Path) -> None:
    """The message names the subtopic. Without subtopics, it is the usual one."""
    (tmp_path / name).write_bytes(FILES[name]([*ROWS, ("q1", "2", "a", 1)]))
    with pytest.raises(SolutionError, match='item "a" is listed again for query "q1"; list each item once for a sub'):
        Solution.read(tmp_path / name)
    (tmp_path / name).write_bytes(FILES[name]([("q1", "0", "a", 1), ("q1", "0", "a", 1)]))
    with pytest.raises(SolutionError, match=r'item "a" is listed again for query "q1"; list each item once$'):
        Solution.read(tmp_path / name)


def test_a_subtopic_that_is_no_id_is_an_error(tmp_path: Path) -> None:
    """Numbers with a fraction have no one text."""
    (tmp_path / "x.jsonl").write_text('{"query": "q", "item": "a", "grade": 1, "subtopic": 0.5}\n')
    with pytest.raises(SolutionError, match=r"found 0\.5 as the subtopic; expected text or a whole number"):
        Solution.read(tmp_path / "x.jsonl")
    with pytest.raises(SolutionError, match="as the id of the subtopic; expected text or a whole number"):
        scorer.evaluate(frame(ROWS).assign(subtopic=0.5), LISTS, "AP")


COLUMN = st.sampled_from(["0", "1", "10", "Q0", "é", "a b"])


@strategies.examples(60)
@given(
    st.lists(st.tuples(st.sampled_from(["q", "q1"]), COLUMN, st.sampled_from(["a", "b", "0"])), min_size=1),
    st.sampled_from([" ", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_fast_and_slow_readers_read_the_same_subtopics(
    rows: list[tuple[str, str, str]], delimiter: str, end: str, complete: bool
) -> None:
    """Also where iterations have several lengths, or a blank."""
    lines = [delimiter.join([*row, "1"]) for row in rows]

    agree((end.join(lines) + (end if complete else "")).encode(), "trec")


# --- Iterations that are no subtopics ---------------------------------------------------------------------------------

ROUNDS = "q1 0.5 a 1\nq1 1 b 2\nq2 2 a 1\nq2 0.5 c 0\n"
"""The rounds in which items were judged."""
TWO_ROUNDS = f"{ROUNDS}q1 2 a 0\n"
"""An item was judged again."""
ITERATIONS = "trec:subtopic=iteration"


@pytest.mark.parametrize("name", ["x.json", "x.letor", "x.csv"])
def test_qrels_with_rounds_are_converted(name: str, tmp_path: Path, terminal: Terminal) -> None:
    """Their content is that of qrels with one iteration."""
    converted = []
    for form, text in (("rounds", ROUNDS), ("plain", re.sub(" [0-9.]+ ", " 0 ", ROUNDS))):
        (tmp_path / f"{form}.qrels").write_text(text)
        target = tmp_path / f"{form}.{name}"
        to = ["--to", "letor"] if name == "x.letor" else []
        answer = terminal.run("convert", tmp_path / f"{form}.qrels", target, "--kind", "solution", *to)
        assert answer.code == 0, answer.err
        converted.append(target.read_bytes())

    assert converted[0] == converted[1]


DOUBTS = {
    "rounds": (ROUNDS, '3 subtopics read from the column iteration, which does not look like subtopics: "0.5" is no'),
    "words": ("q1 0 a 1\nq1 Q0 b 1\n", '2 subtopics read from the column iteration, .* "Q0" is no whole number'),
    "numbers": ("q1 1 a 1\nq1 2 b 1\n", "2 subtopics read from the column iteration, .* no item has several"),
    "the same": ("q1 0 a 1\nq1 0 b 1\n", "1 subtopic read from the column iteration, .* no item has several"),
    "subtopics": ("q1 1 a 1\nq1 2 a 1\nq1 2 b 0\n", ""),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_a_note_says_that_iterations_do_not_look_like_subtopics(name: str, tmp_path: Path, terminal: Terminal) -> None:
    """It names the measures that use them, the column, and how many subtopics were read."""
    text, expected = DOUBTS[name]
    (tmp_path / "qrels").write_text(text)
    (tmp_path / "run").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 1 1 t\nq2 Q0 a 1 1 t\n")
    answer = terminal.run("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "alpha-nDCG@10,AP,StRecall@5")
    notes = scorer.evaluate(tmp_path / "qrels", {"q1": ["a"]}, "alpha-nDCG@10").notes.lines()

    assert answer.code == 0
    assert bool(re.search(f"alpha-nDCG@10, StRecall@5: {expected}", answer.err)) == bool(expected)
    assert any("iteration" in note for note in notes) == bool(expected)
    if expected:
        plain = terminal.run("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "AP")
        assert (plain.code, "the column iteration" in plain.err) == (0, False)


def test_no_note_about_a_column_called_subtopic(tmp_path: Path) -> None:
    """The file says what it is."""
    (tmp_path / "x.csv").write_bytes(FILES["x.csv"]([("q1", "0.5", "a", 1), ("q1", "1", "b", 1)]))

    assert scorer.evaluate(tmp_path / "x.csv", {"q1": ["a"]}, "alpha-nDCG@10").notes.lines() == []


def test_an_item_with_two_iterations_is_an_error_unless_a_measure_or_an_option_uses_subtopics(
    tmp_path: Path, terminal: Terminal
) -> None:
    """The message has the line, and says what to write if iterations are subtopics."""
    (tmp_path / "qrels").write_text(TWO_ROUNDS)
    (tmp_path / "run").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 1 t\n")
    evaluate: list[str | Path] = ["evaluate", tmp_path / "qrels", tmp_path / "run", "-m"]
    expected = f'qrels:5: item "a" is listed again for query "q1"; list each item once; .*{ITERATIONS}'

    refused = terminal.run(*evaluate, "AP,nDCG@10")
    assert (refused.code, refused.out) == (1, "")
    assert re.search(expected, refused.err)
    assert terminal.run(*evaluate, "AP,StRecall@5").code == 0
    assert terminal.run(*evaluate, "AP", "--solution-format", ITERATIONS).code == 0
    assert terminal.run(*evaluate, "AP", "--solution-format", "trec:subtopic=round").code == 1
    with pytest.raises(SolutionError, match="listed again"):
        scorer.evaluate(tmp_path / "qrels", {"q1": ["a"]}, "AP")
    with pytest.raises(SolutionError, match="listed again"):
        scorer.tune(tmp_path / "qrels", {"one": {"q1": ["a"]}, "two": {"q1": ["b"]}}, method="rrf", measure="AP")
    assert scorer.evaluate(tmp_path / "qrels", {"q1": ["a"]}, "AP", solution_format=ITERATIONS)["AP"] > 0
    answer = terminal.run("trec_eval", tmp_path / "qrels", tmp_path / "run")
    assert (answer.code, answer.out) == (4, "")
    converted = terminal.run("convert", tmp_path / "qrels", tmp_path / "x.csv", "--kind", "solution")
    assert converted.code == 1
    assert ITERATIONS in converted.err


@pytest.mark.parametrize("name", ["a frame", "rows", "x.csv", "x.jsonl", "mixed.jsonl", "x.parquet"])
def test_a_column_called_iteration_is_no_subtopic_unless_a_measure_uses_it(name: str, tmp_path: Path) -> None:
    """In tables as in qrels, where it may also hold numbers with a fraction."""
    rows = [("q1", 0.5, "a", 1), ("q1", 1, "b", 2), ("q2", 2, "a", 1)]
    table = pd.DataFrame(rows, columns=["query", "iteration", "item", "grade"])
    source: Any = {"a frame": table, "rows": table.to_dict("records")}.get(name)
    if source is None:
        source = tmp_path / name
        source.write_bytes(FILES_OF_FRAMES[name](table))

    result = scorer.evaluate(source, LISTS, ["AP", "StRecall@2"])

    assert result["AP"] == scorer.evaluate(table.drop(columns="iteration"), LISTS, "AP")["AP"]
    assert "3 subtopics read from the column iteration" in result.notes.lines()[0]


FILES_OF_FRAMES: Mapping[str, Callable[[pd.DataFrame], bytes]] = {
    "x.csv": lambda table: table.to_csv(index=False).encode(),
    "x.jsonl": lambda table: table.to_json(orient="records", lines=True).encode(),
    "mixed.jsonl": lambda table: ("\n" + table.to_json(orient="records", lines=True)).encode(),
    "x.parquet": lambda table: table.to_parquet(),
}

# --- Writing and storing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "y.qrels"])
def test_subtopics_are_converted(name: str, tmp_path: Path, terminal: Terminal) -> None:
    """To each format that has them, and back to the same qrels."""
    (tmp_path / "x.qrels").write_text(qrels(ROWS))

    answer = terminal.run("convert", tmp_path / "x.qrels", tmp_path / name, "--from", "trec:subtopic=iteration")
    assert answer.code == 0, answer.err
    check_reading(tmp_path / name)
    if name == "y.qrels":
        return
    assert terminal.run("convert", tmp_path / name, tmp_path / "again.qrels", "--kind", "solution").code == 0
    assert (tmp_path / "again.qrels").read_text() == qrels(ROWS)


@pytest.mark.parametrize("form", ["json", "vlnet", "letor"])
def test_a_format_without_subtopics_is_refused(form: str, tmp_path: Path, terminal: Terminal) -> None:
    """Nothing is written."""
    (tmp_path / "x.csv").write_bytes(FILES["x.csv"](ROWS[-2:]))
    answer = terminal.run("convert", tmp_path / "x.csv", tmp_path / "y", "--to", form)

    assert answer.code != 0
    assert f"the solution has subtopics; {form} has none" in answer.err
    assert not (tmp_path / "y").exists()


def test_damaged_subtopics_are_recognised() -> None:
    """Columns of other lengths are a fault of the database."""
    ideal = strategies.matched({"q": {"a": {"1": 1.0, "2": 1.0}}}, {}).ideal
    assert ideal.subtopics is not None
    longer = replace(ideal.subtopics, subtopic=np.array([0, 1, 2]))

    with pytest.raises(DamagedError):
        unpack_ideal(pack_ideal(replace(ideal, subtopics=longer), 1))


TRACK = """
name = "Novelty"

[tracks.main]
title = "Main"
solution = "solutions/main.qrels"
list_length = 20
decimals = 12
primary = "alpha-nDCG@3"
measures = [%s]
"""


def test_a_challenge_reads_iterations_as_its_measures_need_them(tmp_path: Path, terminal: Terminal) -> None:
    """An item in two rounds is an error without a measure of diversity; with one, the organiser reads a note."""
    (tmp_path / "challenge.toml").write_text((TRACK % "").replace("alpha-nDCG@3", "AP"))
    for folder in ("solutions", "submissions/main/amber"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "solutions/main.qrels").write_text(TWO_ROUNDS)
    (tmp_path / "submissions/main/amber/run.txt").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 1 t\n")

    refused = terminal.run("run", tmp_path)
    assert refused.code == 1
    assert 'main.qrels:5: item "a" is listed again for query "q1"' in refused.err
    (tmp_path / "challenge.toml").write_text(TRACK % "")
    scored = terminal.run("run", tmp_path)
    assert scored.code == 0, scored.err
    assert "main: alpha-nDCG@3: 4 subtopics read from the column iteration" not in scored.err
    assert "main: alpha-nDCG@3: 3 subtopics read from the column iteration" in scored.err
    # The note is for the organiser.
    assert not any("iteration" in path.read_text() for path in (tmp_path / "site/main").rglob("*.json"))


def test_a_recorded_solution_with_two_iterations_of_an_item_stays_valid(tmp_path: Path, terminal: Terminal) -> None:
    """A challenge whose rules are fixed goes on without its measure of diversity, with the same scores."""
    challenge = (TRACK % '"StRecall@2"').replace("alpha-nDCG@3", "AP")
    challenge += '\n[[tracks.main.phases]]\nname = "one"\nstart = 2020-01-01T00:00:00Z\nend = 2220-01-01T00:00:00Z\n'
    (tmp_path / "challenge.toml").write_text(challenge)
    for folder in ("solutions", "submissions/main/amber", "submissions/main/birch"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "solutions/main.qrels").write_text(TWO_ROUNDS)
    for team in ("amber", "birch"):
        (tmp_path / f"submissions/main/{team}/run.txt").write_text(f"q1 Q0 a 1 2 {team}\nq2 Q0 a 1 1 {team}\n")
        assert terminal.run("run", tmp_path).code == 0
        (tmp_path / "challenge.toml").write_text(challenge.replace('"StRecall@2"', ""))
    rows = json.loads((tmp_path / "site/main/leaderboard.json").read_text())["rows"]

    assert [row["AP"] for row in rows] == [0.75, 0.75]


def test_a_solution_with_rounds_is_stored_so_that_measures_of_diversity_can_be_added(
    tmp_path: Path, terminal: Terminal
) -> None:
    """The scores are those of a first run with these measures."""
    boards = []
    for name, measures in (("later", ["", '"StRecall@2"']), ("first", ['"StRecall@2"'])):
        folder = tmp_path / name
        for below in ("solutions", "submissions/main/amber"):
            (folder / below).mkdir(parents=True)
        (folder / "solutions/main.qrels").write_text(ROUNDS)
        (folder / "submissions/main/amber/run.txt").write_text("q1 Q0 b 1 2 t\nq2 Q0 a 1 1 t\n")
        for added in measures:
            (folder / "challenge.toml").write_text((TRACK % added).replace("alpha-nDCG@3", "AP"))
            assert terminal.run("run", folder).code == 0
        boards.append(json.loads((folder / "site/main/leaderboard.json").read_text())["rows"][0]["StRecall@2"])

    assert boards[0] == boards[1] == 0.75


def test_a_challenge_can_be_ranked_by_diversity(tmp_path: Path, terminal: Terminal) -> None:
    """Scored, stored and rendered. Further measures are computed from the store, by a render that reads no file."""
    (tmp_path / "challenge.toml").write_text(TRACK % '"AP"')
    for folder in ("solutions", "submissions/main/amber", "submissions/main/birch"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "solutions/main.qrels").write_text(qrels(ROWS))
    lists = {"amber": LISTS, "birch": {"q1": ["a", "c", "b"], "q2": ["a", "b"]}}
    for team, listed in lists.items():
        lines = [f"{q} Q0 {item} 1 {-rank} t" for q, items in listed.items() for rank, item in enumerate(items)]
        (tmp_path / f"submissions/main/{team}/run.txt").write_text("\n".join(lines) + "\n")
    names = ["alpha-nDCG@3", "AP", *EVERY[1:]]
    expected = {team: scorer.evaluate(judgements(ROWS), listed, names) for team, listed in lists.items()}

    def shown() -> dict[str, dict[str, float]]:
        rows = json.loads((tmp_path / "site/main/leaderboard.json").read_text())["rows"]
        return {row["team"]: {name: row[name] for name in names if name in row} for row in rows}

    answer = terminal.run("run", tmp_path)
    assert answer.code == 0, answer.err
    assert shown() == {
        team: pytest.approx({name: found[name] for name in names[:2]}) for team, found in expected.items()
    }
    assert "alpha-nDCG@3" in (tmp_path / "site/main/index.html").read_text()
    (tmp_path / "challenge.toml").write_text(TRACK % ", ".join(f'"{name}"' for name in names[1:]))
    assert terminal.run("render", tmp_path).code == 0
    assert shown() == {team: pytest.approx(dict(found)) for team, found in expected.items()}
