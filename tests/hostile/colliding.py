"""Different ids with one hash, by Arrow's hash of texts: a table of them is filled in quadratic time."""

from __future__ import annotations

from functools import cache

import numpy as np

FIRST, SECOND = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
"""The factors of Arrow's hash for the last and for the first eight bytes of a text of 9 to 16 bytes."""

TARGET = np.uint64(0x0123456789ABCDEF)

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_.", dtype=np.uint8)


@cache
def colliding_ids(count: int) -> tuple[str, ...]:
    """So many texts of 16 letters, digits and marks with the same hash.

    The hash is n ^ swap(FIRST * last) ^ swap(SECOND * first), where `swap` reverses the order of the bytes. The lowest
    bytes of a product depend on the lowest bytes of its factors only. So both halves grow by a byte at a time: for each
    byte of the first half, one byte of the last half gives the hash; those that print are kept, about 16 for each pair.
    """
    plain = np.zeros(256, dtype=bool)
    plain[LETTERS] = True
    first = last = np.zeros(1, dtype=np.uint64)
    inverse = np.uint64(pow(FIRST, -1, 256))
    for shift in map(np.uint64, range(0, 64, 8)):
        first, last = first[: count // 8 + 64], last[: count // 8 + 64]
        first = (first[:, np.newaxis] | LETTERS.astype(np.uint64) << shift).reshape(-1)
        last = np.repeat(last, LETTERS.size)
        lacking = ((np.uint64(SECOND) * first ^ TARGET) - np.uint64(FIRST) * last) >> shift
        byte = lacking * inverse & np.uint64(0xFF)
        kept = np.flatnonzero(plain[byte.astype(np.intp)])[:count]
        first, last = first[kept], last[kept] | byte[kept] << shift
    rows = np.stack([first, last], axis=1).astype("<u8")
    return tuple(row.tobytes().decode("ascii") for row in rows)
