"""Solutions and submissions in memory, as Graded and Ranked batches.

DataFrames of pandas, tables of any library that exports Arrow (polars, pyarrow, DuckDB, ...), dicts by query, objects
with such a dict, as ranx' Qrels and Run, and rows of a query, an item and a number: tuples, dicts, or objects with
attributes, as in ir_measures and ir_datasets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from itertools import chain
from numbers import Number
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import from_numpy, texts
from scorer.lists.reading.blocks import Graded, Ranked, UnreadableError
from scorer.measures.matched import Floats, Ints
from scorer.wording import quoted

if TYPE_CHECKING:
    import pandas as pd

_EXPECTED = "expected a path, a DataFrame, an Arrow table, a dict, or rows of query, item and number"

ListsByQuery = Mapping[str, Any]
"""Query -> item -> grade (a solution); query -> item -> run score, or query -> items by rank (a submission)."""


@runtime_checkable
class ArrowTable(Protocol):
    """An object that exports its columns to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class PyarrowTable(ArrowTable, Protocol):
    """A table of pyarrow, whose members type checkers do not know."""

    def __getattr__(self, name: str) -> Any: ...

    def __getitem__(self, name: str) -> Any: ...


class Frame(Protocol):
    """A DataFrame of pandas, which need not be installed."""

    @property
    def iloc(self) -> Any: ...

    @property
    def columns(self) -> Any: ...


class _ByQuery(Protocol):
    """An object of lists by query that is no dict, as ranx' Qrels and Run."""

    def keys(self) -> Iterable[str]: ...

    def to_dict(self) -> ListsByQuery: ...


MemorySource = ListsByQuery | _ByQuery | Frame | ArrowTable | Iterable[Any]
"""Everything in memory that can be a solution or a submission."""


def graded_of(source: MemorySource, findings: Findings) -> Graded:
    """Return a solution in memory as a batch. Raises UnreadableError where it is no solution."""
    source = _by_query(source)
    if not isinstance(source, Mapping) or is_of_columns(source, tables.SOLUTION_COLUMNS):
        return tables.graded_rows(*_rows(source, tables.SOLUTION_COLUMNS), findings)
    lists = _lists(source)
    if not all(isinstance(listed, Mapping) for listed in lists):
        raise UnreadableError("expected a dict of dicts: query -> item -> grade")
    if any(isinstance(next(iter(listed.values()), None), Mapping) for listed in lists):
        pairs = ((query, *item) for query, items in source.items() for item in items.items())
        rows = ((query, item, grade, name) for query, item, grades in pairs for name, grade in grades.items())
        return tables.graded_rows(*_rows(rows, tables.SOLUTION_COLUMNS), findings)
    grades = chain.from_iterable(listed.values() for listed in lists)
    return Graded(*_columns(source, lists), _finite(grades, "grade", findings))


def ranked_of(source: MemorySource, findings: Findings) -> Ranked:
    """Return a submission in memory as a batch. Raises UnreadableError where it is no submission."""
    source = _by_query(source)
    if not isinstance(source, Mapping) or is_of_columns(source):
        return tables.ranked_rows(*_rows(source, tables.SUBMISSION_COLUMNS), findings)
    lists = _lists(source)
    scored = [isinstance(listed, Mapping) for listed in lists]
    if any(scored) and not all(scored):
        raise UnreadableError(
            "expected run scores (query -> item -> score) or lists (query -> items), for all queries alike"
        )
    values = chain.from_iterable(listed.values() for listed in lists) if any(scored) else None
    return Ranked(*_columns(source, lists), None if values is None else _finite(values, "score", findings))


def _columns(source: ListsByQuery, lists: Sequence[Any]) -> tuple[pa.StringArray, Ints, Ints, pa.StringArray]:
    """Return the query, the line and the number of items of each list; and each item."""
    lengths = np.array([len(listed) for listed in lists], dtype=np.int64)
    items = _ids(chain.from_iterable(lists), "item")
    return _ids(source, "query"), np.arange(1, len(lists) + 1), lengths, items


def _by_query(source: Any) -> Any:
    """Return an object of lists by query, such as ranx's Qrels and Run, as a dict, and an array as rows.

    Of a dict of tables by split, as Hugging Face's DatasetDict, return the table if there is one only.
    """
    if isinstance(source, Mapping) and source and all(map(_is_table, source.values())):
        if len(source) > 1:
            raise UnreadableError(f"found tables called {', '.join(quoted(str(name)) for name in source)}; give one")
        return next(iter(source.values()))
    if isinstance(source, np.ndarray):
        rows = source.tolist()
        return [dict(zip(source.dtype.names, row, strict=True)) for row in rows] if source.dtype.names else rows
    is_read = isinstance(source, Mapping | Iterable | ArrowTable) or _is_frame(source)
    if is_read or not all(hasattr(source, name) for name in ("keys", "to_dict")):
        return source
    listed = source.to_dict()
    if not isinstance(listed, Mapping):
        raise UnreadableError(f"found a {type(source).__name__}; {_EXPECTED}")
    return listed


_MOST_COLUMNS = 100
"""Dicts with more keys are by query."""


def is_of_columns(source: Mapping[str, Any], wanted: tuple[str, ...] = tables.SUBMISSION_COLUMNS) -> bool:
    """Whether this is a dict of columns, as Hugging Face gives it, and not one by query."""
    columns = source.values() if len(source) <= _MOST_COLUMNS else ()
    if columns and all(isinstance(column, list | tuple) or getattr(column, "ndim", 0) == 1 for column in columns):
        with suppress(UnreadableError):
            return bool(tables.needed_places([*map(str, source)], wanted, {}))
    return False


def _lists(source: ListsByQuery) -> list[Any]:
    lists = list(source.values())
    if any(isinstance(listed, Set) for listed in lists):
        name = next(name for name, listed in source.items() if isinstance(listed, Set))
        raise UnreadableError(f"found a set (as {quoted(str(name))}), which has no order; give a list of items by rank")
    kinds = (Mapping, Sequence, np.ndarray)
    if any(
        isinstance(listed, str) or not isinstance(listed, kinds) or getattr(listed, "ndim", 1) == 0 for listed in lists
    ):
        raise UnreadableError("expected a dict whose values are dicts (item -> number) or lists of items")
    return lists


def _rows(source: Any, wanted: tuple[str, ...]) -> tuple[tables.Columns, Ints]:
    """Return the columns to read of a table or of rows, with the ranks next to scores, and the number of each row."""
    held = _held(source, wanted)
    return held, np.arange(1, len(held["query"]) + 1)


def _held(source: Any, wanted: tuple[str, ...]) -> tables.Columns:
    if isinstance(source, Mapping) or hasattr(source, "iloc"):
        # The columns of a frame may hold anything, so Arrow does not convert them.
        by_name = isinstance(source, Mapping)
        columns = [*source.values()] if by_name else [source.iloc[:, at] for at in range(len(source.columns))]
        names = [*map(str, source if by_name else source.columns)]
        if len({*map(len, columns)}) > 1:
            found = ", ".join(f"{name} has {len(column):,}" for name, column in zip(names, columns, strict=True))
            raise UnreadableError(f"found columns of different lengths: {found}")
        places, ranks = tables.needed_places(names, wanted, {}), tables.places(names, "rank", {})
        if "score" in places and len(ranks) == 1 and np.asarray(columns[ranks[0]]).dtype.kind in "iuf":
            places["rank"] = ranks[0]
        return {column: _converted(column, columns[at]) for column, at in places.items()}
    if isinstance(source, ArrowTable):
        try:
            table = pa.RecordBatchReader.from_stream(source).read_all()
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UnreadableError(f"a {type(source).__name__} that is no table ({error})") from error
        held, ranks = tables.columns_of(table, wanted, {}), tables.places(table.column_names, "rank", {})
        if "score" in held and len(ranks) == 1:
            return {**held, "rank": tables.whole_column(table.column(ranks[0]))}
        return held
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        expected = "collect it first, with .collect()" if hasattr(source, "collect") else _EXPECTED
        raise UnreadableError(f"found a {type(source).__name__}; {expected}")
    return {name: _converted(name, values) for name, values in _row_columns(source, wanted).items()}


def _is_table(source: object) -> bool:
    is_column = getattr(source, "ndim", 2) == 1
    return not is_column and (_is_frame(source) or isinstance(source, ArrowTable) or hasattr(source, "column_names"))


def _is_frame(source: object) -> TypeGuard[Frame]:
    return hasattr(source, "iloc") and hasattr(source, "columns")


def _row_columns(rows: Iterable[Any], wanted: tuple[str, ...]) -> dict[str, Sequence[Any]]:
    """Return rows as columns; the first row decides which there are."""
    known: dict[object, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
    first: tuple[str, ...] = ()
    read: list[tuple[Any, ...]] = []
    for line, row in enumerate(rows, 1):
        kind = (type(row), *(row if isinstance(row, Mapping) else [len(row)] if isinstance(row, tuple | list) else ()))
        if kind not in known:
            try:
                known[kind] = _getter(row, wanted)
            except UnreadableError as error:
                raise UnreadableError(str(error), line) from None
        names, get = known[kind]
        first = first or names
        if names != first:
            raise UnreadableError(f"found a row of {', '.join(names)}; expected {', '.join(first)}, as above", line)
        read.append(get(row))
    return dict(zip(first or wanted[:3], zip(*read, strict=True) if read else ((), (), ()), strict=True))


def _getter(row: Any, wanted: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the columns of a row, and the function that reads them from all rows of its kind."""
    fields = getattr(row, "_fields", ())
    if isinstance(row, tuple | list) and not fields:
        if len(row) == 4 and "subtopic" in wanted and not isinstance(row[2], str):
            return (*wanted[:3], "subtopic"), itemgetter(0, 1, 2, 3)
        if len(row) != 3:
            raise UnreadableError(f"found a row of {len(row)}; expected a query, an item and a {wanted[2]}")
        return wanted[:3], itemgetter(0, 1, 2)
    if isinstance(row, Mapping):
        names = list(row)
    else:
        usual = (name for name in dir(row) if name[0] != "_" and tables.plain(name) in tables.USUAL_NAMES)
        names = list(fields) or [name for name in usual if not callable(getattr(row, name))]
    if not names:
        raise UnreadableError(f"found a row that is a {type(row).__name__}; {_EXPECTED}")
    try:
        places = tables.needed_places([*map(str, names)], wanted, {})
    except UnreadableError as error:
        held = ", ".join(quoted(str(name)) for name in names)
        raise UnreadableError(f"found a row that is a {type(row).__name__} with {held}; {error}") from None
    chosen = [names[at] for at in places.values()]
    return tuple(places), itemgetter(*chosen) if isinstance(row, Mapping) else attrgetter(*chosen)


def _converted(name: str, values: Any) -> pa.Array:
    """Return a column of Python's or numpy's values, as Arrow has it."""
    if name in ("query", "item", "subtopic"):
        ids = arrow_ids(values) if hasattr(values, "iloc") else None
        return _ids(values, name) if ids is None else tables.whole_column(ids)
    if name in ("items", "relevant"):
        return _id_lists(list(values))
    if name in tables.SIGNS:
        return pa.array([[float(number) for number in each] for each in values], pa.list_(pa.float64()))
    return texts(map(str, values)) if name in ("flag", "iteration") else from_numpy(_numbers(values, name))


def _id_lists(lists: list[Any]) -> pa.Array:
    if all(isinstance(each, str) for each in lists):
        return texts(lists)
    if any(isinstance(each, str) or not isinstance(each, Sequence | np.ndarray) for each in lists):
        raise UnreadableError("expected a list of ids in the column items of each row")
    offsets = np.cumsum([0, *map(len, lists)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _ids(chain.from_iterable(lists), "item"))


def arrow_ids(column: pd.Series) -> pa.ChunkedArray | None:
    """Return the ids in a column of pandas: texts, whole numbers, or categories that are one of these.

    None for any other column, and for one with missing values: each of its values has to be looked at.
    """
    if (column.cat.categories if hasattr(column, "cat") else column).dtype == object:
        return None
    try:
        held = pa.array(column)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    held = held if isinstance(held, pa.ChunkedArray) else pa.chunked_array([held])
    kind = held.type.value_type if pa.types.is_dictionary(held.type) else held.type
    return held if (tables.is_text(kind) or pa.types.is_integer(kind)) and not held.null_count else None


def _ids(values: Iterable[Any], what: str) -> pa.StringArray:
    """Return ids as text; whole numbers by their digits. Anything else is refused, because it has no one text."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    kinds = set(map(type, listed))
    odd = {kind for kind in kinds if not issubclass(kind, str | int | np.integer) or kind is bool}
    if odd:
        value = next(value for value in listed if type(value) in odd)
        raise UnreadableError(f"found {quoted(repr(value))} as the id of the {what}; expected text or a whole number")
    return texts(listed if kinds == {str} else map(str, listed))


def _numbers(values: Any, what: str) -> Floats:
    try:
        read = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnreadableError(f"not every {what} is a number ({error})") from error
    if read.ndim != 1:
        raise UnreadableError(f"not every {what} is a number (found a list)")
    if isinstance(values, tuple) and None in values:
        raise UnreadableError(f"found None as the {what}; expected a finite number", values.index(None) + 1)
    return read


def _finite(values: Iterable[Any], what: str, findings: Findings) -> Floats:
    """Return numbers as float64; those that are not finite become findings."""
    listed = list(values)
    numbers = _numbers(listed, what)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    findings.add_each(wrong + 1, lambda at: f"found {listed[wrong[at]]} as the {what}; expected a finite number")
    return numbers


class Several(dict[str, str | os.PathLike[str] | MemorySource]):
    """Submissions by name. Raises ValueError without a submission, or where a name is not text."""

    def __init__(self, submissions: Mapping[str, str | os.PathLike[str] | MemorySource]) -> None:
        if not isinstance(submissions, Mapping):
            raise ValueError(  # noqa: TRY004 (all wrong calls raise ValueError)
                f"found a {type(submissions).__name__}; expected a dict of submissions by name, as in "
                '{"a": "a.run", "b": "b.run"}'
            )
        for name in submissions:
            if not isinstance(name, str):
                raise ValueError(  # noqa: TRY004
                    f"found {quoted(repr(name))} as the name of a submission; expected text, as in {str(name)!r}"
                )
        super().__init__(submissions)


def several(source: str | os.PathLike[str] | MemorySource) -> Several | None:
    """Return the submissions by name; None for one submission.

    The first value of a dict that has elements decides. Paths, tables, rows and dicts by query are whole submissions;
    items in order, and dicts item -> run score, are lists of one query. Raises ValueError where the name of a
    submission is not text.
    """
    if isinstance(source, Several):
        return source
    if not isinstance(source, dict | Mapping):
        return None
    for value in source.values():
        if (is_whole := _is_whole(value)) is not None:
            return Several(source) if is_whole and not is_of_columns(source) else None
    return None


def _is_whole(value: Any) -> bool | None:
    """Whether a value of a dict is a whole submission; False for a list of one query; None if it can be either.

    The types of the value and of its first element decide.
    """
    if type(value) is not dict:
        if isinstance(value, str):  # a path
            return True
        if _is_scalar(value):  # reported where it is read
            return None
        if not isinstance(value, Mapping | Sequence | Set | np.ndarray):
            return True
    for element in value.values() if isinstance(value, dict | Mapping) else value:
        return not (isinstance(element, str) or _is_scalar(element))
    return None


def _is_scalar(value: object) -> bool:
    """Whether a value is a number, as of `decimal` or an array without dimensions, bytes or None."""
    if type(value) in (float, int) or value is None:
        return True
    is_number = isinstance(value, Number | bytes | np.generic) or getattr(value, "ndim", 1) == 0
    return is_number and not isinstance(value, np.void)
