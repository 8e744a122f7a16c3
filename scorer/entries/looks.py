"""Looks: the scored entries of each team in order, and the preliminary scores that the Ladder releases for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from scorer.challenge.preliminary import check_ladder
from scorer.challenge.settings import Track
from scorer.entries.entry import Answer
from scorer.entries.ladder import Ladder
from scorer.limits import ATTEMPTS
from scorer.measures.arrays import Bools, Floats
from scorer.paths import code_digest
from scorer.scoring.means import QueryMask
from scorer.store.cache import Cache, digest_of
from scorer.store.records import Basis, StoredSubmission
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Candidate:
    """An admitted entry."""

    team: str
    """The team whose row has it now, by the name of its folder."""
    stored: StoredSubmission
    waits: bool
    """Whether the quota waits for the outcome of an earlier entry."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the Ladder answers to an entry."""

    answer: Answer
    score: float | None = None
    """The released score; None without an improvement."""


def looks(
    view: Snapshot, track: Track, basis: Basis, candidates: Iterable[Candidate], cache: Cache | None
) -> Mapping[int, Look]:
    """What the Ladder answers to the scored entries of each team, by the index of the entry.

    The entries of a team, with those of the teams that are merged into it, are looked at in the order of the record,
    also those that are withdrawn or superseded since. The order of scoring has no effect: entries after one without a
    result wait for it.

    Parameters
    ----------
    view
        A snapshot of the database.
    track
        Has the form of the Ladder.
    basis
        What the results are by.
    candidates
        The admitted entries, in the order of the record.
    cache
        Has the scores that were released before.

    Raises
    ------
    ChallengeError
        There are too few preliminary queries.
    StoreError
        The database fails.
    """
    teams: dict[str, list[Candidate]] = {}
    for each in candidates:
        teams.setdefault(each.team, []).append(each)
    sequences = [_in_order(own) for own in teams.values()]
    released = _released(view, track, basis, [_digests(seen) for seen, _ in sequences], cache)
    found: dict[int, Look] = {}
    for (seen, waiting), scores in zip(sequences, released, strict=True):
        for stored, score in zip(seen, scores, strict=True):
            found[stored.index] = Look("no improvement") if score is None else Look("improvement", score)
        found |= {stored.index: Look("waits") for stored in waiting}
    return found


def _in_order(own: Sequence[Candidate]) -> tuple[list[StoredSubmission], list[StoredSubmission]]:
    """The scored entries of a team: those that are looked at, and those that wait for an earlier entry."""
    stop = next((place for place, each in enumerate(own) if _is_open(each)), len(own))
    return _scored(own[:stop]), _scored(own[stop:])


def _scored(candidates: Iterable[Candidate]) -> list[StoredSubmission]:
    found = (each.stored for each in candidates)
    return [each for each in found if each.result is not None and each.result.status == "scored"]


def _is_open(each: Candidate) -> bool:
    """Whether the outcome of an entry is to come. An entry that is withdrawn without a result has none."""
    if each.waits:
        return True
    stored = each.stored
    has_failed = stored.failure is not None and stored.failure.attempts >= ATTEMPTS
    return stored.present and stored.result is None and not has_failed


def _digests(seen: Iterable[StoredSubmission]) -> list[str]:
    return [each.submission.digest for each in seen]


def _released(
    view: Snapshot, track: Track, basis: Basis, sequences: Sequence[Sequence[str]], cache: Cache | None
) -> list[list[float | None]]:
    """The released scores of each sequence of submissions, by their digests; None without an improvement."""
    known = Cache({}) if cache is None else cache
    flagged = view.flags(basis)
    step = None if track.ladder_step is None else str(track.ladder_step)
    rules = [basis.solution, basis.matching, code_digest(), QueryMask(flagged).digest]
    keys = [digest_of(["ladder", rules, track.primary_measure.full, step, list(each)]) for each in sequences]
    absent = [each for each, key in zip(sequences, keys, strict=True) if each and key not in known]
    scores = _scores(view, track, basis, flagged, set(chain.from_iterable(absent)))
    return [
        json.loads(known.value_of(key, partial(_folded, track, each, scores))) if each else []
        for each, key in zip(sequences, keys, strict=True)
    ]


def _scores(view: Snapshot, track: Track, basis: Basis, flagged: Bools, digests: set[str]) -> Mapping[str, Floats]:
    """The primary scores of submissions on the preliminary queries, without those for which it is undefined."""
    if not digests:
        return {}
    found = {}
    for digest, scores in view.scores(digests, basis, [track.primary_measure]):
        inside = scores[0, flagged]
        found[digest] = inside[~np.isnan(inside)]
    return found


def _folded(track: Track, sequence: Sequence[str], scores: Mapping[str, Floats]) -> str:
    """The released scores of a sequence as JSON."""
    check_ladder(track, len(scores[sequence[0]]))
    ladder = Ladder(None if track.ladder_step is None else float(track.ladder_step))
    return json.dumps([ladder.look(scores[digest]) for digest in sequence])
