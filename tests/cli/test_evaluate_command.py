"""`scorer evaluate` and `scorer compare` for people: lists of measures, names of runs, order, and hints."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from scorer.lists.detection import run_tag
from scorer.lists.reading.blocks import SAMPLE_BYTES
from scorer.measures import DEFAULT_MEASURES
from tests.commands import Terminal, process

QRELS = "q1 0 a 1\nq2 0 b 1\n"
RUNS = {
    "low.txt": "q1 Q0 x 1 2 bm25\nq1 Q0 a 2 1 bm25\nq2 Q0 b 1 1 bm25\n",
    "high.txt": "q1 Q0 a 1 2 dense\nq2 Q0 b 1 1 dense\nq2 Q0 x 2 0 dense\n",
    "none.txt": "q1 Q0 x 1 2 other\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with qrels and three runs."""
    for name, text in {"qrels.txt": QRELS, **RUNS}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(text: str) -> list[str]:
    """The first column of a table, without its head."""
    return [line.split()[0] for line in text.splitlines()[1:]]


# Measures


def test_a_few_measures_are_the_default(folder: Path, terminal: Terminal) -> None:
    """Those of the library; the help names them."""
    assert terminal.run("evaluate", "qrels.txt", "low.txt").out.splitlines()[0].split()[1:] == list(DEFAULT_MEASURES)
    assert ",".join(DEFAULT_MEASURES) in terminal.run("evaluate", "--help").out


# Names


def test_rows_have_the_tags_of_runs(folder: Path, terminal: Terminal) -> None:
    """In all forms. JSON has the path and the tag."""
    files = ("qrels.txt", "low.txt", "high.txt", "-m", "RR")

    assert rows(terminal.run("evaluate", *files).out) == ["bm25", "dense"]
    for form in ("markdown", "latex", "csv"):
        text = terminal.run("evaluate", *files, "--format", form).out
        assert "bm25" in text
        assert "low.txt" not in text
    assert terminal.run("evaluate", *files, "--format", "trec").out.splitlines()[0].split() == ["runid", "all", "bm25"]
    assert terminal.run("evaluate", *files, "--side-by-side").out.split()[:3] == ["measure", "bm25", "dense"]
    document = json.loads(terminal.run("evaluate", *files, "--format", "json").out)
    assert [(each["submission"], each["tag"]) for each in document["submissions"]] == [
        ("low.txt", "bm25"),
        ("high.txt", "dense"),
    ]
    by_path = terminal.run("evaluate", *files, "--format", "csv", "--names", "path").out
    assert [line.split(",")[0] for line in by_path.splitlines()] == ["submission", "low.txt", "high.txt"]


@pytest.mark.parametrize("text", ["q1 Q0 a 1 2 bm25\n", "q1:a\n"], ids=["equal", "none"])
def test_all_rows_have_paths_unless_each_has_another_tag(text: str, folder: Path, terminal: Terminal) -> None:
    """If two are equal, or one is missing. On request, a note says so."""
    (folder / "again.txt").write_text(text, encoding="utf-8")
    files = ("evaluate", "qrels.txt", "low.txt", "again.txt", "-m", "RR")

    default, requested = terminal.run(*files), terminal.run(*files, "--names", "tag")

    assert rows(default.out) == rows(requested.out) == ["low.txt", "again.txt"]
    assert "--names" not in default.err
    assert "--names tag: " in requested.err


def test_rows_can_have_the_names_of_files(folder: Path, terminal: Terminal) -> None:
    """Without their folders, if each has another name."""
    (folder / "other").mkdir()
    (folder / "other" / "low.txt").write_text(RUNS["none.txt"], encoding="utf-8")

    def names(*files: str | Path) -> list[str]:
        return rows(terminal.run("evaluate", "qrels.txt", *files, "-m", "RR", "--names", "file").out)

    assert names(folder / "low.txt", folder / "high.txt") == ["low.txt", "high.txt"]
    assert names("low.txt", "other/low.txt") == ["low.txt", "other/low.txt"]
    assert rows(terminal.run("evaluate", "qrels.txt", "low.txt", "--names", "path").out) == ["low.txt"]


def test_standard_input_has_no_tag(folder: Path) -> None:
    """It can be read only once."""
    program = "import os, sys; os.dup2(os.open('low.txt', os.O_RDONLY), 0)\nfrom scorer.cli import main; main()"

    assert rows(process("evaluate", "qrels.txt", "-", "-m", "RR", program=program).out) == ["-"]


@pytest.mark.parametrize(
    ("content", "tag"),
    [
        ("q1 Q0 a 1 2 bm25\nq1 Q0 b 1 1 dense\n", "bm25"),
        ("\ufeff# a comment\n\nq1\tQ0\ta\t1\t2\tbm25\tmore\n", "bm25"),
        ("q1 Q0 a 1 2 bm25", "bm25"),
        ("q1 0 a 1\n", None),
        ("q1:a,b\n", None),
        ('{"query": "q1", "item": "a", "score": 1}\n', None),
        ("2 qid:1 1:0.5 2:0.1 3:4 # d1\n", None),
        ("q1 Q0 a 1 2 " + "t" * SAMPLE_BYTES, None),
        ("\n" * SAMPLE_BYTES + "q1 Q0 a 1 2 bm25\n", None),
        ("", None),
    ],
)
def test_the_tag_of_a_run(content: str, tag: str | None, tmp_path: Path) -> None:
    """The sixth column of the first row in TREC's format, also of a compressed file."""
    plain, compressed = tmp_path / "run.txt", tmp_path / "run.txt.gz"
    plain.write_text(content, encoding="utf-8")
    compressed.write_bytes(gzip.compress(content.encode()))

    assert run_tag(plain) == run_tag(compressed) == tag
    assert run_tag(plain, "vlnet") is None


@pytest.mark.parametrize("kept", [1, 12, 20])
def test_a_damaged_file_has_no_tag(kept: int, folder: Path, terminal: Terminal) -> None:
    """Its errors are reported as usual."""
    (folder / "cut.gz").write_bytes(gzip.compress(RUNS["low.txt"].encode())[:kept])

    answer = terminal.run("compare", "cut.gz", "high.txt", "--solution", "qrels.txt", "-m", "RR")

    assert run_tag(folder / "cut.gz") is None
    assert answer.code == 1
    assert answer.err.startswith("cut.gz")
    assert run_tag(folder / "absent") is run_tag(folder) is run_tag("-") is None


def test_compare_calls_runs_by_their_tags(folder: Path, terminal: Terminal) -> None:
    """Notes have the paths of the files, and JSON too."""
    arguments = ("compare", "low.txt", "none.txt", "--solution", "qrels.txt", "-m", "RR")

    tags, paths = terminal.run(*arguments), terminal.run(*arguments, "--names", "path")
    document = json.loads(terminal.run(*arguments, "--format", "json").out)

    assert "bm25" in tags.out
    assert "low.txt" not in tags.out
    assert paths.out.replace("low.txt", "bm25").split() == tags.out.replace("other", "none.txt").split()
    assert tags.err == paths.err
    assert tags.err.startswith("none.txt: 1 of 2 queries have no list")
    assert document["algorithms"] == ["bm25", "other"]


# Order


def test_runs_can_be_sorted(folder: Path, terminal: Terminal) -> None:
    """The best first, by the first measure or by another one in any spelling; equal ones in the order given."""
    files = ("evaluate", "qrels.txt", "none.txt", "low.txt", "high.txt", "-m", "P@2,RR", "--names", "path")

    assert rows(terminal.run(*files).out) == ["none.txt", "low.txt", "high.txt"]
    assert rows(terminal.run(*files, "--sort").out) == ["low.txt", "high.txt", "none.txt"]
    for name in ("RR", "recip_rank"):
        assert rows(terminal.run(*files, "--sort-by", name).out) == ["high.txt", "low.txt", "none.txt"]
    document = json.loads(terminal.run(*files, "--sort-by", "RR", "--format", "json").out)
    assert [each["submission"] for each in document["submissions"]] == ["high.txt", "low.txt", "none.txt"]


def test_an_undefined_score_is_sorted_last(folder: Path, terminal: Terminal) -> None:
    """A mean without any query."""
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 0\n", encoding="utf-8")
    (folder / "second.txt").write_text("q2 Q0 b 1 1 t\n", encoding="utf-8")

    answer = terminal.run(
        *("evaluate", "qrels.txt", "second.txt", "low.txt", "-m", "AP"),
        *("--missing", "skip", "--sort", "--names", "path"),
    )

    assert rows(answer.out) == ["low.txt", "second.txt"]


@pytest.mark.parametrize("name", ["AP", "nonsense"])
def test_runs_are_sorted_by_a_requested_measure(name: str, folder: Path, terminal: Terminal) -> None:
    """Any other one is a wrong call."""
    answer = terminal.run("evaluate", "qrels.txt", "low.txt", "-m", "RR", "--sort-by", name)

    assert answer.code == 2
    assert "--sort-by: " in answer.err


# Hints

FILES = {
    "sol.txt": "q1:1:a|3,b|2\nq2:0:d|1\n",
    "sub.txt": "q1:a,b\nq2:x,d\n",
    "grades.csv": "query,item,grade\nq1,a,1\n",
    "scores.csv": "query,item,score\nq1,a,0.5\n",
    "broken.txt": "q1 0 a one two\n",
}


@pytest.fixture
def more(folder: Path) -> Path:
    """The folder with files of other formats, and a challenge."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "contest").mkdir()
    (folder / "contest" / "challenge.toml").write_text("name = 'c'\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("evaluate contest low.txt", 1, "contest: a folder; a file was expected. It is a challenge: `scorer run conte"),
        ("evaluate contest/challenge.toml low.txt", 1, "contest/challenge.toml: the settings of a challenge: `scorer"),
        ("evaluate qrels.txt contest", 1, "contest: a folder; a file was expected. It is a challenge: `scorer run c"),
        ("evaluate", 2, "scorer evaluate: "),
        ("compare low.txt high.txt --solution", 1, "contest: a folder; a file was expected. It is a challenge: `s"),
    ],
)
def test_a_challenge_instead_of_a_file_is_recognised(
    call: str, code: int, message: str, more: Path, terminal: Terminal
) -> None:
    """One line has the command that scores its submissions."""
    words = call.split() if "contest" in call else [*call.split(), "contest"]
    answer = terminal.run(*words, "-m", "AP")

    assert answer.code == code
    assert answer.err.startswith(message)
    assert "`scorer run contest` scores its submissions" in answer.err
    assert code == 2 or "expected " not in answer.err


def test_files_in_the_wrong_order_have_the_errors_of_their_lines(folder: Path, terminal: Terminal) -> None:
    """They say what was expected: a solution, or a submission."""
    answer = terminal.run("evaluate", "low.txt", "qrels.txt", "-m", "AP")

    assert answer.code == 1
    assert answer.err.startswith('low.txt:1: found "q1 Q0 x 1 2 bm25"; expected four columns')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("evalute qrels.txt low.txt", 'scorer: no command is called "evalute"; did you mean evaluate?'),
        ("eval", "; did you mean evaluate?"),
        ("Run", "; did you mean run?"),
        ("re", "; did you mean receipt or rehearse or render?"),
        ("qrels.txt low.txt", "; to score files, write: scorer evaluate qrels.txt SUBMISSION..."),
        ("xyzzy", 'scorer: no command is called "xyzzy"\n'),
        ("evaluate qrels.txt low.txt --mesure AP", "; did you mean --measure?"),
        ("evaluate qrels.txt low.txt --side", "unrecognized arguments: --side; did you mean --side-by-side?"),
        ("evaluate qrels.txt low.txt --xyzzy", "unrecognized arguments: --xyzzy\n"),
        ("evaluate qrels.txt low.txt --per-qery=1", "did you mean --per-query?"),
        ("evaluate qrels.txt low.txt -M100", "-M100; `scorer trec_eval` takes the options of trec_eval"),
    ],
)
def test_the_closest_command_or_option_is_suggested(
    arguments: str, message: str, folder: Path, terminal: Terminal
) -> None:
    """If one is close; the exit code is that of a wrong call."""
    answer = terminal.run(*arguments.split())

    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
