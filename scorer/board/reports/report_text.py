"""The analysis of tasks in sentences with tables, and a whole report as Markdown.

A sentence states only what the results show; tests hold each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scorer.board.reports.comparisons import decimal_text, decimals_of, interval, name, names, p_value, percentage
from scorer.options import LEVEL
from scorer.scoring.analysis.analysis import Report, TaskAnalysis
from scorer.scoring.analysis.scores import MOST_ALGORITHMS, ONE_SIDED, can_be_significant, sign_flips_for
from scorer.wording import (
    Cell,
    Table,
    counted,
    escape_markdown,
    joined,
    letters,
    markdown_table,
    printable,
    range_of_ranks,
    shared_ranks,
    table_of,
)


@dataclass(frozen=True, slots=True)
class Captioned:
    """A table with its caption."""

    caption: str
    table: Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A place for a chart."""

    chart: str
    """The name of the chart."""
    caption: str
    """States the finding; the text alternative of the chart, too."""


_Block = str | Captioned | Figure
"""A paragraph, a table or a chart. A paragraph is plain text that does not begin with a name from the data."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document."""

    title: str
    blocks: Sequence[_Block]


def task_sections(analysis: TaskAnalysis) -> list[Section]:
    """Return the sections about a task."""
    sections = [Section("Ranking", list(_ranking(analysis))), Section("Certainty", list(_certainty(analysis)))]
    if len(analysis.names) > 1:
        sections += [
            Section("Stability", list(_stability(analysis))),
            *([Section("Ranking rules", list(rules_blocks(analysis)))] if len(analysis.rules) > 1 else []),
            Section("Pairs", list(pairs_blocks(analysis))),
            Section(f"Values on the {analysis.task.words.cases}", list(values_blocks(analysis))),
        ]
    undefined = list(_undefined(analysis))
    return [*sections, Section("Undefined results", undefined)] if undefined else sections


def _ranking(analysis: TaskAnalysis) -> Iterator[_Block]:
    task, words = analysis.task, analysis.task.words
    algorithms = counted(len(analysis.names), words.algorithm, words.algorithms)
    of = f" of {task.measure}" if task.measure else ""
    better = "larger" if task.larger_is_better else "smaller"
    verb = "is" if len(analysis.names) == 1 else "are"
    rounding = "" if task.decimals is None else f", rounded to {counted(task.decimals, 'decimal')}"
    yield (
        f"{algorithms} {verb} ranked by the mean{of} over {analysis.cases}{rounding}; {better} values are better. "
        f"{words.algorithms.capitalize()} with equal means share a rank."
    )
    yield from task.notes
    yield _leader(analysis)
    method = "Korn and Graubard" if task.bounded else "percentile bootstrap"
    if task.judges is not None:
        method = "Student's t, from how the scores by both judges vary"
    yield Captioned(
        f"Means with 95 % intervals ({method}), the ranks that remain possible when all pairs are tested "
        f"at once, tiers, and how often each {words.algorithm} is first in a resample.",
        _table(analysis),
    )
    yield Figure("intervals", f"{_leader(analysis)} A dot is a mean, a bar its 95 % interval.")


def _leaders(analysis: TaskAnalysis) -> list[int]:
    return np.flatnonzero(analysis.ranking.ranks == 1).tolist()


def _leader(analysis: TaskAnalysis) -> str:
    """Who is first, and how far ahead."""
    decimals = decimals_of(analysis)
    leaders, words = _leaders(analysis), analysis.task.words
    mean = decimal_text(float(analysis.means[0]), decimals)
    if len(leaders) == len(analysis.names) > 1:
        return f"All {words.algorithms} have the same mean, {mean}, and share the first rank."
    listed = names([analysis.names[at] for at in leaders], words.algorithm, words.algorithms)
    if len(leaders) > 1:
        return f"The first rank is shared by {listed}, with a mean of {mean}."
    if len(analysis.names) == 1:
        return f"The only {words.algorithm}, {listed}, has a mean of {mean}."
    ahead = decimal_text(abs(float(analysis.means[0] - analysis.means[1])), decimals)
    side = "above" if analysis.task.larger_is_better else "below"
    return f"First is {listed} with a mean of {mean}, {ahead} {side} {name(analysis.names[1])}."


def _table(analysis: TaskAnalysis) -> Table:
    decimals, task = decimals_of(analysis), analysis.task
    tier = {at: letters(index) for index, tier in enumerate(analysis.tiers) for at in tier}
    ranks = shared_ranks(analysis.ranking.ranks.tolist())
    rows = [
        (
            tier[at],
            ranks[at],
            range_of_ranks(*analysis.simultaneous[at].tolist()),
            algorithm,
            Cell(float(analysis.means[at]), decimals),
            interval(analysis.resampling.intervals[at], decimals),
            "undefined" if math.isnan(first) else percentage(first),
        )
        for at, (algorithm, first) in enumerate(zip(analysis.names, analysis.resampling.first.tolist(), strict=True))
    ]
    heads = ("tier", "rank", "range", task.words.algorithm, "mean", "95 % interval", "first")
    return table_of(heads, rows, [task.words.algorithm])


def _certainty_sentence(analysis: TaskAnalysis) -> str:
    """The tiers and the neighbours that are separable."""
    count, words = len(analysis.names), analysis.task.words
    if count == 1:
        return f"One {words.algorithm} cannot be compared."
    if len(analysis.tiers) == 1:
        which = "The two" if count == 2 else f"All {count:,}"
        worse = "the last" if analysis.separable_from_leader.any() else "none"
        verb = "is not" if worse == "the last" else "is"
        return f"{which} {words.algorithms} are in one tier: {worse} {verb} significantly worse than the first."
    separable = int(np.diagonal(analysis.better, 1).sum())
    pairs = counted(count - 1, "pair")
    verb = "is" if separable == 1 else "are"
    neighbours = "the two are" if count == 2 else f"{separable:,} of {pairs} of neighbours {verb}"
    return f"{count:,} {words.algorithms} are in {len(analysis.tiers):,} tiers; {neighbours} separable."


def _certainty(analysis: TaskAnalysis) -> Iterator[_Block]:
    words = analysis.task.words
    yield _certainty_sentence(analysis)
    if len(analysis.names) == 1:
        return
    yield (
        f"Two {words.algorithms} are called separable if a test of all pairs at once (random sign flips of the "
        f"differences, family-wise level {100 * LEVEL:g} %) finds them different. A tier opens with the best "
        f"{words.algorithm} that is in no tier yet, its leader, and reaches down to the last one that is not "
        "significantly worse than it."
    )
    leader = name(analysis.names[0])
    worse = int(analysis.better[0].sum())
    if worse == len(analysis.names) - 1 and worse > 1:
        yield f"All other {words.algorithms} are significantly worse than {leader}."
    elif worse:
        others = counted(len(analysis.names) - 1, f"other {words.algorithm}", f"other {words.algorithms}")
        yield f"Of {others}, {worse:,} {'is' if worse == 1 else 'are'} significantly worse than {leader}."
    if apart := [analysis.names[at] for at in np.flatnonzero(analysis.separable_from_leader).tolist()]:
        yield (
            f"Separable from the leader of its tier, although a lower {words.algorithm} is not, whose differences vary "
            f"more: {joined([name(each) for each in apart])}."
        )
    if math.isfinite(analysis.smallest_difference):
        smallest = decimal_text(analysis.smallest_difference, decimals_of(analysis))
        yield (
            f"With these {analysis.cases}, a difference between two means is "
            f"significant from about {smallest} (the median over all pairs)."
        )
    count, separable = len(analysis.names), int(analysis.better.sum())
    pairs, verb = counted(count * (count - 1) // 2, "pair"), "is" if separable == 1 else "are"
    yield Figure("significance", f"Of {pairs}, {separable:,} {verb} separable, all pairs tested at once.")


def _stability(analysis: TaskAnalysis) -> Iterator[_Block]:
    task, resampling = analysis.task, analysis.resampling
    if len(task.cases) < 2:
        yield f"Nothing is known about the stability, because there is one {task.words.case} only."
        return
    yield (
        f"The {task.words.cases} are drawn again with replacement, the same for all {task.words.algorithms}, and each "
        "resample is ranked by its means."
    )
    yield first_sentence(analysis)
    if resampling.taus.size:
        yield tau_sentence(analysis)
    yield Captioned(
        "Ranks in the resamples: median and middle 95 %.",
        table_of(
            ("rank", task.words.algorithm, "median", "middle 95 %"),
            (
                (int(rank), algorithm, f"{median:g}", f"{low:g} to {high:g}")
                for rank, algorithm, (low, median, high) in zip(
                    analysis.ranking.ranks, analysis.names, resampling.quantiles, strict=True
                )
            ),
            [task.words.algorithm],
        ),
    )
    yield Figure("blobs", f"{first_sentence(analysis)} The area of a dot is the share of the resamples with that rank.")


def tau_sentence(analysis: TaskAnalysis) -> str:
    """Return how far the rankings of the resamples agree with the ranking; empty if that is undefined."""
    resampling = analysis.resampling
    if not resampling.taus.size:
        return ""
    low, median, high = (f"{tau:.2f}" for tau in resampling.tau_quartiles)
    return (
        f"Kendall's tau-b between the ranking of a resample and the ranking by the mean is {resampling.tau_mean:.2f} "
        f"on average (quartiles {low}, {median} and {high}; 1 means the same order)."
    )


def first_sentence(analysis: TaskAnalysis) -> str:
    """Return which algorithm is first in most resamples, and in how many."""
    leaders = _leaders(analysis)
    often = int(np.argmax(analysis.resampling.first))
    listed = name(analysis.names[often])
    sentence = f"In {percentage(float(analysis.resampling.first[often]))} of the resamples, {listed} has the best mean"
    if often in leaders:
        return f"{sentence}."
    first = name(analysis.names[leaders[0]])
    return f"{sentence}, more often than {first}, which is first on all {analysis.task.words.cases}."


def _undefined(analysis: TaskAnalysis) -> Iterator[_Block]:
    """A sentence for each kind of result that is undefined, with the reason."""
    words, count = analysis.task.words, len(analysis.names)
    if len(analysis.task.cases) < 2:
        yield f"Intervals and ranks in resamples are undefined, because there is one {words.case} only."
    else:
        ends = zip(analysis.names, analysis.resampling.bca[:, 0].tolist(), strict=True)
        constant = [algorithm for algorithm, low in ends if math.isnan(low)]
        if constant and analysis.task.judges is None:
            listed = names(constant, words.algorithm, words.algorithms)
            yield f"The BCa interval is undefined for {listed}: all values are equal."
    if count == 1:
        what = "Tests, rules that count wins, agreement and stability"
        yield f"{what} are undefined, because there is one {words.algorithm}."
        return
    for test, about in ((ONE_SIDED, "Wilcoxon test"), ("t", "t test")):
        if test not in analysis.tests:
            continue
        without = int((np.triu(analysis.tested, 1) & np.isnan(analysis.tests[test].p)).sum())
        if without:
            why = (
                "all differences are 0"
                if test == ONE_SIDED
                else f"all differences are equal, or there is one {words.case}"
            )
            yield f"The {about} is undefined for {counted(without, 'pair')}: {why}."
    if not all(ranking.is_defined for ranking in analysis.rules.values()):
        yield "The rules that count wins are undefined, because not all pairs are tested."
    if not analysis.resampling.taus.size:
        yield f"Kendall's tau is undefined: all {words.algorithms} share a rank."
    elif any(pair is not None and math.isnan(pair.tau_b) for pair in analysis.agreement.values()):
        yield f"Kendall's tau is undefined with a rule by which all {words.algorithms} share a rank."


MOST_COLUMNS = 20
"""A table with a row and a column for each algorithm has at most so many."""


def rules_blocks(analysis: TaskAnalysis) -> Iterator[_Block]:
    """Yield how far the ranking rules agree."""
    words = analysis.task.words
    defined = {rule: ranking for rule, ranking in analysis.rules.items() if ranking.is_defined}
    same = [rule for rule in defined if (defined[rule].ranks == analysis.ranking.ranks).all() and rule != "mean"]
    differ = [rule for rule in defined if rule not in same and rule != "mean"]
    first = first_by_rules(analysis)
    yield f"The ranking by the mean is compared with {counted(len(defined) - 1, 'other rule')}. {first}"
    yield _agreement_sentence(same, differ, analysis)
    yield Captioned(
        "Ranks by each rule.",
        table_of(
            (words.algorithm, *analysis.rules),
            (
                (algorithm, *(int(rule.ranks[at]) if rule.is_defined else None for rule in analysis.rules.values()))
                for at, algorithm in enumerate(analysis.names)
            ),
            [words.algorithm],
            blank="–",
        ),
    )
    yield Figure("rules", first)
    meanings = {
        "mean": f"the mean over the {words.cases}",
        "median": f"the median over the {words.cases}",
        "mean-rank": f"the mean of the ranks on each {words.case}",
        "median-rank": f"the median of the ranks on each {words.case}",
        "wins": f"the share of the other {words.algorithms} that are significantly worse (one-sided Wilcoxon test)",
        "wins-holm": "the same with Holm's correction",
    }
    yield "The rules are: " + "; ".join(f"{rule}, {meanings[rule]}" for rule in analysis.rules) + "."


def first_by_rules(analysis: TaskAnalysis) -> str:
    """Return who has the first rank by every rule."""
    words = analysis.task.words
    defined = [ranking for ranking in analysis.rules.values() if ranking.is_defined]
    always = set.intersection(*(set(np.flatnonzero(ranking.ranks == 1).tolist()) for ranking in defined))
    if not always:
        return f"No {words.algorithm} has the first rank by every rule."
    listed = names([analysis.names[at] for at in sorted(always)], words.algorithm, words.algorithms)
    shared = any((ranking.ranks == 1).sum() > len(always) for ranking in defined) or len(always) > 1
    verb = "has" if len(always) == 1 else "have"
    return f"By every rule, {listed} {verb} the first rank{', which some rules share among several' if shared else ''}."


def _agreement_sentence(same: list[str], differ: list[str], analysis: TaskAnalysis) -> str:
    if not differ:
        return "All rules give the same ranking."
    parts = []
    for rule in differ:
        agreement = analysis.agreement["mean", rule]
        tau = math.nan if agreement is None else agreement.tau_b
        parts.append(f"{rule} (tau-b {'undefined' if math.isnan(tau) else f'{tau:.2f}'})")
    begin = f"The same ranking comes from {joined(same)}; another one from " if same else "Other rankings come from "
    return f"{begin}{joined(parts)}."


def pairs_blocks(analysis: TaskAnalysis) -> Iterator[_Block]:
    """Yield what the tests of pairs find."""
    yield from tests_sentences(analysis)
    if len(analysis.names) <= MOST_COLUMNS and ONE_SIDED in analysis.tests:
        algorithm = analysis.task.words.algorithm
        yield Captioned(
            f"P-values of the one-sided Wilcoxon test with Holm's correction: whether the {algorithm} of the row is "
            "better than that of the column. Columns are numbered as the rows.",
            _p_values(analysis),
        )


def tests_sentences(analysis: TaskAnalysis) -> Iterator[str]:
    """Yield how many pairs each test of single pairs finds different, and what limits it."""
    words, tests = analysis.task.words, analysis.tests
    above = np.triu(analysis.tested, 1) & (analysis.means[:, None] != analysis.means[None, :])
    count = int(np.triu(analysis.tested, 1).sum())
    called = {
        ONE_SIDED: "a one-sided Wilcoxon signed-rank test",
        "t": "a paired t test",
        "randomisation": "a randomisation test",
    }
    by_name = {
        called[name]: int((above & ((test.holm <= LEVEL) | (test.holm.T <= LEVEL))).sum())
        for name, test in tests.items()
    }
    if analysis.tukey is not None:
        by_name["the randomised Tukey HSD test"] = int((above & (analysis.tukey <= LEVEL)).sum())
    if count < len(analysis.names) * (len(analysis.names) - 1) // 2:
        yield (
            f"Only neighbours in the ranking and pairs with the first {words.algorithm} are tested, because there are "
            f"more than {MOST_ALGORITHMS} {words.algorithms}; --all-pairs tests all of them. The corrections count all "
            "pairs."
        )
    if not can_be_significant(len(analysis.names), sign_flips_for(analysis.task)):
        yield (
            f"The randomisation test has too few sign flips for a correction over the pairs of so many "
            f"{words.algorithms}: none of its adjusted p-values can be significant. The decisions on all pairs at once "
            "do not have this limit."
        )
    numbers = joined([f"{number_} by {test_}" for test_, number_ in by_name.items()])
    pairs = counted(count, "pair")
    yield (
        f"With Holm's correction at {100 * LEVEL:g} %, of {pairs} are significant: {numbers}."
        + ("" if analysis.tukey is None else " The Tukey test corrects for all pairs without Holm's method.")
    )


def _p_values(analysis: TaskAnalysis) -> Table:
    adjusted, count = analysis.tests[ONE_SIDED].holm, len(analysis.names)
    algorithm = analysis.task.words.algorithm
    return table_of(
        ("no.", algorithm, *(str(j + 1) for j in range(count))),
        (
            (i + 1, name, *(None if i == j else p_value(float(adjusted[i, j])) for j in range(count)))
            for i, name in enumerate(analysis.names)
        ),
        [algorithm],
    )


def values_blocks(analysis: TaskAnalysis) -> Iterator[_Block]:
    """Yield how the values on the cases are distributed."""
    task, words = analysis.task, analysis.task.words
    scores = task.sign * task.shown
    best = np.nanmax(scores, axis=0)
    wins = (scores == best).sum(axis=1)
    most = int(np.argmax(wins))
    sentence = (
        f"The best value is that of {name(analysis.names[most])} on {int(wins[most]):,} of "
        f"{counted(len(task.cases), words.case, words.cases)}, more than for any other {words.algorithm}"
        if int((wins == wins[most]).sum()) == 1
        else f"No {words.algorithm} has the best value on more {words.cases} than all others"
    )
    if task.judges is not None:
        yield f"Single {words.cases} have the values by the solution, which no judgement of people corrects."
    yield f"{sentence} (a tie counts for each)."
    yield Figure("boxes", _medians_sentence(analysis))


def _medians_sentence(analysis: TaskAnalysis) -> str:
    """The range of the medians."""
    medians, decimals = np.nanmedian(analysis.task.shown, axis=1), decimals_of(analysis)
    low, high = int(np.argmin(medians)), int(np.argmax(medians))
    if medians[low] == medians[high]:
        return f"All medians are {decimal_text(float(medians[low]), decimals)}."
    return (
        f"Medians go from {decimal_text(float(medians[low]), decimals)} ({name(analysis.names[low])}) to "
        f"{decimal_text(float(medians[high]), decimals)} ({name(analysis.names[high])})."
    )


def title(report: Report) -> str:
    """Return the title of a report."""
    return f"Analysis of {printable(report.title)}"


def task_title(analysis: TaskAnalysis) -> str:
    """Return the heading of a task."""
    return f"{analysis.task.words.task.capitalize()} {printable(analysis.task.name)}"


def introduction(report: Report) -> Section:
    """Return what is analysed, and how."""
    count, words = len(report.tasks), report.tasks[0].task.words
    blocks: list[_Block] = [f"The report is about {counted(count, words.task, words.tasks)}.", *report.notes]
    if count > 1:
        blocks.append(
            Captioned(
                f"The {words.tasks}.",
                table_of(
                    (words.task, words.algorithms, words.cases, "first", "tiers"),
                    (
                        (task.task.name, len(task.names), len(task.task.cases), _first(task), len(task.tiers))
                        for task in report.tasks
                    ),
                    (words.task, "first"),
                ),
            )
        )
    return Section("Summary", blocks)


def _first(task: TaskAnalysis) -> str:
    leaders = [task.names[at] for at in _leaders(task)]
    return names(leaders, task.task.words.algorithm, task.task.words.algorithms)


def consensus_section(report: Report) -> Section | None:
    """Return the ranking over all tasks; None for one task."""
    if len(report.tasks) < 2:
        return None
    return Section("Consensus", list(_consensus(report)))


def _consensus(report: Report) -> Iterator[_Block]:
    words = report.tasks[0].task.words
    by_mean = report.consensus["mean"]
    if by_mean is None:
        yield f"No {words.algorithm} is in every {words.task}, so there is no ranking over all {words.tasks}."
        return
    everywhere = set(by_mean.algorithms)
    absent = sorted({name for task in report.tasks for name in task.names} - everywhere)
    yield (
        f"The consensus of {counted(len(report.tasks), words.task, words.tasks)} orders {words.algorithms} "
        f"by the mean of their ranks, where those that share a rank in a {words.task} get the mean of the ranks that "
        "they occupy."
    )
    if absent:
        listed = names(absent, words.algorithm, words.algorithms)
        verb = "is" if len(absent) == 1 else "are"
        yield f"Not in every {words.task}, and therefore left out, {verb} {listed}."
    leaders = [name for name, rank in zip(by_mean.algorithms, by_mean.ranks.tolist(), strict=True) if rank == 1]
    listed = names(leaders, words.algorithm, words.algorithms)
    yield f"By the mean, the first over all {words.tasks} {'is' if len(leaders) == 1 else 'are'} {listed}."
    rules = {rule: ranking for rule, ranking in report.consensus.items() if ranking is not None}
    yield Captioned(
        "Consensus ranks by each rule.",
        table_of(
            (words.algorithm, *rules),
            (
                (name, *(int(ranking.ranks[ranking.algorithms.index(name)]) for ranking in rules.values()))
                for name in by_mean.algorithms
            ),
            [words.algorithm],
        ),
    )
    missing = [rule for rule in report.consensus if rule not in rules]
    if missing:
        yield f"There is no consensus by {joined(missing)}, because the rule is undefined in a {words.task}."


def methods(report: Report) -> Section:
    """Return how the numbers were computed, and what they do not show."""
    settings, words = report.settings, report.tasks[0].task.words
    return Section(
        "Methods and caveats",
        [
            f"The bootstrap has {settings.resamples:,} resamples of the {words.cases}, drawn separately for each "
            f"{words.task}; the seed of all random numbers is {settings.seed}. All tests have the level 5 %. The same "
            "data, seed and version give the same report.",
            f"Intervals and tests describe what other {words.cases} from the same population would show, if these are "
            "a random sample of it. They do not describe other years, other annotators or other data.",
            "Intervals of two means may overlap although the difference is significant: the tests are paired, the "
            "intervals are of one mean each.",
            f"Ranks in resamples show how the ranking reacts to the choice of {words.cases}. They are no confidence "
            f"statement where {words.algorithms} tie; rank ranges are.",
            f"That a difference is not significant does not show that two {words.algorithms} are equal.",
        ],
    )


def report_markdown(report: Report) -> str:
    """Return a report as Markdown, without charts and without a final line end."""
    sections = [(2, introduction(report))]
    for task in report.tasks:
        sections.append((2, Section(task_title(task), [])))
        sections += [(3, section) for section in task_sections(task)]
    if over_all := consensus_section(report):
        sections.append((2, over_all))
    parts = [f"# {escape_markdown(title(report))}"]
    for level, section in [*sections, (2, methods(report))]:
        parts.append(f"{'#' * level} {escape_markdown(section.title)}")
        for block in section.blocks:
            if isinstance(block, str):
                parts.append(escape_markdown(block))
            elif isinstance(block, Captioned):
                parts += [escape_markdown(block.caption), markdown_table(block.table)]
    return "\n\n".join(parts)
