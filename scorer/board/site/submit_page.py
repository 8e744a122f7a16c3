"""The page for handing in, which the service renders for a team in the design of the site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from scorer.board.site.templates import Navigation, Page, environment_of, markdown_pages, render_page, source
from scorer.errors import Findings
from scorer.settings.tracks import Challenge

SUBMIT_ASSETS: Mapping[str, str] = {"submit.css": "text/css", "submit.js": "text/javascript"}
"""The files of the page, and their types."""


@dataclass(frozen=True)
class Held:
    """A file that was checked, and that the team may hand in."""

    id: str
    """In the address of its page."""
    token: str
    """The SHA-256 of the token of the session."""
    track: str
    name: str
    """As the team calls it."""
    path: Path
    digest: str
    size: int
    at: datetime
    is_valid: bool
    findings: Findings
    summary: str
    """How much the file has, or how many errors."""
    metadata: dict[str, str] = field(default_factory=dict)
    """What the team states about it, by the names of fields, as it was written last."""


def service_page(challenge: Challenge, template: str, **values: object) -> str:
    """Render a page of the service: the form to sign in, or the page for handing in.

    `values` are the names that only this template uses. Raises ScorerError if a template has an error.
    """
    site = challenge.site_path
    navigation = Navigation(
        challenge=challenge,
        tracks=challenge.tracks,
        style_sheets=[name for name in ("accent.css", "extra.css") if (site / name).is_file()],
        site_pages=markdown_pages(challenge.root),
        has_timeline=(site / "timeline.html").is_file(),
        has_log=(site / "verification.html").is_file(),
    )
    page = Page("submit", template, f"Hand in a file for {challenge.name}.", values)
    return render_page(environment_of(challenge.root / "templates"), navigation, page)


def asset(challenge: Challenge, name: str) -> str:
    """A style sheet or script of the page; the organiser's own comes first."""
    return source(environment_of(challenge.root / "templates"), name)
