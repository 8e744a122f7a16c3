"""Text in charts: its width, shortened names, and labels that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import bidirectional, combining, east_asian_width

from scorer.wording import printable, shortened

SIZE = 12
"""The size of text, in pixels."""

SMALL = 11
"""The size of the numbers on axes and of notes, in pixels."""

LINE = 14
"""The distance of labels, in pixels."""

NAME = 40
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
WIDE = 1.0


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
    return size * sum(_width(char) for char in text)


def _width(char: str) -> float:
    if combining(char):
        return 0.0
    return WIDE if east_asian_width(char) in "WF" else WIDTHS.get(char, USUAL)


def fitted(name: str, width: float, size: float = SIZE, note: str = "", *, halo: bool = False) -> Label:
    """Return the label of a name, shortened to a width in pixels. Characters that do not show are escaped."""
    full = printable(name)
    if text_width(full, size) <= width:
        return Label(isolated(full), isolated(full), note, halo)
    room, end = width - text_width("…", size), 0
    while end < len(full) and (room := room - text_width(full[end], size)) >= 0:
        end += 1
    return Label(isolated(f"{full[:end].rstrip()}…"), full, note, halo)


def spoken(name: str) -> str:
    """Return a name for a sentence: shortened and printable."""
    return isolated(printable(shortened(name, NAME)))


def isolated(text: str) -> str:
    """Return a text that does not move the words around it if it is written from right to left."""
    return f"\u2068{text}\u2069" if any(bidirectional(char) in ("R", "AL") for char in text) else text


def column_width(names: Sequence[str], limit: float) -> float:
    """Return the width in pixels of a column of names, at most `limit`."""
    return min(limit, max((text_width(printable(name)) for name in names), default=0.0) + 2)


def wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a small text, broken at spaces to a width in pixels; a long word has its own line."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", SMALL) <= width:
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
