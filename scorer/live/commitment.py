"""Commitments: what the organiser committed to before the start, and what visitors see of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from scorer.challenge.settings import Challenge, Track
from scorer.live.errata import PublishedErratum
from scorer.live.rules import rules_of_settings
from scorer.live.state import public, public_to_all, track_state
from scorer.store.events import Event
from scorer.store.log import event_text, nonce_of
from scorer.store.secret import content_of, public_key
from scorer.store.snapshot import Snapshot


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
        recorded = public(view, track).recorded_basis(track.name)
        if recorded is None:
            continue
        key = recorded.key_sha256 or ""
        if not last.is_revealed:
            yield CommittedTrack(track.name, key)
            continue
        plan = track_state(view, track).phases
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
