"""Limits on the content of a file: each is checked, named in the message, and far from what real files need."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from scorer.limits import OWN_FILES, Limits
from scorer.lists.formats import jsonl
from scorer.lists.reading.blocks import Block, LimitError
from scorer.lists.solution import Solution
from scorer.measures import parse
from scorer.scoring.outcomes import Outcome, Rejected, Rules, Scored
from scorer.scoring.submission import score
from tests.hostile.bombs import dictionary

RULES = Rules(parse("AP"))
SOLUTION = Solution.of_queries(["q", "r"])
LONG = "x" * 1001


def outcome(content: bytes, folder: Path, limits: Limits, threads: int = 1) -> Outcome:
    """The outcome of a file with this content."""
    file = folder / "file"
    file.write_bytes(content)
    return score(SOLUTION, file, RULES, threads=threads, limits=limits)


def table(**columns: Any) -> bytes:
    """A Parquet file."""
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()


def nested(depth: int) -> str:
    """A value of JSON of this depth."""
    return "[" * depth + "]" * depth


def blanks() -> bytes:
    """68 MB that are read fast."""
    return b"q:a\n" + (b" " * 999 + b"\n") * 68_000


EXCEEDED: dict[str, tuple[Limits, bytes | Callable[[], bytes], str]] = {
    "a large file": (
        Limits(file_mb=1),
        lambda: b"q:a\n" * 300_000,
        "the file has 1 MB; the limit is 1 (limits.file_mb)",
    ),
    "a large content": (
        Limits(expanded_mb=1),
        lambda: gzip.compress(b"".join(b"q%d:a\n" % number for number in range(300_000))),
        "the content has more than 1 MB; the limit is 1 (limits.expanded_mb)",
    ),
    "gzip": (Limits(), lambda: gzip.compress(blanks()), "times the size of the file; the limit is 300"),
    "xz": (Limits(), lambda: lzma.compress(blanks(), preset=0), "times the size of the file; the limit is 300"),
    "zstd": (
        Limits(),
        lambda: pa.compress(blanks(), "zstd", asbytes=True),
        "times the size of the file; the limit is 300",
    ),
    "a large JSON document": (
        Limits(document_mb=1),
        lambda: b'{"q": ["' + b'a","' * 300_000 + b'a"]}',
        "the document has more than 1 MB; the limit is 1 (limits.document_mb)",
    ),
    "a long line": (Limits(line_mb=1), lambda: b"q:a\nr:" + b"a," * 9_000_000, "the limit is 1 (limits.line_mb)"),
    "a long item": (Limits(), f"q:a\nr:{LONG}\n".encode(), "the id of an item has 1,001 bytes; the limit is 1,000"),
    "a long query": (Limits(), f"{LONG}:a\n".encode(), "the id of a query has 1,001 bytes; the limit is 1,000"),
    "a long item in letters of two bytes": (Limits(), f"q:{'é' * 501}\n".encode(), "has 1,002 bytes; the limit is"),
    "a long item in TREC": (Limits(), f"q Q0 {LONG} 1 1 t\n".encode(), "the id of an item has 1,001 bytes"),
    "a long item in CSV": (Limits(), f"query,item,score\nq,{LONG},1\n".encode(), "the id of an item has 1,001"),
    "a long item in JSON": (Limits(), json.dumps({"q": [LONG]}).encode(), "the id of an item has 1,001 bytes"),
    "a long item in JSON Lines": (
        Limits(),
        json.dumps({"query": "q", "item": LONG, "score": 1}).encode(),
        "the id of an item has 1,001 bytes",
    ),
    "many queries": (
        Limits(queries=99),
        b"".join(b"q%d:a\n" % number for number in range(100)),
        "the file has 100 lists or more; the limit is 99 (limits.queries)",
    ),
    "many items": (Limits(items=3), b"q:a,b\nr:c,d\n", "the lists have 4 items or more; the limit is 3"),
    "deep JSON": (
        Limits(),
        f'{{"q": ["a"],\n "r": {nested(20)}}}'.encode(),
        "2: values are nested 21 deep; the limit is 20 (limits.nesting)",
    ),
    "deep JSON Lines": (
        Limits(),
        f'{{"query": "q", "items": ["a"]}}\n{{"query": "r", "items": ["a"], "x": {nested(20)}}}\n'.encode(),
        "2: values are nested 21 deep; the limit is 20 (limits.nesting)",
    ),
    "deep JSON Lines of one shape": (
        Limits(),
        "".join(
            f'{{"query": "q", "item": "a{number}", "score": {number}, "x": {nested(20)}}}\n' for number in range(9)
        ).encode(),
        "1: values are nested 21 deep; the limit is 20 (limits.nesting)",
    ),
    "a large table": (
        Limits(table_mb=1),
        lambda: table(query=["q"] * 200_000, item=list(map(str, range(200_000))), score=[1.0] * 200_000),
        "the table takes more than 1 MB of memory; the limit is 1 (limits.table_mb)",
    ),
    "a table of many rows": (Limits(items=3), table(query=["q"] * 4, item=list("abcd"), score=[1.0] * 4), "has 4 rows"),
    "a dictionary": (
        Limits(),
        lambda: table(query=["q"] * 400, item=dictionary("x" * 15_000_000, 400), score=[1.0] * 400),
        "the table has a text of 15,000,000 bytes; the limit is 1,000 (limits.id_bytes)",
    ),
    "a hidden dictionary": (
        Limits(),
        lambda: table(query=["q"] * 8_000, item=["x" * 2_000] * 8_000, score=[1.0] * 8_000),
        "the table has a text of 2,000 bytes; the limit is 1,000 (limits.id_bytes)",
    ),
    "a dictionary of queries": (
        Limits(table_mb=1),
        lambda: table(query=dictionary("x" * 900, 4_000), item=list(map(str, range(4_000))), score=[1.0] * 4_000),
        "the table takes more than 3 MB of memory; the limit is 1 (limits.table_mb)",
    ),
}


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.endurance)])
@pytest.mark.parametrize("case", EXCEEDED)
def test_a_file_that_exceeds_a_limit_is_rejected(case: str, threads: int, tmp_path: Path) -> None:
    """The message names the limit, and so does the outcome, so that it is void once the limit changes."""
    limits, content, message = EXCEEDED[case]

    found = outcome(content if isinstance(content, bytes) else content(), tmp_path, limits, threads)

    assert isinstance(found, Rejected)
    assert any(message in line for line in found.problems.lines()), found.problems.lines()
    ((name, value),) = found.limits.items()
    assert value == getattr(limits, name)
    assert limits.differing({name: value + 1})
    assert not limits.differing(found.limits)


@pytest.mark.parametrize(
    "case",
    [case for case in EXCEEDED if not case.startswith(("deep", "gzip", "xz", "zstd", "a long line", "a dictionary"))],
)
def test_a_higher_limit_accepts_the_file(case: str, tmp_path: Path) -> None:
    """The limit was the only reason for the rejection."""
    _, content, _ = EXCEEDED[case]
    found = outcome(content if isinstance(content, bytes) else content(), tmp_path, replace(OWN_FILES, expansion=10**9))
    assert isinstance(found, Scored) or not found.limits  # type: ignore[union-attr]


def test_many_rows_are_not_many_queries(tmp_path: Path) -> None:
    """A list with a row for each item counts once, also if other lists are between its rows."""
    rows = [f"{query} Q0 {item} 1 {-item} t\n" for item in range(500) for query in "qr"]
    assert isinstance(outcome("".join(rows).encode(), tmp_path, Limits(queries=2)), Scored)


DEPTHS: list[tuple[str, int]] = [
    ("1", 0),
    ("[]", 1),
    ('{"a": [1, {"b": []}]}', 4),
    ('["[[[[", "]]]]]"]', 1),
    (r'["\"[[[[", "\\"]', 1),
    (r'["\\\"[[", [["\\\\"]]]', 3),
    ('{"a": "}", "b": [[1]]}', 3),
]


@pytest.mark.parametrize(("text", "depth"), DEPTHS)
@pytest.mark.parametrize("by_line", [True, False])
def test_depth_ignores_brackets_in_text(text: str, depth: int, by_line: bool) -> None:
    """Quotes and escapes are read as JSON has them."""

    def check(limit: int) -> None:
        block = Block(text.encode(), 1, Limits(nesting=limit))
        jsonl.check_nesting(block, by_line=by_line)

    check(max(depth, 1))
    if depth > 1:
        with pytest.raises(LimitError, match=f"values are nested {depth} deep"):
            check(depth - 1)


def test_an_unclosed_line_does_not_deepen_the_next(tmp_path: Path) -> None:
    """Each line is a separate value."""
    content = '{"query": "q", "items": ["a]}\n' + '{"query": "r", "items": [["a"\n' * 50
    found = outcome(content.encode(), tmp_path, Limits())
    assert isinstance(found, Rejected)
    assert not found.limits


def test_every_limit_says_what_it_is_on() -> None:
    """For the documentation and for messages about challenge.toml."""
    assert all(about for about in Limits.about().values())
