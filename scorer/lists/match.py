"""match(): the judged items of a submission, in one pass over parts of whole lists."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from scorer.errors import Findings
from scorer.limits import MB, OWN_FILES, Limits
from scorer.lists import Counts
from scorer.lists.notes import Membership, check_items, check_lengths, check_queries, short_lists
from scorer.lists.ranked_lists import BY_GRADE, FoundItems, RankedDicts, RankedLists, find
from scorer.lists.reading.arrow import fingerprints, run_starts, take
from scorer.lists.reading.blocks import Block, Ranked
from scorer.lists.reading.bytes import LimitError
from scorer.lists.solution import UNKNOWN, Solution, report_repeated
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched, Tied
from scorer.options import Missing, Ties
from scorer.wording import counted, quoted

AHEAD = 2
"""The number of parts that may wait for the one before; each takes about ten times the bytes of its block."""

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def ordered(
    pool: Executor | None, function: Callable[[Thing], Result], things: Iterable[Thing], ahead: int
) -> Iterator[Result]:
    """``map(function, things)``, where `pool` computes up to `ahead` results early; without a pool, results are lazy.

    Memory is bounded: a thing is taken only when there is room for its result.
    """
    if pool is None:
        yield from map(function, things)
        return
    waiting: deque[Future[Result]] = deque()
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


PARTITION_BYTES = 16 << 20
"""The bytes of a file with scattered lists that are matched at a time."""

MAX_PARTITIONS = 256
"""Each partition is an open file while the lists are collected."""


class TemporarySpaceError(Exception):
    """The rows take more temporary disk space than is allowed."""


def whole_lists(batches: Iterable[Ranked]) -> Iterator[list[Ranked]]:
    """The batches in parts that hold whole lists, if the rows of each query are adjacent."""
    coming = iter(batches)
    part: list[Ranked] = []
    batch = next(coming, None)
    while batch is not None:
        following = next(coming, None)
        rows = len(batch.query)
        start = rows if following is None or not rows else int(run_starts(batch.query)[-1])
        if part and rows and part[-1].query[-1].as_py() != batch.query[0].as_py():
            yield part
            part = []
        if start:
            yield [*part, batch.part(0, start)]
            part = []
        if start < rows:
            part.append(batch.part(start, rows))
        batch = following
    if part:
        yield part


def partitions_for(size: int) -> int:
    """The number of partitions for files of `size` bytes together, so that one partition at a time fits into memory."""
    return min(size // PARTITION_BYTES + 1, MAX_PARTITIONS)


def by_query(
    batches: Iterable[Ranked], partitions: int, temporary_mb: int = OWN_FILES.temporary_mb
) -> Iterator[list[Ranked]]:
    """The batches' rows in partitions on disk; all rows of a query are in one of them.

    Memory holds one batch, then one partition, at a time. The rows of a partition are in the order of the file. Raises
    TemporarySpaceError where the rows take more than `temporary_mb` MB, and OSError where they cannot be written.
    """
    from scorer.files.writing import temporary_folder  # noqa: PLC0415 (few files need it)

    with temporary_folder() as folder:
        files = [folder / str(number) for number in range(partitions)]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for batch in batches:
                partition = (fingerprints(batch.query) % np.uint64(partitions)).astype(np.int64)
                for number in np.unique(partition).tolist():
                    pickle.dump(batch.where(partition == number), streams[number])
                if sum(stream.tell() for stream in streams) > temporary_mb * MB:
                    raise TemporarySpaceError
        for file in files:
            if part := list(_read(file)):
                yield part
            file.unlink()


def _read(file: Path) -> Iterator[Ranked]:
    with file.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)  # noqa: S301 (written above, in a folder that only this process uses)


class ScatteredError(Exception):
    """The rows of a query are in several parts, so the parts cannot be matched one by one."""


def match(
    solution: Solution,
    parts: Iterable[Sequence[Ranked] | RankedDicts],
    *,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    list_length: int | None = None,
    missing: Missing = "zero",
    ties: Ties = "trec",
    tie_bounds: bool = False,
    pool: Executor | None = None,
    limits: Limits = OWN_FILES,
) -> tuple[Matched, Counts]:
    """Find the solution's items in a submission's lists.

    The parts are the submission's rows in parts of whole lists, as one part or as `whole_lists` and `by_query` make
    them; each is released after it has been matched, by the threads of the pool if there is one. `problems` receives
    the reasons to reject the submission; if there are any, the result must not be used. `notes` receives what the
    participant should know although the submission is scored. With `query_once`, a second row for a query is a
    problem. Only `list_length` ranks of each list count; None: all. With `tie_bounds`, the result has `extremes`.

    Returns the judged items found, sorted by query (in the solution's order) and rank, and the numbers of queries,
    lists and items. Raises ScatteredError where the rows of a query are in several parts, LimitError for too many
    lists.
    """
    match_part = partial(
        _match_part, solution, query_once=query_once, list_length=list_length, ties=ties, with_groups=tie_bounds
    )
    queries = solution.flagged.size
    seen = _Matches(np.zeros(queries, dtype=np.int64), np.zeros(queries, dtype=bool), Membership(solution))
    for part in ordered(pool, match_part, parts, AHEAD):
        seen.add(part)
        if seen.lists > limits.queries:
            raise LimitError(limits, "queries", f"the file has {seen.lists:,} lists or more")
    problems.extend(seen.problems)
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *seen.lengths])
    check_queries(solution, seen.answered, lengths.size, missing, problems, notes, seen.unknown)
    if seen.excluded:  # in all lists, so that the number shows nothing about the queries of the solution
        be = "is" if seen.excluded == 1 else "are"
        notes.add(0, f"{counted(seen.excluded, 'item')} {be} excluded, and removed before ranks are assigned")
    check_lengths(lengths, list_length, seen.short, notes)
    retrieved = seen.length if list_length is None else np.minimum(seen.length, list_length)
    items = int(retrieved.sum())
    possible = int(np.minimum(retrieved, solution.judged).sum())
    in_solution = seen.members.in_solution(items, possible) if len(solution.ideal) else None
    few_known = check_items(seen.members, in_solution, items, possible, notes)
    notes.extend(seen.notes)
    found = seen.joined()

    def matched_by(rule: Ties, extremes: tuple[Matched, Matched] | None = None) -> Matched:
        judged_items = _judged_items(found, solution.ideal, rule)
        judged_items = judged_items.top(list_length) if rule in ("best", "worst") else judged_items
        return Matched(judged_items, solution.ideal, retrieved, seen.answered, extremes)

    matched = matched_by(ties, (matched_by("worst"), matched_by("best")) if tie_bounds else None)
    counts = Counts(
        queries=queries,
        answered=int(seen.answered.sum()),
        unknown=len(seen.unknown),
        items=items,
        repeated=seen.repeated,
        overlong=0 if list_length is None else int((seen.length > list_length).sum()),
        in_solution=in_solution,
        few_known=few_known,
    )
    return matched, counts


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


@dataclass(slots=True, eq=False, repr=False)
class _Matches:
    """The matches of all parts so far."""

    length: Ints
    """[query of the solution]"""
    answered: Bools
    """[query of the solution]"""
    members: Membership
    unknown: set[str] = field(default_factory=set)
    lengths: list[Ints] = field(default_factory=list)
    """The lengths of all lists, those of unknown queries included."""
    lists: int = 0
    """How many lists there are, those of unknown queries included."""
    found: list[FoundItems] = field(default_factory=list)
    repeated: int = 0
    excluded: int = 0
    problems: Findings = field(default_factory=Findings)
    notes: Findings = field(default_factory=Findings)
    short: Findings = field(default_factory=Findings)

    def add(self, part: _Part) -> None:
        """Add a part. Raises ScatteredError if an earlier part has one of its queries."""
        known = part.number != UNKNOWN
        number = part.number[known]
        if self.answered[number].any() or not self.unknown.isdisjoint(part.unknown):
            raise ScatteredError
        self.answered[number] = True
        self.length[number] = part.length[known]
        self.lengths.append(part.length)
        self.lists += part.length.size
        self.unknown.update(part.unknown)
        self.found.append(part.found)
        self.repeated += part.repeated
        self.excluded += part.excluded
        self.members.add(part.members)
        self.problems.extend(part.problems)
        self.notes.extend(part.notes)
        self.short.extend(part.short)

    def joined(self) -> FoundItems:
        if len(self.found) == 1:
            return self.found[0]
        nothing = np.zeros(0, dtype=np.int64)
        query, rank, entry = (
            np.concatenate([nothing, *(getattr(found, name) for found in self.found)])
            for name in ("query", "rank", "entry")
        )
        groups = [found.tied for found in self.found if found.tied is not None]
        if self.found and not groups:
            return FoundItems(query, rank, entry)
        before, size = (
            np.concatenate([nothing, *(getattr(tied, name) for tied in groups)]) for name in ("before", "size")
        )
        return FoundItems(query, rank, entry, Tied(before, size))


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
    line = lists.line[lists.first_rows()]
    unknown = np.flatnonzero(number == UNKNOWN)
    names: list[str] = take(lists.queries, unknown).to_pylist()
    _note_unknown(names, line[unknown], notes)
    found, repeated = find(lists, solution, number, list_length, ties, notes, with_groups=with_groups)
    members = Membership.of(lists, solution, number, found, list_length)
    short = short_lists(lists, line, list_length)
    return _Part(number, names, lists.length, found, repeated, members, problems, notes, short, removed)


def _match_dicts(lists: RankedDicts, *, ties: Ties, with_groups: bool) -> _Part:
    notes = Findings()
    unknown = np.flatnonzero(lists.number == UNKNOWN)
    names = [lists.queries[at] for at in unknown.tolist()]
    _note_unknown(names, unknown + 1, notes)
    found = lists.find(ties, with_groups=with_groups)
    members = Membership(lists.solution)
    known_length = np.where(lists.number == UNKNOWN, 0, lists.length) if unknown.size else lists.length
    members.hold(lists.items, lists.number, found, known_length)
    return _Part(lists.number, names, lists.length, found, 0, members, Findings(), notes, Findings())


def _note_unknown(names: Sequence[str], line: Ints, notes: Findings) -> None:
    """Report each query that the solution does not have, at the first line of its list."""
    notes.add_each(line, lambda at: f"query {quoted(names[at])} is unknown; its list is ignored")


def _judged_items(found: FoundItems, ideal: JudgedItems, ties: Ties) -> JudgedItems:
    """The found items sorted by query, then by rank; the rule for ties decides the ranks."""
    grade, tied, rank = ideal.grade[found.entry], found.tied, found.rank
    if ties not in BY_GRADE or tied is None:
        order = np.argsort(found.query * (rank.max(initial=0) + 1) + rank)  # no two items have the same rank
        tied = None
    elif ties == "expected":
        # Sorting by grade within a group makes every digit of a sum independent of ids and lines.
        rank = tied.before + 1
        order = np.lexsort((-grade, rank, found.query))
        tied = tied.where(order)
    else:
        rank, tied = _rank_by_grade(found.query, grade, tied, ties), None
        order = np.lexsort((rank, found.query))
    entry = found.entry[order]
    known = None if ideal.subtopics is None else entry
    return JudgedItems(found.query[order], rank[order], ideal.grade[entry], ideal.tie_rank[entry], tied, known)


def _rank_by_grade(query: Ints, grade: Floats, tied: Tied, ties: Ties) -> Ints:
    """Ranks with the highest grade of each tie group first or last; unjudged items are below all grades."""
    by_grade = np.lexsort((-grade, tied.before, query))
    before, of_query = tied.before[by_grade], query[by_grade]
    new = np.append(True, (before[1:] != before[:-1]) | (of_query[1:] != of_query[:-1]))[: query.size]
    indices = np.arange(query.size)
    nth = np.empty_like(indices)
    nth[by_grade] = indices - np.maximum.accumulate(np.where(new, indices, 0))
    return tied.before + 1 + nth if ties == "best" else tied.before + tied.size - nth
