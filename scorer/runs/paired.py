"""PairedLists: the items that two runs share, with their ranks in both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints
from scorer.runs.aligned import AlignedRuns, stable_order


@dataclass(frozen=True, slots=True, eq=False)
class PairedLists:
    """The lists of two runs for some queries. All arrays [item] have the items that both lists of a query have."""

    query: Ints
    """[item]: its query; ascending."""
    first: Ints
    """[item]: its rank in the list of the first run, from 1."""
    second: Ints
    """[item]: its rank in the list of the second run, from 1."""
    first_length: Ints
    """[query]: the number of items in the list of the first run."""
    second_length: Ints
    """[query]"""

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.first_length.size

    @property
    def in_both(self) -> Bools:
        """[query]: whether both lists have items."""
        return np.asarray((self.first_length > 0) & (self.second_length > 0))

    @property
    def shorter(self) -> Ints:
        """[query]: the length of the shorter list."""
        return np.minimum(self.first_length, self.second_length)

    @property
    def longer(self) -> Ints:
        """[query]: the length of the longer list."""
        return np.maximum(self.first_length, self.second_length)

    @property
    def depth(self) -> Ints:
        """[item]: the depth from which on both lists have the item."""
        return np.maximum(self.first, self.second)

    def top(self, k: int | None) -> PairedLists:
        """Return the first `k` items of each list; all of them if `k` is None."""
        if k is None:
            return self
        kept = self.depth <= k
        return PairedLists(
            self.query[kept],
            self.first[kept],
            self.second[kept],
            np.minimum(self.first_length, k),
            np.minimum(self.second_length, k),
        )

    def total(self, values: Floats | None = None) -> Floats:
        """[query]: the sum of the values [item]; None counts the items."""
        return np.asarray(np.bincount(self.query, values, minlength=self.queries), dtype=np.float64)

    def reversed(self) -> PairedLists:
        """Return the same lists with the second run as the first."""
        return PairedLists(self.query, self.second, self.first, self.second_length, self.first_length)


def pairs_of(aligned: AlignedRuns) -> Iterator[PairedLists]:
    """Return the lists of all pairs of runs: 1 and 2, 1 and 3, ..., 2 and 3, ..."""
    by_run = np.argsort(aligned.run, kind="stable")
    ends = np.cumsum(np.bincount(aligned.run, minlength=aligned.runs))
    entries = np.split(by_run, ends[:-1])
    length = aligned.length.reshape(len(aligned.queries), aligned.runs)
    rank = np.zeros((2, aligned.query.size), dtype=np.int64)
    for first, second in combinations(range(aligned.runs), 2):
        for of_run, entry in zip(rank, (entries[first], entries[second]), strict=True):
            of_run[:] = 0
            of_run[aligned.candidate[entry]] = aligned.rank[entry]
        shared = np.flatnonzero((rank > 0).all(axis=0))
        yield PairedLists(aligned.query[shared], rank[0, shared], rank[1, shared], length[:, first], length[:, second])


def places(query: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """Return the order of items by query and rank, and the place of each item in its query, from 0.

    Both are [item]: queries ascend, and the items of a query have different ranks.
    """
    order = stable_order(query * (rank.max(initial=0) + 1) + rank)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return order, place - np.searchsorted(query, query)


def lower_before(query: Ints, value: Ints) -> Ints:
    """Count, for each entry, the earlier entries of its query that have a lower value.

    Queries ascend; the values of a query are 0, 1, 2, ... in any order. The entries of a query are split by the bits of
    their values, the highest bit first, each half in the given order: where two values differ first, the lower one is
    in the half with 0. This takes as many steps as values have bits.
    """
    start = np.searchsorted(query, query)
    count = np.zeros_like(value)
    order = np.arange(value.size)
    for bit in reversed(range(int(value.max(initial=0)).bit_length())):
        split, begin = value[order], start[order]
        group = begin + ((split >> bit + 1) << bit + 1)
        is_low = (split >> bit & 1) == 0
        before = np.cumsum(is_low) - is_low
        low_before = before - before[group]
        count[order] += np.where(is_low, 0, low_before)
        high_before = np.arange(value.size) - group - low_before
        moved = np.empty_like(order)
        moved[begin + ((split >> bit) << bit) + np.where(is_low, low_before, high_before)] = order
        order = moved
    return count
