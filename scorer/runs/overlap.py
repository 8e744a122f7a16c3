"""overlap(): how similar runs are, pair by pair and query by query; and pool(): what they list that is not judged."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from scorer.errors import ScorerError, need_libraries
from scorer.lists.reading.arrow import take
from scorer.lists.solution import UNKNOWN, Solution, is_excluded
from scorer.measures.kinds import Measure, kind
from scorer.measures.matched import About, Bools, Floats, Ints, ratio
from scorer.measures.names import Registry
from scorer.measures.user_models import extrapolated_overlap
from scorer.options import DEFAULT_SIMILARITIES
from scorer.runs import AlignedRuns, Run, Runs, for_each_part, runs_of
from scorer.wording import counted, html_table, quoted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class PairedLists:
    """The lists of two runs for some queries. All arrays [item] have the items that both lists of a query have."""

    query: Ints
    """[item]: its query; ascending."""
    first: Ints
    """[item]: its rank in the list of the first run, from 1."""
    second: Ints
    """[item]: its rank in the list of the second run, from 1."""
    first_length: Ints
    """[query]: the number of items in the list of the first run."""
    second_length: Ints
    """[query]"""

    @property
    def queries(self) -> int:
        return self.first_length.size

    @property
    def in_both(self) -> Bools:
        """[query]: whether both lists have items."""
        return np.asarray((self.first_length > 0) & (self.second_length > 0))

    @property
    def shorter(self) -> Ints:
        """[query]: the length of the shorter list."""
        return np.minimum(self.first_length, self.second_length)

    @property
    def longer(self) -> Ints:
        """[query]: the length of the longer list."""
        return np.maximum(self.first_length, self.second_length)

    @property
    def depth(self) -> Ints:
        """[item]: the depth from which on both lists have the item."""
        return np.maximum(self.first, self.second)

    def top(self, k: int | None) -> PairedLists:
        """Return the first `k` items of each list; all of them if `k` is None."""
        if k is None:
            return self
        kept = self.depth <= k
        return PairedLists(
            self.query[kept],
            self.first[kept],
            self.second[kept],
            np.minimum(self.first_length, k),
            np.minimum(self.second_length, k),
        )

    def total(self, values: Floats | None = None) -> Floats:
        """[query]: the sum of the values [item]; None counts the items."""
        return np.asarray(np.bincount(self.query, values, minlength=self.queries), dtype=np.float64)

    def reversed(self) -> PairedLists:
        """Return the same lists with the second run as the first."""
        return PairedLists(self.query, self.second, self.first, self.second_length, self.first_length)


def pairs_of(aligned: AlignedRuns) -> Iterator[PairedLists]:
    """Return the lists of all pairs of runs: 1 and 2, 1 and 3, ..., 2 and 3, ..."""
    by_run = np.argsort(aligned.run, kind="stable")
    ends = np.cumsum(np.bincount(aligned.run, minlength=aligned.runs))
    entries = np.split(by_run, ends[:-1])
    length = aligned.length.reshape(len(aligned.queries), aligned.runs)
    rank = np.zeros((2, aligned.query.size), dtype=np.int64)
    for first, second in combinations(range(aligned.runs), 2):
        for of_run, entry in zip(rank, (entries[first], entries[second]), strict=True):
            of_run[:] = 0
            of_run[aligned.candidate[entry]] = aligned.rank[entry]
        shared = np.flatnonzero((rank > 0).all(axis=0))
        yield PairedLists(aligned.query[shared], rank[0, shared], rank[1, shared], length[:, first], length[:, second])


def _places(query: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """Return the order of items by query and rank, and the place of each item in its query, from 0.

    Both are [item]: queries ascend, and the items of a query have different ranks.
    """
    order = np.argsort(query * (rank.max(initial=0) + 1) + rank, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return order, place - np.searchsorted(query, query)


def lower_before(query: Ints, value: Ints) -> Ints:
    """Count, for each entry, the earlier entries of its query that have a lower value.

    Queries ascend; the values of a query are 0, 1, 2, ... in any order. The entries of a query are split by the bits of
    their values, the highest bit first, each half in the given order: where two values differ first, the lower one is
    in the half with 0. This takes as many steps as values have bits.
    """
    start = np.searchsorted(query, query)
    count = np.zeros_like(value)
    order = np.arange(value.size)
    for bit in reversed(range(int(value.max(initial=0)).bit_length())):
        split, begin = value[order], start[order]
        group = begin + ((split >> bit + 1) << bit + 1)
        is_low = (split >> bit & 1) == 0
        before = np.cumsum(is_low) - is_low
        low_before = before - before[group]
        count[order] += np.where(is_low, 0, low_before)
        high_before = np.arange(value.size) - group - low_before
        moved = np.empty_like(order)
        moved[begin + ((split >> bit) << bit) + np.where(is_low, low_before, high_before)] = order
        order = moved
    return count


_Persistence = Annotated[float, About(least=0.001, most=0.9999)]
Estimate = Literal["ext", "min", "max", "res"]
Reference = Literal["both", "first", "second"]


@kind(name="RBO")
def rank_biased_overlap(
    lists: PairedLists, k: int | None, *, p: _Persistence = 0.9, estimate: Estimate = "ext"
) -> Floats:
    """The share of items that both lists have, averaged over all depths, with more weight at the top."""
    lists = lists.top(k)
    if estimate == "ext":
        lengths = lists.first_length, lists.second_length
        return ratio(extrapolated_overlap(lists.query, (lists.first, lists.second), lengths, p), 1, lists.in_both)
    shared, shorter, longer = lists.total(), np.maximum(lists.shorter, 1), np.maximum(lists.longer, 1)
    full = np.maximum(longer + shorter - shared.astype(np.int64), 1)
    depths = np.arange(1, int(full.max(initial=0)) + 1)
    weights = np.cumsum(np.append(0, p**depths / depths))
    seen = lists.total(weights[longer[lists.query]] - weights[lists.depth - 1])
    power = np.power(p, np.arange(depths.size + 1))
    rest = -np.log(1 - p)  # the sum of the weights of all depths
    lowest = (1 - p) / p * (seen + shared * (rest - weights[longer]))
    missed = shorter * (weights[full] - weights[shorter]) + longer * (weights[full] - weights[longer])
    missed += shared * (rest - weights[full])
    residual = power[shorter] + power[longer] - power[full] - (1 - p) / p * missed
    values = {"min": lowest, "max": lowest + residual, "res": residual}[estimate]
    return ratio(np.clip(values, 0, 1), 1, lists.in_both)


@kind(name="AO")
def average_overlap(lists: PairedLists, k: int | None) -> Floats:
    """The share of items that both lists have, averaged over the depths up to k."""
    lists = lists.top(k)
    longer = lists.longer
    weights = np.cumsum(np.append(0, 1 / np.arange(1, int(longer.max(initial=0)) + 1)))
    seen = lists.total(weights[longer[lists.query]] - weights[lists.depth - 1])
    return ratio(seen, np.maximum(longer, 1).astype(np.float64), lists.in_both)


@kind(name="Jaccard")
def jaccard(lists: PairedLists, k: int | None) -> Floats:
    """The share of the items of either list that both lists have, regardless of their order."""
    lists = lists.top(k)
    shared = lists.total()
    either = lists.first_length + lists.second_length - shared
    return ratio(shared, np.maximum(either, 1), lists.in_both)


@kind(name="Overlap")
def overlap_of_sets(lists: PairedLists, k: int | None) -> Floats:
    """The share of the first k items that both lists have, regardless of their order."""
    lists = lists.top(k)
    return ratio(lists.total(), np.maximum(lists.longer, 1).astype(np.float64), lists.in_both)


@kind(name="tau", bounded=False, aliases={"kendall": {}, "kendalltau": {}})
def kendall(lists: PairedLists, k: int | None) -> Floats:
    """The correlation of the two orders of the items that both lists have, from -1 to 1."""
    lists = lists.top(k)
    shared = lists.total()
    alike, pairs = lists.total(_earlier_in_both(lists)), shared * (shared - 1) / 2
    return ratio(2 * alike - pairs, pairs, shared > 1)


@kind(name="tauAP", bounded=False)
def ap_correlation(lists: PairedLists, k: int | None, *, reference: Reference = "both") -> Floats:
    """The correlation of the two orders of the items that both lists have, with more weight at the top."""
    lists = lists.top(k)
    if reference == "both":
        return (_by_reference(lists) + _by_reference(lists.reversed())) / 2
    return _by_reference(lists if reference == "second" else lists.reversed())


def _by_reference(lists: PairedLists) -> Floats:
    """[query]: the AP correlation of the first list with the second, which is the reference."""
    shares = _earlier_in_both(lists) / np.maximum(_places(lists.query, lists.first)[1], 1)
    shared = lists.total()
    return 2 * ratio(lists.total(shares), np.maximum(shared - 1, 1), shared > 1) - 1


def _earlier_in_both(lists: PairedLists) -> Floats:
    """[item]: the number of shared items that are before the item in both lists."""
    order, _ = _places(lists.query, lists.first)
    counts = np.empty(order.size)
    counts[order] = lower_before(lists.query, _places(lists.query, lists.second)[1][order])
    return counts


SIMILARITIES = (rank_biased_overlap, average_overlap, jaccard, overlap_of_sets, kendall, ap_correlation)

similarity_registry = Registry(SIMILARITIES, listing="`scorer overlap --measures` lists all")


def similarity(measure: Measure, lists: PairedLists) -> Floats:
    """[query]: the similarity of both lists; NaN where it is undefined, and where a run does not have the query."""
    return measure.kind.function(lists, measure.cutoff, **measure.settings)


@dataclass(frozen=True, slots=True, eq=False)
class RunPair:
    """The similarity of two runs."""

    first: str
    """The name of the first run."""
    second: str
    queries: tuple[str, ...]
    """The queries that both runs have."""
    per_query: Mapping[str, Floats]
    """By measure, [query]: the similarity of the lists; NaN where it is undefined."""

    @property
    def means(self) -> dict[str, float]:
        """By measure, the mean over the queries for which it is defined; NaN if it is undefined for all."""
        return {measure: _mean(values) for measure, values in self.per_query.items()}

    @property
    def undefined(self) -> dict[str, int]:
        """By measure, the number of queries for which it is undefined."""
        return {measure: int(np.isnan(values).sum()) for measure, values in self.per_query.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """The similarity of each pair of runs; ``overlaps["bm25", "dense"]`` is a `RunPair`."""

    runs: tuple[str, ...]
    """The names of the runs."""
    measures: Mapping[str, Measure]
    """The measures by their requested names."""
    pairs: tuple[RunPair, ...]
    """First and second run, first and third, and so on."""
    queries: int
    """The number of queries that any of the runs has."""
    missing: Mapping[str, int]
    """By run, the number of these queries that it does not have."""
    repeated: Mapping[str, int]
    """By run, the number of repeated items; each item counts once, at its first rank."""

    def __getitem__(self, names: tuple[str, str]) -> RunPair:
        pair = next((pair for pair in self.pairs if (pair.first, pair.second) == names), None)
        if pair is None:
            raise KeyError(names)
        return pair

    def to_frame(self, *, per_query: bool = False) -> pd.DataFrame:
        """Return a row for each pair, or for each query of each pair, and a column for each measure."""
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load)

        heads = ["first", "second", *(["query"] if per_query else []), *self.measures]
        rows: list[tuple[str | float, ...]] = []
        for pair in self.pairs:
            if per_query:
                columns = [values.tolist() for values in pair.per_query.values()]
                rows += [(pair.first, pair.second, *row) for row in zip(pair.queries, *columns, strict=True)]
            else:
                rows.append((pair.first, pair.second, *pair.means.values()))
        return pd.DataFrame(rows, columns=heads)

    def __repr__(self) -> str:
        return f"Overlaps({', '.join(self.runs)}, measures={list(self.measures)!r}, queries={self.queries})"

    def _repr_html_(self) -> str:
        rows = [[pair.first, pair.second, *(f"{mean:.4f}" for mean in pair.means.values())] for pair in self.pairs]
        return html_table(["first", "second", *self.measures], rows, counted(self.queries, "query", "queries"))


def overlap(
    runs: Runs,
    measures: str | Iterable[str] = DEFAULT_SIMILARITIES,
    *,
    depth: int | None = None,
    submission_format: str | None = None,
) -> Overlaps:
    """Measure how similar the lists of runs are, for each pair of two or more runs.

    Parameters
    ----------
    runs
        A list of runs, or a dict of runs by name: each a path or anything else that `evaluate` takes as a submission.
        Items are ordered by run score, equal scores by item id, both descending. A repeated item counts once.
    measures
        Names of measures, as "RBO(p=0.95)", "Jaccard@10", "Overlap@10", "AO@10", "tau" or "tauAP"; `scorer overlap
        --measures` explains them.
    depth
        The number of items of each list to compare; None: all.
    submission_format
        The format of the runs, with options as in "letor:feature=21"; None: it is detected.

    Returns
    -------
    Overlaps
        The means of each pair and its scores for each query. A query that only one run of a pair has is left out.

    Raises
    ------
    MeasureError
        There is no such measure or parameter.
    SubmissionError
        A run cannot be read or is invalid.
    ScorerError
        There are fewer than two runs, two with one name, or the depth is not a number of items.
    """
    named = _named(runs, submission_format)
    requested = {
        name: measure
        for text in ([measures] if isinstance(measures, str) else measures)
        for listed in similarity_registry.listed(text)
        for name, measure in similarity_registry.named(listed).items()
    }
    _check_depth(depth)
    parts: list[tuple[list[str], Floats, Bools, Ints]] = []

    def compared(aligned: AlignedRuns) -> tuple[list[str], Floats, Bools, Ints]:
        """[query]; [measure, pair, query]: the similarities; [run, query]: whether it has the query; [run]: repeated"""
        scores = [
            [similarity(measure, lists.top(depth)) for measure in requested.values()] for lists in pairs_of(aligned)
        ]
        answered = aligned.length.reshape(len(aligned.queries), aligned.runs).T > 0
        return aligned.queries.to_pylist(), np.array(scores).swapaxes(0, 1), answered, aligned.repeated

    for_each_part(list(named.values()), compared, parts)
    queries = np.array([query for part in parts for query in part[0]], dtype=object)
    scores = np.concatenate([part[1] for part in parts], axis=2)
    has = dict(zip(named, np.concatenate([part[2] for part in parts], axis=1), strict=True))
    pairs = []
    for number, (one, other) in enumerate(combinations(named, 2)):
        both = has[one] & has[other]
        per_query = {name: scores[place, number, both] for place, name in enumerate(requested)}
        pairs.append(RunPair(one, other, tuple(queries[both]), per_query))
    return Overlaps(
        tuple(named),
        requested,
        tuple(pairs),
        queries.size,
        missing={run: int((~of_run).sum()) for run, of_run in has.items()},
        repeated=dict(zip(named, np.sum([part[3] for part in parts], axis=0).tolist(), strict=True)),
    )


def _check_depth(depth: object) -> None:
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
        raise ScorerError(f"depth: expected a whole number of 1 or more; found {depth!r}")


def _named(runs: Runs, submission_format: str | None) -> dict[str, Run]:
    """The runs with their names: those of the dict, the paths, or numbers."""
    read = runs_of(runs, submission_format, ScorerError)
    if len(read) < 2:
        raise ScorerError(f"found {counted(len(read), 'run')}; expected two or more to compare")
    names = list(map(str, runs)) if isinstance(runs, Mapping) else [run.name for run in read]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ScorerError(f"{quoted(twice)} is listed twice; list each run once, or name the runs in a dict")
    return dict(zip(names, read, strict=True))


def _mean(values: Floats) -> float:
    """The mean of the defined values; an exactly rounded sum does not depend on their order."""
    defined = values[~np.isnan(values)]
    return math.fsum(defined) / defined.size if defined.size else math.nan


_HEADS = ("query", "item", "grade")
"""The columns of a pool; assessors fill in the last one."""


def pool(solution: Solution, runs: Iterable[Run], depth: int, seed: int) -> list[tuple[str, str]]:
    """The unjudged items in the first `depth` ranks of any run, with their queries.

    Queries are in the order of the solution. The items of each are in an order that only the seed, the query and the
    item decide, so it says nothing about ranks and runs, and stays when runs are added. Raises SubmissionError.
    """
    found: set[tuple[int, str]] = set()
    for run in runs:
        parts: list[list[tuple[int, str]]] = []
        for_each_part([run], partial(_unjudged, solution, depth), parts)
        found.update(*parts)
    queries = solution.queries.to_pylist()

    def place(pair: tuple[int, str]) -> tuple[int, bytes]:
        return pair[0], hashlib.sha256(f"{seed}\0{queries[pair[0]]}\0{pair[1]}".encode()).digest()

    return [(queries[number], item) for number, item in sorted(found, key=place)]


def _unjudged(solution: Solution, depth: int, run: AlignedRuns) -> list[tuple[int, str]]:
    """The numbers of the queries, and the items, of the lists of one run."""
    query, item, rank = solution.query_codes(run.queries)[run.query], take(run.items, run.item), run.rank
    kept = query != UNKNOWN
    if solution.excluded is not None:
        removed = is_excluded(solution.excluded, take(run.queries, run.query), item)
        order = np.lexsort((rank, run.query))
        count, first = np.cumsum(removed[order]), np.searchsorted(run.query[order], run.query[order])
        rank, kept = rank.copy(), kept & ~removed
        rank[order] -= count - (count - removed[order])[first]
    entry = solution.ids.entries(query, solution.ids.item_codes(run.items)[run.item])
    ideal = solution.ideal
    judged = np.append((ideal.grade >= 0) | (ideal.tie_rank > 0), False)[entry]  # UNKNOWN is the last one
    chosen = np.flatnonzero(kept & ~judged & (rank <= depth))
    return list(zip(query[chosen].tolist(), take(item, chosen).to_pylist(), strict=True))


def pool_text(pairs: Iterable[tuple[str, str]]) -> str:
    """The pool as text: columns with tabs between them, and an empty grade in each row."""
    text = io.StringIO()
    rows = csv.writer(text, delimiter="\t", lineterminator="\n")
    rows.writerow(_HEADS)
    rows.writerows((*pair, "") for pair in pairs)
    return text.getvalue()
