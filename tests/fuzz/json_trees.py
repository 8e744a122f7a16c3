"""Mutations of JSON by its members and elements."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.fuzz import oddities


class Raw(str):
    """A text that is written without quotes: a number, or anything that is no JSON."""

    __slots__ = ()


class Object(list[tuple[Any, Any]]):
    """The members of an object, which may be repeated."""


DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_int=Raw, parse_float=Raw, parse_constant=Raw)


def mutated_lines(rng: random.Random, content: bytes) -> bytes:
    """Return JSON Lines with one line mutated."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = mutated_document(rng, lines[at])
    return b"\n".join(lines)


def mutated_document(rng: random.Random, content: bytes) -> bytes:
    """Return a document with one of its values mutated; content that is not JSON is returned unchanged."""
    try:
        root = [DECODER.decode(content.decode())]
    except (ValueError, RecursionError):
        return content
    _mutate(rng, rng.choice(list(_containers(root))))
    try:
        return _written(root[0] if root else Raw("")).encode("utf-8", "surrogatepass")
    except RecursionError:
        return content


def _containers(value: Any) -> Iterator[list[Any]]:
    """Yield all lists and objects in a value."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Object):
            yield each
            pending += [member for _, member in each]
        elif isinstance(each, list):
            yield each
            pending += each


def _mutate(rng: random.Random, container: list[Any]) -> None:
    """Change, drop, repeat, swap, nest or add an entry of a list or an object."""
    if not container:
        added = Raw(rng.choice(oddities.JSON_VALUES))
        container.append((rng.choice(oddities.NAMES), added) if isinstance(container, Object) else added)
        return
    at, there = rng.randrange(len(container)), rng.randrange(len(container))
    how = rng.choice(["odd", "odd", "odd", "name", "drop", "repeat", "swap", "nest"])
    if how == "drop":
        del container[at]
    elif how == "repeat":
        container[at:at] = [container[there]] * rng.choice([1, 1, 2, 200])
    elif how == "swap":
        container[at], container[there] = container[there], container[at]
    elif isinstance(container, Object):
        name, value = container[at]
        if how == "name":
            name = rng.choice([*oddities.NAMES, *oddities.TEXTS])
        container[at] = (name, value if how == "name" else _other(rng, how, value))
    else:
        container[at] = _other(rng, how, container[at])


def _other(rng: random.Random, how: str, value: Any) -> Any:
    if how == "nest":
        return rng.choice([[value], Object([("a", value)]), Object([(rng.choice(oddities.NAMES), value)])])
    return rng.choice([Raw(rng.choice(oddities.JSON_VALUES)), rng.choice(oddities.TEXTS)])


def _written(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, Object):
        return "{" + ", ".join(f"{_written(name)}: {_written(member)}" for name, member in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=isinstance(value, str) and len(value) % 2 == 1)
