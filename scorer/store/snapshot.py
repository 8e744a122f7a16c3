"""Snapshot: all that can be read from the store, as of one moment."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, func, or_, select

from scorer.errors import Findings, Problem, StoreError
from scorer.matching.match import Counts
from scorer.measures import Measure
from scorer.measures.arrays import Bools, Floats
from scorer.measures.matched import JudgedItems
from scorer.options import SPLITS, Split
from scorer.scoring.compact import DamagedError, unpack_hits, unpack_ideal
from scorer.scoring.means import Mean, all_means, split_masks
from scorer.scoring.rules import MEASURE_GENERATION
from scorer.store.database import Database
from scorer.store.events import Event, SubmissionState, last_basis, submission_states
from scorer.store.records import Basis, RecordedBasis, StoredResult, StoredSolution, StoredSubmission
from scorer.store.schema import (
    event_table,
    last_run_table,
    mean_table,
    result_table,
    schema_table,
    solution_table,
)

Means = dict[tuple[str, str], Mean]
"""By full name of the measure and digest of the mask."""

_Unpacked = TypeVar("_Unpacked")

_AT_A_TIME = 500
"""Results whose judged items are read at a time."""


@dataclass(frozen=True)
class Snapshot:
    """One state of the database. Every method raises StoreError if the database fails or is damaged."""

    _connection: Connection
    _database: Database

    @cached_property
    def identity(self) -> str:
        """Random text that no other database has."""
        return str(self._connection.execute(select(schema_table.c.identity)).scalar_one())

    @cached_property
    def revision(self) -> int:
        """A number that every write increases."""
        return int(self._connection.execute(select(schema_table.c.revision)).scalar_one())

    # The record

    def events(self, track: str | None = None) -> list[Event]:
        """The events of a track, or of all tracks, by index."""
        statement = select(event_table).order_by(event_table.c.index)
        if track is not None:
            statement = statement.where(event_table.c.track == track)
        return [
            Event(index, of_track, kind, at, json.loads(body))
            for index, of_track, kind, at, body in self._connection.execute(statement)
        ]

    def submissions(self, track: str) -> list[SubmissionState]:
        """The submissions of a track with their state, by time of receipt, team, file and digest."""
        states = submission_states(self.events(track)).values()
        return sorted(states, key=lambda state: state.submission.sort_key)

    def recorded_basis(self, track: str) -> RecordedBasis | None:
        """The basis of a track's board; None if it has never been scored."""
        return last_basis(self.events(track))

    def last_run(self, track: str) -> datetime | None:
        """When the track was last scored; None if it never was."""
        statement = select(last_run_table.c.at).where(last_run_table.c.track == track)
        at: datetime | None = self._connection.execute(statement).scalar()
        return at

    # Solutions and results

    def solution(self, digest: str) -> StoredSolution:
        """A solution. Raises StoreError if it is not stored."""
        row = self._row_of_solution(digest)
        query_ids = self.unpacked(row.queries, unpack_ids)
        flagged = unpack_flags(row.flagged, len(query_ids))
        return StoredSolution(query_ids, flagged, self.unpacked(row.ideal, unpack_ideal))

    def flags(self, digest: str) -> Bools:
        """[query]: the flags of a solution. Raises StoreError if it is not stored."""
        row = self._row_of_solution(digest)
        return unpack_flags(row.flagged, len(self.unpacked(row.queries, unpack_ids)))

    def _row_of_solution(self, digest: str) -> Any:
        row = self._connection.execute(select(solution_table).where(solution_table.c.digest == digest)).first()
        if row is None:
            raise StoreError(
                f"{self._database.where}: holds no solution with the digest {digest[:12]}; `scorer run` stores it"
            )
        return row

    def solution_digests(self) -> list[str]:
        """The digests of all solutions, sorted."""
        return sorted(self._connection.scalars(select(solution_table.c.digest)))

    def known_digests(self, basis: Basis) -> frozenset[str]:
        """The digests of the submissions that have a result by `basis`."""
        return frozenset(self._connection.scalars(select(result_table.c.submission_digest).where(*_by(basis))))

    def entries(
        self, track: str, basis: Basis | None, measures: Sequence[Measure] = ()
    ) -> tuple[StoredSubmission, ...]:
        """All submissions of a track with their results.

        Parameters
        ----------
        track
            The name of the track.
        basis
            What the results are by; None: no submission has a result.
        measures
            Whose means the results have. Stored means are read; means that are not stored yet are computed from the
            judged items, so that a new measure needs no file.

        Returns
        -------
        By time of receipt, team, file and digest.
        """
        submissions = self.submissions(track)
        results: dict[str, StoredResult] = {}
        if basis is not None:
            wanted = {state.submission.digest for state in submissions}
            results = self._results(basis, wanted, measures)
        return tuple(
            StoredSubmission(state.submission, state.present, results.get(state.submission.digest))
            for state in submissions
        )

    def scores(
        self, submission_digests: Iterable[str], basis: Basis, measures: Sequence[Measure]
    ) -> Iterator[tuple[str, Floats]]:
        """The per-query scores of many submissions. The solution is unpacked once.

        Parameters
        ----------
        submission_digests
            The submissions; those without a scored result by `basis` are left out.
        basis
            What the results are by.
        measures
            Any measures, stored or not.

        Yields
        ------
        The digest of a submission and its scores: float64[measure, query], NaN where undefined, queries in the order
        of ``solution(basis.solution).query_ids``.
        """
        ideal = self.solution(basis.solution).ideal
        for _, digest, hits in self._hits(basis, set(submission_digests)):
            yield digest, self._scores(hits, ideal, measures)

    def missing_means(
        self,
        basis: Basis,
        submission_digests: Iterable[str],
        measures: Sequence[Measure],
        stored: Mapping[str, Means] | None = None,
    ) -> Iterator[tuple[str, Means]]:
        """The means of scored results that are not stored yet, computed from the judged items.

        Parameters
        ----------
        basis
            What the results are by.
        submission_digests
            The submissions.
        measures
            The measures of the means.
        stored
            As `stored_means` returns them; None: they are read.

        Yields
        ------
        The digest of a result and its missing means.
        """
        masks = split_masks(self.flags(basis.solution))
        wanted = set(submission_digests)
        if stored is None:
            measures = self._incomplete(basis, measures, len({mask.digest for mask in masks.values()}))
            stored = self.stored_means(basis, measures) if measures else {}
        keys = [(measure, {(measure.full, mask.digest) for mask in masks.values()}) for measure in measures]
        lacking: dict[str, list[Measure]] = {}
        for row in self._connection.execute(
            select(result_table.c.digest, result_table.c.submission_digest).where(
                *_by(basis), result_table.c.status == "scored"
            )
        ):
            have = stored.get(row.digest, {}).keys()
            missing = [measure for measure, wanted_keys in keys if not wanted_keys <= have]
            if missing and row.submission_digest in wanted:
                lacking[row.digest] = missing
        if not lacking:
            return
        ideal = self.solution(basis.solution).ideal
        for result, _, hits in self._hits(basis, wanted, set(lacking)):
            missing = lacking[result]
            means = all_means(missing, self._scores(hits, ideal, missing), masks)
            already = stored.get(result, {})
            yield result, {key: mean for key, mean in means.items() if key not in already}

    def unpacked(self, packed: bytes, unpack: Callable[[bytes], _Unpacked]) -> _Unpacked:
        """Packed bytes as `unpack` returns them. Raises StoreError if they are damaged."""
        try:
            return unpack(packed)
        except (DamagedError, ValueError, zlib.error) as error:
            raise self._database.damaged() from error

    def _scores(self, hits: bytes, ideal: JudgedItems, measures: Sequence[Measure]) -> Floats:
        """[measure, query]"""
        matched = self.unpacked(hits, lambda packed: unpack_hits(packed, ideal))
        scores = np.array([measure(matched) for measure in measures], dtype=np.float64)
        return scores.reshape(len(measures), matched.queries)

    def _results(self, basis: Basis, wanted: set[str], measures: Sequence[Measure]) -> dict[str, StoredResult]:
        """By digest of the submission; a result by the current rules hides one that schema 1 stored."""
        columns = (result_table.c.digest, result_table.c.submission_digest, result_table.c.matching_digest)
        details = (result_table.c.status, result_table.c.counts, result_table.c.findings)
        rows = {
            row.submission_digest: row
            for row in sorted(
                self._connection.execute(select(*columns, *details).where(*_by(basis))),
                key=lambda row: row.matching_digest == basis.matching,
            )
            if row.submission_digest in wanted
        }
        means: dict[str, Means] = {}
        keys: list[tuple[Split, str, tuple[str, str]]] = []
        if rows and measures:
            means = self.stored_means(basis, measures)
            for result, computed in list(self.missing_means(basis, rows, measures, means)):
                means.setdefault(result, {}).update(computed)
            keys = [
                (split, str(measure), (measure.full, mask.digest))
                for split, mask in split_masks(self.flags(basis.solution)).items()
                for measure in measures
            ]
        return {digest: _result(row, means.get(row.digest, {}), keys) for digest, row in rows.items()}

    def stored_means(self, basis: Basis, measures: Sequence[Measure]) -> dict[str, Means]:
        """The stored means of these measures, of all results by `basis`, by digest of the result."""
        means: dict[str, Means] = {}
        statement = select(mean_table).join(result_table).where(*_by(basis))
        statement = statement.where(
            mean_table.c.generation == MEASURE_GENERATION,
            mean_table.c.measure.in_([measure.full for measure in measures]),
        )
        for row in self._connection.execute(statement):
            means.setdefault(row.result_digest, {})[row.measure, row.mask] = Mean(row.value, row.undefined)
        return means

    def _incomplete(self, basis: Basis, measures: Sequence[Measure], masks: int) -> list[Measure]:
        """The measures that do not have a stored mean for every scored result and each of so many masks."""
        scored = select(func.count()).select_from(result_table).where(*_by(basis), result_table.c.status == "scored")
        wanted = masks * (self._connection.execute(scored).scalar() or 0)
        statement = select(mean_table.c.measure, func.count()).join(result_table).where(*_by(basis))
        statement = statement.where(mean_table.c.generation == MEASURE_GENERATION).group_by(mean_table.c.measure)
        counts: dict[str, int] = {row[0]: row[1] for row in self._connection.execute(statement)}
        return [measure for measure in measures if counts.get(measure.full, 0) < wanted]

    def _hits(
        self, basis: Basis, submissions: set[str], results: set[str] | None = None
    ) -> Iterator[tuple[str, str, bytes]]:
        """The digest of a result, that of its submission, and the packed judged items, for scored results."""
        columns = (result_table.c.digest, result_table.c.submission_digest)
        keys = [
            row
            for row in self._connection.execute(
                select(*columns, result_table.c.matching_digest)
                .where(*_by(basis), result_table.c.status == "scored")
                .order_by(result_table.c.digest)
            )
            if row.submission_digest in submissions and (results is None or row.digest in results)
        ]
        if results is None:  # one result for each submission
            current = {row.submission_digest for row in keys if row.matching_digest == basis.matching}
            keys = [
                row for row in keys if row.matching_digest == basis.matching or row.submission_digest not in current
            ]
        for start in range(0, len(keys), _AT_A_TIME):
            chosen = [row.digest for row in keys[start : start + _AT_A_TIME]]
            statement = select(*columns, result_table.c.hits).where(result_table.c.digest.in_(chosen))
            for row in self._connection.execute(statement.order_by(result_table.c.digest)):
                yield row.digest, row.submission_digest, row.hits


def pack_ids(query_ids: Iterable[str]) -> bytes:
    """Query ids in few bytes, for `unpack_ids`."""
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def unpack_ids(packed: bytes) -> tuple[str, ...]:
    """The ids that `pack_ids` packed."""
    return tuple(json.loads(zlib.decompress(packed)))


def pack_flags(flagged: Bools) -> bytes:
    """The flags of queries in few bytes, for `unpack_flags`."""
    return np.packbits(flagged).tobytes()


def unpack_flags(packed: bytes, count: int) -> Bools:
    """The flags of `count` queries that `pack_flags` packed."""
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)


def _by(basis: Basis) -> tuple[Any, ...]:
    """The condition on results: those of the current rules, and those that schema 1 stored for the same settings."""
    same_rules = result_table.c.matching_digest == basis.matching
    if basis.version_1:
        same_rules = or_(same_rules, result_table.c.matching_digest == basis.version_1)
    return result_table.c.solution_digest == basis.solution, same_rules


def _result(row: Any, means: Means, keys: Sequence[tuple[Split, str, tuple[str, str]]]) -> StoredResult:
    """The result of a row; `keys` has the split, the name and the key of each mean."""
    shown = [Problem(line, text) for line, text in row.findings["shown"]]
    findings = Findings(shown, row.findings["count"])
    if row.status == "rejected":
        return StoredResult(row.status, None, findings, {})
    by_split: dict[Split, dict[str, Mean]] = {split: {} for split in SPLITS}
    for split, name, key in keys:
        if key in means:
            by_split[split][name] = means[key]
    return StoredResult(row.status, Counts(**row.counts), findings, by_split)
