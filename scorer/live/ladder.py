"""The Ladder: it releases a new score only for an entry that is clearly better than the best one so far.

A team that sends many entries learns from each score a little about the hidden queries. The Ladder shows only
clear improvements, so that most probing teaches little; `docs/studies.md` has what remains.

Source: A. Blum and M. Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from scorer.errors import ChallengeError
from scorer.files import code_digest
from scorer.live.entry import Answer, SubmissionState
from scorer.measures.matched import Bools, Floats
from scorer.rules.split import share_text
from scorer.rules.tables import sentences
from scorer.scoring.outcomes import QueryMask
from scorer.settings.tracks import Track
from scorer.store.events import Basis
from scorer.store.snapshot import Cache, Snapshot, cache_key

TOLERANCE = 1e-12
"""An improvement that exceeds the least one by less than this equals it. Without it, the errors of floating-point
arithmetic decide: with a step of 0.01, one query more that is right, of 100, improves the mean by exactly the step."""

_DECIMALS = 9
"""A number is rounded to these decimals before it is rounded to an integer, for the same reason: 0.5 is a tie, and goes
to the even integer, although it may be computed as 0.49999999999999994."""


class Ladder:
    """The Ladder of one team, which sees its entries in the order of the record.

    `step` is the least improvement, as a loss; the released loss is a multiple of it.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self.loss = math.inf
        """The loss that was released last; infinite before the first entry."""

    def look(self, scores: Floats) -> float | None:
        """Return the score to release for the next entry, or None if that score would not be higher than the last one.

        `scores` is float64[query]: from 0 to 1, of the preliminary queries for which the measure is defined, always the
        same; at least two.
        """
        # fsum gives the same on every machine.
        loss = math.fsum(1.0 - scores) / len(scores)
        if self.loss - loss <= self._step + TOLERANCE:
            return None
        self.loss = round(round(loss / self._step, _DECIMALS)) * self._step
        # A step that does not divide 1 may round the loss up to more than 1.
        return max(0.0, 1.0 - self.loss)


Candidate = tuple[SubmissionState, bool]
"""An admitted entry, and whether its outcome is to come, also because the quota waits for an earlier entry."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the Ladder answers to an entry."""

    answer: Answer
    score: float | None = None
    """The released score; None without an improvement."""


def looks(
    view: Snapshot, track: Track, basis: Basis, teams: Iterable[Sequence[Candidate]], cache: Cache | None
) -> Mapping[int, Look]:
    """What the Ladder answers to the scored entries of each team, by the index of the entry.

    The entries of a team, with those of the teams that are merged into it, are looked at in the order of the record,
    also those that are withdrawn or superseded since. The order of scoring has no effect: entries after one without a
    result wait for it. `teams` has the admitted entries of each team, in the order of the record. `cache` has the
    scores that were released before.

    Raises ChallengeError if there are too few preliminary queries, and StoreError.
    """
    sequences = [_in_order(candidates) for candidates in teams]
    released = _released(
        view, track, basis, [[stored.submission.digest for stored in seen] for seen, _ in sequences], cache
    )
    answers: dict[int, Look] = {}
    for (seen, waiting), scores in zip(sequences, released, strict=True):
        for stored, score in zip(seen, scores, strict=True):
            answers[stored.index] = Look("no improvement") if score is None else Look("improvement", score)
        answers |= {stored.index: Look("waits") for stored in waiting}
    return answers


def _in_order(candidates: Sequence[Candidate]) -> tuple[list[SubmissionState], list[SubmissionState]]:
    """The scored entries of a team: those that are looked at, and those that wait for an earlier entry."""
    stop = next((place for place, (_, is_open) in enumerate(candidates) if is_open), len(candidates))
    seen, waiting = ([state for state, _ in part if state.is_scored] for part in (candidates[:stop], candidates[stop:]))
    return seen, waiting


def _released(
    view: Snapshot, track: Track, basis: Basis, sequences: Sequence[Sequence[str]], cache: Cache | None
) -> list[list[float | None]]:
    """The released scores of each sequence of submissions, by their digests; None without an improvement."""
    kept = Cache({}) if cache is None else cache
    flagged = view.flags(basis)
    rules = [basis.solution, basis.matching, code_digest(), QueryMask(flagged).digest]
    keys = [
        cache_key(["ladder", rules, track.primary_measure.full, str(track.ladder_step), list(sequence)])
        for sequence in sequences
    ]
    absent = [sequence for sequence, key in zip(sequences, keys, strict=True) if sequence and key not in kept]
    scores = _scores(view, track, basis, flagged, set(chain.from_iterable(absent)))
    return [
        json.loads(kept.value_of(key, partial(_folded, track, sequence, scores))) if sequence else []
        for sequence, key in zip(sequences, keys, strict=True)
    ]


def _scores(view: Snapshot, track: Track, basis: Basis, flagged: Bools, digests: set[str]) -> Mapping[str, Floats]:
    """The primary scores of submissions on the preliminary queries, without those for which it is undefined."""
    if not digests:
        return {}
    defined = {}
    for digest, scores in view.scores(digests, basis, [track.primary_measure]):
        inside = scores[0, flagged]
        defined[digest] = inside[~np.isnan(inside)]
    return defined


def _folded(track: Track, sequence: Sequence[str], scores: Mapping[str, Floats]) -> str:
    """The released scores of a sequence as JSON."""
    check_ladder(track, len(scores[sequence[0]]))
    ladder = Ladder(float(track.ladder_step))
    return json.dumps([ladder.look(scores[digest]) for digest in sequence])


LADDER_QUERIES = 2
"""How many preliminary queries the Ladder needs: with one, it shows the score of a single query."""


def check_ladder(track: Track, queries: int) -> None:
    """Raise ChallengeError if a phase uses the Ladder, and there are too few preliminary queries for it."""
    for position, phase in enumerate(track.phases):
        if phase.shows == "ladder" and queries < LADDER_QUERIES:
            raise ChallengeError(
                f'tracks.{track.name}.phases[{position}].shows: found "ladder", which needs at least {LADDER_QUERIES} '
                f"preliminary queries with a defined {track.primary_measure}; found {queries}; flag queries in the "
                'solution, set split = {preliminary = 0.2}, or set shows = "score"'
            )


def ladder_rules(track: Track) -> tuple[str, ...]:
    """How the Ladder decides which scores on the preliminary queries are shown; none without it."""
    if not track.has_ladder:
        return ()
    return sentences("ladder", "improvement", "order", "counting", step=share_text(track.ladder_step))
