"""The bounds for unjudged items, compared with the scores of all judgements that are possible."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scorer
from scorer.board import statistics
from scorer.options import JudgedBounds
from scorer.scoring.unjudged import mean_bounds
from tests.commands import Terminal, here
from tests.lists.test_real_data import ROBUST, needs
from tests.live_challenges import (
    ANNOUNCED,
    BEFORE,
    GOOD,
    ONE,
    POOR,
    QUERIES,
    SOLUTION,
    START,
    Live,
    day,
    lists,
    ranking,
)
from tests.seeded_challenge import SETTINGS, write_challenge
from tests.strategies import examples

Grades = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, float]]

EXACT = (
    "P@2",
    "Hits@3",
    "RR",
    "RR@2",
    "Success@2",
    "SetP",
    "ERR(highest=solution)@3",
    "DCG@3",
    "AP",
    "AP@2",
    "AP(denominator=min)@3",
    "R@2",
    "R(denominator=min)@2",
    "SetR",
    "nDCG",
    "nDCG@2",
    "nDCG@3",
    "nDCG(gain=exp)@3",
    "nDCG(gain=binary)@3",
    "nDCG(discount=jk)@3",
    "P(rel=2)@2",
    "AP(rel=2)",
    "nDCG(rel=2)@3",
    "RBP(p=0.8)",
    "RBP(p=0.5)@2",
    "RBP(p=0.8,rel=2)",
    "RBP(p=0.8,gain=linear)",
)
"""Measures whose bounds are reached where each query has a relevant item that is judged."""

SAFE = ("Rp@2", "MARp@1,2,4", "MARp(rel=2)@2,3")
"""Measures whose bounds may be too wide."""

OUTSIDE = ("x", "y")
"""Items that are in no list."""


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[Grades, dict[str, list[str]]]:
    """Two lists, and grades of some items."""
    grades: Grades = {}
    run = {}
    for query in ("q1", "q2"):
        run[query] = [f"d{number}" for number in range(draw(st.integers(0, 4)))]
        judged = draw(st.lists(st.sampled_from([*run[query], *OUTSIDE]), min_size=1, max_size=5, unique=True))
        grades[query] = {item: draw(st.integers(-1, 2)) for item in judged}
    return grades, run


def possible(grades: Grades, run: dict[str, list[str]], reach: JudgedBounds) -> Iterator[Grades]:
    """All judgements that keep the grades, by the definition of the bounds."""
    top = max(0, *(grade for query in grades.values() for grade in query.values()))
    unjudged = [
        (query, item)
        for query in grades
        for item in (*run[query], *(OUTSIDE if reach == "any" else ()))
        if grades[query].get(item, -1) < 0
    ]
    for chosen in itertools.product(range(top + 1), repeat=len(unjudged)):
        complete = {query: dict(of_query) for query, of_query in grades.items()}
        for (query, item), grade in zip(unjudged, chosen, strict=True):
            complete[query][item] = grade
        yield complete


def few(grades: Grades, run: dict[str, list[str]]) -> bool:
    """Whether the judgements can be listed in a moment."""
    return sum(grades[query].get(item, -1) < 0 for query in grades for item in (*run[query], *OUTSIDE)) <= 5


@pytest.mark.parametrize("reach", ["list", "any"])
@pytest.mark.parametrize("nothing_relevant", ["skip", "zero"])
@given(case=judged_runs())
@examples(50)
def test_bounds_are_those_of_all_judgements(
    reach: JudgedBounds, nothing_relevant: str, case: tuple[Grades, dict[str, list[str]]]
) -> None:
    """Each possible score is within the bounds; the highest bound, and with "list" the lowest one, is reached."""
    grades, run = case
    assume(few(grades, run) and max(grade for query in grades.values() for grade in query.values()) > 0)
    options = {"nothing_relevant": nothing_relevant, "measures": [*EXACT, *SAFE]}
    bounds = scorer.evaluate(grades, run, **options).unjudged_bounds(reach)  # type: ignore[call-overload]
    scores = [scorer.evaluate(each, run, **options) for each in possible(grades, run, reach)]  # type: ignore[call-overload]
    is_certain = all(max(query.values()) == 2 for query in grades.values())

    for name in (*EXACT, *SAFE):
        defined = [each[name] for each in scores if not math.isnan(each[name])]
        lowest, highest = bounds[name]
        if not defined:
            continue
        assert lowest <= min(defined) + 1e-12, name
        assert highest >= max(defined) - 1e-12, name
        if name in EXACT and is_certain:
            assert highest == pytest.approx(max(defined), abs=1e-12), name
            if reach == "list":
                assert lowest == pytest.approx(min(defined), abs=1e-12), name


def test_bounds_without_a_known_way_are_left_out() -> None:
    """No bounds of a measure whose way is unknown, with ties by grade, or where unjudged items are removed."""
    grades, run = {"q": {"a": 1, "b": 0}}, {"q": ["b", "c", "a"]}
    measures = ["AP", "Rprec", "Bpref", "RBPresidual", "AP(denominator=hits)"]

    bounds = scorer.evaluate(grades, run, measures).unjudged_bounds()
    assert list(bounds) == ["AP"]
    assert bounds["AP"] == pytest.approx((0, 7 / 12))
    assert scorer.evaluate(grades, run, "AP", ties="best").unjudged_bounds() == {}
    assert scorer.evaluate(grades, run, "AP", unjudged="drop").unjudged_bounds() == {}
    assert scorer.evaluate(grades, run, "AP").unjudged_bounds("list")["AP"][0] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="judged_bounds"):
        scorer.evaluate(grades, run, "AP").unjudged_bounds("all")  # type: ignore[arg-type]


def test_bounds_on_the_command_line(tmp_path: Path, terminal: Terminal) -> None:
    """Two more columns, a key of JSON, a message for a measure without bounds, and a refusal for trec."""
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    (tmp_path / "run").write_text("q Q0 b 1 3 x\nq Q0 c 2 2 x\nq Q0 a 3 1 x\n", encoding="utf-8")
    call = ("evaluate", str(tmp_path / "qrels"), str(tmp_path / "run"), "-m", "AP,Rprec", "--judged-bounds")

    printed = terminal.run(*call, "list", "--format", "csv")
    assert printed.out.splitlines()[0] == "submission,AP,AP if unjudged worst,AP if unjudged best,Rprec"
    assert "Rprec: no bounds for unjudged items are known" in printed.err
    (entry,) = json.loads(terminal.run(*call, "any", "--format", "json").out)["submissions"]
    assert entry["judged_bounds"] == {"AP": [0.0, pytest.approx(7 / 12)]}
    refused = terminal.run(*call, "any", "--format", "trec")
    assert (refused.code, "--judged-bounds" in refused.err) == (2, True)


@pytest.mark.holds(
    r"Items that are not judged are then removed from the list, and the judged items after them move up\."
)
@pytest.mark.parametrize(
    ("settings", "score"), [("", 0.0), ('unjudged = "nonrelevant"', 0.0), ('unjudged = "drop"', 1.0)]
)
def test_a_challenge_drops_unjudged_items(tmp_path: Path, settings: str, score: float) -> None:
    """The relevant item is at rank 2, after an unjudged one. The default is recorded as before the key existed."""
    live = Live.of(tmp_path, ONE, settings=settings)
    live.run(START)
    live.put("a/1", "".join(f"q{number}:b,a\n" for number in range(QUERIES)), START)
    live.run(START)

    assert [row[2] for row in ranking(live.board())] == [score]
    assert ("unjudged" in live.events("basis")[-1].values["settings"]) == bool(score)


@pytest.mark.parametrize(("found", "warns"), [(1, True), (4, False)])
def test_a_board_warns_where_teams_differ_in_judged_items(tmp_path: Path, found: int, warns: bool) -> None:
    """The first items of one team are judged for 8 of 10 queries, those of the other one for 2 or for 8."""
    live = Live.of(tmp_path, settings='measures = ["Judged@1"]', flagged=0)
    for team, number in (("one", 4), ("two", found)):
        live.put(f"{team}/1", lists(number, number, team), ANNOUNCED)
    live.run(ANNOUNCED)
    live.render(ANNOUNCED)

    page = (tmp_path / "site" / "main" / "index.html").read_text(encoding="utf-8")

    assert ("Judged@1 is from 0.20 to 0.80: teams with fewer judged items may have" in page) == warns
    assert ("teams with fewer judged items" in page) == warns


def test_dropping_needs_ranks(tmp_path: Path) -> None:
    """Where tied items have no order, it is not known which of them a list has."""
    with pytest.raises(
        scorer.ChallengeError, match='unjudged: found "drop", which removes items that ties = "expected" leaves without'
    ):
        _ = Live.of(tmp_path, settings='ties = "expected"\nunjudged = "drop"').challenge


REAL = ("AP", "P@10", "nDCG@10", "nDCG", "RR", "R@100", "ERR(highest=solution)@20")
"""Measures of the runs of Robust."""


@pytest.fixture(scope="module")
def robust() -> tuple[Grades, dict[str, Ranked]]:
    """NIST's judgements, and the lists of five teams: query -> item -> run score."""
    truth: Grades = {}
    for line in (ROBUST / "qrels" / "robust03_qrels.txt").read_text(encoding="utf-8").splitlines():
        query, _, item, grade = line.split()
        truth.setdefault(query, {})[item] = int(grade)
    runs: dict[str, Ranked] = {}
    for path in sorted((ROBUST / "runs").glob("input.*.gz"))[::4]:
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            query, _, item, _, score, _ = line.split()
            runs.setdefault(path.name, {}).setdefault(query, {})[item] = float(score)
    return truth, runs


def hidden(truth: Grades, hides: Callable[[str, str], bool]) -> Grades:
    """The judgements without some; a query without any keeps one item that no list has."""
    known = {
        query: {item: grade for item, grade in of.items() if not hides(query, item)} for query, of in truth.items()
    }
    return {query: of or {"-": 0} for query, of in known.items()}


def only(runs: Mapping[str, Ranked], team: str, query: str, item: str) -> bool:
    """Whether the list of a team has an item that those of the others do not have."""
    return [name for name, run in runs.items() if item in run[query]] == [team]


@needs(ROBUST)
@pytest.mark.parametrize("share", [0.1, pytest.param(0.5, marks=pytest.mark.endurance)])
def test_true_scores_are_within_the_bounds_where_judgements_are_hidden_at_random(
    share: float, robust: tuple[Grades, dict[str, Ranked]]
) -> None:
    """Any item may be hidden, so the bounds are over all items."""
    truth, runs = robust
    chooser = random.Random(1)
    known = hidden(truth, lambda _query, _item: chooser.random() < share)

    for run in runs.values():
        true, bounds = scorer.evaluate(truth, run, REAL), scorer.evaluate(known, run, REAL).unjudged_bounds("any")
        assert list(bounds) == list(REAL)
        for name, (lowest, highest) in bounds.items():
            assert lowest - 1e-12 <= true[name] <= highest + 1e-12, name


@needs(ROBUST)
@pytest.mark.parametrize("at", [0, *(pytest.param(at, marks=pytest.mark.endurance) for at in range(1, 5))])
def test_true_scores_are_within_the_bounds_where_the_items_of_one_team_are_not_judged(
    at: int, robust: tuple[Grades, dict[str, Ranked]]
) -> None:
    """As if the team had not been pooled. All hidden items are in its list, so its own bounds are over its list."""
    truth, runs = robust
    team = [*runs][at]
    known = hidden(truth, partial(only, runs, team))
    for name, ranked in runs.items():
        true, result = scorer.evaluate(truth, ranked, REAL), scorer.evaluate(known, ranked, REAL)
        for measure, (lowest, highest) in result.unjudged_bounds("list" if name == team else "any").items():
            assert lowest - 1e-12 <= true[measure] <= highest + 1e-12, measure


ENDS = ("if unjudged worst", "if unjudged best")


def document(folder: Path) -> dict[str, Any]:
    """The board for programs."""
    found: dict[str, Any] = json.loads((folder / "site/main/leaderboard.json").read_text(encoding="utf-8"))
    del found["log"]
    return found


@needs(ROBUST)
def test_true_scores_are_within_the_bounds_of_a_board(tmp_path: Path, robust: tuple[Grades, dict[str, Ranked]]) -> None:
    """A tenth of the judgements is hidden. The bounds are those of `evaluate`, and nothing else changes."""
    truth, runs = robust
    chooser = random.Random(1)
    known = hidden(truth, lambda _query, _item: chooser.random() < 0.1)
    lines = [f"{query} 0 {item} {grade}\n" for query, of in known.items() for item, grade in of.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "submissions/main").mkdir(parents=True)
    for number, name in enumerate(runs, 10):
        copied = tmp_path / f"submissions/main/20110418T{number}0000Z-{name.split('.')[1]}.gz"
        copied.write_bytes((ROBUST / "runs" / name).read_bytes())
    settings = (
        'name = "Holes"\n[tracks.main]\ntitle = "Main"\nsolution = "qrels.txt"\nlist_length = 1000\ndecimals = 12\n'
        f'primary = "{REAL[0]}"\nmeasures = {json.dumps([*REAL[1:], "Judged@10"])}\n'
    )
    (tmp_path / "challenge.toml").write_text(settings, encoding="utf-8")
    assert here("run", tmp_path).code == 0
    before = document(tmp_path)
    (tmp_path / "challenge.toml").write_text(f'{settings}judged_bounds = "any"\n', encoding="utf-8")

    assert here("run", tmp_path).code == 0

    board = document(tmp_path)
    rows = {row["team"]: [row.pop(end) for end in ENDS] for row in board["rows"]}
    of_measures = {name: of["teams"] for name, of in board["statistics"]["measures"].items()}
    for name, run in runs.items():
        team = name.split(".")[1]
        true, bounds = scorer.evaluate(truth, run, REAL), scorer.evaluate(known, run, REAL).unjudged_bounds("any")
        found = {measure: of[team.lower()].pop("judged_bounds") for measure, of in of_measures.items()}
        assert found.pop("Judged@10") is None
        of_team = dict(zip(REAL, found.values(), strict=True))
        assert of_team == {measure: pytest.approx(ends, abs=1e-11) for measure, ends in bounds.items()}
        assert all(low - 1e-11 <= true[measure] <= high + 1e-11 for measure, (low, high) in of_team.items())
        assert rows[team] == of_team[REAL[0]]
    board["columns"] = [column for column in board["columns"] if column not in ENDS]
    (sentence,) = set(board["rules"]) - set(before["rules"])
    board["rules"].remove(sentence)
    assert board == before
    low, high = (f"{end:.3f}" for end in next(iter(rows.values())))
    for page in ("main/index.html", f"teams/{next(iter(rows)).lower()}.html"):
        assert f"{low} to {high}" in (tmp_path / "site" / page).read_text(encoding="utf-8")


@pytest.mark.holds(r"The board has the lowest and the highest score that unjudged items( of the list)? allow, where .*")
@pytest.mark.parametrize("reach", ["any", "list"])
def test_a_board_has_bounds_and_computes_those_of_a_new_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reach: JudgedBounds
) -> None:
    """Those of the other files are kept."""
    calls = []

    def computed(*given: Any) -> dict[str, tuple[float, float]]:
        calls.append(given)
        return mean_bounds(*given)

    monkeypatch.setattr(statistics, "mean_bounds", computed)
    write_challenge(tmp_path / "c", f'{SETTINGS}judged_bounds = "{reach}"\n')
    (last,) = (tmp_path / "c/submissions/main").glob("*even-tide.txt")
    aside = last.rename(tmp_path / last.name)
    assert here("run", tmp_path / "c").code == 0
    aside.rename(last)
    before = len(calls)

    assert here("run", tmp_path / "c").code == 0

    assert (before, len(calls)) == (5, 6)
    files = {path.stem.split("-", 1)[1]: path for path in last.parent.iterdir()}
    for row in document(tmp_path / "c")["rows"]:
        result = scorer.evaluate(tmp_path / "c/solutions/main.txt", files[row["team"]], "MARp@5,10")
        bounds = result.unjudged_bounds(reach)["MARp@5,10"]
        assert [row[end] for end in ENDS] == [round(end, 3) for end in bounds]


def test_preliminary_bounds_tell_nothing_about_other_queries(tmp_path: Path) -> None:
    """Two challenges that differ only in grades and items of hidden queries have the same board."""
    twins = []
    for name, other in (
        ("one", SOLUTION),
        ("two", SOLUTION.replace("f|2,g|1", "f|9,g|1,h|0.5").replace("0:a|1", "0:b|7")),
    ):
        live = Live.graded(tmp_path / name, rules='judged_bounds = "any"\nmeasures = ["P@2", "DCG@3"]\n')
        live.write_solution(other)
        live.run(BEFORE)
        for team, content in (("alder", POOR), ("birch", GOOD)):
            live.put(f"{team}.txt", content, day(11))
        live.run_and_render(day(12))
        board = document(live.folder)
        assert all(row[ENDS[0]] <= row["preliminary nDCG@3"] <= row[ENDS[1]] for row in board["rows"])
        twins.append((board, live.page("main/leaderboard.csv")))

    assert twins[0] == twins[1]
    assert any(row[ENDS[0]] < row[ENDS[1]] for row in twins[0][0]["rows"])


@pytest.mark.parametrize("setting", ['unjudged = "drop"', 'ties = "best"'])
def test_bounds_need_unjudged_items_with_ranks(tmp_path: Path, setting: str) -> None:
    """Otherwise none are known."""
    with pytest.raises(scorer.ChallengeError, match='judged_bounds: found "any", which has no bounds with unjudged'):
        _ = Live.of(tmp_path, settings=f'{setting}\njudged_bounds = "any"').challenge
