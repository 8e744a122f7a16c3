"""Formulas: the two forms of each, the MathML of the pages, and the definitions of symbols."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from scorer.board.site.measure_page import SYMBOL_WORDS, SYMBOLS, definitions, displayed, inline, mathml
from scorer.measures import KINDS, Kind

CHILDREN = {
    "math": None,
    "mrow": None,
    "mi": 0,
    "mn": 0,
    "mo": 0,
    "mtext": 0,
    "mfrac": 2,
    "msub": 2,
    "msup": 2,
    "msubsup": 3,
    "munder": 2,
    "mover": 2,
    "munderover": 3,
}
"""The elements of MathML Core that formulas use, each with the number of its children; None: any number."""

FUNCTIONS = {"log", "ln", "exp", "max", "min"}
"""Identifiers that need no definition."""


def elements(formula: object) -> Iterator[ET.Element]:
    """The elements of a formula, or of a text with formulas."""
    yield from ET.fromstring(f"<p>{formula}</p>").iter()


def identifiers(formula: object) -> set[str]:
    """The identifiers in a formula, or in a text with formulas."""
    return {element.text or "" for element in elements(formula) if element.tag == "mi"}


def check_mathml(formula: ET.Element) -> None:
    """Check the elements of a formula, the number of their children, and that text is only in the innermost ones."""
    for element in formula.iter():
        wanted = CHILDREN[element.tag]
        assert wanted is None or len(element) == wanted, ET.tostring(element)
        assert bool(element.text) == (wanted == 0), ET.tostring(element)
        assert not element.tail


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_has_a_formula_in_both_forms(kind: Kind) -> None:
    """The formula of a measure is valid MathML that names the measure, and has the plain text as its alternative."""
    formula = ET.fromstring(displayed(kind.latex, kind.formula))
    check_mathml(formula)
    assert formula.get("display") == "block"
    assert formula.get("alttext") == kind.formula
    name = next(element.text for element in formula.iter() if element.tag in ("mi", "mtext"))
    assert name in (kind.name, f"{kind.name}@")
    assert kind.formula.startswith(kind.name)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_symbol_of_a_formula_is_defined(kind: Kind) -> None:
    """Each identifier is a symbol of the table, defined with the formula, or the name of the measure."""
    where = identifiers(inline(kind.latex))
    shared = set(SYMBOLS)
    own = {kind.name, f"{kind.name}@"}
    assert identifiers(displayed(kind.latex)) | where <= shared | where | own | FUNCTIONS
    for formula in elements(inline(kind.latex)):
        if formula.tag == "math":
            assert formula.get("display") == "inline"
            formula.tail = None
            check_mathml(formula)


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_definition_uses_only_defined_symbols(name: str) -> None:
    """The meaning of a symbol has no further undefined symbol, and its first identifier is its name."""
    first = next(element.text for element in elements(inline(SYMBOLS[name]["latex"])) if element.tag == "mi")
    assert first == name
    local = {"n"}
    assert identifiers(inline(SYMBOLS[name]["meaning"])) <= SYMBOLS.keys() | FUNCTIONS | local


def test_the_table_has_the_symbols_of_the_measures_on_the_boards() -> None:
    """It has all words, and the symbols that the formulas and these definitions use, but no other."""
    by_name = {kind.name: kind for kind in KINDS}
    terms = [identifiers(term) or {str(term)} for term, _ in definitions([by_name["MARp"], by_name["Rp"]])]
    names = set().union(*terms)
    assert set(SYMBOL_WORDS) <= names
    assert {"z", "m", "relevant", "first", "Rp@"} <= names
    assert "gain" not in names
    assert {"gain", "DCG@", "IDCG@"} <= set().union(*(identifiers(term) for term, _ in definitions([by_name["nDCG"]])))


def test_a_word_is_one_identifier_and_text_is_text() -> None:
    """A word is not written letter by letter; sums have their limits. Text that looks like HTML is text."""
    drawn = mathml(r"\mathrm{gain} = \sum_{r=1}^{k} \max_{i} x", is_displayed=True)
    tags = [element.tag for element in elements(drawn)]
    assert "gain" in identifiers(drawn)
    assert "munderover" in tags
    assert "munder" in tags
    assert str(inline("<b> & $x$ <i>")).startswith("&lt;b&gt; &amp; <math")
    assert 'alttext="&lt;&quot;"' in mathml("x", '<"')
