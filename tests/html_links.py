"""The links inside a folder of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

OUTSIDE = re.compile(r"[a-z]+:|//")


@dataclass
class Links(HTMLParser):
    """The ids of a page, and the addresses that it links or loads."""

    ids: set[str] = field(default_factory=set)
    addresses: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes of an element."""
        values = dict(attrs)
        self.ids |= {value for value in [values.get("id")] if value}
        self.addresses += [value for name in ("href", "src") if (value := values.get(name))]


def broken_links(folder: Path) -> Iterator[str]:
    """A line for each link that leads to no file of the folder, or to no element of the page."""
    pages = {}
    for file in folder.rglob("*.html"):
        pages[file.resolve()] = links = Links()
        links.feed(file.read_text(encoding="utf-8"))
    for file, links in pages.items():
        for address in links.addresses:
            if OUTSIDE.match(address):
                continue
            path, _, place = address.partition("#")
            target = (file.parent / unquote(path.partition("?")[0])).resolve() if path else file
            missing_place = place and target in pages and unquote(place) not in pages[target].ids
            if not target.exists() or missing_place:
                yield f"{file.relative_to(folder.resolve())}: {address}"
