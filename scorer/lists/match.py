"""match(): the judged items of a submission, in one pass over parts of whole lists."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from scorer.errors import MOST_SHOWN, Fact, Findings, Problem
from scorer.limits import OWN_FILES, Limits
from scorer.lists import NO_QUERY_KNOWN, SCORES_NOTHING, Counts
from scorer.lists.ranked_lists import BY_GRADE, FoundItems, RankedDicts, RankedLists, find
from scorer.lists.reading.arrow import coded, plain_spelling, take, texts
from scorer.lists.reading.blocks import Block, LimitError, Ranked
from scorer.lists.solution import UNKNOWN, Solution, codes, first_rows, is_excluded, is_plain, report_repeated
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched, Tied, ranges
from scorer.options import Missing, Ties
from scorer.wording import counted, quoted

AHEAD = 2
"""The number of parts that may wait for the one before; each takes about ten times the bytes of its block."""

Thing = TypeVar("Thing")
_Result = TypeVar("_Result")


def ordered(
    pool: Executor | None, function: Callable[[Thing], _Result], things: Iterable[Thing], ahead: int
) -> Iterator[_Result]:
    """``map(function, things)``, where `pool` computes up to `ahead` results early; without a pool, results are lazy.

    Memory is bounded: a thing is taken only when there is room for its result.
    """
    if pool is None:
        yield from map(function, things)
        return
    waiting: deque[Future[_Result]] = deque()
    try:
        for thing in things:
            waiting.append(pool.submit(function, thing))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def read_batches(
    read: Callable[[Block, Findings], Ranked],
    blocks: Iterable[Block],
    problems: Findings,
    pool: Executor | None,
    limits: Limits = OWN_FILES,
) -> Iterator[Ranked]:
    """Return the rows of each block, with problems in the order of the blocks. Raises LimitError: too many items."""

    def read_apart(block: Block) -> tuple[Ranked, Findings]:
        found = Findings()
        return read(block, found), found

    items = 0
    for batch, found in ordered(pool, read_apart, blocks, AHEAD):
        problems.extend(found)
        items += len(batch.item)
        if items > limits.items:
            raise LimitError(limits, "items", f"the lists have {items:,} items or more")
        yield batch


class ScatteredError(Exception):
    """The rows of a query are in several parts, so the parts cannot be matched one by one."""


def match(
    solution: Solution,
    parts: Iterable[Sequence[Ranked]] | RankedDicts,
    *,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    list_length: int | None = None,
    missing: Missing = "zero",
    needs_lists: bool = True,
    ties: Ties = "trec",
    tie_bounds: bool = False,
    pool: Executor | None = None,
    limits: Limits = OWN_FILES,
) -> tuple[Matched, Counts]:
    """Find the solution's items in a submission's lists.

    The parts are the submission's rows in parts of whole lists, as one part or as `whole_lists` and `by_query` make
    them; each is released after it has been matched, by the threads of the pool if there is one. `problems` receives
    the reasons to reject the submission; if there are any, the result must not be used. `notes` receives what the
    participant should know although the submission is scored. A second row for a query is a problem with `query_once`,
    no row at all with `needs_lists`. Only `list_length` ranks of each list count; None: all. With `tie_bounds`, the
    result has `extremes` if judged items tie.

    Returns the judged items found, sorted by query (in the solution's order) and rank, and the numbers of queries,
    lists and items. Raises ScatteredError where the rows of a query are in several parts, LimitError for too many
    lists.
    """
    if isinstance(parts, RankedDicts) and (whole := _match_whole(parts, ties, tie_bounds)) is not None:
        return whole
    match_part = partial(
        _match_part, solution, query_once=query_once, list_length=list_length, ties=ties, with_groups=tie_bounds
    )
    queries = solution.flagged.size
    seen = _Matches(np.zeros(queries, dtype=np.int64), np.zeros(queries, dtype=bool), Membership(solution))
    for part in ordered(pool, match_part, [parts] if isinstance(parts, RankedDicts) else parts, AHEAD):
        seen.add(part)
        if seen.lists > limits.queries:
            raise LimitError(limits, "queries", f"the file has {seen.lists:,} lists or more")
    short, found_notes = Findings(), Findings()
    for part in seen.parts:
        problems.extend(part.problems)
        found_notes.extend(part.notes)
        short.extend(part.short)
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(part.length for part in seen.parts)])
    if lengths.size:
        check_queries(solution, seen.answered, missing, problems, notes, seen.unknown)
    elif not problems:
        (problems if needs_lists else notes).add(0, "the file has no rows")
    if removed := sum(part.excluded for part in seen.parts):
        # In all lists, so that the number shows nothing about the queries of the solution.
        notes.note(0, "excluded", count=removed)
    check_lengths(lengths, list_length, short, notes)
    retrieved = seen.length if list_length is None else np.minimum(seen.length, list_length)
    items = int(retrieved.sum())
    possible = int(np.minimum(retrieved, solution.judged).sum())
    in_solution = seen.members.in_solution(items, possible) if len(solution.ideal) else None
    few_known = check_items(seen.members, in_solution, items, possible, notes)
    notes.extend(found_notes)
    matched = _matched(seen.joined(), solution.ideal, retrieved, seen.answered, ties, tie_bounds, list_length)
    if solution.checked is not None:
        found, ideal, of = seen.joined(again=True), solution.checked.ideal, solution.checked_queries
        again = _matched(found, ideal, retrieved[of], seen.answered[of], ties, False, list_length)
        matched = replace(matched, checked=again)
    counts = Counts(
        queries=queries,
        answered=int(seen.answered.sum()),
        unknown=len(seen.unknown),
        items=items,
        repeated=sum(part.repeated for part in seen.parts),
        overlong=0 if list_length is None else int((seen.length > list_length).sum()),
        in_solution=in_solution,
        few_known=few_known,
    )
    return matched, counts


def _match_whole(lists: RankedDicts, ties: Ties, tie_bounds: bool) -> tuple[Matched, Counts] | None:
    """As `match`, for the lists of all queries in order with so many judged items that there is nothing to say."""
    queries, items, judged = lists.solution.flagged.size, lists.run_score.size, lists.entry.size
    if not (lists.are_all and judged and judged * FEW_OF_ITEMS >= items):
        return None
    found, answered = lists.find(ties, with_groups=tie_bounds), lists.length.astype(np.bool_)
    matched = _matched(found, lists.solution.ideal, lists.length, answered, ties, tie_bounds, None)
    return matched, Counts(queries, queries, 0, items, 0, 0, judged, False)


def _matched(
    found: FoundItems, ideal: JudgedItems, retrieved: Ints, answered: Bools, ties: Ties, bounds: bool, top: int | None
) -> Matched:
    own, extremes = _judged_items(found, ideal, ties, top), None
    if bounds and found.tied is not None and (found.tied.with_copies[0] > 1).any():
        worst, best = (_judged_items(found, ideal, rule, top) for rule in ("worst", "best"))
        extremes = Matched(worst, ideal, retrieved, answered), Matched(best, ideal, retrieved, answered)
    return Matched(own, ideal, retrieved, answered, extremes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Part:
    """The matches of one part."""

    number: Ints
    """[list]: the query's number in the solution, or UNKNOWN."""
    unknown: list[str]
    """The ids of unknown queries."""
    length: Ints
    """[list]: the number of its items."""
    found: FoundItems
    repeated: int
    members: Membership
    problems: Findings
    notes: Findings
    short: Findings
    """As `short_lists` returns them."""
    excluded: int = 0
    """The number of items that were removed."""
    found_again: FoundItems | None = None
    """Those that the second solution has, by its queries; None without one."""


@dataclass(slots=True, eq=False, repr=False)
class _Matches:
    """The matches of all parts so far."""

    length: Ints
    """[query of the solution]"""
    answered: Bools
    """[query of the solution]"""
    members: Membership
    unknown: set[str] = field(default_factory=set)
    parts: list[_Part] = field(default_factory=list)
    lists: int = 0
    """How many lists there are, those of unknown queries included."""

    def add(self, part: _Part) -> None:
        """Add a part. Raises ScatteredError if an earlier part has one of its queries."""
        known = part.number != UNKNOWN
        number = part.number[known]
        if self.answered[number].any() or not self.unknown.isdisjoint(part.unknown):
            raise ScatteredError
        self.answered[number] = True
        self.length[number] = part.length[known]
        self.lists += part.length.size
        self.unknown.update(part.unknown)
        self.parts.append(part)
        self.members.add(part.members)

    def joined(self, *, again: bool = False) -> FoundItems:
        """All items that were found; with `again`, those that the second solution has."""
        every = [found for part in self.parts if (found := part.found_again if again else part.found) is not None]
        if len(every) == 1:
            return every[0]
        nothing = np.zeros(0, dtype=np.int64)
        parts = [(nothing, nothing), *((found.rank, found.entry) for found in every)]
        rank, entry = map(np.concatenate, zip(*parts, strict=True))
        groups = [(found.tied.before, found.tied.size, *found.tied.with_copies) for found in every if found.tied]
        return FoundItems(rank, entry, Tied(*map(np.concatenate, zip(*groups, strict=True))) if groups else None)


def _match_part(
    solution: Solution,
    batches: Sequence[Ranked] | RankedDicts,
    *,
    query_once: bool,
    list_length: int | None,
    ties: Ties,
    with_groups: bool,
) -> _Part:
    if isinstance(batches, RankedDicts):
        return _match_dicts(batches, ties=ties, with_groups=with_groups)
    lists = RankedLists.of(batches, solution.excluded)
    removed = sum(len(batch.item) for batch in batches) - len(lists.items)
    problems, notes = Findings(), Findings()
    if query_once:
        report_repeated(lists.query_of_row, lists.queries, lists.line, problems)
    lists.report_repeated_ranks(problems)
    number = solution.query_codes(lists.queries)
    line = lists.line[first_rows(lists.query_of_row)]
    unknown = np.flatnonzero(number == UNKNOWN)
    names: list[str] = take(lists.queries, unknown).to_pylist()
    notes.note_each(line[unknown], "unknown-query", lambda at: {"query": names[at]})
    found, repeated = find(lists, solution, number, list_length, ties, notes, with_groups=with_groups)
    members = Membership.of(lists, solution, number, found, list_length)
    short, again = short_lists(lists, line, list_length), None
    if solution.checked is not None:
        of_checked = solution.checked.query_codes(lists.queries)
        again, _ = find(lists, solution.checked, of_checked, list_length, ties, Findings(), with_groups=with_groups)
    return _Part(number, names, lists.length, found, repeated, members, problems, notes, short, removed, again)


def _match_dicts(lists: RankedDicts, *, ties: Ties, with_groups: bool) -> _Part:
    notes = Findings()
    unknown = np.flatnonzero(lists.number == UNKNOWN)
    names = [lists.queries[at] for at in unknown.tolist()]
    notes.note_each(unknown + 1, "unknown-query", lambda at: {"query": names[at]})
    found = lists.find(ties, with_groups=with_groups)
    members = Membership(lists.solution)
    known_length = np.where(lists.number == UNKNOWN, 0, lists.length) if unknown.size else lists.length
    members.hold(lists.items, lists.number, found, known_length)
    return _Part(lists.number, names, lists.length, found, 0, members, Findings(), notes, Findings())


def _judged_items(found: FoundItems, ideal: JudgedItems, ties: Ties, top: int | None) -> JudgedItems:
    """The found items sorted by query, then by rank; the rule for ties decides the ranks, of which `top` count."""
    tied, rank, query = found.tied, found.rank, ideal.query[found.entry]
    if ties in BY_GRADE and tied is not None:
        grade = ideal.grade[found.entry]
        rank = tied.before + 1 if ties == "expected" else _rank_by_grade(query, grade, tied, ties)
    if ties == "expected" and tied is not None:
        # Sorting by grade within a group makes every digit of a sum independent of ids and lines.
        order = np.lexsort((-grade, rank, query))
        tied = tied.where(order)
    else:
        order, tied = (query * _MOST_RANKS + rank).argsort(), None  # no two items have the same rank
    items = JudgedItems.listed(ideal, found.entry[order], rank[order], tied)
    return items.top(top) if ties in ("best", "worst") else items


_MOST_RANKS = np.array(1 << 32)
"""More than any list has."""


def _rank_by_grade(query: Ints, grade: Floats, tied: Tied, ties: Ties) -> Ints:
    """Ranks with the highest grade of each tie group first or last, then with all rows of an item that is listed twice;
    unjudged items are below all grades.
    """
    rows, copies = tied.with_copies
    by_grade = np.lexsort((copies, -grade, tied.before, query))
    before, of_query, end = tied.before[by_grade], query[by_grade], np.cumsum(copies[by_grade])
    new = np.append(True, (before[1:] != before[:-1]) | (of_query[1:] != of_query[:-1]))[: query.size]
    rank, indices = np.empty_like(query), np.arange(query.size)
    first = np.maximum.accumulate(np.where(new, indices, 0))
    rank[by_grade] = (
        1 + before + (indices - first if ties == "best" else rows[by_grade] - end + (end - copies[by_grade])[first])
    )
    return rank


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
    """Held items that are not in the solution: their ids."""
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
        if plain_spelling(lists.items) is not lists.items or not solution.has_plain_items:
            ids = take(lists.items, _items(lists, length, every))
            members.alike = _spelled_alike(ids, solution.items, solution.plain_items)
        if solution.candidates is not None:
            item = _items(lists, length, every)
            stranger = np.sort(item[solution.are_strangers(lists.items)[item]])
            members.strangers.note_each(
                lists.line_of(stranger),
                "stranger",
                lambda at: {"item": lists.item_id(stranger[at]), "query": lists.query_id(stranger[at])},
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
        query = self.solution.ideal.query[found.entry]
        judged = np.minimum(np.bincount(query, minlength=self.solution.flagged.size)[number], length)
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
        other.held.clear()  # items that were looked up need no memory any more
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
            unknown = np.flatnonzero(self.solution.ids.item_codes(ids) == UNKNOWN)
            self.looked_up += len(ids) - unknown.size
            self.outside.add_each(line[unknown], take(ids, unknown[:MOST_SHOWN]).to_pylist().__getitem__)
        self.held.clear()


def few(known: Ints | int, items: Ints | int, possible: Ints | int) -> Bools:
    """Whether hardly any of the ranked items are known.

    Where the solution judges few items of each query, a good list has few judged items too. So `known` is compared both
    with the number of ranked items and with the number of judged items that the lists could hold.
    """
    return np.asarray((known * FEW_OF_ITEMS < items) & (known * FEW_OF_JUDGED < possible))


def _items(lists: RankedLists, length: Ints, which: Bools) -> Ints:
    """The items at the first `length` positions of the lists for which `which` is true."""
    position, _ = ranges(lists.start[:-1][which], lists.start[:-1][which] + length[which])
    return lists.order[position]


_EXAMPLES = 5
"""The number of queries or items that a message names."""


def _spelled_alike(ids: pa.StringArray, known: pa.StringArray, plain_known: pa.StringArray) -> int:
    """Return how many unknown ids differ from known ones only in what `plain_spelling` changes."""
    plain = plain_spelling(ids)
    if plain is ids and plain_known is known:
        return 0
    code = coded([plain_known, plain])[0]
    would_be_known = code[len(known) :] <= code[: len(known)].max(initial=-1)
    return int((would_be_known & (codes(ids, known) == UNKNOWN)).sum())


def _written_as_decimals(unknown: Collection[str], known: pa.StringArray) -> dict[str, Fact]:
    """Facts on unknown ids such as ``43.0``, of which the number ``43`` is known; empty without one."""
    decimals = [name for name in unknown if name.endswith(".0")]
    if not decimals:
        return {}
    numbers = texts([name.removesuffix(".0") for name in decimals])
    which = np.flatnonzero(codes(numbers, known) != UNKNOWN)
    if not which.size:
        return {}
    first, more = min(which.tolist(), key=decimals.__getitem__), int(which.size - 1)
    variant = "decimals" if more else "decimal"
    return {"variant": variant, "found": decimals[first], "expected": numbers[first].as_py(), "more": more}


SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "upper and lower case": str.casefold,
    "zeros at the beginning": lambda name: name.lstrip("0"),
    "the end .0": lambda name: name.removesuffix(".0"),
    "a prefix": lambda name: re.split("[:_/-]", name, maxsplit=1)[-1],
    "a suffix": lambda name: re.split("[_.#-]", name, maxsplit=1)[0],
}
"""What ids may differ in, and what they are without it."""


def _texts(findings: Findings) -> list[str]:
    return [str(problem.facts["text"]) for problem in findings]


def difference(unknown: Sequence[str], known: Sequence[str]) -> dict[str, Fact]:
    """Return facts: an unknown id and a known one, and what they differ in if that is found."""
    for what, plain in SPELLINGS.items():
        by_plain = {plain(name): name for name in reversed(known)}
        if (found := next((name for name in unknown if plain(name) in by_plain), None)) is not None:
            return {"variant": "spelling", "found": found, "expected": by_plain[plain(found)], "what": what}
    return {"variant": "ids", "found": unknown[0], "expected": known[0]}


def check_queries(
    solution: Solution,
    answered: Bools,
    missing: Missing,
    problems: Findings,
    notes: Findings,
    unknown: Collection[str] = (),
) -> None:
    """Report queries without a list, and unknown ones like known ones, unless the file has other problems."""
    if problems:
        return
    lacking = np.flatnonzero(~answered)
    known = solution.queries
    are_plain = solution.plain_queries is known and is_plain(unknown)
    count = 0 if are_plain else _spelled_alike(texts(unknown), known, solution.plain_queries)
    decimals = {} if count else _written_as_decimals(unknown, known)
    if lacking.size == answered.size:
        facts: dict[str, Fact] = {"variant": "alike", "count": count} if count else decimals
        if not facts and unknown and len(known):
            facts = difference(sorted(unknown), known.to_pylist())
        problems.note(0, NO_QUERY_KNOWN, **(facts or {"variant": "plain"}))
        return
    if count:
        notes.note(0, "alike", variant="queries", count=count)
    elif decimals:
        notes.note(0, "decimals", **decimals)
    if lacking.size:
        ids = [solution.queries[number].as_py() for number in lacking[:_EXAMPLES].tolist()]
        ids += [""] if lacking.size > _EXAMPLES else []
        into = problems if missing == "reject" else notes
        into.note(0, "no-list", variant=missing, count=int(lacking.size), queries=int(answered.size), ids=ids)


def short_lists(lists: RankedLists, line: Ints, list_length: int | None) -> Findings:
    """The lists that have items, but fewer than the list length: ``query "q1" with 2``.

    `line` is [list]: where each begins.
    """
    short = Findings()
    if list_length is not None:
        which = np.flatnonzero((lists.length < list_length) & (lists.length > 0))
        which = which[np.argsort(line[which], kind="stable")]
        short.note_each(
            line[which],
            "short-list",
            lambda at: {"query": lists.queries[int(which[at])].as_py(), "items": int(lists.length[which[at]])},
        )
    return short


def check_lengths(length: Ints, list_length: int | None, short: Findings, notes: Findings) -> None:
    """Report empty lists, and lists that are shorter or longer than the list length."""
    empty = int((length == 0).sum())
    if empty:
        notes.note(0, "empty-lists", count=empty)
    if list_length is None:
        return
    if short:
        first, variant = short.shown[0], "one" if short.count == 1 else "several"
        notes.note(
            first.line,
            "short-lists",
            **{**first.facts, "variant": variant, "count": short.count, "length": list_length},
        )
    longer = int((length > list_length).sum())
    if longer:
        notes.note(0, "long-lists", count=longer, length=list_length)


def check_items(members: Membership, in_solution: int | None, items: int, possible: int, notes: Findings) -> bool:
    """Report if hardly any items are in the solution, and items that are not candidates.

    Participants read this once final scores are shown: it shows ids of the submission only. Returns whether hardly any
    items are in the solution.
    """
    few_known = in_solution is not None and items > 0 and (not in_solution or bool(few(in_solution, items, possible)))
    if few_known:
        # The number would tell a team which items are judged for queries that are hidden.
        example = next(iter(_texts(members.outside)), "")
        notes.note(0, "few-known", variant="example" if example else "plain", items=items, example=example)
        if members.outside:
            notes.note(0, "items-differ", **difference(_texts(members.outside), members.solution.items.to_pylist()))
    if members.alike:
        notes.note(0, "alike", variant="items", count=members.alike)
    if members.strangers:
        count, shown = members.strangers.count, members.strangers.shown[:_EXAMPLES]
        total = Problem(0, "strangers", {"variant": "one" if count == 1 else "several", "count": count, "items": items})
        if count == items and members.solution.candidates is not None:
            ids = [str(problem.facts["item"]) for problem in members.strangers]
            facts = difference(ids, members.solution.candidates.to_pylist())
            total = Problem(0, SCORES_NOTHING, {"items": items, **facts})
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
