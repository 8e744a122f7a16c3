"""Bytes by digest: of solutions and of submissions, so that all can be scored again after a file has changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scorer.challenge.splits import SHA256
from scorer.errors import StoreError
from scorer.paths import AnyFile, Compressed, chunks_of, compressed, located
from scorer.paths.writing import remove_abandoned_folders, temporary_folder
from scorer.scoring.outcomes import CHANGED

SOLUTIONS, SUBMISSIONS = ".solutions", ".submissions"
"""End the names of the folders, which begin with the name of the database."""

COMPRESSED = ".zst"
"""Ends the names of compressed files."""

Add = Callable[[Iterable[bytes], str], None]
"""Stores bytes under their digest. Raises SourceError if they have another one, and StoreError."""


class SourceError(StoreError):
    """The bytes to store cannot be read, or have another digest because the file has changed."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A folder of files, named by the SHA-256 of their content in hexadecimal, that only its owner can read."""

    folder: Path
    is_compressed: bool = False

    def path(self, digest: str) -> Path:
        """The file for the bytes with a digest."""
        return self.folder / (digest + COMPRESSED * self.is_compressed)

    def file(self, digest: str) -> AnyFile:
        """The file as it is read: with these bytes as its content."""
        return Compressed(self.path(digest)) if self.is_compressed else self.path(digest)

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).exists()

    def digests(self) -> list[str]:
        """The digests of all files, sorted; none if there is no such folder yet."""
        names = (path.name for path in self.folder.iterdir()) if self.folder.is_dir() else ()
        digests = (name.removesuffix(COMPRESSED) for name in names if name.endswith(COMPRESSED * self.is_compressed))
        return sorted(filter(SHA256.fullmatch, digests))

    def add(self, source: str | os.PathLike[str], digest: str) -> None:
        """Store the bytes of a file with a digest, unless they are stored. Raises SourceError and StoreError."""
        if digest not in self:
            with self.adding() as add:
                try:
                    add(content_of(source), digest)
                except SourceError as error:
                    raise SourceError(f"{source}: {error}; run again when it is complete") from error

    @contextmanager
    def adding(self) -> Iterator[Add]:
        """A function that stores bytes, for use by several threads. A kill leaves no incomplete file."""
        with ExitStack() as stack:
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                temporary = stack.enter_context(temporary_folder(self.folder))
            except OSError as error:
                raise self._error("store", error) from error
            yield lambda chunks, digest: self._add(chunks, digest, temporary / digest)

    def _add(self, chunks: Iterable[bytes], digest: str, part: Path) -> None:
        copied = hashlib.sha256()
        try:
            with part.open("xb") as copy:
                for chunk in chunks:
                    copied.update(chunk)
                    copy.write(compressed(chunk) if self.is_compressed else chunk)
                copy.flush()
                os.fsync(copy.fileno())
            if copied.hexdigest() != digest:
                raise SourceError(CHANGED)
            part.chmod(0o600)
            part.replace(self.path(digest))
        except OSError as error:
            raise self._error("store", error) from error
        finally:
            part.unlink(missing_ok=True)

    def remove(self, digests: Iterable[str]) -> None:
        """Delete the files with these digests, and what killed processes have left. Raises StoreError."""
        try:
            remove_abandoned_folders(self.folder)
            for digest in digests:
                self.path(digest).unlink(missing_ok=True)
        except OSError as error:
            raise self._error("delete", error) from error

    def _error(self, what: str, error: OSError) -> StoreError:
        return StoreError(f"{self.folder}: cannot {what} a copy of a file: {error.strerror or error}")


def content_of(source: str | os.PathLike[str], most: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, until there are more than `most`: it may grow without end. Raises SourceError."""
    try:
        with located(source).open("rb") as stream:
            yield from chunks_of(stream, None if most is None else most + 1)
    except OSError as error:
        raise SourceError(f"it cannot be read: {error.strerror or error}") from error
