"""What every measure is computed from: the judged items of a submission's lists, and those of the ideal lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints, ranges

Threshold = float | Literal["positive"]
"""What makes an item relevant: a grade of at least this number, or any positive grade."""


def is_relevant(grade: Floats, rel: Threshold) -> Bools:
    """Whether each grade is relevant."""
    return np.asarray(grade > 0 if rel == "positive" else grade >= rel)


Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True, eq=False)
class Tied:
    """The tie group of each item: the items of its list that have the same run score."""

    before: Ints
    """[item]: the number of items of the list before the group."""
    size: Ints
    """[item]: the number of items in the group, unjudged items included; 1 for an item that does not tie."""

    def where(self, selected: Bools | Ints) -> Tied:
        """Return the groups of the items that the mask `selected` has, or whose indexes it lists."""
        return Tied(self.before[selected], self.size[selected])


@dataclass(frozen=True, slots=True, eq=False)
class Subtopics:
    """The grades that items have for the subtopics of their query: pairs of an item and a subtopic, by item."""

    first: Ints
    """[item + 1]: the index at which the pairs of each item begin, and the end of the last one."""
    subtopic: Ints
    """[pair]: the number of the subtopic in its query, from 0; ascending for each item."""
    grade: Floats
    """[pair]"""
    id_rank: Ints
    """[item]: the rank, from 1, of its id among those of its query, in descending order of their bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedItems:
    """Items of ranked lists that the solution lists: arrays with one entry an item, sorted by query, then by rank.

    An item that the solution does not list has no entry, so the ranks of a list may have gaps.
    """

    query: Ints
    """[entry]: the index of the query in the solution, from 0."""
    rank: Ints
    """[entry]: the rank in the list, from 1."""
    grade: Floats
    """[entry]: the grade, the highest of all subtopics; an item with grade 0 or below is not relevant."""
    tie_rank: Ints
    """[entry]: 1 + the number of relevant items of the query with a strictly higher grade; 0 for other items.

    Relevant means a grade above 0; in a solution in VL.NET's format, every item that it lists is relevant.
    """
    tied: Tied | None = None
    """None: each item has one rank. Otherwise all orders of a tie group are equally likely, `rank` is the first rank of
    the group, and a measure is the mean over these orders."""
    entry: Ints | None = None
    """[entry]: the index in the ideal list of the solution; None where the solution has no subtopics."""
    subtopics: Subtopics | None = None
    """Of all items of a solution; None where it has no subtopics, and for the items of a submission."""
    cache: dict[object, Any] = field(default_factory=dict, repr=False)
    """Results that several measures need; see `cached`."""

    @classmethod
    def ideal(cls, query: Ints, grade: Floats, *, listed_is_relevant: bool = False) -> JudgedItems:
        """Return the items of a solution, given in the order of `Matched.ideal`, with their ranks and tie ranks."""
        new = np.append(True, query[1:] != query[:-1])[: query.size]
        first = np.flatnonzero(new)
        rank = np.arange(1, query.size + 1) - np.repeat(first, np.diff(first, append=query.size))
        new[1:] |= grade[1:] != grade[:-1]
        first = np.flatnonzero(new)
        tie_rank = np.repeat(rank[first], np.diff(first, append=query.size))
        if not listed_is_relevant:
            tie_rank[grade <= 0] = 0
        return cls(query, rank, grade, tie_rank)

    def cached(self, key: object, compute: Callable[[], Computed]) -> Computed:
        """Return the result of `compute`, which is called only once for each `key`; do not change the result."""
        if key not in self.cache:
            self.cache[key] = compute()
        result: Computed = self.cache[key]
        return result

    def __len__(self) -> int:
        return self.query.size

    def where(self, selected: Bools | Ints) -> JudgedItems:
        """Return the entries that the mask `selected` has, or those whose indexes it lists, in that order."""
        if selected.dtype == np.bool_:
            selected = np.flatnonzero(selected)
            if selected.size == len(self):
                return self
        tied = None if self.tied is None else self.tied.where(selected)
        entry = None if self.entry is None else self.entry[selected]
        return JudgedItems(
            self.query[selected], self.rank[selected], self.grade[selected], self.tie_rank[selected], tied, entry
        )

    def top(self, k: int | None) -> JudgedItems:
        """Return the entries with a rank of at most `k`; all of them if `k` is None."""
        return self if k is None else self.where(self.rank <= k)

    def is_relevant(self, rel: Threshold = "positive") -> Bools:
        """[entry]: whether the item is relevant."""
        return is_relevant(self.grade, rel)

    def relevant(self, rel: Threshold = "positive") -> JudgedItems:
        """Return the entries whose items are relevant."""

        def compute() -> JudgedItems | None:
            relevant = self.where(self.is_relevant(rel))
            # In its own cache, it would remain in memory until Python searches for garbage.
            return None if relevant is self else relevant

        relevant = self.cached(("relevant", rel), compute)
        return self if relevant is None else relevant

    def position_in_query(self) -> Ints:
        """[entry]: 1 for the first entry of a query, 2 for the second, and so on."""

        def compute() -> Ints:
            lengths = np.bincount(self.query)
            return np.arange(1, len(self) + 1) - (lengths.cumsum() - lengths)[self.query]

        return self.cached("position in query", compute)

    def count_so_far(self, counted: Bools) -> Ints:
        """[entry]: how many entries of the query, up to and including this one, are in the mask `counted`."""
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        count: Ints = np.cumsum(counted)
        earlier: Ints = (count - counted)[starts]
        return count - np.repeat(earlier, np.diff(starts, append=len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class TieGroups:
    """The tie groups of some judged items, in the order of the items."""

    query: Ints
    """[group]: the index of the query."""
    tied: Tied
    """[group]: where in the list the group is, and its size."""
    first: Ints
    """[group]: the index of its first judged item."""
    hits: Ints
    """[group]: how many of the judged items it has."""
    earlier: Ints
    """[group]: how many of the judged items are in earlier groups of the query."""

    @classmethod
    def of(cls, hits: JudgedItems, tied: Tied) -> TieGroups:
        """Return the groups of these items, which tie as `tied` says."""
        first = np.flatnonzero((np.diff(hits.query, prepend=-1) != 0) | (np.diff(tied.before, prepend=-1) != 0))
        sizes = np.diff(first, append=len(hits))
        return cls(hits.query[first], tied.where(first), first, sizes, hits.position_in_query()[first] - 1)

    def where(self, selected: Bools) -> TieGroups:
        """Return the groups that the mask `selected` has."""
        return TieGroups(
            self.query[selected],
            self.tied.where(selected),
            self.first[selected],
            self.hits[selected],
            self.earlier[selected],
        )


@dataclass(frozen=True, slots=True, eq=False)
class RankValues:
    """Ranks of lists with a value at each, sorted by query, then by rank; ranks without a value are left out."""

    query: Ints
    """[entry]: the index of the query."""
    rank: Ints
    """[entry]: the rank, from 1."""
    value: Floats
    """[entry]"""


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """The items of a submission found in the solution; arrays [query] are in the order of the solution."""

    found: JudgedItems
    """The judged items in the submission's lists. A repeated item has one entry, at its first rank."""
    ideal: JudgedItems
    """All items of the solution; those of a query by descending grade, with the ranks 1, 2, 3, ..."""
    retrieved: Ints
    """[query]: the length of the list, unjudged and repeated items included; 0 for a missing list."""
    answered: Bools | None = None
    """[query]: whether the submission has a list, even an empty one; None where nobody needs to know."""
    extremes: tuple[Matched, Matched] | None = None
    """The same lists with every tie group in its worst and in its best order; None unless requested."""

    @property
    def queries(self) -> int:
        """The number of queries of the solution."""
        return self.retrieved.size

    def total(self, hits: JudgedItems | RankValues, weights: Floats | None = None) -> Floats:
        """[query]: the sum of the weights, [entry], or the number of the entries without weights; 0 without entries."""
        return np.asarray(np.bincount(hits.query, weights, minlength=self.queries), dtype=np.float64)

    def relevant_items(self, rel: Threshold = "positive") -> Floats:
        """[query]: R, the number of relevant items in the solution."""
        return self.ideal.cached(("R", rel, self.queries), lambda: self.total(self.ideal.relevant(rel)))

    def relevant_found(self, rel: Threshold = "positive", k: int | None = None) -> Floats:
        """[query]: the number of relevant items in the first `k` of the list; in the whole list if `k` is None."""
        return self.count(self.found.relevant(rel), k)

    def count(self, hits: JudgedItems, k: int | Floats | None = None) -> Floats:
        """[query]: the (expected) number of entries in the first `k` ranks; `k` may be [query], and None counts all.

        If p of the n ranks of a tie group are in the first k, each entry of the group counts p / n, the probability
        that it is there.
        """
        if hits.tied is None:
            if k is None:
                return self.total(hits)
            last = k[hits.query] if isinstance(k, np.ndarray) else k
            return np.bincount(hits.query[hits.rank <= last], minlength=self.queries).astype(np.float64)
        ends = self.retrieved if k is None else np.minimum(self.retrieved, k)
        inside = np.clip(ends[hits.query] - hits.tied.before, 0, hits.tied.size)
        return self.total(hits, inside / hits.tied.size)

    def values_by_rank(
        self, hits: JudgedItems, values: Callable[[JudgedItems], Floats], k: int | None = None
    ) -> RankValues:
        """Return the (expected) value at each rank up to `k`, or at all; `values` computes that of each entry, [entry].

        Each rank of a tie group of n items, whose values sum to v, has the value v / n. Source: McSherry and Najork,
        Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR 2008.
        """
        hits = hits.top(k)
        valued = values(hits)
        if hits.tied is None:
            return RankValues(hits.query, hits.rank, valued)
        groups = TieGroups.of(hits, hits.tied)
        group, rank = self.group_ranks(groups, k)
        of_group = np.repeat(np.arange(groups.query.size), groups.hits)
        means = np.bincount(of_group, valued, groups.query.size) / groups.tied.size
        if not np.isfinite(means).all():  # the sum of large values may overflow where their mean does not
            valued = valued / groups.tied.size[of_group]
            means = np.asarray(np.bincount(of_group, valued, groups.query.size), dtype=np.float64)
        return RankValues(groups.query[group], rank, means[group])

    def group_ranks(self, groups: TieGroups, k: int | None = None) -> tuple[Ints, Ints]:
        """[rank]: the index of a group; [rank]: the rank, from 1, of each of its ranks in the list, up to `k`."""
        last = np.minimum(groups.tied.before + groups.tied.size, self.retrieved[groups.query])
        if k is not None:
            last = np.minimum(last, k)
        before, group = ranges(groups.tied.before, np.maximum(last, groups.tied.before))
        return group, before + 1

    @property
    def cut_within_ties(self) -> bool:
        """Whether a list is cut within a tie group, so that the order decides which items it has."""
        tied = self.found.tied
        return tied is not None and bool((tied.before + tied.size > self.retrieved[self.found.query]).any())

    def condensed(self) -> Matched:
        """Return the same lists without unjudged items.

        An item with a negative grade counts as unjudged, as in TREC's files, unless it is relevant in VL.NET's sense.
        Raises ValueError where a list is cut within a tie group: the items after the cut would move up, and are not
        known.
        """
        if self.cut_within_ties:
            raise ValueError("a list is cut within a tie group")
        found = self.found.where((self.found.grade >= 0) | (self.found.tie_rank > 0))
        tied, rank = None, found.position_in_query()
        if found.tied is not None:
            groups = TieGroups.of(found, found.tied)
            tied = Tied(groups.earlier, groups.hits).where(np.repeat(np.arange(groups.query.size), groups.hits))
            rank = tied.before + 1
        return Matched(
            found=JudgedItems(found.query, rank, found.grade, found.tie_rank, tied, found.entry),
            ideal=self.ideal,
            retrieved=np.bincount(found.query, minlength=self.queries),
            answered=self.answered,
            extremes=None if self.extremes is None else (self.extremes[0].condensed(), self.extremes[1].condensed()),
        )
