"""Reads the pages of a site as trees of elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from scorer.board.board import Board
from scorer.board.site import pages as site_pages
from scorer.board.site.pages import SiteContent
from scorer.settings.tracks import Challenge


def said(template: str, macro: str, *values: object) -> Markup:
    """What a macro of the shipped templates says of some values, as HTML."""
    module = _environment().get_template(template).module
    return Markup(getattr(module, macro)(*values)).strip()


@lru_cache
def _environment() -> Environment:
    return site_pages.page_environment(None)


VOID = frozenset({"base", "meta", "link", "input", "br", "wbr", "img", "hr", "col"})

PLAIN_PATH = re.compile(
    r"\.lock|\.manifest\.json|([a-z0-9-]+/)?[a-z0-9-]+\.(html|css|js|csv|jsonl?|bib|cff|pem|png|toml|txt|zip)"
)
"""The path of a file of a site, with nothing in it that comes from a file of a team."""


@dataclass(slots=True)
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str = "") -> Iterator[Element]:
        """The element and its descendants, of one tag or of any."""
        if tag in ("", self.tag):
            yield self
        for child in self.children:
            yield from child.all(tag)

    def words(self) -> str:
        return " ".join(self.text.split())

    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def of_class(self, name: str) -> Element:
        """The first descendant with a class."""
        return next(each for each in self.all() if name in each.classes())


class Reader(HTMLParser):
    """Builds the tree of a page; an element that its own end tag does not close is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, f"never closed: {[each.tag for each in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def updatepos(self, start: int, end: int) -> int:  # noqa: ARG002
        """Nobody reads the numbers of lines, which take time to count."""
        return end


@lru_cache(40)
def read(text: str) -> Element:
    """A page as a tree, which nobody changes: several tests read the pages of one site."""
    return Reader(text).open[0]


def metas(page: str) -> dict[str, str]:
    """The values of the meta elements of a page."""
    return {
        each.attributes.get("property") or each.attributes.get("name") or "": each.attributes.get("content") or ""
        for each in read(page).all("meta")
    }


def pages(declared: Challenge, boards: Sequence[Board], **content: Any) -> dict[str, str]:
    """The pages of a site with these boards."""
    return site_pages.pages(SiteContent(declared, boards, **content))


def html_of(site: dict[str, str]) -> dict[str, str]:
    """The files that are pages."""
    return {path: text for path, text in site.items() if path.endswith(".html")}


def rows(page: str, table: str) -> list[list[str]]:
    """The text of each cell in the body of the first table with a class."""
    found = next(each for each in read(page).all("table") if table in each.classes())
    body = next(found.all("tbody"))
    return [[cell.words() for cell in row.children if cell.tag in ("td", "th")] for row in body.all("tr")]


def board_rows(page: str) -> list[dict[str, str]]:
    """The text of the cells of each row of the first board: by column, and by name for measures after the first."""
    board = next(each for each in read(page).all("table") if "board" in each.classes())
    return [
        {
            cell.attributes.get("data-column") or "" if "measure" in cell.classes() else cell.classes()[0]: cell.words()
            for cell in row.children
        }
        for row in next(board.all("tbody")).all("tr")
    ]


def board_row(page: str, name: str) -> dict[str, str]:
    """The row of a team on a board, as `board_rows` has it."""
    return next(row for row in board_rows(page) if name in row["team"])
