"""A worked example of the measures of a track: a small query, a list, and what the track's measures give for them."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from scorer.challenge.settings import Track
from scorer.live.entry import rounded
from scorer.measures import Measure, parse_one
from scorer.scoring.evaluation import evaluate
from scorer.site.measure_page import mathml
from scorer.wording import counted

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
    remarks: tuple[str, ...]
    """What the example shows, in sentences."""
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
            ExampleItem(item, rank, grades.get(item), tuple(_mark(item, rank, z, sets[z]) for z in zs))
            for item, rank in _ranked(listed, grades)
        ),
        m=m,
        cutoffs=cutoffs,
        remarks=_remarks(grades, len(listed), m, cutoffs),
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


def _ranked(listed: Sequence[str], grades: dict[str, int]) -> list[tuple[str, int | None]]:
    """Each item with its rank: the list, then the other items of the solution."""
    return [
        *((item, rank) for rank, item in enumerate(listed, 1)),
        *((item, None) for item in grades if item not in listed),
    ]


def _mark(item: str, rank: int | None, z: int, relevant: set[str]) -> str:
    if item not in relevant:
        return ""
    return "hit" if rank is not None and rank <= z else "missed"


def _remarks(grades: dict[str, int], length: int, m: int, cutoffs: Sequence[CutoffExample]) -> tuple[str, ...]:
    """What the example shows about ties and about cut-offs above m."""
    ordered = sorted(grades.values(), reverse=True)
    remarks = [f"The query has {counted(m, 'relevant item')}, so m = {m}."]
    widened = next((cutoff for cutoff in cutoffs if cutoff.relevant > cutoff.divisor), None)
    if widened:
        grade = ordered[widened.z - 1]
        equal = ordered.count(grade)
        remarks.append(
            f"At z = {widened.z}, min(m, z) = {widened.divisor}. The last of the {widened.divisor} best items has "
            f"grade {grade}, and {equal} items have this grade. All of them are in relevant({widened.z}), which has "
            f"{widened.relevant} items; the divisor stays {widened.divisor}."
        )
    whole = next((cutoff for cutoff in cutoffs if cutoff.z >= m), None)
    if whole:
        remarks.append(f"From z = {whole.z}, relevant(z) has all {m} relevant items, and the divisor is m.")
    if cutoffs and cutoffs[-1].z > length:
        remarks.append(f"The list ends at rank {length}; a longer list could only have more hits.")
    return tuple(remarks)


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
