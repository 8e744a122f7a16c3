"""Valid files of each text format, written from a model by every notation that the format allows."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from scorer.lists.formats import delimited, letor, trec, vlnet
from tests.fuzz import json_texts
from tests.fuzz.files import File, Kind, Text
from tests.fuzz.model import Model, Needs, drawn

SPACES = (" ", " ", "\t", "  ", " \t", "\v", "\f")
ANYTHING = re.compile("^$")
"""What no format can hold: an empty id."""
HIDING = re.compile(r"^$|[:,;|\t\s]|^[#\"{\[]|^query$|^qid:")
"""Ids for which a plain file may be detected as another format."""


def rows_of(model: Model, kind: Kind) -> list[tuple[str, str, float]]:
    """Return query, item and number of each item."""
    if kind == "solution":
        return [(query, item, grade) for query, items in model.grades.items() for item, grade in items.items()]
    return [(query, item, score) for query, listed in model.lists.items() for item, score in listed]


def ranks_of(queries: Iterable[str]) -> list[int]:
    """Return the rank of each row in the list of its query, from 1."""
    counts: Counter[str] = Counter()
    ranks = []
    for query in queries:
        counts[query] += 1
        ranks.append(counts[query])
    return ranks


def number(rng: random.Random, value: float) -> str:
    """Return a notation that is read as the same float64."""
    notations = [repr(value), f"{value:.17g}", f"{value:.17e}", f"{value:.25E}", f"{value:g}", f"{value:.0f}."]
    if value >= 0:
        notations += [f"+{value!r}", f"00{value!r}", f"{value!r}".removeprefix("0")]
    same = [text for text in notations if _read(text) == value]
    return rng.choice(same) if rng.random() < 0.5 else repr(value)


def _read(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _needs(rng: random.Random, query: re.Pattern[str], item: re.Pattern[str], **others: bool) -> Needs:
    rich = rng.random() < 0.5
    if not rich:
        query = item = re.compile(f"{HIDING.pattern}|{query.pattern}")
    return Needs(query, item, rich, **others)


def _trec(rng: random.Random, kind: Kind) -> File:
    needs = _needs(rng, trec.UNFIT_QUERY, trec.UNFIT_ITEM, empty=False, flags=False)
    model = drawn(rng, needs)
    regular = rng.choice([" ", "\t", None])
    rows: list[tuple[str | None, str]] = []
    for query, item, value in rows_of(model, kind):
        columns = [query, "Q0" if kind == "submission" else "0", item, number(rng, value)]
        if kind == "submission":
            columns.insert(3, rng.choice(["0", "1", "x", "-1", str(len(rows))]))
            columns += ["tag", "more"][: rng.choice([1, 1, 2])]
        spaced = [column + (regular or rng.choice(SPACES)) for column in columns[:-1]]
        rows.append((query, "".join(spaced) + columns[-1] + ("" if regular else rng.choice(["", "", " ", "\t"]))))
        if not regular and rng.random() < 0.1:
            rows.append((None, rng.choice(["# a comment", "#", "", " ", "#q Q0 a 1 1 t"])))
    return File("trec", kind, model, "trec" if needs.rich else None, Text("", rows))


def _vlnet(rng: random.Random, kind: Kind) -> File:
    needs = _needs(rng, vlnet.UNFIT_QUERY, vlnet.UNFIT_ITEM, distinct=True)
    model = drawn(rng, needs)
    plain = rng.random() < 0.5

    def spaced(text: str) -> str:
        return text if plain else rng.choice(["", "", " ", "\t", "  "]) + text + rng.choice(["", "", " ", "\f"])

    rows: list[tuple[str | None, str]] = []
    if kind == "solution":
        for query, grades in model.grades.items():
            items = ",".join(spaced(f"{item}|{number(rng, grade)}") for item, grade in grades.items())
            rows.append((query, f"{spaced(query)}:{spaced(str(int(query in model.flagged)))}:{items}"))
    else:
        for query, entries in model.lists.items():
            items = ",".join(spaced(item) for item, _ in entries)
            rows.append((query, f"{spaced(query)}:{items}" + (rng.choice(["", ",", ", "]) if items else "")))
    return File("vlnet", kind, model, None if plain and not needs.rich else "vlnet", Text("", rows))


NAMES: Mapping[str, Sequence[str]] = {
    "query": ("query", "Query_ID", "qid", "user", "topic"),
    "item": ("item", "item_id", "DOCNO", "doc", "document_id"),
    "score": ("score", "sim", "run_score", "Similarity"),
    "rank": ("rank", "Position", "place"),
    "grade": ("grade", "rel", "LABEL", "relevance", "score"),
    "flag": ("flag", "preliminary"),
}
"""Some of the names of columns that need no option."""

EXTRA = ("note", "x", "round", "comment 2")


def _headerless(rng: random.Random) -> File:
    """Write a submission in a layout without a header, which is detected."""
    model = drawn(rng, Needs(HIDING, HIDING, rich=False, empty=False, flags=False, distinct=True))
    lists = {query: [item for item, _ in listed] for query, listed in model.lists.items()}
    mark, between = rng.choice(["\t", " "]), rng.choice([",", ", "])
    layouts = ["pairs"]
    if all(len({*items}) == len(items) for items in lists.values()):
        layouts += ["ranks", "scores"]
    if all(len(items) > 2 for items in lists.values()):
        layouts += ["lists", "lists"]
    layout = rng.choice(layouts)
    rows: list[tuple[str | None, str]] = []
    for query, items in lists.items():
        columns = {
            "pairs": [[query, item] for item in items],
            "ranks": [[query, item, str(rank)] for rank, item in enumerate(items, 1)],
            "scores": [[query, item, str(rank), str(-rank)] for rank, item in enumerate(items, 1)],
        }
        rows += [(query, mark.join(row)) for row in columns.get(layout, [])]
        rows += [(query, f"{query}\t{between.join(items)}")] if layout == "lists" else []
    return File("delimited", "submission", model, None, Text("", rows))


def _delimited(rng: random.Random, kind: Kind) -> File:
    if kind == "submission" and rng.random() < 0.3:
        return _headerless(rng)
    by = "grade" if kind == "solution" else rng.choice(["score", "score", "rank"])
    needs = _needs(rng, delimited.UNFIT, delimited.UNFIT, empty=False, distinct=by == "rank")
    model = drawn(rng, needs)
    delimiter = rng.choice(["comma", "tab", "semicolon"])
    columns = ["query", "item", by, *(["flag"] if model.flagged else []), *rng.sample(EXTRA, rng.randint(0, 2))]
    rng.shuffle(columns)
    names = {column: rng.choice(NAMES.get(column, (column,))) for column in columns}
    quoting: Literal[0, 1, 2] = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    flags = rng.choice([("0", "1"), ("false", "True"), ("no", "YES")])

    def line(values: Sequence[str]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=delimited.DELIMITERS[delimiter], quoting=quoting, lineterminator="").writerow(values)
        return text.getvalue()

    rows: list[tuple[str | None, str]] = []
    entries = rows_of(model, kind)
    for (query, item, value), rank in zip(entries, ranks_of(query for query, _, _ in entries), strict=True):
        held = {"query": query, "item": item, "flag": flags[query in model.flagged]}
        cells = {**held, by: str(rank) if by == "rank" else number(rng, value)}
        rows.append((query, line([cells.get(column, rng.choice(["", "z", "1", "a b"])) for column in columns])))
    header = rng.choice([line, delimited.DELIMITERS[delimiter].join])([names[column] for column in columns])
    if rng.random() < 0.3:
        positions = ",".join(f"{column}={at}" for at, column in enumerate(columns, 1) if column in NAMES)
        named = f"delimited:header=no,delimiter={delimiter},{positions}"
        return File("delimited", kind, model, named, Text("", rows))
    return File("delimited", kind, model, f"delimited:delimiter={delimiter}", Text(f"{header}\n", rows))


def _letor(rng: random.Random, kind: Kind) -> File:
    needs = _needs(rng, letor.UNFIT_QUERY, letor.UNFIT_ITEM, empty=False, flags=False)
    model = drawn(rng, needs)
    feature = rng.randint(1, 4) if kind == "submission" or rng.random() < 0.3 else None
    table = rng.random() < 0.3 and not needs.rich
    rows: list[tuple[str | None, str]] = []
    for query, item, value in rows_of(model, kind):
        features = [number(rng, rng.choice([0.0, 0.5, -1.0])) for _ in range(5)]
        label = rng.choice(["0", "1", "2"])
        if feature is None:
            label = number(rng, value)
        else:
            features[feature - 1] = number(rng, value)
        if table:
            vector = rng.choice([" ", "  "]).join(features)
            rows.append((query, f"{query}\t{item}\t{vector}\t{label}"))
            continue
        numbered = [f"{at}:{text}" for at, text in enumerate(features, 1) if at == feature or rng.random() < 0.7]
        if feature is not None and value == 0 and rng.random() < 0.5:
            numbered = [each for each in numbered if not each.startswith(f"{feature}:")]
        rng.shuffle(numbered)
        comment = rng.choice([f"# {item}", f"#docid = {item} inc = 1 prob = 0.1", f"# docid={item}", f"#{item} more"])
        rows.append((query, rng.choice([" ", "  ", "\t"]).join([label, f"qid:{query}", *numbered, comment])))
    named = f"letor:feature={feature}" if feature else "letor" if needs.rich else None
    return File("letor", kind, model, named, Text("", rows))


TEXTS: Mapping[str, Callable[[random.Random, Kind], File]] = {
    "vlnet": _vlnet,
    "trec": _trec,
    "delimited": _delimited,
    "jsonl": json_texts.jsonl,
    "json": json_texts.json_document,
    "letor": _letor,
}
