"""The documentation: its code runs, its pages are made from the registry, and it builds without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.measures import pages, slug
from scorer.measures import KINDS

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FAILS = "# exits with 1"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, in an empty folder; commands with the exit code that is stated, or 0."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        ran += 1
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        for line in code.splitlines():
            assert line.startswith("$ "), line
            expected = 1 if line.endswith(FAILS) else 0
            assert shell(line.removeprefix("$ ").removesuffix(FAILS)) == expected, line
    assert ran or page.name == "index.md"


def shell(command: str) -> int:
    """The exit code of a command line, with the `scorer` of this Python first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = shutil.which("bash") or "/bin/sh"
    return subprocess.run(
        [bash, "-c", command], env={**os.environ, "PATH": path}, capture_output=True, check=False
    ).returncode


def test_every_measure_has_a_page() -> None:
    """With its summary, formula, edge cases, parameters, other names and source; file names differ without case too."""
    assert len({slug(kind).casefold() for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        text = pages()[f"{slug(kind)}.md"]
        told = [kind.title, kind.summary, kind.edge_cases, kind.source, *kind.aliases]
        assert all(words in text for words in told)
        assert all(parameter.about.description in text for parameter in kind.parameters)


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    """Links, tables and all."""
    pytest.importorskip("sphinx", reason="the docs extra is not installed")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-b",
        "html",
        "-d",
        str(tmp_path / "cache"),
        "docs",
        str(tmp_path),
    ]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert (tmp_path / "measures" / "marp.html").is_file()
