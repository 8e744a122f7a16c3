"""Not (but nearly) expected reciprocal rank: four C/W/L measures that are close to ERR."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from scorer.measures.arrays import Floats, Ints
from scorer.measures.continuation import GAIN, LATEX_GAIN, Goal, MaxRel, MinRel, expected_gain, goal_reading
from scorer.measures.kinds import Kind
from scorer.measures.matched import Matched
from scorer.measures.parameters import About

Patience = Annotated[float, About("the probability of going on after an item without a gain", least=0, most=1)]

_SOURCE = (
    "Azzopardi, Mackenzie and Moffat, ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank "
    "and Other Metrics, ICTIR 2021"
)


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


@partial(
    Kind,
    name="NERR8",
    title="Nearly expected reciprocal rank, equation 8",
    cutoff="required",
    formula=_formula("NERR8", ""),
    latex=_latex("NERR8", ""),
    source=f"{_SOURCE}, equation 8",
    closed_form=False,
)
def nearly_err_8(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """The expected gain per item of a user who reads k items at most, and stops at each with its gain as probability.

    Cut-offs above 1000 count as 1000, as in cwl_eval. Ranks after the end of the list have no gain. If max_rel is not
    above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    return expected_gain(matched, k, lambda _, gain: 1 - gain, min_rel, max_rel)


@partial(
    Kind,
    name="NERR9",
    title="Nearly expected reciprocal rank, equation 9",
    cutoff="required",
    formula=_formula("NERR9", "r / (r + 1) · "),
    latex=_latex("NERR9", r"\frac{r}{r + 1} "),
    source=f"{_SOURCE}, equation 9",
    closed_form=False,
)
def nearly_err_9(matched: Matched, k: int, *, min_rel: MinRel = 0.0, max_rel: MaxRel = "solution") -> Floats:
    """As NERR8, but at rank r the user goes on with r / (r + 1) of that probability only.

    Cut-offs above 1000 count as 1000, as in cwl_eval. Ranks after the end of the list have no gain. If max_rel is not
    above min_rel, every grade above min_rel has gain 1. Undefined where the
    query has no positive grade.
    """
    return expected_gain(matched, k, lambda rank, gain: rank / (rank + 1) * (1 - gain), min_rel, max_rel)


@partial(
    Kind,
    name="NERR10",
    title="Nearly expected reciprocal rank, equation 10",
    cutoff="optional",
    formula=_formula("NERR10", "p · "),
    latex=_latex("NERR10", "p ", "$p$ is the parameter p, "),
    source=f"{_SOURCE}, equation 10",
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


@partial(
    Kind,
    name="NERR11",
    title="Nearly expected reciprocal rank, equation 11",
    cutoff="optional",
    formula=_formula("NERR11", "((r + 2T − 1) / (r + 2T))^2 · "),
    latex=_latex("NERR11", r"(\frac{r + 2T - 1}{r + 2T})^2 ", "$T$ is the parameter T, "),
    source=f"{_SOURCE}, equation 11",
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
