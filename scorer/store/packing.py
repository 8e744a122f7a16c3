"""The queries of a solution in few bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

import numpy as np

from scorer.measures.arrays import Bools


def pack_ids(query_ids: Iterable[str]) -> bytes:
    """Query ids in few bytes, for `unpack_ids`."""
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def unpack_ids(packed: bytes) -> tuple[str, ...]:
    """The ids that `pack_ids` packed."""
    return tuple(json.loads(zlib.decompress(packed)))


def check_expansion(packed: bytes, most: int) -> None:
    """Raise ValueError if packed bytes grow to more than so many bytes, or are incomplete."""
    stream = zlib.decompressobj()
    try:
        stream.decompress(packed, most)
    except zlib.error as error:
        raise ValueError("not compressed") from error
    if not stream.eof:
        raise ValueError("grows to more bytes, or is incomplete")


def check_ids(packed: bytes, flagged: bytes) -> None:
    """Raise ValueError unless packed ids are texts with a flag for each, before they become objects."""
    text = zlib.decompress(packed)
    if (text[:2], text[-2:]) != (b'["', b'"]') or text.count(b'","') // 8 + 1 != len(flagged):
        raise ValueError("other queries than flags")
    for each in text[2:-2].split(b'","'):
        json.loads(b'"%b"' % each)


def pack_flags(flagged: Bools) -> bytes:
    """The flags of queries in few bytes, for `unpack_flags`."""
    return np.packbits(flagged).tobytes()


def unpack_flags(packed: bytes, count: int) -> Bools:
    """The flags of `count` queries that `pack_flags` packed. Raises ValueError for those of another number."""
    if len(packed) != (count + 7) // 8:
        raise ValueError(f"{len(packed)} bytes for {count} queries")
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)
