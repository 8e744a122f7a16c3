"""What a solution grades and what a submission found, in few bytes: enough to compute every measure anew.

A hit is its rank and its place among its query's graded items, best first, and its tie group where scores are the mean
over the orders of tied items; a list is its length. The scores of any measure follow from these and from the grades, to
the last bit, so that scores themselves need not be kept.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.measures.arrays import Floats, Ints
from scorer.measures.matched import JudgedItems, Matched, Tied

_HEAD = struct.Struct("<I")
_Numbers = NDArray[Any]


class DamagedError(Exception):
    """Packed bytes that do not unpack."""


def pack_ideal(ideal: JudgedItems, queries: int) -> bytes:
    """A solution's graded items, for `unpack_ideal`."""
    return _packed(queries, [_counts(ideal, queries), ideal.grade, ideal.tie_rank])


def unpack_ideal(packed: bytes) -> JudgedItems:
    """The graded items. Raises DamagedError."""
    queries, (counts, grade, tie_rank) = _unpacked(packed, (3,))
    return JudgedItems(np.repeat(np.arange(queries), counts), _within(counts), grade.astype(np.float64), tie_rank)


def pack_hits(matched: Matched) -> bytes:
    """What a submission found, for `unpack_hits`."""
    found, counts = matched.found, _counts(matched.found, matched.queries)
    groups = [] if found.tied is None else [found.tied.before, found.tied.size]
    return _packed(matched.queries, [counts, matched.retrieved, found.rank, _places(matched), *groups])


def unpack_hits(packed: bytes, ideal: JudgedItems) -> Matched:
    """The submission as a measure sees it. Raises DamagedError."""
    queries, (counts, retrieved, rank, place, *groups) = _unpacked(packed, (4, 6))
    query = np.repeat(np.arange(queries), counts)
    first = np.searchsorted(ideal.query, np.arange(queries))
    entry = first[query] + place
    if entry.size and entry.max() >= len(ideal):
        raise DamagedError("a hit beyond the graded items")
    tied = Tied(*groups) if groups else None
    return Matched(JudgedItems(query, rank, ideal.grade[entry], ideal.tie_rank[entry], tied), ideal, retrieved)


def _places(matched: Matched) -> Ints:
    """For each hit the place, from 0, of the first of its query's graded items that has its grade.

    Which of several it is makes no difference: what a measure sees of an item is its grade, and what follows from it.
    """
    found, ideal = matched.found, matched.ideal
    grades, keys, place = ideal.cached("places", lambda: _places_of_grades(ideal))
    key = found.query * grades.size + (grades.size - 1 - np.searchsorted(grades, found.grade))
    return place[np.searchsorted(keys, key)]


def _places_of_grades(ideal: JudgedItems) -> tuple[Floats, Ints, Ints]:
    """All grades, ascending; a number for each grade of each query, ascending; and where in the query it begins."""
    grades, code = np.unique(ideal.grade, return_inverse=True)
    # Grades fall within a query, so the numbers count down from the highest grade to ascend with the places.
    keys, first = np.unique(ideal.query * grades.size + (grades.size - 1 - code), return_index=True)
    return grades, keys, ideal.rank[first] - 1


def _counts(hits: JudgedItems, queries: int) -> Ints:
    return np.bincount(hits.query, minlength=queries)


def _within(counts: Ints) -> Ints:
    """1, 2, ... anew for each of the counts."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1


def _packed(size: int, columns: Sequence[_Numbers]) -> bytes:
    """The columns, each in the smallest type that holds it, bytes of equal weight side by side, compressed."""
    body = b""
    for column in columns:
        small = column if column.dtype == np.float64 else column.astype(np.min_scalar_type(int(column.max(initial=0))))
        code = small.dtype.str.encode()
        body += (
            struct.pack("<3sI", code, small.size) + small.view(np.uint8).reshape(small.size, small.itemsize).T.tobytes()
        )
    return _HEAD.pack(size) + zlib.compress(body)


def _unpacked(packed: bytes, counts: Sequence[int]) -> tuple[int, list[_Numbers]]:
    """The columns, of which there are as many as one of `counts` says."""
    try:
        (size,) = _HEAD.unpack_from(packed)
        body, columns = zlib.decompress(packed[_HEAD.size :]), []
        while body:
            code, length = struct.unpack_from("<3sI", body)
            kind = np.dtype(code.decode())
            end = 7 + length * kind.itemsize
            planes = np.frombuffer(body[7:end], dtype=np.uint8).reshape(kind.itemsize, -1)
            column = np.ascontiguousarray(planes.T).reshape(-1).view(kind)
            columns.append(column if kind.kind == "f" else column.astype(np.int64))
            body = body[end:]
    except (ValueError, TypeError, struct.error, zlib.error) as error:
        raise DamagedError(str(error)) from error
    if len(columns) not in counts:
        raise DamagedError("a column too few or too many")
    return size, columns
