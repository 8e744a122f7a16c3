"""The organiser's own pages: the Markdown files in the folder ``pages`` next to challenge.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from scorer.errors import ScorerError
from scorer.site import markdown

FOLDER = "pages"

MOST_BYTES = 1_000_000
"""How large a file may be."""

TAKEN = frozenset({"404", "index", "measures", "timeline", "verification"})
"""Names of other pages."""

_NAME = re.compile(r"(?:(\d{1,9})[-_. ])?([a-z0-9][a-z0-9-]{0,59})\.md")


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A page that the organiser wrote."""

    name: str
    """Of the file, without the number at its beginning and without ``.md``."""
    title: str
    """The first heading."""
    text: str
    """What follows the heading, in Markdown."""

    @property
    def path(self) -> str:
        """Of the page in the site."""
        return f"{self.name}.html"


def markdown_pages(root: Path) -> tuple[MarkdownPage, ...]:
    """Read the pages of a challenge.

    Parameters
    ----------
    root
        The folder of the challenge.

    Returns
    -------
    tuple of MarkdownPage
        In the order of the names of the files: by the number at the beginning, then by the rest. Files without a number
        come last. Hidden files and symbolic links are left out.

    Raises
    ------
    ScorerError
        A file cannot be read, has no heading or has a link that pages cannot have; the message gives file and line. Or
        the name of a file is not possible.
    """
    found: dict[str, tuple[tuple[float, str], MarkdownPage, Path]] = {}
    for file in sorted((root / FOLDER).glob("*.md")):
        if file.name.startswith(".") or file.is_symlink():
            continue
        order, page = _page(file)
        if page.name in found:
            raise ScorerError(f"{file}: has the name of {found[page.name][2].name} without the number; rename one")
        found[page.name] = order, page, file
    return tuple(page for _, page, _ in sorted(found.values(), key=lambda each: each[0]))


def _page(file: Path) -> tuple[tuple[float, str], MarkdownPage]:
    """The page of a file, and where it comes among the others."""
    parts = _NAME.fullmatch(file.name)
    if parts is None or parts[2] in TAKEN:
        found = "is the name of another page" if parts else "cannot be the name of a page"
        raise ScorerError(
            f"{file}: {found}; expected a-z, 0-9 and -, with a number before them for the order, as in 10-rules.md"
        )
    text = _text(file)
    split = markdown.split_title(text)
    if split is None:
        raise ScorerError(f"{file}:1: found no heading; expected a page that begins with one, as in # Rules")
    title, rest, lines = split
    markdown.check(rest, str(file), lines + 1)
    number = float(parts[1]) if parts[1] else float("inf")
    return (number, parts[2]), MarkdownPage(parts[2], title, rest)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScorerError(f"{file}: cannot be read ({error.strerror or error})") from error
    if len(content) > MOST_BYTES:
        raise ScorerError(f"{file}: has more than {MOST_BYTES:,} bytes, which no page may have")
    try:
        # Some editors write a byte order mark. Markdown knows no other line ends than these.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ScorerError(f"{file}:{line}: found a byte that is not UTF-8; save the file as UTF-8") from error
