"""Means over queries: which queries a mean is taken over, how their scores become one, and whether it is finite."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scorer.errors import ContentError, Findings
from scorer.measures import Aggregation, Measure
from scorer.measures.arrays import Bools, Floats
from scorer.measures.gain import ROUNDING
from scorer.measures.matched import Matched
from scorer.options import Split
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.matching.solution import Solution

GEOMETRIC_FLOOR = 1e-5
"""The lowest value that a score has in a geometric mean, as in trec_eval."""


class Mean(NamedTuple):
    """The mean of a measure over some queries."""

    value: float | None
    """None where the measure is undefined for all of the queries."""
    undefined: int
    """How many of the queries the mean leaves out, because the measure is undefined for them."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryMask:
    """The queries that a mean is taken over."""

    inside: Bools
    """[query]: whether the mean is taken over it."""

    @cached_property
    def digest(self) -> str:
        """128 bits of the SHA-256 of the mask, in hexadecimal: equal for equal masks."""
        packed = np.packbits(self.inside).tobytes()
        return hashlib.sha256(f"{self.inside.size}:".encode() + packed).hexdigest()[:32]


def split_masks(flagged: Bools) -> dict[Split, QueryMask]:
    """The masks of all splits of a solution, given the flags of its queries."""
    return {
        "all": QueryMask(np.ones(flagged.size, dtype=bool)),
        "preliminary": QueryMask(flagged),
        "rest": QueryMask(~flagged),
    }


def aggregated(scores: Floats, way: Aggregation) -> float:
    """The mean (or the sum, or the geometric mean) of the defined scores, [query]; NaN if no score is defined.

    Scores are added one by one in the order of the solution, as VL.NET's own evaluator does, so that the results are
    equal to the last bit.
    """
    defined = scores[~np.isnan(scores)]
    if not defined.size:
        return float("nan")
    if way == "geometric":
        defined = np.log(np.maximum(defined, GEOMETRIC_FLOOR))
    total = float(np.cumsum(defined)[-1])
    if way == "sum":
        return total
    return math.exp(total / defined.size) if way == "geometric" else total / defined.size


def aggregated_rows(measures: Sequence[Measure], scores: Floats) -> Floats:
    """[measure]: the scores, [measure, query], of each aggregated in its way, as `aggregated` does."""
    if scores.size and not np.isnan(scores).any() and all(measure.kind.aggregation == "mean" for measure in measures):
        return np.asarray(np.cumsum(scores, axis=1)[:, -1] / scores.shape[1])
    rows = zip(measures, scores, strict=True)
    return np.array([aggregated(row, measure.kind.aggregation) for measure, row in rows], dtype=np.float64)


def all_means(
    measures: Sequence[Measure], scores: Floats, masks: Mapping[Split, QueryMask]
) -> dict[tuple[str, str], Mean]:
    """The means of scores [measure, query] over all splits, by full name of the measure and digest of the mask."""
    means = {}
    for measure, row in zip(measures, scores, strict=True):
        for mask in masks.values():
            inside = row[mask.inside]
            value = aggregated(inside, measure.kind.aggregation)
            undefined = int(np.count_nonzero(np.isnan(inside)))
            means[measure.full, mask.digest] = Mean(None if math.isnan(value) else value, undefined)
    return means


def check_gains(solution: Solution, measures: Sequence[Measure], where: str = "the solution") -> None:
    """Raise ContentError for a solution whose grades are too high for a measure, or that only fits other measures.

    Grades are too high where the score of a list, or the sum of the scores of all queries, can exceed the largest
    floating-point number; each measure and each query is reported. Then a team that finds such an item would have
    another set of queries in its mean than a team that does not. An accepted solution has finite scores and means for
    every submission. A solution fits other measures where an item has several iterations, and no measure uses
    subtopics.
    """
    findings = Findings()
    if not any(measure.kind.subtopics for measure in measures):
        findings.extend(solution.iterations.repeated)
    queries = solution.flagged.size
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
    from scorer.formats.writing import shortest  # noqa: PLC0415 (Arrow is slow to load)

    best = int(solution.first_entry[query])
    item, grade = solution.ids.names(np.array([best]))[0], float(solution.ideal.grade[best])
    return (
        f"{what} can exceed the largest floating-point number (1.8e308), because item {quoted(item)} of query "
        f"{quoted(solution.queries[query].as_py())} has the grade {shortest(grade)}; "
        "choose another gain or measure, or give smaller grades"
    )
