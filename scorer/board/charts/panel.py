"""The marks and the frame of a chart, the values on its axes, its text, and the picture as SVG, cached by content."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from itertools import groupby, pairwise
from typing import Any, Literal
from unicodedata import bidirectional, combining, east_asian_width
from xml.etree.ElementTree import Element, SubElement, tostring

from scorer.files import code_digest
from scorer.wording import MONTHS, day_and_month, printable, shortened

Tick = tuple[float, str]

MINUS = "\u2212"


def number_text(value: float, decimals: int) -> str:
    """Return a number as text, with a true minus sign; never a negative zero."""
    text = f"{abs(value):.{decimals}f}"
    return f"{MINUS}{text}" if value < 0 and float(text) else text


@dataclass(frozen=True)
class Axis:
    """A scale from a round number to a round number."""

    step: float
    """The difference between two ticks."""
    first: int
    """The first tick, in steps from 0, and `last` the last one."""
    last: int

    def position(self, value: float) -> float:
        """A position in percent of the axis, to two decimals; values outside the axis are at its ends."""
        share = (value / self.step - self.first) / (self.last - self.first)
        return round(100 * (0.0 if share < 0.0 else 1.0 if share > 1.0 else share), 2)

    def percent(self, value: float) -> str:
        """A position as an attribute of SVG: ``41.62%``."""
        return svg_percent(self.position(value))

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The value and the label of each tick."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        values = [number * self.step for number in range(self.first, self.last + 1)]
        return tuple((value, f"{value:.{decimals}f}" if value else "0") for value in values)

    @cached_property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """The position and the label of each tick."""
        return tuple((self.percent(value), label) for value, label in self.labels)


def svg_percent(percent: float) -> str:
    """A position or a length in percent as an attribute of SVG: ``41.62%``."""
    return f"{percent:.2f}".rstrip("0").rstrip(".") + "%"


def covering(low: float, high: float, most: int) -> Axis:
    """Return the axis from `low` or below to `high` or above with the smallest step that is 1, 2 or 5 times a power of
    ten, and `most` steps or fewer where that is possible.
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    # 1e-9 lets a value that equals a tick, but for rounding, be an end.
    axes = [
        Axis(step, math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9))
        for step in (factor * power for factor in (1, 2, 5, 10, 20))
    ]
    return next((axis for axis in axes if axis.last - axis.first <= most), axes[-1])


def ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Return round values that cover `low` to `high`, `most` or fewer where that is possible, and their texts.

    Equal ends are moved apart.
    """
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = (low - 0.5, low + 0.5) if low else (0.0, 1.0)
    axis = covering(low, high, most - 1)
    return [(round(value, 12), text.replace("-", MINUS)) for value, text in axis.labels]


def score_ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Return ticks for scores: from 0, unless all scores are far from it."""
    apart = low > 0.6 * high > 0
    return ticks(low if apart else min(low, 0.0), high if apart else max(high, 0.0), most)


def rank_ticks(last: int, most: int = 10) -> list[Tick]:
    """Return ranks from 1 to `last`: all of them, or 1 and round ones."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, last) if last / step <= most)
    return [(float(rank), str(rank)) for rank in range(1, last + 1) if rank == 1 or rank % step == 0]


def day(when: datetime) -> str:
    """Return a day of a month in UTC: ``30 June``."""
    when = when.astimezone(UTC)
    return f"{when.day} {MONTHS[when.month - 1]}"


def time_ticks(start: datetime, end: datetime, most: int = 6) -> list[Tick]:
    """Return round times in UTC from `start` to `end`, in seconds since 1970, and their texts; at most `most`, or 2."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    bare = [(start.timestamp(), _full_day(start))]
    if len(_months(start, end, 1)) < 2:
        return _shorter(start, end, most) or bare
    every = (_months(start, end, step) for step in (1, 2, 3, 6, 12, 24, 60, 120, 240, 1200, 12000))
    return next((months for months in every if 0 < len(months) <= max(2, most)), bare)


def _months(start: datetime, end: datetime, step: int) -> list[Tick]:
    """The first days of each month, or of each `step` months. The first one and each January has its year."""
    first = -(-(start.year * 12 + start.month) // step) * step
    ticks = []
    for place in range(first, end.year * 12 + end.month, step):
        year, month = divmod(place, 12)
        name = MONTHS[month] if step < 6 else MONTHS[month][:3]
        text = str(year) if step >= 12 else f"{name} {year}" if month == 0 or place == first else name
        ticks.append((datetime(year, month + 1, 1, tzinfo=UTC).timestamp(), text))
    return ticks


def _shorter(start: datetime, end: datetime, most: int) -> list[Tick]:
    """Days, or parts of a day, that are a whole number of steps after a midnight. The first one has its year."""
    steps = (timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 2880, 10080, 20160, 40320))
    step = next(step for step in steps if (end - start) / step <= max(1, most - 1) or step.days == 28)
    # 20 April 1970 is a Monday, so weeks begin on Mondays.
    origin = datetime(1970, 4, 20, tzinfo=UTC)
    first = origin + -((origin - start) // step) * step
    ticks = []
    for number in range((end - first) // step + 1):
        when = first + number * step
        words = [] if number and (when.hour or when.minute) else [day_and_month(when) if number else _full_day(when)]
        if not step.days:
            words.append(f"{when.hour:02}:{when.minute:02}")
        ticks.append((when.timestamp(), ", ".join(words)))
    return ticks


def _full_day(when: datetime) -> str:
    return f"{day_and_month(when)} {when.year}"


SIZE = 12
"""The size of text, in pixels."""

SMALL_TEXT = 11
"""The size of the numbers on axes and of notes, in pixels."""

LINE = 14
"""The distance of labels, in pixels."""

_NAME = 40
"""The number of characters of a name in a sentence."""

WIDTHS = {
    **dict.fromkeys("ijl'IJ", 0.29),
    **dict.fromkeys(" ,./:;\\|-f", 0.35),
    **dict.fromkeys("rt()[]!", 0.41),
    **dict.fromkeys('"*_`sz?', 0.52),
    **dict.fromkeys("cLkFvxyPaoTYe", 0.59),
    **dict.fromkeys("AVBRXZCKU", 0.7),
    **dict.fromkeys("HNDG&OQw#+<=>^~M▲▼", 0.82),
    **dict.fromkeys("m%W@", 0.98),
}
"""Widths of characters as shares of the size, in the widest of the usual sans-serif fonts; others have `USUAL`."""

USUAL = 0.64


@dataclass(frozen=True, slots=True)
class Label:
    """A text in a chart."""

    shown: str
    full: str
    """What `shown` shortens: its tooltip, if it is different."""
    note: str = ""
    """Follows in a quiet colour."""
    halo: bool = False
    """Whether the lines behind it are covered around it."""


def text_width(text: str, size: float = SIZE) -> float:
    """Return the width of a text in pixels, roughly: the font is the reader's."""
    shown = (char for char in text if not combining(char))
    return size * sum(1.0 if east_asian_width(char) in "WF" else WIDTHS.get(char, USUAL) for char in shown)


def fitted(name: str, width: float, size: float = SIZE, note: str = "", *, halo: bool = False) -> Label:
    """Return the label of a name, shortened to a width in pixels. Characters that do not show are escaped."""
    full = printable(name)
    if text_width(full, size) <= width:
        return Label(_isolated(full), _isolated(full), note, halo)
    room, end = width - text_width("…", size), 0
    while end < len(full) and (room := room - text_width(full[end], size)) >= 0:
        end += 1
    return Label(_isolated(f"{full[:end].rstrip()}…"), full, note, halo)


def spoken(name: str) -> str:
    """Return a name for a sentence: shortened and printable."""
    return _isolated(printable(shortened(name, _NAME)))


def _isolated(text: str) -> str:
    """Return a text that does not move the words around it if it is written from right to left."""
    return f"\u2068{text}\u2069" if any(bidirectional(char) in ("R", "AL") for char in text) else text


def column_width(names: Sequence[str], limit: float) -> float:
    """Return the width in pixels of a column of names, at most `limit`."""
    return min(limit, max((text_width(printable(name)) for name in names), default=0.0) + 2)


def wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a small text, broken at spaces to a width in pixels; a long word has its own line."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", SMALL_TEXT) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions near the wanted ones, which ascend, at least `gap` apart and from `low` to `high`.

    The sum of squared distances to the wanted positions is the least: less their places times the gap, the positions
    are an isotonic regression, found by pooling neighbours. Without room for all, the last positions exceed `high`.
    """
    pools: list[tuple[float, int]] = []  # a mean, and how many positions have it
    for place, value in enumerate(wanted):
        mean, count = value - place * gap, 1
        while pools and pools[-1][0] >= mean:
            before, length = pools.pop()
            mean, count = (before * length + mean * count) / (length + count), length + count
        pools.append((mean, count))
    last = max(low, high - (len(wanted) - 1) * gap)
    means = [min(max(mean, low), last) for mean, count in pools for _ in range(count)]
    return [mean + place * gap for place, mean in enumerate(means)]


PAPER = "var(--paper, #fdfcf8)"
INK = "var(--ink, #1c1b18)"
SOFT = "var(--soft, #5d5a53)"
ACCENT = "var(--accent, #0a4c7a)"
INTERVAL = "var(--interval, #4e82a8)"
REFERENCE = "var(--reference, #7f7b71)"
BAND = "var(--band, #e9e3d2)"
HAIR = "var(--hair, #ddd9ce)"
"""The colours of the page, with those of its light theme for an image that has no page."""

CHART_WIDTH = 420
"""The width of a chart in pixels: three fit into a wide page, and one is readable on a phone."""

REPORT_WIDTH = 600
"""The width of a chart in a report; it shrinks with the page."""

DOTTED = "1,3"

JOIN = 11
"""The width in pixels of the lines that join labels to the ends of lines."""

PANEL_ROWS = 60
"""The number of rows that a chart with a row for each team has at most."""

_ROW = 18
"""The height of such a row in pixels."""

_TOP, _BOTTOM = 26, 6
"""The margins of such a chart."""

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x, y, x2, y2: two corners, or two ends."""

Anchor = Literal["start", "middle", "end"]

Paint = tuple[tuple[str, str], ...]
"""Attributes of SVG that marks of one style share."""

DEFAULTS = {("stroke-width", "1"), ("text-anchor", "start"), ("font-size", str(SIZE))}
"""Attributes that say what holds without them."""


def coordinate(value: float, decimals: int = 1) -> str:
    """Return a number of an SVG: rounded, without zeros at its end."""
    text = f"{value:.{decimals}f}"
    trimmed = text.rstrip("0").rstrip(".") if decimals else text
    return "0" if trimmed == "-0" else trimmed


def _paint(**style: str | float) -> Paint:
    """The attributes of SVG that a style needs; empty values have none."""
    given = ((name.replace("_", "-"), str(value)) for name, value in style.items() if value != "")
    return tuple(pair for pair in given if pair not in DEFAULTS)


@dataclass
class Panel:
    """A plotting area with its marks. Marks have positions in the units of the data."""

    x: tuple[float, float]
    """The values at the left and at the right end."""
    y: tuple[float, float]
    """The values at the bottom and at the top."""
    width: float
    """In pixels, as all that follows."""
    height: float
    left: float = 0.0
    """A margin."""
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0
    marks: list[tuple[Paint, Element]] = field(default_factory=list)
    """Elements of SVG, relative to the plotting area, each with its paint."""

    def x_at(self, pixels: float) -> float:
        """Return the value at a distance from the left end."""
        return self.x[0] + (self.x[1] - self.x[0]) * pixels / self.width

    def y_at(self, pixels: float) -> float:
        """Return the value at a distance from the top."""
        return self.y[1] + (self.y[0] - self.y[1]) * pixels / self.height

    def pixels(self, x: float, y: float) -> Point:
        """Return the distances of a point from the left end and from the top."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        down = (self.y[1] - y) / (self.y[1] - self.y[0])
        return across * self.width, down * self.height

    def dots(
        self,
        points: Iterable[Point],
        radius: float,
        fill: str,
        stroke: str = "",
        stroke_width: float = 1.0,
        **style: Any,
    ) -> None:
        """Add dots."""
        border = {"stroke": stroke, "stroke_width": coordinate(stroke_width)} if stroke else {}
        paint = _paint(fill=fill, **style, **border)
        for x, y in points:
            across, down = self.pixels(x, y)
            self._add(paint, "circle", cx=coordinate(across), cy=coordinate(down), r=coordinate(radius, 2))

    def triangles(self, points: Iterable[Point], area: float, fill: str, stroke: str, *, is_up: bool) -> None:
        """Add triangles with a point up, or down; `area` is that of the square with their base, in square pixels."""
        paint, half = _paint(fill=fill, stroke=stroke), math.sqrt(area) / 2
        high = half * math.sqrt(3) / 2 * (1 if is_up else -1)
        for x, y in points:
            across, down = self.pixels(x, y)
            corners = ((across, down - high), (across - half, down + high), (across + half, down + high))
            self._add(paint, "path", d=f"{_path(corners)}Z")

    def rules(self, ends: Iterable[Box], stroke: str, width: float = 1.0, dash: str = "") -> None:
        """Add straight lines."""
        paint = _paint(stroke=stroke, stroke_width=coordinate(width), stroke_dasharray=dash)
        for x, y, x2, y2 in ends:
            (left, top), (right, bottom) = self.pixels(x, y), self.pixels(x2, y2)
            values = {"x1": left, "y1": top, "x2": right, "y2": bottom}
            self._add(paint, "line", **{name: coordinate(value) for name, value in values.items()})

    def boxes(self, corners: Iterable[Box], fill: str, stroke: str = "") -> None:
        """Add rectangles."""
        paint = _paint(fill=fill, stroke=stroke)
        for x, y, x2, y2 in corners:
            (left, right), (top, bottom) = map(sorted, zip(self.pixels(x, y), self.pixels(x2, y2), strict=True))
            wide, high = coordinate(right - left), coordinate(bottom - top)
            start = f"{coordinate(left)},{coordinate(top)}"
            self._add(paint, "path", d=f"M{start}h{wide}v{high}h{coordinate(left - right)}Z")

    def lines(
        self, lines: Iterable[Sequence[Point]], stroke: str, width: float = 1.0, *, dash: str = "", steps: bool = False
    ) -> None:
        """Add one line through each sequence of points, as one path; with `steps`, a value holds until the next one."""
        paths = []
        for line in lines:
            points = [self.pixels(x, y) for x, y in line]
            if steps:
                corners = [(after[0], before[1]) for before, after in pairwise(points)]
                points = [points[0], *(point for pair in zip(corners, points[1:], strict=True) for point in pair)]
            if len(points) > 1:
                paths.append(_path(points))
        if paths:
            paint = _paint(stroke=stroke, stroke_width=coordinate(width), stroke_dasharray=dash)
            self._add(paint, "path", d="".join(paths))

    def texts(
        self,
        items: Iterable[tuple[float, float, Label | str]],
        fill: str = INK,
        anchor: Anchor = "start",
        size: float = SIZE,
        **style: Any,
    ) -> None:
        """Add texts whose middle is at a height."""
        paint = _paint(fill=fill, text_anchor=anchor, font_size=coordinate(size), **style)
        for x, y, shown in items:
            label = Label(shown, shown) if isinstance(shown, str) else shown
            across, down = self.pixels(x, y)
            text = self._add(paint, "text", x=coordinate(across), y=coordinate(down + size * 0.35))
            if label.halo:
                text.attrib |= {
                    "stroke": PAPER,
                    "stroke-width": "6",
                    "stroke-linejoin": "round",
                    "paint-order": "stroke",
                }
            if label.full != label.shown:
                SubElement(text, "title").text = label.full
            (SubElement(text, "tspan") if len(text) else text).text = label.shown
            if label.note:
                SubElement(text, "tspan", {"font-weight": "400", "fill": SOFT}).text = f" {label.note}"

    def grid_across(self, ticks: Sequence[Tick], top: bool = True) -> None:
        """Add a hairline from top to bottom at each value of the x axis, with its text above, or below, the area."""
        at = self.y_at(-9 if top else self.height + 12)
        self.rules([(x, self.y[0], x, self.y[1]) for x, _ in ticks], HAIR)
        self.texts([(x, at, text) for x, text in ticks], SOFT, "middle", SMALL_TEXT)

    def grid_down(self, ticks: Sequence[Tick], right: bool = False) -> None:
        """Add a hairline from left to right at each value of the y axis, with its text left, or right, of the area."""
        at = self.x_at(self.width + 6 if right else -6)
        self.rules([(self.x[0], y, self.x[1], y) for y, _ in ticks], HAIR)
        self.texts([(at, y, text) for y, text in ticks], SOFT, "start" if right else "end", SMALL_TEXT)

    def _add(self, paint: Paint, tag: str, **attributes: str) -> Element:
        element = Element(tag, attributes)
        self.marks.append((paint, element))
        return element


def _path(points: Iterable[Point]) -> str:
    """Straight lines through points, as the data of a path."""
    return f"M{'L'.join(f'{coordinate(x)},{coordinate(y)}' for x, y in points)}"


def end_labels(
    panel: Panel,
    ends: Sequence[tuple[float, Label]],
    *,
    left: bool = False,
    apart: float = 3.0,
    quiet: Container[int] = (),
) -> None:
    """Add a label at the right, or at the left, end of lines; each label is joined to the end of its line.

    `ends` has the value of the y axis where each line ends, and its label. The joining lines begin `apart` pixels from
    the panel; the labels whose indices `quiet` has are in italics.
    """
    down = [panel.pixels(panel.x[0], y)[1] for y, _ in ends]
    order = sorted(range(len(ends)), key=lambda place: (down[place], place))
    placed = spread(
        [down[place] for place in order], LINE, -panel.top + LINE / 2, panel.height + panel.bottom - LINE / 2
    )
    sides = (apart, apart + JOIN, apart + JOIN + 3)
    edge, join, text = (panel.x_at(-side if left else panel.width + side) for side in sides)
    at = dict(zip(order, (panel.y_at(value) for value in placed), strict=True))
    panel.rules([(edge, y, join, at[place]) for place, (y, _) in enumerate(ends)], REFERENCE, 0.5)
    labels = [(text, at[place], label) for place, (_, label) in enumerate(ends)]
    anchor: Anchor = "end" if left else "start"
    panel.texts([label for place, label in enumerate(labels) if place not in quiet], INK, anchor)
    panel.texts([label for place, label in enumerate(labels) if place in quiet], SOFT, anchor, font_style="italic")


# Charts with a row for each team


def row_panel(
    names: Sequence[str],
    ticks: Sequence[Tick],
    *,
    right: float = 12.0,
    row: float = _ROW,
    ends: tuple[float, float] | None = None,
) -> Panel:
    """Return a panel with a row for each name, from the top, at y = 0, 1, 2, ..., and a hairline at each tick.

    The names are on the left, shortened to a third of the width. Only the first `PANEL_ROWS` have one, as a note below
    says. The x axis goes from the first to the last tick, or has other ends.
    """
    names, notes = names[:PANEL_ROWS], first_of(PANEL_ROWS, len(names), "rows")
    left = column_width(names, REPORT_WIDTH / 3) + 12
    panel = Panel(
        x=ends or (ticks[0][0], ticks[-1][0]),
        y=(max(len(names), 1) - 0.5, -0.5),
        width=REPORT_WIDTH - left - right,
        height=row * max(len(names), 1),
        left=left,
        right=right,
        top=_TOP,
        bottom=_BOTTOM + 18 * len(notes),
    )
    panel.grid_across(ticks)
    at = panel.x_at(-10)
    panel.texts([(at, float(place), fitted(name, left - 12)) for place, name in enumerate(names)], INK, "end")
    below(panel, notes)
    return panel


def below(panel: Panel, notes: Sequence[str]) -> None:
    """Add notes below a panel, one on each line."""
    first = panel.height + panel.bottom - 18 * len(notes) + 8
    panel.texts(
        [(panel.x_at(-panel.left), panel.y_at(first + 18 * line), text) for line, text in enumerate(notes)],
        SOFT,
        size=SMALL_TEXT,
        font_style="italic",
    )


def first_of(shown: int, count: int, what: str = "teams") -> list[str]:
    """Return the note that a chart shows only the first rows; nothing if it shows all."""
    return [f"The first {shown} of {count:,} {what}."] if count > shown else []


ChartCache = MutableMapping[str, str]
"""Charts by their keys."""

FONT = "var(--sans, Helvetica, Arial, sans-serif)"


@dataclass(frozen=True, slots=True)
class Svg:
    """A complete SVG element, which templates insert without escaping."""

    text: str

    def __html__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that is drawn."""

    panel: Panel = field(repr=False)
    title: str
    """What it shows."""
    description: str
    """Its text alternative: the finding in one or two sentences."""

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        return self.svg().text

    def svg(self) -> Svg:
        """Write the picture; its `text` is the SVG."""
        panel = self.panel
        width, height = panel.left + panel.width + panel.right, panel.top + panel.height + panel.bottom
        image = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "chart",
                "viewBox": " ".join(map(coordinate, (-panel.left, -panel.top, width, height))),
                "width": coordinate(width),
                "role": "img",
                "fill": "none",
                "direction": "ltr",
                "font-family": FONT,
                "font-size": str(SIZE),
            },
        )
        # The children of these names are the name and the description of the image. Without ids, none can occur twice.
        SubElement(image, "title").text = printable(self.title)
        SubElement(image, "desc").text = self.description
        for paint, alike in groupby(panel.marks, key=lambda mark: mark[0]):
            SubElement(image, "g", dict(paint)).extend(mark for _, mark in alike)
        return Svg(tostring(image, encoding="unicode"))


def chart_key(draw: Callable[..., object], *values: object) -> str:
    """Return a digest of all that decides the bytes of a picture: its function, the values for it, and the code."""
    parts = (draw.__module__, draw.__qualname__, values, code_digest())
    return sha256(repr(parts).encode()).hexdigest()


def drawn(cache: ChartCache | None, draw: Callable[..., Chart], *values: object) -> Svg:
    """Return the picture of the chart that `draw` makes of plain values, from the cache if it is there."""
    if cache is None:
        return draw(*values).svg()
    key = chart_key(draw, *values)
    if key not in cache:
        cache[key] = draw(*values).svg().text
    return Svg(cache[key])
