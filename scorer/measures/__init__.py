"""All measures, and the functions that read their names.

To add a measure, write a function with its declaration in one of the families here, list it in `KINDS`, and add a slow
oracle of the same name to ``tests/oracles.py``. Help, pages, reports and the tests over all measures follow from these.
"""

from __future__ import annotations

from scorer.measures import counts, gain, graded, incomplete, position, r_precision, set_based, user_models
from scorer.measures.kinds import Aggregation, Cutoff, Kind, Measure
from scorer.measures.names import Registry
from scorer.measures.parameters import Parameter, Value

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
    set_based.set_average_precision,
    position.average_precision,
    position.geometric_average_precision,
    position.reciprocal_rank,
    position.success,
    position.interpolated_precision,
    position.eleven_point_average,
    position.accuracy,
    gain.ndcg,
    gain.dcg,
    graded.multi_graded_average_precision,
    graded.ndcng,
    graded.ndcg_phi,
    graded.mean_ndcg,
    graded.mean_ndcng,
    user_models.rank_biased_precision,
    user_models.expected_reciprocal_rank,
    user_models.rank_biased_overlap,
    incomplete.binary_preference,
    incomplete.inferred_average_precision,
    incomplete.judgement_rate,
    counts.number_of_queries,
    counts.number_retrieved,
    counts.number_relevant,
    counts.number_relevant_retrieved,
)

_LEVELS = "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"
_DEPTHS = "5,10,15,20,30,100,200,500,1000"

_OFFICIAL = (
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    f"iprec_at_recall_{_LEVELS}",
    f"P_{_DEPTHS}",
)
_SET = ("set_P", "set_relative_P", "set_recall", "set_map", "set_F")
SETS: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "set": _SET,
    "all_trec": (
        *_OFFICIAL,
        *(f"recall_{_DEPTHS}", "infAP", "11pt_avg", "ndcg", f"ndcg_cut_{_DEPTHS}", f"map_cut_{_DEPTHS}"),
        *(f"relative_P_{_DEPTHS}", "success_1,5,10", *_SET, "rbp"),
    ),
}
"""trec_eval's names of several measures at once, without the measures that only trec_eval has."""

registry = Registry(KINDS, SETS)
parse = registry.parse
parse_one = registry.parse_one

__all__ = [
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
