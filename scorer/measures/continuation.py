"""Measures of a user who goes on from item to item with some probability, as cwl_eval defines them (C/W/L).

Four of them are not (but nearly) expected reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, ratio
from scorer.measures.gain import Gains, discounts
from scorer.measures.kinds import kind
from scorer.measures.matched import JudgedItems, Matched
from scorer.measures.parameters import About

MinRel = Annotated[float, About("the highest grade that has no gain", least=0, most=1e6)]
MaxRel = Annotated[
    float | Literal["solution"],
    About("the lowest grade with gain 1: the highest of the solution, or this number", least=0.001, most=1e6),
]
Goal = Annotated[float, About("the gain that the user expects to need in total", least=0.5, most=1e6, also={"t": {}})]
SdcgDiscount = Annotated[
    Literal["log2", "jk"],
    About("the divisor of the gain at rank r: log2(r + 1), or log2(r) from rank 2 on", also={"dcg": {}}),
]

Patience = Annotated[float, About("the probability of going on after an item without a gain", least=0, most=1)]

Continuation = Callable[[Ints, Floats], Floats]
"""Computes the probability of going on after each item, from the ranks [rank] and the gains [query, rank]."""

GAIN = "gain(g) = (g − min_rel) / (max_rel − min_rel), at least 0 and at most 1"
LATEX_GAIN = (
    r"$\mathrm{gain}(g)$ is $\frac{g - l}{h - l}$, at least 0 and at most 1; $l$ is the parameter min_rel, $h$ is the "
    "parameter max_rel"
)

_DEPTH = 1000
"""The number of ranks that a user may read, as in cwl_eval."""

_CELLS = 1 << 20
"""How many ranks, of all queries together, are computed at a time."""

_CWL = (
    "Moffat, Bailey, Scholer and Thomas, Incorporating User Expectations and Behavior into the Measurement of Search "
)
_CWL += "Effectiveness, ACM TOIS 35(3), 2017"

_ICTIR = (
    "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank "
    "and Other Metrics, ICTIR 2021"
)


def depth(k: int | None) -> int:
    """Return the last rank that a user may read."""
    return _DEPTH if k is None else min(k, _DEPTH)


def scaled(matched: Matched, min_rel: float, max_rel: float | Literal["solution"]) -> Gains:
    """Return the gains of grades on the scale from `min_rel`, which has gain 0, to `max_rel`, which has gain 1."""
    top = float(matched.ideal.grade.max(initial=0.0)) if max_rel == "solution" else max_rel

    def gains(hits: JudgedItems) -> Floats:
        if top <= min_rel:  # the limit for a scale of no length
            return (hits.grade > min_rel).astype(np.float64)
        return (np.clip(hits.grade, min_rel, top) - min_rel) / (top - min_rel)

    return gains


def expected_gain(
    matched: Matched, k: int | None, continuation: Continuation, min_rel: float, max_rel: float | Literal["solution"]
) -> Floats:
    """[query]: the mean gain of the ranks, each with the probability that the user reads it as its weight.

    Source: Moffat, Bailey, Scholer and Thomas 2017, the weights W of the C/W/L framework.
    """
    ranks = np.arange(1, depth(k) + 1)
    hits = matched.found.top(ranks.size)
    values = scaled(matched, min_rel, max_rel)(hits)
    scores = np.empty(matched.queries)
    step = max(1, _CELLS // ranks.size)
    for first in range(0, matched.queries, step):
        last = min(first + step, matched.queries)
        begin, end = np.searchsorted(hits.query, (first, last))
        gain = np.zeros((last - first, ranks.size))
        gain[hits.query[begin:end] - first, hits.rank[begin:end] - 1] = values[begin:end]
        reading = np.ones_like(gain)
        np.cumprod(continuation(ranks, gain)[:, :-1], axis=1, out=reading[:, 1:])
        scores[first:last] = (reading * gain).sum(axis=1) / reading.sum(axis=1)
    return ratio(scores, 1, matched.relevant_items() > 0)


def weighted_gain(matched: Matched, weights: Floats, min_rel: float, max_rel: float | Literal["solution"]) -> Floats:
    """[query]: the mean gain of the ranks, with the same `weights`, [rank], for every list."""
    gains = scaled(matched, min_rel, max_rel)
    ranked = matched.values_by_rank(matched.found, gains, weights.size)
    sums = matched.total(ranked, ranked.value * weights[ranked.rank - 1])
    return ratio(sums, float(weights.sum()), matched.relevant_items() > 0)


def goal_reading(distance: Floats) -> Floats:
    """Return the probability of going on, which is the higher the farther the user is from the goal."""
    return ((distance - 1) / distance) ** 2


@kind(
    name="INST",
    title="INST, weighted precision with a goal that adapts",
    formula="INST@k = (sum over r ≤ k of v(r) · gain(g at rank r)) / (sum over r ≤ k of v(r)), where v(1) = 1, "
    "v(r + 1) = v(r) · c(r), c(r) = ((x(r) − 1) / x(r))^2, x(r) = r + 2T − G(r), "
    f"G(r) = sum over i ≤ r of gain(g at rank i), and {GAIN}",
    latex=r"$$\mathrm{INST@}k = \frac{\sum_{r=1}^{k} v_r \cdot \mathrm{gain}(g_r)}{\sum_{r=1}^{k} v_r}$$ where "
    r"$v_1 = 1$, $v_{r+1} = v_r \cdot c_r$, $c_r = (\frac{x_r - 1}{x_r})^2$, $x_r = r + 2T - G_r$, $G_r$ is the "
    rf"sum of the gains up to rank $r$, $T$ is the parameter T, {LATEX_GAIN}.",
    source="Moffat, Bailey, Scholer and Thomas, INST: An Adaptive Metric for Information Retrieval Evaluation, ADCS "
    f"2015; {_CWL}",
    closed_form=False,
)
def inst(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the papers and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The expected gain per item of a user who needs a total gain of T, and reads less after each gain.

    Without a cut-off, the user may read 1000 ranks, as in cwl_eval; higher cut-offs count as 1000. Ranks after the end
    of the list have no gain. If max_rel is not above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """

    def continuation(rank: Ints, gain: Floats) -> Floats:
        return goal_reading(np.asarray(rank + 2 * T - np.cumsum(gain, axis=1), dtype=np.float64))

    return expected_gain(matched, k, continuation, min_rel, max_rel)


@kind(
    name="INSQ",
    title="INSQ, weighted precision with a goal",
    formula="INSQ@k = (sum over r ≤ k of w(r) · gain(g at rank r)) / (sum over r ≤ k of w(r)), where "
    f"w(r) = 1 / (r + 2T − 1)^2, and {GAIN}",
    latex=r"$$\mathrm{INSQ@}k = \frac{\sum_{r=1}^{k} w_r \cdot \mathrm{gain}(g_r)}{\sum_{r=1}^{k} w_r}$$ where "
    rf"$w_r = \frac{{1}}{{(r + 2T - 1)^2}}$, $T$ is the parameter T, {LATEX_GAIN}.",
    source=f"Moffat, Scholer and Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS 2012; {_CWL}",
)
def insq(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the papers and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The expected gain per item of a user who needs a total gain of T, regardless of the gains so far.

    Without a cut-off, the user may read 1000 ranks, as in cwl_eval; higher cut-offs count as 1000. Ranks after the end
    of the list have no gain. If max_rel is not above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    ranks = np.arange(1, depth(k) + 1)
    return weighted_gain(matched, 1 / (ranks + 2 * T - 1) ** 2, min_rel, max_rel)


@kind(
    name="SDCG",
    title="Scaled discounted cumulated gain",
    formula="SDCG@k = (sum over r ≤ k of gain(g at rank r) · d(r)) / (sum over r ≤ k of d(r)), where "
    f"d(r) = 1 / log2(r + 1), or 1 / log2(max(r, 2)), and {GAIN}",
    latex=r"$$\mathrm{SDCG@}k = \frac{\sum_{r=1}^{k} \mathrm{gain}(g_r) \cdot d_r}{\sum_{r=1}^{k} d_r}$$ where $d_r$ "
    rf"is $\frac{{1}}{{\log_2(r + 1)}}$ or $\frac{{1}}{{\log_2 \max(r, 2)}}$, {LATEX_GAIN}.",
    source="Moffat and Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008; "
    "Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002",
)
def scaled_dcg(
    matched: Matched,
    k: int,
    *,
    discount: SdcgDiscount = "log2",
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """The discounted gain of the list, divided by that of a list with the highest gain at each of k ranks.

    The divisor is the same for every query, also where the solution has fewer relevant items than ranks. Cut-offs above
    1000 count as 1000, as in cwl_eval. If max_rel is not above min_rel, every grade above min_rel has gain 1.
    Undefined where the query has no positive grade.
    """
    return weighted_gain(matched, discounts(np.arange(1, depth(k) + 1), discount), min_rel, max_rel)


def _formula(name: str, continuation: str) -> str:
    return (
        f"{name}@k = (sum over r ≤ k of v(r) · gain(g at rank r)) / (sum over r ≤ k of v(r)), where v(1) = 1, "
        f"v(r + 1) = v(r) · c(r), c(r) = {continuation}(1 − gain(g at rank r)), and {GAIN}"
    )


def _latex(name: str, continuation: str, parameter: str = "") -> str:
    return (
        rf"$$\text{{{name}@}}k = \frac{{\sum_{{r=1}}^{{k}} v_r \cdot \mathrm{{gain}}(g_r)}}{{\sum_{{r=1}}^{{k}} "
        rf"v_r}}$$ where $v_1 = 1$, $v_{{r+1}} = v_r \cdot c_r$, $c_r = {continuation}(1 - \mathrm{{gain}}(g_r))$, "
        f"{parameter}{LATEX_GAIN}."
    )


@kind(
    name="NERR8",
    title="Nearly expected reciprocal rank, equation 8",
    formula=_formula("NERR8", ""),
    latex=_latex("NERR8", ""),
    source=f"{_ICTIR}, equation 8",
    closed_form=False,
)
def nearly_err_8(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """The expected gain per item of a user who reads k items at most, and stops at each with its gain as probability.

    Cut-offs above 1000 count as 1000, as in cwl_eval. Ranks after the end of the list have no gain. If max_rel is not
    above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    return expected_gain(matched, k, lambda _, gain: 1 - gain, min_rel, max_rel)


@kind(
    name="NERR9",
    title="Nearly expected reciprocal rank, equation 9",
    formula=_formula("NERR9", "r / (r + 1) · "),
    latex=_latex("NERR9", r"\frac{r}{r + 1} "),
    source=f"{_ICTIR}, equation 9",
    closed_form=False,
)
def nearly_err_9(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """As NERR8, but at rank r the user goes on with r / (r + 1) of that probability only.

    Cut-offs above 1000 count as 1000, as in cwl_eval. Ranks after the end of the list have no gain. If max_rel is not
    above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    return expected_gain(matched, k, lambda rank, gain: rank / (rank + 1) * (1 - gain), min_rel, max_rel)


@kind(
    name="NERR10",
    title="Nearly expected reciprocal rank, equation 10",
    formula=_formula("NERR10", "p · "),
    latex=_latex("NERR10", "p ", "$p$ is the parameter p, "),
    source=f"{_ICTIR}, equation 10",
    closed_form=False,
)
def nearly_err_10(
    matched: Matched, k: int | None, *, p: Patience = 0.9, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution"
) -> Floats:
    """As NERR8, but the user goes on with p of that probability only, as in RBP.

    Without a cut-off, the user may read 1000 ranks, as in cwl_eval; higher cut-offs count as 1000. Ranks after the end
    of the list have no gain. If max_rel is not above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    return expected_gain(matched, k, lambda _, gain: p * (1 - gain), min_rel, max_rel)


@kind(
    name="NERR11",
    title="Nearly expected reciprocal rank, equation 11",
    formula=_formula("NERR11", "((r + 2T − 1) / (r + 2T))^2 · "),
    latex=_latex("NERR11", r"(\frac{r + 2T - 1}{r + 2T})^2 ", "$T$ is the parameter T, "),
    source=f"{_ICTIR}, equation 11",
    closed_form=False,
)
def nearly_err_11(
    matched: Matched,
    k: int | None,
    *,
    T: Goal = 1.0,  # noqa: N803 (the name in the paper and in ir_measures)
    min_rel: MinRel = 0.0,
    max_rel: MaxRel = "solution",
) -> Floats:
    """As NERR8, but at rank r the user goes on with a part of that probability only that depends on a goal, as in INSQ.

    Without a cut-off, the user may read 1000 ranks, as in cwl_eval; higher cut-offs count as 1000. Ranks after the end
    of the list have no gain. If max_rel is not above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """

    def continuation(rank: Ints, gain: Floats) -> Floats:
        return goal_reading(np.asarray(rank + 2 * T)) * (1 - gain)

    return expected_gain(matched, k, continuation, min_rel, max_rel)
