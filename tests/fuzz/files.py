"""File: a valid file in parts that can be put together in other ways with the same meaning."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyarrow import parquet

from tests.fuzz.model import Model

Kind = Literal["solution", "submission"]


@dataclass(frozen=True, slots=True)
class Text:
    """A text in rows; their order matters only among those of one query."""

    head: str
    rows: Sequence[tuple[str | None, str]]
    """The query and the text of each row; None for a row without one."""
    between: str = "\n"
    tail: str = "\n"

    def content(self) -> bytes:
        return (self.head + self.between.join(text for _, text in self.rows) + self.tail).encode()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of Arrow, and how Parquet holds it."""

    columns: Any
    """A pyarrow.Table."""
    queries: Sequence[str]
    """[row]"""
    options: dict[str, Any]
    """The options of `pyarrow.parquet.write_table`."""

    def content(self) -> bytes:
        """Return the bytes of a Parquet file."""
        sink = io.BytesIO()
        parquet.write_table(self.columns, sink, **self.options)
        return sink.getvalue()


@dataclass(frozen=True, slots=True)
class File:
    """A valid file with its meaning."""

    format: str
    kind: Kind
    model: Model
    named: str | None
    """The format and its options by which it must be read; None: it is detected."""
    body: Text | Table
