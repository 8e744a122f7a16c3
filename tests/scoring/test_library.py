"""The library for notebooks: several submissions at once, frames, HTML, spellings, public names, and wrong calls."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import pydoc
import re
import rlcompleter
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any, assert_type

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.lists.reading.memory import PyarrowTable, several
from scorer.measures import DEFAULT_MEASURES
from tests.commands import command, here
from tests.seeded_challenge import SETTINGS, write_challenge

SOLUTION = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.0}, "q3": {"d4": 0.0}}
LISTS = {"q1": ["d2", "d1"], "q2": ["d9", "d3"]}
SCORES = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d9": 3.0, "d3": 3.0}}
ROWS = [(query, item, score) for query, items in SCORES.items() for item, score in items.items()]
HOSTILE = '<script>alert("x")</script>&\u202e'


def frame() -> pd.DataFrame:
    """The submission as a DataFrame."""
    return pd.DataFrame(ROWS, columns=["query", "item", "score"])


def table() -> pa.Table:
    """The submission as an Arrow table."""
    return pa.Table.from_pandas(frame())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The submission as a file."""
    path = tmp_path / "a.run"
    path.write_text("".join(f"{query} Q0 {item} 1 {score} t\n" for query, item, score in ROWS), encoding="utf-8")
    return path


# Several submissions


def test_every_kind_of_source_can_be_one_of_several(file: Path) -> None:
    """Each has the scores that it has as the only submission."""
    runs: dict[str, Any] = {
        "path": file,
        "text": str(file),
        "frame": frame(),
        "table": table(),
        "scores": SCORES,
        "rows": ROWS,
        "generator": (row for row in ROWS),
        "records": [{"query": query, "item": item, "score": score} for query, item, score in ROWS],
        "lists": LISTS,
        "arrays": {query: np.array(items) for query, items in LISTS.items()},
        "arrays of objects": {query: np.array(items, dtype=object) for query, items in LISTS.items()},
        "a matrix": np.array(ROWS, dtype=object),
        "a matrix of texts": np.array(ROWS),
        "a structured array": structured(ROWS, "score"),
        "records of numpy": structured(ROWS, "score").view(np.recarray),
    }

    results = scorer.evaluate(SOLUTION, runs, ["AP", "P@1"])

    assert isinstance(results, scorer.Evaluations)
    assert list(results) == list(runs)
    assert len(results) == len(runs)
    # d3 and d9 tie, and the higher id is first, as it is in the lists.
    expected = scorer.evaluate(SOLUTION, LISTS, ["AP", "P@1"])
    assert all(each == expected for each in results.values())


ONE: dict[str, Any] = {
    "lists": LISTS,
    "tuples": {"q1": ("d2", "d1")},
    "arrays": {"q1": np.array(["d2", "d1"])},
    "scores": SCORES,
    "scores as text": {"q1": {"d1": "1.0"}},
    "numbers of numpy": {"q1": {"d1": np.float64(1)}},
    "ids as numbers": {1: [7, 8]},
    "an empty list among lists": {"q1": [], "q2": ["d3"]},
    "empty lists only": {"q1": [], "q2": {}},
    "nothing": {},
    "a number": {"q1": 7},
}
"""Dicts that are one submission."""


@pytest.mark.parametrize("source", ONE.values(), ids=ONE.keys())
def test_a_dict_of_lists_is_one_submission(source: Any) -> None:
    """Also where a list is empty, and where the dict is invalid."""
    assert several(source) is None


SEVERAL: dict[str, dict[str, Any]] = {
    "paths": {"a": "a.run", "b": Path("b.run")},
    "frames": {"a": frame()},
    "tables": {"a": table()},
    "lists by query": {"a": LISTS},
    "scores by query": {"a": SCORES},
    "rows": {"a": ROWS},
    "rows as lists": {"a": [list(row) for row in ROWS]},
    "rows as an array": {"a": np.array(ROWS, dtype=object)},
    "a generator": {"a": iter(ROWS)},
    "an empty one among others": {"a": {}, "b": LISTS},
    "a query without items first": {"a": {"q1": [], "q2": ["d3"]}},
    "an odd one among others": {"a": None, "b": LISTS},
}
"""Dicts that are several submissions by name."""


@pytest.mark.parametrize("source", SEVERAL.values(), ids=SEVERAL.keys())
def test_a_dict_of_whole_submissions_is_several(source: dict[str, Any]) -> None:
    """Nothing is read to find out."""
    found = several(source)

    assert found is not None
    assert all(found[name] is value for name, value in source.items())


@given(st.sampled_from(sorted(SEVERAL)), st.sampled_from(["lists", "tuples", "arrays", "scores"]), st.booleans())
def test_a_dict_that_mixes_both_is_an_error(whole: str, lists: str, lists_first: bool) -> None:
    """In any order."""
    decided = [value for name, value in SEVERAL[whole].items() if several({name: value}) is not None]
    both = [("run", decided[0]), ("query", next(iter(ONE[lists].values())))]

    with pytest.raises(scorer.SubmissionError):
        scorer.evaluate(SOLUTION, dict(reversed(both) if lists_first else both), "AP")


def test_the_solution_is_read_once() -> None:
    """So it may be a generator."""
    rows = ((query, item, grade) for query, items in SOLUTION.items() for item, grade in items.items())

    results = scorer.evaluate(rows, {"a": LISTS, "b": SCORES, "c": ROWS}, "AP")

    assert {each["AP"] for each in results.values()} == {0.75}
    rows = ((query, item, grade) for query, items in SOLUTION.items() for item, grade in items.items())
    assert scorer.compare(rows, {"a": LISTS, "b": {"q1": ["d1"]}}, "AP").names == ("a", "b")


def test_all_invalid_submissions_are_one_error(tmp_path: Path) -> None:
    """In the order of the dict, each with its name, after all were read."""
    runs: dict[str, Any] = {"good": LISTS, "nan": {"q1": {"d1": float("nan")}}, "gone": tmp_path / "gone", "none": None}

    with pytest.raises(scorer.SubmissionsError) as caught:
        scorer.evaluate(SOLUTION, runs, "AP")

    error = caught.value
    assert isinstance(error, scorer.SubmissionError)
    assert list(error.errors) == ["nan", "gone", "none"]
    assert error.findings.count == 3
    assert str(error.errors["nan"]) == "the submission:1: found nan as the score; expected a finite number"
    lines = str(error).splitlines()
    assert lines[0] == 'submission "nan":1: found nan as the score; expected a finite number'
    assert lines[1].startswith('submission "gone": ')
    assert lines[1].endswith("gone: no such file")
    assert lines[2].startswith('submission "none": found a NoneType; expected a path, ')
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(again), list(again.errors)) == (str(error), list(error.errors))
    with pytest.raises(scorer.SubmissionsError) as caught:
        scorer.compare(SOLUTION, {"a": LISTS, "b": {"zz": ["d1"]}, "c": "no-such.run"}, "AP")

    assert list(caught.value.errors) == ["b", "c"]


def test_types_distinguish_one_submission_and_several(file: Path) -> None:
    """A type checker knows the result from the values of the dict."""
    by_query: dict[str, dict[str, float]] = SCORES

    assert_type(scorer.evaluate(SOLUTION, LISTS), scorer.Evaluation)
    assert_type(scorer.evaluate(SOLUTION, by_query), scorer.Evaluation)
    assert_type(scorer.evaluate(SOLUTION, file), scorer.Evaluation)
    assert_type(scorer.evaluate(SOLUTION, frame()), scorer.Evaluation)
    assert_type(scorer.evaluate(SOLUTION, ROWS), scorer.Evaluation)
    assert_type(scorer.evaluate(SOLUTION, {"a": str(file)}), scorer.Evaluations)
    assert_type(scorer.evaluate(SOLUTION, {"a": LISTS, "b": by_query}), scorer.Evaluations)
    assert_type(scorer.evaluate(SOLUTION, {"a": frame(), "b": file}), scorer.Evaluations)
    assert_type(scorer.fuse([SCORES, SCORES]), PyarrowTable)
    assert_type(scorer.Solution.read(SOLUTION), scorer.Solution)


def test_default_measures_are_computed_if_none_is_named() -> None:
    """For one submission and for several."""
    assert tuple(scorer.evaluate(SOLUTION, LISTS)) == DEFAULT_MEASURES
    assert tuple(scorer.evaluate(SOLUTION, {"a": LISTS})["a"]) == DEFAULT_MEASURES


# Spellings


def test_a_measure_is_found_by_any_spelling() -> None:
    """By its name, that of another tool, all parameters, or the Measure."""
    result = scorer.evaluate(SOLUTION, LISTS, ["map", "P@1", "nDCG(gain=exp)@10"])

    (measure,) = scorer.parse("AP")
    assert {result[name] for name in ("map", "AP", "MAP", "AP(rel=positive)", measure)} == {0.75}
    assert result["P_1"] == result["P.1"] == result["precision@1"] == result["P@1"]
    assert result["nDCG(gain=exp,discount=log2)@10"] == result["nDCG(gain=exp)@10"]
    assert list(result) == ["map", "P@1", "nDCG(gain=exp)@10"]
    assert "AP" in result
    assert result.get("RR") is None


@pytest.mark.parametrize("name", ["RR", "P@2", "nDCG@10", "P@1,2", "no such name", "", 7, None, ["AP"]])
def test_another_name_raises_key_error(name: Any) -> None:
    """Also a measure with other parameters, several measures, and what is no name."""
    result = scorer.evaluate(SOLUTION, LISTS, ["P@1", "nDCG(gain=exp)@10"])

    with pytest.raises((KeyError, TypeError)):
        result[name]


def test_a_spelling_has_the_threshold_of_the_evaluation() -> None:
    """`rel` applies to it as to the requested name."""
    result = scorer.evaluate(SOLUTION, LISTS, "P@1", rel=2)

    assert result["P_1"] == result["P(rel=2)@1"] == result["P@1"] == 0
    assert "P(rel=1)@1" not in result


def test_own_names_are_keys_first() -> None:
    """A name of a measure can be the name of another one."""
    result = scorer.evaluate(SOLUTION, LISTS, {"RR": "P@1", "other": "RR"})

    assert result["RR"] == result["P@1"] != result["other"] == result["MRR"]


# Frames


def test_frames_have_the_scores() -> None:
    """A row for each measure, submission, query or score."""
    one = scorer.evaluate(SOLUTION, LISTS, ["AP", "P@1"], per_query=True)
    results = scorer.evaluate(SOLUTION, {"a": LISTS, "b": {"q1": ["d1"]}}, ["AP", "P@1"], per_query=True)

    assert one.to_frame()["score"].to_dict() == dict(one)
    assert one.per_query is not None
    assert one.per_query.equals(one.to_frame("wide"))
    assert results.to_frame().loc["a"].to_dict() == dict(one)
    assert results.to_frame().index.name == "submission"
    wide = results.per_query
    assert wide is not None
    assert wide.equals(results.to_frame("wide"))
    part: Any = wide["a"]
    pd.testing.assert_frame_equal(part, one.per_query, check_names=False)
    assert list(wide.columns.names) == ["submission", "measure"]


def test_a_long_frame_has_a_row_for_each_score() -> None:
    """With the same values as `by_query`, in its order; undefined scores included."""
    results = scorer.evaluate(SOLUTION, {"a": LISTS, "b": {"q1": ["d1"]}}, ["AP", "P@1"])
    expected = [
        (name, query, measure, score)
        for name, each in results.items()
        for query, scores in each.by_query().items()
        for measure, score in scores.items()
    ]

    long = results.to_frame("long")

    pd.testing.assert_frame_equal(long, pd.DataFrame(expected, columns=["submission", "query", "measure", "score"]))
    assert long["score"].isna().sum() == 4
    one = results["a"].to_frame("long")
    pd.testing.assert_frame_equal(one, long[long["submission"] == "a"].drop(columns="submission"))


def test_scores_of_queries_are_there_only_if_requested() -> None:
    """As for one submission."""
    results = scorer.evaluate(SOLUTION, {"a": LISTS}, "AP")

    assert results.per_query is None
    assert results["a"].per_query is None


def test_the_bounds_of_ties_are_columns() -> None:
    """If they were requested."""
    result = scorer.evaluate(SOLUTION, SCORES, "RR", tie_bounds=True)

    assert result.to_frame().loc["RR"].to_dict() == {"score": 0.75, "worst": 0.75, "best": 1.0}


@pytest.mark.parametrize("form", ["Wide", "", True, 7])
def test_an_unknown_form_of_a_frame_is_an_error(form: Any) -> None:
    """It lists the allowed words."""
    results = scorer.evaluate(SOLUTION, {"a": LISTS}, "AP")

    for each in (results, results["a"]):
        with pytest.raises(ValueError, match='per_query is "wide", "long" or None; found'):
            each.to_frame(form)


def test_a_comparison_has_a_frame() -> None:
    """A row for each pair, with the attributes of the pair."""
    comparison = scorer.compare(SOLUTION, {"a": LISTS, "b": {"q1": ["d1"]}, "c": SCORES}, "Hits@2")

    rows = comparison.to_frame()

    assert list(zip(rows["first"], rows["second"], strict=True)) == [(p.first, p.second) for p in comparison.pairs]
    for name in ("difference", "p_value", "adjusted", "wins", "ties", "losses", "is_significant"):
        assert rows[name].tolist() == [getattr(pair, name) for pair in comparison.pairs]
    undefined = [pair.interval is None for pair in comparison.pairs]
    assert rows["low"].isna().tolist() == rows["high"].isna().tolist() == undefined
    assert any(undefined)


# HTML


def test_html_is_a_plain_table_with_escaped_names() -> None:
    """Names of submissions and measures, and ids, are text in it."""
    names = {HOSTILE: "AP", "NumRet": "NumRet"}
    one = scorer.evaluate(SOLUTION, LISTS, names)
    results = scorer.evaluate(SOLUTION, {HOSTILE: LISTS, "b": {"q1": ["d1"]}}, names)
    comparison = scorer.compare(SOLUTION, {HOSTILE: LISTS, "b": {"q1": ["d1"]}}, "AP")

    for each in (one, results, comparison):
        html = each._repr_html_()
        assert html.startswith("<table>")
        assert "<script" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;" in html
    assert "<td>0.7500</td>" in one._repr_html_()
    assert "<td>4</td>" in one._repr_html_()
    assert ">3 queries, 1 undefined<" in scorer.evaluate(SOLUTION, LISTS, "AP")._repr_html_()
    assert "<td>0.7500</td><td>4</td>" in results._repr_html_()
    assert "MAP over 2 queries" in comparison._repr_html_()


def test_undefined_scores_are_a_dash_in_html() -> None:
    """As in the split without queries."""
    result = scorer.evaluate(SOLUTION, LISTS, "AP", split="preliminary")

    assert "<td>-</td>" in result._repr_html_()


# Public names


def loaded(program: str) -> str:
    """Run a program; return what it prints, and which heavy packages it loaded."""
    seen = "import sys; print(sorted({'numpy', 'pyarrow', 'pandas', 'scipy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{seen}"], capture_output=True, text=True, check=True)
    return done.stdout


def test_listing_the_public_names_loads_nothing() -> None:
    """`dir` and `__all__` have the same names, without numpy and Arrow; so has a star import of none of them."""
    assert dir(scorer) == sorted(scorer.__all__)
    assert loaded("import scorer; print(dir(scorer) == scorer.__all__, hasattr(scorer, 'none'))") == "True False\n[]\n"


def test_completion_lists_the_public_names() -> None:
    """As Python's prompt does; a prefix loads only what has it."""
    completer = rlcompleter.Completer({"scorer": scorer})

    def completed(text: str) -> Iterator[str]:
        state = 0
        while (found := completer.complete(text, state)) is not None:
            yield found.rstrip("()")
            state += 1

    assert list(completed("scorer.")) == [f"scorer.{name}" for name in scorer.__all__]
    program = "import rlcompleter, scorer; rlcompleter.Completer({'scorer': scorer}).complete('scorer.Sco', 0)"
    assert loaded(program) == "[]\n"


def test_public_names_are_static_for_tools() -> None:
    """The imports for type checkers, the modules of lazy imports, and ``__all__`` have the same names."""
    tree = ast.parse(Path(scorer.__file__).read_text(encoding="utf-8"))
    typed = [
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("scorer.")
        for name in node.names
    ]

    assert sorted(typed) == scorer.__all__ == sorted(scorer._MODULES)
    for name, module in scorer._MODULES.items():
        assert getattr(scorer, name) == getattr(import_module(f"scorer.{module}"), name)


def test_the_package_runs_as_the_command() -> None:
    """`python -m scorer` has the output and the exit codes of `scorer`."""
    for arguments, code in ((["--version"], 0), (["nonsense"], 2)):
        ours, same = (
            subprocess.run([*start, *arguments], capture_output=True, check=False)
            for start in ([sys.executable, "-m", "scorer"], command())
        )
        assert ours.returncode == same.returncode == code
        assert (ours.stdout, ours.stderr) == (same.stdout, same.stderr)


# Solutions

SOLUTION_ROWS = [(query, item, grade) for query, items in SOLUTION.items() for item, grade in items.items()]


def solution_frame() -> pd.DataFrame:
    """The solution as a DataFrame."""
    return pd.DataFrame(SOLUTION_ROWS, columns=["query", "item", "grade"])


def structured(rows: list[Any], number: str) -> Any:
    """Rows as a structured array."""
    return np.array(rows, dtype=[("query", "U5"), ("item", "U5"), (number, "f8")])


@pytest.fixture
def solution_file(tmp_path: Path) -> Path:
    """The solution as a file."""
    path = tmp_path / "s.qrels"
    path.write_text("".join(f"{query} 0 {item} {grade:g}\n" for query, item, grade in SOLUTION_ROWS), encoding="utf-8")
    return path


def test_a_solution_is_read_from_all_that_evaluate_takes(solution_file: Path) -> None:
    """Each is equal to the others, and gives the scores that the source gives."""
    sources: list[Any] = [
        SOLUTION,
        solution_frame(),
        pa.Table.from_pandas(solution_frame()),
        SOLUTION_ROWS,
        iter(SOLUTION_ROWS),
        structured(SOLUTION_ROWS, "grade"),
        solution_file,
        str(solution_file),
        scorer.Solution.read(SOLUTION),
    ]

    read = [scorer.Solution.read(source) for source in sources]

    assert all(each == read[0] for each in read)
    assert len(set(map(hash, read))) == 1
    assert {scorer.evaluate(each, LISTS, "AP")["AP"] for each in read} == {0.75}
    assert {scorer.evaluate(each, SCORES, "AP")["AP"] for each in read} == {0.75}
    assert all(each.queries.to_pylist() == ["q1", "q2", "q3"] for each in read)
    assert all(each.items.to_pylist() == ["d1", "d2", "d3", "d4"] for each in read)
    assert repr(read[0]) == "Solution(queries=3, judged=4)"


@pytest.mark.parametrize(
    "other",
    [
        {"q1": {"d1": 2.0, "d2": 2.0}, "q2": {"d3": 1.0}, "q3": {"d4": 0.0}},
        {"q1": {"d1": 2.0, "d5": 1.0}, "q2": {"d3": 1.0}, "q3": {"d4": 0.0}},
        {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.0}},
        {"q2": {"d3": 1.0}, "q1": {"d1": 2.0, "d2": 1.0}, "q3": {"d4": 0.0}},
    ],
)
def test_solutions_with_another_grade_item_or_query_are_not_equal(other: Any) -> None:
    """Nor with another order of the queries, which decides how scores are added."""
    assert scorer.Solution.read(SOLUTION) != scorer.Solution.read(other)
    assert scorer.Solution.read(SOLUTION) != SOLUTION


def test_solutions_with_other_flags_or_subtopics_are_not_equal() -> None:
    """The order of the items of a query does not matter."""
    frame = solution_frame().assign(flag=1, subtopic=["1", "2", "1", "1"])
    read = scorer.Solution.read

    assert read(frame) == read(frame.iloc[[1, 0, 2, 3]])
    assert read(frame) != read(frame.drop(columns="flag"))
    assert read(frame) != read(frame.assign(subtopic=["1", "1", "1", "1"]))


def test_a_kept_solution_does_not_follow_the_dict() -> None:
    """A caller may change it."""
    grades = copy.deepcopy(SOLUTION)
    kept = scorer.Solution.read(grades)
    grades["q1"].clear()

    assert scorer.evaluate(kept, SCORES, "AP") == scorer.evaluate(SOLUTION, SCORES, "AP")
    assert kept == scorer.Solution.read(SOLUTION)


@pytest.mark.parametrize("grade", [2**53 + 1, 10**300, np.float32(0.1), np.int64(7), 1e-300])
def test_grades_of_any_type_of_number_find_their_items(grade: Any) -> None:
    """Also an integer that is no float."""
    result = scorer.evaluate({"q1": {"d1": grade, "d2": 0}}, {"q1": {"d2": 2.0, "d1": 1.0}}, ["RR", "nDCG"])

    assert result["RR"] == 0.5
    assert result["nDCG"] == pytest.approx(1 / np.log2(3))


def test_help_on_a_solution_shows_no_internal_parameters() -> None:
    """Only that it is made by `read`."""
    text = pydoc.plain(pydoc.render_doc(scorer.Solution))

    assert "Solution(**parts" in text
    assert "entry_of_key" not in text


# Measures


def test_a_measure_has_a_short_representation() -> None:
    """Its name."""
    assert repr(scorer.parse("nDCG(gain=exp)@10")) == "(<Measure nDCG(gain=exp)@10>,)"


def share_found(matched: Any) -> Any:
    """The share of the judged items that are in the list."""
    return matched.total(matched.found) / matched.total(matched.ideal)


def test_an_own_measure_is_evaluated_compared_and_reported() -> None:
    """Next to others, and by its object; d1 and d2 of two, d3 of one, and none of one."""
    measure = scorer.measure(share_found, "Found")
    runs: dict[str, Any] = {"a": LISTS, "b": {"q1": ["d1"]}}

    result = scorer.evaluate(SOLUTION, runs, [measure, "RR"], per_query=True)

    assert result["a"]["Found"] == result["a"][measure] == pytest.approx(2 / 3)
    assert result["b"].by_query()["q1"]["Found"] == 0.5
    assert scorer.evaluate(SOLUTION, LISTS, {"mine": measure})["mine"] == pytest.approx(2 / 3)
    assert scorer.compare(SOLUTION, runs, measure).means == pytest.approx({"a": 2 / 3, "b": 1 / 6})
    for form in ("html", "markdown", "json"):
        assert "Found" in scorer.report(SOLUTION, runs, [measure, "RR"], form=form)
    assert pickle.loads(pickle.dumps(result["a"])) == result["a"]


def texts(matched: Any) -> Any:
    """A text for each query."""
    return ["a"] * matched.queries


def test_the_same_request_is_read_again_after_an_error() -> None:
    """What is kept of measures and options depends on all of them, and on their types."""
    for rel, score in ((None, 1.0), (2, 0.5), (None, 1.0), (2.0, 0.5)):
        assert scorer.evaluate({"q1": {"d1": 1, "d2": 2}}, {"q1": ["d1", "d2"]}, "RR", rel=rel)["RR"] == score
    assert list(scorer.evaluate(SOLUTION, LISTS, ["AP", "RR"])) == ["AP", "RR"]
    assert list(scorer.evaluate(SOLUTION, LISTS, ("AP", "RR"))) == ["AP", "RR"]
    assert list(scorer.evaluate(SOLUTION, LISTS, {"AP": "RR"})) == ["AP"]
    assert list(scorer.evaluate(SOLUTION, LISTS, iter(["RR", "AP"]))) == ["RR", "AP"]  # type: ignore[call-overload]
    policies = scorer.evaluate(SOLUTION, LISTS, "AP").policies
    policies["ties"] = "changed"
    assert scorer.evaluate(SOLUTION, LISTS, "AP").policies["ties"] == "trec"


# Tables and figures for papers


def test_results_are_written_as_markdown_and_latex() -> None:
    """The numbers of the notebook's table; names are escaped."""
    result = scorer.evaluate(SOLUTION, SCORES, {"a_b": "RR", "n": "NumRet"}, tie_bounds=True)
    results = scorer.evaluate(SOLUTION, {"x|y": LISTS, "z": {"q1": ["d1"]}}, "AP")
    comparison = scorer.compare(SOLUTION, {"a": LISTS, "b": {"q1": ["d1"]}}, "AP")

    assert result.to_markdown().splitlines() == [
        "| measure | score | worst | best |",
        "| :--- | ---: | ---: | ---: |",
        r"| a\_b | 0.7500 | 0.7500 | 1.0000 |",
        "| n | 4 | 4 | 4 |",
        "",
        "3 queries, 1 undefined" if result.undefined else "3 queries",
    ]
    assert r"a\_b & 0.7500 & 0.7500 & 1.0000 \\" in result.to_latex().splitlines()
    assert r"| x\|y | 0.7500 |" in results.to_markdown().splitlines()
    assert r"z & 0.2500 \\" in results.to_latex().splitlines()
    assert comparison.to_markdown().splitlines()[2].startswith("| a | b | 0.5000 | ")
    assert r"\toprule" in comparison.to_latex()


def test_the_charts_of_a_report_are_objects() -> None:
    """Those of the report, which a notebook shows."""
    runs: dict[str, Any] = {"a": LISTS, "b": {"q1": ["d1"]}}

    charts = scorer.figures(scorer.compare(SOLUTION, runs, "AP"))

    assert list(charts) == ["intervals", "significance", "blobs", "rules", "boxes"]
    picture = charts["boxes"]._repr_svg_()
    assert picture.startswith("<svg ")
    assert picture in scorer.report(SOLUTION, runs, "AP")
    assert len(repr(charts["boxes"])) < 300


# Conversion


@pytest.mark.parametrize(
    "source", [SCORES, ROWS, frame(), table(), iter(ROWS)], ids=lambda source: type(source).__name__
)
def test_a_submission_in_memory_is_written(source: Any, tmp_path: Path) -> None:
    """With the scores that it has in memory."""
    scorer.convert(source, tmp_path / "a.jsonl.gz", kind="submission")

    assert scorer.evaluate(SOLUTION, tmp_path / "a.jsonl.gz") == scorer.evaluate(SOLUTION, SCORES)


def test_a_solution_in_memory_is_written(tmp_path: Path) -> None:
    """Queries without relevant items too."""
    scorer.convert(SOLUTION, str(tmp_path / "s.parquet"), kind="solution")

    assert scorer.evaluate(tmp_path / "s.parquet", LISTS) == scorer.evaluate(SOLUTION, LISTS)


def test_the_name_of_the_target_decides_what_can_be_both(tmp_path: Path) -> None:
    """`.qrels` is a solution and `.run` a submission, compressed or not; `kind` has priority."""
    scorer.convert(SCORES, tmp_path / "s.qrels.gz")
    scorer.convert(SCORES, tmp_path / "s.run")
    scorer.convert(SCORES, tmp_path / "other.run", kind="solution")

    assert scorer.Solution.read(tmp_path / "s.qrels.gz").queries.to_pylist() == ["q1", "q2"]
    assert (tmp_path / "s.run").read_text().splitlines()[0] == "q1 Q0 d2 1 2 scorer"
    assert (tmp_path / "other.run").read_text().splitlines()[0] == "q1 0 d1 1"


def test_a_stream_can_be_the_target() -> None:
    """With the name of a format."""
    stream = BytesIO()

    scorer.convert(LISTS, stream, target_format="vlnet")

    assert stream.getvalue() == b"q1:d2,d1\nq2:d9,d3\n"


# Wrong calls


def no_run() -> Any:
    """An iterator without rows."""
    return iter([])


evaluate: Any = scorer.evaluate
compare: Any = scorer.compare
convert: Any = scorer.convert
read: Any = scorer.Solution.read
measure: Any = scorer.measure
"""Without types, because the calls below are wrong."""

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no submission": (lambda: evaluate(SOLUTION, None), "found a NoneType; expected a path, a DataFrame"),
    "a number": (lambda: evaluate(SOLUTION, 7), "found a int; expected a path, a DataFrame"),
    "an empty dict": (lambda: evaluate(SOLUTION, {}), "has no rows"),
    "an empty generator": (lambda: evaluate(SOLUTION, no_run()), "has no rows"),
    "no columns": (lambda: evaluate(SOLUTION, pd.DataFrame()), "no column for the query"),
    "a dict of frames without columns": (
        lambda: evaluate(SOLUTION, {"a": pd.DataFrame()}),
        'submission "a": no column for the query',
    ),
    "a list of paths": (lambda: evaluate(SOLUTION, ["a.run", "b.run"]), "1: found a row that is a str"),
    "a number as a name": (lambda: evaluate(SOLUTION, {1: "a.run"}), 'found "1" as the name of a submission'),
    "a dict of numbers": (lambda: evaluate(SOLUTION, {"q1": 1}), "expected a dict whose values are dicts"),
    "a dict of None": (lambda: evaluate(SOLUTION, {"q1": None}), "expected a dict whose values are dicts"),
    "columns of different lengths": (
        lambda: evaluate(SOLUTION, {"query": ["q1"], "item": ["d1", "d2"], "score": [1.0]}),
        "found columns of different lengths: query has 1, item has 2, score has 1",
    ),
    "columns as a dict": (
        lambda: evaluate(SOLUTION, {"query": ["q1"], "item": ["d1"], "value": [1.0]}),
        'found "1.0" as the id of the item',
    ),
    "bytes": (lambda: evaluate(SOLUTION, b"q1 Q0 d1 1 1 t\n"), "found a bytes; expected a path"),
    "no solution": (lambda: evaluate(None, LISTS), "the solution: found a NoneType"),
    "no solution to read": (lambda: read(None), "the solution: found a NoneType; expected a path"),
    "an own measure of one number": (
        lambda: evaluate(SOLUTION, LISTS, measure(lambda _: 1.0, "Mine")),
        '"Mine": found float64 of shape (); expected a number for each of 3 queries',
    ),
    "an own measure of texts": (
        lambda: evaluate(SOLUTION, LISTS, measure(lambda matched: ["a"] * matched.queries, "Mine")),
        '"Mine": found <U1 of shape (3,); expected a number for each of 3 queries',
    ),
    "an own measure over orders": (
        lambda: evaluate(SOLUTION, SCORES, scorer.measure(share_found, "Found"), ties="expected"),
        "Found: no formula is known",
    ),
    "lists as a solution": (lambda: evaluate(LISTS, LISTS), "the solution: expected a dict of dicts"),
    "no measure": (lambda: evaluate(SOLUTION, LISTS, None), 'found "None", an object of type NoneType'),
    "a number as a measure": (lambda: evaluate(SOLUTION, LISTS, [7]), 'found "7", an object of type int'),
    "an unknown measure": (lambda: evaluate(SOLUTION, LISTS, "ADP"), 'no measure is called "ADP"'),
    "measures that are none": (lambda: evaluate(SOLUTION, LISTS, []), "found no measure; name at least one, as in "),
    "a dict of no measures": (lambda: evaluate(SOLUTION, LISTS, {}), "found no measure; name at least one"),
    "a list of lists of measures": (
        lambda: evaluate(SOLUTION, LISTS, [["AP"]]),
        "an object of type list, as a measure",
    ),
    "text instead of a list": (lambda: evaluate(SOLUTION, {"q": "abc"}), 'submission "q": abc: no such file'),
    "lists and scores": (lambda: evaluate(SOLUTION, {"q1": ["a"], "q2": {"a": 1}}), "for all queries alike"),
    "a fraction as an id": (lambda: evaluate(SOLUTION, {"q1": [1.5]}), 'found "1.5" as the id of the item'),
    "a threshold that is infinite": (lambda: evaluate(SOLUTION, LISTS, rel=np.inf), "rel is a finite number; found"),
    "a threshold of nan": (lambda: evaluate(SOLUTION, LISTS, rel=np.nan), "rel is a finite number; found"),
    "a threshold as text": (lambda: evaluate(SOLUTION, LISTS, rel="2"), "rel is a finite number; found '2'"),
    "a split as a list": (lambda: evaluate(SOLUTION, LISTS, split=["all"]), "split is one of all, preliminary, rest"),
    "a name as a kind": (lambda: scorer.Measure("nDCG@10"), 'found "nDCG@10" as the kind of a measure; scorer.parse'),  # type: ignore[arg-type]
    "pairs": (lambda: evaluate(SOLUTION, {"q1": [("d1", 2.0)]}), 'submission "q1":1: found a row of 2; expected'),
    "pairs as arrays": (lambda: evaluate(SOLUTION, {"q1": np.array([["d1", "2"]])}), "1: found a row of 2; expected"),
    "no score": (lambda: evaluate(SOLUTION, {"q1": {"d1": None}}), "1: found None as the score; expected a finite"),
    "no score in rows": (
        lambda: evaluate(SOLUTION, [("q1", "d1", 1), ("q1", "d2", None)]),
        "2: found None as the score",
    ),
    "no grade": (lambda: evaluate({"q1": {"d1": None}}, LISTS), "the solution:1: found None as the grade"),
    "an array without dimensions": (lambda: evaluate(SOLUTION, np.array("a.run")), "found a str; expected a path"),
    "an array with other names": (
        lambda: evaluate(SOLUTION, np.array([("q1", "d1", 1.0)], dtype=[("a", "U2"), ("b", "U2"), ("c", "f8")])),
        'found a row that is a dict with "a", "b", "c"; no column for the query',
    ),
    "an unknown word": (lambda: evaluate(SOLUTION, LISTS, ties="random"), "random"),
    "one run to compare": (lambda: compare(SOLUTION, {"a": LISTS}, "AP"), "expected at least two"),
    "lists to compare": (lambda: compare(SOLUTION, LISTS, "AP"), 'submission "q1"'),
    "no runs to compare": (lambda: compare(SOLUTION, None, "AP"), "found a NoneType; expected a dict"),
    "no measure to compare": (lambda: compare(SOLUTION, {"a": LISTS, "b": LISTS}, []), "found no measure"),
    "a set of items": (
        lambda: evaluate(SOLUTION, {"q1": {"d1", "d2"}}),
        'found a set (as "q1"), which has no order; give a list of items by rank',
    ),
    "a function as a measure": (
        lambda: evaluate(SOLUTION, LISTS, [max]),
        'found a function; make it a measure, as in scorer.measure(function, "its name")',
    ),
    "a row of four in a submission": (
        lambda: evaluate(SOLUTION, [("q1", "d1", 1.0, "1")]),
        "found a row of 4; expected a query, an item and a score",
    ),
    "a row of four in the order of TREC": (
        lambda: evaluate([("q1", "0", "d1", 1)], LISTS),
        "found a row of 4; expected a query, an item and a grade",
    ),
    "a number as a name to compare": (
        lambda: compare(SOLUTION, {1: LISTS, 2: LISTS}, "AP"),
        'found "1" as the name of a submission',
    ),
    "nothing to convert": (lambda: convert(None, "x.run"), "the source: found a NoneType"),
    "an empty dict to convert": (lambda: convert({}, "x.run"), "has no rows"),
    "no target": (lambda: convert(LISTS, None), "target: found a NoneType; expected a path"),
    "a target without a format": (lambda: convert(LISTS, "x"), "target_format: the name x does not determine"),
    "a stream without a format": (lambda: convert(LISTS, BytesIO()), "target_format: name the format"),
    "an unknown format": (lambda: convert(LISTS, "x", target_format="xml"), 'no format is called "xml"'),
    "an unknown kind": (lambda: convert(LISTS, "x.run", kind="run"), 'kind: expected "solution" or "submission"'),
    "an unknown rule": (lambda: convert(LISTS, "x.run", ties="best"), 'ties: expected "trec" or "order"'),
    "a format of memory": (lambda: convert(LISTS, "x.run", source_format="trec"), "source_format: it is for files"),
    "either kind": (lambda: convert(SCORES, "x.json"), "can be read as a solution and as a submission"),
    "content that is not held": (lambda: convert({"q": ["a b"]}, "x.run"), 'x.run: the id "a b" of an item'),
    "no folder": (lambda: convert(LISTS, "no/x.run"), "no/x.run: cannot be written: No such file"),
    "no text as a measure": (lambda: scorer.parse(""), 'no measure is called ""'),
    "no challenge": (lambda: scorer.read_challenge("none"), "none: no such file"),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_call_is_one_clear_error(
    call: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ScorerError or a ValueError; nothing is written."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises((scorer.ScorerError, ValueError), match=re.escape(message)):
        call()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: evaluate(SOLUTION, LISTS, "AP", perquery=True),
            "evaluate() has no parameter 'perquery' (did you mean per_query?)",
        ),
        (
            lambda: compare(SOLUTION, {"a": LISTS, "b": LISTS}, "AP", resample=9),
            "compare() has no parameter 'resample' (did you mean resamples?)",
        ),
        (lambda: evaluate(SOLUTION, LISTS, "AP", depth=9), "evaluate() has no parameter 'depth'"),
    ],
)
def test_a_wrong_keyword_names_the_nearest_parameter(call: Callable[[], object], message: str) -> None:
    """And the function that was called, not a class of the library."""
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == message


# Dicts of columns, and subtopics


def test_a_dict_of_columns_is_a_table() -> None:
    """As Hugging Face gives it, with the usual names of columns; lists of arrays, too."""
    solution = {"query-id": ["q", "q", "p"], "corpus-id": ["a", "b", "c"], "score": [1, 0, 2]}
    run: dict[str, Any] = {"query": ["q", "q", "p"], "item": ["b", "a", "c"], "score": np.array([2.0, 1.0, 3.0])}

    assert dict(evaluate(solution, run, "RR")) == {"RR": 0.75}
    for kind in (tuple, pd.Series):
        assert dict(evaluate(solution, {name: kind(column) for name, column in run.items()}, "RR")) == {"RR": 0.75}
    lists = {"query": ["q", "p"], "items": [["a", "b"], ["c"]], "scores": [[0.1, 0.9], [1.0]]}
    assert dict(evaluate(solution, lists, "RR")) == {"RR": 0.75}
    assert evaluate({"query": {"item": 1}}, {"query": ["item", "score"]}, "RR")["RR"] == 1


def test_subtopics_in_dicts_and_rows() -> None:
    """Query -> item -> subtopic -> grade, or rows of query, item, grade and subtopic, are as dicts with these names."""
    rows = [("q", "a", 1, "1"), ("q", "a", 1, "2"), ("q", "b", 1, "2"), ("q", "c", 1, "3")]
    named = [dict(zip(("query", "item", "grade", "subtopic"), row, strict=True)) for row in rows]
    nested: dict[str, dict[str, dict[str, int]]] = {"q": {}}
    for _, item, grade, subtopic in rows:
        nested["q"].setdefault(item, {})[subtopic] = grade
    names, lists = ["alpha-nDCG@3", "StRecall@1", "AP-IA"], {"q": ["b", "a", "c"]}

    results = [dict(evaluate(solution, lists, names)) for solution in (named, rows, nested)]
    assert results[0] == results[1] == results[2]
    assert results[0]["StRecall@1"] == 1 / 3


# Notes on the order of lists in memory

TEN = {f"q{query}": {f"d{item}": (query + item) % 3 for item in range(8)} for query in range(3)}
DISTANCES = "the run scores of each list rise, as distances and ranks do; higher scores rank first: negate them"


def test_equal_run_scores_in_memory_have_a_note() -> None:
    """As in files: the order is only that of the ties."""
    equal = {query: dict.fromkeys(items, 0.5) for query, items in TEN.items()}
    frame = pd.DataFrame(
        [(query, item, 0.5) for query in equal for item in equal[query]], columns=["qid", "docno", "score"]
    )

    for run in (equal, frame, [tuple(row) for row in frame.to_numpy()]):
        note, bounds = evaluate(TEN, run, "AP").notes.lines()
        assert note.startswith("all run scores are equal (0.5), so only the rule for ties orders the lists")
        assert bounds.startswith("by the order of ties: AP 0.")
    assert evaluate(TEN, equal, "AP", ties="expected").notes.lines() == []


def test_some_equal_run_scores_in_memory_are_noted_if_the_scores_depend_on_them() -> None:
    """With the share of the items, from dicts and frames; items of one grade may tie, and so may unjudged ones."""
    run = {query: {item: float(place // 2) for place, item in enumerate(items)} for query, items in TEN.items()}
    frame = pd.DataFrame(
        [(query, *row) for query, items in run.items() for row in items.items()], columns=["qid", "docno", "score"]
    )
    graded = {query: dict.fromkeys(items, 1) for query, items in TEN.items()}

    for tied in (run, frame):
        share, bounds = evaluate(TEN, tied, ["AP", "map"]).notes.without("the run scores").lines()
        assert share.startswith("equal run scores: 12 of 24 items (50.0%)")
        assert re.fullmatch(r"by the order of ties: AP 0\.\d{4} to 0\.\d{4}, map 0\.\d{4} to 0\.\d{4}", bounds)
        assert evaluate(graded, tied, "AP").notes.lines() == []
        assert evaluate(TEN, tied, "AP").bounds() is None
    assert evaluate(TEN, run, "AP", ties="order").notes.lines() == []


def test_a_call_that_has_nothing_to_say_makes_no_text() -> None:
    """From dicts, with a solution that is kept: no text is made for Arrow or for people, and lists are sorted once.

    No check is repeated that an earlier call made of the measures, the options or the solution.
    """
    falling = {query: {item: -float(place) for place, item in enumerate(items)} for query, items in TEN.items()}
    solution, calls = scorer.Solution.read(TEN), Counter[str]()
    evaluate(solution, falling, ["AP", "RR"])

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"] += 1

    sys.setprofile(count)
    try:
        notes = evaluate(solution, falling, ["AP", "RR"]).notes
    finally:
        sys.setprofile(None)

    assert not notes
    assert calls["match.match"] == calls["ranked_lists._rising_cost"] == 1
    assert [name for name in calls if name.partition(".")[0] in ("arrow", "wording", "names", "kinds")] == [
        "kinds.__call__"
    ]
    assert calls.total() < 140


def test_run_scores_that_rise_in_each_list_have_a_note() -> None:
    """In a dict in the order of its items, as of a search by distance; a few that rise may do so by chance."""
    rising = {query: {item: float(place) for place, item in enumerate(items)} for query, items in TEN.items()}
    falling = {query: {item: -score for item, score in items.items()} for query, items in rising.items()}

    assert evaluate(TEN, rising, "AP").notes.lines() == [DISTANCES]
    assert evaluate(TEN, falling, "AP").notes.lines() == []
    assert evaluate(TEN, {**falling, "q0": rising["q0"]}, "AP").notes.lines() == []
    assert len(evaluate(TEN, {"q0": rising["q0"]}, "AP").notes.lines()) == 1  # on the missing queries


def test_ranks_in_a_frame_that_contradict_its_run_scores_have_a_note() -> None:
    """As in files: distances, and rank and score swapped. Other columns of this name change nothing."""
    rows = [(query, item, place, 0.1 * place) for query in TEN for place, item in enumerate(TEN[query], 1)]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "rank", "score"])

    (note,) = evaluate(TEN, frame, "AP").notes.lines()
    assert note.startswith("the run scores rise with the rank, as distances do; negate distances")
    (note,) = evaluate(TEN, frame.set_axis(["qid", "docno", "score", "rank"], axis=1), "AP").notes.lines()
    assert "the two look swapped" in note
    for fine in (frame.assign(score=-frame["score"]), frame.assign(rank="first"), frame.drop(columns="rank")):
        assert evaluate(TEN, fine, "AP").notes.lines() == []


# Intervals and several measures


def test_the_intervals_of_a_run_are_those_of_a_board(tmp_path: Path) -> None:
    """Of means only; equal to the numbers of leaderboard.json, for measures in [0, 1] and others."""
    write_challenge(tmp_path, SETTINGS.replace("decimals = 3", "decimals = 6"))
    assert here("run", tmp_path).code == 0
    board = json.loads((tmp_path / "site" / "main" / "leaderboard.json").read_text(encoding="utf-8"))

    for row in board["rows"]:
        (file,) = (tmp_path / "submissions" / "main").glob(f"*{row['team']}.txt")
        result = evaluate(tmp_path / "solutions" / "main.txt", file, ["MARp@5,10", "DCG", "num_ret"])
        low, high = result.intervals()["MARp@5,10"]
        assert (round(low, 6), round(high, 6)) == (row["low"], row["high"])
        assert [*result.intervals()] == ["MARp@5,10", "DCG"]
        assert result.intervals()["DCG"][0] < result["DCG"] < result.intervals()["DCG"][1]


def test_several_measures_are_compared_at_once() -> None:
    """The first is the comparison; each is that of the measure on its own, with the name that was requested."""
    other = {query: [*reversed(items)] for query, items in LISTS.items()}
    runs = {"a": LISTS, "b": other}
    comparison = compare(SOLUTION, runs, ["AP", "ndcg_cut.5,10"])

    assert [*comparison.by_measure] == ["AP", "ndcg_cut.5", "ndcg_cut.10"]
    for name, each in comparison.by_measure.items():
        assert each.to_dict() == compare(SOLUTION, runs, name).to_dict()
    assert comparison.to_dict() == comparison.by_measure["AP"].to_dict()
