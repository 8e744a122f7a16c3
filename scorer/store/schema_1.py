"""The step from schema 1, the first that was released, to the current tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    String,
    Table,
    select,
    text,
)

from scorer.errors import MeasureError
from scorer.measures import parse_one
from scorer.scoring.compact import unpack_flags, unpack_ids
from scorer.scoring.means import split_masks
from scorer.store.canonical import encoded, iso
from scorer.store.checksums import hits_checksum
from scorer.store.database import AT_A_TIME, insert_all
from scorer.store.schema import event_table, mean_table, result_table, solution_table, storable, tables


def _texts(*names: str) -> Iterable[Column[str]]:
    return [Column(name, String) for name in names]


_old = MetaData()
"""The tables of schema 1. Those whose names the current tables have, too, are renamed during this step."""

_track = Table("track", _old, *_texts("name", "solution_digest", "settings_digest"))
_submission = Table(
    "submission",
    _old,
    *_texts("track", "file", "digest", "team"),
    Column("received", DateTime),
    Column("present", Boolean),
)
_solution = Table(
    "solution_1",
    _old,
    *_texts("digest"),
    *(Column(name, LargeBinary) for name in ("queries", "flagged", "ideal")),
)
_result = Table(
    "result_1",
    _old,
    *_texts("digest", "submission_digest", "solution_digest", "settings_digest", "status"),
    Column("counts", JSON(none_as_null=True)),
    Column("findings", JSON),
    Column("hits", LargeBinary),
)
_mean = Table(
    "mean_1",
    _old,
    *_texts("result_digest", "split", "measure"),
    Column("value", Double),
    Column("undefined", Integer),
)

_Values = dict[str, Any]


def from_1(connection: Connection) -> None:
    """Turn submissions and bases into events, and key results by matching rules and means by masks.

    Results keep their digests, which cover all settings of schema 1. A lookup falls back to the digest that schema 1
    has for the current settings. The new table of the schema has no row yet.
    """
    for table in (_solution, _result, _mean):
        connection.execute(text(f"ALTER TABLE {table.name.removesuffix('_1')} RENAME TO {table.name}"))
    connection.execute(text("DROP TABLE scorer_schema"))
    tables.create_all(connection)
    insert_all(connection, event_table, list(_events(connection)))
    _copy(connection, _solution, solution_table, lambda _: {})
    _copy(connection, _result, result_table, _result_values)
    insert_all(connection, mean_table, list(_means(connection)))
    for table in (_mean, _result, _submission, _track, _solution):
        table.drop(connection)


def _events(connection: Connection) -> Iterable[_Values]:
    """The rows of the record: arrivals by time of receipt, then withdrawals, then bases."""
    submissions = sorted(
        connection.execute(select(_submission)).all(),
        key=lambda row: (row.received, row.track, row.team, row.file, row.digest),
    )
    bases = connection.execute(select(_track).order_by(_track.c.name)).all()
    bodies: list[tuple[str, str, _Values]] = []
    for row in submissions:
        body = {
            "team": storable(row.team),
            "file": storable(row.file),
            "digest": row.digest,
            "received": iso(row.received.replace(tzinfo=UTC)),
            "source": "folder",
        }
        bodies.append((row.track, "arrival", body))
    bodies += [
        (row.track, "withdrawal", {"file": row.file, "digest": row.digest}) for row in submissions if not row.present
    ]
    for row in bases:
        body = {
            "solution": row.solution_digest,
            "matching": "",
            "version_1": row.settings_digest,
            "settings": None,
            "generations": {"matching": 1, "measures": 1},
        }
        bodies.append((row.name, "basis", body))
    for index, (track, kind, body) in enumerate(bodies, 1):
        yield {"index": index, "track": track, "kind": kind, "at": None, "body": encoded(body)}


def _copy(connection: Connection, old: Table, new: Table, changed: Callable[[Row[Any]], _Values]) -> None:
    """Copy all rows of a table, with changed values and a checksum."""
    names = [column.name for column in new.columns if column.name in old.columns]
    for part in connection.execute(select(old).execution_options(yield_per=AT_A_TIME)).partitions():
        rows = [{**{name: row._mapping[name] for name in names}, **changed(row)} for row in part]
        insert_all(connection, new, rows)


def _result_values(row: Row[Any]) -> _Values:
    return {
        "matching_digest": row.settings_digest,
        "counts": None if row.counts is None else json.dumps(row.counts),
        "findings": json.dumps(row.findings),
        "limits": "{}",
        "hits_checksum": hits_checksum(row.hits),
    }


def _means(connection: Connection) -> Iterable[_Values]:
    """The rows of the means, without those of measures that no longer exist."""
    masks = {}
    for row in connection.execute(select(_solution)):
        flagged = unpack_flags(row.flagged, len(unpack_ids(row.queries)))
        masks[row.digest] = {split: mask.digest for split, mask in split_masks(flagged).items()}
    solutions = {row.digest: row.solution_digest for row in connection.execute(select(_result))}
    full_names: dict[str, str | None] = {}
    means: dict[tuple[str, str, str], _Values] = {}
    for row in connection.execute(select(_mean)):
        if row.measure not in full_names:
            full_names[row.measure] = _full_name(row.measure)
        measure = full_names[row.measure]
        if measure is not None:
            mask = masks[solutions[row.result_digest]][row.split]
            # Splits with the same queries have the same mask.
            means[row.result_digest, measure, mask] = {
                "result_digest": row.result_digest,
                "measure": measure,
                "mask": mask,
                "generation": 1,
                "value": None if row.value is None else row.value + 0.0,  # SQLite stores -0.0 as 0.0
                "undefined": row.undefined,
            }
    return means.values()


def _full_name(measure: str) -> str | None:
    """The name of a measure with all parameters; None if it no longer exists."""
    try:
        return parse_one(measure).full
    except MeasureError:
        return None
