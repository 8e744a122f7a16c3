"""Measures that do not depend on the scale of the grades; phi, the relevance of a grade among the grades of its
query.

Source of phi: Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from scorer.measures.binary import precision_sum
from scorer.measures.gain import LOG_2, Gains, best_grades, discounts, normalised, share_of_best
from scorer.measures.kinds import kind
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched, cumulative, once, ratio

Whisker = Literal["observed", "fence"]


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceCurves:
    """The phi of each query: a monotone cubic Hermite curve through four points, from left to right."""

    position: Floats
    """[curve, point]: the grade divided by the query's highest grade."""
    height: Floats
    """[curve, point]: phi."""
    slope: Floats
    """[curve, point]"""
    highest: Floats
    """[curve]: the query's highest grade."""
    curve: Ints
    """[query]: the index of its curve; -1 where phi is undefined because all positive grades are equal."""

    @property
    def defined(self) -> Bools:
        """[query]: whether phi is defined."""
        return self.curve >= 0

    def __call__(self, hits: JudgedItems) -> Floats:
        """[entry]: phi of the grade, in [0, 1]; 0 where the grade is not positive or phi is undefined."""
        phi = np.zeros(len(hits))
        known = self.defined[hits.query] & (hits.grade > 0)
        curve = self.curve[hits.query[known]]
        position = hits.grade[known] / self.highest[curve]
        left = (self.position[curve, 1:3] < position[:, np.newaxis]).sum(axis=1)
        right = left + 1
        width = self.position[curve, right] - self.position[curve, left]
        along = (position - self.position[curve, left]) / width
        phi[known] = (
            self.height[curve, left] * (1 + 2 * along) * (1 - along) ** 2
            + self.height[curve, right] * (3 - 2 * along) * along**2
            + self.slope[curve, left] * width * along * (1 - along) ** 2
            - self.slope[curve, right] * width * (1 - along) * along**2
        )
        return phi


def relevance_curves(matched: Matched, whisker: Whisker = "observed") -> RelevanceCurves:
    """Return phi of every query of the solution."""
    positive = matched.ideal.relevant()
    items = matched.total(positive)
    last = positive.where(positive.rank == items[positive.query])
    highest, lowest = best_grades(matched), matched.total(last, last.grade)
    defined = highest > lowest
    curve = np.where(defined, np.cumsum(defined) - 1, -1)
    positive = positive.where(defined[positive.query])
    items, highest, lowest = items[defined], highest[defined], lowest[defined]

    median, fence = _median_and_fence(positive.grade, items)
    upper = np.minimum(fence, highest)
    if whisker == "observed":
        within = positive.where(positive.grade <= fence[curve[positive.query]])
        upper = within.grade[within.position_in_query() == 1]
    outlying = (highest - upper) / (highest - lowest)
    zero, one = np.zeros_like(highest), np.ones_like(highest)
    position = np.column_stack([zero, median / highest, upper / highest, one])
    height = np.column_stack([zero, zero, 1 - outlying, one])
    for point in (2, 1, 0):  # points at the same position get the height of the last of them, which is the highest
        same = position[:, point] == position[:, point + 1]
        height[same, point] = height[same, point + 1]
    return RelevanceCurves(position, height, _slopes(position, height), highest, curve)


def _median_and_fence(grade: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Return the median of the grades and the fence, upper hinge + 1.5 · (upper hinge − lower hinge), both [query].

    `grade` has those of all queries, each query's in descending order; `items` is [query]: their number. The hinges are
    Tukey's.
    """
    start = np.cumsum(items) - items

    def at(depth: Floats) -> Floats:
        """The grade at position `depth` (from 1) of the order; between two positions, the mean of their grades."""
        upper, lower = (start + np.floor(depth) - 1).astype(np.int64), (start + np.ceil(depth) - 1).astype(np.int64)
        return grade[upper] / 2 + grade[lower] / 2

    hinge = np.floor((items + 3) / 2) / 2
    with np.errstate(over="ignore"):  # an infinite fence exceeds all grades, as the exact one does
        fence = at(hinge) + 1.5 * (at(hinge) - at(items + 1 - hinge))
    return at((items + 1) / 2), fence


def _slopes(position: Floats, height: Floats) -> Floats:
    """Return slopes, [curve, point], with which the cubics between rising points never fall.

    The slope at an inner point is a weighted harmonic mean of the two secants, 0 if one of them is 0; the slope at an
    end is that of the parabola through three points, at least 0. Points at the same position count once. Source:
    Fritsch and Butland, A Method for Constructing Local Monotone Piecewise Cubic Interpolants, 1984.
    """
    slope = np.zeros_like(position)
    distinct = np.column_stack([position[:, :-1] < position[:, 1:], np.ones(len(position), dtype=bool)])
    for points in (2, 3, 4):
        here = distinct & (distinct.sum(axis=1) == points)[:, np.newaxis]
        slope[here] = _slopes_of_distinct(position[here].reshape(-1, points), height[here].reshape(-1, points)).ravel()
    for point in (2, 1, 0):
        joined = ~distinct[:, point]
        slope[joined, point] = slope[joined, point + 1]
    return slope


def _slopes_of_distinct(position: Floats, height: Floats) -> Floats:
    width = np.diff(position)
    secant = np.diff(height) / width
    if secant.shape[1] == 1:
        return np.repeat(secant, 2, axis=1)
    slope = np.zeros_like(position)
    slope[:, 0] = _end_slope(width[:, 0], width[:, 1], secant[:, 0], secant[:, 1])
    slope[:, -1] = _end_slope(width[:, -1], width[:, -2], secant[:, -1], secant[:, -2])
    before, after = width[:, :-1], width[:, 1:]
    rising = (secant[:, :-1] > 0) & (secant[:, 1:] > 0)
    flatness = np.divide(before + 2 * after, secant[:, :-1], out=np.zeros_like(before), where=rising)
    flatness += np.divide(2 * before + after, secant[:, 1:], out=np.zeros_like(after), where=rising)
    np.divide(3 * (before + after), flatness, out=slope[:, 1:-1], where=rising)
    return slope


def _end_slope(width: Floats, next_width: Floats, secant: Floats, next_secant: Floats) -> Floats:
    return np.maximum(((2 * width + next_width) * secant - width * next_secant) / (width + next_width), 0)


@kind(name="muAP", aliases={"muMAP": {}, "μAP": {}, "μMAP": {}}, mean_name="muMAP")
def multi_graded_average_precision(matched: Matched, k: int | None) -> Floats:
    """The mean of average precision with each grade as the threshold, weighted by the step from the next lower
    grade.
    """
    found = matched.found.relevant()
    scores = np.zeros(matched.queries)
    for level in _levels(matched):
        threshold = np.full(matched.queries, np.inf)
        threshold[level.query] = level.grade
        hits = found.where(found.grade >= threshold[found.query])
        scores[level.query] += precision_sum(matched, hits, k)[level.query] / level.items * level.step
    best = best_grades(matched)
    return ratio(scores, best, best > 0)


class _Level(NamedTuple):
    """The nth highest distinct positive grade of each query that has so many."""

    query: Ints
    grade: Floats
    items: Floats
    """The number of items with at least this grade."""
    step: Floats
    """The distance from the next lower grade."""


@once
def _levels(matched: Matched) -> list[_Level]:
    """The highest grade of every query, then the second, and so on."""
    positive = matched.ideal.relevant()
    repeated = (np.diff(positive.query, prepend=-1) == 0) & (np.diff(positive.grade, prepend=0) == 0)
    first = positive.where(~repeated)
    lowest = np.diff(first.query, append=-1) != 0
    lower = np.where(lowest, 0, np.roll(first.grade, -1))
    items = np.where(lowest, matched.relevant_items()[first.query], np.roll(first.rank, -1) - 1)
    position = first.position_in_query()
    levels = (np.flatnonzero(position == level) for level in range(1, position.max(initial=0) + 1))
    return [_Level(first.query[at], first.grade[at], items[at], first.grade[at] - lower[at]) for at in levels]


@kind(name="NDCNG")
def ndcng(matched: Matched, k: int | None) -> Floats:
    """The nDCG of grades divided by the query's highest grade."""
    return normalised(matched, _normalised_gains(matched), k)


def _normalised_gains(matched: Matched) -> Gains:
    share = share_of_best(matched, "linear")
    return lambda hits: np.expm1(LOG_2 * share(hits))


@kind(name="nDCGphi", aliases={"nDCGφ": {}, "nDCG^phi": {}})
def ndcg_phi(matched: Matched, k: int | None, *, whisker: Whisker = "observed") -> Floats:
    """The nDCG with a gain that says how far a grade exceeds the usual grades of its query."""
    phi = relevance_curves(matched, whisker)
    scores = normalised(matched, lambda hits: np.expm1(LOG_2 * phi(hits)), k)
    return np.where(phi.defined, scores, np.nan)


@kind(name="MeanNDCG")
def mean_ndcg(matched: Matched, n: int | None) -> Floats:
    """The mean of nDCG at all cut-offs from 1 to n."""
    return _mean_over_cutoffs(matched, share_of_best(matched, "exp"), n)


@kind(name="MeanNDCNG")
def mean_ndcng(matched: Matched, n: int | None) -> Floats:
    """The mean of NDCNG at all cut-offs from 1 to n."""
    return _mean_over_cutoffs(matched, _normalised_gains(matched), n)


def _mean_over_cutoffs(matched: Matched, gains: Gains, n: int | None) -> Floats:
    """[query]: the mean of DCG@k / IDCG@k over k = 1..n.

    An item adds its discounted gain to DCG@k at every k from its rank on. Its share of the sum is that gain times the
    sum of 1 / IDCG@k from k = rank to n, so no loop over the cut-offs is needed.
    """
    ideal = matched.ideal.relevant()
    items = matched.total(ideal).astype(np.int64)
    end = np.cumsum(items)
    idcg = cumulative(ideal.position_in_query(), gains(ideal) * discounts(ideal.rank))
    inverses = cumulative(ideal.position_in_query(), 1 / idcg)

    def inverse_sum(query: Ints, k: Ints) -> Floats:
        """The sum of 1 / IDCG from 1 to `k`; IDCG is constant after the last relevant item."""
        inside = np.minimum(k, items[query])
        at = (end - items)[query] + inside - 1
        return np.where(k > 0, inverses[at] + (k - inside) / idcg[at], 0)

    depth = matched.retrieved if n is None else np.full(matched.queries, n)
    hits = matched.values_by_rank(matched.found.relevant(), gains, n)
    inverse = inverse_sum(hits.query, depth[hits.query]) - inverse_sum(hits.query, hits.rank - 1)
    sums = matched.total(hits, hits.value * discounts(hits.rank) * inverse)
    return ratio(sums, np.maximum(depth, 1), items > 0)
