"""All fusion methods and normalisations by their names; Fusion, and FusedLists: several runs as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from scorer.errors import FusionError, ScorerError
from scorer.formats.reading.arrow import take
from scorer.measures.arrays import Floats, Ints
from scorer.runs import fusion, normalisation, voting
from scorer.runs.aligned import AlignedRuns, by_id_within_ties
from scorer.runs.methods import Given, Method, Weights
from scorer.runs.normalisation import Normalisation
from scorer.wording import counted, quoted

SORTED_AT_ONCE = 1024
"""The least number of candidates that are sorted together."""

METHODS: tuple[Method, ...] = tuple(
    sorted(
        (value for family in (fusion, voting) for value in vars(family).values() if isinstance(value, Method)),
        key=lambda method: method.uses,
    )
)
"""All methods: those that use ranks, then those that use scores, in the order of their declarations."""

NORMALISATIONS: tuple[Normalisation, ...] = tuple(
    value for value in vars(normalisation).values() if isinstance(value, Normalisation)
)

TRAINED = ("bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse")
"""Methods of ranx that are left out, because they must be trained on other runs."""

Named = TypeVar("Named", bound=Method | Normalisation)


def method_named(name: str) -> Method:
    """Return the method of this name. Raises FusionError."""
    if name.casefold() in TRAINED:
        raise FusionError(f"{quoted(name)} must be trained on other runs, which scorer does not do; {_known(METHODS)}")
    return _named(name, METHODS, "method")


def normalisation_named(name: str | None, method: Method) -> Normalisation:
    """Return the normalisation of this name for a method; None: min-max. Raises FusionError.

    A method that uses ranks needs none, but for one that inverts the lists.
    """
    chosen = normalisation.min_max if name is None else _named(name, NORMALISATIONS, "normalisation")
    if method.uses == "ranks" and chosen is not normalisation.min_max_inverted:
        return normalisation.unchanged
    return chosen


def _named(name: str, known: Sequence[Named], what: str) -> Named:
    for declared in known:
        if name.casefold() in (declared.name, *declared.aliases):
            return declared
    close = get_close_matches(name.casefold(), [declared.name for declared in known], 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise FusionError(f"no {what} is called {quoted(name)}{hint}; {_known(known)}")


def _known(known: Sequence[Method | Normalisation]) -> str:
    return f"there are {', '.join(declared.name for declared in known)}"


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """A method with its parameters, and the normalisation of the runs before it."""

    method: Method
    normalisation: Normalisation
    settings: Mapping[str, float | Weights]

    @classmethod
    def named(cls, method: str, norm: str | None, parameters: Mapping[str, Given], runs: int) -> Fusion:
        """The fusion of these names for a number of runs. Raises FusionError."""
        if runs < 2:
            raise FusionError(f"found {counted(runs, 'run')}; expected two or more to fuse")
        chosen = method_named(method)
        return cls(chosen, normalisation_named(norm, chosen), chosen.settings(parameters, runs))

    def scores(self, runs: AlignedRuns) -> Floats:
        """[candidate]: the fused scores of normalised runs. Raises ScorerError where one is too large for a float64."""
        with np.errstate(all="ignore"):
            scores = self.method(runs, self.settings)
        wrong = np.flatnonzero(~np.isfinite(scores))
        if wrong.size:
            query = runs.queries[int(runs.query[wrong[0]])].as_py()
            raise ScorerError(
                f"the scores of query {quoted(query)} are too large to be fused by {self.method.name}; choose a method "
                "that uses ranks, such as rrf"
            )
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class FusedLists:
    """The fused lists of some queries, each in the order of its ranks."""

    queries: pa.StringArray
    """[query]: ids."""
    items: pa.StringArray
    """[item]: ids."""
    query: Ints
    """[row]: its query; ascending."""
    item: Ints
    """[row]: its item."""
    score: Floats
    """[row]"""
    rank: Ints
    """[row]: from 1."""
    counts: Counts

    @classmethod
    def of(cls, runs: AlignedRuns, fusion: Fusion, depth: int | None) -> FusedLists:
        """Fuse runs, and keep the first `depth` items of each list; None: all."""
        with np.errstate(all="ignore"):
            normalised = fusion.normalisation(runs)
        score = fusion.scores(normalised)
        order, rank = best_first(runs, score, depth)
        return cls(
            runs.queries,
            runs.items,
            runs.query[order],
            runs.item[order],
            score[order],
            rank,
            Counts(
                queries=len(runs.queries),
                items=order.size,
                lists=np.count_nonzero(runs.length.reshape(-1, runs.runs), axis=0),
                repeated=runs.repeated,
            ),
        )

    def table(self) -> pa.Table:
        """The rows as an Arrow table of query, item, score and rank."""
        return pa.table(
            {
                "query": take(self.queries, self.query),
                "item": take(self.items, self.item),
                "score": pa.DoubleArray.from_buffers(
                    pa.float64(), self.score.size, [None, pa.py_buffer(np.ascontiguousarray(self.score))]
                ),
                "rank": pa.Int64Array.from_buffers(
                    pa.int64(), self.rank.size, [None, pa.py_buffer(np.ascontiguousarray(self.rank))]
                ),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What was fused."""

    queries: int = 0
    items: int = 0
    """The items of all fused lists."""
    lists: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """[run]: the number of queries that it has."""
    repeated: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """[run]: the number of items that were left out, because an earlier one of the same list has the same id."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.queries + other.queries,
            self.items + other.items,
            self.lists + other.lists,
            self.repeated + other.repeated,
        )


def best_first(runs: AlignedRuns, score: Floats, depth: int | None) -> tuple[Ints, Ints]:
    """The first `depth` candidates of each query (None: all) by falling score, [candidate], and their ranks, from 1.

    Equal scores are ordered by item id, descending.
    """
    candidates = runs.candidates
    start = np.cumsum(candidates) - candidates
    order = _falling(runs.query, score, start)
    query = runs.query[order]
    rank = np.arange(order.size) - start[query] + 1
    sorted_score = score[order]
    tied = (query[1:] == query[:-1]) & (sorted_score[1:] == sorted_score[:-1])
    if depth is not None:
        # A tie group that begins beyond the depth is cut as a whole.
        first_rank = np.maximum.accumulate(np.append(0, np.where(tied, 0, np.arange(1, order.size)))[: order.size])
        tied &= (rank[first_rank] <= depth)[1:]
    if tied.any():
        order = by_id_within_ties(tied, order, runs.items, runs.item)
    return (order, rank) if depth is None else (order[rank <= depth], rank[rank <= depth])


def _falling(query: Ints, score: Floats, start: Ints) -> Ints:
    """The candidates by query and falling score, equal scores in any order.

    Sorting many short stretches of whole queries is faster than sorting all candidates at once.
    """
    falling = -score
    order = np.empty(query.size, dtype=np.int64)
    edges = np.arange(0, query.size, SORTED_AT_ONCE)
    begins = np.unique(start[np.searchsorted(start, edges, side="right") - 1])
    for begin, end in pairwise([*begins.tolist(), query.size]):
        part = falling[begin:end]
        one_query = query[begin] == query[end - 1]
        order[begin:end] = (np.argsort(part) if one_query else np.lexsort((part, query[begin:end]))) + begin
    return order
