"""What the page of measures shows: the symbols, each kind of measure on the boards, and a worked example."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from xml.etree.ElementTree import Element, fromstring, tostring

from markupsafe import Markup, escape

from scorer.board.site.templates import Page
from scorer.board.site.views import MeasureColumn
from scorer.errors import need_libraries
from scorer.live.entry import rounded
from scorer.measures import Kind, Measure, parse_one
from scorer.scoring.evaluation import evaluate
from scorer.settings.tracks import Track
from scorer.wording import texts_of

LIMITS = frozenset({"∑", "∏", "max", "min"})
"""Operators that have their limits below and above in a displayed formula."""


_TEXTS = texts_of(__file__, "symbols.toml")
SYMBOL_WORDS: Mapping[str, str] = _TEXTS["words"]
SYMBOLS: Mapping[str, Mapping[str, str]] = _TEXTS["symbols"]
"""Each symbol in LaTeX and its meaning, both with LaTeX between ``$``, by its first identifier in formulas."""

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


def measure_page(tracks: Iterable[Track], columns: Mapping[str, MeasureColumn], *, corrected: bool) -> Page:
    """The page of the measures of some tracks, given the columns of all boards; `corrected`: by people, in a track."""
    kinds = kind_sections(columns)
    values = {
        "kinds": kinds,
        "definitions": definitions(section.kind for section in kinds),
        "examples": [worked_example(track) for track in tracks],
        "corrected": corrected,
    }
    about = "How the scores on the boards are computed: symbols, formulas, edge cases and a worked example."
    return Page("measures.html", "measures.html", about, values)


def kind_sections(columns: Mapping[str, MeasureColumn]) -> tuple[KindSection, ...]:
    """Return a section for each kind that one of the columns has, in the order of the columns; parts follow a sum."""
    groups: dict[Kind, list[MeasureColumn]] = {}
    for column in columns.values():
        groups.setdefault(column.measure.kind, []).append(column)
        for _, part in column.measure.kind.terms:
            groups.setdefault(part.kind, [])
    return tuple(
        KindSection(kind, displayed(kind.latex, kind.formula), inline(kind.latex), tuple(group))
        for kind, group in groups.items()
    )


def definitions(kinds: Iterable[Kind]) -> tuple[tuple[Markup, Markup], ...]:
    """Return each word, and each symbol that the formulas of these kinds use, with its meaning."""
    used = _identifiers(kind.latex for kind in kinds)
    defined: set[str] = set()
    # The meaning of a symbol may use further symbols.
    while more := SYMBOLS.keys() & used - defined:
        defined |= more
        used = _identifiers(SYMBOLS[name]["meaning"] for name in more)
    return (
        *((Markup(word), inline(meaning)) for word, meaning in SYMBOL_WORDS.items()),  # noqa: S704  our own words
        *((inline(symbol["latex"]), inline(symbol["meaning"])) for name, symbol in SYMBOLS.items() if name in defined),
    )


def _identifiers(texts: Iterable[str]) -> set[str]:
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
    need_libraries("latex2mathml")
    from latex2mathml.converter import convert  # noqa: PLC0415 (an optional extra)

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


QUERY = "q"

LONGEST_TIE_RANK = 5
"""The items with equal grades begin at this rank of the ideal list, or at the first cut-off if it is smaller."""

TIED = 3
"""How many items have this grade. One relevant item has a lower grade."""

MOST_TERMS = 4
"""How many terms of a mean are written, so that the formula fits a phone."""

R_PRECISION = frozenset({"MARp", "Rp"})
"""The kinds of measures that use relevant(z)."""


@dataclass(frozen=True, slots=True)
class ExampleItem:
    """An item of the example."""

    item: str
    rank: int | None
    """Its rank in the list; None if the list does not have it."""
    grade: int | None
    """None if the solution does not list it."""
    marks: tuple[str, ...]
    """For each cut-off: "hit", "missed" if it is in relevant(z) only, or an empty text."""


@dataclass(frozen=True, slots=True)
class CutoffExample:
    """R-precision at a cut-off."""

    z: int
    relevant: int
    """The number of items in relevant(z)."""
    divisor: int
    """min(m, z)."""
    hits: int
    score: float
    """As the measure computes it."""


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """The example of a track."""

    track: Track
    items: tuple[ExampleItem, ...]
    """The list, then the items of the solution that it does not have."""
    m: int
    cutoffs: tuple[CutoffExample, ...]
    """Those of the track's measures that use relevant(z)."""
    means: tuple[Markup, ...]
    """The calculation of each mean over several cut-offs, as MathML."""
    scores: tuple[tuple[Measure, float | None], ...]
    """The score of each measure of the board, rounded to the track's decimals; None where it is undefined."""


def worked_example(track: Track) -> WorkedExample:
    """Return the example of a track, computed by its measures."""
    by_cutoffs = [measure for measure in track.all_measures if measure.kind.name in R_PRECISION]
    least = max((measure.threshold for measure in by_cutoffs[:1] if isinstance(measure.threshold, float)), default=0.0)
    zs = sorted({z for measure in by_cutoffs for z in _cutoffs(measure)})
    grades, listed = _example(min([LONGEST_TIE_RANK, *zs]), track.list_length, least)
    relevant = {
        item: 1 + sum(other > grade for other in grades.values()) for item, grade in grades.items() if grade >= least
    }
    m = len(relevant)
    solution, lists = {QUERY: dict(grades)}, {QUERY: listed}
    names = {str(measure): measure for measure in (*track.all_measures, *(_r_precision(z, least) for z in zs))}
    scores = evaluate(solution, lists, names)
    ranks = {item: rank for rank, item in enumerate(listed, 1)}
    sets = {z: {item for item, tie_rank in relevant.items() if tie_rank <= min(m, z)} for z in zs}
    cutoffs = tuple(
        CutoffExample(
            z=z,
            relevant=len(sets[z]),
            divisor=min(m, z),
            hits=len(sets[z].intersection(listed[:z])),
            score=scores[str(_r_precision(z, least))],
        )
        for z in zs
    )
    return WorkedExample(
        track=track,
        items=tuple(
            ExampleItem(item, ranks.get(item), grades.get(item), tuple(_mark(item, ranks, z, sets[z]) for z in zs))
            for item in dict.fromkeys([*listed, *grades])
        ),
        m=m,
        cutoffs=cutoffs,
        means=tuple(
            _mean(measure, cutoffs, scores[str(measure)], track.final_decimals)
            for measure in by_cutoffs
            if len(_cutoffs(measure)) > 1
            and (measure.threshold if isinstance(measure.threshold, float) else 0) == least
        ),
        scores=tuple((measure, rounded(scores[str(measure)], track.final_decimals)) for measure in track.all_measures),
    )


def _cutoffs(measure: Measure) -> tuple[int, ...]:
    """The cut-offs of a measure that uses relevant(z)."""
    cutoff = measure.cutoff
    return cutoff if isinstance(cutoff, tuple) else (int(cutoff or 0),)


def _r_precision(z: int, least: float) -> Measure:
    return parse_one(f"Rp(rel={least:g})@{z}" if least else f"Rp@{z}")


def _example(tie_rank: int, list_length: int, least: float) -> tuple[dict[str, int], list[str]]:
    """The grades of the relevant items, the best first, and the list.

    Items a, b, ... have grades, and three of them tie at `tie_rank`; w, x and y have none. `least` is the lowest
    relevant grade; only the last item may have a lower one.
    """
    tied = max(2, math.ceil(least))
    best = [tied + tie_rank - number for number in range(tie_rank - 1)]
    grades = dict(zip(string.ascii_lowercase, [*best, *[tied] * TIED, tied - 1], strict=False))
    items = list(grades)
    _, second_tied, last_tied = items[tie_rank - 1 : tie_rank - 1 + TIED]
    listed = [second_tied, "x", items[0], "y", last_tied, items[1], "w", items[-1]]
    return grades, list(dict.fromkeys(listed))[:list_length]


def _mark(item: str, ranks: Mapping[str, int], z: int, relevant: set[str]) -> str:
    if item not in relevant:
        return ""
    return "hit" if ranks.get(item, math.inf) <= z else "missed"


def _mean(measure: Measure, cutoffs: Sequence[CutoffExample], score: float, decimals: int) -> Markup:
    """The calculation of a mean over cut-offs; equal terms that follow each other are written once, with a factor."""
    by_z = {cutoff.z: cutoff for cutoff in cutoffs}
    terms = [(by_z[z].hits, by_z[z].divisor) for z in _cutoffs(measure)]
    groups = [(term, len(list(equal))) for term, equal in groupby(terms)]
    summands = [(f"{count} \\cdot " if count > 1 else "") + rf"\frac{{{hits}}}{{{of}}}" for (hits, of), count in groups]
    if len(summands) > MOST_TERMS:
        summands = [*summands[:2], r"\dots", summands[-1]]
    value = f"{score:.{decimals}f}"
    total = " + ".join(summands)
    latex = rf"\mathrm{{{measure.kind.name}}} = \frac{{1}}{{{len(terms)}}} \left( {total} \right) = {value}"
    plain = " + ".join(f"{hits}/{of}" for hits, of in terms)
    return mathml(latex, f"{measure} = ({plain}) / {len(terms)} = {value}", is_displayed=True)
