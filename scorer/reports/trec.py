"""Scores in trec_eval's three columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scorer.reports.report import MEAN, ScoreReport, is_count
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.measures import Measure


def trec_name(measure: Measure) -> str:
    """Return trec_eval's name of a measure; our name if trec_eval has none for its cut-off and parameters."""
    from scorer.measures import parse_one  # noqa: PLC0415 (no other form needs it)

    for template in measure.kind.trec_names:
        if ("{" in template) == (measure.cutoff is not None):
            name = template.format(measure.cutoff)
            if parse_one(name) == measure:
                return name
    return str(measure)


def trec_document(report: ScoreReport) -> str:
    """Return trec_eval's three columns: measure, query or `all`, score.

    An undefined score, or mean, has no line. With several submissions, a line ``runid`` with the name is above the
    scores of each.
    """
    return "\n".join(_lines(report))


def _lines(report: ScoreReport) -> Iterator[str]:
    for called, (_, evaluation) in zip(report.called, report.submissions, strict=True):
        if len(report.submissions) > 1:
            yield three_columns("runid", MEAN, printable(called))
        for query, scores in evaluation.by_query().items() if report.per_query else ():
            per_query = {name: score for name, score in scores.items() if report.measures[name].kind.trec_per_query}
            yield from _scores(report, printable(query), per_query)
        yield from _scores(report, MEAN, evaluation)


def _scores(report: ScoreReport, query: str, scores: Mapping[str, float]) -> Iterator[str]:
    for name, score in scores.items():
        if not math.isnan(score):
            measure = report.measures[name]
            yield three_columns(trec_name(measure), query, f"{score:{'.0f' if is_count(measure) else '6.4f'}}")


def three_columns(measure: str, query: str, value: str) -> str:
    """Return a line of trec_eval's output."""
    return f"{measure:<22}\t{query}\t{value}"
