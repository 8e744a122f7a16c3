"""Tables with commas, tabs or semicolons: with a header that names the columns, or in a layout without a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError, fitting, layouts, shortest
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import booleans, pc
from scorer.lists.reading.blocks import (
    VISIBLE,
    Block,
    Graded,
    Lines,
    Ranked,
    UnreadableError,
    Words,
    sample,
    trimmed,
)
from scorer.measures.matched import Ints
from scorer.wording import quoted

NAME = "delimited"
SOLUTION = "query,item,grade"
SUBMISSION = "query,item,score"

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "blank": layouts.WHITE}
"""By name, in the order in which they are tried for a header."""

OPTIONS: Mapping[str, str] = {
    **tables.COLUMN_OPTIONS,
    "delimiter": "comma, tab, semicolon or blank",
    "header": "no, for a file without one: columns are numbers then, from 1",
}

UNFIT_SUBTOPIC = re.compile(r"^\ufeff|^[ \t\v\f]|[ \t\v\f]$|[\n\r\0]")
UNFIT = re.compile(r"^$|^\ufeff|^[ \t\v\f]|[ \t\v\f]$|[\n\r\0]")


def recognises(lines: list[str]) -> bool:
    """Whether the first line is a header with a query and an item column, or all lines are as a layout without one."""
    if not lines or _delimiter(lines[0], {}) is not None:
        return bool(lines)
    found = layouts.layout_of(lines)
    return found is not None and (len(found.columns) < len(layouts.QRELS) or found.mark == "\t")


def recognises_solution(lines: list[str]) -> bool:
    """Whether the first line is a header with a query and an item column, or all lines are query, item and grade."""
    return _delimiter(lines[0], {}) is not None or layouts.graded_mark(lines) is not None


def graded(head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a solution; without a column for the flag, no query is flagged."""
    header = _header(head, tables.SOLUTION_COLUMNS, options)

    def read(block: Block, findings: Findings) -> Graded:
        return tables.graded_rows(*header.rows(block, findings), findings, header.between)

    return Reader(read, header.layout)


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a submission, ordered by its score; by its rank where there is no column for the score; or lists."""
    header = _header(head, tables.SUBMISSION_COLUMNS, options)
    names = {column: header.names[at] for column, at in header.places.items()} if header.line else {}

    def read(block: Block, findings: Findings) -> Ranked:
        held, line = header.regular(block) or header.rows(block, findings)
        return tables.ranked_rows(held, line, findings, header.between)

    return Reader(read, header.layout, lambda: names)


def write_solution(solution: SolutionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with columns for the subtopic and the flag if the solution has any."""
    held = solution.columns(NAME)
    fitting(held.get("subtopic", ()), UNFIT_SUBTOPIC, "a subtopic", NAME)
    return _written(held, options)


def write_submission(submission: SubmissionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with its score, or with its rank where lists have no scores."""
    return _written(submission.columns(NAME), options)


def _written(held: Mapping[str, Sequence[Any]], options: Mapping[str, str]) -> bytes:
    """Write the columns below their names, or the names that options give them."""
    if "header" in options:
        raise UnwritableError(f"{NAME} is written with a header; leave out header={options['header']}")
    text = io.StringIO()
    table = csv.writer(text, delimiter=_delimiters(options)[0], lineterminator="\n")
    table.writerow([options.get(name, name) for name in held])
    for row in zip(*held.values(), strict=True):
        fitting(row[:2], UNFIT, "a query or an item", NAME)
        table.writerow([value if isinstance(value, str) else shortest(float(value)) for value in row])
    return text.getvalue().encode()


def _header(head: Block, wanted: tuple[str, ...], options: Mapping[str, str]) -> Header:
    if options.get("header", "no") != "no":
        raise UnreadableError(f"found {quoted(options['header'])} as the header; expected no, or leave it out")
    places_of = partial(_places, wanted=wanted, options=options)
    if "header" in options:
        return Header.by_position(head, _delimiters(options), places_of)
    lines = [] if options else sample(head.content)
    if "rank" not in wanted and (mark := layouts.graded_mark(lines)) is not None:
        return Header(0, mark, layouts.GRADES, places_of(layouts.GRADES))
    has_header = not lines or "rank" not in wanted or _delimiter(lines[0], {}) is not None
    found = None if has_header else layouts.layout_of(lines, head)
    if found is not None:
        return Header(0, found.mark, found.columns, places_of(found.columns), found.between)
    return Header.of(head, partial(_delimiter, options=options), places_of).with_mark(head)


def _places(names: Sequence[str], wanted: tuple[str, ...], options: Mapping[str, str]) -> Mapping[str, int]:
    """Return the positions of the columns to read, and of the ranks of a run with scores, which are compared."""
    if "rank" in wanted and len(names) == 2 and (item := tables.place(names, "item", options)) is not None:
        return {"query": 1 - item, "items": item}  # the header has a query, too
    found = tables.needed_places(names, wanted, options)
    ranks = [at for at in tables.places(names, "rank", options) if tables.plain(names[at]) == "rank"]
    return {**found, "rank": ranks[0]} if "score" in found and len(ranks) == 1 else found


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file."""

    line: int
    """The number of its line; 0 for a file without one."""
    delimiter: str
    names: Sequence[str]
    """The names of all columns."""
    places: Mapping[str, int]
    """The positions of the columns to read."""
    between: str | None = None
    """The mark between the items of a list, as `tables.mark_between` returns it."""

    @property
    def layout(self) -> layouts.Layout:
        """What the columns of all lines are; those that are not read have no name."""
        at = {place: name for name, place in self.places.items()}
        columns = tuple(at.get(place, "-") for place in range(len(self.names)))
        return layouts.Layout(columns, self.delimiter, self.between or "", has_header=self.line > 0)

    @classmethod
    def by_position(
        cls, head: Block, delimiters: Sequence[str], places_of: Callable[[Sequence[str]], Mapping[str, int]]
    ) -> Header:
        """Return the columns of a file without a header, whose names are numbers from 1. Raises UnreadableError."""
        lines = sample(head.content)
        counts = {mark: {*map(len, layouts.fields(lines, mark))} for mark in delimiters}
        mark = next((mark for mark, number in counts.items() if len(number) == 1 and max(number) > 1), delimiters[0])
        names = [*map(str, range(1, max(counts[mark], default=0) + 1))]
        return cls(0, mark, names, places_of(names)).with_mark(head)

    def with_mark(self, head: Block) -> Header:
        """Return the header with what separates items in a column of lists, if there is one. Raises UnreadableError."""
        if not (lists := self.places.keys() & {"items", "relevant"}):
            return self
        rows = layouts.fields(sample(head.content, layouts.MOST)[self.line > 0 :], self.delimiter)
        rows = [row for row in rows if len(row) == len(self.names)]
        queries, cells = ([row[self.places[name]] for row in rows] for name in ("query", *lists))
        are_scattered = len({*queries}) < len(queries)
        mark = tables.mark_between([*filter(None, cells)], are_scattered=are_scattered, are_lists=True)
        return replace(self, between=mark)

    @classmethod
    def of(
        cls,
        head: Block,
        delimiter_of: Callable[[str], str | None],
        places_of: Callable[[Sequence[str]], Mapping[str, int]],
    ) -> Header:
        """Return the header of a file that begins with `head`. Raises UnreadableError, also where `places_of` does."""
        visible = VISIBLE.search(head.content)
        end = head.content.find(b"\n", visible.start() if visible else 0) + 1 or len(head.content)
        lines = Lines.of(replace(head, content=head.content[:end]), trim="\r\n")
        text, line = lines.text[0].as_py(), int(lines.number[0])
        delimiter = delimiter_of(text)
        if delimiter is None:
            raise UnreadableError(
                f"found {quoted(text)}; expected a header that names a column query and a column item (or name these "
                "columns, as in delimited:query=session,item=track, or delimited:header=no,query=1,item=2,grade=3)",
                line,
            )
        try:
            places_of(names := layouts.fields([text], delimiter)[0])
            names = _with_row_names(names, sample(head.content), delimiter)
            return cls(line, delimiter, names, places_of(names))
        except UnreadableError as error:
            error.args, error.line = (f"{error} (in the header)",), line
            raise

    def regular(self, block: Block) -> tuple[tables.Columns, Ints] | None:
        """As `rows`, of a block with scores that the fast reader can read; None for any other block."""
        skip = max(0, self.line - block.first_line + 1)
        if "score" not in self.places or block.holds(b'"') or skip > 1:
            return None
        if self.delimiter == layouts.WHITE and (block.holds(b"\t") or tables.has_empty_column(block)):
            return None
        # Ranks next to scores are compared in the first block only, because they decide nothing.
        names = ("query", "item", "score", "rank") if skip else ("query", "item", "score")
        places = {name: self.places[name] for name in names if name in self.places}
        held = tables.split_columns(block, self.delimiter, len(self.names), places, "score", skip=skip)
        if held is None:
            return None
        held |= {name: trimmed(held[name], block) for name in ("query", "item")}
        return held, block.first_line + skip + np.arange(len(held["score"]))

    def rows(self, block: Block, findings: Findings) -> tuple[tables.Columns, Ints]:
        """Return the rows below the header, by column, and their lines; those of another length are reported."""
        lines = Lines.of(block, trim="\r\n")
        lines = lines.where(lines.number > self.line)
        if block.holds(b'"'):
            split = _quoted(lines, self.delimiter, findings)
        elif self.delimiter == layouts.WHITE:
            split = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(lines.text))
        else:
            split = pc.split_pattern(lines.text, self.delimiter)
        words = Words(split)
        whole = words.lengths == len(self.names)
        closed = booleans(split.is_valid())
        expected = f"{len(self.names)} columns, as in the {'header' if self.line else 'first lines'}"
        number = lines.where(closed).sound(~whole[closed], findings, expected).number
        return {name: trimmed(words.column(at, whole), block) for name, at in self.places.items()}, number


def _with_row_names(names: list[str], lines: Sequence[str], delimiter: str) -> list[str]:
    """Return the names of all columns, with one of no name for the numbers of rows that R writes in quotes."""
    rows = layouts.fields(lines[1:], delimiter)
    counts = {*map(len, rows)}
    if len(counts) != 1 or counts == {len(names)} or any(text.count('"') % 2 for text in lines):
        return names
    is_of_r = counts == {len(names) + 1} and all(
        text.startswith(f'"{number}"') and row[0] == str(number)
        for number, (text, row) in enumerate(zip(lines[1:], rows, strict=True), 1)
    )
    return ["", *names] if is_of_r else names


def _delimiter(header: str, options: Mapping[str, str]) -> str | None:
    """Return the delimiter with which the header has a query and an item column; None if no character does."""
    for delimiter in _delimiters(options)[: 3 if "|" in header else None]:
        names = layouts.fields([header], delimiter)[0]
        held = {column: name for column, name in options.items() if tables.places(names, column, {column: name})}
        if tables.places(names, "query", held) and (
            tables.places(names, "item", held) or tables.has_lists(names, held)
        ):
            return delimiter
    return None


def _delimiters(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the delimiters to try; the first one is written."""
    if "delimiter" not in options:
        return ("\t", ",", ";", layouts.WHITE) if "header" in options else (",", "\t", ";", layouts.WHITE)
    if options["delimiter"] not in DELIMITERS:
        raise UnreadableError(
            f"found {quoted(options['delimiter'])} as the delimiter; expected {', '.join(DELIMITERS)}"
        )
    return (DELIMITERS[options["delimiter"]],)


def _quoted(lines: Lines, delimiter: str, findings: Findings) -> pa.ListArray:
    """Read lines with quotes one by one; a line with an open quote is reported, and null."""
    rows: list[list[str] | None] = []
    for line, number in zip(lines.text.to_pylist(), lines.number.tolist(), strict=True):
        try:
            rows.append(
                next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter == layouts.WHITE, strict=True))
            )
        except csv.Error:
            rows.append(None)
            expected = "every quote closed on its line, and doubled inside quotes"
            findings.add(number, f"found {quoted(line)}; expected {expected}")
    return pa.array(rows, pa.list_(pa.string()))
