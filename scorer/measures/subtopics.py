"""The subtopics of a solution: the aspects of a query, each of which may give an item its own grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints, ranges
from scorer.measures.matched import JudgedItems, Matched, Threshold


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which subtopics the items of a solution are relevant to: a pair for each item and subtopic, by item.

    Only pairs with a relevant grade are in it. The subtopics of all queries are numbered together, by query. In a
    solution without subtopics, each query has one.
    """

    first: Ints
    """[entry of the ideal list + 1]: the index at which the pairs of each item begin, and the end of the last one."""
    subtopic: Ints
    """[pair]: the number of the subtopic, ascending for each item."""
    query: Ints
    """[subtopic]: the index of its query."""
    items: Ints
    """[subtopic]: the number of items that are relevant to it."""
    covered: Floats
    """[query]: the number of its subtopics that have a relevant item."""

    def pairs(self, entry: Ints) -> tuple[Ints, Ints]:
        """[pair]: the subtopics of these items of the ideal list; [pair]: the index in `entry` of the item."""
        pair, owner = ranges(self.first[entry], self.first[entry + 1])
        return self.subtopic[pair], owner


def coverage(matched: Matched, rel: Threshold) -> Coverage:
    """Return which subtopics the items of the solution are relevant to; `rel` makes a grade relevant."""
    return matched.ideal.cached(("coverage", rel, matched.queries), lambda: _coverage(matched, rel))


def _coverage(matched: Matched, rel: Threshold) -> Coverage:
    ideal, held = matched.ideal, matched.ideal.subtopics
    if held is None:
        lengths, subtopic = _relevant(ideal.grade, rel).astype(np.int64), ideal.query[_relevant(ideal.grade, rel)]
        query = np.arange(matched.queries)
    else:
        entry = np.repeat(np.arange(len(ideal)), np.diff(held.first))
        last = np.full(matched.queries, -1, dtype=np.int64)
        np.maximum.at(last, ideal.query[entry], held.subtopic)
        before = np.cumsum(last + 1) - last - 1
        kept = _relevant(held.grade, rel)
        lengths = np.bincount(entry[kept], minlength=len(ideal))
        subtopic = (before[ideal.query[entry]] + held.subtopic)[kept]
        query = np.repeat(np.arange(matched.queries), last + 1)
    items = np.bincount(subtopic, minlength=query.size)
    covered = np.bincount(query[items > 0], minlength=matched.queries)
    return Coverage(np.append(0, np.cumsum(lengths)), subtopic, query, items, covered.astype(np.float64))


def _relevant(grade: Floats, rel: Threshold) -> Bools:
    return np.asarray(grade > 0 if rel == "positive" else grade >= rel)


def entries(matched: Matched, hits: JudgedItems, rel: Threshold) -> tuple[JudgedItems, Ints, Ints]:
    """Return the items of a list once for each subtopic that they are relevant to.

    With them: [item]: the subtopic; [item]: the index in `hits`, which are such as ``matched.found.top(k)``.
    """
    if matched.ideal.subtopics is None or hits.entry is None:
        index = np.flatnonzero(hits.is_relevant(rel))
        return hits.where(index), hits.query[index], index
    subtopic, index = coverage(matched, rel).pairs(hits.entry)
    return hits.where(index), subtopic, index


def count_so_far(subtopic: Ints) -> Ints:
    """[element]: how many elements up to and including this one have its subtopic."""
    by_subtopic = np.argsort(subtopic, kind="stable")
    start = np.flatnonzero(np.diff(subtopic[by_subtopic], prepend=-1))
    count = np.empty_like(subtopic)
    sizes = np.diff(start, append=subtopic.size)
    count[by_subtopic] = np.arange(1, subtopic.size + 1) - np.repeat(start, sizes)
    return count
