"""Intake: the submissions in the folder of a track, which is not trusted. What is refused harms nobody else."""

from __future__ import annotations

import io
import os
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from scorer.challenge.settings import Track
from scorer.limits import MB, Limits
from scorer.live.times import content_mark, folder_of
from scorer.organising.submission_files import (
    Found,
    PicksFile,
    SkippedFile,
    SubmissionFile,
    UploadInProgress,
    received,
    submission_files,
    why_skipped,
)
from scorer.paths import AnyFile, chunks_of, digest, digest_of
from scorer.paths.below import FileBelow, RefusedError
from scorer.store.records import ScannedFile, Submission
from scorer.wording import counted, printable_name, quoted

SETTLED = 2.0
"""Seconds without a change after which a file with the same status is taken to have the same content. Times of file
systems are coarse: a file that changes twice within one of their steps keeps its status."""

FEW_MISSING = 3
MISSING_SHARE = 10
"""So many missing submissions, and more than one in so many of a track's, must be confirmed."""

SHOWN = 20
"""How many skipped files in the folder of a team are reported one by one."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What the folder of a track holds."""

    found: tuple[tuple[SubmissionFile, Submission], ...]
    """The submissions, by name."""
    skipped: tuple[SkippedFile | UploadInProgress, ...]
    """What is no submission, or is refused."""
    left_out: tuple[str, ...]
    """Messages about files beyond `files_per_team`."""
    statuses: Mapping[str, ScannedFile]
    """By file: the status that goes with the digest, of settled files."""
    warning: str | None
    """What to do if so many files are missing that the folder may be the wrong one; none is withdrawn then."""
    picks: tuple[PicksFile, ...]
    """The files with the picks of teams."""
    unread: tuple[str, ...] | None
    """The marks of what was listed and is no submission yet, see `FolderLook`; None if nothing was listed, although
    submissions are recorded: the disk may not be mounted."""


def scan(
    track: Track,
    limits: Limits,
    recorded: Mapping[str, str],
    known: Mapping[str, ScannedFile],
    solutions: Collection[str],
    *,
    kept: Collection[str] = (),
    confirmed: bool = False,
) -> Scan:
    """Scan the folder of a track.

    Parameters
    ----------
    track
        The track.
    limits
        `file_mb` and `files_per_team` are checked here, before a file is read.
    recorded
        The files of submissions that are recorded as present, with their digests.
    known
        The status of files and their digests, by an earlier scan. A file with the same status is not read again.
    solutions
        The digests of solutions, which no submission may have.
    kept
        Files of submissions that stay recorded as present if they are missing.
    confirmed
        Whether missing files are withdrawals, however many there are.

    Raises
    ------
    ChallengeError
        The folder cannot be read.
    """
    listed = submission_files(track)
    chosen, unread, left_out = _within_limit(listed, limits, recorded)
    found: list[tuple[SubmissionFile, Submission]] = []
    skipped: list[SkippedFile | UploadInProgress] = []
    statuses: dict[str, ScannedFile] = {}
    for each in chosen:
        if not isinstance(each, SubmissionFile):
            skipped.append(each)
            continue
        try:
            file, status = _read(each, limits, known.get(each.file))
            _check_links(file, status.digest, recorded.get(file.file), solutions)
        except OSError as error:
            skipped.append(SkippedFile(each.file, why_skipped(error)))
            continue
        found.append((file, Submission(track.name, file.team, file.file, status.digest, file.received)))
        if status.inode:
            statuses[file.file] = status
    for each in _first(skipped, limits.files_per_team):
        if isinstance(each, SkippedFile):
            unread.append(each.file)
        elif each.upload is not None:
            with suppress(OSError):
                _, status = _read(each.upload, limits, known.get(each.file))
                unread.append(content_mark(each.file, status.digest))
                statuses |= {each.file: status} if status.inode else {}
    gone = sorted(file for file in recorded if file not in kept and listed.is_missing(file))
    doubtful = not confirmed and _are_too_many(len(gone), len(recorded), len(found))
    return Scan(
        found=tuple(found),
        skipped=tuple(_bounded(skipped)),
        left_out=left_out,
        statuses=statuses,
        warning=_warning(track, gone, len(recorded)) if doubtful else None,
        picks=listed.picks,
        unread=tuple(unread) if listed.found or not recorded or confirmed else None,
    )


def _bounded(skipped: Iterable[SkippedFile | UploadInProgress]) -> Iterator[SkippedFile | UploadInProgress]:
    """The first `SHOWN` of each kind in the folder of each team, and how many more there are."""
    counts: Counter[tuple[str, bool]] = Counter()
    yield from _first(skipped, SHOWN, counts)
    for (folder, in_progress), count in counts.items():
        if count > SHOWN:
            more = count - SHOWN
            yield UploadInProgress(folder, more) if in_progress else SkippedFile(folder, f"and {more:,} more files")


def _first(
    skipped: Iterable[SkippedFile | UploadInProgress], limit: int, counts: Counter[tuple[str, bool]] | None = None
) -> Iterator[SkippedFile | UploadInProgress]:
    """The first of each kind in the folder of each team; `counts` receives how many there are."""
    counts = Counter() if counts is None else counts
    for each in skipped:
        kind = folder_of(each.file), isinstance(each, UploadInProgress)
        counts[kind] += "/" in kind[0]
        if counts[kind] <= limit:
            yield each


def _are_too_many(gone: int, recorded: int, found: int) -> bool:
    return gone > 0 and (found == 0 or (gone >= FEW_MISSING and gone * MISSING_SHARE > recorded))


def _warning(track: Track, gone: Sequence[str], recorded: int) -> str:
    return (
        f"{track.submissions_path}: {len(gone):,} of {counted(recorded, 'submission')} are missing, such as "
        f"{quoted(gone[0])}; none of them is withdrawn; restore them, or confirm with --confirm-withdrawals"
    )


def safe_digest(path: AnyFile, limits: Limits) -> str:
    """SHA-256 of a submission's bytes. Raises RefusedError for a link or a file that is too large, and OSError."""
    if not isinstance(path, FileBelow):
        return digest(path)
    with path.open() as stream:
        status = os.fstat(stream.fileno())
        _check_size(status, limits)
        return _digest(stream, status.st_size)


def _digest(stream: io.FileIO, size: int) -> str:
    """SHA-256 of the bytes of a file of this size. If it grows, one more is read: it may grow without end."""
    return digest_of(chunks_of(stream, size + 1))


def _read(each: SubmissionFile, limits: Limits, known: ScannedFile | None) -> tuple[SubmissionFile, ScannedFile]:
    """A file and its status with the digest; the inode is 0 if the status must not be used again."""
    if each.status is None or not isinstance(each.path, FileBelow):
        return each, ScannedFile(0, 0, 0, 0, 0, safe_digest(each.path, limits))
    _check_size(each.status, limits)
    if known is not None and known == _scanned(each.status, known.digest):
        return each, known
    with each.path.open() as stream:
        before = os.fstat(stream.fileno())
        _check_size(before, limits)
        started = time.time()
        found = _digest(stream, before.st_size)
        after = _scanned(os.fstat(stream.fileno()), found)
    if after != _scanned(before, found):
        raise RefusedError("it changed while it was read; it is read again by the next run")
    if started - max(before.st_mtime, before.st_ctime) < SETTLED:
        after = replace(after, inode=0)
    return replace(each, status=before, received=received(each.path.name, before.st_mtime)), after


def _check_links(file: SubmissionFile, found: str, recorded: str | None, solutions: Collection[str]) -> None:
    """Refuse a hard link, which may be to a file of anybody, and the bytes of a solution, whose link may be gone.

    A file that is recorded with these bytes stays: others can link to it, too.
    """
    if found in solutions:
        raise RefusedError("has the bytes of a solution; submit a file of your own")
    if file.status is not None and file.status.st_nlink > 1 and found != recorded:
        raise RefusedError("a hard link; submit a copy")


def _check_size(status: os.stat_result, limits: Limits) -> None:
    if status.st_size > limits.file_mb * MB:
        size = f"{status.st_size / MB:,.0f} MB"
        raise RefusedError(f"the file has {size}; the limit is {limits.file_mb:,} (limits.file_mb)")


def _scanned(status: os.stat_result, found: str) -> ScannedFile:
    return ScannedFile(
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        device=status.st_dev,
        digest=found,
    )


def _within_limit(
    listed: Iterable[Found], limits: Limits, recorded: Collection[str]
) -> tuple[list[Found], list[str], tuple[str, ...]]:
    """The files without those beyond `files_per_team`; some of these; and a message for each team that has such files.

    Recorded files come first, then those received earlier.
    """
    by_team: dict[str, list[SubmissionFile]] = defaultdict(list)
    for each in listed:
        if isinstance(each, SubmissionFile):
            by_team[each.team].append(each)
    left_out: set[str] = set()
    some, messages = [], []
    for team, files in by_team.items():
        if len(files) <= limits.files_per_team:
            continue
        files.sort(key=lambda each: (each.file not in recorded, each.received, each.file))
        beyond = [each.file for each in files[limits.files_per_team :]]
        left_out.update(beyond)
        some += beyond[: limits.files_per_team]
        messages.append(
            f"{printable_name(files[0].file.partition('/')[0])}/{printable_name(team)}: {len(files):,} files; "
            f"{len(files) - limits.files_per_team:,} of them are left out; the limit is {limits.files_per_team:,} "
            "(limits.files_per_team)"
        )
    return [each for each in listed if each.file not in left_out], some, tuple(messages)
