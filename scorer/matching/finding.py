"""find(): the ranks of a solution's items in ranked lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Findings
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import MOST_ROUNDS, ODD, booleans, coded, fingerprints, id_order, take
from scorer.matching.ids import UNKNOWN
from scorer.matching.ranked_lists import RankedLists, within
from scorer.matching.solution import Solution
from scorer.measures.arrays import Bools, Ints, distinct, ranges
from scorer.measures.matched import Tied
from scorer.options import Ties

BY_GRADE: tuple[Ties, ...] = ("expected", "best", "worst")
"""The rules for ties that need the tie groups, but neither the ids nor the lines of the items."""

AT_ONCE = 1 << 17
"""The least number of items that are looked up together."""

ABSENT = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FoundItems:
    """The judged items that were found in ranked lists."""

    query: Ints
    """[found item]: the query's number in the solution."""
    rank: Ints
    """[found item]: from 1."""
    entry: Ints
    """[found item]: its index in the solution's `ideal`."""
    tied: Tied | None = None
    """[found item]: its tie group, if requested."""

    def where(self, kept: Bools) -> FoundItems:
        """The found items for which `kept` is true."""
        tied = None if self.tied is None else self.tied.where(kept)
        return FoundItems(self.query[kept], self.rank[kept], self.entry[kept], tied)


def find(
    lists: RankedLists,
    solution: Solution,
    number: Ints,
    list_length: int | None,
    ties: Ties,
    notes: Findings,
    *,
    with_groups: bool = False,
) -> tuple[FoundItems, int]:
    """Return the judged items that are in the lists, a repeated one at its first rank, and the number of repetitions.

    `number` is [list]: its query's number in the solution, or `UNKNOWN`. Under a rule for ties that orders by grade,
    ranks are as listed, and the tie groups are found; `with_groups` finds them under every rule. Each repeated item is
    noted.
    """
    with_groups = with_groups or ties in BY_GRADE
    found = _by_fingerprint(lists, solution, number, ties, with_groups)
    if found is None:
        return _by_id(lists, solution, number, list_length, ties, notes, with_groups)
    return found if list_length is None else found.where(within(found.rank, found.tied, list_length)), 0


def _by_fingerprint(
    lists: RankedLists, solution: Solution, number: Ints, ties: Ties, with_groups: bool
) -> FoundItems | None:
    """As `find`, for lists without repeated items; None where the fingerprints do not rule them out.

    Each item becomes one integer: its list in the high bits, then a hash of its id. The solution's items are looked up
    among them. If they all differ, no item is repeated. The ids of all matches are compared in the end, so the result
    is exact.
    """
    known = np.flatnonzero(number != UNKNOWN)
    entry, which = ranges(solution.first_entry[number[known]], solution.first_entry[number[known] + 1])
    list_of_entry = known[which]
    keys = _keys(lists, np.repeat(np.arange(lists.length.size), lists.length), fingerprints(lists.items)[lists.order])
    wanted = _keys(lists, list_of_entry, solution.ids.fingerprints[entry])
    found: list[Ints] = []
    for first, last in _stretches(lists):
        begin = int(lists.start[first])
        of_stretch = slice(*np.searchsorted(list_of_entry, (first, last)))
        index = indices_of(wanted[of_stretch], keys[begin : lists.start[last]])
        if index is None:
            return None
        found.append(np.where(index == ABSENT, ABSENT, begin + index))
    position = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    is_found = np.flatnonzero(position != ABSENT)
    entry, position = entry[is_found], position[is_found]
    item = lists.order[position]
    ids = take(solution.items, solution.ids.item_of_entry[entry])
    if not booleans(pc.equal(take(lists.items, item), ids)).all():
        return None
    tied = lists.tie_groups(position) if with_groups else None
    return FoundItems(solution.ideal.query[entry], lists.rank_of(item, position, ties), entry, tied)


def _keys(lists: RankedLists, of_list: Ints, fingerprint: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The integers of `_by_fingerprint`."""
    bits = np.uint64(max(1, len(lists.queries).bit_length()))
    return (of_list.astype(np.uint64) << (np.uint64(64) - bits)) | (fingerprint >> bits)


def _stretches(lists: RankedLists) -> Iterator[tuple[int, int]]:
    """The first list of each stretch of lists, and that of the next: small tables fit the processor's cache."""
    edges = np.arange(0, lists.order.size, AT_ONCE)
    first = distinct(np.searchsorted(lists.start, edges)).tolist()
    yield from pairwise([*first, lists.length.size])


def indices_of(wanted: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Ints | None:
    """Return the index in `keys` of each wanted key, or ABSENT.

    None if a key repeats, or if the keys collide too often. All keys are written into a table at once, at a hash of
    each. Of the keys with the same hash, one remains; the others, and the wanted keys that were not found, are left for
    another table with another hash.
    """
    found = np.full(wanted.size, ABSENT)
    sought, left = np.arange(wanted.size), np.arange(keys.size)
    for _ in range(MOST_ROUNDS):
        if not left.size:
            return found
        wanted, keys = wanted * ODD, keys * ODD
        bits = left.size.bit_length() + 1
        slot, shift = np.arange(left.size, dtype=np.int32), np.uint64(64 - bits)
        hashes = (keys >> shift).astype(np.int64)
        table = np.zeros(1 << bits, dtype=np.int32)
        table[hashes] = slot
        winner = table[hashes]
        lost = np.flatnonzero(winner != slot)
        if (keys[winner[lost]] == keys[lost]).any():
            return None
        at = table[(wanted >> shift).astype(np.int64)]
        hit = keys[at] == wanted
        found[sought[hit]] = left[at[hit]]
        missed = np.flatnonzero(~hit)
        sought, wanted, left, keys = sought[missed], wanted[missed], left[lost], keys[lost]
    return None


def _by_id(
    lists: RankedLists,
    solution: Solution,
    number: Ints,
    list_length: int | None,
    ties: Ties,
    notes: Findings,
    with_groups: bool,
) -> tuple[FoundItems, int]:
    """As `find`, for any lists, by comparing ids."""
    code, ids = coded([lists.items])
    order = lists.order
    if ties == "trec" and lists.run_score is not None:
        order = np.lexsort((-id_order(ids)[code], -lists.run_score, lists.query))
    query, rank = lists.ranks()
    tied = lists.tie_groups(np.arange(order.size)) if with_groups else None
    kept = number[query] != UNKNOWN
    if list_length is not None:
        kept &= within(rank, tied, list_length)
    order, query, rank = order[kept], query[kept], rank[kept]
    first = _first_occurrences(lists, order, code, len(ids), rank, notes)
    entry = solution.ids.entries(number[query], solution.ids.item_codes(ids)[code[order]])
    found = first & (entry != UNKNOWN)
    tied = None if tied is None else tied.where(kept).where(found)
    return FoundItems(number[query[found]], rank[found], entry[found], tied), int((~first).sum())


def _first_occurrences(lists: RankedLists, order: Ints, code: Ints, ids: int, rank: Ints, notes: Findings) -> Bools:
    """Which of the ranked items are the first of their id in their list. The other ones are reported."""
    key = lists.query[order] * ids + code[order]
    by_key = np.argsort(key, kind="stable")
    start = np.append(True, key[by_key][1:] != key[by_key][:-1])[: key.size]
    first = np.empty(key.size, dtype=bool)
    first[by_key] = start
    starts = np.flatnonzero(start)
    times = np.diff(starts, append=key.size)
    repeated = starts[times > 1]
    # One note for each repeated item, at the line of its second occurrence.
    repeated = repeated[np.argsort(order[by_key[repeated + 1]])]
    times = times[np.searchsorted(starts, repeated)]

    def text(at: int) -> str:
        item, first_rank = order[by_key[repeated[at]]], rank[by_key[repeated[at]]]
        often = "twice" if times[at] == 2 else f"{times[at]:,} times"
        return (
            f"item {lists.item_name(item)} is listed {often} for query {lists.query_name(item)} "
            f"(first at rank {first_rank}); list each item once"
        )

    notes.add_each(lists.line_of(order[by_key[repeated + 1]]), text)
    return first
