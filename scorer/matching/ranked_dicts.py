"""RankedDicts: the ranked lists of a submission that is a dict of dicts, matched without a copy of its ids.

Only the judged items need ranks. The judged items of a query are looked up in its list, or the items of the list among
the judged ones if these are many more. The rank of an item follows from the number of higher run scores in its list.
The result is that of `RankedLists` and `find`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.formats.reading.arrow import take, texts
from scorer.matching.finding import BY_GRADE, FoundItems
from scorer.matching.solution import UNKNOWN, Solution
from scorer.measures.arrays import Bools, Floats, Ints, distinct
from scorer.measures.matched import Tied
from scorer.options import Ties

NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
"""The types of run scores that are read here."""

CHEAPER = 4
"""A judged item is looked up in a list in about a quarter of the time of the reverse: judged items are adjacent in
memory."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankedDicts:
    """Whole ranked lists: dicts from the id of an item to its run score."""

    solution: Solution
    queries: pa.StringArray
    """[list]: the id of its query."""
    number: Ints
    """[list]: its query's number in the solution, or UNKNOWN."""
    lists: tuple[dict[str, Any], ...]
    length: Ints
    """[list]: the number of its items."""
    run_score: Floats
    """[item]: in the order of the dicts."""
    entry: Ints
    """[found item]: its index in the solution's `ideal`; ascending in each list."""
    found_score: Floats
    """[found item]: its run score."""

    @classmethod
    def of(cls, source: object, solution: Solution) -> RankedDicts | None:
        """Return the lists of query -> item -> run score.

        None for everything that the general reader has to convert or to report: lists without run scores, ids that are
        not plain text, run scores that are not finite numbers.
        """
        if not isinstance(source, Mapping) or not source:
            return None
        names, lists = tuple(source), tuple(source.values())
        if {*map(type, lists)} != {dict} or not _is_plain(names):
            return None
        queries = texts(names)
        number = solution.query_codes(queries)
        entries_by_id, first = solution.entries_by_id, solution.first_entry.tolist()
        every = np.arange(first[-1])
        run_score, found_score = array("d"), array("d")
        entries = [every[:0]]
        # Each dict is read once, while the processor's cache holds it.
        for listed, query in zip(lists, number.tolist(), strict=True):
            values = listed.values()
            if not _is_plain(listed) or not (_are_all(float, values) or NUMBERS.issuperset(map(type, values))):
                return None
            try:
                run_score.fromlist([*values])
            except OverflowError:
                return None
            if query == UNKNOWN:
                continue
            judged = entries_by_id[query]
            if len(judged) < CHEAPER * len(listed):
                entries.append(every[first[query] : first[query + 1]])
                found_score.fromlist([*map(listed.get, judged, repeat(math.nan))])
            else:
                both = sorted(filter(judged.__contains__, listed), key=judged.__getitem__)
                entries.append(np.fromiter(map(judged.__getitem__, both), dtype=np.int64, count=len(both)))
                found_score.fromlist([*map(listed.__getitem__, both)])
        scores, of_entry = np.asarray(run_score), np.asarray(found_score)
        if not np.isfinite(scores).all():
            return None
        is_found = ~np.isnan(of_entry)
        return cls(
            solution=solution,
            queries=queries,
            number=number,
            lists=lists,
            length=np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)),
            run_score=scores,
            entry=np.concatenate(entries)[is_found],
            found_score=of_entry[is_found],
        )

    @property
    def line(self) -> Ints:
        """[list]: its place in the dict, from 1."""
        return np.arange(1, self.length.size + 1)

    def items(self, which: Bools) -> tuple[pa.StringArray, Ints]:
        """Return the ids of the items in the lists for which `which` is true, and the line of each."""
        chosen = np.flatnonzero(which)
        ids = texts(chain.from_iterable(self.lists[place] for place in chosen.tolist()))
        return ids, np.repeat(self.line[chosen], self.length[chosen])

    def find(self, ties: Ties, *, with_groups: bool) -> FoundItems:
        """Find the solution's items in the lists; the parameters and the result are those of `finding.find`."""
        query = self.solution.ideal.query[self.entry]
        place_of_query = np.zeros(len(self.solution.queries), dtype=np.int64)
        known = np.flatnonzero(self.number != UNKNOWN)
        place_of_query[self.number[known]] = known
        place = place_of_query[query]
        cost, start = self._rising_cost(), self._start
        begin = _first_at(cost, -self.found_score, start[place], self.length[place])
        # Whether an item is the last one of its tie group.
        last = np.append(cost[1:] != cost[:-1], True)
        last[start + self.length - 1] = True
        in_group = np.flatnonzero(~last[begin])
        lasts = np.flatnonzero(last)
        size = np.ones_like(begin)
        size[in_group] += lasts[np.searchsorted(lasts, begin[in_group])] - begin[in_group]
        tied = Tied(begin - start[place], size)
        rank = tied.before + 1
        if ties not in BY_GRADE:
            rank[in_group] += self._earlier_in_group(in_group, place, tied, ties)
        with_groups = with_groups or ties in BY_GRADE
        return FoundItems(query, rank, self.entry, tied if with_groups else None)

    @property
    def _start(self) -> Ints:
        return np.cumsum(self.length) - self.length

    def _rising_cost(self) -> Floats:
        """[item]: the negative run scores, ascending in each list."""
        place, cost = np.repeat(np.arange(self.length.size), self.length), -self.run_score
        rising = (place[1:] == place[:-1]) & (cost[1:] < cost[:-1])
        if rising.any():
            start, end = self._start, np.cumsum(self.length)
            for unsorted in distinct(place[1:][rising]).tolist():
                cost[start[unsorted] : end[unsorted]].sort()
        return cost

    def _earlier_in_group(self, which: Ints, place: Ints, tied: Tied, ties: Ties) -> Ints:
        """[item of `which`]: the number of items of its tie group before it. `place` is [found item]: its list."""
        earlier = []
        start, current = self._start.tolist(), -1
        groups: dict[int, dict[str, int]] = {}
        items = take(self.solution.items, self.solution.item_of_entry[self.entry[which]]).to_pylist()
        columns = (column[which].tolist() for column in (place, tied.before, tied.size))
        for item, of, before, size in zip(items, *columns, strict=True):
            if of != current:
                current, groups, ids = of, {}, [*self.lists[of]]
                falling = np.argsort(-self.run_score[start[of] : start[of] + len(ids)], kind="stable")
            if before not in groups:
                members = [ids[nth] for nth in falling[before : before + size].tolist()]
                if ties == "trec":
                    members.sort(reverse=True)
                groups[before] = {name: nth for nth, name in enumerate(members)}
            earlier.append(groups[before][item])
        return np.array(earlier, dtype=np.int64)


def _first_at(ascending: Floats, wanted: Floats, first: Ints, length: Ints) -> Ints:
    """[wanted]: the lowest index of the value among so many from `first`, where the array ascends and has the value."""
    # What comes before `found` is lower. The last value of a list is not, so a step that goes too far is not taken.
    found, last = first.copy(), first + length - 1
    for step in (1 << power for power in reversed(range(int(length.max(initial=0)).bit_length()))):
        found += step * (ascending[np.minimum(found + (step - 1), last)] < wanted)
    return found


def _are_all(kind: type, values: Collection[Any]) -> bool:
    """Whether all values have exactly this type."""
    return [*map(type, values)].count(kind) == len(values)


def _is_plain(ids: Collection[Any]) -> bool:
    """Whether all ids are of type str, and UTF-8 can hold them."""
    if not _are_all(str, ids):
        return False
    joined = "".join(ids)
    try:
        return joined.isascii() or bool(joined.encode())
    except UnicodeEncodeError:
        return False
