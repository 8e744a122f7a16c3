"""Solution: the graded items of every query, integer-coded for matching."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import ContentError, Findings, SolutionError
from scorer.formats.detection import opened
from scorer.formats.reading import memory
from scorer.formats.reading.arrow import coded, fingerprints, id_order, texts
from scorer.formats.reading.batches import ITERATION_HINT, Graded
from scorer.formats.reading.blocks import Lines, blocks
from scorer.formats.reading.bytes import UnreadableError, open_bytes
from scorer.matching.exclusions import Excluded
from scorer.matching.graded_dicts import graded_dicts
from scorer.matching.ids import Ids, IdSet, Lookup, codes
from scorer.matching.subtopics import NO_ITERATIONS, Iterations, MergedRows
from scorer.measures.arrays import Bools, Ints
from scorer.measures.matched import JudgedItems
from scorer.paths import shown
from scorer.wording import quoted

Source = str | os.PathLike[str] | memory.Source
"""A path or a URL, or an object that `formats.reading.memory` reads."""


class Solution:
    """The graded items of every query, as `read` returns them.

    Solutions are equal if they have the same queries in the same order, and the same grades of the same items.
    """

    flagged: Bools
    """[query]: whether it counts for the preliminary board."""
    ideal: JudgedItems
    """Every graded item, by query, the highest grade first."""
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

    def __init__(self, **parts: Any) -> None:
        """Set the attributes: `queries` and `ids`, or `lookup`, and the others."""
        self.__dict__.update(parts)

    @cached_property
    def queries(self) -> pa.StringArray:
        """[query]: ids."""
        return texts(self.lookup.number)

    @cached_property
    def ids(self) -> Ids:
        """The ids of the items in Arrow."""
        return self.lookup.ids()

    @cached_property
    def lookup(self) -> Lookup:
        """The ids of queries and items as text."""
        named = zip(self.ids.names(np.arange(len(self.ideal))), self.ideal.grade.tolist(), strict=True)
        grades = [dict(islice(named, count)) for count in self.judged.tolist()]
        return Lookup.of(self.queries.to_pylist(), grades, self.ideal)

    @cached_property
    def judged(self) -> Ints:
        """[query]: the number of its graded items."""
        return np.diff(self.first_entry)

    @property
    def items(self) -> pa.StringArray:
        """[item]: ids, each once."""
        return self.ids.items

    def __repr__(self) -> str:
        return f"Solution(queries={self.flagged.size}, judged={len(self.ideal)})"

    def __eq__(self, other: object) -> bool:
        return self._content == other._content if isinstance(other, Solution) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.flagged.size, len(self.ideal)))

    @property
    def _content(self) -> object:
        """What decides whether two solutions are equal."""
        ideal, pairs = self.ideal, []
        if ideal.subtopics is not None:
            owner = np.repeat(np.arange(len(ideal)), np.diff(ideal.subtopics.first))
            columns = ideal.query[owner].tolist(), self.ids.names(owner), ideal.subtopics.grade.tolist()
            pairs = sorted(zip(*columns, ideal.subtopics.subtopic.tolist(), strict=True))
        known = [*self.lookup.number], self.lookup.grades, self.candidates and self.candidates.to_pylist()
        return known, self.flagged.tolist(), ideal.tie_rank.tolist(), pairs

    @classmethod
    def read(cls, source: Source | Solution, format_name: str | None = None, *, digest: str | None = None) -> Solution:
        """Read a solution, to keep it for several calls of `evaluate`, `compare`, `tune` or `report`.

        Parameters
        ----------
        source
            All that `evaluate` takes: a path or a URL, a table, a dict query -> item -> grade, or rows.
        format_name
            The format of a file, with options as in ``letor:feature=21``; None: it is detected.
        digest
            The SHA-256 that a file must have, in hexadecimal; None: any.

        Raises
        ------
        SolutionError
            The solution cannot be read or is invalid, or has another digest. All errors are reported together.
        """
        if isinstance(source, str | os.PathLike):
            return cls._of_file(source, format_name, digest)
        return cls.for_a_call(source, format_name, copied=True)

    @classmethod
    def for_a_call(cls, source: Source | Solution, format_name: str | None = None, *, copied: bool = False) -> Solution:
        """As `read`, but dicts are copied only if `copied`: they must not change while the solution is used."""
        if isinstance(source, Solution):
            return source
        if isinstance(source, str | os.PathLike):
            return cls._of_file(source, format_name, None)
        if (parts := graded_dicts(source, copied=copied)) is not None:
            return cls(**parts)
        findings = Findings()
        try:
            solution = cls.of([memory.graded(source, findings)], findings)
        except UnreadableError as error:
            findings.add(error.line, str(error))
        if findings:
            raise SolutionError("the solution", findings)
        return solution

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], format_name: str | None, digest: str | None) -> Solution:
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
        ideal = JudgedItems.ideal(query[best_first], grade[best_first], listed_is_relevant=listed_is_relevant)
        if merged is not None:
            subtopics = merged.subtopics(best_first, ideal.query, item_code[best_first], id_order(items), row_grade)
            ideal = replace(ideal, entry=np.arange(len(ideal)), subtopics=subtopics)
        if not findings and not (ideal.tie_rank > 0).any():
            findings.add(0, "no query has a relevant item, so nothing can be scored; expected grades above 0")
        code = item_code[best_first]
        return cls(
            queries=queries,
            ids=Ids(items, key[by_key], index[by_key], code, fingerprints(items)[code]),
            flagged=flagged,
            ideal=ideal,
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
            ids=Ids(texts([]), none, none, none, none.astype(np.uint64)),
            flagged=np.zeros(len(ids), dtype=bool),
            ideal=nothing,
            first_entry=np.zeros(len(ids) + 1, dtype=np.int64),
        )

    @classmethod
    def read_queries(cls, path: str | os.PathLike[str]) -> Solution:
        """As `of_queries`, from a file with one query id a line. Raises SolutionError."""
        return cls.of_queries(read_ids(path).to_pylist())

    def query_codes(self, queries: pa.StringArray) -> Ints:
        """The number of each query, or UNKNOWN."""
        return codes(queries, self.queries)

    def with_parts(self, **parts: Any) -> Solution:
        """The same solution with other attributes."""
        return Solution(**{**vars(self), **parts})

    def with_flags(self, flagged: Bools) -> Solution:
        """The same solution with other preliminary queries: `flagged` is [query]."""
        return self.with_parts(flagged=flagged)

    def with_candidates(self, items: pa.StringArray | Iterable[str]) -> Solution:
        """The same solution with a public list of candidate items."""
        candidates = items if isinstance(items, pa.StringArray) else texts(items)
        return self.with_parts(candidates=candidates, candidate_set=IdSet.of(candidates))

    def example_item(self) -> str | None:
        """The id of one item, to show to the organiser only; None if there are no items."""
        return self.items[0].as_py() if len(self.items) else None


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
