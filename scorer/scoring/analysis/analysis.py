"""The analysis of tasks: rankings by every rule, tests, intervals, rank ranges, tiers, stability and consensus;
also as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scorer.measures.matched import Bools, Floats, Ints, rows_at
from scorer.options import RESAMPLES, SEED, PValueCorrection
from scorer.scoring.analysis.kept import Na, Task, without_missing
from scorer.scoring.analysis.scores import ONE_SIDED, PairTest, TaskScores, pair_tests, sign_flips_for, tested_pairs
from scorer.scoring.statistics.paired_tests import randomised_tukey
from scorer.scoring.statistics.rankings import (
    Ranking,
    by_median,
    by_query_ranks,
    by_wins,
    consensus,
    footrule,
    rank_frequencies,
    rank_quantiles,
    rank_ranges,
    ranking,
    ranks_of,
    resampled_taus,
    separable_from_leaders,
    tau_b,
    tiers,
)
from scorer.scoring.statistics.rankings import (
    means as means_of,
)
from scorer.scoring.statistics.resampling import smallest_differences, typical_difference
from scorer.wording import counted


@dataclass(frozen=True, slots=True)
class Settings:
    """What an analysis depends on besides the data."""

    seed: int = SEED
    """Of all random numbers."""
    resamples: int = RESAMPLES
    """Of the bootstrap."""
    all_pairs: bool = False
    """Whether to test all pairs of more algorithms than `scores.MOST_ALGORITHMS`."""
    tukey: bool = False
    against: tuple[str, ...] = ()
    """The submissions that all others are compared with; empty: all pairs are compared."""
    correction: PValueCorrection = "holm"
    """Of the p-values of a comparison."""
    margin: float | None = None
    """By how much a submission may be worse, for `Pair.is_not_worse`."""


BY_VALUE = ("mean", "median")
"""The rules whose values have the unit of the values of the task."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two rankings agree."""

    tau_b: float
    """Kendall's tau-b; NaN where undefined: a ranking has only ties."""
    footrule: int
    """Spearman's footrule: the sum of the differences of the ranks."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """Results of the paired bootstrap. With one case all arrays are NaN: a resample would be the case itself."""

    intervals: Floats
    """[algorithm, 2]: the 95 % interval of the mean that is shown; the lower end first."""
    percentile: Floats
    """[algorithm, 2]: by the percentiles of the resamples; the same where values may be below 0 or above 1."""
    bca: Floats
    """[algorithm, 2]; NaN where all values of an algorithm are equal."""
    quantiles: Floats
    """[algorithm, 3]: the ranks in the resamples at 2.5, 50 and 97.5 %."""
    frequencies: Floats
    """[algorithm, rank]: the share of the resamples in which it has this rank; ranks from 1."""
    taus: Floats
    """[resample]: Kendall's tau-b between the ranking of a resample and that of all cases, without those that are
    undefined because all ranks are equal."""

    @property
    def first(self) -> Floats:
        """[algorithm]: the share of the resamples in which it has rank 1."""
        return self.frequencies[:, 0]

    @property
    def tau_mean(self) -> float:
        """NaN without a tau."""
        return math.fsum(self.taus) / self.taus.size if self.taus.size else math.nan

    @property
    def tau_quartiles(self) -> tuple[float, float, float]:
        """NaN without a tau."""
        if not self.taus.size:
            return math.nan, math.nan, math.nan
        low, median, high = np.quantile(self.taus, (0.25, 0.5, 0.75)).tolist()
        return low, median, high


@dataclass(frozen=True, eq=False)
class TaskAnalysis:
    """The results for a task. All arrays have the algorithms in the order of `task`: the best first, by the mean."""

    task: Task
    """Its algorithms are sorted by their means, the best first; equal ones are in the order of the data."""
    scores: TaskScores
    """Of the algorithms, and what boards show of them."""
    means: Floats
    """[algorithm]: as reported, with the sign of the values."""
    rules: Mapping[str, Ranking]
    """By the name of the ranking rule. Values have the sign of those of the task; NaN where the rule is undefined."""
    agreement: Mapping[tuple[str, str], Agreement | None]
    """Of each two rules, in both orders; None where a rule is undefined."""
    tested: Bools
    """[i, j]: whether the pair is tested."""
    tests: Mapping[str, PairTest]
    tukey: Floats | None
    """[i, j]: p-values of the randomised Tukey HSD test; None if it is not requested."""
    better: Bools
    """[i, j]: whether i is significantly better than j, all pairs tested at once by sign flips."""
    ranges: Ints
    """[algorithm, 2]: the ranks that an algorithm may have, all pairs with it tested at once."""
    simultaneous: Ints
    """[algorithm, 2]: the same, all pairs tested at once; from `better`, as the tiers."""
    tiers: tuple[tuple[int, ...], ...]
    smallest_difference: float
    """The difference of means that is significant: the median over all pairs; NaN if no two algorithms differ."""
    resampling: Resampling

    @property
    def names(self) -> tuple[str, ...]:
        return self.task.algorithms

    @property
    def cases(self) -> str:
        """How many cases there are, and in how many clusters."""
        number, words = self.scores.clusters, self.task.words
        cases = counted(len(self.task.cases), words.case, words.cases)
        return cases if number is None else f"{cases} in {counted(number, 'cluster')}"

    @property
    def separable_from_leader(self) -> Bools:
        """[algorithm]: whether it is significantly worse than the leader of its tier."""
        return separable_from_leaders(self.tiers, self.better)

    @property
    def ranking(self) -> Ranking:
        """By the mean."""
        return self.rules["mean"]


def analysed(task: Task, settings: Settings | None = None) -> TaskAnalysis:
    """Return the analysis of a task whose missing values are treated, see `kept.without_missing`; NaN are left out."""
    settings = settings or Settings()
    task = _best_first(task)
    means, count = _means(task), len(task.algorithms)
    scores = TaskScores(
        task.scores,
        task.sign * means,
        np.arange(count),
        sign_flips_for(task),
        settings.resamples,
        settings.seed,
        task.kept,
        task.bounded,
        task.units,
        task.judges,
    )
    flips, above, better = scores.tests, scores.above, scores.better
    tested = tested_pairs(count, all_pairs=settings.all_pairs)
    tests = pair_tests(scores, tested)
    rules = rankings(task, means, tests.get(ONE_SIDED), tested)
    return TaskAnalysis(
        task=task,
        scores=scores,
        means=means,
        rules=rules,
        agreement=agreements(rules),
        tested=tested,
        tests=tests,
        tukey=randomised_tukey(task.scores, seed=settings.seed, units=task.units) if settings.tukey else None,
        better=better,
        ranges=rank_ranges(flips.better_marginally() & above, flips.worse_marginally() & above.T),
        simultaneous=rank_ranges(better),
        tiers=tuple(map(tuple, tiers(rules["mean"].ranks, better))),
        smallest_difference=typical_difference(
            smallest_differences(flips, scores.clusters or int(flips.queries.min())), flips
        ),
        resampling=resampling_of(task, scores, rules["mean"].ranks),
    )


def _means(task: Task) -> Floats:
    """[algorithm]: those that decide the ranking, with the sign of the values."""
    return means_of(task.values) if task.means is None else np.array(task.means)


def _best_first(task: Task) -> Task:
    """Return the task with its algorithms sorted by their means, the best first; equal ones keep their order."""
    means = _means(task).tolist()
    order = sorted(range(len(means)), key=lambda at: -task.sign * means[at])
    return replace(
        task,
        judges=task.judges and task.judges.rows(np.array(order)),
        algorithms=tuple(task.algorithms[at] for at in order),
        values=rows_at(task.values, np.array(order, dtype=np.int64)),
        means=None if task.means is None else tuple(task.means[at] for at in order),
        kept=task.kept and task.kept.of(order),
    )


def rankings(task: Task, means: Floats, wilcoxon: PairTest | None, tested: Bools) -> dict[str, Ranking]:
    """Return the ranking by each rule. `means`, with the sign of the values, decide the rule "mean".

    The rules that count wins by the one-sided Wilcoxon tests need at least two algorithms, and tests of all pairs. Two
    judges correct means only, not single cases: then "mean" is the only rule.
    """
    rules = {"mean": ranking(task.sign * means)}
    if wilcoxon is None:
        return rules
    rules |= {"median": by_median(task.scores), **by_query_ranks(task.scores)}
    for rule in BY_VALUE:
        rules[rule] = replace(rules[rule], values=task.sign * rules[rule].values)
    count = len(means)
    complete = tested.sum() == count * (count - 1)
    for rule, p_values in (("wins", wilcoxon.p), ("wins-holm", wilcoxon.holm)):
        rules[rule] = by_wins(p_values) if complete else ranking(np.full(count, np.nan))
    return rules


def agreements(rules: Mapping[str, Ranking]) -> dict[tuple[str, str], Agreement | None]:
    """Return the agreement of each two different rules, in both orders; None where a rule is undefined."""
    return {
        (one, other): Agreement(tau_b(mine.ranks, theirs.ranks), int(footrule(mine.ranks, theirs.ranks)))
        if mine.is_defined and theirs.is_defined
        else None
        for one, mine in rules.items()
        for other, theirs in rules.items()
        if one != other
    }


def resampling_of(task: Task, scores: TaskScores, ranks: Ints) -> Resampling:
    """Return what the bootstrap shows about a task, given the ranks by the mean over all cases, [algorithm]."""
    count, cases = task.values.shape
    if cases < 2:
        intervals, quantiles, frequencies = (np.full((count, columns), np.nan) for columns in (2, 3, count))
        return Resampling(intervals, intervals, intervals, quantiles, frequencies, np.zeros(0))
    drawn = ranks_of(scores.resampled.T, task.decimals)
    taus = resampled_taus(drawn, ranks)
    return Resampling(
        intervals=_as_reported(scores.intervals, task),
        percentile=_as_reported(scores.percentile, task),
        bca=_as_reported(scores.bca, task),
        quantiles=rank_quantiles(drawn),
        frequencies=rank_frequencies(drawn),
        taus=taus[~np.isnan(taus)],
    )


def _as_reported(intervals: Floats, task: Task) -> Floats:
    """Return intervals of scores as intervals of values: if smaller is better, with the other sign and end."""
    return intervals if task.larger_is_better else -intervals[:, ::-1]


@dataclass(frozen=True, eq=False)
class Consensus:
    """The ranking over all tasks by one rule."""

    algorithms: tuple[str, ...]
    """Those that are in every task, the best first; equal ones by name."""
    values: Floats
    """[algorithm]: the mean over the tasks of its rank, where equal algorithms of a task share the mean of their
    ranks."""
    ranks: Ints
    """[algorithm]: from 1; equal values share a rank."""


@dataclass(frozen=True, eq=False)
class Report:
    """All that a report shows."""

    title: str
    tasks: tuple[TaskAnalysis, ...]
    consensus: Mapping[str, Consensus | None]
    """By the name of the rule; None where the rule is undefined in a task, or no algorithm is in every task."""
    settings: Settings
    notes: tuple[str, ...] = ()
    """Sentences about the data of all tasks."""


def analysed_tasks(
    title: str, tasks: Sequence[Task], settings: Settings, na: Na = None, notes: Sequence[str] = ()
) -> Report:
    """Analyse tasks, at least one; `na` is for `kept.without_missing`, `notes` are about the data of all tasks.

    Raises ScorerError if values are missing and `na` does not say what to do.
    """
    treated = [without_missing(task, na) for task in tasks]
    analyses = tuple(analysed(task, settings) for task in treated)
    rules = {rule: _consensus(analyses, rule) for rule in analyses[0].rules}
    return Report(title, analyses, rules, settings, tuple(notes))


def _consensus(tasks: Sequence[TaskAnalysis], rule: str) -> Consensus | None:
    common = sorted(set.intersection(*(set(task.names) for task in tasks)))
    if not common or not all(rule in task.rules and task.rules[rule].is_defined for task in tasks):
        return None
    ranks = np.array([[task.rules[rule].ranks[task.names.index(name)] for name in common] for task in tasks])
    values = consensus(ranks)
    order = np.argsort(values, kind="stable")
    return Consensus(tuple(common[at] for at in order), values[order], ranks_of(-values[order]))


ANALYSIS_VERSION = 3

AnalysisDocument = dict[str, Any]


def json_text(document: AnalysisDocument) -> str:
    """Return a document as JSON: full precision, null where undefined; without a final line end."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def report_document(report: Report) -> AnalysisDocument:
    """Return a report as plain values; None where undefined."""
    return {
        "version": ANALYSIS_VERSION,
        "tasks": [task_document(task) for task in report.tasks],
        "consensus": {rule: _consensus_document(consensus) for rule, consensus in report.consensus.items()},
        "seed": report.settings.seed,
        "resamples": report.settings.resamples,
    }


def task_document(analysis: TaskAnalysis) -> AnalysisDocument:
    """Return the analysis of a task as plain values; None where undefined."""
    names, resampling = analysis.names, analysis.resampling
    first = resampling.first.tolist()
    return {
        "task": analysis.task.name,
        "cases": len(analysis.task.cases),
        **({} if analysis.scores.clusters is None else {"clusters": analysis.scores.clusters}),
        "algorithms": list(names),
        "rules": {rule: _ranking(names, ranking) for rule, ranking in analysis.rules.items()},
        "pairwise": {
            **{name: _pairs(analysis, test) for name, test in analysis.tests.items()},
            **({} if analysis.tukey is None else {"tukey": _tukey(names, analysis.tukey)}),
        },
        "intervals": {
            name: {
                "mean": defined(float(analysis.means[at])),
                "interval": _interval(resampling.intervals[at]),
                "percentile": _interval(resampling.percentile[at]),
                "bca": _interval(resampling.bca[at]),
            }
            for at, name in enumerate(names)
        },
        "ranks": {
            name: {
                "range": analysis.ranges[at].tolist(),
                "simultaneous": analysis.simultaneous[at].tolist(),
                "bootstrap": _ranks(resampling.quantiles[at]),
                "first": defined(first[at]),
            }
            for at, name in enumerate(names)
        },
        "tiers": [[names[at] for at in tier] for tier in analysis.tiers],
        "separable_from_leader": [names[at] for at in np.flatnonzero(analysis.separable_from_leader).tolist()],
        "stability": {
            "tau_mean": defined(resampling.tau_mean),
            "tau_quartiles": [defined(tau) for tau in resampling.tau_quartiles],
        },
        "agreement": {
            rule: {other: _agreement(each) for (one, other), each in analysis.agreement.items() if one == rule}
            for rule in analysis.rules
        },
    }


def defined(value: float) -> float | None:
    """Return a number; None for NaN."""
    return None if math.isnan(value) else value


def _interval(ends: Floats) -> list[float] | None:
    return None if np.isnan(ends).any() else [float(end) for end in ends]


def _ranking(names: Sequence[str], ranking: Ranking) -> AnalysisDocument:
    values, ranks = ranking.values.tolist(), ranking.ranks.tolist()
    return {
        name: {"value": defined(values[at]), "rank": ranks[at] if ranking.is_defined else None}
        for at, name in enumerate(names)
    }


def _pairs(analysis: TaskAnalysis, test: PairTest) -> AnalysisDocument:
    """Row -> column -> p-values, of the pairs that are tested."""
    p, adjusted = test.p.tolist(), test.holm.tolist()
    return {
        row: {
            column: {"p": defined(p[i][j]), "holm": defined(adjusted[i][j])}
            for j, column in enumerate(analysis.names)
            if analysis.tested[i, j]
        }
        for i, row in enumerate(analysis.names)
    }


def _tukey(names: Sequence[str], p: Floats) -> AnalysisDocument:
    return {
        row: {column: {"p": defined(float(p[i, j]))} for j, column in enumerate(names) if i != j}
        for i, row in enumerate(names)
    }


def _ranks(quantiles: Floats) -> list[float | int] | None:
    """Return quantiles of ranks, whole ones as integers; None where undefined."""
    if np.isnan(quantiles).any():
        return None
    return [int(rank) if float(rank).is_integer() else float(rank) for rank in quantiles]


def _agreement(agreement: Agreement | None) -> Mapping[str, float | None]:
    if agreement is None:
        return {"tau_b": None, "footrule": None}
    return {"tau_b": defined(agreement.tau_b), "footrule": agreement.footrule}


def _consensus_document(consensus: Consensus | None) -> AnalysisDocument | None:
    if consensus is None:
        return None
    values, ranks = consensus.values.tolist(), consensus.ranks.tolist()
    return {name: {"value": values[at], "rank": ranks[at]} for at, name in enumerate(consensus.algorithms)}
