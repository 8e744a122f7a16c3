"""Valid Parquet files, written from a model with every type, layout and compression; and mutations of their tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.fuzz import oddities
from tests.fuzz.files import File, Kind, Table
from tests.fuzz.json_texts import EMPTY, WHOLE
from tests.fuzz.model import Needs, drawn
from tests.fuzz.texts import NAMES, ranks_of, rows_of

CODECS = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")
INTEGERS = (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64())
EXTRA: dict[str, Callable[[int], Any]] = {
    "note": lambda rows: pa.array(["x"] * rows),
    "nothing": pa.nulls,
    "nested": lambda rows: pa.array([{"a": [1, None], "b": {"c": "d"}}] * rows),
    "time": lambda rows: pa.array([0] * rows, pa.timestamp("ms", "UTC")),
    "map": lambda rows: pa.array([[("k", 1)]] * rows, pa.map_(pa.string(), pa.int32())),
    "bytes": lambda rows: pa.array([b"\xff"] * rows),
}
"""Columns that are not read."""


def parquet(rng: random.Random, kind: Kind) -> File:
    """Return a file with a row for each item."""
    by = "grade" if kind == "solution" else rng.choice(["score", "score", "rank"])
    model = drawn(rng, Needs(EMPTY, EMPTY, rng.random() < 0.5, empty=False, distinct=by == "rank"))
    rows = rows_of(model, kind)
    queries = [query for query, _, _ in rows]
    held = {"query": _ids(rng, queries), "item": _ids(rng, [item for _, item, _ in rows])}
    if by == "rank":
        held[by] = pa.array(ranks_of(queries), rng.choice(INTEGERS))
    else:
        held[by] = _numbers(rng, [value for _, _, value in rows])
    if model.flagged and kind == "solution":
        held["flag"] = _flags(rng, [query in model.flagged for query in queries])
    for name in rng.sample(list(EXTRA), rng.randint(0, 3)):
        held[name] = EXTRA[name](len(rows))
    names = list(held)
    rng.shuffle(names)
    table = pa.table([held[name] for name in names], [rng.choice(NAMES.get(name, (name,))) for name in names])
    return File("parquet", kind, model, None, Table(table, queries, options(rng)))


def options(rng: random.Random) -> dict[str, Any]:
    """Return how to write a table."""
    return {
        "row_group_size": rng.choice([1, 3, 1 << 20]),
        "compression": rng.choice([codec for codec in CODECS if codec == "none" or pa.Codec.is_available(codec)]),
        "use_dictionary": rng.random() < 0.5,
        "version": rng.choice(["1.0", "2.4", "2.6"]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "data_page_size": rng.choice([1, 100, 1 << 20]),
        "store_schema": rng.random() < 0.7,
        "write_statistics": rng.random() < 0.5,
        "write_page_checksum": rng.random() < 0.3,
    }


def _ids(rng: random.Random, ids: Sequence[str]) -> Any:
    if all(WHOLE.fullmatch(each) for each in ids):
        return pa.array(map(int, ids), pa.int64())
    column = pa.array(ids, rng.choice([pa.string(), pa.string(), pa.large_string()]))
    return column.dictionary_encode() if rng.random() < 0.3 else column


def _numbers(rng: random.Random, values: Sequence[float]) -> Any:
    types: list[Any] = [pa.float64()]
    if all(value.is_integer() and abs(value) < 100 for value in values):
        types += [pa.int8(), pa.int64(), pa.float32(), pa.float16(), pa.decimal128(9, 2), pa.decimal256(40, 0)]
    type_ = rng.choice(types)
    if pa.types.is_decimal(type_):
        return pa.array(map(Decimal, values), type_)
    return pa.array(map(int, values) if pa.types.is_integer(type_) else values, type_)


def _flags(rng: random.Random, flags: Sequence[bool]) -> Any:
    as_words = pa.array([str(flag).lower() for flag in flags])
    return rng.choice([pa.array(flags), pa.array(map(int, flags), pa.int8()), as_words])


def mutated(rng: random.Random, table: Any) -> Any:
    """Return a table with another column, name, type, row or value."""
    return rng.choice(MUTATIONS)(rng, table) if table.num_columns else table


def _drop(rng: random.Random, table: Any) -> Any:
    return table.remove_column(rng.randrange(table.num_columns))


def _repeat(rng: random.Random, table: Any) -> Any:
    at = rng.randrange(table.num_columns)
    return table.append_column(table.column_names[at], table.column(at))


def _rename(rng: random.Random, table: Any) -> Any:
    names = list(table.column_names)
    names[rng.randrange(len(names))] = rng.choice([*oddities.NAMES, "\n", "\u202e", "a" * 5000])
    return table.rename_columns(names)


def _swap(rng: random.Random, table: Any) -> Any:
    names = list(table.column_names)
    return table.rename_columns(rng.sample(names, len(names)))


def _rows(rng: random.Random, table: Any) -> Any:
    places = range(table.num_rows)
    return table.take(pa.array(rng.choices(places, k=rng.randint(0, 2 * len(places))) if places else [], pa.int64()))


def _value(rng: random.Random, table: Any) -> Any:
    """Replace values of a column, which gets the type that they need."""
    at = rng.randrange(table.num_columns)
    values = _values(table.column(at))
    odd = _odd(rng, values[0] if values else None)
    for place in rng.sample(range(len(values)), min(len(values), rng.choice([1, 1, 3, 1000]))):
        values[place] = odd
    return _with(table, at, values, None)


def _values(column: Any) -> list[Any]:
    """Return the values of a column; None for each if one is a time that Python cannot represent."""
    try:
        return list(column.to_pylist())
    except OverflowError:
        return [None] * len(column)


def _odd(rng: random.Random, value: Any) -> Any:
    if isinstance(value, str):
        return rng.choice([None, *(text for text in oddities.TEXTS if text.isprintable() or len(text) == 1)])
    odd = rng.choice([None, None, float("nan"), float("inf"), -0.0, 1e308, 5e-324, -1, 0, 2**53 + 1, 2**63 - 1])
    return odd if odd is None or isinstance(value, float) else int(odd) if abs(odd) < 1e300 else None


def _type(rng: random.Random, table: Any) -> Any:
    """Convert a column to another type, or nest it."""
    at = rng.randrange(table.num_columns)
    column = table.column(at)
    types = [
        *(pa.string(), pa.large_string(), pa.binary(), pa.float32(), pa.float16(), pa.bool_(), pa.date32()),
        *(pa.timestamp("us"), pa.decimal128(38, 10), pa.int8(), pa.uint64(), pa.time64("us"), pa.binary(4)),
    ]
    how = rng.randint(0, 4)
    values = _values(column)
    if how == 0:
        return _with(table, at, [[value] * rng.randint(0, 2) for value in values], None)
    if how == 1:
        return _with(table, at, [{"a": value} for value in values], None)
    if how == 2:
        return _with(table, at, [None] * len(values), rng.choice([pa.null(), *types]))
    if how == 3 and values and pa.types.is_primitive(column.type):
        return table.set_column(at, table.column_names[at], column.combine_chunks().dictionary_encode())
    return _with(table, at, values, rng.choice(types))


def _expanded(rng: random.Random, table: Any) -> Any:
    """Repeat one row, with a long text in a dictionary: a file much smaller than its columns."""
    at = rng.randrange(table.num_columns)
    rows = rng.choice([300, 5000])
    table = table.take(pa.array([0] * rows if table.num_rows else [], pa.int64()))
    long = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), pa.array(["a" * 2000]))
    return table.set_column(at, table.column_names[at], long)


def _with(table: Any, at: int, values: Sequence[Any], type_: Any) -> Any:
    """Return the table with other values of a column; as it was where Arrow cannot convert them."""
    try:
        column = pa.array(values, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return table
    return table.set_column(at, table.column_names[at], column)


MUTATIONS = (_drop, _repeat, _rename, _swap, _rows, _value, _value, _value, _type, _type, _expanded)
