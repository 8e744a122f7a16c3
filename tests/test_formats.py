"""The formats: what each reads, how a file's format is told, and what is said of a file that cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from scorer.challenge import FormatName
from scorer.errors import SHOWN, Findings
from scorer.formats import FORMATS, Unreadable, opened
from scorer.formats.text import LONGEST_LINE


def rows(content: bytes | str, tmp_path: Path, *, solution: bool = False, name: str | None = None) -> Any:
    """What the format reads from the content: (query, item, number) rows, and the findings as lines."""
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    findings = Findings()
    found: list[tuple[Any, ...]] = []
    with opened(path, name, "submission_format") as (told, head, blocks):
        read = told.graded(head) if solution else told.ranked(head)
        for batch in (read(block, findings) for block in blocks):
            row = batch.row_of_item
            numbers = batch.grade if solution else batch.run_score if batch.rank is None else batch.rank  # type: ignore[union-attr]
            values = [None] * len(row) if numbers is None else numbers.tolist()
            queries = batch.query.take(row).to_pylist()
            found += zip(queries, batch.item.to_pylist(), values, strict=True)
    return found, findings.lines()


SAME_RANKING = {
    "vlnet": "q1:b,a\nq2:c\n",
    "trec": "q1 Q0 b 1 2.5 run\nq1 Q0 a 2 1 run\nq2 Q0 c 1 -3e2 run\n",
    "csv": "query,item,score\nq1,b,2.5\nq1,a,1\nq2,c,-300\n",
    "tsv": "item\tquery\trank\nb\tq1\t1\na\tq1\t2\nc\tq2\t1\n",
    "semicolons": "qid;docno;Score\nq1;b;2.5\nq1;a;1\nq2;c;-300\n",
}


@pytest.mark.parametrize("content", SAME_RANKING.values(), ids=SAME_RANKING.keys())
def test_each_format_reads_the_same_ranking(content: str, tmp_path: Path) -> None:
    """One ranking in five notations gives the same items, and the format is told from the content."""
    found, problems = rows(content, tmp_path)

    assert [row[:2] for row in found] == [("q1", "b"), ("q1", "a"), ("q2", "c")]
    assert problems == []


SAME_SOLUTION = {
    "vlnet": "q1:1:b|2.5,a|1\nq2:0:c|0\n",
    "trec": "q1 0 b 2.5\nq1 0 a 1\nq2 0 c 0\n",
    "csv": "query,item,grade,flag\nq1,b,2.5,1\nq1,a,1,1\nq2,c,0,0\n",
}


@pytest.mark.parametrize("content", SAME_SOLUTION.values(), ids=SAME_SOLUTION.keys())
def test_each_format_reads_the_same_solution(content: str, tmp_path: Path) -> None:
    """Grades are kept as real numbers in every format."""
    assert rows(content, tmp_path, solution=True) == ([("q1", "b", 2.5), ("q1", "a", 1.0), ("q2", "c", 0.0)], [])


FORGIVEN = {
    "CR LF": lambda text: text.replace("\n", "\r\n"),
    "no last line end": lambda text: text.rstrip("\n"),
    "blank lines": lambda text: "\n" + text.replace("\n", "\n \n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "gzip": lambda text: gzip.compress(text.encode()),
    "two gzip members": lambda text: gzip.compress(text[:9].encode()) + gzip.compress(text[9:].encode()),
}


@pytest.mark.parametrize("change", FORGIVEN.values(), ids=FORGIVEN.keys())
@pytest.mark.parametrize("content", SAME_RANKING.values(), ids=SAME_RANKING.keys())
def test_how_a_file_was_saved_does_not_matter(content: str, change: Any, tmp_path: Path) -> None:
    """Line ends, a byte order mark, blank lines and gzip change nothing."""
    assert rows(change(content), tmp_path) == rows(content, tmp_path)


@pytest.mark.parametrize(
    "content",
    [" q1 : b , a \nq2:c,\n", "q1\t Q0  b 1\t2.5 run\n q1 Q0 a 2 1 run \nq2 Q0 c 1 -3e2 run with a tail\n"],
    ids=["vlnet", "trec"],
)
def test_white_space_is_forgiven(content: str, tmp_path: Path) -> None:
    """Spaces around ids, a comma at the end of a line, and any white space between TREC's columns."""
    found, problems = rows(content, tmp_path)

    assert [row[:2] for row in found] == [("q1", "b"), ("q1", "a"), ("q2", "c")]
    assert problems == []


def test_ids_stay_text(tmp_path: Path) -> None:
    """Ids that look like numbers, blanks or comments are taken as they are written."""
    found, _ = rows("007 Q0 NA 1 2 t\n007 Q0 #0 2 1 t\nnan Q0 1677128#0 1 1 t\n", tmp_path)

    assert [row[:2] for row in found] == [("007", "NA"), ("007", "#0"), ("nan", "1677128#0")]


def test_comment_lines_of_trec_files_are_left_out(tmp_path: Path) -> None:
    """A line that starts with # is a comment, also twice in a row and at the end."""
    found, problems = rows("# a\n# b\nq Q0 x 1 1 t\n#\n", tmp_path)

    assert (found, problems) == ([("q", "x", 1.0)], [])


def test_quoted_ids_hold_delimiters(tmp_path: Path) -> None:
    """In a table, quotes protect delimiters, and a doubled quote is one."""
    found, _ = rows('query,item,score\n"q,1","say ""x""",1\nq2,<script>,2\n', tmp_path)

    assert found == [("q,1", 'say "x"', 1.0), ("q2", "<script>", 2.0)]


def test_ids_in_tables_lose_the_spaces_around_them(tmp_path: Path) -> None:
    """What looks like the same id is the same id, also where it is quoted; within an id, spaces stay."""
    plain, _ = rows("query , item, score\nq1, a b ,1\n q1,c,0.5\n", tmp_path)
    quoted, _ = rows('query,item,score\n"q1 "," a b",1\nq1,c,0.5\n', tmp_path)

    assert plain == quoted == [("q1", "a b", 1.0), ("q1", "c", 0.5)]


def test_the_first_problems_of_a_file_are_shown(tmp_path: Path) -> None:
    """Whatever they are: those of the lowest lines, in the order of the lines."""
    _, problems = rows("q:a,,b\n" * 15 + "no colon\n" * 15 + "r:a,,b\n" * 15, tmp_path, name="vlnet")

    assert [problem.partition(":")[0] for problem in problems] == [*map(str, range(1, SHOWN + 1)), "and 25 more"]


@pytest.mark.parametrize("content", SAME_RANKING.values(), ids=SAME_RANKING.keys())
def test_the_fast_way_and_the_slow_way_read_the_same(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block whose lines are all alike is read at once; line by line it gives the same."""
    fast = rows(content, tmp_path)
    monkeypatch.setattr("scorer.formats.regular.columns", lambda *_, **__: None)

    assert rows(content, tmp_path) == fast


ODD_BLOCKS = {
    "a comment": "q Q0 a 1 2 t\n#c Q0 b 2 1 t\n",
    "a tab among spaces": "q Q0 a 1 2 t\nq\tQ0 b 2 1 t\n",
    "two spaces": "q Q0 a 1 2 t\nq  Q0 b 2 1 t\n",
    "a blank line": "q Q0 a 1 2 t\n\nq Q0 b 2 1 t\n",
    "a seventh column": "q Q0 a 1 2 t\nq Q0 b 2 1 t u\n",
    "spaces before and after": " q Q0 a 1 2 t \nq Q0 b 2 1 t\n",
    "a form feed": "q Q0 a\f1 2 t u\nq Q0 b 2 1 t\n",
    "a quote": 'q Q0 a" 1 2 t\nq Q0 b 2 1 t\n',
    "words for nothing": "null Q0 NaN 1 2 t\nNA Q0 null 2 1 t\n",
}


@pytest.mark.parametrize("content", ODD_BLOCKS.values(), ids=ODD_BLOCKS.keys())
def test_what_is_not_quite_regular_is_read_all_the_same(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast way is gone only where it leads to the same rows."""
    found = rows(content, tmp_path, name="trec")
    monkeypatch.setattr("scorer.formats.regular.columns", lambda *_, **__: None)

    assert rows(content, tmp_path, name="trec") == found


def test_line_numbers_survive_the_fast_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header and blocks that end anywhere: every row still knows its line."""
    monkeypatch.setattr("scorer.formats.text.BLOCK", 64)
    path = tmp_path / "file"
    path.write_text("query,item,score\n" + "".join(f"q,i{number},1\n" for number in range(40)), encoding="utf-8")
    numbers: list[int] = []
    with opened(path, None, "submission_format") as (told, head, blocks):
        read = told.ranked(head)
        for block in blocks:
            numbers += read(block, Findings()).line.tolist()

    assert numbers == list(range(2, 42))


FAULTS = {
    "no colon": ("q1:a\nq2;b\n", '2: found "q2;b"; expected "query:item,item,..."'),
    "no query": (":a\nq2:b\nq3:c\n", '1: found ":a"; expected "query:item,item,..."'),
    "empty item": ("q1:a,,b\nq2:,b\n", "1: item 2 of the list is empty; expected an item between the commas"),
    "space in an item": ("q1:a b\nq2:c\n", '1: item "a b" holds a space; is a comma missing?'),
    "five columns": ("q Q0 a 1 1 t\nq Q0 b 2 1\n", '2: found "q Q0 b 2 1"; expected six columns, "query Q0 item rank'),
    "score no number": ("q Q0 a 1 x t\nq Q0 b 2 1 t\nq Q0 c 2 1 t\n", '1: found "x" as the score; expected a finite'),
    "score not finite": ("q Q0 a 1 1e999 t\n", '1: found "1e999" as the score; expected a finite number'),
    "columns missing": ("query,item,score\nq,a,1\nq,b\n", '3: found "q,b"; expected 3 columns, as in the header'),
    "open quote": ('query,item,score\nq,"a,1\nq,b,1\n', '2: found "q,\\"a,1"; expected every quote closed on its line'),
    "empty id": ("query,item,score\n,a,1\n", '2: found "" in the column query; expected an id'),
    "rank too large": ("query,item,rank\nq,a,1e30\nq,b,1\n", '2: found "1e30" in the column rank; expected a whole'),
    "rank below 0": ("query,item,rank\nq,a,-1\nq,b,1\n", '2: found "-1" in the column rank; expected a whole number'),
    "rank no whole number": (
        "query,item,rank\nq,a,1.5\n",
        '2: found "1.5" in the column rank; expected a whole number',
    ),
}


@pytest.mark.parametrize(("content", "told"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_line_is_told_by_number(content: str, told: str, tmp_path: Path) -> None:
    """The line, what was found and what was expected."""
    _, problems = rows(content, tmp_path)

    assert problems[0].startswith(told)


SOLUTION_FAULTS = {
    "flag": ("q1:2:a|1\nq2:0:b|1\n", '1: found "2" as the flag; expected 1 (preliminary) or 0'),
    "no flag": ("q1:a|1\nq2:0:b|1\n", '1: found "q1:a|1"; expected "query:flag:item|score,item|score,..."'),
    "no score": ("q1:1:a,b|1\n", '1: found "a"; expected item|score, with a finite number'),
    "score not finite": ("q1:1:a|inf\n", '1: found "a|inf"; expected item|score, with a finite number'),
    "no item": ("q1:1:|3\n", '1: found "|3"; expected item|score, with a finite number'),
    "qrels with words": ("q 0 a 1\nq 0 b high\nq 0 c 1\n", '2: found "high" as the grade; expected a finite number'),
    "flag column": ("query,item,grade,flag\nq,a,1,maybe\n", '2: found "maybe" in the column flag; expected 1'),
}


@pytest.mark.parametrize(("content", "told"), SOLUTION_FAULTS.values(), ids=SOLUTION_FAULTS.keys())
def test_a_faulty_line_of_a_solution_is_told_by_number(content: str, told: str, tmp_path: Path) -> None:
    """Likewise for solutions."""
    _, problems = rows(content, tmp_path, solution=True)

    assert problems[0].startswith(told)


def test_all_problems_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    """A thousand faults make twenty lines, and one that says how many more there are."""
    _, problems = rows("q0:a\n" * 1500 + "q1;\n" * 1000, tmp_path)

    assert len(problems) == SHOWN + 1
    assert problems[0].startswith("1501: ")
    assert problems[-1] == "and 980 more"


UNREADABLE = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \r\n\n", "the file is empty"),
    "UTF-16": ("q:a\n".encode("utf-16"), "the file is in UTF-16; save it as UTF-8"),
    "UTF-16 without a mark": ("q:a\n".encode("utf-16-le"), "a NUL byte; the file is binary"),
    "binary": (bytes(range(256)), "a NUL byte; the file is binary"),
    "Latin-1": ("q1:a\nq2:café\n".encode("latin-1"), "byte 0xe9 at column 7 is not UTF-8"),
    "lines end with CR": (b"q1:a\rq2:b\r", "a carriage return within a line"),
    "cut gzip": (gzip.compress(b"q:a\n" * 9999)[:50], "the compressed file is cut short"),
    "damaged gzip": (gzip.compress(b"q:a\n")[:-8] + b"12345678", "the compressed file is damaged"),
    "prose": (b"This is\nno list at all\n", 'the format cannot be told from "This is"; expected lines like '),
    "a line without end": (b"q:" + b"a," * LONGEST_LINE, "the line is longer than 16 MiB"),
}


@pytest.mark.parametrize(("content", "told"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_is_no_text_is_told_in_words(content: bytes, told: str, tmp_path: Path) -> None:
    """What is wrong, and what to do."""
    with pytest.raises(Unreadable) as caught:
        rows(content, tmp_path)

    assert told in str(caught.value)


def test_a_gzip_bomb_is_refused_before_it_bursts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed file that grows out of all proportion is not read to its end."""
    monkeypatch.setattr("scorer.formats.text.BLOCK", 1 << 16)

    with pytest.raises(Unreadable, match="grows to more than 300 times its size"):
        rows(gzip.compress(b"q:a\n" * (1 << 20)), tmp_path)


def test_what_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    """A folder, and nothing at all."""
    for path, told in ((tmp_path, "a folder"), (tmp_path / "none", "no such file")):
        with pytest.raises(Unreadable, match=told), opened(path, None, "submission_format"):
            pass


def test_a_named_format_is_not_guessed(tmp_path: Path) -> None:
    """A name overrides what the content looks like."""
    _, problems = rows("q Q0 a 1 1 t\n", tmp_path, name="vlnet")

    assert problems == ['1: found "q Q0 a 1 1 t"; expected "query:item,item,..."']


def test_blocks_do_not_change_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file read in small pieces gives the same rows and line numbers as one read at once."""
    lines = [f"q{number // 7} Q0 d{number} 1 {number if number % 50 else 'x'} t\n" for number in range(500)]
    whole = rows("".join(lines), tmp_path)
    monkeypatch.setattr("scorer.formats.text.BLOCK", 101)

    assert rows("".join(lines), tmp_path) == whole
    assert len(whole[1]) == 10


def test_numbers_are_read_to_the_nearest_float(tmp_path: Path) -> None:
    """Scores that differ in the last digit of a float64 stay apart."""
    texts = ["0.1", "0.10000000000000002", "1e-300", "+5", ".5", "5.", "-0"]
    found, _ = rows("".join(f"q Q0 d{at} 1 {text} t\n" for at, text in enumerate(texts)), tmp_path)

    assert [row[2] for row in found] == [float(text) for text in texts]
    assert np.signbit(found[-1][2])


def test_every_format_says_what_its_lines_look_like() -> None:
    """Messages and help are made from these; challenge.toml allows just these names."""
    assert set(get_args(FormatName)) == set(FORMATS)
    for name, format_ in FORMATS.items():
        assert name == format_.NAME
        assert format_.SOLUTION
        assert format_.SUBMISSION
