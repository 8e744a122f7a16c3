"""Gains of trec_eval: the discount depends on what is ranked before, or nDCG is averaged over several ranks."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Floats, Ints, cumulative, ratio
from scorer.measures.gain import absolute_gains, best_grades, by_gain, discounts, highest_gains, share_of_best
from scorer.measures.kinds import kind
from scorer.measures.matched import JudgedItems, Matched
from scorer.measures.parameters import About, GainMap, Relevant

GradeGain = Annotated[
    Literal["linear"] | GainMap,
    About("the gain of an item of grade g: g, at least 0; or the gain that a map has for g, if it has one"),
]

_experimental = partial(
    kind,
    source="Buckley, in trec_eval 9, where the measure is called experimental",
    closed_form=False,
)


@_experimental(
    name="nDCGrel",
    title="nDCG averaged over the relevant items",
    formula="nDCGrel = (sum over the ranks r of relevant items of nDCG@r + m · DCG / IDCG) / n, where n = number of "
    "relevant items, m = number of those missing from the list, gain = g, discount = 1 / log2(r + 1)",
    latex=r"$$\mathrm{nDCGrel} = \frac{1}{n} \sum_{x} \mathrm{nDCG@}r_x$$ where $x$ is one of the $n$ items with a "
    r"positive gain, $r_x$ is its rank, or the last rank of the longer of list and ideal list if $x$ is missing, "
    r"and $\mathrm{nDCG@}r = \frac{\mathrm{DCG@}r}{\mathrm{IDCG@}r}$.",
)
def ndcg_over_relevant(matched: Matched, *, gain: GradeGain = "linear") -> Floats:
    """The mean of nDCG at the ranks of all items with a positive gain.

    For an item that is not in the list, it is the nDCG of the whole list. An item with a negative grade has gain 0
    unless a map has a gain for it. Undefined where the query has no positive grade.
    """
    sums = _Sums(matched, gain)
    hits = sums.found
    wanted = matched.total(sums.ideal)
    at_hits = matched.total(hits, sums.dcg.sums / sums.idcg.at(hits.query, hits.rank))
    total = at_hits + (wanted - matched.total(hits)) * sums.whole(matched)
    return ratio(total, np.maximum(wanted, 1), best_grades(matched) > 0)


@_experimental(
    name="Rndcg",
    title="nDCG averaged over the levels of gain",
    formula="Rndcg = mean of nDCG@r over the ranks r after which the gain of the ideal list changes, and of the nDCG "
    "of the whole list if it is longer than the last of these ranks + 1; gain = g, discount = 1 / log2(r + 1)",
    latex=r"$$\mathrm{Rndcg} = \frac{1}{|C|} \sum_{r \in C} \mathrm{nDCG@}r$$ where $\mathrm{nDCG@}r = "
    r"\frac{\mathrm{DCG@}r}{\mathrm{IDCG@}r}$, and $C$ has the ranks after which the gain of the ideal list "
    r"changes, and the length of the list if it exceeds the last of them by more than 1.",
)
def ndcg_over_levels(matched: Matched, *, gain: GradeGain = "linear", rel: Relevant = "positive") -> Floats:
    """The mean of nDCG at the ranks where a perfect list would go on to a lower gain, and at the end of the list.

    With 5 items of grade 2 and 3 of grade 1, these ranks are 5 and 8. As in trec_eval, the end of the list counts only
    if it is at least two ranks after the last of them, and the threshold decides only which queries have a score.
    Undefined where the query has no relevant item.
    """
    sums = _Sums(matched, gain)
    ideal = sums.ideal
    last = np.append(np.diff(sums.gain) != 0, True)[: len(ideal)] | (np.diff(ideal.query, append=-1) != 0)
    levels = ideal.where(last)
    shares = sums.dcg.at(levels.query, levels.rank) / sums.idcg.at(levels.query, levels.rank)
    longer = matched.retrieved > matched.total(ideal) + 1
    total = matched.total(levels, shares) + np.where(longer, sums.whole(matched), 0)
    defined = (matched.relevant_items(rel) > 0) & (best_grades(matched) > 0)
    return ratio(total, np.maximum(matched.total(levels) + longer, 1), defined)


@_experimental(
    name="G",
    title="Normalised gain",
    formula="G = (sum over r of gain(r) / log2(2 + loss(r))) / (sum of the ideal gains), where loss(r) = sum over "
    "i ≤ r of (max(ideal gain at i, 1) − gain(i))",
    latex=r"$$\mathrm{G} = \frac{1}{B} \sum_{r} \frac{\mathrm{gain}(g_r)}{\log_2(2 + l_r)}$$ where $b_i$ is the gain "
    r"at rank $i$ of the ideal list, 0 after its end, $B = \sum_{i} b_i$, and $l_r$ is the sum of $\max(b_i, 1) - "
    r"\mathrm{gain}(g_i)$ over $i \le r$.",
)
def normalised_gain(matched: Matched, *, gain: GradeGain = "linear") -> Floats:
    """The sum of the gains of the list, each discounted by the gain lost up to its rank, divided by all gains.

    An item is discounted by how much more gain the ideal list has up to its rank, where each rank of the ideal list
    counts at least 1. So a perfect list scores 1 if no gain is between 0 and 1. An item with a negative grade has gain
    0 unless a map has a gain for it. Undefined where the query has no positive grade.
    """
    gains = absolute_gains(gain)
    highest = highest_gains(matched, gains)
    highest = np.where(highest == 0, 1, highest)
    unit = np.maximum(highest, 1)  # sums of gains in this unit cannot exceed the floating-point numbers
    ideal = by_gain(matched.ideal, gains)
    best = gains(ideal)
    costs = RankSums(ideal, np.maximum(best / unit[ideal.query], 1 / unit[ideal.query]))
    hits = matched.found.where(gains(matched.found) > 0)
    query, items = hits.query, matched.total(ideal)
    after_end = np.maximum(hits.rank - items[query], 0)
    reached = cumulative(hits.position_in_query(), gains(hits) / unit[query])
    lost = np.maximum(costs.at(query, hits.rank) + after_end / unit[query] - reached, 0)
    discount = np.log2(unit)[query] + np.log2(2 / unit[query] + lost)
    summed = matched.total(hits, gains(hits) / highest[query] / discount)
    possible = matched.total(ideal, best / highest[ideal.query])
    return ratio(summed, np.where(possible > 0, possible, 1), best_grades(matched) > 0)


@_experimental(
    name="binG",
    title="Binary normalised gain",
    formula="binG = (sum over the ranks r of relevant items of 1 / log2(2 + n(r))) / R, where n(r) = number of "
    "other items before r",
    latex=r"$$\mathrm{binG} = \frac{1}{R} \sum_{r} \frac{\mathrm{rel}(r)}{\log_2(2 + n_r)}$$ where $n_r$ is the number "
    r"of items before rank $r$ that are not relevant.",
)
def binary_gain(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The mean, over the query's relevant items, of a discount by the number of other items ranked before each.

    Relevant items that come first do not discount the items after them, unlike in nDCG. A relevant item that is not in
    the list adds 0, and an unjudged item counts as not relevant. Undefined where the query has no relevant item.
    """
    hits, wanted = matched.found.relevant(rel), matched.relevant_items(rel)
    others = hits.rank - hits.position_in_query()
    return ratio(matched.total(hits, 1 / np.log2(2 + others)), wanted, wanted > 0)


class RankSums:
    """Cumulative sums over the ranks of lists."""

    sums: Floats
    """[entry]: the sum up to the rank of the entry."""

    def __init__(self, items: JudgedItems, values: Floats) -> None:
        """Sum `values`, [entry], of these items."""
        self._query, self._rank = items.query, items.rank
        self.sums = cumulative(items.position_in_query(), values)

    def at(self, query: Ints, rank: Ints) -> Floats:
        """Return the sum of each `query` up to each `rank`, two arrays of the same shape; 0 before the first entry."""
        if not self.sums.size:
            return np.zeros(query.shape)
        width = 1 + max(self._rank.max(), rank.max(initial=0))
        place = np.searchsorted(self._query * width + self._rank, query * width + rank, side="right") - 1
        return np.where((place >= 0) & (self._query[place] == query), self.sums[place], 0)


class _Sums:
    """DCG and IDCG at every rank, of the items with a positive gain, which is a share of the query's highest."""

    def __init__(self, matched: Matched, gain: GradeGain) -> None:
        gains = share_of_best(matched, gain)
        self.found = matched.found.where(gains(matched.found) > 0)
        ideal = by_gain(matched.ideal, gains)
        self.ideal = ideal.where(gains(ideal) > 0)
        self.gain = gains(self.ideal)
        self.dcg = RankSums(self.found, gains(self.found) * discounts(self.found.rank))
        self.idcg = RankSums(self.ideal, self.gain * discounts(self.ideal.rank))

    def whole(self, matched: Matched) -> Floats:
        """[query]: DCG / IDCG of the whole list; 0 where no item has a gain."""
        query, last = np.arange(matched.queries), np.full(matched.queries, np.iinfo(np.int32).max)
        possible = self.idcg.at(query, last)
        return self.dcg.at(query, last) / np.where(possible > 0, possible, 1)
