"""The page for handing in, which the service renders for a team in the design of the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment

from scorer.board.site.templates import (
    Brand,
    PageContext,
    TemplateFolder,
    brand_of,
    environment_with,
    has_templates,
    markdown_pages,
    render_template,
)
from scorer.files import shipped_templates
from scorer.live.rules import TrackInForce
from scorer.settings.tracks import Challenge, Track

ASSETS: Mapping[str, str] = {"submit.css": "text/css", "submit.js": "text/javascript"}
"""The files of the page, and their types."""

Document = Mapping[str, Any]
"""What the interface of the service answers."""


@dataclass(frozen=True)
class Held:
    """A file that was checked, and that the team may hand in."""

    id: str
    """What the form names it by."""
    track: str
    name: str
    """As the team calls it."""
    path: Path
    digest: str
    size: int
    at: datetime
    is_valid: bool
    findings: Sequence[tuple[str, str]]
    """The line, or empty, and what was found there."""
    summary: str
    """How much the file has, or how many errors."""


@dataclass(frozen=True)
class SignInPage(PageContext, template="sign-in.html"):
    """The page of the service on which a team signs in, ``submit`` and ``invite``."""

    problem: str
    """Why the team could not sign in; empty at first."""
    token: str
    """The new token of a team that had an invitation; empty without one."""
    team: str
    """The name of that team."""


@dataclass(frozen=True)
class SubmitPage(PageContext, template="submit.html"):
    """The page of the service on which a team hands in files and follows its entries, ``submit``."""

    team: str
    """The name of the team."""
    token_label: str
    """What the token of the session is for; empty if the organisers did not say it."""
    track: TrackInForce
    """The chosen track, by the rules in force."""
    where: Document
    """The phases of the track, and where it is in them."""
    until: datetime | None
    """When the present phase ends; None if no phase is open."""
    quota: Document
    entries: Sequence[Document]
    """Of the team in the track, the latest first."""
    counts: Mapping[str, int]
    """How many entries the team has in each track, by its name."""
    held: Held | None
    problem: str
    """Why the last request was refused; empty if it was not."""
    best: float | None
    """The best score on the board; None if it shows none."""


@dataclass(frozen=True)
class _Navigation:
    """What the layout of every page needs: which pages there are."""

    challenge: Challenge
    brand: Brand
    boards: Sequence[_InNavigation]
    site_pages: Sequence[Any]
    here: str
    root: str
    about: str
    timeline: _Linked
    log: _Linked


@dataclass(frozen=True)
class _InNavigation:
    track: Track


@dataclass(frozen=True)
class _Linked:
    happenings: bool
    lines: bool


def service_page(challenge: Challenge, page: PageContext) -> str:
    """Render a page of the service. Raises ScorerError if a template has an error."""
    folder = challenge.root / "templates"
    site = challenge.site_path
    linked = _Linked((site / "timeline.html").is_file(), (site / "verification.html").is_file())
    navigation = _Navigation(
        challenge=challenge,
        brand=brand_of(challenge, [name for name in ("accent.css", "extra.css") if (site / name).is_file()]),
        boards=[_InNavigation(track) for track in challenge.tracks],
        site_pages=markdown_pages(challenge.root),
        here="submit",
        root="",
        about=f"Hand in a file for {challenge.name}.",
        timeline=linked,
        log=linked,
    )
    environment = _environment(folder, own=has_templates(folder))
    return render_template(environment, page.template, vars(navigation) | vars(page))


def asset(challenge: Challenge, name: str) -> str:
    """A style sheet or script of the page; the organiser's own comes first."""
    return _loader(challenge.root / "templates").get_source(Environment(autoescape=True), name)[0]


def _loader(folder: Path) -> ChoiceLoader:
    shipped = TemplateFolder(shipped_templates())
    return ChoiceLoader([TemplateFolder(folder), shipped])


@lru_cache(maxsize=2)
def _environment(folder: Path, *, own: bool) -> Environment:
    """One environment for all requests, because a new one compiles the templates again."""
    return environment_with(_loader(folder), own=own)
