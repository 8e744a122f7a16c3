"""The measures of trec_eval 10: their names, parameters and default cut-offs, and what `scorer` does not compute.

The table `TREC_EVAL` decides what a name means there and how it is printed. Its order is that of the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

TREC_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
"""The cut-offs that trec_eval takes for most measures that are named without one."""

Takes = Literal["nothing", "depths", "levels", "numbers", "pairs"]
"""What trec_eval reads after the dot: nothing; depths, or levels of recall or of R, which make one value each; numbers,
or pairs such as 1=3.5, which are parameters of one value."""

_DEPTHS = tuple(map(float, TREC_CUTOFFS.split(",")))
_TENTHS = tuple(tenth / 10 for tenth in range(11))
_MULTIPLES = tuple(fifth / 5 for fifth in range(1, 11))


class TrecMeasure(NamedTuple):
    """A measure of trec_eval."""

    name: str
    ours: str
    """Our name of it, without a cut-off and parameters; empty for a text."""
    takes: Takes = "nothing"
    default: tuple[float, ...] = ()
    """The cut-offs or numbers without any after the dot."""
    parameters: Mapping[str, float | str] = MappingProxyType({})
    """The parameters that give trec_eval's numbers."""
    named: tuple[str, ...] = ()
    """Our parameters for its numbers, or the names of its pairs; "gain" for pairs of level and gain."""
    per_query: bool = True
    """Whether it is printed for each query too."""

    @property
    def template(self) -> str:
        """The name as printed, ``{}`` being the cut-off: ``P_{}``."""
        return self.name + {"depths": "_{}", "levels": "_{:.2f}"}.get(self.takes, "")

    @property
    def cutoffs(self) -> str:
        """The default cut-offs as printed: ``5,10``; empty if it takes none."""
        decimals = {"depths": 0, "levels": 2}.get(self.takes)
        return "" if decimals is None else ",".join(f"{cutoff:.{decimals}f}" for cutoff in self.default)


TREC_EVAL: tuple[TrecMeasure, ...] = (
    TrecMeasure("runid", ""),
    TrecMeasure("num_q", "NumQ", per_query=False),
    TrecMeasure("num_ret", "NumRet"),
    TrecMeasure("num_rel", "NumRel"),
    TrecMeasure("num_rel_ret", "NumRelRet"),
    TrecMeasure("map", "AP"),
    TrecMeasure("gm_map", "GMAP", per_query=False),
    TrecMeasure("Rprec", "Rprec"),
    TrecMeasure("bpref", "Bpref"),
    TrecMeasure("recip_rank", "RR"),
    TrecMeasure("iprec_at_recall", "IPrec", "levels", _TENTHS, {"reach": "nearest"}),
    TrecMeasure("P", "P", "depths", _DEPTHS),
    TrecMeasure("relstring", "", "numbers", (10.0,)),
    TrecMeasure("recall", "R", "depths", _DEPTHS),
    TrecMeasure("infAP", "infAP"),
    TrecMeasure("gm_bpref", "GMBpref", per_query=False),
    TrecMeasure("Rprec_mult", "RprecMult", "levels", _MULTIPLES),
    TrecMeasure("utility", "Utility", "numbers", (1.0, -1.0, 0.0, 0.0), named=("relevant", "other", "missed", "rest")),
    TrecMeasure("11pt_avg", "11pt_avg", parameters={"reach": "nearest"}),
    TrecMeasure("binG", "binG"),
    TrecMeasure("G", "G", "pairs", named=("gain",)),
    TrecMeasure("dcg", "DCG", "pairs", named=("gain",)),
    TrecMeasure("ndcg", "nDCG", "pairs", named=("gain",)),
    TrecMeasure("ndcg_rel", "nDCGrel", "pairs", named=("gain",)),
    TrecMeasure("Rndcg", "Rndcg", "pairs", named=("gain",)),
    TrecMeasure("ndcg_cut", "nDCG", "depths", _DEPTHS),
    TrecMeasure("map_cut", "AP", "depths", _DEPTHS),
    TrecMeasure("relative_P", "R", "depths", _DEPTHS, {"denominator": "min"}),
    TrecMeasure("success", "Success", "depths", (1.0, 5.0, 10.0)),
    TrecMeasure("set_P", "SetP"),
    TrecMeasure("set_relative_P", "SetR", parameters={"denominator": "min"}),
    TrecMeasure("set_recall", "SetR"),
    TrecMeasure("set_map", "SetAP"),
    TrecMeasure("set_F", "SetF", "numbers", (1.0,), {"weight": "plain"}, ("beta",)),
    TrecMeasure("num_nonrel_judged_ret", "NumNonrelJudgedRet"),
    TrecMeasure("rbp", "RBP", "pairs", named=("p",)),
    TrecMeasure("rbp_resid", "RBPresidual", "pairs", named=("p",)),
    TrecMeasure("unj", "Unjudged", "depths", (5.0, 10.0, 20.0)),
)
"""In the order in which trec_eval prints them."""

_PREFERENCES = "compares pairs of items that an assessor preferred one of; a solution has grades"
_ASSESSORS = "needs the judgements of several assessors for each query; a solution has one grade for each item"

TREC_LEFT_OUT: Mapping[str, str] = {
    "ideal_dcg": "is a property of the solution, not a score of a list; nDCG is DCG divided by it",
    "yaap": "is negative for a poor list, so that a missing list, which scores 0, would be better; AP is the usual one",
    **dict.fromkeys(
        (
            *("prefs", "all_prefs", "prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel"),
            *("prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret"),
            *("prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp"),
            *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        ),
        _PREFERENCES,
    ),
    **dict.fromkeys(("qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"), _ASSESSORS),
}
"""The names of trec_eval 10, with those of its groups, that `scorer trec_eval` does not compute either, and why."""

_COUNTED = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_NOT_IN_ALL = ("dcg",)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "official": (*_COUNTED, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_COUNTED, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(measure.name for measure in TREC_EVAL if measure.name not in _NOT_IN_ALL),
}
"""Names of several measures at once, without their cut-offs."""

TREC_SETS: dict[str, tuple[str, ...]] = {
    group: tuple(
        f"{measure.name}_{measure.cutoffs}" if measure.cutoffs else measure.name
        for measure in TREC_EVAL
        if measure.name in names and measure.ours
    )
    for group, names in GROUPS.items()
}
"""The same with the cut-offs, without the texts, in the order in which trec_eval prints them."""

DEFAULT_GROUP = "official"
