"""Settings of Sphinx, which ``make docs`` runs."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import scorer
from docs import api, fusion, measures

project = "scorer"
version = release = scorer.__version__
extensions = ["myst_parser", "sphinxext.opengraph"]
exclude_patterns = ["_build"]
html_show_copyright = False
html_theme = "furo"
html_title = f"scorer {version}"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0a4c7a", "color-brand-content": "#0a4c7a"},
    "dark_css_variables": {"color-brand-primary": "#8fc1e6", "color-brand-content": "#8fc1e6"},
}
html_static_path = ["static"]
html_css_files = ["wide.css"]  # commands and tables are long
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3  # as the links to sections on GitHub
nitpicky = True
# What a link to a page shows elsewhere. Read the Docs gives the address.
html_baseurl = ogp_site_url = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
ogp_site_name = "scorer"
ogp_image = "board.png"
ogp_image_alt = "The board of the example challenge: tiers, ranks and their ranges, scores and their intervals"
ogp_social_cards = {"enable": False}


def setup(app: Any) -> None:
    """Generate the pages of the measures, of the fusion methods and of the library at each build."""
    for generator, folder in ((measures, "measures"), (fusion, "fusion"), (api, "api")):
        app.connect("builder-inited", partial(_write, generator, Path(__file__).parent / folder))


def _write(generator: Any, folder: Path, _app: Any) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in generator.pages().items():
        (folder / name).write_text(text, encoding="utf-8")
