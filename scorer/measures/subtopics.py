"""The subtopics of a solution: the aspects of a query, each of which may give an item its own grade.

Novelty is the gain of an item by the subtopics that it covers, which shrinks for subtopics that are covered already.
Source: Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorer.measures.arrays import Floats, Ints, ranges
from scorer.measures.matched import JudgedItems, Matched, RankValues, Subtopics, Threshold, is_relevant

NEVER = np.iinfo(np.int64).max
"""The place of a kind whose item is not taken next."""


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
        relevant = ideal.is_relevant(rel)
        lengths, subtopic = relevant.astype(np.int64), ideal.query[relevant]
        query = np.arange(matched.queries)
    else:
        entry = np.repeat(np.arange(len(ideal)), np.diff(held.first))
        last = np.full(matched.queries, -1, dtype=np.int64)
        np.maximum.at(last, ideal.query[entry], held.subtopic)
        before = np.cumsum(last + 1) - last - 1
        kept = is_relevant(held.grade, rel)
        lengths = np.bincount(entry[kept], minlength=len(ideal))
        subtopic = (before[ideal.query[entry]] + held.subtopic)[kept]
        query = np.repeat(np.arange(matched.queries), last + 1)
    items = np.bincount(subtopic, minlength=query.size)
    covered = np.bincount(query[items > 0], minlength=matched.queries)
    return Coverage(np.append(0, np.cumsum(lengths)), subtopic, query, items, covered.astype(np.float64))


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


def novelty(matched: Matched, k: int | None, alpha: float, rel: Threshold) -> RankValues:
    """Return the gain of each judged item of the lists, up to rank `k`.

    An item gains (1 - alpha)^c for each of its subtopics, where c is the number of earlier items with that subtopic.
    """
    hits = matched.found.top(k)
    _, subtopic, item = entries(matched, hits, rel)
    earlier = count_so_far(subtopic) - 1
    gain = np.bincount(item, _powers(alpha, earlier)[earlier], minlength=len(hits))
    return RankValues(hits.query, hits.rank, np.asarray(gain, dtype=np.float64))


def ideal_novelty(matched: Matched, k: int | None, alpha: float, rel: Threshold) -> RankValues:
    """Return the gains of the ideal lists up to rank `k`: at each rank the item with the highest gain, which is greedy.

    Of several such items, the one with the highest id is taken, as in ndeval.
    """
    key = ("ideal novelty", matched.queries, k, alpha, rel)
    return matched.ideal.cached(key, lambda: _ideal_novelty(matched, k, alpha, rel))


def _ideal_novelty(matched: Matched, k: int | None, alpha: float, rel: Threshold) -> RankValues:
    if matched.ideal.subtopics is None:
        ideal = matched.ideal.relevant(rel)
        position = ideal.position_in_query()
        inside = position <= (position.size if k is None else k)
        return RankValues(ideal.query[inside], position[inside], _powers(alpha, position)[position[inside] - 1])
    kinds = _Kinds.of(matched, matched.ideal.subtopics, rel)
    gain = np.ones(coverage(matched, rel).query.size)
    taken = np.zeros_like(kinds.size)
    starts = np.flatnonzero(np.diff(kinds.query, prepend=-1))
    owner = np.repeat(np.arange(starts.size), np.diff(starts, append=kinds.query.size))
    ranks: list[RankValues] = []
    while starts.size and (k is None or len(ranks) < k):
        gains = np.bincount(kinds.of_pair, gain[kinds.subtopic], minlength=kinds.size.size)
        gains[taken == kinds.size] = 0
        best = np.maximum.reduceat(gains, starts)
        gaining = np.flatnonzero(best)
        if not gaining.size:
            break
        following = kinds.id_rank[np.minimum(kinds.first + taken, kinds.id_rank.size - 1)]
        following[(gains == 0) | (gains < best[owner])] = NEVER
        chosen = (gains > 0) & (following == np.minimum.reduceat(following, starts)[owner])
        rank = np.full(gaining.size, len(ranks) + 1)
        ranks.append(RankValues(kinds.query[starts[gaining]], rank, best[gaining]))
        taken[chosen] += 1
        gain[kinds.subtopic[chosen[kinds.of_pair]]] *= 1 - alpha
    nothing = np.zeros(0, dtype=np.int64)
    query = np.concatenate([nothing, *(part.query for part in ranks)])
    order = np.argsort(query, kind="stable")
    return RankValues(
        query[order],
        np.concatenate([nothing, *(part.rank for part in ranks)])[order],
        np.concatenate([nothing, *(part.value for part in ranks)])[order].astype(np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """The relevant items of a solution in kinds: items of a query that have the same subtopics, by query."""

    query: Ints
    """[kind]: the index of the query."""
    size: Ints
    """[kind]: the number of items."""
    first: Ints
    """[kind]: the index in `id_rank` of its first item."""
    id_rank: Ints
    """[item]: by kind, ascending; see `Subtopics.id_rank`."""
    of_pair: Ints
    """[pair of a kind and a subtopic]: the kind."""
    subtopic: Ints
    """[pair of a kind and a subtopic]: the subtopic."""

    @classmethod
    def of(cls, matched: Matched, subtopics: Subtopics, rel: Threshold) -> _Kinds:
        """Return the kinds of the items of a solution."""
        covered = coverage(matched, rel)
        entry = np.flatnonzero(np.diff(covered.first))
        start, lengths = covered.first[entry], np.diff(covered.first)[entry]
        kind = np.zeros(entry.size, dtype=np.int64)
        for nth in range(int(lengths.max(initial=0))):
            subtopic = covered.subtopic[np.minimum(start + nth, covered.subtopic.size - 1)]
            key = kind * (covered.query.size + 1) + np.where(lengths > nth, subtopic + 1, 0)
            kind = np.unique(key, return_inverse=True)[1]
        order = np.lexsort((subtopics.id_rank[entry], kind))
        size = np.bincount(kind)
        first = np.cumsum(size) - size
        example = entry[order[first]]
        subtopic, of_pair = covered.pairs(example)
        return cls(matched.ideal.query[example], size, first, subtopics.id_rank[entry[order]], of_pair, subtopic)


def _powers(alpha: float, exponent: Ints) -> Floats:
    """Return (1 - alpha)^0, (1 - alpha)^1, and so on, up to the highest exponent."""
    return np.cumprod(np.append(1.0, np.full(int(exponent.max(initial=0)), 1 - alpha)))
