"""The bytes of solutions, by digest, so that any earlier basis can be scored again after the file has changed."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from scorer.errors import StoreError
from scorer.paths import digest, located
from scorer.paths.temporary import temporary_folder

SUFFIX = ".solutions"
"""Ends the name of the folder, which begins with the name of the database."""


@dataclass(frozen=True, slots=True)
class SolutionArchive:
    """A folder of solutions that only its owner can read."""

    folder: Path

    @classmethod
    def beside(cls, database: Path) -> SolutionArchive:
        """The archive of the database file at `database`."""
        return cls(database.with_name(database.name + SUFFIX))

    def path(self, solution_digest: str) -> Path:
        """The file with the bytes of a solution."""
        return self.folder / solution_digest

    def digests(self) -> list[str]:
        """The digests of all solutions that are stored; none if there is no such folder yet."""
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []

    def add(self, source: str | os.PathLike[str], solution_digest: str) -> None:
        """Store the bytes of a solution, unless they are stored already.

        Parameters
        ----------
        source
            The path or URL of the solution.
        solution_digest
            The SHA-256 of the bytes, in hexadecimal.

        Raises
        ------
        StoreError
            The folder cannot be written, or the bytes have another digest because the file has changed.
        """
        target = self.path(solution_digest)
        try:
            if target.exists():
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with temporary_folder(self.folder) as folder:
                part = folder / solution_digest
                with part.open("xb") as copy, located(source).open("rb") as content:
                    shutil.copyfileobj(content, copy)
                    copy.flush()
                    os.fsync(copy.fileno())
                if digest(part) != solution_digest:
                    raise StoreError(f"{source}: the file changed while it was copied; run again when it is complete")
                part.chmod(0o600)
                part.replace(target)
        except OSError as error:
            raise StoreError(
                f"{self.folder}: cannot store a copy of the solution: {error.strerror or error}"
            ) from error
