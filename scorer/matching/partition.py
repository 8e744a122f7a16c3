"""Lists that lie in pieces: brought together through files on disk, so that memory holds few of them at a time."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from scorer.formats.reading.arrow import fingerprints
from scorer.formats.reading.batches import Ranked


def by_query(batches: Iterable[Ranked], piles: int) -> Iterator[list[Ranked]]:
    """The batches' rows in so many piles, all rows of a query in one, and within a pile in the order of the file.

    A pile is read when it is asked for. Raises OSError where the temporary folder has no room for them.
    """
    with TemporaryDirectory(prefix="scorer-") as folder:
        files = [Path(folder) / str(number) for number in range(piles)]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for batch in batches:
                pile = (fingerprints(batch.query) % np.uint64(piles)).astype(np.int64)
                for number in np.unique(pile).tolist():
                    pickle.dump(batch.where(pile == number), streams[number])
        for file in files:
            if part := list(_read(file)):
                yield part
            file.unlink()


def _read(file: Path) -> Iterator[Ranked]:
    with file.open("rb") as stream:
        while stream.peek(1):
            yield pickle.load(stream)  # noqa: S301 (written above, in a folder that is ours alone)
