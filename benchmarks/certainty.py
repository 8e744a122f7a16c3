"""Time the statistics of a board, by scorer or by scipy called in a loop, and print seconds and results as JSON.

    python -m benchmarks.certainty scorer TEAMS QUERIES DRAWS
    python -m benchmarks.certainty scipy TEAMS QUERIES DRAWS --most CALLS

scipy handles one team or one pair in a call. With `--most`, only so many calls are measured, at equal distances, and
their time is multiplied.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from scorer.scoring.statistics.paired_tests import randomisation
from scorer.scoring.statistics.rankings import means as means_of
from scorer.scoring.statistics.rankings import rank_frequencies, rank_ranges, ranking, ranks_of, tiers
from scorer.scoring.statistics.resampling import bca_intervals, percentile_intervals, resampled_means, sign_flips

Floats = NDArray[np.float64]

SEED = 1

TASKS = ("percentile intervals of all means", "BCa intervals of all means", "p-values of all pairs")
"""What both do."""

BOARD = "a board: intervals, decisions on all pairs, rank ranges, rank frequencies, tiers"
"""What scorer does for a board; scipy has no function for most of it."""


def generated(teams: int, queries: int) -> Floats:
    """Return scores, [team, query], with a common difficulty of each query."""
    random = np.random.default_rng(SEED)
    ability = random.normal(size=(teams, queries)) + random.normal(size=queries)
    ability += 0.3 * random.normal(size=(teams, 1))
    return 1 / (1 + np.exp(-ability))


def by_scorer(scores: Floats, draws: int) -> dict[str, Any]:
    """Return the seconds and the results of each task."""

    def board() -> None:
        means = resampled_means(scores, draws)
        percentile_intervals(means)
        tests = sign_flips(scores, draws)
        rank_ranges(tests.better())
        rank_ranges(tests.better_marginally(), tests.worse_marginally())
        rank_frequencies(ranks_of(means))
        tiers(ranking(means_of(scores)).ranks, tests.better())

    tasks: list[Callable[[], Floats]] = [
        lambda: percentile_intervals(resampled_means(scores, draws)),
        lambda: bca_intervals(resampled_means(scores, draws), scores),
        lambda: randomisation(scores, draws)[np.triu_indices(len(scores), 1)],
    ]
    found = {task: _timed(work) for task, work in zip(TASKS, tasks, strict=True)}
    started = time.perf_counter()
    board()
    return {**found, BOARD: {"seconds": time.perf_counter() - started}}


def _timed(work: Callable[[], Floats]) -> dict[str, Any]:
    started = time.perf_counter()
    results = work()
    return {"seconds": time.perf_counter() - started, "results": results.tolist()}


def by_scipy(scores: Floats, draws: int, most: int) -> dict[str, Any]:
    """Return the seconds, the number of measured calls and of all, and the results of the measured ones."""
    random = np.random.default_rng(SEED)

    def interval(team: int, method: str) -> list[float]:
        found = stats.bootstrap((scores[team],), np.mean, n_resamples=draws, batch=1000, method=method, rng=random)
        return [float(end) for end in found.confidence_interval]

    def p_value(pair: tuple[int, int]) -> float:
        found = stats.permutation_test(
            (scores[pair[0]], scores[pair[1]]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=draws,
            batch=1000,
            rng=random,
        )
        return float(found.pvalue)

    teams, pairs = range(len(scores)), list(combinations(range(len(scores)), 2))
    return {
        TASKS[0]: _in_a_loop(lambda team: interval(team, "percentile"), teams, most),
        TASKS[1]: _in_a_loop(lambda team: interval(team, "BCa"), teams, most),
        TASKS[2]: _in_a_loop(p_value, pairs, most),
    }


def _in_a_loop(call: Callable[[Any], Any], cases: Sequence[Any], most: int) -> dict[str, Any]:
    measured = np.unique(np.linspace(0, len(cases) - 1, min(most, len(cases))).astype(int)).tolist()
    started = time.perf_counter()
    results = [call(cases[at]) for at in measured]
    seconds = (time.perf_counter() - started) * len(cases) / len(measured)
    return {"seconds": seconds, "calls": len(cases), "measured": measured, "results": results}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print seconds and results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=("scorer", "scipy"))
    for name in ("teams", "queries", "draws"):
        parser.add_argument(name, type=int)
    parser.add_argument("--most", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    scores = generated(options.teams, options.queries)
    if options.tool == "scorer":
        print(json.dumps(by_scorer(scores, options.draws)))
    else:
        print(json.dumps(by_scipy(scores, options.draws, options.most)))


if __name__ == "__main__":
    main()
