"""What choosing the best of several equal entries gains by chance, and whether the number that boards show says so.

Entries of a team are drawn from populations with known means. All are equal, and share the difficulty of the queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from scorer.scoring.statistics.resampling import gain_of_choosing
from studies.drawing import STYLES, Axis, Drawing
from studies.populations import POPULATIONS, Population
from studies.study import Claim, Study, verdict

SEED = 2
ENTRIES, QUERIES = (2, 10, 40), (50, 320)
SAMPLES = 400
"""Teams for each case: the standard error of a mean gain is about 3 % of it."""

FAR = 0.15
"""A mean estimate is false if it differs by a larger share from the mean gain."""


class Choosing(NamedTuple):
    """The gain of choosing the best of equal entries, and the estimates of it."""

    population: str
    queries: int
    entries: int
    gain: float
    """The mean over the teams of the best mean score minus the true mean."""
    estimate: float
    """The mean of the numbers that boards would show."""


def choosing(samples: int = SAMPLES) -> Study:
    """Return the study of the gain of choosing."""
    title = f"The gain of choosing the best of equal entries, {samples:,} teams for each case"
    found = [_choosing(at, samples, *case) for at, case in enumerate(product(POPULATIONS, QUERIES, ENTRIES))]
    return Study(title, _drawn(title, found), Choosing._fields, found, _claims(found))


def _choosing(at: int, samples: int, population: Population, queries: int, entries: int) -> Choosing:
    random, shifts = np.random.default_rng((SEED, at)), np.zeros(entries)
    truth, gains, estimates = float(population.means(shifts)[0]), [], []
    for _ in range(samples):
        scores = population.draw(random, shifts, queries)[0]
        gains.append(scores.mean(axis=1).max() - truth)
        estimates.append(gain_of_choosing(scores))
    return Choosing(population.name, queries, entries, float(np.mean(gains)), float(np.mean(estimates)))


def _claims(found: Sequence[Choosing]) -> tuple[Claim, ...]:
    ratios = {each: each.estimate / each.gain for each in found}
    far = [each for each, ratio in ratios.items() if abs(ratio - 1) > FAR]
    listed = "; ".join(
        f"{each.population}, {each.queries}, {each.entries}: {ratios[each]:.2f}" for each in far or found
    )
    return (
        Claim(
            f"The mean of the estimates is within {FAR:.0%} of the mean gain in all cases.",
            verdict(not far, in_part=len(far) < len(found)),
            f"Estimate divided by gain: {listed}.",
        ),
    )


def _drawn(title: str, found: Sequence[Choosing]) -> str:
    drawing = Drawing(title, width=1100)
    across = Axis.groups("equal entries", [str(count) for count in ENTRIES])
    up = Axis.numbers("gain", 0.0, 0.12, 0.02)
    names = list(dict.fromkeys(each.population for each in found))
    lines = dict(zip(product(QUERIES, ("gain", "estimate")), STYLES, strict=False))
    for name, panel in zip(names, drawing.panels(*((name, across, up) for name in names)), strict=True):
        for (queries, what), style in lines.items():
            these = [getattr(each, what) for each in found if (each.population, each.queries) == (name, queries)]
            panel.line(range(len(these)), these, style)
    drawing.legend(lines=[(f"{what}, {queries} queries", style) for (queries, what), style in lines.items()])
    return drawing.svg()
