"""Comparisons of submissions: as a table, as JSON, and as text with the queries that decide."""

from __future__ import annotations

import math

from scorer.analysis.comparison import Comparison, Pair
from scorer.analysis.documents import json_text
from scorer.reports.phrases import decimals_of, name, number, p_value
from scorer.wording import counted, printable
from scorer.wording.table import TABLES, Cell, CellValue, Table, table_of

DETAILED = 3
"""The queries that decide are printed for up to so many pairs; JSON has those of all pairs."""


def comparison_text(comparison: Comparison, form: str) -> str:
    """Return a comparison in a form of `TABLES`, or as JSON; without a final line end."""
    if form == "json":
        return json_text(comparison.to_dict())
    table = comparison_table(comparison)
    if form == "table":
        return "\n\n".join(
            [
                _heading(comparison),
                TABLES[form](table),
                "\n".join(_decisive(comparison, pair) for pair in comparison.pairs),
            ]
        )
    return TABLES[form](table)


def comparison_table(comparison: Comparison) -> Table:
    """Return a row for each pair; the note says what the columns are."""
    decimals = decimals_of(comparison.analysis)
    several = len(comparison.pairs) > 1
    heads = ["first", "second", "difference", "low", "high", "p", "effect", "wins", "ties", "losses"]
    if several:
        heads.insert(6, "p (Holm)")
    rows = (_row(pair, decimals, several=several) for pair in comparison.pairs)
    note = _note(comparison, several=several)
    return table_of(heads, rows, ("first", "second"), blank="-", all_digits=True, note=note)


def _row(pair: Pair, decimals: int, *, several: bool) -> list[CellValue | Cell]:
    difference = Cell(pair.difference, decimals, best=pair.is_significant)
    interval = [Cell(end, decimals) for end in pair.interval or (None, None)]
    p_values = [Cell(pair.p_value, 4), *([Cell(pair.adjusted, 4)] if several else [])]
    counts = (pair.wins, pair.ties, pair.losses)
    return [pair.first, pair.second, difference, *interval, *p_values, Cell(pair.effect_size, 2), *counts]


def _heading(comparison: Comparison) -> str:
    """The means and what they are over."""
    words, analysis = comparison.analysis.task.words, comparison.analysis
    decimals = decimals_of(analysis)
    lines = [f"{printable(comparison.measure)} over {counted(len(analysis.task.cases), words.case, words.cases)}:"]
    lines += [f"  {number(value, decimals)}  {printable(submission)}" for submission, value in comparison.means.items()]
    return "\n".join(lines)


def _note(comparison: Comparison, *, several: bool) -> str:
    cases = comparison.analysis.task.words.cases
    adjusted = "; p (Holm): adjusted for all pairs" if several else ""
    are_all_tested = comparison.analysis.tested.sum() == len(comparison.names) * (len(comparison.names) - 1)
    skipped = "" if are_all_tested else "; only neighbours and pairs with the first are compared"
    return (
        f"difference: mean of first minus second, with its 95 % interval (BCa, {comparison.settings.resamples:,} "
        f"resamples); p: two-sided paired randomisation test{adjusted}; effect: mean difference in standard "
        f"deviations; wins, ties, losses: {cases} on which first is higher, equal, lower{skipped}"
    )


def _decisive(comparison: Comparison, pair: Pair) -> str:
    """What the comparison of a pair shows, and the queries with the largest differences."""
    task = comparison.analysis.task
    decimals = decimals_of(comparison.analysis)
    lines = [finding(comparison, pair)]
    for case in pair.decisive if len(comparison.pairs) <= DETAILED else ():
        better = pair.first if case.difference > 0 else pair.second
        lines.append(
            f"  {number(case.difference, decimals):>{decimals + 4}}  {task.words.case} {printable(case.case)}: "
            f"{number(case.first, decimals)} against {number(case.second, decimals)}, for {name(better)}"
        )
    return "\n".join(lines)


def finding(comparison: Comparison, pair: Pair) -> str:
    """Return what the comparison of a pair shows, in a sentence."""
    first, second = name(pair.first), name(pair.second)
    means = comparison.means
    p = "undefined" if math.isnan(pair.adjusted) else p_value(pair.adjusted)
    adjusted = "adjusted p" if len(comparison.pairs) > 1 else "p"
    if means[pair.first] == means[pair.second]:
        return f"{first} and {second} have the same mean ({adjusted} {p})."
    if pair.is_significant:
        return f"{first} is significantly better than {second} ({adjusted} {p})."
    return f"No significant difference between {first} and {second} ({adjusted} {p})."
