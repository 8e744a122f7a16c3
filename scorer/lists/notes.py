"""The problems and notes about a submission as a whole: its queries, its lists' lengths, and its items.

The items are those that the solution lists for any query, and those that are not candidate items.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, Problem
from scorer.lists import ALIKE, FEW_KNOWN, NO_LIST
from scorer.lists.ranked_lists import FoundItems, RankedLists
from scorer.lists.reading.arrow import coded, keep, plain_spelling, run_starts, take, texts
from scorer.lists.reading.blocks import Ranked
from scorer.lists.reading.bytes import UnreadableError
from scorer.lists.solution import UNKNOWN, Solution, codes, is_excluded
from scorer.measures.matched import Bools, Ints, ranges
from scorer.options import Missing, Ties
from scorer.wording import counted, quoted

FEW_OF_ITEMS = 100
FEW_OF_JUDGED = 10
"""Few items are known if they are fewer than one in so many of the ranked items, and of the judged items."""

MAX_HELD = 1 << 20
"""The number of items that are held before they are looked up in the solution."""


@dataclass(slots=True, eq=False, repr=False)
class Membership:
    """Ranked items of known queries, within the list length, that are in the solution or are not candidates.

    The judged items are known from the match. Items of lists with few judged items are held, because looking them up is
    needed only if the whole submission has few.
    """

    solution: Solution
    judged: int = 0
    """Items that are judged for their own query."""
    held: list[tuple[pa.StringArray, Ints]] = field(default_factory=list)
    """Ids and line numbers of items in lists with few judged items."""
    held_judged: int = 0
    """The judged items of all lists whose items are or were held."""
    looked_up: int = 0
    """Held items that are in the solution."""
    outside: Findings = field(default_factory=Findings)
    """Held items that are not in the solution: their ids, quoted."""
    strangers: Findings = field(default_factory=Findings)
    """Items that are not candidates."""
    alike: int = 0
    """Items that are not in the solution, but would be in Unicode's form NFC."""

    @classmethod
    def of(
        cls, lists: RankedLists, solution: Solution, number: Ints, found: FoundItems, list_length: int | None
    ) -> Membership:
        """The membership of some lists' items; `number` and `list_length` are as for `find`, which gave `found`."""
        members = cls(solution)
        length = np.where(number == UNKNOWN, 0, lists.length)
        if list_length is not None:
            length = np.minimum(length, list_length)

        def items(which: Bools) -> tuple[pa.StringArray, Ints]:
            item = np.sort(_items(lists, length, which))
            return take(lists.items, item), lists.line_of(item)

        members.hold(items, number, found, length)
        every = np.ones(length.size, dtype=bool)
        if plain_spelling(lists.items) is not lists.items or solution.plain_items is not solution.items:
            ids = take(lists.items, _items(lists, length, every))
            members.alike = _spelled_alike(ids, solution.items, solution.plain_items)
        if solution.candidate_set is not None:
            item = _items(lists, length, every)
            stranger = np.sort(item[solution.candidate_set.without(lists.items)[item]])
            members.strangers.add_each(
                lists.line_of(stranger),
                lambda at: (
                    f"item {lists.item_name(stranger[at])} of query {lists.query_name(stranger[at])} "
                    "is not a candidate item"
                ),
            )
        return members

    def hold(
        self, items: Callable[[Bools], tuple[pa.StringArray, Ints]], number: Ints, found: FoundItems, length: Ints
    ) -> None:
        """Count the judged items of some lists, and hold the items of those that have few.

        `items` returns the ids and the lines of the items in the lists that a mask has. `length` is [list]: how many of
        its items count, 0 for an unknown query. `number` and `found` are as for `of`.
        """
        if not len(self.solution.ideal):
            return
        judged = np.minimum(np.bincount(found.query, minlength=self.solution.flagged.size)[number], length)
        self.judged = int(judged.sum())
        if not (judged * FEW_OF_ITEMS < length).any():
            return
        possible = np.minimum(self.solution.judged[number], length)
        rare = (length > 0) & ((judged == 0) | few(judged, length, possible))
        self.held_judged = int(judged[rare].sum())
        if rare.any():
            self.held.append(items(rare))

    def add(self, other: Membership) -> None:
        self.judged += other.judged
        self.held_judged += other.held_judged
        self.held += other.held
        self.strangers.extend(other.strangers)
        self.alike += other.alike
        if sum(len(ids) for ids, _ in self.held) > MAX_HELD:
            self._look_up()

    def in_solution(self, items: int, possible: int) -> int:
        """As `Counts.in_solution`, of so many ranked items and so many judged items that the lists could hold."""
        if self.judged and not few(self.judged, items, possible):
            return self.judged
        self._look_up()
        return self.judged - self.held_judged + self.looked_up

    def _look_up(self) -> None:
        for ids, line in self.held:
            known = self.solution.ids.item_codes(ids) != UNKNOWN
            self.looked_up += int(known.sum())
            self.outside.add_each(line[~known], partial(_name, take(ids, np.flatnonzero(~known))))
        self.held.clear()


def few(known: Ints | int, items: Ints | int, possible: Ints | int) -> Bools:
    """Whether hardly any of the ranked items are known.

    Where the solution judges few items of each query, a good list has few judged items too. So `known` is compared both
    with the number of ranked items and with the number of judged items that the lists could hold.
    """
    return np.asarray((known * FEW_OF_ITEMS < items) & (known * FEW_OF_JUDGED < possible))


def _name(ids: pa.StringArray, at: int) -> str:
    return quoted(ids[at].as_py())


def _items(lists: RankedLists, length: Ints, which: Bools) -> Ints:
    """The items at the first `length` positions of the lists for which `which` is true."""
    position, _ = ranges(lists.start[:-1][which], lists.start[:-1][which] + length[which])
    return lists.order[position]


EXAMPLES = 5
"""The number of queries or items that a message names."""


def _spelled_alike(ids: pa.StringArray, known: pa.StringArray, plain_known: pa.StringArray) -> int:
    """Return how many unknown ids differ from known ones only in what `plain_spelling` changes."""
    plain = plain_spelling(ids)
    if plain is ids and plain_known is known:
        return 0
    code = coded([plain_known, plain])[0]
    would_be_known = code[len(known) :] <= code[: len(known)].max(initial=-1)
    return int((would_be_known & (codes(ids, known) == UNKNOWN)).sum())


def check_queries(
    solution: Solution,
    answered: Bools,
    lists: int,
    missing: Missing,
    problems: Findings,
    notes: Findings,
    unknown: Collection[str] = (),
) -> None:
    """Report queries without a list, and unknown ones like known ones, unless the file has other problems."""
    if problems:
        return
    if not lists:
        problems.add(0, "the file has no rows")
        return
    lacking = np.flatnonzero(~answered)
    known = solution.queries
    count = _spelled_alike(texts(unknown), known, plain_spelling(known)) if unknown else 0
    alike = f"{ALIKE}{counted(count, 'unknown query', 'unknown queries')} would be known" if count else ""
    if lacking.size == answered.size:
        expected = alike or "check that the file is a submission for this track"
        problems.add(0, f"none of its queries is known; {expected}")
        return
    if alike:
        notes.add(0, alike)
    if lacking.size:
        names = ", ".join(quoted(solution.queries[number].as_py()) for number in lacking[:EXAMPLES].tolist())
        names += ", ..." if lacking.size > EXAMPLES else ""
        found = f"{lacking.size:,} of {answered.size:,}{NO_LIST}{names})"
        if missing == "reject":
            problems.add(0, f"{found}; expected a list for every query")
        elif missing == "skip":
            notes.add(0, f"{found}; the means leave them out")
        else:
            notes.add(0, f"{found}; each scores 0, unless nothing is relevant to it")


def short_lists(lists: RankedLists, line: Ints, list_length: int | None) -> Findings:
    """The lists that have items, but fewer than the list length: ``query "q1" with 2``.

    `line` is [list]: where each begins.
    """
    short = Findings()
    if list_length is not None:
        which = np.flatnonzero((lists.length < list_length) & (lists.length > 0))
        which = which[np.argsort(line[which], kind="stable")]
        short.add_each(
            line[which],
            lambda at: f"query {quoted(lists.queries[int(which[at])].as_py())} with {lists.length[which[at]]:,}",
        )
    return short


def check_lengths(length: Ints, list_length: int | None, short: Findings, notes: Findings) -> None:
    """Report empty lists, and lists that are shorter or longer than the list length."""
    empty = int((length == 0).sum())
    if empty:
        notes.add(0, f"{_lists(empty)} empty; each scores 0, unless nothing is relevant to its query")
    if list_length is None:
        return
    if short:
        first, the = short.shown[0], "that" if short.count == 1 else "the first that"
        found = f"{_lists(short.count)} shorter than {list_length} items, {the} of {first.text}"
        notes.add(first.line, f"{found}; unused ranks earn nothing")
    longer = int((length > list_length).sum())
    if longer:
        notes.add(0, f"{_lists(longer)} longer than {list_length} items; later items are ignored")


ALL_EQUAL = "all run scores are equal"
"""Begins the note about a run whose lists have no order but that of ties."""


@dataclass(slots=True)
class Order:
    """What the batches of a submission say about the order of its lists."""

    note: Problem | None = None
    """The first note of a batch."""
    score: float | None = None
    """The run score of the first row."""
    is_tied: bool = True
    """Whether all rows have that run score."""
    has_several: bool = False
    """Whether a list has several items."""
    query: pa.StringScalar | None = None
    """That of the last row with items."""

    def of(self, batches: Iterable[Ranked], tag: str) -> Iterator[Ranked]:
        """Yield the batches, and look at each. Raises UnreadableError without rows of a chosen run tag; *: any tag."""
        for batch in batches:
            self.note = self.note or batch.note
            if self.is_tied and len(batch.item):
                scores = batch.run_score
                self.score = float(scores[0]) if self.score is None and scores is not None else self.score
                self.is_tied = scores is not None and bool((scores == self.score).all())
                query = batch.query if batch.lengths is None else keep(batch.query, batch.lengths > 0)
                goes_on = query[0] == self.query
                self.has_several |= len(batch.item) > len(run_starts(query)) - goes_on
                self.query = query[-1]
            yield batch
        if tag != "*" and self.score is None:
            raise UnreadableError(f"no row has the run tag {quoted(tag)}; choose a tag of the file")

    def check(self, ties: Ties, notes: Findings) -> None:
        """Report ranks that contradict the run scores, and run scores that are all equal."""
        if self.is_tied and self.has_several and ties == "trec":
            notes.add(
                0,
                f"{ALL_EQUAL} ({self.score:g}), so only the rule for ties orders the lists, by item id, descending; "
                "write scores that fall with the rank",
            )
        elif self.note is not None:
            notes.add(self.note.line, self.note.text)


def check_items(members: Membership, in_solution: int | None, items: int, possible: int, notes: Findings) -> bool:
    """Report if hardly any items are in the solution, and items that are not candidates.

    Participants read this once final scores are shown: it shows ids of the submission only. Returns whether hardly any
    items are in the solution.
    """
    few_known = in_solution is not None and items > 0 and (not in_solution or bool(few(in_solution, items, possible)))
    if few_known:
        # The number would tell a team which items are judged for queries that are hidden.
        found = f"{FEW_KNOWN}{counted(items, 'item')} is in the solution"
        outside = next((f" (for example, {problem.text} is not)" for problem in members.outside), "")
        notes.add(0, f"{found}{outside}; check that the ids are those of this track")
    if members.alike:
        notes.add(0, f"{ALIKE}{counted(members.alike, 'more item')} would be in the solution")
    if members.strangers:
        count, shown = members.strangers.count, members.strangers.shown[:EXAMPLES]
        verb = "is not a candidate item" if count == 1 else "are not candidate items"
        total = Problem(0, f"{count:,} of its {counted(items, 'item')} {verb}; check the ids")
        notes.extend(Findings([total, *shown], 1 + len(shown)))
    return few_known


def excluded_note(solution: Solution) -> str:
    """Return how many excluded items are relevant, for those who may know the solution; "" without any."""
    if solution.excluded is None:
        return ""
    queries, items = take(solution.queries, solution.ideal.query), take(solution.items, solution.ids.item_of_entry)
    relevant = np.flatnonzero(is_excluded(solution.excluded, queries, items) & (solution.ideal.tie_rank > 0))
    if not relevant.size:
        return ""
    item, query = (quoted(ids[int(relevant[0])].as_py()) for ids in (items, queries))
    found = (
        f"{counted(relevant.size, 'excluded item')} {'is' if relevant.size == 1 else 'are'} relevant by the solution"
    )
    return f"{found}, as {item} of query {query}: no list can have it, but the ideal list does; correct one of the two"


def _lists(count: int) -> str:
    return f"{counted(count, 'list')} {'is' if count == 1 else 'are'}"
