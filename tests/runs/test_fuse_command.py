"""``scorer fuse``: files, formats, compression, tuning, and what it refuses."""

from __future__ import annotations

import gzip
import sys
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.lists.detection import format_named
from scorer.runs import Run, for_each_part
from scorer.runs.fuse import METHODS, NORMALISATIONS, FusedCounts, Fusion, fused_rows, trec_lines
from tests.commands import Terminal, process
from tests.strategies import examples

A = "q1 Q0 d1 1 9.5 a\nq1 Q0 d2 2 7 a\nq2 Q0 d1 1 3 a\n"
B = "q1 Q0 d3 1 0.9 b\nq1 Q0 d1 2 0.5 b\n"
FUSED = "q1 Q0 d1 1 1.5 scorer\nq1 Q0 d3 2 1 scorer\nq1 Q0 d2 3 0.5 scorer\nq2 Q0 d1 1 1 scorer\n"
"""With rrf and k 0."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs and qrels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.run").write_text(A, encoding="utf-8")
    (tmp_path / "b.run").write_text(B, encoding="utf-8")
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d3 2\nq2 0 d1 1\n", encoding="utf-8")
    return tmp_path


def test_a_fused_run_is_printed(files: Path, terminal: Terminal) -> None:
    """With a message on what the runs lack."""
    answer = terminal.run("fuse", "a.run", "b.run", "-p", "k=0")

    assert (answer.code, answer.out) == (0, FUSED)
    assert answer.err == "b.run: no list for 1 query that other runs have\n"


@pytest.mark.parametrize(
    "name", ["f.run", "f.run.gz", "f.run.xz", "f.txt.zst", "f", "f.csv", "f.parquet", "f.jsonl.gz"]
)
def test_the_name_determines_format_and_compression(files: Path, terminal: Terminal, name: str) -> None:
    """Every file has the same scores; the same content has the same bytes."""
    assert terminal.run("fuse", "a.run", "b.run", "-p", "k=0", "-o", name).code == 0
    first = (files / name).read_bytes()
    assert terminal.run("fuse", "a.run", "b.run", "-p", "k=0", "-o", name).code == 0

    assert (files / name).read_bytes() == first
    assert terminal.run("convert", name, "back.run", "--kind", "submission").code == 0
    assert (files / "back.run").read_text(encoding="utf-8") == FUSED
    assert sorted(path.name for path in files.iterdir()) == sorted(["a.run", "b.run", "qrels", name, "back.run"])


def test_a_format_can_be_named(files: Path, terminal: Terminal) -> None:
    """With options; gzip has neither a time nor a name."""
    assert terminal.run("fuse", "a.run", "b.run", "-o", "f.gz", "--to", "delimited:query=topic").code == 0

    assert gzip.decompress((files / "f.gz").read_bytes()).startswith(b"topic,item,score\nq1,d1,0.0")
    assert terminal.run("fuse", "a.run", "b.run", "-o", "f.dat", "--to", "parquet:item=paper").code == 0
    assert terminal.run("evaluate", "qrels", "f.dat", "-m", "AP", "--submission-format", "parquet:item=paper").code == 0


def test_the_output_may_be_one_of_the_runs(files: Path, terminal: Terminal) -> None:
    """It is replaced when it is complete."""
    assert terminal.run("fuse", "a.run", "b.run", "-p", "k=0", "-o", "a.run").code == 0

    assert (files / "a.run").read_text(encoding="utf-8") == FUSED


def test_standard_input_is_read_once(files: Path, terminal: Terminal) -> None:
    """As one run of several."""
    assert terminal.run("fuse", "-", "-").code == 2

    answer = process("fuse", "a.run", "-", "-p", "k=0", prefix=("sh", "-c", 'exec "$@" < b.run', "sh"))
    assert (answer.code, answer.out) == (0, FUSED)


def test_an_invalid_run_leaves_no_file(files: Path, terminal: Terminal) -> None:
    """Its errors are printed with their lines."""
    (files / "b.run").write_text(B + "q2 Q0 d1 1 x b\n", encoding="utf-8")

    answer = terminal.run("fuse", "a.run", "b.run", "-o", "f.run")

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith('b.run:3: found "x" as the score')
    assert not (files / "f.run").exists()


def test_a_file_that_cannot_be_written_is_one_message(files: Path, terminal: Terminal) -> None:
    """So is an id that the format cannot hold."""
    answer = terminal.run("fuse", "a.run", "b.run", "-o", "none/f.run")
    assert (answer.code, answer.err) == (1, "none/f.run: cannot be written: No such file or directory\n")

    (files / "c.csv").write_text("query,item,score\nq1,d 1,3\n", encoding="utf-8")
    answer = terminal.run("fuse", "a.run", "c.csv", "-o", "f.run")
    assert answer.code == 1
    assert 'the id "d 1" of an item holds " "; trec cannot hold that' in answer.err
    assert not (files / "f.run").exists()


def test_tuning_reports_the_best_value_and_all_trials(files: Path, terminal: Terminal) -> None:
    """The fused run has that value."""
    answer = terminal.run(
        *("fuse", "a.run", "b.run", "--method", "wsum", "--solution", "qrels", "-m", "nDCG@10", "--step", "0.25"),
        *("--trials", "trials.csv", "-o", "f.run"),
    )

    assert answer.code == 0
    assert answer.err.startswith("weights=0.5,0.5: nDCG@10 1.0000, the best of 5 trials\n")
    lines = (files / "trials.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "weight_1,weight_2,nDCG@10"
    assert lines[3] == "0.5,0.5,1.0"
    assert scorer.evaluate(files / "qrels", files / "f.run", "nDCG@10")["nDCG@10"] == 1.0


def test_all_methods_and_normalisations_are_listed(terminal: Terminal) -> None:
    """With what they compute."""
    text = terminal.run("fuse", "--methods").out

    assert all(f"--method {method.usage}" in text and method.summary in text for method in METHODS)
    assert all(f"--norm {each.name}" in text and each.summary in text for each in NORMALISATIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run"], "found 1 run; expected two or more to fuse"),
        (["a.run", "b.run", "--method", "rff"], "(did you mean rrf?)"),
        (["a.run", "b.run", "-p", "k"], "expected NAME=VALUE"),
        (["a.run", "b.run", "-p", "k=1", "-p", "k=2"], "given twice"),
        (["a.run", "b.run", "--weights", "1,2"], "rrf has no parameter"),
        (["a.run", "b.run", "--solution", "qrels"], "needs both"),
        (["a.run", "b.run", "--trials", "t.csv"], "are for tuning"),
        (["a.run", "b.run", "--solution", "qrels", "-m", "none"], "--measure: "),
        (["a.run", "b.run", "--solution", "qrels", "-m", "AP", "-p", "k=1"], "leave it out"),
        (["a.run", "-", "--solution", "qrels", "-m", "AP"], "reads the runs twice"),
        (["a.run", "b.run", "--to", "nothing"], "--to: no format is called"),
        (["a.run", "b.run", "--depth", "0"], "expected a whole number of 1 or more"),
    ],
)
def test_wrong_arguments_exit_with_2(files: Path, terminal: Terminal, arguments: list[str], message: str) -> None:
    """In two lines."""
    answer = terminal.run("fuse", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert len(answer.err.splitlines()) == 2


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(numbers, min_size=1, max_size=20))
@examples(15)
def test_written_scores_are_read_as_the_same_numbers(drawn: list[float]) -> None:
    """Every digit that is needed is written."""
    parts: list[tuple[pa.RecordBatch, FusedCounts]] = []
    run = {"q": {f"d{number}": score for number, score in enumerate(drawn)}}
    fused = partial(fused_rows, Fusion.named("max", "none", {}, 2), None)

    for_each_part([Run.of(run), Run.of({"q": {"d0": drawn[0]}})], fused, parts)

    rows = [line.split() for piece in trec_lines(parts[0][0]) for line in bytes(piece).decode().splitlines()]
    assert {row[2]: float(row[4]) for row in rows} == run["q"]
    assert [int(row[3]) for row in rows] == list(np.arange(1, len(rows) + 1))


def test_standard_output_gets_other_formats(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is written at the end."""
    out = TextIOWrapper(BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    from scorer.runs import runs_of
    from scorer.runs.fuse import fuse_to

    fuse_to(
        runs_of(["a.run", "b.run"], None), Fusion.named("rrf", None, {"k": 0}, 2), 1, out.buffer, format_named("jsonl")
    )

    assert out.buffer.getvalue().decode().count("\n") == 2
