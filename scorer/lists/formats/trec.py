"""TREC's formats: qrels for solutions, runs for submissions; a line for each item, columns between white space."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, delimited, fitting, layouts, shortest
from scorer.lists.formats.layouts import Reader, is_number
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import equal, floats, keep, numbers, pc
from scorer.lists.reading.blocks import (
    Block,
    Graded,
    Lines,
    Ranked,
    UnreadableError,
    Words,
    open_bytes,
    read_chunk,
    sample,
)
from scorer.lists.reading.tables import contradiction
from scorer.measures.matched import Floats, Ints
from scorer.wording import quoted

NAME = "trec"
SOLUTION = "query iteration item grade"
SUBMISSION = "query Q0 item rank score tag"
OPTIONS: Mapping[str, str] = {
    "subtopic": "iteration (for qrels whose iteration is the subtopic)",
    "tag": "the run tag of the rows to read (of a file with several runs), or * (all rows, as in trec_eval)",
}

QRELS_COLUMNS = 4
RUN_COLUMNS = 6

TAG = "scorer"
"""The tag of written runs."""

TAIL = 1 << 16
"""The bytes at either end of a run that are searched for its first or last row."""

_QUOTED = re.compile(rb'\s*"[^"\s]+"\s')
UNFIT_QUERY = re.compile(r"^$|^#|^\ufeff|[ \t\n\v\f\r\0]")
UNFIT_ITEM = re.compile(r"^$|[ \t\n\v\f\r\0]")


def recognises(lines: list[str]) -> bool:
    """Whether half of the lines have four columns, the last a number, or at least six, the fifth a number.

    With six, the second is Q0 or the same in most lines: other lines may be lists of items.
    """
    rows = layouts.rows_of_words(lines)
    if not rows or (len(rows) == 1 and len(rows[0]) >= RUN_COLUMNS and layouts.layout_of_words(rows) is None):
        return False
    second, count = Counter(row[1] for row in rows if len(row) > 1).most_common(1)[0] if len(rows[0]) > 1 else ("", 0)
    return 2 * sum(_is_row(row, second if 2 * count > len(rows) else "Q0") for row in rows) >= len(rows)


def _is_row(columns: list[str], second: str) -> bool:
    if columns[0].endswith(":") or any(column.endswith(",") for column in columns):
        return False
    if len(columns) == QRELS_COLUMNS:
        return is_number(columns[3])
    return len(columns) >= RUN_COLUMNS and is_number(columns[4]) and columns[1] in (second, "Q0")


def _unquoted(block: Block, head: Block) -> Block:
    """The block without quotes, if the first id of the file is in quotes, as R writes texts."""
    if not _QUOTED.match(head.content):
        return block
    return replace(block, content=block.content.replace(b'"', b""))


def graded(head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read relevance judgements (qrels); an option says that the iteration is the subtopic, as in ndeval."""
    if options.get("subtopic", "iteration") != "iteration":
        raise UnreadableError(f"found {quoted(options['subtopic'])} as the subtopic; expected iteration")
    _check_header(head)
    return Reader(lambda block, findings: _graded("subtopic" not in options, _unquoted(block, head), findings))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a run with one run tag, or the rows with the tag of an option; or ColBERT's four columns."""
    found = None if options else layouts.layout_of_words(layouts.rows_of_words(sample(head.content)))
    columns = layouts.RUN if found is None else found.columns
    if columns == layouts.RANKS_AND_SCORES:
        return delimited.ranked(head, {})
    _check_header(head)
    if columns == layouts.QRELS:
        expected = f'expected six columns, "{SUBMISSION}"'
        raise UnreadableError(f"four columns, as in {quoted(sample(head.content)[0])}: this is a solution; {expected}")
    tag = options.get("tag")
    read = partial(_ranked, _first_tag(_unquoted(head, head)) if tag is None else None, tag, head.first_line)
    run = layouts.Layout(layouts.RUN)
    return Reader(lambda block, findings: read(_unquoted(block, head), findings), run)


def _check_header(head: Block) -> None:
    """Raise UnreadableError where the first row has names of columns."""
    line, text = next(_first_lines(head), (0, b""))
    names = [name.strip('"') for name in text.decode(errors="replace").split()]
    place = QRELS_COLUMNS - 1 if len(names) == QRELS_COLUMNS else RUN_COLUMNS - 2
    has_number = len(names) <= place or is_number(names[place])
    if not has_number and sum(tables.plain(name) in tables.USUAL_NAMES for name in names) > 1:
        raise UnreadableError(
            f"found {quoted(text.decode(errors='replace').rstrip())}, which is a header; remove the line", line
        )


def _first_tag(head: Block) -> tuple[str, int] | None:
    """Return the tag of the first row and its line; None without a row."""
    for line, text in _first_lines(head):
        columns = [column.decode(errors="replace") for column in text.split()]
        has_space = len(columns) > RUN_COLUMNS and not is_number(columns[3]) and is_number(columns[5])
        if len(columns) >= RUN_COLUMNS and not has_space:
            return columns[RUN_COLUMNS - 1], line
    return None


def _first_lines(head: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the text of the first lines that are neither blank nor comments."""
    for line, text in enumerate(head.content[:TAIL].split(b"\n"), head.first_line):
        if text.strip() and not text.startswith(b"#"):
            yield line, text


def last_tag(path: str | os.PathLike[str]) -> str:
    """Return the tag of the last row of a run, as trec_eval prints it; empty without one. Raises UnreadableError."""
    end = b""
    with open_bytes(path) as stream:
        while chunk := read_chunk(stream):
            end = (end + chunk)[-TAIL:]
    for line in reversed(end.split(b"\n")):
        columns = line.split()
        if len(columns) >= RUN_COLUMNS and not columns[0].startswith(b"#"):
            return columns[RUN_COLUMNS - 1].decode(errors="replace")
    return ""


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write qrels with the subtopic as the iteration, which is 0 without subtopics."""
    solution.without_flags(NAME)
    rows = solution.rows(NAME)
    _check(row[:2] for row in rows)
    fitting((row[3] for row in rows), UNFIT_ITEM, "a subtopic", NAME)
    return "".join(f"{query} {subtopic} {item} {shortest(grade)}\n" for query, item, grade, subtopic in rows).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write a run; lists without scores get descending ones."""
    rows = submission.rows(NAME)
    _check(row[:2] for row in rows)
    lines = (f"{query} Q0 {item} {rank} {shortest(score)} {TAG}\n" for query, item, score, rank in rows)
    return "".join(lines).encode()


def _check(pairs: Iterable[tuple[str, str]]) -> None:
    for query, item in pairs:
        fitting([query], UNFIT_QUERY, "a query", NAME)
        fitting([item], UNFIT_ITEM, "an item", NAME)


_QRELS = {"query": 0, "subtopic": 1, "item": 2, "value": 3}
_RUN = {"query": 0, "item": 2, "value": 4, "tag": 5}
"""The columns to read."""

_Rows = tuple[Mapping[str, pa.Array], Floats, Ints]
"""The columns, as text, or the rank as numbers; the values; and the lines."""


def _graded(is_iteration: bool, block: Block, findings: Findings) -> Graded:
    expected = f'four columns, "{SOLUTION}"'
    held, value, line = _regular(block, QRELS_COLUMNS, _QRELS) or _rows(
        block, findings, QRELS_COLUMNS, _QRELS, "grade", expected
    )
    return Graded(held["query"], line, None, held["item"], value, held["subtopic"], is_iteration)


def _ranked(
    only: tuple[str, int] | None, chosen: str | None, first_line: int, block: Block, findings: Findings
) -> Ranked:
    """Read the rows of a run, of which `only` is the one tag and its line; or those with the chosen tag.

    Ranks are read in the first block only, which begins at `first_line`: they cost time, and decide nothing.
    """
    places = _RUN if block.first_line > first_line else {**_RUN, "rank": 3}
    expected = f'six columns, "{SUBMISSION}"'
    held, score, line = _regular(block, RUN_COLUMNS, places) or _rows(
        block, findings, RUN_COLUMNS, places, "score", expected, are_ids_checked=chosen != "*"
    )
    if only is not None:
        _check_tag(held["tag"], line, *only)
    if chosen is not None and chosen != "*":
        kept = equal(held["tag"], chosen)
        held = {name: keep(column, kept) for name, column in held.items()}
        score, line = score[kept], line[kept]
    note = contradiction(held["query"], held["rank"], score, line) if "rank" in held else None
    return Ranked(held["query"], line, None, held["item"], score, note=note)


def _check_tag(tag: pa.StringArray, line: Ints, only: str, first: int) -> None:
    """Raise UnreadableError where a row has another tag than the first row of the file."""
    same = equal(tag, only)
    if same.all():
        return
    at = int(np.argmin(same))
    raise UnreadableError(
        f"the file has several runs: the run tag is {quoted(only)} from line {first:,} and "
        f"{quoted(tag[at].as_py())} from line {line[at]:,}; submit one run, or choose the tag to read with --tag TAG "
        "(--tag '*' reads all rows as one run)",
        int(line[at]),
    )


def _rows(
    block: Block,
    findings: Findings,
    count: int,
    places: Mapping[str, int],
    value: str,
    expected: str,
    *,
    are_ids_checked: bool = False,
) -> _Rows:
    """Read lines with `count` columns; the lines of a run may have more, but where an id seems to have a space."""
    lines = Lines.of(block, comments=True)
    words = Words(pc.ascii_split_whitespace(lines.text))
    wrong = words.lengths < count if "tag" in places else words.lengths != count
    if are_ids_checked:
        more = words.lengths > count
        # A space in an id moves the rank and the score one column further.
        wrong[more] = np.isnan(numbers(words.column(3, more))) & ~np.isnan(numbers(words.column(5, more)))
        expected += "; ids have no spaces"
    lines = lines.sound(wrong, findings, expected)
    held = {name: words.column(place, ~wrong) for name, place in places.items()}
    number = numbers(held["value"])
    kept = ~np.isnan(number)
    tables.report_wrong(held["value"], ~kept, lines.number, findings, f"the {value}; expected a finite number")
    held = {name: keep(column, kept) for name, column in held.items()}
    return held, number[kept], lines.number[kept]


def _regular(block: Block, count: int, places: Mapping[str, int]) -> _Rows | None:
    """Return the rows of a block without comments, with one character between columns; None for any other block."""
    tabs, spaces = block.holds(b"\t"), block.holds(b" ")
    if tabs == spaces or block.holds(b"\v", b"\f") or (block.holds(b"#") and b"\n#" in b"\n" + block.content):
        return None
    if tables.has_empty_column(block):
        return None
    read = tables.split_columns(block, "\t" if tabs else " ", count, places, "value")
    return None if read is None else (read, floats(read["value"]), block.first_line + np.arange(len(read["value"])))
