"""Lists: a part of a submission as ranked lists, integer-coded, and where in them a solution's items stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scorer.errors import Findings
from scorer.formats.reading.arrow import booleans, fingerprints, integers, joined, take
from scorer.formats.reading.batches import Ranked
from scorer.matching.solution import NOWHERE, Solution, coded
from scorer.measures.arrays import Bools, Floats, Ints, ranges
from scorer.measures.matched import Tied
from scorer.options import Ties
from scorer.wording import quoted

BY_GRADE: tuple[Ties, ...] = ("expected", "best", "worst")
"""The rules that need to know the tie groups, and not the names or the lines of their items."""

STRETCH = 1024
"""So many items, at least, are sorted at a time."""

ALL_BITS = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class FoundItems:
    """A solution's items where they stand in the lists."""

    query: Ints
    """[hit]: the query's number in the solution."""
    rank: Ints
    """[hit]: from 1."""
    entry: Ints
    """[hit]: the item's place in the solution's ideal."""
    tied: Tied | None = None
    """[hit]: its tie group, if that is asked for."""

    def where(self, kept: Bools) -> FoundItems:
        """The hits for which `kept` is true."""
        tied = None if self.tied is None else self.tied.where(kept)
        return FoundItems(self.query[kept], self.rank[kept], self.entry[kept], tied)


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Whole ranked lists. Queries are numbered in the order of their first appearance, items stand as in the file."""

    queries: pa.StringArray
    """[list]: ids."""
    line: Ints
    """[row]: the number of its line."""
    query_of_row: Ints
    """[row]: its list."""
    row: Ints
    """[item]: the row that it stands in."""
    query: Ints
    """[item]: the list that it stands in."""
    items: pa.StringArray
    """[item]: ids."""
    run_score: Floats | None
    """[item]: the higher, the earlier in its list; None: as listed."""
    by_rank: bool
    """Are the run scores ranks in the file, negated?"""
    order: Ints
    """[place]: the item, list after list by falling run score; equal ones as in the file."""
    start: Ints
    """[list + 1]: the place at which each begins, and at which the last one ends."""

    @classmethod
    def of(cls, batches: Sequence[Ranked]) -> RankedLists:
        """The lists that the batches hold; rows of one query may lie apart."""
        query_of_row, queries = coded(batch.query for batch in batches)
        first_row = np.cumsum([0, *(len(batch.query) for batch in batches)])
        row = _together([batch.row_of_item + first for batch, first in zip(batches, first_row, strict=False)])
        scores = [-batch.rank.astype(float) if batch.rank is not None else batch.run_score for batch in batches]
        stated = [score for score in scores if score is not None]
        run_score = np.concatenate(stated) if stated else None
        query = query_of_row[row]
        return cls(
            queries=queries,
            line=_together([batch.line for batch in batches]),
            query_of_row=query_of_row,
            row=row,
            query=query,
            items=joined(batch.item for batch in batches),
            run_score=run_score,
            by_rank=any(batch.rank is not None for batch in batches),
            order=_order(query, run_score),
            start=np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(queries)))]),
        )

    @property
    def length(self) -> Ints:
        """[list]: how many items it has, repeated ones too."""
        return np.diff(self.start)

    def first_rows(self) -> Ints:
        """[list]: the row in which it appears first."""
        first = np.full(len(self.queries), self.query_of_row.size, dtype=np.int64)
        np.minimum.at(first, self.query_of_row, np.arange(self.query_of_row.size))
        return first

    def told(self, item: int) -> tuple[str, str]:
        """An item and its query, as messages name them."""
        return quoted(self.items[item].as_py()), quoted(self.queries[int(self.query[item])].as_py())

    def places(self) -> tuple[Ints, Ints]:
        """[place]: its list, and its rank there, from 1."""
        query = self.query[self.order]
        return query, np.arange(self.order.size) - self.start[query] + 1

    def equals(self) -> Ints:
        """[group]: the places at which items of equal run score in one list begin, one group after the other."""
        query = self.query[self.order]
        new = query[1:] != query[:-1]
        if self.run_score is None:
            return np.arange(query.size)
        score = self.run_score[self.order]
        return np.concatenate([[0], np.flatnonzero(new | (score[1:] != score[:-1])) + 1])[: query.size]

    def repeated_ranks(self, problems: Findings) -> None:
        """Report ranks that the file gives to two items of a list."""
        if not self.by_rank or self.run_score is None:
            return
        first = np.zeros(self.order.size, dtype=bool)
        first[self.equals()] = True
        again = np.sort(self.order[~first])
        score = self.run_score
        problems.add_each(
            self.line[self.row[again]],
            lambda at: (
                f"rank {-score[again[at]]:.0f} stands again for query {self.told(again[at])[1]}; "
                "each rank may stand once"
            ),
        )

    def found(
        self,
        solution: Solution,
        number: Ints,
        list_length: int | None,
        ties: Ties,
        notes: Findings,
        *,
        with_groups: bool = False,
    ) -> tuple[FoundItems, int]:
        """Where the solution's items stand, and how many items stand again in their list, which is noted.

        `number` is each list's query in the solution. An item that stands again is found at its first place alone.
        Under a rule that orders by grade the tie groups are found too, and ranks are as listed; so they are with
        `with_groups`, whatever the rule.
        """
        with_groups = with_groups or ties in BY_GRADE
        quick = self._found_by_fingerprint(solution, number, ties, with_groups)
        if quick is None:
            return self._found_by_name(solution, number, list_length, ties, notes, with_groups)
        return quick if list_length is None else quick.where(_within(quick.rank, quick.tied, list_length)), 0

    def _found_by_fingerprint(
        self, solution: Solution, number: Ints, ties: Ties, with_groups: bool
    ) -> FoundItems | None:
        """As `found`, for lists without repetition; None where fingerprints cannot tell that they are.

        Every item becomes a number: its list in the high bits, then a hash, then its rank in the list. Sorted, equal
        hashes of a list lie side by side, and what the solution has for its query is looked up among them. No two alike
        means no item twice; what is looked up is compared by its text in the end. So nothing is left to chance.
        """
        list_of_place, rank = self.places()
        bits = np.uint64(max(1, int(self.length.max(initial=0)).bit_length()))
        keys = self._keys(list_of_place, fingerprints(self.items)[self.order], bits) | rank.astype(np.uint64)
        for stretch in self._stretches():
            keys[stretch].sort()
        hashes = keys >> bits
        if (hashes[1:] == hashes[:-1]).any():
            return None
        known = np.flatnonzero(number != NOWHERE)
        entry, which = ranges(solution.first_entry[number[known]], solution.first_entry[number[known] + 1])
        wanted = self._keys(known[which], solution.fingerprints[entry], bits) >> bits
        at = np.minimum(np.searchsorted(hashes, wanted), max(hashes.size - 1, 0))
        hit = hashes[at] == wanted if hashes.size else np.zeros(wanted.size, dtype=bool)
        entry = entry[hit]
        place = self.start[known[which[hit]]] + (keys[at[hit]] & ~(ALL_BITS << bits)).astype(np.int64) - 1
        item = self.order[place]
        names = take(solution.items, solution.item_of_entry[entry])
        if not booleans(pc.equal(take(self.items, item), names)).all():
            return None
        tied = self._tied(place) if with_groups else None
        return FoundItems(solution.ideal.query[entry], self._rank(item, place, ties), entry, tied)

    def _keys(self, of_list: Ints, fingerprint: NDArray[np.uint64], bits: np.uint64) -> NDArray[np.uint64]:
        """The numbers of a list's items, with the low `bits` cleared for their ranks."""
        list_bits = np.uint64(max(1, len(self.queries).bit_length()))
        return (of_list.astype(np.uint64) << (np.uint64(64) - list_bits)) | (fingerprint >> list_bits >> bits << bits)

    def _stretches(self) -> Iterator[slice]:
        """Some lists at a time: to sort few items often is faster than many at once, but not a list of ten alone."""
        begin = self.start[np.unique(np.searchsorted(self.start, np.arange(0, self.order.size, STRETCH)))]
        yield from map(slice, begin, np.append(begin[1:], self.order.size))

    def _tied(self, place: Ints) -> Tied:
        """The tie groups of the items at these places."""
        equals = np.append(self.equals(), self.order.size)
        group = np.searchsorted(equals, place, side="right") - 1
        return Tied(equals[group] - self.start[self.query[self.order[place]]], np.diff(equals)[group])

    def _rank(self, item: Ints, place: Ints, ties: Ties) -> Ints:
        """The rank of these items, of which each stands once in its list, at these places."""
        rank = place - self.start[self.query[item]] + 1
        if ties != "trec" or self.run_score is None:
            return rank
        equals = np.append(self.equals(), self.order.size)
        group = np.searchsorted(equals, place, side="right") - 1
        tied = np.flatnonzero(np.diff(equals)[group] > 1)
        if not tied.size:
            return rank
        # Only groups that hold one of the items are put in order.
        groups, which = np.unique(group[tied], return_inverse=True)
        places, group_of_place = ranges(equals[groups], equals[groups + 1])
        by_name = np.lexsort((-_name_order(take(self.items, self.order[places])), group_of_place))
        moved_to = np.empty_like(places)
        moved_to[by_name] = places
        first_of_group = np.searchsorted(group_of_place, np.arange(groups.size))
        rank[tied] += moved_to[first_of_group[which] + place[tied] - equals[groups][which]] - place[tied]
        return rank

    def _found_by_name(
        self,
        solution: Solution,
        number: Ints,
        list_length: int | None,
        ties: Ties,
        notes: Findings,
        with_groups: bool,
    ) -> tuple[FoundItems, int]:
        """As `found`, for any lists, by the ids themselves."""
        code, names = coded([self.items])
        order = self.order
        if ties == "trec" and self.run_score is not None:
            # Within a list the order by score stays; lexsort is stable, and its last key decides first.
            order = np.lexsort((-_name_order(names)[code], -self.run_score, self.query))
        query, rank = self.places()
        tied = self._tied(np.arange(order.size)) if with_groups else None
        kept = number[query] != NOWHERE
        if list_length is not None:
            kept &= _within(rank, tied, list_length)
        order, query, rank = order[kept], query[kept], rank[kept]
        first = self._first_places(order, code, len(names), rank, notes)
        entry = solution.entries(number[query], solution.item_codes(names)[code[order]])
        hit = first & (entry != NOWHERE)
        tied = None if tied is None else tied.where(kept).where(hit)
        return FoundItems(number[query[hit]], rank[hit], entry[hit], tied), int((~first).sum())

    def _first_places(self, order: Ints, code: Ints, names: int, rank: Ints, notes: Findings) -> Bools:
        """Which of the ranked items stand in their list for the first time; the others are reported."""
        key = self.query[order] * names + code[order]
        by_key = np.argsort(key, kind="stable")
        start = np.append(True, key[by_key][1:] != key[by_key][:-1])[: key.size]
        first = np.empty(key.size, dtype=bool)
        first[by_key] = start
        places = np.flatnonzero(start)
        times = np.diff(places, append=key.size)
        again = places[times > 1]
        # Each repeated item once, at the line where it stands again first.
        again = again[np.argsort(order[by_key[again + 1]])]
        times = times[np.searchsorted(places, again)]

        def text(at: int) -> str:
            item, query = self.told(order[by_key[again[at]]])
            often = "twice" if times[at] == 2 else f"{times[at]:,} times"
            return (
                f"item {item} stands {often} for query {query} (first at place {rank[by_key[again[at]]]}); "
                "each item may stand once"
            )

        notes.add_each(self.line[self.row[order[by_key[again + 1]]]], text)
        return first


def _together(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _within(rank: Ints, tied: Tied | None, list_length: int) -> Bools:
    """Which items stand, or in some order of their tie group would stand, in the places that count."""
    return np.asarray((rank if tied is None else tied.before + 1) <= list_length)


def _order(query: Ints, run_score: Floats | None) -> Ints:
    """The items list after list, by falling run score; files that are in this order already are not sorted."""
    same, later = query[1:] == query[:-1], query[1:] > query[:-1]
    if run_score is None:
        return np.arange(query.size) if (same | later).all() else np.argsort(query, kind="stable")
    if (later | (same & (run_score[1:] <= run_score[:-1]))).all():
        return np.arange(query.size)
    return np.lexsort((-run_score, query))


def _name_order(names: pa.StringArray) -> Ints:
    """[name]: its place among the names in the order of their bytes; equal names have different places."""
    ascending = integers(pc.sort_indices(names))
    order = np.empty_like(ascending)
    order[ascending] = np.arange(ascending.size)
    return order
