"""TREC's formats: qrels for solutions, runs for submissions; a row for each item, columns divided by white space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings
from scorer.formats.reading import regular
from scorer.formats.reading.arrow import keep, list_lengths, numbers, take
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, Lines
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting, shortest
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.wording import quoted

NAME = "trec"
SOLUTION = "query iteration item grade"
SUBMISSION = "query Q0 item rank score tag"
OPTIONS: Mapping[str, str] = {}
WHOLE = False
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

QRELS_COLUMNS = 4
RUN_COLUMNS = 6

TAG = "scorer"
"""What a run that is written here says it comes from."""

UNFIT_QUERY = re.compile(r"^$|^#|^\ufeff|[ \t\n\v\f\r\0]")
UNFIT_ITEM = re.compile(r"^$|[ \t\n\v\f\r\0]")


def recognises(lines: list[str]) -> bool:
    """Half of the lines have four columns, the last a number, or six, the fifth a number; # begins a comment."""
    rows = [line.split() for line in lines if not line.startswith("#")]
    return bool(rows) and 2 * sum(map(_is_row, rows)) >= len(rows)


def _is_row(columns: list[str]) -> bool:
    if columns[0].endswith(":") or any(column.endswith(",") for column in columns):
        return False
    if len(columns) == QRELS_COLUMNS:
        return _is_number(columns[3])
    return len(columns) >= RUN_COLUMNS and _is_number(columns[4])


def _is_number(text: str) -> bool:
    """As loosely as Python has it: that ``nan`` is no score is better told by its line than by its format."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def graded(_head: Block, _options: Mapping[str, str]) -> Reader[Graded]:
    """The rows of a file of relevance judgements (qrels); the iteration is not read."""
    return _graded


def ranked(_head: Block, _options: Mapping[str, str]) -> Reader[Ranked]:
    """The rows of a run; the rank and what follows the score are not read."""
    return _ranked


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Qrels, with the iteration 0."""
    solution.without_flags(NAME)
    rows = solution.rows(NAME)
    _fit(row[:2] for row in rows)
    return "".join(f"{query} 0 {item} {shortest(grade)}\n" for query, item, grade in rows).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """A run; lists without scores get descending ones."""
    rows = submission.rows(NAME)
    _fit(row[:2] for row in rows)
    lines = (f"{query} Q0 {item} {rank} {shortest(score)} {TAG}\n" for query, item, score, rank in rows)
    return "".join(lines).encode()


def _fit(pairs: Iterable[tuple[str, str]]) -> None:
    for query, item in pairs:
        fitting([query], UNFIT_QUERY, "a query", NAME)
        fitting([item], UNFIT_ITEM, "an item", NAME)


def _graded(block: Block, findings: Findings) -> Graded:
    rows = _rows(block, findings, QRELS_COLUMNS, (0, 2, 3), "grade", f'four columns, "{SOLUTION}"', tail=False)
    return Graded(rows.query, rows.line, None, None, rows.item, rows.value)


def _ranked(block: Block, findings: Findings) -> Ranked:
    rows = _rows(block, findings, RUN_COLUMNS, (0, 2, 4), "score", f'six columns, "{SUBMISSION}"', tail=True)
    return Ranked(rows.query, rows.line, None, rows.item, rows.value)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What qrels and runs have in common."""

    query: pa.StringArray
    line: Ints
    item: pa.StringArray
    value: Floats


def _rows(
    block: Block, findings: Findings, count: int, places: tuple[int, int, int], value: str, expected: str, *, tail: bool
) -> _Rows:
    """The rows of `count` columns, of which those at `places` are read; with `tail`, more columns are passed over."""
    fast = _regular(block, count, dict(zip(("query", "item", "value"), places, strict=True)))
    if fast is not None:
        return fast
    lines = Lines.of(block, comments=True)
    lengths, words = _columns(lines)
    wrong = lengths < count if tail else lengths != count
    lines = lines.sound(wrong, findings, expected)
    query, item, text = _picked(words, lengths, ~wrong, places)
    number = numbers(text)
    kept = _sound(lines, text, number, findings, value)
    return _Rows(keep(query, kept), lines.number[kept], keep(item, kept), number[kept])


def _regular(block: Block, count: int, places: dict[str, int]) -> _Rows | None:
    """The rows of a block whose columns one character divides, without comments."""
    tabs, spaces = block.holds(b"\t"), block.holds(b" ")
    if tabs == spaces or block.holds(b"\v", b"\f") or (block.holds(b"#") and b"\n#" in b"\n" + block.content):
        return None
    read = regular.columns(block, "\t" if tabs else " ", count, places, "value")
    if read is None:
        return None
    texts, value = read
    return _Rows(texts["query"], block.first_line + np.arange(value.size), texts["item"], value)


def _columns(lines: Lines) -> tuple[Ints, pa.StringArray]:
    """How many columns each line has, and all of them one after the other."""
    split = pc.ascii_split_whitespace(lines.text)
    return list_lengths(split), pc.list_flatten(split)


def _picked(words: pa.StringArray, lengths: Ints, kept: Bools, columns: tuple[int, ...]) -> list[pa.StringArray]:
    """Those columns of the kept lines."""
    starts = (np.cumsum(lengths) - lengths)[kept]
    return [take(words, starts + column) for column in columns]


def _sound(lines: Lines, text: pa.StringArray, value: Floats, findings: Findings, what: str) -> Bools:
    """Report the lines whose number is none or not finite; give a mask of the others."""
    wrong = np.flatnonzero(np.isnan(value))
    findings.add_each(
        lines.number[wrong],
        lambda place: f"found {quoted(text[wrong[place]].as_py())} as the {what}; expected a finite number",
    )
    return ~np.isnan(value)
