"""Receipts: a signed statement for a team that its entry is in the record, at a place of the log."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from scorer.live.phases import Phases, folded_phases
from scorer.store.canonical import encoded
from scorer.store.events import Event
from scorer.store.log import LogLine, event_text, log_lines, nonce_of
from scorer.store.secret import signature
from scorer.store.snapshot import Snapshot

VERSION = 1
"""Of a receipt."""


def receipts(view: Snapshot, challenge: str, indexes: set[int]) -> Mapping[int, str]:
    """The receipts of entries by the indexes of their arrivals, given a snapshot with all events.

    A receipt depends only on the record until its entry and on the name of the challenge, so it is always the same.
    """
    events, log_key, signing_key = view.events(), view.secret("log"), view.secret("receipts")
    dates: list[Event] = []
    issued = {}
    for event, line in zip(events, log_lines(log_key, events), strict=True):
        if event.kind in ("phases", "extension"):
            dates.append(event)
        if event.index not in indexes:
            continue
        phases = folded_phases(date for date in dates if date.track == event.track)
        text = f"{encoded(_fields(challenge, event, line, log_key, phases))}\n"
        signed = base64.b64encode(signature(signing_key, text.encode("ascii")))
        issued[event.index] = f"{text}{signed.decode('ascii')}\n"
    return issued


def _fields(challenge: str, event: Event, line: LogLine, log_key: bytes, phases: Phases) -> Mapping[str, Any]:
    """What a receipt says; the names are as the event has them."""
    text, body = event_text(event), event.body
    phase, place = phases.place(datetime.fromisoformat(body["received"]))
    return {
        "version": VERSION,
        "challenge": challenge,
        "track": event.track,
        "team": body["team"],
        "file": body["file"],
        "digest": body["digest"],
        "received": body["received"],
        "phase": phase if place == "ok" else None,
        "index": event.index,
        "event": text.decode("ascii"),
        "nonce": nonce_of(log_key, event.index, text).hex(),
        "leaf": line.leaf.hex(),
        "head": line.head.hex(),
    }
