"""The organiser's images and other files, which are copied into the site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from scorer.challenge.branding import STATIC
from scorer.errors import ScorerError
from scorer.paths.writing import PART

FOLDER = "static"
"""Their folder in the site."""

MOST_BYTES = 50_000_000
"""How large they may be together, so that a forgotten data set or film does not make every render slow."""


def static_files(root: Path) -> dict[str, bytes]:
    """Read the files below ``templates/static`` of a challenge.

    Hidden files and symbolic links are left out, with what is below them.

    Parameters
    ----------
    root
        The folder of the challenge.

    Returns
    -------
    dict of str to bytes
        The content of each file by its path in the site, with forward slashes.

    Raises
    ------
    ScorerError
        A file cannot be read or has the name of a file that is being written, or the files are too large.
    """
    folder = root / STATIC
    found: dict[str, bytes] = {}
    size = 0
    for file in _files(folder):
        path = file.relative_to(folder).as_posix()
        if path.endswith(PART):
            raise ScorerError(f"{file}: files that end with {PART} are files of the site in progress; rename it")
        try:
            size += file.stat().st_size
            if size > MOST_BYTES:
                raise ScorerError(
                    f"{folder}: has more than {MOST_BYTES:,} bytes; every render copies these files, so put large "
                    "files elsewhere and link to them"
                )
            found[f"{FOLDER}/{path}"] = file.read_bytes()
        except OSError as error:
            raise ScorerError(f"{file}: cannot be read ({error.strerror or error})") from error
    return found


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder that are not hidden, in a fixed order; none if the folder is a link."""
    if folder.is_symlink():
        return
    for name, folders, files in os.walk(folder, onerror=_refuse):
        parent = Path(name)
        folders[:] = sorted(each for each in folders if not each.startswith("."))  # os.walk does not follow links
        for each in sorted(files):
            file = parent / each
            if not each.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _refuse(error: OSError) -> None:
    """Raise ScorerError for a folder that cannot be read, unless there is no such folder."""
    if not isinstance(error, FileNotFoundError):
        raise ScorerError(f"{error.filename}: cannot be read ({error.strerror or error})") from error
