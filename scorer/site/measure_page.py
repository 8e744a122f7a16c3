"""What the page of measures shows: the symbols, each kind of measure on the boards, and worked examples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import fromstring

from markupsafe import Markup

from scorer.measures import Kind
from scorer.measures.symbols import SYMBOLS, WORDS, Symbol
from scorer.site.columns import MeasureColumn
from scorer.site.formulas import displayed, inline


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
