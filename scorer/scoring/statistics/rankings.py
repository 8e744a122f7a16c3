"""Ranks, rules of ranking, rank ranges and tiers; how far rankings agree; and the scores of several tracks by the units
that they share: weighted sums and correlations.

Source: Wiesenfarth, Reinke, Landman, Eisenmann, Saiz, Cardoso, Maier-Hein and Kopp-Schneider, Methods and Open-Source
Toolkit for Analyzing and Visualizing Challenge Results, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.measures.matched import Bools, Floats, Ints, ratio
from scorer.options import LEVEL, SEED, OverallRule
from scorer.scoring.statistics import blocks, in_threads
from scorer.scoring.statistics.all_pairs import EQUAL_WITHIN, ExactSums
from scorer.scoring.statistics.resampling import column_quantiles

_RANKINGS_AT_ONCE = 1024
"""Rankings in a block, which remains in the cache of a processor."""


def tau_b(ranks: Ints, other: Ints) -> float:
    """Return Kendall's tau-b of two rankings, [submission]; NaN if one of them has only ties.

    Source: Kendall, The Treatment of Ties in Ranking Problems, 1945.
    """
    return float(resampled_taus(ranks[None], other)[0])


def resampled_taus(resampled: Ints, ranks: Ints) -> Floats:
    """Return Kendall's tau-b between each ranking, [resample, submission], and one that all are compared with.

    [resample]; NaN where the ranking, or the one that it is compared with, has only ties.
    """
    order = np.argsort(ranks, kind="stable")
    ascending, count = ranks[order], len(ranks)
    higher = np.searchsorted(ascending, ascending, side="right")  # [submission]: the first one with a higher rank
    small = small_ranks(count)

    def of_block(start: int) -> Floats:
        """[2, resample]: concordant minus discordant pairs, and the pairs without a tie in the resample."""
        rows = resampled[start : start + _RANKINGS_AT_ONCE].astype(small)
        block, ordered = np.ascontiguousarray(rows[:, order].T), np.sort(rows, axis=1)
        opens = (ordered[:, 1:] != ordered[:, :-1]) * np.arange(1, count, dtype=small)
        untied = np.maximum.accumulate(opens, axis=1).sum(axis=1, dtype=np.int64)
        concordant, only_there = np.zeros((2, len(rows)), dtype=np.int64)
        for i, end in enumerate(higher.tolist()):
            concordant += _counts(block[end:] > block[i])
            if end > i + 1:
                only_there += _counts(block[i + 1 : end] != block[i])
        return np.stack([2 * concordant - (untied - only_there), untied]).astype(np.float64)

    blocks = in_threads(of_block, range(0, len(resampled), _RANKINGS_AT_ONCE))
    balance, untied = np.hstack([np.zeros((2, 0)), *blocks])
    pairs = np.sqrt(float((count - higher).sum()) * untied)
    return ratio(balance, pairs, pairs > 0)


def _counts(those: Bools) -> Ints:
    """How many of each column there are, [column], from [row, column]: sums of bytes are fast."""
    every = those.view(np.uint8)
    return sum((every[rows].sum(axis=0, dtype=np.uint8) for rows in blocks(len(every), 255)), np.zeros(1, np.int64))


def footrule(ranks: Ints, other: Ints) -> float:
    """Return Spearman's footrule of two rankings, [submission]: the sum of the absolute differences of the ranks.

    Source: Spearman, Footrule for Measuring Correlation, 1906.
    """
    return float(np.abs(ranks - other).sum())


def consensus(ranks_by_task: Ints) -> Floats:
    """Return the mean over tasks of each submission's rank, [task, submission]; equal ranks count as their mean.

    Low is better. They minimise the sum of the squared differences from the ranks of all tasks. Source: Hornik and
    Meyer, Deriving Consensus Rankings from Benchmarking Experiments, 2007.
    """
    # scipy.stats.rankdata does the same, but loading it takes longer than the statistics of a board.
    below = (ranks_by_task[:, None, :] < ranks_by_task[:, :, None]).sum(axis=-1)
    equal = (ranks_by_task[:, None, :] == ranks_by_task[:, :, None]).sum(axis=-1)
    ranks = below + (equal + 1) / 2
    return np.array([math.fsum(row) / max(row.size, 1) for row in ranks.T], dtype=np.float64)


# Preliminary and final

SETS = 1_000
"""The number of random sets of preliminary queries."""

_CHUNK = 1 << 21
"""The number of random numbers that are in memory at a time."""


def split_means(
    scores: Floats,
    preliminary: Bools,
    final_is_rest: bool,
    sets: int = SETS,
    seed: int = SEED,
    units: Ints | None = None,
) -> Floats:
    """Return the means over the preliminary queries and over the final ones, and over those of random sets.

    [submission, 2 * (1 + sets)]: the preliminary mean, those of the random sets of preliminary queries, and the final
    means in the same order. Those of a submission do not depend on the others. The random sets have as many queries as
    the `preliminary` ones, [query], or `units`; the final means are over the other queries, or over all.
    """
    count, queries = scores.shape
    drawn = preliminary if units is None else np.bincount(units, preliminary) > 0
    exact, means = ExactSums(scores, most=queries), np.empty((2, 1 + sets, count))
    bits = _random_sets(drawn.tobytes(), sets, seed)
    for block in blocks(1 + sets, max(1, _CHUNK // max(1, queries))):
        chosen = np.unpackbits(bits[block], axis=1, count=drawn.size)
        chosen = chosen if units is None else chosen[:, units]
        means[0, block] = exact.means(chosen)
        means[1, block] = exact.means(1 - chosen if final_is_rest else np.ones((1, queries)))
    return means.reshape(2 * (1 + sets), count).T


@lru_cache(maxsize=1)
def _random_sets(drawn: bytes, sets: int, seed: int) -> npt.NDArray[np.uint8]:
    """[1 + set, byte]: whether each query is `drawn`, then the same for random sets of as many; a query is a bit."""
    of_first, random, bits = np.frombuffer(drawn, dtype=bool), np.random.default_rng(seed), []
    bits.append(np.packbits(of_first[None], axis=1))
    for block in blocks(sets, max(1, _CHUNK // max(1, of_first.size))):
        chosen = np.repeat(of_first[None], min(block.stop, sets) - block.start, axis=0)
        bits.append(np.packbits(random.permuted(chosen, axis=1), axis=1))
    return np.concatenate(bits)


def mean_moves(means: Floats) -> Floats:
    """Return how many ranks the submissions move on average, given what `split_means` returns; NaN without submissions.

    [1 + set]: from the ranking over the preliminary queries to the final one, then for each random set. If the
    preliminary queries are a random part of all queries, the first number is like the others. If it is far outside of
    what these show, there is another reason, such as entries chosen by preliminary scores.
    """
    if not len(means):
        return np.full(means.shape[1] // 2, np.nan)
    before, after = (ranks_of(np.ascontiguousarray(half)) for half in np.split(means.T, 2))
    return np.asarray(np.abs(after - before).mean(axis=1))


_SCORES_AT_ONCE = 1 << 15
"""Values that are ranked at a time: what is computed of them remains in the cache of a processor."""

# Ranks


def rank_ranges(better: Bools, worse: Bools | None = None) -> Ints:
    """Return the first and the last rank that each submission may have, [submission, 2], by the pairs that are decided.

    A range goes from 1 plus the submissions that are significantly better to N minus those that are significantly
    worse; without `worse`, i is worse where j is better than i. If all pairs are tested at once, all ranges hold at
    once. Source: Mogstad, Romano, Shaikh and Wilhelm, Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries, 2024.
    """
    worse = better.T if worse is None else worse
    return np.stack([1 + worse.sum(axis=1), len(better) - better.sum(axis=1)], axis=1)


def ranks_of(values: Floats, decimals: int | None = None) -> Ints:
    """Return the rank of each value along the last axis, the highest first; equal values share the best rank.

    `decimals` are those that the values are rounded to before; None: they are not rounded. Values that differ by
    rounding only are equal. NaN ranks one after the last rank that a number has, as in R's challengeR. Many ranks have
    the smallest type that holds them.
    """
    if values.ndim == 2 and values.size > _SCORES_AT_ONCE:
        ranks = np.empty(values.shape, dtype=small_ranks(values.shape[1]))

        def fill(block: slice) -> None:
            ranks[block] = _ranked(np.ascontiguousarray(values[block]), decimals)

        in_threads(fill, blocks(len(values), max(1, _SCORES_AT_ONCE // values.shape[1])))
        return ranks
    return _ranked(values, decimals)


def small_ranks(count: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type that holds the ranks of so many submissions and their differences."""
    return np.int16 if count < np.iinfo(np.int16).max else np.int32


def _ranked(values: Floats, decimals: int | None) -> Ints:
    values = values if decimals is None else np.round(values, decimals)
    order = np.argsort(-values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    before, after = ordered[..., :-1], ordered[..., 1:]
    position = np.zeros(values.shape, dtype=small_ranks(values.shape[-1]))
    if values.shape[-1] > 1:
        with np.errstate(invalid="ignore"):
            opens = before - after > EQUAL_WITHIN * np.maximum(np.abs(before), np.abs(after))
        at = np.arange(1, values.shape[-1], dtype=position.dtype)
        np.maximum.accumulate(opens * at, axis=-1, out=position[..., 1:])
    if np.isnan(ordered[..., -1:]).any():
        undefined = np.isnan(ordered)
        last = np.where(undefined, -1, position).max(axis=-1, initial=-1, keepdims=True)
        position = np.where(undefined, last + 1, position)
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, position + 1, axis=-1)
    return ranks


def values_of_track(scores: Floats, rule: OverallRule) -> Floats:
    """Return what a track contributes to the overall score of each team, given its scores there, [..., team].

    NaN, for a team without a score, is worth 0, the last rank, or no points.
    """
    has_score = ~np.isnan(scores)
    if rule == "mean":
        return np.where(has_score, scores, 0.0)
    above, below = ranks_of(scores) - 1.0, ranks_of(-scores) - 1.0
    better = above + (has_score.sum(axis=-1, keepdims=True) - 1 - above - below) / 2
    count = scores.shape[-1]
    return np.where(has_score, better + 1, count) if rule == "rank" else np.where(has_score, count - 1 - better, 0.0)


def rank_frequencies(ranks: Ints) -> Floats:
    """Return in which share of the resamples each submission has each rank, [submission, rank].

    `ranks` is [resample, submission]. The first column is the share in which a submission is best.
    """
    resamples, count = ranks.shape
    cells = np.bincount((np.arange(count) * count - 1 + ranks).ravel(), minlength=count * count)
    return np.asarray(cells.reshape(count, count) / max(resamples, 1))


def rank_quantiles(ranks: Ints, level: float = LEVEL) -> Floats:
    """Return the middle ranks of each submission, [submission, 3], from `ranks`, [resample, submission].

    The quantiles at half the level, at one half, and at one minus half the level; interpolated linearly.
    """
    return column_quantiles(ranks, np.array([level / 2, 0.5, 1 - level / 2]))


# Rules


@dataclass(frozen=True, eq=False)
class Ranking:
    """The submissions by a rule."""

    values: Floats
    """[submission]: what they are ranked by; NaN where undefined."""
    ranks: Ints
    """[submission]: from 1; equal values share the best rank; NaN ranks after all numbers."""

    @property
    def is_defined(self) -> bool:
        """Whether all values are numbers."""
        return not np.isnan(self.values).any()


def ranking(values: Floats, higher_is_better: bool = True) -> Ranking:
    """Return the ranking by values, [submission], for example means that are rounded already."""
    return Ranking(values, ranks_of(values if higher_is_better else -values))


def by_wins(p_values: Floats, level: float = LEVEL) -> Ranking:
    """Rank by the share of the other submissions that are significantly worse, highest first; losses do not count.

    `p_values`, [i, j], are of a one-sided test that i is better than j; NaN is no win. The value of a single submission
    is NaN.
    """
    count = len(p_values)
    if count < 2:
        return ranking(np.full(count, np.nan))
    others = ~np.eye(count, dtype=bool)
    return ranking(((p_values <= level) & others).sum(axis=1) / (count - 1))


def by_median(scores: Floats) -> Ranking:
    """Rank by the median of the scores, [submission, query]."""
    return ranking(_medians(scores))


def by_query_ranks(scores: Floats) -> dict[str, Ranking]:
    """Return the rankings by the mean and by the median of the ranks on single queries, which are computed once."""
    of_queries = _query_ranks(scores)
    sums, counts = np.nansum(of_queries, axis=1), (~np.isnan(of_queries)).sum(axis=1)  # sums of whole numbers are exact
    by_rule = {"mean-rank": ratio(sums, counts, counts > 0), "median-rank": _medians(of_queries)}
    return {rule: ranking(values, higher_is_better=False) for rule, values in by_rule.items()}


def means(scores: Floats) -> Floats:
    """Return the mean of the defined scores of each submission, from exact sums; NaN without any."""
    return np.array([math.fsum(row) / row.size if row.size else math.nan for row in _defined(scores)], dtype=float)


def _medians(scores: Floats) -> Floats:
    rows = map(np.sort, _defined(scores))  # faster than to select, as `median` does
    return np.array([(row[(row.size - 1) // 2] + row[row.size // 2]) / 2 if row.size else math.nan for row in rows])


def _defined(scores: Floats) -> list[Floats]:
    return [row[~np.isnan(row)] for row in scores]


def _query_ranks(scores: Floats) -> Floats:
    """[submission, query]: the ranks of the defined scores on each query; NaN where undefined."""
    return np.where(np.isnan(scores), np.nan, ranks_of(np.ascontiguousarray(scores.T)).T)


# Decisions


def tiers(ranks: Ints, better: Bools) -> list[list[int]]:
    """Return the tiers of submissions with these ranks, the best first; in each tier, its leader is first.

    A tier opens with the best submission that is in no tier yet, its leader, and reaches down to the last one that is
    not significantly worse than the leader, and to those with the same rank. So all below are worse than the leader,
    but some within may be worse, too. `better` is [i, j].
    """
    order, opened, done = np.argsort(ranks, kind="stable"), [], 0
    while done < len(order):
        left = order[done:]
        last = left[~better[left[0], left]][-1]
        end = int((ranks <= ranks[last]).sum())
        opened.append(order[done:end].tolist())
        done = end
    return opened


def separable_from_leaders(found: Sequence[Sequence[int]], better: Bools) -> Bools:
    """Return which submissions are significantly worse than the leader of their tier, [submission]."""
    worse = np.zeros(len(better), dtype=bool)
    for leader, *others in found:
        worse[others] = better[leader, others]
    return worse


def _count(units: Sequence[Ints]) -> int:
    """How many units there are; a track may have no query."""
    return 1 + max((int(own.max()) for own in units if own.size), default=-1)


def sums_of_ranks(above: Sequence[Bools], weights: Sequence[float]) -> tuple[Floats, Bools]:
    """Return the least and the largest weighted sum of ranks that each team may have, [team, 2], and whether a team is
    ahead of another one, [team, team], from the decisions in each track, [track][team, team].

    Decisions in each track at its part of the level leave each team some ranks there, and all hold at once. Ranks that
    are resampled would not do: equal teams would differ too often, and the quantiles cover too little.
    """
    sums, least = np.zeros((len(above[0]), 2)), np.zeros(above[0].shape)
    for of_track, weight in zip(above, weights, strict=True):
        ranges = rank_ranges(of_track)
        ahead = ranges[:, 0] - ranges[:, 1:]
        sums += weight * ranges
        least += weight * np.where(of_track, np.maximum(ahead, 1), ahead)
    return sums, least > 0


def weighted_sums(scores: Sequence[Floats], units: Sequence[Ints], shares: Floats) -> Floats:
    """Return what each unit adds to the weighted mean of tracks, [team, unit], from scores, [track][team, query].

    An undefined score adds nothing; so does a track in which a team has none.
    """
    found = np.zeros((len(scores[0]), _count(units)))
    for of_track, own, share in zip(scores, units, shares.tolist(), strict=True):
        defined = (~np.isnan(of_track)).sum(axis=1, keepdims=True)
        np.add.at(found.T, own, (share * np.nan_to_num(of_track) / np.maximum(defined, 1)).T)
    return found


def correlations(scores: Sequence[Floats], units: Sequence[Ints]) -> Floats:
    """Return the correlations of the mean scores of tracks, [team, track, track], from scores, [track][team, query].

    They come from the units that two tracks share. Where all scores of a track are equal, it is the share of these
    units, as if the scores were equal, too.
    """
    count = _count(units)
    apart, shared = np.zeros((len(scores), len(scores[0]), count)), np.zeros((len(scores), count))
    for track, (of_track, own) in enumerate(zip(scores, units, strict=True)):
        np.add.at(apart[track].T, own, np.nan_to_num(of_track - means(of_track)[:, None]).T)
        np.add.at(shared[track], own, 1)
    found, least = (np.einsum("atu,btu->tab", each, each) for each in (apart, shared[:, None]))
    scale = np.sqrt(np.einsum("taa->ta", found))
    size = np.sqrt(np.einsum("taa->ta", least))
    varies = scale[:, :, None] * scale[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = least / (size[:, :, None] * size[:, None, :])
        return np.asarray(np.where(varies > 0, found / varies, alike), dtype=np.float64)
