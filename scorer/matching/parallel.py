"""Functions applied by threads, with ordered results and bounded memory; the blocks of a submission read so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

from scorer.errors import Findings
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import LimitError
from scorer.limits import OWN_FILES, Limits

AHEAD = 2
"""The number of parts that may wait for the one before; each takes about ten times the bytes of its block."""

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


def read_batches(
    read: Callable[[Block, Findings], Ranked],
    blocks: Iterable[Block],
    problems: Findings,
    pool: Executor | None,
    limits: Limits = OWN_FILES,
) -> Iterator[Ranked]:
    """Return the rows of each block, with problems in the order of the blocks. Raises LimitError: too many items."""

    def read_apart(block: Block) -> tuple[Ranked, Findings]:
        found = Findings()
        return read(block, found), found

    items = 0
    for batch, found in ordered(pool, read_apart, blocks, AHEAD):
        problems.extend(found)
        items += len(batch.item)
        if items > limits.items:
            raise LimitError(limits, "items", f"the lists have {items:,} items or more")
        yield batch
