"""What JSON's values mean as ids and numbers, for the formats that are made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from scorer.errors import Findings
from scorer.wording import printable, quoted


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key that stands twice is seen twice."""


DECODER = json.JSONDecoder(object_pairs_hook=Pairs)

MALFORMED = (ValueError, RecursionError)
"""What the decoder raises: for text that is no JSON, for numbers of thousands of digits, for nests of thousands."""


def told(error: BaseException) -> str:
    """What the decoder found, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def shown(value: object) -> str:
    """A value as a message may show it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Pairs):
        return "an object"
    return "a list" if isinstance(value, list) else printable(json.dumps(value)[:60])


def identity(value: object) -> str | None:
    """An id: a text, or a whole number as it is written; None for anything else, since its text is not certain."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def finite(value: object) -> float | None:
    """A finite number; None for anything else, a number in quotes too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def numbered(pairs: Pairs, what: str, line: int, findings: Findings) -> tuple[list[str], list[float]]:
    """The items of an object and their numbers; what is neither becomes a finding and is left out."""
    items, numbers = [], []
    for item, value in pairs:
        number = finite(value)
        if not item:
            findings.add(line, 'found "" as an item; expected an id')
        elif number is None:
            findings.add(line, f"found {shown(value)} as the {what} of item {quoted(item)}; expected a finite number")
        else:
            items.append(item)
            numbers.append(number)
    return items, numbers


def identities(values: Iterable[object], line: int, findings: Findings) -> list[str]:
    """The ids in a list; what is none becomes a finding and is left out."""
    items = []
    for place, value in enumerate(values, 1):
        item = identity(value)
        if item is None:
            findings.add(line, f"found {shown(value)} as item {place} of the list; expected text or a whole number")
        else:
            items.append(item)
    return items


def dumped(value: str | list[str] | Mapping[str, Any]) -> str:
    """A value as JSON, on one line; what Python writes for it is the shortest that is read as the same."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def whole(value: float) -> float | int:
    """A number as it is written: 2, not 2.0. Beyond 2^53, and for -0, there is no whole number to stand for it."""
    return int(value) if value.is_integer() and abs(value) < 2**53 and (value or math.copysign(1, value) > 0) else value
