"""The format of the VideoLectures.net challenge: a line for each query, with all of its items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings
from scorer.formats.reading.arrow import booleans, equal, keep, list_lengths, numbers, take, text_lengths
from scorer.formats.reading.batches import Graded, Ranked, Reader, rows_of
from scorer.formats.reading.blocks import Block, Lines, trimmed
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting, shortest
from scorer.measures.arrays import Bools, Ints
from scorer.wording import quoted

NAME = "vlnet"
SOLUTION = "query:flag:item|score,item|score,..."
SUBMISSION = "query:item,item,..."
OPTIONS: Mapping[str, str] = {}
WHOLE = False
QUERY_ONCE = True
LISTED_IS_RELEVANT = True

UNFIT_QUERY = re.compile(r"^$|^\ufeff|[: \t\n\v\f\r\0]")
UNFIT_ITEM = re.compile(r"^$|[, \t\n\v\f\r\0]")


def recognises(lines: list[str]) -> bool:
    """Half of the lines have a colon after the first word, before any comma."""
    return 2 * sum(map(_starts_with_query, lines)) >= len(lines)


def _starts_with_query(line: str) -> bool:
    query, colon, _ = line.partition(":")
    return bool(colon and query.strip()) and not any(mark in query for mark in ",;\t|") and len(query.split()) == 1


def graded(_head: Block, _options: Mapping[str, str]) -> Reader[Graded]:
    """A solution's lines, with their flags; a query with nothing after its second colon has no right item."""
    return _graded


def ranked(_head: Block, _options: Mapping[str, str]) -> Reader[Ranked]:
    """A submission's lines; items stand in the order of their places."""
    return _ranked


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """A line for each query; one that is not flagged has the flag 0."""
    lines = []
    for query, grades in solution.grades.items():
        _fit(query, grades)
        items = ",".join(f"{item}|{shortest(grade)}" for item, grade in grades.items())
        lines.append(f"{query}:{int(query in solution.flagged)}:{items}\n")
    return "".join(lines).encode()


def write_submission(submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """A line for each query, the items in their order; scores are not held."""
    lines = []
    for query, items in submission.listed(NAME).items():
        _fit(query, items)
        lines.append(f"{query}:{','.join(items)}\n")
    return "".join(lines).encode()


def _fit(query: str, items: Iterable[str]) -> None:
    fitting([query], UNFIT_QUERY, "a query", NAME)
    fitting(items, UNFIT_ITEM, "an item", NAME)


def _graded(block: Block, findings: Findings) -> Graded:
    lines, (query, flag, tail) = _parts(block, 3, findings, f'"{SOLUTION}"')
    flagged = equal(flag, "1")
    plain = equal(flag, "0")
    kept = flagged | plain
    _report(findings, lines.number, ~kept, flag, "found {} as the flag; expected 1 (preliminary) or 0")
    _, tokens, row = _items(block, tail, lines.number, findings)
    pair = pc.split_pattern(tokens, "|", max_splits=1, reverse=True)
    whole = list_lengths(pair) == 2
    words = pc.list_flatten(keep(pair, whole))
    item = trimmed(words[0::2], block)
    score = np.full(len(tokens), np.nan)
    score[whole] = numbers(trimmed(words[1::2], block))
    named = np.zeros(len(tokens), dtype=bool)
    named[whole] = text_lengths(item) > 0
    sound = named & ~np.isnan(score)
    _report(findings, lines.number[row], ~sound, tokens, "found {}; expected item|score, with a finite number")
    sound &= kept[row]
    return Graded(
        query=keep(query, kept),
        line=lines.number[kept],
        flag=flagged[kept],
        lengths=np.bincount(row[sound], minlength=len(lines))[kept],
        item=keep(item, sound[whole]),
        grade=score[sound],
    )


def _ranked(block: Block, findings: Findings) -> Ranked:
    lines, (query, tail) = _parts(block, 2, findings, f'"{SUBMISSION}"')
    lengths, item, row = _items(block, tail, lines.number, findings)
    if block.holds(b" ", b"\t"):
        spaced = booleans(pc.match_substring_regex(item, r"\s"))
        _report(findings, lines.number[row], spaced, item, "item {} holds a space; is a comma missing?")
    return Ranked(query=query, line=lines.number, lengths=lengths, item=item, run_score=None)


def _parts(block: Block, count: int, findings: Findings, expected: str) -> tuple[Lines, list[pa.StringArray]]:
    """The block's lines, and the `count` parts of each that its first colons divide; lines without are reported."""
    lines = Lines.of(block)
    split = pc.split_pattern(lines.text, ":", max_splits=count - 1)
    lengths = list_lengths(split)
    words = pc.list_flatten(split)
    starts = np.cumsum(lengths) - lengths
    query = trimmed(take(words, starts), block)
    bad = (lengths < count) | (text_lengths(query) == 0)
    sound = lines.sound(bad, findings, expected)
    starts = starts[~bad]
    rest = [trimmed(take(words, starts + place), block) for place in range(1, count)]
    return sound, [keep(query, ~bad), *rest]


def _items(block: Block, tails: pa.StringArray, number: Ints, findings: Findings) -> tuple[Ints, pa.StringArray, Ints]:
    """What commas divide: how many tokens each tail has, the tokens, and the tail that each stands in.

    One comma at the end of a line is forgiven; an empty token elsewhere is reported and left out.
    """
    split = pc.split_pattern(tails, ",")
    lengths = list_lengths(split)
    tokens = trimmed(pc.list_flatten(split), block)
    row = rows_of(lengths, len(tails))
    empty = text_lengths(tokens) == 0
    if not empty.any():
        return lengths, tokens, row
    last = np.zeros(len(tokens), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    wrong = np.flatnonzero(empty & ~last)
    findings.add_each(
        number[row[wrong]],
        lambda at: f"item {place[wrong[at]]} of the list is empty; expected an item between the commas",
    )
    kept = ~empty
    return np.bincount(row[kept], minlength=len(tails)), keep(tokens, kept), row[kept]


def _report(findings: Findings, line: Ints, bad: Bools, found: pa.StringArray, sentence: str) -> None:
    """What is bad becomes findings: the sentence, with what was found in place of its braces."""
    wrong = np.flatnonzero(bad)
    findings.add_each(line[wrong], lambda place: sentence.format(quoted(found[wrong[place]].as_py())))
