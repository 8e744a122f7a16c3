"""Ties among run scores: each rule compared with all orders of the tied items, and invariances."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.errors import Findings, MeasureError, SubmissionError
from scorer.lists.match import match
from scorer.lists.reading import memory
from scorer.lists.solution import Solution
from scorer.measures import Measure, parse_one
from scorer.measures.matched import Floats, Ints, JudgedItems, Matched, Tied
from scorer.options import Ties
from scorer.scoring.outcomes import Rules, Scored, pack_hits, unpack_hits
from scorer.scoring.submission import score
from tests import strategies
from tests.commands import Terminal
from tests.measures.test_measures import ALL_VARIANTS
from tests.strategies import ITEMS, JUNK

Grades = Mapping[str, float]
Run = Sequence[tuple[str, float]]
"""Items with their run scores; an item may be repeated."""


def has_closed_form(measure: Measure, *, cut: bool = False) -> bool:
    """Whether the measure has a formula for its mean over all orders, with `cut` also for lists cut within a tie."""
    try:
        measure.need_closed_form(cut=cut)
    except MeasureError:
        return False
    return True


CLOSED = [measure for measure in ALL_VARIANTS if has_closed_form(measure)]
WITHOUT = (
    *("IPrec", "11pt_avg", "Accuracy", "ERR", "nERR", "RBO", "Compat", "INST", "NERR8", "NERR9", "NERR10", "NERR11"),
    *("BPM", "Bpref", "infAP", "GMBpref", "nDCGrel", "Rndcg", "G", "binG", "Q", "P-plus"),
    *("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "NRBP", "nNRBP", "AP-IA", "StRecall"),
)
BY_OTHER_GAINS = [measure for measure in ALL_VARIANTS if any(isinstance(value, tuple) for value in measure.parameters)]

runs = st.lists(st.tuples(st.sampled_from(ITEMS[:7] + JUNK[:2]), st.sampled_from([1.0, 2.0, 3.0])), max_size=6)
graded = st.dictionaries(st.sampled_from(ITEMS[:7]), st.sampled_from(strategies.GRADES), min_size=1)
lists_with_ties = strategies.examples(8)


def frame(run: Run) -> pd.DataFrame:
    """One query's list as a submission."""
    return pd.DataFrame({"query": "q", "item": [item for item, _ in run], "score": [float(s) for _, s in run]})


def matched_run(grades: Grades, run: Run, ties: Ties, *, length: int | None = None, bounds: bool = False) -> Matched:
    """The run, matched under a rule for ties; a run without items is a query without a list."""
    solution = Solution.of([memory.graded_of({"q": dict(grades)}, Findings())], Findings())
    batches = [[memory.ranked_of(frame(run), Findings())]] if run else []
    matched, _ = match(
        solution, batches, problems=Findings(), notes=Findings(), ties=ties, list_length=length, tie_bounds=bounds
    )
    return matched


def orders(run: Run) -> Iterator[list[str]]:
    """All lists that agree with the run scores."""
    by_score = sorted(run, key=lambda each: -each[1])
    groups = [[item for item, _ in group] for _, group in groupby(by_score, key=lambda each: each[1])]
    for chosen in product(*map(permutations, groups)):
        yield [item for group in chosen for item in group]


def without_repetitions(grades: Grades, run: Run) -> list[tuple[str, float]]:
    """The run with repeated items replaced by unjudged ones: an item counts only at its highest score.

    Further rows of a relevant item with the same score follow the tie.
    """
    first: dict[str, float] = {}
    rows: list[tuple[str, float]] = []
    for item, run_score in sorted(run, key=lambda each: -each[1]):
        again = item in first
        follows = again and grades.get(item, 0) > 0 and first[item] == run_score
        rows.append((f"again {len(rows)}" if again else item, run_score - 0.5 * follows))
        first.setdefault(item, run_score)
    return rows


def in_all_orders(grades: Grades, run: Run, length: int | None = None) -> Matched:
    """A match with a query for each order."""
    every = list(orders(without_repetitions(grades, run)))
    return strategies.matched(
        {str(number): grades for number in range(len(every))},
        {str(number): ranking[:length] for number, ranking in enumerate(every)},
    )


def in_all_orders_of_rows(grades: Grades, run: Run) -> Matched:
    """A match with a query for each order, in which an item counts at the first of its rows."""
    every = list(orders(run))
    solution = {str(number): grades for number in range(len(every))}
    return strategies.matched(solution, {str(number): ranking for number, ranking in enumerate(every)})


def differing(expected: Callable[[Measure], float], tied: Matched, measures: Sequence[Measure]) -> list[str]:
    """The measures that give another number than expected."""
    return [
        f"{measure}: {measure(tied).item()} is not {expected(measure)}"
        for measure in measures
        if not np.isclose(measure(tied).item(), expected(measure), rtol=1e-12, atol=1e-12, equal_nan=True)
    ]


# --- The mean over all orders -----------------------------------------------------------------------------------------


@lists_with_ties
@given(grades=graded, run=runs)
def test_expected_is_the_mean_over_all_orders(grades: Grades, run: Run) -> None:
    """For every measure that has a closed form, with repeated items, and groups of any size."""
    every = in_all_orders(grades, run)

    assert not differing(lambda measure: float(measure(every).mean()), matched_run(grades, run, "expected"), CLOSED)


@lists_with_ties
@given(grades=graded, run=runs, length=st.integers(1, 4))
def test_a_list_may_be_cut_within_a_tie(grades: Grades, run: Run, length: int) -> None:
    """The items that are cut off depend on the order. A measure whose mean needs them is an error."""
    every, tied = in_all_orders(grades, run, length), matched_run(grades, run, "expected", length=length)
    measures = [measure for measure in CLOSED if has_closed_form(measure, cut=True)]

    assert not differing(lambda measure: float(measure(every).mean()), tied, measures)


def test_a_measure_of_the_set_needs_the_set() -> None:
    """Two tied items where one rank is left: the square of the number of relevant items depends on the order."""
    for name in ("SetAP", "nDCG(ideal=retrieved)"):
        tied = matched_run({"a": 1.0, "b": 0.0}, [("a", 1.0), ("b", 1.0)], "expected", length=1)
        with pytest.raises(MeasureError, match="a list is cut between them") as caught:
            parse_one(name)(tied)
        assert str(caught.value).startswith(f"{name}: ")
    with pytest.raises(ValueError, match="a list is cut within a tie group"):
        tied.condensed()


SAMPLED = 2_000


def test_expected_is_the_mean_of_a_sample() -> None:
    """Of 60 items in groups of 1 to 23, 25 of them graded, 2,000 orders: within five standard errors."""
    random = np.random.default_rng(11)
    run_scores = np.sort(random.choice([1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0], 60))[::-1]
    grades = np.where(np.arange(60) % 5 < 2, random.choice([0.0, 1.0, 1.0, 2.0, 3.0, 7.5], 60), np.nan)
    run = [(f"i{number}", float(each)) for number, each in enumerate(run_scores)]
    solution = {f"i{number}": float(grade) for number, grade in enumerate(grades) if not np.isnan(grade)}
    shuffled = np.lexsort((random.random((SAMPLED, 60)), np.tile(-run_scores, (SAMPLED, 1))))
    sample = _sampled(strategies.matched({"q": solution}, {}).ideal, grades[shuffled])
    tied = matched_run(solution, run, "expected")

    for measure in CLOSED:
        values = measure(sample)
        off = abs(float(values.mean()) - measure(tied).item())
        assert off <= 5 * float(values.std()) / SAMPLED**0.5 + 1e-12, str(measure)


def _sampled(ideal: JudgedItems, grades: Floats) -> Matched:
    """A match with a query for each row of grades by rank, NaN where the item is unjudged."""
    queries = len(grades)
    query, at = np.nonzero(~np.isnan(grades))
    found = grades[query, at]
    tie_rank = np.where(found > 0, 1 + (ideal.grade > found[:, np.newaxis]).sum(axis=1), 0)

    def each(values: Ints) -> Ints:
        return np.tile(values, queries)

    every = JudgedItems(
        np.repeat(np.arange(queries), len(ideal)), each(ideal.rank), np.tile(ideal.grade, queries), each(ideal.tie_rank)
    )
    return Matched(JudgedItems(query, at + 1, found, tie_rank), every, np.full(queries, grades.shape[1]))


@lists_with_ties
@given(grades=graded, run=runs)
def test_without_ties_every_rule_is_the_same_to_the_last_bit(grades: Grades, run: Run) -> None:
    """A rule for ties does not change lists without ties."""
    distinct = [(item, float(-rank)) for rank, (item, _) in enumerate(run)]
    settled = matched_run(grades, distinct, "trec")

    for rule in ("expected", "best", "worst"):
        other = matched_run(grades, distinct, rule)
        for measure in CLOSED:
            assert measure(other).tobytes() == measure(settled).tobytes(), f"{measure} {rule}"


@pytest.mark.holds(
    r"Items with equal run scores are not ordered: a score is the mean over all orders\.",
    r"Items with equal run scores are ordered with the highest grade first\.",
    r"Items with equal run scores are ordered with the highest grade last\.",
)
def test_two_tied_items_of_which_one_is_relevant() -> None:
    """The usual example: ordered by id, RR is 1 or 0.5, and 0.75 in the mean; nDCG is 1 or 0.6309, and 0.8155."""
    for relevant in "ab":
        values = {
            rule: dict(scorer.evaluate({"q": {relevant: 1}}, {"q": {"a": 1, "b": 1}}, ["RR", "nDCG"], ties=rule))
            for rule in ("expected", "best", "worst")
        }
        assert values["expected"] == {"RR": 0.75, "nDCG": pytest.approx(0.8155, abs=5e-5)}
        assert values["best"] == {"RR": 1.0, "nDCG": 1.0}
        assert values["worst"] == {"RR": 0.5, "nDCG": pytest.approx(0.6309, abs=5e-5)}


# --- Measures without a closed form -----------------------------------------------------------------------------------


def test_the_measures_without_a_closed_form() -> None:
    """All other measures have one."""
    without = [measure for measure in ALL_VARIANTS if not has_closed_form(measure)]

    assert {measure.kind.name for measure in without} == {*WITHOUT, "AP"}
    assert all("hits" in measure.parameters for measure in without if measure.kind.name == "AP")


@pytest.mark.parametrize("name", ["IPrec@0.1", "ERR(highest=4)@5", "Bpref", "infAP", "RBO", "AP(denominator=hits)@3"])
def test_a_measure_without_a_closed_form_is_an_error(name: str) -> None:
    """Before a file is read. Other rules for ties are allowed."""
    wanted = f"{name}: no formula is known for its mean over the orders of tied items; choose another rule for ties"
    with pytest.raises(MeasureError) as caught:
        scorer.evaluate({"q": {"a": 1}}, "no such file", name, ties="expected")
    assert str(caught.value) == wanted
    with pytest.raises(MeasureError, match="no formula is known"):
        parse_one(name)(matched_run({"a": 1.0}, [("a", 1.0), ("b", 1.0)], "expected"))
    assert scorer.evaluate({"q": {"a": 1}}, {"q": {"a": 1, "b": 1}}, name, ties="best")[name] > 0


# --- The worst and the best order -------------------------------------------------------------------------------------


NOT_BY_GRADE = ("infAP", "Judged", "Unjudged", "RBPresidual")
"""Measures for which other things than the grades of the first items matter."""


def is_monotonic(measure: Measure) -> bool:
    """Whether moving an item of a higher grade up never lowers the score."""
    of_what_is_found = "hits" in measure.parameters or (measure.kind.name == "Accuracy" and measure.cutoff is not None)
    return not (measure in BY_OTHER_GAINS or measure.kind.name in NOT_BY_GRADE or of_what_is_found)


def has_one_worst_order(grades: Grades, run: Run) -> bool:
    """Whether the order with the highest grade last has the lowest score by every measure.

    It may not, if an item with several rows ties with another relevant one: they could all be before a higher grade.
    """
    for run_score in {run_score for _, run_score in run}:
        rows = [item for item, score in run if score == run_score and grades.get(item, 0) > 0]
        if len(set(rows)) > 1 and len(rows) > len(set(rows)):
            return False
    return True


@lists_with_ties
@given(grades=graded, run=runs)
def test_no_order_is_better_than_best_or_worse_than_worst(grades: Grades, run: Run) -> None:
    """Under every monotonic measure, best and worst are the highest and the lowest score of any order of the rows."""
    every = in_all_orders_of_rows(grades, run)
    worst, best = matched_run(grades, run, "worst"), matched_run(grades, run, "best")

    for measure in ALL_VARIANTS:
        if not is_monotonic(measure):
            continue
        values = measure(every)
        if not np.isnan(values).any():
            assert measure(best).item() == pytest.approx(values.max(), rel=1e-12, abs=1e-12), str(measure)
            if has_one_worst_order(grades, run):
                assert measure(worst).item() == pytest.approx(values.min(), rel=1e-12, abs=1e-12), str(measure)


@pytest.mark.parametrize(
    ("rows", "expected", "worst"),
    [
        ("aa", 1.0, 1.0),
        ("aax", (1 + 1 / 2) / 2, 1 / 2),
        ("xaa", (1 + 1 / 2) / 2, 1 / 2),
        ("axx", (1 + 1 / 2 + 1 / 3) / 3, 1 / 3),
        ("bbaa", (1 + 1 / 2) / 2, 1 / 3),
    ],
)
def test_an_item_that_ties_with_itself(rows: str, expected: float, worst: float) -> None:
    """It counts at the first of its rows under every rule; by --tie-bounds the others are before it, or after it."""
    grades, run = {"a": 2.0, "b": 1.0}, [(item, 1.0) for item in rows]
    scores = {rule: parse_one("RR(rel=2)")(matched_run(grades, run, rule)).item() for rule in ("expected", "best")}
    extremes = matched_run(grades, run, "trec", bounds=True).extremes
    assert extremes is not None

    assert scores == {"expected": pytest.approx(expected), "best": 1.0}
    assert [parse_one("RR(rel=2)")(each).item() for each in extremes] == pytest.approx([worst, 1.0])
    assert parse_one("RR(rel=2)")(matched_run(grades, run, "worst")).item() == pytest.approx(worst)


@lists_with_ties
@given(grades=graded, run=runs, rule=st.sampled_from(["trec", "order", "expected", "best"]))
def test_bounds_are_those_of_the_rules(grades: Grades, run: Run, rule: Ties) -> None:
    """The bounds of --tie-bounds are the scores under the rules worst and best, and do not change the score."""
    matched = matched_run(grades, run, rule, bounds=True)
    score_only, worst, best = (
        matched_run(grades, run, rule),
        matched_run(grades, run, "worst"),
        matched_run(grades, run, "best"),
    )
    for measure in CLOSED:
        assert measure(matched).tobytes() == measure(score_only).tobytes()
        assert [measure(each).item() for each in matched.extremes or (matched, matched)] == pytest.approx(
            [measure(worst).item(), measure(best).item()], rel=0, abs=0, nan_ok=True
        )


@lists_with_ties
@given(grades=graded, run=runs, length=st.integers(1, 4), rule=st.sampled_from(["best", "worst"]))
def test_bounds_of_a_list_that_is_cut(grades: Grades, run: Run, length: int, rule: Ties) -> None:
    """The list is sorted before it is cut."""
    whole, cut = matched_run(grades, run, rule), matched_run(grades, run, rule, length=length)

    assert cut.found.rank.tolist() == whole.found.rank[whole.found.rank <= length].tolist()
    assert cut.retrieved.tolist() == [min(len(run), length)]


# --- Invariances ------------------------------------------------------------------------------------------------------


@strategies.examples(10)
@given(
    grades=graded, run=runs, names=st.permutations([*ITEMS[:7], *JUNK[:2]]), random=st.randoms(use_true_random=False)
)
def test_ids_of_items_do_not_change_scores(grades: Grades, run: Run, names: list[str], random: Random) -> None:
    """Under expected, best and worst, other ids and lines give the same bits."""
    renamed = dict(zip([*ITEMS[:7], *JUNK[:2]], names, strict=True))
    again = [(renamed[item], run_score) for item, run_score in run]
    random.shuffle(again)

    for rule in ("expected", "best", "worst"):
        before = matched_run(grades, run, rule)
        after = matched_run({renamed[item]: grade for item, grade in grades.items()}, again, rule)
        for measure in CLOSED if rule == "expected" else ALL_VARIANTS:
            assert measure(after).tobytes() == measure(before).tobytes(), f"{measure} {rule}"


def test_a_file_in_any_order_has_one_score(tmp_path: Path) -> None:
    """The lines of a TREC run shuffled, in blocks and in memory: the same score under every rule but order."""
    random = Random(5)
    solution = {f"q{q}": {f"d{d}": float(random.randint(0, 3)) for d in range(12)} for q in range(30)}
    lines = [f"q{q} Q0 d{d} 1 {random.randint(0, 3)} x" for q in range(30) for d in range(20)]
    path, names = tmp_path / "run.txt", ["AP", "nDCG@5", "RR", "MARp@5,10"]
    got: dict[str, set[tuple[float, ...]]] = {}
    for _ in range(3):
        random.shuffle(lines)
        path.write_text("\n".join(lines) + "\n")
        for rule in ("trec", "expected", "best", "worst"):
            got.setdefault(rule, set()).add(tuple(scorer.evaluate(solution, path, names, ties=rule).values()))

    assert {rule: len(found) for rule, found in got.items()} == dict.fromkeys(got, 1)
    worst, expected, best = (next(iter(got[rule])) for rule in ("worst", "expected", "best"))
    assert all(low < middle < high for low, middle, high in zip(worst, expected, best, strict=True))


# --- Storage, unjudged items, settings --------------------------------------------------------------------------------


@lists_with_ties
@given(grades=graded, run=runs)
def test_ties_are_stored_with_the_judged_items(grades: Grades, run: Run) -> None:
    """Packed and unpacked, the mean over the orders is the same to the last bit."""
    matched = matched_run(grades, run, "expected")
    again = unpack_hits(pack_hits(matched), matched.ideal)

    for measure in CLOSED:
        assert measure(again).tobytes() == measure(matched).tobytes()


@lists_with_ties
@given(grades=graded, run=runs)
def test_unjudged_items_can_be_dropped_before_ties_are_averaged(grades: Grades, run: Run) -> None:
    """The mean over the orders of the closed-up list is that over the closed-up orders of the list."""
    every = in_all_orders(grades, run).condensed()
    assert every.found.tied is None

    assert not differing(
        lambda measure: float(measure(every).mean()), matched_run(grades, run, "expected").condensed(), CLOSED
    )


def test_lists_without_run_scores_do_not_tie() -> None:
    """Nor do ranks."""
    for submission in ({"q": ["b", "a"]}, pd.DataFrame({"query": "q", "item": ["b", "a"], "rank": [1, 2]})):
        for rule in ("trec", "order", "expected", "best", "worst"):
            assert scorer.evaluate({"q": {"a": 1}}, submission, "RR", ties=rule)["RR"] == 0.5


def test_rules_of_a_track_may_have_any_rule_for_ties(tmp_path: Path) -> None:
    """Also for a list that is cut within a tie."""
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 1 x\nq Q0 b 2 1 x\nq Q0 c 3 1 x\n")
    solution = Solution.of([memory.graded_of({"q": {"a": 1.0}}, Findings())], Findings())
    means = {}
    for rule in ("trec", "order", "expected", "best", "worst"):
        outcome = score(solution, path, Rules(scorer.parse("R@3"), list_length=2, ties=rule))
        assert isinstance(outcome, Scored)
        means[rule] = outcome.means().item()

    assert means == {"trec": 0.0, "order": 1.0, "expected": pytest.approx(2 / 3), "best": 1.0, "worst": 0.0}


def test_ties_of_different_queries_do_not_mix() -> None:
    """The last item of a list and the first of the next may have equal run scores."""
    tied = Tied(np.array([0, 0]), np.array([1, 1]))
    hits = JudgedItems(np.array([0, 1]), np.array([1, 1]), np.ones(2), np.ones(2, dtype=np.int64), tied)
    ideal = JudgedItems(hits.query, hits.rank, hits.grade, hits.tie_rank)

    assert parse_one("AP")(Matched(hits, ideal, np.array([1, 1]))).tolist() == [1.0, 1.0]


@pytest.fixture
def tied_files(tmp_path: Path) -> tuple[str, str]:
    """A solution with one relevant item, and a run in which it ties with another."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q 0 a 1\nq 0 c 0\n")
    run.write_text("q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\nq Q0 c 3 0.1 x\n")
    return str(qrels), str(run)


def evaluate_json(terminal: Terminal, *arguments: str) -> dict[str, Any]:
    """The output of ``scorer evaluate --format json``."""
    printed: dict[str, Any] = json.loads(terminal.run("evaluate", *arguments, "--format", "json").out)
    return printed


def test_bounds_on_the_command_line(tied_files: tuple[str, str], terminal: Terminal) -> None:
    """The worst and the best score, under the requested name of the measure."""
    printed = evaluate_json(terminal, *tied_files, "-m", "recip_rank", "-m", "P@1", "--tie-bounds")

    (entry,) = printed["submissions"]
    assert entry["scores"] == {"recip_rank": 0.5, "P@1": 0.0}
    assert entry["bounds"] == {"recip_rank": [0.5, 1.0], "P@1": [0.0, 1.0]}
    assert "bounds" not in evaluate_json(terminal, *tied_files, "-m", "RR")["submissions"][0]


def test_bounds_in_tables(tied_files: tuple[str, str], terminal: Terminal) -> None:
    """Two more columns for each measure, or two more rows; the rows of queries have no bounds."""
    table = terminal.run("evaluate", *tied_files, "-m", "RR", "-m", "NumRet", "--tie-bounds", "-q").out.splitlines()
    heads = ["RR", "RR worst", "RR best", "NumRet", "NumRet worst", "NumRet best"]

    assert table[0].split("  ")[-6:] == heads
    assert table[1].split()[2:] == ["0.5000", "-", "-", "3", "-", "-"]
    assert table[2].split()[2:] == ["0.5000", "0.5000", "1.0000", "3", "3", "3"]
    rows = terminal.run("evaluate", *tied_files, "-m", "RR", "--tie-bounds", "--side-by-side", "--format", "csv").out
    assert [row.split(",") for row in rows.splitlines()[1:]] == [["RR", "0.5"], ["RR worst", "0.5"], ["RR best", "1.0"]]
    refused = terminal.run("evaluate", *tied_files, "-m", "RR", "--tie-bounds", "--format", "trec")
    assert refused.code == 2
    assert "--tie-bounds" in refused.err


def test_the_result_states_its_settings(tied_files: tuple[str, str], terminal: Terminal) -> None:
    """And each measure with all parameters."""
    options = ["--ties", "expected", "--missing", "skip", "--nothing-relevant", "zero", "--unjudged", "drop", "-l", "2"]
    printed = evaluate_json(terminal, *tied_files, "-m", "map", *options)

    assert printed["policies"] == {
        "split": "all",
        "missing": "skip",
        "ties": "expected",
        "nothing_relevant": "zero",
        "unjudged": "drop",
        "rel": "2",
    }
    assert printed["measures"] == {"map": "AP(denominator=R,rel=2)"}
    assert printed["submissions"][0]["scores"] == {"map": 0.0}


def test_an_unknown_rule_for_ties_is_an_error() -> None:
    """The message lists the rules."""
    with pytest.raises(ValueError, match="ties is one of trec, order, expected, best, worst; found 'docno'"):
        scorer.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR", ties="docno")  # type: ignore[call-overload]
    with pytest.raises(SubmissionError):
        scorer.evaluate({"q": {"a": 1}}, {}, "RR", ties="expected")
