"""How often the statements of an overall ranking are true, where tracks share queries: `coverage-overall`.

Two tracks with equally many queries, and equal teams. The ids of the queries are all different, the same by accident,
the same for half of the queries, or the same for all; where they are the same on purpose, the abilities of a team on a
query in both tracks have a correlation of 0.9, or are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from scorer.measures.matched import Floats, Ints
from scorer.options import LEVEL
from scorer.scoring.statistics.rankings import correlations, sums_of_ranks, weighted_sums
from scorer.scoring.statistics.resampling import intervals_of_sum, mean_intervals, sign_flips
from scorer.scoring.statistics.units import units_of
from studies.coverage import DRAWS, FEW, LEAST, SEED
from studies.drawing import STYLES, Axis, Drawing
from studies.populations import CORRELATION, POPULATIONS, Population
from studies.study import Claim, Study, verdict

QUERIES = (FEW, 50, 320)
TEAMS = 20
BOARDS = 6_000
"""The standard error of a share of 5 % is 0.3 points."""

PART = 6
"""Mean ranks are decided on one board in so many."""

MOST = 0.06
"""The largest of 45 shares of 5 % is seldom above it."""

SHARES = np.array([0.5, 0.5])

WAYS = {
    "different": (0.0, 0.0),
    "the same by accident": (1.0, 0.0),
    "the same for half": (0.5, 0.9),
    "the same": (1.0, 0.9),
    "the same, as are the scores": (1.0, 1.0),
}
"""The ids of the queries -> the share of ids that are the same, and the correlation of the abilities on them."""


class Overall(NamedTuple):
    """How often an overall ranking of equal teams is right."""

    population: str
    queries: int
    """Of each track."""
    ids: str
    boards: int
    alarms: float
    """The share of the boards on which a team is declared better than another one, by the mean of the scores."""
    by_rank: float
    """The same by mean ranks, or by points, on a part of the boards."""
    covered: float
    """The share of the boards on which the interval of the first team contains its true overall score."""


def overall(boards: int = BOARDS, queries: Sequence[int] = QUERIES) -> Study:
    """Return the study of overall rankings."""
    title = f"Overall rankings of {TEAMS} equal teams over two tracks, on {boards:,} boards each"
    found = list(cells(boards, queries))
    return Study(title, _drawn(title, found), Overall._fields, found, _claims(found))


def cells(boards: int, queries: Sequence[int] = QUERIES, ways: Sequence[str] = tuple(WAYS)) -> Iterator[Overall]:
    """Yield how often overall rankings are right, for each population, number of queries and kind of ids."""
    for at, (population, count, way) in enumerate(product(POPULATIONS, queries, ways)):
        yield cell(at, population, count, way, boards)


def cell(seed: int, population: Population, queries: int, way: str, boards: int) -> Overall:
    """Return how often overall rankings are right."""
    random = np.random.default_rng((SEED, 400, seed))
    truth = float(population.means(np.zeros(1))[0])
    alarms, by_rank, first = 0, 0, np.empty((2, boards, queries))
    for board in range(boards):
        scores, units = draw(random, population, queries, way)
        alarms += int(sign_flips(weighted_sums(scores, units, SHARES), DRAWS, seed=board).better().any())
        if board < boards // PART:
            above = [sign_flips(each, DRAWS, seed=board, level=LEVEL / len(scores)).better() for each in scores]
            by_rank += int(sums_of_ranks(above, SHARES.tolist())[1].any())
        first[:, board] = [each[0] for each in scores]
    means, ends = first.mean(axis=2), np.stack([mean_intervals(each) for each in first])
    low, high = intervals_of_sum(means, ends, SHARES, correlations(list(first), units)).T
    covered = float(((low <= truth) & (truth <= high)).mean())
    return Overall(population.name, queries, way, boards, alarms / boards, PART * by_rank / boards, covered)


def draw(
    random: np.random.Generator, population: Population, queries: int, way: str
) -> tuple[list[Floats], list[Ints]]:
    """Return the scores in two tracks, [track][team, query], and the units of their queries."""
    share, correlation = WAYS[way]
    same = round(share * queries)
    together = np.where(np.arange(queries) < same, correlation, 0.0)
    common, *own = (_abilities(random, queries) for _ in range(3))
    scores = [
        population.score(population.base + np.sqrt(together) * common + np.sqrt(1 - together) * each) for each in own
    ]
    ids = [[f"{'' if query < same else track}{query}" for query in range(queries)] for track in ("one ", "two ")]
    return scores, units_of(ids)


def _abilities(random: np.random.Generator, queries: int) -> Floats:
    difficulty, own = random.standard_normal((1, queries)), random.standard_normal((TEAMS, queries))
    return np.asarray(np.sqrt(CORRELATION) * difficulty + np.sqrt(1 - CORRELATION) * own)


def _claims(found: Sequence[Overall]) -> tuple[Claim, ...]:
    alarms, by_rank = [each.alarms for each in found], [each.by_rank for each in found]
    covered = [each.covered for each in found]
    return (
        Claim(
            "At most 6 % of the boards of equal teams declare a difference in each cell; 5 % by mean ranks.",
            verdict(max(alarms) <= MOST and max(by_rank) <= LEVEL),
            f"{min(alarms):.1%} to {max(alarms):.1%} of the boards; at most {max(by_rank):.1%} by mean ranks.",
        ),
        Claim(
            "The intervals of overall scores cover the true one in at least 94 %, in each cell.",
            verdict(min(covered) >= LEAST),
            f"{min(covered):.1%} to {max(covered):.1%}.",
        ),
    )


def _drawn(title: str, found: Sequence[Overall]) -> str:
    drawing = Drawing(title, width=1180)
    counts = list(dict.fromkeys(each.queries for each in found))
    across = Axis.groups("queries of a track", [f"{count:,}" for count in counts])
    up = Axis.numbers("covered (%)", 88, 100, 2)
    names, styles = list(dict.fromkeys(each.population for each in found)), dict(zip(WAYS, STYLES, strict=False))
    for name, panel in zip(names, drawing.panels(*((name, across, up) for name in names)), strict=True):
        panel.rule(95, across.low, across.high, STYLES[-1])
        for way, style in styles.items():
            these = [each for each in found if (each.population, each.ids) == (name, way)]
            panel.line(range(len(these)), [max(100 * each.covered, up.low) for each in these], style)
    drawing.legend(lines=list(styles.items()))
    return drawing.svg()
