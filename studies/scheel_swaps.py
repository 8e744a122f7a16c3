"""Figures 4 and 5 of Scheel, Lommatzsch and Albayrak, Performance Measures for Multi-Graded Relevance, SPIM 2011.

A reference ranking of 100 items on 2, 10, 20 or 50 levels of relevance; test rankings result from swapping the items of
0 to 99 random pairs of ranks, 100 test rankings for each number of swaps; the figures show their mean score. In figure
4 all levels have the same number of items; in figure 5 levels are drawn with random probabilities, and may be empty.

Where the paper is silent:

- Levels are the grades 0 to k - 1: the lowest is not relevant, as equation 5 of the paper requires.
- A swap takes any two ranks; the next one may take them again.
- NDCG is the mean over all cut-offs, as in the paper's table 2.
- Rankings on different levels have the same swaps: only the references differ.
- Figure 5 draws a new reference for each of the 100 test rankings, and draws
  again if no item is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import scorer
from scorer.measures.matched import Floats, Ints
from studies.drawing import STYLES, Axis, Drawing
from studies.rankings import matched
from studies.study import Claim, Study, verdict

ITEMS, MOST_SWAPS, RANKINGS, SEED = 100, 99, 100, 2011
LEVELS = (2, 10, 20, 50)
MEASURES = {"muMAP": "muAP", "mean NDCG": "MeanNDCG", "mean NDCNG": "MeanNDCNG"}
"""Name in the figures -> name in scorer."""

RELEVANT_ITEMS = (20, 50, 80)
"""On two levels, to isolate the effect of the number of items on a level."""

NOTICEABLE = 0.05
"""A difference that is visible in the figure."""

Curves = dict[str, dict[int, Floats]]
"""Measure -> number of levels, or of relevant items -> ``[swaps]``, the mean score."""


def figure_4(rankings: int = RANKINGS) -> Study:
    """Return figure 4: levels with equal numbers of items."""
    order = swapped(np.random.default_rng(SEED), rankings)
    curves = mean_scores({levels: uniform(levels)[np.newaxis] for levels in LEVELS}, order)
    return _study(4, "levels with equally many items", curves, claims(curves))


def figure_5(rankings: int = RANKINGS) -> Study:
    """Return figure 5: levels with random numbers of items, some empty."""
    random = np.random.default_rng(SEED)
    order = swapped(random, rankings)
    curves = mean_scores({levels: non_uniform(random, levels, rankings) for levels in LEVELS}, order)
    by_items = mean_scores({relevant: two_levels(relevant)[np.newaxis] for relevant in RELEVANT_ITEMS}, order)
    return _study(
        5, "levels with randomly many items", curves, (*claims(curves), claim_of_indifference_to_items(by_items))
    )


def swapped(random: np.random.Generator, rankings: int) -> Ints:
    """Return ``[swaps, ranking, rank]``: the item of the reference at each rank, after 0 to 99 swaps."""
    count = MOST_SWAPS + 1
    order = np.tile(np.arange(ITEMS), (count, rankings, 1))
    for swap in range(1, count):
        one, other = two_ranks(random, (count - swap, rankings))
        now = order[swap:]
        item, other_item = np.take_along_axis(now, one, axis=2), np.take_along_axis(now, other, axis=2)
        np.put_along_axis(now, one, other_item, axis=2)
        np.put_along_axis(now, other, item, axis=2)
    return order


def two_ranks(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Return two different ranks, from 0, for each ranking, uniformly distributed; each ``[*shape, 1]``."""
    one = random.integers(ITEMS, size=(*shape, 1))
    further = random.integers(1, ITEMS, size=(*shape, 1))
    return one, (one + further) % ITEMS


def uniform(levels: int) -> Floats:
    """Return ``[item]``: the grades of a reference with ``100 / levels`` items on each level, best first."""
    grades: Floats = np.repeat(np.arange(levels - 1.0, -1, -1), ITEMS // levels)
    return grades


def two_levels(relevant: int) -> Floats:
    """Return ``[item]``: the grades of a reference with this number of relevant items, best first."""
    return (np.arange(ITEMS) < relevant).astype(np.float64)


def non_uniform(random: np.random.Generator, levels: int, references: int) -> Floats:
    """Return ``[reference, item]``: grades drawn with random probabilities, best first."""
    grades = np.zeros((references, ITEMS))
    while (irrelevant := np.flatnonzero(grades.max(axis=1) == 0)).size:
        for reference in irrelevant:
            weight = random.random(levels)
            drawn = random.choice(levels, size=ITEMS, p=weight / weight.sum())
            grades[reference] = np.sort(drawn)[::-1]
    return grades


def mean_scores(references: Mapping[int, Floats], order: Ints) -> Curves:
    """Return the mean scores of rankings.

    Parameters
    ----------
    references : for each curve the grades of one reference for all rankings, or of one for each ranking
    order : ``[swaps, ranking, rank]``, the items of each ranking
    """
    curves: Curves = {name: {} for name in MEASURES}
    swaps, rankings, ranks = order.shape
    for levels, reference in references.items():
        grade = np.take_along_axis(reference[np.newaxis], order, axis=2)
        seen = matched(grade.reshape(-1, ranks))
        for name, measure in MEASURES.items():
            scores = scorer.parse(measure)[0](seen)
            curves[name][levels] = scores.reshape(swaps, rankings).mean(axis=1)
    return curves


def spread(curves: Mapping[int, Floats]) -> Floats:
    """Return ``[swaps]``: the highest minus the lowest mean score, over the numbers of levels."""
    stacked = np.array(list(curves.values()))
    apart: Floats = stacked.max(axis=0) - stacked.min(axis=0)
    return apart


def _study(number: int, what: str, curves: Curves, outcome: tuple[Claim, ...]) -> Study:
    title = f"Scheel, Lommatzsch and Albayrak 2011, figure {number}: {what}"
    rows = [
        (levels, swaps, *(float(curves[name][levels][swaps]) for name in MEASURES))
        for levels in LEVELS
        for swaps in range(MOST_SWAPS + 1)
    ]
    return Study(title, _drawn(title, curves), ("levels", "swaps", *MEASURES), rows, outcome)


def claims(curves: Curves) -> tuple[Claim, ...]:
    """Return the paper's claims about both figures, with verdicts from these curves."""
    every = [curve for of_measure in curves.values() for curve in of_measure.values()]
    falls = all(curve[0] > curve[25] > curve[50] > curve[99] for curve in every)
    return (
        Claim(
            "The reference ranking itself scores 1 under every measure.",
            verdict(max(abs(curve[0] - 1) for curve in every) < 1e-12),
            f"Without a swap, all scores are between {min(curve[0] for curve in every):.6f} and "
            f"{max(curve[0] for curve in every):.6f}.",
        ),
        Claim(
            "Scores fall as more pairs are swapped.",
            verdict(falls),
            f"From 0 to 25, 50 and 99 swaps, {'every' if falls else 'not every'} mean score falls.",
        ),
        _claim_of_dependence(curves["mean NDCG"]),
        _claim_of_independence("muMAP", curves["muMAP"]),
        _claim_of_independence("mean NDCNG", curves["mean NDCNG"]),
        _claim_of_agreement(curves),
    )


def _claim_of_dependence(curves: Mapping[int, Floats]) -> Claim:
    last = [float(curves[levels][-1]) for levels in LEVELS]
    falling = last == sorted(last, reverse=True)
    return Claim(
        "NDCG depends heavily on the number of levels.",
        verdict(falling and last[0] - last[-1] > NOTICEABLE, in_part=spread(curves).max() > NOTICEABLE),
        f"With 99 swaps, on {_listed(LEVELS)} levels: {_scores(curves, -1)}.",
    )


def _claim_of_independence(name: str, curves: Mapping[int, Floats]) -> Claim:
    apart = float(spread(curves).max())
    return Claim(
        f"{name} does not depend on the number of levels.",
        verdict(apart == 0, in_part=apart < NOTICEABLE),
        f"The four curves are at most {apart:.3f} apart. "
        f"With 99 swaps, on {_listed(LEVELS)} levels: {_scores(curves, -1)}.",
    )


def _claim_of_agreement(curves: Curves) -> Claim:
    apart = max(float(np.abs(curves["muMAP"][each] - curves["mean NDCNG"][each]).max()) for each in LEVELS)
    return Claim(
        "For similar rankings muMAP and NDCNG agree.",
        verdict(apart == 0, in_part=apart < NOTICEABLE),
        "On different levels each nearly agrees with itself (above); "
        f"they differ from each other by up to {apart:.3f}.",
    )


def claim_of_indifference_to_items(curves: Curves) -> Claim:
    """Return the other claim of figure 5, given curves by the number of relevant items, on two levels."""
    apart = max(float(spread(curves[name]).max()) for name in ("muMAP", "mean NDCNG"))
    return Claim(
        "muMAP and NDCNG are not affected by how many items a level has.",
        verdict(apart == 0, in_part=apart < NOTICEABLE),
        "Only the mean over many references hides it. With 99 swaps, on two levels of which the upper one has "
        f"{_listed(RELEVANT_ITEMS)} items: muMAP {_scores(curves['muMAP'], -1)}, mean NDCNG "
        f"{_scores(curves['mean NDCNG'], -1)}. Binary AP behaves the same way: with more relevant items, fewer errors "
        "are possible.",
    )


def _scores(curves: Mapping[int, Floats], swaps: int) -> str:
    return _listed([f"{curve[swaps]:.3f}" for curve in curves.values()])


def _listed(values: tuple[int, ...] | list[str]) -> str:
    *others, last = map(str, values)
    return f"{', '.join(others)} and {last}"


def _drawn(title: str, curves: Curves) -> str:
    drawing = Drawing(title)
    across = Axis.numbers("swapped pairs", 0, 100, 20)
    up = Axis.numbers("mean score", 0, 1, 0.2, decimals=1)
    for panel, of_measure in zip(
        drawing.panels(*((name, across, up) for name in curves)), curves.values(), strict=True
    ):
        for (_, curve), style in zip(of_measure.items(), STYLES, strict=False):
            panel.line(range(MOST_SWAPS + 1), curve.tolist(), style)
    names = [f"{levels} levels" for levels in LEVELS]
    drawing.legend(lines=list(zip(names, STYLES, strict=False)))
    return drawing.svg()
