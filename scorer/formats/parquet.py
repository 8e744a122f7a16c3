"""Parquet: a table with the same columns as in the delimited format; a row for each item."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import columns, tables
from scorer.formats.reading.arrow import texts
from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import EXPANSION, UnreadableError
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting

NAME = "parquet"
SOLUTION = "columns query, item, grade"
SUBMISSION = "columns query, item, score"
OPTIONS: Mapping[str, str] = columns.OPTIONS
ONE_BLOCK = True
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

MAGIC = "PAR1"
"""The first and the last bytes of a file."""

ROWS = 1 << 13
"""The number of rows read at a time."""

LEAST_LIMIT = 1 << 26
"""The bytes of memory that any file may take."""

EMPTY = re.compile("^$")


def recognises(lines: list[str]) -> bool:
    """Whether the file begins as Parquet."""
    return bool(lines) and lines[0].startswith(MAGIC)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a solution; the line of a finding is the number of the row."""
    return partial(_graded, options)


def ranked(_head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a submission; the line of a finding is the number of the row."""
    return partial(_ranked, options)


def write_solution(solution: SolutionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with a boolean column for the flag if any query is flagged."""
    rows = solution.rows(NAME)
    held: dict[str, Any] = {"grade": pa.array([grade for _, _, grade in rows], pa.float64())}
    if solution.flagged:
        held["flag"] = pa.array([query in solution.flagged for query, _, _ in rows], pa.bool_())
    return _written([row[0] for row in rows], [row[1] for row in rows], held, options)


def write_submission(submission: SubmissionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with its score, or with its rank where lists have no scores."""
    rows = submission.rows(NAME)
    if submission.scores is None:
        held = {"rank": pa.array([rank for _, _, _, rank in rows], pa.int64())}
    else:
        held = {"score": pa.array([score for _, _, score, _ in rows], pa.float64())}
    return _written([row[0] for row in rows], [row[1] for row in rows], held, options)


def _graded(options: Mapping[str, str], block: Block, findings: Findings) -> Graded:
    return tables.graded(_table(block, columns.SOLUTION, options), options, findings)


def _ranked(options: Mapping[str, str], block: Block, findings: Findings) -> Ranked:
    return tables.ranked(_table(block, columns.SUBMISSION, options), options, findings)


def _table(block: Block, wanted: tuple[str, ...], options: Mapping[str, str]) -> pa.Table:
    """Return the wanted columns that the file has."""
    from pyarrow import parquet  # noqa: PLC0415 (few files need it)

    try:
        file = parquet.ParquetFile(pa.BufferReader(block.content))
        names = [name.strip().lower() for name in file.schema_arrow.names]
        places = {columns.place(names, name, options) for name in wanted}
        chosen = [file.schema_arrow.names[place] for place in sorted(place for place in places if place is not None)]
        limit = max(LEAST_LIMIT, EXPANSION * len(block.content))
        return pa.Table.from_batches(_bounded(file.iter_batches(ROWS, columns=chosen), limit), _schema(file, chosen))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"no whole Parquet file ({error}); write it again") from error


def _schema(file: Any, names: list[str]) -> pa.Schema:
    return pa.schema([file.schema_arrow.field(name) for name in names])


def _bounded(batches: Iterable[Any], limit: int) -> Iterator[Any]:
    """Yield the batches. Raises UnreadableError where they take more than `limit` bytes."""
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > limit:
            raise UnreadableError(f"the file grows to more than {EXPANSION} times its size; refused")
        yield batch


def _written(queries: list[str], items: list[str], held: Mapping[str, Any], options: Mapping[str, str]) -> bytes:
    from pyarrow import parquet  # noqa: PLC0415

    fitting([*queries, *items], EMPTY, "a query or an item", NAME)
    table = {"query": texts(queries), "item": texts(items), **held}
    sink = io.BytesIO()
    parquet.write_table(pa.table({options.get(name, name): column for name, column in table.items()}), sink)
    return sink.getvalue()
