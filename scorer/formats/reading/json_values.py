"""The values of JSON: ids and numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scorer.errors import Findings
from scorer.formats.reading.blocks import LINE_END, Block
from scorer.formats.reading.bytes import LimitError
from scorer.measures.arrays import Bools, Ints
from scorer.wording import printable, quoted


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, which keep a key that occurs twice."""


DECODER = json.JSONDecoder(object_pairs_hook=Pairs)

MALFORMED = (ValueError, RecursionError)
"""What the decoder raises: for text that is not JSON, numbers of thousands of digits, and values nested too deeply."""


QUOTE = ord('"')
STEPS = np.zeros(256, dtype=np.int8)
"""[byte]: by how many levels it changes the depth."""
STEPS[list(b"[{")] = 1
STEPS[list(b"]}")] = -1
MARKS = STEPS != 0
MARKS[[QUOTE, LINE_END]] = True


def check_nesting(block: Block, *, by_line: bool) -> None:
    """Raise LimitError where values are nested too deeply, before they are decoded.

    `by_line`: each line is a separate value, and an unclosed bracket or quote does not affect the next line.
    """
    content = block.content
    if b"\\" in content:
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")  # only quotes that end a string are left
    every = np.frombuffer(content, dtype=np.uint8)
    marks = every[MARKS[every]]
    new_line = marks == LINE_END
    in_text = _since(np.cumsum(marks == QUOTE), new_line, reset=by_line) % 2 == 1
    depth = _since(np.cumsum(np.where(in_text, 0, STEPS[marks]), dtype=np.int64), new_line, reset=by_line)
    deep = np.flatnonzero(depth > block.limits.nesting)
    if deep.size:
        line = block.first_line + int(np.count_nonzero(new_line[: deep[0]]))
        raise LimitError(block.limits, "nesting", f"values are nested {int(depth.max()):,} deep", line)


def _since(total: Ints, new_line: Bools, *, reset: bool) -> Ints:
    """The running total, which begins again at each line if `reset`."""
    if not reset:
        return total
    last = np.maximum.accumulate(np.where(new_line, np.arange(total.size), -1))
    return total - np.where(last >= 0, total[last], 0)


def explained(error: BaseException) -> str:
    """Return the error of the decoder in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def shown(value: object) -> str:
    """Return a value as messages show it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Pairs):
        return "an object"
    return "a list" if isinstance(value, list) else printable(json.dumps(value)[:60])


def identity(value: object) -> str | None:
    """Return an id: text, or the digits of a whole number; None for anything else, which has no one text."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def finite(value: object) -> float | None:
    """Return a finite number as a float; None for anything else, including a number in quotes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def numbered(pairs: Pairs, what: str, line: int, findings: Findings) -> tuple[list[str], list[float]]:
    """Return the items of an object and their numbers; a pair that is no item and number becomes a finding."""
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
    """Return the ids in a list; a value that is no id becomes a finding."""
    items = []
    for rank, value in enumerate(values, 1):
        item = identity(value)
        if item is None:
            findings.add(line, f"found {shown(value)} as item {rank} of the list; expected text or a whole number")
        else:
            items.append(item)
    return items


def dumped(value: str | list[str] | Mapping[str, Any]) -> str:
    """Return a value as JSON on one line; numbers are the shortest that are read as the same float64."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def whole(value: float) -> float | int:
    """Return 2 for 2.0. -0.0, and numbers from 2^53 on, stay floats, because no whole number is read as the same."""
    return int(value) if value.is_integer() and abs(value) < 2**53 and (value or math.copysign(1, value) > 0) else value
