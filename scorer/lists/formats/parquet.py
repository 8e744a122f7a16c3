"""Parquet: a table with the same columns as in the delimited format; a row for each item."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, system_failure
from scorer.limits import MB
from scorer.lists.formats import SolutionContent, SubmissionContent, fitting
from scorer.lists.formats.layouts import Reader
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import pc, texts
from scorer.lists.reading.blocks import SMALL, Batch, Block, Graded, LimitError, Ranked, UnreadableError
from scorer.measures.matched import Ints
from scorer.wording import printable

NAME = "parquet"
SOLUTION = "columns query, item, grade"
SUBMISSION = "columns query, item, score"
OPTIONS: Mapping[str, str] = tables.COLUMN_OPTIONS

MAGIC = "PAR1"
"""The first and the last bytes of a file."""

_ROWS = 1 << 13
"""The most rows that are read at a time."""

BATCH = 512 * MB
"""The most bytes that the rows read at a time can take."""

VARINT = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
PAGE = re.compile(
    rb"\x15(?:(?P<dictionary>\x04)|[\x00\x02\x06])\x15(?P<plain>%b)\x15(?P<packed>%b)"
    rb"(?:(?:\x15%b)?[\x3c\x4c]\x15%b\x15%b[\x11\x12]?\x00\x00)?" % ((VARINT,) * 5)
)
"""The header of a dictionary, or how that of another page begins: the type, and the bytes before and after packing."""

LENGTH = struct.Struct("<I").unpack_from
"""The length of a text, which is before it."""

ARROW_SCHEMA = b"ARROW:schema"

EMPTY = re.compile("^$")


def recognises(lines: list[str]) -> bool:
    """Whether the file begins as Parquet."""
    return bool(lines) and lines[0].startswith(MAGIC)


def graded(_head: Block, options: Mapping[str, str]) -> Reader[Graded]:
    """Read a solution; the line of a finding is the number of the row."""
    return Reader(partial(_read, tables.graded_rows, tables.SOLUTION_COLUMNS, options))


def ranked(head: Block, options: Mapping[str, str]) -> Reader[Ranked]:
    """Read a submission; the line of a finding is the number of the row."""

    def columns() -> dict[str, str]:
        with errors_in_words():
            names = _opened(head.content).schema_arrow.names
        places = tables.needed_places(names, tables.SUBMISSION_COLUMNS, options)
        return {column: names[at] for column, at in places.items()}

    return Reader(partial(_read, tables.ranked_rows, tables.SUBMISSION_COLUMNS, options), columns=columns)


def write_solution(solution: SolutionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with columns for the subtopic and the flag if the solution has any."""
    return _written(solution.columns(NAME), options)


def write_submission(submission: SubmissionContent, options: Mapping[str, str]) -> bytes:
    """Write a row for each item, with its score, or with its rank where lists have no scores."""
    return _written(submission.columns(NAME), options)


def _read(
    read: Callable[[tables.Columns, Ints, Findings], Batch],
    wanted: tuple[str, ...],
    options: Mapping[str, str],
    block: Block,
    findings: Findings,
) -> Batch:
    with errors_in_words():
        table = read_columns(block, lambda names: sorted(tables.needed_places(names, wanted, options).values()))
        return read(tables.columns_of(table, wanted, options), np.arange(1, table.num_rows + 1), findings)


def read_columns(block: Block, chosen: Callable[[Sequence[str]], Sequence[int]]) -> pa.Table:
    """Return the columns that `chosen` picks from all names. Raises LimitError for too large a table."""
    file = _opened(block.content)
    names = [file.schema_arrow.names[at] for at in chosen(file.schema_arrow.names)]
    if file.metadata.num_rows > block.limits.items:
        raise LimitError(block.limits, "items", f"the table has {file.metadata.num_rows:,} rows")
    rows = _rows_at_once(file, names, block)
    schema = pa.schema([file.schema_arrow.field(name) for name in names])
    return pa.Table.from_batches(_bounded(file.iter_batches(rows, columns=names), block), schema)


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Turn the errors of Arrow about the content into UnreadableError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if failure := system_failure(error):
            raise failure from error
        # The text may have several lines, and bytes of the file.
        reason = printable(" ".join(str(error).split()))
        raise UnreadableError(f"no whole Parquet file ({reason}); write it again") from error


def _opened(content: bytes) -> Any:
    """Return the file without columns of dictionaries, which only Arrow's own schema can request.

    Arrow makes a table of their texts, which takes quadratic time for texts with the same hash.
    """
    from pyarrow import parquet  # noqa: PLC0415 (few files need it)

    file = parquet.ParquetFile(pa.BufferReader(content))
    if not any("dictionary<" in str(kind) for kind in file.schema_arrow.types):
        return file
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    plain = content[:footer] + content[footer:].replace(ARROW_SCHEMA, ARROW_SCHEMA.lower())
    return parquet.ParquetFile(pa.BufferReader(plain))


def _rows_at_once(file: Any, names: Sequence[str], block: Block) -> int:
    """Return the number of rows to read at a time: a dictionary of few bytes can give every row its longest text.

    Raises UnreadableError, and LimitError for a text that is too long.
    """
    most = values = 1
    for group in map(file.metadata.row_group, range(file.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            name, _, is_nested = chunk.path_in_schema.partition(".")
            if name not in names or not chunk.num_values:
                continue
            values += chunk.num_values if is_nested else 0
            if chunk.physical_type == "BYTE_ARRAY":
                longest = _longest_text(chunk, block)
                if is_nested:  # one row can have all values of a list
                    _check_size(longest * chunk.num_values, block)
                most = max(most, longest * chunk.num_values // max(1, group.num_rows))
    if values > block.limits.items:
        raise LimitError(block.limits, "items", f"the lists of the table have {values:,} values")
    return max(1, min(_ROWS, BATCH // most))


def _longest_text(chunk: Any, block: Block) -> int:
    """Return the bytes of the longest text in the dictionary of a column, or of the dictionary if that is unusual."""
    start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
    page = PAGE.match(block.content, start)
    if page is None:
        raise UnreadableError(f"no whole Parquet file (a column has no page at byte {start}); write it again")
    if page["dictionary"] is None:
        return 1
    plain, packed = (
        sum((byte & 0x7F) << 7 * place for place, byte in enumerate(page[size])) >> 1 for size in ("plain", "packed")
    )
    _check_size(plain, block)
    content, longest, at, left = block.content[page.end() : page.end() + packed], 0, 0, chunk.num_values
    try:
        if chunk.compression != "UNCOMPRESSED":
            codec = "lz4_raw" if chunk.compression == "LZ4" else chunk.compression.lower()
            content = pa.Codec(codec).decompress(content, plain, asbytes=True)
        while at < len(content) and left:
            (length,) = LENGTH(content, at)
            longest, at, left = max(longest, length), at + 4 + length, left - 1
    except (pa.ArrowException, OSError, struct.error):
        at = -1
    if at != plain:
        return int(max(plain, packed))
    _check_length(longest, block)
    return longest


def _check_size(size: int, block: Block) -> None:
    if size > block.limits.table_mb * MB:
        raise LimitError(block.limits, "table_mb", f"the table takes more than {size // MB:,} MB of memory")


def _check_length(length: int, block: Block) -> None:
    if length > block.limits.id_bytes:
        raise LimitError(block.limits, "id_bytes", f"the table has a text of {length:,} bytes")


def _bounded(batches: Iterable[Any], block: Block) -> Iterator[Any]:
    """Yield the batches. Raises LimitError where their plain values take too much memory."""
    limits = block.limits
    size = 0
    for batch in batches:
        size += sum(_plain_size(column, block) for column in batch.columns)
        _check_size(size, block)
        if size > max(SMALL, limits.expansion * len(block.content)):
            times = size // len(block.content)
            raise LimitError(limits, "expansion", f"the content has {times:,} times the size of the file")
        yield batch


def _plain_size(column: pa.Array, block: Block) -> int:
    """The bytes that a column takes. Raises LimitError for a text that is too long in it."""
    if tables.is_list(column.type):
        return _plain_size(pc.list_flatten(column), block) + 8 * len(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        _check_length(pc.max(pc.binary_length(column)).as_py() or 0, block)
    return int(column.nbytes)


def _written(held: Mapping[str, Sequence[Any]], options: Mapping[str, str]) -> bytes:
    from pyarrow import parquet  # noqa: PLC0415

    fitting([*held["query"], *held["item"]], EMPTY, "a query or an item", NAME)
    types = {"grade": pa.float64(), "score": pa.float64(), "rank": pa.int64(), "flag": pa.bool_()}
    table = {name: pa.array(column, types[name]) if name in types else texts(column) for name, column in held.items()}
    sink = io.BytesIO()
    parquet.write_table(pa.table({options.get(name, name): column for name, column in table.items()}), sink)
    return sink.getvalue()
