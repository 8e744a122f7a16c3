"""agree(): how far two solutions agree about the same items, and whether it matters for the ranking of runs.

Sources: Cohen, A Coefficient of Agreement for Nominal Scales, 1960, and Weighted Kappa, 1968; Krippendorff, Content
Analysis, 2004; Angelopoulos and others, Prediction-Powered Inference, 2023, for the weight of a machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from scorer.errors import ScorerError, need_libraries
from scorer.files import is_standard_input, located, shown
from scorer.lists.reading.arrow import take
from scorer.lists.reading.memory import Several
from scorer.lists.slices import read_clusters
from scorer.lists.solution import UNKNOWN, Solution, Source
from scorer.measures import Measure
from scorer.measures.matched import Bools, Floats, Ints, ratio
from scorer.options import KAPPA_WEIGHTS, LEVEL, KappaWeights
from scorer.scoring.analysis.analysis import ANALYSIS_VERSION, defined
from scorer.scoring.analysis.compare import one_measure, run_tasks
from scorer.scoring.analysis.kept import Task
from scorer.scoring.evaluation import Keywords, Options, takes_options
from scorer.scoring.outcomes import split_masks
from scorer.scoring.statistics.all_pairs import EQUAL_WITHIN, magnitude
from scorer.scoring.statistics.rankings import means as means_of
from scorer.scoring.statistics.rankings import ranks_of
from scorer.scoring.statistics.resampling import difference_intervals, percentile_intervals, resampled_means
from scorer.scoring.statistics.units import LEAST_UNITS, units_of, units_within
from scorer.wording import Tabular, counted, html_table, quoted

if TYPE_CHECKING:
    import pandas as pd

MOST_GRADES = 20
"""With more different grades there is no table, and what is computed of one is undefined."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number that says how far two solutions agree, or what differs."""

    value: float
    """NaN where it is undefined, as where all grades are equal."""
    interval: tuple[float, float] | None
    """The 95 % interval over queries; None where it is undefined, and with fewer than ten queries."""

    @property
    def excludes_0(self) -> bool:
        """Whether the interval excludes 0: the number is not 0 by chance."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The means of a run by both solutions."""

    name: str
    """The name of the run."""
    by_first: float
    """Its mean by the first solution."""
    by_second: float
    """Its mean by the second one."""
    favour: Coefficient
    """By how much the first solution favours it: its mean by the first minus that by the second, less the mean of this
    over all runs. The intervals of all runs hold together with 95 %."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Two runs whose order differs."""

    above: str
    """The run that is better by the first solution."""
    below: str
    """The run that is better by the second one."""
    by_first: float
    """The mean of `above` minus that of `below`, by the first solution; above 0."""
    by_second: float
    """The same by the second one; below 0."""
    change: Coefficient
    """`by_first` minus `by_second`. The intervals of all pairs of runs hold together with 95 %."""


@dataclass(frozen=True, eq=False)
class JudgeAgreement(Tabular):
    """The result of `agree`. Pairs are a query and an item."""

    queries: int
    """The number of queries that both solutions have; only these count."""
    pairs: int
    """The number of pairs that both judge."""
    only_first: int
    """The number of pairs that only the first solution judges."""
    only_second: int
    """The number of pairs that only the second one judges."""
    grades: tuple[float, ...]
    """All grades of the pairs that both judge, ascending."""
    confusion: tuple[tuple[int, ...], ...]
    """The number of pairs with each two of the grades, a row for each grade of the first solution; empty with more than
    20 different grades."""
    weights: KappaWeights
    """What a disagreement counts in the weighted kappa."""
    coefficients: Mapping[str, Coefficient]
    """The share of "equal" grades; Cohen's "kappa" and "weighted_kappa"; Krippendorff's "alpha" for grades as numbers
    (interval) and "nominal_alpha" for grades as names."""
    measure: str = ""
    """The name of the mean of the runs; empty without runs."""
    scored: int = 0
    """The number of queries that the means are over: those on which all runs have a score by both solutions."""
    runs: tuple[JudgedRun, ...] = ()
    """The runs, the best by the first solution first."""
    tau: Coefficient | None = None
    """Kendall's tau-b of the two rankings, with the interval of what as many queries show; None without runs."""
    swaps: tuple[Swap, ...] = ()
    """The pairs of runs whose order differs, in the order of the ranking."""
    machine_weight: float | None = None
    """The weight of the first solution, from 0 to 1, as a machine that judges for the people of the second one; None
    without runs, with fewer than ten queries, and where no score by the first solution varies."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each run, notes about it by the first solution."""

    def to_dict(self) -> dict[str, object]:
        """Return all results as plain values, as `scorer agree --format json` prints them; None where undefined."""
        return {"version": ANALYSIS_VERSION, **_plain(asdict(self))}

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of pandas with a row for each coefficient: value, low and high; NaN where undefined."""
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        return pd.DataFrame.from_dict(self._rows(), "index", columns=_HEADS[1:]).rename_axis(_HEADS[0])

    def _rows(self) -> dict[str, tuple[float, float, float]]:
        return {
            name: (each.value, *(each.interval or (math.nan, math.nan))) for name, each in self.coefficients.items()
        }

    def _printed(self) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
        pairs = f"{counted(self.pairs, 'pair')} of {counted(self.queries, 'query', 'queries')}"
        legend = f"{pairs}; weights: {self.weights}; 95 % intervals over queries (jackknife)"
        return _HEADS, [[name.replace("_", " "), *map(_shown, row)] for name, row in self._rows().items()], legend

    def _repr_html_(self) -> str:
        grades = [f"{grade:g}" for grade in self.grades]
        table = [[grade, *map(str, row)] for grade, row in zip(grades, self.confusion, strict=False)]
        caption = "pairs by the grades of the first solution (rows) and of the second one"
        return "\n".join([super()._repr_html_(), *([html_table(["grade", *grades], table, caption)] if table else [])])

    def __repr__(self) -> str:
        kappa = _shown(self.coefficients["kappa"].value)
        return f"JudgeAgreement(kappa={kappa}, pairs={self.pairs}, queries={self.queries})"


_HEADS = ("measure", "value", "low", "high")


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _plain(value: Any) -> Any:
    """The value with lists for tuples, and None for NaN."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return defined(value) if isinstance(value, float) else value


@takes_options
def agree(
    first: Source | Solution,
    second: Source | Solution,
    runs: Mapping[str, Source] | None = None,
    measure: str | Measure = "nDCG@10",
    *,
    weights: KappaWeights = "quadratic",
    **options: Unpack[Keywords],
) -> JudgeAgreement:
    """Measure how far two solutions agree, and whether it matters for the ranking of runs.

    Parameters
    ----------
    first, second
        Two solutions, each as for `evaluate`. Only the queries that both have count.
    runs
        At least two submissions by name, each as for `evaluate`; None: only grades are compared.
    measure
        One measure whose aggregate is a mean, by which the runs are ranked.
    weights
        What a disagreement counts in the weighted kappa: the square of the difference of the grades ("quadratic"), or
        the difference ("linear").
    split, missing, ties, nothing_relevant, unjudged, exclude, clusters, rel, solution_format, submission_format
        As for `evaluate`; the split is that of the first solution, and both have the format.

    Returns
    -------
    JudgeAgreement
        Confusion, kappa and alpha over the pairs of a query and an item that both judge; of runs, the means by both,
        Kendall's tau, the pairs that swap, whom a solution favours, and a weight for the first one as a machine.

    Raises
    ------
    ValueError
        There is one run, the name of one is not text, or a setting is not an allowed word.
    MeasureError
        The measure is unknown, means several, or its aggregate is not a mean.
    SolutionError, SubmissionsError
        A solution or some submissions cannot be read or are invalid.
    ScorerError
        The solutions have no query in common, or no item; no query has a score of all runs by both; or a run can be
        read only once, such as standard input.

    Examples
    --------
    >>> import scorer
    >>> machine = {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d4": 1, "d5": 1}}
    >>> people = {"q1": {"d1": 2, "d2": 0, "d3": 0}, "q2": {"d4": 1}, "q3": {"d6": 1}}
    >>> scorer.agree(machine, people)
    JudgeAgreement(kappa=0.6364, pairs=4, queries=2)
    """
    KAPPA_WEIGHTS.check(weights)
    if options.get("checked") is not None:
        raise ValueError("checked corrects scores; name the checked queries as one of the two solutions")
    Options(**options).policies()
    need_libraries("scipy")  # before files are read
    runs = None if runs is None else _readable_twice(runs)
    split, clusters = options.pop("split", "all"), options.pop("clusters", None)
    form = options.pop("solution_format", None)
    one, other = Solution.for_a_call(first, form), Solution.for_a_call(second, form)
    known = np.isin(np.arange(one.flagged.size), one.query_codes(other.queries))
    in_both = known & split_masks(one.flagged)[split].inside
    queries: list[str] = take(one.queries, np.flatnonzero(in_both)).to_pylist()
    if not queries and known.any():
        raise ScorerError(f"split {split}: the solutions have no query in common that is in this part of the first one")
    if not queries:
        ids = " and ".join(quoted(each.queries[0].as_py()) for each in (one, other))
        raise ScorerError(f"the solutions have no query in common, such as {ids}; expected the same ids of queries")
    units = np.arange(len(queries))
    if clusters is not None:
        (units,) = units_of([queries], [read_clusters(clusters, queries)])
    found = _of_grades(one, other, in_both, units, weights)
    if runs is not None:
        named = dict([one_measure(measure)])
        (tasks, notes), (others, _) = (run_tasks(each, runs, named, **options) for each in (one, other))
        found |= {"notes": notes, **_of_runs([*tasks, *others], queries, units)}
    return JudgeAgreement(queries=len(queries), weights=weights, **found)


def _readable_twice(runs: Mapping[str, Source]) -> Several:
    """The runs, each of which is scored by both solutions. Raises ScorerError for one that can be read only once."""
    for name, source in (several := Several(runs)).items():
        path = source if isinstance(source, str | os.PathLike) else ""
        is_pipe = is_standard_input(path) or (isinstance(place := located(path), Path) and place.is_fifo())
        if is_pipe or isinstance(source, Iterator):
            which = shown(path) if path else name
            raise ScorerError(f"{which}: can be read only once, and each run is scored twice; name a file")
    return several


def _of_grades(one: Solution, other: Solution, in_both: Bools, units: Ints, weights: KappaWeights) -> dict[str, Any]:
    """What the pairs that both judge show. `in_both` is [query of one], `units` those of the queries in both."""
    query = one.query_codes(other.queries)[other.ideal.query]
    entry = one.ids.entries(query, one.ids.item_codes(other.items)[other.ids.item_of_entry])
    # Items with a negative grade are not judged, as in TREC's files.
    counts = in_both[query] & (query != UNKNOWN) & (other.ideal.grade >= 0)
    both = counts & (entry != UNKNOWN) & (one.ideal.grade[entry] >= 0)
    pairs = int(both.sum())
    if not pairs:
        number = counted(len(units), "query", "queries")
        raise ScorerError(f"the solutions have {number} in common, and no item of them that both judge")
    grades, code = np.unique([one.ideal.grade[entry[both]], other.ideal.grade[both]], return_inverse=True)
    (first, second), size = code.reshape(2, -1), len(grades)
    numbers, unit = np.unique(units[(np.cumsum(in_both) - 1)[query[both]]], return_inverse=True)
    scaled = (grades - grades[0]) / magnitude(grades - grades[0])
    a, b = scaled[first], scaled[second]
    columns = [np.ones(pairs), first == second, np.abs(a - b), (a - b) ** 2, a, b, a**2 + b**2]
    if has_table := size <= MOST_GRADES:
        columns += [codes == grade for codes in (first, second) for grade in range(size)]
    sums = np.array([np.bincount(unit, column, len(numbers)) for column in columns]).T
    cells = np.bincount(first * size + second, minlength=size**2).reshape(size, size) if has_table else np.zeros((0, 0))
    return {
        "pairs": pairs,
        "only_first": int((in_both[one.ideal.query] & (one.ideal.grade >= 0)).sum()) - pairs,
        "only_second": int(counts.sum()) - pairs,
        "grades": tuple(grades.tolist()),
        "confusion": tuple(map(tuple, cells.tolist())),
        "coefficients": dict(zip(_NAMES, _coefficients(sums, scaled, weights), strict=True)),
    }


_NAMES = ("equal", "kappa", "weighted_kappa", "alpha", "nominal_alpha")


def _coefficients(sums: Floats, grades: Floats, weights: KappaWeights) -> list[Coefficient]:
    """Return those of `_NAMES` from sums over the pairs of each unit, [unit, column], as `_values` takes them.

    The interval is Student's t, with the deviations of the jackknife: how far a value moves without one unit. It is
    wider where few units have a disagreement, as that of a difference.
    """
    total, count = sums.sum(axis=0), len(sums)
    (value,) = _values(total[None], grades, weights)
    without = _values(total - sums, grades, weights).T
    apart = (count - 1) * (without.mean(axis=1, keepdims=True) - without)
    intervals = difference_intervals(value[:, None] + apart, bounded=True)
    intervals[np.isnan(apart).any(axis=1)] = np.nan
    wider = math.sqrt(1 + 2 * (1 / (np.count_nonzero(sums[:, 3]) or count) - 1 / count))
    intervals = np.clip(value[:, None] + wider * (intervals - value[:, None]), -1, 1)
    return _with_intervals(value, intervals, count)


def _values(sums: Floats, grades: Floats, weights: KappaWeights) -> Floats:
    """[row, coefficient]: those of `_NAMES`, each 1 minus the disagreement seen by the one due to chance, NaN where no
    grades differ.

    A row of sums has the pairs, the equal ones, |a - b|, (a - b)^2, a, b and a^2 + b^2, then the pairs with each grade
    by the first solution and by the second one, unless there are too many grades.
    """
    pairs, equal, distance, square, first, second, squares = sums[:, :7].T
    of_first, of_second = np.split(sums[:, 7:], 2, axis=1)
    by_chance, alike, linear = np.full((3, len(sums)), np.nan)
    if of_first.size:
        by_chance = pairs**2 - (of_first * of_second).sum(axis=1)
        alike = 4 * pairs**2 - ((of_first + of_second) ** 2).sum(axis=1)
        linear = (of_first @ np.abs(grades[:, None] - grades) * of_second).sum(axis=1)
    quadratic, pooled = squares * pairs - 2 * first * second, 2 * squares * pairs - (first + second) ** 2
    weighted = (square * pairs, quadratic) if weights == "quadratic" else (distance * pairs, linear)
    others = 2 * pairs - 1  # the grades that a grade is compared with
    disagreements = (
        ((pairs - equal) * pairs, by_chance),
        weighted,
        (square * others, pooled),
        (2 * (pairs - equal) * others, alike),
    )
    values = [1 - ratio(seen, due, due > EQUAL_WITHIN * pairs**2) for seen, due in disagreements]
    return np.column_stack([ratio(equal, pairs, pairs > 0), *values])


def _with_intervals(values: Floats, intervals: Floats, count: int) -> list[Coefficient]:
    """The values with intervals over so many units; without them if there are few."""
    few = count < LEAST_UNITS
    rows = zip(values.tolist(), intervals.tolist(), strict=True)
    return [Coefficient(value, None if few or math.isnan(low) else (low, high)) for value, (low, high) in rows]


def _of_runs(tasks: Sequence[Task], queries: Sequence[str], units: Ints) -> dict[str, Any]:
    """What the scores of the same runs show, on the queries on which all have one by both solutions."""
    number_of = {query: at for at, query in enumerate(queries)}
    both = np.full((2, len(tasks[0].algorithms), len(queries)), np.nan)
    for task, scores in zip(tasks, both, strict=True):
        known = [at for at, case in enumerate(task.cases) if case in number_of]
        scores[:, [number_of[task.cases[at]] for at in known]] = task.values[:, known]
    complete = ~np.isnan(both).any(axis=(0, 1))
    if not complete.any():
        raise ScorerError(f"{tasks[0].name}: no query has a score of all runs by both solutions")
    both, of = both[:, :, complete], units_within(units, complete)
    means = np.array([means_of(scores) for scores in both])
    order = np.argsort(-means[0], kind="stable")
    (one, other), means = both[:, order], means[:, order]
    names, count = [tasks[0].algorithms[at] for at in order.tolist()], len(order)
    number = one.shape[1] if of is None else int(of.max()) + 1

    gaps = one - other
    apart = gaps - gaps.mean(axis=0)
    favours = _with_intervals(means_of(apart), difference_intervals(apart, LEVEL / count, units=of), number)
    ranks = ranks_of(means)
    above, below = np.nonzero((ranks[0][:, None] < ranks[0]) & (ranks[1][:, None] > ranks[1]))
    swapped, differences = gaps[above] - gaps[below], means[:, above] - means[:, below]
    intervals = difference_intervals(swapped, LEVEL / math.comb(count, 2), units=of)
    changes = _with_intervals(differences[0] - differences[1], intervals, number)
    drawn = np.hsplit(resampled_means(np.vstack([one, other]), units=of), 2)
    tau, taus = _taus(*ranks[:, None]), _taus(*map(ranks_of, drawn))
    # Chance counts twice in resamples: taus of many runs are lower there. So the interval also has them moved to tau.
    ends, shown = percentile_intervals(taus[:, None]), taus[~np.isnan(taus)]
    moved = ends + tau - shown.sum() / max(shown.size, 1)
    ends = np.clip([[np.minimum(ends, moved)[0, 0], np.maximum(ends, moved)[0, 1]]], -1, 1)
    machine, people = (scores - scores.mean(axis=1, keepdims=True) for scores in (one, other))
    varies = number >= LEAST_UNITS and (machine**2).sum() > 0
    return {
        "measure": tasks[0].measure or tasks[0].name,
        "scored": one.shape[1],
        "runs": tuple(map(JudgedRun, names, *means.tolist(), favours)),
        "tau": _with_intervals(tau, ends, number)[0],
        "swaps": tuple(
            map(Swap, *([names[at] for at in rows] for rows in (above, below)), *differences.tolist(), changes)
        ),
        "machine_weight": float(np.clip((machine * people).sum() / (machine**2).sum(), 0, 1)) if varies else None,
    }


def _taus(first: Ints, second: Ints) -> Floats:
    """[resample]: Kendall's tau-b of two rankings, [resample, run]; NaN where one has only ties."""
    balance, one_differs, other_differs = np.zeros((3, len(first)))
    for run in range(first.shape[1] - 1):
        one, other = (np.sign(ranks[:, run + 1 :] - ranks[:, run, None]) for ranks in (first, second))
        balance += (one * other).sum(axis=1)
        one_differs += np.abs(one).sum(axis=1)
        other_differs += np.abs(other).sum(axis=1)
    pairs = np.sqrt(one_differs * other_differs)
    return ratio(balance, pairs, pairs > 0)
