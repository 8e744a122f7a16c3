"""The fast readers of blocks whose lines are all alike: columns between single characters, or JSON objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import booleans, floats
from scorer.formats.reading.blocks import BYTE_ORDER_MARK, Block
from scorer.measures.arrays import Floats

PIECE = 1 << 17


def columns(
    block: Block, delimiter: str, count: int, places: Mapping[str, int], number: str, *, skip: int = 0
) -> tuple[dict[str, pa.Array], Floats] | None:
    """Read the columns at these positions, of `count`, all but the one called `number` as text; and the numbers.

    A column called rank has numbers, too, which need not be finite. None where a line is not like the others: then the
    block must be read line by line, which also finds what is wrong with it, if anything is.
    """
    from pyarrow import csv  # noqa: PLC0415 (many files need no more than the lines)

    if block.content.startswith(BYTE_ORDER_MARK):  # Arrow would remove it
        return None
    names = [str(at) for at in range(count)]
    types = {**dict.fromkeys(places, pa.string()), number: pa.float64(), "rank": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(block.content),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(block.content) + 1, column_names=names, skip_rows=skip
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                include_columns=[names[at] for at in places.values()],
                column_types={names[at]: types[name] for name, at in places.items()},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(names[at])) for name, at in places.items()}
    value = floats(read.pop(number))
    return (read, value) if np.isfinite(value).all() else None


def has_empty_column(block: Block) -> bool:
    """Whether white space follows white space, or begins or ends the block: a column or a line is empty."""
    content = block.content.replace(b"\r\n", b"\n") if block.holds(b"\r") else block.content
    codes = np.frombuffer(content, dtype=np.uint8)
    # In pieces that stay in the processor's cache.
    for start in range(0, codes.size, PIECE):
        blank = codes[start : start + PIECE + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return True
    return bool(codes[0] <= ord(" ")) or content.endswith((b" ", b"\t"))


def members(block: Block, types: Mapping[str, pa.DataType], needed: Collection[str]) -> dict[str, pa.Array] | None:
    """Return the members of the block's objects by name, one object on each line; there are those in `types`.

    Those in `needed` have no nulls. None as from `columns`, and where an object has a member that is not in `types`:
    somebody could name so many that their columns, in every row, take quadratic time.
    """
    from pyarrow import json  # noqa: PLC0415 (few files need it)

    # A line within an object would begin a nested value, and those are not read here.
    lines = block.lines
    if not booleans(pc.starts_with(lines, "{")).all():
        return None
    try:
        table = json.read_json(
            pa.BufferReader(block.content),
            read_options=json.ReadOptions(use_threads=False, block_size=len(block.content) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="error"
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(name)) for name in table.column_names}
    if table.num_rows != len(lines) or any(read[name].null_count for name in needed):
        return None
    return read if all(_is_read_alike(read[name]) for name in read.keys() - set(needed)) else None


def _is_read_alike(column: pa.Array) -> bool:
    """Whether JSON's readers agree on what a member that is not used holds.

    They differ on NaN, and on numbers beyond float64.
    """
    if pa.types.is_floating(column.type):
        return bool((np.isfinite(floats(column)) | ~booleans(column.is_valid())).all())
    return True


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
