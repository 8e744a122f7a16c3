"""Arrays that are costly to derive, in files next to the database: each is whole or absent, and has a checksum."""

from __future__ import annotations

import hashlib
import os
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
        """Return the array of a key, [value], mapped into memory and read-only; None if it is absent."""
        self.used.add(key)
        try:
            stored = np.memmap(self.folder / key, dtype=np.uint8, mode="r")
        except (OSError, ValueError):  # ValueError: an empty file
            return None
        digest, values = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        if values.size % 8 or digest.tobytes() != _digest(key, values):
            return None
        return values.view("<f8")

    def save(self, key: str, values: Floats) -> None:
        """Store the array of a key, [value]. A kill leaves the old file or the new one."""
        self.used.add(key)
        data = np.ascontiguousarray(values, dtype="<f8").view(np.uint8)
        part = self.folder / f"{key}.{os.getpid()}.part"
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            with part.open("wb") as file:
                part.chmod(0o600)
                file.write(_digest(key, data))
                file.write(data.data)
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


def _digest(key: str, data: Bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(data.data)
    return digest.digest()
