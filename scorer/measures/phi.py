"""phi, the relevance of a grade that follows from all grades of its query.

Grades up to the median have relevance 0, the highest has 1. The further the grades beyond the upper whisker of the box
plot reach, the lower is the relevance of the whisker. Source: Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments
for Ranking Evaluation, arXiv 1612.06136.
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
    _join(position, height)
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


def _join(position: Floats, height: Floats) -> None:
    """Give points at the same position the height of the last of them, which is the highest."""
    for point in (2, 1, 0):
        same = position[:, point] == position[:, point + 1]
        height[same, point] = height[same, point + 1]


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
