"""Submissions by name: how a dict with several submissions differs from one submission that is a dict."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from scorer.errors import IN_MEMORY, Findings, Problem, SubmissionError
from scorer.matching.solution import Source
from scorer.wording import quoted


class Several(dict[str, Source]):
    """Submissions by name. Raises ValueError without a submission, or where a name is not text."""

    def __init__(self, submissions: Mapping[str, Source]) -> None:
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


def several(source: Source) -> Several | None:
    """Return the submissions by name; None for one submission.

    The values of a dict decide. Paths, tables, rows and dicts by query are whole submissions; items in order, and dicts
    item -> run score, are lists of one query. Empty values can be either; where all are empty, they are lists. Raises
    SubmissionError where some values are whole submissions and others are lists, and ValueError where the name of a
    submission is not text.
    """
    if isinstance(source, Several):
        return source
    if not isinstance(source, Mapping):
        _refuse_list_of_paths(source)
        return None
    firsts: dict[bool, object] = {}
    known: dict[tuple[type, type], bool | None] = {}  # a run may have many queries, all alike
    for name, value in source.items():
        element = _first_element(value)
        kind = (type(value), type(element))
        if kind not in known:
            known[kind] = _is_whole(value, element)
            is_row = isinstance(element, tuple | list | np.ndarray) and not _is_plain(element) and len(element) == 2
            if is_row and not isinstance(value, Mapping):
                raise _error(
                    f"found pairs (as {quoted(str(name))}); for run scores, write a dict item -> score, as in "
                    '{"q1": {"d1": 2.0}}'
                )
        whole = known[kind]
        if whole is not None:
            firsts.setdefault(whole, name)
    if len(firsts) == 2:
        raise _error(
            f"found both whole submissions (as {quoted(str(firsts[True]))}) and lists of one query (as "
            f"{quoted(str(firsts[False]))}); expected one submission, query -> list, or several, name -> submission"
        )
    return Several(source) if True in firsts else None


class _Nothing:
    """The type of the first element of what has no elements."""


_NOTHING = _Nothing()


def _first_element(value: Any) -> object:
    """The first value of a dict, or the first element of a sequence or an array."""
    kind = type(value)
    if kind is list or kind is tuple:
        return value[0] if value else _NOTHING
    if kind is dict or isinstance(value, Mapping):
        return next(iter(value.values()), _NOTHING)
    if isinstance(value, np.ndarray):
        return value[0] if value.ndim and value.size else _NOTHING
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value[0] if len(value) else _NOTHING
    return _NOTHING


def _is_whole(value: object, element: object) -> bool | None:
    """Whether a value of a dict is a whole submission; False for a list of one query; None if it can be either.

    The types of the value and of its first element decide.
    """
    if isinstance(value, str):  # a path
        return True
    if _is_plain(value):  # reported where it is read
        return None
    if isinstance(value, Mapping | Sequence | np.ndarray):
        return None if element is _NOTHING else not (isinstance(element, str) or _is_plain(element))
    return True


def _is_plain(value: object) -> bool:
    """Whether a value is a number, as of `decimal` or an array without dimensions, bytes or None."""
    is_number = isinstance(value, Number | bytes | np.generic) or getattr(value, "ndim", 1) == 0
    return value is None or (is_number and not isinstance(value, np.void))


def _refuse_list_of_paths(source: object) -> None:
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | os.PathLike) for path in source):
        raise _error(
            f"found a {type(source).__name__} of paths or other texts; for several submissions, pass a dict "
            'name -> path, as in {"a": "a.run", "b": "b.run"}'
        )


def _error(text: str) -> SubmissionError:
    return SubmissionError(IN_MEMORY, Findings([Problem(0, text)], 1))
