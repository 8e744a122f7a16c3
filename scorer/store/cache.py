"""Values that are expensive to derive, by the digest of everything that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence

Parts = Sequence[object]
"""What a value depends on: text, numbers, and sequences of both."""


class Cache(MutableMapping[str, str]):
    """The cached values of a database, and those that are computed because they are absent.

    `Store.keep` stores them afterwards. A value never changes, because its key is the digest of everything that it
    depends on. So it does not matter when it was stored, and setting a known key has no effect.
    """

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = stored
        self._added: dict[str, str] = {}
        self._used: set[str] = set()

    @property
    def added(self) -> Mapping[str, str]:
        """The values that were computed."""
        return self._added

    @property
    def used(self) -> frozenset[str]:
        """The keys of all values that were requested or computed."""
        return frozenset(self._used)

    def value(self, parts: Parts, compute: Callable[[], str]) -> str:
        """The value that depends on `parts`; it is computed if it is absent."""
        return self.value_of(digest_of(parts), compute)

    def value_of(self, key: str, compute: Callable[[], str]) -> str:
        """The same, by the digest of what the value depends on."""
        if key not in self:
            self[key] = compute()
        return self[key]

    def __getitem__(self, key: str) -> str:
        found = self._added[key] if key in self._added else self._stored[key]
        self._used.add(key)
        return found

    def __setitem__(self, key: str, value: str) -> None:
        self._used.add(key)
        if key not in self:
            self._added[key] = value

    def __delitem__(self, key: str) -> None:
        raise TypeError("cached values are deleted by Store.keep")

    def __iter__(self) -> Iterator[str]:
        return iter({**self._stored, **self._added})

    def __len__(self) -> int:
        return len({**self._stored, **self._added})

    def __contains__(self, key: object) -> bool:
        return key in self._added or key in self._stored


def digest_of(parts: Parts) -> str:
    """The key of the value that depends on `parts`."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()
