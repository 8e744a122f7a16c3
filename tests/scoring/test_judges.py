"""Two judges: scores by a machine's grades on all queries, corrected by those of people on some."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import scorer
from scorer.errors import MeasureError, SolutionError
from scorer.measures.matched import Floats
from scorer.scoring.statistics.judges import LEAST_CHECKED, TwoJudges
from scorer.scoring.statistics.resampling import sign_flips
from tests.commands import here
from tests.strategies import examples

QUERIES, CHECKED = 300, 30
LEAST = 0.94
"""The share of the samples in which an interval covers the truth; the standard error is 0.5 points."""

SAMPLES = 2_000


def one(machine: Sequence[float], people: Sequence[float], weight: float = 1.0) -> TwoJudges:
    """The scores of one row; people are NaN where they have not judged. No query is flagged."""
    one_row, other_row = (np.array([row], dtype=np.float64) for row in (machine, people))
    return TwoJudges(one_row, other_row, np.zeros(len(machine), dtype=bool), weight)


def drawn(teams: int, samples: int, seed: int, *, weight: float = 1.0, clusters: int = 0) -> TwoJudges:
    """Samples of boards of equal teams, [sample x team, query], whose machine favours the first one by 0.05.

    True scores have the mean 0.4. With clusters, the queries of each have a common part, and people judge whole ones.
    """
    chance, shape = np.random.default_rng(seed), (samples, teams, QUERIES)
    true = chance.beta(2, 3, shape)
    if clusters:
        true = (true + chance.beta(2, 3, (samples, teams, clusters))[:, :, np.arange(QUERIES) % clusters]) / 2
    machine = true + chance.normal(0, 0.15, shape)
    machine[:, 0] += 0.05
    people = np.full(shape, np.nan)
    for sample in range(samples):
        if clusters:
            chosen = chance.choice(clusters, CHECKED * clusters // QUERIES, replace=False)
            inside = np.isin(np.arange(QUERIES) % clusters, chosen)
        else:
            inside = np.isin(np.arange(QUERIES), chance.choice(QUERIES, CHECKED, replace=False))
        people[sample][:, inside] = true[sample][:, inside]
    nothing = np.zeros(QUERIES, dtype=bool)
    return TwoJudges(machine.reshape(-1, QUERIES), people.reshape(-1, QUERIES), nothing, weight)


def covers(intervals: Floats, truth: float) -> float:
    """In which share of the samples an interval has the truth in it."""
    return float(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).mean())


# Numbers


@given(
    st.lists(st.floats(0, 1), min_size=4, max_size=9),
    st.integers(2, 4),
    st.floats(0, 2),
    st.randoms(use_true_random=False),
)
@examples(50)
def test_scores_and_intervals_are_those_of_the_formula(
    machine: list[float], count: int, weight: float, chance: random.Random
) -> None:
    """The mean of the values is the score, and the variance that of the formula, written as loops."""
    checked = sorted(chance.sample(range(len(machine)), count))
    people = [chance.random() if at in checked else math.nan for at in range(len(machine))]
    judges = one(machine, people, weight)
    m, h = np.array([machine[at] for at in checked]), np.array([people[at] for at in checked])
    score = weight * sum(machine) / len(machine) + sum(h - weight * m) / count
    apart = h - weight * m
    covariance = sum((m - m.mean()) * (apart - apart.mean())) / (count - 1)
    variance = apart.var(ddof=1) / count + weight**2 * np.var(machine, ddof=1) / len(machine)
    variance = max(variance + 2 * weight * covariance / len(machine), 0)
    half = stats.t.ppf(0.975, count - 1) * math.sqrt(variance)

    assert judges.values.mean() == pytest.approx(score, abs=1e-12)
    repeated = LEAST_CHECKED // count + 1
    many = one(machine * repeated, people * repeated, weight)
    assert many.values.mean() == pytest.approx(score, abs=1e-12)
    assert np.isnan(judges.intervals()).all()
    judges_with_interval = _without_least(judges)
    assert judges_with_interval[0] == pytest.approx([score - half, score + half], abs=1e-9)


def _without_least(judges: TwoJudges) -> Floats:
    """The intervals, also with few checked queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scorer.scoring.statistics.judges.LEAST_CHECKED", 0)
        return judges.intervals()


def test_stages_are_corrected_one_by_one() -> None:
    """The score over all queries is the mean of those of both stages, by their numbers of queries."""
    chance = np.random.default_rng(1)
    machine, people = chance.random((2, 60)), chance.random((2, 60))
    people[:, chance.permutation(60)[:30]] = np.nan
    flagged = np.arange(60) < 20
    both = TwoJudges(machine, people, flagged, 0.8)

    for stage in (flagged, ~flagged):
        alone = TwoJudges(machine[:, stage], people[:, stage], np.zeros(stage.sum(), dtype=bool), 0.8)
        assert both.values[:, stage] == pytest.approx(alone.values, abs=1e-12)
        assert both.within(stage).values == pytest.approx(alone.values, abs=1e-12)
    lacking = np.where(flagged, np.nan, people)
    assert np.isnan(TwoJudges(machine, lacking, flagged, 0.8).values).all()


def test_the_score_of_a_difference_is_that_of_the_scores() -> None:
    """So that pairs of teams are decided by the same numbers as teams."""
    judges = drawn(2, 5, seed=4)
    pairs = judges.differences(np.arange(0, 10, 2), np.arange(1, 10, 2))

    assert pairs.values == pytest.approx(judges.values[::2] - judges.values[1::2], abs=1e-12)


def test_equal_judges_change_nothing() -> None:
    """If people agree with the machine, the score is its mean; if they judge all, it is theirs."""
    judges = drawn(1, 4, seed=5)
    same = TwoJudges(judges.machine, np.where(np.isnan(judges.people), np.nan, judges.machine), judges.flagged)
    assert same.values.mean(axis=1) == pytest.approx(judges.machine.mean(axis=1), abs=1e-12)
    people = np.random.default_rng(6).random(judges.machine.shape)
    every = TwoJudges(judges.machine, people, judges.flagged)
    assert every.values == pytest.approx(people, abs=1e-12)
    assert np.ptp(every.intervals(), axis=1) == pytest.approx(
        2 * stats.t.ppf(0.975, QUERIES - 1) * people.std(axis=1, ddof=1) / math.sqrt(QUERIES), rel=1e-9
    )


def test_a_machine_without_weight_decides_nothing() -> None:
    """Score and interval are those of the checked queries."""
    judges = drawn(1, 3, seed=7, weight=0.0)
    for row, interval in zip(judges.people, judges.intervals(), strict=True):
        checked = row[~np.isnan(row)]
        half = stats.t.ppf(0.975, CHECKED - 1) * checked.std(ddof=1) / math.sqrt(CHECKED)
        assert interval == pytest.approx([checked.mean() - half, checked.mean() + half])


# How often the statements are true


@pytest.mark.parametrize("weight", [1.0, 0.6])
def test_intervals_cover_the_truth(weight: float) -> None:
    """30 of 300 queries are checked; the machine's own means do not have the truth in their intervals."""
    judges = drawn(2, SAMPLES, seed=1, weight=weight)
    of_first, of_second = (judges.rows(np.arange(first, 2 * SAMPLES, 2)) for first in (0, 1))

    assert covers(of_first.intervals(), 0.4) >= LEAST
    assert covers(of_second.intervals(), 0.4) >= LEAST
    apart = judges.differences(np.arange(0, 2 * SAMPLES, 2), np.arange(1, 2 * SAMPLES, 2))
    assert covers(apart.intervals(), 0) >= LEAST
    found = judges.corrections()[::2]
    assert covers(np.array([each.interval for each in found]), 0.05) >= LEAST


def test_intervals_with_clusters_cover_the_truth() -> None:
    """People judge 12 of 120 clusters; without them, the intervals are too narrow."""
    judges, units = drawn(1, SAMPLES, seed=2, clusters=120), np.arange(QUERIES) % 120

    assert covers(judges.intervals(units), 0.4) >= LEAST
    assert covers(judges.intervals(), 0.4) < covers(judges.intervals(units), 0.4)


def test_a_judge_that_favours_a_team_decides_nothing() -> None:
    """Five equal teams: by the machine, the favoured one is better than another one on most boards."""
    boards, teams = 400, 5
    judges = drawn(teams, boards, seed=3)

    def declared(scores: Floats) -> float:
        of_boards = (scores[board * teams : (board + 1) * teams] for board in range(boards))
        return sum(bool(sign_flips(each, 1_000).better().any()) for each in of_boards) / boards

    assert declared(judges.machine) > 0.6
    assert declared(judges.values) <= 0.06


# By files and objects


def challenge(seed: int = 1, queries: int = 60) -> tuple[dict[str, dict[str, int]], ...]:
    """A solution, and one by people for the first 25 queries, who also found another item."""
    chance = random.Random(seed)
    items = [f"d{number}" for number in range(20)]
    solution = {
        f"q{number}": {item: chance.randrange(3) for item in chance.sample(items, 8)} for number in range(queries)
    }
    for graded in solution.values():
        graded[next(iter(graded))] = 2
    people = {
        query: {item: max(0, grade - chance.randrange(2)) for item, grade in graded.items()}
        for query, graded in [*solution.items()][:25]
    }
    for graded in people.values():
        graded["d19"] = 1
    return solution, people


def lists(seed: int, queries: int = 60) -> dict[str, list[str]]:
    """A submission."""
    chance = random.Random(seed)
    items = [f"d{number}" for number in range(20)]
    return {f"q{number}": chance.sample(items, 12) for number in range(queries)}


MEASURES = ["nDCG@10", "AP", "MARp@3,5", "RR"]


@pytest.mark.parametrize("options", [{}, {"ties": "expected"}, {"unjudged": "drop"}, {"machine_weight": 0.5}], ids=str)
def test_evaluate_has_the_corrected_scores(tmp_path: Path, options: dict[str, Any]) -> None:
    """Of dicts and of files: those of three calls without `checked`, combined."""
    solution, people = challenge()
    weight = float(str(options.get("machine_weight", 1)))
    plain = {name: value for name, value in options.items() if name != "machine_weight"}
    part = {query: solution[query] for query in people}
    names = {"solution": solution, "people": people}
    for name, graded in names.items():
        lines = (f"{query} 0 {item} {grade}\n" for query, items in graded.items() for item, grade in items.items())
        (tmp_path / name).write_text("".join(lines))
    run = lists(2)
    ranked = (
        f"{query} Q0 {item} {rank} {90 - rank // 2} x\n"
        for query, items in run.items()
        for rank, item in enumerate(items, 1)
    )
    rows = list(ranked)
    random.Random(3).shuffle(rows)
    (tmp_path / "run").write_text("".join(rows))
    (tmp_path / "in-order").write_text("".join(sorted(rows)))

    for source in ("run", "in-order"):
        path = tmp_path / source
        machine, of_part, of_people = (
            scorer.evaluate(graded, path, MEASURES, **plain) for graded in (solution, part, people)
        )
        found = scorer.evaluate(tmp_path / "solution", path, MEASURES, checked=tmp_path / "people", **options)
        expected = {name: weight * machine[name] + of_people[name] - weight * of_part[name] for name in MEASURES}
        assert dict(found) == pytest.approx(expected, abs=1e-12)
        corrections = found.corrections()
        assert corrections is not None
        for name, each in corrections.items():
            assert each.machine == pytest.approx(machine[name], abs=1e-12)
            assert each.bias == pytest.approx(of_part[name] - of_people[name], abs=1e-12)
            assert each.checked == 25
        assert found.by_query() == machine.by_query()
    in_memory = scorer.evaluate(solution, run, MEASURES, checked=people, machine_weight=weight)
    assert in_memory.policies["machine_weight"] == f"{weight:g}"


def test_repeated_items_count_once_for_both_judges() -> None:
    """At their first rank."""
    solution, people = challenge(4)
    run = {query: [*items[:6], items[0], *items[6:]] for query, items in lists(5).items()}
    once = scorer.evaluate(solution, run, MEASURES, checked=people)
    part = {query: solution[query] for query in people}
    expected = [scorer.evaluate(graded, run, MEASURES) for graded in (solution, people, part)]

    assert dict(once) == pytest.approx(
        {name: expected[0][name] + expected[1][name] - expected[2][name] for name in MEASURES}, abs=1e-12
    )


def test_means_of_slices_are_corrected() -> None:
    """By the checked queries of the slice; NaN without one."""
    solution, people = challenge()
    run, few = lists(6), [f"q{number}" for number in range(30)]
    found = scorer.evaluate(solution, run, "AP", checked=people).by_slice({"few": few, "none": ["q58", "q59"]})
    alone = scorer.evaluate({query: solution[query] for query in few}, run, "AP", checked=people)

    assert found["few"]["AP"] == pytest.approx(alone["AP"], abs=1e-12)
    assert math.isnan(found["none"]["AP"])


def test_compare_decides_by_both_judges() -> None:
    """Intervals are by both, wins and decisive queries by the solution; there is no effect size, and one rule."""
    solution, people = challenge()
    runs = {name: lists(seed) for name, seed in (("a", 7), ("b", 8), ("c", 9))}
    found = scorer.compare(solution, runs, "nDCG@10", checked=people, machine_weight=0.7)
    alone = scorer.compare(solution, runs, "nDCG@10")
    by_each = scorer.evaluate(solution, runs, "nDCG@10", checked=people, machine_weight=0.7)

    assert found.means == pytest.approx({name: by_each[name]["nDCG@10"] for name in found.names}, abs=1e-12)
    for pair in found.pairs:
        own = alone.pair(pair.first, pair.second)
        both = {(pair.wins, pair.losses), (pair.losses, pair.wins)}
        assert (own.wins, own.losses) in both
        assert pair.effect_size is None
        assert {case.case for case in pair.decisive} == {case.case for case in own.decisive}
        assert pair.interval is not None
        assert pair.interval[0] < pair.difference < pair.interval[1]
        assert pair.difference == pytest.approx(found.means[pair.first] - found.means[pair.second], abs=1e-12)
    document: dict[str, Any] = found.to_dict()
    assert list(document["rules"]) == ["mean"]
    assert list(document["pairwise"]) == ["randomisation"]
    assert all(of["percentile"] is None and of["interval"] for of in document["intervals"].values())
    text = scorer.report(solution, runs, "nDCG@10", checked=people, form="markdown")
    assert "Student's t, from how the scores by both judges vary" in text
    assert "Ranking rules" not in text
    assert "Wilcoxon" not in text
    assert scorer.report(solution, runs, "nDCG@10", checked=people).startswith("<!")


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a sum": (
        {"measures": "NumRelRet"},
        MeasureError,
        "NumRelRet is no mean over the queries, and checked corrects means",
    ),
    "skipped": ({"missing": "skip"}, ValueError, 'missing="skip" leaves out other queries'),
    "bounds": ({"tie_bounds": True}, ValueError, "tie_bounds are not bounds"),
    "a weight": ({"machine_weight": -1}, ValueError, "machine_weight is a number from 0 to 10; found -1"),
    "no number": ({"machine_weight": math.nan}, ValueError, "machine_weight is a number from 0 to 10; found nan"),
    "no float": ({"machine_weight": 10**400}, ValueError, "machine_weight is a number from 0 to 10; found 1000"),
    "no queries": ({"checked": {}}, SolutionError, "the checked queries: the file has no rows"),
    "other queries": (
        {"checked": {"q0": {"d1": 1}, "z": {"d1": 1}}},
        SolutionError,
        '1 query is not in the solution, such as "z"',
    ),
    "one judge": ({"checked": None, "machine_weight": 0.5}, ValueError, "expected checked, too"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_corrected_is_refused(case: str) -> None:
    """With what was found and what was expected."""
    solution, people = challenge()
    options, kind, message = WRONG[case]
    given: dict[str, Any] = {"measures": "AP", "checked": people} | options
    with pytest.raises(kind, match=message.replace("(", "\\(")):
        scorer.evaluate(solution, lists(1), given.pop("measures"), **given)


def test_each_stage_needs_a_checked_query() -> None:
    """Also for the means of the other stage, so that a file has the same errors with every split."""
    rows = [(f"q{number}", "d1", 1, number < 5) for number in range(10)]
    solution = scorer.Solution.read(
        {"query": [row[0] for row in rows], "item": ["d1"] * 10, "grade": [1] * 10, "flag": [row[3] for row in rows]}
    )
    with pytest.raises(SolutionError, match="has none of the preliminary queries"):
        scorer.evaluate(solution, {"q0": ["d1"]}, "AP", checked={"q7": {"d1": 1}})
    with pytest.raises(SolutionError, match="has none of the other queries"):
        scorer.evaluate(solution, {"q0": ["d1"]}, "AP", checked={"q1": {"d1": 1}})
    found = scorer.evaluate(
        solution, {"q0": ["d1"]}, "AP", split="preliminary", checked={"q1": {"d1": 1}, "q7": {"d1": 1}}
    )
    assert found["AP"] == pytest.approx(0.2)


def test_the_commands_correct_and_say_so(tmp_path: Path) -> None:
    """`evaluate` prints the machine's mean and its bias, and `compare` decides by both; errors name the file."""
    solution, people = challenge()
    for name, graded in (("all.json", solution), ("people.json", people)):
        (tmp_path / name).write_text(json.dumps(graded))
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps(lists(ord(name))))
    runs: list[str | Path] = [tmp_path / "a.json", tmp_path / "b.json"]
    both: list[str | Path] = ["--checked", tmp_path / "people.json", "--machine-weight", "0.5"]
    found = scorer.evaluate(solution, lists(ord("a")), "AP", checked=people, machine_weight=0.5)

    table = here("evaluate", tmp_path / "all.json", *runs, "-m", "AP", *both, "--significance", "0.05")
    assert table.code == 0
    assert table.out.splitlines()[0].split() == [
        "submission",
        *["AP", "AP", "machine", "AP", "bias", "AP", "bias", "low", "AP", "bias", "high"],
    ]
    assert f"{found['AP']:.4f}" in table.out
    document = json.loads(here("evaluate", tmp_path / "all.json", runs[0], "-m", "AP", *both, "--format", "json").out)
    assert document["submissions"][0]["corrections"]["AP"]["checked"] == 25
    assert document["policies"]["machine_weight"] == "0.5"
    compared = here("compare", "--solution", tmp_path / "all.json", *runs, "-m", "AP", *both, "--format", "json")
    assert compared.code in (0, 3)
    assert "randomisation" in compared.out
    refused = here("evaluate", tmp_path / "all.json", runs[0], *both, "--tie-bounds")
    assert refused.code == 2
    assert "bounds of scores by one solution do not hold" in refused.err
    of_pairs: list[str | Path] = ["compare", "--solution", tmp_path / "all.json", *runs, "-m", "AP", *both]
    assert "(Student's t, as both judges vary)" in here(*of_pairs).out
    clustered = here("evaluate", tmp_path / "all.json", runs[0], "-m", "AP", *both, "--clusters", "q{cluster}*").out
    assert clustered.split()[-1] not in table.out
    twice = here("evaluate", "-", runs[0], "--checked", "-")
    assert twice.code == 2
    assert "standard input (-) can be read only once" in twice.err
    swapped = here("evaluate", tmp_path / "people.json", runs[0], "--checked", tmp_path / "all.json")
    assert swapped.code == 1
    assert "all.json: 35 queries are not in the solution" in swapped.err
