"""Arrow tables, from files or from memory, as Graded and Ranked rows; a row for each item, its line its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings
from scorer.formats.reading import columns
from scorer.formats.reading.arrow import booleans, floats, keep, text_lengths
from scorer.formats.reading.batches import Graded, Ranked
from scorer.formats.reading.bytes import UnreadableError
from scorer.measures.arrays import Bools, Floats
from scorer.wording import quoted


def graded(table: pa.Table, options: Mapping[str, str], findings: Findings) -> Graded:
    """A solution's rows. Raises Unreadable where a column is missing, or is of a type that cannot be one."""
    names = _names(table)
    query, item = (_ids(table, columns.needed(names, name, options), name, findings) for name in ("query", "item"))
    grade = _numbers(table, columns.needed(names, "grade", options), "grade", findings)
    flags = columns.place(names, "flag", options)
    sound = _filled(query) & _filled(item) & ~np.isnan(grade)
    return Graded(
        query=keep(query, sound),
        line=_line_numbers(table)[sound],
        flag=None if flags is None else _flags(table, flags, findings)[sound],
        lengths=None,
        item=keep(item, sound),
        grade=grade[sound],
    )


def ranked(table: pa.Table, options: Mapping[str, str], findings: Findings) -> Ranked:
    """A submission's rows, likewise."""
    names = _names(table)
    query, item = (_ids(table, columns.needed(names, name, options), name, findings) for name in ("query", "item"))
    by = columns.order_by(names, options)
    value = _numbers(table, columns.needed(names, by, options), by, findings)
    sound = _filled(query) & _filled(item) & ~np.isnan(value)
    if by == "rank":
        sound = columns.ranks(value, sound, findings)
    return Ranked(
        query=keep(query, sound),
        line=_line_numbers(table)[sound],
        lengths=None,
        item=keep(item, sound),
        run_score=value[sound] if by == "score" else None,
        rank=value[sound].astype(np.int64) if by == "rank" else None,
    )


def _names(table: pa.Table) -> list[str]:
    return [name.strip().lower() for name in table.column_names]


def _line_numbers(table: pa.Table) -> Any:
    return np.arange(1, table.num_rows + 1, dtype=np.int64)


def _column(table: pa.Table, place: int) -> pa.Array:
    """A column in one piece, its dictionaries resolved."""
    column = table.column(place)
    # Empty pieces of a table from elsewhere may lack the buffers that joining them looks into.
    pieces = [_resolved(piece) for piece in column.chunks if len(piece)]
    if not pieces:
        return pa.array([], pa.string() if pa.types.is_dictionary(column.type) else column.type)
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _resolved(piece: pa.Array) -> pa.Array:
    """A piece whose values stand in it."""
    if not pa.types.is_dictionary(piece.type):
        return piece
    values = piece.dictionary
    # Of all texts, Arrow can take plain ones alone by their places.
    return (values.cast(pa.string()) if _is_text(values.type) else values).take(piece.indices)


def _ids(table: pa.Table, place: int, what: str, findings: Findings) -> pa.StringArray:
    """Ids as text; an empty text where there is none, which is reported."""
    column = _column(table, place)
    if not (_is_text(column.type) or pa.types.is_integer(column.type)):
        name = quoted(table.column_names[place])
        raise UnreadableError(f"the column {name} is of type {column.type}; expected text or whole numbers as ids")
    ids = pc.coalesce(column.cast(pa.string()), pa.scalar("", pa.string()))
    findings.add_each(
        np.flatnonzero(~_filled(ids)) + 1, lambda _: f"no id in the column {what}; expected one in each row"
    )
    return ids


def _is_text(type_: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", lambda _: False)
    return pa.types.is_string(type_) or pa.types.is_large_string(type_) or view(type_)


def _filled(ids: pa.StringArray) -> Bools:
    return text_lengths(ids) > 0


def _numbers(table: pa.Table, place: int, what: str, findings: Findings) -> Floats:
    """A column as float64; NaN for what is no finite number, which is reported."""
    column = _column(table, place)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        name = quoted(table.column_names[place])
        raise UnreadableError(f"the column {name} is of type {column.type}; expected numbers as the {what}")
    value = floats(pc.cast(column, pa.float64(), safe=False))
    wrong = np.flatnonzero(~np.isfinite(value))
    findings.add_each(
        wrong + 1, lambda at: f"found {column[wrong[at]].as_py()} as the {what}; expected a finite number"
    )
    return np.where(np.isfinite(value), value, np.nan)


def _flags(table: pa.Table, place: int, findings: Findings) -> Bools:
    """Truth values, 0 and 1, and the words for them; anything else is reported."""
    column = _column(table, place)
    if pa.types.is_boolean(column.type) and not column.null_count:
        return booleans(column)
    return columns.flags(column.to_pylist(), findings)
