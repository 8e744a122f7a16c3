"""Figures as SVG: rows of panels with axes, lines, bars and box plots, and a legend below.

They are built as element trees: no text can become markup, and the same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from scorer.measures.matched import Floats

FONT = "Helvetica, Arial, sans-serif"
INK, GRID = "#222222", "#e3e3e3"

LEFT, RIGHT, TOP, BOTTOM = 58, 18, 34, 56
"""The space around a panel for its scale, its title and the text below it."""

LEGEND, SAMPLE = 30, 30
"""Height of the legend, and width of the piece of a line in it."""

LETTER = 6.3
"""The mean width of a letter, to lay out the legend without measuring text."""


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a series; dashes distinguish lines that overlap or have no colour."""

    colour: str
    dashes: str = ""


# The colours of Okabe and Ito, which people with any colour vision can distinguish.
STYLES = (
    Style("#0072b2"),
    Style("#d55e00", "7 3"),
    Style("#009e73", "2 2"),
    Style("#cc79a7", "8 3 2 3"),
    Style("#e69f00", "4 2"),
    Style("#56b4e9", "10 4"),
    Style("#000000"),
    Style("#999999", "3 3"),
)


Named = Sequence[tuple[str, Style]]
"""Names and their styles."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale with ticks."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def numbers(cls, title: str, low: float, high: float, step: float, decimals: int = 0) -> Axis:
        """Return a scale with a tick at every `step`."""
        count = round((high - low) / step)
        positions = [low + at * step for at in range(count + 1)]
        return cls(title, low, high, tuple((position, f"{position:.{decimals}f}") for position in positions))

    @classmethod
    def groups(cls, title: str, names: Sequence[str]) -> Axis:
        """Return a scale of named groups, at 0, 1, 2, ..."""
        return cls(title, -0.5, len(names) - 0.5, tuple(enumerate(names)))


@dataclass(frozen=True, slots=True)
class Panel:
    """One coordinate system of a figure."""

    drawing: Element
    left: float
    right: float
    top: float
    bottom: float
    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        """Return the distance of `value` from the left of the figure, in its units."""
        return self.left + (value - self.across.low) / (self.across.high - self.across.low) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the distance of `value` from the top of the figure, in its units."""
        return self.bottom - (value - self.up.low) / (self.up.high - self.up.low) * (self.bottom - self.top)

    def axes(self, title: str) -> None:
        """Draw the title, the scales, and a horizontal rule at each tick of the vertical scale."""
        _write(self.drawing, (self.left + self.right) / 2, self.top - 14, "middle", title, weight="bold")
        for value, label in self.up.ticks:
            _stroke(self.drawing, self.left, self.y(value), self.right, self.y(value), GRID)
            _write(self.drawing, self.left - 8, self.y(value) + 4, "end", label)
        for value, label in self.across.ticks:
            _stroke(self.drawing, self.x(value), self.bottom, self.x(value), self.bottom + 4, INK)
            _write(self.drawing, self.x(value), self.bottom + 18, "middle", label)
        _stroke(self.drawing, self.left, self.top, self.left, self.bottom, INK)
        _stroke(self.drawing, self.left, self.bottom, self.right, self.bottom, INK)
        _write(self.drawing, (self.left + self.right) / 2, self.bottom + 38, "middle", self.across.title)
        middle = (self.top + self.bottom) / 2
        turned = _write(self.drawing, self.left - 42, middle, "middle", self.up.title)
        turned.set("transform", f"rotate(-90 {self.left - 42:.1f} {middle:.1f})")

    def line(self, across: Iterable[float], up: Iterable[float], style: Style) -> None:
        """Draw a line through the points."""
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(across, up, strict=True))
        look = {"fill": "none", "stroke-width": "1.6", "stroke-linejoin": "round"}
        SubElement(self.drawing, "polyline", {"points": points} | look | _ink(style))

    def band(self, across: Sequence[float], low: Iterable[float], high: Iterable[float], style: Style) -> None:
        """Fill the area between two lines."""
        there = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(across, low, strict=True)]
        back = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(across, high, strict=True)][::-1]
        look = {"fill": style.colour, "fill-opacity": "0.2"}
        SubElement(self.drawing, "polygon", {"points": " ".join(there + back)} | look)

    def rule(self, up: float, start: float, end: float, style: Style) -> None:
        """Draw a horizontal line from `start` to `end`."""
        line = _stroke(self.drawing, self.x(start), self.y(up), self.x(end), self.y(up), style.colour)
        line.attrib.update(_ink(style) | {"stroke-width": "1.8"})

    def dot(self, across: float, up: float, style: Style, label: str) -> None:
        """Draw a point with a label above it, to the left."""
        _dot(self.drawing, self.x(across), self.y(up), 4, {"fill": style.colour})
        _write(self.drawing, self.x(across) - 4, self.y(up) - 6, "end", label)

    def bars(self, group: float, heights: Sequence[float], styles: Sequence[Style]) -> None:
        """Draw bars side by side around `group`, from the bottom of the scale."""
        width = 0.8 / len(heights)
        for at, (height, style) in enumerate(zip(heights, styles, strict=True)):
            start, end = self.x(group - 0.4 + at * width), self.x(group - 0.4 + (at + 1) * width)
            gap = 0.1 * (end - start)
            _box(self.drawing, start, end - gap, self.y(height), self.bottom, {"fill": style.colour})

    def box_plot(self, group: float, values: Floats, style: Style) -> None:
        """Draw quartiles as a box, whiskers to the last value within 1.5 box heights, and other values as dots."""
        first, median, third = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
        reach = 1.5 * (third - first)
        inside = (values >= first - reach) & (values <= third + reach)
        low, high = float(values[inside].min()), float(values[inside].max())
        middle, start, end = self.x(group), self.x(group - 0.3), self.x(group + 0.3)
        for value in values[~inside].tolist():
            _dot(self.drawing, middle, self.y(value), 1.8, {"fill": "none", "stroke": INK, "opacity": "0.4"})
        for whisker, edge in ((low, first), (high, third)):
            _stroke(self.drawing, middle, self.y(whisker), middle, self.y(edge), INK)
            _stroke(self.drawing, self.x(group - 0.12), self.y(whisker), self.x(group + 0.12), self.y(whisker), INK)
        _box(self.drawing, start, end, self.y(third), self.y(first), {"fill": style.colour, "stroke": INK})
        _stroke(self.drawing, start, self.y(median), end, self.y(median), INK).set("stroke-width", "2.2")


class Drawing:
    """A figure: one row of panels, and a legend below it."""

    def __init__(self, title: str, width: int = 960, height: int = 380) -> None:
        self._width, self._height = width, height
        self._root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {width} {height}",
                "width": str(width),
                "height": str(height),
                "role": "img",
                "font-family": FONT,
                "font-size": "12",
                "fill": INK,
            },
        )
        SubElement(self._root, "title").text = title
        SubElement(self._root, "rect", {"width": str(width), "height": str(height), "fill": "#ffffff"})

    def panels(self, *panels: tuple[str, Axis, Axis]) -> list[Panel]:
        """Draw panels side by side, given title, horizontal and vertical scale of each."""
        width, bottom = self._width / len(panels), self._height - BOTTOM - LEGEND
        drawn = []
        for at, (title, across, up) in enumerate(panels):
            panel = Panel(self._root, at * width + LEFT, (at + 1) * width - RIGHT, TOP, bottom, across, up)
            panel.axes(title)
            drawn.append(panel)
        return drawn

    def legend(self, title: str = "", *, lines: Named = (), patches: Named = ()) -> None:
        """Draw the names of the styles below the panels, centred."""
        names = [name for name, _ in [*lines, *patches]]
        widths = [SAMPLE + 6 + LETTER * len(name) + 20 for name in names]
        x, y = (self._width - LETTER * len(title) - sum(widths)) / 2, self._height - 16
        _write(self._root, x, y, "start", title)
        x += LETTER * len(title)
        for at, (name, style) in enumerate([*lines, *patches]):
            if at < len(lines):
                line = _stroke(self._root, x, y - 4, x + SAMPLE, y - 4, style.colour)
                line.attrib.update(_ink(style) | {"stroke-width": "2"})
            else:
                _box(self._root, x + SAMPLE - 16, x + SAMPLE, y - 10, y + 1, {"fill": style.colour})
            _write(self._root, x + SAMPLE + 6, y, "start", name)
            x += widths[at]

    def svg(self) -> str:
        """Return the figure as the text of a file."""
        indent(self._root, " ")
        return tostring(self._root, encoding="unicode") + "\n"


def _ink(style: Style) -> dict[str, str]:
    return {"stroke": style.colour} | ({"stroke-dasharray": style.dashes} if style.dashes else {})


def _stroke(drawing: Element, x1: float, y1: float, x2: float, y2: float, colour: str) -> Element:
    positions = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    return SubElement(drawing, "line", positions | {"stroke": colour})


def _box(drawing: Element, left: float, right: float, top: float, bottom: float, look: dict[str, str]) -> None:
    sides = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{right - left:.1f}", "height": f"{bottom - top:.1f}"}
    SubElement(drawing, "rect", sides | look)


def _dot(drawing: Element, x: float, y: float, radius: float, look: dict[str, str]) -> None:
    SubElement(drawing, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": str(radius)} | look)


def _write(drawing: Element, x: float, y: float, anchor: str, text: str, weight: str = "normal") -> Element:
    positions = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "font-weight": weight}
    written = SubElement(drawing, "text", positions)
    written.text = text
    return written
