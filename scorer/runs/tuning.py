"""tune(): the parameter of a fusion method that is best by a measure, from a grid of values."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from scorer.errors import FusionError, need_libraries
from scorer.lists.match import AHEAD, ordered
from scorer.lists.reading.arrow import id_order
from scorer.lists.solution import UNKNOWN, Solution, Source
from scorer.measures import Measure, parse_one
from scorer.measures.matched import Ints, JudgedItems, Matched, Parameter
from scorer.runs import AlignedRuns, Runs, for_each_part, runs_of
from scorer.runs.fuse import METHODS, Fusion, check_depth, method_named, normalisation_named
from scorer.runs.fusion import STEP, GivenParameter, Normalisation, Weights, value_of
from scorer.scoring.outcomes import aggregated, check_gains
from scorer.wording import counted, html_table

if TYPE_CHECKING:
    import pandas as pd

MAX_TRIALS = 100_000

_Value = float | tuple[float, ...]
"""The value of the parameter: a number, or a weight for each run."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A value of the parameter, and the score of the fused run."""

    value: _Value
    score: float
    """NaN where the measure is undefined for all queries."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The scores of a method with different values of a parameter."""

    method: str
    """The name of the method."""
    parameter: str
    """The name of the parameter."""
    measure: str
    """The name of the measure, whose mean each trial has."""
    trials: tuple[Trial, ...]
    """In the order of the grid."""

    @property
    def best(self) -> Trial:
        """The trial with the highest score; the last one of equals, as in ranx."""
        return max(reversed(self.trials), key=lambda trial: -math.inf if math.isnan(trial.score) else trial.score)

    @property
    def parameters(self) -> dict[str, _Value]:
        """The parameter with its best value, as keyword arguments for `fuse`."""
        return {self.parameter: self.best.value}

    def to_frame(self) -> pd.DataFrame:
        """A row for each trial: the value of the parameter, and the score. Weights have a column for each run."""
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        return pd.DataFrame(self.rows(), columns=self.columns())

    def _repr_html_(self) -> str:
        rows = [[f"{number:.4f}" for number in row] for row in self.rows()]
        return html_table(self.columns(), rows, f"{self.method}: the best {self.parameter} is {self.best.value}")

    def columns(self) -> list[str]:
        """The names of the columns of `rows`."""
        value = self.trials[0].value
        names = [f"weight_{run}" for run in range(1, len(value) + 1)] if isinstance(value, tuple) else [self.parameter]
        return [*names, self.measure]

    def rows(self) -> list[list[float]]:
        """A row for each trial: the value of the parameter, and the score."""
        return [
            [*(trial.value if isinstance(trial.value, tuple) else [trial.value]), trial.score] for trial in self.trials
        ]


def tune(
    solution: Source | Solution,
    runs: Runs,
    measure: str | Measure,
    method: str = "wsum",
    norm: str | None = None,
    *,
    grid: Sequence[GivenParameter] | None = None,
    step: float | None = None,
    depth: int | None = None,
    solution_format: str | None = None,
    submission_format: str | None = None,
) -> Tuning:
    """Fuse runs with each value of a method's parameter, and score each fused run by a measure.

    The runs are read and matched with the solution once; their lists stay in memory.

    Parameters
    ----------
    solution
        The graded items, as for `evaluate`.
    runs, method, norm, depth, submission_format
        As for `fuse`. The method has one parameter.
    measure
        The measure whose mean the best value maximises, such as "AP".
    grid
        The values to try. None: all weights from 0 to 1 in steps whose sum is 1; for other parameters, the range that
        the page of the method gives.
    step
        The step of this grid; None: 0.1 for weights, else as the page of the method gives it.
    solution_format
        The format of the solution; None: it is detected.

    Returns
    -------
    Tuning
        The trials; its `parameters` are keyword arguments for `fuse`.

    Raises
    ------
    FusionError
        There is no such method, or it has no parameter to tune; or the grid is invalid or too large.
    MeasureError
        There is no such measure.
    SolutionError, SubmissionError
        The solution or a run cannot be read or is invalid.
    """
    named = runs_of(runs, submission_format)
    chosen = method_named(method)
    if len(named) < 2:
        raise FusionError(f"found {counted(len(named), 'run')}; expected two or more to fuse")
    check_depth(depth)
    if not chosen.parameters:
        tuned = ", ".join(other.name for other in METHODS if other.parameters)
        raise FusionError(f"{chosen.name} has no parameter to tune; these methods have one: {tuned}")
    parameter = chosen.parameters[0]
    values = _grid(parameter, grid, step, len(named))
    by = measure if isinstance(measure, Measure) else parse_one(measure)
    graded = Solution.read(solution, solution_format)
    check_gains(graded, [by])
    normalised = normalisation_named(norm, chosen)
    parts: list[_Part] = []
    for_each_part(named, partial(_Part.of, graded, normalised), parts)

    def score(value: float | Weights) -> float:
        return _score(graded, parts, by, depth, Fusion(chosen, normalised, {parameter.name: value}))

    trials: list[Trial] = []
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        for value, mean in zip(values, ordered(pool, score, values, AHEAD + threads), strict=True):
            trials.append(Trial(tuple(value.tolist()) if isinstance(value, np.ndarray) else value, mean))
    return Tuning(chosen.name, parameter.name, str(measure), tuple(trials))


def _grid(
    parameter: Parameter, grid: Sequence[GivenParameter] | None, step: float | None, runs: int
) -> list[float | Weights]:
    """The values to try. Raises FusionError."""
    if grid is not None:
        values = [value_of(parameter, given, runs) for given in grid]
        if not values:
            raise FusionError("the grid has no values")
        return values
    first, last, usual = parameter.about.grid or (0.0, 1.0, STEP)
    step = usual if step is None else step
    steps = round((last - first) / step) if math.isfinite(step) and step > 0 else 0
    if steps < 1 or (parameter.weights and not math.isclose(steps * step, last - first)):
        raise FusionError(f"step: expected a part of the range from {first:g} to {last:g}; found {step:g}")
    trials = math.comb(steps + runs - 1, runs - 1) if parameter.weights else steps + 1
    if trials > MAX_TRIALS:
        raise FusionError(f"a step of {step:g} gives {trials:,} trials; the most are {MAX_TRIALS:,}: use a larger step")
    if parameter.weights:
        # All ways to divide the steps among the runs, in ascending order: by the places of bars between them.
        bars = combinations(range(steps + runs - 1), runs - 1)
        return [(np.diff([-1, *each, steps + runs - 1]) - 1) / steps for each in bars]
    every = [round(first + step * number, 12) for number in range(steps + 1)]
    return [value for value in every if value <= last]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Aligned runs, and their judged candidates."""

    runs: AlignedRuns
    """With normalised scores."""
    by_id: Ints
    """[position]: the candidate; sorted by query, then by id, descending."""
    place: Ints
    """[judged candidate]: its position; ascending by query."""
    entry: Ints
    """[judged candidate]: its index in the solution's `ideal`."""
    number: Ints
    """[query]: its number in the solution, or `UNKNOWN`."""

    @classmethod
    def of(cls, solution: Solution, normalised: Normalisation, runs: AlignedRuns) -> _Part:
        """Match the candidates with the solution."""
        number = solution.query_codes(runs.queries)
        by_id = np.lexsort((-id_order(runs.items)[runs.item], runs.query))
        entry = solution.ids.entries(number[runs.query], solution.ids.item_codes(runs.items)[runs.item])[by_id]
        place = np.flatnonzero(entry != UNKNOWN)
        return cls(normalised(runs), by_id, place, entry[place], number)

    def ranks(self, fusion: Fusion) -> Ints:
        """[judged candidate]: its rank in the fused list."""
        falling = -fusion.scores(self.runs)[self.by_id]
        ends = np.cumsum(self.runs.candidates)
        query = self.runs.query[self.by_id[self.place]]
        ranks = np.empty(self.place.size, dtype=np.int64)
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        for first, last in zip(starts.tolist(), np.append(starts[1:], query.size).tolist(), strict=True):
            end = int(ends[query[first]])
            start = end - int(self.runs.candidates[query[first]])
            order = np.argsort(falling[start:end], kind="stable")
            rank = np.empty(order.size, dtype=np.int64)
            rank[order] = np.arange(1, order.size + 1)
            ranks[first:last] = rank[self.place[first:last] - start]
        return ranks


def _score(solution: Solution, parts: Sequence[_Part], measure: Measure, depth: int | None, fusion: Fusion) -> float:
    """The mean score of the fused run."""
    ideal = solution.ideal
    retrieved, answered = np.zeros(solution.flagged.size, dtype=np.int64), np.zeros(solution.flagged.size, dtype=bool)
    for part in parts:
        known = part.number != UNKNOWN
        retrieved[part.number[known]] = part.runs.candidates[known]
        answered[part.number[known]] = True
    if depth is not None:
        retrieved = np.minimum(retrieved, depth)
    rank = np.concatenate([np.zeros(0, dtype=np.int64), *(part.ranks(fusion) for part in parts)])
    entry = np.concatenate([np.zeros(0, dtype=np.int64), *(part.entry for part in parts)])
    order = np.lexsort((rank, ideal.query[entry]))
    rank, entry = rank[order], entry[order]
    held = None if ideal.subtopics is None else entry
    found = JudgedItems(ideal.query[entry], rank, ideal.grade[entry], ideal.tie_rank[entry], None, held)
    scores = measure(Matched(found.top(depth), ideal, retrieved, answered))
    return aggregated(scores, measure.kind.aggregation)
