"""The step from schema 1 to schema 2. It is frozen: it uses its own tables, never the current ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
    text,
)

from scorer import __version__
from scorer.errors import MeasureError
from scorer.measures import parse_one
from scorer.scoring.means import split_masks
from scorer.store.database import insert_all
from scorer.store.packing import unpack_flags, unpack_ids
from scorer.store.schema import storable

_v1 = MetaData()
_track_1 = Table(
    "track",
    _v1,
    Column("name", String, primary_key=True),
    Column("solution_digest", String),
    Column("settings_digest", String),
)
_submission_1 = Table(
    "submission",
    _v1,
    Column("track", String, primary_key=True),
    Column("file", String, primary_key=True),
    Column("digest", String, primary_key=True),
    Column("team", String),
    Column("received", DateTime),
    Column("present", Boolean),
)
_mean_1 = Table(
    "mean",
    _v1,
    Column("result_digest", String, primary_key=True),
    Column("split", String, primary_key=True),
    Column("measure", String, primary_key=True),
    Column("value", Double),
    Column("undefined", Integer),
)
_solution_1 = Table(
    "solution",
    _v1,
    Column("digest", String, primary_key=True),
    Column("queries", LargeBinary),
    Column("flagged", LargeBinary),
)

_v2 = MetaData()
_schema_2 = Table(
    "scorer_schema",
    _v2,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("scorer", String(32), nullable=False),
    Column("identity", String(32), nullable=False),
    Column("revision", BigInteger, nullable=False),
)
_event_2 = Table(
    "event",
    _v2,
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("track", String, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("at", DateTime),
    Column("body", String, nullable=False),
)
Table("result", _v2, Column("digest", String(64), primary_key=True))  # `mean` refers to it
_mean_2 = Table(
    "mean",
    _v2,
    Column("result_digest", String(64), ForeignKey("result.digest"), primary_key=True),
    Column("measure", String, primary_key=True),
    Column("mask", String(32), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    sqlite_with_rowid=False,
)
_last_run_2 = Table(
    "last_run",
    _v2,
    Column("track", String, primary_key=True),
    Column("at", DateTime, nullable=False),
)


def to_2(connection: Connection) -> None:
    """Turn submissions and bases into events, and key results by matching rules and means by masks.

    Results keep their digests, which cover all settings of schema 1. A lookup falls back to the digest that schema 1
    has for the current settings.
    """
    recorded = _events(connection)
    means = _means(connection)
    for table in (_mean_1, _submission_1, _track_1):
        table.drop(connection)
    connection.execute(text("DROP TABLE scorer_schema"))
    connection.execute(text("ALTER TABLE result RENAME COLUMN settings_digest TO matching_digest"))
    _v2.create_all(connection, tables=[_schema_2, _event_2, _mean_2, _last_run_2])
    new = {"version": 2, "scorer": __version__, "identity": uuid.uuid4().hex, "revision": 1}
    connection.execute(insert(_schema_2), new)
    insert_all(connection, _event_2, recorded)
    insert_all(connection, _mean_2, means)


def _events(connection: Connection) -> list[dict[str, Any]]:
    """The rows of the record: arrivals by time of receipt, then withdrawals, then bases."""
    submissions = sorted(
        connection.execute(select(_submission_1)).all(),
        key=lambda row: (row.received, row.track, row.team, row.file, row.digest),
    )
    bases = connection.execute(select(_track_1).order_by(_track_1.c.name)).all()
    bodies: list[tuple[str, str, Mapping[str, Any]]] = []
    for row in submissions:
        body = {
            "team": storable(row.team),
            "file": storable(row.file),
            "digest": row.digest,
            "received": row.received.replace(tzinfo=UTC).isoformat(timespec="microseconds"),
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
    return [
        {"index": index, "track": track, "kind": kind, "at": None, "body": _encoded(body)}
        for index, (track, kind, body) in enumerate(bodies, 1)
    ]


def _encoded(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _means(connection: Connection) -> list[dict[str, Any]]:
    """The rows of the means of schema 2; means of measures that no longer exist are left out."""
    masks = {}
    for row in connection.execute(select(_solution_1)):
        flagged = unpack_flags(row.flagged, len(unpack_ids(row.queries)))
        masks[row.digest] = {split: mask.digest for split, mask in split_masks(flagged).items()}
    rows = connection.execute(text("SELECT digest, solution_digest FROM result"))
    solutions: dict[str, str] = {row.digest: row.solution_digest for row in rows}
    full_names: dict[str, str | None] = {}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in connection.execute(select(_mean_1)):
        if row.measure not in full_names:
            try:
                full_names[row.measure] = parse_one(row.measure).full
            except MeasureError:
                full_names[row.measure] = None
        measure = full_names[row.measure]
        if measure is not None:
            mask = masks[solutions[row.result_digest]][row.split]
            # Splits with the same queries have the same mask.
            found[row.result_digest, measure, mask] = {
                "result_digest": row.result_digest,
                "measure": measure,
                "mask": mask,
                "generation": 1,
                "value": row.value,
                "undefined": row.undefined,
            }
    return list(found.values())
