"""A solution or a submission as a whole, in plain values: what a format writes down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scorer.errors import Findings
from scorer.formats.reading.batches import Graded, Ranked
from scorer.options import TieRule
from scorer.wording import quoted


class UnwritableError(Exception):
    """The format cannot hold it; the text says what."""


@dataclass(frozen=True, slots=True)
class SolutionContent:
    """Queries in their order, each with its graded items in theirs."""

    grades: Mapping[str, Mapping[str, float]]
    flagged: frozenset[str]
    """The queries that count for the preliminary board."""

    @classmethod
    def of(cls, batches: Iterable[Graded], findings: Findings) -> SolutionContent:
        """What the batches hold; items that stand twice become findings."""
        grades: dict[str, dict[str, float]] = {}
        flagged: dict[str, bool] = {}
        for batch in batches:
            queries, lines = batch.query.to_pylist(), batch.line.tolist()
            flags = [False] * len(queries) if batch.flag is None else batch.flag.tolist()
            for query, flag, line in zip(queries, flags, lines, strict=True):
                grades.setdefault(query, {})
                if flagged.setdefault(query, flag) != flag:
                    findings.add(line, f"query {quoted(query)} is flagged in one line and not in another")
            for row, item, grade in zip(
                batch.row_of_item.tolist(), batch.item.to_pylist(), batch.grade.tolist(), strict=True
            ):
                if item in grades[queries[row]]:
                    found = f"item {quoted(item)} stands again for query {quoted(queries[row])}"
                    findings.add(lines[row], f"{found}; each item may stand once")
                grades[queries[row]][item] = grade
        return cls(grades, frozenset(query for query, flag in flagged.items() if flag))

    def rows(self, form: str) -> list[tuple[str, str, float]]:
        """A row for each item. Raises Unwritable where a query has none, and so would be lost."""
        for query, items in self.grades.items():
            if not items:
                raise UnwritableError(
                    f"query {quoted(query)} has no items; {form} has a row for each item, and none without"
                )
        return [(query, item, grade) for query, items in self.grades.items() for item, grade in items.items()]

    def without_flags(self, form: str) -> None:
        """Raise Unwritable where a query is flagged, which the format does not know."""
        for query in self.grades:
            if query in self.flagged:
                raise UnwritableError(f"query {quoted(query)} is flagged as preliminary; {form} has no place for flags")


@dataclass(frozen=True, slots=True)
class SubmissionContent:
    """Ranked lists, the best item first; queries in their order."""

    items: Mapping[str, Sequence[str]]
    scores: Mapping[str, Sequence[float]] | None
    """Of the items, falling; None: the lists have an order alone."""
    ties: TieRule | None = None
    """None: equal scores are not to be put in order."""

    @classmethod
    def of(cls, batches: Iterable[Ranked], ties: TieRule | None, findings: Findings) -> SubmissionContent:
        """What the batches hold; equal ranks in a list become findings."""
        lists: dict[str, list[tuple[float, str, int]]] = {}
        scored = ranked = False
        for batch in batches:
            queries, lines = batch.query.to_pylist(), batch.line.tolist()
            values = batch.run_score if batch.rank is None else -batch.rank.astype(float)
            scored |= batch.run_score is not None
            ranked |= batch.rank is not None
            for query in queries:
                lists.setdefault(query, [])
            numbers = [0.0] * len(batch.item) if values is None else values.tolist()
            for row, item, value in zip(batch.row_of_item.tolist(), batch.item.to_pylist(), numbers, strict=True):
                lists[queries[row]].append((-value, item, lines[row]))
        for listed in lists.values():
            # A stable sort: equal scores stay as they stood.
            listed.sort(key=lambda entry: entry[0])
        if ranked:
            _report_equal_ranks(lists, findings)
        items = {query: [item for _, item, _ in listed] for query, listed in lists.items()}
        scores = {query: [0.0 - value for value, _, _ in listed] for query, listed in lists.items()}
        return cls(items, scores if scored else None, ties)

    def listed(self, form: str) -> Mapping[str, Sequence[str]]:
        """The lists by their order alone. Raises Unwritable where scores are equal and no rule orders them."""
        if self.scores is None:
            return self.items
        return {query: self._ordered(query, form) for query in self.items}

    def _ordered(self, query: str, form: str) -> Sequence[str]:
        items, scores = self.items[query], (self.scores or {})[query]
        if self.ties == "order":
            return items
        if self.ties == "trec":
            # Ids descend by their bytes, as judging has them.
            by_name = sorted(range(len(items)), key=lambda place: items[place].encode(), reverse=True)
            return [items[place] for place in sorted(by_name, key=lambda place: -scores[place])]
        for place in range(1, len(items)):
            if scores[place] == scores[place - 1]:
                found = f"items {quoted(items[place - 1])} and {quoted(items[place])} of query {quoted(query)}"
                raise UnwritableError(
                    f"{found} have the same score; {form} holds an order alone: "
                    "add --ties trec (by item id, descending) or --ties order (as listed)"
                )
        return items

    def rows(self, form: str) -> list[tuple[str, str, float, int]]:
        """Query, item, score and rank of each item; a list without scores gets its length, ..., 2, 1.

        Raises Unwritable where a list is empty, and so would be lost.
        """
        found = []
        for query, items in self.items.items():
            if not items:
                raise UnwritableError(f"the list of query {quoted(query)} is empty; {form} has a row for each item")
            scores = range(len(items), 0, -1) if self.scores is None else self.scores[query]
            found += [
                (query, item, float(score), rank)
                for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
            ]
        return found


def _report_equal_ranks(lists: Mapping[str, Sequence[tuple[float, str, int]]], findings: Findings) -> None:
    for query, listed in lists.items():
        for (before, _, _), (rank, _, line) in pairwise(listed):
            if rank == before:
                findings.add(line, f"rank {rank:.0f} stands again for query {quoted(query)}; each rank may stand once")


def fitting(ids: Iterable[str], unfit: re.Pattern[str], what: str, form: str) -> None:
    """Raise Unwritable at the first id in which `unfit` is found."""
    for each in ids:
        if found := unfit.search(each):
            held = quoted(found[0]) if found[0] else "nothing"
            raise UnwritableError(
                f"the id {quoted(each)} of {what} holds {held}; {form} cannot write that so that it is read again"
            )


def shortest(value: float) -> str:
    """The shortest text that is read as the same float64."""
    return repr(value).removesuffix(".0")
