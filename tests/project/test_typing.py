"""A user's script has the same types with pandas and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

SCRIPT = '''
"""A user's script, which needs no pandas."""

from typing import assert_type

import scorer

SOLUTION = {"q": {"a": 2, "b": 1}}
RUN, OTHER = {"q": ["b", "c", "a"]}, {"q": ["a"]}

one = scorer.evaluate(SOLUTION, RUN, ["RR", "nDCG@2"])
assert_type(one, scorer.Evaluation)
assert_type(one["RR"], float)
both = scorer.evaluate(SOLUTION, {"x": RUN, "y": "run.txt"}, "RR")
assert_type(both, scorer.Evaluations)
assert_type(both["x"], scorer.Evaluation)
assert_type(scorer.evaluate("solution.txt", "run.txt"), scorer.Evaluation)
assert_type(scorer.compare(SOLUTION, {"x": RUN, "y": OTHER}, "RR"), scorer.Comparison)
assert_type(scorer.agree(SOLUTION, SOLUTION, {"x": RUN, "y": OTHER}), scorer.JudgeAgreement)
assert_type(scorer.overlap({"x": RUN, "y": OTHER}), scorer.Overlaps)
assert_type(scorer.fuse({"x": RUN, "y": OTHER}, to="fused.txt"), None)
print(one.to_frame().head(), both.per_query)
'''

WITH_PANDAS = '''
"""A user's script, whose tables are of pandas."""

from typing import assert_type

import pandas as pd

import scorer

frame = pd.DataFrame({"query": ["q"], "item": ["a"], "grade": [1]})
one = scorer.evaluate(frame, frame.rename(columns={"grade": "score"}), "RR")
assert_type(one, scorer.Evaluation)
assert_type(one.to_frame(), pd.DataFrame)
assert_type(one.per_query, pd.DataFrame | None)
'''

SETTINGS = "[mypy]\nstrict = true\nfollow_imports = silent\n"

NOT_INSTALLED = """
[mypy-pandas.*]
follow_imports = skip
"""
"""What it imports is Any, as of a library that is not installed."""


@pytest.mark.ci
@pytest.mark.parametrize(
    ("script", "settings"),
    [(SCRIPT, NOT_INSTALLED), (SCRIPT, ""), (WITH_PANDAS, "")],
    ids=["without pandas", "pandas is there", "with pandas"],
)
def test_a_script_of_a_user_has_its_types(script: str, settings: str, tmp_path: Path) -> None:
    """By the strict rules of mypy; what is imported from scorer is no Any."""
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "mypy.ini").write_text(f"{SETTINGS}mypy_path = {ROOT}\n{settings}")

    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", "cache", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.stdout == "Success: no issues found in 1 source file\n", checked.stdout + checked.stderr


@pytest.mark.endurance
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_the_package_calls_nothing_that_a_system_lacks(system: str, tmp_path: Path) -> None:
    """By the types of the standard library there: each call of Linux is below a check of the system."""
    options = ["--platform", system, "--no-warn-unreachable", "--cache-dir", str(tmp_path), "-p", "scorer"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
