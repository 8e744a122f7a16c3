"""Snapshot: all that can be read from the store, as of one moment."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import UserDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import func, select

from scorer.limits import Limits
from scorer.measures import Measure
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched
from scorer.options import SPLITS, Split
from scorer.record.events import time_of
from scorer.record.log import Purpose, secret_of
from scorer.scoring.analysis.kept import Arrays
from scorer.scoring.outcomes import (
    Mean,
    QueryMask,
    all_means,
    split_masks,
    unpack_flags,
    unpack_hits,
    unpack_ideal,
    unpack_ids,
)
from scorer.scoring.statistics.judges import TwoJudges
from scorer.store import schema as db
from scorer.store.events import (
    Basis,
    Failure,
    FolderScan,
    ResultRow,
    ScannedFile,
    StoredMeans,
    StoredQueries,
    StoredResult,
    StoredSolution,
)
from scorer.store.rows import TableRows

Parts = Sequence[object]
"""What a value depends on: text, numbers, and sequences of both."""

_ARRAYS = "#arrays "
"""Begins the line with the keys of arrays. Values are JSON or SVG, and never begin so."""


class Cache(UserDict[str, str]):
    """The cached values of a database, and those that are computed because they are absent.

    `Store.keep` stores them afterwards. A value never changes, because its key is the digest of everything that it
    depends on. So it does not matter when it was stored, and setting a known key has no effect.
    """

    def __init__(self, stored: Mapping[str, str], arrays: Arrays | None = None) -> None:
        super().__init__()
        self.data.update(stored)
        self.arrays = Arrays() if arrays is None else arrays
        """Where arrays are kept that are costly to derive."""
        self.added: dict[str, str] = {}
        """The values that were computed."""
        self.used: set[str] = set()
        """The keys of all values that were requested or computed."""

    def value(self, parts: Parts, compute: Callable[[], str]) -> str:
        """The value that depends on `parts`; it is computed if it is absent."""
        return self.value_of(cache_key(parts), compute)

    def value_of(self, key: str, compute: Callable[[], str]) -> str:
        """The same, by the digest of what the value depends on.

        The arrays that a value was computed with are used whenever the value is: its first line lists them.
        """
        if key not in self:
            before = set(self.arrays.used)
            text = compute()
            arrays = sorted(self.arrays.used - before)
            self[key] = f"{_ARRAYS}{' '.join(arrays)}\n{text}" if arrays else text
        text = self[key]
        if text.startswith(_ARRAYS):
            arrays_line, _, text = text.partition("\n")
            self.arrays.used.update(arrays_line.removeprefix(_ARRAYS).split())
        return text

    def __getitem__(self, key: str) -> str:
        value = super().__getitem__(key)
        self.used.add(key)
        return value

    def __setitem__(self, key: str, value: str) -> None:
        self.used.add(key)
        if key not in self:
            self.added[key] = value
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError("cached values are deleted by Store.keep")


def cache_key(parts: Parts) -> str:
    """The key of the value that depends on `parts`."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()


Means = dict[tuple[str, str], Mean]
"""By full name of the measure and digest of the mask."""


@dataclass(frozen=True)
class Snapshot(TableRows):
    """One state of the database. Every method raises StoreError if the database fails or is damaged."""

    @cached_property
    def identity(self) -> str:
        """Random text that no other database has."""
        return str(self.schema_row.identity)

    def count_events(self) -> int:
        """The number of events of all tracks, without reading them."""
        return int(self.connection.execute(select(func.max(db.event_table.c.index))).scalar() or 0)

    def has_result(self, submission_digest: str) -> bool:
        """Whether a submission has a result by any rules."""
        columns = db.result_table.c
        results = select(columns.digest).where(columns.submission_digest == submission_digest).limit(1)
        return self.connection.execute(results).first() is not None

    def secret(self, purpose: Purpose) -> bytes:
        """A secret of 32 bytes for one purpose, always the same; to publish it tells nothing about the others."""
        with self._database.decoding():
            return secret_of(self.schema_row.salt, purpose)

    def salted_digest(self, digest: str) -> str:
        """The HMAC-SHA256 of the digest of a file, with the secret for solutions as the key; in hexadecimal.

        It shows that the file stays the same. Without the secret, nobody can use it to confirm a guessed solution.
        """
        return hmac.new(self.secret("solutions"), digest.encode("ascii"), hashlib.sha256).hexdigest()

    def snapshot_name(self, revision: int) -> str:
        """A name of the state with a revision: nobody else can say which revision it is."""
        return hmac.new(self.secret("snapshots"), str(revision).encode("ascii"), hashlib.sha256).hexdigest()

    def last_run(self, track: str) -> datetime | None:
        """When the track was last scored; None if it never was."""
        times = {row.track: row.at for row in self.rows(db.last_run_table)}
        with self._database.decoding():
            return datetime.fromisoformat(times[track]) if track in times else None

    def last_scan(self, track: str) -> FolderScan | None:
        """The last scan of the folder of a track; None if there was none."""
        with self._database.decoding():
            for row in self.rows(db.look_table, db.look_table.c.track == track):
                unread = {mark: at and time_of(at) for mark, at in json.loads(row.unread).items()}
                return FolderScan(time_of(row.at), unread)
        return None

    def scanned_files(self, track: str) -> dict[str, ScannedFile]:
        """What the last scan of a track's folder found, by the names of the files."""
        rows = self.rows(db.scanned_file_table, db.scanned_file_table.c.track == track)
        with self._database.decoding():
            return {
                str(json.loads(file)): ScannedFile(int(size), int(mtime), int(ctime), int(inode), int(device), digest)
                for _, file, size, mtime, ctime, inode, device, digest, _ in map(tuple, rows)
            }

    def cache(self, arrays: Arrays | None = None) -> Cache:
        """The cached values, and where arrays are kept."""
        return Cache({row.digest: row.value for row in self.rows(db.cached_table)}, arrays)

    # Solutions and results

    def solution(self, digest: str) -> StoredSolution:
        """A solution. Raises StoreError if it is not stored."""
        row = self.solution_row(digest)
        ids, flagged = self._queries_of(row)
        return StoredSolution(tuple(ids), flagged, self.unpacked(row.ideal, unpack_ideal))

    def queries(self, digest: str) -> StoredQueries:
        """The queries of a solution. Raises StoreError if it is not stored."""
        return self._queries_of(self.solution_row(digest))

    def _queries_of(self, row: Any) -> StoredQueries:
        ids = self.unpacked(row.queries, unpack_ids)
        return StoredQueries(ids, self.unpacked(row.flagged, lambda packed: unpack_flags(packed, len(ids))))

    def flags(self, basis: Basis) -> Bools:
        """[query]: whether it enters the preliminary scores. Raises StoreError if the solution is not stored."""
        return basis.flags(self.queries(basis.solution))

    def solution_digests(self) -> list[str]:
        """The digests of all solutions, sorted."""
        return sorted(row.digest for row in self.rows(db.solution_table))

    def known_digests(self, basis: Basis) -> Set[str]:
        """The digests of the submissions that have a result by `basis`."""
        return self.result_rows(basis).keys()

    def outdated_rejections(self, basis: Basis, limits: Limits) -> list[str]:
        """The digests of the results of submissions that exceeded a limit which has another value now."""
        rejected = (row for row in self.result_rows(basis).values() if row.result.status == "rejected")
        with self._database.decoding():
            return [row.digest for row in rejected if limits.differing(json.loads(row.limits))]

    def scores(
        self, submission_digests: Iterable[str], basis: Basis, measures: Sequence[Measure]
    ) -> Iterator[tuple[str, Floats]]:
        """The digest of each submission that has a scored result by `basis`, and its per-query scores by any measures.

        Scores are float64[measure, query], NaN where undefined, queries in the order of
        ``solution(basis.solution).query_ids``. The solution is unpacked once.
        """
        for digest, matched in self.matches(submission_digests, basis):
            yield digest, self._scores(matched, measures, basis)

    def judges(
        self, submission_digests: Iterable[str], basis: Basis, measures: Sequence[Measure]
    ) -> Iterator[tuple[str, TwoJudges]]:
        """As `scores`, by each of two judges."""
        for digest, matched in self.matches(submission_digests, basis):
            yield digest, self._judges(matched, measures, basis)

    def checked_queries(self, basis: Basis) -> Ints:
        """The numbers of the queries that the second solution has, in its order; none without one."""
        if not basis.checked:
            return np.zeros(0, dtype=np.int64)
        number = {query: at for at, query in enumerate(self.queries(basis.solution).ids)}
        return np.array([number[query] for query in self.queries(basis.checked).ids], dtype=np.int64)

    def _judges(self, matched: Matched, measures: Sequence[Measure], basis: Basis) -> TwoJudges:
        if matched.checked is None:
            raise ValueError("not a match by two solutions")
        machine, people = _scores(matched, measures), _scores(matched.checked, measures)
        return TwoJudges.of(machine, people, self.checked_queries(basis), self.flags(basis), basis.machine_weight)

    def _scores(self, matched: Matched, measures: Sequence[Measure], basis: Basis) -> Floats:
        return self._judges(matched, measures, basis).values if basis.checked else _scores(matched, measures)

    def _ideals(self, basis: Basis) -> tuple[JudgedItems, JudgedItems | None]:
        """The graded items of the solution, and of the second one if there is one."""
        checked = self.solution(basis.checked).ideal if basis.checked else None
        return self.solution(basis.solution).ideal, checked

    def matches(self, submission_digests: Iterable[str], basis: Basis) -> Iterator[tuple[str, Matched]]:
        """The digest of each submission that has a scored result by `basis`, and its judged items."""
        ideals, known = self._ideals(basis), self.result_rows(basis)
        rows = (known[digest] for digest in set(submission_digests) & known.keys())
        for _, digest, hits in self.hits(row for row in rows if row.result.status == "scored"):
            yield digest, self._matched(hits, ideals)

    def missing_means(
        self, basis: Basis, submission_digests: Callable[[], Collection[str]], measures: Sequence[Measure]
    ) -> list[tuple[str, Means]]:
        """The digest of each scored result of these submissions that lacks stored means, and these means."""
        parts = basis.solution, basis.matching, basis.split, tuple(measures)
        masks = {mask.digest for mask in self._masks(basis, SPLITS).values()}
        complete = self.kept(("complete", parts), (), lambda: self.complete_results(basis, measures, masks))
        scored = (row for row in self.result_rows(basis).values() if row.result.status == "scored")
        unknown = [row for row in scored if row.digest not in complete]
        wanted = submission_digests() if unknown else ()
        unknown = [row for row in unknown if row.submission_digest in wanted]
        stored = self.stored_means(basis, measures, SPLITS, [row.digest for row in unknown]) if unknown else {}
        lacking = dict(self._computed(unknown, basis, measures, SPLITS, stored))
        complete.update(row.digest for row in unknown if row.digest not in lacking)
        return [*lacking.items()]

    def _computed(
        self,
        rows: Iterable[ResultRow],
        basis: Basis,
        measures: Sequence[Measure],
        splits: Collection[Split],
        stored: Mapping[str, Means],
    ) -> Iterator[tuple[str, Means]]:
        """The digest of each scored result that lacks means among the stored ones, and these means."""
        masks = self._masks(basis, splits)
        keys = [(measure, {(measure.full, mask.digest) for mask in masks.values()}) for measure in measures]
        lacking: dict[str, list[Measure]] = {}
        scored = [row for row in rows if row.result.status == "scored"]
        for row in scored:
            have = stored.get(row.digest, {}).keys()
            missing = [measure for measure, wanted_keys in keys if not wanted_keys <= have]
            if missing:
                lacking[row.digest] = missing
        if not lacking:
            return
        ideals = self._ideals(basis)
        for result, _, hits in self.hits(row for row in scored if row.digest in lacking):
            missing = lacking[result]
            means = all_means(missing, self._scores(self._matched(hits, ideals), missing, basis), masks)
            already = stored.get(result, {})
            yield result, {key: mean for key, mean in means.items() if key not in already}

    def stored_means(
        self,
        basis: Basis,
        measures: Sequence[Measure],
        splits: Collection[Split] = SPLITS,
        results: Collection[str] | None = None,
    ) -> dict[str, Means]:
        """The stored means of these measures over the queries of these splits, by digest of the result: of all results
        by `basis`, or of some of them.
        """
        means: dict[str, Means] = {}
        masks = {mask.digest for mask in self._masks(basis, splits).values()}
        with self._database.decoding():
            for result, measure, mask, _, value, undefined, _ in map(
                tuple, self.mean_rows(basis, measures, masks, results)
            ):
                means.setdefault(result, {})[measure, mask] = Mean(
                    None if value is None else float(value), int(undefined)
                )
        return means

    def _masks(self, basis: Basis, splits: Collection[Split]) -> dict[Split, QueryMask]:
        masks = split_masks(self.flags(basis), two_judges=bool(basis.checked))
        return {split: mask for split, mask in masks.items() if split in splits}

    def _matched(self, hits: bytes, ideals: tuple[JudgedItems, JudgedItems | None]) -> Matched:
        return self.unpacked(hits, lambda packed: unpack_hits(packed, *ideals))

    def results(
        self,
        basis: Basis,
        wanted: Set[str],
        measures: Sequence[Measure] = (),
        splits: Collection[Split] = SPLITS,
    ) -> Mapping[str, StoredResult]:
        """The results of submissions, at least of the wanted ones, by their digests.

        Those of the wanted ones have the means of `measures` over the queries of `splits`. Means that are not stored
        yet are computed from the judged items, so that a new measure needs no file.
        """
        masks = self._masks(basis, splits) if measures else {}
        keys = tuple(
            (split, str(measure), (measure.full, mask.digest)) for split, mask in masks.items() for measure in measures
        )
        names = tuple((split, name) for split, name, _ in keys)

        def read(rows: Mapping[str, ResultRow]) -> dict[str, StoredResult]:
            digests = [row.digest for row in rows.values()]
            means = self.stored_means(basis, measures, splits, digests) if rows and keys else {}
            for result, computed in list(self._computed(rows.values(), basis, measures, splits, means)):
                means.setdefault(result, {}).update(computed)
            found: dict[str, StoredResult] = {}
            for digest, row in rows.items():
                of_result = means.get(row.digest, {})
                values = [of_result.get(key) for _, _, key in keys]
                found[digest] = row.result
                if keys and row.result.status == "scored":
                    found[digest] = replace(row.result, means=StoredMeans.of(names, values))
            return found

        rows = self.result_rows(basis)
        if keys and not rows.keys() <= wanted:
            rows = {digest: row for digest, row in rows.items() if digest in wanted}
        return self.advanced(("values", basis.solution, basis.matching, basis.version_1, keys), None, rows, read)

    def failures(self, basis: Basis) -> dict[str, Failure]:
        """The failures of submissions by `basis`, by the digest of the submission."""
        exact = Basis(basis.solution, basis.matching)
        return {row.submission_digest: Failure(row.kind, row.reason, row.attempts) for row in self.failure_rows(exact)}


def _scores(matched: Matched, measures: Sequence[Measure]) -> Floats:
    """[measure, query]"""
    scores = np.array([measure(matched) for measure in measures], dtype=np.float64)
    return scores.reshape(len(measures), matched.queries)
