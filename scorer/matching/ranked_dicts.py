"""RankedDicts: the ranked lists of a submission that is a dict of dicts, matched without a copy of its ids.

Only the judged items need ranks. The judged items of a query are looked up in its list, or the items of the list among
the judged ones if these are many more. The rank of an item follows from the number of higher run scores in its list.
The result is that of `RankedLists` and `find`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.formats.reading.arrow import texts
from scorer.matching.finding import BY_GRADE, FoundItems
from scorer.matching.graded_dicts import plain_dicts, plain_numbers
from scorer.matching.ids import UNKNOWN
from scorer.matching.solution import Solution
from scorer.measures.arrays import Bools, Floats, Ints, distinct
from scorer.measures.matched import Tied
from scorer.options import Ties

CHEAPER = 4
"""A judged item is looked up in a list in about a quarter of the time of the reverse: judged items are adjacent in
memory."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankedDicts:
    """Whole ranked lists: dicts from the id of an item to its run score."""

    solution: Solution
    queries: tuple[str, ...]
    """[list]: the id of its query."""
    number: Ints
    """[list]: its query's number in the solution, or UNKNOWN."""
    lists: tuple[dict[str, Any], ...]
    length: Ints
    """[list]: the number of its items."""
    run_score: Floats
    """[item]: in the order of the dicts."""
    place: Ints
    """[found item]: the index of its list; ascending."""
    entry: Ints
    """[found item]: the index in the solution's `ideal` of the first item of its query with the same grade.

    Such items are the same, but for their ids.
    """
    found_score: Floats
    """[found item]: its run score."""
    found_ids: list[str]
    """[found item]: its id."""

    @classmethod
    def of(cls, source: object, solution: Solution) -> RankedDicts | None:
        """Return the lists of query -> item -> run score.

        None for everything that the general reader has to convert or to report: lists without run scores, ids that are
        not plain text, run scores that are not finite numbers, and solutions with subtopics.
        """
        if (whole := plain_dicts(source)) is None or solution.ideal.subtopics is not None:
            return None
        names, lists = whole
        lookup = solution.lookup
        number = [lookup.number.get(name, UNKNOWN) for name in names]
        run_scores: list[Floats] = []
        found_score, entry, sizes = array("d"), array("q"), []
        found_ids: list[str] = []
        # Each dict is read once, while the processor's cache holds it.
        for listed, query in zip(lists, number, strict=True):
            if (numbers := plain_numbers(listed)) is None:
                return None
            run_scores.append(numbers)
            before = len(found_ids)
            if query != UNKNOWN:
                judged, first = lookup.grades[query], lookup.first[query]
                fewer, more = (judged, listed) if len(judged) < CHEAPER * len(listed) else (listed, judged)
                # Each id is looked up once: most of the time is that of reading ids from memory.
                values = [*map(more.get, fewer)]
                is_found = [value is not None for value in values]
                columns: tuple[list[Any], list[Any]] = (
                    [*compress(fewer.values(), is_found)],
                    [*compress(values, is_found)],
                )
                grades, own = columns if fewer is judged else columns[::-1]
                found_score.fromlist(own)
                entry.fromlist([*map(first.__getitem__, grades)])
                found_ids += compress(fewer, is_found)
            sizes.append(len(found_ids) - before)
        scores = run_scores[0] if len(run_scores) == 1 else np.concatenate(run_scores)
        if not np.isfinite(scores).all():
            return None
        return cls(
            solution=solution,
            queries=names,
            number=np.array(number),
            lists=lists,
            length=np.array([*map(len, lists)]),
            run_score=scores,
            place=np.arange(len(lists)).repeat(sizes),
            entry=np.asarray(entry),
            found_score=np.asarray(found_score),
            found_ids=found_ids,
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
        tied = self._tie_groups()
        rank = tied.before + 1
        if ties not in BY_GRADE and (in_group := np.flatnonzero(tied.size > 1)).size:
            rank[in_group] += self._earlier_in_group(in_group, tied, ties)
        with_groups = with_groups or ties in BY_GRADE
        return FoundItems(self.number[self.place], rank, self.entry, tied if with_groups else None)

    @property
    def _start(self) -> Ints:
        return np.cumsum(self.length) - self.length

    def _tie_groups(self) -> Tied:
        cost, wanted = self._rising_cost(), -self.found_score
        if self.length.size == 1:
            before = cost.searchsorted(wanted)
            return Tied(before, cost.searchsorted(wanted, "right") - before)
        start = self._start
        begin = _first_at(cost, wanted, start[self.place], self.length[self.place])
        # Whether an item is the last one of its tie group.
        last = np.append(cost[1:] != cost[:-1], True)
        last[start + self.length - 1] = True
        in_group = np.flatnonzero(~last[begin])
        lasts = np.flatnonzero(last)
        size = np.ones_like(begin)
        size[in_group] += lasts[np.searchsorted(lasts, begin[in_group])] - begin[in_group]
        return Tied(begin - start[self.place], size)

    def _rising_cost(self) -> Floats:
        """[item]: the negative run scores, ascending in each list."""
        cost = -self.run_score
        if self.length.size == 1:
            cost.sort()
            return cost
        place = np.repeat(np.arange(self.length.size), self.length)
        rising = (place[1:] == place[:-1]) & (cost[1:] < cost[:-1])
        if rising.any():
            start, end = self._start, np.cumsum(self.length)
            for unsorted in distinct(place[1:][rising]).tolist():
                cost[start[unsorted] : end[unsorted]].sort()
        return cost

    def _earlier_in_group(self, which: Ints, tied: Tied, ties: Ties) -> Ints:
        """[item of `which`]: the number of items of its tie group before it."""
        earlier = []
        start, current = self._start.tolist(), -1
        groups: dict[int, dict[str, int]] = {}
        columns = (column[which].tolist() for column in (self.place, tied.before, tied.size))
        for nth_found, of, before, size in zip(which.tolist(), *columns, strict=True):
            if of != current:
                current, groups, ids = of, {}, [*self.lists[of]]
                falling = np.argsort(-self.run_score[start[of] : start[of] + len(ids)], kind="stable")
            if before not in groups:
                members = [ids[nth] for nth in falling[before : before + size].tolist()]
                if ties == "trec":
                    members.sort(reverse=True)
                groups[before] = {name: nth for nth, name in enumerate(members)}
            earlier.append(groups[before][self.found_ids[nth_found]])
        return np.array(earlier, dtype=np.int64)


def _first_at(ascending: Floats, wanted: Floats, first: Ints, length: Ints) -> Ints:
    """[wanted]: the lowest index of the value among so many from `first`, where the array ascends and has the value."""
    # What comes before `found` is lower. The last value of a list is not, so a step that goes too far is not taken.
    found, last = first.copy(), first + length - 1
    for step in (1 << power for power in reversed(range(int(length.max(initial=0)).bit_length()))):
        found += step * (ascending[np.minimum(found + (step - 1), last)] < wanted)
    return found
