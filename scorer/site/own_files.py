"""What the organiser adds to the site: Markdown pages from ``pages``, and files from ``templates/static``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scorer.challenge.branding import PAGES, STATIC
from scorer.errors import ScorerError
from scorer.paths.writing import PART
from scorer.site import markdown

MOST_BYTES = 1_000_000
"""How large a page may be."""

TAKEN = frozenset({"404", "index", "measures", "timeline", "verification"})
"""Names of other pages."""

_NAME = re.compile(r"(?:(\d{1,9})[-_. ])?([a-z0-9][a-z0-9-]{0,59})\.md")

STATIC_FOLDER = "static"
"""The folder of the other files in the site."""

MOST_TOGETHER = 50_000_000
"""How large they may be together, so that a forgotten data set or film does not make every render slow."""


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
    """Read the pages in the folder of a challenge, in the order of the names of their files.

    The number at the beginning of a name decides, then the rest; files without a number come last. Hidden files and
    symbolic links are left out. Raises ScorerError if a file cannot be read, has no heading or has a link that pages
    cannot have, or if its name is not possible.
    """
    pages: dict[str, tuple[tuple[float, str], MarkdownPage, Path]] = {}
    for file in sorted((root / PAGES).glob("*.md")):
        if file.name.startswith(".") or file.is_symlink():
            continue
        order, page = _page(file)
        if page.name in pages:
            raise ScorerError(f"{file}: has the name of {pages[page.name][2].name} without the number; rename one")
        pages[page.name] = order, page, file
    return tuple(page for _, page, _ in sorted(pages.values(), key=lambda item: item[0]))


def _page(file: Path) -> tuple[tuple[float, str], MarkdownPage]:
    """The page of a file, and where it comes among the others."""
    parts = _NAME.fullmatch(file.name)
    if parts is None or parts[2] in TAKEN:
        reason = "is the name of another page" if parts else "cannot be the name of a page"
        raise ScorerError(
            f"{file}: {reason}; expected a-z, 0-9 and -, with a number before them for the order, as in 10-rules.md"
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


# Other files


def static_files(root: Path) -> dict[str, bytes]:
    """Read the files below ``templates/static`` of a challenge: the content of each by its path in the site.

    Hidden files and symbolic links are left out, with what is below them. Raises ScorerError if a file cannot be read
    or has the name of a file that is being written, or if the files are too large.
    """
    folder = root / STATIC
    contents: dict[str, bytes] = {}
    size = 0
    for file in _files(folder):
        path = file.relative_to(folder).as_posix()
        if path.endswith(PART):
            raise ScorerError(f"{file}: files that end with {PART} are files of the site in progress; rename it")
        try:
            size += file.stat().st_size
            if size > MOST_TOGETHER:
                raise ScorerError(
                    f"{folder}: has more than {MOST_TOGETHER:,} bytes; every render copies these files, so put large "
                    "files elsewhere and link to them"
                )
            contents[f"{STATIC_FOLDER}/{path}"] = file.read_bytes()
        except OSError as error:
            raise ScorerError(f"{file}: cannot be read ({error.strerror or error})") from error
    return contents


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder that are not hidden, in a fixed order; none if the folder is a link."""
    if folder.is_symlink():
        return
    for name, folders, files in os.walk(folder, onerror=_refuse):
        parent = Path(name)
        folders[:] = sorted(child for child in folders if not child.startswith("."))  # os.walk does not follow links
        for child in sorted(files):
            file = parent / child
            if not child.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _refuse(error: OSError) -> None:
    """Raise ScorerError for a folder that cannot be read, unless there is no such folder."""
    if not isinstance(error, FileNotFoundError):
        raise ScorerError(f"{error.filename}: cannot be read ({error.strerror or error})") from error
