"""Text for people: counted, quoted and printable; and escaped for other notations."""

from __future__ import annotations

import html
import json
import re

QUOTED = 60
"""How many characters of a foreign text a message repeats."""


def counted(count: int, one: str, many: str = "") -> str:
    """``1 list``, ``2 lists``; `many` where it is not the singular with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def printable(text: str) -> str:
    """Foreign text with every character that does not print (controls, bidi marks, lone surrogates) escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def quoted(text: str) -> str:
    """Foreign text as a message may show it: in double quotes, on one line, escaped, and cut."""
    cut = text if len(text) <= QUOTED else text[: QUOTED - 3] + "..."
    return printable(json.dumps(cut, ensure_ascii=False))


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets compute."""

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


def spreadsheet(text: str) -> str:
    """Text that a spreadsheet does not take for a formula: a ' goes before what would be one."""
    return f"'{text}" if text.startswith(FORMULA) else text


def markdown(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return html.escape(re.sub(r"([\\`*_\[\]|~])", r"\\\1", text), quote=False)


def latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(LATEX.get(char, char) for char in text)
