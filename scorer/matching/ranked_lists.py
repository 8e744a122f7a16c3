"""RankedLists: whole ranked lists of a submission, integer-coded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading.arrow import id_order, joined, take
from scorer.formats.reading.batches import Ranked
from scorer.matching.ids import coded
from scorer.measures.arrays import Bools, Floats, Ints, distinct, ranges
from scorer.measures.matched import Tied
from scorer.options import Ties
from scorer.wording import quoted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankedLists:
    """Whole ranked lists. Queries are numbered in order of first appearance; items are in the order of the file.

    A *position* is an index into `order`: the items sorted by list, then by falling run score.
    """

    queries: pa.StringArray
    """[list]: ids."""
    line: Ints
    """[row]: the line number."""
    query_of_row: Ints
    """[row]: its list."""
    row: Ints
    """[item]: its row."""
    query: Ints
    """[item]: its list."""
    items: pa.StringArray
    """[item]: ids."""
    run_score: Floats | None
    """[item]: higher scores come first in a list; None: items are ranked as listed."""
    by_rank: bool
    """Whether the file states ranks; `run_score` then holds them, negated."""
    order: Ints
    """[position]: the item. Items with equal run scores keep the order of the file."""
    start: Ints
    """[list + 1]: the position at which each list begins, and the end of the last one."""

    @classmethod
    def of(cls, batches: Sequence[Ranked]) -> RankedLists:
        """The lists in the batches; the rows of a query may be scattered over them."""
        query_of_row, queries = coded(batch.query for batch in batches)
        first_row = np.cumsum([0, *(len(batch.query) for batch in batches)])
        row = _concatenated([batch.row_of_item + first for batch, first in zip(batches, first_row, strict=False)])
        scores = [-batch.rank.astype(float) if batch.rank is not None else batch.run_score for batch in batches]
        stated = [score for score in scores if score is not None]
        run_score = np.concatenate(stated) if stated else None
        query = query_of_row[row]
        return cls(
            queries=queries,
            line=_concatenated([batch.line for batch in batches]),
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
        """[list]: the number of its items, repeated ones included."""
        return np.diff(self.start)

    def first_rows(self) -> Ints:
        """[list]: the row in which its query appears first."""
        first = np.full(len(self.queries), self.query_of_row.size, dtype=np.int64)
        np.minimum.at(first, self.query_of_row, np.arange(self.query_of_row.size))
        return first

    def line_of(self, item: Ints) -> Ints:
        """The line numbers of these items."""
        return self.line[self.row[item]]

    def item_name(self, item: int) -> str:
        """The id of an item, quoted for a message."""
        return quoted(self.items[int(item)].as_py())

    def query_name(self, item: int) -> str:
        """The id of an item's query, quoted for a message."""
        return quoted(self.queries[int(self.query[item])].as_py())

    def ranks(self) -> tuple[Ints, Ints]:
        """[position]: its list, and its rank there, from 1."""
        first = np.repeat(self.start[:-1], self.length)
        return np.repeat(np.arange(self.length.size), self.length), np.arange(1, self.order.size + 1) - first

    def report_repeated_ranks(self, problems: Findings) -> None:
        """Report ranks that the file gives to two items of a list."""
        if not self.by_rank or self.run_score is None:
            return
        first = np.zeros(self.order.size, dtype=bool)
        first[self._group_starts()] = True
        repeated = np.sort(self.order[~first])
        score = self.run_score
        problems.add_each(
            self.line_of(repeated),
            lambda at: (
                f"rank {-score[repeated[at]]:.0f} is given twice for query {self.query_name(repeated[at])}; "
                "give each rank once"
            ),
        )

    def tie_groups(self, position: Ints) -> Tied:
        """The tie groups of the items at these positions."""
        starts, group = self._groups_at(position)
        return Tied(starts[group] - self.start[self.query[self.order[position]]], np.diff(starts)[group])

    def rank_of(self, item: Ints, position: Ints, ties: Ties) -> Ints:
        """The ranks of items at these positions, none of which is repeated in its list."""
        rank = position - self.start[self.query[item]] + 1
        if ties != "trec" or self.run_score is None:
            return rank
        starts, group = self._groups_at(position)
        tied = np.flatnonzero(np.diff(starts)[group] > 1)
        if not tied.size:
            return rank
        # Only the tie groups of the given items are sorted by id.
        groups = distinct(group[tied])
        which = np.searchsorted(groups, group[tied])
        members, group_of_member = ranges(starts[groups], starts[groups + 1])
        by_id = np.lexsort((-id_order(take(self.items, self.order[members])), group_of_member))
        moved_to = np.empty_like(members)
        moved_to[by_id] = members
        first_of_group = np.searchsorted(group_of_member, np.arange(groups.size))
        rank[tied] += moved_to[first_of_group[which] + position[tied] - starts[groups][which]] - position[tied]
        return rank

    def _groups_at(self, position: Ints) -> tuple[Ints, Ints]:
        """Where all tie groups begin, with the end of the last one; and the group of each position."""
        starts = np.append(self._group_starts(), self.order.size)
        return starts, np.searchsorted(starts, position, side="right") - 1

    def _group_starts(self) -> Ints:
        """[tie group]: the position at which the group begins."""
        query = self.query[self.order]
        new = query[1:] != query[:-1]
        if self.run_score is None:
            return np.arange(query.size)
        score = self.run_score[self.order]
        return np.concatenate([[0], np.flatnonzero(new | (score[1:] != score[:-1])) + 1])[: query.size]


def within(rank: Ints, tied: Tied | None, list_length: int) -> Bools:
    """Which items have, or in some order of their tie group would have, a rank within the list length."""
    return np.asarray((rank if tied is None else tied.before + 1) <= list_length)


def _concatenated(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _order(query: Ints, run_score: Floats | None) -> Ints:
    """The items by list, then by falling run score. Items that are in this order already are not sorted."""
    same, later = query[1:] == query[:-1], query[1:] > query[:-1]
    if run_score is None:
        return np.arange(query.size) if (same | later).all() else np.argsort(query, kind="stable")
    if (later | (same & (run_score[1:] <= run_score[:-1]))).all():
        return np.arange(query.size)
    return np.lexsort((-run_score, query))
