"""Solution: the graded items of every query, integer-coded for matching."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.errors import ContentError, Findings, SolutionError
from scorer.formats.detection import opened
from scorer.formats.reading.arrow import coded, fingerprints, id_order, take, texts
from scorer.formats.reading.batches import ITERATION_HINT, Graded
from scorer.formats.reading.blocks import Lines, blocks
from scorer.formats.reading.bytes import UnreadableError, open_bytes
from scorer.matching.exclusions import Excluded
from scorer.matching.subtopics import NO_ITERATIONS, Iterations, MergedRows
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.matched import JudgedItems
from scorer.paths import shown
from scorer.wording import quoted

UNKNOWN = -1
"""The number of a query or an item that the solution does not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdSet:
    """A set of ids, held as 64-bit fingerprints. pyarrow's `is_in` builds its table again at every call."""

    fingerprints: NDArray[np.uint64]
    """Ascending, each once."""
    shift: np.uint64
    """A fingerprint without this many low bits is its bucket."""
    start: Ints
    """[bucket + 1]: where in `fingerprints` each bucket begins, and the end of the last one."""

    @classmethod
    def of(cls, ids: pa.StringArray) -> IdSet:
        """The set of these ids."""
        sorted_ids = np.unique(fingerprints(ids))
        bits = max(1, sorted_ids.size.bit_length())
        shift = np.uint64(64 - bits)
        sizes = np.bincount((sorted_ids >> shift).astype(np.int64), minlength=1 << bits)
        return cls(sorted_ids, shift, np.append(0, np.cumsum(sizes)))

    def without(self, ids: pa.StringArray) -> Bools:
        """Which of the ids are not in the set. An id with the fingerprint of another one in the set is missed."""
        wanted = fingerprints(ids)
        bucket = (wanted >> self.shift).astype(np.int64)
        at, end = self.start[bucket], self.start[bucket + 1]
        absent = np.ones(wanted.size, dtype=bool)
        left = np.flatnonzero(at < end)
        while left.size:
            found = self.fingerprints[at[left]]
            absent[left[found == wanted[left]]] = False
            at[left] += 1
            left = left[(found < wanted[left]) & (at[left] < end[left])]
        return absent


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """The graded items of every query. Queries and items are numbered from 0 in order of first appearance."""

    queries: pa.StringArray
    """[query]: ids."""
    flagged: Bools
    """[query]: whether it counts for the preliminary board."""
    items: pa.StringArray
    """[item]: ids, each once."""
    ideal: JudgedItems
    """Every graded item, by query, the highest grade first."""
    keys: Ints
    """[entry]: ascending; query number * len(items) + item number."""
    entry_of_key: Ints
    """[entry]: the index in `ideal` of that key's item."""
    item_of_entry: Ints
    """[entry of `ideal`]: the item's number."""
    fingerprints: NDArray[np.uint64]
    """[entry of `ideal`]: the item's."""
    first_entry: Ints
    """[query + 1]: the index in `ideal` at which each query's entries begin, and the end of the last one."""
    candidates: pa.StringArray | None = None
    """The public list of candidate items; None where the track has none."""
    candidate_set: IdSet | None = None
    """The same as a set."""
    iterations: Iterations = NO_ITERATIONS
    """Where the subtopics are from, if that is a column called iteration."""
    excluded: Excluded | None = None
    """The items that are removed from lists before ranks are assigned; None: none are."""

    @property
    def entries_by_id(self) -> list[dict[str, int]]:
        """[query]: the index in `ideal` of each of its items by id, in that order; made once."""

        def compute() -> list[dict[str, int]]:
            entries = enumerate(take(self.items, self.item_of_entry).to_pylist())
            return [{item: entry for entry, item in islice(entries, count)} for count in np.diff(self.first_entry)]

        return self.ideal.cached("entries by id", compute)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], format_name: str | None = None, *, digest: str | None = None
    ) -> Solution:
        """Read a solution from a file.

        Parameters
        ----------
        path
            A path or a URL.
        format_name
            The file's format, with options as in ``letor:feature=21``; None: it is detected.
        digest
            The SHA-256 that the file must have, in hexadecimal; None: any.

        Raises
        ------
        SolutionError
            The file cannot be read or is invalid, or has another digest. All errors are reported together.
        """
        findings, kind = Findings(), SolutionError
        solution, read_bytes = None, None if digest is None else hashlib.sha256()
        try:
            with opened(path, format_name, "solution_format", read_bytes) as (detected, head, content):
                read = detected.graded(head)
                batches = [read(block, findings) for block in content]
                kind = SolutionError if findings else ContentError
                form = detected.format
                rules = {"query_once": form.QUERY_ONCE, "listed_is_relevant": form.LISTED_IS_RELEVANT}
                solution = cls.of(batches, findings, **rules)
        except UnreadableError as error:
            findings.add(error.line, str(error))
        if read_bytes is not None and read_bytes.hexdigest() != digest:
            findings.add(0, "the file changed while it was read; run again when it is complete")
        if findings or solution is None:
            raise kind(shown(path), findings)
        return solution

    @classmethod
    def of(
        cls,
        batches: Sequence[Graded],
        findings: Findings,
        *,
        query_once: bool = False,
        listed_is_relevant: bool = False,
    ) -> Solution:
        """Make a solution of batches of graded rows, in the order of the file.

        `findings` receives all that is invalid; if there is anything, the result must not be used. With `query_once`, a
        second row for a query is invalid. With `listed_is_relevant`, items of any grade are relevant to Rp and MARp;
        else only those with grades above 0 are.
        """
        if not any(len(batch.query) for batch in batches):
            if not findings:
                findings.add(0, "the file has no rows")
            return cls.of_queries([])
        row_code, queries = coded(batch.query for batch in batches)
        line = np.concatenate([batch.line for batch in batches])
        if query_once:
            report_repeated(row_code, queries, line, findings)
        flagged = _flags(batches, row_code, queries, line, findings)
        item_code, items = coded(batch.item for batch in batches)
        starts = np.cumsum([0, *(len(batch.query) for batch in batches)])
        row = np.concatenate([batch.row_of_item + start for batch, start in zip(batches, starts, strict=False)])
        grade = np.concatenate([batch.grade for batch in batches])
        query = row_code[row]

        key = query * len(items) + item_code
        merged = MergedRows.of(batches, key, grade)
        if merged is None:
            by_key = np.argsort(key, kind="stable")
            again = np.sort(by_key[1:][key[by_key][1:] == key[by_key][:-1]])
        else:
            again = merged.repeated

        def subtopic(at: int) -> str:
            return "" if merged is None else f" for a subtopic, here {quoted(merged.names[at].as_py())}"

        def report(again: Ints, into: Findings, hint: str = "") -> None:
            into.add_each(
                line[row[again]],
                lambda at: (
                    f"item {quoted(items[item_code[again[at]]].as_py())} is listed again for query "
                    f"{quoted(queries[query[again[at]]].as_py())}; list each item once{hint or subtopic(again[at])}"
                ),
            )

        report(again, findings)
        repeated = Findings()
        if merged is not None:
            report(np.delete(np.arange(key.size), merged.row), repeated, ITERATION_HINT)
            query, item_code, key = query[merged.row], item_code[merged.row], key[merged.row]
            row_grade, grade = grade, merged.grade
            by_key = np.argsort(key)
        best_first = np.lexsort((-grade, query))
        index = np.empty_like(best_first)
        index[best_first] = np.arange(len(best_first))
        ideal = _ideal(query[best_first], grade[best_first], listed_is_relevant)
        if merged is not None:
            subtopics = merged.subtopics(best_first, ideal.query, item_code[best_first], id_order(items), row_grade)
            ideal = replace(ideal, entry=np.arange(len(ideal)), subtopics=subtopics)
        if not findings and not (ideal.tie_rank > 0).any():
            findings.add(0, "no query has a relevant item, so nothing can be scored; expected grades above 0")
        return cls(
            queries=queries,
            flagged=flagged,
            items=items,
            ideal=ideal,
            keys=key[by_key],
            entry_of_key=index[by_key],
            item_of_entry=item_code[best_first],
            fingerprints=fingerprints(items)[item_code[best_first]],
            first_entry=np.searchsorted(ideal.query, np.arange(len(queries) + 1)),
            iterations=Iterations.of(batches, merged, repeated),
        )

    @classmethod
    def of_queries(cls, queries: Iterable[str]) -> Solution:
        """A solution with queries and no items, to check a submission against."""
        ids = texts(dict.fromkeys(queries))
        none = np.zeros(0, dtype=np.int64)
        nothing = JudgedItems(query=none, rank=none, grade=none.astype(float), tie_rank=none)
        return cls(
            queries=ids,
            flagged=np.zeros(len(ids), dtype=bool),
            items=texts([]),
            ideal=nothing,
            keys=none,
            entry_of_key=none,
            item_of_entry=none,
            fingerprints=none.astype(np.uint64),
            first_entry=np.zeros(len(ids) + 1, dtype=np.int64),
        )

    @classmethod
    def read_queries(cls, path: str | os.PathLike[str]) -> Solution:
        """As `of_queries`, from a file with one query id a line. Raises SolutionError."""
        return cls.of_queries(read_ids(path).to_pylist())

    def with_flags(self, flagged: Bools) -> Solution:
        """The same solution with other preliminary queries: `flagged` is [query]."""
        return replace(self, flagged=flagged)

    def with_candidates(self, items: pa.StringArray | Iterable[str]) -> Solution:
        """The same solution with a public list of candidate items."""
        candidates = items if isinstance(items, pa.StringArray) else texts(items)
        return replace(self, candidates=candidates, candidate_set=IdSet.of(candidates))

    def example_item(self) -> str | None:
        """The id of one item, to show to the organiser only; None if there are no items."""
        return self.items[0].as_py() if len(self.items) else None

    def query_codes(self, queries: pa.StringArray) -> Ints:
        """The number of each query, or UNKNOWN."""
        return _codes(queries, self.queries)

    def item_codes(self, items: pa.StringArray) -> Ints:
        """The number of each item, or UNKNOWN."""
        return _codes(items, self.items)

    def entries(self, query: Ints, item: Ints) -> Ints:
        """The index in `ideal` of each pair of a query and an item, or UNKNOWN where the item is not judged."""
        found = np.full(query.size, UNKNOWN, dtype=np.int64)
        if not self.keys.size:
            return found
        known = np.flatnonzero((query >= 0) & (item >= 0))
        key = query[known] * len(self.items) + item[known]
        at = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
        match = self.keys[at] == key
        found[known[match]] = self.entry_of_key[at[match]]
        return found


def read_ids(path: str | os.PathLike[str]) -> pa.StringArray:
    """The ids in a file with one id a line, each once, in the order of the file. Raises SolutionError."""
    findings = Findings()
    parts: list[pa.StringArray] = []
    try:
        with open_bytes(path) as stream:
            parts = [Lines.of(block).text for block in blocks(stream)]
    except UnreadableError as error:
        findings.add(error.line, str(error))
    if not findings and not any(map(len, parts)):
        findings.add(0, "the file is empty; expected one id a line")
    if findings:
        raise SolutionError(shown(path), findings)
    return coded(parts)[1]


def _codes(ids: pa.StringArray, known: pa.StringArray) -> Ints:
    """The index of each id in `known`, which has each once, or UNKNOWN."""
    code = coded([known, ids])[0][len(known) :]
    return np.where(code < len(known), code, UNKNOWN)


def report_repeated(row_code: Ints, queries: pa.StringArray, line: Ints, findings: Findings) -> None:
    """Report every row whose query has an earlier row."""
    first = np.full(len(queries), line.size, dtype=np.int64)
    np.minimum.at(first, row_code, np.arange(line.size))
    again = np.flatnonzero(first[row_code] < np.arange(line.size))
    findings.add_each(
        line[again],
        lambda at: (
            f"query {quoted(queries[row_code[again[at]]].as_py())} is listed again "
            f"(first in line {line[first[row_code[again[at]]]]}); give each query one line"
        ),
    )


def _flags(batches: Sequence[Graded], row_code: Ints, queries: pa.StringArray, line: Ints, findings: Findings) -> Bools:
    """[query]: its flag, which must be the same in all its rows."""
    flag = np.concatenate([np.zeros(len(batch.query), bool) if batch.flag is None else batch.flag for batch in batches])
    flagged = np.zeros(len(queries), dtype=bool)
    flagged[row_code[::-1]] = flag[::-1]
    other = np.flatnonzero(flagged[row_code] != flag)
    findings.add_each(
        line[other],
        lambda at: (
            f"query {quoted(queries[row_code[other[at]]].as_py())} is flagged in one line and not in another; "
            "give all its lines the same flag"
        ),
    )
    return flagged


def _ideal(query: Ints, grade: Floats, listed_is_relevant: bool) -> JudgedItems:
    """The entries, sorted by query and falling grade, with their ranks and tie ranks."""
    index = np.arange(query.size)
    new_query = np.append(True, query[1:] != query[:-1])[: query.size]
    rank = index - np.maximum.accumulate(np.where(new_query, index, 0)) + 1
    new_grade = new_query | np.append(True, grade[1:] != grade[:-1])[: query.size]
    tie_rank = rank[np.maximum.accumulate(np.where(new_grade, index, 0))] if query.size else rank
    if not listed_is_relevant:
        tie_rank = np.where(grade > 0, tie_rank, 0)
    return JudgedItems(query=query, rank=rank, grade=grade, tie_rank=tie_rank)
