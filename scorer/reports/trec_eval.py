"""Scores as trec_eval 10 prints them, to the byte: its names, its order of measures and queries, its decimals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scorer.measures.arrays import Ints
from scorer.reports.scores import MEAN, is_count, three_columns
from scorer.scoring.means import aggregated
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.matching.solution import Solution
    from scorer.measures.trec_eval import Printed
    from scorer.scoring.outcomes import Scored

RUN_TAG = "runid"
"""trec_eval's name of the line with the tag of the run."""

_HIGHEST_DIGIT = 9


@dataclass(frozen=True)
class TrecEvalOutput:
    """What trec_eval prints for a run."""

    solution: Solution
    scored: Scored
    printed: Sequence[Printed]
    tag: str
    """The tag of the run."""
    complete: bool = False
    """Whether queries without a list count, as with -c."""
    per_query: bool = False
    summary: bool = True

    def text(self) -> str:
        """Return the lines, without a line end after the last one."""
        return "\n".join(self._lines())

    @cached_property
    def left_out(self) -> int:
        """The number of queries that are left out because they have no list."""
        return len(self.solution.queries) - self._inside.size

    @cached_property
    def _inside(self) -> Ints:
        """The queries that count, in the order of their bytes."""
        answered = self.scored.matched.answered
        ids = self.solution.queries.to_pylist()
        inside = [query for query in range(len(ids)) if self.complete or answered is None or answered[query]]
        return np.array(sorted(inside, key=lambda query: ids[query].encode()), dtype=np.int64)

    @cached_property
    def _columns(self) -> Mapping[str, list[float]]:
        """The scores of the queries that count, by the printed name; 0 where a measure is undefined."""
        rows = dict(zip(self.scored.measures, self.scored.scores, strict=True))
        return {
            printed.name: np.nan_to_num(rows[printed.measure][self._inside]).tolist()
            for printed in self.printed
            if printed.measure is not None
        }

    def _lines(self) -> Iterator[str]:
        if self.per_query:
            ids = self.solution.queries.to_pylist()
            for place, number in enumerate(self._inside.tolist()):
                yield from self._query_lines(printable(ids[number]), place, number)
        if self.summary:
            yield from self._summary_lines()

    def _query_lines(self, query: str, place: int, number: int) -> Iterator[str]:
        for printed in self.printed:
            if printed.measure is None:
                if printed.name != RUN_TAG:
                    yield three_columns(printed.name, query, f"'{self._grades(number, printed.length)}'")
            elif printed.measure.kind.trec_per_query:
                yield three_columns(printed.name, query, _value(printed, self._columns[printed.name][place]))

    def _summary_lines(self) -> Iterator[str]:
        for printed in self.printed:
            if printed.measure is not None:
                mean = aggregated(np.array(self._columns[printed.name]), printed.measure.kind.aggregation)
                yield three_columns(printed.name, MEAN, _value(printed, mean))
            elif printed.name == RUN_TAG:
                yield three_columns(printed.name, MEAN, printable(self.tag))

    def _grades(self, query: int, length: int) -> str:
        """Return a character for each of the first `length` items of a list.

        It is the grade; ``>`` for a grade above 9, ``.`` for a negative one, ``-`` for an item without a grade.
        """
        matched = self.scored.matched
        characters = ["-"] * min(length, int(matched.retrieved[query]))
        first, end = np.searchsorted(matched.found.query, [query, query + 1])
        ranks, grades = matched.found.rank[first:end].tolist(), matched.found.grade[first:end].tolist()
        for rank, grade in zip(ranks, grades, strict=True):
            if rank <= len(characters):
                characters[rank - 1] = "." if grade < 0 else ">" if grade > _HIGHEST_DIGIT else f"{grade:.0f}"
        return "".join(characters)


def _value(printed: Printed, score: float) -> str:
    is_whole = printed.measure is not None and is_count(printed.measure)
    return f"{score:.0f}" if is_whole else f"{score:6.4f}"
