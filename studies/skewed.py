"""How often intervals are right where rare scores decide the mean: `coverage-skewed` and `coverage-losses`.

The first study has intervals of means near 0, where a sample may lack the scores that make up much of the mean. The
second has a team that is as good as a baseline: better by 0.05 on 40 % of the queries, and worse by 1 on 2 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from scorer.measures.matched import Floats
from scorer.options import LEVEL
from scorer.scoring.statistics.paired_tests import t_test, wilcoxon_greater
from scorer.scoring.statistics.resampling import difference_intervals, mean_intervals, sign_flips
from studies.coverage import BOARDS, DRAWS, FEW, LEAST, SEED
from studies.drawing import STYLES, Axis, Drawing
from studies.study import Claim, Study, verdict

QUERIES = (FEW, 50, 100, 320)
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def _beta(one: float, other: float) -> Draw:
    return lambda random, shape: random.beta(one, other, shape)


def _uniform(high: float) -> Draw:
    return lambda random, shape: high * random.random(shape)


def _always(score: float) -> Draw:
    return lambda _, shape: np.full(shape, score)


class Shape(NamedTuple):
    """Scores of which some are rare."""

    usual: Draw
    usual_mean: float
    rare: tuple[tuple[float, Draw, float], ...] = ()
    """The share of each kind, its scores, and their mean."""

    @property
    def mean(self) -> float:
        """The true mean."""
        rare = sum(share for share, _, _ in self.rare)
        return (1 - rare) * self.usual_mean + sum(share * mean for share, _, mean in self.rare)

    def draw(self, random: np.random.Generator, samples: int, queries: int) -> Floats:
        """Return scores, [sample, query]."""
        scores, kind, below = self.usual(random, (samples, queries)), random.random((samples, queries)), 0.0
        for share, draw, _ in self.rare:
            scores = np.where((below <= kind) & (kind < below + share), draw(random, scores.shape), scores)
            below += share
        return scores


SHAPES = {
    "Beta(1, 30), 2 % ones": Shape(_beta(1, 30), 1 / 31, ((0.02, _always(1), 1.0),)),
    "Beta(1, 30), 5 % ones": Shape(_beta(1, 30), 1 / 31, ((0.05, _always(1), 1.0),)),
    "95 % zeros, others uniform": Shape(_always(0), 0.0, ((0.05, _uniform(1), 0.5),)),
    "Beta(1, 30)": Shape(_beta(1, 30), 1 / 31),
    "Beta(0.1, 1)": Shape(_beta(0.1, 1), 1 / 11),
    "Beta(2, 8)": Shape(_beta(2, 8), 0.2),
    "0 to 0.1, 2 % 0.9": Shape(_uniform(0.1), 0.05, ((0.02, _always(0.9), 0.9),)),
    "0 to 0.1, 3 % 0.55, 1 % 0.9": Shape(_uniform(0.1), 0.05, ((0.03, _always(0.55), 0.55), (0.01, _always(0.9), 0.9))),
    "0 to 0.1, 12 % 0.9": Shape(_uniform(0.1), 0.05, ((0.12, _always(0.9), 0.9),)),
}


class Skewed(NamedTuple):
    """How often the interval of a mean contains the true one."""

    shape: str
    queries: int
    samples: int
    covered: float
    width: float
    """The mean width."""


def means(samples: int = BOARDS, queries: Sequence[int] = QUERIES) -> Study:
    """Return the study of intervals of means."""
    title = f"Coverage of 95 % intervals of means near 0, in {samples:,} samples of queries"
    found = list(mean_cells(samples, queries))
    lowest = min(found, key=lambda each: each.covered)
    claim = Claim(
        "The intervals cover the true mean in at least 94 % of the samples, in each cell.",
        verdict(lowest.covered >= LEAST, in_part=True),
        f"{lowest.covered:.1%} at least: {lowest.shape}, {lowest.queries} queries.",
    )
    return Study(title, _drawn(title, found), Skewed._fields, found, (claim,))


def mean_cells(samples: int, queries: Sequence[int] = QUERIES) -> Iterator[Skewed]:
    """Yield the coverage for each shape and number of queries."""
    for at, ((name, shape), count) in enumerate(product(SHAPES.items(), queries)):
        low, high = mean_intervals(shape.draw(np.random.default_rng((SEED, 500, at)), samples, count)).T
        covered = ((low <= shape.mean) & (shape.mean <= high)).mean()
        yield Skewed(name, count, samples, float(covered), float((high - low).mean()))


GAIN, GAINS, LOSSES = 0.05, 0.4, 0.02
"""By how much the team is better, on which share of the queries, and on which share it is worse by 1."""


class Losses(NamedTuple):
    """How often a team with rare large losses is called better than a baseline that is as good."""

    queries: int
    samples: int
    no_loss: float
    """The probability that the sample has none of the losses."""
    covered: float
    """The share of the intervals of the difference that contain 0."""
    interval: float
    """The share of the intervals that are above 0, which makes "better than the baseline: yes"."""
    t: float
    flips: float
    wilcoxon: float


def losses(samples: int = BOARDS, queries: Sequence[int] = (50, 320)) -> Study:
    """Return the study of rare large losses."""
    title = f"A team with rare large losses and a baseline that is as good, in {samples:,} samples of queries"
    found = list(loss_cells(samples, queries))
    claim = Claim(
        'With rare large losses, "better than the baseline: yes" is wrong in at most 5 % of the samples.',
        verdict(all(each.interval <= LEVEL for each in found)),
        "; ".join(f"{each.queries} queries: {each.interval:.1%}" for each in found) + ".",
    )
    drawing = Drawing(title, width=860)
    across = Axis.groups("queries", [f"{each.queries:,}" for each in found])
    (panel,) = drawing.panels(("Wrongly better", across, Axis.numbers("samples (%)", 0, 100, 20)))
    for at, each in enumerate(found):
        panel.bars(at, [100 * share for share in (each.interval, each.t, each.flips, each.wilcoxon)], STYLES[:4])
    drawing.legend(patches=list(zip(("interval", "t", "sign flips", "Wilcoxon"), STYLES, strict=False)))
    return Study(title, drawing.svg(), Losses._fields, found, (claim,))


def loss_cells(samples: int, queries: Sequence[int]) -> Iterator[Losses]:
    """Yield how often each method calls the team better, at 5 %, or at 2.5 % where it is one-sided."""
    for at, count in enumerate(queries):
        kind = np.random.default_rng((SEED, 600, at)).random((samples, count))
        differences = np.where(kind < LOSSES, -1.0, np.where(kind < LOSSES + GAINS, GAIN, 0.0))
        low, high = difference_intervals(differences, bounded=True).T
        better = np.zeros(3)
        for sample, own in enumerate(differences):
            pair = np.array([own, np.zeros(count)])
            if own.sum() > 0:
                better[0] += t_test(pair)[0, 1] <= LEVEL
                better[1] += sign_flips(pair, DRAWS, seed=sample).better()[0, 1]
            better[2] += wilcoxon_greater(pair)[0, 1] <= LEVEL / 2
        no_loss = float(binom.pmf(0, count, LOSSES))
        covered = float(((low <= 0) & (high >= 0)).mean())
        yield Losses(count, samples, no_loss, covered, float((low > 0).mean()), *(better / samples).tolist())


def _drawn(title: str, found: Sequence[Skewed]) -> str:
    drawing = Drawing(title, width=860)
    counts = list(dict.fromkeys(each.queries for each in found))
    across, up = Axis.groups("queries", [f"{count:,}" for count in counts]), Axis.numbers("covered (%)", 88, 100, 2)
    (panel,) = drawing.panels(("Means near 0", across, up))
    panel.rule(95, across.low, across.high, STYLES[-1])
    styles = {name: STYLES[at % len(STYLES)] for at, name in enumerate(SHAPES)}
    for name, style in styles.items():
        panel.line(range(len(counts)), [max(100 * each.covered, up.low) for each in found if each.shape == name], style)
    drawing.legend(lines=list(styles.items()))
    return drawing.svg()
