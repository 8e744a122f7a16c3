"""Files that are no ranked lists, or nearly are: what a message says about them, and which of them are read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorer
from scorer.errors import SolutionError, SubmissionError
from scorer.limits import OWN_FILES
from scorer.lists import READ_AS
from scorer.lists.detection import why_unreadable
from tests.commands import Terminal

STRANGE = {
    "HTML": ('<!DOCTYPE html>\n<a href="q1:d1">x:y</a>\n<b>q2:d3</b>\n', "a page in HTML or XML, not the file itself"),
    "an old page": ("\n<html lang=en><p>a:b\n", "a page in HTML or XML"),
    "Git LFS": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "a pointer of Git LFS, not the file itself; fetch that with git lfs pull",
    ),
    "a dict of Python": ("{'q1': {'d1': 0.5}}\n", "a value printed by Python; write it as JSON, with json.dump"),
    "a list of Python": ("[('q1', 'd1', 0.5)]\n", "a value printed by Python"),
    "an object of numbers": ('{"q1": 5}\n', 'JSON of no known form; expected {"query": {"item": number}}, two levels'),
    "a list of texts": ('["d1", "d2"]\n', "JSON of no known form"),
}


@pytest.mark.parametrize(("text", "message"), STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.parametrize("role", ["submission", "solution"])
def test_a_strange_file_is_called_what_it_is(
    text: str, message: str, role: str, qrels_folder: Path, terminal: Terminal
) -> None:
    """It was called vlnet, or its first line was shown."""
    (qrels_folder / "run").write_text(text, encoding="utf-8")
    files = ("q.txt", "run") if role == "submission" else ("run", "q.txt")
    answer = terminal.run("evaluate", *files, "-m", "RR")

    assert answer.code == 1
    assert answer.err.startswith("run:1: found ")
    assert message in answer.err
    assert "vlnet" not in answer.err


@pytest.mark.parametrize("text", ["(q1:d1\nq2:d3\n", "q1:d1\nq2:d3\n"])
def test_lists_are_still_lists(text: str, qrels_folder: Path) -> None:
    """A bracket of another kind is part of an id."""
    (qrels_folder / "run").write_text(text, encoding="utf-8")
    assert scorer.evaluate("q.txt", "run", "RR")["RR"] == (0.5 if text[0] == "(" else 1)


def test_nested_json_is_refused_with_the_depth(qrels_folder: Path) -> None:
    """As mteb writes it: the name of a subset, then queries, then items."""
    (qrels_folder / "run.json").write_text('{"default": {"q1": {"d1": 0.5}}}', encoding="utf-8")
    expected = (
        'found an object as the score of item "q1"; expected a finite number; the file is nested too deeply: write '
        "query -> item -> number"
    )

    with pytest.raises(SubmissionError) as refused:
        scorer.evaluate("q.txt", "run.json", "RR")
    assert refused.value.findings.shown[0].text == expected


@pytest.mark.parametrize(
    "run",
    [
        '"q1" "Q0" "d1" 1 0.9 "my run"\n"q2" "Q0" "d3" 1 0.9 "my run"\n',
        '"q1" "Q0" "d1" "1" "0.9" "r"\n"q2" "Q0" "d3" "1" "0.9" "r"\n',
    ],
)
def test_a_run_in_quotes_is_read_without_them(run: str, qrels_folder: Path, terminal: Terminal) -> None:
    """As R writes texts; none of its queries was known. Quotes within an id stay."""
    (qrels_folder / "run").write_text(run, encoding="utf-8")
    (qrels_folder / "quoted.qrels").write_text('"q1" 0 "d1" 1\n"q2" 0 "d3" 1\n', encoding="utf-8")
    (qrels_folder / "inch").write_text('q1 Q0 d"1 1 0.9 r\nq2 Q0 d3 1 0.9 r\n', encoding="utf-8")

    answer = terminal.run("evaluate", "q.txt", "run", "-m", "RR")
    assert answer.out.split()[2:] == [run.split()[5].strip('"'), "1.0000"]
    assert scorer.evaluate("quoted.qrels", "run", "RR")["RR"] == 1
    assert scorer.evaluate({"q1": {'d"1': 1}, "q2": {"d3": 1}}, "inch", "RR")["RR"] == 1


@pytest.mark.parametrize(
    ("name", "text"), [("run", "q1 Q0 d1 1 0,9 t\n"), ("run.csv", 'query,item,score\nq1,d1,"0,9"\n')]
)
def test_a_decimal_comma_is_named(name: str, text: str, qrels_folder: Path) -> None:
    """Where a number is expected."""
    (qrels_folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(SubmissionError, match='"0,9" as the score; expected a finite number; write a decimal point'):
        scorer.evaluate("q.txt", name, "RR")


@pytest.mark.parametrize(
    ("known", "written"),
    [("q1", "q1\u200b"), ("q1", "\ufeffq1"), ("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9")],
)
def test_queries_that_only_look_alike_are_counted(known: str, written: str) -> None:
    """In another form of Unicode, or with characters without width: a note; the reason where no query is known."""
    text = "in Unicode's form NFC and without invisible characters, 1 unknown query would be known"
    solution = {known: {"d1": 1}, "q2": {"d3": 1}}
    result = scorer.evaluate(solution, {written: ["d1"], "q2": ["d3"]}, "RR")

    assert result["RR"] == 0.5
    assert text in [note.text for note in result.notes]
    with pytest.raises(SubmissionError, match=text):
        scorer.evaluate(solution, {written: ["d1"]}, "RR")
    assert text not in str(scorer.evaluate(solution, {"other": ["d1"], "q2": ["d3"]}, "RR").notes.shown)


def test_ids_of_queries_that_are_written_as_decimals_are_named() -> None:
    """As a table with a missing value writes whole numbers."""
    solution = {"43": {"d1": 1}, "7": {"d3": 1}, "8": {"d3": 1}}
    text = 'ids of queries are written as decimals: found "43.0", the queries have "43"'
    result = scorer.evaluate(solution, {"43.0": ["d1"], "9.0": ["d1"], "8": ["d3"]}, "RR")

    assert f"{text}; write whole numbers" in [note.text for note in result.notes]
    with pytest.raises(SubmissionError, match=f"none of its queries is known; {text}, and 1 more; write whole numbers"):
        scorer.evaluate(solution, {"43.0": ["d1"], "7.0": ["d1"]}, "RR")
    assert "decimals" not in str(scorer.evaluate({"43.0": {"d1": 1}}, {"43.0": ["d1"]}, "RR").notes.shown)


@pytest.mark.parametrize(
    ("known", "written"), [("d1", "d\u200b1"), ("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9")]
)
def test_items_that_only_look_alike_are_counted(known: str, written: str, tmp_path: Path) -> None:
    """In files and in dicts; an item in the solution, and one that it lacks, are not."""
    lists = {"q1": {"d2": 3.0, written: 2.0, "\u00fc": 1.0}}
    (tmp_path / "run").write_text("".join(f"q1 Q0 {item} 1 {score} t\n" for item, score in lists["q1"].items()))
    solution = {"q1": {known: 1, "d2": 1}}
    notes = [scorer.evaluate(solution, run, "RR").notes.without(READ_AS).lines() for run in (lists, tmp_path / "run")]

    assert notes == 2 * [
        ["in Unicode's form NFC and without invisible characters, 1 more item would be in the solution"]
    ]
    assert scorer.evaluate({"q1": {written: 1}}, lists, "RR").notes.lines() == []


@pytest.mark.parametrize("number", [np.array(1.0), Decimal("0.5"), np.float32(2)], ids=["0-d", "Decimal", "float32"])
def test_numbers_of_every_kind_are_scores_and_grades(number: Any) -> None:
    """A 0-d array raised TypeError, and a Decimal was taken as a submission."""
    assert scorer.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": number}}, "RR")["RR"] == 1
    assert scorer.evaluate({"q1": {"d1": 1}}, [("q1", "d1", number)], "RR")["RR"] == 1
    assert scorer.evaluate({"q1": {"d1": number}}, {"q1": ["d1"]}, "RR")["RR"] == 1


@pytest.mark.parametrize("solution", [{"q1": {"d1": [1]}}, [("q1", "d1", [1])], {"q1": {"d1": [1], "d2": [2]}}])
def test_a_list_is_no_grade(solution: Any) -> None:
    """It raised ValueError, or counted as its only number."""
    with pytest.raises(SolutionError, match=r"not every grade is a number \(found a list\)"):
        scorer.evaluate(solution, {"q1": ["d1"]}, "RR")
    with pytest.raises(SubmissionError, match="lists of items"):
        scorer.evaluate({"q1": {"d1": 1}}, {"q1": np.array("d1")}, "RR")


def test_swapped_files_that_can_be_read_either_way_are_noted(qrels_folder: Path, terminal: Terminal) -> None:
    """Grades that are no whole numbers, and run scores that are."""
    (qrels_folder / "run.json").write_text('{"q1": {"d1": 0.7, "d2": 0.3}}', encoding="utf-8")
    (qrels_folder / "qrels.json").write_text('{"q1": {"d1": 1, "d2": 0}}', encoding="utf-8")
    note = "run.json: looks like a submission, and qrels.json like a solution, so they look swapped"

    assert note in terminal.run("evaluate", "run.json", "qrels.json", "-m", "RR").err
    assert terminal.run("evaluate", "qrels.json", "run.json", "-m", "RR").err == ""


# What the service refuses at the upload


@pytest.mark.parametrize("text", [text for text, _ in STRANGE.values()])
def test_the_beginning_of_a_file_says_that_it_cannot_be_read(text: str, tmp_path: Path) -> None:
    """But a file that may be read, one with errors, and one of a named format pass."""
    file = tmp_path / "file"
    file.write_text(text, encoding="utf-8")

    assert why_unreadable(file, None, OWN_FILES).startswith("found ")
    assert why_unreadable(file, "vlnet", OWN_FILES) == ""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"q1:d1\nq2:\xc3\xa9\n", ""),
        (b"q1 Q0 d1 1 1 t\nq1 Q0 d2 2 x t\n", ""),
        (b"not a list\n", ""),
        (b'{"q1": ["d1"]', ""),
        (b"\n\n \n", "the file is empty"),
        (b"q\0" * 40 + b"\n", "a NUL byte"),
        (b"\x1f\x8b\x08\x00damaged", "the compressed file is"),
        (b"q1:" + b"d,\xc3\xa9" * 100_000, ""),
    ],
)
def test_only_what_cannot_be_read_at_all_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    """Errors in lines are found when the file is scored."""
    (tmp_path / "file").write_bytes(content)
    found = why_unreadable(tmp_path / "file", None, OWN_FILES)

    assert found.startswith(reason) if reason else found == ""
    assert why_unreadable(tmp_path / "absent", None, OWN_FILES) == ""
