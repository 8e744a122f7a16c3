"""The format of the VideoLectures.net challenge: one line for each query, with all of its items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, fitting, layouts, shortest
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import booleans, equal, integers, keep, list_lengths, numbers, pc, text_lengths
from scorer.lists.reading.blocks import Block, Graded, Lines, Ranked, Words, trimmed
from scorer.measures.matched import Ints
from scorer.wording import quoted

NAME = "vlnet"
SOLUTION = "query:flag:item|score,item|score,..."
SUBMISSION = "query:item,item,..."
OPTIONS: Mapping[str, str] = {}

SPACES = r"\x00-\x0d\x20\x85\xa0" + "\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
"""Unicode's white space, and characters without width."""

NOT_IN_QUERY = f"[:{SPACES}]"
NOT_IN_ITEM = rf"[:;|\[\]{{}}\"{SPACES}]|^['(_]"
"""What an item cannot hold, besides a comma: marks of other notations, in which a list would be read as one item; and _
at its beginning, which follows a comma in an id, as in Wikipedia's.

Python's `re` and Arrow's RE2 read these patterns alike.
"""

UNFIT_QUERY = re.compile(f"^$|{NOT_IN_QUERY}")
UNFIT_ITEM = re.compile(f"^$|,|{NOT_IN_ITEM}")

_RARE = (b" ", b"\t", b"\v", b"\f", b";", b"[", b"]", b"{", b"}", b'"', b"'", b"(")
"""The ASCII characters of these patterns, except those that separate parts in this format."""


def recognises(lines: list[str]) -> bool:
    """Whether half of the lines have a colon after the first word, before any comma; not in JSON, Python and HTML."""
    return not lines[0].lstrip().startswith(("{", "[", "<")) and 2 * sum(map(_starts_with_query, lines)) >= len(lines)


def _starts_with_query(line: str) -> bool:
    query, colon, _ = line.partition(":")
    return bool(colon and query.strip()) and not any(mark in query for mark in ",;\t|") and len(query.split()) == 1


def graded(_head: Block, _options: Mapping[str, str]) -> Reader[Graded]:
    """Read the lines of a solution, with their flags; a query with nothing after its second colon has no items."""
    return Reader(_graded)


def ranked(_head: Block, _options: Mapping[str, str]) -> Reader[Ranked]:
    """Read the lines of a submission; items are listed by rank."""
    return Reader(_ranked, layouts.Layout(layouts.ITEM_LISTS, ":", ","))


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each query; the flag is 0 where the query is not flagged."""
    solution.without_subtopics(NAME)
    lines = []
    for query, grades in solution.grades.items():
        _check(query, grades)
        items = ",".join(f"{item}|{shortest(grade)}" for item, grade in grades.items())
        lines.append(f"{query}:{int(query in solution.flagged)}:{items}\n")
    return "".join(lines).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Write a line for each query, the items by rank; the format holds no scores."""
    lines = []
    for query, items in submission.listed(NAME).items():
        _check(query, items)
        lines.append(f"{query}:{','.join(items)}\n")
    return "".join(lines).encode()


def _check(query: str, items: Iterable[str]) -> None:
    fitting([query], UNFIT_QUERY, "a query", NAME)
    fitting(items, UNFIT_ITEM, "an item", NAME)


def _graded(block: Block, findings: Findings) -> Graded:
    lines, (query, flag, tail), plain = _parts(block, 3, findings, SOLUTION)
    flagged = equal(flag, "1")
    kept = flagged | equal(flag, "0")
    tables.report_wrong(flag, ~kept, lines.number, findings, f"the flag; expected {tables.A_FLAG}")
    _, tokens, row = _items(tail, block, lines.number, findings)
    pair = pc.split_pattern(tokens, "|", max_splits=1, reverse=True)
    whole = list_lengths(pair) == 2
    words = pc.list_flatten(keep(pair, whole))
    item = trimmed(words[0::2], block)
    score = np.full(len(tokens), np.nan)
    score[whole] = numbers(trimmed(words[1::2], block))
    named = np.zeros(len(tokens), dtype=bool)
    named[whole] = text_lengths(item) > 0
    sound = named & ~np.isnan(score)
    wrong = np.flatnonzero(~sound)
    findings.add_each(
        lines.number[row[wrong]],
        lambda at: f"found {quoted(tokens[wrong[at]].as_py())}; expected item|score, with a finite number",
    )
    if not (plain and whole.all() and block.content.count(b"|") == len(tokens)):
        _report_items(item, row[whole], lines.number, findings, SOLUTION)
    lengths = np.bincount(row[sound], minlength=len(lines))
    return Graded(query, lines.number, lengths, keep(item, sound[whole]), score[sound], flag=flagged).where(kept)


def _ranked(block: Block, findings: Findings) -> Ranked:
    lines, (query, tail), plain = _parts(block, 2, findings, SUBMISSION)
    lengths, item, row = _items(tail, block, lines.number, findings)
    if not plain or block.holds(b"|"):
        _report_items(item, row, lines.number, findings, SUBMISSION)
    return Ranked(query=query, line=lines.number, lengths=lengths, item=item, run_score=None)


def _is_plain(block: Block, colons: int) -> bool:
    """Whether the block has so many colons, and no other characters that ids cannot hold, except commas and bars."""
    has_mark = block.holds(*_RARE) or (block.holds(b"_") and block.holds(b",_"))
    return block.content.isascii() and not has_mark and block.content.count(b":") == colons


def _report_items(item: pa.StringArray, row: Ints, number: Ints, findings: Findings, line: str) -> None:
    """Report the first item of each row that is no item."""
    wrong = np.flatnonzero(booleans(pc.match_substring_regex(item, NOT_IN_ITEM)))
    wrong = wrong[np.unique(row[wrong], return_index=True)[1]]
    grades = "no flags, grades" if line == SUBMISSION else "no spaces"
    findings.add_each(
        number[row[wrong]],
        lambda at: (
            f"found {quoted(item[wrong[at]].as_py())} as an item; expected a list like {line}: "
            f"separate ids with commas; write {grades}, quotes or brackets"
        ),
    )


def _parts(block: Block, count: int, findings: Findings, expected: str) -> tuple[Lines, list[pa.StringArray], bool]:
    """Return the block's lines, the `count` parts of each between its first colons, and whether the block is plain.

    Lines with fewer parts, or without a query, are reported and left out.
    """
    lines = Lines.of(block)
    plain = _is_plain(block, (count - 1) * len(lines))
    words = Words(pc.split_pattern(lines.text, ":", max_splits=count - 1))
    query = trimmed(words.column(0), block)
    bad = (words.lengths < count) | (text_lengths(query) == 0)
    if not plain:
        bad |= booleans(pc.match_substring_regex(query, NOT_IN_QUERY))
    sound = lines.sound(bad, findings, f'"{expected}"')
    rest = [trimmed(words.column(part, ~bad), block) for part in range(1, count)]
    # Where a line has too few colons, another may have too many.
    return sound, [keep(query, ~bad), *rest], plain and not bad.any()


def _items(tails: pa.StringArray, block: Block, number: Ints, findings: Findings) -> tuple[Ints, pa.StringArray, Ints]:
    """Return the number of items in each tail, the items, and the row of each.

    One comma at the end of a line is allowed; any other empty item is reported and left out.
    """
    split = pc.split_pattern(tails, ",")
    lengths = list_lengths(split)
    tokens = trimmed(pc.list_flatten(split), block)
    row = integers(pc.list_parent_indices(split))
    empty = text_lengths(tokens) == 0
    if not empty.any():
        return lengths, tokens, row
    last = np.zeros(len(tokens), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    rank = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    wrong = np.flatnonzero(empty & ~last)
    findings.add_each(
        number[row[wrong]],
        lambda at: f"item {rank[wrong[at]]} of the list is empty; expected an item between the commas",
    )
    kept = ~empty
    return np.bincount(row[kept], minlength=len(tails)), keep(tokens, kept), row[kept]
