"""Accepting: the one way by which a delivered file becomes an entry, from the service and from a folder of `scorer
collect`; refusals, one tagged reason for each request that is not carried out; and how many requests a sender may make.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, Literal

from scorer.board.site.templates import Held
from scorer.errors import ChallengeError
from scorer.files import FileBelow, Remote, chunks_of, digest, is_regular, is_url
from scorer.files.writing import PART, LockedError, create_private, locked
from scorer.limits import MB, Limits
from scorer.lists.detection import why_unreadable
from scorer.live.entries import Arrival, Entries, Followed, entries
from scorer.live.entry import SERVICE, arrival, is_baseline, key_of
from scorer.live.now import Now
from scorer.organising.files import (
    READY,
    RESERVE,
    Listing,
    SkippedFile,
    SubmissionFile,
    UploadInProgress,
    final_path,
    move,
    of_file,
    prepare_incoming,
    submission_files,
    submissions_folder,
)
from scorer.organising.teams import folder_called
from scorer.record.events import ArrivalBody
from scorer.rules.metadata import Value, body
from scorer.rules.phases import Phases, closing
from scorer.rules.quota import Claim, left_in_words, next_reset
from scorer.settings.metadata import MetadataError, Stated, checked, of_head
from scorer.settings.tracks import Challenge, Track
from scorer.store.documents import plain_name
from scorer.store.events import Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, iso_time, printable, printable_name, utc_moment

STATUS: Mapping[str, HTTPStatus] = {
    "unauthorised": HTTPStatus.UNAUTHORIZED,
    **dict.fromkeys(("cross-site", "closed", "excluded", "of-a-solution", "too-late"), HTTPStatus.FORBIDDEN),
    "not-found": HTTPStatus.NOT_FOUND,
    "invalid": HTTPStatus.BAD_REQUEST,
    "too-slow": HTTPStatus.REQUEST_TIMEOUT,
    "conflict": HTTPStatus.CONFLICT,
    "too-large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unsupported": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    **dict.fromkeys(("quota", "too-many-files", "too-fast"), HTTPStatus.TOO_MANY_REQUESTS),
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "disk-full": HTTPStatus.INSUFFICIENT_STORAGE,
}
"""The codes of all reasons, with the status of the answer to a request that is refused for it."""


class RefusedError(Exception):
    """A request is not carried out, and leaves nothing."""

    def __init__(self, code: str, text: str, **facts: Any) -> None:
        """`code` is a key of `STATUS`, and `facts` are further members of the answer; None is left out."""
        super().__init__(text)
        self.code, self.status = code, STATUS[code]
        self.text = text
        self.facts = {name: value for name, value in facts.items() if value is not None}


def too_large(limit: int) -> RefusedError:
    """The refusal of a file that has more bytes than the limit."""
    return RefusedError("too-large", f"the file is larger than {limit:,} bytes (limits.file_mb)", limit=limit)


_SENDERS = 10_000
"""So many senders are remembered; of more, those that were silent the longest are forgotten."""


@dataclass(slots=True)
class Rates:
    """A bucket of requests for each sender: it is full at first, and fills again with time."""

    per_second: float = 5.0
    burst: float = 100.0
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """Requests left, and when that was so, by sender."""

    def take(self, sender: str, cost: float = 1.0) -> None:
        """Count a request. Raises RefusedError if the sender has made too many."""
        now = self.clock()
        left, since = self._left.pop(sender, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.per_second)
        is_allowed = left >= cost
        self._left[sender] = (left - cost if is_allowed else left, now)
        while len(self._left) > _SENDERS:
            self._left.popitem(last=False)
        if not is_allowed:
            seconds = max(1, round((cost - left) / self.per_second + 0.5))
            raise RefusedError("too-fast", "too many requests; try again later", retry_after=seconds)


HELD_FOR = timedelta(hours=1)
"""How long a checked file is kept for its page."""

HELD_AT_MOST = 4
"""So many checked files of a token are kept, one for each page that is open; a further one replaces the oldest."""


@dataclass(slots=True)
class HeldFiles:
    """The checked files, each of one page: it has the id in its address, the track, and the token of its session."""

    _by_id: dict[str, Held] = field(default_factory=dict)

    def of(self, token: str, track: str, name: str, now: datetime) -> Held | None:
        """The file with this id; None if it is that of another token or track, or is not here any more."""
        for each in list(self._by_id.values()):
            if now - each.at > HELD_FOR or not each.path.exists():
                self.drop(each)
        held = self._by_id.get(name)
        return held if held is not None and (held.token, held.track) == (token, track) else None

    def keep(self, held: Held) -> None:
        self._by_id[held.id] = held
        for oldest in [each for each in self._by_id.values() if each.token == held.token][:-HELD_AT_MOST]:
            self.drop(oldest)

    def take(self, held: Held) -> None:
        """Forget a file, which is handed in now."""
        self._by_id.pop(held.id, None)

    def drop(self, held: Held) -> None:
        self.take(held)
        held.path.unlink(missing_ok=True)


_NAME = "{received:%Y%m%dT%H%M%SZ}-{index:06}"
"""The beginning of the name of an accepted file: its time, and the index of its event, by which files of the same
second are in order. The name that it had for its team follows, as far as it is plain."""


@dataclass(frozen=True, slots=True)
class Upload:
    """The bytes of a file that are completely received, on the disk."""

    path: Path
    digest: str
    """SHA-256 in hexadecimal."""
    size: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that a team hands in, completely received."""

    id: str
    """Chosen by the sender: the same delivery again has the same id. Unique for a team and a track."""
    track: str
    team: str
    """The name of its folder."""
    upload: Upload
    """Its bytes, in the folder of incoming files. What is accepted leaves it."""
    received: datetime
    """When its last byte was received, by a clock that the sender cannot set."""
    name: str = ""
    """The name that the file has for its team; any text."""
    token: str = ""
    """The SHA-256 of the token that it is handed in with; empty: the folder says whose it is."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Its metadata, as `examined` returns them."""


def examined(track: Track, limits: Limits, upload: Upload, stated: Stated) -> dict[str, Value]:
    """The metadata of a file, stated or at its head. Its bytes are parsed here, where no other sender waits for it.

    Raises RefusedError, also for a file that cannot be read.
    """
    if reason := why_unreadable(upload.path, track.submission_format, limits):
        raise RefusedError("invalid", f"the file cannot be read: {reason}")
    with refusing():
        head = of_head(upload.path, limits) if track.metadata else {}
        return checked(track.metadata, {**head, **stated})


def accept(store: Store, challenge: Challenge, followed: Followed, delivery: Delivery) -> tuple[Arrival, bool]:
    """Record a delivery and give its file its final name, or refuse it; returns its arrival, and whether it is new.

    All rules are checked in the transaction that records it, while no other process can write. Then the event is on the
    disk, and the file gets its name; if the process is killed in between, the next run, start or repetition completes
    it. Meanwhile the file has a name by which nothing else takes it away. A delivery that was accepted before gives the
    same arrival again.

    Raises RefusedError, StoreError if the database fails, and OSError if the file cannot get its name.
    """
    with refusing("not-found"):
        track = challenge.track(delivery.track)
    path, key = delivery.upload.path, followed.delivery(delivery.track, delivery.team, delivery.id)
    solutions = solution_digests(store, challenge)

    def decide(view: Snapshot) -> Added:
        followed.follow(view)
        if delivery.token and not followed.tokens[delivery.token].is_valid(view.now):
            raise RefusedError("unauthorised", "the token is not valid any more; ask the organisers for another one")
        known = followed.deliveries.get(key)
        if known is not None:
            if known[1].digest != delivery.upload.digest:
                raise RefusedError("conflict", "a file with other bytes was handed in with this id; use a new id")
            return []
        received = delivery.received.replace(microsecond=0)
        _check(view, track, challenge, followed, delivery, received, solutions)
        name, sent = _NAME.format(received=received, index=view.next_index), plain_name(delivery.name)
        file = f"{track.name}/{delivery.team}/{name}{f'-{sent}' if sent else '.txt'}"
        submission = Submission(track.name, delivery.team, file, delivery.upload.digest, received)
        arrived = arrival(submission, SERVICE, key[-1]) | Now.of(view, track).declared.naming
        stated = body(track.metadata, key_of(submission), delivery.values, SERVICE)
        added: Added = [(track.name, "arrival", arrived), (track.name, "metadata", stated)]
        return added if track.metadata else added[:1]

    ready = path.with_name(f"{secrets.token_hex(16)}{READY}")
    try:
        os.utime(path)
        path.replace(ready)
    except FileNotFoundError:
        raise RefusedError("unavailable", "the file is not here any more; send it again", retry_after=1) from None
    try:
        is_new = store.record(decide)
    except RefusedError:
        with suppress(FileNotFoundError):  # a run has put the same bytes in place for another entry
            ready.replace(path)
        raise
    store.read(followed.follow)
    event, arrived = followed.deliveries[key]
    if any(state.index == event.index and state.present for state in followed.submissions(track.name, delivery.team)):
        _place(track, arrived, ready)
    ready.unlink(missing_ok=True)
    return (event, arrived), is_new


def _place(track: Track, arrived: ArrivalBody, received: Path) -> None:
    """Give the file of an accepted delivery its final name, unless it has it."""
    path = final_path(track, arrived.file)
    if path.exists():
        return
    try:
        move(received, path)
    except FileNotFoundError:
        if not path.exists():  # otherwise a run has just completed the delivery
            raise


@contextmanager
def refusing(code: str = "invalid") -> Iterator[None]:
    """Raise RefusedError for invalid metadata; and, with this code, for what the challenge does not allow."""
    try:
        yield
    except MetadataError as error:
        fields = {name: text for name, text in error.fields.items() if name}
        raise RefusedError("invalid", error.reason, fields=fields or None) from None
    except ChallengeError as error:
        raise RefusedError(code, str(error)) from None


def solution_digests(store: Store, challenge: Challenge) -> frozenset[str]:
    """The digests of all solutions, now and before: no submission may have the bytes of one."""
    digests = set(store.archive(challenge.root).digests())
    for path in (path for track in challenge.tracks for path in track.solution_paths.values()):
        if isinstance(path, Path) and is_regular(path):
            status = path.stat()
            digests.add(_digest(path, status.st_ino, status.st_size, status.st_mtime_ns))
    return frozenset(digests)


@lru_cache(maxsize=64)
def _digest(path: Path, *_status: int) -> str:
    """The digest of a file, computed once for each status that it has."""
    return digest(path)


def _check(
    view: Snapshot,
    track: Track,
    challenge: Challenge,
    followed: Followed,
    delivery: Delivery,
    received: datetime,
    solutions: Collection[str],
) -> None:
    """Refuse what a run would refuse or not admit. Raises RefusedError."""
    team = delivery.team
    if delivery.upload.size > challenge.limits.file_mb * MB:
        raise too_large(challenge.limits.file_mb * MB)
    if delivery.upload.digest in solutions:
        raise RefusedError("of-a-solution", "the file has the bytes of a solution; hand in a file of your own")
    files = sum(state.present for state in followed.submissions(track.name, team))
    if files >= challenge.limits.files_per_team:
        raise RefusedError(
            "too-many-files",
            f"the team has {counted(files, 'file')} in the track, as many as it may have; withdraw some",
            limit=challenge.limits.files_per_team,
            used=files,
        )
    now = check_open(view, track, followed, team, received)
    if not is_baseline(team, now.rules):
        _check_quota(now, now.merges.members(team), received, delivery.upload.digest)


def check_open(view: Snapshot, track: Track, followed: Followed, team: str, moment: datetime) -> Now:
    """Refuse a delivery while no phase receives files and no late board lists it, and one of an excluded team.

    Returns the track now, with only the submissions of the team. Raises RefusedError.
    """
    if (settings := followed.settings(team)).is_excluded:
        raise RefusedError("excluded", f"the team is {settings.status}: {settings.reason}")
    now, received = followed.now(view, track, team), moment.replace(microsecond=0)
    is_listed_late = now.rules.late_board and now.phases.is_over(received)
    if not (is_listed_late or is_baseline(team, now.rules)):
        _check_phase(now.phases, received)
    return now


def _check_phase(phases: Phases, received: datetime) -> None:
    phase, place = phases.place(received)
    if place == "ok":
        return
    upcoming, last = phases.upcoming(received), next((one for one in phases.all if one.name == phase), None)
    ended = f"; the phase {last.name} closed at {closing(last, utc_moment)}" if last else ""
    opens = f"; the phase {upcoming.name} opens at {utc_moment(upcoming.start)}" if upcoming else ""
    raise RefusedError(
        "closed",
        f"no phase receives files now{ended}{opens}; the file was received at {utc_moment(received)}",
        received=iso_time(received),
        closed_at=iso_time(last.closes) if last else None,
        opens_at=iso_time(upcoming.start) if upcoming else None,
    )


def _check_quota(now: Now, members: Collection[str], received: datetime, digest: str) -> None:
    """Accept only what is certainly within the quota: an entry without an outcome counts in every limit."""
    if not now.rules.quota.limits_anything:
        return
    listed = entries(now)
    quota = replace(listed.quota, claims=(*listed.quota.claims, *_that_may_cost(listed, digest)))
    left = quota.left(members, received)
    full = [limit for limit in left if not limit.left]
    if not full:
        return
    phase = quota.phases.current_or_next(received)
    reset = next_reset(left)
    raise RefusedError(
        "quota",
        f"the quota is used up: {left_in_words(full, phase.name if phase else None)}{quota.open_in_words(members)}",
        limit=full[0].limit,
        used=full[0].used,
        what=full[0].what,
        resets_at=iso_time(reset) if reset else None,
    )


def _that_may_cost(listed: Entries, digest: str) -> list[Claim]:
    """The entries withdrawn without an outcome, which get one if a file with the same bytes is scored."""
    waiting = {digest, *(state.submission.digest for state in listed.stored if state.is_open)}
    return [
        Claim(
            state.index,
            state.submission.team,
            state.submission.received,
            listed.quota.phases.place(state.submission.received)[0],
            "open",
        )
        for state in listed.stored
        if not (state.present or state.unscored) and state.result is None and state.submission.digest in waiting
    ]


ANSWERS = RECEIPT, ERRORS = ".receipt.txt", ".errors.txt"
"""End the names of the answers next to a file."""

_LONGEST_NAME = 240
"""The bytes that the name of a file may have: that of its answer is longer."""

_STATE = ".collected"
"""Ends the name of the file, next to the database, with the last answer to each file. It may be deleted: then all files
are read again, and those that were accepted get the same receipts."""

_WAIT = 30.0
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
        path = store.beside(challenge.root, _STATE)
        create_private(path)
        with locked(path, _WAIT), path.open("a", encoding="ascii") as state:
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
        track = self.store.read(lambda view: Now.of(view, self.track).declared)
        listing = submission_files(track.model_copy(update={"submissions": source}))
        found: list[tuple[datetime | None, str, str]] = []
        for file in listing:
            shown = printable_name(file.file)
            if isinstance(file, UploadInProgress):
                yield Collected(shown, "in progress")
            elif reason := _why_skipped(file):  # which is given once
                if is_new := self.answered.get(file.file) != [reason]:
                    self._note(file.file, reason)
                yield Collected(shown, "skipped" if is_new else "known", f"{reason}; skipped")
            elif isinstance(file, SubmissionFile) and not file.file.endswith(ANSWERS):
                try:
                    received = file.path.received() if isinstance(file.path, Remote) else None
                    found.append((received, file.file, _path(file).version()))
                except OSError as error:
                    yield Collected(shown, "failed", _failure(error))
        now = self.store.now()  # no version is later
        timed = [(min(received or now, now), name, version) for received, name, version in found]
        for received, name, version in sorted(timed):
            try:
                yield self._answer(replace(listing.files[name], received=received), version, listing)
            except OSError as error:
                yield Collected(printable_name(name), "failed", _failure(error))

    def _note(self, *line: str) -> None:
        """Remember an answer. The line end comes first, because the last line may not be complete."""
        self.state.write(f"\n{json.dumps(line)}")
        self.state.flush()

    def _answer(self, file: SubmissionFile, version: str, listing: Listing) -> Collected:
        """Accept or refuse a file, and write the answer, unless both were done before. Raises OSError."""
        path, shown = _path(file), printable_name(file.file)
        listed = listing.files
        key, last = str(path), self.answered.get(str(path), [])
        if version and any(last == [version, answer] and file.file + answer in listed for answer in ANSWERS):
            return Collected(shown, "known")
        try:
            (event, arrived), is_new = self._accepted(file, version, listing)
        except RefusedError as error:
            path.put_next(ERRORS, _refusal(shown, error).encode("utf-8"))
            self._note(key, version, ERRORS)
            return Collected(shown, "refused", f"refused: {error.text}")
        path.put_next(RECEIPT, self.followed.issuer.receipt(event).encode("ascii"))
        if file.file + ERRORS in listed:
            path.put_next(ERRORS, None)
        self._note(key, version, RECEIPT)
        text = f"received as entry {event.index} at {utc_moment(arrived.received)}"
        return Collected(shown, "received" if is_new else "known", text)

    def _accepted(self, file: SubmissionFile, version: str, listing: Listing) -> tuple[Arrival, bool]:
        """Copy a file to this machine, and accept it. Raises RefusedError, StoreError and OSError."""
        name, part = _path(file).name, self.incoming / f"{secrets.token_hex(16)}{PART}"
        if printable(name) != name:
            raise RefusedError("invalid", "the name has characters that do not show; give the file another name")
        known = {*self.followed.teams, *(token.team for token in self.followed.tokens.values())}
        try:
            with refusing():
                team = folder_called(printable_name(file.team), known)
                upload = _copied(file, version, part, self.challenge.limits.file_mb * MB)
                # The place of the folder is no part of the id: it may move, and a file in it is the same entry.
                delivery = str(uuid.uuid5(_DELIVERIES, f"{name}\n{upload.digest}"))
                values = examined(self.track, self.challenge.limits, upload, of_file(file, listing))
                delivered = Delivery(delivery, self.track.name, team, upload, file.received, name, values=values)
                return accept(self.store, self.challenge, self.followed, delivered)
        finally:
            part.unlink(missing_ok=True)


def _path(file: SubmissionFile) -> FileBelow | Remote:
    if not isinstance(file.path, FileBelow | Remote):
        raise TypeError(file.path)  # no listing has another one
    return file.path


def _why_skipped(file: SubmissionFile | SkippedFile) -> str:
    """Why a file gets no answer; empty if it gets one, or is one."""
    if isinstance(file, SkippedFile):
        return "" if file.metadata else file.reason
    if file.file.count("/") == 1:
        return "is in no folder of a team; move it into one"
    if file.status is not None and file.status.st_nlink > 1:
        return "a hard link; submit a copy"
    if len(_path(file).name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        return f"the name is too long; give it at most {_LONGEST_NAME} bytes"
    return ""


def _copied(file: SubmissionFile, version: str, part: Path, most: int) -> Upload:
    """Copy a file. Raises RefusedError, and OSError, also if it changed meanwhile."""
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
    return Upload(part, sha256.hexdigest(), size)


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
