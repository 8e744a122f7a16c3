"""Hits and Judged: all that a measure ever sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints, ranges

Threshold = float | Literal["positive"]
"""What makes an item relevant: a grade of at least this number, or any positive one."""


Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True, eq=False)
class Tied:
    """For items of ranked lists, the group of equal run scores that each is in."""

    before: Ints
    """How many items of the list stand before the group."""
    size: Ints
    """How many items are in the group, unjudged ones too; 1 where nothing ties."""

    def where(self, kept: Bools | Ints) -> Tied:
        """Those of the items for which `kept` is true, or which it numbers."""
        return Tied(self.before[kept], self.size[kept])


@dataclass(frozen=True, slots=True, eq=False)
class JudgedItems:
    """Judged items at places of a ranked list: four arrays of one length, sorted by query, then rank.

    Sparse: an item that the solution does not list leaves no entry, only a gap in the ranks.
    """

    query: Ints
    """Which query, as its place in the solution (from 0)."""
    rank: Ints
    """Place in the list, from 1."""
    grade: Floats
    """The solution's grade of the item; 0 and below are judged not relevant."""
    tie_rank: Ints
    """1 + the number of right items of the query with a strictly higher grade; 0 for an item that is not right.

    A right item is one that counts for Rp and MARp: a graded one above 0, or, in a VL.NET solution (which lists
    nothing but right items), any.
    """
    tied: Tied | None = None
    """None: each item has its place. Else all orders of a tie group are equally likely, `rank` is the group's first
    place, and a measure gives the mean over these orders."""
    memo: dict[object, Any] = field(default_factory=dict, repr=False)
    """What has been computed from these arrays once, since most measures begin alike; see `once`."""

    def once(self, key: object, compute: Callable[[], Computed]) -> Computed:
        """What `compute` gives, computed at the first call with this key alone; nobody may change it."""
        if key not in self.memo:
            self.memo[key] = compute()
        found: Computed = self.memo[key]
        return found

    def __len__(self) -> int:
        return self.query.size

    def where(self, kept: Bools | Ints) -> JudgedItems:
        """The entries for which `kept` is true, in the same order, or those that it numbers, in its order."""
        tied = None if self.tied is None else self.tied.where(kept)
        return JudgedItems(self.query[kept], self.rank[kept], self.grade[kept], self.tie_rank[kept], tied)

    def top(self, k: int | None) -> JudgedItems:
        """The entries in the first `k` places of their list; all of them without `k`."""
        return self if k is None else self.where(self.rank <= k)

    def is_relevant(self, rel: Threshold = "positive") -> Bools:
        """Which entries' items are relevant."""
        return np.asarray(self.grade > 0 if rel == "positive" else self.grade >= rel)

    def relevant(self, rel: Threshold = "positive") -> JudgedItems:
        """The entries whose item is relevant."""
        return self.once(("relevant", rel), lambda: self.where(self.is_relevant(rel)))

    def nth(self) -> Ints:
        """1 for the first entry of its query, 2 for the second, and so on."""
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        lengths = np.diff(starts, append=len(self))
        return np.arange(1, len(self) + 1) - np.repeat(starts, lengths)

    def so_far(self, counted: Bools) -> Ints:
        """For each entry, how many of the `counted` ones its query has up to it, itself included."""
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        count: Ints = np.cumsum(counted)
        earlier: Ints = (count - counted)[starts]
        return count - np.repeat(earlier, np.diff(starts, append=len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Tie groups that hold some hits, in the order of the hits."""

    query: Ints
    tied: Tied
    first: Ints
    """Where in the hits each begins."""
    hits: Ints
    """How many of them it holds."""
    earlier: Ints
    """How many of them stand in the query's groups before it."""

    @classmethod
    def of(cls, hits: JudgedItems, tied: Tied) -> Groups:
        """The groups of these hits, which tie as `tied` says."""
        first = np.flatnonzero((np.diff(hits.query, prepend=-1) != 0) | (np.diff(tied.before, prepend=-1) != 0))
        sizes = np.diff(first, append=len(hits))
        return cls(hits.query[first], tied.where(first), first, sizes, hits.nth()[first] - 1)

    def where(self, kept: Bools) -> Groups:
        """The groups for which `kept` is true."""
        return Groups(self.query[kept], self.tied.where(kept), self.first[kept], self.hits[kept], self.earlier[kept])


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Places of ranked lists, sorted by query, then rank, each with a value; those without are left out."""

    query: Ints
    rank: Ints
    value: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """A submission seen through a solution; arrays over queries have one entry for each query of the solution."""

    found: JudgedItems
    """The judged items in the submission's lists. A repeated item is here once, at its first place."""
    ideal: JudgedItems
    """Every item of the solution, by query, the highest grade first: rank 1, 2, 3, ... without gaps."""
    retrieved: Ints
    """The length of each query's list, unjudged and repeated items included; 0 where the submission has none."""
    answered: Bools | None = None
    """Which queries the submission has a list for, be it empty; None where nobody asks."""
    extremes: tuple[Matched, Matched] | None = None
    """The same lists with each group of equal run scores in its worst and in its best order, if that is asked for."""

    @property
    def queries(self) -> int:
        return self.retrieved.size

    def total(self, hits: JudgedItems | Places, weights: Floats | None = None) -> Floats:
        """The sum of `weights` (one for each entry of `hits`; default 1 each) over each query."""
        return np.asarray(np.bincount(hits.query, weights, minlength=self.queries), dtype=np.float64)

    def relevant_items(self, rel: Threshold = "positive") -> Floats:
        """R: how many relevant items the solution has for each query, found or not."""
        return self.ideal.once(("R", rel, self.queries), lambda: self.total(self.ideal.relevant(rel)))

    def relevant_found(self, rel: Threshold = "positive", k: int | None = None) -> Floats:
        """How many relevant items stand in the first `k` places of each list; in all of it without `k`."""
        return self.count(self.found.relevant(rel), k)

    def count(self, hits: JudgedItems, k: int | Floats | None = None) -> Floats:
        """How many of `hits` stand in the first `k` places, one for all queries or one for each; in all without `k`.

        Where they tie, the mean: an item of a group of n that has p places within the first k is there with
        probability p / n.
        """
        if hits.tied is None:
            if k is None:
                return self.total(hits)
            last = k[hits.query] if isinstance(k, np.ndarray) else k
            return self.total(hits.where(hits.rank <= last))
        ends = self.retrieved if k is None else np.minimum(self.retrieved, k)
        inside = np.clip(ends[hits.query] - hits.tied.before, 0, hits.tied.size)
        return self.total(hits, inside / hits.tied.size)

    def placed(self, hits: JudgedItems, values: Callable[[JudgedItems], Floats], k: int | None = None) -> Places:
        """What stands at the first `k` places: the values of the hits there, or where they tie, the mean over orders.

        A place in a group of n items, the values of which sum to v, has v / n (McSherry and Najork, Computing
        Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR 2008).
        """
        hits = hits.top(k)
        valued = values(hits)
        if hits.tied is None:
            return Places(hits.query, hits.rank, valued)
        groups = Groups.of(hits, hits.tied)
        group, rank = self.places(groups, k)
        means = np.bincount(np.repeat(np.arange(groups.query.size), groups.hits), valued, groups.query.size)
        return Places(groups.query[group], rank, (means / groups.tied.size)[group])

    def places(self, groups: Groups, k: int | None = None) -> tuple[Ints, Ints]:
        """The places of the groups within the first `k` of their list: for each the group's number, and the rank."""
        last = np.minimum(groups.tied.before + groups.tied.size, self.retrieved[groups.query])
        if k is not None:
            last = np.minimum(last, k)
        before, group = ranges(groups.tied.before, np.maximum(last, groups.tied.before))
        return group, before + 1

    @property
    def cut_within_ties(self) -> bool:
        """Is a list cut within a tie group, so that the order decides on what is in it?"""
        tied = self.found.tied
        return tied is not None and bool((tied.before + tied.size > self.retrieved[self.found.query]).any())

    def condensed(self) -> Matched:
        """The same lists without their unjudged items, and those judged below 0, which mark them in TREC's files.

        Raises ValueError where a list is cut within a tie group: what follows the cut would move up, and is not known.
        """
        if self.cut_within_ties:
            raise ValueError("a list is cut within a tie group")
        found = self.found.where((self.found.grade >= 0) | (self.found.tie_rank > 0))
        tied, rank = None, found.nth()
        if found.tied is not None:
            groups = Groups.of(found, found.tied)
            tied = Tied(groups.earlier, groups.hits).where(np.repeat(np.arange(groups.query.size), groups.hits))
            rank = tied.before + 1
        return Matched(
            found=JudgedItems(found.query, rank, found.grade, found.tie_rank, tied),
            ideal=self.ideal,
            retrieved=np.bincount(found.query, minlength=self.queries),
            answered=self.answered,
            extremes=None if self.extremes is None else (self.extremes[0].condensed(), self.extremes[1].condensed()),
        )
