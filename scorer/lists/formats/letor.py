"""LETOR and SVMlight: labelled feature vectors. Grades are labels or a feature; run scores are a feature."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError, fitting, layouts, shortest
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import booleans, integers, keep, numbers, one_array, pc, take, text_lengths, texts
from scorer.lists.reading.blocks import Batch, Block, Graded, Lines, Ranked, UnreadableError, Words
from scorer.wording import quoted

NAME = "letor"
SOLUTION = "label qid:query 1:value 2:value ... # item"
SUBMISSION = "label qid:query 1:value 2:value ... # item, with the feature to rank by named: letor:feature=N"
OPTIONS: Mapping[str, str] = {"feature": "the number of the feature, from 1, to read instead of the label"}

TABLE = "query<tab>item<tab>value value ...<tab>label"
"""The form of LETOR's first collections."""

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf)", re.ASCII | re.IGNORECASE)
VECTOR = re.compile(r"\S+\s+qid:\S+(\s|$)", re.ASCII)
ITEM = r"^(?:docid ?= ?)?(?P<item>\S+)"
"""The item at the beginning of a comment; in LETOR 4.0, more follows."""

UNFIT_QUERY = re.compile(r"^$|[# \t\n\v\f\r\0]")
UNFIT_ITEM = re.compile(r"^$|^docid=|[ \t\n\v\f\r\0]")


def recognises(lines: list[str]) -> bool:
    """Whether half of the lines have a query after the label, or four columns of which the third is a vector."""
    rows = [line for line in lines if not line.startswith("#")]
    return bool(rows) and 2 * sum(_is_vector(row) or _is_table_row(row) for row in rows) >= len(rows)


def _is_vector(line: str) -> bool:
    """Whether a line has a query after the label."""
    return "qid:" in line and VECTOR.match(line.lstrip()) is not None


def _is_table_row(line: str) -> bool:
    columns = line.split("\t")
    vector = columns[2].split() if len(columns) == 4 else []
    return (
        len(vector) > 1
        and len(f"{columns[0]} {columns[1]}".split()) == 2
        and all(re.fullmatch(r"[-+.0-9eE]+", value) for value in vector)
    )


def are_predictions(lines: Sequence[str]) -> bool:
    """Whether each line is a number, as LightGBM and XGBoost write their predictions."""
    return bool(lines) and all(_NUMBER.fullmatch(line.strip()) for line in lines)


def predicted(rows: Sequence[Graded] | None) -> Reader[Ranked]:
    """Read a number a line: the run score of the item in this row of a solution, which is LETOR's if it has rows.

    Where the rows are unknown (None), each is a query with the number of its line.
    """

    def read(block: Block, findings: Findings) -> Ranked:
        lines = Lines.of(block)
        found = f"found a number a line, {len(lines):,} in all, as predictions of LightGBM and XGBoost; "
        if rows is not None and not rows:
            need = "expected a solution in LETOR's format, or else rows of query, item and score"
            raise UnreadableError(f"{found}{need}", 1)
        query = item = texts(map(str, lines.number.tolist()))
        if rows:
            query, item = one_array(batch.query for batch in rows), one_array(batch.item for batch in rows)
        if len(query) != len(lines) or lines.number[-1] - lines.number[0] >= len(lines):
            raise UnreadableError(f"{found}expected one for each row of the solution, without blank lines between", 1)
        score = numbers(lines.text)
        tables.report_wrong(lines.text, np.isnan(score), lines.number, findings, "the score; expected a finite number")
        return Ranked(query, lines.number, None, item, score)

    return Reader(read, layouts.Layout(layouts.PREDICTIONS))


def graded(head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a line for each item, graded by its label or by the feature in the options."""
    return Reader(partial(_read, Graded, _is_table(head), _feature(options)))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a line for each item, scored by the feature in the options. Raises UnreadableError without one."""
    feature = _feature(options)
    if feature is None:
        raise UnreadableError(
            "feature vectors have no order; name the feature to rank by, as in --submission-format letor:feature=1"
        )
    read = partial(_read, Ranked, _is_table(head), feature)
    return Reader(read, layouts.Layout(("label", "qid:query", "features", "# item")))


def write_solution(solution: SolutionContent, _options: Mapping[str, str]) -> bytes:
    """Write labels without features, and items in comments."""
    solution.without_flags(NAME)
    solution.without_subtopics(NAME)
    rows = solution.rows(NAME)
    fitting((row[0] for row in rows), UNFIT_QUERY, "a query", NAME)
    fitting((row[1] for row in rows), UNFIT_ITEM, "an item", NAME)
    return "".join(f"{shortest(grade)} qid:{query} # {item}\n" for query, item, grade, _ in rows).encode()


def write_submission(_submission: SubmissionContent, _options: Mapping[str, str]) -> bytes:
    """Raise UnwritableError, because a submission has no labels."""
    raise UnwritableError(f"{NAME} holds labels with features, not rankings; write another format")


def _feature(options: Mapping[str, str]) -> int | None:
    if "feature" not in options:
        return None
    if not re.fullmatch("[1-9][0-9]{0,8}", options["feature"]):
        raise UnreadableError(f"found {quoted(options['feature'])} as the feature; expected a whole number from 1")
    return int(options["feature"])


def _is_table(head: Block) -> bool:
    """Whether a file that begins with `head` has the form of LETOR's first collections."""
    lines = Lines.of(head, comments=True)
    return bool(len(lines)) and not _is_vector(lines.text[0].as_py())


def _read(kind: type[Batch], is_table: bool, feature: int | None, block: Block, findings: Findings) -> Batch:
    lines, (query, item, listed, text) = _rows(is_table, block, findings)
    if feature is not None:
        values = pc.ascii_split_whitespace(listed)
        text = Words(values).column_or_empty(feature - 1) if is_table else _numbered(values, feature)
    value = numbers(text)
    wrong = np.isnan(value)
    what = "the label" if feature is None else f"feature {feature}"
    tables.report_wrong(text, wrong, lines.number, findings, f"{what}; expected a finite number")
    return kind(query, lines.number, None, item, value).where(~wrong)


def _numbered(values: pa.ListArray, wanted: int) -> pa.StringArray:
    """Return a feature by its number, as in 3:0.5; one that is left out is 0."""
    words = pc.list_flatten(values)
    prefix = f"{wanted}:"
    here = np.flatnonzero(booleans(pc.starts_with(words, prefix)))
    value = pc.utf8_slice_codeunits(take(words, here), len(prefix))
    at = np.zeros(len(values), dtype=np.int64)
    at[integers(pc.list_parent_indices(values))[here]] = np.arange(1, here.size + 1)
    return take(one_array([texts(["0"]), value]), at)


def _rows(is_table: bool, block: Block, findings: Findings) -> tuple[Lines, list[pa.StringArray]]:
    """Return the sound lines, and the query, the item, the values and the label of each.

    The item of a vector is in its comment, or is the number of its line.
    """
    lines = Lines.of(block, comments=not is_table)
    if is_table:
        words = Words(pc.split_pattern(lines.text, "\t"))
        columns = [words.column_or_empty(at) for at in range(4)]
        wrong, expected = words.lengths != 4, f'four columns, "{TABLE}"'
    else:
        halves = Words(pc.split_pattern(lines.text, "#", max_splits=1))
        words = Words(pc.ascii_split_whitespace(pc.ascii_trim_whitespace(halves.column(0)), max_splits=2))
        label, query, values = (words.column_or_empty(at) for at in range(3))
        wrong, expected = ~booleans(pc.match_substring_regex(query, "^qid:.")), f'"{SOLUTION}"'
        named = pc.struct_field(pc.extract_regex(pc.ascii_trim_whitespace(halves.column_or_empty(1)), ITEM), [0])
        item = pc.if_else(pc.is_valid(named), named, texts(map(str, lines.number.tolist())))
        columns = [pc.utf8_slice_codeunits(query, len("qid:")), item, values, label]
    lines = lines.sound(wrong, findings, expected)
    columns = [pc.ascii_trim_whitespace(keep(column, ~wrong)) for column in columns]
    empty = (text_lengths(columns[0]) == 0) | (text_lengths(columns[1]) == 0)
    return lines.sound(empty, findings, "a query and an item"), [keep(column, ~empty) for column in columns]
