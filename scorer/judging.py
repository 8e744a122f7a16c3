"""judge(): a submission seen through a solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scorer.errors import Findings, quoted
from scorer.formats import Ranked
from scorer.formats.arrow import integers, take
from scorer.hits import Bools, Floats, Hits, Ints, Judged
from scorer.solution import NOWHERE, Solution, coded, report_repeated

Missing = Literal["zero", "reject"]
"""What becomes of a submission that lacks a query of the solution: the query scores 0, or the file is rejected."""

Ties = Literal["trec", "order"]
"""How equal run scores are ordered: by item id, descending, as trec_eval does, or as the file lists them."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How a submission's queries and lists meet the solution's."""

    queries: int
    """In the solution."""
    answered: int
    """Of those, with a list in the submission."""
    unknown: int
    """In the submission, not in the solution; ignored."""
    items: int
    """Ranked in all, within the list length."""
    repeated: int
    """Items that stand again in the same list; each counts once."""
    overlong: int
    """Lists longer than the list length; cut there."""


def judge(
    solution: Solution,
    batches: Iterable[Ranked],
    *,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    list_length: int | None = None,
    missing: Missing = "zero",
    ties: Ties = "trec",
) -> tuple[Judged, Counts]:
    """Match the submission's lists with the solution.

    What makes the submission unfit becomes `problems`; what its reader should know all the same, `notes`. Where there
    are problems, the result is not to be used.
    """
    rows = _Rows.of(batches)
    if query_once:
        report_repeated(rows.query_of_row, rows.queries, rows.line, problems)
    number = solution.query_codes(rows.queries)
    answered = np.zeros(len(solution.queries), dtype=bool)
    answered[number[number != NOWHERE]] = True
    _check_queries(solution, rows, number, answered, missing, problems, notes)

    order, rank = _ranking(rows, ties, problems)
    length = np.bincount(rows.query, minlength=len(rows.queries))
    _check_lengths(length, list_length, notes)
    known = number[rows.query[order]] != NOWHERE
    kept = known if list_length is None else known & (rank <= list_length)
    order, rank = order[kept], rank[kept]
    first = _first_places(rows, order, rank, notes)

    retrieved = np.zeros(len(solution.queries), dtype=np.int64)
    retrieved[number[number != NOWHERE]] = length[number != NOWHERE]
    overlong = 0
    if list_length is not None:
        overlong = int((retrieved > list_length).sum())
        retrieved = np.minimum(retrieved, list_length)
    query = number[rows.query[order]]
    entry = solution.entries(query, solution.item_codes(rows.items)[rows.item[order]])
    entry[~first] = NOWHERE
    judged = Judged(found=_hits(solution, query, rank, entry), ideal=solution.ideal, retrieved=retrieved)
    counts = Counts(
        queries=len(solution.queries),
        answered=int(answered.sum()),
        unknown=int((number == NOWHERE).sum()),
        items=int(order.size),
        repeated=int((~first).sum()),
        overlong=overlong,
    )
    return judged, counts


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """A submission, integer-coded: queries and items are numbered in the order of their first appearance."""

    queries: pa.StringArray
    items: pa.StringArray
    line: Ints
    """[row]"""
    query_of_row: Ints
    """[row]"""
    row: Ints
    """[item of a list]: the row that it stands in."""
    query: Ints
    """[item of a list]: the number of its list's query."""
    item: Ints
    """[item of a list]: its number."""
    run_score: Floats | None
    """[item of a list]: the higher, the earlier in the list."""
    by_rank: bool
    """The run scores are ranks in the file, negated."""

    @classmethod
    def of(cls, batches: Iterable[Ranked]) -> _Rows:
        batches = list(batches)
        query_of_row, queries = coded(batch.query for batch in batches)
        item, items = coded(batch.item for batch in batches)
        starts = np.cumsum([0, *(len(batch.query) for batch in batches)])
        row = _joined([batch.row_of_item + start for batch, start in zip(batches, starts, strict=False)])
        by_rank = any(batch.rank is not None for batch in batches)
        run_scores = [-batch.rank.astype(float) if batch.rank is not None else batch.run_score for batch in batches]
        ordered = [score for score in run_scores if score is not None]
        return cls(
            queries=queries,
            items=items,
            line=_joined([batch.line for batch in batches]),
            query_of_row=query_of_row,
            row=row,
            query=query_of_row[row],
            item=item,
            run_score=np.concatenate(ordered) if ordered else None,
            by_rank=by_rank,
        )

    def name(self, place: int) -> str:
        """The item at a place of the arrays over items, for a message."""
        return quoted(self.items[int(self.item[place])].as_py())

    def query_name(self, place: int) -> str:
        """The query of the list that the item at a place stands in, for a message."""
        return quoted(self.queries[int(self.query[place])].as_py())


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _check_queries(
    solution: Solution,
    rows: _Rows,
    number: Ints,
    answered: Bools,
    missing: Missing,
    problems: Findings,
    notes: Findings,
) -> None:
    """Report queries that only one of the two has."""
    if not answered.any():
        if not problems:
            problems.add(0, "none of its queries is asked for; is it a submission for another track?")
        return
    first_row = np.full(len(rows.queries), rows.query_of_row.size, dtype=np.int64)
    np.minimum.at(first_row, rows.query_of_row, np.arange(rows.query_of_row.size))
    unknown = np.flatnonzero(number == NOWHERE)
    notes.add_each(
        rows.line[first_row[unknown]],
        lambda at: f"query {quoted(rows.queries[unknown[at]].as_py())} is not asked for; its list is ignored",
    )
    lacking = np.flatnonzero(~answered)
    if lacking.size:
        names = ", ".join(quoted(solution.queries[place].as_py()) for place in lacking[:5].tolist())
        names += ", ..." if lacking.size > 5 else ""
        found = f"{lacking.size:,} of {answered.size:,} queries have no list ({names})"
        if missing == "reject":
            if not problems:
                problems.add(0, f"{found}; expected a list for every query")
        else:
            notes.add(0, f"{found}; each scores 0")


def _check_lengths(length: Ints, list_length: int | None, notes: Findings) -> None:
    """Report empty lists, and those of another length than was asked for."""
    empty = int((length == 0).sum())
    if empty:
        notes.add(0, f"{_lists(empty)} empty; each scores 0")
    if list_length is None:
        return
    shorter = int(((length < list_length) & (length > 0)).sum())
    if shorter:
        notes.add(0, f"{_lists(shorter)} shorter than {list_length} items; the places that are left open earn nothing")
    longer = int((length > list_length).sum())
    if longer:
        notes.add(0, f"{_lists(longer)} longer than {list_length} items; what follows is ignored")


def _lists(count: int) -> str:
    return "1 list is" if count == 1 else f"{count:,} lists are"


def _ranking(rows: _Rows, ties: Ties, problems: Findings) -> tuple[Ints, Ints]:
    """The order that puts each query's items in ranks, list after list, and the rank of each, from 1."""
    query = rows.query
    order = np.arange(query.size)
    if rows.run_score is None:
        if (query[1:] < query[:-1]).any():
            order = np.argsort(query, kind="stable")
    else:
        score = rows.run_score
        falling = (query[1:] > query[:-1]) | ((query[1:] == query[:-1]) & (score[1:] <= score[:-1]))
        if not falling.all():
            order = np.lexsort((-score, query))
        tied = np.flatnonzero((query[order][1:] == query[order][:-1]) & (score[order][1:] == score[order][:-1]))
        if tied.size and rows.by_rank:
            again = order[tied + 1]
            problems.add_each(
                rows.line[rows.row[again]],
                lambda at: (
                    f"rank {-score[again[at]]:.0f} stands again for query {rows.query_name(again[at])}; "
                    "each rank may stand once"
                ),
            )
        elif tied.size and ties == "trec":
            places = np.union1d(tied, tied + 1)
            order[places] = order[places][_by_name(rows, score, order[places])]
    ordered = query[order]
    place = np.arange(query.size)
    start = np.maximum.accumulate(np.where(np.append(True, ordered[1:] != ordered[:-1])[: query.size], place, 0))
    return order, place - start + 1


def _by_name(rows: _Rows, score: Floats, tied: Ints) -> Ints:
    """The order of these items by query, falling score, and id, the last in the byte order first, as trec_eval does."""
    numbers, which = np.unique(rows.item[tied], return_inverse=True)
    ascending = integers(pc.sort_indices(take(rows.items, numbers)))
    name_order = np.empty(numbers.size, dtype=np.int64)
    name_order[ascending] = np.arange(numbers.size)
    return np.lexsort((-name_order[which], -score[tied], rows.query[tied]))


def _first_places(rows: _Rows, order: Ints, rank: Ints, notes: Findings) -> Bools:
    """Which of the ranked items stand in their list for the first time; the others are reported."""
    first = np.ones(order.size, dtype=bool)
    key = rows.query[order] * len(rows.items) + rows.item[order]
    ascending = np.sort(key)
    if not (ascending[1:] == ascending[:-1]).any():
        return first
    by_key = np.argsort(key, kind="stable")
    start = np.append(True, key[by_key][1:] != key[by_key][:-1])
    first[by_key] = start
    places = np.flatnonzero(start)
    times = np.diff(places, append=key.size)
    again = places[times > 1]
    # In the order of the lists, each repeated item once, at the line where it stands again first.
    again = again[np.argsort(by_key[again + 1])]
    times = times[np.searchsorted(places, again)]
    row = rows.row[order[by_key[again + 1]]]
    notes.add_each(
        rows.line[row],
        lambda at: (
            f"item {rows.name(order[by_key[again[at]]])} stands {_times(times[at])} for query "
            f"{rows.query_name(order[by_key[again[at]]])} (first at place {rank[by_key[again[at]]]}); "
            "each item may stand once"
        ),
    )
    return first


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def _hits(solution: Solution, query: Ints, rank: Ints, entry: Ints) -> Hits:
    """The judged items among the ranked, sorted by the solution's order of queries, then rank."""
    judged = np.flatnonzero(entry != NOWHERE)
    judged = judged[np.lexsort((rank[judged], query[judged]))]
    ideal = solution.ideal
    return Hits(
        query=query[judged],
        rank=rank[judged],
        grade=ideal.grade[entry[judged]],
        tie_rank=ideal.tie_rank[entry[judged]],
    )
