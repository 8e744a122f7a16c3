"""JSON Lines, an object on each line, and what all formats of JSON share: ids, numbers, and objects as rows."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import floats, text_lengths, texts
from scorer.lists.reading.blocks import LINE_END, Block, Graded, LimitError, Lines, Ranked
from scorer.measures.matched import Floats, Ints
from scorer.wording import printable, quoted


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, which keep a key that occurs twice."""


DECODER = json.JSONDecoder(object_pairs_hook=Pairs)

MALFORMED = (ValueError, RecursionError)
"""What the decoder raises: for text that is not JSON, numbers of thousands of digits, and values nested too deeply."""


QUOTE = ord('"')
_STEPS = np.zeros(256, dtype=np.int8)
"""[byte]: by how many levels it changes the depth."""
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_MARKS = _STEPS != 0
_MARKS[[QUOTE, LINE_END]] = True


def check_nesting(block: Block, *, by_line: bool) -> None:
    """Raise LimitError where values are nested too deeply, before they are decoded.

    `by_line`: each line is a separate value, and an unclosed bracket or quote does not affect the next line.
    """
    content = block.content
    if b"\\" in content:
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")  # only quotes that end a string are left
    every = np.frombuffer(content, dtype=np.uint8)
    marks = every[_MARKS[every]]
    new_line = marks == LINE_END
    begins = np.maximum.accumulate(np.where(new_line & by_line, np.arange(marks.size), -1))

    def since(total: Ints) -> Ints:
        """The running total, which begins again at each of the values."""
        return total - np.where(begins >= 0, total[begins], 0)

    in_text = since(np.cumsum(marks == QUOTE)) % 2 == 1
    depth = since(np.cumsum(np.where(in_text, 0, _STEPS[marks]), dtype=np.int64))
    deep = np.flatnonzero(depth > block.limits.nesting)
    if deep.size:
        line = block.first_line + int(np.count_nonzero(new_line[: deep[0]]))
        raise LimitError(block.limits, "nesting", f"values are nested {int(depth.max()):,} deep", line)


def explained(error: BaseException) -> str:
    """Return the error of the decoder in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _shown(value: object) -> str:
    """Return a value as messages show it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Pairs):
        return "an object"
    return "a list" if isinstance(value, list) else printable(json.dumps(value)[:60])


def _identity(value: object) -> str | None:
    """Return an id: text, or the digits of a whole number; None for anything else, which has no one text."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def finite(value: object) -> float | None:
    """Return a finite number as a float; None for anything else, including a number in quotes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def numbered(pairs: Pairs, what: str, line: int, findings: Findings) -> tuple[list[str], list[float]]:
    """Return the items of an object and their numbers; a pair that is no item and number becomes a finding."""
    items, numbers = [], []
    for item, value in pairs:
        number = finite(value)
        if not item:
            findings.add(line, 'found "" as an item; expected an id')
        elif number is None:
            depth = "; the file is nested too deeply: write query -> item -> number" if isinstance(value, list) else ""
            found = f"found {_shown(value)} as the {what} of item {quoted(item)}"
            findings.add(line, f"{found}; expected a finite number{depth}")
        else:
            items.append(item)
            numbers.append(number)
    return items, numbers


def identities(values: Iterable[object], line: int, findings: Findings) -> list[str]:
    """Return the ids in a list; a value that is no id becomes a finding."""
    items = []
    for rank, value in enumerate(values, 1):
        item = _identity(value)
        if item is None:
            findings.add(line, f"found {_shown(value)} as item {rank} of the list; expected text or a whole number")
        else:
            items.append(item)
    return items


def with_numbers(values: list[Any], numbers: object, names: tuple[str, ...]) -> list[Any] | Pairs:
    """Return the pairs of a list of pairs, of objects with an id and a number, or of a list with `numbers` next to it.

    `names` are the columns of the number of an object. Objects without one become a list of ids; others stay a list.
    """
    if numbers is not None:
        listed = numbers if isinstance(numbers, list) else []
        return Pairs((_identity(item) or "", number) for item, number in zip_longest(values, listed))
    if values and all(isinstance(each, list) and not isinstance(each, Pairs) and len(each) == 2 for each in values):
        return Pairs((_identity(item) or "", number) for item, number in values)
    if not (values and all(isinstance(each, Pairs) for each in values)):
        return values
    objects = [{tables.plain(name): value for name, value in reversed(each)} for each in values]
    known = [*map(tables.plain, tables.COLUMNS["item"]), "id"]
    ids = [next((_identity(each[name]) for name in known if name in each), None) or "" for each in objects]
    wanted = [(tables.plain(name), column) for column in names for name in tables.COLUMNS.get(column, (column,))]
    name, column = next((pair for pair in wanted if pair[0] in objects[0]), ("", ""))
    found = [negated(each.get(name)) if column == "distance" else each.get(name) for each in objects]
    return Pairs(zip(ids, found, strict=True)) if name else ids


def negated(value: object) -> object:
    """Return the run score for a distance; a value that is no number stays as it is."""
    number = finite(value)
    return value if number is None else -number


def json_line(value: str | list[str] | Mapping[str, Any]) -> str:
    """Return a value as JSON on one line; numbers are the shortest that are read as the same float64."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def whole(value: float) -> float | int:
    """Return 2 for 2.0. -0.0, and numbers from 2^53 on, stay floats, because no whole number is read as the same."""
    return int(value) if value.is_integer() and abs(value) < 2**53 and (value or math.copysign(1, value) > 0) else value


SOLUTION = '{"query": "q", "item": "a", "grade": 2}'
SUBMISSION = '{"query": "q", "items": ["a", "b"]} or {"query": "q", "item": "a", "score": 1.5}'

ITEMS = "items"
OPTIONS = tables.COLUMN_OPTIONS

_LISTED = "list"
"""What rows order items by, other than score and rank: the order of the list."""


@dataclass(slots=True)
class JsonRow:
    """A query and the items of one object."""

    line: int
    query: str
    items: list[str]
    numbers: list[float]
    """Of the items; empty where a list orders them."""
    by: str
    flag: bool | None = None
    """None where the object has no flag."""
    subtopic: str | None = None
    """None where the object has no subtopic."""
    is_iteration: bool = False
    """As `Graded` has it."""


@dataclass(slots=True)
class Members:
    """The meaning of members by their names, found once for all objects with the same names."""

    wanted: tuple[str, ...]
    """`tables.SOLUTION_COLUMNS` or `tables.SUBMISSION_COLUMNS`."""
    options: Mapping[str, str]
    format: str
    """Its name, for messages."""
    known: dict[tuple[str, ...], dict[str, str] | str] = field(default_factory=dict)

    @property
    def example(self) -> str:
        return SOLUTION if "grade" in self.wanted else SUBMISSION

    def meaning(self, names: tuple[str, ...]) -> dict[str, str] | str:
        """Return the name of the member for each column that is read; or a message, where two members mean the same.

        If the names of all objects together have one meaning, each object that has all of the members that it names
        has the same one.
        """
        if names not in self.known:
            self.known[names] = self._meaning(names)
        return self.known[names]

    def _meaning(self, names: tuple[str, ...]) -> dict[str, str] | str:
        if len(set(names)) < len(names):
            again = Counter(names).most_common(1)[0][0]
            return f"found the member {quoted(again)} twice in an object; expected it once"
        # An object need not have what an option names: a query without items has no score.
        known = {*map(tables.plain, names)}
        held = {column: name for column, name in self.options.items() if tables.plain(name) in known}
        every = dict.fromkeys((*self.wanted, ITEMS))
        found = {column: [names[at] for at in tables.places(names, column, held)] for column in every}
        found.pop("rank" if tables.order_by(names, held) == "score" else "score", None)
        relevant = found.pop("relevant", None)
        if relevant and not found["item"]:
            found[ITEMS] = relevant
        elif not tables.has_lists(names, held):
            found[ITEMS] = [name for name in found[ITEMS] if tables.plain(name) == ITEMS]
        elif "score" in found:
            found["score"] = [name for name in found["score"] if name not in found[ITEMS]]
        unused = () if found[ITEMS] else tables.SIGNS
        found = {column: members for column, members in found.items() if members and column not in unused}
        for column, members in found.items():
            if len(members) > 1:
                both = " and ".join(map(quoted, members[:2]))
                choice = printable(f"{self.format}:{column}={members[0]}")
                return f"found the members {both}, which both name the {column}; keep one, or choose it by {choice}"
        if ITEMS in found and "item" in found:
            both = f"{quoted(found[ITEMS][0])} and {quoted(found['item'][0])}"
            return f"found the members {both}, which both name items; keep one"
        return {column: members[0] for column, members in found.items()}

    def read(self, objects: Iterable[tuple[int, object]]) -> dict[str, str]:
        """Return the names of the members that are read from the objects, by column."""
        list(self.rows(objects, Findings()))
        meanings = [meaning for meaning in self.known.values() if isinstance(meaning, dict)]
        columns = dict.fromkeys(column for meaning in meanings for column in meaning)
        return {column: " or ".join({each[column]: 0 for each in meanings if column in each}) for column in columns}

    def rows(self, objects: Iterable[tuple[int, object]], findings: Findings) -> Iterator[JsonRow]:
        """Read objects with their lines; what is wrong with one becomes a finding, and it is left out."""
        for line, value in objects:
            if not isinstance(value, Pairs):
                findings.add(line, f"found {_shown(value)}; expected an object, as in {self.example}")
                continue
            members = dict(value)
            names = tuple(members) if len(members) == len(value) else tuple(name for name, _ in value)
            meaning = self.meaning(names)
            if isinstance(meaning, str):
                findings.add(line, meaning)
                continue
            row = self._row({column: members[name] for column, name in meaning.items()}, meaning, line, findings)
            if row is not None:
                yield row

    def _row(
        self, values: Mapping[str, Any], meaning: Mapping[str, str], line: int, findings: Findings
    ) -> JsonRow | None:
        query = _identity(values.get("query"))
        if query is None:
            found = f"found {_shown(values['query'])} as the query" if "query" in values else "no query"
            findings.add(line, f"{found}; expected an object, as in {self.example}")
            return None
        flag = _flag(values.get("flag"), line, findings)
        subtopic, is_iteration = _subtopic(values.get("subtopic"), line, findings), "subtopic" not in values
        if is_iteration and values.get("iteration") is not None:
            subtopic = str(values["iteration"])
        if ITEMS in values:
            numbers, distances = values.get("scores"), values.get("distances")
            if numbers is None:
                numbers = [*map(negated, distances)] if isinstance(distances, list) else distances
            are_relevant = tables.plain(meaning[ITEMS]) in map(tables.plain, tables.COLUMNS["relevant"])
            row = self.row_of_items(query, values[ITEMS], line, findings, numbers, are_relevant=are_relevant)
            if row is not None:
                row.flag, row.subtopic, row.is_iteration = flag, subtopic, is_iteration
            return row
        by = "grade" if "grade" in values else "score" if "score" in values else "rank" if "rank" in values else None
        item = _identity(values.get("item"))
        if item is None or by is None:
            wanted = "grade" if "grade" in self.wanted else "score or rank"
            found = f"no {'item' if item is None else wanted}"
            if "item" in values and item is None:
                found = f"found {_shown(values['item'])} as the item"
            findings.add(line, f"{found}; expected an object, as in {self.example}")
            return None
        number = finite(values[by])
        if number is None or (by == "rank" and not tables.are_ranks(np.array([number]))[0]):
            expected = tables.A_RANK if by == "rank" else "a finite number"
            findings.add(line, f"found {_shown(values[by])} as the {by}; expected {expected}")
            return None
        return JsonRow(line, query, [item], [number], by, flag, subtopic, is_iteration)

    def row_of_items(
        self,
        query: str,
        items: object,
        line: int,
        findings: Findings,
        numbers: object = None,
        *,
        are_relevant: bool = False,
    ) -> JsonRow | None:
        """Return all items of a query as a row; a value that is neither a list nor an object is reported.

        `numbers` is as for `with_numbers`. In a solution, listed items that `are_relevant` have the grade 1.
        """
        is_solution = "grade" in self.wanted
        if isinstance(items, list):
            items = with_numbers(items, numbers, ("grade",) if is_solution else ("score", "distance"))
            if is_solution and are_relevant and not isinstance(items, Pairs):
                items = Pairs((_identity(item) or "", 1) for item in items)
        if isinstance(items, Pairs):
            by = "grade" if is_solution else "score"
            return JsonRow(line, query, *numbered(items, by, line, findings), by)
        if isinstance(items, list):
            return JsonRow(line, query, identities(items, line, findings), [], _LISTED)
        both = "an object from items to grades" if is_solution else "a list of items, or an object from items to scores"
        findings.add(line, f"found {_shown(items)} as the items of query {quoted(query)}; expected {both}")
        return None


def _flag(value: object, line: int, findings: Findings) -> bool | None:
    if value is None:
        return None
    word = json.dumps(value) if not isinstance(value, str) else value.strip().lower()
    if word not in tables.FLAGS:
        findings.add(line, f"found {_shown(value)} as the flag; expected {tables.A_FLAG}")
    return tables.FLAGS.get(word)


def _subtopic(value: object, line: int, findings: Findings) -> str | None:
    found = None if value is None else "" if value == "" else _identity(value)
    if value is not None and found is None:
        findings.add(line, f"found {_shown(value)} as the subtopic; expected text or a whole number")
    return found


def graded_objects(rows: Iterable[JsonRow], findings: Findings) -> Graded:
    """Return the rows of a solution as a batch; lists without grades are reported and left out."""
    sound = []
    for row in rows:
        if row.by == _LISTED and row.items:
            findings.add(row.line, f"found a list of items for query {quoted(row.query)}; expected each with its grade")
        else:
            sound.append(row)
    flagged = any(row.flag is not None for row in sound)
    divided = any(row.subtopic is not None for row in sound)
    return Graded(
        *_columns(sound),
        subtopic=texts(row.subtopic or "" for row in sound for _ in row.items) if divided else None,
        is_iteration=all(row.is_iteration for row in sound),
        flag=np.array([bool(row.flag) for row in sound], dtype=bool) if flagged else None,
    )


def _columns(rows: Sequence[JsonRow]) -> tuple[pa.StringArray, Ints, Ints, pa.StringArray, Floats]:
    """Return the query, the line and the number of items of each row; and each item and its number."""
    return (
        texts(row.query for row in rows),
        np.array([row.line for row in rows], dtype=np.int64),
        np.array([len(row.items) for row in rows], dtype=np.int64),
        texts(item for row in rows for item in row.items),
        np.array([number for row in rows for number in row.numbers], dtype=np.float64),
    )


def ordered_by(rows: Iterable[JsonRow]) -> str:
    """What the first row that has items orders them by."""
    return next((row.by for row in rows if row.items), _LISTED)


def ranked_objects(rows: Iterable[JsonRow], by: str, findings: Findings) -> Ranked:
    """Return the rows of a submission as a batch; rows that order items by anything but `by` are reported."""
    sound = []
    for row in rows:
        if row.items and row.by != by:
            findings.add(row.line, f"found items by their {row.by}; expected them by their {by}, as in the lines above")
        else:
            sound.append(row)
    query, line, lengths, item, number = _columns(sound)
    rank = number.astype(np.int64) if by == "rank" else None
    return Ranked(query, line, lengths, item, number if by == "score" else None, rank)


NAME = "jsonl"

MOST_MEMBERS = 100
"""The most members of objects that are read by columns: each is one in every row, also where it is missing."""

_PLAIN: Mapping[type, pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.float64(),
    float: pa.float64(),
    type(None): pa.null(),
}
"""The types of members that are not used, by that on the first line."""

_NAMES = "|".join(tables.COLUMNS["query"]).replace("_", "[_-]?")
_BEGINNING = re.compile(rf'\{{\s*"({_NAMES})"\s*:\s*["0-9-]', re.IGNORECASE)


def recognises(lines: list[str]) -> bool:
    """Whether the first line begins with a query, or is an object that has one anywhere."""
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    if _BEGINNING.match(lines[0].lstrip()):
        return True
    try:
        row = DECODER.decode(lines[0])
    except MALFORMED:
        return False
    places = tables.places([name for name, _ in row], "query", {})
    return any(_identity(row[at][1]) is not None for at in places)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a line for each item with its grade, or for each query with an object from items to grades; and flags."""
    return Reader(partial(_graded, Members(tables.SOLUTION_COLUMNS, options, NAME)))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a line for each item with its score or rank, or for each query with its items: a list or object of scores.

    All lines order items as the first one does. Lines of one query add to one list.
    """
    members = Members(tables.SUBMISSION_COLUMNS, options, NAME)
    read = partial(_ranked, members, ordered_by(members.rows(_objects(head, Findings()), Findings())))
    return Reader(read, columns=lambda: members.read(_objects(head, Findings())))


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each item, and for each query that has none."""
    lines = []
    for query, items in solution.grades.items():
        flag = {"flag": query in solution.flagged} if solution.flagged else {}
        if not items:
            lines.append(json_line({"query": query, **flag, ITEMS: []}))
        for item, grade in items.items():
            row = {"query": query, **flag, "item": item}
            if not solution.subtopics:
                lines.append(json_line({**row, "grade": whole(grade)}))
            for subtopic, each in solution.subtopics.get((query, item), {}).items():
                lines.append(json_line({**row, "subtopic": subtopic, "grade": whole(each)}))
        _check(query, *items)
    return "".join(f"{line}\n" for line in lines).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each item with its score; for each query where lists have no scores, or are empty."""
    lines = []
    for query, items in submission.items.items():
        _check(query, *items)
        if submission.scores is None or not items:
            lines.append(json_line({"query": query, ITEMS: list(items)}))
            continue
        for item, score in zip(items, submission.scores[query], strict=True):
            lines.append(json_line({"query": query, "item": item, "score": whole(score)}))
    return "".join(f"{line}\n" for line in lines).encode()


def _check(*ids: str) -> None:
    if "" in ids:
        raise UnwritableError(f"an id is empty; {NAME} cannot hold it")


def _graded(members: Members, block: Block, findings: Findings) -> Graded:
    fast = _regular(members, block)
    if fast is None:
        check_nesting(block, by_line=True)
        return graded_objects(members.rows(_objects(block, findings), findings), findings)
    return tables.graded_rows(fast, block.first_line + np.arange(len(fast["query"])), findings)


def _ranked(members: Members, by: str, block: Block, findings: Findings) -> Ranked:
    fast = _regular(members, block) if by == "score" else None
    if fast is None:
        check_nesting(block, by_line=True)
        return ranked_objects(members.rows(_objects(block, findings), findings), by, findings)
    return tables.ranked_rows(fast, block.first_line + np.arange(len(fast["query"])), findings)


def _regular(members: Members, block: Block) -> dict[str, pa.Array] | None:
    """Return the columns of a block whose lines have one item each, all in the same way; None for any other block."""
    try:
        first = DECODER.decode(block.content.partition(b"\n")[0].decode())
    except MALFORMED:
        return None
    if not isinstance(first, Pairs):
        return None
    meaning = members.meaning(tuple(name for name, _ in first))
    number = members.wanted[2]
    if isinstance(meaning, str) or ITEMS in meaning or not {"query", "item", number} <= meaning.keys():
        return None
    if len(first) > MOST_MEMBERS or not all(type(value) in _PLAIN for _, value in first):
        return None
    values = dict(first)
    types = {name: _PLAIN[type(value)] for name, value in first}
    types |= {name: pa.string() if isinstance(values[name], str) else pa.int64() for name in meaning.values()}
    types[meaning[number]] = pa.float64()
    if "flag" in meaning:
        types[meaning["flag"]] = pa.bool_()
    read = tables.members(block, types, meaning.values())
    if read is None:
        return None
    # Of the characters that can open a value with values in it, flat objects have one each.
    if block.content.count(b"{") + block.content.count(b"[") > len(read[meaning["query"]]):
        check_nesting(block, by_line=True)
    names = ("query", "item", "subtopic", "iteration")
    ids = {name: read[meaning[name]].cast(pa.string()) for name in names if name in meaning}
    finite = np.isfinite(floats(read[meaning[number]])).all()
    if not (finite and all(text_lengths(ids[name]).all() for name in ("query", "item"))):
        return None
    return {name: read[member] for name, member in meaning.items()} | ids


def _objects(block: Block, findings: Findings) -> Iterator[tuple[int, object]]:
    """Yield the value on each line that is not blank, with the line's number; lines that are not JSON are reported."""
    lines = Lines.of(block)
    for text, line in zip(lines.text.to_pylist(), lines.number.tolist(), strict=True):
        try:
            yield line, DECODER.decode(text)
        except MALFORMED as error:
            findings.add(line, f"no JSON: {explained(error)}; expected an object on each line")
