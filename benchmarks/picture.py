"""The results as SVG, built as an element tree: no text can become markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

WIDTH = 960
MARGIN = 32
GAP = 56
"""The space between the two columns."""
COLUMN = (WIDTH - 2 * MARGIN - GAP) // 2
BAR, BAR_STEP = 18, 30
NAMES = 140
"""The space for the name of a tool, left of its bar."""
PLOT_HEIGHT = 250
SCALE_LABELS = 52
"""The space for the numbers left of a plot."""
END_LABELS = 118
"""The space for the names right of a plot."""

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #3d4451 }
.page { fill: #ffffff } .title { font-size: 15px; font-weight: 600; fill: #14181f } .note { font-size: 12px }
.strong { font-weight: 600; fill: #14181f } .grid { stroke: #e3e6eb } .axis { stroke: #aab1bd }
@media (prefers-color-scheme: dark) {
  text { fill: #b9c0cc } .page { fill: #14181f } .title, .strong { fill: #f2f4f7 }
  .grid { stroke: #2b313b } .axis { stroke: #596273 }
}
"""

COLOURS = {
    "scorer": "#d9480f",
    "scorer, TREC files": "#f08c4a",
    "pyarrow, reading only": "#98a1ae",
    "trec_eval": "#6b7f99",
    "pytrec-eval-terrier": "#2f7f9e",
    "ir_measures": "#5b8f4e",
    "ranx, warm": "#8a6bb0",
    "ranx, cold": "#b79bd6",
}

Results = Mapping[str, Any]


def drawn(results: Results) -> str:
    """Return the picture: a row of two panels for each part that was measured."""
    picture = Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    SubElement(picture, "title").text = "scorer and its peers"
    SubElement(picture, "style").text = STYLE
    SubElement(picture, "rect", {"class": "page", "width": "100%", "height": "100%", "rx": "8"})
    top = float(MARGIN)
    for row in _rows(results):
        heights = [
            panel(SubElement(picture, "g", transform=f"translate({MARGIN + side * (COLUMN + GAP)} {top:g})"))
            for side, panel in enumerate(row)
        ]
        top += max(heights) + MARGIN
    picture.set("viewBox", f"0 0 {WIDTH} {top:g}")
    picture.set("width", str(WIDTH))
    picture.set("height", f"{top:g}")
    return tostring(picture, encoding="unicode") + "\n"


Panel = Callable[[Element], float]
"""Draws into a group, and returns its height."""


def _rows(results: Results) -> list[list[Panel]]:
    rows: list[list[Panel]] = []
    if "run" in results:
        lines = f"{results['run']['lines']:,} lines"
        rows.append(
            [
                _bars_of(results["run"], "wall", f"Time for {lines}", "s", 1),
                _bars_of(results["run"], "memory", f"Peak memory for {lines}", "MB", 1e6),
            ]
        )
    if "submissions" in results:
        what = f"{results['submissions']['submissions']:,} submissions of {results['submissions']['lists']:,} lists"
        rows.append(
            [
                _bars_of(results["submissions"], "wall", f"Time for {what}", "s", 1),
                _bars_of(results["submissions"], "memory", f"Peak memory for {what}", "MB", 1e6),
            ]
        )
    if "growth" in results:
        rows.append(
            [
                _lines_of(results["growth"], "wall", "Time as the file grows", "s", 1),
                _lines_of(results["growth"], "memory", "Peak memory as the file grows", "MB", 1e6),
            ]
        )
    return rows


# Bars


def _bars_of(part: Results, key: str, title: str, unit: str, scale: float) -> Panel:
    values = {name: median(tool[key]) / scale for name, tool in part["tools"].items()}
    return lambda group: _bars(group, title, values, unit)


def _bars(group: Element, title: str, values: Mapping[str, float], unit: str) -> float:
    """Draw a bar for each tool, with its value, also as a multiple of scorer's."""
    _text(group, 0, 14, title, "title")
    reference = values["scorer"]
    room = COLUMN - NAMES - 120
    for number, (name, value) in enumerate(values.items()):
        y = 30 + number * BAR_STEP
        kind = "strong" if name.startswith("scorer") else ""
        _text(group, NAMES - 10, y + 13, name, kind, anchor="end")
        length = max(room * value / max(values.values()), 1)
        bar = {"x": str(NAMES), "y": str(y), "width": f"{length:.1f}", "height": str(BAR), "rx": "3"}
        SubElement(group, "rect", bar, fill=COLOURS[name])
        multiple = "" if name == "scorer" else f"  ({value / reference:.1f}×)"
        _text(group, NAMES + length + 8, y + 13, f"{_short(value)} {unit}{multiple}", kind)
    return 30 + len(values) * BAR_STEP


# Lines


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        """Return the powers of ten on the scale."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]


def _lines_of(part: Results, key: str, title: str, unit: str, scale: float) -> Panel:
    curves = {
        name: [(point["lines"], median(point[key]) / scale) for point in points]
        for name, points in part["tools"].items()
    }
    return lambda group: _plot(group, title, curves, unit)


def _plot(group: Element, title: str, curves: Mapping[str, Sequence[tuple[float, float]]], unit: str) -> float:
    """Draw a curve for each tool over the number of lines, on logarithmic scales."""
    _text(group, 0, 14, f"{title}, {unit}", "title")
    points = [point for curve in curves.values() for point in curve]
    across = Scale(min(x for x, _ in points), max(x for x, _ in points) * 1.001, SCALE_LABELS, COLUMN - END_LABELS)
    up = Scale(
        10 ** math.floor(math.log10(min(y for _, y in points))),
        10 ** math.ceil(math.log10(max(y for _, y in points))),
        PLOT_HEIGHT + 30,
        36,
    )
    for value in up.decades():
        _line(group, across.start, up.at(value), across.end, up.at(value), "grid")
        _text(group, across.start - 8, up.at(value) + 4, _short(value), "note", anchor="end")
    for value in sorted({x for x, _ in points}):
        _line(group, across.at(value), up.start, across.at(value), up.start + 5, "axis")
        _text(group, across.at(value), up.start + 20, _millions(value), "note", anchor="middle")
    _line(group, across.start, up.start, across.end, up.start, "axis")
    middle = (across.start + across.end) / 2
    _text(group, middle, up.start + 40, "lines; both scales logarithmic", "note", anchor="middle")
    for name, curve in reversed(list(curves.items())):
        _curve(group, name, [(across.at(x), up.at(y)) for x, y in curve])
    ends = {name: up.at(curve[-1][1]) for name, curve in curves.items()}
    for name, y in _without_overlap(ends).items():
        _text(group, across.end + 10, y + 4, name, "strong" if name == "scorer" else "", fill=COLOURS[name])
    return PLOT_HEIGHT + 72


def _curve(group: Element, name: str, positions: Sequence[tuple[float, float]]) -> None:
    style = {"fill": "none", "stroke": COLOURS[name], "stroke-width": "3" if name == "scorer" else "1.75"}
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in positions)
    SubElement(group, "polyline", style, points=path)
    for x, y in positions:
        SubElement(group, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3", fill=COLOURS[name])


def _without_overlap(positions: Mapping[str, float], least: float = 16) -> dict[str, float]:
    """Return the positions of labels, moved down where they would overlap."""
    moved: dict[str, float] = {}
    last = -math.inf
    for name, position in sorted(positions.items(), key=lambda item: item[1]):
        last = max(position, last + least)
        moved[name] = last
    return moved


def _millions(lines: float) -> str:
    return f"{lines / 1e6:g}M"


def _short(value: float) -> str:
    """Return the number with two or three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 1 else f"{value:.1f}".removesuffix(".0")


def _text(group: Element, x: float, y: float, text: str, kind: str = "", anchor: str = "start", fill: str = "") -> None:
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "class": kind}
    if fill:
        attributes["style"] = f"fill: {fill}"
    SubElement(group, "text", attributes).text = text


def _line(group: Element, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
    positions = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    SubElement(group, "line", {"class": kind, **positions})
