"""Text for messages: counted, quoted and printable; and escaped for Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

import html
import json
import re

QUOTED = 60
"""How many characters of text from a file a message repeats."""


def counted(count: int, singular: str, plural: str = "") -> str:
    """``1 list``, ``2 lists``; `plural` is needed where it is not the singular with an s."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def printable(text: str) -> str:
    """`text` with all characters escaped that do not print: controls, bidirectional marks, lone surrogates."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def quoted(text: str) -> str:
    """Text from a file for a message: in double quotes, on one line, escaped and shortened."""
    shortened = text if len(text) <= QUOTED else text[: QUOTED - 3] + "..."
    return printable(json.dumps(shortened, ensure_ascii=False))


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets compute a cell that begins with one of these."""

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{char: f"\\{char}" for char in "{}$&#%_"},
}


def guard_formula(text: str) -> str:
    """`text` for a cell of a spreadsheet, after a ' if it would be a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def escape_markdown(text: str) -> str:
    """`text` escaped for Markdown and for the HTML in it."""
    return html.escape(re.sub(r"([\\`*_\[\]|~])", r"\\\1", text), quote=False)


def escape_latex(text: str) -> str:
    """`text` escaped for LaTeX."""
    return "".join(LATEX.get(char, char) for char in text)
