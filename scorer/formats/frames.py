"""Solutions and submissions that are in memory already: DataFrames and dicts, as Graded and Ranked rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, quoted
from scorer.formats.arrow import texts
from scorer.formats.delimited import A_RANK, COLUMNS, FLAGS, are_ranks
from scorer.formats.rows import Graded, Ranked
from scorer.formats.text import Unreadable
from scorer.hits import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

Table = Mapping[str, Any]
"""Query -> item -> grade (a solution); query -> item -> run score, or query -> items in order (a submission)."""


def graded(source: pd.DataFrame | Table, findings: Findings) -> Graded:
    """A solution in memory. Raises Unreadable where it has not the form of one."""
    if not isinstance(source, Mapping):
        flag = _column(source, "flag")
        return Graded(
            query=_ids(_needed(source, "query"), "query"),
            line=_line_numbers(len(source)),
            flag=None if flag is None else _flags(source[flag].tolist(), findings),
            lengths=None,
            item=_ids(_needed(source, "item"), "item"),
            grade=_finite(_needed(source, "grade"), "grade", findings),
        )
    lists = _lists(source)
    if not all(isinstance(listed, Mapping) for listed in lists):
        raise Unreadable("expected a dict of dicts: query -> item -> grade")
    return Graded(
        query=_ids(source, "query"),
        line=_line_numbers(len(lists)),
        flag=None,
        lengths=np.array([len(listed) for listed in lists], dtype=np.int64),
        item=_ids([item for listed in lists for item in listed], "item"),
        grade=_finite([grade for listed in lists for grade in listed.values()], "grade", findings),
    )


def ranked(source: pd.DataFrame | Table, findings: Findings) -> Ranked:
    """A submission in memory. Raises Unreadable where it has not the form of one."""
    if not isinstance(source, Mapping):
        by = "rank" if _column(source, "score") is None and _column(source, "rank") is not None else "score"
        value = _finite(_needed(source, by), by, findings)
        if by == "rank":
            wrong = np.flatnonzero(np.isfinite(value) & ~are_ranks(value))
            findings.add_each(wrong + 1, lambda at: f"found {value[wrong[at]]:g} as the rank; expected {A_RANK}")
        return Ranked(
            query=_ids(_needed(source, "query"), "query"),
            line=_line_numbers(len(source)),
            lengths=None,
            item=_ids(_needed(source, "item"), "item"),
            run_score=value if by == "score" else None,
            rank=np.where(are_ranks(value), value, 0).astype(np.int64) if by == "rank" else None,
        )
    lists = _lists(source)
    scored = [isinstance(listed, Mapping) for listed in lists]
    if any(scored) and not all(scored):
        raise Unreadable(
            "expected run scores (query -> item -> score) or lists (query -> items), for all queries alike"
        )
    items = [item for listed in lists for item in listed]
    values = [score for listed in lists for score in listed.values()] if lists and all(scored) else None
    return Ranked(
        query=_ids(source, "query"),
        line=_line_numbers(len(lists)),
        lengths=np.array([len(listed) for listed in lists], dtype=np.int64),
        item=_ids(items, "item"),
        run_score=None if values is None else _finite(values, "score", findings),
    )


def _lists(source: Table) -> list[Any]:
    lists = list(source.values())
    if any(isinstance(listed, str) or not isinstance(listed, Mapping | Sequence | np.ndarray) for listed in lists):
        raise Unreadable("expected a dict whose values are dicts (item -> number) or lists of items")
    return lists


def _line_numbers(count: int) -> Ints:
    """Rows counted from 1, in place of a file's lines."""
    return np.arange(1, count + 1, dtype=np.int64)


def _column(frame: pd.DataFrame, wanted: str) -> Any:
    """The column that goes by one of the names, whatever their case; None where there is none."""
    if not hasattr(frame, "columns"):
        raise Unreadable(f"found a {type(frame).__name__}; expected a path, a DataFrame or a dict")
    lower = {str(name).lower(): name for name in frame.columns}
    return next((lower[name] for name in COLUMNS[wanted] if name in lower), None)


def _needed(frame: pd.DataFrame, wanted: str) -> Any:
    name = _column(frame, wanted)
    if name is None:
        raise Unreadable(f"no column for the {wanted}; expected one of {', '.join(COLUMNS[wanted])}")
    return frame[name]


def _flags(values: list[Any], findings: Findings) -> Bools:
    """Truth values, 0 and 1, and the words that a table may have for them; anything else becomes a finding."""
    words = [str(value).strip().lower() for value in values]
    wrong = [place for place, word in enumerate(words) if word not in FLAGS]
    findings.add_each(
        [place + 1 for place in wrong],
        lambda at: f"found {quoted(words[wrong[at]])} as the flag; expected 1 (preliminary) or 0",
    )
    return np.array([FLAGS.get(word, False) for word in words], dtype=bool)


def _ids(values: Iterable[Any], what: str) -> pa.StringArray:
    """Ids as text; whole numbers are written as such, and anything else is refused, since its text is not certain."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    for value in listed:
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool):
            raise Unreadable(f"found {quoted(repr(value))} as the id of the {what}; expected text or a whole number")
    return texts(map(str, listed))


def _finite(values: Any, what: str, findings: Findings) -> Floats:
    """The values as float64; what is not a finite number becomes a finding."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"not every {what} is a number ({error})") from error
    wrong = np.flatnonzero(~np.isfinite(numbers))
    findings.add_each(wrong + 1, lambda at: f"found {numbers[wrong[at]]} as the {what}; expected a finite number")
    return numbers
