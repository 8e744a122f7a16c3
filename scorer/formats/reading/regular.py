"""The fast way through a block whose lines are all alike: of columns that one character divides, or of JSON objects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.formats.reading.arrow import booleans, floats
from scorer.formats.reading.blocks import Block
from scorer.measures.arrays import Floats


def columns(
    block: Block, delimiter: str, count: int, places: Mapping[str, int], number: str, *, skip: int = 0
) -> tuple[dict[str, pa.Array], Floats] | None:
    """The columns at these places, of `count`, and the one of numbers apart; None where a line is not like the others.

    None does not say what is wrong, or whether anything is: it sends the block the slow way, which sees each line.
    `skip` lines at the start are left out.
    """
    from pyarrow import csv  # noqa: PLC0415 (many files need no more than the lines)

    names = [str(place) for place in range(count)]
    types = {"query": pa.string(), "item": pa.string(), number: pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(block.content),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(block.content) + 1, column_names=names, skip_rows=skip
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                include_columns=[names[place] for place in places.values()],
                column_types={names[place]: types[name] for name, place in places.items()},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(names[place])) for name, place in places.items()}
    value = floats(read.pop(number))
    return (read, value) if np.isfinite(value).all() else None


def members(block: Block, types: Mapping[str, pa.DataType]) -> dict[str, pa.Array] | None:
    """The members of the block's objects, one on each line, of these names and types; None as from `columns`.

    Other members are passed over.
    """
    from pyarrow import json  # noqa: PLC0415 (few files need it)

    lines = block.lines
    if not booleans(pc.starts_with(lines, "{")).all():
        return None
    try:
        table = json.read_json(
            pa.BufferReader(block.content),
            read_options=json.ReadOptions(use_threads=False, block_size=len(block.content) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(name)) for name in types}
    if table.num_rows != len(lines) or any(column.null_count for column in read.values()):
        return None
    return read


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
