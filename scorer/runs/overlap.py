"""overlap(): how similar runs are, pair by pair and query by query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from scorer.errors import ScorerError
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.kinds import Measure
from scorer.runs.aligned import AlignedRuns
from scorer.runs.alignment import for_each_part
from scorer.runs.reading import Run, Runs, runs_of
from scorer.runs.similarity import DEFAULT, pairs_of, registry, similarity
from scorer.wording import counted, html_table, quoted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
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
    """The similarity of each pair of runs; ``overlaps["bm25", "dense"]`` is a `Pair`."""

    runs: tuple[str, ...]
    """The names of the runs."""
    measures: Mapping[str, Measure]
    """The measures by their requested names."""
    pairs: tuple[Pair, ...]
    """First and second run, first and third, and so on."""
    queries: int
    """The number of queries that any of the runs has."""
    missing: Mapping[str, int]
    """By run, the number of these queries that it does not have."""
    repeated: Mapping[str, int]
    """By run, the number of repeated items; each item counts once, at its first rank."""

    def __getitem__(self, names: tuple[str, str]) -> Pair:
        pair = next((pair for pair in self.pairs if (pair.first, pair.second) == names), None)
        if pair is None:
            raise KeyError(names)
        return pair

    def to_frame(self, *, per_query: bool = False) -> pd.DataFrame:
        """Return a row for each pair, or for each query of each pair, and a column for each measure."""
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
        """The table that a notebook shows."""
        rows = [[pair.first, pair.second, *(f"{mean:.4f}" for mean in pair.means.values())] for pair in self.pairs]
        return html_table(["first", "second", *self.measures], rows, counted(self.queries, "query", "queries"))


def overlap(
    runs: Runs,
    measures: str | Iterable[str] = DEFAULT,
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
    requested = requested_measures(measures)
    _check_depth(depth)
    parts: list[_Part] = []

    def compared(aligned: AlignedRuns) -> _Part:
        scores = [
            [similarity(measure, lists.top(depth)) for measure in requested.values()] for lists in pairs_of(aligned)
        ]
        answered = aligned.length.reshape(len(aligned.queries), aligned.runs).T > 0
        return _Part(aligned.queries.to_pylist(), np.array(scores).swapaxes(0, 1), answered, aligned.repeated)

    for_each_part(list(named.values()), compared, parts.append, parts.clear)
    return _overlaps(list(named), requested, parts)


def _check_depth(depth: object) -> None:
    """Raise ScorerError unless the depth is a number of items."""
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
        raise ScorerError(f"depth: expected a whole number of 1 or more; found {depth!r}")


def requested_measures(names: str | Iterable[str]) -> dict[str, Measure]:
    """Return the measures by their requested names. Raises MeasureError for an unknown name."""
    texts = [names] if isinstance(names, str) else list(names)
    return {
        name: measure
        for text in texts
        for listed in registry.listed(text)
        for name, measure in registry.named(listed).items()
    }


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


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The similarity of all pairs for some queries."""

    queries: list[str]
    scores: Floats
    """[measure, pair, query]"""
    answered: Bools
    """[run, query]: whether the run has the query."""
    repeated: Ints
    """[run]"""


def _overlaps(names: Sequence[str], measures: Mapping[str, Measure], parts: Sequence[_Part]) -> Overlaps:
    """The results of all parts in one."""
    queries = np.array([query for part in parts for query in part.queries], dtype=object)
    scores = np.concatenate([part.scores for part in parts], axis=2)
    answered = np.concatenate([part.answered for part in parts], axis=1)
    pairs = []
    for number, (first, second) in enumerate(combinations(range(len(names)), 2)):
        both = answered[first] & answered[second]
        per_query = {name: scores[place, number, both] for place, name in enumerate(measures)}
        pairs.append(Pair(names[first], names[second], tuple(queries[both]), per_query))
    missing = (~answered).sum(axis=1).tolist()
    repeated = np.sum([part.repeated for part in parts], axis=0).tolist()
    return Overlaps(
        tuple(names),
        measures,
        tuple(pairs),
        queries.size,
        dict(zip(names, missing, strict=True)),
        dict(zip(names, repeated, strict=True)),
    )


def _mean(values: Floats) -> float:
    """The mean of the defined values; an exactly rounded sum does not depend on their order."""
    defined = values[~np.isnan(values)]
    return math.fsum(defined) / defined.size if defined.size else math.nan
