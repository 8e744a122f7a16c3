"""The similarity of runs: measures against their oracles and published values, and `scorer overlap`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import scorer
from scorer.options import DEFAULT_SIMILARITIES
from scorer.runs.overlap import SIMILARITIES, Overlaps, similarity_registry
from tests.commands import Terminal
from tests.oracles_overlap import ORACLES
from tests.strategies import ITEMS, examples

Lists = Mapping[str, Sequence[str]]

NAMES = (
    *("RBO", "RBO(p=0.5)", "RBO(p=0.98)@5", "RBO(estimate=min)", "RBO(p=0.7,estimate=max)", "RBO(estimate=res)@3"),
    *("AO", "AO@4", "Jaccard", "Jaccard@3", "Overlap", "Overlap@5", "tau", "tau@6"),
    *("tauAP", "tauAP(reference=first)", "tauAP(reference=second)@7"),
)

lists = st.lists(st.sampled_from(ITEMS), max_size=len(ITEMS), unique=True)
runs = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), lists, min_size=1).filter(lambda run: any(run.values()))


def expected(name: str, first: Sequence[str], second: Sequence[str]) -> float:
    """The value of the oracle for two lists."""
    measure = similarity_registry.parse_one(name)
    parameters = {each.name: value for each, value in zip(measure.kind.parameters, measure.parameters, strict=True)}
    k = measure.cutoff
    assert k is None or isinstance(k, int)
    return ORACLES[measure.kind.name](first[:k], second[:k], **parameters)


def of_lists(name: str, first: Sequence[str], second: Sequence[str]) -> float:
    """The similarity of two lists."""
    return scorer.overlap([{"q": list(first)}, {"q": list(second)}], name)["run 1", "run 2"].means[name]


def scores(found: Overlaps, first: str, second: str) -> dict[str, dict[str, float]]:
    """By measure and query."""
    pair = found[first, second]
    return {name: dict(zip(pair.queries, values.tolist(), strict=True)) for name, values in pair.per_query.items()}


def with_scores(ranked: Lists) -> dict[str, dict[str, float]]:
    """Run scores that give these lists."""
    return {query: {item: -float(rank) for rank, item in enumerate(items)} for query, items in ranked.items()}


# --- The measures -----------------------------------------------------------------------------------------------------


def test_every_measure_has_its_oracle() -> None:
    """And is among the names that the tests compare."""
    kinds = {kind.name for kind in SIMILARITIES}

    assert set(ORACLES) == kinds
    assert {similarity_registry.parse_one(name).kind.name for name in NAMES} == kinds


@examples(60)
@given(first=runs, second=runs, third=runs)
def test_a_measure_equals_its_oracle(first: Lists, second: Lists, third: Lists) -> None:
    """For each pair of three runs and each query that both have; an empty list counts as none."""
    named = {"first": first, "second": second, "third": third}
    found = scorer.overlap({name: with_scores(run) for name, run in named.items()}, NAMES)

    for pair in found.pairs:
        one, other = named[pair.first], named[pair.second]
        assert set(pair.queries) == {query for query in one if one[query] and other.get(query)}
        for name, values in scores(found, pair.first, pair.second).items():
            wanted = {query: expected(name, one[query], other[query]) for query in pair.queries}
            assert values == pytest.approx(wanted, abs=1e-12, nan_ok=True), name


@examples(60)
@given(first=st.permutations(range(40)), second=st.permutations(range(40)))
def test_tau_equals_scipys(first: list[int], second: list[int]) -> None:
    """For two orders of the same items."""
    tau = of_lists("tau", list(map(str, first)), list(map(str, second)))

    assert tau == pytest.approx(kendalltau(np.argsort(first), np.argsort(second)).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("depth", "average"), list(enumerate([0, 0, 2 / 9, 7 / 24, 47 / 150, 19 / 60, 0.312245], start=1))
)
def test_average_overlap_of_webber_moffat_and_zobel(depth: int, average: float) -> None:
    """Figure 1 of the paper: 0, 0, 0.222, 0.292, 0.313, 0.317 and 0.312."""
    assert of_lists(f"AO@{depth}", "abcdefg", "zcavwxy") == pytest.approx(average, abs=5e-7)


@pytest.mark.parametrize(
    ("first", "second", "estimate", "value"),
    [
        ("ab", "ba", "ext", 1 / 2),
        ("ab", "bac", "ext", 1 / 4 + (2 + 2 / 2) / 3 / 8 + 1 / 8),
        ("a", "b", "max", 1 / 2),
        ("a", "a", "min", math.log(2)),
        ("a", "a", "res", 1 - math.log(2)),
    ],
)
def test_rbo_by_hand(first: str, second: str, estimate: str, value: float) -> None:
    """With p = 1/2. With one shared item, the lower bound is the sum of p^d / d, which is ln 2."""
    assert of_lists(f"RBO(p=0.5,estimate={estimate})", first, second) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "tau", "first_is_reference", "second_is_reference"),
    [
        ("abcd", "bacd", 2 / 3, 1 / 3, 1 / 3),
        ("abcd", "abdc", 2 / 3, 7 / 9, 7 / 9),
        ("abcd", "dcba", -1, -1, -1),
        ("abcd", "bcda", 0, 1 / 3, -2 / 9),
    ],
)
def test_rank_correlations_by_hand(
    first: str, second: str, tau: float, first_is_reference: float, second_is_reference: float
) -> None:
    """A swap at the top costs more in tauAP than a swap at the bottom."""
    assert of_lists("tau", first, second) == pytest.approx(tau)
    assert of_lists("tauAP(reference=first)", first, second) == pytest.approx(first_is_reference)
    assert of_lists("tauAP(reference=second)", first, second) == pytest.approx(second_is_reference)
    mean = (first_is_reference + second_is_reference) / 2
    assert of_lists("tauAP", first, second) == pytest.approx(mean)


# --- Runs -------------------------------------------------------------------------------------------------------------


def test_ties_are_ordered_by_item_id() -> None:
    """Descending, as trec_eval and `evaluate` order them."""
    tied, ordered = {"q": {"a": 1.0, "c": 1.0, "b": 1.0}}, {"q": ["c", "b", "a"]}

    assert scorer.overlap([tied, ordered], "tau")["run 1", "run 2"].means == {"tau": 1}


def test_the_depth_cuts_all_lists() -> None:
    """A measure with a higher cut-off compares the same items."""
    found = scorer.overlap([{"q": list("abcdef")}, {"q": list("bacxyz")}], "Jaccard,Jaccard@2,Jaccard@9", depth=3)

    assert found["run 1", "run 2"].means == {"Jaccard": 1, "Jaccard@2": 1, "Jaccard@9": 1}


def test_queries_of_one_run_are_left_out() -> None:
    """They are counted; so are repeated items."""
    found = scorer.overlap({"a": {"1": ["x", "y", "x"], "2": ["x"]}, "b": {"1": ["y", "x"], "3": ["z"]}}, "Jaccard")

    assert found["a", "b"].queries == ("1",)
    assert found["a", "b"].means == {"Jaccard": 1}
    assert (found.queries, found.missing, found.repeated) == (3, {"a": 1, "b": 1}, {"a": 1, "b": 0})


def test_without_a_common_query_there_is_no_mean() -> None:
    """It is NaN, not 0."""
    found = scorer.overlap({"a": {"1": ["x"]}, "b": {"2": ["x"]}}, ["RBO", "tau"])

    assert found["a", "b"].queries == ()
    assert all(map(math.isnan, found["a", "b"].means.values()))


def test_a_frame_has_a_row_for_each_pair_or_query() -> None:
    """And a column for each measure, with its requested name."""
    found = scorer.overlap(
        {"a": {"1": ["x", "y"], "2": ["x", "z"]}, "b": {"1": ["x", "y"], "2": ["y", "x"]}}, ["jaccard@2", "Overlap@1"]
    )

    assert found.to_frame().to_dict("list") == {
        "first": ["a"],
        "second": ["b"],
        "jaccard@2": [(1 + 1 / 3) / 2],
        "Overlap@1": [0.5],
    }
    assert found.to_frame(per_query=True).to_dict("list") == {
        "first": ["a", "a"],
        "second": ["b", "b"],
        "query": ["1", "2"],
        "jaccard@2": [1, 1 / 3],
        "Overlap@1": [1, 0],
    }


def test_the_pair_must_exist() -> None:
    """A pair is named in the order of the runs."""
    found = scorer.overlap({"a": {"1": ["x"]}, "b": {"1": ["x"]}})

    assert tuple(found["a", "b"].means) == DEFAULT_SIMILARITIES
    with pytest.raises(KeyError):
        found["b", "a"]


@pytest.mark.parametrize(
    ("given_runs", "options", "message"),
    [
        ([{"q": ["a"]}], {}, "found 1 run; expected two or more to compare"),
        ("a.run", {}, "found one path; expected a list of runs, or a dict of runs by name"),
        (["a.run", "a.run"], {}, '"a.run" is listed twice; list each run once, or name the runs in a dict'),
        ([{"q": ["a"]}] * 2, {"depth": 0}, "depth: expected a whole number of 1 or more; found 0"),
        (
            [{"q": ["a"]}] * 2,
            {"measures": "RBF"},
            'no measure is called "RBF"; the closest names are RBO; `scorer overlap --measures` lists all',
        ),
        ([{"q": ["a"]}] * 2, {"measures": "RBO(p=1)"}, 'RBO takes a number from 0.001 to 0.9999 as p; found "1"'),
    ],
)
def test_wrong_calls_have_a_message(given_runs: object, options: dict[str, object], message: str) -> None:
    """What was found, and what was expected."""
    with pytest.raises(scorer.ScorerError) as caught:
        scorer.overlap(given_runs, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


# --- The command ------------------------------------------------------------------------------------------------------

FIRST = "q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq1 Q0 c 3 1 x\nq2 Q0 a 1 1 x\nq3 Q0 d 1 1 x\n"
SECOND = "q1 Q0 b 1 3 y\nq1 Q0 a 2 2 y\nq1 Q0 c 3 1 y\nq2 Q0 z 1 2 y\nq2 Q0 a 2 1 y\n"
THIRD = "q1 Q0 c 1 3 z\nq2 Q0 a 1 2 z\nq3 Q0 d 1 1 z\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """Three runs in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.run", FIRST), ("b.run", SECOND), ("c.run", THIRD)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return "a.run", "b.run", "c.run"


def test_the_table_has_a_row_for_each_pair(files: tuple[str, str, str], terminal: Terminal) -> None:
    """With the number of common queries; what the means leave out is printed to standard error."""
    answer = terminal.run("overlap", *files, "-m", "rbo(p=0.5),jaccard@1", "-m", "tau-ap")

    assert answer.code == 0
    assert answer.out.splitlines() == [
        "first  second  queries  rbo(p=0.5)  jaccard@1  tau-ap",
        "a.run  b.run         2      0.3750     0.0000  0.0000",
        "a.run  c.run         3      0.6944     0.6667       -",
        "b.run  c.run         2      0.1667     0.0000       -",
    ]
    assert answer.err.splitlines() == [
        "b.run: 1 query of 3 without a list, left out of the means of its pairs",
        "tau-ap: 6 of 7 pairs of lists left out of the means: they share fewer than two items",
    ]


def test_per_query_values(files: tuple[str, str, str], terminal: Terminal) -> None:
    """A row for each common query, then one for the mean; CSV has all digits."""
    answer = terminal.run("overlap", *files[:2], "-q", "-m", "jaccard,tau", "--format", "csv")

    assert answer.out.splitlines() == [
        "first,second,query,jaccard,tau",
        "a.run,b.run,q1,1.0,0.3333333333333333",
        "a.run,b.run,q2,0.5,",
        "a.run,b.run,all,0.75,0.3333333333333333",
    ]


def test_json_has_the_definitions(files: tuple[str, str, str], terminal: Terminal) -> None:
    """Each measure by its requested name, with all parameters; null where undefined."""
    document = json.loads(terminal.run("overlap", *files[:2], "-q", "-m", "rbo,tau", "--format", "json").out)

    assert document["measures"] == {"rbo": "RBO(p=0.9,estimate=ext)", "tau": "tau"}
    assert document["runs"] == ["a.run", "b.run"]
    (pair,) = document["pairs"]
    assert (pair["first"], pair["second"], pair["queries"]) == ("a.run", "b.run", 2)
    assert pair["undefined"] == {"rbo": 0, "tau": 1}
    assert pair["per_query"]["q2"] == {"rbo": pytest.approx(0.45), "tau": None}
    assert pair["means"]["rbo"] == pytest.approx((pair["per_query"]["q1"]["rbo"] + 0.45) / 2)


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_other_forms(form: str, files: tuple[str, str, str], terminal: Terminal) -> None:
    """Tables for papers have the same numbers."""
    answer = terminal.run("overlap", *files[:2], "-m", "Jaccard", "--format", form)

    assert "0.7500" in answer.out
    assert ("|" in answer.out) == (form == "markdown")


def test_measures_are_listed(terminal: Terminal) -> None:
    """Each with its formula, its parameters and its source."""
    answer = terminal.run("overlap", "--measures")

    assert answer.code == 0
    for kind in SIMILARITIES:
        assert all(text in answer.out for text in (kind.usage, kind.formula, kind.source))
        assert all(f"  {each.name}: {each.about.description}" in answer.out for each in kind.parameters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run"], "found 1 run; expected two or more to compare"),
        (["a.run", "a.run"], '"a.run" is listed twice; list each run once'),
        (["a.run", "b.run", "-m", "RBO@0"], "--measure: RBO takes a whole number from 1 to 1,000,000,000 as a cut-off"),
        (["a.run", "b.run", "--depth", "0"], "argument --depth"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, files: tuple[str, str, str], terminal: Terminal) -> None:
    """Exit code 2, and a message that names what is wrong."""
    answer = terminal.run("overlap", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"scorer overlap: {message}")


def test_an_invalid_run_is_an_error(files: tuple[str, str, str], terminal: Terminal) -> None:
    """The message names the file and the line; the exit code is 1."""
    Path("b.run").write_text("q1 Q0 a 1 x\n", encoding="utf-8")
    answer = terminal.run("overlap", *files)

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("b.run:1: ")
