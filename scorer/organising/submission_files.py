"""The submission files in the folder of a track: the team of each, and when it was received."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from scorer.challenge.settings import Track
from scorer.errors import ChallengeError
from scorer.paths import Location, Remote
from scorer.wording import printable

RECEIVED = re.compile(r"(\d{8}T\d{6}Z)[-_. ]*")
"""The beginning of a file's name that states when it was received, in UTC."""

COMPRESSED = re.compile(r"\.(gz|xz|zst)$")

FIRST_SECOND = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""The range of datetime; the times of some file systems exceed it."""

LITTER = re.compile(
    r"\.(DS_Store|localized|directory|gitkeep|gitignore|gitattributes|git|keep|nfs[0-9a-f]+|Trash(es|-\d+)?|_.*)"
)
"""Hidden files and folders that systems and tools create; no upload has such a name."""


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """A file of a team."""

    path: Location
    file: str
    """The name of the track and the path in the track's folder, as printable text."""
    team: str
    """As printable text: the name of the team's folder, or part of the file's name if it is in the track's folder."""
    received: datetime
    """UTC: the time at the beginning of the file's name, or else the time of its last change."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that cannot be read as a submission."""

    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}; skipped"


@dataclass(frozen=True, slots=True)
class UploadInProgress:
    """A file or folder whose name begins with a dot: it is read once it is renamed."""

    file: str

    def __str__(self) -> str:
        return f"{self.file}: upload in progress (the name begins with a dot); it is read once it is renamed"


Found = SubmissionFile | SkippedFile | UploadInProgress


def submission_files(track: Track) -> list[Found]:
    """List the files of a track's teams, ``<team>.txt`` or ``<team>/<file>``, in order of their names.

    Hidden files of systems and tools, such as ``.DS_Store``, are ignored.

    Raises
    ------
    ChallengeError
        The folder cannot be read. A missing folder is empty.
    """
    folder = track.submissions_path
    try:
        if not folder.exists():
            return []
        return list(_within(folder, track.name, None))
    except OSError as error:
        raise ChallengeError(
            f"{folder}: cannot be read: {error.strerror}; expected the folder of submissions"
        ) from error


def _within(folder: Location, shown: str, team: str | None) -> Iterator[Found]:
    inside: list[Location] = [*folder.iterdir()]
    for path in sorted(inside, key=lambda path: path.name):
        if LITTER.fullmatch(path.name):
            continue
        file = f"{shown}/{printable(path.name)}"
        if path.name.startswith("."):
            yield UploadInProgress(file)
            continue
        try:
            if path.is_dir() and team is None:
                yield from _within(path, file, printable(path.name))
            elif path.is_dir():
                yield SkippedFile(
                    file, "a folder in the folder of a team; move its files up into the folder of the team"
                )
            elif path.is_file():
                yield SubmissionFile(path, file, team or _team(path.name), _received(path))
            else:
                yield SkippedFile(
                    file, "not a regular file" if path.exists() else "a link to a file that does not exist"
                )
        except OSError as error:
            yield SkippedFile(file, f"cannot be read: {error.strerror}")


def _team(file_name: str) -> str:
    """The team in a file's name: the name without the time and the extension."""
    stem = PurePath(COMPRESSED.sub("", file_name)).stem
    return printable(stem[_time(stem)[1] :].strip() or stem.strip() or file_name)


def _time(name: str) -> tuple[datetime | None, int]:
    """The time at the beginning of a name and the length of that beginning; (None, 0) if the name has no time."""
    match = RECEIVED.match(name)
    if match:
        try:
            return datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC), match.end()
        except ValueError:
            pass
    return None, 0


def _received(path: Location) -> datetime:
    stated, _ = _time(path.name)
    if stated is not None:
        return stated
    changed = path.changed() if isinstance(path, Remote) else path.stat().st_mtime
    if changed is None:
        raise OSError(
            errno.ENODATA,
            "the time of its last change is unknown; begin its name with the time, as in 20110418T100000Z-x.txt",
        )
    return datetime.fromtimestamp(min(max(int(changed), FIRST_SECOND), LAST_SECOND), UTC)
