"""`scorer report --format json`: equal to the numbers of R, and right for odd tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import scorer
from tests.challenger import ALGORITHMS, PLACE, RULES, TASKS, needs_challenger, reference
from tests.commands import Terminal, here
from tests.paths import DOCS
from tests.values import CLEAR, Values, table


@cache
def d1(*options: str, file: str = "d1.csv") -> Any:
    """The report of a table of the reference."""
    answer = here("report", PLACE / file, "--format", "json", *options)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def tasks(document: Any) -> dict[str, Any]:
    """The tasks of a report, by name."""
    return {task["task"]: task for task in document["tasks"]}


def reported(terminal: Terminal, file: Path, *options: str) -> Any:
    """The report of a table."""
    answer = terminal.run("report", file, "--format", "json", *options)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def only(terminal: Terminal, folder: Path, values: Values, *options: str) -> Any:
    """The only task of a table."""
    (task,) = reported(terminal, table(folder, values), *options)["tasks"]
    return task


# Equal to R


def check_rules(mine: Any, theirs: Any, task: str) -> None:
    """Values but for rounding, and equal ranks, by each rule."""
    for rule, name in RULES.items():
        if name not in theirs:
            continue
        expected = theirs[name][task]
        found = mine["rules"][rule]
        assert {each: found[each]["rank"] for each in found} == expected["rank"], rule
        for each, value in expected["value"].items():
            assert found[each]["value"] == pytest.approx(value, rel=1e-14), (rule, each)


def check_matrix(mine: Any, theirs: Any, key: str) -> None:
    """P-values of all ordered pairs but for rounding; null where R has NaN."""
    count = 0
    for row, columns in theirs.items():
        for column, p in columns.items():
            if row == column:
                continue
            found = mine[row][column][key]
            count += 1
            if p is None or p == "NaN":
                assert found is None
            else:
                assert found == pytest.approx(p, rel=1e-12), (row, column)
    assert count == len(theirs) * (len(theirs) - 1)


@needs_challenger
@pytest.mark.parametrize("task", TASKS)
def test_ranks_by_every_rule_equal_those_of_challenger(task: str) -> None:
    """Also where the five means tie exactly."""
    check_rules(tasks(d1())[task], reference()["D1"]["rules"], task)


@needs_challenger
@pytest.mark.parametrize("task", TASKS)
def test_pairwise_tests_equal_those_of_r(task: str) -> None:
    """Wilcoxon one-sided with Holm over ordered pairs, t two-sided with Holm over unordered pairs."""
    expected, found = reference()["D1"]["pairwise_tests"][task], tasks(d1())[task]["pairwise"]
    check_matrix(found["wilcoxon"], expected["wilcoxon_one_sided"]["p"], "p")
    check_matrix(found["wilcoxon"], expected["wilcoxon_one_sided"]["p_holm_all_ordered_pairs"], "holm")
    check_matrix(found["t"], expected["t_test_two_sided"]["p"], "p")
    check_matrix(found["t"], expected["t_test_two_sided"]["p_holm_unordered_pairs"], "holm")


@needs_challenger
@pytest.mark.parametrize("task", TASKS)
def test_agreement_of_rules_equals_that_of_challenger(task: str) -> None:
    """Kendall's tau-b and Spearman's footrule of each two rules."""
    expected, found = reference()["D1"]["rule_agreement"][task], tasks(d1())[task]["agreement"]
    for one, name in RULES.items():
        for other, other_name in RULES.items():
            if one == other:
                continue
            tau = expected["kendall_tau_b"][name][other_name]
            assert found[one][other]["tau_b"] == (None if tau is None else pytest.approx(tau, abs=1e-14))
            assert found[one][other]["footrule"] == expected["spearman_footrule"][name][other_name]


@needs_challenger
@pytest.mark.parametrize("rule", RULES)
def test_consensus_equals_that_of_challenger(rule: str) -> None:
    """The Euclidean consensus of the package relations."""
    expected, found = reference()["D1"]["consensus_euclidean"][RULES[rule]], d1()["consensus"][rule]
    for each in ALGORITHMS:
        assert found[each]["value"] == pytest.approx(expected["value"][each], rel=1e-14)
        assert found[each]["rank"] == expected["rank_min_of_value"][each]


@needs_challenger
def test_the_robust_runs_equal_r() -> None:
    """All 272 ordered pairs of 17 runs, and the rankings by mean and median."""
    found = tasks(d1(file="d2.csv"))["robust2003"]
    expected = reference()["D2"]["pairwise_tests"]["robust2003"]["wilcoxon_one_sided"]
    check_rules(found, reference()["D2"]["rules"], "robust2003")
    check_matrix(found["pairwise"]["wilcoxon"], expected["p"], "p")
    check_matrix(found["pairwise"]["wilcoxon"], expected["p_holm_all_ordered_pairs"], "holm")


@pytest.fixture(scope="module")
def with_gap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task c_random without the value that the reference removes."""
    changed = reference()["D1_NA"]["changed"]
    lines = (PLACE / "d1.csv").read_text(encoding="utf-8").splitlines()
    key = f"{changed['task']},{changed['algorithm']},{changed['case']},"
    file = tmp_path_factory.mktemp("gap") / "gap.csv"
    kept = [f"{key}NA" if line.startswith(key) else line for line in lines if "c_random" in line or line == lines[0]]
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return file


@needs_challenger
@pytest.mark.parametrize(("option", "name"), [("0", "na_treat_0"), ("drop", "na_treat_na.rm")])
def test_missing_values_are_treated_as_by_challenger(option: str, name: str, with_gap: Path) -> None:
    """A number in their place, or left out: from means, from ranks on the case, and from pairs."""
    answer = here("report", with_gap, "--format", "json", "--na", option)
    found, expected = tasks(json.loads(answer.out))["c_random"], reference()["D1_NA"][name]
    check_rules(found, expected["rules"], "c_random")
    tests = expected["pairwise_tests"]["c_random"]["wilcoxon_one_sided"]
    if "t_test_two_sided" in expected["pairwise_tests"]["c_random"]:
        check_matrix(found["pairwise"]["t"], expected["pairwise_tests"]["c_random"]["t_test_two_sided"]["p"], "p")
    check_matrix(found["pairwise"]["wilcoxon"], tests["p"], "p")
    check_matrix(found["pairwise"]["wilcoxon"], tests["p_holm_all_ordered_pairs"], "holm")


@needs_challenger
def test_the_result_has_the_documented_structure() -> None:
    """The keys of every level, in a documented order."""
    document = d1()
    assert list(document) == ["version", "tasks", "consensus", "seed", "resamples"]
    assert (document["version"], document["seed"], document["resamples"]) == (3, 1, 10_000)
    task = tasks(document)["c_random"]
    names = "task cases algorithms rules pairwise intervals ranks tiers separable_from_leader stability agreement"
    assert list(task) == names.split()
    assert task["algorithms"] == ["A1", "A2", "A4", "A5", "A3"]
    assert list(task["rules"]) == list(document["consensus"]) == list(RULES)
    assert list(task["pairwise"]) == ["wilcoxon", "t", "randomisation"]
    assert list(task["ranks"]["A1"]) == ["range", "simultaneous", "bootstrap", "first"]
    assert list(task["intervals"]["A1"]) == ["mean", "interval", "percentile", "bca"]


def keys(document: Any, names: set[str]) -> set[str]:
    """The keys of a document at all levels, without names from the data."""
    if isinstance(document, Mapping):
        below = (keys(value, names) for value in document.values())
        return set().union(*below) | (set(document) - names)
    return set().union(*(keys(value, names) for value in document)) if isinstance(document, list) else set()


def test_every_key_is_documented(tmp_path: Path, terminal: Terminal) -> None:
    """In docs/report.md, in backquotes. Tukey is added on request; its p-values are symmetric, and adjusted already."""
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    document = reported(terminal, table(tmp_path, CLEAR), "--tukey")

    found = keys(document, set(CLEAR["clear"]))
    assert len(found) > 30
    assert {key for key in found if f"`{key}`" not in text} == set()

    tukey = document["tasks"][0]["pairwise"]["tukey"]
    assert tukey["high"]["low"] == tukey["low"]["high"]
    assert tukey["high"]["low"]["p"] < 0.001


# Properties


def test_ranges_and_tiers_agree(tmp_path: Path, terminal: Terminal) -> None:
    """Each algorithm is better on every case, so each has its rank and its tier."""
    task = only(terminal, tmp_path, CLEAR)

    assert "tukey" not in task["pairwise"]
    assert task["algorithms"] == ["high", "middle", "low"]
    assert task["tiers"] == [["high"], ["middle"], ["low"]]
    assert [task["ranks"][each]["simultaneous"] for each in task["algorithms"]] == [[1, 1], [2, 2], [3, 3]]
    assert [task["ranks"][each]["range"] for each in task["algorithms"]] == [[1, 1], [2, 2], [3, 3]]
    assert [task["ranks"][each]["first"] for each in task["algorithms"]] == [1, 0, 0]
    assert task["stability"] == {"tau_mean": 1.0, "tau_quartiles": [1.0, 1.0, 1.0]}


def test_smaller_values_can_be_better(tmp_path: Path, terminal: Terminal) -> None:
    """The order is reversed; means and intervals have the sign of the values, and the lower end first."""
    larger = only(terminal, tmp_path, CLEAR)
    smaller = only(terminal, tmp_path, CLEAR, "--smaller-is-better")
    negated: Values = {
        "clear": {name: [-float(value or 0) for value in column] for name, column in CLEAR["clear"].items()}
    }
    mirrored = only(terminal, tmp_path, negated)

    assert smaller["algorithms"] == ["low", "middle", "high"] == larger["algorithms"][::-1]
    for name, intervals in smaller["intervals"].items():
        assert intervals["mean"] == larger["intervals"][name]["mean"]
        assert intervals["mean"] == pytest.approx(-mirrored["intervals"][name]["mean"], abs=1e-15)
        for kind in ("interval", "percentile", "bca"):
            assert intervals[kind][0] < intervals["mean"] < intervals[kind][1]
            low, high = mirrored["intervals"][name][kind]
            assert intervals[kind] == pytest.approx([-high, -low], abs=1e-12)
        assert smaller["rules"]["median"][name]["value"] == larger["rules"]["median"][name]["value"]
    assert smaller["rules"]["mean-rank"]["low"] == {"value": 1.0, "rank": 1}
    assert smaller["pairwise"] == mirrored["pairwise"]


def test_the_order_of_the_rows_changes_nothing_and_the_seed_does(tmp_path: Path, terminal: Terminal) -> None:
    """Algorithms and cases are sorted by name; the same seed gives the same bytes, another one other intervals."""
    file = table(tmp_path, CLEAR)
    first = terminal.run("report", file, "--format", "json").out
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([head, *reversed(lines)]), encoding="utf-8")

    assert terminal.run("report", file, "--format", "json").out == first

    values: Values = {"t": {"a": [0.1, 0.4, 0.2, 0.9], "b": [0.3, 0.1, 0.8, 0.2]}}
    one, same, other = (only(terminal, tmp_path, values, "--seed", seed) for seed in ("7", "7", "8"))

    assert one == same
    assert one["intervals"] != other["intervals"]


def many(count: int) -> Values:
    """Algorithms of which each is better than the next one by a little."""
    return {
        "many": {
            f"n{place:02}": [place / count + (case * place) % 7 / 50 for case in range(8)] for place in range(count)
        }
    }


def test_more_than_sixty_algorithms_are_tested_with_neighbours_and_the_first(
    tmp_path: Path, terminal: Terminal
) -> None:
    """All pairs on request. Corrections count all pairs in any case; rules that count wins need all of them."""
    few = only(terminal, tmp_path, many(61), "--resamples", "100")
    everything = only(terminal, tmp_path, many(61), "--all-pairs", "--resamples", "100")
    first, second, third, fourth = few["algorithms"][:4]

    assert set(few["pairwise"]["wilcoxon"][third]) == {first, second, fourth}
    assert set(few["pairwise"]["wilcoxon"][first]) == set(few["algorithms"]) - {first}
    assert set(everything["pairwise"]["wilcoxon"][third]) == set(few["algorithms"]) - {third}
    for test, rows in few["pairwise"].items():
        for row, columns in rows.items():
            for column, values in columns.items():
                whole = everything["pairwise"][test][row][column]
                assert (values["p"] is None) == (whole["p"] is None)
                if values["p"] is not None:
                    assert values["p"] == pytest.approx(whole["p"], abs=1e-12)
                    assert values["holm"] >= whole["holm"] - 1e-12
    assert few["rules"]["wins"][first] == {"value": None, "rank": None}
    assert everything["rules"]["wins"][first]["rank"] == 1
    assert few["agreement"]["mean"]["wins"] == {"tau_b": None, "footrule": None}


# Odd tables


def check_defined(document: Any, path: str = "") -> None:
    """No number is NaN or infinite. (They would not be JSON.)"""
    if isinstance(document, Mapping):
        for key, value in document.items():
            check_defined(value, f"{path}.{key}")
    elif isinstance(document, list):
        for value in document:
            check_defined(value, path)
    elif isinstance(document, float):
        assert math.isfinite(document), path


def test_one_case(tmp_path: Path, terminal: Terminal) -> None:
    """There is a ranking; intervals, ranks in resamples and the t test are undefined."""
    task = only(terminal, tmp_path, {"t": {"a": [0.5], "b": [0.25]}})

    check_defined(task)
    assert task["cases"] == 1
    assert task["rules"]["mean"] == {"a": {"value": 0.5, "rank": 1}, "b": {"value": 0.25, "rank": 2}}
    assert task["intervals"]["a"] == {"mean": 0.5, "interval": None, "percentile": None, "bca": None}
    assert task["ranks"]["a"] == {"range": [1, 2], "simultaneous": [1, 2], "bootstrap": None, "first": None}
    assert task["pairwise"]["t"]["a"]["b"] == {"p": None, "holm": None}
    assert task["pairwise"]["randomisation"]["a"]["b"] == {"p": 1.0, "holm": 1.0}
    assert task["tiers"] == [["a", "b"]]
    assert task["stability"] == {"tau_mean": None, "tau_quartiles": [None, None, None]}


def test_one_algorithm(tmp_path: Path, terminal: Terminal) -> None:
    """It is first; what compares algorithms is undefined."""
    document = reported(terminal, table(tmp_path, {"t": {"a": [0.5, 0.25, 0.75]}}))
    (task,) = document["tasks"]

    check_defined(document)
    assert task["rules"]["mean"] == {"a": {"value": 0.5, "rank": 1}}
    assert task["rules"]["wins"] == {"a": {"value": None, "rank": None}}
    assert task["pairwise"]["wilcoxon"] == {"a": {}}
    assert task["ranks"]["a"] == {"range": [1, 1], "simultaneous": [1, 1], "bootstrap": [1, 1, 1], "first": 1.0}
    assert task["agreement"]["mean"]["median"] == {"tau_b": None, "footrule": 0}
    assert document["consensus"]["mean"] == {"a": {"value": 1.0, "rank": 1}}
    assert document["consensus"]["wins"] is None


def test_identical_values(tmp_path: Path, terminal: Terminal) -> None:
    """All share the first rank and one tier, and no test decides anything."""
    task = only(terminal, tmp_path, {"t": {name: [0.1, 0.2, 0.7] for name in "abc"}})

    check_defined(task)
    assert {each["rank"] for rule in task["rules"].values() for each in rule.values()} == {1}
    assert task["tiers"] == [["a", "b", "c"]]
    assert all(each["simultaneous"] == each["range"] == [1, 3] for each in task["ranks"].values())
    assert all(each["first"] == 1.0 for each in task["ranks"].values())
    assert task["pairwise"]["wilcoxon"]["a"]["b"] == task["pairwise"]["t"]["a"]["b"] == {"p": None, "holm": None}
    assert task["pairwise"]["randomisation"]["a"]["b"] == {"p": 1.0, "holm": 1.0}
    assert task["stability"]["tau_mean"] is None


def test_constant_and_equal_values(tmp_path: Path, terminal: Terminal) -> None:
    """The same value on each case has no BCa interval; the same values in another order have the same mean."""
    task = only(terminal, tmp_path, {"t": {"a": [1, 1, 1, 1], "b": [0, 1, 0, 1]}})
    assert task["intervals"]["a"] == {"mean": 1.0, "interval": [1.0, 1.0], "percentile": [1.0, 1.0], "bca": None}
    assert task["intervals"]["b"]["bca"] is not None

    values = [0.1, 0.7, 0.3, 0.2, 1e-17, 0.6, 0.4]
    task = only(terminal, tmp_path, {"t": {"a": values, "b": values[::-1], "c": sorted(values)}})

    assert len({each["value"] for each in task["rules"]["mean"].values()}) == 1
    assert {each["rank"] for each in task["rules"]["mean"].values()} == {1}


def test_the_consensus_is_over_the_algorithms_of_every_task(tmp_path: Path, terminal: Terminal) -> None:
    """Others are left out before the ranks are compared; without a common one there is no consensus."""
    one = {"a": [3, 3], "b": [2, 2], "c": [1, 1]}
    document = reported(terminal, table(tmp_path, {"one": one, "two": {"c": [5, 5], "a": [4, 4]}}))
    without = reported(terminal, table(tmp_path, {"one": one, "two": {"d": [5, 5], "e": [4, 4]}}))

    assert document["consensus"]["mean"] == {"a": {"value": 1.5, "rank": 1}, "c": {"value": 1.5, "rank": 1}}
    assert without["consensus"]["mean"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--na", "often"], 'found "often", expected drop or a number up to 1e+100'),
        (["--na", "inf"], "expected drop or a number up to 1e+100"),
        (["--resamples", "10"], "expected a whole number from 100 to 1,000,000"),
        (["--seed", "-1"], "expected a whole number of 0 or more"),
        (["--track", "none"], 'the table has no task called "none"; its tasks are: "clear"'),
        (["--format", "pdf"], "invalid choice"),
    ],
)
def test_wrong_arguments_are_explained(tmp_path: Path, terminal: Terminal, arguments: list[str], message: str) -> None:
    """With exit code 2, and nothing is printed."""
    answer = terminal.run("report", table(tmp_path, CLEAR), "--format", "json", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


# Runs

QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}, "q3": {"d4": 1}}
RUNS = {
    "a": {"q1": ["d1", "d2"], "q2": ["d3"], "q3": ["d9", "d4"]},
    "b": {"q1": ["d2"], "q2": ["d9", "d3"], "q3": ["d9"]},
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    """A solution and two runs."""
    solution = tmp_path / "qrels.txt"
    lines = [f"{query} 0 {item} {grade}" for query, items in QRELS.items() for item, grade in items.items()]
    solution.write_text("\n".join(lines), encoding="utf-8")
    for name, lists in RUNS.items():
        (tmp_path / f"{name}.run").write_text(
            "".join(
                f"{query} Q0 {item} {rank} {9 - rank} {name}\n"
                for query, items in lists.items()
                for rank, item in enumerate(items, 1)
            ),
            encoding="utf-8",
        )
    return solution, [tmp_path / "a.run", tmp_path / "b.run"]


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_a_report_of_runs_is_that_of_the_library(form: Any, files: tuple[Path, list[Path]], terminal: Terminal) -> None:
    """Of files, and of the same lists in memory."""
    solution, runs = files
    command = ("report", "--solution", solution, *runs, "-m", "nDCG@10,MARp@2,5", "--format", form, "-o", "-")

    answer = terminal.run(*command)

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == scorer.report(QRELS, RUNS, ["nDCG@10", "MARp@2,5"], form=form, title="qrels.txt") + "\n"


def test_a_report_of_runs_has_the_numbers_of_compare(files: tuple[Path, list[Path]], terminal: Terminal) -> None:
    """One task for each measure, with the means, intervals and p-values of `compare`."""
    solution, runs = files

    document = json.loads(scorer.report(solution, {"a": runs[0], "b": runs[1]}, "MAP,AP,RR", form="json"))
    compared = scorer.compare(solution, {"a": runs[0], "b": runs[1]}, "AP")

    first, second = document["tasks"]
    assert (first["task"], second["task"]) == ("AP", "RR")
    assert first["cases"] == len(QRELS)
    assert {name: each["mean"] for name, each in first["intervals"].items()} == compared.means
    assert first["pairwise"]["randomisation"]["a"]["b"]["p"] == compared.pair("a", "b").p_value


def test_notes_on_runs_are_in_the_report(files: tuple[Path, list[Path]], terminal: Terminal) -> None:
    """They are printed with the path of the run."""
    solution, runs = files
    with runs[0].open("a", encoding="utf-8") as stream:
        stream.write("q9 Q0 d1 1 1 a\n")

    answer = terminal.run("report", *runs, "--solution", solution, "-m", "AP", "--format", "markdown")

    assert answer.code == 0
    assert answer.err.startswith(str(runs[0]))
    assert answer.err.removeprefix(str(runs[0])).rstrip("\n") in answer.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("a.run", "b.run", "-m", "AP"), 2, "found 2 sources, expected one"),
        (("a.run", "b.run", "--solution", "qrels.txt"), 2, "--measure is required"),
        (("a.run", "--solution", "qrels.txt", "-m", "AP"), 2, "found 1 submission; expected two or more"),
        (("a.run", "a.run", "--solution", "qrels.txt", "-m", "AP"), 2, "is listed twice"),
        (("a.run", "b.run", "--solution", "qrels.txt", "-m", "none"), 2, "--measure: "),
        (("a.run", "b.run", "--solution", "qrels.txt", "-m", "GMAP"), 2, "is a geometric mean over the queries"),
        (("a.run", "b.run", "--solution", "none.txt", "-m", "AP"), 1, "none.txt"),
        (("a.run", "none.run", "--solution", "qrels.txt", "-m", "AP"), 1, "none.run"),
        (("a.run", "b.run", "--solution", "qrels.txt", "-m", "AP", "--na", "0"), 2, "--solution reports on files"),
        (("a.run", "-m", "AP"), 2, "--measure is for files, with --solution FILE"),
        (("a.run", "--ties", "order"), 2, "--ties is for files, with --solution FILE"),
        (("a.run", "-C", "elsewhere"), 2, "expected either a table or --challenge"),
    ],
)
def test_wrong_calls_of_a_report_of_runs(
    arguments: Sequence[str],
    code: int,
    message: str,
    files: tuple[Path, list[Path]],
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The messages are those of `compare`."""
    monkeypatch.chdir(files[0].parent)

    answer = terminal.run("report", *arguments)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err


def test_the_library_refuses_what_is_no_report() -> None:
    """An unknown form, one run, and a measure that is a sum."""
    with pytest.raises(ValueError, match="form: found"):
        scorer.report(QRELS, RUNS, "AP", form="pdf")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected at least two"):
        scorer.report(QRELS, {"a": RUNS["a"]}, "AP")
    with pytest.raises(scorer.MeasureError):
        scorer.report(QRELS, RUNS, ["AP", "GMAP"])
