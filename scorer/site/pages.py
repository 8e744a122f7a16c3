"""The files of a site: the pages, rendered from boards, and the files that they need."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress

from jinja2 import BaseLoader, ChoiceLoader, Environment, PrefixLoader, TemplateNotFound
from markupsafe import Markup

from scorer.board.board import Board
from scorer.challenge.branding import STATIC
from scorer.challenge.colours import DARK, LIGHT, softened
from scorer.challenge.settings import FILE, Challenge
from scorer.charts.svg import Cache
from scorer.errors import ScorerError
from scorer.reports.boards import to_csv
from scorer.reports.citation import to_bibtex, to_cff
from scorer.reports.leaderboard import schema, to_json
from scorer.site import markdown
from scorer.site.context import (
    AnalysisPage,
    BoardPage,
    Brand,
    EveryPage,
    FrontPage,
    MeasurePage,
    MissingPage,
    OwnPage,
    PageContext,
    TeamPages,
)
from scorer.site.figures import analysis_figures, board_figures
from scorer.site.latest import latest_entries
from scorer.site.markdown_pages import markdown_pages
from scorer.site.measure_page import definitions, kind_sections
from scorer.site.static_files import FOLDER, static_files
from scorer.site.task_view import TaskView
from scorer.site.team_pages import team_pages
from scorer.site.templates import TemplateFolder, environment_with, render_template, shipped_templates
from scorer.site.views import board_view, measure_columns
from scorer.site.worked_example import worked_example

ASSETS = ("style.css", "board.js", "team.css", "measures.css", "report.css")
"""Copied without rendering."""

MEASURES = "How the scores on the boards are computed: symbols, formulas, edge cases and a worked example."

ANALYSIS = "How certain the ranking is: intervals, tests of all pairs, stability, and other ranking rules."

SHIPPED = "shipped"
"""The folder that a template names to extend a shipped template which it replaces."""

EXTRA = "extra.css"
"""The organiser's style sheet, which comes after the shipped ones."""

ACCENT = "accent.css"
"""The style sheet that sets the organiser's accent. The content policy allows no inline style."""

BAR_CONTRAST = 4.0
"""Of bars with the paper. WCAG 2.2 requires 3 of graphics (success criterion 1.4.11)."""


Analyses = Mapping[str, TaskView | None]
"""By the names of the tracks; None: the track has no page with an analysis."""


def site_files(
    challenge: Challenge, boards: Sequence[Board], analyses: Analyses | None = None, cache: Cache | None = None
) -> dict[str, str | bytes]:
    """Return every file of the site by its relative path: the pages, and the organiser's files.

    Parameters
    ----------
    challenge, boards, figures
        As for `pages`.

    Raises
    ------
    ScorerError
        As for `pages`. Or a file of the organiser cannot be copied, or there is no such logo.
    """
    copied = static_files(challenge.root)
    logo = challenge.branding.logo
    if logo and f"{FOLDER}/{logo}" not in copied:
        raise ScorerError(
            f"{challenge.root / FILE}: site.logo: names {challenge.root / STATIC / logo}, but there is no such file; "
            "create it or correct the path (hidden files and symbolic links are not copied)"
        )
    return {**pages(challenge, boards, analyses, cache), **copied}


def pages(
    challenge: Challenge, boards: Sequence[Board], analyses: Analyses | None = None, cache: Cache | None = None
) -> dict[str, str]:
    """Render the pages of a site, with their style sheets, scripts and data files.

    Parameters
    ----------
    challenge : Challenge
        Its folder ``templates``, if there is one, takes precedence over the shipped templates. Its folder ``pages`` has
        further pages.
    boards : sequence of Board
        One for each track, in the order of the navigation.

    Returns
    -------
    dict of str to str
        The text of each file by its relative path, with forward slashes. The same boards give the same text.

    Raises
    ------
    ScorerError
        A template cannot be read or rendered, or a text in Markdown has a link that pages cannot have.
    """
    shipped = TemplateFolder(shipped_templates())
    loader = ChoiceLoader([PrefixLoader({SHIPPED: shipped}), TemplateFolder(challenge.root / "templates"), shipped])
    environment = environment_with(loader)
    _check_markdown(challenge)
    columns = measure_columns(boards)
    views = tuple(
        board_view(board, columns, board_figures(board, cache), (analyses or {}).get(board.track.name))
        for board in boards
    )
    own = markdown_pages(challenge.root)
    sheets = _style_sheets(challenge, loader)
    brand = _brand(challenge, tuple(sheets))
    site = {asset: _source(loader, asset) for asset in ASSETS} | sheets

    def add(path: str, about: str, page: PageContext) -> None:
        every = EveryPage(challenge, brand, views, own, path, "../" * path.count("/"), about)
        site[path] = render_template(environment, page.template, every.names() | page.names())

    about = markdown.to_text(challenge.description)
    add("index.html", about, FrontPage(latest_entries(views)))
    kinds = kind_sections(columns)
    examples = tuple(worked_example(track) for track in challenge.tracks)
    symbols = definitions(section.kind for section in kinds)
    add("measures.html", MEASURES, MeasurePage(kinds, symbols, examples))
    for view in views:
        folder = view.track.name
        add(f"{folder}/index.html", markdown.to_text(view.track.description), BoardPage(view))
        if view.analysis is not None:
            figures = analysis_figures(view.board, cache)
            add(f"{folder}/analysis.html", ANALYSIS, AnalysisPage(view, view.analysis, figures))
        site[f"{folder}/leaderboard.csv"] = to_csv(view.board)
        site[f"{folder}/leaderboard.json"] = to_json(view.board)
        site[f"{folder}/citation.bib"] = to_bibtex(challenge, view.board)
        site[f"{folder}/citation.cff"] = to_cff(challenge, view.board)
    site["leaderboard-schema.json"] = schema()
    for page in team_pages(views):
        add(page.path, page.about, TeamPages(page.team, page, page.sections))
    for each in own:
        add(each.path, markdown.to_text(each.text), OwnPage(each))
    style = sheets.get(ACCENT, "") + _source(loader, "404.css")
    add("404.html", about, MissingPage(Markup(style), _digest(style)))  # noqa: S704  a file of the organiser or ours
    return site


def _check_markdown(challenge: Challenge) -> None:
    """Check the links in the texts of challenge.toml. Raises ScorerError with the key."""
    texts = {"description": challenge.description, "site.footer": challenge.branding.footer}
    texts |= {f"tracks.{track.name}.description": track.description for track in challenge.tracks}
    for key, text in texts.items():
        markdown.check(text, f"{challenge.root / FILE}: {key}")


def _source(loader: BaseLoader, name: str) -> str:
    """The text of a file of the templates, which is not rendered."""
    return loader.get_source(Environment(autoescape=True), name)[0]


def _style_sheets(challenge: Challenge, loader: BaseLoader) -> dict[str, str]:
    """The style sheets that the organiser adds, in their order on the pages."""
    sheets = {}
    if challenge.branding.accents:
        sheets[ACCENT] = _accent_sheet(*challenge.branding.accents)
    with suppress(TemplateNotFound):  # none is shipped
        sheets[EXTRA] = _source(loader, EXTRA)
    return sheets


def _accent_sheet(light: str, dark: str) -> str:
    """The style sheet that sets the accent and the colour of bars, which is a softer tone of it."""
    rules = (
        f":root {{ --accent: {accent}; --bar: {softened(accent, paper, BAR_CONTRAST)}; }}"
        for accent, paper in ((light, LIGHT[0]), (dark, DARK[0]))
    )
    return "@media screen {{ {} }}\n@media screen and (prefers-color-scheme: dark) {{ {} }}\n".format(*rules)


def _brand(challenge: Challenge, style_sheets: tuple[str, ...]) -> Brand:
    branding = challenge.branding
    return Brand(
        url=branding.url,
        logo=f"{FOLDER}/{branding.logo}" if branding.logo else "",
        footer=branding.footer,
        links=branding.links,
        style_sheets=style_sheets,
    )


def _digest(style: str) -> str:
    """The SHA-256 of a style sheet in Base64."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
