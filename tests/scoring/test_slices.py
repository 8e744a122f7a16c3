"""Slices: how a file of them is read, and the means over the queries of each label."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.lists.slices import LONGEST_LABEL, MOST_LABELS, read_slices
from tests.commands import Terminal
from tests.strategies import examples

QUERIES = ["q1", "q2", "q,3", 'q"4']
SOLUTION = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}, "q,3": {"d": 1}, 'q"4': {"e": 0}}
RUN = {"q1": ["x", "a"], "q2": ["c", "x", "b"], 'q"4': ["e"]}


@given(
    st.lists(st.tuples(st.sampled_from(QUERIES), st.sampled_from(["de", "hard, new", "é"])), min_size=1, unique=True)
)
@examples(50)
def test_the_means_of_slices_are_those_of_a_loop(rows: list[tuple[str, str]]) -> None:
    """Over the queries of each label whose score is defined; a query may have several labels."""
    evaluation = scorer.evaluate(SOLUTION, RUN, ["RR", "nDCG@2"])
    scores = evaluation.by_query()
    labels = list(dict.fromkeys(label for _, label in rows))

    found = evaluation.by_slice({label: [query for query, other in rows if other == label] for label in labels})

    assert list(found) == labels
    for label in labels:
        for measure in ("RR", "nDCG@2"):
            own = [scores[query][measure] for query, other in rows if other == label]
            defined = [score for score in own if not math.isnan(score)]
            expected = sum(defined) / len(defined) if defined else math.nan
            assert found[label][measure] == pytest.approx(expected, nan_ok=True)


@given(
    st.lists(st.tuples(st.sampled_from(QUERIES), st.sampled_from(["de", "hard, new", "é"])), min_size=1, unique=True)
)
@examples(30)
def test_a_file_of_slices_is_that_of_the_csv_module(rows: list[tuple[str, str]]) -> None:
    """With any quotes, ends of lines, a byte order mark, and the names of the columns or without them."""
    masks = {label: [(query, label) in rows for query in QUERIES] for _, label in rows}
    for end in ("\n", "\r\n"):
        for head in ([], [("query", "label")]):
            text = io.StringIO()
            csv.writer(text, lineterminator=end).writerows(head + rows)
            path = Path("slices.csv")
            path.write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())
            read = read_slices(path, QUERIES)
            assert {part.label: part.inside.tolist() for part in read} == masks
            assert [part.size for part in read] == [sum(mask) for mask in masks.values()]


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("slices"))


def test_tabs_separate_columns_without_quotes() -> None:
    """If the first line has one."""
    Path("slices.tsv").write_text('q,3\tde\nq"4\ta "b"\n', encoding="utf-8")

    assert [(part.label, np.flatnonzero(part.inside).tolist()) for part in read_slices("slices.tsv", QUERIES)] == [
        ("de", [2]),
        ('a "b"', [3]),
    ]


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"q1,de\nq9,de\nq1,de\n", ['2: query "q9" is not in the solution', '3: query "q1" is listed again as "de"']),
        (b"q1,de\nq1\n\nq2,a,b\n", ["2: found 1 column; expected 2", "4: found 3 columns; expected 2"]),
        (b"q1, \n", ['1: found the label ""; expected 1 to 60 printable']),
        ("q1,a\u202eb\n".encode(), ['1: found the label "a\\u202eb"']),
        (b"q1,%s\n" % (b"x" * (LONGEST_LABEL + 1)), ["1: found the label"]),
        (b'q1,"a\nb"\n', ['2: found the label "a\\nb"']),
        (b'q1,"a"b\n', ["is not valid CSV"]),
        (b"q1,\xff\n", ["the file is not text in UTF-8"]),
        (b"", ["lists no query"]),
        (b"query,label\n", ["lists no query"]),
        (b"".join(b"q1,%d\n" % label for label in range(MOST_LABELS + 1)), [f"{MOST_LABELS + 1}: the label"]),
    ],
)
def test_an_invalid_file_is_an_error_with_all_its_lines(content: bytes, messages: list[str]) -> None:
    """Each with its line, and text from the file is printable."""
    Path("slices.csv").write_bytes(content)

    with pytest.raises(scorer.SolutionError) as error:
        read_slices("slices.csv", QUERIES)

    lines = str(error.value).splitlines()
    assert len(lines) == len(messages)
    assert all(message in line for message, line in zip(messages, lines, strict=True))
    assert str(error.value).replace("\n", "").isprintable()


FILES = {
    "qrels.txt": "q1 1 a 1\nq2 0 b 1\nq3 0 c 1\n",
    "low.txt": "q1 Q0 x 1 2 low\nq1 Q0 a 2 1 low\nq2 Q0 b 1 1 low\n",
    "high.txt": "q1 Q0 a 1 2 high\nq2 Q0 b 1 1 high\n",
    "slices.csv": "query,label\nq1,de\nq2,fr\nq3,fr\nq1,hard\n",
}


def test_evaluate_prints_the_means_of_slices(terminal: Terminal) -> None:
    """A row for each label, then that of all queries; side by side too."""
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    call = ("evaluate", "qrels.txt", "low.txt", "high.txt", "-m", "RR", "--slices", "slices.csv")

    assert [line.split() for line in terminal.run(*call).out.splitlines()] == [
        ["submission", "slice", "queries", "RR"],
        *(["low", "de", "1", "0.5000"], ["low", "fr", "2", "0.5000"], ["low", "hard", "1", "0.5000"]),
        ["low", "all", "3", "0.5000"],
        *(["high", "de", "1", "1.0000"], ["high", "fr", "2", "0.5000"], ["high", "hard", "1", "1.0000"]),
        ["high", "all", "3", "0.6667"],
    ]
    beside = [line.split() for line in terminal.run(*call, "--side-by-side").out.splitlines()]
    assert beside[:2] == [["measure", "slice", "queries", "low", "high"], ["RR", "de", "1", "0.5000", "1.0000"]]
    document = json.loads(terminal.run(*call, "--format", "json", "-q").out)
    assert document["submissions"][1]["slices"]["fr"] == {"queries": 2, "scores": {"RR": 0.5}}
    for wrong in (("-q",), ("--format", "trec")):
        refused = terminal.run(*call, *wrong)
        assert (refused.code, refused.out) == (2, "")
        assert "--slices: " in refused.err


def test_a_report_has_a_part_for_each_slice(terminal: Terminal) -> None:
    """Its means are those of `evaluate`, and a slice without a score of a submission is left out with a note."""
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    files = ("low.txt", "high.txt", "-m", "RR", "--slices", "slices.csv")
    report = ("report", "--solution", "qrels.txt", *files, "--format", "json")
    document = json.loads(terminal.run("evaluate", "qrels.txt", *files, "--format", "json").out)

    tasks = {task["task"]: task for task in json.loads(terminal.run(*report).out)["tasks"]}

    assert list(tasks) == ["RR", "RR, de", "RR, fr", "RR, hard"]
    for label in ("de", "fr", "hard"):
        found = {name: row["value"] for name, row in tasks[f"RR, {label}"]["rules"]["mean"].items()}
        assert found == {each["tag"]: each["slices"][label]["scores"]["RR"] for each in document["submissions"]}
    skipping = terminal.run(*report, "--missing", "skip")
    assert [task["task"] for task in json.loads(skipping.out)["tasks"]] == ["RR", "RR, de", "RR, fr", "RR, hard"]
    Path("slices.csv").write_text("q3,none\nq1,de\n", encoding="utf-8")
    skipping = terminal.run(*report, "--missing", "skip")
    assert [task["task"] for task in json.loads(skipping.out)["tasks"]] == ["RR", "RR, de"]
    text = terminal.run(*report, "--missing", "skip", "--format", "markdown").out
    assert 'The slice "none" is left out' in text
    assert "--slices is for files" in terminal.run("report", ".", "--slices", "slices.csv").err
