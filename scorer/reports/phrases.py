"""Numbers and lists of names in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scorer.analysis.analysis import TaskAnalysis
from scorer.measures.arrays import Floats
from scorer.wording import counted, joined, printable, shortened

NAME = 60
"""The characters of a name that a sentence has."""

LISTED = 6
"""The names that a sentence has at most; others are counted."""


def name(text: str) -> str:
    """Return a name from the data for a sentence."""
    return shortened(printable(text), NAME)


def names(texts: Sequence[str], singular: str, plural: str) -> str:
    """Return names for a sentence, as `joined`; of many, the number of those that are left out."""
    if len(texts) <= LISTED:
        return joined([name(text) for text in texts])
    more = counted(len(texts) - LISTED + 1, f"other {singular}", f"other {plural}")
    return joined([*(name(text) for text in texts[: LISTED - 1]), more])


def share(value: float) -> str:
    """Return a share in percent: ``83 %``. A share that is not 0 or 1 is not printed as one."""
    if 0 < value < 0.005:
        return "less than 1 %"
    if 0.995 < value < 1:
        return "more than 99 %"
    return f"{100 * value:.0f} %"


def p_value(value: float) -> str:
    """Return a p-value with three decimals: ``0.012``, ``< 0.001``."""
    if math.isnan(value):
        return "undefined"
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def decimals_of(analysis: TaskAnalysis) -> int:
    """Return the decimals of the means of a task in texts and tables: its own, or those of four significant digits."""
    if analysis.task.decimals is not None:
        return analysis.task.decimals
    largest = max((abs(value) for value in analysis.means.tolist() if math.isfinite(value)), default=0.0)
    return min(max(3 - math.floor(math.log10(largest)), 0), 12) if largest else 4


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals; zero has no sign."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def interval(ends: Floats, decimals: int) -> str:
    """Return the ends of an interval: ``0.7914 to 0.8279``; ``undefined``."""
    low, high = ends.tolist()
    return "undefined" if math.isnan(low) else f"{number(low, decimals)} to {number(high, decimals)}"
