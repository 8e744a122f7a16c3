"""What names of measures mean in other tools: names that are not read, and names of several meanings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorer.measures.kinds import Measure

TREC_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
"""The cut-offs that trec_eval takes for most measures that are named without one."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A kind whose name another tool reads as another measure, unless it gives a parameter."""

    tool: str
    parameter: str
    """The parameter that decides."""
    meant: Callable[[Measure], Measure | None]
    """Returns the tool's measure, for a measure with our default of the parameter; None where both are the same."""


_PREFERENCES = "compares pairs of items that an assessor preferred one of; a solution has grades"
_ASSESSORS = "needs the judgements of several assessors for each query; a solution has one grade for each item"
_COSTS = "weighs gains against the effort of reading, which solutions do not have; INST is similar, with equal efforts"

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

REFUSED: Mapping[str, str] = {
    "runid": "is the tag of a run, not a measure",
    "relstring": "is text, not a number; `scorer trec_eval -m relstring` prints it",
    **TREC_LEFT_OUT,
    **dict.fromkeys(("BPM", "IFT"), _COSTS),
    "TBG": "needs the time that each item takes to read; RBP is similar, with time counted in items",
    "UMeasure": "needs the length of the text of each item; nDCG is similar, with a discount by rank",
    "rank_biased_precision": "is a function of ranx, whose name as a measure has a value of p; write rbp.95",
    "interpolated_precision_at_recall": "is a function of ranx with eleven results; write IPrec(reach=up)@0.0,0.1,0.2",
}
"""Why a name is not read, as the rest of a sentence that starts with the name."""

AMBIGUOUS: Mapping[str, Mapping[str, str]] = {"recall": {"trec_eval": f"R@{TREC_CUTOFFS}", "ranx": "R"}}
"""Names that mean something else in each tool if they have no cut-off: tool -> our name of its measure."""
