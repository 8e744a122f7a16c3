"""What the teams sent in: the files under a track's folder, whose they are, and when they were received."""

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
"""How a file's name may begin: the UTC time of its receipt."""

COMPRESSED = re.compile(r"\.(gz|xz|zst)$")

FIRST_SECOND = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""All that a date can tell; some file systems keep times far beyond."""


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """A file that a team sent in."""

    path: Location
    file: str
    """Its path under the challenge's folder of submissions, as printable text."""
    team: str
    """As printable text; from the name of the team's folder, or of the file where it lies in the track's."""
    received: datetime
    """UTC: the time that the name begins with, else the time of the last change."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Something among the submissions that cannot be one."""

    file: str
    reason: str


def submission_files(track: Track) -> list[SubmissionFile | SkippedFile]:
    """All files of a track's teams, by name: ``<team>.txt``, or ``<team>/<file>``; hidden ones are left out.

    Raises ChallengeError where the track's folder cannot be read.
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


def _within(folder: Location, shown: str, team: str | None) -> Iterator[SubmissionFile | SkippedFile]:
    inside: list[Location] = [*folder.iterdir()]
    for path in sorted(inside, key=lambda path: path.name):
        if path.name.startswith("."):
            continue
        file = f"{shown}/{printable(path.name)}"
        try:
            if path.is_dir() and team is None:
                yield from _within(path, file, printable(path.name))
            elif path.is_dir():
                yield SkippedFile(file, "a folder; expected a team's files right in the team's folder")
            elif path.is_file():
                yield SubmissionFile(path, file, team or _team(path.name), _received(path))
            else:
                yield SkippedFile(file, "not a regular file" if path.exists() else "a link to a file that is not there")
        except OSError as error:
            yield SkippedFile(file, f"cannot be read: {error.strerror}")


def _team(file_name: str) -> str:
    """The team whose name a file carries: without the time in front, and the ending."""
    stem = PurePath(COMPRESSED.sub("", file_name)).stem
    return printable(stem[_time(stem)[1] :].strip() or stem.strip() or file_name)


def _time(name: str) -> tuple[datetime | None, int]:
    """The time that a name begins with, and how long that beginning is; (None, 0) where there is none."""
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
            "the store does not know when it was changed; begin its name with the time, as in 20110418T100000Z-x.txt",
        )
    return datetime.fromtimestamp(min(max(int(changed), FIRST_SECOND), LAST_SECOND), UTC)
