"""The similarity of runs: as a table, and as JSON."""

from __future__ import annotations

from scorer.analysis.documents import defined, json_text
from scorer.runs.overlap import Overlaps, Pair
from scorer.wording.table import TABLES, Table, table_of


def overlap_text(overlaps: Overlaps, form: str, *, per_query: bool) -> str:
    """Return the similarity of runs in a form of `TABLES`, or as JSON; without a final line end."""
    if form == "json":
        pairs = [_document(pair, per_query=per_query) for pair in overlaps.pairs]
        measures = {name: measure.full for name, measure in overlaps.measures.items()}
        return json_text({"measures": measures, "runs": list(overlaps.runs), "pairs": pairs})
    return TABLES[form](overlap_table(overlaps, per_query=per_query))


def overlap_table(overlaps: Overlaps, *, per_query: bool) -> Table:
    """Return a row for each pair, or for each query of each pair, with a column for each measure."""
    heads = ["first", "second", "query" if per_query else "queries", *overlaps.measures]
    rows = (
        (pair.first, pair.second, *row)
        for pair in overlaps.pairs
        for row in (_query_rows(pair) if per_query else [(len(pair.queries), *pair.means.values())])
    )
    return table_of(heads, rows, ("first", "second", "query"), blank="-", all_digits=True)


def _query_rows(pair: Pair) -> list[tuple[str | float, ...]]:
    """A row for each query, then one for the mean."""
    columns = [values.tolist() for values in pair.per_query.values()]
    return [*zip(pair.queries, *columns, strict=True), ("all", *pair.means.values())]


def _document(pair: Pair, *, per_query: bool) -> dict[str, object]:
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
