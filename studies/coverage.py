"""How often the statements of a board about certainty are true, on scores drawn from populations with known means.

coverage-intervals   95 % intervals of means, of differences and of means of two tracks, by three methods
coverage-ranks       ranges of ranks and tiers, with all, some or no teams equal
coverage-alarms      boards of 100 equal teams on which a test declares a difference, for two tests
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from scorer.measures.matched import Floats
from scorer.options import LEVEL
from scorer.scoring.statistics.rankings import rank_ranges, ranks_of, tiers
from scorer.scoring.statistics.resampling import (
    bca_intervals,
    difference_intervals,
    intervals_of_sum,
    mean_intervals,
    percentile_intervals,
    resampled_means,
    sign_flips,
)
from studies.drawing import STYLES, Axis, Drawing
from studies.populations import POPULATIONS, Population
from studies.study import Claim, Study, verdict

SEED = 1
QUERIES = (50, 320, 5704)
FEW = 10
"""Queries as of a small slice."""

SAMPLES = 10_000
"""Samples of queries for each interval: the standard error of a coverage of 95 % is 0.2 points."""

RESAMPLES = 2_000
"""Resamples of a sample. Boards use more, which changes the coverage by less than its standard error here."""

BOARDS = 6_000
"""Boards of equal teams for each share: the standard error of a share of 5 % is 0.3 points. A third of them with other
teams, and a quarter of either with the largest number of queries."""

ALARM_BOARDS = 1_000
"""Boards for the comparison of two tests."""

DRAWS = 999
"""Flips or resamples of a test on a board."""

TEAMS, MANY_TEAMS = 20, 100
ADVANTAGE = 0.2
"""The shift of the better team of a difference, and of the better half of the teams."""

AT_ONCE = 250
"""Samples that are in memory at a time."""

TRUTHS = {
    "all equal": np.zeros(TEAMS),
    "half better": np.repeat([ADVANTAGE, 0.0], TEAMS // 2),
    "none equal": np.linspace(ADVANTAGE, 0.0, TEAMS),
}
"""The shifts of the teams."""

# Intervals


class Coverage(NamedTuple):
    """How often an interval contains the true value."""

    population: str
    queries: int
    of: str
    method: str
    covered: float
    """The share of the samples. An interval that is undefined contains nothing."""
    undefined: float
    """The share of the samples without an interval, because all scores are equal."""


LEAST = 0.94
"""The least coverage of intervals that are meant to cover 95 %."""

METHODS = {
    "mean": ("boards", "percentile", "BCa"),
    "difference": ("boards", "percentile", "BCa"),
    "mean of two tracks": ("boards", "percentile"),
}
"""The methods for each quantity. The second track has the same population and number of queries."""


def intervals(samples: int = SAMPLES, queries: Sequence[int] = (FEW, *QUERIES)) -> Study:
    """Return the study of the intervals."""
    title = f"Coverage of 95 % intervals, in {samples:,} samples of queries"
    found = list(coverages(samples, queries))
    return Study(title, _drawn(title, found), Coverage._fields, found, interval_claims(found))


def coverages(samples: int, queries: Sequence[int]) -> Iterator[Coverage]:
    """Yield the coverage of each population, number of queries, quantity and method."""
    for at, (population, count) in enumerate(product(POPULATIONS, queries)):
        random = np.random.default_rng((SEED, at))
        shifts = np.array([ADVANTAGE, 0.0])
        better, worse = population.means(shifts)
        truths = {"mean": worse, "difference": better - worse, "mean of two tracks": worse}
        hits = {(of, method): np.zeros(2) for of, methods in METHODS.items() for method in methods}
        for start in range(0, samples, AT_ONCE):
            drawn = population.draw(random, shifts, count, min(AT_ONCE, samples - start))
            other = population.draw(random, shifts[1:], count, len(drawn))[:, 0]
            for of, method, ends in _intervals(drawn[:, 1], drawn[:, 0] - drawn[:, 1], other, start):
                covered = (ends[:, 0] <= truths[of]) & (truths[of] <= ends[:, 1])
                hits[of, method] += covered.sum(), np.isnan(ends).any(axis=1).sum()
        for (of, method), (covered, undefined) in hits.items():
            yield Coverage(population.name, count, of, method, covered / samples, undefined / samples)


def _intervals(scores: Floats, differences: Floats, other: Floats, seed: int) -> Iterator[tuple[str, str, Floats]]:
    """The intervals of samples by each method, given their scores, differences and scores in another track."""
    means = resampled_means(scores, RESAMPLES, seed)
    yield "mean", "boards", mean_intervals(scores)
    yield "mean", "percentile", percentile_intervals(means)
    yield "mean", "BCa", bca_intervals(means, scores)
    of_differences = resampled_means(differences, RESAMPLES, seed)
    yield "difference", "boards", difference_intervals(differences, bounded=True)
    yield "difference", "percentile", percentile_intervals(of_differences)
    yield "difference", "BCa", bca_intervals(of_differences, differences)
    both = np.stack([scores, other])
    ends = np.stack([mean_intervals(each) for each in both])
    yield "mean of two tracks", "boards", intervals_of_sum(both.mean(axis=2), ends, np.array([0.5, 0.5]))
    of_other = np.roll(resampled_means(other, RESAMPLES, seed), 1, axis=0)
    yield "mean of two tracks", "percentile", percentile_intervals((means + of_other) / 2)


def interval_claims(found: Sequence[Coverage]) -> tuple[Claim, ...]:
    """Return a claim about the intervals of boards with each number of queries."""
    claims = []
    for count in dict.fromkeys(each.queries for each in found):
        these = [each for each in found if each.queries == count and each.method == "boards"]
        outside = [each for each in these if each.covered < LEAST]
        text = f"With {count:,} queries, all intervals of boards cover the true value in at least 94 % of the samples."
        claims.append(Claim(text, verdict(not outside, in_part=len(outside) < len(these)), _listed(outside or these)))
    return tuple(claims)


def _listed(found: Sequence[Coverage]) -> str:
    return "; ".join(f"{each.population}, {each.of}, {each.method}: {each.covered:.1%}" for each in found) + "."


def _drawn(title: str, found: Sequence[Coverage]) -> str:
    drawing = Drawing(title, width=1180)
    counts = list(dict.fromkeys(each.queries for each in found))
    across = Axis.groups("queries", [f"{count:,}" for count in counts])
    up = Axis.numbers("covered (%)", 88, 100, 2)
    lines = dict(zip(((of, method) for of in METHODS for method in ("boards", "percentile")), STYLES, strict=False))
    names = list(dict.fromkeys(each.population for each in found))
    for name, panel in zip(names, drawing.panels(*((name, across, up) for name in names)), strict=True):
        panel.rule(95, across.low, across.high, STYLES[-1])
        for (of, method), style in lines.items():
            these = [each for each in found if (each.population, each.of, each.method) == (name, of, method)]
            panel.line(range(len(these)), [max(100 * each.covered, up.low) for each in these], style)
    drawing.legend(lines=[(f"{of}, {method}", style) for (of, method), style in lines.items()])
    return drawing.svg()


# Ranges of ranks, and tiers


class Decisions(NamedTuple):
    """How often the ranges and tiers of a board are true."""

    population: str
    queries: int
    truth: str
    boards: int
    covered: float
    """The share of the boards on which every range contains all ranks that its team may claim."""
    two_tiers: float
    """The share of the boards with more than one tier."""
    width: float
    """The mean number of ranks in a range."""


def rank_ranges_and_tiers(boards: int = BOARDS, queries: Sequence[int] = QUERIES) -> Study:
    """Return the study of the ranges of ranks and of the tiers.

    A team that equals others may claim any of the ranks that they share.
    """
    title = f"Ranges of ranks and tiers of {TEAMS} teams, on up to {boards:,} boards"
    found = [
        _decided(population, count, truth, _boards(boards, count, truth), seed=at)
        for at, (population, count, truth) in enumerate(product(POPULATIONS, queries, TRUTHS))
    ]
    return Study(title, _drawn_decisions(title, found), Decisions._fields, found, decision_claims(found))


def _boards(most: int, queries: int, truth: str) -> int:
    return most // (1 if truth == "all equal" else 3) // (4 if queries > 1000 else 1)


def _decided(population: Population, queries: int, truth: str, boards: int, seed: int) -> Decisions:
    random = np.random.default_rng((SEED, 100, seed))
    shifts = TRUTHS[truth]
    first = 1 + (shifts > shifts[:, np.newaxis]).sum(axis=1)
    last = (shifts >= shifts[:, np.newaxis]).sum(axis=1)
    covered = several = 0
    width = 0.0
    for board in range(boards):
        (scores,) = population.draw(random, shifts, queries)
        better = sign_flips(scores, DRAWS, seed=board).better()
        ranges = rank_ranges(better)
        covered += bool((ranges[:, 0] <= first).all() and (last <= ranges[:, 1]).all())
        several += len(tiers(ranks_of(scores.mean(axis=1)), better)) > 1
        width += float((ranges[:, 1] - ranges[:, 0] + 1).mean())
    return Decisions(population.name, queries, truth, boards, covered / boards, several / boards, width / boards)


def decision_claims(found: Sequence[Decisions]) -> tuple[Claim, ...]:
    """Return the claims about ranges and tiers."""
    lowest = {truth: min((each for each in found if each.truth == truth), key=_covered) for truth in TRUTHS}
    most = max((each for each in found if each.truth == "all equal"), key=lambda each: each.two_tiers)
    return (
        Claim(
            "All ranges of a board together are true on at least 95 % of the boards, within two standard errors.",
            verdict(all(1 - each.covered <= LEVEL + slack(each.boards) for each in found)),
            "; ".join(f"{truth}: at least {each.covered:.1%}" for truth, each in lowest.items())
            + ". With all teams equal the test has exactly its level, so the true share is 95 %.",
        ),
        Claim(
            "With all teams equal, at most 5 % of the boards have more than one tier, within two standard errors.",
            verdict(all(each.two_tiers <= LEVEL + slack(each.boards) for each in found if each.truth == "all equal")),
            f"At most {most.two_tiers:.1%}.",
        ),
    )


def _covered(found: Decisions) -> float:
    return found.covered


def slack(boards: int) -> float:
    """Return two standard errors of a share of 5 %."""
    return float(2 * (LEVEL * (1 - LEVEL) / boards) ** 0.5)


def _drawn_decisions(title: str, found: Sequence[Decisions]) -> str:
    drawing = Drawing(title, width=1100)
    counts = list(dict.fromkeys(each.queries for each in found))
    across = Axis.groups("queries", [f"{count:,}" for count in counts])
    up = Axis.numbers("all ranges are true (%)", 90, 100, 2)
    names = list(dict.fromkeys(each.population for each in found))
    styles = dict(zip(TRUTHS, STYLES, strict=False))
    for name, panel in zip(names, drawing.panels(*((name, across, up) for name in names)), strict=True):
        panel.rule(95, across.low, across.high, STYLES[7])
        for truth, style in styles.items():
            these = [each for each in found if (each.population, each.truth) == (name, truth)]
            panel.line(range(len(these)), [max(100 * each.covered, up.low) for each in these], style)
    drawing.legend(lines=list(styles.items()))
    return drawing.svg()


# False alarms


class Alarms(NamedTuple):
    """How often a test declares a difference between equal teams."""

    population: str
    test: str
    share: float
    """Of the boards."""


TESTS = ("sign flips", "studentised bootstrap")


def false_alarms(boards: int = ALARM_BOARDS, queries: int = 50) -> Study:
    """Return the study of the tests that decide all pairs at once, on boards of equal teams."""
    title = f"False alarms on {boards:,} boards of {MANY_TEAMS} equal teams and {queries} queries"
    found = []
    for at, population in enumerate(POPULATIONS):
        random = np.random.default_rng((SEED, 200, at))
        alarms = np.zeros(len(TESTS))
        for board in range(boards):
            (scores,) = population.draw(random, np.zeros(MANY_TEAMS), queries)
            alarms[0] += sign_flips(scores, DRAWS, seed=board).better().any()
            alarms[1] += studentised_bootstrap_decides(scores, seed=board)
        found += [Alarms(population.name, test, share / boards) for test, share in zip(TESTS, alarms, strict=True)]
    return Study(title, _drawn_alarms(title, found), Alarms._fields, found, _alarm_claims(found, boards))


def studentised_bootstrap_decides(scores: Floats, seed: int) -> bool:
    """Whether the largest studentised difference exceeds the 95 % quantile of its bootstrap distribution.

    The standard errors are those of the observed differences in all resamples. The test is not part of scorer.
    """
    means = np.ascontiguousarray((resampled_means(scores, DRAWS, seed) - scores.mean(axis=1)).T)
    observed, largest = 0.0, np.zeros(DRAWS)
    for i in range(len(scores) - 1):
        differences = scores[i] - scores[i + 1 :]
        errors = differences.std(axis=1) / (scores.shape[1] - 1) ** 0.5
        inverse = np.where(errors > 0, 1 / np.where(errors > 0, errors, 1), 0)
        largest = np.maximum(largest, (np.abs(means[i] - means[i + 1 :]) * inverse[:, np.newaxis]).max(axis=0))
        observed = max(observed, float((np.abs(differences.mean(axis=1)) * inverse).max()))
    return observed > float(np.quantile(largest, 1 - LEVEL))


def _alarm_claims(found: Sequence[Alarms], boards: int) -> tuple[Claim, ...]:
    flips, bootstrap = ([each.share for each in found if each.test == test] for test in TESTS)
    return (
        Claim(
            "Sign flips declare a difference on at most 5 % of the boards, within two standard errors "
            f"({100 * slack(boards):.1f} points).",
            verdict(max(flips) <= LEVEL + slack(boards)),
            _range(flips),
        ),
        Claim(
            "The studentised bootstrap with fixed standard errors does so on more than 5 %.",
            verdict(
                min(bootstrap) > LEVEL + slack(boards),
                max(bootstrap) > LEVEL + slack(boards),
            ),
            _range(bootstrap) + " Of P@1 near 1, 50 queries show too few differences for either test.",
        ),
    )


def _range(shares: Sequence[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%} of the boards."


def _drawn_alarms(title: str, found: Sequence[Alarms]) -> str:
    drawing = Drawing(title, width=860)
    names = list(dict.fromkeys(each.population for each in found))
    across = Axis.groups("scores", names)
    up = Axis.numbers("boards with a false alarm (%)", 0, 100, 20)
    (panel,) = drawing.panels(("All teams are equal", across, up))
    for at, name in enumerate(names):
        panel.bars(at, [100 * each.share for each in found if each.population == name], STYLES[: len(TESTS)])
    panel.rule(100 * LEVEL, across.low, across.high, STYLES[6])
    drawing.legend(patches=list(zip(TESTS, STYLES, strict=False)))
    return drawing.svg()
