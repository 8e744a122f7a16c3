"""Hits and Judged: all that a measure ever sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Threshold = float | Literal["positive"]
"""What makes an item relevant: a grade of at least this number, or any positive one."""


Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
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

    def where(self, kept: Bools) -> Hits:
        """The entries for which `kept` is true, in the same order."""
        return Hits(self.query[kept], self.rank[kept], self.grade[kept], self.tie_rank[kept])

    def top(self, k: int | None) -> Hits:
        """The entries in the first `k` places of their list; all of them without `k`."""
        return self if k is None else self.where(self.rank <= k)

    def relevant(self, rel: Threshold = "positive") -> Hits:
        """The entries whose item is relevant."""
        return self.once(
            ("relevant", rel), lambda: self.where(self.grade > 0 if rel == "positive" else self.grade >= rel)
        )

    def nth(self) -> Ints:
        """1 for the first entry of its query, 2 for the second, and so on."""
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        lengths = np.diff(starts, append=len(self))
        return np.arange(1, len(self) + 1) - np.repeat(starts, lengths)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A submission seen through a solution; arrays over queries have one entry for each query of the solution."""

    found: Hits
    """The judged items in the submission's lists. A repeated item is here once, at its first place."""
    ideal: Hits
    """Every item of the solution, by query, the highest grade first: rank 1, 2, 3, ... without gaps."""
    retrieved: Ints
    """The length of each query's list, unjudged and repeated items included; 0 where the submission has none."""

    @property
    def queries(self) -> int:
        return self.retrieved.size

    def total(self, hits: Hits, weights: Floats | None = None) -> Floats:
        """The sum of `weights` (one for each entry of `hits`; default 1 each) over each query."""
        return np.asarray(np.bincount(hits.query, weights, minlength=self.queries), dtype=np.float64)

    def relevant_items(self, rel: Threshold = "positive") -> Floats:
        """R: how many relevant items the solution has for each query, found or not."""
        return self.ideal.once(("R", rel, self.queries), lambda: self.total(self.ideal.relevant(rel)))

    def relevant_found(self, rel: Threshold = "positive", k: int | None = None) -> Floats:
        """How many relevant items stand in the first `k` places of each list; in all of it without `k`."""
        return self.total(self.found.relevant(rel).top(k))


def ratio(parts: Floats, wholes: Floats | float, defined: Bools) -> Floats:
    """`parts` / `wholes`, and NaN where not `defined`."""
    quotients = np.full(parts.shape, np.nan)
    np.divide(parts, wholes, out=quotients, where=defined)
    return quotients
