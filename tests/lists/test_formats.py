"""The formats: what each reads, the detection of a file's format, and the messages for files that cannot be read."""

from __future__ import annotations

import gzip
import io
import lzma
import re
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import scorer
from scorer.errors import MOST_SHOWN, Findings, SolutionError
from scorer.lists.detection import FORMATS, opened
from scorer.lists.reading.blocks import InaccessibleError, UnreadableError
from scorer.lists.solution import Solution
from scorer.options import FormatName
from scorer.wording import printable
from tests.paths import REAL_DATA


def rows(content: bytes | str, tmp_path: Path, *, solution: bool = False, name: str | None = None) -> Any:
    """Return what the format reads from the content: (query, item, number) rows, and the findings as lines."""
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    findings = Findings()
    found: list[tuple[Any, ...]] = []
    with opened(path, name, "submission_format") as (detected, head, blocks):
        read = detected.graded(head) if solution else detected.ranked(head)
        for batch in (read(block, findings) for block in blocks):
            row = batch.row_of_item
            numbers = batch.grade if solution else batch.run_score if batch.rank is None else batch.rank  # type: ignore[union-attr]
            values = [None] * len(row) if numbers is None else numbers.tolist()
            queries = batch.query.take(row).to_pylist()
            found += zip(queries, batch.item.to_pylist(), values, strict=True)
    return found, findings.lines()


def zstd(content: bytes) -> bytes:
    """Return the content compressed by Zstandard."""
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


def table(**columns: Any) -> bytes:
    """Return a Parquet file with these columns."""
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


SAME_RANKING = {
    "vlnet": "q1:b,a\nq2:c\n",
    "trec": "q1 Q0 b 1 2.5 run\nq1 Q0 a 2 1 run\nq2 Q0 c 1 -3e2 run\n",
    "csv": "query,item,score\nq1,b,2.5\nq1,a,1\nq2,c,-300\n",
    "tsv": "item\tquery\trank\nb\tq1\t1\na\tq1\t2\nc\tq2\t1\n",
    "semicolons": "qid;docno;Score\nq1;b;2.5\nq1;a;1\nq2;c;-300\n",
    "jsonl": (
        '{"query": "q1", "item": "b", "score": 2.5}\n{"score": 1, "query": "q1", "item": "a"}\n'
        '{"query": "q2", "item": "c", "score": -3e2}\n'
    ),
    "jsonl of lists": '{"query": "q1", "items": ["b", "a"]}\n{"items": ["c"], "query": "q2"}\n',
    "jsonl of objects": '{"query": "q1", "items": {"b": 2.5, "a": 1}}\n{"query": "q2", "items": {"c": -3e2}}\n',
    "json of rows": (
        '[{"query": "q1", "item": "b", "score": 2.5}, {"score": 1, "query": "q1", "item": "a"},\n'
        ' {"query": "q2", "item": "c", "score": -3e2}]\n'
    ),
    "json of rows, indented": (
        '[\n  {\n    "qid": "q1",\n    "docno": "b",\n    "rank": 1\n  },\n'
        '  {\n    "qid": "q1",\n    "docno": "a",\n    "rank": 2\n  },\n'
        '  {\n    "qid": "q2",\n    "docno": "c",\n    "rank": 1\n  }\n]\n'
    ),
    "json of rows of lists": '[{"query": "q1", "items": ["b", "a"]},\n{"query": "q2", "items": ["c"]}]',
    "json": '{"q1": {"b": 2.5, "a": 1},\n "q2": {"c": -3e2}}\n',
    "json of lists": '{\n "q1": [\n  "b",\n  "a"\n ],\n "q2": ["c"]\n}\n',
}


WHITE_SPACE = {
    "vlnet with white space": " q1 : b , a \nq2:c,\n",
    "trec with white space": "q1\t Q0  b 1\t2.5 run\n q1 Q0 a 2 1 run \nq2 Q0 c 1 -3e2 run with a tail\n",
}
"""Around ids; a comma at the end of a line is allowed, too."""


@pytest.mark.parametrize("content", (SAME_RANKING | WHITE_SPACE).values(), ids=SAME_RANKING | WHITE_SPACE)
def test_each_format_reads_the_same_ranking(content: str, tmp_path: Path) -> None:
    """One ranking in many notations gives the same items, and the format is detected from the content."""
    found, problems = rows(content, tmp_path)

    assert [row[:2] for row in found] == [("q1", "b"), ("q1", "a"), ("q2", "c")]
    assert problems == []


SAME_SOLUTION = {
    "vlnet": "q1:1:b|2.5,a|1\nq2:0:c|0\n",
    "trec": "q1 0 b 2.5\nq1 0 a 1\nq2 0 c 0\n",
    "csv": "query,item,grade,flag\nq1,b,2.5,1\nq1,a,1,1\nq2,c,0,0\n",
    "jsonl": (
        '{"query": "q1", "item": "b", "grade": 2.5, "flag": true}\n'
        '{"query": "q1", "item": "a", "grade": 1, "flag": 1}\n'
        '{"query": "q2", "item": "c", "grade": 0, "flag": "no"}\n'
    ),
    "jsonl of objects": '{"query": "q1", "items": {"b": 2.5, "a": 1}}\n{"query": "q2", "items": {"c": 0}}\n',
    "json": '{"q1": {"b": 2.5, "a": 1}, "q2": {"c": 0.0}}',
    "json of rows": (
        '[{"query": "q1", "item": "b", "grade": 2.5, "flag": true}, {"query": "q1", "item": "a", "grade": 1},\n'
        '{"query": "q2", "item": "c", "grade": 0}]'
    ),
    "letor": "2.5 qid:q1 1:0.5 # b\n1 qid:q1 #docid = a inc = 1 prob = 0.2\n# a comment\n0 qid:q2 7:1 # c\n",
    "letor's tables": "q1\tb\t0.5 1 2\t2.5\nq1\ta\t0 1 2\t1\nq2\tc\t0 0 0\t0\n",
}


@pytest.mark.parametrize("content", SAME_SOLUTION.values(), ids=SAME_SOLUTION.keys())
def test_each_format_reads_the_same_solution(content: str, tmp_path: Path) -> None:
    """Grades are real numbers in every format."""
    assert rows(content, tmp_path, solution=True) == ([("q1", "b", 2.5), ("q1", "a", 1.0), ("q2", "c", 0.0)], [])


FORGIVEN = {
    "CR LF": lambda text: text.replace("\n", "\r\n"),
    "no last line end": lambda text: text.rstrip("\n"),
    "blank lines": lambda text: "\n" + text.replace("\n", "\n \n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "gzip": lambda text: gzip.compress(text.encode()),
    "two gzip members": lambda text: gzip.compress(text[:9].encode()) + gzip.compress(text[9:].encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "two xz members": lambda text: lzma.compress(text[:9].encode()) + lzma.compress(text[9:].encode()),
    "zstd": lambda text: zstd(text.encode()),
    "two zstd frames": lambda text: zstd(text[:9].encode()) + zstd(text[9:].encode()),
}


@pytest.mark.parametrize("change", FORGIVEN.values(), ids=FORGIVEN.keys())
@pytest.mark.parametrize("content", SAME_RANKING.values(), ids=SAME_RANKING.keys())
def test_line_ends_and_compression_change_nothing(content: str, change: Any, tmp_path: Path) -> None:
    """Line ends, a byte order mark, blank lines and compression are detected from the content."""
    assert rows(change(content), tmp_path) == rows(content, tmp_path)


def test_quoted_ids_hold_delimiters(tmp_path: Path) -> None:
    """In quotes, a delimiter is part of an id, and a doubled quote is one quote."""
    found, _ = rows('query,item,score\n"q,1","say ""x""",1\nq2,<script>,2\n', tmp_path)

    assert found == [("q,1", 'say "x"', 1.0), ("q2", "<script>", 2.0)]


def test_ids_in_tables_lose_the_spaces_around_them(tmp_path: Path) -> None:
    """Spaces around an id are removed, also within quotes; spaces inside an id stay."""
    plain, _ = rows("query , item, score\nq1, a b ,1\n q1,c,0.5\n", tmp_path)
    quoted, _ = rows('query,item,score\n"q1 "," a b",1\nq1,c,0.5\n', tmp_path)

    assert plain == quoted == [("q1", "a b", 1.0), ("q1", "c", 0.5)]


def test_the_first_errors_of_a_file_are_shown(tmp_path: Path) -> None:
    """Errors of all kinds are shown in the order of the lines."""
    _, problems = rows("q:a,,b\n" * 15 + "no colon\n" * 15 + "r:a,,b\n" * 15, tmp_path, name="vlnet")

    assert [problem.partition(":")[0] for problem in problems] == [*map(str, range(1, MOST_SHOWN + 1)), "and 25 more"]


def test_fast_readers_number_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows have the numbers of their lines below a header and in blocks of any size."""
    monkeypatch.setattr("scorer.lists.reading.blocks.BLOCK", 64)
    path = tmp_path / "file"
    path.write_text("query,item,score\n" + "".join(f"q,i{number},1\n" for number in range(40)), encoding="utf-8")
    numbers: list[int] = []
    with opened(path, None, "submission_format") as (detected, head, blocks):
        read = detected.ranked(head)
        for block in blocks:
            numbers += read(block, Findings()).line.tolist()

    assert numbers == list(range(2, 42))


ERRORS = {
    "no colon": ("q1:a\nq2;b\n", '2: found "q2;b"; expected "query:item,item,..."'),
    "no query": (":a\nq2:b\nq3:c\n", '1: found ":a"; expected "query:item,item,..."'),
    "empty item": ("q1:a,,b\nq2:,b\n", "1: item 2 of the list is empty; expected an item between the commas"),
    "space in an item": (
        "q1:a b\nq2:c\n",
        '1: found "a b" as an item; expected a list like query:item,item,...: separate ids with commas',
    ),
    "five columns": ("q Q0 a 1 1 t\nq Q0 b 2 1\n", '2: found "q Q0 b 2 1"; expected six columns, "query Q0 item rank'),
    "score no number": ("q Q0 a 1 x t\nq Q0 b 2 1 t\nq Q0 c 2 1 t\n", '1: found "x" as the score; expected a finite'),
    "score not finite": ("q Q0 a 1 1e999 t\n", '1: found "1e999" as the score; expected a finite number'),
    "columns missing": ("query,item,score\nq,a,1\nq,b\n", '3: found "q,b"; expected 3 columns, as in the header'),
    "open quote": ('query,item,score\nq,"a,1\nq,b,1\n', '2: found "q,\\"a,1"; expected every quote closed on its line'),
    "empty id": ("query,item,score\n,a,1\n", "2: no id in the column query; expected one in each row"),
    "rank too large": ("query,item,rank\nq,a,1e30\nq,b,1\n", '2: found "1e30" as the rank; expected a whole'),
    "rank below 0": ("query,item,rank\nq,a,-1\nq,b,1\n", '2: found "-1" as the rank; expected a whole number'),
    "rank no whole number": ("query,item,rank\nq,a,1.5\n", '2: found "1.5" as the rank; expected a whole number'),
    "no JSON": (
        '{"query": "q", "items": []}\n{"query": "q"\n',
        "2: no JSON: expecting ',' delimiter at column 14; expected an object on each line",
    ),
    "a line that is no object": ('{"query": "q", "items": ["a"]}\n[1]\n', "2: found a list; expected an object, as in"),
    "an element that is no object": (
        '[{"query": "q", "items": ["a"]},\n["a"]]',
        '2: found a list; expected an object, as in {"query": "q", "items"',
    ),
    "a member twice": (
        '{"query": "q", "item": "a", "score": 1, "score": 2}\n',
        '1: found the member "score" twice in an object; expected it once',
    ),
    "two members for the item": (
        '{"query": "q", "item_id": "a", "score": 1}\n{"query": "q", "item": "b", "item_id": "a", "score": 2}\n',
        '2: found the members "item" and "item_id", which both name the item; keep one, or choose it by jsonl:item',
    ),
    "an item beside a list": (
        '{"query": "q", "items": ["a"], "item": "b"}\n',
        '1: found the members "items" and "item", which both name items; keep one',
    ),
    "a member of a row twice": (
        '[{"query": "q", "item": "a",\n"score": 1},\n{"query": "q", "query": "r", "item": "a", "score": 2}]\n',
        '3: found the member "query" twice',
    ),
    "no query in a line": (
        '{"query": "q", "items": ["a"]}\n{"items": ["a"]}\n',
        "2: no query; expected an object, as in",
    ),
    "a query that is a fraction": (
        '{"query": "q", "items": ["a"]}\n{"query": 1.5, "items": []}\n',
        "2: found 1.5 as the query; expected",
    ),
    "no item in a line": (
        '{"query": "q", "score": 1}\n',
        '1: no item; expected an object, as in {"query": "q", "items"',
    ),
    "no score in a line": ('{"query": "q", "item": "a"}\n', "1: no score or rank; expected an object, as in"),
    "a score in quotes": (
        '{"query": "q", "item": "a", "score": "1"}\n',
        '1: found "1" as the score; expected a finite number',
    ),
    "a score that is NaN": (
        '{"query": "q", "item": "a", "score": NaN}\n',
        "1: found NaN as the score; expected a finite",
    ),
    "a score beyond all": ('{"query": "q", "item": "a", "score": 1e999}\n', "1: found Infinity as the score; expected"),
    "a rank of a half": (
        '{"query": "q", "item": "a", "rank": 0.5}\n',
        "1: found 0.5 as the rank; expected a whole number",
    ),
    "a nameless item": (
        '{"query": "q", "items": ["a", null]}\n',
        "1: found null as item 2 of the list; expected text or",
    ),
    "items that are no list": ('{"query": "q", "items": 3}\n', '1: found 3 as the items of query "q"; expected a list'),
    "two kinds of lines": (
        '{"query": "q", "items": ["a"]}\n{"query": "r", "item": "a", "score": 1}\n',
        "2: found items by their score; expected them by their list, as in the lines above",
    ),
    "an object's score": (
        '{"q": {"a": 1},\n"r": {"a": "1"}}',
        '2: found "1" as the score of item "a"; expected a finite',
    ),
    "two kinds of values": (
        '{"q": {"a": 1},\n\n"r": ["a"]}',
        "3: found items by their list; expected them by their score, as in the lines above",
    ),
    "no list": (
        '{"q": ["a"],\n"r": 1}',
        '2: found 1 as the items of query "r"; expected a list of items, or an object',
    ),
}


NO_LISTS = {
    "grades": "1:5|9,6|8",
    "semicolons": "1:5;6",
    "brackets": "1:[5,6]",
    "parentheses": "1:(5,6)",
    "quotes": '1:"5","6"',
    "apostrophes": "1:'5','6'",
    "a flag": "1:1:5,6",
    "a colon at the end": "1:5,6:",
    "spaces": "1:5 6",
    "a no-break space": "1:5,\u00a06",
    "an ideographic space": "1:5\u30006",
    "a space without width": "1:\u200b5,6",
}


@pytest.mark.parametrize("line", NO_LISTS.values(), ids=NO_LISTS.keys())
def test_a_vlnet_line_that_is_no_list_is_refused(line: str, tmp_path: Path) -> None:
    """The message names the item found, and says how a list looks and what to do."""
    _, problems = rows(f"0:1,2\n{line}\n", tmp_path)

    assert len(problems) == 1
    assert problems[0].startswith('2: found "')
    assert problems[0].endswith(
        "as an item; expected a list like query:item,item,...: separate ids with commas; "
        "write no flags, grades, quotes or brackets"
    )


def test_a_vlnet_query_holds_no_white_space(tmp_path: Path) -> None:
    """A query with white space of any kind is refused, because no solution could list it."""
    _, problems = rows("1:2,3\n1\u00a02:3\n", tmp_path)

    assert problems == ['2: found "1\\xa02:3"; expected "query:item,item,..."']


def test_a_vlnet_solution_holds_the_same_items(tmp_path: Path) -> None:
    """Items that no submission could list are refused."""
    _, problems = rows("1:1:5|9;6|8\n2:0:5|9,6|8\n", tmp_path, solution=True)

    assert problems == [
        '1: found "5|9;6" as an item; expected a list like query:flag:item|score,item|score,...: '
        "separate ids with commas; write no spaces, quotes or brackets"
    ]


def test_options_choose_among_members_of_one_meaning(tmp_path: Path) -> None:
    """In lines and in rows of an array."""
    row = '{"query": "text", "query_id": "q", "item": "a", "score": 1}'

    for name, content in (("jsonl", row), ("json", f"[{row}]")):
        assert rows(content, tmp_path, name=f"{name}:query=query_id") == ([("q", "a", 1.0)], [])


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """The header is in line 1."""
    with pytest.raises(UnreadableError, match='several columns are called "score"'):
        rows("query,item,score,score\nq,a,1,2\n", tmp_path)


SOLUTION_ERRORS = {
    "flag": ("q1:2:a|1\nq2:0:b|1\n", '1: found "2" as the flag; expected 1 (preliminary) or 0'),
    "no flag": ("q1:a|1\nq2:0:b|1\n", '1: found "q1:a|1"; expected "query:flag:item|score,item|score,..."'),
    "no score": ("q1:1:a,b|1\n", '1: found "a"; expected item|score, with a finite number'),
    "score not finite": ("q1:1:a|inf\n", '1: found "a|inf"; expected item|score, with a finite number'),
    "no item": ("q1:1:|3\n", '1: found "|3"; expected item|score, with a finite number'),
    "qrels with words": ("q 0 a 1\nq 0 b high\nq 0 c 1\n", '2: found "high" as the grade; expected a finite number'),
    "flag column": ("query,item,grade,flag\nq,a,1,maybe\n", '2: found "maybe" as the flag; expected 1'),
    "flag member": (
        '{"query": "q", "item": "a", "grade": 1, "flag": 2}\n',
        "1: found 2 as the flag; expected 1 (preliminary) or 0",
    ),
    "items without grades": (
        '{"query": "q", "items": ["a"]}\n',
        '1: found a list of items for query "q"; expected each with its grade',
    ),
    "lists in JSON": ('{"q": ["a"]}', '1: found a list of items for query "q"; expected each with its grade'),
    "a label that is none": ("x qid:1 1:1 # a\n1 qid:1 # b\n", '1: found "x" as the label; expected a finite number'),
    "a vector without query": ("1 qid:1 # a\n1 1:1 # b\n", '2: found "1 1:1 # b"; expected "label qid:query'),
    "a row without label": (
        "q\ta\t1 2\t0\nq\tb\t1 2\n",
        '2: found "q\\tb\\t1 2"; expected four columns, "query<tab>item<tab>',
    ),
    "blank lines (T27)": ("\nq 0 a 1\n \n\nq 0 b x\n", '5: found "x" as the grade; expected a finite number'),
    "a fifth column (T28)": ("q 0 a 1\nq 0 b 1 more\n", '2: found "q 0 b 1 more"; expected four columns'),
}


@pytest.mark.parametrize(
    ("content", "message", "solution"),
    [
        pytest.param(*row, errors is SOLUTION_ERRORS, id=name)
        for errors in (ERRORS, SOLUTION_ERRORS)
        for name, row in errors.items()
    ],
)
def test_an_invalid_line_is_reported_by_number(content: str, message: str, solution: bool, tmp_path: Path) -> None:
    """A message names the line, what was found and what was expected."""
    _, problems = rows(content, tmp_path, solution=solution)

    assert problems[0].startswith(message)


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
    "cut xz": (lzma.compress(b"q:a\n" * 9999)[:50], "the compressed file is cut short"),
    "damaged xz": (lzma.compress(b"q:a\n")[:-6] + b"123456", "the compressed file is damaged"),
    "cut zstd": (
        bytes(pa.Codec("zstd").compress(b"q:a\n" * 9999, asbytes=True))[:20],
        "the compressed file is cut short",
    ),
    "damaged zstd": (b"\x28\xb5\x2f\xfd12345678", "the compressed file is damaged"),
    "cut JSON": (b'{"q": {"a": 1},\n "r": {"a"', "no JSON: expecting ':' delimiter at column 11"),
    "JSON and more": (b'{"q": {"a": 1}}\n{"r": {"a": 1}}', "no JSON: extra data at column 1; expected"),
    "JSON without a query": (b'{"": {"a": 1}}', 'found "" as a query; expected an id'),
    "deep JSON": (b'{"q": ' + b"[" * 99999, "values are nested 100,000 deep; the limit is 20 (limits.nesting)"),
    "long number": (b'{"q": {"a": ' + b"1" * 9999 + b"}}", "no JSON: Exceeds the limit"),
    "JSON in Latin-1": ('{"q": ["é"]}'.encode("latin-1"), "byte 0xe9 at column 9 is not UTF-8"),
    "JSON in UTF-16": ('{"q": ["a"]}'.encode("utf-16"), "the file is in UTF-16"),
    "cut Parquet": (table(query=["q"], item=["a"], score=[1.0])[:-9], "no whole Parquet file"),
    "Parquet without items": (table(query=["q"], score=[1.0]), "no column for the item; expected one of item, item_id"),
    "fractions as ids": (
        table(query=[1.5], item=["a"], score=[1.0]),
        'column "query" is of type double; expected text',
    ),
    "words as scores": (table(query=["q"], item=["a"], score=["1"]), 'column "score" is of type string; expected num'),
    "a wide space": ("\u3000\n".encode(), 'the format cannot be detected from "\\u3000"; the closest layouts are'),
    "an information separator": (b"\x1c\n", 'the format cannot be detected from "\\u001c"; the closest layouts are'),
    "prose": (b"This is\nno list at all\n", 'the format cannot be detected from "This is"; the closest layouts are'),
    "a line without end": (
        b"q:" + b"a," * (16 << 20),
        "the line has more than 16 MB; is this a file of ranked lists?; the limit is 16",
    ),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_file_is_reported(content: bytes, message: str, tmp_path: Path) -> None:
    """A message says what is wrong and what to do."""
    with pytest.raises(UnreadableError, match=re.escape(message)):
        rows(content, tmp_path)


def test_blank_lines_do_not_hide_the_format(tmp_path: Path) -> None:
    """Regardless of their number."""
    assert rows("\n" * 100_000 + "q Q0 a 1 2 t\n", tmp_path) == ([("q", "a", 2.0)], [])


def test_the_reason_of_a_damaged_parquet_file_is_one_line(tmp_path: Path) -> None:
    """What Arrow says about it may have several lines."""
    content = bytearray(table(query=["q"], item=["a"], score=[1.0]))
    content[4:30] = b"\xff" * 26

    with pytest.raises(UnreadableError, match="no whole Parquet file") as caught:
        rows(bytes(content), tmp_path)

    assert "\n" not in str(caught.value)
    assert str(caught.value) == printable(str(caught.value))


def test_a_compressed_file_that_demands_too_much_memory_is_damaged(tmp_path: Path) -> None:
    """Its own header says so, and every machine refuses it: the machine has not failed."""
    with pytest.raises(UnreadableError, match="damaged") as caught:
        rows(b"\x28\xb5\x2f\xfd\x00\xff" + bytes(20), tmp_path)
    assert not isinstance(caught.value, InaccessibleError)


def test_times_are_no_flags(tmp_path: Path) -> None:
    """Not even those that Python cannot represent."""
    file = tmp_path / "solution.parquet"
    times = pa.array([2**62], pa.timestamp("us"))
    file.write_bytes(table(query=["q"], item=["a"], grade=[1.0], flag=times))
    with pytest.raises(
        SolutionError, match=r'column "flag" is of type timestamp\[us\]; expected 1 \(preliminary\) or 0'
    ):
        Solution.read(file)


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    """A folder and a missing file are reported."""
    for path, message in ((tmp_path, "a folder"), (tmp_path / "none", "no such file")):
        with pytest.raises(UnreadableError, match=message), opened(path, None, "submission_format"):
            pass


def test_a_named_format_is_used(tmp_path: Path) -> None:
    """The content is not used to detect a format that is named."""
    _, problems = rows("q Q0 a 1 1 t\n", tmp_path, name="vlnet")

    assert problems == ['1: found "q Q0 a 1 1 t"; expected "query:item,item,..."']


def test_blocks_do_not_change_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file read in small pieces gives the same rows and line numbers as one read at once."""
    lines = [f"q{number // 7} Q0 d{number} 1 {number if number % 50 else 'x'} t\n" for number in range(500)]
    whole = rows("".join(lines), tmp_path)
    monkeypatch.setattr("scorer.lists.reading.blocks.BLOCK", 101)

    assert rows("".join(lines), tmp_path) == whole
    assert len(whole[1]) == 10


def test_numbers_are_read_to_the_nearest_float(tmp_path: Path) -> None:
    """Scores that differ in the last digit of a float64 stay apart."""
    texts = ["0.1", "0.10000000000000002", "1e-300", "+5", ".5", "5.", "-0"]
    found, _ = rows("".join(f"q Q0 d{at} 1 {text} t\n" for at, text in enumerate(texts)), tmp_path)

    assert [row[2] for row in found] == [float(text) for text in texts]
    assert np.signbit(found[-1][2])


def test_parquet_is_read_by_its_columns(tmp_path: Path) -> None:
    """Ids of text or whole numbers, plain or from a dictionary, regardless of other columns."""
    content = table(
        extra=[[1], [2]], DOCNO=pa.array(["b", "a"]).dictionary_encode(), qid=pa.array([7, 7], pa.uint8()), sim=[2, 1]
    )
    graded = table(query=["q", "q"], item=pa.array(["b", "a"], pa.large_string()), label=[0.5, 2], flag=[True, True])

    assert rows(content, tmp_path) == ([("7", "b", 2.0), ("7", "a", 1.0)], [])
    assert rows(graded, tmp_path, solution=True) == ([("q", "b", 0.5), ("q", "a", 2.0)], [])


def test_errors_in_parquet_are_reported_by_row(tmp_path: Path) -> None:
    """A row without an id or without a number is reported."""
    content = table(query=["q", None, "q", "q"], item=["a", "b", "c", "d"], rank=[1, 2, None, -1])

    found, problems = rows(content, tmp_path)

    assert found == [("q", "a", 1)]
    assert problems == [
        "2: no id in the column query; expected one in each row",
        "3: found None as the rank; expected a finite number",
        "4: found -1 as the rank; expected a whole number, 0 or more",
    ]


def test_any_feature_is_a_score_or_a_grade(tmp_path: Path) -> None:
    """A missing feature is 0 where features are numbered, and an error where they are listed."""
    vectors = "2 qid:1 1:0.5 3:7 # a\n0 qid:1 1:4 # b\n"
    listed = "1\ta\t0.5 0 7\t2\n1\tb\t4 0\t0\n"

    assert rows(vectors, tmp_path, name="letor:feature=3") == ([("1", "a", 7.0), ("1", "b", 0.0)], [])
    assert rows(vectors, tmp_path, name="letor:feature=1", solution=True)[0] == [("1", "a", 0.5), ("1", "b", 4.0)]
    assert rows(listed, tmp_path, name="letor:feature=3") == (
        [("1", "a", 7.0)],
        ['2: found "" as feature 3; expected a finite number'],
    )


def test_vectors_without_an_item_have_the_number_of_their_line(tmp_path: Path) -> None:
    """A file without comments can be a solution and, by a feature, a submission."""
    assert rows("2 qid:1 1:0.5\n\n0 qid:2 1:4\n", tmp_path, solution=True)[0] == [("1", "1", 2.0), ("2", "3", 0.0)]


OHSUMED = REAL_DATA / "ohsumed_letor"


@pytest.mark.skipif(not OHSUMED.exists(), reason=f"real data not found: {OHSUMED} (SCORER_REAL_DATA names it)")
def test_letors_own_files_are_read() -> None:
    """All 106 queries and 16,140 documents; the score by a feature equals the score of the same feature in a dict."""
    queries, documents = set(), 0
    for fold in sorted(OHSUMED.glob("Fold*/testset.txt")):
        lines = [line.split("\t") for line in fold.read_text(encoding="utf-8").splitlines()]
        queries |= {query for query, *_ in lines}
        documents += len(lines)
        by_hand: dict[str, dict[str, float]] = {}
        for query, item, features, _ in lines:
            by_hand.setdefault(query, {})[item] = float(features.split()[20])
        found = scorer.evaluate(fold, fold, ["AP", "nDCG@10"], submission_format="letor:feature=21")
        assert dict(found) == dict(scorer.evaluate(fold, by_hand, ["AP", "nDCG@10"]))
    assert (len(queries), documents) == (106, 16_140)


def test_a_submission_of_features_needs_one_to_rank_by(tmp_path: Path) -> None:
    """The message names the option."""
    with pytest.raises(UnreadableError, match="name the feature to rank by, as in --submission-format letor:feature=1"):
        rows("2 qid:1 1:0.5 # a\n", tmp_path)


OPTIONS = {
    "columns": ("delimited:query=session,item=track,score=w", "session,track,w\ns,t,2\n", [("s", "t", 2.0)]),
    "a rank beside a score": ("delimited:rank=position", "query,item,score,position\nq,a,9,3\n", [("q", "a", 3)]),
    "any case": ("delimited:query=Session", "SESSION,item,score\ns,t,2\n", [("s", "t", 2.0)]),
    "delimiter": ("delimited:delimiter=tab", "query\titem\tscore\nq\ta,b;c\t1\n", [("q", "a,b;c", 1.0)]),
    "members": ("jsonl:query=s,items=list", '{"s": 1, "list": ["a"]}\n', [("1", "a", None)]),
}


@pytest.mark.parametrize(("name", "content", "expected"), OPTIONS.values(), ids=OPTIONS.keys())
def test_options_follow_the_name_of_a_format(name: str, content: str, expected: Any, tmp_path: Path) -> None:
    """Options name columns, members and delimiters."""
    assert rows(content, tmp_path, name=name) == (expected, [])


WRONG_OPTIONS = {
    "none of its": ("letor:column=3", 'found "column=3" as an option of letor; it takes feature=the number of'),
    "no value": ("letor:feature", 'found "feature" as an option of letor'),
    "no number": ("letor:feature=0", 'found "0" as the feature; expected a whole number from 1'),
    "no such column": ("delimited:item=song", 'no column is called "song"; there are "query", "item", "score"'),
    "no delimiter": ("delimited:delimiter=dot", 'found "dot" as the delimiter; expected comma, tab, semicolon'),
    "takes none": ("vlnet:tag=x", "it takes none"),
}


@pytest.mark.parametrize(("name", "message"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS.keys())
def test_a_wrong_option_is_reported(name: str, message: str, tmp_path: Path) -> None:
    """The message lists the options, or the columns of the file."""
    with pytest.raises(UnreadableError, match=re.escape(message)):
        rows("query,item,score\nq,a,1\n", tmp_path, name=name)


def test_a_wrong_detection_says_how_to_name_a_format(tmp_path: Path) -> None:
    """The hint is given only where the format was detected and no line can be read."""
    guessed = rows("q\u200b:a\nr\u200b:b\n", tmp_path)[1]
    fitting = rows("q Q0 a 1 1 t\nq Q0 b 2 y t\n", tmp_path)[1]
    named = rows("q Q0 a 1 x t\n", tmp_path, name="trec")[1]

    assert guessed[1] == (
        "1: the file looks like vlnet, but none of its first lines can be read as such; "
        "name it with --submission-format NAME, or submission_format in challenge.toml"
    )
    assert not any("looks like" in problem for problem in (*fitting, *named))


def test_a_query_that_is_twice_in_an_object_is_reported(tmp_path: Path) -> None:
    """The message names the lines of both."""
    (tmp_path / "run.json").write_text('{"q": {"a": 1},\n"q": {"b": 1}}', encoding="utf-8")

    with pytest.raises(scorer.SubmissionError, match=r'2: query "q" is listed again \(first in line 1\)'):
        scorer.evaluate({"q": {"a": 1}}, tmp_path / "run.json", "RR")


# In memory


class Stream:
    """A table of a library that exports Arrow."""

    def __init__(self, **columns: Any) -> None:
        self._table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


# Rows as in ir_measures, the same as objects, and a row without a query.
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration", defaults=["0"])
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
Judgement = make_dataclass("Judgement", ["query_id", "doc_id", "relevance"], slots=True)
Retrieved = make_dataclass("Retrieved", ["query_id", "doc_id", "score"], slots=True)
Pair = namedtuple("Pair", "left right score")

GRADES = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"a": 1}}
RUN = {"q": {"x": 3.0, "b": 2.0, "a": 1.0}, "r": {"b": 1.0, "a": 0.5}}
SOLUTION_ROWS = [(query, item, grade) for query, items in GRADES.items() for item, grade in items.items()]
RUN_ROWS = [(query, item, score) for query, items in RUN.items() for item, score in items.items()]


def by_column(rows: Sequence[tuple[str, str, float]], number: str) -> dict[str, list[Any]]:
    """Return the rows as columns."""
    return dict(zip(("query", "item", number), map(list, zip(*rows, strict=True)), strict=True))


IN_MEMORY: dict[str, tuple[Any, Any]] = {
    "tuples": (SOLUTION_ROWS, RUN_ROWS),
    "lists": ([list(row) for row in SOLUTION_ROWS], [list(row) for row in RUN_ROWS]),
    "named tuples": ([Qrel(*row) for row in SOLUTION_ROWS], [ScoredDoc(*row) for row in RUN_ROWS]),
    "dicts": (
        [dict(zip(("query", "item", "grade"), row, strict=True)) for row in SOLUTION_ROWS],
        [dict(zip(("docno", "qid", "score"), (row[1], row[0], row[2]), strict=True)) for row in RUN_ROWS],
    ),
    "objects": ([Judgement(*row) for row in SOLUTION_ROWS], (Retrieved(*row) for row in RUN_ROWS)),
    "a generator": (SOLUTION_ROWS, (ScoredDoc(*row) for row in RUN_ROWS)),
    "pandas": (pd.DataFrame(by_column(SOLUTION_ROWS, "grade")), pd.DataFrame(by_column(RUN_ROWS, "score"))),
    "pyarrow": (pa.table(by_column(SOLUTION_ROWS, "grade")), pa.table(by_column(RUN_ROWS, "score"))),
    "a stream": (Stream(**by_column(SOLUTION_ROWS, "relevance")), Stream(**by_column(RUN_ROWS, "score"))),
}


@pytest.mark.parametrize(("solution", "submission"), IN_MEMORY.values(), ids=IN_MEMORY.keys())
def test_rows_in_memory_are_scored_in_any_container(solution: Any, submission: Any) -> None:
    """The same rows in any container give the same scores."""
    measures = ["RR", "nDCG", "AP"]

    assert dict(scorer.evaluate(solution, submission, measures)) == dict(scorer.evaluate(GRADES, RUN, measures))


TYPES = {
    "views": pa.array(["b", "a"], pa.string_view()),
    "a dictionary of views": pa.DictionaryArray.from_arrays(
        pa.array([1, 0], pa.uint32()), pa.array(["a", "b"], pa.string_view())
    ),
    "pieces": pa.chunked_array([["b"], [], ["a"]]),
    "pieces of dictionaries": pa.chunked_array([pa.array([each]).dictionary_encode() for each in "ba"]),
    "large": pa.array(["b", "a"], pa.large_string()),
}


@pytest.mark.parametrize("items", TYPES.values(), ids=TYPES.keys())
def test_ids_may_be_of_any_type_of_text(items: Any) -> None:
    """Polars exports views, pandas exports categories, and most libraries export pieces."""
    run = Stream(query=pa.array([7, 7]), item=items, score=pa.array([2, 1], pa.int8()))

    assert scorer.evaluate({"7": {"a": 1}}, run, "RR")["RR"] == 0.5


NO_TABLE = {
    "a fraction": (
        Stream(query=["q"], item=[1.5], score=[1]),
        'column "item" is of type double; expected text or whole',
    ),
    "no score": (Stream(query=["q"], item=["a"]), "no column for the score or rank; expected one of score, run_score"),
    "no number": (Stream(query=["q"], item=["a"], score=["1"]), 'column "score" is of type string; expected numbers'),
    "nothing": (Stream(query=["q"], item=pa.array([None], pa.string()), score=[1]), "1: no id in the column item"),
}


NO_ROWS = {
    "a dict without items": ([{"query": "q", "score": 1}], 'a dict with "query", "score"; no column for the item'),
    "rows of two kinds": (
        [{"query": "q", "item": "a", "score": 1}, {"query": "q", "item": "b", "rank": 1}],
        "2: found a row of query, item, rank; expected query, item, score, as above",
    ),
    "an object without a score": ([Judgement("q", "a", 1)], "no column for the score"),
    "too long": ([("q", "a", 1, "x")], "1: found a row of 4; expected a query, an item and a score"),
    "a set": ([("q", "a", 1), {"q"}], "2: found a row that is a set; expected a path"),
    "other fields": (
        [Pair("q", "a", 1.0)],
        '1: found a row that is a Pair with "left", "right", "score"; no column for the query; expected one of query',
    ),
    "a number in words": ([("q", "a", "much")], "not every score is a number"),
    "no id": ([("q", None, 1.0)], 'found "None" as the id of the item; expected text or a whole number'),
    "bytes": (b"q Q0 a 1 1 t", "found a bytes; expected a path"),
}


@pytest.mark.parametrize(("submission", "message"), (NO_ROWS | NO_TABLE).values(), ids=(NO_ROWS | NO_TABLE).keys())
def test_invalid_rows_in_memory_are_reported(submission: Any, message: str) -> None:
    """The message has the number of an invalid row."""
    with pytest.raises(scorer.SubmissionError, match=re.escape(message)):
        scorer.evaluate(GRADES, submission, "RR")


def test_every_format_says_what_its_lines_look_like() -> None:
    """Messages and help use these examples; challenge.toml allows these names."""
    assert set(get_args(FormatName)) == set(FORMATS)
    for name, format_ in FORMATS.items():
        assert name == format_.NAME
        assert format_.SOLUTION
        assert format_.SUBMISSION
