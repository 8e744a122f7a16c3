"""A chart as SVG, cached by its content."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from scorer.board.charts.panel import SIZE, Panel, coordinate
from scorer.files import code_digest
from scorer.wording import printable

Cache = MutableMapping[str, str]
"""Charts by their keys."""

FONT = "var(--sans, Helvetica, Arial, sans-serif)"


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
        """Draw the chart, or take it from the cache, to which it is then added. Its `text` is the picture."""
        title = printable(self.title)
        key = chart_key(self.draw, title, self.description)
        text = cache.get(key) if cache is not None else None
        if text is None:
            text = _drawn(self.draw(), title, self.description)
        if cache is not None:
            cache[key] = text
        return Svg(text, self.description)


def chart_key(draw: partial[Any], *words: str) -> str:
    """Return a digest of all that decides the bytes of a chart: its values, its words and the code."""
    parts = [draw.func.__module__, draw.func.__qualname__, draw.args, draw.keywords, words, code_digest()]
    return sha256(json.dumps(parts, default=_plain).encode()).hexdigest()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"found {type(value).__name__}; expected a plain value")


def _drawn(panel: Panel, title: str, description: str) -> str:
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
    SubElement(image, "title").text = title
    SubElement(image, "desc").text = description
    for paint, alike in groupby(panel.marks, key=lambda mark: mark[0]):
        SubElement(image, "g", dict(paint)).extend(mark for _, mark in alike)
    return tostring(image, encoding="unicode")
