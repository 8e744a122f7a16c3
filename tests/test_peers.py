"""The same numbers as the peers give, each at the setting that makes us equal to it, and where two of them differ.

The first half draws random judgements and runs, and compares every measure that a peer and we have in common, by the
tables that the pages about the measures are made from. The second half has a test for each case in which tools that use
one name for a measure give different numbers.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scorer
from docs.peers import (
    IR_MEASURES,
    IR_MEASURES_ASCENDING,
    IR_MEASURES_GDEVAL,
    RANX,
    RANX_BPREF,
    SKLEARN_BINARY,
    SKLEARN_GRADED,
    TREC_EVAL,
    filled,
)
from scorer.errors import SubmissionError
from scorer.measures import parse_one

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]
Scores = Mapping[str, Mapping[str, float]]
"""Measure -> query -> score."""

EXACT = 1e-9

repeatable = settings(
    max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)

ITEMS = ("a", "aa", "B", "b", "c", "10", "9", "007", "NA", "x1", "x2", "x3")
JUNK = ("u1", "u2", "u3", "zz")
"""Items that nobody judged."""
QUERIES = ("1", "2", "3", "4")
SURE: Qrels = {"6": {"a": 1, "b": 0, "c": 3}}
SURE_RUN: Run = {"6": {"a": 1.0, "b": 1.25, "u1": 0.5}}
"""A query that has relevant items and an answer, without either of which there is nothing to score."""

TIED = tuple(quarters / 4 for quarters in range(-4, 9))
"""Run scores of which there are few, so that they tie, and which float32 holds exactly."""


@pytest.fixture(scope="module")
def pytrec_eval() -> Any:
    """Python's way into the C code of trec_eval 9.0.8."""
    return pytest.importorskip("pytrec_eval")


@pytest.fixture(scope="module")
def ir_measures() -> Any:
    """One front to several tools."""
    return pytest.importorskip("ir_measures")


@pytest.fixture(scope="module")
def ranx() -> Iterator[Any]:
    """Its own functions, interpreted: compiled they take half a minute to load, and compute the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        yield pytest.importorskip("ranx")


@pytest.fixture(scope="module")
def sklearn() -> Any:
    """Its metrics."""
    return pytest.importorskip("sklearn.metrics")


def qrels(items: tuple[str, ...] = ITEMS) -> st.SearchStrategy[Qrels]:
    """Whole grades from 0 to 4, for some queries and the sure one."""
    graded = st.dictionaries(st.sampled_from(items), st.integers(0, 4), min_size=1)
    return st.dictionaries(st.sampled_from(QUERIES), graded).map(lambda drawn: {**drawn, **SURE})


def tied_runs() -> st.SearchStrategy[Run]:
    """Lists for some queries, one of them judged by nobody, with ties and unjudged items."""
    listed = st.dictionaries(st.sampled_from(ITEMS + JUNK), st.sampled_from(TIED), min_size=1)
    return st.dictionaries(st.sampled_from((*QUERIES, "5")), listed).map(lambda drawn: {**drawn, **SURE_RUN})


def untied(orders: Mapping[str, list[str]]) -> Run:
    """Positive scores that fall by a half from place to place."""
    return {query: {item: 100 - rank / 2 for rank, item in enumerate(order)} for query, order in orders.items()}


def untied_runs(queries: tuple[str, ...] = (*QUERIES, "5")) -> st.SearchStrategy[Run]:
    """As `tied_runs`, without ties."""
    order = st.lists(st.sampled_from(ITEMS + JUNK), min_size=1, unique=True)
    return st.dictionaries(st.sampled_from(queries), order).map(lambda drawn: {**untied(drawn), **SURE_RUN})


def complete_runs() -> st.SearchStrategy[Run]:
    """As `untied_runs`, with a list for each of the queries."""
    order = st.lists(st.sampled_from(ITEMS + JUNK), min_size=1, unique=True)
    return st.fixed_dictionaries(dict.fromkeys(QUERIES, order)).map(lambda drawn: {**untied(drawn), **SURE_RUN})


def ours(judgements: Any, run: Any, measures: list[str], **policies: Any) -> tuple[Scores, Mapping[str, float]]:
    """Our scores and their means, a query with nothing relevant scoring 0 as it does in all of the peers."""
    evaluation = scorer.evaluate(judgements, run, measures, **{"nothing_relevant": "zero", **policies})
    by_query = evaluation.by_query()
    return {name: {query: each[name] for query, each in by_query.items()} for name in measures}, evaluation


def one(judgements: Any, run: Any, measure: str, **policies: Any) -> float:
    """Our mean of one measure."""
    return ours(judgements, run, [measure], **policies)[1][measure]


def agree(names: Mapping[str, str], got: Scores, told: Scores, tolerance: float = EXACT) -> None:
    """Each score that the peer tells is ours; `names` has the peer's name of a measure and ours."""
    for theirs, name in names.items():
        assert told[theirs], f"{theirs}: nothing compared"
        for query, score in told[theirs].items():
            assert got[name][query] == pytest.approx(score, abs=tolerance), (theirs, name, query)


def same_means(names: Mapping[str, str], got: Mapping[str, float], told: Mapping[str, float]) -> None:
    """The peer's means are ours."""
    assert {theirs: got[name] for theirs, name in names.items()} == pytest.approx(dict(told), abs=EXACT)


def by_measure(told: Mapping[str, Mapping[str, float]], names: Mapping[str, str]) -> Scores:
    """Scores that a peer gives by query."""
    return {name: {query: each[name] for query, each in told.items()} for name in names}


def trec(
    pytrec_eval: Any, judgements: Qrels, run: Run, names: Any, **options: int
) -> Mapping[str, Mapping[str, float]]:
    """What trec_eval's code gives, by query."""
    asked = {name.replace("P_", "P.", 1) if name.startswith("P_") else name for name in names}
    found: Mapping[str, Mapping[str, float]] = pytrec_eval.RelevanceEvaluator(judgements, asked, **options).evaluate(
        run
    )
    return found


# Random judgements and runs ------------------------------------------------------------------------------------------

DEPTHS = (1, 3, 5, 20)
LEVELS = ("0.00", "0.10", "0.30", "0.50", "0.75", "1.00")

IR_LEVELS = (0.0, 0.1, 0.35, 0.6, 1.0)

SUMS = {"num_q", "num_ret", "num_rel", "num_rel_ret"}


def trec_eval_names(without: tuple[str, ...]) -> dict[str, str]:
    """trec_eval's measures at all depths and levels, and ours."""
    names = filled(TREC_EVAL, DEPTHS, LEVELS)
    return {theirs: ours for theirs, ours in names.items() if theirs not in without}


def test_trec_eval_names_are_read() -> None:
    """As the measures whose numbers are equal; but recall is reached as in version 10, where the tables have 9."""
    for theirs, ours in trec_eval_names(without=()).items():
        assert parse_one(theirs) == parse_one(ours.replace("reach=up", "reach=nearest"))


@repeatable
@given(judgements=qrels(), run=tied_runs(), rel=st.integers(1, 3))
def test_trec_eval_with_ties(pytrec_eval: Any, judgements: Qrels, run: Run, rel: int) -> None:
    """Ties by item id, descending; unanswered queries left out: pytrec_eval's scores and their means, for each -l."""
    names = trec_eval_names(without=("gm_map",))
    told = trec(pytrec_eval, judgements, run, names, relevance_level=rel)
    got, means = ours(judgements, run, list(names.values()), missing="skip", rel=rel)

    agree(names, got, by_measure(told, names))
    sums = {name: sum(each[name] for each in told.values()) for name in names}
    same_means(names, means, {name: total if name in SUMS else total / len(told) for name, total in sums.items()})
    assert told.keys() == judgements.keys() & run.keys()


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_trec_eval_on_judged_items_alone(pytrec_eval: Any, judgements: Qrels, run: Run) -> None:
    """unjudged="drop" is trec_eval's -J, where the list has a judged item: elsewhere its IPrec is 0 / 0."""
    names = trec_eval_names(without=("gm_map", "bpref"))
    told = trec(pytrec_eval, judgements, run, names, judged_docs_only_flag=1)
    told = {query: each for query, each in told.items() if run[query].keys() & judgements[query].keys()}
    got, _ = ours(judgements, run, list(names.values()), missing="skip", unjudged="drop")

    agree(names, got, by_measure(told, names))


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_trec_eval_geometric_mean(pytrec_eval: Any, judgements: Qrels, run: Run) -> None:
    """GMAP is the exponential of the mean of the logarithms that trec_eval prints for the queries, 0 being 0.00001."""
    told = trec(pytrec_eval, judgements, run, ["gm_map"])

    mean = sum(each["gm_map"] for each in told.values()) / len(told)
    assert one(judgements, run, TREC_EVAL["gm_map"], missing="skip") == pytest.approx(math.exp(mean), abs=EXACT)


def calculated(ir_measures: Any, judgements: Qrels, run: Run, names: Any) -> tuple[Scores, Mapping[str, float]]:
    """What ir_measures gives, one measure at a time, as some get in each other's way."""
    told: dict[str, dict[str, float]] = {}
    means: dict[str, float] = {}
    for name in names:
        measure = ir_measures.parse_measure(name)
        result = ir_measures.calc([measure], judgements, run)
        told[name] = {each.query_id: each.value for each in result.per_query}
        means[name] = result.aggregated[measure]
    return told, means


@repeatable
@given(judgements=qrels(), run=tied_runs())
def test_ir_measures_with_ties(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """Unanswered queries score 0: what ir_measures gives through pytrec_eval, and the means and sums."""
    names = filled(IR_MEASURES, DEPTHS, IR_LEVELS)
    told, means = calculated(ir_measures, judgements, run, names)
    got, our_means = ours(judgements, run, list(names.values()))

    answered = judgements.keys() & run.keys()
    counts = {"NumQ", "NumRel"}  # unanswered queries have none in ir_measures
    agree(names, got, {name: _of(told[name], answered if name in counts else None) for name in told})
    same = {theirs: name for theirs, name in names.items() if theirs not in counts}
    same_means(same, our_means, {name: means[name] for name in same})


def _of(scores: Mapping[str, float], queries: set[str] | None) -> Mapping[str, float]:
    return scores if queries is None else {query: score for query, score in scores.items() if query in queries}


@repeatable
@given(judgements=qrels(), run=untied_runs())
def test_ir_measures_without_ties(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """What ir_measures gives through tools that order ties by item id, ascending."""
    names = filled(IR_MEASURES_ASCENDING, DEPTHS)
    told, means = calculated(ir_measures, judgements, run, names)
    got, our_means = ours(judgements, run, list(names.values()))

    agree(names, got, told)
    same_means(names, our_means, means)


@settings(repeatable, max_examples=10)
@given(judgements=qrels(), run=untied_runs(QUERIES))
def test_ir_measures_through_gdeval(ir_measures: Any, judgements: Qrels, run: Run) -> None:
    """gdeval has exponential gain, and 4 for the highest grade of ERR; it prints five decimals."""
    if shutil.which("perl") is None:
        pytest.skip("perl not found, which gdeval is written in")
    names = filled(IR_MEASURES_GDEVAL, (1, 5))
    told, _ = calculated(ir_measures, judgements, run, names)
    got, _ = ours(judgements, run, list(names.values()))

    agree(names, got, told, tolerance=5.1e-6)


def ranked(ranx: Any, judgements: Qrels, run: Run, names: Any) -> Scores:
    """What ranx gives."""
    its_run = ranx.Run({query: dict(run[query]) for query in judgements})
    ranx.evaluate(ranx.Qrels({query: dict(grades) for query, grades in judgements.items()}), its_run, list(names))
    return {name: dict(its_run.scores[name]) for name in names}


@repeatable
@given(judgements=qrels(), run=complete_runs())
def test_ranx_without_ties(ranx: Any, judgements: Qrels, run: Run) -> None:
    """Every measure of ranx but Bpref, and the means."""
    names = filled(RANX, DEPTHS)
    told = ranked(ranx, judgements, run, names)
    got, means = ours(judgements, run, list(names.values()))

    agree(names, got, told)
    same = {theirs: name for theirs, name in names.items() if theirs != "hits"}
    same_means(same, means, {name: sum(told[name].values()) / len(told[name]) for name in same})


@repeatable
@given(judgements=qrels(items=ITEMS[:9]), run=complete_runs())
def test_ranx_bpref(ranx: Any, judgements: Qrels, run: Run) -> None:
    """Bpref, where items are judged relevant and items are judged not to be: elsewhere ranx divides by zero."""
    matched = {query: {**grades, "x1": 0, "x2": 2} for query, grades in judgements.items()}

    agree(RANX_BPREF, ours(matched, run, list(RANX_BPREF.values()))[0], ranked(ranx, matched, run, RANX_BPREF))


real_grades = st.floats(0, 9, allow_subnormal=False).map(lambda grade: round(grade, 3))


@st.composite
def scored_grades(draw: st.DrawFn, *, ties: bool) -> list[tuple[float, float]]:
    """Of the items of one query, fractional grades, not all 0, and run scores."""
    grades = draw(st.lists(real_grades, min_size=2, max_size=14).filter(any))
    distinct = draw(st.permutations([float(rank) for rank in range(len(grades))]))
    few = draw(st.lists(st.sampled_from(TIED[:4]), min_size=len(grades), max_size=len(grades)))
    return list(zip(grades, few if ties else distinct, strict=True))


def as_dicts(rows: list[tuple[float, float]]) -> tuple[Mapping[str, Any], Run]:
    """Judgements and run of one query."""
    grades = {f"d{place}": grade for place, (grade, _) in enumerate(rows)}
    return {"q": grades}, {"q": {f"d{place}": score for place, (_, score) in enumerate(rows)}}


@repeatable
@given(rows=scored_grades(ties=True), k=st.none() | st.integers(1, 20))
def test_sklearn_averages_over_ties(sklearn: Any, rows: list[tuple[float, float]], k: int | None) -> None:
    """ties="expected" is what dcg_score and ndcg_score do, of fractional grades and of exponential gains too."""
    judgements, run = as_dicts(rows)
    grades, scores = np.array(rows).T
    names = {theirs: name for theirs, name in SKLEARN_GRADED.items() if ("{k}" in theirs) == (k is not None)}
    assert names

    for gain, worth in {"linear": grades, "exp": np.exp2(grades) - 1}.items():
        for theirs, name in filled(names, [k]).items():
            told = float(getattr(sklearn, theirs.partition("(")[0])([worth], [scores], k=k))
            measure = parse_one(name)
            variant = str(measure.kind.measure(k, {"gain": gain}))
            assert one(judgements, run, variant, ties="expected") == pytest.approx(told, rel=EXACT)


@repeatable
@given(rows=scored_grades(ties=False), least=st.floats(0.5, 5))
def test_sklearn_binary_without_ties(sklearn: Any, rows: list[tuple[float, float]], least: float) -> None:
    """AP is average_precision_score and label_ranking_average_precision_score, Accuracy is roc_auc_score."""
    judgements, run = as_dicts(rows)
    grades, scores = np.array(rows).T
    relevant = grades >= least
    told = {}
    if relevant.any():
        told["average_precision_score"] = sklearn.average_precision_score(relevant, scores)
        ranking_score = sklearn.label_ranking_average_precision_score
        told["label_ranking_average_precision_score"] = ranking_score([relevant], [scores])
    if relevant.any() and not relevant.all():
        told["roc_auc_score"] = sklearn.roc_auc_score(relevant, scores)

    got = ours(judgements, run, [*SKLEARN_BINARY.values()], rel=least)[1]
    same_means({theirs: SKLEARN_BINARY[theirs] for theirs in told}, got, told)


# The cases in which tools differ -------------------------------------------------------------------------------------

GRADED: Qrels = {"q": {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2, "g": 3, "h": 2}}
"""Grades 3, 2, 3, 0, 1, 2 as listed, and 3 and 2 that are not found."""
GRADED_RUN = untied({"q": list("abcdef")})

ALTERNATING: Qrels = {"q": {f"r{place:02}": 1 for place in range(20)}}
"""20 relevant items, of which ten places hold five, at 1, 3, 5, 7, 9."""
ALTERNATING_RUN = untied({"q": [f"r{place:02}" if place % 2 == 0 else f"n{place}" for place in range(10)]})


def rounded(score: float) -> float:
    """To the four decimals that the cases are told with."""
    return round(score, 4)


@pytest.mark.parametrize(("relevant", "descending"), [("a", 0.5), ("b", 1.0)])
def test_t1_ties_in_trec_eval_and_ours(pytrec_eval: Any, relevant: str, descending: float) -> None:
    """T1: trec_eval orders ties by id, descending, so RR hangs on the name; our default agrees, "expected" does not."""
    judgements, run = {"q": {relevant: 1}}, {"q": {"a": 0.5, "b": 0.5}}

    assert trec(pytrec_eval, judgements, run, ["recip_rank"])["q"]["recip_rank"] == descending
    assert one(judgements, run, "RR") == descending
    assert one(judgements, run, "RR", ties="expected") == 0.75


@pytest.mark.parametrize("relevant", ["a", "b"])
def test_t1_ties_in_ir_measures(ir_measures: Any, relevant: str) -> None:
    """T1: ir_measures takes RR from a tool with descending ids, RR@1000 from one with ascending ids; ours are equal."""
    judgements, run = {"q": {relevant: 1}}, {"q": {"a": 0.5, "b": 0.5}}
    told = calculated(ir_measures, judgements, run, ["RR", "RR@1000"])[1]

    assert {told["RR"], told["RR@1000"]} == {0.5, 1.0}
    assert one(judgements, run, "RR") == one(judgements, run, "RR@1000") == told["RR"]


def test_t1_ties_in_ranx(ranx: Any) -> None:
    """T1: ranx orders the ties of one run one way in a dict and the other in a Run; "order" is ours as listed."""
    judgements, run = {"q": {"b": 1}}, {"q": {"a": 0.5, "b": 0.5}}
    told = {ranx.evaluate(judgements, run, "mrr"), ranx.evaluate(ranx.Qrels(judgements), ranx.Run(run), "mrr")}

    assert told == {0.5, 1.0}
    assert one(judgements, run, "RR", ties="order") == 0.5
    assert {one(judgements, run, "RR", ties="worst"), one(judgements, run, "RR", ties="best")} == told


def test_t1_ties_in_sklearn(sklearn: Any) -> None:
    """T1: scikit-learn averages over the orders, 0.8155 for nDCG, as ours does with ties="expected"."""
    told = float(sklearn.ndcg_score([[1, 0]], [[0.5, 0.5]]))

    assert rounded(told) == 0.8155
    assert one({"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5}}, "nDCG", ties="expected") == pytest.approx(told)


def test_t2_scores_that_float32_cannot_tell_apart(pytrec_eval: Any, ranx: Any) -> None:
    """T2: 0.1 and 0.1 + 1e-9 tie for pytrec_eval, which keeps float32; not for ranx, and not for us."""
    judgements, run = {"q": {"a": 1}}, {"q": {"a": 0.1 + 1e-9, "b": 0.1}}

    assert trec(pytrec_eval, judgements, run, ["recip_rank"])["q"]["recip_rank"] == 0.5
    assert ranked(ranx, judgements, run, ["mrr"])["mrr"]["q"] == 1
    assert one(judgements, run, "RR") == 1
    single = {"q": {item: float(np.float32(score)) for item, score in run["q"].items()}}
    assert one(judgements, single, "RR") == 0.5


def test_t3_the_rank_column_is_not_read(ir_measures: Any, tmp_path: Path) -> None:
    """T3: where rank and score contradict each other, the score holds, in ir_measures as here."""
    lines = "q Q0 a 1 0.1 tag\nq Q0 b 2 0.9 tag\n"
    (tmp_path / "run").write_text(lines, encoding="utf-8")
    told = ir_measures.calc_aggregate([ir_measures.RR], {"q": {"b": 1}}, ir_measures.read_trec_run(lines))

    assert told[ir_measures.RR] == 1
    assert one({"q": {"b": 1}}, tmp_path / "run", "RR", submission_format="trec") == 1


@pytest.mark.parametrize(
    ("measure", "score"),
    [
        ("nDCG@6", 0.7850),
        ("nDCG(gain=exp)@6", 0.7511),
        ("nDCG(discount=jk)@6", 0.7691),
        ("nDCG(gain=binary)@6", 0.8697),
        ("nDCG(ideal=retrieved)@6", 0.9608),
        ("nDCG", 0.7562),
    ],
)
def test_t5_six_ndcgs_of_one_list(measure: str, score: float) -> None:
    """T5: gain, discount and ideal list make six numbers of one name, each a setting of ours."""
    assert rounded(one(GRADED, GRADED_RUN, measure)) == score


def test_t5_whose_ndcg_is_whose(pytrec_eval: Any, ranx: Any, sklearn: Any) -> None:
    """T5: linear is trec_eval's, ranx's, scikit-learn's; exponential is ranx's ndcg_burges; ndcg: whole ideal."""
    of_trec = trec(pytrec_eval, GRADED, GRADED_RUN, ["ndcg", "ndcg_cut_6"])["q"]
    of_ranx = {
        name: scores["q"] for name, scores in ranked(ranx, GRADED, GRADED_RUN, ["ndcg@6", "ndcg_burges@6"]).items()
    }
    below = [*GRADED_RUN["q"].values(), -10.0, -11.0]

    assert rounded(of_trec["ndcg_cut_6"]) == rounded(of_ranx["ndcg@6"]) == 0.7850
    assert rounded(sklearn.ndcg_score([list(GRADED["q"].values())], [below], k=6)) == 0.7850
    assert rounded(of_ranx["ndcg_burges@6"]) == 0.7511
    assert rounded(of_trec["ndcg"]) == 0.7562
    binary = {"q": {item: min(grade, 1) for item, grade in GRADED["q"].items()}}
    assert rounded(trec(pytrec_eval, binary, GRADED_RUN, ["ndcg_cut_6"])["q"]["ndcg_cut_6"]) == 0.8697


def test_t6_one_relevant_item_at_the_top(pytrec_eval: Any, ranx: Any) -> None:
    """T6: nDCG@10 is 1 for trec_eval, ranx and us; 0.2201, as in RecTools, where ten perfect items are ideal."""
    judgements, run = {"q": {"a": 1}}, untied({"q": list("abcdefghij")})

    assert trec(pytrec_eval, judgements, run, ["ndcg_cut_10"])["q"]["ndcg_cut_10"] == 1
    assert ranked(ranx, judgements, run, ["ndcg@10"])["ndcg@10"]["q"] == 1
    assert one(judgements, run, "nDCG@10") == 1
    assert rounded(one(judgements, run, "nDCG(ideal=full)@10")) == 0.2201


def test_t7_ideal_of_the_retrieved_items_alone(sklearn: Any) -> None:
    """T7: given the listed items alone, scikit-learn forgives what is missing: ideal=retrieved."""
    listed = [float(GRADED["q"][item]) for item in GRADED_RUN["q"]]
    told = float(sklearn.ndcg_score([listed], [list(GRADED_RUN["q"].values())]))

    assert rounded(told) == 0.9608
    assert one(GRADED, GRADED_RUN, "nDCG(ideal=retrieved)") == pytest.approx(told, abs=EXACT)


def test_t8_ndcg_without_a_cutoff(pytrec_eval: Any, ir_measures: Any) -> None:
    """T8: of a list of 20 with R = 30, ndcg is below ndcg_cut.20, as its ideal list goes on to 30; in all alike."""
    judgements: Qrels = {"q": {f"r{place:02}": 1 + place % 3 for place in range(30)}}
    run = untied({"q": [f"r{place:02}" for place in range(20)]})
    told = trec(pytrec_eval, judgements, run, ["ndcg", "ndcg_cut_20"])["q"]
    again = calculated(ir_measures, judgements, run, ["nDCG", "nDCG@20"])[1]
    got = ours(judgements, run, ["nDCG", "nDCG@20"])[1]

    assert told["ndcg"] < told["ndcg_cut_20"]
    assert [got["nDCG"], got["nDCG@20"]] == pytest.approx([told["ndcg"], told["ndcg_cut_20"]], abs=EXACT)
    assert [again["nDCG"], again["nDCG@20"]] == pytest.approx([told["ndcg"], told["ndcg_cut_20"]], abs=EXACT)


def test_t9_fractional_gains(ir_measures: Any) -> None:
    """T9: gains are whole in trec_eval; times 10,000, in ir_measures, they give our nDCG of fractional ones."""
    told = calculated(ir_measures, GRADED, GRADED_RUN, ["nDCG(gains={1: 2000, 2: 5000, 3: 12345})@6"])[1]

    assert [one(GRADED, GRADED_RUN, "nDCG(gain={1:0.2,2:0.5,3:1.2345})@6")] == pytest.approx(list(told.values()))


def test_t10_negative_grades(pytrec_eval: Any, ranx: Any, sklearn: Any) -> None:
    """T10: scikit-learn refuses a negative grade; trec_eval, ranx and we give the item no gain."""
    judgements, run = {"q": {"a": -2, "b": 2, "c": 1}}, untied({"q": ["a", "b", "c"]})
    told = trec(pytrec_eval, judgements, run, ["ndcg"])["q"]["ndcg"]

    with pytest.raises(ValueError, match="negative"):
        sklearn.ndcg_score([[-2, 2, 1]], [[3, 2, 1]])
    assert ranked(ranx, judgements, run, ["ndcg"])["ndcg"]["q"] == pytest.approx(told, abs=EXACT)
    assert one(judgements, run, "nDCG") == pytest.approx(told, abs=EXACT)


def test_t11_nothing_relevant(pytrec_eval: Any, ranx: Any, sklearn: Any) -> None:
    """T11: a query with nothing relevant is 0 for trec_eval, ranx and scikit-learn; ours is undefined or 0, as told."""
    judgements: Qrels = {"q": {"a": 0, "b": 0}, "p": {"a": 1}}
    run = untied({"q": ["a", "b"], "p": ["a"]})

    assert trec(pytrec_eval, judgements, run, ["ndcg"])["q"]["ndcg"] == 0
    assert ranked(ranx, judgements, run, ["ndcg"])["ndcg"]["q"] == 0
    assert sklearn.ndcg_score([[0, 0]], [[2, 1]]) == 0
    assert ours(judgements, run, ["nDCG"])[0]["nDCG"]["q"] == 0
    assert math.isnan(ours(judgements, run, ["nDCG"], nothing_relevant="skip")[0]["nDCG"]["q"])


def test_t12_two_gains_at_once(ir_measures: Any) -> None:
    """T12: asked at once for nDCG with two gains, we give what ir_measures gives when asked apart.

    What it gives at once depends on the order in which it comes to them.
    """
    names = {"nDCG(gains={1: 5, 2: 1})@6": "nDCG(gain={1:5,2:1})@6", "nDCG@6": "nDCG@6"}
    apart, _ = calculated(ir_measures, GRADED, GRADED_RUN, names)

    agree(names, ours(GRADED, GRADED_RUN, list(names.values()))[0], apart)


def test_t13_the_threshold_and_ndcg(pytrec_eval: Any, ranx: Any) -> None:
    """T13: -l 2 leaves trec_eval's ndcg alone, and ours with rel=2 for all measures; ranx's ndcg-l2 is nDCG(rel=2)."""
    told = trec(pytrec_eval, GRADED, GRADED_RUN, ["ndcg"], relevance_level=2)["q"]["ndcg"]
    of_ranx = ranked(ranx, GRADED, GRADED_RUN, ["ndcg-l2"])["ndcg-l2"]["q"]

    assert one(GRADED, GRADED_RUN, "nDCG", rel=2) == pytest.approx(told, abs=EXACT)
    assert one(GRADED, GRADED_RUN, "nDCG(rel=2)") == pytest.approx(of_ranx, abs=EXACT)
    assert abs(told - of_ranx) > 0.01


@pytest.mark.parametrize(
    ("measure", "score"),
    [
        ("AP@10", 0.1697),
        ("AP(denominator=min)@10", 0.3394),
        ("AP(denominator=k)@10", 0.3394),
        ("AP(denominator=hits)@10", 0.6787),
        ("AP(denominator=min)", 0.3394),
    ],
)
def test_t14_denominators_of_ap(measure: str, score: float) -> None:
    """T14: five hits in ten places, R = 20: divided by R, by min(R, k), by k, by the hits, by min(R, list)."""
    assert rounded(one(ALTERNATING, ALTERNATING_RUN, measure)) == score


def test_t14_whose_ap_is_divided_by_r(pytrec_eval: Any, ir_measures: Any, ranx: Any) -> None:
    """T14: trec_eval's map_cut, ir_measures' AP@k and ranx's map@k divide by R, with a cut-off too; as our default."""
    assert rounded(trec(pytrec_eval, ALTERNATING, ALTERNATING_RUN, ["map_cut_10"])["q"]["map_cut_10"]) == 0.1697
    assert rounded(calculated(ir_measures, ALTERNATING, ALTERNATING_RUN, ["AP@10"])[1]["AP@10"]) == 0.1697
    assert rounded(ranked(ranx, ALTERNATING, ALTERNATING_RUN, ["map@10"])["map@10"]["q"]) == 0.1697


SHORT: Qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
SHORT_RUN = untied({"q": ["a", "x", "b"]})
"""Three places, two hits, R = 4."""


def test_t15_precision_of_a_short_list(pytrec_eval: Any, ir_measures: Any, ranx: Any) -> None:
    """T15: P@10 of a list of three divides by 10 in trec_eval, ir_measures, ranx and here; by 3 it is SetP."""
    assert trec(pytrec_eval, SHORT, SHORT_RUN, ["P_10"])["q"]["P_10"] == 0.2
    assert calculated(ir_measures, SHORT, SHORT_RUN, ["P@10"])[1]["P@10"] == 0.2
    assert ranked(ranx, SHORT, SHORT_RUN, ["precision@10"])["precision@10"]["q"] == 0.2
    assert one(SHORT, SHORT_RUN, "P@10") == 0.2
    assert one(SHORT, SHORT_RUN, "SetP") == pytest.approx(2 / 3)


def test_t16_capped_recall(pytrec_eval: Any, ranx: Any) -> None:
    """T16: recall divides by R; capped, as in LensKit and RecPack under that name, it is relative_P."""
    told = trec(pytrec_eval, SHORT, SHORT_RUN, ["recall_3", "relative_P_3"])["q"]

    assert told["recall_3"] == ranked(ranx, SHORT, SHORT_RUN, ["recall@3"])["recall@3"]["q"] == 0.5
    assert told["relative_P_3"] == pytest.approx(2 / 3)
    assert one(SHORT, SHORT_RUN, "R@3") == 0.5
    assert one(SHORT, SHORT_RUN, "R(denominator=min)@3") == pytest.approx(2 / 3)


def test_t17_beta_in_f(ir_measures: Any) -> None:
    """T17: with P = 1/2 and R = 1/4, F2 is 0.2778; ir_measures' SetF(beta=2), which does not square it, is 0.3."""
    run = untied({"q": ["a", "x"]})
    told = calculated(ir_measures, SHORT, run, ["SetF(beta=2.0)"])[1]

    assert [rounded(score) for score in told.values()] == [0.3]
    assert rounded(one(SHORT, run, "SetF(beta=2)")) == rounded(one(SHORT, run, "F2@2")) == 0.2778
    assert rounded(one(SHORT, run, "SetF(beta=2,weight=plain)")) == 0.3


def test_t18_r_precision_of_a_short_list(pytrec_eval: Any, ir_measures: Any, ranx: Any) -> None:
    """T18: R-precision of a list shorter than R divides by R everywhere."""
    assert trec(pytrec_eval, SHORT, SHORT_RUN, ["Rprec"])["q"]["Rprec"] == 0.5
    assert calculated(ir_measures, SHORT, SHORT_RUN, ["Rprec"])[1]["Rprec"] == 0.5
    assert ranked(ranx, SHORT, SHORT_RUN, ["r-precision"])["r-precision"]["q"] == 0.5
    assert one(SHORT, SHORT_RUN, "Rprec") == 0.5


def test_t19_rbp_above_one(ranx: Any) -> None:
    """T19: ranx has the grade as the gain of RBP, which so exceeds 1: gain=linear; our default never does."""
    told = ranked(ranx, GRADED, GRADED_RUN, ["rbp.80"])["rbp.80"]["q"]

    assert told > 1
    assert one(GRADED, GRADED_RUN, "RBP(p=0.8,gain=linear)") == pytest.approx(told, abs=EXACT)
    assert one(GRADED, GRADED_RUN, "RBP(p=0.8)") == pytest.approx(told / 3, abs=EXACT)


def test_t21_queries_that_one_side_lacks(pytrec_eval: Any, ir_measures: Any, ranx: Any) -> None:
    """T21: an unanswered query is skipped by pytrec_eval, 0 in ir_measures, an error in ranx: skip, zero, reject here.

    A query that nobody judged is left out by all that compute anything.
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
    """Qrels and a run as files."""
    (folder / "qrels").write_text(matched, encoding="utf-8")
    (folder / "run").write_text(listed, encoding="utf-8")
    return folder / "qrels", folder / "run"


def read(matched: Path, listed: Path, measure: str = "RR") -> float:
    """Our mean from files in TREC's formats."""
    return one(matched, listed, measure, solution_format="trec", submission_format="trec")


@pytest.mark.parametrize("item", ["#0", "1677128#0", "007", "NA", "nan", "1e3"])
def test_t24_t25_ids_are_text(pytrec_eval: Any, ir_measures: Any, tmp_path: Path, item: str) -> None:
    """T24, T25: an id with a hash, with leading zeros, or like a missing value is that id, in the peers and here."""
    matched, listed = f"1 0 {item} 1\n1 0 7 0\n", f"1 Q0 7 1 0.9 tag\n1 Q0 {item} 2 0.5 tag\n"
    parsed = pytrec_eval.parse_qrel(matched.splitlines()), pytrec_eval.parse_run(listed.splitlines())
    rows = ir_measures.read_trec_qrels(matched), ir_measures.read_trec_run(listed)

    assert trec(pytrec_eval, *parsed, ["recip_rank"])["1"]["recip_rank"] == 0.5
    assert ir_measures.calc_aggregate([ir_measures.RR], *rows)[ir_measures.RR] == 0.5
    assert read(*files(tmp_path, matched, listed)) == 0.5


def test_t26_fractional_grades(pytrec_eval: Any, ir_measures: Any, ranx: Any, sklearn: Any, tmp_path: Path) -> None:
    """T26: of a grade 0.7, pytrec_eval and ir_measures make an error, ranx 0; scikit-learn and we compute with it."""
    matched, listed = "1 0 a 0.7\n1 0 b 1\n", "1 Q0 a 1 0.9 tag\n1 Q0 b 2 0.5 tag\n"

    with pytest.raises(ValueError, match="invalid literal"):
        pytrec_eval.parse_qrel(matched.splitlines())
    with pytest.raises(TypeError):
        pytrec_eval.RelevanceEvaluator({"1": {"a": 0.7}}, {"map"})
    with pytest.raises(ValueError, match="invalid literal"):
        list(ir_measures.read_trec_qrels(matched))
    lost = ranx.evaluate(ranx.Qrels.from_dict({"1": {"a": 0.7, "b": 1}}), ranx.Run({"1": {"a": 0.9, "b": 0.5}}), "ndcg")
    assert lost == pytest.approx(1 / math.log2(3))
    told = float(sklearn.ndcg_score([[0.7, 1]], [[0.9, 0.5]]))
    assert read(*files(tmp_path, matched, listed), "nDCG") == pytest.approx(told, abs=EXACT)


def test_t27_blank_lines(pytrec_eval: Any, ir_measures: Any, tmp_path: Path) -> None:
    """T27: a blank line is an error for pytrec_eval's readers; ir_measures and we pass over it, in both files."""
    matched, listed = "1 0 a 1\n\n1 0 b 0\n", "1 Q0 a 1 0.5 tag\n\n1 Q0 b 2 0.9 tag\n"

    with pytest.raises(ValueError, match="unpack"):
        pytrec_eval.parse_qrel(matched.splitlines())
    rows = ir_measures.read_trec_qrels(matched), ir_measures.read_trec_run(listed)
    assert ir_measures.calc_aggregate([ir_measures.RR], *rows)[ir_measures.RR] == 0.5
    assert read(*files(tmp_path, matched, listed)) == 0.5


def test_t28_a_seventh_column(pytrec_eval: Any, ir_measures: Any, tmp_path: Path) -> None:
    """T28: a run's line with seven columns is an error for pytrec_eval and ir_measures; trec_eval and we read six."""
    matched, listed = "1 0 a 1\n", "1 Q0 a 1 0.5 tag more\n"

    with pytest.raises(ValueError, match="unpack"):
        pytrec_eval.parse_run(listed.splitlines())
    with pytest.raises(ValueError, match="unpack"):
        list(ir_measures.read_trec_run(listed))
    assert read(*files(tmp_path, matched, listed)) == 1


def test_t29_half_a_grade(ranx: Any) -> None:
    """T29: ranx drops a grade of 0.5 from a dict, being below 1; any positive grade is relevant here, unless rel=1."""
    judgements: Mapping[str, Mapping[str, float]] = {"q": {"a": 0.5, "b": 1.0}}
    run = untied({"q": ["a", "b"]})
    told = float(ranx.evaluate(judgements, run, "map"))

    assert told == 0.5
    assert one(judgements, run, "AP") == 1
    assert one(judgements, run, "AP", rel=1) == told


def test_t30_a_second_evaluation(ir_measures: Any, pytrec_eval: Any) -> None:
    """T30: one evaluator, asked twice, gives the same, in the peers and with one solution here."""
    measures = [ir_measures.nDCG @ 20, ir_measures.AP]
    evaluator = ir_measures.evaluator(measures, GRADED)
    of_trec = pytrec_eval.RelevanceEvaluator(GRADED, {"ndcg_cut.20", "map"})

    assert evaluator.calc_aggregate(GRADED_RUN) == evaluator.calc_aggregate(GRADED_RUN)
    assert of_trec.evaluate(GRADED_RUN) == of_trec.evaluate(GRADED_RUN)
    assert one(GRADED, GRADED_RUN, "nDCG@20") == one(GRADED, GRADED_RUN, "nDCG@20")


def test_rows_of_ir_measures(ir_measures: Any) -> None:
    """Its judgements and scored items are read as they are, and in any order of the queries."""
    matched = [ir_measures.Qrel("q2", "a", 1), ir_measures.Qrel("q1", "a", 2), ir_measures.Qrel("q1", "b", 0)]
    listed = [ir_measures.ScoredDoc("q1", "b", 2.0), ir_measures.ScoredDoc("q1", "a", 1.0)]
    told = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.nDCG], matched, listed)

    found = scorer.evaluate(matched, listed, ["AP", "nDCG"])
    assert dict(found) == pytest.approx({str(measure): score for measure, score in told.items()}, abs=EXACT)


def test_frames_of_polars() -> None:
    """Read by way of Arrow, whatever it keeps texts and numbers as; a column without values is told."""
    polars = pytest.importorskip("polars")
    matched = polars.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["d1", "d3", "d4"], "label": [2, 1, 1]})
    listed = polars.DataFrame({"query": ["q1", "q1", "q2"], "item": ["d2", "d1", "d4"], "score": [3.0, 2.0, 1.0]})
    shared = listed.with_columns(polars.col("query").cast(polars.Categorical), polars.col("score").cast(polars.Float32))

    assert dict(scorer.evaluate(matched, listed, "AP")) == {"AP": 0.625}
    assert dict(scorer.evaluate(matched, shared, "AP")) == {"AP": 0.625}
    with pytest.raises(SubmissionError, match='the column "item" is of type null; expected text'):
        scorer.evaluate(matched, listed.with_columns(polars.lit(None).alias("item")), "AP")


def test_t31_how_a_level_of_recall_is_reached(pytrec_eval: Any) -> None:
    """T31: of R = 4, trec_eval 9 takes int(0.3 · 4 + 0.9) = 2 items for recall 0.3; version 10 rounds it to 1.

    The first is reach=up; the second reach=nearest, which trec_eval's name stands for here; exactly, 0.3 takes two.
    """
    run = untied({"q": ["a", "x", "y", "b"]})
    told = trec(pytrec_eval, SHORT, run, ["iprec_at_recall_0.30"])["q"]["iprec_at_recall_0.30"]

    assert told == 0.5
    assert one(SHORT, run, "IPrec(reach=up)@0.3") == told
    assert one(SHORT, run, "IPrec@0.3") == told
    assert one(SHORT, run, "iprec_at_recall_0.30") == one(SHORT, run, "IPrec(reach=nearest)@0.3") == 1
