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
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np
from sqlalchemy import (
    JSON,
    URL,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Double,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
    and_,
    bindparam,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError

from scorer.errors import Findings, Problem, StoreError
from scorer.matching.match import Counts
from scorer.measures import Measure
from scorer.measures.arrays import Bools, Floats
from scorer.measures.matched import Hits
from scorer.options import SPLITS, Split
from scorer.scoring.compact import DamagedError, pack_ideal, unpack_hits, unpack_ideal
from scorer.scoring.outcomes import Rejected, Summary
from scorer.wording import printable

SCHEMA_VERSION = 1

_Unpacked = TypeVar("_Unpacked")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Submission:
    """A file that a team sent in for a track; known by track, file and digest."""

    track: str
    team: str
    file: str
    """Its path under submissions/."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """With a time zone, or it is a ValueError."""

    def __post_init__(self) -> None:
        if self.received.tzinfo is None:
            raise ValueError(f"a time without a zone: {self.received}")


@dataclass(frozen=True, slots=True)
class Basis:
    """What results are results of, besides the submission: the digests of a solution and of a track's settings."""

    solution: str
    settings: str


class Mean(NamedTuple):
    """A measure's mean over a split."""

    value: float | None
    """None where no query of the split defines the measure."""
    undefined: int
    """How many of the split's queries the mean leaves out."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a submission."""

    status: Literal["scored", "rejected"]
    counts: Counts | None
    """None where rejected."""
    findings: Findings
    """Why it was rejected, or what to know though it was scored."""
    means: Mapping[Split, Mapping[str, Mean]]
    """By split and canonical name of the measure; empty where rejected."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A submission as the store knows it."""

    submission: Submission
    present: bool
    """Still among the submissions; False for one that was withdrawn."""
    result: Result | None
    """None where it has not been scored by the basis that was asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptSolution:
    """A solution's queries, in the order of the per-query scores."""

    query_ids: tuple[str, ...]
    flagged: Bools
    """[query]: counts for the preliminary board."""
    ideal: Hits
    """The graded items, the best of each query first."""


class _LostError(StoreError):
    """The database's server does not answer, or not any more."""


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
            except _LostError:
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
        url, where = _address(place)
        if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
            _check_file(Path(str(url.database)), create)
        store = cls(_engine(url, where, wait), where, wait)
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
    def keep_solution(self, digest: str, query_ids: Sequence[str], flagged: Bools, ideal: Hits) -> None:
        """Keep a solution's queries, with a flag each, and its grades. A digest that is known is left as it is."""
        row = {
            "digest": digest,
            "queries": _packed_ids(query_ids),
            "flagged": np.packbits(flagged).tobytes(),
            "ideal": pack_ideal(ideal, len(query_ids)),
        }
        with self._writing() as connection:
            _add(connection, _solution, row)

    @_persistent
    def solution(self, digest: str) -> KeptSolution:
        """The queries of a solution. Raises `StoreError` for a digest that is not kept."""
        with self._reading() as connection:
            row = connection.execute(select(_solution).where(_solution.c.digest == digest)).first()
        if row is None:
            raise StoreError(f"{self._where}: holds no solution of digest {digest[:12]}; `scorer run` puts it there")
        query_ids = self._unpacked(row.queries, _unpacked_ids)
        flags = np.unpackbits(np.frombuffer(row.flagged, dtype=np.uint8), count=len(query_ids))
        return KeptSolution(query_ids, flags.astype(bool), self._unpacked(row.ideal, unpack_ideal))

    @_persistent
    def set_basis(self, track: str, basis: Basis) -> None:
        """Remember what the track's board stands on; the solution must be kept already."""
        row = {"name": track, "solution_digest": basis.solution, "settings_digest": basis.settings}
        with self._writing() as connection:
            if not _add(connection, _track, row):
                connection.execute(update(_track).where(_track.c.name == track).values(row))

    @_persistent
    def basis(self, track: str) -> Basis | None:
        """What the track's board stands on; None for a track that was never scored."""
        with self._reading() as connection:
            row = connection.execute(select(_track).where(_track.c.name == track)).first()
        return None if row is None else Basis(row.solution_digest, row.settings_digest)

    # Submissions and results

    @_persistent
    def keep_submissions(self, track: str, submissions: Sequence[Submission]) -> None:
        """Say which submissions of a track are there: new ones are added, all others of the track become withdrawn.

        Nothing is deleted. One that is there again is no longer withdrawn, and keeps the time of its first receipt.
        """
        there = {(_storable(each.file), each.digest): each for each in submissions}
        of_track = select(_submission.c.file, _submission.c.digest, _submission.c.present)
        with self._writing() as connection:
            rows = connection.execute(of_track.where(_submission.c.track == track))
            kept = {(file, digest): present for file, digest, present in rows}
            _add_all(connection, _submission, [_submission_row(there[key]) for key in there if key not in kept])
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
            return frozenset(connection.scalars(select(_result.c.submission_digest).where(*_of_basis(basis))))

    @_persistent
    def record(self, outcomes: Sequence[tuple[Submission, Summary | Rejected]], basis: Basis) -> None:
        """Keep what became of submissions, and themselves, in one transaction. What is known already stays as it is.

        Needs the basis's solution to be kept.
        """
        with self._writing() as connection:
            for submission, outcome in outcomes:
                digest = _result_digest(submission.digest, basis)
                _add(connection, _submission, _submission_row(submission))
                if _add(connection, _result, _result_row(digest, submission.digest, basis, outcome)):
                    _add_all(connection, _mean, _mean_rows(digest, outcome))

    # Reading

    @_persistent
    def entries(self, track: str, basis: Basis | None) -> tuple[Kept, ...]:
        """All submissions of a track with their results by `basis`, in order of receipt, then team, file and digest."""
        of_basis = _of_basis(basis or Basis("", ""))
        with self._reading() as connection:
            rows = connection.execute(
                select(_submission, _result.c.digest.label("result"), *_result_facts)
                .join_from(_submission, _result, and_(*of_basis, _same_submission), isouter=True)
                .where(_submission.c.track == track)
            ).all()
            # A result stands here once, even where two teams sent the same bytes.
            of_track = select(_submission.c.digest).where(_submission.c.track == track)
            means = connection.execute(
                select(_mean).join(_result).where(*of_basis, _result.c.submission_digest.in_(of_track))
            ).all()
        by_result = _means_by_result(means)
        kept = (
            Kept(
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
            hits = connection.execute(select(_result.c.hits).where(_result.c.digest == key)).scalar()
        if hits is None:
            return None
        ideal = self.solution(basis.solution).ideal
        judged = self._unpacked(hits, lambda packed: unpack_hits(packed, ideal))
        return {str(measure): measure(judged) for measure in measures}

    def _unpacked(self, packed: bytes, unpack: Callable[[bytes], _Unpacked]) -> _Unpacked:
        try:
            return unpack(packed)
        except (DamagedError, ValueError, zlib.error) as error:
            raise StoreError(f"{self._where}: {_WORDS['malformed']}") from error

    # Opening

    def _settle(self, create: bool) -> None:
        """Make the tables where there are none; refuse another version and the tables of others."""
        with self._reading() as connection:
            tables = inspect(connection).get_table_names()
        if not tables:
            if not create:
                raise StoreError(f"{self._where}: holds nothing yet; `scorer run` fills it")
            self._make_tables()
        elif _schema.name not in tables:
            raise StoreError(
                f"{self._where}: is not a scorer database, but holds the tables of something else "
                f"({', '.join(sorted(tables)[:3])}); name another as `database` in challenge.toml"
            )
        with self._reading() as connection:
            versions = list(connection.scalars(select(_schema.c.version)))
        if versions != [SCHEMA_VERSION]:
            found = ", ".join(map(str, versions)) or "none"
            raise StoreError(
                f"{self._where}: schema version {found}, where this scorer reads and writes version {SCHEMA_VERSION}; "
                "use the scorer that made it, or name another as `database` in challenge.toml to score everything anew"
            )

    def _make_tables(self) -> None:
        if self._engine.dialect.name == "sqlite":
            self._set_wal()
        with self._transaction(begin=_TO_WRITE) as connection:
            if self._engine.dialect.name == "postgresql":
                # Who makes the tables at the same moment waits here, and then finds them made.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('scorer'))")
            _tables.create_all(connection)
            _add(connection, _schema, {"version": SCHEMA_VERSION})

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
            _in_words(self._where, self.wait),
            self._engine.execution_options(**{_BEGIN: begin}).begin() as connection,
        ):
            if begin == _TO_WRITE and self._engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(1000 * self.wait))}")
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _sound(self._where), self._transaction("BEGIN") as connection:
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
        with self._transaction(_TO_WRITE) as connection:
            # The same for other databases; on SQLite it reads one row.
            connection.execute(select(_schema.c.version).with_for_update())
            yield connection


# Addresses and engines

_BEGIN = "scorer_begin"
"""The execution option with the words that SQLite begins a transaction with; empty: none is begun."""

_TO_WRITE = "BEGIN IMMEDIATE"

_CONNECT_TIMEOUT = 10
"""Seconds that a PostgreSQL server may take to answer, unless the URL says otherwise."""


def _address(place: str | Path) -> tuple[URL, str]:
    """The URL, and how messages call it (never with a password)."""
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(place)), str(place)
    try:
        url = make_url(place)
        url.get_dialect()
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"{place.partition('://')[0]}://...: not the address of a database; "
            "give a file, or an SQLAlchemy URL such as postgresql+psycopg://user@host/name"
        ) from error
    shown = url.difference_update_query([key for key in url.query if "pass" in key.lower()])
    return url, shown.render_as_string(hide_password=True)


def _check_file(path: Path, create: bool) -> None:
    """Refuse what SQLite would explain badly, wait for, or make although it should not."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if not create:
            raise StoreError(f"{path}: no such database; `scorer run` makes it") from None
        if not path.parent.is_dir():
            raise StoreError(f"{path}: there is no folder {path.parent}; make it, or give another path") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{printable(str(path))}: cannot be used as a path ({error})") from error
    else:
        if stat.S_ISDIR(mode):
            raise StoreError(f"{path}: is a folder; give the path of a database file")
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path}: is not a file; give the path of a database file")


def _engine(url: URL, where: str, wait: float) -> Engine:
    try:
        if url.get_backend_name() != "sqlite":
            if url.get_backend_name() == "postgresql":
                url = url.update_query_dict({"connect_timeout": str(_CONNECT_TIMEOUT), **url.query})
            return create_engine(url, pool_pre_ping=True)
        engine = create_engine(url, connect_args={"timeout": wait})
    except ImportError as error:
        raise StoreError(f"{where}: the driver of this database is not installed ({error})") from error
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` says BEGIN, not the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # With WAL this is safe against a killed process; a power cut can only cost the last results, not the database.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if begin := connection.get_execution_options().get(_BEGIN, "BEGIN"):
        connection.exec_driver_sql(begin)


_IN_USE = "is in use: another process did not finish writing within {wait:g} seconds; try again when it has"
_WORDS = {
    "locked": _IN_USE,
    "lock timeout": _IN_USE,
    "not a database": "is not a database; move it away, or name another file as `database` in challenge.toml",
    "malformed": "is damaged; move it away and run `scorer run` to score everything anew",
    "readonly": "cannot be written to: the file or its folder is read-only; make both writable",
    "unable to open": "cannot be opened; its folder must be there, readable and writable",
    "is full": "cannot be written to: the disk is full",
    "No space left": "cannot be written to: the disk of its server is full",
    "disk I/O": "cannot be read or written: the disk is full or failing",
}
"""What SQLite or PostgreSQL says, and how it is told."""


def _is_lost(error: DBAPIError) -> bool:
    """Has the server gone, or is it not up yet? PostgreSQL says so by SQLSTATE; where nobody answers there is none."""
    state = getattr(error.orig, "sqlstate", "")
    gone = state is None or state.startswith(("08", "57P"))
    return error.connection_invalidated or (isinstance(error, OperationalError) and gone)


@contextmanager
def _in_words(where: str, wait: float) -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise  # never the user's doing
    except DBAPIError as error:
        found = printable(" ".join(str(error.orig).split()))
        if _is_lost(error):
            raise _LostError(f"{where}: cannot be reached: {found}") from error
        told = (words.format(wait=wait) for sign, words in _WORDS.items() if sign in found)
        raise StoreError(f"{where}: {next(told, f'cannot be used: {found}')}") from error


@contextmanager
def _sound(where: str) -> Iterator[None]:
    """Around reading: what the driver makes of bytes that are no text, no JSON, no date is told as damage."""
    try:
        yield
    except (ValueError, LookupError) as error:
        raise StoreError(f"{where}: {_WORDS['malformed']}") from error


# Tables


def _storable(text: str) -> str:
    """Text that every database takes: lone surrogates and NUL, which some refuse, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


class _Text(TypeDecorator[str]):
    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else _storable(value)


class _Time(TypeDecorator[datetime]):
    """UTC, stored without a zone: SQLite knows none."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


_Digest = String(64)
_tables = MetaData()

_schema = Table("scorer_schema", _tables, Column("version", Integer, primary_key=True, autoincrement=False))

_solution = Table(
    "solution",
    _tables,
    Column("digest", _Digest, primary_key=True),
    Column("queries", LargeBinary, nullable=False),
    Column("flagged", LargeBinary, nullable=False),
    Column("ideal", LargeBinary, nullable=False),
)

_track = Table(
    "track",
    _tables,
    Column("name", _Text, primary_key=True),
    Column("solution_digest", _Digest, ForeignKey("solution.digest"), nullable=False),
    Column("settings_digest", _Digest, nullable=False),
)

_submission = Table(
    "submission",
    _tables,
    Column("track", _Text, primary_key=True),
    Column("file", _Text, primary_key=True),
    Column("digest", _Digest, primary_key=True),
    Column("team", _Text, nullable=False),
    Column("received", _Time, nullable=False),
    Column("present", Boolean, nullable=False),
)

_result = Table(
    "result",
    _tables,
    Column("digest", _Digest, primary_key=True),
    Column("submission_digest", _Digest, nullable=False),
    Column("solution_digest", _Digest, ForeignKey("solution.digest"), nullable=False),
    Column("settings_digest", _Digest, nullable=False),
    Column("status", String(8), nullable=False),
    Column("counts", JSON(none_as_null=True)),
    Column("findings", JSON, nullable=False),
    Column("hits", LargeBinary),
    UniqueConstraint("submission_digest", "solution_digest", "settings_digest"),
)
"""`digest` stands for the other three digests, so that the tables below need not repeat them."""

_mean = Table(
    "mean",
    _tables,
    Column("result_digest", _Digest, ForeignKey("result.digest"), primary_key=True),
    Column("split", String(16), primary_key=True),
    Column("measure", _Text, primary_key=True),
    Column("value", Double),
    Column("undefined", Integer, nullable=False),
    sqlite_with_rowid=False,
)

_result_facts = (_result.c.status, _result.c.counts, _result.c.findings)
_same_submission = _result.c.submission_digest == _submission.c.digest
_set_present = (
    update(_submission)
    .where(
        _submission.c.track == bindparam("of_track"),
        _submission.c.file == bindparam("of_file"),
        _submission.c.digest == bindparam("of_digest"),
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
    return _result.c.solution_digest == basis.solution, _result.c.settings_digest == basis.settings


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


def _as_result(row: Any, means: Mapping[Split, Mapping[str, Mean]]) -> Result:
    shown = [Problem(line, text) for line, text in row.findings["shown"]]
    counts = None if row.counts is None else Counts(**row.counts)
    return Result(row.status, counts, Findings(shown, row.findings["count"]), means)


def _receipt(kept: Kept) -> tuple[datetime, str, str, str]:
    submission = kept.submission
    return submission.received, submission.team, submission.file, submission.digest


def _packed_ids(query_ids: Iterable[str]) -> bytes:
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def _unpacked_ids(packed: bytes) -> tuple[str, ...]:
    return tuple(json.loads(zlib.decompress(packed)))
