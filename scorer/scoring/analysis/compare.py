"""compare(): the differences between a few submissions, how certain they are, and the queries that decide them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from scorer.errors import MeasureError, ScorerError, need_libraries
from scorer.lists import READ_AS
from scorer.lists.slices import Slice
from scorer.lists.solution import Solution, Source
from scorer.measures import Measure, registry
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.scoring.analysis.analysis import (
    ANALYSIS_VERSION,
    AnalysisDocument,
    Settings,
    TaskAnalysis,
    analysed,
    defined,
    task_document,
)
from scorer.scoring.analysis.kept import Task, TaskWords, without_missing
from scorer.scoring.evaluation import Evaluation, Keywords, Several, evaluate, takes_options
from scorer.scoring.outcomes import aggregated
from scorer.scoring.statistics.paired_tests import effect_sizes
from scorer.wording import Tabular, counted, html_table, quoted

if TYPE_CHECKING:
    import pandas as pd


DECISIVE = 5
"""How many queries a comparison names in each direction."""


_HEADS = (
    *("first", "second", "difference", "low", "high", "p_value", "adjusted", "is_significant"),
    *("effect_size", "wins", "ties", "losses"),
)
"""`low` and `high` are the ends of the interval of the difference; the others are named as in `Pair`."""

_Value = str | float | bool


@dataclass(frozen=True, slots=True)
class DecisiveCase:
    """A query on which two submissions differ much."""

    case: str
    """The id of the query."""
    difference: float
    """The score of the first submission minus that of the second."""
    first: float
    """The score of the first submission."""
    second: float
    """That of the second."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions, `first` with the higher mean, or an equal one."""

    first: str
    """The name of the submission with the higher mean."""
    second: str
    """The name of the other."""
    difference: float
    """The mean of the differences, over the queries for which both are defined; NaN without any."""
    interval: tuple[float, float] | None
    """The 95 % interval of the difference; None with one query, and where all differences are equal and scores may be
    above 1."""
    p_value: float
    """Of the two-sided paired randomisation test."""
    adjusted: float
    """The p-value adjusted by Holm's method for all pairs; equal to `p_value` if there is one pair."""
    is_significant: bool
    """Whether the adjusted p-value is at most 0.05, and the means are not equal."""
    effect_size: float | None
    """Cohen's d of paired differences: their mean divided by their standard deviation; None where that is 0."""
    wins: int
    """On how many queries the first has the higher score."""
    ties: int
    """On how many the scores are equal."""
    losses: int
    """On how many the second has the higher score."""
    decisive: tuple[DecisiveCase, ...]
    """The queries with the largest differences, up to `DECISIVE` in each direction, the largest first."""


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The result of `compare`."""

    measure: str
    """The name of the mean that is compared."""
    pairs: tuple[Pair, ...]
    """All pairs, in the order of the ranking."""
    analysis: TaskAnalysis
    """The analysis of all submissions: rankings by every rule, tests, rank ranges, tiers and stability."""
    settings: Settings
    """The seed, the number of resamples, and which pairs are compared."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each submission, notes about it, such as unknown queries."""
    slices: Mapping[str, Comparison] = field(default_factory=dict)
    """By label, the comparison on the queries of a slice, for `scorer compare --slices`."""
    by_measure: Mapping[str, Comparison] = field(default_factory=dict)
    """By name, the comparison on each measure of a list; this one is that on the first. Nothing is adjusted for their
    number."""

    @property
    def separates(self) -> bool:
        """Whether the difference of any pair is significant."""
        return any(pair.is_significant for pair in self.pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """The submissions, the best first."""
        return self.analysis.names

    @property
    def means(self) -> dict[str, float]:
        """The mean score of each submission, the best first."""
        return dict(zip(self.names, self.analysis.means.tolist(), strict=True))

    def pair(self, first: str, second: str) -> Pair:
        """Return the comparison of two submissions, in any order. Raises KeyError if they were not compared."""
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second} and first != second:
                return pair
        raise KeyError((first, second))

    def to_dict(self) -> dict[str, object]:
        """Return all results as plain values, as `scorer compare --format json` prints them; None where undefined."""
        differences: AnalysisDocument = {}
        decisive: AnalysisDocument = {}
        for pair in self.pairs:
            differences.setdefault(pair.first, {})[pair.second] = _difference(pair)
            decisive.setdefault(pair.first, {})[pair.second] = [asdict(case) for case in pair.decisive]
        return {
            "version": ANALYSIS_VERSION,
            **task_document(self.analysis),
            "differences": differences,
            "decisive": decisive,
            "seed": self.settings.seed,
            "resamples": self.settings.resamples,
            **({"slices": {label: part.to_dict() for label, part in self.slices.items()}} if self.slices else {}),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of pandas with a row for each pair; NaN where undefined.

        The columns low and high are the ends of `interval`; the others have the names of the attributes of `Pair`.
        """
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        return pd.DataFrame([_row(pair) for pair in self.pairs], columns=list(_HEADS))

    def _repr_html_(self) -> str:
        words, cases = self.analysis.task.words, len(self.analysis.task.cases)
        over = f"{self.measure} over {counted(cases, words.case, words.cases)}"
        means = [[name, _shown(value)] for name, value in self.means.items()]
        return "\n".join([html_table([words.algorithm, "mean"], means, over), super()._repr_html_()])

    def _printed(self) -> tuple[tuple[str, ...], list[list[str]], str]:
        pairs = [[_shown(value) for value in _row(pair)] for pair in self.pairs]
        legend = (
            "first minus second, with the 95 % interval (Student's t, wider where few differ); two-sided paired "
            "randomisation test, adjusted by Holm's method"
        )
        return _HEADS, pairs, legend

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.means.items())
        return f"Comparison({self.measure}: {means}; queries={len(self.analysis.task.cases)})"


def _difference(pair: Pair) -> AnalysisDocument:
    return {
        "difference": defined(pair.difference),
        "interval": None if pair.interval is None else list(pair.interval),
        "p": defined(pair.p_value),
        "holm": defined(pair.adjusted),
        "significant": pair.is_significant,
        "effect_size": pair.effect_size,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
    }


def _row(pair: Pair) -> list[_Value]:
    """A value for each of `_HEADS`; NaN where undefined."""
    low, high = pair.interval or (math.nan, math.nan)
    effect_size = math.nan if pair.effect_size is None else pair.effect_size
    return [
        *(pair.first, pair.second, pair.difference, low, high, pair.p_value, pair.adjusted, pair.is_significant),
        *(effect_size, pair.wins, pair.ties, pair.losses),
    ]


def _shown(value: _Value) -> str:
    """A value with four decimals; "-" where it is undefined."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4f}"
    return str(value)


_WORDS = TaskWords("measure", "measures", "submission", "submissions", "query", "queries")


@takes_options
def compare(
    solution: Source | Solution,
    runs: Mapping[str, Source],
    measure: str | Measure | Sequence[str | Measure],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    all_pairs: bool = False,
    **options: Unpack[Keywords],
) -> Comparison:
    """Compare submissions on one measure, or on each of a list.

    Parameters
    ----------
    solution
        As for `evaluate`.
    runs
        At least two submissions by name, each as for `evaluate`.
    measure
        One measure whose aggregate is a mean, as in "nDCG@10"; or a list of them, for `Comparison.by_measure`.
    resamples
        How many resamples the bootstrap draws.
    seed
        The seed of the random numbers; the same seed gives the same result.
    all_pairs
        Whether to compare all pairs of more than 60 submissions; otherwise neighbours in the ranking, and the first
        with all others.
    split, missing, ties, nothing_relevant, unjudged, exclude, rel, solution_format, submission_format
        As for `evaluate`.

    Returns
    -------
    Comparison
        For each pair the difference, its interval, p-value, effect size, wins, ties and losses, and the queries that
        decide it.

    Raises
    ------
    ValueError
        There are fewer than two submissions, the name of one is not text, or a setting is not an allowed word.
    MeasureError
        The measure is unknown, means several, or its aggregate is not a mean.
    SolutionError, SubmissionsError
        The solution or some submissions cannot be read or are invalid.
    ScorerError
        The measure is undefined for all queries.

    Examples
    --------
    >>> import scorer
    >>> solution = {"q1": {"d1": 2}, "q2": {"d2": 1}}
    >>> scorer.compare(solution, {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d1"]}}, "AP")
    Comparison(MAP: a=1.0000, b=0.5000; queries=2)
    """
    submissions = _several(runs)
    settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs)
    chosen = dict([one_measure(measure)]) if isinstance(measure, str | Measure) else registry.requested(measure)
    tasks, notes = run_tasks(solution, submissions, chosen, **options)
    names = {str(each): name for name, each in reversed(chosen.items())}
    results = {names[task.name]: replace(comparison_of(task, settings), notes=notes) for task in tasks}
    return replace(next(iter(results.values())), by_measure=results)


def _several(runs: Mapping[str, Source]) -> Several:
    submissions = Several(runs)
    if len(submissions) < 2:
        raise ValueError(f"found {counted(len(submissions), 'submission')}; expected at least two")
    return submissions


def run_tasks(
    solution: Source | Solution,
    runs: Mapping[str, Source],
    measures: Mapping[str, Measure],
    **options: Unpack[Keywords],
) -> tuple[list[Task], dict[str, tuple[str, ...]]]:
    """Return a task for each measure, with a score of each run on each query; and the notes on each run, by its name.

    Raises ValueError for fewer than two runs, MeasureError for a measure that
    is not a mean, and the errors of `evaluate`.
    """
    submissions = _several(runs)
    need_libraries("scipy")  # before files are read
    different = {str(measure): (name, measure) for name, measure in measures.items()}
    for _, measure in different.values():
        need_mean(measure)
    evaluations = evaluate(solution, submissions, dict(different.values()), **options)
    tasks = [task_of(evaluations, name, measure) for name, measure in different.values()]
    return tasks, {
        name: tuple(evaluation.notes.without(READ_AS).lines(name)) for name, evaluation in evaluations.items()
    }


def tasks_of_slices(task: Task, slices: Sequence[Slice], queries: Sequence[str]) -> list[Task]:
    """Return the task, and a task for each slice of these queries on which all submissions have a score; the notes of
    the task name the others.
    """
    place_of = {query: place for place, query in enumerate(queries)}
    places = [place_of[case] for case in task.cases]
    parts, left_out = [], []
    for part in slices:
        cases = tuple(case for case, place in zip(task.cases, places, strict=True) if part.inside[place])
        values = task.values[:, part.inside[places]]
        if np.isnan(values).all(axis=1).any():
            left_out.append(f"The slice {quoted(part.label)} is left out: a submission has no score on its queries.")
        else:
            means = task.means and tuple(round(aggregated(row, "mean"), task.decimals) for row in values)
            name = f"{task.name}, {part.label}"
            parts.append(replace(task, name=name, cases=cases, values=values, means=means, kept=None))
    return [replace(task, notes=(*task.notes, *left_out)), *parts]


def one_measure(measure: str | Measure) -> tuple[str, Measure]:
    """Return the name of a measure and the measure. Raises MeasureError where it is not one mean."""
    named = registry.requested(measure)
    if len(named) != 1:
        raise MeasureError(f"{measure} means {', '.join(named) or 'no measure'}; name one measure")
    ((name, chosen),) = named.items()
    need_mean(chosen)
    return name, chosen


def need_mean(measure: Measure) -> None:
    """Raise MeasureError for a measure that is a sum or a geometric mean over the queries."""
    if measure.kind.aggregation != "mean":
        what = "a sum" if measure.kind.aggregation == "sum" else "a geometric mean"
        raise MeasureError(
            f"{measure} is {what} over the queries; comparisons are about means: choose another measure, such as AP"
        )


def task_of(evaluations: Mapping[str, Evaluation], name: str, measure: Measure) -> Task:
    """Return the scores of submissions as a task. Queries for which all are undefined are left out."""
    by_query = [list(evaluation.by_query().items()) for evaluation in evaluations.values()]
    cases = tuple(query for query, _ in by_query[0])
    values = np.array([[scores[name] for _, scores in each] for each in by_query], dtype=np.float64)
    values = values.reshape(len(evaluations), len(cases))
    defined = np.atleast_1d(~np.isnan(values).all(axis=0))
    if not defined.any():
        raise ScorerError(f"{measure} is undefined for all queries, so nothing can be compared")
    return Task(
        name=str(measure),
        algorithms=tuple(evaluations),
        cases=tuple(query for query, kept in zip(cases, defined.tolist(), strict=True) if kept),
        values=values[:, defined],
        measure=measure.mean_name,
        bounded=measure.bounded,
        words=_WORDS,
    )


def comparison_of(task: Task, settings: Settings, slices: Sequence[Task] = ()) -> Comparison:
    """Return the comparison of the algorithms of a task, and on its slices; missing values are left out."""
    analysis = analysed(without_missing(task, "drop"), settings)
    parts = {part.name.removeprefix(f"{task.name}, "): comparison_of(part, settings) for part in slices}
    name = analysis.task.measure or analysis.task.name
    return Comparison(name, _pairs(analysis), analysis, settings, slices=parts)


def _pairs(analysis: TaskAnalysis) -> tuple[Pair, ...]:
    names, test = analysis.names, analysis.tests["randomisation"]
    first, second = np.nonzero(np.triu(analysis.tested, 1))
    differences = analysis.scores.differences(first, second)
    sizes = effect_sizes(analysis.scores.scores)
    pairs = []
    for i, j, difference, interval, (wins, ties, losses) in zip(
        first.tolist(), second.tolist(), *(each.tolist() for each in differences), strict=True
    ):
        pairs.append(
            Pair(
                first=names[i],
                second=names[j],
                difference=difference,
                interval=None if np.isnan(interval).any() else (interval[0], interval[1]),
                p_value=float(test.p[i, j]),
                adjusted=float(test.holm[i, j]),
                is_significant=bool(test.holm[i, j] <= LEVEL and analysis.means[i] != analysis.means[j]),
                effect_size=None if np.isnan(sizes[i, j]) else float(sizes[i, j]),
                wins=wins,
                ties=ties,
                losses=losses,
                decisive=_decisive(analysis, i, j),
            )
        )
    return tuple(pairs)


def _decisive(analysis: TaskAnalysis, i: int, j: int) -> tuple[DecisiveCase, ...]:
    """Return the queries with the largest differences in each direction; of equal ones, those that come first."""
    values, cases = analysis.task.values, analysis.task.cases
    differences = np.nan_to_num(values[i] - values[j])
    rising = np.argsort(differences, kind="stable")
    falling = np.argsort(-differences, kind="stable")
    chosen = [at for at in falling[:DECISIVE].tolist() if differences[at] > 0]
    chosen += [at for at in rising[:DECISIVE].tolist() if differences[at] < 0]
    chosen.sort(key=lambda at: (-abs(differences[at]), at))
    return tuple(
        DecisiveCase(cases[at], float(differences[at]), float(values[i, at]), float(values[j, at])) for at in chosen
    )
