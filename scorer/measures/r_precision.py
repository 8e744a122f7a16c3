"""R-precision, as it is and as VL.NET averages it over cut-offs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from scorer.measures.arrays import Floats, ratio
from scorer.measures.kinds import Kind
from scorer.measures.matched import JudgedItems, Matched, Threshold
from scorer.measures.parameters import Relevant

_VLNET = "ECML PKDD 2011 Discovery Challenge (VL.NET), evaluation metric example"


@partial(
    Kind,
    name="MARp",
    title="Mean average R-precision",
    cutoff="list",
    formula="MARp@z₁,z₂,... = (Rp@z₁ + Rp@z₂ + ...) / number of cut-offs",
    source=_VLNET,
)
def mean_average_r_precision(matched: Matched, cutoffs: tuple[int, ...], *, rel: Relevant = "positive") -> Floats:
    """The mean of Rp@z over several cut-offs z.

    Items that tie with the last of the z best are relevant too, while the denominator stays min(m, z); so the score
    never exceeds 1. A list shorter than z is not forgiven. In a solution in VL.NET's format every listed item is
    right, also one scored 0; elsewhere only those with a positive grade are. With rel, only right items with at least
    this grade count. Undefined where the query has no right item.
    """
    return _mean_capped(matched, cutoffs, rel)


@partial(
    Kind,
    name="Rp",
    title="R-precision at a cut-off",
    cutoff="required",
    formula=(
        "Rp@z = |relevant(z) ∩ first z places| / min(m, z), where m = number of right items of the query, "
        "relevant(z) = the min(m, z) best of them and all that tie with the last of these"
    ),
    source=_VLNET,
)
def r_precision_at(matched: Matched, z: int, *, rel: Relevant = "positive") -> Floats:
    """How much of the z best items is among the first z places of the list.

    Items that tie with the last of the z best are relevant too, while the denominator stays min(m, z); so the score
    never exceeds 1. A list shorter than z is not forgiven. In a solution in VL.NET's format every listed item is
    right, also one scored 0; elsewhere only those with a positive grade are. With rel, only right items with at least
    this grade count. Undefined where the query has no right item.
    """
    return _mean_capped(matched, (z,), rel)


@partial(
    Kind,
    name="Rprec",
    title="R-precision",
    cutoff="none",
    formula="Rprec = hits@R / R",
    source="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4",
    aliases={"R-precision": {}},
)
def r_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """Precision at R, the number of relevant items of the query.

    Ties in the grades do not widen it (that is Rp). A list shorter than R is not forgiven. Undefined where the
    query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    return ratio(matched.count(matched.found.relevant(rel), wanted), wanted, wanted > 0)


def _mean_capped(matched: Matched, cutoffs: Sequence[int], rel: Threshold) -> Floats:
    """The mean of Rp@z over `cutoffs`, summed in their order, as the challenge's own evaluator does.

    An item is in relevant(z) exactly when fewer than min(m, z) right items are strictly better: its tie rank tells.
    """
    found = _right(matched.found, rel)
    right = matched.total(_right(matched.ideal, rel))
    scores = np.zeros(matched.queries)
    for z in cutoffs:
        wanted = np.minimum(right, z)
        hits = found.where(found.tie_rank <= wanted[found.query])
        scores += ratio(matched.count(hits, z), wanted, right > 0)
    return scores / len(cutoffs)


def _right(hits: JudgedItems, rel: Threshold) -> JudgedItems:
    """The entries whose item is a right one. The tie ranks hold under a threshold: all better items meet it too."""
    right = hits.where(hits.tie_rank > 0)
    return right if rel == "positive" else right.relevant(rel)
