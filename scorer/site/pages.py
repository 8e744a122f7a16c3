"""The pages of a site, rendered from boards."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import ChoiceLoader

from scorer.board.board import Board
from scorer.challenge.settings import Challenge
from scorer.reports.boards import to_csv, to_json
from scorer.site.templates import TemplateFolder, environment_of, render_template, shipped_templates
from scorer.site.views import board_view, kinds_of, legend_of, teams_of

ASSETS = ("style.css", "board.js")
"""Copied as they are."""


def pages(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """The whole site: the text of each file under its path, which is relative and has forward slashes.

    Raises
    ------
    ScorerError
        A template of the organiser's is broken.
    """
    loader = ChoiceLoader([TemplateFolder(challenge.root / "templates"), TemplateFolder(shipped_templates())])
    environment = environment_of(loader)
    legend = legend_of(boards)
    views = [board_view(board, legend) for board in boards]
    site = {asset: loader.get_source(environment, asset)[0] for asset in ASSETS}

    def add(path: str, template: str, **seen: object) -> None:
        root = "../" * path.count("/")
        known = {"challenge": challenge, "boards": views, "here": path, "root": root}
        site[path] = render_template(environment, template, known | seen)

    add("index.html", "index.html")
    add("measures.html", "measures.html", kinds=kinds_of(legend))
    for view in views:
        folder = view.track.name
        add(f"{folder}/index.html", "board.html", board=view)
        site[f"{folder}/leaderboard.csv"] = to_csv(view.board)
        site[f"{folder}/leaderboard.json"] = to_json(view.board)
    for team, places in teams_of(views):
        add(f"teams/{team.slug}.html", "team.html", team=team, places=places)
    return site
