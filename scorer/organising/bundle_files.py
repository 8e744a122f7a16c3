"""A bundle as it is written: which files of a challenge it has, and the archive; see `verification.bundle_archive`."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from scorer.challenge.lists import public_lists
from scorer.challenge.portable import Portable
from scorer.challenge.settings import Challenge, Track
from scorer.challenge.splits import SHA256
from scorer.errors import ChallengeError
from scorer.live.presence import present_digests
from scorer.live.state import track_state
from scorer.organising.picks import KB, LARGEST
from scorer.organising.scan import scan
from scorer.organising.submission_files import submission_files
from scorer.organising.update import files_of_site
from scorer.paths import AnyFile, Remote, chunks_of, digest_of
from scorer.store.archive import Archive
from scorer.store.snapshot import Snapshot
from scorer.verification.bundle_archive import (
    CHALLENGE,
    COMMENT,
    COMMENT_BYTES,
    FORMAT,
    INDEX,
    LONGEST_NAME,
    MANIFEST,
    SECRET,
    SOLUTIONS,
    SUBMISSIONS,
    VERSION,
)

Content = Callable[[], Iterable[bytes]]
"""Returns the content of a member, in chunks."""


def challenge_files(challenge: Challenge, moved: Portable, *, solutions: bool) -> dict[str, Content]:
    """The members for the files of a challenge but challenge.toml, by name. Raises ChallengeError."""
    root = challenge.root
    paths = {place: root / place for place in files_of_site(root)}
    for track in challenge.tracks:
        files = {**public_lists(track), "key_file": track.key_path}
        if solutions:
            files["solution"] = track.solution_path
        for key, path in files.items():
            if isinstance(path, Path):
                paths[moved.places[track.name, key]] = path
    return {f"{CHALLENGE}{place}": partial(_read, path) for place, path in paths.items()}


def solution_files(archive: Archive) -> dict[str, Content]:
    """The members for the bytes of the solutions and public lists that the rules have used, by name."""
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

    With `everything`, the submissions are in it, also those whose bytes are kept without a file; otherwise only the
    files picks.toml, which a render reads, too.
    """
    listed: list[tuple[BundledFile, Content]] = []
    for track in challenge.tracks:
        if not isinstance(track.submissions_path, Remote):
            listed += _picks(track)
            listed += _submissions(view, challenge, track, archive) if everything else []
    listed.sort(key=lambda pair: (pair[0].track, pair[0].path))
    lines = [json.dumps(asdict(file), separators=(",", ":")).encode("ascii") + b"\n" for file, _ in listed]
    contents = {file.sha256: content for file, content in listed}
    if everything:
        needed = present_digests(view).intersection(kept.digests())
        contents |= {digest: partial(_read_same, kept.file(digest), digest) for digest in needed}
    return {INDEX: lambda: lines, **{f"{SUBMISSIONS}{digest}": content for digest, content in contents.items()}}


def _picks(track: Track) -> Iterator[tuple[BundledFile, Content]]:
    for file in submission_files(track).picks:
        try:
            with file.path.open("rb") as stream:
                content = stream.read(LARGEST * KB + 1)  # a render finds that it is too large
                status = os.fstat(stream.fileno())
        except OSError:
            continue  # such as a link, which is not followed
        if status.st_nlink == 1:
            path = tuple(file.file.split("/")[1:])
            digest = hashlib.sha256(content).hexdigest()
            yield BundledFile(track.name, path, digest, status.st_mtime_ns), partial(list, [content])


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
    for file, submission in scanned.submissions:
        if file.status is not None:
            path = tuple(file.file.split("/")[1:])
            bundled = BundledFile(track.name, path, submission.digest, file.status.st_mtime_ns)
            yield bundled, partial(_read_same, file.path, submission.digest)


def _read(path: AnyFile) -> Iterator[bytes]:
    """The content of a file. Raises ChallengeError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            yield from chunks_of(stream)
    except OSError as error:
        raise ChallengeError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error


def _read_same(path: AnyFile, digest: str) -> Iterator[bytes]:
    """The content of a file that has this SHA-256. Raises ChallengeError if it has another one."""
    hasher = hashlib.sha256()
    for chunk in _read(path):
        hasher.update(chunk)
        yield chunk
    if hasher.hexdigest() != digest:
        raise ChallengeError(
            f"{os.fspath(path)}: changed while it was exported, or is damaged; `scorer doctor` checks it"
        )


EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of all members: the earliest that a ZIP archive can have."""

UNIX = 3
"""The system that the archive says it is from, on every system."""


def write_bundle(path: Path, members: Mapping[str, Content], facts: Mapping[str, object]) -> str:
    """Write a new bundle, which only its owner can read, and return the digest of the whole. Raises OSError.

    The members are in the order of their names; the manifest, which has the facts, is the last one.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), SECRET)
    digests: dict[str, str] = {}
    with os.fdopen(descriptor, "w+b") as stream:
        with ZipFile(stream, "w", ZIP_STORED) as archive:
            for name in sorted(members):
                hasher = hashlib.sha256()
                with archive.open(_member(name), "w", force_zip64=True) as member:
                    for chunk in members[name]():
                        hasher.update(chunk)
                        member.write(chunk)
                digests[name] = hasher.hexdigest()
            manifest = {"format": FORMAT, "version": VERSION, **facts, "members": digests}
            with archive.open(_member(MANIFEST), "w", force_zip64=True) as member:
                member.write((json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode("ascii"))
            archive.comment = bytes(COMMENT_BYTES)
        size = stream.seek(0, os.SEEK_END) - COMMENT_BYTES
        stream.seek(0)
        digest = digest_of(chunks_of(stream, size))
        stream.seek(size)
        stream.write(f"{COMMENT}{digest}".encode("ascii"))
        stream.flush()
        os.fsync(stream.fileno())
    return digest


def _member(name: str) -> ZipInfo:
    info = ZipInfo(name, EARLIEST)
    info.create_system = UNIX
    info.external_attr = (stat.S_IFREG | SECRET) << 16
    return info
