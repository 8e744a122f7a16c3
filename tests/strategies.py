"""Hypothesis strategies for solutions, submissions and scores, and a slow function that matches the first two."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scorer.measures import KINDS, Kind, Measure, Parameter, ParameterValue
from scorer.measures.matched import Floats, JudgedItems, Matched, Subtopics

Solution = Mapping[str, Mapping[str, float]]
Divided = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Query -> item -> subtopic -> grade."""
Submission = Mapping[str, Sequence[str]]

FACTOR = float(os.environ.get("SCORER_TEST_EXAMPLES", "0.2"))
"""How many times the usual number of examples is drawn. `make test` draws the same ones each time, so that more of them
find little; `make endurance` draws many, and new ones."""
FEWEST = 3
"""Examples that are drawn with any factor."""


def number(count: int) -> int:
    """How many examples are drawn of a property for which this many are usual."""
    return max(min(count, FEWEST), round(count * FACTOR))


def examples(count: int, suppress_health_check: Sequence[HealthCheck] = ()) -> settings:
    """Settings of a property for which this many examples are usual."""
    return settings(max_examples=number(count), deadline=None, suppress_health_check=suppress_health_check)


def rest(cases: Iterable[object]) -> list[Any]:
    """The parameters of cases that take the same way through the code as others: `make endurance` runs them."""
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*each, marks=pytest.mark.endurance) for each in values]


def some(cases: Iterable[object], *kept: object) -> list[Any]:
    """The parameters of cases, of which `make test` runs the kept ones."""
    return [*kept, *rest(each for each in cases if each not in kept)]


QUERIES = ("q1", "q2", "007", "NA")
ITEMS = tuple("abcdefghijkl")
JUNK = tuple("uvwxyz")
"""Items that no solution lists."""

GRADES = (-1.0, 0.0, 0.3, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 7.5, 40.0)


def solutions(grades: Sequence[float] = GRADES) -> st.SearchStrategy[Solution]:
    """Queries with graded items, also without relevant items or any; grades tie, and may be fractional or negative."""
    graded = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from(grades), max_size=len(ITEMS))
    return st.dictionaries(st.sampled_from(QUERIES), graded, min_size=1)


SUBTOPICS = ("1", "2", "10", "x")


def divided_solutions(grades: Sequence[float] = GRADES) -> st.SearchStrategy[Divided]:
    """As `solutions`, with a grade for each of some subtopics of an item."""
    by_subtopic = st.dictionaries(st.sampled_from(SUBTOPICS), st.sampled_from(grades), min_size=1)
    graded = st.dictionaries(st.sampled_from(ITEMS), by_subtopic, max_size=len(ITEMS))
    return st.dictionaries(st.sampled_from(QUERIES), graded, min_size=1)


def undivided(solution: Solution | Divided) -> Solution:
    """The grades without subtopics: the highest of each item."""
    return {
        query: {item: max(each.values()) if isinstance(each, Mapping) else each for item, each in grades.items()}
        for query, grades in solution.items()
    }


def submissions() -> st.SearchStrategy[Submission]:
    """Ranked lists for some queries, one of them unknown; lists may be empty, with repeated and unjudged items."""
    ranked = st.lists(st.sampled_from(ITEMS + ITEMS + JUNK), max_size=16)
    return st.dictionaries(st.sampled_from([*QUERIES, "unknown"]), ranked)


def measures() -> st.SearchStrategy[Measure]:
    """Any measure, with any cut-off and parameters."""
    return st.sampled_from(KINDS).flatmap(_measures_of)


def _measures_of(kind: Kind) -> st.SearchStrategy[Measure]:
    ranks = st.integers(1, 1000)
    cutoffs: dict[str, st.SearchStrategy[object]] = {
        "none": st.none(),
        "optional": st.none() | ranks,
        "required": ranks,
        "list": st.lists(ranks, min_size=1, max_size=6, unique=True),
        "level": st.floats(0, 1),
        "multiple": st.floats(0.001, 1000),
    }
    parameters = {each.name: _values_of(each) for each in kind.parameters}
    given = st.fixed_dictionaries({}, optional=parameters)
    return st.builds(kind.measure, cutoffs[kind.cutoff], given)


def _values_of(parameter: Parameter) -> st.SearchStrategy[ParameterValue]:
    values: list[st.SearchStrategy[ParameterValue]] = []
    if parameter.words:
        values.append(st.sampled_from(parameter.words))
    if parameter.numeric:
        values.append(st.floats(max(parameter.about.least, -1e9), min(parameter.about.most, 1e9)))
    if parameter.mapped:
        maps = st.dictionaries(st.sampled_from(GRADES), st.floats(0, 1e6), min_size=1, max_size=4)
        values.append(maps.map(lambda gains: tuple(sorted(gains.items()))))
    return st.one_of(values)


Entry = tuple[int, int, float, int, str]
"""The number of a query, the rank, the grade, the tie rank and the id of an item."""


def matched(solution: Solution | Divided, submission: Submission, *, listed_is_relevant: bool = False) -> Matched:
    """Match a submission with a solution, item by item; `listed_is_relevant` as for a solution in VL.NET's format."""
    found: list[Entry] = []
    ideal: list[Entry] = []
    for query, (name, grades) in enumerate(undivided(solution).items()):
        relevant = {item for item, grade in grades.items() if listed_is_relevant or grade > 0}
        tie_rank = {
            item: 1 + sum(grades[other] > grades[item] for other in relevant) if item in relevant else 0
            for item in grades
        }
        best_first = [item for _, item in sorted((-grade, item) for item, grade in grades.items())]
        for entries, ranked in ((found, submission.get(name, ())), (ideal, best_first)):
            for rank, item in enumerate(ranked, 1):
                if item in grades and item not in ranked[: rank - 1]:
                    entries.append((query, rank, grades[item], tie_rank[item], item))
    retrieved = np.array([len(submission.get(query, ())) for query in solution], dtype=np.int64)
    if not any(isinstance(each, Mapping) for grades in solution.values() for each in grades.values()):
        return Matched(_hits(found), _hits(ideal), retrieved)
    index = {(entry[0], entry[-1]): at for at, entry in enumerate(ideal)}
    hits, every = (
        replace(_hits(each), entry=np.array([index[entry[0], entry[-1]] for entry in each], dtype=np.int64))
        for each in (found, ideal)
    )
    return Matched(hits, replace(every, subtopics=_subtopics(cast("Divided", solution), ideal)), retrieved)


def _subtopics(solution: Divided, ideal: Sequence[Entry]) -> Subtopics:
    pairs: list[list[tuple[int, float]]] = []
    id_rank: list[int] = []
    for query, (_, grades) in enumerate(solution.items()):
        names = sorted({name for each in grades.values() for name in each}, key=lambda name: (len(name), name))
        for number, _, _, _, item in ideal:
            if number == query:
                pairs.append(sorted((names.index(name), grade) for name, grade in grades[item].items()))
                id_rank.append(1 + sum(other.encode() > item.encode() for other in grades))
    return Subtopics(
        first=np.cumsum([0, *map(len, pairs)]),
        subtopic=np.array([subtopic for each in pairs for subtopic, _ in each], dtype=np.int64),
        grade=np.array([grade for each in pairs for _, grade in each], dtype=np.float64),
        id_rank=np.array(id_rank, dtype=np.int64),
    )


def _hits(entries: Sequence[Entry]) -> JudgedItems:
    columns = list(zip(*entries, strict=True)) or [(), (), (), (), ()]
    query, rank, grade, tie_rank, _ = columns
    return JudgedItems(
        np.array(query, dtype=np.int64),
        np.array(rank, dtype=np.int64),
        np.array(grade, dtype=np.float64),
        np.array(tie_rank, dtype=np.int64),
    )


def score_tables(
    *, submissions: tuple[int, int] = (0, 6), queries: tuple[int, int] = (0, 12), missing: bool = True
) -> st.SearchStrategy[Floats]:
    """Scores, [submission, query], within these numbers of both; coarse, so that they tie; NaN where undefined."""
    values = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1 / 3, 0.5, 2 / 3, 1.0, *([float("nan")] if missing else [])])
    shapes = st.tuples(st.integers(*submissions), st.integers(*queries))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))
