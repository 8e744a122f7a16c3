"""Receipts: a signed statement for a team that its entry is in the record, at a place of the log."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scorer.live.phases import Phases, folded_phases
from scorer.store.canonical import encoded
from scorer.store.events import Event
from scorer.store.log import START, event_text, log_lines, nonce_of
from scorer.store.secret import signature
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
