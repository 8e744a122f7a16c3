"""`scorer.agree` and `scorer agree`: how far two solutions agree, and whether it matters for the ranking of runs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import scorer
from scorer.scoring.analysis.agreement import MOST_GRADES, JudgeAgreement
from tests.commands import Terminal

Grades = dict[str, dict[str, float]]


def solution(grades: Any) -> Grades:
    """A solution with these grades, [query, item]."""
    return {
        f"q{query}": {f"d{item}": float(grade) for item, grade in enumerate(row)} for query, row in enumerate(grades)
    }


def solutions(first: Any, second: Any) -> tuple[Grades, Grades]:
    """Those of two judges."""
    return solution(first), solution(second)


def drawn(seed: int = 3, queries: int = 30, items: int = 12) -> tuple[Any, Any]:
    """The grades of two judges, [query, item], from 0 to 3."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 4, (queries, items))
    return first, np.clip(first + random.integers(-1, 2, first.shape), 0, 3)


def value(found: JudgeAgreement, name: str) -> float:
    """That of a coefficient."""
    return found.coefficients[name].value


def distance(one: float, other: float, power: int) -> float:
    """0: whether the grades differ."""
    return abs(one - other) ** power if power else float(one != other)


def slow_kappa(pairs: list[tuple[float, float]], power: int) -> float:
    """By the definition: the disagreement of pairs by that of all combinations of a first and a second grade."""
    observed = sum(distance(*pair, power) for pair in pairs) / len(pairs)
    return 1 - observed / (sum(distance(one, other, power) for one, _ in pairs for _, other in pairs) / len(pairs) ** 2)


def slow_alpha(pairs: list[tuple[float, float]], power: int) -> float:
    """By the definition: the disagreement of pairs by that of any two of all grades."""
    values = [grade for pair in pairs for grade in pair]
    observed = sum(distance(*pair, power) for pair in pairs) / len(pairs)
    expected = sum(distance(one, other, power) for one, other in combinations(values, 2)) / math.comb(len(values), 2)
    return 1 - observed / expected


def test_kappa_is_that_of_scikit_learn() -> None:
    """Plain, linear and quadratic, over all pairs of a query and an item; and the confusion table."""
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = drawn()

    found = scorer.agree(solution(first), solution(second))
    linear = scorer.agree(solution(first), solution(second), weights="linear")

    both = first.ravel(), second.ravel()
    assert value(found, "kappa") == pytest.approx(metrics.cohen_kappa_score(*both), abs=1e-12)
    for of, weights in ((found, "quadratic"), (linear, "linear")):
        expected = metrics.cohen_kappa_score(*both, weights=weights)
        assert value(of, "weighted_kappa") == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(found.confusion, metrics.confusion_matrix(*both))
    assert value(found, "equal") == pytest.approx((first == second).mean(), abs=1e-12)


@pytest.mark.parametrize("steps", [[0, 1, 2, 3], [0, 0.5, 2.25, 7], [0, 1e9, 3e9, 4e9], [0, 1e-9, 2e-9, 1e-8]])
def test_coefficients_are_those_of_their_definitions(steps: list[float]) -> None:
    """The differences of any grades count, not those of their places."""
    first, second = (np.array(steps)[each] for each in drawn(5, 12, 6))
    pairs = list(zip(first.ravel().tolist(), second.ravel().tolist(), strict=True))

    found = scorer.agree(solution(first), solution(second))
    linear = scorer.agree(solution(first), solution(second), weights="linear")

    expected = {"kappa": slow_kappa(pairs, 0), "weighted_kappa": slow_kappa(pairs, 2)}
    expected |= {"alpha": slow_alpha(pairs, 2), "nominal_alpha": slow_alpha(pairs, 0)}
    assert {name: value(found, name) for name in expected} == pytest.approx(expected, abs=1e-9)
    assert value(linear, "weighted_kappa") == pytest.approx(slow_kappa(pairs, 1), abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "published"),
    [("0100000010", "1110010000", 0.095), ("112243335441", "212223335444", 0.692)],
)
def test_nominal_alpha_has_the_published_values(first: str, second: str, published: float) -> None:
    """Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: binary and nominal data of two observers."""
    found = scorer.agree(solution([map(int, first)]), solution([map(int, second)]))

    assert value(found, "nominal_alpha") == pytest.approx(published, abs=5e-4)
    assert found.coefficients["nominal_alpha"].interval is None


def test_only_pairs_that_both_judge_count() -> None:
    """Of the queries that both have; negative grades are no judgement; a split is one of the first solution."""
    first, second = drawn()
    one, other = solution(first), solution(second)
    expected = scorer.agree(one, other)
    one |= {"more": {"d1": 1.0}}
    one["q0"] |= {"x": 3.0, "y": 0.0}
    other |= {"others": {"d1": 1.0}, "last": {"d1": 1.0}}
    other["q3"] |= {"x": 3.0, "y": -1.0}
    one["q4"] |= {"x": -2.0}
    other["q4"] |= {"x": 1.0}

    found = scorer.agree(one, other)

    assert (found.queries, found.pairs, found.only_first, found.only_second) == (30, 360, 2, 2)
    assert found.coefficients == expected.coefficients
    rows = [(query, item, grade, query < "q2") for query, items in one.items() for item, grade in items.items()]
    flagged = pd.DataFrame(rows, columns=["query", "item", "grade", "flag"])
    part = scorer.agree(flagged, other, split="preliminary")
    assert part.coefficients == scorer.agree({q: i for q, i in one.items() if q < "q2"}, other).coefficients
    assert part.queries == len([query for query in one if query < "q2" and query in other])


@pytest.mark.parametrize("differing", [30, 3])
def test_intervals_are_those_of_the_jackknife(differing: int) -> None:
    """Student's t, from the values without each query, wider where few of them have a disagreement."""
    first, second = drawn()
    second = np.where(np.arange(30)[:, None] < differing, second, first)
    without = [
        value(scorer.agree(*solutions(np.delete(first, query, axis=0), np.delete(second, query, axis=0))), "kappa")
        for query in range(30)
    ]

    kappa = scorer.agree(*solutions(first, second)).coefficients["kappa"]

    variance = 29 / 30 * ((np.array(without) - np.mean(without)) ** 2).sum() * (1 + 2 * (1 / differing - 1 / 30))
    half = stats.t.ppf(0.975, 29) * math.sqrt(variance)
    assert kappa.interval == pytest.approx((kappa.value - half, min(kappa.value + half, 1)), abs=1e-9)


def test_clusters_are_left_out_as_wholes() -> None:
    """As if each were one query with all of its items."""
    first, second = drawn()
    clusters = {f"q{query}": f"c{query // 3}" for query in range(30)}

    found = scorer.agree(*solutions(first, second), clusters=clusters)

    merged = scorer.agree(*solutions(first.reshape(10, 36), second.reshape(10, 36)))
    assert found.coefficients == merged.coefficients


@pytest.mark.parametrize("count", [9, 10])
def test_few_queries_give_no_interval(count: int) -> None:
    """Under ten."""
    first, second = drawn()
    found = scorer.agree(*solutions(first[:count], second[:count]))

    assert {each.interval is None for each in found.coefficients.values()} == {count < 10}


@pytest.mark.parametrize(("repeats", "others"), [(3, 2), (48, 2)])
def test_intervals_cover_a_known_kappa(repeats: int, others: int) -> None:
    """50 queries with 10 items. The second judge repeats a grade with a probability of the query, its mean is kappa."""
    random, samples, kappa = np.random.default_rng(11), 300, repeats / (repeats + others)
    hits = dict.fromkeys(("kappa", "weighted_kappa", "alpha", "nominal_alpha"), 0)
    for _ in range(samples):
        first, other = random.choice(4, (2, 50, 10), p=[0.5, 0.2, 0.2, 0.1])
        second = np.where(random.random((50, 10)) < random.beta(repeats, others, (50, 1)), first, other)
        found = scorer.agree(solution(first), solution(second))
        for name in hits:
            low, high = found.coefficients[name].interval or (1, 0)
            hits[name] += low <= kappa <= high

    assert min(hits.values()) >= 0.93 * samples, hits


def test_coefficients_of_equal_grades_are_undefined() -> None:
    """NaN, and None in JSON; one query with all that differs leaves no interval."""
    same = solution(np.ones((12, 3)))
    found = scorer.agree(same, same)
    other = scorer.agree(same, solution([[2, 1, 1], *np.ones((11, 3))]))

    assert value(found, "equal") == 1
    assert all(math.isnan(value(found, name)) for name in found.coefficients if name != "equal")
    assert found.coefficients["kappa"].interval is None
    plain: Any = found.to_dict()
    assert plain["coefficients"]["alpha"] == {"value": None, "interval": None}
    assert found.to_frame()["value"].isna().sum() == 4
    assert "<td>-</td>" in found._repr_html_()
    assert (value(other, "kappa"), other.coefficients["kappa"].interval) == (0, None)


def test_solutions_that_agree_could_differ_on_other_queries() -> None:
    """The interval of a kappa of 1 has a width."""
    grades = solution(drawn()[0])
    kappa = scorer.agree(grades, grades).coefficients["kappa"]

    assert kappa.value == 1
    assert kappa.interval is not None
    assert 0.9 < kappa.interval[0] < kappa.interval[1] == 1


def test_many_grades_leave_out_what_needs_a_table() -> None:
    """The quadratic kappa and alpha of numbers need only sums."""
    random = np.random.default_rng(2)
    first = random.random((15, 8)).round(3)
    second = np.abs(first + random.normal(0, 0.1, first.shape).round(3))
    pairs = list(zip(first.ravel().tolist(), second.ravel().tolist(), strict=True))

    found = scorer.agree(solution(first), solution(second))

    assert len(found.grades) > MOST_GRADES
    assert found.confusion == ()
    undefined = {name for name in found.coefficients if math.isnan(value(found, name))}
    assert undefined == {"kappa", "nominal_alpha"}
    assert value(found, "weighted_kappa") == pytest.approx(slow_kappa(pairs, 2), abs=1e-9)
    assert value(found, "alpha") == pytest.approx(slow_alpha(pairs, 2), abs=1e-9)
    linear = scorer.agree(solution(first), solution(second), weights="linear")
    assert math.isnan(value(linear, "weighted_kappa"))


# Runs


def judged(favours: float = 0.8) -> tuple[Grades, Grades, dict[str, Any]]:
    """A machine, people, and runs of which the machine favours the last one."""
    random = np.random.default_rng(4)
    truth = random.normal(size=(40, 20))
    machine, people = (np.digitize(truth + random.normal(0, 0.5, truth.shape), [0.3, 1, 1.8]) for _ in range(2))
    machine[:, 0] = people[:, 0] = 2  # so that each query has a relevant item
    runs = {name: truth + random.normal(0, noise, truth.shape) for name, noise in (("a", 1), ("b", 0.8), ("c", 0.6))}
    runs["llm"] = truth + random.normal(0, 1, truth.shape) + favours * (machine - people)
    return solution(machine), solution(people), {name: solution(scores) for name, scores in runs.items()}


@pytest.fixture(scope="module")
def found() -> JudgeAgreement:
    """By nDCG@10."""
    return scorer.agree(*judged())


def scores(run: Any, grades: Grades, measure: str = "nDCG@10") -> Any:
    """The score of each query."""
    return np.array([row[measure] for row in scorer.evaluate(grades, run, measure).by_query().values()])


def test_the_numbers_of_runs_are_those_of_their_scores(found: JudgeAgreement) -> None:
    """Means, tau of scipy, whom the machine favours, which runs swap, and the weight of the machine."""
    machine, people, runs = judged()
    one, other = (np.array([scores(run, grades) for run in runs.values()]) for grades in (machine, people))
    gaps = one - other - (one - other).mean(axis=0)

    by_name = {run.name: run for run in found.runs}
    for at, name in enumerate(runs):
        run = by_name[name]
        assert (run.by_first, run.by_second) == pytest.approx((one[at].mean(), other[at].mean()), abs=1e-12)
        assert run.favour.value == pytest.approx(gaps[at].mean(), abs=1e-12)
        ends = stats.ttest_1samp(gaps[at], 0).confidence_interval(1 - 0.05 / 4)
        assert run.favour.interval == pytest.approx(tuple(ends), abs=1e-12)
    assert [run.by_first for run in found.runs] == sorted((run.by_first for run in found.runs), reverse=True)
    assert {name for name, run in by_name.items() if run.favour.excludes_0 and run.favour.value > 0} == {"llm"}
    assert found.tau is not None
    assert found.tau.value == pytest.approx(stats.kendalltau(one.mean(axis=1), other.mean(axis=1)).statistic)
    assert found.tau.interval is not None
    assert -1 <= found.tau.interval[0] <= found.tau.value <= found.tau.interval[1] <= 1

    places = {name: at for at, name in enumerate(runs)}
    assert {(each.above, each.below) for each in found.swaps} == {
        (above, below)
        for above in runs
        for below in runs
        if by_name[above].by_first > by_name[below].by_first and by_name[above].by_second < by_name[below].by_second
    }
    for swap in found.swaps:
        i, j = places[swap.above], places[swap.below]
        difference = one[i] - one[j] - other[i] + other[j]
        ends = stats.ttest_1samp(difference, 0).confidence_interval(1 - 0.05 / 6)
        assert swap.by_first > 0 > swap.by_second
        assert swap.change.value == pytest.approx(swap.by_first - swap.by_second, abs=1e-12)
        assert swap.change.interval == pytest.approx(tuple(ends), abs=1e-12)
    assert any(swap.change.excludes_0 for swap in found.swaps)
    centred = one - one.mean(axis=1, keepdims=True)
    slope = stats.linregress(centred.ravel(), (other - other.mean(axis=1, keepdims=True)).ravel()).slope
    assert found.machine_weight == pytest.approx(min(max(slope, 0), 1), abs=1e-12)


def test_tau_counts_ties() -> None:
    """As scipy's tau-b; undefined where all runs are equal."""
    machine, people, runs = judged()
    tied = scorer.agree(machine, people, {**runs, "again": runs["a"], "b too": runs["b"]}, "AP")
    means = np.array([(run.by_first, run.by_second) for run in tied.runs]).round(12)
    equal = scorer.agree(machine, people, {"a": runs["a"], "again": runs["a"]})

    assert tied.tau is not None
    assert equal.tau is not None
    assert tied.tau.value == pytest.approx(stats.kendalltau(*means.T).statistic)
    assert math.isnan(equal.tau.value)
    assert equal.tau.interval is None
    assert (equal.swaps, equal.runs[0].favour.interval) == ((), None)


def test_means_are_over_queries_with_scores_by_both() -> None:
    """A query for which a solution has no relevant item, or a run no list, is left out; few queries give no weight."""
    machine, people, runs = judged()
    people["q1"] = dict.fromkeys(people["q1"], 0.0)
    del people["q2"], runs["a"]["q3"]

    found = scorer.agree(machine, people, runs, missing="skip")
    few = scorer.agree(machine, {query: people[query] for query in list(people)[:9]}, runs)

    assert (found.queries, found.scored) == (39, 37)
    kept = [query for query in people if query not in {"q1", "q3"}]
    expected = scorer.evaluate({query: machine[query] for query in kept}, runs["b"], "nDCG@10")["nDCG@10"]
    assert {run.name: run.by_first for run in found.runs}["b"] == pytest.approx(expected, abs=1e-12)
    assert few.machine_weight is None
    assert few.tau is not None
    assert few.tau.interval is None
    assert {run.favour.interval for run in few.runs} == {None}


def test_clusters_are_drawn_as_wholes() -> None:
    """The intervals of runs are over clusters; fewer than ten give none."""
    machine, people, runs = judged()
    ten = scorer.agree(machine, people, runs, clusters={query: query[-1] for query in machine})
    five = scorer.agree(machine, people, runs, clusters={query: str(int(query[-1]) // 2) for query in machine})

    assert ten.runs[0].favour.value == scorer.agree(machine, people, runs).runs[0].favour.value
    assert ten.runs[0].favour.interval is not None
    assert five.runs[0].favour.interval is None
    assert five.coefficients["kappa"].interval is None


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"second": {"z": {"d1": 1}}}, scorer.ScorerError, 'no query in common, such as "q0" and "z"'),
        ({"second": {"q1": {"z": 1}}}, scorer.ScorerError, "1 query in common, and no item of them that both judge"),
        ({"split": "preliminary"}, scorer.ScorerError, "split preliminary: the solutions have no query in common"),
        ({"second": {"q1": {"d1": 0}}}, scorer.SolutionError, "no query has a relevant item"),
        ({"runs": {"a": {"q1": ["d1"]}}}, ValueError, "found 1 submission; expected at least two"),
        ({"runs": {"a": {"q1": ["d1"]}, "b": {}}}, scorer.SubmissionsError, 'submission "b": the file has no rows'),
        ({"measure": "GMAP"}, scorer.MeasureError, "GMAP is a geometric mean over the queries"),
        ({"weights": "cubic"}, ValueError, "weights is one of quadratic, linear; found 'cubic'"),
        ({"ties": "none"}, ValueError, "ties is one of"),
        ({"runs": {"a": iter([]), "b": {"q1": ["d1"]}}}, scorer.ScorerError, "a: can be read only once"),
    ],
)
def test_wrong_input_is_explained(change: Mapping[str, Any], error: type[Exception], message: str) -> None:
    """In one message."""
    machine, people, runs = judged()

    with pytest.raises(error) as raised:
        scorer.agree(**{"first": machine, "second": people, "runs": runs, **change})

    assert message in str(raised.value)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The solutions and the runs as files in the current folder."""
    monkeypatch.chdir(tmp_path)
    machine, people, runs = judged()
    for name, grades in (("machine.txt", machine), ("people.txt", people)):
        scorer.convert(grades, name, kind="solution", target_format="trec")
    for name, run in runs.items():
        lines = (f"{q} Q0 {item} 0 {score!r} {name}\n" for q, items in run.items() for item, score in items.items())
        Path(f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return tmp_path


RUNS = ("a.txt", "b.txt", "c.txt", "llm.txt")


def test_the_command_prints_tables_and_sentences(files: Path, terminal: Terminal) -> None:
    """The confusion, the coefficients, the runs, the swaps and the weight."""
    answer = terminal.run("agree", "machine.txt", "people.txt", *RUNS)

    assert answer.code == 0
    assert answer.out.startswith(
        "800 pairs of 40 queries judged by both, 0 only by machine.txt, 0 only by people.txt\n"
    )
    for part in ("\ngrade ", "\nkappa ", "\nweighted kappa ", "\nllm ", "Kendall's tau of the two rankings: "):
        assert part in answer.out
    assert ": more than chance\n" in answer.out
    assert "\nmachine_weight = 0." in answer.out
    assert "where machine.txt is by a machine" in answer.out
    assert max(map(len, terminal.run("agree", "machine.txt", "people.txt").out.splitlines())) < 150


def test_json_has_all_that_the_library_has(files: Path, terminal: Terminal, found: JudgeAgreement) -> None:
    """Runs are called by their tags."""
    answer = terminal.run("agree", "machine.txt", "people.txt", *RUNS, "--format", "json")

    written = json.loads(answer.out)
    assert written == json.loads(json.dumps(found.to_dict()))
    assert written["weights"] == "quadratic"
    assert written["runs"][0].keys() == {"name", "by_first", "by_second", "favour"}


def test_the_command_says_what_is_undefined(files: Path, terminal: Terminal) -> None:
    """One grade, many grades, and pairs of runs that are too many to list."""
    Path("ones.txt").write_text("q1 0 d1 1\nq1 0 d2 1\n")
    Path("many.txt").write_text("".join(f"q1 0 d{grade} {grade}\n" for grade in range(30)))

    ones = terminal.run("agree", "ones.txt", "ones.txt")
    many = terminal.run("agree", "many.txt", "many.txt")

    assert "All grades are 1, so kappa and alpha are undefined." in ones.out
    assert "\nkappa                -    -     -\n" in ones.out
    assert "There are 30 different grades, too many for a table and what needs one." in many.out
    assert (ones.code, many.code) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.txt"], 2, "found 1 run; expected two or more to compare"),
        (["a.txt", "a.txt"], 2, '"a.txt" is listed twice'),
        (["-m", "AP"], 2, "--measure ranks runs; name two or more after the solutions"),
        (["a.txt", "b.txt", "-m", "nDGC"], 2, 'no measure is called "nDGC"'),
        (["a.txt", "empty.txt"], 1, "empty.txt: the file is empty"),
        (["a.txt", "none.txt"], 1, "none.txt: no such file"),
        (["-", "a.txt"], 1, "-: can be read only once, and each run is scored twice; name a file"),
        (["pipe", "a.txt"], 1, "pipe: can be read only once"),
    ],
)
def test_wrong_arguments_are_explained(
    files: Path, terminal: Terminal, arguments: list[str], code: int, message: str
) -> None:
    """Without a traceback; nothing is printed as a result."""
    Path("empty.txt").write_text("")
    if "pipe" in arguments:
        os.mkfifo("pipe")

    answer = terminal.run("agree", "machine.txt", "people.txt", *arguments)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err


def test_a_solution_that_cannot_be_read_is_named(files: Path, terminal: Terminal) -> None:
    """Also a challenge, with what to do."""
    missing = terminal.run("agree", "machine.txt", "none.txt")

    assert (missing.code, missing.err) == (1, "none.txt: no such file\n")
    assert terminal.run("agree", "-", "-").code == 2
