"""Foreign text as other notations take it: so that it stays text there, and starts nothing."""

from __future__ import annotations

import html
import re

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
