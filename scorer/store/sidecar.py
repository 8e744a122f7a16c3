"""Files next to the database: the bytes of solutions and submissions by digest, and arrays that are costly to
derive.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scorer.errors import StoreError, os_errors_as
from scorer.files import AnyFile, Compressed, chunks_of, compressed_chunk, located
from scorer.files.writing import create_private, remove_abandoned_folders, temporary_folder
from scorer.measures.matched import Floats
from scorer.record.events import SHA256
from scorer.scoring.analysis.kept import Arrays
from scorer.scoring.outcomes import CHANGED

KEPT_SOLUTIONS, KEPT_SUBMISSIONS = ".solutions", ".submissions"
"""End the names of the folders, which begin with the name of the database."""

_COMPRESSED = ".zst"
"""Ends the names of compressed files."""

Add = Callable[[Iterable[bytes], str], None]
"""Stores bytes under their digest. Raises SourceError if they have another one, and StoreError."""


class SourceError(StoreError):
    """The bytes to store cannot be read, or have another digest because the file has changed."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A folder of files, named by the SHA-256 of their content in hexadecimal, for those who can use the database."""

    folder: Path
    is_compressed: bool = False

    def path(self, digest: str) -> Path:
        """The file for the bytes with a digest."""
        return self.folder / (digest + self._ending)

    def file(self, digest: str) -> AnyFile:
        """The file as it is read: with these bytes as its content."""
        return Compressed(self.path(digest)) if self.is_compressed else self.path(digest)

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).exists()

    def digests(self) -> list[str]:
        """The digests of all files, sorted; none if there is no such folder yet."""
        names = os.listdir(self.folder) if self.folder.is_dir() else ()  # noqa: PTH208 (of thousands of files)
        ending = self._ending
        digests = (name.removesuffix(ending) for name in names if name.endswith(ending))
        return sorted(filter(SHA256.fullmatch, digests))

    @property
    def _ending(self) -> str:
        return _COMPRESSED if self.is_compressed else ""

    def add(self, source: str | os.PathLike[str], digest: str) -> None:
        """Store the bytes of a file with a digest, unless they are stored. Raises SourceError and StoreError."""
        if digest not in self:
            with self.adding() as add:
                try:
                    add(chunks_up_to(source), digest)
                except SourceError as error:
                    raise SourceError(f"{source}: {error}; run again when it is complete") from error

    @contextmanager
    def adding(self) -> Iterator[Add]:
        """A function that stores bytes, for use by several threads. A kill leaves no incomplete file."""
        with ExitStack() as stack:
            with self._errors("store"):
                create_private(self.folder, is_folder=True)
                temporary = stack.enter_context(temporary_folder(self.folder))
            yield lambda chunks, digest: self._add(chunks, digest, temporary / digest)

    def _add(self, chunks: Iterable[bytes], digest: str, part: Path) -> None:
        copied = hashlib.sha256()
        with self._errors("store"):
            try:
                create_private(part, self.folder.with_suffix(""))
                with part.open("wb") as copy:
                    for chunk in chunks:
                        copied.update(chunk)
                        copy.write(compressed_chunk(chunk) if self.is_compressed else chunk)
                    copy.flush()
                    os.fsync(copy.fileno())
                if copied.hexdigest() != digest:
                    raise SourceError(CHANGED)
                part.replace(self.path(digest))
            finally:
                part.unlink(missing_ok=True)

    def remove(self, digests: Iterable[str]) -> None:
        """Delete the files with these digests, and what killed processes have left. Raises StoreError."""
        with self._errors("delete"):
            remove_abandoned_folders(self.folder)
            for digest in digests:
                self.path(digest).unlink(missing_ok=True)

    def _errors(self, what: str) -> AbstractContextManager[None]:
        return os_errors_as(StoreError, f"{self.folder}: cannot {what} a copy of a file")


def chunks_up_to(source: str | os.PathLike[str], most: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, until there are more than `most`: it may grow without end. Raises SourceError."""
    with os_errors_as(SourceError, "it cannot be read"), located(source).open("rb") as stream:
        yield from chunks_of(stream, None if most is None else most + 1)


Bytes = npt.NDArray[np.uint8]

KEPT_STATISTICS = ".statistics"
SIMILAR = ".similar"
"""Ends the name of the folder, which begins with the name of the database."""

_CHECKSUM_BYTES = 8

_LARGE = 1 << 20
"""Bytes of a file from which on it is mapped. To read a smaller one is faster."""


class Sidecar(Arrays):
    """A folder of arrays by keys, which are names of files. Nothing is lost with a file: it is derived again.

    So a file that cannot be read, is cut off, or belongs to another key is absent, and one that cannot be written is
    left out.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

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
        checksum, values = stored[:_CHECKSUM_BYTES], stored[_CHECKSUM_BYTES:]
        if values.size % 8 or checksum.tobytes() != _checksum(key, (values,)):
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
            create_private(self.folder, is_folder=True)
            create_private(part, self.folder.with_suffix(""))
            with part.open("wb") as file:
                file.write(_checksum(key, data))
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


def _checksum(key: str, parts: Iterable[Bytes]) -> bytes:
    """A CRC-32: for large arrays, a digest takes as long as what is computed from them."""
    checksum = zlib.crc32(key.encode())
    for values in parts:
        checksum = zlib.crc32(values.data, checksum)
    return checksum.to_bytes(_CHECKSUM_BYTES, "little")
