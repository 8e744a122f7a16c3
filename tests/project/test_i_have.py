"""docs/i-have.md: each section runs in an empty folder, and leads to `scorer` in five lines."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from shutil import which

import pytest

from tests.blocks import BLOCK, run_blocks
from tests.commands import Terminal
from tests.paths import DOCS

PAGE = DOCS / "i-have.md"
FIRST, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
TITLES = [section.partition("\n")[0] for section in SECTIONS]
NEEDED = {"pytrec_eval": "pytrec_eval", "ir_measures": "ir_measures", "ranx": "ranx"}
"""The package that a section compares with, by the title of the section."""

LINES = 5


def test_every_set_up_has_a_section() -> None:
    """The page has one for each tool and platform, and no other."""
    tools = ["trec_eval", "pytrec_eval", "ir_measures", "ranx", "challengeR"]
    tools += ["Files of other tools", "Answers of search engines", "Judgements of Cranfield and CISI"]
    assert [*tools, "Codabench", "Codabench, and staying there", "Kaggle"] == TITLES


@pytest.mark.parametrize("section", SECTIONS, ids=TITLES)
def test_a_block_has_five_lines(section: str) -> None:
    """At most, without blank lines and what is printed."""
    code = [code for language, code in BLOCK.findall(section) if language != "text"]

    assert code
    assert all(len([line for line in block.splitlines() if line]) <= LINES for block in code)


@pytest.mark.parametrize("section", SECTIONS, ids=TITLES)
def test_a_section_runs(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal, request: pytest.FixtureRequest
) -> None:
    """After the files at the top of the page; skipped where the other tool is not installed."""
    package = NEEDED.get(section.partition("\n")[0])
    if "$ jq " in section and which("jq") is None:
        pytest.skip("jq is not installed")
    if package == "ranx":
        request.getfixturevalue("ranx")
    elif package:
        pytest.importorskip(package, reason=f"{package} is not installed; the group `peers` has it")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    assert run_blocks(FIRST, PAGE.name, terminal, names) == 2
    assert run_blocks(section, PAGE.name, terminal, names)


def after(title: str, folder: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """Run the section with this title in a folder, and stay there."""
    monkeypatch.chdir(folder)
    for text in (FIRST, SECTIONS[TITLES.index(title)]):
        run_blocks(text, PAGE.name, terminal, {})


def row(terminal: Terminal) -> dict[str, str]:
    """The row of the only team on the board."""
    (found,) = csv.DictReader(StringIO(terminal.run("leaderboard", "my-challenge", "--format", "csv").out))
    return found


def test_codabench_becomes_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """The team has the name of its archive, and the score that `evaluate` computes."""
    after("Codabench", tmp_path, monkeypatch, terminal)
    scores = terminal.run("evaluate", "reference_data/qrels.txt", "run.txt", "-m", "nDCG@5", "--format", "json").out

    assert row(terminal)["team"] == "red-kite"
    assert row(terminal)["nDCG@5"] == "0.7398"
    assert "0.7398" in scores


def test_the_scoring_program_writes_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """As JSON, one number for each measure."""
    after("Codabench, and staying there", tmp_path, monkeypatch, terminal)

    scores = json.loads((tmp_path / "output" / "scores.json").read_text())
    assert scores == {"nDCG@10": pytest.approx(0.739812), "AP": pytest.approx(0.625)}


def test_kaggle_has_the_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """MAP@12 over the public query is 1/2; over the private ones it is the mean of 1/2 and (1 + 2/3) / 2."""
    after("Kaggle", tmp_path, monkeypatch, terminal)

    found = row(terminal)
    assert found["preliminary AP(denominator=min)@12"] == "0.5000"
    assert found["AP(denominator=min)@12"] == "0.6667"
