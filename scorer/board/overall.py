"""The overall ranking over several tracks: scores, ranks, what each track contributes, and how certain ranks are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scorer.board.board import CERTAINTY, Board, Interval, Row
from scorer.board.statistics import ScoredRows, measured
from scorer.files import code_digest
from scorer.live.entry import rounded
from scorer.live.now import Now
from scorer.measures.matched import Bools, Floats, Ints
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.record.log import LogLine
from scorer.rules.overall import LEAST_TASKS, RANK_DECIMALS, Overall, overall_rules
from scorer.rules.teams import Team
from scorer.scoring.analysis.kept import Kept, number_of
from scorer.scoring.analysis.scores import TaskScores
from scorer.scoring.statistics import special
from scorer.scoring.statistics.rankings import (
    correlations,
    rank_ranges,
    ranks_of,
    separable_from_leaders,
    sums_of_ranks,
    tiers,
    values_of_track,
    weighted_sums,
)
from scorer.scoring.statistics.rankings import means as means_of
from scorer.scoring.statistics.resampling import FLIPS, intervals_of_sum
from scorer.scoring.statistics.units import together, units_of, unless_few
from scorer.settings.tracks import Track
from scorer.store.snapshot import Cache, Snapshot
from scorer.wording import CellValue, csv_table, letters, table_of

_VERSION = 2
"""The version of the structure of the JSON document."""

_ROUNDED = 9
"""Sums that are equal at so many decimals differ by rounding only."""

SWAPS = 50
"""The swaps that are listed at most."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a team has in a track."""

    rank: int | None
    """On the board of the track; None where it has none, as the score."""
    score: float | None
    value: float | None
    """What enters the overall score: the score, the rank among these teams, or the points; None if nothing does."""


@dataclass(frozen=True, slots=True)
class OverallRow:
    """A team of the overall ranking."""

    rank: int | None
    """None: it has no score in one of the tracks, and the rules want one."""
    team: Team
    score: float | None
    parts: tuple[Part, ...]
    """By track."""
    interval: Interval | None = None
    """Of the overall score."""
    rank_range: tuple[int, int] | None = None
    """The ranks that the team may have, all teams taken together."""
    tier: str = ""
    """Its letter; empty where teams have no ranges."""
    separable_from_leader: bool | None = None
    """Whether the team is significantly worse than the best one of its tier; None where teams have no ranges."""


@dataclass(frozen=True, slots=True)
class OverallBoard:
    """The overall ranking, from the boards of its tracks as visitors see them."""

    rules: Overall
    boards: tuple[Board, ...]
    """Those of the tracks, in the order of the rules."""
    rows: tuple[OverallRow, ...] = ()
    """The best first; teams without a rank follow. Empty while a track shows no scores."""
    decimals: int = RANK_DECIMALS
    hiding: tuple[str, ...] = ()
    """The titles of the tracks that show no scores by the measure now."""
    swaps: int = 0
    """How many pairs of teams would change their order if some third team were left out, each counted for each."""
    examples: tuple[tuple[Team, Team, Team], ...] = ()
    """The first of them: without the first team, the second one would be above the third, and now it is below."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The rules."""
        return overall_rules(self.rules)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The teams of the overall ranking, those with a rank first, and where their scores are."""

    rules: Overall
    boards: tuple[Board, ...]
    teams: tuple[tuple[Row | None, ...], ...]
    """[team, track]: its row there; None where it has no rank."""
    ranked: int
    """How many of the teams have an overall rank."""

    @classmethod
    def of(cls, rules: Overall, boards: tuple[Board, ...]) -> _Ranking:
        found: dict[str, list[Row | None]] = {}
        for number, board in enumerate(boards):
            for row in board.rows:
                if row.rank is not None:
                    found.setdefault(row.team.folder, [None] * len(boards))[number] = row
        lacking = [rules.missing == "unranked" and None in rows for rows in found.values()]
        order = sorted(range(len(found)), key=lacking.__getitem__)
        teams = list(map(tuple, found.values()))
        return cls(rules, boards, tuple(teams[team] for team in order), lacking.count(False))

    def columns(self, name: str) -> list[int | None]:
        """Where each board has a measure; None: it does not show its scores."""
        return [None if board.track.hides_scores else board.track.measure_column(name) for board in self.boards]

    def scores(self, name: str) -> Floats:
        """[track, team]: by a measure; NaN where a team has none."""
        found = [
            [board.shown_scores(row and row.entry)[column or 0] if row else None for row in rows]
            for board, column, rows in zip(self.boards, self.columns(name), zip(*self.teams, strict=True), strict=True)
        ]
        return np.array(found, dtype=np.float64)

    def totals(self, scores: Floats) -> Floats:
        """The overall scores, [team], given those by track, [track, team]; high is better: mean ranks are negative."""
        rule, weights = self.rules.rule, self.rules.shares
        values = (weight * values_of_track(each, rule) for weight, each in zip(weights, scores, strict=True))
        total = np.asarray(sum(values)) / (1 if rule == "borda" else sum(weights))
        return np.round(-total if rule == "rank" else total, self.decimals)

    @property
    def decimals(self) -> int:
        """Of the overall scores, which are rounded before they are compared."""
        return RANK_DECIMALS if self.rules.rule != "mean" else max(board.track.shown_decimals for board in self.boards)

    def board(self, certain: Sequence[Sequence[float]] = ()) -> OverallBoard:
        """The ranking; `certain` has the statistics of the ranked teams."""
        columns = self.columns(self.rules.measure)
        hiding = [board.track.title for board, column in zip(self.boards, columns, strict=True) if column is None]
        if hiding or not self.teams:
            return OverallBoard(self.rules, self.boards, hiding=tuple(hiding))
        scores = self.scores(self.rules.measure)
        values = [values_of_track(each, self.rules.rule) for each in scores[:, : self.ranked]]
        totals = self.totals(scores[:, : self.ranked])
        keys = list(zip((-totals).tolist(), *self._tie_breaks(), strict=True))
        rows, sign = [], -1 if self.rules.rule == "rank" else 1
        for team, of_tracks in enumerate(self.teams):
            is_ranked = team < self.ranked
            parts = tuple(
                Part(
                    row.rank if row else None, float(score) if row else None, float(value[team]) if is_ranked else None
                )
                for row, score, value in zip(of_tracks, scores[:, team], values, strict=True)
            )
            rank = 1 + sum(key < keys[team] for key in keys) if is_ranked else None
            score = rounded(sign * float(totals[team]), self.decimals) if is_ranked else None
            rows.append(OverallRow(rank, next(row.team for row in of_tracks if row), score, parts))
        for team, (low, high, *decided) in enumerate(certain):
            rows[team] = replace(rows[team], interval=None if math.isnan(low) else (low, high))
            if decided:
                first, last, tier, apart = map(int, decided)
                row = replace(rows[team], rank_range=(first, last), tier=letters(tier))
                rows[team] = replace(row, separable_from_leader=bool(apart))
        order = sorted(range(len(rows)), key=lambda team: (rows[team].rank or math.inf, self._arrival(team)))
        swaps = np.concatenate([np.empty((0, 3), dtype=np.int64), *self._swaps(scores[:, : self.ranked], totals)])
        examples = tuple((rows[out].team, rows[one].team, rows[other].team) for out, one, other in swaps[:SWAPS])
        in_order = tuple(rows[team] for team in order)
        return OverallBoard(self.rules, self.boards, in_order, self.decimals, (), len(swaps), examples)

    def _tie_breaks(self) -> Iterator[list[float]]:
        """What equal teams are ordered by, low first."""
        if self.rules.tie_break and None not in self.columns(self.rules.tie_break):
            scores = np.nan_to_num(self.scores(self.rules.tie_break)[:, : self.ranked])
            yield (-np.round(np.average(scores, axis=0, weights=self.rules.shares), _ROUNDED)).tolist()
        if self.rules.equal_ranks == "earlier":
            yield [self._arrival(team) for team in range(self.ranked)]

    def _arrival(self, team: int) -> int:
        """The place in the record of the last entry of a team that counts."""
        return max(row.entry.index for row in self.teams[team] if row and row.entry)

    def _swaps(self, scores: Floats, before: Floats) -> Iterator[Ints]:
        """[swap, 3]: a team that is left out, the one that is above then, and the one that is below then."""
        for out in range(len(before) if self.rules.rule != "mean" else 0):
            others = np.delete(np.arange(len(before)), out)
            then, after = before[others], self.totals(scores[:, others])
            pairs = others[np.argwhere((then[:, None] < then) & (after[:, None] > after))]
            yield np.insert(pairs, 0, out, axis=1)

    def scored(self, parts: Sequence[Now]) -> list[ScoredRows]:
        """The rows of the ranked teams in each track; without tracks that were never scored, which have no rows."""
        of_tracks = zip(self.boards, zip(*self.teams[: self.ranked], strict=True), parts, strict=True)
        return [
            ScoredRows(board, tuple(filter(None, rows)), now.view, now.basis, now.view.flags(now.basis))
            for board, rows, now in of_tracks
            if now.basis is not None
        ]

    def _task(self, number: int, scored: ScoredRows, kept: Kept, units: Ints) -> tuple[TaskScores, Ints]:
        """What the scores of the ranked teams in a track show, and the units of the queries that have scores; kept as
        for the board of the track.
        """
        column = self.columns(self.rules.measure)[number] or 0
        measure = scored.board.track.all_measures[column]
        scores, judges = scored.of_measure(measure, kept)
        queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
        of_rows = scores, scored.means(column), [True] * len(scores), kept.within(measure.full)
        task = measured(*of_rows, queries=queries, bounded=measure.bounded, units=units, judges=judges)
        return task, units[queries]

    def _placed(self, number: int, values: Floats) -> Floats:
        """[team, value]: those of the ranked teams, given those with a rank in a track; NaN for the others."""
        placed = np.full((self.ranked, values.shape[1]), np.nan)
        placed[[rows[number] is not None for rows in self.teams[: self.ranked]]] = values
        return placed

    def certain(self, scored: Sequence[ScoredRows], cache: Cache) -> str:
        """As JSON, of each ranked team: the interval of its overall score, the range of its rank, and its tier."""
        if self.rules.tasks == "sample":
            return self._certain_of_sample()
        ids = [of.view.queries(of.basis.solution).ids for of in scored]
        of_tracks = zip(scored, units_of(ids, [of.clusters for of in scored]), strict=True)
        tasks, units = zip(
            *(self._task(number, of, of.kept(cache), own) for number, (of, own) in enumerate(of_tracks)), strict=True
        )
        totals = self.totals(self.scores(self.rules.measure)[:, : self.ranked])
        if self.rules.rule == "mean":
            scores = [self._placed(number, task.scores) for number, task in enumerate(tasks)]
            shares = np.array(self.rules.shares) / sum(self.rules.shares)
            intervals = np.stack([self._placed(number, task.intervals) for number, task in enumerate(tasks)])
            means = np.stack([means_of(each) for each in scores])
            joint = together(units)
            ends = intervals_of_sum(means, intervals, shares, correlations(scores, joint))
            for task in tasks:
                ends = unless_few(ends, task.units)
            basis = [task.kept and task.kept.ranking for task in tasks]
            rows = tuple(json.dumps([row and row.entry and row.entry.digest for row in rows]) for rows in self.teams)
            of_all = Kept(
                cache.arrays, ("overall", self.rules.recorded(), basis, *map(number_of, joint)), rows[: self.ranked]
            )
            sums = weighted_sums(scores, joint, shares)
            better = TaskScores(sums, totals, np.arange(self.ranked), FLIPS, kept=of_all).better
        else:
            above = [self._above(number, task) for number, task in enumerate(tasks)]
            ends, better = sums_of_ranks(above, self.rules.shares)
            if self.rules.rule == "rank":
                ends /= sum(self.rules.shares)
            else:
                ends = sum(self.rules.shares) * self.ranked - ends[:, ::-1]
        return self._document(ends, totals, better)

    def _certain_of_sample(self) -> str:
        """As `certain`, by Student's t and by sign flips over what the tracks contribute."""
        scores = self.scores(self.rules.measure)[:, : self.ranked]
        totals, rule, weights = self.totals(scores), self.rules.rule, np.array(self.rules.shares)
        values = np.stack([values_of_track(each, rule) for each in scores], axis=1)
        means = values @ weights / weights.sum()
        parts = weights / weights.mean() * (values - means[:, None])
        half = -special().stdtrit(len(weights) - 1, LEVEL / 2) * parts.std(axis=1, ddof=1) / math.sqrt(len(weights))
        columns = zip((board.track for board in self.boards), self.columns(self.rules.measure), strict=True)
        within = (track.all_measures[column or 0].bounded and not track.checked for track, column in columns)
        bounded = rule != "mean" or all(within)
        least, most = {"mean": (0, 1), "rank": (1, self.ranked), "borda": (0, self.ranked - 1)}[rule]
        ends = means[:, None] + np.column_stack([-half, half])
        ends = (ends.clip(least, most) if bounded else ends) * (weights.sum() if rule == "borda" else 1)
        if len(weights) < LEAST_TASKS:
            return json.dumps(np.round(ends, self.decimals).tolist())
        sums = weights * values * (-1 if rule == "rank" else 1)
        return self._document(ends, totals, TaskScores(sums, totals, np.arange(self.ranked), FLIPS).better)

    def _document(self, ends: Floats, totals: Floats, better: Bools) -> str:
        tier, groups = np.empty(self.ranked), tiers(ranks_of(totals), better)
        for number, tied in enumerate(groups):
            tier[tied] = number
        apart = separable_from_leaders(groups, better)
        return json.dumps(np.column_stack([np.round(ends, self.decimals), rank_ranges(better), tier, apart]).tolist())

    def _above(self, number: int, task: TaskScores) -> Bools:
        """[team, team]: whether a team is above another one in a track, decided at the track's part of the level."""
        present = np.array([rows[number] is not None for rows in self.teams[: self.ranked]])
        above: Bools = present[:, None] & ~present
        above[np.ix_(present, present)] = (task.tests.simultaneous <= LEVEL / len(self.boards)) & task.above
        return above


def overall_board(
    boards: Sequence[Board], tracks: Sequence[Track], view: Snapshot, cache: Cache
) -> OverallBoard | None:
    """The overall ranking by the rules in force, given the public boards of all tracks; None without one.

    Queries with the same id in several tracks are one unit, and so are those of a cluster.
    """
    rules = next((board.track.overall for board in boards if board.track.overall), None)
    by_name = {
        board.track.name: (board, Now.of(view, track).public) for board, track in zip(boards, tracks, strict=True)
    }
    if rules is None or not by_name.keys() >= set(rules.tracks):
        return None
    chosen, parts = zip(*(by_name[name] for name in rules.tracks), strict=True)
    ranking = _Ranking.of(rules, chosen)
    columns = ranking.columns(rules.measure)
    scored = ranking.scored(parts) if ranking.ranked > 1 and None not in columns else []
    if len(scored) < len(chosen) or any(board.track.shows != "score" for board in chosen):
        return ranking.board()
    shown = ranking.teams[: ranking.ranked]
    teams = [[row and (row.entry.index if row.entry else 0) for row in rows] for rows in shown]
    keys = [of.key(column or 0) for of, column in zip(scored, columns, strict=True)]
    key = ["overall", code_digest(), rules.recorded(), ranking.decimals, teams, keys]
    return ranking.board(json.loads(cache.value(key, lambda: ranking.certain(scored, cache))))


def _exported(board: OverallBoard, row: OverallRow) -> dict[str, CellValue]:
    """The columns of a row in exports."""
    ends = *(row.interval or (None, None)), *(row.rank_range or (None, None))
    values = {"rank": row.rank, "team": row.team.name, "score": row.score}
    values |= dict(zip(CERTAINTY, (*ends, row.tier or None, row.separable_from_leader), strict=True))
    for name, part in zip(board.rules.tracks, row.parts, strict=True):
        values |= {f"{name} score": part.score, f"{name} rank": part.rank, f"{name} value": part.value}
    return values


def overall_csv(board: OverallBoard) -> str:
    """CSV as RFC 4180 has it, a line for each team."""
    blank = OverallRow(None, Team(), None, (Part(None, None, None),) * len(board.boards))
    rows = (_exported(board, row).values() for row in board.rows)
    return (
        csv_table(table_of(_exported(board, blank), rows, ["team", "tier"], all_digits=True), line_end="\r\n") + "\r\n"
    )


def overall_json(board: OverallBoard, head: LogLine | None = None) -> str:
    """The ranking with its rules and what each track contributes; null is a blank."""
    document: dict[str, Any] = {
        "version": _VERSION,
        "log": None if head is None else {"index": head.index, "head": head.head.hex()},
        "settings": board.rules.model_dump(mode="json"),
        "rules": board.sentences,
        "decimals": board.decimals,
        "tracks": {
            each.track.name: {"title": each.track.title, "stage": each.track.shown_stage} for each in board.boards
        },
        "hiding": board.hiding,
        "rows": [{"id": row.team.slug, **_exported(board, row)} for row in board.rows],
        "swaps": board.swaps,
        "examples": [
            {"without": out.slug, "above": one.slug, "below": other.slug} for out, one, other in board.examples
        ],
        "statistics": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED},
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
