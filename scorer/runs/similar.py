"""similar(): runs that have more in common than others, by the items in their first ranks that are not relevant.

Good systems find the same relevant items. They seldom make the same mistakes in the same order, unless one has the
lists of the other. A run is summarised by a sketch: a digest of its lists, and samples of its *traces*. A trace is a
pair of a query and an item that is not relevant, or a query and two such items that are near each other, in their
order. Hashes choose the samples, so that what two runs have in common is in both samples or in neither. Source of such
samples: Broder, On the Resemblance and Containment of Documents, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Literal

import numpy as np

from scorer.errors import need_libraries
from scorer.lists.reading.arrow import fingerprints
from scorer.lists.solution import UNKNOWN, Solution
from scorer.measures.matched import Bools, Floats, Ints
from scorer.options import LEVEL
from scorer.runs import AlignedRuns, Run, for_each_part

_HEADS = 10, 100
"""Copies are sought in so many first ranks of the lists, and in all ranks that count."""

NEAR = 5
"""An item is near the so many items that are not relevant before it and after it."""

RARITY = 2, 2, 2, 1, 1, 1
"""[sample]: those of items in `_HEADS` and in all ranks, then those of items in order. A trace that n teams have counts
1 / (n - 1) to this power: the order of items is rarely the same by chance, the items often are."""

SAMPLED, MOST_SAMPLED = 200, 300
"""How many traces a sample has where every list is full, and at most: those with the lowest hashes."""

SKETCH_WIDTH = 2 + len(RARITY) * MOST_SAMPLED
"""How many numbers a sketch has: two halves of the digest of the lists, then the hashes of each sample."""

_EMPTY = -1.0
"""Of a place in a sample without a trace."""

_BITS = 52
"""Of a hash in a sample, which a floating-point number has exactly."""

LEAST_TEAMS = 5
"""With fewer teams, there is no field to compare a pair with."""

MOST_SHARING = 20
"""What more teams have in common counts nothing."""

LEAST_EXPECTED = 0.5
"""Of what two unrelated runs have in common in a sample."""

UNCERTAIN = 0.4
"""How much more may be expected, as a share of the most that a run could have in common with another one; it is divided
by the square of the number of third teams. With it, no set of five or more groups of one half of the real runs in
tests/runs/test_similar.py has a suspicious pair of unrelated groups."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Similar:
    """Two runs of different teams."""

    first: int
    """A position among the runs, as `second`, which is later."""
    second: int
    same_lists: bool
    """Whether their lists have the same items in the same order, regardless of scores and of the order of queries."""
    p_value: float
    """The probability that any pair of unrelated runs has so much in common, by the field; NaN without a field."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Two entries of different teams, by the names of their files."""

    first: str
    second: str
    same: Literal["bytes", "lists", ""]
    shared: tuple[float, float, int] | None
    """What `shared` returns; None for the same bytes."""
    p_value: float


def sketch(solution: Solution, run: Run, depth: int) -> Floats:
    """The sketch of a run, [value] with `SKETCH_WIDTH` values, by its first `depth` ranks. Raises SubmissionError."""
    parts: list[tuple[np.uint64, list[Floats]]] = []
    for_each_part([run], partial(_sketched, solution, depth), parts)
    digest = np.array([own for own, _ in parts], dtype=np.uint64).sum(dtype=np.uint64)
    samples = np.full((len(RARITY), MOST_SAMPLED), _EMPTY)
    for sample, traces in zip(samples, zip(*(of_part for _, of_part in parts), strict=True), strict=False):
        lowest = np.sort(np.concatenate(traces))[:MOST_SAMPLED]
        sample[: lowest.size] = lowest
    return np.array([float(digest >> np.uint64(32)), float(digest & np.uint64(0xFFFFFFFF)), *samples.ravel()])


def _sketched(solution: Solution, depth: int, run: AlignedRuns) -> tuple[np.uint64, list[Floats]]:
    """A number for these lists, and the hashes of their traces, [sample][trace]."""
    pair, chosen = _pairs(solution, depth, run)
    entry = np.flatnonzero(chosen)
    entry = entry[np.lexsort((run.rank[entry], run.query[run.candidate[entry]]))]
    query, rank, score, own = run.query[run.candidate[entry]], run.rank[entry], run.score[entry], pair[entry]
    hashes, ranks = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.int64)]
    for gap in range(1, NEAR + 1):
        # The order of tied items is by their ids: it says nothing about their team.
        near = (query[gap:] == query[:-gap]) & (score[gap:] < score[:-gap])
        with np.errstate(over="ignore"):
            hashes.append(_mixed(own[:-gap][near] * _MIX + own[gap:][near]))
        ranks.append(rank[gap:][near])
    samples = []
    for traces, deepest, most in ((_mixed(own), rank, 1), (np.concatenate(hashes), np.concatenate(ranks), NEAR)):
        hashed = (traces >> np.uint64(64 - _BITS)).astype(np.float64)
        for head in (*(head if head < depth else 0 for head in _HEADS), depth):
            share = SAMPLED / max(SAMPLED, len(solution.queries) * head * most)
            samples.append(hashed[(deepest <= head) & (hashed < share * 2.0**_BITS)])
    lists = np.zeros(len(run.queries), dtype=np.uint64)  # a number for the items of each list and their order
    with np.errstate(over="ignore"):
        np.add.at(lists, run.query[run.candidate], _mixed(pair + run.rank.astype(np.uint64) * _MIX))
    return _mixed(lists).sum(dtype=np.uint64), samples


def _pairs(solution: Solution, depth: int, run: AlignedRuns) -> tuple[np.ndarray, Bools]:
    """[entry]: a number for its query and its item; and whether it is in the first ranks and not relevant."""
    with np.errstate(over="ignore"):
        query, item = (_mixed(fingerprints(ids)) for ids in (run.queries, run.items))
        pair = query[run.query] * _MIX + item[run.item]
    known = solution.query_codes(run.queries)[run.query]
    entry = solution.ids.entries(known, solution.ids.item_codes(run.items)[run.item])
    relevant = np.append(solution.ideal.grade > 0, False)[entry]  # UNKNOWN is the last one
    return pair[run.candidate], ((known != UNKNOWN) & ~relevant)[run.candidate] & (run.rank <= depth)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Bits that depend on all bits of each value. Source: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(values ^ (values >> np.uint64(31)))


def similar(sketches: Floats, teams: Sequence[str], most: int = 20) -> list[Similar]:
    """Compare all pairs of runs of different teams, given their sketches, [run, value]; the most similar first.

    What two runs have in common in a sample is compared with what is expected of two unrelated runs. Unrelated runs
    differ much in what they have in common, by their methods: it has the geometric distribution with the expected mean.
    The p-value is the lowest of all samples, times the number of samples and of pairs of runs. Returned are the first
    `most` pairs, and all with the same lists or a p-value of at most `LEVEL`.
    """
    need_libraries("scipy")
    team = np.unique(np.array(teams), return_inverse=True)[1]
    has_field = team.max(initial=-1) + 1 >= LEAST_TEAMS
    other = team[:, None] != team
    samples = sketches[:, 2:].reshape(len(team), len(RARITY), MOST_SAMPLED)
    found, log_p = np.zeros(other.shape), np.zeros(other.shape)
    for number, rarity in enumerate(RARITY):
        common = _common(samples[:, number], team, rarity)
        own, common = common.diagonal(), common * other
        found += common
        if has_field:
            log_p = np.minimum(log_p, -np.log1p(1 / _expected(common, own, team)) * common)
    first, second = (places.astype(np.int64) for places in np.nonzero(np.triu(other)))
    tests = first.size * (samples != _EMPTY).any(axis=(0, 2)).sum()
    p_values = np.minimum(1.0, tests * np.exp(log_p[first, second])) if has_field else np.full(first.size, np.nan)
    same = (sketches[first, :2] == sketches[second, :2]).all(axis=1)
    order = np.lexsort((-found[first, second], np.nan_to_num(p_values), ~same))
    order = order[: max(most, int((same | (p_values <= LEVEL)).sum()))]
    columns = (first, second, same, p_values)
    return list(starmap(Similar, zip(*(column[order].tolist() for column in columns), strict=True)))


def _common(sample: Floats, team: Ints, rarity: int) -> Floats:
    """[run, run]: the weights of the traces that both have in the sample."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (SciPy is slow to load)

    by_team = np.argsort(team, kind="stable")
    row, place = np.nonzero(sample[by_team] != _EMPTY)
    run = by_team[row]
    order = np.argsort(sample[run, place], kind="stable")
    value, run = sample[run, place][order], run[order]
    new = np.diff(value, prepend=_EMPTY) != 0
    trace = np.cumsum(new) - 1
    sharing = np.bincount(trace, new | (np.diff(team[run], prepend=_EMPTY) != 0))[trace]
    kept = (sharing >= 2) & (sharing <= MOST_SHARING)
    weight = np.sqrt((sharing[kept] - 1) ** -rarity)
    of_runs = csr_array((weight, (run[kept], trace[kept])), shape=(len(sample), trace.max(initial=0) + 1))
    return np.asarray((of_runs @ of_runs.T).toarray())


def _expected(common: Floats, own: Floats, team: Ints) -> Floats:
    """[run, run]: what two unrelated runs have in common, by what these two have in common with third teams.

    It is the larger one of two means over third teams, without the largest value of each, and grows by `UNCERTAIN`.
    `common` is 0 for two runs of one team; `own` is [run]: the most that a run could have in common with another one.
    """
    by_team, runs = np.argsort(team, kind="stable"), np.bincount(team)
    of_team = np.add.reduceat(common[:, by_team], np.cumsum(runs) - runs, axis=1) / runs
    row, largest, rest = np.arange(len(team)), of_team.argmax(axis=1), of_team.copy()
    rest[row, largest] = 0
    left_out = of_team + of_team[row, largest][:, None]
    left_out[row, largest] = of_team[row, largest] + rest.max(axis=1)
    third_teams = runs.size - 3
    usual = (of_team.sum(axis=1)[:, None] - left_out)[:, team] + UNCERTAIN * own[:, None] / third_teams
    usual /= third_teams
    return np.asarray(np.maximum(np.maximum(usual, usual.T), LEAST_EXPECTED))


def shared(solution: Solution, first: Run, second: Run, depth: int) -> tuple[float, float, int]:
    """Count what two runs have in common in their first `depth` ranks. Raises SubmissionError.

    Returned are the share of the not relevant items of the first run that the second has, too, NaN if it has none; that
    of the second run; and how many lists have the same items in the same order.
    """
    parts: list[Ints] = []
    for_each_part([first, second], partial(_counted, solution, depth), parts)
    both, of_first, of_second, same = np.sum([np.zeros(4, dtype=np.int64), *parts], axis=0).tolist()
    return both / of_first if of_first else math.nan, both / of_second if of_second else math.nan, same


def _counted(solution: Solution, depth: int, runs: AlignedRuns) -> Ints:
    """How many not relevant items both runs have, the first one and the second one, and how many lists are the same."""
    _, chosen = _pairs(solution, depth, runs)
    has = np.zeros((2, runs.query.size), dtype=bool)
    has[runs.run[chosen], runs.candidate[chosen]] = True
    ranks = np.zeros((2, runs.query.size), dtype=np.int64)
    ranks[runs.run, runs.candidate] = runs.rank
    differs = np.bincount(runs.query[ranks[0] != ranks[1]], minlength=len(runs.queries)) > 0
    filled = runs.length.reshape(-1, 2).all(axis=1)
    return np.array([has.all(axis=0).sum(), *has.sum(axis=1), (filled & ~differs).sum()])
