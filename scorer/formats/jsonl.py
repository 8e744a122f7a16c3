"""JSON Lines: an object on each line, for an item with its number, or for a query with all of its items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import column_names, json_rows, regular
from scorer.formats.reading.arrow import booleans, floats, text_lengths
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block, Lines
from scorer.formats.reading.json_rows import (
    DECODER,
    ITEMS,
    MALFORMED,
    Members,
    Pairs,
    check_nesting,
    dumped,
    explained,
    identity,
    whole,
)
from scorer.formats.writing import SolutionContent, SubmissionContent, UnwritableError

NAME = "jsonl"
SOLUTION = json_rows.SOLUTION
SUBMISSION = json_rows.SUBMISSION
OPTIONS = json_rows.OPTIONS
ONE_BLOCK = False
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

MOST_MEMBERS = 100
"""The most members of objects that are read by columns: each is one in every row, also where it is missing."""

PLAIN: Mapping[type, pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.float64(),
    float: pa.float64(),
    type(None): pa.null(),
}
"""The types of members that are not used, by that on the first line."""

NAMES = "|".join(column_names.COLUMNS["query"]).replace("_", "[_-]?")
BEGINNING = re.compile(rf'\{{\s*"({NAMES})"\s*:\s*["0-9-]', re.IGNORECASE)


def recognises(lines: list[str]) -> bool:
    """Whether the first line begins with a query, or is an object that has one anywhere."""
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    if BEGINNING.match(lines[0].lstrip()):
        return True
    try:
        row = DECODER.decode(lines[0])
    except MALFORMED:
        return False
    places = column_names.places([name for name, _ in row], "query", {})
    return any(identity(row[at][1]) is not None for at in places)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a line for each item with its grade, or for each query with an object from items to grades; and flags."""
    return partial(_graded, Members(column_names.SOLUTION, options, NAME))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a line for each item with its score or rank, or for each query with its items: a list or object of scores.

    All lines order items as the first one does. Lines of one query add to one list.
    """
    members = Members(column_names.SUBMISSION, options, NAME)
    return partial(_ranked, members, json_rows.ordered_by(members.rows(_objects(head, Findings()), Findings())))


def columns(head: Block, options: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the members that are read from a submission, by what they are for."""
    return Members(column_names.SUBMISSION, options, NAME).read(_objects(head, Findings()))


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each item, and for each query that has none."""
    lines = []
    for query, items in solution.grades.items():
        flag = {"flag": query in solution.flagged} if solution.flagged else {}
        if not items:
            lines.append(dumped({"query": query, **flag, ITEMS: []}))
        for item, grade in items.items():
            row = {"query": query, **flag, "item": item}
            if not solution.subtopics:
                lines.append(dumped({**row, "grade": whole(grade)}))
            for subtopic, each in solution.subtopics.get((query, item), {}).items():
                lines.append(dumped({**row, "subtopic": subtopic, "grade": whole(each)}))
        _check(query, *items)
    return "".join(f"{line}\n" for line in lines).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each item with its score; for each query where lists have no scores, or are empty."""
    lines = []
    for query, items in submission.items.items():
        _check(query, *items)
        if submission.scores is None or not items:
            lines.append(dumped({"query": query, ITEMS: list(items)}))
            continue
        for item, score in zip(items, submission.scores[query], strict=True):
            lines.append(dumped({"query": query, "item": item, "score": whole(score)}))
    return "".join(f"{line}\n" for line in lines).encode()


def _check(*ids: str) -> None:
    if "" in ids:
        raise UnwritableError(f"an id is empty; {NAME} cannot hold it")


def _graded(members: Members, block: Block, findings: Findings) -> Graded:
    fast = _regular(members, block)
    if fast is None:
        check_nesting(block, by_line=True)
        return json_rows.graded(members.rows(_objects(block, findings), findings), findings)
    grade = floats(fast["grade"])
    flag = booleans(fast["flag"]) if "flag" in fast else None
    line = block.first_line + np.arange(grade.size)
    subtopic = fast.get("subtopic", fast.get("iteration"))
    return Graded(fast["query"], line, flag, None, fast["item"], grade, subtopic, "subtopic" not in fast)


def _ranked(members: Members, by: str, block: Block, findings: Findings) -> Ranked:
    fast = _regular(members, block) if by == "score" else None
    if fast is None:
        check_nesting(block, by_line=True)
        return json_rows.ranked(members.rows(_objects(block, findings), findings), by, findings)
    score = floats(fast["score"])
    return Ranked(fast["query"], block.first_line + np.arange(score.size), None, fast["item"], score)


def _regular(members: Members, block: Block) -> dict[str, pa.Array] | None:
    """Return the columns of a block whose lines have one item each, all in the same way; None for any other block."""
    first = _first(block)
    meaning = members.meaning(tuple(name for name, _ in first))
    number = members.wanted[2]
    if isinstance(meaning, str) or ITEMS in meaning or not {"query", "item", number} <= meaning.keys():
        return None
    if len(first) > MOST_MEMBERS or not all(type(value) in PLAIN for _, value in first):
        return None
    values = dict(first)
    types = {name: PLAIN[type(value)] for name, value in first}
    types |= {name: pa.string() if isinstance(values[name], str) else pa.int64() for name in meaning.values()}
    types[meaning[number]] = pa.float64()
    if "flag" in meaning:
        types[meaning["flag"]] = pa.bool_()
    read = regular.members(block, types, meaning.values())
    if read is None:
        return None
    if _openers(block) > len(read[meaning["query"]]):
        check_nesting(block, by_line=True)
    names = ("query", "item", "subtopic", "iteration")
    ids = {name: read[meaning[name]].cast(pa.string()) for name in names if name in meaning}
    finite = np.isfinite(floats(read[meaning[number]])).all()
    if not (finite and all(text_lengths(ids[name]).all() for name in ("query", "item"))):
        return None
    return {name: read[member] for name, member in meaning.items()} | ids


def _first(block: Block) -> Pairs:
    """Return the object on the block's first line; an empty one if that line holds no object."""
    try:
        value = DECODER.decode(block.content.partition(b"\n")[0].decode())
    except MALFORMED:
        return Pairs()
    return value if isinstance(value, Pairs) else Pairs()


def _openers(block: Block) -> int:
    """The number of characters that can open a value with values in it; flat objects have one each."""
    return block.content.count(b"{") + block.content.count(b"[")


def _objects(block: Block, findings: Findings) -> Iterator[tuple[int, object]]:
    """Yield the value on each line that is not blank, with the line's number; lines that are not JSON are reported."""
    lines = Lines.of(block)
    for text, line in zip(lines.text.to_pylist(), lines.number.tolist(), strict=True):
        try:
            yield line, DECODER.decode(text)
        except MALFORMED as error:
            findings.add(line, f"no JSON: {explained(error)}; expected an object on each line")
