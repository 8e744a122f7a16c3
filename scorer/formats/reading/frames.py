"""Columns of pandas as arrays of Arrow, without a Python object for each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from scorer.formats.reading.tables import is_text

if TYPE_CHECKING:
    import pandas as pd


def arrow_ids(column: pd.Series) -> pa.Array | pa.ChunkedArray | None:
    """Return the ids in a column of texts of Arrow, of whole numbers, or of categories that are one of these.

    None for any other column, and for one with missing values: each of its values has to be looked at.
    """
    if hasattr(column, "cat"):
        codes = column.cat.codes.to_numpy()
        values = arrow_ids(column.cat.categories.to_series())
        if values is None or not codes.size or codes.min() < 0:
            return None
        whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return pa.DictionaryArray.from_arrays(pa.array(codes), whole)
    if hasattr(column.array, "__arrow_array__"):
        held = pa.array(column.array)
    elif column.dtype.kind in "iu":
        held = pa.array(column.to_numpy())
    else:
        return None
    return held if (is_text(held.type) or pa.types.is_integer(held.type)) and not held.null_count else None
