"""Scoring from files and from memory: the challenge's worked examples, its evaluator's edge cases, splits and means."""

from __future__ import annotations

import gzip
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.errors import MeasureError, SolutionError, SubmissionError
from scorer.files import digest
from scorer.lists.solution import Solution
from scorer.measures import KINDS, Measure
from scorer.options import Ties
from scorer.scoring.outcomes import Failed, Rejected, Rules, Scored
from scorer.scoring.submission import check, score
from tests import strategies
from tests.oracles import OF_THE_WHOLE_SOLUTION, ORACLES

_listed = ",".join
EXAMPLE_1 = (
    "1:1:" + _listed(f"{item}|{101 - item}" for item in range(1, 11)) + "\n"
    "2:1:" + _listed(f"{item}|{151 - item}" for item in range(101, 111)) + "\n",
    "1:1,2,3,20,10,6,7,8,21,22\n2:101,102,103,50,30,106,107,108,109,52\n",
)
EXAMPLE_2 = (
    "1:1:1|100,2|99,3|98,4|97,5|96,6|96,7|96,8|93,9|92,10|91\n2:1:1|50,2|49,3|48,4|47,5|46,6|45,7|44\n",
    "1:1,2,3,7,20,6,21,8,22,23\n2:23,2,3,20,10,6,7,8,21,22\n",
)
TASK_1 = "MARp@5,10,15,20,25,30"
TASK_2 = "MARp@5,10"


def files(tmp_path: Path, solution: str, submission: str | bytes) -> tuple[Path, Path]:
    """Files with a solution and a submission."""
    solution_file, submission_file = tmp_path / "solution.txt", tmp_path / "submission.txt"
    solution_file.write_text(solution, encoding="utf-8")
    submission_file.write_bytes(submission.encode() if isinstance(submission, str) else submission)
    return solution_file, submission_file


def test_the_first_worked_example_of_the_challenge(tmp_path: Path) -> None:
    """13/20, and to the last bit what the challenge's own evaluator printed."""
    result = scorer.evaluate(*files(tmp_path, *EXAMPLE_1), TASK_2, per_query=True)

    assert result[TASK_2] == pytest.approx(13 / 20, abs=1e-15)
    assert result[TASK_2] == 0.6499999999999999
    assert scorer.evaluate(*files(tmp_path, *EXAMPLE_1), TASK_1)[TASK_1] == 0.6833333333333332


def test_the_second_worked_example_of_the_challenge(tmp_path: Path) -> None:
    """7/10 and 17/35, mean 83/140, with ties at the cut-off and a list shorter than the cut-off."""
    result = scorer.evaluate(*files(tmp_path, *EXAMPLE_2), TASK_2, per_query=True)

    assert result.per_query is not None
    assert result.per_query[TASK_2].tolist() == [0.7, 17 / 35]
    assert result[TASK_2] == 83 / 140 == 0.5928571428571429
    assert scorer.evaluate(*files(tmp_path, *EXAMPLE_2), TASK_1)[TASK_1] == 0.588095238095238


ELEVEN = "1:1:1|9,2|8,3|7,4|6,5|5,6|4,7|3,8|2,9|1,10|1,11|1\n"

EDGES = {
    "fewer items than the cut-off": (ELEVEN, "1:1,2,3\n", (3 / 5 + 3 / 10) / 2),
    "a repeated item takes up a rank": (ELEVEN, "1:1,1,1,1,1,2,3,4,5,6\n", (1 / 5 + 6 / 10) / 2),
    "a tie at the cut-off widens the relevant set": (ELEVEN, "1:1,2,3,4,11,9,10,8,7,6,5\n", (4 / 5 + 10 / 10) / 2),
    "an unknown item is not relevant": (ELEVEN, "1:15001,1,2,3,4\n", (4 / 5 + 4 / 10) / 2),
    "an id need not be a number": (ELEVEN, "1:1,2,x\n", (2 / 5 + 2 / 10) / 2),
    "a negative number is an id": (ELEVEN, "1:-1,1,2,3,4,5\n", (4 / 5 + 5 / 10) / 2),
    "spaces": (ELEVEN, " 1 : 1, 2 ,3\n", (3 / 5 + 3 / 10) / 2),
    "a comma at the end": (ELEVEN, "1:1,2,3,\n", (3 / 5 + 3 / 10) / 2),
    "CR LF": (ELEVEN, "1:1,2,3\r\n", (3 / 5 + 3 / 10) / 2),
    "an unknown query is ignored": (ELEVEN, "1:1,2,3,4,5\n7:1\n", (5 / 5 + 5 / 10) / 2),
    "an empty list": (ELEVEN, "1:\n", 0.0),
    "a grade of 0 is relevant like any other": ("1:1:1|0,2|0,3|0\n", "1:3,2\n", 2 / 3),
    "a solution that is not sorted": ("1:1:1|5,2|9,3|9,4|9,5|9,6|9\n", "1:1,2,3,4,6\n", (4 / 5 + 5 / 6) / 2),
    "a query without relevant items is left out": ("1:1:\n2:0:5|3\n", "1:zzz\n2:5\n", 1.0),
}


@pytest.mark.parametrize(("solution", "submission", "expected"), EDGES.values(), ids=EDGES.keys())
def test_edge_cases_of_the_challenge(solution: str, submission: str, expected: float, tmp_path: Path) -> None:
    """As its evaluator scored them, or corrected where it was silently wrong."""
    assert scorer.evaluate(*files(tmp_path, solution, submission), TASK_2)[TASK_2] == pytest.approx(expected, abs=1e-15)


AGGREGATED: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda values: sum(values) / len(values) if values else math.nan,
    "sum": lambda values: sum(values) if values else math.nan,
    "geometric": lambda values: (
        math.prod(max(each, 1e-5) for each in values) ** (1 / len(values)) if values else math.nan
    ),
}


@strategies.examples(20)
@given(strategies.solutions(), strategies.submissions())
def test_every_measure_equals_its_oracle_from_dicts(
    solution: strategies.Solution, submission: strategies.Submission
) -> None:
    """Solution, submission, matching, measure and mean together, over the whole registry."""
    if not any(grade > 0 for grades in solution.values() for grade in grades.values()):
        solution = {**solution, "sure": {"a": 1.0}}
    submission = {**submission, next(iter(solution)): submission.get(next(iter(solution)), [])}
    cutoffs = {"required": ("@3", 3), "list": ("@2,4", (2, 4)), "level": ("@0.5", 0.5), "multiple": ("@1.5", 1.5)}
    highest = max(grade for grades in solution.values() for grade in grades.values())
    requested = {kind.name + cutoffs.get(kind.cutoff, ("", None))[0]: kind for kind in KINDS}

    result = scorer.evaluate(solution, submission, list(requested), per_query=True)

    assert result.per_query is not None
    for name, kind in requested.items():
        oracle, cutoff = ORACLES[kind.name], cutoffs.get(kind.cutoff, ("", None))[1]
        more = {"highest_of_all": highest} if kind.name in OF_THE_WHOLE_SOLUTION else {}
        expected = [
            oracle(grades, list(submission.get(query, [])), cutoff, **more) for query, grades in solution.items()
        ]
        np.testing.assert_allclose(result.per_query[name], expected, atol=1e-12, err_msg=name)
        defined = [value for value in expected if not math.isnan(value)]
        assert result[name] == pytest.approx(AGGREGATED[kind.aggregation](defined), rel=1e-12, abs=1e-12, nan_ok=True)


FLAGGED = "q1:1:a|1\nq2:0:b|1\nq3:1:\nq4:0:c|1\n"


TOO_LARGE = {
    "a gain": ("DCG(gain=exp)@3", {"q": {"a": 5000, "b": 1}}, 'its score .* item "a" of query "q" has the grade 5000;'),
    "a sum of gains": ("DCG", {"q": {"a": 1e308, "b": 1.5e308, "c": 1e308}}, 'item "b" .* has the grade 1.5e\\+308;'),
    "mapped gains": (
        "DCG(gain={1:1e308,2:0})",
        {"q": {"a": 1, "b": 1, "c": 2, "d": 1}},
        "its score .* has the grade 2;",
    ),
    "the sum over queries": ("DCG", {"q": {"a": 1e308}, "r": {"a": 1.1e308}}, 'the sum of its scores .* query "r"'),
    "run scores of ranx": ("rbp.0", {"q": {"a": 1e308}, "r": {"a": 1e308}}, "the sum of its scores"),
}


@pytest.mark.parametrize(("measure", "solution", "message"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
@pytest.mark.parametrize("found", [["a", "b"], ["x"]], ids=["found", "not found"])
def test_grades_too_high_for_a_measure_are_an_error_of_the_solution(
    measure: str, solution: dict[str, dict[str, float]], message: str, found: list[str]
) -> None:
    """For every submission alike. The message names the measure, the query and the grade; nDCG is not affected."""
    with pytest.raises(SolutionError, match=message) as caught:
        scorer.evaluate(solution, {"q": found}, ["nDCG", measure])

    assert caught.value.findings.count == 1
    assert "choose another gain or measure, or give smaller grades" in str(caught.value)
    assert scorer.evaluate(solution, {"q": found}, ["nDCG", "nDCG(gain=exp)"])["nDCG"] >= 0


def test_the_file_of_a_solution_with_too_high_grades_is_named(tmp_path: Path) -> None:
    """Every query is reported."""
    solution, submission = files(tmp_path, "q 0 a 5000\nr 0 a 1024\ns 0 a 1023\n", "q 1 a\n")

    with pytest.raises(SolutionError) as caught:
        scorer.evaluate(solution, submission, "DCG(gain=exp)")

    assert caught.value.findings.count == 2
    assert all(line.startswith(f"{solution}: DCG(gain=exp): ") for line in str(caught.value).splitlines())


def test_large_gains_that_can_be_summed_are_accepted() -> None:
    """Up to the largest number; the mean of a tie group is finite where the sum of its gains is not."""
    solution = {"q": {"a": 1e308, "b": 1e308}}
    tied = {"q": {"a": 1.0, "b": 1.0}}

    assert scorer.evaluate(solution, tied, "DCG")["DCG"] == pytest.approx(1e308 * (1 + math.log(2, 3)))
    assert scorer.evaluate(solution, tied, "DCG", ties="expected")["DCG"] == pytest.approx(1e308 * (1 + math.log(2, 3)))
    assert scorer.evaluate({"q": {"a": 1023}}, {"q": ["a"]}, "DCG(gain=exp)")["DCG(gain=exp)"] == 2.0**1023


@strategies.examples(50)
@given(
    strategies.measures(),
    strategies.solutions((-1e308, 0.0, 1.0, 40.0, 5000.0, 1e308)),
    strategies.submissions(),
    strategies.submissions(),
    st.sampled_from(["trec", "expected", "worst"]),
)
def test_an_accepted_solution_has_the_same_undefined_queries_for_all(
    measure: Measure,
    solution: strategies.Solution,
    one: strategies.Submission,
    other: strategies.Submission,
    ties: Ties,
) -> None:
    """No score and no mean is infinite, and which scores are undefined depends on the solution only."""
    undefined: list[dict[str, bool]] = []
    for lists in (one, other):
        tied = {query: dict.fromkeys(items, 0.0) for query, items in lists.items()}
        try:
            found = scorer.evaluate(solution, tied, measure, True, ties=ties)
        except (SolutionError, SubmissionError, MeasureError) as error:
            undefined.append({type(error).__name__: True})
            continue
        scores = {query: score[str(measure)] for query, score in found.by_query().items()}
        assert not any(map(math.isinf, [*scores.values(), found[str(measure)]]))
        undefined.append({query: math.isnan(score) for query, score in scores.items()})
    if {"SubmissionError": True} not in undefined:
        assert undefined[0] == undefined[1]


def test_splits_follow_the_flags(tmp_path: Path) -> None:
    """The split "preliminary" is the flagged queries. Queries without relevant items are counted, but not scored."""
    both = files(tmp_path, FLAGGED, "q1:a\nq2:x\nq3:x\nq4:c\n")

    shown = {split: scorer.evaluate(*both, "P@1", split=split) for split in ("all", "preliminary", "rest")}

    assert {split: result["P@1"] for split, result in shown.items()} == {"all": 2 / 3, "preliminary": 1.0, "rest": 0.5}
    assert {split: (result.queries, result.undefined) for split, result in shown.items()} == {
        "all": (4, 1),
        "preliminary": (2, 1),
        "rest": (2, 0),
    }
    assert list(shown["rest"].by_query()) == ["q2", "q4"]


def test_an_empty_split_has_no_mean(tmp_path: Path) -> None:
    """The mean is NaN."""
    result = scorer.evaluate(*files(tmp_path, "q:0:a|1\n", "q:a\n"), "AP", split="preliminary")

    assert math.isnan(result["AP"])
    assert result.queries == 0


@pytest.mark.holds(r"A query without a list scores 0\.", r"A file without a list for every query is rejected\.")
def test_missing_queries_score_zero_or_reject_the_file() -> None:
    """By default the mean includes them."""
    solution, submission = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"]}

    assert scorer.evaluate(solution, submission, "RR")["RR"] == 0.5
    with pytest.raises(SubmissionError, match="1 of 2 queries have no list"):
        scorer.evaluate(solution, submission, "RR", missing="reject")


@pytest.mark.parametrize("flags", [[True, False], [1, 0], ["1", "0"], ["yes", "No"], [1.0, 0.0]])
def test_flags_of_a_frame_are_read_as_those_of_a_file(flags: list[object]) -> None:
    """Text and numbers are read as in a table; anything else is an error."""
    solution = pd.DataFrame({"query": ["q", "r"], "item": ["a", "a"], "grade": [1, 1], "flag": flags})
    solution["flag"] = solution["flag"].map(lambda flag: int(flag) if isinstance(flag, float) else flag).astype(object)

    assert scorer.evaluate(solution, {"q": ["a"]}, "P@1", split="preliminary")["P@1"] == 1.0
    assert scorer.evaluate(solution, {"q": ["a"]}, "P@1", split="rest")["P@1"] == 0.0
    with pytest.raises(SolutionError, match="as the flag; expected 1"):
        scorer.evaluate(solution.assign(flag=["maybe", "1"]), {"q": ["a"]}, "P@1")


def test_ranks_of_a_frame_are_whole_numbers() -> None:
    """As in a file, fractions and negative numbers are reported with their row."""
    for rank in (1.5, -1, 1e30):
        submission = pd.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "rank": [2, rank]})
        with pytest.raises(SubmissionError, match=r"2: found .* as the rank; expected a whole number"):
            scorer.evaluate({"q": {"a": 1}}, submission, "AP")
    with pytest.raises(SubmissionError, match="no column for the score"):
        scorer.evaluate({"q": {"a": 1}}, pd.DataFrame({"query": ["q"], "item": ["a"]}), "AP")


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    """There is no result for bytes without the expected digest."""
    solution_file, submission_file = files(tmp_path, ELEVEN, "1:1,2\n")
    planned = digest(submission_file)
    rules, solution = Rules(scorer.parse("AP")), Solution.read(solution_file, digest=digest(solution_file))

    assert isinstance(score(solution, submission_file, rules, digest=planned), Scored)
    submission_file.write_text("1:3,4\n", encoding="utf-8")
    assert isinstance(score(solution, submission_file, rules, digest=planned), Failed)
    with pytest.raises(SolutionError, match="changed while it was read"):
        Solution.read(solution_file, digest=planned)


def test_a_large_file_with_scattered_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is scored as if it were in order, also where it does not fit into a block."""
    order = [f"q{number % 7} Q0 d{number} 1 {number % 11} t\n" for number in range(2000)]
    solution_file, submission_file = files(
        tmp_path, "".join(f"q{n % 7} 0 d{n} {n % 4}\n" for n in range(0, 2000, 3)), "".join(order)
    )
    solution, names = Solution.read(solution_file), ["AP", "nDCG@10", "P@5"]
    whole = scorer.evaluate(solution, submission_file, names)
    monkeypatch.setattr("scorer.lists.reading.blocks.BLOCK", 1000)
    monkeypatch.setattr("scorer.lists.reading.blocks.PARTITION_BYTES", 5000)

    assert scorer.evaluate(solution, submission_file, names) == whole
    submission_file.write_text("".join(sorted(order, key=lambda line: line.split()[0])), encoding="utf-8")
    assert scorer.evaluate(solution, submission_file, names) == whole


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(("lines", "valid"), [("q1:a\nq2:b\n" * 1, True), ("q1:a\nq2:b\nq1:c\n", False)])
def test_a_pipe_is_read_once(lines: str, valid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe is scored in blocks; scattered lists would need a second pass and are rejected."""
    monkeypatch.setattr("scorer.lists.reading.blocks.BLOCK", 5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(lines,))
    writer.start()
    solution = {"q1": {"a": 1}, "q2": {"b": 1}}
    if valid:
        assert scorer.evaluate(solution, pipe, "P@1", submission_format="vlnet")["P@1"] == 1.0
    else:
        with pytest.raises(SubmissionError, match="save the submission as a file"):
            scorer.evaluate(solution, pipe, "P@1", submission_format="vlnet")
    writer.join()


def test_the_digest_is_of_all_bytes_of_an_invalid_file(tmp_path: Path) -> None:
    """A damaged compressed file, or an endless line, has the digest that sha256sum prints."""
    solution, rules = Solution.of_queries(["1"]), Rules(scorer.parse("AP"))
    for content in (gzip.compress(b"1:a\n" * 99)[:30], b"1:" + b"a," * (1 << 24), b"\xff\xfe1", b""):
        submission_file = tmp_path / "submission_file"
        submission_file.write_bytes(content)
        assert isinstance(score(solution, submission_file, rules, digest=digest(submission_file)), Rejected)


def test_a_check_needs_no_solution(tmp_path: Path) -> None:
    """It gives the same notes and counts as scoring, and no scores."""
    solution_file, submission_file = files(tmp_path, ELEVEN, "1:1,1,2\n9:4\n")
    rules = Rules(scorer.parse("AP"), list_length=2, missing="reject")

    checked = check(Solution.of_queries(["1"]), submission_file, rules)
    scored = score(Solution.read(solution_file), submission_file, rules)
    without_queries = check(None, submission_file, rules)

    assert isinstance(checked, Scored)
    assert isinstance(scored, Scored)
    assert isinstance(without_queries, Scored)
    assert checked.notes.lines() == scored.notes.lines()
    assert checked.counts == scored.counts._replace(in_solution=None)
    assert checked.scores.size == 0
    assert without_queries.counts.queries == 2


def test_rules_that_match_alike_have_one_digest() -> None:
    """Every rule that can change a match changes the digest; measures do not."""
    rules = Rules(scorer.parse("AP"), 10)

    assert Rules(scorer.parse("nDCG@10"), 10).matching_digest == rules.matching_digest
    others = [
        Rules(scorer.parse("AP"), 11),
        Rules(scorer.parse("AP"), None),
        Rules(scorer.parse("AP"), 10, missing="reject"),
        Rules(scorer.parse("AP"), 10, ties="order"),
        Rules(scorer.parse("AP"), 10, unjudged="drop"),
        Rules(scorer.parse("AP"), 10, solution_format="trec"),
        Rules(scorer.parse("AP"), 10, submission_format="trec"),
        Rules(scorer.parse("AP"), 10, candidates="0" * 64),
        Rules(scorer.parse("AP"), 10, exclude="self"),
        Rules(scorer.parse("AP"), 10, exclude="0" * 64),
    ]
    assert len({rules.matching_digest, *(other.matching_digest for other in others)}) == len(others) + 1


def test_the_digest_of_schema_1_is_what_it_was() -> None:
    """Results from before the migration are found by it, so it may never change."""
    rules = Rules(scorer.parse("AP"), 10)
    assert rules.version_1_digest == "0620f2ca075eb83dd1b18869018b2eaf1d619c5240bd72a4002764fe6dff39b7"
    assert Rules(scorer.parse("map"), 10).version_1_digest == rules.version_1_digest
    assert Rules(scorer.parse("AP"), 10, candidates="0" * 64).version_1_digest == ""
    assert Rules(scorer.parse("AP"), 10, exclude="self").version_1_digest == ""


class OtherToolsMeasure:
    """As ir_measures' objects: it can be indexed by parameters, but it is no sequence."""

    def __getitem__(self, key: object) -> object:
        raise KeyError(key)

    def __repr__(self) -> str:
        return "nDCG@10"


@pytest.mark.parametrize("measures", [OtherToolsMeasure(), [OtherToolsMeasure()], {"ndcg": OtherToolsMeasure()}])
def test_a_measure_of_another_tool_is_refused_with_what_to_do(measures: object) -> None:
    """The message names the object and its type."""
    with pytest.raises(
        MeasureError, match=r'found "nDCG@10", an object of type OtherToolsMeasure, .* as in str\(measure\)'
    ):
        scorer.evaluate({"q": {"a": 1}}, {"q": ["a"]}, measures)  # type: ignore[call-overload]
