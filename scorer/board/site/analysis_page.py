"""The page of the analysis of a track: the rows of its tables, and sentences; positions are attributes of SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scorer.board.charts.panel import PANEL_ROWS, ChartCache, rank_ticks
from scorer.board.charts.rankings import filled_runs
from scorer.board.reports.comparisons import decimal_text, name, p_value, percentage
from scorer.board.reports.report_text import (
    MOST_COLUMNS,
    first_by_rules,
    first_sentence,
    tau_sentence,
    tests_sentences,
)
from scorer.board.site.figures import Axis, analysis_figures, axis_for, svg_percent
from scorer.board.site.templates import Page
from scorer.board.site.views import BoardView
from scorer.measures.matched import Floats
from scorer.options import LEVEL
from scorer.scoring.analysis.analysis import TaskAnalysis
from scorer.scoring.analysis.scores import ONE_SIDED
from scorer.wording import counted, range_of_ranks, shared_ranks


@dataclass(frozen=True, slots=True)
class RankMarks:
    """The ranks of a team in the resamples."""

    first: str
    """In which share of them it is first: `89 %`."""
    median: str
    middle: str
    """The middle 95 %: `1 to 2`, or `6 only`."""
    line: tuple[str, str]
    """Where the middle 95 % begin and end."""
    dots: tuple[tuple[str, float], ...]
    """Position and radius of each rank that is not rare; the area is its share of the resamples. Empty for many teams.
    """


@dataclass(frozen=True, slots=True)
class PairMarks:
    """The pairs of a team with each other one."""

    p_values: tuple[str, ...]
    """That it is better: `0.012`; `same` where all scores are equal, empty for itself. No texts for many teams."""
    wins: int
    """How many of the teams on the map it is separable from and better than."""
    better: tuple[tuple[str, str], ...]
    """Position and width of their cells; adjacent ones are one."""
    itself: str
    """The position of the cell of the team itself."""


@dataclass(frozen=True, slots=True)
class ScoreMarks:
    """The scores of a team on the queries."""

    zeros: str
    """The share of queries with the score 0."""
    best: int
    """On how many queries no team scores more."""
    middle_80: tuple[str, str]
    """Position and width."""
    middle_half: tuple[str, str]
    """Position and width."""
    median: str
    mean: str


@dataclass(frozen=True, slots=True)
class AnalysisRow:
    """A ranked team."""

    team: str
    ranks: RankMarks | None
    """None with one query, which has no resamples."""
    pairs: PairMarks | None
    """None for the teams after the first ones of a long board."""
    rules: tuple[tuple[str, bool], ...]
    """By each rule the rank, as `=3`, and whether it is another one than by the mean."""
    scores: ScoreMarks


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """The analysis of a track. Its rows are the ranked teams, the best first."""

    rows: tuple[AnalysisRow, ...]
    notes: tuple[str, ...]
    """About the scores."""
    rank_ticks: tuple[tuple[str, str], ...]
    """Position and text."""
    score_ticks: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]
    """The names of the rules, the mean first."""
    agreement: tuple[str, ...]
    """Kendall's tau-b of each rule with the mean; empty for the mean."""
    stability: str
    """Who is first in most resamples."""
    tau: str
    """How far the rankings of the resamples agree with that of the board; empty if undefined."""
    certainty: tuple[str, ...]
    """What the tests of single pairs find, and where the test of all pairs at once decides otherwise."""
    first_by_rules: str
    spread: str
    """How the scores of the first team are distributed."""


_RARE = 0.005
"""The share of resamples below which a rank has no dot."""

_LARGEST = 9.0
"""The radius of the dot of a rank that a team has in all resamples, in pixels."""

_LISTED = 2
"""How many pairs on which two tests differ are named."""


def analysis_view(analysis: TaskAnalysis) -> AnalysisView:
    """Return the view of the analysis of a track with two teams or more."""
    count, words = len(analysis.names), analysis.task.words
    quantiles = np.nanquantile(analysis.task.values, (0.1, 0.25, 0.5, 0.75, 0.9), axis=1).T
    axis = axis_for([*quantiles.ravel().tolist(), *analysis.means.tolist()])
    ticks = rank_ticks(count)
    low, high = (decimal_text(float(end), 2) for end in quantiles[0, [1, 3]])
    best = np.count_nonzero(analysis.task.values == np.nanmax(analysis.task.values, axis=0), axis=1).tolist()
    by_mean = analysis.ranking.ranks.tolist()
    ranks = [ranking.ranks.tolist() if ranking.is_defined else [None] * count for ranking in analysis.rules.values()]
    shown = [shared_ranks(each) for each in ranks]
    rows = []
    for at, team in enumerate(analysis.names):
        by_rule = [
            (text[at] or "–", each[at] is not None and each[at] != by_mean[at])
            for each, text in zip(ranks, shown, strict=True)
        ]
        scores = _scores(analysis, at, quantiles[at], best[at], axis)
        rows.append(AnalysisRow(team, _ranks(analysis, at), _pairs(analysis, at), tuple(by_rule), scores))
    return AnalysisView(
        rows=tuple(rows),
        notes=tuple(analysis.task.notes),
        rank_ticks=tuple((_rank_at(rank, count), text) for rank, text in ticks),
        score_ticks=axis.ticks,
        rules=tuple(rule.replace("-holm", ", Holm").replace("-", " ") for rule in analysis.rules),
        agreement=tuple(_agreement(analysis, rule) for rule in analysis.rules),
        stability="" if len(analysis.task.cases) < 2 else first_sentence(analysis),
        tau=tau_sentence(analysis),
        certainty=tuple(_certainty(analysis)),
        first_by_rules=first_by_rules(analysis),
        spread=f"Half of the {words.cases} of {name(analysis.names[0])} score {low} to {high}; it is best on "
        f"{best[0]:,} of {len(analysis.task.cases):,}.",
    )


def _rank_at(rank: float, count: int) -> str:
    return svg_percent(100 * (rank - 0.5) / count)


def _ranks(analysis: TaskAnalysis, at: int) -> RankMarks | None:
    low, median, high = analysis.resampling.quantiles[at].tolist()
    if math.isnan(median):
        return None
    count, frequencies = len(analysis.names), analysis.resampling.frequencies[at].tolist()
    dots = [
        (_rank_at(rank, count), round(_LARGEST * math.sqrt(often), 1))
        for rank, often in enumerate(frequencies, start=1)
        if often >= _RARE and count <= PANEL_ROWS
    ]
    middle = range_of_ranks(round(low), round(high)) if low == round(low) and high == round(high) else ""
    return RankMarks(
        first=percentage(frequencies[0]),
        median=f"{median:g}",
        middle=middle or f"{low:g} to {high:g}",
        line=(_rank_at(low, count), _rank_at(high, count)),
        dots=tuple(dots),
    )


def _pairs(analysis: TaskAnalysis, at: int) -> PairMarks | None:
    count = len(analysis.names)
    shown = min(count, PANEL_ROWS)
    if at >= shown:
        return None
    better = analysis.better[at, :shown].tolist()
    cells = [
        (svg_percent(100 * first / shown), svg_percent(100 * (last + 1 - first) / shown))
        for first, last in filled_runs(better)
    ]
    p_values = analysis.tests[ONE_SIDED].holm[at].tolist() if count <= MOST_COLUMNS else ()
    texts = ["" if other == at else "same" if math.isnan(p) else p_value(p) for other, p in enumerate(p_values)]
    return PairMarks(tuple(texts), sum(better), tuple(cells), svg_percent(100 * at / shown))


def _scores(analysis: TaskAnalysis, at: int, quantiles: Floats, best: int, axis: Axis) -> ScoreMarks:
    scores = analysis.task.values[at]
    places = [axis.position(value) for value in quantiles.tolist()]
    low, first, median, third, high = places
    return ScoreMarks(
        zeros=percentage(float(np.count_nonzero(scores == 0) / np.count_nonzero(~np.isnan(scores)))),
        best=best,
        middle_80=(svg_percent(low), svg_percent(high - low)),
        middle_half=(svg_percent(first), svg_percent(third - first)),
        median=svg_percent(median),
        mean=axis.percent(float(analysis.means[at])),
    )


def _agreement(analysis: TaskAnalysis, rule: str) -> str:
    if rule == "mean":
        return ""
    agreement = analysis.agreement["mean", rule]
    return "–" if agreement is None or math.isnan(agreement.tau_b) else f"{agreement.tau_b:.2f}"


def _certainty(analysis: TaskAnalysis) -> Iterator[str]:
    """What the tests of single pairs find, and on which pairs the test of all pairs at once decides otherwise."""
    yield from tests_sentences(analysis)
    test = analysis.tests[ONE_SIDED].holm
    alone, together = (test <= LEVEL) | (test.T <= LEVEL), analysis.better | analysis.better.T
    pairs = np.argwhere(np.triu(analysis.tested & (alone != together), 1)).tolist()
    if pairs:
        which = [f"{name(analysis.names[one])} and {name(analysis.names[other])}" for one, other in pairs[:_LISTED]]
        listed = f": {'; '.join(which)}" if len(pairs) <= _LISTED else ""
        yield f"The map and the tests of single pairs differ on {counted(len(pairs), 'pair')}{listed}."


def analysis_page(view: BoardView, analysis: AnalysisView, cache: ChartCache | None) -> Page:
    """The page of the analysis of a track by its primary measure."""
    board = view.board
    of_team = {row.row.name: row for row in view.rows}
    values = {
        "board": board,
        "table": view,
        "analysis": analysis,
        "rows": [(of_team[row.team], row) for row in analysis.rows],
        "figures": analysis_figures(board, cache),
    }
    about = "How certain the ranking is: intervals, tests of all pairs, stability, and other ranking rules."
    return Page(f"{board.track.name}/analysis.html", "analysis.html", about, values)
