"""Settings of Sphinx, which ``make docs`` runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from docs import api, fusion, measures

project = "scorer"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_show_copyright = False
html_theme = "alabaster"
html_theme_options = {
    "description": "Scores ranked lists, stores the results, renders the leaderboard.",
    "page_width": "68rem",  # commands are long
    "body_max_width": "none",
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
myst_enable_extensions = ["colon_fence"]
nitpicky = True


def setup(app: Any) -> None:
    """Generate the pages of the measures, of the fusion methods and of the library at each build."""
    for generator, folder in ((measures, "measures"), (fusion, "fusion"), (api, "api")):
        app.connect("builder-inited", partial(_write, generator, Path(__file__).parent / folder))


def _write(generator: Any, folder: Path, _app: Any) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in generator.pages().items():
        (folder / name).write_text(text, encoding="utf-8")
