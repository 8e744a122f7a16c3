"""Collecting: files that teams put into a folder, also one behind a URL, are accepted without a server."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError
from scorer.limits import MB
from scorer.live.following import Followed
from scorer.organising.deliveries import RESERVE, prepare_incoming, submissions_folder
from scorer.organising.submission_files import SkippedFile, SubmissionFile, UploadInProgress, submission_files
from scorer.organising.tokens import folder_called
from scorer.paths import Remote, chunks_of, is_url
from scorer.paths.below import FileBelow
from scorer.paths.writing import PART, LockedError, locked
from scorer.service.accepting import Accepted, Delivery, accept
from scorer.service.refusals import RefusedError, too_large
from scorer.store.store import Store
from scorer.wording import printable, printable_name, utc_moment

ANSWERS = RECEIPT, ERRORS = ".receipt.txt", ".errors.txt"
"""End the names of the answers next to a file."""

LONGEST_NAME = 240
"""The bytes that the name of a file may have: that of its answer is longer."""

STATE = ".collected"
"""Ends the name of the file, next to the database, with the last answer to each file. It may be deleted: then all files
are read again, and those that were accepted get the same receipts."""

WAIT = 30.0
"""Seconds to wait for another process that collects."""

_DELIVERIES = uuid.UUID("5b1c29a4-7d0f-4c3e-9a61-2f8e0d4b7c15")
"""The name space of the ids of deliveries."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What became of a file."""

    file: str
    """The track, the team and the name, as messages show them."""
    outcome: Literal["received", "known", "refused", "failed", "skipped", "in progress"]
    text: str = ""


def collect(store: Store, challenge: Challenge, track: Track, source: str) -> Iterator[Collected]:
    """Accept the new files in a folder that has a folder for each team, and write an answer next to each.

    `source` is a path or a URL. The answer is a receipt, or why the file is refused. If the process is killed, the next
    call completes its work. Raises ChallengeError and StoreError.
    """
    folder = _source(source, track)
    try:
        if not folder.is_dir():
            raise ChallengeError(f"{folder}: there is no such folder, or it is empty; it needs a folder for each team")
        incoming = prepare_incoming(store, track)
        path = store.beside(challenge.root, STATE)
        with locked(path, WAIT), path.open("a", encoding="ascii") as state:
            followed = store.read(lambda view: Followed.of(view, challenge.name))
            yield from _Look(store, challenge, track, followed, incoming, _answered(path), state).collected(folder)
    except LockedError as error:
        raise ChallengeError(str(error)) from error
    except OSError as error:
        raise ChallengeError(f"{error.filename or folder}: {error.strerror}") from error


def _source(source: str, track: Track) -> Path | Remote:
    """The folder that a path or a URL names. A local one is a path, so that no link in it is followed."""
    text = re.sub("^(file|local)://", "", source, flags=re.IGNORECASE)
    if is_url(text):
        return Remote(text)
    folder, submissions = Path(text).resolve(), submissions_folder(track).resolve()
    if folder.is_relative_to(submissions) or submissions.is_relative_to(folder):
        raise ChallengeError(f"{folder}: overlaps the folder of the submissions; collect from another folder")
    return folder


def _answered(path: Path) -> dict[str, list[str]]:
    """The last answer to each file. A line that a killed process did not complete is left out."""
    answered = {}
    for line in path.read_text(encoding="ascii", errors="replace").splitlines():
        with suppress(ValueError, TypeError):
            file, *answer = json.loads(line)
            answered[str(file)] = answer
    return answered


@dataclass(frozen=True, slots=True)
class _Look:
    """A look into the folder."""

    store: Store
    challenge: Challenge
    track: Track
    followed: Followed
    incoming: Path
    answered: dict[str, list[str]]
    state: IO[str]

    def collected(self, folder: Path | Remote) -> Iterator[Collected]:
        """Accept the new files, in the order of their times of receipt."""
        source = folder.url if isinstance(folder, Remote) else str(folder)
        listing = submission_files(self.track.model_copy(update={"submissions": source}))
        found: list[tuple[datetime | None, str, str]] = []
        for file in listing:
            shown = printable_name(file.file)
            if isinstance(file, UploadInProgress):
                yield Collected(shown, "in progress")
            elif reason := _why_skipped(file):
                yield self._skipped(file.file, reason)
            elif isinstance(file, SubmissionFile) and not file.file.endswith(ANSWERS):
                try:
                    received = file.path.received() if isinstance(file.path, Remote) else None
                    found.append((received, file.file, _path(file).version()))
                except OSError as error:
                    yield Collected(shown, "failed", _failure(error))
        for picks in listing.picks:
            yield self._skipped(picks.file, "picks are not collected; record them with `scorer pick`")
        now = self.store.now()  # no version is later
        timed = [(min(received or now, now), name, version) for received, name, version in found]
        for received, name, version in sorted(timed):
            try:
                yield self._answer(replace(listing.files[name], received=received), version, listing.files)
            except OSError as error:
                yield Collected(printable_name(name), "failed", _failure(error))

    def _skipped(self, file: str, reason: str) -> Collected:
        """A file that gets no answer; the reason is given once."""
        is_known = self.answered.get(file) == [reason]
        if not is_known:
            self._note(file, reason)
        return Collected(printable_name(file), "known" if is_known else "skipped", f"{reason}; skipped")

    def _note(self, *line: str) -> None:
        """Remember an answer. The line end comes first, because the last line may not be complete."""
        self.state.write(f"\n{json.dumps(line)}")
        self.state.flush()

    def _answer(self, file: SubmissionFile, version: str, listed: Collection[str]) -> Collected:
        """Accept or refuse a file, and write the answer, unless both were done before. Raises OSError."""
        path, shown = _path(file), printable_name(file.file)
        key, last = str(path), self.answered.get(str(path), [])
        if version and any(last == [version, answer] and file.file + answer in listed for answer in ANSWERS):
            return Collected(shown, "known")
        try:
            accepted = self._accepted(file, version)
        except RefusedError as error:
            path.put_next(ERRORS, _refusal(shown, error).encode("utf-8"))
            self._note(key, version, ERRORS)
            return Collected(shown, "refused", f"refused: {error.text}")
        path.put_next(RECEIPT, accepted.receipt.encode("ascii"))
        if file.file + ERRORS in listed:
            path.put_next(ERRORS, None)
        self._note(key, version, RECEIPT)
        received = datetime.fromisoformat(accepted.event.body["received"])
        text = f"received as entry {accepted.event.index} at {utc_moment(received)}"
        return Collected(shown, "received" if accepted.is_new else "known", text)

    def _accepted(self, file: SubmissionFile, version: str) -> Accepted:
        """Copy a file to this machine, and accept it. Raises RefusedError, StoreError and OSError."""
        name, part = _path(file).name, self.incoming / f"{secrets.token_hex(16)}{PART}"
        if printable(name) != name:
            raise RefusedError("invalid", "the name has characters that do not show; give the file another name")
        known = {*self.followed.teams, *(token.team for token in self.followed.tokens.values())}
        try:
            team = folder_called(printable_name(file.team), known)
            sha256, size = _copied(file, version, part, self.challenge.limits.file_mb * MB)
            # The place of the folder is no part of the id: it may move, and a file in it is the same entry.
            delivery = str(uuid.uuid5(_DELIVERIES, f"{name}\n{sha256}"))
            delivered = Delivery(delivery, self.track.name, team, part, sha256, size, file.received, name)
            return accept(self.store, self.challenge, self.followed, delivered)
        except ChallengeError as error:  # no folder of a team can have this name
            raise RefusedError("invalid", str(error)) from None
        finally:
            part.unlink(missing_ok=True)


def _path(file: SubmissionFile) -> FileBelow | Remote:
    if not isinstance(file.path, FileBelow | Remote):
        raise TypeError(file.path)  # no listing has another one
    return file.path


def _why_skipped(file: SubmissionFile | SkippedFile) -> str:
    """Why a file gets no answer; empty if it gets one, or is one."""
    if isinstance(file, SkippedFile):
        return file.reason
    if file.file.count("/") == 1:
        return "is in no folder of a team; move it into one"
    if file.status is not None and file.status.st_nlink > 1:
        return "a hard link; submit a copy"
    if len(_path(file).name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"the name is too long; give it at most {LONGEST_NAME} bytes"
    return ""


def _copied(file: SubmissionFile, version: str, part: Path, most: int) -> tuple[str, int]:
    """Copy a file; returns its SHA-256 and its size. Raises RefusedError, and OSError, also if it changed meanwhile."""
    path, sha256, size = _path(file), hashlib.sha256(), 0
    stated = path.stat().st_size
    if stated <= most:
        if shutil.disk_usage(part.parent).free < stated + RESERVE:
            raise OSError(errno.ENOSPC, "the disk is full")
        with path.open() as source, part.open("xb") as copy:
            for chunk in chunks_of(source, most + 1):
                size += len(chunk)
                sha256.update(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        if version != (path.fresh() if isinstance(path, Remote) else path).version():
            raise OSError(errno.EAGAIN, "it changed while it was read")
    if max(stated, size) > most:
        raise too_large(most)
    if not size:
        raise RefusedError("invalid", "the file is empty; hand in one with lists")
    return sha256.hexdigest(), size


def _failure(error: OSError) -> str:
    return f"not complete: {error.strerror or error}; the next call tries it again"


def _refusal(shown: str, refused: RefusedError) -> str:
    """The text of the answer to a file that is refused."""
    resets = refused.facts.get("resets_at")
    return (
        f"{shown}: refused: {refused.text}\n"
        + (f"The quota begins again at {resets}.\n" if resets else "")
        + "The file is no entry and takes no place in a quota. It is not read again as it is: upload it again, "
        "changed if the reason is in the file, and otherwise when the reason is gone.\n"
    )
