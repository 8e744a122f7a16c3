"""phi, the relevance of a grade as the grades of its query tell it.

Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, arXiv 1612.06136: common grades, up to
the median, have relevance 0, the highest has 1, and the upper whisker of the box plot stands the further below 1, the
further the grades beyond it reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.gain import best_grades
from scorer.measures.matched import JudgedItems, Matched
from scorer.measures.parameters import About

Whisker = Annotated[
    Literal["observed", "fence"],
    About("the upper whisker: the highest grade within the fence, or the fence itself"),
]


@dataclass(frozen=True, slots=True, eq=False)
class RelevanceCurves:
    """The phi of each query: a monotone cubic Hermite curve through four points, left to right, ``[curve, point]``."""

    place: Floats
    """Grades as shares of the query's highest one."""
    height: Floats
    slope: Floats
    highest: Floats
    """[curve]: the query's highest grade."""
    curve: Ints
    """[query]: which curve is its own; -1 where phi is undefined, for want of two distinct positive grades."""

    @property
    def defined(self) -> Bools:
        """[query]"""
        return self.curve >= 0

    def __call__(self, hits: JudgedItems) -> Floats:
        """The phi of each entry's grade, in [0, 1]; 0 where the grade is not positive, and where phi is undefined."""
        phi = np.zeros(len(hits))
        known = self.defined[hits.query] & (hits.grade > 0)
        curve = self.curve[hits.query[known]]
        place = hits.grade[known] / self.highest[curve]
        left = (self.place[curve, 1:3] < place[:, np.newaxis]).sum(axis=1)
        right = left + 1
        width = self.place[curve, right] - self.place[curve, left]
        along = (place - self.place[curve, left]) / width
        phi[known] = (
            self.height[curve, left] * (1 + 2 * along) * (1 - along) ** 2
            + self.height[curve, right] * (3 - 2 * along) * along**2
            + self.slope[curve, left] * width * along * (1 - along) ** 2
            - self.slope[curve, right] * width * (1 - along) * along**2
        )
        return phi


def relevance_curves(matched: Matched, whisker: Whisker = "observed") -> RelevanceCurves:
    """The phi of every query of the solution."""
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
        upper = within.grade[within.nth() == 1]
    outlying = (highest - upper) / (highest - lowest)
    zero, one = np.zeros_like(highest), np.ones_like(highest)
    place = np.column_stack([zero, median / highest, upper / highest, one])
    height = np.column_stack([zero, zero, 1 - outlying, one])
    _join(place, height)
    return RelevanceCurves(place, height, _slopes(place, height), highest, curve)


def _median_and_fence(grade: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Of each query, the median of its grades and the fence: the upper hinge and 1.5 times the distance of the hinges.

    The hinges are Tukey's. `grade` holds the grades of all queries, each query's in descending order and `items` many.
    """
    start = np.cumsum(items) - items

    def at(depth: Floats) -> Floats:
        """The grade so deep in the order, counted from 1; between two grades, their mean."""
        upper, lower = (start + np.floor(depth) - 1).astype(np.int64), (start + np.ceil(depth) - 1).astype(np.int64)
        return grade[upper] / 2 + grade[lower] / 2

    hinge = np.floor((items + 3) / 2) / 2
    with np.errstate(over="ignore"):  # an infinite fence is beyond all grades, as the true one is
        fence = at(hinge) + 1.5 * (at(hinge) - at(items + 1 - hinge))
    return at((items + 1) / 2), fence


def _join(place: Floats, height: Floats) -> None:
    """Make one of points at the same place: the highest of them, which is the last."""
    for point in (2, 1, 0):
        same = place[:, point] == place[:, point + 1]
        height[same, point] = height[same, point + 1]


def _slopes(place: Floats, height: Floats) -> Floats:
    """The slope at each point of curves that never fall, so that the cubics between the points never fall either.

    Fritsch and Butland, A Method for Constructing Local Monotone Piecewise Cubic Interpolants, 1984: at an inner point
    a weighted harmonic mean of the two secants, 0 where one of them is 0; at an end the parabola through three points,
    not below 0. Joined points count once.
    """
    slope = np.zeros_like(place)
    counted = np.column_stack([place[:, :-1] < place[:, 1:], np.ones(len(place), dtype=bool)])
    for points in (2, 3, 4):
        here = counted & (counted.sum(axis=1) == points)[:, np.newaxis]
        slope[here] = _slopes_of_distinct(place[here].reshape(-1, points), height[here].reshape(-1, points)).ravel()
    for point in (2, 1, 0):
        joined = ~counted[:, point]
        slope[joined, point] = slope[joined, point + 1]
    return slope


def _slopes_of_distinct(place: Floats, height: Floats) -> Floats:
    width = np.diff(place)
    secant = np.diff(height) / width
    if secant.shape[1] == 1:
        return np.repeat(secant, 2, axis=1)
    slope = np.zeros_like(place)
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
