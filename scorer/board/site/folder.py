"""Writes the pages into a folder, which can be opened from disk or served as it is."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from scorer.errors import ScorerError
from scorer.files import digest, digest_of
from scorer.files.writing import LockedError, bytes_of, locked, part_of, replace_content
from scorer.wording import quoted

SITE_MANIFEST = ".manifest.json"
"""Lists the files that renders wrote, and the snapshot that the last complete render shows."""

LOCK = ".lock"
"""Locked while a render writes into the folder."""

_WAIT = 60.0
"""Seconds that a render waits for another one."""

FRONT_PAGE = "index.html"
LINK = re.compile(r'\bhref="([^"]*)"')
"""Of a page that is rendered."""

ASSETS_FOLDER = "static/"
ASSET_SUFFIXES = (".css", ".js")


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What renders left in the folder."""

    files: frozenset[str] = frozenset()
    """Paths that may exist: a file is listed before it is written and until after it is deleted."""
    snapshot: str = ""
    """The name of the snapshot that the last complete render shows; empty before that. It is public, so it must not
    tell how often the database has changed: that would say during a freeze what arrives."""

    def shows_later(self, snapshot: str, is_later: Callable[[str], bool]) -> bool:
        """Whether the folder shows a later snapshot, which `is_later` says of its name."""
        return self.snapshot not in ("", snapshot) and is_later(self.snapshot)

    def encoded(self) -> bytes:
        document: dict[str, object] = {"written by scorer": sorted(self.files)}
        if self.snapshot:
            document["snapshot"] = self.snapshot
        return (json.dumps(document, indent=1) + "\n").encode()


@dataclass(frozen=True, slots=True)
class KeptPages:
    """Pages that are in the folder of a site since an earlier render, and need not be rendered again."""

    folder: Path
    before: Mapping[str, tuple[str, str]]
    """By path: the state of the page, and the digest of its text."""
    made: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The same for the pages of this render."""

    def text(self, path: str, state: str, render: Callable[[], str]) -> str:
        """The text of a page with a state: that in the folder, unless it is of another one, or was changed there."""
        known, sha256 = self.before.get(path, ("", ""))
        if known == state:
            with suppress(OSError, UnicodeDecodeError):
                content = (self.folder / path).read_bytes()
                if digest_of([content]) == sha256:
                    self.made[path] = state, sha256
                    return content.decode()
        text = render()
        self.made[path] = state, digest_of([text.encode()])
        return text


def write(
    pages: Mapping[str, str | bytes],
    folder: Path,
    snapshot: str = "",
    is_later: Callable[[str], bool] = lambda _: False,
    failed: Collection[str] = (),
) -> list[str] | None:
    """Write the pages, by their relative paths, into the folder, and delete pages of earlier renders.

    Each file is replaced as a whole, and only if its content changes. Style sheets, scripts and files of the organiser
    come first, then pages and data files that do not exist yet, then the other pages and data files, then
    ``index.html``, then deletions: a visitor who follows links during a render never reaches a page that does not exist
    yet. Files that no render wrote are not changed, nor is what an earlier one wrote at the paths and in the folders of
    what `failed` now. If a render is killed, the next one completes it. If no content changes, no file does: that the
    database has changed may be hidden.

    One process writes at a time; another one waits for up to `_WAIT` seconds. While the folder is locked, `is_later` is
    called with the name of the snapshot that the folder shows; it says whether that is later than `snapshot`. Then
    nothing is written, and the result is None. Otherwise it has the paths written or deleted, sorted.

    Raises ScorerError if the folder cannot be written or stays locked, or if a file that no render wrote has the name
    of a page.
    """
    contents = _encoded(pages)
    if folder.exists() and not folder.is_dir():
        raise ScorerError(f"{folder}: cannot write the site (Not a directory)")
    with _locked(folder):
        before = _read_manifest(folder)
        if before.shows_later(snapshot, is_later):
            return None
        stays = {path for path in before.files if any(PurePosixPath(path).is_relative_to(each) for each in failed)}
        return _update(folder, contents, before, _Manifest(frozenset(stays | contents.keys()), snapshot))


def write_first(
    pages: Mapping[str, str | bytes], folder: Path, snapshot: str, is_later: Callable[[str], bool]
) -> frozenset[str]:
    """Write some pages of a site before the others are rendered; `write` completes the site.

    Returns the paths of the pages that they link to and that neither are among them nor exist: if there are any,
    nothing is written. Nor is anything written where no complete render is, where it is later than `snapshot`, as for
    `write`, and if no content changes. Raises ScorerError as `write`.
    """
    if not manifest_of(folder):
        return frozenset()
    missing = frozenset(path for path in set(_linked(pages)) if path not in pages and not (folder / path).exists())
    if missing:
        return missing
    contents = _encoded(pages)
    with _locked(folder):
        before = _read_manifest(folder)
        if before.snapshot and not before.shows_later(snapshot, is_later) and _changed(folder, contents):
            _refuse_to_overwrite(folder, contents, before.files)
            replace_content(folder / SITE_MANIFEST, _Manifest(before.files | contents.keys()).encoded())
            for path in _in_order(contents, folder):
                _replace(folder / path, contents[path])
    return missing


def _replace(file: Path, content: bytes) -> bool:
    """Replace the content of a file, which visitors may read with any umask; return whether it changed."""
    made = [parent for parent in file.parents if not parent.exists()]
    if changed := replace_content(file, content):
        for each in (*made, file):
            each.chmod(each.stat().st_mode | (0o444 if each == file else 0o555))
    return changed


def _encoded(pages: Mapping[str, str | bytes]) -> dict[str, bytes]:
    return {path: page.encode() if isinstance(page, str) else page for path, page in pages.items()}


def _linked(pages: Mapping[str, str | bytes]) -> Iterator[str]:
    """The paths of the files of the site that HTML pages link to."""
    for path, page in pages.items():
        if path.endswith(".html") and isinstance(page, str):
            for parts in map(urlsplit, set(LINK.findall(page))):
                if not parts.scheme and parts.path:
                    yield posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder, which is made if it is missing. Raises ScorerError if it stays locked, or for an
    error of files within.
    """
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        with locked(folder / LOCK, _WAIT):
            yield
    except LockedError as error:
        raise ScorerError(str(error)) from error
    except OSError as error:
        raise ScorerError(f"{error.filename or folder}: cannot write the site ({error.strerror or error})") from error


def _update(folder: Path, contents: Mapping[str, bytes], before: _Manifest, after: _Manifest) -> list[str]:
    """Write the contents and delete what is no longer wanted; return the changed paths. The caller holds the lock."""
    _refuse_to_overwrite(folder, contents, before.files)
    if before.files == after.files and before.snapshot and not _changed(folder, contents):
        return []
    replace_content(folder / SITE_MANIFEST, _Manifest(before.files | after.files).encoded())
    for path in {SITE_MANIFEST, *before.files, *after.files}:
        with suppress(NotADirectoryError):  # what was a file becomes a folder
            part_of(folder / path).unlink(missing_ok=True)
    in_the_way = _in_the_way(before.files - after.files, after.files)
    deleted = [path for path in sorted(in_the_way) if _delete(folder, path)]
    written = [path for path in _in_order(contents, folder) if _replace(folder / path, contents[path])]
    deleted += [path for path in sorted(before.files - after.files - in_the_way) if _delete(folder, path)]
    replace_content(folder / SITE_MANIFEST, after.encoded())
    return sorted(written + deleted)


def _changed(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Whether any file has another content, or is not there."""
    with suppress(OSError):  # a file is where a folder is needed
        return any(bytes_of(folder / path) != content for path, content in contents.items())
    return True


def shows(folder: Path, manifest: str) -> bool:
    """Whether the folder has the manifest with this digest, as `manifest_of` returns it, and all files of it."""
    return manifest_of(folder) == manifest and all((folder / path).is_file() for path in _read_manifest(folder).files)


def manifest_of(folder: Path) -> str:
    """The SHA-256 of the manifest of a complete render, in hexadecimal; empty without one."""
    if not (folder / SITE_MANIFEST).is_file() or not _read_manifest(folder).snapshot:
        return ""
    return digest(folder / SITE_MANIFEST)


def listed_files(folder: Path) -> frozenset[str]:
    """The paths of the files that renders wrote into the folder, which are read again only when they change."""
    try:
        status = (folder / SITE_MANIFEST).stat()
    except FileNotFoundError:
        return frozenset()
    return _listed_files(folder, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=2)
def _listed_files(folder: Path, *_status: int) -> frozenset[str]:
    return _read_manifest(folder).files


def _in_the_way(unwanted: AbstractSet[str], wanted: AbstractSet[str]) -> AbstractSet[str]:
    """The unwanted files that are where a wanted file needs a folder, or in a folder where a wanted file will be."""
    folders = {str(parent) for path in wanted for parent in PurePosixPath(path).parents}
    return {
        path
        for path in unwanted
        if path in folders or any(str(parent) in wanted for parent in PurePosixPath(path).parents)
    }


def _in_order(paths: Iterable[str], folder: Path) -> list[str]:
    """The paths in the order in which they are written."""

    def key(path: str) -> tuple[bool, bool, bool, str]:
        is_asset = path.startswith(ASSETS_FOLDER) or path.endswith(ASSET_SUFFIXES)
        return path == FRONT_PAGE, not is_asset, (folder / path).exists(), path

    return sorted(paths, key=key)


def _read_manifest(folder: Path) -> _Manifest:
    """The manifest of the folder; an empty one if the folder has none. Its paths are inside the folder."""
    file = folder / SITE_MANIFEST
    try:
        document = json.loads(file.read_bytes())
        files = frozenset(map(str, document["written by scorer"]))
        snapshot = str(document.get("snapshot", ""))
    except FileNotFoundError:
        return _Manifest()
    except (ValueError, LookupError, TypeError) as error:
        raise ScorerError(f"{file}: not a manifest written by a render; empty {folder} and render again") from error
    outside = [path for path in files if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    if outside:
        raise ScorerError(
            f"{file}: lists {quoted(outside[0])}, which is outside of {folder}; empty the folder and render again"
        )
    return _Manifest(files, snapshot)


def _refuse_to_overwrite(folder: Path, contents: Mapping[str, bytes], earlier: frozenset[str]) -> None:
    """Raise ScorerError if a file that no render wrote has the name of a page and another content."""
    for path, content in contents.items():
        if path not in earlier and (folder / path).is_file() and (folder / path).read_bytes() != content:
            raise ScorerError(
                f"{folder / path}: a page has the name of this file, which no render wrote; move the file away, or "
                "render into another folder"
            )


def _delete(folder: Path, path: str) -> bool:
    """Delete a file, and the folders that are empty then; return whether the file existed."""
    file = folder / path
    existed = file.exists()
    file.unlink(missing_ok=True)
    for parent in file.relative_to(folder).parents[:-1]:
        if (folder / parent).is_dir() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
    return existed
