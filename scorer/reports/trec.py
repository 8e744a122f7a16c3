"""Scores in trec_eval's three columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scorer.reports.report import MEAN, ScoreReport, is_count
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.measures import Measure


TREC_NAMES: Mapping[str, tuple[str, ...]] = {
    "NumQ": ("num_q",),
    "NumRet": ("num_ret",),
    "NumRel": ("num_rel",),
    "NumRelRet": ("num_rel_ret",),
    "AP": ("map", "map_cut_{}"),
    "GMAP": ("gm_map",),
    "SetAP": ("set_map",),
    "nDCG": ("ndcg", "ndcg_cut_{}"),
    "P": ("P_{}",),
    "R": ("recall_{}", "relative_P_{}"),
    "RR": ("recip_rank",),
    "Rprec": ("Rprec",),
    "Success": ("success_{}",),
    "IPrec": ("iprec_at_recall_{:.2f}",),
    "11pt_avg": ("11pt_avg",),
    "SetP": ("set_P",),
    "SetR": ("set_recall", "set_relative_P"),
    "SetF": ("set_F",),
    "Bpref": ("bpref",),
    "infAP": ("infAP",),
}
"""What trec_eval calls a kind, with its cut-off where it has one."""

OF_ALL_ALONE = ("NumQ", "GMAP")
"""What trec_eval does not print for each query."""


def trec_name(measure: Measure) -> str:
    """As trec_eval prints it; our own name where trec_eval has none for the cut-off and the parameters."""
    from scorer.measures import parse_one  # noqa: PLC0415 (one of the forms needs it)

    for template in TREC_NAMES.get(measure.kind.name, ()):
        if ("{" in template) == (measure.cutoff is not None):
            name = template.format(measure.cutoff)
            if parse_one(name) == measure:
                return name
    return str(measure)


def trec_document(results: ScoreReport) -> str:
    """trec_eval's three columns: measure, query or `all`, score.

    A query for which a measure is undefined has no line, nor has the mean where it is undefined for all. Several
    submissions are headed by a line with their path, called ``runid``.
    """
    return "\n".join(_trec_lines(results))


def _trec_lines(results: ScoreReport) -> Iterator[str]:
    for path, result in results.submissions:
        if len(results.submissions) > 1:
            yield _three("runid", MEAN, printable(path))
        for query, scores in result.by_query().items() if results.per_query else ():
            asked = {
                name: score for name, score in scores.items() if results.measures[name].kind.name not in OF_ALL_ALONE
            }
            yield from _trec_scores(results, printable(query), asked)
        yield from _trec_scores(results, MEAN, result)


def _trec_scores(results: ScoreReport, query: str, scores: Mapping[str, float]) -> Iterator[str]:
    for name, score in scores.items():
        if not math.isnan(score):
            measure = results.measures[name]
            yield _three(trec_name(measure), query, f"{score:{'.0f' if is_count(measure) else '6.4f'}}")


def _three(measure: str, query: str, value: str) -> str:
    return f"{measure:<22}\t{query}\t{value}"
