"""indices_of(): look up 64-bit keys, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorer.formats.reading.arrow import ODD
from scorer.measures.arrays import Ints

ABSENT = -1

MOST_ROUNDS = 30
"""Each round places more than half of the keys, unless somebody chose them to prevent it."""


def indices_of(wanted: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Ints | None:
    """Return the index in `keys` of each wanted key, or ABSENT.

    None if a key repeats, or if the keys collide too often. All keys are written into a table at once, at a hash of
    each. Of the keys with the same hash, one remains; the others, and the wanted keys that were not found, are left for
    another table with another hash.
    """
    found = np.full(wanted.size, ABSENT)
    sought, left = np.arange(wanted.size), np.arange(keys.size)
    for _ in range(MOST_ROUNDS):
        if not left.size:
            return found
        wanted, keys = wanted * ODD, keys * ODD
        bits = left.size.bit_length() + 1
        slot, shift = np.arange(left.size, dtype=np.int32), np.uint64(64 - bits)
        hashes = (keys >> shift).astype(np.int64)
        table = np.zeros(1 << bits, dtype=np.int32)
        table[hashes] = slot
        winner = table[hashes]
        lost = np.flatnonzero(winner != slot)
        if (keys[winner[lost]] == keys[lost]).any():
            return None
        at = table[(wanted >> shift).astype(np.int64)]
        hit = keys[at] == wanted
        found[sought[hit]] = left[at[hit]]
        missed = np.flatnonzero(~hit)
        sought, wanted, left, keys = sought[missed], wanted[missed], left[lost], keys[lost]
    return None
