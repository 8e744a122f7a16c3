"""R-precision, and the R-precision at a cut-off that VL.NET averages."""

from __future__ import annotations

import numpy as np

from scorer.measures.arrays import Floats, ratio
from scorer.measures.kinds import kind
from scorer.measures.matched import JudgedItems, Matched, Threshold
from scorer.measures.parameters import Multiple, Relevant

_VLNET = "ECML PKDD 2011 Discovery Challenge (VL.NET), evaluation metric example"

_ROUNDED_UP = 0.9
"""What trec_eval adds to a number of ranks before it drops the fraction."""


@kind(
    name="MARp",
    title="Mean average R-precision",
    formula="MARp@z₁,z₂,... = (Rp@z₁ + Rp@z₂ + ...) / number of cut-offs",
    latex=r"$$\mathrm{MARp} = \frac{1}{n} \sum_{i=1}^{n} \mathrm{Rp@}z_i$$ where $z_1, \dots, z_n$ are the cut-offs.",
    source=_VLNET,
)
def mean_average_r_precision(matched: Matched, cutoffs: tuple[int, ...], *, rel: Relevant = "positive") -> Floats:
    """The share of the z best items that are among the first z of the list; the mean over several cut-offs z.

    An item with the same grade as the last of the z best belongs to relevant(z) too. The denominator remains min(m, z),
    and the score never exceeds 1. A list shorter than z is not treated specially. In a solution in VL.NET's format,
    every listed item is relevant, even with grade 0; in other formats, an item is relevant if its grade is positive.
    With rel, only those of these items count that have at least this grade. Undefined where the query has no relevant
    item.
    """
    found = _relevant(matched.found, rel)
    relevant = matched.total(_relevant(matched.ideal, rel))
    scores = np.zeros(matched.queries)
    # In the order of the cut-offs, as in the evaluator of VL.NET.
    for z in cutoffs:
        wanted = np.minimum(relevant, z)
        # An item is in relevant(z) exactly if fewer than min(m, z) relevant items have a higher grade.
        hits = found.where(found.tie_rank <= wanted[found.query])
        scores += ratio(matched.count(hits, z), wanted, relevant > 0)
    return scores / len(cutoffs)


@kind(
    name="Rp",
    title="R-precision at a cut-off",
    formula="Rp@z = |relevant(z) ∩ first z items| / min(m, z), where m = number of relevant items of the query, "
    "relevant(z) = the min(m, z) items with the highest grades, and all items with the same grade as the last of these",
    latex=r"$$\mathrm{Rp@}z = \frac{|\mathrm{relevant}(z) \cap \mathrm{first}(z)|}{\min(m, z)}$$ where $m$ is "
    r"the number of relevant items of the query, $\mathrm{relevant}(z)$ has the $\min(m, z)$ items with "
    r"the highest grades and all items with the same grade as the last of these, and $\mathrm{first}(z)$ "
    r"has the first $z$ items of the list.",
    source=_VLNET,
)
def r_precision_at(matched: Matched, z: int, *, rel: Relevant = "positive") -> Floats:
    """The share of the z best items of the query that are among the first z items of the list.

    An item with the same grade as the last of the z best belongs to relevant(z) too. The denominator remains min(m, z),
    and the score never exceeds 1. A list shorter than z is not treated specially. In a solution in VL.NET's format,
    every listed item is relevant, even with grade 0; in other formats, an item is relevant if its grade is positive.
    With rel, only those of these items count that have at least this grade. Undefined where the query has no relevant
    item.
    """
    return mean_average_r_precision.function(matched, (z,), rel=rel)


@kind(
    name="Rprec",
    title="R-precision",
    formula="Rprec = hits@R / R",
    latex=r"$$\mathrm{Rprec} = \frac{\mathrm{hits}(R)}{R}$$",
    source="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4",
    aliases={"R-precision": {}},
)
def r_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """Precision at R, the number of relevant items of the query.

    All relevant items count the same, unlike in Rp. A list shorter than R is not treated specially. Undefined where the
    query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    return ratio(matched.count(matched.found.relevant(rel), wanted), wanted, wanted > 0)


@kind(
    name="RprecMult",
    title="Precision at a multiple of R",
    formula="RprecMult@m = hits(z) / z, where z = m · R + 0.9 without its fraction",
    latex=r"$$\mathrm{RprecMult@}m = \frac{\mathrm{hits}(z)}{z}$$ where $z = \lfloor m \cdot R + 0.9 \rfloor$, and "
    r"$\mathrm{hits}(z)$ is the number of relevant items in the first $z$ ranks.",
    source="trec_eval",
)
def r_precision_at_multiple(matched: Matched, multiple: Multiple, *, rel: Relevant = "positive") -> Floats:
    """Precision at a multiple of R, the number of relevant items of the query.

    Small multiples show how precise the top of a list is, large ones how complete the list is. With m = 1 it is Rprec.
    The number of ranks is rounded up unless it exceeds an integer by less than 0.1, as in trec_eval; 0 if no rank is
    left. Undefined where the query has no relevant item.
    """
    wanted = matched.relevant_items(rel)
    depth = np.floor(multiple * wanted + _ROUNDED_UP)
    return ratio(matched.count(matched.found.relevant(rel), depth), np.maximum(depth, 1), wanted > 0)


def _relevant(hits: JudgedItems, rel: Threshold) -> JudgedItems:
    """Return the relevant entries. A threshold does not change their tie ranks: all better items are above it too."""
    relevant = hits.where(hits.tie_rank > 0)
    return relevant if rel == "positive" else relevant.relevant(rel)
