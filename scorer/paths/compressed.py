"""Files of this machine that are compressed with zstd, and read as what they were before."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

LEVEL = 1
"""The fastest level that is much smaller than the content; a file that is compressed already costs next to nothing."""


@dataclass(frozen=True)
class Compressed:
    """A file that `compressed` wrote, chunk by chunk."""

    path: Path

    def open(self, mode: str = "rb") -> Any:
        """Open the file to read its content, the only mode. Raises OSError, also while reading damaged bytes."""
        del mode
        import pyarrow as pa  # noqa: PLC0415 (slow to load)

        return pa.CompressedInputStream(pa.OSFile(str(self.path)), "zstd")

    @cached_property
    def _size(self) -> int:
        with self.open() as stream:
            return sum(iter(lambda: len(stream.read(1 << 20)), 0))

    def stat(self) -> os.stat_result:
        """The status of the file with the size of its content, which is counted. Raises OSError."""
        status = self.path.stat()
        return os.stat_result((*status[:6], self._size, *status[7:]))

    def __fspath__(self) -> str:
        """The text that messages show."""
        return str(self.path)


def compressed(chunk: bytes) -> bytes:
    """A chunk of the content of a `Compressed`, as its file has it."""
    import pyarrow as pa  # noqa: PLC0415

    packed: bytes = pa.Codec("zstd", compression_level=LEVEL).compress(chunk, asbytes=True)
    return packed
