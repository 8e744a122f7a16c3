"""The documentation: its code runs, its pages are made from the registry, and it builds without a warning."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scorer
from docs.examples import EXAMPLES
from docs.measures import pages, placed, slug
from docs.peers import DIFFERENCES, PEERS
from scorer.cli.measures import remarks
from scorer.measures import KINDS, Kind, parse_one

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROSE = {"architecture.md", "benchmarks.md", "challenge-toml.md", "index.md", "running.md", "studies.md"}
"""Pages without code that runs."""

FAILS = re.compile(r"# exits with ([12])$")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, in an empty folder; commands with the exit code that is stated, or 0.

    A block of text after commands is what the last of them prints.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran, printed = 0, ""
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        ran += 1
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        if language == "text":
            assert code == printed
            continue
        for line in code.splitlines():
            assert line.startswith("$ "), line
            fails = FAILS.search(line)
            exit_code, printed = shell(FAILS.sub("", line.removeprefix("$ ")))
            assert exit_code == (int(fails[1]) if fails else 0), line
    assert ran or page.name in PROSE


def shell(command: str) -> tuple[int, str]:
    """The exit code of a command line and what it prints, with the `scorer` of this Python first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = shutil.which("bash") or "/bin/sh"
    done = subprocess.run(
        [bash, "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_every_measure_has_a_page() -> None:
    """With its summary, formula, edge cases, parameters, other names and source; file names differ without case too."""
    assert len({slug(kind).casefold() for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        text = pages()[f"{slug(kind)}.md"]
        told = [kind.title, kind.summary, kind.edge_cases, kind.source, *kind.aliases, *remarks(kind)]
        assert all(words in text for words in told)
        assert all(parameter.about.description in text for parameter in kind.parameters)


WHOLE = {"NumQ", "NumRet", "NumRel", "NumRelRet", "Success"}
"""Measures whose scores can be nothing but whole numbers."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_has_an_example(kind: Kind) -> None:
    """Its sum comes to the score that scorer gives and that the page shows; it is no score that says nothing."""
    example = EXAMPLES[kind.name]
    text = pages()[f"{slug(kind)}.md"]
    signs = {"__builtins__": {}, "log2": math.log2, "ln": math.log, "exp": math.exp}

    assert parse_one(example.measure).kind is kind
    score = scorer.evaluate(example.solution, example.lists, example.measure)[example.measure]
    assert eval(example.arithmetic, signs) == pytest.approx(score, rel=0, abs=1e-12)
    assert f"{example.measure} = {example.arithmetic} = {score:.4f}" in " ".join(text.split())
    assert example.working in text
    assert kind.name in WHOLE or not float(score).is_integer()


def test_examples_are_of_measures_that_there_are() -> None:
    """None is left over."""
    assert set(EXAMPLES) == {kind.name for kind in KINDS}


@pytest.mark.parametrize(
    ("peer", "theirs", "ours"), [(peer, *names) for peer, table in PEERS.items() for names in table.items()]
)
def test_every_name_of_a_peer_stands_on_the_page(peer: str, theirs: str, ours: str) -> None:
    """With our spelling, which can be read, on the page of the measure that it is."""
    kind = parse_one(ours.format(k=5, level=0.5)).kind

    assert f"| {peer} | `{placed(theirs)}` | `{placed(ours)}` |" in pages()[f"{slug(kind)}.md"]


def test_differences_stand_on_the_pages() -> None:
    """All are of measures that there are, and every measure that a peer lacks or computes otherwise says so."""
    named = {parse_one(ours.format(k=5, level=0.5)).kind.name for table in PEERS.values() for ours in table.values()}

    assert set(DIFFERENCES) <= {kind.name for kind in KINDS}
    assert named | set(DIFFERENCES) == {kind.name for kind in KINDS}
    for kind in KINDS:
        assert all(words in pages()[f"{slug(kind)}.md"] for words in DIFFERENCES.get(kind.name, ()))


def test_spellings_in_the_differences_are_read() -> None:
    """What is said to be the setting of a measure here can be asked for here."""
    spellings = {
        name
        for told in DIFFERENCES.values()
        for name in re.findall(r"`(\w+\((?:denominator|gain|discount|ideal|weight|p)=[^`]*)`", " ".join(told))
    }

    assert len(spellings) > 5
    for name in spellings:
        assert str(parse_one(re.sub(r"@[kz]$", "@5", name)))


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
