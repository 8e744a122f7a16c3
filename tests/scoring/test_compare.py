"""`scorer compare` and `scorer.compare`: differences, their certainty, and the queries that decide."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

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
