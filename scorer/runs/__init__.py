"""Several runs for the same queries, integer-coded alike: read from files or memory, query by query, in parts that
fit into memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, FusionError, Problem, ScorerError, SubmissionError
from scorer.files import is_regular, regular_size, shown
from scorer.lists.detection import opened
from scorer.lists.match import AHEAD, ScatteredError, ordered, read_batches
from scorer.lists.ranked_lists import RankedLists
from scorer.lists.reading import memory
from scorer.lists.reading.arrow import coded, fingerprints, id_order, one_array, take, texts
from scorer.lists.reading.blocks import (
    BLOCK,
    Ranked,
    TemporarySpaceError,
    UnreadableError,
    by_query,
    partitions_for,
    whole_lists,
)
from scorer.lists.solution import Source, report_repeated
from scorer.measures.matched import Bools, Floats, Ints, ranges
from scorer.scoring.submission import Parted

Runs = Iterable[Source] | Mapping[str, Source]
"""Runs in their order, or by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The ranked lists of one system."""

    source: Source
    name: str
    """For messages: the path, or what the caller calls it."""
    format_name: str | None = None
    """The format of a file; None: it is detected."""
    _in_memory: list[Ranked] = field(default_factory=list)
    """The rows of a source in memory, once they are read: an iterator can be read once only."""

    @classmethod
    def of(cls, source: Source, name: str = "the run", format_name: str | None = None) -> Run:
        """The run in a file, a table, a dict or rows: anything that `evaluate` takes as a submission."""
        return cls(source, shown(source) if isinstance(source, str | os.PathLike) else name, format_name)

    @property
    def is_file(self) -> bool:
        """Whether the run is read from a file, a URL or standard input."""
        return isinstance(self.source, str | os.PathLike)

    @property
    def can_be_read_again(self) -> bool:
        """Whether the run can be read twice, as a pipe cannot."""
        return not isinstance(self.source, str | os.PathLike) or is_regular(self.source)

    @property
    def file_size(self) -> int:
        """The size of the file in bytes; 0 for anything else than a regular file."""
        return regular_size(self.source) or 0 if isinstance(self.source, str | os.PathLike) else 0

    def lists(self, pool: Executor | None = None, parted: Parted = whole_lists) -> Iterator[RankedLists]:
        """The lists in the parts that `parted` makes.

        Parts of `whole_lists` are in the order of the file, and a query whose rows are not adjacent is in several of
        them. With `by_query`, all rows of a query are in one part, and the others are in temporary files. Raises
        SubmissionError where the run cannot be read or is invalid. All its errors are reported together.
        """
        problems = Findings()
        rows = 0
        try:
            for lists, of_part in self._read(pool, parted, problems):
                problems.extend(of_part)
                rows += len(lists.queries)
                # After the first problem the rest is read for further problems only.
                if not problems:
                    yield lists
        except UnreadableError as error:
            problems.put(error.problem)
        except TemporarySpaceError:
            problems.add(0, "its rows take more temporary disk space than is allowed; sort them by query")
        except OSError as error:
            problems.add(0, f"the system failed while it was read: {error.strerror or error}")
        if not rows and not problems:
            problems.add(0, "the run has no lists")
        if problems:
            raise SubmissionError(self.name, problems)

    def _read(
        self, pool: Executor | None, parted: Parted, problems: Findings
    ) -> Iterator[tuple[RankedLists, Findings]]:
        """Parts of whole lists, each with its problems; those of single rows are added to `problems`."""
        if not isinstance(self.source, str | os.PathLike):
            if not self._in_memory:
                self._in_memory.append(memory.ranked_of(self.source, problems))
            yield from map(_checked, parted(self._in_memory))
            return
        with opened(self.source, self.format_name, "submission_format") as (detected, head, blocks):
            read = detected.ranked(head)
            batches, layout = read_batches(read, blocks, problems, pool), read.layout
            checked = partial(_checked, query_once=layout is not None and layout.has_lists)
            yield from ordered(pool, checked, parted(batches), AHEAD)


def runs_of(runs: Runs, submission_format: str | None, error: type[ScorerError] = FusionError) -> list[Run]:
    """The runs with their names for messages. Raises `error` for a single path."""
    if isinstance(runs, Mapping):
        return [Run.of(source, name, submission_format) for name, source in runs.items()]
    if isinstance(runs, str | os.PathLike):
        raise error("found one path; expected a list of runs, or a dict of runs by name")
    return [Run.of(source, f"run {number}", submission_format) for number, source in enumerate(runs, 1)]


def _checked(batches: Sequence[Ranked], *, query_once: bool = False) -> tuple[RankedLists, Findings]:
    """Whole lists, and what is wrong with them."""
    lists, problems = RankedLists.of(batches), Findings()
    if query_once:
        report_repeated(lists.query_of_row, lists.queries, lists.line, problems)
    lists.report_repeated_ranks(problems)
    return lists, problems


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
        parts = [rows for run, of_run in enumerate(lists) for rows in _rows(of_run, run, runs)]
        of_list = np.concatenate([np.zeros(0, dtype=np.int64), *(of_list for of_list, _, _ in parts)])
        ids = one_array(items for _, items, _ in parts)
        run_score = np.concatenate([np.zeros(0), *(score for _, _, score in parts)])
        by_list = _list_order(of_list, ids, run_score)
        if by_list is not None:
            of_list, ids, run_score = of_list[by_list], take(ids, by_list), run_score[by_list]
        item, items = coded([ids])
        number = (of_list // runs) * max(len(items), 1) + item
        order = np.argsort(number, kind="stable")
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


def _rows(chosen: Sequence[SomeLists], run: int, runs: int) -> Iterator[tuple[Ints, pa.StringArray, Floats]]:
    """The items of the chosen lists of a run, together for each `RankedLists`.

    That is the list of each, its id and its score, NaN in a run without scores; each list is sorted by falling score.
    """
    grouped: dict[int, tuple[RankedLists, list[int], list[int]]] = {}
    for lists, number, query in chosen:
        _, numbers, queries = grouped.setdefault(id(lists), (lists, [], []))
        numbers.append(number)
        queries.append(query)
    for lists, numbers, queries in grouped.values():
        position, which = ranges(lists.start[numbers], lists.start[1:][numbers])
        at = lists.order[position]
        adjacent = bool(at.size) and bool((np.diff(at) == 1).all())
        items = lists.items[int(at[0]) : int(at[-1]) + 1] if adjacent else take(lists.items, at)
        is_scored = lists.run_score is not None and not lists.by_rank
        score = lists.run_score[at] if lists.run_score is not None and is_scored else np.full(at.size, np.nan)
        yield np.array(queries)[which] * runs + run, items, score


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


def _starts(values: Ints) -> Bools:
    """Which values differ from the one before."""
    return np.append(True, values[1:] != values[:-1])[: values.size]


ITEMS_AT_ONCE = 1 << 18
"""The items of all runs that are aligned together, if they are of several queries."""

PENDING_ITEMS = 1 << 22
"""The items that may wait for the same queries in other runs, before the runs are partitioned instead."""

_Result = TypeVar("_Result")
Result_contra = TypeVar("Result_contra", contravariant=True)

Chosen = tuple[Sequence[str], Sequence[Sequence[SomeLists]]]
"""The arguments of `AlignedRuns.of`."""


class Results(Protocol[Result_contra]):
    """The results of parts of runs, in the order of the queries: a list, or a file."""

    def append(self, result: Result_contra, /) -> None:
        """Add the result of the next part."""

    def clear(self) -> None:
        """Forget all results: the parts are read again."""


def for_each_part(
    runs: Sequence[Run],
    function: Callable[[AlignedRuns], _Result],
    results: Results[_Result],
    *,
    threads: int | None = None,
) -> None:
    """Read runs, and apply a function to the lists of some queries at a time, until all queries were had once.

    Runs whose queries are in about the same order are read once, side by side. Others are partitioned by query first,
    in temporary files. Memory holds a few parts in both cases. Queries are in the order of the first run that has
    them, as far as the runs agree in their order. A query that a run does not have gets an empty list.

    Threads call `function`. Where the runs turn out to be in different orders, `results` is cleared, and gets all
    results again. Raises SubmissionError where a run cannot be read or is invalid, or must be read twice and cannot.
    """
    threads = threads or os.cpu_count() or 1
    small = all(0 < run.file_size <= BLOCK // 4 for run in runs)
    with ThreadPoolExecutor(threads) if threads > 1 and not small else nullcontext() as pool:

        def collect(parts: Iterator[Chosen]) -> None:
            for result in ordered(pool, lambda chosen: function(AlignedRuns.of(*chosen)), parts, AHEAD):
                results.append(result)

        try:
            collect(_side_by_side(runs, pool))
        except ScatteredError:
            for run in runs:
                if not run.can_be_read_again:
                    found = "its queries are not in the order of those of the other runs, which needs a second pass"
                    problem = Problem.of_form(0, f"{found}; save the run as a file")
                    raise SubmissionError(run.name, Findings([problem], 1)) from None
            results.clear()
            collect(_by_partitions(runs, pool))


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
    readers = [_Reader(run, run.lists(pool, partial(by_query, partitions=partitions))) for run in runs]
    for number in range(partitions):
        for reader in readers:
            # A run has no part for a partition without any of its queries.
            part = reader.following
            if part is not None and int(fingerprints(part.queries[:1])[0]) % partitions == number:
                reader.read(set())
        yield from _taken(readers, _ready(readers, []))
