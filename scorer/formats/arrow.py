"""Between numpy's arrays and Arrow's, without a copy where there need be none.

pyarrow imports pandas, which takes a good part of a second, as soon as one of its functions is given a value that is
not Arrow's own, or one of Arrow's is turned into numpy's. So both are done here, through the buffers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scorer.hits import Bools, Floats, Ints

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def texts(values: Iterable[str]) -> pa.StringArray:
    """Python's texts as Arrow's; lone surrogates, which no UTF-8 has, are replaced."""
    encoded = [value.encode("utf-8", "replace") for value in values]
    return strings(np.cumsum([0, *map(len, encoded)]), b"".join(encoded))


def strings(offsets: Ints, content: bytes) -> pa.StringArray:
    """The texts that stand in UTF-8 between the offsets, one more than there are texts."""
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content))


def take(values: pa.StringArray, places: Ints) -> pa.StringArray:
    """The values at the places."""
    wide = np.ascontiguousarray(places, dtype=np.int64)
    return values.take(pa.Int64Array.from_buffers(pa.int64(), wide.size, [None, pa.py_buffer(wide)]))


def keep(values: pa.Array, kept: Bools) -> pa.Array:
    """The values for which `kept` is true."""
    if kept.all():
        return values
    bits = np.packbits(kept, bitorder="little")
    return values.filter(pa.BooleanArray.from_buffers(pa.bool_(), kept.size, [None, pa.py_buffer(bits)]))


def text_lengths(values: pa.StringArray) -> Ints:
    """The length of each text, in bytes."""
    return integers(pc.binary_length(values))


def list_lengths(values: pa.ListArray) -> Ints:
    """The length of each list; 0 for a null."""
    return np.diff(integers(values.offsets))


def integers(values: pa.Array, null: int = 0) -> Ints:
    """Arrow's integers for numpy, `null` where there is none."""
    return np.where(_valid(values), _content(values), null).astype(np.int64, copy=False)


def booleans(values: pa.BooleanArray) -> Bools:
    """Arrow's truth values, of which none is null, for numpy."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    bits = np.frombuffer(values.buffers()[1], dtype=np.uint8)
    return np.unpackbits(bits, count=values.offset + len(values), bitorder="little")[values.offset :].astype(bool)


def _content(values: pa.Array) -> NDArray[Any]:
    """The buffer of an array of numbers."""
    kind = np.dtype(str(values.type))
    if not len(values):
        return np.zeros(0, dtype=kind)
    return np.frombuffer(values.buffers()[1], dtype=kind)[values.offset : values.offset + len(values)]


def _valid(values: pa.Array) -> Bools | np.bool_:
    return booleans(values.is_valid()) if values.null_count else np.True_


def equal(values: pa.StringArray, text: str) -> Bools:
    """Which of the values are that text?"""
    return booleans(pc.equal(values, texts([text])[0]))


def numbers(values: pa.StringArray) -> Floats:
    """Decimal numbers read to the nearest float64; NaN for what is none, or is not finite."""
    try:
        parsed = pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(values, NUMBER)
        parsed = pc.cast(pc.if_else(plain, values, pa.nulls(1, pa.string())[0]), pa.float64())
    read = np.where(_valid(parsed), _content(parsed), np.nan)
    return np.where(np.isfinite(read), read, np.nan)
