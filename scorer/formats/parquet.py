"""Parquet: a table with the same columns as in the delimited format; a row for each item."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from scorer.errors import Findings, system_failure
from scorer.formats.reading import column_names, tables
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import texts
from scorer.formats.reading.batches import Batch, Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import SMALL, LimitError, UnreadableError
from scorer.formats.writing import SolutionContent, SubmissionContent, fitting
from scorer.limits import MB
from scorer.wording import printable

NAME = "parquet"
SOLUTION = "columns query, item, grade"
SUBMISSION = "columns query, item, score"
OPTIONS: Mapping[str, str] = column_names.OPTIONS
ONE_BLOCK = True
QUERY_ONCE = False
LISTED_IS_RELEVANT = False

MAGIC = "PAR1"
"""The first and the last bytes of a file."""

ROWS = 1 << 13
"""The number of rows read at a time."""

EMPTY = re.compile("^$")


def recognises(lines: list[str]) -> bool:
    """Whether the file begins as Parquet."""
    return bool(lines) and lines[0].startswith(MAGIC)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a solution; the line of a finding is the number of the row."""
    return partial(_read, tables.graded, column_names.SOLUTION, options)


def ranked(_head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a submission; the line of a finding is the number of the row."""
    return partial(_read, tables.ranked, column_names.SUBMISSION, options)


def columns(head: Block, options: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the columns that are read from a submission, by what they are for."""
    from pyarrow import parquet  # noqa: PLC0415 (few files need it)

    with errors_in_words():
        names = parquet.read_schema(pa.BufferReader(head.content)).names
    places = column_names.needed_places(names, column_names.SUBMISSION, options)
    return {column: names[at] for column, at in places.items()}


def write_solution(solution: SolutionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with columns for the subtopic and the flag if the solution has any."""
    rows = solution.rows(NAME)
    held: dict[str, Any] = {"grade": pa.array([row[2] for row in rows], pa.float64())}
    if solution.subtopics:
        held["subtopic"] = texts(row[3] for row in rows)
    if solution.flagged:
        held["flag"] = pa.array([row[0] in solution.flagged for row in rows], pa.bool_())
    return _written([row[0] for row in rows], [row[1] for row in rows], held, options)


def write_submission(submission: SubmissionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with its score, or with its rank where lists have no scores."""
    rows = submission.rows(NAME)
    if submission.scores is None:
        held = {"rank": pa.array([rank for _, _, _, rank in rows], pa.int64())}
    else:
        held = {"score": pa.array([score for _, _, score, _ in rows], pa.float64())}
    return _written([row[0] for row in rows], [row[1] for row in rows], held, options)


def _read(
    read: Callable[[pa.Table, Mapping[str, str], Findings], Batch],
    wanted: tuple[str, ...],
    options: Mapping[str, str],
    block: Block,
    findings: Findings,
) -> Batch:
    with errors_in_words():
        return read(_table(block, wanted, options), options, findings)


def _table(block: Block, wanted: tuple[str, ...], options: Mapping[str, str]) -> pa.Table:
    """Return the wanted columns that the file has."""
    return read_columns(block, lambda names: sorted(column_names.needed_places(names, wanted, options).values()))


def read_columns(block: Block, chosen: Callable[[Sequence[str]], Sequence[int]]) -> pa.Table:
    """Return the columns that `chosen` picks from all names. Raises LimitError for too large a table."""
    from pyarrow import parquet  # noqa: PLC0415 (few files need it)

    file = parquet.ParquetFile(pa.BufferReader(block.content))
    names = [file.schema_arrow.names[at] for at in chosen(file.schema_arrow.names)]
    if file.metadata.num_rows > block.limits.items:
        raise LimitError(block.limits, "items", f"the table has {file.metadata.num_rows:,} rows")
    _check_dictionaries(file, names, block)
    lists = [name for name in names if tables.is_list(file.schema_arrow.field(name).type)]
    if lists:
        file = _with_dictionaries(file, lists, block)
    schema = pa.schema([file.schema_arrow.field(name) for name in names])
    return pa.Table.from_batches(_bounded(file.iter_batches(ROWS, columns=names), block), schema)


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Turn the errors of Arrow about the content into UnreadableError."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if failure := system_failure(error):
            raise failure from error
        # The text may have several lines, and bytes of the file.
        reason = printable(" ".join(str(error).split()))
        raise UnreadableError(f"no whole Parquet file ({reason}); write it again") from error


def _check_dictionaries(file: Any, names: Sequence[str], block: Block) -> None:
    """Raise LimitError for a text that is too long in a dictionary, which few bytes can repeat in every row.

    The first row of a row group is enough to read the dictionaries of its columns.
    """
    from pyarrow import parquet  # noqa: PLC0415

    held = [name for name in names if _is_plain_text(file.schema_arrow.field(name).type)]
    if not held:
        return
    packed = parquet.ParquetFile(pa.BufferReader(block.content), read_dictionary=held)
    for group in range(packed.num_row_groups):
        for batch in packed.iter_batches(1, row_groups=[group], columns=held):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    _check_texts(column.dictionary, block)
            break


def _with_dictionaries(file: Any, lists: Sequence[str], block: Block) -> Any:
    """Return the file so that texts in these lists are read with dictionaries, which take little memory.

    Raises LimitError where the lists have too many values.
    """
    from pyarrow import parquet  # noqa: PLC0415

    leaves = {at: file.schema.column(at).path for at in range(len(file.schema))}
    leaves = {at: path for at, path in leaves.items() if path.startswith(tuple(f"{name}." for name in lists))}
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    items = sum(group.column(at).num_values for group in groups for at in leaves)
    if items > block.limits.items:
        raise LimitError(block.limits, "items", f"the lists of the table have {items:,} values")
    return parquet.ParquetFile(pa.BufferReader(block.content), read_dictionary=[*leaves.values()])


def _is_plain_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _check_texts(values: pa.Array, block: Block) -> None:
    """Raise LimitError for a text that is too long."""
    length = pc.max(pc.binary_length(values)).as_py() or 0
    if length > block.limits.id_bytes:
        raise LimitError(block.limits, "id_bytes", f"the table has a text of {length:,} bytes")


def _bounded(batches: Iterable[Any], block: Block) -> Iterator[Any]:
    """Yield the batches. Raises LimitError where their plain values take too much memory."""
    limits = block.limits
    size = 0
    for batch in batches:
        size += sum(_plain_size(column, block) for column in batch.columns)
        if size > limits.table_mb * MB:
            raise LimitError(limits, "table_mb", f"the table takes more than {size // MB:,} MB of memory")
        if size > max(SMALL, limits.expansion * len(block.content)):
            times = size // len(block.content)
            raise LimitError(limits, "expansion", f"the content has {times:,} times the size of the file")
        yield batch


def _plain_size(column: pa.Array, block: Block) -> int:
    """The bytes that a column takes without its dictionary. Raises LimitError for a text that is too long in it."""
    if tables.is_list(column.type):
        return _plain_size(pc.list_flatten(column), block) + 8 * len(column)
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    values = column.dictionary
    if not _is_plain_text(values.type):
        return int(column.nbytes + 8 * len(column))
    _check_texts(values, block)
    return int(pc.sum(pc.binary_length(values).take(column.indices)).as_py() or 0) + 8 * len(column)


def _written(queries: list[str], items: list[str], held: Mapping[str, Any], options: Mapping[str, str]) -> bytes:
    from pyarrow import parquet  # noqa: PLC0415

    fitting([*queries, *items], EMPTY, "a query or an item", NAME)
    table = {"query": texts(queries), "item": texts(items), **held}
    sink = io.BytesIO()
    parquet.write_table(pa.table({options.get(name, name): column for name, column in table.items()}), sink)
    return sink.getvalue()
