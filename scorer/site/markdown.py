"""Markdown of the organiser as HTML: CommonMark with tables, without raw HTML, and with links to a few places only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from posixpath import normpath
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from scorer.challenge.branding import SCHEMES, split_url
from scorer.errors import ScorerError
from scorer.wording import quoted, shortened

DEEPEST = 6
"""The lowest level of a heading in HTML."""

SUMMARY = 200
"""How many characters of a text describe a page elsewhere."""


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.validateLink = _is_parsed  # type: ignore[method-assign]
    return parser


def _is_parsed(url: str) -> bool:  # noqa: ARG001  the parser passes it
    """True: by default the parser leaves links that it refuses as text, but here `check` reports them."""
    return True


def check(text: str, where: str, first_line: int = 0) -> None:
    """Check the links and the images of a text, which comes from the file or the key `where`.

    Raises ScorerError if one leads elsewhere than `SCHEMES` or a relative path in the site. The message has the line if
    `first_line`, that of the text in its file, is not 0.
    """
    for token, line in _all_tokens(_parser().parse(text)):
        name = {"link_open": "href", "image": "src"}.get(token.type)
        address = str(token.attrs.get(name, "")) if name else ""
        if not name or _is_relative(address) or (name == "href" and _is_safe(address)):
            continue
        place = f"{where}:{first_line + line}" if first_line else where
        what, allowed = (
            ("a link to", "http, https, mailto and relative links that stay in the site")
            if name == "href"
            else ("an image from", "relative paths in the site, such as static/picture.png")
        )
        raise ScorerError(f"{place}: found {what} {quoted(address)}; allowed: {allowed}")


def to_html(text: str, root: str = "", top: int = 2) -> Markup:
    """Return a text as HTML. HTML in it is shown as text.

    `check` accepts the text. Relative links start at `root`, the relative path from the page to the folder of the site:
    "" or "../". The highest heading of the text gets the level `top`, from 1 to 6.
    """
    return _rendered(_parser().parse(text), root, top)


def first_paragraph(text: str, root: str = "") -> Markup:
    """Return the paragraph that a text begins with, as HTML; empty if it begins otherwise."""
    tokens = _parser().parse(text)
    return _rendered(tokens[: _first_length(tokens)], root, top=2)


def further_paragraphs(text: str, root: str = "", top: int = 2) -> Markup:
    """Return what follows the first paragraph, as HTML; the whole text if it begins otherwise."""
    tokens = _parser().parse(text)
    return _rendered(tokens[_first_length(tokens) :], root, top)


def _first_length(tokens: Sequence[Token]) -> int:
    """How many tokens make the paragraph at the beginning: its start, its content and its end."""
    return 3 if tokens and tokens[0].type == "paragraph_open" else 0


def to_text(text: str) -> str:
    """Return the first paragraph of a text without its markup, on one line, shortened to `SUMMARY` characters."""
    tokens = _parser().parse(text)
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open" and (plain := _plain(token)):
            return shortened(plain, SUMMARY)
    return ""


def split_title(text: str) -> tuple[str, str, int] | None:
    """Split off the heading of level 1 that a text begins with; None if the text begins otherwise.

    Return the heading without its markup, the text after it, and the number of lines before that text.
    """
    tokens = _parser().parse(text)
    if len(tokens) < 2 or tokens[0].tag != "h1" or tokens[0].map is None or not (title := _plain(tokens[1])):
        return None
    end = tokens[0].map[1]
    return title, "\n".join(text.split("\n")[end:]), end


def _rendered(tokens: Sequence[Token], root: str, top: int) -> Markup:
    """Return tokens of the parser as HTML."""
    levels = [int(token.tag[1:]) for token in tokens if token.type == "heading_open"]
    shift = top - min(levels, default=top)
    for token, _ in _all_tokens(tokens):
        _adapt(token, root, shift)
    parser = _parser()
    # The renderer escapes text and attributes, and the parser passes on no HTML.
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704


def _all_tokens(tokens: Sequence[Token], line: int = 0) -> Iterator[tuple[Token, int]]:
    """Each token and those in it, with the line that its block begins in, from 0."""
    for token in tokens:
        start = token.map[0] if token.map else line
        yield token, start
        yield from _all_tokens(token.children or (), start)


def _adapt(token: Token, root: str, shift: int) -> None:
    """Adapt a token to the page: relative links, levels of headings, and cells of tables without inline styles."""
    for name in ("href", "src"):
        address = str(token.attrs.get(name, ""))
        if address and not address.startswith("#") and _is_relative(address):
            token.attrs[name] = root + address
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1:]) + shift, DEEPEST)}"
    if token.type in ("th_open", "td_open"):
        side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
        if side:
            token.attrs["class"] = side
    if token.type == "th_open":
        token.attrs["scope"] = "col"


def _plain(inline: Token) -> str:
    """Return the text of a paragraph or a heading."""
    parts = ("\n" if token.type.endswith("break") else token.content for token in inline.children or ())
    return " ".join("".join(parts).split())


def _is_safe(address: str) -> bool:
    parts = split_url(address)
    return parts is not None and parts.scheme in SCHEMES and (bool(parts.netloc) or parts.scheme == "mailto")


def _is_relative(address: str) -> bool:
    """Whether an address is relative to the folder of the site and stays in it, on a server and on disk."""
    parts = split_url(address)
    if parts is None or parts.scheme or parts.netloc or address.startswith("/"):
        return False
    # To browsers, %2e is a dot; to some servers, a backslash is a slash.
    path = normpath(unquote(parts.path).replace("\\", "/"))
    return ":" not in parts.path.partition("/")[0] and not path.startswith("/") and path.split("/")[0] != ".."
