"""Comparisons of submissions and the similarity of runs: as tables, as JSON and as text; and numbers in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace

from scorer.board.reports.scores import MEAN
from scorer.measures.matched import Floats
from scorer.runs.overlap import Overlaps, RunPair
from scorer.runs.similar import Alike
from scorer.scoring.analysis.agreement import Coefficient, JudgeAgreement
from scorer.scoring.analysis.analysis import ANALYSIS_VERSION, TaskAnalysis, defined, json_text
from scorer.scoring.analysis.compare import CORRECTION_NAMES, Comparison, Pair, Power
from scorer.wording import TABLES, Cell, CellValue, Table, counted, joined, printable, shortened, table_of, text_table

_NAME = 60
"""The characters of a name that a sentence has."""

_LISTED = 6
"""The names that a sentence has at most; others are counted."""


def name(text: str) -> str:
    """Return a name from the data for a sentence."""
    return shortened(printable(text), _NAME)


def names(texts: Sequence[str], singular: str, plural: str) -> str:
    """Return names for a sentence, as `joined`; of many, the number of those that are left out."""
    if len(texts) <= _LISTED:
        return joined([name(text) for text in texts])
    more = counted(len(texts) - _LISTED + 1, f"other {singular}", f"other {plural}")
    return joined([*(name(text) for text in texts[: _LISTED - 1]), more])


def percentage(value: float) -> str:
    """Return a share in percent: ``83 %``. A share that is not 0 or 1 is not printed as one."""
    if 0 < value <= 0.005:
        return "less than 1 %"
    if 0.995 <= value < 1:
        return "more than 99 %"
    return f"{100 * value:.0f} %"


def p_value(value: float) -> str:
    """Return a p-value with three decimals: ``0.012``, ``< 0.001``."""
    if math.isnan(value):
        return "undefined"
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def decimals_of(analysis: TaskAnalysis) -> int:
    """Return the decimals of the means of a task in texts and tables: its own, or those of four significant digits."""
    if analysis.task.decimals is not None:
        return analysis.task.decimals
    largest = max((abs(value) for value in analysis.means.tolist() if math.isfinite(value)), default=0.0)
    return min(max(3 - math.floor(math.log10(largest)), 0), 12) if largest else 4


def decimal_text(value: float, decimals: int) -> str:
    """Return a number with so many decimals; zero has no sign."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def interval(ends: Floats, decimals: int) -> str:
    """Return the ends of an interval: ``0.7914 to 0.8279``; ``undefined``."""
    low, high = ends.tolist()
    return "undefined" if math.isnan(low) else f"{decimal_text(low, decimals)} to {decimal_text(high, decimals)}"


DETAILED = 3
"""The queries that decide are printed for up to so many pairs; JSON has those of all pairs."""


def comparison_text(comparison: Comparison, form: str) -> str:
    """Return a comparison in a form of `TABLES`, or as JSON; without a final line end."""
    if form == "json":
        return json_text(comparison.to_dict())
    if form != "table":
        return TABLES[form](comparison_table(comparison))
    texts = [_heading(comparison), TABLES[form](comparison_table(replace(comparison, slices={})))]
    texts.append("\n".join(_decisive(comparison, pair) for pair in comparison.pairs))
    texts += ["\n".join(not_worse_lines(comparison))] if comparison.settings.margin is not None else []
    for label, part in comparison.slices.items():
        table = replace(comparison_table(part), note="")
        few = [] if part.separates else ["Too few queries to separate anything."]
        findings = "\n".join([*few, *(finding(part, pair) for pair in part.pairs)])
        texts += [f"{printable(label)}: {_heading(part)}", TABLES[form](table), findings]
    return "\n\n".join(texts)


def comparison_table(comparison: Comparison) -> Table:
    """Return a row for each pair; the note says what the columns are."""
    decimals = decimals_of(comparison.analysis)
    several = len(comparison.pairs) > 1
    heads = ["first", "second", "difference", "low", "high", "p", "effect", "wins", "ties", "losses"]
    if several:
        heads.insert(6, f"p ({CORRECTION_NAMES[comparison.settings.correction]})")
    rows = [_row(pair, decimals, several=several) for pair in comparison.pairs]
    note = _note(comparison, several=several)
    if comparison.slices:
        heads, rows = ["slice", *heads], [[MEAN, *row] for row in rows]
        for label, part in comparison.slices.items():
            rows += [[label, *_row(pair, decimals_of(part.analysis), several=several)] for pair in part.pairs]
    return table_of(heads, rows, ("slice", "first", "second"), blank="-", all_digits=True, note=note)


def _row(pair: Pair, decimals: int, *, several: bool) -> list[CellValue | Cell]:
    difference = Cell(pair.difference, decimals, best=pair.is_significant)
    interval = [Cell(end, decimals) for end in pair.interval or (None, None)]
    p_values = [Cell(pair.p_value, 4), *([Cell(pair.adjusted, 4)] if several else [])]
    counts = (pair.wins, pair.ties, pair.losses)
    return [pair.first, pair.second, difference, *interval, *p_values, Cell(pair.effect_size, 2), *counts]


def _heading(comparison: Comparison) -> str:
    """The means and what they are over."""
    analysis = comparison.analysis
    decimals = decimals_of(analysis)
    lines = [f"{printable(comparison.measure)} over {analysis.cases}:"]
    lines += [
        f"  {decimal_text(value, decimals)}  {printable(submission)}" for submission, value in comparison.means.items()
    ]
    return "\n".join(lines)


def _note(comparison: Comparison, *, several: bool) -> str:
    task = comparison.analysis.task
    cases, by_machine = task.words.cases, "" if task.judges is None else " by the solution"
    against, method = comparison.settings.against, CORRECTION_NAMES[comparison.settings.correction]
    adjusted = f"; p ({method}): adjusted for {'these' if against else 'all'} pairs" if several else ""
    are_all_tested = comparison.analysis.tested.sum() == len(comparison.names) * (len(comparison.names) - 1)
    skipped = "" if are_all_tested or against else "; only neighbours and pairs with the first are compared"
    return (
        f"difference: mean of first minus second, with its 95 % interval ({task.interval_words}); p: "
        f"two-sided paired randomisation test{adjusted}; effect: mean difference in standard deviations; wins, ties, "
        f"losses: {cases} on which first is higher, equal, lower{by_machine}{skipped}"
    )


def _decisive(comparison: Comparison, pair: Pair) -> str:
    """What the comparison of a pair shows, and the queries with the largest differences."""
    task = comparison.analysis.task
    decimals = decimals_of(comparison.analysis)
    lines = [finding(comparison, pair)]
    for case in pair.decisive if len(comparison.pairs) <= DETAILED else ():
        better = pair.first if case.difference > 0 else pair.second
        lines.append(
            f"  {decimal_text(case.difference, decimals):>{decimals + 4}}  {task.words.case} {printable(case.case)}: "
            f"{decimal_text(case.first, decimals)} against {decimal_text(case.second, decimals)}, for {name(better)}"
        )
    return "\n".join(lines)


def finding(comparison: Comparison, pair: Pair) -> str:
    """Return what the comparison of a pair shows, in a sentence."""
    first, second = name(pair.first), name(pair.second)
    means = comparison.means
    p, adjusted = p_value(pair.adjusted), "adjusted p" if len(comparison.pairs) > 1 else "p"
    if means[pair.first] == means[pair.second]:
        return f"{first} and {second} have the same mean ({adjusted} {p})."
    if pair.is_significant:
        better = "better" if means[pair.first] > means[pair.second] else "worse"
        return f"{first} is significantly {better} than {second} ({adjusted} {p})."
    return f"No significant difference between {first} and {second} ({adjusted} {p})."


def not_worse_lines(comparison: Comparison) -> list[str]:
    """Return, for each pair with a margin, whether the first is not worse than the second by more than it."""
    verbs = {True: "is not", False: "is not shown to be not"}
    return [
        f"{name(pair.first)} {verbs[pair.is_not_worse]} worse than {name(pair.second)} by more than "
        f"{comparison.settings.margin:g}."
        for pair in comparison.pairs
        if pair.is_not_worse is not None
    ]


def power_text(comparison: Comparison, form: str, difference: float | None) -> str:
    """Return what these queries show, and how many a difference needs, in a form of `TABLES`, or as JSON."""
    found = [asdict(each) for each in comparison.power(difference)]
    if form == "json":
        rows = [
            {key: value if isinstance(value, str) else defined(value) for key, value in each.items()} for each in found
        ]
        return json_text({"version": ANALYSIS_VERSION, "pairs": rows})
    decimals, cases = decimals_of(comparison.analysis), comparison.analysis.task.words.cases
    table = [[Cell(value, decimals) for value in each.values()] for each in found]
    note = (
        f"smallest: the difference that as many {cases} show with 80 % power; queries: the {cases} that show the "
        "difference with 80 % power; by a paired t-test at 5 % divided by the number of pairs"
    )
    heads = [field.name for field in fields(Power)]
    return TABLES[form](table_of(heads, table, heads[:2], blank="-", all_digits=True, note=note))


def agreement_text(found: JudgeAgreement, first: str, second: str, form: str) -> str:
    """Return how far two solutions with these names agree, as tables and sentences or as JSON."""
    if form == "json":
        return json_text(found.to_dict())
    first, second = name(first), name(second)
    texts = [
        f"{counted(found.pairs, 'pair')} of {counted(found.queries, 'query', 'queries')} judged by both, "
        f"{found.only_first:,} only by {first}, {found.only_second:,} only by {second}"
    ]
    grades = [f"{grade:g}" for grade in found.grades]
    if len(grades) == 1:
        texts.append(f"All grades are {grades[0]}, so kappa and alpha are undefined.")
    elif found.confusion:
        rows: list[list[CellValue | Cell]] = [[grade, *row] for grade, row in zip(grades, found.confusion, strict=True)]
        texts.append(text_table(table_of(["grade", *grades], rows, (), note=f"rows: {first}, columns: {second}")))
    else:
        texts.append(f"There are {len(grades):,} different grades, too many for a table and what needs one.")
    rows = [[label.replace("_", " "), *_estimate(each)] for label, each in found.coefficients.items()]
    note = (
        f"kappa: Cohen's, with {found.weights} weights; alpha: Krippendorff's, of numbers (interval) and of names "
        "(nominal); 95 % intervals over queries"
    )
    texts.append(text_table(table_of(["measure", "value", "low", "high"], rows, ("measure",), blank="-", note=note)))
    if found.tau is None:
        return "\n\n".join(texts)
    heads = ("run", "by first", "by second", "favour", "low", "high", "sure")
    rows = [
        [run.name, run.by_first, run.by_second, *_estimate(run.favour), "yes" if run.favour.excludes_0 else "no"]
        for run in found.runs
    ]
    note = (
        f"{found.measure} over {counted(found.scored, 'query', 'queries')}, by first: {first}, by second: {second}; "
        "favour: by how much the first favours a run, compared with all runs, with intervals that hold together with "
        "95 %; sure: 0 is outside"
    )
    texts.append(text_table(table_of(heads, rows, ("run", "sure"), blank="-", note=note)))
    tau, low, high = (cell.text("-") for cell in _estimate(found.tau))
    lines = [f"Kendall's tau of the two rankings: {tau}, 95 % interval {low} to {high}"]
    lines += [
        f"{name(swap.above)} is {swap.by_first:+.4f} above {name(swap.below)} by the first, {swap.by_second:+.4f} by "
        f"the second: {'more than chance' if swap.change.excludes_0 else 'may be chance'}"
        for swap in found.swaps[:_SWAPS]
    ]
    more = len(found.swaps) - _SWAPS
    lines += [f"{counted(more, 'other pair')} of runs in another order"] if more > 0 else []
    texts.append("\n".join(lines))
    if found.machine_weight is not None:
        texts.append(
            f"machine_weight = {found.machine_weight:.2f}  # where {first} is by a machine, {second} by people"
        )
    return "\n\n".join(texts)


_SWAPS = 10
"""The pairs of runs in another order that a text has; JSON has all."""


def _estimate(found: Coefficient) -> list[Cell]:
    """A value and the ends of its interval."""
    return [Cell(value) for value in (found.value, *(found.interval or (None, None)))]


def overlap_text(overlaps: Overlaps, form: str, *, per_query: bool) -> str:
    """Return the similarity of runs in a form of `TABLES`, or as JSON; without a final line end.

    A table has a row for each pair, or for each query of each pair and their mean, and a column for each measure.
    """
    if form == "json":
        pairs = [_document(pair, per_query=per_query) for pair in overlaps.pairs]
        measures = {name: measure.full for name, measure in overlaps.measures.items()}
        return json_text({"measures": measures, "runs": list(overlaps.runs), "pairs": pairs})
    heads = ["first", "second", "query" if per_query else "queries", *overlaps.measures]
    rows: list[tuple[CellValue, ...]] = []
    for pair in overlaps.pairs:
        names = (pair.first, pair.second)
        if per_query:
            columns = (values.tolist() for values in pair.per_query.values())
            rows += [(*names, *row) for row in zip(pair.queries, *columns, strict=True)]
        rows.append((*names, MEAN if per_query else len(pair.queries), *pair.means.values()))
    return TABLES[form](table_of(heads, rows, ("first", "second", "query"), blank="-", all_digits=True))


def similar_text(pairs: Sequence[Alike], form: str) -> str:
    """Return entries that are too alike in a form of `TABLES`, or as JSON; without a final line end."""
    heads = ("first", "second", "same", "of first", "of second", "lists", "p")
    rows: list[tuple[CellValue, ...]] = []
    for pair in pairs:
        counts = pair.shared or (None, None, None)
        rows.append((printable(pair.first), printable(pair.second), pair.same, *counts, pair.p_value))
    if form == "json":
        keys = [head.replace(" ", "_") for head in heads]
        values = ([defined(value) if isinstance(value, float) else value for value in row] for row in rows)
        return json_text({"pairs": [dict(zip(keys, row, strict=True)) for row in values]})
    p_values = ("<0.001" if pair.p_value < 0.0005 else pair.p_value for pair in pairs)
    cells = ([Cell(value, 3) for value in (*row[:-1], p)] for row, p in zip(rows, p_values, strict=True))
    return TABLES[form](table_of(heads, cells, heads[:3], blank="-"))


def _document(pair: RunPair, *, per_query: bool) -> dict[str, object]:
    """A pair as plain values; None where undefined."""
    document: dict[str, object] = {
        "first": pair.first,
        "second": pair.second,
        "queries": len(pair.queries),
        "means": {name: defined(value) for name, value in pair.means.items()},
        "undefined": pair.undefined,
    }
    if per_query:
        document["per_query"] = {
            query: {name: defined(value) for name, value in zip(pair.per_query, row, strict=True)}
            for query, *row in zip(pair.queries, *(values.tolist() for values in pair.per_query.values()), strict=True)
        }
    return document
