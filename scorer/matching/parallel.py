"""A function applied to many things by threads, with ordered results and bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def ordered(
    pool: Executor | None, function: Callable[[Thing], Result], things: Iterable[Thing], ahead: int
) -> Iterator[Result]:
    """``map(function, things)``, where `pool` computes up to `ahead` results early; without a pool, results are lazy.

    Memory is bounded: a thing is taken only when there is room for its result.
    """
    if pool is None:
        yield from map(function, things)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for thing in things:
            waiting.append(pool.submit(function, thing))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
