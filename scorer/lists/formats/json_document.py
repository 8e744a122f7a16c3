"""JSON: an object from queries to their items, as in pytrec_eval and ranx; or an array of rows as in JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError, jsonl
from scorer.lists.formats.jsonl import (
    DECODER,
    MALFORMED,
    JsonRow,
    Members,
    Pairs,
    check_nesting,
    explained,
    json_line,
    whole,
)
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.blocks import Block, Graded, Ranked, UnreadableError, checked_utf8
from scorer.wording import quoted

NAME = "json"
SOLUTION = '{"query": {"item": grade}}'
SUBMISSION = '{"query": {"item": score}} or {"query": ["item"]}'
OPTIONS = jsonl.OPTIONS

_BEGINNING = re.compile(r'(\[\s*([{\]]|$)|\{\s*(\}|$|"([^"\\]|\\.)*("\s*(:\s*([\[{]|$)|$)|$)))')
"""The beginning of an array of objects, or of an object whose first value is a list or an object; or of its sample."""

_WHITE = re.compile(r"[ \t\r\n]*")


def recognises(lines: list[str]) -> bool:
    """Whether the file begins as an array of objects, or as an object of lists or objects that is not JSON Lines."""
    return _BEGINNING.match("\n".join(lines).strip()) is not None and not jsonl.recognises(lines)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read query -> item -> grade, where a query may have no items; or an array of rows."""
    members = Members(tables.SOLUTION_COLUMNS, options, NAME)
    return Reader(lambda block, findings: jsonl.graded_objects(_rows(members, block, findings), findings))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read query -> item -> run score, or query -> items by rank, but not both in one file; or an array of rows."""
    members = Members(tables.SUBMISSION_COLUMNS, options, NAME)

    def read(block: Block, findings: Findings) -> Ranked:
        rows = _rows(members, block, findings)
        return jsonl.ranked_objects(rows, jsonl.ordered_by(rows), findings)

    def columns() -> dict[str, str]:
        is_array = head.content.lstrip().startswith(b"[")
        return members.read(((line, value) for line, _, value in _parts(head)) if is_array else ())

    return Reader(read, columns=columns)


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write a query on each line."""
    solution.without_flags(NAME)
    solution.without_subtopics(NAME)
    return _written(
        {query: {item: whole(grade) for item, grade in items.items()} for query, items in solution.grades.items()}
    )


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write scores where the lists have them, else the items by rank."""
    if submission.scores is None:
        return _written({query: list(items) for query, items in submission.items.items()})
    lists: dict[str, dict[str, float]] = {}
    for query, items in submission.items.items():
        lists[query] = {item: whole(score) for item, score in zip(items, submission.scores[query], strict=True)}
        if len(lists[query]) < len(items):
            again = next(item for at, item in enumerate(items) if item in items[:at])
            raise UnwritableError(
                f"item {quoted(again)} is listed twice for query {quoted(query)}; {NAME} holds each item once"
            )
    return _written(lists)


def _written(lists: Mapping[str, Any]) -> bytes:
    if "" in lists or any("" in items for items in lists.values()):
        raise UnwritableError(f"an id is empty; {NAME} cannot hold it")
    lines = ",\n".join(f"{json_line(query)}: {json_line(items)}" for query, items in lists.items())
    return f"{{\n{lines}\n}}\n".encode()


def _rows(members: Members, block: Block, findings: Findings) -> list[JsonRow]:
    """Return the rows of an array, or a row for each query of an object; a query that is listed again is reported."""
    if block.content.lstrip().startswith(b"["):
        return list(members.rows(((line, value) for line, _, value in _parts(block)), findings))
    rows: list[JsonRow] = []
    first: dict[str, int] = {}
    for line, query, value in _parts(block):
        if not query:
            raise UnreadableError('found "" as a query; expected an id', line)
        if query in first:
            findings.add(line, f"query {quoted(query)} is listed again (first in line {first[query]}); list it once")
            continue
        first[query] = line
        if query == "questions" and isinstance(value, list) and {*map(type, value)} == {Pairs}:  # BioASQ
            rows += members.rows(((line, question) for question in value), findings)
            continue
        row = members.row_of_items(query, value, line, findings)
        if row is not None:
            rows.append(row)
    return rows


def _parts(block: Block) -> Iterator[tuple[int, str, Any]]:
    """Yield line, key ("" in an array) and value of each member or element. Raises UnreadableError for other texts."""
    text = checked_utf8(block.content, block.first_line).decode()
    check_nesting(block, by_line=False)
    line, counted = block.first_line, 0
    try:
        for at, key, value in _decoded(text):
            line += text.count("\n", counted, at)
            counted = at
            yield line, key, value
    except MALFORMED as error:
        at = error.lineno if isinstance(error, json.JSONDecodeError) else line
        several = "; a file with an object on each line is of the format jsonl" if "Extra" in str(error) else ""
        raise UnreadableError(f"no JSON: {explained(error)}; expected {SUBMISSION}{several}", at) from error


def _decoded(text: str) -> Iterator[tuple[int, str, Any]]:
    """Yield the members or elements with the position at which each begins."""
    at = _skip(text, 0)
    opening, closing = "[]" if text[at : at + 1] == "[" else "{}"
    at = _after(text, at, opening)
    more = text[at : at + 1] != closing
    while more:
        begins, key = at, ""
        if opening == "{":
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting a key in double quotes", text, at)
            key, at = DECODER.raw_decode(text, at)
            at = _after(text, _skip(text, at), ":")
        value, at = DECODER.raw_decode(text, at)
        yield begins, key, value
        at = _skip(text, at)
        more = text[at : at + 1] == ","
        if more:
            at = _after(text, at, ",")
    at = _after(text, at, closing)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _skip(text: str, at: int) -> int:
    white = _WHITE.match(text, at)
    return white.end() if white else at


def _after(text: str, at: int, mark: str) -> int:
    """Return the position after the mark and the white space that follows it."""
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting '{mark}'", text, at)
    return _skip(text, at + 1)
