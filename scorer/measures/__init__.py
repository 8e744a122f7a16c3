"""All measures, and the functions that read their names.

To add a measure, write a function with its declaration in one of the families here, list it in `KINDS`, and add a slow
oracle of the same name to ``tests/oracles.py``. Help, pages, reports and the tests over all measures follow from these.
"""

from __future__ import annotations

from scorer.measures import (
    continuation,
    counts,
    diversity,
    gain,
    graded,
    incomplete,
    normalised_gain,
    position,
    r_precision,
    set_based,
    user_models,
)
from scorer.measures.kinds import Aggregation, Kind, Measure
from scorer.measures.names import Registry
from scorer.measures.parameters import Cutoff, Parameter, Value
from scorer.measures.trec_eval import SETS

KINDS: tuple[Kind, ...] = (
    r_precision.mean_average_r_precision,
    r_precision.r_precision_at,
    r_precision.r_precision,
    r_precision.r_precision_at_multiple,
    set_based.precision,
    set_based.recall,
    set_based.hits,
    set_based.f_measure,
    set_based.set_precision,
    set_based.set_recall,
    set_based.set_f_measure,
    set_based.set_average_precision,
    set_based.utility,
    position.average_precision,
    position.geometric_average_precision,
    position.reciprocal_rank,
    position.success,
    position.set_success,
    position.interpolated_precision,
    position.eleven_point_average,
    position.accuracy,
    gain.ndcg,
    gain.dcg,
    normalised_gain.ndcg_over_relevant,
    normalised_gain.ndcg_over_levels,
    normalised_gain.normalised_gain,
    normalised_gain.binary_gain,
    graded.multi_graded_average_precision,
    graded.ndcng,
    graded.ndcg_phi,
    graded.mean_ndcg,
    graded.mean_ndcng,
    user_models.rank_biased_precision,
    user_models.rank_biased_residual,
    user_models.expected_reciprocal_rank,
    user_models.rank_biased_overlap,
    continuation.inst,
    continuation.insq,
    continuation.scaled_dcg,
    continuation.nearly_err_8,
    continuation.nearly_err_9,
    continuation.nearly_err_10,
    continuation.nearly_err_11,
    diversity.alpha_ndcg,
    diversity.alpha_dcg,
    diversity.err_ia,
    diversity.nerr_ia,
    diversity.nrbp,
    diversity.nnrbp,
    diversity.precision_ia,
    diversity.average_precision_ia,
    diversity.subtopic_recall,
    incomplete.binary_preference,
    incomplete.geometric_binary_preference,
    incomplete.inferred_average_precision,
    incomplete.judgement_rate,
    incomplete.unjudged_share,
    counts.number_of_queries,
    counts.number_retrieved,
    counts.number_relevant,
    counts.number_relevant_retrieved,
    counts.number_judged_not_relevant,
)

DEFAULT = ("nDCG@10", "AP", "RR", "P@10", "R@100")
"""The measures of an evaluation that names none."""

registry = Registry(KINDS, SETS)
parse = registry.parse
parse_one = registry.parse_one

__all__ = [
    "DEFAULT",
    "KINDS",
    "SETS",
    "Aggregation",
    "Cutoff",
    "Kind",
    "Measure",
    "Parameter",
    "Registry",
    "Value",
    "parse",
    "parse_one",
    "registry",
]
