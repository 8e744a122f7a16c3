"""Comparisons with other tools (peers): equal numbers with the right settings, and known differences.

The first half draws random judgements and runs, and compares every measure that a peer has too, by the tables of the
pages about measures. The second half has a test for each case in which tools compute different numbers under one name.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorer
from docs.peers import (
    DIFFERENCES,
    IR_MEASURES,
    IR_MEASURES_ACCURACY,
    IR_MEASURES_ASCENDING,
    IR_MEASURES_CWL,
    IR_MEASURES_GDEVAL,
    IR_MEASURES_SPELLINGS,
    RANX,
    RANX_BPREF,
    RANX_FUNCTIONS,
    SKLEARN_BINARY,
    SKLEARN_GRADED,
    TREC_EVAL,
    TREC_EVAL_FAMILIES,
    TREC_EVAL_PARAMETERS,
    filled,
)
from scorer.errors import MeasureError, SolutionError, SubmissionError
from scorer.measures import parse, parse_one
from tests.strategies import examples, number

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]
Scores = Mapping[str, Mapping[str, float]]
"""Measure -> query -> score."""

EXACT = 1e-9

repeatable = settings(examples(60, [HealthCheck.too_slow]), derandomize=True, database=None)

ITEMS = ("a", "aa", "B", "b", "c", "10", "9", "007", "NA", "x1", "x2", "x3")
JUNK = ("u1", "u2", "u3", "zz")
"""Unjudged items."""
QUERIES = ("1", "2", "3", "4")
SURE: Qrels = {"6": {"a": 1, "b": 0, "c": 3}}
SURE_RUN: Run = {"6": {"a": 1.0, "b": 1.25, "u1": 0.5}}
"""A query with relevant items and a list, so that there is always something to compare."""

TIED = tuple(quarters / 4 for quarters in range(-4, 9))
"""A few run scores, so that they tie; float32 represents them exactly."""


@pytest.fixture(scope="module")
def pytrec_eval() -> Any:
    """The C code of trec_eval 9.0.8 as a Python module."""
    return pytest.importorskip("pytrec_eval")


@pytest.fixture(scope="module")
def ir_measures() -> Any:
    """An interface to several tools."""
    return pytest.importorskip("ir_measures")


@pytest.fixture(scope="module")
def sklearn() -> Any:
    """The metrics of scikit-learn."""
    return pytest.importorskip("sklearn.metrics")


def qrels(items: tuple[str, ...] = ITEMS) -> st.SearchStrategy[Qrels]:
    """Integer grades from 0 to 4 for some queries, and `SURE`."""
    graded = st.dictionaries(st.sampled_from(items), st.integers(0, 4), min_size=1)
    return st.dictionaries(st.sampled_from(QUERIES), graded).map(lambda drawn: {**drawn, **SURE})


def tied_runs() -> st.SearchStrategy[Run]:
    """Lists for some queries, one of them without judgements; with ties and unjudged items."""
    listed = st.dictionaries(st.sampled_from(ITEMS + JUNK), st.sampled_from(TIED), min_size=1)
    return st.dictionaries(st.sampled_from((*QUERIES, "5")), listed).map(lambda drawn: {**drawn, **SURE_RUN})


def untied(orders: Mapping[str, list[str]]) -> Run:
    """Positive run scores that decrease by one half from rank to rank."""
    return {query: {item: 100 - rank / 2 for rank, item in enumerate(order)} for query, order in orders.items()}


def untied_runs(queries: tuple[str, ...] = (*QUERIES, "5")) -> st.SearchStrategy[Run]:
    """Like `tied_runs`, without ties."""
    order = st.lists(st.sampled_from(ITEMS + JUNK), min_size=1, unique=True)
    return st.dictionaries(st.sampled_from(queries), order).map(lambda drawn: {**untied(drawn), **SURE_RUN})


def complete_runs() -> st.SearchStrategy[Run]:
    """Like `untied_runs`, with a list for each query."""
    order = st.lists(st.sampled_from(ITEMS + JUNK), min_size=1, unique=True)
    return st.fixed_dictionaries(dict.fromkeys(QUERIES, order)).map(lambda drawn: {**untied(drawn), **SURE_RUN})


def ours(judgements: Any, run: Any, measures: list[str], **policies: Any) -> tuple[Scores, Mapping[str, float]]:
    """Our scores and their means; a query without relevant items scores 0, as in all peers."""
    named = {name: measure for name in measures for measure in scorer.parse(name)}
    evaluation = scorer.evaluate(judgements, run, named, **{"nothing_relevant": "zero", **policies})
    by_query = evaluation.by_query()
    return {name: {query: each[name] for query, each in by_query.items()} for name in measures}, evaluation


def one(judgements: Any, run: Any, measure: str, **policies: Any) -> float:
    """Our mean of one measure."""
    return ours(judgements, run, [measure], **policies)[1][measure]


def agree(names: Mapping[str, str], got: Scores, peer: Scores, tolerance: float = EXACT) -> None:
    """Check that the peer's scores equal ours; `names` maps the peer's names of measures to ours."""
    for theirs, name in names.items():
        assert peer[theirs], f"{theirs}: nothing compared"
        for query, score in peer[theirs].items():
            assert got[name][query] == pytest.approx(score, abs=tolerance), (theirs, name, query)


def same_means(names: Mapping[str, str], got: Mapping[str, float], peer: Mapping[str, float]) -> None:
    """Check that the peer's means equal ours."""
    assert {theirs: got[name] for theirs, name in names.items()} == pytest.approx(dict(peer), abs=EXACT)


def by_measure(peer: Mapping[str, Mapping[str, float]], names: Mapping[str, str]) -> Scores:
    """Scores by measure, from a peer's scores by query."""
    return {name: {query: each[name] for query, each in peer.items()} for name in names}


def trec(
    pytrec_eval: Any, judgements: Qrels, run: Run, names: Any, **options: int
) -> Mapping[str, Mapping[str, float]]:
    """The scores of trec_eval's code, by query."""
    asked = {name.replace("P_", "P.", 1) if name.startswith("P_") else name for name in names}
    found: Mapping[str, Mapping[str, float]] = pytrec_eval.RelevanceEvaluator(judgements, asked, **options).evaluate(
        run
    )
    return found


# Random judgements and runs ------------------------------------------------------------------------------------------

DEPTHS = (1, 3, 5, 20)
LEVELS = ("0.00", "0.10", "0.30", "0.50", "0.75", "1.00")

IR_LEVELS = (0.0, 0.1, 0.35, 0.6, 1.0)

SUMS = {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"}


def trec_eval_names(without: tuple[str, ...]) -> dict[str, str]:
    """trec_eval's names at all depths and levels, each with ours."""
    names = filled(TREC_EVAL, DEPTHS, LEVELS)
    return {theirs: ours for theirs, ours in names.items() if theirs not in without}


@repeatable
@given(judgements=qrels(), run=tied_runs(), rel=st.integers(1, 3))
def test_trec_eval_with_ties(pytrec_eval: Any, judgements: Qrels, run: Run, rel: int) -> None:
    """Ties by descending item id, without unanswered queries: pytrec_eval's scores and means, for each -l."""
    names = trec_eval_names(without=("gm_map", "gm_bpref"))
    peer = trec(pytrec_eval, judgements, run, names, relevance_level=rel)
    got, means = ours(judgements, run, list(names.values()), missing="skip", rel=rel)

    agree(names, got, by_measure(peer, names))
    sums = {name: sum(each[name] for each in peer.values()) for name in names}
    same_means(names, means, {name: total if name in SUMS else total / len(peer) for name, total in sums.items()})
    assert peer.keys() == judgements.keys() & run.keys()


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_trec_eval_on_judged_items_only(pytrec_eval: Any, judgements: Qrels, run: Run) -> None:
    """unjudged="drop" is trec_eval's -J for lists with a judged item; for other lists its IPrec is 0 / 0."""
    names = trec_eval_names(without=("gm_map", "gm_bpref", "bpref"))
    peer = trec(pytrec_eval, judgements, run, names, judged_docs_only_flag=1)
    peer = {query: each for query, each in peer.items() if run[query].keys() & judgements[query].keys()}
    got, _ = ours(judgements, run, list(names.values()), missing="skip", unjudged="drop")

    agree(names, got, by_measure(peer, names))


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_trec_eval_geometric_mean(pytrec_eval: Any, judgements: Qrels, run: Run) -> None:
    """GMAP is the exponential of the mean of the logarithms that trec_eval computes for the queries; so is GMBpref."""
    for name in ("gm_map", "gm_bpref"):
        peer = trec(pytrec_eval, judgements, run, [name])

        mean = sum(each[name] for each in peer.values()) / len(peer)
        assert one(judgements, run, TREC_EVAL[name], missing="skip") == pytest.approx(math.exp(mean), abs=EXACT)


@pytest.mark.parametrize("name", TREC_EVAL_FAMILIES)
def test_trec_eval_families(pytrec_eval: Any, name: str) -> None:
    """A name of several cut-offs has the cut-offs of trec_eval, in their order."""
    (peer,) = pytrec_eval.RelevanceEvaluator(GRADED, {name}).evaluate(GRADED_RUN).values()
    means = ours(GRADED, GRADED_RUN, list(map(str, parse(TREC_EVAL_FAMILIES[name]))))[1]

    assert list(means.values()) == pytest.approx(list(peer.values()), abs=EXACT)


def test_trec_eval_parameters(pytrec_eval: Any) -> None:
    """Names with parameters, as on the command line of trec_eval; pytrec_eval prints them in its own form."""
    for theirs, name in filled(TREC_EVAL_PARAMETERS, (3,), ("0.50",)).items():
        (peer,) = pytrec_eval.RelevanceEvaluator(GRADED, {theirs}).evaluate(GRADED_RUN).values()
        assert [one(GRADED, GRADED_RUN, name)] == pytest.approx(list(peer.values()), abs=EXACT), theirs


def test_compat_of_negative_run_scores(ir_measures: Any) -> None:
    """In ir_measures, an item that is missing from the list has run score 0, so it precedes negative ones."""
    judgements: Qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    runs = {shift: {"q": {"b": shift - 1.0, "x": shift - 2.0, "a": shift - 3.0}} for shift in (10, 0)}
    peer = {shift: calculated(ir_measures, judgements, run, ["Compat(p=0.8)"])[1] for shift, run in runs.items()}
    got = {shift: one(judgements, run, "Compat(p=0.8,depth=list)") for shift, run in runs.items()}

    assert [rounded(each["Compat(p=0.8)"]) for each in peer.values()] == [0.7486, 0.3388]
    assert [rounded(score) for score in got.values()] == [0.7486, 0.7486]


def authors_compatibility(grades: Mapping[str, int], ranking: list[str], p: float = 0.95) -> float:
    """As the program of Clarke, Vtyurina and Smucker computes it, to depth 1000."""
    ideal = sorted(
        (item for item in grades if grades[item] > 0),
        key=lambda item: (-grades[item], ranking.index(item) if item in ranking else len(ranking)),
    )

    def overlap(one: list[str]) -> float:
        weights = [p**d / (d + 1) for d in range(1000)]
        return sum(weights[d] * len({*one[: d + 1]} & {*ideal[: d + 1]}) for d in range(1000))

    return overlap(ranking) / overlap(ideal)


@settings(repeatable, max_examples=number(20))
@given(
    grades=st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 3), min_size=1).filter(
        lambda each: any(each.values())
    ),
    ranking=st.lists(st.sampled_from(ITEMS + JUNK), min_size=1, unique=True),
)
def test_compatibility_of_its_authors(grades: Mapping[str, int], ranking: list[str]) -> None:
    """Compat goes to depth 1000, for lists of any length."""
    expected = authors_compatibility(grades, ranking)

    assert one({"q": grades}, {"q": ranking}, "Compat(depth=1000)") == pytest.approx(expected, abs=EXACT)


def test_a_list_that_begins_with_an_unjudged_item(ir_measures: Any) -> None:
    """The sums go on after the end of the list: 1 - p / -ln(1 - p). Those of ir_measures end with it."""
    judgements: Qrels = {"q": {"a": 1}}
    run = untied({"q": ["x", "a"]})

    both = scorer.evaluate(judgements, run, [ir_measures.Compat, "Compat"])
    assert rounded(both["Compat"]) == rounded(1 - 0.95 / -math.log(0.05)) == 0.6829
    assert rounded(both[ir_measures.Compat]) == rounded(both["Compat(depth=list)"]) == 0.322
    assert rounded(calculated(ir_measures, judgements, run, ["Compat"])[1]["Compat"]) == 0.322
    assert rounded(one(judgements, run, "Compat(depth=list)")) == 0.322
    assert one(judgements, run, "RBO") == pytest.approx(0.95 / 2)


def calculated(ir_measures: Any, judgements: Qrels, run: Run, names: Any) -> tuple[Scores, Mapping[str, float]]:
    """The scores and means of ir_measures, one measure at a time, because some measures affect others."""
    peer: dict[str, dict[str, float]] = {}
    means: dict[str, float] = {}
    for name in names:
        measure = ir_measures.parse_measure(name)
        result = ir_measures.calc([measure], judgements, run)
        peer[name] = {each.query_id: each.value for each in result.per_query}
        means[name] = result.aggregated[measure]
    return peer, means


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_ir_measures_with_ties(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """Measures of ir_measures from pytrec_eval, their means and sums; unanswered queries score 0."""
    names = filled(IR_MEASURES, DEPTHS, IR_LEVELS)
    peer, means = calculated(ir_measures, judgements, run, names)
    got, our_means = ours(judgements, run, list(names.values()))

    answered = judgements.keys() & run.keys()
    counts = {"NumQ", "NumRel"}  # ir_measures does not count unanswered queries
    agree(names, got, {name: _of(peer[name], answered if name in counts else None) for name in peer})
    same = {theirs: name for theirs, name in names.items() if theirs not in counts}
    same_means(same, our_means, {name: means[name] for name in same})


def _of(scores: Mapping[str, float], queries: set[str] | None) -> Mapping[str, float]:
    return scores if queries is None else {query: score for query, score in scores.items() if query in queries}


def all_agree(ir_measures: Any, judgements: Qrels, run: Run, names: Mapping[str, str]) -> None:
    """Check that the scores and the means of ir_measures equal ours."""
    peer, means = calculated(ir_measures, judgements, run, names)
    got, our_means = ours(judgements, run, list(names.values()))

    agree(names, got, peer)
    same_means(names, our_means, means)


@repeatable
@given(judgements=qrels(), run=untied_runs())
def test_ir_measures_without_ties(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """Measures of ir_measures from tools that order ties by ascending item id."""
    all_agree(ir_measures, judgements, run, filled(IR_MEASURES_ASCENDING, DEPTHS))


@settings(repeatable, max_examples=number(20))
@given(judgements=qrels(), run=untied_runs())
def test_ir_measures_through_cwl_eval(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """Rank-biased precision of binary gains."""
    pytest.importorskip("cwl")
    all_agree(ir_measures, judgements, run, IR_MEASURES_CWL)


@settings(repeatable, max_examples=number(20))
@given(judgements=qrels(), order=st.permutations(ITEMS))
def test_ir_measures_accuracy(ir_measures: Any, judgements: Qrels, order: list[str]) -> None:
    """The scores of lists with a relevant item and another; without them it has no score, or divides by 0."""
    matched = {query: {**grades, "x1": 0, "x2": 2} for query, grades in judgements.items()}
    run = untied({query: [*order[:2], "zz", "x2", "x1"] for query in matched})
    names = filled(IR_MEASURES_ACCURACY, (4, 5))
    peer, _ = calculated(ir_measures, matched, run, names)
    got, _ = ours(matched, run, list(names.values()))

    agree(names, got, peer)


def test_aliases_and_parameters_of_ir_measures(ir_measures: Any) -> None:
    """Each alias, and each parameter with another value than its default."""
    all_agree(ir_measures, GRADED, GRADED_RUN, filled(IR_MEASURES_SPELLINGS, (1, 3, 10)))


@settings(repeatable, max_examples=number(10))
@given(judgements=qrels(), run=untied_runs(QUERIES))
def test_ir_measures_through_gdeval(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """gdeval has exponential gain, and ERR with highest grade 4; it prints five decimals."""
    if shutil.which("perl") is None:
        pytest.skip("perl not found; gdeval needs it")
    names = filled(IR_MEASURES_GDEVAL, (1, 5))
    peer, _ = calculated(ir_measures, judgements, run, names)
    got, _ = ours(judgements, run, list(names.values()))

    agree(names, got, peer, tolerance=5.1e-6)


def ranked(ranx: Any, judgements: Qrels, run: Run, names: Any) -> Scores:
    """The scores of ranx."""
    its_run = ranx.Run({query: dict(run[query]) for query in judgements})
    ranx.evaluate(ranx.Qrels({query: dict(grades) for query, grades in judgements.items()}), its_run, list(names))
    return {name: dict(its_run.scores[name]) for name in names}


@repeatable
@given(judgements=qrels(), run=complete_runs())
def test_ranx_without_ties(ranx: Any, judgements: Qrels, run: Run) -> None:
    """Every measure of ranx except Bpref, and the means."""
    names = filled(RANX, DEPTHS)
    peer = ranked(ranx, judgements, run, names)
    got, means = ours(judgements, run, list(names.values()))

    agree(names, got, peer)
    same_means(names, means, {name: sum(peer[name].values()) / len(peer[name]) for name in names})


def test_functions_of_ranx(ranx: Any) -> None:
    """The functions in its list of metrics whose names here differ from those of `ranx.evaluate`."""
    matched = ranx.Qrels({"q": dict(GRADED["q"])}).to_typed_list()
    listed = ranx.Run({"q": dict(GRADED_RUN["q"])}).to_typed_list()
    peer = {theirs: getattr(ranx.metrics, theirs)(matched, listed)[0] for theirs in RANX_FUNCTIONS}

    same_means(RANX_FUNCTIONS, ours(GRADED, GRADED_RUN, list(RANX_FUNCTIONS.values()))[1], peer)


@repeatable
@given(judgements=qrels(items=ITEMS[:9]), run=complete_runs())
def test_ranx_bpref(ranx: Any, judgements: Qrels, run: Run) -> None:
    """Bpref of queries with relevant items and items judged not relevant; for others ranx divides by zero."""
    matched = {query: {**grades, "x1": 0, "x2": 2} for query, grades in judgements.items()}

    agree(RANX_BPREF, ours(matched, run, list(RANX_BPREF.values()))[0], ranked(ranx, matched, run, RANX_BPREF))


real_grades = st.floats(0, 9, allow_subnormal=False).map(lambda grade: round(grade, 3))


@st.composite
def scored_grades(draw: st.DrawFn, *, ties: bool) -> list[tuple[float, float]]:
    """Fractional grades, not all 0, and run scores of the items of one query."""
    grades = draw(st.lists(real_grades, min_size=2, max_size=14).filter(any))
    distinct = draw(st.permutations([float(rank) for rank in range(len(grades))]))
    few = draw(st.lists(st.sampled_from(TIED[:4]), min_size=len(grades), max_size=len(grades)))
    return list(zip(grades, few if ties else distinct, strict=True))


def as_dicts(rows: list[tuple[float, float]]) -> tuple[Mapping[str, Any], Run]:
    """The judgements and the run of one query."""
    grades = {f"d{place}": grade for place, (grade, _) in enumerate(rows)}
    return {"q": grades}, {"q": {f"d{place}": score for place, (_, score) in enumerate(rows)}}


@repeatable
@given(rows=scored_grades(ties=True), k=st.none() | st.integers(1, 20))
def test_sklearn_averages_over_ties(sklearn: Any, rows: list[tuple[float, float]], k: int | None) -> None:
    """ties="expected" equals dcg_score and ndcg_score, also for fractional grades and exponential gains."""
    judgements, run = as_dicts(rows)
    grades, scores = np.array(rows).T
    names = {theirs: name for theirs, name in SKLEARN_GRADED.items() if ("{k}" in theirs) == (k is not None)}
    assert names

    for gain, gains in {"linear": grades, "exp": np.exp2(grades) - 1}.items():
        for theirs, name in filled(names, [k]).items():
            peer = float(getattr(sklearn, theirs.partition("(")[0])([gains], [scores], k=k))
            measure = parse_one(name)
            variant = str(measure.kind.measure(k, {"gain": gain}))
            assert one(judgements, run, variant, ties="expected") == pytest.approx(peer, rel=EXACT)


@repeatable
@given(rows=scored_grades(ties=False), least=st.floats(0.5, 5))
def test_sklearn_binary_without_ties(sklearn: Any, rows: list[tuple[float, float]], least: float) -> None:
    """AP is average_precision_score and label_ranking_average_precision_score, Accuracy is roc_auc_score."""
    judgements, run = as_dicts(rows)
    grades, scores = np.array(rows).T
    relevant = grades >= least
    peer = {}
    if relevant.any():
        peer["average_precision_score"] = sklearn.average_precision_score(relevant, scores)
        ranking_score = sklearn.label_ranking_average_precision_score
        peer["label_ranking_average_precision_score"] = ranking_score([relevant], [scores])
    if relevant.any() and not relevant.all():
        peer["roc_auc_score"] = sklearn.roc_auc_score(relevant, scores)

    got = ours(judgements, run, [*SKLEARN_BINARY.values()], rel=least)[1]
    same_means({theirs: SKLEARN_BINARY[theirs] for theirs in peer}, got, peer)


# The cases in which tools differ -------------------------------------------------------------------------------------

GRADED: Qrels = {"q": {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2, "g": 3, "h": 2}}
"""Listed items with grades 3, 2, 3, 0, 1, 2, and missing items with grades 3 and 2."""
GRADED_RUN = untied({"q": list("abcdef")})


def rounded(score: float) -> float:
    """Rounded to four decimals, as the cases state their numbers."""
    return round(score, 4)


@pytest.mark.parametrize(("relevant", "descending"), [("a", 0.5), ("b", 1.0)])
def test_t1_ties_in_trec_eval_and_ours(pytrec_eval: Any, relevant: str, descending: float) -> None:
    """T1: trec_eval orders ties by descending id, so RR depends on the id; our default agrees, "expected" does not."""
    judgements, run = {"q": {relevant: 1}}, {"q": {"a": 0.5, "b": 0.5}}

    assert trec(pytrec_eval, judgements, run, ["recip_rank"])["q"]["recip_rank"] == descending
    assert one(judgements, run, "RR") == descending
    assert one(judgements, run, "RR", ties="expected") == 0.75


@pytest.mark.parametrize("relevant", ["a", "b"])
def test_t1_ties_in_ir_measures(ir_measures: Any, relevant: str) -> None:
    """T1: ir_measures has RR from a tool with descending ids, RR@1000 from one with ascending ids; ours are equal."""
    judgements, run = {"q": {relevant: 1}}, {"q": {"a": 0.5, "b": 0.5}}
    peer = calculated(ir_measures, judgements, run, ["RR", "RR@1000"])[1]

    assert {peer["RR"], peer["RR@1000"]} == {0.5, 1.0}
    assert one(judgements, run, "RR") == one(judgements, run, "RR@1000") == peer["RR"]


def test_t1_ties_in_ranx(ranx: Any) -> None:
    """T1: ranx orders the ties of one run one way in a dict and the other in a Run; "order" is ours as listed."""
    judgements, run = {"q": {"b": 1}}, {"q": {"a": 0.5, "b": 0.5}}
    peer = {ranx.evaluate(judgements, run, "mrr"), ranx.evaluate(ranx.Qrels(judgements), ranx.Run(run), "mrr")}

    assert peer == {0.5, 1.0}
    assert one(judgements, run, "RR", ties="order") == 0.5
    assert {one(judgements, run, "RR", ties="worst"), one(judgements, run, "RR", ties="best")} == peer


def test_t2_scores_that_are_equal_in_float32(pytrec_eval: Any, ranx: Any) -> None:
    """T2: 0.1 and 0.1 + 1e-9 tie in pytrec_eval, which uses float32; not in ranx, and not here."""
    judgements, run = {"q": {"a": 1}}, {"q": {"a": 0.1 + 1e-9, "b": 0.1}}

    assert trec(pytrec_eval, judgements, run, ["recip_rank"])["q"]["recip_rank"] == 0.5
    assert ranked(ranx, judgements, run, ["mrr"])["mrr"]["q"] == 1
    assert one(judgements, run, "RR") == 1
    single = {"q": {item: float(np.float32(score)) for item, score in run["q"].items()}}
    assert one(judgements, single, "RR") == 0.5


def test_t3_the_rank_column_is_not_read(ir_measures: Any, tmp_path: Path) -> None:
    """T3: if rank and score contradict each other, ir_measures and we use the score."""
    lines = "q Q0 a 1 0.1 tag\nq Q0 b 2 0.9 tag\n"
    (tmp_path / "run").write_text(lines, encoding="utf-8")
    peer = ir_measures.calc_aggregate([ir_measures.RR], {"q": {"b": 1}}, ir_measures.read_trec_run(lines))

    assert peer[ir_measures.RR] == 1
    assert one({"q": {"b": 1}}, tmp_path / "run", "RR", submission_format="trec") == 1


def test_t7_ideal_of_the_retrieved_items_only(sklearn: Any) -> None:
    """T7: with only the listed items, scikit-learn ignores missing items: ideal=retrieved."""
    listed = [float(GRADED["q"][item]) for item in GRADED_RUN["q"]]
    peer = float(sklearn.ndcg_score([listed], [list(GRADED_RUN["q"].values())]))

    assert rounded(peer) == 0.9608
    assert one(GRADED, GRADED_RUN, "nDCG(ideal=retrieved)") == pytest.approx(peer, abs=EXACT)


def test_t9_fractional_gains(ir_measures: Any) -> None:
    """T9: gains in trec_eval are integers; multiplied by 10,000, they give our nDCG with fractional gains."""
    peer = calculated(ir_measures, GRADED, GRADED_RUN, ["nDCG(gains={1: 2000, 2: 5000, 3: 12345})@6"])[1]

    assert [one(GRADED, GRADED_RUN, "nDCG(gain={1:0.2,2:0.5,3:1.2345})@6")] == pytest.approx(list(peer.values()))


@pytest.mark.parametrize("ranking", ["ba", "abc", "xa", "ca", "bca", "cxb"])
@pytest.mark.parametrize("gains", [{0: 1, 1: 4}, {-1: 2, 1: 4}, {-1: 2, 0: 1, 1: 4}, {-1: 0, 1: 4}, {1: 4}])
def test_gains_of_grades_that_are_not_positive(ir_measures: Any, gains: dict[int, int], ranking: str) -> None:
    """As in ir_measures, a gain for grade 0 is not one for negative grades nor for unjudged items."""
    judgements: Qrels = {"q": {"a": 1, "b": -1, "c": 0}}
    run = untied({"q": [*ranking]})
    (peer,) = ir_measures.calc_aggregate([ir_measures.nDCG(gains=gains)], judgements, run).values()
    table = ",".join(f"{grade}:{gain}" for grade, gain in gains.items())

    assert one(judgements, run, f"nDCG(gain={{{table}}})") == pytest.approx(peer, abs=EXACT)


def test_t10_negative_grades(pytrec_eval: Any, ranx: Any, sklearn: Any) -> None:
    """T10: scikit-learn refuses a negative grade; trec_eval, ranx and we give the item no gain."""
    judgements, run = {"q": {"a": -2, "b": 2, "c": 1}}, untied({"q": ["a", "b", "c"]})
    peer = trec(pytrec_eval, judgements, run, ["ndcg"])["q"]["ndcg"]

    with pytest.raises(ValueError, match="negative"):
        sklearn.ndcg_score([[-2, 2, 1]], [[3, 2, 1]])
    assert ranked(ranx, judgements, run, ["ndcg"])["ndcg"]["q"] == pytest.approx(peer, abs=EXACT)
    assert one(judgements, run, "nDCG") == pytest.approx(peer, abs=EXACT)


def test_t11_nothing_relevant(pytrec_eval: Any, ranx: Any, sklearn: Any) -> None:
    """T11: a query without relevant items scores 0 in trec_eval, ranx and scikit-learn; 0 or undefined here."""
    judgements: Qrels = {"q": {"a": 0, "b": 0}, "p": {"a": 1}}
    run = untied({"q": ["a", "b"], "p": ["a"]})

    assert trec(pytrec_eval, judgements, run, ["ndcg"])["q"]["ndcg"] == 0
    assert ranked(ranx, judgements, run, ["ndcg"])["ndcg"]["q"] == 0
    assert sklearn.ndcg_score([[0, 0]], [[2, 1]]) == 0
    assert ours(judgements, run, ["nDCG"])[0]["nDCG"]["q"] == 0
    assert math.isnan(ours(judgements, run, ["nDCG"], nothing_relevant="skip")[0]["nDCG"]["q"])


def test_ties_in_other_functions_of_scikit_learn(sklearn: Any) -> None:
    """They give each item the last rank of its tie, and a sample without labels has LRAP 1; the page says so."""
    judgements, tied = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5}}

    assert sklearn.average_precision_score([1, 0], [0.5, 0.5]) == 0.5
    assert sklearn.label_ranking_average_precision_score([[1, 0]], [[0.5, 0.5]]) == 0.5
    assert sklearn.label_ranking_average_precision_score([[0, 0]], [[0.5, 0.4]]) == 1
    assert one(judgements, tied, "AP", ties="expected") == 0.75
    assert sklearn.roc_auc_score([1, 0], [0.5, 0.5]) == 0.5
    with pytest.raises(MeasureError, match="no formula is known"):
        one(judgements, tied, "Accuracy", ties="expected")


SHORT: Qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}


def test_t21_queries_missing_from_one_file(pytrec_eval: Any, ir_measures: Any, ranx: Any) -> None:
    """T21: pytrec_eval skips an unanswered query, it scores 0 in ir_measures, and is an error in ranx.

    These are missing="skip", "zero" and "reject" here. All tools leave out a query without judgements.
    """
    judgements: Qrels = {"both": {"a": 1}, "judged": {"a": 1}}
    run = {"both": {"a": 1.0}, "run": {"a": 1.0}}

    assert set(trec(pytrec_eval, judgements, run, ["map"])) == {"both"}
    assert calculated(ir_measures, judgements, run, ["AP"])[1]["AP"] == 0.5
    with pytest.raises(AssertionError, match="do not match"):
        ranx.evaluate(ranx.Qrels(judgements), ranx.Run(run), "map")
    assert one(judgements, run, "AP", missing="skip") == 1
    assert one(judgements, run, "AP", missing="zero") == 0.5
    with pytest.raises(SubmissionError):
        one(judgements, run, "AP", missing="reject")


def files(folder: Path, matched: str, listed: str) -> tuple[Path, Path]:
    """The paths of qrels and a run with this content."""
    (folder / "qrels").write_text(matched, encoding="utf-8")
    (folder / "run").write_text(listed, encoding="utf-8")
    return folder / "qrels", folder / "run"


def read(matched: Path, listed: Path, measure: str = "RR") -> float:
    """Our mean from files in TREC's formats."""
    return one(matched, listed, measure, solution_format="trec", submission_format="trec")


@pytest.mark.parametrize("item", ["#0", "1677128#0", "007", "NA", "nan", "1e3"])
def test_t24_t25_ids_are_text(pytrec_eval: Any, ir_measures: Any, tmp_path: Path, item: str) -> None:
    """T24, T25: an id may have a hash or leading zeros, or look like a missing value, in the peers and here."""
    matched, listed = f"1 0 {item} 1\n1 0 7 0\n", f"1 Q0 7 1 0.9 tag\n1 Q0 {item} 2 0.5 tag\n"
    parsed = pytrec_eval.parse_qrel(matched.splitlines()), pytrec_eval.parse_run(listed.splitlines())
    rows = ir_measures.read_trec_qrels(matched), ir_measures.read_trec_run(listed)

    assert trec(pytrec_eval, *parsed, ["recip_rank"])["1"]["recip_rank"] == 0.5
    assert ir_measures.calc_aggregate([ir_measures.RR], *rows)[ir_measures.RR] == 0.5
    assert read(*files(tmp_path, matched, listed)) == 0.5


def test_t26_fractional_grades(pytrec_eval: Any, ir_measures: Any, ranx: Any, sklearn: Any, tmp_path: Path) -> None:
    """T26: grade 0.7 is an error in pytrec_eval and ir_measures, 0 in ranx, and 0.7 in scikit-learn and here."""
    matched, listed = "1 0 a 0.7\n1 0 b 1\n", "1 Q0 a 1 0.9 tag\n1 Q0 b 2 0.5 tag\n"

    with pytest.raises(ValueError, match="invalid literal"):
        pytrec_eval.parse_qrel(matched.splitlines())
    with pytest.raises(TypeError):
        pytrec_eval.RelevanceEvaluator({"1": {"a": 0.7}}, {"map"})
    with pytest.raises(ValueError, match="invalid literal"):
        list(ir_measures.read_trec_qrels(matched))
    lost = ranx.evaluate(ranx.Qrels.from_dict({"1": {"a": 0.7, "b": 1}}), ranx.Run({"1": {"a": 0.9, "b": 0.5}}), "ndcg")
    assert lost == pytest.approx(1 / math.log2(3))
    peer = float(sklearn.ndcg_score([[0.7, 1]], [[0.9, 0.5]]))
    assert read(*files(tmp_path, matched, listed), "nDCG") == pytest.approx(peer, abs=EXACT)


def test_t27_blank_lines(pytrec_eval: Any, ir_measures: Any, tmp_path: Path) -> None:
    """T27: a blank line is an error in pytrec_eval's readers; ir_measures and we ignore it in both files."""
    matched, listed = "1 0 a 1\n\n1 0 b 0\n", "1 Q0 a 1 0.5 tag\n\n1 Q0 b 2 0.9 tag\n"

    with pytest.raises(ValueError, match="unpack"):
        pytrec_eval.parse_qrel(matched.splitlines())
    rows = ir_measures.read_trec_qrels(matched), ir_measures.read_trec_run(listed)
    assert ir_measures.calc_aggregate([ir_measures.RR], *rows)[ir_measures.RR] == 0.5
    assert read(*files(tmp_path, matched, listed)) == 0.5


def test_t28_a_seventh_column(pytrec_eval: Any, ir_measures: Any, tmp_path: Path) -> None:
    """T28: a run with seven columns is an error in pytrec_eval and ir_measures; trec_eval and we read six."""
    matched, listed = "1 0 a 1\n", "1 Q0 a 1 0.5 tag more\n"

    with pytest.raises(ValueError, match="unpack"):
        pytrec_eval.parse_run(listed.splitlines())
    with pytest.raises(ValueError, match="unpack"):
        list(ir_measures.read_trec_run(listed))
    assert read(*files(tmp_path, matched, listed)) == 1


def test_t29_half_a_grade(ranx: Any) -> None:
    """T29: ranx drops a grade of 0.5 in a dict; here any positive grade is relevant, unless rel=1."""
    judgements: Mapping[str, Mapping[str, float]] = {"q": {"a": 0.5, "b": 1.0}}
    run = untied({"q": ["a", "b"]})
    peer = float(ranx.evaluate(judgements, run, "map"))

    assert peer == 0.5
    assert one(judgements, run, "AP") == 1
    assert one(judgements, run, "AP", rel=1) == peer


def test_rows_of_ir_measures(ir_measures: Any) -> None:
    """Its judgements and scored items can be passed directly, with the queries in any order."""
    matched = [ir_measures.Qrel("q2", "a", 1), ir_measures.Qrel("q1", "a", 2), ir_measures.Qrel("q1", "b", 0)]
    listed = [ir_measures.ScoredDoc("q1", "b", 2.0), ir_measures.ScoredDoc("q1", "a", 1.0)]
    peer = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG], matched, listed)

    found = scorer.evaluate(matched, listed, ["AP", "nDCG"])
    assert dict(found) == pytest.approx({str(measure): score for measure, score in peer.items()}, abs=EXACT)


def test_frames_of_polars() -> None:
    """Frames are read as Arrow tables, with any types of text and numbers; a column without values is an error."""
    polars = pytest.importorskip("polars")
    matched = polars.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["d1", "d3", "d4"], "label": [2, 1, 1]})
    listed = polars.DataFrame({"query": ["q1", "q1", "q2"], "item": ["d2", "d1", "d4"], "score": [3.0, 2.0, 1.0]})
    shared = listed.with_columns(polars.col("query").cast(polars.Categorical), polars.col("score").cast(polars.Float32))

    assert dict(scorer.evaluate(matched, listed, "AP")) == {"AP": 0.625}
    assert dict(scorer.evaluate(matched, shared, "AP")) == {"AP": 0.625}
    with pytest.raises(SubmissionError, match='the column "item" is of type null; expected text'):
        scorer.evaluate(matched, listed.with_columns(polars.lit(None).alias("item")), "AP")
    with pytest.raises(SolutionError, match=r"found a LazyFrame; collect it first, with \.collect\(\)"):
        scorer.evaluate(matched.lazy(), listed, "AP")
    with pytest.raises(SubmissionError, match=r"found a LazyFrame; collect it first, with \.collect\(\)"):
        scorer.evaluate(matched, listed.lazy(), "AP")


def test_judged_differs_from_ir_measures_by_negative_grades_only() -> None:
    """There they are judged; in trec_eval they are not, as the page on the measure says."""
    ir_measures = pytest.importorskip("ir_measures")
    matched, listed = {"q": {"a": -2, "b": 1, "c": 0}}, {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "x": 1.0}}
    peer = ir_measures.calc_aggregate([ir_measures.Judged @ 4], matched, listed)

    assert peer == {ir_measures.Judged @ 4: 0.75}
    assert dict(scorer.evaluate(matched, listed, "Judged@4")) == {"Judged@4": 0.5}
    assert "negative grade" in " ".join(DIFFERENCES["Judged"])


def test_t31_how_a_level_of_recall_is_reached(pytrec_eval: Any) -> None:
    """T31: of R = 4, trec_eval 9 takes int(0.3 · 4 + 0.9) = 2 items for recall 0.3; version 10 rounds it to 1.

    The first is reach=up, the second is reach=nearest, as trec_eval's name is read here; without rounding it is two.
    """
    run = untied({"q": ["a", "x", "y", "b"]})
    peer = trec(pytrec_eval, SHORT, run, ["iprec_at_recall_0.30"])["q"]["iprec_at_recall_0.30"]

    assert peer == 0.5
    assert one(SHORT, run, "IPrec(reach=up)@0.3") == peer
    assert one(SHORT, run, "IPrec(reach=exact)@0.3") == peer
    assert one(SHORT, run, "iprec_at_recall_0.30") == one(SHORT, run, "IPrec(reach=nearest)@0.3") == 1


# Objects of ir_measures ----------------------------------------------------------------------------------------------


def test_measures_of_ir_measures_are_taken_with_their_meaning(ir_measures: Any) -> None:
    """Also those whose text has another meaning here; each name means the same as text, and the object is a key."""
    judgements, run = {"1": {"a": 1, "b": 2, "c": 0}}, untied({"1": ["x", "b", "a"]})
    measures = [
        *(ir_measures.nDCG @ 10, ir_measures.RR @ 2, ir_measures.P(rel=2) @ 5, ir_measures.IPrec @ 0.35),
        *(ir_measures.SetF(beta=2.0), ir_measures.Compat, ir_measures.RBP(rel=1), ir_measures.NumRet(rel=1)),
    ]
    peer = ir_measures.calc_aggregate(measures, judgements, run)
    result = scorer.evaluate(judgements, run, measures)

    assert [*result] == [str(measure).replace("Compat", "Compat(depth=list)") for measure in measures]
    assert {measure: result[measure] for measure in measures} == pytest.approx(peer, abs=1e-9)
    assert scorer.evaluate(judgements, run, ir_measures.ERR @ 20).variants == {"ERR@20": "ERR(highest=4)@20"}
    assert scorer.evaluate(judgements, run, {"mine": ir_measures.Compat}).variants["mine"].endswith("depth=list)")


OWN = (
    "MARp@5,10",
    "muAP",
    "NDCNG@5",
    "nDCGphi",
    "AP",
    "nDCG(gain=exp)@3",
    "ERR(highest=solution)@5",
    "INST",
    "0.5*AP+0.5*RR",
)


@settings(repeatable, max_examples=number(20))
@given(judgements=qrels(), run=tied_runs())
def test_measures_in_ir_measures(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """The numbers of `evaluate`, query by query; 0 where a measure is undefined. An unknown query counts nowhere."""
    judgements = {query: grades for query, grades in judgements.items() if grades}
    measures = {name: parse_one(name).to_ir_measures() for name in OWN}
    found = ir_measures.calc([*measures.values()], judgements, run)
    got, _ = ours(judgements, run, [*OWN])

    for name, measure in measures.items():
        scores = {each.query_id: each.value for each in found.per_query if each.measure == measure}
        assert scores == pytest.approx({query: np.nan_to_num(got[name][query]) for query in scores}, abs=EXACT), name
        assert scores.keys() == judgements.keys()


@pytest.mark.parametrize("name", ["NumQ", "GMAP", "alpha-nDCG@5"])
def test_a_measure_that_ir_measures_cannot_have(name: str) -> None:
    """A sum over queries, a geometric mean, and grades for subtopics."""
    with pytest.raises(MeasureError, match=f"{name} is no mean over queries with one grade for each item"):
        parse_one(name).to_ir_measures()


def test_measures_in_an_experiment_of_pyterrier() -> None:
    """`pt.Experiment` has them as columns, with the means of `evaluate`."""
    pyterrier = pytest.importorskip("pyterrier")
    frame = pd.DataFrame(
        [("q1", "a", 1.0), ("q1", "b", 2.0), ("q2", "x", 2.0), ("q2", "c", 1.0)], columns=["qid", "docno", "score"]
    ).assign(rank=[1, 0, 0, 1], query="text")
    graded = pd.DataFrame([("q1", "a", 2), ("q1", "b", 1), ("q2", "c", 1)], columns=["qid", "docno", "label"])
    names = ["MARp@5,10", "muAP", "NDCNG@5"]
    table = pyterrier.Experiment(
        [pyterrier.Transformer.from_df(frame)],
        frame[["qid", "query"]].drop_duplicates(),
        graded,
        [parse_one(name).to_ir_measures() for name in names],
    )

    means = scorer.evaluate(graded, frame, names)
    assert table[names].iloc[0].to_dict() == pytest.approx(dict(means), abs=EXACT)
