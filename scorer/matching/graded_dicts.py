"""A solution that is a dict of dicts, without its ids in Arrow; and what makes dicts plain enough for that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from scorer.matching.ids import Lookup
from scorer.measures.arrays import Floats
from scorer.measures.matched import JudgedItems

EXACT = 2**53
"""Whole numbers below it are floats, too, and so keys of `Lookup.first`."""

NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
"""The types of numbers that are read here."""


def graded_dicts(source: object, *, copied: bool) -> dict[str, Any] | None:
    """Return the attributes of the solution query -> item -> grade, by name.

    None for everything that the general reader has to convert or to report. Unless `copied`, the dicts must not change.
    """
    if (whole := plain_dicts(source)) is None:
        return None
    names, lists = whole
    columns: list[Floats] = []
    for listed in lists:
        if (numbers := plain_numbers(listed)) is None:
            return None
        columns.append(-numbers)
    falling, length = -np.concatenate([*map(np.sort, columns)]), np.array([*map(len, lists)])
    if not np.isfinite(falling).all() or not (falling > 0).any():
        return None
    ideal = JudgedItems.ideal(np.repeat(np.arange(length.size), length), falling)
    grades: Sequence[dict[str, float]] = [*map(dict, lists)] if copied else lists
    if np.abs(falling).max() >= EXACT:
        grades = [dict(zip(each, map(float, each.values()), strict=True)) for each in lists]
    return {
        "flagged": np.zeros(length.size, dtype=bool),
        "ideal": ideal,
        "first_entry": np.append(0, np.cumsum(length)),
        "lookup": Lookup.of(names, grades, ideal),
    }


def plain_dicts(source: object) -> tuple[tuple[str, ...], tuple[dict[Any, Any], ...]] | None:
    """Return the queries and the values of a mapping; None unless these are plain ids and dicts."""
    if not isinstance(source, Mapping) or not source:
        return None
    names, lists = tuple(source), tuple(source.values())
    return (names, lists) if {*map(type, lists)} == {dict} and is_plain(names) else None


def plain_numbers(listed: dict[Any, Any]) -> Floats | None:
    """Return the values of a dict; None if one is no number, or an id is not plain."""
    values = listed.values()
    kinds = [*map(type, values)]
    are_alike = bool(kinds) and kinds[0] in NUMBERS and kinds.count(kinds[0]) == len(kinds)
    if not is_plain(listed) or not (are_alike or NUMBERS.issuperset(kinds)):
        return None
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return None


def is_plain(ids: Collection[Any]) -> bool:
    """Whether all ids are of type str and of ASCII: of others, the general reader compares the spelling."""
    return [*map(type, ids)].count(str) == len(ids) and "".join(ids).isascii()
