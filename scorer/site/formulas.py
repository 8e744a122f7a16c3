"""Formulas in LaTeX as MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from xml.etree.ElementTree import Element, fromstring, tostring

from latex2mathml.converter import convert
from markupsafe import Markup, escape

LIMITS = frozenset({"∑", "∏", "max", "min"})
"""Operators that have their limits below and above in a displayed formula."""

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$")


def displayed(text: str, alternative: str = "") -> Markup:
    """Return the first formula of a text that is between ``$$``, in LaTeX.

    `alternative` is the formula as plain text, for programs that do not know MathML.
    """
    latex = next(match[1] for match in _FORMULA.finditer(text) if match[1])
    return mathml(latex, alternative, is_displayed=True)


def inline(text: str) -> Markup:
    """Return a text with its formulas between ``$``, and without those between ``$$``."""
    return Markup("").join(_pieces(text)).strip()


def _pieces(text: str) -> Iterator[Markup]:
    start = 0
    for match in _FORMULA.finditer(text):
        yield escape(text[start : match.start()])
        if match[2]:
            yield mathml(match[2])
        start = match.end()
    yield escape(text[start:])


@cache
def mathml(latex: str, alternative: str = "", *, is_displayed: bool = False) -> Markup:
    """Return a formula as a ``math`` element; its text alternative is `alternative`, or the LaTeX."""
    text = convert(latex, display="block" if is_displayed else "inline")
    # Without the namespace, which HTML does not need.
    formula = fromstring(re.sub(r' xmlns="[^"]*"', "", text, count=1))  # noqa: S314  our own formulas
    for element in list(formula.iter()):
        _correct(element)
    formula.set("alttext", alternative or latex)
    return Markup(tostring(formula, encoding="unicode"))  # noqa: S704  ElementTree escapes


def _correct(element: Element) -> None:
    """Write each word as one identifier, and the limits of a sum below and above it."""
    if element.tag == "mi" and element.text == ":":
        element.tag = "mo"
    if element.tag == "mo" and (element.text or "").isalpha():
        element.tag = "mi"
    letters = list(element)
    if len(letters) > 1 and all(each.tag == "mi" and each.get("mathvariant") == "normal" for each in letters):
        element.clear()
        element.tag, element.text = "mi", "".join(each.text or "" for each in letters)
    if element.tag in ("msub", "msubsup") and letters[0].text in LIMITS:
        element.tag = element.tag.replace("msubsup", "munderover").replace("msub", "munder")
