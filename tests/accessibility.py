"""Rules of accessibility, checked by axe-core in a page of the browser."""

from __future__ import annotations

import json
import time
from functools import cache
from importlib import resources
from importlib.util import find_spec

from tests.browser import Page

TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""The groups of rules: WCAG 2.2 at level AA, and what axe-core recommends beyond it."""

SECONDS = 60.0
"""How long axe-core may take for a page."""


def has_axe() -> bool:
    """Whether axe-core is installed, as a file of ``axe_playwright_python``."""
    return find_spec("axe_playwright_python") is not None


@cache
def _axe() -> str:
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """The rules of accessibility that an open page breaks.

    Scripts from outside the site are not allowed by the content policy of the pages, so the text of axe-core is
    evaluated. The page must be open with scripts.

    Returns
    -------
    list of str
        The rule, what it requires, and the first elements that break it; empty if all rules hold.
    """
    page.ask(f"{_axe()}; 0")
    options = json.dumps({"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]})
    page.ask(f"axe.run(document, {options}).then(found => {{ window.found = found.violations; }}); 0")
    end = time.monotonic() + SECONDS
    while page.ask("window.found === undefined"):
        assert time.monotonic() < end, "axe-core did not finish"
        time.sleep(0.05)
    found: list[str] = page.ask(
        "window.found.map(each => each.id + ': ' + each.help + ': ' +"
        " each.nodes.slice(0, 4).map(node => node.html.slice(0, 200) + ' [' + node.any.concat(node.all)"
        ".map(check => check.message).join('; ') + ']').join(' | '))"
    )
    return found


def check_page(tab: Page, address: str, width: int = 1440, *, dark: bool = False) -> None:
    """Check a page from disk: no error, files of the site only, no wider than the window, and no broken rule."""
    tab.open(address, width=width, dark=dark)
    assert tab.errors == []
    assert all(request.startswith(("file:", "data:")) for request in tab.requests)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    if has_axe():
        assert violations(tab) == []
