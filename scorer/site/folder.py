"""Writes the pages into a folder, which can be opened from disk or served as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from scorer.errors import ScorerError
from scorer.paths.lock import LockedError, locked
from scorer.wording import quoted

MANIFEST = ".manifest.json"
"""Lists the files that renders wrote, and the snapshot that the last complete render shows."""

LOCK = ".lock"
"""Locked while a render writes into the folder."""

PART = ".part"
"""The suffix of a file that is being written."""

WAIT = 60.0
"""Seconds that a render waits for another one."""

FRONT_PAGE = "index.html"
ASSET_SUFFIXES = (".css", ".js")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What renders left in the folder."""

    files: frozenset[str] = frozenset()
    """Paths that may exist: a file is listed before it is written and until after it is deleted."""
    snapshot: int | None = None
    """The snapshot that the last complete render shows; None before that, and in manifests of version 0.1."""
    database: str = ""
    """The database of the snapshot."""

    def encoded(self) -> bytes:
        document: dict[str, object] = {"written by scorer": sorted(self.files)}
        if self.snapshot is not None:
            document |= {"snapshot": self.snapshot, "database": self.database}
        return (json.dumps(document, indent=1) + "\n").encode()


def write(pages: Mapping[str, str], folder: Path, snapshot: int, database: str = "") -> list[str] | None:
    """Write the pages into the folder and delete pages of earlier renders that are no longer wanted.

    Each file is replaced as a whole, and only if its content changes. Style sheets and scripts come first, then pages
    and data files that do not exist yet, then the other pages and data files, then ``index.html``, then deletions: a
    visitor who follows links during a render never reaches a page that does not exist yet. Files that no render wrote
    are not changed. If a render is killed, the next one completes it.

    One process writes at a time; another one waits for up to `WAIT` seconds.

    Parameters
    ----------
    pages : mapping of str to str
        The text of each file by its relative path, with forward slashes.
    folder : Path
        Created if necessary.
    snapshot : int
        Grows with each change of the database that the pages are rendered from.
    database : str
        Identifies the database. Snapshots of different databases are not compared, so a site can be rendered from a new
        database.

    Returns
    -------
    list of str or None
        The paths written or deleted, sorted. None if the folder shows a later snapshot; then nothing is written.

    Raises
    ------
    ScorerError
        The folder cannot be written, a file that no render wrote has the name of a page, or another process keeps the
        folder locked.
    """
    contents = {path: text.encode() for path, text in pages.items()}
    if folder.exists() and not folder.is_dir():
        raise ScorerError(f"{folder}: cannot write the site (Not a directory)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK, WAIT):
            before = _read_manifest(folder)
            if before.database == database and before.snapshot is not None and before.snapshot > snapshot:
                return None
            return _update(folder, contents, before, Manifest(frozenset(contents), snapshot, database))
    except LockedError as error:
        raise ScorerError(str(error)) from error
    except OSError as error:
        raise ScorerError(f"{error.filename or folder}: cannot write the site ({error.strerror or error})") from error


def _update(folder: Path, contents: Mapping[str, bytes], before: Manifest, after: Manifest) -> list[str]:
    """Write the contents and delete what is no longer wanted; return the changed paths. The caller holds the lock."""
    _refuse_to_overwrite(folder, contents, before.files)
    if before.files != after.files:
        _replace(folder / MANIFEST, replace(before, files=before.files | after.files).encoded())
    for path in {MANIFEST, *before.files, *after.files}:
        _part(folder / path).unlink(missing_ok=True)
    written = [path for path in _in_order(contents, folder) if _replace(folder / path, contents[path])]
    deleted = [path for path in sorted(before.files - after.files) if _delete(folder, path)]
    _replace(folder / MANIFEST, after.encoded())
    return sorted(written + deleted)


def _in_order(paths: Iterable[str], folder: Path) -> list[str]:
    """The paths in the order in which they are written."""

    def key(path: str) -> tuple[bool, bool, bool, str]:
        return path == FRONT_PAGE, not path.endswith(ASSET_SUFFIXES), (folder / path).exists(), path

    return sorted(paths, key=key)


def _read_manifest(folder: Path) -> Manifest:
    """The manifest of the folder; an empty one if the folder has none. Its paths are inside the folder."""
    file = folder / MANIFEST
    try:
        document = json.loads(file.read_bytes())
        files = frozenset(map(str, document["written by scorer"]))
        snapshot = None if document.get("snapshot") is None else int(document["snapshot"])
    except FileNotFoundError:
        return Manifest()
    except (ValueError, LookupError, TypeError) as error:
        raise ScorerError(f"{file}: not a manifest written by a render; empty {folder} and render again") from error
    outside = [path for path in files if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    if outside:
        raise ScorerError(
            f"{file}: lists {quoted(outside[0])}, which is outside of {folder}; empty the folder and render again"
        )
    return Manifest(files, snapshot, str(document.get("database", "")))


def _refuse_to_overwrite(folder: Path, contents: Mapping[str, bytes], earlier: frozenset[str]) -> None:
    """Raise ScorerError if a file that no render wrote has the name of a page and another content."""
    for path, content in contents.items():
        if path not in earlier and (folder / path).exists() and _bytes(folder / path) != content:
            raise ScorerError(
                f"{folder / path}: a page has the name of this file, which no render wrote; move the file away, or "
                "render into another folder"
            )


def _part(path: Path) -> Path:
    return path.with_name(path.name + PART)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, content: bytes) -> bool:
    """Replace the content of a file at once; return whether it changed."""
    if _bytes(path) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def _delete(folder: Path, path: str) -> bool:
    """Delete a file, and its folder if it is empty then; return whether the file existed."""
    file = folder / path
    existed = file.exists()
    file.unlink(missing_ok=True)
    if file.parent != folder and file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
    return existed
