"""What is kept of a ranking for the next one: the costly arrays of each row and of all pairs."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.paths import code_digest
from scorer.statistics.all_pairs import AllPairs, Change, LargestOfAll, LargestOfEach
from scorer.statistics.threads import blocks, in_threads

_KEY_FLOATS = 4
"""A key of 32 bytes takes the place of so many numbers."""

_AT_ONCE = 64
"""Rows whose arrays are loaded at a time in each thread."""

_COMPUTED_AT_ONCE = 256
"""Rows or pairs whose arrays are computed at a time: those of all rows of a first board take much memory."""

_TOGETHER = 512
"""Arrays with at most so many values are kept together in a table: one file is read faster than many."""

_MANY_ROWS = 1500
"""With so many rows, the largest statistics of each row are changed when they are read, not for the board, which needs
those of all pairs only: they would take longer than all else. Those of fewer rows are changed for the board, while
little else is in memory."""

_OTHERS = 3
"""How many times as many rows of a table are kept that another ranking or an earlier one had."""


class Arrays(Protocol):
    """Arrays by keys. What is stored may be gone at the next reading."""

    used: set[str]
    """The keys that were loaded or saved, or that otherwise must stay."""

    def load(self, key: str) -> Floats | None:
        """Return the array of a key, [value]; None if it is absent."""

    def save(self, key: str, *parts: Floats) -> None:
        """Store the array of a key: these parts, [value], one after the other."""


class MemoryArrays:
    """Arrays that are kept in memory."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._stored: dict[str, Floats] = {}

    def load(self, key: str) -> Floats | None:
        """Return the array of a key, [value]; None if it is absent."""
        return self._stored.get(key)

    def save(self, key: str, *parts: Floats) -> None:
        """Store the array of a key: these parts, [value], one after the other."""
        self._stored[key] = np.concatenate(parts)


@dataclass(frozen=True)
class Kept:
    """The arrays of the rows of a ranking."""

    arrays: Arrays
    ranking: tuple[object, ...]
    """What the arrays of all rows depend on: text and numbers."""
    rows: tuple[str, ...]
    """What the arrays of each row depend on besides: rows with the same text have the same scores."""

    def within(self, *parts: object) -> Kept:
        """The same rows, whose arrays also depend on these parts."""
        return replace(self, ranking=(*self.ranking, *parts))

    def of(self, rows: Sequence[int]) -> Kept:
        """Some of the rows, in this order."""
        return replace(self, rows=tuple(self.rows[row] for row in rows))

    def values(self, what: str, width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """Return the arrays called `what`, [row, value] with `width` values.

        `compute` returns those of some rows, given their positions, and is called if any are absent.
        """
        if width <= _TOGETHER:
            row_keys = [hashlib.sha256(row.encode()).digest() for row in self.rows]
            return self._table(self._key("rows", what, width), row_keys, width, compute)
        keys = self._keys(what, width)
        found = np.empty((len(keys), width))

        def load(block: slice) -> list[int]:
            """The places whose values are absent."""
            absent = []
            for place, key in enumerate(keys[block], block.start):
                stored = self.arrays.load(key)
                if stored is not None and stored.size == width:
                    found[place] = stored
                else:
                    absent.append(place)
            return absent

        absent = [*chain.from_iterable(in_threads(load, blocks(len(keys), _AT_ONCE)))]
        for block in blocks(len(absent), _COMPUTED_AT_ONCE):
            places = absent[block]
            found[places] = compute(np.array(places))
            for place in places:
                self.arrays.save(keys[place], found[place])
        return found

    def of_pairs(
        self, what: str, width: int, first: Ints, second: Ints, compute: Callable[[Ints, Ints], Floats]
    ) -> Floats:
        """Return the values of pairs of rows called `what`, [pair, value] with `width` values.

        `compute` returns those of some pairs, given the positions of their rows, and is called if any are absent.
        """
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        keys = [hashlib.sha256(f"{self.rows[one]} {self.rows[other]}".encode()).digest() for one, other in pairs]

        def computed(absent: Ints) -> Floats:
            return compute(first[absent], second[absent])

        return self._table(self._key("pairs", what, width), keys, width, computed)

    def _table(self, key: str, keys: Sequence[bytes], width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """[row, value]: the rows with these keys, of the table that is kept by `key`; computed where absent."""
        size = _KEY_FLOATS + width
        last = self.arrays.load(key)
        before = np.zeros((0, size)) if last is None or last.size % size else last.reshape(-1, size)
        place_of = {row.tobytes(): place for place, row in enumerate(before[:, :_KEY_FLOATS])}
        places = np.array([place_of.get(own, -1) for own in keys], dtype=np.int64)
        table = np.hstack(
            [np.frombuffer(b"".join(keys), dtype="<f8").reshape(-1, _KEY_FLOATS), np.zeros((len(keys), width))]
        )
        table[places >= 0] = before[places[places >= 0]]
        absent = np.flatnonzero(places < 0)
        if len(absent):
            for block in blocks(len(absent), _COMPUTED_AT_ONCE):
                table[absent[block], _KEY_FLOATS:] = compute(absent[block])
            present = set(keys)
            others = [place for own, place in place_of.items() if own not in present][: _OTHERS * len(keys)]
            self.arrays.save(key, np.vstack([table, before[others]]).ravel())
        return table[:, _KEY_FLOATS:]

    def all_pairs(self, what: str, width: int, scores: Floats, sums: Floats) -> AllPairs:
        """Return the largest statistics of the rows: those of the last ranking, changed.

        All scores, [row, query], are defined. `sums`, [row, flip], are the first of the values called `what`, which
        have this width.
        """
        own, flips = self._keys(what, width), sums.shape[1]

        @cache
        def of_each() -> LargestOfEach:
            return self._largest_of_each(own, scores, sums)

        if len(own) < _MANY_ROWS:
            each = of_each()
            return AllPairs(each.size, each.values.max(axis=0, initial=0.0), lambda: each.values)
        key = self._key("largest of all pairs", flips)
        last = _unpacked(self.arrays.load(key), flips)
        if last is not None and last.rows == own:
            of_all = LargestOfAll(last.size, last.values)
        else:
            found = last and LargestOfAll(last.size, last.values).changed(_change(own, last.rows), scores, sums)
            of_all = found or LargestOfAll.of(of_each(), sums)
            self.arrays.save(key, *_packed(own, of_all.size, of_all.values))
        self.arrays.used.add(self._key("largest of each", flips))  # for the next ranking
        return AllPairs(of_all.size, of_all.values[0], lambda: of_each().values)

    def _largest_of_each(self, own: Sequence[str], scores: Floats, sums: Floats) -> LargestOfEach:
        """The largest statistics of each of the rows with these keys: those of an earlier ranking, changed."""
        key, flips = self._key("largest of each", sums.shape[1]), sums.shape[1]
        last = _unpacked(self.arrays.load(key), flips)
        if last is not None and last.rows == own:
            return LargestOfEach(last.size, last.values)
        found = None
        if last is not None:
            change, before = _change(own, last.rows), LargestOfEach(last.size, last.values)
            sums_of_gone = [self.arrays.load(last.rows[row]) for row in change.gone.tolist()]
            if all(stored is not None and stored.size >= flips for stored in sums_of_gone):
                gone = np.array([stored[:flips] for stored in sums_of_gone if stored is not None]).reshape(-1, flips)
                found = before.changed(change, gone, scores, sums)
        found = found or LargestOfEach.of(scores, sums)
        self.arrays.save(key, *_packed(own, found.size, found.values))
        return found

    def _keys(self, what: str, width: int) -> list[str]:
        return [self._key(what, width, row) for row in self.rows]

    def _key(self, *parts: object) -> str:
        text = json.dumps([code_digest(), self.ranking, parts], ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def number_of(queries: Ints) -> float:
    """A number for a set of queries that no other set is likely to have."""
    return float(int.from_bytes(hashlib.sha256(queries.astype("<i8").tobytes()).digest()[:6], "little"))


def _change(keys: Sequence[str], before: Sequence[str]) -> Change:
    """How rows with these keys differ from those before. A key that is there several times has as many positions."""
    free: dict[str, list[int]] = defaultdict(list)
    for place, key in reversed(list(enumerate(before))):
        free[key].append(place)
    stay = [free[key].pop() if free[key] else -1 for key in keys]
    gone = sorted(place for places in free.values() for place in places)
    return Change(np.array(stay, dtype=np.int64), np.array(gone, dtype=np.int64))


class _OfPairs(NamedTuple):
    """What is kept of the pairs of rows."""

    rows: list[str]
    """The keys of the rows."""
    size: Floats
    """[row, row]"""
    values: Floats
    """[line, flip]"""


def _packed(rows: Sequence[str], size: Floats, values: Floats) -> tuple[Floats, ...]:
    """The parts of an array for `_unpacked`: the number of rows, their keys, the sizes, and the values."""
    keys = np.frombuffer(bytes.fromhex("".join(rows)), dtype=np.float64)
    return np.array([float(len(rows))]), keys, size.ravel(), values.ravel()


def _unpacked(array: Floats | None, flips: int) -> _OfPairs | None:
    """What `_packed` has packed; None without it."""
    if array is None or not array.size:
        return None
    count = int(array[0])
    ends = np.cumsum([1, count * _KEY_FLOATS, count * count]).tolist()
    if array.size < ends[-1] or (array.size - ends[-1]) % flips:
        return None
    keys = array[ends[0] : ends[1]].tobytes().hex()
    rows = [keys[start : start + 64] for start in range(0, len(keys), 64)]
    size = array[ends[1] : ends[2]].copy()  # it is needed for longer than the values, which are most of the file
    return _OfPairs(rows, size.reshape(count, count), array[ends[2] :].reshape(-1, flips))
