"""Tables: CSV, TSV and semicolons, with a header that names the columns; a row for each item."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings
from scorer.formats.reading import columns, regular
from scorer.formats.reading.arrow import booleans, keep, list_lengths, numbers, take, text_lengths, texts
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, Lines, trimmed
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting, shortest
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.wording import quoted

NAME = "delimited"
SOLUTION = "query,item,grade"
SUBMISSION = "query,item,score"
WHOLE = False
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";"}

OPTIONS: Mapping[str, str] = {**columns.OPTIONS, "delimiter": "comma, tab or semicolon"}

UNFIT = re.compile(r"^$|^\ufeff|^[ \t\v\f]|[ \t\v\f]$|[\n\r\0]")


def recognises(lines: list[str]) -> bool:
    """The first line is a header with a query and an item column."""
    return bool(lines) and _delimiter(lines[0], {}) is not None


def graded(head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """A solution's rows; the flag column may be left out, and with it the preliminary board."""
    return partial(_graded, _Header.of(head, columns.SOLUTION, options))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Items are ordered by score, as in TREC's runs; by rank only where there is no score column."""
    return partial(_ranked, _Header.of(head, columns.SUBMISSION, options))


def write_solution(solution: SolutionContent, options: Mapping[str, str]) -> bytes:
    """A row for each item; with a column for the flag where a query is flagged."""
    rows = solution.rows(NAME)
    heads = ["query", "item", "grade", *(["flag"] if solution.flagged else [])]
    return _written(
        heads,
        options,
        ([query, item, shortest(grade), str(int(query in solution.flagged))] for query, item, grade in rows),
    )


def write_submission(submission: SubmissionContent, options: Mapping[str, str]) -> bytes:
    """A row for each item, with its score; with its rank where lists have no scores."""
    by = "rank" if submission.scores is None else "score"
    rows = submission.rows(NAME)
    values = ([query, item, shortest(score) if by == "score" else str(rank)] for query, item, score, rank in rows)
    return _written(["query", "item", by], options, values)


def _written(heads: list[str], options: Mapping[str, str], rows: Iterable[list[str]]) -> bytes:
    """The rows, cut to the number of the heads, under these heads or what options call them."""
    text = io.StringIO()
    table = csv.writer(text, delimiter=_delimiters(options)[0], lineterminator="\n")
    table.writerow([options.get(name, name) for name in heads])
    for row in rows:
        fitting(row[:2], UNFIT, "a query or an item", NAME)
        table.writerow(row[: len(heads)])
    return text.getvalue().encode()


def _graded(header: _Header, block: Block, findings: Findings) -> Graded:
    table = header.table(block, findings)
    grade, sound = table.numbers("grade", findings)
    sound &= table.named(findings)
    flag = None
    if "flag" in table.columns:
        told = pc.ascii_lower(table.columns["flag"])
        flag = booleans(pc.is_in(told, value_set=texts(word for word, flag in columns.FLAGS.items() if flag)))
        plain = booleans(pc.is_in(told, value_set=texts(word for word, flag in columns.FLAGS.items() if not flag)))
        sound &= table.sound(flag | plain, "flag", columns.A_FLAG, findings)
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
        sound &= table.sound(np.isnan(value) | columns.are_ranks(value), "rank", columns.A_RANK, findings)
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
    def of(cls, head: Block, wanted: tuple[str, ...], options: Mapping[str, str]) -> _Header:
        """The header of a file that begins with `head`."""
        lines = Lines.of(head, trim="\r\n")
        text, line = lines.text[0].as_py(), int(lines.number[0])
        delimiter = _delimiter(text, options)
        if delimiter is None:
            raise UnreadableError(
                f"found {quoted(text)}; expected a header that names a column query and a column item "
                "(or say which they are, as in delimited:query=session,item=track)",
                line,
            )
        names = _names(text, delimiter)
        try:
            by = columns.order_by(names, options) if "rank" in wanted else "grade"
            places = {name: found for name in wanted if (found := columns.place(names, name, options)) is not None}
        except UnreadableError as error:
            raise UnreadableError(str(error), line) from None
        if by not in places:
            sought = ("score", "rank") if "rank" in wanted else ("grade",)
            expected = ", ".join(name for each in sought for name in columns.COLUMNS[each])
            raise UnreadableError(
                f"the header names no column for the {' or '.join(sought)}; expected one of {expected}", line
            )
        return cls(line, delimiter, len(names), places, by)

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

    def table(self, block: Block, findings: Findings) -> _Columns:
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
        return _Columns(
            number, {name: trimmed(take(words, starts + place), block) for name, place in self.places.items()}
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
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


def _delimiter(header: str, options: Mapping[str, str]) -> str | None:
    """The character that divides a header in such a way that a query and an item column are in it."""
    for delimiter in _delimiters(options):
        names = _names(header, delimiter)
        sought = [(*columns.COLUMNS[wanted], options.get(wanted, wanted).lower()) for wanted in ("query", "item")]
        if not any(set(each).isdisjoint(names) for each in sought):
            return delimiter
    return None


def _delimiters(options: Mapping[str, str]) -> tuple[str, ...]:
    """Those that may be, the first of which is written."""
    if "delimiter" not in options:
        return tuple(DELIMITERS.values())
    if options["delimiter"] not in DELIMITERS:
        raise UnreadableError(
            f"found {quoted(options['delimiter'])} as the delimiter; expected {', '.join(DELIMITERS)}"
        )
    return (DELIMITERS[options["delimiter"]],)


def _names(header: str, delimiter: str) -> list[str]:
    return [name.strip().strip('"').strip().lower() for name in header.split(delimiter)]


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
