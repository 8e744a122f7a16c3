"""The files of a challenge that a bundle has: all that a render reads, and on request solutions and submissions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scorer.challenge.branding import STATIC
from scorer.challenge.portable import Portable
from scorer.challenge.settings import Challenge, Track
from scorer.challenge.splits import SHA256
from scorer.challenge.teams import FILE as TEAMS
from scorer.errors import ChallengeError
from scorer.live.presence import present_digests
from scorer.live.state import track_state
from scorer.organising.intake import scan
from scorer.organising.picks import KB, LARGEST
from scorer.organising.submission_files import submission_files
from scorer.paths import AnyFile, Remote, chunks_of
from scorer.site.own_files import PAGES
from scorer.store.archive import Archive
from scorer.store.snapshot import Snapshot
from scorer.verification.bundle_archive import CHALLENGE, INDEX, LONGEST_NAME, SOLUTIONS, SUBMISSIONS

TEMPLATES = "templates"

Content = Callable[[], Iterable[bytes]]
"""Returns the content of a member, in chunks."""


def challenge_files(challenge: Challenge, moved: Portable, *, solutions: bool) -> dict[str, Content]:
    """The members for the files of a challenge but challenge.toml, by name. Raises ChallengeError."""
    root = challenge.root
    found = {place: root / place for place in _files_of_site(root)}
    for track in challenge.tracks:
        files = {"queries": track.queries_path, "items": track.items_path, "key_file": track.key_path}
        if solutions:
            files["solution"] = track.solution_path
        for key, path in files.items():
            if isinstance(path, Path):
                found[moved.places[track.name, key]] = path
    return {f"{CHALLENGE}{place}": partial(_read, path) for place, path in found.items()}


def _files_of_site(root: Path) -> Iterator[str]:
    """The relative paths of files with a fixed place that a render reads, and teams.toml."""
    if (root / TEAMS).is_file():
        yield TEAMS
    for page in (root / PAGES).glob("*.md"):
        if not page.name.startswith(".") and not page.is_symlink():
            yield f"{PAGES}/{page.name}"
    for name, _, files in os.walk(root / TEMPLATES):
        for each in files:
            path = Path(name) / each
            place = path.relative_to(root).as_posix()
            # A render copies no link from this folder into the site.
            if path.is_file() and not (place.startswith(f"{STATIC}/") and path.is_symlink()):
                yield place


def solution_files(archive: Archive) -> dict[str, Content]:
    """The members for the bytes of the solutions and lists of items that the rules have used, by name."""
    digests = filter(SHA256.fullmatch, archive.digests())
    return {f"{SOLUTIONS}{digest}": partial(_read_same, archive.path(digest), digest) for digest in digests}


@dataclass(frozen=True, slots=True)
class BundledFile:
    """A file of a folder of submissions."""

    track: str
    path: tuple[str, ...]
    """The names of its folder, if it is in that of a team, and of the file."""
    sha256: str
    mtime_ns: int

    def row(self) -> dict[str, object]:
        """The line of the index."""
        return {"track": self.track, "path": self.path, "sha256": self.sha256, "mtime_ns": self.mtime_ns}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> BundledFile:
        """The file of a line of the index, which is not trusted. Raises ValueError, LookupError or TypeError."""
        track, path, sha256, mtime_ns = row["track"], row["path"], row["sha256"], row["mtime_ns"]
        if not isinstance(track, str) or not SHA256.fullmatch(sha256):
            raise ValueError(row)
        if type(mtime_ns) is not int or abs(mtime_ns) >= 2**63:
            raise ValueError(row)
        if not isinstance(path, list) or not 1 <= len(path) <= 2 or not all(map(_is_name, path)):
            raise ValueError(row)
        return cls(track, tuple(path), sha256, mtime_ns)


def _is_name(name: object) -> bool:
    """Whether this is the name of a file, which leads to no other folder on this system."""
    if not isinstance(name, str) or name in ("", ".", "..") or "\0" in name:
        return False
    return len(os.fsencode(name)) <= LONGEST_NAME and Path(name).name == name


def submitted_files(
    view: Snapshot, challenge: Challenge, archive: Archive, kept: Archive, *, everything: bool
) -> dict[str, Content]:
    """The members for the files in the folders of submissions, and their index, by name.

    Parameters
    ----------
    view, challenge, archive, kept
        A snapshot of the database, the challenge, the archive of its solutions, and that of its submissions.
    everything
        Whether the submissions are in it, also those whose bytes are kept without a file; otherwise only the files
        picks.toml, which a render reads, too.

    Raises
    ------
    ChallengeError
        A folder cannot be read.
    """
    found: list[tuple[BundledFile, Content]] = []
    for track in challenge.tracks:
        if not isinstance(track.submissions_path, Remote):
            found += _picks(track)
            found += _submissions(view, challenge, track, archive) if everything else []
    found.sort(key=lambda each: (each[0].track, each[0].path))
    lines = [json.dumps(file.row(), separators=(",", ":")).encode("ascii") + b"\n" for file, _ in found]
    contents = {file.sha256: content for file, content in found}
    if everything:
        needed = present_digests(view).intersection(kept.digests())
        contents |= {digest: partial(_read_same, kept.file(digest), digest) for digest in needed}
    return {INDEX: lambda: lines, **{f"{SUBMISSIONS}{digest}": content for digest, content in contents.items()}}


def _picks(track: Track) -> Iterator[tuple[BundledFile, Content]]:
    for each in submission_files(track).picks:
        try:
            with each.path.open("rb") as stream:
                content = stream.read(LARGEST * KB + 1)  # a render finds that it is too large
                status = os.fstat(stream.fileno())
        except OSError:
            continue  # such as a link, which is not followed
        if status.st_nlink == 1:
            path = tuple(each.file.split("/")[1:])
            digest = hashlib.sha256(content).hexdigest()
            yield BundledFile(track.name, path, digest, status.st_mtime_ns), partial(_whole, content)


def _submissions(
    view: Snapshot, challenge: Challenge, track: Track, archive: Archive
) -> Iterator[tuple[BundledFile, Content]]:
    recorded = {
        state.submission.file: state.submission.digest
        for state in track_state(view, track).submissions.values()
        if state.present
    }
    scanned = scan(
        track,
        challenge.limits,
        recorded,
        view.scanned_files(track.name),
        {*archive.digests(), *view.solution_digests()},
        confirmed=True,
    )
    for file, submission in scanned.found:
        if file.status is not None:
            path = tuple(file.file.split("/")[1:])
            bundled = BundledFile(track.name, path, submission.digest, file.status.st_mtime_ns)
            yield bundled, partial(_read_same, file.path, submission.digest)


def _whole(content: bytes) -> Iterable[bytes]:
    return [content]


def _read(path: AnyFile) -> Iterator[bytes]:
    """The content of a file. Raises ChallengeError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            yield from chunks_of(stream)
    except OSError as error:
        raise ChallengeError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error


def _read_same(path: AnyFile, digest: str) -> Iterator[bytes]:
    """The content of a file that has this SHA-256. Raises ChallengeError if it has another one."""
    found = hashlib.sha256()
    for chunk in _read(path):
        found.update(chunk)
        yield chunk
    if found.hexdigest() != digest:
        raise ChallengeError(
            f"{os.fspath(path)}: changed while it was exported, or is damaged; `scorer doctor` checks it"
        )
