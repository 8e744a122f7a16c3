"""The fast way through a block in which every line has the same columns, divided by one character each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from scorer.formats.arrow import floats
from scorer.formats.text import Block
from scorer.hits import Floats


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


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
