"""Colours as ``#rrggbb``, and their contrast."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LEAST_CONTRAST = 4.5
"""Of text with its background, as WCAG 2.2 requires (success criterion 1.4.3)."""

LIGHT = ("#fdfcf8", "#f4f1e8", "#e8eff6")
DARK = ("#171613", "#22201c", "#1d2930")
"""The backgrounds of text in the shipped style sheet, in both colour schemes: the paper, raised parts, marked rows."""

Channels = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""


def is_colour(text: str) -> bool:
    """Whether `text` is a colour as ``#rrggbb``."""
    return re.fullmatch(r"#[0-9a-fA-F]{6}", text) is not None


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def least_contrast(colour: str, backgrounds: Iterable[str]) -> tuple[float, str]:
    """Return the lowest contrast of a colour with one of the backgrounds, and that background."""
    return min((contrast(colour, background), background) for background in backgrounds)


def lightened(colour: str, backgrounds: Sequence[str], least: float) -> str:
    """Return the colour mixed with as little white as gives it at least this contrast with each dark background."""
    shades = (_mixed(colour, "#ffffff", percent) for percent in range(101))
    return next(shade for shade in shades if least_contrast(shade, backgrounds)[0] >= least)


def softened(colour: str, paper: str, least: float) -> str:
    """Return the colour mixed with as much of the paper as leaves it at least this contrast with the paper."""
    shades = (_mixed(colour, paper, percent) for percent in range(100, 0, -1))
    return next((shade for shade in shades if contrast(shade, paper) >= least), colour)


def _mixed(colour: str, other: str, percent: int) -> str:
    parts = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(255 * (one + (another - one) * percent / 100)):02x}" for one, another in parts)


def _channels(colour: str) -> Channels:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    """Return the relative luminance, from 0 for black to 1 for white."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in _channels(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
