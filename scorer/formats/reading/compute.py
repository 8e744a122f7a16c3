"""Functions of Arrow on whole arrays.

Those that every TREC run needs are called by their names here; any other name is that of `pyarrow.compute`, which is
loaded on first use. Loading it takes a quarter as long as numpy and pyarrow together, because it makes a documented
Python function of each function of Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

try:
    from pyarrow._compute import SetLookupOptions, call_function
except ImportError:  # a version of pyarrow that has them only in the public module
    from pyarrow.compute import SetLookupOptions, call_function


def equal(left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """Return whether the values are equal."""
    return call_function("equal", [left, right])


def not_equal(left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """Return whether the values differ."""
    return call_function("not_equal", [left, right])


def is_valid(values: pa.Array) -> pa.BooleanArray:
    """Return whether the values are not null."""
    return call_function("is_valid", [values])


def take(values: pa.Array, places: pa.Array) -> pa.Array:
    """Return the values at the places."""
    return call_function("take", [values, places])


def filter(values: pa.Array, kept: pa.BooleanArray) -> pa.Array:  # noqa: A001 (Arrow's name)
    """Return the values for which `kept` is true."""
    return call_function("filter", [values, kept])


def dictionary_encode(values: pa.Array) -> pa.DictionaryArray:
    """Return the distinct values, and the index of each value among them."""
    return call_function("dictionary_encode", [values])


def index_in(values: pa.Array, value_set: pa.Array) -> pa.Int32Array:
    """Return the index of each value in `value_set`; null for another value."""
    return call_function("index_in", [values], SetLookupOptions(value_set))


def sort_indices(values: pa.Array) -> pa.UInt64Array:
    """Return the order of the values, ascending."""
    return call_function("array_sort_indices", [values])


def binary_length(values: pa.Array) -> pa.Int32Array:
    """Return the length of each text in bytes."""
    return call_function("binary_length", [values])


def __getattr__(name: str) -> Any:
    """Return any other function of `pyarrow.compute`."""
    return getattr(import_module("pyarrow.compute"), name)
