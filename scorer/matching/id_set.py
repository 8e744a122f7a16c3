"""IdSet: a set of ids that is built once and looked up many times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scorer.formats.reading.arrow import fingerprints
from scorer.measures.arrays import Bools, Ints


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdSet:
    """A set of ids, held as 64-bit fingerprints. pyarrow's `is_in` builds its table again at every call."""

    fingerprints: NDArray[np.uint64]
    """Ascending, each once."""
    shift: np.uint64
    """A fingerprint without this many low bits is its bucket."""
    start: Ints
    """[bucket + 1]: where in `fingerprints` each bucket begins, and the end of the last one."""

    @classmethod
    def of(cls, ids: pa.StringArray) -> IdSet:
        """The set of these ids."""
        sorted_ids = np.unique(fingerprints(ids))
        bits = max(1, sorted_ids.size.bit_length())
        shift = np.uint64(64 - bits)
        sizes = np.bincount((sorted_ids >> shift).astype(np.int64), minlength=1 << bits)
        return cls(sorted_ids, shift, np.append(0, np.cumsum(sizes)))

    def without(self, ids: pa.StringArray) -> Bools:
        """Which of the ids are not in the set. An id with the fingerprint of another one in the set is missed."""
        wanted = fingerprints(ids)
        bucket = (wanted >> self.shift).astype(np.int64)
        at, end = self.start[bucket], self.start[bucket + 1]
        absent = np.ones(wanted.size, dtype=bool)
        left = np.flatnonzero(at < end)
        while left.size:
            found = self.fingerprints[at[left]]
            absent[left[found == wanted[left]]] = False
            at[left] += 1
            left = left[(found < wanted[left]) & (at[left] < end[left])]
        return absent
