"""Every chart of one small challenge, for tests of all charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from scorer.board.build import RECALLS
from scorer.board.charts.over_time import (
    NARROW,
    History,
    Moved,
    TeamLine,
    leaders_over_time,
    precision_recall,
    preliminary_against_final,
    r_precision_by_cutoff,
)
from scorer.board.charts.panel import Chart
from scorer.board.charts.rankings import (
    blob_plot,
    query_boxes,
    ranking_rules,
    scores_with_intervals,
    significance_map,
)

OPENED = datetime(2011, 4, 18, 10, tzinfo=UTC)

FINDING = "A sentence about these <b>numbers</b>."
"""The text alternative of charts of reports."""

TEAMS = ("tea-kettle", "north-window", "paper-boats", "copper-wire", "slow-river")


def scores_of(teams: int, queries: int) -> NDArray[np.float64]:
    """Scores of a measure, [team, query]: multiples of 0.1; earlier teams are better."""
    random = np.random.default_rng(7)
    values = random.uniform(0, 1, (teams, queries)) - np.linspace(0, 0.4, max(teams, 1))[:teams, None]
    return np.clip(values.round(1), 0, 1)


def histories(names: Sequence[str], means: Sequence[float], entries: int = 3) -> list[History]:
    """Some entries of each team, the last of which has its mean, and a baseline."""
    found = [
        tuple(
            (OPENED + timedelta(days=1 + place % 7 + 9 * entry), mean * (entry + 1) / entries)
            for entry in range(entries)
        )
        for place, mean in enumerate(means)
    ]
    teams = [History(name, scores, entries=scores) for name, scores in zip(names, found, strict=True)]
    return [*teams, History("most-popular", ((OPENED, 0.05),), is_baseline=True)]


def drawings(names: Sequence[str] = TEAMS, queries: int = 40) -> dict[str, Callable[[], Chart]]:
    """Return all charts by their names, for teams with these names."""
    count = len(names)
    scores = scores_of(count, queries)
    means = scores.mean(axis=1).tolist()
    ranks = list(range(1, count + 1))
    shares = [[max(0.0, 0.6 - 0.2 * abs(rank - own)) for rank in ranks] for own in ranks]
    quantiles = [(max(1.0, own - 1.0), float(own), min(float(count), own + 1.5)) for own in ranks]
    better = [[column > row + 1 for column in range(count)] for row in range(count)]
    intervals = [(mean - 0.03, mean + 0.04) for mean in means]
    rules = {"mean": ranks, "median": [*ranks[:2][::-1], *ranks[2:]], "mean of the ranks": ranks}
    moved = [
        Moved(name, mean * 0.9, mean, ranks[place ^ 1] if (place ^ 1) < count else place + 1, place + 1)
        for place, (name, mean) in enumerate(zip(names, means, strict=True))
    ]
    first = list(zip(names, means, strict=True))[:10]  # a board has no more curves
    recalls = [TeamLine(name, tuple(mean * (1 - level) for level in RECALLS)) for name, mean in first]
    cutoffs = [
        *(TeamLine(name, (mean, None, mean + 0.1)) for name, mean in first),
        *([TeamLine("most-popular", (0.1, 0.1, 0.12), is_baseline=True)] if names else []),
    ]
    teams = histories(names, means) if names else []
    return {
        "scores_with_intervals": lambda: scores_with_intervals(names, means, intervals, "MARp", FINDING),
        "blob_plot": lambda: blob_plot(names, shares, quantiles, ranks, FINDING),
        "significance_map": lambda: significance_map(names, better, FINDING),
        "query_boxes": lambda: query_boxes(names, scores, "MARp", FINDING),
        "ranking_rules": lambda: ranking_rules(names, rules, FINDING),
        "leaders_over_time": lambda: leaders_over_time(teams, "MARp"),
        "leaders_on_a_phone": lambda: leaders_over_time(teams, "MARp", width=NARROW),
        "preliminary_against_final": lambda: preliminary_against_final(moved, "MARp"),
        "precision_recall": lambda: precision_recall(recalls),
        "r_precision_by_cutoff": lambda: r_precision_by_cutoff(cutoffs, (5, 10, 30)),
    }


CHARTS = tuple(drawings())


def digest() -> str:
    """Return a digest of all charts."""
    return sha256("".join(draw().svg().text for draw in drawings().values()).encode()).hexdigest()
