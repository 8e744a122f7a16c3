"""Tuning: scores of trials equal those of evaluate and of ranx; grids."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import scorer
from scorer.errors import FusionError, MeasureError
from scorer.runs.fuse import METHODS
from tests.runs.test_fusion import random_runs

QRELS = {
    query: {f"d{item}": int(grade) for item, grade in enumerate(np.random.default_rng(number).integers(0, 3, 9))}
    for number, query in enumerate(("q1", "q2", "007", "NA", "without a list"))
}
TUNED = [method for method in METHODS if method.parameters]


@pytest.mark.parametrize("method", TUNED, ids=lambda method: method.name)
@pytest.mark.parametrize(("measure", "depth"), [("AP", None), ("nDCG@5", 4), ("NumRet", 6)])
def test_trials_have_the_scores_of_evaluate(method: Any, measure: str, depth: int | None) -> None:
    """Of the fused run with the same value, to the last bit, also with ties and missing queries."""
    runs = random_runs(3)
    del runs[1]["q2"]

    tuning = scorer.tune(QRELS, runs, measure, method.name, step=0.25 if method.parameters[0].weights else None)

    for trial in tuning.trials[:: max(1, len(tuning.trials) // 5)]:
        settings: dict[str, Any] = {tuning.parameter: trial.value}
        fused = scorer.fuse(runs, method.name, depth=depth, **settings)
        cut = scorer.tune(QRELS, runs, measure, method.name, grid=[trial.value], depth=depth)
        assert cut.best.score == scorer.evaluate(QRELS, fused, measure)[measure]
    assert tuning.best.score == max(trial.score for trial in tuning.trials)


@pytest.mark.parametrize("method", ["wsum", "mixed", "wmnz", "w_bordafuse", "rrf", "rbc", "gmnz", "logn_isr"])
def test_trials_have_the_scores_of_runs_that_ranx_fuses(method: str, ranx: Any) -> None:
    """Scored here, because ranx orders equal scores arbitrarily."""
    runs = random_runs(5)
    tuning = scorer.tune(QRELS, runs, "AP", method, step=0.25 if method in {"wsum", "mixed", "wmnz"} else None)

    for trial in tuning.trials[:: max(1, len(tuning.trials) // 5)]:
        settings = {tuning.parameter: trial.value}
        theirs = ranx.fuse([ranx.Run(run) for run in runs], method=method, params=settings).to_dict()
        assert scorer.evaluate(QRELS, theirs, "AP")["AP"] == pytest.approx(trial.score, abs=1e-9)


def test_tuned_weights_are_those_of_ranx(ranx: Any) -> None:
    """The scores of all trials are equal where no scores tie; ranx drops weights whose sum rounds to less than 1."""
    qrels, runs = {query: QRELS[query] for query in ("q1", "q2", "007", "NA")}, random_runs(5, complete=True)

    best, report = ranx.optimize_fusion(
        ranx.Qrels(qrels),
        [ranx.Run(run) for run in runs],
        norm="zmuv",
        metric="map",
        step=0.2,
        show_progress=False,
        return_optimization_report=True,
    )
    ours = scorer.tune({q: {i: g for i, g in qrels[q].items() if g} for q in qrels}, runs, "AP", norm="zmuv", step=0.2)

    weights = [
        tuple(map(float, re.findall(r"(?<=[( ])[0-9.]+|(?<=float64\()[0-9.]+", text))) for text in report.configs
    ]
    theirs = dict(zip(weights, report.results, strict=True))
    assert len(theirs) > 15
    assert {trial.value: trial.score for trial in ours.trials if trial.value in theirs} == pytest.approx(theirs)
    assert ours.parameters["weights"] == pytest.approx(best["weights"])


def test_weights_are_all_that_sum_to_1() -> None:
    """In steps, in ascending order; the last of equals is the best."""
    tuning = scorer.tune(QRELS, [{"q1": ["d1"]}, {"q1": ["d1"]}], "P@1", step=0.25)

    assert [trial.value for trial in tuning.trials] == [(0, 1), (0.25, 0.75), (0.5, 0.5), (0.75, 0.25), (1, 0)]
    assert tuning.parameters == {"weights": (1, 0)}
    assert list(tuning.to_frame()) == ["weight_1", "weight_2", "P@1"]
    assert len(scorer.tune(QRELS, [{"q1": ["d1"]}] * 3, "P@1").trials) == 66


def test_numbers_are_the_range_of_the_method() -> None:
    """From the first value to the last, without rounding errors."""
    tuning = scorer.tune(QRELS, [{"q1": ["d1"]}, {"q1": ["d1"]}], "P@1", "rbc")

    values = [trial.value for trial in tuning.trials]
    assert values == [hundredths / 100 for hundredths in range(1, 101)]
    assert list(tuning.to_frame()) == ["phi", "P@1"]


def test_an_undefined_score_is_never_the_best() -> None:
    """The mean is NaN where no query has a defined score."""
    tuning = scorer.Tuning("rrf", "k", "AP", tuple(scorer.runs.tuning.Trial(k, s) for k, s in [(1, math.nan), (2, 0)]))

    assert tuning.parameters == {"k": 2}


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("AP", "sum"), {}, "sum has no parameter to tune"),
        (("AP", "wsum"), {"step": 0.3}, "step: expected"),
        (("AP", "wsum"), {"step": 0.0}, "step: expected"),
        (("AP", "wsum"), {"step": 0.000001}, "use a larger step"),
        (("AP", "wsum"), {"grid": []}, "no values"),
        (("AP", "rbc"), {"grid": [3]}, "phi: expected"),
    ],
)
def test_wrong_grids_are_refused(arguments: tuple[str, str], settings: dict[str, Any], message: str) -> None:
    """With what is allowed."""
    with pytest.raises(FusionError, match=message):
        scorer.tune(QRELS, [{"q1": ["d1"]}, {"q1": ["d2"]}], *arguments, **settings)


def test_an_unknown_measure_is_refused() -> None:
    """As in evaluate."""
    with pytest.raises(MeasureError):
        scorer.tune(QRELS, [{"q1": ["d1"]}, {"q1": ["d2"]}], "nothing")
