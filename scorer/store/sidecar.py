"""Arrays that are costly to derive, in files next to the database: each is whole or absent, and has a checksum."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scorer.measures.arrays import Floats

Bytes = npt.NDArray[np.uint8]

STATISTICS = ".statistics"
"""Ends the name of the folder, which begins with the name of the database."""

_DIGEST_BYTES = 32

_LARGE = 1 << 20
"""Bytes of a file from which on it is mapped. To read a smaller one is faster."""


@dataclass(slots=True)
class Sidecar:
    """A folder of arrays by keys, which are names of files. Nothing is lost with a file: it is derived again.

    So a file that cannot be read, is cut off, or belongs to another key is absent, and one that cannot be written is
    left out.
    """

    folder: Path
    used: set[str] = field(default_factory=set)
    """The keys that were loaded or saved, or that otherwise must stay."""

    def load(self, key: str) -> Floats | None:
        """Return the array of a key, [value], read-only and mapped into memory if it is large; None if it is absent."""
        self.used.add(key)
        path = self.folder / key
        try:
            is_large = path.stat().st_size >= _LARGE
            stored = np.memmap(path, dtype=np.uint8, mode="r") if is_large else np.fromfile(path, dtype=np.uint8)
        except (OSError, ValueError):  # ValueError: it was emptied meanwhile
            return None
        stored.flags.writeable = False
        digest, values = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        if values.size % 8 or digest.tobytes() != _digest(key, (values,)):
            return None
        return values.view("<f8")

    def save(self, key: str, *parts: Floats) -> None:
        """Store the array of a key: these parts, [value], one after the other. A kill leaves the old file or the new
        one.
        """
        self.used.add(key)
        data = [np.ascontiguousarray(values, dtype="<f8").view(np.uint8) for values in parts]
        part = self.folder / f"{key}.{os.getpid()}.part"
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            with part.open("wb") as file:
                part.chmod(0o600)
                file.write(_digest(key, data))
                for values in data:
                    file.write(values.data)
            part.replace(self.folder / key)
        except OSError:
            with suppress(OSError):
                part.unlink()

    def tidy(self) -> None:
        """Delete the files of all keys that are not used."""
        with suppress(OSError):  # there is no folder, or it cannot be changed
            for path in self.folder.iterdir():
                if path.name not in self.used:
                    path.unlink(missing_ok=True)


def _digest(key: str, parts: Iterable[Bytes]) -> bytes:
    digest = hashlib.sha256(key.encode())
    for values in parts:
        digest.update(values.data)
    return digest.digest()
