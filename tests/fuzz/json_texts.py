"""Valid files of JSON and JSON Lines, written from a model in all their forms."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence

from tests.fuzz.files import File, Kind, Text
from tests.fuzz.model import Model, Needs, drawn

NAMES = {
    "query": ("query", "query_id", "QID", "user"),
    "item": ("item", "item_id", "docno"),
    "items": ("items", "Items"),
    "score": ("score", "sim", "Run_Score"),
    "rank": ("rank", "position"),
    "grade": ("grade", "rel", "label"),
    "flag": ("flag", "preliminary"),
}
EXTRA = ('"note": "x"', '"x": [1, {"y": null}]', '"z": {"a": {"b": [2]}}', '"w": 1.5e3', '"t": true', '"n": null')
EMPTY = re.compile("^$")
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
"""Whole numbers that have one notation."""

Dump = Callable[[object], str]


def number(rng: random.Random, value: float) -> str:
    """Return a notation of JSON that is read as the same float64."""
    notations = [repr(value), f"{value:.17g}", f"{value:.20e}", f"{value:.17E}"]
    if value.is_integer() and abs(value) < 2**53:
        notations += [f"{value:.0f}", f"{value:.0f}.0", f"{value:.0f}e0", f"{value:.0f}E+00"]
    return rng.choice([text for text in notations if float(text) == value])


def text(rng: random.Random, value: str) -> str:
    """Return a string of JSON; its characters may be escaped."""
    how = rng.randint(0, 3)
    if how < 2:
        return json.dumps(value, ensure_ascii=bool(how))
    units = value.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2)) + '"'


def identity(rng: random.Random, value: str) -> str:
    """Return an id as a string, or as a number where its digits are the same."""
    return value if WHOLE.fullmatch(value) and rng.random() < 0.3 else text(rng, value)


def jsonl(rng: random.Random, kind: Kind) -> File:
    """Return a file with an object for each item, or for each query."""
    rich = rng.random() < 0.5
    by = _by(rng, kind)
    model = drawn(rng, Needs(EMPTY, EMPTY, rich, empty=by != "rank", distinct=by in ("list", "rank")))
    rows = _rows(rng, model, kind, by)
    return File("jsonl", kind, model, "jsonl" if rich else None, Text("", rows))


def json_document(rng: random.Random, kind: Kind) -> File:
    """Return an array of rows, or an object from queries to their items."""
    rich = rng.random() < 0.5
    named = "json" if rich else None
    space = rng.choice(["", "", "\n", " \n\t"])
    between = rng.choice([",\n", ",", " ,\n\n  "])
    if rng.random() < 0.4:
        by = _by(rng, kind)
        model = drawn(rng, Needs(EMPTY, EMPTY, rich, distinct=by in ("list", "rank")))
        rows = _rows(rng, model, kind, by)
        return File("json", kind, model, named, Text(f"{space}[{space}", rows, between, f"{space}]{space}\n"))
    listed = kind == "submission" and rng.random() < 0.5
    model = drawn(rng, Needs(EMPTY, EMPTY, rich, flags=False, distinct=listed))
    members: list[tuple[str | None, str]] = []
    for query, pairs in _pairs(model, kind).items():
        value = _array(rng, pairs) if listed else _object(rng, pairs)
        members.append((query, f"{text(rng, query)}{rng.choice(['', ' '])}:{rng.choice(['', ' '])}{value}"))
    return File("json", kind, model, named, Text(f"{space}{{{space}", members, between, f"{space}}}{space}\n"))


def _by(rng: random.Random, kind: Kind) -> str:
    return rng.choice(["grade", "object"] if kind == "solution" else ["score", "score", "rank", "list", "object"])


def _pairs(model: Model, kind: Kind) -> dict[str, Sequence[tuple[str, float]]]:
    if kind == "submission":
        return dict(model.lists)
    return {query: list(items.items()) for query, items in model.grades.items()}


def _rows(rng: random.Random, model: Model, kind: Kind, by: str) -> list[tuple[str | None, str]]:
    """Return an object for each item with its number, or for each query with all of its items."""
    names = {column: rng.choice(NAMES[column]) for column in NAMES}
    irregular = rng.random() < 0.3
    extra = rng.choice([[], rng.sample(EXTRA, rng.randint(1, 2))])
    as_numbers = rng.random() < 0.3
    order = rng.random()

    def written(query: str, *members: tuple[str, str]) -> str:
        shown = identity(rng, query) if as_numbers else text(rng, query)
        held = [("query", shown), *members]
        if model.flagged and kind == "solution":
            flag = query in model.flagged
            held.append(("flag", rng.choice([json.dumps(flag), str(int(flag))]) if irregular else json.dumps(flag)))
        parts = [f'"{names[column]}"{rng.choice(["", " "])}: {value}' for column, value in held]
        parts += rng.sample(EXTRA, 1) if irregular else extra
        random.Random(rng.random() if irregular else order).shuffle(parts)
        space = rng.choice(["", " "])
        return f"{{{space}{', '.join(parts)}{space}}}"

    rows: list[tuple[str | None, str]] = []
    for query, pairs in _pairs(model, kind).items():
        if by in ("list", "object") or not pairs:
            value = _array(rng, pairs) if by == "list" or not pairs else _object(rng, pairs)
            rows.append((query, written(query, ("items", value))))
            continue
        for rank, (item, score) in enumerate(pairs, 1):
            shown = str(rank) if by == "rank" else number(rng, score)
            ids = identity(rng, item) if as_numbers else text(rng, item)
            rows.append((query, written(query, ("item", ids), (by, shown))))
    return rows


def _array(rng: random.Random, pairs: Sequence[tuple[str, float]]) -> str:
    return "[" + ", ".join(identity(rng, item) for item, _ in pairs) + "]"


def _object(rng: random.Random, pairs: Sequence[tuple[str, float]]) -> str:
    return "{" + ", ".join(f"{text(rng, item)}: {number(rng, value)}" for item, value in pairs) + "}"
