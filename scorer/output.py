"""The scores of submissions as text: tables for people and papers, JSON and columns for programs.

All forms print the same values: those of `Evaluation`. Text that comes from files is escaped as each form needs it;
JSON alone holds it as it is.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from scorer import wording
from scorer.statistics.significance import holm, randomisation_test
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.measures import Measure
    from scorer.scoring.evaluation import Evaluation

DECIMALS = 4
"""As the field prints scores."""

MEAN = "all"
"""What stands for the query in the row of the means, as in trec_eval's output."""

LEAST_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Results:
    """What is to be printed: the scores of submissions, by their paths as given."""

    submissions: Sequence[tuple[str, Evaluation]]
    measures: Mapping[str, Measure]
    """By the names that they were asked for, and as they were."""
    per_query: bool = False
    side_by_side: bool = False
    """Are the submissions columns, and the measures rows?"""
    significance: float | None = None
    """The level at which differences count; None: not tested."""
    rel: float | None = None
    """The threshold that was asked for all measures."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One score of a table."""

    value: float
    """NaN where undefined."""
    decimals: int = DECIMALS
    best: bool = False
    """Does no other submission's mean print higher?"""
    above: str = ""
    """The letters of the submissions that it is significantly higher than."""

    @property
    def decimal(self) -> str:
        return "-" if math.isnan(self.value) else f"{self.value:.{self.decimals}f}"


NOTHING = Cell(math.nan)
"""Where a row has no score."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts and scores under their heads."""

    texts: tuple[str, ...]
    scores: tuple[str, ...]
    rows: Sequence[tuple[tuple[str, ...], tuple[Cell, ...]]]
    note: str = ""
    """What the letters mean."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two submissions under one measure."""

    measure: str
    places: tuple[int, int]
    """Of the submissions."""
    difference: float
    """Of the means: the first's less the second's."""
    p_value: float
    """Of the paired randomisation test, adjusted by Holm's method over all pairs under the measure."""


def written(form: str, results: Results) -> str:
    """The results in one of the forms, of TABLES or of DOCUMENTS, without a last line end."""
    return TABLES[form](tabulated(results)) if form in TABLES else DOCUMENTS[form](results)


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells in columns, of which the first `left` are set flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


# One definition of the values


def tabulated(results: Results) -> Table:
    """The scores as a table; the letters go by the order of the submissions."""
    found = compared(results) if results.significance is not None else []
    note = _note(results) if results.significance is not None else ""
    names = [path for path, _ in results.submissions]
    if results.significance is not None:
        names = [f"({letter(place)}) {path}" for place, path in enumerate(names)]
    columns = [_column(results, place, found) for place in range(len(names))]
    # Bounds, where they are asked for, stand beside their score.
    measures = tuple(dict.fromkeys(name for column in columns[:1] for name in column[-1][1]) or results.measures)
    if results.side_by_side:
        texts = ("measure", *(["query"] if results.per_query else []))
        rows = [
            ((measure, *label), tuple(column[row][1].get(measure, NOTHING) for column in columns))
            for measure in measures
            for row, (label, _) in enumerate(columns[0] if columns else ())
        ]
        return Table(texts, tuple(names), rows, note)
    texts = ("submission", *(["query"] if results.per_query else []))
    rows = [
        ((name, *label), tuple(cells.get(measure, NOTHING) for measure in measures))
        for name, column in zip(names, columns, strict=True)
        for label, cells in column
    ]
    return Table(texts, measures, rows, note)


def _column(results: Results, place: int, found: Sequence[Comparison]) -> list[tuple[tuple[str, ...], dict[str, Cell]]]:
    """A submission's scores: those of each query if they are asked for, then the means, by measure."""
    _, result = results.submissions[place]
    label = (MEAN,) if results.per_query else ()
    decimals = {name: 0 if is_count(measure) else DECIMALS for name, measure in results.measures.items()}
    bounds = result.bounds() or {}
    means: dict[str, Cell] = {}
    for name, value in result.items():
        means[name] = Cell(value, decimals[name], _is_best(results, place, name), _above(found, place, name))
        if name in bounds:
            worst, best = bounds[name]
            means |= {f"{name} worst": Cell(worst, decimals[name]), f"{name} best": Cell(best, decimals[name])}
    queries = result.by_query() if results.per_query else {}
    rows = [
        ((query,), {name: Cell(value, decimals[name]) for name, value in scores.items()})
        for query, scores in queries.items()
    ]
    return [*rows, (label, means)]


def is_count(measure: Measure) -> bool:
    """Is it a number of things, and no score?"""
    return measure.kind.aggregation == "sum"


def _is_best(results: Results, place: int, measure: str) -> bool:
    """Does the mean print as the highest of several? NaN is never the best, nor is a count."""
    if is_count(results.measures[measure]):
        return False
    printed = [round(result[measure], DECIMALS) for _, result in results.submissions]
    return len(printed) > 1 and printed[place] == max((each for each in printed if not math.isnan(each)), default=None)


def _above(found: Iterable[Comparison], place: int, measure: str) -> str:
    """The letters of the submissions that are significantly below this one."""
    letters = []
    for each in found:
        if each.measure == measure and place in each.places:
            first, second = each.places
            if (each.difference if place == first else -each.difference) > 0:
                letters.append(letter(second if place == first else first))
    return ",".join(letters) if any(len(each) > 1 for each in letters) else "".join(letters)


def letter(place: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    place, last = divmod(place, 26)
    return (letter(place - 1) if place else "") + chr(ord("a") + last)


# Differences


def comparisons(results: Results) -> list[Comparison]:
    """All pairs of submissions under all measures that are means, tested over the queries that those are taken over."""
    pairs = list(combinations(range(len(results.submissions)), 2))
    if not pairs:
        return []
    found = []
    tables = [list(result.by_query().values()) for _, result in results.submissions]
    for measure in (name for name, meant in results.measures.items() if meant.kind.aggregation == "mean"):
        scores = np.array([[query[measure] for query in table] for table in tables], dtype=np.float64)
        means = [result[measure] for _, result in results.submissions]
        differences = np.array([scores[first] - scores[second] for first, second in pairs])
        p_values = holm(randomisation_test(differences.T, _rounds(results)))
        found += [
            Comparison(measure, (first, second), means[first] - means[second], p_value)
            for (first, second), p_value in zip(pairs, p_values.tolist(), strict=True)
        ]
    return found


def compared(results: Results) -> list[Comparison]:
    """The comparisons that are significant at the level asked for."""
    level = results.significance or 0.0
    return [each for each in comparisons(results) if each.p_value < level]


def _rounds(results: Results) -> int:
    """So many that the least p-value, after the correction, is a tenth of the level."""
    pairs = math.comb(len(results.submissions), 2)
    return max(LEAST_ROUNDS, math.ceil(10 * pairs / (results.significance or 1.0)))


def _note(results: Results) -> str:
    return (
        f"letters: significantly higher than the submission of that letter, at the level {results.significance:g}; "
        f"two-sided paired randomisation test over the queries ({_rounds(results):,} rounds), "
        "Holm's correction over the pairs of each measure"
    )


# The forms


def _aligned(table: Table) -> str:
    # Letters stand after the number, so wide that the numbers stay under each other.
    widths = [
        max(len(cell.above) for cell in column) for column in zip(*(cells for _, cells in table.rows), strict=True)
    ]
    rows = [[*map(printable, table.texts), *map(printable, table.scores)]]
    for texts, cells in table.rows:
        letters = [cell.above.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        scores = [
            f"{cell.decimal} {above}" if above else cell.decimal for cell, above in zip(cells, letters, strict=True)
        ]
        rows.append([*map(printable, texts), *scores])
    return "\n".join([aligned(rows, left=len(table.texts)), *([table.note] if table.note else [])])


def _csv(table: Table) -> str:
    """All digits, blanks where undefined; text that a spreadsheet takes for a formula gets a ' before it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(map(wording.spreadsheet, [*table.texts, *table.scores]))
    for texts, cells in table.rows:
        rows.writerow([*map(wording.spreadsheet, texts), *(_defined(cell.value) for cell in cells)])
    return text.getvalue().rstrip("\n")


def _markdown(table: Table) -> str:
    """A table of GitHub's Markdown, the best means in bold."""

    def marked(cell: Cell) -> str:
        decimal = f"**{cell.decimal}**" if cell.best else cell.decimal
        return f"{decimal}<sup>{cell.above}</sup>" if cell.above else decimal

    heads = [*map(_markdown_text, table.texts), *map(_markdown_text, table.scores)]
    ruler = [":---"] * len(table.texts) + ["---:"] * len(table.scores)
    rows = [[*map(_markdown_text, texts), *map(marked, cells)] for texts, cells in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows)]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def _markdown_text(text: str) -> str:
    return wording.markdown(printable(text))


def _latex(table: Table) -> str:
    r"""A tabular with the rules of the package booktabs, the best means in bold, letters raised."""

    def marked(cell: Cell) -> str:
        decimal = f"\\textbf{{{cell.decimal}}}" if cell.best else cell.decimal
        return f"{decimal}\\textsuperscript{{{cell.above}}}" if cell.above else decimal

    def row(cells: Iterable[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    return "\n".join(
        [
            "% needs \\usepackage{booktabs}, and \\usepackage[T1]{fontenc} where a name holds a double quote",
            *([f"% {table.note}"] if table.note else []),
            f"\\begin{{tabular}}{{{'l' * len(table.texts)}{'r' * len(table.scores)}}}",
            "\\toprule",
            row(map(_latex_text, [*table.texts, *table.scores])),
            "\\midrule",
            *(row([*map(_latex_text, texts), *map(marked, cells)]) for texts, cells in table.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def _latex_text(text: str) -> str:
    return wording.latex(printable(text))


def _json(results: Results) -> str:
    """Full precision, null where undefined; text as it is."""
    told = []
    for path, result in results.submissions:
        entry: dict[str, Any] = {
            "submission": path,
            "scores": _all_defined(result),
            "queries": result.queries,
            "undefined": result.undefined,
        }
        bounds = result.bounds()
        if bounds is not None:
            entry["bounds"] = {name: [*map(_defined, each)] for name, each in bounds.items()}
        if results.per_query:
            entry["per_query"] = {query: _all_defined(scores) for query, scores in result.by_query().items()}
        told.append(entry)
    policies = next((result.policies for _, result in results.submissions), {})
    measures = {name: measure.at_threshold(results.rel).full for name, measure in results.measures.items()}
    document: dict[str, Any] = {"submissions": told, "policies": policies, "measures": measures}
    if results.significance is not None:
        document["significance"] = _significance(results)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def _significance(results: Results) -> dict[str, Any]:
    paths = [path for path, _ in results.submissions]
    return {
        "test": "two-sided paired randomisation",
        "rounds": _rounds(results),
        "correction": "Holm, over the pairs of each measure",
        "level": results.significance,
        "comparisons": [
            {
                "measure": each.measure,
                "submission": paths[each.places[0]],
                "other": paths[each.places[1]],
                "difference": _defined(each.difference),
                "p_value": each.p_value,
                "significant": each.p_value < (results.significance or 0.0),
            }
            for each in comparisons(results)
        ],
    }


def _defined(score: float) -> float | None:
    return None if math.isnan(score) else score


def _all_defined(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _defined(score) for name, score in scores.items()}


TREC_NAMES: Mapping[str, tuple[str, ...]] = {
    "NumQ": ("num_q",),
    "NumRet": ("num_ret",),
    "NumRel": ("num_rel",),
    "NumRelRet": ("num_rel_ret",),
    "AP": ("map", "map_cut_{}"),
    "GMAP": ("gm_map",),
    "SetAP": ("set_map",),
    "nDCG": ("ndcg", "ndcg_cut_{}"),
    "P": ("P_{}",),
    "R": ("recall_{}", "relative_P_{}"),
    "RR": ("recip_rank",),
    "Rprec": ("Rprec",),
    "Success": ("success_{}",),
    "IPrec": ("iprec_at_recall_{:.2f}",),
    "11pt_avg": ("11pt_avg",),
    "SetP": ("set_P",),
    "SetR": ("set_recall", "set_relative_P"),
    "SetF": ("set_F",),
    "Bpref": ("bpref",),
    "infAP": ("infAP",),
}
"""What trec_eval calls a kind, with its cut-off where it has one."""

OF_ALL_ALONE = ("NumQ", "GMAP")
"""What trec_eval does not print for each query."""


def trec_name(measure: Measure) -> str:
    """As trec_eval prints it; our own name where trec_eval has none for the cut-off and the parameters."""
    from scorer.measures import parse_one  # noqa: PLC0415 (one of the forms needs it)

    for template in TREC_NAMES.get(measure.kind.name, ()):
        if ("{" in template) == (measure.cutoff is not None):
            name = template.format(measure.cutoff)
            if parse_one(name) == measure:
                return name
    return str(measure)


def _trec(results: Results) -> str:
    """trec_eval's three columns: measure, query or `all`, score.

    A query for which a measure is undefined has no line, nor has the mean where it is undefined for all. Several
    submissions are headed by a line with their path, called ``runid``.
    """
    return "\n".join(_trec_lines(results))


def _trec_lines(results: Results) -> Iterator[str]:
    for path, result in results.submissions:
        if len(results.submissions) > 1:
            yield _three("runid", MEAN, printable(path))
        for query, scores in result.by_query().items() if results.per_query else ():
            asked = {
                name: score for name, score in scores.items() if results.measures[name].kind.name not in OF_ALL_ALONE
            }
            yield from _trec_scores(results, printable(query), asked)
        yield from _trec_scores(results, MEAN, result)


def _trec_scores(results: Results, query: str, scores: Mapping[str, float]) -> Iterator[str]:
    for name, score in scores.items():
        if not math.isnan(score):
            measure = results.measures[name]
            yield _three(trec_name(measure), query, f"{score:{'.0f' if is_count(measure) else '6.4f'}}")


def _three(measure: str, query: str, value: str) -> str:
    return f"{measure:<22}\t{query}\t{value}"


TABLES: Mapping[str, Callable[[Table], str]] = {
    "table": _aligned,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
"""The forms that are tables."""

DOCUMENTS: Mapping[str, Callable[[Results], str]] = {"json": _json, "trec": _trec}
"""The forms that go by submission, and cannot be laid side by side."""

MARKED = ("table", "markdown", "latex", "json")
"""The forms that can show which differences are significant."""
