"""Names of measures in other tools, and the differences between the tools.

The tables pair a tool's name with our name of the measure that gives the same numbers.
`tests/measures/test_peers.py` compares the scores of every pair. `tests/measures/test_peer_names.py` checks that each
name is read as that measure, or refused with a message that has our name, and that the tables have all names of the
installed tools. In a name, ``{k}`` is a cut-off and ``{level}`` is a level of recall. Names without a measure here are
in `scorer/measures/names.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

Names = Mapping[str, str]
"""A tool's name -> ours."""

TREC_EVAL: Names = {
    "map": "AP",
    "map_cut_{k}": "AP@{k}",
    "gm_map": "GMAP",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "P_{k}": "P@{k}",
    "recall_{k}": "R@{k}",
    "relative_P_{k}": "R(denominator=min)@{k}",
    "success_{k}": "Success@{k}",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_relative_P": "SetR(denominator=min)",
    "set_F": "SetF",
    "set_map": "SetAP",
    "iprec_at_recall_{level}": "IPrec(reach=up)@{level}",
    "11pt_avg": "11pt_avg(reach=up)",
    "ndcg": "nDCG",
    "ndcg_cut_{k}": "nDCG@{k}",
    "bpref": "Bpref",
    "infAP": "infAP",
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "Rprec_mult_{level}": "RprecMult@{level}",
    "utility": "Utility",
    "binG": "binG",
    "G": "G",
    "ndcg_rel": "nDCGrel",
    "Rndcg": "Rndcg",
    "gm_bpref": "GMBpref",
    "num_nonrel_judged_ret": "NumNonrelJudgedRet",
}
"""Names of version 9, which pytrec_eval contains."""

_CUTOFFS = "5,10,15,20,30,100,200,500,1000"

TREC_EVAL_FAMILIES: Names = {
    "P": f"P@{_CUTOFFS}",
    "recall": f"R@{_CUTOFFS}",
    "relative_P": f"R(denominator=min)@{_CUTOFFS}",
    "success": "Success@1,5,10",
    "map_cut": f"AP@{_CUTOFFS}",
    "ndcg_cut": f"nDCG@{_CUTOFFS}",
    "iprec_at_recall": "IPrec(reach=up)@0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0",
    "Rprec_mult": "RprecMult@0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0",
}
"""Names that mean several cut-offs."""

TREC_EVAL_PARAMETERS: Names = {
    "set_F.0.5": "SetF(beta=0.5,weight=plain)",
    "set_F_2.0": "SetF(beta=2,weight=plain)",
    "P.{k}": "P@{k}",
    "map_cut.{k}": "AP@{k}",
    "ndcg_cut.{k}": "nDCG@{k}",
    "iprec_at_recall.{level}": "IPrec(reach=up)@{level}",
    "Rprec_mult.{level}": "RprecMult@{level}",
}
"""Names with parameters, as on the command line."""

TREC_EVAL_10: Names = {
    "dcg": "DCG",
    "ndcg.1=5,2=1": "nDCG(gain={{1:5,2:1}})",
    "rbp": "RBP",
    "rbp.p=0.8": "RBP(p=0.8)",
    "utility.1,-1,-0.5,0": "Utility(missed=-0.5)",
    "rbp_resid": "RBPresidual",
    "rbp_resid.p=0.8": "RBPresidual(p=0.8)",
    "unj": "Unjudged@5,10,20",
    "unj_{k}": "Unjudged@{k}",
}
"""Names that pytrec_eval lacks or reads wrongly. ``tests/cli/test_trec_eval_command.py`` compares their numbers."""

IR_MEASURES: Names = {
    "AP": "AP",
    "AP@{k}": "AP@{k}",
    "AP(rel=2)": "AP(rel=2)",
    "RR": "RR",
    "RR(rel=3)": "RR(rel=3)",
    "Rprec": "Rprec",
    "Rprec(rel=2)": "Rprec(rel=2)",
    "P@{k}": "P@{k}",
    "P(rel=2)@{k}": "P(rel=2)@{k}",
    "R@{k}": "R@{k}",
    "Success@{k}": "Success@{k}",
    "SetP": "SetP",
    "SetP(relative=True)": "SetR(denominator=min)",
    "SetR": "SetR",
    "SetF": "SetF",
    "SetF(beta=2.0)": "SetF(beta=2,weight=plain)",
    "SetF(beta=0.5)": "SetF(beta=0.5,weight=plain)",
    "SetAP": "SetAP",
    "IPrec@{level}": "IPrec(reach=up)@{level}",
    "nDCG": "nDCG",
    "nDCG@{k}": "nDCG@{k}",
    "Bpref": "Bpref",
    "infAP": "infAP",
    "NumQ": "NumQ",
    "NumRet": "NumRet",
    "NumRel": "NumRel",
    "NumRet(rel=1)": "NumRelRet(rel=1)",
    "NumRet(rel=2)": "NumRelRet(rel=2)",
}
"""Names of the measures that ir_measures computes with pytrec_eval."""

IR_MEASURES_SPELLINGS: Names = {
    "NumRelRet": "NumRelRet",
    "MAP": "AP",
    "MAP(cutoff=3)": "AP@3",
    "MRR": "RR",
    "NDCG@{k}": "nDCG@{k}",
    "nDCG(gains={{1: 5, 2: 1}})@{k}": "nDCG(gain={{1:5,2:1}})@{k}",
    "nDCG(dcg='log2')": "nDCG",
    "Precision@{k}": "P@{k}",
    "Recall@{k}": "R@{k}",
    "R(rel=2)@{k}": "R(rel=2)@{k}",
    "RPrec": "Rprec",
    "BPref": "Bpref",
    "Bpref(rel=2)": "Bpref(rel=2)",
    "infAP(rel=2)": "infAP(rel=2)",
    "IPrec(recall=0.35)": "IPrec(reach=up)@0.35",
    "IPrec(rel=2)@0.3": "IPrec(reach=up,rel=2)@0.3",
    "SetAP(rel=2)": "SetAP(rel=2)",
    "SetF(rel=2)": "SetF(rel=2)",
    "SetP(rel=2)": "SetP(rel=2)",
    "SetP(relative=False)": "SetP",
    "SetR(rel=2)": "SetR(rel=2)",
    "SetRelP": "SetR(denominator=min)",
    "SetRelP(rel=2)": "SetR(denominator=min,rel=2)",
    "Success(rel=2)@{k}": "Success(rel=2)@{k}",
    "AP(judged_only=False)": "AP",
}
"""Aliases, and each parameter with another value."""

IR_MEASURES_ASCENDING: Names = {
    "RR@{k}": "RR@{k}",
    "Judged": "Judged",
    "Judged@{k}": "Judged@{k}",
    "Compat": "Compat(depth=list)",
    "Compat(p=0.8)": "Compat(p=0.8,depth=list)",
    "Compat(normalize=False)": "Compat(normalise=no,depth=list)",
}
"""Names of the measures that it computes with tools that order ties by ascending item id. `Judged` is equal only
without negative grades."""

IR_MEASURES_CWL: Names = {"RBP(rel=1)": "RBP(p=0.8,rel=1)", "RBP(p=0.9,rel=2)": "RBP(p=0.9,rel=2)"}
"""Names of the measures that it computes with cwl_eval."""

IR_MEASURES_ACCURACY: Names = {
    "Accuracy": "Accuracy",
    "Accuracy@{k}": "Accuracy@{k}",
    "Accuracy(rel=2)": "Accuracy(rel=2)",
}
"""Equal for queries with a relevant and another item in the list; means leave out the others there."""

IR_MEASURES_GDEVAL: Names = {
    "nDCG(dcg='exp-log2')@{k}": "nDCG(gain=exp)@{k}",
    "ERR@{k}": "ERR(highest=4)@{k}",
}
"""Names of the measures that it computes with gdeval."""

IR_MEASURES_CONTINUATION: Names = {
    "INST(max_rel=3)": "INST(max_rel=3)",
    "INST(T=2.5,max_rel=4)": "INST(T=2.5,max_rel=4)",
    "INST(min_rel=1,max_rel=3)": "INST(min_rel=1,max_rel=3)",
    "INSQ(max_rel=3)": "INSQ(max_rel=3)",
    "INSQ(T=2.5,min_rel=1,max_rel=4)": "INSQ(T=2.5,min_rel=1,max_rel=4)",
    "BPM(max_rel=3)@{k}": "BPM(max_rel=3)@{k}",
    "BPM(T=2.5,min_rel=1,max_rel=4)@{k}": "BPM(T=2.5,min_rel=1,max_rel=4)@{k}",
    "SDCG(max_rel=3)@{k}": "SDCG(max_rel=3)@{k}",
    "SDCG(dcg='log2',min_rel=1,max_rel=4)@{k}": "SDCG(min_rel=1,max_rel=4)@{k}",
    "NERR8(max_rel=4)@{k}": "NERR8(max_rel=4)@{k}",
    "NERR9(min_rel=1,max_rel=4)@{k}": "NERR9(min_rel=1,max_rel=4)@{k}",
    "NERR10(max_rel=4)": "NERR10(max_rel=4)",
    "NERR10(p=0.5,max_rel=3)": "NERR10(p=0.5,max_rel=3)",
    "NERR11(max_rel=4)": "NERR11(max_rel=4)",
    "NERR11(T=2.5,max_rel=3)": "NERR11(T=2.5,max_rel=3)",
}
"""Names of the other measures that it computes with cwl_eval; equal without ties."""
IR_MEASURES_NDEVAL: Names = {
    "alpha_nDCG@{k}": "alpha-nDCG@{k}",
    "alpha_nDCG(alpha=0.3)@{k}": "alpha-nDCG(alpha=0.3)@{k}",
    "alpha_nDCG(rel=2)@{k}": "alpha-nDCG(rel=2)@{k}",
    "α_nDCG@{k}": "alpha-nDCG@{k}",
    "alpha_DCG@{k}": "alpha-DCG@{k}",
    "α_DCG@{k}": "alpha-DCG@{k}",
    "ERR_IA@{k}": "ERR-IA@{k}",
    "nERR_IA@{k}": "nERR-IA@{k}",
    "NRBP": "NRBP",
    "NRBP(alpha=0.3,beta=0.8)": "NRBP(alpha=0.3,beta=0.8)",
    "nNRBP": "nNRBP",
    "AP_IA": "AP-IA",
    "MAP_IA": "AP-IA",
    "P_IA@{k}": "P-IA@{k}",
    "StRecall@{k}": "StRecall@{k}",
}
"""Names of the measures that it computes with pyndeval. Equal without ties, and from cut-off 2 on."""

NDEVAL: Names = {
    "alpha-nDCG@{k}": "alpha-nDCG@{k}",
    "alpha-DCG@{k}": "alpha-DCG@{k}",
    "ERR-IA@{k}": "ERR-IA@{k}",
    "nERR-IA@{k}": "nERR-IA@{k}",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP-IA",
    "P-IA@{k}": "P-IA@{k}",
    "strec@{k}": "StRecall@{k}",
}
"""Names of version 4.5, which pyndeval contains. Equal without ties, and from cut-off 2 on."""

RANX: Names = {
    "map": "AP",
    "map@{k}": "AP@{k}",
    "map@{k}-l2": "AP(rel=2)@{k}",
    "mrr": "RR",
    "mrr@{k}": "RR@{k}",
    "r-precision": "Rprec",
    "precision": "SetP",
    "precision@{k}": "P@{k}",
    "precision@{k}-l3": "P(rel=3)@{k}",
    "recall": "R",
    "recall@{k}": "R@{k}",
    "f1": "SetF",
    "f1@{k}": "F@{k}",
    "hit_rate": "SetSuccess",
    "hit_rate-l2": "SetSuccess(rel=2)",
    "hit_rate@{k}": "Success@{k}",
    "hits": "Hits",
    "hits@{k}": "Hits@{k}",
    "hits@{k}-l2": "Hits(rel=2)@{k}",
    "dcg": "DCG",
    "dcg@{k}": "DCG@{k}",
    "dcg_burges": "DCG(gain=exp)",
    "dcg_burges@{k}": "DCG(gain=exp)@{k}",
    "ndcg": "nDCG",
    "ndcg@{k}": "nDCG@{k}",
    "ndcg@{k}-l2": "nDCG(rel=2)@{k}",
    "ndcg_burges": "nDCG(gain=exp)",
    "ndcg_burges@{k}": "nDCG(gain=exp)@{k}",
    "rbp.5": "RBP(p=0.5,gain=linear)",
    "rbp.50": "RBP(p=0.5,gain=linear)",
    "rbp@95": "RBP(p=0.95,gain=linear)",
    "rbp.95": "RBP(p=0.95,gain=linear)",
    "rbp.80-l2": "RBP(p=0.8,gain=linear,rel=2)",
}

RANX_FUNCTIONS: Names = {"average_precision": "AP", "reciprocal_rank": "RR", "r_precision": "Rprec"}
"""Functions in its list of metrics; `ranx.evaluate` has other names for them."""

RANX_BPREF: Names = {"bpref": "Bpref", "bpref-l2": "Bpref(rel=2)"}
"""Equal only for queries with a relevant item and an item judged not relevant."""

SKLEARN_GRADED: Names = {
    "ndcg_score": "nDCG",
    "ndcg_score(k={k})": "nDCG@{k}",
    "dcg_score": "DCG",
    "dcg_score(k={k})": "DCG@{k}",
}
"""Equal with ties="expected"."""

SKLEARN_BINARY: Names = {
    "average_precision_score": "AP",
    "label_ranking_average_precision_score": "AP",
    "roc_auc_score": "Accuracy",
}
"""Equal without ties."""

NTCIREVAL: Names = {
    "Q-measure": "Q",
    "Q@{k}": "Q@{k}",
    "P-plus": "P-plus",
    "nERR@{k}": "nERR(gain=linear)@{k}",
    "AP@{k}": "AP(denominator=min)@{k}",
}
"""With the gains 1, 2, 3, ... of the levels (`-g 1:2:3`) and beta = 1."""

VERSION_10 = ("iprec_at_recall", "11pt_avg")
"""trec_eval's names that are read as in version 10, which rounds to the nearest rank (``reach=nearest``)."""

PEERS: Mapping[str, Names] = {
    "trec_eval, pytrec_eval": {**TREC_EVAL, **TREC_EVAL_FAMILIES, **TREC_EVAL_PARAMETERS, **TREC_EVAL_10},
    "ir_measures": {
        **IR_MEASURES,
        **IR_MEASURES_SPELLINGS,
        **IR_MEASURES_ASCENDING,
        **IR_MEASURES_CWL,
        **IR_MEASURES_CONTINUATION,
        **IR_MEASURES_ACCURACY,
        **IR_MEASURES_GDEVAL,
        **IR_MEASURES_NDEVAL,
    },
    "ranx": {**RANX, **RANX_BPREF, **RANX_FUNCTIONS},
    "ndeval, pyndeval": NDEVAL,
    "NTCIREVAL": NTCIREVAL,
    "scikit-learn": {**SKLEARN_GRADED, **SKLEARN_BINARY},
}
"""All compared names, by tool."""


def filled(names: Names, cutoffs: Iterable[object], levels: Iterable[object] = ("",)) -> dict[str, str]:
    """Return the names with each cut-off and each level of recall."""
    pairs = list(product(cutoffs, levels))
    return {
        theirs.format(k=k, level=level): ours.format(k=k, level=level)
        for theirs, ours in names.items()
        for k, level in pairs
    }


NOWHERE = "Not in trec_eval, ir_measures, ranx or scikit-learn."

CWL = (
    "ir_measures computes it with cwl_eval, which takes ties in run scores in the order of the file. Without ties it "
    "agrees.",
    "In ir_measures, max_rel must be given. Unjudged items and negative grades have the gain of grade 0 in both.",
)
"""The differences of all measures that cwl_eval computes."""

NDEVAL_TIES = (
    "ndeval orders a run by its ranks, or with `-traditional` by score and then by descending item id, as here by "
    "default. pyndeval, which ir_measures calls, orders ties by ascending item id. Without ties all agree."
)
NDEVAL_LIMITS = (
    "ndeval has cut-offs up to 20 only. ir_measures 0.4.3 needs a cut-off, fails with `judged_only=True` (here: "
    "`unjudged=drop`), and gives 0 for measures with other parameters than the first one of a call. Compute one at a "
    "time."
)
NDEVAL_FIRST = "At cut-off 1, ndeval does not divide by the number of subtopics, so its score may exceed 1."

DIFFERENCES: Mapping[str, tuple[str, ...]] = {
    "MARp": (
        NOWHERE,
        "In Elliot and torchmetrics, MAR is mean average recall, which is another measure.",
    ),
    "Rp": (
        NOWHERE,
        "For a query whose grades are all equal, it is recall with a capped denominator, "
        "`R(denominator=min)@z`: RecTools' `Precision(k, r_precision=True)`, RecPack's `CalibratedRecallK`.",
        "For a query without equal grades and with z ≤ m, it is the overlap of the first z items with the z best.",
    ),
    "Rprec": (
        "All of these divide by R, also if the list is shorter.",
        "RecTools' `r_precision=True` and R-precision@K of work on extreme classification are capped recall, "
        "`R(denominator=min)@k`. `r_precision_at_k` of recommenders is `Rprec@k`, averaged only over users with at "
        "least "
        "one hit.",
    ),
    "P": (
        "All of these divide by k, also if the list is shorter. LensKit, and torchmetrics with `adaptive_k`, divide by "
        "the length of such a list; that is SetP.",
    ),
    "R": (
        "`recall` without a cut-off is the whole list in ranx and several cut-offs in trec_eval. It is refused here: "
        "write `R`, or `R@5,10,15,20,30,100,200,500,1000`.",
        "LensKit's `Recall(n)` and RecPack's `CalibratedRecallK` divide by min(R, k), as `R(denominator=min)@k` does.",
    ),
    "F": ("trec_eval and ir_measures have it only for the whole list: see SetF.",),
    "SetP": ("`SetP(relative=True)` of ir_measures is `SetR(denominator=min)`.",),
    "SetF": (
        "trec_eval and ir_measures do not square β. For a precision of 1/2 and a recall of 1/4, `SetF(beta=2)` is 0.3 "
        "in ir_measures and 0.2778 here. With β = 1 all agree.",
    ),
    "AP": (
        "trec_eval, ir_measures and ranx divide by R, also with a cut-off. Under the same name, recommenders' "
        "`map_at_k` and RePlay divide by min(R, k) (`AP(denominator=min)@k`), LensKit by min(R, length of the list) "
        "(`AP(denominator=min)`), RecTools optionally by k (`AP(denominator=k)@k`), and torchmetrics by the number of "
        "relevant items in the first k ranks (`AP(denominator=hits)@k`). Elliot's MAP is the mean of P@1 to P@k.",
        "scikit-learn only knows the items that it receives, so pass all relevant items. Without ties it agrees.",
    ),
    "GMAP": (
        "pytrec_eval returns the logarithm of each query's AP, or of 0.00001 if AP is lower. GMAP is the exponential "
        "of their mean, which trec_eval prints for all queries.",
    ),
    "RR": (
        "ir_measures computes `RR` with a tool that orders ties by descending item id, and `RR@k` with a tool that "
        "orders them by ascending item id, so they may contradict each other on a run with ties. Here both follow the "
        "same rule.",
    ),
    "IPrec": (
        "A level of recall requires level · R relevant items. trec_eval 9 and ir_measures add 0.9 and drop the "
        "fraction (`reach=up`), trec_eval 10 rounds to the nearest integer (`reach=nearest`), and the default here "
        "does not round. For R = 4 and a recall of 0.3 that is 2 items, 1 item, and 2 items.",
        "The name `iprec_at_recall_0.30` is read as in version 10.",
    ),
    "11pt_avg": ("As for IPrec: `reach=up` is trec_eval 9, and `reach=nearest`, the default here, is trec_eval 10.",),
    "Accuracy": (
        "`roc_auc_score` covers the items that it receives. Without ties it agrees.",
        "ir_measures has it under this name. Its mean leaves out queries whose list has no relevant item; here they "
        "score 0. For a list of relevant items only, it divides by zero; here such a list scores 1.",
    ),
    "nDCG": (
        "Gain: linear in trec_eval, ir_measures, ranx' `ndcg`, scikit-learn and torchmetrics; exponential in ranx' "
        "`ndcg_burges` and gdeval; by default binary (`gain=binary`) in RecTools, RecPack, RePlay and "
        "recommenders.",
        "Discount: LensKit's is `discount=jk`.",
        "Ideal list: all items of the solution in trec_eval, ir_measures and ranx. scikit-learn and torchmetrics only "
        "know the items that they receive; if these are the items of the list, that is `ideal=retrieved`. RecTools' "
        "default ideal list has a relevant item at each of the k ranks: `nDCG(gain=binary,ideal=full)@k`.",
        "Without a cut-off, the whole list is compared with the whole ideal list. For a list of 20 items and more than "
        "20 relevant items, `ndcg` is therefore below `ndcg_cut_20`, in trec_eval as here.",
        "Threshold: trec_eval's `-l 2` does not change nDCG, and neither does `--rel 2` here. ranx' `ndcg-l2` is "
        "`nDCG(rel=2)`.",
        "Negative grades: no gain in trec_eval, ranx and here; an error in scikit-learn.",
        "Ties: scikit-learn computes the mean over all orders, which is `ties=expected`.",
        "ir_measures 0.4.3 confuses two nDCG measures with different gains in one call. Compute one at a time.",
    ),
    "DCG": ("scikit-learn computes the mean over all orders of tied items, which is `ties=expected`.",),
    "muAP": (
        NOWHERE,
        "It is the mean of `AP(rel=t)` of ir_measures over the grades t, with the weights of the formula.",
    ),
    "NDCNG": (
        NOWHERE,
        "If all queries have the same highest grade M, `nDCG(gains={...})@k` of ir_measures is close, with "
        "10000 · (2^(g/M) - 1) as the gain of grade g; its gains are integers.",
    ),
    "nDCGphi": (NOWHERE,),
    "MeanNDCG": (
        NOWHERE,
        "It is the mean of ranx' `ndcg_burges@1` to `ndcg_burges@n`.",
    ),
    "MeanNDCNG": (NOWHERE,),
    "RBP": (
        "p is 0.9 in trec_eval 10, as here, and 0.8 in ir_measures and trectools. trec_eval 9 does not have it. With a "
        "cut-off or a threshold, the name is refused without p.",
        "The gain in ranx is the grade, so scores may exceed 1: `gain=linear`. The default gain here is the grade "
        "divided by the query's highest. ranx' name `rbp.95` is read as `RBP(p=0.95,gain=linear)`.",
        "ir_measures computes `RBP(rel=1)` with cwl_eval, which divides by 1 - p^1000, because its user reads 1000 "
        "ranks at most. With p = 0.99 its scores are 0.004 % higher, with p = 0.999 they are 58 % higher.",
    ),
    "ERR": (
        "gdeval, which ir_measures calls, always uses 4 as the highest grade: `highest=4`. It prints five decimals.",
    ),
    "RBO": (
        NOWHERE,
        "It is the RBO of `scorer overlap`, of the list and the ideal list. Up to version 1.0, RBO was "
        "`Compat(depth=list)`.",
    ),
    "Compat": (
        "The sums of ir_measures end with the longer of both lists (`depth=list`), so that unjudged items at the end "
        "of a list may raise its score. Those of the authors' program go to depth 1000, as here. So the text `Compat` "
        "means another measure than in ir_measures. The object `ir_measures.Compat` is read as `Compat(depth=list)`.",
        "ir_measures orders ties in run scores by ascending item id; without ties it agrees.",
    ),
    "Q": ("NTCIREVAL takes the gain of each level: `-g 1:3:7` is `gain=exp`, other gains are a map.",),
    "P-plus": ("As for Q.",),
    "nERR": (
        "NTCIREVAL stops with probability gain / (highest gain + 1): `gain=linear` for `-g 1:2:3`, and the default "
        "here "
        "for `-g 1:3:7`.",
    ),
    "BPM": (*CWL, "cwl_eval has costs for items, and a dynamic model. In ir_measures each item costs 1, as here."),
    "INST": (
        *CWL,
        "cwl_eval accepts T below 0.5, with which its user may go on with a probability above 1. Here T is at least "
        "0.5.",
        "cwl_eval has no cut-off for it: its user may read 1000 ranks, as here without a cut-off.",
    ),
    "INSQ": (
        *CWL,
        "cwl_eval has no cut-off for it: its user may read 1000 ranks, as here without a cut-off. The paper has no "
        "last rank; its scores are lower by 0.15 % with T = 1.",
    ),
    "SDCG": (
        *CWL,
        "cwl_eval calls it NDCG. It is `nDCG(ideal=full)@k` where each query has an item of the highest grade.",
    ),
    "NERR8": CWL,
    "NERR9": CWL,
    "NERR10": CWL,
    "NERR11": CWL,
    "alpha-nDCG": (NDEVAL_TIES, NDEVAL_LIMITS),
    "alpha-DCG": (NDEVAL_FIRST, NDEVAL_TIES, NDEVAL_LIMITS),
    "ERR-IA": (NDEVAL_FIRST, NDEVAL_TIES, NDEVAL_LIMITS, "alpha is always 0.5 in ir_measures."),
    "nERR-IA": (NDEVAL_TIES, NDEVAL_LIMITS, "alpha is always 0.5 in ir_measures."),
    "NRBP": (NDEVAL_TIES,),
    "nNRBP": (NDEVAL_TIES, "A query without relevant items is NaN in ndeval, as here; the other scores are 0 there."),
    "P-IA": (NDEVAL_TIES, NDEVAL_LIMITS),
    "AP-IA": (NDEVAL_TIES, "ndeval calls the mean over the queries and the score of a query MAP-IA."),
    "StRecall": (NDEVAL_TIES, NDEVAL_LIMITS),
    "Bpref": ("ranx divides by zero for a query without a relevant item, or without an item judged not relevant.",),
    "infAP": ("As in trec_eval, grade -1 marks an item of the pool that was not judged.",),
    "RprecMult": ("trec_eval's `Rprec_mult` has the multiples 0.2, 0.4, ... 2.0.",),
    "Utility": (
        "`utility.1,-1,-0.5,0` of trec_eval is `Utility(missed=-0.5)`, and its `-N 1000` is `items=1000`. With -c and "
        "parameters, trec_eval 10 counts one item, not relevant, in a list that is missing.",
    ),
    "G": ("Gains as in `G.1=3.5,2=9` of trec_eval are `G(gain={1:3.5,2:9})`.",),
    "nDCGrel": ("Gains as in `ndcg_rel.1=3.5,2=9` of trec_eval are `nDCGrel(gain={1:3.5,2:9})`.",),
    "Rndcg": (
        "Gains as in `Rndcg.1=3.5,2=9` of trec_eval are `Rndcg(gain={1:3.5,2:9})`.",
        "trec_eval's `-l 2` leaves the gains as they are, and scores 0 where no item has at least grade 2.",
    ),
    "GMBpref": (
        "pytrec_eval returns the logarithm of each query's Bpref, or of 0.00001 if Bpref is lower. GMBpref is the "
        "exponential of their mean, which trec_eval prints for all queries.",
    ),
    "RBPresidual": (
        "`rbp_resid` of trec_eval 10, and `rbp_resid.p=0.8` is `RBPresidual(p=0.8)`. With -c and p, trec_eval counts "
        "one unjudged item in a list that is missing.",
    ),
    "Unjudged": (
        "`unj_5` of trec_eval 10. ir_measures has the opposite, Judged, which divides by the length of a short list.",
    ),
    "Judged": (
        "ir_measures orders ties by ascending item id, and counts an item with a negative grade as judged; here, as in "
        "trec_eval, it is an item of the pool that was not judged. Without ties and negative grades they agree. "
        "trec_eval 10 has the share of unjudged items, under the name unj.",
    ),
    "NumQ": (
        "trec_eval 9 without `-c`, pytrec_eval and ir_measures count the queries that the run answers: `missing=skip`. "
        "By default, all queries of the solution count here.",
    ),
    "NumRet": ("ir_measures' `NumRet(rel=1)` is NumRelRet.",),
    "NumRel": (
        "trec_eval 9 without `-c`, pytrec_eval and ir_measures count the items of queries that the run answers: "
        "`missing=skip`. By default, all queries of the solution count here.",
    ),
    "NumRelRet": ("ranx prints the mean over the queries; the other tools print the sum.",),
}
"""Notes for users of other tools, by the name of the kind."""
