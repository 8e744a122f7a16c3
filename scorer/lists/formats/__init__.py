"""The whole content of a solution or of a submission in plain values, for the formats to write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from scorer.errors import Findings
from scorer.lists.reading.blocks import ITERATION_HINT, Graded, subtopics
from scorer.options import TieRule
from scorer.wording import quoted


class UnwritableError(Exception):
    """The format cannot hold the content; the message says what it cannot hold."""


@dataclass(frozen=True, slots=True)
class SolutionContent:
    """Queries and their graded items, in the order of the file."""

    grades: Mapping[str, Mapping[str, float]]
    """The grade of each item; with subtopics, the highest."""
    flagged: frozenset[str]
    """The queries of the preliminary board."""
    subtopics: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    """The grades by subtopic of each query and item; empty where the solution has no subtopics."""

    @classmethod
    def of(cls, batches: Sequence[Graded], findings: Findings) -> SolutionContent:
        """Return the content of the batches, without iterations; items that are listed twice become findings."""
        grades: dict[str, dict[str, float]] = {}
        flagged: dict[str, bool] = {}
        names, hint = subtopics(batches), ""
        if names is not None and any(batch.is_iteration for batch in batches):
            names, hint = None, ITERATION_HINT
        held: dict[tuple[str, str], dict[str, float]] = {}
        named = repeat("") if names is None else iter(names.to_pylist())
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
                query, name = queries[row], next(named)
                of_item = held.setdefault((query, item), {})
                if name in of_item:
                    found = f"item {quoted(item)} is listed twice for query {quoted(query)}"
                    findings.add(lines[row], f"{found}; list each item once{hint}")
                of_item[name] = grade
                grades[query][item] = max(of_item.values())
        chosen = frozenset(query for query, flag in flagged.items() if flag)
        return cls(grades, chosen, {} if names is None else held)

    def rows(self, form: str) -> list[tuple[str, str, float, str]]:
        """Return query, item, grade and subtopic (or "0"). Raises UnwritableError for a query without items."""
        for query, items in self.grades.items():
            if not items:
                raise UnwritableError(
                    f"query {quoted(query)} has no items; {form} cannot hold it, because it has a row for each item"
                )
        return [
            (query, item, each, name)
            for query, items in self.grades.items()
            for item, grade in items.items()
            for name, each in (self.subtopics[query, item] if self.subtopics else {"0": grade}).items()
        ]

    def columns(self, form: str) -> dict[str, Sequence[Any]]:
        """Return a table with a row for each item, and columns for the subtopic and the flag if there are any."""
        query, item, grade, subtopic = zip(*self.rows(form), strict=True)
        held: dict[str, Sequence[Any]] = {"query": query, "item": item, "grade": grade}
        if self.subtopics:
            held["subtopic"] = subtopic
        if self.flagged:
            held["flag"] = [each in self.flagged for each in query]
        return held

    def without_subtopics(self, form: str) -> None:
        """Raise UnwritableError where the solution has subtopics, for a format without them."""
        if self.subtopics:
            raise UnwritableError(f"the solution has subtopics; {form} has none")

    def without_flags(self, form: str) -> None:
        """Raise UnwritableError where a query is flagged, for a format without flags."""
        for query in self.grades:
            if query in self.flagged:
                raise UnwritableError(f"query {quoted(query)} is flagged as preliminary; {form} has no flags")


@dataclass(frozen=True, slots=True)
class SubmissionContent:
    """Ranked lists, the best item first; queries in the order of the file."""

    items: Mapping[str, Sequence[str]]
    scores: Mapping[str, Sequence[float]] | None
    """The run scores of the items, descending; None where the lists have none."""
    ties: TieRule | None = None
    """The order of items with equal scores; None where there is no rule."""

    def best_of(self, mark: str) -> SubmissionContent:
        """Return lists of what is before the mark in items, as documents of passages, each at its best item."""
        first = {
            query: {item.partition(mark)[0]: at for at, item in reversed([*enumerate(items)])}
            for query, items in self.items.items()
        }
        places = {query: sorted(documents.items(), key=lambda pair: pair[1]) for query, documents in first.items()}
        items = {query: [document for document, _ in listed] for query, listed in places.items()}
        scores = self.scores and {
            query: [self.scores[query][at] for _, at in listed] for query, listed in places.items()
        }
        return SubmissionContent(items, scores, self.ties)

    def listed(self, form: str) -> Mapping[str, Sequence[str]]:
        """Return the lists without scores. Raises UnwritableError where scores are equal and no rule orders them."""
        if self.scores is None:
            return self.items
        return {query: self._ordered(query, form) for query in self.items}

    def _ordered(self, query: str, form: str) -> Sequence[str]:
        items, scores = self.items[query], (self.scores or {})[query]
        if self.ties == "order":
            return items
        if self.ties == "trec":
            # By the bytes of the ids, descending, as in matching.
            by_id = sorted(range(len(items)), key=lambda at: items[at].encode(), reverse=True)
            return [items[at] for at in sorted(by_id, key=lambda at: -scores[at])]
        for at in range(1, len(items)):
            if scores[at] == scores[at - 1]:
                found = f"items {quoted(items[at - 1])} and {quoted(items[at])} of query {quoted(query)}"
                raise UnwritableError(
                    f"{found} have the same score; {form} holds no scores: "
                    "set ties to trec (by item id, descending) or to order (as listed)"
                )
        return items

    def rows(self, form: str) -> list[tuple[str, str, float, int]]:
        """Return query, item, score (or the length, ..., 1) and rank. Raises UnwritableError for an empty list."""
        rows = []
        for query, items in self.items.items():
            if not items:
                raise UnwritableError(
                    f"the list of query {quoted(query)} is empty; {form} cannot hold it, with its row for each item"
                )
            scores = range(len(items), 0, -1) if self.scores is None else self.scores[query]
            rows += [
                (query, item, float(score), rank)
                for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
            ]
        return rows

    def columns(self, form: str) -> dict[str, Sequence[Any]]:
        """Return a table with a row for each item, with its score, or with its rank where lists have no scores."""
        query, item, score, rank = zip(*self.rows(form), strict=True)
        return {"query": query, "item": item, **({"rank": rank} if self.scores is None else {"score": score})}


def fitting(ids: Iterable[str], unfit: re.Pattern[str], what: str, form: str) -> None:
    """Raise UnwritableError at the first id in which `unfit` is found."""
    for name in ids:
        if match := unfit.search(name):
            held = quoted(match[0]) if match[0] else "nothing"
            raise UnwritableError(f"the id {quoted(name)} of {what} holds {held}; {form} cannot hold that")


def shortest(value: float) -> str:
    """Return the shortest text that is read as the same float64."""
    return repr(value).removesuffix(".0")
