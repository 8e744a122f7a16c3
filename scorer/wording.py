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


INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable although they show nothing (Unicode's Default_Ignorable_Code_Point, and the
blank pattern of braille)."""


def printable(text: str) -> str:
    """`text` with all characters escaped that show nothing: controls, bidirectional marks, fillers, lone surrogates."""
    if text.isprintable() and not INVISIBLE.search(text):
        return text
    return "".join(char if char.isprintable() and not INVISIBLE.match(char) else _escaped(char) for char in text)


def printable_name(name: str) -> str:
    """The name of a file or of a team as printable text. Different names give different text."""
    return printable(name.replace("\\", "\\\\"))


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


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
