"""The settings of an evaluation: missing queries, nothing relevant, unjudged items, thresholds, sums and bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import scorer
from scorer.options import UNJUDGED
from tests import strategies
from tests.commands import Terminal
from tests.measures.test_measures import ALL_VARIANTS, differing, oracle_scores, scores_of
from tests.oracles import relevant_items

SOLUTION = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0}, "q3": {"d": 0.0}, "q4": {"e": 2.0}}
LISTS = {"q1": ["x", "b", "a"], "q3": ["d"], "q4": ["e"]}


@pytest.mark.parametrize(
    ("policies", "scores"),
    [
        ({}, [0.5, 0.0, None, 1.0]),
        ({"missing": "skip"}, [0.5, None, None, 1.0]),
        ({"nothing_relevant": "zero"}, [0.5, 0.0, 0.0, 1.0]),
        ({"missing": "skip", "nothing_relevant": "zero"}, [0.5, None, 0.0, 1.0]),
        ({"unjudged": "drop"}, [1.0, 0.0, None, 1.0]),
        ({"rel": 2}, [0.5, None, None, 1.0]),
        ({"rel": 2, "nothing_relevant": "zero"}, [0.5, 0.0, 0.0, 1.0]),
    ],
)
def test_each_setting_by_its_scores(policies: Mapping[str, object], scores: Sequence[float | None]) -> None:
    """Which queries score 0, which are left out, and the mean."""
    result = scorer.evaluate(SOLUTION, LISTS, "RR", True, **policies)  # type: ignore[call-overload]

    found = [each["RR"] for each in result.by_query().values()]
    assert [None if math.isnan(value) else value for value in found] == scores
    defined = [value for value in scores if value is not None]
    assert result["RR"] == pytest.approx(sum(defined) / len(defined))
    assert result.policies.items() >= {name: str(value) for name, value in policies.items()}.items()
    assert result.queries == 4
    assert result.undefined == scores.count(None)


def test_missing_queries_that_are_left_out_are_reported() -> None:
    """The mean is then over the queries that the submission chose."""
    notes = scorer.evaluate(SOLUTION, LISTS, "RR", missing="skip").notes

    assert notes.lines() == ['1 of 4 queries have no list ("q2"); the means leave them out']


def test_zero_is_only_for_queries_without_relevant_items() -> None:
    """A measure that is undefined for another reason stays undefined."""
    scores = scorer.evaluate(SOLUTION, LISTS, ["nDCGphi", "DCG(gain=exp)"], True, nothing_relevant="zero").by_query()

    assert [each["nDCGphi"] for each in scores.values()] == pytest.approx(
        [0.6309, np.nan, 0, np.nan], abs=5e-5, nan_ok=True
    )
    assert scores["q3"]["DCG(gain=exp)"] == 0


def test_a_threshold_for_all_measures_does_not_change_named_ones() -> None:
    """Nor does it change measures of gains."""
    result = scorer.evaluate(SOLUTION, LISTS, ["P@2", "P(rel=1)@2", "nDCG@2"], rel=2)

    assert result.variants == {
        "P@2": "P(rel=2)@2",
        "P(rel=1)@2": "P(rel=1)@2",
        "nDCG@2": "nDCG(gain=linear,discount=log2,ideal=judged,rel=positive)@2",
    }
    assert list(result) == ["P@2", "P(rel=1)@2", "nDCG@2"]
    assert result.policies["rel"] == "2"


@strategies.examples(20)
@given(solution=strategies.solutions(), submission=strategies.submissions())
def test_dropping_unjudged_items_closes_the_lists_up(
    solution: strategies.Solution, submission: strategies.Submission
) -> None:
    """Every measure has its value for lists without unjudged and repeated items."""
    condensed = {
        query: [
            item
            for index, item in enumerate(submission.get(query, []))
            if grades.get(item, -1) >= 0 and item not in submission[query][:index]
        ]
        for query, grades in solution.items()
    }
    expected = np.array([oracle_scores(measure, solution, condensed) for measure in ALL_VARIANTS])

    got = scores_of(ALL_VARIANTS, strategies.matched(solution, submission).condensed())
    assert not differing(ALL_VARIANTS, got, expected)


def test_sums_and_geometric_means() -> None:
    """Counts are summed over the queries; a geometric mean has a floor and is not 0 because of one 0."""
    names = ["num_q", "num_ret", "num_rel", "num_rel_ret", "gm_map"]
    result = scorer.evaluate(SOLUTION, LISTS, names, nothing_relevant="zero")

    ap = [(1 / 2 + 2 / 3) / 2, 1e-5, 1e-5, 1.0]
    assert dict(result) == {
        "num_q": 4,
        "num_ret": 5,
        "num_rel": sum(len(relevant_items(grades, "positive")) for grades in SOLUTION.values()),
        "num_rel_ret": 3,
        "gm_map": pytest.approx(math.prod(ap) ** (1 / 4)),
    }
    assert scorer.evaluate(SOLUTION, LISTS, "num_q", missing="skip")["num_q"] == 3
    per_query = scorer.evaluate(SOLUTION, LISTS, "gm_map", True).by_query()
    assert per_query["q1"]["gm_map"] == pytest.approx(ap[0])


@pytest.mark.parametrize("nothing", [{}, [], {"q1": {}}, pd.DataFrame({"query": [], "item": [], "score": []})])
def test_a_submission_without_a_list_scores_zero_as_in_other_tools(nothing: Any) -> None:
    """If queries without relevant items score 0, too; otherwise it is an error, unless a list is empty."""
    result = scorer.evaluate(SOLUTION, nothing, ["RR", "num_ret"], nothing_relevant="zero", per_query=True)

    assert dict(result) == {"RR": 0.0, "num_ret": 0.0}
    assert {each["RR"] for each in result.by_query().values()} == {0.0}
    if len(nothing) == 0:
        assert result.notes.lines() == ["the file has no rows"]
        for options in ({}, {"nothing_relevant": "zero", "missing": "reject"}, {"missing": "skip"}):
            with pytest.raises(scorer.SubmissionError, match="the file has no rows"):
                scorer.evaluate(SOLUTION, nothing, "RR", **options)  # type: ignore[call-overload]


def test_an_empty_file_scores_zero_as_in_other_tools(terminal: Terminal, tmp_path: Path) -> None:
    """With the same option; otherwise it is an error."""
    (tmp_path / "qrels").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run").touch()
    call = ("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "AP", "--format", "csv")

    answer = terminal.run(*call, "--nothing-relevant", "zero")
    assert (answer.code, answer.out.splitlines()[1].split(",")[1]) == (0, "0.0")
    assert terminal.run(*call).code == 1


def test_dropping_unjudged_items_drops_those_with_a_negative_grade() -> None:
    """As trec_eval -J does, and as the text of the option says."""
    solution = {"q": {"a": 1.0, "b": -1.0, "c": 0.0}}

    assert scorer.evaluate(solution, {"q": ["b", "x", "a"]}, "RR", unjudged="drop")["RR"] == 1.0
    assert scorer.evaluate(solution, {"q": ["c", "x", "a"]}, "RR", unjudged="drop")["RR"] == 0.5
    assert "negative grade" in UNJUDGED.values["drop"]


@pytest.mark.parametrize("ties", ["expected", "best", "worst", "trec"])
def test_ties_close_up_where_unjudged_items_are_dropped(ties: Any) -> None:
    """Their groups have the judged items only."""
    solution, run = {"q": {"a": 1.0, "b": 2.0, "c": 0.0}}, {"a": 3.0, "b": 2.0, "x": 2.0, "c": 2.0, "y": 2.0}
    cases: list[Any] = [(run, "drop"), ({item: run[item] for item in "abc"}, "nonrelevant")]
    whole, left = (
        scorer.evaluate(solution, {"q": listed}, ["AP", "nDCG", "P@2"], ties=ties, unjudged=unjudged)
        for listed, unjudged in cases
    )

    assert dict(whole) == dict(left)


@pytest.mark.parametrize(
    "option", [["--missing", "nan"], ["--unjudged", "keep"], ["--nothing-relevant", "one"], ["-l", "x"]]
)
def test_an_unknown_setting_is_a_usage_error(option: list[str], terminal: Terminal) -> None:
    """The message names the option."""
    answer = terminal.run("evaluate", "no file", "no file", "-m", "AP", *option)

    assert answer.code == 2
    assert option[0] in answer.err
