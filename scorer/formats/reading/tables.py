"""Tables with a row for each item, as Graded and Ranked batches: Arrow tables, and columns of text, for all formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import column_names
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import booleans, floats, integers, keep, numbers, text_lengths, texts
from scorer.formats.reading.batches import Graded, Ranked
from scorer.formats.reading.bytes import UnreadableError
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.wording import quoted

ID_IN_LIST = re.compile(r"""'([^']*)'|"([^"]*)"|([^][(){}'",\s]+)""")
"""An id in a list of Python or JSON, with or without quotes."""

FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""The values of a flag, in lower case."""

A_FLAG = "1 (preliminary) or 0"
A_RANK = "a whole number, 0 or more"


def are_ranks(values: Floats) -> Bools:
    """Return a mask of the numbers that can be ranks. Beyond 2^53, float64 does not hold every whole number."""
    whole: Bools = values == np.floor(values)
    return whole & (values >= 0) & (values <= 2.0**53)


Columns = Mapping[str, pa.Array]
"""Columns by what they are for, as `column_names.COLUMNS` names it; numbers and flags may be text."""


def graded(table: pa.Table, options: Mapping[str, str], findings: Findings) -> Graded:
    """Return the rows of a solution. Raises UnreadableError where a column is missing or has the wrong type."""
    return graded_rows(_columns(table, column_names.SOLUTION, options), _row_numbers(table), findings)


def ranked(table: pa.Table, options: Mapping[str, str], findings: Findings) -> Ranked:
    """Return the rows of a submission. Raises UnreadableError where a column is missing or has the wrong type."""
    return ranked_rows(_columns(table, column_names.SUBMISSION, options), _row_numbers(table), findings)


def graded_rows(held: Columns, line: Ints, findings: Findings) -> Graded:
    """Return the rows of a solution, each with its line; invalid rows are reported and left out."""
    query, item = (id_texts(held[name], name, line, findings) for name in ("query", "item"))
    grade = _numbers(held["grade"], "grade", line, findings)
    flag = _flags(held["flag"], line, findings) if "flag" in held else None
    divided = held.get("subtopic", held.get("iteration"))
    subtopic = None if divided is None else _filled_in(divided)
    sound = _filled(query) & _filled(item) & ~np.isnan(grade)
    return Graded(
        query=keep(query, sound),
        line=line[sound],
        flag=None if flag is None else flag[sound],
        lengths=None,
        item=keep(item, sound),
        grade=grade[sound],
        subtopic=None if subtopic is None else keep(subtopic, sound),
        is_iteration="subtopic" not in held,
    )


def ranked_rows(held: Columns, line: Ints, findings: Findings) -> Ranked:
    """Return the rows of a submission, by score, else by rank; invalid rows are reported and left out."""
    if "items" in held:
        return _listed_rows(held, line, findings)
    query, item = (id_texts(held[name], name, line, findings) for name in ("query", "item"))
    by = "score" if "score" in held else "rank"
    value = _numbers(held[by], by, line, findings)
    if by == "rank":
        wrong = ~np.isnan(value) & ~are_ranks(value)
        report_wrong(held[by], wrong, line, findings, f"the rank; expected {A_RANK}")
        value[wrong] = np.nan
    sound = _filled(query) & _filled(item) & ~np.isnan(value)
    return Ranked(
        query=keep(query, sound),
        line=line[sound],
        lengths=None,
        item=keep(item, sound),
        run_score=value[sound] if by == "score" else None,
        rank=value[sound].astype(np.int64) if by == "rank" else None,
    )


def _listed_rows(held: Columns, line: Ints, findings: Findings) -> Ranked:
    """Return rows with the items of a query, the best first, as lists or as text."""
    query, lists = id_texts(held["query"], "query", line, findings), held["items"]
    if is_text(lists.type):
        lists = pa.array(map(list_in, lists.to_pylist()), pa.list_(pa.string()))
    wrong = ~booleans(lists.is_valid())
    report_wrong(
        held["items"], wrong, line, findings, 'the items; expected a list of ids, as in "a b", "a,b" or [a, b]'
    )
    sound = _filled(query) & ~wrong
    lists = keep(lists, sound)
    lengths = integers(pc.list_value_length(lists))
    item = id_texts(pc.list_flatten(lists), "items", np.repeat(line[sound], lengths), findings)
    return Ranked(keep(query, sound), line[sound], lengths, item, run_score=None)


def list_in(text: str | None) -> list[str] | None:
    """Return the ids in a text: between commas, else between white space, in brackets or not. None for other texts."""
    bare = (text or "").strip()
    if text is None or bare[:1] not in ("[", "("):
        return None if text is None else [part.strip() for part in bare.split(",")] if "," in bare else bare.split()
    found = [next(filter(None, match.groups()), "") for match in ID_IN_LIST.finditer(bare[1:-1])]
    return found if bare[-1] in "])" and not ID_IN_LIST.sub("", bare[1:-1]).strip(" ,\n") else None


def _row_numbers(table: pa.Table) -> Ints:
    return np.arange(1, table.num_rows + 1, dtype=np.int64)


def _columns(table: pa.Table, wanted: tuple[str, ...], options: Mapping[str, str]) -> Columns:
    """Return the columns to read, in one piece each. Raises UnreadableError."""
    places = column_names.needed_places(table.column_names, wanted, options)
    held = {name: whole_column(table, at) for name, at in places.items()}
    for name, column in held.items():
        found = f"the column {quoted(table.column_names[places[name]])} is of type {column.type}"
        if name in ("query", "item", "subtopic", "iteration"):
            is_digits = is_number if name == "iteration" else pa.types.is_integer
            if not (is_text(column.type) or is_digits(column.type)):
                raise UnreadableError(f"{found}; expected text or whole numbers as ids")
        elif name == "items":
            inner = column.type.value_type if is_list(column.type) else None
            if not (is_text(inner or column.type) or (inner and pa.types.is_integer(inner))):
                raise UnreadableError(f"{found}; expected lists of text or whole numbers as ids")
        elif name == "flag":
            if not (pa.types.is_boolean(column.type) or is_text(column.type) or is_number(column.type)):
                raise UnreadableError(f"{found}; expected {A_FLAG} as the flag")
        elif not is_number(column.type):
            raise UnreadableError(f"{found}; expected numbers as the {name}")
    return held


def whole_column(table: pa.Table, at: int) -> pa.Array:
    """Return a column in one piece and without dictionaries."""
    column = table.column(at)
    # Empty pieces may lack the buffers that `concat_arrays` reads.
    pieces = [_resolved(piece) for piece in column.chunks if len(piece)]
    if not pieces:
        return pa.array([], pa.string() if pa.types.is_dictionary(column.type) else column.type)
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _resolved(piece: pa.Array) -> pa.Array:
    """Return a piece without a dictionary."""
    if is_list(piece.type) and pa.types.is_dictionary(piece.type.value_type):
        return piece.cast(pa.list_(piece.type.value_type.value_type))
    if not pa.types.is_dictionary(piece.type):
        return piece
    values = piece.dictionary
    # Arrow takes values by their positions from plain strings only.
    return (values.cast(pa.string()) if is_text(values.type) else values).take(piece.indices)


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type has texts."""
    view = getattr(pa.types, "is_string_view", lambda _: False)
    return pa.types.is_string(type_) or pa.types.is_large_string(type_) or view(type_)


def is_list(type_: pa.DataType) -> bool:
    """Whether a column of this type has lists."""
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def is_number(type_: pa.DataType) -> bool:
    """Whether a column of this type has numbers."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def id_texts(column: pa.Array, what: str, line: Ints, findings: Findings) -> pa.StringArray:
    """Return ids as text; a missing id is reported, and empty."""
    ids = _filled_in(column)
    findings.add_each(line[~_filled(ids)], lambda _: f"no id in the column {what}; expected one in each row")
    return ids


def _filled_in(column: pa.Array) -> pa.StringArray:
    """Return a column as text, empty for a null."""
    return pc.coalesce(column.cast(pa.string()), pa.scalar("", pa.string()))


def _filled(ids: pa.StringArray) -> Bools:
    return text_lengths(ids) > 0


def _numbers(column: pa.Array, what: str, line: Ints, findings: Findings) -> Floats:
    """Return a column as float64; a value that is no finite number is reported, and NaN."""
    value = numbers(column) if is_text(column.type) else floats(pc.cast(column, pa.float64(), safe=False))
    wrong = ~np.isfinite(value)
    report_wrong(column, wrong, line, findings, f"the {what}; expected a finite number")
    return np.where(wrong, np.nan, value)


def _flags(column: pa.Array, line: Ints, findings: Findings) -> Bools:
    """Return flags: booleans, 0 and 1, and the words for them; anything else is reported."""
    if pa.types.is_boolean(column.type) and not column.null_count:
        return booleans(column)
    words = column if is_text(column.type) else texts(map(str, column.to_pylist()))
    words = pc.ascii_lower(pc.ascii_trim_whitespace(pc.coalesce(words.cast(pa.string()), pa.scalar("", pa.string()))))
    flag, plain = (
        booleans(pc.is_in(words, value_set=texts(word for word, flag in FLAGS.items() if flag == wanted)))
        for wanted in (True, False)
    )
    report_wrong(words, ~(flag | plain), line, findings, f"the flag; expected {A_FLAG}")
    return flag


def report_wrong(column: pa.Array, wrong: Bools, line: Ints, findings: Findings, role: str) -> None:
    """Report the wrong values of a column."""
    at = np.flatnonzero(wrong)

    def found(number: int) -> str:
        value: Any = column[at[number]].as_py()
        has_comma = isinstance(value, str) and value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()
        comma = "; write a decimal point, not a comma" if has_comma else ""
        return f"found {quoted(value) if isinstance(value, str) else value} as {role}{comma}"

    findings.add_each(line[at], found)
