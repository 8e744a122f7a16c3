"""Writes pages into a folder that opens from disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from scorer.errors import ScorerError

MANIFEST = ".manifest.json"
"""Lists the files that a render wrote, in the site's folder."""

PART = ".part"
"""Ends the name of a file that is being written."""


# The folder.


def write(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Bring `folder` to hold exactly these pages, beside whatever else its owner keeps there.

    A file is written only if its bytes change, and then whole or not at all. Files of an earlier render that are no
    longer wanted are removed; the manifest knows them. It names a file before the file is written and until after it is
    gone, so that a render that was killed at any moment is taken up by the next.

    Returns
    -------
    The paths written or removed, sorted.

    Raises
    ------
    ScorerError
        The folder cannot be written, or a file stands there under a page's name that no render wrote.
    """
    texts = {path: text.encode() for path, text in pages.items()}
    try:
        earlier = _read_manifest(folder)
        _refuse_foreign(texts, folder, earlier)
        folder.mkdir(parents=True, exist_ok=True)
        if earlier != set(texts):
            _replace(folder / MANIFEST, _manifest(earlier | set(texts)))
        for path in {MANIFEST, *earlier, *texts}:
            _part(folder / path).unlink(missing_ok=True)
        written = [path for path, text in texts.items() if _replace(folder / path, text)]
        removed = [path for path in earlier - set(texts) if _remove(folder, path)]
        _replace(folder / MANIFEST, _manifest(texts))
    except OSError as error:
        raise ScorerError(f"{error.filename or folder}: cannot write the site ({error.strerror or error})") from error
    return sorted(written + removed)


def _manifest(paths: Iterable[str]) -> bytes:
    return (json.dumps({"written by scorer": sorted(paths)}, indent=1) + "\n").encode()


def _read_manifest(folder: Path) -> set[str]:
    """The paths that earlier renders may have written; a path that leads out of the folder is never among them."""
    manifest = folder / MANIFEST
    try:
        listed = json.loads(manifest.read_bytes())["written by scorer"]
        paths = {str(path) for path in listed}
    except FileNotFoundError:
        return set()
    except (ValueError, LookupError, TypeError) as error:
        raise ScorerError(
            f"{manifest}: is not the list that a render leaves; empty {folder} and render again"
        ) from error
    outside = [path for path in paths if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    if outside:
        raise ScorerError(f"{manifest}: {outside[0]!r} leads out of {folder}; empty the folder and render again")
    return paths


def _refuse_foreign(texts: Mapping[str, bytes], folder: Path, earlier: set[str]) -> None:
    for path, text in texts.items():
        if path not in earlier and (folder / path).exists() and _bytes(folder / path) != text:
            raise ScorerError(
                f"{folder / path}: is not from a render, yet a page has its name; move it away, or render elsewhere"
            )


def _part(path: Path) -> Path:
    return path.with_name(path.name + PART)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, text: bytes) -> bool:
    """Give the file this content, at once; tells whether it had another."""
    if _bytes(path) == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    try:
        part.write_bytes(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def _remove(folder: Path, path: str) -> bool:
    """Remove a file, and the folder that it leaves empty; tells whether there was one."""
    file = folder / path
    existed = file.exists()
    file.unlink(missing_ok=True)
    if file.parent != folder and file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
    return existed
