"""Figure 2 of Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, arXiv 1612.06136, 2016.

100 items with random scores, 1000 samples a cell. Scenario 1: the items at ranks 10 and 11 change places. Scenario 2:
the first ten ranks are reversed. nDCG with judgements by rank (the first 10 items 3, up to 25 2, up to 50 1,
others 0) is the same for all samples; nDCGphi depends on the scores. Both at 10, with gain 2^relevance - 1.

How scores are drawn, as the authors' published code does:

- balanced: 100 whole numbers from 1 to 1000
- imbalanced: 80 from 1 to 500 and 20 from 500 to 1000, again until the box plot of the sample has an outlier

The text of the paper differs: 90 of the lower range and 10 of the upper one. The third box shows this distribution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import scorer
from scorer.measures.matched import Bools, Floats
from studies.drawing import STYLES, Axis, Drawing, Style
from studies.rankings import matched
from studies.study import Claim, Study, verdict

ITEMS, SAMPLES, MANY_SAMPLES, SEED, CUTOFF = 100, 1000, 10_000, 1, 10
AD_HOC = np.repeat([3.0, 2.0, 1.0, 0.0], [10, 15, 25, 50])
"""The judgement by rank in the ideal order."""

PUBLISHED = {
    ("scenario 1", "balanced"): (0.9965, 0.9981, 0.9992),
    ("scenario 1", "imbalanced"): (0.9949, 0.9974, 0.9989),
    ("scenario 2", "balanced"): (0.8862, 0.9078, 0.9280),
    ("scenario 2", "imbalanced"): (0.8695, 0.8984, 0.9215),
}
"""First quartile, median and third quartile, as measured in the vector drawing that comes with the authors' code."""

TOLERANCE = 0.003
"""The largest allowed difference.

The standard errors of quartiles of 1000 samples reach 0.0015 in each of the two runs. One seed of three has one of the
twelve quartiles further away, so the claim is also tested on more samples, where the seed does not matter.
"""


def balanced(random: np.random.Generator, samples: int) -> Floats:
    """Return ``[sample, item]``: scores, the highest first."""
    return _descending(_whole_numbers(random, 1, 1000, (samples, ITEMS)))


def imbalanced(random: np.random.Generator, samples: int) -> Floats:
    """Return ``[sample, item]``: scores, the highest first, with outliers in each sample."""
    kept = np.zeros((0, ITEMS))
    while len(kept) < samples:
        drawn = _two_ranges(random, samples, lower=80)
        kept = np.concatenate([kept, drawn[has_outlier(drawn)]])
    return kept[:samples]


def imbalanced_as_in_the_text(random: np.random.Generator, samples: int) -> Floats:
    """Return ``[sample, item]``: scores, the highest first."""
    return _two_ranges(random, samples, lower=90)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "balanced": balanced,
    "imbalanced": imbalanced,
    "imbalanced, 90 : 10": imbalanced_as_in_the_text,
}


def _two_ranges(random: np.random.Generator, samples: int, lower: int) -> Floats:
    low = _whole_numbers(random, 1, 500, (samples, lower))
    high = _whole_numbers(random, 500, 1000, (samples, ITEMS - lower))
    return _descending(np.concatenate([low, high], axis=1))


def _whole_numbers(random: np.random.Generator, low: int, high: int, shape: tuple[int, int]) -> Floats:
    return random.integers(low, high, size=shape, endpoint=True).astype(np.float64)


def _descending(scores: Floats) -> Floats:
    return -np.sort(-scores, axis=1)


def has_outlier(descending: Floats) -> Bools:
    """Return ``[sample]``: whether a score is beyond the hinges by more than 1.5 times their distance.

    Tukey's hinges of an even number of scores are the medians of the upper and of the lower half.
    """
    half = descending.shape[1] // 2
    upper, lower = np.median(descending[:, :half], axis=1), np.median(descending[:, half:], axis=1)
    reach = 1.5 * (upper - lower)
    outlying: Bools = (descending[:, 0] > upper + reach) | (descending[:, -1] < lower - reach)
    return outlying


def scenario_1(descending: Floats) -> Floats:
    """Return the scores with ranks 10 and 11 exchanged."""
    return descending[:, [*range(9), 10, 9, *range(11, ITEMS)]]


def scenario_2(descending: Floats) -> Floats:
    """Return the scores with the first ten ranks reversed.

    A reversal of all hundred would score 0 with both measures, because the lower half has no gain; the scores of the
    paper vary.
    """
    return descending[:, [*range(9, -1, -1), *range(10, ITEMS)]]


SCENARIOS: dict[str, Callable[[Floats], Floats]] = {"scenario 1": scenario_1, "scenario 2": scenario_2}

Cells = dict[tuple[str, str], Floats]
"""Scenario and distribution -> ``[sample]``, nDCGphi@10."""


def data_driven(samples: int = SAMPLES, seed: int = SEED) -> Cells:
    """Return the nDCGphi@10 of every sample; both scenarios permute the same scores."""
    random = np.random.default_rng(seed)
    measure = scorer.parse(f"nDCGphi@{CUTOFF}")[0]
    drawn = {name: draw(random, samples) for name, draw in DISTRIBUTIONS.items()}
    return {
        (scenario, name): measure(matched(permuted(scores)))
        for scenario, permuted in SCENARIOS.items()
        for name, scores in drawn.items()
    }


def ad_hoc() -> dict[str, float]:
    """Return scenario -> nDCG@10 with judgements by rank."""
    measure = scorer.parse(f"nDCG(gain=exp)@{CUTOFF}")[0]
    return {name: float(measure(matched(permuted(AD_HOC[np.newaxis])))[0]) for name, permuted in SCENARIOS.items()}


def quartiles(cells: Cells) -> dict[tuple[str, str], Floats]:
    """Return first quartile, median and third quartile of each cell."""
    return {cell: np.quantile(scores, [0.25, 0.5, 0.75]) for cell, scores in cells.items()}


def distance(cells: Cells) -> float:
    """Return the largest difference of a quartile from the published one."""
    own = quartiles(cells)
    return max(float(np.abs(own[cell] - published).max()) for cell, published in PUBLISHED.items())


def figure_2(samples: int = SAMPLES) -> Study:
    """Return figure 2: both scenarios for all distributions."""
    title = "Moniz, Torgo and Vinagre 2016, figure 2: two permutations, judged by rank and by score"
    cells, by_rank = data_driven(samples), ad_hoc()
    rows = [
        (scenario, distribution, by_rank[scenario], *points.tolist())
        for (scenario, distribution), points in quartiles(cells).items()
    ]
    columns = ("scenario", "scores", "nDCG@10", "nDCGphi@10 first quartile", "median", "third quartile")
    return Study(title, _drawn(title, cells, by_rank), columns, rows, _claims(cells, by_rank))


def _claims(cells: Cells, by_rank: dict[str, float]) -> tuple[Claim, ...]:
    samples = cells["scenario 1", "balanced"].size
    medians = {cell: float(np.median(scores)) for cell, scores in cells.items()}
    over = {name: float(np.mean(cells["scenario 1", name] > by_rank["scenario 1"])) for name in DISTRIBUTIONS}
    under = {name: float(np.mean(cells["scenario 2", name] < by_rank["scenario 2"])) for name in DISTRIBUTIONS}
    off, off_with_many = distance(cells), distance(data_driven(MANY_SAMPLES))
    gap = {name: medians["scenario 2", "balanced"] - medians["scenario 2", name] for name in DISTRIBUTIONS}
    varying = quartiles(cells)["scenario 2", "balanced"]
    return (
        Claim(
            f"The quartiles are those of the published figure, within {TOLERANCE}.",
            verdict(max(off, off_with_many) <= TOLERANCE, in_part=off_with_many <= TOLERANCE),
            f"At most {off:.4f} apart with {samples:,} samples and {off_with_many:.4f} with {MANY_SAMPLES:,}, "
            "drawn as the published code draws them.",
        ),
        Claim(
            "Scenario 1: in most samples, judgements by rank overstate the error.",
            verdict(min(over.values()) > 0.5),
            f"nDCG@10 is {by_rank['scenario 1']:.6f}; nDCGphi@10 is above it in {_shares(over)} of the samples.",
        ),
        Claim(
            "Scenario 2: judgements by rank understate the error.",
            verdict(min(under.values()) > 0.5),
            f"nDCG@10 is {by_rank['scenario 2']:.6f}, as if there were no error; nDCGphi@10 is below it in "
            f"{_shares(under)} of the samples.",
        ),
        Claim(
            "Scenario 2: nDCGphi varies considerably from sample to sample.",
            verdict(varying[2] - varying[0] > 0.02),
            f"Half of the balanced samples are between {varying[0]:.3f} and {varying[2]:.3f}.",
        ),
        Claim(
            "Scenario 2: the error weighs much more on imbalanced scores than on balanced ones.",
            verdict(gap["imbalanced"] > 0.05, in_part=gap["imbalanced, 90 : 10"] > 0.05),
            f"The median falls by {gap['imbalanced']:.3f} on scores as the published code draws them, and by "
            f"{gap['imbalanced, 90 : 10']:.3f} on scores as the text has them (90 low, 10 high, none drawn again).",
        ),
    )


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{share:.1%} ({name})" for name, share in shares.items())


def _drawn(title: str, cells: Cells, by_rank: dict[str, float]) -> str:
    drawing = Drawing(title, width=960, height=420)
    across = Axis.groups("distribution of the scores", list(DISTRIBUTIONS))
    scales = {
        "scenario 1": Axis.numbers("score at 10", 0.95, 1, 0.01, decimals=2),
        "scenario 2": Axis.numbers("score at 10", 0.5, 1, 0.1, decimals=1),
    }
    titles = {"scenario 1": "Scenario 1: ranks 10 and 11 exchanged", "scenario 2": "Scenario 2: ranks 1 to 10 reversed"}
    line, box = STYLES[1], Style("#9ecae1")
    panels = drawing.panels(*((titles[scenario], across, scales[scenario]) for scenario in SCENARIOS))
    for scenario, panel in zip(SCENARIOS, panels, strict=True):
        for group, distribution in enumerate(DISTRIBUTIONS):
            panel.box_plot(group, cells[scenario, distribution], box)
        panel.rule(by_rank[scenario], across.low, across.high, line)
    drawing.legend(lines=[("nDCG@10, judged by rank", line)], patches=[("nDCGphi@10, judged by score", box)])
    return drawing.svg()
