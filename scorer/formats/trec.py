"""TREC's formats: qrels for solutions, runs for submissions; a row for each item, columns divided by white space."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings, quoted
from scorer.formats.arrow import keep, list_lengths, numbers, take
from scorer.formats.rows import Graded, Ranked
from scorer.formats.text import Block, Lines
from scorer.hits import Bools, Floats, Ints

NAME = "trec"
SOLUTION = "query iteration item grade"
SUBMISSION = "query Q0 item rank score tag"
QUERY_ONCE = False
LISTED_IS_RIGHT = False

QRELS_COLUMNS = 4
RUN_COLUMNS = 6


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


def graded(blocks: Iterator[Block], findings: Findings) -> Iterator[Graded]:
    """The rows of a file of relevance judgements (qrels); the iteration is not read."""
    for block in blocks:
        lines = Lines.of(block, comments=True)
        lengths, words = _columns(lines)
        wrong = lengths != QRELS_COLUMNS
        lines = lines.sound(wrong, findings, f'four columns, "{SOLUTION}"')
        query, item, text = _picked(words, lengths, ~wrong, (0, 2, 3))
        grade = numbers(text)
        kept = _sound(lines, text, grade, findings, "grade")
        yield Graded(
            query=keep(query, kept),
            line=lines.number[kept],
            flag=None,
            lengths=None,
            item=keep(item, kept),
            grade=grade[kept],
        )


def ranked(blocks: Iterator[Block], findings: Findings) -> Iterator[Ranked]:
    """The rows of a run; the rank and what follows the score are not read."""
    for block in blocks:
        lines = Lines.of(block, comments=True)
        lengths, words = _columns(lines)
        wrong = lengths < RUN_COLUMNS
        lines = lines.sound(wrong, findings, f'six columns, "{SUBMISSION}"')
        query, item, text = _picked(words, lengths, ~wrong, (0, 2, 4))
        score = numbers(text)
        kept = _sound(lines, text, score, findings, "score")
        yield Ranked(
            query=keep(query, kept),
            line=lines.number[kept],
            lengths=None,
            item=keep(item, kept),
            run_score=score[kept],
        )


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
