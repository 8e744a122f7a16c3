"""Work on all processors, in threads: NumPy releases the lock of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the results of `work` for all items, in their order, with a thread for each processor."""
    items = list(items)
    threads = min(os.cpu_count() or 1, len(items))
    if threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def blocks(count: int, size: int) -> Iterator[slice]:
    """The slices of `size` places, or fewer, that together are `count` places."""
    return (slice(start, start + size) for start in range(0, count, size))
