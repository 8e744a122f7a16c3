"""The compact form of a match: the judged items of a submission, and the queries and grades of a solution.

A judged item is stored as its rank and its position among the graded items of its query, best first, and with its tie
group if scores are means over the orders of tied items. A list is stored as its length. The scores of any measure
follow from these and from the grades, to the last bit, so that scores need not be stored. Items with the same grade
share a position, but for solutions with subtopics, where each item has its own.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.measures.arrays import Bools, Floats, Ints, ranges
from scorer.measures.matched import JudgedItems, Matched, Subtopics, Tied

_LEVEL = 2
"""Of the compression: the bytes are 5 % more than at zlib's usual level 6, in a fourth of the time."""

LONGEST_LIST = 10_000_000
"""The items that a list can have. Measures make arrays of this length."""

_HEAD, _COLUMN = struct.Struct("<I"), struct.Struct("<3sI")
_CODES = {b"|u1": "u", b"<u2": "u", b"<u4": "u", b"<f8": "f"}
"""The types of columns, and their kinds: whole numbers from 0, and floats."""
_Numbers = NDArray[Any]


class DamagedError(Exception):
    """Packed bytes that cannot be unpacked."""


def pack_ids(query_ids: Iterable[str]) -> bytes:
    """Query ids in few bytes, for `unpack_ids`."""
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def unpack_ids(packed: bytes) -> tuple[str, ...]:
    """The ids that `pack_ids` packed."""
    return tuple(json.loads(zlib.decompress(packed)))


def check_expansion(packed: bytes, most: int) -> None:
    """Raise ValueError if packed bytes grow to more than so many bytes, or are incomplete."""
    stream = zlib.decompressobj()
    try:
        stream.decompress(packed, most)
    except zlib.error as error:
        raise ValueError("not compressed") from error
    if not stream.eof:
        raise ValueError("grows to more bytes, or is incomplete")


def check_ids(packed: bytes, flagged: bytes) -> None:
    """Raise ValueError unless packed ids are texts with a flag for each, before they become objects."""
    text = zlib.decompress(packed)
    if (text[:2], text[-2:]) != (b'["', b'"]') or text.count(b'","') // 8 + 1 != len(flagged):
        raise ValueError("other queries than flags")
    for query_id in text[2:-2].split(b'","'):
        json.loads(b'"%b"' % query_id)


def pack_flags(flagged: Bools) -> bytes:
    """The flags of queries in few bytes, for `unpack_flags`."""
    return np.packbits(flagged).tobytes()


def unpack_flags(packed: bytes, count: int) -> Bools:
    """The flags of `count` queries that `pack_flags` packed. Raises ValueError for those of another number."""
    if len(packed) != (count + 7) // 8:
        raise ValueError(f"{len(packed)} bytes for {count} queries")
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)


def pack_ideal(ideal: JudgedItems, queries: int) -> bytes:
    """The graded items of a solution in few bytes, for `unpack_ideal`."""
    held, columns = ideal.subtopics, [np.bincount(ideal.query, minlength=queries), ideal.grade, ideal.tie_rank]
    if held is not None:
        columns += [np.diff(held.first), held.subtopic, held.grade, held.id_rank]
    return _packed(queries, columns)


def unpack_ideal(packed: bytes) -> JudgedItems:
    """The graded items that `pack_ideal` packed. Raises DamagedError."""
    queries, (counts, grade, tie_rank, *held) = _unpacked(packed, ("ufu", "ufuuufu"))
    _check_counted(counts, queries, grade, tie_rank)
    rank, query = ranges(np.ones_like(counts), counts + 1)
    if not held:
        return JudgedItems(query, rank, grade, tie_rank)
    lengths, subtopic, grades, id_rank = held
    _check_counted(lengths, query.size, subtopic, grades)
    if id_rank.size != query.size or subtopic.max(initial=-1) >= subtopic.size:
        raise DamagedError("subtopics of other items")
    subtopics = Subtopics(np.append(0, np.cumsum(lengths)), subtopic, grades, id_rank)
    return JudgedItems(query, rank, grade, tie_rank, entry=np.arange(query.size), subtopics=subtopics)


def pack_hits(matched: Matched) -> bytes:
    """The judged items of a submission in few bytes, for `unpack_hits`."""
    found, counts = matched.found, np.bincount(matched.found.query, minlength=matched.queries)
    groups = [] if found.tied is None else [found.tied.before, found.tied.size]
    return _packed(matched.queries, [counts, matched.retrieved, found.rank, _positions(matched), *groups])


def unpack_hits(packed: bytes, ideal: JudgedItems) -> Matched:
    """The match that `pack_hits` packed, given the graded items of the solution. Raises DamagedError."""
    queries, (counts, retrieved, rank, position, *groups) = _unpacked(packed, ("uuuu", "uuuuuu"))
    _check_counted(counts, queries, rank, position, *groups)
    if retrieved.size != queries:
        raise DamagedError("lengths of other lists")
    query = np.repeat(np.arange(queries), counts)
    first = ideal.cached(("first", queries), lambda: np.searchsorted(ideal.query, np.arange(queries)))
    entry = first[query] + position
    if entry.size and entry.max() >= len(ideal):
        raise DamagedError("a position beyond the graded items")
    tied, known = Tied(*groups) if groups else None, None if ideal.subtopics is None else entry
    return Matched(JudgedItems(query, rank, ideal.grade[entry], ideal.tie_rank[entry], tied, known), ideal, retrieved)


def check_values(matched: Matched, queries: int) -> None:
    """Raise DamagedError for a match that lists for so many queries cannot have: measures rely on its values."""
    found, ideal = matched.found, matched.ideal
    same_query = np.diff(found.query) == 0
    is_possible = (
        matched.queries == queries
        and ideal.query.max(initial=-1) < queries
        and bool(np.isfinite(ideal.grade).all() and (np.diff(found.rank)[same_query] >= 0).all())
        and found.rank.min(initial=1) >= 1
        and max(matched.retrieved.max(initial=0), found.rank.max(initial=0)) <= LONGEST_LIST
    )
    if found.tied is not None:
        ends = found.tied.before + found.tied.size
        is_possible &= found.tied.size.min(initial=1) >= 1 and ends.max(initial=0) <= LONGEST_LIST
    if not is_possible:
        raise DamagedError("values that no lists have")


def _check_counted(counts: Ints, owners: int, *columns: _Numbers) -> None:
    """Raise DamagedError unless each owner has a count, and each column as many values as they add up to."""
    sizes = {column.size for column in columns}
    if counts.size != owners or counts.max(initial=0) > min(sizes) or sizes != {int(counts.sum())}:
        raise DamagedError("counts of other columns")


def _positions(matched: Matched) -> Ints:
    """[judged item]: the position, from 0, of the first graded item of its query with the same grade.

    Items with equal grades are the same to every measure, unless they have subtopics: then it is its own position.
    """
    found, ideal = matched.found, matched.ideal
    if found.entry is not None:
        return ideal.rank[found.entry] - 1
    grades, keys, position = ideal.cached("positions", lambda: _positions_of_grades(ideal))
    key = found.query * grades.size + (grades.size - 1 - np.searchsorted(grades, found.grade))
    return position[np.searchsorted(keys, key)]


def _positions_of_grades(ideal: JudgedItems) -> tuple[Floats, Ints, Ints]:
    """All grades, ascending; a key for each grade of each query, ascending; the first position of each key."""
    grades, code = np.unique(ideal.grade, return_inverse=True)
    # Grades descend within a query, so keys count down from the highest grade: they ascend with the positions.
    keys, first = np.unique(ideal.query * grades.size + (grades.size - 1 - code), return_index=True)
    return grades, keys, ideal.rank[first] - 1


def _packed(size: int, columns: Sequence[_Numbers]) -> bytes:
    """The columns in the smallest type that holds each, bytes of equal significance together, compressed."""
    body = b""
    for column in columns:
        small = column if column.dtype == np.float64 else column.astype(np.min_scalar_type(int(column.max(initial=0))))
        code = small.dtype.str.encode()
        body += _COLUMN.pack(code, small.size) + small.view(np.uint8).reshape(small.size, small.itemsize).T.tobytes()
    return _HEAD.pack(size) + zlib.compress(body, _LEVEL)


def _unpacked(packed: bytes, kinds: Collection[str]) -> tuple[int, list[_Numbers]]:
    """The number before the columns, and the columns, whose kinds must be one of `kinds`."""
    try:
        (size,) = _HEAD.unpack_from(packed)
        body = zlib.decompress(packed[_HEAD.size :])
        start, found = 0, ""
        columns: list[_Numbers] = []
        while start < len(body) and len(columns) < max(map(len, kinds)):
            code, length = _COLUMN.unpack_from(body, start)
            found += _CODES[code]
            kind, start = np.dtype(code.decode()), start + _COLUMN.size
            planes = np.frombuffer(body, np.uint8, length * kind.itemsize, start).reshape(kind.itemsize, length)
            column = np.ascontiguousarray(planes.T).reshape(-1).view(kind)
            columns.append(column if kind.kind == "f" else column.astype(np.int64))
            start += planes.size
    except (ValueError, TypeError, KeyError, struct.error, zlib.error) as error:
        raise DamagedError(str(error)) from error
    if found not in kinds or start < len(body):
        raise DamagedError("other columns")
    return size, columns
