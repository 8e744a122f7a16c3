"""JSON: one object from queries to their items, as pytrec_eval and ranx take it; items with numbers, or in order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from scorer.errors import Findings
from scorer.formats import jsonl
from scorer.formats.reading.arrow import texts
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, checked
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.reading.json_values import (
    DECODER,
    MALFORMED,
    Pairs,
    dumped,
    identities,
    numbered,
    shown,
    told,
    whole,
)
from scorer.formats.writing import SolutionContent, SubmissionContent, UnwritableError
from scorer.wording import quoted

NAME = "json"
SOLUTION = '{"query": {"item": grade}}'
SUBMISSION = '{"query": {"item": score}} or {"query": ["item"]}'
OPTIONS: Mapping[str, str] = {}
WHOLE = True
QUERY_ONCE = True
LISTED_IS_RELEVANT = False

BEGINNING = re.compile(r'\{\s*(\}|$|"([^"\\]|\\.)*("\s*(:\s*([\[{]|$)|$)|$))')
"""How an object begins, as far as the sample goes, whose first value is a list or an object."""

WHITE = re.compile(r"[ \t\r\n]*")


def recognises(lines: list[str]) -> bool:
    """An object, whose first value is a list or an object; a first line that is a row by itself makes it JSON Lines."""
    return BEGINNING.match("\n".join(lines).strip()) is not None and not jsonl.recognises(lines)


def graded(_head: Block, _options: Mapping[str, str]) -> Reader[Graded]:
    """Query -> item -> grade; a query without items is one without a right item."""
    return _graded


def ranked(_head: Block, _options: Mapping[str, str]) -> Reader[Ranked]:
    """Query -> item -> run score, or query -> items in order; not both in one file."""
    return _ranked


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """A query on each line."""
    solution.without_flags(NAME)
    return _written(
        {query: {item: whole(grade) for item, grade in items.items()} for query, items in solution.grades.items()}
    )


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Scores where the lists have any, else the items in their order."""
    if submission.scores is None:
        return _written({query: list(items) for query, items in submission.items.items()})
    lists: dict[str, dict[str, float]] = {}
    for query, items in submission.items.items():
        lists[query] = {item: whole(score) for item, score in zip(items, submission.scores[query], strict=True)}
        if len(lists[query]) < len(items):
            again = next(item for place, item in enumerate(items) if item in items[:place])
            raise UnwritableError(
                f"item {quoted(again)} stands twice for query {quoted(query)}; {NAME} has each item once"
            )
    return _written(lists)


def _written(lists: Mapping[str, Any]) -> bytes:
    if "" in lists or any("" in items for items in lists.values()):
        raise UnwritableError(f"an id is empty; {NAME} could write that, and nothing reads it")
    lines = ",\n".join(f"{dumped(query)}: {dumped(items)}" for query, items in lists.items())
    return f"{{\n{lines}\n}}\n".encode()


def _graded(block: Block, findings: Findings) -> Graded:
    rows: list[tuple[int, str, list[str], list[float]]] = []
    for line, query, value in _entries(block):
        if isinstance(value, Pairs):
            rows.append((line, query, *numbered(value, "grade", line, findings)))
        else:
            found = f"found {shown(value)} for query {quoted(query)}"
            findings.add(line, f"{found}; expected an object from items to grades")
    return Graded(
        query=texts(query for _, query, _, _ in rows),
        line=np.array([line for line, _, _, _ in rows], dtype=np.int64),
        flag=None,
        lengths=np.array([len(items) for _, _, items, _ in rows], dtype=np.int64),
        item=texts(item for _, _, items, _ in rows for item in items),
        grade=np.array([grade for _, _, _, grades in rows for grade in grades], dtype=np.float64),
    )


def _ranked(block: Block, findings: Findings) -> Ranked:
    rows: list[tuple[int, str, list[str]]] = []
    scores: list[float] = []
    scored: bool | None = None
    for line, query, value in _entries(block):
        if not isinstance(value, list):
            found = f"found {shown(value)} for query {quoted(query)}"
            findings.add(line, f"{found}; expected an object from items to scores, or a list of items")
            continue
        has_scores = isinstance(value, Pairs)
        # An empty list is as good as an empty object: neither says what the others are.
        if value and scored is None:
            scored = has_scores
        if value and has_scores != scored:
            expected = "an object, from items to scores" if scored else "a list"
            findings.add(line, f"found {shown(value)} for query {quoted(query)}; expected {expected}, as above")
        elif isinstance(value, Pairs):
            items, numbers = numbered(value, "score", line, findings)
            rows.append((line, query, items))
            scores += numbers
        else:
            rows.append((line, query, identities(value, line, findings)))
    return Ranked(
        query=texts(query for _, query, _ in rows),
        line=np.array([line for line, _, _ in rows], dtype=np.int64),
        lengths=np.array([len(items) for _, _, items in rows], dtype=np.int64),
        item=texts(item for _, _, items in rows for item in items),
        run_score=np.array(scores, dtype=np.float64) if scored else None,
    )


def _entries(block: Block) -> Iterator[tuple[int, str, Any]]:
    """Each query with its line and what stands for it. Raises Unreadable where the text is no JSON object."""
    text = checked(block.content, block.first_line).decode()
    line, counted = block.first_line, 0
    try:
        for at, query, value in _members(text):
            line += text.count("\n", counted, at)
            counted = at
            if not query:
                raise UnreadableError('found "" as a query; expected an id', line)
            yield line, query, value
    except MALFORMED as error:
        at = error.lineno if isinstance(error, json.JSONDecodeError) else line
        several = "; a file with an object on each line is of the format jsonl" if "Extra" in str(error) else ""
        raise UnreadableError(f"no JSON: {told(error)}; expected {SUBMISSION}{several}", at) from error


def _members(text: str) -> Iterator[tuple[int, str, Any]]:
    """The members of the object that the text is: where each begins, its key and its value."""
    at = _after(text, _skip(text, 0), "{")
    more = text[at : at + 1] != "}"
    while more:
        begins = at
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting a key in double quotes", text, at)
        key, at = DECODER.raw_decode(text, at)
        value, at = DECODER.raw_decode(text, _after(text, _skip(text, at), ":"))
        yield begins, key, value
        at = _skip(text, at)
        more = text[at : at + 1] == ","
        if more:
            at = _after(text, at, ",")
    at = _after(text, at, "}")
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _skip(text: str, at: int) -> int:
    found = WHITE.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int, mark: str) -> int:
    """The place after the mark, and the white space that follows it."""
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting '{mark}'", text, at)
    return _skip(text, at + 1)
