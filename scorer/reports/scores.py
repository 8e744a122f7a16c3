"""The scores of submissions as tables and documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scorer.reports.comparisons import Comparison, compared, comparisons, letter, rounds_of
from scorer.reports.report import MEAN, ScoreReport, is_count
from scorer.reports.table import DECIMALS, NOTHING, TABLES, ScoreCell, ScoreTable, defined
from scorer.reports.trec import trec_document


def written(form: str, results: ScoreReport) -> str:
    """The results in one of the forms, of TABLES or of DOCUMENTS, without a last line end."""
    return TABLES[form](tabulated(results)) if form in TABLES else DOCUMENTS[form](results)


# One definition of the values


def tabulated(results: ScoreReport) -> ScoreTable:
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
        return ScoreTable(texts, tuple(names), rows, note)
    texts = ("submission", *(["query"] if results.per_query else []))
    rows = [
        ((name, *label), tuple(cells.get(measure, NOTHING) for measure in measures))
        for name, column in zip(names, columns, strict=True)
        for label, cells in column
    ]
    return ScoreTable(texts, measures, rows, note)


def _column(
    results: ScoreReport, place: int, found: Sequence[Comparison]
) -> list[tuple[tuple[str, ...], dict[str, ScoreCell]]]:
    """A submission's scores: those of each query if they are asked for, then the means, by measure."""
    _, result = results.submissions[place]
    label = (MEAN,) if results.per_query else ()
    decimals = {name: 0 if is_count(measure) else DECIMALS for name, measure in results.measures.items()}
    bounds = result.bounds() or {}
    means: dict[str, ScoreCell] = {}
    for name, value in result.items():
        means[name] = ScoreCell(value, decimals[name], _is_best(results, place, name), _above(found, place, name))
        if name in bounds:
            worst, best = bounds[name]
            means |= {
                f"{name} worst": ScoreCell(worst, decimals[name]),
                f"{name} best": ScoreCell(best, decimals[name]),
            }
    queries = result.by_query() if results.per_query else {}
    rows = [
        ((query,), {name: ScoreCell(value, decimals[name]) for name, value in scores.items()})
        for query, scores in queries.items()
    ]
    return [*rows, (label, means)]


def _is_best(results: ScoreReport, place: int, measure: str) -> bool:
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


def _note(results: ScoreReport) -> str:
    return (
        f"letters: significantly higher than the submission of that letter, at the level {results.significance:g}; "
        f"two-sided paired randomisation test over the queries ({rounds_of(results):,} rounds), "
        "Holm's correction over the pairs of each measure"
    )


def _json(results: ScoreReport) -> str:
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
            entry["bounds"] = {name: [*map(defined, each)] for name, each in bounds.items()}
        if results.per_query:
            entry["per_query"] = {query: _all_defined(scores) for query, scores in result.by_query().items()}
        told.append(entry)
    policies = next((result.policies for _, result in results.submissions), {})
    measures = {name: measure.at_threshold(results.rel).full for name, measure in results.measures.items()}
    document: dict[str, Any] = {"submissions": told, "policies": policies, "measures": measures}
    if results.significance is not None:
        document["significance"] = _significance(results)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def _significance(results: ScoreReport) -> dict[str, Any]:
    paths = [path for path, _ in results.submissions]
    return {
        "test": "two-sided paired randomisation",
        "rounds": rounds_of(results),
        "correction": "Holm, over the pairs of each measure",
        "level": results.significance,
        "comparisons": [
            {
                "measure": each.measure,
                "submission": paths[each.places[0]],
                "other": paths[each.places[1]],
                "difference": defined(each.difference),
                "p_value": each.p_value,
                "significant": each.p_value < (results.significance or 0.0),
            }
            for each in comparisons(results)
        ],
    }


def _all_defined(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: defined(score) for name, score in scores.items()}


DOCUMENTS: Mapping[str, Callable[[ScoreReport], str]] = {"json": _json, "trec": trec_document}
"""The forms that go by submission, and cannot be laid side by side."""

MARKED = ("table", "markdown", "latex", "json")
"""The forms that can show which differences are significant."""
