"""similar(): runs that have more in common than others, by the items in their first ranks that are not relevant.

Good systems find the same relevant items. They seldom make the same mistakes, unless one has the lists of the other.
A run is summarised by a sketch: a digest of its lists, and a sample of its pairs of a query and an item that is not
relevant. Hashes choose the sample, so that what two runs have in common is in both samples or in neither. Source of
such samples: Broder, On the Resemblance and Containment of Documents, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Literal

import numpy as np

from scorer.errors import need
from scorer.lists.reading.arrow import fingerprints
from scorer.lists.solution import UNKNOWN, Solution
from scorer.measures.matched import Bools, Floats, Ints
from scorer.options import LEVEL
from scorer.runs.aligned import AlignedRuns, Run, for_each_part

SAMPLED, MOST_SAMPLED = 350, 500
"""How many pairs a sample has where every list is full, and at most: those with the lowest hashes."""

WIDTH = 2 + MOST_SAMPLED
"""How many numbers a sketch has: two halves of the digest of the lists, then the hashes of the sample."""

EMPTY = -1.0
"""Of a place in the sample without a pair."""

_BITS = 52
"""Of a hash in the sample, which a floating-point number has exactly."""

LEAST_TEAMS = 5
"""With fewer teams, there is no field to compare a pair with."""

MOST_SHARING = 20
"""What more teams have in common counts nothing."""

LEAST_EXPECTED = 0.25
"""Of what two unrelated runs have in common."""

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
class Shared:
    """What two runs have in common, counted."""

    of_first: float
    """The share of the not relevant items of the first run that the second has, too; NaN if it has none."""
    of_second: float
    same_lists: int
    """How many lists have the same items in the same order."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Two entries of different teams, by the names of their files."""

    first: str
    second: str
    same: Literal["bytes", "lists", ""]
    shared: Shared | None
    """None for the same bytes."""
    p_value: float


def sketch(solution: Solution, run: Run, depth: int) -> Floats:
    """The sketch of a run, [value] with `WIDTH` values, by its first `depth` ranks. Raises SubmissionError."""
    parts: list[tuple[np.uint64, Floats]] = []
    for_each_part([run], partial(_sketched, solution, depth), parts)
    digest = np.array([own for own, _ in parts], dtype=np.uint64).sum(dtype=np.uint64)
    halves = [float(digest >> np.uint64(32)), float(digest & np.uint64(0xFFFFFFFF))]
    sample = np.sort(np.concatenate([np.zeros(0), *(sampled for _, sampled in parts)]))[:MOST_SAMPLED]
    return np.concatenate([halves, sample, np.full(MOST_SAMPLED - sample.size, EMPTY)])


def _sketched(solution: Solution, depth: int, run: AlignedRuns) -> tuple[np.uint64, Floats]:
    pair, chosen = _pairs(solution, depth, run)
    hashes = _mixed(pair[chosen]) >> np.uint64(64 - _BITS)
    share = SAMPLED / max(SAMPLED, len(solution.queries) * depth)
    return _of_lists(pair, run).sum(dtype=np.uint64), hashes[hashes < share * 2.0**_BITS].astype(np.float64)


def _pairs(solution: Solution, depth: int, run: AlignedRuns) -> tuple[np.ndarray, Bools]:
    """[entry]: a number for its query and its item; and whether it is in the first ranks and not relevant."""
    with np.errstate(over="ignore"):
        query, item = (_mixed(fingerprints(ids)) for ids in (run.queries, run.items))
        pair = query[run.query] * _MIX + item[run.item]
    known = solution.query_codes(run.queries)[run.query]
    entry = solution.ids.entries(known, solution.ids.item_codes(run.items)[run.item])
    relevant = np.append(solution.ideal.grade > 0, False)[entry]  # UNKNOWN is the last one
    return pair[run.candidate], ((known != UNKNOWN) & ~relevant)[run.candidate] & (run.rank <= depth)


def _of_lists(pair: np.ndarray, run: AlignedRuns) -> np.ndarray:
    """[query]: a number for the items of its list and their order."""
    numbers = np.zeros(len(run.queries), dtype=np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(numbers, run.query[run.candidate], _mixed(pair + run.rank.astype(np.uint64) * _MIX))
    return _mixed(numbers)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Bits that depend on all bits of each value. Source: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(values ^ (values >> np.uint64(31)))


def similar(sketches: Floats, teams: Sequence[str], most: int = 20) -> list[Similar]:
    """Compare all pairs of runs of different teams, given their sketches, [run, value]; the most similar first.

    A pair of a query and an item that n teams have in common counts 1 / (n - 1), so what many took from one baseline
    counts little. The sum of two runs is compared with the mean of either run over the runs of other teams, its largest
    one left out. The p-value is that of the Poisson distribution with the larger mean, times the number of pairs of
    runs. Returned are the first `most` pairs, and all with the same lists or a p-value of at most `LEVEL`.
    """
    need("scipy")
    from scipy.special import pdtrc  # noqa: PLC0415 (SciPy is slow to load)

    team = np.unique(np.array(teams), return_inverse=True)[1]
    other = team[:, None] != team
    common = np.where(other, _common(sketches[:, 2:], team), 0.0)
    first, second = (places.astype(np.int64) for places in np.nonzero(np.triu(other)))
    found, p_values = common[first, second], np.full(first.size, np.nan)
    if team.max(initial=-1) + 1 >= LEAST_TEAMS:
        usual = (common.sum(axis=1) - common.max(axis=1)) / np.maximum(other.sum(axis=1) - 1, 1)
        expected = np.maximum(np.maximum(usual[first], usual[second]), LEAST_EXPECTED)
        p_values = np.minimum(1.0, pdtrc(np.ceil(found) - 1, expected) * first.size)
        p_values[found < 1] = 1.0
    same = (sketches[first, :2] == sketches[second, :2]).all(axis=1)
    order = np.lexsort((-found, np.nan_to_num(p_values), ~same))
    order = order[: max(most, int((same | (p_values <= LEVEL)).sum()))]
    columns = (first, second, same, p_values)
    return list(starmap(Similar, zip(*(column[order].tolist() for column in columns), strict=True)))


def _common(samples: Floats, team: Ints) -> Floats:
    """[run, run]: the sum over the sampled pairs that both have in common."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (SciPy is slow to load)

    run, place = np.nonzero(samples != EMPTY)
    _, pair = np.unique(samples[run, place], return_inverse=True)
    teams = team.max(initial=0) + 1
    of_team = np.unique(pair * teams + team[run]) // teams
    sharing = np.bincount(of_team, minlength=pair.max(initial=-1) + 1)[pair]
    kept = (sharing >= 2) & (sharing <= MOST_SHARING)
    weight = np.sqrt(1 / np.maximum(sharing[kept] - 1, 1))
    of_runs = csr_array((weight, (run[kept], pair[kept])), shape=(len(samples), pair.max(initial=0) + 1))
    return np.asarray((of_runs @ of_runs.T).toarray())


def shared(solution: Solution, first: Run, second: Run, depth: int) -> Shared:
    """Count what two runs have in common in their first `depth` ranks. Raises SubmissionError."""
    parts: list[Ints] = []
    for_each_part([first, second], partial(_counted, solution, depth), parts)
    both, of_first, of_second, same = np.sum([np.zeros(4, dtype=np.int64), *parts], axis=0).tolist()
    return Shared(both / of_first if of_first else math.nan, both / of_second if of_second else math.nan, same)


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
