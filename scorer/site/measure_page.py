"""What the page of measures shows: the symbols, each kind of measure on the boards, and formulas as MathML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from xml.etree.ElementTree import Element, fromstring, tostring

from latex2mathml.converter import convert
from markupsafe import Markup, escape

from scorer.measures import Kind
from scorer.measures.symbols import SYMBOLS, WORDS, Symbol
from scorer.site.columns import MeasureColumn

LIMITS = frozenset({"∑", "∏", "max", "min"})
"""Operators that have their limits below and above in a displayed formula."""

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$")


@dataclass(frozen=True, slots=True)
class KindSection:
    """The section about a kind of measure."""

    kind: Kind
    formula: Markup
    """MathML."""
    where: Markup
    """What the symbols of the formula mean."""
    columns: tuple[MeasureColumn, ...]
    """The measures of this kind on the boards."""

    @property
    def anchor(self) -> str:
        """The id of its heading."""
        return f"kind-{self.kind.name.lower()}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A word or a symbol, and what it means."""

    term: Markup
    meaning: Markup


def kind_sections(columns: Mapping[str, MeasureColumn]) -> tuple[KindSection, ...]:
    """Return a section for each kind that one of the columns has, in the order of the columns."""
    groups: dict[Kind, list[MeasureColumn]] = {}
    for column in columns.values():
        groups.setdefault(column.measure.kind, []).append(column)
    return tuple(
        KindSection(kind, displayed(kind.latex, kind.formula), inline(kind.latex), tuple(group))
        for kind, group in groups.items()
    )


def definitions(kinds: Iterable[Kind]) -> tuple[Definition, ...]:
    """Return the definitions of the words, and of the symbols that the formulas of these kinds use."""
    used = _identifiers(kind.latex for kind in kinds)
    symbols: dict[str, Symbol] = {}
    # The meaning of a symbol may use further symbols.
    while more := [symbol for symbol in SYMBOLS if symbol.name in used and symbol.name not in symbols]:
        symbols |= {symbol.name: symbol for symbol in more}
        used = _identifiers(symbol.meaning for symbol in more)
    return (
        *(Definition(Markup(word), inline(meaning)) for word, meaning in WORDS.items()),  # noqa: S704  our own words
        *(Definition(inline(symbol.latex), inline(symbol.meaning)) for symbol in SYMBOLS if symbol.name in symbols),
    )


def _identifiers(texts: Iterable[str]) -> Collection[str]:
    """Return the identifiers in the formulas of some texts."""
    return {
        element.text or ""
        for text in texts
        for formula in (displayed(text) if "$$" in text else "", inline(text))
        for element in fromstring(f"<p>{formula!s}</p>").iter("mi")  # noqa: S314  our own formulas
    }


# Formulas in LaTeX as MathML, which browsers draw without a script


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
    if len(letters) > 1 and all(letter.tag == "mi" and letter.get("mathvariant") == "normal" for letter in letters):
        element.clear()
        element.tag, element.text = "mi", "".join(letter.text or "" for letter in letters)
    if element.tag in ("msub", "msubsup") and letters[0].text in LIMITS:
        element.tag = element.tag.replace("msubsup", "munderover").replace("msub", "munder")
