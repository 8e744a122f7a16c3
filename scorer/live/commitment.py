"""What the record proves to others: signed receipts of entries, and what the organiser committed to before the
start.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from scorer.live.errata import PublishedErratum
from scorer.live.now import Now, public_to_all
from scorer.live.phases import Phases, folded_phases
from scorer.live.rules import rules_of_settings
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import Event
from scorer.store.log import START, content_of, encoded, event_text, log_lines, nonce_of, public_key, signature
from scorer.store.snapshot import Snapshot

VERSION = 1
"""Of a receipt."""

_LONGEST = 60

_PREFIX = re.compile(r"(?:\d{8}T\d{6}Z-)?(?:\d{6}-)?(?=.)")
"""What the service puts before the name of a file: when it was received, and the index of its event."""


def plain_name(name: str) -> str:
    """The name of a file in letters, digits, dots, hyphens and underscores, which mean nothing in a path.

    It does not begin with a dot, and has at most 60 characters; empty if nothing of the name is left.
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).lstrip(".-")[:_LONGEST].rstrip(".-")


def sent_name(file: str) -> str:
    """The name that a file had for its team, given its name in the record."""
    name = file.rpartition("/")[2]
    return _PREFIX.sub("", name, count=1)


def receipt_name(index: int, file: str) -> str:
    """The name of the file with the receipt of an entry, as ``7-long-tail.receipt.txt``."""
    stem = plain_name(sent_name(file)).partition(".")[0]
    return f"{index}-{stem}.receipt.txt" if stem else f"{index}.receipt.txt"


def receipts(view: Snapshot, challenge: str, indexes: set[int]) -> Mapping[int, str]:
    """The receipts of entries by the indexes of their arrivals, given a snapshot with all events."""
    issuer = Issuer(challenge, view.secret("log"), view.secret("receipts"))
    issuer.follow(view.events())
    return {event.index: issuer.receipt(event) for event in view.events() if event.index in indexes}


@dataclass(slots=True)
class Issuer:
    """Issues the receipts of the entries of a challenge.

    A receipt depends only on the record until its entry and on the name of the challenge, so it is always the same.
    """

    challenge: str
    log_key: bytes
    signing_key: bytes
    _hashes: list[tuple[bytes, bytes]] = field(default_factory=list)
    """The leaf and the head of each event."""
    _dates: list[Event] = field(default_factory=list)
    """The events about phases."""

    def follow(self, events: Sequence[Event]) -> None:
        """Take the events that were recorded since; `events` are all of the record."""
        new = events[len(self._hashes) :]
        head = self._hashes[-1][1] if self._hashes else START
        self._hashes += ((line.leaf, line.head) for line in log_lines(self.log_key, new, head))
        self._dates += (event for event in new if event.kind in ("phases", "extension"))

    def receipt(self, event: Event) -> str:
        """The receipt of an entry, given its arrival, which was followed."""
        dates = (date for date in self._dates if date.track == event.track and date.index < event.index)
        text = f"{encoded(self._fields(event, folded_phases(dates)))}\n"
        signed = base64.b64encode(signature(self.signing_key, text.encode("ascii")))
        return f"{text}{signed.decode('ascii')}\n"

    def _fields(self, event: Event, phases: Phases) -> Mapping[str, Any]:
        """What a receipt says; the names are as the event has them."""
        text, body = event_text(event), event.body
        phase, place = phases.place(datetime.fromisoformat(body["received"]))
        leaf, head = self._hashes[event.index - 1]
        return {
            "version": VERSION,
            "challenge": self.challenge,
            "track": event.track,
            "team": body["team"],
            "file": body["file"],
            "digest": body["digest"],
            "received": body["received"],
            "phase": phase if place == "ok" else None,
            "index": event.index,
            "event": text.decode("ascii"),
            "nonce": nonce_of(self.log_key, event.index, text).hex(),
            "leaf": leaf.hex(),
            "head": head.hex(),
        }


@dataclass(frozen=True, slots=True)
class Commitment:
    """What the organiser committed to."""

    index: int
    """Of its event."""
    at: datetime | None
    """When it was recorded, in UTC."""
    sha256: str
    """Of the opening, in hexadecimal; public from the beginning."""
    opening: str
    """Secret until it is revealed."""
    is_revealed: bool

    @property
    def content(self) -> Mapping[str, Any]:
        """The content of the opening."""
        return content_of(self.opening)


def commitments(events: Iterable[Event]) -> tuple[Commitment, ...]:
    """The commitments among the events of the whole challenge, in their order; the last one is in force."""
    listed = list(events)
    revealed = {event.body.get("commitment") for event in listed if event.kind == "reveal"}
    return tuple(
        Commitment(event.index, event.at, event.body["sha256"], event.body["opening"], event.body["sha256"] in revealed)
        for event in listed
        if event.kind == "commitment"
    )


COMMITMENT = "commitment.json"
OPENING = "commitment.txt"
RECEIPTS = "receipts.pem"
"""Files of the site: the commitments, the opening of the last one, and the public key of receipts."""


@dataclass(frozen=True, slots=True)
class CommittedTrack:
    """What the board of a track is based on now."""

    name: str
    key_sha256: str
    """The SHA-256 of the key of the split; empty without a split."""
    solution: str = ""
    """The SHA-256 of the solution; empty until the commitment is revealed."""
    items: str = ""
    """The SHA-256 of the list of candidate items; empty without one, and until the commitment is revealed."""
    rules: Mapping[str, object] | None = None
    """As plain values, without the split; None until the commitment is revealed."""
    phases: tuple[Mapping[str, object], ...] = ()
    """As plain values; empty until the commitment is revealed."""
    rescheduled: tuple[int, ...] = ()
    """The indexes of the events that changed the phases since the commitment; empty until it is revealed."""


@dataclass(frozen=True, slots=True)
class PublishedCommitment:
    """The commitments of a challenge, what it is based on now, and the public key of receipts."""

    challenge: str = ""
    """Its name."""
    receipts: bytes = b""
    """The public key of receipts: 32 bytes."""
    commitments: tuple[Commitment, ...] = ()
    """The earliest first. Only the last one has an opening, and only once it is revealed."""
    tracks: tuple[CommittedTrack, ...] = ()
    errata: tuple[PublishedErratum, ...] = ()
    not_applied: tuple[int, ...] = ()
    """The indexes of the events of errata that were previewed or cancelled."""
    event: str = ""
    """The text of the event of the last commitment; empty until it is revealed."""
    nonce: str = ""
    """Of this event, in hexadecimal; empty until it is revealed."""

    @property
    def last(self) -> Commitment | None:
        """The commitment in force; None without one."""
        return self.commitments[-1] if self.commitments else None

    @property
    def is_revealed(self) -> bool:
        """Whether the opening of the last commitment is public."""
        return self.last is not None and self.last.is_revealed


NO_COMMITMENT = PublishedCommitment()


def published_commitment(
    view: Snapshot, challenge: Challenge, errata: Iterable[PublishedErratum]
) -> PublishedCommitment:
    """What is public about the commitments of a challenge, given the errata that visitors may see of all tracks."""
    events = public_to_all(view, challenge.tracks).events()
    receipts = public_key(view.secret("receipts"))
    made = commitments(events)
    if not made:
        return PublishedCommitment(challenge.name, receipts)
    *earlier, last = made
    text = nonce = b""
    if last.is_revealed:
        text = next(event_text(event) for event in events if event.index == last.index)
        nonce = nonce_of(view.secret("log"), last.index, text)
    secret = [replace(commitment, opening="") for commitment in earlier]
    return PublishedCommitment(
        challenge=challenge.name,
        receipts=receipts,
        commitments=(*secret, last if last.is_revealed else replace(last, opening="")),
        tracks=tuple(_tracks(view, challenge.tracks, last)),
        errata=tuple(errata),
        not_applied=tuple(
            event.index for event in events if event.kind == "erratum" and event.body["state"] != "applied"
        ),
        event=text.decode("ascii"),
        nonce=nonce.hex(),
    )


def _tracks(view: Snapshot, tracks: Sequence[Track], last: Commitment) -> Iterator[CommittedTrack]:
    for track in tracks:
        recorded = Now.of(view, track).public.recorded
        if recorded is None:
            continue
        key = recorded.key_sha256 or ""
        if not last.is_revealed:
            yield CommittedTrack(track.name, key)
            continue
        plan = Now.of(view, track).phases
        indexes = {change.index for changes in (plan.announcements, plan.extensions) for change in changes}
        yield CommittedTrack(
            name=track.name,
            key_sha256=key,
            solution=recorded.basis.solution,
            items=recorded.items or "",
            rules=rules_of_settings(recorded.settings or {}),
            phases=tuple(phase.recorded() for phase in plan.all),
            rescheduled=tuple(sorted(index for index in indexes if index > last.index)),
        )
