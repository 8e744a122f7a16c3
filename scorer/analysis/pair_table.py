"""The pairs of a comparison as a table: as rows for a DataFrame, and as HTML for a notebook."""

from __future__ import annotations

import math

from scorer.analysis.comparison import Comparison, Pair
from scorer.wording import counted, html_table

HEADS = (
    *("first", "second", "difference", "low", "high", "p_value", "adjusted", "is_significant"),
    *("effect_size", "wins", "ties", "losses"),
)
"""`low` and `high` are the ends of the interval of the difference; the others are named as in `Pair`."""

Value = str | float | bool


def rows(comparison: Comparison) -> list[list[Value]]:
    """Return a row for each pair, a value for each of `HEADS`; NaN where undefined."""
    return [_row(pair) for pair in comparison.pairs]


def _row(pair: Pair) -> list[Value]:
    low, high = pair.interval or (math.nan, math.nan)
    effect_size = math.nan if pair.effect_size is None else pair.effect_size
    return [
        *(pair.first, pair.second, pair.difference, low, high, pair.p_value, pair.adjusted, pair.is_significant),
        *(effect_size, pair.wins, pair.ties, pair.losses),
    ]


def comparison_html(comparison: Comparison) -> str:
    """Return the means and the pairs as two tables."""
    words, cases = comparison.analysis.task.words, len(comparison.analysis.task.cases)
    over = f"{comparison.measure} over {counted(cases, words.case, words.cases)}"
    means = [[name, _shown(value)] for name, value in comparison.means.items()]
    pairs = [[_shown(value) for value in row] for row in rows(comparison)]
    legend = (
        f"first minus second, with the 95 % interval (BCa, {comparison.settings.resamples:,} resamples); "
        "two-sided paired randomisation test, adjusted by Holm's method"
    )
    return "\n".join([html_table([words.algorithm, "mean"], means, over), html_table(HEADS, pairs, legend)])


def _shown(value: Value) -> str:
    """A value with four decimals; "-" where it is undefined."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)
