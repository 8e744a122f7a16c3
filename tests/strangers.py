"""Changes published documents as a stranger does: with the standard library, and nothing of scorer."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value of a document."""

Rows = list[dict[str, Any]]


def places(document: Any, place: Place = ()) -> Iterator[Place]:
    """All places of a document, also those of objects and lists, but the whole."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from places(value, (*place, key))


def copied(document: Any) -> Any:
    """A copy."""
    return json.loads(json.dumps(document))


def at(document: Any, place: Place) -> Any:
    """The value at a place."""
    for key in place:
        document = document[key]
    return document


def without(document: Any, place: Place) -> Any:
    """A copy without the value at a place."""
    new = copied(document)
    del at(new, place[:-1])[place[-1]]
    return new


def replaced(document: Any, place: Place, value: Any) -> Any:
    """A copy with another value at a place."""
    new = copied(document)
    at(new, place[:-1])[place[-1]] = value
    return new


def other(value: Any) -> Any:
    """Another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        first = value[:1]
        return ("1" if first == "0" else "0" if first.isdigit() else "b" if first == "a" else "a") + value[1:]
    if isinstance(value, list):
        return value[:-1] if value else ["x"]
    return {} if value else "x"


def fitted(document: dict[str, Any], share: str) -> dict[str, Any]:
    """A revealed split.json with another share, and the lists that fit it."""
    key, track = bytes.fromhex(document["key"]), document["track"].encode()
    lists: dict[str, list[str]] = {"preliminary": [], "rest": []}
    for query in sorted(document["queries"]["preliminary"] + document["queries"]["rest"]):
        number = int.from_bytes(hmac.new(key, track + b"\0" + query.encode(), "sha256").digest()[:8], "big")
        lists["preliminary" if number < float(share) * 2**64 else "rest"].append(query)
    return {**document, "preliminary": share, "queries": lists}


def rows(content: Mapping[str, bytes], name: str) -> Rows:
    """The lines of a member."""
    return [json.loads(line) for line in content[name].splitlines()]


def chain(lines: Rows) -> None:
    """Compute all heads of the lines of a log again."""
    head = bytes(32)
    for line in lines:
        if "version" in line:
            covered = {key: line[key] for key in ("version", "epoch", "index", "kind", "leaf")}
            stated = b"\2" + head + json.dumps(covered, separators=(",", ":")).encode()
        else:
            stated = b"\1" + head + bytes.fromhex(line["leaf"])
        head = hashlib.sha256(stated).digest()
        line["head"] = head.hex()


def lines_of(found: Iterable[object]) -> bytes:
    """JSON objects, one a line."""
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in found)
