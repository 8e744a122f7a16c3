"""Real files with official numbers. They are third-party files outside the project; without them, the tests skip."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorer
from scorer.lists.solution import Solution
from tests.paths import REAL_DATA

PLACE = REAL_DATA
VLNET, ROBUST = PLACE / "vlnet2011", PLACE / "trec2003_robust"


def official(folder: Path) -> dict[str, Any]:
    """The official numbers of a folder; empty without the data, so its tests skip."""
    file = folder / "official_scores.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def needs(folder: Path) -> pytest.MarkDecorator:
    """Skip without the folder."""
    return pytest.mark.skipif(not folder.exists(), reason=f"real data not found: {folder} (SCORER_REAL_DATA names it)")


@needs(VLNET)
@pytest.mark.parametrize(("submission", "numbers"), official(VLNET).items())
def test_vlnet_scores_equal_those_of_the_official_evaluator(submission: str, numbers: dict[str, Any]) -> None:
    """Scores with the cut-offs of both tasks are equal to the last bit."""
    result = scorer.evaluate(VLNET / numbers["target"], VLNET / submission, ["MARp@5,10,15,20,25,30", "MARp@5,10"])

    assert list(result.values()) == [numbers["official_class_task1"], numbers["official_class_task2"]]


@needs(VLNET)
@pytest.mark.parametrize(("submission", "numbers"), official(VLNET).items())
@pytest.mark.parametrize(("split", "part"), [("all", "all"), ("preliminary", "lb"), ("rest", "test")])
def test_vlnet_splits_equal_the_exact_fractions(
    submission: str, numbers: dict[str, Any], split: Any, part: str
) -> None:
    """Means over all, flagged and other queries are equal within 1e-12, and so are the numbers of queries."""
    fraction, _, queries = numbers[f"exact_fraction_task1_{part}"]

    result = scorer.evaluate(VLNET / numbers["target"], VLNET / submission, "MARp@5,10,15,20,25,30", split=split)

    assert result["MARp@5,10,15,20,25,30"] == pytest.approx(float(Fraction(fraction)), abs=1e-12)
    assert result.queries - result.undefined == queries


@pytest.fixture(scope="module")
def qrels() -> Solution:
    """The judgements of the Robust track of 2003."""
    return Solution.read(ROBUST / "qrels" / "robust03_qrels.txt")


@needs(ROBUST)
@pytest.mark.parametrize(("run", "numbers"), official(ROBUST).items())
def test_scores_of_robust_runs_equal_those_of_nist(run: str, numbers: dict[str, float], qrels: Solution) -> None:
    """AP, Rprec, P@15, P@100 and P@1000 of 17 runs, to four decimals.

    NIST printed the mean of topic scores that were rounded to four decimals. In two of the 85 figures (Rprec of
    SABIR03BASE and of THUIRr0301) this changes the fourth decimal. Our means are of unrounded scores; rounding the
    scores first gives NIST's figures, and all differences are within the error of rounding.
    """
    result = scorer.evaluate(qrels, ROBUST / "runs" / f"input.{run}.gz", list(numbers), per_query=True)

    assert result.per_query is not None
    assert result.queries == 100
    for measure, printed in numbers.items():
        as_printed = result.per_query[measure].round(4).mean()
        assert min(abs(result[measure] - printed), abs(as_printed - printed)) <= 0.00005 + 1e-12, measure
        assert abs(result[measure] - printed) < 0.0001, measure


@needs(VLNET)
def test_the_real_solution_has_the_counted_queries() -> None:
    """5704 lines, 2211 with items, 443 of them flagged."""
    solution = Solution.read(VLNET / "solution" / "task1_target.txt")
    with_items = np.bincount(solution.ideal.query, minlength=len(solution.queries)) > 0

    assert (len(solution.queries), with_items.sum(), (with_items & solution.flagged).sum()) == (5704, 2211, 443)
