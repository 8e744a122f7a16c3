"""Curves: the scores of the first rows of a board at each level of recall, and at each cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import Board, Curve
from scorer.board.published_statistics import ScoredRows
from scorer.errors import MeasureError
from scorer.live.entry import rounded
from scorer.measures import Measure, parse_one
from scorer.paths import code_digest
from scorer.scoring.means import aggregated
from scorer.store.cache import Cache
from scorer.store.records import Basis
from scorer.store.snapshot import Snapshot

TEAMS, BASELINES = 10, 4
"""The numbers of teams and of baselines that have curves at most: the eye cannot follow more lines in one picture."""

POINTS = 40
"""The number of cut-offs at most."""

RECALLS = tuple(level / 10 for level in range(11))


_JSON = TypeAdapter(tuple[Curve, ...])


def cutoffs(list_length: int) -> tuple[int, ...]:
    """The cut-offs of a track: all up to the length of lists, or `POINTS` of them at equal distances."""
    if list_length <= POINTS:
        return tuple(range(1, list_length + 1))
    return tuple(np.linspace(1, list_length, POINTS).round().astype(int).tolist())


def curves(board: Board, view: Snapshot, basis: Basis, cache: Cache) -> tuple[Curve, ...]:
    """The curves of the first teams and baselines of a ranked board. Raises StoreError if the database fails."""
    places = [place for place, row in enumerate(board.rows) if row.entry and row.rank is not None][:TEAMS]
    places += [place for place, row in enumerate(board.rows) if row.entry and row.baseline][:BASELINES]
    if not places:
        return ()
    scored = ScoredRows(board, tuple(board.rows[place] for place in places), view, basis, view.flags(basis))
    digests = [row.entry.digest for row in scored.rows if row.entry]
    rules = [basis.solution, basis.matching, code_digest(), scored.mask.digest]
    track = board.track
    parts = [
        "curves",
        rules,
        track.list_length,
        track.ties,
        track.shown_decimals,
        list(zip(places, digests, strict=True)),
    ]
    return _JSON.validate_json(cache.value(parts, partial(_computed, scored, places)))


def _computed(scored: ScoredRows, places: Sequence[int]) -> str:
    """The curves as JSON."""
    track = scored.board.track
    precisions = _means(scored, [parse_one(f"IPrec@{level}") for level in RECALLS])
    r_precisions = _means(scored, [parse_one(f"Rp@{cutoff}") for cutoff in cutoffs(track.list_length)])
    computed = tuple(map(Curve, places, precisions, r_precisions))
    return _JSON.dump_json(computed).decode()


def _means(scored: ScoredRows, measures: Sequence[Measure]) -> list[tuple[float | None, ...]]:
    """The means of each row; empty where the rule for ties has no formula for a measure."""
    try:
        by_measure = scored.scores(measures)
    except MeasureError:
        return [() for _ in scored.rows]
    inside, decimals = scored.mask.inside, scored.board.track.shown_decimals
    return [
        tuple(
            rounded(aggregated(scores[row, inside], measure.kind.aggregation), decimals)
            for measure, scores in zip(measures, by_measure, strict=True)
        )
        for row in range(len(scored.rows))
    ]
