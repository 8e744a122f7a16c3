"""Analyses and reports as plain values and as JSON. docs/report.md documents every key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scorer.analysis.analysis import Agreement, Consensus, Report, TaskAnalysis
from scorer.analysis.pairs import PairTest
from scorer.measures.arrays import Floats
from scorer.statistics.rankings import Ranking

VERSION = 1

Document = dict[str, Any]


def json_text(document: Document) -> str:
    """Return a document as JSON: full precision, null where undefined; without a final line end."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def report_document(report: Report) -> Document:
    """Return a report as plain values; None where undefined."""
    return {
        "version": VERSION,
        "tasks": [task_document(task) for task in report.tasks],
        "consensus": {rule: _consensus(consensus) for rule, consensus in report.consensus.items()},
        "seed": report.settings.seed,
        "resamples": report.settings.resamples,
    }


def task_document(analysis: TaskAnalysis) -> Document:
    """Return the analysis of a task as plain values; None where undefined."""
    names, resampling = analysis.names, analysis.resampling
    first = resampling.first.tolist()
    return {
        "task": analysis.task.name,
        "cases": len(analysis.task.cases),
        "algorithms": list(names),
        "rules": {rule: _ranking(names, ranking) for rule, ranking in analysis.rules.items()},
        "pairwise": {
            **{name: _pairs(analysis, test) for name, test in analysis.tests.items()},
            **({} if analysis.tukey is None else {"tukey": _tukey(names, analysis.tukey)}),
        },
        "intervals": {
            name: {
                "mean": defined(float(analysis.means[at])),
                "percentile": _interval(resampling.percentile[at]),
                "bca": _interval(resampling.bca[at]),
            }
            for at, name in enumerate(names)
        },
        "ranks": {
            name: {
                "range": analysis.ranges[at].tolist(),
                "simultaneous": analysis.simultaneous[at].tolist(),
                "bootstrap": _ranks(resampling.quantiles[at]),
                "first": defined(first[at]),
            }
            for at, name in enumerate(names)
        },
        "tiers": [[names[at] for at in tier] for tier in analysis.tiers],
        "stability": {
            "tau_mean": defined(resampling.tau_mean),
            "tau_quartiles": [defined(tau) for tau in resampling.tau_quartiles],
        },
        "agreement": {
            rule: {other: _agreement(each) for (one, other), each in analysis.agreement.items() if one == rule}
            for rule in analysis.rules
        },
    }


def defined(value: float) -> float | None:
    """Return a number; None for NaN."""
    return None if math.isnan(value) else value


def _interval(ends: Floats) -> list[float] | None:
    """Return the ends of an interval; None where it is undefined."""
    return None if np.isnan(ends).any() else [float(end) for end in ends]


def _ranking(names: Sequence[str], ranking: Ranking) -> Document:
    values, ranks = ranking.values.tolist(), ranking.ranks.tolist()
    return {
        name: {"value": defined(values[at]), "rank": ranks[at] if ranking.is_defined else None}
        for at, name in enumerate(names)
    }


def _pairs(analysis: TaskAnalysis, test: PairTest) -> Document:
    """Row -> column -> p-values, of the pairs that are tested."""
    p, adjusted = test.p.tolist(), test.holm.tolist()
    return {
        row: {
            column: {"p": defined(p[i][j]), "holm": defined(adjusted[i][j])}
            for j, column in enumerate(analysis.names)
            if analysis.tested[i, j]
        }
        for i, row in enumerate(analysis.names)
    }


def _tukey(names: Sequence[str], p: Floats) -> Document:
    return {
        row: {column: {"p": defined(float(p[i, j]))} for j, column in enumerate(names) if i != j}
        for i, row in enumerate(names)
    }


def _ranks(quantiles: Floats) -> list[float | int] | None:
    """Return quantiles of ranks, whole ones as integers; None where undefined."""
    if np.isnan(quantiles).any():
        return None
    return [int(rank) if float(rank).is_integer() else float(rank) for rank in quantiles]


def _agreement(agreement: Agreement | None) -> Mapping[str, float | None]:
    if agreement is None:
        return {"tau_b": None, "footrule": None}
    return {"tau_b": defined(agreement.tau_b), "footrule": agreement.footrule}


def _consensus(consensus: Consensus | None) -> Document | None:
    if consensus is None:
        return None
    values, ranks = consensus.values.tolist(), consensus.ranks.tolist()
    return {name: {"value": values[at], "rank": ranks[at]} for at, name in enumerate(consensus.algorithms)}
