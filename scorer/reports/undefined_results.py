"""Which results of a task are undefined, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from scorer.analysis.analysis import TaskAnalysis
from scorer.analysis.pairs import ONE_SIDED
from scorer.reports.document import Block
from scorer.reports.phrases import names
from scorer.wording import counted


def undefined(analysis: TaskAnalysis) -> list[Block]:
    """Return a sentence for each kind of result that is undefined, with the reason."""
    return list(_undefined(analysis))


def _undefined(analysis: TaskAnalysis) -> Iterator[Block]:
    words, count = analysis.task.words, len(analysis.names)
    if len(analysis.task.cases) < 2:
        yield f"Intervals and ranks in resamples are undefined, because there is one {words.case} only."
    else:
        constant = [each for at, each in enumerate(analysis.names) if math.isnan(analysis.resampling.bca[at, 0])]
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
    elif any(each is not None and math.isnan(each.tau_b) for each in analysis.agreement.values()):
        yield f"Kendall's tau is undefined with a rule by which all {words.algorithms} share a rank."
