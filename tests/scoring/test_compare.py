"""`scorer compare` and `scorer.compare`: differences, their certainty, and the queries that decide."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

import scorer
from scorer.scoring.analysis.compare import DECISIVE
from tests.commands import Terminal, here
from tests.seeded_challenge import QUALITY, write_challenge
from tests.seeded_challenge import QUERIES as SEEDED

QUERIES = [f"q{number:02}" for number in range(24)]
SOLUTION = {query: {"a": 2.0, "b": 1.0} for query in QUERIES}

GOOD = {query: ["x", "a"] if number % 6 == 5 else ["a", "b"] for number, query in enumerate(QUERIES)}
FAIR = {query: ["a", "b"] if number % 6 == 5 else ["x", "a", "b"] for number, query in enumerate(QUERIES)}
POOR = {query: ["x", "y", "z", "b"] for query in QUERIES}
RUNS: dict[str, Any] = {"fair": FAIR, "good": GOOD, "poor": POOR}

HOSTILE = '=a_b|c&d<script>"#\u202e'


def scores(run: Any) -> Any:
    """The reciprocal rank of each query."""
    return np.array([row["RR"] for row in scorer.evaluate(SOLUTION, run, "RR", per_query=True).by_query().values()])


@pytest.fixture(scope="module")
def found() -> scorer.Comparison:
    """All three runs by the reciprocal rank."""
    return scorer.compare(SOLUTION, RUNS, "RR")


def test_runs_are_in_the_order_of_their_means(found: scorer.Comparison) -> None:
    """The means are those of evaluate, to the last digit that a sum may change."""
    assert found.names == ("good", "fair", "poor")
    assert found.measure == "MRR"
    for name, value in found.means.items():
        assert value == pytest.approx(scorer.evaluate(SOLUTION, RUNS[name], "RR")["RR"], abs=1e-15)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("good", "fair"), ("good", "poor"), ("fair", "poor")]


def test_the_numbers_of_a_pair_equal_those_of_scipy(found: scorer.Comparison) -> None:
    """Difference, effect size, wins and interval; p-value within the error of resampling."""
    pair = found.pair("fair", "good")
    differences = scores(GOOD) - scores(FAIR)
    test = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(5)
    )

    assert pair == found.pair("good", "fair")
    assert pair.difference == pytest.approx(differences.mean(), abs=1e-15)
    assert pair.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1), abs=1e-12)
    assert (pair.wins, pair.ties, pair.losses) == (20, 0, 4)
    assert pair.p_value == pytest.approx(test.pvalue, abs=0.002)
    students = stats.ttest_1samp(differences, 0).confidence_interval()
    factor = (1 + 2 * (1 / 24 - 1 / len(QUERIES))) ** 0.5
    ends = [pair.difference + factor * (end - pair.difference) for end in students]
    assert pair.interval == pytest.approx(tuple(ends), abs=1e-12)
    assert pair.is_significant


def test_p_values_of_several_pairs_are_adjusted(found: scorer.Comparison) -> None:
    """By Holm's method; those of a single pair are not."""
    p_values = sorted((pair.p_value, pair.adjusted) for pair in found.pairs)
    single = scorer.compare(SOLUTION, {"good": GOOD, "fair": FAIR}, "RR").pairs[0]

    assert [adjusted for _, adjusted in p_values] == pytest.approx(
        np.maximum.accumulate([p * (3 - place) for place, (p, _) in enumerate(p_values)]).tolist()
    )
    assert single.adjusted == single.p_value


def test_the_queries_that_decide_have_the_largest_differences(found: scorer.Comparison) -> None:
    """Up to five in each direction, the largest first; of equal ones, the first in the solution."""
    pair = found.pair("good", "fair")

    assert [each.case for each in pair.decisive if each.difference > 0] == [
        query for number, query in enumerate(QUERIES) if number % 6 != 5
    ][:DECISIVE]
    assert [each.case for each in pair.decisive if each.difference < 0] == ["q05", "q11", "q17", "q23"]
    sizes = [abs(each.difference) for each in pair.decisive]
    assert sizes == sorted(sizes, reverse=True)
    assert all(each.difference == each.first - each.second for each in pair.decisive)


def test_runs_with_equal_scores_are_not_different() -> None:
    """No effect size; the p-value is 1. Other queries could show a difference."""
    pair = scorer.compare(SOLUTION, {"one": GOOD, "same": GOOD}, "RR").pairs[0]

    assert (pair.difference, pair.p_value, pair.is_significant) == (0, 1, False)
    assert (pair.effect_size, pair.decisive) == (None, ())
    assert pair.interval is not None
    assert pair.interval[1] == -pair.interval[0] > 0
    assert (pair.wins, pair.ties, pair.losses) == (0, len(QUERIES), 0)


def test_queries_that_a_run_lacks_can_be_skipped() -> None:
    """A pair is then compared over the queries that both have."""
    part = {query: POOR[query] for query in QUERIES[:10]}
    skipped = scorer.compare(SOLUTION, {"part": part, "good": GOOD}, "RR", missing="skip").pair("good", "part")
    counted = scorer.compare(SOLUTION, {"part": part, "good": GOOD}, "RR").pair("good", "part")

    assert skipped.wins + skipped.ties + skipped.losses == 10
    assert skipped.difference == pytest.approx((scores(GOOD) - scores(POOR))[:10].mean())
    assert skipped.interval is not None
    assert counted.wins + counted.ties + counted.losses == len(QUERIES)


def test_an_unknown_pair_raises_key_error(found: scorer.Comparison) -> None:
    """As a mapping would; a run is not compared with itself."""
    with pytest.raises(KeyError):
        found.pair("good", "none")
    with pytest.raises(KeyError):
        found.pair("good", "good")


def test_pairs_with_a_baseline_are_corrected_for_apart(found: scorer.Comparison) -> None:
    """Each other submission is the first, and its p-value is that of all pairs, corrected for fewer."""
    of_one = scorer.compare(SOLUTION, RUNS, "RR", against="fair")
    of_two = scorer.compare(SOLUTION, RUNS, "RR", against=["poor", "fair"], correction="by")

    assert [(pair.first, pair.second) for pair in of_one.pairs] == [("good", "fair"), ("poor", "fair")]
    assert [(pair.first, pair.second) for pair in of_two.pairs] == [("good", "fair"), ("good", "poor")]
    for correction, comparison in (("holm", of_one), ("fdr_by", of_two)):
        expected = [found.pair(pair.first, pair.second).p_value for pair in comparison.pairs]
        assert [pair.p_value for pair in comparison.pairs] == expected
        adjusted = multipletests(expected, method=correction)[1]
        assert [pair.adjusted for pair in comparison.pairs] == pytest.approx(adjusted, abs=1e-15)
    low, high = found.pair("fair", "poor").interval or (0, 0)
    assert of_one.pair("poor", "fair").interval == (-high, -low)
    assert of_one.pair("poor", "fair").is_significant


def test_false_discoveries_are_corrected_without_tiers_and_ranges(found: scorer.Comparison) -> None:
    """Of all pairs, also of many of which few are tested, which count with a p-value of 1."""
    comparison = scorer.compare(SOLUTION, RUNS, "RR", correction="bh")
    many = {f"{name} {copy}": run for name, run in RUNS.items() for copy in range(21)}
    few = scorer.compare(SOLUTION, many, "RR", resamples=100, correction="bh")
    document = comparison.to_dict()

    for pairs, others in ((comparison.pairs, 0), (few.pairs, 63 * 62 // 2 - len(few.pairs))):
        expected = multipletests([pair.p_value for pair in pairs] + [1] * others, method="fdr_bh")[1]
        assert [pair.adjusted for pair in pairs] == pytest.approx(expected[: len(pairs)], abs=1e-15)
    assert found.to_dict().keys() - document.keys() == {"pairwise", "ranks", "tiers", "separable_from_leader"}
    assert document["differences"]["good"]["fair"].keys() >= {"p", "bh"}  # type: ignore[index]


def test_a_submission_that_may_be_worse_by_a_margin() -> None:
    """It is not worse if the interval ends above minus the margin, or if no score differs. Without baselines, the first
    of the call is compared with each other one.
    """
    runs = {"fair": FAIR, "good": GOOD, "same": FAIR}
    low = scorer.compare(SOLUTION, {"fair": FAIR, "good": GOOD}, "RR", margin=1).pairs[0].interval

    def shown(margin: float) -> dict[str, bool | None]:
        found = scorer.compare(SOLUTION, runs, "RR", margin=margin)
        assert {pair.first for pair in found.pairs} == {"fair"}
        return {pair.second: pair.is_not_worse for pair in found.pairs}

    assert low is not None
    assert shown(-low[0] + 1e-9) == {"good": True, "same": True}
    assert shown(-low[0] - 1e-9) == {"good": False, "same": True}
    assert scorer.compare(SOLUTION, runs, "RR").pairs[0].is_not_worse is None
    against = scorer.compare(SOLUTION, runs, "RR", against="fair", margin=0)
    assert [(pair.first, pair.is_not_worse) for pair in against.pairs] == [("good", True), ("same", True)]


def test_power_is_that_of_the_deviation_of_each_pair(found: scorer.Comparison) -> None:
    """At 5 % divided by the pairs; a difference that is given counts for all."""
    for each, pair in zip(found.power(), found.pairs, strict=True):
        differences = scores(RUNS[pair.first]) - scores(RUNS[pair.second])
        assert each.deviation == pytest.approx(differences.std(ddof=1))
        effect = TTestPower().solve_power(nobs=len(QUERIES), alpha=0.05 / 3, power=0.8)
        assert each.smallest == pytest.approx(effect * differences.std(ddof=1), rel=1e-4)
        assert each.difference == pair.difference
        needed = TTestPower().solve_power(effect_size=0.02 / each.deviation, alpha=0.05 / 3, power=0.8)
        assert {other.queries for other in found.power(0.02) if other.second == each.second} >= {math.ceil(needed)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": "none"}, '"none" is not among the submissions: fair, good, poor'),
        ({"against": [*RUNS]}, "all submissions are baselines"),
        ({"margin": -1.0}, "expected a number of 0 or more"),
        ({"margin": math.nan}, "expected a number of 0 or more"),
        ({"correction": "none"}, "correction is one of holm, bh, by"),
    ],
)
def test_a_wrong_family_raises(options: Any, message: str) -> None:
    """Before anything is read."""
    with pytest.raises(ValueError, match=message):
        scorer.compare(SOLUTION, RUNS, "RR", **options)


@pytest.mark.parametrize(
    ("runs", "measure", "error", "message"),
    [
        ({"one": GOOD}, "RR", ValueError, "found 1 submission; expected at least two"),
        (RUNS, "P@1,5", scorer.MeasureError, "name one measure"),
        (RUNS, "num_rel", scorer.MeasureError, "is a sum over the queries"),
        (RUNS, "gm_map", scorer.MeasureError, "is a geometric mean over the queries"),
        (RUNS, "nothing", scorer.MeasureError, "nothing"),
        ({**RUNS, "bad": {"q01": {"a": float("nan")}}}, "RR", scorer.SubmissionError, "expected a finite number"),
    ],
)
def test_an_invalid_comparison_raises(runs: Any, measure: str, error: type[Exception], message: str) -> None:
    """Each error says what was found or expected."""
    with pytest.raises(error, match=message):
        scorer.compare(SOLUTION, runs, measure)


# The command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The solution and the runs as files of the current folder; one has a hostile name."""
    (tmp_path / "solution.json").write_text(json.dumps(SOLUTION), encoding="utf-8")
    for name, run in {**RUNS, HOSTILE: POOR}.items():
        lines = {query: {item: 9 - rank for rank, item in enumerate(items)} for query, items in run.items()}
        (tmp_path / f"{name}.json").write_text(json.dumps(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compare(terminal: Terminal, *arguments: str, measure: str = "RR") -> Any:
    """Compare files of the folder."""
    return terminal.run("compare", "--solution", "solution.json", "-m", measure, *arguments)


def test_two_files_are_compared(files: Path, terminal: Terminal) -> None:
    """The table, its finding, and the queries that decide."""
    answer = compare(terminal, "fair.json", "good.json")

    assert answer.code == 0, answer.err
    assert "MRR over 24 queries:" in answer.out
    assert "good.json is significantly better than fair.json (p " in answer.out
    assert "    0.5000  query q00: 1.0000 against 0.5000, for good.json" in answer.out
    assert "   -0.5000  query q05: 0.5000 against 1.0000, for fair.json" in answer.out
    assert "p (Holm)" not in answer.out
    assert "p (Holm)" in compare(terminal, "fair.json", "good.json", "poor.json").out


def test_exit_code_3_says_that_a_submission_may_be_worse(files: Path, terminal: Terminal) -> None:
    """With a line for each pair, on standard error where the output is for programs; JSON has a key."""
    good = compare(terminal, "good.json", "fair.json", "poor.json", "--margin", "0.01")
    fair = compare(terminal, "fair.json", "good.json", "--margin", "0.01", "--format", "csv")
    document = compare(
        terminal,
        "fair.json",
        "good.json",
        "poor.json",
        "--against",
        "good.json",
        "--format",
        "json",
        "--margin",
        "0.01",
    )

    assert good.code == 0
    assert "good.json is not worse than fair.json by more than 0.01." in good.out
    assert fair.code == document.code == 3
    assert "fair.json is not shown to be not worse than good.json by more than 0.01." in fair.err
    assert len(fair.out.splitlines()) == 2
    read = json.loads(document.out)
    assert (read["against"], read["margin"]) == (["good.json"], 0.01)
    assert [read["differences"][name]["good.json"]["not_worse"] for name in ("fair.json", "poor.json")] == [False] * 2


def test_a_baseline_is_named_as_in_the_call_or_by_its_row(files: Path, terminal: Terminal) -> None:
    """The findings say which is worse, and the note says for which pairs p-values are adjusted."""
    for tag in ("good", "fair", "poor"):
        lines = [f"{query} Q0 {item} 1 {9 - at} {tag}" for query in QUERIES for at, item in enumerate(RUNS[tag][query])]
        Path(f"{tag}.txt").write_text("\n".join(lines), encoding="utf-8")
    call = ("good.txt", "fair.txt", "poor.txt")
    first, second = (compare(terminal, *call, "--against", name) for name in ("poor.txt", "poor"))

    assert first == second
    assert "good is significantly better than poor (adjusted p " in first.out
    assert "p (Holm): adjusted for these pairs" in first.out
    lower = compare(terminal, "fair.json", "good.json", "--against", "good.json", "--correction", "bh").out
    assert "fair.json is significantly worse than good.json (p " in lower


def test_power_is_printed_in_every_form(files: Path, terminal: Terminal) -> None:
    """Blank where no number of queries shows a difference; null in JSON."""
    Path("same.json").write_bytes(Path("good.json").read_bytes())
    call = ("good.json", "fair.json", "same.json")
    table, document = (compare(terminal, *call, "--power", "--format", form).out for form in ("csv", "json"))
    other = json.loads(compare(terminal, *call, "--difference", "0.05", "--format", "json").out)

    rows = {(row["first"], row["second"]): row for row in csv.DictReader(StringIO(table))}
    assert rows["good.json", "same.json"]["queries"] == ""
    for pair in json.loads(document)["pairs"]:
        row = rows[pair["first"], pair["second"]]
        assert float(row["smallest"]) == pair["smallest"]
        assert row["queries"] == ("" if pair["queries"] is None else str(pair["queries"]))
    assert {pair["difference"] for pair in other["pairs"]} == {0.05}
    assert "smallest: the difference that as many queries show" in compare(terminal, *call, "--power").out


def test_json_is_a_task_of_a_report_with_the_queries_that_decide(files: Path, terminal: Terminal) -> None:
    """And equal to what the library returns."""
    document = json.loads(compare(terminal, "fair.json", "good.json", "--format", "json").out)
    mine = scorer.compare("solution.json", {"fair.json": "fair.json", "good.json": "good.json"}, "RR")

    assert document == json.loads(json.dumps(mine.to_dict()))
    assert document["algorithms"] == ["good.json", "fair.json"]
    assert document["decisive"]["good.json"]["fair.json"][0] == {
        "case": "q00",
        "difference": 0.5,
        "first": 1.0,
        "second": 0.5,
    }
    test = document["pairwise"]["randomisation"]["good.json"]["fair.json"]
    assert document["differences"]["good.json"]["fair.json"]["p"] == test["p"]
    assert document["differences"]["good.json"]["fair.json"]["wins"] == 20
    assert {"task", "cases", "rules", "intervals", "ranks", "tiers", "stability", "agreement"} <= document.keys()


def test_names_are_escaped_in_every_form(files: Path, terminal: Terminal) -> None:
    """Nothing of a name is a formula, markup or a command."""
    name = f"{HOSTILE}.json"
    forms = {form: compare(terminal, name, "good.json", "--format", form).out for form in ("csv", "markdown", "latex")}

    first = next(csv.DictReader(StringIO(forms["csv"])))
    assert first["second"] == "'" + name
    assert float(first["difference"]) == pytest.approx((scores(GOOD) - scores(POOR)).mean())
    assert "<script>" not in forms["markdown"]
    assert r"a\_b\|c&amp;d&lt;script&gt;" in forms["markdown"]
    assert r"=a\_b\textbar{}c\&d\textless{}script\textgreater{}\textquotedbl{}\#" in forms["latex"]
    assert "\u202e" not in compare(terminal, name, "good.json").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.json"], "found 1 submission; expected two or more to compare"),
        (["good.json", "good.json"], '"good.json" is listed twice'),
        (["-", "-"], "standard input (-) can be read only once"),
        (["good.json", "poor.json", "--track", "main"], "expected either --solution FILE"),
        (["good.json", "poor.json", "--against", "a"], '--against: "a" is not among the submissions: good.json, poor'),
        (["good.json", "poor.json", "--margin", "-1"], "expected a number of 0 or more"),
        (["good.json", "poor.json", "--submission-format", "word"], "no format is called"),
    ],
)
def test_wrong_arguments_are_explained(files: Path, terminal: Terminal, arguments: list[str], message: str) -> None:
    """With exit code 2, and nothing is printed."""
    answer = compare(terminal, *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_a_measure_is_needed_for_files(files: Path, terminal: Terminal) -> None:
    """And either a solution or a track."""
    assert "--measure is required" in terminal.run("compare", "a", "b", "--solution", "solution.json").err
    assert "expected either --solution FILE" in terminal.run("compare", "a", "b").err


# Teams of a challenge


@pytest.fixture
def scored(challenge: Path, terminal: Terminal) -> Path:
    """A challenge with scores."""
    assert terminal.run("score", challenge).code == 0
    return challenge


def test_teams_are_compared_by_their_scores_on_the_board(scored: Path, terminal: Terminal) -> None:
    """Also with a baseline; the means are those of the board."""
    board = json.loads(terminal.run("leaderboard", scored, "--format", "json").out)
    teams = {row["team"]: row["nDCG@5"] for row in board["rows"]}
    answer = terminal.run("compare", *teams, "--track", "main", "--challenge", scored, "--format", "json")
    document = json.loads(answer.out)

    assert len(teams) == 2
    assert {name: each["value"] for name, each in document["rules"]["mean"].items()} == teams
    assert document["cases"] == 3
    assert "This is based on the final scores, over all queries." in answer.err


def test_teams_are_compared_by_any_measure(scored: Path, terminal: Terminal) -> None:
    """Also one that is not on the board; a sum is refused."""
    arguments = ["compare", "first-team", "most-popular", "--track", "main", "--challenge", str(scored)]
    answer = terminal.run(*arguments, "-m", "RR@2", "--format", "json")
    refused = terminal.run(*arguments, "-m", "num_rel")

    assert json.loads(answer.out)["task"] == "main"
    assert (refused.code, refused.out) == (2, "")
    assert "is a sum over the queries" in refused.err


def test_a_preliminary_challenge_compares_preliminary_queries_only(new_challenge: Path, terminal: Terminal) -> None:
    """Final scores stay hidden; the single flagged query is the only one."""
    assert terminal.run("score", new_challenge).code == 0
    arguments = ["compare", "first-team", "most-popular", "--track", "main", "--challenge", str(new_challenge)]
    answer = terminal.run(*arguments, "--format", "json")
    document = json.loads(answer.out)

    assert document["cases"] == 1
    assert {each["case"] for row in document["decisive"].values() for cases in row.values() for each in cases} <= {"q1"}
    assert "based on the preliminary queries only" in answer.err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["first-team", "frist-team"], 'no team of track main is called "frist-team" (did you mean first-team?)'),
        (["First-Team", "most-popular"], "(did you mean first-team?); the teams are: "),
        (["first-team", "zzz"], 'is called "zzz"; the teams are: '),
    ],
)
def test_an_unknown_team_is_explained(scored: Path, terminal: Terminal, names: list[str], message: str) -> None:
    """With the most similar name."""
    answer = terminal.run("compare", *names, "--track", "main", "--challenge", scored)

    assert (answer.code, answer.out) == (1, "")
    assert message in answer.err


def test_options_for_files_are_refused_for_teams(scored: Path, terminal: Terminal) -> None:
    """The rules of the track decide."""
    arguments = ["compare", "first-team", "most-popular", "--track", "main", "--challenge", str(scored)]

    for option in (["--missing", "skip"], ["--rel", "2"], ["--solution-format", "trec"], ["--exclude", "self"]):
        answer = terminal.run(*arguments, *option)
        assert answer.code == 2
        assert f"{option[0]} is for files" in answer.err


# Slices

LABELS = {"long": QUERIES[::2], "few": QUERIES[:2]}


RUNS_BY_FILE = {f"{name}.json": run for name, run in RUNS.items()}


def write_labels(labels: Mapping[str, Sequence[str]]) -> None:
    """Write the file of slices."""
    rows = [f"{query},{label}\n" for label, queries in labels.items() for query in queries]
    Path("slices.csv").write_text("".join(rows), encoding="utf-8")


def test_the_comparison_on_a_slice_is_that_of_its_queries(files: Path, terminal: Terminal) -> None:
    """With a solution of only these queries, every number is the same, and all queries are compared as before."""
    write_labels({**LABELS, "unknown": []})
    runs = [f"{name}.json" for name in RUNS]

    document = json.loads(compare(terminal, *runs, "--slices", "slices.csv", "--format", "json").out)

    slices = document.pop("slices")
    assert document == json.loads(compare(terminal, *runs, "--format", "json").out)
    assert list(slices) == list(LABELS)
    for label, queries in LABELS.items():
        own = scorer.compare({query: SOLUTION[query] for query in queries}, RUNS_BY_FILE, "RR").to_dict()
        assert slices[label]["cases"] == len(queries)
        assert {**slices[label], "task": "RR"} == json.loads(json.dumps(own))


def test_every_form_has_the_slices(files: Path, terminal: Terminal) -> None:
    """The text says where no pair is significant; the other forms have a column with the label."""
    write_labels(LABELS)
    names = ("fair.json", "good.json", "--slices", "slices.csv")

    whole, long, few = re.split(r"\n(?=long: |few: )", compare(terminal, *names).out)
    rows = list(csv.DictReader(StringIO(compare(terminal, *names, "--format", "csv").out)))

    assert "MRR over 24 queries:" in whole
    assert long.startswith("long: MRR over 12 queries:")
    assert few.startswith("few: MRR over 2 queries:")
    assert "Too few queries to separate anything." in few
    assert "Too few" not in whole + long
    assert whole.count("randomisation test") == 1
    assert "randomisation" not in long + few
    assert [(row["slice"], row["wins"]) for row in rows[:1]] == [("all", "20")]
    assert [row["slice"] for row in rows] == ["all", "long", "few"]


def test_a_slice_on_which_a_submission_has_no_score_is_left_out(files: Path, terminal: Terminal) -> None:
    """With a note."""
    write_labels(LABELS)
    Path("part.json").write_text(json.dumps({query: {"a": 1} for query in QUERIES[2:]}), encoding="utf-8")

    answer = compare(
        terminal, "part.json", "good.json", "--slices", "slices.csv", "--missing", "skip", "--format", "csv"
    )

    assert 'The slice "few" is left out: a submission has no score on its queries.' in answer.err
    assert [row["slice"] for row in csv.DictReader(StringIO(answer.out))] == ["all", "long"]


def test_teams_are_compared_on_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a challenge whose solution has only the queries of the slice."""
    monkeypatch.chdir(tmp_path)
    labels = {"even": SEEDED[::2]}
    write_labels(labels)
    documents = []
    for name, more in (("whole", ("--slices", "slices.csv")), ("part", ())):
        write_challenge(tmp_path / name)
        solution = tmp_path / name / "solutions/main.txt"
        lines = solution.read_text(encoding="utf-8").splitlines(keepends=True)
        if name == "part":
            solution.write_text("".join(lines[::2]), encoding="utf-8")
        assert here("score", tmp_path / name).code == 0
        call = ["compare", "--challenge", str(tmp_path / name), "--track", "main", *QUALITY, "--format", "json"]
        documents.append(json.loads(here(*call, *more).out))

    whole, part = documents

    assert {**whole["slices"]["even"], "task": "main", "notes": None} == {**part, "notes": None}
