"""compare(): the differences between a few submissions, how certain they are, and the queries that decide them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from scorer.errors import MeasureError, ScorerError, need_libraries
from scorer.lists import READ_AS
from scorer.lists.reading.memory import Several
from scorer.lists.slices import Slice
from scorer.lists.solution import Solution, Source
from scorer.measures import Measure, registry
from scorer.options import LEVEL, P_VALUE_CORRECTION, RESAMPLES, SEED, PValueCorrection
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
from scorer.scoring.evaluation import Evaluation, Keywords, evaluate, takes_options
from scorer.scoring.outcomes import aggregated
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.paired_tests import (
    benjamini_hochberg,
    effect_sizes,
    holm,
    moments,
    queries_for,
    smallest_shown,
)
from scorer.scoring.statistics.units import units_within, values_of_units
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
    """Two submissions, `first` with the higher mean, or an equal one; with `against`, `second` is the baseline."""

    first: str
    """The name of the submission with the higher mean, or of the one that is compared with a baseline."""
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
    """The p-value adjusted for all pairs, by Holm's method or the correction; `p_value` if there is one pair."""
    is_significant: bool
    """Whether the adjusted p-value is at most 0.05, and the means are not equal."""
    effect_size: float | None
    """Cohen's d of paired differences: their mean divided by their standard deviation; None where that is 0, and with
    `checked`."""
    wins: int
    """On how many queries the first has the higher score; with `checked`, by the solution, as `ties` and the others."""
    ties: int
    """On how many the scores are equal."""
    losses: int
    """On how many the second has the higher score."""
    decisive: tuple[DecisiveCase, ...]
    """The queries with the largest differences, up to `DECISIVE` in each direction, the largest first."""
    is_not_worse: bool | None = None
    """Whether the first is not worse than the second by more than the margin, with an error of 2.5 %: the lower end of
    the interval is at least minus the margin, or no score differs. None without a margin."""


@dataclass(frozen=True, slots=True)
class Power:
    """What a number of queries shows about two submissions, by the scores of a pilot run."""

    first: str
    """The name of a submission."""
    second: str
    """The name of the other."""
    deviation: float
    """The standard deviation of the differences; NaN with one query."""
    smallest: float
    """The smallest mean difference that as many queries find with a probability of 80 %; NaN with one query."""
    difference: float
    """The difference that queries are counted for."""
    queries: float
    """How many find it with this probability; NaN where no number does, and with one query."""


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

    def power(self, difference: float | None = None) -> tuple[Power, ...]:
        """Return, for each pair, the smallest difference that these queries show, and how many queries one needs.

        A paired t-test finds it with a probability of 80 %, at a level of 5 % divided by the number of pairs. The
        deviation of the differences is that of these scores.

        Parameters
        ----------
        difference
            The difference that queries are counted for; None: that of each pair.
        """
        level, scores = LEVEL / max(len(self.pairs), 1), dict(zip(self.names, self.analysis.scores.scores, strict=True))
        found = []
        for pair in self.pairs:
            differences = (scores[pair.first] - scores[pair.second])[None]
            of_units = values_of_units(differences, self.analysis.task.units)
            _, deviation, units = (float(each[0]) for each in moments(of_units))
            smallest = smallest_shown(deviation, int(units), level)
            wanted = pair.difference if difference is None else difference
            needed = queries_for(wanted, deviation, level)
            if of_units is not differences and not math.isnan(needed):
                needed = math.ceil(needed * np.isfinite(differences).sum() / units)
            found.append(Power(pair.first, pair.second, deviation, smallest, wanted, needed))
        return tuple(found)

    def to_dict(self) -> dict[str, object]:
        """Return all results as plain values, as `scorer compare --format json` prints them; None where undefined.

        Ranges of ranks, tiers and p-values of all pairs are left out where other comparisons are corrected for.
        """
        differences: AnalysisDocument = {}
        decisive: AnalysisDocument = {}
        for pair in self.pairs:
            differences.setdefault(pair.first, {})[pair.second] = _difference(pair, self.settings.correction)
            decisive.setdefault(pair.first, {})[pair.second] = [asdict(case) for case in pair.decisive]
        is_of_all = not self.settings.against and self.settings.correction == "holm"
        of_pairs = () if is_of_all else ("pairwise", "ranks", "tiers", "separable_from_leader")
        return {
            "version": ANALYSIS_VERSION,
            **{key: value for key, value in task_document(self.analysis).items() if key not in of_pairs},
            **({"against": list(self.settings.against)} if self.settings.against else {}),
            **({} if self.settings.margin is None else {"margin": self.settings.margin}),
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
            f"first minus second, with the 95 % interval ({self.analysis.task.interval_words}); two-sided paired "
            f"randomisation test, adjusted by {CORRECTION_NAMES[self.settings.correction]}'s method"
        )
        return _HEADS, pairs, legend

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.means.items())
        return f"Comparison({self.measure}: {means}; queries={len(self.analysis.task.cases)})"


CORRECTION_NAMES: Mapping[PValueCorrection, str] = {
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}


def _difference(pair: Pair, correction: PValueCorrection) -> AnalysisDocument:
    return {
        "difference": defined(pair.difference),
        "interval": None if pair.interval is None else list(pair.interval),
        "p": defined(pair.p_value),
        correction: defined(pair.adjusted),
        "significant": pair.is_significant,
        "effect_size": pair.effect_size,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        **({} if pair.is_not_worse is None else {"not_worse": pair.is_not_worse}),
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
    against: str | Sequence[str] = (),
    correction: PValueCorrection = "holm",
    margin: float | None = None,
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
    against
        The names of one or several baselines: each other submission is compared with each of them, and p-values are
        corrected for these comparisons only.
    correction
        "holm": the probability of any false difference is at most 5 %. "bh": at most 5 % of the differences that are
        found are false on average, by the method of Benjamini and Hochberg, or "by", of Benjamini and Yekutieli.
    margin
        By how much a submission may be worse, for `Pair.is_not_worse`; without `against`, the first submission is
        compared with each other one.
    split, missing, ties, nothing_relevant, unjudged, exclude, clusters, checked, machine_weight, rel
        As for `evaluate`.
    solution_format, submission_format
        As for `evaluate`.

    Returns
    -------
    Comparison
        For each pair the difference, its interval, p-value, effect size, wins, ties and losses, and the queries that
        decide it.

    Raises
    ------
    ValueError
        There are fewer than two submissions, the name of one is not text, a baseline is not among them, all are
        baselines, the margin is not a number of 0 or more, or a setting is not an allowed word.
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
    baselines = (against,) if isinstance(against, str) else tuple(against)
    check_baselines(baselines, list(Several(runs)))
    P_VALUE_CORRECTION.check(correction)
    if margin is not None and not 0 <= margin < math.inf:
        raise ValueError(f"found the margin {margin!r}; expected a number of 0 or more")
    settings = Settings(seed, resamples, all_pairs, against=baselines, correction=correction, margin=margin)
    chosen = dict([one_measure(measure)]) if isinstance(measure, str | Measure) else registry.requested(measure)
    tasks, notes = run_tasks(solution, runs, chosen, **options)
    names = {str(each): name for name, each in reversed(chosen.items())}
    results = {names[task.name]: replace(comparison_of(task, settings), notes=notes) for task in tasks}
    return replace(next(iter(results.values())), by_measure=results)


def check_baselines(against: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError for a baseline that is not among the submissions, or if all of them are baselines."""
    for name in against:
        if name not in names:
            raise ValueError(f"{quoted(name)} is not among the submissions: {', '.join(names)}")
    if against and set(names) <= set(against):
        raise ValueError("all submissions are baselines; expected one that is compared with them")


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
    submissions = Several(runs)
    if len(submissions) < 2:
        raise ValueError(f"found {counted(len(submissions), 'submission')}; expected at least two")
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
        units = units_within(task.units, part.inside[places])
        inside = part.inside[places]
        judges = task.judges and task.judges.within(inside)
        values = task.values[:, inside] if judges is None else judges.values
        if np.isnan(values).all(axis=1).any():
            left_out.append(f"The slice {quoted(part.label)} is left out: a submission has no score on its queries.")
        else:
            means = task.means and tuple(round(aggregated(row, "mean"), task.decimals) for row in values)
            name = f"{task.name}, {part.label}"
            own = replace(task, name=name, cases=cases, values=values, means=means, units=units)
            parts.append(replace(own, judges=judges, kept=None))
    return [replace(task, notes=(*task.notes, *left_out)), *parts]


def one_measure(measure: str | Measure) -> tuple[str, Measure]:
    """Return the name of a measure and the measure. Raises MeasureError where it is not one."""
    named = registry.requested(measure)
    if len(named) != 1:
        raise MeasureError(f"{measure} means {', '.join(named) or 'no measure'}; name one measure")
    return next(iter(named.items()))


def need_mean(measure: Measure) -> None:
    """Raise MeasureError for a measure that is a sum or a geometric mean over the queries."""
    if measure.kind.aggregation != "mean":
        what = "a sum" if measure.kind.aggregation == "sum" else "a geometric mean"
        raise MeasureError(
            f"{measure} is {what} over the queries; comparisons are about means: choose another measure, such as AP"
        )


def task_of(evaluations: Mapping[str, Evaluation], name: str, measure: Measure) -> Task:
    """Return the scores of submissions as a task. Queries for which all are undefined are left out."""
    first = next(iter(evaluations.values()))
    cases = list(first.by_query())
    values = np.array([each.scores_of(name) for each in evaluations.values()]).reshape(len(evaluations), len(cases))
    every = [judges for each in evaluations.values() if (judges := each.judges([name])) is not None]
    judges = TwoJudges.together(every) if every else None
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
        units=units_within(first.units, defined),
        judges=judges and judges.within(defined),
        words=_WORDS,
    )


def comparison_of(task: Task, settings: Settings, slices: Sequence[Task] = ()) -> Comparison:
    """Return the comparison of the algorithms of a task, and on its slices; missing values are left out.

    With a margin and no baselines, the first algorithm is compared with each other one.
    """
    if settings.margin is not None and not settings.against:
        settings = replace(settings, against=task.algorithms[1:])
    analysis = analysed(without_missing(task, "drop"), settings)
    parts = {part.name.removeprefix(f"{task.name}, "): comparison_of(part, settings) for part in slices}
    name = analysis.task.measure or analysis.task.name
    return Comparison(name, _pairs(analysis, settings), analysis, settings, slices=parts)


def _pairs(analysis: TaskAnalysis, settings: Settings) -> tuple[Pair, ...]:
    names, test, margin = analysis.names, analysis.tests["randomisation"], settings.margin
    if settings.against:
        are_baselines = np.isin(names, settings.against)
        first, second = np.nonzero(~are_baselines[:, None] & are_baselines)
        p_values, others = analysis.scores.p_values(first, second), 0
    else:
        first, second = np.nonzero(np.triu(analysis.tested, 1))
        p_values, others = test.p[first, second], math.comb(len(names), 2) - len(first)
    # Pairs that are not tested count as if their p-value were 1.
    family, method = np.append(p_values, np.ones(others)), settings.correction
    adjusted = holm(family) if method == "holm" else benjamini_hochberg(family, dependent=method == "by")
    differences = analysis.scores.differences(first, second)
    sizes = effect_sizes(analysis.scores.scores * (np.nan if analysis.task.judges else 1))
    pairs = []
    for i, j, p_value, corrected, difference, interval, (wins, ties, losses) in zip(
        *(each.tolist() for each in (first, second, p_values, adjusted[: len(first)], *differences)), strict=True
    ):
        pairs.append(
            Pair(
                first=names[i],
                second=names[j],
                difference=difference,
                interval=None if np.isnan(interval).any() else (interval[0], interval[1]),
                p_value=p_value,
                adjusted=corrected,
                is_significant=corrected <= LEVEL and bool(analysis.means[i] != analysis.means[j]),
                effect_size=None if np.isnan(sizes[i, j]) else float(sizes[i, j]),
                wins=wins,
                ties=ties,
                losses=losses,
                decisive=_decisive(analysis, i, j),
                is_not_worse=None if margin is None else interval[0] >= -margin or 0 < ties == wins + ties + losses,
            )
        )
    return tuple(pairs)


def _decisive(analysis: TaskAnalysis, i: int, j: int) -> tuple[DecisiveCase, ...]:
    """Return the queries with the largest differences in each direction; of equal ones, those that come first."""
    values, cases = analysis.task.shown, analysis.task.cases
    differences = np.nan_to_num(values[i] - values[j])
    rising = np.argsort(differences, kind="stable")
    falling = np.argsort(-differences, kind="stable")
    chosen = [at for at in falling[:DECISIVE].tolist() if differences[at] > 0]
    chosen += [at for at in rising[:DECISIVE].tolist() if differences[at] < 0]
    chosen.sort(key=lambda at: (-abs(differences[at]), at))
    return tuple(
        DecisiveCase(cases[at], float(differences[at]), float(values[i, at]), float(values[j, at])) for at in chosen
    )
