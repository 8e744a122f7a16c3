"""Checksums of rows: computed for every row that is written, and verified for every row that is read.

A checksum is the CRC-32 of the text that Python's `ascii` gives for the tuple of the row's other columns, in the order
of the table; bytes are represented by their own CRC-32. Its values do not show that a row is damaged: one
flipped bit makes another score, another time or another digest. This definition belongs to the version of the schema.

A bit may also hide a row, by changing a page or an index of an SQLite file. Most tables have their keys in an index,
too, and one flipped bit is either in the table or in the index, so `key_rows` shows whether both have the same rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Column, LargeBinary, Row, Select, Table, select

from scorer.errors import StoreError
from scorer.store.schema import DERIVED, RECORDED, event_table, result_table, schema_table

DOCTOR = "`scorer doctor` lists all damage"
REPAIR = "`scorer doctor --repair` deletes what is damaged and can be derived again, and `scorer run` derives it"
RESTORE = "restore a backup of the database"

UNCOVERED = {schema_table.name: {"revision"}, result_table.name: {"hits"}}
"""Columns that the checksum of their row does not cover; `hits` has its own checksum."""


class Layout(NamedTuple):
    """How the rows of a table are read."""

    columns: tuple[Column[Any], ...]
    """The covered columns, then the checksum."""
    has_bytes: bool


@cache
def layout(table: Table) -> Layout:
    """The layout of a table that has a column `checksum`."""
    left_out = {"checksum", *UNCOVERED.get(table.name, ())}
    covered = [column for column in table.columns if column.name not in left_out]
    return Layout((*covered, table.c.checksum), any(isinstance(column.type, LargeBinary) for column in covered))


def sealed(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its checksum. The values must be those that the database returns."""
    columns, has_bytes = layout(table)
    covered = (row[column.name] for column in columns[:-1])
    return {**row, "checksum": _checksum(tuple(covered), has_bytes)}


def rows_of(table: Table) -> Select[Any]:
    """Selects the covered columns of a table and the checksum; on SQLite from the table itself, not from an index."""
    return select(*layout(table).columns).with_hint(table, "NOT INDEXED", "sqlite")


def key_rows(table: Table, index: str) -> Select[Any]:
    """Selects the keys of a table; on SQLite from an index, not from the table."""
    names = ("index",) if table is event_table else ("submission_digest", "solution_digest", "matching_digest")
    return select(*(table.c[name] for name in names)).with_hint(table, f"INDEXED BY {index}", "sqlite")


def verified(table: Table, rows: Iterable[Row[Any]], where: str) -> Iterator[Row[Any]]:
    """The rows that `rows_of` selects. Raises StoreError at a row with the wrong checksum."""
    has_bytes = layout(table).has_bytes
    for row in rows:
        values = tuple(row)
        if _checksum(values[:-1], has_bytes) != values[-1]:
            raise damaged_row(table, row, where)
        yield row


def all_columns(table: Table) -> tuple[Column[Any], ...]:
    """The columns of the layout, then those that the checksum does not cover."""
    return *layout(table).columns, *(table.c[name] for name in sorted(UNCOVERED.get(table.name, ())))


def is_whole(table: Table, row: Sequence[Any]) -> bool:
    """Whether a row of `all_columns` is as it was written."""
    columns, has_bytes = layout(table)
    values = tuple(row[: len(columns)])
    if _checksum(values[:-1], has_bytes) != values[-1]:
        return False
    return table is not result_table or values[-2] == hits_checksum(row[-1])


def hits_checksum(hits: bytes | None) -> int | None:
    """The checksum of packed judged items; None for those of a rejected submission."""
    return zlib.crc32(hits) if isinstance(hits, bytes) else None


def damaged_row(table: Table, row: Row[Any], where: str) -> StoreError:
    """The error for a row with the wrong checksum."""
    return StoreError(f"{where}: is damaged: {row_name(table, row)} has the wrong checksum; {remedy(table)}")


def missing_rows(table: Table, where: str) -> StoreError:
    """The error for a table that has other rows than its index."""
    return StoreError(f"{where}: is damaged: rows of the table {table.name} are missing; {remedy(table)}")


def remedy(table: Table) -> str:
    """What to do about damage to a table."""
    return f"{DOCTOR}; {REPAIR if table.name in DERIVED else RESTORE}"


def row_name(table: Table, row: Sequence[Any]) -> str:
    """What a row is called: kind and key."""
    name = {**RECORDED, **DERIVED}[table.name]
    return name if table is schema_table else f"{name} {str(row[0])[:12]}"


def _checksum(values: tuple[Any, ...], has_bytes: bool) -> int:
    if has_bytes:
        values = tuple(zlib.crc32(value) if isinstance(value, bytes) else value for value in values)
    return zlib.crc32(ascii(values).encode("ascii"))
