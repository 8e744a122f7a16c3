"""for_each_part(): several runs, query by query, in parts that fit into memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from typing import TypeVar

from scorer.errors import Findings, SubmissionError
from scorer.formats.reading.arrow import fingerprints
from scorer.formats.reading.bytes import BLOCK
from scorer.matching.match import ScatteredError
from scorer.matching.partition import AHEAD, ordered, partitions_for
from scorer.matching.ranked_lists import RankedLists
from scorer.runs.aligned import AlignedRuns, SomeLists
from scorer.runs.reading import Run

ITEMS_AT_ONCE = 1 << 18
"""The items of all runs that are aligned together, if they are of several queries."""

PENDING_ITEMS = 1 << 22
"""The items that may wait for the same queries in other runs, before the runs are partitioned instead."""

Result = TypeVar("Result")

Chosen = tuple[Sequence[str], Sequence[Sequence[SomeLists]]]
"""The arguments of `AlignedRuns.of`."""


def for_each_part(
    runs: Sequence[Run],
    function: Callable[[AlignedRuns], Result],
    receive: Callable[[Result], None],
    restart: Callable[[], None],
    *,
    threads: int | None = None,
) -> None:
    """Read runs, and apply a function to the lists of some queries at a time, until all queries were had once.

    Runs whose queries are in about the same order are read once, side by side. Others are partitioned by query first,
    in temporary files. Memory holds a few parts in both cases. Queries are in the order of the first run that has
    them, as far as the runs agree in their order. A query that a run does not have gets an empty list.

    Threads call `function`; `receive` gets the results in the order of the queries. Where the runs turn out to be in
    different orders, `restart` is called, and `receive` gets the results again, from the first on. Raises
    SubmissionError where a run cannot be read or is invalid, or must be read twice and cannot.
    """
    threads = threads or os.cpu_count() or 1
    small = all(0 < run.file_size <= BLOCK // 4 for run in runs)
    with ThreadPoolExecutor(threads) if threads > 1 and not small else nullcontext() as pool:

        def received(parts: Iterator[Chosen]) -> None:
            for result in ordered(pool, lambda chosen: function(AlignedRuns.of(*chosen)), parts, AHEAD):
                receive(result)

        try:
            received(_side_by_side(runs, pool))
        except ScatteredError:
            _check_second_pass(runs)
            restart()
            received(_by_partitions(runs, pool))


def _check_second_pass(runs: Sequence[Run]) -> None:
    """Raise SubmissionError for a run that cannot be read twice."""
    for run in runs:
        if not run.can_be_read_again:
            problems = Findings()
            problems.add(
                0,
                "its queries are not in the order of those of the other runs, which needs a second pass; save the run "
                "as a file",
            )
            raise SubmissionError(run.name, problems)


class _Reader:
    """A run that is being read, and the lists that wait for the other runs."""

    following: RankedLists | None
    """The next part; None at the end of the run."""
    waiting: dict[str, tuple[RankedLists, int]]
    """By query, in the order of the run."""
    items: int
    """The number of items in the waiting lists."""

    def __init__(self, run: Run, parts: Iterator[RankedLists]) -> None:
        self.run, self._parts = run, parts
        self.following, self.waiting, self.items = next(parts, None), {}, 0

    def read(self, done: set[str]) -> None:
        """Add the next part to the waiting lists. Raises ScatteredError where one of its queries was there before."""
        part = self.following
        if part is None:
            return
        self.following = next(self._parts, None)
        for number, query in enumerate(part.queries.to_pylist()):
            if query in done or query in self.waiting:
                raise ScatteredError
            self.waiting[query] = part, number
        self.items += len(part.items)

    def taken(self, query: str) -> tuple[RankedLists, int] | None:
        """Remove and return the list of a query, if the run has it."""
        ranked = self.waiting.pop(query, None)
        if ranked is not None:
            self.items -= _length(*ranked)
        return ranked


def _side_by_side(runs: Sequence[Run], pool: Executor | None) -> Iterator[Chosen]:
    """The lists of some queries at a time. Raises ScatteredError where the runs must be partitioned."""
    readers = [_Reader(run, run.lists(pool)) for run in runs]
    done: set[str] = set()
    while True:
        unfinished = [reader for reader in readers if reader.following is not None]
        ready = _ready(readers, unfinished)
        done.update(ready)
        yield from _taken(readers, ready)
        if not unfinished:
            return
        if sum(reader.items for reader in readers if reader.run.is_file) > PENDING_ITEMS:
            raise ScatteredError
        min(unfinished, key=lambda reader: reader.items).read(done)


def _ready(readers: Sequence[_Reader], unfinished: Sequence[_Reader]) -> list[str]:
    """The queries whose lists have all been read, if the runs agree in the order of their queries.

    If a query waits in all unfinished runs, then each of them is past the queries before it.
    """
    if not unfinished:
        return list(dict.fromkeys(query for reader in readers for query in reader.waiting))
    shortest = min(unfinished, key=lambda reader: len(reader.waiting))
    common = (query for query in reversed(shortest.waiting) if all(query in reader.waiting for reader in unfinished))
    last = next(common, None)
    ready: dict[str, None] = {}
    for reader in unfinished if last is not None else ():
        for query in reader.waiting:
            ready[query] = None
            if query == last:
                break
    return list(ready)


def _taken(readers: Sequence[_Reader], queries: Sequence[str]) -> Iterator[Chosen]:
    """Take the lists of the queries from the readers, `ITEMS_AT_ONCE` or one query at a time."""
    names: list[str] = []
    lists: list[list[SomeLists]] = [[] for _ in readers]
    items = 0
    for query in queries:
        taken = [reader.taken(query) for reader in readers]
        more = sum(_length(*ranked) for ranked in taken if ranked is not None)
        if names and items + more > ITEMS_AT_ONCE:
            yield names, lists
            names, lists, items = [], [[] for _ in readers], 0
        for of_run, ranked in zip(lists, taken, strict=True):
            if ranked is not None:
                of_run.append((*ranked, len(names)))
        names.append(query)
        items += more
    if names:
        yield names, lists


def _length(lists: RankedLists, number: int) -> int:
    return int(lists.start[number + 1] - lists.start[number])


def _by_partitions(runs: Sequence[Run], pool: Executor | None) -> Iterator[Chosen]:
    """The lists of some queries at a time, for runs in any orders."""
    partitions = partitions_for(sum(run.file_size for run in runs))
    readers = [_Reader(run, run.partitions(partitions, pool)) for run in runs]
    for number in range(partitions):
        for reader in readers:
            # A run has no part for a partition without any of its queries.
            part = reader.following
            if part is not None and int(fingerprints(part.queries[:1])[0]) % partitions == number:
                reader.read(set())
        yield from _taken(readers, _ready(readers, []))
