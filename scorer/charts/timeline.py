"""The pictures: small static SVG drawings, built as element trees so that no text in them can become markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, tostring

WIDTH, HEIGHT = 640, 200
RIGHT, TOP, BOTTOM = 616, 20, 160
"""Where the plotting area ends; the scale's numbers stand left of it, the dates below."""

DIGIT = 12
"""Room for a digit at the largest size that the style sheet sets."""


@dataclass(frozen=True, slots=True)
class Svg:
    """A finished drawing, to be put into a page as it is."""

    text: str

    def __html__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Point:
    """A score at a time."""

    when: datetime
    score: float
    label: str
    """What it is, shown when it is pointed at."""
    marked: bool
    """Drawn full instead of hollow."""


def timeline(points: Sequence[Point], title: str, decimals: int) -> Svg:
    """Scores over time, joined in order of time; colours and line widths are the style sheet's.

    The text alternative (title and desc) tells the same: the first, the best and the last score with their days.

    Parameters
    ----------
    points : one or more, in any order
    title : what is drawn
    decimals : with how many the scores are printed
    """
    points = sorted(points, key=lambda point: point.when)
    drawing = Element("svg", {"class": "timeline", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    SubElement(drawing, "title").text = title
    SubElement(drawing, "desc").text = _description(points, decimals)
    low, high = _span([point.score for point in points])
    start, end = _span([point.when.timestamp() for point in points])
    left = DIGIT * len(f"{high:.{decimals}f}")
    for score in sorted({low, high}):
        _rule(drawing, left, _position(score, low, high, BOTTOM, TOP), f"{score:.{decimals}f}")
    places = [
        (
            _position(point.when.timestamp(), start, end, left + 8, RIGHT - 8),
            _position(point.score, low, high, BOTTOM, TOP),
        )
        for point in points
    ]
    SubElement(drawing, "polyline", {"points": " ".join(f"{across:.1f},{down:.1f}" for across, down in places)})
    for point, (across, down) in zip(points, places, strict=True):
        dot = SubElement(drawing, "circle", {"cx": f"{across:.1f}", "cy": f"{down:.1f}", "r": "4.5"})
        if point.marked:
            dot.set("class", "marked")
        SubElement(dot, "title").text = point.label
    _write(drawing, left, BOTTOM + 28, "start", _day(points[0]))
    if _day(points[-1]) != _day(points[0]):
        _write(drawing, RIGHT, BOTTOM + 28, "end", _day(points[-1]))
    return Svg(tostring(drawing, encoding="unicode"))


def _description(points: Sequence[Point], decimals: int) -> str:
    best = max(points, key=lambda point: point.score)
    named = (("First", points[0]), ("best", best), ("last", points[-1]))
    return ", ".join(f"{word} {point.score:.{decimals}f} on {_day(point)}" for word, point in named) + "."


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _position(value: float, low: float, high: float, first: float, last: float) -> float:
    """Where `value` lies between `first` (at `low`) and `last` (at `high`); in the middle of a scale of one value."""
    share = (value - low) / (high - low) if high > low else 0.5
    return first + share * (last - first)


def _rule(drawing: Element, left: float, down: float, text: str) -> None:
    across = {"x1": str(left), "x2": str(RIGHT), "y1": f"{down:.1f}", "y2": f"{down:.1f}"}
    SubElement(drawing, "line", across)
    _write(drawing, left - 10, down + 4, "end", text)


def _write(drawing: Element, across: float, down: float, anchor: str, text: str) -> None:
    SubElement(drawing, "text", {"x": f"{across:.1f}", "y": f"{down:.1f}", "text-anchor": anchor}).text = text


def _day(point: Point) -> str:
    return point.when.astimezone(UTC).strftime("%Y-%m-%d")
