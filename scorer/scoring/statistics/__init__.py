"""Statistics of scores, computed on all processors.

The functions take arrays and return arrays, or frozen records where a result has several parts. Axes are named in the
docstrings, as in [submission, query]. A measure, a submission or a query is an index into an axis; names belong to the
caller. Larger scores are better: negate scores of which smaller ones are better. Random numbers have a fixed seed, so
the same scores give the same results on every machine, with any number of threads. No function reads a file or prints.

NaN marks a score that is undefined. One rule holds for all functions: a number about one submission is over the queries
with a score of this submission, and a number about two submissions is over the queries with a score of both. What no
query defines is NaN, and decides nothing: a p-value that counts for decisions is 1, and a rank is after all others.
Only Tukey's test compares all submissions at once; it leaves out submissions without any score, and then each query
that lacks a score of another.

Rounding decides nothing: sums of scores are exact before they are rounded once, and numbers that could differ by
rounding only count as equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from scorer.errors import need_libraries

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_threads(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Return the results of `work` for all items, in their order, with a thread for each processor."""
    items = list(items)
    threads = min(os.cpu_count() or 1, len(items))
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def special() -> Any:
    """Return `scipy.special`: only intervals, Wilcoxon's test and the t-test need it."""
    need_libraries("scipy")
    from scipy import special  # noqa: PLC0415 (an optional extra, and slow to load)

    return special


def blocks(count: int, size: int) -> Iterator[slice]:
    """The slices of `size` places, or fewer, that together are `count` places."""
    return (slice(start, start + size) for start in range(0, count, size))
