"""What the unjudged items may do to a score: the lowest and the highest mean that their grades allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scorer.measures import Measure
from scorer.measures.gain import above_threshold, absolute_gains, best_grades, discounts
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched, cumulative, is_relevant, ranges
from scorer.options import JUDGED_BOUNDS, JudgedBounds
from scorer.scoring.outcomes import Rules

_GROWING = ("P", "Hits", "RR", "Success", "SetP", "SetSuccess", "ERR", "DCG", "RBP")
"""A better grade of a listed item never lowers them, and other items of the query do not change them; but for RBP with
shares as gains, see `_of_shares`."""

_RATIOS = ("AP", "R", "SetR", "nDCG")
"""A sum over the list, divided by what the relevant items of the query allow."""

_REFUSED = {"denominator": ("k", "hits"), "ideal": ("retrieved", "full")}
"""Values of parameters for which no bounds are known."""

MOST_LEVELS = 32
"""More gains than this in a solution would take too much memory."""

_SUMMED_RANKS = 1_000_000
"""Beyond this cut-off, the highest possible ideal DCG counts as infinite, which is safe."""


def mean_bounds(
    measures: Mapping[str, Measure], matched: Matched, rules: Rules, inside: Bools, reach: JudgedBounds
) -> dict[str, tuple[float, float]]:
    """For each measure with known bounds, the lowest and the highest mean over the queries that `inside` has.

    A query without a relevant item may have one in truth. Then it counts, with a score from 0 to its highest. Nothing
    depends on the other queries. Raises ValueError where `reach` is not an allowed word.
    """
    JUDGED_BOUNDS.check(reach)
    if rules.ties not in ("trec", "order") or rules.unjudged == "drop":
        return {}
    lists, means = _Lists.of(matched, inside), {}
    if rules.missing == "skip" and matched.answered is not None:
        inside = inside & matched.answered
    for name, measure in measures.items():
        bounds = _bounds(lists, measure, reach) if _is_known(measure) else None
        if bounds is None:
            continue
        scores = measure(matched)[inside]
        counts = matched.relevant_items(measure.threshold)[inside] > 0
        lowest, highest = bounds[0][inside], bounds[1][inside]
        lowest, best = np.minimum(lowest, scores)[counts], np.maximum(highest, scores)[counts]
        further = -np.sort(-highest[~counts & ~np.isnan(highest)])
        queries = lowest.size + np.arange(further.size + 1)
        if rules.nothing_relevant == "zero":
            queries[:] = inside.sum()
        sums = np.where(queries > 0, best.sum() + np.append(0, np.cumsum(further)), np.nan) / np.maximum(queries, 1)
        means[name] = (float(lowest.sum() / queries[-1]) if queries[-1] else np.nan, float(np.fmax.reduce(sums)))
    return means


def _is_known(measure: Measure) -> bool:
    """Whether the bounds of a measure are known."""
    settings = measure.settings
    return (
        measure.kind.name in (*_GROWING, *_RATIOS, "Rp", "MARp")
        and not any(settings.get(name) in values for name, values in _REFUSED.items())
        and not isinstance(settings.get("gain"), tuple)
        and (measure.threshold == "positive" or measure.threshold > 0)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The lists of a submission, and the ranks of their unjudged items: arrays [unjudged], by query, then by rank."""

    matched: Matched
    """With judged items only."""
    query: Ints
    rank: Ints
    nth: Ints
    """From 1 in each list."""
    count: Ints
    """[query]: the number of unjudged items."""
    top: float
    """The highest grade of the solution for these queries."""

    @classmethod
    def of(cls, matched: Matched, inside: Bools) -> _Lists:
        """The lists for the queries that `inside` has; the others have no item."""
        found, ideal = (items.where(inside[items.query]) for items in (matched.found, matched.ideal))
        matched = replace(matched, ideal=ideal, retrieved=np.where(inside, matched.retrieved, 0), extremes=None)
        found = found.where((found.grade >= 0) | (found.tie_rank > 0))
        start = np.cumsum(matched.retrieved) - matched.retrieved
        at, query = ranges(np.zeros_like(start), matched.retrieved)
        unjudged = np.ones(query.size, dtype=bool)
        unjudged[start[found.query] + found.rank - 1] = False
        query, rank = query[unjudged], at[unjudged] + 1
        count = np.bincount(query, minlength=matched.queries)
        nth = np.arange(1, query.size + 1) - (np.cumsum(count) - count)[query]
        top = float(matched.ideal.grade.max(initial=0))
        return cls(replace(matched, found=found), query, rank, nth, count, top)

    def filled(self) -> tuple[Matched, Matched]:
        """The lists with no unjudged item relevant, and with the highest grade for each; every query has one more
        item with that grade, so that it counts.
        """
        found, ideal, queries = self.matched.found, self.matched.ideal, np.arange(self.matched.queries)
        query = np.append(ideal.query, queries)
        grade = np.append(ideal.grade, np.full(queries.size, self.top))
        order = np.lexsort((-grade, query))
        ideal = JudgedItems.ideal(query[order], grade[order])
        query, rank = np.append(found.query, self.query), np.append(found.rank, self.rank)
        grade = np.append(found.grade, np.full(self.query.size, self.top))
        order = np.lexsort((rank, query))
        best = JudgedItems(query[order], rank[order], grade[order], np.ones(query.size, dtype=np.int64))
        return replace(self.matched, ideal=ideal), replace(self.matched, ideal=ideal, found=best)

    def highest(self, values: Floats | Ints) -> Floats:
        """[query]: the highest of the values of its unjudged items, or 0."""
        found, lists = np.zeros(self.count.size), np.flatnonzero(self.count)
        if lists.size:
            found[lists] = np.maximum(np.maximum.reduceat(values, (np.cumsum(self.count) - self.count)[lists]), 0)
        return found

    def sums(self, values: Floats, *, from_end: bool = False) -> Floats:
        """[unjudged]: the sum of the values of the list up to this one, or from this one on."""
        if from_end:
            nth = self.count[self.query] - self.nth + 1
            return cumulative(nth[::-1], values[::-1])[::-1]
        return cumulative(self.nth, values)


def _bounds(lists: _Lists, measure: Measure, reach: JudgedBounds) -> tuple[Floats, Floats] | None:
    """[query]: the lowest and the highest score; NaN where the query has no relevant item, and cannot have one."""
    if lists.top <= 0 or not is_relevant(np.array(lists.top), measure.threshold):
        return (scores := measure(lists.matched)), scores
    bounds: tuple[Floats, Floats] | None
    if measure.settings.get("gain") == "share" and measure.threshold == "positive":
        bounds = _of_shares(lists, measure, reach)
    elif measure.kind.name in _GROWING:
        worst, best = lists.filled()
        bounds = measure(worst), measure(best)
    elif measure.kind.name in _RATIOS:
        bounds = _of_ratio(lists, measure, reach)
    else:
        cutoffs = measure.cutoff if isinstance(measure.cutoff, tuple) else (int(measure.cutoff or 1),)
        each = [_of_best_items(lists, measure, z, reach) for z in cutoffs]
        bounds = np.mean([low for low, _ in each], axis=0), np.mean([high for _, high in each], axis=0)
    if bounds is None:
        return None
    possible = (lists.matched.relevant_items(measure.threshold) > 0) | (reach == "any") | (lists.count > 0)
    return np.where(possible, bounds[0], np.nan), np.where(possible, bounds[1], np.nan)


def _of_shares(lists: _Lists, measure: Measure, reach: JudgedBounds) -> tuple[Floats, Floats]:
    """[query]: the lowest and the highest RBP with shares of the highest grade as gains.

    An item with the highest grade of the solution lowers the shares of the others. In the highest score, unjudged items
    have the highest grade of the query instead.
    """
    inside = lists.rank <= (measure.cutoff if isinstance(measure.cutoff, int) else lists.rank)
    p = float(str(measure.settings["p"]))
    own = np.where(inside, (1 - p) * p ** (lists.rank - 1.0), 0)
    scores = np.nan_to_num(measure(lists.matched))
    lowered = scores * best_grades(lists.matched) / lists.top
    lowest = lowered if reach == "any" else scores.copy()
    np.minimum.at(lowest, lists.query, lowered[lists.query] + own)
    return lowest, scores + np.bincount(lists.query, own, scores.size)


@dataclass(frozen=True, slots=True, eq=False)
class _Ratio:
    """A sum over the list, divided by what the relevant items of the query allow.

    A gain is the sum of the steps between the levels of gains up to it; binary measures have one step. Sum and divisor
    are sums over the steps.
    """

    steps: Floats
    above: Ints
    """[step, query]: the number of items of the solution that have the step."""
    curve: Floats
    """What so many items with a step add to the divisor."""
    most: Ints
    """[query]: the items after so many add nothing."""
    limit: Floats
    """[query]: the divisor with any number of items of the highest gain."""
    base: Floats
    """[query]: the sum with no unjudged item relevant."""
    own: Floats
    """[unjudged]: what the item adds to it with a gain of 1."""
    share: Floats
    """[unjudged]: what each of them before it adds further."""

    def divisor(self, query: Ints, more: Ints) -> Floats:
        """The divisors of queries with so many more items of the highest gain."""
        return np.asarray(self.steps @ self.curve[np.minimum(self.above[:, query] + more, self.most[query])])


def _gain_ratio(lists: _Lists, found: JudgedItems, own: Bools, measure: Measure) -> _Ratio | None:
    """The ratio of nDCG; None where there are too many gains, or too large ones."""
    settings: Mapping[str, Any] = measure.settings
    gains = above_threshold(absolute_gains(settings["gain"]), settings["rel"])
    ideal, queries = lists.matched.ideal, lists.count.size
    with np.errstate(over="ignore"):
        of_ideal = gains(ideal)
    levels = np.sort(of_ideal[of_ideal > 0])
    levels = levels[np.diff(levels, prepend=0) > 0]
    if levels.size > MOST_LEVELS or not np.isfinite(levels).all():
        return None
    above = np.array([np.bincount(ideal.query[of_ideal >= level], minlength=queries) for level in levels])
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else 0
    longest = max(int(above.max() + lists.count.max(initial=0)), min(cutoff, _SUMMED_RANKS))
    weights = discounts(np.arange(1, longest + 1), settings["discount"])
    curve = np.append(0, np.cumsum(weights[: cutoff or None]))
    return _Ratio(
        steps=np.diff(levels, prepend=0),
        above=above,
        curve=curve,
        most=np.full(queries, curve.size - 1),
        limit=np.full(queries, levels[-1] * curve[-1] if 0 < cutoff <= _SUMMED_RANKS else np.inf),
        base=lists.matched.total(found, gains(found) * discounts(found.rank, settings["discount"])),
        own=np.where(own, discounts(lists.rank, settings["discount"]), 0),
        share=np.zeros(lists.rank.size),
    )


def _count_ratio(lists: _Lists, found: JudgedItems, own: Bools, depth: Ints, measure: Measure) -> _Ratio:
    """The ratio of AP and recall, whose divisor is R, or min(R, k)."""
    above = lists.matched.relevant_items(measure.threshold)[None].astype(np.int64)
    curve = np.arange(above.max() + lists.count.max(initial=0) + 1.0)
    is_capped, hits = measure.settings["denominator"] == "min", found.relevant(measure.threshold)
    most = np.maximum(depth, 1) if is_capped else np.full(depth.size, curve.size)
    share = np.where(own, 1 / lists.rank, 0)
    of_ap = measure.kind.name == "AP"
    return _Ratio(
        steps=np.ones(1),
        above=above,
        curve=curve,
        most=most,
        limit=np.where(is_capped, most, np.inf),
        base=lists.matched.total(hits, hits.position_in_query() / hits.rank if of_ap else None),
        own=_own_precision(lists, hits, share) if of_ap else own.astype(np.float64),
        share=share if of_ap else np.zeros(share.size),
    )


def _of_ratio(lists: _Lists, measure: Measure, reach: JudgedBounds) -> tuple[Floats, Floats] | None:
    """[query]: the lowest and the highest score of a ratio.

    Of the unjudged items that have a step, the first ones give the highest score, the last ones the lowest.
    Dinkelbach's method finds how many have each step in the highest score. In the lowest score, each unjudged item has
    the highest gain or none, because the divisor is convex in the gains.
    """
    matched, query, queries = lists.matched, lists.query, lists.count.size
    depth = np.full(queries, measure.cutoff) if isinstance(measure.cutoff, int) else matched.retrieved
    found, own = matched.found.where(matched.found.rank <= depth[matched.found.query]), lists.rank <= depth[query]
    by_gain = measure.kind.name == "nDCG"
    ratio = _gain_ratio(lists, found, own, measure) if by_gain else _count_ratio(lists, found, own, depth, measure)
    if ratio is None:
        return None
    plain = ratio.divisor(np.arange(queries), np.zeros(queries, dtype=np.int64))
    best = np.where(plain > 0, ratio.base / np.where(plain > 0, plain, 1), 0)
    lowest = ratio.base / ratio.limit if reach == "any" else best.copy()
    if reach == "list":
        after = lists.sums(ratio.share, from_end=True) - ratio.share
        last = ratio.steps.sum() * lists.sums(ratio.own + after, from_end=True)
        divisor = ratio.divisor(query, lists.count[query] - lists.nth + 1)
        np.minimum.at(lowest, query, (ratio.base[query] + last) / divisor)
    first = lists.sums(ratio.own + (lists.nth - 1) * ratio.share)
    while True:
        total, whole = ratio.base.copy(), np.zeros(queries)
        for step, count in zip(ratio.steps, ratio.above, strict=True):
            more = ratio.curve[np.minimum(count[query] + lists.nth, ratio.most[query])]
            surplus = first - best[query] * (more - ratio.curve[np.minimum(count, ratio.most)][query])
            chosen = surplus == lists.highest(surplus)[query]
            gained, number = (lists.highest(np.where(chosen, each, 0)) for each in (first, lists.nth))
            total += step * gained
            whole += step * ratio.curve[np.minimum(count + number.astype(np.int64), ratio.most)]
        better = np.where(whole > 0, total / np.where(whole > 0, whole, 1), 0)
        if (better <= best + 1e-15).all():
            return lowest, best
        best = np.maximum(best, better)


def _own_precision(lists: _Lists, hits: JudgedItems, share: Floats) -> Floats:
    """[unjudged]: what each adds to the sum of AP if no other one is relevant.

    That is the precision at its rank, and 1 / rank for each relevant item after it. `share` is 1 / rank, or 0 after the
    cut-off.
    """
    longest = int(lists.matched.retrieved.max(initial=0)) + 1
    before = np.searchsorted(hits.query * longest + hits.rank, lists.query * longest + lists.rank)
    earlier = before - np.searchsorted(hits.query, lists.query)
    passed = np.append(0, cumulative(hits.position_in_query(), 1 / hits.rank))[np.where(earlier > 0, before, 0)]
    after = lists.matched.total(hits, 1 / hits.rank)[lists.query] - passed
    return (1 + earlier) * share + np.where(share > 0, after, 0)


def _of_best_items(lists: _Lists, measure: Measure, z: int, reach: JudgedBounds) -> tuple[Floats, Floats]:
    """[query]: bounds of Rp@z. They are safe; the lowest with "any" is exact.

    Unjudged items with the highest grade can push judged ones out of the z best, but not those with that grade.
    """
    found, ideal = (
        relevant if measure.threshold == "positive" else relevant.relevant(measure.threshold)
        for relevant in (hits.where(hits.tie_rank > 0) for hits in (lists.matched.found.top(z), lists.matched.ideal))
    )
    relevant, inside = lists.matched.total(ideal), np.bincount(lists.query[lists.rank <= z], minlength=lists.count.size)
    wanted = np.minimum(relevant, z)
    hits = lists.matched.total(found.where(found.tie_rank <= wanted[found.query])) + inside
    more = np.full(lists.count.size, np.inf) if reach == "any" else lists.count
    pushed = found.tie_rank + np.where(found.grade < lists.top, more[found.query], 0)
    lowest = lists.matched.total(found.where(pushed <= wanted[found.query])) / np.clip(relevant + more, 1, z)
    return lowest, np.minimum(hits / np.clip(relevant + inside, 1, z), 1)
