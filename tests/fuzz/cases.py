"""Case: the bytes of one file and what is known about them, decided by the seed and a number."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from scorer.lists.reading.blocks import GZIP, XZ, ZSTD
from scorer.scoring.outcomes import Rules
from tests.fuzz.files import File, Kind, Table
from tests.fuzz.model import RULES, SOME_RULES, Model
from tests.fuzz.mutations import mutated, mutated_bytes, spliced
from tests.fuzz.parquet_tables import mutated as mutated_table
from tests.fuzz.parquet_tables import parquet
from tests.fuzz.rewriting import LINES, compressed, rewritten
from tests.fuzz.texts import TEXTS

FORMATS: Mapping[str, Callable[[random.Random, Kind], File]] = {**TEXTS, "parquet": parquet}
COMPRESSIONS = ("", ".gz", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class Case:
    """A file to read."""

    number: int
    format: str
    """The format that it was written in, before mutations."""
    compression: str
    """As the suffix of a file's name; empty for none."""
    kind: Kind
    named: str | None
    """The format by which it is read; None: it is detected."""
    content: bytes
    model: Model
    valid: bool
    """Whether the content has the meaning of the model."""
    rules: Rules = RULES
    same: bytes | None = None
    """Other content with the same outcome, findings included."""

    @property
    def label(self) -> str:
        return self.format + self.compression


def case_of(seed: int, number: int) -> Case:
    """Return a case; equal seeds and numbers give equal cases."""
    rng = random.Random(f"{seed}/{number}")
    label, kind = rng.choice(list(FORMATS)), rng.choice(KINDS)
    file = FORMATS[label](rng, kind)
    valid = rng.random() < 0.3
    content = _written(rng, file) if valid else _mutated(rng, file)
    same = None
    if label in LINES and b"\r" not in content and rng.random() < 0.3:
        same = content.replace(b"\n", b"\r\n")
    suffix = rng.choice(COMPRESSIONS) if rng.random() < 0.4 else ""
    if suffix:
        plain, content = content, compressed(rng, content, suffix)
        if not valid and rng.random() < 0.6:
            content, same = mutated_bytes(rng, content), None
        elif same is None and not plain.startswith((GZIP, XZ, ZSTD)):
            same = plain
    named = file.named if valid or rng.random() < 0.7 else rng.choice([None, *FORMATS])
    rules = RULES if valid else rng.choice(SOME_RULES)
    return Case(number, label, suffix, kind, named, content, file.model, valid, rules, same)


KINDS: tuple[Kind, ...] = ("submission", "solution")


def _written(rng: random.Random, file: File) -> bytes:
    return rewritten(rng, file) if rng.random() < 0.7 else file.body.content()


def _mutated(rng: random.Random, file: File) -> bytes:
    body = file.body
    if isinstance(body, Table) and rng.random() < 0.7:
        table = body.columns
        for _ in range(rng.choice([1, 1, 2])):
            table = mutated_table(rng, table)
        options = body.options if table.num_rows < 200 else {"compression": body.options["compression"]}
        try:
            content = Table(table, body.queries, options).content()
        except (pa.ArrowException, TypeError, ValueError):
            content = body.content()
        return content if rng.random() < 0.8 else mutated(rng, file.format, content)
    content = body.content()
    if rng.random() < 0.1:
        other = rng.choice(list(FORMATS))
        content = spliced(rng, content, FORMATS[other](rng, rng.choice(KINDS)).body.content())
        return content if rng.random() < 0.5 else mutated(rng, file.format, content)
    if rng.random() < 0.01:
        # Much smaller when it is compressed.
        return content * (1 + (1 << 20) // (len(content) + 1))
    return mutated(rng, file.format, content)
