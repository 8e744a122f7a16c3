"""A page: its template and context, and what the organiser adds to every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scorer.challenge.branding import Link
from scorer.challenge.settings import Challenge
from scorer.site.own_files import STATIC_FOLDER


class PageContext:
    """What one page has, in addition to `EveryPage`. Each subclass is a dataclass, and names its template."""

    template: ClassVar[str]
    """Its name."""

    def __init_subclass__(cls, template: str) -> None:
        cls.template = template


@dataclass(frozen=True, slots=True)
class Brand:
    """What the organiser adds to every page."""

    url: str
    """The address of the published site, which ends with a slash; empty if it is not set."""
    service: str
    """The address of the service to which teams hand in files, which ends with a slash; empty if it is not set."""
    logo: str
    """The path of the logo in the site; empty without one."""
    footer: str
    """Markdown; the filter `markdown` makes HTML of it."""
    links: tuple[Link, ...]
    """The links of the footer, each with `title` and `url`."""
    style_sheets: tuple[str, ...]
    """The paths of further style sheets, which come after those of the page."""


def brand_of(challenge: Challenge, style_sheets: Sequence[str]) -> Brand:
    """What the organiser adds to the pages of a challenge."""
    branding = challenge.branding
    return Brand(
        url=branding.url,
        service=branding.service,
        logo=f"{STATIC_FOLDER}/{branding.logo}" if branding.logo else "",
        footer=branding.footer,
        links=branding.links,
        style_sheets=tuple(style_sheets),
    )
