"""TREC's formats: qrels for solutions, runs for submissions; a line for each item, columns between white space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats import delimited, headerless
from scorer.formats.reading import compute as pc
from scorer.formats.reading import regular, tables
from scorer.formats.reading.arrow import keep, list_lengths, numbers, take, text_buffers, texts
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, Lines, sample
from scorer.formats.reading.bytes import UnreadableError, open_bytes, read_chunk
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting, shortest
from scorer.wording import quoted

NAME = "trec"
SOLUTION = "query iteration item grade"
SUBMISSION = "query Q0 item rank score tag"
OPTIONS: Mapping[str, str] = {"subtopic": "iteration (for qrels whose iteration is the subtopic)"}
ONE_BLOCK = False
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

QRELS_COLUMNS = 4
RUN_COLUMNS = 6

TAG = "scorer"
"""The tag of written runs."""

TAIL = 1 << 16
"""The bytes at the end of a run that are searched for its last row."""

UNFIT_QUERY = re.compile(r"^$|^#|^\ufeff|[ \t\n\v\f\r\0]")
UNFIT_ITEM = re.compile(r"^$|[ \t\n\v\f\r\0]")


def recognises(lines: list[str]) -> bool:
    """Whether half of the lines have four columns, the last a number, or at least six, the fifth a number."""
    rows = [line.split() for line in lines if not line.startswith("#")]
    return bool(rows) and 2 * sum(map(_is_row, rows)) >= len(rows)


def _is_row(columns: list[str]) -> bool:
    if columns[0].endswith(":") or any(column.endswith(",") for column in columns):
        return False
    if len(columns) == QRELS_COLUMNS:
        return _is_number(columns[3])
    return len(columns) >= RUN_COLUMNS and _is_number(columns[4])


def _is_number(text: str) -> bool:
    """Whether Python reads a number, including ``nan``, which the reader reports with its line."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read relevance judgements (qrels); an option says that the iteration is the subtopic, as in ndeval."""
    if options.get("subtopic", "iteration") != "iteration":
        raise UnreadableError(f"found {quoted(options['subtopic'])} as the subtopic; expected iteration")
    return partial(_graded, "subtopic" not in options)


def ranked(head: Block, _options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a run, where the rank and everything after the score are ignored; or ColBERT's four columns."""
    return _ranked if headerless.layout(sample(head.content)) is None else delimited.ranked(head, {})


def last_tag(path: str | os.PathLike[str]) -> str:
    """Return the tag of the last row of a run, as trec_eval prints it; empty without one. Raises UnreadableError."""
    end = b""
    with open_bytes(path) as stream:
        while chunk := read_chunk(stream):
            end = (end + chunk)[-TAIL:]
    for line in reversed(end.split(b"\n")):
        columns = line.split()
        if len(columns) >= RUN_COLUMNS and not columns[0].startswith(b"#"):
            return columns[RUN_COLUMNS - 1].decode(errors="replace")
    return ""


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write qrels with the subtopic as the iteration, which is 0 without subtopics."""
    solution.without_flags(NAME)
    rows = solution.rows(NAME)
    _check(row[:2] for row in rows)
    fitting((row[3] for row in rows), UNFIT_ITEM, "a subtopic", NAME)
    return "".join(f"{query} {subtopic} {item} {shortest(grade)}\n" for query, item, grade, subtopic in rows).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write a run; lists without scores get descending ones."""
    rows = submission.rows(NAME)
    _check(row[:2] for row in rows)
    lines = (f"{query} Q0 {item} {rank} {shortest(score)} {TAG}\n" for query, item, score, rank in rows)
    return "".join(lines).encode()


def _check(pairs: Iterable[tuple[str, str]]) -> None:
    for query, item in pairs:
        fitting([query], UNFIT_QUERY, "a query", NAME)
        fitting([item], UNFIT_ITEM, "an item", NAME)


def _graded(is_iteration: bool, block: Block, findings: Findings) -> Graded:
    rows = _rows(block, findings, QRELS_COLUMNS, (0, 2, 3), "grade", f'four columns, "{SOLUTION}"', tail=False)
    return replace(rows, is_iteration=is_iteration)


def _ranked(block: Block, findings: Findings) -> Ranked:
    rows = _rows(block, findings, RUN_COLUMNS, (0, 2, 4), "score", f'six columns, "{SUBMISSION}"', tail=True)
    return Ranked(rows.query, rows.line, None, rows.item, rows.grade)


def _rows(
    block: Block, findings: Findings, count: int, places: tuple[int, int, int], value: str, expected: str, *, tail: bool
) -> Graded:
    """Read lines with `count` columns, or more with `tail`; the rows of a run have their scores as grades."""
    fast = _regular(block, count, dict(zip(("query", "item", "value"), places, strict=True)))
    if fast is not None:
        return fast
    lines = Lines.of(block, comments=True)
    split = pc.ascii_split_whitespace(lines.text)
    lengths, words = list_lengths(split), pc.list_flatten(split)
    wrong = lengths < count if tail else lengths != count
    lines = lines.sound(wrong, findings, expected)
    starts = (np.cumsum(lengths) - lengths)[~wrong]
    query, item, text, second = (take(words, starts + column) for column in (*places, 1))
    number = numbers(text)
    kept = ~np.isnan(number)
    tables.report_wrong(text, ~kept, lines.number, findings, f"the {value}; expected a finite number")
    subtopic = keep(second, kept) if count == QRELS_COLUMNS else None
    return Graded(keep(query, kept), lines.number[kept], None, None, keep(item, kept), number[kept], subtopic)


def _regular(block: Block, count: int, places: dict[str, int]) -> Graded | None:
    """Return the rows of a block without comments, with one character between columns; None for any other block."""
    tabs, spaces = block.holds(b"\t"), block.holds(b" ")
    if tabs == spaces or block.holds(b"\v", b"\f") or (block.holds(b"#") and b"\n#" in b"\n" + block.content):
        return None
    if regular.has_empty_column(block):
        return None
    delimiter = "\t" if tabs else " "
    read = regular.columns(block, delimiter, count, places, "value")
    if read is None:
        return None
    held, value = read
    line = block.first_line + np.arange(value.size)
    if count != QRELS_COLUMNS:
        return Graded(held["query"], line, None, None, held["item"], value)
    iteration = _one_iteration(block, held["query"], held["item"])
    if iteration is None:
        varying = regular.columns(block, delimiter, count, {**places, "subtopic": 1}, "value")
        iteration = None if varying is None else varying[0]["subtopic"]
    return Graded(held["query"], line, None, None, held["item"], value, iteration)


def _one_iteration(block: Block, query: pa.StringArray, item: pa.StringArray) -> pa.StringArray | None:
    """Return the iteration of all lines of a regular block, if it is quickly found to be the same, else None.

    It is found where all lines have the same length without their query and item, as in most qrels. This saves time:
    reading the iterations as texts takes longer than reading the grades.
    """
    codes = np.frombuffer(block.content, dtype=np.uint8)
    queries, items = text_buffers(query)[0], text_buffers(item)[0]
    end = block.content.find(b"\n") + 1
    rest = end - int(queries[1]) - int(items[1])
    if not end or queries[-1] + items[-1] + rest * len(query) != codes.size:
        return None
    first = block.content[:end].split()[1]
    for start in range(0, len(query), regular.PIECE >> 3):  # in pieces that stay in the processor's cache
        stop = min(start + (regular.PIECE >> 3), len(query))
        line = items[start:stop] + rest * np.arange(start, stop)
        place = line + queries[start + 1 : stop + 1] + 1
        same = codes[line + queries[start:stop] - 1] == ord("\n")
        if not (same[start == 0 :].all() and all((codes[place + at] == code).all() for at, code in enumerate(first))):
            return None
        if (codes[place + len(first)] > ord(" ")).any():
            return None
    return texts([first.decode()])
