"""The layout of a text file without a header: what its columns are, and what separates the items of a list.

It is decided here only. Lines that fit two layouts are refused, with both readings and the ways to write each.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic

from scorer.errors import Findings
from scorer.lists.reading.blocks import Batch, Block, UnreadableError, sample
from scorer.lists.reading.tables import IN_BRACKETS, USUAL_NAMES, mark_between, plain
from scorer.wording import quoted

WHITE = " "
"""The mark between columns that means any white space."""
_MARKS = {"\t": " TAB ", ",": " COMMA ", ";": " SEMICOLON ", WHITE: " BLANK ", ":": ":"}
"""What separates columns, as texts name it."""

ITEM_LISTS = ("query", "items")
RANKS = ("query", "item", "rank")
RANKS_AND_SCORES = ("query", "item", "rank", "score")
RUN = ("query", "Q0", "item", "rank", "score", "tag")
QRELS = ("query", "iteration", "item", "grade")
GRADES = ("query", "item", "grade")
"""Of Cranfield and NTCIR, where the grade is a level, as L2."""

PREDICTIONS = ("score",)
"""Of the rows of a solution in LETOR's format."""

EXAMPLES = (" ".join(RANKS), " ".join(RANKS_AND_SCORES), 'query,"item item ..."')
"""Layouts of submissions, for messages."""

BETWEEN = {",": "items, between commas", WHITE: "items, between blanks", IN_BRACKETS: "items, in brackets"}
_COUNTS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
_LEVEL = re.compile("L[0-9]")
A_GRADE = re.compile(r"-?[0-9](\.0+)?")
IN_QUERY = re.compile(r"^$|[\s:<{\[(|,;]")
"""What no query has in a file of lists."""

MOST = 1_000
"""The lines from which is found what separates items."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of lines are."""

    columns: tuple[str, ...]
    mark: str = WHITE
    """The mark between columns."""
    between: str = ""
    """What separates the items of a list, as `mark_between` returns it."""
    has_header: bool = False

    @property
    def has_lists(self) -> bool:
        """Whether a line has the whole list of a query, with a mark between the items."""
        return self.between in (",", WHITE)

    def __str__(self) -> str:
        if self.columns == ITEM_LISTS:
            return f"query{_MARKS[self.mark]}{BETWEEN.get(self.between, 'item, one a line')}"
        if self.columns == PREDICTIONS:
            return "one score a line, for the row of the solution with this number"
        return f"{_COUNTS.get(len(self.columns), len(self.columns))} columns: {', '.join(self.columns)}"


@dataclass(frozen=True, slots=True, eq=False)
class Reader(Generic[Batch]):
    """Reads the blocks of a file. An invalid line becomes a finding and is left out. Raises UnreadableError."""

    read: Callable[[Block, Findings], Batch]
    layout: Layout | None = None
    """None for a format whose values have names."""
    columns: Callable[[], Mapping[str, str]] = dict
    """Returns the names of the columns or members that are read, by what they are for, if they have names."""

    def __call__(self, block: Block, findings: Findings) -> Batch:
        return self.read(block, findings)


def layout_of(lines: Sequence[str], head: Block | None = None) -> Layout | None:
    """Return the layout of a submission with these first lines; None if no layout fits, or the first one is a header.

    RUN and QRELS are read as TREC's. What separates items is found in `head`, or not at all. Raises UnreadableError
    where two layouts fit, or what separates items is not clear.
    """
    words = rows_of_words(lines)
    if not words or _is_header(lines[0]):
        return None
    columns, found = layout_of_words(words), _lists(lines)
    if found is None or (columns is not None and (_are_certain(words) or _repeat(row[0] for row in found[1]))):
        return _between_tabs(lines) or columns
    mark, rows = found
    if columns is None and head is None:
        return Layout(ITEM_LISTS, mark)
    if columns is None and head is not None:
        rows = (_lists(sample(head.content, MOST)) or found)[1]
        cells = [row[1] for row in rows]
        return Layout(ITEM_LISTS, mark, mark_between(cells, are_scattered=_repeat(row[0] for row in rows)))
    raise UnreadableError(
        f"found {quoted(lines[0])}, which is either {columns}, or {Layout(ITEM_LISTS, mark, WHITE)}; write the same "
        'mark, a blank or a tab, between all columns, or each list in brackets, as in ["d1", "d2"]'
    )


def graded_mark(lines: Sequence[str]) -> str | None:
    """Return the mark between the columns query, item and grade of a solution without a header; None for other lines.

    Grades are levels, or have one digit and are no ranks, where a query has several items, each once.
    """
    for mark in ("\t", ",", WHITE):
        rows = fields(lines, mark)
        words = [*chain(*rows)]
        if {*map(len, rows)} != {len(GRADES)} or not all(words) or any(WHITE in word for word in words):
            continue
        if all(_LEVEL.fullmatch(row[2]) for row in rows):
            return mark
        pairs, items = {(row[0], row[1]) for row in rows}, {row[1] for row in rows}
        is_clear = len({row[0] for row in rows}) < len(rows) == len(pairs) and len(items) > 1 and not _count(rows, 2)
        if is_clear and all(A_GRADE.fullmatch(row[2]) for row in rows):
            return mark
    return None


def is_number(text: str) -> bool:
    """Whether Python reads a number, including ``nan``; the reader reports that, or a comma, with its line."""
    try:
        float(text.strip('"').replace(",", "" if "." in text else ".", 1))
    except ValueError:
        return False
    return True


def rows_of_words(lines: Sequence[str]) -> list[list[str]]:
    """Return the words of each line that is no comment."""
    return [line.split() for line in lines if not line.startswith("#")]


def _is_header(line: str) -> bool:
    mark = next((mark for mark in "\t," if mark in line), None)
    return any(plain(name.strip('"')) in USUAL_NAMES for name in line.split(mark))


def layout_of_words(words: Sequence[Sequence[str]]) -> Layout | None:
    """Return the layout of rows of words, with any white space between them; None for lists and other rows."""
    lengths, several = {*map(len, words)}, len(words) > 1
    same = len({row[1] for row in words if len(row) > 1}) == 1
    if _are_runs(words) or (min(lengths) >= len(RUN) and same and all(is_number(row[4]) for row in words)):
        is_one_run = len({row[5] for row in words if len(row) > 5}) == 1 or _repeat(row[0] for row in words)
        return Layout(RUN) if _are_runs(words) or (is_one_run and (several or _count(words, 3, 2))) else None
    if lengths == {3} and _count(words, 2):
        return Layout(RANKS)
    if lengths == {4} and all(is_number(row[3]) for row in words):
        if _count(words, 2):
            return Layout(RANKS_AND_SCORES)
        return Layout(QRELS) if same and (several or words[0][1] in ("0", "Q0")) else None
    return None


def _are_runs(words: Sequence[Sequence[str]]) -> bool:
    """Whether half of the rows have the word Q0 and a score."""
    return 2 * sum(len(row) >= len(RUN) and row[1] == "Q0" and is_number(row[4]) for row in words) >= len(words)


def _are_certain(words: Sequence[Sequence[str]]) -> bool:
    """Whether rows that can be a run are one although each query has one row."""
    is_counted = len(words) > 1 and min(map(len, words)) >= len(RUN) and _count(words, 3, 2)
    return _are_runs(words) or (is_counted and len({(row[1], row[5]) for row in words}) == 1)


def _between_tabs(lines: Sequence[str]) -> Layout | None:
    """Return the layout of rows with tabs between columns, in which ids may have blanks."""
    rows = fields(lines, "\t")
    for columns in (RANKS, RANKS_AND_SCORES):
        if {*map(len, rows)} == {len(columns)} and _count(rows, 2) and all(is_number(row[-1]) for row in rows):
            return Layout(columns, "\t")
    return None


def _lists(lines: Sequence[str]) -> tuple[str, list[list[str]]] | None:
    """Return the mark after queries, and rows of a query and its items, if there are such rows.

    Between commas, one word in each row may as well be something else.
    """
    for mark in ("\t", ",", WHITE):
        rows = [] if mark != WHITE and any(mark not in line for line in lines) else fields(lines, mark)
        if not rows or any(len(row) != 2 or IN_QUERY.search(row[0]) for row in rows):
            continue
        used = {each for each in "<{| ,[(" if any(each in row[1] for row in rows)}
        if not used & set("<{|") and (mark != "," or used):
            return mark, rows
    return None


def fields(lines: Sequence[str], mark: str) -> list[list[str]]:
    """Return the columns of each line between marks."""
    if not any('"' in line for line in lines):
        return [line.split() if mark == WHITE else [part.strip() for part in line.split(mark)] for line in lines]
    try:
        return [[part.strip() for part in row] for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)]
    except csv.Error:  # a carriage return, which readers report
        return [line.split(mark) for line in lines]


def _repeat(names: Iterable[str]) -> bool:
    """Whether one of the names is listed again."""
    listed = list(names)
    return len({*listed}) < len(listed)


def _count(rows: Sequence[Sequence[str]], place: int, item: int = 1) -> bool:
    """Whether a column counts the items of each query from 0 or 1.

    In qrels, the second column has the same iteration in most rows, and the third has items in any order.
    """
    ranks: dict[str, int] = {}
    for row in rows:
        text, query = row[place], row[0]
        rank = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if rank not in ((ranks[query] + 1,) if query in ranks else (0, 1)):
            return False
        ranks[query] = rank
    return not _repeat(f"{row[0]}\t{row[item]}" for row in rows) and {row[item] for row in rows} not in ({"0"}, {"Q0"})
