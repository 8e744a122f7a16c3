"""The database: what was sent in, how it scored, and what was wrong with it. The only SQL of the package.

    scorer_schema   the version of these tables
    solution        a solution's query ids and flags, and its grades
    track           what each track was last scored with
    submission      a file that a team sent in for a track, and whether it is still there
    result          scored or rejected: one for each submission, solution and settings; what was found
    mean            a result's mean of each measure over each split

The scores of single queries are not kept, but what they come from: a solution's grades and a result's hits, in a few
bytes a query (see `packing`). Any measure can be computed from them, whenever it is asked for.

Every key is a digest or a name, none a counter, and nothing is taken from the machine's clock: a run that was killed
and started again leaves what an undisturbed one leaves. Nothing is deleted, and no result is ever changed.

SQLite unless the address names another database. A write is one short transaction that first locks the one row of
`scorer_schema` (on SQLite: BEGIN IMMEDIATE), so that writers wait for each other rather than fail. Every method may be
repeated without harm, and is, for a while, where the connection to a database server is lost.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from sqlalchemy import (
    Connection,
    Engine,
    Table,
    and_,
    bindparam,
    insert,
    inspect,
    select,
    update,
)

from scorer.errors import Findings, Problem, StoreError
from scorer.matching.match import Counts
from scorer.measures import Measure
from scorer.measures.arrays import Bools, Floats
from scorer.measures.matched import JudgedItems
from scorer.options import SPLITS, Split
from scorer.scoring.compact import DamagedError, pack_ideal, unpack_hits, unpack_ideal
from scorer.scoring.outcomes import Rejected, Summary
from scorer.store.database import BEGIN, TO_WRITE, WORDS, LostError, address_of, check_file, engine_of, in_words, sound
from scorer.store.records import Basis, Mean, StoredResult, StoredSolution, StoredSubmission, Submission
from scorer.store.schema import (
    SCHEMA_VERSION,
    mean_table,
    result_table,
    schema_table,
    solution_table,
    storable,
    submission_table,
    tables,
    track_table,
)

_Unpacked = TypeVar("_Unpacked")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _persistent(
    method: Callable[Concatenate[Store, _Given], _Found],
) -> Callable[Concatenate[Store, _Given], _Found]:
    """Repeat the method while the server is gone, as when it restarts, for as long as the store waits."""

    @wraps(method)
    def repeated(store: Store, /, *args: _Given.args, **named: _Given.kwargs) -> _Found:
        deadline = time.monotonic() + store.wait
        while True:
            try:
                return method(store, *args, **named)
            except LostError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    return repeated


class Store:
    """The database of a challenge. A context manager: leaving it closes the database.

    Every method raises `StoreError` where the database is out of reach, in use for too long, read-only, full or
    damaged.
    """

    def __init__(self, engine: Engine, where: str, wait: float) -> None:
        self._engine = engine
        self._where = where
        self.wait = wait
        """Seconds that a write waits for another process, and that a server may be gone."""

    @classmethod
    def open(cls, place: str | Path, *, create: bool = True, wait: float = 30.0) -> Store:
        """The database at `place`, a path (SQLite) or an SQLAlchemy URL.

        A new or empty one is made ready, or refused where `create` is False. `wait` is how many seconds a write waits
        for another process, and every call for a server that went away after the database was opened. Raises
        `StoreError` for what is not a database of this version, or cannot be used.
        """
        url, where = address_of(place)
        if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
            check_file(Path(str(url.database)), create)
        store = cls(engine_of(url, where, wait), where, wait)
        try:
            store._settle(create)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Solutions and tracks

    @_persistent
    def keep_solution(self, digest: str, query_ids: Sequence[str], flagged: Bools, ideal: JudgedItems) -> None:
        """Keep a solution's queries, with a flag each, and its grades. A digest that is known is left as it is."""
        row = {
            "digest": digest,
            "queries": _packed_ids(query_ids),
            "flagged": np.packbits(flagged).tobytes(),
            "ideal": pack_ideal(ideal, len(query_ids)),
        }
        with self._writing() as connection:
            _add(connection, solution_table, row)

    @_persistent
    def solution(self, digest: str) -> StoredSolution:
        """The queries of a solution. Raises `StoreError` for a digest that is not kept."""
        with self._reading() as connection:
            row = connection.execute(select(solution_table).where(solution_table.c.digest == digest)).first()
        if row is None:
            raise StoreError(f"{self._where}: holds no solution of digest {digest[:12]}; `scorer run` puts it there")
        query_ids = self._unpacked(row.queries, _unpacked_ids)
        flags = np.unpackbits(np.frombuffer(row.flagged, dtype=np.uint8), count=len(query_ids))
        return StoredSolution(query_ids, flags.astype(bool), self._unpacked(row.ideal, unpack_ideal))

    @_persistent
    def set_basis(self, track: str, basis: Basis) -> None:
        """Remember what the track's board stands on; the solution must be kept already."""
        row = {"name": track, "solution_digest": basis.solution, "settings_digest": basis.settings}
        with self._writing() as connection:
            if not _add(connection, track_table, row):
                connection.execute(update(track_table).where(track_table.c.name == track).values(row))

    @_persistent
    def basis(self, track: str) -> Basis | None:
        """What the track's board stands on; None for a track that was never scored."""
        with self._reading() as connection:
            row = connection.execute(select(track_table).where(track_table.c.name == track)).first()
        return None if row is None else Basis(row.solution_digest, row.settings_digest)

    # Submissions and results

    @_persistent
    def keep_submissions(self, track: str, submissions: Sequence[Submission]) -> None:
        """Say which submissions of a track are there: new ones are added, all others of the track become withdrawn.

        Nothing is deleted. One that is there again is no longer withdrawn, and keeps the time of its first receipt.
        """
        there = {(storable(each.file), each.digest): each for each in submissions}
        of_track = select(submission_table.c.file, submission_table.c.digest, submission_table.c.present)
        with self._writing() as connection:
            rows = connection.execute(of_track.where(submission_table.c.track == track))
            kept = {(file, digest): present for file, digest, present in rows}
            _add_all(connection, submission_table, [_submission_row(there[key]) for key in there if key not in kept])
            changed = [
                {"of_track": track, "of_file": file, "of_digest": digest, "now": not present}
                for (file, digest), present in kept.items()
                if present != ((file, digest) in there)
            ]
            if changed:
                connection.execute(_set_present, changed)

    @_persistent
    def known_digests(self, basis: Basis) -> frozenset[str]:
        """The digests of the submissions that there is a result for."""
        with self._reading() as connection:
            return frozenset(connection.scalars(select(result_table.c.submission_digest).where(*_of_basis(basis))))

    @_persistent
    def record(self, outcomes: Sequence[tuple[Submission, Summary | Rejected]], basis: Basis) -> None:
        """Keep what became of submissions, and themselves, in one transaction. What is known already stays as it is.

        Needs the basis's solution to be kept.
        """
        with self._writing() as connection:
            for submission, outcome in outcomes:
                digest = _result_digest(submission.digest, basis)
                _add(connection, submission_table, _submission_row(submission))
                if _add(connection, result_table, _result_row(digest, submission.digest, basis, outcome)):
                    _add_all(connection, mean_table, _mean_rows(digest, outcome))

    # Reading

    @_persistent
    def entries(self, track: str, basis: Basis | None) -> tuple[StoredSubmission, ...]:
        """All submissions of a track with their results by `basis`, in order of receipt, then team, file and digest."""
        of_basis = _of_basis(basis or Basis("", ""))
        with self._reading() as connection:
            rows = connection.execute(
                select(submission_table, result_table.c.digest.label("result"), *_result_facts)
                .join_from(submission_table, result_table, and_(*of_basis, _same_submission), isouter=True)
                .where(submission_table.c.track == track)
            ).all()
            # A result stands here once, even where two teams sent the same bytes.
            of_track = select(submission_table.c.digest).where(submission_table.c.track == track)
            means = connection.execute(
                select(mean_table).join(result_table).where(*of_basis, result_table.c.submission_digest.in_(of_track))
            ).all()
        by_result = _means_by_result(means)
        kept = (
            StoredSubmission(
                Submission(row.track, row.team, row.file, row.digest, row.received),
                row.present,
                None if row.result is None else _as_result(row, by_result.get(row.result, {})),
            )
            for row in rows
        )
        return tuple(sorted(kept, key=_receipt))

    @_persistent
    def per_query(self, submission_digest: str, basis: Basis, measures: Iterable[Measure]) -> dict[str, Floats] | None:
        """A result's scores under these measures: by canonical name, float64[query]; None without such a result.

        In the order of `solution(basis.solution).query_ids`, NaN where undefined. Any measure can be asked for.
        """
        key = _result_digest(submission_digest, basis)
        with self._reading() as connection:
            hits = connection.execute(select(result_table.c.hits).where(result_table.c.digest == key)).scalar()
        if hits is None:
            return None
        ideal = self.solution(basis.solution).ideal
        matched = self._unpacked(hits, lambda packed: unpack_hits(packed, ideal))
        return {str(measure): measure(matched) for measure in measures}

    def _unpacked(self, packed: bytes, unpack: Callable[[bytes], _Unpacked]) -> _Unpacked:
        try:
            return unpack(packed)
        except (DamagedError, ValueError, zlib.error) as error:
            raise StoreError(f"{self._where}: {WORDS['malformed']}") from error

    # Opening

    def _settle(self, create: bool) -> None:
        """Make the tables where there are none; refuse another version and the tables of others."""
        with self._reading() as connection:
            tables = inspect(connection).get_table_names()
        if not tables:
            if not create:
                raise StoreError(f"{self._where}: holds nothing yet; `scorer run` fills it")
            self._make_tables()
        elif schema_table.name not in tables:
            raise StoreError(
                f"{self._where}: is not a scorer database, but holds the tables of something else "
                f"({', '.join(sorted(tables)[:3])}); name another as `database` in challenge.toml"
            )
        with self._reading() as connection:
            versions = list(connection.scalars(select(schema_table.c.version)))
        if versions != [SCHEMA_VERSION]:
            found = ", ".join(map(str, versions)) or "none"
            raise StoreError(
                f"{self._where}: schema version {found}, where this scorer reads and writes version {SCHEMA_VERSION}; "
                "use the scorer that made it, or name another as `database` in challenge.toml to score everything anew"
            )

    def _make_tables(self) -> None:
        if self._engine.dialect.name == "sqlite":
            self._set_wal()
        with self._transaction(begin=TO_WRITE) as connection:
            if self._engine.dialect.name == "postgresql":
                # Who makes the tables at the same moment waits here, and then finds them made.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('scorer'))")
            tables.create_all(connection)
            _add(connection, schema_table, {"version": SCHEMA_VERSION})

    def _set_wal(self) -> None:
        """Let readers and a writer work side by side. SQLite keeps it in the file, and sets it in no transaction."""
        deadline = time.monotonic() + self.wait
        while True:
            try:
                with self._transaction(begin="") as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            except StoreError as error:
                # Alone of all statements this one does not wait when another process makes the same database.
                if "locked" not in str(error.__cause__) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    # Transactions

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        """A transaction that SQLite begins with these words; what goes wrong in it is told in ours."""
        with (
            in_words(self._where, self.wait),
            self._engine.execution_options(**{BEGIN: begin}).begin() as connection,
        ):
            if begin == TO_WRITE and self._engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(1000 * self.wait))}")
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with sound(self._where), self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile, in this database or to what is made from it."""
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        # A transaction that reads and then writes is refused at once, whatever the time-out, if another was faster; one
        # that says at its beginning that it will write waits for its turn.
        with self._transaction(TO_WRITE) as connection:
            # The same for other databases; on SQLite it reads one row.
            connection.execute(select(schema_table.c.version).with_for_update())
            yield connection


_result_facts = (result_table.c.status, result_table.c.counts, result_table.c.findings)
_same_submission = result_table.c.submission_digest == submission_table.c.digest
_set_present = (
    update(submission_table)
    .where(
        submission_table.c.track == bindparam("of_track"),
        submission_table.c.file == bindparam("of_file"),
        submission_table.c.digest == bindparam("of_digest"),
    )
    .values(present=bindparam("now"))
)

# Rows

Values = dict[str, Any]


def _add(connection: Connection, table: Table, row: Values) -> bool:
    """Insert a row unless its key is there; was it new?"""
    key = select(*table.primary_key).where(*(column == row[column.name] for column in table.primary_key))
    if connection.execute(key).first() is not None:
        return False
    connection.execute(insert(table), row)
    return True


def _add_all(connection: Connection, table: Table, rows: list[Values]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _submission_row(submission: Submission) -> Values:
    return asdict(submission) | {"present": True}


def _result_digest(submission_digest: str, basis: Basis) -> str:
    return hashlib.sha256(f"{submission_digest}\n{basis.solution}\n{basis.settings}".encode()).hexdigest()


def _of_basis(basis: Basis) -> tuple[Any, ...]:
    return result_table.c.solution_digest == basis.solution, result_table.c.settings_digest == basis.settings


def _result_row(digest: str, submission_digest: str, basis: Basis, outcome: Summary | Rejected) -> Values:
    if isinstance(outcome, Rejected):
        status, counts, findings, hits = "rejected", None, outcome.problems, None
    else:
        status, counts, findings, hits = "scored", asdict(outcome.counts), outcome.notes, outcome.hits
    return {
        "digest": digest,
        "submission_digest": submission_digest,
        "solution_digest": basis.solution,
        "settings_digest": basis.settings,
        "status": status,
        "counts": counts,
        "findings": {"shown": [[found.line, found.text] for found in findings.shown], "count": findings.count},
        "hits": hits,
    }


def _mean_rows(digest: str, outcome: Summary | Rejected) -> list[Values]:
    if isinstance(outcome, Rejected):
        return []
    return [
        {
            "result_digest": digest,
            "split": split,
            "measure": measure,
            "value": None if np.isnan(value) else value,
            "undefined": undefined,
        }
        for split in SPLITS
        for measure, value, undefined in zip(
            outcome.measures, outcome.means[split], outcome.undefined[split], strict=True
        )
    ]


def _means_by_result(rows: Iterable[Any]) -> dict[str, dict[Split, dict[str, Mean]]]:
    by_result: dict[str, dict[Split, dict[str, Mean]]] = {}
    for row in rows:
        by_split = by_result.setdefault(row.result_digest, {})
        by_split.setdefault(row.split, {})[row.measure] = Mean(row.value, row.undefined)
    return by_result


def _as_result(row: Any, means: Mapping[Split, Mapping[str, Mean]]) -> StoredResult:
    shown = [Problem(line, text) for line, text in row.findings["shown"]]
    counts = None if row.counts is None else Counts(**row.counts)
    return StoredResult(row.status, counts, Findings(shown, row.findings["count"]), means)


def _receipt(kept: StoredSubmission) -> tuple[datetime, str, str, str]:
    submission = kept.submission
    return submission.received, submission.team, submission.file, submission.digest


def _packed_ids(query_ids: Iterable[str]) -> bytes:
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def _unpacked_ids(packed: bytes) -> tuple[str, ...]:
    return tuple(json.loads(zlib.decompress(packed)))
