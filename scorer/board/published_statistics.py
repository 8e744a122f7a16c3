"""Adds the statistics to a board: from the cache, or computed from the stored scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from pydantic import TypeAdapter

from scorer.analysis.kept import Kept
from scorer.analysis.task import ExtremeQuery
from scorer.board.board import Board, Row
from scorer.board.certainty import BINS, Certainty, Interval, Pair, QueryScore, RowCertainty, ShakeUp
from scorer.live.entry import rounded
from scorer.measures import Measure
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.paths import code_digest
from scorer.scoring.means import QueryMask, split_masks
from scorer.store.cache import Cache
from scorer.store.records import Basis
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class MeasureStatistics:
    """All statistics of one measure. Rows are those of the board with a score on the primary measure, in its order.

    Positions are those among these rows. Rows without a score may be between them on the board.
    """

    certainty: Certainty | None
    rows: tuple[RowCertainty, ...]
    pairs: tuple[Pair, ...] = ()
    """Of the primary measure; empty for the others, as `extremes`."""
    extremes: tuple[tuple[tuple[ExtremeQuery, ...], tuple[ExtremeQuery, ...]], ...] = ()
    """The best and the worst queries of each row."""
    shake_up: ShakeUp | None = None
    """Of the primary measure of a final board with preliminary queries."""


_JSON = TypeAdapter(MeasureStatistics)


@dataclass(frozen=True)
class ScoredRows:
    """The rows of a board with a score on the primary measure, and where their scores on the queries are."""

    board: Board
    rows: tuple[Row, ...]
    view: Snapshot
    basis: Basis
    flagged: Bools
    """[query]: whether it enters the preliminary scores."""

    @cached_property
    def mask(self) -> QueryMask:
        """The queries that the scores of the board are means over."""
        return split_masks(self.flagged)[self.board.track.shown_split]

    def means(self, column: int) -> tuple[float | None, ...]:
        """The score of each row on a measure, as the board shows it."""
        return tuple(self.board.shown_scores(row.entry)[column] for row in self.rows)

    def kept(self, cache: Cache) -> Kept:
        """What is kept of the rows."""
        digests = tuple(row.entry.digest for row in self.rows if row.entry)
        return Kept(cache.arrays, (self.basis.solution, self.basis.matching), digests)

    def scores(self, measures: Sequence[Measure], rows: Sequence[int] | None = None) -> list[Floats]:
        """[row, query]: the scores of some rows, or of all, on each of some measures, over all queries of the solution.

        Raises MeasureError if items tie and a measure has no formula for the track's rule.
        """
        if not measures:
            return []
        chosen = self.rows if rows is None else [self.rows[row] for row in rows]
        digests = [row.entry.digest for row in chosen if row.entry]
        by_digest = dict(self.view.scores(set(digests), self.basis, measures))
        return [np.array([by_digest[digest][number] for digest in digests]) for number in range(len(measures))]

    def kept_scores(self, measure: Measure, kept: Kept) -> Floats:
        """[row, query]: the scores on a measure, kept or computed."""
        kept = kept.within(measure.full)
        return kept.values("scores", self.flagged.size, lambda rows: self.scores([measure], rows.tolist())[0])

    def key(self, column: int) -> list[object]:
        """What the statistics of a measure depend on."""
        track = self.board.track
        rows = [
            [row.entry.digest if row.entry else "", row.rank, row.preliminary_rank, mean]
            for row, mean in zip(self.rows, self.means(column), strict=True)
        ]
        rules = [self.basis.solution, self.basis.matching, code_digest()]
        preliminary = split_masks(self.flagged)["preliminary"].digest
        shown = [self.mask.digest, preliminary, track.shows_queries, self.board.shows_both]
        return ["statistics", rules, track.all_measures[column].full, column == 0, track.statistics, shown, rows]


def with_statistics(board: Board, view: Snapshot, basis: Basis, cache: Cache) -> Board:
    """The board, ranked, with the statistics of its measures. Raises StoreError if the database fails."""
    track = board.track
    places = [place for place, row in enumerate(board.rows) if board.shown_scores(row.entry)[0] is not None]
    if not places:
        return board
    scored = ScoredRows(board, tuple(board.rows[place] for place in places), view, basis, view.flags(basis))
    measures = track.all_measures
    columns = [column for column, measure in enumerate(measures) if measure.kind.aggregation == "mean"]
    kept = scored.kept(cache)
    others = [column for column in columns if column and track.statistics == "primary"]
    by_column = dict(_of_means(scored, others, kept))
    by_column |= {column: _of_measure(scored, column, kept, cache) for column in columns if column not in by_column}
    if not track.shows_final:
        primary_scores, decimals = scored.means(0), track.preliminary_decimals
        by_column = {column: as_shown(shown, primary_scores, decimals) for column, shown in by_column.items()}
    # The ids of queries with preliminary scores would show which queries a secret key selects.
    is_secret = board.split is not None and not board.split.key
    ids = view.queries(basis.solution).ids if track.per_query == "public" and not is_secret else ()
    rows = list(board.rows)
    for number, place in enumerate(places):
        rows[place] = _with_certainty(scored, number, by_column, ids)
    by_column = {column: _on_board(shown, places) for column, shown in by_column.items()}
    primary = by_column.get(0, MeasureStatistics(None, ()))
    return replace(
        board,
        rows=tuple(rows),
        certainty=tuple(
            by_column[column].certainty if column in by_column else None for column in range(len(measures))
        ),
        pairs=primary.pairs,
        shake_up=primary.shake_up,
    )


SHARE_DECIMALS = 2
"""Of shares and of p-values while the board shows preliminary scores."""

NEEDED_DIGITS = 2
"""The significant digits of a number of queries then."""


def as_shown(statistics: MeasureStatistics, scores: Sequence[float | None], decimals: int) -> MeasureStatistics:
    """The statistics of preliminary scores, rounded to `decimals` as the scores are, given the shown primary ones.

    More digits would tell about single queries what rounded scores do not. What is published about single queries
    stays: it is there only if the organiser chose so. Differences are those of the shown scores.
    """

    def interval(ends: Interval | None) -> Interval | None:
        return None if ends is None else (_known(ends[0], decimals), _known(ends[1], decimals))

    certainty = statistics.certainty
    if certainty is not None:
        tiers = tuple(replace(tier, reach=rounded(tier.reach, decimals)) for tier in certainty.tiers)
        smallest = rounded(certainty.smallest_difference, decimals)
        certainty = replace(certainty, tiers=tiers, smallest_difference=smallest)
    return replace(
        statistics,
        certainty=certainty,
        rows=tuple(
            replace(row, interval=interval(row.interval), first=rounded(row.first, SHARE_DECIMALS))
            for row in statistics.rows
        ),
        pairs=tuple(
            replace(
                pair,
                difference=_known((scores[pair.row] or 0.0) - (scores[pair.other] or 0.0), decimals),
                interval=interval(pair.interval),
                p_value=_known(pair.p_value, SHARE_DECIMALS),
                queries_needed=needed if needed is None else round(needed, NEEDED_DIGITS - len(str(needed))),
            )
            for pair in statistics.pairs
            for needed in [pair.queries_needed]
        ),
    )


def _known(value: float, decimals: int) -> float:
    return rounded(value, decimals) or 0.0


def _of_measure(scored: ScoredRows, column: int, kept: Kept, cache: Cache) -> MeasureStatistics:
    """All statistics of a measure, from the cache or computed."""

    def computed() -> str:
        return _computed(scored, scored.kept_scores(scored.board.track.all_measures[column], kept), column, kept)

    return _JSON.validate_json(cache.value(scored.key(column), computed))


def _computed(scored: ScoredRows, scores: Floats, column: int, kept: Kept) -> str:
    """The statistics of a measure as JSON."""
    from scorer.board.measure_statistics import measure_statistics  # noqa: PLC0415 (SciPy is slow to load)

    return _JSON.dump_json(measure_statistics(scored, scores, column, kept)).decode()


def _of_means(scored: ScoredRows, columns: Sequence[int], kept: Kept) -> Mapping[int, MeasureStatistics]:
    """The intervals of the means of some measures, and the histograms.

    Those of an entry do not depend on the others if the measure is defined on the same queries for all. So they are
    kept: for each measure a number for these queries, the ends of the interval, and the bars of the histogram.
    """
    track = scored.board.track
    measures = [track.all_measures[column] for column in columns]

    def computed(rows: Ints) -> Floats:
        from scorer.board.measure_statistics import of_means  # noqa: PLC0415 (SciPy is slow to load)

        of_measures = of_means(np.concatenate(scored.scores(measures, rows.tolist())), scored.mask.inside)
        return np.hstack(np.vsplit(of_measures, len(measures)))

    if not measures:
        return {}
    kept = kept.within(scored.mask.digest, *(measure.full for measure in measures))
    values = kept.values("means", len(measures) * (3 + BINS), computed)
    found = {}
    for column, measure, own in zip(columns, measures, np.hsplit(values, len(measures)), strict=True):
        if (own[:, 0] == own[0, 0]).all():
            has_histogram = measure.bounded and track.shows_queries
            rows = [_certainty_of_mean(row, has_histogram=has_histogram) for row in own[:, 1:].tolist()]
            found[column] = MeasureStatistics(None, tuple(rows))
    return found


def _certainty_of_mean(values: Sequence[float], *, has_histogram: bool) -> RowCertainty:
    low, high, *bars = values
    interval = (low, high) if low < high else None
    return RowCertainty(interval, None, None, None, tuple(map(int, bars)) if has_histogram else ())


def _on_board(statistics: MeasureStatistics, places: Sequence[int]) -> MeasureStatistics:
    """The statistics with the positions of rows on the board, given that of each scored row."""
    pairs = tuple(replace(pair, row=places[pair.row], other=places[pair.other]) for pair in statistics.pairs)
    certainty = statistics.certainty
    if certainty is not None:
        tiers = tuple(replace(tier, rows=tuple(places[row] for row in tier.rows)) for tier in certainty.tiers)
        certainty = replace(certainty, tiers=tiers)
    return replace(statistics, certainty=certainty, pairs=pairs)


def _with_certainty(
    scored: ScoredRows, number: int, by_column: Mapping[int, MeasureStatistics], ids: Sequence[str]
) -> Row:
    """One of the scored rows with its statistics."""
    primary = by_column.get(0)
    best, worst = primary.extremes[number] if primary and primary.extremes else ((), ())

    def named(queries: Sequence[ExtremeQuery]) -> tuple[QueryScore, ...]:
        return tuple(QueryScore(ids[each.query] if ids else "", each.score, each.median) for each in queries)

    columns = range(len(scored.board.columns))
    return replace(
        scored.rows[number],
        certainty=tuple(by_column[column].rows[number] if column in by_column else None for column in columns),
        best_queries=named(best),
        worst_queries=named(worst),
    )
