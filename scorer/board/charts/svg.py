"""A chart as SVG: drawn by Altair and vl-convert, reduced to what a page needs, and cached by its content."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import datetime
from functools import cache as cached
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from scorer.board.charts.panel import PAPER, SIZE, SOFT, Label, Panel
from scorer.errors import ScorerError
from scorer.files import code_digest
from scorer.wording import printable

Cache = MutableMapping[str, str]
"""Charts by their keys."""

FONT = "var(--sans, Helvetica, Arial, sans-serif)"

NAMESPACE = "{http://www.w3.org/2000/svg}"

PAINT = (
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
    *("opacity", "text-anchor", "font-size", "font-weight", "font-style"),
)
"""The attributes of a mark that are kept. Vega writes no other attribute of the look but `style`, which pages block."""

DEFAULTS = {("opacity", "1"), ("stroke-width", "1"), ("text-anchor", "start"), ("font-size", str(SIZE))}
"""Attributes that say what holds without them."""

CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")


@dataclass(frozen=True, slots=True)
class Svg:
    """A complete SVG element, which templates insert without escaping."""

    text: str
    description: str = ""
    """Its text alternative, unescaped."""

    def __html__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which is drawn only if it is needed."""

    draw: partial[Panel] = field(repr=False)
    """A function of a module with its arguments, plain values."""
    title: str
    """What it shows."""
    description: str
    """Its text alternative: the finding in one or two sentences."""

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        return self.svg().text

    def svg(self, cache: Cache | None = None) -> Svg:
        """Draw the chart, or take it from the cache, to which it is then added. Its `text` is the picture.

        Raises ScorerError if the engine that draws charts cannot start, because the addresses of this process are
        limited.
        """
        title = printable(self.title)
        key = chart_key(self.draw, title, self.description)
        text = cache.get(key) if cache is not None else None
        if text is None:
            text = _drawn(self.draw(), title, self.description)
        if cache is not None:
            cache[key] = text
        return Svg(text, self.description)


def chart_key(draw: partial[Panel], *words: str) -> str:
    """Return a digest of all that decides the bytes of a chart: its values, its words, the code and its libraries."""
    parts = [draw.func.__module__, draw.func.__qualname__, draw.args, draw.keywords, words, _versions()]
    return sha256(json.dumps(parts, default=_plain).encode()).hexdigest()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"found {type(value).__name__}; expected a plain value")


@cached
def _versions() -> tuple[str, ...]:
    """The versions of the libraries and of the code of the charts."""
    return version("altair"), version("vl-convert-python"), code_digest()


def _drawn(panel: Panel, title: str, description: str) -> str:
    # The converter starts a JavaScript engine, and Altair loads its schema: half a second that cached charts save.
    import vl_convert  # noqa: PLC0415

    _check_engine()
    raw: str = vl_convert.vegalite_to_svg(panel.specification(), config={"aria": False}, allowed_base_urls=[])
    width, height = panel.left + panel.width + panel.right, panel.top + panel.height + panel.bottom
    image = Element(
        "svg",
        {
            "xmlns": NAMESPACE[1:-1],
            "class": "chart",
            "viewBox": f"{_number(-panel.left)} {_number(-panel.top)} {_number(width)} {_number(height)}",
            "width": _number(width),
            "role": "img",
            "fill": "none",
            "direction": "ltr",
            "font-family": FONT,
            "font-size": str(SIZE),
        },
    )
    # The children of these names are the name and the description of the image. Without ids, none can occur twice.
    SubElement(image, "title").text = title
    SubElement(image, "desc").text = description
    marks = list(_marks(fromstring(raw), (-panel.left, -panel.top), panel.labels))  # noqa: S314 - vl-convert wrote it
    for paint, alike in groupby(marks, key=lambda mark: mark[0]):
        SubElement(image, "g", dict(paint)).extend(mark for _, mark in alike)
    return tostring(image, encoding="unicode")


@cached
def _check_engine() -> None:
    """Raise ScorerError if the JavaScript engine cannot start, which would end this process instead of raising.

    It reserves far more addresses than it uses memory. So under a limit on them, another process tries it first.
    """
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 (Windows lacks it)

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    start = [sys.executable, "-c", "import vl_convert; vl_convert.vega_to_svg({})"]
    if limit != resource.RLIM_INFINITY and subprocess.run(start, capture_output=True, check=False).returncode:  # noqa: S603
        raise ScorerError(
            f"charts cannot be drawn: this process may use {limit >> 20:,} MiB of addresses, and the engine that draws "
            "charts reserves more, though it uses little memory; remove the limit with `ulimit -v unlimited`"
        )


Paint = tuple[tuple[str, str], ...]


def _marks(element: Element, offset: tuple[float, float], labels: Sequence[Label]) -> Iterator[tuple[Paint, Element]]:
    """The marks below an element, relative to the plotting area, each without its paint."""
    for child in element:
        tag = child.tag.removeprefix(NAMESPACE)
        x, y = _translated(child, offset)
        if tag == "g":
            yield from _marks(child, (x, y), labels)
        elif child.get("class") or tag == "rect" or not (child.get("d") or tag != "path"):
            continue
        elif tag == "text":
            yield _paint(child), _text(x, y, labels[int(child.text or "")])
        elif tag == "line":
            ends = {"x1": x, "y1": y, "x2": x + float(child.get("x2", 0)), "y2": y + float(child.get("y2", 0))}
            yield _paint(child), Element("line", {name: _number(value) for name, value in ends.items()})
        elif tag == "path":
            yield _paint(child), _path(x, y, child.get("d", ""))
        else:
            raise ValueError(f"found the element {tag}; expected g, rect, text, line or path")


def _translated(element: Element, offset: tuple[float, float]) -> tuple[float, float]:
    x, y = element.get("transform", "translate(0,0)").removeprefix("translate(").removesuffix(")").split(",")
    return offset[0] + float(x), offset[1] + float(y)


def _paint(element: Element) -> Paint:
    paint = ((name, (element.get(name) or "").removesuffix("px")) for name in PAINT)
    kept = tuple((name, value) for name, value in paint if value and (name, value) not in DEFAULTS)
    if any(name == "stroke" for name, _ in kept):
        return kept
    return tuple((name, value) for name, value in kept if not name.startswith("stroke"))


def _text(x: float, y: float, label: Label) -> Element:
    text = Element("text", {"x": _number(x), "y": _number(y)})
    if label.halo:
        text.attrib |= {"stroke": PAPER, "stroke-width": "6", "stroke-linejoin": "round", "paint-order": "stroke"}
    if label.full != label.shown:
        SubElement(text, "title").text = label.full
    shown = SubElement(text, "tspan") if len(text) else text
    shown.text = label.shown
    if label.note:
        note = {"font-weight": "400", "fill": SOFT}
        SubElement(text, "tspan", note).text = f" {label.note}"
    return text


def _path(x: float, y: float, path: str) -> Element:
    if circle := CIRCLE.fullmatch(path):
        return Element("circle", {"cx": _number(x), "cy": _number(y), "r": _number(float(circle[1]), 2)})
    drawn = {"d": re.sub(r"-?\d*\.\d+(e-?\d+)?", lambda match: _number(float(match[0])), path)}
    if (_number(x), _number(y)) != ("0", "0"):
        drawn["transform"] = f"translate({_number(x)},{_number(y)})"
    return Element("path", drawn)


def _number(value: float, decimals: int = 1) -> str:
    text = f"{value:.{decimals}f}"
    trimmed = text.rstrip("0").rstrip(".") if decimals else text
    return "0" if trimmed == "-0" else trimmed
