"""`scorer paper`: what an overview paper needs, with the numbers of the board and nothing that is hidden."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from scorer.organising.paper import paper_files
from scorer.organising.teams import disqualify
from tests.commands import Terminal
from tests.live_challenges import GOOD, OTHER, POOR, Live, day
from tests.public_archives import END, decided

PUBLIC = 'stage = "final"\nper_query = "public"\nmeasures = ["AP", "RR"]\nqueries = "queries.txt"\n'


def written(live: Live, terminal: Terminal, folder: Path) -> Mapping[str, str]:
    """The texts that the command writes, by name."""
    answer = terminal.run("paper", folder, "--challenge", live.folder)
    assert answer.code == 0, answer.err
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".zip"
    }


def cells(text: str) -> list[list[str]]:
    """The rows of a LaTeX table, without its head."""
    body = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.splitlines()]


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge that is over, with two teams, a baseline, a team that is disqualified, and public queries."""
    live = Live.graded(tmp_path / "live", rules=PUBLIC, phases="")
    (live.folder / "queries.txt").write_text("q1\nq2\nq3\nq4\n")
    for name, content in (("tea & kettle", GOOD), ("birch_1", OTHER)):
        (live.folder / "submissions" / "main" / name).mkdir()
        (live.folder / "submissions" / "main" / name / "20270111T000000Z.txt").write_text(content)
    live.put("popular/1.txt", POOR, day(11))
    live.put("cedar/1.txt", f"{POOR}\n", day(11))
    live.run(day(12))
    live.do(day(13), lambda challenge, store: disqualify(challenge, store, "cedar", "Two accounts."))
    live.run(day(30))
    return live


def test_the_tables_have_the_numbers_of_the_board(live: Live, terminal: Terminal, tmp_path: Path) -> None:
    """Rank, score and interval, all measures, and the systems; each says the head of the log."""
    texts = written(live, terminal, tmp_path / "paper")
    rows = list(
        csv.DictReader(io.StringIO(terminal.run("leaderboard", live.folder, "--format", "csv").out), strict=True)
    )
    assert [row["status"] for row in rows] == ["ranked", "ranked", "ranked", "disqualified"]
    marks = ["", "", " (baseline)", " (disqualified)"]
    for row, mark in zip(rows, marks, strict=True):
        row["team"] += mark
    columns = ("rank", "team", "nDCG@3", "low", "high", "rank from", "rank to", "tier")
    expected = [[row[column].replace("_", r"\_").replace("&", r"\&") for column in columns] for row in rows]
    assert [cell[:-1] for cell in cells(texts["table-main.tex"])] == expected
    apart = ["yes" if row["separable_from_leader"] == "true" else "" for row in rows]
    assert [cell[-1] for cell in cells(texts["table-main.tex"])] == apart
    assert [row[0] for row in cells(texts["scores-main.tex"])] == [row[1] for row in expected]
    assert cells(texts["scores-main.tex"])[0][1:] == [rows[0][name] for name in ("nDCG@3", "AP", "RR")]
    (digest,) = [row[-1] for row in cells(texts["systems-main.tex"]) if row[0].startswith("tea")]
    assert digest == hashlib.sha256(GOOD.encode()).hexdigest()[:12]
    head = json.loads(terminal.run("leaderboard", live.folder, "--format", "json").out)["log"]
    said = f"Record up to event {head['index']}, head {head['head']}."
    for name in (
        "table-main.tex",
        "scores-main.tex",
        "systems-main.tex",
        "overview.tex",
        "CITATION.cff",
        "zenodo.json",
    ):
        assert said in texts[name]


def test_each_measure_has_its_formula_and_its_source(live: Live, terminal: Terminal, tmp_path: Path) -> None:
    """And the statistics are said in a paragraph."""
    texts = written(live, terminal, tmp_path / "paper")
    assert set(re.findall(r"\\item\[([^]]+)\]", texts["measures.tex"])) == {"nDCG@3", "AP", "RR"}
    assert texts["measures.tex"].count(" Source: ") == 3
    assert "paired bootstrap over the queries (10,000 resamples, seed 1)" in texts["statistics.tex"]
    assert json.loads(texts["zenodo.json"])["metadata"]["upload_type"] == "dataset"


def test_the_archive_has_checksums_and_public_scores_only(live: Live, terminal: Terminal, tmp_path: Path) -> None:
    """The mean over the queries is the score; the bytes are the same each time."""
    written(live, terminal, tmp_path / "one")
    written(live, terminal, tmp_path / "two")
    assert (tmp_path / "one" / "data.zip").read_bytes() == (tmp_path / "two" / "data.zip").read_bytes()
    with ZipFile(tmp_path / "one" / "data.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    queries = list(csv.DictReader(io.StringIO(files["main/queries.csv"].decode())))
    board = list(csv.DictReader(io.StringIO(files["main/leaderboard.csv"].decode())))
    for row, shown in zip(queries, board, strict=True):
        scores = [float(value) for name, value in row.items() if name != "team" and value]
        assert round(sum(scores) / len(scores), 4) == float(shown["nDCG@3"])


def test_a_folder_with_files_is_kept(live: Live, terminal: Terminal, tmp_path: Path) -> None:
    """One message, and nothing is written."""
    (tmp_path / "x").write_text("kept")
    answer = terminal.run("paper", tmp_path, "--challenge", live.folder)
    assert answer.code == 1
    assert "is not empty; name a new folder" in answer.err
    assert not (tmp_path / "overview.tex").exists()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_the_overview_compiles(live: Live, terminal: Terminal, tmp_path: Path) -> None:
    """With hostile names, too."""
    (live.folder / "submissions" / "main" / r"a \input{x} $%#~^{}").mkdir()
    (live.folder / "submissions" / "main" / r"a \input{x} $%#~^{}" / "20270111T000000Z.txt").write_text(OTHER)
    live.run(day(31))
    written(live, terminal, tmp_path / "paper")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "overview.tex"]
    done = subprocess.run(command, cwd=tmp_path / "paper", capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_systems_have_the_metadata_that_are_public(tmp_path: Path, terminal: Terminal) -> None:
    """In the order of the fields; a value that is never public is nowhere in the folder."""
    live = Live.graded(tmp_path / "live", rules=PUBLIC, phases="")
    (live.folder / "queries.txt").write_text("q1\nq2\nq3\nq4\n")
    fields = (("kind", "now", ""), ("cost", "now", 'type = "number"\nunit = "EUR"\n'), ("hidden", "never", ""))
    with (live.folder / "challenge.toml").open("a") as toml:
        for name, public, more in fields:
            toml.write(f'\n[[metadata]]\nname = "{name}"\ntitle = "The {name}"\npublic = "{public}"\n{more}')
    live.put("amber/1.txt.meta.yaml", "kind: a & b\ncost: 1.50\nhidden: not for the paper\n", day(12))
    live.put("amber/1.txt", GOOD, day(12))
    live.run(day(12))
    texts = written(live, terminal, tmp_path / "paper")
    assert [row[-2:] for row in cells(texts["systems-main.tex"])] == [[r"a \& b", "1.5"]]
    assert "SHA-256 & The kind & The cost (EUR) \\\\" in texts["systems-main.tex"]
    assert not any("not for the paper" in text or "The hidden" in text for text in texts.values())


def test_the_runs_are_in_the_data_if_the_public_archive_has_them(tmp_path: Path) -> None:
    """With a licence, once all is over and revealed; otherwise none of their bytes."""
    found = {}
    for name, entries in (("public", ""), ("private", "publish_submissions = false\n")):
        live = decided(tmp_path / name, entries=entries)
        paper = live.do(END, lambda own, store: store.read(lambda view: paper_files(view, own, store)))
        with ZipFile(io.BytesIO(paper["data.zip"])) as archive:
            found[name] = {path: archive.read(path) for path in archive.namelist()}
    runs = {path: content for path, content in found["public"].items() if "/runs/" in path}
    assert runs["main/runs/amber"] == GOOD.encode()
    assert not [path for path in found["private"] if "/runs/" in path]
    assert runs.keys() <= {line.split("  ")[1] for line in found["public"]["SHA256SUMS"].decode().splitlines()}
