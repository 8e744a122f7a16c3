"""What other tools call our measures, and where they differ.

The tables pair a tool's name with the spelling at which our numbers are equal. `tests/test_peers.py` compares the
scores of every pair, so what the pages say is what the tests hold. In a name ``{k}`` stands for a cut-off, ``{level}``
for a level of recall.
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
}
"""Of version 9, which pytrec_eval is made of."""

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
    "NumRet(rel=1)": "NumRelRet",
}
"""Those that it has from pytrec_eval."""

IR_MEASURES_ASCENDING: Names = {
    "RR@{k}": "RR@{k}",
    "Judged": "Judged",
    "Judged@{k}": "Judged@{k}",
    "Compat": "RBO",
    "Compat(p=0.8)": "RBO(p=0.8)",
    "Compat(normalize=False)": "RBO(normalise=no)",
}
"""Those for which it goes to tools that order ties the other way."""

IR_MEASURES_GDEVAL: Names = {
    "nDCG(dcg='exp-log2')@{k}": "nDCG(gain=exp)@{k}",
    "ERR@{k}": "ERR(highest=4)@{k}",
}
"""Those that it has from gdeval."""

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
    "hit_rate@{k}": "Success@{k}",
    "hits": "NumRelRet",
    "dcg": "DCG",
    "dcg@{k}": "DCG@{k}",
    "dcg_burges": "DCG(gain=exp)",
    "dcg_burges@{k}": "DCG(gain=exp)@{k}",
    "ndcg": "nDCG",
    "ndcg@{k}": "nDCG@{k}",
    "ndcg@{k}-l2": "nDCG(rel=2)@{k}",
    "ndcg_burges": "nDCG(gain=exp)",
    "ndcg_burges@{k}": "nDCG(gain=exp)@{k}",
    "rbp.50": "RBP(p=0.5,gain=linear)",
    "rbp.95": "RBP(p=0.95,gain=linear)",
    "rbp.80-l2": "RBP(p=0.8,gain=linear,rel=2)",
}

RANX_BPREF: Names = {"bpref": "Bpref", "bpref-l2": "Bpref(rel=2)"}
"""Where there is an item of either sort."""

SKLEARN_GRADED: Names = {
    "ndcg_score": "nDCG",
    "ndcg_score(k={k})": "nDCG@{k}",
    "dcg_score": "DCG",
    "dcg_score(k={k})": "DCG@{k}",
}
"""With ties="expected"."""

SKLEARN_BINARY: Names = {
    "average_precision_score": "AP",
    "label_ranking_average_precision_score": "AP",
    "roc_auc_score": "Accuracy",
}
"""Without ties."""

PEERS: Mapping[str, Names] = {
    "trec_eval, pytrec_eval": TREC_EVAL,
    "ir_measures": {**IR_MEASURES, **IR_MEASURES_ASCENDING, **IR_MEASURES_GDEVAL},
    "ranx": {**RANX, **RANX_BPREF},
    "scikit-learn": {**SKLEARN_GRADED, **SKLEARN_BINARY},
}
"""All that is compared, by tool."""


def filled(names: Names, cutoffs: Iterable[object], levels: Iterable[object] = ("",)) -> dict[str, str]:
    """The names with each cut-off and each level of recall in its place."""
    pairs = list(product(cutoffs, levels))
    return {
        theirs.format(k=k, level=level): ours.format(k=k, level=level)
        for theirs, ours in names.items()
        for k, level in pairs
    }


NOWHERE = "Not in trec_eval, ir_measures, ranx or scikit-learn."

DIFFERENCES: Mapping[str, tuple[str, ...]] = {
    "MARp": (
        NOWHERE,
        "MAR stands for mean average recall in Elliot and torchmetrics, which is another measure.",
    ),
    "Rp": (
        NOWHERE,
        "Where all grades of a query are equal it is recall with a capped denominator, "
        "`R(denominator=min)@z`: RecTools' `Precision(k, r_precision=True)`, RecPack's `CalibratedRecallK`.",
        "Where no two grades are equal, and z is at most m, it is the overlap of the first z places with the z best.",
    ),
    "Rprec": (
        "All of these divide by R, also where the list is shorter.",
        "RecTools' `r_precision=True` stands for capped recall, `R(denominator=min)@k`. recommenders takes its mean "
        "over those users alone for whom something was found.",
    ),
    "P": (
        "All of these divide by k, also where the list is shorter. LensKit divides by the length of the list then, and "
        "so does torchmetrics with `adaptive_k`; for such a list that is SetP.",
    ),
    "R": (
        "LensKit's `Recall(n)` and RecPack's `CalibratedRecallK` divide by min(R, k), as `R(denominator=min)@k` does.",
    ),
    "F": ("trec_eval and ir_measures have it for the whole list only: see SetF.",),
    "SetP": ("`SetP(relative=True)` of ir_measures is `SetR(denominator=min)`.",),
    "SetF": (
        "trec_eval and ir_measures do not square β: with a precision of 1/2 and a recall of 1/4, `SetF(beta=2)` of "
        "ir_measures is 0.3, and here it is 0.2778. At β = 1 they agree.",
    ),
    "AP": (
        "trec_eval, ir_measures and ranx divide by R, with a cut-off too. Others do not, under the same name: "
        "recommenders' `map_at_k` and RePlay divide by min(R, k) (`AP(denominator=min)@k`), LensKit by min(R, length "
        "of the list) (`AP(denominator=min)`), RecTools by k if told so (`AP(denominator=k)@k`), torchmetrics by the "
        "number of relevant items in the first k places (`AP(denominator=hits)@k`). Elliot's MAP is the mean of P@1 "
        "to P@k.",
        "scikit-learn knows the items that it is given and no others, so give it all that are relevant. It agrees "
        "where there are no ties.",
    ),
    "GMAP": (
        "pytrec_eval gives the logarithm of each query's AP, at least that of 0.00001; GMAP is the exponential of "
        "their mean, which trec_eval prints for all queries.",
    ),
    "RR": (
        "ir_measures has `RR` from a tool that orders ties by item id, descending, and `RR@k` from one that orders "
        "them ascending: on a run with ties the two contradict each other. Here both follow one rule.",
    ),
    "IPrec": (
        "A level of recall takes level · R relevant items. trec_eval 9 and ir_measures add 0.9 and cut the fraction "
        "off (`reach=up`), trec_eval 10 rounds to the nearest (`reach=nearest`), and by default it is taken as it is "
        "here. For R = 4 and a recall of 0.3 that is 2 items, 1 item, and 2 items.",
        "The name `iprec_at_recall_0.30` is read as that of version 10.",
    ),
    "11pt_avg": ("As for IPrec: `reach=up` is trec_eval 9, and `reach=nearest`, the default here, is trec_eval 10.",),
    "Accuracy": (
        "`roc_auc_score` is over the items that it is given, and agrees where there are no ties.",
        "ir_measures has it under this name, and leaves queries out of its mean for which nothing relevant is found. "
        "They score 0 here.",
    ),
    "nDCG": (
        "Gain: linear in trec_eval, ir_measures, ranx' `ndcg`, scikit-learn and torchmetrics; exponential in ranx' "
        "`ndcg_burges` and gdeval; by default binary (`gain=binary`) in RecTools, RecPack, RePlay and "
        "recommenders.",
        "Discount: LensKit's is `discount=jk`.",
        "Ideal list: of all that the solution has in trec_eval, ir_measures and ranx. scikit-learn and torchmetrics "
        "know the items that they are given; if those are the listed ones alone, that is `ideal=retrieved`. RecTools' "
        "default has a relevant item at each of the k places for everybody: `nDCG(gain=binary,ideal=full)@k`.",
        "Without a cut-off the whole list stands against the whole ideal list. For a list of 20, where more than 20 "
        "items are relevant, `ndcg` is therefore below `ndcg_cut_20`, in trec_eval as here.",
        "Threshold: trec_eval's `-l 2` leaves nDCG alone, and so does `--rel 2` here. ranx' `ndcg-l2` is "
        "`nDCG(rel=2)`.",
        "Negative grades: no gain in trec_eval, in ranx and here; an error in scikit-learn.",
        "Ties: scikit-learn takes the mean over all orders, which is `ties=expected`.",
        "Asked for nDCG with two gains at once, ir_measures 0.4.3 mixes them up. Ask it for one at a time.",
    ),
    "DCG": ("scikit-learn takes the mean over all orders of tied items, which is `ties=expected`.",),
    "muAP": (
        NOWHERE,
        "From `AP(rel=t)` of ir_measures for each grade t it is the mean with the weights of the formula.",
    ),
    "NDCNG": (
        NOWHERE,
        "Where all queries have the same highest grade M, `nDCG(gains={...})@k` of "
        "ir_measures comes near, with 10000 · (2^(g/M) - 1) as the gain of grade g; it takes whole numbers only.",
    ),
    "nDCGphi": (NOWHERE,),
    "MeanNDCG": (
        NOWHERE,
        "It is the mean of ranx' `ndcg_burges@1` to `ndcg_burges@n`.",
    ),
    "MeanNDCNG": (NOWHERE,),
    "RBP": (
        "p is 0.9 in trec_eval 10, as here, and 0.8 in ir_measures and trectools. trec_eval 9 does not have it.",
        "ranx has the grade itself as gain, so that scores exceed 1: `gain=linear`. The default here is the grade as a "
        "share of the query's highest.",
    ),
    "ERR": (
        "gdeval, which ir_measures calls, takes 4 for the highest grade whatever the solution has: `highest=4`. It "
        "prints five decimals.",
    ),
    "RBO": (
        "ir_measures calls it Compat. It orders ties in run scores by item id, ascending, so it agrees where there are "
        "none.",
    ),
    "Bpref": ("ranx divides by zero where no item is judged relevant, or none is judged not to be.",),
    "infAP": ("As in trec_eval, a grade of -1 marks an item of the pool that was not judged.",),
    "Judged": (
        "ir_measures orders ties by item id, ascending, so it agrees where there are none. trec_eval 10 has the share "
        "that is not judged, under the name of unj.",
    ),
    "NumQ": (
        "trec_eval 9 without `-c`, pytrec_eval and ir_measures count the queries that the run answers: `missing=skip`. "
        "By default all of the solution's count here.",
    ),
    "NumRet": ("ir_measures' `NumRet(rel=1)` is NumRelRet.",),
    "NumRel": (
        "trec_eval 9 without `-c`, pytrec_eval and ir_measures count those of the queries that the run answers: "
        "`missing=skip`. By default all of the solution's count here.",
    ),
    "NumRelRet": ("ranx prints the mean over the queries, where all others print the sum.",),
}
"""By the name of the kind: what else is to know for somebody who comes from another tool."""
