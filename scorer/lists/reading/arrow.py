"""Functions on arrays of Arrow, and conversion between arrays of numpy and of Arrow, without a copy where possible.

pyarrow imports pandas, which takes a good part of a second, when it converts a value of Python to Arrow, or an array of
Arrow to numpy. These functions convert through the buffers instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any
from unicodedata import is_normalized, normalize

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.measures.matched import Bools, Floats, Ints

try:
    from pyarrow._compute import call_function
except ImportError:  # a version of pyarrow that has it only in the public module
    from pyarrow.compute import call_function

QUICK = {"array_sort_indices", "binary_length", "equal", "filter", "is_valid", "not_equal", "take"}
"""The functions of Arrow that every TREC run needs."""


class _Compute:
    """The functions of Arrow on whole arrays, by name.

    Those of `QUICK` take arrays; any other one is that of `pyarrow.compute`, which is loaded on first use. Loading it
    takes a quarter as long as numpy and pyarrow together, because it makes a documented Python function of each
    function of Arrow.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = (
            (lambda *arrays: call_function(name, list(arrays)))
            if name in QUICK
            else getattr(import_module("pyarrow.compute"), name)
        )
        setattr(self, name, function)
        return function


pc: Any = _Compute()

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def texts(values: Iterable[str]) -> pa.StringArray:
    """Return strings as an Arrow array; lone surrogates, which UTF-8 cannot hold, are replaced."""
    listed = list(values)
    whole = "".join(listed)
    if whole.isascii():  # a character is a byte then
        return strings(_offsets(map(len, listed), len(listed)), whole.encode("ascii"))
    encoded = [value.encode("utf-8", "replace") for value in listed]
    return strings(_offsets(map(len, encoded), len(encoded)), b"".join(encoded))


def _offsets(lengths: Iterable[int], count: int) -> Ints:
    return np.append(0, np.cumsum(np.fromiter(lengths, dtype=np.int64, count=count)))


def strings(offsets: Ints, content: bytes) -> pa.StringArray:
    """Return the texts between the offsets, which are one more than the texts, in UTF-8."""
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content))


def one_array(parts: Iterable[pa.StringArray]) -> pa.StringArray:
    """Return the parts as one array; a single part is not copied."""
    whole = list(parts) or [strings(np.zeros(1, dtype=np.int64), b"")]  # Arrow would import pandas to make an empty one
    return whole[0] if len(whole) == 1 else pa.chunked_array(whole, pa.string()).combine_chunks()


def run_starts(values: pa.StringArray) -> Ints:
    """Return the positions of the texts that differ from the one before."""
    if len(values) < 2:
        return np.arange(len(values))
    return np.append(0, np.flatnonzero(booleans(pc.not_equal(values[1:], values[:-1]))) + 1)


def take(values: pa.StringArray, places: Ints) -> pa.StringArray:
    """Return the values at the positions."""
    return pc.take(values, from_numpy(places.astype(np.int64, copy=False)))


def from_numpy(values: Ints | Floats) -> pa.Array:
    """Return integers or numbers of numpy as an Arrow array."""
    kind = pa.int64() if values.dtype == np.int64 else pa.float64()
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(np.ascontiguousarray(values))])


def keep(values: pa.Array, kept: Bools) -> pa.Array:
    """Return the values for which `kept` is true."""
    if kept.all():
        return values
    bits = np.packbits(kept, bitorder="little")
    return pc.filter(values, pa.BooleanArray.from_buffers(pa.bool_(), kept.size, [None, pa.py_buffer(bits)]))


def text_lengths(values: pa.StringArray) -> Ints:
    """Return the length of each text in bytes."""
    return integers(pc.binary_length(values))


def list_lengths(values: pa.ListArray) -> Ints:
    """Return the length of each list; 0 for a null."""
    return np.diff(integers(values.offsets))


def integers(values: pa.Array, null: int = 0) -> Ints:
    """Return integers of Arrow for numpy, with `null` in place of nulls."""
    content = np.where(_valid(values), _content(values), null) if values.null_count else _content(values)
    return content.astype(np.int64)


def booleans(values: pa.BooleanArray) -> Bools:
    """Return booleans of Arrow, without nulls, for numpy."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    bits = np.frombuffer(values.buffers()[1], dtype=np.uint8)
    return np.unpackbits(bits, count=values.offset + len(values), bitorder="little")[values.offset :].astype(bool)


def _content(values: pa.Array) -> NDArray[Any]:
    kind = np.dtype(str(values.type))
    if not len(values):
        return np.zeros(0, dtype=kind)
    return np.frombuffer(values.buffers()[1], dtype=kind)[values.offset : values.offset + len(values)]


def _valid(values: pa.Array) -> Bools:
    return booleans(pc.is_valid(values))


def equal(values: pa.StringArray, text: str) -> Bools:
    """Return a mask of the values that equal the text."""
    return booleans(pc.equal(values, texts([text])[0]))


def numbers(values: pa.StringArray) -> Floats:
    """Return decimal numbers as the nearest float64; NaN for a text that is no finite number."""
    try:
        parsed = pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(values, _NUMBER)
        parsed = pc.cast(pc.if_else(plain, values, pa.nulls(1, pa.string())[0]), pa.float64())
    read = floats(parsed)
    return np.where(np.isfinite(read), read, np.nan)


def floats(values: pa.DoubleArray) -> Floats:
    """Return float64 numbers of Arrow for numpy; NaN for a null."""
    return np.where(_valid(values), _content(values), np.nan) if values.null_count else _content(values)


def id_order(ids: pa.StringArray) -> Ints:
    """[id]: its index among the ids sorted by their bytes; equal ids get different indices."""
    ascending = integers(pc.array_sort_indices(ids))
    order = np.empty_like(ascending)
    order[ascending] = np.arange(ascending.size)
    return order


ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: multiplication by it spreads the bits of a word."""


ALL_BITS = np.uint64(2**64 - 1)

MOST_ROUNDS = 30
"""Each round places more than half of the texts, unless somebody chose them to prevent it."""


def coded(parts: Iterable[pa.StringArray]) -> tuple[Ints, pa.StringArray]:
    """Return the number of each text, in order of first appearance, and the distinct texts.

    Arrow does the same, but takes quadratic time for texts with the same hash, which anybody can choose. A run of equal
    texts, as a query's rows in a file, is looked up once.
    """
    whole = one_array(parts)
    start = run_starts(whole)
    heads = take(whole, start)
    first = _first_by_fingerprint(heads)
    if first is None:
        first = _first_by_bytes(heads)
    is_first = first == np.arange(first.size)
    code = (np.cumsum(is_first) - 1)[first]
    return np.repeat(code, np.diff(start, append=len(whole))), take(heads, np.flatnonzero(is_first))


def _first_by_fingerprint(values: pa.StringArray) -> Ints | None:
    """[text]: the position of the first equal text; None if the fingerprints collide.

    All positions are written into a table at once, the last ones first, at a hash of the fingerprint. A position that
    finds another fingerprint there is left for another table with another hash.
    """
    key = fingerprints(values)
    first, left = np.arange(key.size), np.arange(key.size)
    for _ in range(MOST_ROUNDS):
        if not left.size:
            break
        key = key * ODD
        bits = left.size.bit_length() + 1
        slot, hashes = np.arange(left.size, dtype=np.int32), (key >> np.uint64(64 - bits)).astype(np.int64)
        table = np.empty(1 << bits, dtype=np.int32)
        table[hashes[::-1]] = slot[::-1]
        winner = table[hashes]
        first[left] = left[winner]
        lost = np.flatnonzero(key[winner] != key)
        left, key = left[lost], key[lost]
    again = np.flatnonzero(first != np.arange(first.size))
    are_equal = not left.size and booleans(pc.equal(take(values, first[again]), take(values, again))).all()
    return first if are_equal else None


def _first_by_bytes(values: pa.StringArray) -> Ints:
    """[text]: the position of the first equal text, by sorting them; equal ones stay in order."""
    order = integers(pc.array_sort_indices(values))
    start = run_starts(take(values, order))
    first = np.empty_like(order)
    first[order] = np.repeat(order[start], np.diff(start, append=order.size))
    return first


def fingerprints(values: pa.StringArray) -> NDArray[np.uint64]:
    """Return 64 bits for each text: equal for equal texts, and almost never for different ones.

    Each pass takes eight bytes of every text; the longest text decides the number of passes.
    """
    if not len(values):
        return np.zeros(0, dtype=np.uint64)
    offsets, content = text_buffers(values)
    # The view overlaps: it has a word of eight bytes at each byte.
    padded = np.concatenate([content, np.zeros(8, dtype=np.uint8)])
    words = np.ndarray(content.size + 1, dtype="<u8", buffer=padded, strides=(1,))
    start, left = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    mixed = _mixed(words[start] & _low_bytes(left), left.astype(np.uint64))
    longer = np.flatnonzero(left > 8)
    while longer.size:
        start[longer] += 8
        left[longer] -= 8
        mixed[longer] = _mixed(words[start[longer]] & _low_bytes(left[longer]), mixed[longer])
        longer = longer[left[longer] > 8]
    return mixed


def plain_spelling(values: pa.StringArray) -> pa.StringArray:
    """Return texts in Unicode's form NFC, without invisible characters; the same array where that changes none."""
    content = text_buffers(values)[1]
    if content.max(initial=0) < 128:
        return values
    visible = pc.replace_substring_regex(values, pattern=r"\p{Cf}", replacement="")
    if visible == values and is_normalized("NFC", content.tobytes().decode()):
        return values
    return texts(normalize("NFC", text) for text in visible.to_pylist())  # that of Arrow is NFD before release 26


def text_buffers(values: pa.StringArray) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets of the texts and their bytes."""
    _, offsets, content = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    held = np.zeros(0, dtype=np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
    return ends - ends[0], held[ends[0] : ends[-1]]


def _low_bytes(count: Ints) -> NDArray[np.uint64]:
    """Return a mask of the first `count` bytes of a word, at most eight."""
    # A shift by 64 bits gives 0 in numpy.
    return ALL_BITS >> (np.uint64(64) - np.uint64(8) * np.minimum(count, 8).astype(np.uint64))


def _mixed(word: NDArray[np.uint64], seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = seed * ODD
    mixed ^= word
    mixed *= ODD
    mixed ^= mixed >> np.uint64(29)
    mixed *= ODD
    return mixed
