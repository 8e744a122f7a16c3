"""How many ranked items are in the solution, or among the candidate items, whatever their query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scorer.errors import Findings
from scorer.formats.reading.arrow import take
from scorer.matching.finding import FoundItems
from scorer.matching.ranked_lists import RankedLists
from scorer.matching.solution import UNKNOWN, Solution
from scorer.measures.arrays import Bools, Ints, ranges

FEW_OF_ITEMS = 100
FEW_OF_JUDGED = 10
"""Few items are known if they are fewer than one in so many of the ranked items, and of the judged items."""


@dataclass(slots=True, eq=False)
class Membership:
    """Ranked items of known queries, within the list length, that are in the solution or are not candidates."""

    in_solution: int = 0
    """As `Counts.in_solution`."""
    outside: Findings = field(default_factory=Findings)
    """Items of lists with few judged items that are not in the solution: their ids, quoted."""
    strangers: Findings = field(default_factory=Findings)
    """Items that are not candidates."""

    @classmethod
    def of(
        cls, lists: RankedLists, solution: Solution, number: Ints, found: FoundItems, list_length: int | None
    ) -> Membership:
        """The membership of some lists' items; `number` and `list_length` are as for `find`, which gave `found`."""
        members = cls()
        length = np.where(number == UNKNOWN, 0, lists.length)
        if list_length is not None:
            length = np.minimum(length, list_length)
        if len(solution.items):
            members._count_in_solution(lists, solution, number, found, length)
        if solution.candidate_set is not None:
            item = _items(lists, length, np.ones(length.size, dtype=bool))
            stranger = np.sort(item[solution.candidate_set.without(lists.items)[item]])
            members.strangers.add_each(
                lists.line_of(stranger),
                lambda at: (
                    f"item {lists.item_name(stranger[at])} of query {lists.query_name(stranger[at])} "
                    "is not a candidate item"
                ),
            )
        return members

    def _count_in_solution(
        self, lists: RankedLists, solution: Solution, number: Ints, found: FoundItems, length: Ints
    ) -> None:
        """Count judged items, which are known already. Look up the items of only those lists that have few of them."""
        judged = np.minimum(np.bincount(found.query, minlength=len(solution.queries))[number], length)
        possible = np.minimum(np.diff(solution.first_entry)[number], length)
        rare = (length > 0) & ((judged == 0) | few(judged, length, possible))
        self.in_solution = int(judged[~rare].sum())
        if not rare.any():
            return
        item = _items(lists, length, rare)
        known = solution.item_codes(take(lists.items, item)) != UNKNOWN
        self.in_solution += int(known.sum())
        outside = np.sort(item[~known])
        self.outside.add_each(lists.line_of(outside), lambda at: lists.item_name(outside[at]))

    def add(self, other: Membership) -> None:
        """Add that of other lists."""
        self.in_solution += other.in_solution
        self.outside.extend(other.outside)
        self.strangers.extend(other.strangers)


def few(known: Ints | int, items: Ints | int, judged: Ints | int) -> Bools:
    """Whether hardly any of the ranked items are known.

    Where the solution judges few items of each query, a good list has few judged items too. So `known` is compared both
    with the number of ranked items and with the number of judged items that the lists could hold.
    """
    known = np.asarray(known)
    return np.asarray((known * FEW_OF_ITEMS < items) & (known * FEW_OF_JUDGED < judged))


def _items(lists: RankedLists, length: Ints, which: Bools) -> Ints:
    """The items at the first `length` positions of the lists for which `which` is true."""
    position, _ = ranges(lists.start[:-1][which], lists.start[:-1][which] + length[which])
    return lists.order[position]
