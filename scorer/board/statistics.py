"""Adds the statistics to a board: from the cache, or computed from the stored scores, measure by measure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import (
    BINS,
    Board,
    Certainty,
    Choice,
    Interval,
    QueryScores,
    Row,
    RowCertainty,
    RowPair,
    ShakeUp,
    Tier,
)
from scorer.files import code_digest
from scorer.lists.slices import read_clusters
from scorer.live.entry import rounded
from scorer.measures import Measure
from scorer.measures.matched import Bools, Floats, Ints, rows_at
from scorer.options import LEVEL, Split
from scorer.scoring.analysis.kept import ExtremeQuery, Kept, number_of
from scorer.scoring.analysis.scores import MOST_ALGORITHMS, TaskScores, sign_flips_of
from scorer.scoring.outcomes import QueryMask, Rules, split_masks
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.rankings import (
    SETS,
    mean_moves,
    rank_ranges,
    ranks_of,
    separable_from_leaders,
    split_means,
    tiers,
)
from scorer.scoring.statistics.resampling import (
    gain_of_choosing,
    queries_needed,
    shown_intervals,
    smallest_differences,
    typical_difference,
)
from scorer.scoring.statistics.units import units_of, units_within
from scorer.scoring.unjudged import mean_bounds
from scorer.settings.tracks import Track
from scorer.store.events import Basis
from scorer.store.snapshot import Cache, Snapshot


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The statistics of a row on one measure."""

    certainty: RowCertainty
    best: tuple[ExtremeQuery, ...] = ()
    """On the primary measure, if its queries are shown, as `worst`; queries by their positions in the solution."""
    worst: tuple[ExtremeQuery, ...] = ()
    deciles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasureStatistics:
    """All statistics of one measure. Rows are those of the board with a score on the primary measure, in its order.

    Positions are those among these rows. Rows without a score may be between them on the board.
    """

    certainty: Certainty | None
    rows: tuple[RowStatistics, ...]
    pairs: tuple[RowPair, ...] = ()
    """Of the primary measure; empty for the others."""
    shake_up: ShakeUp | None = None
    """Of the primary measure of a final board with preliminary queries."""


_JSON = TypeAdapter(MeasureStatistics)


def clusters_of(view: Snapshot, track: Track, basis: Basis) -> tuple[str, ...] | None:
    """[query]: the cluster of each query of the solution, which are read once for a snapshot; None without clusters."""
    listed = track.files.get("clusters", track.clusters)
    key = "clusters", listed, basis.solution
    if listed is not None and key not in view.derived:
        view.derived[key] = read_clusters(listed, view.queries(basis.solution).ids)
    return view.derived.get(key)


def units_by_clusters(view: Snapshot, track: Track, basis: Basis) -> Ints | None:
    """[query]: which queries of the solution belong together; None without clusters."""
    clusters = clusters_of(view, track, basis)
    return None if clusters is None else units_of([view.queries(basis.solution).ids], [clusters])[0]


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
        return split_masks(self.flagged, two_judges=bool(self.basis.checked))[self.board.track.shown_split]

    @property
    def clusters(self) -> tuple[str, ...] | None:
        """[query]: its cluster; None without clusters."""
        return clusters_of(self.view, self.board.track, self.basis)

    @cached_property
    def units(self) -> Ints | None:
        """[query]: which queries belong together, by their clusters."""
        return units_by_clusters(self.view, self.board.track, self.basis)

    def means(self, column: int) -> tuple[float | None, ...]:
        """The score of each row on a measure, as the board shows it."""
        return tuple(self.board.shown_scores(row.entry)[column] for row in self.rows)

    def kept(self, cache: Cache) -> Kept:
        digests = tuple(row.entry.digest for row in self.rows if row.entry)
        return Kept(cache.arrays, (self.basis.solution, self.basis.matching, *self._further), digests)

    @property
    def _further(self) -> tuple[str, ...]:
        """What all depends on where there are clusters, or two judges, by which scores depend on flags."""
        clusters = () if self.clusters is None else (hashlib.sha256(json.dumps(self.clusters).encode()).hexdigest(),)
        return clusters + ((QueryMask(self.flagged).digest,) if self.basis.checked else ())

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

    def of_measure(self, measure: Measure, kept: Kept) -> tuple[Floats, TwoJudges | None]:
        """The scores of all rows on a measure over all queries, [row, query], kept or computed; and with two judges, by
        each of them.
        """
        kept, size = kept.within(measure.full), self.flagged.size
        if not self.basis.checked:
            return kept.values("scores", size, lambda rows: self.scores([measure], rows.tolist())[0]), None

        def computed(rows: Ints) -> Floats:
            digests = [kept.rows[row] for row in rows.tolist()]
            found = dict(self.view.judges(set(digests), self.basis, [measure]))
            return np.array([np.concatenate([found[each].machine[0], found[each].people[0]]) for each in digests])

        both = kept.values("scores by both", 2 * size, computed)
        judges = TwoJudges(both[:, :size], both[:, size:], self.flagged, self.basis.machine_weight)
        return judges.values, judges

    def key(self, column: int) -> list[object]:
        """What the statistics of a measure depend on."""
        track = self.board.track
        rows = [
            [row.entry.digest if row.entry else "", row.rank, row.preliminary_rank, row.baseline, mean]
            for row, mean in zip(self.rows, self.means(column), strict=True)
        ]
        rules = [self.basis.solution, self.basis.matching, code_digest(), *self._further]
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
    for column in reversed(columns):  # the primary measure last: its arrays are needed next
        if column not in by_column:
            stored = cache.value(scored.key(column), partial(_computed, scored, column, kept))
            by_column[column] = _JSON.validate_json(stored)
    if not track.shows_final:
        primary_scores, decimals = scored.means(0), track.preliminary_decimals
        by_column = {column: as_shown(shown, primary_scores, decimals) for column, shown in by_column.items()}
    # The ids of queries with preliminary scores would show which queries a secret key selects.
    is_secret = board.split is not None and not board.split.key
    ids = view.queries(basis.solution).ids if track.shows_ids and not is_secret else ()
    rows = list(board.rows)
    no_rows = (None,) * len(places)
    of_columns = [by_column[column].rows if column in by_column else no_rows for column in range(len(measures))]
    choices = _choices(scored, kept) if 0 in columns else no_rows
    of_rows = zip(places, _judged_bounds(scored, kept), choices, *of_columns, strict=True)
    for place, bounds, choice, *of_row in of_rows:
        primary = of_row[0]
        rows[place] = replace(
            board.rows[place],
            certainty=tuple(None if each is None else each.certainty for each in of_row),
            best_queries=primary.best if primary else (),
            worst_queries=primary.worst if primary else (),
            deciles=primary.deciles if primary else (),
            judged_bounds=bounds,
            choice=choice,
        )
    by_column = {column: _on_board(shown, places) for column, shown in by_column.items()}
    of_primary = by_column.get(0, MeasureStatistics(None, ()))
    return replace(
        board,
        rows=tuple(rows),
        certainty=tuple(
            by_column[column].certainty if column in by_column else None for column in range(len(measures))
        ),
        pairs=of_primary.pairs,
        query_ids=ids,
        query_scores=_query_scores(scored, kept, places) if ids and track.shows_queries and 0 in columns else None,
        shake_up=of_primary.shake_up,
    )


def _judged_bounds(scored: ScoredRows, kept: Kept) -> list[tuple[Interval | None, ...]]:
    """Of each row, the lowest and the highest score on each measure that unjudged items allow, rounded."""
    track = scored.board.track
    reach, rules = track.judged_bounds, Rules.of(track)
    if reach is None:
        return [()] * len(scored.rows)
    measures = {measure.full: measure for measure in track.all_measures}

    def computed(rows: Ints) -> Floats:
        digests = [kept.rows[row] for row in rows.tolist()]
        found = {
            digest: mean_bounds(measures, matched, rules, scored.mask.inside, reach)
            for digest, matched in scored.view.matches(digests, scored.basis)
        }
        ends = [[found[digest].get(name, (math.nan, math.nan)) for name in measures] for digest in digests]
        return np.array(ends).reshape(len(digests), -1)

    values = kept.within(scored.mask.digest, reach, *measures).values("judged bounds", 2 * len(measures), computed)
    decimals = track.shown_decimals
    return [
        tuple(None if math.isnan(low) else (_known(low, decimals), _known(high, decimals)) for low, high in row)
        for row in values.reshape(len(values), -1, 2).tolist()
    ]


def _choices(scored: ScoredRows, kept: Kept) -> Sequence[Choice | None]:
    """What each row was chosen from, and what choosing gains by chance; kept for each set of entries.

    The Ladder and ``entry = "last"`` choose no best entry, and picks are chosen by the team.
    """
    board, track = scored.board, scored.board.track
    looks = [
        tuple(sorted({entry.digest for entry in row.entries if entry.is_look and entry.outcome == "scored"}))
        for row in scored.rows
    ]
    chosen = [
        place
        for place, row in enumerate(scored.rows)
        if len(looks[place]) > 1 and not row.baseline and track.entry == "best" and not (row.tag or track.has_ladder)
    ]
    split: Split = "preliminary" if board.preliminary_queries else track.shown_split
    inside = split_masks(scored.flagged)[split].inside

    def computed(places: Ints) -> Floats:
        gains = []
        for place in places.tolist():
            by_digest = scored.view.scores(set(looks[chosen[place]]), scored.basis, [track.primary_measure])
            of_entries = np.array([scores[0][inside] for _, scores in by_digest])
            gains.append([gain_of_choosing(of_entries, units_within(scored.units, inside))])
        return np.array(gains)

    kept = replace(kept, rows=tuple(" ".join(looks[place]) for place in chosen))
    within = kept.within(track.primary_measure.full, split_masks(scored.flagged)[split].digest)
    gains = within.values("gain of choosing", 1, computed)[:, 0].tolist() if chosen else []
    decimals = track.shown_decimals
    choices: list[Choice | None] = [None] * len(scored.rows)
    for place, gain in zip(chosen, gains, strict=True):
        entry, change = scored.rows[place].entry, None
        if board.shows_both and entry and entry.final[0] is not None and entry.preliminary[0] is not None:
            change = rounded(entry.final[0] - entry.preliminary[0], decimals)
        choices[place] = Choice(len(looks[place]), rounded(gain, decimals) or 0.0, change)
    return choices


MOST_SCORES = 100_000
"""How many scores of single queries the pages of a board have."""


def _query_scores(scored: ScoredRows, kept: Kept, places: Sequence[int]) -> QueryScores | None:
    """The scores of the rows, given their places on the board, on the queries that count; None for too many."""
    scores, judges = scored.of_measure(scored.board.track.primary_measure, kept)
    scores = scores if judges is None else judges.machine
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    if len(places) * len(queries) > MOST_SCORES:
        return None
    of_rows = [tuple(None if math.isnan(score) else score for score in row) for row in scores[:, queries].tolist()]
    return QueryScores(tuple(queries.tolist()), dict(zip(places, of_rows, strict=True)))


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

    def needed(queries: int | None) -> int | None:
        return None if queries is None else round(queries, NEEDED_DIGITS - len(str(queries)))

    certainty = statistics.certainty
    if certainty is not None:
        tiers = tuple(replace(tier, reach=rounded(tier.reach, decimals)) for tier in certainty.tiers)
        smallest = rounded(certainty.smallest_difference, decimals)
        certainty = replace(certainty, tiers=tiers, smallest_difference=smallest)
    return replace(
        statistics,
        certainty=certainty,
        rows=tuple(
            replace(
                row,
                certainty=replace(
                    row.certainty,
                    interval=interval(row.certainty.interval),
                    correction=row.certainty.correction and row.certainty.correction.rounded(decimals),
                    first=rounded(row.certainty.first, SHARE_DECIMALS),
                ),
            )
            for row in statistics.rows
        ),
        pairs=tuple(
            replace(
                pair,
                difference=_known((scores[pair.row] or 0.0) - (scores[pair.other] or 0.0), decimals),
                interval=interval(pair.interval),
                p_value=_known(pair.p_value, SHARE_DECIMALS),
                queries_needed=needed(pair.queries_needed),
            )
            for pair in statistics.pairs
        ),
    )


def _known(value: float, decimals: int) -> float:
    return rounded(value, decimals) or 0.0


def _computed(scored: ScoredRows, column: int, kept: Kept) -> str:
    """The statistics of a measure, as they are stored."""
    return _JSON.dump_json(measure_statistics(scored, column, kept)).decode()


def _of_means(scored: ScoredRows, columns: Sequence[int], kept: Kept) -> Mapping[int, MeasureStatistics]:
    """The intervals of the means of some measures, and the histograms.

    Those of an entry do not depend on the others if the measure is defined on the same queries for all. So they are
    kept: for each measure a number for these queries, the ends of the interval, and the bars of the histogram.
    """
    track = scored.board.track
    measures = [track.all_measures[column] for column in columns]

    def computed(rows: Ints) -> Floats:
        columns = []
        for measure, scores in zip(measures, scored.scores(measures, rows.tolist()), strict=True):
            judges = scored.of_measure(measure, kept)[1] if scored.basis.checked else None
            own = judges and judges.rows(rows)
            columns.append(of_means(scores, scored.mask.inside, scored.units, own, bounded=measure.bounded))
        return np.hstack(columns)

    if not measures:
        return {}
    kept = kept.within(scored.mask.digest, *(measure.full for measure in measures))
    values = kept.values("means", len(measures) * (3 + BINS), computed)
    by_column = {}
    for column, measure, of_measure in zip(columns, measures, np.hsplit(values, len(measures)), strict=True):
        if (of_measure[:, 0] == of_measure[0, 0]).all():
            has_histogram = measure.bounded and track.shows_queries
            rows = []
            for low, high, *bars in of_measure[:, 1:].tolist():
                histogram = tuple(map(int, bars)) if has_histogram else ()
                interval = (low, high) if low < high else None
                rows.append(RowStatistics(RowCertainty(interval, None, None, None, histogram)))
            by_column[column] = MeasureStatistics(None, tuple(rows))
    return by_column


def _on_board(statistics: MeasureStatistics, places: Sequence[int]) -> MeasureStatistics:
    """The statistics with the positions of rows on the board, given that of each scored row."""
    pairs = tuple(replace(pair, row=places[pair.row], other=places[pair.other]) for pair in statistics.pairs)
    certainty = statistics.certainty
    if certainty is not None:
        tiers = tuple(replace(tier, rows=tuple(places[row] for row in tier.rows)) for tier in certainty.tiers)
        certainty = replace(certainty, tiers=tiers)
    return replace(statistics, certainty=certainty, pairs=pairs)


_NEIGHBOURS, _BASELINES = 3, 4
"""On a board of more than `MOST_ALGORITHMS` rows, a row is compared with so many rows above it and below it, with so
many of the best baselines, and with the leader. On a shorter board, all rows are compared."""


def measured(
    scores: Floats,
    means: Sequence[float | None],
    is_ranked: Sequence[bool],
    kept: Kept | None = None,
    *,
    queries: Ints,
    bounded: bool = False,
    units: Ints | None = None,
    judges: TwoJudges | None = None,
) -> TaskScores:
    """The analysis of the scores of rows, [row, query], on some queries, given their means, rounded as the board shows
    them.
    """
    scores, units = scores[:, queries], units_within(units, queries)
    kept, judges = kept and kept.within(number_of(queries)), judges and judges.within(queries)
    shown = np.array([math.nan if mean is None else mean for mean in means], dtype=np.float64)
    ranked = np.flatnonzero(is_ranked)
    flips = sign_flips_of(len(ranked))
    return TaskScores(scores, shown, ranked, flips, kept=kept, bounded=bounded, units=units, judges=judges)


def measure_statistics(scored: ScoredRows, column: int, kept: Kept) -> MeasureStatistics:
    """The statistics of the measure of a column; `kept` is what is kept of the rows."""
    track, means = scored.board.track, scored.means(column)
    measure = track.all_measures[column]
    scores, judges = scored.of_measure(measure, kept)
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    kept = kept.within(measure.full)
    task = measured(
        scores,
        means,
        [row.rank is not None for row in scored.rows],
        kept,
        queries=queries,
        bounded=measure.bounded,
        units=scored.units,
        judges=judges,
    )
    ranked = [row for row in task.ranked.tolist() if means[row] is not None]
    of_ranking = None
    if len(ranked) == len(task.ranked) and (not column or track.statistics == "all"):
        of_ranking = certainty(task, sorted(ranked, key=lambda row: -(means[row] or 0.0)))
    baselines = [place for place, row in enumerate(scored.rows) if row.baseline]
    of_pairs = () if column else pairs(task, baselines, has_counts=track.shows_queries)
    has_histogram = track.all_measures[column].bounded and track.shows_queries
    rows = [RowStatistics(row) for row in row_certainties(task, of_ranking, has_histogram=has_histogram)]
    if column:
        return MeasureStatistics(of_ranking, tuple(rows))
    if track.shows_queries:
        extremes = task.extreme_queries(queries)
        deciles = map(tuple, task.deciles.tolist())
        rows = [RowStatistics(row.certainty, *of, each) for row, of, each in zip(rows, extremes, deciles, strict=True)]
    has_moves = of_ranking is not None and scored.board.shows_both and judges is None
    shaken = moves(scored, scores[task.ranked], kept.of(task.ranked.tolist())) if has_moves else None
    return MeasureStatistics(of_ranking, tuple(rows), of_pairs, shaken)


def of_means(
    scores: Floats, inside: Bools, units: Ints | None, judges: TwoJudges | None = None, *, bounded: bool
) -> Floats:
    """[row, value]: of each row, given its scores over all queries, [row, query], and whether they are in the mean.

    A number for the queries on which the measure is defined, the ends of the interval of the mean, and the bars of the
    histogram.
    """
    defined = ~np.isnan(scores) & inside
    numbers = np.array([number_of(np.flatnonzero(row)) for row in defined])
    values = np.empty((len(scores), 3 + BINS))
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        queries = np.flatnonzero(defined[rows[0]])
        of_rows, own = scores[np.ix_(rows, queries)], units_within(units, queries)
        if judges is None:
            values[rows, 1:3] = shown_intervals(of_rows, own, bounded)
        else:
            both = judges.rows(rows).within(queries)
            values[rows, 1:3], of_rows = both.intervals(own), both.machine
        values[rows, 3:] = [_histogram(row) for row in of_rows]
    values[:, 0] = numbers
    return values


def moves(scored: ScoredRows, scores: Floats, kept: Kept) -> ShakeUp | None:
    """How far the ranks of the teams moved, and how far chance would move them; None if one has no preliminary rank.

    `scores` are those of the ranked rows, [team, query], over all queries of the solution.
    """
    teams = [row for row in scored.rows if row.rank is not None]
    moved = [abs(row.rank - row.preliminary_rank) for row in teams if row.rank and row.preliminary_rank]
    if len(moved) < len(teams):
        return None
    flagged, final_is_rest = scored.flagged, scored.board.track.final == "rest"

    def computed(rows: Ints) -> Floats:
        return split_means(scores[rows], flagged, final_is_rest, units=scored.units)

    kept = kept.within(number_of(np.flatnonzero(flagged)), flagged.size, final_is_rest)
    by_chance = mean_moves(kept.values("moves", 2 * (1 + SETS), computed))[1:]
    low, high = np.quantile(by_chance, (LEVEL / 2, 1 - LEVEL / 2)).tolist()
    return ShakeUp(moved=sum(map(bool, moved)), mean_move=sum(moved) / len(moved), expected_range=(low, high))


def certainty(task: TaskScores, order: Sequence[int]) -> Certainty | None:
    """The certainty of a ranking, given the ranked rows by their scores on this measure, the best first.

    None without two ranked rows, or where no query has a score for all of them.
    """
    if len(task.ranked) < 2 or not task.queries:
        return None
    smallest = smallest_differences(task.tests, task.clusters or task.queries)
    typical = typical_difference(smallest, task.tests)
    places = [int(np.searchsorted(task.ranked, row)) for row in order]
    return Certainty(
        queries=task.queries,
        tiers=tuple(_tier(task, tier, smallest) for tier in tiers(ranks_of(task.means[task.ranked]), task.better)),
        separable_neighbours=sum(bool(task.better[above, below]) for above, below in pairwise(places)),
        smallest_difference=typical if math.isfinite(typical) else None,
        clusters=task.clusters,
    )


def _tier(task: TaskScores, places: Sequence[int], smallest: Floats) -> Tier:
    reach = smallest[places[0], task.tests.size[places[0]] > 0]
    finite = reach.size > 0 and bool(np.isfinite(reach).all())
    return Tier(tuple(int(task.ranked[place]) for place in places), float(np.median(reach)) if finite else None)


def row_certainties(task: TaskScores, of_ranking: Certainty | None, *, has_histogram: bool) -> list[RowCertainty]:
    """The certainty of each row."""
    of_rows = [None] * len(task.scores) if task.judges is None else task.judges.corrections(task.units)
    corrections = [None if each is None or math.isnan(each.bias) else each for each in of_rows]
    rows = [
        RowCertainty(interval, None, None, None, _histogram(scores) if has_histogram else (), correction=correction)
        for interval, scores, correction in zip(_with_width(task.intervals), task.shown, corrections, strict=True)
    ]
    if of_ranking is None:
        return rows
    ranges = rank_ranges(task.better).tolist()
    resampled = rows_at(task.resampled, task.ranked)
    first = (resampled == resampled.max(axis=0)).mean(axis=1).tolist()
    tier_of = {row: number for number, tier in enumerate(of_ranking.tiers) for row in tier.rows}
    found = [np.searchsorted(task.ranked, tier.rows).tolist() for tier in of_ranking.tiers]
    separable = separable_from_leaders(found, task.better).tolist()
    for row, (best, worst), share, apart in zip(task.ranked.tolist(), ranges, first, separable, strict=True):
        certain = replace(rows[row], rank_range=(best, worst), tier=tier_of[row], first=share)
        rows[row] = replace(certain, separable_from_leader=apart)
    return rows


def pairs(task: TaskScores, baselines: Sequence[int] = (), *, has_counts: bool) -> tuple[RowPair, ...]:
    """The pairs of rows that a board compares, on the queries for which both are defined; `baselines` are rows."""
    listed = _listed_pairs(task, baselines)
    if not len(listed):
        return ()
    p_values = task.p_values(*listed.T)
    differences = task.differences(*listed.T)
    place_of = {int(row): place for place, row in enumerate(task.ranked)}
    compared = []
    for (one, other), mean, interval, p_value, counts in zip(
        listed.tolist(),
        differences.mean.tolist(),
        _with_width(differences.interval),
        p_values.tolist(),
        differences.outcomes.tolist(),
        strict=True,
    ):
        separable, needed = None, None
        if one in place_of and other in place_of and task.queries:
            i, j = place_of[one], place_of[other]
            separable = bool(task.better[i, j] or task.better[j, i])
            if not separable:
                queries = queries_needed(float(task.tests.statistic[i, j]), task.tests.critical, task.queries)
                needed = math.ceil(queries) if math.isfinite(queries) else None
        wins, ties, losses = counts if has_counts else (None, None, None)
        compared.append(
            RowPair(
                row=one,
                other=other,
                difference=0.0 if math.isnan(mean) else mean,
                interval=interval,
                p_value=p_value,
                is_separable=separable,
                wins=wins,
                ties=ties,
                losses=losses,
                queries_needed=needed,
            )
        )
    return tuple(compared)


def _listed_pairs(task: TaskScores, baselines: Sequence[int]) -> Ints:
    """[pair, 2]: all pairs of rows, or on a long board those that `_NEIGHBOURS` describes."""
    count = len(task.scores)
    near = _NEIGHBOURS if count > MOST_ALGORITHMS else count
    listed = {(one, other) for one in range(count) for other in range(one + 1, min(one + 1 + near, count))}
    for each in (*task.ranked[:1].tolist(), *baselines[:_BASELINES]):  # the leader may follow baselines
        listed |= {(min(each, row), max(each, row)) for row in range(count) if row != each}
    return np.array(sorted(listed), dtype=np.int64).reshape(-1, 2)


def _with_width(intervals: Floats) -> list[Interval | None]:
    """The intervals; None for one that is undefined or has no width."""
    return [
        (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None
        for low, high in intervals.tolist()
    ]


def _histogram(scores: Floats) -> tuple[int, ...]:
    """How many scores are in each step; a score that is rounded down from the edge of a step belongs to this step."""
    steps = (scores[~np.isnan(scores)] * BINS + 1e-9).astype(np.int64)
    return tuple(np.bincount(np.minimum(steps, BINS - 1), minlength=BINS).tolist())
