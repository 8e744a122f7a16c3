"""The boards of the slices of the queries of a track, from its file of slices and the stored scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import LEAST_PRELIMINARY, Board, Interval, SliceBoard, SliceRow
from scorer.board.build import ranks
from scorer.board.statistics import ScoredRows, measured
from scorer.errors import SolutionError
from scorer.lists.slices import Slice, read_slices
from scorer.live.entry import rounded
from scorer.live.now import Now
from scorer.measures.matched import Floats
from scorer.scoring.analysis.kept import Kept, number_of
from scorer.scoring.outcomes import QueryMask, aggregated
from scorer.scoring.statistics.rankings import rank_ranges
from scorer.store.snapshot import Cache

MOST_TESTED = 2000
"""How many rows all slices together have at most where pairs of teams are tested in each: what is kept of a row takes
160 kB."""

_JSON = TypeAdapter(tuple[SliceBoard, ...])


def with_slices(board: Board, now: Now, cache: Cache) -> tuple[Board, str]:
    """The board with those of its slices that visitors may see, and what is wrong with the file, which is then no
    error: the board itself does not depend on it.
    """
    track, basis = board.track, now.basis
    if track.slices_path is None or basis is None:
        return board, ""
    try:
        slices = read_slices(track.slices_path, now.view.queries(basis.solution).ids)
    except SolutionError as error:
        return board, f"{track.name}: no boards of slices: {error}"
    places = [place for place, row in enumerate(board.rows) if board.shown_scores(row.entry)[0] is not None]
    if not track.shows_slices or not places:
        return board, ""
    rows = tuple(board.rows[place] for place in places)
    scored = ScoredRows(board, rows, now.view, basis, now.view.flags(basis))
    parts = [part.within(scored.mask.inside) for part in slices]
    key = [*scored.key(0), track.shown_decimals, track.equal_ranks, track.shows_final]
    listed = [[part.label, QueryMask(part.inside).digest] for part in parts]

    def computed() -> str:
        kept = scored.kept(cache)
        scores = scored.kept_scores(track.primary_measure, kept)
        tested = len(parts) * len(rows) <= MOST_TESTED
        made = tuple(_board(scored, scores, part, places, kept, tested=tested) for part in parts)
        return _JSON.dump_json(made).decode()

    stored = cache.value(["slices", key, listed], computed)
    return replace(board, slices=_JSON.validate_json(stored)), ""


def _board(
    scored: ScoredRows, scores: Floats, part: Slice, places: list[int], kept: Kept, *, tested: bool
) -> SliceBoard:
    """The board of a slice, given the scores of the rows over all queries, [row, query], and their places."""
    track, measure = scored.board.track, scored.board.track.primary_measure
    if not track.shows_final and part.size < LEAST_PRELIMINARY:
        return SliceBoard(part.label, None, (), None)
    decimals, way = track.shown_decimals, measure.kind.aggregation
    means = [rounded(aggregated(row, way), decimals) for row in scores[:, part.inside]]
    is_ranked = [row.rank is not None for row in scored.rows]
    indexes = [row.entry.index if row.entry else 0 for row in scored.rows]
    of_ranked = [mean if ranked else None for mean, ranked in zip(means, is_ranked, strict=True)]
    intervals: list[Interval | None] = [None] * len(means)
    ranges: dict[int, tuple[int, int]] = {}
    separates = None
    queries = np.flatnonzero(part.inside & ~np.isnan(scores).all(axis=0))
    if way == "mean" and len(queries):
        kept = replace(kept.within(measure.full, number_of(queries)), of_all=True)
        task = measured(scores[:, queries], means, is_ranked, kept, bounded=measure.bounded)
        for row, (low, high) in enumerate(task.intervals.tolist()):
            intervals[row] = (rounded(low, decimals) or 0.0, rounded(high, decimals) or 0.0) if low < high else None
        has_all = sum(mean is not None for mean in of_ranked) == len(task.ranked)
        if tested and has_all and len(task.ranked) > 1 and task.queries:
            separates = bool(task.better.any())
            ranges = dict(zip(task.ranked.tolist(), map(tuple, rank_ranges(task.better).tolist()), strict=True))
    own_ranks = ranks(of_ranked, indexes, track.equal_ranks)
    rows = map(SliceRow, places, own_ranks, means, intervals, map(ranges.get, range(len(means))))
    ordered = sorted(rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.row))
    return SliceBoard(part.label, part.size, tuple(ordered), separates)
