"""The ranked lists of a submission, from a file or from dicts, and the ranks of a solution's items in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.errors import Fact, Findings, Problem
from scorer.lists import ALL_EQUAL, EQUAL_SCORES
from scorer.lists.reading.arrow import (
    MOST_ROUNDS,
    ODD,
    booleans,
    coded,
    fingerprints,
    id_order,
    keep,
    one_array,
    pc,
    run_starts,
    take,
    texts,
)
from scorer.lists.reading.blocks import Ranked, UnreadableError
from scorer.lists.solution import UNKNOWN, Excluded, Solution, is_excluded, plain_dicts, plain_numbers
from scorer.measures.matched import ONE, Bools, Floats, Ints, Tied, distinct, ranges
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
    def of(cls, batches: Sequence[Ranked], excluded: Excluded | None = None) -> RankedLists:
        """The lists in the batches without excluded items; the rows of a query may be scattered over the batches."""
        query_of_row, queries = coded(batch.query for batch in batches)
        first_row = np.cumsum([0, *(len(batch.query) for batch in batches)])
        row = _concatenated([batch.row_of_item + first for batch, first in zip(batches, first_row, strict=False)])
        scores = [-batch.rank.astype(float) if batch.rank is not None else batch.run_score for batch in batches]
        stated = [score for score in scores if score is not None]
        run_score = np.concatenate(stated) if stated else None
        items = one_array(batch.item for batch in batches)
        if excluded is not None:
            kept = ~is_excluded(excluded, take(queries, query_of_row[row]), items)
            row, items, run_score = row[kept], keep(items, kept), None if run_score is None else run_score[kept]
        query = query_of_row[row]
        return cls(
            queries=queries,
            line=_concatenated([batch.line for batch in batches]),
            query_of_row=query_of_row,
            row=row,
            query=query,
            items=items,
            run_score=run_score,
            by_rank=any(batch.rank is not None for batch in batches),
            order=_order(query, run_score),
            start=np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(queries)))]),
        )

    @property
    def length(self) -> Ints:
        return np.diff(self.start)

    def line_of(self, item: Ints) -> Ints:
        """The line numbers of these items."""
        return self.line[self.row[item]]

    def item_id(self, item: int) -> str:
        """The id of an item."""
        return str(self.items[int(item)])

    def query_id(self, item: int) -> str:
        """The id of an item's query."""
        return str(self.queries[int(self.query[item])])

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
                f"rank {-score[repeated[at]]:.0f} is given twice for query {quoted(self.query_id(repeated[at]))}; "
                "give each rank once"
            ),
        )

    def tie_groups(self, position: Ints) -> Tied:
        """The tie groups of the items at these positions."""
        starts, group = self._groups_at(position)
        return Tied(starts[group] - self.start[self.query[self.order[position]]], np.diff(starts)[group])

    def ranks_by_id(self, position: Ints) -> Ints:
        """The ranks of the items at these positions, none of which is listed again; tied ones by id, descending."""
        rank = position - self.start[self.query[self.order[position]]] + 1
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


def _concatenated(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _order(query: Ints, run_score: Floats | None) -> Ints:
    """The items by list, then by falling run score. Items that are in this order already are not sorted."""
    same, later = query[1:] == query[:-1], query[1:] > query[:-1]
    if run_score is None:
        return np.arange(query.size) if (same | later).all() else np.argsort(query, kind="stable")
    if (later | (same & (run_score[1:] <= run_score[:-1]))).all():
        return np.arange(query.size)
    return np.lexsort((-run_score, query))


MANY_TIED = 20
"""Equal run scores are noted where one item in so many has that of the item before."""


@dataclass(slots=True)
class Order:
    """What the batches of a submission say about the order of its lists."""

    note: Problem | None = None
    """The first note of a batch."""
    score: float | None = None
    """The run score of the first row."""
    is_tied: bool = True
    """Whether all rows have that run score."""
    tied: int = 0
    """The items with the run score of the item before them in their list, of all `items`."""
    items: int = 0
    last: tuple[object, float] | None = None
    """The query and the run score of the last item."""

    def of(self, batches: Iterable[Ranked], tag: str) -> Iterator[Ranked]:
        """Yield the batches, and look at each. Raises UnreadableError without rows of a chosen run tag; *: any tag."""
        for batch in batches:
            self.note = self.note or batch.note
            self.items += len(batch.item)
            if batch.run_score is None:
                self.is_tied = self.is_tied and not len(batch.item)
            elif len(batch.item):
                self.score = float(batch.run_score[0]) if self.score is None else self.score
                self.is_tied = self.is_tied and bool((batch.run_score == self.score).all())
                self._count_tied(batch, batch.run_score)
            yield batch
        if tag != "*" and self.score is None:
            raise UnreadableError(f"no row has the run tag {quoted(tag)}; choose a tag of the file")

    def _count_tied(self, batch: Ranked, score: Floats) -> None:
        query = batch.query
        if batch.lengths is not None:  # whole lists, whose items may be in any order
            query, score = take(query, batch.row_of_item), score[_order(batch.row_of_item, score)]
        same = score[1:] == score[:-1]
        if same.any():
            same[run_starts(query)[1:] - 1] = False
        self.tied += int(same.sum()) + ((query[0], float(score[0])) == self.last)
        self.last = query[-1], float(score[-1])

    def check(self, ties: Ties, notes: Findings, *, judged_tie: bool) -> bool:
        """Report ranks that contradict the run scores, and many equal run scores; return whether there are those.

        Equal run scores of which not all are equal are reported only with `judged_tie`: judged items may have them.
        """
        if self.is_tied and self.tied and ties == "trec":
            notes.note(0, ALL_EQUAL, score=0.0 if self.score is None else self.score)
            return True
        if self.note is not None:
            notes.put(self.note)
        are_many = judged_tie and ties == "trec" and self.tied > 0 and self.tied * MANY_TIED >= self.items
        if are_many:
            notes.note(0, EQUAL_SCORES, count=self.tied, items=self.items, share=self.tied / self.items)
        return are_many


BY_GRADE: tuple[Ties, ...] = ("expected", "best", "worst")
"""The rules for ties that need the tie groups, but neither the ids nor the lines of the items."""

ABSENT = -1


@dataclass(slots=True, eq=False, repr=False)
class FoundItems:
    """The judged items that were found in ranked lists."""

    rank: Ints
    """[found item]: from 1."""
    entry: Ints
    """[found item]: its index in the solution's `ideal`."""
    tied: Tied | None = None
    """[found item]: its tie group, if requested."""

    def where(self, kept: Bools) -> FoundItems:
        tied = None if self.tied is None else self.tied.where(kept)
        return FoundItems(self.rank[kept], self.entry[kept], tied)


def find(
    lists: RankedLists,
    solution: Solution,
    number: Ints,
    list_length: int | None,
    ties: Ties,
    notes: Findings,
    *,
    with_groups: bool = False,
) -> tuple[FoundItems, int]:
    """Return the judged items that are in the lists, a repeated one at its first rank, and the number of repetitions.

    `number` is [list]: its query's number in the solution, or `UNKNOWN`. Under a rule for ties that orders by grade,
    ranks are as listed, and the tie groups are found; `with_groups` finds them under every rule. Each repeated item is
    noted.
    """
    with_groups = with_groups or ties in BY_GRADE
    found = _by_fingerprint(lists, solution, number, ties, with_groups)
    if found is None:
        return _by_id(lists, solution, number, list_length, ties, notes, with_groups)
    return found if list_length is None else found.where(within(found.rank, found.tied, list_length)), 0


def _by_fingerprint(
    lists: RankedLists, solution: Solution, number: Ints, ties: Ties, with_groups: bool
) -> FoundItems | None:
    """As `find`, for lists without repeated items; None where the fingerprints do not rule them out.

    Each item becomes one integer: its list in the high bits, then a hash of its id. The solution's items are looked up
    among them. If they all differ, no item is repeated. The ids of all matches are compared in the end, so the result
    is exact.
    """
    known = np.flatnonzero(number != UNKNOWN)
    entry, which = ranges(solution.first_entry[number[known]], solution.first_entry[number[known] + 1])
    list_of_entry = known[which]
    keys = _keys(lists, np.repeat(np.arange(lists.length.size), lists.length), fingerprints(lists.items)[lists.order])
    wanted = _keys(lists, list_of_entry, solution.ids.fingerprints[entry])
    position = indices_of(wanted, keys)
    if position is None:
        return None
    is_found = np.flatnonzero(position != ABSENT)
    entry, position = entry[is_found], position[is_found]
    item = lists.order[position]
    ids = take(solution.items, solution.ids.item_of_entry[entry])
    if not booleans(pc.equal(take(lists.items, item), ids)).all():
        return None
    tied = lists.tie_groups(position) if with_groups else None
    by_id = ties == "trec" and lists.run_score is not None
    rank = lists.ranks_by_id(position) if by_id else position - lists.start[lists.query[item]] + 1
    return FoundItems(rank, entry, tied)


def _keys(lists: RankedLists, of_list: Ints, fingerprint: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The integers of `_by_fingerprint`."""
    bits = np.uint64(max(1, len(lists.queries).bit_length()))
    return (of_list.astype(np.uint64) << (np.uint64(64) - bits)) | (fingerprint >> bits)


def indices_of(wanted: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Ints | None:
    """Return the index in `keys` of each wanted key, or ABSENT.

    None if a key repeats, or if the keys collide too often. All keys are written into a table at once, at a hash of
    each. Of the keys with the same hash, one remains; the others, and the wanted keys that were not found, are left for
    another table with another hash.
    """
    found = np.full(wanted.size, ABSENT)
    sought, left = np.arange(wanted.size), np.arange(keys.size)
    for _ in range(MOST_ROUNDS):
        if not left.size:
            return found
        wanted, keys = wanted * ODD, keys * ODD
        bits = left.size.bit_length() + 1
        slot, shift = np.arange(left.size, dtype=np.int32), np.uint64(64 - bits)
        hashes = (keys >> shift).astype(np.int64)
        table = np.zeros(1 << bits, dtype=np.int32)
        table[hashes] = slot
        winner = table[hashes]
        lost = np.flatnonzero(winner != slot)
        if (keys[winner[lost]] == keys[lost]).any():
            return None
        at = table[(wanted >> shift).astype(np.int64)]
        hit = keys[at] == wanted
        found[sought[hit]] = left[at[hit]]
        missed = np.flatnonzero(~hit)
        sought, wanted, left, keys = sought[missed], wanted[missed], left[lost], keys[lost]
    return None


def _by_id(
    lists: RankedLists,
    solution: Solution,
    number: Ints,
    list_length: int | None,
    ties: Ties,
    notes: Findings,
    with_groups: bool,
) -> tuple[FoundItems, int]:
    """As `find`, for any lists, by comparing ids."""
    code, ids = coded([lists.items])
    order = lists.order
    if ties == "trec" and lists.run_score is not None:
        order = np.lexsort((-id_order(ids)[code], -lists.run_score, lists.query))
    query, rank = lists.ranks()
    tied = lists.tie_groups(np.arange(order.size)) if with_groups else None
    kept = number[query] != UNKNOWN
    if list_length is not None:
        kept &= within(rank, tied, list_length)
    order, query, rank = order[kept], query[kept], rank[kept]
    first = _first_occurrences(lists, order, code, len(ids), rank, notes)
    entry = solution.ids.entries(number[query], solution.ids.item_codes(ids)[code[order]])
    found = first & (entry != UNKNOWN)
    if tied is not None:
        is_relevant = solution.ideal.tie_rank[entry[found]] > 0
        tied = _with_copies(lists, np.flatnonzero(kept), code[order], found, is_relevant)
    return FoundItems(rank[found], entry[found], tied), int((~first).sum())


def _with_copies(lists: RankedLists, position: Ints, code: Ints, found: Bools, is_relevant: Bools) -> Tied:
    """Return the tie groups of the found items: a further row of a relevant item is none of the items of its group."""
    tied = lists.tie_groups(position)
    group = position - lists.ranks()[1][position] + 1 + tied.before
    _, row, copies = np.unique(np.stack([group, code]), axis=1, return_inverse=True, return_counts=True)
    tied = Tied(tied.before, tied.size, tied.size, copies[row.reshape(-1)]).where(found)
    further = np.bincount(group[found], (tied.with_copies[1] - 1) * is_relevant, minlength=lists.order.size)
    return replace(tied, size=tied.size - further.astype(np.int64)[group[found]])


def _first_occurrences(lists: RankedLists, order: Ints, code: Ints, ids: int, rank: Ints, notes: Findings) -> Bools:
    """Which of the ranked items are the first of their id in their list. The other ones are reported."""
    key = lists.query[order] * ids + code[order]
    by_key = np.argsort(key, kind="stable")
    start = np.append(True, key[by_key][1:] != key[by_key][:-1])[: key.size]
    first = np.empty(key.size, dtype=bool)
    first[by_key] = start
    starts = np.flatnonzero(start)
    times = np.diff(starts, append=key.size)
    repeated = starts[times > 1]
    # One note for each repeated item, at the line of its second occurrence.
    repeated = repeated[np.argsort(order[by_key[repeated + 1]])]
    times = times[np.searchsorted(starts, repeated)]

    def facts(at: int) -> dict[str, Fact]:
        item, first_rank = order[by_key[repeated[at]]], int(rank[by_key[repeated[at]]])
        ids: dict[str, Fact] = {"item": lists.item_id(item), "query": lists.query_id(item), "rank": first_rank}
        return {**ids, "times": int(times[at]), "variant": "twice" if times[at] == 2 else "often"}

    notes.note_each(lists.line_of(order[by_key[repeated + 1]]), "repeated-item", facts)
    return first


CHEAPER = 4
"""A judged item is looked up in a list in about a quarter of the time of the reverse: judged items are adjacent in
memory."""

AT_ONCE = 1000
"""About how many items are read at once: all of them fit into the processor's cache."""


def _looked_up(getters: Iterable[Callable[..., Any]], ids: Iterable[Iterable[Any]], default: float) -> NDArray[Any]:
    """Return the value that each getter has for each of its ids, one after the other, or the default."""
    return np.fromiter(chain.from_iterable(map(map, getters, ids, repeat(repeat(default)))), type(default))


@dataclass(slots=True, eq=False, repr=False)
class RankedDicts:
    """Whole ranked lists: dicts from the id of an item to its run score."""

    solution: Solution
    queries: tuple[str, ...]
    """[list]: the id of its query."""
    number: Ints
    """[list]: its query's number in the solution, or UNKNOWN."""
    are_all: bool
    """Whether the lists are those of all queries of the solution, in its order, and none is empty."""
    lists: tuple[dict[str, Any], ...]
    length: Ints
    """[list]: the number of its items."""
    run_score: Floats
    """[item]: in the order of the dicts."""
    entry: Ints
    """[found item]: the index in the solution's `ideal` of the first item of its query with the same grade; by list.

    Such items are the same, but for their ids.
    """
    found_score: Floats
    """[found item]: its run score."""
    are_sought: bool
    """Whether the found items of each list are in the order of the solution's judged items, not in that of the list."""

    @classmethod
    def of(cls, source: object, solution: Solution) -> RankedDicts | None:
        """Return the lists of query -> item -> run score.

        None for everything that the general reader has to convert or to report: lists without run scores, ids that are
        not plain text, run scores that are not finite numbers, and solutions with subtopics or items that are not.
        """
        if solution.ideal.subtopics is not None or (whole := plain_dicts(source)) is None:
            return None
        if not solution.has_plain_items:
            return None
        (names, lists), lookup = whole, solution.lookup
        number, lengths = [lookup.number.get(name, UNKNOWN) for name in names], [*map(len, lists)]
        judged = [{} if query == UNKNOWN else lookup.grades[query] for query in number]
        are_sought = sum(map(len, judged)) < CHEAPER * sum(lengths)
        run_scores, entries, found_scores = [], [], []
        step = 1 + AT_ONCE * len(lists) // (1 + sum(lengths))
        for first in range(0, len(lists), step):
            part = slice(first, first + step)
            if (scores := plain_numbers(lists[part])) is None:
                return None
            # Each id is looked up once: most of the time is that of reading ids from memory.
            if are_sought:
                own = _looked_up([listed.get for listed in lists[part]], judged[part], math.nan)
                entry = _concatenated([lookup.entries_of(query) for query in number[part] if query != UNKNOWN])
                is_found = np.isfinite(own)
            else:
                grades = map(map, [each.get for each in judged[part]], lists[part])
                own, entry = scores, _looked_up([lookup.first[query].get for query in number[part]], grades, UNKNOWN)
                is_found = entry != UNKNOWN
            run_scores.append(scores)
            entries.append(entry[is_found])
            found_scores.append(own[is_found])
        return cls(
            solution,
            names,
            np.array(number),
            number == [*range(solution.flagged.size)] and all(lengths),
            lists,
            np.array(lengths),
            _concatenated(run_scores),
            _concatenated(entries),
            _concatenated(found_scores),
            are_sought,
        )

    def check(self, ties: Ties, notes: Findings, *, judged_tie: bool) -> bool:
        """As `Order.check`; equal run scores are counted only if there is something to say about them."""
        score = self.run_score
        is_tied = score.size > 0 and bool(score[0] == score[-1] and (score == score[0]).all())
        note = Problem(0, "rising") if self._rises else None
        if not (is_tied or note or judged_tie):
            return False
        first, tied = float(score[0]) if score.size else None, self._tied if is_tied or judged_tie else 0
        return Order(note, first, is_tied, tied, score.size).check(ties, notes, judged_tie=judged_tie)

    @property
    def _rises(self) -> bool:
        """Whether each list is in rising order of its run scores, in ten places or more: fewer may be by chance."""
        if self.length[0] > 1 and self.run_score[1] <= self.run_score[0]:
            return False
        begins = np.bincount(np.cumsum(self.length), minlength=self.run_score.size + 1)[1:-1] > 0
        steps = np.diff(self.run_score)[~begins]
        return steps.size >= 10 and bool((steps > 0).all())

    @property
    def _tied(self) -> int:
        """The number of items with the run score of the item before them in their list."""
        cost, start = self._rising_cost(), self._start
        same = np.append(False, cost[1:] == cost[:-1])[: cost.size]
        same[start[self.length > 0]] = False
        return int(same.sum())

    def items(self, which: Bools) -> tuple[pa.StringArray, Ints]:
        """Return the ids of the items in the lists for which `which` is true, and the place, from 1, of the list."""
        chosen = np.flatnonzero(which)
        ids = texts(chain.from_iterable(self.lists[place] for place in chosen.tolist()))
        return ids, np.repeat(chosen + 1, self.length[chosen])

    def find(self, ties: Ties, *, with_groups: bool) -> FoundItems:
        """Find the solution's items in the lists; the parameters and the result are those of `find`."""
        place = self.solution.ideal.query[self.entry]
        if not self.are_all:
            by_number = self.number.argsort()
            place = by_number[self.number.searchsorted(place, sorter=by_number)]
        tied = self._tie_groups(place)
        rank = tied.before + ONE
        if ties in BY_GRADE:
            return FoundItems(rank, self.entry, tied)
        (in_group,) = (tied.size > ONE).nonzero()
        if not in_group.size:
            return FoundItems(rank, self.entry)
        rank[in_group] += self._earlier_in_group(place, in_group, tied, ties)
        return FoundItems(rank, self.entry, tied if with_groups else None)

    @property
    def _start(self) -> Ints:
        return np.cumsum(self.length) - self.length

    def _tie_groups(self, place: Ints) -> Tied:
        cost, wanted = self._rising_cost(), -self.found_score
        if self.length.size == 1:
            before = cost.searchsorted(wanted)
            return Tied(before, cost.searchsorted(wanted, "right") - before)
        start = self._start
        begin = _first_at(cost, wanted, start[place], self.length[place])
        # Whether an item is the last one of its tie group.
        last = np.append(cost[1:] != cost[:-1], True)
        last[start + self.length - 1] = True
        in_group = np.flatnonzero(~last[begin])
        size = np.ones_like(begin)
        if in_group.size:
            lasts = np.flatnonzero(last)
            size[in_group] += lasts[np.searchsorted(lasts, begin[in_group])] - begin[in_group]
        return Tied(begin - start[place], size)

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

    def _earlier_in_group(self, place: Ints, which: Ints, tied: Tied, ties: Ties) -> Ints:
        """[item of `which`]: the number of items of its tie group before it; `place` is [found item]: its list."""
        earlier = []
        start, current = self._start.tolist(), -1
        groups: dict[int, dict[str, int]] = {}
        columns = (column[which].tolist() for column in (place, tied.before, tied.size))
        for nth_found, of, before, size in zip(which.tolist(), *columns, strict=True):
            if of != current:
                current, groups, ids = of, {}, [*self.lists[of]]
                listed, judged = self.lists[of], self.solution.lookup.grades[self.number[of]]
                found_ids = [
                    name for name in (judged if self.are_sought else listed) if name in judged and name in listed
                ]
                first_found = int(place.searchsorted(of))
                falling = np.argsort(-self.run_score[start[of] : start[of] + len(ids)], kind="stable")
            if before not in groups:
                members = [ids[nth] for nth in falling[before : before + size].tolist()]
                if ties == "trec":
                    members.sort(reverse=True)
                groups[before] = {name: nth for nth, name in enumerate(members)}
            earlier.append(groups[before][found_ids[nth_found - first_found]])
        return np.array(earlier, dtype=np.int64)


def _first_at(ascending: Floats, wanted: Floats, first: Ints, length: Ints) -> Ints:
    """[wanted]: the lowest index of the value among so many from `first`, where the array ascends and has the value."""
    # What comes before `found` is lower. The last value of a list is not, so a step that goes too far is not taken.
    found, last = first.copy(), first + length - 1
    for step in (1 << power for power in reversed(range(int(length.max(initial=0)).bit_length()))):
        found += step * (ascending[np.minimum(found + (step - 1), last)] < wanted)
    return found
