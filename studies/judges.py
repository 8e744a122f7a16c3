"""How often the statements about scores by two judges are true, where people judge a part of the queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scorer.measures.matched import Floats, Ints
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.resampling import sign_flips
from studies.coverage import DRAWS, LEAST, SEED
from studies.drawing import STYLES, Axis, Drawing
from studies.study import Claim, Study, verdict

SAMPLES, AT_ONCE = 6_000, 500
BOARDS, TEAMS = 1_500, 5
MOST = 0.06
FAVOUR = 0.05
"""By how much the machine favours a team."""

_Drawn = Callable[[np.random.Generator, tuple[int, ...]], Floats]

SHAPES: dict[str, tuple[_Drawn, float]] = {
    "continuous": (lambda random, shape: random.beta(2, 3, shape), 0.4),
    "0 or 1": (lambda random, shape: (random.random(shape) < 0.4).astype(np.float64), 0.4),
    "95 % zeros": (lambda random, shape: (random.random(shape) < 0.05) * random.beta(3, 1, shape), 0.0375),
}
"""How true scores are drawn, and their mean."""


class Cell(NamedTuple):
    """How true scores are drawn, the queries, those that are checked, and the machine's weight."""

    shape: str
    queries: int
    checked: int
    weight: float = 1.0
    stages: bool = False
    """Whether a third of the queries is preliminary."""
    clusters: int = 0
    """How many clusters the queries are in, of which people judge whole ones; 0: each query is one."""
    rare: float = 0.0
    """On which share of the queries the machine errs, always upwards; 0: it errs on a fifth, in both directions."""


CELLS = (
    *(Cell(shape, *sizes) for shape in SHAPES for sizes in ((300, 30), (300, 30, 0.5), (300, 60), (100, 20))),
    Cell("continuous", 300, 60, stages=True),
    Cell("continuous", 300, 30, clusters=100),
    Cell("continuous", 1000, 30, rare=0.03),
)


class Covered(NamedTuple):
    """How often intervals contain the truth, and of how many samples."""

    cell: str
    samples: int
    mean: float
    difference: float


def judges(samples: int = SAMPLES, boards: int = BOARDS, cells: Sequence[Cell] = CELLS) -> Study:
    """Return the study of scores by two judges."""
    title = f"Coverage of 95 % intervals of scores by two judges, in {samples:,} samples"
    found = [covered(cell, samples) for cell in cells]
    usual = [each for each in found if not (each.cell.startswith("95 %") or each.cell.endswith("errors"))]
    lowest = min(min(each.mean, each.difference) for each in usual)
    alone, corrected = alarms(boards)
    claims = (
        Claim(
            "Where scores and errors are not rare, intervals cover the truth in at least 94 % of the samples.",
            verdict(lowest >= LEAST),
            f"{lowest:.1%} at least; of rare scores and rare errors {min(each.mean for each in found):.1%} at least.",
        ),
        Claim(
            "A machine that favours one of five equal teams separates teams on at most 6 % of the boards.",
            verdict(corrected <= MOST),
            f"{corrected:.1%} of {boards:,} boards; {alone:.1%} by the machine.",
        ),
    )
    drawing = Drawing(title, width=860)
    across, up = Axis.groups("cell", [str(at + 1) for at in range(len(found))]), Axis.numbers("covered (%)", 70, 100, 5)
    (panel,) = drawing.panels(("Means and differences", across, up))
    panel.rule(95, across.low, across.high, STYLES[-1])
    both = [each.mean for each in found], [each.difference for each in found]
    for style, values in zip(STYLES, both, strict=False):
        panel.line(range(len(found)), [max(100 * value, up.low) for value in values], style)
    drawing.legend(lines=list(zip(("mean", "difference"), STYLES, strict=False)))
    return Study(title, drawing.svg(), Covered._fields, found, claims)


def covered(cell: Cell, samples: int) -> Covered:
    """Return how often the intervals of two equal teams, one of which is favoured, and of their difference are true."""
    means = differences = 0.0
    _, truth = SHAPES[cell.shape]
    units = np.arange(cell.queries) % cell.clusters if cell.clusters else None
    for start in range(0, samples, AT_ONCE):
        count = min(AT_ONCE, samples - start)
        drawn = sampled(cell, np.random.default_rng((SEED, 700, CELLS.index(cell), start)), count, units)
        means += _contains(drawn.intervals(units), truth) / 2
        pairs = drawn.differences(np.arange(count), np.arange(count, 2 * count))
        differences += _contains(pairs.intervals(units), 0.0)
    name = f"{cell.shape}, {cell.checked} of {cell.queries}, weight {cell.weight:g}"
    name += (
        f", {cell.clusters} clusters" * bool(cell.clusters)
        + ", two stages" * cell.stages
        + ", rare errors" * bool(cell.rare)
    )
    return Covered(name, samples, means / samples, differences / samples)


def _contains(intervals: Floats, truth: float) -> float:
    return float(((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])).sum())


def sampled(cell: Cell, random: np.random.Generator, count: int, units: Ints | None = None) -> TwoJudges:
    """Return samples of two equal teams, [team x sample, query]; the machine errs, and favours the first team."""
    (draw, _), shape = SHAPES[cell.shape], (2, count, cell.queries)
    true = draw(random, shape)
    if units is not None:
        common = draw(random, (2, count, cell.clusters))[:, :, units]
        true = np.where(random.random(shape) < 0.5, common, true)
    wrong = random.random(shape) < cell.rare if cell.rare else random.random(shape) >= 0.8
    machine = np.where(wrong, 1.0 if cell.rare else draw(random, shape), true)
    machine[0] += FAVOUR
    of_units = np.arange(cell.queries) if units is None else units
    number = cell.checked if units is None else cell.checked * cell.clusters // cell.queries
    chosen = random.permuted(np.tile(np.arange(of_units.max() + 1), (count, 1)), axis=1) < number
    people = np.where(chosen[:, of_units], true, np.nan)
    flagged = np.arange(cell.queries) < (cell.queries // 3 if cell.stages else 0)
    return TwoJudges(machine.reshape(-1, cell.queries), people.reshape(-1, cell.queries), flagged, cell.weight)


def alarms(boards: int) -> tuple[float, float]:
    """Return on which share of boards of equal teams one is better than another, by the machine, and by both judges."""
    found = np.zeros(2)
    for board in range(boards):
        random = np.random.default_rng((SEED, 800, board))
        true = random.beta(2, 3, (TEAMS, 300))
        machine = true + random.normal(0, 0.15, true.shape)
        machine[0] += FAVOUR
        people = np.where(random.permutation(300) < 30, true, np.nan)
        both = TwoJudges(machine, people, np.zeros(300, dtype=bool))
        found += [sign_flips(scores, DRAWS, seed=board).better().any() for scores in (machine, both.values)]
    alone, corrected = (found / boards).tolist()
    return alone, corrected
