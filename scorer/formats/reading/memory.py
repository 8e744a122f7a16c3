"""Solutions and submissions that are in memory already, as Graded and Ranked rows.

DataFrames of pandas, tables of whatever speaks Arrow (polars, pyarrow, DuckDB, ...), dicts by query, and rows of a
query, an item and a number: tuples, or named tuples as ir_measures and ir_datasets have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, Union, runtime_checkable

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import tables
from scorer.formats.reading.arrow import texts
from scorer.formats.reading.batches import Graded, Ranked
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.reading.columns import COLUMNS, flags, place, ranks
from scorer.measures.arrays import Floats, Ints
from scorer.wording import quoted

if TYPE_CHECKING:
    import pandas as pd

EXPECTED = "expected a path, a DataFrame, an Arrow table, a dict, or rows of query, item and number"

ListsByQuery = Mapping[str, Any]
"""Query -> item -> grade (a solution); query -> item -> run score, or query -> items in order (a submission)."""


@runtime_checkable
class ArrowTable(Protocol):
    """What hands its columns on as Arrow's."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Source = Union[ListsByQuery, "pd.DataFrame", ArrowTable, Iterable[Sequence[Any]]]
"""All that can be a solution or a submission in memory."""


def graded(source: Source, findings: Findings) -> Graded:
    """A solution in memory. Raises Unreadable where it has not the form of one."""
    if _is_frame(source):
        flag = _column(source, "flag")
        return Graded(
            query=_ids(_needed(source, "query"), "query"),
            line=_line_numbers(len(source)),
            flag=None if flag is None else flags(source[flag].tolist(), findings),
            lengths=None,
            item=_ids(_needed(source, "item"), "item"),
            grade=_finite(_needed(source, "grade"), "grade", findings),
        )
    if isinstance(source, ArrowTable):
        return tables.graded(_arrow(source), {}, findings)
    if not isinstance(source, Mapping):
        query, item, grade = _tuples(source, "grade")
        return Graded(
            _ids(query, "query"),
            _line_numbers(len(query)),
            None,
            None,
            _ids(item, "item"),
            _finite(grade, "grade", findings),
        )
    lists = _lists(source)
    if not all(isinstance(listed, Mapping) for listed in lists):
        raise UnreadableError("expected a dict of dicts: query -> item -> grade")
    return Graded(
        query=_ids(source, "query"),
        line=_line_numbers(len(lists)),
        flag=None,
        lengths=np.array([len(listed) for listed in lists], dtype=np.int64),
        item=_ids(chain.from_iterable(lists), "item"),
        grade=_finite(list(chain.from_iterable(listed.values() for listed in lists)), "grade", findings),
    )


def ranked(source: Source, findings: Findings) -> Ranked:
    """A submission in memory. Raises Unreadable where it has not the form of one."""
    if _is_frame(source):
        by = "rank" if _column(source, "score") is None and _column(source, "rank") is not None else "score"
        value = _finite(_needed(source, by), by, findings)
        fit = ranks(value, np.isfinite(value), findings) if by == "rank" else None
        return Ranked(
            query=_ids(_needed(source, "query"), "query"),
            line=_line_numbers(len(source)),
            lengths=None,
            item=_ids(_needed(source, "item"), "item"),
            run_score=value if by == "score" else None,
            rank=None if fit is None else np.where(fit, value, 0).astype(np.int64),
        )
    if isinstance(source, ArrowTable):
        return tables.ranked(_arrow(source), {}, findings)
    if not isinstance(source, Mapping):
        query, item, score = _tuples(source, "score")
        return Ranked(
            _ids(query, "query"), _line_numbers(len(query)), None, _ids(item, "item"), _finite(score, "score", findings)
        )
    lists = _lists(source)
    scored = [isinstance(listed, Mapping) for listed in lists]
    if any(scored) and not all(scored):
        raise UnreadableError(
            "expected run scores (query -> item -> score) or lists (query -> items), for all queries alike"
        )
    values = list(chain.from_iterable(listed.values() for listed in lists)) if lists and all(scored) else None
    return Ranked(
        query=_ids(source, "query"),
        line=_line_numbers(len(lists)),
        lengths=np.array([len(listed) for listed in lists], dtype=np.int64),
        item=_ids(chain.from_iterable(lists), "item"),
        run_score=None if values is None else _finite(values, "score", findings),
    )


def _is_frame(source: object) -> TypeGuard[pd.DataFrame]:
    """Is it a DataFrame of pandas? Its columns may hold anything, so they are not read by way of Arrow."""
    return hasattr(source, "iloc") and hasattr(source, "columns")


def _arrow(source: ArrowTable) -> pa.ListsByQuery:
    try:
        return pa.RecordBatchReader.from_stream(source).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UnreadableError(f"a {type(source).__name__} that is no table ({error})") from error


def _tuples(rows: Iterable[Sequence[Any]], number: str) -> tuple[list[Any], list[Any], list[Any]]:
    """The queries, the items and the numbers of rows: by the fields' names where they have any, else as they stand."""
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise UnreadableError(f"found a {type(rows).__name__}; {EXPECTED}")
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    known: dict[type, list[int]] = {}
    for line, row in enumerate(rows, 1):
        if type(row) not in known:
            known[type(row)] = _fields(row, number, line)
        places = known[type(row)]
        if type(row) in (tuple, list) and len(row) != 3:
            raise UnreadableError(f"found a row of {len(row)}; expected a query, an item and a {number}", line)
        for column, at in zip(columns, places, strict=True):
            column.append(row[at])
    return columns


def _fields(row: object, number: str, line: int) -> list[int]:
    """Where a row of this type has the query, the item and the number."""
    if not isinstance(row, tuple | list):
        raise UnreadableError(f"found a row that is a {type(row).__name__}; {EXPECTED}", line)
    names = [str(name).lower() for name in getattr(row, "_fields", ())]
    if not names:
        return [0, 1, 2]
    places = [place(names, wanted, {}) for wanted in ("query", "item", number)]
    if any(at is None for at in places):
        raise UnreadableError(
            f"found a row with the fields {', '.join(names)}; expected query_id, doc_id and {number}", line
        )
    return [at for at in places if at is not None]


def _lists(source: ListsByQuery) -> list[Any]:
    lists = list(source.values())
    if any(isinstance(listed, str) or not isinstance(listed, Mapping | Sequence | np.ndarray) for listed in lists):
        raise UnreadableError("expected a dict whose values are dicts (item -> number) or lists of items")
    return lists


def _line_numbers(count: int) -> Ints:
    """Rows counted from 1, in place of a file's lines."""
    return np.arange(1, count + 1, dtype=np.int64)


def _column(frame: pd.DataFrame, wanted: str) -> Any:
    """The column that goes by one of the names, whatever their case; None where there is none."""
    lower = {str(name).lower(): name for name in frame.columns}
    return next((lower[name] for name in COLUMNS[wanted] if name in lower), None)


def _needed(frame: pd.DataFrame, wanted: str) -> Any:
    name = _column(frame, wanted)
    if name is None:
        raise UnreadableError(f"no column for the {wanted}; expected one of {', '.join(COLUMNS[wanted])}")
    return frame[name]


def _ids(values: Iterable[Any], what: str) -> pa.StringArray:
    """Ids as text; whole numbers are written as such, and anything else is refused, since its text is not certain."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    kinds = set(map(type, listed))
    odd = {kind for kind in kinds if not issubclass(kind, str | int | np.integer) or kind is bool}
    if odd:
        value = next(value for value in listed if type(value) in odd)
        raise UnreadableError(f"found {quoted(repr(value))} as the id of the {what}; expected text or a whole number")
    return texts(listed if kinds == {str} else map(str, listed))


def _finite(values: Any, what: str, findings: Findings) -> Floats:
    """The values as float64; what is not a finite number becomes a finding."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnreadableError(f"not every {what} is a number ({error})") from error
    wrong = np.flatnonzero(~np.isfinite(numbers))
    findings.add_each(wrong + 1, lambda at: f"found {numbers[wrong[at]]} as the {what}; expected a finite number")
    return numbers
