"""Fusion: every method and normalisation equals its oracle and ranx; runs without a query, ties, repeated items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.errors import FusionError, ScorerError, SubmissionError
from scorer.runs.fuse import METHODS, NORMALISATIONS, TRAINED, method_named, normalisation_named
from scorer.runs.fusion import Method, Normalisation
from tests import oracles_runs
from tests.oracles_runs import ranked
from tests.strategies import ITEMS, QUERIES, examples

Run = Mapping[str, Mapping[str, float]]
Fused = dict[str, dict[str, float]]

TIED = tuple(quarters / 4 for quarters in range(-6, 7))
"""A few scores, so that they tie; sums of them are exact."""

NUMBERS = {"k": 7.5, "gamma": 0.3, "sigma": 0.2, "phi": 0.85}
"""Values of the parameters."""


def runs(count: int = 3) -> st.SearchStrategy[list[Run]]:
    """Runs with ties, negative scores, empty lists and different queries; each has a list at least."""
    listed = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from(TIED))
    run = st.dictionaries(st.sampled_from(QUERIES), listed, min_size=1)
    return st.lists(run, min_size=2, max_size=count)


def settings_of(method: Method, count: int) -> dict[str, Any]:
    """Values for all parameters of a method."""
    weights = [0.5, 0.25, 2.0, 0.0][:count]
    return {each.name: weights if each.weights else NUMBERS[each.name] for each in method.parameters}


def fused(given: Sequence[Any], method: str, norm: str | None = None, **parameters: Any) -> Fused:
    """Query -> item -> fused score, in the order of the ranks, which are checked."""
    table = scorer.fuse(given, method, norm, **parameters)
    lists: Fused = {}
    for row in table.to_pylist():
        listed = lists.setdefault(row["query"], {})
        listed[row["item"]] = row["score"]
        assert row["rank"] == len(listed)
    assert all(list(listed) == list(ranked(listed)) for listed in lists.values())
    return lists


def by_oracle(given: Sequence[Run], method: Method, norm: str, parameters: Mapping[str, Any]) -> Fused:
    """The same by the oracles; a run without a query has an empty list there."""
    queries = dict.fromkeys(query for run in given for query in run)
    oracle = oracles_runs.METHODS[method.name]
    use = norm if method.uses == "scores" or norm == "min-max-inverted" else "none"
    normalised = oracles_runs.NORMALISATIONS[use]
    return {query: oracle(normalised([ranked(run.get(query, {})) for run in given]), **parameters) for query in queries}


def assert_equal(found: Fused, expected: Mapping[str, Mapping[str, float]]) -> None:
    """The same queries, items, and scores to nine digits; a query without items has no row."""
    expected = {query: listed for query, listed in expected.items() if listed}
    assert found.keys() == expected.keys()
    for query, listed in expected.items():
        assert found[query] == pytest.approx(dict(listed), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@examples(12)
@given(runs(), st.sampled_from([each.name for each in NORMALISATIONS]))
def test_every_method_equals_its_oracle(method: Method, given: list[Run], norm: str) -> None:
    """With every normalisation, ties and queries that only some runs have."""
    parameters = settings_of(method, len(given))

    assert_equal(fused(given, method.name, norm, **parameters), by_oracle(given, method, norm, parameters))


def test_every_method_and_normalisation_has_an_oracle() -> None:
    """None is left over."""
    assert set(oracles_runs.METHODS) == {method.name for method in METHODS}
    assert set(oracles_runs.NORMALISATIONS) == {each.name for each in NORMALISATIONS}


def random_runs(seed: int, *, items: int = 12, complete: bool = False) -> list[dict[str, dict[str, float]]]:
    """Three runs without ties for the same queries; complete ones list every item."""
    generator = np.random.default_rng(seed)

    def listed() -> dict[str, float]:
        length = items if complete else int(generator.integers(1, items))
        order = generator.permutation([f"d{number}" for number in range(items)])[:length]
        return dict(zip(order.tolist(), generator.normal(2, 3, length).tolist(), strict=True))

    return [{query: listed() for query in QUERIES} for _ in range(3)]


@pytest.mark.parametrize(
    "method", [method for method in METHODS if "condorcet" not in method.name], ids=lambda method: method.name
)
def test_every_method_equals_ranx(method: Method, ranx: Any) -> None:
    """On random runs with every normalisation; in ranx, ranks after "borda" depend on hashes.

    The next test compares Condorcet fusion.
    """
    parameters = settings_of(method, 3)
    for seed, norm in enumerate(NORMALISATIONS):
        if norm.name == "borda" and method.uses == "ranks":
            continue
        drawn = random_runs(seed)
        drawn[0]["q1"] = {item: abs(score) + 0.1 for item, score in drawn[0]["q1"].items()}
        theirs = ranx.fuse(
            [ranx.Run(run) for run in drawn],
            norm=None if norm.name == "none" else norm.name,
            method=method.name,
            params=parameters,
        )

        if (method.name, norm.name) == ("max", "max"):
            # ranx takes -1e9 for the score of an item that a run does not list.
            drawn = [{query: {i: abs(s) for i, s in listed.items()} for query, listed in run.items()} for run in drawn]
            theirs = ranx.fuse([ranx.Run(run) for run in drawn], norm="max", method="max")
        assert_equal(fused(drawn, method.name, norm.name, **parameters), theirs.to_dict())


@pytest.mark.parametrize("weights", [None, [0.2, 0.3, 0.45]])
def test_condorcet_equals_ranx_where_majorities_decide(ranx: Any, weights: list[float] | None) -> None:
    """On lists of the same items where the majority is an order; elsewhere that of ranx depends on hashes."""
    compared = 0
    for seed in range(40):
        drawn = random_runs(seed, items=5, complete=True)
        drawn = [{"q1": run["q1"]} for run in drawn]
        method = "w_condorcet" if weights else "condorcet"
        parameters: dict[str, Any] = {"weights": weights} if weights else {}
        wins = {
            item: sum(beats(drawn, weights or [1, 1, 1], item, other) for other in drawn[0]["q1"])
            for item in drawn[0]["q1"]
        }
        if len(set(wins.values())) < len(wins):
            continue
        compared += 1
        theirs = ranx.fuse([ranx.Run(run) for run in drawn], norm=None, method=method, params=parameters)
        assert_equal(fused(drawn, method, **parameters), theirs.to_dict())
    assert compared > 10


def beats(drawn: Sequence[Run], weights: Sequence[float], item: str, other: str) -> bool:
    """Whether runs of more than half of the weight prefer the item."""
    return (
        sum(w for w, run in zip(weights, drawn, strict=True) if run["q1"][item] > run["q1"][other]) > sum(weights) / 2
    )


@given(runs(), st.integers(1, 5))
@examples(15)
def test_a_depth_keeps_the_first_items(given: list[Run], depth: int) -> None:
    """As if longer lists were cut afterwards, also within ties."""
    whole = fused(given, "log_isr")

    cut = fused(given, "log_isr", depth=depth)

    assert cut == {query: dict(list(listed.items())[:depth]) for query, listed in whole.items()}


def test_a_repeated_item_counts_once_at_its_first_rank() -> None:
    """The items after the repetition move up."""
    assert fused([{"q": ["a", "b", "a", "c"]}, {"q": ["c"]}], "rrf", k=0) == {
        "q": {"c": pytest.approx(1 / 3 + 1), "a": 1.0, "b": 0.5}
    }


def test_lists_without_scores_have_descending_ones() -> None:
    """The last item has 1."""
    assert fused([{"q": ["a", "b", "c"]}, {"q": {"a": 5.0}}], "sum", "none") == {"q": {"a": 8.0, "b": 2.0, "c": 1.0}}


def test_equal_run_scores_are_ordered_by_item_id_descending() -> None:
    """By bytes, as in evaluate."""
    listed = fused([{"q": {"a": 1.0, "b": 1.0, "é": 1.0}}, {"q": {"z": 1.0}}], "rrf", k=0)["q"]

    assert list(listed) == ["é", "z", "b", "a"]
    assert list(listed.values()) == pytest.approx([1, 1, 1 / 2, 1 / 3])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_names_are_found_by_every_spelling(method: Method) -> None:
    """Regardless of case; spellings are unique."""
    for name in (method.name, method.name.upper(), *method.aliases):
        assert method_named(name) is method
    others = {name for other in METHODS if other is not method for name in (other.name, *other.aliases)}
    assert not others & {method.name, *method.aliases}


def test_ranx_has_no_other_methods(ranx: Any) -> None:
    """Every name that ranx reads is ours, or is refused as one that must be trained."""
    import inspect
    import re

    names = set(re.findall(r'method == "(\w+)"', inspect.getsource(ranx.fusion.fusion_switch)))

    assert names == {method.name for method in METHODS} | set(TRAINED)
    for name in TRAINED:
        with pytest.raises(FusionError, match="must be trained"):
            method_named(name)


def test_ranx_has_no_other_normalisations(ranx: Any) -> None:
    """Every name that ranx reads is ours."""
    import inspect
    import re

    names = re.findall(r'"([\w-]+)"', inspect.getsource(ranx.normalization.norm_switch).partition("if method")[2])

    for name in names:
        assert isinstance(normalisation_named(name, method_named("sum")), Normalisation)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rff",), "no method is called"),
        (("sum", "minimax"), "no normalisation is called"),
        (("rrf", None, {"gamma": 1}), "rrf has no parameter"),
        (("rrf", None, {"k": -1}), "k: expected a number of 0 or more"),
        (("rrf", None, {"k": "x"}), "k: expected"),
        (("rbc",), "rbc needs phi"),
        (("rbc", None, {"phi": 2}), "phi: expected a number from 0 to 1"),
        (("wsum",), "wsum needs weights"),
        (("wsum", None, {"weights": [1]}), "1 weight for 2 runs"),
        (("wsum", None, {"weights": [1, math.nan]}), "weights: expected"),
        (("sum", None, {"depth": 0}), "depth: expected"),
    ],
)
def test_wrong_settings_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    """With what is allowed."""
    method, norm, parameters = (*arguments, None, {})[:3] if len(arguments) < 3 else arguments

    with pytest.raises(FusionError, match=message):
        scorer.fuse([{"q": ["a"]}, {"q": ["b"]}], method, norm, **(parameters or {}))


def test_one_run_cannot_be_fused() -> None:
    """Nor can a path that is not in a list."""
    with pytest.raises(FusionError, match="two or more"):
        scorer.fuse([{"q": ["a"]}])
    with pytest.raises(FusionError, match="expected a list of runs"):
        scorer.fuse("run.txt")


def test_scores_that_are_too_large_are_refused() -> None:
    """No infinite score is written."""
    with pytest.raises(ScorerError, match=r"query \"q\" are too large to be fused by sum"):
        scorer.fuse([{"q": {"a": 1.7e308}}, {"q": {"a": 1.7e308}}], "sum", "none")


def test_an_invalid_run_is_named() -> None:
    """By the name that the caller gives it, or by its number."""
    with pytest.raises(SubmissionError, match="bm25"):
        scorer.fuse({"bm25": {"q": {"a": math.nan}}, "dense": {"q": ["a"]}})
    with pytest.raises(SubmissionError, match="run 2: the run has no lists"):
        scorer.fuse([{"q": ["a"]}, {}])


def test_a_fused_table_can_be_evaluated() -> None:
    """Its columns are those of a submission."""
    table = scorer.fuse([{"q": ["a", "b"]}, {"q": ["b"]}])

    assert scorer.evaluate({"q": {"b": 1}}, table, ["RR"])["RR"] == 1.0


def test_every_method_has_a_page() -> None:
    """With what it computes, its parameters and its other names; the index has all normalisations."""
    from docs.fusion import pages

    texts = pages()
    for method in METHODS:
        text = " ".join(texts[f"{method.name}.md"].split())
        parts = [method.summary, method.edge_cases, method.formula, method.source, *method.aliases]
        assert all(words in text for words in parts)
        assert all(each.about.description in text for each in method.parameters)
    assert all(each.formula in texts["index.md"] for each in NORMALISATIONS)
    assert len(texts) == len(METHODS) + 1
