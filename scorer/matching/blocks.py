"""read_batches(): the blocks of a submission as batches of rows, read by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor

from scorer.errors import Findings
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import LimitError
from scorer.limits import OWN_FILES, Limits
from scorer.matching.match import AHEAD
from scorer.matching.parallel import ordered


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
