"""Other files with the same meaning."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from scorer.lists.conversion import COMPRESSIONS
from scorer.lists.reading.blocks import BYTE_ORDER_MARK
from tests.fuzz.files import File, Table
from tests.fuzz.parquet_tables import options

LINES = ("vlnet", "trec", "delimited", "jsonl", "letor")
"""The formats that are read line by line."""


def rewritten(rng: random.Random, file: File) -> bytes:
    """Return the content with its rows in another order, and as another text or in another layout."""
    body = file.body
    if isinstance(body, Table):
        order = interleaved(rng, body.queries)
        return Table(body.columns.take(pa.array(order, pa.int64())), body.queries, options(rng)).content()
    if rng.random() < 0.7:
        order = interleaved(rng, [query for query, _ in body.rows])
        body = replace(body, rows=[body.rows[at] for at in order])
    content = body.content()
    for change in CHANGES:
        if rng.random() < 0.3:
            content = change(rng, file, content)
    return content


def interleaved(rng: random.Random, queries: Sequence[str | None]) -> list[int]:
    """Return the rows in another order that keeps the rows of each query in their order."""
    places: dict[str | None, list[int]] = {}
    for at, query in enumerate(queries):
        places.setdefault(query, []).append(at)
    waiting = {query: iter(rows) for query, rows in places.items()}
    turns = list(queries)
    if rng.random() < 0.5:
        rng.shuffle(turns)
    else:
        turn = {query: rng.random() for query in places}
        turns.sort(key=turn.__getitem__)
    return [next(waiting[query]) for query in turns]


def _crlf(_rng: random.Random, _file: File, content: bytes) -> bytes:
    return content if b"\r" in content else content.replace(b"\n", b"\r\n")


def _mark(_rng: random.Random, _file: File, content: bytes) -> bytes:
    return content if content.startswith(BYTE_ORDER_MARK) else BYTE_ORDER_MARK + content


def _blank(rng: random.Random, file: File, content: bytes) -> bytes:
    """Add blank lines, at the beginning, between lines and at the end."""
    lines = content.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        lines.insert(rng.randint(0, len(lines)), rng.choice([b"", b" ", b"\t"]) if file.format in LINES else b"")
    return b"\n".join(lines)


def _no_end(_rng: random.Random, _file: File, content: bytes) -> bytes:
    return content.removesuffix(b"\n")


CHANGES: tuple[Callable[[random.Random, File, bytes], bytes], ...] = (_blank, _no_end, _crlf, _mark)


def compressed(rng: random.Random, content: bytes, suffix: str) -> bytes:
    """Return the content compressed in one or several members."""
    pack = COMPRESSIONS[suffix]
    if suffix == ".gz" and rng.random() < 0.3:
        name = rng.choice(["", "file.txt"])
        return gzip.compress(content, compresslevel=rng.randint(0, 9), mtime=len(name))
    cuts = sorted(rng.choices(range(len(content) + 1), k=rng.choice([0, 0, 1, 2])))
    ends = [0, *cuts, len(content)]
    return b"".join(pack(content[start:end]) for start, end in pairwise(ends))
