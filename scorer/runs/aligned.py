"""AlignedRuns: the lists of several runs for the same queries, integer-coded alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scorer.formats.reading.arrow import coded, id_order, joined, take, texts
from scorer.matching.ranked_lists import RankedLists
from scorer.measures.arrays import Bools, Floats, Ints, ranges


@dataclass(frozen=True, slots=True, eq=False)
class AlignedRuns:
    """The lists of several runs for some queries: every list of these queries, whole.

    A *candidate* is an item that at least one run lists for a query. An *entry* is a candidate in the list of one run.
    The list of query `q` in run `r` has the number ``q * runs + r``; it is empty where the run does not have the query.
    """

    queries: pa.StringArray
    """[query]: ids."""
    runs: int
    items: pa.StringArray
    """[item]: ids, each once."""
    query: Ints
    """[candidate]: its query; ascending."""
    item: Ints
    """[candidate]: its item."""
    candidate: Ints
    """[entry]: its candidate; ascending."""
    run: Ints
    """[entry]: its run; ascending for each candidate."""
    rank: Ints
    """[entry]: the rank in the list, from 1. Equal run scores are ordered by item id, descending."""
    score: Floats
    """[entry]: the run score; in a run without scores, the number of items from this one to the end of the list."""
    length: Ints
    """[list]: the number of its items."""
    repeated: Ints
    """[run]: how many items were left out because an earlier one of the same list has the same id."""

    @property
    def list(self) -> Ints:
        """[entry]: its list."""
        return np.asarray(self.query[self.candidate] * self.runs + self.run)

    @property
    def candidates(self) -> Ints:
        """[query]: the number of its candidates."""
        return np.bincount(self.query, minlength=len(self.queries))

    def first_entries(self) -> Ints:
        """[candidate]: its first entry."""
        return np.flatnonzero(_starts(self.candidate))

    @classmethod
    def of(cls, queries: Sequence[str], lists: Sequence[Sequence[SomeLists]]) -> AlignedRuns:
        """Align the lists of runs, [run], each with at most one list for each of the `queries`, which are ids."""
        runs = len(lists)
        parts = [rows for run, of_run in enumerate(lists) for rows in _rows_by_lists(of_run, run, runs)]
        of_list = np.concatenate([np.zeros(0, dtype=np.int64), *(part.list for part in parts)])
        ids = joined(part.item for part in parts)
        run_score = np.concatenate([np.zeros(0), *(part.score for part in parts)])
        by_list = _list_order(of_list, ids, run_score)
        if by_list is not None:
            of_list, ids, run_score = of_list[by_list], take(ids, by_list), run_score[by_list]
        item, items = coded([ids])
        number = (of_list // runs) * max(len(items), 1) + item
        order = stable_order(number)
        new_candidate = _starts(number[order])
        run = of_list % runs
        again = ~new_candidate & ~_starts(run[order])
        repeated = np.bincount(run[order][again], minlength=runs)
        kept = np.ones(number.size, dtype=bool)
        kept[order[again]] = False
        length = np.bincount(of_list[kept], minlength=len(queries) * runs)
        rank = np.cumsum(kept) - (np.cumsum(length) - length)[of_list]
        score = np.where(np.isnan(run_score), length[of_list] - rank + 1, run_score)
        first = order[new_candidate]
        order = order[~again]
        return cls(
            queries=texts(queries),
            runs=runs,
            items=items,
            query=of_list[first] // runs,
            item=item[first],
            candidate=(np.cumsum(new_candidate) - 1)[~again],
            run=run[order],
            rank=rank[order],
            score=score[order],
            length=length,
            repeated=repeated,
        )


SomeLists = tuple[RankedLists, int, int]
"""Lists, the number of one of them, and the number of its query among those to align."""


class _Rows(NamedTuple):
    """Items of lists; each list is together, and sorted by falling score."""

    list: Ints
    item: pa.StringArray
    score: Floats
    """NaN in a run without scores."""


def _rows_by_lists(chosen: Sequence[SomeLists], run: int, runs: int) -> Iterator[_Rows]:
    """The items of the chosen lists of a run, together for each `RankedLists`."""
    grouped: dict[int, tuple[RankedLists, list[int], list[int]]] = {}
    for lists, number, query in chosen:
        _, numbers, queries = grouped.setdefault(id(lists), (lists, [], []))
        numbers.append(number)
        queries.append(query)
    for lists, numbers, queries in grouped.values():
        yield _rows(lists, np.array(numbers), np.array(queries), run, runs)


def _rows(lists: RankedLists, number: Ints, query: Ints, run: int, runs: int) -> _Rows:
    """The items of the lists with these numbers, which belong to these queries of a run."""
    position, which = ranges(lists.start[number], lists.start[number + 1])
    at = lists.order[position]
    adjacent = bool(at.size) and bool((np.diff(at) == 1).all())
    scored = lists.run_score is not None and not lists.by_rank
    return _Rows(
        list=query[which] * runs + run,
        item=lists.items[int(at[0]) : int(at[-1]) + 1] if adjacent else take(lists.items, at),
        score=lists.run_score[at] if scored and lists.run_score is not None else np.full(at.size, np.nan),
    )


def _list_order(of_list: Ints, ids: pa.StringArray, score: Floats) -> Ints | None:
    """The rows by list, tied ones by id, descending; None where they are in this order."""
    order = None if (of_list[1:] >= of_list[:-1]).all() else np.argsort(of_list, kind="stable")
    if order is not None:
        of_list, score = of_list[order], score[order]
    tied = (of_list[1:] == of_list[:-1]) & (score[1:] == score[:-1])
    if not tied.any():
        return order
    return by_id_within_ties(tied, np.arange(of_list.size) if order is None else order, ids)


def by_id_within_ties(tied: Bools, order: Ints, ids: pa.StringArray, number: Ints | None = None) -> Ints:
    """Sort tied rows by their ids, descending by bytes.

    `order` is [position]: the row; `tied` is [position - 1]: whether the row at the position ties with the one before.
    The ids are [row]; or [number], with `number`, [row], as the index of the id of each row.
    """
    within = np.append(tied, False) | np.append(False, tied)
    place = np.flatnonzero(within)
    group = np.cumsum(np.append(True, ~tied))[place]
    rows = order[place]
    id_place = id_order(take(ids, rows if number is None else number[rows]))
    result = order.copy()
    result[place] = rows[np.lexsort((-id_place, group))]
    return result


def stable_order(number: Ints) -> Ints:
    """The order that sorts numbers from 0, equal ones as they are.

    Sorting a number and its position as one integer is faster than a stable sort.
    """
    bits = max(1, int(number.size).bit_length())
    if int(number.max(initial=0)).bit_length() + bits > 63:
        return np.argsort(number, kind="stable")
    packed = number << bits | np.arange(number.size)
    packed.sort()
    return packed & ((1 << bits) - 1)


def _starts(values: Ints) -> Bools:
    """Which values differ from the one before."""
    return np.append(True, values[1:] != values[:-1])[: values.size]
