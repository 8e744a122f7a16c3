"""Solution: what is right, integer-coded once and matched with every submission."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scorer.errors import Findings, SolutionError
from scorer.formats.detection import opened
from scorer.formats.reading.arrow import fingerprints, integers, joined, run_starts, take, texts
from scorer.formats.reading.batches import Graded
from scorer.formats.reading.blocks import Lines, blocks
from scorer.formats.reading.bytes import UnreadableError, open_bytes
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.matched import JudgedItems
from scorer.paths import shown
from scorer.wording import quoted

NOWHERE = -1
"""The code of a query or an item that the solution does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The graded items of every query. Queries are numbered from 0 in the file's order, items as they come."""

    queries: pa.StringArray
    """[query]: ids."""
    flagged: Bools
    """[query]: counts for the preliminary board."""
    items: pa.StringArray
    """[item]: ids, each once."""
    ideal: JudgedItems
    """Every graded item, by query, the highest grade first."""
    keys: Ints
    """[entry]: ascending; query number * len(items) + item number."""
    entry_of_key: Ints
    """[entry]: the place of that key's item in `ideal`."""
    item_of_entry: Ints
    """[entry of `ideal`]: the item's number."""
    fingerprints: NDArray[np.uint64]
    """[entry of `ideal`]: the item's."""
    first_entry: Ints
    """[query + 1]: where in `ideal` each query's entries begin, and where the last one's end."""

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], format_name: str | None = None, *, digest: str | None = None
    ) -> Solution:
        """The solution in a file. Raises SolutionError with all that is wrong in it.

        With `digest`, the file's SHA-256, it is wrong too if the bytes that were read are not of that digest.
        """
        findings = Findings()
        solution, read_bytes = None, None if digest is None else hashlib.sha256()
        try:
            with opened(path, format_name, "solution_format", read_bytes) as (told, head, content):
                read = told.graded(head)
                batches = [read(block, findings) for block in content]
                rules = {"query_once": told.format.QUERY_ONCE, "listed_is_relevant": told.format.LISTED_IS_RELEVANT}
                solution = cls.of(batches, findings, **rules)
        except UnreadableError as error:
            findings.add(error.line, str(error))
        if read_bytes is not None and read_bytes.hexdigest() != digest:
            findings.add(0, "the file changed while it was read; run again when it is whole")
        if findings or solution is None:
            raise SolutionError(shown(path), findings)
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
        """The solution in these batches; what is wrong with it becomes findings.

        `listed_is_relevant`: an item counts for Rp and MARp whatever its grade, else only with a grade above 0.
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
        by_key = np.argsort(key, kind="stable")
        again = np.sort(by_key[1:][key[by_key][1:] == key[by_key][:-1]])
        findings.add_each(
            line[row[again]],
            lambda at: (
                f"item {quoted(items[item_code[again[at]]].as_py())} stands again for query "
                f"{quoted(queries[query[again[at]]].as_py())}; each item may stand once"
            ),
        )
        best_first = np.lexsort((-grade, query))
        place = np.empty_like(best_first)
        place[best_first] = np.arange(len(best_first))
        ideal = _ideal(query[best_first], grade[best_first], listed_is_relevant)
        if not findings and not (ideal.tie_rank > 0).any():
            findings.add(0, "no query has a relevant item, so nothing can be scored; expected grades above 0")
        return cls(
            queries=queries,
            flagged=flagged,
            items=items,
            ideal=ideal,
            keys=key[by_key],
            entry_of_key=place[by_key],
            item_of_entry=item_code[best_first],
            fingerprints=fingerprints(items)[item_code[best_first]],
            first_entry=np.searchsorted(ideal.query, np.arange(len(queries) + 1)),
        )

    @classmethod
    def of_queries(cls, queries: Iterable[str]) -> Solution:
        """A solution that knows its queries and no items: enough to check a submission's form."""
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
        findings = Findings()
        ids: list[str] = []
        try:
            with open_bytes(path) as stream:
                for block in blocks(stream):
                    ids += Lines.of(block).text.to_pylist()
        except UnreadableError as error:
            findings.add(error.line, str(error))
        if not ids and not findings:
            findings.add(0, "the file is empty; expected one query id a line")
        if findings:
            raise SolutionError(shown(path), findings)
        return cls.of_queries(ids)

    def query_codes(self, queries: pa.StringArray) -> Ints:
        """The number of each query; NOWHERE for one that the solution does not have."""
        return _codes(queries, self.queries)

    def item_codes(self, items: pa.StringArray) -> Ints:
        """The number of each item; NOWHERE for one that the solution does not have."""
        return _codes(items, self.items)

    def entries(self, query: Ints, item: Ints) -> Ints:
        """The place in `ideal` of each pair of a query and an item; NOWHERE where the item is not judged."""
        found = np.full(query.size, NOWHERE, dtype=np.int64)
        if not self.keys.size:
            return found
        known = np.flatnonzero((query >= 0) & (item >= 0))
        key = query[known] * len(self.items) + item[known]
        place = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
        match = self.keys[place] == key
        found[known[match]] = self.entry_of_key[place[match]]
        return found


def _codes(ids: pa.StringArray, known: pa.StringArray) -> Ints:
    return integers(pc.index_in(ids, value_set=known), null=NOWHERE)


def coded(parts: Iterable[pa.StringArray]) -> tuple[Ints, pa.StringArray]:
    """The texts of all parts, numbered in the order of their first appearance, and the numbered texts.

    Runs of one text, such as a query has in a file, are looked up once.
    """
    whole = joined(parts)
    start = run_starts(whole)
    heads = take(whole, start).dictionary_encode()
    return np.repeat(integers(heads.indices), np.diff(start, append=len(whole))), heads.dictionary


def report_repeated(row_code: Ints, queries: pa.StringArray, line: Ints, findings: Findings) -> None:
    """Every row whose query has had one becomes a finding."""
    first = np.full(len(queries), line.size, dtype=np.int64)
    np.minimum.at(first, row_code, np.arange(line.size))
    again = np.flatnonzero(first[row_code] < np.arange(line.size))
    findings.add_each(
        line[again],
        lambda at: (
            f"query {quoted(queries[row_code[again[at]]].as_py())} stands again "
            f"(first in line {line[first[row_code[again[at]]]]}); each query may have one line"
        ),
    )


def _flags(batches: Sequence[Graded], row_code: Ints, queries: pa.StringArray, line: Ints, findings: Findings) -> Bools:
    """[query]: the flag, which all rows of a query must agree on."""
    flag = np.concatenate([np.zeros(len(batch.query), bool) if batch.flag is None else batch.flag for batch in batches])
    flagged = np.zeros(len(queries), dtype=bool)
    flagged[row_code[::-1]] = flag[::-1]
    other = np.flatnonzero(flagged[row_code] != flag)
    findings.add_each(
        line[other],
        lambda at: f"query {quoted(queries[row_code[other[at]]].as_py())} is flagged in one line and not in another",
    )
    return flagged


def _ideal(query: Ints, grade: Floats, listed_is_relevant: bool) -> JudgedItems:
    """Entries sorted by query and falling grade, as Hits with their ranks and tie ranks."""
    place = np.arange(query.size)
    new_query = np.append(True, query[1:] != query[:-1])[: query.size]
    rank = place - np.maximum.accumulate(np.where(new_query, place, 0)) + 1
    new_grade = new_query | np.append(True, grade[1:] != grade[:-1])[: query.size]
    tie_rank = rank[np.maximum.accumulate(np.where(new_grade, place, 0))] if query.size else rank
    if not listed_is_relevant:
        tie_rank = np.where(grade > 0, tie_rank, 0)
    return JudgedItems(query=query, rank=rank, grade=grade, tie_rank=tie_rank)
