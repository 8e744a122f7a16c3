"""The ranking rules, the tests of pairs and the values of a task, in sentences with tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from scorer.analysis.analysis import TaskAnalysis
from scorer.analysis.pairs import MOST_ALGORITHMS, ONE_SIDED, can_be_significant, sign_flips_for
from scorer.options import LEVEL
from scorer.reports.document import Block, Captioned, Figure
from scorer.reports.phrases import decimals_of, name, names, number, p_value
from scorer.wording import counted, joined
from scorer.wording.table import Table, table_of

MOST_COLUMNS = 20
"""A table with a row and a column for each algorithm has at most so many."""


def rules_blocks(analysis: TaskAnalysis) -> Iterator[Block]:
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


def pairs_blocks(analysis: TaskAnalysis) -> Iterator[Block]:
    """Yield what the tests of pairs find."""
    yield from tests_sentences(analysis)
    if len(analysis.names) <= MOST_COLUMNS:
        algorithm = analysis.task.words.algorithm
        yield Captioned(
            f"P-values of the one-sided Wilcoxon test with Holm's correction: whether the {algorithm} of the row is "
            "better than that of the column. Columns are numbered as the rows.",
            _p_values(analysis),
        )


def tests_sentences(analysis: TaskAnalysis) -> Iterator[str]:
    """Yield how many pairs each test of single pairs finds different, and what limits it."""
    words, test = analysis.task.words, analysis.tests[ONE_SIDED]
    above = np.triu(analysis.tested, 1) & (analysis.means[:, None] != analysis.means[None, :])
    count = int(np.triu(analysis.tested, 1).sum())
    significant = (test.holm <= LEVEL) | (test.holm.T <= LEVEL)
    by_name = {
        "a one-sided Wilcoxon signed-rank test": int((above & significant).sum()),
        "a paired t test": int((above & (analysis.tests["t"].holm <= LEVEL)).sum()),
        "a randomisation test": int((above & (analysis.tests["randomisation"].holm <= LEVEL)).sum()),
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


def values_blocks(analysis: TaskAnalysis) -> Iterator[Block]:
    """Yield how the values on the cases are distributed."""
    task, words = analysis.task, analysis.task.words
    scores = task.scores
    best = np.nanmax(scores, axis=0)
    wins = (scores == best).sum(axis=1)
    most = int(np.argmax(wins))
    sentence = (
        f"The best value is that of {name(analysis.names[most])} on {int(wins[most]):,} of "
        f"{counted(len(task.cases), words.case, words.cases)}, more than for any other {words.algorithm}"
        if int((wins == wins[most]).sum()) == 1
        else f"No {words.algorithm} has the best value on more {words.cases} than all others"
    )
    yield f"{sentence} (a tie counts for each)."
    yield Figure("boxes", _medians_sentence(analysis))
    yield Figure("podium", f"{sentence}. A column is the number of {words.cases} with that rank.")


def _medians_sentence(analysis: TaskAnalysis) -> str:
    """The range of the medians."""
    medians, decimals = analysis.rules["median"].values, decimals_of(analysis)
    low, high = int(np.argmin(medians)), int(np.argmax(medians))
    if medians[low] == medians[high]:
        return f"All medians are {number(float(medians[low]), decimals)}."
    return (
        f"Medians go from {number(float(medians[low]), decimals)} ({name(analysis.names[low])}) to "
        f"{number(float(medians[high]), decimals)} ({name(analysis.names[high])})."
    )
