"""The submission files in the folder of a track, which is not trusted, and the files of deliveries."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import translate
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from scorer.errors import ChallengeError, ScorerError, os_errors_as
from scorer.files import (
    A_LINK,
    NOT_REGULAR,
    AnyFile,
    FileBelow,
    Remote,
    UnsafePathError,
    chunks_of,
    digest,
    digest_of,
)
from scorer.files.writing import PART
from scorer.limits import MB, Limits
from scorer.live.commitment import ENDINGS, named
from scorer.live.entry import SERVICE, SubmissionState, present_files, recorded
from scorer.record.log import unescaped
from scorer.rules.metadata import OF_FILE, OF_FOLDER, Value
from scorer.rules.tables import IGNORED, IGNORED_1
from scorer.settings.metadata import MOST_BYTES, Given, MetadataError, Stated, checked, of_head, read
from scorer.settings.tracks import STATIC, Challenge, Track
from scorer.store.events import ScannedFile, Submission
from scorer.store.sidecar import Archive
from scorer.store.store import Store
from scorer.wording import printable, printable_name

RECEIVED = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z[-_. ]*")
"""The beginning of a file's name that states when it was received, in UTC."""

_COMPRESSED = re.compile(r"\.(gz|xz|zst)$")

FIRST_SECOND = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""The range of datetime; the times of some file systems exceed it."""

INCOMING = ".incoming"
"""The folder, in that of a track, of files that are being handed in."""

LITTER = re.compile(
    r"\.(incoming|DS_Store|localized|directory|gitkeep|gitignore|gitattributes|git|keep|nfs[0-9a-f]+|Trash(es|-\d+)?|_.*)"
)
"""Hidden files and folders that systems, tools and the service create; no upload has such a name."""


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """A file of a team. Names are as the system has them; different names are different texts."""

    path: AnyFile
    file: str
    """The name of the track and the path in the track's folder."""
    team: str
    """The name of the team's folder, or part of the file's name if it is in the track's folder."""
    received: datetime
    """UTC: the time at the beginning of the file's name, or else the time of its last change."""
    status: os.stat_result | None
    """Of the file when it was listed; None for a remote file."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that cannot be read as a submission."""

    file: str
    reason: str
    is_ignored: bool = False
    """Whether its name is one of those that the track ignores."""
    metadata: SubmissionFile | None = field(default=None, compare=False)
    """The file, if it states metadata."""

    def __str__(self) -> str:
        return f"{printable_name(self.file)}: {self.reason}{'' if self.metadata else '; skipped'}"


@dataclass(frozen=True, slots=True)
class UploadInProgress:
    """A file or folder whose name begins with a dot: it is read once it is renamed."""

    file: str
    more: int = 0
    """Above 0: `file` is a folder, and so many files in it are meant that are not reported one by one."""
    upload: SubmissionFile | None = field(default=None, compare=False)
    """As if the name had no dot; None for a folder."""

    def __str__(self) -> str:
        name = printable_name(self.file)
        if self.more:
            return f"{name}: and {self.more:,} more uploads in progress"
        return f"{name}: upload in progress (the name begins with a dot); it is read once it is renamed"


_PICKS = "picks.toml"
"""The file with which teams picked in earlier versions. It is no submission."""

FolderFile = SubmissionFile | SkippedFile | UploadInProgress

WithFile = tuple[SubmissionFile, Submission]
"""A submission with its file."""


@dataclass(frozen=True, eq=False)
class ListedPart:
    """A file or a folder in the folder of a track: as long as all in it has the same status, it is the same value."""

    seen: object
    """The names in it, with the status of each."""
    all: tuple[FolderFile, ...]

    @cached_property
    def files(self) -> Mapping[str, SubmissionFile]:
        """The submissions, by file."""
        return {file.file: file for file in self.all if isinstance(file, SubmissionFile)}

    @cached_property
    def teams(self) -> Counter[str]:
        """How many submissions are of which team."""
        return Counter(file.team for file in self.files.values())


@dataclass(frozen=True, eq=False)
class Listing:
    """What the folder of a track holds."""

    parts: Mapping[str, ListedPart]
    """By name, in order of the names."""
    rules: tuple[object, ...] = ()
    """What decides which of the files are submissions."""

    def __iter__(self) -> Iterator[FolderFile]:
        return iter(self.all)

    @cached_property
    def all(self) -> tuple[FolderFile, ...]:
        """In order of the names."""
        return tuple(chain.from_iterable(part.all for part in self.parts.values()))

    @cached_property
    def files(self) -> Mapping[str, SubmissionFile]:
        """The submissions, by file."""
        return dict(chain.from_iterable(part.files.items() for part in self.parts.values()))

    def is_missing(self, file: str) -> bool:
        """Whether a file is gone. A file that cannot be read, or whose folder cannot be read, is not gone."""
        parts = file.split("/")
        return file not in self.files and self._unread.isdisjoint(
            "/".join(parts[:end]) for end in range(1, len(parts) + 1)
        )

    def recorded(self, state: SubmissionState) -> SubmissionFile | None:
        """The file of a recorded submission, whose name may have been recorded escaped; None if it is not listed."""
        file = self.files.get(state.submission.file)
        return self._unescaped.get(state.submission.file) if file is None and state.was_escaped else file

    def metadata_of(self, file: SubmissionFile) -> Iterator[AnyFile]:
        """The files that state metadata of a file: that of its folder, then its own."""
        for name in (f"{file.file.rpartition('/')[0]}/{OF_FOLDER}", *(file.file + end for end in OF_FILE)):
            if name in self._metadata:
                yield self._metadata[name].path

    @cached_property
    def _metadata(self) -> Mapping[str, SubmissionFile]:
        skipped = (file for file in self.all if isinstance(file, SkippedFile))
        return {file.file: file.metadata for file in skipped if file.metadata is not None}

    @cached_property
    def _unescaped(self) -> Mapping[str, SubmissionFile]:
        return {unescaped(name): file for name, file in self.files.items()}

    @cached_property
    def _unread(self) -> frozenset[str]:
        return frozenset(file.file for file in self.all if not isinstance(file, SubmissionFile))


def submission_files(track: Track, before: Listing | None = None) -> Listing:
    """List the files of a track's teams, ``<team>.txt`` or ``<team>/<file>``, in order of their names.

    Parts that have the same status as in an earlier listing are taken from it; if all do, it is that listing.

    The track has the names of files with which its record began, as `Now.declared`.
    The files in a folder of a team's folder are the team's, too. Files with names that the track ignores are skipped,
    and hidden files of systems and tools. Links are skipped, never followed. A missing folder is empty.
    """
    folder = track.submissions_path
    rules = folder, track.ignore, track.file_names, track.metadata
    known = before.parts if before is not None and before.rules == rules else {}
    parts: dict[str, ListedPart] = {}
    with os_errors_as(ChallengeError, f"{folder}: cannot be read", "expected the folder of submissions"):
        if not folder.exists():
            return Listing(parts)
        if isinstance(folder, Remote):
            files = _in_remote(folder, track.name, None)
            return Listing({"": ListedPart(None, tuple(_unless_skipped(file, track) for file in files))})
        top = FileBelow(folder, ())
        for name, status in top.list():
            seen = _seen(top, name, status, 1)
            part = known.get(name)
            if part is None or part.seen != seen:
                files = _of_part(top / name, seen, f"{track.name}/{name}", None)
                part = ListedPart(seen, tuple(_unless_skipped(file, track) for file in files))
            parts[name] = part
    return before if before is not None and known and parts == known else Listing(parts, rules)


_Seen = tuple[os.stat_result | OSError, tuple[int, int] | None, Mapping[str, Any] | OSError | None]
"""The status of a file, its times in nanoseconds, and of a folder what is in it, by name."""


def _seen(folder: FileBelow, name: str, status: os.stat_result | OSError, depth: int) -> _Seen:
    if isinstance(status, OSError):
        return status, None, None
    times = status.st_mtime_ns, status.st_ctime_ns
    if not stat.S_ISDIR(status.st_mode) or depth > IN_TEAM or name.startswith("."):
        return status, times, None
    try:
        below = folder / name
        return status, times, {each: _seen(below, each, inner, depth + 1) for each, inner in below.list()}
    except OSError as error:
        return status, times, error


def _unless_skipped(file: FolderFile, track: Track) -> FolderFile:
    """The file, skipped if it has metadata, or a name to ignore, also of a folder in its team's folder."""
    *folders, name = file.file.split("/")
    if len(folders) == IN_TEAM and name == _PICKS:
        return SkippedFile(file.file, "picks in a file have no effect; record them with `scorer pick`", is_ignored=True)
    if not isinstance(file, SubmissionFile):
        return file
    if track.metadata and (name == OF_FOLDER or name.endswith(OF_FILE)):
        return SkippedFile(file.file, "the metadata of a submission", is_ignored=True, metadata=file)
    parts = [part.lower() for part in (*folders[2:], name)]
    names = (IGNORED if track.file_names else IGNORED_1) if track.ignore is None else track.ignore
    if any(map(_ignoring(tuple(names)).match, parts)):
        return SkippedFile(file.file, "no submission by its name (the key ignore)", is_ignored=True)
    if len(folders) > 1 or track.file_names is None:
        return file
    rest = _team(name, ENDINGS.sub("", name))
    found = named(track.file_names, rest)
    if found is None and "{team}" in track.file_names:
        return SkippedFile(file.file, f"its name is not like {printable(track.file_names)} (the key file_names)")
    return replace(file, team=(found or {}).get("team", rest))


def _of_part(below: FileBelow, seen: _Seen, file: str, team: str | None) -> Iterator[FolderFile]:
    """The files that a part is or has in it."""
    status, _, inside = seen
    if below.name.startswith("."):
        yield from _hidden(_listed(below, file, team, status))
    elif isinstance(inside, OSError):
        yield SkippedFile(file, why_skipped(inside))
    elif inside is not None:
        for name, each in inside.items():
            yield from _of_part(below / name, each, f"{file}/{name}", team or below.name)
    elif isinstance(status, os.stat_result) and stat.S_ISDIR(status.st_mode):
        yield SkippedFile(file, _A_FOLDER)
    else:
        yield _listed(below, file, team, status)


@cache
def _ignoring(names: tuple[str, ...]) -> re.Pattern[str]:
    """Matches the names to ignore, in lower case, as `fnmatch` does."""
    return re.compile("|".join(translate(name.lower()) for name in names) or "(?!)")


def _listed(below: FileBelow, file: str, team: str | None, status: os.stat_result | OSError) -> FolderFile:
    if isinstance(status, OSError):
        return SkippedFile(file, why_skipped(status))
    if stat.S_ISLNK(status.st_mode):
        return SkippedFile(file, A_LINK)
    if not stat.S_ISREG(status.st_mode):
        return SkippedFile(file, NOT_REGULAR)
    return SubmissionFile(below, file, team or _team(below.name), _received(below.name, status.st_mtime), status)


def _in_remote(folder: Remote, shown: str, team: str | None) -> Iterator[FolderFile]:
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        file = f"{shown}/{path.name}"
        if path.name.startswith("."):
            yield from _hidden(SubmissionFile(path, file, team or "", _received(path.name, 0.0), None))
            continue
        try:
            if path.is_dir() and file.count("/") <= IN_TEAM:
                yield from _in_remote(path, file, team or path.name)
            elif path.is_dir():
                yield SkippedFile(file, _A_FOLDER)
            elif path.is_file():
                yield SubmissionFile(path, file, team or _team(path.name), _received_remote(path), None)
            else:
                yield SkippedFile(file, NOT_REGULAR)
        except OSError as error:
            yield SkippedFile(file, why_skipped(error))


_A_FOLDER = "a folder in a folder of a team's folder; move its files up into the folder of the team"

IN_TEAM = 2
"""The slashes in the path of a file in the folder of a team: that of the track comes before."""


def _hidden(file: FolderFile) -> Iterator[UploadInProgress]:
    """The upload in progress that a file is whose name begins with a dot, unless a system created it."""
    if not LITTER.fullmatch(file.file.rpartition("/")[2]):
        yield UploadInProgress(file.file, upload=file if isinstance(file, SubmissionFile) else None)


def why_skipped(error: OSError) -> str:
    """Why a file is skipped, by the error that it raised."""
    return str(error.strerror) if isinstance(error, UnsafePathError) else f"cannot be read: {error.strerror}"


def _team(file_name: str, stem: str = "") -> str:
    """The team in a name of a file, without the time: `stem`, or by the rule of version 1.0 all but the extension."""
    stem = stem or PurePath(_COMPRESSED.sub("", file_name)).stem
    return without_time(stem) or stem.strip() or file_name


def without_time(name: str) -> str:
    """A name without the time at its beginning."""
    return name[_time(name)[1] :].strip()


def _time(name: str) -> tuple[datetime | None, int]:
    """The time at the beginning of a name and the length of that beginning; (None, 0) if the name has no time."""
    match = RECEIVED.match(name)
    if match:
        try:
            year, month, day, hour, minute, second = map(int, match.groups())  # strptime takes eight times as long
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC), match.end()
        except ValueError:
            pass
    return None, 0


def _received(name: str, changed: float) -> datetime:
    """When a file was received, by its name or else by the time of its last change, in seconds since 1970."""
    last = datetime.fromtimestamp(min(max(int(changed), FIRST_SECOND), LAST_SECOND), UTC)
    return _time(name)[0] or last


def _received_remote(path: Remote) -> datetime:
    changed = path.changed() if _time(path.name)[0] is None else 0.0
    if changed is None:
        raise OSError(
            errno.ENODATA,
            "the time of its last change is unknown; begin its name with the time, as in 20110418T100000Z-x.txt",
        )
    return _received(path.name, changed)


# Reading

SETTLED = 2.0
"""Seconds without a change after which a file with the same status is taken to have the same content. Times of file
systems are coarse: a file that changes twice within one of their steps keeps its status."""


def safe_digest(path: AnyFile, limits: Limits) -> str:
    """SHA-256 of a submission's bytes. Raises UnsafePathError for a link or a file that is too large, and OSError."""
    if not isinstance(path, FileBelow):
        return digest(path)
    with path.open() as stream:
        status = os.fstat(stream.fileno())
        _check_size(status, limits)
        return digest_of(chunks_of(stream, status.st_size + 1))  # it may grow without end


def read_file(file: SubmissionFile, limits: Limits, scanned: ScannedFile | None) -> tuple[SubmissionFile, ScannedFile]:
    """A file and its status with the digest; the inode is 0 if the status must not be used again."""
    if file.status is None or not isinstance(file.path, FileBelow):
        return file, ScannedFile(0, 0, 0, 0, 0, safe_digest(file.path, limits))
    _check_size(file.status, limits)
    if scanned is not None and scanned == _scanned(file.status, scanned.digest):
        return file, scanned
    with file.path.open() as stream:
        before = os.fstat(stream.fileno())
        _check_size(before, limits)
        started = time.time()
        sha256 = digest_of(chunks_of(stream, before.st_size + 1))
        after = _scanned(os.fstat(stream.fileno()), sha256)
    if after != _scanned(before, sha256):
        raise UnsafePathError("it changed while it was read; it is read again by the next run")
    if started - max(before.st_mtime, before.st_ctime) < SETTLED:
        after = replace(after, inode=0)
    return replace(file, status=before, received=_received(file.path.name, before.st_mtime)), after


def check_links(file: SubmissionFile, sha256: str, recorded: str | None, solutions: Collection[str]) -> None:
    """Refuse a hard link, which may be to a file of anybody, and the bytes of a solution, whose link may be gone.

    A file that is recorded with these bytes stays: others can link to it, too.
    """
    if sha256 in solutions:
        raise UnsafePathError("has the bytes of a solution; submit a file of your own")
    if file.status is not None and file.status.st_nlink > 1 and sha256 != recorded:
        raise UnsafePathError("a hard link; submit a copy")


def _check_size(status: os.stat_result, limits: Limits) -> None:
    if status.st_size > limits.file_mb * MB:
        size = f"{status.st_size / MB:,.0f} MB"
        raise UnsafePathError(f"the file has {size}; the limit is {limits.file_mb:,} (limits.file_mb)")


def _scanned(status: os.stat_result, sha256: str) -> ScannedFile:
    place = status.st_ino, status.st_dev
    return ScannedFile(status.st_size, status.st_mtime_ns, status.st_ctime_ns, *place, sha256)


def of_file(file: SubmissionFile, listing: Listing) -> Stated:
    """What the metadata files of a submission state; its own has priority. Raises MetadataError and OSError."""
    stated: dict[str, Given] = {}
    for path in listing.metadata_of(file):
        with path.open("rb") as stream:
            stated |= read(b"".join(chunks_of(stream, MOST_BYTES + 1)))
    return stated


def scanned_metadata(
    track: Track, file: SubmissionFile, listing: Listing, limits: Limits, is_new: bool, notes: list[str]
) -> Mapping[str, Mapping[str, Value]]:
    """What a scan finds stated of a file, by its name: of a new one, and of one that has a file of metadata.

    Raises UnsafePathError if those of a new file are invalid; of another one, `notes` says so, and the earlier stay.
    """
    if not track.metadata or not (is_new or any(listing.metadata_of(file))):
        return {}
    try:
        return {file.file: checked(track.metadata, {**of_head(file.path, limits), **of_file(file, listing)})}
    except MetadataError as error:
        if is_new:
            raise UnsafePathError(error.reason) from None
        notes.append(f"{printable_name(file.file)}: {error.reason}; the earlier ones stay")
        return {}


RESERVE = 100 * MB
"""Bytes that stay free on the disk: the database and the site need room, too."""

READY = ".ready"
"""Ends the name of a complete file in the folder of incoming files while its arrival is being recorded: nothing else
takes it away."""

ABANDONED = 3600.0
"""Seconds after which a file in the folder of incoming files was left by a process that was killed."""


def submissions_folder(track: Track) -> Path:
    """The folder of a track's submissions. Raises ChallengeError if it is on another machine."""
    folder = track.submissions_path
    if not isinstance(folder, Path):
        raise ChallengeError(
            f"tracks.{track.name}.submissions: found {printable(str(folder))}, but files can be handed in only to a "
            "folder of this machine; name one"
        )
    return folder


def incoming_folder(track: Track) -> Path:
    """The folder of files that are being handed in; it is on the file system of the final files."""
    return submissions_folder(track) / INCOMING


def prepare_incoming(store: Store, track: Track) -> Path:
    """Make the folder of incoming files, and complete what an earlier process left; returns the folder.

    Raises ChallengeError and OSError.
    """
    folder = incoming_folder(track)
    folder.mkdir(parents=True, exist_ok=True)
    states = store.read(partial(recorded, track=track.name))
    put_in_place(track, present_files(states.values(), SERVICE))
    return folder


def remove_incomplete(folder: Path, seconds: float = ABANDONED) -> None:
    """Delete what was left in a folder of incoming files, and has not changed for some seconds.

    With 0 seconds, files go that are being received; another process then refuses them. Complete ones stay for longer.
    """
    now = time.time()
    for path in folder.iterdir():
        with suppress(OSError):
            least = seconds if path.name.endswith(PART) else max(seconds, ABANDONED)
            if now - path.stat().st_mtime >= least:
                path.unlink()


def final_path(track: Track, file: str) -> Path:
    """The path of a file that was handed in, by its name in the record."""
    return submissions_folder(track).joinpath(*file.split("/")[1:])


def put_in_place(track: Track, delivered: Mapping[str, str], kept: Archive | None = None) -> None:
    """Complete deliveries: the event is recorded, and a crash left the file in the folder of incoming files.

    `delivered` has the digests of the files that were handed in. Those that are gone are restored from the bytes that
    are kept. What cannot be completed is missing in the scan. What was abandoned is deleted.
    """
    if not isinstance(track.submissions_path, Path) or not incoming_folder(track).is_dir():
        return
    paths = {sha256: final_path(track, file) for file, sha256 in delivered.items()}
    missing = {sha256: path for sha256, path in paths.items() if not path.exists()}
    for sha256 in missing:
        if kept is not None and sha256 in kept:
            part = incoming_folder(track) / f"{sha256}{PART}"
            with suppress(OSError), kept.file(sha256).open("rb") as source, part.open("wb") as copy:
                copy.writelines(chunks_of(source))
    for received in sorted(incoming_folder(track).iterdir()) if missing else ():
        try:
            sha256 = digest(received)
            if sha256 in missing:
                move(received, missing.pop(sha256))
        except OSError:  # another process has just moved it
            continue
    remove_incomplete(incoming_folder(track))


def move(received: Path, path: Path) -> None:
    """Give a received file its final name; afterwards it survives a crash of the machine. Raises OSError."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    received.replace(path)
    sync_folder(path.parent)
    if made:
        sync_folder(path.parent.parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk. Raises OSError."""
    if sys.platform == "win32":
        return  # Windows opens no folder; its file system has a journal of names
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_is_private(challenge: Challenge, path: Path) -> None:
    """Raise ScorerError for a path whose files become public with the site, or that a run reads as submissions."""
    read_by_runs = [folder for track in challenge.tracks if isinstance(folder := track.submissions_path, Path)]
    for other in (challenge.site_path, challenge.root / STATIC, *read_by_runs):
        real, its = Path(os.path.realpath(path)), Path(os.path.realpath(other))
        if real.is_relative_to(its) or its.is_relative_to(real):
            why = "a run reads its files" if other in read_by_runs else "its files become public"
            raise ScorerError(f"{path}: {why} with {other}; name a path elsewhere")
