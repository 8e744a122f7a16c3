"""Tables: CSV, TSV and semicolons, with a header that names the columns; a row for each item."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings, quoted
from scorer.formats import regular
from scorer.formats.arrow import booleans, keep, list_lengths, numbers, take, text_lengths, texts
from scorer.formats.rows import Graded, Ranked
from scorer.formats.text import Block, Lines, Unreadable, trimmed
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

FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""What a flag may be, whatever its case."""

A_RANK = "a whole number, 0 or more"

SOLUTION_COLUMNS = ("query", "item", "grade", "flag")
SUBMISSION_COLUMNS = ("query", "item", "score", "rank")


def are_ranks(values: Floats) -> Bools:
    """Which of the numbers can be ranks? Beyond 2^53 a float64 cannot tell one from the next."""
    whole: Bools = values == np.floor(values)
    return whole & (values >= 0) & (values <= 2.0**53)


def recognises(lines: list[str]) -> bool:
    """The first line is a header with a query and an item column."""
    return bool(lines) and _delimiter(lines[0]) is not None


def graded(head: Block) -> Callable[[Block, Findings], Graded]:
    """A solution's rows; the flag column may be left out, and with it the preliminary board."""
    return partial(_graded, _Header.of(head, SOLUTION_COLUMNS, "grade"))


def ranked(head: Block) -> Callable[[Block, Findings], Ranked]:
    """Items are ordered by score, as in TREC's runs; by rank only where there is no score column."""
    return partial(_ranked, _Header.of(head, SUBMISSION_COLUMNS, "score", "rank"))


def _graded(header: _Header, block: Block, findings: Findings) -> Graded:
    table = header.table(block, findings)
    grade, sound = table.numbers("grade", findings)
    sound &= table.named(findings)
    flag = None
    if "flag" in table.columns:
        told = pc.ascii_lower(table.columns["flag"])
        flag = booleans(pc.is_in(told, value_set=texts(word for word, flag in FLAGS.items() if flag)))
        plain = booleans(pc.is_in(told, value_set=texts(word for word, flag in FLAGS.items() if not flag)))
        sound &= table.sound(flag | plain, "flag", "1 (preliminary) or 0", findings)
        flag = flag[sound]
    return Graded(
        query=keep(table.columns["query"], sound),
        line=table.number[sound],
        flag=flag,
        lengths=None,
        item=keep(table.columns["item"], sound),
        grade=grade[sound],
    )


def _ranked(header: _Header, block: Block, findings: Findings) -> Ranked:
    by = header.by
    fast = header.regular(block)
    if fast is not None:
        return fast
    table = header.table(block, findings)
    value, sound = table.numbers(by, findings)
    if by == "rank":
        sound &= table.sound(np.isnan(value) | are_ranks(value), "rank", A_RANK, findings)
    sound &= table.named(findings)
    return Ranked(
        query=keep(table.columns["query"], sound),
        line=table.number[sound],
        lengths=None,
        item=keep(table.columns["item"], sound),
        run_score=value[sound] if by == "score" else None,
        rank=value[sound].astype(np.int64) if by == "rank" else None,
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first line says of those below it."""

    line: int
    """Its number."""
    delimiter: str
    count: int
    """Of the columns."""
    places: Mapping[str, int]
    """Of the columns that are read."""
    by: str
    """Which of them holds the numbers."""

    @classmethod
    def of(cls, head: Block, wanted: tuple[str, ...], *by: str) -> _Header:
        """The header of a file that begins with `head`; one of the columns `by` must be there, the first is taken."""
        lines = Lines.of(head, trim="\r\n")
        text, line = lines.text[0].as_py(), int(lines.number[0])
        delimiter = _delimiter(text)
        if delimiter is None:
            raise Unreadable(
                f"found {quoted(text)}; expected a header that names a column query and a column item", line
            )
        names = _names(text, delimiter)
        places = {name: place for name in wanted if (place := _place(names, name)) is not None}
        found = next((name for name in by if name in places), None)
        if found is None:
            expected = ", ".join(name for each in by for name in COLUMNS[each])
            raise Unreadable(f"the header names no column for the {' or '.join(by)}; expected one of {expected}", line)
        return cls(line, delimiter, len(names), places, found)

    def regular(self, block: Block) -> Ranked | None:
        """A block's rows the fast way; None where it cannot be gone."""
        skip = max(0, self.line - block.first_line + 1)
        if self.by != "score" or block.holds(b'"') or skip > 1:
            return None
        places = {name: self.places[name] for name in ("query", "item", "score")}
        read = regular.columns(block, self.delimiter, self.count, places, "score", skip=skip)
        if read is None or not all(text_lengths(ids).all() for ids in (read[0]["query"], read[0]["item"])):
            return None
        line = block.first_line + skip + np.arange(read[1].size)
        return Ranked(trimmed(read[0]["query"], block), line, None, trimmed(read[0]["item"], block), read[1])

    def table(self, block: Block, findings: Findings) -> _Table:
        """The rows under the header; those of another length are reported and left out."""
        lines = Lines.of(block, trim="\r\n")
        lines = lines.where(lines.number > self.line)
        split = _quoted(lines, self.delimiter, findings) if block.holds(b'"') else _split(lines, self.delimiter)
        lengths = list_lengths(split)
        whole = lengths == self.count
        starts = (np.cumsum(lengths) - lengths)[whole]
        words = pc.list_flatten(split)
        closed = booleans(split.is_valid())
        expected = f"{self.count} columns, as in the header"
        number = lines.where(closed).sound(~whole[closed], findings, expected).number
        return _Table(
            number, {name: trimmed(take(words, starts + place), block) for name, place in self.places.items()}
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A block's rows, by column."""

    number: Ints
    columns: dict[str, pa.StringArray]

    def numbers(self, name: str, findings: Findings) -> tuple[Floats, Bools]:
        """A column as numbers, and where it holds any; where not, it is reported."""
        value = numbers(self.columns[name])
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


def _split(lines: Lines, delimiter: str) -> pa.ListArray:
    return pc.split_pattern(lines.text, delimiter)


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
