"""The fuzzer: it finds nothing in a fixed number of cases, and it finds planted faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from scorer.lists.reading import blocks as reading
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import floats, from_numpy
from scorer.measures.matched import Floats, Matched
from scorer.scoring import submission
from scorer.scoring.outcomes import Rules
from tests.fuzz.__main__ import fuzz
from tests.fuzz.cases import COMPRESSIONS, FORMATS, Case, case_of
from tests.fuzz.properties import check
from tests.fuzz.workers import Check, Setup
from tests.paths import ROOT

pytestmark = pytest.mark.ci

ENDURANCE = [pytest.mark.endurance]

PLANTED = 3
"""The case for which a fault is planted."""


def test_nothing_is_found_in_a_few_cases(tmp_path: Path) -> None:
    """All properties hold for these cases, which are of all formats and have all outcomes."""
    report = fuzz(Setup(seed=7, seconds=60), range(60), tmp_path)

    assert report.problems == {}
    assert report.cases == 60
    assert {label.partition(".")[0] for label in report.formats} == set(FORMATS)
    assert {label.removeprefix(label.partition(".")[0]) for label in report.formats} == set(COMPRESSIONS)
    assert set(report.outcomes) == {"submission scored", "submission rejected", "solution read", "solution refused"}
    assert not list(tmp_path.iterdir())


def test_a_seed_decides_the_cases() -> None:
    """The same seed and number give the same bytes."""
    cases = [case_of(5, number) for number in range(40)]

    assert [case_of(5, number) for number in range(40)] == cases
    assert [case_of(6, number) for number in range(40)] != cases


def test_the_command_prints_the_seed_and_what_was_checked() -> None:
    """And exits with 0 if it finds nothing."""
    command = [sys.executable, "-m", "tests.fuzz", "--cases", "5", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "seed 1"
    assert lines[1].startswith("seed 1: 5 cases, ")
    assert lines[-1] == "findings: none"


# --- Planted faults ---------------------------------------------------------------------------------------------------


def with_fault(target: str, wrong: Callable[..., Any], case: Case, folder: Path) -> Mapping[str, str]:
    """Check a case while a function of the package is replaced."""
    with patch(target, wrong):
        return check(case, folder)


def reads_other_numbers(case: Case, folder: Path) -> Mapping[str, str]:
    """The fast reader of columns adds to each number its position."""
    read = tables.split_columns

    def wrong(*arguments: Any, **options: Any) -> Any:
        found, number = read(*arguments, **options), arguments[4]
        return found and found | {number: from_numpy(floats(found[number]) + 9 * np.arange(len(found[number])))}

    return with_fault("scorer.lists.reading.tables.split_columns", wrong, case, folder)


def loses_bytes(case: Case, folder: Path) -> Mapping[str, str]:
    """The last byte of each small block is lost."""
    read = reading.read_chunk

    def wrong(*arguments: Any, **options: Any) -> Any:
        chunk = read(*arguments, **options)
        return chunk[:-1] if reading.BLOCK < 1 << 20 else chunk

    return with_fault("scorer.lists.reading.blocks.read_chunk", wrong, case, folder)


def scores_too_much(case: Case, folder: Path) -> Mapping[str, str]:
    """Every score is 1."""

    def wrong(found: Matched, rules: Rules) -> Floats:
        return np.ones((len(rules.measures), found.queries))

    return with_fault("scorer.scoring.submission._scores", wrong, case, folder)


def warns(case: Case, folder: Path) -> Mapping[str, str]:
    """A warning that is not shown to anybody."""
    scores = submission._scores

    def wrong(*arguments: Any) -> Any:
        warnings.warn("planted", RuntimeWarning, stacklevel=1)
        return scores(*arguments)

    return with_fault("scorer.scoring.submission._scores", wrong, case, folder)


def planted(fault: Callable[[], None], case: Case, folder: Path) -> Mapping[str, str]:
    """Write the file of a case; run the fault for one of them."""
    (folder / "file").write_bytes(case.content)
    if case.number == PLANTED:
        fault()
    return {}


def raises(case: Case, folder: Path) -> Mapping[str, str]:
    """An exception that no caller expects."""
    return planted({}.popitem, case, folder)  # type: ignore[arg-type]


def crashes(case: Case, folder: Path) -> Mapping[str, str]:
    """A fault in compiled code."""
    return planted(lambda: os.kill(os.getpid(), signal.SIGSEGV), case, folder)


def hangs(case: Case, folder: Path) -> Mapping[str, str]:
    """A reader that never ends."""
    return planted(lambda: time.sleep(600), case, folder)


def takes_memory(case: Case, folder: Path) -> Mapping[str, str]:
    """A gibibyte, which is kept."""
    return planted(lambda: time.sleep(600 * np.ones(1 << 27)[0]), case, folder)


SEED = 15

FAULTS: dict[Check, tuple[int, str, str]] = {
    reads_other_numbers: (15, "the fast and the slow reader agree", ""),
    loses_bytes: (15, "blocks and threads change nothing", ""),
    scores_too_much: (15, "a valid file has the scores of its meaning", "by AP, nDCG"),
    warns: (15, "no exception: RuntimeWarning in test_fuzz.py, wrong", "planted"),
    raises: (5, "no exception: KeyError in test_fuzz.py, planted", "dictionary is empty"),
    crashes: (5, "no crash", "Segmentation fault"),
    hangs: (5, "no case takes more than 1 seconds", "in hangs"),
    takes_memory: (5, "no case takes more than 1024 MiB of memory", "in takes_memory"),
}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.__name__, marks=[] if fault in (reads_other_numbers, crashes) else ENDURANCE)
        for fault in FAULTS
    ],
)
def test_a_planted_fault_is_found(fault: Check, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, its file is saved, and the other cases are checked nevertheless."""
    cases, problem, details = FAULTS[fault]
    report = fuzz(Setup(SEED, fault, seconds=1 if fault is hangs else 60, processes=1), range(cases), tmp_path)

    assert report.cases == cases
    assert problem in report.problems
    saved = [folder for folder in tmp_path.iterdir() if problem in (folder / "finding.txt").read_text("utf-8")]
    number = int(saved[0].name.partition("-")[2])
    assert (saved[0] / "file").read_bytes() == case_of(SEED, number).content
    assert details in (saved[0] / "finding.txt").read_text("utf-8")
    assert f"again: python -m tests.fuzz --seed {SEED} --case {number}" in capsys.readouterr().out
