"""RankedDicts: the ranked lists of a submission that is a dict of dicts, matched without a copy of its ids.

Only the judged items need ranks. The solution's items are looked up in the dicts, and the rank of an item follows from
the number of higher run scores in its list. The result is that of `RankedLists` and `find`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.formats.reading.arrow import texts
from scorer.matching.finding import BY_GRADE, FoundItems
from scorer.matching.solution import UNKNOWN, Solution
from scorer.measures.arrays import Bools, Floats, Ints, distinct, ranges
from scorer.measures.matched import Tied
from scorer.options import Ties

NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
"""The types of run scores that are read here."""


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
    judged_score: Floats
    """[entry of the solution, of each known list]: the run score of the solution's item; NaN if the list lacks it."""

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
        ids, first = solution.entry_texts, solution.first_entry.tolist()
        run_scores: list[Floats] = []
        judged: list[Any] = []
        # Each dict is read once, while the processor's cache holds it.
        for listed, query in zip(lists, number.tolist(), strict=True):
            values = listed.values()
            if not _is_plain(listed) or not NUMBERS.issuperset(map(type, values)):
                return None
            try:
                run_scores.append(np.fromiter(values, dtype=np.float64, count=len(listed)))
            except OverflowError:
                return None
            if query != UNKNOWN:
                judged.extend(map(listed.get, ids[first[query] : first[query + 1]]))
        run_score = np.concatenate(run_scores)
        if not np.isfinite(run_score).all():
            return None
        length = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        return cls(solution, queries, number, lists, length, run_score, np.array(judged, dtype=np.float64))

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
        solution, known = self.solution, np.flatnonzero(self.number != UNKNOWN)
        query = self.number[known]
        entry, which = ranges(solution.first_entry[query], solution.first_entry[query + 1])
        found = np.flatnonzero(~np.isnan(self.judged_score))
        entry, place, cost = entry[found], known[which[found]], -self.judged_score[found]
        keys, wanted = self._keys(), _pairs(place, cost)
        begin = np.searchsorted(keys, wanted)
        size = np.ones_like(begin)
        in_group = np.flatnonzero(keys[np.minimum(begin + 1, keys.size - 1)] == wanted)
        size[in_group] = np.searchsorted(keys, wanted[in_group], side="right") - begin[in_group]
        tied = Tied(begin - self._start[place], size)
        rank = tied.before + 1
        if ties not in BY_GRADE:
            groups: dict[int, dict[str, int]] = {}
            for at in np.flatnonzero(size > 1).tolist():
                group = groups.get(begin[at])
                if group is None:
                    group = groups[begin[at]] = self._ordered_group(int(place[at]), -cost[at], ties)
                rank[at] += group[solution.entry_texts[entry[at]]]
        with_groups = with_groups or ties in BY_GRADE
        return FoundItems(solution.ideal.query[entry], rank, entry, tied if with_groups else None)

    @property
    def _start(self) -> Ints:
        return np.cumsum(self.length) - self.length

    def _keys(self) -> NDArray[np.complex128]:
        """Return a key for each item, ascending by its list, then by falling run score."""
        place, cost = np.repeat(np.arange(self.length.size), self.length), -self.run_score
        rising = (place[1:] == place[:-1]) & (cost[1:] < cost[:-1])
        if rising.any():
            start, end = self._start, np.cumsum(self.length)
            for unsorted in distinct(place[1:][rising]).tolist():
                cost[start[unsorted] : end[unsorted]].sort()
        return _pairs(place, cost)

    def _ordered_group(self, place: int, run_score: float, ties: Ties) -> dict[str, int]:
        """Return the ids of the items of a list with this run score, and how many of them each comes after."""
        start = int(self._start[place])
        same = self.run_score[start : start + int(self.length[place])] == run_score
        members = list(compress(self.lists[place], same.tolist()))
        ordered = sorted(members, reverse=True) if ties == "trec" else members
        return {name: at for at, name in enumerate(ordered)}


def _is_plain(ids: Iterable[Any]) -> bool:
    """Whether all ids are of type str, and UTF-8 can hold them."""
    if {*map(type, ids)} - {str}:
        return False
    joined = "".join(ids)
    try:
        return joined.isascii() or bool(joined.encode())
    except UnicodeEncodeError:
        return False


def _pairs(place: Ints, cost: Floats) -> NDArray[np.complex128]:
    """Return pairs as complex numbers, which numpy orders by the real part, then by the imaginary part."""
    pairs = np.empty(place.size, dtype=np.complex128)
    pairs.real, pairs.imag = place, cost
    return pairs
