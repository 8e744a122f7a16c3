"""The measures: what there are, and the reading of their names.

A new measure is a function with its declaration in one of the families here, a row in `KINDS`, and a slow oracle of the
same name in ``tests/oracles.py``. Help, the page about measures and the tests over the registry follow from these.
"""

from __future__ import annotations

from scorer.measures import gain, graded, position, r_precision, set_based
from scorer.measures.registry import Cutoff, Kind, Measure, Parameter, Registry, Value

KINDS: tuple[Kind, ...] = (
    r_precision.mean_average_r_precision,
    r_precision.r_precision_at,
    r_precision.r_precision,
    set_based.precision,
    set_based.recall,
    set_based.f_measure,
    set_based.set_precision,
    set_based.set_recall,
    set_based.set_f_measure,
    position.average_precision,
    position.reciprocal_rank,
    position.interpolated_precision,
    gain.ndcg,
    gain.dcg,
    graded.multi_graded_average_precision,
    graded.ndcng,
    graded.ndcg_phi,
    graded.mean_ndcg,
    graded.mean_ndcng,
)

registry = Registry(KINDS)
parse = registry.parse
parse_one = registry.parse_one

__all__ = ["KINDS", "Cutoff", "Kind", "Measure", "Parameter", "Registry", "Value", "parse", "parse_one", "registry"]
