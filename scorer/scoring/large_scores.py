"""Refuses a solution for a measure whose scores may exceed the floating-point numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scorer.errors import ContentError, Findings
from scorer.formats.writing import shortest
from scorer.matching.solution import Solution
from scorer.measures import Measure
from scorer.measures.gain import ROUNDING
from scorer.measures.matched import Matched
from scorer.wording import quoted


def check_gains(solution: Solution, measures: Sequence[Measure], where: str = "the solution") -> None:
    """Raise ContentError for a solution whose grades are too high for one of the measures, or that only fits other
    measures.

    Grades are too high where the score of a list, or the sum of the scores of all queries, can exceed the largest
    floating-point number; each measure and each query is reported. Then a team that finds such an item would have
    another set of queries in its mean than a team that does not. An accepted solution has finite scores and means for
    every submission. A solution fits other measures where an item has several iterations, and no measure uses
    subtopics.
    """
    findings = Findings()
    if not any(measure.kind.subtopics for measure in measures):
        findings.extend(solution.iterations.repeated)
    queries = len(solution.queries)
    nothing = solution.ideal.where(np.zeros(0, dtype=np.int64))
    matched = Matched(nothing, solution.ideal, np.zeros(queries, dtype=np.int64))
    for measure in measures:
        highest = measure.highest(matched)
        if highest is None or not queries:
            continue
        for query in np.flatnonzero(~np.isfinite(highest)):
            findings.add(0, _too_large(solution, f"{measure}: its score", int(query)))
        with np.errstate(over="ignore"):
            overflows = not np.isfinite(highest.sum() * (1 + ROUNDING))
        if overflows and np.isfinite(highest).all():
            findings.add(0, _too_large(solution, f"{measure}: the sum of its scores", int(highest.argmax())))
    if findings:
        raise ContentError(where, findings)


def _too_large(solution: Solution, what: str, query: int) -> str:
    best = int(solution.first_entry[query])
    item, grade = solution.items[int(solution.item_of_entry[best])].as_py(), float(solution.ideal.grade[best])
    return (
        f"{what} can exceed the largest floating-point number (1.8e308), because item {quoted(item)} of query "
        f"{quoted(solution.queries[query].as_py())} has the grade {shortest(grade)}; "
        "choose another gain or measure, or give smaller grades"
    )
