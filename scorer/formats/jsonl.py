"""JSON Lines: an object on each line, for an item with its number, or for a query with all of its items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import columns, regular
from scorer.formats.reading.arrow import booleans, floats, text_lengths, texts
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, Lines
from scorer.formats.reading.json_values import (
    DECODER,
    MALFORMED,
    Pairs,
    dumped,
    finite,
    identities,
    identity,
    numbered,
    shown,
    told,
    whole,
)
from scorer.formats.writing import SolutionContent, SubmissionContent, UnwritableError
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.wording import quoted

NAME = "jsonl"
SOLUTION = '{"query": "q", "item": "a", "grade": 2}'
SUBMISSION = '{"query": "q", "items": ["a", "b"]} or {"query": "q", "item": "a", "score": 1.5}'
OPTIONS: Mapping[str, str] = {**columns.OPTIONS, "items": "the name of the member with the list of items"}
WHOLE = False
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

ITEMS = "items"
LISTED = "list"
"""What the lines of a submission order by, beside score and rank: the order in which items are listed."""

BEGINNING = re.compile(rf'\{{\s*"({"|".join(columns.COLUMNS["query"])})"\s*:\s*["0-9-]', re.IGNORECASE)


def recognises(lines: list[str]) -> bool:
    """The first line begins with the query, or is an object that names one anywhere."""
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    if BEGINNING.match(lines[0].lstrip()):
        return True
    try:
        row = DECODER.decode(lines[0])
    except MALFORMED:
        return False
    names = [name.lower() for name, _ in row]
    place = columns.place(names, "query", {})
    return place is not None and identity(row[place][1]) is not None


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """A line for each item with its grade, or for each query with an object from items to grades; flags if it has."""
    return partial(_graded, _Fields(options))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """A line for each item with its score or rank, or for each query with its items: a list, or an object of scores.

    All lines must order items alike, as the first does. Lines of one query add to one list.
    """
    fields = _Fields(options)
    by = next((row.by for row in _rows(fields, head, Findings(), columns.SUBMISSION) if row.items), LISTED)
    return partial(_ranked, fields, by)


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """A line for each item; for a query without any, one that says so."""
    lines = []
    for query, items in solution.grades.items():
        flag = {"flag": query in solution.flagged} if solution.flagged else {}
        if not items:
            lines.append(dumped({"query": query, **flag, ITEMS: []}))
        lines += [dumped({"query": query, **flag, "item": item, "grade": whole(items[item])}) for item in items]
        _fit(query, *items)
    return "".join(f"{line}\n" for line in lines).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """A line for each item with its score; for each query where lists have no scores, or are empty."""
    lines = []
    for query, items in submission.items.items():
        _fit(query, *items)
        if submission.scores is None or not items:
            lines.append(dumped({"query": query, ITEMS: list(items)}))
            continue
        for item, score in zip(items, submission.scores[query], strict=True):
            lines.append(dumped({"query": query, "item": item, "score": whole(score)}))
    return "".join(f"{line}\n" for line in lines).encode()


def _fit(*ids: str) -> None:
    if "" in ids:
        raise UnwritableError(f"an id is empty; {NAME} could write that, and nothing reads it")


@dataclass(slots=True)
class _Row:
    """A line: a query and what it says of its items."""

    line: int
    query: str
    items: list[str]
    numbers: list[float]
    """Of the items; empty where they are listed in order."""
    by: str
    flag: bool | None = None
    """None where the line does not say."""


@dataclass(slots=True)
class _Fields:
    """Where in a line each thing stands; told once for all lines with the same names."""

    options: Mapping[str, str]
    known: dict[tuple[str, ...], Mapping[str, int]] = field(default_factory=dict)

    @property
    def list_name(self) -> bytes:
        """What stands in a block if one of its lines may have a list of items."""
        return f'"{self.options.get(ITEMS, ITEMS)}"'.encode()

    def places(self, row: Pairs, wanted: tuple[str, ...]) -> Mapping[str, int]:
        """By what is wanted, the place of the member; only those that are there."""
        key = (*wanted, *(name for name, _ in row))
        if key not in self.known:
            names = [name.lower() for name, _ in row]
            # A line need not have what an option names: a query without items has no score.
            held = {name: value for name, value in self.options.items() if value.lower() in names}
            found = {name: columns.place(names, name, held) for name in wanted}
            items = self.options.get(ITEMS, ITEMS).lower()
            found[ITEMS] = names.index(items) if items in names else None
            self.known[key] = {name: place for name, place in found.items() if place is not None}
        return self.known[key]


def _graded(fields: _Fields, block: Block, findings: Findings) -> Graded:
    fast = _regular(fields, block, columns.SOLUTION)
    if fast is not None:
        return Graded(fast.query, fast.line, fast.flag, None, fast.item, fast.number)
    rows = []
    for row in _rows(fields, block, findings, columns.SOLUTION):
        if row.by == LISTED and row.items:
            findings.add(row.line, f"found a list of items for query {quoted(row.query)}; expected each with its grade")
        else:
            rows.append(row)
    flagged = any(row.flag is not None for row in rows)
    return Graded(
        query=texts(row.query for row in rows),
        line=_numbers([row.line for row in rows]),
        flag=np.array([bool(row.flag) for row in rows], dtype=bool) if flagged else None,
        lengths=_numbers([len(row.items) for row in rows]),
        item=texts(item for row in rows for item in row.items),
        grade=np.array([grade for row in rows for grade in row.numbers], dtype=np.float64),
    )


def _ranked(fields: _Fields, by: str, block: Block, findings: Findings) -> Ranked:
    fast = _regular(fields, block, columns.SUBMISSION) if by == "score" else None
    if fast is not None:
        return Ranked(fast.query, fast.line, None, fast.item, fast.number)
    rows = []
    for row in _rows(fields, block, findings, columns.SUBMISSION):
        if row.items and row.by != by:
            findings.add(row.line, f"found items by their {row.by}; expected them by their {by}, as in the lines above")
        else:
            rows.append(row)
    values = np.array([number for row in rows for number in row.numbers], dtype=np.float64)
    return Ranked(
        query=texts(row.query for row in rows),
        line=_numbers([row.line for row in rows]),
        lengths=_numbers([len(row.items) for row in rows]),
        item=texts(item for row in rows for item in row.items),
        run_score=values if by == "score" else None,
        rank=values.astype(np.int64) if by == "rank" else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Regular:
    """Lines that have an item each, all in the same way."""

    query: pa.StringArray
    line: Ints
    flag: Bools | None
    item: pa.StringArray
    number: Floats


def _regular(fields: _Fields, block: Block, wanted: tuple[str, ...]) -> _Regular | None:
    """The rows of a block of lines like its first; None where that cannot be told without looking at each."""
    first = _first(block)
    places = fields.places(first, wanted)
    number = wanted[2]
    named = {name: first[place][0] for name, place in places.items()}
    if ITEMS in named or not {"query", "item", number} <= named.keys() or block.holds(fields.list_name):
        return None
    ids = {name: pa.string() if isinstance(first[places[name]][1], str) else pa.int64() for name in ("query", "item")}
    types = {named["query"]: ids["query"], named["item"]: ids["item"], named[number]: pa.float64()}
    if "flag" in named:
        types[named["flag"]] = pa.bool_()
    read = regular.members(block, types) if len(types) == len(named) else None
    if read is None:
        return None
    query, item = (read[named[name]].cast(pa.string()) for name in ("query", "item"))
    value = floats(read[named[number]])
    if not (np.isfinite(value).all() and text_lengths(query).all() and text_lengths(item).all()):
        return None
    flag = booleans(read[named["flag"]]) if "flag" in named else None
    return _Regular(query, block.first_line + np.arange(value.size), flag, item, value)


def _first(block: Block) -> Pairs:
    """The object on the block's first line; an empty one where there is none."""
    try:
        value = DECODER.decode(block.content.partition(b"\n")[0].decode())
    except MALFORMED:
        return Pairs()
    return value if isinstance(value, Pairs) else Pairs()


def _numbers(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _rows(fields: _Fields, block: Block, findings: Findings, wanted: tuple[str, ...]) -> Iterator[_Row]:
    """The block's lines; what is wrong with one becomes a finding, and the line is left out."""
    lines = Lines.of(block)
    for text, line in zip(lines.text.to_pylist(), lines.number.tolist(), strict=True):
        try:
            value = DECODER.decode(text)
        except MALFORMED as error:
            findings.add(line, f"no JSON: {told(error)}; expected an object on each line")
            continue
        if not isinstance(value, Pairs):
            findings.add(line, f"found {shown(value)}; expected an object, as in {_example(wanted)}")
            continue
        row = _row(value, fields.places(value, wanted), line, findings, wanted)
        if row is not None:
            yield row


def _row(
    pairs: Pairs, places: Mapping[str, int], line: int, findings: Findings, wanted: tuple[str, ...]
) -> _Row | None:
    """A line's object as a row; None where it is not sound."""
    values = {name: pairs[place][1] for name, place in places.items()}
    query = identity(values.get("query"))
    if query is None:
        found = f"found {shown(values['query'])} as the query" if "query" in values else "no query"
        findings.add(line, f"{found}; expected an object, as in {_example(wanted)}")
        return None
    flag = _flag(values.get("flag"), line, findings)
    if ITEMS in values:
        return _many(query, values[ITEMS], flag, line, findings, wanted)
    by = next((name for name in wanted if name in values and name in ("grade", "score", "rank")), None)
    item = identity(values.get("item"))
    if item is None or by is None:
        lacking = "item" if item is None else " or ".join(wanted[2:4] if "rank" in wanted else wanted[2:3])
        found = f"found {shown(values['item'])} as the item" if "item" in values and item is None else f"no {lacking}"
        findings.add(line, f"{found}; expected an object, as in {_example(wanted)}")
        return None
    number = finite(values[by])
    if number is None or (by == "rank" and not columns.are_ranks(np.array([number]))[0]):
        expected = columns.A_RANK if by == "rank" else "a finite number"
        findings.add(line, f"found {shown(values[by])} as the {by}; expected {expected}")
        return None
    return _Row(line, query, [item], [number], by, flag)


def _many(
    query: str, items: Any, flag: bool | None, line: int, findings: Findings, wanted: tuple[str, ...]
) -> _Row | None:
    """A row of all items of a query."""
    if isinstance(items, Pairs):
        by = "grade" if "grade" in wanted else "score"
        return _Row(line, query, *numbered(items, by, line, findings), by, flag)
    if isinstance(items, list):
        return _Row(line, query, identities(items, line, findings), [], LISTED, flag)
    findings.add(line, f"found {shown(items)} as the items; expected a list, as in {_example(wanted)}")
    return None


def _flag(value: Any, line: int, findings: Findings) -> bool | None:
    """What a line says of its query's flag; None where it says nothing that can be taken for it."""
    if value is None:
        return None
    word = json.dumps(value) if not isinstance(value, str) else value.strip().lower()
    if word not in columns.FLAGS:
        findings.add(line, f"found {shown(value)} as the flag; expected {columns.A_FLAG}")
    return columns.FLAGS.get(word)


def _example(wanted: tuple[str, ...]) -> str:
    return SOLUTION if "grade" in wanted else SUBMISSION
