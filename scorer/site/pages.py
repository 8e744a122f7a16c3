"""The pages of a site, rendered from boards."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import ChoiceLoader

from scorer.board.board import Board
from scorer.challenge.settings import Challenge
from scorer.reports.boards import to_csv, to_json
from scorer.site.team_pages import team_pages
from scorer.site.templates import TemplateFolder, environment_with, render_template, shipped_templates
from scorer.site.views import board_view, by_kind, measure_columns

ASSETS = ("style.css", "board.js")
"""Copied without rendering."""


def pages(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """Render the whole site.

    Parameters
    ----------
    challenge : Challenge
        Its folder ``templates``, if there is one, takes precedence over the shipped templates.
    boards : sequence of Board
        One for each track, in the order of the navigation.

    Returns
    -------
    dict of str to str
        The text of each file by its relative path, with forward slashes. The same boards give the same text.

    Raises
    ------
    ScorerError
        A template cannot be read or rendered.
    """
    loader = ChoiceLoader([TemplateFolder(challenge.root / "templates"), TemplateFolder(shipped_templates())])
    environment = environment_with(loader)
    columns = measure_columns(boards)
    views = [board_view(board, columns) for board in boards]
    site = {asset: loader.get_source(environment, asset)[0] for asset in ASSETS}

    def add(path: str, template: str, **context: object) -> None:
        root = "../" * path.count("/")
        common = {"challenge": challenge, "boards": views, "here": path, "root": root}
        site[path] = render_template(environment, template, common | context)

    add("index.html", "index.html")
    add("measures.html", "measures.html", kinds=by_kind(columns))
    for view in views:
        folder = view.track.name
        add(f"{folder}/index.html", "board.html", board=view)
        site[f"{folder}/leaderboard.csv"] = to_csv(view.board)
        site[f"{folder}/leaderboard.json"] = to_json(view.board)
    for page in team_pages(views):
        add(page.path, "team.html", team=page.team, sections=page.sections, page=page)
    return site
