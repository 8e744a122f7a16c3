"""The scores of a team over time: built directly, since a site may have a page for each of hundreds of teams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from scorer.charts.svg import Svg
from scorer.wording import utc_time

WIDTH, HEIGHT = 640, 140
RIGHT, TOP, BOTTOM = 616, 12, 108
"""The edges of the plotting area; the scores are printed on its left, the dates below it."""

DIGIT = 12
"""Width of a digit at the largest font size of the style sheet."""


@dataclass(frozen=True, slots=True)
class Point:
    """A score at a time."""

    when: datetime
    score: float
    label: str
    """Shown as a tooltip."""
    marked: bool
    """Whether the dot is filled."""


def timeline(points: Sequence[Point], title: str, decimals: int) -> Svg:
    """Draw one or more scores over time as dots joined by steps in order of time, which may be given in any order.

    The description of the image gives the first, the best and the last score with their dates. The image is built as an
    element tree, so text in it is escaped; the style sheet sets colours and line widths.
    """
    points = sorted(points, key=lambda point: point.when)
    description = _description(points, decimals)
    image = Element("svg", {"class": "timeline", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    SubElement(image, "title").text = title
    SubElement(image, "desc").text = description
    low, high = min(point.score for point in points), max(point.score for point in points)
    start, end = points[0].when.timestamp(), points[-1].when.timestamp()
    left = DIGIT * len(f"{high:.{decimals}f}")
    for score in sorted({low, high}):
        y = scaled(score, low, high, BOTTOM, TOP)
        SubElement(image, "line", {"x1": str(left), "x2": str(RIGHT), "y1": f"{y:.1f}", "y2": f"{y:.1f}"})
        _text(image, left - 10, y + 4, "end", f"{score:.{decimals}f}")
    positions = [
        (
            scaled(point.when.timestamp(), start, end, left + 8, RIGHT - 8),
            scaled(point.score, low, high, BOTTOM, TOP),
        )
        for point in points
    ]
    steps = " ".join(f"H{x:.1f}V{y:.1f}" for x, y in positions[1:])
    SubElement(image, "path", {"d": "M{:.1f} {:.1f}".format(*positions[0]) + steps})
    for point, (x, y) in zip(points, positions, strict=True):
        dot = SubElement(image, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "4.5"})
        if point.marked:
            dot.set("class", "marked")
        SubElement(dot, "title").text = point.label
    _text(image, left, BOTTOM + 28, "start", _day(points[0]))
    if _day(points[-1]) != _day(points[0]):
        _text(image, RIGHT, BOTTOM + 28, "end", _day(points[-1]))
    return Svg(tostring(image, encoding="unicode"), description)


def _description(points: Sequence[Point], decimals: int) -> str:
    best = max(points, key=lambda point: point.score)
    named = (("First", points[0]), ("best", best), ("last", points[-1]))
    return ", ".join(f"{word} {point.score:.{decimals}f} on {_day(point)}" for word, point in named) + "."


def scaled(value: float, low: float, high: float, first: float, last: float, *, single: float = 0.5) -> float:
    """Return `value` mapped from `low`..`high` to `first`..`last`; `single` is its share where `low` equals `high`."""
    share = (value - low) / (high - low) if high > low else single
    return first + share * (last - first)


def _text(image: Element, x: float, y: float, anchor: str, text: str) -> None:
    SubElement(image, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}).text = text


def _day(point: Point) -> str:
    return utc_time(point.when, "day")
