"""What is kept of a ranking for the next one: the costly arrays of each row and of all pairs."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.paths import code_digest
from scorer.statistics.all_pairs import AllPairs
from scorer.statistics.threads import blocks, in_threads

_KEY_FLOATS = 4
"""A key of 32 bytes takes the place of so many numbers."""

_AT_ONCE = 64
"""Rows whose arrays are loaded at a time in each thread."""

_COMPUTED_AT_ONCE = 256
"""Rows or pairs whose arrays are computed at a time: those of all rows of a first board take much memory."""

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

    def few(self, what: str, width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """Return the arrays called `what`, as `values`; for arrays that are so small that all are kept together."""
        keys = [hashlib.sha256(row.encode()).digest() for row in self.rows]
        return self._table(self._key("rows", what, width), keys, width, compute)

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
        flips = sums.shape[1]
        own, key = self._keys(what, width), self._key("all pairs", flips)
        last = _unpacked(self.arrays.load(key), flips)
        if last is not None and last[0] == own:
            return last[1]
        pairs = None if last is None else self._changed(*last, own, scores, sums)
        del last  # it takes as much memory as the result
        if pairs is None:
            pairs = AllPairs.of(scores, sums)
        self.arrays.save(key, *_packed(own, pairs))
        return pairs

    def _changed(
        self, before: Sequence[str], pairs: AllPairs, own: Sequence[str], scores: Floats, sums: Floats
    ) -> AllPairs | None:
        """The pairs of the rows, from those of rows before; None if the sums of one that is gone are absent."""
        stay, gone = _positions(own, before)
        sums_of_gone = np.empty((len(gone), sums.shape[1]))
        for place, row in enumerate(gone):
            stored = self.arrays.load(before[row])
            if stored is None or stored.size < sums.shape[1]:
                return None
            sums_of_gone[place] = stored[: sums.shape[1]]
        return pairs.changed(np.array(stay, dtype=np.int64), np.array(gone, dtype=np.int64), sums_of_gone, scores, sums)

    def _keys(self, what: str, width: int) -> list[str]:
        return [self._key(what, width, row) for row in self.rows]

    def _key(self, *parts: object) -> str:
        text = json.dumps([code_digest(), self.ranking, parts], ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def number_of(queries: Ints) -> float:
    """A number for a set of queries that no other set is likely to have."""
    return float(int.from_bytes(hashlib.sha256(queries.astype("<i8").tobytes()).digest()[:6], "little"))


def _positions(keys: Sequence[str], before: Sequence[str]) -> tuple[list[int], list[int]]:
    """The position of each key among those before, or -1; and the positions of those that are gone.

    A key that is there several times has as many positions.
    """
    free: dict[str, list[int]] = defaultdict(list)
    for place, key in reversed(list(enumerate(before))):
        free[key].append(place)
    stay = [free[key].pop() if free[key] else -1 for key in keys]
    return stay, sorted(place for places in free.values() for place in places)


def _packed(keys: Sequence[str], pairs: AllPairs) -> tuple[Floats, ...]:
    """The parts of an array of pairs: the number of rows, their keys, the sizes, and the largest statistics."""
    of_keys = np.frombuffer(bytes.fromhex("".join(keys)), dtype=np.float64)
    return np.array([float(len(keys))]), of_keys, pairs.size.ravel(), pairs.largest.ravel()


def _unpacked(values: Floats | None, flips: int) -> tuple[list[str], AllPairs] | None:
    """The keys and the pairs; None without them."""
    if values is None or not values.size:
        return None
    count = int(values[0])
    ends = np.cumsum([1, count * _KEY_FLOATS, count * count, count * flips]).tolist()
    if values.size != ends[-1]:
        return None
    of_keys = values[ends[0] : ends[1]].tobytes().hex()
    keys = [of_keys[start : start + 64] for start in range(0, len(of_keys), 64)]
    size, largest = values[ends[1] : ends[2]], values[ends[2] :]
    return keys, AllPairs(size.reshape(count, count), largest.reshape(count, flips))
