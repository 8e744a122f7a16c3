"""The wheel, installed into an empty environment, runs the first pages and the tutorials of the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.blocks import run_blocks
from tests.commands import Terminal
from tests.fresh import installed
from tests.paths import DOCS

pytest.importorskip("hatchling", reason="hatchling is not installed; the group `dev` has it")
pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(sys.platform == "win32", reason="links to files need rights there"),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of the environment, with what a board needs."""
    return installed(tmp_path_factory.mktemp("fresh"), ["board"])


def test_the_environment_has_only_what_the_wheel_requires(programs: Path) -> None:
    """It is used as it would be elsewhere: scorer comes from the wheel, and the tools of the tests are missing."""
    code = (
        "import sys, scorer, pandas\n"
        "from importlib.util import find_spec\n"
        "print(scorer.__file__.startswith(sys.prefix), [find_spec(name) for name in ('pytest', 'starlette', 'sphinx')])"
    )
    shown = subprocess.run([programs / "python", "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "True [None, None, None]\n"


@pytest.mark.parametrize(
    "name",
    [
        "index",
        "participants",
        pytest.param("organisers", marks=pytest.mark.endurance),
        pytest.param("researchers", marks=pytest.mark.endurance),
    ],
)
def test_a_page_runs(
    name: str, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    """From top to bottom in an empty folder, each command in its process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert run_blocks((DOCS / f"{name}.md").read_text(encoding="utf-8"), name, terminal, {}, programs)
