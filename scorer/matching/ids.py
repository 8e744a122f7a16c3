"""Ids: those of a solution's queries and items, integer-coded; sets of ids, and lookups by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.formats.reading.arrow import coded, fingerprints, take, texts
from scorer.measures.arrays import Bools, Ints
from scorer.measures.matched import JudgedItems

UNKNOWN = -1
"""The number of a query or an item that the solution does not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdSet:
    """A set of ids, held as 64-bit fingerprints. pyarrow's `is_in` builds its table again at every call."""

    fingerprints: NDArray[np.uint64]
    """Ascending, each once."""
    shift: np.uint64
    """A fingerprint without this many low bits is its bucket."""
    start: Ints
    """[bucket + 1]: where in `fingerprints` each bucket begins, and the end of the last one."""

    @classmethod
    def of(cls, ids: pa.StringArray) -> IdSet:
        """The set of these ids."""
        sorted_ids = np.unique(fingerprints(ids))
        bits = max(1, sorted_ids.size.bit_length())
        shift = np.uint64(64 - bits)
        sizes = np.bincount((sorted_ids >> shift).astype(np.int64), minlength=1 << bits)
        return cls(sorted_ids, shift, np.append(0, np.cumsum(sizes)))

    def without(self, ids: pa.StringArray) -> Bools:
        """Which of the ids are not in the set. An id with the fingerprint of another one in the set is missed."""
        wanted = fingerprints(ids)
        bucket = (wanted >> self.shift).astype(np.int64)
        at, end = self.start[bucket], self.start[bucket + 1]
        absent = np.ones(wanted.size, dtype=bool)
        left = np.flatnonzero(at < end)
        while left.size:
            found = self.fingerprints[at[left]]
            absent[left[found == wanted[left]]] = False
            at[left] += 1
            left = left[(found < wanted[left]) & (at[left] < end[left])]
        return absent


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ids:
    """The ids of a solution's items, in Arrow. Items are numbered from 0 in order of first appearance."""

    items: pa.StringArray
    """[item]: ids, each once."""
    keys: Ints
    """[entry]: ascending; query number * len(items) + item number."""
    entry_of_key: Ints
    """[entry]: the index in the solution's `ideal` of that key's item."""
    item_of_entry: Ints
    """[entry of `ideal`]: the item's number."""
    fingerprints: NDArray[np.uint64]
    """[entry of `ideal`]: the item's."""

    def item_codes(self, items: pa.StringArray) -> Ints:
        """The number of each item, or UNKNOWN."""
        return codes(items, self.items)

    def entries(self, query: Ints, item: Ints) -> Ints:
        """The index in `ideal` of each pair of a query and an item, or UNKNOWN where the item is not judged."""
        found = np.full(query.size, UNKNOWN, dtype=np.int64)
        if not self.keys.size:
            return found
        known = np.flatnonzero((query >= 0) & (item >= 0))
        key = query[known] * len(self.items) + item[known]
        at = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
        match = self.keys[at] == key
        found[known[match]] = self.entry_of_key[at[match]]
        return found

    def names(self, entry: Ints) -> list[str]:
        """Return the id of the item of each entry of `ideal`."""
        found: list[str] = take(self.items, self.item_of_entry[entry]).to_pylist()
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lookup:
    """The ids of a solution as text, to look single ones up."""

    number: dict[str, int]
    """The number of each query by id, in order."""
    grades: Sequence[dict[str, float]]
    """[query]: the grade of each of its items by id."""
    first: Sequence[dict[float, int]]
    """[query]: the index in `ideal` of its first item with each grade."""

    @classmethod
    def of(cls, queries: Sequence[str], grades: Sequence[dict[str, float]], ideal: JudgedItems) -> Lookup:
        """Return the lookup of queries with these items."""
        first: list[dict[float, int]] = [{} for _ in queries]
        new = (ideal.query[1:] != ideal.query[:-1]) | (ideal.grade[1:] != ideal.grade[:-1])
        entry = np.flatnonzero(np.append(True, new)[: len(ideal)])
        for query, grade, at in zip(
            ideal.query[entry].tolist(), ideal.grade[entry].tolist(), entry.tolist(), strict=True
        ):
            first[query][grade] = at
        return cls(dict(zip(queries, range(len(queries)), strict=True)), grades, first)

    def ids(self) -> Ids:
        """Return the ids of the items in Arrow."""
        code, items = coded([texts(chain.from_iterable(self.grades))])
        query = np.repeat(np.arange(len(self.grades)), [*map(len, self.grades)])
        grade = np.array([*chain.from_iterable(listed.values() for listed in self.grades)], dtype=np.float64)
        item = code[np.lexsort((-grade, query))]
        key = query * len(items) + item
        by_key = np.argsort(key)
        return Ids(items, key[by_key], by_key, item, fingerprints(items)[item])


def codes(ids: pa.StringArray, known: pa.StringArray) -> Ints:
    """The number of each id in `known`, which has each once, or UNKNOWN."""
    code = coded([known, ids])[0][len(known) :]
    return np.where(code < len(known), code, UNKNOWN)
