"""The measures of a user who may stop at each item: comparisons with cwl_eval, through ir_measures.

cwl_eval takes ties in run scores in the order of the file, so the runs here have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings

import scorer
from docs.peers import IR_MEASURES_CONTINUATION, IR_MEASURES_CWL, filled
from scorer.measures import parse_one, user_models
from tests.measures.test_peers import Qrels, Run, ours, qrels, repeatable, untied, untied_runs
from tests.strategies import number

DEPTHS = (1, 3, 20)

CWL_EVAL = {**IR_MEASURES_CWL, **IR_MEASURES_CONTINUATION}


@pytest.fixture(scope="module")
def ir_measures() -> Any:
    """An interface to cwl_eval, which must be installed too."""
    pytest.importorskip("cwl")
    return pytest.importorskip("ir_measures")


def evaluated(ir_measures: Any, judgements: Qrels, run: Run, *names: str) -> list[Any]:
    """What cwl_eval computes: objects with the measure, the query and the value."""
    measures = [ir_measures.parse_measure(name) for name in names]
    return list(ir_measures.cwl_eval.evaluator(measures, judgements).iter_calc(run))


def theirs(ir_measures: Any, judgements: Qrels, run: Run, *names: str) -> list[float]:
    """The scores of cwl_eval for query q."""
    return [each.value for each in evaluated(ir_measures, judgements, run, *names) if each.query_id == "q"]


def same_as_cwl_eval(ir_measures: Any, judgements: Qrels, run: Run, names: Mapping[str, str]) -> int:
    """Check that the scores are equal for each query; return how many were compared.

    A query that the run does not answer scores 0.
    """
    got, _ = ours(judgements, run, list(names.values()))
    spelled = {str(ir_measures.parse_measure(name)): own for name, own in names.items()}
    peer = evaluated(ir_measures, judgements, run, *names)
    for each in peer:
        own = spelled[str(each.measure)]
        assert got[own][each.query_id] == pytest.approx(each.value, abs=1e-9), (own, each.query_id)
    return len(peer)


@settings(repeatable, max_examples=number(12))
@given(judgements=qrels(), run=untied_runs())
def test_all_measures_of_cwl_eval(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """Scores are equal for each name of the table."""
    names = filled(CWL_EVAL, DEPTHS)

    assert same_as_cwl_eval(ir_measures, judgements, run, names) == len(names) * len(judgements)


@pytest.mark.parametrize("name", filled(IR_MEASURES_CONTINUATION, DEPTHS))
def test_names_of_ir_measures_are_read(name: str) -> None:
    """Its spelling names the measure of the table, also with T, dcg='log2', and numbers as 2.5."""
    assert parse_one(name) == parse_one(filled(IR_MEASURES_CONTINUATION, DEPTHS)[name])


LONG = {"q": {f"d{number}": 1 for number in range(0, 3000, 3)}}
LONG_RUN = untied({"q": [f"d{number}" for number in range(1200)]})


@pytest.mark.parametrize("name", ["INST(max_rel=1)", "INSQ(max_rel=1)", "NERR11(max_rel=2)", "SDCG(max_rel=1)@1500"])
def test_lists_of_more_than_1000_items(ir_measures: Any, name: str) -> None:
    """The user reads 1000 ranks at most, also with a higher cut-off."""
    peer = theirs(ir_measures, LONG, LONG_RUN, name)
    shorter = untied({"q": [f"d{number}" for number in range(1000)]})

    assert peer == [pytest.approx(scorer.evaluate(LONG, LONG_RUN, name)[name], abs=1e-12)]
    assert scorer.evaluate(LONG, LONG_RUN, name)[name] == scorer.evaluate(LONG, shorter, name)[name]


@pytest.mark.parametrize("name", ["INST", "NERR8@10", "NERR10"])
def test_many_queries_are_computed_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores do not depend on the parts."""
    judgements = {str(query): {"a": 1 + query % 3, "b": 3, "c": 0} for query in range(7)}
    lists = {str(query): ["x"] * (query % 2) + ["c", "b", "a"][query % 3 :] for query in range(7)}
    whole = scorer.evaluate(judgements, lists, name, per_query=True).by_query()
    monkeypatch.setattr(user_models, "_CELLS", 2500)

    assert scorer.evaluate(judgements, lists, name, per_query=True).by_query() == whole
    assert len({scores[name] for scores in whole.values()}) > 1


@pytest.mark.parametrize("p", [0.99, 0.999])
def test_rbp_of_a_user_who_reads_at_most_1000_ranks(ir_measures: Any, p: float) -> None:
    """cwl_eval divides by the sum of 1000 weights; RBP divides by the sum of all weights."""
    (peer,) = theirs(ir_measures, LONG, LONG_RUN, f"RBP(p={p},rel=1)")
    name = f"RBP(p={p},rel=1)@1000"

    assert scorer.evaluate(LONG, LONG_RUN, name)[name] == pytest.approx(peer * (1 - p**1000), abs=1e-12)


def test_ties_are_in_the_order_of_the_file_in_cwl_eval(ir_measures: Any) -> None:
    """For other tools, and by default here, ties are by item id, descending."""
    judgements, run = {"q": {"a": 1}}, {"q": {"a": 0.5, "b": 0.5}}
    name = "INST(max_rel=1)"
    (peer,) = theirs(ir_measures, judgements, run, name)

    assert scorer.evaluate(judgements, run, name, ties="order")[name] == pytest.approx(peer, abs=1e-12)
    assert scorer.evaluate(judgements, run, name)[name] < peer


def test_negative_grades_and_grades_outside_the_scale(ir_measures: Any) -> None:
    """They have the gains 0 and 1, as unjudged items have 0."""
    judgements = {"q": {"a": -1, "b": 1, "c": 2, "d": 3, "e": 4}}
    run = untied({"q": list("eaxbdc")})
    names = ["INST(min_rel=1,max_rel=3)", "INSQ(min_rel=1,max_rel=3)", "NERR8(min_rel=1,max_rel=3)@4"]

    peer = theirs(ir_measures, judgements, run, *names)
    result = scorer.evaluate(judgements, run, names)
    assert peer == pytest.approx(list(result.values()), abs=1e-12)


def test_a_goal_below_one_half_is_refused(ir_measures: Any) -> None:
    """In cwl_eval the user then goes on with probabilities above 1: a list that begins with gains scores little."""
    judgements, run = {"q": dict.fromkeys("abc", 1)}, untied({"q": list("abc")})
    (peer,) = theirs(ir_measures, judgements, run, "INST(T=0.1,max_rel=1)")

    with pytest.raises(scorer.MeasureError, match=r'INST takes a number from 0.5 to 1e.06 as T; found "0.1"'):
        scorer.evaluate(judgements, run, "INST(T=0.1,max_rel=1)")
    assert peer < 0.1


def test_accuracy_of_ir_measures(ir_measures: Any) -> None:
    """Equal for lists with relevant items and others; it divides by zero for a list of relevant items only."""
    judgements = {"q": {"a": 1, "b": 1, "c": 0}, "p": {"a": 1}}
    run = untied({"q": list("xacb"), "p": ["x"]})
    peer = {each.query_id: each.value for each in ir_measures.iter_calc([ir_measures.Accuracy], judgements, run)}
    result = scorer.evaluate(judgements, run, "Accuracy", per_query=True)

    assert result.per_query is not None
    assert result.per_query["Accuracy"]["q"] == peer["q"]
    assert result.per_query["Accuracy"]["p"] == 0
    assert peer.get("p") is None
    with pytest.raises(ZeroDivisionError):
        list(ir_measures.iter_calc([ir_measures.Accuracy], judgements, untied({"q": ["a", "b"]})))
    assert scorer.evaluate({"q": judgements["q"]}, {"q": ["a", "b"]}, "Accuracy")["Accuracy"] == 1
