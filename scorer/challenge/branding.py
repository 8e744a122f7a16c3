"""Branding: the settings in the table [site], which say where the pages are written and how they look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import ClassVar
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, ValidationInfo, field_validator

from scorer.challenge.tables import MARKDOWN, TEXT, PathText, SettingsTable, Stated

PAGES = "pages"
"""The folder of the organiser's pages, next to challenge.toml."""

STATIC = "templates/static"
"""The folder whose files are copied into the site."""

IMAGES = (".avif", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp")
"""The ends of the names of files that a logo can be."""

SCHEMES = frozenset({"http", "https", "mailto"})
"""Where a link may lead."""

LEAST_CONTRAST = 4.5
"""Of text with its background, as WCAG 2.2 requires (success criterion 1.4.3)."""

LIGHT = ("#fdfcf8", "#f4f1e8", "#e8eff6")
DARK = ("#171613", "#22201c", "#1d2930")
"""The backgrounds of text in the shipped style sheet, in both colour schemes: the paper, raised parts, marked rows."""

Channels = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""

DARK_CONTRAST = 7.0
"""Of an accent that is made lighter for dark pages."""

COLOUR = f"a colour as in #0a4c7a, with a contrast of at least {LEAST_CONTRAST:g}:1 with"


def split_url(url: str) -> SplitResult | None:
    """The parts of a URL; None if it has characters that programs read differently: spaces, controls, backslashes."""
    if "\\" in url or not url.isprintable() or any(char.isspace() for char in url):
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


class Link(SettingsTable):
    """A link in the footer."""

    not_keys: ClassVar[frozenset[str]] = frozenset()

    title: Stated = Field(description=TEXT)
    url: str = Field(description="a URL that begins with http://, https:// or mailto:")

    @field_validator("url")
    @classmethod
    def _safe(cls, url: str) -> str:
        parts = split_url(url)
        if parts is None or parts.scheme not in SCHEMES or not (parts.netloc or parts.scheme == "mailto"):
            raise ValueError("is not a URL of this kind")
        return url


class Branding(SettingsTable):
    """The table [site]: the folder of the pages, and what the organiser adds to them."""

    not_keys: ClassVar[frozenset[str]] = frozenset()

    folder: PathText = Field("site", description="the path of a folder for the site only")
    url: str = Field("", description="the address of the published site, as in https://example.org/challenge/")
    service: str = Field("", description="the address of the service for files, as in https://example.org/challenge/")
    accent: str = Field("", description=f"{COLOUR} the backgrounds of light pages: {', '.join(LIGHT)}")
    accent_dark: str = Field("", description=f"{COLOUR} the backgrounds of dark pages: {', '.join(DARK)}")
    logo: str = Field("", description=f"the path of an image in {STATIC}/ ({', '.join(IMAGES)})")
    footer: str = Field("", description=MARKDOWN)
    links: tuple[Link, ...] = Field(
        (),
        strict=False,
        description='links to http://, https:// or mailto:, as in [{ title = "Us", url = "mailto:us@example.org" }]',
    )

    @field_validator("url", "service")
    @classmethod
    def _address(cls, url: str) -> str:
        parts = split_url(url)
        if not url:
            return url
        if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
            raise ValueError("is not the address of a folder")
        return url if url.endswith("/") else f"{url}/"

    @field_validator("accent")
    @classmethod
    def _readable(cls, colour: str) -> str:
        return _contrasting(colour, LIGHT)

    @field_validator("accent_dark")
    @classmethod
    def _readable_on_dark_pages(cls, colour: str, validated: ValidationInfo) -> str:
        if colour and validated.data.get("accent") == "":
            raise ValueError("needs accent, the colour of light pages")
        return _contrasting(colour, DARK)

    @field_validator("logo")
    @classmethod
    def _image(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if path and (path.startswith("/") or any(part.startswith(".") for part in parts) or "\\" in path):
            raise ValueError(f"is not the path of a file in {STATIC}/")
        if path and not path.lower().endswith(IMAGES):
            raise ValueError("is not the name of an image")
        return path

    @property
    def accents(self) -> tuple[str, str] | None:
        """The accents of light and of dark pages, lighter unless it is set; None for those of the style sheet."""
        if not self.accent:
            return None
        return self.accent, self.accent_dark or lightened(self.accent, DARK, DARK_CONTRAST)


NO_BRANDING = Branding.model_validate({})
"""The pages without a table [site]."""


def _contrasting(colour: str, backgrounds: Sequence[str]) -> str:
    if not colour:
        return colour
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        raise ValueError("is not a colour")
    found, background = least_contrast(colour, backgrounds)
    if found < LEAST_CONTRAST:
        # Rounded down, so that 4.49 is not reported as 4.5.
        raise ValueError(f"has a contrast of only {int(found * 10) / 10:.1f}:1 with {background}")
    return colour


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def least_contrast(colour: str, backgrounds: Iterable[str]) -> tuple[float, str]:
    """The lowest contrast of a colour with one of the backgrounds, and that background."""
    return min((contrast(colour, background), background) for background in backgrounds)


def lightened(colour: str, backgrounds: Sequence[str], least: float) -> str:
    """The colour mixed with as little white as gives it at least this contrast with each dark background."""
    shades = (_mixed(colour, "#ffffff", percent) for percent in range(101))
    return next(shade for shade in shades if least_contrast(shade, backgrounds)[0] >= least)


def softened(colour: str, paper: str, least: float) -> str:
    """The colour mixed with as much of the paper as leaves it at least this contrast with the paper."""
    shades = (_mixed(colour, paper, percent) for percent in range(100, 0, -1))
    return next((shade for shade in shades if contrast(shade, paper) >= least), colour)


def _mixed(colour: str, other: str, percent: int) -> str:
    parts = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(255 * (one + (another - one) * percent / 100)):02x}" for one, another in parts)


def _channels(colour: str) -> Channels:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    """The relative luminance, from 0 for black to 1 for white."""
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in _channels(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
