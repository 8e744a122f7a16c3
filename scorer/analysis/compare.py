"""compare(): the differences between a few submissions, how certain they are, and the queries that decide them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scorer.analysis.analysis import Settings, TaskAnalysis, analysed
from scorer.analysis.comparison import DECISIVE, Comparison, DecisiveCase, Pair
from scorer.analysis.task import Task, Words, without_missing
from scorer.errors import MeasureError, ScorerError
from scorer.matching.exclusions import Exclude
from scorer.matching.solution import Solution, Source
from scorer.measures import Measure
from scorer.options import LEVEL, RESAMPLES, SEED, Missing, NothingRelevant, Split, Ties, Unjudged
from scorer.scoring.evaluation import evaluate, measures_named
from scorer.scoring.evaluations import Evaluation
from scorer.scoring.several import Several
from scorer.statistics.paired_tests import effect_sizes
from scorer.wording import counted

WORDS = Words("measure", "measures", "submission", "submissions", "query", "queries")


def compare(
    solution: Source | Solution,
    runs: Mapping[str, Source],
    measure: str | Measure,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    all_pairs: bool = False,
    split: Split = "all",
    missing: Missing = "zero",
    ties: Ties = "trec",
    nothing_relevant: NothingRelevant = "skip",
    unjudged: Unjudged = "nonrelevant",
    exclude: Exclude | None = None,
    rel: float | None = None,
    solution_format: str | None = None,
    submission_format: str | None = None,
) -> Comparison:
    """Compare submissions on one measure.

    Parameters
    ----------
    solution
        As for `evaluate`.
    runs
        At least two submissions by name, each as for `evaluate`.
    measure
        One measure whose aggregate is a mean, as in "nDCG@10".
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
    name, chosen = one_measure(measure)
    (task,), notes = run_tasks(
        solution,
        submissions,
        {name: chosen},
        split=split,
        missing=missing,
        ties=ties,
        nothing_relevant=nothing_relevant,
        unjudged=unjudged,
        exclude=exclude,
        rel=rel,
        solution_format=solution_format,
        submission_format=submission_format,
    )
    return replace(compared(task, Settings(seed=seed, resamples=resamples, all_pairs=all_pairs)), notes=notes)


def _several(runs: Mapping[str, Source]) -> Several:
    submissions = Several(runs)
    if len(submissions) < 2:
        raise ValueError(f"found {counted(len(submissions), 'submission')}; expected at least two")
    return submissions


def run_tasks(
    solution: Source | Solution, runs: Mapping[str, Source], measures: Mapping[str, Measure], **policies: Any
) -> tuple[list[Task], dict[str, tuple[str, ...]]]:
    """Return a task for each measure, with a score of each run on each query; and the notes on each run, by its name.

    `policies` are the options of `evaluate`. Raises ValueError for fewer than two runs, MeasureError for a measure that
    is not a mean, and the errors of `evaluate`.
    """
    submissions = _several(runs)
    different = {str(measure): (name, measure) for name, measure in measures.items()}
    for _, measure in different.values():
        need_mean(measure)
    evaluations = evaluate(solution, submissions, dict(different.values()), **policies)
    tasks = [task_of(evaluations, name, measure) for name, measure in different.values()]
    return tasks, {name: tuple(evaluation.notes.lines(name)) for name, evaluation in evaluations.items()}


def one_measure(measure: str | Measure) -> tuple[str, Measure]:
    """Return the name of a measure and the measure. Raises MeasureError where it is not one mean."""
    named = measures_named(measure)
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
        words=WORDS,
    )


def compared(task: Task, settings: Settings) -> Comparison:
    """Return the comparison of the algorithms of a task; missing values are left out."""
    analysis = analysed(without_missing(task, "drop"), settings)
    return Comparison(analysis.task.measure or analysis.task.name, _pairs(analysis), analysis, settings)


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
