"""The page of the analysis of a track: the rows of its tables, and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from scorer.board.charts.panel import PANEL_ROWS, Axis, ChartCache, rank_ticks, svg_percent
from scorer.board.charts.rankings import filled_runs
from scorer.board.reports.comparisons import decimal_text, name, p_value, percentage
from scorer.board.reports.report_text import (
    MOST_COLUMNS,
    first_by_rules,
    first_sentence,
    tau_sentence,
    tests_sentences,
)
from scorer.board.site.figures import analysis_figures, axis_for
from scorer.board.site.templates import Page
from scorer.board.site.views import BoardView
from scorer.measures.matched import Floats
from scorer.options import LEVEL
from scorer.scoring.analysis.analysis import TaskAnalysis
from scorer.scoring.analysis.scores import ONE_SIDED
from scorer.wording import counted, range_of_ranks, shared_ranks

_RARE = 0.005
"""The share of resamples below which a rank has no dot."""

_LARGEST = 9.0
"""The radius of the dot of a rank that a team has in all resamples, in pixels."""

_LISTED = 2
"""How many pairs on which two tests differ are named."""


Values = dict[str, Any]
"""What `analysis.html` shows, as JSON has it. Positions and widths are attributes of SVG, in pairs."""


def analysis_values(analysis: TaskAnalysis) -> Values:
    """Return the values of the analysis of a track with two teams or more."""
    count, words = len(analysis.names), analysis.task.words
    quantiles = np.nanquantile(analysis.task.shown, (0.1, 0.25, 0.5, 0.75, 0.9), axis=1).T
    axis = axis_for([*quantiles.ravel().tolist(), *analysis.means.tolist()])
    low, high = (decimal_text(float(end), 2) for end in quantiles[0, [1, 3]])
    best = np.count_nonzero(analysis.task.shown == np.nanmax(analysis.task.shown, axis=0), axis=1).tolist()
    by_mean = analysis.ranking.ranks.tolist()
    ranks = [ranking.ranks.tolist() if ranking.is_defined else [None] * count for ranking in analysis.rules.values()]
    shown = [shared_ranks(each) for each in ranks]
    agreement = (analysis.agreement["mean", rule] for rule in analysis.rules if rule != "mean")
    taus = ["–" if each is None or math.isnan(each.tau_b) else f"{each.tau_b:.2f}" for each in agreement]
    return {
        "rows": [
            {
                "team": team,
                "ranks": _ranks(analysis, at),
                "pairs": _pairs(analysis, at) if at < PANEL_ROWS else None,
                # By each rule, the mean first: the rank, and whether it is another one than by the mean.
                "rules": [
                    (text[at] or "–", each[at] is not None and each[at] != by_mean[at])
                    for each, text in zip(ranks, shown, strict=True)
                ],
                "scores": _scores(analysis, at, quantiles[at], axis) | {"best": best[at]},
            }
            for at, team in enumerate(analysis.names)
        ],
        "notes": analysis.task.notes,
        "rank_ticks": [(_rank_at(rank, count), text) for rank, text in rank_ticks(count)],
        "score_ticks": axis.ticks,
        "rules": [rule.replace("-holm", ", Holm").replace("-", " ") for rule in analysis.rules],
        "agreement": ["", *taus],
        "stability": "" if len(analysis.task.cases) < 2 else first_sentence(analysis),
        "tau": tau_sentence(analysis),
        "certainty": list(_certainty(analysis)),
        "first_by_rules": first_by_rules(analysis),
        "spread": f"Half of the {words.cases} of {name(analysis.names[0])} score {low} to {high}; it is best on "
        f"{best[0]:,} of {len(analysis.task.cases):,}.",
    }


def _rank_at(rank: float, count: int) -> str:
    return svg_percent(100 * (rank - 0.5) / count)


def _ranks(analysis: TaskAnalysis, at: int) -> Values | None:
    """The ranks of a team in the resamples; None with one query, which has no resamples."""
    low, median, high = analysis.resampling.quantiles[at].tolist()
    if math.isnan(median):
        return None
    count, frequencies = len(analysis.names), analysis.resampling.frequencies[at].tolist()
    middle = range_of_ranks(round(low), round(high)) if low == round(low) and high == round(high) else ""
    return {
        "first": percentage(frequencies[0]),
        "median": f"{median:g}",
        "middle": middle or f"{low:g} to {high:g}",
        "line": (_rank_at(low, count), _rank_at(high, count)),
        # Position and radius of each rank that is not rare; the area is its share of the resamples.
        "dots": [
            (_rank_at(rank, count), round(_LARGEST * math.sqrt(often), 1))
            for rank, often in enumerate(frequencies, start=1)
            if often >= _RARE and count <= PANEL_ROWS
        ],
    }


def _pairs(analysis: TaskAnalysis, at: int) -> Values:
    """The pairs of a team with each other one: that it is better."""
    count = len(analysis.names)
    shown = min(count, PANEL_ROWS)
    better = analysis.better[at, :shown].tolist()
    has_numbers = count <= MOST_COLUMNS and ONE_SIDED in analysis.tests
    p_values = analysis.tests[ONE_SIDED].holm[at].tolist() if has_numbers else ()
    return {
        "p_values": [
            "" if other == at else "same" if math.isnan(p) else p_value(p) for other, p in enumerate(p_values)
        ],
        "wins": sum(better),
        "better": [
            (svg_percent(100 * first / shown), svg_percent(100 * (last + 1 - first) / shown))
            for first, last in filled_runs(better)
        ],
        "itself": svg_percent(100 * at / shown),
    }


def _scores(analysis: TaskAnalysis, at: int, quantiles: Floats, axis: Axis) -> Values:
    """The scores of a team on the queries."""
    scores = analysis.task.shown[at]
    low, first, median, third, high = (axis.position(value) for value in quantiles.tolist())
    return {
        "zeros": percentage(float(np.count_nonzero(scores == 0) / np.count_nonzero(~np.isnan(scores)))),
        "middle_80": (svg_percent(low), svg_percent(high - low)),
        "middle_half": (svg_percent(first), svg_percent(third - first)),
        "median": svg_percent(median),
        "mean": axis.percent(float(analysis.means[at])),
    }


def _certainty(analysis: TaskAnalysis) -> Iterator[str]:
    """What the tests of single pairs find, and on which pairs the test of all pairs at once decides otherwise."""
    yield from tests_sentences(analysis)
    test = analysis.tests[ONE_SIDED if ONE_SIDED in analysis.tests else "randomisation"].holm
    alone, together = (test <= LEVEL) | (test.T <= LEVEL), analysis.better | analysis.better.T
    pairs = np.argwhere(np.triu(analysis.tested & (alone != together), 1)).tolist()
    if pairs:
        which = [f"{name(analysis.names[one])} and {name(analysis.names[other])}" for one, other in pairs[:_LISTED]]
        listed = f": {'; '.join(which)}" if len(pairs) <= _LISTED else ""
        yield f"The map and the tests of single pairs differ on {counted(len(pairs), 'pair')}{listed}."


def analysis_page(view: BoardView, analysis: Values, cache: ChartCache | None) -> Page:
    """The page of the analysis of a track by its primary measure."""
    board = view.board
    of_team = {row.row.name: row for row in view.rows}
    values = {
        "board": board,
        "table": view,
        "analysis": analysis,
        "rows": [(of_team[row["team"]], row) for row in analysis["rows"]],
        "figures": analysis_figures(board, cache),
    }
    rules = "and stability" if board.checked_queries else "stability, and other ranking rules"
    about = f"How certain the ranking is: intervals, tests of all pairs, {rules}."
    return Page(f"{board.track.name}/analysis.html", "analysis.html", about, values)
