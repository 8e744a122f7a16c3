"""Solution: the graded items of every query, integer-coded for matching; ids, subtopics, and excluded items."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal, NamedTuple
from unicodedata import is_normalized

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.errors import ContentError, Findings, SolutionError
from scorer.files import shown
from scorer.limits import OWN_FILES, Limits
from scorer.lists.detection import opened
from scorer.lists.formats import letor
from scorer.lists.reading import memory
from scorer.lists.reading.arrow import (
    booleans,
    coded,
    fingerprints,
    id_order,
    integers,
    one_array,
    pc,
    plain_spelling,
    take,
    texts,
)
from scorer.lists.reading.blocks import (
    ITERATION_HINT,
    Graded,
    Lines,
    Ranked,
    UnreadableError,
    findings_about,
    line_blocks,
    open_bytes,
    reported,
    subtopics,
)
from scorer.measures import Measure
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Subtopics
from scorer.options import SELF
from scorer.wording import counted, quoted

UNKNOWN = -1
"""The number of a query or an item that the solution does not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ids:
    """The ids of a solution's items, in Arrow. Items are numbered from 0 in order of first appearance."""

    items: pa.StringArray
    """[item]: ids, each once."""
    keys: Ints
    """[entry]: ascending; query number * len(items) + item number."""
    entry_of_key: Ints
    """[entry]: the index in the solution's `ideal` of that key's item."""
    item_of_entry: Ints
    """[entry of `ideal`]: the item's number."""
    fingerprints: NDArray[np.uint64]
    """[entry of `ideal`]: the item's."""

    def item_codes(self, items: pa.StringArray) -> Ints:
        """The number of each item, or UNKNOWN."""
        return codes(items, self.items)

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

    def names(self, entry: Ints) -> list[str]:
        """Return the id of the item of each entry of `ideal`."""
        found: list[str] = take(self.items, self.item_of_entry[entry]).to_pylist()
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lookup:
    """The ids of a solution as text, to look single ones up."""

    number: dict[str, int]
    """The number of each query by id, in order."""
    grades: Sequence[dict[str, float]]
    """[query]: the grade of each of its items by id."""
    first: Sequence[dict[float, int]]
    """[query]: the index in `ideal` of its first item with each grade."""
    entries: dict[int, Ints] = field(default_factory=dict)
    """[query]: see `entries_of`."""

    @classmethod
    def of(cls, queries: Sequence[str], grades: Sequence[dict[str, float]], ideal: JudgedItems) -> Lookup:
        first: list[dict[float, int]] = [{} for _ in queries]
        new = (ideal.query[1:] != ideal.query[:-1]) | (ideal.grade[1:] != ideal.grade[:-1])
        entry = np.flatnonzero(np.append(True, new)[: len(ideal)])
        for query, grade, at in zip(
            ideal.query[entry].tolist(), ideal.grade[entry].tolist(), entry.tolist(), strict=True
        ):
            first[query][grade] = at
        return cls(dict(zip(queries, range(len(queries)), strict=True)), grades, first)

    def entries_of(self, query: int) -> Ints:
        """[item of `grades`]: the index in `ideal` of the first item of the query with the same grade."""
        if query not in self.entries:
            entries = map(self.first[query].__getitem__, self.grades[query].values())
            self.entries[query] = np.fromiter(entries, np.int64, len(self.grades[query]))
        return self.entries[query]

    def ids(self) -> Ids:
        code, items = coded([texts(chain.from_iterable(self.grades))])
        query = np.repeat(np.arange(len(self.grades)), [*map(len, self.grades)])
        grade = np.array([*chain.from_iterable(listed.values() for listed in self.grades)], dtype=np.float64)
        item = code[np.lexsort((-grade, query))]
        key = query * len(items) + item
        by_key = np.argsort(key)
        return Ids(items, key[by_key], by_key, item, fingerprints(items)[item])


def codes(ids: pa.StringArray, known: pa.StringArray) -> Ints:
    """The number of each id in `known`, which has each once, or UNKNOWN."""
    code = coded([known, ids])[0][len(known) :]
    return np.where(code < len(known), code, UNKNOWN)


EXACT = 2**53
"""Whole numbers below it are floats, too, and so keys of `Lookup.first`."""

_NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
"""The types of numbers that are read here."""


def graded_dicts(source: object, *, copied: bool) -> dict[str, Any] | None:
    """Return the attributes of the solution query -> item -> grade, by name.

    None for everything that the general reader has to convert or to report. Unless `copied`, the dicts must not change.
    """
    if (whole := plain_dicts(source)) is None:
        return None
    names, lists = whole
    columns: list[Floats] = []
    for listed in lists:
        if (numbers := plain_numbers([listed])) is None:
            return None
        columns.append(-numbers)
    falling, length = -np.concatenate([*map(np.sort, columns)]), np.array([*map(len, lists)])
    if not (falling > 0).any():
        return None
    ideal = JudgedItems.ideal(np.repeat(np.arange(length.size), length), falling)
    grades: Sequence[dict[str, float]] = [*map(dict, lists)] if copied else lists
    if np.abs(falling).max() >= EXACT:
        grades = [dict(zip(each, map(float, each.values()), strict=True)) for each in lists]
    return {
        "flagged": np.zeros(length.size, dtype=bool),
        "ideal": ideal,
        "first_entry": np.append(0, np.cumsum(length)),
        "has_plain_items": True,
        "lookup": Lookup.of(names, grades, ideal),
    }


def plain_dicts(source: object) -> tuple[tuple[str, ...], tuple[dict[Any, Any], ...]] | None:
    """Return the queries and the values of a mapping; None unless these are plain ids and dicts."""
    if not isinstance(source, dict | Mapping) or not source:
        return None
    names, lists = tuple(source), tuple(source.values())
    return (names, lists) if {*map(type, lists)} == {dict} and is_plain(names) else None


def plain_numbers(lists: Sequence[dict[Any, Any]]) -> Floats | None:
    """Return the values of dicts; None if one is no finite number, or an id is not plain."""
    ids: Collection[Any] = lists[0]
    values: Collection[Any] = lists[0].values()
    if len(lists) > 1:
        ids, values = [*chain.from_iterable(lists)], [*chain.from_iterable(map(dict.values, lists))]
    kinds = [*map(type, values)]
    if not is_plain(ids) or not (kinds.count(float) == len(kinds) or _NUMBERS.issuperset(kinds)):
        return None
    try:
        numbers = np.fromiter(values, np.float64, len(values))
    except OverflowError:
        return None
    return numbers if np.count_nonzero(np.isfinite(numbers)) == numbers.size else None


def is_plain(ids: Collection[Any]) -> bool:
    """Whether all ids are of type str, and as `plain_spelling` returns them: of others, it compares the spelling."""
    if [*map(type, ids)].count(str) < len(ids):
        return False
    return (text := "".join(ids)).isascii() or (text.isprintable() and is_normalized("NFC", text))


class Iterations(NamedTuple):
    """The column iteration of a solution, which has subtopics, or something else, such as rounds."""

    names: Sequence[str] = ()
    """Its values, each once; none without such a column."""
    repeated: Findings = Findings()
    """The items that are listed again with another iteration: errors, unless a measure uses subtopics."""

    @classmethod
    def of(cls, batches: Sequence[Graded], merged: MergedRows | None, repeated: Findings) -> Iterations:
        if not any(batch.is_iteration and batch.subtopic is not None for batch in batches):
            return cls()
        return cls(["0"] if merged is None else pc.unique(merged.names).to_pylist(), repeated)

    def note(self, measures: Iterable[Measure]) -> str:
        """Return which measures use the column as subtopics although it does not look like them; "" without any."""
        odd = next((name for name in self.names if not name.isdecimal()), None)
        if not self.names or (odd is None and self.repeated):
            return ""
        using = ", ".join(str(measure) for measure in measures if measure.kind.subtopics)
        if not using:
            return ""
        read = f"{counted(len(self.names), 'subtopic')} read from the column iteration"
        doubt = "no item has several" if odd is None else f"{quoted(odd)} is no whole number"
        return f"{using}: {read}, which does not look like subtopics: {doubt}"


NO_ITERATIONS = Iterations()


@dataclass(frozen=True, slots=True, eq=False)
class MergedRows:
    """The rows of a solution with subtopics. An entry is a query and an item; entries are in the order of the file."""

    names: pa.StringArray
    """[row]: the subtopic."""
    code: Ints
    """[row]: the number of the subtopic in the whole solution."""
    grade: Floats
    """[row]"""
    row: Ints
    """[entry]: its first row."""
    entry: Ints
    """[row]"""

    @classmethod
    def of(cls, batches: Sequence[Graded], key: Ints, grade: Floats) -> MergedRows | None:
        """Return the merged rows; None without subtopics. `key` is [row]: equal for the same query and item."""
        names = subtopics(batches)
        if names is None:
            return None
        # Sorted by length first, numbers ascend.
        known = sorted(pc.unique(names).to_pylist(), key=lambda name: (len(name), name))
        code = integers(pc.index_in(names, value_set=texts(known)))
        _, row, entry = np.unique(key, return_index=True, return_inverse=True)
        in_file = np.argsort(row)
        return cls(names, code, grade, row[in_file], np.argsort(in_file)[entry])

    @property
    def repeated(self) -> Ints:
        """The rows whose entry has their subtopic already, ascending."""
        pair = self.entry * (self.code.max() + 1) + self.code
        return np.delete(np.arange(pair.size), np.unique(pair, return_index=True)[1])

    @property
    def highest(self) -> Floats:
        """[entry]: the highest grade of its subtopics."""
        highest = self.grade[self.row]
        np.maximum.at(highest, self.entry, self.grade)
        return highest

    def subtopics(self, index: Ints, query: Ints, item: Ints, id_order: Ints) -> Subtopics:
        """Return the subtopics of the entries in another order, in which the `query` ascends.

        `index` is [entry]: its place in this order. `query` and `item` are in this order. `id_order` is [item]: its
        index among the ids in ascending order of their bytes.
        """
        owner = index[self.entry]
        rows = np.lexsort((self.code, owner))
        first = np.append(0, np.cumsum(np.bincount(owner)))
        of_query = query[owner[rows]] * (self.code.max() + 1)
        known, number = np.unique(of_query + self.code[rows], return_inverse=True)
        by_id = np.lexsort((-id_order[item], query))
        id_rank = np.empty_like(by_id)
        id_rank[by_id] = np.arange(by_id.size) - np.searchsorted(query, query) + 1
        return Subtopics(first, number - np.searchsorted(known, of_query), self.grade[rows], id_rank)


class ExcludedPairs(NamedTuple):
    """A list of excluded items: pairs of ids."""

    query: pa.StringArray
    item: pa.StringArray


Excluded = ExcludedPairs | Literal["self"]
"""A list, or for each query the item that has its id."""

_Listed = str | os.PathLike[str] | Mapping[str, Sequence[str] | Set[str]]

Exclude = _Listed | ExcludedPairs
"""What to exclude: "self", the path or the URL of a list, a dict query -> items, or a list that has been read."""


def excluded(exclude: Exclude | None, limits: Limits = OWN_FILES) -> Excluded | None:
    """Return what to exclude, after a list is read. Raises SolutionError if it cannot be read or is invalid."""
    if exclude is None or isinstance(exclude, ExcludedPairs):
        return exclude
    return SELF if exclude == SELF else excluded_pairs(exclude, limits)


def excluded_pairs(listed: _Listed, limits: Limits = OWN_FILES) -> ExcludedPairs:
    """Return the pairs in a list, as `excluded` does. The format of a file is any of a submission or of qrels."""
    batches: list[Ranked | Graded] = []
    name = shown(listed) if isinstance(listed, str | os.PathLike) else "the excluded items"
    with findings_about(name, SolutionError) as findings:
        if isinstance(listed, str | os.PathLike):
            with opened(listed, None, "exclude", limits=limits) as (detected, head, content):
                read = detected.graded(head) if detected.is_solution(head) else detected.ranked(head)
                batches = [read(block, findings) for block in content]
        else:
            if isinstance(listed, Mapping):
                listed = {query: [*ids] if isinstance(ids, Set) else ids for query, ids in listed.items()}
            batches = [memory.ranked_of(listed, findings)]
    query = one_array(take(batch.query, batch.row_of_item) for batch in batches)
    return ExcludedPairs(query, one_array(batch.item for batch in batches))


def is_excluded(excluded: Excluded, query: pa.StringArray, item: pa.StringArray) -> Bools:
    """Whether each item is excluded for the query next to it."""
    if excluded == SELF:
        return booleans(pc.equal(query, item))
    query_code, _ = coded([excluded.query, query])
    item_code, ids = coded([excluded.item, item])
    pair, listed = query_code * len(ids) + item_code, len(excluded.query)
    return np.isin(pair[listed:], pair[:listed])


Source = str | os.PathLike[str] | memory.MemorySource
"""A path or a URL, or an object that `lists.reading.memory` reads."""


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
    candidate_fingerprints: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
    """Those of the candidates, ascending."""
    iterations: Iterations = NO_ITERATIONS
    """Where the subtopics are from, if that is a column called iteration."""
    excluded: Excluded | None = None
    """The items that are removed from lists before ranks are assigned; None: none are."""
    checked: Solution | None = None
    """A second solution, by people, for some of the queries; None without one."""
    checked_queries: Ints = np.zeros(0, dtype=np.int64)
    """The numbers of the queries that it has, in its order."""
    read_as: str = ""
    """The layout of its file, for people; empty where columns have names, and without a file."""
    rows: Sequence[Graded] | None = ()
    """The rows of a file in LETOR's format, in order, which predictions belong to; none of any other; None: unknown."""

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

    def mark_in_items(self, mark: str) -> bool:
        """Whether an id of an item has the mark."""
        held = (self.items, self.candidates)
        return any(booleans(pc.match_substring(ids, mark)).any() for ids in held if ids is not None and len(ids))

    @cached_property
    def plain_items(self) -> pa.StringArray:
        """[item]: `items` as `plain_spelling` returns them."""
        return plain_spelling(self.items)

    @cached_property
    def has_plain_items(self) -> bool:
        """Whether no item is spelled otherwise in `plain_items`."""
        return self.plain_items is self.items

    @cached_property
    def plain_queries(self) -> pa.StringArray:
        """[query]: `queries` as `plain_spelling` returns them."""
        return plain_spelling(self.queries)

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
            return cls.of_file(source, format_name, digest)
        return cls.for_a_call(source, format_name, copied=True)

    @classmethod
    def for_a_call(cls, source: Source | Solution, format_name: str | None = None, *, copied: bool = False) -> Solution:
        """As `read`, but dicts are copied only if `copied`: they must not change while the solution is used."""
        if isinstance(source, Solution):
            return source
        if isinstance(source, str | os.PathLike):
            return cls.of_file(source, format_name)
        if (parts := graded_dicts(source, copied=copied)) is not None:
            return cls(**parts)
        with findings_about("the solution", SolutionError) as findings:
            return cls.of([memory.graded_of(source, findings)], findings)

    @classmethod
    def of_file(
        cls,
        path: str | os.PathLike[str],
        format_name: str | None,
        digest: str | None = None,
        limits: Limits = OWN_FILES,
    ) -> Solution:
        """As `read`, of a file within these limits."""
        findings, kind = Findings(), SolutionError
        solution, read_bytes = None, None if digest is None else hashlib.sha256()
        opening = opened(path, format_name, "solution_format", read_bytes, limits)
        with reported(findings), opening as (detected, head, content):
            read = detected.graded(head)
            batches = [read(block, findings) for block in content]
            kind = SolutionError if findings else ContentError
            solution = cls.of(batches, findings, is_vlnet=detected.is_vlnet)
            solution.read_as = detected.solution_layout(read)
            solution.rows = batches if detected.format is letor else ()
        if read_bytes is not None and read_bytes.hexdigest() != digest:
            findings.add(0, "the file changed while it was read; run again when it is complete")
        if findings or solution is None:
            raise kind(shown(path), findings)
        return solution

    @classmethod
    def of(cls, batches: Sequence[Graded], findings: Findings, *, is_vlnet: bool = False) -> Solution:
        """Make a solution of batches of graded rows, in the order of the file.

        `findings` receives all that is invalid; if there is anything, the result must not be used. In VL.NET's format,
        a second row for a query is invalid, and items of any grade are relevant to Rp and MARp; in others only those
        with grades above 0 are.
        """
        if not any(len(batch.query) for batch in batches):
            if not findings:
                findings.add(0, "the file has no rows")
            return cls.of_queries([])
        row_code, queries = coded(batch.query for batch in batches)
        line = np.concatenate([batch.line for batch in batches])
        if is_vlnet:
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
            grade = merged.highest
            by_key = np.argsort(key)
        best_first = np.lexsort((-grade, query))
        index = np.empty_like(best_first)
        index[best_first] = np.arange(len(best_first))
        ideal = JudgedItems.ideal(query[best_first], grade[best_first], listed_is_relevant=is_vlnet)
        if merged is not None:
            subtopics = merged.subtopics(index, ideal.query, item_code[best_first], id_order(items))
            ideal = replace(ideal, entry=np.arange(len(ideal)), subtopics=subtopics)
        if not findings and not (ideal.tie_rank > 0).any():
            column = (
                "; if column 2 has the item, write: awk '{print $1, 0, $2, 1}' FILE"
                if len(items) == 1 < line.size
                else ""
            )
            found = f"no query has a relevant item, so nothing can be scored; expected grades above 0{column}"
            findings.add(0, found)
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
        names = tuple(dict.fromkeys(queries))
        nothing = JudgedItems.ideal(np.zeros(0, dtype=np.int64), np.zeros(0))
        return cls(
            flagged=np.zeros(len(names), dtype=bool),
            ideal=nothing,
            first_entry=np.zeros(len(names) + 1, dtype=np.int64),
            lookup=Lookup.of(names, [{}] * len(names), nothing),
            rows=None,
        )

    @classmethod
    def read_queries(cls, path: str | os.PathLike[str]) -> Solution:
        """As `of_queries`, from a file with one query id a line. Raises SolutionError."""
        return cls.of_queries(read_ids(path).to_pylist())

    def query_codes(self, queries: pa.StringArray) -> Ints:
        """The number of each query, or UNKNOWN."""
        return codes(queries, self.queries)

    def with_parts(self, **parts: Any) -> Solution:
        return Solution(**{**vars(self), **parts})

    def with_checked(self, checked: Solution, where: str, flagged: Bools | None = None) -> Solution:
        """The same solution with a second one for some of its queries, from a file called `where`.

        Raises SolutionError for other queries, and where a stage, by these flags or those of the solution, has none.
        """
        findings, numbers = Findings(), self.query_codes(checked.queries)
        if unknown := (numbers == UNKNOWN).nonzero()[0].tolist():
            names, first = counted(len(unknown), "query is", "queries are"), checked.queries[unknown[0]].as_py()
            findings.add(0, f"{names} not in the solution, such as {quoted(first)}; remove them")
        elif (checked.ideal.subtopics is None) != (self.ideal.subtopics is None):
            findings.add(0, "only one of this file and the solution has subtopics; give both or none")
        flags = self.flagged if flagged is None else flagged
        for stage, name in ((flags, "the preliminary queries"), (~flags, "the other queries")):
            if not findings and stage.any() and not stage[numbers].any():
                findings.add(0, f"has none of {name}; judge a random part of these, too")
        if findings:
            raise SolutionError(where, findings)
        return self.with_parts(checked=checked, checked_queries=numbers)

    def with_candidates(self, items: pa.StringArray | Iterable[str]) -> Solution:
        """The same solution with a public list of candidate items."""
        candidates = items if isinstance(items, pa.StringArray) else texts(items)
        return self.with_parts(candidates=candidates, candidate_fingerprints=np.unique(fingerprints(candidates)))

    def are_strangers(self, items: pa.StringArray) -> Bools:
        """Which items are no candidates, where there is a list. An id with the fingerprint of a candidate is missed."""
        known, wanted, absent = self.candidate_fingerprints, fingerprints(items), np.ones(len(items), dtype=bool)
        order = np.argsort(wanted)  # values in order are found more quickly
        at = np.searchsorted(known, wanted[order])
        inside = order[at < known.size]
        absent[inside] = known[at[: inside.size]] != wanted[inside]
        return absent


def read_ids(path: str | os.PathLike[str], limits: Limits = OWN_FILES) -> pa.StringArray:
    """The ids in a file with one id a line, each once, in the order of the file. Raises SolutionError."""
    with findings_about(shown(path), SolutionError), open_bytes(path, limits=limits) as stream:
        parts = [Lines.of(block).text for block in line_blocks(stream, limits=limits)]
        if not any(map(len, parts)):
            raise UnreadableError("the file is empty; expected one id a line")
    return coded(parts)[1]


def first_rows(row_code: Ints) -> Ints:
    """[query]: its first row; queries are numbered in the order of these."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(row_code), prepend=-1))


def report_repeated(row_code: Ints, queries: pa.StringArray, line: Ints, findings: Findings) -> None:
    """Report every row whose query has an earlier row."""
    first = first_rows(row_code)
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
