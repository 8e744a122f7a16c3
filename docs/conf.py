"""Settings of Sphinx, which ``make docs`` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.measures import write_pages

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
    """Generate the pages of the measures from the registry at each build."""
    app.connect("builder-inited", lambda _app: write_pages(Path(__file__).parent / "measures"))
