"""Numbers that R's challengeR, base R and boot computed. They are outside the project; without them, tests skip."""

from __future__ import annotations

import csv
import gzip
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from scorer.measures.matched import Floats, Ints
from tests.paths import REAL_DATA

DATA = REAL_DATA
PLACE = DATA.parent / "challenger"

needs_challenger = pytest.mark.skipif(
    not PLACE.exists(), reason=f"real data not found: {PLACE} (SCORER_REAL_DATA names the folder `data` next to it)"
)

RULES = {
    "mean": "meanThenRank",
    "median": "medianThenRank",
    "mean-rank": "rankThenMean",
    "median-rank": "rankThenMedian",
    "wins": "testThenRank_none",
    "wins-holm": "testThenRank_holm",
}
"""Our names of the ranking rules -> those of the reference."""

TASKS = ("c_ideal", "c_random", "c_worstcase")
"""The tasks of challengeR's example."""

ALGORITHMS = ["A1", "A2", "A3", "A4", "A5"]
"""Their algorithms."""


@cache
def reference() -> dict[str, Any]:
    """All numbers."""
    numbers: dict[str, Any] = json.loads((PLACE / "reference.json").read_text(encoding="utf-8"))
    return numbers


@cache
def table(task: str, file: str = "d1.csv") -> tuple[list[str], Floats]:
    """The algorithms of a task, and their scores, [algorithm, case], cases in ascending order."""
    with (PLACE / file).open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["task"] == task]
    algorithms = sorted({row["algorithm"] for row in rows})
    cases = sorted({int(row["case"]) for row in rows})
    scores = np.full((len(algorithms), len(cases)), np.nan)
    for row in rows:
        scores[algorithms.index(row["algorithm"]), cases.index(int(row["case"]))] = float(row["value"])
    scores.setflags(write=False)
    return algorithms, scores


@cache
def drawn(name: str, *, header: bool = False) -> Ints:
    """A file of `draws`, [resample, column]."""
    with gzip.open(PLACE / "draws" / f"{name}.csv.gz", "rt") as stream:
        return np.loadtxt(stream, dtype=np.int64, delimiter=",", skiprows=int(header), ndmin=2)


def listed(values: dict[str, Any], algorithms: list[str]) -> list[Any]:
    """The values in the order of the algorithms."""
    return [values[each] for each in algorithms]
