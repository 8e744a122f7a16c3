"""Tables: CSV, TSV and semicolons, with a header that names the columns; a row for each item."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings, quoted
from scorer.formats.arrow import booleans, keep, list_lengths, numbers, take, text_lengths, texts
from scorer.formats.rows import Graded, Ranked
from scorer.formats.text import Block, Lines, Unreadable
from scorer.hits import Bools, Floats, Ints

NAME = "delimited"
SOLUTION = "query,item,grade"
SUBMISSION = "query,item,score"
QUERY_ONCE = False
LISTED_IS_RIGHT = False

DELIMITERS = (",", "\t", ";")

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "queryid", "qid", "q_id", "topic", "topic_id", "user", "user_id"),
    "item": ("item", "item_id", "itemid", "doc", "doc_id", "docid", "docno", "document", "document_id"),
    "rank": ("rank", "position", "place"),
    "score": ("score", "run_score", "sim", "similarity"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score"),
    "flag": ("flag", "preliminary"),
}
"""What a column is for, and the names that it goes by, whatever their case."""

SOLUTION_COLUMNS = ("query", "item", "grade", "flag")
SUBMISSION_COLUMNS = ("query", "item", "score", "rank")


def recognises(lines: list[str]) -> bool:
    """The first line is a header with a query and an item column."""
    return bool(lines) and _delimiter(lines[0]) is not None


def graded(blocks: Iterator[Block], findings: Findings) -> Iterator[Graded]:
    """A solution's rows; the flag column may be left out, and with it the preliminary board."""
    for table in _tables(blocks, SOLUTION_COLUMNS, findings):
        if "grade" not in table.columns:
            expected = ", ".join(COLUMNS["grade"])
            raise Unreadable(f"the header names no column for the grade; expected one of {expected}", 1)
        grade, sound = table.numbers("grade", findings)
        sound &= table.named(findings)
        flag = None
        if "flag" in table.columns:
            told = pc.ascii_lower(table.columns["flag"])
            flag = booleans(pc.is_in(told, value_set=texts(["1", "true", "yes"])))
            plain = booleans(pc.is_in(told, value_set=texts(["0", "false", "no"])))
            sound &= table.sound(flag | plain, "flag", "1 (preliminary) or 0", findings)
            flag = flag[sound]
        yield Graded(
            query=keep(table.columns["query"], sound),
            line=table.number[sound],
            flag=flag,
            lengths=None,
            item=keep(table.columns["item"], sound),
            grade=grade[sound],
        )


def ranked(blocks: Iterator[Block], findings: Findings) -> Iterator[Ranked]:
    """Items are ordered by score, as in TREC's runs; by rank only where there is no score column."""
    for table in _tables(blocks, SUBMISSION_COLUMNS, findings):
        by = next((name for name in ("score", "rank") if name in table.columns), None)
        if by is None:
            expected = ", ".join(COLUMNS["score"] + COLUMNS["rank"])
            raise Unreadable(f"the header names no column to rank by; expected one of {expected}", 1)
        value, sound = table.numbers(by, findings)
        if by == "rank":
            whole = np.isnan(value) | ((value == np.floor(value)) & (value >= 0))
            sound &= table.sound(whole, "rank", "a whole number from 1", findings)
        sound &= table.named(findings)
        yield Ranked(
            query=keep(table.columns["query"], sound),
            line=table.number[sound],
            lengths=None,
            item=keep(table.columns["item"], sound),
            run_score=value[sound] if by == "score" else None,
            rank=value[sound].astype(np.int64) if by == "rank" else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A block's rows, by column."""

    number: Ints
    columns: dict[str, pa.StringArray]

    def numbers(self, name: str, findings: Findings) -> tuple[Floats, Bools]:
        """A column as numbers, and where it holds any; where not, it is reported."""
        value = numbers(pc.ascii_trim_whitespace(self.columns[name]))
        return value, self.sound(~np.isnan(value), name, "a finite number", findings)

    def named(self, findings: Findings) -> Bools:
        """Where neither the query nor the item is empty; where one is, it is reported."""
        sound = np.ones(len(self.number), dtype=bool)
        for name in ("query", "item"):
            filled = text_lengths(self.columns[name]) > 0
            sound &= self.sound(filled, name, "an id", findings)
        return sound

    def sound(self, right: Bools, name: str, expected: str, findings: Findings) -> Bools:
        """Report where the column is not `right`; give `right`."""
        wrong = np.flatnonzero(~right)
        column = self.columns[name]
        findings.add_each(
            self.number[wrong],
            lambda place: f"found {quoted(column[wrong[place]].as_py())} in the column {name}; expected {expected}",
        )
        return right


def _delimiter(header: str) -> str | None:
    """The character that divides a header in such a way that a query and an item column are in it."""
    for delimiter in DELIMITERS:
        names = _names(header, delimiter)
        if all(_place(names, wanted) is not None for wanted in ("query", "item")):
            return delimiter
    return None


def _names(header: str, delimiter: str) -> list[str]:
    return [name.strip().strip('"').strip().lower() for name in header.split(delimiter)]


def _place(names: list[str], wanted: str) -> int | None:
    """Where the column is; the first of its names that the header has decides."""
    return next((names.index(name) for name in COLUMNS[wanted] if name in names), None)


def _tables(blocks: Iterator[Block], wanted: tuple[str, ...], findings: Findings) -> Iterator[_Table]:
    """The rows under the header, a table for each block; rows of another length are reported and left out."""
    delimiter, names = None, []
    for block in blocks:
        lines = Lines.of(block, trim="\r\n")
        if delimiter is None and len(lines):
            header = lines.text[0].as_py()
            delimiter = _delimiter(header)
            if delimiter is None:
                raise Unreadable(
                    f"found {quoted(header)}; expected a header that names a column query and a column item", 1
                )
            names = _names(header, delimiter)
            lines = Lines(lines.text[1:], lines.number[1:])
        if delimiter is None or not len(lines):
            continue
        split = _quoted(lines, delimiter, findings) if block.holds(b'"') else pc.split_pattern(lines.text, delimiter)
        lengths = list_lengths(split)
        whole = lengths == len(names)
        starts = (np.cumsum(lengths) - lengths)[whole]
        words = pc.list_flatten(split)
        unclosed = booleans(split.is_null())
        expected = f"{len(names)} columns, as in the header"
        number = lines.where(~unclosed).sound(~whole[~unclosed], findings, expected).number
        places = {name: place for name in wanted if (place := _place(names, name)) is not None}
        yield _Table(number, {name: take(words, starts + place) for name, place in places.items()})


def _quoted(lines: Lines, delimiter: str, findings: Findings) -> pa.ListArray:
    """The columns of lines that hold quotes, read one by one; null where a quote is not closed, which is reported."""
    rows: list[list[str] | None] = []
    for line, number in zip(lines.text.to_pylist(), lines.number.tolist(), strict=True):
        try:
            rows.append(next(csv.reader([line], delimiter=delimiter, strict=True)))
        except csv.Error:
            rows.append(None)
            expected = "every quote closed on its line, and doubled inside quotes"
            findings.add(number, f"found {quoted(line)}; expected {expected}")
    return pa.array(rows, pa.list_(pa.string()))
