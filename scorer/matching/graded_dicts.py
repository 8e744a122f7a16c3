"""A solution that is a dict of dicts, without a copy of its ids; and what makes dicts plain enough for that."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from scorer.matching.ids import Lookup, parts_of
from scorer.measures.matched import JudgedItems

NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
"""The types of numbers that are read here."""


def graded_dicts(source: object) -> dict[str, Any] | None:
    """Return the attributes of the solution query -> item -> grade, by name.

    None for everything that the general reader has to convert or to report.
    """
    if (whole := plain_dicts(source)) is None:
        return None
    names, lists = whole
    numbers = array("d")
    if not all(appended(numbers, listed) for listed in lists):
        return None
    grade, length = np.asarray(numbers), np.array([*map(len, lists)])
    if not np.isfinite(grade).all() or not (grade > 0).any():
        return None
    query, first = np.repeat(np.arange(length.size), length), np.append(0, np.cumsum(length))
    best_first = np.lexsort((-grade, query))
    index = np.empty_like(best_first)
    index[best_first] = np.arange(index.size)
    in_order = parts_of(index, first)
    entries = [dict(zip(listed, part.tolist(), strict=True)) for listed, part in zip(lists, in_order, strict=True)]
    return {
        "flagged": np.zeros(length.size, dtype=bool),
        "ideal": JudgedItems.ideal(query, grade[best_first]),
        "first_entry": first,
        "lookup": Lookup(dict(zip(names, range(length.size), strict=True)), entries, in_order),
    }


def plain_dicts(source: object) -> tuple[tuple[str, ...], tuple[dict[Any, Any], ...]] | None:
    """Return the queries and the values of a mapping; None unless these are plain ids and dicts."""
    if not isinstance(source, Mapping) or not source:
        return None
    names, lists = tuple(source), tuple(source.values())
    return (names, lists) if {*map(type, lists)} == {dict} and is_plain(names) else None


def appended(numbers: array[float], listed: dict[Any, Any]) -> bool:
    """Append the values of a dict; return False if one is no number, or an id is not plain."""
    values = listed.values()
    if not is_plain(listed) or not (_are_all(float, values) or NUMBERS.issuperset(map(type, values))):
        return False
    try:
        numbers.fromlist([*values])
    except OverflowError:
        return False
    return True


def _are_all(kind: type, values: Collection[Any]) -> bool:
    """Whether all values have exactly this type."""
    return [*map(type, values)].count(kind) == len(values)


def is_plain(ids: Collection[Any]) -> bool:
    """Whether all ids are of type str, and UTF-8 can hold them."""
    if not _are_all(str, ids):
        return False
    joined = "".join(ids)
    try:
        return joined.isascii() or bool(joined.encode())
    except UnicodeEncodeError:
        return False
