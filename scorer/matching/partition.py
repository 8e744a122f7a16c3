"""The batches of a submission: read by threads, and as parts of whole lists, if necessary by way of files on disk."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import numpy as np

from scorer.errors import Findings
from scorer.formats.reading.arrow import fingerprints, run_starts
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import LimitError
from scorer.limits import MB, OWN_FILES, Limits

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


PARTITION_BYTES = 16 << 20
"""The bytes of a file with scattered lists that are matched at a time."""

MAX_PARTITIONS = 256
"""Each partition is an open file while the lists are collected."""


class TemporarySpaceError(Exception):
    """The rows take more temporary disk space than is allowed."""


def whole_lists(batches: Iterable[Ranked]) -> Iterator[list[Ranked]]:
    """The batches in parts that hold whole lists, if the rows of each query are adjacent."""
    coming = iter(batches)
    part: list[Ranked] = []
    batch = next(coming, None)
    while batch is not None:
        following = next(coming, None)
        rows = len(batch.query)
        start = rows if following is None or not rows else int(run_starts(batch.query)[-1])
        if part and rows and part[-1].query[-1].as_py() != batch.query[0].as_py():
            yield part
            part = []
        if start:
            yield [*part, batch.part(0, start)]
            part = []
        if start < rows:
            part.append(batch.part(start, rows))
        batch = following
    if part:
        yield part


def partitions_for(size: int) -> int:
    """The number of partitions for files of `size` bytes together, so that one partition at a time fits into memory."""
    return min(size // PARTITION_BYTES + 1, MAX_PARTITIONS)


def by_query(
    batches: Iterable[Ranked], partitions: int, temporary_mb: int = OWN_FILES.temporary_mb
) -> Iterator[list[Ranked]]:
    """The batches' rows in partitions on disk; all rows of a query are in one of them.

    Memory holds one batch, then one partition, at a time. The rows of a partition are in the order of the file. Raises
    TemporarySpaceError where the rows take more than `temporary_mb` MB, and OSError where they cannot be written.
    """
    from scorer.paths.writing import temporary_folder  # noqa: PLC0415 (few files need it)

    with temporary_folder() as folder:
        files = [folder / str(number) for number in range(partitions)]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for batch in batches:
                partition = (fingerprints(batch.query) % np.uint64(partitions)).astype(np.int64)
                for number in np.unique(partition).tolist():
                    pickle.dump(batch.where(partition == number), streams[number])
                if sum(stream.tell() for stream in streams) > temporary_mb * MB:
                    raise TemporarySpaceError
        for file in files:
            if part := list(_read(file)):
                yield part
            file.unlink()


def _read(file: Path) -> Iterator[Ranked]:
    with file.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)  # noqa: S301 (written above, in a folder that only this process uses)
