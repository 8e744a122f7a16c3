"""Values that are expensive to derive, by the digest of everything that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence

from scorer.analysis.kept import Arrays, MemoryArrays

Parts = Sequence[object]
"""What a value depends on: text, numbers, and sequences of both."""

_ARRAYS = "#arrays "
"""Begins the line with the keys of arrays. Values are JSON or SVG, and never begin so."""


class Cache(UserDict[str, str]):
    """The cached values of a database, and those that are computed because they are absent.

    `Store.keep` stores them afterwards. A value never changes, because its key is the digest of everything that it
    depends on. So it does not matter when it was stored, and setting a known key has no effect.
    """

    def __init__(self, stored: Mapping[str, str], arrays: Arrays | None = None) -> None:
        super().__init__()
        self.data.update(stored)
        self.arrays: Arrays = MemoryArrays() if arrays is None else arrays
        """Where arrays are kept that are costly to derive."""
        self.added: dict[str, str] = {}
        """The values that were computed."""
        self.used: set[str] = set()
        """The keys of all values that were requested or computed."""

    def value(self, parts: Parts, compute: Callable[[], str]) -> str:
        """The value that depends on `parts`; it is computed if it is absent."""
        return self.value_of(digest_of(parts), compute)

    def value_of(self, key: str, compute: Callable[[], str]) -> str:
        """The same, by the digest of what the value depends on.

        The arrays that a value was computed with are used whenever the value is: its first line lists them.
        """
        if key not in self:
            before = set(self.arrays.used)
            text = compute()
            arrays = sorted(self.arrays.used - before)
            self[key] = f"{_ARRAYS}{' '.join(arrays)}\n{text}" if arrays else text
        text = self[key]
        if text.startswith(_ARRAYS):
            arrays_line, _, text = text.partition("\n")
            self.arrays.used.update(arrays_line.removeprefix(_ARRAYS).split())
        return text

    def __getitem__(self, key: str) -> str:
        value = super().__getitem__(key)
        self.used.add(key)
        return value

    def __setitem__(self, key: str, value: str) -> None:
        self.used.add(key)
        if key not in self:
            self.added[key] = value
            super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError("cached values are deleted by Store.keep")


def digest_of(parts: Parts) -> str:
    """The key of the value that depends on `parts`."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()
