"""Accepting: the one way by which a delivered file becomes an entry."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError
from scorer.formats.detection import why_unreadable
from scorer.limits import MB
from scorer.live.entries import Entries, entries
from scorer.live.following import Followed
from scorer.live.presence import SERVICE, arrival, is_baseline
from scorer.live.quotas import Claim, left_in_words, next_reset
from scorer.live.receipts import plain_name
from scorer.live.state import in_force, track_state
from scorer.live.teams import Team
from scorer.organising.deliveries import READY, final_path, move
from scorer.organising.rules import scored_by
from scorer.paths import digest, is_regular
from scorer.service.refusals import RefusedError, too_large
from scorer.store.events import Event
from scorer.store.records import Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, iso_time, utc_moment

NAME = "{received:%Y%m%dT%H%M%SZ}-{index:06}"
"""The beginning of the name of an accepted file: its time, and the index of its event, by which files of the same
second are in order. The name that it had for its team follows, as far as it is plain."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that a team hands in, completely received."""

    id: str
    """Chosen by the sender: the same delivery again has the same id. Unique for a team and a track."""
    track: str
    team: str
    """The name of its folder."""
    path: Path
    """Where its bytes are, in the folder of incoming files. What is accepted leaves it."""
    digest: str
    """SHA-256 of the bytes, in hexadecimal."""
    size: int
    received: datetime
    """When its last byte was received, by a clock that the sender cannot set."""
    name: str = ""
    """The name that the file has for its team; any text."""
    token: str = ""
    """The SHA-256 of the token that it is handed in with; empty: the folder says whose it is."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A delivery that is in the record. It was received; that does not say whether it counts."""

    event: Event
    """Its arrival."""
    receipt: str
    is_new: bool
    """Whether it was not accepted before."""


def accept(store: Store, challenge: Challenge, followed: Followed, delivery: Delivery) -> Accepted:
    """Record a delivery and give its file its final name, or refuse it.

    Everything is checked and recorded in one transaction, while no other process can write. Then the event is on the
    disk, and the file gets its name; if the process is killed in between, the next run, start or repetition completes
    it. Meanwhile the file has a name by which nothing else takes it away. A delivery that was accepted before gives the
    same receipt again.

    Raises RefusedError, StoreError if the database fails, and OSError if the file cannot get its name.
    """
    ready = delivery.path.with_name(f"{secrets.token_hex(16)}{READY}")
    try:
        os.utime(delivery.path)
        delivery.path.replace(ready)
    except FileNotFoundError:
        raise RefusedError("unavailable", "the file is not here any more; send it again", retry_after=1) from None
    try:
        return _accept(store, challenge, followed, delivery, ready)
    except RefusedError:
        with suppress(FileNotFoundError):  # a run has put the same bytes in place for another entry
            ready.replace(delivery.path)
        raise


def _accept(store: Store, challenge: Challenge, followed: Followed, delivery: Delivery, ready: Path) -> Accepted:
    track = track_called(challenge, delivery.track)
    if reason := why_unreadable(ready, track.submission_format, challenge.limits):
        raise RefusedError("invalid", f"the file cannot be read: {reason}")
    key = delivery.track, delivery.team, delivery.id
    solutions = solution_digests(store, challenge)
    is_new = True

    def decide(view: Snapshot) -> Added:
        nonlocal is_new
        followed.follow(view)
        if delivery.token and not followed.tokens[delivery.token].is_valid(view.now):
            raise RefusedError("unauthorised", "the token is not valid any more; ask the organisers for another one")
        known = followed.deliveries.get(key)
        is_new = known is None
        if known is not None:
            if known.body["digest"] != delivery.digest:
                raise RefusedError("conflict", "a file with other bytes was handed in with this id; use a new id")
            return []
        received = delivery.received.replace(microsecond=0)
        _check(view, track, challenge, followed, delivery, received, solutions)
        name, sent = NAME.format(received=received, index=len(view.all_events) + 1), plain_name(delivery.name)
        file = f"{track.name}/{delivery.team}/{name}{f'-{sent}' if sent else '.txt'}"
        submission = Submission(track.name, delivery.team, file, delivery.digest, received)
        return [("arrival", arrival(submission, SERVICE, delivery.id))]

    store.record(track.name, decide)
    store.read(followed.follow)
    event = followed.deliveries[key]
    if any(state.index == event.index and state.present for state in followed.submissions(track.name, delivery.team)):
        _place(track, event, ready)
    ready.unlink(missing_ok=True)
    return Accepted(event, followed.issuer.receipt(event), is_new)


def _place(track: Track, event: Event, received: Path) -> None:
    """Give the file of an accepted delivery its final name, unless it has it."""
    path = final_path(track, event.body["file"])
    if path.exists():
        return
    try:
        move(received, path)
    except FileNotFoundError:
        if not path.exists():  # otherwise a run has just completed the delivery
            raise


def track_called(challenge: Challenge, name: str) -> Track:
    """The track with this name. Raises RefusedError."""
    try:
        return challenge.track(name)
    except ChallengeError as error:
        raise RefusedError("not-found", str(error)) from None


def solution_digests(store: Store, challenge: Challenge) -> frozenset[str]:
    """The digests of all solutions, now and before: no submission may have the bytes of one."""
    found = set(store.archive(challenge.root).digests())
    for track in challenge.tracks:
        if isinstance(track.solution_path, Path) and is_regular(track.solution_path):
            status = track.solution_path.stat()
            found.add(_digest(track.solution_path, status.st_ino, status.st_size, status.st_mtime_ns))
    return frozenset(found)


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
    if delivery.size > challenge.limits.file_mb * MB:
        raise too_large(challenge.limits.file_mb * MB)
    if delivery.digest in solutions:
        raise RefusedError("of-a-solution", "the file has the bytes of a solution; hand in a file of your own")
    files = sum(state.present for state in followed.submissions(track.name, team))
    if files >= challenge.limits.files_per_team:
        raise RefusedError(
            "too-many-files",
            f"the team has {counted(files, 'file')} in the track, as many as it may have; withdraw some",
            limit=challenge.limits.files_per_team,
            used=files,
        )
    own = check_open(view, track, followed, team, received)
    if not is_baseline(team, in_force(own, track)):
        _check_quota(own, track, followed.members(track.name, team), received, delivery.digest)


def check_open(view: Snapshot, track: Track, followed: Followed, team: str, now: datetime) -> Snapshot:
    """Refuse a delivery while no phase receives files, and one of an excluded team.

    Returns the snapshot with only the submissions of the team. Raises RefusedError.
    """
    check_team(followed.settings(team))
    own = followed.own(view, track.name, team)
    if not is_baseline(team, in_force(own, track)):
        _check_phase(own, track, now.replace(microsecond=0))
    return own


def check_team(team: Team) -> None:
    """Refuse a team that the organiser has excluded. Raises RefusedError."""
    if team.is_excluded:
        raise RefusedError("excluded", f"the team is {team.status}: {team.reason}")


def _check_phase(view: Snapshot, track: Track, received: datetime) -> None:
    phases = track_state(view, track).phases
    phase, place = phases.place(received)
    if place == "ok":
        return
    upcoming, last = phases.upcoming(received), next((one for one in phases.all if one.name == phase), None)
    ended = f"; the phase {last.name} closed at {utc_moment(last.closes)}" if last else ""
    opens = f"; the phase {upcoming.name} opens at {utc_moment(upcoming.start)}" if upcoming else ""
    raise RefusedError(
        "closed",
        f"no phase receives files now{ended}{opens}; the file was received at {utc_moment(received)}",
        received=iso_time(received),
        closed_at=iso_time(last.closes) if last else None,
        opens_at=iso_time(upcoming.start) if upcoming else None,
    )


def _check_quota(view: Snapshot, track: Track, members: Collection[str], received: datetime, digest: str) -> None:
    """Accept only what is certainly within the quota: an entry without an outcome counts in every limit."""
    rules = in_force(view, track)
    if not rules.quota.limits_anything:
        return
    found = entries(view, *scored_by(view, track), measures=())
    quota = replace(found.quota, claims=(*found.quota.claims, *_that_may_cost(found, digest)))
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


def _that_may_cost(found: Entries, digest: str) -> list[Claim]:
    """The entries that were withdrawn without an outcome, and get one if a file with the same bytes is scored.

    `digest` is that of the file that is handed in.
    """
    waiting = {digest, *(state.submission.digest for state in found.stored if state.is_open)}
    return [
        Claim(
            state.index,
            state.submission.team,
            state.submission.received,
            found.phases.place(state.submission.received)[0],
            "open",
        )
        for state in found.stored
        if not state.present and state.result is None and state.submission.digest in waiting
    ]
