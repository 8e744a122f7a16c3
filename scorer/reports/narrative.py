"""The analysis of a task in sentences, with its tables and the places of its charts.

A sentence states only what the results show; tests hold each of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from scorer.analysis.analysis import TaskAnalysis
from scorer.analysis.pairs import ONE_SIDED
from scorer.options import LEVEL
from scorer.reports.document import Block, Captioned, Figure, Section
from scorer.reports.phrases import decimals_of, interval, name, names, number, share
from scorer.reports.rules_and_pairs import pairs_blocks, rules_blocks, values_blocks
from scorer.wording import counted, letters, range_of_ranks, shared_rank
from scorer.wording.table import Cell, Table, table_of


def task_sections(analysis: TaskAnalysis) -> list[Section]:
    """Return the sections about a task."""
    sections = [Section("Ranking", list(_ranking(analysis))), Section("Certainty", list(_certainty(analysis)))]
    if len(analysis.names) > 1:
        sections += [
            Section("Stability", list(_stability(analysis))),
            Section("Ranking rules", list(rules_blocks(analysis))),
            Section("Pairs", list(pairs_blocks(analysis))),
            Section(f"Values on the {analysis.task.words.cases}", list(values_blocks(analysis))),
        ]
    undefined = list(_undefined(analysis))
    return [*sections, Section("Undefined results", undefined)] if undefined else sections


def _ranking(analysis: TaskAnalysis) -> Iterator[Block]:
    task, words = analysis.task, analysis.task.words
    algorithms = counted(len(analysis.names), words.algorithm, words.algorithms)
    cases = counted(len(task.cases), words.case, words.cases)
    of = f" of {task.measure}" if task.measure else ""
    better = "larger" if task.larger_is_better else "smaller"
    verb = "is" if len(analysis.names) == 1 else "are"
    rounding = "" if task.decimals is None else f", rounded to {counted(task.decimals, 'decimal')}"
    yield (
        f"{algorithms} {verb} ranked by the mean{of} over {cases}{rounding}; {better} values are better. "
        f"{words.algorithms.capitalize()} with equal means share a rank."
    )
    yield from task.notes
    yield _leader(analysis)
    yield Captioned(
        "Means with 95 % intervals (percentile bootstrap), the ranks that remain possible when all pairs are tested "
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
    mean = number(float(analysis.means[0]), decimals)
    if len(leaders) == len(analysis.names) > 1:
        return f"All {words.algorithms} have the same mean, {mean}, and share the first rank."
    listed = names([analysis.names[at] for at in leaders], words.algorithm, words.algorithms)
    if len(leaders) > 1:
        return f"The first rank is shared by {listed}, with a mean of {mean}."
    if len(analysis.names) == 1:
        return f"The only {words.algorithm}, {listed}, has a mean of {mean}."
    ahead = number(abs(float(analysis.means[0] - analysis.means[1])), decimals)
    side = "above" if analysis.task.larger_is_better else "below"
    return f"First is {listed} with a mean of {mean}, {ahead} {side} {name(analysis.names[1])}."


def _table(analysis: TaskAnalysis) -> Table:
    decimals, task = decimals_of(analysis), analysis.task
    tier = {at: letters(index) for index, tier in enumerate(analysis.tiers) for at in tier}
    ranks = analysis.ranking.ranks.tolist()
    sharing: Counter[int | None] = Counter(ranks)
    rows = [
        (
            tier[at],
            shared_rank(ranks[at], sharing),
            range_of_ranks(*analysis.simultaneous[at].tolist()),
            algorithm,
            Cell(float(analysis.means[at]), decimals),
            interval(analysis.resampling.percentile[at], decimals),
            "undefined" if math.isnan(first) else share(first),
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
        return f"{which} {words.algorithms} are in one tier: none is significantly worse than the first."
    separable = int(np.diagonal(analysis.better, 1).sum())
    pairs = counted(count - 1, "pair")
    verb = "is" if separable == 1 else "are"
    neighbours = "the two are" if count == 2 else f"{separable:,} of {pairs} of neighbours {verb}"
    return f"{count:,} {words.algorithms} are in {len(analysis.tiers):,} tiers; {neighbours} separable."


def _certainty(analysis: TaskAnalysis) -> Iterator[Block]:
    task, words = analysis.task, analysis.task.words
    yield _certainty_sentence(analysis)
    if len(analysis.names) == 1:
        return
    yield (
        f"Two {words.algorithms} are called separable if a test of all pairs at once (random sign flips of the "
        f"differences, family-wise level {100 * LEVEL:g} %) finds them different. A tier opens with the best "
        f"{words.algorithm} that is in no tier yet and has those that are not significantly worse than it."
    )
    leader = name(analysis.names[0])
    worse = int(analysis.better[0].sum())
    if worse == len(analysis.names) - 1 and worse > 1:
        yield f"All other {words.algorithms} are significantly worse than {leader}."
    elif worse:
        others = counted(len(analysis.names) - 1, f"other {words.algorithm}", f"other {words.algorithms}")
        yield f"Of {others}, {worse:,} {'is' if worse == 1 else 'are'} significantly worse than {leader}."
    in_tiers = [at for tier in analysis.tiers for at in tier]
    if in_tiers != sorted(in_tiers):
        yield (
            f"Tiers interleave: the differences of a lower {words.algorithm} from the leader of a tier may vary more, "
            f"so that it is not separable from this leader although a higher {words.algorithm} is."
        )
    if math.isfinite(analysis.smallest_difference):
        smallest = number(analysis.smallest_difference, decimals_of(analysis))
        yield (
            f"With these {counted(len(task.cases), words.case, words.cases)}, a difference between two means is "
            f"significant from about {smallest} (the median over all pairs)."
        )
    count, separable = len(analysis.names), int(analysis.better.sum())
    pairs, verb = counted(count * (count - 1) // 2, "pair"), "is" if separable == 1 else "are"
    yield Figure("significance", f"Of {pairs}, {separable:,} {verb} separable, all pairs tested at once.")


def _stability(analysis: TaskAnalysis) -> Iterator[Block]:
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
        yield Figure("tau", f"Kendall's tau-b is {resampling.tau_mean:.2f} on average over the resamples.")
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
    sentence = f"In {share(float(analysis.resampling.first[often]))} of the resamples, {listed} has the best mean"
    if often in leaders:
        return f"{sentence}."
    first = name(analysis.names[leaders[0]])
    return f"{sentence}, more often than {first}, which is first on all {analysis.task.words.cases}."


def _undefined(analysis: TaskAnalysis) -> Iterator[Block]:
    """A sentence for each kind of result that is undefined, with the reason."""
    words, count = analysis.task.words, len(analysis.names)
    if len(analysis.task.cases) < 2:
        yield f"Intervals and ranks in resamples are undefined, because there is one {words.case} only."
    else:
        ends = zip(analysis.names, analysis.resampling.bca[:, 0].tolist(), strict=True)
        constant = [algorithm for algorithm, low in ends if math.isnan(low)]
        if constant:
            listed = names(constant, words.algorithm, words.algorithms)
            yield f"The BCa interval is undefined for {listed}: all values are equal."
    if count == 1:
        what = "Tests, rules that count wins, agreement and stability"
        yield f"{what} are undefined, because there is one {words.algorithm}."
        return
    for test, about in ((ONE_SIDED, "Wilcoxon test"), ("t", "t test")):
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
