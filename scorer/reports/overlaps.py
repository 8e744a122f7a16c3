"""The similarity of runs: as a table, and as JSON."""

from __future__ import annotations

import math

from scorer.analysis.documents import json_text
from scorer.reports.table import TABLES, Cell, Column, Table
from scorer.runs.overlap import Overlaps, Pair


def overlap_text(overlaps: Overlaps, form: str, *, per_query: bool) -> str:
    """Return the similarity of runs in a form of `TABLES`, or as JSON; without a final line end."""
    if form == "json":
        pairs = [_document(pair, per_query=per_query) for pair in overlaps.pairs]
        measures = {name: measure.full for name, measure in overlaps.measures.items()}
        return json_text({"measures": measures, "runs": list(overlaps.runs), "pairs": pairs})
    return TABLES[form](overlap_table(overlaps, per_query=per_query))


def overlap_table(overlaps: Overlaps, *, per_query: bool) -> Table:
    """Return a row for each pair, or for each query of each pair, with a column for each measure."""
    named = ["first", "second", *(["query"] if per_query else [])]
    columns = [Column(name) for name in named] + [
        Column(name, numeric=True) for name in (*([] if per_query else ["queries"]), *overlaps.measures)
    ]
    rows = [row for pair in overlaps.pairs for row in (_query_rows(pair) if per_query else [_row(pair)])]
    return Table(columns, rows, blank="-", all_digits=True)


def _row(pair: Pair) -> list[Cell]:
    return [Cell(pair.first), Cell(pair.second), Cell(len(pair.queries)), *map(Cell, pair.means.values())]


def _query_rows(pair: Pair) -> list[list[Cell]]:
    """A row for each query, then one for the mean."""
    columns = [values.tolist() for values in pair.per_query.values()]
    rows = [*zip(pair.queries, *columns, strict=True), ("all", *pair.means.values())]
    return [[Cell(pair.first), Cell(pair.second), *map(Cell, row)] for row in rows]


def _document(pair: Pair, *, per_query: bool) -> dict[str, object]:
    """A pair as plain values; None where undefined."""
    document: dict[str, object] = {
        "first": pair.first,
        "second": pair.second,
        "queries": len(pair.queries),
        "means": {name: _defined(value) for name, value in pair.means.items()},
        "undefined": pair.undefined,
    }
    if per_query:
        document["per_query"] = {
            query: {name: _defined(value) for name, value in zip(pair.per_query, row, strict=True)}
            for query, *row in zip(pair.queries, *(values.tolist() for values in pair.per_query.values()), strict=True)
        }
    return document


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
